"""Small pieces of dense linear algebra that spaces and solvers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg as sla
from array_api_compat import array_namespace, to_device

from lapwing._arrays import Array

__all__ = ["Solve", "column_dot", "pivoted_cholesky", "spd_factor", "to_host"]

Solve: TypeAlias = Callable[[Array], Array]

_DLPACK_CPU = 1  # kDLCPU of the DLPack standard


def to_host(x: Any) -> Array:
    """A small array of any namespace as a NumPy array, for control flow."""
    if isinstance(x, np.ndarray):
        return x
    # Only arrays elsewhere are moved: "cpu" is a name that not every namespace knows.
    on_host = x.__dlpack_device__()[0] == _DLPACK_CPU
    return np.from_dlpack(x if on_host else to_device(x, "cpu"))


def column_dot(a: Any, b: Any) -> Array:
    """Inner products of the columns of a and b, on the host, summed in float64.

    A float32 sum over 10^4 points loses the digits by which conjugate gradient tells one
    direction from the next.
    """
    if isinstance(a, np.ndarray):
        return np.asarray(np.einsum("ij,ij->j", a, b, dtype=np.float64))
    xp = array_namespace(a, b)
    return to_host(xp.sum(xp.astype(a, xp.float64) * xp.astype(b, xp.float64), axis=0))


def spd_factor(H: Array) -> Solve:
    """Factor a symmetric positive definite matrix; it is overwritten.

    A matrix that rounding has made indefinite is solved on the eigenvectors whose eigenvalues
    stand out of the rounding, which is the minimum-norm solution.
    """
    diagonal = np.diag(H).copy()
    try:
        factor = sla.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    except sla.LinAlgError:
        lower = np.triu(H, 1).T  # cho_factor wrote into the lower triangle only
        lower = lower + lower.T
        np.fill_diagonal(lower, diagonal)
        values, vectors = sla.eigh(lower, overwrite_a=True, check_finite=False)
        keep = values > len(values) * np.finfo(values.dtype).eps * values[-1]
        vectors = vectors[:, keep]
        return lambda u: vectors @ ((vectors.T @ u) / values[keep][:, None])
    return lambda u: sla.cho_solve(factor, u, check_finite=False)


def pivoted_cholesky(K: Array, tol: float) -> tuple[Array, Array]:
    """K = F F' for a positive semi-definite K, with as many columns as K has rank.

    Returns
    -------
    F : ndarray of shape (n, r)
    pivots : ndarray of shape (r,)
        Rows with which F[pivots] is lower triangular.
    """
    factor, pivots, rank, _ = sla.lapack.dpstrf(K, lower=1, tol=tol)
    order = pivots - 1
    F = np.empty((K.shape[0], rank))
    F[order] = np.tril(factor)[:, :rank]
    return F, order[:rank]
