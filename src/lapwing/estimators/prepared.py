"""Values passed between the stages of a fit, and the progress of the stages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples

from lapwing._arrays import Array
from lapwing._features import reading_features
from lapwing._host.memory import require_memory
from lapwing._host.terminal import StatusLine
from lapwing._rows.base import PointsLike, Rows, all_of, moments_of
from lapwing._rows.registry import as_rows, header_of
from lapwing.classes.decoding import predict_codes
from lapwing.exceptions import LapwingWarning
from lapwing.graphs import Eigenpairs
from lapwing.problem import Problem, check_weights
from lapwing.solvers.posterior import Covariance
from lapwing.spaces.functions import FittedFunction

# Files up to this size, about that of a block, are read into memory once.
_SMALL_BYTES = 2**26

# Number of coefficients of all left-out fits that a regression keeps: 16 MB. With more targets
# these fits hardly differ from the fit.
_MOST_KEPT = 2**21


AttributesOf: TypeAlias = Callable[[], Mapping[str, Any]]
Tick: TypeAlias = Callable[[AttributesOf], bool]
"""Called after each step with a function that computes the fitted attributes; True to stop."""


class Stages(Protocol):
    """Listener to the stages of a fit."""

    def stage(self, name: str, max_steps: int | None = 0) -> AbstractContextManager[Tick]:
        """Enter a stage of the fit with at most max_steps steps (None: unknown)."""


class _Silent:
    """Listener that does nothing."""

    @contextmanager
    def stage(self, name: str, max_steps: int | None = 0) -> Iterator[Tick]:
        yield lambda attributes: False


SILENT: Stages = _Silent()


class Shown:
    """Context manager that also shows the stages in a status line on a terminal.

    Parameters
    ----------
    title : str
        Name of the whole task.
    inner : Stages
        Another listener.
    """

    def __init__(self, title: str, inner: Stages) -> None:
        self._line, self._inner = StatusLine(title), inner

    def __enter__(self) -> Self:
        self._line.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._line.__exit__(*error)

    @contextmanager
    def stage(self, name: str, max_steps: int | None = 0) -> Iterator[Tick]:
        """Enter a stage of the fit with at most max_steps steps (None: unknown)."""
        self._line.show(name)
        with self._inner.stage(name, max_steps) as tick:
            yield tick


class Progress:
    """Progress of a fit for scikit-learn's callbacks: its stages, and their iterations.

    Parameters
    ----------
    estimator : estimator with CallbackSupportMixin
    n_stages : int or None
        None if unknown.
    X, y : array-like
        Training data, for callbacks that ask for them.
    """

    def __init__(
        self, estimator: BaseEstimator, n_stages: int | None, X: PointsLike, y: ArrayLike
    ) -> None:
        self._estimator = estimator
        self._context = estimator._init_callback_context(max_subtasks=n_stages)
        self._data = {"X": X, "y": y}
        self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    @contextmanager
    def stage(self, name: str, max_steps: int | None = 0) -> Iterator[Tick]:
        """Enter a stage of the fit with at most max_steps steps (None: unknown)."""
        context = self._context.subcontext(task_name=name, max_subtasks=max_steps)
        context.call_on_fit_task_begin(estimator=self._estimator, **self._data)

        # A context keeps all its subcontexts: without callbacks iterations make none.
        has_callbacks = bool(getattr(self._estimator, "_skl_callbacks", ()))

        def tick(attributes: AttributesOf) -> bool:
            if not has_callbacks:
                return False
            step = context.subcontext(task_name="iteration")
            step.call_on_fit_task_begin(estimator=self._estimator, **self._data)
            return bool(
                step.call_on_fit_task_end(
                    estimator=self._estimator, reconstruction_attributes=attributes, **self._data
                )
            )

        yield tick
        context.call_on_fit_task_end(estimator=self._estimator, **self._data)

    def finish(self) -> None:
        """Tell callbacks that the fit is finished."""
        self._context.call_on_fit_task_end(
            estimator=self._estimator, reconstruction_attributes=lambda: {}, **self._data
        )


class Targets(NamedTuple):
    """Targets read from y, for each row of X."""

    columns: Array  # (n_rows, c), used only where labelled
    labeled: Array  # (n_rows,) bool
    class_weights: Array  # (n_rows,) factors of the sample weights
    classes: Array = np.empty(0)  # sorted labels; empty for regressions
    unlabeled: tuple[Any, ...] = ()  # markers of unlabelled rows
    class_prior: Array | None = None  # (n_classes,), if it is known
    warning: LapwingWarning | None = None  # about how y was read
    # Raises ValueError if the weights leave too little to learn from.
    check: Callable[[Targets, Problem], None] = lambda targets, problem: None


SpaceT = TypeVar("SpaceT")
GraphT = TypeVar("GraphT")
OtherSpace = TypeVar("OtherSpace")
OtherGraph = TypeVar("OtherGraph")


@dataclass(frozen=True, eq=False)
class Prepared(Generic[SpaceT, GraphT]):
    """Prepared inputs of a fit, to solve for several labels, weights or parameters.

    Attributes
    ----------
    targets : Targets
    problem : Problem
    laplacian
        Graph of the points, of the family's own type: a Laplacian, None without a graph, or several
        graphs.
    space
        Function space of the points, of the family's own type: a Space, or several.
    eigenpairs : Eigenpairs or None
        Eigenpairs of the Laplacian, for families that use them.
    """

    targets: Targets
    problem: Problem
    laplacian: GraphT
    space: SpaceT
    eigenpairs: Eigenpairs | None = None

    def on(
        self, laplacian: OtherGraph, space: OtherSpace, eigenpairs: Eigenpairs | None = None
    ) -> Prepared[OtherSpace, OtherGraph]:
        """Replace the graph and the space."""
        return Prepared(self.targets, self.problem, laplacian, space, eigenpairs)

    def relabeled(self, targets: Targets, sample_weight: ArrayLike | None = None) -> Self:
        """Replace the labels of the points; see `Problem.relabeled`.

        Raises
        ------
        ValueError
            For the labels and weights that `fit` refuses, and for a label of a row that was left
            out of the problem.
        """
        weights = check_weights(sample_weight, targets.labeled, targets.class_weights)
        left_out = np.flatnonzero(targets.labeled & (weights > 0) & (self.problem.vertex < 0))
        if len(left_out):
            raise ValueError(
                f"Row {left_out[0]} has a label, but the problem was prepared without it: its "
                "weight was 0. Prepare the problem again."
            )
        problem = self.problem.relabeled(targets.labeled, targets.columns, weights)
        targets.check(targets, problem)
        return replace(self, targets=targets, problem=problem)


class LeftOutFits(NamedTuple):
    """Fits of one column, each without one observation.

    Attributes
    ----------
    values : ndarray of shape (l,)
        Value of each fit at the point of its left-out observation; NaN where there is none.
    function : FittedFunction or None
        The fitted functions, a column for each finite value; None if they are not computed, or
        take more memory than a fit should keep (`may_keep`).
    """

    values: Array
    function: FittedFunction | None


def may_keep(n_coef: int, n_functions: int) -> bool:
    """Return whether a fit may keep the coefficients of all left-out fits."""
    return n_coef * n_functions <= _MOST_KEPT


@dataclass(frozen=True, eq=False)
class Solution(ABC):
    """Solution of a prepared problem.

    Attributes
    ----------
    function : FittedFunction
    values : ndarray of shape (n, c)
        Decision values on the points, from which the transductive answers follow.
    """

    # Whether the values meet the class prior already, and must not be shifted.
    holds_prior: ClassVar[bool] = False

    function: FittedFunction
    values: Array

    @abstractmethod
    def assign(self, model: Any) -> None:
        """Set the fitted attributes of a model that do not belong to the function."""

    def left_out(self) -> Array | None:
        """Approximate the decision values (l, c) of each observation by the fit without it.

        None if a family would need further fits, as every fit computes them. `Refits.left_out`
        always computes them, exactly.
        """
        return None

    def left_out_fits(self) -> LeftOutFits | None:
        """Return the exact fits of one column without each observation; None as in `left_out`."""
        return None


P = TypeVar("P", bound=Prepared[Any, Any])
S = TypeVar("S", bound=Solution)


@dataclass(frozen=True, eq=False)
class Refits(Generic[P, S]):
    """Fits of an estimator to prepared points with other labels.

    Attributes
    ----------
    estimator : SemiSupervisedEstimator
        Holds the parameters; it is not changed.
    prepared : Prepared
        Points and present labels.
    shared : mapping
        Options of `_solve`: results computed once from the points, for all fits.
    """

    estimator: Any
    prepared: P
    shared: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    def covering(self, points: Array) -> Self:
        """Precompute what fits with labels at these points need."""
        return self

    def holding_shares(self) -> Self:
        """Keep the class shares of the present labels in all fits."""
        return self

    def solve(self, prepared: P) -> S:
        """Solve for other labels of the points, made by `Prepared.relabeled`."""
        found: S = self.estimator._solve(prepared, SILENT, **self.shared)
        return found

    def values(self, prepared: P) -> Array:
        """Solve for the decision values on the points (n, c) only."""
        return self.solve(prepared).values

    def variances(self, X: PointsLike) -> Array:
        """Compute the posterior variances at new points, if the fit is a Gaussian process mean.

        Raises
        ------
        ValueError
            If the fit is not such a mean, or has no factorisation.
        """
        raise ValueError(
            f"{type(self.estimator).__name__} with these parameters has no factorisation of a "
            "Gaussian process. return_std takes solver='dual' or 'newton' and no early stopping; "
            "of LapERLSRegressor a number n_eigenvectors."
        )

    def covariance(self, points: Array) -> Covariance | None:
        """Compute the posterior covariance of the values on all points with those at some.

        None if the fit is not the mean of a Gaussian process, or has no factorisation.
        """
        return None

    def left_out(self) -> Array:
        """Compute the decision values (l, c) of each observation by the fit without it.

        NaN if its class has no other observation: without the class it is another problem.
        """
        return self.left_out_of(
            np.flatnonzero(removable(self.prepared, self.estimator._regression))
        )

    def left_out_of(self, observations: Array) -> Array:
        """Compute `left_out` of some observations, by a fit for each; NaN for all others."""
        problem = self.prepared.problem
        values = np.full(problem.targets.shape, np.nan)
        for i in observations.tolist():
            values[i] = self.values(without(self.prepared, i))[problem.index[i]]
        return values


def removable(prepared: Prepared[Any, Any], regression: bool) -> Array:
    """Return the mask (l,) of the observations whose class has another one."""
    targets = prepared.problem.targets
    if regression:
        return np.full(len(targets), len(targets) > 1)
    codes = predict_codes(targets)
    return np.asarray(np.bincount(codes)[codes] > 1)


def without(prepared: P, observations: int | Array) -> P:
    """Remove the labels of all rows that make up one or several observations."""
    problem, targets = prepared.problem, prepared.targets
    labeled = problem.labeled_rows.copy()
    for i in np.atleast_1d(observations).tolist():
        same = (targets.columns == problem.targets[i]).all(axis=1)
        labeled &= ~((problem.vertex == problem.index[i]) & same)
    return with_row_weights(prepared, labeled, targets.columns, problem.row_weights)


def with_row_weights(prepared: P, labeled: Array, columns: Array, weights: Array) -> P:
    """Replace the labels and weights of all rows; the weights include class weights."""
    targets: Any = prepared.targets._replace(columns=columns, labeled=labeled)
    problem = prepared.problem.relabeled(labeled, columns, weights)
    return replace(prepared, targets=targets, problem=problem)


def is_large(rows: Rows) -> bool:
    """Return whether points are large enough to read them in blocks."""
    return bool(prod(rows.shape) * rows.dtype.itemsize > _SMALL_BYTES)


def read_points(X: PointsLike, *, in_blocks: Callable[[Rows], bool], name: str) -> tuple[Any, Any]:
    """Open points on disk, to read them in blocks or in memory; return others unchanged.

    Parameters
    ----------
    X : array-like, sparse matrix, or a source of `lapwing.datasets.open_rows`
    in_blocks : function (Rows) -> bool
        Whether large points are read in blocks.
    name : str
        Name of the estimator, for the error.

    Returns
    -------
    points : Rows or array-like
    header : object or None
        Number and names of the columns of a file, see `header_of`.

    Raises
    ------
    MemoryError
        If points are needed in memory and do not fit.
    """
    rows = as_rows(X)
    if rows is None:
        return X, None
    if is_large(rows) and in_blocks(rows):
        return rows, header_of(rows)
    if isinstance(X, np.memmap) and X.dtype.isnative:
        return X, None
    n, d = rows.shape
    require_memory(
        float(n) * d * rows.dtype.itemsize,
        f"{name} with these parameters takes X as an array in memory, and {n} x {d} points of a "
        "file as one",
        "Use an estimator that reads row blocks: LapERLSClassifier or LapERLSRegressor, "
        "AnchorGraphClassifier, EigenfunctionClassifier.",
    )
    return all_of(rows), header_of(rows)


def refuse_missing_y(estimator: BaseEstimator, y: ArrayLike | None) -> None:
    """Raise ValueError if y is None."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None. Mark "
            "unlabelled points in y."
        )


def check_one_entry_a_row(X: PointsLike, y: ArrayLike, *, regression: bool) -> None:
    """Raise ValueError unless y has an entry for every row of X, labelled or not."""
    with reading_features(X):
        n = _num_samples(X)
    given = _num_samples(y)
    if n != given:
        marker = "NaN" if regression else "-1 or a missing value (see the parameter unlabeled)"
        raise ValueError(
            f"X has {n} rows, but y has {given} entries: y takes one for each row of X. Rows "
            f"without a label stay in X, and {marker} marks them in y."
        )


def check_rows(X: Rows) -> None:
    """Raise ValueError for missing or infinite values and for fewer than two rows, in one pass."""
    if X.shape[0] < 2:
        raise ValueError(f"X has {X.shape[0]} row, and a fit needs at least 2.")
    found = moments_of(X).not_finite
    if found is not None:
        raise ValueError(
            f"X contains NaN or infinity, first in row {found[0]}, column {found[1]} (counted "
            "from 0). Correct or drop such rows."
        )
