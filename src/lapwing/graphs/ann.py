"""Nearest neighbours by faiss: exact by a flat scan, approximate by inverted lists.

faiss works in float32. It returns a few more candidates than needed, whose lengths are computed in
the precision of the points. If float32 may have missed a neighbour, the point is searched again by
scikit-learn, so that the flat search is exact for any data.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import joblib
import numpy as np
from sklearn.utils import check_random_state

from lapwing._arrays import Array, RandomSource, row_blocks
from lapwing._host.memory import require_memory
from lapwing._host.modules import require
from lapwing._host.threads import available_threads, share
from lapwing._host.warn import warn
from lapwing.exceptions import LowRecallWarning
from lapwing.graphs.search import (
    DIFFERENCE_BYTES,
    SPARE,
    Gathered,
    Nearest,
    Neighbors,
    Points,
    brute_force,
    complete,
    neighbors_of,
)

_LOGGER = logging.getLogger("lapwing")

T = TypeVar("T")

# Relative error of squared lengths in float32, within which the order of candidates is unknown.
_TIE = 1e-4
# Points on which recall is measured: its standard error is below 0.005 for k = 10 and recall 0.95.
RECALL_SAMPLE = 512
# Maximum operations of a search by lists of points, about five minutes on two cores for a million
# points or fewer. For more points it grows with their number, or they would get ever fewer lists:
# within the same five minutes, each of 10^7 points could read one.
LIST_OPERATIONS, _POINTS = 4e12, 1e6
# Recall below which a warning is given.
LOW_RECALL = 0.8
_LISTS = 2  # times sqrt(n)
# Minimum number of lists read for a point. If all points read one list, no edge joins two lists,
# however high the recall: 10^7 points on sheets gave a graph of 6,099 parts at a recall of 0.78.
_LEAST_READ = 2
# For at least CODED_POINTS points, lists contain codes of four bits per coordinate, or per group of
# coordinates if there are more than _MOST_CODES. Processor seconds at recall 0.95 with codes /
# points: 200,000 x 64 images 2.5 / 7.2, blobs 7.6 / 38, sheets 1.6 / 2.7; 70,000 x 784 digits
# 2.0 / 8.4. On 50,000 images lists of points are fastest; building HNSW or NN-descent takes longer
# than both (`python -m benchmarks embedded --tables searches`).
CODED_POINTS, _MOST_CODES = 20_000, 256
# Contents of lists in the order in which they are tried, how fast they are read, relative to
# points, and the number of additional candidates in units of k + 1, as codes and bytes give
# approximate lengths. Reading takes much longer than comparing candidates: with 64 lists of codes
# of 10^5 points in balls, four times the candidates take as long, and the recall is 1 instead of
# 0.993.
_CONTENTS = (("codes", 4.0, 2), ("codes", 4.0, 8), ("bytes", 1.5, 2), ("points", 1.0, 0))

_ADVICE = (
    "Reduce the features first, e.g. KNNGraph(n_components=30), or use an estimator that searches "
    "no neighbours (AnchorGraphClassifier, EigenfunctionClassifier)."
)

LIST_SIZE = 39  # training points per list, below which faiss prints a warning
# Iterations of k-means: lists should be of similar size, not optimal. On 200,000 x 64 images twice
# the lists, trained on twice the points in ten iterations, take 4.6 instead of 0.6 processor
# seconds to build, and 5.7 instead of 6.8 to search (blobs: 57 instead of 39).
_ROUNDS = 4
_GROUPS_READ = 8  # minimum of about sqrt(number of lists) groups: all groups up to 64 lists


def load_faiss(purpose: str) -> Any:
    """Import faiss, or raise an ImportError that names the extra."""
    return require("faiss", extra="ann", purpose=purpose)


def faiss_exact(faiss: ModuleType, points: Points, k: int, n_jobs: int | None) -> Neighbors:
    """Search the k < n nearest other points of each point exactly, by a flat scan.

    Parameters
    ----------
    faiss : module
        Result of `load_faiss`.
    points : Points
        Dense points.
    k : int
        Number of neighbours of each point.
    n_jobs : int or None
        Number of threads; None is faiss's default (OMP_NUM_THREADS, or all cores).
    """
    scaled = _FaissPoints(points)
    _forecast(scaled, k)
    gathered = Gathered(points.n, k)
    unsure = np.zeros(points.n, dtype=bool)
    with faiss_threads(faiss, n_jobs):
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
                # Lower bound of the squared lengths of all other points, with four times the
                # rounding error of the candidates as a bound of theirs.
                frontier = squared[:, -1] - 4 * error
                unsure[block] = frontier < (1 - _TIE) * nearest.lengths[:, -1] ** 2
    again = np.flatnonzero(unsure)
    if len(again):
        _LOGGER.debug("%d points searched again: float32 is too coarse for them.", len(again))
        gathered.replace(again, brute_force(points, again, k))
    return neighbors_of(points, complete(points, gathered.all(), k), 1.0, "faiss")


def faiss_approximate(
    faiss: ModuleType,
    points: Points,
    k: int,
    n_jobs: int | None,
    target_recall: float,
    random_state: RandomSource,
) -> Neighbors:
    """Search most of the k < n nearest other points of each point, by inverted lists.

    The points are sorted into about 2 sqrt(n) lists by k-means. A search reads the smallest number
    of lists, within an eighth, for which the recall on a random sample of points, compared with an
    exact search, is at least `target_recall`, but not more than it can read in some minutes. The
    lists of many points contain codes of four bits per coordinate if these reach the recall.

    Parameters
    ----------
    faiss : module
        Result of `load_faiss`.
    points : Points
        Dense points.
    k : int
        Number of neighbours of each point.
    n_jobs : int or None
        As for `faiss_exact`.
    target_recall : float
        In (0, 1].
    random_state : int, RandomState or None
        Seed of k-means and the sample.
    """
    rng = check_random_state(random_state)
    scaled = _FaissPoints(points, code_width(points.search.shape[1]))
    _forecast(scaled, k)
    with faiss_threads(faiss, n_jobs):
        search = _ListSearch(faiss, scaled, k, rng)
        index, reading = tuned(
            search.fill,
            search.recall,
            points.search.shape,
            k,
            search.quantizer.ntotal,
            search.holding(target_recall),
            target_recall,
        )
    index.nprobe = reading.n_read

    def found_in(rows: Array) -> Nearest:
        with faiss_threads(faiss, 1):
            return search.nearest(index, rows, reading.more)

    # Blocks are searched in threads, with one faiss thread each, as faiss's threads wait by
    # spinning. Consecutive points are from the same list, for the cache.
    members = _members(faiss, index)
    gathered, blocks = Gathered(points.n, k), [members[block] for block in scaled.blocks()]
    for rows, nearest in zip(blocks, share(n_threads(n_jobs), found_in, blocks), strict=True):
        gathered.add(rows, nearest)
    # Points for which the lists that were read contain too few points.
    short = np.flatnonzero(np.isinf(gathered.lengths[:, -1]))
    if len(short):
        gathered.replace(short, brute_force(points, short, k))
    # Without a search for ties beyond the candidates.
    return neighbors_of(points, gathered.all(), reading.recall, "faiss")


def _forecast(scaled: _FaissPoints, k: int) -> None:
    """Raise MemoryError if a copy of the points, neighbours and edges do not fit into memory."""
    n, edges = scaled.points.n, 3  # lengths and indices as found, gathered, and as edges
    require_memory(
        float(n) * (4 * scaled.width + edges * 16 * k),
        f"A search for {k} neighbours of each of {n} points",
        _ADVICE,
    )


def for_faiss(points: Array, width: int) -> Array:
    """Convert points to contiguous float32, with columns of zeros appended up to a width."""
    points = np.ascontiguousarray(points, dtype=np.float32)
    more = width - points.shape[1]
    return np.pad(points, ((0, 0), (0, more))) if more else points


class _FaissPoints:
    """Points scaled to float32 in [-1, 1] for faiss, so that squares do not overflow.

    Columns of zeros are appended up to `width`, a multiple of the coordinates of a code.
    """

    def __init__(self, points: Points, width: int | None = None) -> None:
        self.points = points
        self.scale = float(max(points.search.max(), -points.search.min())) or 1.0
        self.width = width or points.search.shape[1]

    def __getitem__(self, rows: Any) -> Array:
        return for_faiss(self.points.search[rows] / self.scale, self.width)

    def blocks(self) -> Iterator[slice]:
        return row_blocks(self.points.n, self.points.search.shape[1] * 8, DIFFERENCE_BYTES)

    def search(self, index: Any, rows: Array, k: int) -> tuple[Array, Array]:
        """Return squared lengths and indices of the candidates of some points."""
        squared, candidates = index.search(self[rows], min(self.points.n, k + 1 + SPARE))
        return squared.astype(np.float64) * self.scale**2, candidates


class _ListSearch:
    """Search by inverted lists.

    Attributes
    ----------
    quantizer : faiss.IndexFlatL2
        Centres of the lists.
    training : ndarray
        Training points.
    sample : ndarray of int of shape (s,)
        Points on which the recall is measured.
    truth : Nearest
        Their neighbours.
    """

    def __init__(self, faiss: Any, scaled: _FaissPoints, k: int, rng: Any) -> None:
        """Draw both samples, and train the centres of the lists."""
        self.faiss, self.scaled, self.k, n = faiss, scaled, k, scaled.points.n
        self.sample = np.sort(rng.choice(n, min(RECALL_SAMPLE, n), replace=False))
        n_lists, seed = count_of_lists(n), int(rng.randint(2**31 - 1))
        self.training = scaled[np.sort(rng.choice(n, min(n, LIST_SIZE * n_lists), replace=False))]
        self.quantizer = faiss.IndexFlatL2(scaled.width)
        self.quantizer.add(centers_of_lists(faiss, self.training, n_lists, seed))
        self.truth = brute_force(scaled.points, self.sample, k)

    def fill(self, content: str) -> Any:
        """Return lists that contain the codes, bytes or values of all points."""
        index = lists_of(self.faiss, content, self.quantizer, self.training)
        for block in self.scaled.blocks():
            index.add(self.scaled[block])
        return index

    def nearest(self, index: Any, rows: Array, more: int) -> Nearest:
        """Select the nearest candidates by lengths in the precision of the points."""
        candidates = self.scaled.search(index, rows, self.k + more)[1]
        return self.scaled.points.nearest(rows, candidates, self.k)

    def recall(self, index: Any, more: int, n_read: int) -> float:
        """Measure the fraction of the true neighbours that are found in n_read lists."""
        index.nprobe = n_read
        farthest = self.truth.lengths[:, -1:] * (1 + _TIE / 2)  # ties count as found
        return float((self.nearest(index, self.sample, more).lengths <= farthest).mean())

    def holding(self, target_recall: float) -> int:
        """Return the number of nearest lists that contain `target_recall` of the neighbours."""
        ends = self.truth.indices
        order = self.quantizer.search(self.scaled[self.sample], self.quantizer.ntotal)[1]
        holders = self.quantizer.search(self.scaled[ends.ravel()], 1)[1].reshape(ends.shape)
        return lists_holding(order, holders, target_recall)


def _members(faiss: ModuleType, index: Any) -> Array:
    """Return the indices of the points (n,) in inverted lists, ordered by list."""
    lists = index.invlists
    sizes = [lists.list_size(i) for i in range(index.nlist)]
    ids = [faiss.rev_swig_ptr(lists.get_ids(i), size) for i, size in enumerate(sizes) if size]
    return np.concatenate(ids)


class Reading(NamedTuple):
    """Parameters of a search, and its recall.

    Attributes
    ----------
    content : {'codes', 'bytes', 'points'}
    more : int
        Number of additional candidates.
    n_read : int
        Number of lists read for each point.
    recall : float
        Fraction of the neighbours of a sample that are found.
    """

    content: str
    more: int
    n_read: int
    recall: float


def tuned(
    fill: Callable[[str], T],
    recall_of: Callable[[T, int, int], float],
    shape: tuple[int, int],
    k: int,
    n_lists: int,
    holding: int,
    target_recall: float,
    advice: str = _ADVICE,
) -> tuple[T, Reading]:
    """Choose the content of lists and the number of lists to read for the target recall.

    Codes are followed by more precise contents if they do not reach the recall, and if there is
    time to read as many lists of these as contain the neighbours.

    Parameters
    ----------
    fill : callable (content) -> lists
        Fills lists with a content.
    recall_of : callable (lists, more, n_read) -> float
        Measures the recall on a sample, with a number of additional candidates.
    shape : (int, int)
        Numbers of points and coordinates.
    k : int
        Number of neighbours.
    n_lists : int
    holding : int
        Number of nearest lists that contain `target_recall` of the neighbours.
    target_recall : float
    advice : str, optional
        Advice in the warning about a low recall.

    Returns
    -------
    lists
        Result of `fill`.
    reading : Reading

    Warns
    -----
    LowRecallWarning
        If the recall is below `LOW_RECALL` and the target.
    """
    n, d = shape
    operations = LIST_OPERATIONS * max(1.0, n / _POINTS)
    lists: Any = None
    reading: Reading | None = None
    for content, speed, multiple in _CONTENTS if n >= CODED_POINTS else _CONTENTS[-1:]:
        most = affordable_lists(n_lists, n, d, speed * operations)
        if reading is None or content != reading.content:
            if reading is not None and most < holding:
                break
            lists = None  # frees the memory for the next
            lists = fill(content)
        # Twice the lists that contain the neighbours are enough: codes lose those still missing.
        most, more = min(most, max(_LEAST_READ, 2 * holding), n_lists), multiple * (k + 1)
        n_read, recall = fewest_lists(partial(recall_of, lists, more), target_recall, most)
        reading = Reading(content, more, n_read, recall)
        if recall >= target_recall:
            break
    assert reading is not None
    text = "Approximate neighbours: recall %.4f (asked: %g) reading %d of %d lists of %s."
    level = logging.INFO if reading.recall >= target_recall else logging.WARNING
    of_lists = reading.n_read, n_lists, reading.content
    _LOGGER.log(level, text, reading.recall, target_recall, *of_lists)
    warn_low_recall(reading.recall, target_recall, n, advice)
    return lists, reading


def count_of_lists(n: int) -> int:
    """Return the number of lists for n points."""
    return max(1, min(int(_LISTS * n**0.5), n // LIST_SIZE))


def affordable_lists(n_lists: int, n: int, d: int, operations: float) -> int:
    """Return the number of lists that each of n points can read in a number of operations."""
    whole = 2.0 * n * n * d / n_lists  # operations to read one list
    return int(np.clip(operations / whole, min(_LEAST_READ, n_lists), n_lists))


def lists_of(faiss: Any, content: str, quantizer: Any, sample: Array) -> Any:
    """Return empty lists of codes, bytes or points, with the centres of a quantizer.

    Codes and bytes are trained on a sample, scaled for faiss.
    """
    d, n_lists = quantizer.d, quantizer.ntotal
    if content == "codes":
        n_codes = d // -(-d // _MOST_CODES)
        index = faiss.IndexIVFPQFastScan(quantizer, d, n_lists, n_codes, 4)
    elif content == "bytes":
        kind = faiss.ScalarQuantizer.QT_8bit
        index = faiss.IndexIVFScalarQuantizer(quantizer, d, n_lists, kind)
    else:
        index = faiss.IndexIVFFlat(quantizer, d, n_lists)
    index.train(sample)  # without the centres, which the quantizer has
    return index


def code_width(d: int) -> int:
    """Round d up to a multiple of the number of coordinates of a code."""
    size = -(-d // _MOST_CODES)
    return -(-d // size) * size


def lists_holding(order: Array, holders: Array, target_recall: float) -> int:
    """Return the number of nearest lists that contain a fraction `target_recall` of the neighbours.

    Parameters
    ----------
    order : ndarray of int of shape (s, n_lists)
        All lists for each point of a sample, the nearest first.
    holders : ndarray of int of shape (s, k)
        Lists of its nearest points.
    target_recall : float
    """
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(order.shape[1], dtype=order.dtype)[None], axis=1)
    needed = np.sort(np.take_along_axis(ranks, holders, 1), axis=None)
    return int(needed[min(len(needed) - 1, int(target_recall * len(needed)))]) + 1


def warn_low_recall(recall: float, target_recall: float, n: int, advice: str = _ADVICE) -> None:
    """Warn if a search finds too few of the neighbours of n points."""
    if recall < min(target_recall, LOW_RECALL):
        warn(
            f"The search finds {recall:.0%} of the nearest neighbours of {n} points: more "
            f"would take many minutes. {advice}",
            LowRecallWarning,
        )


def fewest_lists(
    recall_of: Callable[[int], float], target_recall: float, most: int
) -> tuple[int, float]:
    """Find the number of lists for the target recall, within an eighth, and its recall.

    It is at least two if there are as many lists, so that edges join the lists. The number is
    doubled first and then bisected, as doubling alone could read twice as many lists as needed, and
    reading lists is the cost of a search.
    """
    n_read = min(_LEAST_READ, most)
    below = n_read - 1
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


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads for n_jobs; None means all available threads."""
    return available_threads() if n_jobs is None else int(joblib.effective_n_jobs(n_jobs))


