"""The objective against its formula, and its gradient by finite differences and Taylor slopes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lapwing.losses import EpsilonInsensitive, Hinge, Squared, SquaredHinge
from lapwing.spaces.full import FullKernelSpace
from tests.helpers.problems import (
    ALL_LOSSES,
    GRAPHS,
    SPACES,
    DenseTerm,
    make_case,
    primal_gradient,
    primal_value,
    sweep,
)

FOR_ALL_LOSSES = pytest.mark.parametrize("loss", ALL_LOSSES, ids=lambda loss: loss.name)
FOR_ALL_SPACES = pytest.mark.parametrize("space", SPACES)
GRAPHS_AND_BIASES = [tuple(a.values()) for a in sweep(graph=GRAPHS, fit_intercept=(False, True))]


def random_state(case, problem, seed=0):
    """A function whose scores are of the order of the margin."""
    rng = np.random.default_rng(seed)
    m, c = case.design.shape[1], case.y.shape[1]
    coef = rng.standard_normal((m, c))
    coef /= np.abs(case.design @ coef).max()
    return problem.state(coef * 2, rng.standard_normal(c) * case.fit_intercept)


@FOR_ALL_LOSSES
@FOR_ALL_SPACES
def test_value_and_gradient_are_the_formulas(space, loss):
    """The gradient in the metric of the space, and by central differences of the dense value.

    G g = Phi'v + gamma_A G a: the Euclidean gradient is G times the preconditioned one.
    """
    for graph, fit_intercept in GRAPHS_AND_BIASES:
        name = f"{graph}, bias {fit_intercept}"
        case = make_case(space=space, graph=graph, fit_intercept=fit_intercept, loss=loss)
        problem = case.objective()
        state, h = random_state(case, problem), random_state(case, problem, seed=1)
        for at in (state, problem.zero()):
            expected = primal_value(case, at.coef, at.intercept)
            np.testing.assert_allclose(problem.value(at), expected, rtol=1e-11, err_msg=name)
        of_coef, of_bias = problem.gradient(state)
        expected_coef, expected_bias = primal_gradient(case, state.coef, state.intercept)
        np.testing.assert_allclose(case.gram @ of_coef, expected_coef, atol=1e-10, err_msg=name)
        np.testing.assert_allclose(of_bias, expected_bias * fit_intercept, atol=1e-12, err_msg=name)
        # <g, h> is the derivative of the dense formula along h; no kink within the step.
        ends = [
            primal_value(case, state.coef + s * h.coef, state.intercept + s * h.intercept)
            for s in (-1e-5, 1e-5)
        ]
        inner = problem.inner(problem.state(of_coef, of_bias), h)
        numeric = (ends[1] - ends[0]) / 2e-5
        np.testing.assert_allclose(inner, numeric, rtol=1e-6, atol=1e-7, err_msg=name)


def test_reported_is_the_papers_scaling():
    """(7) has an overall 1/2; (4) and (14) have none (errata L9)."""
    for loss in (SquaredHinge(), Squared(), Hinge(), EpsilonInsensitive(0.3)):
        case = make_case(loss=loss, fit_intercept=True)
        problem = case.objective()
        state = random_state(case, problem)
        f = case.design @ state.coef + state.intercept
        norms = np.einsum("ij,ij->j", state.coef, case.K @ state.coef) * case.gamma_A
        norms += np.einsum("ij,ij->j", f, case.L @ f) * case.gamma_I
        slack, y = case.y - f[case.index], case.y
        expected = {
            "squared_hinge": 0.5 * (case.weights @ np.maximum(0, y * slack) ** 2 + norms),
            "squared": case.weights @ slack**2 + norms,
            "hinge": case.weights @ np.maximum(0, y * slack) + norms,
            "epsilon_insensitive": case.weights @ np.maximum(0, np.abs(slack) - 0.3) + norms,
        }
        np.testing.assert_allclose(problem.reported(state), expected[loss.name], rtol=1e-11)


# --- states ---------------------------------------------------------------------------------------


@FOR_ALL_SPACES
def test_the_line_is_the_objective_along_a_ray(space):
    for graph, fit_intercept in GRAPHS_AND_BIASES:
        case = make_case(space=space, graph=graph, fit_intercept=fit_intercept)
        problem = case.objective()
        z, d = random_state(case, problem), random_state(case, problem, seed=1)
        line = problem.line(z, d)
        assert all(part.dtype == np.float64 for part in line)
        for s in (0.0, 0.3, 2.0):
            at = line.scores + s * line.slopes
            fit = (line.weights * 0.5 * np.maximum(0, 1 - line.y * at) ** 2).sum(axis=0)
            along = fit + line.linear * s + 0.5 * line.quadratic * s**2
            expected = primal_value(case, z.coef + s * d.coef, z.intercept + s * d.intercept)
            if s == 0:
                offset = expected - along  # the regularisers at the start
            np.testing.assert_allclose(along + offset, expected, rtol=1e-10, err_msg=graph)


def test_norm_of_a_negative_square_is_its_size():
    """It is rounding error; 0 would wrongly indicate an optimum."""
    negative = replace(make_case().objective(), space=FullKernelSpace(-np.eye(40)))
    state = negative.state(np.ones((40, 2)), np.zeros(2))
    np.testing.assert_allclose(negative.norm(state), np.sqrt(40))


# --- the graph ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("graph", [name for name in GRAPHS if GRAPHS[name]])
def test_constant_energy_tells_whether_the_bias_is_free(graph, scale):
    """(D - W)^p 1 = 0, L_n^p 1 is not (errata L3), whatever the size of the weights."""
    case = make_case(graph=graph, fit_intercept=True)
    problem = replace(case.objective(), graph_term=DenseTerm(scale * case.penalty))
    if graph.startswith("unnormalized"):
        assert abs(problem.constant_energy) < 1e-14
    else:
        assert problem.constant_energy > 1e-4


def test_constant_energy_of_two_interleaved_components():
    """Alternating signs are constant on each component: no measure of a Laplacian's size."""
    W = np.zeros((12, 12))
    W[::2, ::2] = W[1::2, 1::2] = 0.3
    np.fill_diagonal(W, 0)
    L = np.diag(W.sum(axis=1)) - W
    problem = replace(make_case(n=12, n_labels=4).objective(), graph_term=DenseTerm(1e7 * L))
    assert abs(problem.constant_energy) < 1e-14
