"""The k-nearest-neighbour graph."""

from __future__ import annotations

from dataclasses import KW_ONLY
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Memory
from sklearn.decomposition import PCA
from sklearn.neighbors import VALID_METRICS

from lapwing._arrays import Array, RandomSource
from lapwing._host.memory import require_memory
from lapwing._parameters import Parametrized, named, one_of, parameters
from lapwing._rows.base import PointData, Rows, is_rows
from lapwing.graphs.ann import faiss_approximate, faiss_exact, load_faiss
from lapwing.graphs.base import CSR, check_magnitude, check_points, check_recipe
from lapwing.graphs.row_search import scan_rows, search_rows
from lapwing.graphs.search import (
    DIFFERENCE_METRICS,
    Neighbors,
    Points,
    sklearn_neighbors,
    squarable,
)
from lapwing.graphs.weights import (
    WEIGHT_FUNCTION,
    WEIGHTS,
    Edges,
    WeightFunction,
    affinity_of_edges,
)

BACKENDS = ("auto", "sklearn", "faiss")
# Without the metrics that need a further matrix, a square X, or NaN in it.
_UNUSABLE = {"mahalanobis", "nan_euclidean", "precomputed", "seuclidean"}
_METRICS = sorted({*VALID_METRICS["brute"], "cosine"} - _UNUSABLE)
# Up to this number of points scikit-learn is as fast; up to this number of features its trees are
# faster.
_SKLEARN_POINTS = 20_000
_TREE_FEATURES = 15
# Number of operations up to which an exact (flat) search is the default: some ten seconds of two
# cores. A count and not a time, so that the same points have the same neighbours on any machine.
_FLAT_OPERATIONS = 1e12


