"""Expectations of a benchmark, and whether a run met them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from benchmarks.shared.tables import Table

TOO_FEW = "too few splits"


@dataclass(frozen=True)
class Check:
    """One expectation.

    Attributes
    ----------
    what, measured, limit : str
        For the table.
    passed : bool or None
        None where there were too few splits to tell.
    paper : str
        The paper's own figure, where it has one.
    note : str
        Why it was missed, or how to read it.
    """

    what: str
    measured: str
    limit: str
    passed: bool | None
    paper: str = "-"
    note: str = ""

    @property
    def verdict(self) -> str:
        """In words."""
        if self.passed is None:
            return TOO_FEW
        return "pass" if self.passed else "MISS"


def judged(values: Sequence[float], limit: float, full: int, digits: int = 2) -> bool | None:
    """Whether the mean over a protocol's splits is at most a limit, from the splits that ran.

    With all of them their mean decides, as it is printed. With fewer, the mean over all has a
    confidence interval of 95 % (Student's, its width corrected for the share of splits that ran),
    which must not hold the limit: two splits miss an expectation only where it is far away.

    Parameters
    ----------
    values : sequence of float
        One a split.
    limit : float
    full : int
        Number of splits of the protocol.
    digits : int
        Of the printed mean.

    Returns
    -------
    bool or None
        None where there are too few splits to tell.
    """
    n = len(values)
    mean = float(np.mean(values))
    if n >= full:
        return round(mean, digits) <= limit
    if n < 2:
        return None
    error = float(np.std(values, ddof=1)) * np.sqrt(1 / n - 1 / full)
    half = float(t.ppf(0.975, n - 1)) * error
    if round(mean + half, digits) <= limit:
        return True
    return False if round(mean - half, digits) > limit else None


def limits_table(checks: Sequence[Check], notes: Mapping[str, str]) -> Table:
    """Measured against expected; notes of missed expectations are printed below the table.

    Where there were too few splits to tell, the table says that instead of a miss.
    """
    rows = [[c.what, c.measured, c.paper, c.limit, c.verdict, c.note] for c in checks]
    missed = [
        f"- {c.what}: {notes[c.what]}" for c in checks if c.passed is False and c.what in notes
    ]
    header = ["what", "measured", "paper", "at most", "", "details"]
    return Table("Expected and measured", header, rows, missed)
