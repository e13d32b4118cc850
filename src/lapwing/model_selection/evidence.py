"""Evidence for a candidate without a held-out label."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
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
from lapwing.model_selection.probabilities import relative_sharpness
from lapwing.model_selection.trials import (
    Trial,
    contradiction,
    leave_out_rounds,
    reproduce,
    start,
)

# A class with less than this fraction of its proportion is lost. If the class has two or more
# labels, leaving them out reveals a lost class as well, and 0.3 would reject right predictions for
# classes of 80:20 with equal numbers of labels (regret of half a point with three labels per
# class). With one label per class, 0.1 would cost a point.
_SMALLEST_SHARE = 0.1
_SMALLEST_SHARE_OF_ONE_LABEL = 0.3
# Predictions that contradict more of their own labels are rejected. Of 256 fits of the default
# candidates none contradicts more than a tenth (docs/notes/choosing.md), so that any larger limit
# rejects only candidates that do not fit the labels.
_MOST_CONTRADICTED = 0.2
# A class is rare if so few labels of it have at most this probability with equal proportions: the
# usual level of a test.
_RARE_LEVEL = 0.05

PROBABILITY = 0.9  # of an interval


class Effort(NamedTuple):
    """Number of draws and of left-out labels of a trial."""

    n_draws: int
    max_left_out: int
    seed: int = 0

    def of_refits(self, n_classes: int) -> Effort:
        """Return the effort of a candidate for which every draw costs a whole fit.

        Reproducibility is a mean over the classes, so that fewer draws are enough for more classes.
        With 3 to 10 classes, two draws chose as well as five.
        """
        enough = max(2, -(-2 * self.n_draws // n_classes))
        return self._replace(n_draws=min(self.n_draws, enough))


@dataclass(frozen=True, eq=False)
class Evidence:
    """Evidence for a candidate of `compare`.

    Parameters
    ----------
    name : str
        Name in the table.
    estimator : estimator
        Unfitted.
    assumption : str
        Its assumption about the classes, in words.
    error : float
        Estimated error rate on the unlabelled rows, weighted by known class proportions. All other
        figures are means over classes of equal weight.
    error_interval : tuple of float
        Interval that contains the error rate with probability 0.9.
    left_out_error : float
        Error rate on left-out labels of the fits without them; NaN if there are none. One label of
        each class is left out at a time; `S3VC` keeps its class proportions.
    left_out_standard_error : float
        Standard error of `left_out_error`.
    n_left_out : int
        Number of left-out labels.
    reproducibility : float
        Fraction of the rows of a class that change with the labels, see `reproducibility`, as a
        mean over the predicted classes; the fraction of all rows would be small if nearly all are
        in one class. NaN if no row is unlabelled, and if the candidate misclassifies so many labels
        that it cannot be selected; its error is then a lower bound.
    reproducibility_standard_error : float
        Standard error of `reproducibility`.
    smallest_share : float
        Proportion of the smallest predicted class, times the number of classes.
    fitted : float
        Weighted fraction of the given labels that are predicted.
    objection : str
        Reason why the candidate is rejected; empty if it is not.
    seconds : float
        Time of the trial.
    agreement : mapping of str to float
        Fraction of the rows with the same prediction as each other candidate.
    contradiction : float
        Fraction of the rows on which the supervised fit contradicts the predictions, beyond that
        expected if they were right, as a mean over the classes; at least 0.
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
    FIGURES: ClassVar[tuple[str, ...]] = (
        "left_out_error", "left_out_standard_error", "n_left_out", "reproducibility",
        "reproducibility_standard_error", "contradiction", "smallest_share", "fitted", "objection",
        "seconds",
    )  # fmt: skip

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


class TrialResult(NamedTuple):
    """Result of trying a candidate."""

    evidence: Evidence
    codes: Array  # predicted class codes of all rows, -1 for rows left out of the fit
    n_missed: Array  # misclassified left-out labels of each class, a mean over the rounds
    n_left_out: Array
    sharpness: Sharpness  # of its scores, relative to that by the prior alone


