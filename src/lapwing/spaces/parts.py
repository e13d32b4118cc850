"""A space and its parts: problems that are about some of the points only.

One-vs-one fits a machine for every pair of classes, each about its own few points. `part` gives the
space of these; `gather` brings a solution there back to coefficients that all machines share, and
`values` evaluates those on all points, all columns at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lapwing._arrays import is_sparse
from lapwing.kernels import Kernel
from lapwing.linalg import pivoted_cholesky
from lapwing.spaces.base import Array, CoordinateSpace
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.mapped import MappedSpace, full_map, inverse_transpose, rounding

__all__ = ["KernelParts", "Parts", "SpaceParts"]

# A part of fewer than this share of the coordinates is factored: products with it then cost less
# than the factorisation within some hundred of them.
_SMALL = 0.25


class Parts(Protocol):
    """What one-vs-one asks of the functions; see the module."""

    @property
    def n_coef(self) -> int:
        """Number of the shared coefficients m."""

    def part(self, rows: Array) -> CoordinateSpace:
        """The space on some points."""

    def gather(self, part: CoordinateSpace, rows: Array, coef: Array) -> Array:
        """Shared coefficients (m,) of a function of a part."""

    def values(self, coef: Array) -> Array:
        """Functions (m, c) on all points (n, c)."""

    def attributes(self, coef: Array) -> Mapping[str, Any]:
        """What predictions are made of: `alpha` with `basis` and `kernel`, or `coef`."""


@dataclass(frozen=True, eq=False)
class SpaceParts:
    """Parts of a space with explicit features.

    Attributes
    ----------
    space : LinearSpace or MappedSpace
    columns : ndarray or None
        Of a linear space that was made of some features only: which.
    n_features : int
        Of them all.
    """

    space: Any
    columns: Array | None = None
    n_features: int = 0

    @classmethod
    def linear(cls, X: Any) -> SpaceParts:
        """Linear functions of the features; those that are 0 at all points are left out.

        Hashed text has 2^18 columns and uses thousands: vectors of coefficients would cost more
        than the products.
        """
        if is_sparse(X):
            used = np.unique(X.indices)
            if 2 * len(used) < X.shape[1]:
                return cls(LinearSpace(X[:, used]), used, int(X.shape[1]))
        return cls(LinearSpace(X))

    @property
    def n_coef(self) -> int:
        return int(self.space.n_coef)

    def part(self, rows: Array) -> CoordinateSpace:
        space = self.space
        if len(rows) == space.n_points:
            return space  # type: ignore[no-any-return]
        if isinstance(space, LinearSpace):
            return LinearSpace(space.X[rows])
        features = space.features[rows]
        if len(rows) > _SMALL * space.n_coef:
            return MappedSpace(features, np.eye(space.n_coef), space.function)
        # Solutions lie in the span of the points' own features (representer theorem).
        gram = np.asarray(features @ features.T, dtype=np.float64)
        F, pivots = pivoted_cholesky(gram, rounding(np.diagonal(gram).astype(space.dtype)))
        lift = features[pivots].T.astype(np.float64) @ inverse_transpose(F[pivots])
        return MappedSpace(F.astype(space.dtype, copy=False), lift, space.function)

    def gather(self, part: CoordinateSpace, rows: Array, coef: Array) -> Array:
        same = part is self.space or isinstance(part, LinearSpace)
        if same or part.n_coef == self.n_coef:
            return coef
        assert isinstance(part, MappedSpace)
        return np.asarray(part.lift @ coef)

    def values(self, coef: Array) -> Array:
        return np.asarray(self.space.values(coef.astype(self.space.dtype, copy=False)))

    def attributes(self, coef: Array) -> Mapping[str, Any]:
        space = self.space
        lifted = space.lift @ coef if isinstance(space, MappedSpace) else coef
        lifted = lifted.astype(space.dtype, copy=False)
        if self.columns is not None:
            whole = np.zeros((self.n_features, lifted.shape[1]), dtype=lifted.dtype)
            whole[self.columns] = lifted
            lifted = whole
        if isinstance(space, LinearSpace) or space.kernel is None:
            return {"coef": np.ascontiguousarray(lifted.T)}
        return {"alpha": lifted, "basis": space.basis, "kernel": space.kernel}


@dataclass(frozen=True, eq=False)
class KernelParts:
    """Parts of the full-kernel space, whose n x n matrix is never formed: only those of the parts.

    Attributes
    ----------
    kernel : Kernel
    X : ndarray or CSR of shape (n, n_features); (n, n) if precomputed
    """

    kernel: Kernel
    X: Any

    @property
    def n_coef(self) -> int:
        return int(self.X.shape[0])

    def part(self, rows: Array) -> CoordinateSpace:
        points = self.X[rows]
        if self.kernel.precomputed:
            points = points[:, rows]
        return full_map(self.kernel, self.kernel.gram(points), points)

    def gather(self, part: CoordinateSpace, rows: Array, coef: Array) -> Array:
        assert isinstance(part, MappedSpace)
        assert part.pivots is not None
        alpha = np.zeros(self.n_coef)
        lifted = part.lift @ coef
        alpha[rows if self.kernel.precomputed else rows[part.pivots]] = lifted
        return alpha

    def values(self, coef: Array) -> Array:
        return self.kernel.expand(self.X, self.X, coef.astype(self.X.dtype, copy=False))

    def attributes(self, coef: Array) -> Mapping[str, Any]:
        alpha = coef.astype(self.X.dtype, copy=False)
        if self.kernel.precomputed:
            return {"alpha": alpha, "basis": None, "kernel": self.kernel}
        used = np.flatnonzero(np.any(alpha != 0, axis=1))
        basis = self.X[used]
        return {"alpha": alpha[used], "basis": basis, "kernel": self.kernel}
