"""Conversion of public files to archives, on synthetic files of each format, with its messages."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.datasets import dump_svmlight_file

from benchmarks.__main__ import main
from benchmarks.shared import data as sets
from benchmarks.shared.archives import HOME_VARIABLE, read_set
from benchmarks.shared.catalogue import RECORDS

Convert = Callable[..., dict[str, Any]]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "downloads"
    folder.mkdir()
    return folder


@pytest.fixture
def convert(
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Convert:
    """Convert the downloads as a set of so many points, read the archive, and name its folder."""
    monkeypatch.delenv(HOME_VARIABLE, raising=False)

    def run(name: str, n: int | None = None) -> dict[str, Any]:
        record = RECORDS[name]
        if n is not None:
            record = replace(record, n_samples=(n,))
            monkeypatch.setattr("benchmarks.convert.command.ARCHIVES", (record,))
            monkeypatch.setattr("benchmarks.shared.archives.RECORDS", {name: record})
        folder = tmp_path / "archives"
        assert main(["convert", str(source), "--output", str(folder)]) == 0
        printed = capsys.readouterr().err
        assert f"{record.file}: written to {folder}" in printed
        assert f"export {HOME_VARIABLE}={folder}" in printed
        assert [path.name for path in folder.iterdir()] == [record.file]
        monkeypatch.setenv(HOME_VARIABLE, str(folder))
        with np.load(folder / record.file, allow_pickle=False) as archive:
            return dict(archive)

    return run


def g50c_variables() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    splits = np.array([rng.permutation(550)[:50] for _ in range(10)])
    y = np.tile([-1.0, 1.0], 275)[:, None]
    return {"X": rng.normal(size=(550, 50)), "y": y, "idxLabs": splits + 1.0}


def write_bytes(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    opener: Any = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix, open)
    with opener(path, "wb") as file:
        file.write(content)


# Every format


@pytest.mark.parametrize("name", ["g50c.mat", "G50C.MAT", "sets/g50c.mat", "g50c.mat.gz"])
def test_matlab_file(convert: Convert, source: Path, name: str) -> None:
    variables, buffer = g50c_variables(), io.BytesIO()
    scipy.io.savemat(buffer, variables, do_compression=True)
    write_bytes(source / name, buffer.getvalue())
    arrays = convert("g50c")
    assert_array_equal(arrays["X"], variables["X"].astype(np.float32))
    assert_array_equal(arrays["y"], variables["y"].ravel())
    # MATLAB counts rows from 1.
    assert_array_equal(arrays["idxLabs"], variables["idxLabs"] - 1)
    assert arrays["idxLabs"].dtype.kind == "i"
    data = sets.load("g50c")
    assert data.X.dtype == np.float64
    assert_array_equal(data.X, arrays["X"])
    assert_array_equal(2 * data.y - 1, arrays["y"])
    assert_array_equal(data.splits, arrays["idxLabs"])
    assert {data.y.dtype, *(split.dtype for split in data.splits)} == {np.dtype(np.int64)}
    assert data.is_test is None


def test_sparse_matlab_file(convert: Convert, source: Path) -> None:
    X = sp.random_array((1946, 7511), density=1e-4, format="csc", rng=np.random.default_rng(0))
    y = np.tile([-1, 1], 973)
    splits = np.tile(np.arange(1, 51), (10, 1))
    scipy.io.savemat(source / "text1.mat", {"X": X, "y": y, "idxLabs": splits})
    arrays = convert("pcmac")
    parts = (arrays["X_data"], arrays["X_indices"], arrays["X_indptr"])
    found = sp.csr_array(parts, shape=tuple(arrays["X_shape"]))
    assert abs(found - X.tocsr().astype(np.float32)).max() == 0
    loaded = sets.load("pcmac").X
    assert loaded.format == "csr"
    assert abs(found - loaded).max() == 0


def test_files_of_the_ssl_book(convert: Convert, source: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 241)), np.tile([-1, 1], 750)
    scipy.io.savemat(source / "SSL,set=7,data.mat", {"X": X, "y": y[:, None]})
    splits = {n: rng.permutation(1500)[: 12 * n].reshape(12, n) for n in (10, 100)}
    for n, rows in splits.items():
        # The rows without a label are there too, and are not needed.
        variables = {"idxLabs": rows + 1, "idxUnls": np.ones((12, 1500 - n))}
        scipy.io.savemat(source / f"SSL,set=7,splits,labeled={n}.mat", variables)
    arrays = convert("ssl_g241n")
    assert_array_equal(arrays["X"], X.astype(np.float32))
    assert_array_equal(arrays["y"], y)
    assert_array_equal(arrays["idxLabs10"], splits[10])
    assert_array_equal(arrays["idxLabs100"], splits[100])
    found = read_set("ssl_g241n").splits
    assert all(np.array_equal(found[n], splits[n]) for n in splits)
    # The papers' splits are those of ten, and the book's name is another.
    assert_array_equal(sets.SETS["g241d"]().splits, splits[10])


def idx(array: np.ndarray) -> bytes:
    head = struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.astype(np.uint8).tobytes()


IDX = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
       "t10k-labels-idx1-ubyte")  # fmt: skip


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_idx_files(convert: Convert, source: Path, ending: str) -> None:
    images = np.random.default_rng(0).integers(0, 256, (50, 28, 28))
    y = np.arange(50) % 10
    for name, array in zip(IDX, (images[:30], y[:30], images[30:], y[30:]), strict=True):
        write_bytes(source / (name + ending), idx(array))
    arrays = convert("mnist", 50)
    assert arrays["X"].dtype == np.uint8
    assert_array_equal(arrays["X"], images.reshape(50, 784))
    assert_array_equal(arrays["y"], y)
    assert arrays["n_train"] == 30
    data = sets.load_mnist3vs8()
    assert data.X.dtype == np.float32
    assert_array_equal(data.y, np.tile([0, 1], 5))
    threes = images.reshape(50, 784)[y == 3]
    expected = threes / np.linalg.norm(threes, axis=1, keepdims=True)
    np.testing.assert_allclose(data.X[::2], expected, rtol=1e-5)
    assert_array_equal(data.is_test, np.arange(10) >= 6)


def libsvm(X: np.ndarray, y: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    dump_svmlight_file(X, y + 1, buffer, zero_based=False)  # digit d is called d + 1
    return buffer.getvalue()


def zip_codes(X: np.ndarray, y: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savetxt(buffer, np.column_stack([y, X]), "%.4f")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("names", "write"),
    [(("usps", "usps.t.bz2"), libsvm), (("zip.train.gz", "zip.test"), zip_codes)],
    ids=["libsvm", "zip codes"],
)
def test_files_of_usps(
    convert: Convert, source: Path, names: tuple[str, str], write: Callable[..., bytes]
) -> None:
    X, y = np.random.default_rng(0).integers(-1000, 1001, (30, 256)), np.arange(30) % 10
    for name, rows in zip(names, (slice(20), slice(20, 30)), strict=True):
        write_bytes(source / name, write(X[rows] / 1000, y[rows]))
    arrays = convert("usps", 30)
    assert arrays["X"].dtype == np.int16
    assert_array_equal(arrays["X"], X)
    assert str(arrays["x_scale"]) == "0.001"
    assert_array_equal(arrays["y"], y)
    assert arrays["n_train"] == 20


def test_values_of_more_decimals_are_kept(convert: Convert, source: Path) -> None:
    X, y = np.random.default_rng(0).uniform(-1, 1, (10, 256)), np.arange(10)
    for name in ("usps", "usps.t"):
        write_bytes(source / name, libsvm(X, y))
    arrays = convert("usps", 20)
    assert "x_scale" not in arrays
    np.testing.assert_allclose(arrays["X"][:10], X, rtol=1e-14)


def write_image(path: Path, pixels: np.ndarray) -> None:
    images = pytest.importorskip("PIL.Image")
    path.parent.mkdir(parents=True, exist_ok=True)
    images.fromarray(pixels.astype(np.uint8)).save(path)


def test_object_images(convert: Convert, source: Path) -> None:
    views = 11  # obj1__10 comes after obj1__9
    pixels = np.random.default_rng(0).integers(0, 256, (20, views, 128, 128))
    for i in range(20):
        for k in range(views):
            write_image(source / "coil-20-proc" / f"obj{i + 1}__{k}.png", pixels[i, k])
    arrays = convert("coil20", 20 * views)
    assert_array_equal(arrays["y"], np.repeat(np.arange(20), views))
    row = 3 * views + 10
    block = pixels[3, 10, 8:12, 20:24]  # row 2, column 5 of 32
    assert arrays["X"][row, 2 * 32 + 5] * arrays["x_scale"] == pytest.approx(block.mean() / 255)
    assert arrays["X"].shape == (20 * views, 1024)
    np.testing.assert_allclose(sets.load("coil20").X, arrays["X"] / 4080, rtol=1e-15)


def test_face_images(convert: Convert, source: Path) -> None:
    parts = ("train/face", "train/non-face", "test/face", "test/non-face")
    counts = (3, 4, 2, 5)
    rng = np.random.default_rng(0)
    expected = []
    for part, count in zip(parts, counts, strict=True):
        for k in range(count):
            expected.append(rng.integers(0, 256, (19, 19)))
            write_image(source / part / f"face{k:05d}.pgm", expected[-1])
    arrays = convert("cbcl_face", sum(counts))
    assert_array_equal(arrays["X"], np.reshape(expected, (sum(counts), 361)))
    assert_array_equal(arrays["y"], np.repeat([1, -1, 1, -1], counts))
    assert_array_equal(arrays["is_test"], np.arange(14) >= 7)
    data, deviations = sets.load_facemit(), np.std(expected, axis=(1, 2)) / 255
    assert data.X.dtype == np.float32
    # Each by itself: mean 0, and the mean deviation of all images.
    np.testing.assert_allclose(data.X.mean(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(data.X.std(axis=1), deviations.mean(), rtol=1e-4)
    assert_array_equal(data.is_test, np.arange(14) < 7)  # the parts are exchanged


# Refused files


class Harm:
    """A pickle of it would run a command."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("harm",)


