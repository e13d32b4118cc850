"""``--cluster`` and ``--workers``: the fit of a table on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import dask as on_cluster
from lapwing._app.methods import COMMAND_METHODS
from lapwing._app.requests import FitRequest
from lapwing._arrays import is_sparse
from lapwing._host.optional import require
from lapwing.classes.slips import doubts_left_out

_CHUNKS = 4  # a worker, so that none waits long for another
_CONNECT = 10  # seconds


def fit_on_cluster(
    estimator: Any, points: Any, y: NDArray[Any], labeled: NDArray[np.bool_], request: FitRequest
) -> Any:
    """Fit as an estimator would be fitted, on a cluster.

    Parameters
    ----------
    estimator : estimator
        With its parameters.
    points : ndarray of shape (n, d)
    y : ndarray of shape (n,)
    labeled : ndarray of bool of shape (n,)
    request : FitRequest
        With an address of a cluster, or a number of workers.

    Returns
    -------
    estimator
        The same without Dask, fitted, with the answers for all rows.

    Raises
    ------
    ValueError
        If the method does not run on a cluster, or not with these parameters, or the cluster does
        not answer.
    """
    flag = "--workers" if request.cluster is None else "--cluster"
    model = _counterpart(estimator, flag)
    if is_sparse(points):
        raise ValueError(
            f"{flag}: the table has so many columns of codes that they are held as a sparse "
            "matrix, which is not fitted on a cluster. Leave columns out with --drop."
        )
    array = require("dask.array", extra="dask", purpose=flag)
    config = require("dask", extra="dask", purpose=flag).config
    rows = np.flatnonzero(labeled)
    with _client(request, flag) as client:
        n_chunks = _CHUNKS * max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
        height = -(-len(points) // n_chunks)
        # The table itself is sent, and meant to be: it is here alone.
        with config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            X = array.from_array(points, chunks=(height, points.shape[1])).persist()
        with doubts_left_out():
            model.set_params(client=client).fit(X, (rows, y[rows]))
        local = model.to_local()
        for name in model._lazy:
            setattr(local, name, getattr(model, name).compute())
        local.labeled_ = labeled
    return local


def _counterpart(estimator: Any, flag: str) -> Any:
    """The estimator for clusters with the same parameters."""
    made = getattr(on_cluster, f"Dask{type(estimator).__name__}", None)
    if made is None:
        known = [
            name
            for name, method in COMMAND_METHODS.items()
            if hasattr(on_cluster, f"Dask{method.estimator.__name__}")
        ]
        raise ValueError(
            f"{flag}: {type(estimator).__name__} does not run on a cluster. Use --method with one "
            f"of {', '.join(known)}."
        )
    given = estimator.get_params(deep=False)
    usual = type(estimator)().get_params(deep=False) | made._fixed
    own = made().get_params(deep=False)
    for name, value in given.items():
        if name not in own and repr(value) != repr(usual[name]) and name != "random_state":
            raise ValueError(
                f"{flag}: {name}={value} is not done on a cluster. Use --set {name}={usual[name]}."
            )
    return made(**{name: value for name, value in given.items() if name in own})


@contextmanager
def _client(request: FitRequest, flag: str) -> Iterator[Any]:
    distributed = require("distributed", extra="dask", purpose=flag)
    if request.cluster is None:
        with (
            distributed.LocalCluster(
                n_workers=request.workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",  # a port on the loopback alone
                scheduler_kwargs={"dashboard": False},
                silence_logs="CRITICAL",  # what matters comes as an exception, told in one line
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = distributed.Client(request.cluster, timeout=_CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(
            f"--cluster {request.cluster}: no Dask scheduler answers there ({error}). Start one by "
            "`dask scheduler`, or use --workers 2 for this machine alone."
        ) from error
    with client:
        yield client
