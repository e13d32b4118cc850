"""Methods that solve linear systems with the Laplacian, and the start of the flow.

Laplace learning (harmonic functions), Poisson learning, random walks with restarts, and the
resolvent that the flow and threshold dynamics use.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.balance import balance
from lapwing.linalg import column_dot
from lapwing.objectives.volumes import GraphOperator, Scale, VolumeProblem
from lapwing.solvers.base import Status
from lapwing.solvers.conjugate_gradient import Solved, conjugate_gradient
from lapwing.solvers.graph.partition import (
    COLUMNS,
    Partition,
    assigned,
    by_columns,
    label_shares,
    positive_shares,
    recorded,
    soft_shares,
)

SOFTEST = 0.7  # initial tau for unknown volumes, the largest of the prototype
_LEAK = 1e-3  # of the prototype; errors without it are up to 90 % on disconnected graphs
_START_TOL = 1e-3
_START_MAX_ITER = 1000
_ROUGH = 1e-4  # tolerance of the volumes

# The next shares are a softmax of these values at a temperature of at most a tenth: more digits do
# not change the partition.
TOL = 1e-2
_RESOLVENT_MAX_ITER = 500
_STEP = 2.0  # ratio of the scales between which the contrast is interpolated
_FINEST, _COARSEST = 2.0**-6, 2.0**16
_ENOUGH = 0.01  # if the contrast decreases by less in two steps, it has reached its limit

_TOL = 1e-5
_MAX_ITER = 5000

_LEAST, _MOST = 50, 1000  # numbers of steps, as in the authors' code

_ALPHA = 0.95  # default of GraphLearning's `randomwalk`
_WALK_MAX_ITER = 1000


def temperature_of(problem: VolumeProblem) -> float:
    """Return the temperature T of the shares of a problem."""
    return min(0.1, 1 / problem.n_classes)


def reach_of(problem: VolumeProblem) -> tuple[Array, int]:
    """Compute Poisson learning with a leak, scaled to about one, and the number of products.

    Without the leak the system is singular, and has no solution on disconnected graphs.
    """
    graph, labels = problem.graph, problem.labels
    source = np.zeros((problem.n_points, problem.n_classes), dtype=graph.dtype)
    mean = label_shares(problem)
    source[problem.index] = problem.weights[:, None] * (labels - mean)
    solved = shifted_solve(
        graph, _LEAK * graph.masses, 1.0, source, tol=_START_TOL, max_iter=_START_MAX_ITER
    )
    return scaled(solved.x), solved.n_iter


def scaled(values: Array) -> Array:
    """Scale values (n, c) to a standard deviation of about one, as `first_codes` needs them."""
    unit = float(values.std(dtype=np.float64)) * np.sqrt(values.shape[1])
    return np.asarray(values / values.dtype.type(unit if unit > 0 else 1.0))


def first_codes(problem: VolumeProblem, reach: Array) -> Array:
    """Return the classes of all points by balanced values of `reach_of`."""
    softness = np.inf if problem.exact else SOFTEST
    found = balance(
        reach, problem.prior, temperature_of(problem), softness, masses=problem.sizes, tol=_ROUGH
    )
    return np.asarray((reach + found.offsets).argmax(axis=1))


def jeffreys_prior(labels: Array) -> Array:
    """Estimate volumes by the numbers of labels plus half a label for each class.

    This is the posterior mean under Jeffreys' prior if the labelled points were drawn at random.
    Equal numbers, such as one label per class, give equal volumes.

    Parameters
    ----------
    labels : ndarray of shape (l, c)
        Shares of the classes at labelled points.
    """
    counts = (labels > 0).sum(axis=0) + 0.5
    return np.asarray(counts / counts.sum())


def shifted_solve(
    graph: GraphOperator,
    diagonal: Array,
    s: float,
    right: Array,
    *,
    held: Array | None = None,
    start: Array | None = None,
    tol: float = TOL,
    max_iter: int = _RESOLVENT_MAX_ITER,
) -> Solved:
    """Solve (diag + sL) F = right, with some rows of F fixed at 0.

    Parameters
    ----------
    graph : GraphOperator
    diagonal : ndarray of shape (n,)
        Entries >= 0; at least one is > 0 in each component without a fixed row.
    s : float
        Scale > 0.
    right : ndarray of shape (n, c)
        Fixed rows are ignored.
    held : ndarray of int, optional
        Rows fixed at 0, whose equations are left out; none by default.
    start : ndarray of shape (n, c), optional
        0 in fixed rows.
    tol : float
        Tolerance of the residual relative to the right-hand side.
    """
    right = right.astype(graph.dtype, copy=held is not None)
    if held is not None:
        right[held] = 0
    whole = (diagonal + s * graph.degrees).astype(graph.dtype)  # the diagonal of diag + sD - sW
    # Removing the held rows would copy the block twice in every product.
    apply = graph.shifted(diagonal, s, held)

    x, residual = np.empty_like(right), np.empty_like(right)

    def solve(columns: slice) -> Solved:
        begin = None if start is None else start[:, columns]
        found = conjugate_gradient(
            apply, right[:, columns], whole, start=begin, tol=tol, max_iter=max_iter
        )
        x[:, columns], residual[:, columns] = found.x, found.residual
        return found._replace(x=x, residual=residual)

    n, c = right.shape
    parts = by_columns(n, c, solve)
    return Solved(
        x,
        np.concatenate([part.optimality for part in parts]),
        max(part.n_iter for part in parts),
        next((part.status for part in parts if part.status != Status.CONVERGED), Status.CONVERGED),
        residual,
    )


def resolvent(
    problem: VolumeProblem, shares: Array, s: float, *, start: Array | None = None, tol: float = TOL
) -> Solved:
    """Compute the resolvent F of shares at a scale, from (D + clamp + sL) F = D Q + pull."""
    right = _resolvent_source(problem, shares)
    diagonal = problem.graph.masses + problem.clamp
    if shares.shape[1] != 2:
        return shifted_solve(problem.graph, diagonal, s, right, start=start, tol=tol)
    # Rows of F sum to one, like those of Q and Y, so that one of two columns is enough.
    begin = None if start is None else start[:, 1:]
    found = shifted_solve(problem.graph, diagonal, s, right[:, 1:], start=begin, tol=tol)
    x = np.hstack([1 - found.x, found.x])
    residual = np.hstack([-found.residual, found.residual])
    return found._replace(x=x, residual=residual, optimality=np.tile(found.optimality, 2))


def _resolvent_source(problem: VolumeProblem, shares: Array) -> Array:
    """Compute D Q + pull (n, c)."""
    right = problem.graph.masses.astype(shares.dtype)[:, None] * shares
    right[problem.index] += problem.pull.astype(right.dtype)
    return np.asarray(right)


def scales_of_contrast(
    problem: VolumeProblem, shares: Array, wanted: Sequence[float]
) -> tuple[list[Scale], int]:
    """Find the scales at which the resolvent of shares has given contrasts.

    The contrast is |F - mean| / |Q - mean| in the metric of the degrees: 1 at the scale 0,
    decreasing with the scale. So scales do not depend on the units of the weights and the density
    of the graph. On disconnected graphs the contrast has a positive limit; for contrasts below it,
    the scale at which the limit is nearly reached is returned, with its contrast.

    Parameters
    ----------
    problem : VolumeProblem
    shares : ndarray of shape (n, c)
    wanted : sequence of float
        Contrasts between 0 and 1, ascending, that is, from the coarsest scale to the finest.

    Returns
    -------
    scales : list of Scale
    n_iter : int
        Products with the graph.
    """
    graph, diagonal = problem.graph, problem.graph.masses + problem.clamp
    spread = partial(_spread, graph.masses)
    right = _few_columns(_resolvent_source(problem, shares))
    whole = spread(_few_columns(shares))
    if not whole > 0:
        return [Scale(1.0, 1.0) for _ in wanted], 0
    positions, contrasts = [], []
    s, F, n_iter = _FINEST, None, 0
    while s <= _COARSEST:
        found = shifted_solve(graph, diagonal, s, right, start=F)
        F, n_iter = found.x, n_iter + found.n_iter
        positions.append(np.log(s))
        contrasts.append(spread(F) / whole)
        falls = len(contrasts) < 3 or contrasts[-3] - contrasts[-1] > _ENOUGH
        if contrasts[-1] < wanted[0] or (s > 1 and not falls):
            break
        s *= _STEP
    # `np.interp` requires ascending values.
    falling = np.minimum.accumulate(contrasts)[::-1]
    at = np.interp(wanted, falling, np.array(positions)[::-1])
    left = np.maximum(wanted, falling[0])
    return [Scale(float(np.exp(x)), float(c)) for x, c in zip(at, left, strict=True)], n_iter


def _few_columns(values: Array) -> Array:
    """Project values (n, c) to at most `COLUMNS` columns, to measure spreads up to a factor.

    For two classes one column is enough, as rows of shares and of their resolvent sum to one. With
    more classes than columns the columns are sums with random signs: their squares differ from
    those of the values only by products of two classes, which have few points in common.
    """
    c = values.shape[1]
    if c <= COLUMNS:
        return values[:, 1:] if c == 2 else values
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (c, COLUMNS))
    return np.asarray(values @ signs.astype(values.dtype))


def _spread(masses: Array, F: Array) -> float:
    """Compute |F - mean| in the metric of the degrees."""
    centred = F - (masses @ F / masses.sum()).astype(F.dtype)
    return float(np.sqrt(masses @ np.einsum("ij,ij->i", centred, centred)))


def harmonic(problem: VolumeProblem) -> Solved:
    """Compute harmonic functions (n, c), which have the labels as values at labelled points.

    Components without a label get the class proportions of all labels.
    """
    graph, index = problem.graph, problem.index
    mean = label_shares(problem)
    values = np.zeros((problem.n_points, problem.n_classes), dtype=graph.dtype)
    values[index] = problem.labels - mean
    right = graph.neighbors(values)
    alone = graph.masses - graph.degrees  # > 0 for isolated points, whose rows of L are 0
    found = shifted_solve(graph, alone, 1.0, right, held=index, tol=_TOL, max_iter=_MAX_ITER)
    values += found.x
    values += mean.astype(graph.dtype)
    return found._replace(x=values)


def laplace(problem: VolumeProblem) -> Partition:
    """Partition the points by harmonic functions."""
    found = harmonic(problem)
    energy = float(column_dot(found.x, problem.graph.laplacian(found.x)).sum() / 2)
    scores = assigned(problem, found.x)
    return Partition(
        scores,
        energy,
        float(found.optimality.max(initial=0.0)),
        max(1, found.n_iter),
        found.status,
        recorded([energy]),
        shares=positive_shares(problem, scores),
    )


def poisson(problem: VolumeProblem) -> Partition:
    """Partition the points by Poisson learning."""
    U, n_iter, mixed = poisson_values(problem)
    source = _source(problem)
    energy = _energy(problem, U, source)
    mean = label_shares(problem)
    scores = U * (problem.prior / mean) if problem.exact else U
    scores = _scaled_to_one(problem, source, scores, mean)
    unit = float(np.abs(scores).mean(dtype=np.float64)) or 1.0
    scores = assigned(problem, scores)
    status = Status.CONVERGED if mixed <= 1 / problem.n_points else Status.MAX_ITER
    return Partition(
        scores,
        energy,
        mixed,
        n_iter,
        status,
        recorded([energy]),
        shares=soft_shares(problem, scores, unit),
    )


def poisson_values(problem: VolumeProblem) -> tuple[Array, int, float]:
    """Compute U (n, c), the number of steps and the distance of the walk from its limit.

    The distance is the largest absolute difference. Components in which all sources vanish have
    U = 0 and are left out of it: on a component of two points the walk alternates for ever.
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
    """Compute the sources Y - mean y at the labels, with means over each component."""
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
    """Compute the limit of the walk: in proportion to the degrees in each component."""
    graph = problem.graph
    labels = graph.component_labels
    begun = np.bincount(labels, walker[:, 0])
    mass = np.bincount(labels, graph.masses)
    return (graph.masses * (begun / mass)[labels])[:, None]


