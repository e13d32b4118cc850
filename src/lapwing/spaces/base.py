"""The protocol of spaces of functions.

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
    gram()         the kernel matrix of the points, for solvers that factor it
    blocks()       row blocks of the design Phi, for methods that only sum over points
    design()       the design as what sums over points are cheapest with
    restrict(rows) the space on some of the points, and the way back from its coefficients
    function(...)  the fitted functions, for new points

The members are `FullKernelSpace` (Phi = G = K), `LinearSpace` (Phi = X, G = I) and `MappedSpace`
(Phi = psi(X), G = I). What is large in them, K or psi(X), is an array, or an operator that computes
its row blocks whenever it is applied: the space is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, Self, TypeAlias, runtime_checkable

from lapwing._arrays import Array
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


class Design(NamedTuple):
    """Design Phi = P A with P in row blocks, so that sums over points are of P and lifted once.

    A Gram matrix of P costs a third of one of P A, whose rows are lifted one by one. But where A is
    large, the small directions of P'P drown in its rounding, and rows have to be lifted.
    """

    parts: Callable[[], Iterator[tuple[slice, Any]]]
    """() -> (rows, what those rows of P are made of), of all points in order."""
    rows_of: Callable[[Any], Array]
    """Function from rows to dense rows of P (b, width); threads may share the calls."""
    width: int
    lift: Array | None = None  # A (width, m); None: the identity
    rounding: float = 0.0  # of A'(P'DP)A for weights that sum to one, about


class QuadraticSystem(Protocol):
    """Direct solver of quadratic models that differ in the weights D of the points only."""

    def factor(self, weights: Array | None = None) -> Quadratic:
        """Factor the model with weights D (n,), zero where None."""


@runtime_checkable
class Space(Protocol):
    """A space of functions on the training points; see the module."""

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
        """Row blocks of Phi, dense, one in memory at a time."""

    def design(self) -> Design:
        """Phi as it is summed over points."""

    def stored(self) -> Self:
        """Hold features that are computed block by block in memory, for many passes."""

    def restrict(self, rows: Array) -> Restriction:
        """Restrict to some points, distinct and in order, in orthonormal coordinates."""

    def function(self, coef: Array, intercept: Array) -> FittedFunction:
        """Make the functions with these coefficients, in the precision of the space."""


class CoordinateSpace(Space, Protocol):
    """A space with orthonormal coordinates, G = I, and an explicit design Phi."""

    @property
    def features(self) -> Any:
        """Phi: ndarray, sparse or an operator of shape (n, m)."""


class Restriction(NamedTuple):
    """A space on some of the points of another one."""

    space: CoordinateSpace
    embed: Callable[[Array], Array]
    """Coefficients (r,) or (r, c) there -> coefficients of the same functions in the other."""
