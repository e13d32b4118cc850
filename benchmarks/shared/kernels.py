"""Kernels of the papers in scikit-learn's parameters."""

from __future__ import annotations

from typing import Any


def gaussian(sigma: float) -> dict[str, Any]:
    """Return the parameters of the kernel exp(-||x - z||^2 / (2 sigma^2)).

    The square is missing in Section 6.3 of the LapSVM paper (errata L26).
    """
    return {"kernel": "rbf", "gamma": 1 / (2 * sigma**2)}
