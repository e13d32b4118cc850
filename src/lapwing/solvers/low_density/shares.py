r"""Check of class shares: labelled rows against decision values of unlabelled ones.

They do not where labels were drawn in equal numbers from classes of 90:10, say. Low density does
not tell: the objective is lowest near even shares whatever the true ones are, and the labels are
fitted at any. But points of a class are alike whether labelled or not, so a machine that was fitted
without some labels ranks these as it ranks the unlabelled points of their class. With R the share
of the unlabelled points that it puts below a point, their own mean rank is 1/2, and

.. math:: p \, E[R \mid +] + (1 - p) \, E[R \mid -] = \tfrac12

for the true share p of the positive class, whatever the machine (the rank form of what is known as
label shift or quantification: M. Saerens, P. Latinne and C. Decaestecker, Neural Computation 14,
21-41, 2002; Z. Lipton, Y.-X. Wang and A. Smola, ICML 2018). That is a t-test of any p. Ranks know
no threshold, which a few labels set badly.

The machine is least squares with the classes weighed alike: a few small systems. Support vector
machines found no more in the same draws.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import stdtr

from lapwing._arrays import Array, is_sparse
from lapwing.objectives.low_density import CenteredFeatures, Function, LowDensityObjective

# Of the test: the labels' shares must be hard to believe, for where they are right and given up,
# the answer suffers. Measured with 3 to 25 labels a class on seven sets of even classes, labelled
# in equal numbers: levels of 5, 2 and 1 % reject in 5, 2 and 1 % of the draws. On seven sets of
# 80:20 to 90:10, labelled so, 10 labels a class contradict in 44, 34 and 26 %, 25 in 88, 82, 79 %.
_LEVEL = 0.01
# Labels of each class that it takes. Fewer found no more than chance would on those sets, and where
# votes or weights choose the points of a column they contradict shares that are right.
_LEAST = 10
# Of fewer labels, from so many of each class on, a contradiction is told and not acted on. 60 draws
# on seven sets at this level, 4 labels a class: 3 % where shares are right, about 10 % where all
# unlabelled points are of one class (up to a fifth of a set's draws), 6: 4 and 25, 9: 3 and 45 %.
# At 1 % nearly nothing is found. Where columns share the level nothing is found either.
_SUSPECTED = 4
_SUSPICION = 0.025
_FOLDS = 5  # ten find no more
_RIDGE = 0.01  # of the mean squared norm; 1 finds as many
_STEPS = 200  # of shares that are looked at
_ENOUGH = 1000  # labels of a class that are looked at: the systems grow with their cube


class Contradiction(NamedTuple):
    """Shares of the positive class."""

    labels: float
    unlabeled: float  # an estimate
    sure: bool = True  # whether the labels are enough to act on it


class _Ranks(NamedTuple):
    """Ranks among the unlabelled points of the labelled ones of a class: their mean, its variance.

    Attributes
    ----------
    mean, variance : float
    n : float
        Labelled points, by weight.
    """

    mean: float
    variance: float
    n: float

    @classmethod
    def of(cls, ranks: Array, weights: Array) -> _Ranks:
        parts = weights / weights.sum()
        mean, n = float(parts @ ranks), 1 / float(parts @ parts)
        # Two more as uneven as ranks without any order (variance 1/12): a few agree by chance.
        spread = (n * float(parts @ (ranks - mean) ** 2) + 2 / 12) / (n + 2)
        return cls(mean, spread / n, n)


def contradiction(
    objective: LowDensityObjective, mass: Array, n_tests: int = 1
) -> Contradiction | None:
    """Test the shares of the labels, and estimate those of the unlabelled points.

    Parameters
    ----------
    objective : LowDensityObjective
        A column; the points, labels and weights of it count.
    mass : ndarray of shape (u,)
        Weights of its unlabelled points.
    n_tests : int, default=1
        How many such tests a fit makes: the level is that of all together (Bonferroni).

    Returns
    -------
    Contradiction or None
        None where nothing contradicts the labels' shares. With fewer than ten labels of a class
        it is not sure, and with fewer than four, or below ten in one of several columns, None.
    """
    y = objective.targets
    folds, chosen = _folds(objective)
    least = min(np.bincount((y > 0).astype(int), minlength=2))
    sure = bool(least >= _LEAST)
    if least < (_SUSPECTED if n_tests == 1 else _LEAST):
        return None
    used = np.flatnonzero(chosen >= 0)
    machine = _Machine.on(objective, used)
    if machine is None:
        return None
    ranks = np.zeros(len(y))
    for fold in range(folds):
        held = np.flatnonzero(chosen == fold)
        ranks[held] = objective.ranks(machine.fitted(chosen[used] != fold), held, mass)
    up, down = (
        _Ranks.of(ranks[rows], objective.weights[rows])
        for rows in (used[y[used] > 0], used[y[used] < 0])
    )
    labels = float(objective.weights @ (y > 0) / objective.weights.sum())
    if up.mean <= down.mean:  # the labels cannot be told from one another
        return None
    shares = np.linspace(0, 1, _STEPS + 1)
    off = _off(shares, up, down) ** 2
    # How much worse than the best share, which may itself be at odds with the ranks.
    worse = np.sqrt(max(0.0, float(_off(labels, up, down)) ** 2 - off.min()))
    level = _LEVEL / n_tests if sure else _SUSPICION
    if 2 * stdtr(up.n + down.n - 2, -worse) >= level:
        return None
    # The mean over all shares, and not the best one, which is 0 or 1 as often as not.
    likelihood = np.exp((off.min() - off) / 2)
    return Contradiction(labels, float(shares @ likelihood / likelihood.sum()), sure)


def _off(share: Array | float, up: _Ranks, down: _Ranks) -> Array:
    """Distance of the mean rank that a share makes from 1/2, in standard errors."""
    mean = share * up.mean + (1 - share) * down.mean
    variance = share**2 * up.variance + (1 - share) ** 2 * down.variance
    return np.asarray((0.5 - mean) / np.sqrt(variance))


def _folds(objective: LowDensityObjective) -> tuple[int, Array]:
    """How many folds, and that of each label; -1 for those left out.

    Labels are dealt out by the norms of their points, so that the order of the rows is nothing.
    """
    norms = objective.labeled_norms
    fold = np.full(len(norms), -1)
    rows = [np.flatnonzero(objective.targets == sign) for sign in (-1.0, 1.0)]
    n_folds = min(_FOLDS, *map(len, rows))
    for of_class in rows if n_folds > 1 else []:
        ordered = of_class[np.argsort(norms[of_class], kind="stable")]
        if len(ordered) > _ENOUGH:
            ordered = ordered[np.linspace(0, len(ordered) - 1, _ENOUGH).astype(int)]
        fold[ordered] = np.arange(len(ordered)) % n_folds
    return n_folds, fold


class _Machine(NamedTuple):
    """Least squares on labelled points, by their inner products."""

    points: CenteredFeatures  # the labelled ones, a row each
    gram: Array
    targets: Array
    weights: Array

    @classmethod
    def on(cls, objective: LowDensityObjective, used: Array) -> _Machine | None:
        """The machine of some labels; None if all their points are one."""
        points = objective.features.rows(objective.index[used])
        gram = _gram(points)
        if not np.trace(gram) > 0:
            return None
        weights = objective.weights[used]
        return cls(points, gram, objective.targets[used], weights)

    def fitted(self, rows: Array) -> Function:
        """The machine fitted to labels by their mask."""
        y, weights = self.targets[rows], self.weights[rows].copy()
        for sign in (-1.0, 1.0):
            weights[y == sign] *= len(y) / (2 * weights[y == sign].sum())
        K = self.gram[np.ix_(rows, rows)]
        ridge = _RIDGE * np.trace(self.gram) / len(self.gram)
        factor = cho_factor(K + np.diag(ridge / weights))
        by_ones, by_targets = cho_solve(factor, np.stack([np.ones(len(y)), y], axis=1)).T
        bias = by_targets.sum() / by_ones.sum()
        dual = np.zeros(len(rows))
        dual[rows] = by_targets - bias * by_ones
        return Function(self.points.represent(dual), float(bias))


def _gram(points: CenteredFeatures) -> Array:
    """Inner products of centred features; those of few points, so that no copy of all is made."""
    features = points.space.features
    products = features @ features.T
    products = products.toarray() if is_sparse(products) else products
    products = np.asarray(products, dtype=np.float64)
    if points.center is None:
        return products
    overlap = points.space.values(points.center.astype(points.space.dtype)).astype(np.float64)
    return np.asarray(products - overlap[:, None] - overlap + points.center @ points.center)
