r"""Poisson learning: labels as sources and sinks of a flow along the edges.

.. math:: L U = \sum_{i \in \mathrm{labelled}} (y_i - \bar y)\, \delta_i, \qquad \sum_i d_i u_i = 0

(J. Calder, B. Cook, M. Thorpe and D. Slepcev, "Poisson learning: graph based semi-supervised
learning at very low label rates", International Conference on Machine Learning, 1306-1316, 2020),
by their Algorithm 1: the iteration U <- U + D^-1 (source - L U), stopped when a walk from the
labels is within 1/n of its limit, and not before 50 steps. Where a prior is known, columns are
multiplied by the prior over the shares of the labels, as their decision does.

The iteration has no limit unless the sources sum to 0 on every part of the graph that hangs
together, and published codes return noise then. So they are centred on every part by itself. A part
with labels of one class belongs to that class, one without any to the classes in the shares of the
labels.
"""

from __future__ import annotations

import numpy as np

from lapwing._arrays import Array
from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.base import Status
from lapwing.solvers.graph.partition import Descent, Partition, assigned, label_shares, soft_shares

_LEAST, _MOST = 50, 1000  # steps, as in the authors' code


def poisson(problem: VolumeProblem) -> Partition:
    """Part the points by Poisson learning."""
    U, n_iter, mixed = poisson_values(problem)
    source = _source(problem)
    energy = _energy(problem, U, source)
    mean = label_shares(problem)
    scores = U * (problem.prior / mean) if problem.exact else U
    scores = _in_one_unit(problem, source, scores, mean)
    unit = float(np.abs(scores).mean(dtype=np.float64)) or 1.0
    scores = assigned(problem, scores)
    status = Status.CONVERGED if mixed <= 1 / problem.n_points else Status.MAX_ITER
    return Partition(
        scores,
        soft_shares(problem, scores, unit),
        energy,
        (Descent("poisson", (energy,)),),
        n_iter,
        status,
        mixed,
    )


def poisson_values(problem: VolumeProblem) -> tuple[Array, int, float]:
    """U (n, c), the steps and how far the walk is from its limit (largest entry).

    Parts of the graph in which all sources vanish have U = 0, wherever the walk is there: on two
    points it goes to and fro for ever.
    """
    graph = problem.graph
    d = graph.masses.astype(graph.dtype)[:, None]
    source = _source(problem)
    reached = _reached(problem, source)
    source = source.astype(graph.dtype)
    walker = np.zeros((problem.n_points, 1), dtype=graph.dtype)
    walker[problem.index] = 1 / len(problem.index)
    limit = _limit(problem, walker)
    U = np.zeros_like(source)
    n_iter, gap = 0, np.inf
    while n_iter < _LEAST or (gap > 1 / problem.n_points and n_iter < _MOST):
        step = graph.laplacian(U)
        np.subtract(source, step, out=step)
        step /= d
        U += step
        walker -= graph.laplacian(walker / d)
        gap = float(np.abs(walker - limit)[reached].max(initial=0.0))
        n_iter += 1
    labels = graph.component_labels
    n_parts = int(labels.max()) + 1
    mass = np.bincount(labels, graph.masses, n_parts)
    for column in U.T:
        column -= (np.bincount(labels, graph.masses * column, n_parts) / mass)[labels]
    return U, n_iter, gap


def _source(problem: VolumeProblem) -> Array:
    """Y - mean y at the labels, the mean over those of their part of the graph."""
    parts = problem.graph.component_labels[problem.index]
    n_parts = int(parts.max()) + 1
    weights = np.bincount(parts, problem.weights, n_parts)
    found = np.zeros((problem.n_points, problem.n_classes))
    for column, y in zip(found.T, problem.labels.T, strict=True):
        total = np.bincount(parts, problem.weights * y, n_parts)
        mean = total[parts] / weights[parts]
        column[problem.index] = problem.weights * (y - mean)
    return found


def _limit(problem: VolumeProblem, walker: Array) -> Array:
    """Where the walk ends: the degrees, by the labels of every part."""
    graph = problem.graph
    labels = graph.component_labels
    begun = np.bincount(labels, walker[:, 0])
    mass = np.bincount(labels, graph.masses)
    return (graph.masses * (begun / mass)[labels])[:, None]


def _in_one_unit(problem: VolumeProblem, source: Array, scores: Array, mean: Array) -> Array:
    """Values at a size of about one; where all sources vanish, shares over their mean.

    U is in units of one over a weight, which shares are not: side by side the answer would depend
    on the units of the graph.
    """
    labels, reached = problem.graph.component_labels, _reached(problem, source)
    unit = float(np.abs(scores[reached]).mean(dtype=np.float64)) if reached.any() else 1.0
    scores = scores / scores.dtype.type(unit)
    if reached.all():
        return np.asarray(scores)
    shares = np.tile(mean, (int(labels.max()) + 1, 1))
    for part in np.unique(labels[problem.index]):
        held = problem.labels[labels[problem.index] == part]
        shares[part] = held.mean(axis=0)
    return np.asarray(np.where(reached[:, None], scores, (shares - mean)[labels]))


def _reached(problem: VolumeProblem, source: Array) -> Array:
    """Points of the parts of the graph with sources."""
    labels = problem.graph.component_labels
    active = np.zeros(int(labels.max()) + 1, dtype=bool)
    active[labels[problem.index[source[problem.index].any(axis=1)]]] = True
    return np.asarray(active[labels])


def _energy(problem: VolumeProblem, U: Array, source: Array) -> float:
    """1/2 tr U'LU - tr U'source."""
    quadratic = (U * problem.graph.laplacian(U)).sum(dtype=np.float64)
    return float(quadratic / 2 - (U * source).sum(dtype=np.float64))
