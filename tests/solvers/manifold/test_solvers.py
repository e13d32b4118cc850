"""All solvers reach the optimum: gradients and duals written out, enumeration, other libraries.

What the errata and single runs are about is in test_errata.py and test_runs.py.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.svm import SVC, SVR, LinearSVC

from lapwing.losses.labeled import EpsilonInsensitive, Hinge, Squared
from lapwing.objectives.manifold import Objective
from lapwing.solvers.base import Status
from lapwing.solvers.manifold.deformed import DeformedKernel
from lapwing.solvers.manifold.dual import dual
from lapwing.solvers.manifold.newton import newton
from lapwing.solvers.manifold.pcg import pcg
from lapwing.solvers.manifold.settings import ManifoldSettings
from lapwing.spaces.full import FullKernelSpace
from lapwing.spaces.linear import LinearSpace
from tests.helpers.problems import (
    ALL_LOSSES,
    DIFFERENTIABLE_LOSSES,
    GRAPHS,
    KINKED_LOSSES,
    QUADRATIC_LOSSES,
    SPACES,
    DenseTerm,
    column,
    enumerated_optimum,
    make_case,
    primal_value,
    relative_gradient,
    sweep,
)

SOLVERS = {
    "newton": newton,
    "pcg": partial(pcg, settings=ManifoldSettings(tol=1e-10)),
    "dual": dual,
}
FOR_ALL_SOLVERS = pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
BY_NAME = {"ids": lambda loss: loss.name}


def grid(**axes):
    return pytest.mark.parametrize(tuple(axes), [tuple(a.values()) for a in sweep(**axes)])


def has_bias(space, graph, spaces=tuple(SPACES)):
    """Return whether to fit a bias: every second combination of space and graph."""
    return (spaces.index(space) + [*GRAPHS].index(graph)) % 2 == 0


def test_the_problems_are_worth_solving():
    """Error sets that are neither all nor nothing, and that a first step does not find."""
    kept = []
    for axes in sweep(space=SPACES, graph=GRAPHS, fit_intercept=(False, True)):
        problem = make_case(**axes).objective()
        result = newton(problem)
        errors = problem.targets * problem.labeled(result.state.values) < 1
        kept.append((errors.mean(), result.n_iter))
    shares, steps = np.array(kept).T
    assert ((shares > 0.2) & (shares < 0.95)).mean() > 0.9
    assert (steps > 2).mean() > 0.8


# --- optimality, recomputed -----------------------------------------------------------------------


@pytest.mark.parametrize("loss", DIFFERENTIABLE_LOSSES, **BY_NAME)
@grid(space=SPACES, graph=GRAPHS)
def test_the_gradient_vanishes_and_all_solvers_agree(space, graph, loss):
    fit_intercept = has_bias(space, graph)
    case = make_case(space=space, graph=graph, fit_intercept=fit_intercept, loss=loss)
    problem = case.objective()
    results = {name: solve(problem) for name, solve in SOLVERS.items()}
    reference = results["newton"].state
    optimum = primal_value(case, reference.coef, reference.intercept)
    for name, result in results.items():
        state = result.state
        assert relative_gradient(case, state) < (1e-6 if name == "pcg" else 1e-9), name
        assert result.status == Status.CONVERGED
        assert (result.optimality < 1e-8).all()
        # What a state says of itself is what its coefficients give.
        f = case.design @ state.coef + state.intercept
        np.testing.assert_allclose(state.values, f, atol=1e-9)
        np.testing.assert_allclose(state.smooth, case.penalty @ f, atol=1e-9)
        value = primal_value(case, state.coef, state.intercept)
        np.testing.assert_allclose(value, optimum, rtol=1e-8)
        np.testing.assert_allclose(f, reference.values, atol=1e-6)
        if not fit_intercept:
            np.testing.assert_array_equal(state.intercept, 0)


@pytest.mark.parametrize("loss", QUADRATIC_LOSSES, **BY_NAME)
@grid(space=("full", "linear"), graph=GRAPHS)
def test_quadratic_losses_against_enumeration(space, graph, loss):
    axes = {
        "space": space,
        "graph": graph,
        "fit_intercept": has_bias(space, graph, ("full", "linear")),
    }
    case = make_case(**axes, loss=loss, n=10, n_labels=6, c=1)
    f, optimum = enumerated_optimum(case)
    for solve in SOLVERS.values():
        state = solve(case.objective()).state
        value = primal_value(case, state.coef, state.intercept)
        np.testing.assert_allclose(value, optimum, rtol=1e-9)
        np.testing.assert_allclose(state.values[:, 0], f, atol=1e-6)


@pytest.mark.parametrize("loss", KINKED_LOSSES, **BY_NAME)
@grid(space=("full", "linear wide"), graph=GRAPHS)
def test_losses_with_kinks_against_enumeration(space, graph, loss):
    fit_intercept = has_bias(space, graph, ("full", "linear wide"))
    axes = {"space": space, "graph": graph, "fit_intercept": fit_intercept}
    n_labels = 4 if loss.name == "epsilon_insensitive" else 5
    case = make_case(**axes, loss=loss, n=9, n_labels=n_labels, c=1, seed=3)
    result = dual(case.objective())
    value = primal_value(case, result.state.coef, result.state.intercept)
    assert result.status == Status.CONVERGED
    f, optimum = enumerated_optimum(case)
    np.testing.assert_allclose(value, optimum, rtol=1e-8, atol=1e-12)
    # f is unique but for a free bias, which may have an interval to itself.
    shift = np.median(result.state.values[:, 0] - f) if fit_intercept else 0.0
    np.testing.assert_allclose(result.state.values[:, 0] - shift, f, atol=1e-5)


@grid(graph=GRAPHS, fit_intercept=(False, True))
def test_the_hinge_on_more_labels_by_its_optimality_conditions(graph, fit_intercept):
    """The slopes that stationarity asks for lie in the subdifferential, which suffices."""
    case = make_case(graph=graph, fit_intercept=fit_intercept, loss=Hinge(), n=40, n_labels=25, c=3)
    state = dual(case.objective()).state
    f = case.K @ state.coef + state.intercept
    slopes = -case.gamma_A * state.coef - case.penalty @ f  # so that v + gamma_A alpha = 0
    np.testing.assert_allclose(np.delete(slopes, case.index, axis=0), 0, atol=1e-9)
    if fit_intercept:
        np.testing.assert_allclose(state.coef.sum(axis=0), 0, atol=1e-6)  # 1'v = 0
    margin = case.y * f[case.index]
    pull = -2 * slopes[case.index] * case.y / case.weights[:, None]
    on_the_margin = np.abs(margin - 1) < 1e-6
    assert on_the_margin.any()  # else the kink would not be tested
    np.testing.assert_allclose(pull[(margin < 1) & ~on_the_margin], 1, atol=1e-6)
    np.testing.assert_allclose(pull[(margin > 1) & ~on_the_margin], 0, atol=1e-6)
    assert ((pull > -1e-6) & (pull < 1 + 1e-6)).all()


# --- the paper's dual, with errata L7 and L8 ------------------------------------------------------


def deformed_kernel(case):
    """T (n, n): f = T J'Y beta (+ b), with the scaling of (4) where both gammas are doubled."""
    n, twice_S = case.n, 2 * case.penalty
    M = twice_S @ case.K + 2 * case.gamma_A * np.eye(n)
    if not (case.fit_intercept and (case.penalty.sum(axis=0) ** 2).sum() > 1e-20):
        return case.K @ np.linalg.inv(M), np.linalg.inv(M)  # L7: LK, not KL
    bordered = np.block([[np.zeros((1, 1)), np.ones((1, n))], [twice_S.sum(axis=1)[:, None], M]])
    Z = np.linalg.inv(bordered)[:, 1:]  # L8: the bias is part of T, and no equality constraint
    return np.hstack([np.ones((n, 1)), case.K]) @ Z, Z[1:]


