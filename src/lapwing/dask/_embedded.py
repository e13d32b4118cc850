"""Laplacian embedded regression on a cluster.

Graph, features and virtual labels stay on the workers. The client solves systems in the landmarks
and eigenvectors.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.decoding import predict_codes
from lapwing.dask._data import ClusterPoints, is_collection
from lapwing.dask._engine import ClassifierOnCluster, OnCluster
from lapwing.dask._halos import affinity_of_edges, given_affinity
from lapwing.dask._laplacian import ClusterLaplacian, eigenpairs_on_cluster
from lapwing.dask._neighbors import check_supported, knn_edges
from lapwing.dask._row_blocks import RowBlocks
from lapwing.estimators import LapERLSClassifier, LapERLSRegressor, diagnostics
from lapwing.estimators.choice import eigenpair_slack
from lapwing.estimators.embedded import (
    EmbeddedPrepared,
    EmbeddedSolution,
    PreparedSolver,
)
from lapwing.estimators.prepared import Tick
from lapwing.graphs import AffinityGraph, Eigenpairs, GraphRecipe, default_graph
from lapwing.graphs.base import check_recipe, is_normalized
from lapwing.kernels import Kernel
from lapwing.objectives.embedded import EmbeddedObjective
from lapwing.solvers.embedded.methods import EMBEDDED_METHODS
from lapwing.solvers.embedded.systems import EmbeddedResult, FeatureSide, FeatureSystem
from lapwing.spaces.mapped import KernelFeatures, MappedSpace, landmark_map
from lapwing.spaces.recipes import Landmarks

_POINTS_PER_MEAN = 50


class _EmbeddedOnCluster(OnCluster):
    """Overrides of both engines."""

    def _refuse(self: Any) -> None:
        if self.space is None:
            raise ValueError(
                "space=None needs the kernel matrix of all points, which clusters do not support. "
                "Use space=Landmarks(1000)."
            )
        if not isinstance(self.space, (str, Landmarks)):
            raise ValueError(
                f"space={self.space!r} is not supported on a cluster: use Landmarks(...)."
            )
        if self.n_eigenvectors is None:
            raise ValueError(
                "n_eigenvectors=None needs a virtual label of each row in the solver, which "
                "clusters do not support. Use a number, or 'auto'."
            )
        if not isinstance(self.kernel, str) or self.kernel in ("linear", "precomputed"):
            raise ValueError(
                f"kernel={self.kernel!r} has no landmarks, which clusters need. Use the name of a "
                "kernel of points, such as 'rbf'."
            )

    def _forecast(self, problem: Any) -> None:
        """Skip the forecast, as the memory of the client does not depend on n."""

    def _make_laplacian(self: Any, recipe: GraphRecipe | None, problem: Any) -> Any:
        if recipe is None:
            recipe = default_graph(problem.X, regression=self._regression)
        check_recipe(cast("Any", recipe))
        X = problem.X
        if isinstance(recipe, AffinityGraph):
            matrix = recipe.get_params()["affinity"]
            W, placement = given_affinity(
                matrix if is_collection(matrix) else recipe.affinity(X), X
            )
        else:
            recipe = check_supported(recipe)
            edges, placement, recipe.recall_ = knn_edges(recipe, X)
            W, placement = affinity_of_edges(
                edges, placement, str(recipe.weights), mutual=bool(recipe.mutual)
            )
        normalized = is_normalized(recipe.normalized, regression=self._regression)
        return ClusterLaplacian(W, placement, normalized, int(recipe.power), X.dtype)

    def _smallest(self, laplacian: Any, k: int, tick: Tick) -> Eigenpairs:
        pairs = eigenpairs_on_cluster(laplacian, k, slack=eigenpair_slack(laplacian.n_points))
        return replace(pairs, vectors=laplacian.placement.back(pairs.vectors))

    def _make_space(self: Any, kernel: Kernel | None, problem: Any) -> Any:
        assert kernel is not None
        recipe = Landmarks() if isinstance(self.space, str) else self.space
        return landmark_map(kernel, problem.X, _landmarks(recipe, problem.X))

    def _form(self: Any, objective: EmbeddedObjective) -> PreparedSolver:
        side = _feature_side(objective)
        method = EMBEDDED_METHODS[self._loss().name, "features"]
        return PreparedSolver(method, objective, side)

    def _checked(
        self: Any, objective: EmbeddedObjective, result: EmbeddedResult, prepared: EmbeddedPrepared
    ) -> EmbeddedResult:
        state = result.state
        virtual = cast("RowBlocks", state.virtual)
        summary = np.zeros(1) if virtual.finite() else np.full(1, np.nan)
        diagnostics.check_finite_answers(state.coef, state.intercept, summary)
        return result

    def _diagnose(self: Any, prepared: EmbeddedPrepared, solution: EmbeddedSolution) -> None:
        _warn_unlabeled_components(prepared)
        self._warn_smoothed_away(prepared, solution)

    def _is_constant(self: Any, prepared: EmbeddedPrepared, solution: Any) -> bool:
        problem, values = prepared.problem, cast("RowBlocks", solution.values)
        single = values.n_columns > 0 and np.count_nonzero(
            values.total(_count_classes, max(2, values.n_columns))
        )
        return bool(single == 1) or diagnostics.hardly_vary(
            values[problem.index], problem.targets, regression=self._regression
        )


class EmbeddedClassifierEngine(_EmbeddedOnCluster, ClassifierOnCluster, LapERLSClassifier):
    """`LapERLSClassifier` of points on a cluster."""


class EmbeddedRegressorEngine(_EmbeddedOnCluster, OnCluster, LapERLSRegressor):
    """`LapERLSRegressor` of points on a cluster."""

    def _answer(self: Any, X: Any, problem: Any, solution: Any) -> Any:
        values = OnCluster._answer(self, X, problem, solution)
        self._keep_left_out(problem, solution)
        return values


def _landmarks(recipe: Landmarks, X: ClusterPoints) -> Array:
    """Choose the landmarks of a recipe from a sample."""
    if recipe.centers is not None:
        return np.asarray(recipe.select(np.empty((1, X.shape[1]), dtype=X.dtype)))
    recipe._check()
    r = int(recipe.n_components)
    few = r if recipe.method == "random" else _POINTS_PER_MEAN * r
    return np.asarray(recipe.select(X.sample(few, recipe.random_state)))


def _feature_side(problem: EmbeddedObjective) -> FeatureSide:
    """Return the side of f, with normal equations summed over the blocks."""
    side, features = problem.side, cast("MappedSpace", problem.space).psi
    rows = features.X.rows
    H = rows.total(
        _normal_block,
        cast("RowBlocks", side.basis),
        rows.session.constant((features.kernel, features.basis, features.lift)),
        problem.C,
        problem.fit_intercept,
    )
    m = problem.space.n_coef
    H.flat[: m * (len(H) + 1) : len(H) + 1] += 1  # the norm of h, once
    return FeatureSystem(problem.space, side, problem.fit_intercept).eliminate(problem.C, H)


def _normal_block(
    block: Array, basis: Array, shared: tuple[Kernel, Array, Array], C: float, bias: bool
) -> Array:
    """Return the normal matrix of a block of points."""
    kernel, landmarks, lift = shared
    m, r = lift.shape[1], basis.shape[1]
    if not len(block):
        return np.zeros((m + r + bias, m + r + bias))
    features = KernelFeatures(kernel, block, landmarks, lift, max_cached=0)  # used for one sum
    weights = np.full(len(block), float(C))
    design = features.design().lifted(C * len(block))
    H = design.normal_matrix(weights, lambda rows: -basis[rows], r, bias=bias)
    H.flat[: m * (len(H) + 1) : len(H) + 1] -= 1
    return H


def _count_classes(values: Array, n_classes: int) -> Array:
    return np.bincount(predict_codes(values), minlength=n_classes)


def _warn_unlabeled_components(prepared: EmbeddedPrepared) -> None:
    laplacian = cast("ClusterLaplacian", prepared.laplacian)
    components = laplacian.components
    labels, origins = components.labels, laplacian.placement.origins
    known = np.concatenate(labels.collect(_labels_among, origins, prepared.problem.index))
    without = np.setdiff1d(np.arange(len(components.sizes)), known)
    diagnostics.warn_components(
        components.sizes, without, lambda: components.first, laplacian.power
    )


def _labels_among(labels: Array, origins: Array, rows: Array) -> Array:
    """Return the components that hold some rows of the user's X."""
    return np.unique(labels[np.isin(origins, rows)])
