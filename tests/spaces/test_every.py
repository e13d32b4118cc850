"""One suite for every space of `tests.helpers.spaces.MAKERS`, against matrices written out.

Every loop over rows takes several turns here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lapwing import _arrays
from lapwing.kernels import Kernel
from lapwing.spaces import mapped
from lapwing.spaces.systems import FactoredSystem
from tests.helpers.problems import GRAPHS, sweep
from tests.helpers.spaces import MAKERS, Known, N, applied, penalty, point_weights, random

C = 3


@pytest.fixture(autouse=True)
def _few_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def few(n: int, row_bytes: int, budget: int = 0) -> Any:
        return _arrays.row_blocks(n, row_bytes, budget=3 * 8 * N)

    for module in ("block_operator", "systems"):
        monkeypatch.setattr(f"lapwing.spaces.{module}.row_blocks", few)
    spaces = ("systems.BLOCK_BYTES", "block_operator.DISK_BLOCK_BYTES", "mapped._PART_BYTES")
    kernels = ("kernels.BLOCK_BYTES", "kernels.DISK_BLOCK_BYTES")
    for name in (*kernels, *(f"spaces.{name}" for name in spaces)):
        monkeypatch.setattr(f"lapwing.{name}", 3 * 8 * N)
    monkeypatch.setattr(mapped, "_CACHED_BYTES", 0)


@pytest.fixture(params=MAKERS)
def known(request: pytest.FixtureRequest) -> Known:
    return MAKERS[request.param]()


def test_values_are_the_design_times_coefficients(known):
    assert (known.space.n_points, known.space.n_coef) == known.Phi.shape
    assert known.space.dtype == np.float64
    a = random(known.space.n_coef, C)
    np.testing.assert_allclose(known.space.values(a), known.Phi @ a, atol=1e-12)


def test_represent_is_the_adjoint_of_values(known):
    """<represent(u), h> = u' values(h) in the metric of the function space."""
    u, h = random(N, C), random(known.space.n_coef, C, seed=1)
    left = np.einsum("ij,ij->j", known.space.represent(u), known.G @ h)
    np.testing.assert_allclose(left, np.einsum("ij,ij->j", u, known.Phi @ h), rtol=1e-11)


def test_dot_is_the_inner_product(known):
    a, b = random(known.space.n_coef, C), random(known.space.n_coef, C, seed=1)
    dot = known.space.dot(a, b, known.Phi @ b)
    assert dot.shape == (C,)
    assert dot.dtype == np.float64
    np.testing.assert_allclose(dot, np.einsum("ij,ij->j", a, known.G @ b), rtol=1e-11)
    np.testing.assert_allclose(dot, known.space.dot(b, a, known.Phi @ a), rtol=1e-11)


def test_functions_of_new_points_and_of_those_of_the_fit(known):
    a, b = random(known.space.n_coef, C), random(C, seed=1)
    values = known.space.function(a, b)(known.X_new)
    assert isinstance(values, np.ndarray)
    np.testing.assert_allclose(values, known.Phi_new @ a + b, atol=1e-12)
    again = known.space.function(a, b)(known.X_again)
    np.testing.assert_allclose(again, known.space.values(a) + b, atol=1e-12)


# --- the whole design -----------------------------------------------------------------------------


def test_gram_is_the_kernel_matrix_in_float64(known):
    K = known.space.gram()
    assert type(K) is np.ndarray
    assert K.dtype == np.float64
    np.testing.assert_allclose(K, known.k, atol=1e-11)


def test_design_parts_and_lift_give_the_design(known):
    design = known.space.design()
    parts = list(design.parts())
    assert [i for rows, _ in parts for i in range(rows.start, rows.stop)] == list(range(N))
    P = np.vstack([design.rows_of(made_of) for _, made_of in parts])
    assert P.shape == (N, design.width)
    Phi = P if design.lift is None else P @ design.lift
    np.testing.assert_allclose(Phi, known.Phi, atol=1e-12)


@pytest.mark.parametrize("weight", [1.0, 1e30], ids=["at the end", "row by row"])
def test_sums_over_the_points_are_those_of_the_design(known, weight):
    design, Phi = known.space.design().lifted(weight), known.Phi
    m = Phi.shape[1]
    if weight > 1:
        assert design.lift is None
    u, w = random(N, C), random(m, C, seed=1)
    np.testing.assert_allclose(design.adjoint(u), Phi.T @ u, atol=1e-11)
    found = np.zeros((N, C))
    for rows, values in design.values(w):
        found[rows] = values
    np.testing.assert_allclose(found, Phi @ w, atol=1e-11)
    d, more = random(N, seed=2) ** 2, random(N, 2, seed=3)
    Z = np.hstack([Phi, more, np.ones((N, 1))])
    expected = Z.T @ (d[:, None] * Z) + np.diag(np.arange(m + 3) < m)
    H = design.normal_matrix(d, lambda rows: more[rows], 2, bias=True)
    np.testing.assert_allclose(H, expected, atol=1e-10)
    np.testing.assert_allclose(design.normal_matrix(d, bias=False), expected[:m, :m], atol=1e-10)


