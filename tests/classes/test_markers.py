"""Labels as users write them: unlabelled rows, errors and warnings."""

from __future__ import annotations

import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lapwing.classes.label_checks import label_warnings_ignored, near_miss
from lapwing.classes.labels import code_classes, read_known
from lapwing.exceptions import (
    ManyClassesWarning,
    NothingUnlabeledWarning,
    OutlierWarning,
    SimilarLabelsWarning,
    UnlabeledMarkerWarning,
)

NAN = float("nan")
LARGE = 2**53  # from here on floats cannot hold every integer


def objects(*values: Any) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def categories(*values: Any) -> pd.Categorical:
    return pd.Categorical(values, categories=sorted({v for v in values if v is not None}))


# ---- accepted labels ---------------------------------------------------------------------------

STRINGS = np.dtypes.StringDType()
DATES = [pd.Timestamp(year).date() for year in ("2021", "2020")]
INTS, LARGE_INTS, TEXTS = [2, None, 1], [LARGE, None, LARGE + 1], ["b", None, "a"]
LAST = ["a", "b", None]

# y, marker, the labels with None where unlabelled, the markers that were found.
READ: dict[str, tuple[Any, Any, list[Any], tuple[Any, ...]]] = {
    # With 'auto', all of it without a warning.
    "ints": (np.array([3, -1, 0]), "auto", [3, None, 0], (-1,)),
    "None between texts": (TEXTS, "auto", TEXTS, (None,)),
    "an empty text": (["b", "", "a"], "auto", TEXTS, ("",)),
    "a blank text": (np.array(["b", "  ", "a"]), "auto", TEXTS, ("",)),
    **{
        f"an invisible {blank!a}": (objects("a", "b", blank), "auto", LAST, ("",))
        for blank in ("\u200b", "\ufeff", " \u00ad ", "\u3000")
    },
    "invisible in an array": (np.array(["a", "b", "\u200b"]), "auto", LAST, ("",)),
    "an empty text and None": (["b", "", "a", None], "auto", [*TEXTS, None], (None, "")),
    "the number -1 between texts": (["b", -1, "a"], "auto", TEXTS, (-1,)),
    "NaN between texts": (objects("b", NAN, "a"), "auto", TEXTS, (None,)),
    "every missing value": (
        objects("b", None, NAN, pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("NaN"), "a"),
        *("auto", ["b", *[None] * 6, "a"], (None,)),
    ),
    "-1 between booleans": ([True, -1, False], "auto", [True, None, False], (-1,)),
    "None between booleans": ([True, None, False], "auto", [True, None, False], (None,)),
    "signs beside NaN": (np.array([-1, NAN, 1.0]), "auto", [-1.0, None, 1.0], (None,)),
    "as many unlabelled": (np.repeat([0, 1, -1], 2), "auto", [0, 0, 1, 1, None, None], (-1,)),
    "pluses and minuses": (["+", "-", ""], "auto", ["+", "-", None], ("",)),
    "texts of variable width": (np.array(["b", "", "a"], STRINGS), "auto", TEXTS, ("",)),
    "dates": (
        np.array(["2021", "NaT", "2020"], "M8[Y]"), "auto", [DATES[0], None, DATES[1]], (None,)
    ),
    "a masked array": (np.ma.array([2, 5, 1], mask=[0, 1, 0]), "auto", INTS, (None,)),
    "pandas Int64": (pd.Series(INTS, dtype="Int64"), "auto", INTS, (None,)),
    "pandas string": (pd.Series([*TEXTS, ""], dtype="string"), "auto", [*TEXTS, None], (None, "")),
    "pandas str": (pd.Series(TEXTS, dtype="str"), "auto", TEXTS, (None,)),
    "pandas floats": (pd.Series(INTS), "auto", [2.0, None, 1.0], (None,)),
    "categories": (categories(*INTS), "auto", INTS, (None,)),
    "an index of categories": (pd.CategoricalIndex(categories(*INTS)), "auto", INTS, (None,)),
    "categories with -1": (pd.Series(categories(2, -1, 1)), "auto", INTS, (-1,)),
    "large categories": (pd.Series(categories(*LARGE_INTS)), "auto", LARGE_INTS, (None,)),
    "polars ints": (pl.Series(INTS), "auto", INTS, (None,)),
    **{
        f"polars {dtype}": (pl.Series(TEXTS, dtype=dtype), "auto", TEXTS, (None,))
        for dtype in (pl.Categorical, pl.Enum(["b", "a"]))
    },
    # With another marker.
    "an int": ([0, 1, 9], 9, [0, 1, None], (9,)),
    "a NumPy int": (np.array([-1, 1, 0]), np.int64(0), [-1, 1, None], (0,)),
    "an int in floats": ([0.0, 1.0, 9.0], 9, [0.0, 1.0, None], (9,)),
    "an int in a tuple": ((3, -1, 0), -1, [3, None, 0], (-1,)),
    "an int that is not there": (np.array([2, 0, 7], dtype=np.uint8), -1, [2, 0, 7], ()),
    "None in texts": (LAST, None, LAST, (None,)),
    "NaN in texts": (["a", "b", NAN], None, LAST, (None,)),
    "NaN for NaN": (np.array([-1, NAN, 1.0]), NAN, [-1.0, None, 1.0], (None,)),
    "None for NaN": (np.array([-1, NAN, 1.0]), None, [-1.0, None, 1.0], (None,)),
    "NaN for None": (TEXTS, NAN, TEXTS, (None,)),
    "an empty text for None": (LAST, "", LAST, (None,)),
    "NaN for an empty text": (["a", "b", ""], NAN, LAST, ("",)),
    "a text": (np.array(["cat", "?", "ant"]), "?", ["cat", None, "ant"], ("?",)),
    "a text in objects": (objects(*map(np.str_, "b?a")), "?", TEXTS, ("?",)),
    "a NumPy text": (["b", "?", "a"], np.str_("?"), TEXTS, ("?",)),
    "a number between texts": (["b", -1, "a"], -1, TEXTS, (-1,)),
    "a text between numbers": ([1, "?", 2], "?", [1, None, 2], ("?",)),
    "a text of a number": (["1", "-1", "0"], "-1", ["1", None, "0"], ("-1",)),
    "texts of numbers": (["1", "-1", "0"], None, ["1", "-1", "0"], ()),
    "booleans beside 1": ([True, 1, False], 1, [True, None, False], (1,)),
    "booleans are no numbers": (np.array([True, False]), 0, [True, False], ()),
    "numbers are no booleans": (np.array([1, 0]), True, [1, 0], ()),
    "NumPy ints in objects": (objects(np.int8(5), np.int64(-1), 7), -1, [5, None, 7], (-1,)),
    "an index of the rows": (pd.Series([2, -1, 1], index=[9, 8, 7]), -1, INTS, (-1,)),
    "a category": (pd.Series(["b", "?", "a"], dtype="category"), "?", TEXTS, ("?",)),
    "large ints": (pd.Series(LARGE_INTS, dtype="Int64"), None, LARGE_INTS, (None,)),
    "polars booleans": (pl.Series([True, None, False]), NAN, [True, None, False], (None,)),
    "all of them": ([0, 1, "", None, -1], "auto", [0, 1, None, None, None], (-1, None, "")),
}  # fmt: skip


