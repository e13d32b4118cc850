"""Classification of a graph's points with the volumes of the classes held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from lapwing._arrays import Array, is_sparse
from lapwing._host.memory import require_memory
from lapwing._parameters import Rule, parameters
from lapwing._rows import PointData
from lapwing.classes.decoding import enforce_codes, n_columns, of_each_class, predict_codes
from lapwing.classes.volumes import PriorLike
from lapwing.estimators import diagnostics, input_checks
from lapwing.estimators._docs import document
from lapwing.estimators.classifier import SemiSupervisedClassifier
from lapwing.estimators.parameters import check_space_or_auto
from lapwing.estimators.prepared import Prepared, Refits, Solution, Stages, Targets, WantedGraph
from lapwing.estimators.updates import Updatable
from lapwing.graphs import Anchors, GraphRecipe, KNNGraph, Laplacian
from lapwing.graphs.base import GraphLike
from lapwing.graphs.diffusion import Diffusion
from lapwing.graphs.registry import default_metric
from lapwing.objectives.volumes import VolumeProblem, volume_problem
from lapwing.problem import Problem
from lapwing.solvers.graph.evidence import chance_cut
from lapwing.solvers.graph.linear import jeffreys_prior
from lapwing.solvers.graph.partition import Partition
from lapwing.solvers.graph.registry import PARTITIONS, partition_bytes
from lapwing.solvers.ridge import FunctionRegression
from lapwing.spaces import (
    FittedFunction,
    KernelExpansion,
    Landmarks,
    Linear,
    LinearFunction,
    LinearSpace,
    NeighborhoodFunction,
    Space,
    full_map,
    make_space,
)
from lapwing.spaces.recipes import SpaceRecipe

_NEIGHBORS = 10
_LANDMARKS = 2000
_ROW = 0.5  # that a prior may lack for the labels of a class
_FAR = 1e3  # from weights whose squares are the least number
_SAMPLED = 256  # points that the distance to neighbours is measured at


@dataclass(frozen=True, eq=False)
class GraphContext:
    """Graph and features of the points, independent of the labels.

    Attributes
    ----------
    diffusion : Diffusion
    space : Space
        Of the function for new points, with G = I.
    neighbors : Anchors or None
        The points as those that vote.
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
    affinity: Any

    def assign(self, model: Any) -> None:
        partition = self.partition
        model.objective_, model.history_ = partition.objective, _history(partition)
        model.n_iter_, model.status_ = max(1, partition.n_iter), str(partition.status)
        model.edge_cut_, model.affinity_ = self.edge_cut, self.affinity


@dataclass(frozen=True, eq=False)
class BalancedRefits(Refits[BalancedPrepared, BalancedSolution]):
    """Refits that factor the regression on the points once."""

    estimator: BalancedGraphClassifier
    regression: FunctionRegression

    def solve(self, prepared: BalancedPrepared) -> BalancedSolution:
        partition, problem = self.estimator._parted(prepared)
        return self.estimator._solution(prepared, partition, problem, self.regression)

    def values(self, prepared: BalancedPrepared) -> Array:
        return _values(self.estimator._parted(prepared)[0], prepared.problem.X.dtype)


