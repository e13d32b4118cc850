"""Estimators that choose their parameters by leave-one-out on the labels.

`_prepare` makes the graphs and the kernels. `_solve` scores the whole grid from shared
factorisations and fits the plain estimator with the best setting. The choice is part of the
solution, so that fits with other labels choose again. There are no numerics here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from time import perf_counter
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from lapwing._arrays import Array
from lapwing._parameters import changed, parameters
from lapwing._rows.base import PointData
from lapwing.classes.decoding import predict_codes
from lapwing.estimators import diagnostics, input_checks
from lapwing.estimators.parameters import KernelParameters
from lapwing.estimators.prepared import (
    LeftOutFits,
    Prepared,
    Refits,
    Solution,
    Stages,
    removable,
)
from lapwing.estimators.template import SemiSupervisedEstimator
from lapwing.estimators.updates import Updatable
from lapwing.graphs import AffinityGraph, GraphRecipe, Laplacian, as_graph
from lapwing.graphs.registry import default_graphs
from lapwing.kernels import Kernel
from lapwing.problem import Problem
from lapwing.spaces.base import Space


class KernelWidth(NamedTuple):
    """Function space of a kernel width, and the parameters of the plain estimator for it."""

    params: Mapping[str, Any]
    space: Space
    usual: bool  # whether it is the nearest to the default of the plain estimator


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
    return not changed(mine | {"power": None}, its | {"power": None})


def width_of(
    prepared: Prepared[tuple[KernelWidth, ...], Any], params: Mapping[str, Any]
) -> KernelWidth:
    """Return the width of a setting."""
    gamma = params.get("gamma")
    return next(each for each in prepared.space if each.params.get("gamma") == gamma)


def graph_of(prepared: Prepared[Any, Any], params: Mapping[str, Any]) -> Any:
    """Return the graph of a setting."""
    return next(graph for graph in prepared.laplacian if graph.recipe is params["graph"])


def usual_width(prepared: Prepared[Any, Any]) -> KernelWidth:
    """Return the width that is nearest to the default of the plain estimator."""
    return next(each for each in prepared.space if each.usual)


def first_graph(prepared: Prepared[Any, Any]) -> dict[str, Any]:
    """Return the parameter of the first graph, if there is one."""
    return {"graph": prepared.laplacian[0].recipe} if prepared.laplacian else {}


def nearest(values: ArrayLike, usual: float) -> float:
    """Return the value of a grid with the smallest ratio to the usual one."""
    grid = np.asarray(values, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return float(grid[np.argmin(np.abs(np.log(grid) - np.log(usual)))])


NORMAL_95 = 1.6449  # quantile of the standard normal distribution, for one-sided tests at 5 %


class Scored(NamedTuple):
    """Setting with its leave-one-out scores."""

    params: Mapping[str, Any]
    left_out: Array  # (l, c), NaN for observations that were not left out
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

    def refits(self) -> Refits[Any, Any]:
        """Make refits of the plain estimator, which keep the chosen setting."""
        return self.estimator._refits(self.prepared)

    def assign(self, model: Any) -> None:
        self.solution.assign(model)
        self.choice.assign(model)
        if self.prepared.laplacian is not None:
            model.affinity_ = self.prepared.laplacian.affinity

    def left_out(self) -> Array | None:
        return self.solution.left_out()

    def left_out_fits(self) -> LeftOutFits | None:
        return self.solution.left_out_fits()


PathPrepared = TypeVar("PathPrepared", bound=Prepared[tuple[KernelWidth, ...], Any])


@parameters
class PathEstimator(KernelParameters, Updatable[PathPrepared, PathSolution], Generic[PathPrepared]):
    """Base of estimators that choose a setting of a plain estimator; see the module."""

    _plain: ClassVar[type[SemiSupervisedEstimator[Any, Any]]]
    _weights: ClassVar[tuple[str, ...]]  # of the objective; the values to try are `<name>s`
    _widths_tried: ClassVar[tuple[float, ...]] = (1.0, 4.0)  # factors of 'scale' for gammas=None
    _usual_factor: ClassVar[float] = 1.0  # that of the usual setting

    _: KW_ONLY
    gammas: Any = None
    graphs: Any = None

    @abstractmethod
    def _along(self, prepared: PathPrepared, wanted: Array) -> Iterator[list[Scored]]:
        """Score all settings by leave-one-out, those that share work together."""

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

    def _check_combination(self) -> None:
        self._estimator()._check_combination()

    def _graph_is_of_rows(self) -> bool:
        graphs = (self.graphs or ()) if self._wants_graph() else ()
        return any(isinstance(as_graph(graph), AffinityGraph) for graph in graphs)

    def _graph_of_fit(self) -> Any:
        return self.best_params_.get("graph")

    def _laplacians(self, problem: Problem) -> tuple[RecipeGraph, ...]:
        """Make the Laplacians of all graphs."""
        recipes = self.graphs
        if recipes is None:
            recipes = default_graphs(problem.X, regression=self._regression)
        plain = self._estimator()
        return laplacians_of(recipes, lambda recipe: plain._make_laplacian(recipe, problem))

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

    def _widths(
        self, kernels: Sequence[Kernel | None], problem: Problem
    ) -> tuple[KernelWidth, ...]:
        """Make the spaces, and mark the width nearest to the default of the plain estimator."""
        plain, usual = self._estimator(), 0
        gammas = [kernel.gamma for kernel in kernels if kernel is not None and kernel.has_width]
        if gammas:
            scale = self._estimator(gamma="scale")._make_kernel(problem).gamma
            usual = gammas.index(nearest(gammas, self._usual_factor * scale))
        params = [{"gamma": gamma} for gamma in gammas] or [{}]
        spaces = [plain._make_space(kernel, problem) for kernel in kernels]
        return tuple(
            KernelWidth(given, space, k == usual)
            for k, (given, space) in enumerate(zip(params, spaces, strict=True))
        )

    def _usual(self, prepared: PathPrepared) -> dict[str, Any]:
        """Return the setting of the grid that is nearest to the defaults of the plain estimator."""
        plain = self._plain().get_params(deep=False)
        found = {name: nearest(getattr(self, f"{name}s"), plain[name]) for name in self._weights}
        return {**found, **usual_width(prepared).params, **first_graph(prepared)}

    def _solve(self, prepared: PathPrepared, progress: Stages) -> PathSolution:
        wanted, usual = removable(prepared, self._regression), self._usual(prepared)
        with progress.stage("grid"):
            if wanted.all():
                scored = self._along(prepared, wanted)
                scores = Scores.of(scored, prepared.problem, self._regression, self._judged)
                choice = scores.choice(usual)
            else:
                choice = GridChoice({**usual, **self._defaults()}, float("nan"), {})
        chosen = self._of_setting(prepared, choice.params)
        estimator = self._estimator(**choice.params)
        found = estimator._solve(chosen, progress)
        return PathSolution(found.function, found.values, choice, estimator, chosen, found)

    def _kept_refits(self, prepared: PathPrepared) -> None:
        """Return None: updates reuse the refits of the chosen setting, which the solve makes."""

    def _keep(self, refits: Any, solution: PathSolution, X: PointData) -> None:
        super()._keep(solution.refits() if self.updatable else None, solution, X)

    def _updated(self, refits: Refits[Any, Any], solution: Solution) -> PathSolution:
        choice = GridChoice(self.best_params_, self.best_score_, self.cv_results_)
        return PathSolution(
            solution.function, solution.values, choice, refits.estimator, refits.prepared, solution
        )

    def _warn_long(self, seconds: float, n_factors: int, size: int) -> None:
        input_checks.warn_long(
            seconds,
            f"{type(self).__name__} factors {n_factors} matrices of {size} rows and",
            "Give it fewer settings, e.g. gammas=['scale'], graphs=[KNNGraph()] and few ratios "
            "gamma_I / gamma_A, or fewer unlabelled points.",
        )

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
        scored: Iterator[list[Scored]],
        problem: Problem,
        regression: bool,
        judged: Callable[[Array], Array],
    ) -> Scores:
        """Compare left-out scores with the targets, by the weights of the observations."""
        found: list[Scored] = []
        seconds: list[float] = []
        begun = perf_counter()
        for batch in scored:
            found += batch
            seconds += [(perf_counter() - begun) / len(batch)] * len(batch)
            begun = perf_counter()
        settings, left_out, likelihoods = zip(*found, strict=True)
        shares = problem.weights / problem.weights.sum()
        losses = np.array([(judged(f) - problem.targets) ** 2 for f in left_out]).mean(axis=2)
        squared = losses @ shares
        unsolved = ~np.isfinite(squared)
        squared[unsolved] = np.nan
        if unsolved.all():
            raise ValueError(
                "No setting of the grid has a solution whose leave-one-out values are finite. Try "
                "a larger gamma_A or lam, and scale the features."
            )
        error = likely = None
        if regression:
            likely = np.where(unsolved, np.nan, likelihoods)
        else:
            truth = predict_codes(problem.targets)
            wrong = [shares @ (predict_codes(f) != truth) for f in left_out]
            error = np.where(unsolved, np.nan, wrong)
        return cls(settings, losses, shares, squared, error, np.array(seconds), likely)

    @property
    def best(self) -> int:
        """Setting of least squared error, the first of equals."""
        return int(np.nanargmin(self.squared_error))

    def chosen(self, usual: Mapping[str, Any]) -> int:
        """Choose a setting: for regressions the most likely one.

        For classifiers it is the usual one, unless that with the smallest squared error is better
        by a one-sided test of the difference at 5 %: with few labels the best of many settings is
        best by chance. Mean error of LapRLS at 3 / 10 labels per class, 600 points, on nine sets by
        which the level was chosen: 22.4 / 18.0 % without a test, 22.0 / 18.0 at one standard error,
        21.6 / 17.4 at this level, 25.0 / 17.6 with fixed parameters. On nine other sets and draws:
        33.2 / 18.8, 33.2 / 18.2, 32.9 / 17.8, and 28.8 / 17.9 fixed. Two standard errors cost a
        point at 3 labels on the first sets.
        """
        best = self.best
        known = next((i for i, each in enumerate(self.settings) if not changed(each, usual)), best)
        if self.log_likelihood is not None:
            finite = np.isfinite(self.log_likelihood)  # infinite for equal targets
            likely = np.where(finite, self.log_likelihood, -np.inf)
            return int(likely.argmax()) if finite.any() else known
        worse = self.losses[known] - self.losses[best]
        noise = standard_error(worse, self.shares)
        return known if self.shares @ worse <= NORMAL_95 * noise else best

    def choice(self, usual: Mapping[str, Any]) -> GridChoice:
        """Return the chosen setting with its score."""
        k = self.chosen(usual)
        return GridChoice(dict(self.settings[k]), -float(self.squared_error[k]), self.table())

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


def standard_error(values: Array, weights: Array) -> float:
    """Compute the standard error of a weighted mean, for weights that sum to 1."""
    l = len(values)
    return float(np.sqrt(weights**2 @ (values - weights @ values) ** 2 * l / (l - 1)))
