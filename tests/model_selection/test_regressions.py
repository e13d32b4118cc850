"""Comparison of regressions: residuals, the selection, and the verdict in words."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import (
    FewLabelRegressor,
    KNNGraph,
    LapERLSRegressor,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVC,
    LapSVR,
)
from lapwing.exceptions import ConstantFitWarning
from lapwing.model_selection import Candidate, compare, default_candidates
from lapwing.model_selection.candidates import LABELS_ALONE, SMOOTH
from lapwing.model_selection.comparison import (
    ComparisonBasis,
    clearly_better,
    simplest_first,
    verdict,
)
from lapwing.model_selection.evidence import RegressionEvidence, _interval
from lapwing.models import load_model, save_model
from tests.helpers.data import labeled_curve

X, Y, TRUTH = labeled_curve(n=40, n_labels=10)
ALONE = Candidate("alone", LapRLSRegressor(gamma_I=0), LABELS_ALONE)
GRAPH = Candidate("graph", LapRLSRegressor(graph=KNNGraph(5, normalized=False)), SMOOTH)
TUBE = Candidate("tube", LapSVR(gamma_I=0.1, epsilon=0.01), SMOOTH)


def evidence(name: str, residuals: Any, assumption: str = SMOOTH, **others: Any) -> Any:
    residuals = np.asarray(residuals, dtype=float)
    l = len(residuals)
    error, rows, weights = math.sqrt(np.mean(residuals**2)), np.arange(l), np.full(l, 1 / l)
    made = RegressionEvidence(
        name, None, assumption, error, (0.0, 1.0), 0.9, rows, residuals, weights, 0.0
    )
    return replace(made, **others)


def said(*table: Any, n_labeled: int = 20) -> str:
    return verdict(
        table, ComparisonBasis(np.empty(0), np.array([n_labeled]), n_samples=50, n_used=50)
    )


@pytest.mark.parametrize("candidate", [ALONE, GRAPH, TUBE], ids=lambda one: one.name)
def test_residuals_are_those_of_a_fit_for_each_target(candidate: Candidate) -> None:
    w = np.random.default_rng(0).uniform(0.5, 2, len(X))
    row = compare(X, Y, candidates=[candidate], sample_weight=w).chosen
    errors = []
    for i in row.rows:
        rest = Y.copy()
        rest[i] = np.nan
        model = clone(candidate.estimator).fit(X, rest, sample_weight=w)
        errors.append(Y[i] - model.transduction_[i])
    np.testing.assert_allclose(row.residuals, errors, atol=1e-5)
    shares = w[row.rows] / w[row.rows].sum()
    assert row.error == pytest.approx(math.sqrt(shares @ np.square(errors)), rel=1e-4)
    means = [np.average(np.delete(Y[row.rows], i), weights=np.delete(shares, i)) for i in range(10)]
    of_mean = shares @ (Y[row.rows] - means) ** 2
    assert row.explained == pytest.approx(1 - row.error**2 / of_mean, rel=1e-6)
    low, high = row.error_interval
    assert low < row.error < high


def test_intervals_of_few_residuals_are_wide() -> None:
    """Of normal residuals the square sum over the variance is chi-squared."""
    low, high = _interval(4.0, np.full(2, 4.0), np.full(2, 0.5))
    assert chi2(2).cdf([2 * 4 / high, 2 * 4 / low]) == pytest.approx([0.05, 0.95])
    wide = _interval(1.0, np.r_[np.zeros(99), 100.0], np.full(100, 0.01))
    assert wide == pytest.approx((0, 1 + 1.6449), rel=1e-3)


def test_a_selected_linear_regression_has_intervals() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 3))
    y = points @ [1.0, 2.0, -1.0] + 0.1 * rng.normal(size=40)
    model = FewLabelRegressor().fit(points, np.where(np.arange(40) < 12, y, np.nan))
    assert model.best_estimator_.kernel == "linear"
    low, high = model.predict_interval(points).T
    assert np.mean((low <= y) & (y <= high)) > 0.7
    mine = LapRLSRegressor("linear", gamma_I=0, solver="newton")
    found = compare(points, np.where(np.arange(40) < 12, y, np.nan), candidates=[
        Candidate("mine", mine, LABELS_ALONE)
    ])  # fmt: skip
    assert found.best.solver == "newton"  # as in the candidate of the user


def test_equal_targets_select_a_supervised_candidate() -> None:
    with pytest.warns(ConstantFitWarning, match=r"All 10 targets are 5\.5, so the answer"):
        found = compare(X, np.where(np.isnan(Y), np.nan, 5.5))
    assert found.chosen.assumption == LABELS_ALONE
    assert found.chosen.error == 0
    assert {row.cells()[3] for row in found.table} == {"-"}


def test_an_estimator_with_selected_parameters_replaces_the_search() -> None:
    path = LapRLSRegressorCV(gammas=[0.5, 2], gamma_As=[0.01], graphs=[KNNGraph(5)])
    found = compare(X, Y, candidates=[Candidate("path", path, SMOOTH)])
    fitted = clone(path).fit(X, Y)
    params = found.best.get_params(deep=False)
    assert type(found.best) is LapRLSRegressor
    assert {name: params[name] for name in ("gamma", "gamma_A", "gamma_I")} == {
        name: value for name, value in fitted.best_params_.items() if name != "graph"
    }
    np.testing.assert_allclose(found.best.fit(X, Y).predict(X), fitted.predict(X), atol=1e-12)
    np.testing.assert_allclose(found.chosen.residuals, fitted.left_out_residuals_, atol=1e-9)


def test_the_supervised_candidate_is_selected_unless_another_is_better() -> None:
    noise = np.random.default_rng(0).choice([-1.0, 1.0], 50)
    alone = evidence("alone", noise, LABELS_ALONE)
    linear = evidence("linear", 2 * noise, LABELS_ALONE)
    better, same = evidence("better", 0.5 * noise), evidence("same", 0.99 * noise)
    assert simplest_first([linear, alone, better]) == [better, alone, linear]
    assert simplest_first([same, alone]) == [alone, same]  # better by next to nothing


def test_clearly_better_by_a_standard_error() -> None:
    noise = np.random.default_rng(0).choice([-1.0, 1.0], 50)
    alone = evidence("alone", noise, LABELS_ALONE)
    unsure = evidence("unsure", noise * np.tile([0.45, 1.3], 25))  # squares of 0.2 and 1.7
    assert unsure.error < 0.98 * alone.error
    assert not clearly_better(unsure, alone)
    assert simplest_first([unsure, alone])[0] is unsure
    assert "seem to help" in said(unsure, alone)
    assert clearly_better(evidence("same", 0.99 * noise), alone)
    # Of different rows those that both have count.
    few = evidence("few", 0.5 * noise[:10], rows=np.arange(10), weights=np.full(10, 0.1))
    assert clearly_better(few, alone)


def test_verdicts() -> None:
    alone = evidence("alone", np.full(20, 1.0), LABELS_ALONE)
    better = evidence("better", np.full(20, 0.5))

    assert said(better, alone) == (
        "The unlabelled rows help: values are smooth along the rows. Use better. Targets left out "
        "are missed by 0.5, and by 1 from the labels alone (root mean square)."
    )
    assert said(alone, better).startswith("The unlabelled rows do not help")
    nothing = evidence("nothing", np.ones(20), explained=0.05)
    assert "hardly better than the mean of the targets" in said(nothing)
    assert "Nothing here follows" in said(evidence("flat", np.ones(20), explained=math.nan))
    assert said(alone, n_labeled=50).startswith("Every row has a target")


def test_the_regressor_predicts_as_the_chosen_estimator(tmp_path: Any) -> None:
    model = FewLabelRegressor([ALONE, GRAPH]).fit(X, Y)
    best = clone(model.best_estimator_).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), best.predict(X))
    np.testing.assert_array_equal(model.predict_interval(X, 0.8), best.predict_interval(X, 0.8))
    np.testing.assert_array_equal(model.transduction_, best.transduction_)
    assert model.score(X, Y) == best.score(X, Y)
    assert model.error_ == model.evidence_.error == model.evidence_.chosen.error
    assert model.unlabeled_help_ is (model.evidence_.chosen.assumption == SMOOTH)
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m").pipeline
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert str(loaded.evidence_) == str(model.evidence_)


def test_pipelines_are_candidates() -> None:
    piped = make_pipeline(StandardScaler(), LapRLSRegressorCV(gammas=[0.5], gamma_Is=[0.0]))
    model = FewLabelRegressor([Candidate("piped", piped, SMOOTH)]).fit(X, Y)
    assert not model.unlabeled_help_  # it chose among settings without a graph
    assert type(model.best_estimator_[-1]) is LapRLSRegressor
    inner = model.best_estimator_[-1].predict_interval(StandardScaler().fit_transform(X), 0.8)
    np.testing.assert_allclose(model.predict_interval(X, 0.8), inner)


def test_standard_deviations_are_those_of_the_chosen_estimator() -> None:
    piped = make_pipeline(StandardScaler(), GRAPH.estimator)
    model = FewLabelRegressor([Candidate("piped", piped, SMOOTH)], updatable=True).fit(X, Y)
    plain = clone(GRAPH.estimator).set_params(updatable=True)
    points = StandardScaler().fit_transform(X)
    expected = plain.fit(points, Y).predict(points, return_std=True)
    np.testing.assert_allclose(model.predict(X, return_std=True), expected, atol=1e-10)
    for without in (FewLabelRegressor([GRAPH]).fit(X, Y), pickle.loads(pickle.dumps(model))):
        with pytest.raises(
            ValueError, match=r"Fit with FewLabelRegressor\(updatable=True\)\. A mod"
        ):
            without.predict(X, return_std=True)
    tube = FewLabelRegressor([TUBE]).fit(X, Y)
    with pytest.raises(ValueError, match="selected LapSVR is not the mean of a Gaussian"):
        tube.predict(X, return_std=True)


def test_a_column_vector_of_targets_warns_once() -> None:
    with pytest.warns(DataConversionWarning) as told:
        FewLabelRegressor([ALONE]).fit(X, Y[:, None])
    assert len(told) == 1


def test_return_std_is_true_or_false() -> None:
    for model in (LapRLSRegressor(updatable=True), FewLabelRegressor([ALONE], updatable=True)):
        with pytest.raises(ValueError, match="return_std='no' must be True or False"):
            model.fit(X, Y).predict(X, return_std="no")


def test_default_candidates() -> None:
    def names(points: Any) -> list[str]:
        return [one.name for one in default_candidates(points, regression=True)]

    linear, alone, scaled = "linear ridge regression", "kernel ridge regression", ", scaled columns"
    path, embedded = "LapRLSRegressorCV()", "LapERLSRegressor()"
    several = [linear, alone, alone + scaled, path, path + scaled, embedded]
    assert names(np.ones((9, 9))) == several
    assert names(np.ones((5, 9))) == [linear, path, embedded]
    assert names(np.ones((9, 1))) == [linear, alone, path, embedded]
    many = default_candidates(np.zeros((12_001, 2)), regression=True)
    assert [type(one.estimator) for one in many] == [LapRLSRegressorCV, LapERLSRegressor]
    assert "kernel='linear'" in repr(many[0].estimator)


def test_numbers_with_fractions_are_compared_as_numbers() -> None:
    found = compare(X, Y, max_samples=25)
    assert {type(row) for row in found.table} == {RegressionEvidence}
    assert (found.n_samples, found.n_used, found.n_labeled) == (40, 25, 10)
    assert "25 of the 40 rows" in found.notes[-1]
    table, head = str(found), found.to_frame()
    assert head["name"][0] == found.chosen.name
    assert head["error"][0] == found.error
    assert all(row.name in table and row.name in found._repr_html_() for row in found.table)
    gaps = [None if np.isnan(y) else y for y in Y]  # NumPy makes objects of them
    assert compare(X, gaps, max_samples=25).error == found.error
    # Whole numbers are classes, unless the candidates are regressions.
    whole = np.where(np.isnan(Y), np.nan, np.round(Y * 100))
    assert compare(X, whole, candidates=[ALONE]).chosen.n_left_out == 10


ONE = np.where(np.arange(40) == np.flatnonzero(~np.isnan(Y))[0], Y, np.nan)
SVC = Candidate("svc", LapSVC(), SMOOTH)


@pytest.mark.parametrize(
    ("y", "options", "error", "message"),
    [
        (ONE, {}, ValueError, "y contains one target, and none can be left out"),
        (Y, {"candidates": [ALONE, SVC]}, TypeError, "'svc' is not a regression of lapwing"),
        (Y, {"class_prior": "uniform"}, ValueError, "class_prior='uniform' is for classes, and y"),
        (Y, {"max_samples": 1}, ValueError, "max_samples=1 must be a whole number of at least 2"),
    ],
)
def test_wrong_arguments_are_refused(y: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        compare(X, y, **options)
    if "class_prior" not in options:
        with pytest.raises(error, match=message):
            FewLabelRegressor(**options).fit(X, y)
    with pytest.raises(ValueError, match="updatable='no' must be True or False"):
        FewLabelRegressor(updatable="no").fit(X, y)
