"""Tables as users have them: what is read from a file, and what is said of a wrong one."""

from __future__ import annotations

import gzip
import re
import sys
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lapwing._tables.tables import Table
from lapwing.exceptions import LapwingWarning
from tests.helpers.reading import read_strictly as read_table
from tests.helpers.reading import write

CSV = "name,width,height,kind\na,1,2.5,cat\nb, 2 ,-3e1,\nc,4,0.5,dog\n"


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    return write(tmp_path / "t.csv", CSV)


def test_a_csv_file_is_read_as_it_stands(csv: Path) -> None:
    table = read_table(csv, "kind", id="name")
    np.testing.assert_array_equal(table.X, [[1, 2.5], [2, -30], [4, 0.5]])
    assert table.X.dtype == np.float64
    assert table.feature_names == ("width", "height")
    assert table.ids.tolist() == ["a", "b", "c"]
    assert table.y.tolist() == ["cat", "", "dog"]
    assert table.labeled.tolist() == [True, False, True]
    assert table.unlabeled == ""


def test_rows_are_numbered_from_one_without_an_id_column(csv: Path) -> None:
    table = read_table(csv, "kind", drop=["name"])
    assert table.ids.tolist() == [1, 2, 3]
    with pytest.raises(AttributeError):  # a table cannot be reassigned
        table.X = np.zeros((3, 2))  # type: ignore[misc]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_separators_line_ends_and_byte_order_mark(
    tmp_path: Path, separator: str, end: str, mark: bytes
) -> None:
    text = CSV.replace(",", separator).replace("\n", end)
    table = read_table(write(tmp_path / "t.csv", mark + text.encode()), "kind", id="name")
    np.testing.assert_array_equal(table.X, [[1, 2.5], [2, -30], [4, 0.5]])
    assert table.y.tolist() == ["cat", "", "dog"]


def test_quotes_blank_lines_and_truth_values(tmp_path: Path) -> None:
    text = 'id,x,ok,"the, kind"\n"a\n1",1,true,"big, cat"\n\n"b ""2""",2,False,dog\n3,4,TRUE,\n'
    table = read_table(write(tmp_path / "t.csv", text), "the, kind", id="id")
    np.testing.assert_array_equal(table.X, [[1, 1], [2, 0], [4, 1]])
    assert table.ids.tolist() == ["a\n1", 'b "2"', "3"]
    assert table.y.tolist() == ["big, cat", "dog", ""]


def column(labels: list[str]) -> str:
    """A table with this column of labels."""
    return "x,y\n" + "".join(f"{(i * 7) % 5},{label}\n" for i, label in enumerate(labels))


def with_labels(tmp_path: Path, labels: list[str], **options: Any) -> Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LapwingWarning)
        return read_table(write(tmp_path / "l.csv", column(labels)), "y", **options)


@pytest.mark.parametrize(
    ("labels", "y", "marker"),
    [
        (["3", "", "12", "3"], [3, -1, 12, 3], -1),
        (["-1", "1", "", "-1"], [-1, 1, -2, -1], -2),
        (["1.0", "2.0", ""], [1, 2, 0 - 1], -1),
        (["007", "7", ""], ["007", "7", ""], ""),
        (["1", "1.0", "2", ""], [1, 1, 2, -1], -1),
        (["a", "1", " "], ["a", "1", ""], ""),
        (["99999999999999999999999", "1", ""], ["99999999999999999999999", "1", ""], ""),
        (["inf", "1", ""], ["inf", "1", ""], ""),
    ],
)
def test_class_labels_keep_what_the_user_wrote(
    tmp_path: Path, labels: list[str], y: list[Any], marker: Any
) -> None:
    table = with_labels(tmp_path, labels)
    assert table.y.tolist() == y
    assert table.unlabeled == marker
    assert table.labeled.tolist() == [label.strip() != "" for label in labels]


@given(
    X=st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2),
        min_size=3,
        max_size=12,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.LapwingWarning")
def test_formats_agree_to_the_bit(tmp_path: Path, X: list[list[float]]) -> None:
    values = np.array(X)
    labels = ["a", "b", *[None] * (len(X) - 2)]
    frame = pl.DataFrame({"p": values[:, 0], "q": values[:, 1], "y": labels})
    text = "".join(f"{p!r},{q!r},{y or ''}\n" for p, q, y in frame.rows())
    arrays = {"X": values, "y": np.array([y or "" for y in labels])}
    for suffix, content in (("csv", "p,q,y\n" + text), ("parquet", frame), ("npz", arrays)):
        table = read_table(write(tmp_path / f"t.{suffix}", content), "y")
        np.testing.assert_array_equal(table.X, values)
        assert table.y.tolist() == ["a", "b", *[""] * (len(X) - 2)]


