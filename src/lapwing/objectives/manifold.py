r"""Objective of manifold regularisation, with its gradient and metric.

For every column (a one-vs-rest problem, or the only one) with f = h + b 1 on the n points,

.. math:: J(h, b) = \tfrac12\big[\sum_{i \in L} w_i\, 2\ell(y_i, f_i) + \gamma_A \|h\|^2
                    + \gamma_I f^T L^p f\big]

(LapSVM paper, (7); the bias is inside the intrinsic norm, errata L3). Shapes: n points, l labelled
observations, m coefficients, c columns; coefficients (m, c), values (n, c), intercepts (c,).

Everything is expressed by the space's `values` and `represent`, the graph's `apply` and the
pointwise loss. The residual on the points, v = dloss/df + gamma_I L^p f, gives the gradient in the
metric of the function space, g = represent(v) + gamma_A h, and 1'v for b.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from lapwing._arrays import Array
from lapwing.graphs.base import CSR
from lapwing.linalg import FREE_CONSTANT, column_dot
from lapwing.losses.base import Loss
from lapwing.spaces.base import QuadraticSystem, Smoothness, Space


class State(NamedTuple):
    """Function with its values on the points.

    Also used for directions, as `values` and `smooth` are linear in the coefficients.
    """

    coef: Array  # (m, c)
    intercept: Array  # (c,)
    values: Array  # (n, c), intercept included
    smooth: Array  # (n, c): gamma_I L^p values

    def step(self, s: Array, direction: State) -> State:
        """Move each column by a step s (c,) along a direction."""
        steps = s.astype(self.values.dtype)
        return State(*(mine + steps * its for mine, its in zip(self, direction, strict=True)))

    def columns(self, which: Array) -> State:
        """Select columns."""
        return State(*(np.take(part, which, axis=part.ndim - 1) for part in self))

    def with_columns(self, which: Array, new: State) -> State:
        """Replace columns by those of another state, in the wider precision of both."""
        parts = [old.astype(np.result_type(old, part)) for old, part in zip(self, new, strict=True)]
        for part, columns in zip(parts, new, strict=True):
            part[..., which] = columns
        return State(*parts)


class Line(NamedTuple):
    """Objective restricted to rays state + s direction, s >= 0, one ray for each column.

    All arrays are float64. The regularisers are s -> const + linear s + quadratic s^2 / 2.
    """

    linear: Array  # (c,)
    quadratic: Array  # (c,)
    y: Array  # (l, c)
    scores: Array  # (l, c)
    slopes: Array  # (l, c)
    weights: Array  # (l, 1)


@dataclass(frozen=True, eq=False)
class Objective:
    """Loss on labelled points + ambient norm + intrinsic norm, for all columns together.

    Attributes
    ----------
    space : Space
    loss : Loss
    index : ndarray of shape (l,)
        Point of each observation; a point may have several.
    targets : array of shape (l, c)
    weights : array of shape (l,)
        Weights > 0 of the observations in the loss.
    gamma_A : float
        Weight > 0 of the ambient norm.
    graph_term : function or None
        F -> gamma_I L^p F on values (n, c); None for a supervised problem.
    fit_intercept : bool
    bias_unit : float, default=1.0
        Unit of the bias in the metric.
    """

    space: Space
    loss: Loss
    index: Array
    targets: Array
    weights: Array
    gamma_A: float
    graph_term: Smoothness | None = None
    fit_intercept: bool = False
    bias_unit: float = 1.0

    @property
    def n_columns(self) -> int:
        return int(self.targets.shape[1])

    def columns(self, which: Array) -> Objective:
        """Select columns of the objective."""
        return replace(self, targets=np.take(self.targets, which, axis=1))

    def smoothness(self, F: Array) -> Array:
        """Compute gamma_I L^p F."""
        return np.zeros_like(F) if self.graph_term is None else self.graph_term(F)

    def labeled(self, F: Array) -> Array:
        """Return the rows of F at the observations."""
        return F[self.index]

    def scatter(self, u: Array) -> Array:
        """Sum values at the observations (l, c) into values on the points (n, c)."""
        return np.asarray(self._scattering @ u)

    @cached_property
    def _scattering(self) -> CSR:
        """Matrix (n, l) of zeros and ones; `np.add.at` takes 27 times as long."""
        l = len(self.index)
        entries = np.ones(l, dtype=np.int8), (self.index, np.arange(l))
        return sp.csr_array(entries, shape=(self.space.n_points, l))

    def state(self, coef: Array, intercept: Array) -> State:
        """Evaluate a function on the points: one product with the space, one with the graph."""
        values = self.space.values(coef) + intercept
        return State(coef, intercept, values, self.smoothness(values))

    def zero(self) -> State:
        """Return the zero function, the start in the papers, without a product."""
        c, dtype = self.targets.shape[1], self.targets.dtype
        values = np.zeros((self.space.n_points, c), dtype)
        return State(np.zeros((self.space.n_coef, c), dtype), np.zeros(c, dtype), values, values)

    def gradient(self, state: State) -> tuple[Array, Array]:
        """Compute the gradient in the metric of `inner`: (m, c) and intercepts (c,)."""
        slope = self.weights[:, None] * self.loss.derivative(
            self.targets, self.labeled(state.values)
        )
        v = self.scatter(slope) + state.smooth
        total = np.sum(v, axis=0) if self.fit_intercept else np.zeros_like(state.intercept)
        return self.space.represent(v) + self.gamma_A * state.coef, total * self.bias_unit**2

    def inner(self, a: State, b: State) -> Array:
        """Compute <a, b> of the function space plus the product of intercepts (the metric P)."""
        ambient: Array = self.space.dot(a.coef, b.coef, b.values - b.intercept)
        return np.asarray(ambient + a.intercept * b.intercept / self.bias_unit**2)

    def descent(self, state: State) -> State:
        """Return the gradient as a function on the points; one product with the space."""
        return self.state(*self.gradient(state))

    def optimality(self, state: State) -> Array:
        """Compute the norm of the gradient in the function space, relative to that at zero."""
        reference = self.norm(self.descent(self.zero()))
        found = self.norm(self.descent(state))
        return np.asarray(found / np.where(reference > 0, reference, 1.0))

    def norm(self, function: State) -> Array:
        """Compute norms in the metric of the function space.

        If rounding makes <g, g> negative, the root of its absolute value is returned, which is the
        rounding error of the norm; zero would wrongly indicate an optimum.
        """
        return np.asarray(np.sqrt(np.abs(self.inner(function, function))))

    def value(self, state: State) -> Array:
        """Compute J of each column."""
        fit = self.weights @ self.loss.value(self.targets, self.labeled(state.values))
        norm: Array = self.space.dot(state.coef, state.coef, state.values - state.intercept)
        return fit + (self.gamma_A * norm + column_dot(state.values, state.smooth)) / 2

    def reported(self, state: State) -> Array:
        """Compute the objective in the scaling of its paper (`Loss.objective_scale`)."""
        return self.loss.objective_scale * self.value(state)

    def line(self, state: State, direction: State) -> Line:
        """Restrict to the rays from state along direction."""
        ambient = direction.values - direction.intercept
        linear = self.gamma_A * self.space.dot(state.coef, direction.coef, ambient)
        quadratic = self.gamma_A * self.space.dot(direction.coef, direction.coef, ambient)
        loss_side = (
            self.targets,
            self.labeled(state.values),
            self.labeled(direction.values),
            self.weights[:, None],
        )
        return Line(
            linear + column_dot(state.values, direction.smooth),
            quadratic + column_dot(direction.values, direction.smooth),
            *(part.astype(np.float64) for part in loss_side),
        )

    def system(self, *, fit_intercept: bool | None = None) -> QuadraticSystem:
        """Return the direct solver of quadratic models with these regularisers."""
        intercept = self.fit_intercept if fit_intercept is None else fit_intercept
        return self.space.system(self.graph_term, self.gamma_A, intercept)

    @property
    def sees_constants(self) -> bool:
        """Whether the intrinsic norm of a constant is not 0, so that a bias is regularised."""
        return self.constant_energy > FREE_CONSTANT

    @property
    def free_bias(self) -> bool:
        """Whether there is a bias that is not regularised."""
        return self.fit_intercept and not self.sees_constants

    @cached_property
    def constant_energy(self) -> float:
        """Compute 1'L^p 1 over r'L^p r for a generic r (errata L3).

        The ratio is needed as rounding errors of (D - W) 1 = 0 are in proportion to the weights.
        """
        if self.graph_term is None:
            return 0.0
        n = self.space.n_points
        # Random, as a pattern such as alternating signs may be constant on every component.
        generic = np.random.default_rng(0).standard_normal(n)
        pair: Array = np.stack([np.ones(n), generic], axis=1)
        constant, rough = column_dot(pair, np.asarray(self.smoothness(pair)))
        return float(constant / rough) if rough > 0 else 0.0
