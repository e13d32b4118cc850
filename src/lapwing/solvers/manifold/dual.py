"""Dual solver: solve the reduced problem by the first solver in `REDUCED` for the loss.

A solver for a particular loss is one entry in `REDUCED`; other losses are solved by a general
solver for their kind. Entries test for the exact class of the loss, as a subclass may have changed
anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lapwing.losses.base import Loss
from lapwing.losses.labeled import EpsilonInsensitive, Hinge, Squared
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.base import Solver, Status
from lapwing.solvers.manifold.deformed import DeformedKernel
from lapwing.solvers.manifold.kinks import (
    multipliers,
    newton_in_coordinates,
    solve_hinge,
    solve_tube,
)
from lapwing.solvers.manifold.newton import closed_form, newton
from lapwing.solvers.manifold.settings import (
    DEFAULTS,
    ManifoldResult,
    ManifoldSettings,
    exact_result,
)


@dataclass(frozen=True, kw_only=True)
class ReducedSolver(Solver[Callable[[Objective, ManifoldSettings], ManifoldResult]]):
    """Solver of reduced problems.

    Attributes
    ----------
    takes : callable (loss) -> bool
        Whether it supports a loss.
    """

    takes: Callable[[Loss], bool]


REDUCED = [
    ReducedSolver(solve_hinge, "libsvm, hinge", takes=lambda loss: type(loss) is Hinge),
    ReducedSolver(solve_tube, "libsvm, tube", takes=lambda loss: type(loss) is EpsilonInsensitive),
    ReducedSolver(closed_form, "closed form", takes=lambda loss: type(loss) is Squared),
    ReducedSolver(newton, "newton", takes=lambda loss: loss.kind.differentiable),
    ReducedSolver(multipliers, "multipliers", takes=lambda loss: True),
]


def reduced_solver(loss: Loss) -> ReducedSolver:
    """Return the first solver that supports a loss."""
    return next(solver for solver in REDUCED if solver.takes(loss))


def solve_reduced(objective: Objective, settings: ManifoldSettings) -> ManifoldResult:
    """Solve a reduced problem by the solver for its loss."""
    found = reduced_solver(objective.loss).solve(objective, settings)
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
