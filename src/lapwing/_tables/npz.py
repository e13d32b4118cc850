"""Readers of NumPy's files: NPZ archives of named arrays, and NPY files of one array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._host.memory import require_memory
from lapwing._host.numpy_files import why_unreadable
from lapwing._tables.cells import as_text
from lapwing._tables.columns import RawTable, Selection
from lapwing._tables.source import Source
from lapwing._words import visible

_FEATURES, _NAMES = "X", "feature_names"


def read_npz(source: Source, selection: Selection) -> RawTable:
    """Read an NPZ file; see `lapwing._tables.tables.read_table`."""
    roles = [name for name in (selection.label, selection.id) if name is not None]
    wanted = [_FEATURES, *roles, *selection.others]
    arrays = _load(source, wanted)
    X = _check_points(arrays[_FEATURES], "the array 'X'", source)
    for name in wanted[1:]:
        if arrays[name].shape != (X.shape[0],):
            raise ValueError(
                f"{source}: the array {name!r} must have one entry for each of the {X.shape[0]} "
                f"rows of 'X'; it has the shape {arrays[name].shape}."
            )
    names = _feature_names(arrays.get(_NAMES), X.shape[1], source)
    label = None if selection.label is None else arrays[selection.label]
    return take_columns(
        X,
        names,
        selection,
        source,
        arrays=wanted[1:],
        labels=None if label is None else array_text(label, f"{source}: {selection.label!r}"),
        ids=None
        if selection.id is None
        else array_text(arrays[selection.id], f"{source}: {selection.id!r}"),
        others={name: array_text(arrays[name], f"{source}: {name!r}") for name in selection.others},
        default_marker="" if label is None else usual_marker(label),
    )


def read_npy(source: Source, selection: Selection) -> RawTable:
    """Read an NPY file, a table of numbers; labels come from a file of their own."""
    with source.open() as opened:
        try:
            X = np.load(opened, allow_pickle=False)
        except Exception as error:  # as for archives; also arrays of objects, which may hold code
            raise ValueError(
                f"{source} is not a readable NPY file: {why_unreadable(error)}"
            ) from None
        if not isinstance(X, np.ndarray):
            raise ValueError(f"{source} is an archive of arrays: give it the extension .npz.")
    X = _check_points(X, "the array", source)
    return take_columns(X, numbered(X.shape[1]), selection, source)


def take_columns(
    X: Any,
    names: list[str],
    selection: Selection,
    source: Source,
    *,
    arrays: list[str] | None = None,
    **columns: Any,
) -> RawTable:
    """Keep the chosen columns of a matrix whose labels, ids and so on are arrays of their own."""
    kept_names = names if arrays is None else [*names, *arrays]
    roles = selection.resolve(kept_names, str(source))
    kept = list(roles.features)
    wrong = [name for name in selection.categorical if name in names]
    if wrong:
        raise ValueError(
            f"{source}: column {wrong[0]!r} was text when the model was fitted, and this format "
            "has only numbers. Give the table as CSV or Parquet."
        )
    everything = kept == list(range(X.shape[1]))
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    return RawTable(
        (X if everything else X[:, kept]).astype(dtype, copy=False),
        tuple(names[j] for j in kept),
        ignored=tuple(kept_names[j] for j in roles.ignored),
        left_out=tuple(kept_names[j] for j in roles.left_out),
        **columns,
    )


def numbered(p: int) -> list[str]:
    """Names for columns that have none."""
    return [f"x{j}" for j in range(p)]


def array_text(values: NDArray[Any], where: str) -> NDArray[Any]:
    """Write the entries of an array as text; NaN is a blank."""
    if values.dtype.kind == "f":
        # float64 first: the shortest text of a float32 is that of another float64.
        wide = values.astype(np.float64)
        return as_text(["" if np.isnan(v) else repr(float(v)) for v in wide])
    if values.dtype.kind == "b":
        return as_text(["true" if v else "false" for v in values])
    if values.dtype.kind not in "iuU":
        raise ValueError(
            f"{where} has the type {values.dtype}; "
            "it must hold integers, floats, truth values or text."
        )
    return as_text([visible(str(v)) for v in values])


def usual_marker(labels: NDArray[Any]) -> str:
    """What means "no label" in an array besides NaN: -1 among numbers, as in Python."""
    return "-1" if labels.dtype.kind in "if" else ""


def _load(source: Source, wanted: list[str]) -> dict[str, NDArray[Any]]:
    # Opened here, and the archive closed: np.load leaves the file open when it fails.
    with source.open() as opened:
        try:
            archive = np.load(opened, allow_pickle=False)
        except Exception as error:  # damaged archives fail in the ways of zip, zlib, struct, NumPy
            raise ValueError(
                f"{source} is not a readable NPZ file: {why_unreadable(error)}"
            ) from None
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError(f"{source} is a single array; an NPZ file with 'X' and 'y' is needed.")
        with archive:
            names = archive.files
            for name in wanted:
                if name not in names:
                    raise ValueError(
                        f"{source} has no array {name!r}; it has {', '.join(map(repr, names))}. "
                        "Features are read from 'X', labels and ids from arrays of their own."
                    )
            # By their headers: a small file may unpack to more than there is memory.
            assert archive.zip is not None  # it is open
            sizes = {entry.filename: entry.file_size for entry in archive.zip.infolist()}
            require_memory(
                sum(sizes.get(f"{name}.npy", 0) for name in [*wanted, _NAMES]),
                f"Reading {source}",
                "Save it as .parquet: large files of numbers are read in blocks.",
            )
            return {
                name: _array(archive, name, source) for name in [*wanted, _NAMES] if name in names
            }


def _array(archive: Any, name: str, source: Source) -> NDArray[Any]:
    try:
        array: NDArray[Any] = archive[name]
    except Exception as error:  # as above
        if "allow_pickle" in str(error):
            raise ValueError(
                f"{source}: the array {name!r} holds Python objects, which are stored as code that "
                f"would run when it is read. Save it as text, with '' for none: "
                f"{name}=np.array(['' if v is None else str(v) for v in {name}])."
            ) from None
        raise ValueError(f"{source} is not a readable NPZ file: {why_unreadable(error)}") from None
    return array


def _check_points(X: NDArray[Any], what: str, source: Source) -> NDArray[Any]:
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(
            f"{source}: {what} must be a table of numbers with a row a point; "
            f"it has the shape {X.shape} and the type {X.dtype}."
        )
    return X


def _feature_names(given: NDArray[Any] | None, p: int, source: Source) -> list[str]:
    if given is None:
        return numbered(p)
    if given.shape != (p,):
        raise ValueError(
            f"{source}: 'feature_names' has the shape {given.shape}, but 'X' has {p} columns."
        )
    return [str(name) for name in given]
