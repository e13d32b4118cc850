"""Common interface of solvers: settings, result, and entry in a registry.

Each family has objectives (`lapwing.objectives`) and a registry of `Solver`s, which are functions
(objective, settings) -> `Result`. Some families add an argument: low-density methods take a start,
embedded regression a system that is formed once; methods that partition a graph have no settings.
Families add fields to `Settings`, `Result` and `Solver` by inheritance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from lapwing._arrays import Array

P = ParamSpec("P")
S = TypeVar("S")
V = TypeVar("V", float, Array)
F = TypeVar("F", bound=Callable[..., Any])
Named = TypeVar("Named", bound="Solver[Any]")


class Status(StrEnum):
    """Why a solver stopped."""

    CONVERGED = "converged"
    PRECISION = "precision reached"  # no more digits in the arithmetic of the input
    EARLY = "stopped early"  # by a rule on the predictions
    CALLBACK = "stopped by a callback"
    MAX_ITER = "not converged"


@dataclass(frozen=True)
class Result(Generic[S, V]):
    """Outcome of a solver.

    Attributes
    ----------
    state
        The solution in the coefficients of the family; for solvers in a registry it has `coef` and
        `intercept`, or it is the scores of a partition.
    objective : array of shape (c,)
        Value of the objective, scaled as in the family's paper. This and `optimality` are floats
        for solvers of a single column.
    optimality : array of shape (c,)
        Relative distance from the optimum as the solver measures it: the norm of the gradient in
        the metric of the function space over its norm at zero, the residual of linear equations, or
        the duality gap over the objective; for losses with kinks the violation of the margins if
        that is larger.
    n_iter : int
        Number of iterations, the largest over the columns.
    status : Status
    history : mapping of str to list of arrays of shape (c,)
        Values recorded at each iteration; NaN for columns that had finished.
    """

    state: S
    objective: V
    optimality: V
    n_iter: int
    status: Status
    history: Mapping[str, list[Array]] = field(default_factory=dict)

    def assign(self, model: Any) -> None:
        """Set the fitted attributes that the models of all solvers have."""
        model.objective_ = self.objective
        model.optimality_ = self.optimality
        # scikit-learn's checks require at least one iteration.
        model.n_iter_ = max(1, self.n_iter)
        model.status_ = str(self.status)


_WORST_FIRST = [
    Status.CALLBACK,
    Status.MAX_ITER,
    Status.EARLY,
    Status.PRECISION,
    Status.CONVERGED,
]


def join_columns(columns: Sequence[Result[Any, float]], state: S) -> Result[S, Array]:
    """Join the results of single columns; the status is the worst of them."""
    return Result(
        state,
        np.array([column.objective for column in columns]),
        np.array([column.optimality for column in columns]),
        max(column.n_iter for column in columns),
        min((column.status for column in columns), key=_WORST_FIRST.index),
    )


def carry_on(_: Callable[[], Any]) -> bool:
    """Continue: the default of `Settings.on_iteration`."""
    return False


class Serialized(Generic[P]):
    """Callback that threads call one at a time; after a first True it always returns True.

    Parameters
    ----------
    callback : callable (...) -> bool
    """

    def __init__(self, callback: Callable[P, bool]) -> None:
        self._callback = callback
        self._lock = Lock()
        self._stopped = False

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> bool:
        with self._lock:
            self._stopped = self._stopped or self._callback(*args, **kwargs)
            return self._stopped

    def stop(self) -> None:
        """Return True from now on."""
        self._stopped = True


def no_state() -> None:
    """Return no state, to callbacks of solvers whose iterates are not coefficients of a result."""


@dataclass(frozen=True)
class Settings(Generic[S]):
    """Settings of a solver; some solvers ignore some of them.

    Attributes
    ----------
    tol : float, default=1e-8
        Tolerance of `Result.optimality`.
    max_iter : int, default=20000
        Maximum number of iterations.
    on_iteration : callable, optional
        Called after every iteration, or column, with a function that computes the current state.
        The solver stops if it returns True.
    """

    tol: float = 1e-8
    max_iter: int = 20_000
    on_iteration: Callable[[Callable[[], S]], bool] = carry_on


@dataclass(frozen=True)
class Solver(Generic[F]):
    """Solver in a registry; families add fields for its needs and abilities.

    Attributes
    ----------
    solve : callable
        (objective, settings) -> Result, or as documented by the family.
    name : str, default=""
        Value of the parameter `solver` or of the attribute `solver_`.
    summary : str, default=""
        How it works and when to use it; printed after the name in docstrings.
    """

    solve: F
    name: str = ""
    summary: str = ""


def registry(*solvers: Named) -> dict[str, Named]:
    """Return a dict of solvers by name."""
    return {solver.name: solver for solver in solvers}


# Size of features, in units of the bias, beyond which they would hide its gradient from a stopping
# rule. Larger units are avoided: in a third of linear S3VC fits with class weights up to 1000 the
# line search of L-BFGS then fails.
_HIDING = 64.0


def bias_unit(squared_norms: Array) -> float:
    """Return a unit of the bias for iterative solvers, a power of 2.

    Gradients in the coefficients are in proportion to the size of the features. For sizes below 1,
    with which steps in the bias would be short, the unit is the size; above `_HIDING` it is
    size / `_HIDING`, and between it is 1.
    """
    size = math.sqrt(float(np.mean(squared_norms)))
    return 2.0 ** (math.frexp(size / min(max(size, 1.0), _HIDING))[1] - 1)


# Relative gradient below which the solution of an exact solver counts as converged: the objective
# is then within about its square, 1e-12, of the minimum.
_OPTIMAL = 1e-6


def checked_status(status: Status, optimality: Array) -> Status:
    """Return the status of an exact solver: PRECISION if rounding errors limit the optimality."""
    optimal = bool(np.max(optimality, initial=0.0) <= _OPTIMAL)  # NaN is not
    return Status.PRECISION if status == Status.CONVERGED and not optimal else status
