"""Points of three kinds in any number, on which time and memory are measured.

They differ in what a search for neighbours finds hard: sheets have three dimensions and are easy,
images lie near manifolds of about a dozen, blobs have as many as there are features. A search that
is fast on one kind alone is not fast.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import affine_transform

from benchmarks.shared.data import load_mnist

Points = tuple[NDArray[np.float32], NDArray[np.int64]]

N_FEATURES, N_CLASSES = 64, 10
# Images are moved by up to two pixels each way and turned by up to six degrees: 175 ways.
_MOVES, _DEGREES = range(-2, 3), range(-6, 7, 2)
_EDGE, _AXES_SAMPLE = 28, 20_000
_BLOCK = 20_000


def sheets(n: int, seed: int = 0) -> Points:
    """Ten curved sheets of three dimensions in 64, with noise: a class each."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % N_CLASSES
    X = np.empty((n, N_FEATURES), dtype=np.float32)
    for c in range(N_CLASSES):
        rows = slice(c, None, N_CLASSES)
        t = rng.uniform(-1, 1, (len(y[rows]), 3))
        bent = np.hstack([t, np.cos(2 * t), np.sin(3 * t[:, :1] * t[:, 1:2])])
        frame = rng.standard_normal((bent.shape[1], N_FEATURES)) / 4
        X[rows] = bent @ frame + rng.standard_normal(N_FEATURES) / 4
        X[rows] += 0.05 * rng.standard_normal(X[rows].shape).astype(np.float32)
    return X, y


def blobs(n: int, seed: int = 0) -> Points:
    """Ten Gaussians of unit deviation in all 64 directions: a class each, hardly overlapping."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % N_CLASSES
    centers = rng.standard_normal((N_CLASSES, N_FEATURES)).astype(np.float32)
    X = rng.standard_normal((n, N_FEATURES), dtype=np.float32)
    X += centers[y]
    return X, y


def images(n: int, seed: int = 0) -> Points:
    """Digits of MNIST, each moved and turned in different ways, as 64 principal components.

    Each of the 70,000 digits takes part as often as any other, no two times in the same way, up to
    12 million images. The components are those of 20,000 of the images. A move or a turn is a
    linear map of the pixels, and goes into the components of its own images.
    """
    data = load_mnist()
    original, y = data.X / np.float32(255), data.y
    rng = np.random.default_rng(seed)
    maps = [_moved(dy, dx, angle) for dy in _MOVES for dx in _MOVES for angle in _DEGREES]
    which = np.arange(n) % len(y)
    first = rng.permutation(len(y))  # so that a few images are of all classes
    # Digit i takes the ways s_i, s_i + 1 step, ...: a permutation of all of them.
    how = (rng.integers(len(maps), size=len(y))[which] + 43 * (np.arange(n) // len(y))) % len(maps)
    which = first[which]
    sample = rng.choice(n, min(n, _AXES_SAMPLE), replace=False)
    drawn = np.empty((len(sample), original.shape[1]), dtype=np.float32)
    for number, pixels in enumerate(maps):
        at = np.flatnonzero(how[sample] == number)
        drawn[at] = original[which[sample[at]]] @ pixels
    mean = drawn.mean(axis=0)
    axes = np.linalg.eigh(np.cov(drawn.T))[1][:, : -N_FEATURES - 1 : -1].astype(np.float32)
    X = np.empty((n, N_FEATURES), dtype=np.float32)
    for number, pixels in enumerate(maps):
        rows, seen = np.flatnonzero(how == number), pixels @ axes
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            X[block] = original[which[block]] @ seen
    X -= mean @ axes
    return X, y[which]


def _moved(down: int, right: int, degrees: float) -> NDArray[np.float32]:
    """The map of 784 pixels to those of the image that was turned about its middle, then moved."""
    units = np.eye(_EDGE**2, dtype=np.float32).reshape(-1, _EDGE, _EDGE)
    angle, middle = np.deg2rad(degrees), (_EDGE - 1) / 2
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    offset = middle - turn @ np.array([middle + down, middle + right])
    # The axis of the units is left as it is.
    matrix = np.block([[np.eye(1), np.zeros((1, 2))], [np.zeros((2, 1)), turn]])
    found = affine_transform(units, matrix, np.append(0.0, offset), order=1)
    return np.asarray(found.reshape(len(units), -1))


def pixels(n: int, seed: int = 0) -> Points:
    """The digits of MNIST as they are, 784 pixels in [0, 1]."""
    data = load_mnist()
    chosen = np.random.default_rng(seed).permutation(len(data.y))[:n]
    return data.X[chosen] / np.float32(255), data.y[chosen]


KINDS: dict[str, Callable[[int], Points]] = {
    "sheets": sheets,
    "images": images,
    "blobs": blobs,
    "pixels": pixels,
}
"""By name, as the benchmark's command takes them."""
