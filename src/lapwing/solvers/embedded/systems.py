r"""Direct solvers of embedded regression with a quadratic loss.

The problem of `lapwing.objectives.embedded` is given by arrays: the kernel matrix K (`DenseSystem`)
or features Z with K = Z Z' in row blocks (`FeatureSystem`), and the quadratic form of g on a basis
(`GraphSide`). A system solves the problem with the quadratic loss 1/2 q_i r_i^2 - load_i r_i of the
residual r = f + b - g. This is a step of LapESVR's interior point method, and LapERLS for q = C.
The multipliers alpha = load - q r are the expansion coefficients, f = K alpha.

All systems are primal, in f and g. The paper's systems are dual, in alpha, with the graph kernel
(Lambda + mu L^p)^-1, which is infinite on components of the graph without a label and needs an
extra condition there (errata E7, E8). The primal systems need none, as the loss couples g and f.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
import scipy.linalg as sla

from lapwing._arrays import Array
from lapwing.linalg import column_dot, spd_factor, spd_halves
from lapwing.objectives.embedded import EmbeddedObjective, GraphSide, Units
from lapwing.solvers.base import Result, Settings, Status, checked_status, no_state
from lapwing.solvers.conjugate_gradient import conjugate_gradient
from lapwing.solvers.ridge import FunctionRegression
from lapwing.spaces.base import Space
from lapwing.spaces.block_operator import Design


class EmbeddedState(NamedTuple):
    """Function and virtual labels of all columns."""

    coef: Array  # (m, c): alpha of a dense system, coordinates w with f = Z w of features
    intercept: Array  # (c,)
    virtual: Array  # (n, c): g
    alpha: Array | None = None  # (n, c): multipliers, if the method computes them


EmbeddedResult: TypeAlias = Result[EmbeddedState, Array]


def in_units(result: EmbeddedResult, units: Units) -> EmbeddedResult:
    """Convert the result for targets y to the result for targets level + scale y."""
    coef, intercept, virtual, alpha = result.state
    scale, level = units.scale, units.level
    # Virtual labels on a cluster are blocks of rows, which `Units.plain` does not take.
    state = EmbeddedState(coef * scale, units.plain(intercept), virtual * scale + level, alpha)
    # The square of the scale may overflow where the objective does not.
    return replace(result, state=state, objective=result.objective * scale * scale)


class Fit(NamedTuple):
    """Function and virtual labels, a pair for each column."""

    coef: Array  # (m, c): alpha of a dense system, coordinates w with f = Z w of features
    intercept: Array  # (c,)
    graph_coef: Array  # (r, c): g = basis graph_coef

    def plus(self, t: float, change: Fit) -> Fit:
        """Add t times a change."""
        return Fit(*(a + t * b for a, b in zip(self, change, strict=True)))


class Move(NamedTuple):
    """Fit, or change of a fit, with residuals and multipliers on the points."""

    fit: Fit
    residual: Array  # (n, c) f + b - g
    alpha: Array  # (n, c) multipliers

    def column(self, j: int) -> Move:
        """Select a column, as (n, 1)."""
        fit = Fit(*(part[..., j : j + 1] for part in self.fit))
        return Move(fit, self.residual[:, j : j + 1], self.alpha[:, j : j + 1])


class StepSolver(Protocol):
    """Solver of a factored problem."""

    def __call__(self, load: Array, pull: Array, balance: Array | None = None) -> Move:
        """Solve alpha = load - q r, f = K alpha, basis' alpha + S z = pull, 1' alpha = balance."""


@dataclass(frozen=True, eq=False)
class DenseSystem:
    """System with f = K alpha and the kernel matrix: O(n^3) for a factorisation.

    alpha = load + W (g - b - K load) with W = q^1/2 (I + q^1/2 K q^1/2)^-1 q^1/2, which equals
    (K + diag(1/q))^-1 but is defined for q = 0 too. A system in the coefficients of g and b
    remains.

    Attributes
    ----------
    K : ndarray of shape (n, n)
    side : GraphSide
    fit_intercept : bool
    """

    K: Array
    side: GraphSide
    fit_intercept: bool

    expands: ClassVar[bool] = True  # whether the coefficients are the multipliers alpha

    @property
    def n_points(self) -> int:
        return int(self.K.shape[0])

    def trace(self) -> float:
        """Compute the trace of the kernel matrix, a bound of its norm."""
        return float(np.trace(self.K))

    def residual(self, fit: Fit) -> Array:
        """Compute the residuals f + b - g on the points."""
        return self.K @ fit.coef + fit.intercept - self.side.values(fit.graph_coef)

    def represent(self, alpha: Array) -> Array:
        """Return the coefficients of f = K alpha."""
        return alpha

    def norm(self, fit: Fit) -> Array:
        """Compute |f|^2 of each column."""
        return np.maximum(column_dot(fit.coef, self.K @ fit.coef), 0)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # seen in the optimality
    def eliminate(self, C: float) -> MatrixSide:
        """Eliminate f and b; the only step of order n^3."""
        W = _weighted_inverse(self.K, np.full(self.n_points, float(C)))
        coef, H = self._graph_part(W)
        intercept, bias = np.zeros(len(H)), np.zeros((self.n_points, 1))
        if self.fit_intercept:
            ones = coef.sum(axis=0)  # basis' W 1, as W is symmetric
            bias = W(np.ones((self.n_points, 1)))
            intercept = ones / bias.sum()
            H -= np.outer(ones, intercept)
            coef = coef - bias * intercept

        def variance(cross: Array, own: Array) -> Array:
            spread = own - column_dot(cross, W(cross))
            if self.fit_intercept:
                spread = spread + (1 - bias[:, 0] @ cross) ** 2 / bias.sum()
            return np.asarray(spread)

        return MatrixSide(H, coef, intercept, variance, self.K, float(C))

    def _graph_part(self, W: Callable[[Array], Array]) -> tuple[Array, Array]:
        """Compute W basis and basis' W basis."""
        basis = self.side.basis
        WU = W(np.eye(self.n_points) if basis is None else basis)
        H = self.side.adjoint(WU)
        return WU, (H + H.T) / 2

    def factor(self, q: Array) -> StepSolver:
        """Factor min 1/2 |f|^2 + sum_i (1/2 q_i r_i^2 - load_i r_i) + graph side, q >= 0."""
        side, r = self.side, len(self.side.curvature)
        W = _weighted_inverse(self.K, q)
        WU, H = self._graph_part(W)
        H += side.curvature
        if self.fit_intercept:  # together with g: if all q are 0, neither has a pivot by itself
            ones = WU.sum(axis=0)
            bias = W(np.ones((self.n_points, 1)))
            H = np.block([[H, -ones[:, None]], [-ones[None], bias.sum(keepdims=True)]])
            WU = np.hstack([WU, -bias])
        solve_spd = spd_factor(H)

        def solve(load: Array, pull: Array, balance: Array | None = None) -> Move:
            right, pushed = pull - side.adjoint(load), self.K @ load
            if self.fit_intercept:
                total = load.sum(axis=0) - (0.0 if balance is None else balance)
                right = np.vstack([right, total])
            z = solve_spd(right + WU.T @ pushed)
            alpha = load + WU @ z - W(pushed)
            intercept = z[r] if self.fit_intercept else np.zeros(z.shape[1])
            fit = Fit(alpha, intercept, z[:r])
            return Move(fit, self.residual(fit), alpha)

        return solve


