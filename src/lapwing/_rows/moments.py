"""What checks and kernels need to know of all rows, from one pass that is made once."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from lapwing._arrays import Array
from lapwing._rows.base import Rows, blocks_of

_PASS_BYTES = 2**24  # of a block in float64, as several copies of it are alive


@dataclass(frozen=True, eq=False)
class Moments:
    """Of the columns of points, summed in float64.

    Attributes
    ----------
    mean, variances : ndarray of shape (d,), float64
    low, high : ndarray of shape (d,)
        Least and largest value, in the precision of the points.
    not_finite : tuple of int, or None
        Row and column of the first value that is NaN or infinite; nothing else means anything then.
    """

    mean: Array
    variances: Array
    low: Array
    high: Array
    not_finite: tuple[int, int] | None = None

    @property
    def largest(self) -> float:
        """Largest absolute value."""
        return float(max(self.high.max(), -self.low.min()))


# Files cannot change unseen, so that what one pass over them has found stays true.
_KNOWN: WeakKeyDictionary[Rows, Moments] = WeakKeyDictionary()


def moments_of(X: Rows) -> Moments:
    """The moments of rows: one pass, however often they are asked for."""
    if X not in _KNOWN:
        _KNOWN[X] = _pass_over(X)
    return _KNOWN[X]


def _pass_over(X: Rows) -> Moments:
    d, n = X.shape[1], 0
    mean, squares = np.zeros(d), np.zeros(d)
    low, high = np.full(d, np.inf, dtype=X.dtype), np.full(d, -np.inf, dtype=X.dtype)
    for rows, block in blocks_of(X, 8 * d, _PASS_BYTES):
        if not np.isfinite(block.sum(dtype=np.float64)) and not np.isfinite(block).all():
            i, j = np.argwhere(~np.isfinite(block))[0]
            return Moments(mean, squares, low, high, (rows.start + int(i), int(j)))
        b = len(block)
        with np.errstate(over="ignore", invalid="ignore"):  # told by the checks of magnitude
            own = block.mean(axis=0, dtype=np.float64)
            centred = block - own
            # Of two parts from their own means: the mean square less the square of the mean
            # cancels for columns far from 0.
            step = own - mean
            squares += np.einsum("ij,ij->j", centred, centred) + step**2 * (n * b / (n + b))
            mean += step * (b / (n + b))
        np.minimum(low, block.min(axis=0), out=low)
        np.maximum(high, block.max(axis=0), out=high)
        n += b
    return Moments(mean, np.where(low == high, 0.0, squares / n), low, high)
