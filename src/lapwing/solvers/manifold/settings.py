"""Settings and results of the solvers of manifold regularisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from lapwing._arrays import Array
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.base import Result, Settings, Status, checked_status
from lapwing.solvers.manifold.deformed import Representers

ManifoldResult: TypeAlias = Result[State, Array]


class StoppingRule(Protocol):
    """Early stopping rule, checked every `every` iterations."""

    @property
    def every(self) -> int: ...

    def check(self, state: State) -> bool:
        """Return whether to stop at this state."""


@dataclass(frozen=True)
class ManifoldSettings(Settings[State]):
    """Settings of all solvers of the family.

    `tol` of conjugate gradient is of the gradient in the metric of the function space, sqrt(g'Pg)
    (errata L18), over its norm at zero; of losses with kinks, of libsvm's optimality conditions or
    the relative duality gap. Newton's method ignores it and goes to rounding; its `max_iter` is of
    a column, of which the paper never needed more than 6 with the squared hinge.

    Attributes
    ----------
    start : State, optional
        Initial coefficients; zero by default.
    rule : StoppingRule, optional
        Stops all columns of conjugate gradient early, by their predictions (Section 4.1).
    columns : Representers, optional
        For the dual: columns of the deformed kernel of an objective with the same space, graph,
        gamma_A and gamma_I, at the labelled points at least, to be used again for other losses,
        targets or weights.
    """

    start: State | None = None
    rule: StoppingRule | None = None
    columns: Representers | None = None


DEFAULTS = ManifoldSettings()


def exact_result(
    objective: Objective, state: State, optimality: Array, n_iter: int, status: Status
) -> ManifoldResult:
    """Make the result of an exact solver; the status follows from the optimality reached."""
    status = checked_status(status, optimality)
    return Result(state, objective.reported(state), optimality, n_iter, status)
