r"""The graph Laplacian as an operator on function values.

With the affinity W and D = diag(W 1),

.. math:: f^T (D - W) f = \sum_{i<j} w_{ij} (f_i - f_j)^2, \qquad
          f^T L_n f = \sum_{i<j} w_{ij} \Big(\frac{f_i}{\sqrt{d_i}} - \frac{f_j}{\sqrt{d_j}}\Big)^2,

where L_n = D^{-1/2} (D - W) D^{-1/2} and every unordered pair counts once (errata L2). An isolated
vertex has a zero row and column in both, so f is free there (errata L1).

The graph of anchors has weights Z (n, m) of each point over the anchors, whose rows sum to one.
With the masses :math:`\Lambda = \mathrm{diag}(Z^T 1)`,

.. math:: W = Z \Lambda^{-1} Z^T, \qquad L = I - W.

W is doubly stochastic, so that all degrees are one, L is both the plain and the normalised
Laplacian of W, and L 1 = 0. (The embedded-regression paper's "unit length" of the rows of Z is a
misprint, errata E14: with Euclidean length neither holds.) L is positive semi-definite and at most
I, as W is :math:`(Z \Lambda^{-1/2})(Z \Lambda^{-1/2})^T` with eigenvalues between 0 and 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, Protocol, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

from lapwing._arrays import Array, row_blocks
from lapwing._host.memory import require_memory
from lapwing.graphs.base import (
    CSR,
    check_affinity,
    check_normalized,
    check_power,
    check_values,
    tidy,
)
from lapwing.linalg import sparse_product

_ROWS = 2**18  # whose edge weights are computed at a time

_HUBS = 1000  # mean number of neighbours of the ends of an edge


class PowerOperator(Protocol):
    """Operator L^p, which `ScaledLaplacian` multiplies for an objective."""

    @property
    def n_points(self) -> int:
        """Number of points n."""

    def apply(self, F: Array) -> Array:
        """L^p F."""

    def diagonal(self) -> Array:
        """Approximate diagonal of L^p: that of L, to the power p."""

    @property
    def norm_bound(self) -> float:
        """Upper bound of the norm of L^p."""

    def scaled(self, gamma: float) -> ScaledLaplacian:
        """Return gamma L^p, the graph term of an objective.

        Parameters
        ----------
        gamma : float
            Finite and at least 0.

        Returns
        -------
        ScaledLaplacian
            Operator with `apply`, `diagonal` and `norm_bound`.
        """
        return ScaledLaplacian(self, gamma)


@dataclass(frozen=True, eq=False)
class Laplacian(PowerOperator):
    """Symmetric positive semi-definite operator L^p on the values of functions at n points.

    The power is applied by p sparse products and never formed, as L^p soon becomes dense (errata
    L5). Instances are created by `Laplacian.from_affinity`.

    Attributes
    ----------
    matrix : csr_array of shape (n, n)
        L itself, without the power.
    affinity : csr_array of shape (n, n)
        W, in the precision of the input.
    normalized : bool
        Whether L is D^-1/2 (D - W) D^-1/2 or D - W.
    power : int
        p.

    Notes
    -----
    (D - W)^p 1 = 0, but L_n^p 1 != 0: the null vector of L_n is D^1/2 1 on each component. The norm
    of L_n is at most 2; that of D - W is proportional to the weights, so the effect of gamma_I
    depends on p (errata L3, L5).
    """

    matrix: CSR
    affinity: CSR
    normalized: bool = True
    power: int = 1

    @classmethod
    def from_affinity(
        cls, affinity: Any, *, normalized: bool = True, power: int = 1, dtype: Any = np.float64
    ) -> Laplacian:
        """Create the Laplacian of an affinity.

        Parameters
        ----------
        affinity : array-like or sparse of shape (n, n)
            Symmetric, non-negative; its diagonal is ignored.
        normalized : bool, default=True
            Whether L is D^-1/2 (D - W) D^-1/2 instead of D - W.
        power : int, default=1
            p of L^p, at least 1.
        dtype : data-type, default=float64
            Precision of `matrix`; it is computed in float64 and rounded once.

        Returns
        -------
        Laplacian
            Operator with an exactly symmetric `matrix`.

        Raises
        ------
        ValueError
            If the affinity is not symmetric, finite and non-negative, `normalized` neither True
            nor False, or the power not a whole number of at least 1.
        """
        W, normalized = check_affinity(affinity), check_normalized(normalized)
        matrix = laplacian_matrix(W, _degrees(W), normalized, np.dtype(dtype))
        return cls(matrix, W, normalized, check_power(power))

    @property
    def n_points(self) -> int:
        """Number of points n."""
        return int(self.matrix.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of `matrix`."""
        return self.matrix.dtype

    @cached_property
    def degrees(self) -> Array:
        """Sums of the weights at each point, float64 of shape (n,)."""
        return _degrees(self.affinity)

    @cached_property
    def component_labels(self) -> Array:
        """Number of the connected component of each point, shape (n,)."""
        return np.asarray(connected_components(self.affinity, directed=False)[1])

    @property
    def n_components(self) -> int:
        """Number of connected components; an isolated point is one."""
        return int(self.component_labels.max()) + 1

    def astype(self, dtype: Any) -> Laplacian:
        """Return the operator with `matrix` in another precision.

        Parameters
        ----------
        dtype : data-type
            float32 or float64. A wider precision is computed again from the affinity.

        Returns
        -------
        Laplacian
            The same object if nothing changes.
        """
        if np.dtype(dtype) == self.dtype:
            return self
        return replace(self, matrix=self._matrix_in_other_precision)

    def apply(self, F: Array) -> Array:
        """Compute L^p F by p sparse products.

        Parameters
        ----------
        F : array-like of shape (n,) or (n, n_columns)
            Values; float32 is computed in float32 and any other type in float64. C order is
            fastest.

        Returns
        -------
        ndarray of the shape of F
            A new array, in C order.
        """
        values = np.asarray(F)
        check_values(values, self.n_points)
        dtype = np.dtype(np.float32 if values.dtype == np.float32 else np.float64)
        values = np.asarray(values, dtype=dtype, order="C")
        L = self.matrix if dtype == self.dtype else self._matrix_in_other_precision
        for _ in range(self.power):
            values = sparse_product(L, values)
        return values

    def diagonal(self) -> Array:
        """Approximate the diagonal of L^p by that of L, to the power p.

        Returns
        -------
        ndarray of shape (n,), float64
            Exact for p = 1.
        """
        return np.asarray(self.matrix.diagonal().astype(np.float64) ** self.power)

    @property
    def norm_bound(self) -> float:
        """Upper bound of the norm of L^p: 2^p, or the p-th power of twice the largest degree."""
        norm = np.float64(2.0) if self.normalized else 2.0 * self.degrees.max()
        with np.errstate(over="ignore"):  # infinity is a bound as well
            return float(norm**self.power)

    @cached_property
    def _matrix_in_other_precision(self) -> CSR:
        other = np.dtype(np.float32 if self.dtype == np.float64 else np.float64)
        return laplacian_matrix(self.affinity, self.degrees, self.normalized, other)