@pytest.mark.parametrize(("y", "marker", "expected", "found"), READ.values(), ids=READ.keys())
def test_labels_of_every_type_are_read(y: Any, marker: Any, expected: Any, found: Any) -> None:
    labels = code_classes(y, marker)
    classes = sorted({label for label in expected if label is not None})
    assert labels.classes.tolist() == classes
    assert [type(a) for a in labels.classes.tolist()] == [type(b) for b in classes]
    assert [classes[code] if code >= 0 else None for code in labels.codes] == expected
    assert labels.unlabeled == found
    assert [type(a) for a in labels.unlabeled] == [type(b) for b in found]
    assert labels.warning is None or marker != "auto" or len(found) == 3
    known, labeled = read_known(y, marker, labels.classes)
    assert labeled.tolist() == labels.labeled.tolist()
    assert known.tolist() == labels.classes[labels.codes[labels.labeled]].tolist()
    assert known.dtype == labels.classes.dtype


@pytest.mark.parametrize(
    "column",
    [
        np.array([[2], [-1], [1]]),
        pd.DataFrame({"y": pd.Series(categories(2, None, 1))}),
        pd.DataFrame({"y": pd.Series(INTS, dtype="Int64")}),
        pl.DataFrame({"y": INTS}),
    ],
    ids=["array", "pandas categories", "pandas Int64", "polars"],
)
def test_a_table_of_one_column_is_read_with_a_warning(column: Any) -> None:
    with pytest.warns(UserWarning, match="A column-vector y was passed"):
        labels = code_classes(column)
    assert labels.classes.tolist() == [1, 2]
    assert all(type(label) is int for label in labels.classes.tolist())
    assert labels.codes.tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    ("y", "marker", "classes", "labeled"),
    [
        ([0, -1, None, 1], "auto", [0, 1], [True, False, False, True]),
        ([-1, 1, None], "auto", [-1, 1], [True, True, False]),
        ([-1, -1], "auto", [-1, 1], [True, True]),
        ([1, -1], "auto", [1.0, 2.0], [True, False]),
        ([True, -1], "auto", [False, True], [True, False]),
        ([0, 9, -1], 9, [-1, 0], [True, False, True]),
        ([0, 1, -1], None, [-1, 0, 1], [True, True, True]),
        ([], "auto", [0, 1], []),
        (pl.Series([0, None, -1]), "auto", [0, 1], [True, False, False]),
    ],
)
def test_minus_one_is_a_label_to_score_on_if_it_is_a_class_of_the_fit(
    y: Any, marker: Any, classes: list[Any], labeled: list[bool]
) -> None:
    assert read_known(y, marker, np.array(classes))[1].tolist() == labeled


