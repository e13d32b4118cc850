"""Paths of manifold regularisation: as the grid by hand, from few factorisations."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from sklearn.base import clone, is_classifier
from sklearn.metrics.pairwise import rbf_kernel

from lapwing import (
    AffinityGraph,
    KNNGraph,
    LapERLSClassifierCV,
    LapRLSClassifierCV,
    LapRLSRegressorCV,
    LapSVCCV,
)
from lapwing.classes.decoding import predict_codes
from lapwing.estimators import input_checks, path
from lapwing.estimators.parameters import check_parameters
from lapwing.estimators.path import Scores
from lapwing.estimators.template import prepare, solve
from lapwing.exceptions import FewLabelsWarning, LongFitWarning
from lapwing.graphs.registry import default_graphs
from lapwing.kernels import Kernel
from lapwing.models import load_model, save_model
from lapwing.solvers.manifold import path as solver
from tests.helpers.answers import coded_targets, labeled_rows, scores
from tests.helpers.choices import chosen_of, left_out_solutions, usual_of
from tests.helpers.counts import Counts
from tests.helpers.data import Data, labeled_clusters, labeled_curve

FLAT = KNNGraph(4, normalized=False, power=1)
SMALL: dict[str, Any] = {
    "gamma_As": [1e-2, 0.1],
    "gamma_Is": [0.1, 1.0],
    "gammas": [0.3],
    "graphs": [KNNGraph(5), KNNGraph(5, power=1)],
}
ONE = SMALL | {"graphs": [KNNGraph(5)]}
EXAMPLES: dict[str, Any] = {
    "classes": LapRLSClassifierCV(**SMALL),
    "widths": LapRLSClassifierCV(**ONE | {"gammas": [0.1, "scale"]}),
    "powers": LapRLSClassifierCV(
        **SMALL | {"gamma_As": [0.1], "graphs": [KNNGraph(4, power=p) for p in (3, 1, 4)]}
    ),
    "graphs": LapRLSClassifierCV(
        **SMALL | {"gamma_As": [0.1], "graphs": [KNNGraph(4), KNNGraph(7), FLAT]}
    ),
    "no graph too": LapRLSClassifierCV(**ONE | {"gamma_Is": [0.0, 1.0]}),
    "no graph": LapRLSClassifierCV(**SMALL | {"gamma_Is": [0.0]}),
    "intercept": LapRLSClassifierCV(**ONE | {"gamma_Is": [0.0, 0.3]}, fit_intercept=True),
    "intercept, D - W": LapRLSClassifierCV(**SMALL | {"graphs": [FLAT]}, fit_intercept=True),
    "linear": LapRLSClassifierCV("linear", **ONE, fit_intercept=True),
    "polynomial": LapRLSClassifierCV("poly", **ONE, degree=2),
    "squared hinge": LapSVCCV(**ONE),
    "squared hinge, intercept": LapSVCCV(**ONE | {"gamma_Is": [0.0, 0.3]}, fit_intercept=True),
    "hinge": LapSVCCV(**ONE, loss="hinge"),
    "values": LapRLSRegressorCV(**ONE),
    "values, D - W": LapRLSRegressorCV(
        **SMALL | {"gamma_As": [0.1], "graphs": [FLAT, KNNGraph(5)]}
    ),
    "values, no intercept": LapRLSRegressorCV(**ONE, fit_intercept=False),
}
every_example = pytest.mark.parametrize("name", EXAMPLES)
HINGE = 1e-5  # libsvm's tolerance


def data_for(estimator: Any, n: int = 36) -> Data:
    if is_classifier(estimator):
        return labeled_clusters(3, n=n, n_labels=2)
    return labeled_curve(n=n, n_labels=6)


def plain(estimator: Any, params: Any) -> Any:
    return estimator._estimator(**params)


def by_hand(estimator: Any, params: Any, X: Any, y: Any, w: Any) -> Any:
    """Leave-one-out errors (2, l), squared and of classes, by as many fits as there are labels."""
    errors = []
    refits = left_out_solutions(plain(estimator, params), X, y, w)
    for (row, _, found), target in zip(refits, coded_targets(estimator, y), strict=True):
        score, missed = found.function(X[[row]])[0], 0.0
        if is_classifier(estimator):
            missed = float(predict_codes(score[None])[0] != y[row])
        if isinstance(estimator, LapSVCCV):
            score = np.clip(score, -1, 1)
        errors.append((np.mean((target - score) ** 2), missed))
    return np.array(errors).T


def likelihood_by_hand(estimator: Any, params: Any, X: Any, y: Any, w: Any) -> float:
    """Restricted log likelihood of the targets, by contrasts and the matrix of the smoother."""
    rows = labeled_rows(y)
    l, targets, weights = int(rows.sum()), y[rows], w[rows]
    smoother = np.empty((l, l))
    model = plain(estimator, params)
    prepared = prepare(model, X, y, w)
    for j in range(l):
        unit = y.copy()
        unit[rows] = np.eye(l)[j]
        fit = solve(model, prepared.relabeled(model._read_targets(unit), w))
        smoother[:, j] = fit.function(X[rows])[:, 0]
    B = weights[:, None] * (np.eye(l) - smoother)  # A^-1, less a free bias
    if not estimator.fit_intercept:
        covariance, seen = np.linalg.inv(B), targets
    else:
        C = sla.null_space(np.ones((1, l)))
        free = np.abs(B.sum(axis=0)).max() < 1e-8
        covariance = np.linalg.inv(C.T @ B @ C) if free else C.T @ np.linalg.inv(B) @ C
        seen = C.T @ targets
    scale = seen @ np.linalg.solve(covariance, seen) / len(seen)
    return float(multivariate_normal(cov=scale * (covariance + covariance.T) / 2).logpdf(seen))


def defaults(estimator: Any, X: Any) -> dict[str, float]:
    usual = estimator._plain()
    found = {"gamma_A": usual.gamma_A, "gamma_I": usual.gamma_I, "gamma": 1 / X.var(axis=0).sum()}
    return {name: found[name] for name in found if name in estimator.best_params_}


@every_example
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.UnlabeledComponentWarning")
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.SingleClassWarning")
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.ConstantFitWarning")
def test_the_path_is_the_grid_by_hand(name: str) -> None:
    estimator = clone(EXAMPLES[name])
    X, y, _ = data_for(estimator)
    w = np.random.default_rng(1).uniform(0.5, 2, len(X))
    fitted = estimator.fit(X, y, sample_weight=w)
    results = fitted.cv_results_
    errors = np.array([by_hand(fitted, params, X, y, w) for params in results["params"]])
    of_labels = w[labeled_rows(y)]
    expected = np.average(errors, axis=2, weights=of_labels)
    atol = HINGE if name == "hinge" else 1e-8
    np.testing.assert_allclose(results["left_out_squared_error"], expected[:, 0], atol=atol)
    if is_classifier(estimator):
        np.testing.assert_allclose(results["left_out_error"], expected[:, 1], atol=1e-12)
    else:
        assert "left_out_error" not in results
    if is_classifier(estimator):
        best = chosen_of(errors[:, 0], of_labels, usual_of(results["params"], defaults(fitted, X)))
    else:
        likely = [likelihood_by_hand(fitted, one, X, y, w) for one in results["params"]]
        np.testing.assert_allclose(results["log_likelihood"], likely, rtol=1e-6)
        best = int(np.argmax(likely))
    assert fitted.best_params_ == results["params"][best]
    assert fitted.best_score_ == -results["left_out_squared_error"][best]
    assert np.ptp(expected[:, 0]) > 1e-3  # else this test would not see a wrong choice


@every_example
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.UnlabeledComponentWarning")
def test_it_answers_as_the_plain_estimator_of_the_best_parameters(name: str) -> None:
    estimator = clone(EXAMPLES[name])
    X, y, _ = data_for(estimator)
    fitted = estimator.fit(X, y)
    expected = plain(fitted, fitted.best_params_).fit(X, y)
    np.testing.assert_array_equal(scores(fitted, X), scores(expected, X))
    np.testing.assert_array_equal(fitted.transduction_, expected.transduction_)
    own = {"best_params_", "best_score_", "cv_results_"}
    assert {key for key in vars(fitted) if key.endswith("_")} - own == {
        key for key in vars(expected) if key.endswith("_")
    }


@pytest.mark.parametrize(("spread", "taken"), [(0.1, 2), (0.35, 1), (0.3, 2), (1.0, 1)])
def test_the_usual_setting_stays_where_labels_do_not_tell_it_from_the_best(
    spread: float, taken: int
) -> None:
    """The best is better by 0.2 on the mean of 8 labels: 5.3, 1.5, 1.8 or 0.5 standard errors."""
    usual = np.full(8, 2.0)
    best = usual - 0.2 + spread * np.tile([1, -1], 4)
    losses = np.stack([usual + 1, usual, best])
    settings = [{"gamma_A": gamma_A, "graph": FLAT} for gamma_A in (1.0, 2.0, 3.0)]
    shares = np.full(8, 1 / 8)
    scores = Scores(settings, losses, shares, losses @ shares, None, np.ones(3))
    assert scores.best == 2
    assert scores.chosen({"gamma_A": 2.0, "graph": FLAT}) == taken
    assert scores.chosen({"gamma_A": 2.0, "graph": clone(FLAT)}) == 2  # not one of the grid
    unsolved = replace(scores, losses=np.where([[False], [True], [False]], np.nan, losses))
    assert unsolved.chosen(settings[1]) == 2


def test_of_targets_that_are_all_equal_the_usual_setting_is_taken() -> None:
    settings = [{"gamma_A": gamma_A, "graph": FLAT} for gamma_A in (1.0, 2.0, 3.0)]
    losses, shares = np.zeros((3, 4)), np.full(4, 0.25)
    unknown = np.array([np.inf, np.nan, np.inf])
    scores = Scores(settings, losses, shares, losses @ shares, None, np.ones(3), unknown)
    assert scores.chosen(settings[1]) == 1
    told = replace(scores, log_likelihood=np.array([-2.0, np.nan, -1.0]))
    assert told.chosen(settings[1]) == 2


def test_the_grid_has_every_setting_once_in_order() -> None:
    X, y, _ = data_for(LapRLSClassifierCV())
    model = LapRLSClassifierCV(**SMALL | {"gammas": [0.1, 0.2], "gamma_Is": [0.0, 1.0]}).fit(X, y)
    results = model.cv_results_
    assert len(results["params"]) == 2 * (2 + 2 * 2)  # without a graph all graphs are one
    for key in ("gamma_A", "gamma_I", "gamma", "graph"):
        assert results[f"param_{key}"].tolist() == [params[key] for params in results["params"]]
    assert (results["fit_time"] > 0).all()
    settings = {tuple(map(str, params.values())) for params in results["params"]}
    assert len(settings) == len(results["params"])


def test_default_widths_and_graphs() -> None:
    X, y, _ = data_for(LapRLSClassifierCV())
    model = LapRLSClassifierCV(gamma_As=[0.1], gamma_Is=[1.0]).fit(X, y)
    scale = 1 / X.var(axis=0).sum()
    widths = list(dict.fromkeys(model.cv_results_["param_gamma"]))
    np.testing.assert_allclose(widths, np.array([1, 4]) * scale, rtol=1e-12)
    assert len(set(map(repr, model.cv_results_["param_graph"]))) == len(default_graphs(X))


@pytest.mark.parametrize("estimator", [LapRLSClassifierCV, LapSVCCV, LapERLSClassifierCV])
def test_graphs_that_are_given_stay_as_they_are(estimator: Any) -> None:
    X, y, _ = data_for(LapRLSClassifierCV())
    given = [KNNGraph(5), KNNGraph(5, power=1), KNNGraph(4)]
    model = estimator(graphs=given, gammas=["scale"]).fit(X, y)
    assert all(model.graphs[i] is graph for i, graph in enumerate(given))
    assert not any(key.endswith("_") for graph in given for key in vars(graph))
    assert any(model.best_params_["graph"] is graph for graph in given)


def test_what_settings_share_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = data_for(LapRLSClassifierCV())
    counts = Counts(monkeypatch)
    counts.watch(Kernel, "gram")
    counts.watch(KNNGraph, "affinity")
    counts.watch(solver, "kernel_coordinates")
    counts.watch(solver, "spd_factor")
    grid = {"gamma_As": np.logspace(-4, 2, 7), "gamma_Is": np.logspace(-4, 2, 7)}
    graphs = [KNNGraph(5), KNNGraph(5, power=1), KNNGraph(7)]
    model = LapRLSClassifierCV(**grid, graphs=graphs, gammas=["scale"]).fit(X, y)
    assert len(model.cv_results_["params"]) == 3 * 49
    assert counts.calls == {
        "gram": 1,
        "affinity": 2,  # of 5 and of 7 neighbours
        "kernel_coordinates": 1,
        "spd_factor": 3 * 13,  # one a ratio
    }


def test_the_kernel_is_made_once_a_width_and_once_for_the_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y, _ = data_for(LapRLSClassifierCV())
    counts = Counts(monkeypatch)
    counts.watch(Kernel, "gram")
    LapRLSClassifierCV(**SMALL | {"gammas": [0.1, 0.3, 1.0]}).fit(X, y)
    assert counts.calls == {"gram": 3 + 1}


@pytest.mark.parametrize("estimator", [LapRLSClassifierCV(), LapSVCCV(), LapRLSRegressorCV()])
def test_with_nothing_to_hold_out_the_defaults_stay(estimator: Any) -> None:
    X, y, _ = data_for(estimator)
    if is_classifier(estimator):
        y[np.flatnonzero(y == 2)[1:]] = -1
    else:
        y[np.flatnonzero(~np.isnan(y))[1:]] = np.nan
    with pytest.warns(FewLabelsWarning, match="No parameters were selected.*at least two rows"):
        fitted = clone(estimator).fit(X, y)
    usual = estimator._plain()
    assert np.isnan(fitted.best_score_)
    assert fitted.cv_results_ == {}
    params = fitted.best_params_
    assert (params["gamma_A"], params["gamma_I"]) == (usual.gamma_A, usual.gamma_I)
    factor = 1.0 if is_classifier(estimator) else 0.2  # values are smoother than classes
    assert params["gamma"] == pytest.approx(
        factor * clone(usual).set_params(gamma="scale").fit(X, y).kernel_.gamma
    )
    expected = usual.set_params(gamma=params["gamma"]).fit(X, y)
    np.testing.assert_array_equal(fitted.transduction_, expected.transduction_)


def test_with_nothing_to_hold_out_a_grid_without_the_defaults_has_its_nearest() -> None:
    X, y, _ = labeled_clusters(3, n=40, n_labels=1)
    grid: dict[str, Any] = {"gamma_As": [10.0, 0.1], "gamma_Is": [0.0, 50.0], "graphs": [FLAT]}
    scale = float(1 / X.var(axis=0).sum())
    with pytest.warns(FewLabelsWarning):
        fitted = LapRLSClassifierCV(**grid, gammas=[9 * scale, 2 * scale]).fit(X, y)
    expected = {"gamma_A": 0.1, "gamma_I": 50.0, "gamma": 2 * scale, "graph": FLAT}
    assert repr(fitted.best_params_) == repr(expected)


def test_with_nothing_to_hold_out_a_grid_of_ones_own_is_kept_to() -> None:
    X, y, _ = labeled_clusters(3, n=40, n_labels=1)
    with pytest.warns(FewLabelsWarning):
        fitted = LapSVCCV(gamma_As=[2e-3, 1e-2]).fit(X, y)
    assert fitted.best_params_["gamma_A"] == 2e-3


def test_a_long_path_is_announced_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = data_for(LapRLSClassifierCV())
    monkeypatch.setattr(input_checks, "LONG", 0.0)
    message = (
        rf"LapSVCCV factors {1 + 2 * 3} matrices of {len(X)} rows and will take about 2 minutes or "
        r"more\. Give it fewer settings, e\.g\. gammas="
    )
    with pytest.warns(LongFitWarning, match=message):
        LapSVCCV(**SMALL).fit(X, y)


def test_class_weights_count_in_the_errors() -> None:
    X, y, _ = data_for(LapRLSClassifierCV())
    y[np.flatnonzero(y == 1)[2:]] = -1
    by_class = {0: 1.0, 1: 5.0, 2: 2.0}
    weighted = LapRLSClassifierCV(**SMALL, class_weight=by_class).fit(X, y)
    w = np.array([by_class.get(label, 1.0) for label in y])
    same = LapRLSClassifierCV(**SMALL).fit(X, y, sample_weight=w)
    key = "left_out_squared_error"
    np.testing.assert_allclose(weighted.cv_results_[key], same.cv_results_[key], rtol=1e-12)
    unweighted = LapRLSClassifierCV(**SMALL).fit(X, y)
    assert np.abs(same.cv_results_[key] - unweighted.cv_results_[key]).max() > 1e-3


@pytest.mark.parametrize("marker", [None, "?", ""])
def test_texts_and_their_markers(marker: Any) -> None:
    X, y, _ = data_for(LapRLSClassifierCV())
    expected = LapRLSClassifierCV(**SMALL).fit(X, y)
    names = np.array([*("elm", "fir", "oak"), marker], dtype=object)
    model = LapRLSClassifierCV(**SMALL, unlabeled=marker).fit(X, names[y])
    assert model.best_params_ == expected.best_params_
    np.testing.assert_array_equal(model.predict(X), names[expected.predict(X)])


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_points_are_dense_points(kernel: str) -> None:
    X, y, _ = data_for(LapRLSClassifierCV())
    X = np.where(np.abs(X) < 0.7, 0, X)
    dense = LapRLSClassifierCV(kernel, **SMALL).fit(X, y)
    sparse = LapRLSClassifierCV(kernel, **SMALL).fit(sp.csr_array(X), y)
    key = "left_out_squared_error"
    np.testing.assert_allclose(sparse.cv_results_[key], dense.cv_results_[key], rtol=1e-8)
    assert sparse.best_params_ == dense.best_params_


def test_more_features_than_points() -> None:
    X, y, _ = data_for(LapRLSClassifierCV())
    wide = np.hstack([X, np.random.default_rng(0).normal(size=(len(X), 60))])
    linear = LapRLSClassifierCV("linear", **ONE).fit(wide, y)
    given = AffinityGraph(KNNGraph(5).affinity(wide), power=2)
    options = SMALL | {"graphs": [given]}
    matrix = LapRLSClassifierCV("precomputed", **options).fit(wide @ wide.T, y)
    key = "left_out_squared_error"
    of_one = linear.cv_results_[key][:4]
    np.testing.assert_allclose(matrix.cv_results_[key], of_one, rtol=1e-8)


def test_a_precomputed_kernel_and_graph() -> None:
    X, y, _ = data_for(LapRLSClassifierCV())
    expected = LapRLSClassifierCV(**SMALL).fit(X, y)
    W = KNNGraph(5).affinity(X)
    graphs = [AffinityGraph(W, power=2), AffinityGraph(W, power=1)]
    K = rbf_kernel(X, gamma=0.3)
    model = LapRLSClassifierCV("precomputed", **SMALL | {"graphs": graphs}).fit(K, y)
    key = "left_out_squared_error"
    np.testing.assert_allclose(model.cv_results_[key], expected.cv_results_[key], rtol=1e-8)
    assert "gamma" not in model.best_params_
    with pytest.raises(ValueError, match="leaves no points to build a graph from"):
        LapRLSClassifierCV("precomputed").fit(K, y)


def test_settings_without_a_solution_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = data_for(LapRLSClassifierCV())
    grid = SMALL | {"graphs": [KNNGraph(5)]}
    sound = LapRLSClassifierCV(**grid).fit(X, y)
    original = solver.DeformedPath.block

    def broken(self: Any, points: Any, ratio: float) -> Any:
        T = original(self, points, ratio)
        best = sound.best_params_["gamma_I"] / sound.best_params_["gamma_A"]
        return T * np.nan if np.isclose(ratio, best) else T

    monkeypatch.setattr(solver.DeformedPath, "block", broken)
    model = LapRLSClassifierCV(**grid).fit(X, y)
    lost = np.isnan(model.cv_results_["left_out_squared_error"])
    assert 0 < lost.sum() < len(lost)
    np.testing.assert_array_equal(np.isnan(model.cv_results_["left_out_error"]), lost)
    assert model.best_params_ != sound.best_params_
    assert np.isfinite(model.best_score_)
    monkeypatch.setattr(solver.DeformedPath, "block", lambda *_: np.full((9, 9), np.nan))
    with pytest.raises(ValueError, match=r"No setting of the grid has a solution.*larger gamma_A"):
        LapRLSClassifierCV(**grid).fit(X, y)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"gamma_As": []}, r"gamma_As=\[\] must be a list of finite numbers > 0, at least one"),
        ({"gamma_As": [0.0]}, r"gamma_As=\[0.0\] must be a list of finite numbers > 0"),
        ({"gamma_As": 1.0}, r"gamma_As=1.0 must be a list of finite numbers > 0"),
        ({"gamma_Is": [-1.0]}, r"gamma_Is=\[-1.0\] must be a list of finite numbers >= 0"),
        ({"gammas": ["auto"]}, r"gammas=\['auto'\] must be a list of .* or 'scale'.*, or None"),
        ({"gammas": "scale"}, r"gammas='scale' must be a list of"),
        ({"graphs": KNNGraph()}, r"graphs=KNNGraph\(\) must be a list of graphs"),
        ({"graphs": []}, r"graphs=\[\] must be a list of graphs, at least one, or None"),
    ],
)
def test_grids_out_of_range_are_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_parameters(LapRLSClassifierCV(**option))


def test_a_graph_that_is_none_is_refused() -> None:
    X, y, _ = data_for(LapRLSClassifierCV())
    with pytest.raises(TypeError, match="graph=5 is not a graph"):
        LapRLSClassifierCV(graphs=[5]).fit(X, y)


def test_it_is_kept_in_files(tmp_path: Any) -> None:
    X, y, _ = data_for(LapRLSClassifierCV())
    model = LapRLSClassifierCV(**SMALL).fit(X, y)
    for again in (pickle.loads(pickle.dumps(model)), saved(model, tmp_path / "m")):
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        assert repr(again.best_params_) == repr(model.best_params_)
        for key, values in model.cv_results_.items():
            assert repr(again.cv_results_[key]) == repr(values)


def saved(model: Any, path: Any) -> Any:
    save_model(model, path)
    return load_model(path).pipeline


def test_repeated_rows_are_one_point_with_both_labels() -> None:
    """A label that contradicts another one of the same point is left out alone."""
    X, y, _ = labeled_clusters(2, n=40, n_labels=4)
    at = int(np.flatnonzero(y == 0)[0])
    more = np.vstack([X, X[[at]]]), np.append(y, 1)
    model = LapRLSClassifierCV(**SMALL).fit(*more)
    w = np.ones(len(more[1]))
    expected = [
        by_hand(model, params, *more, w)[0].mean() for params in model.cv_results_["params"]
    ]
    np.testing.assert_allclose(model.cv_results_["left_out_squared_error"], expected, atol=1e-8)


def test_the_squared_loss_needs_no_solver_and_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = data_for(LapRLSClassifierCV())
    counts = Counts(monkeypatch)
    counts.watch(solver, "solve_reduced")
    LapRLSClassifierCV(**SMALL).fit(X, y)
    assert counts.calls == {"solve_reduced": 0}
    LapSVCCV(**SMALL).fit(X, y)
    assert counts.calls == {"solve_reduced": 8}


@pytest.mark.parametrize(
    "estimator",
    [
        LapRLSClassifierCV(**ONE, fit_intercept=True),
        LapSVCCV(**SMALL),
        LapRLSRegressorCV(**SMALL),
        LapERLSClassifierCV(mus=[1.0, 100.0], n_eigenvectors=[6, 12], graphs=[KNNGraph(5)]),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_added_labels_are_a_fit_of_the_chosen_setting(estimator: Any) -> None:
    X, y, truth = data_for(estimator)
    model = clone(estimator).set_params(updatable=True).fit(X, y)
    expected = clone(estimator).fit(X, y)
    np.testing.assert_array_equal(scores(model, X), scores(expected, X))
    chosen, results = model.best_params_, model.cv_results_
    rows = np.flatnonzero(~labeled_rows(y))[:4]
    more = y.copy()
    more[rows] = truth[rows]
    model.add_labels(rows, truth[rows])
    expected = plain(model, chosen).set_params(updatable=True).fit(X, more)
    np.testing.assert_allclose(scores(model, X), scores(expected, X), atol=1e-8)
    np.testing.assert_array_equal(model.labeled_, expected.labeled_)
    assert (model.best_params_, model.cv_results_) == (chosen, results)
    np.testing.assert_array_equal(model.suggest(3), expected.suggest(3))
    np.testing.assert_array_equal(model.suspicious_labels(), expected.suspicious_labels())


def test_labels_are_added_to_what_was_kept_only() -> None:
    X, y, _ = data_for(LapRLSClassifierCV())
    with pytest.raises(ValueError, match=r"Fit with LapRLSClassifierCV\(updatable=True\)"):
        LapRLSClassifierCV(**ONE).fit(X, y).add_labels(0, 1)


def test_recipes_of_the_same_edges() -> None:
    same = path.same_edges
    assert same(KNNGraph(5), KNNGraph(5, power=1))
    assert not same(KNNGraph(5), KNNGraph(6))
    assert not same(KNNGraph(5), AffinityGraph(np.eye(2)))
    W = np.eye(3)
    assert same(AffinityGraph(W), AffinityGraph(W, power=2))
    assert not same(AffinityGraph(W), AffinityGraph(W.copy()))


def test_nearest_is_by_ratio() -> None:
    assert path.nearest([1e-6, 1.0], 1e-2) == 1.0
    assert path.nearest([1e-6, 1.0], 1e-4) == 1e-6
    assert path.nearest([0.0, 100.0], 1.0) == 100.0
