"""Linear S3VC on a cluster.

Sums over unlabelled points are computed on the workers, those over labelled points on the client.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.decoding import predict_codes
from lapwing.dask._data import Points
from lapwing.dask._engine import ClassifierOnCluster, ClusterProblem
from lapwing.dask._row_blocks import RowBlocks
from lapwing.dask._session import PerPart
from lapwing.estimators import S3VC, input_checks
from lapwing.estimators.prepared import Prepared, Stages, Targets, WantedGraph
from lapwing.estimators.s3vm import LowDensityPrepared
from lapwing.losses.base import UnlabeledLoss
from lapwing.losses.smoothed import smooth
from lapwing.objectives.low_density import (
    CenteredFeatures,
    Function,
    LowDensityObjective,
    mean_ranks,
)
from lapwing.solvers.low_density.machines import ClassObservations
from lapwing.spaces.base import Restriction, Space
from lapwing.spaces.functions import LinearFunction
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.mapped import same_coordinates

_METHODS = ("gradient", "quasi-newton")
_DOUBLED_BYTES = 2**28  # limit of a copy of the features in float64, as for points in memory


class LowDensityEngine(ClassifierOnCluster, S3VC):
    """Linear `S3VC` for points on a cluster, with one column per class."""

    _takes_sparse = True

    def _refuse(self) -> None:
        if self.method not in _METHODS:
            raise ValueError(
                f"method={self.method!r} needs a number for each unlabelled point at the client, "
                f"which clusters do not support. Use one of {', '.join(map(repr, _METHODS))}."
            )

    def _prepare(
        self, targets: Targets, problem: Any, graph: WantedGraph, progress: Stages
    ) -> LowDensityPrepared:
        X = problem.X
        if not problem.n_unlabeled:
            raise ValueError(
                "All rows of X are labelled. Use a supervised SVM, such as sklearn.svm.LinearSVC."
            )
        input_checks.check_linear_scale(np.full((1, X.shape[1]), X.largest, dtype=X.dtype))
        return Prepared(targets, problem, None, cast("Space", _ClusterSpace(X)))

    def _observe(self, problem: Any, n_classes: int) -> ClassObservations:
        return _ClusterObservations.of(problem, n_classes)


@dataclass(frozen=True, eq=False)
class _ClusterSpace:
    """Counterpart of `LinearSpace` for points on a cluster."""

    X: Points

    @property
    def n_points(self) -> int:
        return self.X.shape[0]

    @property
    def n_coef(self) -> int:
        return self.X.shape[1]

    @property
    def dtype(self) -> Any:
        return self.X.dtype

    def values(self, coef: Array) -> RowBlocks:
        return self.X.rows @ coef

    def function(self, coef: Array, intercept: Array) -> LinearFunction:
        dtype = self.dtype
        return LinearFunction(coef.astype(dtype, copy=False), intercept.astype(dtype, copy=False))


@dataclass(frozen=True, eq=False)
class _ClusterFeatures(CenteredFeatures):
    """Centred features of the points.

    Attributes
    ----------
    labeled : CenteredFeatures
        Features of the labelled points, on the client.
    points : RowBlocks
        Features of all points, on the workers.
    known : PerPart
        Labelled rows of each block.
    weights : RowBlocks of shape (n, 1) or None
        Weights of all points; None for 1.
    """

    labeled: CenteredFeatures = field(kw_only=True)
    points: RowBlocks = field(kw_only=True)
    known: PerPart = field(kw_only=True)
    weights: RowBlocks | None = field(kw_only=True)

    def rows(self, rows: Array) -> CenteredFeatures:
        return self.labeled.rows(rows)

    def in_double(self) -> CenteredFeatures:
        n, d = self.points.shape
        if self.points.dtype == np.float64 or 8 * n * d > _DOUBLED_BYTES:
            return self
        labeled = self.labeled.in_double()
        return replace(self, labeled=labeled, points=self.points.astype(np.float64))

    def in_single(self) -> CenteredFeatures:
        return self  # points keep the precision of X

    def total(self, task: Any, *others: Any) -> Any:
        """Sum a task of features and weights of unlabelled rows over the blocks."""
        return self.points.total(_pass_over_points, *self._of_blocks, task, *others)

    def collect(self, task: Any, *others: Any) -> list[Any]:
        """Return the results of such a task for each block."""
        return self.points.collect(_pass_over_points, *self._of_blocks, task, *others)

    @property
    def _of_blocks(self) -> tuple[Any, ...]:
        return self.known, self.weights, self.center


@dataclass(frozen=True, eq=False)
class _ClusterObjective(LowDensityObjective):
    """Objective whose sum over unlabelled points is computed on the workers.

    Attributes
    ----------
    unlabeled_weights : ndarray of shape (1,)
        C*, to be multiplied by the weight of each unlabelled point.
    smoothing : float
        Variance, in each coordinate of w, of the smoothing of the loss on unlabelled scores.
    """

    smoothing: float = 0.0

    @property
    def _cluster(self) -> _ClusterFeatures:
        features: Any = self.features
        return features

    @property
    def labeled_norms(self) -> Array:
        return self._cluster.labeled.squared_norms

    @property
    def largest_norm(self) -> float:
        unweighted = replace(self._cluster, weights=None)
        return float(max(unweighted.collect(_largest_norm)))

    @property
    def pull(self) -> float:
        u = self.weights * self.targets
        return float(np.linalg.norm(self._cluster.labeled.represent(u)))

    def labeled_values(self, function: Function) -> Array:
        return _scores(self._cluster.labeled, function)

    def ranks(self, function: Function, held: Array, mass: Array) -> Array:
        scores = self.labeled_values(function)[held]
        counts = self._cluster.total(_counts_below, function, scores)
        return np.asarray(counts[0] / counts[1])

    def smoothed(self, gamma: float) -> LowDensityObjective:
        return replace(self, loss=smooth(self.loss, gamma * self.labeled_norms), smoothing=gamma)

    def value(self, function: Function) -> float:
        density = self._density(function, slopes=False)[0]
        return self._with_labels(function, density)

    def gradient(self, function: Function) -> tuple[Array, float]:
        return self.value_and_gradient(function)[1:]

    def value_and_gradient(self, function: Function) -> tuple[float, Array, float]:
        density, total, pulled = self._density(function, slopes=True)
        f = self.labeled_values(function)
        slopes = 2 * self.weights * self.loss.derivative(self.targets, f)
        w = function.coef + self._cluster.labeled.represent(slopes) + pulled
        return self._with_labels(function, density), w, float(slopes.sum() + total)

    def _with_labels(self, function: Function, density: float) -> float:
        losses = self.loss.value(self.targets, self.labeled_values(function))
        w = function.coef
        return float(w @ w / 2 + 2 * self.weights @ losses + density)

    def _density(self, function: Function, *, slopes: bool) -> tuple[float, float, Any]:
        """Return C* times the sums of the losses on unlabelled scores, slopes, and gradients."""
        found = self._cluster.total(
            _density_of, function, self.unlabeled_loss, self.smoothing, slopes
        )
        C_star = float(self.unlabeled_weights[0])
        return C_star * found[0], C_star * found[1], C_star * found[2]

    def supervised(self) -> LowDensityObjective:
        return LowDensityObjective(
            self._cluster.labeled,
            self.loss,
            self.unlabeled_loss,
            self.index,
            self.targets,
            self.weights,
            self.index[:0],
            np.zeros(0),
            self.bias,
        )


@dataclass(frozen=True, eq=False)
class _ClusterObservations(ClassObservations):
    """Observations whose unlabelled points stay on the workers.

    Attributes
    ----------
    X : Points
    rows : ndarray of shape (l,)
        Rows of the labelled points; `index` refers to them.
    labeled : LinearSpace
        The labelled points.
    weights_of_all : RowBlocks of shape (n, 1) or None
    moments : (ndarray of shape (d,), float)
        Weighted sum of the unlabelled points, and of their weights.
    """

    X: Points
    rows: Array
    labeled: LinearSpace
    weights_of_all: RowBlocks | None
    moments: tuple[Array, float]

    _objective = _ClusterObjective

    @classmethod
    def of(cls, problem: ClusterProblem, n_classes: int) -> _ClusterObservations:
        index, rows = np.arange(len(problem.index)), problem.index
        codes, X, weights = predict_codes(problem.targets), problem.X, problem.weights_of_all
        if weights is not None and (least := min(weights.collect(_least))) < 0:
            raise ValueError(
                f"sample_weight must not be negative: the smallest is {least}. S3VC weighs "
                "unlabelled rows as well."
            )
        return cls(
            index=index,
            codes=codes,
            weights=problem.weights,
            unlabeled=index[:0],
            unlabeled_weights=np.ones(1),
            n_classes=n_classes,
            X=X,
            rows=rows,
            labeled=LinearSpace(X[rows]),
            weights_of_all=weights,
            moments=X.rows.total(_weighted_sum, X.rows.at(rows), weights),
        )

    @property
    def n_unlabeled(self) -> int:
        return self.X.shape[0] - len(self.rows)

    @property
    def mass(self) -> float:
        return self.moments[1]

    @property
    def center(self) -> Array:
        """Mean of the unlabelled points, or of the labelled ones if all others have weight 0."""
        if self.mass > 0:
            return self.moments[0] / self.mass
        return np.asarray(self.weights @ self.labeled.X / self.weights.sum())

    def whole(self, space: Any) -> Restriction:
        return same_coordinates(space)

    def mean(self, objective: LowDensityObjective, function: Function) -> float:
        shift = 0.0 if objective.features.center is None else objective.features.center
        return float((self.center - shift) @ function.coef + function.intercept)

    def features(self, space: Any, *, centered: bool) -> _ClusterFeatures:
        center = self.center if centered else None
        return _ClusterFeatures(
            space,
            center,
            labeled=CenteredFeatures(self.labeled, center),
            points=self.X.rows,
            known=self.X.rows.at(self.rows),
            weights=self.weights_of_all,
        )


def _pass_over_points(
    block: Any,
    known: tuple[Array, Array],
    weights: Array | None,
    center: Array | None,
    task: Callable[..., Any],
    *others: Any,
) -> Any:
    """Apply a task to the features of a block and the weights of its unlabelled rows."""
    features = CenteredFeatures(LinearSpace(block), center)
    return task(features, _unlabeled_weights(block, known, weights), *others)


def _unlabeled_weights(block: Any, known: tuple[Array, Array], weights: Array | None) -> Array:
    """Return the weight of each unlabelled row, 0 for the others."""
    others = np.ones(block.shape[0]) if weights is None else weights[:, 0].copy()
    others[known[1]] = 0.0
    return others


def _least(weights: Array) -> float:
    return float(weights.min(initial=0.0))


def _weighted_sum(
    block: Any, known: tuple[Array, Array], weights: Array | None
) -> tuple[Array, float]:
    others = _unlabeled_weights(block, known, weights)
    return np.asarray(block.T @ others, dtype=np.float64), float(others.sum())


def _scores(features: CenteredFeatures, function: Function) -> Array:
    return features.values(function.coef) + function.intercept


def _density_of(
    features: CenteredFeatures,
    others: Array,
    function: Function,
    loss: UnlabeledLoss,
    smoothing: float,
    slopes: bool,
) -> tuple[float, float, Any]:
    if smoothing > 0:
        loss = smooth(loss, smoothing * features.squared_norms)
    f = _scores(features, function)
    value = float(others @ loss.value(f))
    if not slopes:
        return value, 0.0, 0.0
    u = others * loss.derivative(f)
    return value, float(u.sum()), features.represent(u)


def _largest_norm(features: CenteredFeatures, others: Array) -> float:
    return float((features.squared_norms * others).max(initial=0.0))


def _counts_below(
    features: CenteredFeatures, others: Array, function: Function, scores: Array
) -> tuple[Array, float]:
    """Sum the weights of the unlabelled points below scores, with half of the ties, and of all."""
    f = _scores(features, function)
    order = np.argsort(f, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(others[order])])
    return mean_ranks(scores, f[order], below), float(below[-1])