def _degrees(W: CSR) -> Array:
    return np.asarray(W.sum(axis=1, dtype=np.float64))


def laplacian_matrix(W: CSR, degrees: Array, normalized: bool, dtype: np.dtype[Any]) -> CSR:
    """Compute L, exactly symmetric, in float64 in blocks of edges, and round it once.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        The affinity, or its entries between some of the points.
    degrees : ndarray of shape (n,)
    normalized : bool
    dtype : dtype
    """
    largest = np.finfo(np.float64 if normalized else dtype).max
    if not degrees.max(initial=0.0) <= largest:
        raise ValueError("The degrees of the affinity overflow: divide all weights by the largest.")
    if normalized:
        weights = normalized_weights(W, degrees, degrees, dtype)
        degrees = (degrees > 0).astype(np.float64)
    else:
        weights = sp.csr_array((W.data.astype(dtype), W.indices, W.indptr), shape=W.shape)
    diagonal = sp.diags_array(degrees.astype(dtype), format="csr")
    return cast("CSR", sp.csr_array(diagonal - weights))


def normalized_weights(
    W: CSR, row_degrees: Array, column_degrees: Array, dtype: np.dtype[Any]
) -> CSR:
    """Compute D^-1/2 W D^-1/2 of some rows and columns of W.

    Parameters
    ----------
    W : csr_array of shape (b, h)
    row_degrees : ndarray of shape (b,)
    column_degrees : ndarray of shape (h,)
    dtype : dtype
        Precision of the result; it is computed in float64 and rounded once.

    Returns
    -------
    csr_array of shape (b, h)
        Mirrored entries are equal.
    """
    data, ends = np.empty(len(W.data), dtype), np.sqrt(column_degrees)
    for rows in row_blocks(len(row_degrees), 1, _ROWS):
        edges = slice(W.indptr[rows.start], W.indptr[rows.stop])
        a = np.repeat(np.sqrt(row_degrees[rows]), np.diff(W.indptr[rows.start : rows.stop + 1]))
        b = ends[W.indices[edges]]
        # Larger factor first: (i, j) and (j, i) are rounded equally, and as w <= min(d_i, d_j)
        # nothing overflows, unlike w * (1/sqrt(d_i) 1/sqrt(d_j)) for tiny degrees.
        data[edges] = W.data[edges].astype(np.float64) / np.maximum(a, b) / np.minimum(a, b)
    return sp.csr_array((data, W.indices, W.indptr), shape=W.shape)


