"""Columns of measurements with their units: in cells, in names, in a row of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing._tables.tables import Table, read_points
from tests.helpers.reading import fitted, read, write

VALUES = [round(50 + 1.37 * i, 2) for i in range(30)]
LABELS = ["a", "b"] * 6 + [""] * 18


def table_of(folder: Path, names: str, rows: Iterable[str], **options: Any) -> Table:
    lines = [f"{row};{label}" for row, label in zip(rows, LABELS, strict=True)]
    return read(write(folder / "t.csv", "\n".join([f"{names};y", *lines])), **options)


@pytest.mark.parametrize("unit", ["mm", "kg", "°C", "µg/ml", "%", "pcs", "mmHg", "mU/l"])
@pytest.mark.parametrize("mark", [".", ","])
def test_reads_numbers_with_a_unit(tmp_path: Path, unit: str, mark: str) -> None:
    cells = (f"{x} {unit}".replace(".", mark, 1) for x in VALUES)
    table = table_of(tmp_path, "sample_id", cells)
    np.testing.assert_array_equal(table.X[:, 0], VALUES)
    assert f"in {unit}" in table.features.notes[0].words
    assert read_points(tmp_path / "t.csv", fitted(table)).X.tolist() == table.X.tolist()


@pytest.mark.parametrize(
    ("name", "cells", "units"),
    [("r", "mm|cm", "cm, mm"), ("r", "mg/l|µg/ml", "mg/l, µg/ml"), ("r", "€|$", "$, €"),
     ("r (mm)", "cm|cm", "cm, mm")],
)  # fmt: skip
def test_rejects_several_units(tmp_path: Path, name: str, cells: str, units: str) -> None:
    rows = [f"{i % 4};{x} {cells.split('|')[i % 2]}" for i, x in enumerate(VALUES)]
    refused = f"'{name}' cannot be used: numbers in several units ({units}). Convert them"
    with pytest.raises(ValueError, match=re.escape(refused)):
        table_of(tmp_path, f"x;{name}", rows)
    assert table_of(tmp_path, f"x;{name}", rows, drop=(name,)).feature_names == ("x",)


def test_reads_units_of_whole_numbers_and_of_some_cells(tmp_path: Path) -> None:
    # They do not name the rows.
    table = table_of(tmp_path, "id;no", (f"{7 * i} mm;{i} s" for i in range(30)))
    assert table.X.tolist() == [[7 * i, i] for i in range(30)]
    cells = [f"{x} mm" if i % 2 else f"{x}" for i, x in enumerate(VALUES)]
    np.testing.assert_array_equal(table_of(tmp_path, "r (mm)", cells).X[:, 0], VALUES)


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
@pytest.mark.parametrize("units", [("mm", "kg"), ("[mm]", ""), ("(mm)", "-"), ("score", "kg")])
def test_skips_a_row_of_units(tmp_path: Path, units: tuple[str, str], suffix: str) -> None:
    rows = [(x, 2 * x, label) for x, label in zip(VALUES, LABELS, strict=True)]
    content: Any = [("r", "m", "y"), (*units, ""), *rows]
    if suffix == "csv":
        content = "\n".join(",".join(map(str, row)) for row in content)
    path = write(tmp_path / f"t.{suffix}", content)
    table = read(path)
    np.testing.assert_array_equal(table.X, [row[:2] for row in rows])
    assert table.y.tolist() == LABELS
    place = "row 1" if suffix == "csv" else "row 2 of the sheet"
    known = [unit for unit in units if unit not in ("", "-", "score")]
    assert table.remarks == (f"{place} holds units: {', '.join(known)}",)
    np.testing.assert_array_equal(read_points(path, fitted(table, "none")).X, table.X)


def test_keeps_a_first_row_of_values(tmp_path: Path) -> None:
    sexes = [f"{'mf'[i % 2]};{x}" for i, x in enumerate(VALUES)]
    assert table_of(tmp_path, "sex;x", sexes).n == 30
    assert table_of(tmp_path, "sex", "mf" * 15).n == 30
    # Without a label in the first row, and with a label that other rows have.
    unlabeled = "".join(f"{sex},{y}\n" for sex, y in zip("mf" * 15, LABELS[::-1], strict=True))
    assert read(write(tmp_path / "t.csv", f"sex,y\n{unlabeled}")).n == 30
    labeled = "".join(f"{x},{y}\n" for x, y in zip(["mm", *VALUES[1:]], LABELS, strict=True))
    assert read(write(tmp_path / "t.csv", f"x,y\n{labeled}")).n == 30
