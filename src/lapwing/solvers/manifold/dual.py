"""Dual solver: a reduced problem in l unknowns, solved by the solver in `REDUCED` for its loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from lapwing.losses.base import Loss
from lapwing.losses.labeled import EpsilonInsensitive, Hinge
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.base import Status
from lapwing.solvers.manifold.deformed import DeformedKernel
from lapwing.solvers.manifold.kinks import libsvm, multipliers, newton_in_coordinates
from lapwing.solvers.manifold.newton import newton
from lapwing.solvers.manifold.settings import (
    DEFAULTS,
    ManifoldResult,
    ManifoldSettings,
    exact_result,
)

ReducedSolver: TypeAlias = Callable[[Objective, ManifoldSettings], ManifoldResult]

# A solver for a particular loss is one line here; other losses are solved by a general solver.
REDUCED: dict[type[Loss], ReducedSolver] = {
    Hinge: libsvm,
    EpsilonInsensitive: libsvm,
}


def reduced_solver(loss: Loss) -> ReducedSolver:
    """Return the solver for the exact class of a loss, as a subclass may have changed anything."""
    return REDUCED.get(type(loss), newton if loss.kind.differentiable else multipliers)


def solve_reduced(objective: Objective, settings: ManifoldSettings) -> ManifoldResult:
    """Solve a reduced problem by the solver for its loss."""
    found = reduced_solver(objective.loss)(objective, settings)
    unsettled = found.status in (Status.PRECISION, Status.MAX_ITER)
    if not (unsettled and objective.loss.kind.differentiable):
        return found
    # Loss of digits in an expansion (errata L14) ends the steps early, or prevents convergence.
    again = newton_in_coordinates(objective, max_iter=settings.max_iter)
    return again if again.optimality.max() < found.optimality.max() else found


def dual(objective: Objective, settings: ManifoldSettings = DEFAULTS) -> ManifoldResult:
    """Minimise an objective with any loss by a problem in l unknowns.

    Parameters
    ----------
    objective : Objective
    settings : ManifoldSettings, optional
        `start` and `rule` are ignored.

    Returns
    -------
    Result
    """
    columns = settings.columns
    if columns is None:
        columns = DeformedKernel.of(objective).at(objective.index)
    columns = columns.of(objective.index)

    def lifted(reduced: Callable[[], State]) -> bool:
        return settings.on_iteration(lambda: columns.lift(objective, reduced()))

    of_reduced = replace(settings, start=None, on_iteration=lifted)
    inner = solve_reduced(columns.reduce(objective), of_reduced)
    state = columns.lift(objective, inner.state)
    # The optimality of the reduced problem does not include the errors of the deformed kernel; the
    # gradient of the whole objective, if the loss has one, does.
    smooth = objective.loss.kind.differentiable
    measure = objective.optimality(state) if smooth else inner.optimality
    return exact_result(objective, state, measure, inner.n_iter, inner.status)
