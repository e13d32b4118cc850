"""Memory and traffic of workers by stage of a fit."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, ClassVar

from dask.utils import key_split
from distributed import WorkerPlugin

from benchmarks.shared.measuring import resident_bytes

_PERIOD = 0.02  # seconds between two samples
_NAME = "lapwing-watch"
# Modules of the tasks of a stage; names of keys have no leading underscore.
_STAGES = {
    "read": ("_data",),
    "placement": ("_placement",),
    "search": ("_neighbors",),
    "graph": ("_halos",),
    "eigenpairs": ("_laplacian",),
    "features": ("_embedded",),
    "functions": ("_baselines",),
    "s3vc": ("_low_density",),
    "answers": ("_engine", "_base", "_row_blocks"),
}
# Tasks that restore the user's order, the first of which assembles eigenvectors.
_BACK = ("with_null", "between", "in_place")
_PRODUCTS = ("packed", "multiplied", "gram")  # products of the eigensolver
# Tasks of the kernel width, and constants, of which the landmarks are the largest.
_FEATURES = ("squares_around", "same")


class Watch(WorkerPlugin):
    """Plugin that samples the resident size of a worker, by the running task."""

    name: ClassVar[str] = _NAME

    def setup(self, worker: Any) -> None:
        """Start sampling."""
        self.first = resident_bytes("VmRSS")
        self.peaks: dict[str, int] = defaultdict(int)
        self._worker, self._stop = worker, threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def teardown(self, worker: Any) -> None:
        """Stop sampling."""
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(_PERIOD):
            size, running = resident_bytes("VmRSS"), []
            with suppress(RuntimeError):  # the set changes while it is read
                running = [key_split(task.key) for task in self._worker.state.executing]
            for name in running:
                self.peaks[name] = max(self.peaks[name], size)


def watch(client: Any) -> int:
    """Watch all workers; return the resident size of one with the library, without points."""
    client.register_plugin(Watch())
    return max(client.run(_first).values())


def peaks(client: Any) -> dict[str, int]:
    """Return the largest resident size of a worker by stage."""
    merged: dict[str, int] = defaultdict(int)
    for found in client.run(_peaks).values():
        for stage, sizes in by_stage(found):
            merged[stage] = max(merged[stage], *sizes)
    return dict(merged)


def traffic(client: Any) -> dict[str, int]:
    """Return the bytes that workers received from each other, by stage."""
    merged: dict[str, int] = defaultdict(int)
    for found in client.run(_received).values():
        for stage, sizes in by_stage(found):
            merged[stage] += sum(sizes)
    return dict(merged)


def by_stage(found: Mapping[str, int]) -> Iterable[tuple[str, list[int]]]:
    """Group numbers by task name into lists by stage."""
    stages: dict[str, list[int]] = defaultdict(list)
    for name, size in found.items():
        stages[stage_of(name)].append(size)
    return stages.items()


def stage_of(task: str) -> str:
    """Return the stage of a task name."""
    if task in _BACK:
        return "back"
    if task in _PRODUCTS:
        return "eigenpairs"
    if task in _FEATURES:
        return "features"
    for stage, modules in _STAGES.items():
        for name in modules:
            module = import_module(f"lapwing.dask.{name}")
            for own in (task, f"_{task}"):
                if getattr(getattr(module, own, None), "__module__", "") == module.__name__:
                    return stage
    return "other"


def _first(dask_worker: Any) -> int:
    return int(dask_worker.plugins[_NAME].first)


def _peaks(dask_worker: Any) -> dict[str, int]:
    return dict(dask_worker.plugins[_NAME].peaks)


def _received(dask_worker: Any) -> dict[str, int]:
    sizes: dict[str, int] = defaultdict(int)
    for entry in dask_worker.transfer_incoming_log:
        for key, size in entry["keys"].items():
            sizes[key_split(key)] += size
    return dict(sizes)
