"""Decoding of decision values to classes, for one-vs-rest columns and for pairs.

Two classes have one column of scores, positive for the second class; more classes have a column
each. Only this module depends on it. One-vs-one has one column per pair of classes. The machine of
a pair (a, b), a < b, is positive for b, and its vote is its decision value clipped to the margins
-1 and +1. The score of a class is the mean vote for it over its pairs, between -1 and 1.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from lapwing._arrays import Array


def n_columns(n_classes: int, *, paired: bool = False) -> int:
    """Return the number of columns: one for two classes, otherwise one for each class or pair."""
    if n_classes == 2:
        return 1
    return n_classes * (n_classes - 1) // 2 if paired else n_classes


def coded_columns(codes: Array, n_classes: int) -> Array:
    """Code classes as targets -1 and 1, in one column each, or one for two classes (second: 1)."""
    if n_columns(n_classes) == 1:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


def predict_codes(scores: Array) -> Array:
    """Decode scores (n, c) to class codes (n,): the sign of one column, or the first argmax.

    A score of zero gives the positive class (errata X5).
    """
    return (scores[:, 0] >= 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)


def enforce_codes(values: Array, codes: Array) -> Array:
    """Increase values (n, c) that do not decode to the given codes by one unit in the last place.

    This must be the last step, as any further arithmetic may round it away.
    """
    found = values.copy()
    behind = np.flatnonzero(predict_codes(values) != codes)
    mine, dtype = codes[behind], values.dtype
    if values.shape[1] == 1:
        found[behind, 0] = np.where(mine == 1, 1, -1) * np.finfo(dtype).eps
    else:
        found[behind, mine] = np.nextafter(values[behind].max(axis=1), dtype.type(np.inf))
    return found


def decision_values(shares: Array, codes: Array, dtype: np.dtype[Any]) -> Array:
    """Scale class shares in [0, 1] to decision values in [-1, 1] that decode to the given codes."""
    values = 2 * shares - 1 if shares.shape[1] > 2 else shares[:, 1:] - shares[:, :1]
    # The codes come from scores, which have more digits than the shares.
    return enforce_codes(values.astype(dtype, copy=False), codes)


def of_each_class(scores: Array) -> Array:
    """Return a column for each class; a single column becomes its negative and itself."""
    return np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores


def as_decisions(scores: Array) -> Array:
    """Return scores in scikit-learn's shape, a vector for two classes."""
    return scores[:, 0] if scores.shape[1] == 1 else scores


def as_columns(decisions: Array) -> Array:
    """Undo `as_decisions`."""
    return decisions[:, None] if decisions.ndim == 1 else decisions


def class_pairs(n_classes: int) -> Array:
    """Return all pairs (a, b) with a < b, of shape (n_pairs, 2), in the order of their columns."""
    return np.array(list(combinations(range(n_classes), 2)), dtype=np.intp)


def vote_matrix(n_classes: int) -> Array:
    """Return the matrix (n_pairs, n_classes) that maps votes to scores."""
    first, second = np.eye(n_classes)[class_pairs(n_classes).T]
    return np.asarray((second - first) / (n_classes - 1))


def votes(values: Array, n_classes: int) -> Array:
    """Compute scores (n, n_classes) from the decision values (n, n_pairs) of all pairs."""
    return np.asarray(np.clip(values, -1, 1) @ vote_matrix(n_classes).astype(values.dtype))


def posteriors(scores: Array, sharpness: float) -> Array:
    """Compute the softmax of sharpness times the scores."""
    shares = np.exp(sharpness * (scores - scores.max(axis=1, keepdims=True)))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
