"""The table as read: one type for columns of cells, dense matrices and sparse ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing._tables.assembly import encode
from lapwing._tables.cells import as_text, cells_of_texts, numeric_cells
from lapwing._tables.columns import RawTable, TextColumn, join_tables, typed_columns
from lapwing._tables.roles import ColumnRoles, Selection
from lapwing._tables.tables import read_points
from tests.helpers.reading import fitted, read, write

X = np.array([[1.0, 0.0], [0.5, 2.0], [0.0, -3.0]])
NAMES = ("a", "b")
ROLES = ColumnRoles((*NAMES, "y"), NAMES, ("y",), "y")
TEXTS = {"y": TextColumn(as_text(["p", "", "q"]))}


def of_cells(X: np.ndarray = X) -> RawTable:
    cells = {name: numeric_cells(column) for name, column in zip(NAMES, X.T, strict=True)}
    return RawTable(len(X), ROLES, cells, TEXTS)


def of_matrix(matrix: Any) -> RawTable:
    return RawTable(3, ROLES, texts=TEXTS, matrix=matrix)


TABLES = [of_cells(), of_matrix(X), of_matrix(sp.csr_array(X))]


@pytest.mark.parametrize("raw", TABLES, ids=["cells", "dense", "sparse"])
def test_columns_are_the_same_in_cells_and_matrices(raw: RawTable) -> None:
    assert raw.roles.features == NAMES
    for j, name in enumerate(NAMES):
        assert raw.cells_at(name, np.array([2, 0])) == X[[2, 0], j].tolist()
    assert raw.cells_at("c", np.array([0])) is None
    features = encode(raw, Selection())
    numbers = features.numbers
    assert features.names == NAMES
    assert features.kinds == ("numeric", "numeric")
    np.testing.assert_array_equal(numbers.toarray() if sp.issparse(numbers) else numbers, X)


@pytest.mark.parametrize("first", TABLES, ids=["cells", "dense", "sparse"])
@pytest.mark.parametrize("second", TABLES, ids=["cells", "dense", "sparse"])
def test_rows_are_joined_in_order(first: RawTable, second: RawTable) -> None:
    if first.is_matrix and second.is_matrix and type(first.matrix) is not type(second.matrix):
        with pytest.raises(ValueError, match=r"^t: the files do not have the same columns\.$"):
            join_tables([first, second], "t")
        return
    joined = join_tables([first, second], "t")
    assert (joined.n, joined.roles.features) == (6, NAMES)
    assert joined.labels is not None
    assert joined.labels.texts.tolist() == ["p", "", "q"] * 2
    rows = np.arange(6)
    for j, name in enumerate(NAMES):
        assert joined.cells_at(name, rows) == np.tile(X[:, j], 2).tolist()


def test_texts_and_other_columns_are_joined() -> None:
    first = RawTable(
        2,
        ColumnRoles(),
        {"a": cells_of_texts(["1", "x"])},
        {"t": TextColumn(as_text(["1", "v"]), np.array([1.0, np.nan]))},
        remarks=("cut",),
        decimal=",",
    )
    second = RawTable(1, ColumnRoles(), {"a": cells_of_texts(["y"])}, remarks=("cut", "old"))
    joined = join_tables([first, second], "t")
    assert joined.cells_at("a", np.arange(3)) == [1.0, "x", "y"]
    assert joined.texts["t"].texts.tolist() == ["1", "v", ""]
    np.testing.assert_array_equal(joined.texts["t"].numbers_or_nan, [1.0, np.nan, np.nan])
    assert joined.remarks == ("cut", "old")
    assert joined.decimal == ""
    alone = join_tables([first], "t")
    assert (alone.source, alone.cells is first.cells) == ("t", True)


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
    paths = [write(tmp_path / f"{names}.csv", f"{names}\n{cells}\n")
             for names, cells in (("k,x", "d,1"), ("x", "2"))]  # fmt: skip
    for files in (paths, paths[::-1]):
        with pytest.raises(ValueError, match="id column 'k' is empty in 1 row"):
            read_points(files, fitted(table))