def try_out(
    candidate: Candidate,
    X: PointsLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    effort: Effort,
    bar: float = math.inf,
    supervised: Trial | None = None,
    sizes: Array | None = None,
) -> TrialResult:
    """Gather the evidence for a candidate, whose points are prepared once.

    If the estimated error would be above the bar even if no row changed, neither reproducibility
    nor the contradiction by the supervised trial is computed. Misclassified labels are weighted by
    known class proportions, see `lapwing.model_selection.candidates.label_rows`.
    """
    begun = time.perf_counter()
    trial = start(candidate.estimator, X, y, sample_weight)
    problem, n_classes = trial.prepared.problem, len(trial.classes)
    codes = trial.row_codes
    given = np.flatnonzero(problem.labeled_rows & (problem.vertex >= 0))
    labels = predict_codes(trial.prepared.targets.columns[given])
    # A label of weight 2 counts as two labels; weights of other rows have no meaning.
    weights = np.where(codes >= 0, 1.0, 0.0)
    weights[given] = problem.row_weights[given]
    shares = np.bincount(np.maximum(codes, 0), weights, n_classes) / weights.sum()
    counts = np.bincount(labels, weights[given], n_classes)
    fitted = float(np.average(codes[given] == labels, weights=weights[given]))
    own_sizes = given_sizes(last_step(candidate.estimator), labels, trial.classes, counted=True)
    objection = objection_to(shares, counts, fitted, trial.classes, own_sizes)

    left_out = leave_out_rounds(trial, effort.max_left_out, effort.seed)
    missed = left_out.missed[left_out.judged]
    n_missed, n_left_out = left_out.n_missed(n_classes), left_out.n_left_out(n_classes)
    wrong = float(missed.mean()) if len(missed) else math.nan
    estimate = estimate_error(0.0, n_missed, n_left_out, sizes=sizes)
    changed, changed_error, against = math.nan, math.nan, 0.0
    if estimate.error <= bar:
        changed, changed_error = _reproduce(trial, effort)
        if supervised is not None and not math.isnan(changed):
            against = contradiction(supervised, codes, effort.seed)
        estimate = estimate_error(changed, n_missed, n_left_out, contradiction=against, sizes=sizes)
    if objection:
        # Predictions that lose a class are reproducible even if wrong: only the labels count.
        estimate = estimate_error(math.nan, n_missed, n_left_out, sizes=sizes)
    evidence = Evidence(
        name=candidate.name,
        estimator=candidate.estimator,
        assumption=candidate.assumption,
        error=estimate.error,
        error_interval=(estimate.low, estimate.high),
        left_out_error=wrong,
        left_out_standard_error=math.sqrt(wrong * (1 - wrong) / max(len(missed), 1)),
        n_left_out=len(missed),
        reproducibility=changed,
        reproducibility_standard_error=changed_error,
        smallest_share=float(shares.min() * n_classes),
        fitted=fitted,
        objection=objection,
        seconds=time.perf_counter() - begun,
        contradiction=against,
    )
    return TrialResult(evidence, codes, n_missed, n_left_out, relative_sharpness(trial, left_out))


def objection_to(
    shares: Array, counts: Array, fitted: float, classes: Array, given: Array | None = None
) -> str:
    """Return the reason to reject predictions; empty if there is none.

    Parameters
    ----------
    shares : ndarray of shape (n_classes,)
        Predicted class proportions.
    counts : ndarray of shape (n_classes,)
        Labels of the classes, by weight. A class with improbably few of them may be rare.
    fitted : float
        Fraction of the given labels that are predicted.
    classes : ndarray of shape (n_classes,)
    given : ndarray of shape (n_classes,), optional
        Proportions of the classes that the user gave the candidate: a class may be as rare.
    """
    n_labels, even = counts.sum(), 1 / len(shares)
    rare = binom.cdf(np.round(counts), np.round(n_labels), even) < _RARE_LEVEL
    short = shares / (np.where(rare, counts / n_labels, even) if given is None else given)
    least = np.where(counts < 2, _SMALLEST_SHARE_OF_ONE_LABEL, _SMALLEST_SHARE)
    worst = int(np.argmin(short / least))
    if short[worst] < least[worst]:
        return (
            f"gives the class {classes.tolist()[worst]!r} to {100 * shares[worst]:.1f} % of the "
            "rows"
        )
    if fitted < 1 - _MOST_CONTRADICTED:
        return f"contradicts {100 * (1 - fitted):.0f} % of the given labels"
    return ""


