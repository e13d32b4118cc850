"""Columns of measurements with their units: in cells, in names, in a row of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing._tables.cells import (
    cells_of_texts,
    kind_of_unit,
    unit_in_name,
    unit_name,
)
from lapwing._tables.encoders import NumberReading
from lapwing._tables.inference import ReadingDefaults, infer_leniently
from lapwing._tables.options import ReadOptions
from lapwing._tables.tables import Table, read_points, read_table
from tests.helpers.reading import fitted, write_book

VALUES = [round(50 + 1.37 * i, 2) for i in range(30)]
LABELS = ["a", "b"] * 6 + [""] * 18


def read(folder: Path, names: str, *rows: str, **options: Any) -> Table:
    lines = [f"{row};{label}" for row, label in zip(rows, LABELS, strict=True)]
    path = folder / "t.csv"
    path.write_text("\n".join([f"{names};y", *lines]) + "\n", encoding="utf-8")
    return read_table(path, ReadOptions(**{"label": "y", **options}))


@pytest.mark.parametrize(
    ("unit", "kind"),
    [
        *[("mm", "length"), ("mL", "volume"), ("mg/l", "mass/volume"), ("€/kg", "currency/mass")],
        *[("pcs", ""), ("mm/pcs", ""), ("a", ""), ("M", "concentration")],
    ],
)
def test_kinds_of_units(unit: str, kind: str) -> None:
    assert kind_of_unit(unit_name(unit)) == kind


def test_units_in_names() -> None:
    assert unit_in_name("radius (mm)") == unit_in_name("radius [ mm ]") == "mm"
    assert (
        unit_in_name("radius") == unit_in_name("price (old)") == unit_in_name("(mm) radius") == ""
    )


@pytest.mark.parametrize("unit", ["mm", "kg", "°C", "µg/ml", "% w/w", "pcs", "mmHg", "mU/l"])
@pytest.mark.parametrize("mark", [".", ","])
def test_one_unit_a_column_is_dropped(tmp_path: Path, unit: str, mark: str) -> None:
    unit = unit.split()[0]
    table = read(tmp_path, "sample_id", *(f"{x} {unit}".replace(".", mark, 1) for x in VALUES))
    np.testing.assert_array_equal(table.X[:, 0], VALUES)
    assert f"in {unit}" in table.features.notes[0].words
    assert read_points(tmp_path / "t.csv", fitted(table)).X.tolist() == table.X.tolist()


def test_whole_numbers_with_a_unit_do_not_name_the_rows(tmp_path: Path) -> None:
    table = read(tmp_path, "id;no", *(f"{7 * i} mm;{i} s" for i in range(30)))
    assert table.X.tolist() == [[7 * i, i] for i in range(30)]


@pytest.mark.parametrize(
    ("names", "cells", "units"),
    [
        ("r", ["{} mm", "{} cm"], "cm, mm"),
        ("r", ["{} mg/l", "{} µg/ml"], "mg/l, µg/ml"),
        ("r", ["{} €", "{} $"], r"\$, €"),
        ("r (mm)", ["{} cm", "{} cm"], "cm, mm"),
    ],
)
def test_several_units_are_refused_by_name(
    tmp_path: Path, names: str, cells: list[str], units: str
) -> None:
    rows = [f"{i % 4};{cells[i % 2].format(x)}" for i, x in enumerate(VALUES)]
    refused = rf"'{names}' cannot be used: numbers in several units \({units}\)\. Convert them"
    with pytest.raises(ValueError, match=refused.replace("(mm)", r"\(mm\)")):
        read(tmp_path, f"x;{names}", *rows)
    assert read(tmp_path, f"x;{names}", *rows, drop=(names,)).feature_names == ("x",)


@pytest.mark.parametrize(
    "texts", [["12a", "12b", "7c"] * 10, ["1st", "2nd", "3rd", "4th"] * 6, ["3 a", "5", "7"] * 10]
)
def test_words_behind_numbers_that_are_no_units(texts: list[str]) -> None:
    found = infer_leniently("x", cells_of_texts(texts), ReadingDefaults())
    assert not isinstance(found, NumberReading) or found.unit == ""


def test_the_name_may_hold_the_unit_that_the_cells_have(tmp_path: Path) -> None:
    table = read(
        tmp_path, "r (mm)", *(f"{x} mm" if i % 2 else f"{x}" for i, x in enumerate(VALUES))
    )
    np.testing.assert_array_equal(table.X[:, 0], VALUES)


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
@pytest.mark.parametrize("units", [("mm", "kg"), ("[mm]", ""), ("(mm)", "-"), ("score", "kg")])
def test_a_row_of_units_below_the_names(
    tmp_path: Path, units: tuple[str, str], suffix: str
) -> None:
    rows = [(x, 2 * x, label) for x, label in zip(VALUES, LABELS, strict=True)]
    path = tmp_path / f"t.{suffix}"
    content = [("r", "m", "y"), (*units, ""), *rows]
    if suffix == "csv":
        path.write_text("\n".join(",".join(map(str, row)) for row in content) + "\n")
    else:
        write_book(path, S=content)
    table = read_table(path, ReadOptions(label="y"))
    np.testing.assert_array_equal(table.X, [row[:2] for row in rows])
    assert table.y.tolist() == LABELS
    place = "row 1" if suffix == "csv" else "row 2 of the sheet"
    known = [unit for unit in units if unit not in ("", "-", "score")]
    assert table.remarks == (f"{place} holds units: {', '.join(known)}",)
    np.testing.assert_array_equal(read_points(path, fitted(table, "none")).X, table.X)


def test_a_row_of_values_is_no_row_of_units(tmp_path: Path) -> None:
    sexes = [f"{'mf'[i % 2]};{x}" for i, x in enumerate(VALUES)]
    assert len(read(tmp_path, "sex;x", *sexes).y) == 30
    assert len(read(tmp_path, "sex", *("mf"[i % 2] for i in range(30))).y) == 30
