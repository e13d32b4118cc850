"""S3VC: balance, objective, equivalent kernels and spaces, invalid input, warnings.

Fits are compared with the documented objective, computed in dense NumPy from the fitted attributes,
and with supervised SVMs of scikit-learn where the two coincide. Solvers have tests of their own.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from lapwing import S3VC, KNNGraph, Landmarks
from lapwing.exceptions import (
    BalanceWarning,
    FeatureScaleWarning,
    NoImprovementWarning,
    SingleClassWarning,
)
from lapwing.losses import LOSSES, GaussianBump
from lapwing.objectives.low_density import Function
from lapwing.solvers.low_density import methods as s3vm
from tests.helpers.answers import coded_targets, scores
from tests.helpers.callbacks import Record
from tests.helpers.data import Data, around_corners, first_labels, shuffled
from tests.helpers.low_density import DENSITIES, ONE_DESCENT
from tests.helpers.manifold import dense_smoothness
from tests.helpers.problems import loss_value
from tests.helpers.warned import ignoring, warned

METHODS = tuple(s3vm.METHODS)
COMBINATORIAL = ("cccp", "switching")  # for the hinge only, usually with the symmetric hinge
every_method = pytest.mark.parametrize("method", METHODS)


def clusters(n_classes: int = 2, n: int = 54, n_labels: int = 4, seed: int = 0) -> Data:
    """Make a cluster for each class; the first is larger and has two more labels, so that the mean
    label is not 0."""
    rng = np.random.default_rng(seed)
    truth = np.concatenate([np.arange(n_classes), rng.integers(-1, n_classes, n - n_classes)])
    truth = np.maximum(truth, 0)
    X = around_corners(truth, rng, distance=4.0)
    y = np.where(truth == 0, first_labels(truth, n_labels + 2), first_labels(truth, n_labels))
    return shuffled(rng, X, y, truth)


def model(**options: Any) -> S3VC:
    """S3VC with explicit C, so that assertions do not depend on the default.

    One descent on a loss without a kink takes a quarter of the time of a continuation; tests over
    methods name them, and have the hinge.
    """
    quick = {} if {"method", "loss"} & set(options) else {"loss": "squared_hinge"}
    return S3VC(**{"C": 5.0, "tol": 1e-7, "method": "quasi-newton", **quick, **options})


def columns(estimator: S3VC, X: Any) -> np.ndarray:
    """Decision values of all machines, (n, n_columns)."""
    if hasattr(estimator, "coef_"):
        return np.asarray(X @ estimator.coef_.T + estimator.intercept_)
    K = rbf_kernel(X, estimator.X_fit_, gamma=estimator.kernel_.gamma)
    return np.asarray(K @ estimator.alpha_ + estimator.intercept_)


# ---- balance -----------------------------------------------------------------------------------


# (parameters, lowest and highest fraction of the second class; None is that of the labels)
BALANCES: list[tuple[dict[str, Any], Any, Any]] = [
    *(({"method": method}, None, None) for method in METHODS),
    ({"kernel": "linear"}, None, None),
    *(({"balance": share}, share, share) for share in (0.3, 0, 1.0, np.float32(0.5))),
    ({"balance": {0: 0.25, 1: 0.75}}, 0.75, 0.75),
    ({"balance": pd.Series({1: 0.7, 0: 0.3})}, 0.7, 0.7),
    *(({"method": method, "balance": (0.05, 0.2)}, 0.05, 0.2) for method in METHODS),
    *(({"balance": bounds}, *bounds) for bounds in ([0.8, 0.9], (0.4, 0.4), (0.0, 1.0))),
]


@pytest.mark.parametrize(("options", "low", "high"), BALANCES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.LapwingWarning")
def test_mean_decision_value_is_that_of_the_balance(
    options: dict[str, Any], low: Any, high: Any, weighted: bool
) -> None:
    X, y, _ = clusters()
    weights = np.random.default_rng(1).uniform(0.1, 3, len(X)) if weighted else np.ones(len(X))
    if low is None:
        low = high = np.average(y[y != -1] == 1, weights=weights[y != -1])
    fitted = model(**options).fit(X, y, sample_weight=weights)
    mean = np.average(fitted.decision_function(X)[y == -1], weights=weights[y == -1])
    assert 2 * low - 1 - 1e-8 <= mean <= 2 * high - 1 + 1e-8
    np.testing.assert_allclose(fitted.balance_, [mean], atol=1e-8)


def test_bias_without_a_balance() -> None:
    X, y, _ = clusters()
    free = model(balance=None).fit(X, y)
    mean = free.decision_function(X)[y == -1].mean()
    np.testing.assert_allclose(free.balance_, [mean], atol=1e-8)
    none = model(balance=None, fit_intercept=False).fit(X, y)
    np.testing.assert_array_equal(none.intercept_, 0)
    assert (free.objective_ < none.objective_).all()


@pytest.mark.parametrize("balance", ["labels", {0: 0.5, 1: 0.3, 2: 0.2}])
def test_every_column_has_its_balance(balance: Any) -> None:
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


# ---- the objective -----------------------------------------------------------------------------


def documented(fitted: S3VC, X: Any, y: Any, weights: Any) -> np.ndarray:
    """Compute the objective of every column from the fitted function."""
    f, known = columns(fitted, X), y != -1
    if hasattr(fitted, "coef_"):
        norms = (fitted.coef_**2).sum(axis=1)
    else:
        at_basis = columns(fitted, fitted.X_fit_) - fitted.intercept_
        norms = (fitted.alpha_ * at_basis).sum(axis=0)
    h = f - fitted.intercept_
    norms = norms + (h * (dense_smoothness(fitted) @ h)).sum(axis=0)
    name = fitted.unlabeled_loss
    if name == "auto":
        name = "symmetric_hinge" if fitted.method in COMBINATORIAL else "gaussian"
    loss = 2 * loss_value(LOSSES[fitted.loss](), coded_targets(fitted, y), f[known])
    density = DENSITIES[name](GaussianBump(fitted.s), f[~known])
    losses = fitted.C * weights[known] @ loss + fitted.C_star_ * weights[~known] @ density
    return np.asarray(norms / 2 + losses)


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
    # Several classes are as many problems of two classes.
    [
        *((2, options) for options in OBJECTIVES),
        (3, OBJECTIVES[0]),
        *((3, o) for o in OBJECTIVES[-3:]),
    ],
)
def test_objective_is_the_documented_one(n_classes: int, options: dict[str, Any]) -> None:
    """With the intrinsic norm in that of h = f - b."""
    X, y, _ = clusters(n_classes)
    weights = np.random.default_rng(2).uniform(0.5, 2, len(X))
    fitted = model(s=2.0, multi_class="ovr", **options).fit(X, y, sample_weight=weights)
    if "C_star" not in options:
        equal = fitted.C * weights[y != -1].sum() / weights[y == -1].sum()
        assert abs(fitted.C_star_ - equal) < 1e-12
    np.testing.assert_allclose(fitted.objective_, documented(fitted, X, y, weights), rtol=1e-8)
    assert (fitted.objective_ <= fitted.supervised_objective_).all()
    assert [len(values) for values in fitted.objectives_] == [1] * len(fitted.objective_)


# (classes, rows with a label or weight, parameters) for which unlabelled points have no effect.
SUPERVISED: list[tuple[int, str, dict[str, Any]]] = [
    (2, "free", {"C_star": 0, "balance": None}),
    (2, "free", {"kernel": "linear", "C": 0.5, "C_star": 0, "balance": None}),
    *((2, "all labelled", {"balance": balance}) for balance in ("labels", None, 0.9)),
    (2, "weight 0", {}),
    (3, "all labelled", {}),
]


@pytest.mark.parametrize(("n_classes", "rows", "options"), SUPERVISED)
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NothingUnlabeledWarning")
def test_equals_a_supervised_svm_without_unlabelled_losses(
    n_classes: int, rows: str, options: dict[str, Any]
) -> None:
    X, y, truth = clusters(n_classes)
    y = truth if rows == "all labelled" else y
    at = y != -1
    weights = at.astype(float) if rows == "weight 0" else None
    fitted = S3VC(**{"gamma": 0.2, "C": 2.0, "tol": 1e-10, **options}).fit(X, y, weights)
    svm = SVC(
        kernel=fitted.kernel, gamma=0.2, C=fitted.C, tol=1e-10, decision_function_shape="ovo"
    ).fit(X[at], y[at])
    expected = svm.decision_function(X)
    assert fitted.C_star_ == 0
    if n_classes == 2:
        np.testing.assert_allclose(fitted.decision_function(X), expected, atol=1e-6)
        np.testing.assert_allclose(fitted.objective_, fitted.supervised_objective_, rtol=1e-12)
    else:  # libsvm's pairs are positive for the first class
        np.testing.assert_allclose(columns(fitted, X), -expected, atol=1e-4)
        np.testing.assert_array_equal(fitted.pair_shares_, 0)


# ---- kernels and spaces ------------------------------------------------------------------------


def gaussian(X: Any, Z: Any) -> Any:
    return rbf_kernel(X, Z, gamma=0.2)


@pytest.mark.parametrize(
    ("kernel", "power", "method"),
    [
        (gaussian, 1, "quasi-newton"),
        (gaussian, 2, "continuation"),
        ("linear", 1, "gradient"),
        ("linear", 2, "gradient"),
    ],
)
def test_graph_deforms_the_kernel(kernel: Any, power: int, method: str) -> None:
    """With M = gamma_I L^p the kernel is K - K (I + M K)^-1 M K (continuation paper, 5.1)."""
    X, y, _ = clusters()
    graph = KNNGraph(6, normalized=False, power=power)
    options = {"method": method, "tol": 1e-7}
    hybrid = model(kernel=kernel, graph=graph, gamma_I=0.4, **options).fit(X, y)
    K = X @ X.T if kernel == "linear" else kernel(X, X)
    M = dense_smoothness(hybrid)
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
def test_float32_converges_to_the_same_tolerance(C: float, kernel: str) -> None:
    """Although the penalties of the last descent multiply rounding errors."""
    rng = np.random.default_rng(1)
    truth = np.arange(200) % 2
    X = np.float32(2.2 * rng.standard_normal((200, 3)) + 4.0 * truth[:, None])
    y = np.where(np.arange(200) < 6, truth, -1)
    model = S3VC(kernel, C=C).fit(X, y)
    assert model.decision_function(X).dtype == np.float32
    assert model.status_ == "converged"
    assert model.optimality_.max() <= 1e-4


# ---- starts, callbacks, refits -----------------------------------------------------------------


@pytest.mark.parametrize("method", ["continuation", "cccp"])
def test_keeps_the_best_of_several_starts(method: str) -> None:
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


# Two classes have one column with any `multi_class`.
CALLED: list[tuple[int, dict[str, Any]]] = [
    (2, {"kernel": "linear"}),
    (2, {"method": "cccp"}),
    (2, {"method": "switching"}),
    (2, {"space": Landmarks(20), **ONE_DESCENT}),
    (3, ONE_DESCENT),
    (3, {"multi_class": "ovr", "gamma_I": 0.1, **ONE_DESCENT}),
]


@pytest.mark.parametrize(("n_classes", "options"), CALLED)
def test_callback_sees_every_iteration_and_can_stop(n_classes: int, options: Any) -> None:
    X, y, _ = clusters(n_classes, n=36)
    record = Record()
    fitted = S3VC(C=5.0, **options).set_callbacks(record).fit(X, y)
    assert len(record.scores) >= fitted.n_iter_ / 2
    np.testing.assert_allclose(record.scores[-1], scores(fitted, X), rtol=0.01, atol=0.01)
    for after in (1, 10):
        stopping = Record(stop_after=after)
        stopped = S3VC(C=5.0, **options).set_callbacks(stopping)
        warned(lambda model=stopped: model.fit(X, y))  # of one class
        assert stopped.status_ == "stopped by a callback"
        assert after <= len(stopping.scores) < len(record.scores)
        np.testing.assert_array_equal(stopped.predict(X), stopped.transduction_)


# ---- invalid input -----------------------------------------------------------------------------

LIMIT = "must be at most 1e+12"
HINGE_ONLY = "knows the hinge only, not loss='squared_hinge'. Use loss='hinge', or another method."
ONE_OF = "must be 'labels' (the mean label), a fraction of the second class"
TWO = "must be two fractions 0 <= lower <= upper <= 1 of the class 1."
OF_TWO = "is the fraction of the second of two classes, but there are 3 classes. Give a dict with"
INVALID: list[tuple[dict[str, Any], str]] = [
    *(({"balance": v}, ONE_OF) for v in (7, -0.1, np.nan, True, "classes", (0.1,), np.ones(2))),
    ({"balance": (0.1, 0.2, 0.3)}, ONE_OF),
    *(({"balance": v}, TWO) for v in ((0.6, 0.4), (-0.1, 0.5), (0.5, 1.1), ("a", 1), (None, 0.5))),
    ({"balance": {0: 0.4, 1: 0.4}}, "fractions that sum to 1 or counts: they sum to 0.8."),
    ({"balance": {}}, "={} has no proportion for [0, 1]. Give every class a proportion."),
    *(({"method": method, "loss": "squared_hinge"}, HINGE_ONLY) for method in COMBINATORIAL),
    ({"unlabeled_loss": "symmetric_hinge", "loss": "squared_hinge"}, "goes with loss='hinge', no"),
    ({"fit_intercept": False}, "balance='labels' determines the bias, but fit_intercept=False. Us"),
    ({"space": Landmarks(5), "kernel": "linear"}, "space=Landmarks(...) needs a nonlinear"),
    *(({name: 1e300}, f"{name}=1e+300 {LIMIT}") for name in ("C", "C_star")),
    ({"gamma_I": 1e20}, f"gamma_I=1e+20 {LIMIT}: beyond, losses"),
]


@pytest.mark.parametrize(
    ("n_classes", "options", "message"),
    [
        *((2, *case) for case in INVALID),
        *((3, {"balance": balance}, f"{balance!r} {OF_TWO}") for balance in (0.4, (0.2, 0.5))),
    ],
)
def test_rejects_invalid_parameters(n_classes: int, options: dict[str, Any], message: str) -> None:
    X, y, _ = clusters(n_classes)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        S3VC(**options).fit(X, y)
    if "balance" in options:
        assert str(caught.value).startswith("balance")


# ---- warnings ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.BalanceWarning")
@pytest.mark.parametrize(("n_classes", "which"), [(2, "The"), (3, "In [123] of 3 columns the")])
def test_warns_if_the_supervised_solution_is_better_and_returned(
    n_classes: int, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, _ = clusters(n_classes)
    usual = s3vm.METHODS["gradient"]

    def mirrored(objective: Any, *given: Any) -> Any:
        """Return a solution near the minimum of the opposite labels."""
        found = usual.solve(objective, *given)
        return replace(found, state=Function(-found.state.coef, found.state.intercept))

    monkeypatch.setitem(s3vm.METHODS, "gradient", replace(usual, solve=mirrored))
    message = f"{which} minimum found by method='gradient' has a higher objective than the superv"
    with pytest.warns(NoImprovementWarning, match=message):
        fitted = S3VC("linear", C=0.5, C_star=3.0, multi_class="ovr").fit(X, y)
    ends = np.array([values.min() for values in fitted.objectives_])
    beaten = ends > 1.5 * fitted.supervised_objective_
    assert beaten.any()
    np.testing.assert_array_equal(fitted.objective_[beaten], fitted.supervised_objective_[beaten])


@ignoring("Balance", "Outlier")
def test_warns_if_all_labelled_points_get_one_class() -> None:
    X, y, _ = clusters()
    with pytest.warns(SingleClassWarning, match="All labelled points, of both classes"):
        S3VC().fit(np.vstack([X, np.full((1, 3), 1e4)]), np.append(y, -1))


def test_many_classes_are_fitted_against_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = clusters(4)
    assert len(model().fit(X, y).pairs_) == 6
    monkeypatch.setattr("lapwing.estimators.s3vm._MOST_PAIRED", 3)
    found, rest = model().fit(X, y), model(multi_class="ovr").fit(X, y)
    assert not hasattr(found, "pairs_")
    np.testing.assert_array_equal(found.decision_function(X), rest.decision_function(X))
    y = np.where(y == 3, -1, y)
    monkeypatch.setattr("lapwing.estimators.s3vm._MOST_PAIRED", 2)
    assert len(model(multi_class="ovo").fit(X, y).pairs_) == 3


def test_labels_alone_need_one_round() -> None:
    X, y, _ = clusters(3)
    seen = Record()
    fitted = model(C_star=0.0, balance=None).set_callbacks(seen).fit(X, y)
    np.testing.assert_array_equal(fitted.pair_shares_, 0)
    rounds = Record()
    model(C_star=0.0).set_callbacks(rounds).fit(X, y)
    assert len(seen.scores) < len(rounds.scores)


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.SingleClassWarning")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_warns_about_unreachable_margins(kernel: str) -> None:
    """For tiny features, or a tiny C."""
    X, y, truth = clusters()
    points, C = {"linear": (X * 1e-3, 100.0), "rbf": (X, 1e-3)}[kernel]
    message = (
        r"C=\S+ is too small for features of this size: labels change decision values by \S+ at "
        r"most, but the targets are -1 and 1\. Standardise the features, .* larger C, such as"
    )
    with pytest.warns(FeatureScaleWarning, match=message) as caught:
        fitted = S3VC(kernel, C=C).fit(points, y)
    text = next(str(w.message) for w in caught if w.category is FeatureScaleWarning)
    reach, more = re.findall(r"by (\S+) at most.* such as (\S+)\.$", text)[0]
    away = np.abs(fitted.decision_function(points) - fitted.balance_[0])[y >= 0].max()
    assert away <= 1.05 * float(reach)
    again = S3VC(kernel, C=float(more), balance={0: 0.6, 1: 0.4}).fit(points, y)
    assert (again.transduction_ == truth).mean() > 0.9


# --- shares of the classes that cannot be the labels' -----------------------------------------


@ignoring("Balance", "SingleClass")
@pytest.mark.parametrize(
    "hidden",
    [np.r_[60], np.r_[:45], np.r_[:45, 50:55, 100:105], np.r_[:45, 50:60, 100:110]],
    ids=len,
)
def test_unlabelled_rows_override_the_shares_of_labels(hidden: Any) -> None:
    """Most setosas are unlabelled and most others labelled, or a single row is unlabelled."""
    X, truth = load_iris(return_X_y=True)
    y = truth.copy()
    y[hidden] = -1
    answers = S3VC(**ONE_DESCENT).fit(X, y).transduction_
    assert (answers[hidden] == truth[hidden]).mean() >= 0.95


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_warns_about_and_estimates_the_balance_of_uneven_classes(kernel: str) -> None:
    X, y, truth = uneven(0.9)
    message = (
        r"balance='labels' was not enforced\. Class 1 has 50 % of the labels, but about \d+ % of "
        r"the unlabelled rows look like it; the fit uses these \d+ %\. If you know the true "
        r"proportions, pass them: balance=\{0: 0\.\d+, 1: 0\.\d+\}\. If they are those "
        r"of the labels, pass these in the same way\."
    )
    with pytest.warns(BalanceWarning, match=message):
        fitted = S3VC(kernel).fit(X, y)
    wrong = (fitted.transduction_ != truth).mean()
    held = S3VC(kernel, balance={0: 0.5, 1: 0.5}).fit(X, y)
    assert held.balance_[0] == pytest.approx(0, abs=1e-6)
    assert wrong < (held.transduction_ != truth).mean() - 0.08


def test_only_warns_about_uneven_classes_with_few_labels() -> None:
    rng = np.random.default_rng(0)
    truth = np.r_[np.arange(12) % 2, np.zeros(100, dtype=int)]
    X = rng.standard_normal((112, 2)) + 6.0 * truth[:, None]
    message = (
        r"balance='labels' was enforced and may be wrong\. Class 1 has 50 % of the labels, but "
        r"about \d+ % of the unlabelled rows look like it, as far as so few labels can show\."
    )
    with pytest.warns(BalanceWarning, match=message):
        fitted = S3VC("linear").fit(X, np.where(np.arange(112) < 12, truth, -1))
    assert fitted.balance_[0] == pytest.approx(0, abs=1e-6)


def test_balance_warning_names_the_column() -> None:
    X, y, _ = uneven(0.9, third=True)
    pairs = r"in \d of 3 columns\. Class 2 has 50 % of the labels, beside class 0, but about"
    with pytest.warns(BalanceWarning, match=pairs):
        S3VC().fit(X, y)
    rest = r"in \d of 3 columns\. Class 0 has 33 % of the labels, but about"
    with pytest.warns(BalanceWarning, match=rest):
        S3VC(multi_class="ovr").fit(X, y)
    # There are more columns than classes, and the last one contradicts.
    X, y, _ = uneven(0.9)
    drawn = np.random.default_rng(0).standard_normal((40, 2))
    X = np.vstack([X, *(drawn + np.array([60.0 * k, 30.0]) for k in range(2))])
    y = np.r_[np.where(y < 0, -1, y + 2), *(np.where(np.arange(40) < 4, k, -1) for k in range(2))]
    last = r"of 6 columns\. Class 3 has 50 % of the labels, beside class 2, but about"
    with pytest.warns(BalanceWarning, match=last):
        S3VC("linear").fit(X, y)


def uneven(share: float, *, third: bool = False) -> tuple[Any, Any, Any]:
    """Make two touching clusters of uneven size and an optional third, with ten labels each."""
    rng = np.random.default_rng(3)
    truth = (rng.uniform(size=300) > share).astype(int)
    truth[:40] = np.arange(40) % 2
    truth[40:70] = 2 if third else truth[40:70]
    y = np.full(300, -1)
    for label in range(2 + third):
        y[np.flatnonzero(truth == label)[:10]] = label
    centers = np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 5.0]])
    return centers[truth] + rng.standard_normal((300, 2)), y, truth
