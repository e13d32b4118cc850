"""Trials of an estimator with other labels: leave-one-out, left-out rounds, reproducibility.

The points are prepared once, and fits to other labels reuse their graph, kernel and factorisations.
"""

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
from lapwing._parameters import COUNT, SEED, check
from lapwing._rows.base import PointsLike
from lapwing._words import listed
from lapwing.classes.decoding import as_decisions, coded_columns, predict_codes
from lapwing.classes.label_checks import suspicious
from lapwing.classes.probabilities import fit_sharpness
from lapwing.classes.volumes import prior_offsets
from lapwing.estimators.prepared import Prepared, Refits, removable, with_row_weights, without
from lapwing.estimators.template import SemiSupervisedEstimator, prepare
from lapwing.estimators.updates import Updatable
from lapwing.model_selection.candidates import (
    LABELS_ALONE,
    Candidate,
    Chooser,
    given_sizes,
    last_step,
    rows_per_label,
)
from lapwing.problem import value_order

_SHOWN = 5  # rows in the summary of leave-one-out
# Draws take labels from a pool of rows, whose columns of the deformed kernel are computed once. A
# column costs 3 / n of the factorisation, so half of the points cost 1.5 factorisations.
_POOL_SHARE = 0.5
_POOL_SIZE = 2000
_DRAWS = 10  # of a predictive check, each of which costs a fit to the labels alone


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
        return given_sizes(self.refits.estimator, self.codes, self.classes)

    @cached_property
    def codes(self) -> Array:
        """Classes (l,) of the observations."""
        return predict_codes(self.prepared.problem.targets)

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

    def scores(self, values: Array) -> Array:
        """Return decision values on the points (n, c) with the class offsets of a prior."""
        return values + self.offsets(values)

    def answers(self, values: Array) -> Array:
        """Return the class codes, or the values of a regression, of all points (n,)."""
        return values[:, 0] if self.regression else predict_codes(self.scores(values))

    @cached_property
    def answer(self) -> Array:
        """Answers (n,) of the fit to the given labels."""
        return self.answers(self.values)

    @property
    def row_codes(self) -> Array:
        """Predicted classes (n_rows,) of all rows; -1 for rows left out of the fit."""
        vertex = self.prepared.problem.vertex
        return np.where(vertex >= 0, self.answer[vertex], -1)


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


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Result of `leave_one_out`.

    Parameters
    ----------
    rows : ndarray of int of shape (n_labeled,)
        Labelled rows of X; of duplicate rows the first with that label.
    labels : ndarray of shape (n_labeled,)
        The given labels, or targets.
    predicted : ndarray of shape (n_labeled,)
        Predictions by the fits without the label of the row. If the label could not be left out
        (`left_out` is False), by the fit with it.
    decision_values : ndarray of shape (n_labeled,) or (n_labeled, n_classes)
        Values of `predicted`, in the form of `decision_function`; NaN where nothing could be left
        out.
    left_out : ndarray of bool of shape (n_labeled,)
        Whether the label was left out; False for the only label of a class.
    error : float
        Classification: error rate on left-out labels, weighted to an error rate on rows if the
        estimator was given class proportions. Regression: 1 minus the coefficient of determination.
        NaN if no label could be left out.
    standard_error : float
        Standard error of `error`; NaN for regression.
    suspicious : ndarray of int
        Rows whose label is probably wrong given the other labels, the most probable first; see
        `lapwing.LapSVC.suspicious_labels`. Empty for regression.
    """

    rows: Array
    labels: Array
    predicted: Array
    decision_values: Array
    left_out: Array
    error: float
    standard_error: float
    suspicious: Array

    def __str__(self) -> str:
        """Return a summary in place of the arrays."""
        n = int(self.left_out.sum())
        alone = len(self.left_out) - n
        lines = [f"{n} of {len(self.left_out)} labels left out, one by one"]
        if alone:
            lines[0] += f"; {alone} could not be, as the only ones of their class"
        if np.isnan(self.error):
            lines.append("error: not known")
        elif np.isnan(self.standard_error):
            lines.append(f"error: {self.error:.3g} of the variance is not explained")
        else:
            lines.append(f"error: {self.error:.1%} (standard error {self.standard_error:.1%})")
        if len(self.suspicious):
            rows = listed([str(row) for row in self.suspicious.tolist()], _SHOWN)
            lines.append(f"probably labelled wrong: rows {rows}")
        return "\n".join(lines)


def leave_one_out(
    estimator: BaseEstimator, X: PointsLike, y: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> LeaveOneOut:
    r"""Predict every label by the exact fit to all other labels.

    The row remains in the fit as an unlabelled point. Graph, kernel and factorisations are computed
    once. For `LapRLSClassifier`, `LapRLSRegressor` and most labels of `LapSVC` there is a closed
    form ([1]_),

    .. math:: y_i - f^{(-i)}(x_i) = \beta_i / (A^{-1})_{ii}, \qquad A = T_{LL} + W^{-1},

    with the deformed kernel T; S3VC and others are fitted again for every label.

    Parameters
    ----------
    estimator : estimator of lapwing, or Pipeline that ends in one
        Estimator; it is not fitted or modified.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels, with the marker `unlabeled` for unlabelled rows.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the labels.

    Returns
    -------
    LeaveOneOut
        The predictions of all labels and their error; prints as a summary.

    Raises
    ------
    TypeError
        If the estimator is not one of this library.

    Warns
    -----
    SuggestedLabelsWarning
        If the estimator was fitted with ``updatable=True``, and most of its labels are of rows that
        its `suggest` returned.

    Notes
    -----
    With few labels the error is biased upwards, as fits with one label fewer are worse. Classes
    with one label are not included. The offsets of a class prior and the weights of
    ``class_weight='balanced'`` are those of the fit to all labels, unlike in a complete refit.

    With a `class_prior`, labels of small classes are misclassified more often than those of large
    ones. If the prior was given, and not counted from the labels, a label of a class of proportion
    p has the weight (1 - p) / sum(p (1 - p)): 2.5 and 0.6 for classes of 20:80, 1 for equal
    classes.

    References
    ----------
    .. [1] G. C. Cawley and N. L. C. Talbot, "Fast exact leave-one-out cross-validation of sparse
       least-squares support vector machines", Neural Networks 17, 1467-1475, 2004.

    Examples
    --------
    >>> from lapwing import LapSVC
    >>> from lapwing.datasets import make_two_moons
    >>> from lapwing.model_selection import leave_one_out
    >>> X, y = make_two_moons(n_labeled_per_class=3, random_state=0)[:2]
    >>> print(leave_one_out(LapSVC(), X, y))
    6 of 6 labels left out, one by one
    error: 0.0% (standard error 0.0%)
    """
    last = last_step(estimator)
    if isinstance(last, Updatable):  # if it is fitted, it knows which labels were suggested
        last._warn_suggested()
    return leave_out_each(start(estimator, X, y, sample_weight))


def leave_out_each(trial: Trial) -> LeaveOneOut:
    """Compute leave-one-out of a trial."""
    problem = trial.prepared.problem
    rows, offsets = problem.observed, trial.offsets(trial.values)
    found, fitted = trial.refits.left_out() + offsets, trial.values + offsets
    left_out = np.asarray(~np.isnan(found).any(axis=1))
    best = np.where(left_out[:, None], found, fitted[problem.index])
    if trial.regression:
        targets = problem.targets[:, 0]
        error = _unexplained(targets, found[:, 0])
        return LeaveOneOut(
            rows, targets, best[:, 0], found[:, 0], left_out, error, np.nan, rows[:0]
        )
    codes, truth = predict_codes(best), trial.codes
    n = float(rows_per_label(len(trial.classes), trial.sizes)[truth[left_out]].sum())
    error = min(float((left_out & (codes != truth)).sum()) / n, 1.0) if n else np.nan
    prior = trial.refits.estimator._sharpness_prior
    sharpness = fit_sharpness(prior, fitted[~problem.labeled], fitted[problem.index])
    return LeaveOneOut(
        rows,
        trial.classes[truth],
        trial.classes[codes],
        as_decisions(found),
        left_out,
        error,
        float(np.sqrt(error * (1 - error) / n)) if n else np.nan,
        np.asarray(rows[suspicious(found, truth, sharpness)]),
    )


def _unexplained(targets: Array, predicted: Array) -> float:
    total = float(((targets - targets.mean()) ** 2).sum())
    missed = float(((targets - predicted) ** 2).sum())
    return missed / total if total > 0 else np.nan


class LeftOutRounds(NamedTuple):
    """Result of rounds of left-out labels.

    Attributes
    ----------
    codes : ndarray of shape (l,)
        Classes of the labels.
    missed : ndarray of shape (l,)
        Fraction of the rounds without a label that misclassify it; NaN if it was never left out.
    scores : ndarray of shape (r, c)
        Decision values of left-out labels, a row for each round and label.
    scored : ndarray of shape (r,)
        Their classes.
    """

    codes: Array
    missed: Array
    scores: Array
    scored: Array

    @property
    def judged(self) -> Array:
        """Mask (l,) of the labels that were left out."""
        return np.asarray(~np.isnan(self.missed))

    def n_missed(self, n_classes: int) -> Array:
        """Count the misclassified labels of each class; fractional if only in some rounds."""
        return np.bincount(self.codes[self.judged], self.missed[self.judged], n_classes)

    def n_left_out(self, n_classes: int) -> Array:
        """Count the left-out labels of each class."""
        return np.bincount(self.codes[self.judged], minlength=n_classes)


def make_rounds(codes: Array, possible: Array, key: Array, n_rounds: int, seed: int) -> list[Array]:
    """Choose labels to leave out together, one of every class with several.

    Parameters
    ----------
    codes : ndarray of shape (l,)
        Classes of the labels.
    possible : ndarray of shape (l,)
        Mask of the labels whose class has another one.
    key : ndarray of shape (l,)
        Sort key of the labels, so that their order has no effect.
    n_rounds : int
        The labels of a class are used in random order, and again after all have been used.
    seed : int

    Returns
    -------
    list of ndarray
        Positions of labels.
    """
    rng = np.random.default_rng(seed)
    order = np.argsort(key, kind="stable")
    pools = [order[(possible & (codes == code))[order]] for code in np.unique(codes[possible])]
    if not pools or not n_rounds:
        return []
    dealt = []
    for pool in pools:
        turns = -(-n_rounds // len(pool))
        dealt.append(np.concatenate([rng.permutation(pool) for _ in range(turns)])[:n_rounds])
    return list(np.stack(dealt, axis=1))


def leave_out_rounds(trial: Trial, max_left_out: int, seed: int) -> LeftOutRounds:
    """Fit without the labels of each round, and predict them, until enough have been left out.

    The fits keep the class proportions of all labels. Trials leave out the same labels, even if
    their fits cost nothing: labels that are hard for all would otherwise count against some only.
    """
    codes, index = trial.codes, trial.prepared.problem.index
    counts = np.bincount(codes)
    n_rounds = min(int(counts.max()), -(-max_left_out // len(counts)))
    refits = trial.refits.holding_shares()
    possible = removable(trial.prepared, False)
    times, missed = np.zeros(len(codes)), np.zeros(len(codes))
    scores, scored = [np.zeros((0, trial.values.shape[1]))], [codes[:0]]
    for left in make_rounds(codes, possible, trial.ranks[index], n_rounds, seed):
        found = trial.scores(refits.values(without(trial.prepared, left)))[index[left]]
        times[left] += 1
        missed[left] += predict_codes(found) != codes[left]
        scores.append(found)
        scored.append(codes[left])
    times[times == 0] = np.nan
    return LeftOutRounds(codes, missed / times, np.concatenate(scores), np.concatenate(scored))


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
        Fractions of the rows that change, in total, of each draw, class and row.

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
    check(
        {"n_draws": n_draws, "random_state": random_state}, {"n_draws": COUNT, "random_state": SEED}
    )
    return reproduce(start(estimator, X, y, sample_weight), n_draws, random_state)


def reproduce(trial: Trial, n_draws: int = 5, random_state: RandomSource = None) -> Reproducibility:
    """Compute the reproducibility of a trial."""
    changes, overlap = _changes(trial, trial.answer, n_draws, random_state)
    of_draw = _mean(changes, axis=1)
    of_classes = _of_classes(changes, trial.row_codes, len(trial.classes))
    return Reproducibility(
        float(of_draw.mean()),
        float(_standard_error(of_draw, overlap)),
        of_draw,
        _mean(of_classes, axis=1),
        _standard_error(of_classes, overlap),
        1 - _mean(changes, axis=0),
        trial.classes,
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
    labeled = rows[problem.labeled_rows[rows]]
    limit = min(int(_POOL_SHARE * len(rows)), _POOL_SIZE)
    answered, given = _groups(trial, answer)[problem.vertex[rows]], _given(trial, labeled)
    pools = []
    for code in range(max(1, len(trial.classes))):
        own, members = labeled[given == code], rows[answered == code]
        # A class that the answer gives to no row keeps its labels, as a fit needs some.
        members = chosen = members if len(members) else own
        if n_draws * len(labeled) > limit:
            n_chosen = max(2 * len(own), round(limit / len(rows) * len(members)))
            chosen = rng.permutation(members)[:n_chosen]
        pools.append(_Pool(chosen, len(own), len(members)))
    return pools


def _groups(trial: Trial, answer: Array) -> Array:
    """Return the classes from which an answer is drawn; a regression is of one class."""
    return np.zeros(len(answer), dtype=np.intp) if trial.regression else answer


def _given(trial: Trial, rows: Array) -> Array:
    """Return the classes of the labels of some rows; see `_groups`."""
    return _groups(trial, predict_codes(trial.prepared.targets.columns[rows]))


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
    given = np.flatnonzero(problem.labeled_rows & (problem.vertex >= 0))
    codes, values = _given(trial, given), answer[problem.vertex[rows]]
    labeled, weights = np.zeros(len(columns), dtype=bool), problem.row_weights.copy()
    labeled[rows] = True
    for code in np.unique(codes):
        drawn = rows[_groups(trial, values) == code]
        weights[drawn] = problem.row_weights[given[codes == code]].mean()
    one_column = values[:, None]
    columns[rows] = one_column if trial.regression else coded_columns(values, len(trial.classes))
    return with_row_weights(prepared, labeled, columns, weights)


def _change(answer: Array, again: Array, regression: bool) -> Array:
    if not regression:
        return np.asarray(answer != again, dtype=np.float64)
    variance = float(answer.var())
    square = (answer - again) ** 2
    return np.asarray(square / variance if variance > 0 else np.where(square > 0, np.inf, 0.0))


def _of_classes(changes: Array, codes: Array, n_classes: int) -> Array:
    """Compute the mean change (n_classes, n_draws) of the rows of each class; NaN without rows."""
    each = [_mean(changes[:, codes == code], axis=1) for code in range(n_classes)]
    return np.reshape(each, (n_classes, len(changes)))


def _mean(values: Array, axis: int) -> Array:
    """Compute the mean without NaN; NaN if all values are (`nanmean` would warn)."""
    known = np.ma.masked_array(values, np.isnan(values))
    return np.asarray(known.mean(axis=axis).filled(np.nan))


def _standard_error(values: Array, overlap: float) -> Array:
    """Compute the standard errors of means over draws, the last axis; NaN for one draw."""
    n = values.shape[-1]
    if n < 2:
        return np.full(values.shape[:-1], np.nan)
    return np.asarray(values.std(axis=-1, ddof=1) * np.sqrt(1 / n + overlap))


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
        found = _mean(_of_classes(changes, codes, len(supervised.classes)), axis=0)
        return found[~np.isnan(found)]

    own = supervised.answer[problem.vertex]
    seen = mean_over_classes(np.where(free, own != codes, np.nan)[None])
    changes, _ = _changes(supervised, answer, _DRAWS, seed)
    by_chance = mean_over_classes(changes)
    if not len(by_chance):  # the draws label every row
        return 0.0
    return float(max(0.0, seen[0] - by_chance.mean() - by_chance.std()))
