"""Registry of the solvers of embedded regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from lapwing._host.memory import require_memory
from lapwing._host.threads import available_threads
from lapwing.losses.labeled import EpsilonInsensitive
from lapwing.objectives.embedded import EmbeddedObjective
from lapwing.solvers.base import Settings, Solver
from lapwing.solvers.embedded.systems import (
    DenseSystem,
    EmbeddedResult,
    FeatureSystem,
    KernelSide,
    graph_least_squares,
)
from lapwing.solvers.embedded.tube import column_threads, tube_regression
from lapwing.solvers.ridge import FunctionRegression

_MATRIX_BYTES = 8
# Memory of the normal equations: copies of the matrix in summation and factorisation, besides one
# per thread, and bytes of the row block of a thread. With 1000 and 2500 landmarks 0.9 of the
# forecast was used.
_SUM_COPIES, _BLOCK_BYTES = 4, 2**26
# Dense n x n matrices in memory at once, with g in a subspace and with unrestricted g.
COPIES, EXACT_COPIES = 4, 8


@dataclass(frozen=True, kw_only=True)
class EmbeddedMethod(Solver[Callable[[EmbeddedObjective, Any, Settings[None]], EmbeddedResult]]):
    """Solver with the function that forms its system.

    Attributes
    ----------
    solve : callable (objective, system, settings) -> Result
        Its state has the coefficients of the space.
    form : callable (objective) -> system
        Does the work that needs memory or passes over the points. Called once.
    depends_on_labels : bool, default=True
        Whether the system depends on the labels; if not, it is a `KernelSide` and can be used with
        other labels.
    """

    form: Callable[[EmbeddedObjective], Any]
    depends_on_labels: bool = True


def require_matrices(n: int, copies: float) -> None:
    """Raise MemoryError if this many dense n x n matrices do not fit into memory."""
    require_memory(
        copies * _MATRIX_BYTES * n * n,
        f"Embedded regression with the n x n kernel matrix of n = {n} points",
        "Use space=Landmarks(1000) and n_eigenvectors=50, which form no n x n matrix.",
    )


def _dense(objective: EmbeddedObjective) -> DenseSystem:
    require_matrices(objective.n_points, EXACT_COPIES if objective.basis is None else COPIES)
    K = objective.space.gram()
    return DenseSystem(K, objective.side, objective.fit_intercept)


def _features(objective: EmbeddedObjective) -> FeatureSystem:
    n_threads, unknowns = available_threads(), _n_unknowns(objective)
    rows = min(_BLOCK_BYTES * n_threads, _MATRIX_BYTES * objective.n_points * unknowns)
    require_memory(
        (_SUM_COPIES + n_threads) * _MATRIX_BYTES * float(unknowns) ** 2 + rows,
        f"The normal equations of {unknowns} coordinates",
        "Use fewer landmarks, features or eigenvectors.",
    )
    return FeatureSystem(objective.space, objective.side, objective.fit_intercept)


def _n_unknowns(objective: EmbeddedObjective) -> int:
    assert objective.basis is not None
    return objective.space.n_coef + int(objective.basis.shape[1]) + 1


def _column_bytes(objective: EmbeddedObjective, system: DenseSystem | FeatureSystem) -> float:
    """Return the memory in bytes of the factorisation for one column."""
    if not system.expands:
        return 3.0 * _MATRIX_BYTES * _n_unknowns(objective) ** 2
    # All matrices but that of the kernel.
    copies = (EXACT_COPIES if objective.basis is None else COPIES) - 1
    return float(copies * _MATRIX_BYTES * system.n_points**2)


def _in_space(objective: EmbeddedObjective, system: Any, result: EmbeddedResult) -> EmbeddedResult:
    """Convert the coefficients of a result to the space (from alpha, for a dense system)."""
    if not system.expands:
        return result
    coef = objective.space.represent(result.state.coef)
    return replace(result, state=result.state._replace(coef=coef))


def _least_squares(
    objective: EmbeddedObjective, kernel: KernelSide, settings: Settings[None]
) -> EmbeddedResult:
    return _in_space(objective, kernel, kernel.minimize(objective.side))


def _regression(objective: EmbeddedObjective) -> FunctionRegression:
    return FunctionRegression.factor(objective.space, objective.C, objective.fit_intercept)


def _tube(
    objective: EmbeddedObjective, system: DenseSystem | FeatureSystem, settings: Settings[None]
) -> EmbeddedResult:
    assert isinstance(objective.loss, EpsilonInsensitive)
    n_threads = column_threads(system.side.n_columns, _column_bytes(objective, system))
    C, epsilon = objective.C, objective.loss.epsilon
    result = tube_regression(system, C, epsilon, settings, n_threads=n_threads)
    return _in_space(objective, system, result)


EMBEDDED_METHODS: dict[tuple[str, str], EmbeddedMethod] = {
    ("squared", "matrix"): EmbeddedMethod(
        _least_squares,
        "cholesky",
        form=lambda one: _dense(one).eliminate(one.C),
        depends_on_labels=False,
    ),
    ("squared", "features"): EmbeddedMethod(
        _least_squares,
        "normal equations",
        form=lambda one: _features(one).eliminate(one.C),
        depends_on_labels=False,
    ),
    ("squared", "operator"): EmbeddedMethod(
        graph_least_squares, "conjugate gradient", form=_regression
    ),
    ("epsilon_insensitive", "matrix"): EmbeddedMethod(_tube, "interior point", form=_dense),
    ("epsilon_insensitive", "features"): EmbeddedMethod(_tube, "interior point", form=_features),
}
"""Methods by the name of the loss and the representation of the function side."""
