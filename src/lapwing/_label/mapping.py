"""Neighbour map of the rows, made in a process of its own beside the page.

It takes about 20 s for 100,000 rows, and holds Python's global lock for much of it: in a thread it
would delay the answers to labels. The process has the lowest priority.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from lapwing._label.learner import PointGraph
from lapwing._label.model import LatestJob
from lapwing.graphs.layout import neighbor_map
from lapwing.plotting.drawing import principal_plane

_MAX_POINTS = 200_000  # more were not tried
_NICENESS = 19  # the lowest priority, so that the page is not slowed down


def can_map() -> bool:
    """Return whether openTSNE is installed and Python can be started (not where it is embedded)."""
    return bool(sys.executable) and find_spec("openTSNE") is not None


class MapJob:
    """Computation of a neighbour map; methods may be called from any thread.

    Parameters
    ----------
    done : callable
        Called with the coordinates of the rows, in a thread of this job. Not called if the map
        fails: the page has others.
    """

    def __init__(self, done: Callable[[NDArray[np.float64]], None]) -> None:
        self._done = done
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._job: LatestJob[tuple[PointGraph, Any]] = LatestJob(self._make, "lapwing label: map")

    def begin(self, graph: PointGraph, points: Any) -> None:
        """Start on the map of the rows `points` with this graph."""
        self._job.offer((graph, points))

    def wait(self, seconds: float) -> bool:
        """Wait until no map is being made; return whether that was within `seconds`."""
        return self._job.wait(seconds)

    def close(self) -> None:
        """End the process and the thread."""
        self._closed = True
        if self._process is not None:
            self._process.kill()
        self._job.close()

    def _make(self, given: tuple[PointGraph, Any]) -> None:
        prepared, points = given[0].prepared, given[1]
        problem = prepared.problem
        if problem.n_points > _MAX_POINTS:
            return
        start = principal_plane(points, problem.rows)[0]
        path = os.pathsep.join(filter(None, sys.path))
        with suppress(OSError):  # then there is no map
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            if self._closed:  # while the process started
                self._process.kill()
            sent = pickle.dumps((prepared.laplacian.affinity, start))
            received, _ = self._process.communicate(sent)
            if self._process.returncode == 0:
                # Equal rows are one point of the graph.
                self._done(pickle.loads(received)[problem.vertex])


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Make the map of a graph; run by the process.

    Parameters
    ----------
    source : file
        Has the pickled affinity and initial coordinates.
    target : file
        Gets the pickled coordinates.
    """
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    pickle.dump(neighbor_map(*pickle.load(source)), target)


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
