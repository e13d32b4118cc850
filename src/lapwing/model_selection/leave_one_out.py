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
