"""Readable files of every format: features, names, labels, ids and remarks."""

from __future__ import annotations

import csv
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lapwing._tables.columns import Dialect
from lapwing._tables.roles import ReadOptions
from lapwing._tables.tables import Table, read_points
from tests.helpers.reading import fitted, read, read_strictly, rows, write, write_book

_CELLS = "".join(f"r{i},{i + 0.5},{i % 3},{'ab'[i % 2] if i < 6 else ''}\n" for i in range(12))
_TITLED, _OPTIONS = "id,x,z,kind\n" + _CELLS, {"label": "kind", "id": "id"}
_FOUND = {"n": 12, "names": ("x", "z"), "X": [[0.5, 0], [1.5, 1]], "ids": ["r0", "r1"]}
_FORMULAS = "".join(
    f'="r{i}",="{i}.25","=""00{i % 3}""",="{"ab"[i % 2] if i < 6 else ""}"\n' for i in range(9)
)
_EMPTY_ROWS = rows("{a}0,{b},{y}").splitlines()
_EMPTY_ROWS = ["x,z,y", *_EMPTY_ROWS[:12], ",,", *_EMPTY_ROWS[12:], ', ,""', ",,", ""]
_QUOTED = 'id,x,ok,"the, kind"\n"a\n1",1,true,"big, cat"\n\n"b ""2""",2,False,dog\n3,4,TRUE,\n'
_STRICT = {"strict": True, "missing": False}
_XZ = {"n": 30, "names": ("x", "z"), "X": [[0, 0], [1, 1], [2, 2]]}
_GERMAN = [f"{i % 7},5;{f'1.{100 + i},5 €' if i % 2 else 'NA'};{1000 + i},5;{i},5;{i % 3}"
           for i in range(30)]  # fmt: skip
_ARRAYS = {
    "X": np.array([[1, 2], [5, 4], [3, 8]], dtype=np.float32),
    "y": np.array([4, -1, 7]),
    "z": np.array([True, False, True]),
    "key": np.array(["a", "b", "c"]),
    "feature_names": np.array(["w", "h"]),
}
_TARGETS = np.array([0.1, 1.5, -1.0, np.nan, 1.0, 0.0])
_FRAME = pl.DataFrame(
    [(1, True, 1.5, 2.0, "u"), (2, False, 2.5, float("nan"), None), (9, True, 4.5, 5.0, "v")],
    {"i": pl.Int16, "b": pl.Boolean, "f": pl.Float32, "y": pl.Float64, "z": pl.String},
    orient="row",
)
FINITE = st.floats(-1e150, 1e150)
# Fifteen digits, as in spreadsheets.
_HEAD = ["x", "z", "y"]
_BODY: list[list[Any]] = [
    [float(f"{i + 1 / 3:.15g}"), i % 4, "ab"[i % 2] if i < 9 else None] for i in range(30)
]
_NUMBERS = [row[0] for row in _BODY]
_MIXED = [[{5: "k.A.", 6: "1.234,5"}.get(i, row[0]), *row[1:]] for i, row in enumerate(_BODY)]
_WITH_BLANKS = [_HEAD, *_BODY[:12], [None, None, None], *_BODY[12:], [None, " ", None]]
_WHOLE = [[100 + i, i % 7, (1.0 + i % 2) if i < 9 else None] for i in range(30)]
_PRICES = [1.091 + 0.31 * i for i in range(30)]  # of three digits: 1.401 would be 1401
_ROUNDED = [round(x, 3) for x in _PRICES]
_CERTAIN = zip(_ROUNDED[::-1], [*_ROUNDED[:12], *[None] * 18], _ROUNDED, _ROUNDED, strict=True)


def sheets(path: Path) -> None:
    write_book(path, S1=[], S2=[_HEAD, *_BODY], S3=[_HEAD, *_BODY[:20]])


