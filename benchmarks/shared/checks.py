"""Expectations of a benchmark, and whether a run meets them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.stats import t

from benchmarks.shared.stats import Stat
from benchmarks.shared.tables import Table

TOO_FEW = "too few splits"


@dataclass(frozen=True)
class Check:
    """Check of one expectation.

    Attributes
    ----------
    what, measured, limit : str
        Cells of the table.
    passed : bool or None
        None if there were too few splits to decide.
    paper : str
        Result of the paper, if there is one.
    note : str
        Reason why it was missed, or explanation.
    """

    what: str
    measured: str
    limit: str
    passed: bool | None
    paper: str = "-"
    note: str = ""

    @classmethod
    def at_most(
        cls,
        what: str,
        value: float,
        limit: float,
        unit: str = "",
        digits: int = 2,
        *,
        paper: float | None = None,
        note: str = "",
    ) -> Self:
        """Compare a number, rounded as it is shown, with its upper limit."""
        shown = f"{value:.{digits}f}{unit}"
        known = "-" if paper is None else f"{paper:g}{unit}"
        passed = bool(round(value, digits) <= limit)
        return cls(what, shown, f"{limit:g}{unit}", passed, known, note)

    @classmethod
    def mean_at_most(
        cls,
        what: str,
        values: Sequence[float],
        limit: float,
        full: int,
        unit: str = " %",
        digits: int = 2,
        *,
        paper: float | Stat | None = None,
        note: str = "",
    ) -> Self:
        """Compare the mean over splits with its upper limit by `meets_limit`."""
        shown = Stat.of(values).show(digits) + unit
        printed = paper.show(digits) if isinstance(paper, Stat) else f"{paper}"
        known = "-" if paper is None else printed + unit
        passed = meets_limit(values, limit, full, digits)
        return cls(what, shown, f"{limit:g}{unit}", passed, known, note)

    @property
    def verdict(self) -> str:
        """Return the result in words."""
        if self.passed is None:
            return TOO_FEW
        return "pass" if self.passed else "MISS"


def meets_limit(values: Sequence[float], limit: float, full: int, digits: int = 2) -> bool | None:
    """Return whether the mean over a protocol's splits is at most a limit, given some splits.

    With all splits the printed mean is compared. With fewer, the mean over all splits has a 95 %
    confidence interval (Student's, with a correction for the fraction of splits), which must not
    contain the limit: two splits miss an expectation only if it is far away.

    Parameters
    ----------
    values : sequence of float
        Value of each split.
    limit : float
    full : int
        Number of splits of the protocol.
    digits : int
        Decimals of the printed mean.

    Returns
    -------
    bool or None
        None if there are too few splits to decide.
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
    """Return the table of expectations, with notes on missed ones below the table.

    If there were too few splits to decide, the table says so.
    """
    rows = [[c.what, c.measured, c.paper, c.limit, c.verdict, c.note] for c in checks]
    missed = [
        f"- {c.what}: {notes[c.what]}" for c in checks if c.passed is False and c.what in notes
    ]
    header = ["quantity", "measured", "paper", "limit", "result", "details"]
    return Table("Expected and measured", header, rows, missed)
