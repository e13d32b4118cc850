"""What the displays read of labels and estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from lapwing.classes.column import plain, read_column
from lapwing.classes.markers import unlabeled_among

_LONGEST = 34


def codes_of(y: Any, n: int, unlabeled: Any, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Places of labels among the classes, -1 where there is none.

    Raises
    ------
    ValueError
        If there are not n of them, or one is no class.
    """
    labels = read_column(y)
    check_consistent_length(np.empty(n), labels)
    hidden = unlabeled_among(labels, unlabeled, classes)
    codes = np.full(n, -1, dtype=np.intp)
    for k, c in enumerate(classes):
        codes[~hidden & (labels == c)] = k
    strange = labels[~hidden & (codes < 0)]
    if len(strange):
        first = plain(strange[0])
        raise ValueError(
            f"y holds the label {first!r}, which is none of the classes "
            f"{', '.join(map(repr, classes.tolist()))}. If it marks rows without a label, pass "
            f"unlabeled={first!r}."
        )
    return codes


def last_step(estimator: Any) -> Any:
    """The fitted estimator itself, of a pipeline the last one."""
    check_is_fitted(estimator)
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def word_of(value: Any) -> str:
    """A parameter's value as an axis has room for it."""
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        return f"{value:.3g}"
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
