r"""Anchor graph: points connected through a small number of anchors.

Each point x has weights over the s nearest of m anchors u_k (Liu, He and Chang, "Large graph
construction for scalable semi-supervised learning", ICML 2010):

- by a kernel (Nadaraya and Watson), :math:`z_k = K_h(x, u_k) / \sum_{k'} K_h(x, u_{k'})` with
  :math:`K_h(x, u) = \exp(-|x - u|^2 / (2 h^2))`,
- or by local anchor embedding, the best reconstruction of x from them.

The more two points share anchors, the larger the weight between them. The operator is in
`lapwing.graphs.laplacian`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array, check_random_state

from lapwing._arrays import Array, Matrix, RandomSource, as_dense, row_blocks
from lapwing._host.memory import require_memory
from lapwing._parameters import Parametrized, named, one_of, parameters
from lapwing._rows.base import PointData, blocks_of, rows_of
from lapwing.graphs.base import CSR, check_magnitude, check_points, check_recipe, tidy
from lapwing.graphs.laplacian import AnchorLaplacian
from lapwing.graphs.search import DIFFERENCE_BYTES, SPARE, TIE
from lapwing.linalg import medians, shifted
from lapwing.problem import distinct_rows, value_order

# k-means need not converge: more iterations or more points per anchor change errors by less than
# another random state.
_ROUNDS = 10
_FEWEST, _MOST = 20, 1000  # default numbers of anchors
_WORKING_MEMORY = 64  # MB of distances in scikit-learn's chunks

# Tolerance on the duality gap of z'Hz / 2, relative to the largest diagonal entry of H.
GAP = 1e-10
# Added to the diagonal, relative to the same entry, as G is singular for affinely dependent
# anchors, such as more anchors than features. It is far below the gap.
_RIDGE = 1e-12
# Each round adds a corner to the support or drops one, and a small multiple of s rounds suffices;
# the limit prevents cycles by rounding. The weights are feasible after every round.
_ROUNDS_PER_CORNER = 20


@dataclass(frozen=True, eq=False)
class Anchors:
    """Anchors, with the parameters of the weights of points over them.

    Attributes
    ----------
    points : ndarray of shape (m, n_features)
        The anchors.
    n_nearest : int
        s, at most the number of anchors.
    weights : str
        'kernel' or 'embedding'.
    bandwidth : float
        h of the kernel, in the units of the points; with 0 only the nearest anchor (or all that tie
        with it, equally) has a weight.
    n_jobs : int or None
        Threads of the search.
    """

    points: Array
    n_nearest: int
    weights: str
    bandwidth: float = 0.0
    n_jobs: int | None = None

    def rows(self, X: PointData) -> CSR:
        """Compute the weights of points over the anchors.

        Parameters
        ----------
        X : array-like or sparse of shape (n, n_features)
            Points, those of the fit or new ones.

        Returns
        -------
        csr_array of shape (n, m), float64
            Rows sum to one, at most s weights in each.

        Raises
        ------
        ValueError
            If points are not finite or do not have the features of the anchors, or distances to the
            anchors overflow.
        """
        X = check_points(X, "Anchors")
        if X.shape[1] != self.points.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} features, but the anchors have {self.points.shape[1]}."
            )
        return self.weigh(X, *self.nearest(X))

    def nearest(self, X: PointData) -> tuple[Array, Array]:
        """Find the nearest anchors of points.

        Parameters
        ----------
        X : ndarray or CSR of shape (n, n_features)
            The points.

        Returns
        -------
        squared : ndarray of shape (n, s)
            Squared distances, float64 and ascending.
        indices : ndarray of shape (n, s)
            Indices of the anchors.

        Raises
        ------
        ValueError
            If points are so far away that distances overflow.
        """
        n, s = X.shape[0], min(self.n_nearest, len(self.points))
        squared, indices = np.empty((n, s)), np.empty((n, s), dtype=np.int64)
        center, scale = self._frame()
        anchors = (self.points - center) / scale
        candidates = min(s + SPARE, len(anchors))
        with config_context(working_memory=_WORKING_MEMORY):
            search = NearestNeighbors(n_neighbors=candidates, n_jobs=self.n_jobs).fit(anchors)
            for block, points in self._blocks(X, candidates):
                moved = (points - center) / scale
                if not float(np.abs(moved).max()) < math.sqrt(np.finfo(moved.dtype).max / 1e6):
                    raise ValueError(
                        "Points lie so far from the anchors that distances overflow. Scale the "
                        "features, e.g. by StandardScaler."
                    )
                found = search.kneighbors(moved, return_distance=False)
                squared[block], indices[block] = self._nearest_of(points, found, s)
        return squared, indices

    def _nearest_of(self, points: Array, candidates: Array, s: int) -> tuple[Array, Array]:
        """Return squared distances (b, s) and indices of the nearest of the candidates (b, c)."""
        scale = self._frame()[1]
        # From differences, which round less than the products of the search.
        difference = (points[:, None, :].astype(np.float64) - self.points[candidates]) / scale
        lengths = np.einsum("nkd,nkd->nk", difference, difference)
        order = _ascending(lengths, candidates)
        lengths = np.take_along_axis(lengths, order, 1)
        indices = np.take_along_axis(candidates, order, 1)
        squared = lengths[:, :s] * scale**2
        if candidates.shape[1] < len(self.points):
            # If all candidates from the s-th on tie, other anchors may tie and come first.
            again = np.flatnonzero(lengths[:, -1] <= lengths[:, s - 1] * (1 + TIE))
            whole = np.arange(len(self.points))
            for some in row_blocks(len(again), 8 * self.points.size, DIFFERENCE_BYTES):
                rows = again[some]
                every = np.broadcast_to(whole, (len(rows), len(whole)))
                squared[rows], indices[rows, :s] = self._nearest_of(points[rows], every, s)
        return squared, indices[:, :s]

    def _frame(self) -> tuple[Array, float]:
        """Return the centre of the anchors and a power of 2 near their size, to scale exactly."""
        center = self.points.mean(axis=0, dtype=np.float64).astype(self.points.dtype)
        return center, _unit(self.points - center)

    def _blocks(self, X: PointData, width: int) -> Iterator[tuple[slice, Array]]:
        """Iterate over dense row blocks, small enough for differences to `width` anchors a row."""
        for block, points in blocks_of(X, 8 * (width + 1) * X.shape[1], DIFFERENCE_BYTES):
            yield block, as_dense(points)

    def weigh(self, X: PointData, squared: Array, indices: Array) -> CSR:
        """Compute the weights of points over the anchors that `nearest` found.

        Parameters
        ----------
        X : ndarray or CSR of shape (n, n_features)
            The points.
        squared : ndarray of shape (n, s)
            Squared distances.
        indices : ndarray of shape (n, s)
            Indices of the anchors.

        Returns
        -------
        csr_array of shape (n, m), float64
            Rows sum to one.
        """
        n, s = squared.shape
        values = WEIGHTS[self.weights](self, X, squared, indices)
        indptr = np.arange(0, n * s + 1, s)
        Z = sp.csr_array((values.ravel(), indices.ravel(), indptr), shape=(n, len(self.points)))
        return tidy(cast("CSR", Z))

    def _kernel(self, X: PointData, squared: Array, indices: Array) -> Array:
        """Compute kernel weights relative to the nearest anchor, so that none underflow to 0."""
        excess = squared - squared[:, :1]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            exponent = np.where(excess > 0, excess / self.bandwidth / self.bandwidth / 2, 0.0)
        values = np.exp(-exponent)
        return np.asarray(values / values.sum(axis=1, keepdims=True))

    def _embed(self, X: PointData, squared: Array, indices: Array) -> Array:
        values = np.empty(indices.shape)
        _, scale = self._frame()
        for block, points in self._blocks(X, indices.shape[1]):
            anchors = self.points[indices[block]].astype(np.float64)
            difference = (anchors - points[:, None, :]) / scale
            values[block] = simplex_weights(np.einsum("nkd,nld->nkl", difference, difference))
        return values


WEIGHTS: dict[str, Callable[[Anchors, Any, Array, Array], Array]] = {
    "kernel": Anchors._kernel,
    "embedding": Anchors._embed,
}


def _means(drawn: Array, m: int, rng: np.random.Generator) -> Array:
    """Compute the centres of points by k-means."""
    means = KMeans(m, init="random", n_init=1, max_iter=_ROUNDS, random_state=rng)
    center = medians(drawn)
    # In float64, as scikit-learn squares float32 in float32.
    points = shifted(drawn, center).astype(np.float64)
    return np.asarray((means.fit(points).cluster_centers_ + center).astype(drawn.dtype))


# Methods that choose anchors, with the number of points drawn for each anchor.
ANCHORS = {"kmeans": 50, "random": 1}


@parameters
class AnchorGraph(Parametrized):
    r"""Graph of points that share anchors.

    With the weights Z (n, m) of the points over their s nearest of m anchors, rows summing to one,

    .. math:: W = Z \Lambda^{-1} Z^T, \quad \Lambda = \mathrm{diag}(Z^T 1), \quad L = I - W,

    ([1]_; all degrees of W are one). The graph takes O(n m) to compute, compared to O(n^2) for a
    neighbour graph, and a product takes O(n s).

    Parameters
    ----------
    n_anchors : int or None, default=None
        m; None is a tenth of the number of points, but at least 20 and at most 1000. If there are
        fewer distinct points, each is an anchor. Ignored if anchors are given.
    n_nearest : int, default=3
        s, the number of nearest anchors over which a point has weights.
    weights : {'kernel', 'embedding'}, default='kernel'
        'kernel' is exp(-d^2 / (2 h^2)) of the distances d to the anchors, normalised; 'embedding'
        is local anchor embedding, the convex combination of the anchors nearest to the point, up to
        a duality gap of 1e-10 relative to the squared distance to the farthest of them.
    anchors : {'kmeans', 'random'} or array-like of shape (m, n_features), default='kmeans'
        Centres of k-means (10 iterations on up to 50 points per anchor), points drawn at random, or
        given points. Anchors without a weight for any point are dropped.
    bandwidth : float, default=None
        h of the kernel, in the units of X. None is the mean distance of a point to its s-th
        nearest anchor.
    normalized : bool, default=False
        Whether the Laplacian estimators use the normalised Laplacian. They drop the diagonal of W:
        D - W is still L as above, but the degrees of the normalised Laplacian are less than one.
    power : int, default=1
        p of the graph term f'L^p f.
    n_jobs : int, default=None
        Threads of the search, as in scikit-learn.
    random_state : int, RandomState instance or None, default=0
        Seed of the choice of anchors, which does not depend on the order of the rows of X.

    See Also
    --------
    AnchorGraphClassifier : Fits values at the anchors, without forming W.
    KNNGraph : The k-nearest-neighbour graph.

    Notes
    -----
    Distances are in the units of X: scale the features first if their units differ.

    The anchors do not depend on the order of the rows, but another order of the columns has the
    effect of another `random_state`.

    References
    ----------
    .. [1] W. Liu, J. He and S.-F. Chang, "Large graph construction for scalable semi-supervised
       learning", International Conference on Machine Learning, 679-686, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.graphs import AnchorGraph
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> anchors, Z = AnchorGraph(anchors=[[0.0], [4.0]], weights="embedding").weigh(X)
    >>> Z.toarray()
    array([[1.  , 0.  ],
           [0.75, 0.25],
           [0.25, 0.75]])
    """

    n_anchors: int | None = None
    _: KW_ONLY
    n_nearest: int = 3
    weights: str = "kernel"
    anchors: Any = "kmeans"
    bandwidth: float | None = None
    normalized: bool = False
    power: int = 1
    n_jobs: int | None = None
    random_state: RandomSource = 0

    def weigh(self, X: PointData) -> tuple[Anchors, CSR]:
        """Choose anchors, and compute the weights of the points over them.

        Parameters
        ----------
        X : array-like or sparse of shape (n, n_features)
            The points.

        Returns
        -------
        anchors : Anchors
                The m anchors that have a weight; ``anchors.rows`` computes the weights of new
                points.
        Z : csr_array of shape (n, m), float64
            Weights of the points over the anchors.

        Raises
        ------
        ValueError
            If there are no points, points are not finite, or a parameter is out of range.
        MemoryError
            If the anchors do not fit into memory.
        """
        self._check()
        X = check_points(X, "AnchorGraph")
        check_magnitude(X)

        def weigh(anchors: Anchors) -> tuple[Anchors, CSR]:
            squared, indices = anchors.nearest(X)
            h = self.bandwidth
            if h is None:
                h = float(np.sqrt(squared[:, -1]).mean())
            anchors = replace(anchors, bandwidth=float(h))
            return anchors, anchors.weigh(X, squared, indices)

        return self._settled(self._choose(X), weigh)

    def _check(self) -> None:
        check_recipe(
            self,
            weights=one_of(*WEIGHTS),
            anchors=named(lambda: ANCHORS, "an array of points", _is_array),
        )

    def _settled(
        self, points: Array, weigh: Callable[[Anchors], tuple[Anchors, Any]]
    ) -> tuple[Anchors, Any]:
        """Drop anchors without a weight for any point, and return the others with the weights."""
        while True:
            anchors = Anchors(points, int(self.n_nearest), self.weights, n_jobs=self.n_jobs)
            anchors, Z = weigh(anchors)
            used = np.asarray(Z.sum(axis=0)) > 0
            if used.all():
                return anchors, Z
            # Errata E14: an anchor without a point leads to a division by zero. Weights over the
            # remaining anchors are computed again, as for new points.
            points = points[used]

    def laplacian(self, X: PointData) -> AnchorLaplacian:
        """Return the Laplacian I - Z Lambda^-1 Z' of the points as an operator.

        Parameters
        ----------
        X : array-like or sparse of shape (n, n_features)
            The points.

        Returns
        -------
        AnchorLaplacian
            Operator with the power `power`; a product takes O(n s).
        """
        return AnchorLaplacian(self.weigh(X)[1], int(self.power))

    def affinity(self, X: PointData) -> CSR:
        """Compute the affinity matrix of the graph, W without its diagonal.

        Parameters
        ----------
        X : array-like or sparse of shape (n, n_features)
            The points.

        Returns
        -------
        csr_array of shape (n, n), float64
            Symmetric and non-negative, with an empty diagonal.

        Raises
        ------
        ValueError
            As for `weigh`.
        MemoryError
            If the matrix does not fit into memory: a point is connected to all points that share an
            anchor with it, about n s^2 / m.
        """
        return AnchorLaplacian(self.weigh(X)[1]).affinity()

    def _choose(self, X: PointData) -> Array:
        n_features = X.shape[1]
        if not isinstance(self.anchors, str):
            points = check_array(
                self.anchors, dtype=X.dtype, input_name="anchors", estimator="AnchorGraph"
            )
            if points.shape[1] != n_features:
                raise ValueError(
                    f"anchors has {points.shape[1]} features, but X has {n_features}: give anchors "
                    "in the coordinates of the points."
                )
            check_magnitude(points, "anchors")
            return np.asarray(points)
        rng = check_random_state(self.random_state)
        rows = distinct_rows(X)[0]
        # Sorted by values, so that the order of the rows does not matter.
        order = rows[np.argsort(np.argsort(value_order(X))[rows])]
        m = self.n_anchors
        if m is None:
            m = usual_number(len(order))
        m = min(int(m), len(order))
        require_memory(
            3 * m * n_features * 8,
            f"{m} anchors with {n_features} features",
            "Use fewer anchors (n_anchors), or reduce the features, e.g. by TruncatedSVD.",
        )
        n_drawn = min(len(order), ANCHORS[self.anchors] * m)
        drawn = rows_of(X, order[np.sort(rng.choice(len(order), n_drawn, replace=False))])
        return _means(drawn, m, rng) if n_drawn > m else as_dense(drawn)


def usual_number(n: int) -> int:
    """Return the default number of anchors for n points."""
    return max(_FEWEST, min(n // 10, _MOST))


def _is_array(value: Any) -> bool:
    return np.ndim(value) > 0


def _ascending(lengths: Array, anchors: Array) -> Array:
    """Sort lengths along each row, ties up to rounding by the index of the anchor."""
    order = np.argsort(lengths, axis=1)
    ascending = np.take_along_axis(lengths, order, 1)
    apart = ascending[:, 1:] > ascending[:, :-1] * (1 + TIE)
    group = np.pad(np.cumsum(apart, axis=1), ((0, 0), (1, 0)))
    within = np.lexsort((np.take_along_axis(anchors, order, 1), group), axis=1)
    return np.asarray(np.take_along_axis(order, within, 1))


def _unit(X: Matrix) -> float:
    """Return a power of 2 near the largest value, to scale exactly."""
    largest = float(abs(X).max())
    exponent = math.frexp(largest)[1] if largest > 0 else 0
    limit = np.finfo(X.dtype).maxexp - 2
    return 2.0 ** min(max(exponent, -limit), limit)


def simplex_weights(gram: Array) -> Array:
    """Minimise z'Gz over the simplex for a batch of positive semi-definite matrices G.

    Wolfe's algorithm for the nearest point of a polytope, for all rows of the batch at once: the
    corner with the steepest descent joins the support of a row, the minimum on the affine hull of
    the support is computed, and corners whose weights would become negative are dropped. It reaches
    the exact solution in a few rounds; the projected gradient of the paper takes hundreds to reach
    a tolerance.

    Parameters
    ----------
    gram : ndarray of shape (n, s, s)
        Symmetric positive semi-definite, float64; may be singular. It is not modified.

    Returns
    -------
    ndarray of shape (n, s)
        Weights z >= 0 with sum 1. The objective z'Gz / 2 is within `GAP` times the largest
        diagonal entry of G of its minimum. If the weights are not unique, they depend on the order
        of the corners, and few are positive.
    """
    n, s, _ = gram.shape
    scale = np.einsum("nkk->nk", gram).max(axis=1, initial=0.0)
    corners = np.arange(s)
    H = gram / np.where(scale > 0, scale, 1.0)[:, None, None]
    H[:, corners, corners] += _RIDGE
    start = np.einsum("nkk->nk", H).argmin(axis=1)
    support = corners == start[:, None]
    z = support.astype(np.float64)
    rows = np.arange(n)
    settled = np.ones(n, dtype=bool)  # one corner is the minimum of its affine hull
    for _ in range(_ROUNDS_PER_CORNER * s):
        unfinished = ~settled
        unfinished[settled] = _grow(H, z, support, rows[settled])
        rows = rows[unfinished]
        if not len(rows):
            break
        settled = _descend(H, z, support, rows)
    return np.asarray(z / z.sum(axis=1, keepdims=True))


def _grow(H: Array, z: Array, support: Array, rows: Array) -> Array:
    """Add the steepest corner to the support of rows that are at the minimum of their support.

    Returns the mask of the rows for which this is not the minimum of the simplex.
    """
    gradient = np.einsum("nkl,nl->nk", H[rows], z[rows])
    steepest = gradient.argmin(axis=1)
    gap = np.einsum("nk,nk->n", gradient, z[rows]) - gradient.min(axis=1)
    leaves = gap > GAP
    support[rows[leaves], steepest[leaves]] = True
    return np.asarray(leaves)


def _descend(H: Array, z: Array, support: Array, rows: Array) -> Array:
    """Move to the minimum on the affine hull of the support, as far as weights stay positive.

    Returns the mask of the rows that reach it.
    """
    on = support[rows]
    both = on[:, :, None] & on[:, None, :]
    masked = np.where(both, H[rows], np.eye(on.shape[1]))
    # H y = const on the support: y is the solution for the right-hand side 1, made to sum to one.
    target = np.linalg.solve(masked, on.astype(np.float64)[:, :, None])[:, :, 0]
    target /= target.sum(axis=1, keepdims=True)
    here = z[rows]
    leaving = on & (target <= 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(leaving, here / (here - target), np.inf)
    step = np.minimum(reach.min(axis=1), 1.0)
    moved = here + step[:, None] * (target - here)
    gone = leaving & (reach <= step[:, None])
    moved[gone | ~on] = 0
    z[rows] = moved
    support[rows] = on & ~gone
    return np.asarray(~gone.any(axis=1))
