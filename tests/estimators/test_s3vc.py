"""S3VC: balance, identities between kernels and spaces, the objective written out, bad input.

What the estimator says is checked against its documented objective, recomputed here in dense NumPy
from the fitted attributes, and against supervised SVMs of scikit-learn where the two coincide. The
numerics have tests of their own.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from lapwing import S3VC, KNNGraph, Landmarks, Linear
from lapwing.exceptions import (
    BalanceWarning,
    FeatureScaleWarning,
    LongFitWarning,
    NoImprovementWarning,
    SingleClassWarning,
    UnlabeledComponentWarning,
)
from lapwing.losses import UNLABELED_LOSSES
from lapwing.objectives.low_density import Function
from lapwing.solvers.low_density import methods as s3vm
from tests.helpers.answers import scores
from tests.helpers.callbacks import Record
from tests.helpers.data import Data, around_corners, first_labels, shuffled
from tests.helpers.low_density import ONE_DESCENT
from tests.helpers.members import check_examples

METHODS = tuple(s3vm.METHODS)
COMBINATORIAL = ("cccp", "switching")  # for the hinge only, usually with the symmetric hinge
every_method = pytest.mark.parametrize("method", METHODS)


def clusters(n_classes: int = 2, n: int = 54, n_labels: int = 4, seed: int = 0) -> Data:
    """Clusters, one a class, more of them in the first; n_labels labels of each and two more of
    the first, so that the mean label is not 0."""
    rng = np.random.default_rng(seed)
    truth = np.concatenate([np.arange(n_classes), rng.integers(-1, n_classes, n - n_classes)])
    truth = np.maximum(truth, 0)
    X = around_corners(truth, rng, distance=4.0)
    y = np.where(truth == 0, first_labels(truth, n_labels + 2), first_labels(truth, n_labels))
    return shuffled(rng, X, y, truth)


def model(**options: Any) -> S3VC:
    """With C of its own: what is asserted must not hang on the default.

    One descent on a loss without a kink takes a quarter of the time of a continuation; tests over
    methods name them, and have the hinge.
    """
    quick = {} if {"method", "loss"} & set(options) else {"loss": "squared_hinge"}
    return S3VC(**{"C": 5.0, "tol": 1e-7, "method": "quasi-newton", **quick, **options})


@cache
def fit_to_clusters(n_classes: int = 2, *, kernel: str = "rbf", method: str) -> S3VC:
    """A fit to `clusters` that tests share and leave as it is."""
    X, y, _ = clusters(n_classes)
    return model(kernel=kernel, method=method).fit(X, y)


def columns(estimator: S3VC, X: Any) -> np.ndarray:
    """Decision values of all machines, (n, n_columns)."""
    if hasattr(estimator, "coef_"):
        return np.asarray(X @ estimator.coef_.T + estimator.intercept_)
    K = rbf_kernel(X, estimator.X_fit_, gamma=estimator.kernel_.gamma)
    return np.asarray(K @ estimator.alpha_ + estimator.intercept_)


def mean_value(estimator: S3VC, X: Any, y: Any, weights: Any = None) -> float:
    free = y == -1
    weights = None if weights is None else weights[free]
    return float(np.average(estimator.decision_function(X)[free], weights=weights))


def laplacian_power(estimator: S3VC, power: int) -> np.ndarray:
    W = estimator.affinity_.toarray()
    return np.linalg.matrix_power(np.diag(W.sum(axis=1)) - W, power)


# ---- balance -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "kernel"), [*((method, "rbf") for method in METHODS), (METHODS[0], "linear")]
)
def test_the_mean_label_is_the_mean_decision_value(method: str, kernel: str) -> None:
    X, y, _ = clusters()
    fitted = fit_to_clusters(kernel=kernel, method=method)
    expected = np.where(y[y != -1] == 1, 1.0, -1.0).mean()
    assert expected != 0
    assert abs(mean_value(fitted, X, y) - expected) < 1e-8
    np.testing.assert_allclose(fitted.balance_, [expected], atol=1e-8)


@pytest.mark.parametrize(
    ("balance", "expected"),
    [(0.3, -0.4), (0, -1.0), (1.0, 1.0), (np.float32(0.5), 0.0), ({0: 0.25, 1: 0.75}, 0.5)],
)
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.LapwingWarning")
def test_a_wanted_fraction_is_held(balance: Any, expected: float) -> None:
    X, y, _ = clusters()
    fitted = model(balance=balance).fit(X, y)
    assert abs(mean_value(fitted, X, y) - expected) < 1e-8


@pytest.mark.parametrize(
    ("method", "bounds"),
    [
        *((method, (0.05, 0.2)) for method in METHODS),
        *((METHODS[0], bounds) for bounds in ([0.8, 0.9], (0.4, 0.4), (0.0, 1.0))),
    ],
)
def test_an_interval_is_kept_to(method: str, bounds: Any) -> None:
    X, y, _ = clusters()
    fitted = model(method=method, balance=bounds).fit(X, y)
    lower, upper = 2 * bounds[0] - 1, 2 * bounds[1] - 1
    mean = mean_value(fitted, X, y)
    assert lower - 1e-8 <= mean <= upper + 1e-8
    np.testing.assert_allclose(fitted.balance_, [mean], atol=1e-8)


@pytest.mark.parametrize("bounds", [(0.05, 0.2), (0.45, 0.9), (0.1, 0.9)])
def test_an_interval_is_a_convex_constraint(bounds: tuple[float, float]) -> None:
    """Without the unlabelled term the bound that keeps the bias from its optimum is reached."""
    X, y, _ = clusters()
    free = mean_value(model(C_star=0, balance=None).fit(X, y), X, y)
    lower, upper = 2 * bounds[0] - 1, 2 * bounds[1] - 1
    fitted = model(C_star=0, balance=bounds).fit(X, y)
    assert abs(mean_value(fitted, X, y) - np.clip(free, lower, upper)) < 1e-6
    assert -0.6 < free < -0.1  # below, above and inside are all tried


def test_weights_of_unlabelled_rows_weigh_in_the_balance() -> None:
    X, y, _ = clusters()
    weights = np.random.default_rng(1).uniform(0.1, 3, len(X))
    fitted = model(balance=0.35).fit(X, y, sample_weight=weights)
    assert abs(mean_value(fitted, X, y, weights) - -0.3) < 1e-8
    assert abs(mean_value(fitted, X, y) - -0.3) > 1e-4
    own = np.average(np.where(y == 1, 1.0, -1.0)[y != -1], weights=weights[y != -1])
    fitted = model().fit(X, y, sample_weight=weights)
    assert abs(mean_value(fitted, X, y, weights) - own) < 1e-8


def test_without_a_balance_the_bias_is_free_or_none() -> None:
    X, y, _ = clusters()
    free = model(balance=None).fit(X, y)
    np.testing.assert_allclose(free.balance_, mean_value(free, X, y), atol=1e-8)
    none = model(balance=None, fit_intercept=False).fit(X, y)
    np.testing.assert_array_equal(none.intercept_, 0)
    assert (free.objective_ < none.objective_).all()


@pytest.mark.parametrize("balance", ["labels", {0: 0.5, 1: 0.3, 2: 0.2}])
def test_every_column_of_several_classes_has_its_balance(balance: Any) -> None:
    X, y, _ = clusters(3)
    known = y[y != -1]
    share = np.array([(known == k).mean() for k in range(3)])
    if balance != "labels":
        share = np.array([balance[k] for k in range(3)])
    rest = model(multi_class="ovr", balance=balance).fit(X, y)
    np.testing.assert_allclose(rest.balance_, 2 * share - 1, atol=1e-8)
    np.testing.assert_allclose(columns(rest, X[y == -1]).mean(axis=0), rest.balance_, atol=1e-8)
    pairs = model(balance=balance).fit(X, y)
    expected = [(share[b] - share[a]) / (share[a] + share[b]) for a, b in pairs.pairs_]
    np.testing.assert_allclose(pairs.balance_, expected, atol=1e-8)


def test_fractions_may_be_a_series_as_class_prior_may() -> None:
    X, y, _ = clusters(2)
    parts = {1: 0.7, 0: 0.3}
    expected = model(balance=parts).fit(X, y).balance_
    np.testing.assert_array_equal(model(balance=pd.Series(parts)).fit(X, y).balance_, expected)
    np.testing.assert_allclose(expected, 0.4)


# ---- the objective -----------------------------------------------------------------------------

LABELED_LOSS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "hinge": lambda margin: np.maximum(1 - margin, 0),
    "squared_hinge": lambda margin: np.maximum(1 - margin, 0) ** 2,
}
UNLABELED_LOSS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "gaussian": lambda f: np.exp(-2.0 * f**2),  # s = 2
    "symmetric_hinge": lambda f: np.maximum(1 - np.abs(f), 0),
}


def test_every_unlabelled_loss_is_written_out() -> None:
    check_examples(
        UNLABELED_LOSS,
        UNLABELED_LOSSES,
        registry="UNLABELED_LOSSES in lapwing.losses",
        place="UNLABELED_LOSS in tests/estimators/test_s3vc.py",
    )


class Written(NamedTuple):
    """J on columns (n, c) with their squared norms (c,)."""

    estimator: S3VC
    y: np.ndarray
    weights: np.ndarray

    def __call__(self, f: np.ndarray, norms: np.ndarray) -> np.ndarray:
        e, at, free = self.estimator, self.y != -1, self.y == -1
        name = e.unlabeled_loss
        if name == "auto":
            name = "symmetric_hinge" if e.method in COMBINATORIAL else "gaussian"
        classes = e.classes_[1:] if len(e.classes_) == 2 else e.classes_
        Y = np.where(self.y[at, None] == classes, 1.0, -1.0)
        fit = self.weights[at] @ LABELED_LOSS[e.loss](Y * f[at])
        density = self.weights[free] @ UNLABELED_LOSS[name](f[free])
        return np.asarray(norms / 2 + e.C * fit + e.C_star_ * density)


OBJECTIVES = [
    *({"method": method} for method in METHODS),
    *(
        {"method": method, "loss": "squared_hinge"}
        for method in METHODS
        if method not in COMBINATORIAL
    ),
    {"method": "continuation", "unlabeled_loss": "symmetric_hinge"},
    {"method": "cccp", "unlabeled_loss": "gaussian"},
    {"method": "gradient", "gamma_I": 0.3, "graph": KNNGraph(6, normalized=False)},
    {"method": "quasi-newton", "kernel": "linear"},
    {"method": "gradient", "C_star": 0.3},
]


@pytest.mark.parametrize(
    ("n_classes", "options"),
    # Columns of several classes are as many problems of two.
    [
        *((2, options) for options in OBJECTIVES),
        (3, OBJECTIVES[0]),
        *((3, o) for o in OBJECTIVES[-3:]),
    ],
)
def test_the_objective_is_the_documented_one(n_classes: int, options: dict[str, Any]) -> None:
    X, y, _ = clusters(n_classes)
    weights = np.random.default_rng(2).uniform(0.5, 2, len(X))
    fitted = model(s=2.0, multi_class="ovr", **options).fit(X, y, sample_weight=weights)
    if "C_star" not in options:
        equal = fitted.C * weights[y != -1].sum() / weights[y == -1].sum()
        assert abs(fitted.C_star_ - equal) < 1e-12
    f, norms = columns(fitted, X), squared_norms(fitted, X)
    objective = Written(fitted, y, weights)
    np.testing.assert_allclose(fitted.objective_, objective(f, norms), rtol=1e-8)
    assert (fitted.objective_ <= fitted.supervised_objective_).all()
    assert [len(values) for values in fitted.objectives_] == [1] * len(norms)
    # A local minimum: no admissible function nearby is lower.
    if options.get("gamma_I"):
        return
    rng = np.random.default_rng(3)
    free = y == -1
    for _ in range(20):
        moved = clone(fitted)
        moved.__dict__.update(fitted.__dict__)
        name = "coef_" if hasattr(fitted, "coef_") else "alpha_"
        setattr(
            moved,
            name,
            getattr(fitted, name) + 1e-4 * rng.standard_normal(getattr(fitted, name).shape),
        )
        change = columns(moved, X[free]) - f[free]
        moved.intercept_ = fitted.intercept_ - np.average(change, axis=0, weights=weights[free])
        there = objective(columns(moved, X), squared_norms(moved, X))
        assert (there >= fitted.objective_ - 1e-9).all()


def squared_norms(fitted: S3VC, X: np.ndarray) -> np.ndarray:
    """Of h, the intrinsic norm included."""
    if hasattr(fitted, "coef_"):
        return np.asarray((fitted.coef_**2).sum(axis=1))
    K = rbf_kernel(fitted.X_fit_, gamma=fitted.kernel_.gamma)
    norms = np.einsum("ij,ik,kj->j", fitted.alpha_, K, fitted.alpha_)
    if fitted.gamma_I:
        h = columns(fitted, X) - fitted.intercept_
        L = laplacian_power(fitted, fitted.graph.power)
        norms = norms + fitted.gamma_I * np.einsum("ij,ik,kj->j", h, L, h)
    return np.asarray(norms)


@pytest.mark.parametrize(("kernel", "C"), [("rbf", 3.0), ("linear", 0.5)])
@every_method
def test_without_the_unlabelled_term_it_is_an_svm(C: float, kernel: str, method: str) -> None:
    X, y, _ = clusters()
    at = y != -1
    options = {"kernel": kernel, "gamma": 0.2, "method": method}
    fitted = S3VC(C=C, C_star=0, balance=None, tol=1e-10, **options).fit(X, y)
    svm = SVC(kernel=kernel, gamma=0.2, C=C, tol=1e-10).fit(X[at], y[at])
    expected = svm.decision_function(X)
    np.testing.assert_allclose(fitted.decision_function(X), expected, atol=1e-6)
    np.testing.assert_allclose(fitted.objective_, fitted.supervised_objective_, rtol=1e-12)
    assert fitted.C_star_ == 0


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NothingUnlabeledWarning")
def test_all_points_labelled_is_an_svm_whatever_the_balance() -> None:
    X, _, truth = clusters()
    svm = SVC(gamma=0.2, C=2.0, tol=1e-10).fit(X, truth)
    for balance in ("labels", None, 0.9):
        fitted = S3VC(gamma=0.2, C=2.0, tol=1e-10, balance=balance).fit(X, truth)
        assert fitted.C_star_ == 0
        np.testing.assert_allclose(fitted.decision_function(X), svm.decision_function(X), atol=1e-6)


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NothingUnlabeledWarning")
def test_all_points_labelled_in_three_classes() -> None:
    X, _, truth = clusters(3)
    fitted = S3VC(gamma=0.2, C=2.0, tol=1e-10).fit(X, truth)
    svm = SVC(gamma=0.2, C=2.0, tol=1e-10, decision_function_shape="ovo").fit(X, truth)
    # libsvm's pairs are positive for the first class.
    np.testing.assert_allclose(columns(fitted, X), -svm.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(fitted.pair_shares_, 0)


# ---- kernels and spaces ------------------------------------------------------------------------


def gaussian(X: Any, Z: Any) -> Any:
    return rbf_kernel(X, Z, gamma=0.2)


@pytest.mark.parametrize(("n_classes", "gamma_I"), [(2, 0.2), (3, 0.0)])
def test_all_points_as_landmarks_are_the_full_kernel(n_classes: int, gamma_I: float) -> None:
    X, y, _ = clusters(n_classes)
    options = {"gamma": 0.2, "gamma_I": gamma_I, "tol": 1e-7}
    expected = model(**options).fit(X, y).decision_function(X)
    for space in (Landmarks(centers=X[::-1]), Landmarks(10**6)):
        fitted = model(space=space, **options).fit(X, y)
        np.testing.assert_allclose(fitted.decision_function(X), expected, atol=1e-3)


@pytest.mark.parametrize(
    ("kernel", "power", "method"),
    [
        (gaussian, 1, "quasi-newton"),
        (gaussian, 2, "continuation"),
        ("linear", 1, "gradient"),
        ("linear", 2, "gradient"),
    ],
)
def test_the_hybrid_deforms_the_kernel(kernel: Any, power: int, method: str) -> None:
    """With M = gamma_I L^p the kernel is K - K (I + M K)^-1 M K (continuation paper, 5.1)."""
    X, y, _ = clusters()
    graph = KNNGraph(6, normalized=False, power=power)
    options = {"method": method, "tol": 1e-7}
    hybrid = model(kernel=kernel, graph=graph, gamma_I=0.4, **options).fit(X, y)
    K = X @ X.T if kernel == "linear" else kernel(X, X)
    M = 0.4 * laplacian_power(hybrid, power)
    deformed = K - K @ np.linalg.solve(np.eye(len(K)) + M @ K, M @ K)
    deformed = (deformed + deformed.T) / 2
    given = model(kernel="precomputed", **options).fit(deformed, y)
    expected = given.decision_function(deformed)
    np.testing.assert_allclose(hybrid.decision_function(X), expected, atol=1e-3)
    plain = model(kernel=kernel, **options).fit(X, y)
    assert np.abs(plain.decision_function(X) - expected).max() > 1e-2
    np.testing.assert_allclose(hybrid.objective_, given.objective_, rtol=1e-6)


# ---- answers -----------------------------------------------------------------------------------


def test_scores_of_pairs_are_mean_votes() -> None:
    X, y, _ = clusters(4, n=60)
    fitted = model().fit(X, y)
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert [tuple(pair) for pair in fitted.pairs_] == pairs
    assert fitted.alpha_.shape[1] == fitted.intercept_.size == fitted.pair_shares_.size == 6
    cut = np.clip(columns(fitted, X), -1, 1)
    expected = np.zeros((len(X), 4))
    for number, (a, b) in enumerate(pairs):
        expected[:, a] -= cut[:, number] / 3
        expected[:, b] += cut[:, number] / 3
    np.testing.assert_allclose(fitted.decision_function(X), expected, atol=1e-10)
    assert (fitted.pair_shares_ > 0).all()
    assert (fitted.pair_shares_ < 1).all()
    assert not hasattr(model(multi_class="ovr").fit(X, y), "pairs_")


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_float32_is_descended_to_the_same_tolerance(C: float, kernel: str) -> None:
    """The penalties of the last descent multiply rounding, which ended it at 1e-2."""
    X, y = gap_points()
    rng = np.random.default_rng(0)
    single = (X + 2 * rng.standard_normal(X.shape)).astype(np.float32)
    model = S3VC(kernel, C=C).fit(single, y)
    assert model.decision_function(single).dtype == np.float32
    assert model.status_ == "converged"
    assert model.optimality_.max() <= 1e-4


# ---- weights -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.BalanceWarning")
def test_rows_of_weight_zero_are_not_there() -> None:
    X, y, _ = clusters()
    gone = np.concatenate([np.flatnonzero(y == 0)[:2], np.flatnonzero(y == -1)[:9]])
    weights = np.ones(len(X))
    weights[gone] = 0
    kept = weights > 0
    zero = model(gamma=0.2).fit(X, y, sample_weight=weights)
    without = model(gamma=0.2).fit(X[kept], y[kept])
    assert abs(zero.C_star_ - without.C_star_) < 1e-12
    np.testing.assert_allclose(zero.decision_function(X), without.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(zero.transduction_, without.predict(X))


def test_class_weights_count_in_the_balance_of_the_labels() -> None:
    X, y, _ = clusters()
    fitted = model(class_weight={0: 3.0}).fit(X, y)
    weights = np.where(y[y != -1] == 0, 3.0, 1.0)
    own = np.average(np.where(y[y != -1] == 1, 1.0, -1.0), weights=weights)
    assert abs(mean_value(fitted, X, y) - own) < 1e-8


def test_weights_and_penalties_are_one_thing() -> None:
    X, y, _ = clusters()
    expected = model(C=6.0, C_star=0.9, tol=1e-7).fit(X, y)
    halved = model(C=3.0, C_star=0.45, tol=1e-7).fit(X, y, sample_weight=np.full(len(X), 2.0))
    np.testing.assert_allclose(
        halved.decision_function(X), expected.decision_function(X), atol=1e-5
    )
    np.testing.assert_allclose(halved.objective_, expected.objective_, rtol=1e-8)


# ---- starts, callbacks, refits -----------------------------------------------------------------


@pytest.mark.parametrize("method", ["continuation", "cccp"])
def test_several_starts(method: str) -> None:
    X, y, _ = clusters(seed=3)
    X = X + np.random.default_rng(0).standard_normal(X.shape)
    options = {"method": method, "C_star": 2.0, "gamma": 1.0}
    one = S3VC(C=5.0, **options).fit(X, y)
    several = S3VC(C=5.0, n_init=3, random_state=0, **options).fit(X, y)
    (values,) = several.objectives_
    assert len(values) == 3
    np.testing.assert_array_equal(values[0], one.objectives_[0][0])
    assert several.objective_[0] == min(*values, several.supervised_objective_[0])
    assert len(np.unique(values.round(6))) > 1
    if method != METHODS[0]:  # how starts are drawn is the same code
        return
    again = S3VC(C=5.0, n_init=3, random_state=0, **options).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), several.decision_function(X))
    np.testing.assert_array_equal(again.objectives_[0], values)
    other = S3VC(C=5.0, n_init=3, random_state=1, **options).fit(X, y)
    assert (other.objectives_[0][1:] != values[1:]).any()


@pytest.mark.parametrize(
    "grid",
    [
        {"space__n_components": [3, 40], "graph__n_neighbors": [3], "gamma_I": [0.1]},
        {"balance": ["labels", None], "C_star": [0.0, None]},
    ],
    ids=lambda grid: next(iter(grid)),
)
def test_grid_search(grid: dict[str, list[Any]]) -> None:
    X, y, truth = clusters(n_labels=9)
    held = np.array_split(np.random.default_rng(0).permutation(np.flatnonzero(y != -1)), 2)
    folds = [(np.setdiff1d(np.arange(len(X)), fold), fold) for fold in held]
    template = S3VC(C=5.0, **ONE_DESCENT, space=Landmarks(), graph=KNNGraph())
    search = GridSearchCV(template, grid, cv=folds, error_score="raise").fit(X, y)
    assert set(search.best_params_) == set(grid)
    assert np.mean(search.predict(X) == truth) > 0.75
    train, test = folds[0]
    by_hand = clone(template).set_params(**search.cv_results_["params"][0]).fit(X[train], y[train])
    assert search.cv_results_["split0_test_score"][0] == by_hand.score(X[test], y[test])


# Two classes are one column, however several are told apart.
CALLED: list[tuple[int, dict[str, Any]]] = [
    (2, {"kernel": "linear"}),
    (2, {"method": "cccp"}),
    (2, {"method": "switching"}),
    (2, {"space": Landmarks(20), **ONE_DESCENT}),
    (3, ONE_DESCENT),
    (3, {"multi_class": "ovr", "gamma_I": 0.1, **ONE_DESCENT}),
]


@pytest.mark.parametrize(("n_classes", "options"), CALLED)
def test_a_callback_sees_every_iteration_and_can_stop(
    n_classes: int, options: dict[str, Any]
) -> None:
    X, y, _ = clusters(n_classes, n=36)
    record = Record()
    fitted = S3VC(C=5.0, **options).set_callbacks(record).fit(X, y)
    graph = [("graph", 0)] if "gamma_I" in options else []
    stages = [("fit", 2 + len(graph)), *graph, ("space", 0), ("solve", None)]
    assert record.stages == stages
    assert len(record.scores) >= fitted.n_iter_ / 2
    np.testing.assert_allclose(record.scores[-1], scores(fitted, X), rtol=0.01, atol=0.01)
    np.testing.assert_array_equal(record.predictions[-1], fitted.predict(X))
    plain = S3VC(C=5.0, **options).fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(X), fitted.decision_function(X))
    for after in (1, 10):
        stopping = Record(stop_after=after)
        stopped = S3VC(C=5.0, **options).set_callbacks(stopping)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingleClassWarning)
            stopped.fit(X, y)
        assert stopped.status_ == "stopped by a callback"
        assert after <= len(stopping.scores) < len(record.scores)
        np.testing.assert_array_equal(stopped.predict(X), stopped.transduction_)


BALANCES: list[tuple[Any, str]] = [
    *(
        (value, "must be 'labels' (the mean label), a fraction of the second class")
        for value in (7, -0.1, np.nan, True, "classes", (0.1,), (0.1, 0.2, 0.3), np.ones(2))
    ),
    *(
        (value, "must be two fractions 0 <= lower <= upper <= 1 of the class 1.")
        for value in ((0.6, 0.4), (-0.1, 0.5), (0.5, 1.1), ("a", 1), (None, 0.5))
    ),
    ({0: 0.4, 1: 0.4}, "per class, fractions that sum to 1 or counts: they sum to 0.8."),
    ({0: 1.4, 1: -0.4}, "or counts: it holds -0.4 for the class 1."),
    ({0: 0.4}, "has no proportion for [1]. Give every class a proportion."),
    ({}, "={} has no proportion for [0, 1]. Give every class a proportion."),
]


@pytest.mark.parametrize(("balance", "message"), BALANCES)
def test_wrong_balances_are_refused(balance: Any, message: str) -> None:
    X, y, _ = clusters()
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        S3VC(balance=balance).fit(X, y)
    assert str(caught.value).startswith("balance")


# ---- bad input ---------------------------------------------------------------------------------


COMBINATIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    *(
        (
            {"method": method, "loss": "squared_hinge"},
            ValueError,
            f"method='{method}' labels the unlabelled points and knows the hinge only, not "
            "loss='squared_hinge'. Use loss='hinge', or another method.",
        )
        for method in ("cccp", "switching")
    ),
    (
        {"unlabeled_loss": "symmetric_hinge", "loss": "squared_hinge"},
        ValueError,
        "unlabeled_loss='symmetric_hinge' goes with loss='hinge', not loss='squared_hinge'",
    ),
    (
        {"fit_intercept": False},
        ValueError,
        "balance='labels' determines the bias, but fit_intercept=False. Use "
        "fit_intercept=True, or balance=None.",
    ),
    ({"space": Landmarks(0)}, ValueError, "n_components=0 must be a whole number of at least 1"),
    ({"space": Landmarks(method="grid")}, ValueError, "method='grid' must be one of"),
    ({"space": Landmarks(5), "kernel": "linear"}, ValueError, "space=Landmarks(...) needs a nonl"),
    ({"space": Landmarks(centers=np.ones((4, 2)))}, ValueError, "centers have 2 features, but X"),
    ({"kernel": "precomputed"}, ValueError, "takes the kernel matrix as X, square, not (54, 3)"),
    (
        {"kernel": "precomputed", "space": Linear()},
        ValueError,
        "space=Linear() needs the features, but with kernel='precomputed' X has none.",
    ),
    ({"C": 1e300}, ValueError, "C=1e+300 must be at most 1e+12"),
    ({"C_star": 1e300}, ValueError, "C_star=1e+300 must be at most 1e+12"),
]


@pytest.mark.parametrize(("options", "kind", "message"), COMBINATIONS)
def test_what_does_not_go_together_is_refused(
    options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    X, y, _ = clusters()
    with pytest.raises(kind, match=re.escape(message)):
        S3VC(**options).fit(X, y)


@pytest.mark.parametrize("balance", [0.4, (0.2, 0.5)])
def test_a_fraction_of_the_second_class_needs_two_classes(balance: Any) -> None:
    X, y, _ = clusters(3)
    message = (
        f"balance={balance!r} is the fraction of the second of two classes, but there are 3 "
        "classes. Give a dict with the fraction of every class, or balance='labels'."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        S3VC(balance=balance).fit(X, y)


def test_bad_weights_are_refused() -> None:
    X, y, _ = clusters()
    row = int(np.flatnonzero(y == -1)[3])
    weights = np.ones(len(X))
    weights[row] = -0.5
    message = (
        f"sample_weight must not be negative: the unlabelled row {row} has -0.5. S3VC weighs "
        "unlabelled rows as well."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        S3VC().fit(X, y, sample_weight=weights)
    weights[row] = np.nan
    with pytest.raises(ValueError, match="sample_weight holds NaN"):
        S3VC().fit(X, y, sample_weight=weights)


def test_unlabelled_rows_may_all_have_weight_zero() -> None:
    X, y, _ = clusters()
    at = y != -1
    fitted = S3VC(C=2.0, gamma=0.2, tol=1e-10).fit(X, y, sample_weight=at.astype(float))
    svm = SVC(C=2.0, gamma=0.2, tol=1e-10).fit(X[at], y[at])
    np.testing.assert_allclose(fitted.decision_function(X), svm.decision_function(X), atol=1e-6)


# ---- warnings ----------------------------------------------------------------------------------


def test_too_few_iterations_are_reported() -> None:
    X, y, _ = clusters()
    with pytest.warns(ConvergenceWarning, match="L-BFGS did not converge in .* iterations.*tol"):
        fitted = S3VC(C=5.0, max_iter=1).fit(X, y)
    assert fitted.status_ == "not converged"


def test_one_class_for_all_is_reported() -> None:
    X, y, truth = clusters()
    kept = (y != -1) | ((truth == 0) & (X[:, 0] > X[:, 1] + 2))
    with pytest.warns(SingleClassWarning, match="unlabelled points were given class 0"):
        S3VC(C=5.0, balance=None).fit(X[kept], y[kept])


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.SingleClassWarning")
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.BalanceWarning")
def test_components_that_no_label_reaches_are_reported() -> None:
    X, y, _ = clusters()
    far = np.vstack([X, X[:20] + 100])
    with pytest.warns(UnlabeledComponentWarning, match="contain no labelled"):
        S3VC(C=5.0, gamma_I=0.1).fit(far, np.concatenate([y, np.full(20, -1)]))


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.BalanceWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_minimum_worse_than_the_supervised_solution_is_not_returned(
    n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, _ = clusters(n_classes)
    usual = s3vm.METHODS["gradient"]

    def mirrored(objective: Any, *given: Any) -> Any:
        """To the basin of the wrong labels, which the unlabelled points hold."""
        found = usual.solve(objective, *given)
        wrong = Function(-found.state.coef, found.state.intercept)
        return replace(found, state=wrong)

    monkeypatch.setitem(s3vm.METHODS, "gradient", replace(usual, solve=mirrored))
    options = {"kernel": "linear", "C": 0.5, "method": "gradient", "multi_class": "ovr"}
    which = {2: "The", 3: "In [123] of 3 columns the"}[n_classes]
    message = f"{which} minimum found by method='gradient' has a higher objective than the superv"
    with pytest.warns(NoImprovementWarning, match=message):
        fitted = S3VC(C_star=3.0, **options).fit(X, y)
    ends = np.array([values.min() for values in fitted.objectives_])
    beaten = ends > 1.5 * fitted.supervised_objective_
    assert beaten.any()
    np.testing.assert_array_equal(fitted.objective_[beaten], fitted.supervised_objective_[beaten])
    supervised = S3VC(C_star=0.0, **options).fit(X, y)
    np.testing.assert_allclose(
        columns(fitted, X)[:, beaten], columns(supervised, X)[:, beaten], atol=1e-4
    )


def test_a_fitted_model_answers_as_it_was_fitted() -> None:
    X, y, _ = clusters(4)
    for fitted, later in (("ovo", "ovr"), ("ovr", "ovo")):
        estimator = model(multi_class=fitted).fit(X, y)
        before = estimator.decision_function(X)
        estimator.set_params(multi_class=later)
        np.testing.assert_array_equal(estimator.decision_function(X), before)


@pytest.mark.parametrize(("n_classes", "options"), [(3, {}), (2, {"space": Landmarks(10)})])
def test_what_is_no_kernel_is_refused(n_classes: int, options: dict[str, Any]) -> None:
    X, y, _ = clusters(n_classes)

    def negative(A: Any, B: Any) -> Any:
        return -(A @ B.T)

    def lopsided(A: Any, B: Any) -> Any:
        return np.exp(-np.abs(A.sum(axis=1)[:, None] - 2 * B.sum(axis=1)))

    with pytest.raises(ValueError, match="positive semi-definite"):
        S3VC(kernel=negative, **options).fit(X, y)
    with pytest.raises(ValueError, match="symmetric"):
        S3VC(kernel=lopsided, **options).fit(X, y)


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.BalanceWarning")
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.OutlierWarning")
def test_a_class_that_is_lost_on_its_own_labels_is_reported() -> None:
    X, y, _ = clusters()
    with pytest.warns(SingleClassWarning, match="All labelled points, of both classes"):
        S3VC().fit(np.vstack([X, np.full((1, 3), 1e4)]), np.append(y, -1))


def test_many_classes_are_told_apart_one_against_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = clusters(4)
    assert len(model().fit(X, y).pairs_) == 6
    monkeypatch.setattr("lapwing.estimators.s3vm._MOST_PAIRED", 3)
    found, rest = model().fit(X, y), model(multi_class="ovr").fit(X, y)
    assert not hasattr(found, "pairs_")
    np.testing.assert_array_equal(found.decision_function(X), rest.decision_function(X))
    y = np.where(y == 3, -1, y)
    monkeypatch.setattr("lapwing.estimators.s3vm._MOST_PAIRED", 2)
    assert len(model(multi_class="ovo").fit(X, y).pairs_) == 3


def test_minutes_to_come_are_reported() -> None:
    """Sixty classes are 1770 machines, three rounds each."""
    truth = np.arange(300) % 60
    X = np.random.default_rng(0).standard_normal((300, 5)) + 9.0 * truth[:, None]
    y = np.where(np.arange(300) < 120, truth, -1)
    told = (
        r"S3VC fits 1770 pairs of 60 classes in rounds for 300 points and will take about 3 "
        r"minutes or more\. multi_class='ovr' fits a machine .*LapERLSClassifier takes"
    )

    def stop(*_: Any) -> Any:
        raise AssertionError("the fit began")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lapwing.estimators.s3vm.one_vs_one", stop)
        with (
            pytest.warns(LongFitWarning, match=told),
            pytest.raises(AssertionError, match="the fit began"),
        ):
            S3VC().fit(X, y)
        some = truth < 10  # below two minutes nothing is said
        with pytest.raises(AssertionError, match="the fit began"):
            S3VC().fit(X[some], y[some])


def test_labels_alone_take_one_round() -> None:
    X, y, _ = clusters(3)
    seen = Record()
    fitted = model(C_star=0.0, balance=None).set_callbacks(seen).fit(X, y)
    np.testing.assert_array_equal(fitted.pair_shares_, 0)
    rounds = Record()
    model(C_star=0.0).set_callbacks(rounds).fit(X, y)
    assert len(seen.scores) < len(rounds.scores)


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.SingleClassWarning")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_margins_that_cannot_be_reached_are_reported(kernel: str) -> None:
    """Tiny features, or a tiny C: the norm holds all decision values at their mean."""
    X, y, truth = clusters()
    points, C = {"linear": (X * 1e-3, 100.0), "rbf": (X, 1e-3)}[kernel]
    told = (
        r"C=\S+ is too small for features of this size: labels change decision values by \S+ at "
        r"most, but the targets are -1 and 1\. Standardise the features, .* larger C, such as"
    )
    with pytest.warns(FeatureScaleWarning, match=told) as caught:
        fitted = S3VC(kernel, C=C).fit(points, y)
    message = next(str(w.message) for w in caught if w.category is FeatureScaleWarning)
    reach, more = re.findall(r"by (\S+) at most.* such as (\S+)\.$", message)[0]
    away = np.abs(fitted.decision_function(points) - fitted.balance_[0])[y >= 0].max()
    assert away <= 1.05 * float(reach)
    again = S3VC(kernel, C=float(more), balance={0: 0.6, 1: 0.4}).fit(points, y)
    assert (again.transduction_ == truth).mean() > 0.9


# --- shares of the classes that cannot be the labels' -----------------------------------------


def iris(hidden: slice) -> tuple[Any, Any, Any]:
    X, truth = load_iris(return_X_y=True)
    y = truth.copy()
    y[hidden] = -1
    return X, y, truth


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.SingleClassWarning")
@pytest.mark.parametrize("hidden", [slice(0, 45), slice(60, 61)])
def test_few_unlabelled_rows_are_not_shared_out(hidden: slice) -> None:
    """One unlabelled row has one class, whatever shares the 149 labels have."""
    X, y, truth = iris(hidden)
    answers = S3VC(**ONE_DESCENT).fit(X, y).transduction_
    assert (answers[hidden] == truth[hidden]).mean() >= 0.9


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.BalanceWarning")
@pytest.mark.parametrize("others", [5, 10])
def test_shares_of_labels_give_way_where_unlabelled_rows_differ(others: int) -> None:
    """45 setosas and a few others without a label, 5 setosas and many others with one."""
    X, y, truth = iris(slice(0, 45))
    hidden = np.r_[0:45, 50 : 50 + others, 100 : 100 + others]
    y[hidden] = -1
    answers = S3VC(**ONE_DESCENT).fit(X, y).transduction_
    assert (answers[hidden] == truth[hidden]).mean() >= 0.95


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_uneven_classes_labelled_in_equal_numbers_are_reported_and_not_split_evenly(
    kernel: str,
) -> None:
    X, y, truth = uneven(0.9)
    told = (
        r"balance='labels' was not enforced\. Class 1 has 50 % of the labels, but about \d+ % of "
        r"the unlabelled rows look like it; the fit uses these \d+ %\. If you know the true "
        r"proportions, pass them: balance=\{0: 0\.\d+, 1: 0\.\d+\}\. If they are those "
        r"of the labels, pass these in the same way\."
    )
    with pytest.warns(BalanceWarning, match=told):
        fitted = S3VC(kernel).fit(X, y)
    wrong = (fitted.transduction_ != truth).mean()
    held = S3VC(kernel, balance={0: 0.5, 1: 0.5}).fit(X, y)
    assert held.balance_[0] == pytest.approx(0, abs=1e-6)
    assert wrong < (held.transduction_ != truth).mean() - 0.08


def test_one_sided_rows_are_reported_where_labels_are_few_and_the_balance_stays() -> None:
    rng = np.random.default_rng(0)
    truth = np.r_[np.arange(12) % 2, np.zeros(100, dtype=int)]
    X = rng.standard_normal((112, 2)) + 6.0 * truth[:, None]
    told = (
        r"balance='labels' was enforced and may be wrong\. Class 1 has 50 % of the labels, but "
        r"about \d+ % of the unlabelled rows look like it, as far as so few labels can show\."
    )
    with pytest.warns(BalanceWarning, match=told):
        fitted = S3VC("linear").fit(X, np.where(np.arange(112) < 12, truth, -1))
    assert fitted.balance_[0] == pytest.approx(0, abs=1e-6)


def test_the_reported_column_is_named() -> None:
    X, y, _ = uneven(0.9, third=True)
    pairs = r"in \d of 3 columns\. Class 2 has 50 % of the labels, beside class 0, but about"
    with pytest.warns(BalanceWarning, match=pairs):
        S3VC().fit(X, y)
    rest = r"in \d of 3 columns\. Class 0 has 33 % of the labels, but about"
    with pytest.warns(BalanceWarning, match=rest):
        S3VC(multi_class="ovr").fit(X, y)


def test_the_last_of_many_pairs_is_named() -> None:
    """There are more columns than classes."""
    X, y, _ = uneven(0.9)
    drawn = np.random.default_rng(0).standard_normal((40, 2))
    X = np.vstack([X, *(drawn + np.array([60.0 * k, 30.0]) for k in range(2))])
    y = np.r_[np.where(y < 0, -1, y + 2), *(np.where(np.arange(40) < 4, k, -1) for k in range(2))]
    told = r"of 6 columns\. Class 3 has 50 % of the labels, beside class 2, but about"
    with pytest.warns(BalanceWarning, match=told):
        S3VC("linear").fit(X, y)


def uneven(share: float, *, third: bool = False) -> tuple[Any, Any, Any]:
    """Two clusters that touch, of uneven size, and perhaps a small third; ten labels of each."""
    rng = np.random.default_rng(3)
    truth = (rng.uniform(size=300) > share).astype(int)
    truth[:40] = np.arange(40) % 2
    truth[40:70] = 2 if third else truth[40:70]
    y = np.full(300, -1)
    for label in range(2 + third):
        y[np.flatnonzero(truth == label)[:10]] = label
    centers = np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 5.0]])
    return centers[truth] + rng.standard_normal((300, 2)), y, truth


def test_shares_that_nothing_contradicts_are_held() -> None:
    X, y = gap_points()
    model = S3VC("linear").fit(X, y)
    known = y[y >= 0]
    assert model.balance_[0] == pytest.approx(2 * known.mean() - 1, abs=1e-6)


def gap_points() -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    truth = np.arange(200) % 2
    y = np.full(200, -1)
    y[:6] = truth[:6]
    return rng.standard_normal((200, 3)) + 4.0 * truth[:, None], y
