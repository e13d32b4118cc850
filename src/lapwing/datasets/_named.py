"""A function for each set, so that an editor lists them. All share `load_dataset`'s options."""

from __future__ import annotations

import os
from typing import Any, TypedDict, Unpack

from lapwing.datasets._catalogue import DATASETS
from lapwing.datasets._loading import load_dataset

__all__ = [
    "load_cbcl_face",
    "load_coil20",
    "load_coil20_b",
    "load_g50c",
    "load_mnist",
    "load_mnist3vs8",
    "load_pcmac",
    "load_ssl_benchmark",
    "load_usps",
    "load_uspst",
    "load_uspst_b",
]


class Options(TypedDict, total=False):
    """Keyword parameters of `load_dataset`."""

    data_home: str | os.PathLike[str] | None
    n_labeled: int | None
    dtype: str | None
    return_X_y: bool
    download_if_missing: bool


def load_g50c(**options: Unpack[Options]) -> Any:
    """Load G50C: two Gaussian classes, 550 points in 50 dimensions, 10 splits of 50 labels.

    Parameters
    ----------
    **options
        `data_home`, `dtype`, `return_X_y` and the other keyword parameters of `load_dataset`.

    Returns
    -------
    Bunch or tuple
        See `load_dataset`.
    """
    return load_dataset("g50c", **options)


def load_uspst(**options: Unpack[Options]) -> Any:
    """Load USPST: 2007 handwritten digits of 16 x 16 pixels, 10 splits of 50 labels.

    Its numbers of points of each digit are not those of the test part of `load_usps`.

    Parameters
    ----------
    **options
        `data_home`, `dtype`, `return_X_y` and the other keyword parameters of `load_dataset`.

    Returns
    -------
    Bunch or tuple
        See `load_dataset`.
    """
    return load_dataset("uspst", **options)


def load_uspst_b(**options: Unpack[Options]) -> Any:
    """Load USPST(B): the digits 0 to 4 of USPST against 5 to 9.

    Parameters
    ----------
    **options
        `data_home`, `dtype`, `return_X_y` and the other keyword parameters of `load_dataset`.

    Returns
    -------
    Bunch or tuple
        See `load_dataset`.
    """
    return load_dataset("uspst_b", **options)


def load_pcmac(**options: Unpack[Options]) -> Any:
    """Load PCMAC (also called Text): 1946 newsgroup posts, sparse, 10 splits of 50 labels.

    Parameters
    ----------
    **options
        `data_home`, `dtype`, `return_X_y` and the other keyword parameters of `load_dataset`.

    Returns
    -------
    Bunch or tuple
        See `load_dataset`.
    """
    return load_dataset("pcmac", **options)


def load_coil20(**options: Unpack[Options]) -> Any:
    """Load COIL20: 72 views each of 20 objects, 32 x 32 pixels. There are no published splits.

    Parameters
    ----------
    **options
        `data_home`, `dtype`, `return_X_y` and the other keyword parameters of `load_dataset`.

    Returns
    -------
    Bunch or tuple
        See `load_dataset`.
    """
    return load_dataset("coil20", **options)


def load_coil20_b(**options: Unpack[Options]) -> Any:
    """Load COIL20(B): the first ten objects of COIL20 against the last ten.

    Parameters
    ----------
    **options
        `data_home`, `dtype`, `return_X_y` and the other keyword parameters of `load_dataset`.

    Returns
    -------
    Bunch or tuple
        See `load_dataset`.
    """
    return load_dataset("coil20_b", **options)


def load_usps(**options: Unpack[Options]) -> Any:
    """Load USPS: 9298 handwritten digits of 16 x 16 pixels, 2007 of them the official test part.

    Parameters
    ----------
    **options
        `data_home`, `dtype`, `return_X_y` and the other keyword parameters of `load_dataset`.

    Returns
    -------
    Bunch or tuple
        See `load_dataset`.
    """
    return load_dataset("usps", **options)


def load_mnist(**options: Unpack[Options]) -> Any:
    """Load MNIST: 70000 handwritten digits of 28 x 28 pixels, the last 10000 the test part.

    Parameters
    ----------
    **options
        `data_home`, `dtype`, `return_X_y` and the other keyword parameters of `load_dataset`.

    Returns
    -------
    Bunch or tuple
        See `load_dataset`.
    """
    return load_dataset("mnist", **options)


def load_mnist3vs8(**options: Unpack[Options]) -> Any:
    """Load MNIST3VS8: digit 3 against digit 8, 11982 training and 1984 test points.

    Parameters
    ----------
    **options
        `data_home`, `dtype`, `return_X_y` and the other keyword parameters of `load_dataset`.

    Returns
    -------
    Bunch or tuple
        See `load_dataset`.
    """
    return load_dataset("mnist3vs8", **options)


def load_cbcl_face(**options: Unpack[Options]) -> Any:
    """Load the CBCL faces (FACEMIT): 31021 images of 19 x 19 pixels, 2901 of them faces.

    Whoever uses it is asked to cite "CBCL Face Database #1, MIT Center For Biological and
    Computation Learning". The LapSVM paper trains on what `is_test` marks and tests on the rest.

    Parameters
    ----------
    **options
        `data_home`, `dtype`, `return_X_y` and the other keyword parameters of `load_dataset`.

    Returns
    -------
    Bunch or tuple
        See `load_dataset`.
    """
    return load_dataset("cbcl_face", **options)


def load_ssl_benchmark(name: str, **options: Unpack[Options]) -> Any:
    """Load a set of the benchmark of the book *Semi-Supervised Learning* (2006).

    Each has 1500 points in two classes, 12 splits of 10 labels and 12 of 100; ``n_labeled=100``
    chooses the latter.

    Parameters
    ----------
    name : {'digit1', 'usps', 'coil2', 'g241c', 'g241n', 'text'}
        The set. The book calls g241n g241d, which is understood too.
    **options
        `data_home`, `dtype`, `return_X_y` and the other keyword parameters of `load_dataset`.

    Returns
    -------
    Bunch or tuple
        See `load_dataset`.

    Raises
    ------
    ValueError
        If there is no such set.
    """
    key = f"ssl_{'g241n' if name == 'g241d' else name}"
    if key not in DATASETS:
        known = ", ".join(key.removeprefix("ssl_") for key in DATASETS if key.startswith("ssl_"))
        raise ValueError(f"name={name!r} is no set of the benchmark; there are {known}.")
    return load_dataset(key, **options)
