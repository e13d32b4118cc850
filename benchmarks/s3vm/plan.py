"""Options of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.data import Data
from benchmarks.shared.guide import Datasets


class UnavailableError(Exception):
    """The data set of a section is not wanted, or missing, which is reported."""


QUICK_POINTS = 150  # unlabelled points of a problem in a quick run


@dataclass(frozen=True)
class Plan:
    """Options of a run.

    Attributes
    ----------
    quick : bool
        Whether to use small problems that run within a minute, whose errors are meaningless.
    sets : frozenset of str or None
        Names of the only data sets to use.
    splits : int or None
        Maximum number of splits, partitions or draws; None is the papers' number.
    seed : int
    datasets : Datasets
        Data, with a record of missing archives.
    """

    quick: bool = False
    sets: frozenset[str] | None = None
    splits: int | None = None
    seed: int = 0
    datasets: Datasets = field(default_factory=Datasets)

    def wants(self, name: str) -> bool:
        """Return whether a data set is to be used."""
        return self.sets is None or name in self.sets

    def n_splits(self, usual: int) -> int:
        """Return the number of repetitions, given that of the paper."""
        if self.quick:
            return 1
        return usual if self.splits is None else min(usual, self.splits)

    def thin(self, rows: NDArray[np.int64], labeled: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of a problem; in a quick run the labelled ones and some others."""
        if not self.quick:
            return rows
        step = -(-len(rows) // QUICK_POINTS)
        return rows[np.isin(rows, labeled) | (np.arange(len(rows)) % step == 0)]

    def require(self, name: str) -> None:
        """Raise UnavailableError for a data set that is not wanted."""
        if not self.wants(name):
            raise UnavailableError(name)

    def load(self, name: str, load: Callable[[], Data]) -> Data:
        """Load a data set; raise UnavailableError if it is not wanted or missing."""
        self.require(name)
        data = self.datasets.load(name, load)
        if data is None:
            raise UnavailableError(name)
        return data

    def rng(self, *number: int) -> np.random.Generator:
        """Return the random stream of a draw, or of the run."""
        return np.random.default_rng([self.seed, *number] if number else self.seed)

    def draws(self, usual: int, *more: int) -> list[np.random.Generator]:
        """Return the random streams of the repetitions, given their number in the paper."""
        return [self.rng(number, *more) for number in range(self.n_splits(usual))]
