"""Handwritten digits from OpenML."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import sklearn.datasets
from numpy.typing import DTypeLike, NDArray
from sklearn.utils import Bunch

from lapwing.datasets._masking import group_classes


@dataclass(frozen=True)
class OpenMLSet:
    """Description of a set of digits on OpenML.

    Parameters
    ----------
    name, title : str
    data_id : int
        Number of the set on OpenML, which identifies its version.
    first_label : int
        Label of digit 0 on OpenML.
    train_counts : tuple of int
        Number of points of each digit in the official training part. OpenML does not mark that
        part; it is assumed to be the first rows if they have these counts.
    n_samples : int
    image_shape : (int, int)
        Rows and columns of an image, which is stored row by row.
    value_range : (float, float)
        Bounds of all grey values.
    dtype : {'float64', 'float32'}
        Default type of the data.
    reference : str
        Publication that describes the set.
    """

    name: str
    title: str
    data_id: int
    first_label: int
    train_counts: tuple[int, ...]
    n_samples: int
    image_shape: tuple[int, int]
    value_range: tuple[float, float]
    dtype: str
    reference: str

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the data."""
        return self.n_samples, self.image_shape[0] * self.image_shape[1]

    @property
    def source(self) -> str:
        """Name of the source."""
        return f"OpenML data set {self.data_id}"

    def describe(self) -> str:
        """Return the description of the set, `DESCR`."""
        height, width = self.image_shape
        least, most = self.value_range
        return "\n".join(
            [
                self.title,
                "",
                f"Points: {self.n_samples}, images of {height} x {width} pixels, row by row",
                f"Values: grey, from {least:g} to {most:g}",
                "Classes: the digits 0 to 9",
                f"Reference: {self.reference}",
                f"Source: {self.source}",
            ]
        )


