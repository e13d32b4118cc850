"""Estimators that choose their parameters by leave-one-out on the labels.

`_prepare` makes the graphs and the kernels. `_solve` scores the whole grid from shared
factorisations and fits the plain estimator with the best setting. The choice is part of the
solution, so that fits with other labels choose again. There are no numerics here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from lapwing._arrays import Array
from lapwing._rows import PointData, PointsLike
from lapwing.classes.decoding import predict_codes
from lapwing.estimators import diagnostics
from lapwing.estimators.prepared import (
    LeftOutFits,
    Prepared,
    Refits,
    Solution,
    Stages,
    WantedGraph,
    removable,
)
from lapwing.estimators.template import SemiSupervisedEstimator
from lapwing.estimators.updates import Updatable
from lapwing.graphs import AffinityGraph, GraphRecipe, Laplacian, as_graph
from lapwing.graphs.registry import default_graphs
from lapwing.kernels import Kernel
from lapwing.problem import Problem
from lapwing.solvers.base import Covariance, Posterior
from lapwing.spaces import Space


class KernelWidth(NamedTuple):
    """Function space of a kernel width, and the parameters of the plain estimator for it."""

    params: Mapping[str, Any]
    kernel: Kernel | None  # None for linear functions
    space: Space
    usual: bool = False  # whether it is the nearest to the default of the plain estimator


class RecipeGraph(NamedTuple):
    """Graph recipe with the Laplacian of the points."""

    recipe: GraphRecipe
    laplacian: Laplacian


def laplacians_of(
    recipes: Iterable[Any], make: Callable[[GraphRecipe], Laplacian]
) -> tuple[RecipeGraph, ...]:
    """Make the Laplacians of graphs, with one search for all that differ in the power only.

    Parameters
    ----------
    recipes : iterable of values that `as_graph` takes
        They are not changed: attributes of a search are set in copies.
    make : callable (recipe) -> Laplacian
    """
    found: list[RecipeGraph] = []
    for recipe in map(as_graph, recipes):
        twin = next((known for known in found if same_edges(known.recipe, recipe)), None)
        laplacian = (
            make(copy(recipe)) if twin is None else replace(twin.laplacian, power=recipe.power)
        )
        found.append(RecipeGraph(recipe, laplacian))
    return tuple(found)


def same_edges(one: GraphRecipe, other: GraphRecipe) -> bool:
    """Return whether two recipes differ in the power only."""
    if type(one) is not type(other) or not hasattr(one, "get_params"):
        return False
    mine, its = (graph.get_params(deep=False) for graph in (one, other))  # type: ignore[attr-defined]
    return _same(mine | {"power": None}, its | {"power": None})


def width_of(
    prepared: Prepared[tuple[KernelWidth, ...], Any], params: Mapping[str, Any]
) -> KernelWidth:
    """Return the width of a setting."""
    gamma = params.get("gamma")
    return next(each for each in prepared.space if each.params.get("gamma") == gamma)


def nearest(values: ArrayLike, usual: float) -> float:
    """Return the value of a grid with the smallest ratio to the usual one."""
    grid = np.asarray(values, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return float(grid[np.argmin(np.abs(np.log(grid) - np.log(usual)))])


_CRITICAL = 1.645  # standard normal quantile of a one-sided test at 5 %


class Scored(NamedTuple):
    """Setting with its leave-one-out scores."""

    params: Mapping[str, Any]
    left_out: Array  # (l, c), NaN for observations that were not left out
    seconds: float
    log_likelihood: float = float("nan")


class GridChoice(NamedTuple):
    """Setting that a grid search chose."""

    params: dict[str, Any]
    score: float  # NaN if nothing could be left out
    results: dict[str, Any]  # of all settings; empty if nothing could be left out

    def assign(self, model: Any) -> None:
        """Set the fitted attributes of scikit-learn's searches."""
        model.best_params_, model.best_score_ = self.params, self.score
        model.cv_results_ = self.results


