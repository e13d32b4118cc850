"""Rules behind ``solver='auto'`` and early stopping."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from lapwing._arrays import Array, RandomSource, is_sparse
from lapwing._host.memory import fits_in_memory
from lapwing.classes.decoding import predict_codes
from lapwing.losses.base import Loss
from lapwing.losses.registry import shown
from lapwing.objectives.embedded import EmbeddedObjective
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.manifold import registry
from lapwing.solvers.manifold.pcg import (
    MixedRule,
    StabilityRule,
    ValidationRule,
    changed_fraction,
    check_interval,
    far_from_zero,
    relative_change,
)
from lapwing.solvers.manifold.settings import StoppingRule
from lapwing.spaces.full import FullKernelSpace

_LOG = logging.getLogger("lapwing")

SOLVERS = ("auto", *registry.SOLVERS)

# Sizes beyond which conjugate gradient to the optimum is faster than a factorisation, and which
# bound the three matrices of order n^2.
_MAX_POINTS = 12_000
_MAX_LABELS = 3000
_MAX_FEATURES = 2000
_PCG_STEPS = 300  # to the optimum; MNIST3VS8 takes 270

# Points up to which embedded regression with the full kernel takes about 15 s: one factorisation of
# its matrix for the squared loss, about thirty for the interior point method.
_MATRIX_POINTS = {"squared": 10_000, "epsilon_insensitive": 4000}
# Points from which conjugate gradient on features takes less time than a factorisation (with any
# g), and the smallest ratio of points to features for which it does.
_OPERATOR_POINTS, _OPERATOR_RATIO = 2000, 2

SPEED = 2e10  # multiplications per second in a factorisation, on an ordinary machine
# Operations per column of the interior point method, with a factorisation in each step: about 9
# times (0.55 n + 4 rank) n^2 with a matrix (Cholesky is slower than products), and about 12 times
# 2.5 n (m + rank)^2 with features. For 800 to 6000 points and 1 to 40 columns, times were within a
# factor of 1.3.
_MATRIX_FACTORS, _CHOLESKY, _FEATURE_OPERATIONS = 9, 0.55, 30
# Points beyond which eigenpairs need not be more exact than the graph, in which an approximate
# search omits one edge in twenty: on 60,000 images with four sets of labels the error of LapERLS
# changes by at most 0.012 points, and on blobs the eigenpairs take a seventh of the time.
_EXACT_POINTS, _SLACK = 20_000, 0.01
_EIGENVECTORS = 50  # measured for up to ten classes; each class needs at least one

STOPPING = (None, "stability", "validation", "mixed")


class SolverChoice(NamedTuple):
    """Name of a solver, the reason for it, and its default early stopping.

    Beyond the sizes of direct solvers the default is to stop early: the optimum takes minutes and
    changes few predictions.
    """

    solver: str
    reason: str
    stopping: str | None = None

    @property
    def shown(self) -> str:
        """Return the value of ``solver_``."""
        return self.solver if self.stopping is None else f"{self.solver} ({self.stopping})"


def choose_solver(solver: str, objective: Objective, *, early_stopping: bool) -> SolverChoice:
    """Choose the solver for an objective.

    Parameters
    ----------
    solver : {'auto', 'newton', 'pcg', 'dual'}
        'auto' chooses by the numbers of points and labels, the loss, the space and the memory.
    objective : Objective
    early_stopping : bool
        Whether a stopping rule is requested, which only 'pcg' supports.

    Raises
    ------
    ValueError
        If the solver does not support the loss or early stopping.
    """
    check_solver(solver, objective.loss, early_stopping=early_stopping)
    choice = SolverChoice(solver, "asked for")
    if solver == "auto":
        choice = _automatic(objective, early_stopping)
    _LOG.info("solver %r: %s", choice.solver, choice.reason)
    return choice


def check_solver(solver: str, loss: Loss, *, early_stopping: bool) -> None:
    """Raise ValueError for a solver without support of the loss or of early stopping."""
    kinked = not loss.kind.differentiable
    for_kinks = [name for name, each in registry.SOLVERS.items() if each.kinks]
    if kinked and solver not in ("auto", *for_kinks):
        raise ValueError(
            f"solver={solver!r} needs a differentiable loss, and loss={shown(loss)} is not. Use "
            f"{_any_of(for_kinks)} (or 'auto') with it."
        )
    stopping = [name for name, each in registry.SOLVERS.items() if each.stops_early]
    if early_stopping and (kinked or solver not in ("auto", *stopping)):
        raise ValueError(
            f"stopping needs {_any_of(stopping)} and a differentiable loss, not solver={solver!r} "
            f"with loss={shown(loss)}. Use {_any_of(stopping)}, or stopping=None."
        )


def _any_of(solvers: list[str]) -> str:
    return " or ".join(f"solver={name!r}" for name in solvers)


def _automatic(objective: Objective, early_stopping: bool) -> SolverChoice:
    space, n, n_labels = objective.space, objective.space.n_points, len(objective.index)
    if not objective.loss.kind.differentiable:
        return SolverChoice("dual", f"the only solver of the {objective.loss.name} loss")
    if early_stopping:
        return SolverChoice("pcg", "the stopping rule needs its iterates")
    if isinstance(space, FullKernelSpace):
        if is_sparse(space.K):
            return SolverChoice("pcg", "the kernel is sparse, and is multiplied and not factored")
        return choose_for_kernel_matrix(n, n_labels)
    if space.n_coef <= min(n, _MAX_FEATURES):
        return SolverChoice("newton", f"{space.n_coef} features: a small primal system")
    # On 2272 texts with 50,000 words one factorisation takes 1.3 s, and conjugate gradient 48 s.
    if n <= space.n_coef:
        return choose_for_kernel_matrix(n, n_labels)
    reason = f"{space.n_coef} features and n = {n}: products instead of a factorisation"
    return SolverChoice("pcg", reason, "stability" if n > _MAX_POINTS else None)


def gradient_traffic(
    n: int, n_columns: int, itemsize: int, *, settling: bool = False, n_threads: int = 1
) -> float:
    """Estimate the bytes that conjugate gradient moves: about 300 passes over the kernel matrix.

    Parameters
    ----------
    n, n_columns, itemsize : int
        Points, columns, bytes per entry of the matrix.
    settling : bool, default=False
        Whether it stops when the predictions are stable, after two checks at the earliest.
    n_threads : int, default=1
        Threads of the products. With several columns the processors limit them, not the memory,
        which is expressed in more bytes.
    """
    steps = 2 * check_interval(n) if settling else _PCG_STEPS
    columns = max(1.0, (1 + 0.25 * n_columns) / n_threads)
    return steps * columns * itemsize * float(n) * n


def choose_for_kernel_matrix(n: int, n_labels: int) -> SolverChoice:
    """Choose the solver for the squared loss with a dense kernel matrix of n points."""
    if n > _MAX_POINTS:
        reason = f"n = {n} > {_MAX_POINTS}: products instead of a factorisation"
        return SolverChoice("pcg", reason, "stability")
    if n_labels > _MAX_LABELS:
        return SolverChoice("pcg", f"more than {_MAX_LABELS} labels: the dual is not small")
    if not fits_in_memory(3 * 8 * n * n):
        return SolverChoice("pcg", "a factorisation does not fit in memory")
    return SolverChoice("dual", f"n = {n}: one factorisation for all classes")


class EmbeddingChoice(NamedTuple):
    """Form of the function side of embedded regression, with the reason."""

    solver: str  # 'matrix', 'features' or 'operator'
    stored: bool  # whether features are stored in memory for repeated passes
    reason: str


def matrix_points(loss: Loss) -> int:
    """Return the number of points up to which the full kernel is the default."""
    return _MATRIX_POINTS[loss.name]


def eigenvectors_wanted(n_columns: int) -> int:
    """Return the default number of eigenvectors, at least one for each class."""
    return max(_EIGENVECTORS, 2 * n_columns)


def eigenpair_slack(n: int) -> float:
    """Return the admissible relative residual of the eigenpairs of n points."""
    return 0.0 if n <= _EXACT_POINTS else _SLACK


def seconds_of_columns(
    n: int,
    n_coordinates: int,
    rank: int,
    n_columns: int,
    *,
    n_threads: int = 1,
    speed: float = 2 * SPEED,
) -> float:
    """Estimate the seconds of the interior point method, which factors each column separately.

    Parameters
    ----------
    n, n_coordinates, rank, n_columns : int
        Points, coordinates of the function (n for a kernel matrix), eigenvectors that span the
        virtual labels (n if unrestricted), columns.
    n_threads : int, default=1
        Number of threads over the columns.
    speed : float, optional
        Operations per second of one thread in matrix products; an ordinary machine by default.
    """
    if n_coordinates < n:
        operations = _FEATURE_OPERATIONS * float(n) * (n_coordinates + rank) ** 2
    else:
        operations = _MATRIX_FACTORS * float(n) ** 2 * (_CHOLESKY * n + 4 * rank)
    return math.ceil(n_columns / n_threads) * operations / speed


def choose_embedding(objective: EmbeddedObjective) -> EmbeddingChoice:
    """Choose how to solve an embedded regression: by the kernel matrix, features or an operator."""
    space, n = objective.space, objective.n_points
    once = objective.loss.name == "squared"
    if isinstance(space, FullKernelSpace) or space.n_coef > n:
        return EmbeddingChoice("matrix", False, f"n = {n} points are fewer than coordinates")
    if objective.basis is not None:
        return EmbeddingChoice("features", not once, f"normal equations of {space.n_coef} features")
    worthwhile = max(_OPERATOR_POINTS, _OPERATOR_RATIO * space.n_coef)
    if once and n > min(matrix_points(objective.loss), worthwhile):
        return EmbeddingChoice("operator", True, f"n = {n}: products instead of a factorisation")
    return EmbeddingChoice("matrix", True, "virtual labels of all points, in one matrix")


class Validation(NamedTuple):
    """Validation data: labelled points that are not in the loss.

    `scores` maps a state of the solver to their decision values (v, c).
    """

    scores: Callable[[State], Array]
    targets: Array  # class codes (v,), or targets (v, 1) of a regression


def stopping_rule(
    stopping: str | None,
    objective: Objective,
    validation: Validation | None,
    *,
    regression: bool,
) -> StoppingRule | None:
    """Return the rule that `stopping` names, with a check every sqrt(n) / 2 iterations.

    Raises
    ------
    ValueError
        If there are no unlabelled points, or no validation data, and the rule needs them.
    """
    if stopping is None:
        return None
    n = objective.space.n_points
    every = check_interval(n)
    unlabeled = np.setdiff1d(np.arange(n), objective.index)
    if stopping != "validation" and not len(unlabeled):
        raise ValueError(
            f"stopping={stopping!r} needs unlabelled points, but all are labelled. Use "
            "stopping=None or 'validation'."
        )
    change: Callable[[Array, Array], float] = changed_fraction
    if regression:
        change = partial(relative_change, origin=far_from_zero(objective))
    stability = StabilityRule(unlabeled, every, change=change)
    if stopping == "stability":
        return stability
    if validation is None:
        raise ValueError(
            f"stopping={stopping!r} needs labels to validate on: pass validation_data=(X_val, "
            "y_val) to fit, or set validation_fraction to hold out some of the labels."
        )
    error = _squared_error if regression else _n_errors
    check = ValidationRule(lambda state: error(validation.scores(state), validation.targets), every)
    return check if stopping == "validation" else MixedRule(stability, check)


def _n_errors(scores: Array, codes: Array) -> float:
    return float(np.count_nonzero(predict_codes(scores) != codes))


def _squared_error(scores: Array, targets: Array) -> float:
    return float(np.sum((scores - targets) ** 2))


def hold_out(
    objective: Objective, fraction: float, random_state: RandomSource, *, regression: bool
) -> tuple[Objective, Validation]:
    """Hold out a fraction of the labels of each class for validation, and keep at least one.

    Their points stay in the problem as unlabelled ones, so that their scores cost nothing.

    Raises
    ------
    ValueError
        If no label can be held out.
    """
    rng = check_random_state(random_state)
    groups = (
        np.zeros(len(objective.index), dtype=int)
        if regression
        else predict_codes(objective.targets)
    )
    held: list[Array] = []
    for group in np.unique(groups):
        members = rng.permutation(np.flatnonzero(groups == group))
        n_held = min(max(1, round(fraction * len(members))), len(members) - 1)
        held.append(members[:n_held])
    out = np.sort(np.concatenate(held))
    if not len(out):
        raise ValueError(
            f"validation_fraction={fraction} leaves no label to validate on: every class has a "
            "single one. Pass validation_data to fit, or use stopping='stability'."
        )
    points, targets = objective.index[out], objective.targets[out]
    kept = np.setdiff1d(np.arange(len(objective.index)), out)
    rest = replace(
        objective,
        index=objective.index[kept],
        targets=objective.targets[kept],
        weights=objective.weights[kept],
    )
    known = targets if regression else predict_codes(targets)
    return rest, Validation(lambda state: state.values[points], known)