@contextmanager
def faiss_threads(faiss: ModuleType, n_jobs: int | None) -> Iterator[None]:
    """Limit faiss to n_jobs threads in the block."""
    before = faiss.omp_get_max_threads()
    if n_jobs is not None:
        faiss.omp_set_num_threads(int(joblib.effective_n_jobs(n_jobs)))
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


@dataclass(frozen=True, eq=False)
class ListPlaces:
    """Search for the nearest lists of points, by their centres in groups.

    Attributes
    ----------
    faiss : module
    groups : faiss.IndexIVFFlat
        Index of the centres.
    """

    faiss: Any
    groups: Any

    @classmethod
    def of(cls, faiss: Any, centers: Array, seed: int) -> ListPlaces:
        """Group centres (n_lists, d), float32, by k-means with a seed."""
        groups = _grouping(faiss, len(centers), centers.shape[1], seed)
        groups.train(centers)
        groups.add(centers)
        return cls(faiss, groups)

    def nearest(self, points: Array, n_lists: int) -> Array:
        """Find the nearest lists (b, n_lists) of points (b, d), float32, the nearest first.

        -1 if the groups that are read contain fewer lists.
        """
        reading = reading_groups(self.faiss, n_lists)
        return np.asarray(self.groups.search(points, n_lists, params=reading)[1])


