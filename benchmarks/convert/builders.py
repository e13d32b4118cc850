"""Conversion of public files to the arrays of each archive.

The arguments of a builder are the record of its set and a list of files for each name in
`Download.files`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.convert.formats import (
    read_idx,
    read_images,
    read_libsvm,
    read_matlab,
    read_numbers,
    read_permutations,
)
from benchmarks.shared.archives import DataError
from benchmarks.shared.catalogue import Archive, SetRecord

Files = Sequence[Sequence[Path]]

FACE_SIZE, OBJECT_SIZE, OBJECT_BLOCK = 19, 128, 4


def from_matlab(record: SetRecord, files: Files) -> dict[str, Any]:
    """Read X, y and idxLabs, which counts from 1; splits may be in separate files."""
    (data,), *others = files
    found = read_matlab(data, "X", "y")
    arrays = _points(found["X"], record) | {"y": _labels(found["y"], data)}
    for (_, key), (path,) in zip(record.splits, others or [[data]], strict=True):
        arrays[key] = _whole(read_matlab(path, "idxLabs")["idxLabs"], path).astype(np.int32) - 1
    return arrays


def from_idx(record: SetRecord, files: Files) -> dict[str, Any]:
    """Read images and labels of the training part, and of the test part."""
    images, labels, test_images, test_labels = (read_idx(path) for (path,) in files)
    X = [part.reshape(len(part), -1) for part in (images, test_images)]
    return {
        "X": np.concatenate(X),
        "y": np.concatenate([labels, test_labels]),
        "n_train": np.int64(len(images)),
    }


def from_zip_code(record: SetRecord, files: Files) -> dict[str, Any]:
    """Read lines with the label and the pixels of a digit."""
    parts = [read_numbers(path) for (path,) in files]
    table = np.concatenate(parts)
    y = _labels(table[:, 0], files[0][0])
    return _thousandths(table[:, 1:]) | {"y": y, "n_train": np.int64(len(parts[0]))}


def from_libsvm(record: SetRecord, files: Files) -> dict[str, Any]:
    """Read training and test part; classes may be counted from 1."""
    parts = [read_libsvm(path, record.n_features) for (path,) in files]
    X, y = (np.concatenate(column) for column in zip(*parts, strict=True))
    n_train = np.int64(len(parts[0][1]))
    return _thousandths(X) | {"y": _labels(y - y.min(), files[0][0]), "n_train": n_train}


def from_object_images(record: SetRecord, files: Files) -> dict[str, Any]:
    """Read images and average blocks of 4 x 4; ``obj3__14.png`` is view 14 of object 3."""
    views = sorted(files[0], key=_object_and_view)
    images = read_images(views, OBJECT_SIZE)
    n, size = len(images), OBJECT_SIZE // OBJECT_BLOCK
    blocks = images.reshape(n, size, OBJECT_BLOCK, size, OBJECT_BLOCK)
    return {
        # Sums, as they are integers.
        "X": blocks.sum(axis=(2, 4), dtype=np.uint16).reshape(n, -1),
        "x_scale": np.float64(1 / (255 * OBJECT_BLOCK**2)),
        "y": np.array([_object_and_view(path)[0] - 1 for path in views], dtype=np.int16),
    }


def _object_and_view(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)[:2]]


def from_face_images(record: SetRecord, files: Files) -> dict[str, Any]:
    """Read faces and non-faces of the training part, and of the test part."""
    parts = [read_images(sorted(paths), FACE_SIZE).reshape(len(paths), -1) for paths in files]
    counts = [len(part) for part in parts]
    return {
        "X": np.concatenate(parts),
        "y": np.repeat(np.array([1, -1, 1, -1], dtype=np.int8), counts),
        "is_test": np.repeat([False, False, True, True], counts),
    }


def label_sets(archive: Archive, files: Files) -> dict[str, Any]:
    """Read sets of labelled points, and concatenate them."""
    sets = read_permutations(files[0][0])
    return {
        "idx": np.concatenate(sets).astype(np.int32),
        "offsets": np.cumsum([0, *map(len, sets)]).astype(np.int32),
    }


BUILDERS: dict[str, Callable[[Any, Files], dict[str, Any]]] = {
    "matlab": from_matlab,
    "idx": from_idx,
    "zip code": from_zip_code,
    "libsvm": from_libsvm,
    "object images": from_object_images,
    "face images": from_face_images,
    "label sets": label_sets,
}


def _points(X: Any, record: SetRecord) -> dict[str, Any]:
    """Convert points to float32, with which the results of docs/measured were measured."""
    if not record.sparse:
        points: Any = X
        dense = points.toarray() if sp.issparse(X) else np.asarray(points)
        return {"X": dense.astype(np.float32)}
    rows = sp.csr_array(X)
    rows.sort_indices()
    return {
        "X_data": rows.data.astype(np.float32),
        "X_indices": rows.indices.astype(np.int32),
        "X_indptr": rows.indptr.astype(np.int32),
        "X_shape": np.array(rows.shape),
    }


def _thousandths(X: NDArray[np.float64]) -> dict[str, Any]:
    """Convert to integers if all values are integers or have three decimals, as published."""
    if np.array_equal(X, np.rint(X)) and X.min() >= 0 and X.max() <= 255:
        return {"X": X.astype(np.uint8)}
    scaled = np.rint(1000 * X)
    if np.allclose(scaled, 1000 * X, rtol=0, atol=1e-6) and np.abs(scaled).max() < 2**15:
        return {"X": scaled.astype(np.int16), "x_scale": np.float64(0.001)}
    return {"X": X}


def _labels(y: Any, path: Path) -> NDArray[np.int16]:
    return _whole(np.ravel(y), path).astype(np.int16)


def _whole(values: Any, path: Path) -> NDArray[Any]:
    numbers = np.asarray(values, dtype=np.float64)
    if not np.array_equal(numbers, np.rint(numbers)):
        raise DataError(f"{path} has labels or row numbers that are no whole numbers.")
    return numbers