@dataclass(frozen=True, eq=False)
class PathSolution(Solution):
    """Solution by the plain estimator with the chosen setting."""

    choice: GridChoice
    estimator: SemiSupervisedEstimator[Any, Any]
    prepared: Prepared[Any, Any]
    solution: Solution

    def assign(self, model: Any) -> None:
        self.solution.assign(model)
        self.choice.assign(model)

    def left_out(self) -> Array | None:
        return self.solution.left_out()

    def left_out_fits(self) -> LeftOutFits | None:
        return self.solution.left_out_fits()


@dataclass(frozen=True, eq=False)
class ChosenRefits(Refits[Prepared[Any, Any], PathSolution]):
    """Refits with the chosen setting, without choosing again.

    Attributes
    ----------
    chosen : Refits
        Refits of the plain estimator.
    choice : GridChoice
    """

    chosen: Refits[Any, Any]
    choice: GridChoice

    @classmethod
    def of_solution(cls, solution: PathSolution) -> ChosenRefits:
        """Make the refits of a solution."""
        estimator, prepared = solution.estimator, solution.prepared
        return cls(estimator, prepared, estimator._refits(prepared), solution.choice)

    def covering(self, points: Array) -> ChosenRefits:
        return replace(self, chosen=self.chosen.covering(points))

    def of(self, prepared: Prepared[Any, Any]) -> ChosenRefits:
        return replace(self, prepared=prepared, chosen=self.chosen.of(prepared))

    def again(self, prepared: Prepared[Any, Any]) -> ChosenRefits:
        return replace(self, prepared=prepared, chosen=self.chosen.again(prepared))

    def solve(self, prepared: Prepared[Any, Any]) -> PathSolution:
        return _of_choice(self.chosen.solve(prepared), self.choice, self.estimator, prepared)

    def values(self, prepared: Prepared[Any, Any]) -> Array:
        return self.chosen.values(prepared)

    def posterior(self, X: PointsLike) -> Posterior:
        return self.chosen.posterior(X)

    def covariance(self, points: Array) -> Covariance | None:
        return self.chosen.covariance(points)

    def left_out_of(self, observations: Array) -> Array:
        return self.chosen.left_out_of(observations)

    def left_out(self) -> Array:
        return self.chosen.left_out()


def _of_choice(
    solution: Solution,
    choice: GridChoice,
    estimator: SemiSupervisedEstimator[Any, Any],
    prepared: Prepared[Any, Any],
) -> PathSolution:
    return PathSolution(solution.function, solution.values, choice, estimator, prepared, solution)


PathPrepared = TypeVar("PathPrepared", bound=Prepared[tuple[KernelWidth, ...], Any])


