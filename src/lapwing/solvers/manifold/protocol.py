"""Settings and callbacks that the solvers of manifold regularisation share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from lapwing.objectives.manifold import State
from lapwing.solvers.base import Iteration
from lapwing.solvers.manifold.deformed import Representers

OnIteration: TypeAlias = Callable[[Iteration[State]], bool]
"""Called after every iteration; True asks the solver to stop."""


def carry_on(_: Iteration[State]) -> bool:
    """Default `OnIteration`: never stop."""
    return False


class StoppingRule(Protocol):
    """Early stopping rule, checked every `every` iterations."""

    @property
    def every(self) -> int: ...

    def check(self, state: State) -> bool:
        """Whether to stop at this state."""


@dataclass(frozen=True)
class Settings:
    """Settings of all solvers; each reads those that it uses.

    Attributes
    ----------
    start : State, optional
        Initial coefficients; zero by default.
    tol : float, default=1e-8
        Tolerance. Of conjugate gradient: the gradient in the metric of the function space,
        sqrt(g' P g) (errata L18), over its norm at zero. Of losses with kinks: libsvm's optimality
        conditions, or the relative duality gap. Newton's method ignores it and goes to rounding.
    max_iter : int, default=20000
        Most iterations; of Newton's method most steps a column, of which the paper never needed
        more than 6 with the squared hinge.
    rule : StoppingRule, optional
        Stops all columns of conjugate gradient early, by their predictions (Section 4.1).
    on_iteration : callable, optional
        Called after every iteration, or column; may ask to stop.
    columns : Representers, optional
        For the dual: columns of the deformed kernel of an objective with the same space, graph,
        gamma_A and gamma_I, at the labelled points at least, to be used again for other losses,
        targets or weights.
    """

    start: State | None = None
    tol: float = 1e-8
    max_iter: int = 20_000
    rule: StoppingRule | None = None
    on_iteration: OnIteration = carry_on
    columns: Representers | None = None


DEFAULTS = Settings()
