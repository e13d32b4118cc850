"""All solvers reach the optimum: gradients and duals written out, enumeration, other libraries.

What the errata and single runs are about is in test_solver_errata.py and test_solver_runs.py.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from problems import (
    GRAPHS,
    KINKED_LOSSES,
    QUADRATIC_LOSSES,
    SPACES,
    DenseOperator,
    column,
    enumerated_optimum,
    make_case,
    primal_value,
    relative_gradient,
    sweep,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.svm import SVC, SVR, LinearSVC

from lapwing.losses import EpsilonInsensitive, Hinge, Squared, SquaredHinge
from lapwing.objective import Objective
from lapwing.solvers import Status, dual, newton, pcg
from lapwing.solvers.dual import representers
from lapwing.spaces import FullKernelSpace, LinearSpace

SOLVERS = {"newton": newton, "pcg": partial(pcg, tol=1e-10, max_iter=20_000), "dual": dual}
FOR_ALL_SOLVERS = pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
BY_NAME = {"ids": lambda loss: loss.name}


def grid(**axes):
    return pytest.mark.parametrize(tuple(axes), [tuple(a.values()) for a in sweep(**axes)])


# --- optimality, recomputed -----------------------------------------------------------------------


@pytest.mark.parametrize("loss", QUADRATIC_LOSSES, **BY_NAME)
@grid(space=SPACES, graph=GRAPHS, fit_intercept=(False, True))
def test_the_gradient_vanishes_and_all_solvers_agree(space, graph, fit_intercept, loss):
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
        f = case.Phi @ state.coef + state.intercept
        np.testing.assert_allclose(state.values, f, atol=1e-9)
        np.testing.assert_allclose(state.smooth, case.S @ f, atol=1e-9)
        value = primal_value(case, state.coef, state.intercept)
        np.testing.assert_allclose(value, optimum, rtol=1e-8)
        np.testing.assert_allclose(f, reference.values, atol=1e-6)
        if not fit_intercept:
            np.testing.assert_array_equal(state.intercept, 0)


@pytest.mark.parametrize("loss", QUADRATIC_LOSSES, **BY_NAME)
@grid(space=("full", "linear"), graph=GRAPHS, fit_intercept=(False, True))
def test_quadratic_losses_against_enumeration(space, graph, fit_intercept, loss):
    case = make_case(
        space=space, graph=graph, fit_intercept=fit_intercept, loss=loss, n=10, l=6, c=1
    )
    f, optimum = enumerated_optimum(case)
    for solve in SOLVERS.values():
        state = solve(case.objective()).state
        value = primal_value(case, state.coef, state.intercept)
        np.testing.assert_allclose(value, optimum, rtol=1e-9)
        np.testing.assert_allclose(state.values[:, 0], f, atol=1e-6)


@pytest.mark.parametrize("loss", KINKED_LOSSES, **BY_NAME)
@grid(space=SPACES, graph=GRAPHS, fit_intercept=(False, True))
def test_losses_with_kinks_against_enumeration(space, graph, fit_intercept, loss):
    l = 4 if loss.name == "epsilon_insensitive" else 5
    case = make_case(
        space=space, graph=graph, fit_intercept=fit_intercept, loss=loss, n=9, l=l, c=2, seed=3
    )
    result = dual(case.objective())
    value = primal_value(case, result.state.coef, result.state.intercept)
    assert result.status == Status.CONVERGED
    for j in range(2):
        f, optimum = enumerated_optimum(column(case, j))
        np.testing.assert_allclose(value[j], optimum, rtol=1e-8)
        # f is unique but for a free bias, which may have an interval to itself.
        shift = np.median(result.state.values[:, j] - f) if fit_intercept else 0.0
        np.testing.assert_allclose(result.state.values[:, j] - shift, f, atol=1e-5)


@grid(graph=GRAPHS, fit_intercept=(False, True))
def test_the_hinge_on_more_labels_by_its_optimality_conditions(graph, fit_intercept):
    """v + gamma_A alpha = 0 with slopes in the subdifferential: sufficient, for J is convex."""
    case = make_case(graph=graph, fit_intercept=fit_intercept, loss=Hinge(), n=40, l=25, c=3)
    state = dual(case.objective()).state
    f = case.K @ state.coef + state.intercept
    v = -case.gamma_A * state.coef - case.S @ f  # what the slopes must be
    np.testing.assert_allclose(v.sum(axis=0)[fit_intercept * np.arange(3)] * fit_intercept, -(
        case.S @ f
    ).sum(axis=0) * 0, atol=1e-6) if graph.startswith("un") else None
    off = np.setdiff1d(np.arange(case.n), case.index)
    np.testing.assert_allclose(v[off], 0, atol=1e-9)
    margin = case.y * f[case.index]
    pull = -v[case.index] * case.y / case.weights[:, None] * 2  # 1 in E, 0 beyond, between at 1
    assert ((pull > -1e-6) & (pull < 1 + 1e-6)).all()
    np.testing.assert_allclose(pull[margin < 1 - 1e-6], 1, atol=1e-6)
    np.testing.assert_allclose(pull[margin > 1 + 1e-6], 0, atol=1e-6)
    assert (np.abs(margin - 1) < 1e-6).any()  # some lie on the kink, or it is not tested
