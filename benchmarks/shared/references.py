"""Reference computations, timed in the same run on the same machine."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.linalg as sla


def lu_seconds(n: int) -> float:
    """Time one LU factorisation of an n x n float64 matrix, in place."""
    matrix = np.random.default_rng(0).standard_normal((n, n))
    start = time.perf_counter()
    sla.lu_factor(matrix, overwrite_a=True, check_finite=False)
    return time.perf_counter() - start


def products_seconds(K: Any, count: int) -> float:
    """Time `count` products of a matrix with one vector, in the precision of the matrix."""
    v = np.random.default_rng(0).standard_normal((K.shape[1],)).astype(K.dtype)
    K @ v  # the first product starts the threads
    start = time.perf_counter()
    for _ in range(count):
        K @ v
    return time.perf_counter() - start
