"""Anchor graphs and eigenfunctions on a cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing.dask._data import ClusterPoints
from lapwing.dask._engine import ClassifierOnCluster
from lapwing.dask._row_blocks import RowBlocks
from lapwing.estimators.baselines import (
    AnchorGraphClassifier,
    AnchorPrepared,
    EigenfunctionClassifier,
    EigenfunctionPrepared,
)
from lapwing.estimators.prepared import Prepared, Stages, Targets
from lapwing.graphs import AnchorGraph, AnchorLaplacian, Anchors
from lapwing.graphs.anchors import ANCHORS, usual_number
from lapwing.graphs.eigenfunctions import (
    check_bins,
    covariance_eigenpairs,
    eigenfunctions_along,
    rotation_along,
)
from lapwing.spaces.functions import EigenfunctionSum


class AnchorEngine(ClassifierOnCluster, AnchorGraphClassifier):
    """`AnchorGraphClassifier` of points on a cluster."""

    def _prepare(self, targets: Targets, problem: Any, progress: Stages) -> AnchorPrepared:
        recipe = self._given_graph()
        with progress.stage("graph"):
            anchors, Z = weigh(recipe, problem.X)
        return Prepared(targets, problem, AnchorLaplacian(Z, int(recipe.power)), anchors)


def weigh(recipe: AnchorGraph, X: ClusterPoints) -> tuple[Anchors, RowBlocks]:
    """Choose anchors from a sample, and compute the weights of all points on them."""
    recipe._check()
    rows, session = X.rows, X.rows.session

    def weigh_over(anchors: Anchors) -> tuple[Anchors, RowBlocks]:
        found = rows.map(_nearest, session.constant(anchors))
        h = recipe.bandwidth
        if h is None:
            h = float(found.total(_farthest)) / X.shape[0]
        anchors = replace(anchors, bandwidth=float(h))
        made = session.constant(anchors)
        m = len(anchors.points)
        return anchors, rows.map(_weights, found, made, n_columns=m, dtype=np.float64)

    return recipe._settled(_chosen(recipe, X), weigh_over)


def _chosen(recipe: AnchorGraph, X: ClusterPoints) -> Array:
    """Choose the anchors from the sample that k-means would draw from all points."""
    n = X.shape[0]
    if not isinstance(recipe.anchors, str):
        return recipe._choose(np.empty((0, X.shape[1]), dtype=X.dtype))
    m = usual_number(n) if recipe.n_anchors is None else recipe.n_anchors
    sample = X.sample(ANCHORS[recipe.anchors] * int(m), recipe.random_state)
    parameters = {**recipe.get_params(deep=False), "n_anchors": int(m)}
    return type(recipe)(**parameters)._choose(sample)


def _nearest(block: Array, anchors: Anchors) -> tuple[Array, Array]:
    return anchors.nearest(block)


def _farthest(found: tuple[Array, Array]) -> float:
    return float(np.sqrt(found[0][:, -1]).sum())


def _weights(block: Array, found: tuple[Array, Array], anchors: Anchors) -> Any:
    return anchors.weigh(block, *found)


class EigenfunctionEngine(ClassifierOnCluster, EigenfunctionClassifier):
    """`EigenfunctionClassifier` of points on a cluster."""

    def _prepare(self, targets: Targets, problem: Any, progress: Stages) -> EigenfunctionPrepared:
        X, n_bins = problem.X, int(self.n_bins)
        check_bins(n_bins)
        with progress.stage("eigenfunctions"):
            pairs = covariance_eigenpairs(X.rows, X.shape[0], X.mean)
            functions = eigenfunctions_along(
                rotation_along(X.mean, *pairs, int(self.n_components)),
                X.rows,
                X.shape[0],
                n_functions=self.n_eigenfunctions,
                n_bins=n_bins,
                bandwidth=self.bandwidth,
                clip=float(self.clip),
            )
        return Prepared(targets, problem, None, functions)

    def _values(self, function: EigenfunctionSum, X: ClusterPoints) -> Any:
        made = X.rows.session.constant(function)
        columns = len(np.atleast_1d(function.intercept))
        return X.rows.map(_expanded, made, n_columns=columns, dtype=np.float64)


def _expanded(block: Array, function: EigenfunctionSum) -> Array:
    return function(block)