def _weighted_inverse(K: Array, q: Array) -> Callable[[Array], Array]:
    """Return the map W = q^1/2 (I + q^1/2 K q^1/2)^-1 q^1/2.

    An inexact kernel matrix (such as a precomputed one in float32) has negative eigenvalues, which
    a large q scales to below -1. As no eigenvalue of the exact I + q^1/2 K q^1/2 is below 1, they
    are raised to 1.
    """
    root = np.sqrt(q)[:, None]

    def scaled() -> Array:
        A = K * root
        A *= root.T
        A.flat[:: len(A) + 1] += 1
        return A

    try:
        # The transpose of the symmetric matrix has LAPACK's (Fortran's) order without a copy.
        factor = sla.cho_factor(scaled().T, lower=True, overwrite_a=True, check_finite=False)
    except sla.LinAlgError:
        values, V = sla.eigh(scaled(), overwrite_a=True)
        values = np.maximum(values, 1.0)[:, None]
        return lambda u: root * (V @ ((V.T @ (root * u)) / values))
    return lambda u: root * sla.cho_solve(factor, root * u, check_finite=False)


@dataclass(frozen=True, eq=False)
class FeatureSystem:
    """System with f = Z w and features in row blocks, in O(n (m + r)^2) time.

    It needs no memory of order n m.

    Attributes
    ----------
    space : Space
        With G = I; only its row blocks are used.
    side : GraphSide
        With a basis.
    fit_intercept : bool
    """

    space: Space
    side: GraphSide
    fit_intercept: bool

    expands: ClassVar[bool] = False

    @property
    def n_points(self) -> int:
        return self.space.n_points

    @cached_property
    def _design(self) -> Design:
        return self.space.design()

    @cached_property
    def _rows(self) -> Design:
        """Rows of Z, each computed from its point, as multipliers magnify rounding errors."""
        return self._design.lifted()

    def normal_matrix(self, q: Array) -> Array:
        """Compute the matrix of the normal equations of (w, z, b), without the graph side."""
        r, basis = len(self.side.curvature), self.side.basis
        assert basis is not None
        design = self._design.lifted(float(q.sum()))
        return design.normal_matrix(q, lambda rows: -basis[rows], r, bias=self.fit_intercept)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def eliminate(self, C: float, H: Array | None = None) -> FeatureSide:
        """Eliminate f and b; the only pass over the points, unless `normal_matrix` H is given."""
        if H is None:
            H = self.normal_matrix(np.full(self.n_points, float(C)))
        m, r = self.space.n_coef, len(self.side.curvature)
        z, own = slice(m, m + r), np.r_[0:m, m + r : len(H)]
        forward, backward = spd_halves(H[np.ix_(own, own)])
        half = forward(H[own, z])
        found = -backward(half)
        intercept = found[m] if self.fit_intercept else np.zeros(r)

        def variance(coordinates: Array) -> Array:
            with_bias = [coordinates, np.ones((len(own) - m, coordinates.shape[1]))]
            spread = forward(np.vstack(with_bias))
            return column_dot(spread, spread)

        return FeatureSide(H[z, z] - half.T @ half, found[:m], intercept, variance, H)

    def trace(self) -> float:
        """Compute the trace of the kernel matrix, a bound of its norm."""
        blocks = (np.asarray(Z, dtype=np.float64) for _, Z in self.space.blocks())
        return float(sum(np.einsum("ij,ij->", Z, Z) for Z in blocks))

    def residual(self, fit: Fit) -> Array:
        """Compute the residuals f + b - g on the points."""
        values = np.concatenate([part for _, part in self._rows.values(fit.coef)])
        return np.asarray(values + fit.intercept - self.side.values(fit.graph_coef))

    def represent(self, alpha: Array) -> Array:
        """Return the coefficients of f = K alpha."""
        return self._rows.adjoint(alpha)

    def norm(self, fit: Fit) -> Array:
        """Compute |f|^2 of each column."""
        return column_dot(fit.coef, fit.coef)

    def factor(self, q: Array) -> StepSolver:
        """Factor the same problem as `DenseSystem.factor`."""
        m, r = self.space.n_coef, len(self.side.curvature)
        H = self.normal_matrix(q)
        H[m : m + r, m : m + r] += self.side.curvature
        solve_spd = spd_factor(H)

        def solve(load: Array, pull: Array, balance: Array | None = None) -> Move:
            right = np.vstack([self.represent(load), pull - self.side.adjoint(load)])
            if self.fit_intercept:
                total = load.sum(axis=0) - (0.0 if balance is None else balance)
                right = np.vstack([right, total])
            theta = solve_spd(right)
            intercept = theta[-1] if self.fit_intercept else np.zeros(theta.shape[1])
            fit = Fit(theta[:m], intercept, theta[m : m + r])
            residual = self.residual(fit)
            return Move(fit, residual, load - q[:, None] * residual)

        return solve


