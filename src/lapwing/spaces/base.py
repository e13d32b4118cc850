"""Protocol of function spaces.

A space has n training points, and its functions h(x) = sum_j a_j phi_j(x) have m coefficients.
Several functions are columns of blocks: coefficients (m, c), values (n, c).

    values(a)      Phi a, the values of the functions on the training points
    represent(u)   coefficients of sum_i u_i k(x_i, .), the adjoint of `values` in the metric of
                   the function space: <represent(u), h> = u' values(h)
    dot(a, b, .)   <a, b> = a'Gb column by column

Losses and graphs are functions of the values, with a gradient u on the points, so the gradient of
the whole objective in the metric of the function space is represent(u) + gamma_A a. For the full
kernel this is the preconditioning by K of the LapSVM paper (Section 3.2), at no cost.

    system(...)    direct solver of quadratic models (Newton, dual, closed forms)
    gram()         kernel matrix of the points, for solvers that factor it
    blocks()       row blocks of the design Phi, for methods that only sum over points
    design()       design in the form in which sums over points are cheapest
    restrict(rows) space on some of the points, with the map of coefficients back
    function(...)  fitted functions, for new points

The members are `FullKernelSpace` (Phi = G = K), `LinearSpace` (Phi = X, G = I) and `MappedSpace`
(Phi = psi(X), G = I). The large matrix, K or psi(X), is an array, or an operator that computes its
row blocks whenever it is applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, Self, TypeAlias, runtime_checkable

from lapwing._arrays import Array
from lapwing.spaces.block_operator import Design
from lapwing.spaces.functions import FittedFunction

Smoothness: TypeAlias = Callable[[Any], Any]
"""F -> gamma_I L^p F on values (n, c)."""


class Coefficients(NamedTuple):
    """Minimisers of quadratic models, one for each column."""

    coef: Array  # (m, c)
    intercept: Array  # (c,)
    values: Array  # (n, c), intercept included


Quadratic: TypeAlias = Callable[[Array], Coefficients]
"""u (n, c) -> argmin 1/2 [f'(D + gamma_I L)f + gamma_A |h|^2] - u'f with f = h + b."""


class QuadraticSystem(Protocol):
    """Direct solver of quadratic models that differ in the weights D of the points only."""

    def factor(self, weights: Array | None = None) -> Quadratic:
        """Factor the model with weights D (n,); None stands for weights 0."""


@runtime_checkable
class Space(Protocol):
    """Space of functions on the training points; see the module."""

    @property
    def n_points(self) -> int: ...

    @property
    def n_coef(self) -> int: ...

    @property
    def dtype(self) -> Any: ...

    def values(self, coef: Array) -> Any: ...

    def represent(self, u: Array) -> Any: ...

    def dot(self, a: Array, b: Array, values_b: Array) -> Any: ...

    def system(
        self, smoothness: Smoothness | None, gamma_A: float, fit_intercept: bool
    ) -> QuadraticSystem: ...

    def gram(self) -> Array:
        """Kernel matrix (n, n) of the points, dense, in float64."""

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Iterate over dense row blocks of Phi, one in memory at a time."""

    def design(self) -> Design:
        """Return Phi for sums over points."""

    def stored(self) -> Self:
        """Store features that are computed in blocks in memory, for many passes."""

    def restrict(self, rows: Array) -> Restriction:
        """Restrict to some points, distinct and in order, in orthonormal coordinates."""

    def function(self, coef: Array, intercept: Array) -> FittedFunction:
        """Create the functions with these coefficients, in the precision of the space."""


class CoordinateSpace(Space, Protocol):
    """Space with orthonormal coordinates, G = I, and an explicit design Phi."""

    @property
    def features(self) -> Any:
        """Phi: ndarray, sparse or an operator of shape (n, m)."""


class Restriction(NamedTuple):
    """Space on some of the points of another one."""

    space: CoordinateSpace
    embed: Callable[[Array], Array]
    """Map coefficients (r,) or (r, c) to those of the same functions in the other space."""
