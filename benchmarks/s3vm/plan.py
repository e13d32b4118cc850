"""What a run was asked for, and what a part of it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.checks import Check
from benchmarks.shared.data import Data
from benchmarks.shared.guide import Shelf
from benchmarks.shared.tables import Table

QUICK_POINTS = 150  # of a problem in a quick run, labelled ones not counted


@dataclass(frozen=True)
class Plan:
    """Options of a run.

    Attributes
    ----------
    quick : bool
        So little of everything that all of it runs within a minute; says nothing about errors.
    sets : frozenset of str or None
        Names of the only data sets to use.
    splits : int or None
        At most so many splits, partitions or draws; None is the papers' number.
    seed : int
    shelf : Shelf
        The data, and what turned out to be missing.
    """

    quick: bool = False
    sets: frozenset[str] | None = None
    splits: int | None = None
    seed: int = 0
    shelf: Shelf = field(default_factory=Shelf)

    def wants(self, name: str) -> bool:
        """Whether a data set is to be used."""
        return self.sets is None or name in self.sets

    def n_splits(self, usual: int) -> int:
        """Number of repetitions where the paper has `usual`."""
        if self.quick:
            return 1
        return usual if self.splits is None else min(usual, self.splits)

    def thin(self, rows: NDArray[np.int64], labeled: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of a problem; in a quick run the labelled ones and some of the others."""
        if not self.quick:
            return rows
        step = -(-len(rows) // QUICK_POINTS)
        return rows[np.isin(rows, labeled) | (np.arange(len(rows)) % step == 0)]

    def load(self, name: str, load: Callable[[], Data]) -> Data | None:
        """A data set; None if it is not wanted or, which is told, not at hand."""
        return self.shelf.take(name, load) if self.wants(name) else None


@dataclass(frozen=True)
class Part:
    """Results of one part of a run.

    Attributes
    ----------
    tables : sequence of Table
    checks : sequence of Check
        Expectations that the part decides.
    raw : object
        Everything measured, for JSON.
    drawings : sequence of functions
        Each draws a figure into a folder and returns its path.
    """

    tables: Sequence[Table]
    checks: Sequence[Check] = ()
    raw: Any = None
    drawings: Sequence[Callable[[Path], Path]] = field(default_factory=tuple)
