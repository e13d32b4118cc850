"""Check rows: rows drawn at random among those that the queue asks.

The queue asks hard rows, whose answers say nothing of how often the model errs on the others. So
one row in a few is drawn at random from all rows without a label, and the error is estimated from
these alone. Each of them is asked until it has a label, however it comes to it: leaving out those
that a user would rather not answer would bend the sample. Pure: nothing is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lapwing._label.history import NO_CODE
from lapwing._label.learner import Estimate

_SEED = 0
# Check rows before they are believed to be as right as the target wants: with fewer of them, none
# missed is what models with a fifth of wrong answers show most of the time.
_ENOUGH = 5


@dataclass(frozen=True, eq=False)
class Checks:
    """Rows that were drawn.

    Attributes
    ----------
    order : ndarray of int of shape (n,)
        In which rows are drawn.
    rows : tuple of int
        Those that were drawn so far.
    base : ndarray of int
        Rows whose labels the table had, where these count as drawn at random.
    """

    order: NDArray[np.intp]
    rows: tuple[int, ...]
    base: NDArray[np.intp]

    @classmethod
    def begin(cls, codes: NDArray[np.int32], *, random_labels: bool) -> Checks:
        """No row is drawn; the labels of the table count if they were drawn at random."""
        order = np.random.default_rng(_SEED).permutation(len(codes))
        base = np.flatnonzero(codes != NO_CODE) if random_labels else np.empty(0, dtype=np.intp)
        return cls(order, (), base)

    def pending(self, codes: NDArray[np.int32]) -> list[int]:
        """Rows that were drawn and have no label yet."""
        return [row for row in self.rows if codes[row] == NO_CODE]

    def answered(self, codes: NDArray[np.int32]) -> NDArray[np.intp]:
        """Rows that were drawn and have a label."""
        rows = np.concatenate([self.base, np.array(self.rows, dtype=np.intp)])
        return rows[codes[rows] != NO_CODE]

    def drawn(self, codes: NDArray[np.int32], k: int) -> tuple[int, ...]:
        """The next k rows to draw; fewer where there are no more without a label."""
        free = codes == NO_CODE
        free[list(self.rows)] = False
        return tuple(self.order[free[self.order]][:k].tolist())

    def with_rows(self, rows: Sequence[int]) -> Checks:
        """The same with more rows that are drawn.

        Raises
        ------
        ValueError
            If one is none, or was drawn before.
        """
        known = (*self.rows, *rows)
        if len(set(known)) < len(known) or not set(rows) <= set(range(len(self.order))):
            raise ValueError(rows)
        return replace(self, rows=known)


def check_places(n_asked: int, k: int, one_in: int) -> NDArray[np.bool_]:
    """Which of the next k rows to ask are check rows: one of each so many, in a random place."""
    numbers = np.arange(n_asked, n_asked + k)
    blocks = numbers // one_in
    draws = {b: np.random.default_rng([_SEED, b]).integers(one_in) for b in blocks.tolist()}
    return np.array([n % one_in == draws[n // one_in] for n in numbers.tolist()], dtype=bool)


def mixed(suggested: Sequence[int], checks: Sequence[int], places: NDArray[np.bool_]) -> list[int]:
    """Suggested rows, with check rows in their places, each row once."""
    others = iter([row for row in suggested if row not in set(checks)])
    own = iter(checks)
    rows = [next(own if place else others, None) for place in places.tolist()]
    return [row for row in rows if row is not None]


def looks_done(target: float | None, estimate: Estimate | None) -> bool:
    """Whether the check rows so far are as right as the target wants.

    Then the quickest way to know is to ask check rows alone.
    """
    return (
        target is not None
        and estimate is not None
        and estimate.n_rows >= _ENOUGH
        and estimate.n_wrong <= target * estimate.n_rows
    )
