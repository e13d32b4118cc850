"""Semi-supervised SVMs: a method to a good basin, then down to the local minimum of its objective.

Every method starts from the supervised solution (the objective without the unlabelled term, with
the same balance), and ends with a descent on the objective itself, without smoothing, so that the
minima of different methods can be compared. Starts beyond the first are random; the lowest minimum
wins. One above the supervised solution is worse than having done nothing, and is not returned.

A method is a function (objective, start, settings, random) to a point near a minimum, in a `Method`
that says what it needs of the losses; a schedule, a function from the objective to its stages, is
made one by `scheduled`. One line in `METHODS` gives it a name; an object serves without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from lapwing._arrays import Array
from lapwing._host.threads import single_blas_thread
from lapwing.losses.base import Loss, UnlabeledLoss
from lapwing.losses.labeled import Hinge
from lapwing.losses.registry import same_loss, shown
from lapwing.losses.smoothed import smooth
from lapwing.objectives.low_density import Function, LowDensityObjective
from lapwing.solvers.base import Settings, Solver, Status, registry
from lapwing.solvers.low_density import schedules
from lapwing.solvers.low_density.cccp import (
    DOUBLINGS,
    RAMP,
    concave_convex,
    minimize,
    switch_labels,
)
from lapwing.solvers.low_density.lbfgs import Minimum

# Tolerance of the supervised start over that of the solution: where two basins meet, its error
# decides. It costs little, being about the labelled points alone.
_SHARP = 1e-2
_ROUGH = 1e-3  # of the SVMs inside the combinatorial methods: only signs are asked of them


@dataclass(frozen=True)
class LowDensityResult:
    """Outcome of a method.

    Attributes
    ----------
    minimum : Minimum
        What is returned: the lowest minimum, or the supervised solution below it.
    supervised : Minimum
        The supervised solution, with the whole objective there.
    objectives : ndarray of shape (n_init,)
        At the end of every start.
    improved : bool
        Whether a start ended no higher than the supervised solution, to the tolerance.
    """

    minimum: Minimum
    supervised: Minimum
    objectives: Array
    improved: bool


Run: TypeAlias = Callable[[LowDensityObjective, Function, Settings[Function], bool], Minimum]
"""(objective, start, settings, random): near a minimum; `random` says that the start is one."""


@dataclass(frozen=True)
class Method(Solver[Run]):
    """A way to a good basin, and what it needs of the losses.

    Attributes
    ----------
    solve : callable (objective, start, settings, random) -> Minimum
        To a point near a minimum; `random` says that the start is a random one.
    unlabeled_loss : str, default="gaussian"
        The one that ``unlabeled_loss='auto'`` stands for, a name in `UNLABELED_LOSSES`.
    labels_by : Loss or None, default=None
        Of a method that gives labels to the unlabelled points: the loss on them, where the loss
        on unlabelled scores does not say it (`UnlabeledLoss.label_loss`). The labelled points
        must have the same.
    smooths : bool, default=False
        Whether the loss on unlabelled scores must have `smoothed` and `bend`.
    """

    unlabeled_loss: str = "gaussian"
    labels_by: Loss | None = None
    smooths: bool = False


def scheduled(
    make: Callable[[LowDensityObjective], list[schedules.ScheduleStage]],
    *,
    kept: int = 1,
    supervised: bool = True,
) -> Run:
    """Make a schedule the function of a method.

    Parameters
    ----------
    make : callable (objective) -> list of Stage
    kept : int, default=1
        A random start goes through so many of the last stages only: the early ones have one
        minimum, and would lead every start there.
    supervised : bool, default=True
        Whether the first stage starts from the supervised solution, not from zero.

    Returns
    -------
    callable
        For `Method.solve`.
    """

    def run(
        objective: LowDensityObjective, start: Function, settings: Settings[Function], random: bool
    ) -> Minimum:
        stages = make(objective.in_single())  # they end long before its rounding
        if random:
            stages = stages[-kept:]
        # At the first smoothing there is one minimum (errata C11): any start will do.
        elif not supervised:
            start = objective.zero()
        return schedules.run_stages(stages, start, _no_sharper(settings, schedules.STAGE_TOL))

    return run


def _cccp(
    objective: LowDensityObjective, start: Function, settings: Settings[Function], random: bool
) -> Minimum:
    return concave_convex(objective, start, _no_sharper(settings, _ROUGH), ramp=RAMP)


def _switching(
    objective: LowDensityObjective, start: Function, settings: Settings[Function], random: bool
) -> Minimum:
    return switch_labels(
        objective,
        start,
        _no_sharper(settings, _ROUGH),
        n_positive=_n_positive(objective, start if random else None),
        # A tiny weight leaves the labels to the labelled points: every start would end alike.
        doublings=0 if random else DOUBLINGS,
    )


def _no_sharper(settings: Settings[Function], tol: float) -> Settings[Function]:
    return replace(settings, tol=max(tol, settings.tol))


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


METHODS = registry(
    Method(
        scheduled(schedules.continuation, kept=2, supervised=False),
        "continuation",
        "follows the minimum of the objective from a smoothing under which it is convex "
        "(Chapelle, Chi and Zien 2006): the lowest minima, and the least errors where every class "
        "is a cluster; far off where classes are not (it splits the largest principal component)",
        smooths=True,
    ),
    Method(
        scheduled(schedules.quasi_newton),
        "quasi-newton",
        "raises the unlabelled term in three steps on a differentiable loss (Gieseke, Airola, "
        "Pahikkala and Kramer 2012): the fastest",
    ),
    Method(
        scheduled(schedules.gradient),
        "gradient",
        "raises the unlabelled term in eleven steps from the supervised solution, on a slightly "
        "smoothed loss (Chapelle and Zien 2005): near the best of the others on every set tried",
    ),
    Method(
        _cccp,
        "cccp",
        "alternates between the signs of the ramp loss and a convex SVM (Collobert, Sinz, Weston "
        "and Bottou 2006)",
        unlabeled_loss="symmetric_hinge",
        labels_by=Hinge(),
    ),
    Method(
        _switching,
        "switching",
        "labels all points in a fixed class ratio and swaps labels (Joachims 1999)",
        unlabeled_loss="symmetric_hinge",
        labels_by=Hinge(),
    ),
)


def as_method(method: object) -> Method:
    """Turn what a user gives for ``method=`` into a method.

    Parameters
    ----------
    method : str or Method
        A name in `METHODS`, or an object.

    Returns
    -------
    Method

    Raises
    ------
    ValueError
        If there is no such name.
    """
    if isinstance(method, Method):
        return method
    if not isinstance(method, str) or method not in METHODS:
        known = ", ".join(map(repr, METHODS))
        raise ValueError(f"method={method!r} must be one of {known}, or a Method.")
    return METHODS[method]


def check_losses(method: Method | str, loss: Loss, unlabeled_loss: UnlabeledLoss) -> None:
    """Refuse losses that do not go with a method or with each other.

    Parameters
    ----------
    method : str or Method
    loss : Loss
    unlabeled_loss : UnlabeledLoss

    Raises
    ------
    ValueError
        Naming the parameters and what to change.
    """
    way, of_labels = as_method(method), unlabeled_loss.label_loss
    by = of_labels or way.labels_by
    if way.labels_by is not None and by is not None and not same_loss(loss, by):
        knows = by.name.replace("_", " ") if shown(by) == repr(by.name) else repr(by)
        raise ValueError(
            f"method={method!r} labels the unlabelled points and knows the {knows} only, not "
            f"loss={shown(loss)}. Use loss={shown(by)}, or another method."
        )
    if of_labels is not None and not same_loss(loss, of_labels):
        raise ValueError(
            f"unlabeled_loss={shown(unlabeled_loss)} goes with loss={shown(of_labels)}, not "
            f"loss={shown(loss)}: it is that loss of the nearer label. Use "
            f"loss={shown(of_labels)}, or unlabeled_loss='gaussian'."
        )
    if of_labels is None and not unlabeled_loss.kind.differentiable:
        raise ValueError(
            f"unlabeled_loss={shown(unlabeled_loss)} has kinks and does not say how to go down to "
            "a minimum at one: it must be a loss of the nearer label. Add label_loss, that loss; "
            "or use one without kinks."
        )
    if way.smooths:
        known = {"smoothed": unlabeled_loss.smoothed(1.0), "bend": unlabeled_loss.bend}
        missing = [name for name, found in known.items() if found is None]
        if missing:
            raise ValueError(
                f"method={method!r} follows the minimum from a smoothing under which the objective "
                f"is convex, and unlabeled_loss={shown(unlabeled_loss)} has no "
                f"{' and no '.join(missing)}. Add {'them' if missing[1:] else 'it'}, or use "
                "another method, such as 'gradient'."
            )


def local_minimum(
    objective: LowDensityObjective, start: Function, settings: Settings[Function]
) -> Minimum:
    """Down from a start to a local minimum of the objective itself, kinks and all."""
    if not objective.unlabeled_loss.kind.differentiable:
        return concave_convex(objective, start, settings, ramp=0.0)
    multipliers = _first_multipliers(objective, start)
    return minimize(objective, start, settings, multipliers=multipliers)


def _first_multipliers(objective: LowDensityObjective, start: Function) -> Array:
    """Multipliers near a start: the slopes of the losses as schedules leave them smoothed."""
    rounded = smooth(objective.loss, schedules.last_smoothing(objective) * objective.labeled_norms)
    scores = objective.labeled_values(start)
    return np.asarray(2 * objective.weights * rounded.derivative(objective.targets, scores))


# SciPy's recursions are many calls on vectors; large products have threads of their own.
@single_blas_thread()
def minimize_low_density(
    objective: LowDensityObjective,
    method: str | Method,
    settings: Settings[Function],
    *,
    n_init: int = 1,
    random: np.random.RandomState | None = None,
) -> LowDensityResult:
    """Minimise by a method, from one start or several.

    Parameters
    ----------
    objective : LowDensityObjective
    method : str or Method
        A name in `METHODS`, or an object.
    settings : Settings
    n_init : int, default=1
        Starts: the method's own, then random ones.
    random : RandomState, optional
        Of the random starts.
    """
    way = as_method(method)
    # The penalties of the last descents multiply the rounding of products: stages alone may be
    # descents in single precision.
    exact = objective.in_double()
    tol = settings.tol if _alone(exact) else _SHARP * settings.tol
    supervised = _supervised(exact, replace(settings, tol=tol))
    if _alone(exact) or supervised.status == Status.CALLBACK:
        return _unchanged(supervised)
    random = np.random.RandomState(0) if random is None else random
    found: list[Minimum] = []
    for number in range(n_init):
        start = supervised.state
        if number:
            start = _random_start(objective, start, random)
        near = way.solve(objective, start, settings, number > 0)
        if near.status == Status.CALLBACK:  # within a schedule its value is that of a stage
            found.append(replace(near, objective=exact.value(near.state)))
            break
        found.append(local_minimum(exact, near.state, settings).after(near))
        if found[-1].status == Status.CALLBACK:
            break
    best = min(found, key=lambda one: one.objective)
    ends = np.array([one.objective for one in found])
    if best.status == Status.CALLBACK:  # asked for as it is
        return LowDensityResult(best, supervised, ends, True)
    value = supervised.objective
    # The supervised solution may be the minimum itself, which rounding lets both sides find.
    # Margins off by tol cost tol times the weights.
    improved = best.objective <= value + settings.tol * (value + float(objective.weights.sum()))
    chosen = best if best.objective <= value else supervised
    return LowDensityResult(chosen, supervised, ends, improved)


def approach(
    objective: LowDensityObjective, method: str | Method, settings: Settings[Function]
) -> LowDensityResult:
    """Go near a minimum by a method, without the last descent: its signs are there.

    Parameters
    ----------
    objective : LowDensityObjective
    method : str or Method
        A name in `METHODS`, or an object.
    settings : Settings
    """
    with single_blas_thread():
        supervised = _supervised(objective, settings)
        if _alone(objective) or supervised.status == Status.CALLBACK:
            return _unchanged(supervised)
        near = as_method(method).solve(objective, supervised.state, settings, False)
        near = replace(near, objective=objective.value(near.state))  # not that of a stage
        return LowDensityResult(near, supervised, np.array([near.objective]), True)


def _supervised(objective: LowDensityObjective, settings: Settings[Function]) -> Minimum:
    """The supervised solution, as one of the whole objective."""
    found = minimize(objective.supervised(), objective.zero(), settings)
    return replace(found, objective=objective.value(found.state))


def _alone(objective: LowDensityObjective) -> bool:
    """Whether the unlabelled points weigh nothing."""
    return not objective.unlabeled_weights.any()


def _unchanged(supervised: Minimum) -> LowDensityResult:
    return LowDensityResult(supervised, supervised, np.array([supervised.objective]), True)


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
