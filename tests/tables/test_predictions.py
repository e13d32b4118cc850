"""Predictions in files: the same to the bit, and harmless to whatever opens them."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from python_calamine import CalamineWorkbook

from lapwing._tables.predictions import Predictions, print_columns, write_columns


def of_ids(ids: list[str], labels: list[float] | None = None) -> Predictions:
    values = np.arange(1.0, len(ids) + 1) if labels is None else np.array(labels)
    return Predictions(np.array(ids, dtype=object), values, np.arange(len(ids)) == 0)


@pytest.mark.parametrize("name", ["p.csv", "p.parquet", "p.npz"])
def test_predictions_survive_the_file_to_the_bit(tmp_path: Path, name: str) -> None:
    scores = np.random.default_rng(0).normal(size=(5, 2))
    scores *= 10.0 ** np.arange(-200, 300, 100)[:, None]
    ids = np.array(['a,"b"', "c\nd", "é", " f", "a\rb"], dtype=object)
    known = np.array([True, False, True, False, False])
    rows = Predictions(ids, np.array([1, 2, 1, 2, 1]), known, np.array([1, 2]), scores)
    write_columns(rows.columns(), Path(name).suffix, tmp_path / name)
    read: Any = {"p.csv": pl.read_csv, "p.parquet": pl.read_parquet}.get(name, np.load)
    found = read(tmp_path / name)
    frame = found if isinstance(found, pl.DataFrame) else pl.DataFrame(dict(found))
    assert frame["id"].to_list() == ids.tolist()
    np.testing.assert_array_equal(frame["score_2"].to_numpy(), scores[:, 1])
    assert frame["was_labeled"].to_list() == known.tolist()


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.LapwingWarning")
@pytest.mark.parametrize(
    ("text", "written"),
    [("=1+1", "'=1+1"), ("+cmd|x", "'+cmd|x"), ("@SUM(A1)", "'@SUM(A1)"), ("-a", "'-a"),
     ("\tx", "'\tx"), ("-5", "-5"), ("+1.5e3", "+1.5e3"), ("-", "-"), ("a=1", "a=1"),
     ("a,b", '"a,b"'), ('say "x"', '"say ""x"""'), ("a\rb", '"a\rb"'), (" x", '" x"')],
)  # fmt: skip
def test_cells_of_predictions(text: str, written: str) -> None:
    stream = io.StringIO()
    print_columns(of_ids([text]).columns(), stream)
    assert stream.getvalue() == f"id,label,was_labeled\n{written},1.0,true\n"


def test_a_terminal_gets_no_control_character() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    ids = ["\x1b[2Jx", "c\x9b"]
    for stream, expected in ((Terminal(), ["␛[2Jx", "c␡"]), (io.StringIO(), ids)):
        print_columns(of_ids(ids).columns(), stream)
        stream.seek(0)
        assert [row["id"] for row in csv.DictReader(stream)] == expected


def test_texts_of_an_excel_file_are_no_formulas(tmp_path: Path) -> None:
    path, ids = tmp_path / "p.xlsx", ["=1+1", "007", "é"]
    write_columns(of_ids(ids, [1.5, np.nan, 1e300]).columns(), ".xlsx", path)
    rows = CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()
    assert rows[1:] == [["=1+1", 1.5, True], ["007", "", False], ["é", "1e+300", False]]
    with pytest.raises(ValueError, match="row 2 has a text of 32768 characters"):
        write_columns(of_ids(["=1+1", "x" * 32768, "é"]).columns(), ".xlsx", path)


def test_text_without_encoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        write_columns(of_ids(["a", "\ud800"]).columns(), ".csv", tmp_path / "out.csv")