def test_blocks_put_together_are_the_design(known):
    blocks = list(known.space.blocks())
    assert len(blocks) >= 2
    assert all(type(block) is np.ndarray for _, block in blocks)
    assert [i for rows, _ in blocks for i in range(rows.start, rows.stop)] == list(range(N))
    np.testing.assert_allclose(np.vstack([block for _, block in blocks]), known.Phi, atol=1e-12)
    again = np.vstack([block for _, block in known.space.blocks()])
    np.testing.assert_array_equal(again, np.vstack([block for _, block in blocks]))


def test_stored_space_has_equal_values_without_computing(known, monkeypatch):
    stored = known.space.stored()
    assert type(stored) is type(known.space)
    assert stored.stored() is stored
    assert (stored.n_points, stored.n_coef) == (N, known.space.n_coef)
    a, u = random(stored.n_coef, C), random(N, C, seed=1)
    np.testing.assert_allclose(stored.values(a), known.space.values(a), atol=1e-13)
    np.testing.assert_allclose(stored.represent(u), known.space.represent(u), atol=1e-13)
    expected = known.space.function(a, np.ones(C))(known.X_new)
    np.testing.assert_array_equal(stored.function(a, np.ones(C))(known.X_new), expected)

    def computing(*_: Any) -> None:
        raise AssertionError("kernel values are computed again")

    monkeypatch.setattr(Kernel, "cross_blocks", computing)
    np.testing.assert_allclose(stored.values(a), known.Phi @ a, atol=1e-12)
    blocks = np.vstack([block for _, block in stored.blocks()])
    np.testing.assert_allclose(blocks, known.Phi, atol=1e-12)


# --- restrictions ---------------------------------------------------------------------------------

ROWS = {
    "some": np.array([1, 2, 5, 9, 13]),
    "two": np.array([0, 7]),
    "one": np.array([4]),
    "all": np.arange(N),
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_functions_of_a_restriction_are_functions_of_the_whole(known, rows):
    """On its points, on all others and on new ones; with the same kernel and norm."""
    part, embed = known.space.restrict(rows)
    assert part.n_points == len(rows)
    Phi = np.asarray(part.values(np.eye(part.n_coef)))
    np.testing.assert_allclose(Phi @ Phi.T, known.k[np.ix_(rows, rows)], atol=1e-9)
    np.testing.assert_allclose(np.asarray(part.features @ np.eye(part.n_coef)), Phi, atol=1e-12)
    a, b = random(part.n_coef, C), random(C, seed=1)
    whole = embed(a)
    assert whole.shape == (known.space.n_coef, C)
    np.testing.assert_allclose(embed(a[:, 0]), whole[:, 0], atol=1e-13)
    values = known.space.values(whole)
    np.testing.assert_allclose(values[rows], part.values(a), atol=1e-9)
    norms = np.einsum("ij,ij->j", whole, known.G @ whole)
    np.testing.assert_allclose(norms, (a * a).sum(axis=0), rtol=1e-9)
    new = known.space.function(whole, b)(known.X_new)
    np.testing.assert_allclose(part.function(a, b)(known.X_new), new, atol=1e-9)
    # sum_i u_i k(x_i, .) over its points is known everywhere.
    u = random(len(rows), C)
    values = known.space.values(embed(part.represent(u)))
    np.testing.assert_allclose(values, known.k[:, rows] @ u, atol=1e-8)


# --- direct systems -------------------------------------------------------------------------------


def test_systems_minimise_the_quadratic_model(known, monkeypatch):
    """argmin 1/2 [f'(D + S) f + gamma_A a'G a] - u'f with f = Phi a + b: its gradient, densely.

    Factorisations of one system do not disturb each other.
    """
    # Well conditioned: the way out of errata L14 would hide a wrong system here.
    monkeypatch.setattr(FactoredSystem, "__init__", no_way_out)
    gamma_A, u = 0.07, random(N, C)
    before = u.copy()
    for axes in sweep(graph=GRAPHS, bias=(False, True)):
        graph, fit_intercept = axes["graph"], axes["bias"]
        S = penalty(known, graph)
        system = known.space.system(applied(S), gamma_A, fit_intercept)
        weights = [point_weights("some"), point_weights("all"), np.eye(N)[3]]
        # A constant that neither the weights nor the graph see has no minimiser.
        if graph.startswith("norm") or not fit_intercept:
            weights.insert(0, None)
        quadratics = [system.factor(D) for D in weights]
        for D, quadratic in [*zip(weights, quadratics, strict=True)] * 2:
            case = f"{axes}, weights {D}"
            check_stationary(known, quadratic(u), S, D, gamma_A, u, fit_intercept, case)
    np.testing.assert_array_equal(u, before)


def no_way_out(*_: Any) -> None:
    raise AssertionError("a well-conditioned system lost digits")


def check_stationary(known, solution, S, D, gamma_A, u, fit_intercept, case, tol=1e-9):
    coef, intercept, values = solution
    f = known.Phi @ coef + intercept
    np.testing.assert_allclose(values, f, atol=tol * np.abs(f).max(), err_msg=case)
    v = S @ f - u + (0 if D is None else D[:, None] * f)
    gradient = known.Phi.T @ v + gamma_A * known.G @ coef
    scale = np.abs(known.Phi.T @ u).max()
    assert np.abs(gradient).max() < tol * scale, case
    if fit_intercept:
        assert np.abs(v.sum(axis=0)).max() < tol * scale, case
    else:
        np.testing.assert_array_equal(intercept, 0, err_msg=case)
