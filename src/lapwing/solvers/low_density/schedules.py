r"""Annealing and continuation: sequences of differentiable objectives, each started from the last.

    quasi_newton   the modified logistic loss, with the unlabelled term multiplied by 0.01, 0.1 and
                   1, from the supervised solution (QN-S3VM paper, Algorithm 1)
    gradient       the last smoothing of continuation, with an unlabelled term that is doubled ten
                   times (the method that the continuation paper compares with, Section 4)
    continuation   the whole objective smoothed by gamma_0 > ... > gamma_end, eleven geometrically
                   spaced values: convex first, hardly smoothed last (continuation paper, Section 3)

A schedule is the list of all stages. It ends near a local minimum of the objective; the caller then
descends on the objective itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from lapwing._arrays import Array
from lapwing.losses.smoothed import differentiable
from lapwing.objectives.low_density import Function, LowDensityObjective
from lapwing.solvers.base import Settings, Status
from lapwing.solvers.low_density.lbfgs import Minimum, descend, reference

ANNEALING = (0.01, 0.1, 1.0)  # alpha, QN-S3VM paper, Section 4.1.3
# Continuation paper: Section 4 for the doublings, Section 3 for eleven values of gamma, including
# both ends (errata C6).
_DOUBLINGS = 10
_STEPS = 11

# Relative gradient at which a stage ends, far from convergence, as the next stage has another
# minimum. On Text and pairs of Uspst classes 1e-4 takes twice the time of 1e-2 and changes neither
# errors nor objectives.
STAGE_TOL = 1e-3


class ScheduleStage(NamedTuple):
    """One objective of a schedule."""

    parameter: float  # alpha or gamma
    objective: LowDensityObjective


def quasi_newton(objective: LowDensityObjective) -> list[ScheduleStage]:
    """Return the stages of Algorithm 1 of the QN-S3VM paper, with its surrogates of both hinges."""
    rounded = replace(
        objective,
        loss=differentiable(objective.loss),
        unlabeled_loss=differentiable(objective.unlabeled_loss),
    )
    return [ScheduleStage(alpha, rounded.weighted(alpha)) for alpha in ANNEALING]


def gradient(objective: LowDensityObjective) -> list[ScheduleStage]:
    """Return stages in which C* is doubled, starting from 2^-10 C* (Chapelle and Zien)."""
    rounded = objective.smoothed(last_smoothing(objective))
    factors = [2.0**k for k in range(-_DOUBLINGS, 1)]
    return [ScheduleStage(factor, rounded.weighted(factor)) for factor in factors]


def continuation(objective: LowDensityObjective) -> list[ScheduleStage]:
    """Return the stages of Section 3.2 of the continuation paper; one if gamma_end is convex."""
    first, last = first_smoothing(objective), last_smoothing(objective)
    gammas: Sequence[float] = [last]  # errata C6
    if first > last:
        gammas = np.geomspace(first, last, _STEPS).tolist()
    return [ScheduleStage(gamma, objective.smoothed(gamma)) for gamma in gammas]


def first_smoothing(objective: LowDensityObjective) -> float:
    """Compute gamma_0, at which the smoothed objective is convex in w; 0 if it always is.

    It need not be convex in a bias that is not fixed, as this is not regularised.

    If the second derivatives of the unlabelled loss are at least -kappa / v^q, v = gamma |x|^2, the
    Hessian is at least I - kappa / gamma^q M with M = sum_U C*_j x_j x_j' / |x_j|^(2q). For the
    Gaussian bump this gives the paper's (C* lambda_max)^(2/3) / (2s)^(1/3).
    """
    bend = objective.unlabeled_loss.bend
    if bend is None:
        raise ValueError(
            f"{objective.unlabeled_loss!r} does not say how far it is from convex, which sets the "
            "first smoothing: add `bend`."
        )
    kappa, q = bend
    norms = objective.features.squared_norms[objective.unlabeled]
    away = norms > 0  # a point at the origin adds a constant (errata C5)
    scales = np.zeros(objective.features.n_points)
    scales[objective.unlabeled[away]] = objective.unlabeled_weights[away] / norms[away] ** q
    if not scales.any():
        return 0.0
    return float((kappa * _largest_eigenvalue(objective, scales)) ** (1 / q))


def _largest_eigenvalue(objective: LowDensityObjective, scales: Array) -> float:
    """Bound the largest eigenvalue of sum_i scales_i x_i x_i', by a few Lanczos steps."""
    features, r = objective.features, objective.features.n_coef

    def apply(w: Array) -> Array:
        return features.represent(scales * features.values(w.ravel()))

    if r < 3:  # ARPACK needs k < r - 1
        matrix = np.stack([apply(column) for column in np.eye(r)])
        return float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[-1])
    start = np.random.default_rng(0).standard_normal(r)
    operator = LinearOperator((r, r), matvec=apply, dtype=np.float64)
    try:
        found = eigsh(operator, k=1, which="LA", v0=start, tol=1e-2, return_eigenvectors=False)
    except ArpackNoConvergence as stopped:
        found = np.real(stopped.eigenvalues)
    # Lanczos estimates are below the eigenvalue by at most the tolerance.
    trace = float(scales @ features.squared_norms)
    return min(trace, 1.02 * float(found[0])) if len(found) else trace


def last_smoothing(objective: LowDensityObjective) -> float:
    """Return gamma_end = 1 / (20 s max |x|^2) over the unlabelled points (errata C6)."""
    largest = objective.largest_norm
    return 1 / (20 * objective.unlabeled_loss.steepness * largest) if largest > 0 else 0.0


def run_stages(
    stages: Sequence[ScheduleStage],
    start: Function,
    settings: Settings[Function],
) -> Minimum:
    """Minimise the stages in turn, each from the minimum of the previous stage.

    Parameters
    ----------
    stages : sequence of ScheduleStage
    start : Function
    settings : Settings
        Settings of each stage; `tol` is usually `STAGE_TOL`.
    """
    minimum = Minimum.begin(start)
    scale = reference(stages[0].objective)
    for stage in stages:
        minimum = descend(stage.objective, minimum.state, settings, scale=scale).after(minimum)
        if minimum.status == Status.CALLBACK:
            break
    return minimum
