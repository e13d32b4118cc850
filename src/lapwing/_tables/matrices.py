"""Readers of NPY, NPZ, Matrix Market and svmlight files, and of files of labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.io
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from lapwing._arrays import Matrix, is_sparse
from lapwing._host.memory import require_memory
from lapwing._tables.cells import as_text, text_of
from lapwing._tables.columns import RawTable, TextColumn
from lapwing._tables.encoders import NUMERIC
from lapwing._tables.roles import Selection, split_names
from lapwing._tables.source import Source, find_encoding, open_source, open_text, readable
from lapwing._words import listed

T = TypeVar("T")
Arrays = Mapping[str, NDArray[Any]]

# Name of the first entry of the lines of an svmlight file, which has no name there.
TARGET = "target"

_FEATURES, _NAMES = "X", "feature_names"
_NUMBERED = re.compile(r"x(\d{1,18})")  # default names of columns


def read_svmlight(sources: Sequence[Source], selection: Selection) -> RawTable:
    """Read svmlight (LIBSVM) files; their targets are the column ``target``.

    Whether indices begin with 0 or 1 is inferred from all files of a fit together, and known from
    the model for new rows, as the first column may be empty in a single file.
    """
    where, base = listed([str(source) for source in sources], 1), selection.svmlight_base
    load = partial(load_svmlight_file, dtype=np.float64, zero_based=True)
    parts, targets = zip(*(_load(s, "svmlight file", load) for s in sources), strict=True)
    lowest = min((int(X.indices.min()) for X in parts if X.indices.size), default=1)
    if base is None:
        base = min(lowest, 1)
    elif lowest < base:
        raise ValueError(
            f"{where} has the index 0, but those of the model's table began with 1. Write both "
            "files from the same base."
        )
    # Files may lack the last columns, which are empty in them.
    known = (base + j + 1 for j in _positions(selection.expected or ()))
    width = max(*(X.shape[1] for X in parts), *known, 0)
    wide = [sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width)) for X in parts]
    whole = wide[0] if len(wide) == 1 else sp.vstack(wide, format="csr")
    X, names = _without_empty(whole[:, base:], selection)
    arrays = {TARGET: np.concatenate(targets)}
    table = _table(X, names, arrays, selection, where, svmlight_base=base)
    # Every file has targets, so that they are not worth a remark where the model needs none.
    ignored = tuple(name for name in table.roles.ignored if name != TARGET)
    return replace(table, roles=replace(table.roles, ignored=ignored))


def _load(source: Source, what: str, load: Callable[[Any], T]) -> T:
    with source.open() as opened, readable(source, what):
        return load(opened)


def _load_array(source: Source) -> Any:
    return _load(source, "NPY file", lambda opened: np.load(opened, allow_pickle=False))


def read_matrix_market(source: Source, selection: Selection) -> RawTable:
    """Read a Matrix Market file, dense or sparse; labels are in another file."""
    X = _load(source, "Matrix Market file", scipy.io.mmread)
    return _numbered_table(X, "the matrix", selection, source)


def read_npy(source: Source, selection: Selection) -> RawTable:
    """Read an NPY file, a table of numbers; labels are in another file."""
    X = _load_array(source)
    if not isinstance(X, np.ndarray):
        raise ValueError(f"{source} is an archive of arrays: give it the extension .npz.")
    return _numbered_table(X, "the array", selection, source)


def read_npz(source: Source, selection: Selection) -> RawTable:
    """Read an NPZ file; see `lapwing._tables.tables.read_table`.

    The sparse matrix of a file of `scipy.sparse.save_npz` has no names and no labels.
    """
    label = selection.label
    roles = [name for name in (label, selection.id, *selection.others(())) if name is not None]
    arrays = _load_archive(source, [_FEATURES, *roles], label)
    if arrays is None:
        X = _load(source, "NPZ file of scipy.sparse", _load_scipy)
        return _numbered_table(X, "the matrix", selection, source)
    X, names = arrays.pop(_FEATURES), arrays.pop(_NAMES, None)
    _check_points(X, "the array 'X'", source)
    n, p = X.shape
    for name, array in arrays.items():
        if array.shape != (n,):
            raise ValueError(
                f"{source}: the array {name!r} must have one entry for each of the {n} rows of "
                f"'X'; it has the shape {array.shape}."
            )
    if names is not None and names.shape != (p,):
        raise ValueError(
            f"{source}: 'feature_names' has the shape {names.shape}, but 'X' has {p} columns."
        )
    return _table(
        X,
        _numbered(p) if names is None else list(map(str, names)),
        arrays,
        selection,
        str(source),
        default_marker="" if label is None else _usual_marker(arrays[label]),
    )


def _load_archive(
    source: Source, wanted: Sequence[str], label: str | None
) -> dict[str, NDArray[Any]] | None:
    """Load arrays, and the names of features if given; None for a sparse matrix of SciPy."""
    # Opened here, as np.load leaves the file open when it fails.
    with source.open() as opened:
        with readable(source, "NPZ file"):
            archive = np.load(opened, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError(f"{source} is a single array; an NPZ file with 'X' and 'y' is needed.")
        with archive:
            assert archive.zip is not None  # it is open
            sizes = {e.filename.removesuffix(".npy"): e.file_size for e in archive.zip.infolist()}
            of_scipy = _FEATURES not in sizes and {"format", "shape", "data"} <= sizes.keys()
            missing = [] if of_scipy else [name for name in wanted if name not in sizes]
            if missing:
                elsewhere = " Labels in another file are given with --labels."
                raise ValueError(
                    f"{source} has no array {missing[0]!r}; it has {', '.join(map(repr, sizes))}. "
                    "Features are read from 'X', labels and ids from arrays of their own."
                    f"{elsewhere if missing[0] == label else ''}"
                )
            known = [name for name in sizes if of_scipy or name in (*wanted, _NAMES)]
            # Checked by the headers, as a small file may unpack to more than the memory.
            require_memory(
                sum(sizes[name] for name in known),
                f"Reading {source}",
                "Save it as .parquet: large files of numbers are read in blocks.",
            )
            return None if of_scipy else {name: _array(archive, name, source) for name in known}


def _array(archive: Any, name: str, source: Source) -> NDArray[Any]:
    try:
        with readable(source, "NPZ file"):
            array: NDArray[Any] = archive[name]
    except ValueError as error:
        if "Python objects" not in str(error):
            raise
        raise ValueError(
            f"{source}: the array {name!r} holds Python objects, which are stored as code that "
            f"would run when it is read. Save it as text, with '' for none: "
            f"{name}=np.array(['' if v is None else str(v) for v in {name}])."
        ) from None
    return array


def _load_scipy(opened: Any) -> Any:
    X: Any = sp.load_npz(opened)
    if X.format in ("csr", "csc", "bsr"):
        X.check_format(full_check=True)  # wrong indices would be read outside the arrays
    return X


def _numbered_table(X: Any, what: str, selection: Selection, source: Source) -> RawTable:
    """Select columns of a matrix, dense or sparse, whose columns have no names."""
    _check_points(X, what, source)
    if not is_sparse(X):
        return _table(X, _numbered(X.shape[1]), {}, selection, str(source))
    sparse: Any = sp.csr_array
    X = sparse(X, dtype=np.float64)
    X.sum_duplicates()
    return _table(*_without_empty(X, selection), {}, selection, str(source))


def _without_empty(X: Any, selection: Selection) -> tuple[Any, list[str]]:
    """Select the columns of a sparse matrix that are not empty, or named by a model or the user.

    Hashed texts have indices up to 2^31: a name for each would take gigabytes, as would a number
    for each in later steps.
    """
    X.eliminate_zeros()
    given = split_names((*selection.drop, *selection.features, *selection.keep), ())
    known = [j for j in _positions((*given, *(selection.expected or ()))) if j < X.shape[1]]
    places = np.union1d(X.indices, known).astype(np.int64)
    shape = (X.shape[0], places.size)
    X = sp.csr_array((X.data, np.searchsorted(places, X.indices), X.indptr), shape=shape)
    return X, [f"x{j}" for j in places]


def _positions(names: Sequence[str] | Mapping[str, str]) -> list[int]:
    """Return the positions of those names that are default ones."""
    return [int(found[1]) for found in map(_NUMBERED.fullmatch, names) if found]


def _table(
    X: Matrix, names: Sequence[str], arrays: Arrays, selection: Selection, source: str, **facts: Any
) -> RawTable:
    """Select the chosen columns of a matrix with labels, ids and so on in separate arrays."""
    if is_sparse(X):
        # Files may lack columns that are empty in them.
        selection = replace(selection, same_columns=False)
    named = [name for name in selection.expected or () if not _NUMBERED.fullmatch(name)]
    if named and all(map(_NUMBERED.fullmatch, names)):
        raise ValueError(
            f"{source} has no names of columns, and the model knows {named[0]!r} by its name. Give "
            "the table in a format with names."
        )
    roles = selection.resolve([*arrays, *names], source)
    given = (selection.label, selection.id, *selection.others(names))
    taken = [name for name in given if name in names]
    if taken:
        raise ValueError(
            f"{source} holds only features, so {taken[0]!r} cannot be the label, the id, the "
            "truth or a place on the map. Give labels with --labels, or the table as CSV or "
            "Parquet."
        )
    expected = (selection.expected or {}).items()
    wrong = [name for name, kind in expected if kind != NUMERIC and name in names]
    if wrong:
        raise ValueError(
            f"{source}: column {wrong[0]!r} was text when the model was fitted, and this format "
            "has only numbers. Give the table as CSV or Parquet."
        )
    features = tuple(name for name in roles.features if name not in arrays)
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    place = {name: j for j, name in enumerate(names)}
    everything = features == tuple(names)
    chosen: Any = X if everything else X[:, [place[name] for name in features]]
    chosen = chosen.astype(dtype, copy=False)
    if is_sparse(X):
        chosen.sort_indices()
    return RawTable(
        X.shape[0],
        replace(roles, features=features),
        texts={n: TextColumn(_texts(arrays[n], f"{source}: {n!r}")) for n in roles.texts},
        matrix=chosen,
        **facts,
    )


def _numbered(p: int) -> list[str]:
    """Return default names of columns."""
    return [f"x{j}" for j in range(p)]


def _check_points(X: Any, what: str, source: Source) -> None:
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(
            f"{source}: {what} must be a table of numbers with a row for each point; "
            f"it has the shape {X.shape} and the type {X.dtype}."
        )


def _texts(values: NDArray[Any], where: str) -> NDArray[Any]:
    """Convert the entries of an array to text; NaN becomes blank."""
    if values.dtype.kind not in "fbiuU":
        raise ValueError(
            f"{where} has the type {values.dtype}; "
            "it must hold integers, floats, truth values or text."
        )
    # Converted to float64 first: the shortest text of a float32 is that of another float64.
    wide = values.astype(np.float64) if values.dtype.kind == "f" else values
    return as_text(list(map(text_of, wide.tolist())))


def _usual_marker(labels: NDArray[Any]) -> str:
    """Return the marker of "no label" besides NaN: -1 for numbers, as in scikit-learn."""
    return "-1" if labels.dtype.kind in "if" else ""


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
        Marker of "no label" besides blanks.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not such a file, or the number of labels is wrong.
    """
    labels, marker, source = _load_labels(path)
    if len(labels) != n:
        raise ValueError(
            f"{source} has {len(labels)} labels, but the table has {n} rows; there must be one "
            "line (blank for no label) or entry for each row, and no heading."
        )
    return TextColumn(labels), marker


def count_labels(path: Path) -> int:
    """Return the number of labels in a file for `read_labels`."""
    return len(_load_labels(path)[0])


def _load_labels(path: Path) -> tuple[NDArray[Any], str, str]:
    """Return labels, their marker besides blanks, and the name of the file."""
    with open_source(path) as source:
        if source.suffix == ".npy":
            values = _load_array(source)
            if not isinstance(values, np.ndarray) or values.ndim != 1:
                raise ValueError(f"{source} must hold one array with one label for each row.")
            return _texts(values, str(source)), _usual_marker(values), str(source)
        with open_text(source, find_encoding(source, utf8_only=True)) as lines:
            return as_text([line.strip() for line in lines]), "", str(source)
