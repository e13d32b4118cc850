"""Regression on several targets, with an estimator for each column of y."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import check_is_fitted

from lapwing._arrays import is_sparse
from lapwing._rows.base import PointsLike
from lapwing.classes.labels import as_targets
from lapwing.estimators.template import only_labeled

F = TypeVar("F", bound=Callable[..., Any])


def split_targets(y: Any) -> list[Any] | None:
    """Return the columns of several targets, in the types of y; None if y is one target."""
    if isinstance(y, (list, tuple)):
        # A list of rows. Ragged lists and lists of objects fail when they are read as one target.
        width = {len(row) if np.ndim(row) == 1 else 0 for row in y}
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


def of_each_target(method: F) -> F:
    """Decorate a method whose results for several targets are stacked along the last axis."""

    @wraps(method)
    def answer(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(self, "estimators_"):
            return method(self, *args, **kwargs)
        found = [getattr(one, method.__name__)(*args, **kwargs) for one in self.estimators_]
        if isinstance(found[0], tuple):
            return tuple(np.stack(parts, axis=-1) for parts in zip(*found, strict=True))
        return np.stack(found, axis=-1)

    return cast(F, answer)


class SeveralTargets(RegressorMixin):
    """Mixin of regressions on several targets, with a fitted estimator for each.

    Attributes
    ----------
    estimators_ : list of estimator
        An estimator for each column of y; only if there are several columns.
    """

    estimators_: list[Any]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_") or super().__sklearn_is_fitted__()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def __getattr__(self, name: str) -> Any:
        """Return attributes of `estimators_` that can be stacked; raise an error for the others."""
        each = vars(self).get("estimators_")
        if not each or not hasattr(each[0], name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}.")
        if name in ("labeled_", "transduction_"):
            return np.stack([getattr(one, name) for one in each], axis=-1)
        raise AttributeError(
            f"{name} differs between the {len(each)} targets: use model.estimators_[j].{name} "
            "for target j."
        )

    def score(self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Compute R^2 on the labelled rows, the mean over several targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, as for `predict`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets. Rows with a missing target (NaN, for example) are ignored, so that a search or
            cross-validation may hold out any rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            At most 1.

        Raises
        ------
        ValueError
            If no row is labelled, or y has another number of columns.
        """
        check_is_fitted(self)
        if not hasattr(self, "estimators_"):
            targets = as_targets(y)
            labeled = ~np.isnan(targets)
            X, sample_weight = only_labeled(labeled, X, sample_weight)
            return float(super().score(X, targets[labeled], sample_weight=sample_weight))
        columns = split_targets(y)
        if columns is None or len(columns) != len(self.estimators_):
            given = 1 if columns is None else len(columns)
            raise ValueError(
                f"y has {given} column{'s' * (given > 1)}, and the model was fitted to "
                f"{len(self.estimators_)} targets. Give a column for each."
            )
        known = [j for j, column in enumerate(columns) if not np.isnan(as_targets(column)).all()]
        scores = [
            self.estimators_[j].score(X, columns[j], sample_weight=sample_weight)
            for j in known or [0]  # whose score raises the error
        ]
        return float(np.mean(scores))

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
