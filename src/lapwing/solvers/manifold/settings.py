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

    For conjugate gradient, `tol` is the tolerance of the norm of the gradient in the metric of the
    function space, sqrt(g'Pg) (errata L18), relative to that at zero, or at the mean of targets far
    from zero; for losses with kinks, of libsvm's optimality conditions or the relative duality gap.
    Newton's method ignores it and converges to rounding; its `max_iter` applies to each column (the
    paper needed at most 6 iterations with the squared hinge).

    Attributes
    ----------
    start : State, optional
        Initial coefficients; zero by default.
    rule : StoppingRule, optional
        Early stopping of conjugate gradient by the predictions of all columns (Section 4.1).
    columns : Representers, optional
        For the dual solver: columns of the deformed kernel, at the labelled points at least, of an
        objective with the same space, graph, gamma_A and gamma_I, to be used with other losses,
        targets or weights.
    """

    start: State | None = None
    rule: StoppingRule | None = None
    columns: Representers | None = None


DEFAULTS = ManifoldSettings()


def exact_result(
    objective: Objective, state: State, optimality: Array, n_iter: int, status: Status
) -> ManifoldResult:
    """Return the result of an exact solver, with the status corrected by `checked_status`."""
    status = checked_status(status, optimality)
    return Result(state, objective.reported(state), optimality, n_iter, status)
