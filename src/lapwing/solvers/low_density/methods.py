"""Semi-supervised SVMs: a method to a good basin, then down to the local minimum of its objective.

Every method starts from the supervised solution (the objective without the unlabelled term, with
the same balance), and ends with a descent on the objective itself, without smoothing, so that the
minima of different methods can be compared. Starts beyond the first are random; the lowest minimum
wins. One above the supervised solution is worse than having done nothing, and is not returned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from lapwing._arrays import Array
from lapwing._host.threads import single_blas_thread
from lapwing.losses.smoothed import smooth_step
from lapwing.objectives.low_density import Function, LowDensityObjective
from lapwing.solvers.base import Status
from lapwing.solvers.low_density import schedules
from lapwing.solvers.low_density.cccp import RAMP, concave_convex
from lapwing.solvers.low_density.lbfgs import Minimum, OnStep
from lapwing.solvers.low_density.multipliers import minimize
from lapwing.solvers.low_density.switching import DOUBLINGS, switch_labels

__all__ = ["METHODS", "LowDensityResult", "Settings", "local_minimum", "minimize_low_density"]

# Tolerance of the supervised start over that of the solution: where two basins meet, its error
# decides. It costs little, being about the labelled points alone.
_SHARP = 1e-2
_ROUGH = 1e-3  # of the SVMs inside the combinatorial methods: only signs are asked of them


class Settings(NamedTuple):
    """What all methods are told."""

    tol: float
    max_iter: int
    on_step: OnStep | None = None


@dataclass(frozen=True)
class LowDensityResult:
    """Outcome of a method.

    Attributes
    ----------
    minimum : Minimum
        What is returned: the lowest minimum, or the supervised solution below it.
    supervised : Minimum
        The supervised solution.
    supervised_value : float
        Of the whole objective there.
    values : ndarray of shape (n_init,)
        Of the objective at the end of every start.
    improved : bool
        Whether a start ended no higher than the supervised solution, to the tolerance.
    """

    minimum: Minimum
    supervised: Minimum
    supervised_value: float
    values: Array
    improved: bool


Method: TypeAlias = Callable[[LowDensityObjective, Function, Settings, bool], Minimum]
"""(objective, start, settings, random): near a minimum; `random` says that the start is one."""


def _schedule(
    make: Callable[[LowDensityObjective], list[schedules.Stage]], *, kept: int, supervised: bool
) -> Method:
    """A schedule as a method.

    A random start goes through the last `kept` stages only: the early ones have one minimum, and
    would lead every start there.
    """

    def method(
        objective: LowDensityObjective, start: Function, settings: Settings, random: bool
    ) -> Minimum:
        stages = make(objective)
        if random:
            stages = stages[-kept:]
        elif not supervised:
            start = objective.zero()
        return schedules.run_stages(
            stages, start, max_iter=settings.max_iter, on_step=settings.on_step
        )

    return method


def _cccp(
    objective: LowDensityObjective, start: Function, settings: Settings, random: bool
) -> Minimum:
    return concave_convex(
        objective,
        start,
        ramp=RAMP,
        tol=max(_ROUGH, settings.tol),
        max_iter=settings.max_iter,
        on_step=settings.on_step,
    )


def _switching(
    objective: LowDensityObjective, start: Function, settings: Settings, random: bool
) -> Minimum:
    return switch_labels(
        objective,
        start,
        n_positive=_n_positive(objective, start if random else None),
        tol=max(_ROUGH, settings.tol),
        max_iter=settings.max_iter,
        # A tiny weight leaves the labels to the labelled points: every start would end alike.
        doublings=0 if random else DOUBLINGS,
        on_step=settings.on_step,
    )


def _n_positive(objective: LowDensityObjective, start: Function | None) -> int:
    """Unlabelled points to make positive: the ratio of a fixed bias, or of the labels.

    A random start brings its own: the objective knows no ratio, and the minimum's may be another.
    """
    u = len(objective.unlabeled)
    if start is None:
        lower, upper = objective.bias
        weights = objective.weights
        mean = float(weights @ objective.targets / weights.sum())
        wanted = round(u * (1 + min(max(mean, lower), upper)) / 2)
    else:
        wanted = int(np.count_nonzero(objective.values(start)[objective.unlabeled] >= 0))
    return int(np.clip(wanted, min(1, u - 1), max(1, u - 1)))


METHODS: dict[str, Method] = {
    "continuation": _schedule(schedules.continuation, kept=2, supervised=False),
    "quasi-newton": _schedule(schedules.quasi_newton, kept=1, supervised=True),
    "gradient": _schedule(schedules.gradient, kept=1, supervised=True),
    "cccp": _cccp,
    "switching": _switching,
}


def local_minimum(objective: LowDensityObjective, start: Function, settings: Settings) -> Minimum:
    """Down from a start to a local minimum of the objective itself, kinks and all."""
    if objective.unlabeled_loss.name == "symmetric_hinge":
        return concave_convex(
            objective,
            start,
            ramp=0.0,
            tol=settings.tol,
            max_iter=settings.max_iter,
            on_step=settings.on_step,
        )
    return minimize(
        objective,
        start,
        tol=settings.tol,
        max_iter=settings.max_iter,
        multipliers=_first_multipliers(objective, start),
        on_step=settings.on_step,
    )


def _first_multipliers(objective: LowDensityObjective, start: Function) -> Array:
    """Dual variables near a start: the slopes of the hinge as schedules leave it smoothed."""
    variances = schedules.last_smoothing(objective) * objective.features.squared_norms
    scores = objective.values(start)[objective.index]
    slopes = smooth_step(1 - objective.targets * scores, variances[objective.index])
    return np.asarray(objective.weights * slopes)


def minimize_low_density(
    objective: LowDensityObjective,
    method: str,
    settings: Settings,
    *,
    n_init: int = 1,
    random: np.random.RandomState | None = None,
) -> LowDensityResult:
    """Minimise by a method, from one start or several.

    Parameters
    ----------
    objective : LowDensityObjective
    method : str
        One of `METHODS`.
    settings : Settings
    n_init : int, default=1
        Starts: the method's own, then random ones.
    random : RandomState, optional
        Of the random starts.
    """
    # SciPy's recursions are many calls on vectors; large products have threads of their own.
    with single_blas_thread():
        return _minimize(objective, method, settings, n_init, random)


def _minimize(
    objective: LowDensityObjective,
    method: str,
    settings: Settings,
    n_init: int,
    random: np.random.RandomState | None,
) -> LowDensityResult:
    alone = not objective.unlabeled_weights.any()
    supervised = minimize(
        objective.supervised(),
        objective.zero(),
        tol=settings.tol if alone else _SHARP * settings.tol,
        max_iter=settings.max_iter,
        on_step=settings.on_step,
    )
    value = objective.value(supervised.function)
    if alone:
        return LowDensityResult(supervised, supervised, value, np.array([value]), True)
    if supervised.status == Status.CALLBACK:
        stopped = replace(supervised, value=value)
        return LowDensityResult(stopped, supervised, value, np.array([value]), True)
    random = np.random.RandomState(0) if random is None else random
    best, values = None, []
    for number in range(n_init):
        start = supervised.function
        if number:
            start = _random_start(objective, supervised.function, random)
        near = METHODS[method](objective, start, settings, number > 0)
        if near.status == Status.CALLBACK:  # within a schedule its value is that of a stage
            found = replace(near, value=objective.value(near.function))
        else:
            found = local_minimum(objective, near.function, settings).after(near)
        values.append(found.value)
        best = found if best is None or found.value < best.value else best
        if found.status == Status.CALLBACK:
            break
    assert best is not None
    if best.status == Status.CALLBACK:  # asked for as it is
        return LowDensityResult(best, supervised, value, np.array(values), True)
    chosen = best if best.value <= value else replace(supervised, value=value)
    # The supervised solution may be the minimum itself, which rounding lets both sides find.
    # Margins off by tol cost tol times the weights.
    improved = best.value <= value + settings.tol * (value + float(objective.weights.sum()))
    return LowDensityResult(chosen, supervised, value, np.array(values), improved)


def _random_start(
    objective: LowDensityObjective, supervised: Function, random: np.random.RandomState
) -> Function:
    """The supervised solution plus a random function of unit deviation on the unlabelled points.

    A sum of kernels at the unlabelled points with random signs: like them it varies along the
    directions in which the points do, which is where the minima differ.
    """
    signs = np.zeros(objective.features.n_points)
    signs[objective.unlabeled] = random.choice([-1.0, 1.0], size=len(objective.unlabeled))
    w = objective.features.represent(signs)
    deviation = float(np.std(objective.features.values(w)[objective.unlabeled]))
    w = w / deviation if deviation > 0 else w
    return Function(supervised.coef + w, supervised.intercept)