def harmful() -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, perm=np.array([Harm()]))
    return buffer.getvalue()


def mat(**changes: Any) -> bytes:
    """The file g50c.mat with changed variables, without those that are None."""
    buffer, variables = io.BytesIO(), {**g50c_variables(), **changes}
    scipy.io.savemat(buffer, {key: value for key, value in variables.items() if value is not None})
    return buffer.getvalue()


def mnist_files(images: bytes) -> dict[str, bytes]:
    shapes = ((3,), (2, 28, 28), (2,))
    others = {name: idx(np.zeros(shape)) for name, shape in zip(IDX[1:], shapes, strict=True)}
    return {IDX[0]: images, **others}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"readme.txt": b"", "faces.tar.gz": b""},
         "None of the 2 files has a name that is known. Unpack faces.tar.gz first"),
        ({"g50c.mat": b"no MATLAB file"}, "g50c.mat cannot be read as a MATLAB file"),
        ({"MNIST_permutations.npz": harmful()}, "labelperm_MNIST.npz: not written."),
        ({"MNIST_permutations.npz": harmful()}, "which is no array"),
        ({"MNIST_permutations.npz": b""}, "MNIST_permutations.npz cannot be read as an NPZ file"),
        ({"a/g50c.mat": mat(), "b/g50c.mat": mat()}, "More than one file is called g50c.mat: "),
        ({"g50c.mat": mat(idxLabs=None)}, "lacks the variable idxLabs; it has X, y."),
        ({"g50c.mat": mat(y=np.full((550, 1), 0.5))},
         "has labels or row numbers that are no whole numbers"),
        ({"g50c.mat": mat(idxLabs=np.arange(50.0)[None])}, "idxLabs goes from -1"),
        ({IDX[0]: idx(np.zeros((2, 28, 28)))},
         f"mnist.npz: not written. {IDX[0]} is there, but not {', '.join(IDX[1:])}."),
        (mnist_files(b"\x00\x00\x0d\x01\x00\x00\x00\x01\x00"),
         "does not begin as an array of bytes does"),
        (mnist_files(idx(np.zeros((2, 28, 28)))[:-1]), "1567 values for the shape (2, 28, 28)"),
        (mnist_files(idx(np.zeros((3, 28, 28)))),
         "X has the shape (5, 784); the set has (70000, 784)"),
        ({"usps": b"1 257:0.5\n", "usps.t": b"1 257:0.5\n"},
         "usps cannot be read as a LIBSVM file"),
        ({"zip.train": b"1 2\n3\n", "zip.test": b"1 2\n3\n"},
         "zip.train cannot be read as lines of numbers"),
    ],
)  # fmt: skip
def test_rejects_wrong_files(
    files: dict[str, bytes],
    message: str,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    for name, content in files.items():
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_bytes(content)
    assert main(["convert", str(source), "--output", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr()
    assert message in printed.err
    assert (printed.out, "Traceback" in printed.err) == ("", False)
    assert list((tmp_path / "out").glob("*")) == []
    assert not (tmp_path / "harm").exists()
