"""Points of several kinds in any number, to measure time and memory.

They differ in the difficulty of neighbour searches: sheets have three dimensions and are easy,
images are near manifolds of about a dozen dimensions, and blobs have full dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import rotate

from benchmarks.shared.data import load

Points = tuple[NDArray[np.float32], NDArray[np.int64]]

N_FEATURES, N_CLASSES = 64, 10
# Images are shifted by up to two pixels and rotated by up to six degrees, in 175 ways.
_MOVES, _DEGREES = range(-2, 3), range(-6, 7, 2)
_EDGE, _AXES_SAMPLE = 28, 20_000
_BLOCK = 20_000


def sheets(n: int, seed: int = 0) -> Points:
    """Generate ten curved three-dimensional sheets in 64 dimensions with noise, one per class."""
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
    """Generate ten Gaussians of unit deviation in 64 dimensions, one per class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % N_CLASSES
    centers = rng.standard_normal((N_CLASSES, N_FEATURES)).astype(np.float32)
    X = rng.standard_normal((n, N_FEATURES), dtype=np.float32)
    X += centers[y]
    return X, y


def images(n: int, seed: int = 0) -> Points:
    """Generate shifted and rotated digits of MNIST, as 64 principal components.

    All 70,000 digits are used equally often, each in different ways, for up to 12 million images.
    The components are those of 20,000 of the images. Shifts and rotations are linear maps of the
    pixels, which are multiplied with the components.
    """
    data = load("mnist")
    original, y = data.X / np.float32(255), data.y
    rng = np.random.default_rng(seed)
    ways = list(product(_DEGREES, _MOVES, _MOVES))
    which = np.arange(n) % len(y)
    first = rng.permutation(len(y))  # so that a few images have all classes
    # The ways of digit i are s_i, s_i + 1 step, ..., a permutation of all ways.
    how = (rng.integers(len(ways), size=len(y))[which] + 43 * (np.arange(n) // len(y))) % len(ways)
    which = first[which]
    sample = rng.choice(n, min(n, _AXES_SAMPLE), replace=False)
    drawn = np.empty((len(sample), original.shape[1]), dtype=np.float32)
    for number, way in enumerate(ways):
        at = np.flatnonzero(how[sample] == number)
        drawn[at] = original[which[sample[at]]] @ _changed(*way)
    mean = drawn.mean(axis=0)
    axes = np.linalg.eigh(np.cov(drawn.T))[1][:, : -N_FEATURES - 1 : -1].astype(np.float32)
    X = np.empty((n, N_FEATURES), dtype=np.float32)
    for number, way in enumerate(ways):
        rows, seen = np.flatnonzero(how == number), _changed(*way) @ axes
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            X[block] = original[which[block]] @ seen
    X -= mean @ axes
    return X, y[which]


def _changed(degrees: int, down: int, right: int) -> NDArray[np.float32]:
    """Return the map from 784 pixels to those of the image, rotated and then shifted."""
    turned, moved = _turned(degrees), np.zeros((_EDGE**2, _EDGE, _EDGE), dtype=np.float32)
    (to_y, from_y), (to_x, from_x) = _overlap(down), _overlap(right)
    moved[:, to_y, to_x] = turned[:, from_y, from_x]
    return moved.reshape(len(moved), -1)


def _overlap(move: int) -> tuple[slice, slice]:
    """Return the positions of the pixels along an axis after and before a shift."""
    return (
        slice(max(move, 0), _EDGE + min(move, 0)),
        slice(max(-move, 0), _EDGE - max(move, 0)),
    )


@cache
def _turned(degrees: int) -> NDArray[np.float32]:
    """Return the rotated image (784, 28, 28) of each pixel."""
    units = np.eye(_EDGE**2, dtype=np.float32).reshape(-1, _EDGE, _EDGE)
    return np.stack([rotate(unit, degrees, reshape=False, order=1) for unit in units])


def pixels(n: int, seed: int = 0) -> Points:
    """Load the digits of MNIST, with 784 pixels in [0, 1]."""
    data = load("mnist")
    chosen = np.random.default_rng(seed).permutation(len(data.y))[:n]
    return data.X[chosen] / np.float32(255), data.y[chosen]


KINDS: dict[str, Callable[[int], Points]] = {
    "sheets": sheets,
    "images": images,
    "blobs": blobs,
    "pixels": pixels,
}
"""Functions by name, as in the command of the benchmark."""
