"""The hinge by multipliers: KKT conditions from their definition, and other solvers' answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from scipy.optimize import minimize as scipy_minimize
from sklearn.svm import SVC

from lapwing.kernels import make_kernel
from lapwing.losses import GaussianBump, Hinge, SquaredHinge
from lapwing.objectives.low_density import CenteredFeatures, Function, LowDensityObjective
from lapwing.solvers.base import Settings, Status, bias_unit
from lapwing.solvers.low_density.cccp import minimize
from lapwing.solvers.low_density.lbfgs import descend, reference
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.mapped import full_map
from tests.helpers.data import two_clouds
from tests.helpers.problems import rbf

FREE = (-np.inf, np.inf)
C_RANGE = (1e-3, 0.1, 1.0, 50.0, 1e3)


def svm(X, y, C, bias, *, K=None, center=False):
    """A supervised SVM; K is the kernel matrix, X'X if there is none."""
    space = LinearSpace(X) if K is None else full_map(make_kernel("precomputed", K), K)
    n = len(y)
    features = CenteredFeatures(space)
    if center:
        features = CenteredFeatures.on(space, np.full(n, 1 / n))
    none = np.zeros(0, dtype=int)
    weights = np.broadcast_to(np.asarray(C, dtype=float), (n,))
    return LowDensityObjective(
        features, Hinge(), GaussianBump(), np.arange(n), y, weights, none, np.zeros(0), bias
    )


def solve(objective, tol=1e-8, max_iter=50_000, **options):
    return minimize(objective, objective.zero(), Settings(tol, max_iter, **options))


def violation(objective, function, near=1e-5):
    """Distance from the KKT conditions, relative: the best multipliers that the margins allow.

    w = sum_i beta_i y_i phi_i with beta = C below the margin, 0 above and anything between on it;
    sum_i beta_i y_i = 0, or of the right sign at a bound of b.
    """
    y, C = objective.targets, objective.weights
    f = objective.values(function)
    margin = y * f[objective.index]
    Phi = np.stack(
        [objective.features.values(e) for e in np.eye(objective.features.n_coef)], axis=1
    )[objective.index]
    low = np.where(margin < 1 - near, C, 0.0)
    high = np.where(margin > 1 + near, 0.0, C)
    u = objective.unlabeled
    density = np.zeros(len(f))
    density[u] = objective.unlabeled_weights * objective.unlabeled_loss.derivative(f[u])
    rest = objective.features.represent(density) + function.coef
    A, right = (Phi * y[:, None]).T, rest
    lower, upper = objective.bias
    at_lower, at_upper = function.intercept <= lower, function.intercept >= upper
    if objective.free_bias and not (at_lower or at_upper):
        A, right = np.vstack([A, y]), np.append(rest, density.sum())
    size = max(np.linalg.norm((Phi * (C * y)[:, None]).sum(axis=0)), np.linalg.norm(right), 1e-300)
    beta = bounded_least_squares(A / size, right / size, low, high)
    if objective.free_bias and (at_lower or at_upper):
        slope = density.sum() - y @ beta  # dJ/db
        assert slope >= -1e-6 * C.sum() if at_lower else slope <= 1e-6 * C.sum()
    return np.linalg.norm(A @ beta - right) / size


def bounded_least_squares(A, b, low, high):
    """argmin |A beta - b| in a box, in units of the box."""
    free = high > low
    beta = low.copy()
    if free.any():
        width = (high - low)[free]
        found = lsq_linear(A[:, free] * width, b - A @ low, bounds=(0, 1), tol=1e-15, method="bvls")
        beta[free] = low[free] + width * found.x
    return beta


# --- the supervised SVM ---------------------------------------------------------------------------


@pytest.mark.parametrize("points", ["in general position", "with both labels", "of a kernel"])
@pytest.mark.parametrize("bias", [(0.3, 0.3), FREE, (-0.1, 0.1), (0.2, 5.0), (-2.0, -2.0)])
def test_conditions_hold_whatever_the_bias_and_weights(bias, points):
    """Hinges of both labels leave a flat piece; the multipliers still converge."""
    X, y = two_clouds()
    if points == "with both labels":
        X, y = np.vstack([X, X[:2], X[:1]]), np.concatenate([y, -y[:2], y[:1]])
    K = rbf(X, X, 0.5) if points == "of a kernel" else None
    for C in C_RANGE:
        weights = C * np.random.default_rng(2).uniform(0.5, 3, len(y))
        objective = svm(X + 0.4, y, weights, bias, K=K, center=K is not None)
        found = solve(objective)
        assert bias[0] <= found.state.intercept <= bias[1]
        assert found.optimality <= 1e-8 or found.status == Status.PRECISION
        assert violation(objective, found.state) < 1e-5


@pytest.mark.parametrize("bias", [(0.0, 0.0), FREE])
def test_singular_kernels(bias):
    """A kernel of rank 2 with duplicated points, and one of zeros."""
    X, y = two_clouds(20, 2)
    X[10:] = X[:10]
    objective = svm(X, y, 3.0, bias, K=X @ X.T)
    assert objective.features.n_coef == 2
    assert violation(objective, solve(objective).state) < 1e-5
    nothing = svm(0 * X, y, 3.0, bias)
    found = solve(nothing)
    assert found.objective == pytest.approx(3.0 * len(y))
    np.testing.assert_array_equal(found.state.coef, 0)


