"""Warnings about solvers that stopped short of what was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lapwing._host.warn import warn
from lapwing.exceptions import NoImprovementWarning
from lapwing.solvers.base import Status

PRECISE = 1e-3  # relative gradient beyond which digits are missed


def warn_partition_not_at_rest(method: str, status: str, change: float) -> None:
    """Warn that a method of the graph stopped while points still moved."""
    if status == Status.MAX_ITER:
        warn(
            f"method={method!r} stopped ({status}) before it came to rest ({change:.1e} left). "
            "The classes may not be separated on this graph. Use another graph, e.g. "
            "graph=KNNGraph(5, weights='steep'), or method='flow'.",
            ConvergenceWarning,
        )


def warn_embedding_not_solved(solver: str, status: str, optimality: float, tol: float) -> None:
    """Warn that an embedded regression is further from its optimum than asked for."""
    if optimality <= tol:  # NaN is not
        return
    warn(
        f"solver={solver!r} stopped ({status}) at a relative optimality of {optimality:.1e}, "
        f"tol={tol:g}. Raise max_iter or tol, or use a smaller C or lam (better conditioned), or "
        "X as float64.",
        ConvergenceWarning,
    )


def warn_not_converged(
    solver: str, n_iter: int, max_iter: int, optimality: float, tol: float
) -> None:
    """Warn that a solver ran out of iterations, or of progress before them."""
    cure = f"{_more(n_iter, max_iter)}, or use a larger gamma_A (better conditioned)"
    if solver == "pcg":
        cure += (
            "; stop by predictions (stopping='stability'), or use solver='dual' if memory allows"
        )
    warn(
        f"solver={solver!r} did not converge in {n_iter} iterations: the relative optimality is "
        f"{optimality:.1e}, tol={tol:g}. {cure}.",
        ConvergenceWarning,
    )


def warn_descent_not_converged(n_iter: int, max_iter: int, optimality: float, tol: float) -> None:
    """Warn that L-BFGS ran out of iterations, or of progress before them."""
    warn(
        f"L-BFGS did not converge in {n_iter} iterations: the relative optimality is "
        f"{optimality:.1e}, tol={tol:g}. {_more(n_iter, max_iter)}, scale the features, or use a "
        "smaller C.",
        ConvergenceWarning,
    )


def _more(n_iter: int, max_iter: int) -> str:
    """What to do about a tolerance that was not met; more iterations help only if all were used."""
    return "Raise max_iter or tol" if n_iter >= max_iter else "Raise tol"


def warn_no_improvement(method: str, without: int, n_columns: int) -> None:
    """Warn that a method's minimum is above the supervised solution, which is kept."""
    which = "The" if n_columns == 1 else f"In {without} of {n_columns} columns the"
    warn(
        f"{which} minimum found by method={method!r} has a higher objective than the supervised "
        "solution, which is returned instead: the unlabelled points taught nothing. Use another "
        "method, more starts (n_init=10), or a smaller C_star.",
        NoImprovementWarning,
    )


def warn_imprecise(
    solver: str,
    optimality: float,
    tol: float,
    dtype: Any,
    cure: str = "a larger gamma_A (better conditioned)",
    *,
    gap: bool = False,
) -> None:
    """Warn if a solver met the end of its digits far from the optimum.

    A duality gap is of second order in the distance from the optimum, a gradient of first.
    """
    if optimality <= max(PRECISE**2 if gap else PRECISE, 2 * tol):  # NaN is not
        return
    if dtype == np.float32:
        cure = f"X as float64, or {cure}"
    warn(
        f"solver={solver!r} ran out of digits at a relative optimality of {optimality:.1e}: the "
        f"solution may be far from the optimum. Use {cure}.",
        ConvergenceWarning,
    )
