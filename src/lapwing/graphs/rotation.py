r"""Principal directions of points, also where points vary as much along several of them.

Where eigenvalues of the covariance are equal, as of all combinations of some codes or of a grid,
any axes of their eigenspace are eigenvectors, and a solver's follow the order of rows and columns.
Instead, the features' own axes e_j are projected to the eigenspace: P e_j do not depend on any
solver. Of a grid they are the axes of the grid, of one-hot codes one direction a level. There may
be more of them than the eigenspace has dimensions: no choice of fewer treats levels alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg as sla
from sklearn.decomposition import PCA

from lapwing._arrays import Array, is_sparse
from lapwing._host.memory import require_memory
from lapwing._host.warn import warn
from lapwing._rows import blocks_of, is_rows, moments_of
from lapwing.exceptions import TiedPointsWarning

FLAT = 1e-6  # standard deviation, relative to the largest, below which a direction is rounding
# Up to so many features the covariance (32 MB) is decomposed, beyond by Lanczos' method.
_COVARIANCE_FEATURES = 2000
_BLOCK_BYTES = 2**24  # of dense rows: 16 MB, as several copies of them are alive
# Of the largest variance: those of random points lie further apart, and eigenvectors of those that
# do are exact to 1e-7.
_EQUAL = 1e-9
# Axes a dimension at most. One-hot codes have up to 1.5; every projected feature a direction of its
# own (of points on a circle, in many features) is too many for so few dimensions.
_MOST_AXES = 4
_SHORT = 1e-8  # squared length of a projected axis, of the longest, that is rounding
_PARALLEL = 1e-9  # 1 - cos^2 of two axes that are one


@dataclass(frozen=True, eq=False)
class Rotation:
    """Principal directions.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        Of the training points, float64.
    directions : ndarray of shape (n_features, q)
        One a column, float64, of length one. Those of different standard deviations are orthogonal,
        those of equal ones need not be.
    deviations : ndarray of shape (q,)
        Standard deviations along them, descending.
    """

    mean: Array
    directions: Array
    deviations: Array


def principal_rotation(X: Any, n_components: int) -> Rotation:
    """Principal directions of points, those in which they vary.

    Parameters
    ----------
    X : ndarray, csr or Rows of shape (n, n_features)
        The points.
    n_components : int
        Dimensions that the directions span, or a few more where the last ones tie.

    Returns
    -------
    Rotation
        The order of rows and columns has no part in it, but for the directions' signs.

    Warns
    -----
    TiedPointsWarning
        If more directions tie than can be kept.
    """
    return rotation_along(*_decomposed(X, n_components), n_components)


def rotation_along(mean: Array, variances: Array, vectors: Array, n_components: int) -> Rotation:
    """Principal directions of a covariance that is decomposed; see `principal_rotation`.

    Parameters
    ----------
    mean : ndarray of shape (n_features,)
    variances : ndarray of shape (r,)
        Descending: one more than asked for at least, if there are so many.
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


def coordinates(X: Any, rotation: Rotation, which: Array) -> Iterator[tuple[slice, Array]]:
    """Row blocks of the coordinates along some of the directions."""
    directions = rotation.directions[:, which]
    for block, rows in _dense_blocks(X):
        yield block, (rows - rotation.mean) @ directions


def _decomposed(X: Any, n_components: int) -> tuple[Array, Array, Array]:
    """Mean, variances descending, and orthonormal directions: one more than asked for at least.

    The next one tells whether the last ties with it.
    """
    n, d = X.shape
    if d <= _COVARIANCE_FEATURES or is_rows(X):
        require_memory(
            3.0 * 8 * d * d if d > _COVARIANCE_FEATURES else 0,
            f"The covariance of {d} features",
            "Reduce the features first.",
        )
        mean, covariance = _moments(X)
        variances, vectors = sla.eigh(covariance, check_finite=False)
        return mean, variances[::-1], vectors[:, ::-1]
    q = min(n_components + 1, min(n, d) - 1)
    require_memory(
        8 * d * (2 * q + 20) + (0 if is_sparse(X) else X.nbytes),
        f"{min(n_components, q)} principal directions of {d} features",
        "Reduce the features first, e.g. by TruncatedSVD.",
    )
    # A start of its own, so that the same points always give the same directions.
    pca = PCA(q, svd_solver="arpack", random_state=0).fit(X)
    parts = (pca.mean_, pca.explained_variance_, pca.components_.T)
    mean, variances, vectors = (part.astype(np.float64) for part in parts)
    return mean, variances, vectors


def _moments(X: Any) -> tuple[Array, Array]:
    """Mean and covariance in float64, of centred blocks: a far origin cancels no digits."""
    n, d = X.shape
    known = moments_of(X).mean if is_rows(X) else X.mean(axis=0, dtype=np.float64)
    mean = np.asarray(known).ravel()
    covariance = np.zeros((d, d))
    for _, block in _dense_blocks(X):
        centred = block - mean
        covariance += centred.T @ centred
    return mean, covariance / n


def _dense_blocks(X: Any) -> Iterator[tuple[slice, Array]]:
    for block, points in blocks_of(X, 8 * X.shape[1], _BLOCK_BYTES):
        rows = points.toarray() if is_sparse(points) else points
        yield block, rows.astype(np.float64, copy=False)


def _equal(deviations: Array) -> list[slice]:
    """Runs of equal numbers among descending ones."""
    variances = deviations**2
    if not len(variances):
        return []
    ends = np.flatnonzero(-np.diff(variances) > _EQUAL * variances[0]) + 1
    edges = [0, *ends.tolist(), len(variances)]
    return [slice(*edge) for edge in pairwise(edges)]


def _projected_axes(space: Array, most: int) -> Array | None:
    """The features' axes, projected to a space and scaled to length one; None for too many.

    Parameters
    ----------
    space : ndarray of shape (n_features, m)
        An orthonormal basis: its rows are the projected axes in that basis.
    most : int
        Axes at most; those parallel to another count once.
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
