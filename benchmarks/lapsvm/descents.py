"""Iterations of PCG: the data of Figures 5 to 14.

The solvers are called directly, as estimators do not store the stopping values of all iterations.
No other module of this benchmark uses private modules of lapwing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.lapsvm.methods import errors_on_parts
from benchmarks.lapsvm.paper import NormWeights
from benchmarks.lapsvm.setting import Setting
from benchmarks.shared.stats import gathered
from lapwing.classes.decoding import coded_columns
from lapwing.graphs import Laplacian
from lapwing.losses.labeled import SquaredHinge
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.manifold.newton import newton
from lapwing.solvers.manifold.pcg import pcg
from lapwing.solvers.manifold.settings import ManifoldSettings
from lapwing.spaces.full import FullKernelSpace

# The recorded quantities, in the notation of Figures 4, 13 and 14.
VALUES = {
    "objective": "obj",
    "gradient": r"$\|\nabla\|$",
    "preconditioned": r"$\|\hat\nabla\|$",
    "mixed": r"$\sqrt{\hat\nabla^T\nabla}$",
}


@dataclass(frozen=True)
class Descent:
    """Errors and stopping values along a descent.

    Attributes
    ----------
    errors : mapping of str to ndarray of shape (n_iter,)
        Error rates in % on L, U, V and T after iterations 1, 2, ...
    values : mapping of str to ndarray of shape (n_iter,)
        `VALUES` before each iteration, relative to those at the start, averaged over the
        one-vs-rest columns.
    """

    errors: Mapping[str, NDArray[np.float64]]
    values: Mapping[str, NDArray[np.float64]]


def lapsvm_objective(
    K: NDArray[Any], affinity: Any, power: int, codes: NDArray[np.int64], weights: NormWeights
) -> Objective:
    """Return LapSVM's objective on a kernel matrix whose first rows are the labelled points.

    The solver is called directly because estimators do not store the stopping values of all
    iterations.
    """
    n_classes = int(codes.max()) + 1
    laplacian = Laplacian.from_affinity(affinity, normalized=True, power=power, dtype=K.dtype)
    return Objective(
        space=FullKernelSpace(K),
        loss=SquaredHinge(),
        index=np.arange(codes.size),
        targets=coded_columns(codes, n_classes).astype(K.dtype),
        weights=np.ones(codes.size, dtype=K.dtype),
        gamma_A=weights.gamma_A,
        graph_term=laplacian.scaled(weights.gamma_I) if weights.gamma_I else None,
    )


def classes_of(scores: NDArray[Any]) -> NDArray[np.int64]:
    """Return class codes of decision values (n, c); zero is positive (errata X5)."""
    return scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] >= 0).astype(np.int64)


def follow(
    objective: Objective, n_iter: int, look: Callable[[int, NDArray[Any], NDArray[Any]], None]
) -> Mapping[str, Sequence[NDArray[np.float64]]]:
    """Run PCG from zero, call `look` with each iterate, and return the history of `VALUES`.

    Parameters
    ----------
    objective : Objective
    n_iter : int
    look : function
        Called with the number of the iteration, the values (n, c) on the points, and the
        coefficients.
    """

    numbers = count(1)

    def watch(known: Callable[[], State]) -> bool:
        state = known()
        look(next(numbers), state.values, state.coef)
        return False

    # The tolerance is never reached, so that all requested iterations are run.
    return pcg(objective, ManifoldSettings(tol=0.0, max_iter=n_iter, on_iteration=watch)).history


def optimum(objective: Objective) -> NDArray[Any]:
    """Compute the coefficients of the exact solution."""
    coef: NDArray[Any] = newton(objective).state.coef
    return coef


def descend(setting: Setting, weights: NormWeights, n_iter: int) -> Descent:
    """Run PCG from zero for `n_iter` iterations, and measure errors after each."""
    objective = lapsvm_objective(
        setting.K,
        setting.affinity,
        setting.problem.power,
        setting.y[: setting.n_labeled],
        weights,
    )
    errors: list[dict[str, float]] = []

    def look(number: int, values: NDArray[Any], coef: NDArray[Any]) -> None:
        scores = np.concatenate([values, setting.K_new @ coef])
        errors.append(errors_on_parts(setting, classes_of(scores)))

    history = follow(objective, n_iter, look)
    values = {name: _relative(history[name]) for name in VALUES}
    return Descent({part: np.array(curve) for part, curve in gathered(errors).items()}, values)


def _relative(history: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    rows = np.asarray(history)
    relative: NDArray[np.float64] = np.nanmean(rows / rows[0], axis=1)
    return relative


def mean_descent(descents: Sequence[Descent]) -> Descent:
    """Average descents over splits; shorter curves are continued with their last value."""
    n_iter = max(descent.errors["U"].size for descent in descents)

    def mean(curves: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        full = [np.pad(curve, (0, n_iter - curve.size), mode="edge") for curve in curves]
        average: NDArray[np.float64] = np.mean(full, axis=0)
        return average

    return Descent(
        {part: mean([descent.errors[part] for descent in descents]) for part in "LUVT"},
        {name: mean([descent.values[name] for descent in descents]) for name in VALUES},
    )
