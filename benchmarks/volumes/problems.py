"""Sets, their points as graphs see them, and labels drawn on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from benchmarks.shared.archives import read_label_sets
from benchmarks.shared.data import (
    Data,
    load_coil20,
    load_mnist,
    load_ssl,
    load_usps,
    load_uspst,
)

UNLABELED = -1
PRIORS = ("known", "unknown", "wrong")
UNSEEN = "mnist unseen"  # the official test part is not among the points of the fit
_COMPONENTS = 50


class Source(NamedTuple):
    """A set, and the numbers of labels a class that are drawn on it."""

    load: Callable[[], Data]
    per_class: tuple[int, ...]


def _digits() -> Data:
    """MNIST in fifty principal components."""
    data = load_mnist()
    reduced = PCA(_COMPONENTS, svd_solver="covariance_eigh", random_state=0)
    return data._replace(X=reduced.fit_transform(data.X / np.float32(255)))


def _digits_in_parts() -> Data:
    """The same, the components being those of the official training part."""
    data = load_mnist()
    assert data.is_test is not None
    X = data.X / np.float32(255)
    reduced = PCA(_COMPONENTS, svd_solver="covariance_eigh", random_state=0).fit(X[~data.is_test])
    return data._replace(X=reduced.transform(X))


SOURCES: Mapping[str, Source] = {
    "mnist": Source(_digits, (1, 2, 3, 4, 5)),
    UNSEEN: Source(_digits_in_parts, (1,)),
    "usps_full": Source(load_usps, (1, 5)),
    "uspst": Source(load_uspst, (1, 5)),
    "coil20": Source(load_coil20, (1, 2)),
    "digit1": Source(lambda: load_ssl("digit1"), (1, 5)),
    "usps": Source(lambda: load_ssl("usps"), (1, 10)),
    "coil2": Source(lambda: load_ssl("coil2"), (1, 10)),
    "text": Source(lambda: load_ssl("text"), (1, 10)),
}


@dataclass(frozen=True)
class Task:
    """One draw of labels."""

    source: str
    per_class: int
    draw: int


def points_of(data: Data, task: Task, most: int | None) -> NDArray[np.int64]:
    """Rows of the fit: without the official test part where that is unseen; at most so many."""
    rows = np.arange(len(data.y))
    if task.source == UNSEEN:
        assert data.is_test is not None
        rows = np.flatnonzero(~data.is_test)
    if most is not None and len(rows) > most:
        rows = np.sort(np.random.default_rng(0).permutation(rows)[:most])
    return rows


def drawn(y: NDArray[np.int64], task: Task, *, published: bool) -> NDArray[np.int64]:
    """Labels of a draw, the rest unlabelled; of all of MNIST the published sets."""
    if published:
        labeled = read_label_sets(y, task.per_class)[task.draw]
    else:
        rng = np.random.default_rng([task.draw, task.per_class])
        pools = [np.flatnonzero(y == code) for code in range(int(y.max()) + 1)]
        labeled = np.concatenate(
            [rng.choice(pool, task.per_class, replace=False) for pool in pools]
        )
    labels = np.full(len(y), UNLABELED)
    labels[labeled] = y[labeled]
    return labels


def prior_of(y: NDArray[np.int64], prior: str) -> Any:
    """What an estimator is told of the parts of the classes; None where nothing is known.

    A wrong prior is the true one times numbers from a half to one and a half, in the order of the
    classes.
    """
    if prior == "unknown":
        return None
    counts = np.bincount(y).astype(np.float64)
    return counts if prior == "known" else counts * np.linspace(0.5, 1.5, len(counts))