def test_parquet_types(tmp_path: Path) -> None:
    columns = {
        "i": pl.Series([1, 2, 9], dtype=pl.Int16),
        "b": [True, False, True],
        "f": pl.Series([1.5, 2.5, 4.5], dtype=pl.Float32),
        "y": [2.0, float("nan"), 5.0],
        "z": ["u", None, "v"],
    }
    path = write(tmp_path / "t.parquet", pl.DataFrame(columns))
    table = read_table(path, "y", id="i", drop=["z"])
    np.testing.assert_array_equal(table.X, [[1, 1.5], [0, 2.5], [1, 4.5]])
    assert table.X.dtype == np.float64
    assert table.y.tolist() == [2, -1, 5]
    assert table.ids.tolist() == ["1", "2", "9"]
    assert read_table(path, "z", drop=["i", "b", "y"]).X.dtype == np.float32


@pytest.mark.filterwarnings("ignore:.*only one row has the label")
def test_npz_markers_types_and_names(tmp_path: Path) -> None:
    X = np.array([[1, 2], [5, 4], [3, 8]], dtype=np.float32)
    arrays = {
        "X": X,
        "y": np.array([4, -1, 7]),
        "z": np.array([True, False, True]),
        "key": np.array(["a", "b", "c"]),
        "feature_names": np.array(["w", "h"]),
    }
    path = write(tmp_path / "t.npz", arrays)
    table = read_table(path, "y", id="key")
    assert table.X.dtype == np.float32
    assert (table.feature_names, table.ids.tolist()) == (("w", "h"), ["a", "b", "c"])
    assert (table.y.tolist(), table.unlabeled) == ([4, -1, 7], -1)
    np.testing.assert_array_equal(read_table(path, "y", drop=["w"]).X, X[:, 1:])
    with pytest.warns(LapwingWarning, match="every row has a label"):
        assert read_table(path, "z").y.tolist() == ["true", "false", "true"]


def test_many_rows_in_little_more_than_their_own_memory(tmp_path: Path) -> None:
    n, p = 10_000, 20
    X = np.random.default_rng(0).normal(size=(n, p)).round(3)
    labels = ["a", "b", ""] * n
    rows = (",".join([*map(str, row), y]) for row, y in zip(X.tolist(), labels, strict=False))
    head = ",".join(f"x{j}" for j in range(p)) + ",y\n"
    path = write(tmp_path / "t.csv", head + "\n".join(rows) + "\n")
    tracemalloc.start()
    table = read_table(path, "y")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(table.X, X)
    assert peak < 3 * X.nbytes


WINES = ["Barolo"] * 10 + ["Barollo"] * 2 + ["barolo"] + ["Barbera"] * 4 + ["Arneis", ""]


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        ("row,x,y\n5,1,a\n6,2,\n7,0,b\n", [r"column 'row' counts the rows.*--id 'row'"]),
        ("x,y\n1,a\n5,c\n0,b\n", [r"every row has a label.*--unlabeled"]),
        ("x,y\n1,a\n5,?\n0,b\n", [r"1 of 3 rows have the label.*add --unlabeled '\?'"]),
        (
            column(["-1", "2.5", "-1", "-1", "3", "-1", "-1"]),
            [r"5 of 7 rows have the number -1, .* --unlabeled -1"],
        ),
        (
            column(WINES),
            [
                r"2 rows \(the first is row 11\) have the label 'Barollo', a class of its own",
                r"and 11 have 'Barolo'. Did you mean 'Barolo'\?",
                r"only one row .* 'Arneis' \(row 18\)",
            ],
        ),
        (column(WINES), ["'barolo'"]),
    ],
    ids=["counts rows", "all labelled", "marker", "number", "almost another", "told once"],
)
def test_ambiguous_labels_are_reported(tmp_path: Path, content: str, messages: list[str]) -> None:
    path = write(tmp_path / "t.csv", content)
    with pytest.warns(LapwingWarning) as caught:
        read_table(path, "y", regression="2.5" in content)
    for message in messages:
        assert sum(re.search(message, str(one.message)) is not None for one in caught) == 1


# --- what is wrong --------------------------------------------------------------------------------

