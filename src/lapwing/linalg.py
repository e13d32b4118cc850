"""Small pieces of dense linear algebra that spaces and solvers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from array_api_compat import array_namespace, to_device

from lapwing._arrays import Array, is_sparse

__all__ = [
    "Solve",
    "asymmetry_of",
    "column_dot",
    "extreme_eigenvalues",
    "normal_matrix",
    "pivoted_cholesky",
    "spd_factor",
    "to_host",
]

Solve: TypeAlias = Callable[[Array], Array]

_DLPACK_CPU = 1  # kDLCPU of the DLPack standard
_DECOMPOSED = 500
_LANCZOS_STEPS = 12
_TILE = 256  # edge of what is compared at once: fits the cache
_MOST_TILES = 256  # all of them up to n = 5600


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


def normal_matrix(
    blocks: Iterable[tuple[slice, Any]], size: int, weights: Array | None = None, *, bias: bool
) -> Array:
    """The matrix Z'DZ of normal equations, summed over row blocks of Z in float64.

    A sum in float32 would be off by more than the identity that is added to such matrices.

    Parameters
    ----------
    blocks : iterable of (rows, block)
        Row blocks of Z (n, size), dense or sparse.
    size : int
        Columns of Z.
    weights : ndarray of shape (n,), optional
        The diagonal of D, not negative; 1 by default.
    bias : bool
        Whether Z has one more column, of ones.

    Returns
    -------
    ndarray of shape (size + bias, size + bias)
    """
    H = np.zeros((size + bias, size + bias))
    for rows, block in blocks:
        root = np.ones(block.shape[0]) if weights is None else np.sqrt(weights[rows])
        if is_sparse(block):
            scaled = sp.diags_array(root) @ block.astype(np.float64)
            H[:size, :size] += (scaled.T @ scaled).toarray()
        else:
            # A copy, and its transpose times itself: BLAS then does half of the work.
            scaled = np.multiply(block, root[:, None], dtype=np.float64)
            H[:size, :size] += scaled.T @ scaled
        if bias:
            H[:size, size] += scaled.T @ root
            H[size, size] += root @ root
    if bias:
        H[size, :size] = H[:size, size]
    return H


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


def asymmetry_of(K: Any) -> tuple[float, float]:
    """Largest |K - K'| and largest |K|; of a large dense K in a sample of its tiles.

    Looking at all of 12000 x 12000 would take as long as tens of products with it.
    """
    if is_sparse(K):
        return float(abs(K - K.T).max()), float(abs(K).max())
    asymmetry = size = 0.0
    tiles = [slice(start, start + _TILE) for start in range(0, K.shape[0], _TILE)]
    pairs = [(rows, columns) for i, rows in enumerate(tiles) for columns in tiles[i:]]
    if len(pairs) > _MOST_TILES:
        sample = np.random.default_rng(0).choice(len(pairs), _MOST_TILES, replace=False)
        pairs = [pairs[number] for number in sample]
    for rows, columns in pairs:
        tile = K[rows, columns]
        asymmetry = max(asymmetry, float(np.abs(tile - K[columns, rows].T).max()))
        size = float(np.max([size, tile.max(), -tile.min()]))  # keeps NaN, which max loses
    return asymmetry, size


def extreme_eigenvalues(K: Any) -> tuple[float, float]:
    """Least and largest eigenvalue of a small matrix; of a large one the bounds Lanczos finds."""
    n = K.shape[0]
    if n <= _DECOMPOSED:
        dense = K.toarray() if is_sparse(K) else K
        values = sla.eigvalsh(np.asarray(dense, dtype=np.float64), check_finite=False)
        return float(values[0]), float(values[-1])
    basis, images = np.zeros((_LANCZOS_STEPS, n)), np.zeros((_LANCZOS_STEPS, n))
    q = np.random.default_rng(0).standard_normal(n)
    for step in range(_LANCZOS_STEPS):
        basis[step] = q / np.linalg.norm(q)
        images[step] = q = (K @ basis[step].astype(K.dtype)).astype(np.float64)
        # Twice, as what is left is rounding once the basis spans the range of a K of low rank, and
        # a basis that is not orthonormal has eigenvalues of its own.
        once = q - basis[: step + 1].T @ (basis[: step + 1] @ q)
        q = once - basis[: step + 1].T @ (basis[: step + 1] @ once)
        if not np.linalg.norm(q) > np.linalg.norm(once) / 2:
            break  # nothing new is left, not even in the rounding
    compressed = basis[: step + 1] @ images[: step + 1].T
    ritz = sla.eigvalsh((compressed + compressed.T) / 2, check_finite=False)
    return min(float(ritz[0]), float(K.diagonal().min())), float(ritz[-1])
