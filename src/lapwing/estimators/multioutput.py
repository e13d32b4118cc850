"""Regression on several targets, with an estimator for each column of y."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import Tags, _safe_indexing

from lapwing._arrays import Array, is_sparse
from lapwing.classes.labels import as_targets


def split_targets(y: Any) -> list[Any] | None:
    """Return the columns of several targets, in the types of y; None if y is one target."""
    if isinstance(y, (list, tuple)):
        # A list of lists. Ragged lists and lists of objects fail when they are read as one target.
        width = {len(row) if isinstance(row, (list, tuple)) else 0 for row in y}
        if len(width) != 1 or max(width) < 2:
            return None
        return [[row[j] for row in y] for j in range(max(width))]
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) != 2 or shape[1] < 2 or is_sparse(y):
        return None
    return [_safe_indexing(y, j, axis=1) for j in range(shape[1])]


@contextmanager
def naming_target(j: int, column: Any) -> Iterator[None]:
    """Name the column of y in errors about one of several targets."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"Column {getattr(column, 'name', j)!r} of y: {error}") from error


class SeveralTargets(RegressorMixin):
    """Mixin of regressions on several targets, with a fitted estimator for each.

    Attributes
    ----------
    estimators_ : list of estimator
        An estimator for each column of y; only where there are several.
    """

    estimators_: list[Any]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_") or super().__sklearn_is_fitted__()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _of_each(self, answer: Callable[[Any], Any]) -> Array | None:
        """Stack the answers of all estimators along the last axis; None if there is one target."""
        if not hasattr(self, "estimators_"):
            return None
        return np.stack([answer(one) for one in self.estimators_], axis=-1)

    def _mean_score(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> float | None:
        """Average R^2 over the targets with a known value; None if there is one target.

        Raises
        ------
        ValueError
            If y has another number of columns, or no known value.
        """
        if not hasattr(self, "estimators_"):
            return None
        columns = split_targets(y)
        if columns is None or len(columns) != len(self.estimators_):
            given = 1 if columns is None else len(columns)
            raise ValueError(
                f"y has {given} column{'s' * (given > 1)}, and the model was fitted to "
                f"{len(self.estimators_)} targets. Give a column for each."
            )
        known = [j for j, column in enumerate(columns) if not np.isnan(as_targets(column)).all()]
        return float(
            np.mean(
                [
                    self.estimators_[j].score(X, columns[j], sample_weight=sample_weight)
                    for j in known or [0]  # whose score raises the error
                ]
            )
        )

    def _refuse_several(self, asking: str) -> None:
        """Raise an error for methods that need a single target.

        Raises
        ------
        ValueError
            If there are several.
        """
        if hasattr(self, "estimators_"):
            raise ValueError(
                f"{asking} is for a single target, and this model was fitted to "
                f"{len(self.estimators_)}. Use model.estimators_[j] for target j."
            )


def keep_several(model: Any, estimators: Sequence[Any]) -> None:
    """Set the fitted attributes of a model of several targets from its estimators."""
    model.estimators_ = list(estimators)
    model.labeled_ = np.stack([one.labeled_ for one in estimators], axis=-1)
    model.transduction_ = np.stack([one.transduction_ for one in estimators], axis=-1)
