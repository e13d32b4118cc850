"""The data sets of the LapSVM paper as its experiments use them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from lapwing.datasets import load_dataset


class Data(NamedTuple):
    """A data set, classes as codes 0, 1, ..."""

    X: Any  # (n_samples, n_features), dense or sparse
    y: NDArray[np.int64]  # (n_samples,)
    is_test: NDArray[np.bool_] | None = None  # the official test part, where there is one


def _load(name: str) -> Data:
    # Archives only: a benchmark that goes to the network measures something else each time.
    bunch = load_dataset(name, download_if_missing=False)
    return Data(bunch.data, bunch.target, bunch.is_test)


def load_g50c() -> Data:
    """Two Gaussians in 50 dimensions."""
    return _load("g50c")


def load_coil20() -> Data:
    """Twenty objects; COIL20(B) groups them."""
    return _load("coil20")


def load_pcmac() -> Data:
    """Two newsgroups; rows have unit length, so Euclidean and cosine neighbours are the same."""
    return _load("pcmac")


def load_uspst() -> Data:
    """Ten digits; USPST(B) groups them."""
    return _load("uspst")


def load_mnist3vs8() -> Data:
    """Digits 3 and 8, every image scaled to unit length (see `benchmarks.problems.DEGREE_NINE`)."""
    data = _load("mnist3vs8")
    return data._replace(X=normalize(data.X, copy=False))


def load_facemit() -> Data:
    """Faces in [0, 1] pixels, training and test part exchanged as in Section 6.2."""
    data = _load("cbcl_face")
    if data.is_test is None:
        raise FileNotFoundError("the data archive cbcl_face.npz marks no test part")
    return Data(data.X / np.float32(255), data.y, ~data.is_test)
