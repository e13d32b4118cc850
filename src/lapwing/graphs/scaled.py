r"""The graph's part of an objective, :math:`\gamma L^p`, as one value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol

from lapwing._arrays import Array


class PowerOperator(Protocol):
    """L^p: what `ScaledLaplacian` asks of `Laplacian` and `AnchorLaplacian`."""

    @property
    def n_points(self) -> int:
        """Number of points n."""

    def apply(self, F: Any) -> Array:
        """L^p F."""

    def diagonal(self) -> Array:
        """About the diagonal of L^p: that of L, to the power p."""

    @property
    def norm_bound(self) -> float:
        """Upper bound of the norm of L^p."""


@dataclass(frozen=True, eq=False)
class ScaledLaplacian:
    """The operator gamma L^p on the values of functions at n points, and a function of them.

    Made by `Laplacian.scaled` and `AnchorLaplacian.scaled`.

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

    def apply(self, F: Any) -> Array:
        """Apply gamma L^p to the values F.

        Parameters
        ----------
        F : array-like of shape (n,) or (n, n_columns)
            Values at the points.

        Returns
        -------
        ndarray of the shape of F
            A new array, in the precision that L^p answers in.
        """
        return self.gamma * self.operator.apply(F)

    def __call__(self, F: Any) -> Array:
        """Do as `apply`, for those who ask for a function."""
        return self.apply(F)

    def diagonal(self) -> Array:
        """About the diagonal of gamma L^p, for preconditioners.

        Returns
        -------
        ndarray of shape (n,), float64
            gamma times the p-th powers of the diagonal of L. For p = 1 the diagonal itself; beyond,
            L^p would have to be formed.
        """
        return self.gamma * self.operator.diagonal()

    @property
    def norm_bound(self) -> float:
        """Upper bound of the norm of gamma L^p."""
        return self.gamma * self.operator.norm_bound
