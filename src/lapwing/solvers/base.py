"""One shape for all solvers: an objective and settings in, a result out.

Every family has its objectives (`lapwing.objectives`) and a registry of `Solver`s, which are
functions (objective, settings) -> `Result`, with what a family needs besides: low-density methods
take a start, embedded regression a system that is formed once. A family adds fields to the three by
inheritance. `Result.state` is the solution, with the coefficients of the columns as `coef` and
their offsets as `intercept` in every family; `Result.attributes` are those that all estimators
have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from lapwing._arrays import Array

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
        The solution in the coefficients of the family, with `coef` and `intercept`.
    objective : array of shape (c,)
        Its value as the family's paper prints it. It and `optimality` are floats of solvers that
        take one column.
    optimality : array of shape (c,)
        How far from optimal, relative: the norm of the gradient in the metric of the function
        space over its norm at zero; the residual of linear equations; the duality gap over the
        objective; of losses with kinks the violations of the margins, if they are larger.
    n_iter : int
        Iterations done; the largest over the columns.
    status : Status
    history : mapping of str to list of arrays of shape (c,)
        What was recorded an iteration; NaN for columns that had finished.
    """

    state: S
    objective: V
    optimality: V
    n_iter: int
    status: Status
    history: Mapping[str, list[Array]] = field(default_factory=dict)

    @property
    def attributes(self) -> dict[str, Any]:
        """Fitted attributes that all estimators have."""
        return {
            "objective_": self.objective,
            "optimality_": self.optimality,
            # scikit-learn's checks want one iteration at the least.
            "n_iter_": max(1, self.n_iter),
            "status_": str(self.status),
        }


def join_columns(columns: Sequence[Result[Any, float]], state: S) -> Result[S, Array]:
    """Join the results of single columns, of which the worst status counts."""
    found = {column.status for column in columns}
    worst = (Status.CALLBACK, Status.MAX_ITER, Status.PRECISION, Status.CONVERGED)
    return Result(
        state,
        np.array([column.objective for column in columns]),
        np.array([column.optimality for column in columns]),
        max(column.n_iter for column in columns),
        next(status for status in worst if status in found),
    )


def carry_on(_: Callable[[], Any]) -> bool:
    """Default of `Settings.on_iteration`: never stop."""
    return False


def no_state() -> None:
    """State of solvers whose iterates are not in the coefficients of the result."""


@dataclass(frozen=True)
class Settings(Generic[S]):
    """Settings of all solvers; each reads those that it uses.

    Attributes
    ----------
    tol : float, default=1e-8
        Tolerance of `Result.optimality`.
    max_iter : int, default=20000
        Most iterations.
    on_iteration : callable, optional
        Called after every iteration, or column, with a function that computes the present state;
        True asks to stop.
    """

    tol: float = 1e-8
    max_iter: int = 20_000
    on_iteration: Callable[[Callable[[], S]], bool] = carry_on


@dataclass(frozen=True)
class Solver(Generic[F]):
    """An entry of a registry; families add what their solvers need or can do.

    Attributes
    ----------
    solve : callable
        (objective, settings) -> Result, or as the family says.
    name : str, default=""
        As users write it, or `solver_` shows it.
    summary : str, default=""
        How it works and what it is for, to follow its name in docstrings.
    """

    solve: F
    name: str = ""
    summary: str = ""


def registry(*solvers: Named) -> dict[str, Named]:
    """Solvers by name."""
    return {solver.name: solver for solver in solvers}


class Posterior(NamedTuple):
    r"""Posterior variances, at some points, of the Gaussian process of a fit.

    Attributes
    ----------
    variance : ndarray of shape (q,)
        Variances of the values of f.
    noise_variance : float
        :math:`\sigma^2`, the variance of a target of weight 1.
    """

    variance: Array
    noise_variance: float


class Covariance(NamedTuple):
    r"""Posterior covariance of the values on the points of a fit, in units of :math:`\sigma^2`.

    Attributes
    ----------
    values : ndarray of shape (n, q)
        Covariance of all n points with q of them.
    noise : float
        Variance of a target of weight 1.
    """

    values: Array
    noise: float


# Relative gradient up to which an exact solution may be called one.
_OPTIMAL = 1e-6


def verdict(status: Status, optimality: Array) -> Status:
    """The status of an exact solver, given how far from optimal its solution really is."""
    exact = bool(np.max(optimality, initial=0.0) <= _OPTIMAL)  # NaN is not
    return Status.PRECISION if status == Status.CONVERGED and not exact else status