@dataclass(frozen=True, eq=False)
class ScaledLaplacian:
    """Operator gamma L^p on the values of functions at n points; also callable.

    Instances are created by `Laplacian.scaled` and `AnchorLaplacian.scaled`.

    Attributes
    ----------
    operator : Laplacian or AnchorLaplacian
        L^p.
    gamma : float
        Weight of the graph term, finite and at least 0.
    """

    operator: PowerOperator
    gamma: float

    def __post_init__(self) -> None:
        if not (isinstance(self.gamma, Real) and 0 <= self.gamma < math.inf):
            raise ValueError(f"gamma={self.gamma!r} must be a finite number of at least 0.")

    @property
    def n_points(self) -> int:
        """Number of points n."""
        return self.operator.n_points

    def apply(self, F: Array) -> Array:
        """Apply gamma L^p to the values F.

        Parameters
        ----------
        F : array-like of shape (n,) or (n, n_columns)
            Values at the points.

        Returns
        -------
        ndarray of the shape of F
            A new array, in the precision of products with L^p.
        """
        return self.gamma * self.operator.apply(F)

    def __call__(self, F: Array) -> Array:
        """Call `apply`."""
        return self.apply(F)

    def diagonal(self) -> Array:
        """Approximate diagonal of gamma L^p, for preconditioners.

        Returns
        -------
        ndarray of shape (n,), float64
            gamma times the p-th powers of the diagonal of L; exact for p = 1. The exact diagonal
            for p > 1 would require L^p.
        """
        return self.gamma * self.operator.diagonal()

    @property
    def norm_bound(self) -> float:
        """Upper bound of the norm of gamma L^p."""
        return self.gamma * self.operator.norm_bound


def near_order(matrix: CSR) -> Array:
    """Compute a reverse Cuthill-McKee order ([1]_): breadth first, from an end of each component.

    If a few points are neighbours of most others, no order is better, and sorting their neighbours
    would take quadratic time: the points keep their order.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        Symmetric, with an entry for every pair of neighbours.

    Returns
    -------
    ndarray of int of shape (n,)
        Index of the point at each position.

    References
    ----------
    .. [1] E. Cuthill and J. McKee, "Reducing the bandwidth of sparse symmetric matrices", ACM
       National Conference, 157-172, 1969.
    """
    neighbors = np.diff(matrix.indptr).astype(np.float64)
    if neighbors @ neighbors > _HUBS * matrix.nnz:
        return np.arange(len(neighbors))
    return np.asarray(reverse_cuthill_mckee(matrix, symmetric_mode=True))


_COPIES = 4  # of the affinity in memory while it is computed and checked
_ENTRY_BYTES = 12  # a float64 and a 32-bit index


