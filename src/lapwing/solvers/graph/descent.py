r"""Descent of the energy of shares while its scale becomes finer.

At every scale, shares are smoothed and the classes balanced, in turn:

.. math:: F = \mathrm{resolvent}(Q, s) / c, \qquad Q = \mathrm{balance}(F, T, \tau),

the labels' shares held. The second puts Q where the energy, linearised at the first, is least, so
that J falls (`lapwing.objectives.volumes`); a step that does not lower it ends the scale and is not
taken. The coarse scales see the large structure and few minima, the fine ones the edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from lapwing._arrays import Array
from lapwing._host.threads import available_threads, share
from lapwing.classes.balance import Balance, balance
from lapwing.objectives.volumes import Scale, VolumeProblem, entropy, relative_entropy
from lapwing.solvers.graph.partition import Descent
from lapwing.solvers.graph.resolvent import resolvent

T = TypeVar("T")

_STEPS = 5  # at one scale: what is left to gain, the next scale finds as well
_STILL = 1e-3  # part of the shares
_VOLUMES = 1e-7  # tolerance of a balance
# Entries of the shares, of which a descent takes a dozen such arrays. Beyond, threads share every
# product with the graph instead (`lapwing.graphs.laplacian.sparse_product`).
_SMALL, _LARGE = 25_000, 4_000_000


@dataclass(frozen=True, eq=False)
class Stage:
    """One objective of a descent.

    Attributes
    ----------
    scale : Scale
    temperature : float
    softness : float
    """

    scale: Scale
    temperature: float
    softness: float


@dataclass(frozen=True, eq=False)
class Trace:
    """What is left to tell of a descent when its shares are not needed any more.

    Attributes
    ----------
    history : tuple of Descent
    n_iter : int
        Products with the graph.
    """

    history: tuple[Descent, ...]
    n_iter: int


@dataclass(frozen=True, eq=False)
class Balanced:
    """Where a descent has come to.

    Attributes
    ----------
    shares : ndarray of shape (n, c)
        Q.
    scores : ndarray of shape (n, c)
        The resolvent of Q over the contrast, plus the offsets that balance the classes.
    offsets : ndarray of shape (c,)
        Those in the scores.
    objective, energy : float
        J of the last stage at Q, and its first term alone.
    history : tuple of Descent
    n_iter : int
        Products with the graph.
    change : float
        Part of the shares that the last step moved.
    """

    shares: Array
    scores: Array
    offsets: Array
    objective: float
    energy: float
    history: tuple[Descent, ...]
    n_iter: int
    change: float

    @property
    def trace(self) -> Trace:
        return Trace(self.history, self.n_iter)


def descend(problem: VolumeProblem, shares: Array, stages: Sequence[Stage], name: str) -> Balanced:
    """Follow the minimum of J from stage to stage.

    Parameters
    ----------
    problem : VolumeProblem
    shares : ndarray of shape (n, c)
        To begin with.
    stages : sequence of Stage
        At least one.
    name : str
        What the history calls them.
    """
    point, offsets = _Point(shares), np.zeros(problem.n_classes)
    history = []
    for stage in stages:
        point, offsets, values = _settle(problem, point, offsets, stage)
        history.append(Descent(name, values, *stage.scale, stage.temperature, stage.softness))
    found, scores = _balanced(problem, point, offsets, stages[-1])
    return Balanced(
        point.shares,
        scores + found.offsets.astype(scores.dtype),
        found.offsets,
        values[-1],
        point.energy,
        tuple(history),
        point.n_iter,
        point.change,
    )


def side_by_side(
    problem: VolumeProblem, work: Callable[..., T], *arguments: Iterable[Any]
) -> list[T]:
    """Results of work that descends by itself, as `map` has them; threads share it.

    Not of few points, where the interpreter is most of the time, nor of so many that the arrays of
    one descent fill the memory.

    Parameters
    ----------
    problem : VolumeProblem
    work : callable
    *arguments : iterables
    """
    return share(n_side_by_side(problem.n_points * problem.n_classes), work, *arguments)


def n_side_by_side(entries: int) -> int:
    """Threads that share the descents of a problem, of so many points times classes."""
    return available_threads() if _SMALL <= entries <= _LARGE else 1


@dataclass(frozen=True, eq=False)
class _Point:
    shares: Array
    fitted: Array | None = None  # their resolvent
    value: float = np.inf
    energy: float = np.inf
    n_iter: int = 0
    change: float = 1.0


def _settle(
    problem: VolumeProblem, point: _Point, offsets: Array, stage: Stage
) -> tuple[_Point, Array, tuple[float, ...]]:
    """Steps at one stage, and J before each and after the last."""
    point = _evaluated(problem, point, stage)
    values = [point.value]
    for _ in range(_STEPS):
        following, offsets = _stepped(problem, point, offsets, stage)
        following = _evaluated(problem, following, stage)
        if not following.value < point.value:
            return replace(point, n_iter=following.n_iter, change=0.0), offsets, tuple(values)
        point = following
        values.append(point.value)
        if point.change < _STILL:
            break
    return point, offsets, tuple(values)


def _evaluated(problem: VolumeProblem, point: _Point, stage: Stage) -> _Point:
    """With the resolvent of the shares and J."""
    Q, masses = point.shares, problem.sizes
    found = resolvent(problem, Q, stage.scale.s, start=point.fitted)
    energy = problem.energy(Q, found.x, found.residual) / stage.scale.contrast
    value = energy - stage.temperature * float(masses @ entropy(Q)) / float(masses.sum())
    if np.isfinite(stage.softness):
        value += stage.softness * relative_entropy(problem.volumes(Q), problem.prior)
    n_iter = point.n_iter + found.n_iter
    return replace(point, fitted=found.x, value=value, energy=energy, n_iter=n_iter)


def _stepped(
    problem: VolumeProblem, point: _Point, offsets: Array, stage: Stage
) -> tuple[_Point, Array]:
    """The shares that the resolvent leads to, and the offsets that balance them."""
    found, _ = _balanced(problem, point, offsets, stage)
    Q, sizes = np.empty_like(point.shares), problem.sizes
    Q[problem.free], Q[problem.index] = found.shares, problem.labels
    change = float(sizes @ np.abs(Q - point.shares).sum(axis=1)) / (2 * float(sizes.sum()))
    return replace(point, shares=Q, change=change), found.offsets


def _balanced(
    problem: VolumeProblem, point: _Point, offsets: Array, stage: Stage
) -> tuple[Balance, Array]:
    """Balance of the points without a label, and the values of all that it balances."""
    assert point.fitted is not None
    free = problem.free
    values = point.fitted / np.float32(stage.scale.contrast)
    found = balance(
        values[free],
        problem.prior,
        stage.temperature,
        stage.softness,
        masses=problem.sizes[free],
        known=problem.known,
        start=offsets,
        tol=_VOLUMES,
    )
    return found, values
