r"""Deformed kernel: the kernel of the functions on the points under both regularisers.

gamma_A |h|^2 + gamma_I f'L^p f is the squared norm of a space of functions on the points with the
kernel matrix [K 1] M^-1 (Sindhwani, Niyogi and Belkin 2005; LapSVM paper, Section 2.1, with errata
L7 and L8). It does not depend on labels or losses: after one factorisation, O(n^3), each column is
a back substitution, O(n^2), and a problem with l labels involves one l x l block only.
Leave-one-out, added labels, repeated draws of labels, and other losses use this.

The fit with the squared loss is the mean of a Gaussian process (`posterior_variances`), as the
objective is :math:`-\sigma^2` times the logarithm of a density: f has a normal prior of covariance
:math:`\sigma^2 T`, where T is the deformed kernel, a bias that is not part of T has a flat prior,
and targets have normal errors of variance :math:`\sigma^2 / w_i` (Rasmussen and Williams 2006,
sections 2.2 and 2.7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import Solve, spd_factor
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.posterior import Covariance
from lapwing.spaces.base import Quadratic
from lapwing.spaces.full import FullKernelSpace


class Representers(NamedTuple):
    """Columns of the deformed kernel at some points."""

    points: Array  # (q,) distinct, in order
    coef: Array  # (m, q)
    intercept: Array  # (q,)
    values: Array  # (n, q)
    free_intercept: bool

    def of(self, points: Array) -> Representers:
        """Restrict to some of the points, which need not be distinct or in order."""
        wanted = np.unique(points)
        at = self.position(wanted)
        if len(wanted) == len(self.points):
            return self
        return self._replace(
            points=wanted,
            coef=self.coef[:, at],
            intercept=self.intercept[at],
            values=self.values[:, at],
        )

    def values_alone(self) -> Representers:
        """Drop the coefficients, so that `of` does not copy them."""
        return self._replace(coef=self.coef[:0])

    def position(self, points: Array) -> Array:
        """Return the index of each point in `self.points`."""
        at = np.searchsorted(self.points, points)
        assert np.array_equal(self.points[np.minimum(at, len(self.points) - 1)], points)
        return at

    def reduce(self, objective: Objective) -> Objective:
        """Return the supervised problem on these points, with gamma_A = 1."""
        T = self.values[self.points]
        return Objective(
            space=FullKernelSpace((T + T.T) / 2),
            loss=objective.loss,
            index=self.position(objective.index),
            targets=objective.targets.astype(np.float64),
            weights=objective.weights.astype(np.float64),
            gamma_A=1.0,
            fit_intercept=self.free_intercept,
        )

    def on_points(self, reduced: State) -> Array:
        """Compute the values (n, c) on all points of a solution of the reduced problem."""
        return np.asarray(self.values @ reduced.coef + reduced.intercept)

    def lift(self, objective: Objective, reduced: State) -> State:
        """Convert a solution of the reduced problem to the function on all points."""
        values = self.on_points(reduced)
        intercept = self.intercept @ reduced.coef + reduced.intercept
        return State(self.coef @ reduced.coef, intercept, values, objective.smoothness(values))


@dataclass(frozen=True, eq=False)
class DeformedKernel:
    """Factored deformed kernel of a space, a graph and both weights.

    Attributes
    ----------
    n_points : int
    free_intercept : bool
        Whether the bias is not part of the kernel. It is part of it if the intrinsic norm penalises
        constants; the dual then has no equality constraint (errata L8).
    """

    n_points: int
    free_intercept: bool
    _quadratic: Quadratic

    @classmethod
    def of(cls, objective: Objective) -> DeformedKernel:
        """Factor the kernel of an objective, in O(n^3), for any labels and loss."""
        system = objective.system(fit_intercept=objective.fit_intercept and not objective.free_bias)
        return cls(objective.space.n_points, objective.free_bias, system.factor())

    def at(self, points: Array, known: Representers | None = None) -> Representers:
        """Compute columns at some points.

        Parameters
        ----------
        points : ndarray of int
            Need not be distinct or in order.
        known : Representers, optional
            Columns that are known already; the result includes them.
        """
        wanted = np.unique(points)
        if known is not None:
            wanted = np.setdiff1d(wanted, known.points, assume_unique=True)
            if not len(wanted):
                return known
        unit = np.zeros((self.n_points, len(wanted)))
        unit[wanted, np.arange(len(wanted))] = 1
        found = Representers(wanted, *self._quadratic(unit), self.free_intercept)
        return found if known is None else _joined(known, found)

    def beyond(self, objective: Objective, cross: Array, own: Array) -> tuple[Array, Array]:
        r"""Compute the deformed kernel of new points.

        T_x is the function with <T_x, f> = f(x) in the norm of both regularisers. For a point j of
        the fit, T_x - T_j = (k_x - k_j) / gamma_A + q, where q is the minimum for
        the slopes -gamma_I L^p (k_x - k_j) / gamma_A. This is one back substitution for each new
        point, and the bias cancels.

        Parameters
        ----------
        objective : Objective
            Objective of the kernel; its labels are not used.
        cross : ndarray of shape (n, q)
            k between the points of the fit and the new points.
        own : ndarray of shape (q,)
            k of each new point with itself.

        Returns
        -------
        cross : ndarray of shape (n, q)
            T between the points of the fit and the new points.
        own : ndarray of shape (q,)
            T of each new point with itself.
        """
        j = int(objective.index[0])
        unit = np.zeros((self.n_points, 1))
        unit[j] = 1
        of_j = objective.space.values(objective.space.represent(unit))
        apart = (cross - of_j) / objective.gamma_A
        slopes = -objective.smoothness(apart)
        values = self.at(np.array([j])).values + apart + self._quadratic(slopes)[2]
        beside = (own - cross[j]) / objective.gamma_A
        return values, np.asarray(values[j] + beside + np.sum(values * slopes, axis=0))


def _joined(a: Representers, b: Representers) -> Representers:
    points = np.sort(np.concatenate([a.points, b.points]))
    at = np.searchsorted(points, a.points), np.searchsorted(points, b.points)

    def joined(mine: Array, its: Array) -> Array:
        both = np.empty((*mine.shape[:-1], len(points)), order="F")
        both[..., at[0]], both[..., at[1]] = mine, its
        return both

    return a._replace(
        points=points,
        coef=joined(a.coef, b.coef),
        intercept=joined(a.intercept, b.intercept),
        values=joined(a.values, b.values),
    )


def posterior_variances(
    objective: Objective, columns: Representers, cross: Array, own: Array
) -> Array:
    r"""Compute posterior variances, with the noise variance of restricted maximum likelihood.

    :math:`\sigma^2` is y'By / (l - 1) with a free bias, and y'By / l otherwise; B is the inverse of
    :math:`A = T_{LL} + W^{-1}`, with the bias projected out.

    Parameters
    ----------
    objective : Objective
        With the squared loss and one column.
    columns : Representers
        Columns of the deformed kernel at the labelled points.
    cross : ndarray of shape (n, q)
        Deformed kernel between the points of the fit and the points of the result.
    own : ndarray of shape (q,)
        Deformed kernel of each point of the result with itself.
    """
    reduced = columns.reduce(objective)
    y, l, t = reduced.targets[:, 0], len(reduced.index), cross[objective.index]
    solved = _factor(reduced)(np.column_stack([t, y, np.ones(l)]))
    of_t, of_y, of_one = solved[:, :-2], solved[:, -2], solved[:, -1]
    variance, square, dof = own - np.sum(t * of_t, axis=0), y @ of_y, l
    if reduced.fit_intercept:
        total = of_one.sum()
        variance = variance + (1 - of_t.sum(axis=0)) ** 2 / total
        square, dof = square - of_y.sum() ** 2 / total, max(l - 1, 1)
    noise = float(square / dof)
    return np.asarray(noise * np.maximum(variance, 0))


def covariance(objective: Objective, columns: Representers, some: Representers) -> Covariance:
    """Compute the posterior covariance of all points with some of them.

    Parameters
    ----------
    objective : Objective
        With the squared loss and one column.
    columns : Representers
        Columns of the deformed kernel at the labelled points.
    some : Representers
        Columns at the points whose covariances are wanted.
    """
    reduced = columns.reduce(objective)
    T, own = columns.values[:, reduced.index], some.values[objective.index]
    solved = _factor(reduced)(np.column_stack([own, np.ones(len(own))]))
    found = some.values - T @ solved[:, :-1]
    if reduced.fit_intercept:
        free = 1 - T @ solved[:, -1]
        found += np.outer(free, free[some.points] / solved[:, -1].sum())
    return Covariance(found, 1.0)


def _factor(reduced: Objective) -> Solve:
    """Factor the covariance of the targets."""
    A = reduced.space.gram()[np.ix_(reduced.index, reduced.index)]
    A.flat[:: len(A) + 1] += 1 / reduced.weights
    return spd_factor(A)
