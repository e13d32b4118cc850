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
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from lapwing._arrays import Array
from lapwing._host.threads import available_threads, share
from lapwing.classes.balance import Balance, balance
from lapwing.objectives.volumes import Scale, VolumeProblem, entropy, relative_entropy
from lapwing.solvers.graph.linear import (
    SOFTEST,
    first_codes,
    laplace,
    resolvent,
    scaled,
    temperature_of,
)
from lapwing.solvers.graph.partition import Descent, assigned

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
    """Summary of a descent whose shares are no longer needed.

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
    """Result of a descent.

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


SOFTNESS = (SOFTEST, 0.3)  # at the coarsest and at the finest scale
_MIDDLE_FROM = 2
_HELD_FROM = 3
_SAME = 1e-3  # part of the points: runs that differ in fewer end alike
_TRUST = 0.8  # in the volumes that were reached: a class may be hidden behind its neighbours

Credible = Callable[[Sequence[Array]], int]
"""Number of the partition (classes of all points) for which most speaks, first of equal ones."""


@dataclass(frozen=True, eq=False)
class Run:
    """Result of a run of descents, and the problem with the prior that it was for.

    Attributes
    ----------
    problem : VolumeProblem
    stages : list of Stage
        From coarse to fine.
    reached : Balanced
    traces : tuple of Trace
        Of all descents, and of what else took products with the graph.
    regrown : bool
        Whether a class was grown anew.
    """

    problem: VolumeProblem
    stages: list[Stage]
    reached: Balanced
    traces: tuple[Trace, ...]
    regrow: bool = False

    @property
    def codes(self) -> Array:
        """Classes of all points."""
        return np.asarray(assigned(self.problem, self.reached.scores).argmax(axis=1))

    def tried(self, found: Balanced, *, kept: bool) -> Run:
        """The same after another descent, there or where it was."""
        reached = found if kept else self.reached
        return replace(self, reached=reached, traces=(*self.traces, found.trace))

    def having_spent(self, n_iter: float) -> Run:
        """The same after other products with the graph."""
        return replace(self, traces=(*self.traces, Trace((), round(n_iter))))


def runs_of(problem: VolumeProblem, reach: Array, scales: Sequence[Scale]) -> list[Run]:
    """The descent at known volumes, or those for several volumes and from several starts.

    Parameters
    ----------
    problem : VolumeProblem
    reach : ndarray of shape (n, c)
        Of Poisson learning.
    scales : sequence of Scale
        From coarse to fine.
    """
    begun = first_codes(problem, reach)
    if problem.exact:
        return [_followed(scales, problem, begun, 0)]
    poisson = problem.with_prior(_drawn(problem, reach.argmax(axis=1)), exact=False)
    followed = partial(_followed, scales)
    jobs: list[Callable[[], list[Run]]] = [
        lambda: [followed(poisson, first_codes(poisson, reach), 0)],
        lambda: _from_harmonic(scales, problem),
        lambda: [followed(problem, begun, _MIDDLE_FROM)],
    ]
    return list(chain.from_iterable(side_by_side(problem, lambda job: job(), jobs)))


def _from_harmonic(scales: Sequence[Scale], problem: VolumeProblem) -> list[Run]:
    """From harmonic functions: at their own volumes where these say something, and evened.

    Volumes that may move leave those of harmonic functions for more equal ones, which cut less. So
    they are held as well, from a finer scale on: the partition stays, with a smoother boundary.
    """
    harmonic = laplace(problem)
    runs = []
    if several(problem):
        codes = harmonic.scores.argmax(axis=1)
        posed = problem.with_prior(_drawn(problem, codes), exact=False)
        runs.append(_followed(scales, posed, codes, 0))
        if len(problem.free):
            held = problem.with_prior(_found(problem, codes), exact=True)
            runs.append(_followed(scales, held, codes, _HELD_FROM))
    even = first_codes(problem, scaled(harmonic.scores - harmonic.scores.mean(axis=0)))
    run = _followed(scales, problem, even, _MIDDLE_FROM)
    return [*runs, run.having_spent(harmonic.n_iter)]


def best_runs(runs: Sequence[Run], credible: Credible, wanted: int) -> list[Run]:
    """At most so many that are believed most, in this order, each partition once."""
    left, found = list(runs), list[Run]()
    for _ in range(min(wanted, len(left))):
        run = left.pop(credible([run.codes for run in left]))
        if all((run.codes != other.codes).mean() > _SAME for other in found):
            found.append(run)
    return found


def several(problem: VolumeProblem) -> bool:
    """Whether a class has more than one label: harmonic functions of one are spikes there."""
    return bool((np.bincount(problem.codes) > 1).any())


def _drawn(problem: VolumeProblem, codes: Array) -> Array:
    """Volumes of the classes of a partition, drawn towards the prior."""
    found = problem.volumes(problem.whole(codes))
    return np.asarray(_TRUST * found + (1 - _TRUST) * problem.prior)


def _found(problem: VolumeProblem, codes: Array) -> Array:
    """Volumes of the classes of a partition, each with room for a point without a label."""
    free, sizes = problem.free, problem.sizes
    found = np.bincount(codes[free], sizes[free], problem.n_classes)
    parts = np.maximum(found, sizes.min())
    total = problem.known + parts * (sizes[free].sum() / parts.sum())
    return np.asarray(total / total.sum())


def _followed(scales: Sequence[Scale], problem: VolumeProblem, codes: Array, first: int) -> Run:
    stages = _stages(problem, scales)
    reached = descend(problem, problem.whole(codes), stages[first:], "flow")
    return Run(problem, stages, reached, (reached.trace,))


def _stages(problem: VolumeProblem, scales: Sequence[Scale]) -> list[Stage]:
    softness = np.geomspace(*SOFTNESS, len(scales))
    if problem.exact:
        softness = np.full(len(scales), np.inf)
    temperature = temperature_of(problem)
    return [
        Stage(scale, temperature, float(tau)) for scale, tau in zip(scales, softness, strict=True)
    ]