EmbeddedSystem: TypeAlias = DenseSystem | FeatureSystem
"""Problem with a quadratic loss; the kernel is given by its matrix or by features."""


@dataclass(frozen=True, eq=False)
class KernelSide(ABC):
    """Terms of LapERLS that do not depend on the labels and mu, with f and b eliminated.

    They are 1/2 z'Hz for virtual labels g = basis z.

    Attributes
    ----------
    curvature : ndarray of shape (r, r)
        H, without the graph side; singular if b makes constants free.
    coef : ndarray of shape (m, r)
        The coefficients of f are coef z.
    intercept : ndarray of shape (r,)
        b = intercept' z.
    variance : callable
        Function for the variances (q,) of f at new points, given z. Its arguments are the kernel
        values (n, q) and (q,) of new points for a matrix, or coordinates (m, q) for features.
    expands : bool
        Whether the coefficients of f are its multipliers alpha.
    """

    expands: ClassVar[bool] = False

    curvature: Array
    coef: Array
    intercept: Array
    variance: Callable[..., Array]

    def system(self, side: GraphSide) -> Array:
        """Return the matrix H + S (r, r)."""
        return np.asarray(self.curvature + side.curvature)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # seen in the optimality
    def graph_coef(self, side: GraphSide) -> Array:
        """Compute the coefficients z (r, c) of the virtual labels."""
        return np.asarray(spd_factor(self.system(side))(side.pull))

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def minimize(self, side: GraphSide) -> EmbeddedResult:
        """Solve for the labels of a graph side, all columns at once."""
        z = self.graph_coef(side)
        fit = Fit(self.coef @ z, self.intercept @ z, z)
        cost, optimality = self._measure(fit, side)
        state = EmbeddedState(fit.coef, fit.intercept, side.values(z))
        value, status = cost / 2 + side.energy(z), checked_status(Status.CONVERGED, optimality)
        return Result(state, value, optimality, 1, status)

    @abstractmethod
    def rows_at(self, points: Array, space: Any, X: Any) -> Array:
        """Compute rows (q, r) that map z to the mean of f at points of the fit, with features X."""

    @abstractmethod
    def beyond(self, space: Any, X: Any) -> tuple[Array, Array]:
        """Compute the distribution of f at new points, given the virtual labels g = basis z.

        Returns rows (q, r) that map z to its mean, and its variances (q,) in units of the noise
        variance.
        """

    @abstractmethod
    def _measure(self, fit: Fit, side: GraphSide) -> tuple[Array, Array]:
        """Compute |h|^2 + C r'r and the relative residual of the linear equations, by column."""


