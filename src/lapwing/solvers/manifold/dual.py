"""The dual: solve the reduced problem by the first of `REDUCED` that takes the loss.

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
from lapwing.solvers.base import (
    Iteration,
    OnIteration,
    Result,
    Status,
    carry_on,
    optimality,
    verdict,
)
from lapwing.solvers.manifold.deformed import DeformedKernel, Representers
from lapwing.solvers.manifold.kinks import (
    multipliers,
    newton_in_coordinates,
    solve_epsilon_insensitive,
    solve_hinge,
)
from lapwing.solvers.manifold.newton import closed_form, newton


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
    """Take one step of `_newton` without looking for a second: labels may be drawn often."""
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


def dual(
    objective: Objective,
    *,
    max_iter: int = 100,
    tol: float = 1e-8,
    on_iteration: OnIteration = carry_on,
    columns: Representers | None = None,
) -> Result:
    """Minimise an objective with any loss by its problem of the size of the labels.

    Parameters
    ----------
    objective : Objective
    max_iter : int, default=100
        Newton steps (losses without kinks).
    tol : float, default=1e-8
        Losses with kinks: of libsvm's optimality conditions, or the relative duality gap.
    on_iteration : callable, optional
    columns : Representers, optional
        Of the deformed kernel of an objective with the same space, graph, gamma_A and gamma_I, at
        the labelled points at least, to be used again for other losses, targets or weights.

    Returns
    -------
    Result
    """
    if columns is None:
        columns = DeformedKernel.of(objective).at(objective.index)
    columns = columns.of(objective.index)

    def lifted(iteration: Iteration) -> bool:
        number, reduced = iteration.number, iteration.state
        return on_iteration(Iteration(number, lambda: columns.lift(objective, reduced())))

    inner = solve_reduced(
        columns.reduce(objective), max_iter=max_iter, tol=tol, on_iteration=lifted
    )
    state = columns.lift(objective, inner.state)
    # The reduced problem does not know what was lost on the way to it; the gradient does, of
    # losses that have one.
    smooth = objective.loss.kind.differentiable
    measure = optimality(objective, state) if smooth else inner.optimality
    return Result(state, inner.n_iter, verdict(inner.status, measure), measure, inner.history)
