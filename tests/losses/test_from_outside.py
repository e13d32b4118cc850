"""Losses and methods that the library does not know, in every estimator and with every solver.

They are written in tests/helpers/outside.py as a user would. The oracles know none of the
library's numerics: the objective is written out in coefficients from the losses' formulas below,
and SciPy minimises it.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from lapwing import S3VC, KNNGraph, LapSVC
from lapwing.losses import LOSSES, UNLABELED_LOSSES, Hinge, Kind, Loss, SquaredHinge, TargetKind
from lapwing.losses import as_loss as as_labeled
from lapwing.losses.registry import loss_names
from lapwing.solvers.base import Status
from lapwing.solvers.low_density.methods import METHODS, Method, scheduled
from lapwing.solvers.manifold import dual as reduced
from lapwing.solvers.manifold import kinks
from lapwing.solvers.manifold.dual import dual
from lapwing.solvers.manifold.newton import newton
from lapwing.solvers.manifold.pcg import pcg
from lapwing.spaces.full import FullKernelSpace
from tests.helpers.outside import (
    CauchyBump,
    Logistic,
    NearerHuber,
    Pinball,
    RoundedHinge,
    SteepHinge,
    flipped,
    halving,
)
from tests.helpers.problems import make_case

NAMES = ", ".join(map(repr, loss_names(TargetKind.SIGNS)))  # before any is added
GAMMA_A, GAMMA_I = 0.05, 0.3

# ---- formulas ------------------------------------------------------------------------------------


def printed(loss: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """The loss of the margin as one would print it, twice `value`, and its slope."""
    if isinstance(loss, Logistic):
        return lambda m: np.log1p(np.exp(-m)), lambda m: -expit(-m)
    width = loss.width

    def value(m: Any) -> Any:
        inside = (m > 1 - width) & (m < 1)
        return np.where(m >= 1, 0, np.where(inside, (1 - m) ** 2 / (2 * width), 1 - m - width / 2))

    return value, lambda m: -np.minimum(np.maximum(1 - m, 0) / width, 1)


@cache
def blobs(n_classes: int) -> tuple[Any, Any, Any]:
    """Points, labels with -1 for none, and weights of all rows."""
    X, truth = make_blobs(60, centers=n_classes, cluster_std=3.0, random_state=3)
    X = X / np.abs(X).max()
    rng = np.random.default_rng(0)
    y = np.full(60, -1)
    for label in range(n_classes):
        y[rng.choice(np.flatnonzero(truth == label), 7, replace=False)] = label
    return X, y, rng.uniform(0.3, 3.0, 60)


def laplacian(W: Any) -> Any:
    """Of the graph of `svc`: normalised, squared."""
    W = W.toarray()
    root = 1 / np.sqrt(W.sum(axis=1))
    L = np.eye(len(W)) - root[:, None] * W * root
    return L @ L


def svc(loss: Any, **changes: Any) -> LapSVC:
    graph = KNNGraph(4, normalized=True, power=2)
    options = {"gamma": 2.0, "gamma_A": GAMMA_A, "gamma_I": GAMMA_I, "graph": graph, "tol": 1e-11}
    return LapSVC(loss=loss, **(options | changes))


def signs(y: Any) -> Any:
    """One-vs-rest targets (l, c) of the labelled rows; a single column for two classes."""
    classes = np.unique(y[y >= 0])
    columns = classes[1:] if len(classes) == 2 else classes
    return np.where(y[y >= 0][:, None] == columns, 1.0, -1.0)


def optimum(fitted: LapSVC, y: Any, weights: Any, value: Any, slope: Any) -> tuple[Any, Any]:
    """Decision values and objectives of all columns, by L-BFGS on coefficients of K = F F'."""
    K = rbf_kernel(fitted.X_fit_, gamma=2.0)
    eigenvalues, vectors = np.linalg.eigh(K)
    keep = eigenvalues > 1e-13 * eigenvalues[-1]
    design = vectors[:, keep] * np.sqrt(eigenvalues[keep])
    norm = np.full(design.shape[1], GAMMA_A)
    if fitted.fit_intercept:
        design = np.hstack([design, np.ones((len(K), 1))])
        norm = np.append(norm, 0.0)
    S = fitted.gamma_I * laplacian(fitted.affinity_) if fitted.gamma_I else np.zeros_like(K)
    at, w = np.flatnonzero(y >= 0), weights[y >= 0]
    values, objectives = [], []
    for target in signs(y).T:

        def printed_objective(z: Any, target: Any = target) -> tuple[float, Any]:
            f = design @ z
            m = target * f[at]
            J = w @ value(m) + norm @ z**2 + f @ S @ f
            u = 2 * S @ f
            u[at] += w * slope(m) * target
            return J, design.T @ u + 2 * norm * z

        options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 0, "gtol": 1e-11, "maxcor": 60}
        start = np.zeros(design.shape[1])
        found = minimize(printed_objective, start, jac=True, method="L-BFGS-B", options=options)
        values.append(design @ found.x)
        objectives.append(found.fun)
    return np.stack(values, axis=1), np.array(objectives)


