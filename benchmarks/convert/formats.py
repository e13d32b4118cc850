"""Readers of the public files, by format. Errors name the file."""

from __future__ import annotations

import bz2
import gzip
import io
import math
import pickle
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.io
import sklearn.datasets
from numpy.typing import NDArray

from benchmarks.shared.archives import DataError

COMPRESSED: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".bz2": bz2.open}
_IDX_BYTES = 8  # type code of unsigned bytes


@contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Convert errors in the block to errors that name the file."""
    try:
        yield
    except DataError:
        raise
    # Libraries raise errors of their own, and those of zlib, struct and pickle.
    except Exception as error:
        raise DataError(
            f"{path} cannot be read as {what} ({str(error) or type(error).__name__}). It may be "
            "damaged or cut short: download it again."
        ) from error


def open_plain(path: Path) -> BinaryIO:
    """Open a file, decompressed according to its name."""
    stream: BinaryIO = COMPRESSED.get(path.suffix.lower(), Path.open)(path, "rb")
    return stream


def read_matlab(path: Path, *names: str) -> dict[str, Any]:
    """Read variables of a MATLAB file, up to format 7."""
    with reading(path, "a MATLAB file"), open_plain(path) as file:
        content: Any = io.BytesIO(file.read())
        found = scipy.io.loadmat(content)
    missing = [name for name in names if name not in found]
    if missing:
        known = ", ".join(sorted(name for name in found if not name.startswith("__")))
        raise DataError(f"{path} lacks the variable {', '.join(missing)}; it has {known}.")
    return found


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an array of bytes in the IDX format: two zeros, type, shape, values."""
    with reading(path, "an IDX file"), open_plain(path) as file:
        content = file.read()
        zeros, kind, n_axes = int.from_bytes(content[:2]), content[2], content[3]
        if zeros or kind != _IDX_BYTES:
            raise ValueError("it does not begin as an array of bytes does")
        start = 4 + 4 * n_axes
        shape = tuple(np.frombuffer(content[4:start], dtype=">u4").tolist())
        if len(content) - start != math.prod(shape):
            raise ValueError(f"{len(content) - start} values for the shape {shape}")
        return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def read_numbers(path: Path) -> NDArray[np.float64]:
    """Read lines of numbers separated by blanks."""
    with reading(path, "lines of numbers"), open_plain(path) as file:
        return np.loadtxt(file, ndmin=2)


def read_libsvm(path: Path, n_features: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Read dense points and labels in LIBSVM's (svmlight's) format, with columns from 1."""
    with reading(path, "a LIBSVM file"), open_plain(path) as file:
        X, y = sklearn.datasets.load_svmlight_file(
            file, n_features=n_features, zero_based=False, dtype=np.float64
        )
        return X.toarray(), y


def read_images(paths: Sequence[Path], size: int) -> NDArray[np.uint8]:
    """Read square grey images as (n, size, size)."""
    try:
        import PIL.Image  # beside matplotlib, which draws the figures
    except ImportError as error:
        raise DataError("Images are read by Pillow. Install it: pip install pillow") from error
    images = np.empty((len(paths), size, size), dtype=np.uint8)
    for image, path in zip(images, paths, strict=True):
        with reading(path, "an image"), PIL.Image.open(path) as found:
            if (found.mode, found.size) != ("L", (size, size)):
                raise ValueError(
                    f"{found.size} pixels of kind {found.mode}, not {size} x {size} grey"
                )
            image[:] = np.asarray(found)
    return images


def read_permutations(path: Path) -> list[NDArray[np.int64]]:
    """Read the arrays in the object array ``perm`` of an NPZ file."""
    with reading(path, "an NPZ file with the array perm"), zipfile.ZipFile(path) as archive:
        with archive.open("perm.npy") as file:
            version = np.lib.format.read_magic(file)
            header = np.lib.format.read_array_header_1_0
            if version != (1, 0):
                header = np.lib.format.read_array_header_2_0
            header(file)
            found = _ArraysOnly(file).load()
        return [np.asarray(rows, dtype=np.int64).ravel() for rows in found.ravel()]


class _ArraysOnly(pickle.Unpickler):
    """Unpickler for NumPy's object arrays that allows arrays only, as pickles can run code."""

    ALLOWED = frozenset(
        {
            ("numpy", "dtype"),
            ("numpy", "ndarray"),
            *(
                (f"numpy.{core}.{module}", name)
                for core in ("core", "_core")
                for module, name in (
                    ("multiarray", "_reconstruct"),
                    ("multiarray", "scalar"),
                    ("numeric", "_frombuffer"),
                )
            ),
        }
    )

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.ALLOWED:
            raise pickle.UnpicklingError(f"it holds {module}.{name}, which is no array")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)
