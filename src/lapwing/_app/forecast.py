"""How much memory and time a fit will take, told before it starts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

__all__ = ["Forecast", "forecast_fit", "forecast_low_density", "machine_speed"]

_DIRECT_POINTS = 6000  # beyond, `estimators.choice` takes conjugate gradient
_PCG_STEPS = 300
_LBFGS_STEPS = 1000  # of a column, all stages of a method together
_PROBE, _WIDE_PROBE = 384, 1500


@dataclass(frozen=True)
class Forecast:
    """What a fit will take, to within a factor of about three for the time.

    Attributes
    ----------
    memory : int
        Bytes at the peak, besides the table.
    seconds : float
        On this machine.
    solver : str
        'dual' (a factorisation), 'pcg' (conjugate gradient) or 'lbfgs'.
    """

    memory: int
    seconds: float
    solver: str


@cache
def machine_speed() -> tuple[float, float]:
    """Operations a second in products of matrices, and bytes a second in matrix times vector.

    Measured in some milliseconds: the first is the processor's, the second the memory's.
    """
    rng = np.random.default_rng(0)
    small, wide = rng.standard_normal((_PROBE, _PROBE)), np.ones((_WIDE_PROBE, _WIDE_PROBE))
    vector = np.ones(_WIDE_PROBE)
    products = _fastest(lambda: small @ small)
    return 2.0 * _PROBE**3 / products, wide.nbytes / _fastest(lambda: wide @ vector)


def _fastest(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(4):  # the first starts threads
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def forecast_fit(
    n: int, n_features: int, n_columns: int = 1, *, iterative: bool = True, itemsize: int = 8
) -> Forecast:
    """Forecast a fit with the full kernel.

    Parameters
    ----------
    n, n_features : int
        Points, and features after one-hot encoding.
    n_columns : int, default=1
        One-vs-rest columns: 1 for two classes or regression.
    iterative : bool, default=True
        Whether the method has conjugate gradient for many points; LapSVR has not.
    itemsize : int, default=8
        Bytes of a number in X.

    Returns
    -------
    Forecast
        Kernel and neighbours are n^2 d operations each, a factorisation n^3; the kernel matrix is
        held once for conjugate gradient and three times, in float64, for a factorisation.
    """
    speed, bandwidth = machine_speed()
    direct = n <= _DIRECT_POINTS or not iterative
    kernel = 2.0 * n * n * (n_features + 20) / speed
    # Element-wise exponentials and searches run at a fraction of the speed of products.
    search = n * n * (0.6 * n_features + 8.0) / speed
    if direct:
        solve = 4.0 * n**3 / speed
    else:
        solve = _PCG_STEPS * (1 + 0.25 * n_columns) * itemsize * n * n / bandwidth
    memory = 3 * 8 * n * n if direct else itemsize * n * n
    # Predictions for all rows take the kernel once more, in blocks.
    return Forecast(memory, 0.05 + 2 * kernel + search + solve, "dual" if direct else "pcg")


def forecast_low_density(
    n: int, n_features: int, n_columns: int = 1, *, itemsize: int = 8
) -> Forecast:
    """Forecast a fit of S3VC with the full kernel.

    Parameters
    ----------
    n, n_features : int
        Points, and features after one-hot encoding.
    n_columns : int, default=1
        One-vs-rest columns: 1 for two classes.
    itemsize : int, default=8
        Bytes of a number in X.

    Returns
    -------
    Forecast
        The kernel matrix is factored, n^3 / 3, with two more of its size beside it in float64; an
        iteration of L-BFGS is two products with the factor. Of several classes every pair is a
        problem of its own, four times, about its share 2 / n_columns of the points.
    """
    speed, bandwidth = machine_speed()
    pairs = n_columns * (n_columns - 1) / 2 if n_columns > 1 else 1
    points = n if n_columns == 1 else 2.0 * n / n_columns
    rounds = 1 if n_columns == 1 else 4
    kernel = 2.0 * points * points * (n_features + 20) / speed
    factor = points**3 / speed
    steps = _LBFGS_STEPS * 2 * itemsize * points * points / bandwidth
    seconds = 0.05 + rounds * pairs * (kernel + factor + steps)
    seconds += 2.0 * n * n * (n_features + 20) / speed  # answers for all rows
    return Forecast(int(points * points * (itemsize + 16)), seconds, "lbfgs")
