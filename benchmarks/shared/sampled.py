"""Data sets of the studies with few labels, and their samples of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.shared.archives import read_set

SETS = (
    *("g50c", "uspst", "pcmac", "coil20", "ssl_digit1"),
    *("ssl_usps", "ssl_coil2", "ssl_g241c", "ssl_g241n", "ssl_text"),
)


def sampled(name: str, most: int) -> tuple[Any, Any]:
    """Return points and classes of a set, or of a fixed sample of at most `most` points."""
    found = read_set(name)
    rows = np.sort(np.random.default_rng(0).permutation(len(found.y))[:most])
    return found.X[rows].astype(np.float64), found.y[rows]
