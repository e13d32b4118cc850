"""Refusals of kernel matrices that are none."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapwing.kernels import Kernel
from lapwing.linalg import asymmetry_of, extreme_eigenvalues, spread_rows

_SYMMETRY = 1e-5  # relative: float32 kernels of other programs are symmetric to 1e-6 or so
_NEGATIVITY = 1e-5  # of the largest eigenvalue
_SAMPLE = 500  # points on which a kernel is looked at that is never formed for all


def check_kernel_matrix(K: Any, name: str) -> None:
    """Refuse a kernel matrix that is not symmetric positive semi-definite.

    Small matrices are decomposed; of larger ones the diagonal, the Ritz values of a short Lanczos
    run and (beyond n = 5600) a sample of the entries are looked at. What is found is true (Ritz
    values lie between the extreme eigenvalues), though not all that is wrong is found: a
    factorisation would cost as much as the
    fit.
    """
    asymmetry, size = asymmetry_of(K)
    if not np.isfinite(size):
        raise ValueError(
            f"{name} holds NaN or infinite values. Use a kernel, and parameters of it, that are "
            "defined for all points."
        )
    if asymmetry > _SYMMETRY * size:
        raise ValueError(
            f"{name} must be a symmetric kernel matrix: K[i, j] and K[j, i] differ by up to "
            f"{asymmetry:.3g}. If this is rounding, pass (K + K.T) / 2."
        )
    least, largest = extreme_eigenvalues(K)
    if least < -_NEGATIVITY * max(largest, 0.0) or largest < 0:
        raise ValueError(
            f"{name} must be a positive semi-definite kernel matrix: it has an eigenvalue of at "
            f"most {least:.3g} (the largest is {largest:.3g}), so it is no kernel. Use a kernel "
            "that is positive semi-definite, or clip the negative eigenvalues first."
        )


def check_kernel(kernel: Kernel, X: Any, name: str) -> None:
    """Refuse a kernel that is not symmetric positive semi-definite on a sample of the points.

    For methods that never form the matrix of all points.
    """
    if kernel.precomputed:
        return
    check_kernel_matrix(kernel.gram(spread_rows(X, _SAMPLE)), name)
