"""Faults of a cluster during a fit: the same result, or a clear error soon."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import signal
import time
import weakref
from collections.abc import Callable
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from lapwing import AnchorGraph, Landmarks
from lapwing.dask import DaskAnchorGraphClassifier, DaskLapERLSClassifier, _session
from lapwing.dask._session import ClusterSession, PerPart
from lapwing.graphs import KNNGraph
from tests.cluster.conftest import Case, array, cluster_of, distributed

dask = pytest.importorskip("dask", reason="dask is not installed")

SOON = 60.0  # seconds
SMALL = Case(n=60)


def interrupted(
    monkeypatch: pytest.MonkeyPatch, at: set[int], happen: Callable[[], None]
) -> list[int]:
    """Let something happen while a fit waits for some of its results; counts the waits."""
    gather, count = ClusterSession.gather, [0]

    def waits(self: ClusterSession, futures: Any) -> list[Any]:
        count[0] += 1
        if count[0] in at:
            happen()
        return gather(self, futures)

    monkeypatch.setattr(ClusterSession, "gather", waits)
    return count


def futures_of(client: Any) -> set[str]:
    """Keys of the futures that a client holds, once its loop has seen those released."""

    async def keys() -> set[str]:
        return set(client.futures)

    found: set[str] = client.sync(keys)
    return found


def kill_a_worker(client: Any) -> None:
    """End the process of a worker of this test's cluster, which starts another one."""
    # Asked of this process: the workers may be starting anew themselves.
    running = [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid]
    os.kill(running[0], signal.SIGKILL)


def test_without_a_client_the_error_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:

    def no_client() -> Any:
        raise ValueError("No global client found and no address provided")

    monkeypatch.setattr("distributed.get_client", no_client)  # other tests may have one
    with pytest.raises(ValueError, match=r"There is no Dask client. Connect one first"):
        DaskAnchorGraphClassifier().fit(array.from_array(SMALL.X), SMALL.labels)