@parameters
class KNNGraph(Parametrized):
    r"""Graph of the k nearest neighbours.

    Every point is connected to its k nearest other points. The default weights are

    .. math:: w_{ij} = \exp\Big(-\frac{d(x_i, x_j)^2}{2 t^2}\Big),

    where t is the mean length of the directed edges, before symmetrisation (errata L6).

    Parameters
    ----------
    n_neighbors : int, default=5
        k, at least 1 and less than the number of points. Points tied with the k-th neighbour are
        included, up to max(4 k, 64) in all; of more ties, this number is drawn at random,
        independently of the order of the rows.
    weights : {'heat', 'binary', 'self-tuning', 'steep'} or callable, default='heat'
        'heat' as above; 'binary' is 1; 'self-tuning' is exp(-d^2 / (s_i s_j)), where s_i is the
        distance of point i to its k-th neighbour [1]_, or the smallest positive one of all points
        if that is 0; 'steep' is its fourth power exp(-4 d^2 / (s_i s_j)), which emphasises the
        nearest neighbours. These weights are at least 1.2e-38, so that no edge is lost by
        underflow. A function takes the array of the lengths of all directed edges and returns as
        many finite, non-negative weights; 0 means no edge.
    normalized : bool or 'auto', default='auto'
        Whether the Laplacian is D^-1/2 (D - W) D^-1/2 (True) or D - W (False). 'auto' is True for
        classification and False for regression, as D - W does not penalise constants while the
        normalised Laplacian shrinks values towards 0.
    power : int, default=2
        p of the graph term f'L^p f.
    metric : str or callable, default='euclidean'
        'euclidean', 'cosine' (1 - cos; zero rows are equal to each other and orthogonal to all
        other rows), or any metric of `sklearn.neighbors.NearestNeighbors`.
    mutual : bool, default=False
        Whether to keep only edges between mutual neighbours. Otherwise one of two points has to be
        a neighbour of the other, and the edge has the larger of both weights.
    backend : {'auto', 'sklearn', 'faiss'}, default='auto'
        Library for the neighbour search. 'auto' is faiss for more than 20,000 dense points with
        more than 15 features if it is installed and the metric is 'euclidean' or 'cosine', and
        otherwise scikit-learn. The neighbours are the same.
    approximate : bool or 'auto', default='auto'
        Whether to use faiss's inverted lists, which miss some neighbours; for more than 20,000
        points they contain codes of four bits per coordinate, and candidates are ranked by exact
        distances. 'auto' is True if the backend is faiss and an exact search would take more than
        about ten seconds on two cores: if 2 n^2 d > 1e12 for n points with d features, which is
        beyond 88,000 points with 64 features.
    target_recall : float, default=0.995
        Fraction of the true neighbours that an approximate search has to find, estimated from the
        exact neighbours of 512 random points (`recall_`). A search that would take more than a few
        minutes stops with the recall reached so far, with a warning if that is below 0.8.
        On 60,000 images the mean error of `LapERLSClassifier` is 16.1 % at 0.95, 15.3 % at 0.985
        and 15.1 % with all neighbours; on 200,000 that of `transduction_` is 9.58 % at 0.99, 9.40 %
        at 0.995 and 9.34 % with all.
    n_components : int, default=None
        Number of principal components to which points are reduced before the search, for speed or
        to remove noise. Distances are then those in the reduced space, for 'cosine' relative to the
        mean of the points. Only for dense X and the metrics 'euclidean' and 'cosine'. None means no
        reduction.
    n_jobs : int, default=None
        Threads of the search, as in scikit-learn; for faiss None means OMP_NUM_THREADS or all
        cores.
    random_state : int, RandomState instance or None, default=0
        Seed of the approximate search; ignored otherwise.

    Attributes
    ----------
    recall_ : float
        Fraction of the true neighbours (in the reduced space, if any) in the last graph computed by
        `affinity`: 1 for an exact search, otherwise an estimate with a standard error below 0.005
        for 10 neighbours.
    backend_ : str
        Backend that was used: 'sklearn' or 'faiss'; 'scan' for an exact search of points on disk.

    See Also
    --------
    AffinityGraph : Graph given by its affinity matrix.
    TransformerGraph : Graph of a scikit-learn neighbours transformer.

    Notes
    -----
    Distances are in the units of X: scale the features first if their units differ.

    The defaults are those of ``graph=None`` for regression, and for classification with more than
    three features (see `default_graph`).

    References
    ----------
    .. [1] Zelnik-Manor, L. and Perona, P., "Self-tuning spectral clustering", NIPS 17, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.graphs import KNNGraph
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> KNNGraph(n_neighbors=1, weights="binary").affinity(X).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """

    n_neighbors: int = 5
    _: KW_ONLY
    weights: str | WeightFunction = "heat"
    normalized: bool | str = "auto"
    power: int = 2
    metric: Any = "euclidean"
    mutual: bool = False
    backend: str = "auto"
    approximate: bool | str = "auto"
    target_recall: float = 0.995
    n_components: int | None = None
    n_jobs: int | None = None
    random_state: RandomSource = 0

    def affinity(self, X: PointData) -> CSR:
        """Compute the affinity matrix of the graph.

        Parameters
        ----------
        X : array-like, sparse or rows of `lapwing.datasets.open_rows`, of shape (n, n_features)
            The points.

        Returns
        -------
        csr_array of shape (n, n), float64
            Symmetric and non-negative, with an empty diagonal. For points on disk it has the
            precision of the points.

        Raises
        ------
        ValueError
            If there are no points, points are not finite, or a parameter is out of range.
        ImportError
            If faiss is required but not installed.
        """
        return self._affinity(self.neighbors(X))

    def affinity_of_rows(self, X: Rows, memory: Memory | str | None) -> CSR:
        """Compute the `affinity` of points on disk, with a cache for finished stages of the search.

        Parameters
        ----------
        X : Rows of shape (n, n_features)
            The points.
        memory : str, joblib.Memory or None
            Cache of these stages.

        Returns
        -------
        csr_array of shape (n, n)
            Symmetric, non-negative, its diagonal empty.
        """
        return self._affinity(self._neighbors(X, memory))

    def _affinity(self, found: Neighbors) -> CSR:
        self.recall_, self.backend_ = found.recall, found.backend
        n = len(found.indices)
        edges = Edges.to_nearest(np.arange(n), found.distances, found.indices, found.tied)
        return affinity_of_edges(edges, n, self.weights, mutual=self.mutual)

    def neighbors(self, X: PointData) -> Neighbors:
        """Find the nearest neighbours of all points.

        Parameters
        ----------
        X : array-like or sparse of shape (n, n_features)
            The points.

        Returns
        -------
        Neighbors
            ``distances`` and ``indices`` of shape (n, n_neighbors), the ``recall`` and the
            ``backend``.

        Raises
        ------
        ValueError
            If there are no points, points are not finite, or a parameter is out of range.
        ImportError
            If faiss is required but not installed.

        Warns
        -----
        LowRecallWarning
            If an approximate search stops after minutes with a recall below 0.8.
        """
        return self._neighbors(X)

    def _neighbors(self, X: Any, memory: Any = None) -> Neighbors:
        check_recipe(
            self,
            weights=named(lambda: WEIGHTS, WEIGHT_FUNCTION, callable),
            metric=named(lambda: _METRICS, "a function of two points", callable),
            backend=one_of(*BACKENDS),
        )
        X = check_points(X, "KNNGraph")
        n, k = X.shape[0], int(self.n_neighbors)
        if k >= n:
            advice = f"Use n_neighbors <= {n - 1}, or more points." if n > 1 else "Use more points."
            raise ValueError(
                f"n_neighbors={k} must be smaller than the number of points, n={n}: a point is no "
                f"neighbour of itself. {advice}"
            )
        if is_rows(X):
            return self._neighbors_of_rows(X, k, memory)
        if self.n_components is not None:
            self._check_reduction(X)
            X = _principal_components(X, int(self.n_components))
        if self._backend(X) == "sklearn":
            return sklearn_neighbors(X, k, self.metric, self.n_jobs)
        faiss = load_faiss(f"KNNGraph(backend={self.backend!r}, approximate={self.approximate})")
        points = Points.prepare(X, self.metric)
        if not self._approximates(X):
            return faiss_exact(faiss, points, k, self.n_jobs)
        return faiss_approximate(
            faiss, points, k, self.n_jobs, self.target_recall, self.random_state
        )

    @property
    def _by_differences(self) -> bool:
        return isinstance(self.metric, str) and self.metric in DIFFERENCE_METRICS

    @property
    def reads_rows(self) -> bool:
        """Whether points on disk are searched in blocks; if not, they are read into memory."""
        return self._by_differences and self.n_components is None and self.backend != "sklearn"

    def _neighbors_of_rows(self, X: Rows, k: int, memory: Memory | str | None) -> Neighbors:
        if not self.reads_rows:
            raise ValueError(
                "Points on disk are searched in blocks, by metric='euclidean' or 'cosine', "
                "backend='auto' or 'faiss' and n_components=None. Use these, or give X as an array."
            )
        metric = str(self.metric)
        if metric == "euclidean":
            check_magnitude(X)  # rows of unit length can always be squared
        if not self._approximates(X):
            return scan_rows(X, k, metric)
        return search_rows(X, k, metric, self.n_jobs, self.target_recall, self.random_state, memory)

    def _approximates(self, X: Any) -> bool:
        if self.approximate == "auto":
            n, d = X.shape
            return bool(2.0 * n * n * d > _FLAT_OPERATIONS)
        return bool(self.approximate)

    def _check_reduction(self, X: Any) -> None:
        m = self.n_components
        if not self._by_differences:
            raise ValueError(
                f"n_components={m} rotates the points, which changes the distances of "
                f"metric={self.metric!r}: use 'euclidean' or 'cosine', or n_components=None."
            )
        if sp.issparse(X):
            # TruncatedSVD does not centre X, so it would be a different method.
            raise ValueError(
                f"n_components={m} takes dense X only: use X.toarray() if it fits in memory, "
                "reduce sparse X by sklearn.decomposition.TruncatedSVD first, or set "
                "n_components=None."
            )
        if m > min(X.shape):
            raise ValueError(
                f"n_components={m} must be at most {min(X.shape)}, the smaller of the numbers of "
                "points and features."
            )

    def _backend(self, X: PointData) -> str:
        reason = None
        if sp.issparse(X):
            reason = "takes dense X only: use X.toarray() if it fits in memory"
        elif not self._by_differences:
            reason = f"knows the metrics 'euclidean' and 'cosine', not {self.metric!r}: use those"
        asked = self.approximate != "auto" and bool(self.approximate)
        if asked or self.backend == "faiss":
            if self.backend == "sklearn":
                raise ValueError(
                    "approximate=True needs faiss: use backend='auto' or 'faiss', or "
                    "approximate=False with backend='sklearn'."
                )
            if reason:
                raise ValueError(
                    f"backend={self.backend!r} with approximate={self.approximate} searches by "
                    f"faiss, which {reason}, or backend='sklearn' with approximate=False."
                )
            return "faiss"
        large = X.shape[0] > _SKLEARN_POINTS and X.shape[1] > _TREE_FEATURES
        if self.backend == "auto" and large and not reason and find_spec("faiss"):
            return "faiss"
        return "sklearn"


def _principal_components(X: Array, n_components: int) -> Array:
    """Compute coordinates (n, n_components) of the points along their first principal axes."""
    n, d = X.shape
    require_memory(
        (2 * n * d + n * n_components) * X.itemsize + 2 * d * d * 8,
        f"Principal components of {n} x {d} points",
        "Give X as float32, or reduce it before.",
    )
    X, scale = squarable(X)
    # Centred here: scikit-learn subtracts the mean from X'X, which cancels for points far from 0.
    centred = X - X.mean(axis=0, dtype=np.float64).astype(X.dtype)
    if not np.ptp(X, axis=0).any():  # constant: only rounding is left, or scikit-learn divides by 0
        return np.zeros((n, n_components), dtype=X.dtype)
    # Not 'auto', which uses random projections for large X: results must be reproducible, and the
    # exact axes of 70000 x 784 points take 2 s.
    solver = "covariance_eigh" if d <= n else "full"
    found = PCA(n_components, svd_solver=solver, copy=False).fit_transform(centred)
    return np.asarray(found * X.dtype.type(scale))
