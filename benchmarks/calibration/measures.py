"""What is asked of probabilities: log loss, calibration error, and the sure rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.model_selection import sure_rows

PRECISIONS = (0.9, 0.95, 0.99)
_BINS = 15
_LEAST = 1e-15  # a probability of 0 that comes true would make every mean infinite


def log_loss(shares: NDArray[Any], codes: NDArray[Any]) -> float:
    """Mean negative logarithm of the probability of the true class."""
    mine = np.clip(shares[np.arange(len(codes)), codes], _LEAST, 1)
    return float(-np.log(mine).mean())


def calibration_error(shares: NDArray[Any], codes: NDArray[Any], n_bins: int = _BINS) -> float:
    """Expected calibration error: the largest probability against the share of right answers.

    The mean of their distance over bins of equal width, by the rows in each.
    """
    best, right = shares.max(axis=1), shares.argmax(axis=1) == codes
    bins = np.minimum((best * n_bins).astype(int), n_bins - 1)
    parts = (np.flatnonzero(bins == b) for b in np.unique(bins))
    distances = [len(p) * abs(best[p].mean() - right[p].mean()) for p in parts]
    return float(sum(distances) / len(codes))


def taken_over(model: Any, truth: NDArray[Any]) -> dict[str, list[float]]:
    """For each precision the numbers of rows, sure ones, right ones among them, and expected."""
    right = model.transduction_ == truth
    found = {}
    for precision in PRECISIONS:
        rows = sure_rows(model, precision=precision)
        n = int(rows.sure.sum())
        expected = n * rows.precision if n else 0.0
        counts = [int((~model.labeled_).sum()), n, int(right[rows.sure].sum()), expected]
        found[str(precision)] = [float(count) for count in counts]
    return found