def test_an_asynchronous_client_is_refused() -> None:

    async def fit() -> None:
        async with distributed.Client(
            asynchronous=True, processes=False, dashboard_address="127.0.0.1:0"
        ) as client:
            DaskAnchorGraphClassifier(client=client).fit(SMALL.labels, SMALL.labels)

    with pytest.raises(TypeError, match=r"The Dask client is asynchronous"):
        asyncio.run(fit())


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(n=200, distance=2.0)
    # Placed near their neighbours, which takes every stage that there is.
    graph = KNNGraph(5, approximate=find_spec("faiss") is not None, target_recall=1.0)
    model = DaskLapERLSClassifier(space=Landmarks(centers=case.X[::10]), graph=graph)
    with cluster_of(2) as client, monkeypatch.context() as patch:
        X = case.chunks
        count = interrupted(patch, set(), lambda: None)
        expected = model.fit(X, case.labels).virtual_labels_.compute()
        total = count[0]
        patch.undo()
        # While it reads, places, searches, makes the graph and sums; and after the fit.
        stages = {3, total // 4, total // 2, total - 1}
        count = interrupted(patch, stages, lambda: kill_a_worker(client))
        model.fit(X, case.labels)
        assert count[0] == total
        kill_a_worker(client)
        np.testing.assert_allclose(model.virtual_labels_.compute(), expected, atol=1e-9)
        np.testing.assert_array_equal(model.predict(X).compute(), model.to_local().predict(case.X))


def test_nothing_is_left_on_the_cluster(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(n=120)
    X = case.chunks
    graph = KNNGraph(5, approximate=find_spec("faiss") is not None)
    model = DaskLapERLSClassifier(space=Landmarks(centers=case.X[::10]), graph=graph)
    gc.collect()  # what other tests have left may go at any time
    before = futures_of(client)
    model.fit(X, case.labels)
    answers = futures_of(client) - before
    assert len(answers) == len(case.sizes)  # decision values, which the lazy answers are made of
    model.score(X, case.y)
    assert futures_of(client) - before == answers
    del model.transduction_, model.transduction_proba_, model.virtual_labels_
    gc.collect()
    assert not futures_of(client) - before
    # While an error is held, so are the frames that it went through.
    with pytest.raises(ValueError, match="n_neighbors=200") as error:
        clone(model).set_params(graph=KNNGraph(200)).fit(X, case.labels)
    assert not futures_of(client) - before

    def interrupt() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        interrupted(patch, {12}, interrupt)
        with pytest.raises(KeyboardInterrupt) as stopped:
            clone(model).fit(X, case.labels)
    assert not futures_of(client) - before
    del error, stopped


def test_waiting_keeps_no_results_alive(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_session, "_POLL", 0.001)
    session = ClusterSession.of(client)

    def waited() -> Callable[[], Any]:
        results = [session.one(len, "ab")]
        session.wait([session.one(time.sleep, 0.02)])
        return weakref.ref(results[0])

    gc.disable()  # cycles of frames and tracebacks would live on
    try:
        assert waited()() is None
    finally:
        gc.enable()


def test_the_error_of_a_dead_worker_names_its_task(client: Any) -> None:
    worker = SimpleNamespace(memory_limit=3e9, address="tcp://127.0.0.1:1")
    session = ClusterSession(client)
    session.forecast(4.2e9)
    key = session.each(len, PerPart(["ab", "cd"]))[1].key
    error = session._explained(distributed.scheduler.KilledWorker(key, worker, 3))
    assert isinstance(error, MemoryError)
    message = r"Workers of 3 GB died .* part 1 of the stage 'len'.* about 4.2 GB .*memory_limit="
    assert re.search(message, str(error))


@pytest.mark.slow
def test_results_beyond_the_memory_are_spilled(monkeypatch: pytest.MonkeyPatch) -> None:
    n, d = 60_000, 8
    low = {"target": 0.01, "spill": False, "pause": False, "terminate": False}
    limits = {f"distributed.worker.memory.{name}": value for name, value in low.items()}
    rng = np.random.default_rng(0)
    anchors = rng.standard_normal((4, d))
    y = (np.arange(8), np.arange(8) % 2)
    with dask.config.set(limits), cluster_of(1, memory_limit="256MiB") as client:
        X = array.random.default_rng(0).standard_normal((n, d), chunks=(n // 6, d)).persist()
        spilled = [0]

        def look() -> None:
            sizes = client.run(lambda dask_worker: dask_worker.data.spilled_total.disk)
            spilled[0] = max(spilled[0], *sizes.values())

        interrupted(monkeypatch, set(range(1, 50)), look)
        model = DaskAnchorGraphClassifier(AnchorGraph(anchors=anchors)).fit(X, y)
        assert spilled[0] > 0
        masses = np.bincount(model.transduction_.compute(), minlength=2)
        assert masses.sum() == n


def test_a_cluster_without_workers_is_an_error_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_session, "PATIENCE", 0.1)
    monkeypatch.setattr(_session, "_POLL", 0.05)
    with cluster_of(0):
        start = time.monotonic()
        with pytest.raises(TimeoutError, match=r"The cluster has had no worker for 0.1 s"):
            DaskAnchorGraphClassifier().fit(SMALL.chunks, SMALL.labels)
        assert time.monotonic() - start < SOON


def test_a_closed_client_is_an_error_at_once() -> None:
    with cluster_of(0) as client:
        client.close()
        with pytest.raises(ConnectionError, match=r"The Dask client is closed"):
            DaskAnchorGraphClassifier(client=client).fit(SMALL.labels, SMALL.labels)


@pytest.mark.slow
def test_a_lost_scheduler_is_an_error_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_session, "PATIENCE", 1.0)
    with cluster_of(1) as client:
        X = SMALL.chunks
        interrupted(monkeypatch, {3}, client.cluster.close)
        start = time.monotonic()
        with pytest.raises(ConnectionError, match=r"Dask (client|scheduler)"):
            DaskAnchorGraphClassifier().fit(X, SMALL.labels)
        assert time.monotonic() - start < SOON
