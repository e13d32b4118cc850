"""Semi-supervised support vector machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state

from lapwing._arrays import Array, RandomSource, is_sparse
from lapwing._host.memory import available_memory
from lapwing._host.threads import available_threads, share, single_blas_thread
from lapwing._parameters import is_number, parameters
from lapwing._rows.base import PointsLike, Rows, is_rows
from lapwing.classes.decoding import n_columns, predict_codes, votes
from lapwing.classes.probabilities import LOW_DENSITY_PRIOR
from lapwing.classes.volumes import read_fractions
from lapwing.estimators import diagnostics, input_checks
from lapwing.estimators._docs import document
from lapwing.estimators.classifier import SemiSupervisedClassifier, check_classes
from lapwing.estimators.lapsvm import LapSVC
from lapwing.estimators.parameters import KernelParameters
from lapwing.estimators.prepared import (
    Prepared,
    Refits,
    Solution,
    Stages,
    Targets,
    Tick,
    without,
)
from lapwing.graphs import Laplacian
from lapwing.graphs.base import GraphLike
from lapwing.kernels import make_kernel
from lapwing.losses.base import Loss, TargetKind, UnlabeledLoss
from lapwing.losses.registry import as_loss, as_unlabeled_loss
from lapwing.problem import Problem, check_weight_sizes
from lapwing.solvers.base import Settings
from lapwing.solvers.low_density.machines import (
    BalanceConstraint,
    ClassObservations,
    Machines,
    MachineSettings,
    one_vs_one,
    one_vs_rest,
)
from lapwing.solvers.low_density.methods import Method, as_method, check_losses
from lapwing.solvers.low_density.shares import Contradiction
from lapwing.spaces.base import Space
from lapwing.spaces.full import KEPT_BYTES, FullKernelSpace
from lapwing.spaces.functions import FittedFunction, KernelExpansion, LinearFunction, VotedFunction
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.mapped import deformed
from lapwing.spaces.recipes import Linear, SpaceRecipe, check_space

# Relative gradient of fits in float32 that is not reported: penalties amplify rounding errors. Of
# 12 fits of 60 points with C from 1 to 1e4, eleven end below 1e-4.
_PRECISE_SINGLE = 1e-2
_HELD_BYTES = 2**30  # limit on the kernel matrix with pairs, or a quarter of the memory if less


def _stores_kernel_matrix(problem: Problem) -> bool:
    """Return whether the kernel matrix of all points is held."""
    free = available_memory()
    most = _HELD_BYTES if free is None else min(_HELD_BYTES, free / 4)
    return float(problem.X.dtype.itemsize) * problem.n_points**2 <= most


LowDensityPrepared: TypeAlias = Prepared[Space, Laplacian | None]


@dataclass(frozen=True, eq=False)
class LowDensitySolution(Solution):
    """Solution with the machines of all columns.

    Attributes
    ----------
    machines : Machines
    C_star : float
    paired : bool
        Whether each machine is for a pair of classes.
    """

    machines: Machines
    C_star: float
    paired: bool

    def assign(self, model: Any) -> None:
        columns = self.machines.columns
        self.machines.result.assign(model)
        model.C_star_ = self.C_star
        model.objectives_ = [machine.result.objectives for machine in columns]
        model.supervised_objective_ = np.array([m.result.supervised.objective for m in columns])
        model.balance_ = np.array([machine.mean for machine in columns])
        if self.paired:
            model.pair_shares_ = np.array([machine.share for machine in columns])


@dataclass(frozen=True, eq=False)
class LowDensityRefits(Refits[LowDensityPrepared, LowDensitySolution]):
    """Refits by whole fits, optionally with the balance of the present labels.

    Every fit starts from the supervised solution of its own labels. Started from the minimum with
    the left-out label it would stay in it, as the objective usually still has a minimum there.
    """

    estimator: S3VC

    def left_out_of(self, observations: Array) -> Array:
        """Compute `left_out` of some observations, with the fits in threads."""
        problem = self.prepared.problem

        def left_out(i: int) -> Array:
            return np.asarray(self.values(without(self.prepared, i))[problem.index[i]])

        values = np.full(problem.targets.shape, np.nan)
        # All fits share one generator, so they must draw from it in order.
        drawn = isinstance(self.estimator.random_state, np.random.RandomState)
        if len(observations):
            with single_blas_thread():
                threads = 1 if drawn else available_threads()
                values[observations] = share(threads, left_out, observations.tolist())
        return values

    def holding_shares(self) -> LowDensityRefits:
        balance = self.estimator.balance
        problem, classes = self.prepared.problem, self.prepared.targets.classes
        if not (isinstance(balance, str) and balance == "labels"):
            return self
        if observe(problem, len(classes)).few_unlabeled:  # then 'labels' is not enforced
            return self
        weights = np.bincount(predict_codes(problem.targets), problem.weights, len(classes))
        shares = dict(zip(classes.tolist(), (weights / weights.sum()).tolist(), strict=True))
        return replace(self, estimator=clone(self.estimator).set_params(balance=shares))


@parameters
@document(LapSVC)
class S3VC(KernelParameters, SemiSupervisedClassifier[LowDensityPrepared, LowDensitySolution]):
    r"""Semi-supervised (transductive) support vector machine, by low-density separation.

    The decision boundary is placed where there are few points. With f = h + b, h in the space of
    the kernel, every method minimises for every column

    .. math:: \tfrac12 \|h\|^2 + C \sum_{i \in L} w_i\, \ell(y_i f(x_i))
              + C^* \sum_{j \in U} w_j\, \ell_u(f(x_j)),
              \qquad \ell_u(f) = \exp(-s f^2),

    ([1]_, (2); [2]_, (5), whose parameters are C = 1 / (2 lambda l) and
    C* = lambda' / (2 lambda u)), under the balance constraint

    .. math:: \frac{\sum_U w_j f(x_j)}{\sum_U w_j} = b,

    which determines b. The objective is not convex, and the methods find different local minima,
    all of them minima of the objective itself without smoothing.

    Parameters
    ----------
    {kernel}
    {gamma}
    {degree}
    {coef0}
    space : Landmarks, Linear or None, default=None
        Space of h. None is the full kernel with O(n^2) memory, or for ``kernel='linear'`` the
        features with O(nnz) time per step. `Landmarks` takes O(n r) memory and time per step for r
        landmarks.
    C : float, default=100.0
        Weight > 0 of the losses on labelled points. With the linear kernel it depends on the scale
        of the features: features that are 1000 times smaller need a million times the weight.
    C_star : float or None, default=None
        Weight >= 0 of the losses on unlabelled points; 0 gives a supervised SVM. None is C l / u
        for l labelled and u unlabelled points.
    {s3vc_loss}
    {unlabeled_loss}
    s : float, default=3.0
        Parameter > 0 of the loss exp(-s f^2) on unlabelled points.
    {method}
    balance : 'labels', float, (float, float), dict or None, default='labels'
        Constraint on the mean decision value over the unlabelled points (predicted class
        proportions follow it approximately). 'labels' fixes it to the mean label. A fraction p of
        ``classes_[1]`` fixes it to 2 p - 1, and a pair of fractions bounds it (two classes only). A
        dict or pandas Series has a fraction or a count for every class, ``{'a': 0.2, 'b': 0.8}``.
        Give them if labels were drawn in equal numbers from classes of different size; they are
        always enforced. 'labels' is replaced by an estimate, with a warning, if the unlabelled
        points contradict it, which takes about ten labels per class to detect (for two classes with
        four or more labels each there is only a warning); it is not enforced if there are fewer
        than ten unlabelled points, or fewer than two for each label. None imposes no constraint.
    fit_intercept : bool, default=True
        Whether to fit a bias with ``balance=None``; otherwise the balance determines it.
    {graph}
    gamma_I : float, default=0.0
        Weight >= 0 of the intrinsic norm, h'L^p h / 2, which is added to the objective to combine
        the cluster and manifold assumptions ([1]_, Section 5.1); possible with every method. With 0
        no graph is built.
    multi_class : {'auto', 'ovo', 'ovr'}, default='auto'
        'ovo' fits a machine for every pair of classes, 'ovr' one for every class against the rest,
        for which the cluster assumption rarely holds. 'auto' is 'ovo' up to 60 classes: its time
        is quadratic in their number, half an hour for 200 classes of 600 points. The weight of an
        unlabelled point in a pair is the fraction of the votes for these two classes, updated in
        three rounds.
    n_init : int, default=1
        Number of starts; all but the first are random. The solution with the lowest objective is
        returned.
    tol : float, default=1e-4
        Tolerance on the norm of the gradient divided by sqrt(2 objective), and on the violation of
        margins.
    max_iter : int, default=20000
        Maximum number of iterations of L-BFGS in each stage of a method and in the final descent.
    {class_weight}
    {unlabeled}
    random_state : int, RandomState or None, default=None
        Controls the random starts; nothing else is random.

    Attributes
    ----------
    {classes_}
    {unlabeled_}
    {transduction_}
    {transduction_proba_ to left_out_proba_}
    {alpha_}
    {coef_}
    {intercept_}
    X_fit_ : {ndarray, sparse matrix} of shape (n_basis, n_features)
        Points of the expansion: some training points or landmarks. None if precomputed.
    basis_ : ndarray of shape (n_points,)
        Row numbers in X of the points of the problem: the distinct rows except labelled ones of
        weight 0 (all rows if the affinity or kernel matrix is given).
    {kernel_}
    objective_ : ndarray of shape (n_columns,)
        Objective at the solution, without smoothing.
    objectives_ : list of ndarray
        For each column the objective of every start.
    supervised_objective_ : ndarray of shape (n_columns,)
        Objective at the supervised solution, from which the methods start.
    optimality_ : ndarray of shape (n_columns,)
        Relative norm of the gradient, or the largest violation of a margin if that is larger.
    balance_ : ndarray of shape (n_columns,)
        Weighted mean decision value over the unlabelled points of each column.
    pairs_ : ndarray of shape (n_columns, 2)
        Classes of each column, which is positive for the second; only with pairs of more than two
        classes.
    pair_shares_ : ndarray of shape (n_columns,)
        Weighted fraction of the unlabelled points used in each pair.
    C_star_ : float
        Value of `C_star` that was used.
    n_iter_ : int
        Number of iterations; the largest over the columns.
    {status_}
    {affinity_}
    {labeled_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    LapSVC : Manifold assumption; convex, and suitable for classes with many clusters.

    Notes
    -----
    With pairs of classes, `decision_function` returns the mean vote for each class; a vote is a
    decision value clipped to [-1, 1].

    `sample_weight` applies to unlabelled rows as well; duplicate rows are one point with the sum of
    their weights. The intrinsic norm is that of h, without the bias, as in the deformed kernel of
    [1]_.

    An evaluation of the objective takes one product with the features and one with their transpose;
    the full kernel is factored once, n^3 / 3. Pairs of classes with about 550 points or more run in
    parallel threads (the number of cores according to joblib, at most OMP_NUM_THREADS), each with a
    factorisation of its own points; all rounds but the last stop near a minimum. There is a
    `LongFitWarning` if the pairs will take minutes.

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

    _functions = (VotedFunction, LinearFunction, KernelExpansion)
    _fits_again = True
    _sharpness_prior = LOW_DENSITY_PRIOR

    _: KW_ONLY
    gamma: float | str = "scale"
    space: SpaceRecipe | None = None
    C: float = 100.0
    C_star: float | None = None
    loss: Loss | str = "hinge"
    unlabeled_loss: UnlabeledLoss | str = "auto"
    s: float = 3.0
    method: Any = "gradient"
    balance: Any = "labels"
    fit_intercept: bool = True
    graph: GraphLike = None
    gamma_I: float = 0.0
    multi_class: str = "auto"
    n_init: int = 1
    tol: float = 1e-4
    max_iter: int = 20_000
    class_weight: Mapping[Any, float] | str | None = None
    random_state: RandomSource = None

    @with_callbacks
    def fit(self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> S3VC:
        """Fit to labelled and unlabelled points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All points, labelled or not; the kernel matrix (n_samples, n_samples) if
            ``kernel='precomputed'``.
        y : array-like of shape (n_samples,)
            Labels, with the marker `unlabeled` for unlabelled points.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the points in the losses and of unlabelled points in the balance; 1 by
            default. Labelled points of weight 0 are ignored.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit(X, y, sample_weight)
        return self

    @property
    def _n_stages(self) -> int:  # type: ignore[override]
        return 2 + self._wants_graph()

    def _check_combination(self) -> None:
        check_space(self.space)
        for name in ("C", "C_star"):
            if (getattr(self, name) or 0) > _LARGEST:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} must be at most {_LARGEST:g}: beyond, the "
                    "norm is below the rounding errors of the losses. Scale the features instead."
                )
        if self.gamma_I > _LARGEST:
            raise ValueError(
                f"gamma_I={self.gamma_I!r} must be at most {_LARGEST:g}: beyond, losses and "
                "kernel norm are below the rounding errors of the graph term. Use a smaller value."
            )
        check_losses(
            self.method,
            as_loss(self.loss, TargetKind.SIGNS),
            choose_unlabeled_loss(self.unlabeled_loss, self.method, float(self.s)),
        )
        if self.balance is not None and not self.fit_intercept:
            raise ValueError(
                f"balance={self.balance!r} determines the bias, but fit_intercept=False. "
                "Use fit_intercept=True, or balance=None."
            )

    def _wants_graph(self) -> bool:
        return bool(self.gamma_I > 0)

    def _reads_blocks(self, rows: Rows) -> bool:
        linear = self._has_kernel("linear") and self.space is None
        return (linear or isinstance(self.space, Linear)) and not self._wants_graph()

    def _read_targets(self, y: ArrayLike) -> Targets:
        targets = super()._read_targets(y)
        self._read_balance(targets)  # errors are raised before anything that takes time
        return targets._replace(check=check_weights_of_all)

    def _read_balance(self, targets: Targets) -> BalanceConstraint:
        classes = targets.classes
        return read_balance(self.balance, classes, fit_intercept=bool(self.fit_intercept))

    def _paired(self, targets: Targets) -> bool:
        return pairs_of_classes(self.multi_class, len(targets.classes))

    def _prepare(self, targets: Targets, problem: Problem, progress: Stages) -> LowDensityPrepared:
        laplacian = None
        if self._wants_graph():
            with progress.stage("graph"):
                laplacian = self._make_laplacian(self._given_graph(), problem)
        paired = self._paired(targets)
        if paired:
            self._announce(problem, len(targets.classes))
        with progress.stage("space"):
            space = self._make_space(problem, paired=paired)
        return Prepared(targets, problem, laplacian, space)

    def _announce(self, problem: Problem, n_classes: int) -> None:
        """Warn before a long fit of pairs."""
        if self.space is None and not problem.labeled_rows.all():
            n, pairs = problem.n_points, n_classes * (n_classes - 1) // 2
            input_checks.warn_long(
                seconds_of_pairs(n, n_classes),
                f"{type(self).__name__} fits {pairs} pairs of {n_classes} classes in rounds "
                f"for {n} points and",
                "multi_class='ovr' fits a machine for each class; space=Landmarks(500) makes steps "
                "short where pairs have thousands of points; LapERLSClassifier takes seconds.",
            )

    def _refits(
        self, prepared: LowDensityPrepared
    ) -> Refits[LowDensityPrepared, LowDensitySolution]:
        return LowDensityRefits(self, prepared)

    def _make_space(self, problem: Problem, *, paired: bool) -> Space:
        """Make the space of h, with the norm of its kernel."""
        X, kernel, deformed = problem.X, self._make_kernel(problem), self._wants_graph()
        if kernel is not None and self.space is None:
            if deformed or not paired:
                kernel.forecast(X)
                return self._mapped_full_space(kernel, problem)
            self._check_kernel(kernel, X)
        space = self._space_of(self.space, kernel, problem)
        if isinstance(space, FullKernelSpace):
            # Otherwise only the matrices of the pairs are formed, again in every round.
            return space.stored() if _stores_kernel_matrix(problem) else space
        if not isinstance(space, LinearSpace):
            return space if is_rows(X) else space.stored()
        if not deformed:
            return LinearSpace.of_used(X)
        if is_sparse(X) or X.shape[1] > X.shape[0]:
            # Deforming a linear space would make its features dense. The span of the points, with
            # their inner products, keeps X sparse.
            return self._mapped_full_space(make_kernel("linear", X), problem)
        return space

    def _solve(self, prepared: LowDensityPrepared, progress: Stages) -> LowDensitySolution:
        targets, space = prepared.targets, prepared.space
        if prepared.laplacian is not None:
            space = deformed(space, prepared.laplacian.scaled(float(self.gamma_I)))
        classes = targets.classes
        paired = self._paired(targets)
        observations = self._observe(prepared.problem, len(classes))
        recipe = self._recipe(observations, self._read_balance(targets))
        fit_all: Callable[..., Machines] = one_vs_one if paired else one_vs_rest
        made = partial(self._fitted, space, classes if paired else None)
        with progress.stage("solve", None) as tick:
            n_machines = n_columns(len(classes), paired=paired)
            report = self._reporter(made, tick, (space.n_coef, n_machines))
            machines = fit_all(space, observations, recipe, report)
        values = machines.values(space)
        if paired:
            values = votes(values, len(classes))
        function = made(machines.coef, machines.intercept)
        return LowDensitySolution(function, values, machines, recipe.C_star, paired)

    def _observe(self, problem: Problem, n_classes: int) -> ClassObservations:
        return observe(problem, n_classes)

    def _recipe(
        self, observations: ClassObservations, balance: BalanceConstraint
    ) -> MachineSettings:
        labeled, unlabeled = observations.weights.sum(), observations.mass
        C_star = self.C_star
        if C_star is None:
            C_star = DEFAULT_RATIO * self.C * labeled / unlabeled if unlabeled > 0 else 0.0
        return MachineSettings(
            float(self.C),
            float(C_star),
            as_loss(self.loss, TargetKind.SIGNS),
            choose_unlabeled_loss(self.unlabeled_loss, self.method, float(self.s)),
            balance,
            self.method,
            Settings(float(self.tol), int(self.max_iter)),
            int(self.n_init),
            check_random_state(self.random_state),
        )

    def _reporter(
        self, made: Callable[[Array, Array], FittedFunction], tick: Tick, shape: tuple[int, int]
    ) -> Callable[[int, Callable[[], tuple[Array, float]]], bool]:
        """Make the function that reports iterations to callbacks; columns not yet fitted are 0."""
        coef, intercept = np.zeros(shape), np.zeros(shape[1])

        def report(column: int, known: Callable[[], tuple[Array, float]]) -> bool:
            def attributes() -> Mapping[str, Any]:
                coef[:, column], intercept[column] = known()
                return made(coef, intercept).attributes

            return tick(attributes)

        return report

    def _fitted(
        self, space: Space, voting: Array | None, coef: Array, intercept: Array
    ) -> FittedFunction:
        """Make the fitted function, by votes for pairs of classes."""
        function = space.function(coef, intercept)
        # In a full expansion most points have no coefficient in any pair.
        if isinstance(space, FullKernelSpace) and isinstance(function, KernelExpansion):
            function = function.pruned()
        return function if voting is None else VotedFunction(function, voting)

    def _diagnose(self, prepared: LowDensityPrepared, solution: LowDensitySolution) -> None:
        results = [machine.result for machine in solution.machines.columns]
        dtype = prepared.problem.X.dtype
        unimproved = [result for result in results if not result.improved]
        if unimproved:
            diagnostics.warn_no_improvement(self.method, len(unimproved), len(results))
        self._diagnose_balance([machine.contradicted for machine in solution.machines.columns])
        reach = max(machine.reach for machine in solution.machines.columns)
        diagnostics.warn_unreached_margins(reach, float(self.C))
        diagnostics.warn_convergence(
            "L-BFGS",
            solution.machines.result,
            Settings(self.tol, self.max_iter),
            dtype,
            "a smaller C",
            otherwise=", or scale the features",
            precise=_PRECISE_SINGLE if dtype == np.float32 else diagnostics.PRECISE,
        )
        if len(results) == 1:
            answers = self._transduce(solution.values[prepared.problem.index])
            diagnostics.warn_lost_class(answers, bool(prepared.targets.labeled.all()))
        diagnostics.warn_unlabeled_components(prepared.laplacian, prepared.problem)

    def _diagnose_balance(self, found: Sequence[Contradiction | None]) -> None:
        """Warn about the column whose class proportions differ most from those of its labels."""
        contradicted = [(column, shares) for column, shares in enumerate(found) if shares]
        if not contradicted:
            return
        column, shares = max(contradicted, key=lambda one: abs(one[1].unlabeled - one[1].labels))
        sides: tuple[Any, Any]
        if len(self.classes_) == 2:
            sides = tuple(self.classes_)
        elif pairs_of_classes(self.multi_class, len(self.classes_)):
            sides = tuple(self.pairs_[column])
        else:
            sides = None, self.classes_[column]
        diagnostics.warn_contradicted_balance(*sides, shares, len(contradicted), len(found))


# C* u / (C l) of C_star=None. With C = 100 and method='gradient' chosen over twenty binary problems
# of the papers' data (2 or 3 splits each; mean error on the unlabelled points, the SVM 22.4 %):
#
#     C     ratio   continuation  quasi-newton  gradient
#     1     1           22.1          21.6        21.7
#     10    0.1         19.4          19.6        19.4
#     10    1           18.5          17.7        17.9
#     10    10          18.7          17.3        17.7
#     100   0.1         17.5          16.8        16.7
#     100   1           18.2          16.6        16.1
#     100   10          18.5          16.6        16.1
#
# Continuation has the least error on ten of them and loses up to 25 points on four whose classes
# are no clusters (USPS with ten digits in two classes, g241d).
DEFAULT_RATIO = 1.0

_LARGEST = 1e12

# Cost of a pair of classes on one core of 2020: about 400 evaluations over all rounds, each with
# the overhead of Python and products with coordinates that fit the cache up to a thousand points.
_EVALUATIONS = 400
_OVERHEAD = 2.5e-4  # seconds
_SPEED = 4e9  # operations a second

# Classes up to which multi_class='auto' fits pairs. 60 classes of 300 points take three minutes on
# one core and 200 of 600 take 33, of which nearly all is the overhead of about 20,000 machines.
_MOST_PAIRED = 60

_BALANCES = (
    "'labels' (the mean label), a fraction of the second class between 0 and 1, a pair of such "
    "fractions, a dict or Series of fractions by class, or None"
)


def read_balance(balance: Any, classes: Array, *, fit_intercept: bool) -> BalanceConstraint:
    """Convert the parameter `balance`.

    Raises
    ------
    ValueError
        If the value is not a balance of these classes.
    """
    if balance is None:
        return BalanceConstraint("free" if fit_intercept else "none")
    if isinstance(balance, str) and balance == "labels":
        return BalanceConstraint("labels")
    if isinstance(balance, Mapping) or hasattr(balance, "to_dict"):  # a Series
        return BalanceConstraint("fractions", read_fractions(balance, classes, "balance"))
    interval = isinstance(balance, (tuple, list)) and len(balance) == 2
    if not interval and not _is_fraction(balance):
        raise ValueError(f"balance={balance!r} must be {_BALANCES}.")
    if interval and not (all(map(_is_fraction, balance)) and balance[0] <= balance[1]):
        raise ValueError(
            f"balance={balance!r} must be two fractions 0 <= lower <= upper <= 1 of the class "
            f"{classes.tolist()[-1]!r}."
        )
    if len(classes) > 2:
        raise ValueError(
            f"balance={balance!r} is the fraction of the second of two classes, but there are "
            f"{len(classes)} classes. Give a dict with the fraction of every class, or "
            "balance='labels'."
        )
    if interval:
        return BalanceConstraint("interval", np.array(balance, dtype=np.float64))
    return BalanceConstraint("fractions", np.array([1 - float(balance), float(balance)]))


def _is_fraction(value: Any) -> bool:
    return is_number(value) and 0 <= value <= 1


def check_weights_of_all(targets: Targets, problem: Problem) -> None:
    """Raise ValueError for negative or too large weights, or a class without positive weights.

    Raises
    ------
    ValueError
        Naming the classes or the row.
    """
    check_classes(targets, problem)
    negative = np.flatnonzero(~problem.labeled_rows & (problem.row_weights < 0))
    if len(negative):
        row = negative[0]
        raise ValueError(
            f"sample_weight must not be negative: the unlabelled row {row} has "
            f"{problem.row_weights[row]}. S3VC weighs unlabelled rows as well."
        )
    check_weight_sizes(problem.row_weights, ~problem.labeled_rows)


def observe(problem: Problem, n_classes: int) -> ClassObservations:
    """Collect labelled and unlabelled points; the weights of equal unlabelled rows are summed."""
    # In refits, rows that are not points of the fit may be unlabelled.
    rows = np.flatnonzero(~problem.labeled_rows & (problem.vertex >= 0))
    total = np.bincount(problem.vertex[rows], problem.row_weights[rows], problem.n_points)
    unlabeled = np.unique(problem.vertex[rows])
    return ClassObservations(
        problem.index,
        predict_codes(problem.targets),
        problem.weights,
        unlabeled,
        total[unlabeled],
        n_classes,
    )


def choose_unlabeled_loss(
    loss: UnlabeledLoss | str, method: Method | str, s: float
) -> UnlabeledLoss:
    """Return the unlabelled loss of a name or an object; for 'auto' that of the method."""
    if isinstance(loss, str) and loss == "auto":
        loss = as_method(method).unlabeled_loss
    return as_unlabeled_loss(loss, {"s": s})


def pairs_of_classes(multi_class: str, n_classes: int) -> bool:
    """Return whether `S3VC` fits a machine for every pair of this number of classes."""
    return n_classes > 2 and (
        multi_class == "ovo" or (multi_class == "auto" and n_classes <= _MOST_PAIRED)
    )


def seconds_of_pairs(n_points: int, n_classes: int) -> float:
    """Estimate the seconds of machines of pairs in one thread."""
    n_pairs, of_pair = n_classes * (n_classes - 1) / 2, 2.0 * n_points / n_classes
    return n_pairs * _EVALUATIONS * (_OVERHEAD + 4 * of_pair**2 / _SPEED)


def bytes_of_pairs(n_points: int, n_classes: int, itemsize: int) -> float:
    """Estimate the memory of the kernel matrix and of the cached factors of pairs.

    Each cached factor has a copy in float64, for predictions.
    """
    n_pairs, of_pair = n_classes * (n_classes - 1) / 2, 2.0 * n_points / n_classes
    matrix, factors = float(itemsize) * n_points**2, n_pairs * of_pair**2 * itemsize
    held = matrix if matrix <= _HELD_BYTES else 0.0
    return held + min(KEPT_BYTES, factors) * (1 + 8 / itemsize)
