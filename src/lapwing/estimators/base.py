"""The fit and predict of all manifold-regularised estimators.

Problem -> space and graph -> objective -> solver -> attributes; no numerics live here. A final
class says what its loss is, how it reads y, and which parameters it has.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from lapwing import diagnostics
from lapwing._arrays import is_sparse
from lapwing.estimators.choice import check_solver, choose_solver
from lapwing.estimators.early import Validation, hold_out, stopping_rule
from lapwing.estimators.parameters import check_parameters
from lapwing.estimators.progress import Progress, Tick
from lapwing.graphs import (
    AffinityGraph,
    Laplacian,
    as_graph,
    build_laplacian,
    default_graph,
)
from lapwing.kernels import Kernel, make_kernel
from lapwing.labels import labeled_rows
from lapwing.linalg import to_host
from lapwing.losses import Loss
from lapwing.objective import Objective, State
from lapwing.problem import Problem, check_weights, make_problem
from lapwing.solvers import Iteration, Result, Status, dual, newton, pcg
from lapwing.spaces import (
    DecisionFunction,
    FullKernelSpace,
    KernelExpansion,
    LinearFunction,
    LinearSpace,
    Space,
)
from lapwing.spaces.base import Array

__all__ = ["ManifoldEstimator", "Targets", "only_labeled"]


class Targets(NamedTuple):
    """y, read: one row a row of X."""

    columns: Array  # (n_rows, c), read only where labelled
    labeled: Array  # (n_rows,) bool
    class_weights: Array  # (n_rows,) factors of the sample weights


def only_labeled(marker: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """X, y and weights of the rows that hold a label, to score on.

    scikit-learn's own scorers would count the unlabelled marker as one more class, and a search
    over partly labelled data would always choose by it.

    Raises
    ------
    ValueError
        If no row is labelled.
    """
    check_consistent_length(X, y, sample_weight)
    labeled = labeled_rows(y, marker)
    if labeled.all():
        return X, y, sample_weight
    X = X.tocsr() if is_sparse(X) else X  # not every sparse format has rows
    if not labeled.any():
        raise ValueError(
            f"score needs labelled rows, and all {len(labeled)} are unlabelled. Hold out rows with "
            "labels, e.g. with StratifiedKFold, which spreads them over the folds."
        )
    rows = np.flatnonzero(labeled)
    weights = None if sample_weight is None else _safe_indexing(sample_weight, rows)
    return _safe_indexing(X, rows), _safe_indexing(y, rows), weights


def is_fitted_name(name: str) -> bool:
    """Whether an attribute is one that a fit makes: ``alpha_``, not ``_private`` or ``graph``."""
    return name.endswith("_") and not name.startswith("_")


class ManifoldEstimator(CallbackSupportMixin, BaseEstimator):
    """Template of the estimators; see the module."""

    _regression = False

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss on labelled points."""

    @abstractmethod
    def _read_targets(self, y: Any) -> Targets:
        """Read y, and keep what decoding needs."""

    @abstractmethod
    def _transduce(self, values: Array) -> Array:
        """Answers from decision values (n, c)."""

    @abstractmethod
    def _validation_targets(self, y: Any) -> Array:
        """Y of the validation data, coded as the fit's."""

    def _check_observations(self, problem: Problem) -> None:
        """Refuse a problem whose weights leave too little to learn from."""
        return

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
            are not looked at. A labelled point of weight 0 is left out of the fit altogether.
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
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Mark "
                "unlabelled points in y."
            )
        X = self._read_points(X, reset=True)
        check_consistent_length(X, y)
        targets = self._read_targets(y)
        recipe = as_graph(self.graph) if self.graph is not None and self.gamma_I > 0 else None
        problem = self._make_problem(X, targets, sample_weight, recipe)
        self._check_observations(problem)
        progress = Progress(self, 3, X, y)
        kernel = self._make_kernel(problem)
        with progress.stage("graph"):
            laplacian = self._make_laplacian(recipe, X, problem)
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

    def _read_points(self, X: Any, *, reset: bool) -> Any:
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_min_samples=2 if reset else 1,
        )
        return _canonical(X) if is_sparse(X) else X

    def _make_problem(self, X: Any, targets: Targets, sample_weight: Any, recipe: Any) -> Problem:
        weights = check_weights(sample_weight, X, targets.labeled) * targets.class_weights
        pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        given_graph = isinstance(recipe, AffinityGraph)
        if pairwise:
            self._check_precomputed(X, recipe)
        else:
            diagnostics.warn_feature_scales(X, getattr(self, "feature_names_in_", None))
        problem = make_problem(
            X,
            targets.labeled,
            targets.columns,
            weights,
            merge=not (pairwise or given_graph),
            pairwise=pairwise,
        )
        self.labeled_ = targets.labeled
        self.basis_ = problem.rows
        return problem

    def _check_precomputed(self, X: Any, recipe: Any) -> None:
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' takes the kernel matrix as X, square, not {X.shape}."
            )
        if self.gamma_I > 0 and not isinstance(recipe, AffinityGraph):
            raise ValueError(
                "kernel='precomputed' leaves no points to build a graph from: pass the graph as "
                "graph=AffinityGraph(affinity) or a sparse matrix, or set gamma_I=0."
            )
        diagnostics.check_kernel_matrix(X, "X")

    def _make_laplacian(self, recipe: Any, X: Any, problem: Problem) -> Laplacian | None:
        if self.gamma_I == 0:
            return None
        if recipe is None:
            recipe = default_graph(problem.X, regression=self._regression)
        elif isinstance(recipe, AffinityGraph) and problem.n_points < X.shape[0]:
            rows = problem.rows  # a graph on all rows, some of which are left out
            recipe = AffinityGraph(
                recipe.affinity(X)[rows][:, rows],
                normalized=recipe.normalized,
                power=recipe.power,
            )
        return build_laplacian(recipe, problem.X, problem.X.dtype)

    def _make_kernel(self, problem: Problem) -> Kernel | None:
        """The kernel, its matrix forecast; None for the linear space, which forms no matrix."""
        if isinstance(self.kernel, str) and self.kernel == "linear":
            return None
        kernel = make_kernel(
            self.kernel, problem.X, gamma=self.gamma, degree=self.degree, coef0=self.coef0
        )
        kernel.forecast(problem.X)
        return kernel

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

    def _forget(self) -> Mapping[str, Any]:
        """Drop what an earlier fit left: a fit that fails must not answer with its remains."""
        left = {name: value for name, value in vars(self).items() if is_fitted_name(name)}
        for name in left:
            delattr(self, name)
        return left

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "intercept_")

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
            intercept = previous["intercept_"]
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

    def _answer(self, X: Any, problem: Problem, values: Array) -> None:
        """Answers for all rows, those left out of the fit included."""
        values = values[problem.vertex]
        left_out = np.flatnonzero(problem.vertex < 0)
        if len(left_out):
            values[left_out] = self._function()(self._restrict(X[left_out]))
        self.transduction_ = self._transduce(values)

    def _diagnose(self, problem: Problem, result: Result, laplacian: Laplacian | None) -> None:
        optimality = float(np.max(result.optimality))
        if result.status == Status.MAX_ITER:
            diagnostics.warn_not_converged(self.solver_, result.n_iter, optimality, self.tol)
        elif result.status in (Status.CONVERGED, Status.PRECISION):
            diagnostics.warn_imprecise(self.solver_, optimality, self.tol, problem.X.dtype)
        if laplacian is not None:
            diagnostics.warn_unlabeled_components(laplacian.component_labels, problem.labeled)

    def _decision_values(self, X: Any) -> Array:
        check_is_fitted(self)
        X = self._read_points(X, reset=False)
        return self._function()(self._restrict(X))

    def _restrict(self, X: Any) -> Any:
        """Columns of a precomputed kernel that belong to the basis."""
        pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return X[:, self.basis_] if pairwise and len(self.basis_) < X.shape[1] else X

    def _function(self) -> DecisionFunction:
        if hasattr(self, "coef_"):
            return LinearFunction(self.coef_.T, self.intercept_)
        return KernelExpansion(self.kernel_, self.X_fit_, self.alpha_, self.intercept_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


def _canonical(X: Any) -> Any:
    """CSR points as scikit-learn's compiled loops read them; the user's matrix stays as it is.

    They take squared norms entry by entry, wrong where one is stored twice, and some know 32-bit
    indices only.
    """
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.indices.dtype != np.int32 and max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:
        parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
        X = type(X)(parts, shape=X.shape)
    return X