def largest_dual(Q, y, upper, *, equality):
    """Max 1'beta - 1/2 beta'Q beta over 0 <= beta <= upper (and y'beta = 0), by exact steps."""
    beta, unit = np.zeros(len(y)), np.eye(len(y))
    directions = [*unit]
    if equality:
        directions = [y[i] * unit[i] - y[j] * unit[j] for i in range(len(y)) for j in range(i)]
    for _ in range(3000):
        before = beta
        for d in directions:
            step = d @ (1 - Q @ beta) / (d @ Q @ d)
            ends = np.sort([-beta[d != 0] / d[d != 0], (upper - beta)[d != 0] / d[d != 0]], axis=0)
            beta = beta + np.clip(step, ends[0].max(), ends[1].min()) * d
        if np.abs(beta - before).max() < 1e-14:
            break
    return beta.sum() - 0.5 * beta @ Q @ beta, beta


@grid(graph=GRAPHS, fit_intercept=(False, True))
def test_the_hinges_dual_value_is_the_primal_optimum(graph, fit_intercept):
    case = make_case(graph=graph, fit_intercept=fit_intercept, loss=Hinge(), n=12, n_labels=6, c=1)
    result = dual(case.objective())
    y, J = case.y[:, 0], np.eye(case.n)[case.index]
    T, to_alpha = deformed_kernel(case)
    Q = y[:, None] * (J @ T @ J.T) * y
    np.testing.assert_allclose(Q, Q.T, atol=1e-10)  # symmetric only with LK
    free = fit_intercept and not graph.startswith("normalized")
    value, beta = largest_dual(Q, y, case.weights, equality=free)
    reported = case.objective().reported(result.state)[0]
    assert reported == pytest.approx(value, rel=1e-9)
    assert result.optimality[0] < 1e-8
    np.testing.assert_allclose(result.state.coef[:, 0], to_alpha @ (J.T @ (y * beta)), atol=1e-5)


