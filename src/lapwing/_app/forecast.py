"""Forecasts of the memory and time of fits and comparisons, and affordable amounts of evidence.

The forecast of a fit is a function of its `FitSize`. Its constants were measured on single threads
of two machines and describe an ordinary machine, where times are accurate to a factor of about
three and memory to a factor of one and a half.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from lapwing._host.threads import available_threads
from lapwing.estimators.choice import (
    choose_for_kernel_matrix,
    eigenvectors_wanted,
    gradient_traffic,
    matrix_points,
    seconds_of_columns,
)
from lapwing.estimators.s3vm import bytes_of_pairs, pairs_of_classes, seconds_of_pairs
from lapwing.losses.labeled import EpsilonInsensitive, Squared
from lapwing.model_selection.evidence import Effort
from lapwing.solvers.embedded.tube import column_threads
from lapwing.solvers.graph.registry import share_arrays

_PATH_FACTORS = 16 * 3 + 16 * 4  # factorisations, and products F'L^pF, of the default grid
_PATH_GRAPHS = 3  # searches of the default grid of LapERLS
_PATH_SYSTEMS_SECONDS = 0.5  # for its linear systems in the eigenvectors
_LBFGS_STEPS = 1000  # per column, over all stages
_STEP_SECONDS = 1.5e-5  # overhead per step
_LANDMARKS = 1000
_BALANCED_LANDMARKS, _BALANCED_PRODUCTS = 2000, 1800
_BALANCED_CLASS_SECONDS = 0.08  # overhead per class: pairs of classes are cut in Python
_COVARIANCE_FEATURES = 2000
# Multiplications up to which neighbours of points on disk are searched exactly.
_FLAT_OPERATIONS, _CODES = 1e12, 20.0
_BLOCK_BYTES = 200e6  # of row blocks and searches, whatever the number of points

# Seconds, for methods that are fitted repeatedly. BalancedGraphClassifier has a larger budget: with
# ten or thirty classes it helps most, and no faster method replaces it. From about sixty classes on
# it exceeds this budget too.
BUDGET, VOLUMES_BUDGET = 10.0, 40.0
EFFORT, ROWS = Effort(n_draws=5, max_left_out=16), 2000  # without a budget
_FEWEST = 500  # rows; fewer do not show the manifolds and clusters of most tables
# Tried in this order; finer steps would exceed the precision of the forecast.
_ROW_FRACTIONS = (1.0, 0.7, 0.5, 0.35, 0.25)
_FEW_DRAWS, _FEW_LEFT_OUT = 2, 6  # minimum; verdicts need five left-out labels
_CLOSED_FORM_FITS = 4  # cost, in fits, of trying a method that leaves out all labels in closed form
_MATRIX_ROWS = 12_000  # rows; with more no method stores an n x n matrix

# Operations per second of matrix products, and bytes per second of matrix-vector products, on an
# ordinary machine. They are constants so that a table gives the same predictions on all machines.
SPEED, TRAFFIC = 5e10, 4e10


@dataclass(frozen=True)
class FitSize:
    """Sizes that the cost of a fit depends on.

    Attributes
    ----------
    n, n_features : int
        Points, and features after one-hot encoding.
    n_columns : int
        One-vs-rest columns: 1 for two classes or regression.
    n_labels : int
        Labelled points.
    itemsize : int
        Bytes per entry of X.
    n_stored : int or None
        Number of stored entries of a sparse X; None if X is dense.
    in_blocks : bool
        Whether X stays on disk and is read in blocks.
    """

    n: int
    n_features: int
    n_columns: int = 1
    n_labels: int = 0
    itemsize: int = 8
    n_stored: int | None = None
    in_blocks: bool = False

    @property
    def width(self) -> float:
        """Cost of a product of two rows in dense features; a stored sparse number costs ten."""
        if self.n_stored is None:
            return float(self.n_features)
        return min(float(self.n_features), 10.0 * self.n_stored / max(1, self.n))


@dataclass(frozen=True)
class Forecast:
    """Forecast of the memory and time of a fit.

    Attributes
    ----------
    memory : int
        Peak memory in bytes, without the table.
    seconds : float
        Time on an ordinary machine.
    solver : str
        ``solver_`` of the fitted estimator.
    """

    memory: int
    seconds: float
    solver: str


ForecastOf: TypeAlias = Callable[[FitSize], Forecast]


def _neighbors(size: FitSize) -> float:
    """Return the operations of a neighbour search, in units of those of matrix products."""
    exact = size.n * size.n * (0.6 * size.width + 8.0)
    if not size.in_blocks or 2.0 * size.n * size.n * size.width <= _FLAT_OPERATIONS:
        return exact
    # Each point is compared with the codes of about sqrt(n) points.
    return float(_CODES * size.n**1.5 * size.width)


def manifold(size: FitSize, *, kinks: bool = False) -> Forecast:
    """Forecast a fit with a graph and the full kernel.

    Parameters
    ----------
    size : FitSize
        Size of the fit.
    kinks : bool, default=False
        Whether the loss has kinks, which need a factorisation.

    Returns
    -------
    Forecast
        Kernel and neighbours are n^2 d operations each, a factorisation n^3; the kernel matrix is
        held once for conjugate gradient and three times, in float64, for a factorisation.
    """
    n = size.n
    choice = choose_for_kernel_matrix(n, size.n_labels)
    if size.n_labels >= n:  # stopping needs predictions of unlabelled points
        choice = choice._replace(stopping=None)
    solver = "dual" if kinks else choice.shown
    kernel = 2.0 * n * n * (size.width + 20) / SPEED
    if solver == "dual":
        solve = 4.0 * n**3 / SPEED
    else:
        settling = choice.stopping is not None
        solve = gradient_traffic(n, size.n_columns, size.itemsize, settling=settling) / TRAFFIC
    memory = 3 * 8 * n * n if solver == "dual" else size.itemsize * n * n
    # Predictions for all rows compute the kernel again, in blocks.
    seconds = 0.05 + 2 * kernel + _neighbors(size) / SPEED + solve
    return Forecast(memory, seconds, solver)


def manifold_path(size: FitSize) -> Forecast:
    """Forecast a fit of a grid of settings, with the default graphs and widths.

    Parameters
    ----------
    size : FitSize
        Size of the fit.

    Returns
    -------
    Forecast
        One fit by a factorisation, and half a factorisation for each width, graph and ratio of the
        weights; four n x n matrices in float64.
    """
    n = size.n
    one = manifold(size, kinks=True)
    return Forecast(int(4.2 * 8 * n * n), one.seconds + _PATH_FACTORS * n**3 / 3 / SPEED, "dual")


def low_density(size: FitSize) -> Forecast:
    """Forecast a fit of S3VC with the full kernel.

    Parameters
    ----------
    size : FitSize
        Size of the fit.

    Returns
    -------
    Forecast
        The kernel matrix is factored, n^3 / 3, with three matrices of its size in float64, besides
        itself in float32; an iteration of L-BFGS is two products with the factor. Of several
        classes, up to 60, every pair is a problem of its own, solved four times, on a share
        2 / n_columns of the points, with the seconds by which the estimator announces long fits;
        memory contains the kernel matrix of all points, cached factors of pairs, and one pair in
        progress for each thread.
    """
    n, c = size.n, size.n_columns
    one = 2.0 * n * n * (size.width + 20) / SPEED  # the kernel matrix, or predictions
    if pairs_of_classes("auto", c):
        memory = bytes_of_pairs(n, c, size.itemsize) + available_threads() * 24 * (2.0 * n / c) ** 2
        return Forecast(int(memory), 0.05 + 2 * one + seconds_of_pairs(n, c), "lbfgs")
    steps = _LBFGS_STEPS * (_STEP_SECONDS + 2 * size.itemsize * n * n / TRAFFIC)
    seconds = 0.05 + 2 * one + n**3 / SPEED + c * steps
    copied = size.itemsize if size.itemsize < 8 else 0
    return Forecast(n * n * (24 + copied), seconds, "lbfgs")


def embedded_squared(size: FitSize) -> Forecast:
    """Forecast a fit of embedded regression with the squared loss.

    Parameters
    ----------
    size : FitSize
        Size of the fit.

    Returns
    -------
    Forecast
        Four n x n matrices and one factorisation for all columns up to the number of points from
        which landmarks are the default; row blocks and sums beyond.
    """
    n = size.n
    if n <= matrix_points(Squared()) and not size.in_blocks:
        return Forecast(int(4.2 * 8 * n * n), _graph_side(size) + 2.0 * n**3 / SPEED, "cholesky")
    solve = 4.0 * n * _LANDMARKS**2 / SPEED
    per_point = 5500.0
    if size.in_blocks:
        # The larger of graph and iterated eigenvectors, and of codes and neighbours before.
        eigenvectors = eigenvectors_wanted(size.n_columns)
        iterated = 4.0 * (3 * eigenvectors + 20) + 50 * 5
        per_point = _labels_and_answers(size) + max(iterated, 1.5 * size.n_features + 150, 90 * 5)
    return Forecast(
        int(_BLOCK_BYTES + per_point * n), _graph_side(size) + solve, "normal equations"
    )


def embedded_path(size: FitSize) -> Forecast:
    """Forecast a fit of a grid of embedded regressions, with the default graphs and widths.

    Parameters
    ----------
    size : FitSize
        Size of the fit.

    Returns
    -------
    Forecast
        Two fits for one width; neighbours and eigenpairs of three graphs; a small system for each
        setting.
    """
    one, graphs = embedded_squared(size), _PATH_GRAPHS * _graph_side(size)
    fits = 2 * (one.seconds - _graph_side(size))
    return Forecast(int(1.2 * one.memory), graphs + fits + _PATH_SYSTEMS_SECONDS, one.solver)


def embedded_tube(size: FitSize) -> Forecast:
    """Forecast a fit of embedded regression with the epsilon-insensitive loss.

    Parameters
    ----------
    size : FitSize
        Size of the fit.

    Returns
    -------
    Forecast
        As for the squared loss, but with about ten steps of the interior point method for each
        column, which keep the features of the landmarks in memory. The seconds are those by which
        the estimators announce long fits; threads share the machine's speed, and each holds
        matrices of its own.
    """
    n, c = size.n, size.n_columns
    full = n <= matrix_points(EpsilonInsensitive())
    m, rank = n if full else _LANDMARKS, min(n, eigenvectors_wanted(c))
    seconds = _graph_side(size) + seconds_of_columns(n, m, rank, c, speed=SPEED)
    matrix = 8.0 * n * n
    held = (1.2 + 3 * column_threads(c, 3 * matrix)) * matrix if full else 40.0 * _LANDMARKS * n
    return Forecast(int(held), seconds, "interior point")


def _graph_side(size: FitSize) -> float:
    """Return the seconds of the neighbours and of the graph's eigenpairs."""
    return 0.02 + (_neighbors(size) + 6e6 * size.n) / SPEED