@pytest.mark.parametrize("C", [10.0, 1e3, 1e4])
def test_hard_margin_reaches_the_tolerance(C):
    """The pull of all labels is 1e5 |w| here: a gradient small beside it may leave w 40 % off."""
    X, y = two_clouds(apart=1.5)
    objective = svm(X, y, C, FREE)
    found = minimize(objective, objective.zero(), Settings(1e-6, 20_000))
    assert found.status == Status.CONVERGED
    hard = SVC(C=1e6, kernel="linear", tol=1e-12).fit(X, y).coef_[0]
    assert np.linalg.norm(found.state.coef - hard) < 1e-5 * np.linalg.norm(hard)


# --- stops ----------------------------------------------------------------------------------------


def test_limits_and_callbacks_stop_a_run():
    objective, seen = svm(*two_clouds(), 100.0, FREE), []

    def on_iteration(known):
        seen.append(known())
        return len(seen) == 4

    whole, few = solve(objective, tol=1e-6), solve(objective, max_iter=5)
    assert (whole.status, few.status) == (Status.CONVERGED, Status.MAX_ITER)
    assert few.n_iter <= 6 < whole.n_iter <= whole.n_evaluations
    assert few.optimality > 1e-8
    stopped = solve(objective, on_iteration=on_iteration)
    assert (stopped.status, len(seen)) == (Status.CALLBACK, 4)
    assert 4 <= stopped.n_iter < whole.n_iter
    np.testing.assert_array_equal(stopped.state.coef, seen[-1].coef)
    assert stopped.objective == objective.value(stopped.state)


def test_known_multipliers_save_iterations():
    X, y = two_clouds(16)
    objective = svm(X, y, 1.0, (0.0, 0.0))
    cold = solve(objective)
    # the duals, from the end point
    margin = y * objective.values(cold.state)
    low = np.where(margin < 1 - 1e-6, 1.0, 0.0)
    high = np.where(margin > 1 + 1e-6, 0.0, 1.0)
    beta = bounded_least_squares((X * y[:, None]).T, cold.state.coef, low, high)
    warm = minimize(objective, cold.state, Settings(1e-8, 1000), multipliers=-y * beta)
    assert warm.n_iter < cold.n_iter / 2
    assert warm.objective == pytest.approx(cold.objective, rel=1e-9)


# --- L-BFGS ---------------------------------------------------------------------------------------


def smooth_problem(bias: tuple[float, float] = FREE) -> Any:
    return replace(svm(*two_clouds(), 2.0, bias), loss=SquaredHinge())


@pytest.mark.parametrize("bias", [FREE, (0.0, 0.0), (0.3, 0.9)])
def test_descend_against_another_minimiser(bias):
    objective = smooth_problem(bias)
    found = descend(objective, objective.zero(), Settings(1e-9, 1000))
    assert found.status == Status.CONVERGED
    assert found.optimality <= 1e-9
    same = solve(objective, tol=1e-9, max_iter=1000)
    np.testing.assert_array_equal(found.state.coef, same.state.coef)
    other = scipy_minimize(
        lambda z: objective.value(Function(z[:3], float(np.clip(z[3], *bias)))),
        np.zeros(4),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000, "maxfev": 8000},
    )
    assert found.objective == pytest.approx(other.fun, rel=1e-7)


@pytest.mark.parametrize("scale", [1e-5, 0.05, 20.0, 1e6])
@pytest.mark.parametrize("bias", [FREE, (0.0, 0.0), (-0.3, 0.1)])
def test_descend_converges_for_features_of_any_scale(bias, scale):
    """Scores are those of C times the squared scale: tolerances are relative, that of b too."""
    X, y = two_clouds()
    y[:4] = y[0]  # unequal classes, for which the bias is not 0
    plain, scaled = (
        replace(svm(s * X, y, 2 / s**2, bias), loss=SquaredHinge()) for s in (1.0, scale)
    )
    wanted, found = (descend(each, each.zero(), Settings(1e-7, 1000)) for each in (plain, scaled))
    assert found.status == Status.CONVERGED
    np.testing.assert_allclose(scaled.values(found.state), plain.values(wanted.state), atol=1e-5)
    assert found.n_iter < 3 * wanted.n_iter


def test_status_of_descend_names_the_reason():
    objective = smooth_problem()
    start = objective.zero()
    for limited in (objective, smooth_problem((0.3, 0.3))):
        found = descend(limited, limited.zero(), Settings(1e-9, 2))
        assert found.status == Status.MAX_ITER
        _, of_w, of_b = limited.value_and_gradient(found.state)
        unit = bias_unit(limited.labeled_norms)
        gradient = np.append(of_w, of_b * unit * limited.free_bias)
        assert found.optimality == pytest.approx(np.linalg.norm(gradient) / reference(limited))
    assert descend(objective, start, Settings(0.0, 5000)).status == Status.PRECISION
    stopped = descend(objective, start, Settings(1e-9, 100, lambda known: True))
    assert stopped.status == Status.CALLBACK
    assert stopped.n_iter == 1
    found = descend(objective, start, Settings(1e-9, 100))
    again = descend(objective, found.state, Settings(1e-9, 100))
    assert again.status == Status.CONVERGED
    assert again.after(found).n_iter == again.n_iter + found.n_iter
    assert again.after(found).n_evaluations == again.n_evaluations + found.n_evaluations