@pytest.mark.parametrize("loss", ALL_LOSSES, **BY_NAME)
def test_columns_of_the_deformed_kernel_serve_other_labels_losses_and_weights(loss):
    case = make_case(fit_intercept=True)
    columns = DeformedKernel.of(case.objective()).at(case.index)
    other = replace(
        case.objective(),
        loss=loss,
        targets=-case.y[:, :1],
        weights=np.linspace(0.5, 2, len(case.y)),
    )
    again, fresh = dual(other, ManifoldSettings(columns=columns)), dual(other)
    np.testing.assert_allclose(again.state.values, fresh.state.values, atol=1e-9)


# --- other libraries ------------------------------------------------------------------------------


@grid(fit_intercept=(False, True), space=("full", "full sparse", "linear"))
def test_without_a_graph_the_hinge_is_scikit_learns_svc(fit_intercept, space):
    """C = 1 / (2 gamma_A), errata L9; without a bias SVC has a counterpart only by mirroring."""
    case = make_case(
        graph="no graph",
        loss=Hinge(),
        fit_intercept=fit_intercept,
        space=space,
        n=30,
        n_labels=20,
        c=1,
    )
    result = dual(case.objective())
    K, y, w = case.K[np.ix_(case.index, case.index)], case.y[:, 0], case.weights
    beta, bias = np.zeros(40), 0.0
    if fit_intercept:
        svc = SVC(C=1 / (2 * case.gamma_A), kernel="precomputed", tol=1e-10)
        svc.fit(K, y, sample_weight=w)
        bias = svc.intercept_[0]
    else:
        svc = SVC(C=1 / (4 * case.gamma_A), kernel="precomputed", tol=1e-10)
        mirrored = np.block([[K, -K], [-K, K]])
        svc.fit(mirrored, np.concatenate([y, -y]), sample_weight=np.concatenate([w, w]))
    beta[svc.support_] = svc.dual_coef_[0]
    expected = case.K[:, case.index] @ (beta[:20] - beta[20:]) + bias
    # libsvm ends at relative errors of about 1e-6, whatever its tolerance.
    scale = np.abs(expected).max()
    np.testing.assert_allclose(result.state.values[:, 0], expected, atol=1e-5 * scale)
    assert result.state.intercept[0] == pytest.approx(bias, abs=1e-5 * scale)


