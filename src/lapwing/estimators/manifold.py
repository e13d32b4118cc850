"""Base of manifold-regularised estimators: their objective and its solvers.

Problem -> space and graph -> objective -> solver -> attributes; no numerics live here. A final
class says what its loss is, how it reads y, and which parameters it has.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_consistent_length

from lapwing._arrays import Array, RandomSource
from lapwing._host.threads import available_threads
from lapwing._parameters import parameters
from lapwing._rows.base import PointsLike, Rows
from lapwing.estimators import diagnostics, input_checks
from lapwing.estimators.choice import (
    SPEED,
    SolverChoice,
    Validation,
    check_solver,
    choose_for_kernel_matrix,
    choose_solver,
    gradient_traffic,
    hold_out,
    stopping_rule,
)
from lapwing.estimators.parameters import KernelParameters
from lapwing.estimators.prepared import (
    LeftOutFits,
    Prepared,
    Refits,
    Solution,
    Stages,
    Targets,
    may_keep,
    removable,
)
from lapwing.estimators.template import SemiSupervisedEstimator
from lapwing.graphs import Laplacian
from lapwing.graphs.base import GraphLike
from lapwing.graphs.registry import graph_reads_rows
from lapwing.kernels import Kernel
from lapwing.losses.base import Loss
from lapwing.losses.labeled import Squared
from lapwing.objectives.manifold import Objective, State
from lapwing.problem import Problem
from lapwing.solvers.manifold.deformed import (
    DeformedKernel,
    Representers,
    covariance,
    posterior_variances,
)
from lapwing.solvers.manifold.dual import dual, solve_reduced
from lapwing.solvers.manifold.leave_one_out import (
    left_out_values,
    one_step_values,
    ridge_left_out_solutions,
)
from lapwing.solvers.manifold.newton import newton
from lapwing.solvers.manifold.pcg import pcg
from lapwing.solvers.manifold.registry import SOLVERS
from lapwing.solvers.manifold.settings import ManifoldResult, ManifoldSettings
from lapwing.solvers.posterior import Covariance
from lapwing.spaces.base import Space
from lapwing.spaces.full import FullKernelSpace
from lapwing.spaces.functions import FittedFunction
from lapwing.spaces.linear import LinearSpace

# Memory bandwidth of an ordinary machine, in bytes per second. It is not measured at run time:
# under load the measurement would vary more than machines do.
_BANDWIDTH = 1e10
# Tolerance of the fit of a function to refined classes, coded -1 and +1: smaller ones change no
# class.
_FOLLOWED = 1e-4

_TOL = 1e-8  # default of `tol`
_DUAL = SolverChoice("dual", "columns of a kernel that is factored once")


ManifoldPrepared: TypeAlias = Prepared[Space, Laplacian | None]


@dataclass(frozen=True, eq=False)
class ManifoldSolution(Solution):
    """Solution with the result of the solver and its inputs.

    Attributes
    ----------
    result : ManifoldResult
    choice : SolverChoice
    objective : Objective
    columns : Representers or None
        Columns of the deformed kernel at the labelled points; None if the solver needed none.
    """

    result: ManifoldResult
    choice: SolverChoice
    objective: Objective
    columns: Representers | None

    @classmethod
    def of(
        cls,
        objective: Objective,
        result: ManifoldResult,
        choice: SolverChoice,
        columns: Representers | None,
    ) -> ManifoldSolution:
        """Make the solution from the result of a solver."""
        function = _function(objective.space, result.state)
        return cls(function, result.state.values, result, choice, objective, columns)

    def assign(self, model: Any) -> None:
        self.result.assign(model)
        model.solver_ = self.choice.shown
        model.history_ = {name: np.stack(rows) for name, rows in self.result.history.items()}

    def left_out(self) -> Array | None:
        if self.columns is None or not self.objective.loss.kind.differentiable:
            return None
        scores = self.objective.labeled(self.result.state.values)
        return one_step_values(self.columns.reduce(self.objective), scores)

    def left_out_fits(self) -> LeftOutFits | None:
        columns, objective, values = self.columns, self.objective, self.left_out()
        if columns is None or values is None:
            return None
        function = found = None
        squared = type(objective.loss) is Squared
        if squared and may_keep(objective.space.n_coef, len(objective.index)):
            found = ridge_left_out_solutions(columns.reduce(objective))
        if found is not None:
            coef, bias = found
            intercept = columns.intercept @ coef + bias
            function = objective.space.function(columns.coef @ coef, intercept)
        return LeftOutFits(values[:, 0], function)


def _function(space: Space, state: State) -> FittedFunction:
    return space.function(state.coef, state.intercept)


@dataclass(frozen=True, eq=False)
class ManifoldRefits(Refits[ManifoldPrepared, ManifoldSolution]):
    """Refits by the dual problem, with one factorisation of the deformed kernel.

    Attributes
    ----------
    kernel : DeformedKernel
    columns : Representers
        Columns of the kernel that have been computed.
    reduces : bool
        Whether the estimator itself uses the dual solver, so that its fit has these columns.
    """

    estimator: ManifoldEstimator
    kernel: DeformedKernel
    columns: Representers
    reduces: bool

    def covering(self, points: Array) -> ManifoldRefits:
        return replace(self, columns=self.kernel.at(points, self.columns))

    def solve(self, prepared: ManifoldPrepared) -> ManifoldSolution:
        objective, columns = self._problem(prepared)
        result = dual(objective, replace(self.estimator._settings, columns=columns))
        shown = columns if self.reduces else None  # warnings must not depend on the refits' solver
        return ManifoldSolution.of(objective, result, _DUAL, shown)

    def values(self, prepared: ManifoldPrepared) -> Array:
        objective = self.estimator._objective(prepared)
        columns = self.kernel.at(objective.index, self.columns).values_alone().of(objective.index)
        return columns.on_points(self._reduced(columns.reduce(objective)))

    def left_out(self) -> Array:
        objective, columns = self._problem(self.prepared)
        reduced = columns.reduce(objective)
        return left_out_values(
            reduced,
            self._reduced(reduced),
            removable(self.prepared, self.estimator._regression),
            self.estimator._settings,
        )

    def variances(self, X: PointsLike) -> Array:
        objective, columns = self._problem(self.prepared)
        space: Any = objective.space
        given = self.kernel.beyond(objective, *space.products(X))
        return posterior_variances(objective, columns, *given)

    def covariance(self, points: Array) -> Covariance | None:
        objective, columns = self._problem(self.prepared)
        if type(objective.loss) is not Squared or objective.n_columns > 1:
            return None
        return covariance(objective, columns, self.kernel.at(points).of(points))

    def _problem(self, prepared: ManifoldPrepared) -> tuple[Objective, Representers]:
        objective = self.estimator._objective(prepared)
        return objective, self.kernel.at(objective.index, self.columns).of(objective.index)

    def _reduced(self, reduced: Objective) -> State:
        return solve_reduced(reduced, self.estimator._settings).state


@parameters
class ManifoldEstimator(
    KernelParameters, SemiSupervisedEstimator[ManifoldPrepared, ManifoldSolution]
):
    """Base of manifold-regularised estimators; see the module."""

    _n_stages = 3

    _: KW_ONLY
    gamma: float | str = "scale"
    gamma_A: float = 1e-4
    gamma_I: float = 1.0
    graph: GraphLike = None
    solver: str = "auto"
    tol: float | None = None
    max_iter: int = 20_000

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss on labelled points."""

    @abstractmethod
    def _known_targets(self, y: ArrayLike) -> Array:
        """Code the targets of the validation data as those of the fit."""

    def _wants_graph(self) -> bool:
        return bool(self.gamma_I > 0)

    def _check_combination(self, *, validation_data: object = None) -> None:
        check_solver(self.solver, self._loss(), early_stopping=self._given_stopping is not None)
        if validation_data is not None and not self._validates():
            raise ValueError(
                f"validation_data is only used with stopping='validation' or 'mixed', "
                f"not {self._given_stopping!r}."
            )
        if validation_data is not None and self._parameter("updatable"):
            raise ValueError(
                "validation_data is not kept for add_labels. Use validation_fraction, or fit with "
                "updatable=False."
            )

    def _prepare(self, targets: Targets, problem: Problem, progress: Stages) -> ManifoldPrepared:
        kernel = self._make_kernel(problem)
        if kernel is not None:
            # Checked before the neighbour search, which may take minutes.
            kernel.forecast(problem.X)
            self._forecast(problem)
        with progress.stage("graph"):
            laplacian = None
            if self._wants_graph():
                laplacian = self._make_laplacian(self._given_graph(), problem)
        with progress.stage("kernel"):
            space = self._stored_space(self._make_space(kernel, problem))
        return Prepared(targets, problem, laplacian, space)

    def _reads_blocks(self, rows: Rows) -> bool:
        # Matrices of products between the points themselves are kept in memory.
        primal = self.solver in ("newton", "pcg") or (
            self.solver == "auto" and rows.shape[0] > rows.shape[1]
        )
        smooth = self._loss().kind.differentiable
        return self._has_kernel("linear") and primal and smooth and graph_reads_rows(self.graph)

    @property
    def _settings(self) -> ManifoldSettings:
        return ManifoldSettings(_TOL if self.tol is None else float(self.tol), self.max_iter)

    @property
    def _given_stopping(self) -> str | None:
        rule: str | None = self._parameter("stopping")
        return rule

    def _stopping(self, choice: SolverChoice, problem: Problem) -> str | None:
        """Return the rule of early stopping for the chosen solver."""
        # A given tolerance asks for the optimum, and without unlabelled points there are no
        # predictions whose stability could be checked.
        asked = self._given_stopping
        settled = asked is not None or self.tol is not None or problem.labeled.all()
        return asked if settled else choice.stopping

    def _validates(self) -> bool:
        return self._given_stopping in ("validation", "mixed")

    def _forecast(self, problem: Problem) -> None:
        """Warn before a long fit, with its time and a faster alternative."""
        n, n_columns = problem.n_points, problem.targets.shape[1]
        choice = SolverChoice(self.solver, "asked for")
        kinks = not self._loss().kind.differentiable
        if self.solver == "auto":
            # `choose_solver` needs the objective, which does not exist yet; the sizes suffice here.
            choice = _DUAL if kinks else choose_for_kernel_matrix(n, len(problem.index))
        stopping = self._stopping(choice, problem)
        # The number of iterations with validation labels is not known in advance.
        if stopping not in (None, "stability"):
            return
        if choice.solver == "pcg":
            traffic = gradient_traffic(
                n,
                n_columns,
                problem.X.dtype.itemsize,
                settling=stopping is not None,
                n_threads=available_threads(),
            )
            seconds = traffic / _BANDWIDTH
        else:
            seconds = float(n) ** 3 / SPEED
        stop = ", or stop by predictions (solver='pcg', stopping='stability')"
        input_checks.warn_long(
            seconds,
            f"{type(self).__name__} with the full kernel of {n} points",
            f"Use LapERLS{'Regressor' if self._regression else 'Classifier'}, which forms no "
            f"matrix of all points and takes seconds{'' if kinks or stopping else stop}.",
        )

    def _make_space(self, kernel: Kernel | None, problem: Problem) -> Space:
        return self._space_of(None, kernel, problem)

    def _stored_space(self, space: Space) -> Space:
        """Keep the kernel matrix in memory, and check it if it may not be positive semi-definite.

        Conjugate gradient multiplies by it in every iteration, and direct solvers need its entries.
        """
        held = space.stored()
        if held is not space and isinstance(held, FullKernelSpace):
            assert held.kernel is not None
            if not held.kernel.surely_positive_definite:
                input_checks.check_kernel_matrix(held.K, f"The matrix of kernel={self.kernel!r}")
        return held

    def _objective(self, prepared: ManifoldPrepared) -> Objective:
        problem, space, laplacian = prepared.problem, prepared.space, prepared.laplacian
        return Objective(
            space,
            self._loss(),
            problem.index,
            problem.targets.astype(space.dtype),
            problem.weights.astype(space.dtype),
            float(self.gamma_A),
            None if laplacian is None else laplacian.scaled(float(self.gamma_I)),
            bool(self.fit_intercept),
        )

    def _solve(
        self,
        prepared: ManifoldPrepared,
        progress: Stages,
        *,
        previous: Mapping[str, Any] | None = None,
        validation_data: Any = None,
    ) -> ManifoldSolution:
        objective = self._objective(prepared)
        validation = None
        if validation_data is not None:
            validation = self._read_validation(objective.space, validation_data)
        elif self._validates() and self.validation_fraction is not None:
            objective, validation = hold_out(
                objective, self.validation_fraction, self.random_state, regression=self._regression
            )
        choice = choose_solver(
            self.solver, objective, early_stopping=self._given_stopping is not None
        )
        stopping = self._stopping(choice, prepared.problem)
        solver = SOLVERS[choice.solver]
        settings = replace(
            self._settings,
            start=None if previous is None else self._start(previous, objective),
            rule=stopping_rule(stopping, objective, validation, regression=self._regression),
        )
        # A factorisation does not report progress.
        with progress.stage("solve", self.max_iter if solver.stops_early else None) as tick:
            if solver.reduces:
                settings = replace(
                    settings, columns=DeformedKernel.of(objective).at(objective.index)
                )

            def on_iteration(known: Callable[[], State]) -> bool:
                # Lazily, as computing the attributes takes copies that few callbacks need.
                return tick(lambda: _function(objective.space, known()).attributes)

            result = solver.solve(objective, replace(settings, on_iteration=on_iteration))
        automatic = stopping if self._given_stopping is None else None  # early stopping by default
        choice = choice._replace(stopping=automatic)
        return ManifoldSolution.of(objective, result, choice, settings.columns)

    def _read_validation(self, space: Space, data: object) -> Validation:
        if not isinstance(data, (tuple, list)) or len(data) != 2:
            raise ValueError(
                "validation_data must be a tuple (X_val, y_val) of points and their labels, not "
                f"{type(data).__name__}."
            )
        try:
            X_val = self._read_points(data[0], reset=False)
            check_consistent_length(X_val, data[1])
            targets = self._known_targets(data[1])
        except ValueError as error:
            raise ValueError(f"validation_data: {error}") from error
        return Validation(lambda state: _function(space, state)(X_val), targets)

    def _start(self, previous: Mapping[str, Any], objective: Objective) -> State | None:
        """Return the function of the last fit, if it is in the same space."""
        linear = isinstance(objective.space, LinearSpace)
        coef = previous.get("coef_" if linear else "alpha_")
        if coef is None:
            return None
        coef = coef.T if linear else coef
        if coef.shape != (objective.space.n_coef, objective.n_columns):
            return None
        dtype = objective.space.dtype
        intercept = np.zeros(objective.n_columns)
        if objective.fit_intercept:
            # The offsets of a class prior are added after the solve: the minimum is without them.
            intercept = previous["intercept_"] - previous.get("class_offsets_", 0.0)
        return objective.state(coef.astype(dtype), intercept.astype(dtype))

    def _follow(
        self, prepared: ManifoldPrepared, solution: ManifoldSolution, values: Array
    ) -> FittedFunction:
        """Fit least squares in the space of the fit, with its norm and without the graph."""
        space, problem = prepared.space, prepared.problem
        inside = problem.vertex[problem.vertex >= 0]
        rows = np.bincount(inside, minlength=problem.n_points)
        objective = Objective(
            space,
            Squared(),
            np.arange(problem.n_points),
            values.astype(space.dtype),
            rows.astype(space.dtype),
            float(self.gamma_A),
            None,
            bool(self.fit_intercept),
        )
        # All points have targets, so the dual has no advantage: only the size matters.
        full = isinstance(space, FullKernelSpace)
        large = full and choose_for_kernel_matrix(problem.n_points, 1).solver == "pcg"
        settings = ManifoldSettings(tol=_FOLLOWED, max_iter=self.max_iter)
        return _function(space, (pcg if large else newton)(objective, settings).state)

    def _refits(self, prepared: ManifoldPrepared) -> Refits[ManifoldPrepared, ManifoldSolution]:
        objective = self._objective(prepared)
        early = self._given_stopping is not None
        solver = choose_solver(self.solver, objective, early_stopping=early).solver
        if early or SOLVERS[solver].stops_early:
            return super()._refits(prepared)
        kernel = DeformedKernel.of(objective)
        columns, reduces = kernel.at(objective.index), SOLVERS[solver].reduces
        return ManifoldRefits(self, prepared, kernel, columns, reduces)

    def _diagnose(self, prepared: ManifoldPrepared, solution: ManifoldSolution) -> None:
        solver, precise = solution.choice.solver, diagnostics.PRECISE
        stop = "; stop by predictions (stopping='stability'), or use solver='dual' if memory allows"
        # A duality gap is of second order in the distance from the optimum, a gradient of first.
        gap = not solution.objective.loss.kind.differentiable
        diagnostics.warn_convergence(
            f"solver={solver!r}",
            solution.result,
            self._settings,
            prepared.problem.X.dtype,
            "a larger gamma_A (better conditioned)",
            otherwise=stop if solver == "pcg" else "",
            precise=precise**2 if gap else precise,
        )
        diagnostics.warn_unlabeled_components(prepared.laplacian, prepared.problem)


@parameters
class StoppableEstimator(ManifoldEstimator):
    """Base of estimators with early stopping and warm start by conjugate gradient."""

    _: KW_ONLY
    stopping: str | None = None
    validation_fraction: float | None = 0.2
    warm_start: bool = False
    random_state: RandomSource = None

    @with_callbacks
    def fit(
        self,
        X: PointsLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        validation_data: object = None,
    ) -> Any:
        """Fit to labelled and unlabelled points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All points, labelled or not; the kernel matrix (n_samples, n_samples) if
            ``kernel='precomputed'``.
        y : array-like of shape (n_samples,)
            Labels, with the marker `unlabeled` for unlabelled points.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the labelled points in the loss; 1 by default. Those of unlabelled points are
            ignored but must be finite. Labelled points of weight 0 are ignored.
        validation_data : tuple (X_val, y_val), default=None
            Labelled points for early stopping with ``stopping='validation'`` or ``'mixed'``; they
            are not used for training. Not with ``updatable=True``.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight, validation_data=validation_data)
