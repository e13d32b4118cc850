"""Label columns as programs write them: what is no label, and which labels are the same."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing._tables.options import ReadOptions
from lapwing._tables.tables import Table, read_table
from lapwing.exceptions import LapwingWarning


def read(folder: Path, *labels: list[str], truth: list[str] | None = None, **options: Any) -> Table:
    """A file for each list of labels, with numbers beside them."""
    paths = []
    for number, column in enumerate(labels):
        known = truth or [""] * len(column)
        rows = [
            f"{(i * 7) % 5}.5,{y},{t}" for i, (y, t) in enumerate(zip(column, known, strict=True))
        ]
        paths.append(folder / f"t{number}.csv")
        paths[-1].write_text("x,y,t\n" + "\n".join(rows) + "\n", encoding="utf-8")
    options = {"drop": ("t",)} | options if truth is None else {"truth": "t"} | options
    return read_table(paths, ReadOptions(label="y", **options))


@pytest.fixture(autouse=True)
def _single_labels_are_meant() -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*only one row has the label")
        warnings.filterwarnings("ignore", ".*every row has a label")
        yield


@pytest.mark.parametrize("strict", [True, False])
def test_missing_values_are_no_classes(tmp_path: Path, strict: bool) -> None:
    # R's write.csv writes NA, pandas NaN, databases NULL.
    words = [
        "",
        " ",
        *["NA", "NaN", "nan", "N/A", "n/a", "#N/A", "#NV", "NULL", "null", "None", "<NA>", "NaT"],
    ]
    n = len(words)
    table = read(tmp_path, ["a", "b", *words, "a"], strict=strict)
    assert table.labeled.tolist() == [True, True, *[False] * n, True]
    assert table.y.tolist() == ["a", "b", *[""] * n, "a"]
    numbers = read(tmp_path, ["1", "2", *words, "1"], strict=strict)
    assert numbers.y.tolist() == [1, 2, *[-1] * n, 1]
    targets = read(tmp_path, ["1.5", "2", *words, "-1"], strict=strict, regression=True)
    np.testing.assert_array_equal(targets.y, [1.5, 2, *[np.nan] * n, -1])
    assert targets.labeled.tolist() == table.labeled.tolist()
    assert isinstance(targets.unlabeled, float)


def test_words_that_are_classes(tmp_path: Path) -> None:
    for word in ("none", "Na", "-", "unknown", "missing", "?"):
        told = re.escape(f"1 of 4 rows have the label {word!r}")
        with pytest.warns(LapwingWarning, match=told):
            assert read(tmp_path, ["a", word, "", "a"]).y.tolist() == ["a", word, "", "a"]
        # From half of the rows on it is an error, unless the user says that blanks alone mean none.
        refused = rf"2 of 4 rows have the label {re.escape(repr(word))}, .* add --unlabeled "
        with pytest.raises(ValueError, match=refused):
            read(tmp_path, ["a", word, "", word])
        assert read(tmp_path, ["a", word, "", word], unlabeled=("",)).y.tolist()[1] == word


@pytest.mark.parametrize(
    ("labels", "described"),
    [
        (
            [f"{75 + (53 * i) % 271}.0" for i in range(37)] + ["75.0", "128.0", "181.0"],
            "the 40 labels are 37 different whole numbers",
        ),
        (
            [str(18 + (7 * i) % 71) for i in range(200)],
            "the 200 labels are 71 different whole numbers",
        ),
        (
            [f"{10 + 3 * i} kg" for i in range(12)],
            "the 12 labels are 12 different amounts, such as '10 kg'",
        ),
        (
            [*(str(100 + 0.25 * i) for i in range(20)), "oops"],
            "20 of the 21 different labels are numbers, and 'oops' is not",
        ),
    ],
)
def test_amounts_are_asked_about_unless_the_method_says_what_they_are(
    tmp_path: Path, labels: list[str], described: str
) -> None:
    told = re.escape(
        f"label column 'y': {described}, and each counts as a class. If they are quantities, name "
        "a method that predicts numbers: --method laprls-regressor."
    )
    asked = rf"{re.escape(described)}\. Are they "
    asked += (
        r"numbers to predict, or names of classes\?\nFor numbers, add --method laprls-regressor\.\n"
        r"For classes, add --method laperls\."
    )
    with pytest.raises(ValueError, match=asked):
        read(tmp_path, [*labels, "", ""], regression=None)
    if "oops" not in labels:
        assert read(tmp_path, [*labels, "", ""], regression=True).numeric
    with pytest.warns(LapwingWarning, match=told):
        assert not read(tmp_path, [*labels, "", ""], regression=False).numeric


@pytest.mark.parametrize(
    "labels",
    [
        ["1.0", "2.0", "3.0"] * 5,
        [str(i) for i in range(12)],
        [str(i) for i in range(100)],
        [str(100 + (37 * i) % 101) for i in range(12)] * 5,
        [f"p{100 + (37 * i) % 101}" for i in range(12)],
        ["1a", "2a", "3b"] * 4,
        [f"{i}a" for i in range(12)],
    ],
)
def test_classes_are_not_asked_about(tmp_path: Path, labels: list[str]) -> None:
    assert not read(tmp_path, [*labels, "", ""], regression=None).numeric


def test_na_can_be_a_class_if_blanks_alone_mean_none(tmp_path: Path) -> None:
    table = read(tmp_path, ["NA", "DE", "", "NA"], truth=["NA", "DE", "NA", ""], unlabeled=("",))
    assert table.y.tolist() == ["NA", "DE", "", "NA"]
    assert table.truth is not None
    assert table.truth.tolist() == ["NA", "DE", "NA", ""]


def test_a_missing_value_is_no_known_answer(tmp_path: Path) -> None:
    table = read(tmp_path, ["a", "b", "", "NA"], truth=["a", "b", "NaN", "NA"])
    assert table.truth is not None
    assert table.truth.tolist() == ["a", "b", "", ""]
    numbers = read(tmp_path, ["1", "2", "", ""], truth=["1.0", "2", "NA", "2.0"])
    assert numbers.truth is not None
    assert numbers.truth.tolist() == [1, 2, -1, 2]
    targets = read(tmp_path, ["1.5", "2", "", ""], truth=["1.5", "2", "NA", "7"], regression=True)
    np.testing.assert_array_equal(targets.truth, [1.5, 2, np.nan, 7])
    with pytest.raises(ValueError, match=r"row 3 holds '2_0', but the labels are whole numbers"):
        read(tmp_path, ["1", "2", "", ""], truth=["1", "2", "2_0", ""])
    with pytest.raises(ValueError, match=r"row 3 holds 'x', but the labels are numbers"):
        read(tmp_path, ["1.5", "2", "", ""], truth=["1", "2", "x", ""], regression=True)


def test_one_class_that_two_files_write_differently(tmp_path: Path) -> None:
    table = read(tmp_path, ["1", "2", "", "1"], ["1.0", "2.0", "", "1.00"])
    assert table.y.tolist() == [1, 2, 0 - 1, 1, 1, 2, -1, 1]
    words = read(tmp_path, ["1", "x", "", "1"], ["1.0", "x", "", "2.0"])
    assert words.y.tolist() == ["1", "x", "", "1", "1", "x", "", "2.0"]


@pytest.mark.parametrize(
    ("labels", "pair"),
    [
        (["OK", "ok", "bad", ""], "'OK' and 'ok'"),
        (["007", "7", "8", ""], "'007' and '7'"),
        (["a  b", "a b", "c", ""], "'a  b' and 'a b'"),
        (["Stra\u00dfe", "STRASSE", "c", ""], "'STRASSE' and 'Stra\u00dfe'"),
        (["e\u0301", "\u00e9", "c", ""], "'e\u0301' and '\u00e9'"),
    ],
)
def test_labels_that_look_alike_are_reported(tmp_path: Path, labels: list[str], pair: str) -> None:
    with pytest.warns(LapwingWarning, match="differ only in capitals, blanks or leading") as caught:
        table = read(tmp_path, labels)
    assert table.y.tolist() == labels
    assert any(f"classes of their own: {pair}." in str(one.message) for one in caught)


@pytest.mark.filterwarnings("ignore:.*differ only in capitals")
@pytest.mark.parametrize(
    ("labels", "marker", "labeled"),
    [
        (["a", "?", "b", ""], "?", [1, 0, 1, 0]),
        (["0", "-1", "1", "-1.0"], "-1", [1, 0, 1, 0]),
        (["a", "-1", "b", "-1.5"], "-1", [1, 0, 1, 1]),
        (["00", "0", "01", "02"], "0", [1, 0, 1, 1]),
        (["00", "0", "0.0", "01"], "0", [1, 0, 0, 1]),
        (["1_0", "10", "a", "b"], "10", [1, 0, 1, 1]),
        (["-1", "-1.0", "a", "b"], "-1", [0, 0, 1, 1]),
        (["NA", "-1", "a", "b"], "-1", [0, 0, 1, 1]),
        (["1e1", "10", "a", "b"], "10", [0, 0, 1, 1]),
    ],
)
def test_a_marker_takes_no_other_class_with_it(
    tmp_path: Path, labels: list[str], marker: str, labeled: list[int]
) -> None:
    assert read(tmp_path, labels, unlabeled=(marker,)).labeled.tolist() == labeled


def test_an_underscore_makes_no_number(tmp_path: Path) -> None:
    assert read(tmp_path, ["1_0", "2", "", "2"]).y.tolist() == ["1_0", "2", "", "2"]
    with pytest.raises(ValueError, match="row 1 holds '1_0', which is not a number"):
        read(tmp_path, ["1_0", "2", "", "2"], regression=True)
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "1_0,a\n2_0,b\n1_0,\n2_0,\n")
    assert read_table(path, ReadOptions(label="y")).features.kinds == ("categorical",)
