"""Base of embedded regression: a function and virtual labels on a graph.

Problem -> graph and its eigenpairs -> space -> objective -> system -> solver -> attributes; no
numerics live here. A final class defines its loss.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from joblib import Memory

from lapwing._arrays import Array
from lapwing._parameters import parameters
from lapwing._rows.base import PointsLike, Rows, is_rows, rows_of
from lapwing.classes.decoding import predict_codes
from lapwing.estimators import diagnostics, input_checks
from lapwing.estimators.choice import (
    EmbeddingChoice,
    choose_embedding,
    eigenpair_slack,
    eigenvectors_wanted,
    matrix_points,
    seconds_of_columns,
)
from lapwing.estimators.parameters import KernelParameters, check_space_or_auto
from lapwing.estimators.prepared import (
    LeftOutFits,
    Prepared,
    Refits,
    Solution,
    Stages,
    Targets,
    Tick,
    may_keep,
    removable,
    without,
)
from lapwing.estimators.template import SemiSupervisedEstimator
from lapwing.graphs import Eigenpairs, Laplacian, smallest_eigenpairs
from lapwing.graphs.base import GraphLike
from lapwing.graphs.registry import graph_reads_rows
from lapwing.kernels import Kernel
from lapwing.losses import Loss
from lapwing.objectives.embedded import EmbeddedObjective, Units, limited_weights
from lapwing.problem import Problem
from lapwing.solvers.base import Settings, Status
from lapwing.solvers.embedded.methods import (
    COPIES,
    EMBEDDED_METHODS,
    EXACT_COPIES,
    EmbeddedMethod,
    require_matrices,
)
from lapwing.solvers.embedded.posterior import (
    covariance,
    left_out_coefficients,
    left_out_values,
    posterior_variances,
)
from lapwing.solvers.embedded.systems import EmbeddedResult, FeatureSide, in_units
from lapwing.solvers.embedded.tube import column_threads
from lapwing.solvers.posterior import Covariance
from lapwing.solvers.ridge import FunctionRegression
from lapwing.spaces.base import Space
from lapwing.spaces.full import FullKernelSpace
from lapwing.spaces.functions import FittedFunction, KernelExpansion
from lapwing.spaces.recipes import Landmarks, Linear, SpaceRecipe

EmbeddedPrepared: TypeAlias = Prepared[Space, Laplacian]

_LOG = logging.getLogger("lapwing")


class PreparedSolver(NamedTuple):
    """Solver with its objective, in units of the targets, and the system of the kernel side."""

    method: EmbeddedMethod
    objective: EmbeddedObjective
    system: Any

    def with_labels(self, objective: EmbeddedObjective) -> PreparedSolver:
        """Take the labels of another objective; the system must not depend on them."""
        return self._replace(objective=objective.with_space(self.objective.space))


@dataclass(frozen=True, eq=False)
class EmbeddedSolution(Solution):
    """Solution with the result of the solver and its inputs."""

    result: EmbeddedResult
    prepared: EmbeddedPrepared
    solver: PreparedSolver

    def assign(self, model: Any) -> None:
        self.result.assign(model)
        model.solver_ = self.solver.method.name
        if self.prepared.eigenpairs is not None:
            model.eigenvalues_ = self.prepared.eigenpairs.values

    def left_out(self) -> Array | None:
        if self.solver.method.depends_on_labels:
            return None
        objective = self.solver.objective
        found = left_out_values(self.solver.system, objective.side)
        values = objective.units.plain(found.values)
        return np.where(found.reliable[:, None], values, np.nan)

    def left_out_fits(self) -> LeftOutFits | None:
        if self.solver.method.depends_on_labels:
            return None
        kernel, objective = self.solver.system, self.solver.objective
        side, space, units = objective.side, objective.space, objective.units
        z = left_out_coefficients(kernel, side)
        at, X = side.index, self.prepared.problem.X
        values = np.einsum("lr,rl->l", kernel.rows_at(at, space, rows_of(X, at)), z)
        function = None
        if may_keep(space.n_coef, len(at)):
            z = units.scale * z[:, np.isfinite(values)]
            coef = kernel.coef @ z
            coef = coef if isinstance(kernel, FeatureSide) else space.represent(coef)
            function = space.function(coef, kernel.intercept @ z + units.level)
        return LeftOutFits(units.plain(values), function)


@dataclass(frozen=True, eq=False)
class EmbeddedRefits(Refits[EmbeddedPrepared, EmbeddedSolution]):
    """Refits that eliminate f only once.

    Attributes
    ----------
    solver : PreparedSolver
        System of the kernel side, which does not depend on the labels.
    """

    estimator: EmbeddedEstimator
    solver: PreparedSolver

    def solve(self, prepared: EmbeddedPrepared) -> EmbeddedSolution:
        objective = self.estimator._objective(prepared)
        return self.estimator._solved(prepared, self.solver.with_labels(objective))

    def values(self, prepared: EmbeddedPrepared) -> Array:
        return self._virtual_labels(prepared, slice(None))

    def variances(self, X: PointsLike) -> Array:
        objective, kernel = self.estimator._objective(self.prepared), self.solver.system
        given = kernel.beyond(self.solver.objective.space, X)
        return objective.units.scale**2 * posterior_variances(kernel, objective.side, *given)

    def left_out(self) -> Array:
        problem = self.prepared.problem
        wanted = removable(self.prepared, self.estimator._regression)
        objective = self.estimator._objective(self.prepared)
        found = left_out_values(self.solver.system, objective.side)
        values = np.where(wanted[:, None], objective.units.plain(found.values), np.nan)
        again = wanted & ~found.reliable
        for i in np.flatnonzero(again).tolist():
            values[i] = self._virtual_labels(without(self.prepared, i), problem.index[[i]])[0]
        return values

    def covariance(self, points: Array) -> Covariance | None:
        side = self.estimator._objective(self.prepared).side
        return covariance(self.solver.system, side, points, float(self.estimator.lam))

    def _virtual_labels(self, prepared: EmbeddedPrepared, points: Array | slice) -> Array:
        objective = self.estimator._objective(prepared)
        side = objective.side
        coef = self.solver.system.graph_coef(side)
        values = objective.units.plain(side.values_at(points, coef))
        diagnostics.check_finite_answers(values)
        return values.astype(prepared.problem.X.dtype, copy=False)


@parameters
class EmbeddedEstimator(
    KernelParameters, SemiSupervisedEstimator[EmbeddedPrepared, EmbeddedSolution]
):
    """Base of embedded regression; see the module."""

    _n_stages = 5
    _has_virtual_labels = True

    _: KW_ONLY
    gamma: float | str = "scale"
    C: float = 10.0
    lam: float = 1e4
    mu: float = 1e4
    n_eigenvectors: int | str | None = "auto"
    graph: GraphLike = None
    space: SpaceRecipe | str | None = "auto"
    tol: float = 1e-8
    max_iter: int = 20_000
    memory: Memory | str | None = None

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss between the function and the virtual labels."""

    def _check_combination(self) -> None:
        check_space_or_auto(self.space)

    def _prepare(self, targets: Targets, problem: Problem, progress: Stages) -> EmbeddedPrepared:
        self._forecast(problem)
        with progress.stage("graph"):
            laplacian = self._make_laplacian(self._given_graph(), problem)
        with progress.stage("eigenpairs", None) as tick:
            pairs = self._eigenpairs(laplacian, problem.targets.shape[1], tick)
        with progress.stage("landmarks"):
            space = self._make_space(self._make_kernel(problem), problem)
        return Prepared(targets, problem, laplacian, space, pairs)

    def _eigenpairs(self, laplacian: Laplacian, n_columns: int, tick: Tick) -> Eigenpairs | None:
        k = self._n_eigenvectors(laplacian.n_points, n_columns)
        if k is None:
            return None
        pairs = self._smallest(laplacian, k, tick)
        diagnostics.warn_few_eigenvectors(pairs, n_columns)
        return pairs

    def _smallest(self, laplacian: Laplacian, k: int, tick: Tick) -> Eigenpairs:
        return smallest_eigenpairs(
            laplacian,
            k,
            slack=eigenpair_slack(laplacian.n_points),
            memory=self.memory,
            callback=lambda: tick(lambda: {}),
        )

    def _needs_more(self, before: EmbeddedPrepared, prepared: EmbeddedPrepared) -> bool:
        n = prepared.problem.n_points
        wanted = [
            self._n_eigenvectors(n, each.problem.targets.shape[1]) for each in (before, prepared)
        ]
        return wanted[0] != wanted[1]

    def _n_eigenvectors(self, n: int, n_columns: int) -> int | None:
        """Return the number of eigenvectors that span the virtual labels; None for all."""
        if self.n_eigenvectors is None:
            return None
        auto = self.n_eigenvectors == "auto"
        return min(n, eigenvectors_wanted(n_columns) if auto else int(self.n_eigenvectors))

    def _make_kernel(self, problem: Problem) -> Kernel | None:
        linear = isinstance(self._function_side(problem.X.shape[0]), Linear)
        return None if linear else super()._make_kernel(problem)

    def _make_space(self, kernel: Kernel | None, problem: Problem) -> Space:
        """Make the function side: full kernel, landmarks or linear."""
        recipe = self._function_side(problem.n_points, in_blocks=is_rows(problem.X))
        if isinstance(self.space, str):
            _LOG.info("space=%r: %d points", recipe, problem.n_points)
        return self._space_of(recipe, kernel, problem)

    def _function_side(self, n: int, *, in_blocks: bool = False) -> SpaceRecipe | None:
        """Return the recipe of the space for n points; None for the full kernel."""
        linear = self._has_kernel("linear")
        if linear and isinstance(self.space, Landmarks):
            raise ValueError(
                "space=Landmarks(...) needs a nonlinear kernel: with kernel='linear' the features "
                "of X are coordinates already. Use space=None."
            )
        if linear:
            return Linear()
        if not isinstance(self.space, str):
            return self.space
        # If the kernel matrix is given, landmarks would save nothing.
        few = self._pairwise() or n <= matrix_points(self._loss())
        return None if few and not in_blocks else Landmarks()

    def _forecast(self, problem: Problem) -> None:
        """Raise MemoryError early, before the search for neighbours, if the kernel will not fit."""
        recipe = self._function_side(problem.n_points, in_blocks=is_rows(problem.X))
        if recipe is None:
            exact = self.n_eigenvectors is None
            require_matrices(problem.n_points, EXACT_COPIES if exact else COPIES)
        loss, n_columns = self._loss(), problem.targets.shape[1]
        if not loss.kind.differentiable:
            n = problem.n_points
            rank = self._n_eigenvectors(n, n_columns)
            seconds = seconds_of_columns(
                n,
                _n_coordinates(recipe, problem),
                n if rank is None else rank,
                n_columns,
                n_threads=column_threads(n_columns),
            )
            one, each = "its column", f"each of its {n_columns} columns on its own"
            input_checks.warn_long(
                seconds,
                f"{type(self).__name__} solves {one if n_columns == 1 else each} for {n} points "
                "and",
                f"Use LapERLS{'Regressor' if self._regression else 'Classifier'}, which solves all "
                "columns with one factorisation, or fewer coordinates, e.g. space=Landmarks(300).",
            )

    def _reads_blocks(self, rows: Rows) -> bool:
        if self._pairwise() or not graph_reads_rows(self.graph):
            return False
        # For few points the kernel matrix is the default, whatever the size of the features.
        return isinstance(self._function_side(rows.shape[0]), Linear | Landmarks)

    def _objective(self, prepared: EmbeddedPrepared) -> EmbeddedObjective:
        problem, laplacian, pairs = prepared.problem, prepared.laplacian, prepared.eigenpairs
        C, mu = float(self.C), float(self.mu)
        weights = limited_weights(float(self.lam), problem.weights, C, mu)
        input_checks.check_target_scale(problem.targets, weights, problem.X.dtype)
        # L^p has the eigenvectors of L. The eigenpairs are those of L itself, so that they can be
        # used for every p and mu.
        objective = EmbeddedObjective(
            prepared.space,
            problem.index,
            weights,
            problem.targets,
            laplacian.scaled(mu),
            C,
            bool(self.fit_intercept),
            None if pairs is None else pairs.vectors,
            None if pairs is None else mu * pairs.values**laplacian.power,
            self._loss(),
        )
        # Targets are centred and scaled, as targets such as 1e6 + small values would lose
        # precision; C, epsilon and the results are converted accordingly.
        free = self._levels_are_free(prepared)
        return objective.measured(Units.of(problem.targets, weights, centred=free))

    def _solve(self, prepared: EmbeddedPrepared, progress: Stages) -> EmbeddedSolution:
        objective = self._objective(prepared)
        with progress.stage("features"):
            solver = self._form(objective)
        with progress.stage("solve", None) as tick:
            return self._solved(prepared, solver, lambda: tick(lambda: {}))

    def _refits(self, prepared: EmbeddedPrepared) -> Refits[EmbeddedPrepared, EmbeddedSolution]:
        objective = self._objective(prepared)
        if self._plan(objective)[1].depends_on_labels:
            return super()._refits(prepared)
        return EmbeddedRefits(self, prepared, self._form(objective))

    def _plan(self, objective: EmbeddedObjective) -> tuple[EmbeddingChoice, EmbeddedMethod]:
        plan = choose_embedding(objective)
        return plan, EMBEDDED_METHODS[objective.loss.name, plan.solver]

    def _form(self, objective: EmbeddedObjective) -> PreparedSolver:
        """Form the system of the kernel side."""
        plan, method = self._plan(objective)
        _LOG.info("the kernel side as %s: %s", plan.solver, plan.reason)
        if plan.stored:
            objective = objective.with_space(objective.space.stored())
        space = objective.space
        kernel = space.kernel if isinstance(space, FullKernelSpace) else None
        if kernel is not None and not (kernel.surely_positive_definite or kernel.precomputed):
            matrix = f"The matrix of kernel={self.kernel!r}"
            input_checks.check_kernel_matrix(space.gram(), matrix)
        return PreparedSolver(method, objective, method.form(objective))

    def _solved(
        self,
        prepared: EmbeddedPrepared,
        solver: PreparedSolver,
        on_iteration: Callable[[], bool] = lambda: False,
    ) -> EmbeddedSolution:
        method, objective, system = solver
        settings = Settings[None](self.tol, self.max_iter, lambda state: on_iteration())
        result = method.solve(objective, system, settings)
        if result.state.alpha is not None:
            empty = (np.ptp(objective.targets, axis=0) > 0) & ~result.state.alpha.any(axis=0)
            diagnostics.warn_empty_expansion(empty, float(self.epsilon))
        result = self._checked(objective, in_units(result, objective.units), prepared)
        state = result.state
        function = prepared.space.function(state.coef, state.intercept)
        # Points inside the tube have no multiplier, and are not needed to predict new points.
        if isinstance(function, KernelExpansion) and method.depends_on_labels:
            function = function.pruned()
        values = state.virtual.astype(prepared.problem.X.dtype, copy=False)
        return EmbeddedSolution(function, values, result, prepared, solver)

    def _follow(
        self, prepared: EmbeddedPrepared, solution: EmbeddedSolution, values: Array
    ) -> FittedFunction:
        """Fit f to given virtual labels."""
        C, bias = float(self.C), bool(self.fit_intercept)
        space, system = solution.solver.objective.space, solution.solver.system
        if isinstance(space, FullKernelSpace):
            ridge = space.system(None, 1 / C, bias).factor(np.ones(space.n_points))
            found = ridge(values)
            return space.function(found.coef, found.intercept)
        known = system.of_function() if isinstance(system, FeatureSide) else None
        regression = FunctionRegression.factor(space, C, bias, known)
        return space.function(*regression.regress(values))

    def _levels_are_free(self, prepared: EmbeddedPrepared) -> bool:
        """Return whether targets may be centred: a constant changes neither bias nor graph term."""
        pairs = prepared.eigenpairs
        # D - W is 0 on constants, and its eigenvectors span them if they cover all components.
        whole = pairs is None or pairs.n_components <= len(pairs.values)
        free = bool(self.fit_intercept) and not prepared.laplacian.normalized and whole
        return free and self._regression

    def _checked(
        self, objective: EmbeddedObjective, result: EmbeddedResult, prepared: EmbeddedPrepared
    ) -> EmbeddedResult:
        state = result.state
        diagnostics.check_finite_answers(state.coef, state.intercept, state.virtual)
        weight = float(objective.weights.sum()) / objective.n_points
        bound = prepared.laplacian.norm_bound
        exact = objective.basis is None
        if exact and diagnostics.warn_drowned_labels(float(self.mu), bound, weight):
            return replace(result, status=Status.PRECISION)
        return result

    def _diagnose(self, prepared: EmbeddedPrepared, solution: EmbeddedSolution) -> None:
        result = solution.result
        if result.status in (Status.MAX_ITER, Status.PRECISION):
            diagnostics.warn_embedding_not_solved(
                solution.solver.method.name,
                str(result.status),
                float(np.max(result.optimality)),
                self.tol,
            )
        diagnostics.warn_unlabeled_components(prepared.laplacian, prepared.problem)
        self._warn_smoothed_away(prepared, solution)

    def _warn_smoothed_away(self, prepared: EmbeddedPrepared, solution: EmbeddedSolution) -> None:
        """Warn if mu is so large that virtual labels are only means of the labels."""
        pairs = prepared.eigenpairs
        if not (self._regression or pairs is None or self._is_constant(prepared, solution)):
            diagnostics.warn_smoothed_away(prepared, pairs, float(self.mu), float(self.lam))

    def _is_constant(self, prepared: EmbeddedPrepared, solution: EmbeddedSolution) -> bool:
        """Return whether predictions are constant, for which there are other warnings."""
        values, problem = solution.values[prepared.problem.index], prepared.problem
        single = len(np.unique(predict_codes(solution.values))) == 1
        return single or diagnostics.hardly_vary(
            values, problem.targets, regression=self._regression
        )


def _n_coordinates(recipe: SpaceRecipe | None, problem: Problem) -> int:
    """Return the number of coordinates of the function side if it is known in advance."""
    n = problem.n_points
    if isinstance(recipe, Linear):
        return min(n, int(problem.X.shape[1]))
    return min(n, int(getattr(recipe, "n_components", n)))
