"""Data sets with the points for their graphs, and draws of labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from benchmarks.shared.archives import read_label_sets
from benchmarks.shared.data import SETS, Data
from benchmarks.shared.labels import draw_per_class
from lapwing.datasets import mask_labels

PRIORS = ("known", "unknown", "wrong")
UNSEEN = "mnist unseen"  # the points of the official test part are not used in the fit
_COMPONENTS = 50
_THINNED = 10


class Source(NamedTuple):
    """Data set with the numbers of labels per class of its draws.

    Attributes
    ----------
    load : callable
    per_class : tuple of int
    at_random : bool
        Whether labelled rows are drawn at random, at least one of each class. Then `per_class` is
        the mean number of labels; otherwise it is the number of labels of every class.
    """

    load: Callable[[], Data]
    per_class: tuple[int, ...]
    at_random: bool = False


def _digits(*, unseen: bool = False) -> Data:
    """Load MNIST, reduced to fifty principal components: of all points, or of the training part."""
    data = SETS["mnist"]()
    assert data.is_test is not None
    X = data.X / np.float32(255)
    reduced = PCA(_COMPONENTS, svd_solver="covariance_eigh", random_state=0)
    if unseen:
        return data._replace(X=reduced.fit(X[~data.is_test]).transform(X))
    return data._replace(X=reduced.fit_transform(X))


def _thinned(load: Callable[[], Data]) -> Data:
    """Load a set with a fixed tenth of the rows of every second class."""
    data = load()
    rng = np.random.default_rng(0)
    pools = [np.flatnonzero(data.y == code) for code in range(int(data.y.max()) + 1)]
    for code in range(1, len(pools), 2):
        pools[code] = rng.choice(pools[code], len(pools[code]) // _THINNED, replace=False)
    rows = np.sort(np.concatenate(pools))
    return Data(data.X[rows], data.y[rows])


_thin_uspst, _thin_usps, _thin_digits = (
    partial(_thinned, load) for load in (SETS["uspst"], SETS["usps_full"], _digits)
)


SOURCES: Mapping[str, Source] = {
    "mnist": Source(_digits, (1, 2, 3, 4, 5)),
    UNSEEN: Source(partial(_digits, unseen=True), (1,)),
    **{name: Source(SETS[name], (1, 5)) for name in ("usps_full", "uspst")},
    "coil20": Source(SETS["coil20"], (1, 2)),
    "digit1": Source(SETS["digit1"], (1, 5)),
    **{name: Source(SETS[name], (1, 10)) for name in ("usps", "coil2", "text")},
    "uspst 10:1": Source(_thin_uspst, (1, 5)),
    "usps_full 10:1": Source(_thin_usps, (1, 5)),
    "mnist 10:1": Source(_thin_digits, (1, 5)),
    "uspst 10:1 at random": Source(_thin_uspst, (5,), at_random=True),
    "usps_full 10:1 at random": Source(_thin_usps, (5,), at_random=True),
    "usps at random": Source(SETS["usps"], (5, 50), at_random=True),
}


@dataclass(frozen=True)
class Task:
    """Draw of labels on a set."""

    source: str
    per_class: int
    draw: int


def points_of(data: Data, task: Task, most: int | None) -> NDArray[np.int64]:
    """Return at most `most` rows for the fit, without the official test part if it is unseen."""
    rows = np.arange(len(data.y))
    if task.source == UNSEEN:
        assert data.is_test is not None
        rows = np.flatnonzero(~data.is_test)
    if most is not None and len(rows) > most:
        rows = np.sort(np.random.default_rng(0).permutation(rows)[:most])
    return rows


def drawn(y: NDArray[np.int64], task: Task, *, published: bool) -> NDArray[np.int64]:
    """Return the labels of a draw; `published` are the published draws for the whole of MNIST."""
    if published:
        labeled = read_label_sets(y, task.per_class)[task.draw]
    else:
        at_random = task.source in SOURCES and SOURCES[task.source].at_random
        draw = _drawn_at_random if at_random else draw_per_class
        labeled = draw(y, task.per_class, np.random.default_rng([task.draw, task.per_class]))
    return mask_labels(y, labeled_indices=labeled)


def _drawn_at_random(
    y: NDArray[np.int64], per_class: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw one row of each class, and the remaining rows from all classes."""
    order = rng.permutation(len(y))
    _, first = np.unique(y[order], return_index=True)
    one_each = order[first]
    others = order[~np.isin(order, one_each)]
    return np.concatenate([one_each, others])[: per_class * len(one_each)]


def prior_of(y: NDArray[np.int64], prior: str) -> Any:
    """Return the class prior for an estimator, None if it is unknown.

    A wrong prior is the true prior times factors that increase from 0.5 to 1.5 with the class code.
    """
    if prior == "unknown":
        return None
    counts = np.bincount(y).astype(np.float64)
    if prior == "wrong":
        counts *= np.linspace(0.5, 1.5, len(counts))
    return counts / counts.sum()