# Contents, options and expected results: lists are the first entries, "n" is the number of rows.
FILES: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "no titles": (_TITLED, _OPTIONS, _FOUND | {"remarks": ()}),
    **{
        f"title {k}": (titles + _TITLED, _OPTIONS,
            _FOUND | {"remarks": (f"the names of the columns are in line {line}",)})
        for k, (titles, line) in enumerate([
            ("Report of cells\n", 2), ("Report, 2024\n\n", 3), ("sep=,\nReport\n", 3),
            ("Report of cells,,,\nmade by,me,,\n\n", 4), ('"Report; of ""cells"""\n', 2),
        ])
    },
    **{
        f"titles with commas above cells with {name}": (
            "Cells, first series, 2024\n" + _TITLED.replace(",", separator), _OPTIONS,
            _FOUND | {"remarks": ("the names of the columns are in line 2",)})
        for name, separator in (("semicolons", ";"), ("tabs", "\t"), ("bars", "|"))
    },
    "skip_lines": ("a,b,c,d\n1,2,3,4\n" + _TITLED, _OPTIONS | {"skip_lines": 2},
        _FOUND | {"remarks": ()}),
    "one column": (",y\np,a\nq,b\np,\nq,a\np,b\n", {}, {"remarks": (), "y": ["a", "b", ""]}),
    "few rows": ("id,y\n1,a\n2,b\n3,\n2,b\n3,a\n", {}, {"remarks": (), "y": ["a", "b", ""]}),
    "separator": ("id;x, in mm, wet;z, in mm, wet;kind\n" + _CELLS.replace(",", ";"),
        _OPTIONS | {"separator": ";"}, _FOUND | {"names": ("x, in mm, wet", "z, in mm, wet")}),
    "separator of Excel beside commas": (
        "sep=;\nid;x, in mm, wet;z, in mm, wet;kind\n" + _CELLS.replace(",", ";"), _OPTIONS,
        _FOUND | {"names": ("x, in mm, wet", "z, in mm, wet")}),
    "commas in quoted names": (
        '"x, in mm, wet";"z, in mm, wet";y\n' + rows("{a},5;{b};{y}"), {},
        {"names": ("x, in mm, wet", "z, in mm, wet"), "X": [[0.5, 0], [1.5, 1], [2.5, 2]]}),
    "a name of two lines": ('"x\n(mm)",z,y\n' + rows("{a},{b},{y}"), {},
        _XZ | {"names": ("x\n(mm)", "z"), "remarks": ()}),
    "formula of a quote": ('id,x,y\n="a""b",1.5,p\n="c",2.5,q\n="d",0.5,\n', {"id": "id"},
        {"ids": ['a"b', "c", "d"]}),
    "formulas of texts": ('="id",x,code,="kind"\n' + _FORMULAS, _OPTIONS,
        {"n": 9, "ids": ["r0", "r1"], "y": ["a", "b", "a", "b", "a", "b", "", "", ""],
         "X": [(0.25, "000"), (1.25, "001"), (2.25, "002"), (3.25, "000")]}),
    **{
        f"lines above the names, {k}": (before + "x;z;y\n" + rows("{a};{b};{y}"), {}, _XZ)
        for k, before in enumerate(["\n\n", " \n", ";;\n", "sep=;\n\n"])
    },
    "separator of Excel": ("sep=;\r\nx;z;y\r\n" + rows("{a},5;{b};{y}", "\r\n"), {},
        {"X": [[0.5, 0], [1.5, 1], [2.5, 2]]}),
    "old line ends": ("x,y\r" + rows("{a},{y}", "\r"), {}, {"n": 30, "X": [[0], [1], [2]]}),
    **{
        f"empty rows {separator}": ("\n".join(_EMPTY_ROWS).replace(",", separator), {}, _XZ | {
            "X": [("00", 0.0), ("10", 1.0), ("20", 2.0)], "ids": list(range(1, 31)),
            "remarks": ("3 rows without any value left out",)})
        for separator in ",;"
    },
    "empty rows, strict": ("\n".join(_EMPTY_ROWS), {"strict": True}, {"n": 33, "remarks": ()}),
    "no names": (",x,y,\n" + rows("{i},{a},{y},"), {}, {"names": ("x",), "notes": {
        "x": "numbers", "column 1": "counts the rows", "column 4": "no row has a value"}}),
    "no name of the ids": (",x,y,\n" + rows("{i},{a},{y},"), {"id": "", "drop": ("column 4",)},
        {"ids": ["0", "1"]}),
    "no name, dropped": (",a,y\n7,1,p\n7,3,q\n8,2,\n", _STRICT | {"drop": ("",)},
        {"ids": [1, 2, 3], "dropped": ("",)}),
    # The comma of one column tells how the points of another are meant.
    "commas and points": ("x,z,y\n" + rows('"{a},25",{c}.{a}00,{y}', n=40), {},
        {"X": [[0.25, 1000], [1.25, 2100], [2.25, 3200]], "notes": {
            "x": "numbers with decimal commas", "z": "numbers with decimal commas; such as 1000; "
            "could be read the other way: --decimal '.'"}}),
    "points given": ("x,z,y\n" + rows('"{a},25",{c}.{a}00,{y}', n=40),
        {"decimal": ".", "keep": ("x",), "drop": ("x",)}, {"X": [[1], [2.1], [3.2]]}),
    **{
        f"decimal commas below {title!r}": (
            f"{title}x;z;y\n" + rows("{a},17 €;{b},10 €;{y}"), {},
            {"names": ("x", "z"), "X": [[0.17, 0.1], [1.17, 1.1], [2.17, 2.1]]})
        for title in ("", "Prices of today\n")
    },
    "German targets": ("\n".join(["x;y;t;e;n", *_GERMAN]),
        {"regression": True, "truth": "t", "layout": ("e", "n")},
        {"y": [np.nan, 1101.5, np.nan, 1103.5], "labeled": [False, True] * 15,
         "truth": [1000.5, 1001.5], "layout": [[0.5, 0], [1.5, 1]]}),
    **{
        f"decimal marks of {first} and {second}, {options}": (
            f"x;y\n{first};a\n{second};b\n{first};\n", options,
            {"dialect": Dialect(";", mark, "utf-8")})
        for first, second, options, mark in [
            ("1.5", "2.25", {}, "."),  # Python reads them, so their marks are points
            ("1,5", "2,25", {}, ","),
            ("1", "2", {}, ","),  # usual beside semicolons
            ("1", "2", {"decimal": "."}, "."),
            ("1.5", "2.25", {"strict": True}, "."),
        ]
    },
    "decimal commas in one of three columns": (
        'x,z,w,y\n1.5,2.5,"3,5",a\n0.5,1.5,"2,5",b\n2.5,0.5,"1,5",\n', {},
        {"X": [[1.5, 2.5, 3.5]], "dialect": Dialect(",", ".", "utf-8")}),
    "byte order mark": ("\ufeffx,y\n1,a\n2,b\n1,\n", {},
        {"dialect": Dialect(",", ".", "utf-8-sig")}),
    "blanks of no width": ("x,y\n" + rows("{a}.5,{y}\u200b"), {},
        {"y": ["a", "b", "a", "b", "a", "b", "a", "b", "a", "", ""]}),
    "underscores": ("x,y\n1_0,a\n2_0,b\n1_0,\n2_0,\n", {}, {"kinds": ("categorical",)}),
    "quotes and truth values": (_QUOTED, _STRICT | {"label": "the, kind", "id": "id"},
        {"X": [[1, 1], [2, 0], [4, 1]], "ids": ["a\n1", 'b "2"', "3"],
         "y": ["big, cat", "dog", ""]}),
    "types.parquet": (_FRAME, _STRICT | {"id": "i", "drop": ("z",)},
        {"X": [[1, 1.5], [0, 2.5], [1, 4.5]], "dtype": np.dtype(np.float64), "y": [2, -1, 5],
         "ids": ["1", "2", "9"]}),
    "NaN without words.parquet": (_FRAME, {"drop": ("z",), "unlabeled": ("",)}, {"y": [2, -1, 5]}),
    "single.parquet": (_FRAME, {"label": "z", "drop": ("i", "b", "y")},
        {"dtype": np.dtype(np.float32), "X": [[1.5], [2.5], [4.5]]}),
    "arrays.npz": (_ARRAYS, {"id": "key"},
        {"X": _ARRAYS["X"].tolist(), "dtype": np.dtype(np.float32), "names": ("w", "h"),
         "ids": ["a", "b", "c"], "y": [4, -1, 7], "unlabeled": -1}),
    "marker.npz": (_ARRAYS, {"unlabeled": ("4",)}, {"y": [-2, -1, 7], "unlabeled": -2}),
    "dropped.npz": (_ARRAYS, {"drop": ("w",)}, {"X": [[2], [4], [8]], "names": ("h",)}),
    "truth values.npz": (_ARRAYS, {"label": "z"}, {"y": ["true", "false", "true"]}),
    **{
        f"targets, {regression}.npz": ({"X": np.arange(12.0).reshape(6, 2), "y": _TARGETS},
            {"regression": regression}, {"numeric": True, "y": _TARGETS.tolist(),
             "labeled": [True, True, True, False, True, True]})
        for regression in (True, None)
    },
    "to the bit.xlsx": ([_HEAD, *_MIXED], {}, {"X": [
        [{5: np.nan, 6: 1234.5}.get(i, x), i % 4] for i, x in enumerate(_NUMBERS)]}),
    "whole numbers.xlsx": ([["k", "x", "y"], *_WHOLE], {"id": "k"},
        {"ids": ["100", "101"], "y": [1, 2, 1]}),
    "targets.xlsx": ([["price", "y", "t", "m"], *_CERTAIN],
        {"truth": "t", "layout": ("m", "t"), "regression": True},
        {"y": _ROUNDED[:12], "truth": _ROUNDED, "layout": [[x, x] for x in _ROUNDED]}),
    "sheets.xlsx": (sheets, {}, {"n": 30,
        "remarks": ("the sheet 'S2' was read; --sheet NAME reads another: 'S3'",)}),
    "sheet.xlsx": (sheets, {"sheet": "S3"}, {"n": 20, "remarks": ()}),
    "numbers as names.xlsx": ([[1e16, 2e16, 2018, "y"], [1.5, 2, 3.5, "a"], [4, 3.5, 1, "b"]],
        {"drop": ("10000000000000000",)}, {"names": ("20000000000000000", "2018")}),
    "classes of 17 digits.npz": ({"X": np.eye(3), "y": np.array([1e16, 2e16, np.nan])},
        {}, {"y": ["10000000000000000", "20000000000000000", ""]}),
    "blanks.xlsx": (_WITH_BLANKS, {}, {"n": 30, "names": ("x", "z")}),
}  # fmt: skip


