"""The squared loss in one linear system."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose

from lapwing.losses.labeled import Squared
from lapwing.objectives.manifold import Objective
from lapwing.solvers.manifold.dual import reduced_solver, solve_reduced
from lapwing.solvers.manifold.newton import closed_form, newton
from lapwing.solvers.manifold.settings import ManifoldSettings
from lapwing.spaces.full import FullKernelSpace


def objective(rank: int = 40, fit_intercept: bool = True, seed: int = 0) -> Objective:
    """Six labels on a small kernel matrix; the point 3 has two that contradict."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((12, rank))
    return Objective(
        space=FullKernelSpace(F @ F.T / rank),
        loss=Squared(),
        index=np.array([0, 3, 3, 5, 8, 11]),
        targets=rng.standard_normal((6, 3)),
        weights=rng.uniform(0.5, 2, 6),
        gamma_A=0.1,
        fit_intercept=fit_intercept,
    )


def test_tells_of_its_one_step() -> None:
    told = []
    asked = ManifoldSettings(on_iteration=lambda state: bool(told.append(state())))
    found = closed_form(objective(), asked)
    assert len(told) == 1
    assert_allclose(told[0].values, found.state.values)


def test_the_squared_loss_is_solved_so() -> None:
    assert reduced_solver(Squared()).name == "closed form"


def test_a_kernel_of_low_rank_keeps_its_digits() -> None:
    """Coefficients of an expansion would cancel there (errata L14)."""
    steep = replace(objective(rank=2), gamma_A=1e-13)
    found = solve_reduced(steep, ManifoldSettings(max_iter=100, tol=1e-8))
    assert found.optimality.max() < 1e-6
    assert_allclose(found.state.values, newton(steep).state.values, atol=1e-6)
