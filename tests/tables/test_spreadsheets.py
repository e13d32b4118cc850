"""Spreadsheets: numbers are certain, rows keep the numbers that Excel shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from lapwing._tables.options import ReadOptions
from lapwing._tables.tables import read_points
from tests.helpers.reading import fitted, read, write_book

N = 30


def german(value: float) -> str:
    return f"{value:.2f}".replace(".", ",")


NUMBERS = [1.091 + 0.31 * i for i in range(N)]  # of three digits: 1.401 would be 1401
LABELS = [("a", "b")[i % 2] if i < 12 else None for i in range(N)]


@pytest.mark.parametrize("decimal", ["auto", ".", ","])
@pytest.mark.parametrize("suffix", ["xlsx", "parquet"])
def test_numbers_of_the_format_are_certain(tmp_path: Path, decimal: str, suffix: str) -> None:
    typed = [None if i == 3 else round(x, 3) for i, x in enumerate(NUMBERS)]
    texts = [german(17 * x) for x in NUMBERS]
    path = tmp_path / f"t.{suffix}"
    if suffix == "xlsx":
        typed[4] = "-"  # type: ignore[call-overload]
        write_book(path, S=[("size", "price", "y"), *zip(typed, texts, LABELS, strict=True)])
    else:
        pl.DataFrame({"size": typed, "price": texts, "y": LABELS}).write_parquet(path)
    table = read(path, decimal=decimal)
    assert table.feature_names == ("size", "price")
    known = [x for x in typed if isinstance(x, float)]
    np.testing.assert_array_equal(table.X[[isinstance(x, float) for x in typed], 0], known)
    np.testing.assert_allclose(table.X[:, 1], [float(t.replace(",", ".")) for t in texts])
    # New rows are read in the same way.
    again = read_points(path, fitted(table), ReadOptions(decimal=decimal))
    np.testing.assert_array_equal(again.X, table.X)


def test_numbers_to_predict_and_known_answers_are_certain_too(tmp_path: Path) -> None:
    price = [german(17 * x) for x in NUMBERS]
    y = [round(x, 3) if i < 12 else None for i, x in enumerate(NUMBERS)]
    truth = [round(x, 3) for x in NUMBERS]
    rows = zip(price, y, truth, truth, strict=True)
    path = write_book(tmp_path / "t.xlsx", S=[("price", "y", "t", "m"), *rows])
    table = read(path, truth="t", layout=("m", "t"), regression=True)
    np.testing.assert_array_equal(table.y[:12], y[:12])
    np.testing.assert_array_equal(table.truth, truth)
    np.testing.assert_array_equal(table.layout, np.column_stack([truth, truth]))


def _with(rows: list[list[Any]], i: int, j: int, value: Any) -> list[list[Any]]:
    return [[value if (k, c) == (i, j) else v for c, v in enumerate(r)] for k, r in enumerate(rows)]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ((16, 1, "oops"), {"missing": False}, r"the first is row 20 of the sheet: 'oops'"),
        ((16, 1, None), {"missing": False}, r"the first is in row 20 of the sheet"),
        ((9, 2, "many"), {"regression": True}, r"row 13 of the sheet holds 'many'"),
        ((9, 0, None), {"id": "id"}, r"first in row 13 of the sheet"),
        ((9, 0, 3), {"id": "id"}, r"in 2 rows, first in row 7 of the sheet"),
    ],
)
def test_errors_name_the_row_that_the_spreadsheet_shows(
    tmp_path: Path, change: tuple[int, int, Any], options: dict[str, Any], message: str
) -> None:
    rows = [[i, x, i % 5 if i < 12 else None] for i, x in enumerate(NUMBERS)]
    title = [["Measured by X"], [], ["id", "size", "y"]]
    path = write_book(tmp_path / "t.xlsx", S=[*title, *_with(rows, *change)])
    with pytest.raises(ValueError, match=message):
        read(path, **options)


def test_a_missing_column_names_the_other_sheets(tmp_path: Path) -> None:
    legend, data = (
        [["name", "meaning"], ["a", "b"]],
        [("x", "y"), *zip(NUMBERS, LABELS, strict=True)],
    )
    path = write_book(tmp_path / "t.xlsx", Legend=legend, Data=data)
    with pytest.raises(ValueError, match=r"has no column 'y' .*The sheet 'Legend' was read; "):
        read(path)
    assert read(path, sheet="Data").feature_names == ("x",)
    with pytest.raises(ValueError, match=r"has no column 'z' \(--label\)\. It has 'x', 'y'\.$"):
        read(path, sheet="Data", label="z")
