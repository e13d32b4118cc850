"""What a space of functions offers.

A space holds the n training points, and functions h(x) = sum_j a_j phi_j(x) given by m
coefficients. Everything is in blocks of columns: coefficients (m, c), values (n, c).

    values(a)      Phi a, the values of the functions on the training points
    represent(u)   coefficients of sum_i u_i k(x_i, .), the adjoint of `values` in the metric of
                   the function space: <represent(u), h> = u' values(h)
    dot(a, b, .)   <a, b> = a'Gb column by column

Losses and graphs live on values and give a vector u on the points, so the gradient of a whole
objective in the metric of the function space is represent(u) + gamma_A a. For the full kernel
this is the LapSVM paper's preconditioning by K (Section 3.2), at no cost.

    system(...)    direct solver of quadratic models (Newton, dual, closed forms)
    function(...)  the fitted functions, for new points
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

from lapwing._arrays import Array

__all__ = [
    "Array",
    "CoordinateSpace",
    "DecisionFunction",
    "Quadratic",
    "Smoothness",
    "Solution",
    "Space",
    "System",
]

Smoothness: TypeAlias = Callable[[Any], Any]
"""F -> gamma_I L^p F on values (n, c)."""


class Solution(NamedTuple):
    """Minimisers of quadratic models, one a column."""

    coef: Array  # (m, c)
    intercept: Array  # (c,)
    values: Array  # (n, c), intercept included


Quadratic: TypeAlias = Callable[[Array], Solution]
"""u (n, c) -> argmin 1/2 [f'(D + gamma_I L)f + gamma_A |h|^2] - u'f with f = h + b."""


class System(Protocol):
    """Direct solver of quadratic models that differ in the weights D of the points only."""

    def factor(self, weights: Array | None = None) -> Quadratic:
        """Factor the model with weights D (n,), zero where None."""


class DecisionFunction(Protocol):
    """Fitted functions that new points can be put into."""

    def __call__(self, X: Any) -> Array:
        """Values of shape (n_samples, n_columns)."""


class Space(Protocol):
    """A space of functions on the training points; see the module."""

    @property
    def n_points(self) -> int: ...

    @property
    def n_coef(self) -> int: ...

    @property
    def dtype(self) -> Any: ...

    def values(self, coef: Any) -> Any: ...

    def represent(self, u: Any) -> Any: ...

    def dot(self, a: Any, b: Any, values_b: Any) -> Any: ...

    def system(
        self, smoothness: Smoothness | None, gamma_A: float, fit_intercept: bool
    ) -> System: ...

    def function(self, coef: Array, intercept: Array) -> DecisionFunction: ...


class CoordinateSpace(Space, Protocol):
    """A space with orthonormal coordinates, G = I, and an explicit design Phi."""

    @property
    def features(self) -> Any:
        """Phi, ndarray or sparse of shape (n, m)."""
