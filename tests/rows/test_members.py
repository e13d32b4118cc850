"""Every member of `FORMATS`: values, blocks, changed files and errors."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.preprocessing import StandardScaler

from lapwing._rows import base, stored
from lapwing._rows.base import Rows, ScaledRows, all_of, blocks_of, is_rows, moments_of, rows_of
from lapwing._rows.registry import FORMATS, as_rows, is_source, open_rows
from lapwing.exceptions import DataChangedError, LapwingWarning
from tests.helpers.members import check_examples
from tests.helpers.reading import write
from tests.helpers.rows import SOURCES, ArrayRows, make_zarr

X = np.random.default_rng(0).standard_normal((53, 4))


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def values(request: Any) -> Any:
    return X.astype(request.param)


@pytest.fixture(params=SOURCES)
def rows(request: Any, values: Any, tmp_path: Path, monkeypatch: Any) -> Rows:
    # Read few rows at a time, so that blocks and reads end at different rows.
    monkeypatch.setattr(stored, "READ_BYTES", 10 * values.shape[1] * values.itemsize)
    return open_rows(SOURCES[request.param](values, tmp_path))


def test_every_format_has_an_example() -> None:
    check_examples(
        {name.partition(",")[0] for name in SOURCES},
        FORMATS,
        registry="lapwing._rows.registry.FORMATS",
        place="SOURCES in tests/helpers/rows.py",
    )


def test_blocks_are_as_high_as_asked_for(rows: Rows, values: Any) -> None:
    for height in (1, 7, 10, 23, 53, 100):
        at = 0
        for which, block in rows.blocks(height):
            assert which == slice(at, min(at + height, len(X)))
            assert block.dtype == values.dtype
            assert block.flags.c_contiguous
            np.testing.assert_array_equal(block, values[which])
            at = which.stop
        assert at == len(X)


def test_rows_are_taken_in_any_order(rows: Rows, values: Any) -> None:
    assert is_rows(rows)
    assert (rows.shape, rows.dtype) == (values.shape, values.dtype)
    everything = [*range(53)]
    for index in ([], [0], [52], [5, 3, 3, 41], everything, everything[::-1], [7, 8, 30, 31]):
        wanted = np.array(index, dtype=np.intp)
        for one in (rows, pickle.loads(pickle.dumps(rows))):
            np.testing.assert_array_equal(one.take(wanted), values[wanted])


def test_blocks_of_an_array_are_those_of_its_rows() -> None:
    of_array = list(blocks_of(X, 8, 80))
    of_rows = list(blocks_of(ArrayRows(X), 8, 80))
    assert [which for which, _ in of_array] == [which for which, _ in of_rows]
    assert len(of_array) == 6
    np.testing.assert_array_equal(rows_of(X, [3, 1]), rows_of(ArrayRows(X), [3, 1]))


def test_moments_equal_those_of_the_array(values: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_PASS_BYTES", 10 * 4 * 8)  # ten rows at a time
    values += np.array([-3.0, 100.0, 0.0, 0.0])
    values[:, 3] = 2.5
    for given in (values, -values):
        rows = ArrayRows(given)
        found = moments_of(rows)
        wide = given.astype(np.float64)
        np.testing.assert_allclose(found.mean, wide.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(found.variances, wide.var(axis=0), rtol=1e-10)
        assert found.variances[3] == 0
        np.testing.assert_array_equal([found.low, found.high], [given.min(0), given.max(0)])
        assert found.largest == np.abs(given).max()
        assert found.not_finite is None
        assert moments_of(rows) is found
    values[33, 2], values[40, 0] = np.nan, np.inf
    assert moments_of(ArrayRows(values)).not_finite == (33, 2)


def test_scaled_rows_equal_those_of_a_standard_scaler(values: Any) -> None:
    scaler = StandardScaler().fit(values)
    rows = ScaledRows(ArrayRows(values), scaler.mean_, scaler.scale_)
    assert (rows.shape, rows.dtype) == (values.shape, values.dtype)
    expected = scaler.transform(values)
    np.testing.assert_array_equal(all_of(rows), expected)
    np.testing.assert_array_equal(rows.take(np.array([5, 3, 3])), expected[[5, 3, 3]])


CHANGES: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "changed": lambda path: path.write_bytes(path.read_bytes()[::-1] + b"x"),
    "touched": lambda path: os.utime(path, (0, 0)),
    "shorter": lambda path: os.truncate(path, path.stat().st_size // 2),
}


@pytest.mark.parametrize("name", [name for name in SOURCES if name != "rows"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_is_reported(name: str, change: str, tmp_path: Path) -> None:
    rows = open_rows(SOURCES[name](X, tmp_path))
    files = (path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".json")
    victim, passing, first = max(files), rows.blocks(10), np.array([0])
    next(passing)
    CHANGES[change](victim)
    words = f"{victim} (is gone|was changed).*Leave the files of X alone"
    for read in (partial(list, passing), partial(rows.take, first), rows.blocks(10).__next__):
        with pytest.raises(DataChangedError, match=words):
            read()


_A = pl.DataFrame({"a": [1.0]})
_ABC = pl.DataFrame({"a": [1, None, 3], "b": [True, False, True], "c": [0.5, 1.5, 2.5]})
# Files, what of them is opened, with which columns, and the values.
OPENED: dict[str, tuple[dict[str, Any], Any, Any, Any]] = {
    "integers": ({"X.npy": np.arange(6).reshape(3, 2)}, "X.npy", None, [[0, 1], [2, 3], [4, 5]]),
    "nulls and booleans": ({"X.parquet": _ABC}, "X.parquet", ["a", "b"],
        [[1, 1], [np.nan, 0], [3, 1]]),
    "chosen columns": ({"X.parquet": _ABC[2:]}, "X.parquet", ["c", "a"], [[2.5, 3]]),
    "a list": ({"1.parquet": _A, "2.parquet": 2 * _A}, ["2.parquet", "1.parquet"], None,
        [[2.0], [1.0]]),
    # Brackets in the name of a file are no pattern, and hidden files of a folder are left out.
    "brackets": ({"part[1].parquet": _A}, "part[1].parquet", None, [[1.0]]),
    "hidden files": ({"1.parquet": _A, "._1.parquet": b"resource"}, "", None, [[1.0]]),
}  # fmt: skip


def opened(folder: Path, contents: dict[str, Any], source: Any, columns: Any) -> Rows:
    for name, content in contents.items():
        write(folder / name, content)
    paths = folder / source if isinstance(source, str) else [folder / one for one in source]
    return open_rows(paths, columns=columns)


@pytest.mark.parametrize(("contents", "source", "columns", "expected"), OPENED.values(), ids=OPENED)
def test_values_of_files(
    contents: Any, source: Any, columns: Any, expected: Any, tmp_path: Path
) -> None:
    rows = opened(tmp_path, contents, source, columns)
    np.testing.assert_array_equal(rows.take(np.arange(len(expected))), expected)
    n, d = np.shape(expected)
    assert repr(rows).startswith(f"<{n} rows of {d} columns in {tmp_path}")
    assert repr(rows).endswith(", read as float64>")


def test_other_arrays_are_not_read_from_files(tmp_path: Path) -> None:
    X.tofile(tmp_path / "X.bin")
    private = np.memmap(tmp_path / "X.bin", dtype=np.float64, mode="c", shape=X.shape)
    mapped = np.memmap(tmp_path / "X.bin", dtype=np.float64, mode="r", shape=X.shape)
    assert as_rows(mapped) is not None
    for array in (private, mapped[::-1], mapped[:, ::-1], mapped[0], np.asarray(mapped), X):
        assert as_rows(array) is None
    assert not is_source(mapped)
    (tmp_path / "X.bin").unlink()
    assert as_rows(mapped) is None


def test_values_written_through_a_mapping_are_read(tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "X.bin", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    rows = as_rows(mapped)
    assert rows is not None
    np.testing.assert_array_equal(rows.take(np.arange(53)), X)


_NONE = FileNotFoundError
_AB, _TEXT = _A.with_columns(b=1.0), pl.DataFrame({"a": ["x"]})
# Files, what of them is opened, with which columns, and the error.
WRONG: list[tuple[dict[str, Any], Any, Any, Any, str]] = [
    ({}, "no.npy", None, _NONE, r"There is no .*no\.npy\. X as a path"),
    ({}, "no*.parquet", None, _NONE, "No file matches"),
    ({}, "", None, ValueError, "is not a Zarr array"),
    ({"X.csv": b"1,2"}, "X.csv", None, ValueError, r"X\.csv cannot be read as X in blocks\. Give .*"
        "or read the file into memory, for example by"),
    ({"X.npy": b"1,2"}, "X.npy", None, ValueError, "it does not begin as NumPy's files do"),
    ({"X.npy": np.array([[{}]])}, "X.npy", None, ValueError, "numbers: it holds Python objects"),
    ({"X.npy": np.zeros(3)}, "X.npy", None, ValueError, r"shape \(3,\): X needs rows and columns"),
    ({"X.npy": np.zeros((0, 3))}, "X.npy", None, ValueError, r"shape \(0, 3\): X needs rows"),
    ({"X.npy": np.array([["a"]])}, "X.npy", None, ValueError, "type <U1, but points must be num"),
    ({"X.npy": {"a": X}}, "X.npy", None, ValueError, r"X\.npy holds several arrays, like an \.npz"),
    ({"X.npy": X}, "X.npy", ["a"], ValueError, "columns= chooses columns of Parquet files"),
    ({"X.parquet": b"1,2"}, "X.parquet", None, ValueError, "is not a readable Parquet file"),
    ({"1.parquet": _A.head(0)}, "1.parquet", None, ValueError, "has 0 rows and 1 columns"),
    ({"1.parquet": _TEXT}, "1.parquet", None, ValueError,
        "Column 'a' of .* has the type String, but points must be"),
    ({"1.parquet": _A, "2.parquet": _AB[["b"]]}, "*.parquet", None, ValueError,
        r"2\.parquet has no column 'a', and all files of X need it"),
    ({"1.parquet": _A, "2.parquet": _AB}, "*.parquet", None, ValueError,
        r"2\.parquet has a column 'b', which .*1\.parquet does not"),
    ({"1.parquet": _A}, ["1.parquet", "2.parquet"], None, _NONE, r"There is no .*2\.parquet\. X"),
    ({"1.parquet": _A}, "1.parquet", "ab", ValueError, r"must be a list of names: \['ab'\]"),
    ({"1.parquet": _A}, "1.parquet", ["c"], ValueError, "no column 'c', .* columns are 'a'"),
    ({"1.parquet": _A}, "1.parquet", ["a", "a"], ValueError, r"repeats a name\. Name each"),
    ({}, "no.parquet", ["a"], _NONE, r"There is no .*no\.parquet\. X as a path"),
]  # fmt: skip


@pytest.mark.parametrize(("contents", "source", "columns", "error", "words"), WRONG)
def test_sources_that_cannot_be_read_are_reported(
    contents: Any, source: Any, columns: Any, error: Any, words: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=words):
        opened(tmp_path, contents, source, columns)


def test_other_objects_are_no_sources(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"int is not a source of rows\. Give a \.npy file"):
        open_rows(3)
    with pytest.raises(ValueError, match=r"has the shape \(53, 1, 1\): X needs rows and columns"):
        open_rows(make_zarr(X[:, :1][:, :, None], tmp_path))


def test_files_whose_numbers_are_not_in_order_are_reported(tmp_path: Path) -> None:
    paths = [tmp_path / f"part{k}.parquet" for k in range(9, 12)]
    for k, path in enumerate(paths):
        pl.DataFrame({"a": [float(k)]}).write_parquet(path)
    told = "part10.parquet comes before part9.parquet. The rows of y must be in this order, too."
    for source in (tmp_path, str(tmp_path / "*.parquet")):
        with pytest.warns(LapwingWarning, match=told):
            rows = open_rows(source)
        np.testing.assert_array_equal(rows.take(np.arange(3))[:, 0], [1, 2, 0])
    rows = open_rows(paths)  # a list has its own order, and no warning
    np.testing.assert_array_equal(rows.take(np.arange(3))[:, 0], [0, 1, 2])
    paths[0].unlink()
    assert open_rows(tmp_path).shape == (2, 1)


def test_a_damaged_parquet_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "X.parquet"
    content = write(path, pl.DataFrame({"a": X.ravel()})).read_bytes()
    path.write_bytes(content[:30] + bytes(370) + content[400:])
    with pytest.raises(ValueError, match=r"X\.parquet is not a readable Parquet file"):
        open_rows(path).take(np.arange(X.size))
