"""Loading of the papers' sets: an archive, or OpenML, or an error that says what to do."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from lapwing.datasets import _openml
from lapwing.datasets._archives import (
    HOME_VARIABLE,
    RawDataset,
    check_arrays,
    data_folder,
    read_archive,
)
from lapwing.datasets._catalogue import DATASETS, DERIVED
from lapwing.datasets._grouping import group_classes
from lapwing.datasets._masking import check_count
from lapwing.datasets._records import DatasetRecord

__all__ = ["load_dataset", "load_mnist_label_sets"]

_LABEL_SETS = "labelperm_MNIST.npz"


def load_dataset(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    n_labeled: int | None = None,
    dtype: str | None = None,
    return_X_y: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load a data set of the papers with all its labels and its published splits.

    Parameters
    ----------
    name : str
        A name in `DATASETS`, or a problem of the LapSVM paper that joins or leaves out classes of
        one: ``'uspst_b'``, ``'coil20_b'``, ``'mnist3vs8'``.
    data_home : path-like, default=None
        Folder of the archives. None means the one that the environment variable
        ``LAPWING_DATA_HOME`` names, if it is set.
    n_labeled : int, default=None
        Which published splits to return, by their number of labelled points. None means the first
        kind there is: 10 for the ``ssl_`` sets, which also have 100, and 50 for the others.
    dtype : {'float64', 'float32'}, default=None
        Type of the data. None means float32 for MNIST and the CBCL faces, whose grey values it
        holds exactly, and float64 for all others.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    download_if_missing : bool, default=True
        Whether to fetch MNIST and USPS from OpenML when there is no archive; scikit-learn keeps
        the download in its own data folder. OpenML has no label sets and marks no test part:
        `is_test` is given only if the classes of the first rows are as many as in the official
        training part.

    Returns
    -------
    Bunch or tuple
        The set, with the fields

        - data : ndarray or csr_array of shape (n_samples, n_features)
        - target : ndarray of int64 of shape (n_samples,), the classes as 0, 1, ... in the order of
          `target_names`. So -1 marks unlabelled points and is no label, though several files have
          the labels -1 and 1.
        - target_names : ndarray of shape (n_classes,), the labels of the original file
        - splits : tuple of int64 ndarrays, the labelled points of every published split (empty if
          there is none); ``mask_labels(target, labeled_indices=splits[0])`` hides all others
        - is_test : ndarray of bool of shape (n_samples,), the official test part, or None
        - image_shape : (rows, columns) of an image, or None
        - source : str, the archive or the number on OpenML
        - DESCR : str, contents, reference, home and terms of use

    Raises
    ------
    FileNotFoundError
        If the folder does not exist, or the set is neither in it nor to be had from OpenML.
    ValueError
        If a name or a parameter is unknown, or the file is damaged or another set.

    Examples
    --------
    >>> from lapwing.datasets import load_dataset, mask_labels
    >>> g50c = load_dataset("g50c")  # doctest: +SKIP
    >>> y = mask_labels(g50c.target, labeled_indices=g50c.splits[0])  # doctest: +SKIP
    """
    derived = DERIVED.get(name)
    record = DATASETS.get(name if derived is None else derived.base)
    if record is None:
        known = ", ".join([*DATASETS, *DERIVED])
        raise ValueError(f"name={name!r} is no data set; there are {known}.")
    count = _split_size(record, n_labeled)
    floating = _float_type(record.dtype if dtype is None else dtype)
    raw = _find(record, data_home, download_if_missing)
    data = _bunch(raw, record, count)
    if derived is not None:
        data = group_classes(data, derived.groups)
        data.DESCR = f"{derived.title}\n\nMade of: {data.DESCR}"
    # Last, so that MNIST3VS8 never has the floats of all ten digits in memory.
    data.data = _floats(data.data, raw.scale, floating)
    return (data.data, data.target) if return_X_y else data


def load_mnist_label_sets(
    n_labeled_per_class: int = 1, *, data_home: str | os.PathLike[str] | None = None
) -> tuple[NDArray[np.int64], ...]:
    """Load the published sets of labelled MNIST points with few labels a class.

    J. Calder, B. Cook, M. Thorpe and D. Slepčev (Poisson learning, 2020) evaluate on 100 sets each
    with 1, 2, 3, 4 and 5 labels a class.

    Parameters
    ----------
    n_labeled_per_class : int, default=1
        Number of labels a class, from 1 to 5.
    data_home : path-like, default=None
        Folder of the archive ``labelperm_MNIST.npz``; as in `load_dataset`.

    Returns
    -------
    tuple of ndarray of int64
        The 100 sets: rows of ``load_mnist().data``, ten times `n_labeled_per_class` in each.

    Raises
    ------
    FileNotFoundError
        If the folder or the archive does not exist.
    ValueError
        If there are no sets of this size, or the file is damaged.
    """
    count = check_count("n_labeled_per_class", n_labeled_per_class)
    folder = data_folder(data_home)
    path = None if folder is None else folder / _LABEL_SETS
    if path is None or not path.exists():
        home = "https://github.com/jwcalder/GraphLearning (LabelPermutations)"
        raise FileNotFoundError(_missing(_LABEL_SETS, ("idx", "offsets", "y"), home, folder))
    sets = _label_sets(path)
    if count not in sets:
        sizes = ", ".join(map(str, sorted(sets)))
        raise ValueError(f"n_labeled_per_class={count}: there are sets of {sizes} labels a class.")
    return tuple(sets[count])


