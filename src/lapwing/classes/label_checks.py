r"""Checks of labels: errors and warnings for values that are probably not meant as labels.

If the marker of unlabelled rows is read as a class, or quantities as classes, a fit succeeds and is
silently wrong. Values that cannot be intended are errors; values that may be intended are warnings.

The probability that a label is wrong follows from the class probabilities p_i of the fit without
it. Let a fraction e of all labels be wrong, with the other K - 1 classes equally likely. Then label
y_i is wrong with the probability

.. math:: \frac{e (1 - p_{i y_i}) / (K - 1)}{e (1 - p_{i y_i}) / (K - 1) + (1 - e) p_{i y_i}}.

Neither e nor the sharpness of the p_i is known, and they depend on each other: with wrong labels
probabilities seem too sharp, and with probabilities that are too sharp correct labels seem wrong.
Both are therefore averaged over their joint posterior, with the sharpness prior of
`lapwing.classes.probabilities` and e uniform on [0, 0.3]. The mode of the posterior would explain
wrong labels by softer probabilities: on wine with six of 60 labels wrong, one of them is detected
with the mode and four with the average.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.decoding import of_each_class, predict_codes
from lapwing.classes.markers import is_auto, is_missing, kind_of
from lapwing.classes.probabilities import Sharpness, class_probabilities
from lapwing.exceptions import (
    ConstantFitWarning,
    LapwingWarning,
    ManyClassesWarning,
    NothingUnlabeledWarning,
    SimilarLabelsWarning,
    UnlabeledMarkerWarning,
)

# Usual texts for a missing label, in lower case.
_WORDS = frozenset(
    [
        *("nan", "none", "null", "nil", "nat", "na", "n/a", "n.a.", "#n/a", "<na>"),
        *("?", "??", "???", "-", "--"),
        *("unlabeled", "unlabelled", "not labeled", "not labelled", "no label", "todo", "tbd"),
        *("unknown", "unk", "missing", "undefined", "undetermined", "not available"),
        *("unassigned", "unannotated", "unclassified"),
    ]
)
_META = (
    "Meta-estimators that encode y (stacking, voting, bagging, one-vs-rest) make a class of the "
    "marker: fit this estimator itself."
)
# If a class has most rows and few rows are unlabelled, it is probably a second marker.
_DOMINANT, _FEW_UNLABELED = 0.8, 0.1  # fractions of the rows
MANY_NUMBERS = 10  # fewer distinct numbers may be grades or scores
# A label is suggested as a correction if it has at least this many times the rows and if the word
# has at least this many letters, as short words often differ by one letter.
_TIMES_AS_MANY, _LETTERS = 5, 5
_MOST_COMPARED = 200  # classes, in pairs
# Number of distinct strings that are probably not classes, if most occur once. scikit-learn warns
# if the classes are more than half of the labels, but ten classes with one label are usual here.
_MANY_TEXTS = 20
_WORD = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")


def check_labels(
    classes: Array, counts: Array, n_unlabeled: int, found: tuple[Any, ...], marker: object
) -> None:
    """Raise ValueError for labels that must be markers, and for markers that must be labels.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Sorted labels.
    counts : ndarray of int of shape (n_classes,)
        Number of rows of each class.
    n_unlabeled : int
    found : tuple
        Markers of the unlabelled rows.
    marker : 'auto', number, str, None or NaN
        The parameter `unlabeled`.

    Raises
    ------
    ValueError
        The message names the value and what to pass.
    """
    alike = _look_alikes(classes, marker)
    # With unlabeled=None all texts are classes by the user's choice.
    if alike and not n_unlabeled and (is_auto(marker) or not is_missing(marker)):
        raise ValueError(
            f"y contains {_value(alike[0])}, which would be a class, and no row is unlabelled with "
            f"unlabeled={marker!r}. Pass unlabeled={alike[0]!r} if it marks unlabelled rows, or "
            "unlabeled=None (only missing values are unlabelled) if it is a class."
        )
    if is_auto(marker) and not n_unlabeled:
        _refuse_wrapped_marker(classes, counts)
    if not is_auto(marker) or -1 not in found:
        return
    ranked = dict(zip(classes.tolist(), counts.tolist(), strict=True))
    below = [label for label in ranked if kind_of(label) == "number" and label < -1]
    if below:
        raise ValueError(
            f"y contains -1 and labels below it, such as {below[-1]!r}, so that -1 may be one more "
            "class. Pass unlabeled=-1 if it marks unlabelled rows, or unlabeled=None (only missing "
            "values are unlabelled) if it is a class."
        )
    n = n_unlabeled + int(counts.sum())
    if kind_of(min(ranked)) == "number" and zeros_among_signs({**ranked, -1: n_unlabeled}):
        raise ValueError(
            f"{ranked[0]} of the {n} labels are 0, beside -1 ({n_unlabeled} rows) and 1 "
            f"({ranked[1]} rows): 0 may mark the unlabelled rows. Pass unlabeled=0 if it does, or "
            "unlabeled=-1 if -1 marks them."
        )


def _refuse_wrapped_marker(classes: Array, counts: Array) -> None:
    """Raise ValueError if most labels are the maximum of an unsigned type, probably from -1."""
    if classes.dtype.kind != "u" or len(classes) < 3:
        return
    largest, n = np.iinfo(classes.dtype).max, int(counts.sum())
    if classes[-1] == largest and 2 * counts[-1] > n:
        raise ValueError(
            f"{counts[-1]} of the {n} labels are {largest}, which is -1 in the type {classes.dtype}"
            f", and no row is unlabelled. Pass unlabeled={largest} if it marks unlabelled rows, or "
            "unlabeled=None (only missing values are unlabelled) if it is a class."
        )


def label_warning(
    classes: Array, counts: Array, n_unlabeled: int, found: tuple[Any, ...], marker: object
) -> LapwingWarning | None:
    """Return a warning about how labels were read, or None; parameters as `check_labels`."""
    if not n_unlabeled:
        return NothingUnlabeledWarning(
            f"No row of y is unlabelled (unlabeled={marker!r}), so nothing is learnt from "
            f"unlabelled rows. {_marker_hint(classes, counts, marker)}"
        )
    alike = _look_alikes(classes, marker)
    if alike:
        return UnlabeledMarkerWarning(
            f"y contains {_value(alike[0])}, which counts as a class, beside {n_unlabeled} rows "
            f"that {_names(found)} marks as unlabelled. If it means no label, mark its rows in the "
            "same way; if it is a class, another name is safer."
        )
    if is_auto(marker) and -1 in found and len(found) > 1:
        return UnlabeledMarkerWarning(
            f"y contains both -1 and missing values, and all of these rows ({n_unlabeled}) count "
            "as unlabelled. If -1 is a class, pass unlabeled=None (only missing values are "
            "unlabelled)."
        )
    texts = kind_of(classes.tolist()[0]) == "str"
    if texts and (misspelling := near_miss(classes.tolist(), counts.tolist())) is not None:
        ranked = dict(zip(classes.tolist(), counts.tolist(), strict=True))
        rare, usual = misspelling
        return SimilarLabelsWarning(
            f"y has the label {rare!r} in {_rows(ranked[rare])} and {usual!r} in "
            f"{_rows(ranked[usual])}, and both count as classes. If the first is a typing error, "
            "correct it."
        )
    if texts and len(classes) >= _MANY_TEXTS and 2 * len(classes) > counts.sum():
        return ManyClassesWarning(
            f"y contains {len(classes)} different texts in {counts.sum()} labels, such as "
            f"{classes.tolist()[0]!r}, and each counts as a class. If they are names of rows or "
            "free text, give the column of the classes."
        )
    if dominates(counts, n_unlabeled):
        n, label = n_unlabeled + int(counts.sum()), classes.tolist()[counts.argmax()]
        return UnlabeledMarkerWarning(
            f"Only {n_unlabeled} of {n} rows are unlabelled (by {_names(found)}), and "
            f"{counts.max()} rows are of class {label!r}. {_if_no_label(label, len(counts))}"
        )
    return None


def look_like_quantities(numbers: Sequence[float], n_labeled: int) -> bool:
    """Return whether integers as labels look like quantities instead of class codes.

    Quantities seldom repeat, and are spread over a range of at least twice their number, while
    class codes are consecutive. More than 30 distinct numbers that seldom repeat are quantities
    unless they are consecutive from 0 or 1.

    Parameters
    ----------
    numbers : sequence of float
        Distinct labels.
    n_labeled : int
        Number of rows with a label.
    """
    n = len(numbers)
    if n < MANY_NUMBERS or 5 * n <= n_labeled:
        return False
    spread = max(numbers) - min(numbers) >= 2 * n
    codes = not spread and min(numbers) in (0, 1)
    return (2 * n > n_labeled and spread) or (n > 3 * MANY_NUMBERS and not codes)


def refuse_many_numbers(classes: Array, n_labeled: int) -> None:
    """Raise ValueError for regression targets, as a fit with so many classes would take long.

    Raises
    ------
    ValueError
        If the classes are whole numbers that look like quantities.
    """
    if classes.dtype.kind in "iuf" and look_like_quantities(classes.tolist(), n_labeled):
        raise ValueError(
            f"y contains {len(classes)} different whole numbers in {n_labeled} labels. To predict "
            "numbers use a regressor, such as FewLabelRegressor; if they are classes, convert "
            "them to strings."
        )


def target_warning(targets: Array, labeled: Array) -> LapwingWarning | None:
    """Return a warning about the targets of a regression, or None."""
    known = targets[labeled]
    if len(known) > 1 and (known == known[0]).all():
        return ConstantFitWarning(
            f"All {len(known)} targets are {known[0]:g}, so the answer is that number for every "
            "row. Check that y contains the numbers to predict."
        )
    if not labeled.all():
        return None
    usual = usual_number(targets)
    if usual is not None:
        return NothingUnlabeledWarning(
            f"No row of y is unlabelled, and most targets are {usual:g}. If {usual:g} means no "
            "target, set y to NaN there: for a regression only missing values mean it."
        )
    return NothingUnlabeledWarning(
        "No row of y is unlabelled, so nothing is learnt from unlabelled rows. Set y to NaN where "
        "the target is unknown, or ignore this warning if every target is known."
    )


def nothing_unlabeled_warning(y: Array, marker: object) -> LapwingWarning:
    """Return the warning that no row is unlabelled."""
    labels = list(dict.fromkeys(y.tolist()))
    texts = all(isinstance(label, str) for label in labels)
    alike = [label for label in labels if texts and _is_word(label, labels, marker)]
    if not texts and any(kind_of(label) == "number" and label == -1 for label in labels):
        alike = [-1]
    hint = (
        f"If {alike[0]!r} means no label, pass unlabeled={alike[0]!r}."
        if alike
        else "If some have none, set y to None or NaN there, or name their marker by unlabeled=."
    )
    return NothingUnlabeledWarning(
        f"No row of y is unlabelled (unlabeled={marker!r}), so none is left to label. {hint}"
    )


def usual_number(numbers: Array) -> float | None:
    """Return the number that most targets equal, which may mark missing targets, or None."""
    values, counts = np.unique(numbers, return_counts=True)
    usual = float(values[counts.argmax()])
    return usual if 2 * counts.max() > len(numbers) and len(values) > 2 else None


def near_miss(labels: Sequence[str], counts: Sequence[int]) -> tuple[str, str] | None:
    """Return a label that is probably misspelt, and the intended label; None if there is none.

    Either the two labels differ in surrounding blanks only; or the misspelt label has few rows, and
    they differ in capitals and blanks, or in one letter of a word with at least five letters, such
    as Barollo and Barolo. "group a" and "group b" are different labels. More than 200 classes are
    not compared.
    """
    if len(labels) > _MOST_COMPARED:
        return None
    known = set(labels)
    for label in labels:
        if (bare := label.strip()) != label and bare in known:
            return label, bare
    for rare, n_rare in zip(labels, counts, strict=True):
        for usual, n_usual in zip(labels, counts, strict=True):
            if n_rare * _TIMES_AS_MANY <= n_usual and _almost_equal(rare, usual):
                return rare, usual
    return None


def dominates(counts: Array, n_unlabeled: int) -> bool:
    """Return whether a class has most rows and few are unlabelled: it may be a second marker."""
    n = n_unlabeled + counts.sum()
    return bool(counts.max() > _DOMINANT * n and n_unlabeled < _FEW_UNLABELED * n)


def new_spelling(classes: Array, before: Array) -> LapwingWarning | None:
    """Return a warning about a class that differs from an earlier one in its spelling only."""
    known = set(before.tolist())
    spelt = {folded(label): label for label in known if isinstance(label, str)}
    for label in classes.tolist():
        if label not in known and isinstance(label, str) and folded(label) in spelt:
            return SimilarLabelsWarning(
                f"The label {label!r} is new and similar to {spelt[folded(label)]!r}; both "
                "count as classes. If it is a typing error, add the right label to the same rows."
            )
    return None


def folded(label: str) -> str:
    """Normalise capitals, blanks and leading zeros of a label."""
    plain = " ".join(unicodedata.normalize("NFKC", label).casefold().split())
    return plain.lstrip("0") or "0"


def _almost_equal(one: str, other: str) -> bool:
    words, others = (_WORD.findall(text.casefold()) for text in (one, other))
    if words == others:
        return len("".join(words)) >= _LETTERS
    if len(words) != len(others):
        return False
    differ = [pair for pair in zip(words, others, strict=True) if pair[0] != pair[1]]
    short, long = sorted(differ[0], key=len)
    if len(differ) > 1 or len(short) < _LETTERS or short.isdigit():
        return False
    at = next((i for i in range(len(short)) if short[i] != long[i]), len(short))
    if len(short) < len(long):
        return bool(short[at:] == long[at + 1 :])
    swapped = short[at : at + 2] == long[at : at + 2][::-1]
    rest = at + 2 if swapped else at + 1
    return bool(short[rest:] == long[rest:])


def _marker_hint(classes: Array, counts: Array, marker: object) -> str:
    """Return advice if no row is unlabelled, for the most likely mistake."""
    labels = classes.tolist()
    alike = _look_alikes(classes, marker)
    if alike:
        return f"If {alike[0]!r} means no label, pass unlabeled={alike[0]!r}."
    if is_auto(marker) and _are_signs(labels):
        return (
            "-1 and 1 are all that y contains, so both are classes. If -1 means no label, label "
            f"rows of a second class. {_META}"
        )
    label = labels[counts.argmax()]
    if dominates(counts, 0):
        hint = f"Most rows are of class {label!r}. {_if_no_label(label, len(labels))}"
        return f"{hint} {_META}" if labels == list(range(len(labels))) else hint
    if kind_of(label) == "number" and -1 in labels:
        return "If -1 means no label, pass unlabeled=-1."
    usual = is_auto(marker) or is_missing(marker)
    return (
        f"Set y to {'None or NaN' if usual else repr(marker)} where there is no label, or pass "
        f"what y contains there as unlabeled=. {_META}"
    )


def _if_no_label(label: object, n_classes: int) -> str:
    """Return advice if a class means that there is no label."""
    more = " and label rows of a second class" if n_classes == 2 else ""
    return f"If {label!r} means no label, pass unlabeled={label!r}{more}."


def zeros_among_signs(ranked: dict[Any, int]) -> bool:
    """Return whether labels are -1, 0 and 1, most of them 0, which may then mean no label.

    `ranked` holds the count of each label.
    """
    numbers = {_number(label): count for label, count in ranked.items()}
    return set(numbers) == {-1, 0, 1} and 2 * numbers[0] > sum(numbers.values())


def words_for_none(labels: list[str]) -> list[str]:
    """Return the classes, as text, that look like "no label"."""
    return [label for label in labels if _is_word(label, labels, "")]


def _look_alikes(classes: Array, marker: object) -> list[Any]:
    """Return the classes that look like "no label", or like the marker in another type."""
    labels = classes.tolist()
    kind = kind_of(labels[0])
    if kind == "str":
        return [label for label in labels if _is_word(label, labels, marker)]
    if kind == "number" and isinstance(marker, str) and not is_auto(marker):
        number = _number(marker)
        return [label for label in labels if label == number]
    return []


def _is_word(text: str, labels: list[str], marker: object) -> bool:
    if text == "-":
        return "+" not in labels
    if " ".join(text.lower().replace("_", " ").split()) in _WORDS:
        return True
    number = _number(text)
    if kind_of(marker) == "number" and number == marker:
        return True
    return number == -1 and not _are_signs(labels)  # NumPy converts -1 in an array of strings


def _are_signs(labels: list[Any]) -> bool:
    """Return whether the two classes are -1 and +1, as numbers or texts."""
    return len(labels) == 2 and {_number(label) for label in labels} == {-1, 1}


def _number(label: Any) -> float | None:
    if kind_of(label) not in ("number", "str"):
        return None
    try:
        return float(label)
    except ValueError:
        return None


def _rows(n: int) -> str:
    return f"{n} row{'s' * (n > 1)}"


_READING_WARNINGS = (
    ManyClassesWarning,
    NothingUnlabeledWarning,
    SimilarLabelsWarning,
    UnlabeledMarkerWarning,
)


@contextmanager
def label_warnings_ignored() -> Iterator[None]:
    """Ignore warnings about how labels were read, for callers with their own warnings."""
    with warnings.catch_warnings():
        for warning in _READING_WARNINGS:
            warnings.simplefilter("ignore", warning)
        yield


def _value(label: object) -> str:
    return f"the text {label!r}" if isinstance(label, str) else f"the number {label!r}"


def _names(found: tuple[Any, ...]) -> str:
    words = {None: "a missing value", "": "an empty text"}
    return " or ".join(words.get(value, repr(value)) for value in found)


# Largest fraction e of wrong labels; with more, the other labels are not a basis for comparison.
_MOST_WRONG = 0.3
# Nodes of the averages over e and over the sharpness, within four spreads to each side. On 60
# random problems probabilities are within 0.005 of those with 400 x 801 nodes; with half as many
# nodes errors are up to 0.04.
_SHARES = 20
_REACH = 4.0
_NODES = 33


def probability_wrong(scores: Array, codes: Array, sharpness: Sharpness) -> Array:
    """Compute the probability that each label is wrong.

    Parameters
    ----------
    scores : ndarray of shape (l, c)
        Leave-one-out decision values of the labelled rows; NaN if a label could not be left out.
    codes : ndarray of int of shape (l,)
        Class codes of the labels.
    sharpness : Sharpness
        Sharpness by the prior without labels.

    Returns
    -------
    ndarray of shape (l,)
        0 if the label could not be left out.
    """
    finite = np.asarray(np.isfinite(scores).all(axis=1))
    found = np.zeros(len(codes))
    if not finite.any():
        return found
    known, given = of_each_class(scores[finite]), codes[finite]
    shares = (_MOST_WRONG / _SHARES * (np.arange(_SHARES) + 0.5))[:, None]
    positions = np.linspace(-_REACH, _REACH, _NODES)
    likelihood = np.empty((_NODES, _SHARES))
    wrong = np.empty((_NODES, _SHARES, len(given)))
    for node, position in enumerate(positions):
        factor = sharpness.value * np.exp(sharpness.spread * position)
        right = class_probabilities(known, factor)[np.arange(len(given)), given]
        by_mistake = shares * (1 - right) / (known.shape[1] - 1)
        total = np.maximum(by_mistake + (1 - shares) * right, np.finfo(np.float64).tiny)
        likelihood[node] = np.log(total).sum(axis=1) - position**2 / 2
        wrong[node] = by_mistake / total
    weights = np.exp(likelihood - likelihood.max())
    found[finite] = np.tensordot(weights / weights.sum(), wrong, axes=2)
    return found


def suspicious(scores: Array, codes: Array, sharpness: Sharpness) -> Array:
    """Return the labels that are probably wrong, the most probable first.

    Their `probability_wrong` is at least 1/2, and the fit without them predicts another class.
    """
    known = np.asarray(np.isfinite(scores).all(axis=1))
    contradicted = known & (predict_codes(np.where(known[:, None], scores, 0.0)) != codes)
    if not contradicted.any():
        return np.empty(0, dtype=np.intp)
    wrong = probability_wrong(scores, codes, sharpness)
    order = np.argsort(-wrong, kind="stable")
    return np.asarray(order[(wrong[order] >= 0.5) & contradicted[order]])
