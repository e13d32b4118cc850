"""Nearest neighbours by faiss: exact by a flat scan, approximate by inverted lists.

faiss works in float32. Its answers are candidates, a few more than are needed; lengths are then
computed in the precision of the points, and where float32 cannot have told the neighbours from the
rest, the point is searched again by scikit-learn. So the flat search is exact whatever the data.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import joblib
import numpy as np
from sklearn.utils import check_random_state

from lapwing._arrays import Array, row_blocks
from lapwing._host.optional import require
from lapwing._host.warn import warn
from lapwing.exceptions import LowRecallWarning
from lapwing.graphs.points import DIFFERENCE_BYTES, SPARE, Points
from lapwing.graphs.search import Neighbors, brute_force
from lapwing.graphs.ties import Nearest, complete

__all__ = ["faiss_approximate", "faiss_exact", "load_faiss", "tuned_lists"]

_LOGGER = logging.getLogger("lapwing")

# Relative error of a squared length up to which two candidates may be taken for one another.
_TIE = 1e-4
_SAMPLE = 512  # points on which recall is measured: standard error below 0.005 at k = 10, 0.95
# Multiplications and additions of a search by lists, some three minutes of two cores; and the
# recall below which it is told that this was not enough.
_LIST_OPERATIONS = 1e13
_LOW_RECALL = 0.8
_LIST_SIZE = 39  # points a list below which faiss writes a warning to the terminal


def load_faiss(purpose: str) -> Any:
    """Import faiss, or raise an ImportError that names the extra."""
    return require("faiss", extra="ann", purpose=purpose)


def faiss_exact(faiss: Any, points: Points, k: int, n_jobs: int | None) -> Neighbors:
    """Search the k < n nearest other points of each point exactly, by a flat scan.

    Parameters
    ----------
    faiss : module
        From `load_faiss`.
    points : Points
        Dense.
    k : int
        Neighbours of each point.
    n_jobs : int or None
        Threads; None leaves it to faiss (OMP_NUM_THREADS, or all cores).
    """
    scaled = _Scaled(points)
    gathered = _Gathered(points.n, k)
    unsure = np.zeros(points.n, dtype=bool)
    with _threads(faiss, n_jobs):
        index = faiss.IndexFlatL2(points.search.shape[1])
        for block in scaled.blocks():
            index.add(scaled[block])
        for block in scaled.blocks():
            rows = np.arange(block.start, block.stop)
            squared, candidates = scaled.search(index, rows, k)
            nearest = points.nearest(rows, candidates, k)
            gathered.add(rows, nearest)
            if candidates.shape[1] < points.n:
                error = np.abs(squared - points.lengths(rows, candidates) ** 2).max(axis=1)
                # No point that is not a candidate is closer than this, the rounding seen on the
                # candidates taken as a measure (four times over) of the rounding of the others.
                frontier = squared[:, -1] - 4 * error
                unsure[block] = frontier < (1 - _TIE) * nearest.lengths[:, -1] ** 2
    again = np.flatnonzero(unsure)
    if len(again):
        _LOGGER.debug("%d points searched again: float32 is too coarse for them.", len(again))
        gathered.replace(again, brute_force(points, again, k))
    found = complete(points, gathered.all(), k)
    return Neighbors(points.distances(found.lengths), found.indices, 1.0, "faiss", found.tied)


def faiss_approximate(
    faiss: Any,
    points: Points,
    k: int,
    n_jobs: int | None,
    target_recall: float,
    random_state: Any,
) -> Neighbors:
    """Search most of the k < n nearest other points of each point, by inverted lists.

    The points are sorted into about 4 sqrt(n) lists by k-means. A search reads the least number of
    lists, within an eighth, with which the recall on a random sample of points, measured against
    an exact search, is at least `target_recall`; or as many as it can in some minutes.

    Parameters
    ----------
    faiss : module
        From `load_faiss`.
    points : Points
        Dense.
    k : int
        Neighbours of each point.
    n_jobs : int or None
        As for `faiss_exact`.
    target_recall : float
        In (0, 1].
    random_state : int, RandomState or None
        For the k-means and the sample.
    """
    rng = check_random_state(random_state)
    scaled = _Scaled(points)
    sample = np.sort(rng.choice(points.n, min(_SAMPLE, points.n), replace=False))
    with _threads(faiss, n_jobs):
        index = _inverted_lists(faiss, scaled, rng)
        recall = _raise_recall(index, scaled, sample, k, target_recall)
        gathered = _Gathered(points.n, k)
        for block in scaled.blocks():
            rows = np.arange(block.start, block.stop)
            gathered.add(rows, points.nearest(rows, scaled.search(index, rows, k)[1], k))
    # The lists that were read held too few points.
    short = np.flatnonzero(np.isinf(gathered.lengths[:, -1]))
    if len(short):
        gathered.replace(short, brute_force(points, short, k))
    found = gathered.all()  # ties beyond the candidates are left, as other neighbours are
    return Neighbors(points.distances(found.lengths), found.indices, recall, "faiss", found.tied)


def tuned_lists(
    faiss: Any, points: Points, k: int, target_recall: float, rng: np.random.RandomState
) -> tuple[Any, float]:
    """Inverted lists of points that read as many as the recall takes, and what to divide by.

    Parameters
    ----------
    faiss : module
        From `load_faiss`.
    points : Points
        Dense.
    k : int
        Neighbours of each point.
    target_recall : float
        In (0, 1].
    rng : RandomState

    Returns
    -------
    index : faiss.Index
    scale : float
        Of points that are asked for: centred, and in float32.
    """
    scaled = _Scaled(points)
    sample = np.sort(rng.choice(points.n, min(_SAMPLE, points.n), replace=False))
    index = _inverted_lists(faiss, scaled, rng)
    _raise_recall(index, scaled, sample, k, target_recall)
    return index, scaled.scale


class _Gathered:
    """What was found for blocks of rows."""

    def __init__(self, n: int, k: int) -> None:
        self.lengths, self.indices = np.empty((n, k)), np.empty((n, k), dtype=np.int64)
        self.tied = [np.empty((0, 2), dtype=np.int64)]
        self.open = np.zeros(n, dtype=bool)

    def add(self, rows: Array, found: Nearest) -> None:
        self.lengths[rows], self.indices[rows] = found.lengths, found.indices
        self.tied.append(found.tied)
        self.open[rows] = False
        self.open[found.open] = True

    def replace(self, rows: Array, found: Nearest) -> None:
        self.tied = [pairs[~np.isin(pairs[:, 0], rows)] for pairs in self.tied]
        self.add(rows, found)

    def all(self) -> Nearest:
        tied = np.concatenate(self.tied)
        return Nearest(self.lengths, self.indices, tied, np.flatnonzero(self.open))


class _Scaled:
    """Points as faiss takes them: float32 in [-1, 1], so that no square overflows."""

    def __init__(self, points: Points) -> None:
        self.points = points
        self.scale = float(max(points.search.max(), -points.search.min())) or 1.0

    def __getitem__(self, rows: Any) -> Array:
        return np.ascontiguousarray(self.points.search[rows] / self.scale, dtype=np.float32)

    def blocks(self) -> Iterator[slice]:
        return row_blocks(self.points.n, self.points.search.shape[1] * 8, DIFFERENCE_BYTES)

    def search(self, index: Any, rows: Array, k: int) -> tuple[Array, Array]:
        """Squared lengths and indices of the candidates for some points."""
        squared, candidates = index.search(self[rows], min(self.points.n, k + 1 + SPARE))
        return squared.astype(np.float64) * self.scale**2, candidates


def _inverted_lists(faiss: Any, scaled: _Scaled, rng: np.random.RandomState) -> Any:
    n, d = scaled.points.search.shape
    n_lists = max(1, min(int(4 * n**0.5), n // _LIST_SIZE))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, n_lists)
    index.cp.seed = int(rng.randint(2**31 - 1))
    # Twice what faiss asks for, and not everything: lists need to be even, not optimal.
    index.train(scaled[np.sort(rng.choice(n, min(n, 2 * _LIST_SIZE * n_lists), replace=False))])
    for block in scaled.blocks():
        index.add(scaled[block])
    return index


def _raise_recall(
    index: Any, scaled: _Scaled, sample: Array, k: int, target_recall: float
) -> float:
    """Let a search read the lists that the recall takes; return the recall."""
    points = scaled.points
    truth = brute_force(points, sample, k).lengths[:, -1:] * (1 + _TIE / 2)  # a tie is as good

    def recall_of(n_read: int) -> float:
        index.nprobe = n_read
        lengths = points.nearest(sample, scaled.search(index, sample, k)[1], k).lengths
        return float((lengths <= truth).mean())

    n_read, recall = _fewest(recall_of, target_recall, _affordable(index, points))
    index.nprobe = n_read
    text = "Approximate neighbours: recall %.4f (asked: %g) reading %d of %d lists."
    level = logging.INFO if recall >= target_recall else logging.WARNING
    _LOGGER.log(level, text, recall, target_recall, n_read, index.nlist)
    if recall < min(target_recall, _LOW_RECALL):
        warn(
            f"The search finds {recall:.0%} of the nearest neighbours of {points.n} points: more "
            "would take many minutes. Reduce the features first, e.g. "
            "KNNGraph(n_components=30), or use an estimator that searches no neighbours "
            "(AnchorGraphClassifier, EigenfunctionClassifier).",
            LowRecallWarning,
        )
    return recall


def _affordable(index: Any, points: Points) -> int:
    """The lists that a search can read in some minutes: one at the least."""
    n, d = points.search.shape
    return int(np.clip(_LIST_OPERATIONS * index.nlist / (2.0 * n * n * d), 1, index.nlist))


def _fewest(
    recall_of: Callable[[int], float], target_recall: float, most: int
) -> tuple[int, float]:
    """The number of lists that reaches the recall, within an eighth, and its recall.

    Doubled first, then halved between: doubling alone reads up to twice too many, and reading is
    all that a search costs.
    """
    below, n_read = 0, 1
    recall = recall_of(n_read)
    while recall < target_recall and n_read < most:
        below, n_read = n_read, min(2 * n_read, most)
        recall = recall_of(n_read)
    while recall >= target_recall and n_read - below > max(1, n_read // 8):
        middle = (below + n_read) // 2
        between = recall_of(middle)
        if between >= target_recall:
            n_read, recall = middle, between
        else:
            below = middle
    return n_read, recall


@contextmanager
def _threads(faiss: Any, n_jobs: int | None) -> Iterator[None]:
    """Limit faiss to n_jobs threads for the time of a search."""
    before = faiss.omp_get_max_threads()
    if n_jobs is not None:
        faiss.omp_set_num_threads(int(joblib.effective_n_jobs(n_jobs)))
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
