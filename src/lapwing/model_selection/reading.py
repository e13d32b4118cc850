"""y as splitters see it: which rows have a label, and which of those share a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.column import missing_mask, read_column, settle
from lapwing.classes.labels import as_targets, code_classes
from lapwing.classes.markers import is_auto, unlabeled_mask


@dataclass(frozen=True)
class Labels:
    """The labels of a column; positions below are places in `rows`.

    Attributes
    ----------
    rows : ndarray of int of shape (n_labeled,)
        The labelled rows, ascending.
    unlabeled : ndarray of int of shape (n_unlabeled,)
        All other rows, ascending.
    classes : ndarray of shape (n_classes,) or None
        Sorted labels; None where they are targets of a regression.
    codes : ndarray of int of shape (n_labeled,) or None
        Positions in `classes`.
    """

    rows: Array
    unlabeled: Array
    classes: Array | None = None
    codes: Array | None = None

    @property
    def alone(self) -> Array:
        """Mask of the positions whose class has no other label: it would be lost without them."""
        if self.codes is None:
            return np.full(len(self.rows), len(self.rows) == 1)
        return np.asarray(np.bincount(self.codes)[self.codes] == 1)

    def in_turn(self, positions: Array) -> Array:
        """Rows of some positions: one of each class comes before a second one of any."""
        if self.codes is None:
            return self.rows[positions]
        codes = self.codes[positions]
        order = np.argsort(codes, kind="stable")
        counts = np.bincount(codes)
        turn = np.empty(len(codes), dtype=np.intp)
        turn[order] = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.rows[positions[np.argsort(turn, kind="stable")]]


def read_labels(y: Any, marker: Any, regression: bool | str) -> Labels:
    """Read y as the estimators do.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    marker : 'auto', number, str, None or NaN
        What marks unlabelled rows, see `lapwing.classes.markers`.
    regression : 'auto' or bool
        Whether y holds targets of a regression. 'auto': if it holds numbers with fractions, which
        no class has.

    Raises
    ------
    ValueError
        No label, one class only, a marker that cannot be meant, values that are neither classes nor
        numbers.
    """
    if y is None:
        raise ValueError("y is needed to split: it says which rows have a label.")
    if not (regression is True or regression is False or regression == "auto"):
        raise ValueError(f"regression={regression!r} must be True, False or 'auto'.")
    column = read_column(y)
    if regression == "auto":
        regression = _has_fractions(column)
    if not regression:
        coded = code_classes(y, marker)
        labeled = np.flatnonzero(coded.labeled)
        return Labels(labeled, np.flatnonzero(~coded.labeled), coded.classes, coded.codes[labeled])
    # A regression does not take -1 for a marker by itself: it is as good a target as any.
    mask = unlabeled_mask(column, None if is_auto(marker) else marker)
    known = ~mask & ~missing_mask(column)
    as_targets(column[known])
    if not known.any():
        raise ValueError(
            f"y holds no label: all {len(column)} entries mark unlabelled rows. Give at least two "
            "targets, one to hold out and one to learn from."
        )
    return Labels(np.flatnonzero(known), np.flatnonzero(~known))


def _has_fractions(column: Array) -> bool:
    """Whether all known values are numbers, and some are not whole."""
    values = settle(column[~missing_mask(column)])
    return values.dtype.kind == "f" and bool((values != np.floor(values)).any())