def columns(fitted: Any, X: Any) -> Any:
    return fitted.decision_function(X).reshape(len(X), -1)


# ---- LapSVC --------------------------------------------------------------------------------------


# Without a graph the bias is free: nothing determines it where all losses are straight, as at the
# start.
@pytest.mark.parametrize(
    ("loss", "n_classes", "gamma_I"),
    [
        (RoundedHinge(0.2), 2, GAMMA_I),
        (RoundedHinge(3.0), 3, GAMMA_I),
        (Logistic(), 2, GAMMA_I),
        (Logistic(), 3, GAMMA_I),
        (RoundedHinge(0.05), 2, 0.0),
    ],
)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_lapsvc_is_the_minimum_of_the_printed_objective(
    loss: Loss, n_classes: int, gamma_I: float, fit_intercept: bool
) -> None:
    X, y, weights = blobs(n_classes)
    fits = {
        solver: svc(loss, gamma_I=gamma_I, fit_intercept=fit_intercept, solver=solver).fit(
            X, y, sample_weight=weights
        )
        for solver in ("newton", "pcg", "dual", *(["auto"] if n_classes == 2 else []))
    }
    values, objectives = optimum(fits["newton"], y, weights, *printed(loss))
    assert np.abs(values).max() > 0.3  # f = 0 is what solvers once said
    for solver, fitted in fits.items():
        assert fitted.status_ == "converged", solver
        np.testing.assert_allclose(fitted.objective_, objectives, rtol=1e-9, err_msg=solver)
        np.testing.assert_allclose(columns(fitted, X), values, atol=1e-4, err_msg=solver)


@pytest.mark.parametrize("width", [1e-2, 1e-3])
@pytest.mark.parametrize("graph", ["no graph", "normalized"])
def test_steep_losses_on_kernels_of_low_rank(graph: str, width: float) -> None:
    """An expansion over 30 labels in four dimensions loses the digits that a narrow corner asks."""
    for fit_intercept in (False, True):
        case = make_case(
            space="linear", graph=graph, fit_intercept=fit_intercept, loss=RoundedHinge(width), c=1
        )
        reduced_problem, primal = dual(case.objective()), newton(case.objective())
        assert primal.status == Status.CONVERGED
        value, least = (
            case.objective().value(found.state)[0] for found in (reduced_problem, primal)
        )
        assert value == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_early_stopping_and_float32(n_classes: int) -> None:
    X, y, _ = blobs(n_classes)
    stopped = svc(RoundedHinge(0.5), stopping="stability").fit(X, y)
    assert stopped.status_ == "stopped early"
    assert stopped.solver_ == "pcg"
    exact = svc(RoundedHinge(0.5)).fit(X, y)
    single = svc(RoundedHinge(0.5)).fit(X.astype(np.float32), y)
    assert single.alpha_.dtype == np.float32
    np.testing.assert_allclose(columns(single, X), columns(exact, X), atol=1e-3)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("graph", [None, KNNGraph(4, normalized=False, power=1)])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_kinked_losses_against_a_quadratic_programme(
    fit_intercept: bool, graph: Any, kernel: str
) -> None:
    """min 1/2 |z|^2 + sum w xi with xi above each linear piece, by SLSQP."""
    X, y, weights = blobs(2)
    gamma_I = 0.0 if graph is None else GAMMA_I
    fitted = svc(
        SteepHinge(3.0), kernel=kernel, graph=graph, gamma_I=gamma_I, fit_intercept=fit_intercept
    ).fit(X, y, sample_weight=weights)
    assert fitted.solver_ == "dual"
    assert fitted.status_ == "converged"
    assert fitted.optimality_.max() <= 1e-8
    K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=2.0)
    S = np.zeros_like(K)
    if graph is not None:
        W = fitted.affinity_.toarray()
        S = GAMMA_I * (np.diag(W.sum(axis=1)) - W)
    at, w = np.flatnonzero(y >= 0), weights[y >= 0]
    target = signs(y)[:, 0]
    found, value = steep_programme(K, S, at, target, w, fit_intercept)
    assert fitted.objective_[0] == pytest.approx(value, rel=1e-6)
    assert fitted.objective_[0] <= value * (1 + 1e-8)  # whose kernel is cut off at 1e-9
    np.testing.assert_allclose(columns(fitted, X)[:, 0], found, atol=1e-4)


