"""Synthetic data sets of the papers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import datasets as sklearn_datasets
from sklearn.utils import check_random_state

from lapwing._parameters import check, is_not_negative
from lapwing.datasets._masking import check_count, mask_labels

# The paper gives no dimensions of Figure 1. With these the distance of the hands from the border is
# several times the distance between neighbours on it.
_MINUTE_HAND, _HOUR_HAND = 0.65, 0.4
_FOUR_O_CLOCK = math.radians(90 - 4 * 30)


def make_two_moons(
    n_samples: int = 200,
    *,
    n_labeled_per_class: int = 1,
    noise: float = 0.05,
    random_state: int | np.random.RandomState | None = None,
    return_truth: bool = False,
) -> tuple[NDArray[Any], ...]:
    """Draw two interleaving half circles, a few of whose points are labelled.

    The defaults give Figure 3 of the LapSVM paper: 200 points, 2 of them labelled. The
    embedded-regression paper has 400 points (Table I) and the QN-S3VM paper 500. No paper gives the
    noise. With 0.05 the moons are separate components of a graph of six neighbours in nearly every
    draw, with 0.1 in hardly any.

    Parameters
    ----------
    n_samples : int, default=200
        Number of points, half of them on each moon (the odd one on the second).
    n_labeled_per_class : int, default=1
        Number of points labelled on each moon, drawn at random.
    noise : float, default=0.05
        Standard deviation of the Gaussian noise on both coordinates; the moons have radius 1.
    random_state : int, RandomState instance or None, default=None
        Seed of the noise, the order and the labelled points.
    return_truth : bool, default=False
        Whether to return the labels of all points as well.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The points, in random order.
    y : ndarray of int of shape (n_samples,)
        0 (upper moon) or 1 (lower moon) on labelled points and -1 on all others.
    truth : ndarray of int of shape (n_samples,)
        Labels of all points; only if `return_truth`.

    Raises
    ------
    ValueError
        If a number is out of range, or a moon has fewer points than labels.

    See Also
    --------
    sklearn.datasets.make_moons : The same points with all their labels.
    """
    check_count("n_samples", n_samples, least=2)
    rng = check_random_state(random_state)
    X, truth = sklearn_datasets.make_moons(n_samples, noise=_check_noise(noise), random_state=rng)
    return _label(X, truth, n_labeled_per_class, rng, return_truth)


def make_clock(
    n_samples: int = 200,
    *,
    n_labeled_per_class: int = 1,
    noise: float = 0.02,
    random_state: int | np.random.RandomState | None = None,
    return_truth: bool = False,
) -> tuple[NDArray[Any], ...]:
    """Draw the border of a clock and its two hands, a few of whose points are labelled.

    Figure 1 of the LapSVM paper: one class is the circular border, the other one the hour and the
    minute hand, with one label per class. The paper gives no dimensions; here the border has radius
    1 around the origin, and the hands, of lengths 0.65 and 0.4, show four o'clock.

    Parameters
    ----------
    n_samples : int, default=200
        Number of points: half of them on the border, and half (and the odd one) on the hands.
    n_labeled_per_class : int, default=1
        Number of points labelled in each class, drawn at random.
    noise : float, default=0.02
        Standard deviation of the Gaussian noise on both coordinates.
    random_state : int, RandomState instance or None, default=None
        Seed of the noise, the order and the labelled points.
    return_truth : bool, default=False
        Whether to return the labels of all points as well.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The points, in random order.
    y : ndarray of int of shape (n_samples,)
        0 (border) or 1 (hands) on labelled points and -1 on all others.
    truth : ndarray of int of shape (n_samples,)
        Labels of all points; only if `return_truth`.

    Raises
    ------
    ValueError
        If a number is out of range, or a class has fewer points than labels.
    """
    n = check_count("n_samples", n_samples, least=2)
    rng = check_random_state(random_state)
    # Evenly spaced, as in scikit-learn's moons: with random positions gaps on the border would be
    # as wide as its distance to the hands.
    angles = np.linspace(0, 2 * np.pi, n // 2, endpoint=False)
    border = np.column_stack([np.cos(angles), np.sin(angles)])
    # One path from the tip of the hour hand through the centre to the tip of the minute hand.
    path = np.linspace(-_HOUR_HAND, _MINUTE_HAND, n - n // 2)
    hour, minute = np.maximum(-path, 0), np.maximum(path, 0)
    hands = np.column_stack(
        [hour * math.cos(_FOUR_O_CLOCK), hour * math.sin(_FOUR_O_CLOCK) + minute]
    )
    truth = np.repeat([0, 1], [len(border), len(hands)])
    order = rng.permutation(n)
    X = np.concatenate([border, hands])[order]
    X += rng.normal(scale=_check_noise(noise), size=X.shape)
    return _label(X, truth[order], n_labeled_per_class, rng, return_truth)


def make_gaussian2c(
    n_samples: int = 500,
    n_features: int = 500,
    *,
    n_labeled_per_class: int = 25,
    random_state: int | np.random.RandomState | None = None,
    return_truth: bool = False,
) -> tuple[NDArray[Any], ...]:
    """Draw Gaussian2C: two Gaussian clusters, one per class.

    QN-S3VM paper, Section 4.1.2: n/2 points are drawn from each of N(m_i, I) with
    m_1 = (-2.5, 0, ..., 0) and m_2 = (2.5, 0, ..., 0). The Bayes error is Φ(-2.5) = 0.62 %.

    Parameters
    ----------
    n_samples : int, default=500
        Number of points n; even.
    n_features : int, default=500
        Number of features d.
    n_labeled_per_class : int, default=25
        Number of points labelled in each class, drawn at random among all n.
    random_state : int, RandomState instance or None, default=None
        Seed of the points, their order and the labelled points.
    return_truth : bool, default=False
        Whether to return the labels of all points as well.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The points, in random order.
    y : ndarray of int of shape (n_samples,)
        0 (first cluster) or 1 on labelled points and -1 on all others.
    truth : ndarray of int of shape (n_samples,)
        Labels of all points; only if `return_truth`.

    Raises
    ------
    ValueError
        If n is odd, a number is out of range, or a class has fewer points than labels.

    Notes
    -----
    The paper uses the first half of the points for training, with 25 or 50 labels, and the second
    half for testing (Table 1). As the order is random, this is::

        X, _, truth = make_gaussian2c(return_truth=True)
        y = mask_labels(truth[:250], 25)  # 50 labels
        LapSVC().fit(X[:250], y).score(X[250:], truth[250:])
    """
    means = [[-2.5], [2.5]]
    return _gaussians(means, n_samples, n_features, n_labeled_per_class, random_state, return_truth)


def make_gaussian4c(
    n_samples: int = 500,
    n_features: int = 500,
    *,
    n_labeled_per_class: int = 25,
    random_state: int | np.random.RandomState | None = None,
    return_truth: bool = False,
) -> tuple[NDArray[Any], ...]:
    """Draw Gaussian4C: four Gaussian clusters, two per class, with misleading structure.

    QN-S3VM paper, Section 4.1.2: n/4 points are drawn from each of N(m_i, I) with
    m_i = (±2.5, ±5, 0, ..., 0). The clusters with -2.5 form the first class, so the widest gap is
    not between the classes. The Bayes error is Φ(-2.5) = 0.62 %.

    Parameters
    ----------
    n_samples : int, default=500
        Number of points n; a multiple of 4.
    n_features : int, default=500
        Number of features d, at least 2.
    n_labeled_per_class : int, default=25
        Number of points labelled in each class, drawn at random among all n.
    random_state : int, RandomState instance or None, default=None
        Seed of the points, their order and the labelled points.
    return_truth : bool, default=False
        Whether to return the labels of all points as well.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The points, in random order.
    y : ndarray of int of shape (n_samples,)
        0 (the two clusters of the first class) or 1 on labelled points and -1 on all others.
    truth : ndarray of int of shape (n_samples,)
        Labels of all points; only if `return_truth`.

    Raises
    ------
    ValueError
        If n is not a multiple of 4, a number is out of range, or a class has fewer points than
        labels.

    See Also
    --------
    make_gaussian2c : The easier set; its notes show the paper's training and test halves.
    """
    means = [[-2.5, -5.0], [-2.5, 5.0], [2.5, -5.0], [2.5, 5.0]]
    return _gaussians(means, n_samples, n_features, n_labeled_per_class, random_state, return_truth)


def _gaussians(
    means: ArrayLike,
    n_samples: int,
    n_features: int,
    n_labeled_per_class: int,
    random_state: int | np.random.RandomState | None,
    return_truth: bool,
) -> tuple[NDArray[Any], ...]:
    """Draw equally many points of N(m_i, I) for each row of `means`; the first half is class 0."""
    centers = np.asarray(means)
    k, informative = centers.shape
    n = check_count("n_samples", n_samples)
    d = check_count("n_features", n_features, least=informative)
    if n % k:
        raise ValueError(
            f"n_samples={n} must be a multiple of {k}: every cluster has as many points."
        )
    rng = check_random_state(random_state)
    cluster = rng.permutation(np.repeat(np.arange(k), n // k))
    X = rng.normal(size=(n, d))
    X[:, :informative] += centers[cluster]
    return _label(X, (cluster >= k // 2).astype(np.int64), n_labeled_per_class, rng, return_truth)


def _label(
    X: NDArray[Any],
    truth: NDArray[Any],
    n_labeled_per_class: int,
    rng: np.random.RandomState,
    return_truth: bool,
) -> tuple[NDArray[Any], ...]:
    count = check_count("n_labeled_per_class", n_labeled_per_class)
    y = mask_labels(truth, count, random_state=rng)
    return (X, y, truth) if return_truth else (X, y)


def _check_noise(noise: float) -> float:
    check({"noise": noise}, {"noise": (is_not_negative, "a finite number of at least 0")})
    return float(noise)
