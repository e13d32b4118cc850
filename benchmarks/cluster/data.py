"""Points on the workers: sheets, blobs, images and sparse documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.cluster.plan import Plan
from benchmarks.shared.points import images
from lapwing.dask._plan import count_of_blocks

N_FEATURES, N_CLASSES = 64, 10
CHUNK = 50_000
N_TERMS, WORDS = 50_000, 50  # of documents
_TOPIC = 0.3  # fraction of the words of a document that are specific to its class


def sheets(start: int, n: int) -> NDArray[np.float32]:
    """Generate points of the classes in turn, each on a curved three-dimensional sheet."""
    rng, fixed = np.random.default_rng(start // CHUNK + 1), np.random.default_rng(0)
    centers = 3 * fixed.standard_normal((N_CLASSES, N_FEATURES)) / np.sqrt(N_FEATURES)
    planes = fixed.standard_normal((N_CLASSES, 6, N_FEATURES)) / np.sqrt(N_FEATURES)
    X, labels = np.empty((n, N_FEATURES), dtype=np.float32), classes(start, n)
    for label in range(N_CLASSES):
        mine = np.flatnonzero(labels == label)
        t = rng.uniform(-1, 1, (len(mine), 3))
        X[mine] = centers[label] + np.hstack([t, t**2]) @ planes[label]
    return X + 0.02 * rng.standard_normal(X.shape, dtype=np.float32)


def blobs(start: int, n: int) -> NDArray[np.float32]:
    """Generate points of the classes in turn, each in a ball of full dimension."""
    rng, fixed = np.random.default_rng(start // CHUNK + 1), np.random.default_rng(0)
    centers = fixed.standard_normal((N_CLASSES, N_FEATURES), dtype=np.float32)
    return centers[classes(start, n)] + rng.standard_normal((n, N_FEATURES), dtype=np.float32)


def documents(start: int, n: int) -> Any:
    """Generate word counts by Zipf's law for two classes in turn, each with specific words."""
    rng = np.random.default_rng(start // CHUNK + 1)
    law = 1.0 / np.arange(1, N_TERMS + 1)
    words = np.searchsorted(np.cumsum(law / law.sum()), rng.uniform(size=(n, WORDS)))
    # A specific word is the one of the same rank in the half of the words of the class.
    topic = rng.uniform(size=words.shape) < _TOPIC
    words = np.where(topic, words // 2 * 2 + (classes(start, n) % 2)[:, None], words)
    rows = np.repeat(np.arange(n), WORDS)
    ones = np.ones(words.size, dtype=np.float32)
    ends = np.minimum(words.ravel(), N_TERMS - 1)
    return sp.csr_array(sp.coo_array((ones, (rows, ends)), shape=(n, N_TERMS)))


def classes(start: int, n: int) -> NDArray[np.int64]:
    """Return the class of each point."""
    return (start + np.arange(n)) % N_CLASSES


KINDS: dict[str, Callable[[int, int], Any]] = {
    "sheets": sheets,
    "blobs": blobs,
    "documents": documents,
}
"""Functions by kind, which generate points from a first number on."""


def points(kind: str, n: int) -> tuple[Any, NDArray[np.int64]]:
    """Generate n points, in memory, and their classes."""
    if kind == "images":  # generated at once, as their principal components are those of all
        return images(n)
    parts = [KINDS[kind](start, min(CHUNK, n - start)) for start in range(0, n, CHUNK)]
    X = sp.vstack(parts, format="csr") if kind == "documents" else np.concatenate(parts)
    return X, truth_of(kind, n)


def points_on_workers(kind: str, n: int) -> tuple[Any, NDArray[np.int64]]:
    """Generate n points as a Dask array, with chunks on the workers, and their classes."""
    import dask
    import dask.array as da

    if kind == "images":  # scattered, as Dask warns of 244 MB in a graph of tasks
        from distributed import get_client

        X, y = images(n)
        chunks = [X[start : start + CHUNK] for start in range(0, n, CHUNK)]
        futures = get_client().scatter(chunks)
        of_chunks = zip(futures, chunks, strict=True)
        parts = [da.from_delayed(future, chunk.shape, meta=X[:0]) for future, chunk in of_chunks]
        return da.concatenate(parts), y
    make, like = dask.delayed(KINDS[kind], pure=False), KINDS[kind](0, 1)[:0]
    parts = []
    for start in range(0, n, CHUNK):
        size = min(CHUNK, n - start)
        shape = size, like.shape[1]
        parts.append(da.from_delayed(make(start, size), shape, meta=like))
    return da.concatenate(parts), truth_of(kind, n)


def truth_of(kind: str, n: int) -> NDArray[np.int64]:
    """Return the classes of n points."""
    return classes(0, n) % (2 if kind == "documents" else N_CLASSES)


def plan(kind: str, n: int, n_workers: int) -> Plan:
    """Forecast a fit to points of a kind."""
    if kind == "images":
        # Classes touch. They are longer in some directions than a cube of twelve dimensions, so
        # the twentieth eigenvalue is lower: measured for 10^5.
        eigenvalue = 0.027 * (n / 1e5) ** (-2 / 12)
        return Plan(n, N_FEATURES, n_workers, dimensions=12, joined=True, eigenvalue=eigenvalue)
    whole = N_CLASSES % count_of_blocks(n, 4 * N_FEATURES, n_workers) == 0  # classes in a block
    dimensions = 0.0 if whole else {"sheets": 3.0, "blobs": 64.0}[kind]
    return Plan(n, N_FEATURES, n_workers, dimensions=dimensions)
