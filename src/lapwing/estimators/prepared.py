"""Values passed between the stages of a fit, and the progress of the stages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
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
from lapwing._rows import PointsLike, Rows, all_of, as_rows, header_of, moments_of
from lapwing.classes.decoding import predict_codes
from lapwing.exceptions import LapwingWarning
from lapwing.graphs import AffinityGraph, Eigenpairs, GraphRecipe
from lapwing.problem import Problem, check_weights
from lapwing.solvers.base import Covariance, Posterior
from lapwing.spaces import FittedFunction

# A file no larger than this, a block of many passes, is read into memory: then nothing is gained by
# reading it again and again.
_SMALL_BYTES = 2**26

# Numbers of the coefficients of all left-out fits that a regression keeps: 16 MB. With more targets
# these fits hardly differ from the fit.
_MOST_KEPT = 2**21


Attributes: TypeAlias = Callable[[], Mapping[str, Any]]
Tick: TypeAlias = Callable[[Attributes], bool]
"""Tells that a step is done, given the fitted attributes so far; True asks to stop."""


class Stages(Protocol):
    """Listener to the stages of a fit."""

    def stage(self, name: str, max_steps: int | None = 0) -> AbstractContextManager[Tick]:
        """A stage of the fit, with at most max_steps steps (None: not known)."""


class _Silent:
    """Nobody."""

    @contextmanager
    def stage(self, name: str, max_steps: int | None = 0) -> Iterator[Tick]:
        yield lambda attributes: False


SILENT: Stages = _Silent()


class Shown:
    """Stages that a line on standard error names too, where somebody sees it; a context manager.

    Parameters
    ----------
    title : str
        What they are the stages of.
    inner : Stages, default=SILENT
    """

    def __init__(self, title: str, inner: Stages = SILENT) -> None:
        self._line, self._inner = StatusLine(title), inner

    def __enter__(self) -> Self:
        self._line.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._line.__exit__(*error)

    @contextmanager
    def stage(self, name: str, max_steps: int | None = 0) -> Iterator[Tick]:
        """A stage of the fit, with at most max_steps steps (None: not known)."""
        self._line.show(name)
        with self._inner.stage(name, max_steps) as tick:
            yield tick


class Progress:
    """The tasks of one fit: the stages, and the steps of those that iterate.

    Parameters
    ----------
    estimator : estimator with CallbackSupportMixin
    n_stages : int or None
        None: not known.
    X, y : array-like
        The training data, handed to callbacks that ask for it.
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
        """A stage of the fit, with at most max_steps steps (None: not known)."""
        context = self._context.subcontext(task_name=name, max_subtasks=max_steps)
        context.call_on_fit_task_begin(estimator=self._estimator, **self._data)

        # Every context is kept by the one above: where nobody listens, iterations make none.
        heard = bool(getattr(self._estimator, "_skl_callbacks", ()))

        def tick(attributes: Attributes) -> bool:
            if not heard:
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

    def finish(self, attributes: Attributes) -> None:
        """The fit is done."""
        self._context.call_on_fit_task_end(
            estimator=self._estimator, reconstruction_attributes=attributes, **self._data
        )


def _check_nothing(targets: Targets, problem: Problem) -> None:
    return


class Targets(NamedTuple):
    """y, read: one row a row of X."""

    columns: Array  # (n_rows, c), read only where labelled
    labeled: Array  # (n_rows,) bool
    class_weights: Array  # (n_rows,) factors of the sample weights
    classes: Array = np.empty(0)  # sorted labels; none in regressions
    unlabeled: tuple[Any, ...] = ()  # the markers of unlabelled rows
    class_prior: Array | None = None  # (n_classes,), where it is known
    warning: LapwingWarning | None = None  # of how y was read
    # Refuses a problem whose weights leave too little to learn from.
    check: Callable[[Targets, Problem], None] = _check_nothing


class WantedGraph(NamedTuple):
    """Whether a fit has a graph, decided once, and which one if the user gave any."""

    wanted: bool
    given: GraphRecipe | None = None

    @property
    def of_rows(self) -> bool:
        """Whether it is a matrix about the user's rows, which can then not be merged."""
        return isinstance(self.given, AffinityGraph)


SpaceT = TypeVar("SpaceT")
GraphT = TypeVar("GraphT")
OtherSpace = TypeVar("OtherSpace")
OtherGraph = TypeVar("OtherGraph")


