"""Measures of probabilities: log loss, calibration error, and confident rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.model_selection import sure_rows

PRECISIONS = (0.9, 0.95, 0.99)
_BINS = 15
_LEAST = 1e-15  # least probability, as 0 for a true class would make the mean infinite


def log_loss(shares: NDArray[Any], codes: NDArray[Any]) -> float:
    """Compute the mean negative logarithm of the probability of the true class."""
    mine = np.clip(shares[np.arange(len(codes)), codes], _LEAST, 1)
    return float(-np.log(mine).mean())


def calibration_error(shares: NDArray[Any], codes: NDArray[Any], n_bins: int = _BINS) -> float:
    """Compute the expected calibration error of the largest probability.

    It is the mean distance to the fraction of correct predictions over bins of equal width,
    weighted by the number of rows.
    """
    best, right = shares.max(axis=1), shares.argmax(axis=1) == codes
    bins = np.minimum((best * n_bins).astype(int), n_bins - 1)
    parts = (np.flatnonzero(bins == b) for b in np.unique(bins))
    distances = [len(p) * abs(best[p].mean() - right[p].mean()) for p in parts]
    return float(sum(distances) / len(codes))


def count_sure_rows(model: Any, truth: NDArray[Any]) -> dict[str, list[float]]:
    """Count, for each precision, rows, confident rows, and correct and expected ones among them."""
    right = model.transduction_ == truth
    found = {}
    for precision in PRECISIONS:
        rows = sure_rows(model, precision=precision)
        n = int(rows.sure.sum())
        expected = n * rows.precision if n else 0.0
        counts = [int((~model.labeled_).sum()), n, int(right[rows.sure].sum()), expected]
        found[str(precision)] = [float(count) for count in counts]
    return found