def _scaled_to_one(problem: VolumeProblem, source: Array, scores: Array, mean: Array) -> Array:
    """Scale values to about one; where all sources vanish, use shares of labels minus their mean.

    U has the unit of an inverse edge weight, and shares have none: without the scaling the result
    would depend on the unit of the weights.
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
    """Return the mask of the points in components with sources."""
    labels = problem.graph.component_labels
    active = np.zeros(int(labels.max()) + 1, dtype=bool)
    active[labels[problem.index[source[problem.index].any(axis=1)]]] = True
    return np.asarray(active[labels])


def _energy(problem: VolumeProblem, U: Array, source: Array) -> float:
    """Compute 1/2 tr U'LU - tr U'source."""
    quadratic = (U * problem.graph.laplacian(U)).sum(dtype=np.float64)
    return float(quadratic / 2 - (U * source).sum(dtype=np.float64))


def random_walk(problem: VolumeProblem) -> Partition:
    """Partition the points by the visits of random walks from the labels of each class."""
    graph, mean = problem.graph, label_shares(problem)
    weighted = problem.weights[:, None] * problem.labels
    right = np.zeros((problem.n_points, problem.n_classes), dtype=graph.dtype)
    right[problem.index] = weighted / weighted.sum(axis=0)
    # (1 - alpha) D + alpha L = D - alpha W.
    leak = (1 - _ALPHA) * graph.masses
    found = shifted_solve(graph, leak, _ALPHA, right, tol=_TOL, max_iter=_WALK_MAX_ITER)
    visits = np.maximum(found.x, 0).astype(np.float64)
    total = visits.sum(axis=1, keepdims=True)
    reached = total > 0
    shares = np.where(reached, visits / np.where(reached, total, 1.0), mean)
    scores = assigned(problem, shares)
    quadratic = float((found.x * (right + found.residual)).sum(dtype=np.float64))
    energy = -quadratic / 2  # minimum of 1/2 tr F'(D - alpha W)F - tr F'Y
    return Partition(
        scores,
        energy,
        float(found.optimality.max()),
        max(1, found.n_iter),
        found.status,
        recorded([energy]),
        shares=positive_shares(problem, scores),
    )
