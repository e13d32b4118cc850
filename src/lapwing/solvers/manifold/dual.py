"""The dual: solve the reduced problem by the first of `REDUCED` that takes the loss.

A solver that is made for a loss is one line here; a loss without one is taken by what its kind
allows. A line says what it takes by the class of the loss itself: a class derived from it may have
changed anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lapwing.losses.base import Loss
from lapwing.losses.labeled import EpsilonInsensitive, Hinge, Squared
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.base import Iteration, Result, Status, verdict
from lapwing.solvers.manifold.deformed import DeformedKernel
from lapwing.solvers.manifold.kinks import (
    multipliers,
    newton_in_coordinates,
    solve_hinge,
    solve_tube,
)
from lapwing.solvers.manifold.newton import closed_form, newton
from lapwing.solvers.manifold.protocol import DEFAULTS, Settings


@dataclass(frozen=True)
class Reduced:
    """A solver of reduced problems.

    Attributes
    ----------
    name : str
    takes : callable (loss) -> bool
    solve : callable (objective, settings) -> Result
    """

    name: str
    takes: Callable[[Loss], bool]
    solve: Callable[[Objective, Settings], Result[State]]


REDUCED: list[Reduced] = [
    Reduced("libsvm, hinge", lambda loss: type(loss) is Hinge, solve_hinge),
    Reduced("libsvm, tube", lambda loss: type(loss) is EpsilonInsensitive, solve_tube),
    Reduced("closed form", lambda loss: type(loss) is Squared, closed_form),
    Reduced("newton", lambda loss: loss.kind.differentiable, newton),
    Reduced("multipliers", lambda loss: True, multipliers),
]


def reduced_solver(loss: Loss) -> Reduced:
    """The first solver that takes a loss."""
    return next(solver for solver in REDUCED if solver.takes(loss))


def solve_reduced(objective: Objective, settings: Settings) -> Result[State]:
    """Solve a reduced problem by the solver of its loss."""
    found = reduced_solver(objective.loss).solve(objective, settings)
    unsettled = found.status in (Status.PRECISION, Status.MAX_ITER)
    if not (unsettled and objective.loss.kind.differentiable):
        return found
    # Digits that an expansion loses (errata L14) end the steps early, or keep them from settling.
    again = newton_in_coordinates(objective, max_iter=settings.max_iter)
    return again if again.optimality.max() < found.optimality.max() else found


def dual(objective: Objective, settings: Settings = DEFAULTS) -> Result[State]:
    """Minimise an objective with any loss by its problem of the size of the labels.

    Parameters
    ----------
    objective : Objective
    settings : Settings, optional
        All but `start` and `rule`.

    Returns
    -------
    Result
    """
    columns = settings.columns
    if columns is None:
        columns = DeformedKernel.of(objective).at(objective.index)
    columns = columns.of(objective.index)

    def lifted(iteration: Iteration[State]) -> bool:
        number, reduced = iteration.number, iteration.state
        return settings.on_iteration(Iteration(number, lambda: columns.lift(objective, reduced())))

    of_reduced = replace(settings, start=None, on_iteration=lifted)
    inner = solve_reduced(columns.reduce(objective), of_reduced)
    state = columns.lift(objective, inner.state)
    # The reduced problem does not know what was lost on the way to it; the gradient does, of
    # losses that have one.
    smooth = objective.loss.kind.differentiable
    measure = objective.optimality(state) if smooth else inner.optimality
    return Result(state, inner.n_iter, verdict(inner.status, measure), measure, inner.history)