def test_without_a_graph_the_epsilon_insensitive_loss_is_scikit_learns_svr():
    case = make_case(
        graph="no graph", loss=EpsilonInsensitive(0.3), fit_intercept=True, n=30, n_labels=20, c=1
    )
    svr = SVR(C=1 / (2 * case.gamma_A), epsilon=0.3, kernel="precomputed", tol=1e-10)
    svr.fit(case.K[np.ix_(case.index, case.index)], case.y[:, 0], sample_weight=case.weights)
    expected = svr.predict(case.K[:, case.index])
    np.testing.assert_allclose(dual(case.objective()).state.values[:, 0], expected, atol=1e-6)


@FOR_ALL_SOLVERS
def test_without_a_graph_the_squared_hinge_is_scikit_learns_linear_svc(solve):
    case = make_case(graph="no graph", space="linear", n=30, n_labels=20, c=1)
    svc = LinearSVC(C=1 / (2 * case.gamma_A), fit_intercept=False, dual=False, tol=1e-12)
    svc.fit(case.X[case.index], case.y[:, 0], sample_weight=case.weights)
    np.testing.assert_allclose(solve(case.objective()).state.coef[:, 0], svc.coef_[0], atol=1e-5)


@FOR_ALL_SOLVERS
def test_without_a_graph_the_squared_loss_is_kernel_ridge(solve):
    case = make_case(graph="no graph", loss=Squared(), n=30, n_labels=20, c=3)
    ridge = KernelRidge(alpha=case.gamma_A, kernel="precomputed")
    ridge.fit(case.K[np.ix_(case.index, case.index)], case.y, sample_weight=case.weights)
    expected = ridge.predict(case.K[:, case.index])
    np.testing.assert_allclose(solve(case.objective()).state.values, expected, atol=1e-7)


@FOR_ALL_SOLVERS
def test_without_a_graph_the_squared_loss_with_a_bias_is_ridge(solve):
    case = make_case(
        graph="no graph", space="linear", loss=Squared(), fit_intercept=True, n=30, n_labels=20, c=3
    )
    ridge = Ridge(alpha=case.gamma_A, tol=1e-12)
    ridge.fit(case.X[case.index], case.y, sample_weight=case.weights)
    state = solve(case.objective()).state
    np.testing.assert_allclose(state.coef.T, ridge.coef_, atol=1e-7)
    np.testing.assert_allclose(state.intercept, ridge.intercept_, atol=1e-7)


# --- closed form ----------------------------------------------------------------------------------


@FOR_ALL_SOLVERS
@pytest.mark.parametrize("graph", GRAPHS)
def test_laprls_by_a_dense_inverse(graph, solve):
    """alpha = (J'WJ K + gamma_A I + gamma_I L K)^-1 J'W y: (14) without a bias."""
    case = make_case(graph=graph, loss=Squared())
    J = np.eye(case.n)[case.index]
    D = J.T @ np.diag(case.weights) @ J
    inverse = np.linalg.inv((D + case.penalty) @ case.K + case.gamma_A * np.eye(case.n))
    alpha = inverse @ J.T @ (case.weights[:, None] * case.y)
    state = solve(case.objective()).state
    np.testing.assert_allclose(state.values, case.K @ alpha, atol=1e-7)
    np.testing.assert_allclose(state.coef, alpha, atol=1e-5)


def test_laprls_takes_newton_one_step():
    for fit_intercept in (False, True):
        case = make_case(loss=Squared(), fit_intercept=fit_intercept, c=4)
        assert newton(case.objective()).n_iter == 1


# --- identities -----------------------------------------------------------------------------------

EVERY_LOSS_AND_SOLVER = [
    pytest.param(loss, solve, id=f"{loss.name}-{name}")
    for loss in ALL_LOSSES
    for name, solve in SOLVERS.items()
    if loss.kind.differentiable or name == "dual"
]
FOR_EVERY_LOSS_AND_SOLVER = pytest.mark.parametrize(("loss", "solve"), EVERY_LOSS_AND_SOLVER)


@FOR_EVERY_LOSS_AND_SOLVER
def test_columns_together_are_columns_alone(loss, solve):
    case = make_case(loss=loss, fit_intercept=True, c=4, n=24, n_labels=12)
    together = solve(case.objective()).state
    for j in range(4):
        alone = solve(column(case, j).objective()).state
        np.testing.assert_allclose(together.values[:, [j]], alone.values, atol=1e-6)
        np.testing.assert_allclose(together.intercept[j], alone.intercept[0], atol=1e-6)


