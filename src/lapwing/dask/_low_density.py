"""Linear S3VC on a cluster.

Sums over unlabelled points are computed on the workers, those over labelled points on the client.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.decoding import predict_codes
from lapwing.dask._engine import ClassifierOnCluster, ClusterProblem
from lapwing.dask._row_blocks import RowBlocks, RowView
from lapwing.dask._session import PerPart
from lapwing.estimators import S3VC, input_checks
from lapwing.estimators.prepared import Prepared, Stages, Targets
from lapwing.estimators.s3vm import LowDensityPrepared, choose_unlabeled_loss
from lapwing.losses.base import UnlabeledLoss
from lapwing.losses.smoothed import smooth
from lapwing.objectives.low_density import (
    CenteredFeatures,
    Function,
    LowDensityObjective,
    mean_ranks,
)
from lapwing.solvers.low_density.machines import ClassObservations
from lapwing.spaces.base import Restriction
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.mapped import same_coordinates

_METHODS = ("gradient", "quasi-newton")
_DOUBLED_BYTES = 2**28  # limit of a copy of the features in float64, as for points in memory


class LowDensityEngine(ClassifierOnCluster, S3VC):
    """Linear `S3VC` for points on a cluster, with one column per class."""

    _takes_sparse = True

    def _refuse(self) -> None:
        loss = choose_unlabeled_loss(self.unlabeled_loss, self.method, float(self.s))
        if self.method not in _METHODS or not loss.kind.differentiable:
            raise ValueError(
                f"method={self.method!r} with unlabeled_loss={self.unlabeled_loss!r} needs a "
                "number for each unlabelled point at the client, which clusters do not support. "
                f"Use one of {', '.join(map(repr, _METHODS))} and a differentiable loss."
            )

    def _prepare(self, targets: Targets, problem: Any, progress: Stages) -> LowDensityPrepared:
        X = problem.X
        if not problem.n_unlabeled:
            raise ValueError(
                "All rows of X are labelled. Use a supervised SVM, such as sklearn.svm.LinearSVC."
            )
        input_checks.check_linear_scale(np.full((1, X.shape[1]), X.largest, dtype=X.dtype))
        return Prepared(targets, problem, None, LinearSpace(X.rows))

    def _observe(self, problem: Any, n_classes: int) -> ClassObservations:
        return _ClusterObservations.of(problem, n_classes)


@dataclass(frozen=True, eq=False)
class _ClusterFeatures(CenteredFeatures):
    """Centred features of the points; those of the labelled ones are on the client.

    Attributes
    ----------
    space : LinearSpace
        Its X are the `RowBlocks` of all points.
    labeled : CenteredFeatures
        Features of the labelled points.
    known : PerPart
        Labelled rows of each block.
    weights : RowBlocks of shape (n, 1) or None
        Weights of all points; None for 1.
    """

    labeled: CenteredFeatures = field(kw_only=True)
    known: PerPart = field(kw_only=True)
    weights: RowBlocks | None = field(kw_only=True)

    @cached_property
    def of_blocks(self) -> RowView:
        """Features of each block, with the weights of its unlabelled rows."""
        points: RowBlocks = self.space.features
        return points.view(_features_of, self.known, self.weights, self.center)

    def rows(self, rows: Array) -> CenteredFeatures:
        return self.labeled.rows(rows)

    def in_double(self) -> CenteredFeatures:
        points: RowBlocks = self.space.features
        n, d = points.shape
        if points.dtype == np.float64 or 8 * n * d > _DOUBLED_BYTES:
            return self
        doubled = LinearSpace(points.astype(np.float64))
        return replace(self, space=doubled, labeled=self.labeled.in_double())

    def in_single(self) -> CenteredFeatures:
        return self  # points keep the precision of X


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
    def _features(self) -> _ClusterFeatures:
        features: Any = self.features
        return features

    @cached_property
    def _of_labels(self) -> LowDensityObjective:
        """The objective without its sum over unlabelled points."""
        return LowDensityObjective(
            self._features.labeled,
            self.loss,
            self.unlabeled_loss,
            self.index,
            self.targets,
            self.weights,
            self.index[:0],
            np.zeros(0),
            self.bias,
        )

    def supervised(self) -> LowDensityObjective:
        return self._of_labels

    @property
    def labeled_norms(self) -> Array:
        return self._of_labels.labeled_norms

    @property
    def largest_norm(self) -> float:
        unweighted = replace(self._features, weights=None)
        return float(max(unweighted.of_blocks.collect(_largest_norm)))

    @property
    def pull(self) -> float:
        return self._of_labels.pull

    def labeled_values(self, function: Function) -> Array:
        return self._of_labels.labeled_values(function)

    def ranks(self, function: Function, held: Array, mass: Array) -> Array:
        scores = self.labeled_values(function)[held]
        below, whole = self._features.of_blocks.total(_counts_below, function, scores)
        return np.asarray(below / whole)

    def smoothed(self, gamma: float) -> LowDensityObjective:
        return replace(self, loss=smooth(self.loss, gamma * self.labeled_norms), smoothing=gamma)

    def value(self, function: Function) -> float:
        return self._of_labels.value(function) + self._density(function, slopes=False)[0]

    def value_and_gradient(self, function: Function) -> tuple[float, Array, float]:
        value, w, slope = self._of_labels.value_and_gradient(function)
        density, pulled, pushed = self._density(function, slopes=True)
        return value + density, w + pulled, slope + pushed

    def _density(self, function: Function, *, slopes: bool) -> tuple[float, Any, float]:
        """Return the sum of the losses on unlabelled scores, and its gradients if wanted."""
        found = self._features.of_blocks.total(
            _density_of, function, self.unlabeled_loss, self.smoothing, slopes
        )
        C_star = float(self.unlabeled_weights[0])
        return C_star * found[0], C_star * found[1], C_star * found[2]


@dataclass(frozen=True, eq=False)
class _ClusterObservations(ClassObservations):
    """Observations whose unlabelled points stay on the workers.

    Attributes
    ----------
    points : RowBlocks
        All points.
    known : PerPart
        Labelled rows of each block.
    labeled : LinearSpace
        The labelled points, to which `index` refers.
    weights_of_all : RowBlocks of shape (n, 1) or None
    moments : (ndarray of shape (d,), float)
        Weighted sum of the unlabelled points, and of their weights.
    """

    points: RowBlocks
    known: PerPart
    labeled: LinearSpace
    weights_of_all: RowBlocks | None
    moments: tuple[Array, float]

    _objective = _ClusterObjective

    @classmethod
    def of(cls, problem: ClusterProblem, n_classes: int) -> _ClusterObservations:
        points, weights = problem.X.rows, problem.weights_of_all
        if weights is not None and (least := min(weights.collect(_least))) < 0:
            raise ValueError(
                f"sample_weight must not be negative: the smallest is {least}. S3VC weighs "
                "unlabelled rows as well."
            )
        index, known = np.arange(len(problem.index)), points.at(problem.index)
        return cls(
            index=index,
            codes=predict_codes(problem.targets),
            weights=problem.weights,
            unlabeled=index[:0],
            unlabeled_weights=np.ones(1),
            n_classes=n_classes,
            points=points,
            known=known,
            labeled=LinearSpace(points[problem.index]),
            weights_of_all=weights,
            moments=points.total(_weighted_sum, known, weights),
        )

    @property
    def n_unlabeled(self) -> int:
        return self.points.shape[0] - len(self.index)

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
            known=self.known,
            weights=self.weights_of_all,
        )


_Unlabeled: TypeAlias = tuple[CenteredFeatures, Array]
"""Features of a block, and the weight of each unlabelled row, 0 for the others."""


def _features_of(
    block: Any, known: tuple[Array, Array], weights: Array | None, center: Array | None
) -> _Unlabeled:
    features = CenteredFeatures(LinearSpace(block), center)
    return features, _unlabeled_weights(block, known, weights)


def _unlabeled_weights(block: Any, known: tuple[Array, Array], weights: Array | None) -> Array:
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


def _density_of(
    unlabeled: _Unlabeled,
    function: Function,
    loss: UnlabeledLoss,
    smoothing: float,
    slopes: bool,
) -> tuple[float, Any, float]:
    features, weights = unlabeled
    if smoothing > 0:
        loss = smooth(loss, smoothing * features.squared_norms)
    f = features.values(function.coef) + function.intercept
    if not slopes:
        return float(weights @ loss.value(f)), 0.0, 0.0
    value, derivative = loss.value_and_derivative(f)
    u = weights * derivative
    return float(weights @ value), features.represent(u), float(u.sum())


def _largest_norm(unlabeled: _Unlabeled) -> float:
    features, weights = unlabeled
    return float((features.squared_norms * weights).max(initial=0.0))


def _counts_below(unlabeled: _Unlabeled, function: Function, scores: Array) -> tuple[Array, float]:
    """Sum the weights of the unlabelled points below scores, with half of the ties, and of all."""
    features, weights = unlabeled
    f = features.values(function.coef) + function.intercept
    order = np.argsort(f, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(weights[order])])
    return mean_ranks(scores, f[order], below), float(below[-1])
