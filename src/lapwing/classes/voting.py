"""One-vs-one: the pairs of classes, and what their machines say together.

The machine of a pair (a, b), a < b, is positive for b. Its decision value, cut off at the margins
-1 and +1, is its vote: beyond the margin a machine is sure and no surer. The score of a class is
the mean vote for it over the pairs that it is in, between -1 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from lapwing._arrays import Array

__all__ = ["VotedFunction", "class_pairs", "elect", "posteriors", "vote_matrix", "votes"]


def elect(scores: Array) -> Array:
    """Class codes (n,) from scores (n, c): the sign of one column, the first argmax of several.

    A score of zero elects the positive class (errata X5).
    """
    return (scores[:, 0] >= 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)


def class_pairs(n_classes: int) -> Array:
    """All pairs (a, b) with a < b, of shape (n_pairs, 2), in the order of their columns."""
    return np.array(list(combinations(range(n_classes), 2)), dtype=np.intp)


def vote_matrix(n_classes: int) -> Array:
    """Matrix (n_pairs, n_classes) that turns votes into scores."""
    pairs = class_pairs(n_classes)
    matrix = np.zeros((len(pairs), n_classes))
    each = np.arange(len(pairs))
    matrix[each, pairs[:, 0]] = -1.0
    matrix[each, pairs[:, 1]] = 1.0
    return matrix / (n_classes - 1)


def votes(values: Array, n_classes: int) -> Array:
    """Scores (n, n_classes) from the decision values (n, n_pairs) of all pairs."""
    return np.asarray(np.clip(values, -1, 1) @ vote_matrix(n_classes).astype(values.dtype))


def posteriors(scores: Array, sharpness: float) -> Array:
    """Shares of the classes at every point, summing to 1: softmax of sharpness times the scores."""
    shares = np.exp(sharpness * (scores - scores.max(axis=1, keepdims=True)))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class VotedFunction:
    """Scores of the classes from the machines of the pairs.

    Attributes
    ----------
    pairs : function from points to decision values (n, n_pairs)
    n_classes : int
    """

    pairs: Callable[[Any], Array]
    n_classes: int

    def __call__(self, X: Any) -> Array:
        return votes(self.pairs(X), self.n_classes)
