"""Who solves the reduced problem of the dual: the first of `REDUCED` that takes the loss.

A solver that is made for a loss is one line here; a loss without one is taken by what its kind
allows. A line says what it takes by the class of the loss itself: a class derived from it may have
changed anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from lapwing.losses.base import Loss
from lapwing.losses.labeled import EpsilonInsensitive, Hinge, Squared
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.base import OnIteration, Result, Status, carry_on
from lapwing.solvers.manifold.closed_form import closed_form
from lapwing.solvers.manifold.coordinates import newton_in_coordinates
from lapwing.solvers.manifold.kinks import multipliers
from lapwing.solvers.manifold.libsvm import solve_epsilon_insensitive, solve_hinge
from lapwing.solvers.manifold.newton import newton


class _Solve(Protocol):
    def __call__(
        self,
        objective: Objective,
        start: State | None,
        *,
        max_iter: int,
        tol: float,
        on_iteration: OnIteration,
    ) -> Result: ...


@dataclass(frozen=True)
class Reduced:
    """A solver of reduced problems.

    Attributes
    ----------
    name : str
    takes : callable (loss) -> bool
    solve : callable (objective, start, *, max_iter, tol, on_iteration) -> Result
        Whoever cannot begin at a start does without it.
    """

    name: str
    takes: Callable[[Loss], bool]
    solve: _Solve


def _newton(
    objective: Objective,
    start: State | None,
    *,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration,
) -> Result:
    """To rounding, whatever the tolerance."""
    found = newton(objective, start, max_iter=max_iter, on_iteration=on_iteration)
    return _to_the_last_digit(objective, found, max_iter)


def _closed_form(
    objective: Objective,
    start: State | None,
    *,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration,
) -> Result:
    """What one step of `_newton` finds, without looking for a second: labels may be drawn often."""
    found = closed_form(objective, on_iteration=on_iteration)
    return _to_the_last_digit(objective, found, max_iter)


def _to_the_last_digit(objective: Objective, found: Result, max_iter: int) -> Result:
    # Digits that an expansion loses (errata L14) end the steps early, or keep them from settling.
    if found.status not in (Status.PRECISION, Status.MAX_ITER):
        return found
    again = newton_in_coordinates(objective, max_iter=max_iter)
    return again if again.optimality.max() < found.optimality.max() else found


def _hinge(
    objective: Objective,
    start: State | None,
    *,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration,
) -> Result:
    return solve_hinge(objective, tol=tol, on_iteration=on_iteration)


def _tube(
    objective: Objective,
    start: State | None,
    *,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration,
) -> Result:
    return solve_epsilon_insensitive(objective, tol=tol, on_iteration=on_iteration)


def _multipliers(
    objective: Objective,
    start: State | None,
    *,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration,
) -> Result:
    return multipliers(objective, tol=tol, on_iteration=on_iteration)


REDUCED: list[Reduced] = [
    Reduced("libsvm, hinge", lambda loss: type(loss) is Hinge, _hinge),
    Reduced("libsvm, tube", lambda loss: type(loss) is EpsilonInsensitive, _tube),
    Reduced("closed form", lambda loss: type(loss) is Squared, _closed_form),
    Reduced("newton", lambda loss: loss.kind.differentiable, _newton),
    Reduced("multipliers", lambda loss: True, _multipliers),
]


def reduced_solver(loss: Loss) -> Reduced:
    """The first solver that takes a loss."""
    return next(solver for solver in REDUCED if solver.takes(loss))


def solve_reduced(
    objective: Objective,
    start: State | None = None,
    *,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration = carry_on,
) -> Result:
    """Solve a reduced problem by the solver of its loss, from a start if that can use one."""
    solver = reduced_solver(objective.loss)
    return solver.solve(objective, start, max_iter=max_iter, tol=tol, on_iteration=on_iteration)
