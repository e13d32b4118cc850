"""The sets that OpenML has, in the form of an archive's arrays."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray

from lapwing.datasets._records import OpenMLRecord

__all__ = ["fetch"]


def fetch(record: OpenMLRecord) -> dict[str, NDArray[Any]]:
    """Fetch a set through scikit-learn, which keeps a copy in its own data folder.

    Parameters
    ----------
    record : OpenMLRecord
        The set.

    Returns
    -------
    dict of str to ndarray
        ``X``, ``y`` counted from 0, and ``n_train`` if the first rows are the official training
        part, as far as the numbers of points of the classes tell. OpenML has no published splits.

    Raises
    ------
    OSError, ValueError
        As `sklearn.datasets.fetch_openml`: no connection, or an answer that makes no sense.
    """
    # pandas reads these files several times faster, but lapwing does not depend on it.
    parser = "pandas" if find_spec("pandas") is not None else "liac-arff"
    found = sklearn.datasets.fetch_openml(data_id=record.data_id, as_frame=False, parser=parser)
    # Classes come as texts, such as '5'.
    y = np.asarray(found.target).astype(np.float64).astype(np.int64) - record.first_label
    arrays = {"X": np.asarray(found.data), "y": y}
    n_train = sum(record.train_counts)
    train = y[:n_train]
    if train.size and train.min() >= 0 and tuple(np.bincount(train)) == record.train_counts:
        arrays["n_train"] = np.asarray(n_train)
    return arrays
