"""Graph classification with constraints on the class volumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from lapwing._arrays import Array, is_sparse
from lapwing._host.memory import require_memory
from lapwing._parameters import Rule, parameters
from lapwing._rows.base import PointData
from lapwing.classes.decoding import decision_values, of_each_class, predict_codes
from lapwing.classes.volumes import PriorLike
from lapwing.estimators import diagnostics
from lapwing.estimators._docs import document
from lapwing.estimators.classifier import SemiSupervisedClassifier
from lapwing.estimators.laperls import LapERLSClassifier
from lapwing.estimators.lapsvm import LapSVC
from lapwing.estimators.parameters import check_space_or_auto
from lapwing.estimators.prepared import Prepared, Refits, Solution, Stages, Targets
from lapwing.estimators.updates import Updatable
from lapwing.graphs import Anchors, GraphRecipe, KNNGraph, Laplacian
from lapwing.graphs.base import GraphLike
from lapwing.graphs.diffusion import Diffusion
from lapwing.graphs.registry import default_metric
from lapwing.objectives.volumes import VolumeProblem, volume_problem
from lapwing.problem import Problem
from lapwing.solvers.graph.evidence import chance_cut
from lapwing.solvers.graph.partition import Partition
from lapwing.solvers.graph.propagation import jeffreys_prior
from lapwing.solvers.graph.registry import PARTITIONS, in_order, partition_bytes
from lapwing.solvers.ridge import FunctionRegression
from lapwing.spaces.base import Space
from lapwing.spaces.functions import (
    FittedFunction,
    KernelExpansion,
    LinearFunction,
    NeighborhoodFunction,
)
from lapwing.spaces.recipes import Landmarks, Linear, SpaceRecipe

_NEIGHBORS = 10
_LANDMARKS = 2000
_ROW = 0.5  # rows by which a prior may fall short of the labels of a class
_FAR = 1e3  # factor between the weights and those whose squares underflow
_SAMPLED = 256  # points at which the distance to the neighbours is measured


@dataclass(frozen=True, eq=False)
class GraphContext:
    """Graph and features of the points, independent of the labels.

    Attributes
    ----------
    diffusion : Diffusion
    space : Space
        Space of the function for new points, with G = I.
    neighbors : Anchors or None
        Fitted points as voters for new points.
    """

    diffusion: Diffusion
    space: Space
    neighbors: Anchors | None


BalancedPrepared: TypeAlias = Prepared[GraphContext, Laplacian]


@dataclass(frozen=True, eq=False)
class BalancedSolution(Solution):
    """Solution with the partition and the problem that it solves."""

    partition: Partition
    problem: VolumeProblem
    edge_cut: float

    def assign(self, model: Any) -> None:
        self.partition.assign(model)
        model.history_ = {name: np.stack(rows) for name, rows in self.partition.history.items()}
        model.edge_cut_ = self.edge_cut


@dataclass(frozen=True, eq=False)
class BalancedRefits(Refits[BalancedPrepared, BalancedSolution]):
    """Refits that share the factorisation of the regression."""

    estimator: BalancedGraphClassifier
    regression: FunctionRegression

    def solve(self, prepared: BalancedPrepared) -> BalancedSolution:
        partition, problem = self.estimator._parted(prepared)
        return self.estimator._solution(prepared, partition, problem, self.regression)

    def values(self, prepared: BalancedPrepared) -> Array:
        partition, _ = self.estimator._parted(prepared)
        return decision_values(partition.shares, partition.codes, prepared.problem.X.dtype)


@parameters
@document(LapERLSClassifier, LapSVC)
class BalancedGraphClassifier(
    Updatable[BalancedPrepared, BalancedSolution],
    SemiSupervisedClassifier[BalancedPrepared, BalancedSolution],
):
    r"""Graph partitioning into classes with prescribed or estimated volumes.

    One or two labels per class do not determine where the boundaries between classes are. This
    classifier partitions the graph of the points so that the weight of the edges between classes
    is small, labelled points keep their labels, and the class volumes (numbers of rows) match a
    prior, exactly if it is known and approximately otherwise. All classes are assigned jointly.
    With ``method='flow'`` and known volumes it minimises

    .. math:: \sum_{i<j} w_{ij} [y_i \ne y_j]

    subject to the volumes and the labels. If the volumes are unknown, it does so for a few
    candidate volumes and returns the most likely partition, see ``docs/guide/volumes.md``.

    Parameters
    ----------
    graph : graph recipe, sparse matrix, neighbours transformer or None, default=None
        The graph. None is ``KNNGraph(10, weights='steep', power=1)``, with ``metric='cosine'`` if
        most entries of X are 0. `power` and `normalized` are ignored: the method has its own
        normalisation by the degrees.
    kernel : str or callable, default='rbf'
        Kernel of the function for new points; 'precomputed' takes kernel matrices as X.
    {gamma}
    {degree}
    {coef0}
    C : float, default=10.0
        Weight > 0 of the squared loss in the ridge regression that fits the function to the
        partition.
    space : 'auto', space recipe or None, default='auto'
        Space of the function for new points: 'auto' is ``Landmarks(2000)``, None the full kernel.
    n_votes : int, default=10
        Number of nearest fitted points that vote on a new point; the decision value is the mean of
        this vote and of the function. 0 turns the vote off; it is always off for sparse and
        precomputed X.
    class_prior : {'unknown', 'labels', 'uniform'}, array-like, dict or None, default='unknown'
        Class proportions in X: those of the labels ('labels'), equal ones ('uniform'), or given as
        fractions that sum to 1 or counts, in the order of `classes_` or by class in a dict or a
        pandas Series. The answer has these proportions up to one row (duplicate rows get the same
        class). 'unknown', or None, estimates them, starting from the label counts plus 1/2 (the
        Jeffreys prior), which are equal if all classes have equally many labels. The estimate
        departs from these where the graph or left-out labels favour other volumes.
    {partition_method}
    {unlabeled}
    updatable : bool, default=False
        Whether to keep the points, the graph and the landmarks after the fit, so that `add_labels`,
        `suggest` and `suspicious_labels` work. Every call of `add_labels` computes the partition
        again, and `suspicious_labels` once per label.

    Attributes
    ----------
    {classes_}
    {unlabeled_}
    {LapSVC.transduction_}
    {transduction_proba_ to left_out_proba_}
    virtual_labels_ : ndarray of shape (n_samples, n_columns)
        Decision values of every row, from which `transduction_` is computed.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Class distribution at every row according to the method; not calibrated probabilities. For
        'flow' and 'cut' it is the fraction of random walks of ten steps from the row that end in
        each class. With 'flow' and unknown volumes, these are averaged over the candidate
        partitions by their likelihood; there is a `NoClassStructureWarning` if a candidate about as
        likely as the answer assigns at least a tenth of the rows to another class.
    class_volumes_ : ndarray of shape (n_classes,)
        Class proportions of `transduction_`. With 'flow' and a known prior, there is a
        `ClassPriorWarning` if other volumes, for which at least a tenth of the rows would change
        class, are at least five times as likely given the cut and the labels. The absence of a
        warning does not confirm the prior.
    objective_ : float
        Final objective of the method: the weight of the edges between classes for 'flow' and 'cut',
        a smoothed form of it for 'mbo'.
    optimality_ : float
        Largest relative residual, or fraction of points whose class changed in the last step.
    history_ : dict of str to ndarray of shape (n_values, 1)
        'objective', before each step and after the last one. It never increases; for 'flow' and
        'cut' it has the cuts of the refinement that found the answer.
    n_iter_ : int
        Number of products with the graph.
    {status_}
    edge_cut_ : float
        Weight of the edges between classes, divided by its expected value for a random assignment
        with the same class volumes: 0 if no edge is cut, about 1 if the classes are unrelated to
        the graph.
    {alpha_}
    {X_fit_}
    {basis_}
    {kernel_}
    {coef_}
    {intercept_}
    neighbors_ : Anchors
        The points that vote on new points; ``neighbors_.rows(X)`` returns their weights.
    neighbor_values_ : ndarray of shape (n_points, n_columns)
        Decision values of these points, divided by two. Their weighted mean is added to the
        function, which is fitted to halved values as well.
    {affinity_}
    {class_prior_}
    {labeled_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    LapERLSClassifier : Embedded regression, for more labels per class.

    Notes
    -----
    The cost is that of the graph, of some 900 to 8000 products of the sparse affinity with a matrix
    of one column per class (fewest for known volumes), and of the regression. Decision values are 2
    q - 1 for the class distributions q (for two classes the difference of both entries); for new
    points they are the mean of a ridge regression on landmarks and of the vote of the nearest
    points.

    Examples
    --------
    >>> from lapwing import BalancedGraphClassifier
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = ["low", "?", "?", "high", "?", "?"]
    >>> model = BalancedGraphClassifier(unlabeled="?").fit(X, y)
    >>> model.transduction_.tolist()
    ['low', 'low', 'low', 'high', 'high', 'high']
    """

    _functions = (NeighborhoodFunction, LinearFunction, KernelExpansion)
    _n_stages = 4
    _fits_again = True
    _has_virtual_labels = True
    _rules: ClassVar[Mapping[str, Rule]] = {
        "method": (
            lambda v: isinstance(v, str) and v in PARTITIONS,
            lambda: f"one of {', '.join(map(repr, PARTITIONS))}",
        ),
    }

    graph: GraphLike = None
    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 1.0
    C: float = 10.0
    space: SpaceRecipe | str | None = "auto"
    n_votes: int = 10
    class_prior: PriorLike = "unknown"
    method: str = "flow"

    def _check_combination(self) -> None:
        check_space_or_auto(self.space)

    def _default_graph(self, X: PointData) -> GraphRecipe:
        n = X.shape[0]
        if n == 1:
            return super()._default_graph(X)
        return KNNGraph(min(_NEIGHBORS, n - 1), weights="steep", power=1, metric=default_metric(X))

    def _prepare(self, targets: Targets, problem: Problem, progress: Stages) -> BalancedPrepared:
        with progress.stage("graph"):
            laplacian = self._make_laplacian(self._given_graph(), problem)
            diffusion = Diffusion.of(laplacian)
            _check_weights(diffusion)
        with progress.stage("landmarks"):
            context = GraphContext(diffusion, self._make_space(problem), self._neighbors(problem))
        return Prepared(targets, problem, laplacian, context)

    def _make_space(self, problem: Problem) -> Space:
        kernel = self._make_kernel(problem)
        if kernel is None or isinstance(self.space, Linear):
            return self._space_of(Linear(), kernel, problem)
        recipe = Landmarks(_LANDMARKS) if isinstance(self.space, str) else self.space
        if recipe is None or kernel.precomputed:
            return self._mapped_full_space(kernel, problem)
        return self._space_of(recipe, kernel, problem)

    def _neighbors(self, problem: Problem) -> Anchors | None:
        """Build the voters, with the kernel weights of the default graph."""
        n = problem.n_points
        if not self.n_votes or is_sparse(problem.X) or self._pairwise() or n < 2:
            return None
        points = np.ascontiguousarray(problem.X)
        found = Anchors(points, min(int(self.n_votes), n), "kernel")
        squared, _ = found.nearest(points[:: -(-n // _SAMPLED)])
        # exp(-4 d^2 / d_k^2), where d_k is the distance to the farthest neighbour.
        width = float(np.sqrt(squared[:, -1]).mean() / np.sqrt(8))
        return Anchors(points, found.n_nearest, "kernel", width)

    def _solve(self, prepared: BalancedPrepared, progress: Stages) -> BalancedSolution:
        with progress.stage("partition"):
            partition, problem = self._parted(prepared)
        with progress.stage("function"):
            return self._solution(prepared, partition, problem, self._regression_on(prepared))

    def _refits(self, prepared: BalancedPrepared) -> Refits[BalancedPrepared, BalancedSolution]:
        return BalancedRefits(self, prepared, self._regression_on(prepared))

    def _regression_on(self, prepared: BalancedPrepared) -> FunctionRegression:
        return FunctionRegression.factor(prepared.space.space, float(self.C), True)

    def _parted(self, prepared: BalancedPrepared) -> tuple[Partition, VolumeProblem]:
        problem = _volume_problem(prepared)
        require_memory(
            partition_bytes(problem),
            f"Partitioning {problem.n_points} points into {problem.n_classes} classes",
            "Fit to fewer rows and predict the others, or use float32 features.",
        )
        return in_order(problem).solve(PARTITIONS[self.method].solve), problem

    def _solution(
        self,
        prepared: BalancedPrepared,
        partition: Partition,
        problem: VolumeProblem,
        regression: FunctionRegression,
    ) -> BalancedSolution:
        dtype = prepared.problem.X.dtype
        values = decision_values(partition.shares, partition.codes, dtype)
        voters = prepared.space.neighbors
        part = 1.0 if voters is None else 0.5
        w, b = regression.regress(part * values.astype(np.float64))
        function: FittedFunction = regression.space.function(w.astype(dtype), b.astype(dtype))
        if voters is not None:
            function = NeighborhoodFunction(function, voters, (part * values).astype(dtype))
        edge_cut = chance_cut(problem.graph, partition.codes, problem.n_classes)
        return BalancedSolution(function, values, partition, problem, edge_cut)

    def _shift(self, values: Array) -> Array:
        # The methods meet known volumes themselves, so new points need no offsets.
        return values

    def _answer(self, X: PointData, problem: Problem, solution: Solution) -> Array:
        assert isinstance(solution, BalancedSolution)
        values = super()._answer(X, problem, solution)
        volumes = np.bincount(predict_codes(values), minlength=len(self.classes_))
        self.class_volumes_ = volumes / volumes.sum()
        shares = solution.partition.shares[problem.vertex]
        left_out = problem.vertex < 0
        if left_out.any():  # rows of weight 0 are predicted like new points
            shares[left_out] = _nearest_shares(values[left_out])
        self.label_distributions_ = shares
        return values

    def _diagnose(self, prepared: BalancedPrepared, solution: BalancedSolution) -> None:
        diagnostics.warn_partition_not_at_rest(
            self.method, str(solution.partition.status), solution.partition.optimality
        )
        problem, partition = solution.problem, solution.partition
        warned = [
            diagnostics.warn_outvoted_classes(problem.codes, self.classes_),
            diagnostics.warn_unlabeled_components(prepared.laplacian, prepared.problem),
        ]
        # With wrong volumes, a large cut is not evidence against the graph.
        if self._prior_contradicted(problem, partition):
            return
        if len(problem.free):
            warned.append(
                diagnostics.warn_no_class_structure(solution.edge_cut, len(self.classes_))
            )
        if partition.left_out is not None:
            warned.append(diagnostics.warn_labels_not_found_again(partition.left_out))
        if not any(warned):  # each of these implies several answers that are about as likely
            diagnostics.warn_two_answers(partition.in_doubt)

    def _prior_contradicted(self, problem: VolumeProblem, partition: Partition) -> bool:
        """Warn if a known prior was not met, or if the graph contradicts it."""
        if not problem.exact:
            return False
        volumes = np.bincount(partition.codes, problem.sizes, problem.n_classes)
        targets = problem.sizes.sum() * problem.prior
        if diagnostics.warn_missed_prior(volumes, targets, self.classes_):
            return False
        evidence = partition.prior_evidence
        return evidence is not None and diagnostics.warn_contradicted_prior(
            *evidence, problem.prior
        )


def _check_weights(diffusion: Diffusion) -> None:
    """Raise if squared weights would overflow or underflow."""
    usual, least = float(np.median(diffusion.masses)), np.sqrt(np.finfo(diffusion.dtype).tiny)
    if not _FAR * least < usual < 1 / (_FAR * least):
        raise ValueError(
            f"The degrees of the graph are about {usual:.0e}, so products in {diffusion.dtype} "
            "overflow or underflow. Rescale all weights by one factor so that they are about 1; "
            "this does not change the answer."
        )


def _volume_problem(prepared: BalancedPrepared) -> VolumeProblem:
    targets, graph = prepared.targets, prepared.space.diffusion
    known, n_classes = targets.class_prior, len(targets.classes)
    prior = np.full(n_classes, 1 / n_classes) if known is None else known
    problem = volume_problem(prepared.problem, graph, prior, exact=known is not None)
    if known is None:
        return problem.with_prior(jeffreys_prior(problem.labels), exact=False)
    return _with_room(problem, targets.classes)


def _with_room(problem: VolumeProblem, classes: Array) -> VolumeProblem:
    """Raise the prior of each class to its labelled rows, or fail if it is far below them.

    If all rows of a class are labelled, rounding may leave the prior below them by a fraction of a
    row, which is not an error of the user.
    """
    total = float(problem.sizes.sum())
    lacking = problem.known - total * problem.prior
    if len(problem.free) and float(lacking.max()) >= _ROW:
        k = int(lacking.argmax())
        raise ValueError(
            f"class_prior gives the class {classes.tolist()[k]!r} {total * problem.prior[k]:.2g} "
            f"of {total:g} rows, fewer than its labelled rows ({problem.known[k]:g}). Give it "
            "a larger proportion."
        )
    full = lacking > 0
    if not full.any() or full.all():
        return problem
    prior = np.where(full, problem.known / total, problem.prior)
    prior[~full] *= (1 - prior[full].sum()) / prior[~full].sum()
    return problem.with_prior(prior, exact=True)


def _nearest_shares(values: Array) -> Array:
    """Convert decision values to class distributions."""
    parts = np.maximum(1 + of_each_class(values), np.finfo(values.dtype).tiny)
    return np.asarray(parts / parts.sum(axis=1, keepdims=True))
