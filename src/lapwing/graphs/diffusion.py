r"""Diffusion on a graph: the operators of an affinity W and its degrees.

With D = diag(d), d = W 1, and L = D - W:

.. math:: (D + s L)^{-1} D \quad\text{(the resolvent at the scale } s\text{)}, \qquad D^{-1} W
    \quad\text{(the random walk)}.

Both map constants to themselves, and do not depend on a common factor of the weights. Both leave
the values of points without neighbours unchanged; the mass of these points is the median degree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from lapwing._arrays import Array, is_sparse
from lapwing.graphs.base import CSR
from lapwing.graphs.laplacian import Laplacian, near_order
from lapwing.linalg import sparse_product

Apply: TypeAlias = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Diffusion:
    """D, L = D - W and D^-1 W on values at n points.

    Attributes
    ----------
    affinity : csr_array of shape (n, n)
        W, symmetric, in the precision of the products.
    degrees : ndarray of shape (n,), float64
        W 1.
    masses : ndarray of shape (n,), float64
        Diagonal of D: the degrees, or their median for points without neighbours.
    """

    affinity: CSR
    degrees: Array
    masses: Array

    @classmethod
    def of(cls, laplacian: Laplacian) -> Diffusion:
        """Return the diffusion of a Laplacian's affinity, whose power and scaling are ignored."""
        W = laplacian.affinity.astype(laplacian.dtype, copy=False)
        return cls.from_affinity(cast("CSR", W), laplacian.degrees)

    @classmethod
    def from_affinity(cls, affinity: CSR, degrees: Array | None = None) -> Diffusion:
        """Return the diffusion of an affinity in canonical form (`check_affinity`)."""
        if degrees is None:
            degrees = np.asarray(affinity.sum(axis=1, dtype=np.float64))
        joined = degrees > 0
        usual = float(np.median(degrees[joined])) if joined.any() else 1.0
        return cls(affinity, degrees, np.where(joined, degrees, usual))

    @property
    def n_points(self) -> int:
        """Number of points n."""
        return int(self.affinity.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of products."""
        return self.affinity.dtype

    @property
    def nbytes(self) -> int:
        """Memory of W in bytes."""
        W = self.affinity
        return int(W.data.nbytes + W.indices.nbytes + W.indptr.nbytes)

    @cached_property
    def component_labels(self) -> Array:
        """Number of the connected component of each point, shape (n,)."""
        return np.asarray(connected_components(self.affinity, directed=False)[1])

    @cached_property
    def ordered(self) -> tuple[Array, Diffusion]:
        """Order of the points in which neighbours are close, and the reordered diffusion."""
        order = near_order(self.affinity)
        part = sp.csr_array(self.affinity[order][:, order])
        return order, Diffusion(part, self.degrees[order], self.masses[order])

    def neighbors(self, F: Array) -> Array:
        """Compute W F, the sum of values (n, c) over neighbours."""
        return sparse_product(self.affinity, F)

    def laplacian(self, F: Array) -> Array:
        """Compute L F = (D - W) F."""
        spread = self.degrees.astype(F.dtype)[:, None] * F
        spread -= self.neighbors(F)
        return np.asarray(spread)

    def walk(self, F: Array) -> Array:
        """Compute D^-1 W F, the mean over neighbours; isolated points keep their values."""
        mean = sparse_product(self._steps, F)
        isolated = self._isolated
        if len(isolated):
            mean[isolated] = F[isolated]
        return mean

    @cached_property
    def _isolated(self) -> Array:
        """Indices of points without neighbours."""
        return np.flatnonzero(self.degrees == 0)

    @cached_property
    def _steps(self) -> CSR:
        """D^-1 W; rows of points without neighbours are 0."""
        W = self.affinity
        data = W.data / np.repeat(self.degrees.astype(W.dtype), np.diff(W.indptr))
        return sp.csr_array((data, W.indices, W.indptr), shape=W.shape)

    def shifted(self, diagonal: Array, s: float, held: Array | None = None) -> Apply:
        """Return the product with diag + sL, of which some rows are set to 0.

        One matrix with the diagonal among its entries takes half of the time of W and diag, which
        would pass over the values three more times.

        Parameters
        ----------
        diagonal : ndarray of shape (n,)
        s : float
        held : ndarray of int, optional
            Rows set to 0; none by default.
        """
        pattern, places = self._with_diagonal
        data = pattern.data * pattern.dtype.type(-s)
        data[places] = diagonal + s * self.degrees
        if held is not None:
            kept = np.ones(self.n_points, dtype=bool)
            kept[held] = False
            data *= np.repeat(kept, np.diff(pattern.indptr))
        matrix = sp.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
        return partial(sparse_product, matrix)

    @cached_property
    def _with_diagonal(self) -> tuple[CSR, Array]:
        """W with entries on the diagonal, where it has none, and their places in its data."""
        pattern = self.affinity + sp.eye_array(self.n_points, dtype=self.dtype, format="csr")
        numbers = np.arange(self.n_points, dtype=pattern.indices.dtype)
        rows = np.repeat(numbers, np.diff(pattern.indptr))
        return pattern, np.flatnonzero(pattern.indices == rows)

    def vote(self, shares: Array | CSR, rows: Array) -> Array:
        """Compute the mean of shares (n, c) over the neighbours of some rows."""
        total: Any = self.affinity[rows] @ shares
        if is_sparse(total):
            total = total.toarray()
        return np.asarray(total / np.maximum(self.degrees[rows], np.finfo(float).tiny)[:, None])

    def cuts(self, codes: Array, n_classes: int) -> Array:
        """Sum the weights of edges between classes (c, c); edges within a class count twice.

        Parameters
        ----------
        codes : ndarray of int of shape (n,)
        n_classes : int
        """
        W = self.affinity
        starts = np.repeat(codes, np.diff(W.indptr))
        pairs = starts * n_classes + codes[W.indices]
        total = np.bincount(pairs, W.data, minlength=n_classes**2)
        return np.asarray(total.reshape(n_classes, n_classes))

    def cut(self, codes: Array) -> float:
        """Sum the weights of the edges between points of different classes."""
        W = self.affinity
        small = codes.astype(np.min_scalar_type(int(codes.max(initial=0))))  # three times faster
        between = np.repeat(small, np.diff(W.indptr)) != small.take(W.indices)
        return float(W.data[between].sum(dtype=np.float64)) / 2

    def restrict(self, rows: Array) -> Diffusion:
        """Restrict to some of the points, without the edges to others."""
        part = sp.csr_array(self.affinity[rows][:, rows])
        return Diffusion.from_affinity(part)
