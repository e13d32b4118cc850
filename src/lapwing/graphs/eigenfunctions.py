r"""Eigenfunctions of the smoothness operator of a density that is a product over directions.

On a product density :math:`p(s) = \prod_d p_d(s_d)` the eigenfunctions of the smallest eigenvalues
are functions of one coordinate (Fergus, Weiss and Torralba, "Semi-supervised learning in gigantic
image collections", NIPS 22, 2009). Each p_d is a histogram; with its values P on B bins,
Gaussian affinities W between their centres and the degrees D of PWP, the generalised eigenproblem

.. math:: (D - P W P)\, g = \sigma\, D\, g

(the paper's right-hand side is P times the column sums of PW, which equals D) gives one-dimensional
functions g. The k functions with the smallest :math:`\sigma > 0` over all directions are used, and
the constant, with :math:`\sigma = 0` in every direction, once. Values at points are interpolated
linearly between the centres of the bins.

The rotation to principal directions makes coordinates uncorrelated, not independent. If they are
dependent, the density is not a product, and the functions are merely a basis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla
from sklearn.decomposition import PCA

from lapwing._arrays import Array, as_dense, is_sparse
from lapwing._host.memory import require_memory
from lapwing._host.warn import warn
from lapwing._rows.base import PointData, blocks_of, is_rows, moments_of
from lapwing.exceptions import TiedPointsWarning
from lapwing.graphs.base import check_magnitude
from lapwing.graphs.order_statistics import Columns, StreamedColumns, ViewedColumns, quantiles

_BLOCK_BYTES = 2**24  # of coordinates: 16 MB, as several copies are in memory
_MOST_BINS = 2000  # half a second per direction
_COPIES = 6  # of a matrix of bins: places, affinities, operator, and eigenvectors with workspace
_EVEN = 0.1  # fraction of a uniform density mixed into each density, so that no bin is empty
# Default limit of the number of functions. As the operator is bounded, the hundredth function is
# penalised little more than the tenth, and few labels are fitted by spikes. Errors with 30, 50 and
# 100 functions at lam = 100: g241c with 100 labels 16.1, 19.9 and 32.2 %, with 10 labels 31.7, 34.6
# and 38.8 %; MNIST with 100 labels 28.8, 27.7 and 27.6 %.
_MOST = 30
_TIED = 1e-9  # difference of equal eigenvalues, which are between 0 and 1
_MOST_TIES = 4  # limit of the number of functions with all ties, relative to that requested
_BANDWIDTH = 0.2  # default, in standard deviations of the first direction

FLAT = 1e-6  # relative standard deviation below which a direction is only rounding
# Features up to which the covariance (32 MB) is decomposed; beyond it Lanczos' method is used.
_COVARIANCE_FEATURES = 2000
# Difference of variances, relative to the largest, up to which they are tied. Those of random
# points differ by more, and eigenvectors are then exact to 1e-7.
_EQUAL = 1e-9
# Limit of axes per dimension of tied variances. One-hot codes have up to 1.5; if every feature has
# an axis of its own (points on a circle, with many features) there are too many.
_MOST_AXES = 4
_SHORT = 1e-8  # relative squared length of a projected axis below which it is only rounding
_PARALLEL = 1e-9  # 1 - cos^2 of two parallel axes


@dataclass(frozen=True, eq=False)
class Eigenfunctions:
    """The constant function, and k functions of one principal coordinate each.

    Attributes
    ----------
    rotation : Rotation
        q principal directions.
    starts, widths : ndarray of shape (q,)
        Centre of the first bin in each direction, and the distance between centres.
    dimension : ndarray of int of shape (k,)
        Direction that each function depends on.
    eigenvalues : ndarray of shape (k + 1,)
        Ascending; the first is 0, for the constant.
    values : ndarray of shape (k, n_bins)
        Values at the centres of the bins. The vectors of values at the training points, moved to
        the centres, have norm 1.
    constant : float
        Value of the constant, 1 / sqrt(n).
    bandwidth : float
        Standard deviation of the affinities, in the units of the points.
    """

    rotation: Rotation
    starts: Array
    widths: Array
    dimension: Array
    eigenvalues: Array
    values: Array
    constant: float
    bandwidth: float

    def evaluate(self, X: PointData) -> Array:
        """Evaluate all functions at points.

        Parameters
        ----------
        X : ndarray, csr or Rows of shape (n, n_features)
            The points.

        Returns
        -------
        ndarray of shape (n, k + 1)
            The constant first.
        """
        k = len(self.dimension)
        columns = np.eye(k, k + 1, 1)
        return self.expand(X, columns, self.constant * np.eye(1, k + 1)[0])

    def expand(self, X: PointData, alpha: Array, intercept: Array) -> Array:
        """Evaluate sum_k alpha_k g_k + intercept at points, in row blocks.

        The functions of a direction are summed on its bins first, so that the cost does not depend
        on the number of eigenfunctions.

        Parameters
        ----------
        X : ndarray, csr or Rows of shape (n, n_features)
            The points.
        alpha : ndarray of shape (k, c)
            Coefficients, one column for each result.
        intercept : ndarray of shape (c,)
            Added to each column.

        Returns
        -------
        ndarray of shape (n, c)
            Values; functions are constant beyond the range of the bins.
        """
        out = np.tile(intercept, (X.shape[0], 1))
        used = np.unique(self.dimension)
        tables = {j: self.values[self.dimension == j].T @ alpha[self.dimension == j] for j in used}
        directions = self.rotation.directions[:, used]
        for block, rows in _dense_blocks(X):
            along = (rows - self.rotation.mean) @ directions
            for coordinate, j in zip(along.T, used, strict=True):
                position = (coordinate - self.starts[j]) / self.widths[j]
                out[block] += _interpolate(position, tables[j])
        return out


def fit_eigenfunctions(
    X: PointData,
    *,
    n_components: int = 64,
    n_functions: int | None = None,
    n_bins: int = 100,
    bandwidth: float | None = None,
    clip: float = 0.025,
) -> Eigenfunctions:
    """Compute the eigenfunctions of the distribution of points.

    Parameters
    ----------
    X : ndarray, csr or Rows of shape (n, n_features)
        The points; read in blocks.
    n_components : int, default=64
        q, the number of principal directions; fewer if the data have lower rank, more if variances
        are tied.
    n_functions : int, default=None
        k without the constant; None is 2 q but at most 30. Fewer if there are no more; functions
        that are tied for the last place are used together or not at all.
    n_bins : int, default=100
        B, from 3 to 2000. The width of the affinities between bins is a fifth of a standard
        deviation, so the eigenproblem of a direction is dense for any number of bins.
    bandwidth : float, default=None
        Standard deviation of the affinities between bins, in the units of X. None is 0.2 times the
        standard deviation along the first direction, but at least the width of the widest bin.
    clip : float, default=0.025
        Fraction of the points at each end of a direction that are moved to the last bin.

    Returns
    -------
    Eigenfunctions
        Eigenfunctions; only the constant if all points are equal.

    Raises
    ------
    ValueError
        If the bandwidth is less than the width of the bins, there are more than 2000 bins, or
        squares of the points overflow or underflow.
    MemoryError
        If the matrices of the bins do not fit into memory.

    Warns
    -----
    TiedPointsWarning
        If directions or functions are tied, so that the result depends on the order of the columns.
    """
    check_bins(n_bins)
    check_magnitude(X)
    rotation = principal_rotation(X, n_components)
    return eigenfunctions_along(
        rotation,
        _columns(X),
        X.shape[0],
        n_functions=n_functions,
        n_bins=n_bins,
        bandwidth=bandwidth,
        clip=clip,
    )


def eigenfunctions_along(
    rotation: Rotation,
    points: ViewedColumns,
    n: int,
    *,
    n_functions: int | None,
    n_bins: int,
    bandwidth: float | None,
    clip: float,
) -> Eigenfunctions:
    """Compute the eigenfunctions along principal directions; see `fit_eigenfunctions`.

    Parameters
    ----------
    rotation : Rotation
    points : ViewedColumns
        The features of the points.
    n : int
        Number of points.
    n_functions : int or None
    n_bins : int
    bandwidth : float or None
    clip : float
    """
    q = len(rotation.deviations)
    require_memory(
        8.0 * n_bins * (_COPIES * n_bins + 2 * q),
        f"The eigenproblem of {n_bins} bins",
        "Use fewer bins (n_bins=100).",
    )
    shares, starts, widths = _histograms(rotation, points, n, n_bins, clip)
    widest = float(widths.max(initial=0.0))
    if bandwidth is None:
        bandwidth = max(_BANDWIDTH * float(rotation.deviations.max(initial=0.0)), widest)
    elif bandwidth < widest:
        raise ValueError(
            f"bandwidth={bandwidth:g} is less than the width of the {n_bins} bins, up to "
            f"{widest:.3g}: they cannot resolve it. Use a larger bandwidth or more bins (n_bins)."
        )
    k = min(2 * q, _MOST) if n_functions is None else n_functions
    found = [
        density_eigenfunctions((1 - _EVEN) * h + _EVEN / n_bins, width / bandwidth, k)
        for h, width in zip(shares, widths, strict=True)
    ]
    eigenvalues = np.concatenate([[], *(sigma for sigma, _ in found)])
    dimension = np.repeat(np.arange(q), [len(sigma) for sigma, _ in found])
    chosen = _smoothest(eigenvalues, k)
    dimension = dimension[chosen]
    values = np.vstack([np.empty((0, n_bins)), *(g.T for _, g in found)])[chosen]
    norms = np.sqrt(n * np.einsum("kb,kb->k", shares[dimension], values**2))
    return Eigenfunctions(
        rotation,
        starts,
        widths,
        dimension,
        np.concatenate([[0.0], eigenvalues[chosen]]),
        values / np.where(norms > 0, norms, 1.0)[:, None],
        1 / float(np.sqrt(n)),
        float(bandwidth),
    )


def density_eigenfunctions(density: Array, spacing: float, k: int) -> tuple[Array, Array]:
    """Compute the eigenfunctions of the smoothness operator of a density on a line.

    Parameters
    ----------
    density : ndarray of shape (B,)
        Positive, at equally spaced places.
    spacing : float
        Distance between neighbouring places, relative to the bandwidth of the affinities.
    k : int
        Number of functions without the constant, at most B - 1.

    Returns
    -------
    eigenvalues : ndarray of shape (min(k, B - 1),)
        Ascending, between 0 and 1 (the affinities are positive definite).
    functions : ndarray of shape (B, min(k, B - 1))
        Functions with g'Dg = 1.
    """
    places = np.arange(len(density)) * spacing
    affinity = np.exp(-((places[:, None] - places) ** 2) / 2)
    joint = density[:, None] * affinity * density
    root = np.sqrt(joint.sum(axis=1))
    smooth = joint / root[:, None] / root
    # I - smooth has the wanted eigenvalues at its small end; eigh is accurate to its norm.
    last = min(k, len(density) - 1)
    operator = np.eye(len(density)) - (smooth + smooth.T) / 2
    eigenvalues, vectors = sla.eigh(operator, subset_by_index=[0, last], check_finite=False)
    return np.maximum(eigenvalues[1:], 0), vectors[:, 1:] / root[:, None]


def _smoothest(eigenvalues: Array, k: int) -> Array:
    """Return the indices of the k smallest, ascending, with all or none of ties for the last place.

    Directions with the same distribution of points have equal eigenvalues.
    """
    order = np.argsort(eigenvalues, kind="stable")
    if len(order) <= k:
        return order
    last = eigenvalues[order[k - 1]]
    below = int(np.count_nonzero(eigenvalues < last - _TIED))
    whole = int(np.count_nonzero(eigenvalues <= last + _TIED))
    # Functions with the eigenvalue 1 change from bin to bin: any choice among them is equally good.
    if whole == k or last > 1 - _TIED:
        return order[:k]
    sizes = [below] * (2 * below >= k) + [whole] * (whole <= _MOST_TIES * k)
    if not sizes:
        warn(
            f"{whole - below} eigenfunctions are equally smooth: which of them are among the {k}, "
            "and with it many answers, follows the order of the columns. Use LapERLSClassifier(), "
            f"whose graph has no directions, or n_eigenfunctions={whole}.",
            TiedPointsWarning,
        )
    return order[: min(sizes, key=lambda size: abs(size - k), default=k)]


def _neighbors_of(position: Array, n_bins: int) -> tuple[Array, Array]:
    """Return the bin below each position (in bins, clipped), and the weight of the next bin."""
    position = np.clip(position, 0, n_bins - 1)
    below = np.minimum(position.astype(np.intp), n_bins - 2)
    return below, position - below


def _interpolate(position: Array, table: Array) -> Array:
    """Interpolate linearly between the rows of a table (B, c)."""
    below, share = _neighbors_of(position, len(table))
    share = share[:, None]
    return np.asarray(table[below] * (1 - share) + table[below + 1] * share)


def check_bins(n_bins: int) -> None:
    """Raise ValueError if there are so many bins that the eigenproblems take too long."""
    if n_bins > _MOST_BINS:
        raise ValueError(
            f"n_bins={n_bins} must be at most {_MOST_BINS}: each direction takes a dense "
            "eigenproblem of that size. 100 bins resolve the default bandwidth many times over."
        )


class _Histograms(NamedTuple):
    """Histograms of the points along some directions."""

    shares: Array  # (q, B): of the points, in each bin
    starts: Array  # (q,): centres of the first bins
    widths: Array  # (q,): distances between centres


def _histograms(
    rotation: Rotation, points: ViewedColumns, n: int, n_bins: int, clip: float
) -> _Histograms:
    """Count points in bins between two quantiles of their coordinates, in several passes."""
    along = points.view(_along, rotation)
    bounds, ends = quantiles(along, n, [clip, 1 - clip])
    # The quantiles are equal if nearly all points share a coordinate.
    lumped = bounds[1] - bounds[0] <= FLAT * rotation.deviations
    low, high = np.where(lumped, ends, bounds)
    widths = (high - low) / n_bins
    starts = low + widths / 2
    return _Histograms(along.total(_counts, starts, widths, n_bins) / n, starts, widths)


def _along(block: Array, rotation: Rotation) -> Array:
    return np.asarray((block - rotation.mean) @ rotation.directions)


def _counts(block: Array, starts: Array, widths: Array, n_bins: int) -> Array:
    """Count points in bins (q, B), with each point divided between the two nearest centres.

    Otherwise the counts would depend on rounding for points on the edges of bins, as for grids.
    """
    counts = np.empty((len(starts), n_bins))
    for position, row in zip(((block - starts) / widths).T, counts, strict=True):
        below, share = _neighbors_of(position, n_bins)
        row[:] = np.bincount(below, 1 - share, n_bins) + np.bincount(below + 1, share, n_bins)
    return counts


@dataclass(frozen=True, eq=False)
class Rotation:
    """Principal directions.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        Mean of the training points, float64.
    directions : ndarray of shape (n_features, q)
        Unit vectors as columns, float64. Directions of different standard deviations are
        orthogonal; those of equal ones need not be.
    deviations : ndarray of shape (q,)
        Standard deviations along the directions, descending.
    """

    mean: Array
    directions: Array
    deviations: Array


def principal_rotation(X: PointData, n_components: int) -> Rotation:
    """Compute the principal directions of points.

    Parameters
    ----------
    X : ndarray, csr or Rows of shape (n, n_features)
        The points.
    n_components : int
        Dimension of the span of the directions; more if variances are tied.

    Returns
    -------
    Rotation
        Directions, independent of the order of rows and columns up to signs.

    Warns
    -----
    TiedPointsWarning
        If more directions are tied than can be kept.
    """
    return rotation_along(*_decomposed(X, n_components), n_components)


def rotation_along(mean: Array, variances: Array, vectors: Array, n_components: int) -> Rotation:
    """Compute principal directions from the eigenpairs of a covariance; see `principal_rotation`.

    Parameters
    ----------
    mean : ndarray of shape (n_features,)
    variances : ndarray of shape (r,)
        Descending; one more than `n_components` or more, if there are enough.
    vectors : ndarray of shape (n_features, r)
        Orthonormal.
    n_components : int
    """
    deviations = np.sqrt(np.maximum(variances, 0))
    deviations = deviations[deviations > FLAT * deviations.max(initial=0.0)]
    directions, lengths, n_cut = [np.empty((len(mean), 0))], [], 0
    found = 0
    for group in _equal(deviations):
        room = n_components - found
        if room <= 0:
            break
        space = vectors[:, group]
        size = space.shape[1]
        axes = space if size == 1 else _projected_axes(space, _MOST_AXES * min(size, room))
        if axes is None:
            n_cut, axes = size, space[:, :room]
        directions.append(axes)
        lengths += [float(deviations[group].mean())] * axes.shape[1]
        found += size
    if n_cut:
        warn(
            f"The points vary equally along {n_cut} directions: which axes are taken of them, and "
            "with it many answers, follows the order of the columns. Use LapERLSClassifier(), "
            "whose graph has no directions, or a larger n_components.",
            TiedPointsWarning,
        )
    return Rotation(mean, np.ascontiguousarray(np.hstack(directions)), np.array(lengths))


def _decomposed(X: Any, n_components: int) -> tuple[Array, Array, Array]:
    """Return the mean, descending variances and orthonormal directions.

    There is at least one direction more than requested, to detect ties of the last ones.
    """
    n, d = X.shape
    if d <= _COVARIANCE_FEATURES or is_rows(X):
        known = moments_of(X).mean if is_rows(X) else X.mean(axis=0, dtype=np.float64)
        mean = np.asarray(known).ravel()
        return mean, *covariance_eigenpairs(_columns(X), n, mean)
    q = min(n_components + 1, min(n, d) - 1)
    require_memory(
        8 * d * (2 * q + 20) + (0 if is_sparse(X) else X.nbytes),
        f"{min(n_components, q)} principal directions of {d} features",
        "Reduce the features first, e.g. by TruncatedSVD.",
    )
    # A fixed seed, so that the result is reproducible.
    pca = PCA(q, svd_solver="arpack", random_state=0).fit(X)
    parts = (pca.mean_, pca.explained_variance_, pca.components_.T)
    mean, variances, vectors = (part.astype(np.float64) for part in parts)
    return mean, variances, vectors


def covariance_eigenpairs(columns: Columns, n: int, mean: Array) -> tuple[Array, Array]:
    """Compute descending variances (d,) and principal directions (d, d) of n points."""
    d = len(mean)
    require_memory(
        3.0 * 8 * d * d,
        f"The covariance of {d} features",
        "Reduce the features first, e.g. by a random projection.",
    )
    variances, vectors = sla.eigh(columns.total(_scatter, mean) / n, check_finite=False)
    return variances[::-1], vectors[:, ::-1]


def _scatter(block: Array, mean: Array) -> Array:
    centred = block - mean  # avoids cancellation
    return np.asarray(centred.T @ centred)


def _dense_blocks(X: PointData) -> Iterator[tuple[slice, Array]]:
    for block, points in blocks_of(X, 8 * X.shape[1], _BLOCK_BYTES):
        rows = as_dense(points)
        yield block, rows.astype(np.float64, copy=False)


def _columns(X: PointData) -> StreamedColumns:
    return StreamedColumns(lambda: (rows for _, rows in _dense_blocks(X)))


def _equal(deviations: Array) -> list[slice]:
    """Return the runs of equal numbers among descending ones."""
    variances = deviations**2
    if not len(variances):
        return []
    ends = np.flatnonzero(-np.diff(variances) > _EQUAL * variances[0]) + 1
    edges = [0, *ends.tolist(), len(variances)]
    return [slice(*edge) for edge in pairwise(edges)]


def _projected_axes(space: Array, most: int) -> Array | None:
    """Project the axes of the features to a subspace, and scale them to unit length.

    Parameters
    ----------
    space : ndarray of shape (n_features, m)
        An orthonormal basis; its rows are the projected axes in this basis.
    most : int
        Maximum number of axes that are not parallel; with more, None is returned.
    """
    squares = np.einsum("jm,jm->j", space, space)
    axes = space[squares > _SHORT * squares.max()]
    axes = axes / np.linalg.norm(axes, axis=1, keepdims=True)
    kept: list[Array] = []
    while len(axes):
        if len(kept) == most:
            return None
        kept.append(axes[0])
        axes = axes[1 - (axes @ axes[0]) ** 2 > _PARALLEL]
    return np.asarray(space @ np.array(kept).T)
