"""From reproducibility and left-out labels to an error, with an interval.

Reproducibility is the error of a method that is right about the points. It may be stable and wrong,
so the error is larger: by what the labels alone say against the answer (`witness`), and by an
amount that nobody can see with one label a class. Left-out labels see it, but each of them says
little: ten labels leave fifteen points in doubt. So the first two give a prior of the error, a beta
distribution, and the third the observations that such a distribution takes in.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from lapwing._arrays import Array
from lapwing.model_selection.sizes import guessing, label_rows

PROBABILITY = 0.9  # of an interval


class Constants(NamedTuple):
    """What links reproducibility and left-out labels to the error.

    Attributes
    ----------
    unseen, seen : float
        Before any label is left out the error is ``unseen * (2 / K) ** (1 / 4) + seen * D + C`` in
        the mean, for the reproducibility D, what the labels alone say against the answer C, and K
        classes: where two of ten classes are stably mistaken for each other, less is wrong than
        where two of two are. The power was chosen on 22 draws of uspst, coil20 and four digits of
        MNIST, which therefore do not judge it: with 0 the estimate at three labels a class is 5
        points too high, with 1 / 2 that at one label 6 too low.
    prior_labels : float
        How many labels that weighs as much as.
    of_a_label : float
        What a left-out label counts for: less than one, for the fit without it is worse than the
        fit with it, and candidates share their labels.
    """

    unseen: float
    seen: float
    prior_labels: float
    of_a_label: float


# The largest likelihood for the errors of what `compare` chose, on 240 draws of labels on eight
# sets of two classes, up to 2000 points each, one, three and ten labels a class, in equal numbers
# and at random. Without one set they are 0.15 to 0.18, 5.5 to 7.6 and 0.53 to 0.63.
# `python -m benchmarks choosing` fits them again.
# `seen` was fixed at what reproducibility means: it is the error if the method is right; and so was
# the weight of a contradiction, which is a share of the rows as well.
# Measured and left out: a constant of its own for the labels alone, for sheets and for clusters
# (the regret with three labels a class falls by a point, and with ten it rises by three).
CONSTANTS = Constants(unseen=0.17, seen=1.0, prior_labels=6.4, of_a_label=0.59)

_MANY_CLASSES = 0.25  # power of 2 / K, see `Constants`
# Of the mean of the prior: a beta distribution has its mean inside (0, 1).
_BOUNDS = (0.005, 0.95)


class ErrorEstimate(NamedTuple):
    """An error, and the interval that holds it with probability 0.9."""

    error: float
    low: float
    high: float


def estimate_error(
    reproducibility: float,
    n_missed: Array,
    n_left_out: Array,
    constants: Constants = CONSTANTS,
    *,
    contradiction: float = 0.0,
    sizes: Array | None = None,
) -> ErrorEstimate:
    """Estimate the share of wrong answers on unlabelled rows.

    Parameters
    ----------
    reproducibility : float
        NaN where no row is unlabelled: left-out labels then speak alone.
    n_missed : ndarray of shape (n_classes,)
        Left-out labels of each class that were missed.
    n_left_out : ndarray of shape (n_classes,)
        Left-out labels of each class.
    constants : Constants, default=CONSTANTS
    contradiction : float, default=0.0
        What the labels alone say against the answer.
    sizes : ndarray of shape (n_classes,), optional
        Parts of the classes, where the answer holds them.

    Returns
    -------
    ErrorEstimate
    """
    alpha, beta = posterior(reproducibility, n_missed, n_left_out, constants, contradiction, sizes)
    tail = (1 - PROBABILITY) / 2
    # As in Clopper and Pearson's interval: where no left-out label was missed, none may be wrong.
    none_missed = n_left_out.sum() > 0 and n_missed.sum() == 0
    return ErrorEstimate(
        alpha / (alpha + beta),
        0.0 if none_missed else float(betaincinv(alpha, beta, tail)),
        float(betaincinv(alpha, beta, 1 - tail)),
    )


def posterior(
    reproducibility: float,
    n_missed: Array,
    n_left_out: Array,
    constants: Constants,
    contradiction: float = 0.0,
    sizes: Array | None = None,
) -> tuple[float, float]:
    """Parameters of the beta distribution of the error."""
    n_classes = len(n_left_out)
    # With sizes the labels of a common class do speak for a rare one: what it loses the other gets.
    counted = effective_counts(n_left_out) if sizes is None else n_left_out
    rates = n_missed / np.maximum(n_left_out, 1)
    right = float(((label_rows(n_classes, sizes) - rates) * counted).sum())
    alpha = constants.of_a_label * float((rates * counted).sum())
    beta = constants.of_a_label * max(right, 0.0)
    if math.isnan(reproducibility):
        return alpha + 0.5, beta + 0.5  # Jeffreys' prior
    unseen = constants.unseen * (2 / n_classes) ** _MANY_CLASSES
    # Means over the classes, which are all as large in them: a label of each is so many rows.
    rows = guessing(n_classes) / guessing(n_classes, sizes)
    mean = (unseen + constants.seen * reproducibility + contradiction) / rows
    mean = min(max(mean, _BOUNDS[0]), _BOUNDS[1])
    weight = constants.prior_labels * rows
    return alpha + weight * mean, beta + weight * (1 - mean)


def effective_counts(n_left_out: Array) -> Array:
    """How many left-out labels of each class count.

    Those of a common class say nothing of a rare one: they count for at most twice as many as the
    rarest class has, and one more. Without that limit five labels to one give intervals that hold
    the error in 78 % of the draws, with it in 89.
    """
    return np.asarray(np.minimum(n_left_out, 2 * n_left_out.min() + 1))