def _label_sets(path: Path) -> dict[int, list[NDArray[np.int64]]]:
    """The label sets of the archive, by their number of labels a class."""
    arrays = read_archive(path, ("idx", "offsets", "y"))
    try:
        y, offsets = arrays["y"], arrays["offsets"]
        rows = arrays["idx"].astype(np.int64)
        if offsets[0] != 0 or offsets[-1] != rows.size or rows.min() < 0:
            raise ValueError("idx and offsets do not fit")
        sets: dict[int, list[NDArray[np.int64]]] = {}
        for chosen in np.split(rows, offsets[1:-1]):
            counts = np.bincount(y[chosen], minlength=10)
            if counts.size != 10 or np.ptp(counts) or np.unique(chosen).size != chosen.size:
                raise ValueError("a set has not the same number of distinct points of every digit")
            sets.setdefault(int(counts[0]), []).append(chosen)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{path} does not hold label sets of MNIST: {error}.") from error
    return sets


def _split_size(record: DatasetRecord, n_labeled: int | None) -> int | None:
    sizes = [count for count, _ in record.splits]
    if n_labeled is None:
        return sizes[0] if sizes else None
    if n_labeled not in sizes:
        have = f"splits of {' or '.join(map(str, sizes))} points" if sizes else "no published split"
        raise ValueError(
            f"n_labeled={n_labeled!r}: {record.name} has {have}; mask_labels draws other ones."
        )
    return n_labeled


def _find(
    record: DatasetRecord, data_home: str | os.PathLike[str] | None, download: bool
) -> RawDataset:
    folder = data_folder(data_home)
    if folder is not None and (folder / record.archive).exists():
        path = folder / record.archive
        return check_arrays(read_archive(path, record.keys, ("x_scale",)), record, str(path))
    if record.openml is not None and download:
        try:
            arrays = _openml.fetch(record.openml)
        except (OSError, ValueError) as error:
            raise FileNotFoundError(
                _missing(record.archive, record.keys, record.home, folder)
                + f" OpenML, which has the set as number {record.openml.data_id}, could not be "
                f"used: {error}"
            ) from error
        return check_arrays(arrays, record, f"OpenML data set {record.openml.data_id}")
    text = _missing(record.archive, record.keys, record.home, folder)
    if record.openml is not None:
        text += f" Or let OpenML's copy be fetched: download_if_missing={download} forbids it."
    raise FileNotFoundError(text)


def _missing(file: str, keys: tuple[str, ...], home: str, folder: Path | None) -> str:
    if folder is None:
        where = f"data_home is not given and {HOME_VARIABLE} is not set"
    else:
        where = f"it is not in {folder}"
    return (
        f"the data archive {file} is missing: {where}. Get the set from {home}, save it with "
        f"numpy.savez_compressed as {file} with the arrays {', '.join(keys)} (see "
        f"help(lapwing.datasets)), and name its folder by data_home or {HOME_VARIABLE}."
    )


def _bunch(raw: RawDataset, record: DatasetRecord, count: int | None) -> Bunch:
    return Bunch(
        data=raw.X,
        target=raw.target,
        target_names=np.array(record.labels),
        splits=() if count is None else raw.splits.get(count, ()),
        is_test=raw.is_test,
        image_shape=record.image_shape,
        source=raw.source,
        DESCR=record.describe(),
    )


def _float_type(dtype: Any) -> np.dtype[Any]:
    for known in (np.dtype(np.float64), np.dtype(np.float32)):
        with suppress(TypeError):  # what np.dtype does not understand
            if np.dtype(dtype) == known:
                return known
    raise ValueError(f"dtype={dtype!r} must be 'float64', 'float32' or None.")


def _floats(X: Any, scale: float, dtype: np.dtype[Any]) -> Any:
    if scale == 1:
        return X.astype(dtype, copy=False)
    # Scaled in double precision first: the nearest float32 to 0.631 is not that of 631 times 0.001.
    return (X.astype(np.float64) * scale).astype(dtype, copy=False)
