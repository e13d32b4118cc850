"""Descents of one problem for several volumes and from several starts, and which to believe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lapwing._arrays import Array
from lapwing.objectives.volumes import Scale, VolumeProblem
from lapwing.solvers.graph.descent import Balanced, Stage, Trace, descend
from lapwing.solvers.graph.laplace import laplace
from lapwing.solvers.graph.partition import assigned
from lapwing.solvers.graph.start import SOFTEST, first_codes, scaled, temperature_of

__all__ = ["SOFTNESS", "Course", "Credible", "best_courses", "courses_of", "several"]

SOFTNESS = (SOFTEST, 0.3)  # at the coarsest and at the finest scale
_MIDDLE_FROM = 2
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
        return [_followed(problem, begun, scales)]
    harmonic = laplace(problem)
    poisson = problem.with_prior(_drawn(problem, reach.argmax(axis=1)), exact=False)
    courses = [
        _followed(problem, begun, scales),
        _followed(poisson, first_codes(poisson, reach), scales),
    ]
    if several(problem):
        codes = harmonic.scores.argmax(axis=1)
        posed = problem.with_prior(_drawn(problem, codes), exact=False)
        courses.append(_followed(posed, codes, scales))
    even = first_codes(problem, scaled(harmonic.scores - harmonic.scores.mean(axis=0)))
    courses += [_followed(problem, codes, scales, _MIDDLE_FROM) for codes in (begun, even)]
    courses[-1] = courses[-1].having_spent(harmonic.n_iter)
    return courses


def best_courses(courses: Sequence[Course], credible: Credible, wanted: int) -> list[Course]:
    """So many that are believed most, in this order; all that are given if they are fewer."""
    left, found = list(courses), list[Course]()
    while left and len(found) < wanted:
        found.append(left.pop(credible([course.codes for course in left])))
    return found


def several(problem: VolumeProblem) -> bool:
    """Whether a class has more than one label: harmonic functions of one are spikes there."""
    return bool((np.bincount(problem.codes) > 1).any())


def _drawn(problem: VolumeProblem, codes: Array) -> Array:
    """Volumes of the classes of a partition, drawn towards the prior."""
    found = problem.volumes(problem.whole(codes))
    return np.asarray(_TRUST * found + (1 - _TRUST) * problem.prior)


def _followed(
    problem: VolumeProblem, codes: Array, scales: Sequence[Scale], first: int = 0
) -> Course:
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
