"""Labels as users write them, coded as estimators take them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CodedLabels", "code_classes", "code_numbers", "code_truth", "mark_unlabeled"]


@dataclass(frozen=True)
class CodedLabels:
    """Labels of n rows.

    Attributes
    ----------
    y : ndarray of shape (n,)
        Integers where all labels are written so, else text; float64 for regression.
    labeled : ndarray of bool of shape (n,)
        Which rows have a label.
    unlabeled : int, str or float
        What the other rows hold in `y`.
    """

    y: NDArray[Any]
    labeled: NDArray[np.bool_]
    unlabeled: int | str | float


def mark_unlabeled(labels: NDArray[Any], marker: str) -> NDArray[Any]:
    """Blank the labels that are the marker."""
    equal: NDArray[np.bool_] = labels == marker
    try:
        number = float(marker)
    except ValueError:
        return np.where(equal, "", labels)
    # So that -1 also finds the -1.0 of a column of floats.
    for text in Counter(labels.tolist()):
        try:
            if float(text) == number:
                equal |= labels == text
        except ValueError:
            pass
    return np.where(equal, "", labels)


def code_classes(labels: NDArray[Any], *, where: str, hint: str) -> CodedLabels:
    """Code labels of classes.

    Raises
    ------
    ValueError
        If no row has a label, there is one class only, or the labels are fractional numbers.
    """
    labeled = _check_labeled(labels, where, hint)
    texts, codes = np.unique(labels[labeled], return_inverse=True)
    if texts.size == 1:
        raise ValueError(
            f"{where} holds only one class, {texts[0]!r}; two are needed. If the unlabelled rows "
            f"are marked in another way ({hint} means no label), name the mark with --unlabeled."
        )
    classes, marker = _class_values(texts, where)
    y = np.full(labels.size, marker, dtype=classes.dtype if classes.dtype.kind == "i" else object)
    y[labeled] = classes[codes]
    return CodedLabels(y, labeled, marker)


def code_numbers(labels: NDArray[Any], *, where: str, hint: str) -> CodedLabels:
    """Code numbers to be predicted.

    Raises
    ------
    ValueError
        If no row has a label, or a label is not a finite number.
    """
    labeled = _check_labeled(labels, where, hint)
    y = np.full(labels.size, np.nan)
    for row in np.flatnonzero(labeled):
        try:
            y[row] = float(labels[row])
        except ValueError:
            raise ValueError(
                f"{where}: row {row + 1} holds {labels[row]!r}, which is not a number; the chosen "
                "method predicts numbers. For classes choose --method lapsvc or laprls."
            ) from None
    if np.isinf(y).any():
        first = int(np.argmax(np.isinf(y)))
        raise ValueError(f"{where}: row {first + 1} holds an infinite value; correct it.")
    return CodedLabels(y, labeled, float("nan"))


def code_truth(truth: NDArray[Any], coded: CodedLabels, *, where: str) -> NDArray[Any]:
    """Code known answers as the labels are, so that they can be compared.

    Raises
    ------
    ValueError
        If the labels are numbers and an answer is not.
    """
    y = np.full(truth.size, coded.unlabeled, dtype=coded.y.dtype)
    for row in np.flatnonzero(truth != ""):
        text = truth[row]
        try:
            value = text if y.dtype == object else float(text)
            exact = y.dtype.kind != "i" or float(value).is_integer()
        except ValueError:
            exact = False
        if not exact:
            raise ValueError(
                f"{where}: row {row + 1} holds {text!r}, but the labels are "
                f"{'whole ' if y.dtype.kind == 'i' else ''}numbers; the truth must be written as "
                "the labels are."
            )
        y[row] = value
    return y


def _class_values(texts: NDArray[Any], where: str) -> tuple[NDArray[Any], int | str]:
    """Turn the labels' texts to integers where all are integers, and choose a marker."""
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        numbers = []
    if not numbers or not np.isfinite(numbers).all():
        return texts.astype(object), ""
    if not all(number.is_integer() for number in numbers):
        raise ValueError(
            f"{where} holds fractional numbers ({', '.join(texts[:3])}, ...), no classes. To "
            "predict numbers choose --method lapsvr or laprls-regressor."
        )
    values = [int(number) for number in numbers]
    # 007 and 7, or an integer that a float cannot hold, are names and stay what they are.
    same = all(text in (str(v), f"{v}.0") for text, v in zip(texts, values, strict=True))
    if not same or len(set(values)) < len(values) or max(map(abs, values)) > 2**53:
        return texts.astype(object), ""
    return np.array(values, dtype=np.int64), min(0, *values) - 1


def _check_labeled(labels: NDArray[Any], where: str, hint: str) -> NDArray[np.bool_]:
    labeled: NDArray[np.bool_] = labels != ""
    if not labeled.any():
        raise ValueError(
            f"{where}: no row has a label ({hint} means no label). Label some rows of every class."
        )
    return labeled
