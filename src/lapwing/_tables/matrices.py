"""Readers of sparse matrices, and of files of labels beside a matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from lapwing._arrays import is_sparse
from lapwing._tables.columns import RawTable, Selection, as_text
from lapwing._tables.npz import array_text, numbered, take_columns
from lapwing._tables.source import Source, open_source

__all__ = ["TARGET", "read_labels", "read_matrix_market", "read_svmlight"]

# What stands first in a line of an svmlight file has no name there.
TARGET = "target"


def read_svmlight(source: Source, selection: Selection) -> RawTable:
    """Read an svmlight (LIBSVM) file; its targets are the column ``target``."""
    expected = selection.expected
    with source.open() as opened:
        try:
            X, y = load_svmlight_file(
                opened, dtype=np.float64, zero_based="auto" if expected is None else False
            )
        except Exception as error:  # its parser fails in the ways of text, numbers and indices
            raise ValueError(f"{source} is not a readable svmlight file: {error}") from None
    if expected is not None:
        X = _fit_width(X, len(expected), source)
    label = selection.label == TARGET
    if selection.label not in (None, TARGET) or selection.id is not None or selection.others:
        wrong = [selection.label, selection.id, *selection.others]
        name = next(name for name in wrong if name not in (None, TARGET))
        raise ValueError(
            f"{source} has no column {name!r}: the only one with a name is {TARGET!r}, what stands "
            "first in each line."
        )
    return take_columns(
        X.tocsr(),
        numbered(X.shape[1]),
        selection,
        source,
        arrays=[TARGET] if label else [],
        labels=array_text(y, str(source)) if label else None,
    )


def read_matrix_market(source: Source, selection: Selection) -> RawTable:
    """Read a Matrix Market file, dense or sparse; labels come from a file of their own."""
    with source.open() as opened:
        try:
            X = scipy.io.mmread(opened)
        except Exception as error:  # its parser's errors have no common class
            raise ValueError(f"{source} is not a readable Matrix Market file: {error}") from None
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{source} holds {X.dtype}, but the features must be real numbers.")
    sparse: Any = sp.csr_array
    X = sparse(X, dtype=np.float64) if is_sparse(X) else np.asarray(X, dtype=np.float64)
    return take_columns(X, numbered(X.shape[1]), selection, source)


def read_labels(path: Path, n: int) -> tuple[NDArray[Any], str]:
    """Read a file with a label for each row of a matrix.

    Parameters
    ----------
    path : Path
        An NPY file of one array, or a text file with one label a line, blank where there is none.
    n : int
        Rows of the matrix.

    Returns
    -------
    labels : ndarray of object of shape (n,)
        Text, empty where there is no label.
    marker : str
        What means "no label" besides the blank: -1 in an array of integers, as in scikit-learn.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is no such file, or has another number of labels.
    """
    with open_source(path) as source, source.open() as opened:
        marker = ""
        if source.suffix == ".npy":
            try:
                values = np.load(opened, allow_pickle=False)
            except Exception as error:
                raise ValueError(f"{source} is not a readable NPY file: {error}") from None
            if not isinstance(values, np.ndarray) or values.ndim != 1:
                raise ValueError(f"{source} must hold one array with one label for each row.")
            labels = array_text(values, str(source))
            marker = "-1" if values.dtype.kind == "i" else ""
        else:
            labels = _text_labels(opened.read(), source)
    if len(labels) != n:
        raise ValueError(
            f"{source} has {len(labels)} labels, but the table has {n} rows; there must be one "
            "line (blank for no label) or entry for each row, and no heading."
        )
    return labels, marker


def _text_labels(content: bytes, source: Source) -> NDArray[Any]:
    try:
        text = content.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"{source}: line {line} is not UTF-8 text; save it as UTF-8.") from None
    lines = text.split("\n")
    return as_text([line.strip() for line in (lines[:-1] if lines[-1] == "" else lines)])


def _fit_width(X: Any, width: int, source: Source) -> Any:
    """Give a matrix that lacks its last, empty columns those columns."""
    if X.shape[1] > width:
        raise ValueError(f"{source} has {X.shape[1]} columns, but the model was fitted on {width}.")
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
