"""Readers of NPY, NPZ, Matrix Market and svmlight files, and of files of labels."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from lapwing._arrays import Matrix, is_sparse
from lapwing._host.memory import require_memory
from lapwing._tables.cells import as_text, spell
from lapwing._tables.columns import RawTable, Selection, TextColumn, split_names
from lapwing._tables.source import Source, find_encoding, open_source, open_text, readable
from lapwing._words import listed, visible

# Name of the first entry of the lines of an svmlight file, which has no name there.
TARGET = "target"

_FEATURES, _NAMES = "X", "feature_names"
_NUMBERED = re.compile(r"x\d{1,18}")  # default names of columns


def read_svmlight(sources: Sequence[Source], selection: Selection) -> RawTable:
    """Read svmlight (LIBSVM) files; their targets are the column ``target``.

    Whether indices begin with 0 or 1 is inferred from all files of a fit together, and known from
    the model for new rows, as the first column may be empty in a single file.
    """
    read = [_load_svmlight(source) for source in sources]
    X = _stack_wide([X for X, _ in read])
    where = listed([str(source) for source in sources], 1)
    base = selection.svmlight_base
    lowest = int(X.indices.min()) if X.indices.size else 1
    if base is None:
        base = min(lowest, 1)
    elif lowest < base:
        raise ValueError(
            f"{where} has the index 0, but those of the model's table began with 1. Write both "
            "files from the same base."
        )
    roles = (selection.label, selection.id, *selection.others)
    wrong = [name for name in roles if name not in (None, TARGET)]
    if wrong:
        raise ValueError(
            f"{where} has no column {wrong[0]!r}: the only one with a name is {TARGET!r}, what "
            "stands first in each line."
        )
    targets = np.concatenate([y for _, y in read])
    target = TextColumn(array_text(targets, where))
    raw = _take_filled(
        X[:, base:],
        selection,
        where,
        arrays=[TARGET] if TARGET in roles else [],
        labels=target if selection.label == TARGET else None,
        ids=as_text([spell(y) for y in targets.tolist()]) if selection.id == TARGET else None,
        others={TARGET: target} if TARGET in selection.others else {},
    )
    return replace(raw, svmlight_base=base)


def _load_svmlight(source: Source) -> tuple[Any, NDArray[Any]]:
    with source.open() as opened, readable(source, "svmlight file"):
        X, y = load_svmlight_file(opened, dtype=np.float64, zero_based=True)
    return X.tocsr(), y


def _stack_wide(parts: Sequence[Any]) -> Any:
    """Concatenate matrices, which may lack the last, empty columns."""
    width = max(X.shape[1] for X in parts)
    wide = [sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width)) for X in parts]
    return wide[0] if len(wide) == 1 else sp.vstack(wide, format="csr")


def _take_filled(
    X: Any, selection: Selection, source: str, *, arrays: Sequence[str] = (), **columns: Any
) -> RawTable:
    """Select the non-empty columns of a sparse matrix, those of a model and those of the user.

    Hashed texts have indices up to 2^31: a name for each would take gigabytes, as would a number
    for each in later steps.
    """
    X.eliminate_zeros()
    given = split_names((*selection.drop, *selection.features, *selection.keep), ())
    known = [int(name[1:]) for name in given if _NUMBERED.fullmatch(name)]
    known = [j for j in known if j < X.shape[1]]
    known += [_index(name, source) for name in selection.expected or ()]
    places = np.union1d(X.indices, known).astype(np.int64)
    shape = (X.shape[0], places.size)
    X = sp.csr_array((X.data, np.searchsorted(places, X.indices), X.indptr), shape=shape)
    # Files may lack columns that are empty in them.
    selection = replace(selection, same_columns=False)
    names = [f"x{j}" for j in places]
    return take_columns(X, names, selection, source, arrays=arrays, **columns)


def _index(name: str, source: str) -> int:
    if not _NUMBERED.fullmatch(name):
        raise ValueError(
            f"{source} has no names of columns, and the model knows {name!r} by its name. Give the "
            "table in a format with names."
        )
    return int(name[1:])


def read_matrix_market(source: Source, selection: Selection) -> RawTable:
    """Read a Matrix Market file, dense or sparse; labels are in another file."""
    with source.open() as opened, readable(source, "Matrix Market file"):
        X = scipy.io.mmread(opened)
    return _take_numbered(X, "the matrix", selection, source)


def read_npy(source: Source, selection: Selection) -> RawTable:
    """Read an NPY file, a table of numbers; labels are in another file."""
    X = _load_array(source)
    if not isinstance(X, np.ndarray):
        raise ValueError(f"{source} is an archive of arrays: give it the extension .npz.")
    return _take_numbered(X, "the array", selection, source)


def _load_array(source: Source) -> Any:
    with source.open() as opened, readable(source, "NPY file"):
        return np.load(opened, allow_pickle=False)


def _take_numbered(X: Any, what: str, selection: Selection, source: Source) -> RawTable:
    """Select columns of a matrix, dense or sparse, whose columns have no names."""
    _check_points(X, what, source)
    if not is_sparse(X):
        return take_columns(X, numbered(X.shape[1]), selection, str(source))
    sparse: Any = sp.csr_array
    X = sparse(X, dtype=np.float64)
    X.sum_duplicates()
    wanted = max((_index(name, str(source)) for name in selection.expected or ()), default=-1)
    if wanted >= X.shape[1]:
        raise ValueError(
            f"{source} has {X.shape[1]} columns, but the model was fitted on x{wanted}, which is "
            "beyond them."
        )
    return _take_filled(X, selection, str(source))


def read_labels(path: Path, n: int) -> tuple[TextColumn, str]:
    """Read a file with a label for each row of a matrix.

    Parameters
    ----------
    path : Path
        NPY file of one array, or text file with one label per line, blank for unlabelled rows.
    n : int
        Number of rows of the matrix.

    Returns
    -------
    labels : TextColumn of n rows
        Empty for unlabelled rows.
    marker : str
        Marker of "no label" besides blanks: -1 in an array of numbers, as in scikit-learn.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not such a file, or the number of labels is wrong.
    """
    with open_source(path) as source:
        marker = ""
        if source.suffix == ".npy":
            values = _load_array(source)
            if not isinstance(values, np.ndarray) or values.ndim != 1:
                raise ValueError(f"{source} must hold one array with one label for each row.")
            labels = array_text(values, str(source))
            marker = usual_marker(values)
        else:
            with open_text(source, find_encoding(source, utf8_only=True)) as lines:
                labels = as_text([line.strip() for line in lines])
    if len(labels) != n:
        raise ValueError(
            f"{source} has {len(labels)} labels, but the table has {n} rows; there must be one "
            "line (blank for no label) or entry for each row, and no heading."
        )
    return TextColumn(labels), marker


def read_npz(source: Source, selection: Selection) -> RawTable:
    """Read an NPZ file; see `lapwing._tables.tables.read_table`.

    The sparse matrix of a file of `scipy.sparse.save_npz` has no names and no labels.
    """
    roles = [name for name in (selection.label, selection.id) if name is not None]
    wanted = [_FEATURES, *roles, *selection.others]
    loaded = _load(source, wanted)
    if is_sparse(loaded):
        return _take_numbered(loaded, "the matrix", selection, source)
    arrays: dict[str, NDArray[Any]] = loaded
    X = _check_points(arrays[_FEATURES], "the array 'X'", source)
    for name in wanted[1:]:
        if arrays[name].shape != (X.shape[0],):
            raise ValueError(
                f"{source}: the array {name!r} must have one entry for each of the {X.shape[0]} "
                f"rows of 'X'; it has the shape {arrays[name].shape}."
            )
    names = _feature_names(arrays.get(_NAMES), X.shape[1], source)
    texts = {name: array_text(arrays[name], f"{source}: {name!r}") for name in wanted[1:]}
    label, row_id = selection.label, selection.id
    return take_columns(
        X,
        names,
        selection,
        str(source),
        arrays=wanted[1:],
        labels=None if label is None else TextColumn(texts[label]),
        ids=None if row_id is None else texts[row_id],
        others={name: TextColumn(texts[name]) for name in selection.others},
        default_marker="" if label is None else usual_marker(arrays[label]),
    )


def take_columns(
    X: Matrix,
    names: Sequence[str],
    selection: Selection,
    source: str,
    *,
    arrays: Sequence[str] = (),
    **columns: Any,
) -> RawTable:
    """Select the chosen columns of a matrix with labels, ids and so on in separate arrays."""
    roles = selection.resolve([*names, *arrays], source)
    kept = [j for j in roles.features if j < len(names)]
    given = (selection.label, selection.id, *selection.others)
    taken = [name for name in given if name in names]
    if taken:
        raise ValueError(
            f"{source} holds only features, so {taken[0]!r} cannot be the label, the id, the "
            "truth or a place on the map. Give labels with --labels, or the table as CSV or "
            "Parquet."
        )
    wrong = [name for name in selection.texts if name in names]
    if wrong:
        raise ValueError(
            f"{source}: column {wrong[0]!r} was text when the model was fitted, and this format "
            "has only numbers. Give the table as CSV or Parquet."
        )
    everything = kept == list(range(X.shape[1]))
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    chosen: Any = (X if everything else X[:, kept]).astype(dtype, copy=False)
    if is_sparse(X):
        chosen.sort_indices()
    return RawTable(
        X.shape[0],
        matrix=chosen,
        matrix_names=tuple(names[j] for j in kept),
        ignored=roles.ignored,
        left_out=roles.left_out,
        **columns,
    )


def numbered(p: int) -> list[str]:
    """Return default names of columns."""
    return [f"x{j}" for j in range(p)]


def array_text(values: NDArray[Any], where: str) -> NDArray[Any]:
    """Convert the entries of an array to text; NaN becomes blank."""
    if values.dtype.kind == "f":
        # Converted to float64 first: the shortest text of a float32 is that of another float64.
        wide = values.astype(np.float64).tolist()
        return as_text(["" if math.isnan(v) else repr(v) for v in wide])
    if values.dtype.kind == "b":
        return as_text(["true" if v else "false" for v in values])
    if values.dtype.kind not in "iuU":
        raise ValueError(
            f"{where} has the type {values.dtype}; "
            "it must hold integers, floats, truth values or text."
        )
    return as_text([visible(str(v)) for v in values])


def usual_marker(labels: NDArray[Any]) -> str:
    """Return the marker of "no label" in an array besides NaN: -1 for numbers."""
    return "-1" if labels.dtype.kind in "if" else ""


def _load(source: Source, wanted: list[str]) -> Any:
    """Load the wanted arrays and the names of features by name, or a sparse matrix of SciPy."""
    # Opened here, as np.load leaves the file open when it fails.
    with source.open() as opened:
        with readable(source, "NPZ file"):
            archive = np.load(opened, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError(f"{source} is a single array; an NPZ file with 'X' and 'y' is needed.")
        with archive:
            assert archive.zip is not None  # it is open
            sizes = {e.filename.removesuffix(".npy"): e.file_size for e in archive.zip.infolist()}
            of_scipy = _FEATURES not in sizes and {"format", "shape", "data"} <= set(sizes)
            wanted = list(sizes) if of_scipy else wanted
            missing = [name for name in wanted if name not in sizes]
            if missing:
                raise ValueError(
                    f"{source} has no array {missing[0]!r}; it has {', '.join(map(repr, sizes))}. "
                    "Features are read from 'X', labels and ids from arrays of their own. Labels "
                    "in another file are given with --labels."
                )
            known = [name for name in dict.fromkeys([*wanted, _NAMES]) if name in sizes]
            # Checked by the headers, as a small file may unpack to more than the memory.
            require_memory(
                sum(sizes[name] for name in known),
                f"Reading {source}",
                "Save it as .parquet: large files of numbers are read in blocks.",
            )
            if not of_scipy:
                return {name: _array(archive, name, source) for name in known}
        opened.seek(0)
        with readable(source, "NPZ file of scipy.sparse"):
            X: Any = sp.load_npz(opened)
            if X.format in ("csr", "csc", "bsr"):
                X.check_format(full_check=True)  # wrong indices would be read outside the arrays
        return X


def _array(archive: Any, name: str, source: Source) -> NDArray[Any]:
    array: NDArray[Any] | None = None
    with readable(source, "NPZ file"):
        try:
            array = archive[name]
        except ValueError as error:
            if "allow_pickle" not in str(error):
                raise
    if array is None:
        raise ValueError(
            f"{source}: the array {name!r} holds Python objects, which are stored as code that "
            f"would run when it is read. Save it as text, with '' for none: "
            f"{name}=np.array(['' if v is None else str(v) for v in {name}])."
        )
    return array


def _check_points(X: Any, what: str, source: Source) -> Any:
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(
            f"{source}: {what} must be a table of numbers with a row for each point; "
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
