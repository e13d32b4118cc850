r"""Gaussian process whose posterior mean is the fit with the squared loss.

The objective is :math:`-\sigma^2` times the logarithm of a density: f has a normal prior of
covariance :math:`\sigma^2 T`, where T is the deformed kernel (`lapwing.solvers.manifold.deformed`),
a bias that is not part of T has a flat prior, and targets have normal errors of variance
:math:`\sigma^2 / w_i` (Rasmussen and Williams 2006, sections 2.2 and 2.7).
"""

from __future__ import annotations

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import Solve, spd_factor
from lapwing.objectives.manifold import Objective
from lapwing.solvers.base import Covariance, Posterior
from lapwing.solvers.manifold.deformed import Representers


def posterior(objective: Objective, columns: Representers, cross: Array, own: Array) -> Posterior:
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
    solved = _factor(reduced, columns)(np.column_stack([t, y, np.ones(l)]))
    of_t, of_y, of_one = solved[:, :-2], solved[:, -2], solved[:, -1]
    variance, pull, free = own - np.sum(t * of_t, axis=0), y @ of_y, l
    if reduced.fit_intercept:
        total = of_one.sum()
        variance = variance + (1 - of_t.sum(axis=0)) ** 2 / total
        pull, free = pull - of_y.sum() ** 2 / total, max(l - 1, 1)
    noise = float(pull / free)
    return Posterior(noise * np.maximum(variance, 0), noise)


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
    solved = _factor(reduced, columns)(np.column_stack([own, np.ones(len(own))]))
    found = some.values - T @ solved[:, :-1]
    if reduced.fit_intercept:
        free = 1 - T @ solved[:, -1]
        found += np.outer(free, free[some.points] / solved[:, -1].sum())
    return Covariance(found, 1.0)


def _factor(reduced: Objective, columns: Representers) -> Solve:
    """Factor the covariance of the targets."""
    A = columns.block()[np.ix_(reduced.index, reduced.index)]
    A.flat[:: len(A) + 1] += 1 / reduced.weights
    return spd_factor(A)
