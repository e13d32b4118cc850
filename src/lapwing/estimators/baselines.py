"""Baselines: anchor graph regularisation and eigenfunctions of densities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from lapwing._arrays import Array
from lapwing._host.warn import warn
from lapwing._parameters import parameters
from lapwing._rows.base import Rows, rows_of
from lapwing.classes.volumes import PriorLike
from lapwing.estimators._docs import document
from lapwing.estimators.classifier import SemiSupervisedClassifier, WeightedClassifier
from lapwing.estimators.lapsvm import LapSVC
from lapwing.estimators.prepared import Prepared, Refits, Solution, Stages, Targets
from lapwing.exceptions import UnlabeledComponentWarning
from lapwing.graphs import AnchorGraph, AnchorLaplacian, Anchors
from lapwing.graphs.eigenfunctions import Eigenfunctions, fit_eigenfunctions
from lapwing.problem import Problem
from lapwing.solvers.penalized import (
    anchor_values,
    left_out_values,
    mass_scales,
    normalize_masses,
    penalized_least_squares,
)
from lapwing.spaces.functions import AnchorFunction, EigenfunctionSum, evaluate

AnchorPrepared: TypeAlias = Prepared[Anchors, AnchorLaplacian]


@dataclass(frozen=True, eq=False)
class BaselineSolution(Solution):
    """Solution with its leave-one-out values."""

    objective: Array
    values_without: Callable[[], Array]

    def assign(self, model: Any) -> None:
        model.objective_ = self.objective

    def left_out(self) -> Array:
        return self.values_without()


@parameters
@document(LapSVC)
class AnchorGraphClassifier(SemiSupervisedClassifier[AnchorPrepared, BaselineSolution]):
    r"""Classifier by anchor graph regularisation.

    The values of all n points are Za, with the values a at m anchors and the weights Z of an
    `AnchorGraph` with the Laplacian :math:`L = I - Z \Lambda^{-1} Z^T`. For every one-vs-rest
    column it minimises

    .. math:: \sum_{i \in L} w_i (y_i - (Za)_i)^2 + \gamma_I\, a^T Z^T L^p Z a

    ([1]_; the baseline "AnchorGraphReg" of [2]_), where p is the power of the graph. Time is O(n m)
    for the anchors and O(m^3) for the solution; neither a kernel matrix nor an affinity of all
    points is formed. The value of a new point is the mean of `alpha_` with its anchor weights.

    Parameters
    ----------
    graph : AnchorGraph or None, default=None
        Anchors and the weights of points over them. None is ``AnchorGraph()``: k-means centres, a
        tenth as many as points but between 20 and 1000, with kernel weights over the 3 nearest.
        Searches over its parameters (``graph__n_anchors``) need an explicit
        ``graph=AnchorGraph()``.
    gamma_I : float, default=0.1
        Weight >= 0 of the smoothness, not divided by the number of points. The authors of the
        method use 0.01.
    class_mass_normalization : bool, default=True
        Whether to divide the membership in a class, (1 + f) / 2 for its decision values f, by its
        sum over all points connected to labels before the largest is taken. This corrects columns
        that are too small everywhere; use False if the classes differ in size, as it favours equal
        sizes.
    {class_prior}
    {unlabeled}

    Attributes
    ----------
    {classes_}
    {unlabeled_}
    {transduction_}
    {transduction_proba_ to left_out_proba_}
    alpha_ : ndarray of shape (n_anchors, n_columns)
        Values at the anchors, after class mass normalisation if any. The decision value of a point
        is their mean with its weights.
    intercept_ : ndarray of shape (n_columns,)
        Always 0: `alpha_` includes the intercept.
    anchors_ : Anchors
        Anchors with a non-zero weight for some training point: ``anchors_.points``, and
        ``anchors_.rows(X)`` for the weights.
    basis_ : ndarray of shape (n_points,)
        Row numbers in X of the points of the graph; duplicate rows are one point.
    {objective_}
    {class_prior_}
    {class_offsets_}
    {labeled_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    AnchorGraph : The graph, which the Laplacian estimators accept as well.
    LapRLSClassifier : The same objective with a kernel and a graph of all points.

    Notes
    -----
    Points in components of the graph without a label get the class frequencies of the labels as
    values, with a warning; class mass normalisation does not change them.

    References
    ----------
    .. [1] W. Liu, J. He and S.-F. Chang, "Large graph construction for scalable semi-supervised
       learning", International Conference on Machine Learning, 679-686, 2010.
    .. [2] L. Chen, I. W. Tsang and D. Xu, "Laplacian embedded regression for scalable manifold
       regularization", IEEE Transactions on Neural Networks and Learning Systems 23, 902-915, 2012.

    Examples
    --------
    >>> from lapwing import AnchorGraph, AnchorGraphClassifier
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = ["low", "?", "?", "high", "?", "?"]
    >>> graph = AnchorGraph(n_anchors=4, n_nearest=2)
    >>> AnchorGraphClassifier(graph, unlabeled="?").fit(X, y).predict([[0.3], [0.9]]).tolist()
    ['low', 'high']
    """

    _functions = (AnchorFunction,)
    _n_stages = 2

    graph: AnchorGraph | None = None
    _: KW_ONLY
    gamma_I: float = 0.1
    class_mass_normalization: bool = True
    class_prior: PriorLike = None  # no class_weight, which the normalisation would undo

    def _reads_blocks(self, rows: Rows) -> bool:
        return True

    def _given_graph(self) -> AnchorGraph:
        if self.graph is None:
            return AnchorGraph()
        if not isinstance(self.graph, AnchorGraph):
            raise TypeError(
                f"graph={self.graph!r} is not an AnchorGraph. Use AnchorGraph(...), or "
                "LapRLSClassifier for other graphs."
            )
        return self.graph

    def _prepare(self, targets: Targets, problem: Problem, progress: Stages) -> AnchorPrepared:
        recipe = self._given_graph()
        with progress.stage("graph"):
            anchors, Z = recipe.weigh(problem.X)
            laplacian = AnchorLaplacian.from_weights(Z, power=recipe.power)
        return Prepared(targets, problem, laplacian, anchors)

    def _refits(self, prepared: AnchorPrepared) -> Refits[AnchorPrepared, BaselineSolution]:
        return Refits(self, prepared, shared={"smoothness": prepared.laplacian.reduced()})

    def _solve(
        self, prepared: AnchorPrepared, progress: Stages, *, smoothness: Array | None = None
    ) -> BaselineSolution:
        problem, laplacian = prepared.problem, prepared.laplacian
        reached = laplacian.reached_anchors(problem.index)
        with progress.stage("solve"):
            fit = anchor_values(
                laplacian.Z[problem.index],
                problem.targets,
                problem.weights,
                laplacian.reduced() if smoothness is None else smoothness,
                float(self.gamma_I),
                reached,
            )
        values, scales = fit.values, None
        if self.class_mass_normalization:
            scales = mass_scales(values[reached], laplacian.masses[reached], problem.targets)

        def normalized(memberships: Array) -> Array:
            return memberships if scales is None else normalize_masses(memberships, scales)

        # Anchors not connected to a label are not normalised: they have the label frequencies.
        values[reached] = normalized(values[reached])
        function = AnchorFunction(prepared.space, values, np.zeros(values.shape[1]))
        answers = laplacian.Z @ values
        # One label hardly changes the class masses of all points.
        return BaselineSolution(
            function, answers, fit.objective, lambda: normalized(fit.left_out())
        )

    def _diagnose(self, prepared: AnchorPrepared, solution: BaselineSolution) -> None:
        laplacian = prepared.laplacian
        _warn_unreached(laplacian, laplacian.reached_anchors(prepared.problem.index))


def _warn_unreached(laplacian: AnchorLaplacian, reached: Array) -> None:
    """Warn about components without a label, in which the system is singular."""
    if reached.all():
        return
    components = laplacian.anchor_components
    without = np.unique(components[~reached])
    sizes = laplacian.component_sizes
    warn(
        f"{len(without)} of the anchor graph's {len(sizes)} connected components contain no "
        f"labelled point ({int(sizes[without].sum())} points, {int(sizes[without].max())} in the "
        "largest): their values are the class frequencies of the labels. Label a point in each, or "
        "connect the graph with fewer anchors or more nearest anchors, e.g. "
        "graph=AnchorGraph(n_nearest=5).",
        UnlabeledComponentWarning,
    )


EigenfunctionPrepared: TypeAlias = Prepared[Eigenfunctions, None]


@parameters
@document(LapSVC)
class EigenfunctionClassifier(WeightedClassifier[EigenfunctionPrepared, BaselineSolution]):
    r"""Classifier by eigenfunctions of the smoothness operator of a density.

    The points are rotated to their principal directions, and one-dimensional eigenfunctions are
    computed from a histogram along each direction. With the values U of the smoothest ones at the
    points and their eigenvalues :math:`\Sigma`, it minimises for every one-vs-rest column

    .. math:: \lambda \sum_{i \in L} w_i (y_i - (U \alpha)_i)^2 + \alpha^T \Sigma \alpha

    by solving :math:`(\Sigma + U^T \Lambda U) \alpha = U^T \Lambda y` ([1]_; the baseline
    "Eigenfunction" of [2]_). No graph is formed. Time is O(n d^2 + n q) for n points, d features
    and q directions.

    Parameters
    ----------
    n_eigenfunctions : int or None, default=None
        Number of eigenfunctions besides the constant. None is 2 per direction, but at most 30: with
        few labels, more of them cause spikes at the labelled points. Functions with equal
        eigenvalues are used together or not at all (at most 4 times the requested number).
    n_components : int, default=64
        Number of principal directions; fewer if the data have lower rank, more if variances are
        tied.
    n_bins : int, default=100
        Number of bins of each histogram, from 3 to 2000. Each direction requires a dense
        eigenproblem of this size.
    bandwidth : float or None, default=None
        Standard deviation > 0 of the Gaussian affinity between bins, in the units of X. None is 0.2
        times the standard deviation along the first direction, but at least the width of a bin.
    clip : float, default=0.025
        Fraction, less than 1/2, of the points at either end of each direction that are clipped to
        the range of the bins. New points are clipped to the same range.
    lam : float, default=100.0
        Weight > 0 of the labels. The functions have unit norm over the n points, so the weight must
        be proportional to n for the same smoothness.
    {class_weight}
    {class_prior}
    {unlabeled}

    Attributes
    ----------
    {classes_}
    {unlabeled_}
    {transduction_}
    {transduction_proba_ to left_out_proba_}
    alpha_ : ndarray of shape (n_eigenfunctions, n_columns)
        Coefficients of the eigenfunctions without the constant.
    intercept_ : ndarray of shape (n_columns,)
        Coefficient of the constant function.
    eigenfunctions_ : Eigenfunctions
        Eigenfunctions: ``eigenfunctions_.eigenvalues``, ``eigenfunctions_.dimension`` (the
        direction of each), and ``eigenfunctions_.evaluate(X)`` for their values.
    basis_ : ndarray of shape (n_points,)
        Row numbers in X of the points; duplicate rows are one point.
    {objective_}
    {class_prior_}
    {class_offsets_}
    {labeled_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    AnchorGraphClassifier : Does not assume that directions are independent.

    Notes
    -----
    The density is assumed to be a product over the directions, which real data rarely satisfy: in
    [2]_ an SVM is better on several sets.

    The result does not depend on the order of rows and columns. If the variances along several
    directions are equal, as for one-hot codes of equally frequent levels, these directions are
    arbitrary; the projections of the feature axes to their space are used instead, all of them: one
    for each level. If there are more than 4 times as many as requested, a `TiedPointsWarning` is
    issued, and the choice depends on the order of the columns.

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

    n_eigenfunctions: int | None = None
    _: KW_ONLY
    n_components: int = 64
    n_bins: int = 100
    bandwidth: float | None = None
    clip: float = 0.025
    lam: float = 100.0

    def _wants_graph(self) -> bool:
        # Densities along directions stand in for the graph: no neighbours are searched.
        return False

    def _reads_blocks(self, rows: Rows) -> bool:
        return True

    def _prepare(
        self, targets: Targets, problem: Problem, progress: Stages
    ) -> EigenfunctionPrepared:
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
        self, prepared: EigenfunctionPrepared, progress: Stages, *, design: Array | None = None
    ) -> BaselineSolution:
        problem, functions = prepared.problem, prepared.space
        with progress.stage("solve"):
            if design is None:
                rows = functions.evaluate(rows_of(problem.X, problem.index))
            else:
                rows = design[problem.index]
            # The first eigenfunction is the constant one: its coefficient is the bias.
            given = rows, problem.targets, self.lam * problem.weights
            fit = penalized_least_squares(*given, np.diag(functions.eigenvalues))
        bias = functions.constant * fit.coef[0]
        function = EigenfunctionSum(functions, fit.coef[1:], bias)
        if design is None:
            values = self._values(function, problem.X)
        else:
            values = function.settled(design @ fit.coef)
        return BaselineSolution(
            function, values, fit.objective, partial(left_out_values, fit, *given)
        )

    def _values(self, function: EigenfunctionSum, X: Any) -> Any:
        """Compute decision values of all points."""
        return evaluate(function, X)

    def _refits(
        self, prepared: EigenfunctionPrepared
    ) -> Refits[EigenfunctionPrepared, BaselineSolution]:
        design = prepared.space.evaluate(prepared.problem.X)
        return Refits(self, prepared, shared={"design": design})

    def _diagnose(self, prepared: EigenfunctionPrepared, solution: BaselineSolution) -> None:
        return
