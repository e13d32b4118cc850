"""Descents of one problem for several volumes and from several starts, and which to believe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np

from lapwing._arrays import Array
from lapwing.objectives.volumes import Scale, VolumeProblem
from lapwing.solvers.graph.descent import Balanced, Stage, Trace, descend, side_by_side
from lapwing.solvers.graph.laplace import laplace
from lapwing.solvers.graph.partition import assigned
from lapwing.solvers.graph.start import SOFTEST, first_codes, scaled, temperature_of

SOFTNESS = (SOFTEST, 0.3)  # at the coarsest and at the finest scale
_MIDDLE_FROM = 2
_HELD_FROM = 3
_SAME = 1e-3  # part of the points: courses that differ in fewer end alike
_TRUST = 0.8  # in the volumes that were reached: a class may be hidden behind its neighbours

Credible = Callable[[Sequence[Array]], int]
"""Number of the partition (classes of all points) for which most speaks, first of equal ones."""


@dataclass(frozen=True, eq=False)
class Course:
    """Where descents have come to, and the problem with the prior that they were for.

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
    regrown: bool = False

    @property
    def codes(self) -> Array:
        """Classes of all points."""
        return np.asarray(assigned(self.problem, self.reached.scores).argmax(axis=1))

    def tried(self, found: Balanced, *, kept: bool) -> Course:
        """The same after another descent, there or where it was."""
        reached = found if kept else self.reached
        return replace(self, reached=reached, traces=(*self.traces, found.trace))

    def having_spent(self, n_iter: float) -> Course:
        """The same after other products with the graph."""
        return replace(self, traces=(*self.traces, Trace((), round(n_iter))))


def courses_of(problem: VolumeProblem, reach: Array, scales: Sequence[Scale]) -> list[Course]:
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
    jobs: list[Callable[[], list[Course]]] = [
        lambda: [followed(poisson, first_codes(poisson, reach), 0)],
        lambda: _from_harmonic(scales, problem),
        lambda: [followed(problem, begun, _MIDDLE_FROM)],
    ]
    return list(chain.from_iterable(side_by_side(problem, lambda job: job(), jobs)))


def _from_harmonic(scales: Sequence[Scale], problem: VolumeProblem) -> list[Course]:
    """From harmonic functions: at their own volumes where these say something, and evened.

    Volumes that may move leave those of harmonic functions for more equal ones, which cut less. So
    they are held as well, from a finer scale on: the partition stays, with a smoother boundary.
    """
    harmonic = laplace(problem)
    courses = []
    if several(problem):
        codes = harmonic.scores.argmax(axis=1)
        posed = problem.with_prior(_drawn(problem, codes), exact=False)
        courses.append(_followed(scales, posed, codes, 0))
        if len(problem.free):
            held = problem.with_prior(_found(problem, codes), exact=True)
            courses.append(_followed(scales, held, codes, _HELD_FROM))
    even = first_codes(problem, scaled(harmonic.scores - harmonic.scores.mean(axis=0)))
    course = _followed(scales, problem, even, _MIDDLE_FROM)
    return [*courses, course.having_spent(harmonic.n_iter)]


def best_courses(courses: Sequence[Course], credible: Credible, wanted: int) -> list[Course]:
    """At most so many that are believed most, in this order, each partition once."""
    left, found = list(courses), list[Course]()
    for _ in range(min(wanted, len(left))):
        course = left.pop(credible([course.codes for course in left]))
        if all((course.codes != other.codes).mean() > _SAME for other in found):
            found.append(course)
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


def _followed(scales: Sequence[Scale], problem: VolumeProblem, codes: Array, first: int) -> Course:
    stages = _stages(problem, scales)
    reached = descend(problem, problem.whole(codes), stages[first:], "flow")
    return Course(problem, stages, reached, (reached.trace,))


def _stages(problem: VolumeProblem, scales: Sequence[Scale]) -> list[Stage]:
    softness = np.geomspace(*SOFTNESS, len(scales))
    if problem.exact:
        softness = np.full(len(scales), np.inf)
    temperature = temperature_of(problem)
    return [
        Stage(scale, temperature, float(tau)) for scale, tau in zip(scales, softness, strict=True)
    ]
