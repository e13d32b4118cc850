"""Regression targets, and labels of the classes of a fit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lapwing.classes.label_checks import target_warning
from lapwing.classes.labels import code_classes, code_known, read_targets
from lapwing.exceptions import NothingUnlabeledWarning

NAN = float("nan")
MISSING = [None, NAN, np.float32(NAN), pd.NA, pd.NaT, "", " \t"]


def test_y_is_not_modified() -> None:
    y = np.array([np.int64(1), None, 2], dtype=object)
    before = list(y)
    code_classes(y, None)
    assert all(a is b for a, b in zip(y, before, strict=True))
    for array in (np.array([1, -1, 2]), np.array(["a", "b"])):
        array.flags.writeable = False
        code_classes(array, -1)
    targets = np.array([1.0, NAN])
    assert not np.shares_memory(read_targets(targets)[0], targets)


# ---- regression --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (np.array([1.5, NAN]), [1.5, NAN]),
        (np.array([1.5, NAN], dtype=np.float32), [1.5, NAN]),
        ([3, -1], [3.0, -1.0]),
        ([True, False], [1.0, 0.0]),
        ([1.5, *MISSING], [1.5, *[NAN] * len(MISSING)]),
        (pd.Series([1.5, *MISSING], dtype=object), [1.5, *[NAN] * len(MISSING)]),
        (pd.Series([2, pd.NA], dtype="Int64"), [2.0, NAN]),
        (pd.Series([2.5, None]), [2.5, NAN]),
        (pl.Series([2.5, None]), [2.5, NAN]),
        (pl.Series([2, None]), [2.0, NAN]),
        ([Decimal("1.5"), None], [1.5, NAN]),
    ],
)
def test_targets_of_every_type_are_read(y: Any, expected: list[float]) -> None:
    targets, labeled = read_targets(y)
    assert targets.dtype == np.float64
    np.testing.assert_array_equal(targets, expected)
    np.testing.assert_array_equal(labeled, ~np.isnan(expected))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([NAN, NAN], r"y contains no label: all 2 entries are NaN.* Give at least one target"),
        ([1.0, np.inf, NAN], r"Input y contains infinity, first at row 1\. Only missing"),
        ([1.0, -1e101], r"y contains values up to 1e\+101, whose squares .* Scale y to about one"),
        ([1.0, "a"], r"y must be numbers for a regression, with NaN .*; it holds 'a' in row 1"),
        (["0.0", "2.0"], r"y must be numbers .*it holds '0\.0', a text\. Convert y to numbers"),
        (["1.0", None, " ", "2,5"], r"holds texts, and that of row 3 is not a number: '2,5'\. Cor"),
        (["1.0", "inf"], r"holds texts, and that of row 1 is not a number: 'inf'\. Correct it"),
        (np.zeros((3, 2)), r"y has 2 columns, but must have one here\. Give one at a time"),
        (pd.Series(["a", None]), r"y must be numbers .*it holds 'a'"),
        (pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"])), r"y must be numbers .*it holds"),
        ([1.0, [2.0]], r"inhomogeneous|y must be numbers"),
        (np.zeros((2, 2, 2)), r"Found array with dim 3"),
    ],
)
def test_wrong_targets_are_refused(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_targets(y)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([1.0, 2.5, 3.0, 4.0], "Set y to NaN where the target is unknown"),
        ([0.0, 0.0, 1.0], "Set y to NaN where the target is unknown"),
        ([-1.0, 2.5, -1.0, -1.0, 3.0], "targets are -1. If -1 means no target, set y to NaN there"),
    ],
)
def test_warns_if_every_target_is_known(targets: list[float], message: str) -> None:
    labeled = np.ones(len(targets), dtype=bool)
    warning = target_warning(np.array(targets), labeled)
    assert type(warning) is NothingUnlabeledWarning
    assert message in str(warning)
    labeled[1] = False
    assert target_warning(np.array(targets), labeled) is None


# ---- labels of the classes of a fit ------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "classes", "codes"),
    [
        ([2, 1, 2], [1, 2], [1, 0, 1]),
        ([2.0, 1.0], [1, 2], [1, 0]),
        ([1, -1], [-1, 1], [1, 0]),
        (pd.Series(["b", "a"]), ["a", "b"], [1, 0]),
        (np.array(["b", "a"]), ["a", "b"], [1, 0]),
        (pl.Series(["b"]), ["a", "b"], [1]),
        ([True, False], [False, True], [1, 0]),
    ],
)
def test_known_labels_are_coded(y: Any, classes: list[Any], codes: list[int]) -> None:
    assert code_known(y, np.array(classes)).tolist() == codes


OTHER = "training labels: {}. Give labelled points"
UNKNOWN = "1 of the 3 entries of y are unlabelled"


@pytest.mark.parametrize(
    ("y", "marker", "message"),
    [
        ([1, 7], "auto", OTHER.format("7")),
        (["a", 1], "auto", OTHER.format("'a'")),
        ([True, 1], "auto", OTHER.format("True")),
        ([1, 2, -1], "auto", UNKNOWN + ", first in row 2"),
        ([1, 2, 9], 9, UNKNOWN),
        ([1, 2, None], 9, UNKNOWN),
        (np.array([1.0, 2, NAN]), -1, UNKNOWN),
    ],
)
def test_other_labels_are_refused(y: Any, marker: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        code_known(y, np.array([1, 2]), marker)
