"""CSV files as Excel writes them: titles above the names, cells that are formulas of a text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing._tables.options import ReadOptions
from lapwing._tables.tables import Table, read_table
from tests.helpers.reading import write

ROWS = "".join(f"r{i},{i + 0.5},{i % 3},{'ab'[i % 2] if i < 6 else ''}\n" for i in range(12))
NAMES = "id,x,z,kind\n"


def read(folder: Path, text: str, **options: Any) -> Table:
    return read_table(write(folder / "t.csv", text), ReadOptions(label="kind", id="id", **options))


@pytest.mark.parametrize(
    ("titles", "line"),
    [
        ("Report of cells\n", 2),
        ("Report, 2024\n\n", 3),
        ("Report of cells,,,\nmade by,me,,\n\n", 4),
        ('"Report; of ""cells"""\n', 2),
        ("sep=,\nReport\n", 3),
    ],
)
def test_titles_above_the_names_are_skipped(tmp_path: Path, titles: str, line: int) -> None:
    plain = read(tmp_path, NAMES + ROWS)
    found = read(tmp_path, titles + NAMES + ROWS)
    assert found.feature_names == plain.feature_names == ("x", "z")
    np.testing.assert_array_equal(found.X, plain.X)
    assert found.ids.tolist() == plain.ids.tolist()
    assert found.remarks == (f"the names of the columns are in line {line}",)
    assert plain.remarks == ()


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_titles_hold_other_separators(tmp_path: Path, separator: str) -> None:
    body = (NAMES + ROWS).replace(",", separator)
    found = read(tmp_path, f"Cells, first series, 2024\n{body}")
    assert found.feature_names == ("x", "z")


def test_the_user_says_where_the_names_are(tmp_path: Path) -> None:
    titles = "a,b,c,d\n1,2,3,4\n"  # looks like a table itself
    found = read(tmp_path, titles + NAMES + ROWS, skip_lines=2)
    assert found.feature_names == ("x", "z")
    assert found.remarks == ()
    with pytest.raises(ValueError, match=r"no column 'kind' \(--label\)"):
        read(tmp_path, "Report\n" + NAMES + ROWS, skip_lines=0)
    with pytest.raises(ValueError, match=r"t\.csv is empty below its first 40 lines"):
        read(tmp_path, NAMES + ROWS, skip_lines=40)
    with pytest.raises(ValueError, match="has 1 field, but line 3 names 4 columns"):
        read(tmp_path, "Report\n\n" + NAMES + ROWS + "1\n", skip_lines=2)


def test_a_first_line_that_is_cut_is_no_title(tmp_path: Path) -> None:
    """Below it stand numbers, which are no names: the user has to say what is meant."""
    with pytest.raises(ValueError, match=r"line 2 has 4 fields.*--skip-lines 1\.$"):
        read_table(write(tmp_path / "t.csv", "kind\n" + ROWS), ReadOptions(label="kind"))
    with pytest.raises(ValueError, match=r"line 3 has 3 fields.*Put cells .* in quotes\.$"):
        read_table(write(tmp_path / "t.csv", "x,kind\n1,a\n2,b,c\n"), ReadOptions(label="kind"))
    with pytest.raises(ValueError, match=r"no column 'kind' \(--label\)\. It has 'Report'"):
        read(tmp_path, "Report\n" + NAMES + ROWS, strict=True)


def test_one_column_or_few_rows_have_no_title(tmp_path: Path) -> None:
    for text in (",kind\np,a\nq,b\np,\nq,a\np,b\n", "id,kind\n1,a\n2,b\n3,\n2,b\n3,a\n"):
        found = read_table(write(tmp_path / "t.csv", text), ReadOptions(label="kind"))
        assert found.remarks == ()
        assert set(found.y.tolist()) == {"a", "b", ""}


@pytest.mark.parametrize(
    ("flag", "option"), [("--skip-lines", {"skip_lines": 1}), ("--separator", {"separator": ";"})]
)
def test_options_of_csv_files(tmp_path: Path, flag: str, option: dict[str, Any]) -> None:
    np.savez(tmp_path / "t.npz", X=np.eye(4), y=np.array([1, 2, -1, -1]))
    with pytest.raises(ValueError, match=rf"t\.npz: {flag} is about CSV files\. Leave it out"):
        read_table(tmp_path / "t.npz", ReadOptions(label="y", **option))


def test_the_user_says_what_separates_the_cells(tmp_path: Path) -> None:
    """More commas than semicolons in the names: they are read as the separators."""
    names = "id;length, in mm, wet;width, in mm, wet;kind\n"
    path = write(tmp_path / "t.csv", names + ROWS.replace(",", ";"))
    with pytest.raises(ValueError, match="no column 'kind'"):
        read_table(path, ReadOptions(label="kind"))
    found = read_table(path, ReadOptions(label="kind", id="id", separator=";"))
    assert found.feature_names == ("length, in mm, wet", "width, in mm, wet")
    with pytest.raises(ValueError, match=r"--separator '#' must be one of auto, ,, ;, \|, tab"):
        ReadOptions(separator="#")


def test_formulas_of_a_text_are_the_text(tmp_path: Path) -> None:
    lines = [
        f'="r{i}",="{i}.25","=""00{i % 3}""",="{"ab"[i % 2] if i < 6 else ""}"' for i in range(9)
    ]
    found = read(tmp_path, '="id",x,code,="kind"\n' + "\n".join(lines) + "\n")
    assert found.ids.tolist() == [f"r{i}" for i in range(9)]
    assert found.y[:2].tolist() == ["a", "b"]
    assert found.labeled.sum() == 6
    assert found.X["x"].to_list() == [i + 0.25 for i in range(9)]
    assert found.X["code"].to_list() == [f"00{i % 3}" for i in range(9)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_minus_one_marks_rows_of_an_array(tmp_path: Path, dtype: type) -> None:
    y = np.array([0, 1, -1, -1, 1, 0], dtype=dtype)
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "X.npy", np.arange(12.0).reshape(6, 2))
    found = read_table(tmp_path / "X.npy", ReadOptions(labels_file=tmp_path / "y.npy"))
    assert found.labeled.tolist() == (y != -1).tolist()


def test_minus_one_is_a_number_among_numbers(tmp_path: Path) -> None:
    y = np.array([0.1, 1.5, -1.0, np.nan, 1.0, 0.0])
    np.savez(tmp_path / "t.npz", X=np.arange(12.0).reshape(6, 2), y=y)
    for regression in (True, None):
        found = read_table(tmp_path / "t.npz", ReadOptions(label="y", regression=regression))
        assert found.numeric
        np.testing.assert_array_equal(found.y, y)
        assert found.labeled.tolist() == [True, True, True, False, True, True]
