"""Linear algebra shared by kernels, graphs, spaces and solvers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from lapwing._arrays import Array, Matrix, as_dense, even_blocks, is_sparse, row_blocks
from lapwing._host.threads import available_threads, share, single_blas_thread
from lapwing._rows.base import PointData, is_rows, moments_of, rows_of

Solve: TypeAlias = Callable[[Array], Array]

MOST_DECOMPOSED = 500  # largest order for which all eigenvalues are computed, in some 15 ms
# Multiplications of a product that takes about 4 ms, or half of it with two threads; starting them
# takes 0.2 ms.
_SHARED_WORK = 5_000_000
# Passes over a large matrix that is checked. The error of an extreme eigenvalue after k steps from
# a random start exceeds a fraction e of the spread with probability at most
# 1.65 sqrt(n) exp(-sqrt(e) (2 k - 1)) (J. Kuczynski and H. Wozniakowski, SIAM Journal on Matrix
# Analysis and Applications 13, 1992): with 12 steps, n = 10,000 and 5 %, e is 0.12. The check is to
# be short and may miss some: of 24 indefinite matrices of order 600, 8 and 12 steps find 16, 20
# find 23 and 40 all.
_LANCZOS_STEPS = 12
# Entries of several short rows that are treated as one row. Inner products of 60,000 x 10 numbers
# take within 20 % of the same time for 256 to 16,384, and 1.3 times as long for single rows.
_LONG_ROW = 4096
_SHORT_ROWS = 50_000  # entries below which joining rows takes as long as it saves
_TILE = 256  # edge of the tiles that are compared, which fit into the cache
_MOST_TILES = 256  # all tiles up to n = 5600
_SAMPLE_ROWS = 1000  # for medians: their standard error is 4 % of a standard deviation
# Curvature along constant functions, relative to the mean of a matrix or to that along random
# values, below which it is a rounding error, and constants are not penalised. On 60 points it is at
# most 2e-16 for constants that are not penalised, and at least 4e-11 for others, with mu = 1e8.
FREE_CONSTANT = 1e-12
# Ratio of the median squared distance from the mean to that from the medians, above which the mean
# would cost another digit of the distances.
_OUTLIER_RATIO = 100


def column_dot(a: Array, b: Array) -> Array:
    """Compute inner products of the columns of a and b, summed in float64.

    A float32 sum over 10^4 points loses the digits in which conjugate gradient directions differ.
    """
    if a.size < _SHORT_ROWS:
        return np.asarray(np.einsum("ij,ij->j", a, b, dtype=np.float64))
    total = np.zeros(a.shape[1])
    for long_a, long_b in _long_rows(a, b):
        sums = np.einsum("ij,ij->j", long_a, long_b, dtype=np.float64)
        # Joined rows have several sums for each column.
        total += sums if len(sums) == len(total) else sums.reshape(-1, len(total)).sum(axis=0)
    return total


def consecutive_rows(matrix: Any, rows: slice) -> Any:
    """Return consecutive rows of a CSR matrix as views of its data; slicing would copy."""
    entries = slice(matrix.indptr[rows.start], matrix.indptr[rows.stop])
    indptr = matrix.indptr[rows.start : rows.stop + 1] - matrix.indptr[rows.start]
    part = (matrix.data[entries], matrix.indices[entries], indptr)
    return sp.csr_array(part, shape=(len(indptr) - 1, matrix.shape[1]))


def sparse_product(A: Any, F: Array) -> Array:
    """Compute A F for a CSR matrix, in threads if that is faster; SciPy uses one core.

    The sum of a row is computed by one thread, so that results do not depend on the number of
    threads.
    """
    n_threads = available_threads() if A.nnz * math.prod(F.shape[1:]) >= _SHARED_WORK else 1
    if n_threads == 1:
        return np.asarray(A @ F)
    out = np.empty((A.shape[0], *F.shape[1:]), dtype=np.result_type(A.dtype, F.dtype))

    def multiply(rows: slice) -> None:
        out[rows] = consecutive_rows(A, rows) @ F

    share(n_threads, multiply, even_blocks(A.indptr, n_threads))
    return out


def scaled_columns(block: Array, factors: Array, out: Array | None = None) -> Array:
    """Scale each column by a factor, in the precision of the block.

    Parameters
    ----------
    block : ndarray of shape (n, c)
    factors : ndarray of shape (c,)
    out : ndarray of shape (n, c), optional
        Output; may be the block itself.
    """
    factors = factors.astype(block.dtype)
    if out is None:
        out = np.empty_like(block)
    for part, into in _long_rows(block, out):
        times = part.shape[1] // max(1, len(factors))
        np.multiply(part, np.tile(factors, times) if times > 1 else factors, out=into)
    return out


def _long_rows(a: Array, b: Array) -> list[tuple[Array, Array]]:
    """Return views of two blocks with several rows joined to one, and the remaining rows.

    NumPy loops over rows if an operation differs by column: short rows of ten numbers take two to
    four times as long as long rows. Small and non-contiguous blocks are returned unchanged.
    """
    n, c = a.shape
    together = _LONG_ROW // max(c, 1)
    contiguous = a.flags.c_contiguous and b.flags.c_contiguous and a.shape == b.shape
    if c == 1 or together < 2 or n * c < _SHORT_ROWS or not contiguous:
        return [(a, b)]
    cut = n - n % together
    wide = (-1, together * c)
    return [(a[:cut].reshape(wide), b[:cut].reshape(wide)), (a[cut:], b[cut:])]


def product(A: Matrix, B: Array) -> Any:
    """Compute A @ B in the wider precision of both, without converting A.

    NumPy would convert all of A. Other matrices, such as row blocks on a cluster, define their own
    product.
    """
    if not isinstance(A, np.ndarray) or A.dtype == B.dtype:
        return A @ B
    values = np.empty((len(A), *B.shape[1:]), np.result_type(A, B))
    for rows in row_blocks(len(A), values.itemsize * A.shape[1]):
        np.matmul(A[rows], B, out=values[rows])
    return values


def column_variances(X: Any) -> Array:
    """Compute variances of the columns of points, without missing cells (NaN).

    In two passes, as the mean square minus the square of the mean cancels for columns far from 0.

    Parameters
    ----------
    X : ndarray, sparse or Rows of shape (n, d)
        Rows have no missing cells, and take one pass.

    Returns
    -------
    ndarray of shape (d,), float64
        Exactly 0 for constant columns, in spite of rounding; NaN if the variance is not finite.
    """
    if is_rows(X):
        return moments_of(X).variances
    if is_sparse(X):
        X = X.tocsr()
        low, high = min_max_axis(X, axis=0, ignore_nan=True)
        _, variances = mean_variance_axis(X.astype(np.float64, copy=False), axis=0)
        return np.where(low == high, 0.0, variances)
    n, d = X.shape
    variances = np.empty(d)
    for columns in row_blocks(d, 8 * n):
        block = X[:, columns]
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.var(block, axis=0, dtype=np.float64)
        found[(block == block[:1]).all(axis=0)] = 0
        for j in np.flatnonzero(np.isnan(found)):
            present = block[~np.isnan(block[:, j]), j]
            if len(present) and len(present) < n:
                found[j] = column_variances(present[:, None])[0]
        variances[columns] = found
    return variances


def largest_value(X: PointData) -> float:
    """Return the largest absolute value of points."""
    return moments_of(X).largest if is_rows(X) else float(abs(X).max())


def center_of(X: PointData) -> Array:
    """Return a centre of points relative to which squared distances lose few digits.

    |x - z|^2 = |x|^2 - 2 x'z + |z|^2 loses more digits the farther the points are from the origin.
    The centre is therefore the mean. It is the medians of the columns if a few outliers move the
    mean away from all other points, and if the points are sparse: medians are within a standard
    deviation of the mean, and 0 in columns with at most half of the entries stored, so that
    `shifted` points have at most twice as many entries.

    Parameters
    ----------
    X : ndarray, sparse or Rows of shape (n, d), n >= 1

    Returns
    -------
    ndarray of shape (d,)
        In the precision of X.
    """
    median = medians(X)
    if is_sparse(X):
        return median
    sample = spread_rows(X, _SAMPLE_ROWS)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = moments_of(X).mean if is_rows(X) else X.mean(axis=0, dtype=np.float64)
        moved = _typical_square(sample - mean) > _OUTLIER_RATIO * _typical_square(sample - median)
    return median if moved else np.asarray(mean.astype(X.dtype))


def medians(X: PointData) -> Array:
    """Compute the medians of the columns, from at most 1000 points, in the precision of X.

    Parameters
    ----------
    X : ndarray, sparse or Rows of shape (n, d), n >= 1
    """
    sample = spread_rows(X, _SAMPLE_ROWS)
    if not is_sparse(sample):
        return np.asarray(np.median(sample, axis=0).astype(X.dtype))
    stored = np.bincount(sample.indices, minlength=X.shape[1])
    crowded = np.flatnonzero(2 * stored >= sample.shape[0])  # the other columns have the median 0
    values = np.zeros(X.shape[1], dtype=X.dtype)
    if len(crowded):
        values[crowded] = np.median(sample[:, crowded].toarray(), axis=0)
    return values


def spread_rows(X: PointData, most: int) -> Any:
    """Select at most `most` points, evenly spaced."""
    step = -(-X.shape[0] // most)
    if is_rows(X):
        return rows_of(X, np.arange(0, X.shape[0], step))
    return (X.tocsr() if is_sparse(X) else X)[::step]


def _typical_square(X: Array) -> float:
    return float(np.median(np.einsum("ij,ij->i", X, X, dtype=np.float64)))


def shifted(X: PointData, center: Array) -> Any:
    """Compute X - center; in sparse points only columns with a nonzero centre become dense.

    Parameters
    ----------
    X : ndarray or sparse of shape (n, d)
    center : ndarray of shape (d,)

    Returns
    -------
    ndarray or csr of shape (n, d)
    """
    if not is_sparse(X):
        return X - center
    moved = np.flatnonzero(center)
    if not len(moved):
        return X
    n = X.shape[0]
    # Some functions of scikit-learn support 32-bit indices only.
    index = (
        np.int32 if max(X.nnz + n * len(moved), *X.shape) <= np.iinfo(np.int32).max else np.int64
    )
    parts = (
        np.tile(center[moved], n).astype(X.dtype),
        np.tile(moved.astype(index), n),
        (np.arange(n + 1) * len(moved)).astype(index),
    )
    return (X - sp.csr_array(parts, shape=X.shape)).tocsr()


def equal_columns(A: Array) -> list[tuple[Array, Array]]:
    """Return the distinct columns of a matrix, each with the indices of all equal columns."""
    groups: dict[bytes, list[int]] = {}
    for j, column in enumerate(np.ascontiguousarray(A.T) + 0.0):  # -0 is 0
        groups.setdefault(column.tobytes(), []).append(j)
    return [(A[:, same[0]], np.array(same)) for same in groups.values()]


def spd_factor(H: Array, *, may_be_singular: bool = False) -> Solve:
    """Return the product with H^-1 by the factors of `spd_halves`; H is overwritten."""
    forward, backward = spd_halves(H, may_be_singular=may_be_singular)
    return lambda u: backward(forward(u))


def spd_halves(H: Array, *, may_be_singular: bool = False) -> tuple[Solve, Solve]:
    """Return factors B and B' of H^-1 = B'B, as functions, for a positive definite matrix.

    H is overwritten. If H is indefinite by rounding, the minimum-norm solution on the eigenvectors
    with eigenvalues above rounding is used.

    Parameters
    ----------
    H : ndarray of shape (n, n)
    may_be_singular : bool, default=False
        Whether to check the reciprocal condition number, as Cholesky's factorisation of a singular
        matrix may succeed with pivots that are rounding errors.
    """
    diagonal = np.diag(H).copy()
    norm = float(np.abs(H).sum(axis=0).max()) if may_be_singular else 0.0
    # Relative: the tolerance of `numpy.linalg.matrix_rank`, or ten times it.
    rounding = (10 if may_be_singular else 1) * len(H) * float(np.finfo(H.dtype).eps)
    try:
        lower, _ = sla.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
        rcond = sla.lapack.dpocon(lower, norm, uplo="L")[0] if may_be_singular else 1.0
    except sla.LinAlgError:
        rcond = 0.0
    if not rcond > rounding:
        lower = np.triu(H, 1).T  # cho_factor has overwritten the lower triangle only
        lower = lower + lower.T
        np.fill_diagonal(lower, diagonal)
        values, vectors = sla.eigh(lower, overwrite_a=True, check_finite=False)
        keep = values > rounding * values[-1]
        half = vectors[:, keep] / np.sqrt(values[keep])
        return lambda u: half.T @ u, lambda u: half @ u

    def forward(u: Array) -> Array:
        return np.asarray(sla.solve_triangular(lower, u, lower=True, check_finite=False))

    def backward(u: Array) -> Array:
        return np.asarray(sla.solve_triangular(lower, u, trans=1, lower=True, check_finite=False))

    return forward, backward


def normal_matrix(Z: Matrix, weights: Array, *, bias: bool) -> Array:
    """Compute the matrix Z'DZ of normal equations, in float64.

    In float32 its error would exceed the identity that is added to such matrices.

    Parameters
    ----------
    Z : ndarray or sparse of shape (n, m)
    weights : ndarray of shape (n,)
        Diagonal of D, >= 0.
    bias : bool
        Whether Z has one more column, of ones.

    Returns
    -------
    ndarray of shape (m + bias, m + bias)
    """
    m, root = Z.shape[1], np.sqrt(weights)
    H = np.zeros((m + bias, m + bias))
    if is_sparse(Z):
        scaled = sp.diags_array(root) @ Z.astype(np.float64)
        H[:m, :m] = (scaled.T @ scaled).toarray()
    else:
        # For the product of a matrix with its own transpose BLAS does half of the work (syrk).
        scaled = np.multiply(Z, root[:, None], dtype=np.float64)
        H[:m, :m] = scaled.T @ scaled
    if bias:
        H[m, :m] = H[:m, m] = scaled.T @ root
        H[m, m] = root @ root
    return H


def summed(parts: Iterable[Any], term_of: Callable[[Any], Array], shape: tuple[int, ...]) -> Array:
    """Sum terms for the parts of a matrix, each computed by one thread.

    All work is done in threads, while BLAS uses threads for products only. The sum does not depend
    on the number of threads, as terms are added in order.

    Parameters
    ----------
    parts : iterable
    term_of : callable
        part -> term of the shape, float64.
    shape : tuple of int
    """
    n_threads, total, parts = available_threads(), np.zeros(shape), iter(parts)
    with single_blas_thread():
        while some := list(islice(parts, n_threads)):
            for term in share(n_threads, term_of, some):
                total += term
    return total


class CholeskyFactor(NamedTuple):
    """Factor of a positive semi-definite K = F F', with as many columns as its rank."""

    F: Array  # (n, r)
    lower: Array  # (r, r): F[pivots], lower triangular
    pivots: Array  # (r,)


