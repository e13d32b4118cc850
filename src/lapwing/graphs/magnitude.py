"""Check for points whose squared distances leave the range of float64."""

from __future__ import annotations

from lapwing._rows import PointData
from lapwing.linalg import largest_value

_LARGEST = 1e151  # of values and of their inverses: sums of squares of a million points are finite


def check_magnitude(X: PointData) -> None:
    """Refuse points whose squares overflow or underflow.

    Parameters
    ----------
    X : ndarray, csr or Rows of shape (n, n_features)

    Raises
    ------
    ValueError
        If the largest value is beyond 1e151, or below 1e-151 and not 0.
    """
    largest = largest_value(X)
    if not largest < _LARGEST or 0 < largest < 1 / _LARGEST:
        raise ValueError(
            f"X holds values up to {largest:.3g}, whose squares overflow or underflow. Scale the "
            "features, e.g. by StandardScaler."
        )
