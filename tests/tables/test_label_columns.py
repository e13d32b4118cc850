"""Label columns as programs write them: which rows have no label, and which labels are one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing._tables.tables import Table
from lapwing.exceptions import LapwingWarning
from tests.helpers import reading
from tests.helpers.reading import read_strictly, write

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*only one row has the label"),
    pytest.mark.filterwarnings("ignore:.*every row has a label"),
]


def column(labels: list[str], truth: list[str] | None = None) -> str:
    """Write a table with these labels, and true labels."""
    cells = enumerate(zip(labels, truth or [""] * len(labels), strict=True))
    return "x,y,t\n" + "".join(f"{(i * 7) % 5}.5,{y},{t}\n" for i, (y, t) in cells)


def read(folder: Path, *labels: list[str], truth: list[str] | None = None, **options: Any) -> Table:
    """Read a file for each list of labels, with numbers beside them."""
    paths = [write(folder / f"t{k}.csv", column(one, truth)) for k, one in enumerate(labels)]
    roles: dict[str, Any] = {"drop": ("t",)} if truth is None else {"truth": "t"}
    return reading.read(paths, **roles | options)


# R's write.csv writes NA, pandas NaN, databases NULL.
_WORDS = [*("", " ", "NA", "NaN", "nan", "N/A", "n/a", "#N/A", "#NV"),
          *("NULL", "null", "None", "<NA>", "NaT")]  # fmt: skip
_NONE, _NAN = len(_WORDS), float("nan")
_LONG = "9" * 23


@pytest.mark.filterwarnings("ignore:.*differ only in capitals")
@pytest.mark.filterwarnings("ignore:.*1 of . rows have the label")
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("labels", "options", "y", "marker"),
    [
        (["a", "b", *_WORDS, "a"], {}, ["a", "b", *[""] * _NONE, "a"], ""),
        (["1", "2", *_WORDS, "1"], {}, [1, 2, *[-1] * _NONE, 1], -1),
        (["3", "", "12", "3"], {}, [3, -1, 12, 3], -1),
        (["-1", "1", "", "-1"], {}, [-1, 1, -2, -1], -2),
        (["1.0", "2.0", ""], {}, [1, 2, -1], -1),
        (["007", "7", ""], {}, ["007", "7", ""], ""),
        (["1", "1.0", "2", ""], {}, [1, 1, 2, -1], -1),
        (["a", "1", " "], {}, ["a", "1", ""], ""),
        ([_LONG, "1", ""], {}, [_LONG, "1", ""], ""),
        (["inf", "1", ""], {}, ["inf", "1", ""], ""),
        (["1_0", "2", "", "2"], {}, ["1_0", "2", "", "2"], ""),
        # Words that are classes; in half of the rows only with an option.
        *((["a", w, "", "a"], {}, ["a", w, "", "a"], "") for w in ("none", "Na", "-", "?")),
        *((["a", w, "", "a"], {}, ["a", w, "", "a"], "") for w in ("unknown", "missing")),
        (["NA", "DE", "", "NA"], {"unlabeled": ("",)}, ["NA", "DE", "", "NA"], ""),
        (["a", "none", "", "none"], {"unlabeled": ("",)}, ["a", "none", "", "none"], ""),
        # Markers of the user take no other class with them.
        (["a", "?", "b", ""], {"unlabeled": ("?",)}, ["a", "", "b", ""], ""),
        (["0", "-1", "1", "-1.0"], {"unlabeled": ("-1",)}, [0, -1, 1, -1], -1),
        (["a", "-1", "b", "-1.5"], {"unlabeled": ("-1",)}, ["a", "", "b", "-1.5"], ""),
        (["00", "0", "01", "02"], {"unlabeled": ("0",)}, ["00", "", "01", "02"], ""),
        (["00", "0", "0.0", "01"], {"unlabeled": ("0",)}, ["00", "", "", "01"], ""),
        (["1_0", "10", "a", "b"], {"unlabeled": ("10",)}, ["1_0", "", "a", "b"], ""),
        (["-1", "-1.0", "a", "b"], {"unlabeled": ("-1",)}, ["", "", "a", "b"], ""),
        (["NA", "-1", "a", "b"], {"unlabeled": ("-1",)}, ["", "", "a", "b"], ""),
        (["1e1", "10", "a", "b"], {"unlabeled": ("10",)}, ["", "", "a", "b"], ""),
        (["1.5", "2", *_WORDS, "-1"], {"regression": True}, [1.5, 2, *[_NAN] * _NONE, -1], _NAN),
    ],
)
def test_codes_labels(
    tmp_path: Path, labels: list[str], options: Any, y: list[Any], marker: Any, strict: bool
) -> None:
    table = read(tmp_path, labels, strict=strict, **options)
    np.testing.assert_equal([*table.y.tolist(), table.unlabeled], [*y, marker])
    assert table.labeled.tolist() == [value not in (marker, _NAN) for value in y]
    assert table.numeric == (marker is _NAN)


@pytest.mark.parametrize("word", ["none", "Na", "-", "unknown", "missing", "?"])
def test_words_that_look_like_none_are_reported(tmp_path: Path, word: str) -> None:
    told = re.escape(repr(word))
    with pytest.warns(LapwingWarning, match=f"1 of 4 rows have the label {told}, which counts as"):
        read(tmp_path, ["a", word, "", "a"])
    with pytest.raises(ValueError, match=f"2 of 4 rows have the label {told}, .* add --unlabeled "):
        read(tmp_path, ["a", word, "", word])


def test_labels_of_two_files_are_coded_together(tmp_path: Path) -> None:
    table = read(tmp_path, ["1", "2", "", "1"], ["1.0", "2.0", "", "1.00"])
    assert table.y.tolist() == [1, 2, -1, 1] * 2
    words = read(tmp_path, ["1", "x", "", "1"], ["1.0", "x", "", "2.0"])
    assert words.y.tolist() == ["1", "x", "", "1", "1", "x", "", "2.0"]


def test_files_without_the_label_column(tmp_path: Path) -> None:
    rows = {"a": "id,x\na,1.5\nb,3\n", "b": "id,x,y\nc,5.5,u\nd,7,v\n", "k": "id,y\na,u\nb,v\n"}
    plain, labelled, answers = (write(tmp_path / f"{k}.csv", text) for k, text in rows.items())
    lacks = rf"^{re.escape(str(plain))} has no column 'y' \(--label\)"
    for paths in ([plain, labelled, answers], [plain, labelled], [labelled, plain], [plain]):
        with pytest.raises(ValueError, match=lacks):
            reading.read(paths, id="id")
    assert reading.read([plain, answers], id="id").y.tolist() == ["u", "v"]
    # Their rows are unlabelled where the column may be missing.
    for paths, y in ([plain, labelled], ["", "", *"uv"]), ([labelled, plain], [*"uv", "", ""]):
        assert reading.read(paths, id="id", absent=True).y.tolist() == y
    arrays = [write(tmp_path / "a.npy", np.eye(4)[:2]), tmp_path / "b.npz"]
    write(arrays[1], {"X": np.eye(4), "y": np.array([0, 1, -1, -1])})
    with pytest.raises(ValueError, match=r"a\.npy has no column 'y'"):
        reading.read(arrays)
    found = reading.read(arrays, absent=True)
    assert found.labeled.tolist() == [False, False, True, True, False, False]


@pytest.mark.parametrize(
    ("labels", "truth", "options", "coded"),
    [
        (["a", "b", "", "NA"], ["a", "b", "NaN", "NA"], {}, ["a", "b", "", ""]),
        (["1", "2", "", ""], ["1.0", "2", "NA", "2.0"], {}, [1, 2, -1, 2]),
        # -1 means "unknown", unless it is a class or only blanks do.
        (["0", "1", "", ""], ["0", "1", "-1.0", "0"], {}, [0, 1, -1, 0]),
        (["0", "1", "9", ""], ["0", "1", "-1", "9"], {"unlabeled": ("9",)}, [0, 1, -1, -1]),
        (["0", "1", "", ""], ["0", "1", "-1", ""], {"unlabeled": ("",)}, [0, 1, -1, -2]),
        (["-1", "1", "", ""], ["-1", "1", "-1", ""], {}, [-1, 1, -1, -2]),
        # A true class that would be the marker of unlabelled rows.
        (["-1", "1", "", ""], ["-1", "1", "-2", ""], {}, [-1, 1, -2, -3]),
        (["a", "b", "", ""], ["a", "b", "-1", ""], {}, ["a", "b", "-1", ""]),
        (["1", "x", "", ""], ["1.0", "x", "2.0", ""], {}, ["1", "x", "2.0", ""]),
        (["1.5", "2", "", ""], ["1.5", "2", "NA", "7"], {"regression": True}, [1.5, 2, np.nan, 7]),
        (["NA", "DE", ""], ["NA", "DE", "NA"], {"unlabeled": ("",)}, ["NA", "DE", "NA"]),
    ],
)
def test_codes_truth(tmp_path: Path, labels: Any, truth: Any, options: Any, coded: Any) -> None:
    found = read(tmp_path, labels, truth=truth, **options).truth
    np.testing.assert_array_equal(found, np.array(coded, dtype=found.dtype))


def test_unknown_truth_beside_an_array_of_labels(tmp_path: Path) -> None:
    labels = write(tmp_path / "y.npy", np.array([0, 1, -1, -1]))
    options: dict[str, Any] = {"label": None, "labels_file": labels, "drop": ("y",)}
    found = read(tmp_path, ["", ""] * 2, truth=["0", "1", "-1", "1"], **options)
    assert (found.truth.tolist(), found.unlabeled) == ([0, 1, -1, 1], -1)


# Labels that are amounts rather than classes, with a description, and labels that are classes.
_AMOUNTS = {
    "the 40 labels are 37 different whole numbers":
        [f"{75 + (53 * i) % 271}.0" for i in range(37)] + ["75.0", "128.0", "181.0"],
    "the 200 labels are 71 different whole numbers": [str(18 + (7 * i) % 71) for i in range(200)],
    "the 12 labels are 12 different amounts, such as '10 kg'":
        [f"{10 + 3 * i} kg" for i in range(12)],
    "20 of the 21 different labels are numbers, and 'oops' is not":
        [*(str(100 + 0.25 * i) for i in range(20)), "oops"],
}  # fmt: skip
_CLASSES = [
    ["1.0", "2.0", "3.0"] * 5,
    [str(i) for i in range(12)],
    [str(i) for i in range(100)],
    [str(100 + (37 * i) % 101) for i in range(12)] * 5,
    [f"p{100 + (37 * i) % 101}" for i in range(12)],
    ["1a", "2a", "3b"] * 4,
    [f"{i}a" for i in range(12)],
    [*(str(100 + 0.25 * i) for i in range(10)), "oops", "no", "maybe"],
]


@pytest.mark.parametrize("described", _AMOUNTS)
def test_asks_whether_amounts_are_classes(tmp_path: Path, described: str) -> None:
    labels, described = [*_AMOUNTS[described], "", ""], re.escape(described)
    asked = (
        rf"{described}\. Are they numbers to predict, or names of classes\?\n"
        r"For numbers, add --method laprls-regressor\.\nFor classes, add --method laperls\."
    )
    with pytest.raises(ValueError, match=asked):
        read(tmp_path, labels, regression=None)
    if "oops" not in labels:
        assert read(tmp_path, labels, regression=True).numeric
    told = (
        rf"label column 'y': {described}, and each counts as a class\. If they are quantities, "
        r"name a method that predicts numbers: --method laprls-regressor\."
    )
    with pytest.warns(LapwingWarning, match=told):
        assert not read(tmp_path, labels, regression=False).numeric


def test_other_numbers_are_classes(tmp_path: Path) -> None:
    for labels in _CLASSES:
        assert not read(tmp_path, [*labels, "", ""], regression=None).numeric


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("OK", "ok"),
        ("007", "7"),
        ("a  b", "a b"),
        ("STRASSE", "Stra\u00dfe"),
        ("e\u0301", "\u00e9"),
    ],
)
def test_labels_that_look_alike_are_reported(tmp_path: Path, one: str, other: str) -> None:
    told = "differ only in capitals, blanks or leading zeros are classes of their own: "
    with pytest.warns(LapwingWarning, match=re.escape(f"{told}{one!r} and {other!r}.")):
        assert read(tmp_path, [one, other, "8", ""]).y.tolist() == [one, other, "8", ""]


_NUMBERS = ["-1", "2.5", "-1", "-1", "3", "-1", "-1"]
_WINES = ["Barolo"] * 10 + ["Barollo"] * 2 + ["barolo"] + ["Barbera"] * 4 + ["Arneis", ""]
_TOLD_OF_WINES = [
    r"2 rows \(the first is row 11\) have the label 'Barollo', a class of its own",
    r"and 11 have 'Barolo'. Did you mean 'Barolo'\?",
    *(r"only one row .* 'Arneis' \(row 18\)", "'barolo'"),
]


@pytest.mark.filterwarnings("default:.*only one row has the label")
@pytest.mark.filterwarnings("default:.*every row has a label")
@pytest.mark.parametrize(
    ("content", "messages"),
    [
        ("row,x,y\n5,1,a\n6,2,\n7,0,b\n", [r"column 'row' counts the rows.*--id row "]),
        ("x,y\n1,a\n5,c\n0,b\n", [r"every row has a label.*--unlabeled"]),
        (column(_NUMBERS), [r"5 of 7 rows have the number -1, .* --unlabeled -1"]),
        (column(_WINES), _TOLD_OF_WINES),
        ([["x", "y"], [3, "a"], [1, "a"], [2, "b"], [5, None]], [r"'b' \(row 4 of the sheet\)"]),
    ],
    ids=["counts rows", "all labelled", "number", "almost another", "sheet"],
)
def test_ambiguous_labels_are_reported(tmp_path: Path, content: Any, messages: list[str]) -> None:
    path = write(tmp_path / ("t.csv" if isinstance(content, str) else "t.xlsx"), content)
    with pytest.warns(LapwingWarning) as caught:
        read_strictly(path, "y", regression=",2.5," in content, drop=["t"] * (",t" in content))
    for message in messages:
        assert sum(re.search(message, str(one.message)) is not None for one in caught) == 1