# ---- suspect labels ----------------------------------------------------------------------------

ZEROS = np.repeat([0, -1, 1], [197, 2, 1])
BYTES = np.repeat([0, 1, 255], [4, 4, 72]).astype(np.uint8)
NAMES = [f"{chr(97 + k)}-{100 + k}" for k in range(20)]
CHOOSE = r"Pass unlabeled={} if it marks unlabelled rows, or unlabeled=None \(only missing values a"
MIXED = r"Unknown label type: y mixes labels of types {}\. Give all labels one type"
COLUMNS = r"y has 2 columns, but must have one here\. Give one at a time"
NO_MORE = r"\. Label points of the other"

# y, marker and the message.
REFUSED: dict[str, tuple[Any, Any, str]] = {
    "a 0 beside signs": (ZEROS, "auto", r"197 of the 200 labels are 0, beside -1 \(2 rows\) and 1 "
        r"\(1 rows\): 0 may mark .*Pass unlabeled=0 if it does, or unlabeled=-1 if -1 marks them"),
    "a 0 beside signs, floats": (ZEROS * 1.0, "auto", r"197 of the 200 labels are 0,"),
    "-1 as a byte": (BYTES, "auto", r"72 of the 80 labels are 255, which is -1 in the type uint8, "
        r"and no row is unlabelled\. " + CHOOSE.format(255)),
    "-1 as four bytes": (np.repeat([0, 1, 2**32 - 1], [4, 4, 9]).astype(np.uint32), "auto",
        r"9 of the 17 labels are 4294967295, which is -1 in the type uint32,"),
    "numbers below -1": ([-2, -1, 0, 1, 2], "auto", r"y contains -1 and labels below it, such as "
        r"-2, so that -1 may be one more class\. " + CHOOSE.format("-1")),
    "the text -1 for a number": ([0, 1, -1], "-1", r"y contains the number -1, which would be a "
        r"class, and no row is unlabelled with unlabeled='-1'\. " + CHOOSE.format("-1")),
    "the text 9.0 for a number": ([0, 1, 9], "9.0", r"the number 9, .*Pass unlabeled=9 if"),
    "the number 9 for a text": (["0", "1", "9"], 9, r"the text '9', .*Pass unlabeled='9' if"),
    "the text -1": (["0", "1", "-1"], "auto", r"the text '-1', .*" + CHOOSE.format("'-1'")),
    "the text -1.0": (np.array(["a", -1.0, "b"]), "auto", r"the text '-1\.0', .*'-1\.0' if"),
    "the text -1 made by NumPy": (np.array(["a", -1, "b"]), -1, r"the text '-1', which would be"),
    "another word than the marker": (["a", "b", "Unlabelled"], "unlabeled", r"'Unlabelled', whi"),
    "a word beside a number as marker": (["a", "b", "none"], -1, r"the text 'none', which"),
    "one class": ([3, 3], -1, r"one class only, 3, besides .*at least 2 classes" + NO_MORE),
    "one class of texts": (["a", None], "auto", r"one class only, 'a', .*" + NO_MORE),
    "one class, with 'auto'": ([-1, 0], "auto", r"one class only, 0, besides .* unlabeled='auto': "
        r".* If -1 is a class and no row is unlabelled, or .*, pass unlabeled=None; else label"),
    "a marker that is a class": ([-1, 1, -1, 1], -1, r"y contains one class only, 1, .*If -1 is a "
        r"class and not the marker, .*, such as unlabeled=None \(missing values\) or unlabeled=0,"),
    "a marker that is a class beside 0": ([-1, 0], -1, r"one class only, 0, .*such as "
        r"unlabeled=None \(missing values\), and mark them with it"),
    "a text that is a class": (["no", "yes"], "no", r"only, 'yes', .*='no'.*If 'no' is a class"),
    "no label": ([-1, -1], -1, r"y contains no label: all 2 entries are .* unlabeled=-1\. Label"),
    "no label with 'auto'": ([-1, None, ""], "auto", r"y contains no label: all 3 entries"),
    "missing values beside a number": (["a", None, "b"], -1, r"missing values \(None, NaN or empty "
        r"texts\) besides the unlabelled marker unlabeled=-1\. .*, leave unlabeled='auto', or wri"),
    "empty texts beside a text": (["a", "b", "", "?"], "?", r"missing values .*unlabeled='\?'"),
    "NaN beside a number": (np.array([0, NAN, 1.0]), -1, r"Input y contains NaN besides the unlab"),
    "infinity": ([0.0, np.inf, 1.0], -1, r"infinity \(inf\); class labels must be finite"),
    "texts and numbers": (["a", 1, None], "auto", MIXED.format("number, str")),
    "booleans and numbers": ([True, 0, 2], -1, MIXED.format("bool, number")),
    "tuples": (objects((1,), (2,)), -1, r"Unknown label type: .*type tuple; use numbers, strings"),
    "NumPy dates": (objects(*np.array(["2020", "2021"], "M8[ns]")), None, r".*type datetime64"),
    "decimals": ([Decimal(1), Decimal(2)], -1, r"Unknown label type: .*type Decimal"),
    "fractions": ([0.5, 1.25], -1, r"Unknown label type: y contains fractions, such as 0\.5, whic"),
    "two columns": (np.zeros((3, 2)), -1, COLUMNS),
    "lists of two": ([[0, 1], [1, 0]], -1, COLUMNS),
    "a list as marker": ([0, 1], [-1], r"unlabeled=\[-1\] cannot mark unlabelled points: give"),
    "a type as marker": ([0, 1], int, r"unlabeled=<class 'int'> cannot mark"),
}  # fmt: skip


