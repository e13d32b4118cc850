r"""Class probabilities from decision values, calibrated by few labels or none.

A few labels per class determine only the sharpness of the scores, so a single number is fitted:

.. math:: p_{ik} = \frac{\exp(t s_{ik})}{\sum_j \exp(t s_{ij})},

where s are the scores with one column per class (-f and f for a single column). There are no
offsets, so that the largest probability belongs to the largest score and `predict_proba` never
contradicts `predict`. A class prior is already part of the scores.

The sharpness t > 0 maximises the likelihood of the leave-one-out scores of the labels, times a
log-normal prior, which depends on the scores only. With the median gap m (difference of the best
and second-best score) of the unlabelled points and h of the labelled points,

.. math:: \log (t m) \sim N(\mu + \beta \log (m / h),\ \sigma^2),

so that probabilities do not depend on the scale of the scores, and are closer to uniform if the
scores of unlabelled points are small (m far below h). As many classes share the remaining
probability, mu grows with the logarithm of their number. With one label per class nothing can be
left out, and t is that of the prior.

Rejected: Platt's offset, which would move the boundary; isotonic regression, which needs hundreds
of labels; the scores of labelled points by the fit to their labels, which are nearly always right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from lapwing._arrays import Array, row_blocks
from lapwing.classes.decoding import enforce_codes, of_each_class, posteriors, predict_codes

_REACH = 8.0  # standard deviations from the centre of the prior within which the optimum is sought
_LARGEST = 690.0  # limit of the logarithm, so that the sharpness does not overflow
# Of 600 random problems (1 to 10 columns, 2 to 60 labels, up to 60 % of them wrong), 17 nodes find
# the maximum that 2049 nodes find, and 9 miss one; four times as many cost next to nothing.
_GRID = 65
_COPIES = 4  # of the scores in memory at a time


class SharpnessPrior(NamedTuple):
    """Prior distribution of the sharpness.

    Attributes
    ----------
    centre : float
        mu for two classes: the logarithm of the sharpness times the median gap, if labelled and
        unlabelled points have equal gaps.
    slope : float
        beta, the slope of mu in the log ratio of the gaps of unlabelled and labelled points.
    classes : float
        Slope of mu in the logarithm of half the number of classes.
    spread : float
        sigma > 0.
    """

    centre: float
    slope: float
    classes: float
    spread: float


# Fitted by the log loss on the unlabelled points with 1, 3 and 10 labels per class (python -m
# benchmarks calibration).
GRAPH_PRIOR = SharpnessPrior(centre=0.5, slope=0.75, classes=0.75, spread=0.75)
LOW_DENSITY_PRIOR = SharpnessPrior(centre=0.0, slope=0.25, classes=0.25, spread=1.0)


class Sharpness(NamedTuple):
    """Factor of the scores in the softmax.

    Attributes
    ----------
    value : float
        t > 0.
    spread : float
        Standard deviation of its logarithm given the labels.
    n_labels : int
        Number of labels used for the estimate; 0 if it is from the prior only.
    """

    value: float
    spread: float
    n_labels: int


def class_probabilities(scores: Array, sharpness: float) -> Array:
    """Compute probabilities (n, n_classes) in double precision from scores (n, c).

    Rows sum to 1, and the first largest entry is that of `predict_codes`, even for ties by
    rounding.
    """
    n, c = scores.shape
    probabilities = np.empty((n, max(2, c)))
    for rows in row_blocks(n, 8 * _COPIES * max(2, c)):
        probabilities[rows] = _softmax(scores[rows], sharpness)
    return probabilities


def _softmax(scores: Array, sharpness: float) -> Array:
    with np.errstate(over="ignore"):  # a difference of infinity gives probability 0
        shares = posteriors(of_each_class(np.asarray(scores, dtype=np.float64)), sharpness)
    return enforce_codes(shares, predict_codes(scores))


def tempered(probabilities: Array, factor: float) -> Array:
    """Multiply the sharpness of probabilities by a factor."""
    with np.errstate(divide="ignore"):
        shares = class_probabilities(np.log(probabilities), factor)
    # Logarithms may be equal for probabilities that differ in the last digit.
    return enforce_codes(shares, predict_codes(probabilities))


def fit_sharpness(
    prior: SharpnessPrior,
    unlabeled: Array,
    labeled: Array,
    left_out: Array | None = None,
    codes: Array | None = None,
) -> Sharpness:
    """Fit the sharpness of scores.

    Parameters
    ----------
    prior : SharpnessPrior
    unlabeled : ndarray of shape (u, c)
        Scores of the unlabelled points; if there are none, those of the labelled points are used.
    labeled : ndarray of shape (l, c)
        Scores of the labelled points by the fit to their labels.
    left_out : ndarray of shape (l', c), optional
        Leave-one-out scores of observations; rows with NaN are ignored. Without any the estimate is
        from the prior only.
    codes : ndarray of int of shape (l',)
        Classes of these observations.

    Returns
    -------
    Sharpness
    """
    own = usual_gap(labeled)
    gap = usual_gap(unlabeled) if len(unlabeled) else own
    n_classes = max(2, labeled.shape[1])
    return sharpness_of_gaps(prior, gap, own, n_classes, left_out, codes)


def sharpness_of_gaps(
    prior: SharpnessPrior,
    gap: float,
    own: float,
    n_classes: int,
    left_out: Array | None = None,
    codes: Array | None = None,
) -> Sharpness:
    """Fit the sharpness of scores with known typical gaps; see `fit_sharpness`.

    Parameters
    ----------
    prior : SharpnessPrior
    gap, own : float
        `usual_gap` of the unlabelled and of the labelled points.
    n_classes : int
    left_out : ndarray of shape (l', c), optional
    codes : ndarray of int of shape (l',)
    """
    if gap == 0:  # all scores of a point are equal, so the sharpness has no effect
        return Sharpness(1.0, prior.spread, 0)
    prior_mean = prior.centre + prior.classes * np.log(n_classes / 2) - np.log(gap)
    if own > 0:
        prior_mean += prior.slope * (np.log(gap) - np.log(own))
    scores, truth = _usable(left_out, codes)
    if not len(scores):
        return Sharpness(float(_exponential(prior_mean)), prior.spread, 0)

    with np.errstate(over="ignore"):
        behind = scores - scores.max(axis=1, keepdims=True)
    mine = behind[np.arange(len(truth)), truth]

    def penalised(positions: Array) -> Array:
        sharpness = _exponential(prior_mean + prior.spread * positions)[:, None]
        values = positions**2 / 2
        for rows in row_blocks(len(mine), 8 * behind.shape[1] * len(positions)):
            powers = np.exp(sharpness[:, :, None] * behind[rows])
            values -= (sharpness * mine[rows] - np.log(powers.sum(axis=2))).sum(axis=1)
        return np.asarray(values)

    def at(position: float) -> float:
        return float(penalised(np.array([position]))[0])

    # The penalised likelihood may have two maxima, as the likelihood is flat for small t.
    grid = np.linspace(-_REACH, _REACH, _GRID)
    step = grid[1] - grid[0]
    with np.errstate(over="ignore"):
        best = grid[np.argmin(penalised(grid))]
        found = minimize_scalar(at, bounds=(best - step, best + step), method="bounded")
        spread = prior.spread * _deviation(penalised, float(found.x))
    sharpness = _exponential(prior_mean + prior.spread * found.x)
    return Sharpness(float(sharpness), spread, len(scores))


def usual_gap(scores: Array) -> float:
    """Return the median gap of the points, or their mean if it is 0."""
    gaps = gaps_of(scores)
    unit = gaps.max()
    if unit == 0:
        return 0.0
    gaps = gaps / unit  # so that the sum does not overflow
    return float(unit * (np.median(gaps) or gaps.mean()))


def gaps_of(scores: Array) -> Array:
    """Compute the difference of the best and the second-best score of each point."""
    gaps = np.empty(len(scores))
    for rows in row_blocks(len(scores), 8 * _COPIES * max(2, scores.shape[1])):
        columns = of_each_class(np.asarray(scores[rows], dtype=np.float64))
        largest = np.sort(columns, axis=1)[:, -2:]
        with np.errstate(over="ignore"):
            gaps[rows] = largest[:, 1] - largest[:, 0]
    return np.minimum(gaps, np.finfo(np.float64).max, out=gaps)


def _usable(left_out: Array | None, codes: Array | None) -> tuple[Array, Array]:
    if left_out is None or codes is None:
        return np.zeros((0, 2)), np.zeros(0, dtype=np.intp)
    known = np.isfinite(left_out).all(axis=1)
    return of_each_class(left_out[known].astype(np.float64)), codes[known]


def _exponential(logarithm: Array) -> Array:
    return np.asarray(np.exp(np.clip(logarithm, -_LARGEST, _LARGEST)))


def _deviation(penalised: Callable[[Array], Array], position: float, step: float = 0.1) -> float:
    """Return the standard deviation by Laplace's approximation, at most that of the prior."""
    around = penalised(position + np.array([-step, 0.0, step]))
    curvature = (around[0] - 2 * around[1] + around[2]) / step**2
    return float(1 / np.sqrt(max(curvature, 1.0))) if np.isfinite(curvature) else 1.0
