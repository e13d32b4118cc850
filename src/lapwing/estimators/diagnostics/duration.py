"""Warnings before fits that take minutes, each with the estimator that takes seconds."""

from __future__ import annotations

from lapwing._host.warn import warn
from lapwing.exceptions import LongFitWarning


def warn_long_fit(name: str, n: int, seconds: float, *, regression: bool, can_stop: bool) -> None:
    """Warn before a fit takes minutes; `can_stop` if stopping by predictions is another way."""
    faster = "LapERLSRegressor" if regression else "LapERLSClassifier"
    stop = ", or stop by predictions (solver='pcg', stopping='stability')" if can_stop else ""
    warn(
        f"{name} with the full kernel of {n} points will take about "
        f"{max(2, round(seconds / 60))} minutes or more. Use {faster}, which forms no matrix of "
        f"all points and takes seconds{stop}.",
        LongFitWarning,
    )


def warn_long_path(name: str, size: int, n_factors: int, seconds: float) -> None:
    """Warn before the factorisations of a grid take minutes."""
    warn(
        f"{name} factors {n_factors} matrices of {size} rows and will take about "
        f"{max(2, round(seconds / 60))} minutes or more. Give it fewer settings, e.g. "
        "gammas=['scale'], graphs=[KNNGraph()] and few ratios gamma_I / gamma_A, or fewer "
        "unlabelled points.",
        LongFitWarning,
    )


def warn_long_columns(name: str, n: int, n_columns: int, seconds: float, regression: bool) -> None:
    """Warn before columns that are factored one by one take minutes."""
    faster = "LapERLSRegressor" if regression else "LapERLSClassifier"
    columns = "its column" if n_columns == 1 else f"each of its {n_columns} columns on its own"
    warn(
        f"{name} solves {columns} and will take about {max(2, round(seconds / 60))} minutes or "
        f"more for {n} points. Use {faster}, which solves all columns with one factorisation, or "
        "fewer coordinates, e.g. space=Landmarks(300).",
        LongFitWarning,
    )


def warn_long_pairs(name: str, n_classes: int, n: int, seconds: float) -> None:
    """Warn before machines of pairs take minutes."""
    warn(
        f"{name} fits {n_classes * (n_classes - 1) // 2} pairs of {n_classes} classes in rounds "
        f"and will take about {max(2, round(seconds / 60))} minutes or more for {n} points. "
        "multi_class='ovr' fits a machine for each class; space=Landmarks(500) makes steps short "
        "where pairs have thousands of points; LapERLSClassifier takes seconds.",
        LongFitWarning,
    )
