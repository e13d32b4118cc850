"""Session of a fit on a cluster: transfers, sums and time limits.

All large data are results of tasks, so that the scheduler can recompute them if a worker dies.
`Client.scatter` is not used, because its data are lost with their worker.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from lapwing._host.modules import require

_FAN_IN = 8  # number of results that one task adds
PATIENCE = 30.0  # seconds to wait without a running worker or a scheduler
MOST_TASKS = 20_000  # maximum tasks submitted before waiting for results
_POLL = 1.0  # seconds between two checks of the cluster
_PURPOSE = "lapwing.dask"


class PerPart(NamedTuple):
    """Arguments with a value for each part."""

    values: Sequence[Any]


class ClusterSession:
    """Calls of a client during a fit; a context manager that leaves nothing on the cluster.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._submitted_tasks = 0  # since the last wait
        # Tracebacks and cycles keep futures alive, and with them results on the workers.
        self._futures: weakref.WeakSet[Any] = weakref.WeakSet()
        self._kept: set[Any] = set()
        self._needed = ""
        self._distributed = require("distributed", extra="dask", purpose=_PURPOSE)
        self._dask = require("dask", extra="dask", purpose=_PURPOSE)

    @classmethod
    def of(cls, client: Any) -> ClusterSession:
        """Return a session of a client; None is the current client.

        Raises
        ------
        ValueError
            If there is no client.
        TypeError
            If `client` is not a Dask client, or is asynchronous.
        ConnectionError, TimeoutError
            If the client is closed, or its cluster has no worker.
        """
        if client is None:
            try:
                client = require("distributed", extra="dask", purpose=_PURPOSE).get_client()
            except ValueError:
                raise ValueError(
                    "There is no Dask client. Connect one first, e.g. client = "
                    "distributed.Client(ADDRESS), or distributed.Client() for this machine alone."
                ) from None
        session = cls(client)
        if not isinstance(client, session._distributed.Client):
            raise TypeError(
                f"client={client!r} is not a Dask client. Pass client=distributed.Client(ADDRESS)."
            )
        if client.asynchronous:  # waiting here would block the event loop of the client
            raise TypeError(
                "The Dask client is asynchronous, and a fit waits for its results. Make a client "
                "outside of the event loop, with distributed.Client(ADDRESS), and pass it."
            )
        session._refuse_closed()
        return session

    def __enter__(self) -> ClusterSession:
        return self

    def __exit__(self, *error: object) -> None:
        for future in list(self._futures):
            if future not in self._kept or error[0] is not None:
                future.release()

    def keep(self, futures: Iterable[Any]) -> None:
        """Keep some results on the cluster after the session, unless there is an error."""
        self._kept.update(futures)

    def forecast(self, n_bytes: float) -> None:
        """Record the forecast memory of a thread, for the error if a worker runs out of memory."""
        self._needed = f" The fit takes about {n_bytes / 1e9:.2g} GB for each thread of a worker."

    def compute(self, delayed: list[Any]) -> list[Any]:
        """Submit delayed objects, such as the chunks of a collection."""
        futures = list(self._submitted(lambda: self.client.compute(delayed)))
        self._futures.update(futures)
        return futures

    @cached_property
    def n_threads(self) -> int:
        """Number of threads of all workers at first use, at least one.

        Cached, because the number of blocks depends on it, and a worker that restarts has no
        threads for a while.
        """
        return max(1, sum(int(worker["nthreads"]) for worker in self._workers().values()))

    def waves(self, n_parts: int) -> list[range]:
        """Divide the numbers of parts into groups of at most one part per thread.

        Processing the groups one after the other limits memory to that of one group.
        """
        n_waves = -(-n_parts // self.n_threads)
        return [range(start, n_parts, n_waves) for start in range(n_waves)]

    def homes(self, n_parts: int) -> list[str | None]:
        """Return a worker for each part: consecutive parts, the same number for each thread."""
        workers = self._workers().items()
        threads = [name for name, worker in workers for _ in range(int(worker["nthreads"]))]
        if not threads:
            return [None] * n_parts
        n_waves = -(-n_parts // len(threads))
        return [threads[i // n_waves] for i in range(n_parts)]

    def constant(self, value: Any) -> Any:
        """Return the future of a value that many tasks use, sent once."""
        future = self._submitted(lambda: self.client.submit(same, value, pure=False))
        self._futures.add(future)
        return future

    def each(
        self,
        task: Callable[..., Any],
        *arguments: Any,
        priority: int = 0,
        worker: str | None = None,
    ) -> tuple[Any, ...]:
        """Submit a task for each part, and return the futures.

        Parameters
        ----------
        task : callable
            Function of the arguments.
        *arguments : PerPart or any
            Arguments with a value for each part, at least one, or constants.
        priority : int
            Tasks with higher priority run first.
        worker : str, optional
            Worker that runs the tasks, if it is alive.
        """
        n_parts = next(len(a.values) for a in arguments if isinstance(a, PerPart))
        if not n_parts:
            return ()
        columns = [a.values if isinstance(a, PerPart) else [a] * n_parts for a in arguments]
        options: dict[str, Any] = {"pure": False, "priority": priority}
        if worker is not None:
            options |= {"workers": [worker], "allow_other_workers": True}
        futures = tuple(self._submitted(lambda: self.client.map(task, *columns, **options)))
        self._futures.update(futures)
        self._submitted_tasks += n_parts
        if self._submitted_tasks > MOST_TASKS:
            self._submitted_tasks = 0
            self.wait(list(futures))
        return futures

    def one(self, task: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Submit a single task, see `each`, and return its future."""
        return self.each(task, *(PerPart([each]) for each in arguments), **options)[0]

    def total(self, futures: Sequence[Any]) -> Any:
        """Return the sum of the results, added on the workers as a tree.

        Tuples are added entry by entry.
        """
        while len(futures) > 1:
            groups = [list(futures[i : i + _FAN_IN]) for i in range(0, len(futures), _FAN_IN)]
            # With priority, so that results to be added do not accumulate.
            futures = self.each(added, PerPart(groups), priority=1)
        return self.gather(futures)[0]

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Wait for results and fetch them.

        Raises
        ------
        ConnectionError, TimeoutError, MemoryError
            If the connection is lost, there is no worker for a while, or workers die repeatedly.
        """
        futures = list(futures)
        self.wait(futures)
        self._submitted_tasks = 0
        try:
            return list(self.client.gather(futures))
        except Exception as error:
            raise self._explained(error) from error

    def wait(self, futures: Sequence[Any]) -> None:
        """Wait for results; errors as in `gather`."""
        able = time.monotonic()  # time when a running worker was last seen
        self._refuse_closed(able)

        async def done() -> None:
            with self.client.as_current():
                await self._distributed.wait(list(futures))

        # Not `distributed.wait` with a timeout, which raises an exception whose traceback keeps the
        # variables of all callers, and so results, until cyclic garbage is collected.
        waiting = asyncio.run_coroutine_threadsafe(done(), self.client.loop.asyncio_loop)
        try:
            while not concurrent.futures.wait([waiting], timeout=_POLL).done:
                self._refuse_closed(able)
                workers = self._workers()
                if any(worker.get("status", "running") == "running" for worker in workers.values()):
                    able = time.monotonic()
                elif time.monotonic() - able > PATIENCE:
                    self._refuse_idle(bool(workers))
        finally:
            waiting.cancel()
        try:
            waiting.result()
        except Exception as error:
            raise self._explained(error) from error

    def _refuse_closed(self, able: float | None = None) -> None:
        status = self.client.status
        waited = float("inf") if able is None else time.monotonic() - able
        if status == "closed" or (status != "running" and waited > PATIENCE):
            raise ConnectionError(
                f"The Dask client is {status}: it is not connected to a scheduler. Make a new one, "
                "e.g. client = distributed.Client(ADDRESS), and pass client=client."
            )

    def _refuse_idle(self, paused: bool) -> None:
        if paused:
            raise MemoryError(
                f"All workers have been paused for {PATIENCE:g} s: their memory is full, and "
                "nothing more can be written to disk. Use more workers, workers with more memory, "
                "or smaller chunks."
            )
        raise TimeoutError(
            f"The cluster has had no worker for {PATIENCE:g} s. Start workers, e.g. "
            "cluster.scale(2), and see their logs if they ended by themselves."
        )

    def _workers(self) -> dict[str, Any]:
        try:
            return dict(self.client.scheduler_info(n_workers=-1)["workers"])
        except (OSError, TimeoutError, ValueError, AttributeError):
            return {}  # the status of the client is reported elsewhere

    def _submitted(self, call: Callable[[], Any]) -> Any:
        self._refuse_closed()
        # No warning for landmarks and their factor, some megabytes that are sent once.
        with self._dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
            try:
                return call()
            except Exception as error:
                raise self._explained(error) from error

    def _explained(self, error: Exception) -> Exception:
        """Return an error with a remedy for an error of the cluster; errors of tasks unchanged."""
        name = type(error).__name__
        if name == "KilledWorker":
            return MemoryError(self._out_of_memory(error))
        if name in ("CancelledError", "FutureCancelledError", "FuturesCancelledError") or (
            isinstance(error, OSError) and "comm" in name.lower()
        ):
            return ConnectionError(
                "The connection to the Dask scheduler was lost during the fit, and with it all "
                f"that was computed ({name}: {error}). Connect a new client and fit again."
            )
        return error

    def _out_of_memory(self, error: Any) -> str:
        """Return a message with the task of workers that died, their memory and a remedy."""
        stage, _, part = str(error.task).partition("-")
        part = part.rpartition("-")[2]
        limit = getattr(error.last_worker, "memory_limit", 0)
        room = f" of {limit / 1e9:.2g} GB" if limit else ""
        return (
            f"Workers{room} died one after the other on part {part} of the stage "
            f"{stage.lstrip('_')!r}: most often their memory is too small.{self._needed} Start "
            "workers with more memory (memory_limit=...) or more of them, or use smaller chunks of "
            "X."
        )


def same(value: Any) -> Any:
    """Return the argument, as a task for a value."""
    return value


def added(parts: list[Any]) -> Any:
    """Add results in order; tuples entry by entry."""
    first = parts[0]
    if isinstance(first, tuple):
        return tuple(added(list(entries)) for entries in zip(*parts, strict=True))
    for part in parts[1:]:
        first = first + part
    return first
