"""Session of a fit on a cluster: transfers, sums and time limits.

Everything large is a task whose inputs are tasks again, so that the scheduler computes it anew
when a worker dies. Nothing is scattered: what `Client.scatter` sends has no such origin, and is
lost with its worker.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lapwing._host.modules import require

_FAN_IN = 8  # results that one task adds
PATIENCE = 30.0  # seconds without a worker that can work, or without a scheduler
_LOOK = 1.0  # seconds between two looks at the cluster
_PURPOSE = "lapwing.dask"


class PerPart(NamedTuple):
    """Arguments that differ from part to part."""

    values: Sequence[Any]


class Session:
    """A client, and the calls of it that a fit makes.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._distributed = require("distributed", extra="dask", purpose=_PURPOSE)
        self._dask = require("dask", extra="dask", purpose=_PURPOSE)

    @classmethod
    def of(cls, client: Any) -> Session:
        """The session of a client; None is the current one.

        Raises
        ------
        ValueError
            If there is no client.
        TypeError
            If it is none of Dask's.
        ConnectionError, TimeoutError
            If it is closed, or its cluster has no worker.
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
                f"client={client!r} is no Dask client. Pass client=distributed.Client(ADDRESS)."
            )
        session._refuse_closed()
        return session

    @property
    def n_threads(self) -> int:
        """Threads of all workers, at least one."""
        return max(1, sum(int(worker["nthreads"]) for worker in self._workers().values()))

    def constant(self, value: Any) -> Any:
        """A value that many tasks take, sent once."""
        return self._sent(lambda: self.client.submit(_same, value, pure=False))

    def each(self, task: Callable[..., Any], n_parts: int, *arguments: Any) -> tuple[Any, ...]:
        """Futures of a task for every part.

        Parameters
        ----------
        task : callable
        n_parts : int
        *arguments : Each or any
            What differs from part to part, or is the same for all.
        """
        if not n_parts:
            return ()
        columns = [a.values if isinstance(a, PerPart) else [a] * n_parts for a in arguments]
        return tuple(self._sent(lambda: self.client.map(task, *columns, pure=False)))

    def total(self, futures: Sequence[Any]) -> Any:
        """The sum of the results, added on the workers as a tree.

        Tuples are added entry by entry.
        """
        while len(futures) > 1:
            groups = [list(futures[i : i + _FAN_IN]) for i in range(0, len(futures), _FAN_IN)]
            futures = self.each(added, len(groups), PerPart(groups))
        return self.gather(futures)[0]

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Wait for results, and fetch them.

        Raises
        ------
        ConnectionError, TimeoutError, MemoryError
            If the cluster is gone, has no worker for a while, or loses one after the other.
        """
        futures = list(futures)
        self._wait(futures)
        try:
            return list(self.client.gather(futures))
        except Exception as error:
            raise self._told(error) from error

    def _wait(self, futures: list[Any]) -> None:
        able = time.monotonic()  # when a worker was last seen that could work
        while True:
            try:
                self._distributed.wait(futures, timeout=_LOOK)
                return
            except TimeoutError:
                pass
            except Exception as error:
                raise self._told(error) from error
            self._refuse_closed(able)
            workers = self._workers()
            if any(worker.get("status", "running") == "running" for worker in workers.values()):
                able = time.monotonic()
            elif time.monotonic() - able > PATIENCE:
                self._refuse_idle(bool(workers))

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
            return {}  # the status of the client tells why

    def _sent(self, call: Callable[[], Any]) -> Any:
        self._refuse_closed()
        # Landmarks and their factor are some megabytes, sent once and meant to be.
        with self._dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
            try:
                return call()
            except Exception as error:
                raise self._told(error) from error

    def _told(self, error: Exception) -> Exception:
        """The error in words of what to do, if it is one of the cluster and not of a task."""
        name = type(error).__name__
        if name == "KilledWorker":
            return MemoryError(
                f"Workers died one after the other on the same task: most often their memory is "
                f"too small for a chunk ({error}). Use smaller chunks, or workers with more memory."
            )
        if name in ("CancelledError", "FutureCancelledError", "FuturesCancelledError") or (
            isinstance(error, OSError) and "comm" in name.lower()
        ):
            return ConnectionError(
                "The connection to the Dask scheduler was lost during the fit, and with it all "
                f"that was computed ({name}: {error}). Connect a new client and fit again."
            )
        return error


def _same(value: Any) -> Any:
    return value


def added(parts: list[Any]) -> Any:
    """The sum of some results, in their order."""
    first = parts[0]
    if isinstance(first, tuple):
        return tuple(added(list(entries)) for entries in zip(*parts, strict=True))
    for part in parts[1:]:
        first = first + part
    return first