@FOR_EVERY_LOSS_AND_SOLVER
def test_a_weight_of_two_is_two_observations_of_one_point(loss, solve):
    case = make_case(loss=loss, fit_intercept=True, unit_weights=True)
    heavy = replace(case, weights=np.array([2.0, *case.weights[1:]]))
    again = replace(
        case,
        index=np.append(case.index, case.index[0]),
        y=np.vstack([case.y, case.y[:1]]),
        weights=np.ones(len(case.y) + 1),
    )
    a, b = solve(heavy.objective()), solve(again.objective())
    np.testing.assert_allclose(a.state.values, b.state.values, atol=1e-6)
    np.testing.assert_allclose(
        heavy.objective().value(a.state), again.objective().value(b.state), rtol=1e-8
    )


@FOR_EVERY_LOSS_AND_SOLVER
def test_a_point_with_conflicting_labels(loss, solve):
    case = make_case(loss=loss, fit_intercept=True, n=9, n_labels=4, c=1)
    case = replace(
        case,
        index=np.append(case.index, case.index[0]),
        y=np.vstack([case.y, -case.y[:1]]),
        weights=np.append(case.weights, 0.7),
    )
    f, optimum = enumerated_optimum(case)
    state = solve(case.objective()).state
    value = primal_value(case, state.coef, state.intercept)
    np.testing.assert_allclose(value, optimum, rtol=1e-8)
    np.testing.assert_allclose(state.values[:, 0], f, atol=1e-5)


@FOR_EVERY_LOSS_AND_SOLVER
def test_the_order_of_the_points_does_not_matter(loss, solve):
    case = make_case(loss=loss, fit_intercept=True)
    order = np.random.default_rng(1).permutation(case.n)
    shuffled = replace(
        case,
        X=case.X[order],
        K=case.K[np.ix_(order, order)],
        L=case.L[np.ix_(order, order)],
        index=np.argsort(order)[case.index],
    )
    a, b = solve(case.objective()).state, solve(shuffled.objective()).state
    np.testing.assert_allclose(a.values[order], b.values, atol=1e-6)
    np.testing.assert_allclose(a.intercept, b.intercept, atol=1e-6)


@FOR_EVERY_LOSS_AND_SOLVER
@pytest.mark.parametrize("graph", ["normalized^2", "unnormalized"])
def test_a_point_outside_the_graph_without_a_label_changes_nothing(graph, loss, solve):
    """Its coefficient is 0 (errata L1: a zero row of L, so f is free there)."""
    case = make_case(graph=graph, loss=loss, fit_intercept=True, gamma_A=0.3)
    n = case.n
    stranger = np.full((1, case.X.shape[1]), 0.3)
    X = np.vstack([case.X, stranger])
    k = np.exp(-0.4 * ((case.X - stranger) ** 2).sum(axis=1))[:, None]
    larger = replace(
        case,
        X=X,
        K=np.block([[case.K, k], [k.T, np.ones((1, 1))]]),
        L=np.pad(case.L, (0, 1)),
    )
    a, b = solve(case.objective()).state, solve(larger.objective()).state
    np.testing.assert_allclose(b.values[:n], a.values, atol=1e-6)
    np.testing.assert_allclose(b.coef[n], 0, atol=1e-9)


@FOR_EVERY_LOSS_AND_SOLVER
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_kernel_of_rank_three_is_the_linear_space(fit_intercept, loss, solve):
    """Coefficients are one choice of many, f is not (errata L14)."""
    case = make_case(loss=loss, fit_intercept=fit_intercept, space="linear")
    X = case.X[:, :3]
    K, graph_term = X @ X.T, DenseTerm(0.3 * case.L)
    parts = (loss, case.index, case.y, case.weights, 0.05, graph_term, fit_intercept)
    kernel, linear = Objective(FullKernelSpace(K), *parts), Objective(LinearSpace(X), *parts)
    a, b, exact = solve(kernel).state, solve(linear).state, dual(linear).state
    np.testing.assert_allclose(a.values, b.values, atol=1e-6)
    np.testing.assert_allclose(a.values, exact.values, atol=1e-6)
    np.testing.assert_allclose(kernel.value(a), linear.value(b), rtol=1e-8)


