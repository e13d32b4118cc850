"""What estimators of all families are asked for, in one form: one column a function."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

Array = np.ndarray[Any, Any]


def scores(estimator: Any, X: Any) -> Array:
    """The fitted functions at points, one column each."""
    values = estimator.decision_function(X) if is_classifier(estimator) else estimator.predict(X)
    return values[:, None] if values.ndim == 1 else values  # type: ignore[no-any-return]


def labeled_rows(y: Array) -> Array:
    """Where y has no marker: -1, or NaN among targets of a regression."""
    return ~np.isnan(y) if y.dtype.kind == "f" else y != -1


def coded_targets(estimator: Any, y: Array) -> Array:
    """Targets at the labelled rows, one column a function, positive for the class of the column."""
    known = y[labeled_rows(y)]
    if not is_classifier(estimator):
        return known[:, None]
    classes = estimator.classes_[1:] if len(estimator.classes_) == 2 else estimator.classes_
    return np.where(known[:, None] == classes, 1.0, -1.0)