def steep_programme(
    K: Any, S: Any, at: Any, target: Any, w: Any, fit_intercept: bool
) -> tuple[Any, float]:
    eigenvalues, vectors = np.linalg.eigh(K)
    keep = eigenvalues > 1e-9 * eigenvalues[-1]
    design = vectors[:, keep] * np.sqrt(eigenvalues[keep])
    norm = np.full(design.shape[1], GAMMA_A)
    if fit_intercept:
        design, norm = np.hstack([design, np.ones((len(K), 1))]), np.append(norm, 0.0)
    r, l = design.shape[1], len(at)
    H = 2 * (np.diag(norm) + design.T @ S @ design)
    margins = target[:, None] * design[at]
    pieces = [np.hstack([slope * margins, np.eye(l)]) for slope in (1.0, 3.0, 0.0)]
    A, low = np.vstack(pieces), np.concatenate([np.ones(2 * l), np.zeros(l)])

    def programme(x: Any) -> tuple[float, Any]:
        z, xi = x[:r], x[r:]
        return z @ H @ z / 2 + w @ xi, np.concatenate([H @ z, w])

    found = minimize(
        programme,
        np.concatenate([np.zeros(r), np.ones(l)]),
        jac=True,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda x: A @ x - low, "jac": lambda x: A},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return design @ found.x[:r], float(found.fun)