class PathEstimator(Updatable[PathPrepared, PathSolution], Generic[PathPrepared]):
    """Base of estimators that choose a setting of a plain estimator; see the module."""

    _plain: ClassVar[type[SemiSupervisedEstimator[Any, Any]]]
    _widths_tried: ClassVar[tuple[float, ...]] = (1.0, 4.0)  # factors of 'scale' for gammas=None
    _usual_factor: ClassVar[float] = 1.0  # that of the usual setting
    gammas: Any
    graphs: Any
    best_params_: dict[str, Any]

    @abstractmethod
    def _usual(self, prepared: PathPrepared) -> Mapping[str, Any]:
        """Return the setting of the grid that is nearest to the defaults."""

    @abstractmethod
    def _along(self, prepared: PathPrepared, wanted: Array) -> Iterator[Scored]:
        """Score all settings by leave-one-out."""

    @abstractmethod
    def _of_setting(self, prepared: PathPrepared, params: Mapping[str, Any]) -> Prepared[Any, Any]:
        """Return the problem that the plain estimator solves with these parameters."""

    def _defaults(self) -> Mapping[str, Any]:
        """Return defaults of the plain estimator for parameters outside the default grid."""
        return {}

    def _judged(self, left_out: Array) -> Array:
        """Transform left-out scores for the comparison with targets."""
        return left_out

    def _estimator(self, **params: object) -> Any:
        """Make the plain estimator with the parameters of a setting and of this estimator."""
        own = self.get_params(deep=False)
        known = self._plain().get_params(deep=False).keys() & own.keys() - self._tried
        return self._plain(**({name: own[name] for name in known} | params))

    def _graph(self) -> WantedGraph:
        wanted = self._wants_graph()
        if not wanted or self.graphs is None:
            return WantedGraph(wanted)
        given = [as_graph(graph) for graph in self.graphs]
        # If one of them is a matrix of rows, equal rows cannot be merged.
        of_rows = [graph for graph in given if isinstance(graph, AffinityGraph)]
        return WantedGraph(wanted, (of_rows or given)[0])

    def _graph_of_fit(self) -> Any:
        return self.best_params_.get("graph")

    def _laplacians(self, problem: Problem) -> tuple[RecipeGraph, ...]:
        """Make the Laplacians of all graphs."""
        recipes = self.graphs
        if recipes is None:
            recipes = default_graphs(problem.X, regression=self._regression)
        plain = self._estimator()
        return laplacians_of(
            recipes, lambda recipe: plain._make_laplacian(WantedGraph(True, recipe), problem)
        )

    def _kernels(self, problem: Problem) -> list[Kernel | None]:
        """Make the kernel with every width; None for linear functions."""
        found: list[Kernel | None] = []
        if self.gammas is None:
            gammas: list[tuple[Any, float]] = [("scale", factor) for factor in self._widths_tried]
        else:
            gammas = [(gamma, 1.0) for gamma in self.gammas]
        for gamma, factor in gammas:
            kernel = self._estimator(gamma=gamma)._make_kernel(problem)
            if kernel is None or not kernel.has_width:
                return [kernel]
            found.append(replace(kernel, gamma=float(factor * kernel.gamma)))
        return found

    def _with_usual(
        self, widths: Sequence[KernelWidth], problem: Problem
    ) -> tuple[KernelWidth, ...]:
        """Mark the width that is nearest to the usual one."""
        place = 0
        if widths[0].params:
            kernel = self._estimator(gamma="scale")._make_kernel(problem)
            gammas = [each.params["gamma"] for each in widths]
            place = gammas.index(nearest(gammas, self._usual_factor * kernel.gamma))
        return tuple(each._replace(usual=k == place) for k, each in enumerate(widths))

    def _usual_width(self, prepared: PathPrepared) -> KernelWidth:
        return next(each for each in prepared.space if each.usual)

    def _solve(
        self,
        prepared: PathPrepared,
        progress: Stages,
        *,
        previous: Mapping[str, Any] | None = None,
    ) -> PathSolution:
        wanted = removable(prepared, self._regression)
        with progress.stage("grid"):
            if wanted.all():
                scores = Scores.of(
                    self._along(prepared, wanted), prepared.problem, self._regression, self._judged
                )
                chosen_one = scores.chosen(self._usual(prepared))
                params = scores.settings[chosen_one]
                score, results = -float(scores.squared_error[chosen_one]), scores.table()
            else:
                params = {**self._usual(prepared), **self._defaults()}
                score, results = float("nan"), {}
        chosen = self._of_setting(prepared, params)
        estimator = self._estimator(**params)
        choice = GridChoice(dict(params), score, results)
        return _of_choice(estimator._solve(chosen, progress), choice, estimator, chosen)

    def _first_solution(
        self, X: PointData, prepared: PathPrepared, progress: Stages, **options: Any
    ) -> PathSolution:
        self.__dict__.pop("_kept", None)  # of an earlier fit
        solution = self._solve(prepared, progress, **options)
        self._keep(self._refits(prepared), solution, X)
        return solution

    def _refits_of(
        self, refits: Refits[PathPrepared, PathSolution], solution: PathSolution
    ) -> ChosenRefits:
        return ChosenRefits.of_solution(solution)

    def _diagnose(self, prepared: PathPrepared, solution: PathSolution) -> None:
        if np.isnan(solution.choice.score):
            diagnostics.warn_nothing_held_out(self._regression)
        solution.estimator._diagnose(solution.prepared, solution.solution)