@document
@parameters
class BalancedGraphClassifier(
    Updatable[BalancedPrepared, BalancedSolution],
    SemiSupervisedClassifier[BalancedPrepared, BalancedSolution],
):
    r"""Classifier that parts a graph into classes whose volumes are held.

    With one or two labels a class, labels alone leave open how far each class reaches. Here the
    points are assigned so that few edges are cut, labels are kept and the classes have the volumes
    of a prior: exactly where it is known, softly where it is not. All classes are found at once.
    With ``method='flow'`` and known volumes it minimises

    .. math:: \sum_{i<j} w_{ij} [y_i \ne y_j] \quad \text{at the volumes of the prior, labels held;}

    where the volumes are unknown, it does so at each of a few candidates and takes the most likely
    one, see ``docs/guide/volumes.md``.

    Parameters
    ----------
    graph : graph recipe, sparse matrix, neighbours transformer or None, default=None
        The graph. None is ``KNNGraph(10, weights='steep', power=1)``, of points that are mostly 0
        with ``metric='cosine'``. Its power and normalisation do not count: the operators here are
        weighed by the degrees.
    kernel : str or callable, default='rbf'
        Kernel of the function for new points; 'precomputed' takes kernel matrices as X.
    {gamma}
    {degree}
    {coef0}
    C : float, default=10.0
        Weight > 0 of the squares in the function's regression on the shares of the points.
    space : 'auto', space recipe or None, default='auto'
        Of the function: 'auto' is ``Landmarks(2000)``, None the full kernel.
    n_votes : int, default=10
        Nearest points of the fit that vote on a new point, beside the function; 0 leaves the vote
        out. Sparse and precomputed X have none.
    class_prior : {'unknown', 'labels', 'uniform'}, array-like, dict or None, default='unknown'
        Parts of the classes in X. 'labels' takes the frequencies of the labels, 'uniform' equal
        parts; numbers are in proportion, in the order of `classes_` or in a dict or a pandas Series
        by class. They are met to one row (equal rows move together).
        'unknown', or None, believes in the numbers of labels, each class given half a one more: in
        equal parts for as many labels of each. The volumes may go where edges ask for it, and are
        those that labels reach where cuts and labels left out speak for it.
    method : {'flow', 'mbo', 'cut', 'poisson', 'laplace', 'random-walk'}, default='flow'
        'flow' is the least cut at known volumes or at candidates of these; 'mbo' volume-constrained
        threshold dynamics and 'cut' the least cut from other starts, by continuation, both at the
        volumes that follow the numbers of labels where the prior is not known; 'poisson',
        'laplace' and 'random-walk' are learning without volumes, whose answers are moved to a known
        prior at the end.
    {unlabeled}
    updatable : bool, default=False
        Whether to keep the points, the graph and the landmarks after the fit, so that `add_labels`,
        `suggest` and `suspicious_labels` work. The points are parted anew for other labels: each
        added label costs that, and `suspicious_labels` once a label.

    Attributes
    ----------
    {classes_}
    {unlabeled_}
    {transduction_}
    {probabilities_}
    virtual_labels_ : ndarray of shape (n_samples, n_columns)
        Decision values of every row, of which `transduction_` comes.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Shares of the classes at every row, as the method has them; no calibrated probabilities.
        Those of 'flow' and 'cut' are of random walks of ten steps from a row: the fraction that
        ends in each class. With 'flow' and unknown volumes they are averaged over the candidate
        answers by their likelihood; a `NoClassStructureWarning` tells if one that is about as
        likely as the answer has a tenth of the rows in another class.
    class_volumes_ : ndarray of shape (n_classes,)
        Parts of the classes in all rows by the answer, `transduction_`. Where 'flow' holds a known
        prior, a `ClassPriorWarning` tells if volumes that a tenth of the rows would have to move
        for are five times as likely, by what they cut and by which labels they keep. None does not
        say that the prior is right.
    objective_ : float
        Of the method at its end; the weight of the edges between classes for 'flow' and 'cut', a
        smoothed form of it for 'mbo'.
    history_ : dict of str to ndarray of shape (n_values, ...)
        'objective' (n_values, 1) before each step and after the last one of each descent, in order,
        and of each value: the number of its 'descent', within which it never rises, the 'scale',
        'contrast', 'temperature' and 'softness' (NaN where a method has none). With 'flow' and
        unknown volumes descents of an objective of soft volumes precede the refined cuts.
    n_iter_ : int
        Products with the graph.
    {status_}
    edge_cut_ : float
        Part of the edges' weight between classes, relative to what classes of these volumes cut by
        chance: 0 is no edge, and 1 says that the graph knows nothing of the classes.
    {embedded_alpha_}
    {embedded_X_fit_}
    {embedded_basis_}
    {kernel_}
    {coef_}
    {intercept_}
    neighbors_ : Anchors
        The points that vote, with their weights for new points: ``neighbors_.rows(X)``.
    neighbor_values_ : ndarray of shape (n_points, n_columns)
        What they vote, halved as the function is.
    {embedded_affinity_}
    {class_prior_}
    {labeled_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    LapERLSClassifier : Virtual labels on a graph, for more labels.

    Notes
    -----
    Time and memory are those of the graph, of some 900 to 8000 sparse products with a column a
    class (known volumes take the fewest) and of the regression. Decision values are 2 q - 1 of the
    shares (of two classes their difference); for new points they are the mean of a ridge regression
    on landmarks and of the vote of the nearest points.

    Examples
    --------
    >>> from lapwing import BalancedGraphClassifier
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = ["low", "?", "?", "high", "?", "?"]
    >>> model = BalancedGraphClassifier(unlabeled="?").fit(X, y)
    >>> model.transduction_.tolist()
    ['low', 'low', 'low', 'high', 'high', 'high']
    """

    _weighs_classes = False
    _functions = (NeighborhoodFunction, LinearFunction, KernelExpansion)
    _n_stages = 4
    _fits_again = True
    _kept_values = "virtual_labels_"
    _rules: ClassVar[Mapping[str, Rule]] = {
        "method": (
            lambda v: isinstance(v, str) and v in PARTITIONS,
            f"one of {', '.join(map(repr, PARTITIONS))}",
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
    unlabeled: object = "auto"
    updatable: bool = False

    def _check_combination(self) -> None:
        check_space_or_auto(self.space)

    def _default_graph(self, X: PointData) -> GraphRecipe:
        n = X.shape[0]
        if n == 1:
            return super()._default_graph(X)
        return KNNGraph(min(_NEIGHBORS, n - 1), weights="steep", power=1, metric=default_metric(X))

    def _prepare(
        self, targets: Targets, problem: Problem, graph: WantedGraph, progress: Stages
    ) -> BalancedPrepared:
        with progress.stage("graph"):
            laplacian = self._make_laplacian(graph, problem)
            diffusion = Diffusion.of(laplacian)
            _check_weights(diffusion)
        with progress.stage("landmarks"):
            context = GraphContext(diffusion, self._make_space(problem), self._neighbors(problem))
        return Prepared(targets, problem, laplacian, context)

    def _make_space(self, problem: Problem) -> Space:
        kernel = self._make_kernel(problem)
        if kernel is None or isinstance(self.space, Linear):
            input_checks.check_linear_scale(problem.X)
            return LinearSpace(problem.X)
        if not kernel.surely_positive_definite:
            input_checks.check_kernel(kernel, problem.X, f"The matrix of kernel={self.kernel!r}")
        if kernel.precomputed:
            return full_map(kernel, problem.X, None, problem.rows)
        if self.space is None:
            return full_map(kernel, kernel.gram(problem.X), problem.X, problem.rows)
        recipe = Landmarks(_LANDMARKS) if isinstance(self.space, str) else self.space
        return make_space(recipe, kernel, problem.X)

    def _neighbors(self, problem: Problem) -> Anchors | None:
        """The points as voters, weighed as the graph's default weighs them."""
        n = problem.n_points
        if not self.n_votes or is_sparse(problem.X) or self._pairwise() or n < 2:
            return None
        points = np.ascontiguousarray(problem.X)
        found = Anchors(points, min(int(self.n_votes), n), "kernel")
        squared, _ = found.nearest(points[:: -(-n // _SAMPLED)])
        # exp(-4 d^2 / d_k^2), d_k the distance to the farthest of the neighbours.
        width = float(np.sqrt(squared[:, -1]).mean() / np.sqrt(8))
        return Anchors(points, found.n_nearest, "kernel", width)

    def _solve(
        self,
        prepared: BalancedPrepared,
        progress: Stages,
        *,
        previous: Mapping[str, Any] | None = None,
    ) -> BalancedSolution:
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
            f"Parting {problem.n_points} points into {problem.n_classes} classes",
            "Fit to fewer rows and predict the others, or use float32 features.",
        )
        return PARTITIONS[self.method].solve(problem), problem

    def _solution(
        self,
        prepared: BalancedPrepared,
        partition: Partition,
        problem: VolumeProblem,
        regression: FunctionRegression,
    ) -> BalancedSolution:
        dtype = prepared.problem.X.dtype
        values = _values(partition, dtype)
        voters = prepared.space.neighbors
        part = 1.0 if voters is None else 0.5
        w, b = regression.regress(part * values.astype(np.float64))
        function: FittedFunction = regression.space.function(w.astype(dtype), b.astype(dtype))
        if voters is not None:
            function = NeighborhoodFunction(function, voters, (part * values).astype(dtype))
        edge_cut = chance_cut(problem.graph, partition.codes, problem.n_classes)
        affinity = prepared.laplacian.affinity
        return BalancedSolution(function, values, partition, problem, edge_cut, affinity)

    def _shift(self, values: Array) -> Array:
        # Known volumes are met by the methods themselves: no offsets are left for new points.
        return values

    def _answer(self, X: PointData, problem: Problem, solution: Solution) -> Array:
        assert isinstance(solution, BalancedSolution)
        values = super()._answer(X, problem, solution)
        volumes = np.bincount(predict_codes(values), minlength=len(self.classes_))
        self.class_volumes_ = volumes / volumes.sum()
        shares = solution.partition.shares[problem.vertex]
        left_out = problem.vertex < 0
        if left_out.any():  # rows of weight 0 are answered as new ones
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
            diagnostics.warn_unlabeled_components(
                prepared.laplacian, prepared.problem.labeled, prepared.problem.rows
            ),
        ]
        # With wrong volumes the cut is no evidence about the graph.
        if self._prior_contradicted(problem, partition):
            return
        if len(problem.free):
            warned.append(
                diagnostics.warn_no_class_structure(solution.edge_cut, len(self.classes_))
            )
        if partition.left_out is not None:
            warned.append(diagnostics.warn_labels_not_found_again(partition.left_out))
        if not any(warned):  # each of these leaves many answers about as likely
            diagnostics.warn_two_answers(partition.in_doubt)

    def _prior_contradicted(self, problem: VolumeProblem, partition: Partition) -> bool:
        """Warn of a known prior that was missed, or that the graph contradicts."""
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
    """Refuse weights whose squares are beyond the numbers that products have."""
    usual, least = float(np.median(diffusion.masses)), np.sqrt(np.finfo(diffusion.dtype).tiny)
    if not _FAR * least < usual < 1 / (_FAR * least):
        raise ValueError(
            f"The weights of the graph sum to about {usual:.0e} a point, which products in "
            f"{diffusion.dtype} cannot hold. Multiply all of them by one number, so that they are "
            "about 1: the answer does not change."
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
    """Raise the prior of classes to their labelled rows; refuse one that is a row or more short.

    If all rows of a class are labelled, the prior may be short by a last digit, or by the fraction
    of a row that the user rounded off, which is no mistake.
    """
    total = float(problem.sizes.sum())
    lacking = problem.known - total * problem.prior
    if len(problem.free) and float(lacking.max()) >= _ROW:
        k = int(lacking.argmax())
        raise ValueError(
            f"class_prior leaves {total * problem.prior[k]:.1f} of all {total:g} rows for the "
            f"class {classes.tolist()[k]!r}, which has {problem.known[k]:g} labelled. Give it a "
            "larger part."
        )
    full = lacking > 0
    if not full.any() or full.all():
        return problem
    prior = np.where(full, problem.known / total, problem.prior)
    prior[~full] *= (1 - prior[full].sum()) / prior[~full].sum()
    return problem.with_prior(prior, exact=True)


def _values(partition: Partition, dtype: np.dtype[Any]) -> Array:
    """Shares as decision values between -1 and 1 that elect the classes; of two one column."""
    shares = partition.shares
    two = n_columns(shares.shape[1]) == 1
    values = shares[:, 1:] - shares[:, :1] if two else 2 * shares - 1
    # Scores have more digits than shares.
    return enforce_codes(values.astype(dtype, copy=False), partition.codes)


def _history(partition: Partition) -> dict[str, Array]:
    """Values of the objectives in order, and which descent each is of."""
    stages = partition.history
    lengths = [len(stage.objective) for stage in stages]
    told = {"scale": "s"} | {name: name for name in ("contrast", "temperature", "softness")}
    values = np.concatenate([stage.objective for stage in stages])
    return {
        "objective": values[:, None],
        "descent": np.repeat(np.arange(len(stages)), lengths),
        **{
            name: np.repeat([getattr(stage, field) for stage in stages], lengths)
            for name, field in told.items()
        },
    }


def _nearest_shares(values: Array) -> Array:
    """Decision values as shares."""
    parts = np.maximum(1 + of_each_class(values), np.finfo(values.dtype).tiny)
    return np.asarray(parts / parts.sum(axis=1, keepdims=True))
