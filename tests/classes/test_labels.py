"""Labels in, codes out, and back: every type of label and marker that users bring."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lapwing.classes.labels import code_classes, code_known, read_targets
from lapwing.classes.markers import unlabeled_mask

NAN = float("nan")


def objects(*values: Any) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


# y, marker, classes, codes: what a user may write, and what it means. Every container and type is
# in test_markers.py, with the marker 'auto'; here is what a chosen marker changes.
READ: dict[str, tuple[Any, Any, list[Any], list[int]]] = {
    "a tuple": ((3, -1, 0), -1, [0, 3], [1, -1, 0]),
    "small unsigned ints": (np.array([2, 0, 7], dtype=np.uint8), -1, [0, 2, 7], [1, 0, 2]),
    "minus one is a class": (np.array([-1, 1, 0]), 0, [-1, 1], [0, 1, -1]),
    "a NumPy marker": (np.array([-1, 1, 0]), np.int64(0), [-1, 1], [0, 1, -1]),
    "NaN in floats, marker NaN": (np.array([-1, NAN, 1.0]), NAN, [-1.0, 1.0], [0, -1, 1]),
    "NaN in floats, marker None": (np.array([-1, NAN, 1.0]), None, [-1.0, 1.0], [0, -1, 1]),
    "None between texts, marker NaN": (["b", None, "a"], NAN, ["a", "b"], [1, -1, 0]),
    "texts": (np.array(["cat", "?", "ant"]), "?", ["ant", "cat"], [1, -1, 0]),
    "an empty text": (["cat", "", "ant"], "", ["ant", "cat"], [1, -1, 0]),
    "NumPy texts in objects": (
        objects(np.str_("cat"), np.str_("?"), np.str_("ant")),
        "?",
        ["ant", "cat"],
        [1, -1, 0],
    ),
    "a NumPy text as marker": (["cat", "?", "ant"], np.str_("?"), ["ant", "cat"], [1, -1, 0]),
    "a number between texts": (["cat", -1, "ant"], -1, ["ant", "cat"], [1, -1, 0]),
    "a text between numbers": ([1, "?", 2], "?", [1, 2], [0, -1, 1]),
    "texts of numbers": (["1", "-1", "0"], "-1", ["0", "1"], [1, -1, 0]),
    "texts of numbers without marker": (["1", "-1", "0"], None, ["-1", "0", "1"], [2, 0, 1]),
    "booleans are not the marker 1": ([True, 1, False], 1, [False, True], [1, -1, 0]),
    "an array of booleans holds no 0": (np.array([True, False]), 0, [False, True], [1, 0]),
    "ones are not the marker True": (np.array([1, 0]), True, [0, 1], [1, 0]),
    "NumPy ints in objects": (objects(np.int8(5), np.int64(-1), 7), -1, [5, 7], [0, -1, 1]),
    "an index of the rows": (pd.Series([2, -1, 1], index=[9, 8, 7]), -1, [1, 2], [1, -1, 0]),
    "one category is the marker": (
        pd.Series(["b", "?", "a"], dtype="category"),
        "?",
        ["a", "b"],
        [1, -1, 0],
    ),
    "ints with gaps that floats cannot hold": (
        pd.Series([2**53, pd.NA, 2**53 + 1], dtype="Int64"),
        None,
        [2**53, 2**53 + 1],
        [0, -1, 1],
    ),
    "polars booleans with null": (
        pl.Series([True, None, False]),
        NAN,
        [False, True],
        [1, -1, 0],
    ),
}


@pytest.mark.parametrize(("y", "marker", "classes", "codes"), READ.values(), ids=READ.keys())
def test_labels_are_read(y: Any, marker: Any, classes: list[Any], codes: list[int]) -> None:
    labels = code_classes(y, marker)
    assert labels.classes.tolist() == classes
    assert [type(label) for label in labels.classes.tolist()] == [type(label) for label in classes]
    assert labels.codes.tolist() == codes


def test_labels_are_not_modified() -> None:
    y = objects(np.int64(1), None, 2)
    before = list(y)
    code_classes(y, None)
    assert all(a is b for a, b in zip(y, before, strict=True))
    for array in (np.array([1, -1, 2]), np.array(["a", "b"])):
        array.flags.writeable = False
        code_classes(array, -1)
    targets = np.array([1.0, NAN])
    read, _ = read_targets(targets)
    assert not np.shares_memory(read, targets)


def test_a_column_is_taken_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="A column-vector y was passed"):
        assert code_classes(np.array([[1], [0], [-1]]), -1).codes.tolist() == [1, 0, -1]


WRONG: dict[str, tuple[Any, Any, str]] = {
    "no label": (
        [-1, -1],
        -1,
        r"y contains no label: all 2 entries are .* unlabeled=-1\. Label at",
    ),
    "no label, None": ([None, NAN], None, r"y contains no label: .* unlabeled=None"),
    "one class": (
        [3, 3],
        -1,
        r"y contains one class only, 3, besides .*at least 2 classes\. Label points of the other",
    ),
    "the usual collision": (
        [-1, 1, -1, 1],
        -1,
        r"y contains one class only, 1, .*If -1 is a class and not the marker, choose another "
        r"marker for unlabelled points, such as unlabeled=None \(missing values\) or unlabeled=0,",
    ),
    "collision where 0 is a class": (
        [-1, 0],
        -1,
        r"one class only, 0, .*such as unlabeled=None \(missing values\), and mark them with it",
    ),
    "collision of texts": (
        ["no", "yes"],
        "no",
        r"one class only, 'yes', .*unlabeled='no'.*If 'no' is a class",
    ),
    "a number became a text": (
        np.array(["a", -1, "b"]),
        -1,
        r"y contains the text '-1', which would be a class, and no row is unlabelled with "
        r"unlabeled=-1\. Pass unlabeled='-1' .* or unlabeled=None \(only missing values are",
    ),
    "missing values with another marker": (
        ["a", None, "b"],
        -1,
        r"y contains missing values \(None, NaN or empty texts\) besides the unlabelled marker "
        r"unlabeled=-1\. If that marks unlabelled points, leave unlabeled='auto', or write the m",
    ),
    "NaN with another marker": (
        np.array([0, NAN, 1.0]),
        -1,
        r"Input y contains NaN besides the unlabelled marker unlabeled=-1\. If that marks",
    ),
    "infinity": (
        [0.0, np.inf, 1.0],
        -1,
        r"Input y contains infinity \(inf\); class labels must",
    ),
    "mixed types": (
        ["a", 1, "b"],
        None,
        r"Unknown label type: y mixes labels of types number, str\. Give all labels one type",
    ),
    "booleans and numbers": ([True, 0, 2], -1, r"mixes labels of types bool, number"),
    "tuples": (objects((1,), (2,)), -1, r"Unknown label type: .*type tuple; use numbers, strings"),
    "decimals": ([Decimal(1), Decimal(2)], -1, r"Unknown label type: .*type Decimal"),
    "measurements": (
        [0.5, 1.25, 2.0],
        -1,
        r"Unknown label type: y contains fractions, such as 0\.5, which are not classes",
    ),
    "two columns": (
        np.zeros((3, 2)),
        -1,
        r"y has 2 columns, but must have one here\. Give one at a time",
    ),
    "lists of two": (
        [[0, 1], [1, 0]],
        -1,
        r"y has 2 columns, but must have one here\. Give one at a time",
    ),
    "a list as marker": (
        [0, 1],
        [-1],
        r"unlabeled=\[-1\] cannot mark unlabelled points: give 'auto', a number, a string, None",
    ),
    "a type as marker": ([0, 1], int, r"unlabeled=<class 'int'> cannot mark"),
}


@pytest.mark.parametrize(("y", "marker", "message"), WRONG.values(), ids=WRONG.keys())
def test_wrong_labels(y: Any, marker: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        code_classes(y, marker)
    assert "np." not in str(caught.value)  # labels are written as users do


def test_the_mask_of_an_array_of_numbers_and_a_marker_of_another_kind_is_empty() -> None:
    for y, marker in (
        (np.array([1, 2]), "1"),
        (np.array(["1", "2"]), 1),
        (np.array([1, 0]), None),
        (np.array([1.0, 2.0]), "nan"),
        (objects(1, 0), True),
        (objects(True, False), 1),
        (objects("1", None), 1),
    ):
        assert not unlabeled_mask(y, marker).any()


# ---- regression --------------------------------------------------------------------------------

TARGETS: dict[str, tuple[Any, list[float]]] = {
    "floats": (np.array([1.5, NAN]), [1.5, NAN]),
    "float32": (np.array([1.5, NAN], dtype=np.float32), [1.5, NAN]),
    "ints": ([3, -1], [3.0, -1.0]),
    "booleans": ([True, False], [1.0, 0.0]),
    "None": ([1.5, None], [1.5, NAN]),
    "a Series with NA": (pd.Series([2, pd.NA], dtype="Int64"), [2.0, NAN]),
    "a Series with None": (pd.Series([2.5, None]), [2.5, NAN]),
    "polars with null": (pl.Series([2.5, None]), [2.5, NAN]),
    "polars ints with null": (pl.Series([2, None]), [2.0, NAN]),
    "decimals": ([Decimal("1.5"), None], [1.5, NAN]),
}


@pytest.mark.parametrize(("y", "expected"), TARGETS.values(), ids=TARGETS.keys())
def test_targets_are_read(y: Any, expected: list[float]) -> None:
    targets, labeled = read_targets(y)
    assert targets.dtype == np.float64
    np.testing.assert_array_equal(targets, expected)
    np.testing.assert_array_equal(labeled, ~np.isnan(expected))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([NAN, NAN], r"y contains no label: all 2 entries are NaN.* Give at least one target"),
        ([1.0, np.inf, NAN], r"Input y contains infinity, first at row 1\. Only missing"),
        (
            [1.0, -1e101, NAN],
            r"y contains values up to 1e\+101, whose squares overflow.* Scale y to about one",
        ),
        (
            [1.0, "a"],
            r"y must be numbers for a regression, with NaN where unlabelled; it holds 'a'",
        ),
        (["1.0", "2.0"], r"y must be numbers .*it holds '1\.0', a text\. Convert y to numbers"),
        (
            ["1.0", None, " ", "2,5"],
            r"holds texts, and that of row 3 is not a number: '2,5'\. Cor",
        ),
        ([1.0, None, "2 m"], r"it holds '2 m' in row 2"),
        (
            np.zeros((3, 2)),
            r"y has 2 columns, but must have one here\. Give one at a time",
        ),
        (pd.Series(["a", None]), r"y must be numbers .*it holds 'a'"),
        (pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"])), r"y must be numbers .*it holds"),
        ([1.0, [2.0]], r"inhomogeneous|y must be numbers"),
        (np.zeros((2, 2, 2)), r"Found array with dim 3"),
    ],
)
def test_wrong_targets(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_targets(y)


# ---- validation labels -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "classes", "codes"),
    [
        ([2, 1, 2], np.array([1, 2]), [1, 0, 1]),
        ([2.0, 1.0], np.array([1, 2]), [1, 0]),
        (pd.Series(["b", "a"]), objects("a", "b"), [1, 0]),
        (np.array(["b", "a"]), objects("a", "b"), [1, 0]),
        (pl.Series(["b"]), np.array(["a", "b"]), [1]),
        ([True, False], np.array([False, True]), [1, 0]),
    ],
)
def test_known_labels_are_coded(y: Any, classes: np.ndarray, codes: list[int]) -> None:
    assert code_known(y, classes).tolist() == codes


@pytest.mark.parametrize(
    ("y", "named"),
    [([1, 7], "7"), (["a", 1], "'a'"), ([True, 1], "True")],
)
def test_unknown_labels_are_named(y: Any, named: str) -> None:
    message = f"not among the training labels: {named}. Give labelled points of the classes 1, 2."
    with pytest.raises(ValueError, match=re.escape(message)):
        code_known(y, np.array([1, 2]))


@pytest.mark.parametrize(
    ("y", "marker"),
    [([1, 2, -1], "auto"), ([1, 2, 9], 9), ([1, 2, None], 9), (np.array([1.0, 2, NAN]), -1)],
)
def test_labels_to_validate_on_hold_no_marker(y: Any, marker: Any) -> None:
    with pytest.raises(ValueError, match="1 of the 3 entries of y are unlabelled, first in row 2"):
        code_known(y, np.array([1, 2]), marker)
    assert code_known([1, -1], np.array([-1, 1])).tolist() == [1, 0]
