"""Distinctive words and typical texts of each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline

from lapwing._arrays import SparseMatrix

N_WORDS, N_TYPICAL = 8, 3
_MIN_SHARE = 0.1  # fraction of the best score; the norms of texts give common words small scores


class Words(NamedTuple):
    """Columns of the points that count words.

    Attributes
    ----------
    columns : ndarray of int
        Indices of the columns.
    names : ndarray of str
        The word of each column.
    texts : list of str
        Columns of the table with the texts; empty if all columns of the points are words.
    """

    columns: NDArray[np.intp]
    names: NDArray[Any]
    texts: list[str]


def words_of(pipeline: Pipeline, n_columns: int) -> Words | None:
    """Find the word counts among the columns that a pipeline makes.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted; its last step is the estimator.
    n_columns : int
        Number of columns of the transformed points.

    Returns
    -------
    Words or None
        None if no step counts words, or later steps transform the counts.
    """
    found = None
    for _, step in pipeline.steps[:-1]:
        inner = getattr(step, "steps_", None)  # of TableEncoder
        if isinstance(inner, Pipeline):
            step = inner[-1]
        if isinstance(step, CountVectorizer):
            names = step.get_feature_names_out()
            found = Words(np.arange(len(names)), names, []), len(names)
        elif isinstance(step, ColumnTransformer):
            found = _in_columns(step)
    return found[0] if found is not None and found[1] == n_columns else None


def _in_columns(transformer: ColumnTransformer) -> tuple[Words, int] | None:
    places = transformer.output_indices_
    parts = [
        (np.arange(places[name].start, places[name].stop), part.get_feature_names_out(), str(text))
        for name, part, text in transformer.transformers_
        if isinstance(part, CountVectorizer)
    ]
    if not parts:
        return None
    columns, names, texts = zip(*parts, strict=True)
    words = Words(np.concatenate(columns), np.concatenate(names), list(texts))
    return words, max(place.stop for place in places.values())


class ClassWords(NamedTuple):
    """Words and texts that describe a class.

    Attributes
    ----------
    words : list of str
        Distinctive words, the most distinctive first.
    rows : list of int
        Typical rows, the most typical first.
    """

    words: list[str]
    rows: list[int]


def class_words(
    X: SparseMatrix, words: Words, codes: NDArray[np.intp], wanted: Sequence[int]
) -> list[ClassWords]:
    """Find the distinctive words and the typical rows of some classes.

    The score of a word is the difference of its mean weight in the class and in all rows; typical
    rows have the largest cosine with these scores.

    Parameters
    ----------
    X : CSR of shape (n, d)
        Points.
    words : Words
    codes : ndarray of int of shape (n,)
        The class of each row.
    wanted : sequence of int
        The classes to describe.
    """
    counts = X[:, words.columns]
    mean = _mean(counts)
    norms = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    found = []
    for code in wanted:
        rows = np.flatnonzero(codes == code)
        if not rows.size:
            found.append(ClassWords([], []))
            continue
        own = _mean(counts[rows]) - mean
        nearness = counts[rows] @ own / np.where(norms[rows] > 0, norms[rows], 1.0)
        typical = rows[np.argsort(-nearness, kind="stable")[:N_TYPICAL]]
        found.append(ClassWords(_distinct_words(words.names, own), typical.tolist()))
    return found


def row_words(
    counts: sp.csr_array, words: Words, codes: NDArray[np.intp], rows: Sequence[int]
) -> list[list[str]]:
    """Find the words of some rows that contribute most to the class of each.

    Parameters
    ----------
    counts : CSR of shape (n, n_words)
        The columns of the points that are words.
    words, codes
        As in `class_words`.
    rows : sequence of int
        Indices of the rows.
    """
    mean = _mean(counts)
    own = {code: _mean(counts[codes == code]) - mean for code in set(codes[list(rows)].tolist())}
    found = []
    for row in rows:
        line = counts[[row]]
        share = line.data * own[int(codes[row])][line.indices]
        best = np.argsort(-share, kind="stable")[:N_WORDS]
        found.append([str(words.names[line.indices[k]]) for k in best if share[k] > 0])
    return found


def _mean(counts: sp.csr_array) -> NDArray[np.float64]:
    return np.asarray(counts.mean(axis=0)).ravel()


def _distinct_words(names: NDArray[Any], scores: NDArray[np.float64]) -> list[str]:
    """Return the words and word pairs with the largest scores, without repeated words."""
    found: list[str] = []
    seen: set[str] = set()
    for place in np.argsort(-scores, kind="stable")[: 8 * N_WORDS]:
        parts = set(str(names[place]).split())
        if scores[place] <= _MIN_SHARE * scores.max() or len(found) == N_WORDS:
            break
        if not parts & seen:
            found.append(str(names[place]))
        seen |= parts
    return found
