"""Anchor graph regularisation on a cluster: weights on the workers, sums at the client."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing.dask._engine import ClassifierOnCluster
from lapwing.dask._points import Points
from lapwing.dask._tall import Tall
from lapwing.estimators.anchor import AnchorGraphClassifier
from lapwing.estimators.prepared import Prepared, Targets, WantedGraph
from lapwing.estimators.progress import Stages
from lapwing.graphs import AnchorGraph, AnchorLaplacian, Anchors
from lapwing.graphs.anchors import ANCHORS, usual_number


class AnchorEngine(ClassifierOnCluster, AnchorGraphClassifier):
    """`AnchorGraphClassifier` of points on a cluster."""

    def _prepare(
        self, targets: Targets, problem: Any, graph: WantedGraph, progress: Stages
    ) -> Prepared:
        recipe = self._recipe()
        with progress.stage("graph"):
            anchors, Z = weigh(recipe, problem.X)
        return Prepared(targets, problem, AnchorLaplacian(Z, int(recipe.power)), anchors)


def weigh(recipe: AnchorGraph, X: Points) -> tuple[Anchors, Tall]:
    """Choose anchors from a sample, and weigh all points over them; see `AnchorGraph.weigh`."""
    recipe._check()
    rows, session = X.rows, X.rows.session

    def weigh_over(anchors: Anchors) -> tuple[Anchors, Tall]:
        found = rows.map(_nearest, session.constant(anchors))
        h = recipe.bandwidth
        if h is None:
            h = float(found.total(_farthest)) / X.shape[0]
        anchors = replace(anchors, bandwidth=float(h))
        made = session.constant(anchors)
        m = len(anchors.points)
        return anchors, rows.map(_weights, found, made, n_columns=m, dtype=np.float64)

    return recipe._settled(_chosen(recipe, X), weigh_over)


def _chosen(recipe: AnchorGraph, X: Points) -> Array:
    """The anchors: of a sample that k-means would draw of all points."""
    n = X.shape[0]
    if not isinstance(recipe.anchors, str):
        return recipe._choose(np.empty((0, X.shape[1]), dtype=X.dtype))
    m = usual_number(n) if recipe.n_anchors is None else recipe.n_anchors
    sample = X.sample(ANCHORS[recipe.anchors].drawn * int(m), recipe.random_state)
    parameters = {**recipe.get_params(deep=False), "n_anchors": int(m)}
    return type(recipe)(**parameters)._choose(sample)


def _nearest(block: Array, anchors: Anchors) -> tuple[Array, Array]:
    return anchors.nearest(block)


def _farthest(found: tuple[Array, Array]) -> float:
    return float(np.sqrt(found[0][:, -1]).sum())


def _weights(block: Array, found: tuple[Array, Array], anchors: Anchors) -> Any:
    return anchors.weigh(block, *found)