@pytest.mark.parametrize(("y", "marker", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_ambiguous_labels_are_refused(y: Any, marker: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        code_classes(y, marker)
    assert "np." not in str(caught.value)  # labels are written as users do


NOTHING, MARKER = NothingUnlabeledWarning, UnlabeledMarkerWarning
SIGNS_ONLY = r"-1 and 1 are all that y contains, so both are classes\. If -1 means no label"

# y, marker, the kind of the warning, and its message.
DOUBTED: dict[str, tuple[Any, Any, type[Warning], str]] = {
    "signs": ([-1, 1, -1, 1], "auto", NOTHING, r"No row of y is unlabelled \(unlabeled='auto'\), "
        r"so nothing is learnt from unlabelled rows\. " + SIGNS_ONLY),
    "signs, as texts": (["-1", "1"], "auto", NOTHING, SIGNS_ONLY),
    "nothing unlabelled": ([0, 1, 2], "auto", NOTHING, r"Set y to None or NaN where there is no lab"
        r"el, or pass what y contains there as unlabeled=\. Meta-estimators that encode y"),
    "a number that is not there": ([0, 1], 9, NOTHING, r"Set y to 9 where there"),
    "a text that is not there": ([0, 1], "?", NOTHING, r"Set y to '\?' where the"),
    **{
        f"-1 in place of {marker}": ([0, 1, -1], marker, NOTHING,
            rf"\(unlabeled={marker}\).* If -1 means no label, pass unlabeled=-1\.")
        for marker in (9, None)
    },
    **{
        f"a class {label!r} that dominates": (np.repeat([label, *others], [97, 2, 1]), "auto",
            NOTHING, rf"Most rows are of class {label!r}\. If {label!r} means no label, pass unl")
        for label, others in ((0, (1, 2)), ("other", ("a", "b")))
    },
    "few unlabelled beside a class that dominates": (
        ["other"] * 95 + ["a", "b", "c"] + [None] * 2, "auto", MARKER,
        r"Only 2 of 100 rows are unlabelled \(by a missing value\), and 95 rows are of class "
        r"'other'\. If 'other' means no label, pass unlabeled='other'\."),
    "a 0 beside signs": (ZEROS, -1, MARKER, r"2 of 200 rows are unlabelled \(by -1\), and 197"),
    "-1 and missing values": ([0, 1, -1, None], "auto", MARKER, r"y contains both -1 and missing "
        r"values, and all of these rows \(2\) count .*If -1 is a class, pass unlabeled=None \(onl"),
    "the text -1 beside empty ones": (["1", "-1", "2", ""], "auto", MARKER,
        r"y contains the text '-1', which counts as a class, beside 1 rows that an empty text"),
    "a word beside a marker": (["a", "b", "?", "unknown"], "?", MARKER,
        r"the text 'unknown', which counts as a class, beside 1 rows that '\?' marks"),
    "a name for each row": ([*NAMES, None], "auto", ManyClassesWarning,
        r"20 different texts in 20 labels, such as 'a-100', and each counts as a class"),
    "another spelling": (["Barolo"] * 10 + ["Barollo"] * 2 + [None], "auto", SimilarLabelsWarning,
        r"the label 'Barollo' in 2 rows and 'Barolo' in 10 rows, and both count as classes"),
    "another blank": (["a ", "a", "b", None], "auto", SimilarLabelsWarning, r"'a ' in 1 row and"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("y", "marker", "category", "message"), DOUBTED.values(), ids=DOUBTED.keys()
)
def test_suspect_labels_are_reported(y: Any, marker: Any, category: Any, message: str) -> None:
    warning = code_classes(y, marker).warning
    assert type(warning) is category
    with pytest.raises(category, match=message):
        raise warning


WORDS = [
    "unlabeled", "Unlabelled", "UNLABELED ", "unknown", "none", "None", "nan", "NaN", "NaT",
    "<NA>", "NA", "n/a", "N/A", "null", "?", "-", "missing", "not_labeled", "No label",
]  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_a_class_with_the_name_of_a_marker_is_refused_or_reported(word: str) -> None:
    y = ["a", "b", word]
    with pytest.raises(ValueError, match="which would be a class") as caught:
        code_classes(y)
    assert f"Pass unlabeled={word!r} if" in str(caught.value)
    assert code_classes(y, word).classes.tolist() == ["a", "b"]
    # With unlabeled=None all texts are classes.
    for labels, category, message in (
        (code_classes(y, None), NOTHING, f"If {word!r} means no label, pass unlabeled={word!r}."),
        (
            code_classes([*y, None]),
            MARKER,
            f"y contains the text {word!r}, which counts as a class, beside 1 rows that a missing "
            "value marks as unlabelled. If it means no label, mark its rows in the same way; if it "
            "is a class, another name is safer.",
        ),
    ):
        assert word in labels.classes
        assert type(labels.warning) is category
        assert message in str(labels.warning)


@pytest.mark.parametrize(
    ("y", "marker"),
    [
        *((["a", "b", word, None], "auto") for word in (
            "un_known", "nano", "banana", "auto", "0", "u", "no", "nonesuch",
        )),
        (ZEROS, 0),
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
        (BYTES, 255),
        ([*NAMES[:19], None], "auto"),  # one label each of few classes
        ([*NAMES * 2, None], "auto"),  # half of the labels
        ([*range(1, 31), None], "auto"),  # numbers have checks of their own
        (np.array([*range(1, 31), NAN]), "auto"),
    ],
)  # fmt: skip
def test_usual_labels_are_not_reported(y: Any, marker: Any) -> None:
    assert code_classes(y, marker).warning is None


def test_the_largest_unsigned_number_may_be_a_class() -> None:
    assert code_classes(BYTES, None).classes.tolist() == [0, 1, 255]
    assert code_classes(BYTES[BYTES != 1]).classes.tolist() == [0, 255]  # a mask of a picture


@pytest.mark.parametrize(
    ("rare", "usual", "alike"),
    [
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
    ],
)
def test_a_rare_label_with_almost_the_same_spelling(rare: str, usual: str, alike: bool) -> None:
    assert near_miss([usual, rare, "other thing"], [10, 2, 1]) == ((rare, usual) if alike else None)
    assert near_miss([usual, rare], [9, 2]) is None  # too many for a slip
    others = [f"label {k}" for k in range(201)]  # too many to compare
    assert near_miss([*others, usual, rare], [1] * 201 + [10, 2]) is None


@pytest.mark.parametrize("counts", [[4, 1], [2, 2], [1, 9]])
@pytest.mark.parametrize("slip", ["cat ", " cat", "cat\n"])
def test_labels_that_differ_in_surrounding_blanks_are_similar(slip: str, counts: list[int]) -> None:
    assert near_miss(["cat", slip], counts) == (slip, "cat")


def test_warnings_of_labels_can_be_ignored() -> None:
    with label_warnings_ignored():
        for category in (NOTHING, MARKER, ManyClassesWarning, SimilarLabelsWarning):
            warnings.warn("ignored", category, stacklevel=1)
        with pytest.warns(OutlierWarning):
            warnings.warn("not ignored", OutlierWarning, stacklevel=1)


# ---- any mix of types --------------------------------------------------------------------------

MISSING = [None, NAN, np.float32(NAN), pd.NA, pd.NaT, "", " \t"]
MINUS = [-1, -1.0, np.int8(-1)]
POOLS = [
    [0, 1.0, 2, np.int8(3)],
    [-3, 0, 1],
    ["a", "b", "1"],
    ["?", "-1", "NaN"],
    [True, np.False_],
]
MARKERS = ["auto", "auto", "auto", None, NAN, -1, 1, "?", "-1", True]


@st.composite
def any_mix(draw: st.DrawFn) -> tuple[list[Any], Any]:
    pools = draw(st.lists(st.sampled_from(POOLS), min_size=1, max_size=2))
    pools += [pool for pool in (MISSING, MINUS) if draw(st.booleans())]
    values = st.one_of([st.sampled_from(pool) for pool in pools])
    return draw(st.lists(values, min_size=2, max_size=12)), draw(st.sampled_from(MARKERS))


def kind(value: Any) -> str:
    """Written again, and not taken from the library."""
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, str):
        return "str" if value.strip() else "missing"
    return "missing" if pd.isna(value) else "number"


def same(a: Any, b: Any) -> bool:
    return kind(a) == kind(b) and (kind(a) == "missing" or bool(a == b))


def is_unlabeled(value: Any, values: list[Any], marker: Any) -> bool:
    """The rule, row by row."""
    if not same(marker, "auto"):
        return same(value, marker)
    labels = [v for v in values if kind(v) != "missing"]
    signs = all(kind(v) == "number" for v in labels) and {float(v) for v in labels} == {-1.0, 1.0}
    return kind(value) == "missing" or (same(value, -1) and not signs)


@example(([-1, 0, 1, 0, 0], "auto"))
@example((["a", "b", "nan"], None))
@example(([0, np.True_], "auto"))
@given(any_mix())
def test_any_mix_of_labels_is_read_by_the_rule_or_refused(case: tuple[list[Any], Any]) -> None:
    values, marker = case
    try:
        labels = code_classes(values, marker)
    except ValueError:
        return  # an answer, too, and before anything is learnt
    hidden = [is_unlabeled(value, values, marker) for value in values]
    assert labels.labeled.tolist() == [not hide for hide in hidden]
    for value, hide, code in zip(values, hidden, labels.codes, strict=True):
        assert any(
            same(value, one) for one in (labels.unlabeled if hide else labels.classes[[code]])
        )
    assert len({kind(label) for label in labels.classes.tolist()}) == 1
    assert bool(labels.unlabeled) == any(hidden)
    assert any(hidden) or isinstance(labels.warning, NothingUnlabeledWarning)
