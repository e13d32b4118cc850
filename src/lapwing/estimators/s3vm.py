"""Semi-supervised support vector machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state

from lapwing._arrays import Array, is_sparse
from lapwing.classes.voting import VotedFunction, class_pairs, elect, votes
from lapwing.estimators import diagnostics
from lapwing.estimators._docs import document
from lapwing.estimators.classifier import SemiSupervisedClassifier
from lapwing.estimators.parameters import check_parameters
from lapwing.estimators.progress import Progress, Tick
from lapwing.estimators.s3vm_choice import (
    DEFAULT_RATIO,
    check_combination,
    check_unlabeled_weights,
    choose_unlabeled_loss,
    n_columns,
    read_balance,
    worst,
)
from lapwing.graphs import Laplacian, as_graph
from lapwing.kernels import Kernel, make_kernel
from lapwing.losses.base import Targets
from lapwing.losses.registry import as_loss
from lapwing.problem import Problem
from lapwing.solvers import Status
from lapwing.solvers.low_density.machines import (
    Machines,
    Observations,
    Recipe,
    one_vs_one,
    one_vs_rest,
)
from lapwing.solvers.low_density.methods import Settings
from lapwing.spaces import (
    DecisionFunction,
    KernelParts,
    LinearSpace,
    MappedSpace,
    Parts,
    SpaceParts,
    check_space,
    deformed,
    full_map,
)

__all__ = ["S3VC"]

_SINGLE_PRECISION = 5e-3


@document
class S3VC(SemiSupervisedClassifier):
    r"""Semi-supervised support vector machine: a boundary where there are few points.

    With f = h + b, h in the space of the kernel, every method minimises for every column

    .. math:: \tfrac12 \|h\|^2 + C \sum_{i \in L} w_i\, \ell(y_i f(x_i))
              + C^* \sum_{j \in U} w_j\, \ell_u(f(x_j)),
              \qquad \ell_u(f) = \exp(-s f^2),

    ([1]_, (2); [2]_, (5), whose parameters are C = 1 / (2 lambda l) and
    C* = lambda' / (2 lambda u)), under the balance constraint

    .. math:: \frac{\sum_U w_j f(x_j)}{\sum_U w_j} = b,

    which fixes b. The objective is not convex: the methods differ in the local minimum that they
    find, and all end in one of the objective itself, without smoothing.

    Parameters
    ----------
    {kernel}
    {gamma}
    {degree}
    {coef0}
    space : Landmarks, Linear or None, default=None
        Functions to choose from. None: all expansions over the points, O(n^2) memory, or with
        ``kernel='linear'`` the features, O(nnz) a step. `Landmarks`: O(n r) memory and a step.
    C : float, default=100.0
        Weight > 0 of the labelled losses.
    C_star : float or None, default=None
        Weight >= 0 of the losses on unlabelled points; 0 is a supervised SVM. None is C l / u for l
        labelled and u unlabelled points.
    {s3vc_loss}
    {unlabeled_loss}
    s : float, default=3.0
        Of exp(-s f^2), > 0.
    {method}
    balance : 'labels', float, (float, float), dict or None, default='labels'
        Mean decision value on the unlabelled points, held exactly (predicted shares follow it
        loosely): the mean label; for two classes 2 p - 1 of a fraction p of ``classes_[1]``, or
        between those of two; for any that of fractions ``{'a': 0.2, 'b': 0.8}``. Give them if
        labels were drawn in equal numbers and classes are not equal. None leaves it free.
    fit_intercept : bool, default=True
        Whether there is a bias where ``balance=None``; a balance is one.
    {graph}
    gamma_I : float, default=0.0
        Weight >= 0 of the intrinsic norm, h'L^p h / 2 added to the objective: the hybrid of both
        assumptions ([1]_, Section 5.1), for any method. 0 leaves the graph out.
    multi_class : {'ovo', 'ovr'}, default='ovo'
        A machine for every pair of classes, or one for every class against the rest, where the
        cluster assumption hardly ever holds. In a pair every unlabelled point weighs by the share
        that the votes of all pairs leave to its two classes, in three rounds.
    n_init : int, default=1
        Starts; all but the first are random, and the lowest objective wins.
    tol : float, default=1e-4
        Norm of the gradient over sqrt(2 objective), and distance of margins from their places.
    max_iter : int, default=20000
        Most iterations of L-BFGS in every stage of a method, and in its last descent.
    {class_weight}
    {unlabeled}
    random_state : int, RandomState or None, default=None
        Of the random starts; nothing else is random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    transduction_ : ndarray of shape (n_samples,)
        Predicted class of every training point, labelled ones included.
    {alpha_}
    {coef_}
    {intercept_}
    X_fit_ : {ndarray, sparse matrix} of shape (n_basis, n_features)
        Points of the expansion: some training points or landmarks. None if precomputed.
    basis_ : ndarray of shape (n_points,)
        Rows of X that are the points of the problem: the distinct ones, without labelled ones
        of weight 0 (with a given affinity or kernel matrix all rows are).
    {kernel_}
    objective_ : ndarray of shape (n_columns,)
        The objective above at the solution, without smoothing.
    objectives_ : list of ndarray
        The same at the end of every start, a column.
    supervised_objective_ : ndarray of shape (n_columns,)
        The same at the supervised solution, from which the methods start.
    optimality_ : ndarray of shape (n_columns,)
        Relative norm of the gradient, or the largest violation of a margin if that is larger.
    balance_ : ndarray of shape (n_columns,)
        Mean decision value on the unlabelled points of the column, by weight.
    pairs_ : ndarray of shape (n_columns, 2)
        Classes of each column; only with 'ovo' and more than two classes. A column is positive
        for the second.
    pair_shares_ : ndarray of shape (n_columns,)
        Share of the unlabelled points that took part in each pair, by weight.
    C_star_ : float
        The weight that was used.
    n_iter_ : int
        Most iterations of a column.
    {status_}
    {affinity_}
    {labeled_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    LapSVC : The manifold assumption instead: convex, and for many clusters a class.

    Notes
    -----
    With pairs of classes `decision_function` has the mean votes for each class, a decision value
    cut off at -1 and 1 being a vote.

    Unlabelled rows have a `sample_weight` too; rows that are equal are one point, of the sum. The
    intrinsic norm is that of h, without the bias, as the deformed kernel of [1]_ has it.

    An evaluation is a product with the features and one with their transpose; the full kernel is
    factored once, n^3 / 3.

    References
    ----------
    .. [1] O. Chapelle, M. Chi and A. Zien, "A continuation method for semi-supervised SVMs", ICML
       2006.
    .. [2] F. Gieseke, A. Airola, T. Pahikkala and O. Kramer, "Sparse quasi-Newton optimization for
       semi-supervised support vector machines", ICPRAM 2012.
    .. [3] O. Chapelle and A. Zien, "Semi-supervised classification by low density separation",
       AISTATS 2005.
    .. [4] R. Collobert, F. Sinz, J. Weston and L. Bottou, "Large scale transductive SVMs", Journal
       of Machine Learning Research 7, 1687-1712, 2006.
    .. [5] T. Joachims, "Transductive inference for text classification using support vector
       machines", ICML 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from lapwing import S3VC
    >>> X, truth = make_blobs(100, centers=[[-2, -2], [2, 2]], random_state=0)
    >>> y = np.full(100, -1)
    >>> for label in (0, 1):
    ...     y[np.flatnonzero(truth == label)[0]] = label
    >>> model = S3VC(kernel="linear").fit(X, y)
    >>> float((model.transduction_ == truth).mean())
    1.0
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        space: Any = None,
        C: float = 100.0,
        C_star: float | None = None,
        loss: Any = "hinge",
        unlabeled_loss: Any = "auto",
        s: float = 3.0,
        method: Any = "gradient",
        balance: Any = "labels",
        fit_intercept: bool = True,
        graph: Any = None,
        gamma_I: float = 0.0,
        multi_class: str = "ovo",
        n_init: int = 1,
        tol: float = 1e-4,
        max_iter: int = 20_000,
        class_weight: Any = None,
        unlabeled: Any = -1,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.space = space
        self.C = C
        self.C_star = C_star
        self.loss = loss
        self.unlabeled_loss = unlabeled_loss
        self.s = s
        self.method = method
        self.balance = balance
        self.fit_intercept = fit_intercept
        self.graph = graph
        self.gamma_I = gamma_I
        self.multi_class = multi_class
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.unlabeled = unlabeled
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> S3VC:
        """Fit to labelled and unlabelled points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All points, labelled or not; the kernel matrix (n_samples, n_samples) if
            ``kernel='precomputed'``.
        y : array-like of shape (n_samples,)
            Labels, with the unlabelled marker where there is none.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the points in the losses and, of unlabelled ones, in the balance; 1 by
            default. A labelled point of weight 0 is left out of the fit altogether.

        Returns
        -------
        self
            The fitted estimator.
        """
        check_parameters(self)
        check_space(self.space)
        check_combination(self)
        self._forget()
        X, targets = self._begin(X, y)
        balance = read_balance(self.balance, self.classes_, fit_intercept=bool(self.fit_intercept))
        wants_graph = self.gamma_I > 0
        recipe = as_graph(self.graph) if self.graph is not None and wants_graph else None
        problem = self._make_problem(X, targets, sample_weight, recipe, needs_graph=wants_graph)
        self._check_observations(problem)
        observations = self._observations(problem, sample_weight)
        progress = Progress(self, 2 + wants_graph, X, y)
        laplacian = None
        if wants_graph:
            with progress.stage("graph"):
                laplacian = self._make_laplacian(recipe, X, problem)
        n_classes = len(self.classes_)
        paired = n_classes > 2 and self.multi_class == "ovo"
        with progress.stage("space"):
            parts = self._make_parts(problem, laplacian, paired=paired)
        if paired:
            self.pairs_ = self.classes_[class_pairs(n_classes)]
        solve: Callable[..., Machines] = one_vs_one if paired else one_vs_rest
        with progress.stage("solve", None) as tick:
            tell = self._telling(parts, tick, n_columns=n_columns(n_classes, paired=paired))
            machines = solve(parts, observations, self._recipe(observations, balance), tell)
        self._keep(parts, machines, laplacian)
        if paired:
            self.pair_shares_ = np.array([machine.share for machine in machines.columns])
        values = machines.values(parts)
        self._answer(X, problem, votes(values, n_classes) if paired else values)
        self._diagnose(problem, machines, laplacian)
        progress.finish(lambda: {})
        return self

    def _observations(self, problem: Problem, sample_weight: Any) -> Observations:
        """Labelled and unlabelled points; unlabelled rows that are equal are one, of their sum."""
        weights = check_unlabeled_weights(sample_weight, ~self.labeled_)
        rows = np.flatnonzero(~self.labeled_)
        total = np.bincount(problem.vertex[rows], weights[rows], minlength=problem.n_points)
        unlabeled = np.unique(problem.vertex[rows])
        return Observations(
            problem.index,
            elect(problem.targets),
            problem.weights,
            unlabeled,
            total[unlabeled],
            len(self.classes_),
        )

    def _make_parts(self, problem: Problem, laplacian: Laplacian | None, *, paired: bool) -> Parts:
        linear = isinstance(self.kernel, str) and self.kernel == "linear"
        kernel = None if linear else self._make_kernel(problem, paired=paired)
        X = problem.X
        if kernel is not None and not kernel.surely_positive_definite:
            diagnostics.check_kernel(kernel, X, f"The matrix of kernel={self.kernel!r}")
        space: Any
        if self.space is not None:
            space = self.space.space(kernel, X)
        elif kernel is None:
            diagnostics.check_linear_scale(X)
            space = LinearSpace(X)
        elif paired and laplacian is None:
            return KernelParts(kernel, X)
        else:
            space = self._full_space(kernel, X)
        if laplacian is None:
            return SpaceParts.linear(X) if isinstance(space, LinearSpace) else SpaceParts(space)
        if isinstance(space, LinearSpace) and (is_sparse(X) or X.shape[1] > X.shape[0]):
            # A deformed linear space is dense in its features: it is taken in the span of the
            # points, by their products x'z, and X stays sparse.
            space = self._full_space(make_kernel("linear", X), X)
        gamma_I = float(self.gamma_I)
        return SpaceParts(deformed(space, lambda F: gamma_I * laplacian.apply(F)))

    def _full_space(self, kernel: Kernel, X: Any) -> MappedSpace:
        return full_map(kernel, kernel.gram(X), None if kernel.precomputed else X)

    def _make_kernel(self, problem: Problem, *, paired: bool = False) -> Kernel | None:
        if self.space is None and not paired:
            return super()._make_kernel(problem)
        # No n x n matrix is formed: nothing to forecast.
        return make_kernel(
            self.kernel, problem.X, gamma=self.gamma, degree=self.degree, coef0=self.coef0
        )

    def _recipe(self, observations: Observations, balance: Any) -> Recipe:
        labeled, unlabeled = observations.weights.sum(), observations.unlabeled_weights.sum()
        C_star = self.C_star
        if C_star is None:
            C_star = DEFAULT_RATIO * self.C * labeled / unlabeled if unlabeled > 0 else 0.0
        self.C_star_ = float(C_star)
        return Recipe(
            float(self.C),
            self.C_star_,
            as_loss(self.loss, Targets.SIGNS),
            choose_unlabeled_loss(self.unlabeled_loss, self.method, float(self.s)),
            balance,
            self.method,
            Settings(float(self.tol), int(self.max_iter)),
            int(self.n_init),
            check_random_state(self.random_state),
        )

    def _telling(
        self, parts: Parts, tick: Tick, n_columns: int
    ) -> Callable[[int, Callable[[], tuple[Array, float]]], bool]:
        """Tell callbacks of every iteration; columns still to come are zero."""
        coef, intercept = np.zeros((parts.n_coef, n_columns)), np.zeros(n_columns)

        def tell(column: int, known: Callable[[], tuple[Array, float]]) -> bool:
            def attributes() -> Mapping[str, Any]:
                coef[:, column], intercept[column] = known()
                return self._function_attributes(parts, coef, intercept)

            return tick(attributes)

        return tell

    def _function_attributes(
        self, parts: Parts, coef: Array, intercept: Array
    ) -> Mapping[str, Any]:
        """The attributes that predictions are made of."""
        made = parts.attributes(coef)
        if "coef" in made:
            dtype = made["coef"].dtype
            return {"coef_": made["coef"], "intercept_": intercept.astype(dtype, copy=False)}
        return {
            "alpha_": made["alpha"],
            "X_fit_": made["basis"],
            "kernel_": made["kernel"],
            "intercept_": intercept.astype(made["alpha"].dtype, copy=False),
        }

    def _keep(self, parts: Parts, machines: Machines, laplacian: Laplacian | None) -> None:
        attributes = self._function_attributes(parts, machines.coef, machines.intercept)
        for name, value in attributes.items():
            setattr(self, name, value)
        results = [machine.result for machine in machines.columns]
        self.objective_ = np.array([result.minimum.value for result in results])
        self.objectives_ = [result.values for result in results]
        self.supervised_objective_ = np.array([result.supervised_value for result in results])
        self.optimality_ = np.array([result.minimum.optimality for result in results])
        self.balance_ = np.array([machine.mean for machine in machines.columns])
        self.n_iter_ = max(1, *(result.minimum.n_iter for result in results))
        self.status_ = str(worst([result.minimum.status for result in results]))
        if laplacian is not None:
            self.affinity_ = laplacian.affinity

    def _diagnose(self, problem: Problem, machines: Machines, laplacian: Laplacian | None) -> None:
        results = [machine.result for machine in machines.columns]
        unimproved = [result for result in results if not result.improved]
        if unimproved:
            diagnostics.warn_no_improvement(self.method, len(unimproved), len(results))
        optimality = float(self.optimality_.max())
        if self.status_ == Status.MAX_ITER:
            diagnostics.warn_descent_not_converged(self.n_iter_, optimality, self.tol)
        elif self.status_ in (Status.CONVERGED, Status.PRECISION):
            # float32 ends the method of multipliers earlier: its penalties multiply the rounding
            single = problem.X.dtype == np.float32
            tol = max(self.tol, _SINGLE_PRECISION) if single else self.tol
            diagnostics.warn_imprecise("lbfgs", optimality, tol, problem.X.dtype, "a smaller C")
        if len(results) == 1:
            diagnostics.warn_lost_class(
                self.transduction_[self.labeled_], bool(self.labeled_.all())
            )
        if laplacian is not None:
            diagnostics.warn_unlabeled_components(laplacian.component_labels, problem.labeled)

    def _function(self) -> DecisionFunction:
        function = super()._function()
        paired = hasattr(self, "pairs_")  # as fitted, whatever the parameter says by now
        return VotedFunction(function, len(self.classes_)) if paired else function
