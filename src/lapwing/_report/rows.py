"""Figures of the rows: class volumes, certainty, the twin, the truth."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from lapwing._arrays import is_sparse
from lapwing._report.text import clean, label_text

CLASSES_SHOWN = 40
_MATRIX_CLASSES = 20

_LONGEST = 60


@dataclass(frozen=True)
class ClassRows:
    """Classes of n rows as codes into `names`; -1 is unknown.

    Attributes
    ----------
    names : list of str
        The c classes of the fit, then those that only the truth knows.
    n_classes : int
        c.
    ids : ndarray of shape (n,)
        What the user calls the rows.
    labeled : ndarray of bool of shape (n,)
        Which rows had a label.
    given, predicted : ndarray of int of shape (n,)
        The labels and the answers.
    second : ndarray of int of shape (n,)
        The class of the second best score.
    margin : ndarray of shape (n,)
        How far the best score is ahead of it.
    sure : ndarray of bool of shape (n,)
        Which answers are sure; the others are to be checked. A labelled row is neither.
    chance : ndarray of shape (n,) or None
        How probable the answers are.
    twin, truth : ndarray of int of shape (n,) or None
        The supervised twin's answers and the true classes, where there are any.
    """

    names: list[str]
    n_classes: int
    ids: NDArray[Any]
    labeled: NDArray[np.bool_]
    given: NDArray[np.intp]
    predicted: NDArray[np.intp]
    second: NDArray[np.intp]
    margin: NDArray[np.float64]
    sure: NDArray[np.bool_]
    chance: NDArray[np.float64] | None
    twin: NDArray[np.intp] | None
    truth: NDArray[np.intp] | None

    @classmethod
    def read(
        cls,
        predictions: Any,
        y: Any,
        twin: Any = None,
        truth: Any = None,
    ) -> ClassRows:
        """Code the labels, predictions, the twin's answers and the truth of a table's rows."""
        names = [label_text(c) for c in predictions.classes]
        n_classes = len(names)
        code = {name: k for k, name in enumerate(names)}
        labeled = np.asarray(predictions.was_labeled, dtype=bool)
        true = None
        if truth is not None:
            texts = [label_text(v) for v in truth]
            for name in sorted(set(texts) - set(code) - {""}):
                code[name] = len(names)
                names.append(name)
            true = _codes(texts, code)
        order = np.argsort(np.asarray(predictions.scores), axis=1, kind="stable")
        margin = np.asarray(predictions.margin, dtype=np.float64)
        sure = np.zeros(margin.size, dtype=bool) if predictions.sure is None else predictions.sure
        return cls(
            names,
            n_classes,
            np.asarray(predictions.ids),
            labeled,
            np.where(labeled, _codes(map(label_text, y), code), -1),
            _codes(map(label_text, predictions.label), code),
            order[:, -2],
            margin,
            sure & ~labeled,
            predictions.probability,
            None if twin is None else _codes(map(label_text, twin), code),
            true,
        )

    @property
    def unsure(self) -> NDArray[np.bool_]:
        """Which answers are to be checked."""
        return ~self.labeled & ~self.sure

    def least_certain(self, n_rows: int) -> NDArray[np.intp]:
        """Unlabelled rows of least margin, the least certain first."""
        free = np.flatnonzero(~self.labeled)
        return free[np.argsort(self.margin[free], kind="stable")][:n_rows]


def _codes(texts: Any, code: dict[str, int]) -> NDArray[np.intp]:
    return np.array([code.get(text, -1) for text in texts], dtype=np.intp)


def volumes(rows: ClassRows) -> dict[str, Any]:
    """Count each class among the labels, the predictions of all rows, and the truth."""
    c, n = len(rows.names), len(rows.predicted)
    labels = np.bincount(rows.given[rows.labeled], minlength=c)
    answers = np.bincount(rows.predicted, minlength=c)
    free = np.bincount(rows.predicted[~rows.labeled], minlength=c)
    sure = np.bincount(rows.predicted[rows.sure], minlength=c)
    true = None
    if rows.truth is not None and (rows.truth >= 0).any():
        true = np.bincount(rows.truth[rows.truth >= 0], minlength=c)
    listed = []
    shown = np.sort(np.argsort(-(answers + labels), kind="stable")[:CLASSES_SHOWN])
    for k in shown:
        mine = (rows.predicted == k) & ~rows.labeled
        listed.append(
            {
                "name": rows.names[k],
                "code": int(k),
                "labels": int(labels[k]),
                "label_share": float(labels[k] / max(1, labels.sum())),
                "rows": int(answers[k]),
                "row_share": float(answers[k] / n),
                "unlabeled": int(free[k]),
                "sure": int(sure[k]),
                "unsure": int(free[k] - sure[k]),
                "margin": float(np.median(rows.margin[mine])) if mine.any() else None,
                "truth_share": None if true is None else float(true[k] / true.sum()),
            }
        )
    largest = max(max(c["label_share"], c["row_share"]) for c in listed)
    return {
        "classes": listed,
        "more": c - len(listed),
        "largest": largest,
        "has_truth": true is not None,
        "n_sure": int(rows.sure.sum()),
        "n_unsure": int(rows.unsure.sum()),
    }


def list_rows(rows: ClassRows, n_listed: int, telling: Any = None) -> dict[str, Any]:
    """Name the least and most certain of the unlabelled rows, and labels that the model denies.

    `telling` are the rows that it would help most to label next, where that is known.
    """
    order = rows.least_certain(len(rows.margin))
    denied = np.flatnonzero(rows.labeled & (rows.given != rows.predicted))
    denied = denied[np.argsort(-rows.margin[denied], kind="stable")]
    most = order[max(n_listed, len(order) - n_listed) :][::-1]  # no row is both
    return {
        "asked": [] if telling is None else [_describe(rows, i) for i in telling],
        "least": [_describe(rows, i) for i in order[:n_listed]],
        "most": [_describe(rows, i) for i in most],
        "denied": [_describe(rows, i) for i in denied[:n_listed]],
        "n_denied": len(denied),
        "margins": histogram(rows.margin[order]) if len(order) else {},
    }


def _describe(rows: ClassRows, i: int) -> dict[str, Any]:
    def name(codes: NDArray[np.intp] | None) -> str | None:
        return None if codes is None else rows.names[codes[i]] if codes[i] >= 0 else ""

    return {
        "row": int(i),
        "id": clean(rows.ids[i]),
        "label": name(rows.given) if rows.labeled[i] else "",
        "predicted": name(rows.predicted),
        "second": name(rows.second),
        "margin": float(rows.margin[i]),
        "chance": None if rows.chance is None else float(rows.chance[i]),
        "twin": name(rows.twin),
        "truth": name(rows.truth),
    }


def compare_with_twin(rows: ClassRows, n_listed: int) -> dict[str, Any]:
    """Find where the supervised twin gives another class."""
    free = ~rows.labeled
    if rows.twin is None or not free.any():
        return {}
    differ = np.flatnonzero(free & (rows.twin != rows.predicted))
    order = differ[np.argsort(-rows.margin[differ], kind="stable")]
    pairs = np.unique(
        np.stack([rows.twin[differ], rows.predicted[differ]]), axis=1, return_counts=True
    )
    ranked = np.argsort(-pairs[1], kind="stable")[:n_listed]
    twin = np.bincount(rows.twin[rows.twin >= 0], minlength=len(rows.names))
    return {
        "n_unlabeled": int(free.sum()),
        "n_differ": len(differ),
        "share": float(len(differ) / max(1, free.sum())),
        "moves": [
            {
                "twin": rows.names[pairs[0][0, j]],
                "predicted": rows.names[pairs[0][1, j]],
                "rows": int(pairs[1][j]),
            }
            for j in ranked
        ],
        "more_moves": int(pairs[1].size - len(ranked)),
        "rows": [_describe(rows, i) for i in order[:n_listed]],
        "classes_given": int((twin > 0).sum()),
    }


def compare_with_truth(rows: ClassRows, name: str) -> dict[str, Any]:
    """Count errors and confusions on the unlabelled rows whose true class is known."""
    if rows.truth is None:
        return {}
    known = ~rows.labeled & (rows.truth >= 0)
    if not known.any():
        return {"name": name, "n": 0}
    true, answer = rows.truth[known], rows.predicted[known]
    c = len(rows.names)
    matrix = np.bincount(true * c + answer, minlength=c * c).reshape(c, c)
    found, given = matrix.sum(axis=1), matrix.sum(axis=0)
    wrong = [(int(matrix[t, a]), t, a) for t, a in np.argwhere(matrix > 0) if t != a]
    shown = np.flatnonzero(found + given)
    result: dict[str, Any] = {
        "name": name,
        "n": int(known.sum()),
        "errors": int((true != answer).sum()),
        "error": float(np.mean(true != answer)),
        "twin_errors": None,
        "twin_error": None,
        "p_value": None,
        "names": [rows.names[k] for k in shown],
        "matrix": matrix[np.ix_(shown, shown)].tolist() if len(shown) <= _MATRIX_CLASSES else [],
        "recall": [float(matrix[k, k] / found[k]) if found[k] else None for k in shown],
        "precision": [float(matrix[k, k] / given[k]) if given[k] else None for k in shown],
        "confusions": [
            {"truth": rows.names[t], "predicted": rows.names[a], "rows": m}
            for m, t, a in sorted(wrong, key=lambda w: (-w[0], w[1], w[2]))[:12]
        ],
    }
    if rows.twin is not None:
        missed = rows.twin[known] != true
        result |= {
            "twin_errors": int(missed.sum()),
            "twin_error": float(missed.mean()),
            "p_value": _mcnemar(missed, true != answer),
        }
    return result


def _mcnemar(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """How probable so unequal errors are if neither is better: the exact test of paired answers."""
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    if only_first + only_second == 0:
        return 1.0
    return float(binomtest(only_first, only_first + only_second).pvalue)


def histogram(values: NDArray[Any], n_bins: int = 24, *more: NDArray[Any]) -> dict[str, Any]:
    """Count values in equal bins; the bins span all series, each has its own counts."""
    together = np.concatenate([values, *more]).astype(np.float64)
    low, high = float(together.min()), float(together.max())
    if not high > low:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, n_bins + 1)
    series = [np.histogram(v, bins=edges)[0].tolist() for v in (values, *more)]
    return {"low": low, "high": high, "series": series}


def row_columns(
    table: Any,
    rows: Sequence[int],
    *,
    most: int | None = None,
    exact: bool = False,
    texts: Collection[str] = (),
) -> dict[str, list[str]]:
    """Write the columns of some rows as the user knows them: whole numbers without a fraction.

    Parameters
    ----------
    table : Table
        A column that was made into something else, or left out, is given as it is in the file. Of
        a sparse table only the columns in which these rows have an entry are given.
    rows : sequence of int
        Which.
    most : int, default=None
        How many columns; None means all.
    exact : bool, default=False
        Whether they shall be read again, and not be looked at.
    texts : collection of str, default=()
        Columns of which the first 300 letters are given, and not the first 60.

    Returns
    -------
    dict of str to list of str
        The cells of each column; nothing where a cell is empty.
    """
    return {
        name: [_cell(value, exact=exact, is_text=name in texts) for value in values]
        for name, values in row_cells(table, rows, most=most).items()
    }


def row_cells(
    table: Any, rows: Sequence[int], *, most: int | None = None
) -> dict[str, Sequence[Any]]:
    """Give the cells that `row_columns` writes: numbers and texts, NaN or None for nothing."""
    where = np.asarray(rows, dtype=np.intp)
    place = {name: j for j, name in enumerate(table.feature_names)}
    names = list(table.originals or place)
    if is_sparse(table.X):
        names = [table.feature_names[j] for j in np.unique(table.X[where].nonzero()[1])]
    found: dict[str, Sequence[Any]] = {}
    for name in islice(names, most):
        kept = table.originals.get(name)
        found[name] = _feature(table.X, place[name], where) if kept is None else kept.at(where)
    return found


def _feature(X: Any, column: int, rows: Any) -> list[Any]:
    if hasattr(X, "iter_rows"):
        return list(X.to_series(column)[rows.tolist()])
    if hasattr(X, "iloc"):
        return list(X.iloc[rows.tolist(), column])
    block = X[rows][:, [column]]
    values: list[Any] = (block.toarray() if is_sparse(block) else block).ravel().tolist()
    return values


def _cell(value: Any, *, exact: bool, is_text: bool = False) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        return repr(value) if exact else f"{value:.6g}"
    if is_text and not exact:
        return clean(" ".join(str(value).split()))
    return str(value) if exact else clean(value, _LONGEST)
