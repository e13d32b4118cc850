"""Results of solvers, of every family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from lapwing._arrays import Array

S = TypeVar("S", covariant=True)


class Status(StrEnum):
    """Why a solver stopped."""

    CONVERGED = "converged"
    PRECISION = "precision reached"  # no more digits in the arithmetic of the input
    EARLY = "stopped early"  # by a rule on the predictions
    CALLBACK = "stopped by a callback"
    MAX_ITER = "not converged"


@dataclass(frozen=True)
class Result(Generic[S]):
    """Outcome of a solver.

    Attributes
    ----------
    state
        The solution, all columns, in the coefficients of the family.
    n_iter : int
        Iterations done; the largest over the columns.
    status : Status
    optimality : array of shape (c,)
        How far from optimal, relative: the norm of the gradient in the metric of the function
        space over its norm at zero; the residual of linear equations; the duality gap over the
        objective.
    history : mapping of str to list of arrays of shape (c,)
        What was recorded an iteration; NaN for columns that had finished.
    """

    state: S
    n_iter: int
    status: Status
    optimality: Array
    history: Mapping[str, list[Array]] = field(default_factory=dict)


@dataclass(frozen=True)
class Iteration(Generic[S]):
    """State of a solver after an iteration; `state` is computed only when asked for."""

    number: int
    state: Callable[[], S]


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
