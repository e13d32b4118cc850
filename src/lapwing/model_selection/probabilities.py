"""Calibration of probabilities by left-out labels, and confident rows.

`S3VC`, `BalancedGraphClassifier` and `LapESVC` leave no label out in a fit: the sharpness of their
probabilities follows from the size of the scores, as calibrated on other data. It can be estimated
for the present data by a few fits without a label of each class. Four such fits change the
calibration error on eight sets of two classes from 0.19, 0.21 and 0.19 to 0.14, 0.17 and 0.20 with
three labels per class, and from 0.16, 0.17 and 0.11 to 0.10, 0.06 and 0.11 with ten.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lapwing._arrays import Array, RandomSource
from lapwing._host.warn import warn
from lapwing._parameters import COUNT, SEED, Rule, check, is_number
from lapwing._rows.base import PointsLike
from lapwing.classes.probabilities import Sharpness, fit_sharpness, tempered
from lapwing.estimators.classifier import SemiSupervisedClassifier
from lapwing.estimators.path import NORMAL_95
from lapwing.estimators.updates import Updatable
from lapwing.exceptions import FewLabelsWarning
from lapwing.model_selection.candidates import (
    chosen_estimator,
    last_step,
    replace_last,
    transform_before_last,
)
from lapwing.model_selection.trials import LeftOutRounds, Trial, leave_out_rounds, start

# Nodes of the average over the sharpness: probabilities differ by at most 0.001 from those with
# 101, and by 0.005 with 5 (spreads of 0.2 to 1, three classes).
_NODES = 9
_RULES: dict[str, Rule] = {
    "max_left_out": COUNT,
    "random_state": SEED,
    "precision": (lambda v: is_number(v) and 0 < v <= 1, "a number in (0, 1], such as 0.99"),
}


def calibrate(
    model: BaseEstimator,
    X: PointsLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    max_left_out: int = 16,
    random_state: RandomSource = 0,
) -> Any:
    """Calibrate the probabilities of a fitted classifier by left-out labels.

    Most fits of `LapSVC`, `LapRLSClassifier`, `LapERLSClassifier`, `AnchorGraphClassifier` and
    `EigenfunctionClassifier` calibrate themselves, and are not changed. Others are fitted again
    without one label of each class at a time, and calibrated by the answers for these labels.

    Parameters
    ----------
    model : classifier of lapwing, or Pipeline that ends in one
        Fitted to X and y. It is not changed. For a `FewLabelClassifier` the estimator that it has
        chosen is calibrated.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The points of its fit.
    y : array-like of shape (n_samples,)
        The labels of its fit.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights of its fit.
    max_left_out : int, default=16
        Labels to leave out, one of each class at a time; the last of these rounds may exceed the
        number. Each round is a fit.
    random_state : int, RandomState instance or None, default=0
        Seed of the choice of labels that are left out together.

    Returns
    -------
    classifier or Pipeline
        A copy of the model with calibrated probabilities, for `sure_rows`; `predict` answers as
        before.

    Raises
    ------
    TypeError
        If the model is not a classifier of this library.
    ValueError
        If `max_left_out` is below 1, every class has one label only, all decision values are
        equal, or the number of features or the classes are not those of the fit.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from lapwing import S3VC
    >>> from lapwing.datasets import mask_labels
    >>> from lapwing.model_selection import calibrate
    >>> X, truth = make_blobs(120, centers=[[-2, -2], [2, 2]], random_state=0)
    >>> y = mask_labels(truth, 3, random_state=0)
    >>> model = S3VC().fit(X, y)
    >>> calibrated = calibrate(model, X, y)
    >>> model.probability_n_labels_, calibrated.probability_n_labels_
    (0, 6)
    """
    check({"max_left_out": max_left_out, "random_state": random_state}, _RULES)
    last = last_step(model)
    if (chosen := chosen_estimator(last)) is not None:
        best = calibrate(
            chosen,
            transform_before_last(model, X),
            y,
            sample_weight=sample_weight,
            max_left_out=max_left_out,
            random_state=random_state,
        )
        calibrated = copy(last)
        calibrated.best_estimator_ = best
        calibrated.transduction_proba_ = last_step(best).transduction_proba_
        return replace_last(model, calibrated)
    if not isinstance(last, SemiSupervisedClassifier):
        raise TypeError(
            f"{type(last).__name__} cannot be calibrated here. Give a classifier of lapwing, or a "
            "Pipeline that ends in one; of searches give best_estimator_. For others scikit-learn "
            "has CalibratedClassifierCV."
        )
    check_is_fitted(last)
    calibrated = last._snapshot() if isinstance(last, Updatable) else copy(last)
    if not last.probability_n_labels_:
        trial = start(model, X, y, sample_weight)
        _check_data_of_the_fit(last, trial)
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        found = relative_sharpness(trial, leave_out_rounds(trial, max_left_out, seed))
        if not found.n_labels:
            raise ValueError(
                "The probabilities cannot be calibrated: every class has one label only, or all "
                "decision values are equal. Label a second row of each class, and check the scale "
                "of the features."
            )
        _sharpen(calibrated, found)
    return replace_last(model, calibrated)


def _check_data_of_the_fit(model: SemiSupervisedClassifier[Any, Any], trial: Trial) -> None:
    """Raise ValueError for points and labels that cannot be those of the fit."""
    n_features = trial.prepared.problem.X.shape[1]
    if n_features != model.n_features_in_:
        raise ValueError(
            f"X has {n_features} features, and the model was fitted to {model.n_features_in_}. "
            "Give the X of its fit."
        )
    if not np.array_equal(trial.classes, model.classes_):
        raise ValueError(
            f"y has the classes {trial.classes.tolist()}, and the model was fitted to "
            f"{model.classes_.tolist()}. Give the y of its fit."
        )


def relative_sharpness(trial: Trial, left_out: LeftOutRounds) -> Sharpness:
    """Return the sharpness by left-out labels, relative to the prior alone."""
    prior = trial.refits.estimator._sharpness_prior
    problem, values = trial.prepared.problem, trial.scores(trial.values)
    scores = values[~problem.labeled], values[problem.index]
    alone = fit_sharpness(prior, *scores)
    found = fit_sharpness(prior, *scores, left_out.scores, left_out.scored)
    # A label that was left out in several rounds counts once.
    n_labels = int(left_out.judged.sum()) if found.n_labels else 0
    return Sharpness(found.value / alone.value, found.spread, n_labels)


def sharpen_untested(model: BaseEstimator, relative: Sharpness) -> None:
    """Set the sharpness of a comparison in the chosen model, if its fit left no label out."""
    if relative.n_labels and not model.probability_n_labels_:
        _sharpen(model, relative)


def _sharpen(model: BaseEstimator, relative: Sharpness) -> None:
    """Replace the sharpness of a fitted classifier."""
    model.probability_sharpness_ = float(model.probability_sharpness_ * relative.value)
    model.probability_spread_ = relative.spread
    model.probability_n_labels_ = relative.n_labels
    model.transduction_proba_ = tempered(model.transduction_proba_, relative.value)


@dataclass(frozen=True, eq=False)
class SureRows:
    """Result of `sure_rows`.

    Parameters
    ----------
    sure : ndarray of bool of shape (n_samples,)
        Mask of the confident rows.
    probability : ndarray of shape (n_samples,)
        Probability that the prediction of each row is right; see `sure_rows`.
    threshold : float
        Smallest `probability` of the confident rows; infinite if there are none.
    precision : float
        Expected accuracy on the confident rows; NaN if there are none.
    interval : tuple (float, float)
        Interval that contains this accuracy with probability 0.9; NaN if there are none.
    """

    sure: Array = field(repr=False)
    probability: Array = field(repr=False)
    threshold: float
    precision: float
    interval: tuple[float, float]


def sure_rows(model: BaseEstimator, X: object = None, *, precision: float = 0.99) -> SureRows:
    """Find the rows with confident predictions, which need no inspection.

    These are the rows with the most probable predictions, as many as possible with an expected
    accuracy of at least `precision`. There may be none, as few labels rarely suffice for 99 %.

    Parameters
    ----------
    model : classifier of lapwing, or Pipeline that ends in one
        Fitted.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Rows to choose from. None means the unlabelled training rows, by `transduction_proba_`.
    precision : float, default=0.99
        Expected accuracy on the confident rows, in (0, 1].

    Returns
    -------
    SureRows
        The mask `sure` of the rows, their `probability`, and the expected `precision`.

    Raises
    ------
    TypeError
        If the model is not a classifier of this library.
    ValueError
        If `precision` is not in (0, 1], or X is None for a model without training rows.

    Warns
    -----
    FewLabelsWarning
        If no label was left out in the fit, so that no row is confident.
    SuggestedLabelsWarning
        If most labels of the model are of rows that its `suggest` returned.

    See Also
    --------
    calibrate : Calibrates models that have not left out labels.

    Notes
    -----
    The probability of a prediction is the mean of `predict_proba` over the sharpness, which is
    log-normal around `probability_sharpness_` with the spread `probability_spread_`, times 1 - d.
    Here d is the expected fraction of rows in clusters without a label: d = (1/2) / (n + 1) after n
    tests without such an error (Jeffreys), where n is `probability_n_labels_`, the number of
    left-out labels, minus the number of classes. So 99 % takes at least 49 labels plus one for each
    class, and 90 % four plus one for each class.

    `LapSVC`, `LapRLSClassifier`, `LapERLSClassifier` and the baselines leave labels out in each
    fit. Other estimators do not, and have no confident rows: use `calibrate` for them.

    Inspect a sample of the confident rows before you accept thousands: labels are evidence for the
    other rows only if they were drawn from the same distribution.

    Examples
    --------
    >>> from lapwing import LapSVC
    >>> from lapwing.datasets import make_two_moons
    >>> from lapwing.model_selection import sure_rows
    >>> X, y, truth = make_two_moons(n_labeled_per_class=3, random_state=0, return_truth=True)
    >>> model = LapSVC().fit(X, y)
    >>> found = sure_rows(model, precision=0.9)
    >>> int(found.sure.sum()), bool((model.transduction_ == truth)[found.sure].all())
    (0, True)
    """
    check({"precision": precision}, _RULES)
    last = last_step(model)
    if (chosen := chosen_estimator(last)) is not None:
        last = last_step(chosen)
    if not isinstance(last, SemiSupervisedClassifier):
        raise TypeError(
            f"{type(last).__name__} is not a classifier of lapwing, so the sharpness of its "
            "probabilities is unknown. For a search, pass its best_estimator_."
        )
    check_is_fitted(last)
    if X is None and not hasattr(last, "labeled_"):  # to_local() of an estimator for clusters
        raise ValueError(
            f"This {type(last).__name__} has no predictions of its training rows. Give X."
        )
    if isinstance(last, Updatable):
        last._warn_suggested()
    if last.probability_n_labels_ == 0:
        warn(
            f"{type(last).__name__} has left no label out, so that no answer is sure. "
            "calibrate(model, X, y) leaves labels out and returns a model with sure rows; if "
            "every class has only one label, label a second row of each first.",
            FewLabelsWarning,
        )
    if X is None:
        free, proba = ~last.labeled_, last.transduction_proba_
    else:
        proba = model.predict_proba(X)
        free = np.ones(len(proba), dtype=bool)
    return _confident_rows(proba, free, sharpness_of(last), precision)


def sharpness_of(model: BaseEstimator) -> Sharpness:
    """Return the sharpness of a fitted classifier."""
    return Sharpness(
        model.probability_sharpness_, model.probability_spread_, model.probability_n_labels_
    )


def probability_right(proba: Array, sharpness: Sharpness) -> Array:
    """Compute the probability that predictions with these probabilities are right."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    best = [tempered(proba, np.exp(sharpness.spread * node)).max(axis=1) for node in nodes]
    likely = np.average(best, axis=0, weights=weights)
    return np.asarray((1 - _unseen(proba, sharpness).mean()) * likely)


