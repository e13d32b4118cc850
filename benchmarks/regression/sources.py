"""The sets: one that comes with scikit-learn, and four that it makes up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import (
    load_diabetes,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_swiss_roll,
)

Array = NDArray[np.float64]
Source = Callable[[int], tuple[Array, Array]]


def standardised(values: Array) -> Array:
    """Columns of mean 0 and deviation 1."""
    return (values - values.mean(axis=0)) / values.std(axis=0)


def diabetes(most: int) -> tuple[Array, Array]:
    """All patients, or always the same sample of so many."""
    X, y = load_diabetes(return_X_y=True)
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
    return standardised(X[rows]), standardised(y[rows])


def made_up(make: Callable[..., tuple[Array, Array]], noise: float, most: int) -> Any:
    """So many rows, always the same."""
    X, y = make(n_samples=most, noise=noise, random_state=0)
    return standardised(X), standardised(y)


# Targets are standardised too: errors are parts of their deviation, and the mean's is 1.
SOURCES: Mapping[str, Source] = {
    "diabetes": diabetes,
    "friedman1": partial(made_up, make_friedman1, 1.0),
    "friedman2": partial(made_up, make_friedman2, 50.0),
    "friedman3": partial(made_up, make_friedman3, 0.05),
    "swiss roll": partial(made_up, make_swiss_roll, 0.05),
}
