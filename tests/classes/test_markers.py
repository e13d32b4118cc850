"""What marks a row as unlabelled; and that nothing becomes a class, or is hidden, in silence."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lapwing.classes.label_checks import label_warnings_ignored, near_miss, target_warning
from lapwing.classes.labels import code_classes, read_known, read_targets
from lapwing.exceptions import (
    ManyClassesWarning,
    NothingUnlabeledWarning,
    OutlierWarning,
    SimilarLabelsWarning,
    UnlabeledMarkerWarning,
)

NAN = float("nan")


def objects(*values: Any) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def gaps(*values: Any) -> pd.Categorical:
    return pd.Categorical(values, categories=sorted({v for v in values if v is not None}))


# ---- 'auto' ------------------------------------------------------------------------------------

# y, classes, codes, what marked: all of it without a word to the user.
AUTO: dict[str, tuple[Any, list[Any], list[int], tuple[Any, ...]]] = {
    "ints": (np.array([3, -1, 0]), [0, 3], [1, -1, 0], (-1,)),
    "None between texts": (["b", None, "a"], ["a", "b"], [1, -1, 0], (None,)),
    "an empty text": (["b", "", "a"], ["a", "b"], [1, -1, 0], ("",)),
    "a blank text": (np.array(["b", "  ", "a"]), ["a", "b"], [1, -1, 0], ("",)),
    "an empty text and None": (["b", "", "a", None], ["a", "b"], [1, -1, 0, -1], (None, "")),
    "the number -1 between texts": (["b", -1, "a"], ["a", "b"], [1, -1, 0], (-1,)),
    "NaN between texts": (objects("b", NAN, "a"), ["a", "b"], [1, -1, 0], (None,)),
    "every missing value": (
        objects("b", None, NAN, pd.NA, pd.NaT, np.datetime64("NaT"), np.float32(NAN), "a"),
        ["a", "b"],
        [1, -1, -1, -1, -1, -1, -1, 0],
        (None,),
    ),
    "-1 between booleans": ([True, -1, False], [False, True], [1, -1, 0], (-1,)),
    "None between booleans": ([True, None, False], [False, True], [1, -1, 0], (None,)),
    "signs beside a missing value": (np.array([-1, NAN, 1.0]), [-1.0, 1.0], [0, -1, 1], (None,)),
    "0 and 1 with as many unlabelled": (
        np.repeat([0, 1, -1], 5),
        [0, 1],
        [0] * 5 + [1] * 5 + [-1] * 5,
        (-1,),
    ),
    "pluses and minuses": (["+", "-", ""], ["+", "-"], [0, 1, -1], ("",)),
    "NumPy's texts of variable width": (
        np.array(["b", "", "a"], dtype=np.dtypes.StringDType()),
        ["a", "b"],
        [1, -1, 0],
        ("",),
    ),
    "dates": (
        np.array(["2021", "NaT", "2020"], dtype="M8[Y]"),
        [pd.Timestamp("2020").date(), pd.Timestamp("2021").date()],
        [1, -1, 0],
        (None,),
    ),
    "pandas Int64": (pd.Series([2, pd.NA, 1], dtype="Int64"), [1, 2], [1, -1, 0], (None,)),
    "pandas string": (
        pd.Series(["b", pd.NA, "a", ""], dtype="string"),
        ["a", "b"],
        [1, -1, 0, -1],
        (None, ""),
    ),
    "pandas str": (pd.Series(["b", None, "a"], dtype="str"), ["a", "b"], [1, -1, 0], (None,)),
    "pandas floats of ints with gaps": (pd.Series([2, None, 1]), [1.0, 2.0], [1, -1, 0], (None,)),
    "bare categories of ints": (gaps(2, None, 1), [1, 2], [1, -1, 0], (None,)),
    "an index of categories": (pd.CategoricalIndex(gaps(2, None, 1)), [1, 2], [1, -1, 0], (None,)),
    "categories with -1": (pd.Series(gaps(2, -1, 1)), [1, 2], [1, -1, 0], (-1,)),
    "categories that are huge": (
        pd.Series(gaps(2**53, None, 2**53 + 1)),
        [2**53, 2**53 + 1],
        [0, -1, 1],
        (None,),
    ),
    "polars ints": (pl.Series([2, None, 1]), [1, 2], [1, -1, 0], (None,)),
    "polars categories": (
        pl.Series(["b", None, "a"], dtype=pl.Categorical),
        ["a", "b"],
        [1, -1, 0],
        (None,),
    ),
    "polars enum": (
        pl.Series(["b", None, "a"], dtype=pl.Enum(["b", "a"])),
        ["a", "b"],
        [1, -1, 0],
        (None,),
    ),
}


@pytest.mark.parametrize(("y", "classes", "codes", "found"), AUTO.values(), ids=AUTO.keys())
def test_auto(y: Any, classes: list[Any], codes: list[int], found: tuple[Any, ...]) -> None:
    labels = code_classes(y)
    assert labels.classes.tolist() == classes
    assert [type(a) for a in labels.classes.tolist()] == [type(b) for b in classes]
    assert labels.codes.tolist() == codes
    assert labels.unlabeled == found
    assert [type(a) for a in labels.unlabeled] == [type(b) for b in found]
    assert labels.warning is None
    known, labeled = read_known(y, "auto", labels.classes)
    assert labeled.tolist() == labels.labeled.tolist()
    assert known.tolist() == labels.classes[labels.codes[labels.labeled]].tolist()
    assert known.dtype == labels.classes.dtype


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"y": pd.Series(gaps(2, None, 1))}),
        pd.DataFrame({"y": pd.Series([2, None, 1], dtype="Int64")}),
        pl.DataFrame({"y": [2, None, 1]}),
    ],
    ids=["pandas categories", "pandas Int64", "polars"],
)
def test_a_frame_of_one_column_keeps_its_integers(frame: Any) -> None:
    with pytest.warns(UserWarning, match="A column-vector y was passed"):
        labels = code_classes(frame)
    assert labels.classes.tolist() == [1, 2]
    assert all(type(label) is int for label in labels.classes.tolist())
    assert labels.codes.tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    ("y", "marker", "found"),
    [
        ([0, 1, 9], 9, (9,)),
        (np.array([0, 1, 9]), np.int64(9), (9,)),
        ([0.0, 1.0, 9.0], 9, (9,)),
        (["a", "b", "?"], "?", ("?",)),
        (["a", "b", None], None, (None,)),
        (["a", "b", NAN], None, (None,)),
        (["a", "b", ""], None, ("",)),
        (["a", "b", None], "", (None,)),
        (["a", "b", ""], NAN, ("",)),
        ([0, 1, "", None, -1], "auto", (-1, None, "")),
        ([0, 1], 9, ()),
    ],
)
def test_what_was_taken(y: Any, marker: Any, found: tuple[Any, ...]) -> None:
    labels = code_classes(y, marker)
    assert labels.unlabeled == found
    assert [type(a) for a in labels.unlabeled] == [type(b) for b in found]
    assert labels.codes[-1] == (-1 if found else 1)


# ---- what cannot be meant ----------------------------------------------------------------------

SIGNS_IN_ZEROS = np.repeat([0, -1, 1], [197, 2, 1])
CURE = r"Pass unlabeled={} if it marks unlabelled rows, or unlabeled=None \(only missing values are"

REFUSED: dict[str, tuple[Any, Any, str]] = {
    "signs in zeros": (
        SIGNS_IN_ZEROS,
        "auto",
        r"197 of the 200 labels are 0, beside -1 \(2 rows\) and 1 \(1 rows\): 0 may mark the "
        r"unlabelled rows\. Pass unlabeled=0 if it does, or unlabeled=-1 if -1 marks them\.",
    ),
    "-1 without a sign": (
        np.repeat([0, 1, 255], [4, 4, 72]).astype(np.uint8),
        "auto",
        r"72 of the 80 labels are 255, which is -1 in the type uint8, and no row is unlabelled\. "
        r"Pass unlabeled=255 if it marks unlabelled rows, or unlabeled=None",
    ),
    "-1 without a sign, of four bytes": (
        np.repeat([0, 1, 2**32 - 1], [4, 4, 9]).astype(np.uint32),
        "auto",
        r"9 of the 17 labels are 4294967295, which is -1 in the type uint32,",
    ),
    "signs in zeros, floats": (SIGNS_IN_ZEROS * 1.0, "auto", r"197 of the 200 labels are 0,"),
    "a scale around 0": (
        [-2, -1, 0, 1, 2],
        "auto",
        r"y contains -1 and labels below it, such as -2, so that -1 may be one more class\. "
        + CURE.format("-1"),
    ),
    "the text -1 on integers": (
        [0, 1, -1],
        "-1",
        r"y contains the number -1, which would be a class, and no row is unlabelled with "
        r"unlabeled='-1'\. " + CURE.format("-1"),
    ),
    "the text 9.0 on integers": ([0, 1, 9], "9.0", r"the number 9, .*Pass unlabeled=9 if"),
    "the number 9 on texts": (["0", "1", "9"], 9, r"the text '9', .*Pass unlabeled='9' if"),
    "texts with -1": (["0", "1", "-1"], "auto", r"the text '-1', .*" + CURE.format("'-1'")),
    "texts with -1.0": (np.array(["a", -1.0, "b"]), "auto", r"the text '-1\.0', .*'-1\.0' if"),
    "another word than the marker": (["a", "b", "Unlabelled"], "unlabeled", r"'Unlabelled', whi"),
    "a word beside a number as marker": (["a", "b", "none"], -1, r"the text 'none', which"),
    "one class, 0": (
        [-1, 0],
        "auto",
        r"one class only, 0, besides .* unlabeled='auto': .* If -1 is a class and no row is "
        r"unlabelled, or missing values mark those that are, pass unlabeled=None; else label",
    ),
    "one class of texts": (["a", None], "auto", r"one class only, 'a', .* Label points of the ot"),
    "no label": ([-1, None, ""], "auto", r"y contains no label: all 3 entries"),
    "mixed types": (["a", 1, None], "auto", r"y mixes labels of types number, str"),
    "empty texts with another marker": (
        ["a", "b", "", "?"],
        "?",
        r"missing values \(None, NaN or empty texts\) besides the unlabelled marker unlabeled='\?'",
    ),
}


@pytest.mark.parametrize(("y", "marker", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(y: Any, marker: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        code_classes(y, marker)
    assert "np." not in str(caught.value)


@pytest.mark.parametrize("blank", ["\u200b", "\ufeff", " \u00ad ", "\u3000"])
def test_blanks_that_nobody_sees_are_no_label(blank: str) -> None:
    for y in (np.array(["a", "b", blank]), objects("a", "b", blank)):
        labels = code_classes(y)
        assert labels.classes.tolist() == ["a", "b"]
        assert labels.labeled.tolist() == [True, True, False]


def test_the_largest_unsigned_number_may_be_a_class() -> None:
    wrapped = np.repeat([0, 1, 255], [4, 4, 72]).astype(np.uint8)
    assert code_classes(wrapped, None).classes.tolist() == [0, 1, 255]
    assert code_classes(wrapped, 255).classes.tolist() == [0, 1]
    mask = np.repeat([0, 255], [4, 72]).astype(np.uint8)  # of a picture
    assert code_classes(mask).classes.tolist() == [0, 255]


WORDS = [
    "unlabeled", "Unlabelled", "UNLABELED ", "unknown", "none", "None", "nan", "NaN", "NaT",
    "<NA>", "NA", "n/a", "N/A", "null", "?", "-", "missing", "not_labeled", "No label",
]  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_a_class_that_is_called_unlabelled(word: str) -> None:
    y = ["a", "b", word]
    with pytest.raises(ValueError, match="which would be a class") as caught:
        code_classes(y)
    assert f"Pass unlabeled={word!r} if" in str(caught.value)
    assert code_classes(y, word).classes.tolist() == ["a", "b"]
    # To ask for missing values is to say that every text is a class.
    labels = code_classes(y, None)
    assert word in labels.classes
    assert isinstance(labels.warning, NothingUnlabeledWarning)
    assert f"If {word!r} means no label, pass unlabeled={word!r}." in str(labels.warning)
    labels = code_classes([*y, None])
    assert word in labels.classes
    assert isinstance(labels.warning, UnlabeledMarkerWarning)
    assert (
        f"y contains the text {word!r}, which counts as a class, beside 1 rows that a missing "
        "value marks as unlabelled. If it means no label, mark its rows in the same way; if it is "
        "a class, another name is safer."
    ) in str(labels.warning)


@pytest.mark.parametrize("word", ["un_known", "nano", "banana", "auto", "0", "u", "no", "nonesuch"])
def test_other_words_are_classes(word: str) -> None:
    labels = code_classes(["a", "b", word, None])
    assert word in labels.classes
    assert labels.warning is None


DOUBTS: dict[str, tuple[Any, Any, type[Warning], str]] = {
    "signs": (
        [-1, 1, -1, 1],
        "auto",
        NothingUnlabeledWarning,
        r"No row of y is unlabelled \(unlabeled='auto'\), so nothing is learnt from unlabelled "
        r"rows\. -1 and 1 are all that y contains, so both are classes\. If -1 means no label",
    ),
    "signs, as texts": (["-1", "1"], "auto", NothingUnlabeledWarning, r"-1 and 1 are all that"),
    "nothing unlabelled": (
        [0, 1, 2],
        "auto",
        NothingUnlabeledWarning,
        r"Set y to None or NaN where there is no label, or pass what y contains there as "
        r"unlabeled=\. Meta-estimators that encode y \(stacking, voting, bagging, one-vs-rest\)",
    ),
    "a marker that is not there": ([0, 1], 9, NothingUnlabeledWarning, r"Set y to 9 where there"),
    "a marker that is not there, but -1": (
        [0, 1, -1],
        9,
        NothingUnlabeledWarning,
        r"\(unlabeled=9\).* If -1 means no label, pass unlabeled=-1\.",
    ),
    "missing values that are not there, but -1": (
        [0, 1, -1],
        None,
        NothingUnlabeledWarning,
        r"\(unlabeled=None\).* If -1 means no label, pass unlabeled=-1\.",
    ),
    "a text on integers": ([0, 1], "?", NothingUnlabeledWarning, r"Set y to '\?' where there"),
    "a 0 that dominates": (
        np.repeat([0, 1, 2], [97, 2, 1]),
        "auto",
        NothingUnlabeledWarning,
        r"Most rows are of class 0\. If 0 means no label, pass unlabeled=0",
    ),
    "a text that dominates": (
        np.repeat(["other", "a", "b"], [97, 2, 1]),
        "auto",
        NothingUnlabeledWarning,
        r"Most rows are of class 'other'\. If 'other' means no label, pass unlabeled='other'",
    ),
    "a few unlabelled beside a class that dominates": (
        ["other"] * 95 + ["a", "b", "c"] + [None] * 2,
        "auto",
        UnlabeledMarkerWarning,
        r"Only 2 of 100 rows are unlabelled \(by a missing value\), and 95 rows are of class "
        r"'other'\. If 'other' means no label, pass unlabeled='other'\.",
    ),
    "signs in zeros, as told": (
        SIGNS_IN_ZEROS,
        -1,
        UnlabeledMarkerWarning,
        r"Only 2 of 200 rows are unlabelled \(by -1\), and 197 rows are of class 0\.",
    ),
    "-1 and missing values": (
        [0, 1, -1, None],
        "auto",
        UnlabeledMarkerWarning,
        r"y contains both -1 and missing values, and all of these rows \(2\) count as unlabelled\. "
        r"If -1 is a class, pass unlabeled=None \(only missing values are unlabelled\)\.",
    ),
    "the text -1 beside empty ones": (
        ["1", "-1", "2", ""],
        "auto",
        UnlabeledMarkerWarning,
        r"y contains the text '-1', which counts as a class, beside 1 rows that an empty text",
    ),
    "a marker that is there and a word": (
        ["a", "b", "?", "unknown"],
        "?",
        UnlabeledMarkerWarning,
        r"the text 'unknown', which counts as a class, beside 1 rows that '\?' marks",
    ),
}


@pytest.mark.parametrize(("y", "marker", "category", "message"), DOUBTS.values(), ids=DOUBTS.keys())
def test_doubts(y: Any, marker: Any, category: type[Warning], message: str) -> None:
    warning = code_classes(y, marker).warning
    assert type(warning) is category
    with pytest.raises(category, match=message):
        raise warning


@pytest.mark.parametrize(
    ("y", "marker"),
    [
        (SIGNS_IN_ZEROS, 0),
        (np.repeat([0, -1, 1], [50, 25, 25]), "auto"),
        (np.repeat([0, -1, 1], [51, 25, 24]), -1),
        (np.repeat([0, -1, 1], [80, 10, 10]), -1),
        (np.repeat(["normal", "odd", "?"], [79, 1, 20]), "?"),
        (np.repeat(["normal", "odd", ""], [85, 5, 10]), "auto"),
        ([False] * 6 + [True, -1], "auto"),
        ([-2, -1, 0, 1], -1),
        ([-2, -1, 0, None], None),
        (np.repeat([0, -1], [149, 1]) + np.arange(150) % 3 * (np.arange(150) < 149), "auto"),
        (["a", "b", "?"], "?"),
        (["-1", "1", "?"], "?"),
        (["-1", "1", None], "auto"),
    ],
)
def test_no_doubt(y: Any, marker: Any) -> None:
    assert code_classes(y, marker).warning is None


# ---- any mix of types --------------------------------------------------------------------------

MISSING = [None, NAN, np.float32(NAN), pd.NA, pd.NaT, "", " \t"]
POOLS: list[list[Any]] = [
    [0, 1, 2, 3],
    [1],
    [0.0, 1.0, 2.0],
    [-3, -2, 0, 1],
    [np.int8(1), np.int64(2), np.float64(3)],
    ["a", "b", "c"],
    ["0", "1", "2"],
    [True, False],
    [np.True_, np.False_],
]
MINUS = [-1, -1.0, np.int8(-1), np.float32(-1)]
SUSPECT = ["?", "unknown", "NaN", "-1", "N/A", "Unlabelled"]
SIGNS = [{"-1", plus} for plus in ("1", "1.0")]
MARKERS = ["auto", "auto", "auto", None, NAN, "", -1, 0, 1, "?", "-1", "1", "a", True]


@st.composite
def any_mix(draw: st.DrawFn) -> tuple[list[Any], Any]:
    pools = [*draw(st.lists(st.sampled_from(POOLS), min_size=1, max_size=2))]
    pools += [pool for pool in (MISSING, MINUS, SUSPECT) if draw(st.booleans())]
    values = st.one_of([st.sampled_from(pool) for pool in pools])
    return draw(st.lists(values, min_size=2, max_size=12)), draw(st.sampled_from(MARKERS))


def kind(value: Any) -> str:
    """Written again, and not taken from the library."""
    if value is None or value is pd.NA or value is pd.NaT:
        return "missing"
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, str):
        return "str" if value.strip() else "missing"
    return "missing" if np.isnan(value) else "number"


def same(a: Any, b: Any) -> bool:
    return kind(a) == kind(b) and (kind(a) == "missing" or bool(a == b))


def is_unlabeled(value: Any, values: list[Any], marker: Any) -> bool:
    """The rule, row by row."""
    if not (isinstance(marker, str) and marker == "auto"):
        return same(value, marker)
    if kind(value) == "missing":
        return True
    labels = [v for v in values if kind(v) != "missing"]
    signs = all(kind(v) == "number" for v in labels) and {float(v) for v in labels} == {-1.0, 1.0}
    return same(value, -1) and not signs


CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "objects": lambda values: objects(*values),
    "Series": lambda values: pd.Series(values, dtype=object),
    "inferred Series": pd.Series,
    "array": np.array,
}


@example(([-1, 1, None], "auto"), "list")
@example(([-1, 0, 1, 0, 0], "auto"), "array")
@example((["a", "b", "nan"], None), "array")
@example(([0, np.True_], "auto"), "list")
@given(any_mix(), st.sampled_from(sorted(CONTAINERS)))
def test_nothing_becomes_a_class_or_is_hidden_in_silence(
    case: tuple[list[Any], Any], container: str
) -> None:
    values, marker = case
    y = CONTAINERS[container](values)
    if container in ("array", "inferred Series"):
        values = y.tolist()  # what NumPy and pandas made of them is what there is
    try:
        labels = code_classes(y, marker)
    except ValueError:
        return  # an answer, too, and before anything is learnt
    hidden = [is_unlabeled(value, values, marker) for value in values]
    assert labels.labeled.tolist() == [not hide for hide in hidden]
    for value, code in zip(values, labels.codes, strict=True):
        assert code < 0 or same(value, labels.classes[code])
    classes = labels.classes.tolist()
    assert classes == sorted(set(classes))
    assert len(classes) >= 2
    assert len({kind(label) for label in classes}) == 1
    assert kind(classes[0]) != "missing"
    assert bool(labels.unlabeled) == any(hidden)
    for value, hide in zip(values, hidden, strict=True):
        assert not hide or any(same(value, found) for found in labels.unlabeled)
    if not any(hidden):
        assert isinstance(labels.warning, NothingUnlabeledWarning)
    if any(label in SUSPECT for label in classes) and set(classes) not in SIGNS:
        assert labels.warning is not None
    numbers = kind(classes[0]) == "number"
    if numbers and -1 in classes and labels.warning is None:
        # A class only where something else was said to mark, or as one of two signs.
        assert marker != "auto" or classes == [-1, 1]
    if marker == "auto" and -1 in labels.unlabeled and numbers and labels.warning is None:
        assert min(classes) > -1
    known, labeled = read_known(y, marker, labels.classes)
    assert labeled.tolist() == labels.labeled.tolist()
    assert known.tolist() == labels.classes[labels.codes[labels.labeled]].tolist()


# ---- of labels to score on ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "marker", "classes", "labeled"),
    [
        ([0, -1, None, 1], "auto", [0, 1], [True, False, False, True]),
        ([-1, 1, None], "auto", [-1, 1], [True, True, False]),
        ([-1, -1], "auto", [-1, 1], [True, True]),
        ([1, -1], "auto", [0, 1], [True, False]),
        ([1, -1], "auto", [1.0, 2.0], [True, False]),
        (["a", "", "b"], "auto", ["a", "b"], [True, False, True]),
        ([True, -1], "auto", [False, True], [True, False]),
        ([0, 9, -1], 9, [-1, 0], [True, False, True]),
        ([0, 1, -1], None, [-1, 0, 1], [True, True, True]),
        (pd.Series([0, pd.NA], dtype="Int64"), "auto", [0, 1], [True, False]),
        (pl.Series([0, None, -1]), "auto", [0, 1], [True, False, False]),
    ],
)
def test_rows_with_a_label(y: Any, marker: Any, classes: list[Any], labeled: list[bool]) -> None:
    assert read_known(y, marker, np.array(classes))[1].tolist() == labeled


# ---- targets -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "y",
    [
        objects(1.5, *MISSING),
        [1.5, *MISSING],
        pd.Series([1.5, *MISSING], dtype=object),
    ],
    ids=["objects", "list", "Series"],
)
def test_targets_are_missing_in_any_way(y: Any) -> None:
    targets, labeled = read_targets(y)
    assert targets[0] == 1.5
    assert labeled.tolist() == [True] + [False] * len(MISSING)
    assert np.isnan(targets[1:]).all()


def test_targets_of_which_all_are_known() -> None:
    targets = np.array([1.0, 2.5, 3.0, 4.0])
    warning = target_warning(targets, np.ones(4, dtype=bool))
    assert type(warning) is NothingUnlabeledWarning
    assert "Set y to NaN where the target is unknown" in str(warning)
    assert target_warning(targets, np.array([True, False, True, True])) is None


def test_a_number_that_most_targets_are_may_mean_none() -> None:
    targets = np.array([-1.0, 2.5, -1.0, -1.0, 3.0])
    warning = target_warning(targets, np.ones(5, dtype=bool))
    assert "most targets are -1. If -1 means no target, set y to NaN there" in str(warning)
    two = target_warning(np.array([0.0, 0.0, 1.0]), np.ones(3, dtype=bool))
    assert "Set y to NaN where the target is unknown" in str(two)


SLIPS = [
    ("Barollo", "Barolo", True),  # a letter too many
    ("Baolo", "Barolo", True),  # one too few
    ("Barclo", "Barolo", True),  # another one
    ("Braolo", "Barolo", True),  # two that changed places
    ("barolo ", "Barolo", True),
    ("Barolo  d'Asti", "Barolo d'Asti", True),
    ("red Barollo 2019", "red Barolo 2019", True),
    ("group a", "group b", False),
    ("Barolo 2018", "Barolo 2019", False),
    ("12345", "12346", False),
    ("cat", "cut", False),
    ("a", "A", False),
    ("Barbera", "Barolo", False),
    ("red Barolo", "Barolo", False),
    ("red Barollo", "rod Barolo", False),
]


@pytest.mark.parametrize(("rare", "usual", "alike"), SLIPS)
def test_labels_that_are_written_almost_alike(rare: str, usual: str, alike: bool) -> None:
    assert near_miss([usual, rare, "other thing"], [10, 2, 1]) == ((rare, usual) if alike else None)
    assert near_miss([usual, rare], [9, 2]) is None  # too many for a slip
    y = np.array([usual] * 10 + [rare] * 2 + [None] * 5, dtype=object)
    warning = code_classes(y).warning
    assert isinstance(warning, SimilarLabelsWarning) == alike
    if alike:
        assert f"{rare!r} in 2 rows and {usual!r} in 10 rows" in str(warning)


@pytest.mark.parametrize("counts", [[4, 1], [2, 2], [1, 9]])
@pytest.mark.parametrize("slip", ["cat ", " cat", "cat\n"])
def test_blanks_around_a_label_are_a_slip_of_any_word(slip: str, counts: list[int]) -> None:
    assert near_miss(["cat", slip], counts) == (slip, "cat")
    y = np.array(["cat"] * counts[0] + [slip] * counts[1] + ["dog", None], dtype=object)
    assert isinstance(code_classes(y).warning, SimilarLabelsWarning)


def test_texts_of_which_most_are_there_once_may_be_no_classes() -> None:
    def doubt_of(labels: list[Any]) -> Any:
        return code_classes(np.array([*labels, None], dtype=object)).warning

    names = [f"{chr(97 + k)}-{100 + k}" for k in range(20)]
    doubt = doubt_of(names)
    assert isinstance(doubt, ManyClassesWarning)
    assert "20 different texts in 20 labels, such as 'a-100'" in str(doubt)
    assert doubt_of(names[:19]) is None  # one label each of few classes
    assert doubt_of(names * 2) is None  # half of the labels
    assert doubt_of(list(range(1, 31))) is None  # numbers have checks of their own


def test_many_labels_are_not_compared() -> None:
    names = [f"label {k}" for k in range(201)]
    assert near_miss([*names, "Barolo", "Barollo"], [1] * 201 + [9, 1]) is None


def test_doubts_can_be_left_out() -> None:
    with label_warnings_ignored():
        for kind in (NothingUnlabeledWarning, SimilarLabelsWarning, UnlabeledMarkerWarning):
            warnings.warn("told already", kind, stacklevel=1)
        with pytest.warns(OutlierWarning):
            warnings.warn("not told", OutlierWarning, stacklevel=1)