def _labels_and_answers(size: FitSize) -> float:
    """Return the bytes per row of labels, targets, predictions and probabilities."""
    return 60.0 + 40 * size.n_columns


def anchors(size: FitSize) -> Forecast:
    """Forecast a fit of the anchor graph with its default number of anchors.

    Parameters
    ----------
    size : FitSize
        Size of the fit.

    Returns
    -------
    Forecast
        Ten rounds of k-means on up to 50 points per anchor, the distances of all points to the
        anchors, and a system of the anchors. Anchors are dense even if the points are sparse.
    """
    n, p = size.n, size.n_features
    m = min(n, int(np.clip(n // 10, 20, 1000)))
    drawn = min(n, 50 * m)
    operations = 20.0 * drawn * m * size.width + 4.0 * n * m * size.width + 10.0 * m**3
    dense_anchors = 2.0 * 8 * m * p
    points = 8.0 * n * size.width
    if size.in_blocks:
        points = max(_BLOCK_BYTES + 120.0 * n, n * _labels_and_answers(size))
    memory = dense_anchors + points + 24 * m * m + min(64e6, 8.0 * n * m)
    return Forecast(int(memory), 0.02 + operations / SPEED, "least squares")


def balanced(size: FitSize) -> Forecast:
    """Forecast a fit of the balanced flow with its default graph and landmarks.

    Parameters
    ----------
    size : FitSize
        Size of the fit.

    Returns
    -------
    Forecast
        The neighbours, about 1800 sparse products with a column for each class if volumes are not
        known (two thirds of them if known), and a regression on the landmarks.
    """
    n, c = size.n, max(2, size.n_columns)
    m = min(n, _BALANCED_LANDMARKS)
    # About 40 operations per entry: sparse products are memory-bound and take half of the time.
    flow = _BALANCED_PRODUCTS * 40.0 * 14 * n * c
    kernel = 4.0 * n * m * (size.width + 20)
    operations = _neighbors(size) + flow + kernel + 1.0 * n * m**2
    blocks = min(_BLOCK_BYTES, 16.0 * n * n)
    shares = size.itemsize * share_arrays(n, c, exact=False) * n * c
    memory = blocks + shares + 8.0 * n * (100 + 2 * size.width) + 24.0 * m * m
    seconds = 0.1 + _BALANCED_CLASS_SECONDS * c + operations / SPEED
    return Forecast(int(memory), seconds, "flow")


def eigenfunctions(size: FitSize) -> Forecast:
    """Forecast a fit of eigenfunctions with the default numbers of directions and bins.

    Parameters
    ----------
    size : FitSize
        Size of the fit.

    Returns
    -------
    Forecast
        Principal directions, and a histogram along each one.
    """
    n, p = size.n, size.n_features
    q, narrow = min(64, n, p), min(p, _COVARIANCE_FEATURES)
    operations = 8.0 * n * size.width * narrow + 4.0 * narrow**3 + 3000.0 * n * q
    memory = 8.0 * (n * (size.width + q) + narrow * narrow + 2 * p * q)
    if size.in_blocks:
        memory = max(_BLOCK_BYTES + 80.0 * n, n * _labels_and_answers(size))
        memory += 8.0 * (narrow * narrow + 2 * p * q)
    return Forecast(int(memory), 0.02 + operations / SPEED, "least squares")


@dataclass(frozen=True)
class EffortPlan:
    """Amount of evidence that a comparison gathers.

    Attributes
    ----------
    rows : int
        Largest number of rows.
    clusters, volumes : Effort or None
        Evidence for S3VC and BalancedGraphClassifier; None if they are not compared.
    """

    rows: int
    clusters: Effort | None
    volumes: Effort | None


def affordable(size: FitSize, effort: Effort = EFFORT, max_rows: int = ROWS) -> EffortPlan:
    """Reduce draws and rounds, then rows; leave out methods that still take too long.

    Parameters
    ----------
    size : FitSize
        Size of the whole table.
    effort : Effort
        Evidence without a budget.
    max_rows : int
        Rows without a budget.
    """
    few = min(effort.n_draws, _FEW_DRAWS)
    efforts = (
        effort,
        effort._replace(n_draws=few),
        Effort(few, min(effort.max_left_out, _FEW_LEFT_OUT)),
    )

    def most(forecast: ForecastOf, budget: float, rows: int) -> Effort | None:
        """Choose the most evidence of a method within a budget of seconds."""
        return next((e for e in efforts if _seconds(forecast, size, rows, e) <= budget), None)

    for clusters in (True, False):  # with many classes S3VC takes most of the time
        for fraction in _ROW_FRACTIONS:
            rows = max(min(max_rows, _FEWEST), round(fraction * max_rows))
            volumes = most(_forecast_volumes, VOLUMES_BUDGET, rows)
            plan = EffortPlan(rows, most(low_density, BUDGET, rows) if clusters else None, volumes)
            if volumes is not None and (plan.clusters is not None or not clusters):
                return plan
    return EffortPlan(max_rows, None, None)


def _forecast_volumes(size: FitSize) -> Forecast:
    """Forecast BalancedGraphClassifier, which is not compared with two classes."""
    return balanced(size) if size.n_columns > 1 else Forecast(0, 0.0, "")


def _seconds(forecast: ForecastOf, size: FitSize, rows: int, evidence: Effort) -> float:
    # A round leaves out one label of each class.
    n_classes = max(2, size.n_columns)
    n_rounds = -(-min(evidence.max_left_out, size.n_labels) // n_classes)
    n_draws = evidence.of_refits(n_classes).n_draws
    return (1 + n_draws + n_rounds) * forecast(_sample_size(size, rows)).seconds


def comparison(size: FitSize, plan: EffortPlan | None = None) -> Forecast:
    """Forecast a comparison of the default methods, and the fit of one of them.

    Parameters
    ----------
    size : FitSize
        Size of the table.
    plan : EffortPlan, default=None
        Evidence; None means what is `affordable`.

    Returns
    -------
    Forecast
        Sum of the times; largest memory.
    """
    plan = affordable(size) if plan is None else plan
    sample = _sample_size(size, plan.rows)
    tried = [manifold(sample), embedded_squared(sample)]
    seconds = _CLOSED_FORM_FITS * sum(one.seconds for one in tried)
    for forecast, evidence in ((low_density, plan.clusters), (_forecast_volumes, plan.volumes)):
        if evidence is not None:
            seconds += _seconds(forecast, size, plan.rows, evidence)
    last = [embedded_squared(size)]
    last += [_forecast_volumes(size)] if plan.volumes is not None else []
    if size.n <= _MATRIX_ROWS:
        last.append(manifold(size))
        last += [low_density(size)] if plan.clusters is not None else []
    return Forecast(
        max(one.memory for one in (*tried, *last)),
        seconds + max(one.seconds for one in last),
        "of the chosen method",
    )


def _sample_size(size: FitSize, rows: int) -> FitSize:
    """Return the size of a sample: labelled rows, and at least as many others."""
    n = min(size.n, max(rows, 2 * size.n_labels))
    stored = None if size.n_stored is None else round(size.n_stored * n / max(1, size.n))
    return replace(size, n=n, n_stored=stored)


def round_time(seconds: float) -> str:
    """Format seconds with one digit, the precision of a forecast."""
    sizes = {"d": 86400, "h": 3600, "min": 60, "s": 0}
    unit = next(unit for unit, size in sizes.items() if seconds >= size)
    value = max(seconds, 0.1) / (sizes[unit] or 1)
    digits = -math.floor(math.log10(value))
    return f"{round(value, digits):g} {unit}"
