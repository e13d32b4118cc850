"""Reproducibility of predictions from other labels, an error estimate for few labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from lapwing._arrays import Array, RandomSource
from lapwing._rows import PointsLike
from lapwing.classes.decoding import coded_columns, predict_codes
from lapwing.classes.volumes import prior_offsets
from lapwing.estimators.prepared import Prepared, Refits, relabeled
from lapwing.estimators.template import SemiSupervisedEstimator, prepare
from lapwing.model_selection.candidates import LABELS_ALONE, Candidate, Chooser, given_sizes
from lapwing.problem import value_order

# Draws take labels from a pool of rows, whose columns of the deformed kernel are computed once. A
# column costs 3 / n of the factorisation, so half of the points cost 1.5 factorisations.
_POOL_SHARE = 0.5
_POOL_SIZE = 2000

_DRAWS = 10  # of a predictive check, each of which costs a fit to the labels alone


@dataclass(frozen=True, eq=False)
class Reproducibility:
    """Result of `reproducibility`.

    Parameters
    ----------
    share : float
        Mean fraction of the rows whose class changes. Regression: mean squared change relative to
        the variance of the predictions.
    standard_error : float
        Standard error of `share` over the draws; NaN for one draw.
    draws : ndarray of shape (n_draws,)
        Fraction of each draw.
    of_class : ndarray of shape (n_classes,)
        Mean fraction of the rows of each predicted class that change; NaN for a class that is not
        predicted for any row. Empty for regression.
    of_class_standard_error : ndarray of shape (n_classes,)
        Standard errors of `of_class`.
    of_rows : ndarray of shape (n_samples,)
        Fraction of the draws in which the class of each row stays the same. Regression: 1 minus the
        mean squared change relative to the variance. NaN for rows that are left out of the fit.
    classes : ndarray of shape (n_classes,)
        Classes; empty for regression.
    """

    share: float
    standard_error: float
    draws: Array
    of_class: Array
    of_class_standard_error: Array
    of_rows: Array = field(repr=False)
    classes: Array


def reproducibility(
    estimator: BaseEstimator,
    X: PointsLike,
    y: ArrayLike,
    n_draws: int = 5,
    *,
    sample_weight: ArrayLike | None = None,
    random_state: RandomSource = None,
) -> Reproducibility:
    """Fit again to labels drawn from the predictions, and count the rows that change.

    The estimator is fitted and predicts all rows. As many labels of each class as were given are
    then drawn at random from *these predictions*, the estimator is fitted to them only, and the
    other rows whose prediction changes are counted. If the predictions were the truth, this would
    be the error rate of the estimator. No held-out labels are needed, so it can be used with one
    label per class.

    Parameters
    ----------
    estimator : estimator of lapwing, or Pipeline that ends in one
        Estimator; it is not fitted or modified.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels, with the marker `unlabeled` for unlabelled rows.
    n_draws : int, default=5
        Number of draws. Graph, kernel and factorisations are computed once.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the labels. A drawn label has the mean weight of the labels of its class.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    Reproducibility

    Raises
    ------
    TypeError
        If the estimator is not one of this library.

    Notes
    -----
    Reproducible predictions can be wrong: a method may find the same wrong clusters from any
    labels. `leave_one_out` reveals this with three labels per class or more: use both, and check
    the class proportions. Predictions of a single class are always reproduced.

    With many draws, labels are drawn from a random half of the rows, at most 2000. The distribution
    of each draw is the same, but draws share rows, which the standard errors take into account.

    Examples
    --------
    >>> from lapwing import LapSVC
    >>> from lapwing.model_selection import reproducibility
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> y = ["low", None, None, "high", None, None]
    >>> reproducibility(LapSVC(), X, y, random_state=0).share
    0.0
    """
    return of_trial(start(estimator, X, y, sample_weight), n_draws, random_state)


def of_trial(trial: Trial, n_draws: int = 5, random_state: RandomSource = None) -> Reproducibility:
    """Compute the reproducibility of a trial."""
    if n_draws < 1:
        raise ValueError(f"n_draws={n_draws} must be at least 1.")
    answer = trial.answers(trial.values)
    changes, overlap = _changes(trial, answer, n_draws, random_state)
    of_draw = _mean(changes, axis=1)
    classes, of_class, spread = np.empty(0), np.empty(0), np.empty(0)
    if not trial.regression:
        vertex, classes = trial.prepared.problem.vertex, trial.classes
        codes = np.where(vertex >= 0, answer[vertex], -1)
        each = _mean_of_classes(changes, codes, len(classes)).T
        of_class, spread = _mean(each, axis=1), _standard_error(each, overlap)
    return Reproducibility(
        float(of_draw.mean()),
        float(_standard_error(of_draw[None], overlap)[0]),
        of_draw,
        of_class,
        spread,
        1 - _mean(changes, axis=0),
        classes,
    )


def _changes(
    trial: Trial, answer: Array, n_draws: int, random_state: RandomSource
) -> tuple[Array, float]:
    """Compute the changes of an answer in fits to labels drawn from it.

    Parameters
    ----------
    trial : Trial
    answer : ndarray of shape (n,)
        Class codes, or values of a regression, of all points.
    n_draws : int
    random_state : int, RandomState instance or None

    Returns
    -------
    changes : ndarray of shape (n_draws, n_rows)
        NaN for the rows that were drawn, and for rows left out of the fit.
    overlap : float
        Correlation of the draws; see `_overlap`.
    """
    rng = check_random_state(random_state)
    pools = _pools(trial, answer, n_draws, rng)
    draws = [_draw(pools, rng) for _ in range(n_draws)]
    vertex = trial.prepared.problem.vertex
    refits = trial.refits.covering(vertex[np.concatenate(draws)])
    changes = np.empty((n_draws, len(vertex)))
    for number, rows in enumerate(draws):
        again = trial.answers(refits.values(_drawn(trial, answer, rows)))
        changes[number] = _change(answer, again, trial.regression)[vertex]
        changes[number, rows] = np.nan
    changes[:, vertex < 0] = np.nan
    return changes, _overlap(pools)


class _Pool(NamedTuple):
    """Rows of a class of the answer, and the number of them that a draw labels."""

    rows: Array
    wanted: int
    n_members: int  # rows of the class in the answer


def _pools(trial: Trial, answer: Array, n_draws: int, rng: np.random.Generator) -> list[_Pool]:
    """Return the rows that draws take labels from: all rows, unless there are many draws."""
    problem = trial.prepared.problem
    rows = np.flatnonzero(problem.vertex >= 0)
    rows = rows[np.argsort(trial.ranks[problem.vertex[rows]], kind="stable")]
    limit = min(int(_POOL_SHARE * len(rows)), _POOL_SIZE)
    labeled = rows[problem.labeled_rows[rows]]
    if trial.regression:
        groups = [(rows, len(labeled))]
    else:
        answered = answer[problem.vertex[rows]]
        given = predict_codes(trial.prepared.targets.columns)
        groups = []
        for code in range(len(trial.classes)):
            own = labeled[given[labeled] == code]
            members = rows[answered == code]
            # A class that the answer gives to no row keeps its labels, as a fit needs some.
            groups.append((members if len(members) else own, len(own)))
    pools = []
    for members, wanted in groups:
        chosen = members
        if n_draws * len(labeled) > limit:
            n_chosen = max(2 * wanted, round(limit / len(rows) * len(members)))
            chosen = rng.permutation(members)[:n_chosen]
        pools.append(_Pool(chosen, wanted, len(members)))
    return pools


def _draw(pools: list[_Pool], rng: np.random.Generator) -> Array:
    """Draw the rows to label."""
    return np.concatenate(
        [rng.choice(pool.rows, min(pool.wanted, len(pool.rows)), replace=False) for pool in pools]
    )


def _overlap(pools: list[_Pool]) -> float:
    """Bound the variance that the choice of pools adds to a mean over draws, relative to a draw's.

    The mean over all subsets of w rows of a pool of N is a U-statistic: its variance is at most
    w / N times that of one subset (Hoeffding 1948). Choosing N of n rows without replacement
    multiplies it by 1 - N / n.
    """
    return max(
        pool.wanted / len(pool.rows) * (1 - len(pool.rows) / pool.n_members) for pool in pools
    )


def _drawn(trial: Trial, answer: Array, rows: Array) -> Prepared[Any, Any]:
    """Return the problem in which the answer labels these rows, and no other row has a label."""
    prepared = trial.prepared
    problem, columns = prepared.problem, prepared.targets.columns.copy()
    labeled = np.zeros(len(problem.vertex), dtype=bool)
    labeled[rows] = True
    weights = problem.row_weights.copy()
    given = np.flatnonzero(problem.labeled_rows & (problem.vertex >= 0))
    values = answer[problem.vertex[rows]]
    if trial.regression:
        columns[rows] = values[:, None]
        weights[rows] = problem.row_weights[given].mean()
        return relabeled(prepared, labeled, columns, weights)
    codes = predict_codes(columns[given])
    columns[rows] = coded_columns(values, len(trial.classes))
    for code in range(len(trial.classes)):
        weights[rows[values == code]] = problem.row_weights[given[codes == code]].mean()
    return relabeled(prepared, labeled, columns, weights)


def _change(answer: Array, again: Array, regression: bool) -> Array:
    if not regression:
        return np.asarray(answer != again, dtype=np.float64)
    variance = float(answer.var())
    square = (answer - again) ** 2
    return np.asarray(square / variance if variance > 0 else np.where(square > 0, np.inf, 0.0))


def _mean_of_classes(changes: Array, codes: Array, n_classes: int) -> Array:
    """Compute the mean change (n_draws, n_classes) of the rows of each class; NaN without rows."""
    return np.stack([_mean(changes[:, codes == c], axis=1) for c in range(n_classes)], axis=1)


def _mean(values: Array, axis: int) -> Array:
    """Compute the mean without NaN; NaN if all values are (`nanmean` would warn)."""
    known = np.ma.masked_array(values, np.isnan(values))
    return np.asarray(known.mean(axis=axis).filled(np.nan))


def _standard_error(values: Array, overlap: float) -> Array:
    n = values.shape[1]
    if n < 2:
        return np.full(len(values), np.nan)
    return np.asarray(values.std(axis=1, ddof=1) * np.sqrt(1 / n + overlap))


@dataclass(frozen=True, eq=False)
class Trial:
    """Estimator with its prepared points, to fit to other labels.

    Attributes
    ----------
    refits : Refits
    """

    refits: Refits[Any, Any]

    @property
    def prepared(self) -> Prepared[Any, Any]:
        return self.refits.prepared

    @property
    def regression(self) -> bool:
        return bool(self.refits.estimator._regression)

    @property
    def classes(self) -> Array:
        return np.asarray(self.prepared.targets.classes)

    @property
    def sizes(self) -> Array | None:
        """Class proportions that the estimator was given; None if the labels determine them."""
        codes = predict_codes(self.prepared.problem.targets)
        return given_sizes(self.refits.estimator, codes, self.classes)

    @cached_property
    def values(self) -> Array:
        """Decision values on the points (n, c) of the fit to the given labels."""
        return self.refits.values(self.prepared)

    @cached_property
    def ranks(self) -> Array:
        """Ranks (n,) of the points by their values, so that draws do not depend on row order."""
        ranks = np.empty(self.prepared.problem.n_points, dtype=np.intp)
        order = value_order(self.prepared.problem.X, pairwise=self.refits.estimator._pairwise())
        ranks[order] = np.arange(len(order))
        return ranks

    def offsets(self, values: Array) -> Array | float:
        """Return the class offsets of a prior, if the estimator has one."""
        prior = self.prepared.targets.class_prior
        if prior is None:
            return 0.0
        # Counted by rows, as in a fit: duplicate rows are one point but several members of a class.
        vertex = self.prepared.problem.vertex
        return prior_offsets(values[vertex[vertex >= 0]], prior).offsets

    def answers(self, values: Array) -> Array:
        """Return the class codes, or the values of a regression, of all points (n,)."""
        if self.regression:
            return values[:, 0]
        return predict_codes(values + self.offsets(values))


def start(
    estimator: BaseEstimator, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> Trial:
    """Prepare an estimator, or a pipeline that ends in one, for trials.

    The steps before the last are fitted to all points once. Those that use y see the labels that
    trials leave out.

    Raises
    ------
    TypeError
        If it is not an estimator of this library.
    """
    if isinstance(estimator, Pipeline):
        steps = clone(estimator[:-1])
        estimator = estimator[-1]
        if len(steps):
            X = steps.fit_transform(X, y)
    if isinstance(estimator, Chooser):
        raise TypeError(
            f"{type(estimator).__name__} would choose another estimator for other labels. Fit it, "
            "and give the one that it has chosen: model.best_estimator_."
        )
    if not isinstance(estimator, SemiSupervisedEstimator):
        raise TypeError(
            f"{type(estimator).__name__} cannot be tried with other labels. Give an estimator of "
            "lapwing, or a Pipeline that ends in one; of searches give best_estimator_."
        )
    estimator = clone(estimator)
    return Trial(estimator._refits(prepare(estimator, X, y, sample_weight)))


def contradiction(supervised: Trial, codes: Array, seed: int) -> float:
    """Compute how much a fit to the labels alone contradicts predictions, in fractions of the rows.

    It is the mean over the classes of the fraction of rows on which the supervised fit differs from
    the predictions, minus the mean and one standard deviation of this fraction for labels drawn
    from the predictions; at least 0 (a posterior predictive check).

    Parameters
    ----------
    supervised : Trial
    codes : ndarray of shape (n_rows,)
        Predicted class codes, -1 for rows that are left out.
    seed : int
    """
    problem = supervised.prepared.problem
    answer = codes[problem.rows]
    free = (problem.vertex >= 0) & ~problem.labeled_rows & (codes >= 0)
    if (answer < 0).any() or not free.any():
        return 0.0

    def mean_over_classes(changes: Array) -> Array:
        found = _mean(_mean_of_classes(changes, codes, len(supervised.classes)), axis=1)
        return found[~np.isnan(found)]

    own = supervised.answers(supervised.values)[problem.vertex]
    seen = mean_over_classes(np.where(free, own != codes, np.nan)[None])
    changes, _ = _changes(supervised, answer, _DRAWS, seed)
    by_chance = mean_over_classes(changes)
    if not len(by_chance):  # the draws label every row
        return 0.0
    return float(max(0.0, seen[0] - by_chance.mean() - by_chance.std()))


def start_supervised(
    candidates: Sequence[Candidate], X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> Trial | None:
    """Start the first candidate that uses labels alone; None if there is none, or if it fails."""
    for candidate in candidates:
        if candidate.assumption == LABELS_ALONE:
            try:
                return start(candidate.estimator, X, y, sample_weight)
            except Exception:  # `compare` reports it when it tries the candidate itself
                return None
    return None
