"""Data sets, and draws of labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.data import SETS, Data
from lapwing.datasets import mask_labels

LABELS_PER_CLASS = (1, 3, 10)
DRAWINGS = ("equal", "random")  # equal numbers of labels per class, or random rows


class Source(NamedTuple):
    """Data set, and its origin; constants for it must not be fitted to sets of the same origin."""

    load: Callable[[], Data]
    origin: str


def _grouped(name: str, first: int) -> Data:
    """Load a set with its classes in two groups: the first ones and the others."""
    data = SETS[name]()
    return data._replace(y=(data.y >= first).astype(np.int64))


def _some(name: str, *classes: int) -> Data:
    """Load some classes of a set."""
    data = SETS[name]()
    rows = np.flatnonzero(np.isin(data.y, classes))
    return data._replace(X=data.X[rows], y=np.searchsorted(classes, data.y[rows]))


# The first ten are reported; the others are for the constants, which need many kinds of sets.
SOURCES: Mapping[str, Source] = {
    **{name: Source(SETS[name], name) for name in ("g50c", "pcmac")},
    "uspst": Source(SETS["uspst"], "usps digits"),
    **{
        name: Source(SETS[name], name)
        for name in ("coil20", "digit1", "usps", "coil2", "g241c", "g241d", "text")
    },
    "uspst(b)": Source(partial(_grouped, "uspst", 5), "usps digits"),
    "coil20(b)": Source(partial(_grouped, "coil20", 10), "coil20"),
    "usps 4, 9": Source(partial(_some, "usps_full", 4, 9), "usps digits"),
    "mnist3vs8": Source(SETS["mnist3vs8"], "mnist"),
    "mnist 3, 5, 8, 9": Source(partial(_some, "mnist", 3, 5, 8, 9), "mnist"),
    "faces": Source(SETS["faces"], "faces"),
    "coil20, six": Source(partial(_some, "coil20", 0, 2, 5, 8, 9, 13), "coil20"),
    "usps, six": Source(partial(_some, "usps_full", 2, 3, 4, 5, 8, 9), "usps digits"),
    "mnist, six": Source(partial(_some, "mnist", 0, 3, 5, 6, 8, 9), "mnist"),
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