MNIST = OpenMLSet(
    name="MNIST",
    title="MNIST: 70000 handwritten digits, training and test part",
    data_id=554,
    first_label=0,
    train_counts=(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
    n_samples=70000,
    image_shape=(28, 28),
    value_range=(0, 255),
    # float32 represents the grey values exactly, with half the memory.
    dtype="float32",
    reference="Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, Gradient-based learning applied to "
    "document recognition, 1998",
)
USPS = OpenMLSet(
    name="USPS",
    title="USPS: 9298 handwritten digits from envelopes, training and test part",
    data_id=41082,
    first_label=1,  # LIBSVM's version has the label d + 1 for digit d
    train_counts=(1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644),
    n_samples=9298,
    image_shape=(16, 16),
    value_range=(-1, 1),
    dtype="float64",
    reference="T. Hastie, R. Tibshirani and J. Friedman, The Elements of Statistical Learning, "
    "2009 (ZIP code)",
)


def load_mnist(
    *,
    data_home: str | os.PathLike[str] | None = None,
    dtype: str | None = None,
    return_X_y: bool = False,
) -> Any:
    """Load MNIST: 70000 handwritten digits of 28 x 28 pixels, the last 10000 of them the test part.

    The first call fetches the set from OpenML; scikit-learn keeps a copy.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder for scikit-learn's copy. None means scikit-learn's own data folder.
    dtype : {'float32', 'float64'}, default=None
        Type of the data. None means float32, which represents the grey values exactly.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch or tuple
        Data set with the fields

        - data : ndarray of shape (70000, 784), grey values from 0 to 255
        - target : ndarray of int64 of shape (70000,), the digits
        - target_names : ndarray of shape (10,)
        - is_test : ndarray of bool of shape (70000,), the official test part, or None if the order
          of the points is not the official one
        - image_shape : (28, 28)
        - source : str, the number on OpenML
        - DESCR : str, contents and reference

    Raises
    ------
    OSError
        If the set can neither be fetched nor read from the copy.
    ValueError
        If `dtype` is unknown, or OpenML returns another set.

    See Also
    --------
    load_mnist3vs8 : Two of the digits.
    mask_labels : Hides labels.
    """
    return _load(MNIST, data_home, dtype, return_X_y)


def load_mnist3vs8(
    *,
    data_home: str | os.PathLike[str] | None = None,
    dtype: str | None = None,
    return_X_y: bool = False,
) -> Any:
    """Load MNIST3VS8: digit 3 against digit 8, 11982 training and 1984 test points.

    The largest two-class problem of the LapSVM paper (Section 6.1), equal to
    ``group_classes(load_mnist(), [[3], [8]])``.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder for scikit-learn's copy of MNIST. None means scikit-learn's own data folder.
    dtype : {'float32', 'float64'}, default=None
        Type of the data. None means float32, which represents the grey values exactly.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch or tuple
        The fields of `load_mnist`; the target is 0 for digit 3 and 1 for digit 8.

    Raises
    ------
    OSError
        If the set can neither be fetched nor read from the copy.
    ValueError
        If `dtype` is unknown, or OpenML returns another set.
    """
    data = group_classes(_load(MNIST, data_home, dtype, False), [[3], [8]])
    return (data.data, data.target) if return_X_y else data


def load_usps(
    *,
    data_home: str | os.PathLike[str] | None = None,
    dtype: str | None = None,
    return_X_y: bool = False,
) -> Any:
    """Load USPS: 9298 handwritten digits of 16 x 16 pixels, 2007 of them the official test part.

    The first call fetches the set from OpenML; scikit-learn keeps a copy.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder for scikit-learn's copy. None means scikit-learn's own data folder.
    dtype : {'float64', 'float32'}, default=None
        Type of the data. None means float64.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch or tuple
        Data set with the fields

        - data : ndarray of shape (9298, 256), grey values from -1 to 1
        - target : ndarray of int64 of shape (9298,), the digits
        - target_names : ndarray of shape (10,)
        - is_test : ndarray of bool of shape (9298,), the official test part, or None if the order
          of the points is not the official one
        - image_shape : (16, 16)
        - source : str, the number on OpenML
        - DESCR : str, contents and reference

    Raises
    ------
    OSError
        If the set can neither be fetched nor read from the copy.
    ValueError
        If `dtype` is unknown, or OpenML returns another set.

    See Also
    --------
    group_classes : Joins or leaves out classes.
    mask_labels : Hides labels.
    """
    return _load(USPS, data_home, dtype, return_X_y)


def _load(
    known: OpenMLSet, data_home: str | os.PathLike[str] | None, dtype: str | None, return_X_y: bool
) -> Any:
    floating = _float_type(known.dtype if dtype is None else dtype)
    X, y = _fetch(known, data_home)
    _check(X, y, known)
    target = y.astype(np.int64) - known.first_label
    X = X.astype(floating, copy=False)
    if return_X_y:
        return X, target
    return Bunch(
        data=X,
        target=target,
        target_names=np.arange(10),
        is_test=_official_test(target, known),
        image_shape=known.image_shape,
        source=known.source,
        DESCR=known.describe(),
    )


def _fetch(
    known: OpenMLSet, data_home: str | os.PathLike[str] | None
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Fetch points and labels from OpenML."""
    # pandas reads these files several times faster, but lapwing does not depend on it.
    parser = "pandas" if find_spec("pandas") is not None else "liac-arff"
    try:
        found = sklearn.datasets.fetch_openml(
            data_id=known.data_id,
            as_frame=False,
            parser=parser,
            data_home=data_home,
            # Classes as numbers: scikit-learn 1.9 fails on those of pandas 3.1, where the
            # categories 1 to 10 are integers, and then deletes the copy.
            read_csv_kwargs={"dtype": known.dtype},
        )
        # liac-arff returns strings, such as '5'.
        return np.asarray(found.data), np.asarray(found.target).astype(np.float64)
    except (OSError, ValueError, LookupError) as error:  # LookupError: descriptions without a key
        raise OSError(
            f"{known.name} could not be fetched from OpenML, where it is data set {known.data_id} "
            f"({error}). Check the connection and try again. A machine without a connection can "
            "use a copy: fetch the set elsewhere, and pass that folder as data_home."
        ) from error


def _check(X: NDArray[Any], y: NDArray[np.float64], known: OpenMLSet) -> None:
    wrong = f"{known.source} is not {known.name}"
    if X.shape != known.shape or y.shape != known.shape[:1]:
        raise ValueError(
            f"{wrong}: data and target have the shapes {X.shape} and {y.shape}; the set has "
            f"{known.shape} and {known.shape[:1]}."
        )
    digits = np.unique(y) - known.first_label
    if not np.array_equal(digits, np.arange(10)):
        shown = ", ".join(f"{digit:g}" for digit in digits[:20])
        raise ValueError(f"{wrong}: the target holds {shown}; the set has the digits 0 to 9.")
    (least, most), (low, high) = known.value_range, (X.min(), X.max())
    # NaN fails this test too.
    if not least <= low <= high <= most:
        raise ValueError(
            f"{wrong}: the data go from {low:g} to {high:g}; the set is in [{least}, {most}]."
        )


def _official_test(target: NDArray[np.int64], known: OpenMLSet) -> NDArray[np.bool_] | None:
    """Return the mask of the test part; None if the first points are not the training part."""
    n_train = sum(known.train_counts)
    if tuple(np.bincount(target[:n_train], minlength=10)) != known.train_counts:
        return None
    return np.arange(known.n_samples) >= n_train


def _float_type(dtype: DTypeLike) -> np.dtype[Any]:
    with suppress(TypeError):  # of unknown types
        if np.dtype(dtype) in (np.float64, np.float32):
            return np.dtype(dtype)
    raise ValueError(f"dtype={dtype!r} must be 'float64', 'float32' or None.")
