"""Methods of semi-supervised SVMs: find a good basin, then its local minimum.

Every method starts from the supervised solution (the objective without the unlabelled term, with
the same balance), and ends with a descent on the objective itself, without smoothing, so that the
minima of different methods can be compared. Further starts are random; the lowest minimum is
returned, or the supervised solution if all minima are above it.

A `Method` has a function (objective, start, settings, random) that returns a point near a minimum,
and requirements on the losses. `scheduled` returns such a function for a schedule, which maps an
objective to stages. An entry in `METHODS` gives a method a name, but methods can be used without.
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

# Ratio of the tolerances of the supervised start and of the solution: near the border of two basins
# the error of the start decides between them. This costs little, with labelled points only.
_START_TOL = 1e-2
_SVM_TOL = 1e-3  # of the SVMs inside the combinatorial methods, which use their signs only


@dataclass(frozen=True)
class LowDensityResult:
    """Result of a method.

    Attributes
    ----------
    minimum : Minimum
        The lowest minimum, or the supervised solution if that is lower.
    supervised : Minimum
        The supervised solution, with the value of the whole objective.
    objectives : ndarray of shape (n_init,)
        Value of the objective at the end of each start.
    improved : bool
        Whether the best start is not above the supervised solution, up to the tolerance.
    """

    minimum: Minimum
    supervised: Minimum
    objectives: Array
    improved: bool


Run: TypeAlias = Callable[[LowDensityObjective, Function, Settings[Function], bool], Minimum]
"""Function (objective, start, settings, random) that returns a point near a minimum.

`random` is True for random starts.
"""


@dataclass(frozen=True)
class Method(Solver[Run]):
    """Method to find a good basin, and its requirements on the losses.

    Attributes
    ----------
    solve : callable (objective, start, settings, random) -> Minimum
        Returns a point near a minimum; `random` is True for random starts.
    unlabeled_loss : str, default="gaussian"
        Loss for ``unlabeled_loss='auto'``, a name in `UNLABELED_LOSSES`.
    labels_by : Loss or None, default=None
        Loss for the labels that the method assigns to unlabelled points, if the unlabelled loss
        does not define it (`UnlabeledLoss.label_loss`). The labelled points must have the same
        loss.
    smooths : bool, default=False
        Whether the unlabelled loss must have the methods `smoothed` and `bend`.
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
    """Return the function of a method that runs the stages of a schedule.

    Parameters
    ----------
    make : callable (objective) -> list of ScheduleStage
    kept : int, default=1
        Number of final stages that are run from random starts. The objectives of early stages have
        one minimum, in which all starts would end.
    supervised : bool, default=True
        Whether the first stage starts from the supervised solution instead of zero.

    Returns
    -------
    callable
        Function for `Method.solve`.
    """

    def run(
        objective: LowDensityObjective, start: Function, settings: Settings[Function], random: bool
    ) -> Minimum:
        stages = make(objective.in_single())  # their tolerance is far above its rounding error
        if random:
            stages = stages[-kept:]
        # The first objective has one minimum (errata C11).
        elif not supervised:
            start = objective.zero()
        return schedules.run_stages(stages, start, _at_least(settings, schedules.STAGE_TOL))

    return run


def _cccp(
    objective: LowDensityObjective, start: Function, settings: Settings[Function], random: bool
) -> Minimum:
    return concave_convex(objective, start, _at_least(settings, _SVM_TOL), ramp=RAMP)


def _switching(
    objective: LowDensityObjective, start: Function, settings: Settings[Function], random: bool
) -> Minimum:
    return switch_labels(
        objective,
        start,
        _at_least(settings, _SVM_TOL),
        n_positive=_n_positive(objective, start if random else None),
        # With a small weight the labelled points would determine the same solution for all starts.
        doublings=0 if random else DOUBLINGS,
    )


def _at_least(settings: Settings[Function], tol: float) -> Settings[Function]:
    return replace(settings, tol=max(tol, settings.tol))


