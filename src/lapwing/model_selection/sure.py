"""Which answers can be taken over without a look, and how many of them will be wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import beta
from sklearn.utils.validation import check_is_fitted

from lapwing._arrays import Array
from lapwing.classes.probabilities import Sharpness, tempered
from lapwing.estimators.classifier import SemiSupervisedClassifier
from lapwing.model_selection.candidates import chosen_by, last_step

_NODES = 9
_FIVE_PER_CENT = 1.6449  # standard deviations


@dataclass(frozen=True, eq=False)
class SureRows:
    """What `sure_rows` found.

    Parameters
    ----------
    sure : ndarray of bool of shape (n_samples,)
        The rows whose answers can be taken over.
    probability : ndarray of shape (n_samples,)
        How probable it is that the answer of each row is right; see `sure_rows`.
    threshold : float
        The least `probability` of the sure rows; infinite if there are none.
    precision : float
        The share of right answers that is expected among the sure rows; NaN if there are none.
    interval : tuple (float, float)
        Between which it lies with a probability of 90 %; NaN if there are none.
    """

    sure: Array = field(repr=False)
    probability: Array = field(repr=False)
    threshold: float
    precision: float
    interval: tuple[float, float]


def sure_rows(model: Any, X: Any = None, *, precision: float = 0.99) -> SureRows:
    """Find the rows whose answers can be taken over without a look.

    They are as many as possible, the most probable answers first, so that the expected share of
    right ones among them is at least `precision`. There may be none: a few labels seldom say
    enough for 99 %.

    Parameters
    ----------
    model : classifier of lapwing, or Pipeline that ends in one
        Fitted.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Rows to be judged. None: the training rows by `transduction_proba_`, those with a label
        left out.
    precision : float, default=0.99
        Expected share of right answers among the sure rows, in (0, 1].

    Returns
    -------
    SureRows
        The mask `sure` of the rows, their `probability`, and the `precision` to expect of them.

    Raises
    ------
    TypeError
        If the model is no classifier of this library.
    ValueError
        If `precision` is not in (0, 1].

    See Also
    --------
    calibrate : For models that no label was left out of.

    Notes
    -----
    The probability of an answer is the mean of `predict_proba` over the sharpness, which is
    log-normal about `probability_sharpness_` with the spread `probability_spread_`, times 1 - d. d
    is for what sharpness cannot know, clusters that no label has tested: after n tests without such
    an error its share is expected to be d = (1/2) / (n + 1) (Jeffreys). n is
    `probability_n_labels_`, the labels that a fit without them was tested on, less one a class. So
    99 % takes 49 labels and one a class at the least, and 90 % four and one a class.

    `LapSVC`, `LapRLSClassifier`, `LapERLSClassifier` and the baselines are tested so by each fit.
    Other estimators are not, and have no sure rows: `calibrate` fits them again.

    Look at a sample of the sure rows before you take over thousands: where the labels were not
    drawn like the other rows, they tell nothing of these.

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
    if not 0 < precision <= 1:
        raise ValueError(f"precision={precision!r} must be in (0, 1], e.g. 0.99.")
    last = last_step(model)
    if (chosen := chosen_by(last)) is not None:
        last = last_step(chosen)
    if not isinstance(last, SemiSupervisedClassifier):
        raise TypeError(
            f"{type(last).__name__} is no classifier of lapwing: it does not say how sharp its "
            "probabilities are. Of a search give best_estimator_."
        )
    check_is_fitted(last)
    if X is None:
        free, shares = ~last.labeled_, last.transduction_proba_
    else:
        shares = model.predict_proba(X)
        free = np.ones(len(shares), dtype=bool)
    return _choose(shares, free, sharpness_of(last), precision)


def sharpness_of(model: Any) -> Sharpness:
    """How sharp the scores of a fitted classifier are."""
    return Sharpness(
        model.probability_sharpness_, model.probability_spread_, model.probability_n_labels_
    )


def probability_right(shares: Array, sharpness: Sharpness) -> Array:
    """How probable it is that the answers to rows with these probabilities are right."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    best = [tempered(shares, np.exp(sharpness.spread * node)).max(axis=1) for node in nodes]
    likely = np.average(best, axis=0, weights=weights)
    return np.asarray((1 - _unseen(shares, sharpness).mean()) * likely)


def _unseen(shares: Array, sharpness: Sharpness) -> Any:
    """The share of the rows that lie in clusters that no label has tested."""
    # A class takes one label to be known at all; those beyond test it.
    return beta(0.5, max(0, sharpness.n_labels - shares.shape[1]) + 0.5)


def _choose(shares: Array, free: Array, sharpness: Sharpness, precision: float) -> SureRows:
    probability = probability_right(shares, sharpness)
    unseen = _unseen(shares, sharpness)
    ordered = -np.sort(-probability[free])
    expected = np.cumsum(ordered) / np.arange(1, len(ordered) + 1)
    last_of_equals = np.append(ordered[1:] < ordered[:-1], True)[: len(ordered)]
    enough = np.flatnonzero((expected >= precision) & last_of_equals)
    if not len(enough):
        none = np.zeros(len(shares), dtype=bool)
        return SureRows(none, probability, np.inf, np.nan, (np.nan, np.nan))
    threshold = ordered[enough[-1]]
    sure = free & (probability >= threshold)

    def precision_at(side: float) -> float:
        factor = np.exp(side * _FIVE_PER_CENT * sharpness.spread)
        right = tempered(shares[sure], factor).max(axis=1).mean()
        return float((1 - unseen.ppf(0.5 - 0.45 * side)) * right)

    interval = precision_at(-1.0), precision_at(1.0)
    return SureRows(sure, probability, float(threshold), float(probability[sure].mean()), interval)
