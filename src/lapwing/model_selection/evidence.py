"""Evidence for a candidate without a held-out label."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv
from scipy.stats import binom

from lapwing._arrays import Array
from lapwing._rows import PointsLike
from lapwing.classes.decoding import predict_codes
from lapwing.classes.probabilities import Sharpness
from lapwing.model_selection.candidates import (
    Candidate,
    given_sizes,
    guessing,
    label_rows,
    last_step,
)
from lapwing.model_selection.probabilities import (
    LeftOutRounds,
    leave_out_rounds,
    relative_sharpness,
)
from lapwing.model_selection.reproducibility import PredictiveCheck, Trial, start
from lapwing.model_selection.reproducibility import of_trial as reproduce

# An answer that gives a class less than so much of its share has lost it, and one that contradicts
# so many of its own labels follows something else. Where labels of the small class can be left out,
# and the labels alone asked, these tell a lost class from a rare one: 0.3 there as well refuses
# right answers about classes of 80:20 with labels in equal numbers, half a point of regret with
# three labels a class. Of the only label of a class nothing is told: 0.1 there as well costs a
# point with one label a class.
_SMALLEST_SHARE = 0.1
_SMALLEST_UNTOLD = 0.3
_MOST_UNFITTED = 0.2
# A class is taken to be rare where so few labels of it would surprise with equal shares.
_SURPRISE = 0.05

PROBABILITY = 0.9  # of an interval


class Effort(NamedTuple):
    """How much is asked of every candidate."""

    n_draws: int
    max_left_out: int
    seed: int

    def of_refits(self, n_classes: int) -> Effort:
        """Effort of a candidate that every draw costs a whole fit.

        What changes is a mean over the classes, so that of more classes fewer draws say as much.
        Two, with 3 to 10 classes, chose as well as five.
        """
        enough = max(2, -(-2 * self.n_draws // n_classes))
        return self._replace(n_draws=min(self.n_draws, enough))


_FIGURES = (
    "left_out_error", "left_out_standard_error", "n_left_out", "reproducibility",
    "reproducibility_standard_error", "contradiction", "smallest_share", "fitted", "objection",
    "seconds",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Evidence:
    """Evidence for a candidate of `compare`.

    Parameters
    ----------
    name : str
        What the table calls it.
    estimator : estimator
        Unfitted.
    assumption : str
        What it takes classes to be, in words.
    error : float
        Estimated share of wrong answers on the unlabelled rows. Where the sizes of the classes were
        told, what follows is still of classes that all count alike, and the error is not.
    error_interval : tuple of float
        Where that share lies with probability 0.9.
    left_out_error : float
        Share of the left-out labels that the fit without them misses; NaN if there are none. One
        label of each class is left out at a time, and what S3VC takes the shares of the classes to
        be is held meanwhile.
    left_out_standard_error : float
        Of `left_out_error`.
    n_left_out : int
        Labels that were left out.
    reproducibility : float
        Share of the rows of a class that change with the labels, see `reproducibility`, in the mean
        over the classes of the answer: of all rows, an answer that gives nearly all of them one
        class would change little. NaN where no row is unlabelled, and where the candidate misses
        so many labels that it could not be chosen if no row changed; its error is then a bound.
    reproducibility_standard_error : float
        Of `reproducibility`.
    smallest_share : float
        Part of the smallest class in the answer, over one in the number of classes.
    fitted : float
        Share of the given labels, by weight, that the answer repeats.
    objection : str
        Why the candidate cannot be chosen; empty if it can.
    seconds : float
        Time that it took to learn all this.
    agreement : mapping of str to float
        Share of the rows on which each other candidate says the same.
    contradiction : float
        By how much more of the rows the fit to the labels alone contradicts the answer than it
        would if the answer were right, in the mean over the classes. 0 where nothing is known
        against it.
    """

    name: str
    estimator: Any
    assumption: str
    error: float
    error_interval: tuple[float, float]
    left_out_error: float
    left_out_standard_error: float
    n_left_out: int
    reproducibility: float
    reproducibility_standard_error: float
    smallest_share: float
    fitted: float
    objection: str
    seconds: float
    agreement: Mapping[str, float] = field(default_factory=dict)
    contradiction: float = 0.0

    regression: ClassVar[bool] = False
    HEADER: ClassVar[tuple[str, ...]] = (
        "candidate", "assumption", "wrong (90 % interval)", "left out, missed",
        "rows that change", "smallest class", "labels kept", "seconds",
    )  # fmt: skip
    COLUMNS: ClassVar[Mapping[str, Callable[[Any], Any]]] = MappingProxyType(
        {
            "name": attrgetter("name"),
            "assumption": attrgetter("assumption"),
            "error": attrgetter("error"),
            "error_low": lambda row: row.error_interval[0],
            "error_high": lambda row: row.error_interval[1],
            **{name: attrgetter(name) for name in _FIGURES},
        }
    )

    @property
    def admitted(self) -> bool:
        """Whether the candidate may be chosen."""
        return not self.objection

    def cells(self) -> tuple[str, ...]:
        """Format the row of the table.

        Returns
        -------
        tuple of str
            A text for each column of the table.
        """
        low, high = self.error_interval
        missed = round(self.left_out_error * self.n_left_out) if self.n_left_out else 0
        return (
            self.name,
            self.assumption,
            f"{_percent(self.error)} ({100 * low:.0f}-{_percent(high)})",
            f"{missed} of {self.n_left_out}" if self.n_left_out else "-",
            "-" if math.isnan(self.reproducibility) else _percent(self.reproducibility),
            f"{self.smallest_share:.2f}" + ("" if self.admitted else " !"),
            _percent(self.fitted),
            f"{self.seconds:.1f}",
        )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


class LabelsOnlyResult(NamedTuple):
    """Evidence of the labels alone for a trial."""

    left_out: LeftOutRounds
    repeated: float  # what changes with the labels, in the mean over the classes
    spread: float  # standard error of that
    n_missed: Array  # left-out labels of each class that were missed
    n_left_out: Array
    estimate: ErrorEstimate
    contradiction: float  # what the labels alone say against the answer


class TrialResult(NamedTuple):
    """Result of trying a candidate."""

    evidence: Evidence
    codes: Array  # its answer: class codes of all rows, -1 where left out of the fit
    n_missed: Array  # left-out labels of each class that were missed, in the mean over the rounds
    n_left_out: Array
    sharpness: Sharpness  # of its scores, relative to what the prior alone says


def try_out(
    candidate: Candidate,
    X: PointsLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    effort: Effort,
    bar: float = math.inf,
    predictive_check: PredictiveCheck | None = None,
    sizes: Array | None = None,
) -> TrialResult:
    """Gather the evidence of a candidate; all of it stands on one preparation of the points.

    Neither the reproducibility of its answer nor the predictive check is computed where its
    estimated error would be above the bar even if no row changed. Sizes of the classes that are
    known weigh what is missed, see `lapwing.model_selection.candidates`.
    """
    begun = time.perf_counter()
    trial = start(candidate.estimator, X, y, sample_weight)
    problem = trial.prepared.problem
    codes = np.where(problem.vertex >= 0, trial.answers(trial.values)[problem.vertex], -1)
    given = np.flatnonzero(problem.labeled_rows & (problem.vertex >= 0))
    labels = predict_codes(trial.prepared.targets.columns[given])
    n_classes = len(trial.classes)
    # A label of weight 2 is as good as two labels; weights of other rows need not mean anything.
    weights = np.where(codes >= 0, 1.0, 0.0)
    weights[given] = problem.row_weights[given]
    against = None if predictive_check is None else partial(predictive_check.against, codes)
    found = look(trial, effort, bar, against, sizes)
    left_out = found.left_out
    missed = left_out.missed[left_out.judged]
    shares = np.bincount(np.maximum(codes, 0), weights, n_classes) / weights.sum()
    counts = np.bincount(labels, weights[given], n_classes)
    fitted = float(np.average(codes[given] == labels, weights=weights[given]))
    own_sizes = given_sizes(last_step(candidate.estimator), labels, trial.classes)
    objection = objection_to(shares, counts, fitted, trial.classes, own_sizes)
    # That an answer of one class is repeated says nothing of it: there the labels speak alone.
    alone = estimate_error(math.nan, found.n_missed, found.n_left_out, sizes=sizes)
    estimate = alone if objection else found.estimate
    evidence = Evidence(
        name=candidate.name,
        estimator=candidate.estimator,
        assumption=candidate.assumption,
        error=estimate.error,
        error_interval=(estimate.low, estimate.high),
        left_out_error=float(missed.mean()) if len(missed) else math.nan,
        left_out_standard_error=_standard_error(missed),
        n_left_out=int(found.n_left_out.sum()),
        reproducibility=found.repeated,
        reproducibility_standard_error=found.spread,
        smallest_share=float(shares.min() * n_classes),
        fitted=fitted,
        objection=objection,
        seconds=time.perf_counter() - begun,
        contradiction=found.contradiction,
    )
    sharpness = relative_sharpness(trial, left_out)
    return TrialResult(evidence, codes, found.n_missed, found.n_left_out, sharpness)


def look(
    trial: Trial,
    effort: Effort,
    bar: float = math.inf,
    against: Callable[[int], float] | None = None,
    sizes: Array | None = None,
) -> LabelsOnlyResult:
    """Leave labels out, and draw others, of a trial that has begun.

    Parameters
    ----------
    trial : Trial
    effort : Effort
    bar : float, default=inf
        As in `try_out`.
    against : callable (seed) -> float, optional
        What the predictive check says against the answer.
    sizes : ndarray of shape (n_classes,), optional
        Parts of the classes, where they are known.
    """
    n_classes = len(trial.classes)
    left_out = _leave_out(trial, effort)
    n_missed, n_left_out = left_out.n_missed(n_classes), left_out.n_left_out(n_classes)
    repeated, spread, contradiction = math.nan, math.nan, 0.0
    estimate = estimate_error(0.0, n_missed, n_left_out, sizes=sizes)
    if estimate.error <= bar:
        repeated, spread = _reproduce(trial, effort)
        if against is not None and not math.isnan(repeated):
            contradiction = against(effort.seed)
        estimate = estimate_error(
            repeated, n_missed, n_left_out, contradiction=contradiction, sizes=sizes
        )
    return LabelsOnlyResult(
        left_out, repeated, spread, n_missed, n_left_out, estimate, contradiction
    )


def objection_to(
    shares: Array, counts: Array, fitted: float, classes: Array, given: Array | None = None
) -> str:
    """Why an answer is not to be chosen, whatever else speaks for it; empty if nothing is wrong.

    Parameters
    ----------
    shares : ndarray of shape (n_classes,)
        Parts of the classes in the answer.
    counts : ndarray of shape (n_classes,)
        Labels of the classes, by weight: one that has too few of them for chance may be rare.
    fitted : float
        Share of the given labels that the answer repeats.
    classes : ndarray of shape (n_classes,)
    given : ndarray of shape (n_classes,), optional
        Parts of the classes that the user gave the candidate: a class may be as rare as that.
    """
    n_labels, even = counts.sum(), 1 / len(shares)
    rare = binom.cdf(np.round(counts), np.round(n_labels), even) < _SURPRISE
    short = shares / (np.where(rare, counts / n_labels, even) if given is None else given)
    least = np.where(counts < 2, _SMALLEST_UNTOLD, _SMALLEST_SHARE)
    worst = int(np.argmin(short / least))
    if short[worst] < least[worst]:
        return (
            f"gives the class {classes.tolist()[worst]!r} to {100 * shares[worst]:.1f} % of the "
            "rows"
        )
    if fitted < 1 - _MOST_UNFITTED:
        return f"contradicts {100 * (1 - fitted):.0f} % of the given labels"
    return ""


def _leave_out(trial: Trial, effort: Effort) -> LeftOutRounds:
    """Rounds until all labels, or as many as asked, have been left out.

    Candidates of equal effort leave out the same labels, also those whose refits cost nothing:
    labels that are hard for all would otherwise count against some of them only.
    """
    counts = np.bincount(predict_codes(trial.prepared.problem.targets))
    n_rounds = min(int(counts.max()), -(-effort.max_left_out // len(counts)))
    return leave_out_rounds(trial, n_rounds, effort.seed)


def _standard_error(missed: Array) -> float:
    """Of a share of so many labels."""
    if not len(missed):
        return math.nan
    share = float(missed.mean())
    return math.sqrt(share * (1 - share) / len(missed))


def _reproduce(trial: Trial, effort: Effort) -> tuple[float, float]:
    """Mean over the classes of what changes, and its standard error; NaN if nothing can change."""
    problem = trial.prepared.problem
    if problem.labeled_rows[problem.vertex >= 0].all():
        return math.nan, math.nan
    found = reproduce(trial, effort.n_draws, effort.seed)
    there = ~np.isnan(found.of_class)
    if not there.any():
        return math.nan, math.nan
    spread = found.of_class_standard_error[there]
    return float(found.of_class[there].mean()), float(np.sqrt((spread**2).sum()) / there.sum())


class Constants(NamedTuple):
    """Model that links reproducibility and left-out labels to the error.

    Attributes
    ----------
    unseen, seen : float
        Before any label is left out the error is ``unseen * (2 / K) ** (1 / 4) + seen * D + C`` in
        the mean, for the reproducibility D, what the labels alone say against the answer C, and K
        classes: where two of ten classes are stably mistaken for each other, less is wrong than
        where two of two are. The power was chosen on 22 draws of uspst, coil20 and four digits of
        MNIST, which therefore do not judge it: with 0 the estimate at three labels a class is 5
        points too high, with 1 / 2 that at one label 6 too low.
    prior_labels : float
        How many labels that weighs as much as.
    of_a_label : float
        What a left-out label counts for: less than one, for the fit without it is worse than the
        fit with it, and candidates share their labels.
    """

    unseen: float
    seen: float
    prior_labels: float
    of_a_label: float


# The largest likelihood for the errors of what `compare` chose, on 240 draws of labels on eight
# sets of two classes, up to 2000 points each, one, three and ten labels a class, in equal numbers
# and at random. Without one set they are 0.15 to 0.18, 5.5 to 7.6 and 0.53 to 0.63.
# `python -m benchmarks choosing` fits them again.
# `seen` was fixed at what reproducibility means: it is the error if the method is right; and so was
# the weight of a contradiction, which is a share of the rows as well.
# Measured and left out: a constant of its own for the labels alone, for sheets and for clusters
# (the regret with three labels a class falls by a point, and with ten it rises by three).
CONSTANTS = Constants(unseen=0.17, seen=1.0, prior_labels=6.4, of_a_label=0.59)

_MANY_CLASSES = 0.25  # power of 2 / K, see `Constants`
# Of the mean of the prior: a beta distribution has its mean inside (0, 1).
_BOUNDS = (0.005, 0.95)


class ErrorEstimate(NamedTuple):
    """An error, and the interval that holds it with probability 0.9."""

    error: float
    low: float
    high: float


def estimate_error(
    reproducibility: float,
    n_missed: Array,
    n_left_out: Array,
    constants: Constants = CONSTANTS,
    *,
    contradiction: float = 0.0,
    sizes: Array | None = None,
) -> ErrorEstimate:
    """Estimate the share of wrong answers on unlabelled rows.

    Parameters
    ----------
    reproducibility : float
        NaN where no row is unlabelled: left-out labels then speak alone.
    n_missed : ndarray of shape (n_classes,)
        Left-out labels of each class that were missed.
    n_left_out : ndarray of shape (n_classes,)
        Left-out labels of each class.
    constants : Constants, default=CONSTANTS
    contradiction : float, default=0.0
        What the labels alone say against the answer.
    sizes : ndarray of shape (n_classes,), optional
        Parts of the classes, where the answer holds them.

    Returns
    -------
    ErrorEstimate
    """
    alpha, beta = posterior(reproducibility, n_missed, n_left_out, constants, contradiction, sizes)
    tail = (1 - PROBABILITY) / 2
    # As in Clopper and Pearson's interval: where no left-out label was missed, none may be wrong.
    none_missed = n_left_out.sum() > 0 and n_missed.sum() == 0
    return ErrorEstimate(
        alpha / (alpha + beta),
        0.0 if none_missed else float(betaincinv(alpha, beta, tail)),
        float(betaincinv(alpha, beta, 1 - tail)),
    )


def posterior(
    reproducibility: float,
    n_missed: Array,
    n_left_out: Array,
    constants: Constants,
    contradiction: float = 0.0,
    sizes: Array | None = None,
) -> tuple[float, float]:
    """Parameters of the beta distribution of the error."""
    n_classes = len(n_left_out)
    # With sizes the labels of a common class do speak for a rare one: what it loses the other gets.
    counted = effective_counts(n_left_out) if sizes is None else n_left_out
    rates = n_missed / np.maximum(n_left_out, 1)
    right = float(((label_rows(n_classes, sizes) - rates) * counted).sum())
    alpha = constants.of_a_label * float((rates * counted).sum())
    beta = constants.of_a_label * max(right, 0.0)
    if math.isnan(reproducibility):
        return alpha + 0.5, beta + 0.5  # Jeffreys' prior
    unseen = constants.unseen * (2 / n_classes) ** _MANY_CLASSES
    # Means over the classes, which are all as large in them: a label of each is so many rows.
    rows = guessing(n_classes) / guessing(n_classes, sizes)
    mean = (unseen + constants.seen * reproducibility + contradiction) / rows
    mean = min(max(mean, _BOUNDS[0]), _BOUNDS[1])
    weight = constants.prior_labels * rows
    return alpha + weight * mean, beta + weight * (1 - mean)


def effective_counts(n_left_out: Array) -> Array:
    """How many left-out labels of each class count.

    Those of a common class say nothing of a rare one: they count for at most twice as many as the
    rarest class has, and one more. Without that limit five labels to one give intervals that hold
    the error in 78 % of the draws, with it in 89.
    """
    return np.asarray(np.minimum(n_left_out, 2 * n_left_out.min() + 1))