def _n_positive(objective: LowDensityObjective, start: Function | None) -> int:
    """Return the number of positive unlabelled points, by a fixed bias or by the labels.

    For a random start it is the number at the start, so that other ratios are tried.
    """
    u = len(objective.unlabeled)
    if start is None:
        # Without a bias the mean decision value is not constrained.
        lower, upper = (-np.inf, np.inf) if objective.features.center is None else objective.bias
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
        "(Chapelle, Chi and Zien 2006). It finds the lowest minima, and has the smallest errors if "
        "every class is a cluster, but large errors otherwise (it splits the data along the first "
        "principal component)",
        smooths=True,
    ),
    Method(
        scheduled(schedules.quasi_newton),
        "quasi-newton",
        "raises the unlabelled term in three steps on a differentiable loss (Gieseke, Airola, "
        "Pahikkala and Kramer 2012); it is the fastest method",
    ),
    Method(
        scheduled(schedules.gradient),
        "gradient",
        "raises the unlabelled term in eleven steps from the supervised solution, on a slightly "
        "smoothed loss (Chapelle and Zien 2005); its errors are close to those of the best other "
        "method on all data sets tried",
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
    """Return the method for a value of ``method=``.

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
        If the name is unknown.
    """
    if isinstance(method, Method):
        return method
    if not isinstance(method, str) or method not in METHODS:
        known = ", ".join(map(repr, METHODS))
        raise ValueError(f"method={method!r} must be one of {known}, or a Method.")
    return METHODS[method]


def check_losses(method: Method | str, loss: Loss, unlabeled_loss: UnlabeledLoss) -> None:
    """Raise ValueError for losses that are incompatible with a method or with each other.

    Parameters
    ----------
    method : str or Method
    loss : Loss
    unlabeled_loss : UnlabeledLoss

    Raises
    ------
    ValueError
        The message names the parameters and what to change.
    """
    requirements, of_labels = as_method(method), unlabeled_loss.label_loss
    by = of_labels or requirements.labels_by
    if requirements.labels_by is not None and by is not None and not same_loss(loss, by):
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
    if requirements.smooths:
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
    """Find a local minimum of the objective itself, without smoothing, by descent from a start."""
    if not objective.unlabeled_loss.kind.differentiable:
        return concave_convex(objective, start, settings, ramp=0.0)
    # Near a start the slopes of the losses at the last smoothing are estimates of the multipliers.
    rounded = smooth(objective.loss, schedules.last_smoothing(objective) * objective.labeled_norms)
    slopes = rounded.derivative(objective.targets, objective.labeled_values(start))
    return minimize(objective, start, settings, multipliers=2 * objective.weights * slopes)


# SciPy's recursions are many calls on vectors; large products have threads of their own.
@single_blas_thread()
def minimize_low_density(
    objective: LowDensityObjective,
    method: str | Method,
    settings: Settings[Function],
    *,
    n_init: int = 1,
    random: np.random.RandomState | None = None,
    rough: bool = False,
) -> LowDensityResult:
    """Minimise an objective by a method, from one or more starts.

    Parameters
    ----------
    objective : LowDensityObjective
    method : str or Method
        A name in `METHODS`, or an object.
    settings : Settings
    n_init : int, default=1
        Number of starts: the method's own start and n_init - 1 random starts.
    random : RandomState, optional
        Generator of the random starts.
    rough : bool, default=False
        Whether to return the point near a minimum that the method finds, without the last descent.
    """
    solve, tol = as_method(method).solve, settings.tol
    whole, has_unlabeled = objective, objective.unlabeled_weights.any()
    if not rough:
        # Only stages may run in single precision: in the last descent penalties amplify rounding
        # errors.
        whole = objective.in_double()
        tol = tol * _START_TOL if has_unlabeled else tol
    supervised = minimize(whole.supervised(), whole.zero(), replace(settings, tol=tol))
    supervised = _of_whole(whole, supervised)
    if not has_unlabeled or supervised.status == Status.CALLBACK:
        return LowDensityResult(supervised, supervised, np.array([supervised.objective]), True)
    random = np.random.RandomState(0) if random is None else random
    found: list[Minimum] = []
    for number in range(n_init):
        start = supervised.state
        if number:
            start = _random_start(objective, start, random)
        near = solve(objective, start, settings, number > 0)
        if rough or near.status == Status.CALLBACK:
            found.append(_of_whole(whole, near))
        else:
            found.append(local_minimum(whole, near.state, settings).after(near))
        if found[-1].status == Status.CALLBACK:
            break
    best = min(found, key=lambda one: one.objective)
    ends = np.array([one.objective for one in found])
    if rough or best.status == Status.CALLBACK:
        return LowDensityResult(best, supervised, ends, True)
    value = supervised.objective
    # The supervised solution may be the minimum itself, up to the tolerance: margins with an error
    # of tol change the objective by tol times the weights.
    improved = best.objective <= value + settings.tol * (value + float(objective.weights.sum()))
    chosen = best if best.objective <= value else supervised
    return LowDensityResult(chosen, supervised, ends, improved)


def _of_whole(objective: LowDensityObjective, minimum: Minimum) -> Minimum:
    """Replace the value, which may be that of a stage, by that of the whole objective."""
    return replace(minimum, objective=objective.value(minimum.state))


def _random_start(
    objective: LowDensityObjective, supervised: Function, random: np.random.RandomState
) -> Function:
    """Add a random function to the supervised solution.

    It is a sum of kernels at the unlabelled points with random signs, of standard deviation 1 on
    these points. Such functions vary along the directions in which the points vary, as the
    differences between minima do.
    """
    signs = np.zeros(objective.features.n_points)
    signs[objective.unlabeled] = random.choice([-1.0, 1.0], size=len(objective.unlabeled))
    w = objective.features.represent(signs)
    deviation = float(np.std(objective.features.values(w)[objective.unlabeled]))
    w = w / deviation if deviation > 0 else w
    return Function(supervised.coef + w, supervised.intercept)