@dataclass(frozen=True, eq=False)
class Prepared(Generic[SpaceT, GraphT]):
    """Prepared inputs of a fit, for solving again with other labels, weights or parameters.

    Attributes
    ----------
    targets : Targets
        y, read.
    problem : Problem
    laplacian
        Of the family's own type: a Laplacian, None where there is no graph, or several graphs.
    space
        So, too: a Space, or what a family has in its place.
    eigenpairs : Eigenpairs or None
        Of the Laplacian, where the family wants some.
    """

    targets: Targets
    problem: Problem
    laplacian: GraphT
    space: SpaceT
    eigenpairs: Eigenpairs | None = None

    def on(
        self, laplacian: OtherGraph, space: OtherSpace, eigenpairs: Eigenpairs | None = None
    ) -> Prepared[OtherSpace, OtherGraph]:
        """The same points and labels with another graph and space."""
        return Prepared(self.targets, self.problem, laplacian, space, eigenpairs)

    def relabeled(self, targets: Targets, sample_weight: ArrayLike | None = None) -> Self:
        """The same points with other labels; see `Problem.relabeled`.

        Raises
        ------
        ValueError
            As `fit` does for such labels and weights, and where a row has a label that is no point
            of the problem.
        """
        weights = check_weights(sample_weight, targets.labeled, targets.class_weights)
        gone = np.flatnonzero(targets.labeled & (weights > 0) & (self.problem.vertex < 0))
        if len(gone):
            raise ValueError(
                f"Row {gone[0]} has a label, but the problem was prepared without it: its weight "
                "was 0. Prepare the problem again."
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
    """Whether a fit may keep the coefficients of all left-out fits."""
    return n_coef * n_functions <= _MOST_KEPT


@dataclass(frozen=True, eq=False)
class Solution(ABC):
    """Solution of a prepared problem.

    Attributes
    ----------
    function : FittedFunction
    values : ndarray of shape (n, c)
        Decision values on the points, of which the transductive answers are taken.
    """

    # Whether the values hold the class prior already, and must not be shifted to it.
    holds_prior: ClassVar[bool] = False

    function: FittedFunction
    values: Array

    @abstractmethod
    def assign(self, model: Any) -> None:
        """Set the fitted attributes of a model beside those of the function."""

    def left_out(self) -> Array | None:
        """Decision values (l, c) of each observation by the fit without it, to first order.

        None where a family would have to fit again for them: every fit asks, and must not become
        slower by it. `Refits.left_out` has them in any case, and exactly.
        """
        return None

    def left_out_fits(self) -> LeftOutFits | None:
        """The fits of one column without each observation, exactly; None as in `left_out`."""
        return None


P = TypeVar("P", bound=Prepared[Any, Any])
S = TypeVar("S", bound=Solution)


@dataclass(frozen=True, eq=False)
class Refits(Generic[P, S]):
    """Fits of an estimator to prepared points.

    Attributes
    ----------
    estimator : SemiSupervisedEstimator
        Its parameters; it stays as it is.
    prepared : Prepared
    """

    estimator: Any
    prepared: P

    def covering(self, points: Array) -> Self:
        """The same, ready for labels at these points: what they need is made for all at once."""
        return self

    def of(self, prepared: P) -> Self:
        """The same with other labels as those that it begins with."""
        return replace(self, prepared=prepared)

    def again(self, prepared: P) -> Refits[P, S]:
        """Refits of the same estimator to points that were prepared anew."""
        refits: Refits[P, S] = self.estimator._refits(prepared)
        return refits

    def holding_shares(self) -> Self:
        """The same, where what a fit takes the shares of the classes to be stays as it is now."""
        return self

    def solve(self, prepared: P) -> S:
        """The solution for other labels of the points, by `Prepared.relabeled`."""
        found: S = self.estimator._solve(prepared, SILENT)
        return found

    def values(self, prepared: P) -> Array:
        """Its decision values on the points (n, c), no more."""
        return self.solve(prepared).values

    def posterior(self, X: PointsLike) -> Posterior:
        """Spread of the Gaussian process whose mean the fit is, at new points.

        Raises
        ------
        ValueError
            If the fit is the mean of none, or has no factorisation.
        """
        raise ValueError(
            f"{type(self.estimator).__name__} with these parameters has no factorisation of a "
            "Gaussian process. return_std takes solver='dual' or 'newton' and no early stopping; "
            "of LapERLSRegressor a number n_eigenvectors."
        )

    def covariance(self, points: Array) -> Covariance | None:
        """Posterior covariance of the values on all points with those of some.

        None if the fit is the mean of no Gaussian process, or has no factorisation.
        """
        return None

    def left_out(self) -> Array:
        """Decision values (l, c) of each observation by the fit without it.

        NaN where a class has no other observation: what would be fitted then is another problem.
        """
        return self.left_out_of(
            np.flatnonzero(removable(self.prepared, self.estimator._regression))
        )

    def left_out_of(self, observations: Array) -> Array:
        """The same of some observations, by one fit for each; NaN for all others."""
        problem = self.prepared.problem
        values = np.full(problem.targets.shape, np.nan)
        for i in observations.tolist():
            values[i] = self.values(without(self.prepared, i))[problem.index[i]]
        return values


def removable(prepared: Prepared[Any, Any], regression: bool) -> Array:
    """Mask (l,) of the observations without which all classes still have one."""
    targets = prepared.problem.targets
    if regression:
        return np.full(len(targets), len(targets) > 1)
    codes = predict_codes(targets)
    return np.asarray(np.bincount(codes)[codes] > 1)


def without(prepared: P, observations: int | Array) -> P:
    """The same with the rows that make an observation, or each of several, unlabelled."""
    problem, targets = prepared.problem, prepared.targets
    labeled = problem.labeled_rows.copy()
    for i in np.atleast_1d(observations).tolist():
        same = (targets.columns == problem.targets[i]).all(axis=1)
        labeled &= ~((problem.vertex == problem.index[i]) & same)
    return relabeled(prepared, labeled, targets.columns, problem.row_weights)


def relabeled(prepared: P, labeled: Array, columns: Array, weights: Array) -> P:
    """The same with other labels and weights of all rows, the factors of their classes included."""
    targets: Any = prepared.targets._replace(columns=columns, labeled=labeled)
    problem = prepared.problem.relabeled(labeled, columns, weights)
    return replace(prepared, targets=targets, problem=problem)


class PointsInMemory(NamedTuple):
    """Points of a file that were read whole."""

    values: Array
    header: Any  # what their columns are counted and named by; see `header_of`


def is_large(rows: Rows) -> bool:
    """Whether points are worth reading in blocks."""
    return bool(prod(rows.shape) * rows.dtype.itemsize > _SMALL_BYTES)


def read_points(X: PointsLike, *, in_blocks: Any, name: str) -> Any:
    """Points as they go on: rows that are read in blocks, or what scikit-learn checks.

    Parameters
    ----------
    X : array-like, sparse matrix, or a source of `lapwing.datasets.open_rows`
    in_blocks : function (Rows) -> bool
        Whether large points are taken in blocks.
    name : str
        Of the estimator.

    Returns
    -------
    Rows, Held or array-like

    Raises
    ------
    MemoryError
        For points that are needed as an array and do not fit.
    """
    rows = as_rows(X)
    if rows is None:
        return X
    if is_large(rows) and in_blocks(rows):
        return rows
    if isinstance(X, np.memmap) and X.dtype.isnative:
        return X
    n, d = rows.shape
    require_memory(
        float(n) * d * rows.dtype.itemsize,
        f"{name} with these parameters takes X as an array in memory, and {n} x {d} points of a "
        "file as one",
        "Use an estimator that reads row blocks: LapERLSClassifier or LapERLSRegressor, "
        "AnchorGraphClassifier, EigenfunctionClassifier.",
    )
    return PointsInMemory(all_of(rows), header_of(rows))


def check_one_entry_a_row(X: PointsLike, y: ArrayLike, *, regression: bool) -> None:
    """Refuse y that has not an entry for every row of X, as where it has only the labels."""
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
    """Refuse rows with missing or infinite values, and fewer than two of them: one pass."""
    if X.shape[0] < 2:
        raise ValueError(f"X has {X.shape[0]} row, and a fit needs at least 2.")
    found = moments_of(X).not_finite
    if found is not None:
        raise ValueError(
            f"X contains NaN or infinity, first in row {found[0]}, column {found[1]} (counted "
            "from 0). Mend or leave out such rows before the fit."
        )
