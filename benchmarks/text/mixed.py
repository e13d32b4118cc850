"""A fixed synthetic table of texts and other columns.

A row has the first words of a docstring, and its class is the subpackage of the docstring. A
category, a number and a date are drawn around a value that depends on the class, and each of them
separates other classes. Their rates of missing values depend on the class, too. Neither the texts
nor the other columns suffice to separate all classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.text.documents import Texts, docstrings

NOTE = "note"
OTHERS = ("team", "hours", "opened")
_WORDS = 20  # of a docstring: with whole docstrings the other columns would hardly matter
_TEAMS = ("north", "south", "east", "west")
_STRAY = 0.3  # fraction of rows with a random category
_SPREAD = 0.6  # deviation of the number's logarithm, whose neighbouring values differ by 1
_DAYS, _JITTER = 120, 45.0  # distance of neighbouring values of the date, and its deviation
_GAPS = (0.02, 0.3)  # fractions of missing values in the two groups of classes


def mixed_table(most: int, texts: Texts | None = None) -> tuple[pd.DataFrame, Any]:
    """Generate a number of rows and their class codes.

    Parameters
    ----------
    most : int
    texts : Texts, default=None
        None for the docstrings of NumPy, SciPy and scikit-learn.
    """
    found = docstrings() if texts is None else texts
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(len(found.y))[:most])
    y, n = found.y[rows], len(rows)
    team = np.where(rng.random(n) < _STRAY, rng.integers(0, len(_TEAMS), n), y % len(_TEAMS))
    days = _DAYS * (y // 2 % 3) + rng.normal(scale=_JITTER, size=n)
    columns = {
        "team": np.array(_TEAMS, dtype=object)[team],
        "hours": np.exp(y // 4 + rng.normal(scale=_SPREAD, size=n)).round(2),
        "opened": pd.Timestamp("2024-01-01") + pd.to_timedelta(days.round(), unit="D"),
    }
    frame = pd.DataFrame({NOTE: [_first_words(found.texts[row]) for row in rows], **columns})
    for place, name in enumerate(OTHERS):  # missing values of each indicate other classes
        gap = rng.random(n) < np.take(_GAPS, (y >> place) & 1)
        frame[name] = frame[name].mask(gap)
    return frame, y


def _first_words(text: str) -> str:
    return " ".join(text.split()[:_WORDS])