@dataclass(frozen=True, eq=False)
class MatrixSide(KernelSide):
    """Kernel side with the kernel matrix.

    Attributes
    ----------
    K : ndarray of shape (n, n)
    C : float
    """

    expands = True

    K: Array
    C: float

    def rows_at(self, points: Array, space: Any, X: Any) -> Array:
        return np.asarray(self.K[points] @ self.coef + self.intercept)

    def beyond(self, space: Any, X: Any) -> tuple[Array, Array]:
        cross, own = space.products(X)
        return cross.T @ self.coef + self.intercept, self.variance(cross, own)

    def _measure(self, fit: Fit, side: GraphSide) -> tuple[Array, Array]:
        f, g = self.K @ fit.coef, side.values(fit.graph_coef)
        residual = f + fit.intercept - g
        norm = np.maximum(column_dot(fit.coef, f), 0)
        cost = norm + self.C * column_dot(residual, residual)
        return cost, _relative(fit.coef / self.C + residual, g)


@dataclass(frozen=True, eq=False)
class FeatureSide(KernelSide):
    """Kernel side with features, whose normal equations are summed in one pass over the points.

    Attributes
    ----------
    equations : ndarray of shape (m + r (+ 1), m + r (+ 1))
        Matrix of the normal equations of (w, z, b), without the graph side.
    """

    equations: Array

    def rows_at(self, points: Array, space: Any, X: Any) -> Array:
        return np.asarray(space.coordinates(X) @ self.coef + self.intercept)

    def beyond(self, space: Any, X: Any) -> tuple[Array, Array]:
        coordinates = space.coordinates(X)
        return coordinates @ self.coef + self.intercept, self.variance(coordinates.T)

    def of_function(self) -> Array:
        """Return the matrix of the normal equations of (w, b), for regression on given values."""
        m, r = self.coef.shape
        own = np.r_[0:m, m + r : len(self.equations)]
        return np.asarray(self.equations[np.ix_(own, own)])

    def _measure(self, fit: Fit, side: GraphSide) -> tuple[Array, Array]:
        z = slice(len(fit.coef), len(fit.coef) + len(fit.graph_coef))
        theta = np.vstack([fit.coef, fit.graph_coef, fit.intercept[None]])[: len(self.equations)]
        defect = self.equations @ theta
        defect[z] += side.curvature @ fit.graph_coef - side.pull
        norm = column_dot(fit.coef, fit.coef)
        return norm + _loss_of_equations(fit, side), _relative(defect, side.pull)


