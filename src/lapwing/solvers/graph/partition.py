"""Results of the methods that partition a graph into classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from lapwing._arrays import Array
from lapwing._host.threads import available_threads, share
from lapwing.classes.volumes import prior_offsets
from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.base import Result

T = TypeVar("T")

# Sizes n c of the shares between which jobs run in threads; a descent needs a dozen such arrays.
# For larger ones blocks of columns do (`by_columns`).
_SMALL, _LARGE = 25_000, 4_000_000
# Columns of a block. With 100,000 points a product takes 0.70 ms a column with 20 or 32 of them,
# 0.77 with 16, 1.00 with 14 and 0.82 with 100; the fewer columns, the less memory.
COLUMNS = 20


class PriorEvidence(NamedTuple):
    """Evidence of the graph and the labels against given volumes.

    Attributes
    ----------
    volumes : ndarray of shape (c,)
        Volumes of the partition with free volumes.
    nats : float
        Evidence for these minus that for the given ones (`lapwing.solvers.graph.evidence`).
    """

    volumes: Array
    nats: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Partition(Result[Array, float]):
    """Partition of the points, labelled ones included, into classes.

    Attributes
    ----------
    state : ndarray of shape (n, c)
        Scores; the largest score of a row gives the class.
    objective : float
        Final objective of the method.
    optimality : float
        Largest relative residual, or fraction of points whose class changed in the last step.
    n_iter : int
        Products with the graph.
    status : Status
    history : mapping of str to list of arrays of shape (1,)
        'objective', before each step and after the last one.
    shares : ndarray of shape (n, c)
        Class memberships; rows sum to 1. The largest one is that of the largest score, except for
        points with contradictory labels.
    prior_evidence : PriorEvidence or None
        Evidence against given volumes; None without given volumes, or if the method has none.
    left_out : ndarray of shape (c, c) or None
        Counts of left-out labels by true and predicted class; None if the method leaves out none.
    in_doubt : float
        Largest fraction of points whose class differs in another partition that is about as likely;
        0 if the method compares none.
    """

    shares: Array
    prior_evidence: PriorEvidence | None = None
    left_out: Array | None = None
    in_doubt: float = 0.0

    @cached_property
    def codes(self) -> Array:
        """Return the class of each point."""
        return np.asarray(self.state.argmax(axis=1))


def recorded(values: Iterable[float]) -> dict[str, list[Array]]:
    """Return the history of an objective."""
    return {"objective": [np.array([value]) for value in values]}


def label_shares(problem: VolumeProblem) -> Array:
    """Return the class proportions of the labels."""
    total = problem.weights @ problem.labels
    return np.asarray(total / total.sum())


def assigned(problem: VolumeProblem, scores: Array, *, exact: bool | None = None) -> Array:
    """Adjust scores so that labelled points keep their class, and known volumes are met.

    Parameters
    ----------
    problem : VolumeProblem
    scores : ndarray of shape (n, c)
    exact : bool, optional
        Whether to add an offset to each class so that the classes have the volumes of the prior; by
        default `problem.exact`.
    """
    found = scores.copy()
    free, index, sizes = problem.free, problem.index, problem.sizes
    if len(free) and (problem.exact if exact is None else exact):
        held = np.bincount(problem.codes, sizes[index], problem.n_classes)
        wanted = np.maximum(sizes.sum() * problem.prior - held, 0)
        if wanted.any():
            repeated = np.repeat(free, sizes[free].astype(np.intp))
            found += prior_offsets(found[repeated], wanted).offsets.astype(found.dtype)
    found[index] = found.min()
    found[index, problem.codes] = found.max() + 1
    return np.asarray(found)


def soft_shares(problem: VolumeProblem, scores: Array, temperature: float) -> Array:
    """Compute the softmax of scores over a temperature, and set the shares of labelled points."""
    shares = scores - scores.max(axis=1, keepdims=True)
    shares /= shares.dtype.type(temperature)
    # Shares of a class do not underflow, also not in quotients.
    np.maximum(shares, np.log(np.finfo(shares.dtype).tiny) / 2, out=shares)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=1, keepdims=True)
    return _with_labels(problem, shares)


def positive_shares(problem: VolumeProblem, scores: Array) -> Array:
    """Normalise scores, approximately in [0, 1], to shares, and set those of labelled points."""
    # The root of the smallest number, so that quotients do not underflow.
    positive = np.maximum(scores, np.sqrt(np.finfo(problem.graph.dtype).tiny))
    return _with_labels(problem, positive / positive.sum(axis=1, keepdims=True))


def _with_labels(problem: VolumeProblem, shares: Array) -> Array:
    shares = shares.astype(problem.graph.dtype, copy=False)
    shares[problem.index] = problem.labels
    return shares


def side_by_side(problem: VolumeProblem, jobs: Sequence[Callable[[], T]]) -> list[T]:
    """Run independent jobs in threads.

    One thread is used for few points, as the interpreter takes most of the time, and for so many
    that the arrays of one descent fill the memory.
    """
    return share(n_side_by_side(problem.n_points * problem.n_classes), lambda job: job(), jobs)


def n_side_by_side(entries: int) -> int:
    """Return the number of threads for jobs with this number of points times classes."""
    return available_threads() if _SMALL <= entries <= _LARGE else 1


def by_columns(n: int, c: int, work: Callable[[slice], T]) -> list[T]:
    """Apply a function to blocks of columns, for arrays too large for `side_by_side` in threads.

    Temporary arrays are then those of a few columns, and rows of a block that are near each other
    remain in the cache. Smaller arrays are one block.

    Parameters
    ----------
    n, c : int
        Rows and columns.
    work : callable
        Called with slices of the columns.
    """
    if n * c <= _LARGE:
        return [work(slice(0, c))]
    blocks = [slice(first, min(first + COLUMNS, c)) for first in range(0, c, COLUMNS)]
    return share(available_threads(), work, blocks)


def fraction_at_once(n: int, c: int) -> float:
    """Return the fraction of the columns that threads work on at a time in `by_columns`."""
    return min(1.0, available_threads() * COLUMNS / c) if n * c > _LARGE else 1.0
