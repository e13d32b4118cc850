r"""Greedy experimental design on a graph: choice of the most informative points.

Values on the points with the prior precision L + delta of a graph are, on the span of the k
smoothest eigenvectors, V z with z normal of variances 1 / (sigma_i + delta). A label with noise at
a point leaves them with a smaller covariance C: by

.. math:: \frac{\|C_{\cdot i}\|^2}{C_{ii} + s^2}

in the sum of all variances for one at i ("V-optimality", M. Ji and J. Han, "A variance minimization
criterion to active learning on graphs", AISTATS 2012). Taking the largest again and again, with C
as it is after each, makes a batch in which no point repeats what another says, and needs no label
to begin with. Times how unsure an answer is, it asks where the answer would change as well (K.
Miller and A. L. Bertozzi, "Model change active learning in graph-based semi-supervised learning",
2024).

C has rank k: all of it is n x k. The power of the operator is left out: of eigenvalues whose
squares span ten decades a few vectors would hide all others (on coil20, 60 labels asked for five at
a time, 12.1 % error in the mean instead of 13.8).
"""

from __future__ import annotations

import numpy as np

from lapwing._arrays import Array
from lapwing.graphs.base import CSR
from lapwing.graphs.laplacian import Laplacian
from lapwing.graphs.spectral import Eigenpairs, smallest_eigenpairs

# Variance of a label's noise over the mean prior variance of a point.
_NOISE = 0.01
_ROUNDING = 1e-9  # relative: gains that differ by less are equal
# delta in the median eigenvalue. The null vectors, one a component, would outweigh all else without
# it; with it in the smallest eigenvalue they nearly do (coil2: 18.2 % instead of 14.7).
_FLOOR = 0.1
# Eigenvectors of the graph to choose points by. More than a tenth of the points say what is special
# about single ones: a batch would then leave whole clusters out.
_EIGENVECTORS, _FEW, _SHARE = 100, 10, 0.1


def spectral_prior(values: Array, vectors: Array) -> Array:
    """Compute coordinates Z (n, k) with Z Z' the prior covariance of the values on the points.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Smallest eigenvalues of the Laplacian.
    vectors : ndarray of shape (n, k)

    Returns
    -------
    ndarray of shape (n, k)
        Scaled to a mean variance of 1.
    """
    precision = np.maximum(values, 0.0)
    positive = precision[precision > 0]
    floor = _FLOOR * float(np.median(positive)) if len(positive) else 1.0
    Z = vectors.astype(np.float64) / np.sqrt(precision + floor)
    size = np.sqrt((Z * Z).sum() / len(Z))
    return np.asarray(Z / size if size > 0 else Z)


def design_of(laplacian: Laplacian, pairs: Eigenpairs | None = None) -> Array:
    """Compute the coordinates of a graph's points for the design.

    Parameters
    ----------
    laplacian : Laplacian
        Of the graph.
    pairs : Eigenpairs, optional
        Its smallest eigenpairs, as many as wanted at least; computed if None.

    Returns
    -------
    ndarray of shape (n, r)
        Of `spectral_prior`.
    """
    n = laplacian.n_points
    k = min(_EIGENVECTORS, max(_FEW, int(_SHARE * n)), n)
    if pairs is None:
        pairs = smallest_eigenpairs(laplacian, k)
    return spectral_prior(pairs.values[:k], pairs.vectors[:, :k])


def cover(
    laplacian: Laplacian, observed: Array, k: int, counts: Array, design: Array | None = None
) -> Array:
    """Choose the k points to label first, when nothing is known.

    Parameters
    ----------
    laplacian : Laplacian
        Of the graph.
    observed : ndarray of int
        Points that have labels; there may be none.
    k : int
        How many; fewer are given if no more are free.
    counts : ndarray of shape (n,)
        How many rows each point stands for.
    design : ndarray of shape (n, r), optional
        Of `design_of`, if it is there.

    Returns
    -------
    ndarray of int of shape (k,)
        The most informative first.
    """
    free = np.ones(laplacian.n_points, dtype=bool)
    free[observed] = False
    return most_informative(
        design_of(laplacian) if design is None else design,
        observed,
        min(k, int(free.sum())),
        np.ones(laplacian.n_points),
        free,
        counts,
        laplacian.affinity,
    )


def most_informative(
    Z: Array,
    observed: Array,
    k: int,
    unsure: Array,
    allowed: Array,
    counts: Array,
    affinity: CSR | None = None,
) -> Array:
    """Choose the k points to label next, the most informative first.

    Parameters
    ----------
    Z : ndarray of shape (n, r)
        Of `spectral_prior`.
    observed : ndarray of int
        Points that have labels.
    k : int
    unsure : ndarray of shape (n,)
        Factors >= 0.
    allowed : ndarray of bool of shape (n,)
        Points that may be asked, k at least.
    counts : ndarray of shape (n,)
        How many rows each point stands for.
    affinity : sparse matrix of shape (n, n), optional
        No two neighbours in it are chosen, as long as there are others.

    Returns
    -------
    ndarray of int of shape (k,)
    """
    R = _posterior_root(Z, observed)
    rows, chosen = Z @ R, np.zeros(k, dtype=np.intp)  # C = rows rows'
    left, free = allowed.copy(), allowed.copy()
    for step in range(k):
        if not free.any():
            free = left.copy()
        gram = (rows.T * counts) @ rows
        explained = np.einsum("ij,jk,ik->i", rows, gram, rows, optimize=True)
        gain = unsure * explained / ((rows * rows).sum(axis=1) + _NOISE)
        gain[~free] = -1.0
        best = int(np.argmax(gain >= gain.max() - _ROUNDING * abs(gain.max())))  # the first of ties
        chosen[step], left[best], free[best] = best, False, False
        if affinity is not None:
            free[affinity.indices[affinity.indptr[best] : affinity.indptr[best + 1]]] = False
        rows = _told(rows, rows[best])
    return chosen


def _posterior_root(Z: Array, observed: Array) -> Array:
    """Compute R with R R' = (I + Z_L' Z_L / s^2)^-1, the posterior covariance over Z."""
    seen = Z[observed]
    values, V = np.linalg.eigh(seen.T @ seen / _NOISE)
    return np.asarray(V / np.sqrt(1 + np.maximum(values, 0.0)))


def _told(rows: Array, row: Array) -> Array:
    """Update the rows of a root of the covariance for a label at the point of a row."""
    size = float(row @ row)
    if size <= 0:
        return rows
    # (I - t r r')^2 = I - r r' / (|r|^2 + s^2)
    shrink = (1 - np.sqrt(_NOISE / (size + _NOISE))) / size
    return np.asarray(rows - np.outer(rows @ row, shrink * row))
