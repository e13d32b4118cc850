"""Which answers of a fit can be taken over, and how many of them will be wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from lapwing._tables.predictions import Predictions
from lapwing.classes.probabilities import class_probabilities
from lapwing.model_selection.probabilities import probability_right, sharpness_of, sure_rows

# Shares of right answers to be claimed, the best first: few labels can never say 99 %.
LEVELS = (0.99, 0.95, 0.9)
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Trust:
    """What the sure answers of a fit are worth; see `lapwing.model_selection.sure_rows`.

    Attributes
    ----------
    level : float
        The share of right answers that is asked of them.
    threshold : float or None
        Least probability of a sure answer; None if no answer is sure.
    expected : float or None
        The share of right answers that is expected.
    low, high : float or None
        Between which it lies with a probability of 90 %.
    n_tests : int
        Labels that a fit without them was tested on.
    n_needed : int
        Labels from which on the first of `LEVELS` can be claimed; 0 if no number is enough.
    """

    level: float
    threshold: float | None
    expected: float | None
    low: float | None
    high: float | None
    n_tests: int
    n_needed: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def trust_rows(estimator: Any, answers: Predictions) -> tuple[Predictions, Trust | None]:
    """Give the answers to the rows of a fit their probabilities, and say which are sure.

    Parameters
    ----------
    estimator : classifier of lapwing or regressor
        Fitted.
    answers : Predictions
        To the rows of its fit.

    Returns
    -------
    Predictions
        With probabilities; as they were for numbers.
    Trust or None
        None for numbers.
    """
    if is_regressor(estimator):
        return answers, None
    found = [(level, sure_rows(estimator, precision=level)) for level in LEVELS]
    level, best = next((one for one in found if one[1].sure.any()), found[0])
    some = bool(best.sure.any())
    low, high = best.interval
    trust = Trust(
        level,
        float(best.threshold) if some else None,
        best.precision if some else None,
        low if some else None,
        high if some else None,
        int(estimator.probability_n_labels_),
        _needed(estimator, LEVELS[0]),
    )
    return _judge(estimator, answers, trust.threshold), trust


def trust_new_rows(estimator: Any, answers: Predictions, trust: Mapping[str, Any]) -> Predictions:
    """Give the answers to new rows their probabilities; sure is what would have been in the fit.

    Parameters
    ----------
    estimator : classifier of lapwing or regressor
        Fitted.
    answers : Predictions
        To the new rows.
    trust : mapping
        What `Trust.to_dict` gave of the fit.
    """
    return _judge(estimator, answers, trust.get("threshold"))


def _judge(estimator: Any, answers: Predictions, threshold: float | None) -> Predictions:
    if answers.scores is None:
        return answers
    sharpness = sharpness_of(estimator)
    shares = class_probabilities(answers.scores, sharpness.value)
    sure = np.zeros(len(shares), dtype=bool)
    if threshold is not None:
        # Scores of the fit and of the same rows later differ by rounding.
        sure = probability_right(shares, sharpness) >= (1 - _ROUNDING) * threshold
    return replace(answers, probabilities=shares, sure=sure)


def _needed(estimator: Any, level: float) -> int:
    """Labels that a level takes at the least: after n tests without an error (1/2) / (n + 1)."""
    if not estimator.probability_n_labels_:
        return 0
    return int(np.ceil(0.5 / (1 - level) - 1 - 1e-9)) + len(estimator.classes_)