def pivoted_cholesky(K: Array, tol: float, *, overwrite: bool = False) -> CholeskyFactor:
    """Factor a positive semi-definite matrix, without the columns of pivots up to `tol`.

    With `overwrite`, K in Fortran's order is overwritten.
    """
    factor, pivots, rank, _ = sla.lapack.dpstrf(K, lower=1, tol=tol, overwrite_a=overwrite)
    for j in range(1, rank):
        factor[:j, j] = 0  # a copy by `tril` would be one more matrix of order n^2
    order = pivots - 1
    F = np.empty((K.shape[0], rank))
    F[order] = factor[:, :rank]
    return CholeskyFactor(F, F[order[:rank]], order[:rank])


def asymmetry_of(K: Matrix) -> tuple[float, float]:
    """Return the largest |K - K'| and |K|, for a large dense K in a sample of its tiles.

    For all tiles of a 12000 x 12000 matrix it would take as long as tens of products.
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
        size = float(np.max([size, tile.max(), -tile.min()]))  # propagates NaN, unlike `max`
    return asymmetry, size


def extreme_eigenvalues(K: Matrix) -> tuple[float, float]:
    """Return the smallest and largest eigenvalue, by Lanczos estimates for a large matrix."""
    n = K.shape[0]
    if n <= MOST_DECOMPOSED:
        dense = np.asarray(as_dense(K), dtype=np.float64)
        values = sla.eigvalsh(dense, check_finite=False)
        return float(values[0]), float(values[-1])
    basis, images = np.zeros((_LANCZOS_STEPS, n)), np.zeros((_LANCZOS_STEPS, n))
    q = np.random.default_rng(0).standard_normal(n)
    for step in range(_LANCZOS_STEPS):
        basis[step] = q / np.linalg.norm(q)
        images[step] = q = (K @ basis[step].astype(K.dtype)).astype(np.float64)
        # Orthogonalised twice: if the basis spans the range of a K of low rank, the remainder is
        # rounding error, and a basis that is not orthonormal would add spurious eigenvalues.
        once = q - basis[: step + 1].T @ (basis[: step + 1] @ q)
        q = once - basis[: step + 1].T @ (basis[: step + 1] @ once)
        if not np.linalg.norm(q) > np.linalg.norm(once) / 2:
            break  # the remainder is rounding error, as the basis spans the range
    compressed = basis[: step + 1] @ images[: step + 1].T
    ritz = sla.eigvalsh((compressed + compressed.T) / 2, check_finite=False)
    return min(float(ritz[0]), float(K.diagonal().min())), float(ritz[-1])