def _loss_of_equations(fit: Fit, side: GraphSide) -> Array:
    """Compute C r'r of a solution from the normal equations, as r = Z w + b - basis z.

    With w = -C Z'r, 1'r = 0 and C basis'r = S z - h it is z'(h - S z) - |w|^2, where h - S z is a
    sum over the residuals at the labels.
    """
    z = fit.graph_coef
    misfit, values = side.misfit(z), side.values_at(side.index, z)
    force = column_dot(values, side.weights[:, None] * misfit) - column_dot(z, side.smoothness(z))
    return np.asarray(np.maximum(force - column_dot(fit.coef, fit.coef), 0))


def _relative(defect: Array, reference: Array) -> Array:
    size = np.sqrt(column_dot(reference, reference))
    return np.asarray(np.sqrt(column_dot(defect, defect)) / np.where(size > 0, size, 1.0))


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # seen in the optimality
def graph_least_squares(
    objective: EmbeddedObjective, kernel: FunctionRegression, settings: Settings[None]
) -> EmbeddedResult:
    """Minimise (33) by conjugate gradient, with the graph as an operator.

    Parameters
    ----------
    objective : EmbeddedObjective
        Without a basis of g, in a space with G = I.
    kernel : FunctionRegression
        Regression of functions of the space on values g.
    settings : Settings
        `tol` is the tolerance of the residual relative to the right-hand side.
    """
    C, n = objective.C, objective.n_points
    index, weights, targets = objective.index, objective.weights, objective.targets
    right = np.zeros((n, targets.shape[1]))
    np.add.at(right, index, weights[:, None] * targets)
    held = np.bincount(index, weights, minlength=n)

    def apply(g: Array) -> Array:
        return kernel.inverse(g) + objective.smoothness(g) + held[:, None] * g

    # C, an upper bound of the diagonal of P^-1, is good enough for a preconditioner; the exact
    # diagonal would take another pass over the features.
    diagonal = C + held + np.maximum(objective.smoothness.diagonal(), 0)
    g, optimality, n_iter, status, _ = conjugate_gradient(
        apply,
        right,
        diagonal,
        tol=settings.tol,
        max_iter=settings.max_iter,
        on_iteration=lambda: settings.on_iteration(no_state),
    )
    w, b = kernel.regress(g)
    loss = C * kernel.squares(g, w, b)
    misfit = targets - g[index]
    # g'L^p g >= 0; negative values are rounding errors.
    smooth = np.maximum(column_dot(g, objective.smoothness(g)), 0)
    value = (column_dot(w, w) + loss + weights @ misfit**2 + smooth) / 2
    return Result(EmbeddedState(w, b, g), value, optimality, n_iter, status)
