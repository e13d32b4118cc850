"""Expectations of a benchmark, and whether a run met them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.shared.tables import Table


@dataclass(frozen=True)
class Check:
    """One expectation.

    Attributes
    ----------
    what, measured, limit : str
        For the table.
    passed : bool
    paper : str
        The paper's own figure, where it has one.
    note : str
        Why it was missed, or how to read it.
    """

    what: str
    measured: str
    limit: str
    passed: bool
    paper: str = "-"
    note: str = ""


def limits_table(checks: Sequence[Check], notes: Mapping[str, str]) -> Table:
    """Measured against expected; notes of missed expectations are printed below the table."""
    rows = [
        [c.what, c.measured, c.paper, c.limit, "pass" if c.passed else "MISS", c.note]
        for c in checks
    ]
    missed = [f"- {c.what}: {notes[c.what]}" for c in checks if not c.passed and c.what in notes]
    header = ["what", "measured", "paper", "at most", "", "details"]
    return Table("Expected and measured", header, rows, missed)
