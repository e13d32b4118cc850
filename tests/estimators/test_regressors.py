"""Regressors: intercepts, prediction intervals, several targets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsTransformer

from lapwing import (
    FewLabelRegressor,
    KNNGraph,
    Landmarks,
    LapERLSRegressor,
    LapESVR,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVR,
)
from lapwing.estimators import choice, prepared
from lapwing.exceptions import NothingUnlabeledWarning
from lapwing.model_selection import rows_to_label
from lapwing.models import load_model, save_model
from lapwing.onnx_export import to_onnx
from tests.estimators.test_sklearn import quick
from tests.helpers.counts import Counts
from tests.helpers.data import labeled_curve
from tests.helpers.warned import texts

MODELS = [LapRLSRegressor(), LapSVR(), LapERLSRegressor(), LapESVR(mu=0.1)]


@pytest.mark.parametrize("value", [0.0, 3.0])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_constant_targets_give_a_constant_with_one_warning(model: Any, value: float) -> None:
    X, y, _ = labeled_curve()
    (message,) = texts(lambda: model.fit(X, np.where(np.isnan(y), y, value)))
    assert f"All 20 targets are {value:g}, so the answer is" in message
    np.testing.assert_allclose(model.predict(X), value, atol=1e-6)


@pytest.mark.parametrize("graph", [KNNGraph(3), KNeighborsTransformer(n_neighbors=3)], ids=str)
@pytest.mark.parametrize("model", [*MODELS, LapRLSRegressorCV(gammas=["scale"])], ids=str)
def test_graphs_do_not_penalise_constants(model: Any, graph: Any) -> None:
    X, y, _ = labeled_curve()
    path = isinstance(model, LapRLSRegressorCV)
    model = clone(model).set_params(**{"graphs": [graph]} if path else {"graph": graph})
    here, there = (clone(model).fit(X, y + shift).transduction_ for shift in (0, 100))
    np.testing.assert_allclose(there, here + 100, atol=1e-3)


def test_a_matrix_is_normalised_as_its_weights_may_have_any_size() -> None:
    X, y, _ = labeled_curve()
    W = KNNGraph(3).affinity(X)
    values = [LapRLSRegressor(graph=graph).fit(X, y).transduction_ for graph in (W, 100 * W)]
    np.testing.assert_allclose(values[1], values[0], atol=1e-8)


FLAT = KNNGraph(6, normalized=False)
WITH_INTERVALS = [
    LapRLSRegressor(graph=FLAT),
    LapRLSRegressor(),  # whose bias is part of the kernel
    LapRLSRegressor("linear", gamma_A=0.1, solver="dual", fit_intercept=False),
    LapRLSRegressorCV(gammas=[0.5], gamma_As=[0.01], gamma_Is=[0.01], graphs=[FLAT]),
    LapERLSRegressor(graph=FLAT, n_eigenvectors=12),
    LapERLSRegressor(graph=FLAT, n_eigenvectors=12, space=Landmarks(10, random_state=0)),
    LapERLSRegressor("linear", n_eigenvectors=None, fit_intercept=False),
    LapERLSRegressor(n_eigenvectors=12, space=Landmarks(1000, random_state=0)),
]


@pytest.mark.parametrize(
    ("model", "n_labels"), [*((model, 10) for model in WITH_INTERVALS), (WITH_INTERVALS[0], 2)]
)
def test_intervals_are_order_statistics_of_left_out_errors(model: Any, n_labels: int) -> None:
    """Compared with a fit for each left-out target."""
    X, y, _ = labeled_curve(n=40, n_labels=n_labels)
    known = np.flatnonzero(~np.isnan(y))
    new = X[:7] + 0.05
    errors, others = [], []
    for row in known:
        without = y.copy()
        without[row] = np.nan
        again = clone(model).fit(X, without)
        errors.append(y[row] - again.predict(X[[row]])[0])  # an embedded fit's own values are g
        others.append(again.predict(new))
    fitted = clone(model).fit(X, y)
    residuals = fitted.left_out_residuals_
    np.testing.assert_allclose(np.sort(residuals), np.sort(errors), atol=1e-6)
    for coverage in (0.5, 0.65):
        place = int(np.ceil((len(known) + 1) * coverage))
        off = np.abs(errors)[:, None]
        low = np.sort(others - off, axis=0)[::-1][place - 1]
        high = np.sort(others + off, axis=0)[place - 1]
        found = fitted.predict_interval(new, coverage)
        np.testing.assert_allclose(found, np.column_stack([low, high]), atol=1e-6)


@pytest.mark.parametrize("model", [LapRLSRegressor(graph=FLAT), LapERLSRegressor(graph=FLAT)])
def test_intervals_of_many_targets_are_as_wide_for_all_points(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, _ = labeled_curve()
    monkeypatch.setattr(prepared, "_MOST_KEPT", 10)
    fitted = clone(model).fit(X, y)
    assert not hasattr(fitted, "left_out_coef_")
    off = np.sort(np.abs(fitted.left_out_residuals_))
    low, high = fitted.predict_interval(X, 0.8).T
    half = off[int(np.ceil((len(off) + 1) * 0.8)) - 1]
    np.testing.assert_allclose((low + high) / 2, fitted.predict(X), atol=1e-9)
    np.testing.assert_allclose(high - low, 2 * half)


def test_rejects_unsupported_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = labeled_curve()
    y[np.flatnonzero(~np.isnan(y))[5:]] = np.nan
    fitted = LapRLSRegressor(graph=FLAT).fit(X, y)
    message = r"coverage=0\.9 needs 9 targets that can be left out, but there are 5\. Use a smaller"
    with pytest.raises(ValueError, match=message):
        fitted.predict_interval(X)
    assert fitted.predict_interval(X, 0.8).shape == (len(X), 2)
    assert (np.diff(fitted.predict_interval(X, 0.01), axis=1) >= 0).all()
    np.testing.assert_array_equal(
        fitted.predict_interval(X, 1e-12), fitted.predict_interval(X, 0.01)
    )
    for coverage in (0, 1, 90, "a", None):
        with pytest.raises(ValueError, match="must be a number between 0 and 1"):
            fitted.predict_interval(X, coverage)
    exact = LapERLSRegressor(graph=FLAT, n_eigenvectors=None, space=Landmarks(5))
    monkeypatch.setattr(choice, "_OPERATOR_POINTS", 0)
    monkeypatch.setattr(choice, "_OPERATOR_RATIO", 0)
    for model in (LapSVR(graph=FLAT), LapESVR(graph=FLAT), exact):
        with pytest.raises(ValueError, match=r"no left-out values in closed form.*LapRLSRegr"):
            model.fit(X, y).predict_interval(X)


RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
TRUTH = np.column_stack([X[:, 0], X[:, 1] ** 2, X.sum(axis=1)])
Y = np.full((40, 3), np.nan)
Y[:12, :2], Y[8:20, 2] = TRUTH[:12, :2], TRUTH[8:20, 2]  # two with the same gaps, one with others
WEIGHTS = RNG.uniform(0.5, 2, 40)

PATH = LapRLSRegressorCV(gammas=[0.05, 0.5], gamma_As=[0.01], gamma_Is=[0.0, 0.01], updatable=True)
OF_SEVERAL = [
    LapRLSRegressor(updatable=True),
    LapRLSRegressor("linear", solver="pcg"),
    PATH,
    LapERLSRegressor(n_eigenvectors=12, updatable=True),
    LapSVR(updatable=True),
    LapESVR(n_eigenvectors=12),
    quick(FewLabelRegressor).set_params(updatable=True),
]


def names(model: Any) -> str:
    return f"{type(model).__name__} {getattr(model, 'solver', '')}".strip()


@pytest.mark.parametrize("model", OF_SEVERAL, ids=names)
def test_each_target_is_fitted_and_saved_as_if_alone(model: Any, tmp_path: Path) -> None:
    several = clone(model).fit(X, Y, sample_weight=WEIGHTS)
    assert several.predict(X).shape == several.transduction_.shape == (40, 3)
    np.testing.assert_array_equal(several.labeled_, ~np.isnan(Y))
    save_model(several, tmp_path / "model.lapwing")
    loaded = load_model(tmp_path / "model.lapwing").pipeline
    np.testing.assert_array_equal(loaded.predict(X), several.predict(X))
    posterior = getattr(model, "updatable", False) and not isinstance(model, LapSVR)
    if posterior:
        std = several.predict(X[:5], return_std=True)[1]
        intervals = several.predict_interval(X[:5], coverage=0.8)
        assert std.shape == (5, 3)
        assert intervals.shape == (5, 2, 3)
    scores = []
    for j in range(3):
        alone = clone(model).fit(X, Y[:, j], sample_weight=WEIGHTS)
        np.testing.assert_allclose(several.predict(X)[:, j], alone.predict(X), atol=1e-8)
        np.testing.assert_allclose(several.transduction_[:, j], alone.transduction_, atol=1e-8)
        if posterior:
            expected = alone.predict(X[:5], return_std=True)[1]
            np.testing.assert_allclose(std[:, j], expected, atol=1e-8)
            expected = alone.predict_interval(X[:5], coverage=0.8)
            np.testing.assert_allclose(intervals[..., j], expected, atol=1e-8)
        known = ~np.isnan(Y[:, j])
        scores.append(r2_score(Y[known, j], alone.predict(X)[known]))
    assert several.score(X, Y) == pytest.approx(np.mean(scores), abs=1e-8)


def test_frames_and_lists_are_read_as_arrays_are() -> None:
    expected = LapRLSRegressor().fit(X, Y).predict(X)
    gaps = [[None if np.isnan(value) else value for value in row] for row in Y.tolist()]
    for y in (
        pd.DataFrame(Y),
        pl.DataFrame(gaps, schema=["a", "b", "c"], orient="row"),
        gaps,
        [*Y],
    ):
        np.testing.assert_array_equal(LapRLSRegressor().fit(X, y).predict(X), expected)


def test_all_targets_are_of_one_preparation(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = Counts(monkeypatch)
    counts.watch(LapRLSRegressor, "_prepare")
    model = LapRLSRegressor().fit(X, Y)
    assert counts.calls == {"_prepare": 1}
    first, *others = model.estimators_
    assert all(one.X_fit_ is first.X_fit_ for one in others)
    assert not np.shares_memory(first.X_fit_, X)


@pytest.mark.parametrize("column", range(3))
def test_a_row_of_weight_0_with_any_target_is_left_out_for_all(column: int) -> None:
    w, targets = np.ones(40), Y.copy()
    w[9], targets[9] = 0.0, np.nan
    targets[9, column] = 1.0
    rest = np.arange(40) != 9
    found = LapRLSRegressor().fit(X, targets, sample_weight=w).predict(X)
    expected = LapRLSRegressor().fit(X[rest], Y[rest]).predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("model", [LapRLSRegressor(), quick(FewLabelRegressor)], ids=names)
def test_a_later_fit_forgets_earlier_targets(model: Any) -> None:
    model.fit(X, Y[:, :2]).fit(X, Y[:, 0])
    assert model.predict(X).shape == (40,)
    assert not hasattr(model, "estimators_")
    model.fit(X, Y[:, :2])
    assert not {"best_estimator_", "error_", "evidence_", "unlabeled_help_"} & vars(model).keys()
    with pytest.raises(ValueError, match="y contains no label"):
        model.fit(X, np.full(40, np.nan))
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize(
    ("model", "name"),
    [(LapRLSRegressor(), "objective_"), (quick(FewLabelRegressor), "error_")],
    ids=names,
)
def test_attributes_of_one_target_say_where_they_are(model: Any, name: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
        getattr(clone(model), name)
    several = clone(model).fit(X, Y)
    with pytest.raises(AttributeError, match=rf"differs between the 3 .*estimators_\[j\]\.{name}"):
        getattr(several, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing_'"):
        getattr(several, "nothing_")  # noqa: B009


def test_labels_added_to_one_target_are_those_of_the_model() -> None:
    model = LapRLSRegressor(updatable=True).fit(X, Y)
    model.estimators_[1].add_labels([30, 31], TRUTH[30:32, 1])
    expected = ~np.isnan(Y)
    expected[30:32, 1] = True
    np.testing.assert_array_equal(model.labeled_, expected)
    np.testing.assert_array_equal(model.transduction_[:, 1], model.estimators_[1].transduction_)


def test_rejects_single_target_methods_for_several_targets() -> None:
    model = LapRLSRegressor(updatable=True).fit(X, Y)
    for ask in (
        lambda: model.suggest(2),
        lambda: model.add_labels([30], [1.0]),
        lambda: to_onnx(model),
        lambda: rows_to_label(X, k=2, model=model),
    ):
        with pytest.raises(ValueError, match=r"single target.* 3\. Use model\.estimators_\[j\]"):
            ask()
    assert len(model.estimators_[1].suggest(2)) == 2
    data = (X[:5], TRUTH[:5, 0])
    early = LapRLSRegressor("linear", stopping="validation", solver="pcg")
    with pytest.raises(ValueError, match=r"validation_data is for a single target, but y has 3 co"):
        early.fit(X, Y, validation_data=data)
    with pytest.raises(ValueError, match=r"y has 1 column, and the model was fitted to 3 targets"):
        model.score(X, Y[:, 0])


ONE_VALUE = np.where(np.arange(40)[:, None] < [40, 1], Y[:, :2], np.nan)


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        (model, *case)
        for model in (LapRLSRegressor(), quick(FewLabelRegressor))
        for case in (
            (Y[:, :2] * [1, np.nan], "Column 1 of y: y contains no label"),
            (pd.DataFrame({"a": Y[:, 0], "b": np.inf}), "Column 'b' of y: Input y contains infin"),
        )
    ]
    + [(FewLabelRegressor(), ONE_VALUE, r"Column 1 of y: .*Give at least two")],
)
def test_errors_name_the_target(model: Any, given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X, given)


def test_scores_leave_out_targets_without_a_row() -> None:
    model = LapRLSRegressor().fit(X, Y)
    y = np.column_stack([Y[:, 0], np.full(40, np.nan), Y[:, 2]])
    expected = (model.estimators_[0].score(X, Y[:, 0]) + model.estimators_[2].score(X, Y[:, 2])) / 2
    assert model.score(X, y) == pytest.approx(expected)
    with pytest.raises(ValueError, match="score needs labelled rows"):
        model.score(X, np.full((40, 3), np.nan))


def test_scikit_learn_scores_full_columns() -> None:
    with pytest.warns(NothingUnlabeledWarning):
        scores = cross_val_score(LapRLSRegressor(gamma_I=0), X, TRUTH, cv=KFold(2))
    assert scores.min() > 0.3
