"""The table as read: files below each other, whatever their formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing._tables.cells import as_text, cells_of_texts
from lapwing._tables.columns import RawTable, TextColumn, join_tables, typed_columns
from lapwing._tables.encoders import NumberReading
from lapwing._tables.roles import ColumnRoles, ReadOptions
from lapwing._tables.tables import Fitted, read_points
from tests.helpers.reading import fitted, read, write

X = np.array([[1.0, 0.0], [0.5, 2.0], [0.0, -3.0]])
FORMATS: dict[str, Any] = {"csv": "x0,x1\n1,0\n0.5,2\n0,-3\n", "npy": X, "mtx": sp.coo_matrix(X)}


@pytest.mark.parametrize("first", FORMATS)
@pytest.mark.parametrize("second", FORMATS)
def test_rows_of_two_files_are_joined_in_order(tmp_path: Path, first: str, second: str) -> None:
    model = Fitted((NumberReading("x0"), NumberReading("x1")))
    parts = (first, FORMATS[first]), (second, FORMATS[second] * (1 if second == "csv" else 2))
    paths = [write(tmp_path / f"{k}.{name}", content) for k, (name, content) in enumerate(parts)]
    if {first, second} == {"npy", "mtx"}:
        with pytest.raises(ValueError, match="the files do not have the same columns"):
            read_points(paths, model)
        return
    joined = read_points(paths, model).X
    dense = joined.toarray() if sp.issparse(joined) else joined
    np.testing.assert_array_equal(dense, np.concatenate([X, X if second == "csv" else 2 * X]))


def test_texts_and_other_columns_are_joined() -> None:
    texts = {"t": TextColumn(as_text(["1", "v"]), np.array([1.0, np.nan]))}
    cells = [{"a": cells_of_texts(one)} for one in (["1", "x"], ["y"])]
    first = RawTable(2, ColumnRoles(), cells[0], texts, decimal=",", remarks=("cut",))
    second = RawTable(1, ColumnRoles(), cells[1], decimal=".", remarks=("cut", "old"))
    joined = join_tables([first, second], "t")
    assert joined.cells_at("a", np.arange(3)) == [1.0, "x", "y"]
    assert joined.texts["t"].texts.tolist() == ["1", "v", ""]
    np.testing.assert_array_equal(joined.texts["t"].numbers_or_nan, [1.0, np.nan, np.nan])
    assert (joined.decimal, joined.remarks) == ("", ("cut", "old"))


def test_other_columns_are_typed_for_formats_with_numbers() -> None:
    texts = as_text(["1", "", "007"])
    written = {"a": TextColumn(texts), "b": TextColumn(as_text(["1,5", "", "2"]))}
    found = typed_columns(written, ",")
    assert (found["a"].tolist(), found["b"].tolist()) == (["1", "", "007"], [1.5, "", 2])
    # A format with numbers says which cells are some: its texts stay.
    exact = {"a": TextColumn(texts, np.array([1.0, np.nan, np.nan])), "b": written["b"]}
    found = typed_columns(exact, ",")
    assert (found["a"].tolist(), found["b"].tolist()) == ([1, "", "007"], ["1,5", "", "2"])
    assert isinstance(found["a"][0], int)


def test_new_rows_without_the_column_of_the_ids(tmp_path: Path) -> None:
    table = read(write(tmp_path / "t.csv", "k,x,y\na,1,p\nb,3,q\nc,2,\n"), id="k")
    contents = {"named": "k,x\nd,1\n", "rest": "x\n2\n", "holes": "k,x\nd,1\n,3\n"}
    named, rest, holes = (write(tmp_path / f"{name}.csv", t) for name, t in contents.items())
    lacks = r"^\S*rest\.csv has no column 'k', which names the rows .* one after the other\.$"
    for paths in (named, rest), (rest, named), (named, holes, rest):
        with pytest.raises(ValueError, match=lacks):
            read_points(paths, fitted(table))
    assert read_points(rest, fitted(table)).ids.tolist() == [1]
    for options, cure in (None, "take the column out"), (ReadOptions(id="k"), "leave --id out"):
        with pytest.raises(ValueError, match=f"id column 'k' is empty in 1 row, .* or {cure}: "):
            read_points(holes, fitted(table), options)


def test_ids_are_found_without_zeros_if_they_are_different(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", "k,x,y\n007,1,p\n07,3,q\n08,2,\n09,5,q\n10,4,\n")
    answers = [write(tmp_path / f"{k}.csv", f"k,y\n{k},p\n") for k in (8, 7)]
    assert read([table, answers[0]], id="k").y.tolist() == ["p", "q", "p", "q", ""]
    with pytest.raises(ValueError, match="no column 'x'"):
        read([table, answers[1]], id="k")


def test_lines_are_skipped_in_the_first_file_of_new_rows(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / f"{k}.csv", f"{title}x0\n{k}\n") for k, title in ((1, "a\n"), (2, ""))
    ]
    found = read_points(paths, Fitted((NumberReading("x0"),)), ReadOptions(skip_lines=1))
    assert found.X.tolist() == [[1], [2]]
