"""Leave-one-out predictions of the labelled rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from lapwing._arrays import Array
from lapwing._rows import PointsLike
from lapwing._words import listed
from lapwing.classes.decoding import as_decisions, predict_codes
from lapwing.classes.label_checks import suspicious
from lapwing.classes.labels import decode
from lapwing.classes.probabilities import fit_sharpness
from lapwing.estimators.updates import Updatable
from lapwing.model_selection.candidates import label_rows, last_step
from lapwing.model_selection.reproducibility import Trial, start

_SHOWN = 5  # rows


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Result of `leave_one_out`.

    Parameters
    ----------
    rows : ndarray of int of shape (n_labeled,)
        Rows of X that carry the labels; of equal rows the first with that label.
    labels : ndarray of shape (n_labeled,)
        The given labels, or targets.
    predicted : ndarray of shape (n_labeled,)
        What the fit without the label says of its row. Where nothing could be left out (`left_out`
        is False), what the fit with it says.
    decision_values : ndarray of shape (n_labeled,) or (n_labeled, n_classes)
        Values that `predicted` was taken from, in the form of `decision_function`; NaN where
        nothing could be left out.
    left_out : ndarray of bool of shape (n_labeled,)
        False for the only label of a class: without it the class would be gone.
    error : float
        Classification: share of wrong answers for left-out labels, weighed to a share of rows if
        the estimator was given the class sizes. Regression: 1 minus the coefficient of
        determination. NaN if no label could be left out.
    standard_error : float
        Of `error`; NaN for regressions.
    suspicious : ndarray of int
        Rows whose given class is more probably wrong than right by the other labels, the most
        probable first; see `lapwing.LapSVC.suspicious_labels`. Empty for regressions.
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
    r"""Predict every label by the fit to all other labels, exactly.

    The row stays among the unlabelled points, where it would be without its label.
    Graph, kernel and factorisations are made once. For `LapRLSClassifier`, `LapRLSRegressor` and
    most labels of `LapSVC` the values are closed form,

    .. math:: y_i - f^{(-i)}(x_i) = \beta_i / (A^{-1})_{ii}, \qquad A = T_{LL} + W^{-1},

    with T the deformed kernel; S3VC and others are fitted once more for every label.

    Parameters
    ----------
    estimator : estimator of lapwing, or Pipeline that ends in one
        Stays unfitted.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels, with the unlabelled marker where there is none.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    LeaveOneOut

    Raises
    ------
    TypeError
        If the estimator is not one of this library.

    Warns
    -----
    SuggestedLabelsWarning
        If the estimator was fitted with ``updatable=True``, and most of its labels are of rows that
        its `suggest` named.

    Notes
    -----
    With few labels the error is too high: a fit misses the left-out label more than the answer
    misses other points. It knows nothing of a class with one label. A class prior is held by the
    offsets of the fit with all labels, and the weights of ``class_weight='balanced'`` are those of
    all labels: a refit without the label would count the others of its class a little more.

    With a `class_prior`, labels of a small class are missed more often than those of a large one.
    If the prior was given, and not counted from the labels, a label of a class of proportion p
    counts as (1 - p) / sum(p (1 - p)) rows: 2.5 and 0.6 for classes of 20:80, 1 for equal classes.

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
    if isinstance(last, Updatable):  # one that is fitted already, and knows how it got its labels
        last._warn_suggested()
    return of_trial(start(estimator, X, y, sample_weight))


def of_trial(trial: Trial, observations: Array | None = None) -> LeaveOneOut:
    """Compute leave-one-out of a trial, optionally for some observations only."""
    problem = trial.prepared.problem
    if observations is None:
        found = trial.refits.left_out()
    else:
        found = trial.refits.left_out_of(observations)
    left_out = np.asarray(~np.isnan(found).any(axis=1))
    rows = problem.observed
    if trial.regression:
        fitted = trial.values[problem.index]
        predicted = np.where(left_out[:, None], found, fitted)[:, 0]
        labels = problem.targets[:, 0]
        error = _unexplained(labels, found[:, 0])
        return LeaveOneOut(rows, labels, predicted, found[:, 0], left_out, error, np.nan, rows[:0])
    offsets = trial.offsets(trial.values)
    found = found + offsets
    fitted = trial.values + offsets
    codes = predict_codes(np.where(left_out[:, None], found, fitted[problem.index]))
    truth = predict_codes(problem.targets)
    wrong = left_out & (codes != truth)
    n = float(label_rows(len(trial.classes), trial.sizes)[truth[left_out]].sum())
    error = min(float(wrong.sum()) / n, 1.0) if n else np.nan
    prior = trial.refits.estimator._sharpness_prior
    sharpness = fit_sharpness(prior, fitted[~problem.labeled], fitted[problem.index])
    return LeaveOneOut(
        rows,
        decode(truth, trial.classes),
        decode(codes, trial.classes),
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
