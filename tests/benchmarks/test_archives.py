"""Archives of the papers' data: found, read, checked, refused; and the real ones."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.shared import data as sets
from benchmarks.shared.archives import (
    HOME_VARIABLE,
    CheckedSet,
    DataError,
    read_label_sets,
    read_set,
)
from benchmarks.shared.catalogue import LABEL_SETS, RECORDS

Arrays = dict[str, Any]
Write = Callable[[str, Arrays], Path]


# Archives made up here


def g50c_arrays() -> Arrays:
    rng = np.random.default_rng(0)
    splits = np.array([rng.permutation(550)[:50] for _ in range(10)], dtype=np.uint16)
    splits[0, 0] = 0 if 0 not in splits[0] else splits[0, 0]
    return {
        "X": rng.normal(size=(550, 50)).astype(np.float32),
        "y": np.tile([-1, 1], 275),
        "idxLabs": splits,
    }


def pcmac_arrays() -> Arrays:
    rng = np.random.default_rng(0)
    X = sp.random_array((1946, 7511), density=1e-3, format="csr", rng=rng)
    parts = {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr, "X_shape": X.shape}
    splits = np.array([rng.permutation(1946)[:50] for _ in range(10)])
    return {**parts, "y": np.tile([-1, 1], 973), "idxLabs": splits}


def coil20_arrays() -> Arrays:
    X = np.random.default_rng(0).integers(0, 4081, size=(1440, 1024), dtype=np.uint16)
    return {"X": X, "x_scale": np.float64(1 / 4080), "y": np.repeat(np.arange(20), 72)}


def usps_arrays() -> Arrays:
    X = np.tile(np.arange(-1000, 1000, 10, dtype=np.int16), (9298, 2))[:, :256]
    y = np.arange(9298) % 10
    return {"X": X, "x_scale": np.float32(0.001), "y": y, "n_train": np.int64(7291)}


def cbcl_arrays(n: int = 31022) -> Arrays:
    X = np.full((n, 361), 51, dtype=np.uint8)
    return {"X": X, "y": np.arange(n) % 2 * 2 - 1, "is_test": np.arange(n) < 100}


def label_set_arrays() -> Arrays:
    return {"idx": np.arange(90), "offsets": np.array([0, 10, 30, 40, 90])}


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))

    def write_archive(name: str, arrays: Arrays) -> Path:
        path = tmp_path / (LABEL_SETS.file if name == "label sets" else RECORDS[name].file)
        np.savez_compressed(path, **arrays)
        return path

    return write_archive


def test_single_precision_scale_means_its_decimal(write: Write) -> None:
    arrays = usps_arrays()
    write("usps", arrays)
    data = sets.load_usps()
    np.testing.assert_allclose(data.X, (arrays["X"] / 1000 + 1) / 2, rtol=1e-14, atol=1e-15)
    assert np.flatnonzero(data.is_test).tolist() == list(range(7291, 9298))


def test_one_face_may_be_missing(write: Write) -> None:
    """As it is in a copy in circulation."""
    write("cbcl_face", cbcl_arrays(31021))
    assert len(sets.load_facemit().y) == 31021


def test_data_folder_that_does_not_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"LAPWING_DATA_HOME=.*nowhere is not a folder\. Set it to"):
        sets.load("g50c")


def without_header(content: bytes) -> bytes:
    """A whole zip file whose member is no array."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("X.npy", content[:100])
    return buffer.getvalue()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: b"This is no archive." * 100,
        lambda content: content[:1000] + bytes(64) + content[1064:],
        without_header,
    ],
    ids=["empty", "half", "end", "text", "zeros", "no header"],
)
def test_damaged_archive(write: Write, damage: Callable[[bytes], bytes]) -> None:
    path = write("g50c", g50c_arrays())
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=r"g50c\.npz cannot be read as an archive .* make it anew"):
        sets.load("g50c")


def changed(key: str, change: Callable[[Any], Any]) -> Callable[[Arrays], Arrays]:
    return lambda arrays: {**arrays, key: change(arrays[key].copy())}


def put(value: Any, *place: int) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[place] = value
        return array

    return change