@FOR_EVERY_LOSS_AND_SOLVER
def test_duplicate_points_get_one_value(loss, solve):
    case = make_case(loss=loss, graph="normalized", n=12, n_labels=7)
    twice = np.repeat(np.arange(12), 2)
    case = replace(
        case, X=case.X[twice], K=case.K[np.ix_(twice, twice)], L=np.kron(case.L, np.eye(2))
    )
    values = solve(case.objective()).state.values
    np.testing.assert_allclose(values[::2], values[1::2], atol=1e-8)
    assert np.abs(values).max() > 0.01


@pytest.mark.parametrize("loss", [Squared(), EpsilonInsensitive(5.0)], **BY_NAME)
def test_nothing_to_fit_is_the_zero_function(loss):
    """Targets of zero, or within epsilon: no gradient at the start, no 0/0 in the report."""
    case = make_case(loss=loss, fit_intercept=True)
    if loss.name == "squared":
        case = replace(case, y=0 * case.y)
    for solve in SOLVERS.values() if loss.kind.differentiable else (dual,):
        result = solve(case.objective())
        assert result.status == Status.CONVERGED
        np.testing.assert_allclose(result.optimality, 0, atol=1e-12)
        np.testing.assert_allclose(result.state.coef, 0, atol=1e-12)


# --- wide boxes -----------------------------------------------------------------------------------


def absolute_optimum(T: np.ndarray, y: np.ndarray) -> float:
    """Least 1/2 [sum |y - f| + b'Tb], f = Tb: a bounded least-squares problem, solved exactly."""
    values, vectors = np.linalg.eigh(T)
    root = vectors * np.sqrt(values)
    beta = lsq_linear(root.T, np.linalg.solve(root, y), (-0.5, 0.5), method="bvls", tol=1e-15).x
    return float(y @ beta - beta @ T @ beta / 2)


@pytest.mark.parametrize("gamma_A", [1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.0), EpsilonInsensitive(0.02), Hinge()])
def test_coefficients_far_below_their_bound(loss, gamma_A):
    """The duality gap written out, where libsvm alone stops up to one half above the optimum."""
    for seed in (3, 11, 17, 19):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2, 2, (12, 2))
        y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(12)
        y = np.where(y > 0, 1.0, -1.0) if isinstance(loss, Hinge) else y
        T = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2)) / gamma_A
        problem = Objective(
            FullKernelSpace(T), loss, np.arange(12), y[:, None], np.ones(12), gamma_A=1.0
        )
        result = dual(problem)
        beta, primal = result.state.coef[:, 0], float(problem.value(result.state)[0])
        f = T @ beta
        if isinstance(loss, Hinge):
            feasible = y * np.clip(y * beta, 0, 0.5)
            gain, misfit = y @ feasible, np.maximum(0, 1 - y * f).sum()
        else:
            feasible = np.clip(beta, -0.5, 0.5)
            gain = y @ feasible - loss.epsilon * np.abs(feasible).sum()
            misfit = np.maximum(0, np.abs(y - f) - loss.epsilon).sum()
        np.testing.assert_allclose(primal, (misfit + beta @ f) / 2, rtol=1e-6)
        assert primal - (gain - feasible @ T @ feasible / 2) <= 1e-6 * primal
        assert result.optimality[0] <= 1e-6
        assert result.status == Status.CONVERGED
        if loss == EpsilonInsensitive(0.0):
            np.testing.assert_allclose(primal, absolute_optimum(T, y), rtol=1e-6)


def test_the_method_of_multipliers_goes_on_where_libsvm_ends(monkeypatch):
    case = make_case(fit_intercept=True, loss=Hinge(), c=2)
    expected = dual(case.objective())
    monkeypatch.setattr("lapwing.solvers.manifold.kinks._MAX_STEPS", 1)
    monkeypatch.setattr("lapwing.solvers.manifold.kinks._polished", lambda *_: [])
    found = dual(case.objective())
    assert found.status == Status.CONVERGED
    np.testing.assert_allclose(found.state.values, expected.state.values, atol=1e-6)
