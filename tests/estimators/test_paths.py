"""Built-in parameter selection equals a grid search by refits, with few factorisations."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from functools import partial
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
    Landmarks,
    LapERLSClassifierCV,
    LapRLSClassifierCV,
    LapRLSRegressorCV,
    LapSVCCV,
)
from lapwing.classes.decoding import predict_codes
from lapwing.estimators import embedded
from lapwing.estimators.path import Scores
from lapwing.estimators.template import prepare, solve
from lapwing.exceptions import FewEigenvectorsWarning, FewLabelsWarning, UnlabeledComponentWarning
from lapwing.graphs.registry import default_graphs
from lapwing.kernels import Kernel
from lapwing.solvers.embedded.posterior import SpectralPath
from lapwing.solvers.embedded.systems import DenseSystem, FeatureSystem
from lapwing.solvers.manifold import path as solver
from tests.helpers.answers import coded_targets, labeled_rows, scores
from tests.helpers.choices import chosen_of, left_out_solutions, usual_of
from tests.helpers.counts import Counts
from tests.helpers.data import Data, labeled_clusters, labeled_curve

FLAT = KNNGraph(4, normalized=False, power=1)
# A ring: all degrees are equal, and constants are an eigenvector of its normalised Laplacian too.
RING = AffinityGraph(sp.csr_array(np.roll(np.eye(36), 1, 0) + np.roll(np.eye(36), -1, 0)))
ONE: dict[str, Any] = {
    "gamma_As": [1e-2, 0.1],
    "gamma_Is": [0.1, 1.0],
    "gammas": [0.3],
    "graphs": [KNNGraph(5)],
}
SMALL = ONE | {"graphs": [KNNGraph(5), KNNGraph(5, power=1)]}
SPECTRAL: dict[str, Any] = {
    "lams": [10.0, 1e3],
    "mus": [1.0, 1e2],
    "n_eigenvectors": [6, 20],
    "gammas": [0.3],
    "graphs": [KNNGraph(5)],
}
rls, erls = partial(LapRLSClassifierCV, **ONE), partial(LapERLSClassifierCV, **SPECTRAL)
half = partial(erls, lams=[100.0])
numbers = partial(LapRLSRegressorCV, **ONE)
EXAMPLES: dict[str, Any] = {
    "classes": LapRLSClassifierCV(**SMALL),
    "widths": rls(gammas=[0.1, "scale"]),
    "powers": rls(gamma_As=[0.1], graphs=[KNNGraph(4, power=p) for p in (3, 1, 4)]),
    "graphs": rls(gamma_As=[0.1], graphs=[KNNGraph(4), KNNGraph(7), FLAT]),
    "no graph too": rls(gamma_Is=[0.0, 1.0]),
    "no graph": LapRLSClassifierCV(**SMALL | {"gamma_Is": [0.0]}),
    "intercept": rls(gamma_Is=[0.0, 0.3], fit_intercept=True),
    "intercept, D - W": rls(graphs=[FLAT], fit_intercept=True),
    "linear": rls(kernel="linear", fit_intercept=True),
    "polynomial": rls(kernel="poly", degree=2),
    "squared hinge": LapSVCCV(**ONE),
    "squared hinge, intercept": LapSVCCV(**ONE | {"gamma_Is": [0.0, 0.3]}, fit_intercept=True),
    "hinge": LapSVCCV(**ONE, loss="hinge"),
    "values": numbers(),
    "values, D - W": numbers(gamma_As=[0.1], graphs=[FLAT, KNNGraph(5)]),
    "values, no intercept": numbers(fit_intercept=False),
    "embedded": erls(),
    "embedded, widths and C": half(gammas=[0.1, "scale"], Cs=[1.0, 20.0], mus=[1.0]),
    "embedded, powers": half(graphs=[KNNGraph(4, power=p) for p in (3, 1)]),
    "embedded, graphs": half(graphs=[KNNGraph(4), KNNGraph(7), FLAT]),
    "embedded, no smoothness": half(mus=[0.0, 1.0]),
    "embedded, cut-off weights": erls(lams=[1e2, 1e12], mus=[1.0]),
    "embedded, intercept": half(fit_intercept=True),
    "embedded, intercept, D - W": half(graphs=[FLAT], fit_intercept=True),
    "embedded, intercept, ring": half(graphs=[RING], n_eigenvectors=[7, 19], fit_intercept=True),
    "embedded, linear, intercept": half(kernel="linear", fit_intercept=True),
    "embedded, landmarks": half(space=Landmarks(15)),
    "embedded, polynomial": half(kernel="poly", degree=2),
}
every_example = pytest.mark.parametrize("name", EXAMPLES)
# One of each family.
BOTH = [LapRLSClassifierCV(**SMALL), erls()]
of_both = pytest.mark.parametrize("estimator", BOTH, ids=["manifold", "embedded"])
ERROR = "left_out_squared_error"
HINGE = 1e-5  # libsvm's tolerance

pytestmark = [
    pytest.mark.filterwarnings("ignore::lapwing.exceptions.UnlabeledComponentWarning"),
    pytest.mark.filterwarnings("ignore::lapwing.exceptions.SingleClassWarning"),
    pytest.mark.filterwarnings("ignore::lapwing.exceptions.ConstantFitWarning"),
]


def data_for(estimator: Any, n: int = 36, n_labels: int = 2) -> Data:
    if is_classifier(estimator):
        return labeled_clusters(3, n=n, n_labels=n_labels)
    return labeled_curve(n=n, n_labels=3 * n_labels)


def with_grid(estimator: Any, **grid: Any) -> Any:
    return clone(estimator).set_params(**grid)


def plain(estimator: Any, params: Any) -> Any:
    return estimator._estimator(**params)


# ---- errors and choices ------------------------------------------------------------------------


def by_hand(estimator: Any, params: Any, X: Any, y: Any, w: Any) -> Any:
    """Compute leave-one-out errors (2, l), squared and of classes, by a fit for each label."""
    errors = []
    refits = left_out_solutions(plain(estimator, params), X, y, w)
    for (row, point, found), target in zip(refits, coded_targets(estimator, y), strict=True):
        embedded = isinstance(estimator, LapERLSClassifierCV)  # judged by virtual labels
        score, missed = found.values[point] if embedded else found.function(X[[row]])[0], 0.0
        if is_classifier(estimator):
            missed = float(predict_codes(score[None])[0] != y[row])
        if isinstance(estimator, LapSVCCV):
            score = np.clip(score, -1, 1)
        errors.append((np.mean((target - score) ** 2), missed))
    return np.array(errors).T


def likelihood_by_hand(estimator: Any, params: Any, X: Any, y: Any, w: Any) -> float:
    """Compute the restricted log likelihood by contrasts and the smoother matrix."""
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
    usual = estimator._plain().get_params()
    found = {name: usual[name] for name in estimator._weights}
    found |= {"n_eigenvectors": 50, "gamma": 1 / X.var(axis=0).sum()}
    return {name: found[name] for name in found if name in estimator.best_params_}


@every_example
def test_path_is_the_grid_by_refits_and_the_plain_fit_of_the_best_setting(name: str) -> None:
    X, y, _ = data_for(EXAMPLES[name])
    w = np.random.default_rng(1).uniform(0.5, 2, len(X))
    fitted = clone(EXAMPLES[name]).fit(X, y, sample_weight=w)
    results = fitted.cv_results_
    errors = np.array([by_hand(fitted, params, X, y, w) for params in results["params"]])
    of_labels = w[labeled_rows(y)]
    expected = np.average(errors, axis=2, weights=of_labels)
    atol = HINGE if name == "hinge" else 1e-8
    np.testing.assert_allclose(results[ERROR], expected[:, 0], rtol=1e-7, atol=atol)
    if is_classifier(fitted):
        np.testing.assert_allclose(results["left_out_error"], expected[:, 1], atol=1e-12)
        best = chosen_of(errors[:, 0], of_labels, usual_of(results["params"], defaults(fitted, X)))
    else:
        assert "left_out_error" not in results
        likely = [likelihood_by_hand(fitted, one, X, y, w) for one in results["params"]]
        np.testing.assert_allclose(results["log_likelihood"], likely, rtol=1e-6)
        best = int(np.argmax(likely))
    assert fitted.best_params_ == results["params"][best]
    assert fitted.best_score_ == -results[ERROR][best]
    assert np.ptp(expected[:, 0]) > 1e-3  # else this test would not see a wrong choice
    # The chosen setting answers like the plain estimator.
    model = plain(fitted, fitted.best_params_).fit(X, y, sample_weight=w)
    own = {"best_params_", "best_score_", "cv_results_"}
    attributes = {key for key in vars(model) if key.endswith("_")}
    assert {key for key in vars(fitted) if key.endswith("_")} - own == attributes
    f = scores(model, X)
    np.testing.assert_allclose(scores(fitted, X), f, atol=1e-8 * max(1, np.abs(f).max()))
    np.testing.assert_allclose(fitted.transduction_, model.transduction_, rtol=1e-9)
    if is_classifier(fitted):
        assert fitted.probability_n_labels_ == model.probability_n_labels_
        np.testing.assert_allclose(fitted.predict_proba(X), model.predict_proba(X), atol=1e-8)
    for values in attributes & {"virtual_labels_", "eigenvalues_", "objective_"}:
        found, wanted = getattr(fitted, values), getattr(model, values)
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("spread", "taken"), [(0.1, 2), (0.35, 1), (0.3, 2), (1.0, 1)])
def test_the_default_stays_within_the_standard_error_of_the_best(spread: float, taken: int) -> None:
    """The best is better by 0.2 on the mean of 8 labels: 5.3, 1.5, 1.8 or 0.5 standard errors."""
    usual = np.full(8, 2.0)
    best = usual - 0.2 + spread * np.tile([1, -1], 4)
    losses = np.stack([usual + 1, usual, best])
    settings = [{"gamma_A": gamma_A, "graph": FLAT} for gamma_A in (1.0, 2.0, 3.0)]
    shares = np.full(8, 1 / 8)
    found = Scores(settings, losses, shares, losses @ shares, None, np.ones(3))
    assert found.best == 2
    assert found.chosen(settings[1]) == taken
    assert found.chosen({"gamma_A": 2.0, "graph": clone(FLAT)}) == 2  # not one of the grid
    unsolved = replace(found, losses=np.where([[False], [True], [False]], np.nan, losses))
    assert unsolved.chosen(settings[1]) == 2
    # For regressions the most likely setting; of equal targets the likelihood is infinite.
    for likelihoods, likely in (([np.inf, np.nan, np.inf], 1), ([-2.0, np.nan, -1.0], 2)):
        assert replace(found, log_likelihood=np.array(likelihoods)).chosen(settings[1]) == likely


@pytest.mark.parametrize(
    ("estimator", "grid", "n_settings"),
    [
        # Settings without a graph are not repeated for every graph.
        (BOTH[0], {"gammas": [0.1, 0.2], "gamma_Is": [0.0, 1.0]}, 2 * (2 + 2 * 2)),
        (BOTH[1], {"gammas": [0.1, 0.2], "Cs": [1.0, 2.0], "graphs": SMALL["graphs"]}, 2**6),
        (BOTH[1], {"n_eigenvectors": ["auto", 36, 1000, 10]}, 2 * 2 * 2),  # at most n
    ],
    ids=["manifold", "embedded", "more eigenvectors than points"],
)
def test_the_grid_has_every_setting_once(estimator: Any, grid: Any, n_settings: int) -> None:
    X, y, _ = data_for(estimator)
    results = with_grid(estimator, **grid).fit(X, y).cv_results_
    assert len({tuple(map(str, params.values())) for params in results["params"]}) == n_settings
    assert len(results["params"]) == n_settings
    for key in results["params"][0]:
        assert results[f"param_{key}"].tolist() == [params[key] for params in results["params"]]
    assert (results["fit_time"] > 0).all()


@pytest.mark.parametrize(
    ("estimator", "factors"),
    [
        (LapRLSClassifierCV(gamma_As=[0.1], gamma_Is=[1.0]), [1, 4]),
        (LapERLSClassifierCV(lams=[1e2], mus=[1.0]), [1]),
    ],
    ids=["manifold", "embedded"],
)
def test_default_widths_and_graphs(estimator: Any, factors: list[int]) -> None:
    X, y, _ = data_for(estimator)
    results = clone(estimator).fit(X, y).cv_results_
    widths = list(dict.fromkeys(results["param_gamma"]))
    np.testing.assert_allclose(widths, np.array(factors) / X.var(axis=0).sum(), rtol=1e-12)
    assert len(set(map(repr, results["param_graph"]))) == len(default_graphs(X))
    if "param_n_eigenvectors" in results:
        assert set(results["param_n_eigenvectors"].tolist()) == {25, 36}


# ---- what settings share -----------------------------------------------------------------------


THREE = {"graphs": [KNNGraph(5), KNNGraph(5, power=1), KNNGraph(7)]}  # two searches
RATIOS = {"gamma_As": np.logspace(-4, 2, 7), "gamma_Is": np.logspace(-4, 2, 7)}
LAMBDAS = SPECTRAL | THREE | {"gammas": ["scale", 1.0], "lams": np.logspace(0, 6, 7)}
WIDTHS = {"gammas": [0.1, 0.3, 1.0]}
# (estimator, number of settings, calls of functions)
SHARED: list[tuple[Any, int, dict[tuple[Any, str], int]]] = [
    (
        LapRLSClassifierCV(**RATIOS, **THREE, gammas=["scale"]),
        3 * 49,
        {
            (Kernel, "gram"): 1,
            (KNNGraph, "affinity"): 2,
            (solver, "kernel_coordinates"): 1,
            (solver, "spd_factor"): 3 * 13,  # one a ratio
            (solver, "solve_reduced"): 0,  # for the squared loss
        },
    ),
    *(
        (
            LapERLSClassifierCV(**LAMBDAS, space=space),
            2 * 3 * 7 * 2 * 2,
            {
                (system, "eliminate"): 2 + 1,  # one a width, and the chosen setting's
                (KNNGraph, "affinity"): 2,
                (embedded, "smallest_eigenpairs"): 2,
                (SpectralPath, "_kernel"): 2 * 3 * 2 * 2,  # none a lambda
            },
        )
        for space, system in ((None, DenseSystem), (Landmarks(15), FeatureSystem))
    ),
    (with_grid(BOTH[0], **WIDTHS), 3 * 8, {(Kernel, "gram"): 3 + 1}),
    (with_grid(BOTH[1], **WIDTHS), 3 * 8, {(Kernel, "gram"): 3 + 1}),
    (LapSVCCV(**SMALL), 8, {(solver, "solve_reduced"): 8}),
]


@pytest.mark.parametrize(("estimator", "n_settings", "calls"), SHARED)
def test_settings_share_their_parts(
    estimator: Any, n_settings: int, calls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, _ = data_for(estimator)
    counts = Counts(monkeypatch)
    for owner, name in calls:
        counts.watch(owner, name)
    assert len(clone(estimator).fit(X, y).cv_results_["params"]) == n_settings
    assert counts.calls == {name: number for (_, name), number in calls.items()}


# ---- labels and points -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "nearest"),
    [
        (
            LapRLSClassifierCV(gamma_As=[10.0, 0.1], gamma_Is=[0.0, 50.0]),
            {"gamma_A": 0.1, "gamma_I": 50.0},
        ),
        (
            LapERLSClassifierCV(lams=[1.0, 1e3], mus=[0.0, 50.0], n_eigenvectors=[10, 40]),
            {"lam": 1e3, "mu": 50.0, "n_eigenvectors": 40, "C": 10.0},
        ),
        (LapSVCCV(gamma_As=[2e-3, 1e-2], gamma_Is=[1.0]), {"gamma_A": 2e-3, "gamma_I": 1.0}),
        (LapRLSRegressorCV(gamma_Is=[2e-3, 0.1, 1.0]), {"gamma_A": 1e-4, "gamma_I": 2e-3}),
    ],
    ids=["manifold", "embedded", "not the default grid", "regression"],
)
def test_without_labels_to_hold_out_the_setting_nearest_to_the_defaults_is_chosen(
    estimator: Any, nearest: dict[str, float]
) -> None:
    """With a single label of one class, or a single target."""
    X, y, _ = data_for(estimator, n=80)
    if is_classifier(estimator):
        y[np.flatnonzero(y == 2)[1:]] = -1
    else:
        y[np.flatnonzero(~np.isnan(y))[1:]] = np.nan
    scale = float(1 / X.var(axis=0).sum())
    with pytest.warns(FewLabelsWarning, match="No parameters were selected.*at least two rows"):
        fitted = with_grid(estimator, gammas=[scale / 4, 3 * scale], graphs=[FLAT]).fit(X, y)
    assert np.isnan(fitted.best_score_)
    assert fitted.cv_results_ == {}
    gamma = 3 * scale if is_classifier(estimator) else scale / 4  # values are smoother
    assert fitted.best_params_ == nearest | {"gamma": gamma, "graph": FLAT}


@of_both
def test_repeated_rows_are_one_point_with_both_labels(estimator: Any) -> None:
    """Contradicting labels of one point are left out one at a time."""
    X, y, _ = labeled_clusters(2, n=40, n_labels=4)
    at = int(np.flatnonzero(y == 0)[0])
    more = np.vstack([X, X[[at]]]), np.append(y, 1)
    model = clone(estimator).fit(*more)
    w = np.ones(len(more[1]))
    expected = [
        by_hand(model, params, *more, w)[0].mean() for params in model.cv_results_["params"]
    ]
    np.testing.assert_allclose(model.cv_results_[ERROR], expected, atol=1e-8)


@of_both
def test_a_precomputed_kernel_and_graph(estimator: Any) -> None:
    X, y, _ = data_for(estimator)
    expected = clone(estimator).fit(X, y)
    W, K = KNNGraph(5).affinity(X), rbf_kernel(X, gamma=0.3)
    graphs = [AffinityGraph(W, power=graph.power) for graph in estimator.graphs]
    model = with_grid(estimator, kernel="precomputed", graphs=graphs).fit(K, y)
    np.testing.assert_allclose(model.cv_results_[ERROR], expected.cv_results_[ERROR], rtol=1e-7)
    assert "gamma" not in model.best_params_
    with pytest.raises(ValueError, match="leaves no points to build a graph from"):
        with_grid(estimator, kernel="precomputed", graphs=None).fit(K, y)


# ---- warnings ----------------------------------------------------------------------------------


def test_warnings_are_about_the_chosen_number_of_eigenvectors() -> None:
    X, y, _ = data_for(BOTH[1], n_labels=3)
    with pytest.warns(FewEigenvectorsWarning, match="n_eigenvectors=2 is less than the number"):
        erls(n_eigenvectors=[2]).fit(X, y)
    erls(n_eigenvectors=[2, 20]).fit(X, y)
    apart = AffinityGraph(sp.block_diag([np.ones((6, 6)) - np.eye(6)] * 6, format="csr"))
    with pytest.warns(UnlabeledComponentWarning) as caught:
        erls(graphs=[apart], n_eigenvectors=[4]).fit(X, y)
    assert any("6 connected components and n_eigenvectors=4" in str(w.message) for w in caught)


def test_settings_without_a_solution_are_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = data_for(BOTH[0])
    sound = rls().fit(X, y)
    original = solver.DeformedPath.block

    def broken(self: Any, points: Any, ratio: float) -> Any:
        T = original(self, points, ratio)
        best = sound.best_params_["gamma_I"] / sound.best_params_["gamma_A"]
        return T * np.nan if np.isclose(ratio, best) else T

    monkeypatch.setattr(solver.DeformedPath, "block", broken)
    model = rls().fit(X, y)
    lost = np.isnan(model.cv_results_[ERROR])
    assert 0 < lost.sum() < len(lost)
    np.testing.assert_array_equal(np.isnan(model.cv_results_["left_out_error"]), lost)
    assert model.best_params_ != sound.best_params_
    assert np.isfinite(model.best_score_)
    monkeypatch.setattr(solver.DeformedPath, "block", lambda *_: np.full((6, 6), np.nan))
    with pytest.raises(ValueError, match=r"No setting of the grid has a solution.*larger gamma_A"):
        rls().fit(X, y)


def test_embedded_settings_without_solution_are_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = data_for(BOTH[1])
    original = SpectralPath._kernel

    def broken(self: Any, r: int, power: int, mu: float) -> Any:
        T, free = original(self, r, power, mu)
        return (T * np.nan if mu == 1.0 else T), free

    monkeypatch.setattr(SpectralPath, "_kernel", broken)
    results = erls().fit(X, y).cv_results_
    np.testing.assert_array_equal(np.isnan(results[ERROR]), results["param_mu"] == 1.0)


def test_matrices_of_one_width_are_freed_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lapwing.kernels._TILE", 64)
    n = 500
    X = np.random.default_rng(0).standard_normal((n, 30))  # the kernel matrix has full rank
    y = np.where(np.arange(n) < 12, np.arange(n) % 2, -1)
    graphs = [KNNGraph(5, power=power) for power in (1, 2, 3)]
    model = LapRLSClassifierCV(gammas=[0.02, 0.1], graphs=graphs)
    tracemalloc.start()
    try:
        model.fit(X, y)
        assert tracemalloc.get_traced_memory()[1] < 6.5 * 8 * n**2
    finally:
        tracemalloc.stop()
