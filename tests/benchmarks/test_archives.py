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
    MissingArchiveError,
    data_folder,
    read_label_sets,
    read_set,
)
from benchmarks.shared.catalogue import LABEL_SETS, RECORDS
from lapwing.datasets import mask_labels

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


def test_unset_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    assert data_folder() is None
    with pytest.raises(
        MissingArchiveError, match=r"^g50c\.npz is missing: LAPWING_DATA_HOME is not"
    ):
        sets.load("g50c")


def test_data_folder_that_does_not_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"LAPWING_DATA_HOME=.*nowhere is not a folder\. Set it to"):
        sets.load("g50c")


def flip_bytes(content: bytes) -> bytes:
    """Damage in the middle, where the compressed data are."""
    middle = len(content) // 2
    return (
        content[:middle]
        + bytes(b ^ 0xFF for b in content[middle : middle + 64])
        + content[middle + 64 :]
    )


def without_header(content: bytes) -> bytes:
    """A whole zip file whose members are no arrays."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for key in ("X", "y", "idxLabs"):
            file.writestr(f"{key}.npy", content[:100])
    return buffer.getvalue()


def bare_array(content: bytes) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.frombuffer(content, dtype=np.uint8))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: b"This is no archive." * 100,
        flip_bytes,
        without_header,
        bare_array,
    ],
    ids=["empty", "half", "end", "text", "flipped", "no header", "bare array"],
)
def test_damaged_archive(write: Write, damage: Callable[[bytes], bytes]) -> None:
    path = write("g50c", g50c_arrays())
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=r"g50c\.npz cannot be read as an archive .* make it anew"):
        sets.load("g50c")


def test_archives_are_not_unpickled(write: Write) -> None:
    write("g50c", {**g50c_arrays(), "y": np.array([{}] * 550, dtype=object)})
    with pytest.raises(DataError, match=r"cannot be read .*Object arrays cannot be loaded"):
        sets.load("g50c")


def test_archive_that_lacks_arrays(write: Write) -> None:
    write("g50c", {"X": g50c_arrays()["X"]})
    with pytest.raises(DataError, match=r"g50c\.npz lacks y, idxLabs; it has X\. Make it anew"):
        sets.load("g50c")
    write("g50c", {})
    with pytest.raises(DataError, match="lacks X, y, idxLabs; it has nothing"):
        sets.load("g50c")


def changed(key: str, change: Callable[[Any], Any]) -> Callable[[Arrays], Arrays]:
    return lambda arrays: {**arrays, key: change(arrays[key].copy())}


def put(value: Any, *place: int) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed("X", lambda X: X[:, :10]), r"X has the shape \(550, 10\); .* \(550, 50\)"),
        (changed("X", put(np.nan, 3, 4)), "X holds values that are not finite"),
        (changed("X", put(-np.inf, 3, 4)), "X holds values that are not finite"),
        (changed("X", lambda X: X.astype(str)), "is not the data set g50c"),
        (changed("y", lambda y: y[:-1]), r"y has the shape \(549,\); the set has 550 points"),
        (changed("y", put(2, 0)), "y holds the labels -1, 1, 2; the set has -1, 1"),
        (changed("y", np.abs), "y holds the labels 1; the set has -1, 1"),
        (changed("y", lambda y: np.arange(550)), r"19, \.\.\.; the set has -1, 1"),
        (changed("idxLabs", lambda s: s[:, :9]), r"of shape \(splits, 50\); .*\(10, 9\)"),
        (changed("idxLabs", lambda s: s.astype(float)), "must be integers .* float64"),
        (changed("idxLabs", put(550, 2, 3)), "idxLabs goes from .* to 550; .* 0 to 549"),
        (changed("idxLabs", lambda s: s.astype(int) - 1), "idxLabs goes from -1"),
        (changed("idxLabs", lambda s: put(s[4, 1], 4, 0)(s)), "more than once in split 4"),
    ],
)
def test_archive_of_another_set(
    write: Write, change: Callable[[Arrays], Arrays], message: str
) -> None:
    path = write("g50c", change(g50c_arrays()))
    with pytest.raises(DataError, match=message) as info:
        sets.load("g50c")
    assert str(path) in str(info.value)


@pytest.mark.parametrize(
    ("name", "arrays", "change", "message"),
    [
        ("pcmac", pcmac_arrays, changed("X_indices", put(7511, 0)), "is not the data set pcmac"),
        (
            "coil20",
            coil20_arrays,
            changed("x_scale", lambda _: np.float64(1 / 255)),
            r"X goes from 0 to 16; the set is in \[0, 1\]",
        ),
        (
            "cbcl_face",
            cbcl_arrays,
            changed("is_test", lambda _: np.zeros(5, dtype=bool)),
            "is_test must be a mask of 31022 points",
        ),
        (
            "usps",
            usps_arrays,
            changed("n_train", lambda _: np.int64(9298)),
            "n_train=9298 must be one number between 0 and 9298",
        ),
    ],
)
def test_archive_with_wrong_parts(
    write: Write,
    name: str,
    arrays: Callable[[], Arrays],
    change: Callable[[Arrays], Arrays],
    message: str,
) -> None:
    write(name, change(arrays()))
    with pytest.raises(DataError, match=message):
        read_set(name)


def test_label_sets_of_mnist(write: Write) -> None:
    y = np.tile(np.arange(10), 7000)
    write("label sets", label_set_arrays())
    assert [rows.tolist() for rows in read_label_sets(y, 1)] == [
        list(range(10)),
        list(range(30, 40)),
    ]
    assert [rows.size for rows in read_label_sets(y, 5)] == [50]
    with pytest.raises(DataError, match=r"does not fit MNIST: .* same number of points of every"):
        read_label_sets(np.zeros(70000, dtype=np.int64), 1)


@pytest.mark.parametrize(
    "change",
    [
        changed("offsets", put(91, 4)),
        changed("offsets", put(11, 1)),
        changed("idx", put(1, 0)),
        changed("idx", put(-10, 0)),
        changed("idx", put(70000, 0)),
        changed("idx", lambda idx: idx[None]),
    ],
)
def test_wrong_label_sets_of_mnist(write: Write, change: Callable[[Arrays], Arrays]) -> None:
    write("label sets", change(label_set_arrays()))
    with pytest.raises(DataError, match=r"labelperm_MNIST\.npz does not hold label sets of MNIST"):
        read_label_sets(np.tile(np.arange(10), 7000), 1)


# The real archives

COUNTS = {
    "g50c": [275, 275],
    "uspst": [327, 273, 206, 178, 196, 140, 174, 173, 160, 180],
    "pcmac": [961, 985],
    "coil20": [72] * 20,
    "usps": [1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821],
    "mnist": [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958],
    "cbcl_face": [28120, 2901],
    "ssl_digit1": [766, 734],
    "ssl_usps": [1200, 300],
    "ssl_coil2": [750, 750],
    "ssl_g241c": [750, 750],
    "ssl_g241n": [752, 748],
    "ssl_text": [750, 750],
}
TEST_COUNTS = {
    "usps": [359, 264, 198, 166, 200, 160, 170, 147, 166, 177],
    "mnist": [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
    "cbcl_face": [23572, 472],
}


def real(archive: Callable[[str], Path], name: str) -> CheckedSet:
    archive(RECORDS[name].file.removesuffix(".npz"))
    return read_set(name)


@pytest.mark.parametrize("name", RECORDS)
def test_real_set(name: str, archive: Callable[[str], Path]) -> None:
    record, data = RECORDS[name], real(archive, name)
    assert data.X.shape == (sum(COUNTS[name]), record.n_features)
    assert np.bincount(data.y).tolist() == COUNTS[name]
    values = data.X.data if record.sparse else data.X
    if record.value_range is not None:
        # The set makes use of its range: a scale that is wrong would not be seen otherwise.
        assert values.max() * data.scale > 0.9 * record.value_range[1]
    tests = None if data.is_test is None else np.bincount(data.y[data.is_test]).tolist()
    assert tests == TEST_COUNTS.get(name)


@pytest.mark.parametrize("name", [name for name, record in RECORDS.items() if record.splits])
def test_published_splits(name: str, archive: Callable[[str], Path]) -> None:
    data = real(archive, name)
    for count, splits in data.splits.items():
        assert len(splits) == (12 if name.startswith("ssl_") else 10)
        assert len({tuple(sorted(split)) for split in splits}) == len(splits)
        for split in splits:
            assert np.unique(data.y[split]).size == len(RECORDS[name].labels)
            y = mask_labels(data.y, labeled_indices=split)
            assert np.sum(y >= 0) == count


def test_label_sets_are_those_of_mnist(archive: Callable[[str], Path]) -> None:
    archive("labelperm_MNIST")
    digits = real(archive, "mnist").y
    for count in range(1, 6):
        found = read_label_sets(digits, count)
        assert len(found) == 100
        assert all(np.bincount(digits[rows]).tolist() == [count] * 10 for rows in found)
