"""Probabilities of classifiers that have to be fitted again for every label.

A fit of `S3VC`, `BalancedGraphClassifier` or `LapESVC` leaves no label out: its probabilities are
as sharp as scores of such a size were on other data. A few fits without a label of each class tell
how sharp they are on these. Four of them bring the calibration error on eight sets of two classes
from 0.19, 0.21 and 0.19 to 0.14, 0.17 and 0.20 with three labels a class, from 0.16, 0.17 and 0.11
to 0.10, 0.06 and 0.11 with ten.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lapwing.classes.labels import code_classes
from lapwing.classes.probabilities import Sharpness, fit_sharpness, tempered
from lapwing.classes.voting import elect
from lapwing.estimators.classifier import SemiSupervisedClassifier
from lapwing.estimators.updates import Updatable
from lapwing.model_selection.candidates import chosen_by, last_step
from lapwing.model_selection.rounds import LeftOut, leave_out_rounds
from lapwing.model_selection.trials import Trial, start


def calibrate(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    max_left_out: int = 16,
    random_state: Any = 0,
) -> Any:
    """Learn how sharp the probabilities of a fitted classifier are, from labels left out.

    Most fits of `LapSVC`, `LapRLSClassifier`, `LapERLSClassifier`, `AnchorGraphClassifier` and
    `EigenfunctionClassifier` do so by themselves, and stay as they are. The others have to be
    fitted again: here a label of each class is left out at a time, and what these fits say of it
    decides.

    Parameters
    ----------
    model : classifier of lapwing, or Pipeline that ends in one
        Fitted to X and y. It stays as it is. Of a `FewLabelClassifier` the estimator that it has
        chosen is calibrated.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The points of its fit.
    y : array-like of shape (n_samples,)
        The labels of its fit.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights of its fit.
    max_left_out : int, default=16
        Labels to leave out, one of each class at a time; the last of these rounds may go beyond.
        Each round is a fit.
    random_state : int, RandomState instance or None, default=0
        Of the labels that are left out together.

    Returns
    -------
    classifier or Pipeline
        The same model with probabilities of another sharpness: `predict` answers as before.
        `sure_rows` can tell its sure rows.

    Raises
    ------
    TypeError
        If the model is no classifier of this library.
    ValueError
        If `max_left_out` is below 1, every class has one label only, or the number of features or
        the classes are not those of the fit.

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
    last = last_step(model)
    if (chosen := chosen_by(last)) is not None:
        if isinstance(model, Pipeline) and len(model.steps) > 1:
            X = model[:-1].transform(X)
        best = calibrate(
            chosen,
            X,
            y,
            sample_weight=sample_weight,
            max_left_out=max_left_out,
            random_state=random_state,
        )
        twin = copy(last)
        twin.best_estimator_ = best
        twin.transduction_proba_ = last_step(best).transduction_proba_
        return _in_place_of_last(model, twin)
    if not isinstance(last, SemiSupervisedClassifier):
        raise TypeError(
            f"{type(last).__name__} cannot be calibrated here. Give a classifier of lapwing, or a "
            "Pipeline that ends in one; of searches give best_estimator_. For others scikit-learn "
            "has CalibratedClassifierCV."
        )
    check_is_fitted(last)
    if max_left_out < 1:
        raise ValueError(f"max_left_out={max_left_out!r} must be a whole number >= 1.")
    twin = last._as_it_is() if isinstance(last, Updatable) else copy(last)
    if not last.probability_n_labels_:
        trial = start(model, X, y, sample_weight)
        _check_data_of_the_fit(last, trial, y)
        counts = np.bincount(elect(trial.prepared.problem.targets))
        n_rounds = min(int(counts.max()), -(-max_left_out // len(counts)))
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        found = relative_sharpness(trial, leave_out_rounds(trial, n_rounds, seed))
        if not found.n_labels:
            raise ValueError(
                "Every class has one label, and none can be left out. Label a second row of each "
                "class."
            )
        _sharpen(twin, found)
    return _in_place_of_last(model, twin)


def _in_place_of_last(model: Any, twin: Any) -> Any:
    if not isinstance(model, Pipeline):
        return twin
    return Pipeline([*model.steps[:-1], (model.steps[-1][0], twin)])


def _check_data_of_the_fit(model: SemiSupervisedClassifier, trial: Trial, y: Any) -> None:
    """Refuse points and labels that cannot be those the model was fitted to."""
    n_features, classes = (
        trial.prepared.problem.X.shape[1],
        code_classes(y, model.unlabeled).classes,
    )
    if n_features != model.n_features_in_:
        raise ValueError(
            f"X has {n_features} features, and the model was fitted to {model.n_features_in_}. "
            "Give the X of its fit."
        )
    if not np.array_equal(classes, model.classes_):
        raise ValueError(
            f"y has the classes {classes.tolist()}, and the model was fitted to "
            f"{model.classes_.tolist()}. Give the y of its fit."
        )


def relative_sharpness(trial: Trial, left_out: LeftOut) -> Sharpness:
    """How much sharper the scores are by left-out labels than by the prior alone."""
    prior = trial.refits.estimator._sharpness_prior
    problem, values = trial.prepared.problem, trial.values + trial.offsets(trial.values)
    scores = values[~problem.labeled], values[problem.index]
    alone = fit_sharpness(prior, *scores)
    found = fit_sharpness(prior, *scores, left_out.scores, left_out.scored)
    # A label that was left out in several rounds is one label.
    n_labels = int(left_out.told.sum()) if found.n_labels else 0
    return Sharpness(found.value / alone.value, found.spread, n_labels)


def sharpen_untested(model: Any, relative: Sharpness) -> None:
    """Take over what a comparison learnt of the chosen model, if its own fit left no label out."""
    if relative.n_labels and not model.probability_n_labels_:
        _sharpen(model, relative)


def _sharpen(model: Any, relative: Sharpness) -> None:
    """Give a fitted classifier, whose sharpness rests on the prior alone, another one."""
    model.probability_sharpness_ = float(model.probability_sharpness_ * relative.value)
    model.probability_spread_ = relative.spread
    model.probability_n_labels_ = relative.n_labels
    model.transduction_proba_ = tempered(model.transduction_proba_, relative.value)