ARCHIVES: dict[str, Callable[[], Arrays]] = {
    "g50c": g50c_arrays,
    "pcmac": pcmac_arrays,
    "coil20": coil20_arrays,
    "cbcl_face": cbcl_arrays,
    "usps": usps_arrays,
    "label sets": label_set_arrays,
}
NO_SETS = r"labelperm_MNIST\.npz does not hold label sets of MNIST"
DIGITS = np.tile(np.arange(10), 7000)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("g50c", changed("y", lambda y: np.array([{}] * 550)), "Object arrays cannot be loaded"),
        ("g50c", lambda made: {"X": made["X"]}, r"lacks y, idxLabs; it has X\. Make it anew"),
        ("g50c", lambda made: {}, "lacks X, y, idxLabs; it has nothing"),
        ("g50c", changed("X", lambda X: X[:, :10]), r"X has the shape \(550, 10\); .* \(550, 50\)"),
        ("g50c", changed("X", put(np.nan, 3, 4)), "X holds values that are not finite"),
        ("g50c", changed("X", put(-np.inf, 3, 4)), "X holds values that are not finite"),
        ("g50c", changed("X", lambda X: X.astype(str)), "is not the data set g50c"),
        (
            "g50c",
            changed("y", lambda y: y[:-1]),
            r"shape \(549,\); the set has 550 points",
        ),
        ("g50c", changed("y", put(2, 0)), "y holds the labels -1, 1, 2; the set has -1, 1"),
        ("g50c", changed("y", np.abs), "y holds the labels 1; the set has -1, 1"),
        ("g50c", changed("y", lambda y: np.arange(550)), r"19, \.\.\.; the set has -1, 1"),
        ("g50c", changed("idxLabs", lambda s: s[:, :9]), r"of shape \(splits, 50\); .*\(10, 9\)"),
        ("g50c", changed("idxLabs", lambda s: s.astype(float)), "must be integers .* float64"),
        ("g50c", changed("idxLabs", put(550, 2, 3)), "idxLabs goes from .* to 550; .* 0 to 549"),
        ("g50c", changed("idxLabs", lambda s: s.astype(int) - 1), "idxLabs goes from -1"),
        ("g50c", changed("idxLabs", lambda s: put(s[4, 1], 4, 0)(s)), "more than once in split 4"),
        ("pcmac", changed("X_indices", put(7511, 0)), "is not the data set pcmac"),
        ("coil20", changed("x_scale", lambda _: 1 / 255), r"from 0 to 16; the set is in \[0, 1\]"),
        (
            "cbcl_face",
            changed("is_test", lambda t: t[:5]),
            "must be a mask of 31022 points",
        ),
        ("usps", changed("n_train", lambda _: 9298), "n_train=9298 must be one number between 0"),
        ("label sets", changed("offsets", put(91, 4)), NO_SETS),
        ("label sets", changed("offsets", put(11, 1)), NO_SETS),
        ("label sets", changed("idx", put(1, 0)), NO_SETS),
        ("label sets", changed("idx", put(-10, 0)), NO_SETS),
        ("label sets", changed("idx", put(70000, 0)), NO_SETS),
        ("label sets", changed("idx", lambda idx: idx[None]), NO_SETS),
    ],
)
def test_archive_of_another_set(
    write: Write, name: str, change: Callable[[Arrays], Arrays], message: str
) -> None:
    path = write(name, change(ARCHIVES[name]()))
    with pytest.raises(DataError, match=message) as info:
        read_label_sets(DIGITS, 1) if name == "label sets" else read_set(name)
    assert str(path) in str(info.value)


def test_label_sets_of_mnist(write: Write) -> None:
    write("label sets", label_set_arrays())
    found = [rows.tolist() for rows in read_label_sets(DIGITS, 1)]
    assert found == [list(range(10)), list(range(30, 40))]
    assert [rows.size for rows in read_label_sets(DIGITS, 5)] == [50]
    with pytest.raises(DataError, match=r"does not fit MNIST: .* same number of points of every"):
        read_label_sets(np.zeros(70000, dtype=np.int64), 1)


# The real archives


def real(archive: Callable[[str], Path], name: str) -> CheckedSet:
    archive(RECORDS[name].file.removesuffix(".npz"))
    return read_set(name)


@pytest.mark.parametrize("name", RECORDS)
def test_real_set(name: str, archive: Callable[[str], Path]) -> None:
    """Reading it compares it with the catalogue."""
    record, data = RECORDS[name], real(archive, name)
    values = data.X.data if record.sparse else data.X
    if record.value_range is not None:
        # The set makes use of its range: a scale that is wrong would not be seen otherwise.
        assert values.max() * data.scale > 0.9 * record.value_range[1]
    for splits in data.splits.values():
        assert len(splits) == (12 if name.startswith("ssl_") else 10)
        assert len({tuple(sorted(split)) for split in splits}) == len(splits)
        for split in splits:
            assert np.unique(data.y[split]).size == len(record.labels)


def test_label_sets_are_those_of_mnist(archive: Callable[[str], Path]) -> None:
    archive("labelperm_MNIST")
    digits = real(archive, "mnist").y
    for count in range(1, 6):
        found = read_label_sets(digits, count)
        assert len(found) == 100
        assert all(np.bincount(digits[rows]).tolist() == [count] * 10 for rows in found)
