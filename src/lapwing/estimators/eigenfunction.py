"""Classification by eigenfunctions of the smoothness operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing._rows import Rows, rows_of
from lapwing.estimators._docs import document
from lapwing.estimators.classifier import SemiSupervisedClassifier
from lapwing.estimators.prepared import Prepared, Refits, Solution, Targets, WantedGraph
from lapwing.estimators.progress import Stages
from lapwing.graphs.eigenfunctions import Eigenfunctions, fit_eigenfunctions
from lapwing.problem import Problem
from lapwing.solvers.graph.penalized import LeastSquares, left_out_values, penalized_least_squares
from lapwing.spaces import EigenfunctionSum, evaluate


@dataclass(frozen=True, eq=False)
class EigenfunctionRefits(Refits):
    """By the functions' values on all points.

    Attributes
    ----------
    design : ndarray of shape (n, k + 1)
        The constant first.
    """

    estimator: EigenfunctionClassifier
    design: Array

    def solve(self, prepared: Prepared) -> Solution:
        fit, without = self.estimator._fit_labels(prepared, self.design[prepared.problem.index])
        function = _function(prepared.space, fit)
        values = function.settled(self.design @ fit.coef)
        return EigenfunctionSolution(function, values, {"objective_": fit.objective}, without)

    def values(self, prepared: Prepared) -> Array:
        return self.solve(prepared).values


@dataclass(frozen=True, eq=False)
class EigenfunctionSolution(Solution):
    """With what the labels say of each other."""

    values_without: Callable[[], Array]

    def left_out(self) -> Array:
        return self.values_without()


def _function(functions: Eigenfunctions, fit: LeastSquares) -> EigenfunctionSum:
    # The first eigenfunction is the constant one: its coefficient is the bias.
    return EigenfunctionSum(functions, fit.coef[1:], functions.constant * fit.coef[0])


@document
class EigenfunctionClassifier(SemiSupervisedClassifier):
    r"""Classifier by eigenfunctions of the density's smoothness operator.

    The points are rotated to their principal directions, along each of which a histogram has
    one-dimensional eigenfunctions; with the values U of the smoothest ones at the points and their
    eigenvalues :math:`\Sigma`,

    .. math:: \lambda \sum_{i \in L} w_i (y_i - (U \alpha)_i)^2 + \alpha^T \Sigma \alpha

    is minimised for every one-vs-rest column: :math:`(\Sigma + U^T \Lambda U) \alpha = U^T \Lambda
    y` ([1]_; the baseline "Eigenfunction" of [2]_). No graph is formed, and it takes
    O(n d^2 + n q) for n points, d features and q directions.

    Parameters
    ----------
    {n_eigenfunctions}
    {n_directions}
    {n_bins}
    {bandwidth}
    {clip}
    {eigenfunction_lam}
    {class_weight}
    {class_prior}
    {unlabeled}

    Attributes
    ----------
    {classes_}
    {unlabeled_}
    {transduction_}
    {probabilities_}
    {eigenfunction_alpha_}
    {constant_}
    {eigenfunctions_}
    basis_ : ndarray of shape (n_points,)
        Rows of X that are counted: equal rows are one point.
    {objective_}
    {class_prior_}
    {class_offsets_}
    {labeled_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    AnchorGraphClassifier : Follows the density where directions are not independent.

    Notes
    -----
    The functions are eigenfunctions of a density that is a product over the directions, which that
    of real data is not: [2]_ finds an SVM better on several sets.

    The order of rows and columns does not matter. Where the points vary equally along several
    directions, as all combinations of some codes do, the features' own axes are projected to the
    space of these directions, and all of them are taken: one a level of a code. Where they are
    more than 4 times as many as there is room for, a `TiedPointsWarning` says that the choice
    follows the order of the columns.

    References
    ----------
    .. [1] R. Fergus, Y. Weiss and A. Torralba, "Semi-supervised learning in gigantic image
       collections", Advances in Neural Information Processing Systems 22, 522-530, 2009.
    .. [2] L. Chen, I. W. Tsang and D. Xu, "Laplacian embedded regression for scalable manifold
       regularization", IEEE Transactions on Neural Networks and Learning Systems 23, 902-915, 2012.

    Examples
    --------
    >>> from lapwing import EigenfunctionClassifier
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = ["low", "?", "?", "high", "?", "?"]
    >>> EigenfunctionClassifier(unlabeled="?").fit(X, y).transduction_.tolist()
    ['low', 'low', 'low', 'high', 'high', 'high']
    """

    _functions = (EigenfunctionSum,)
    _n_stages = 2

    def __init__(
        self,
        n_eigenfunctions: int | None = None,
        *,
        n_components: int = 64,
        n_bins: int = 100,
        bandwidth: float | None = None,
        clip: float = 0.025,
        lam: float = 100.0,
        class_weight: Any = None,
        class_prior: Any = None,
        unlabeled: Any = "auto",
    ) -> None:
        self.n_eigenfunctions = n_eigenfunctions
        self.n_components = n_components
        self.n_bins = n_bins
        self.bandwidth = bandwidth
        self.clip = clip
        self.lam = lam
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.unlabeled = unlabeled

    def _wants_graph(self) -> bool:
        return False

    def _reads_blocks(self, rows: Rows) -> bool:
        return True

    def _graph(self) -> WantedGraph:
        # Densities along directions stand in for the graph: no neighbours are searched.
        return WantedGraph(False)

    def _prepare(
        self, targets: Targets, problem: Problem, graph: WantedGraph, progress: Stages
    ) -> Prepared:
        with progress.stage("eigenfunctions"):
            functions = fit_eigenfunctions(
                problem.X,
                n_components=int(self.n_components),
                n_functions=self.n_eigenfunctions,
                n_bins=int(self.n_bins),
                bandwidth=self.bandwidth,
                clip=float(self.clip),
            )
        return Prepared(targets, problem, None, functions)

    def _solve(
        self,
        prepared: Prepared,
        progress: Stages,
        *,
        previous: Mapping[str, Any] | None = None,
    ) -> Solution:
        problem, functions = prepared.problem, prepared.space
        with progress.stage("solve"):
            rows = functions.evaluate(rows_of(problem.X, problem.index))
            fit, without = self._fit_labels(prepared, rows)
        function = _function(functions, fit)
        values = self._values(function, problem.X)
        return EigenfunctionSolution(function, values, {"objective_": fit.objective}, without)

    def _values(self, function: EigenfunctionSum, X: Any) -> Any:
        """Decision values of all points."""
        return evaluate(function, X)

    def _fit_labels(
        self, prepared: Prepared, rows: Array
    ) -> tuple[LeastSquares, Callable[[], Array]]:
        """Coefficients of the functions, given their values at the observations.

        And what gives the values at each observation by the fit without it.
        """
        problem, penalty = prepared.problem, np.diag(prepared.space.eigenvalues)
        given = rows, problem.targets, self.lam * problem.weights
        fit = penalized_least_squares(*given, penalty)
        return fit, partial(left_out_values, fit, *given)

    def _refits(self, prepared: Prepared) -> Refits:
        return EigenfunctionRefits(self, prepared, prepared.space.evaluate(prepared.problem.X))

    def _diagnose(self, prepared: Prepared, solution: Solution) -> None:
        return
