"""Data sets: those of scikit-learn, and generated ones with their formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import rotate
from sklearn.datasets import (
    load_diabetes,
    load_digits,
    load_sample_image,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_swiss_roll,
)

Array = NDArray[np.float64]
Source = Callable[[int], tuple[Array, Array]]


def standardised(values: Array) -> Array:
    """Standardise columns to mean 0 and deviation 1."""
    return (values - values.mean(axis=0)) / values.std(axis=0)


def diabetes(most: int) -> tuple[Array, Array]:
    """Load all patients, or a fixed sample of at most `most`."""
    X, y = load_diabetes(return_X_y=True)
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
    return standardised(X[rows]), standardised(y[rows])


def made_up(make: Callable[..., tuple[Array, Array]], noise: float, most: int) -> Any:
    """Generate a fixed set of `most` rows."""
    X, y = make(n_samples=most, noise=noise, random_state=0)
    return standardised(X), standardised(y)


def robot_arm(most: int) -> tuple[Array, Array]:
    r"""Generate distances of the hand from the shoulder, for a planar arm with four links.

    :math:`|\sum_i L_i \exp(i \sum_{j \le i} \theta_j)|` with angles in [0, 2 pi] and lengths in
    [0, 1] (J. An and A. Owen, "Quasi-regression", Journal of Complexity 17, 2001): eight columns
    without a manifold.
    """
    rng = np.random.default_rng(0)
    angles, lengths = rng.uniform(0, 2 * np.pi, (most, 4)), rng.uniform(0, 1, (most, 4))
    return standardised(np.hstack([angles, lengths])), standardised(hand_distance(angles, lengths))


def hand_distance(angles: Array, lengths: Array) -> Array:
    """Compute the distance of the hand for angles and lengths of shape (n, links)."""
    return np.abs((lengths * np.exp(1j * np.cumsum(angles, axis=1))).sum(axis=1))


def arm_torque(most: int) -> tuple[Array, Array]:
    """Generate torques at the shoulder, for rhythmic movements of a planar arm with two links.

    The inverse dynamics of M. Spong, S. Hutchinson and M. Vidyasagar, "Robot modeling and control",
    2006, section 7.4, with links of 1 m and 1 kg and centres of mass in the middle. As in the
    SARCOS set, rows are positions, velocities and accelerations on a path, which is the manifold.
    """
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 8 * np.pi, most)
    size, pace = np.array([1.0, 0.8]), np.array([0.5, 0.75])
    q, v, a = (size * pace**k * np.sin(np.outer(t, pace) + k * np.pi / 2) for k in range(3))
    X = np.hstack([q, v, a]) + rng.normal(0, 0.02, (most, 6))
    return standardised(X), standardised(shoulder_torque(q, v, a) + rng.normal(0, 0.1, most))


def shoulder_torque(q: Array, v: Array, a: Array) -> Array:
    """Compute the torque; the second angle (n, 2) is relative to the first link."""
    bend, middle, inertia, gravity = q[:, 1], 0.5, 1 / 12, 9.81
    second = middle**2 + middle * np.cos(bend) + inertia
    first = second + middle**2 + 1 + middle * np.cos(bend) + inertia
    turning = middle * np.sin(bend) * (2 * v[:, 0] * v[:, 1] + v[:, 1] ** 2)
    weight = gravity * ((middle + 1) * np.cos(q[:, 0]) + middle * np.cos(q.sum(axis=1)))
    return first * a[:, 0] + second * a[:, 1] - turning + weight


def turned_digits(most: int) -> tuple[Array, Array]:
    """Generate images of a 3 with their rotation angles, from -60 to 60 degrees."""
    rng = np.random.default_rng(0)
    digits = load_digits()
    images = digits.images[digits.target == 3][:20]
    angles = rng.uniform(-60, 60, most)
    turned = [
        rotate(images[i], angle, reshape=False, order=1).ravel()
        for i, angle in zip(rng.integers(len(images), size=most), angles, strict=True)
    ]
    return np.array(turned) / 16, standardised(angles)


def camera(most: int) -> tuple[Array, Array]:
    """Generate images of 16 x 16 grey pixels of a camera over a photograph, with its position."""
    rng = np.random.default_rng(0)
    photograph = load_sample_image("china.jpg").mean(axis=2)[::5, ::5] / 255
    height, width = photograph.shape
    down = rng.integers((height - 16) // 2, (height - 16) // 2 + 8, most)
    across = rng.integers(0, width - 16, most)
    seen = [photograph[i : i + 16, j : j + 16].ravel() for i, j in zip(down, across, strict=True)]
    X = np.array(seen) + rng.normal(0, 0.05, (most, 256))
    return X, standardised(across.astype(np.float64))


# Targets are standardised too: errors are relative to their deviation, and that of the mean is 1.
SOURCES: Mapping[str, Source] = {
    "diabetes": diabetes,
    "friedman1": partial(made_up, make_friedman1, 1.0),
    "friedman2": partial(made_up, make_friedman2, 50.0),
    "friedman3": partial(made_up, make_friedman3, 0.05),
    "robot arm": robot_arm,
    "swiss roll": partial(made_up, make_swiss_roll, 0.05),
    "arm torque": arm_torque,
    "turned digits": turned_digits,
    "camera": camera,
}
