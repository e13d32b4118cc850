r"""Smallest eigenpairs of a graph Laplacian: closed form, dense or iterative.

.. math:: L v_i = \sigma_i v_i, \qquad 0 = \sigma_1 \le \sigma_2 \le \dots \le \sigma_k.

The null vectors are not computed, as they are known: the indicators of the connected components,
times D^1/2 for the normalised Laplacian. Their eigenvalues are set to exactly 0 instead of -3e-18
(errata E8), and the other eigenpairs are computed in the complement, where L is not singular
(errata E10): by LAPACK for small graphs or many vectors, otherwise by `lapwing.graphs.chebyshev`,
which has a comparison with other methods.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from joblib import Memory
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from lapwing._arrays import Array, RandomSource, row_blocks
from lapwing._host.files import cached
from lapwing._host.memory import require_memory
from lapwing._host.warn import warn
from lapwing._parameters import COUNT, Rule, check, is_count, is_number
from lapwing.graphs.base import CSR
from lapwing.graphs.chebyshev import Ritz, block_width, smallest_by_filter
from lapwing.graphs.laplacian import Laplacian

_LOGGER = logging.getLogger("lapwing")

# Up to this number of points LAPACK takes less than a second. For more vectors than this fraction
# of n, it takes less time than an iterative method, which is dense as well.
DENSE_POINTS = 1000
_DENSE_SHARE = 0.2
# Smallest residual that iterations reach, in rounding units of the norm of L: float32 sums of some
# ten products.
_ROUNDINGS = 40
_ROWS = 2**16  # copied at a time
_RESIDUAL_BYTES = 2**28
_RULES: dict[str, Rule] = {
    "tol": (lambda v: is_number(v) and 0 < v < 1, "a number between 0 and 1"),
    "slack": (lambda v: is_number(v) and 0 <= v < 1, "a number of at least 0 and less than 1"),
    "max_iter": COUNT,
}
_CUT = 1e-6  # relative gap below which two eigenvalues may be copies of one


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """The k smallest eigenpairs of a Laplacian.

    Attributes
    ----------
    values : ndarray of shape (k,), float64
        Eigenvalues of L, whatever the power of the operator: ascending, not negative.
    vectors : ndarray of shape (n, k)
        Orthonormal columns, in the precision of the Laplacian's matrix. The entry of largest
        magnitude is positive in each. The first min(n_components, k) are the null vectors.
    n_components : int
        Number of connected components, which is the multiplicity of the eigenvalue 0 of L; may
        exceed k.
    residual : float
        Largest norm of L v - sigma v over all pairs.
    tolerance : float
        Requested residual.
    gap : float
        1 - sigma_k / sigma_{k+1}; 1 for k = n. If 0, sigma_k is a multiple eigenvalue of which some
        vectors are left out, so the span of the vectors depends on the eigensolver and not only on
        the graph (errata E10).
    method : str
        'components', 'dense' or 'chebyshev'.
    n_iter : int
        Number of iterations of 'chebyshev'.
    """

    values: Array
    vectors: Array
    n_components: int
    residual: float
    tolerance: float
    gap: float
    method: str
    n_iter: int

    @property
    def converged(self) -> bool:
        """Whether the residual is within the tolerance."""
        return self.residual <= self.tolerance


def smallest_eigenpairs(
    laplacian: Laplacian,
    k: int,
    *,
    tol: float = 1e-6,
    slack: float = 0.0,
    max_iter: int = 100,
    random_state: RandomSource = 0,
    memory: Memory | str | None = None,
    callback: Callable[[], object] | None = None,
) -> Eigenpairs:
    """Compute the k smallest eigenpairs of a Laplacian.

    Parameters
    ----------
    laplacian : Laplacian
        Laplacian of n points. Its power is ignored: the pairs are those of L, and the eigenvalues
        of L^p are their p-th powers. float32 matrices are iterated in float32.
    k : int
        Number of eigenpairs, from 1 to n.
    tol : float, default=1e-6
        Tolerance on the norm of L v - sigma v, relative to an upper bound of the norm of L: 2 for
        the normalised Laplacian, twice the largest degree otherwise. At least 40 rounding units of
        the precision (5e-6 in float32, 9e-15 in float64).
    slack : float, default=0.0
        Alternative tolerance < 1, relative to the largest of the k eigenvalues. The pairs are then
        exact for a graph that differs by this fraction, and the error of an eigenvalue is about its
        square. 0.01 takes a half to a tenth of the products.
    max_iter : int, default=100
        Maximum number of iterations, after which an approximation is returned with a warning.
    random_state : int, RandomState instance or None, default=0
        Seed of the start of the iteration.
    memory : str or joblib.Memory, default=None
        Cache of the result, as in scikit-learn: a second call with the same graph and arguments
        (except ``callback``) reads it.
    callback : callable, default=None
        Called without arguments after each iteration.

    Returns
    -------
    Eigenpairs
        Eigenpairs, bit-identical for the same arguments on the same machine.

    Raises
    ------
    ValueError
        If k is not from 1 to n, tol or max_iter is not positive, slack is negative, or memory
        cannot be written.
    MemoryError
        If the vectors do not fit into memory.

    Warns
    -----
    ConvergenceWarning
        If the residual is above the tolerance after max_iter iterations.

    Notes
    -----
    With more components than k, the vectors are those of the k largest components (of equal ones
    those with the earliest points), and 0 on all other components. This, and a `gap` of less than
    1e-6, is reported in the log of 'lapwing'.

    Time is that of about eighty to two hundred sparse products with k + max(10, k / 5) vectors, and
    memory that of about seven such blocks. Up to 1000 points, and if these vectors are more than a
    fifth of n, a dense solver with time O(n^3) and memory O(n^2) is used.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.graphs import Laplacian, smallest_eigenpairs
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> smallest_eigenpairs(Laplacian.from_affinity(path, normalized=False), 3).values.round(6)
    array([0., 1., 3.])
    """
    k = _check(laplacian, k, tol, slack, max_iter)
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    # Plain arrays, as the hash of matrices and operators would include their cached attributes.
    W = laplacian.affinity
    graph = (W.data, W.indices, W.indptr), laplacian.normalized, laplacian.dtype.str
    options = k, float(tol), float(slack), int(max_iter), seed
    compute = partial(_compute, laplacian, *options, callback)
    found = cached(memory, ("eigenpairs", graph, options), compute)
    warn_eigenpairs(found, k)
    return found


def _check(laplacian: Laplacian, k: Any, tol: object, slack: object, max_iter: object) -> int:
    n = laplacian.n_points
    if not is_count(k) or k > n:
        raise ValueError(
            f"k={k!r} must be a whole number from 1 to the number of points, {n}, which is "
            "the number of eigenpairs."
        )
    check({"tol": tol, "slack": slack, "max_iter": max_iter}, _RULES)
    return int(k)


def warn_eigenpairs(found: Eigenpairs, k: int) -> None:
    """Warn if eigenpairs are inexact or fewer than requested."""
    # Here and not in the solver, so that there are warnings for cached pairs as well.
    if not found.converged:
        warn(
            f"The eigenpairs of the Laplacian have a residual of {found.residual:.3g} after "
            f"{found.n_iter} iterations, but {found.tolerance:.3g} was requested. Raise max_iter "
            f"(or tol), use a few more eigenpairs than {k}, so that the last one is not within a "
            "cluster of eigenvalues, or use the normalised Laplacian.",
            ConvergenceWarning,
        )
    if found.n_components > k:
        _LOGGER.warning(
            "The graph has %d connected components, but %d eigenvectors are requested: they are 0 "
            "outside the %d largest components. Connect the components (more neighbours), or use "
            "more eigenvectors than there are components.",
            found.n_components,
            k,
            k,
        )
    elif found.gap < _CUT:
        _LOGGER.warning(
            "Eigenvalues %d and %d of the Laplacian agree to %.1e: the span of the eigenvectors is "
            "not determined by the graph. Use a few more or fewer eigenpairs.",
            k,
            k + 1,
            found.gap,
        )


def _compute(
    laplacian: Laplacian,
    k: int,
    tol: float,
    slack: float,
    max_iter: int,
    seed: int,
    callback: Callable[[], object] | None,
) -> Eigenpairs:
    null = _null_vectors(laplacian)  # of the given operator, which caches its components
    laplacian = replace(laplacian, power=1)
    largest = 0.0 if laplacian.normalized else float(laplacian.degrees.max())
    limits = limits_of(laplacian.normalized, largest, laplacian.dtype, tol)
    n, zeros = null.shape
    known, m = null[:, : min(k, zeros)], k - min(k, zeros)
    if m == 0:
        found, method = nothing_but_null(np.empty((n, 0)), k, zeros), "components"
    elif n <= DENSE_POINTS or block_width(m) > _DENSE_SHARE * n:
        found, method = _dense(laplacian, null, m, limits.upper), "dense"
    else:
        _forecast(n, m, laplacian)
        method = "chebyshev"
        found = smallest_by_filter(
            laplacian.matrix, m, null, *limits, slack, max_iter, seed, callback
        )
    vectors = np.empty((n, k), dtype=laplacian.dtype)
    # In blocks of rows, as the null vectors may be as large as the result.
    for rows in row_blocks(n, 1, _ROWS):
        vectors[rows, : k - m] = known[rows].toarray()
    vectors[:, k - m :] = _with_sign(found.vectors)
    return with_null(found, vectors, zeros, limits.tolerance, slack, method)


def nothing_but_null(vectors: Any, k: int, n_components: int) -> Ritz:
    """Return no pairs beyond the null vectors, of which there are at least k."""
    return Ritz(np.empty(0), vectors, 0.0 if n_components > k else np.inf, 0.0, 0)


def with_null(
    found: Ritz, vectors: Any, n_components: int, tolerance: float, slack: float, method: str
) -> Eigenpairs:
    """Make the eigenpairs of a Laplacian from those beyond its null vectors.

    Parameters
    ----------
    found : Ritz
        With ascending values.
    vectors : array of shape (n, k)
        Null vectors, and those that were found.
    n_components : int
    tolerance : float
        Of residuals; `slack` times the largest value is enough as well.
    slack : float
    method : str
    """
    k = vectors.shape[1]
    values = np.concatenate([np.zeros(k - len(found.values)), np.maximum(found.values, 0)])
    tolerance = max(tolerance, slack * float(values[-1]))
    last, following = float(values[-1]), found.following
    gap = 0.0 if following <= last else 1 - last / following  # 1 for k = n: nothing follows
    return Eigenpairs(
        values, vectors, n_components, found.residual, tolerance, gap, method, found.n_iter
    )


class Limits(NamedTuple):
    """Bounds for the iteration."""

    upper: float  # bound of the norm of L
    tolerance: float  # of the lengths of residuals


def limits_of(normalized: bool, largest_degree: float, dtype: np.dtype[Any], tol: float) -> Limits:
    """Return the limits for a Laplacian and the precision of its eigenpairs."""
    upper = 2.0 if normalized else max(2.0 * largest_degree, 1e-300)
    return Limits(upper, max(tol, _ROUNDINGS * float(np.finfo(dtype).eps)) * upper)


def _null_vectors(laplacian: Laplacian) -> CSR:
    """Return orthonormal null vectors (n, n_components), that of the largest component first."""
    labels = laplacian.component_labels
    sizes = np.bincount(labels)
    place = np.empty(len(sizes), dtype=np.intp)
    # Of equal sizes the one with the earliest point is first, as SciPy numbers components so.
    place[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    entries = np.ones(laplacian.n_points)
    if laplacian.normalized:
        # An isolated point has degree 0 and a zero row, so its null vector is its indicator.
        degrees = laplacian.degrees
        entries = np.sqrt(np.where(degrees > 0, degrees, 1.0))
    largest = np.zeros(len(sizes))
    np.maximum.at(largest, labels, entries)
    entries = entries / largest[labels]  # prevents overflow and underflow of squares
    entries /= np.sqrt(np.bincount(labels, entries**2))[labels]
    n = laplacian.n_points
    parts = (entries.astype(laplacian.dtype), place[labels], np.arange(n + 1))
    return cast("CSR", sp.csr_array(parts, shape=(n, len(sizes))))


def _dense(laplacian: Laplacian, null: CSR, m: int, upper: float) -> Ritz:
    """Compute the m smallest pairs beyond the null vectors."""
    n, zeros = null.shape
    require_memory(
        (2 * n * n + 2 * n * m) * 8,
        f"{m} eigenvectors of a graph of {n} points (so many that the dense method is used)",
        f"Use fewer than {int(_DENSE_SHARE * n / 1.2)} eigenvectors.",
    )
    # The null vectors are shifted to the upper end of the spectrum, away from small eigenvalues.
    # The sum is dense, as a sparse one of n^2 entries would take several times the memory.
    N, L = null.toarray().astype(np.float64), laplacian.astype(np.float64).matrix.tocoo()
    A = N @ N.T
    A *= 2 * upper
    A[L.row, L.col] += L.data
    last = min(m, n - zeros - 1)
    s, V = sla.eigh(A, subset_by_index=[0, last], overwrite_a=True, check_finite=False)
    values, vectors = s[:m], V[:, :m]
    residual = _residual(laplacian, np.maximum(values, 0), vectors.astype(laplacian.dtype))
    return Ritz(values, vectors, float(s[m]) if last == m else np.inf, residual, 0)


def _forecast(n: int, m: int, laplacian: Laplacian) -> None:
    item = laplacian.dtype.itemsize
    # Blocks in memory: iterate, product and locked vectors; then locked, sorted and returned ones.
    blocks = max(2 * block_width(m) + m, 3 * m) + 1
    require_memory(
        n * blocks * item + 3 * laplacian.matrix.nnz * (item + 4),
        f"{m} eigenvectors of a graph of {n} points in {laplacian.dtype}",
        "Use fewer eigenvectors, or float32: Laplacian.astype(np.float32).",
    )


def _with_sign(vectors: Array) -> Array:
    """Make the entry of largest magnitude of each column positive, in place."""
    if vectors.shape[1]:
        at = np.array([np.argmax(np.abs(column)) for column in vectors.T])
        vectors *= np.where(vectors[at, np.arange(vectors.shape[1])] < 0, -1, 1)
    return vectors


def _residual(laplacian: Laplacian, values: Array, vectors: Array) -> float:
    """Compute the largest |L v - s v|, without the null vectors."""
    worst = 0.0
    # In blocks of columns, as L V is as large as V.
    width = int(np.clip(_RESIDUAL_BYTES // (8 * len(vectors)), 1, 16))
    for start in range(0, len(values), width):
        V = np.ascontiguousarray(vectors[:, start : start + width])
        difference = laplacian.apply(V) - V * values[start : start + width].astype(V.dtype)
        worst = max(worst, float(np.sqrt((difference.astype(np.float64) ** 2).sum(axis=0)).max()))
    return worst