def reading_groups(faiss: ModuleType, n_lists: int) -> Any:
    """Return the settings of faiss to find the n_lists nearest of grouped centres."""
    # More groups for more lists: 13 of 25 groups contain 98 % of the 36 nearest of 632 lists of
    # images. If some are missed, twice as many lists have to be read for the same recall.
    return faiss.SearchParametersIVF(nprobe=_GROUPS_READ + n_lists)


def centers_of_lists(faiss: ModuleType, sample: Array, n_lists: int, seed: int) -> Array:
    """Compute centres (n_lists, d) of a sample (m, d) by k-means, with a search by groups."""
    settings, d = faiss.ClusteringParameters(), sample.shape[1]
    _set_training(settings, seed)
    settings.max_points_per_centroid = len(sample)
    means = faiss.Clustering(d, n_lists, settings)
    means.train(sample, _grouping(faiss, n_lists, d, seed))
    return np.asarray(faiss.vector_to_array(means.centroids).reshape(n_lists, -1))


def _grouping(faiss: ModuleType, n_lists: int, d: int, seed: int) -> Any:
    """Return groups without centres, which training adds."""
    groups = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, max(1, int(n_lists**0.5)))
    _set_training(groups.cp, seed)
    groups.nprobe = min(_GROUPS_READ, groups.nlist)
    return groups


def _set_training(settings: Any, seed: int) -> None:
    settings.seed, settings.niter = seed, _ROUNDS
    settings.min_points_per_centroid = 1  # faiss would print a warning