def facts(table: Table) -> dict[str, Any]:
    X = table.X
    return vars(table) | {
        "X": X.rows() if isinstance(X, pl.DataFrame) else X.tolist(),
        "dtype": getattr(X, "dtype", None),
        "n": table.n,
        "names": table.feature_names,
        "kinds": table.features.kinds,
        "numeric": table.numeric,
        "notes": {note.column: note.words for note in table.features.notes},
    }


@pytest.mark.filterwarnings("ignore:.*only one row has the label")
@pytest.mark.filterwarnings("ignore:.*every row has a label")
@pytest.mark.filterwarnings("ignore:.*have the label '-1', which counts as a class")
@pytest.mark.parametrize("case", FILES)
def test_reads_files(tmp_path: Path, case: str) -> None:
    content, options, expected = FILES[case]
    path = tmp_path / (case if case.endswith((".parquet", ".npz", ".xlsx")) else "t.csv")
    if callable(content):
        content(path)
    else:
        write(path, content)
    table = read(path, **options)
    for key, value in expected.items():
        found = facts(table)[key]
        if isinstance(value, list):
            np.testing.assert_array_equal(found[: len(value)], value, key)
        else:
            assert found == value


CSV = "name,width,height,kind\na,1,2.5,cat\nb, 2 ,-3e1,\nc,4,0.5,dog\n"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_separators_ends_and_marks(tmp_path: Path, separator: str, end: str, mark: str) -> None:
    path = write(tmp_path / "t.csv", mark + CSV.replace(",", separator).replace("\n", end))
    table = read_strictly(path, "kind", id="name")
    np.testing.assert_array_equal(table.X, [[1, 2.5], [2, -30], [4, 0.5]])
    assert (table.X.dtype, table.feature_names) == (np.float64, ("width", "height"))
    assert (table.ids.tolist(), table.y.tolist()) == (["a", "b", "c"], ["cat", "", "dog"])
    assert table.labeled.tolist() == [True, False, True]


