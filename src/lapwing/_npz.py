"""Reader of NumPy's NPZ archives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._columns import RawTable, Selection, as_text

__all__ = ["read_npz"]

_FEATURES, _NAMES = "X", "feature_names"


def read_npz(file: Path, selection: Selection) -> RawTable:
    """Read an NPZ file; see `lapwing.tables.read_table`."""
    wanted = [_FEATURES, selection.label, *([] if selection.id is None else [selection.id])]
    arrays = _load(file, wanted)
    X = arrays[_FEATURES]
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(
            f"{file}: the array 'X' must be a table of numbers with a row a point; "
            f"it has the shape {X.shape} and the type {X.dtype}."
        )
    for name in wanted[1:]:
        if arrays[name].shape != (X.shape[0],):
            raise ValueError(
                f"{file}: the array {name!r} must have one entry for each of the {X.shape[0]} rows "
                f"of 'X'; it has the shape {arrays[name].shape}."
            )
    names = _feature_names(arrays.get(_NAMES), X.shape[1], file)
    # The label and the id are arrays of their own here, so only --drop concerns the columns of X.
    columns = Selection(selection.label, selection.id, selection.drop).resolve(
        [*names, *wanted[1:]], str(file)
    )
    kept = list(columns.features)
    labels = arrays[selection.label]
    return RawTable(
        (X if len(kept) == X.shape[1] else X[:, kept]).astype(_precision(X), copy=False),
        tuple(names[j] for j in kept),
        _array_text(labels, selection.label, file),
        None if selection.id is None else _array_text(arrays[selection.id], selection.id, file),
        default_marker="-1" if labels.dtype.kind == "i" else "",
    )


def _load(file: Path, wanted: list[str]) -> dict[str, NDArray[Any]]:
    # Opened here: np.load leaves the file open when it fails.
    with file.open("rb") as opened:
        try:
            archive = np.load(opened, allow_pickle=False)
        except Exception as error:  # damaged archives fail in the ways of zip, zlib, struct, NumPy
            raise ValueError(f"{file} is not a readable NPZ file: {error}") from None
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError(f"{file} is a single array; an NPZ file with 'X' and 'y' is needed.")
        names = archive.files
        for name in wanted:
            if name not in names:
                raise ValueError(
                    f"{file} has no array {name!r}; it has {', '.join(map(repr, names))}. Features "
                    "are read from 'X', labels from the array that --label names."
                )
        try:
            return {name: archive[name] for name in [*wanted, _NAMES] if name in names}
        except Exception as error:  # as above; also arrays of Python objects, which may hold code
            raise ValueError(f"{file} is not a readable NPZ file: {error}") from None


def _feature_names(given: NDArray[Any] | None, p: int, file: Path) -> list[str]:
    if given is None:
        return [f"x{j}" for j in range(p)]
    if given.shape != (p,):
        raise ValueError(
            f"{file}: 'feature_names' has the shape {given.shape}, but 'X' has {p} columns."
        )
    return [str(name) for name in given]


def _precision(X: NDArray[Any]) -> type[np.floating[Any]]:
    return np.float32 if X.dtype == np.float32 else np.float64


def _array_text(values: NDArray[Any], name: str, file: Path) -> NDArray[Any]:
    if values.dtype.kind == "f":
        # float64 first: the shortest text of a float32 is that of another float64.
        wide = values.astype(np.float64)
        return as_text(["" if np.isnan(v) else repr(float(v)) for v in wide])
    if values.dtype.kind == "b":
        return as_text(["true" if v else "false" for v in values])
    if values.dtype.kind not in "iuU":
        raise ValueError(
            f"{file}: the array {name!r} has the type {values.dtype}; "
            "it must hold integers, floats, truth values or text."
        )
    return as_text([str(v).strip() for v in values])