@dataclass(frozen=True, eq=False)
class Scores:
    """Leave-one-out scores of a grid, with an entry for each setting.

    Attributes
    ----------
    settings : sequence of mapping
    losses : ndarray of shape (n_settings, l)
        Squared error of each observation.
    shares : ndarray of shape (l,)
        Weights of the observations in the errors; they sum to 1.
    squared_error : ndarray of shape (n_settings,)
        NaN if a setting has no solution.
    error : ndarray of shape (n_settings,) or None
        Misclassification rate; None for regressions.
    log_likelihood : ndarray of shape (n_settings,) or None
        Criterion of regressions; None for classifiers.
    seconds : ndarray of shape (n_settings,)
    """

    settings: Sequence[Mapping[str, Any]]
    losses: Array
    shares: Array
    squared_error: Array
    error: Array | None
    seconds: Array
    log_likelihood: Array | None = None

    @classmethod
    def of(
        cls,
        scored: Iterator[Scored],
        problem: Problem,
        regression: bool,
        judged: Callable[[Array], Array],
    ) -> Scores:
        """Compare left-out scores with the targets, by the weights of the observations."""
        settings, losses, wrong, seconds, likelihoods = [], [], [], [], []
        shares = problem.weights / problem.weights.sum()
        truth = None if regression else predict_codes(problem.targets)
        for params, left_out, taken, likelihood in scored:
            settings.append(params)
            likelihoods.append(likelihood)
            losses.append(((judged(left_out) - problem.targets) ** 2).mean(axis=1))
            seconds.append(taken)
            if truth is not None:
                wrong.append(float(shares @ (predict_codes(left_out) != truth)))
        squared = np.array(losses)
        errors = squared @ shares
        unsolved = ~np.isfinite(errors)
        errors[unsolved] = np.nan
        if unsolved.all():
            raise ValueError(
                "No setting of the grid has a solution whose leave-one-out values are finite. Try "
                "a larger gamma_A or lam, and scale the features."
            )
        found = None if truth is None else np.where(unsolved, np.nan, wrong)
        likely = np.where(unsolved, np.nan, likelihoods) if regression else None
        return cls(settings, squared, shares, errors, found, np.array(seconds), likely)

    @property
    def best(self) -> int:
        """Setting of least squared error, the first of equals."""
        return int(np.nanargmin(self.squared_error))

    def chosen(self, usual: Mapping[str, Any]) -> int:
        """Choose a setting: for regressions the most likely one.

        For classifiers it is that of least squared error, or the usual one unless it is worse by a
        one-sided test of the difference at 5 %: with few labels the best of many settings is best
        by chance. Mean error of LapRLS at 3 / 10 labels a class, 600 points, on nine sets by which
        the level was chosen: 22.4 / 18.0 % without a test, 22.0 / 18.0 at one standard error,
        21.6 / 17.4 at this level, 25.0 / 17.6 with fixed parameters. On nine other sets and draws:
        33.2 / 18.8, 33.2 / 18.2, 32.9 / 17.8, and 28.8 / 17.9 fixed. Two standard errors cost a
        point at 3 labels on the first sets.
        """
        best = self.best
        known = next((i for i, each in enumerate(self.settings) if _same(each, usual)), best)
        if self.log_likelihood is not None:
            finite = np.isfinite(self.log_likelihood)  # infinite for equal targets
            likely = np.where(finite, self.log_likelihood, -np.inf)
            return int(likely.argmax()) if finite.any() else known
        worse = self.losses[known] - self.losses[best]
        mean, l = float(self.shares @ worse), len(worse)
        noise = float(np.sqrt(self.shares**2 @ (worse - mean) ** 2 * l / (l - 1)))
        return known if mean <= _CRITICAL * noise else best

    def table(self) -> dict[str, Any]:
        """Return the attribute `cv_results_`."""
        columns: dict[str, Any] = {"params": [dict(params) for params in self.settings]}
        for name in self.settings[0]:
            values = [params[name] for params in self.settings]
            if name == "graph":
                columns["param_graph"] = np.fromiter(values, dtype=object)
            else:
                columns[f"param_{name}"] = np.array(values)
        if self.error is not None:
            columns["left_out_error"] = self.error
        columns["left_out_squared_error"] = self.squared_error
        if self.log_likelihood is not None:
            columns["log_likelihood"] = self.log_likelihood
        columns["fit_time"] = self.seconds
        return columns


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two settings are equal; graphs must be the same objects."""
    return all(
        value is other[name] or (np.isscalar(value) and value == other[name])
        for name, value in one.items()
    )