_IDS = "k,x,y\na,1,p\nb,2,q\nb,3,\n", "k,x,y\na,1,p\n,2,q\n ,3,\nb,4,\n"
_NESTED = pl.DataFrame({"x": [[1], [2]], "z": [1, 5], "y": ["a", "b"]})
_X = np.eye(3)
_MANY = ",".join(f"x{j}" for j in range(20)) + f",y\n{',' * 20}a\n"

# What a file holds (a .csv file if the case does not name another), the error, and options.
WRONG: dict[str, tuple[Any, ...]] = {
    "empty": ("", r"is empty"),
    "only a header": ("x,y\n", r"has no rows"),
    "only a label": ("y\na\nb\n", r"no column to learn from besides the label"),
    "binary": (bytes(range(256)), r"line 1 is not UTF-8 text"),
    "null bytes": (b"x,y\n1,a\n\0\0,b\n", r"line 3 is not UTF-8 text"),
    "utf-16": ("x,y\n1,a\n".encode("utf-16"), r"line 1 is not UTF-8"),
    "latin-1": ("x,y\n1,a\n2,\xe9\n".encode("latin-1"), r"line 3 is not UTF-8 text"),
    "short line": ("x,z,y\n1,2,a\n1,2\n",
        r"line 3 has 2 fields, .* names 3 columns\. An empty cell needs its ','"),
    "long line": ("x,y\n1,a\n1,2,b\n", r"line 3 has 3 fields, .* Put cells that contain ',' "),
    "open quote": ('x,y\n1,"a\n2,b\n', r"line 3 is not valid CSV.*quotes"),
    "repeated names": ("x,x,y\n1,2,a\n", r"column name 'x' occurs more than once"),
    "nameless": (",x,y\n0,3,a\n1,5,b\n", r"column 1 has no name.*--id ''"),
    "label missing": ("x,Kind\n1,a\n2,b\n", r"no column 'y' \(--label\)\. It has 'x', 'Kind'"),
    "no label": ("x,y\n1,\n2, \n", r"no row has a label \(blank means no label\)"),
    "one class": ("x,y\n1,a\n2,\n", r"only one class, 'a'.*--unlabeled"),
    "fractions": ("x,y\n1,0.5\n2,0.7\n", r"fractional numbers.*--method laprls"),
    "infinite": ("x,z,y\n1,2,a\n2,-inf,b\n", r"infinite values in 'z' \(1\).* row 2.*--drop"),
    "too large": ("x,y\n1e999,a\n2,b\n", r"infinite values in 'x'"),
    "missing": ("x,z,y\n1,,a\n2,NA,b\n", r"missing values in 'z' \(2\); the first is in row 1"),
    "many missing": (_MANY, r"'x7' \(1\) and 12 more"),
    "bad cell": ("x,z,y\n1,2,a\n2,three,b\n3,4,b\n",
        r"'z' holds text in 1 row; the first is row 2: 'three'\. .*--drop z"),
    "text": ("x,c,y\n1,red,a\n2,blue,b\n",
        r"'c' cannot be used: not numeric.*such as 'red'.*--id.*--drop c"),
    "texts": ("x,c,d,y\n1,red,u,a\n", r"\(1\) column 'c' .*--drop c.*\(2\) column 'd' .*--drop d"),
    "packed.csv.gz": (gzip.compress(b"x,y\n1,a\n"), r"\.csv\.gz is compressed\. Unpack it"),
    "unknown.docx": ("x", r"extension '\.docx'"),
    "no line of names": ("1.5,2.5,p\n2.5,0.5,q\n3.5,1.5,\n",
        r"\(--label\)\. .*which look like values: write a line"),
    "years as names": ("2019,2020,p\n1,2,a\n2,3,b\n",
        r"\(--label\)\. It has '2019', '2020', 'p'\."),
    "near label": (CSV, r"no column 'KINDS' .*Did you mean 'kind'\?", {"label": "KINDS"}),
    "near id": (CSV, r"'nam' \(--id\)\. Did you mean 'name'\?", {"label": "kind", "id": "nam"}),
    "near drop": (CSV, r"\(--drop\)\. Did you mean 'width'", {"label": "kind", "drop": ["Width"]}),
    "label dropped": (CSV, r"label column 'kind' cannot be", {"label": "kind", "drop": ["kind"]}),
    "label as id": (CSV, r"label column 'kind' cannot be", {"label": "kind", "id": "kind"}),
    "text as numbers": (CSV,
        r"row 1 holds 'cat'.*not a num", {"label": "kind", "drop": ["name"], "regression": True}),
    "infinite target": ("x,y\n1,1\n2,inf\n", "row 2 holds an infinite value", {"regression": True}),
    "marker as number": ("x,y\n0,1\n2,?\n1,3\n",
        r"'\?', which is not a number.* by --unlabeled '\?'\.", {"regression": True}),
    "equal ids": (_IDS[0], r"'k' does not tell rows apart: 'b' is in 2 rows.* row 2", {"id": "k"}),
    "empty ids": (_IDS[1],
        r"id column 'k' is empty in 2 rows, first in row 2\. Fill in .* leave --id out",
        {"id": "k"}),
    "garbage.parquet": (b"garbage" * 9, "is not a readable Parquet file"),
    "inside.parquet": (b"PAR1" + bytes(99) + b"PAR1", "is not a readable Parquet file"),
    "list.parquet": (_NESTED, r"'x' cannot be used: of the type List\(Int64\), which is"),
    "lists.parquet": (_NESTED, "'x' holds List", {"label": "x", "drop": ["y"]}),
    "null.parquet": (pl.DataFrame({"x": [1.0, None], "y": ["a", "b"]}),
        r"missing values in 'x' \(1\)"),
    "no X.npz": ({"x": _X, "y": [0, 1, -1]}, r"no array 'X'; it has 'x', 'y'"),
    "no y.npz": ({"X": _X}, r"no array 'y'"),
    "flat.npz": ({"X": np.ones(3), "y": [0, 1, -1]}, r"'X' must be a table of numbers.*\(3,\)"),
    "text.npz": ({"X": np.array([["a"]]), "y": [0]}, r"'X' must be a table of numbers"),
    "lengths.npz": ({"X": _X, "y": [0, 1]}, r"'y' must have one entry for each of the 3 rows"),
    "names.npz": ({"X": _X, "y": [0, 1, -1], "feature_names": ["a"]},
        r"'feature_names' has the shape \(1,\), but 'X' has 3 columns"),
    "complex.npz": ({"X": _X, "y": [0j, 1, 2]}, r"'y' has the type complex128"),
    "hidden.npz": ({"X": _X, "y": [-1, 1, -1]}, r"only one class, '1'.*blank or '-1'"),
    "code.npz": ({"X": np.eye(2), "y": np.array(["a", None], dtype=object)},
        r"array 'y' holds Python objects.*Save it as text"),
    "code too.npz": ({"X": _X.astype(object), "y": np.array(["a", "b", ""])},
        r"array 'X' holds Python objects, which are st"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_files(tmp_path: Path, case: str) -> None:
    content, message, *options = WRONG[case]
    path = write(tmp_path / (case if "." in case else "t.csv"), content)
    with pytest.raises(ValueError, match=message) as error:
        read_table(path, **({"label": "y"} | dict(*options)))
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv", "y")
    (tmp_path / "dir.csv").mkdir()
    with pytest.raises(ValueError, match="is a folder"):
        read_table(tmp_path / "dir.csv", "y")
    np.save(tmp_path / "one.npy", _X)
    (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    with pytest.raises(ValueError, match="is a single array"):
        read_table(tmp_path / "one.npz", "y")


@given(cut=st.integers(1, 700), flip=st.integers(0, 700))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.LapwingWarning")
@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
def test_a_damaged_file_is_a_value_error_or_a_table(
    tmp_path: Path, suffix: str, cut: int, flip: int
) -> None:
    frame = pl.DataFrame({"x": [1.5, 2.5, 0.5] * 9, "y": ["a", "", "b"] * 9})
    arrays = {"X": frame["x"].to_numpy()[:, None], "y": np.array(frame["y"].to_list())}
    contents = {"csv": frame.write_csv(), "parquet": frame, "npz": arrays}
    path = write(tmp_path / f"t.{suffix}", contents[suffix])
    content = bytearray(path.read_bytes())
    content[flip % len(content)] ^= 0xFF
    write(path, bytes(content[: max(1, min(cut * 2, len(content)))]))
    said = str(path)
    try:
        read_table(path, "y")
    except ValueError as error:
        said = str(error)
    assert str(path) in said


def test_parquet_needs_an_extra_and_csv_none(
    csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"t\.parquet needs 'polars'.*\[cli\]"):
        read_table(write(tmp_path / "t.parquet", b"PAR1"), "y")
    assert read_table(csv, "kind", id="name").X.shape == (3, 2)


def test_a_dropped_column_without_a_name_gives_no_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ",a,y\n7,1,p\n7,3,q\n8,2,\n")
    table = read_table(path, "y", drop=[""])
    assert (table.ids.tolist(), table.dropped) == ([1, 2, 3], ("",))
