"""Results of the methods that partition a graph into classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from lapwing._arrays import Array
from lapwing._host.threads import available_threads, share
from lapwing.classes.volumes import prior_offsets
from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.base import Status

T = TypeVar("T")

# Entries of the shares, of which a descent takes a dozen such arrays. Beyond, threads share every
# product with the graph instead (`lapwing.graphs.laplacian.sparse_product`).
_SMALL, _LARGE = 25_000, 4_000_000


@dataclass(frozen=True, eq=False)
class Descent:
    """A descent of one objective: values are compared within it only.

    Attributes
    ----------
    name : str
        Of the stage.
    s, contrast : float
        Of its scale; NaN where the method has none.
    temperature, softness : float
        Of its balance; NaN where the method has none.
    objective : tuple of float
        Before every step and after the last one.
    """

    name: str
    objective: tuple[float, ...]
    s: float = float("nan")
    contrast: float = float("nan")
    temperature: float = float("nan")
    softness: float = float("nan")


class PriorEvidence(NamedTuple):
    """Evidence of the graph and the labels about volumes that were given.

    Attributes
    ----------
    volumes : ndarray of shape (c,)
        Of the classes where they are left free.
    nats : float
        How much more speaks for these (`lapwing.solvers.graph.evidence`).
    """

    volumes: Array
    nats: float


@dataclass(frozen=True, eq=False)
class Partition:
    """Points parted into classes.

    Attributes
    ----------
    scores : ndarray of shape (n, c)
        The largest of a row elects the class; labelled points are among them.
    shares : ndarray of shape (n, c)
        Rows that sum to 1; the largest is that of the scores, but for labels that contradict each
        other.
    objective : float
        Of the method, at the end.
    history : tuple of Descent
    n_iter : int
        Products with the graph.
    status : Status
    optimality : float
        Largest relative residual or part of the points that still changed.
    prior_evidence : PriorEvidence or None
        About volumes that were given; None where there are none, or the method does not tell.
    left_out : ndarray of shape (c, c) or None
        Labels that were left out, by their class and the one that the others gave them; None where
        the method does not ask.
    in_doubt : float
        Largest part of the points whose class differs in another answer that is about as likely; 0
        where the method compares none.
    """

    scores: Array
    shares: Array
    objective: float
    history: tuple[Descent, ...]
    n_iter: int
    status: Status
    optimality: float
    prior_evidence: PriorEvidence | None = None
    left_out: Array | None = None
    in_doubt: float = 0.0

    @cached_property
    def codes(self) -> Array:
        """Class of each point, labelled ones among them."""
        return np.asarray(self.scores.argmax(axis=1))


def label_shares(problem: VolumeProblem) -> Array:
    """Shares of the classes among the labels."""
    total = problem.weights @ problem.labels
    return np.asarray(total / total.sum())


def assigned(problem: VolumeProblem, scores: Array, *, exact: bool | None = None) -> Array:
    """Scores by which labelled points keep their class, and known volumes are met.

    Parameters
    ----------
    problem : VolumeProblem
    scores : ndarray of shape (n, c)
    exact : bool, optional
        Whether offsets a class are added that give every class the points of its prior; where the
        problem says that it is known, by default.
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
    """Softmax of scores over a temperature, labels as they are."""
    shares = scores - scores.max(axis=1, keepdims=True)
    shares /= shares.dtype.type(temperature)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=1, keepdims=True)
    shares = shares.astype(problem.graph.dtype, copy=False)
    shares[problem.index] = problem.labels
    return np.asarray(shares)


def positive_shares(problem: VolumeProblem, scores: Array) -> Array:
    """Scores about 0 to 1 as shares, labels as they are."""
    # The root, as a share of a sum must not underflow.
    positive = np.maximum(scores, np.sqrt(np.finfo(problem.graph.dtype).tiny))
    shares = positive / positive.sum(axis=1, keepdims=True)
    shares = shares.astype(problem.graph.dtype, copy=False)
    shares[problem.index] = problem.labels
    return np.asarray(shares)


def side_by_side(problem: VolumeProblem, jobs: Sequence[Callable[[], T]]) -> list[T]:
    """Run independent jobs in threads.

    In one thread for few points, as the interpreter takes most of the time, and for so many that
    the arrays of one descent fill the memory.
    """
    return share(n_side_by_side(problem.n_points * problem.n_classes), lambda job: job(), jobs)


def n_side_by_side(entries: int) -> int:
    """Return the number of threads for jobs on so many points times classes."""
    return available_threads() if _SMALL <= entries <= _LARGE else 1
