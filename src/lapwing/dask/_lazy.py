"""Answers that are computed when they are asked for: arrays in, arrays out, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing._host.optional import require
from lapwing.dask._points import chunks_of, is_array
from lapwing.dask._tall import Tall


def answers(values: Tall, task: Callable[[Array], Array], like: Array) -> Any:
    """A Dask array of what a task makes of the values of each block.

    Parameters
    ----------
    values : Tall
    task : callable
    like : ndarray
        Of no rows: type and further dimensions of the answers.
    """
    delayed = require("dask", extra="dask", purpose="lapwing.dask").delayed(task, pure=False)
    return _array([delayed(part) for part in values.parts], values.sizes, like)


def lazily(values: Tall) -> Any:
    """The values themselves as a Dask array."""
    return answers(values, _same, np.empty((0, values.n_columns), dtype=values.dtype))


def predictions(model: Any, method: str, X: Any, like: Array) -> Any:
    """A Dask array of what a method of a fitted estimator answers for the chunks of X.

    The model is one key of the graph: it is sent once, and again if its worker dies.

    Parameters
    ----------
    model : estimator
    method : str
    X : Dask array or frame
    like : ndarray
        Of no rows.
    """
    dask = require("dask", extra="dask", purpose="lapwing.dask")
    chunks = chunks_of(X, "X")
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, one row a point; it has {X.ndim}.")
    width = int(X.shape[1])
    if width != model.n_features_in_:
        raise ValueError(
            f"X has {width} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    sizes = X.chunks[0] if is_array(X) else [np.nan] * len(chunks)
    shared, task = dask.delayed(model, pure=False), dask.delayed(_answer, pure=False)
    return _array([task(shared, method, chunk, like) for chunk in chunks], sizes, like)


def _answer(model: Any, method: str, chunk: Any, like: Array) -> Array:
    # scikit-learn asks for a row at the least, and chunks may have none.
    return getattr(model, method)(chunk).astype(like.dtype, copy=False) if len(chunk) else like


def _array(parts: list[Any], sizes: Any, like: Array) -> Any:
    """Delayed blocks as one array that keeps empty ones, which `dask.array.concatenate` drops."""
    array = require("dask.array", extra="dask", purpose="lapwing.dask")
    graphs = require("dask.highlevelgraph", extra="dask", purpose="lapwing.dask").HighLevelGraph
    name = f"lapwing-{parts[0].key}"
    rest = (0,) * (like.ndim - 1)
    layer = {(name, i, *rest): (_same, part.key) for i, part in enumerate(parts)}
    graph = graphs.from_collections(name, layer, dependencies=parts)
    chunks = (tuple(sizes), *((size,) for size in like.shape[1:]))
    return array.Array(graph, name, chunks, meta=like)


def _same(block: Array) -> Array:
    return block
