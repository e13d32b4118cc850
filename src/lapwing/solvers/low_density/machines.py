"""Binary problems of a semi-supervised SVM with two or more classes.

One-vs-rest fits a column for every class, with all unlabelled points. One-vs-one fits a column for
every pair of classes, on their labelled points and on the unlabelled points that may belong to
either class: points of other classes carry no information on the boundary between the two, but
would be pushed out of its margin as well. The pairs are therefore fitted in rounds. The first round
uses the labelled points only. Each later round weights an unlabelled point in a pair by the
probability of the two classes, estimated from the votes of the previous round, and leaves out
points of small probability. All rounds but the last are used for their votes only, and stop near a
minimum.

Rejected: starting the last round at the minima of the previous round. It saves a fifth of the time,
but errors rose from 14.1 to 16.2 % on USPS (6000 points) and from 2.8 to 3.6 % on synthetic text
(one draw each).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np

from lapwing._arrays import Array
from lapwing._host.threads import available_threads, share, single_blas_thread
from lapwing.classes.decoding import class_pairs, n_columns, posteriors, votes
from lapwing.losses.base import Loss, UnlabeledLoss
from lapwing.objectives.low_density import CenteredFeatures, Function, LowDensityObjective
from lapwing.solvers.base import Result, Serialized, Settings, Status, join_columns
from lapwing.solvers.low_density.methods import (
    LowDensityResult,
    Method,
    minimize_low_density,
)
from lapwing.solvers.low_density.shares import Contradiction, contradiction
from lapwing.spaces.base import CoordinateSpace, Restriction, Space

_LOG = logging.getLogger("lapwing")

# Measured on the ten classes of Uspst, three splits: errors of 18.9, 15.9 and 15.6 % with sharpness
# 10, 20 and 60, in 17, 7 and 6 s per fit; with six rounds 16.7 % (sharpness 20). The votes settle
# within three rounds or not at all.
ROUNDS = 3
_SHARPNESS = 60.0
# Tolerance of all rounds but the last. With 1e-2 the error on text (ten classes, 4 labels each) is
# 2 percentage points higher.
_ROUGH = 1e-3
# Weight below which a point is left out of a pair. On 200 digits in six classes, four labels each
# and three draws, 0.05 and 0.4 give the same error in 0.8 to 0.9 times the time.
_NEGLIGIBLE = 0.2
# Entries of the features of a pair above which pairs are fitted in threads. With fewer, waiting for
# the interpreter lock dominates (2 cores: pairs of 400 points take 8 % longer, pairs of 600 points
# 10 % less).
_SHARED = 300_000
_LEAST_UNLABELED = 10  # with fewer, one point changes their class proportions by a tenth

BiasBounds: TypeAlias = tuple[float, float] | None
"""Bounds of the bias of a column; None for a column without a bias."""

Known: TypeAlias = Callable[[], tuple[Array, float]]
"""Function that computes the current coef (m,) and intercept of a column."""

Report: TypeAlias = Callable[[int, Known], bool]
"""Called with the number of a column after every iteration; True asks to stop."""


class BalanceConstraint(NamedTuple):
    """Balance constraint on the mean decision value of a column on its unlabelled points.

    Attributes
    ----------
    kind : {'labels', 'fractions', 'interval', 'free', 'none'}
        'labels': equal to the mean label. 'fractions': equal to the mean label for given class
        fractions. 'interval': between two such values (two classes only). 'free': unconstrained,
        with an unregularised bias. 'none': no bias.
    numbers : ndarray
        Fractions (n_classes,), or the bounds (2,) of the fraction of the positive class.
    """

    kind: str
    numbers: Array = np.zeros(0)

    def bounds(
        self, targets: Array, weights: Array, negative: Array, positive: Array
    ) -> tuple[float, float]:
        """Return the bounds of the bias of a column between two sets of classes."""
        if self.kind == "interval":
            lower, upper = 2 * self.numbers - 1
            return float(lower), float(upper)
        if self.kind in ("free", "none"):
            return (0.0, 0.0) if self.kind == "none" else (-np.inf, np.inf)
        mean = float(weights @ targets / weights.sum())
        if self.kind == "fractions":
            up, down = self.numbers[positive].sum(), self.numbers[negative].sum()
            mean = float((up - down) / (up + down)) if up + down > 0 else 0.0
        return mean, mean


@dataclass(frozen=True, eq=False)
class ClassObservations:
    """Labelled and unlabelled points of all classes.

    Attributes
    ----------
    index : ndarray of shape (l,)
    codes : ndarray of shape (l,)
        Class codes.
    weights : ndarray of shape (l,)
    unlabeled : ndarray of shape (u,)
    unlabeled_weights : ndarray of shape (u,)
    n_classes : int
    """

    index: Array
    codes: Array
    weights: Array
    unlabeled: Array
    unlabeled_weights: Array
    n_classes: int

    _objective: ClassVar[type[LowDensityObjective]] = LowDensityObjective

    @property
    def few_unlabeled(self) -> bool:
        """Whether there are too few unlabelled points for a constraint on their mean.

        Few points cannot have the class proportions of the labels exactly; and if a third of all
        points are labelled, the labels determine the boundary better than a mean does.
        """
        return self.n_unlabeled < max(2 * len(self.index), _LEAST_UNLABELED)

    @property
    def n_unlabeled(self) -> int:
        return len(self.unlabeled)

    @property
    def mass(self) -> float:
        """Sum of the weights of the unlabelled points."""
        return float(self.unlabeled_weights.sum())

    def whole(self, space: Space) -> Restriction:
        """Return the space on all points in orthonormal coordinates."""
        return space.restrict(np.arange(space.n_points))

    def mean(self, objective: LowDensityObjective, function: Function) -> float:
        """Compute the mean decision value on the unlabelled points."""
        return float(_mean_of(objective.features.n_points, self) @ objective.values(function))

    def features(self, space: CoordinateSpace, *, centered: bool) -> CenteredFeatures:
        """Return the features of the points, optionally centred on the unlabelled points."""
        if not centered:
            return CenteredFeatures(space)
        return CenteredFeatures.on(space, _mean_of(space.n_points, self))

    def objective(
        self, space: CoordinateSpace, targets: Array, bias: BiasBounds, recipe: MachineSettings
    ) -> LowDensityObjective:
        """Return the objective of a column with targets -1 or 1 of shape (l,)."""
        return self._objective(
            self.features(space, centered=bias is not None),
            recipe.loss,
            recipe.unlabeled_loss,
            self.index,
            targets,
            recipe.C * self.weights,
            self.unlabeled,
            recipe.C_star * self.unlabeled_weights,
            (0.0, 0.0) if bias is None else bias,
        )

    def of_classes(self, classes: Array, shares: Array) -> ClassObservations:
        """Select the labelled points of some classes, and weight unlabelled points by `shares`."""
        mine = np.isin(self.codes, classes)
        kept = shares > _NEGLIGIBLE
        return replace(
            self,
            index=self.index[mine],
            codes=self.codes[mine],
            weights=self.weights[mine],
            unlabeled=self.unlabeled[kept],
            unlabeled_weights=(self.unlabeled_weights * shares)[kept],
        )


@dataclass(frozen=True, eq=False)
class MachineSettings:
    """Settings of the fit of every column.

    Attributes
    ----------
    C, C_star : float
        Factors of the losses for points of weight 1.
    loss : Loss
    unlabeled_loss : UnlabeledLoss
    balance : BalanceConstraint
    method : str or Method
        A name in `lapwing.solvers.low_density.methods.METHODS`, or an object.
    settings : Settings
    n_init : int
    random : RandomState
    rough : bool, default=False
        Use one start and no last descent: stop near a minimum, where the signs of the decision
        values are known.
    """

    C: float
    C_star: float
    loss: Loss
    unlabeled_loss: UnlabeledLoss
    balance: BalanceConstraint
    method: str | Method
    settings: Settings[Function]
    n_init: int
    random: np.random.RandomState
    rough: bool = False


class Machine(NamedTuple):
    """Fitted column, f = Phi coef + intercept on the points."""

    coef: Array  # (m,), in the coordinates of the whole space
    intercept: float
    mean: float  # mean decision value of the unlabelled points of the column
    share: float  # fraction of the unlabelled points that are in the column, by weight
    result: LowDensityResult
    reach: float  # bound of the decision value at a labelled point
    contradicted: Contradiction | None = None  # if `sure`, its estimate replaces the labels' share


@dataclass(frozen=True, eq=False)
class Machines:
    """All columns of a fit.

    Attributes
    ----------
    columns : sequence of Machine
    """

    columns: Sequence[Machine]

    @property
    def stopped(self) -> bool:
        """Whether a callback has stopped a column."""
        return any(one.result.minimum.status == Status.CALLBACK for one in self.columns)

    @property
    def result(self) -> Result[Machines, Array]:
        """Join the minima of all columns."""
        return join_columns([one.result.minimum for one in self.columns], self)

    @property
    def coef(self) -> Array:
        """Coefficients (m, n_columns)."""
        return np.stack([machine.coef for machine in self.columns], axis=1)

    @property
    def intercept(self) -> Array:
        """Biases (n_columns,) for points that are not centred."""
        return np.array([machine.intercept for machine in self.columns])

    def values(self, space: Space) -> Array:
        """Compute decision values (n, n_columns)."""
        coef = self.coef.astype(space.dtype, copy=False)
        values: Array = space.values(coef) + self.intercept
        return values


def one_vs_rest(
    space: Space, observations: ClassObservations, recipe: MachineSettings, report: Report
) -> Machines:
    """Fit a column for each class; for two classes a single one, positive for the second class."""
    whole: Restriction = observations.whole(space)
    classes = np.arange(observations.n_classes)
    positives = classes[-n_columns(len(classes)) :]
    columns = []
    for number, positive in enumerate(positives):
        targets = np.where(observations.codes == positive, 1.0, -1.0)
        sides = classes[classes != positive], classes[[positive]]
        objective = _objective(whole.space, observations, targets, sides, recipe)
        on_iteration = partial(report, number)
        columns.append(_fit(whole, objective, observations, recipe, len(positives), on_iteration))
    return Machines(columns)


def one_vs_one(
    space: Space, observations: ClassObservations, recipe: MachineSettings, report: Report
) -> Machines:
    """Fit a column for each pair of classes, in rounds; see the module docstring."""
    total = float(observations.unlabeled_weights.sum())
    unused = recipe.C_star == 0 and recipe.balance.kind in ("free", "none")
    rough = 0 if total == 0 or unused else ROUNDS
    shares = np.zeros((len(observations.unlabeled), observations.n_classes))
    report = Serialized(report)
    for _ in range(rough):
        machines = _fit_pairs(space, observations, shares, replace(recipe, rough=True), report)
        if machines.stopped:
            return machines
        scores = votes(machines.values(space), observations.n_classes)
        shares = posteriors(scores[observations.unlabeled], _SHARPNESS)
    machines = _fit_pairs(space, observations, shares, recipe, report)
    if total > 0:
        taken_by = ", ".join(f"{machine.share:.0%}" for machine in machines.columns)
        _LOG.info("one-vs-one: share of the unlabelled points in each pair: %s", taken_by)
    return machines


def _fit_pairs(
    space: Space,
    observations: ClassObservations,
    shares: Array,
    recipe: MachineSettings,
    report: Report,
) -> Machines:
    """Fit all pairs in threads, with unlabelled points weighted by `shares` (u, n_classes)."""
    pairs = class_pairs(observations.n_classes)
    total = float(observations.unlabeled_weights.sum())

    def fit(number: int, random: np.random.RandomState) -> Machine:
        pair = pairs[number]
        of_pair = observations.of_classes(pair, shares[:, pair].sum(axis=1))
        own = replace(recipe, random=random)
        machine = _fit_pair(space, of_pair, pair, own, partial(report, number))
        taken = float(of_pair.unlabeled_weights.sum()) / total if total > 0 else 0.0
        return machine._replace(share=taken)

    with single_blas_thread():  # entered once, not by every pair
        randoms = _generators(recipe, len(pairs))
        n_threads = _threads(space, observations, shares)
        return Machines(share(n_threads, fit, range(len(pairs)), randoms))


def _generators(recipe: MachineSettings, count: int) -> list[np.random.RandomState]:
    """Return a generator for each pair, so that no draw depends on the order of the threads."""
    if recipe.n_init == 1:  # no draw, and the generator of the caller stays as it is
        return [recipe.random] * count
    seeds = recipe.random.randint(2**31 - 1, size=count).tolist()
    return [np.random.RandomState(seed) for seed in seeds]


def _threads(space: Space, observations: ClassObservations, shares: Array) -> int:
    """Return the number of threads that fit pairs: one if the pairs are small."""
    points = len(observations.index) + int((shares > 0).any(axis=1).sum())
    of_pair = 2 * points / observations.n_classes
    return available_threads() if of_pair * min(of_pair, space.n_coef) >= _SHARED else 1


def _fit_pair(
    space: Space,
    observations: ClassObservations,
    pair: Array,
    recipe: MachineSettings,
    report: Callable[[Known], bool],
) -> Machine:
    """Fit a pair, in the space of its own points."""
    rows, position = np.unique(
        np.concatenate([observations.index, observations.unlabeled]), return_inverse=True
    )
    n_labels = len(observations.index)
    own = replace(observations, index=position[:n_labels], unlabeled=position[n_labels:])
    targets = np.where(own.codes == pair[1], 1.0, -1.0)
    part: Restriction = space.restrict(rows)
    objective = _objective(part.space, own, targets, (pair[[0]], pair[[1]]), recipe)

    tests = ROUNDS * n_columns(own.n_classes, paired=True)
    return _fit(part, objective, own, recipe, tests, report)


def _objective(
    space: CoordinateSpace,
    observations: ClassObservations,
    targets: Array,
    sides: tuple[Array, Array],
    recipe: MachineSettings,
) -> LowDensityObjective:
    """Return the objective of a column between two sets of classes, the negative one first."""
    balance = recipe.balance
    nothing = not observations.mass and balance.kind != "none"
    if nothing or (balance.kind == "labels" and observations.few_unlabeled):
        balance = BalanceConstraint("free")
    bias = None
    if balance.kind != "none":
        bias = balance.bounds(targets, observations.weights, *sides)
    return observations.objective(space, targets, bias, recipe)


def _mean_of(n_points: int, observations: ClassObservations) -> Array:
    """Return the weights (n,), of sum 1, of the points in the mean that features are centred on.

    This is the mean of the unlabelled points, whose decision values the balance constrains. Without
    unlabelled points the bias is free, and features are centred on the labelled points to improve
    the condition.
    """
    shares = np.zeros(n_points)
    if observations.unlabeled_weights.any():
        np.add.at(shares, observations.unlabeled, observations.unlabeled_weights)
    else:
        np.add.at(shares, observations.index, observations.weights)
    return np.asarray(shares / shares.sum())


def _fit(
    part: Restriction,
    objective: LowDensityObjective,
    observations: ClassObservations,
    recipe: MachineSettings,
    n_tests: int,
    report: Callable[[Known], bool],
) -> Machine:
    contradicted = None
    if recipe.balance.kind == "labels" and not objective.free_bias:
        contradicted = contradiction(objective, observations.unlabeled_weights, n_tests)
    if contradicted is not None and contradicted.sure:
        level = 2 * contradicted.unlabeled - 1
        objective = replace(objective, bias=(level, level))

    center = objective.features.center

    def in_space(function: Function) -> tuple[Array, float]:
        # The bias is that of f = Phi w + b on points that are not centred.
        moved = 0.0 if center is None else float(center @ function.coef)
        return part.embed(function.coef), function.intercept - moved

    def on_iteration(known: Callable[[], Function]) -> bool:
        return report(lambda: in_space(known()))

    tol, n_init = recipe.settings.tol, recipe.n_init
    if recipe.rough:
        tol, n_init = max(tol, _ROUGH), 1
    result = minimize_low_density(
        objective,
        recipe.method,
        replace(recipe.settings, tol=tol, on_iteration=on_iteration),
        n_init=n_init,
        random=recipe.random,
        rough=recipe.rough,
    )
    function = result.minimum.state
    mean = observations.mean(objective, function)
    return Machine(*in_space(function), mean, 1.0, result, _value_bound(objective), contradicted)


def _value_bound(objective: LowDensityObjective) -> float:
    """Bound w'x_j by C sum_i |x_i| max_i |x_i|, as the gradient of a hinge is at most C |x_i|."""
    norms = np.sqrt(objective.labeled_norms)
    return float(objective.weights @ norms) * float(norms.max(initial=0.0))
