r"""The Laplacian of an anchor graph, an operator of rank at most m beside the identity.

Z (n, m) holds the weights of each point over the anchors; its rows sum to one. With the masses
:math:`\Lambda = \mathrm{diag}(Z^T 1)`,

.. math:: W = Z \Lambda^{-1} Z^T, \qquad L = I - W.

W is doubly stochastic, so that all degrees are one, L is both the plain and the normalised
Laplacian of W, and L 1 = 0. (The embedded-regression paper's "unit length" of the rows of Z is a
misprint, errata E14: with Euclidean length neither holds.) L is positive semi-definite and at most
I, as W is :math:`(Z \Lambda^{-1/2})(Z \Lambda^{-1/2})^T` with eigenvalues between 0 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from lapwing._arrays import Array
from lapwing._host.memory import require_memory
from lapwing.graphs.base import CSR, check_power, check_values, tidy
from lapwing.graphs.laplacian import ScaledLaplacian

_COPIES = 4  # of the affinity that are alive while it is made and checked
_ENTRY_BYTES = 12  # a float64 and a 32-bit index


@dataclass(frozen=True, eq=False)
class AnchorLaplacian:
    """L^p = (I - Z Lambda^-1 Z')^p on the values of functions at n points, never formed.

    Attributes
    ----------
    Z : csr_array of shape (n, m)
        Non-negative weights of points over anchors. Rows sum to one, and no column is zero.
    power : int
        p.
    """

    Z: Any
    power: int = 1

    @classmethod
    def from_weights(cls, Z: Any, *, power: int = 1) -> AnchorLaplacian:
        """Make the operator of a weight matrix.

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
                f"The weights of each point over the anchors must sum to one; they sum to values "
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
        """L^p F, in O(n s) operations a column and power.

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

    def scaled(self, gamma: float) -> ScaledLaplacian:
        """Return gamma L^p, the graph's part of an objective.

        Parameters
        ----------
        gamma : float
            Finite and at least 0.

        Returns
        -------
        ScaledLaplacian
            A function of values, with `apply`, `diagonal` and `norm_bound`.
        """
        return ScaledLaplacian(self, gamma)

    def diagonal(self) -> Array:
        """About the diagonal of L^p: that of L, to the power p.

        Returns
        -------
        ndarray of shape (n,), float64
            The diagonal itself for p = 1.
        """
        own = self.Z.power(2) @ (1 / self.masses)
        # That of the power itself needs its columns; a preconditioner lives with this.
        return np.asarray((1 - own) ** self.power)

    @property
    def norm_bound(self) -> float:
        """Upper bound of the norm of L^p: L is at most the identity."""
        return 1.0

    def reduced(self) -> Array:
        """Z' L^p Z, the Laplacian on the values at the anchors.

        Returns
        -------
        ndarray of shape (m, m), float64
            Symmetric positive semi-definite, made of sparse m x m products.

        Raises
        ------
        MemoryError
            If it will not fit, before it is allocated.
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
        # p products round mirrored entries otherwise.
        return np.asarray((dense + dense.T) / 2)

    def affinity(self) -> CSR:
        """W = Z Lambda^-1 Z' without its diagonal.

        Returns
        -------
        csr_array of shape (n, n), float64
            Symmetric; D - W of it is L, as the diagonal adds the same to D and to W.

        Raises
        ------
        MemoryError
            If it will not fit, before it is made: an anchor of c points has c^2 entries in it.
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

    def reached_anchors(self, index: Any) -> Array:
        """Which anchors lie in a connected component of some points.

        Parameters
        ----------
        index : array-like of int
            The points.

        Returns
        -------
        ndarray of bool of shape (m,)
            All True if the graph is connected.
        """
        return np.isin(self.anchor_components, self._components_of(self.Z[index]))

    @property
    def component_sizes(self) -> Array:
        """Number of points of each connected component."""
        # The weights of a point sum to one, all of them in its component.
        return np.rint(np.bincount(self.anchor_components, self.masses)).astype(np.int64)

    def _components_of(self, rows: CSR) -> Array:
        """Number of the connected component of points, by their weights."""
        return np.asarray(self.anchor_components[rows.indices[rows.indptr[:-1]]])

    @cached_property
    def component_labels(self) -> Array:
        """Number of the connected component of each point, shape (n,)."""
        return self._components_of(self.Z)
