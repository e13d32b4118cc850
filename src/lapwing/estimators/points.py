"""X of a fit or a prediction: an array, or rows that are read in blocks."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _num_samples

from lapwing._arrays import Array
from lapwing._features import reading_features
from lapwing._host.memory import require_memory
from lapwing._rows import Rows, all_of, as_rows, header_of, moments_of

# A file no larger than this, a block of many passes, is read into memory: then nothing is gained by
# reading it again and again.
_SMALL_BYTES = 2**26


class Held(NamedTuple):
    """Points of a file that were read whole."""

    values: Array
    header: Any  # what their columns are counted and named by; see `header_of`


def is_large(rows: Rows) -> bool:
    """Whether points are worth reading in blocks."""
    return bool(prod(rows.shape) * rows.dtype.itemsize > _SMALL_BYTES)


def read_points(X: Any, *, in_blocks: Any, name: str) -> Any:
    """Points as they go on: rows that are read in blocks, or what scikit-learn checks.

    Parameters
    ----------
    X : array-like, sparse matrix, or a source of `lapwing.datasets.open_rows`
    in_blocks : function (Rows) -> bool
        Whether large points are taken in blocks.
    name : str
        Of the estimator.

    Returns
    -------
    Rows, Held or array-like

    Raises
    ------
    MemoryError
        For points that are needed as an array and do not fit.
    """
    rows = as_rows(X)
    if rows is None:
        return X
    if is_large(rows) and in_blocks(rows):
        return rows
    if isinstance(X, np.memmap) and X.dtype.isnative:
        return X
    n, d = rows.shape
    require_memory(
        float(n) * d * rows.dtype.itemsize,
        f"{name} with these parameters takes X as an array in memory, and {n} x {d} points of a "
        "file as one",
        "Use an estimator that reads row blocks: LapERLSClassifier or LapERLSRegressor, "
        "AnchorGraphClassifier, EigenfunctionClassifier.",
    )
    return Held(all_of(rows), header_of(rows))


def check_one_entry_a_row(X: Any, y: Any, *, regression: bool) -> None:
    """Refuse y that has not an entry for every row of X, as where it has only the labels."""
    with reading_features(X):
        n = _num_samples(X)
    given = _num_samples(y)
    if n != given:
        marker = "NaN" if regression else "-1 or a missing value (see the parameter unlabeled)"
        raise ValueError(
            f"X has {n} rows, but y has {given} entries: y takes one for each row of X. Rows "
            f"without a label stay in X, and {marker} marks them in y."
        )


def check_rows(X: Rows) -> None:
    """Refuse rows with missing or infinite values, and fewer than two of them: one pass."""
    if X.shape[0] < 2:
        raise ValueError(f"X has {X.shape[0]} row, and a fit needs at least 2.")
    found = moments_of(X).not_finite
    if found is not None:
        raise ValueError(
            f"X contains NaN or infinity, first in row {found[0]}, column {found[1]} (counted "
            "from 0). Mend or leave out such rows before the fit."
        )