def _unseen(proba: Array, sharpness: Sharpness) -> Any:
    """Return the distribution of the fraction of rows in clusters without a label."""
    # The first label of a class defines it; only further labels are tests.
    return beta(0.5, max(0, sharpness.n_labels - proba.shape[1]) + 0.5)


def _confident_rows(proba: Array, free: Array, sharpness: Sharpness, precision: float) -> SureRows:
    probability = probability_right(proba, sharpness)
    unseen = _unseen(proba, sharpness)
    ordered = -np.sort(-probability[free])
    expected = np.cumsum(ordered) / np.arange(1, len(ordered) + 1)
    last_of_equals = np.append(ordered[1:] < ordered[:-1], True)[: len(ordered)]
    enough = np.flatnonzero((expected >= precision) & last_of_equals)
    if not len(enough):
        none = np.zeros(len(proba), dtype=bool)
        return SureRows(none, probability, np.inf, np.nan, (np.nan, np.nan))
    threshold = ordered[enough[-1]]
    sure = free & (probability >= threshold)

    def precision_at(side: float) -> float:
        factor = np.exp(side * NORMAL_95 * sharpness.spread)
        right = tempered(proba[sure], factor).max(axis=1).mean()
        return float((1 - unseen.ppf(0.5 - 0.45 * side)) * right)

    interval = precision_at(-1.0), precision_at(1.0)
    return SureRows(sure, probability, float(threshold), float(probability[sure].mean()), interval)
