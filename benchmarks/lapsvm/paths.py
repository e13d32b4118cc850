"""What PCG does iteration by iteration: the data of Figures 5 to 14."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.lapsvm.methods import errors_on_parts
from benchmarks.lapsvm.paper import Weights
from benchmarks.lapsvm.setting import Setting
from lapwing.classes.voting import coded_columns, elect
from lapwing.graphs.laplacian import Laplacian
from lapwing.losses.labeled import SquaredHinge
from lapwing.objectives.manifold import Objective
from lapwing.solvers.base import Iteration
from lapwing.solvers.manifold.pcg import pcg
from lapwing.spaces.full import FullKernelSpace

# The recorded quantities, in the notation of Figures 4, 13 and 14.
VALUES = {
    "objective": "obj",
    "gradient": r"$\|\nabla\|$",
    "preconditioned": r"$\|\hat\nabla\|$",
    "mixed": r"$\sqrt{\hat\nabla^T\nabla}$",
}


@dataclass(frozen=True)
class Path:
    """One descent.

    Attributes
    ----------
    errors : mapping of str to ndarray of shape (n_iter,)
        Error rates in % on L, U, V and T after iterations 1, 2, ...
    values : mapping of str to ndarray of shape (n_iter,)
        `VALUES` before each iteration, over their values at the start; the means over the
        one-vs-rest columns.
    """

    errors: Mapping[str, NDArray[np.float64]]
    values: Mapping[str, NDArray[np.float64]]


def objective_of(
    K: NDArray[Any], affinity: Any, power: int, codes: NDArray[np.int64], weights: Weights
) -> Objective:
    """LapSVM's objective on a kernel matrix whose first rows are the labelled points.

    The solver is called without an estimator because the stopping values of all iterations are
    wanted, which an estimator does not keep.
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


def descend(setting: Setting, weights: Weights, n_iter: int) -> Path:
    """Run PCG from zero for `n_iter` iterations and measure it after each."""
    objective = objective_of(
        setting.K,
        setting.affinity,
        setting.problem.power,
        setting.y[: setting.n_labeled],
        weights,
    )
    errors: dict[str, list[float]] = {part: [] for part in "LUVT"}

    def look(iteration: Iteration) -> bool:
        state = iteration.state()
        scores = np.concatenate([state.values, setting.K_new @ state.coef])
        for part, error in errors_on_parts(setting, elect(scores)).items():
            errors[part].append(error)
        return False

    # A tolerance no arithmetic reaches: the figures show all iterations asked for.
    result = pcg(objective, tol=0.0, max_iter=n_iter, on_iteration=look)
    values = {name: _relative(result.history[name]) for name in VALUES}
    return Path({part: np.array(curve) for part, curve in errors.items()}, values)


def _relative(history: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    rows = np.asarray(history)
    relative: NDArray[np.float64] = np.nanmean(rows / rows[0], axis=1)
    return relative


def mean_path(paths: Sequence[Path]) -> Path:
    """Mean over splits, curves that ended early continued at their last value."""
    n_iter = max(path.errors["U"].size for path in paths)

    def mean(curves: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        full = [np.pad(curve, (0, n_iter - curve.size), mode="edge") for curve in curves]
        average: NDArray[np.float64] = np.mean(full, axis=0)
        return average

    return Path(
        {part: mean([path.errors[part] for path in paths]) for part in "LUVT"},
        {name: mean([path.values[name] for path in paths]) for name in VALUES},
    )
