"""Data sets: texts of installed packages, word counts of the papers, and a mixed table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.shared.data import sampled
from benchmarks.text.contenders import ON_TABLES, ON_TEXTS, ON_WORDS, Contender
from benchmarks.text.documents import docstrings, weighted
from benchmarks.text.mixed import NOTE, mixed_table


class Source(NamedTuple):
    """Data set with the methods that are run on it.

    Attributes
    ----------
    load : callable (most) -> (X, y)
        Returns word weights or a data frame, and class codes.
    contenders : mapping of str to Contender
    """

    load: Callable[[int], tuple[Any, Any]]
    contenders: Mapping[str, Contender] = ON_WORDS


def documents(most: int) -> tuple[Any, Any]:
    """Load docstrings as word weights, all of them or a fixed sample."""
    frame, y = texts(most)
    return weighted(frame[NOTE].to_list()), y


def texts(most: int) -> tuple[pd.DataFrame, Any]:
    """Load the same docstrings as a table of one column."""
    found = docstrings()
    rows = np.sort(np.random.default_rng(0).permutation(len(found.y))[:most])
    return pd.DataFrame({NOTE: [found.texts[row] for row in rows]}), found.y[rows]


# The counts of these sets are already weighted and normalised to unit length.
SOURCES: Mapping[str, Source] = {
    "documents": Source(documents),
    "pcmac": Source(partial(sampled, "pcmac")),
    "ssl_text": Source(partial(sampled, "ssl_text")),
    "texts": Source(texts, ON_TEXTS),
    "mixed": Source(mixed_table, ON_TABLES),
}
