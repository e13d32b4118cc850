"""Memory that parting a graph takes: forecast, so that too much of it is refused."""

from __future__ import annotations

from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.graph.descent import n_side_by_side
from lapwing.solvers.graph.order import order_bytes

# Arrays of a number for every point and class that are alive at once, measured: 18 for known
# volumes, 25 with the several starts for unknown ones, 32 where two threads share these.
_KNOWN, _STARTS, _BESIDE = 22, 30, 6
_MOST_BESIDE = 4


def partition_bytes(problem: VolumeProblem) -> float:
    """Memory that parting a graph takes, beside the graph as it came."""
    n, c = problem.n_points, problem.n_classes
    shares = float(problem.graph.dtype.itemsize) * n * c
    return share_arrays(n, c, exact=problem.exact) * shares + order_bytes(problem)


def share_arrays(n_points: int, n_classes: int, *, exact: bool) -> int:
    """Arrays of the size of the shares (n, c) that parting a graph holds at most.

    Parameters
    ----------
    n_points, n_classes : int
    exact : bool
        Whether the volumes are known.
    """
    if exact:
        return _KNOWN
    beside = min(n_side_by_side(n_points * n_classes), _MOST_BESIDE)
    return _STARTS + (_BESIDE * beside if beside > 1 else 0)