@dataclass(frozen=True, eq=False)
class AnchorLaplacian(PowerOperator):
    """L^p = (I - Z Lambda^-1 Z')^p on the values of functions at n points, never formed.

    Attributes
    ----------
    Z : csr_array of shape (n, m)
        Non-negative weights of points over anchors, with row sums of one and no zero column.
    power : int
        p.
    """

    Z: Any
    power: int = 1

    @classmethod
    def from_weights(cls, Z: Any, *, power: int = 1) -> AnchorLaplacian:
        """Create the operator of a weight matrix.

        Parameters
        ----------
        Z : array-like or sparse of shape (n, m)
            Weights of points over anchors.
        power : int, default=1
            p of L^p, at least 1.

        Returns
        -------
        AnchorLaplacian
            The operator.

        Raises
        ------
        ValueError
            If a weight is negative or not finite, a row does not sum to one, or a column is zero.
        """
        rows = sp.csr_array(Z, dtype=np.float64)
        if rows.nnz and not (np.isfinite(rows.data).all() and rows.data.min() >= 0):
            raise ValueError("The weights over anchors must be finite and not negative.")
        sums = np.asarray(rows.sum(axis=1))
        if not np.allclose(sums, 1, rtol=0, atol=1e-6):
            raise ValueError(
                f"The weights of each point over the anchors must sum to one; the sums are "
                f"from {sums.min():.3g} to {sums.max():.3g}. Divide each row by its sum, not by "
                "its length."
            )
        operator = cls(tidy(cast("CSR", rows.copy())), check_power(power))
        if not (operator.masses > 0).all():
            raise ValueError(
                f"{int((operator.masses == 0).sum())} anchors have no point: drop their columns."
            )
        return operator

    @property
    def n_points(self) -> int:
        """Number of points n."""
        return int(self.Z.shape[0])

    @property
    def n_anchors(self) -> int:
        """Number of anchors m."""
        return int(self.Z.shape[1])

    @cached_property
    def masses(self) -> Array:
        """Diagonal of Lambda: the sum of the weights on each anchor, shape (m,)."""
        return np.asarray(self.Z.sum(axis=0))

    @cached_property
    def _transposed(self) -> CSR:
        return cast("CSR", self.Z.T.tocsr())

    def apply(self, F: Array) -> Array:
        """Compute L^p F in O(n s) operations per column and power.

        Parameters
        ----------
        F : array-like of shape (n,) or (n, n_columns)
            Values at the points.

        Returns
        -------
        ndarray of the shape of F, float64
            A new array.
        """
        values = np.array(F, dtype=np.float64)
        check_values(values, self.n_points)
        masses = self.masses if values.ndim == 1 else self.masses[:, None]
        for _ in range(self.power):
            values -= self.Z @ ((self._transposed @ values) / masses)
        return values

    def diagonal(self) -> Array:
        """Approximate diagonal of L^p: that of L, to the power p.

        Returns
        -------
        ndarray of shape (n,), float64
            The diagonal itself for p = 1.
        """
        own = self.Z.power(2) @ (1 / self.masses)
        # The exact diagonal for p > 1 needs all columns; preconditioners can use the approximation.
        return np.asarray((1 - own) ** self.power)

    @property
    def norm_bound(self) -> float:
        """Upper bound of the norm of L^p: L is at most the identity."""
        return 1.0

    def reduced(self) -> Array:
        """Compute Z' L^p Z, the Laplacian on the values at the anchors.

        Returns
        -------
        ndarray of shape (m, m), float64
            Symmetric positive semi-definite, computed by sparse m x m products.

        Raises
        ------
        MemoryError
            If it does not fit into memory; checked before it is allocated.
        """
        m = self.n_anchors
        require_memory(
            3 * 8 * m * m,
            f"The Laplacian of {m} anchors (m x m)",
            "Use fewer anchors (n_anchors).",
        )
        gram = (self._transposed @ self.Z).tocsr()
        step = sp.diags_array(1 / self.masses) @ gram
        product = gram
        for _ in range(self.power):  # Z'LZ = G - G Lambda^-1 G, errata E14, and so on
            product = product - product @ step
        dense = product.toarray()
        # After p products, mirrored entries may differ by rounding.
        return np.asarray((dense + dense.T) / 2)

    def affinity(self) -> CSR:
        """Compute W = Z Lambda^-1 Z' without its diagonal.

        Returns
        -------
        csr_array of shape (n, n), float64
            Symmetric; its Laplacian D - W is L, as the diagonal cancels.

        Raises
        ------
        MemoryError
            If it does not fit into memory, as an anchor of c points causes c^2 entries; checked
            before it is computed.
        """
        entries = int((np.diff(self._transposed.indptr).astype(np.int64) ** 2).sum())
        require_memory(
            entries * _ENTRY_BYTES * _COPIES,
            f"The affinity of {self.n_points} points over {self.n_anchors} anchors (up to "
            f"{entries} entries)",
            "Use more anchors (n_anchors) or fewer nearest ones (n_nearest), or "
            "AnchorGraphClassifier, which never forms it.",
        )
        half = (self.Z @ sp.diags_array(1 / np.sqrt(self.masses))).tocsr()
        W = (half @ half.T.tocsr()).tocsr()
        W.setdiag(0)
        return tidy(cast("CSR", sp.csr_array(W)))

    @cached_property
    def anchor_components(self) -> Array:
        """Number of the connected component of each anchor, shape (m,)."""
        gram = self._transposed @ self.Z
        return np.asarray(connected_components(gram, directed=False)[1])

    def reached_anchors(self, index: ArrayLike) -> Array:
        """Return the mask of the anchors in a connected component of some points.

        Parameters
        ----------
        index : array-like of int
            The points.

        Returns
        -------
        ndarray of bool of shape (m,)
            Mask; all True if the graph is connected.
        """
        return np.isin(self.anchor_components, self._components_of(self.Z[index]))

    @property
    def component_sizes(self) -> Array:
        """Count the points of each connected component."""
        # The weights of a point sum to one and belong to its component.
        return np.rint(np.bincount(self.anchor_components, self.masses)).astype(np.int64)

    def _components_of(self, rows: CSR) -> Array:
        """Number of the connected component of points, by their weights."""
        return np.asarray(self.anchor_components[rows.indices[rows.indptr[:-1]]])

    @cached_property
    def component_labels(self) -> Array:
        """Number of the connected component of each point, shape (n,)."""
        return self._components_of(self.Z)
