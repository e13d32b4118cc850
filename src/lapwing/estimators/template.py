"""The fit of every estimator: prepare, solve, answer.

`prepare` builds the inputs of a fit from points and labels, a frozen `Prepared`: the problem, the
graph if there is one, and the function space. `solve` computes the frozen `Solution` for the
parameters. It can be called again for other parameters or, by `Prepared.relabeled`, for other
labels, without computing the kernel or the graph again. `fit` does both, sets the fitted
attributes, answers for all rows and warns. A family of methods (`lapwing.estimators.manifold`, for
example) adds its own `_prepare` and `_solve`, with its own types of `Prepared` and `Solution`.
There are no numerics here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from contextlib import nullcontext
from copy import copy
from functools import partial
from typing import Any, ClassVar, Generic

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import (
    _num_samples,
    check_is_fitted,
    validate_data,
)

from lapwing._arrays import Array, is_sparse
from lapwing._features import read_features, reading_features
from lapwing._host.threads import single_blas_thread
from lapwing._parameters import Parametrized, Rule
from lapwing._rows.base import PickedRows, PointData, PointsLike, Rows, is_rows, rows_of
from lapwing._rows.registry import rows_or_array
from lapwing.classes.decoding import predict_codes
from lapwing.estimators import diagnostics, input_checks
from lapwing.estimators.parameters import check_parameters
from lapwing.estimators.prepared import (
    SILENT,
    P,
    Progress,
    Refits,
    S,
    Solution,
    Stages,
    Targets,
    check_one_entry_a_row,
    check_rows,
    read_points,
    refuse_missing_y,
)
from lapwing.graphs import (
    AffinityGraph,
    GraphRecipe,
    Laplacian,
    as_graph,
    build_laplacian,
    default_graph,
)
from lapwing.graphs.base import check_magnitude
from lapwing.kernels import Kernel, make_kernel
from lapwing.problem import Problem, check_weights, make_problem, read_row_weights
from lapwing.spaces.base import Space
from lapwing.spaces.full import FullKernelSpace
from lapwing.spaces.functions import (
    FittedFunction,
    KernelExpansion,
    LinearFunction,
    evaluate,
    function_from,
)
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.mapped import MappedSpace, full_map
from lapwing.spaces.recipes import Linear, SpaceRecipe, make_space

_FEW_ROWS = 100  # one thread is faster than waiting for several
_CHECKED_POINTS = 200  # labelled points at which the function is checked for being constant


def prepare(
    estimator: SemiSupervisedEstimator[P, S],
    X: PointsLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> P:
    """Build the inputs of fits of an estimator to points; the estimator is not changed.

    Returns
    -------
    Prepared
    """
    estimator = copy(estimator)  # reading X sets its attributes
    check_parameters(estimator)
    estimator._check_combination()
    points, targets = estimator._begin(X, y)
    problem = estimator._make_problem(points, targets, sample_weight)
    return estimator._prepare(targets, problem, SILENT)


def solve(estimator: SemiSupervisedEstimator[P, S], prepared: P) -> S:
    """Solve with the present parameters of an estimator, which is not changed.

    Raises
    ------
    ValueError
        If they need a graph and none was prepared.
    """
    check_parameters(estimator)
    estimator._check_combination()
    if estimator._wants_graph() and prepared.laplacian is None:
        raise ValueError(
            "gamma_I > 0 needs a graph, but the problem was prepared with gamma_I=0, without one. "
            "Prepare it again."
        )
    return estimator._solve(prepared, SILENT)


def only_labeled(labeled: Array, X: PointsLike, sample_weight: ArrayLike | None) -> tuple[Any, Any]:
    """Select X and weights of the labelled rows, to score on them.

    scikit-learn's own scorers would count the unlabelled marker as another class, which would
    dominate the score of partly labelled data.

    Raises
    ------
    ValueError
        If no row is labelled, or if lengths differ.
    """
    points = rows_or_array(X)
    with reading_features(points):
        n = _num_samples(points)
    if len(labeled) != n:
        raise ValueError(
            f"X has {n} rows, but y has {len(labeled)} entries: score takes one for each row of X."
        )
    weights = None if sample_weight is None else read_row_weights(sample_weight, n)
    if labeled.all():
        return X, weights
    X = X.tocsr() if is_sparse(X) else X  # other sparse formats cannot be indexed
    if not labeled.any():
        raise ValueError(
            f"score needs labelled rows, and all {len(labeled)} are unlabelled. Hold out rows with "
            "labels, e.g. with lapwing.model_selection.LabeledStratifiedKFold."
        )
    rows = np.flatnonzero(labeled)
    some = PickedRows(points, rows) if is_rows(points) else _safe_indexing(X, rows)
    return some, None if weights is None else weights[rows]


def is_fitted_name(name: str) -> bool:
    """Return whether an attribute is a fitted one, such as ``alpha_``."""
    return name.endswith("_") and not name.startswith("_")


class SemiSupervisedEstimator(CallbackSupportMixin, Parametrized, Generic[P, S]):
    """Base of all estimators; see the module.

    A fit sets `labeled_`, `basis_` and the attributes from which the fitted function is rebuilt for
    predictions.
    """

    _regression: ClassVar[bool] = False
    _functions: ClassVar[tuple[type[FittedFunction], ...]] = (LinearFunction, KernelExpansion)
    _n_stages: ClassVar[int]
    # Whether other labels need a whole fit; `compare` tries such estimators last.
    _fits_again: ClassVar[bool] = False
    # Whether the decision values of the rows are not those of the function, and are kept.
    _has_virtual_labels: ClassVar[bool] = False
    # Parameters that hold several values to try, and a single one in other estimators.
    _tried: ClassVar[frozenset[str]] = frozenset()
    # Rules of parameters that differ from those of other families.
    _rules: ClassVar[Mapping[str, Rule]] = {}
    intercept_: Array

    @with_callbacks
    def fit(self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Any:
        """Fit to labelled and unlabelled points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All points, labelled or not; the kernel matrix (n_samples, n_samples) if
            ``kernel='precomputed'``. Or points on disk: a memory map, a path or other source of
            `lapwing.datasets.open_rows`.
        y : array-like of shape (n_samples,)
            Labels, with the marker `unlabeled` for unlabelled points.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the labelled points, 1 by default. Those of unlabelled points are ignored but
            must be finite. Labelled points of weight 0 are ignored.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight)

    def _fit(
        self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None, **options: Any
    ) -> Any:
        """Prepare, solve, answer; `options` go to `_solve`."""
        check_parameters(self)
        self._check_combination(**options)
        previous = self._forget()
        if self._parameter("warm_start"):
            options["previous"] = previous
        points, targets = self._begin(X, y)
        problem = self._make_problem(points, targets, sample_weight)
        # Refits keep a copy, whose parameters never change; before a context of callbacks exists.
        twin = copy(self)
        progress = Progress(self, self._n_stages, points, y)
        self._keep_targets(targets)
        prepared = self._prepare(targets, problem, progress)
        refits = twin._kept_refits(prepared)
        if refits is None or type(refits) is Refits:  # of whole fits
            solution = self._solve(prepared, progress, **options)
        else:
            with progress.stage("solve"):
                solution = refits.solve(prepared)
        self._keep(refits, solution, points)
        self._finish(points, prepared, solution)
        progress.finish()
        return self

    def _kept_refits(self, prepared: P) -> Refits[P, S] | None:
        """Return the refits to solve by, if the fit keeps them for updates."""
        return None

    def _keep(self, refits: Refits[P, S] | None, solution: S, X: PointData) -> None:
        """Keep what updates of the fit need."""

    def _finish(self, X: Any, prepared: P, solution: S) -> None:
        """Set the fitted attributes, answer for all rows, and warn."""
        problem = prepared.problem
        self.labeled_, self.basis_ = prepared.targets.labeled, problem.rows
        answer = self._refined(X, prepared, solution)
        self._keep_function(_own(answer.function.attributes, X))
        answer.assign(self)
        if isinstance(prepared.laplacian, Laplacian):
            self.affinity_ = prepared.laplacian.affinity
        self._answer(X, problem, answer)
        self._diagnose(prepared, solution)

    def _refined(self, X: PointData, prepared: P, solution: S) -> Solution:
        """Return the solution to answer by; classifiers may refine that of the solver."""
        return solution

    def _follow(self, prepared: P, solution: S, values: Array) -> FittedFunction:
        """Fit a function of the family's space to values (n, c) at all points."""
        raise NotImplementedError(f"{type(self).__name__} declares no function to refit.")

    @abstractmethod
    def _read_targets(self, y: ArrayLike) -> Targets:
        """Read y."""

    @abstractmethod
    def _transduce(self, values: Array) -> Array:
        """Convert decision values (n, c) to answers."""

    @abstractmethod
    def _prepare(self, targets: Targets, problem: Problem, progress: Stages) -> P:
        """Make the graph and the space, from the parameters that they depend on."""

    @abstractmethod
    def _solve(self, prepared: P, progress: Stages) -> S:
        """Minimise the objective."""

    def _refits(self, prepared: P) -> Refits[P, S]:
        """Make the refits to the same points; a family may reuse its factorisations in them."""
        return Refits(self, prepared)

    def _needs_more(self, before: P, prepared: P) -> bool:
        """Return whether labels in `prepared` need more than was prepared in `before`."""
        return False

    @abstractmethod
    def _diagnose(self, prepared: P, solution: S) -> None:
        """Warn if the answer may be misleading."""

    def _check_combination(self) -> None:
        """Raise ValueError for parameters that exclude each other."""
        return

    def _wants_graph(self) -> bool:
        return True

    def set_params(self, **params: object) -> Any:
        """Set parameters, including ``graph__name`` and ``space__name`` of graph and space.

        Parameters
        ----------
        **params : dict
            New values by name.

        Returns
        -------
        self
            The estimator.

        Raises
        ------
        ValueError
            If a name is unknown, or belongs to a graph or space that is None.
        """
        for name in ("graph", "space"):
            of_part = [key for key in params if key.startswith(f"{name}__")]
            recipe = params.get(name, getattr(self, name, None))
            if of_part and not hasattr(recipe, "set_params"):
                example = {"graph": "KNNGraph()", "space": "Landmarks()"}[name]
                raise ValueError(
                    f"{of_part[0]}: {name}={recipe!r} has no parameters to set. Give an object "
                    f"first, e.g. {type(self).__name__}({name}={example})."
                )
        return super().set_params(**params)

    def _keep_targets(self, targets: Targets) -> None:
        """Set the fitted attributes about y."""

    def _keep_function(self, attributes: Mapping[str, Any]) -> None:
        """Set the fitted attributes from which `_function` makes the function again."""
        for name, value in attributes.items():
            setattr(self, name, value)

    def _begin(self, X: PointsLike, y: ArrayLike) -> tuple[Any, Targets]:
        """Read and check the points and targets of a fit."""
        refuse_missing_y(self, y)
        input_checks.warn_row_order(X, y)
        X = self._read_points(X, reset=True)
        check_one_entry_a_row(X, y, regression=self._regression)
        targets = self._read_targets(y)
        input_checks.warn_labels(targets.warning)
        input_checks.warn_calibrated_marker(len(targets.labeled) - int(targets.labeled.sum()))
        return X, targets

    def _read_points(self, X: PointsLike, *, reset: bool) -> Any:
        # All functions can be evaluated in blocks, but not all fits read blocks.
        in_blocks = self._reads_blocks if reset else lambda rows: True
        points, header = read_points(X, in_blocks=in_blocks, name=type(self).__name__)
        if is_rows(points):
            validate_data(self, header, reset=reset, skip_check_array=True)
            if reset:
                check_rows(points)
            return points
        pairwise = self._pairwise()
        return read_features(self, points, reset=reset, header=header, pairwise=pairwise)

    def _reads_blocks(self, rows: Rows) -> bool:
        """Return whether a fit reads points on disk in blocks."""
        return False

    def _given_graph(self) -> GraphRecipe | None:
        """Return the graph recipe of the user; None for the default graph, and without a graph."""
        given = self.graph if self._wants_graph() else None
        return None if given is None else as_graph(given)

    def _graph_is_of_rows(self) -> bool:
        """Return whether the graph is a matrix of the rows, so that equal rows are not merged."""
        return isinstance(self._given_graph(), AffinityGraph)

    def _graph_of_fit(self) -> Any:
        """Return the graph that was given or chosen; None for the default graph."""
        return self._parameter("graph")

    def _default_graph(self, X: PointData) -> GraphRecipe:
        """Return the graph to use if none is given."""
        return default_graph(X, regression=self._regression)

    def _make_kernel(self, problem: Problem) -> Kernel | None:
        """Make the kernel; None for linear functions, which need no kernel values."""
        if self._has_kernel("linear"):
            return None
        return make_kernel(
            self.kernel, problem.X, gamma=self.gamma, degree=self.degree, coef0=self.coef0
        )

    def _space_of(
        self, recipe: SpaceRecipe | None, kernel: Kernel | None, problem: Problem
    ) -> Space:
        """Make the space of a recipe; None means the full kernel, or linear functions."""
        if recipe is None and kernel is not None:
            return FullKernelSpace.computed(kernel, problem.X, problem.rows)
        if recipe is None or isinstance(recipe, Linear):
            input_checks.check_linear_scale(problem.X)
            return LinearSpace(problem.X)
        if kernel is not None:
            self._check_kernel(kernel, problem.X)
        return make_space(recipe, kernel, problem.X)

    def _mapped_full_space(self, kernel: Kernel, problem: Problem) -> MappedSpace:
        """Make the space of the full kernel in coordinates, with G = I."""
        self._check_kernel(kernel, problem.X)
        basis = None if kernel.precomputed else problem.X
        return full_map(kernel, kernel.gram(problem.X), basis, problem.rows)

    def _check_kernel(self, kernel: Kernel, X: PointData) -> None:
        """Check a kernel on a sample of the points, as its whole matrix may never be formed."""
        if not kernel.surely_positive_definite:
            input_checks.check_kernel(kernel, X, f"The matrix of kernel={self.kernel!r}")

    def _make_problem(
        self, X: PointData, targets: Targets, sample_weight: ArrayLike | None
    ) -> Problem:
        """Make the problem, with equal rows as one vertex unless X or the graph is a matrix."""
        weights = check_weights(sample_weight, targets.labeled, targets.class_weights)
        pairwise = self._pairwise()
        if pairwise:
            self._check_precomputed(X)
        else:
            check_magnitude(X)
            input_checks.warn_feature_scales(X, getattr(self, "feature_names_in_", None))
            input_checks.warn_outlying_rows(X)
        problem: Problem = make_problem(
            X,
            targets.labeled,
            targets.columns,
            weights,
            merge=not (pairwise or self._graph_is_of_rows()),
            pairwise=pairwise,
        )
        targets.check(targets, problem)
        return problem

    def _check_precomputed(self, X: PointData) -> None:
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' takes the kernel matrix as X, square, not {X.shape}."
            )
        if isinstance(self._parameter("space"), Linear):
            raise ValueError(
                "space=Linear() needs the features, but with kernel='precomputed' X has none. "
                "Pass points, or use space=None."
            )
        if self._wants_graph() and not self._graph_is_of_rows():
            without = "" if self._parameter("gamma_I") is None else ", or set gamma_I=0"
            raise ValueError(
                "kernel='precomputed' leaves no points to build a graph from: pass the graph as "
                f"graph=AffinityGraph(affinity) or a sparse matrix{without}."
            )
        input_checks.check_kernel_matrix(X, "X")

    def _make_laplacian(self, recipe: GraphRecipe | None, problem: Problem) -> Laplacian:
        """Build the graph of a recipe, by default the default graph."""
        if recipe is None:
            recipe = self._default_graph(problem.X)
        elif isinstance(recipe, AffinityGraph) and problem.n_points < len(problem.vertex):
            rows = problem.rows  # without the rows that are left out of the fit
            recipe = AffinityGraph(
                recipe.affinity()[rows][:, rows],
                normalized=recipe.normalized,
                power=recipe.power,
            )
        return build_laplacian(
            recipe,
            problem.X,
            problem.X.dtype,
            memory=self._parameter("memory"),
            regression=self._regression,
        )

    def _forget(self) -> Mapping[str, Any]:
        """Delete and return the attributes of an earlier fit, so that a failed fit has none."""
        left = {name: value for name, value in vars(self).items() if is_fitted_name(name)}
        for name in left:
            delattr(self, name)
        return left

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "intercept_")

    def _answer(self, X: PointData, problem: Problem, solution: Solution) -> Array:
        """Set the answers for all rows, and return their decision values."""
        values = of_rows(X, problem, solution)
        if not solution.holds_prior:
            values = self._shift(values)
        if self._has_virtual_labels:
            self.virtual_labels_ = values
        self.transduction_ = self._transduce(values)
        return values

    def _warn_constant(
        self, X: PointData, problem: Problem, solution: Solution, values: str
    ) -> None:
        """Warn if the answers, or the values of the function, hardly vary."""
        warn_of = partial(
            diagnostics.warn_constant_values,
            parameters=self.get_params(deep=False),
            regression=self._regression,
        )
        warned = warn_of(solution.values[problem.index], problem.targets, what=values)
        if warned or not self._has_virtual_labels or _is_constant(solution.function):
            return
        some = slice(None, None, -(-len(problem.index) // _CHECKED_POINTS))
        predicted = solution.function(rows_of(X, problem.rows[problem.index[some]]))
        warned = warn_of(
            predicted, problem.targets[some], what="The values of f, which `predict` uses,"
        )
        if not (warned or self._regression):
            shifted = predicted + getattr(self, "class_offsets_", 0)
            diagnostics.warn_single_class_of_function(predict_codes(shifted), self.classes_)

    def _shift(self, values: Array) -> Array:
        """Shift decision values of all rows to a class prior."""
        return values

    def _decision_values(self, X: PointsLike) -> Array:
        check_is_fitted(self)
        points, function = self._read_points(X, reset=False), self._function()
        with single_blas_thread() if points.shape[0] <= _FEW_ROWS else nullcontext():
            return evaluate(function, points)

    def _refuse_several(self, asking: str) -> None:
        """Raise an error for methods that need a single target; see `SeveralTargets`."""

    def _function(self) -> FittedFunction:
        self._refuse_several("The fitted function")
        return function_from(vars(self), self._functions)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._pairwise()
        return tags

    def _pairwise(self) -> bool:
        """Return whether X is a kernel matrix."""
        return self._has_kernel("precomputed")

    def _has_kernel(self, name: str) -> bool:
        kernel = self._parameter("kernel")  # may be a function
        return isinstance(kernel, str) and kernel == name

    def _parameter(self, name: str) -> Any:
        """Return a parameter, also one that a subclass fixes; None if there is none."""
        return getattr(self, name, None)


def of_rows(X: PointsLike, problem: Problem, solution: Solution) -> Array:
    """Return the decision values of all rows, before any shift to a class prior."""
    values = solution.values[problem.vertex]
    left_out = np.flatnonzero(problem.vertex < 0)
    if len(left_out):
        # Rows of weight 0 are not points of the problem, but like new points.
        values[left_out] = solution.function(rows_of(X, left_out))
    return values


def _is_constant(function: FittedFunction) -> bool:
    """Return whether all coefficients are 0; solvers warn of it themselves."""
    known = function.attributes
    return not any(known[name].any() for name in ("alpha_", "coef_") if name in known)


def _own(attributes: Mapping[str, Any], X: PointData) -> Mapping[str, Any]:
    """Copy attributes that share memory with X, which the user may change later."""
    if is_rows(X):
        return attributes  # values read from a file are not shared
    memory = X.data if is_sparse(X) else X

    def shared(value: object) -> bool:
        part = value.data if is_sparse(value) else value
        return isinstance(part, np.ndarray) and np.may_share_memory(part, memory)

    return {name: value.copy() if shared(value) else value for name, value in attributes.items()}
