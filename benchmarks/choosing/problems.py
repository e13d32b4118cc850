"""Data sets, and draws of labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.data import (
    Data,
    load_coil20,
    load_facemit,
    load_g50c,
    load_mnist,
    load_mnist3vs8,
    load_pcmac,
    load_ssl,
    load_usps,
    load_uspst,
)
from lapwing.datasets import mask_labels

LABELS_PER_CLASS = (1, 3, 10)
DRAWINGS = ("equal", "random")  # equal numbers of labels per class, or random rows


class Source(NamedTuple):
    """Data set, and its origin; constants for it must not be fitted to sets of the same origin."""

    load: Callable[[], Data]
    origin: str


def _grouped(load: Callable[[], Data], first: int) -> Callable[[], Data]:
    """Group the classes of a set into two: the first ones against the others."""

    def loaded() -> Data:
        data = load()
        return data._replace(y=(data.y >= first).astype(np.int64))

    return loaded


def _some(load: Callable[[], Data], classes: tuple[int, ...]) -> Callable[[], Data]:
    """Select some classes of a set."""

    def loaded() -> Data:
        data = load()
        rows = np.flatnonzero(np.isin(data.y, classes))
        return data._replace(X=data.X[rows], y=np.searchsorted(classes, data.y[rows]))

    return loaded


# The first ten are reported; the others are for the constants, which need many kinds of sets.
SOURCES: Mapping[str, Source] = {
    "g50c": Source(load_g50c, "g50c"),
    "pcmac": Source(load_pcmac, "pcmac"),
    "uspst": Source(load_uspst, "usps digits"),
    "coil20": Source(load_coil20, "coil20"),
    "digit1": Source(lambda: load_ssl("digit1"), "digit1"),
    "usps": Source(lambda: load_ssl("usps"), "usps"),
    "coil2": Source(lambda: load_ssl("coil2"), "coil2"),
    "g241c": Source(lambda: load_ssl("g241c"), "g241c"),
    "g241d": Source(lambda: load_ssl("g241d"), "g241d"),
    "text": Source(lambda: load_ssl("text"), "text"),
    "uspst(b)": Source(_grouped(load_uspst, 5), "usps digits"),
    "coil20(b)": Source(_grouped(load_coil20, 10), "coil20"),
    "usps 4, 9": Source(_some(load_usps, (4, 9)), "usps digits"),
    "mnist3vs8": Source(load_mnist3vs8, "mnist"),
    "mnist 3, 5, 8, 9": Source(_some(load_mnist, (3, 5, 8, 9)), "mnist"),
    "faces": Source(load_facemit, "faces"),
    "coil20, six": Source(_some(load_coil20, (0, 2, 5, 8, 9, 13)), "coil20"),
    "usps, six": Source(_some(load_usps, (2, 3, 4, 5, 8, 9)), "usps digits"),
    "mnist, six": Source(_some(load_mnist, (0, 3, 5, 6, 8, 9)), "mnist"),
}


@dataclass(frozen=True)
class Task:
    """Draw of labels on a draw of points."""

    source: str
    per_class: int
    drawing: str
    draw: int


@dataclass(frozen=True, eq=False)
class Drawn:
    """Points, true classes and labels of a task."""

    data: Data
    y: NDArray[np.int64]


def tasks(source: str, n_draws: int, first: int = 0) -> list[Task]:
    """Return all tasks of a set; with one label per class, random draws have equal numbers too."""
    return [
        Task(source, per_class, drawing, draw)
        for draw in range(first, first + n_draws)
        for per_class in LABELS_PER_CLASS
        for drawing in DRAWINGS
        if not (per_class == 1 and drawing == "random")
    ]


def draw(data: Data, task: Task, size: int, seed: int) -> Drawn:
    """Draw the points and labels of a task, with at least one label of each class."""
    rng = np.random.default_rng([seed, task.draw])
    rows = rng.permutation(len(data.y))[:size]
    data = Data(data.X[rows], data.y[rows])
    pools = [np.flatnonzero(data.y == code) for code in range(int(data.y.max()) + 1)]
    if task.drawing == "equal":
        labeled = np.concatenate([rng.permutation(pool)[: task.per_class] for pool in pools])
    else:
        labeled = rng.choice(len(data.y), task.per_class * len(pools), replace=False)
        missing = [pool for pool in pools if not np.isin(pool, labeled).any()]
        labeled = np.concatenate([labeled, *(rng.choice(pool, 1) for pool in missing)])
    return Drawn(data, mask_labels(data.y, labeled_indices=labeled))