def _reproduce(trial: Trial, effort: Effort) -> tuple[float, float]:
    """Return the mean change over the classes and its standard error; NaN without other rows."""
    problem = trial.prepared.problem
    if problem.labeled_rows[problem.vertex >= 0].all():
        return math.nan, math.nan
    found = reproduce(trial, effort.n_draws, effort.seed)
    there = ~np.isnan(found.of_class)
    if not there.any():
        return math.nan, math.nan
    errors = found.of_class_standard_error[there]
    return float(found.of_class[there].mean()), float(np.sqrt((errors**2).sum()) / there.sum())


class Constants(NamedTuple):
    """Model that links reproducibility and left-out labels to the error.

    Attributes
    ----------
    unseen : float
        The prior mean of the error is ``unseen * (2 / K) ** (1 / 4) + D + C`` for the
        reproducibility D, which is the error if the method is right, the contradiction C, also a
        fraction of the rows, and K classes: a reproducible confusion of two classes affects fewer
        rows if there are more classes. The power was chosen on 22 draws of
        uspst, coil20 and four digits of MNIST, which are therefore no test of it: with 0 the
        estimate at three labels per class is 5 points too high, with 1 / 2 that at one label 6 too
        low.
    prior_labels : float
        Weight of the prior, in labels.
    of_a_label : float
        Weight of a left-out label: less than one, as the fit without it is worse than the fit with
        it, and as candidates share their labels.
    """

    unseen: float
    prior_labels: float
    of_a_label: float


# Maximum likelihood for the errors of the chosen candidates, on 240 draws of labels on eight sets
# of two classes, up to 2000 points each, one, three and ten labels per class, equally many or at
# random (`python -m benchmarks choosing`). Without one of the sets they are 0.15 to 0.18, 5.5 to
# 7.6 and 0.53 to 0.63. Rejected: separate constants for the labels alone, for sheets and for
# clusters (the regret falls by a point with three labels per class, and rises by three with ten).
CONSTANTS = Constants(unseen=0.17, prior_labels=6.4, of_a_label=0.59)

_CLASSES_POWER = 0.25  # of 2 / K, see `Constants`
_BOUNDS = (0.005, 0.95)  # of the prior mean: that of a beta distribution is inside (0, 1)


class ErrorEstimate(NamedTuple):
    """Error rate, with the interval that contains it with probability 0.9."""

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
    """Estimate the error rate on unlabelled rows.

    Parameters
    ----------
    reproducibility : float
        Reproducibility; NaN if no row is unlabelled: the estimate is then by left-out labels only.
    n_missed : ndarray of shape (n_classes,)
        Number of misclassified left-out labels of each class.
    n_left_out : ndarray of shape (n_classes,)
        Number of left-out labels of each class.
    constants : Constants, default=CONSTANTS
    contradiction : float, default=0.0
        As in `Evidence`.
    sizes : ndarray of shape (n_classes,), optional
        Known proportions of the classes.

    Returns
    -------
    ErrorEstimate
    """
    alpha, beta = posterior(reproducibility, n_missed, n_left_out, constants, contradiction, sizes)
    tail = (1 - PROBABILITY) / 2
    # As for Clopper and Pearson's interval, the lower bound is 0 without misclassified labels.
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
    """Return the parameters of the beta distribution of the error."""
    n_classes = len(n_left_out)
    # With known proportions all labels count: rows that one class loses are gained by another.
    counted = effective_counts(n_left_out) if sizes is None else n_left_out
    rates = n_missed / np.maximum(n_left_out, 1)
    right = float(((label_rows(n_classes, sizes) - rates) * counted).sum())
    alpha = constants.of_a_label * float((rates * counted).sum())
    beta = constants.of_a_label * max(right, 0.0)
    if math.isnan(reproducibility):
        return alpha + 0.5, beta + 0.5  # Jeffreys' prior
    unseen = constants.unseen * (2 / n_classes) ** _CLASSES_POWER
    # D and C are means over classes of equal weight: convert them to fractions of rows.
    rows = guessing(n_classes) / guessing(n_classes, sizes)
    mean = (unseen + reproducibility + contradiction) / rows
    mean = min(max(mean, _BOUNDS[0]), _BOUNDS[1])
    weight = constants.prior_labels * rows
    return alpha + weight * mean, beta + weight * (1 - mean)


def effective_counts(n_left_out: Array) -> Array:
    """Limit the left-out labels per class to 2 m + 1, where m is the number for the rarest class.

    Labels of a common class carry no information about a rare one. With five labels to one,
    intervals contain the error in 78 % of the draws without the limit and in 89 % with it.
    """
    return np.asarray(np.minimum(n_left_out, 2 * n_left_out.min() + 1))