@pytest.mark.parametrize("share", [0.2, 0.5])
@pytest.mark.parametrize("graph", ["no graph", "normalized", "unnormalized"])
def test_a_kinked_loss_of_values_by_its_optimality_conditions(graph: str, share: float) -> None:
    """The slopes that stationarity asks for lie in the subdifferential, which suffices."""
    case = make_case(
        graph=graph, fit_intercept=True, loss=Pinball(share), c=3, gamma_A=0.3, noise=1.0
    )
    result = dual(case.objective())
    assert result.status == Status.CONVERGED
    state = result.state
    f = case.K @ state.coef + state.intercept
    slopes = -case.gamma_A * state.coef - case.penalty @ f  # so that v + gamma_A alpha = 0
    np.testing.assert_allclose(np.delete(slopes, case.index, axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(state.coef.sum(axis=0), 0, atol=1e-6)  # 1'v = 0
    pull = slopes[case.index] / case.weights[:, None]
    error = f[case.index] - case.y
    at_kink = np.abs(error) < 1e-6
    assert 0.1 < at_kink.mean() < 0.9
    np.testing.assert_allclose(pull[(error < 0) & ~at_kink], -share, atol=1e-6)
    np.testing.assert_allclose(pull[(error > 0) & ~at_kink], 1 - share, atol=1e-6)
    assert ((pull > -share - 1e-6) & (pull < 1 - share + 1e-6)).all()


@pytest.mark.parametrize("graph", ["no graph", "normalized"])
def test_without_its_own_solver_the_hinge_is_as_libsvm_says(graph: str) -> None:
    class Renamed(Hinge):
        """Not the hinge by its class: the general solver takes it."""

    for fit_intercept in (False, True):
        ours, libsvm = (
            dual(make_case(graph=graph, fit_intercept=fit_intercept, loss=loss).objective())
            for loss in (Renamed(), Hinge())
        )
        assert ours.status == libsvm.status == Status.CONVERGED
        np.testing.assert_allclose(ours.state.values, libsvm.state.values, atol=1e-4)
    case = make_case(graph="no graph", fit_intercept=True, loss=Renamed(), c=1)
    svm = SVC(C=1 / (2 * case.gamma_A), kernel="precomputed", tol=1e-10)
    svm.fit(case.K[np.ix_(case.index, case.index)], case.y[:, 0], sample_weight=case.weights)
    f = svm.decision_function(case.K[:, case.index])
    np.testing.assert_allclose(dual(case.objective()).state.values[:, 0], f, atol=1e-4)


def test_the_gap_is_never_below_the_truth() -> None:
    """Of any slopes that the loss has somewhere, far from the optimum too."""
    rng = np.random.default_rng(0)
    case = make_case(space="full", graph="no graph", loss=SteepHinge(), c=1, gamma_A=1.0)
    objective = case.objective()
    least = objective.value(dual(objective).state)[0]
    on_labels = replace(
        objective,
        space=FullKernelSpace(case.K[np.ix_(case.index, case.index)]),
        index=np.arange(len(case.index)),
    )
    for size in (0.1, 1.0, 5.0):
        seen = size * rng.standard_normal(case.y.shape)
        slopes = 2 * case.weights[:, None] * case.loss.derivative(case.y, seen)
        found = kinks._certified(on_labels, on_labels.zero(), slopes, seen)
        value = on_labels.value(found.state)[0]
        assert found.gap * value >= value - least > 0


def test_the_gradient_of_a_regression_loss_vanishes_in_every_solver() -> None:
    """A Huber loss of values, in the spaces' own terms: nothing is special about classes."""

    class Huber(Loss):
        kind = Kind.PIECEWISE_QUADRATIC
        targets = TargetKind.VALUES

        def value(self, y: Any, f: Any) -> Any:
            r = np.abs(f - y)
            return np.where(r < 0.2, r * r, 0.4 * r - 0.04) / 2

        def derivative(self, y: Any, f: Any) -> Any:
            return np.clip(f - y, -0.2, 0.2)

        def curvature(self, y: Any, f: Any) -> Any:
            return np.where(np.abs(f - y) < 0.2, 1.0, 0.0)

        def breaks(self, y: Any) -> Any:
            return y - 0.2, y + 0.2

    for space in ("full", "linear", "linear wide"):
        case = make_case(loss=Huber(), space=space, fit_intercept=True, gamma_A=1.0, noise=1.0)
        for solve in (newton, pcg, dual):
            state = solve(case.objective()).state
            f = case.design @ state.coef + state.intercept
            v = case.penalty @ f
            slope = case.weights[:, None] * np.clip(f[case.index] - case.y, -0.2, 0.2)
            v[case.index] += slope
            assert 0.05 < (np.abs(slope) >= 0.2 * case.weights[:, None]).mean() < 0.95
            gradient = case.design.T @ v + case.gamma_A * case.gram @ state.coef
            np.testing.assert_allclose(gradient, 0, atol=1e-5)
            np.testing.assert_allclose(v.sum(axis=0), 0, atol=1e-5)


# ---- S3VC ----------------------------------------------------------------------------------------

ALL_METHODS = [*METHODS, Method(scheduled(halving)), Method(flipped)]
SMOOTHING = ("continuation",)
LABELING = ("cccp", "switching")


def name_of(method: Any) -> str:
    return method if isinstance(method, str) else f"own {method.solve.__name__}"


def low_density(
    fitted: S3VC, X: Any, y: Any, weights: Any, value: Any, slope: Any, unlabeled: Any
) -> Any:
    """J of coefficients z = (w, b) in coordinates of the kernel, f = design z, and its gradient."""
    K = rbf_kernel(X, gamma=2.0)
    eigenvalues, vectors = np.linalg.eigh(K)
    keep = eigenvalues > 1e-10 * eigenvalues[-1]
    design = vectors[:, keep] * np.sqrt(eigenvalues[keep])
    design = np.hstack([design, np.ones((len(X), 1))])
    at, rest = np.flatnonzero(y >= 0), np.flatnonzero(y < 0)
    target, C, C_star = signs(y)[:, 0], fitted.C * weights[at], fitted.C_star_ * weights[rest]

    def objective(z: Any) -> tuple[float, Any]:
        f, w = design @ z, z[:-1]
        m = target * f[at]
        fit = C @ value(m) + C_star @ unlabeled.value(f[rest])
        u = np.zeros(len(X))
        u[at] = C * slope(m) * target
        u[rest] = C_star * unlabeled.derivative(f[rest])
        return w @ w / 2 + fit, design.T @ u + np.append(w, 0.0)

    return objective, design


def check_minimum(J: Any, z: Any, fitted: S3VC) -> None:
    """SciPy finds nothing lower from where the fit ended, nor do steps in random directions."""
    at_end = J(z)[0]
    assert fitted.objective_[0] == pytest.approx(at_end, rel=1e-7)
    options = {"maxiter": 2000, "ftol": 0, "gtol": 1e-10, "maxcor": 60}
    found = minimize(J, z, jac=True, method="L-BFGS-B", options=options)
    assert found.fun == pytest.approx(at_end, rel=1e-7)
    np.testing.assert_allclose(found.x, z, atol=1e-3)
    rng = np.random.default_rng(0)
    nearby = [J(z + 1e-3 * rng.standard_normal(len(z)))[0] for _ in range(200)]
    assert min(nearby) >= found.fun


def s3vc(**changes: Any) -> S3VC:
    options: dict[str, Any] = {"gamma": 2.0, "C": 3.0, "C_star": 0.4, "balance": None, "tol": 1e-8}
    return S3VC(**(options | changes))


@pytest.mark.parametrize("loss", [RoundedHinge(0.3), Logistic()], ids=lambda loss: loss.name)
@pytest.mark.parametrize(
    "method", [m for m in ALL_METHODS if m not in LABELING + SMOOTHING], ids=name_of
)
def test_s3vc_ends_in_a_local_minimum_of_the_printed_objective(method: Any, loss: Loss) -> None:
    X, y, weights = blobs(2)
    bump = CauchyBump(2.0)
    fitted = s3vc(loss=loss, unlabeled_loss=bump, method=method).fit(X, y, sample_weight=weights)
    value, slope = printed(loss)
    J, design = low_density(fitted, X, y, weights, value, slope, bump)
    z = np.linalg.lstsq(design, fitted.decision_function(X), rcond=None)[0]
    check_minimum(J, z, fitted)
    assert fitted.objective_[0] <= fitted.supervised_objective_[0] * (1 + 1e-9)


@pytest.mark.parametrize("method", ["gradient", "quasi-newton", "continuation"])
def test_s3vc_with_a_kinked_loss_from_outside(method: str) -> None:
    """By comparison with the hinge, which SteepHinge is where no margin is negative."""
    X, truth = make_blobs(48, centers=[[-2, 0], [2, 0]], cluster_std=0.5, random_state=0)
    y = np.where(np.arange(48) % 6 == 0, truth, -1)
    options = {"gamma": 0.5, "C": 1.0, "method": method, "tol": 1e-8}
    hinge, steep = (S3VC(loss=loss, **options).fit(X, y) for loss in ("hinge", SteepHinge(1.7)))
    assert (hinge.decision_function(X) * (2 * truth - 1) > 0).all()
    assert steep.objective_[0] == pytest.approx(hinge.objective_[0], rel=1e-6)
    np.testing.assert_allclose(steep.decision_function(X), hinge.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("method", ["cccp", "switching", "gradient", "quasi-newton"])
def test_a_loss_of_the_nearer_label_from_outside(method: str) -> None:
    """A kink at 0: the end must be the minimum for the labels that its own signs give."""
    X, y, weights = blobs(2)
    width = 0.4
    loss, nearer = RoundedHinge(width), NearerHuber(width)
    fitted = s3vc(loss=loss, unlabeled_loss=nearer, method=method).fit(X, y, sample_weight=weights)
    value, slope = printed(loss)
    J, design = low_density(fitted, X, y, weights, value, slope, nearer)
    f = fitted.decision_function(X)
    z = np.linalg.lstsq(design, f, rcond=None)[0]
    check_minimum(J, z, fitted)
    assert np.abs(f[y < 0]).min() > 1e-6  # a concave kink is no place to end
    assert fitted.objective_[0] <= fitted.supervised_objective_[0] * (1 + 1e-9)


# ---- names, messages, scikit-learn ---------------------------------------------------------------


def test_one_line_in_the_registry_is_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = blobs(2)
    with pytest.raises(ValueError, match=re.escape(f"{NAMES}, or an object of")):
        LapSVC(loss="rounded_hinge").fit(X, y)
    monkeypatch.setitem(LOSSES, RoundedHinge.name, RoundedHinge)
    monkeypatch.setitem(UNLABELED_LOSSES, CauchyBump.name, CauchyBump)
    monkeypatch.setitem(METHODS, "halving", Method(scheduled(halving)))
    assert RoundedHinge.name == "rounded_hinge"
    assert loss_names(TargetKind.SIGNS)[:2] == ("squared_hinge", "hinge")
    assert loss_names(TargetKind.SIGNS)[-1] == "rounded_hinge"
    named, given = svc("rounded_hinge").fit(X, y), svc(RoundedHinge()).fit(X, y)
    np.testing.assert_array_equal(named.alpha_, given.alpha_)
    options = {"loss": "rounded_hinge", "unlabeled_loss": "cauchy_bump", "method": "halving"}
    named = S3VC(s=1.5, **options).fit(X, y)
    given = S3VC(
        loss=RoundedHinge(),
        unlabeled_loss=CauchyBump(1.5),  # by name it takes the estimator's s, as it has one
        method=Method(scheduled(halving)),
    ).fit(X, y)
    np.testing.assert_array_equal(named.decision_function(X), given.decision_function(X))
    for estimator, known in (
        (LapSVC(loss="?"), f"{NAMES}, 'rounded_hinge', or"),
        (S3VC(loss="?"), f"{NAMES}, 'rounded_hinge', or"),
        (S3VC(unlabeled_loss="?"), "'auto', 'gaussian', 'symmetric_hinge', 'cauchy_bump', or"),
        (S3VC(method="?"), "'cccp', 'switching', 'halving', or"),
    ):
        with pytest.raises(ValueError, match=re.escape(known)):
            estimator.fit(X, y)


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NothingUnlabeledWarning")
def test_losses_are_parameters_like_others() -> None:
    X, y, _ = blobs(2)
    estimator = svc(RoundedHinge(0.2))
    assert estimator.get_params()["loss__width"] == 0.2
    copy = clone(estimator)
    assert copy.loss is not estimator.loss
    assert copy.loss == estimator.loss
    assert "RoundedHinge(width=0.2)" in repr(estimator)
    copy.set_params(loss__width=0.7)
    assert estimator.loss.width == 0.2
    fitted = copy.fit(X, y)
    np.testing.assert_array_equal(fitted.alpha_, svc(RoundedHinge(0.7)).fit(X, y).alpha_)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.loss == RoundedHinge(0.7)
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    known = y >= 0
    search = GridSearchCV(svc(RoundedHinge(), gamma_I=0.0), {"loss__width": [0.1, 2.0]}, cv=2)
    search.fit(X[known], y[known])
    assert set(search.best_params_) == {"loss__width"}
    method = Method(scheduled(halving))
    assert clone(S3VC(unlabeled_loss=CauchyBump(), method=method)).unlabeled_loss == CauchyBump()


def test_own_solvers_come_before_general_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that is made for a loss is one line in REDUCED."""

    def never(*given: Any) -> Any:
        raise AssertionError("the general solver was asked")

    seen = []

    def own(objective: Any, settings: Any) -> Any:
        seen.append(type(objective.loss))
        return reduced.newton(objective)

    general = [replace(solver, solve=never) for solver in reduced.REDUCED]
    mine = reduced.ReducedSolver(own, "own", takes=lambda loss: type(loss) is RoundedHinge)
    monkeypatch.setattr(reduced, "REDUCED", [mine, *general])
    X, y, _ = blobs(2)
    svc(RoundedHinge(0.5), solver="dual").fit(X, y)
    assert seen == [RoundedHinge]
    assert reduced.reduced_solver(SquaredHinge()).name == "newton"


# ---- what does not go together -------------------------------------------------------------------

REFUSED: list[tuple[Any, str]] = [
    (LapSVC(loss=RoundedHinge), f"must be one of {NAMES}, or an object of lapwing.losses.Loss."),
    (LapSVC(loss=CauchyBump()), f"loss=CauchyBump(s=3.0) must be one of {NAMES}, or"),
    (S3VC(unlabeled_loss=RoundedHinge()), "unlabeled_loss=RoundedHinge(width=0.5) must be one of"),
    (
        LapSVC(loss=SteepHinge(), solver="newton"),
        "solver='newton' needs a loss without kinks, and loss=SteepHinge(slope=3.0) has some. Use "
        "solver='dual' (or 'auto') with it.",
    ),
    (
        LapSVC(loss=SteepHinge(), stopping="stability"),
        "stopping needs the iterates of solver='pcg' and a loss without kinks, not solver='auto' "
        "with loss=SteepHinge(slope=3.0). Use solver='pcg', or stopping=None.",
    ),
    (
        S3VC(loss=RoundedHinge(0.2), method="cccp"),
        "method='cccp' labels the unlabelled points and knows the hinge only, not "
        "loss=RoundedHinge(width=0.2). Use loss='hinge', or another method.",
    ),
    (
        S3VC(loss=RoundedHinge(0.2), unlabeled_loss=NearerHuber(0.3), method="cccp"),
        "method='cccp' labels the unlabelled points and knows the RoundedHinge(width=0.3) only, "
        "not "
        "loss=RoundedHinge(width=0.2). Use loss=RoundedHinge(width=0.3), or another method.",
    ),
    (
        S3VC(loss=RoundedHinge(0.2), unlabeled_loss=NearerHuber(0.3)),
        "unlabeled_loss=NearerHuber(width=0.3) goes with loss=RoundedHinge(width=0.3), not "
        "loss=RoundedHinge(width=0.2): it is that loss of the nearer label.",
    ),
    (
        S3VC(unlabeled_loss=CauchyBump(), method="continuation"),
        "method='continuation' follows the minimum from a smoothing under which the objective is "
        "convex, and unlabeled_loss=CauchyBump(s=3.0) has no smoothed and no bend. Add them, or "
        "use another method, such as 'gradient'.",
    ),
]


@pytest.mark.parametrize(("estimator", "message"), REFUSED)
def test_what_does_not_go_together_is_refused_before_any_work(estimator: Any, message: str) -> None:
    def never(a: Any, b: Any) -> Any:
        raise AssertionError("the kernel was computed")

    X, y, _ = blobs(2)
    with pytest.raises(ValueError, match=re.escape(message)):
        clone(estimator).set_params(kernel=never).fit(X, y)


def test_a_kink_needs_the_label_whose_loss_it_is() -> None:
    class Kinked(CauchyBump):
        kind = Kind.KINKED

    X, y, _ = blobs(2)
    with pytest.raises(ValueError, match=r"has kinks and does not say .*Add label_loss, that loss"):
        S3VC(unlabeled_loss=Kinked()).fit(X, y)


def test_losses_of_signs_are_no_losses_of_values() -> None:
    with pytest.raises(ValueError, match=r"RoundedHinge\(width=0.5\) is for classes: its targets"):
        as_labeled(RoundedHinge(), TargetKind.VALUES)
    assert as_labeled(Pinball(), TargetKind.SIGNS) == Pinball()
    with pytest.raises(TypeError, match=r"Did you mean RoundedHinge\(\.\.\.\)\?"):
        as_labeled(RoundedHinge, TargetKind.SIGNS)
    with pytest.raises(ValueError, match=f"loss='pinball' must be one of {NAMES}, or"):
        as_labeled("pinball", TargetKind.SIGNS)
