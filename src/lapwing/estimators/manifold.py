"""The fit and predict of all manifold-regularised estimators.

Problem -> space and graph -> objective -> solver -> attributes; no numerics live here. A final
class says what its loss is, how it reads y, and which parameters it has.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_consistent_length

from lapwing.estimators import diagnostics
from lapwing.estimators.choice import check_solver, choose_solver
from lapwing.estimators.early import Validation, hold_out, stopping_rule
from lapwing.estimators.parameters import check_parameters
from lapwing.estimators.progress import Progress, Tick
from lapwing.estimators.template import SemiSupervisedEstimator
from lapwing.graphs import (
    Laplacian,
    as_graph,
)
from lapwing.kernels import Kernel
from lapwing.linalg import to_host
from lapwing.losses.labeled import Loss
from lapwing.objectives.manifold import Objective, State
from lapwing.problem import Problem
from lapwing.solvers import Iteration, Result, Status, dual, newton, pcg
from lapwing.spaces import (
    FullKernelSpace,
    LinearSpace,
    Space,
)
from lapwing.spaces.base import Array

__all__ = ["ManifoldEstimator"]


class ManifoldEstimator(SemiSupervisedEstimator):
    """Template of the estimators; see the module."""

    _regression = False

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss on labelled points."""

    @abstractmethod
    def _validation_targets(self, y: Any) -> Array:
        """Y of the validation data, coded as the fit's."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, validation_data: Any = None) -> Any:
        """Fit to labelled and unlabelled points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All points, labelled or not; the kernel matrix (n_samples, n_samples) if
            ``kernel='precomputed'``.
        y : array-like of shape (n_samples,)
            Labels, with the unlabelled marker where there is none.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the labelled points in the loss; 1 by default. Those of unlabelled points
            only have to be finite. A labelled point of weight 0 is left out of the fit altogether.
        validation_data : tuple (X_val, y_val), default=None
            Labelled points to stop by, with ``stopping='validation'`` or ``'mixed'``; they take
            no part in the fit.

        Returns
        -------
        self
            The fitted estimator.
        """
        check_parameters(self)
        early = getattr(self, "stopping", None) is not None
        check_solver(self.solver, self._loss(), early_stopping=early)
        previous = self._forget()
        X, targets = self._begin(X, y)
        recipe = as_graph(self.graph) if self.graph is not None and self.gamma_I > 0 else None
        problem = self._make_problem(
            X, targets, sample_weight, recipe, needs_graph=self.gamma_I > 0
        )
        self._check_observations(problem)
        progress = Progress(self, 3, X, y)
        kernel = self._make_kernel(problem)
        with progress.stage("graph"):
            laplacian = self._make_laplacian(recipe, X, problem) if self.gamma_I > 0 else None
        with progress.stage("kernel"):
            space = self._make_space(kernel, problem)
        objective = Objective(
            space,
            self._loss(),
            problem.index,
            problem.targets.astype(space.dtype),
            problem.weights.astype(space.dtype),
            float(self.gamma_A),
            float(self.gamma_I),
            laplacian,
            bool(self.fit_intercept),
        )
        objective, validation = self._make_validation(objective, validation_data)
        choice = choose_solver(self.solver, objective, early_stopping=early)
        with progress.stage("solve", self.max_iter if choice.solver == "pcg" else None) as tick:
            start = self._warm_start(previous, objective)
            result = self._solve(choice.solver, objective, start, validation, tick)
        self.solver_ = choice.solver
        self._keep(objective, result, laplacian)
        self._answer(X, problem, to_host(result.state.values))
        self._diagnose(problem, result, laplacian)
        progress.finish(lambda: {})
        return self

    def _make_space(self, kernel: Kernel | None, problem: Problem) -> Space:
        if kernel is None:
            diagnostics.check_linear_scale(problem.X)
            return LinearSpace(problem.X)
        self.kernel_ = kernel
        K = kernel.gram(problem.X)
        if not kernel.surely_positive_definite and not kernel.precomputed:
            diagnostics.check_kernel_matrix(K, f"The matrix of kernel={self.kernel!r}")
        return FullKernelSpace(K, kernel, None if kernel.precomputed else problem.X)

    def _make_validation(
        self, objective: Objective, data: Any
    ) -> tuple[Objective, Validation | None]:
        stopping = getattr(self, "stopping", None)
        wanted = stopping in ("validation", "mixed")
        if data is not None:
            if not wanted:
                raise ValueError(
                    f"validation_data is only looked at with stopping='validation' or 'mixed', "
                    f"not {stopping!r}."
                )
            X_val, y_val = self._validation_pair(data)
            X_val = self._read_points(X_val, reset=False)
            check_consistent_length(X_val, y_val)
            X_val = self._restrict(X_val)

            def scores(state: State) -> Array:
                return objective.space.function(state.coef, state.intercept)(X_val)

            return objective, Validation(scores, self._validation_targets(y_val))
        if wanted and self.validation_fraction is not None:
            return hold_out(
                objective, self.validation_fraction, self.random_state, regression=self._regression
            )
        return objective, None

    def _validation_pair(self, data: Any) -> tuple[Any, Any]:
        if not isinstance(data, (tuple, list)) or len(data) != 2:
            raise ValueError(
                "validation_data must be a tuple (X_val, y_val) of points and their labels, not "
                f"{type(data).__name__}."
            )
        return data[0], data[1]

    def _solve(
        self,
        solver: str,
        objective: Objective,
        start: State | None,
        validation: Validation | None,
        tick: Tick,
    ) -> Result:
        def on_iteration(iteration: Iteration) -> bool:
            return tick(lambda: self._function_attributes(objective, iteration.state()))

        if solver == "dual":
            return dual(objective, max_iter=self.max_iter, tol=self.tol, on_iteration=on_iteration)
        if solver == "newton":
            return newton(objective, start, max_iter=self.max_iter, on_iteration=on_iteration)
        rule = stopping_rule(self.stopping, objective, validation, regression=self._regression)
        return pcg(
            objective,
            start,
            tol=self.tol,
            max_iter=self.max_iter,
            rule=rule,
            on_iteration=on_iteration,
        )

    def _warm_start(self, previous: Mapping[str, Any], objective: Objective) -> State | None:
        """The last fit's function, if it is one of this problem's space and is wanted."""
        linear = isinstance(objective.space, LinearSpace)
        coef = previous.get("coef_" if linear else "alpha_")
        if not getattr(self, "warm_start", False) or coef is None:
            return None
        coef = coef.T if linear else coef
        if coef.shape != (objective.space.n_coef, objective.n_columns):
            return None
        dtype = objective.space.dtype
        intercept = np.zeros(objective.n_columns)
        if objective.fit_intercept:
            intercept = previous["intercept_"] - previous.get("class_offsets_", 0.0)
        return objective.state(coef.astype(dtype), intercept.astype(dtype))

    def _function_attributes(self, objective: Objective, state: State) -> Mapping[str, Any]:
        """The attributes that predictions are made of."""
        dtype = objective.space.dtype
        coef = to_host(state.coef).astype(dtype, copy=False)
        attributes = {"intercept_": to_host(state.intercept).astype(dtype, copy=False)}
        if isinstance(objective.space, LinearSpace):
            return attributes | {"coef_": np.ascontiguousarray(coef.T)}
        return attributes | {"alpha_": coef, "X_fit_": getattr(objective.space, "basis", None)}

    def _keep(self, objective: Objective, result: Result, laplacian: Laplacian | None) -> None:
        for name, value in self._function_attributes(objective, result.state).items():
            setattr(self, name, value)
        self.n_iter_ = max(1, result.n_iter)
        self.status_ = str(result.status)
        self.optimality_ = result.optimality
        self.history_ = {name: np.stack(rows) for name, rows in result.history.items()}
        self.objective_ = objective.reported(result.state)
        if laplacian is not None:
            self.affinity_ = laplacian.affinity

    def _diagnose(self, problem: Problem, result: Result, laplacian: Laplacian | None) -> None:
        optimality = float(np.max(result.optimality))
        if result.status == Status.MAX_ITER:
            diagnostics.warn_not_converged(self.solver_, result.n_iter, optimality, self.tol)
        elif result.status in (Status.CONVERGED, Status.PRECISION):
            diagnostics.warn_imprecise(self.solver_, optimality, self.tol, problem.X.dtype)
        if laplacian is not None:
            diagnostics.warn_unlabeled_components(laplacian, problem.labeled, problem.rows)
