"""The first classes of all points: Poisson learning with a leak, balanced."""

from __future__ import annotations

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.balance import balance
from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.graph.resolvent import shifted_solve

SOFTEST = 0.7  # softness of volumes that are not known, to begin with
_LEAK = 1e-3
_TOL = 1e-3
_MAX_ITER = 1000
_ROUGH = 1e-4  # tolerance of the volumes


def temperature_of(problem: VolumeProblem) -> float:
    """T of the shares of a problem."""
    return min(0.1, 1 / problem.n_classes)


def reach_of(problem: VolumeProblem) -> tuple[Array, int]:
    """Poisson learning with a leak, at a size of about one, and products with the graph.

    Without the leak the system is singular, and on graphs of several parts it has no solution.
    """
    graph, labels = problem.graph, problem.labels
    source = np.zeros((problem.n_points, problem.n_classes))
    mean = problem.weights @ labels / problem.weights.sum()
    source[problem.index] = problem.weights[:, None] * (labels - mean)
    solved = shifted_solve(graph, _LEAK * graph.masses, 1.0, source, tol=_TOL, max_iter=_MAX_ITER)
    return scaled(solved.x), solved.n_iter


def scaled(values: Array) -> Array:
    """Values (n, c) at a size of about one, as first classes are taken of."""
    unit = float(values.std(dtype=np.float64)) * np.sqrt(values.shape[1])
    return np.asarray(values / values.dtype.type(unit if unit > 0 else 1.0))


def first_codes(problem: VolumeProblem, reach: Array) -> Array:
    """Classes of all points by the reach of the labels, balanced."""
    softness = np.inf if problem.exact else SOFTEST
    found = balance(
        reach, problem.prior, temperature_of(problem), softness, masses=problem.sizes, tol=_ROUGH
    )
    return np.asarray((reach + found.offsets).argmax(axis=1))


def believed_volumes(labels: Array) -> Array:
    """Volumes that the numbers of labels say, with half a label more of each class.

    The mean of what is believed after labels of points drawn at random, by Jeffreys' prior. Equal
    numbers, such as one label a class, make equal volumes.

    Parameters
    ----------
    labels : ndarray of shape (l, c)
        Shares of the classes at labelled points.
    """
    counts = (labels > 0).sum(axis=0) + 0.5
    return np.asarray(counts / counts.sum())
