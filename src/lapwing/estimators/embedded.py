"""The fit of Laplacian embedded regression: a function and virtual labels of a graph.

Problem -> graph and its eigenpairs -> kernel matrix or features -> system -> solver -> attributes;
no numerics live here. A final class says what its loss is.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.callback import with_callbacks

from lapwing._host.memory import require_memory
from lapwing.estimators import diagnostics
from lapwing.estimators.parameters import check_parameters
from lapwing.estimators.progress import Progress, Tick
from lapwing.estimators.template import SemiSupervisedEstimator
from lapwing.graphs import Laplacian, as_graph
from lapwing.graphs.spectral import Eigenpairs, smallest_eigenpairs
from lapwing.kernels import make_kernel
from lapwing.problem import Problem
from lapwing.solvers.base import Status
from lapwing.solvers.embedded.graph_cg import GraphSystem
from lapwing.solvers.embedded.graph_side import (
    GraphSide,
    graph_side,
    limited_weights,
    spectral_side,
)
from lapwing.solvers.embedded.systems import (
    DenseSystem,
    EmbeddedResult,
    FeatureSystem,
    Units,
)
from lapwing.spaces import Landmarks, Linear, MappedSpace, check_space
from lapwing.spaces.ambient import (
    Ambient,
    FullAmbient,
    LinearAmbient,
    MappedAmbient,
    require_matrices,
)
from lapwing.spaces.base import Array
from lapwing.spaces.coordinates import StoredFeatures, landmark_features

__all__ = ["EmbeddedEstimator", "Outcome", "System"]

_LOG = logging.getLogger("lapwing")

System = DenseSystem | FeatureSystem | GraphSystem

# Dense n x n matrices alive at once, with g in a subspace and with any g.
_COPIES, _EXACT_COPIES = 4, 8
# Points from which conjugate gradient on features takes less time than a factorisation (with
# n_eigenvectors=None), if there are at least so many times more points than features.
_OPERATOR_POINTS, _OPERATOR_RATIO = 2000, 2


class Outcome(NamedTuple):
    """What a solver found, and its name."""

    result: EmbeddedResult
    solver: str


class EmbeddedEstimator(SemiSupervisedEstimator):
    """Template of the embedded regressions; see the module."""

    # Points up to which a factorisation of the kernel matrix takes some 15 s.
    _matrix_points = 10_000
    # Whether features are passed over again and again.
    _iterates = False

    @abstractmethod
    def _minimise(self, system: System, scale: float, tick: Tick) -> Outcome:
        """Solve for all columns of targets that were divided by the scale."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to labelled and unlabelled points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All points, labelled or not; the kernel matrix (n_samples, n_samples) if
            ``kernel='precomputed'``.
        y : array-like of shape (n_samples,)
            Labels, with the unlabelled marker where there is none.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of `lam` at the labelled points; 1 by default. Those of unlabelled points
            must be finite and have no effect. A labelled point of weight 0 is left out of the fit
            altogether; products with `lam` beyond 1e8 times the smallest, C and mu count as that.

        Returns
        -------
        self
            The fitted estimator.
        """
        check_parameters(self)
        self._check_space()
        self._forget()
        X, targets = self._begin(X, y)
        recipe = None if self.graph is None else as_graph(self.graph)
        problem = self._make_problem(X, targets, sample_weight, recipe, needs_graph=True)
        self._check_observations(problem)
        progress = Progress(self, 5, X, y)
        with progress.stage("graph"):
            laplacian = self._make_laplacian(recipe, X, problem)
        with progress.stage("eigenpairs", None) as tick:
            pairs = self._eigenpairs(laplacian, tick)
        with progress.stage("landmarks"):
            ambient = self._ambient(problem)
        units = self._units(problem, laplacian, pairs)
        measured = replace(problem, targets=units.measure(problem.targets))
        with progress.stage("features"):
            system = self._system(measured, laplacian, pairs, ambient)
        with progress.stage("solve", None) as tick:
            outcome = self._minimise(system, units.scale, tick)
        outcome = self._checked(outcome, units, laplacian, pairs, problem)
        self._keep(outcome, ambient, laplacian, problem, isinstance(system, DenseSystem))
        self._answer(X, problem, outcome.result.virtual)
        self._diagnose(outcome, laplacian, problem)
        progress.finish(lambda: {})
        return self

    def _check_space(self) -> None:
        if isinstance(self.space, str):
            if self.space != "auto":
                raise ValueError(
                    f"space={self.space!r} is not known. Use 'auto', None (the full kernel), "
                    "Landmarks(...) or Linear()."
                )
            return
        check_space(self.space)

    def _check_precomputed(self, X: Any, recipe: Any, *, needs_graph: bool) -> None:
        if recipe is None and X.shape[0] == X.shape[1]:
            raise ValueError(
                "kernel='precomputed' leaves no points to build a graph from: pass the graph as "
                "graph=AffinityGraph(affinity) or a sparse matrix."
            )
        super()._check_precomputed(X, recipe, needs_graph=needs_graph)

    def _eigenpairs(self, laplacian: Laplacian, tick: Tick) -> Eigenpairs | None:
        if self.n_eigenvectors is None:
            return None
        k = min(int(self.n_eigenvectors), laplacian.n_points)
        pairs = smallest_eigenpairs(
            laplacian, k, memory=self.memory, callback=lambda: tick(lambda: {})
        )
        if pairs.n_components > k:
            diagnostics.warn_few_eigenvectors(pairs.n_components, k)
        self.eigenvalues_ = pairs.values
        return pairs

    def _weights(self, problem: Problem) -> Array:
        """Lambda."""
        return limited_weights(float(self.lam), problem.weights, float(self.C), float(self.mu))

    def _units(self, problem: Problem, laplacian: Laplacian, pairs: Eigenpairs | None) -> Units:
        weights = self._weights(problem)
        diagnostics.check_target_scale(problem.targets, weights, problem.X.dtype)
        # D - W leaves constants alone; so do its eigenvectors if they span all components.
        whole = pairs is None or pairs.n_components <= len(pairs.values)
        free = bool(self.fit_intercept) and not laplacian.normalized and whole
        return Units.of(problem.targets, weights, centred=free and self._regression)

    def _checked(
        self,
        outcome: Outcome,
        units: Units,
        laplacian: Laplacian,
        pairs: Eigenpairs | None,
        problem: Problem,
    ) -> Outcome:
        """The outcome in the units of y, if it is one."""
        result = outcome.result
        diagnostics.check_finite_answers(result.coef, result.intercept, result.virtual)
        norm = 2.0 if laplacian.normalized else 2.0 * float(laplacian.degrees.max())
        weight = float(self._weights(problem).sum()) / problem.n_points
        if pairs is None and diagnostics.drowned(float(self.mu), norm**laplacian.power, weight):
            diagnostics.warn_drowned_labels(float(self.mu))
            result = result._replace(status=Status.PRECISION)
        return outcome._replace(result=units.restore(result))

    def _ambient(self, problem: Problem) -> Ambient:
        """The function side: full kernel, landmarks or linear."""
        if self._linear():
            diagnostics.check_linear_scale(problem.X)
            return LinearAmbient(problem.X)
        kernel = make_kernel(
            self.kernel, problem.X, gamma=self.gamma, degree=self.degree, coef0=self.coef0
        )
        self.kernel_ = kernel
        if not kernel.surely_positive_definite:
            diagnostics.check_kernel(kernel, problem.X, f"The matrix of kernel={self.kernel!r}")
        space = self.space
        if isinstance(space, str):
            large = problem.n_points > self._matrix_points and not kernel.precomputed
            space = Landmarks() if large else None
            if large:
                _LOG.info("space=%r: %d points", space, problem.n_points)
        if space is None:
            require_matrices(problem.n_points, 1 if kernel.precomputed else 2)
            return FullAmbient(kernel, problem.X, problem.rows)
        if isinstance(space, Landmarks) and not kernel.precomputed:
            features = landmark_features(kernel, problem.X, space.select(problem.X))
            return MappedAmbient(features, features.lift, features.basis)
        mapped = space.space(kernel, problem.X)
        if not isinstance(mapped, MappedSpace):
            raise TypeError(f"space={space!r} makes {type(mapped).__name__}, not coordinates.")
        return MappedAmbient(StoredFeatures(mapped.features), mapped.lift, mapped.basis)

    def _linear(self) -> bool:
        named = isinstance(self.kernel, str) and self.kernel == "linear"
        if named and isinstance(self.space, Landmarks):
            raise ValueError(
                "space=Landmarks(...) needs a kernel: with kernel='linear' the features of X are "
                "coordinates already. Use space=None."
            )
        return named or isinstance(self.space, Linear)

    def _system(
        self, problem: Problem, laplacian: Laplacian, pairs: Eigenpairs | None, ambient: Ambient
    ) -> System:
        n, bias = problem.n_points, bool(self.fit_intercept)
        mu = float(self.mu)
        if self._iterates or pairs is None:
            ambient = ambient.stored()
        features = ambient.features
        if features is not None and pairs is not None:
            size = features.n_features + len(pairs.values) + 1
            require_memory(
                3.0 * 8 * size * size,
                f"The normal equations of {size} coordinates",
                "Use fewer landmarks, features or eigenvectors.",
            )
            return FeatureSystem(features, self._side(problem, laplacian, pairs), bias)
        if features is not None and not self._iterates and self._many(n, features.n_features):
            return GraphSystem(
                features,
                lambda F: mu * laplacian.apply(F),
                mu * laplacian.matrix.diagonal().astype(np.float64) ** laplacian.power,
                problem.index,
                self._weights(problem),
                problem.targets,
                bias,
            )
        require_matrices(n, _COPIES if pairs is not None else _EXACT_COPIES)
        K = ambient.gram()
        kernel = getattr(self, "kernel_", None)
        if kernel is not None and not kernel.surely_positive_definite and not kernel.precomputed:
            diagnostics.check_kernel_matrix(K, f"The matrix of kernel={self.kernel!r}")
        return DenseSystem(K, self._side(problem, laplacian, pairs), bias)

    def _many(self, n: int, n_features: int) -> bool:
        """Whether points are too many for a matrix of all of them, or for it to be faster."""
        return n > min(self._matrix_points, max(_OPERATOR_POINTS, _OPERATOR_RATIO * n_features))

    def _side(self, problem: Problem, laplacian: Laplacian, pairs: Eigenpairs | None) -> GraphSide:
        weights, mu = self._weights(problem), float(self.mu)
        if pairs is None:
            return graph_side(
                lambda F: mu * laplacian.apply(F),
                problem.n_points,
                problem.index,
                weights,
                problem.targets,
            )
        return spectral_side(
            pairs.vectors,
            mu * pairs.values**laplacian.power,
            problem.index,
            weights,
            problem.targets,
        )

    def _keep(
        self,
        outcome: Outcome,
        ambient: Ambient,
        laplacian: Laplacian,
        problem: Problem,
        dense: bool,
    ) -> None:
        result, dtype = outcome.result, problem.X.dtype
        coef = ambient.coordinates(result.coef) if dense else result.coef
        for name, value in ambient.kept(coef).items():
            rounded = name in ("alpha_", "coef_")
            setattr(self, name, value.astype(dtype, copy=False) if rounded else value)
        self.intercept_ = result.intercept.astype(dtype)
        self.objective_ = result.objective
        self.optimality_ = result.optimality
        self.n_iter_ = max(1, result.n_iter)
        self.status_ = str(result.status)
        self.solver_ = outcome.solver
        self.affinity_ = laplacian.affinity

    def _answer(self, X: Any, problem: Problem, values: Array) -> None:
        # As of the template, but what it forms on the way is kept: g is the transductive answer.
        values = values[problem.vertex].astype(problem.X.dtype)
        left_out = np.flatnonzero(problem.vertex < 0)
        if len(left_out):
            values[left_out] = self._function()(self._restrict(X[left_out]))
        self.virtual_labels_ = self._balance(values)
        self.transduction_ = self._transduce(self.virtual_labels_)

    def _diagnose(self, outcome: Outcome, laplacian: Laplacian, problem: Problem) -> None:
        result = outcome.result
        if result.status in (Status.MAX_ITER, Status.PRECISION):
            diagnostics.warn_embedding_not_solved(
                outcome.solver, str(result.status), float(np.max(result.optimality)), self.tol
            )
        diagnostics.warn_unlabeled_components(laplacian, problem.labeled, problem.rows)
