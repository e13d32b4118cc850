"""The sets: texts of packages that are installed, and word counts of the papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.shared.sampled import sampled
from benchmarks.text.documents import docstrings, weighted

Source = Callable[[int], tuple[Any, Any]]


def documents(most: int) -> tuple[Any, Any]:
    """Docstrings as weighted words: all, or always the same sample of so many."""
    found = docstrings()
    rows = np.sort(np.random.default_rng(0).permutation(len(found.y))[:most])
    return weighted([found.texts[row] for row in rows]), found.y[rows]


# The counts come weighted, and in rows of unit length.
SOURCES: Mapping[str, Source] = {
    "documents": documents,
    "pcmac": partial(sampled, "pcmac"),
    "ssl_text": partial(sampled, "ssl_text"),
}