@given(arrays(float, st.tuples(st.integers(3, 12), st.just(2)), elements=FINITE))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.LapwingWarning")
def test_formats_agree_to_the_bit(tmp_path: Path, X: Any) -> None:
    labels = ["a", "b", *[""] * (len(X) - 2)]
    frame = pl.DataFrame({"p": X[:, 0], "q": X[:, 1], "y": labels})
    text = "".join(f"{p!r},{q!r},{y}\n" for p, q, y in frame.rows())
    held = {"X": X, "y": np.array(labels)}
    for suffix, content in (("csv", "p,q,y\n" + text), ("parquet", frame), ("npz", held)):
        table = read_strictly(write(tmp_path / f"t.{suffix}", content), "y")
        np.testing.assert_array_equal(table.X, X)
        assert table.y.tolist() == labels


@pytest.mark.parametrize("decimal", ["auto", ".", ","])
@pytest.mark.parametrize("suffix", ["xlsx", "parquet"])
def test_numbers_of_the_format_are_certain(tmp_path: Path, decimal: str, suffix: str) -> None:
    exact: list[Any] = [None if i == 3 else round(x, 3) for i, x in enumerate(_PRICES)]
    texts = [f"{17 * x:.2f}".replace(".", ",") for x in _PRICES]
    columns = {"size": exact, "price": texts, "y": ["a", "b"] * 6 + [None] * 18}
    content: Any = pl.DataFrame(columns)
    if suffix == "xlsx":
        exact[4] = "-"
        content = [list(columns), *zip(*columns.values(), strict=True)]
    path = write(tmp_path / f"t.{suffix}", content)
    table = read(path, decimal=decimal)
    assert table.feature_names == ("size", "price")
    known = [isinstance(x, float) for x in exact]
    np.testing.assert_array_equal(table.X[known, 0], [x for x in exact if isinstance(x, float)])
    np.testing.assert_allclose(table.X[:, 1], [float(t.replace(",", ".")) for t in texts])
    # New rows are read in the same way.
    again = read_points(path, fitted(table), ReadOptions(decimal=decimal))
    np.testing.assert_array_equal(again.X, table.X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_minus_one_marks_rows_of_an_array(tmp_path: Path, dtype: type) -> None:
    y = np.array([0, 1, -1, -1, 1, 0], dtype=dtype)
    path = write(tmp_path / "X.npy", np.arange(12.0).reshape(6, 2))
    table = read(path, label=None, labels_file=write(tmp_path / "y.npy", y))
    assert table.labeled.tolist() == (y != -1).tolist()


def test_a_long_cell_is_read(tmp_path: Path) -> None:
    before = 131_072  # Python's own limit, which another test may have left changed
    csv.field_size_limit(before)
    text = "x,text,y\n" + rows("{a},t,{y}").replace("t", "t" * 200_000, 1)
    assert read(write(tmp_path / "t.csv", text), drop=("text",)).X.shape == (30, 1)
    assert csv.field_size_limit() == before


def test_many_rows_in_little_more_than_their_own_memory(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(9_999, 20)).round(3)
    path = tmp_path / "t.csv"
    pl.DataFrame(X).with_columns(y=pl.Series(["a", "b", ""] * 3333)).write_csv(path)
    tracemalloc.start()
    table = read_strictly(path, "y")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(table.X, X)
    assert peak < 3 * X.nbytes


@given(cut=st.integers(1, 700), flip=st.integers(0, 700))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.LapwingWarning")
@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz", "xlsx"])
def test_damaged_files_raise_value_errors(tmp_path: Path, suffix: str, cut: int, flip: int) -> None:
    frame = pl.DataFrame({"x": [1.5, 2.5, 0.5] * 9, "y": ["a", "", "b"] * 9})
    held = {"X": frame["x"].to_numpy()[:, None], "y": np.array(frame["y"].to_list())}
    contents: dict[str, Any] = {"csv": frame.write_csv(), "parquet": frame, "npz": held}
    contents["xlsx"] = [frame.columns, *frame.rows()]
    path = write(tmp_path / f"t.{suffix}", contents[suffix])
    content = bytearray(path.read_bytes())
    content[flip % len(content)] ^= 0xFF
    write(path, bytes(content[: max(1, min(cut * 2, len(content)))]))
    said = str(path)
    try:
        read_strictly(path, "y")
    except ValueError as error:
        said = str(error)
    assert str(path) in said


@pytest.mark.parametrize(
    ("suffix", "module", "extra"),
    [("parquet", "polars", "cli"), ("ods", "python_calamine", "excel")],
)
def test_formats_that_need_an_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, module: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"t\.{suffix} needs '{module}'.*\[{extra}\]"):
        read(write(tmp_path / f"t.{suffix}", b"PAR1"))
    assert read_strictly(write(tmp_path / "t.csv", CSV), "kind", id="name").X.shape == (3, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"separator": "#"}, r"--separator '#' must be one of auto, ,, ;, \|, tab"),
        ({"keep": ("a",), "strict": True}, "--keep is of no use with --strict"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ReadOptions(**options)
