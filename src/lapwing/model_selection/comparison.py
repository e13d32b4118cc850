"""Comparison of methods where few rows have a label, and its verdict in words."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html import escape
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import _safe_indexing, check_random_state

from lapwing._arrays import Array, RandomSource, is_sparse
from lapwing._host.modules import require
from lapwing._host.terminal import StatusLine
from lapwing._host.warn import collect_warnings, warn
from lapwing._parameters import COUNT, SEED, check, count, one_of
from lapwing._rows.base import PointsLike, all_of, is_rows
from lapwing._rows.registry import rows_or_array
from lapwing._words import listed, quoted
from lapwing.classes.label_checks import refuse_many_numbers
from lapwing.classes.labels import ClassLabels, code_classes, has_fractions, read_targets
from lapwing.classes.markers import read_column
from lapwing.classes.probabilities import Sharpness
from lapwing.classes.volumes import PriorLike, read_prior
from lapwing.estimators.classifier import SemiSupervisedClassifier
from lapwing.estimators.input_checks import warn_row_order
from lapwing.estimators.path import standard_error
from lapwing.estimators.prepared import Stages, check_one_entry_a_row
from lapwing.estimators.regressor import SemiSupervisedRegressor
from lapwing.model_selection.candidates import (
    CLUSTERS,
    LABELS_ALONE,
    SHEETS,
    Candidate,
    agreed_sizes,
    default_candidates,
    fits_again,
    guessing_error,
    last_step,
    quick_candidates,
    with_sizes,
)
from lapwing.model_selection.evidence import (
    PROBABILITY,
    Effort,
    Evidence,
    RegressionEvidence,
    TrialResult,
    try_out,
    try_out_regression,
)
from lapwing.model_selection.trials import start_supervised
from lapwing.problem import read_row_weights, value_order

_LOG = logging.getLogger("lapwing")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of `compare`; printed as a table.

    Parameters
    ----------
    table : tuple of Evidence or RegressionEvidence
        A row for each candidate, the chosen one first.
    verdict : str
        Whether the unlabelled rows help, and which estimator to use.
    notes : tuple of str
        Caveats of the estimates.
    n_samples : int
        Rows of X.
    n_used : int
        Rows that the evidence comes from.
    n_labeled : int
        Rows with a label.
    failed : mapping of str to str
        Errors of the candidates that could not be fitted, by name. The table has the others.
    """

    table: tuple[Evidence | RegressionEvidence, ...]
    verdict: str
    notes: tuple[str, ...]
    n_samples: int
    n_used: int
    n_labeled: int
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def chosen(self) -> Evidence | RegressionEvidence:
        """Row of the chosen estimator."""
        return self.table[0]

    @property
    def best(self) -> Any:
        """Chosen estimator, unfitted."""
        return clone(self.chosen.estimator)

    @property
    def error(self) -> float:
        """Estimated error rate of it on the unlabelled rows, or error of regression."""
        return self.chosen.error

    @property
    def error_interval(self) -> tuple[float, float]:
        """Interval that contains the error with probability 0.9."""
        return self.chosen.error_interval

    @property
    def unlabeled_help(self) -> bool:
        """Whether the chosen estimator uses the unlabelled rows."""
        return self.chosen.assumption != LABELS_ALONE

    def to_frame(self, library: str | None = None) -> Any:
        """Return the table as a data frame: a row for each candidate, the chosen one first.

        Parameters
        ----------
        library : {'pandas', 'polars'}, default=None
            Library of the frame. None means that of ``sklearn.set_config(transform_output=...)``,
            or pandas.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            The columns are the attributes of `Evidence` without the estimator and the agreement,
            or those of `RegressionEvidence`; the interval is `error_low` and `error_high`.

        Raises
        ------
        ValueError
            If the library is unknown.
        ImportError
            If the library is not installed.

        Examples
        --------
        >>> from lapwing.datasets import make_two_moons
        >>> from lapwing.model_selection import compare
        >>> X, y = make_two_moons(n_labeled_per_class=3, random_state=0)[:2]
        >>> compare(X, y).to_frame()["name"][0]
        'LapSVC()'
        """
        if library is None:
            library = str(get_config()["transform_output"])
            library = library if library in _FRAMES else "pandas"
        check({"library": library}, {"library": one_of(*_FRAMES, None)})
        frames = require(library, extra=_FRAMES[library], purpose="Comparison.to_frame")
        columns = {name: [getattr(row, name) for row in self.table] for name in _SHARED}
        columns["error_low"] = [row.error_interval[0] for row in self.table]
        columns["error_high"] = [row.error_interval[1] for row in self.table]
        figures = {name: [getattr(row, name) for row in self.table] for name in self.chosen.FIGURES}
        return frames.DataFrame(columns | figures)

    def __str__(self) -> str:
        lines = [self.chosen.HEADER, *(row.cells() for row in self.table)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        objections = [f"{row.name}: {row.objection}." for row in self.table if row.objection]
        if objections:
            text += ["", "Excluded:", *objections]
        if self.failed:
            text += ["", "Could not be fitted:", *map(": ".join, self.failed.items())]
        return "\n".join([*text, "", self.verdict, *self.notes])

    def _repr_html_(self) -> str:
        def line(cells: Sequence[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        rows = "".join(line(row.cells(), "td") for row in self.table)
        failed = (f"Could not be fitted: {name}: {error}" for name, error in self.failed.items())
        texts = (self.verdict, *self.notes, *failed)
        paragraphs = "".join(f"<p>{escape(text)}</p>" for text in texts)
        return f"<table>{line(self.chosen.HEADER, 'th')}{rows}</table>{paragraphs}"


_SHARED = ("name", "assumption", "error")  # columns of all tables, first
# Libraries of frames, and the extras that install them.
_FRAMES = {"pandas": "pandas", "polars": "cli"}


def compare(
    X: PointsLike,
    y: ArrayLike,
    *,
    candidates: Sequence[Candidate] | None = None,
    sample_weight: ArrayLike | None = None,
    n_draws: int = 5,
    max_left_out: int = 16,
    max_samples: int = 2000,
    class_prior: PriorLike = None,
    unlabeled: object = "auto",
    random_state: RandomSource = 0,
) -> Comparison:
    """Compare the families of methods, and estimate the error of the best one.

    Classification: whether classes are clusters or connected sheets (manifolds) matters more than
    any parameter, and cannot be determined from few labels directly. The error of each candidate is
    estimated from the labels that it misclassifies when they are left out, one of each class at a
    time; from the rows that change when labels are drawn from its own predictions
    (`reproducibility`); and from the contradiction by a supervised fit, which is larger for
    reproducible but wrong predictions than for right ones. Candidates that lose a class or
    contradict their own labels are rejected. Of the others, the one with the smallest estimated
    error is selected, unless that is close to guessing: then the supervised candidate is used.

    Regression: candidates are compared by exact leave-one-out. The best supervised candidate is
    selected, unless the error of another one is smaller by 2 % or more; the verdict states whether
    this is more than one standard error of the difference [1]_.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        All points, labelled or not.
    y : array-like of shape (n_samples,)
        Class labels, with the marker `unlabeled` for unlabelled points, or numbers to predict,
        with NaN for unknown ones.
    candidates : sequence of Candidate, default=None
        Classifiers or regressors to compare; y is interpreted accordingly. None means
        `default_candidates`, for regression if y contains numbers with fractions.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the points, as for the estimators.
    n_draws : int, default=5
        Number of draws of `reproducibility`, for classification. Methods that need a full fit for
        each draw, such as `S3VC`, make ``2 / K`` times as many with K classes, and at least two.
    max_left_out : int, default=16
        Number of labels to leave out, for classification: the same for every candidate and one of
        each class at a time; the last round may exceed it.
    max_samples : int, default=2000
        Maximum number of rows of the comparison: all labelled rows, and unlabelled rows drawn at
        random. Graph methods have smaller errors on all rows than on a sample.
    class_prior : {'labels', 'uniform', 'unknown'}, array-like, dict or None, default=None
        Proportions of the classes in X, as for the estimators. It is set in the default candidates
        that can use it (`balance` of `S3VC`), which are then not rejected for classes of this
        size. Given candidates keep their own. The estimated error is weighted by these proportions.
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        Marker of unlabelled points in y, as for the estimators. Given `candidates` have a
        parameter of this name, which must agree.
    random_state : int, RandomState instance or None, default=0
        Seed of all draws. With None, repeated calls may select different candidates.

    Returns
    -------
    Comparison
        The candidates in order, the verdict, and the estimator to use.

    Raises
    ------
    TypeError
        If a candidate is not an estimator of this library, or classifiers and regressions are
        mixed.
    ValueError
        If no candidate is given or can be fitted, two have the same name, a number is out of its
        range, `class_prior` is not a prior of these classes, or it is given with `candidates`.

    Warns
    -----
    FitFailedWarning
        For each candidate that cannot be fitted and is left out.

    See Also
    --------
    lapwing.FewLabelClassifier : Classifier that fits the estimator chosen by this comparison.
    lapwing.FewLabelRegressor : The same for regression.

    Notes
    -----
    The estimated error is the mean of a beta distribution. Its prior is given by reproducibility
    and contradiction, with constants from `python -m benchmarks choosing`, and left-out labels are
    its observations. With one label per class nothing can be left out, and reproducible predictions
    can be wrong.

    References
    ----------
    .. [1] L. Breiman, J. Friedman, R. Olshen and C. Stone, "Classification and regression trees",
       1984, section 3.4.3.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from lapwing.datasets import mask_labels
    >>> from lapwing.model_selection import compare
    >>> X, truth = make_blobs(120, centers=[[-2, -2], [2, 2]], random_state=0)
    >>> found = compare(X, mask_labels(truth, 3, random_state=0))
    >>> found.chosen.left_out_error
    0.0
    """
    warn_row_order(X, y)
    y = read_column(y)  # once, with its warnings
    effort, regression = Effort(n_draws, max_left_out), _predicts_numbers(candidates, y)
    settings = CompareSettings(
        candidates, effort, max_samples, class_prior, unlabeled, random_state, regression
    )
    with StatusLine("Comparing methods") as progress:
        found, _ = compared(X, y, sample_weight, settings, progress)
    warn_of_failures(found.failed, stacklevel=2)
    return found


class CompareSettings(NamedTuple):
    """Settings of `compare`; the seed of the effort is not used.

    `efforts` overrides the effort of candidates by name; `untried` names those that were left out.
    """

    candidates: Sequence[Candidate] | None
    effort: Effort = Effort(5, 16)
    max_samples: int = 2000
    class_prior: PriorLike = None
    unlabeled: object = "auto"
    random_state: RandomSource = 0
    regression: bool = False
    efforts: Mapping[str, Effort] = MappingProxyType({})
    untried: Sequence[str] = ()


class ComparisonBasis(NamedTuple):
    """Labels and rows that a comparison is based on."""

    classes: Array  # empty for a regression
    counts: Array  # labels of each class, or of a regression
    n_samples: int
    n_used: int
    sizes: Array | None = None  # known proportions of the classes
    untried: Sequence[str] = ()  # candidates left out to save time


_RULES = {
    "n_draws": COUNT,
    "max_left_out": count(0),
    "max_samples": count(2),
    "random_state": SEED,
}


def compared(
    X: PointsLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    settings: CompareSettings,
    progress: Stages,
) -> tuple[Comparison, Sharpness | None]:
    """Compare classifiers or regressions, and report each candidate as it is tried.

    Also returns the sharpness of the scores of the chosen classifier.
    """
    check(settings.effort._asdict() | settings._asdict(), _RULES)
    regression = settings.regression
    X = rows_or_array(X)
    check_one_entry_a_row(X, y, regression=regression)
    if regression:
        y, labeled = read_targets(y)  # once, with its warnings
        labels = ClassLabels(np.empty(0), np.where(labeled, 0, -1))
    else:
        labels = _read_classes(y, settings.unlabeled)
    if sample_weight is not None:
        sample_weight = read_row_weights(sample_weight, len(labels.codes))
    candidates = _candidates(X, labels, settings)
    rng = check_random_state(settings.random_state)
    seed = 0 if regression else int(rng.randint(2**31 - 1))
    data, n_used = _sampled(X, y, sample_weight, labels.labeled, settings.max_samples, rng)
    counts = np.bincount(labels.codes[labels.labeled])
    sizes = agreed_sizes(candidates, labels.codes, labels.classes)
    basis = ComparisonBasis(
        labels.classes, counts, len(labels.codes), n_used, sizes, settings.untried
    )
    table: Sequence[Evidence] | Sequence[RegressionEvidence]
    sharpness = None
    with _each_warning_once():
        if regression:
            known, failed = _try_all(
                candidates, lambda one, _: try_out_regression(one, *data), basis, progress
            )
            table = simplest_first(list(known.values()))
        else:
            efforts = _efforts(candidates, settings, seed, len(labels.classes))
            tried, failed = _try_classifiers(candidates, data, efforts, basis, progress)
            evidence = [replace(one.evidence, agreement=_agreement(one, tried)) for one in tried]
            table = in_order(evidence, len(labels.classes), sizes)
            sharpness = next(one.sharpness for one in tried if one.evidence.name == table[0].name)
    texts = verdict(table, basis), caveats(table, basis)
    n_labeled = int(counts.sum())
    comparison = Comparison(tuple(table), *texts, basis.n_samples, n_used, n_labeled, failed)
    return comparison, sharpness


def _read_classes(y: ArrayLike, marker: object) -> ClassLabels:
    """Read class labels, and refuse quantities, whose comparison would take long to no use."""
    column = read_column(y)
    if column.dtype.kind == "f" and np.isnan(column).any():  # -1 may be a number, not the marker
        numbers = column[np.isfinite(column)]
        refuse_many_numbers(np.unique(numbers), len(numbers))
    labels = code_classes(y, marker)
    refuse_many_numbers(labels.classes, int(labels.labeled.sum()))
    return labels


def _candidates(X: Any, labels: ClassLabels, settings: CompareSettings) -> Sequence[Candidate]:
    """Return the given candidates, or the defaults with the sizes of the classes."""
    given, prior, regression = settings.candidates, settings.class_prior, settings.regression
    if regression and prior is not None:
        raise ValueError(f"class_prior={prior!r} is for classes, and y contains numbers.")
    if given is None:
        n_classes = len(labels.classes) or None
        found = default_candidates(X, settings.unlabeled, n_classes, regression=regression)
        found = with_sizes(found, prior, labels)
        quick = labels.labeled.all() and not regression
        return quick_candidates(found) if quick else found
    if read_prior(prior, labels.codes, labels.classes) is not None:
        raise ValueError(
            "class_prior applies to the default candidates only, and candidates are given, which "
            "keep their own. Set class_prior (of S3VC: balance) of their estimators, and leave it "
            "out here."
        )
    _check_candidates(given, regression)
    return given


def _check_candidates(candidates: Any, regression: bool) -> None:
    wrong = [candidates]
    if isinstance(candidates, Sequence):
        wrong = [one for one in candidates if not isinstance(one, Candidate)]
    if wrong:
        raise TypeError(
            f"candidates must be a list of Candidate, and has {wrong[0]!r}. Give each a name and "
            'an assumption: [Candidate("mine", estimator, "classes are ...")].'
        )
    if not candidates:
        raise ValueError("candidates is empty. Give at least one Candidate, or None for the usual.")
    kind = SemiSupervisedRegressor if regression else SemiSupervisedClassifier
    names = [one.name for one in candidates]
    for one in candidates:
        if not isinstance(last_step(one.estimator), kind):
            what = "regression" if regression else "classifier"
            raise TypeError(
                f"The candidate {one.name!r} is not a {what} of lapwing. compare selects among "
                "these, and Pipelines that end in one."
            )
        if names.count(one.name) > 1:
            raise ValueError(
                f"Two candidates are called {one.name!r}. Give each a name of its own."
            )


def _efforts(
    candidates: Sequence[Candidate], settings: CompareSettings, seed: int, n_classes: int
) -> dict[str, Effort]:
    """Return the efforts of the candidates, with the same left-out labels for all."""
    efforts = {one.name: settings.efforts.get(one.name, settings.effort) for one in candidates}
    fewest = min(effort.max_left_out for effort in efforts.values())
    for one in candidates:
        effort = efforts[one.name]._replace(max_left_out=fewest, seed=seed)
        efforts[one.name] = effort.of_refits(n_classes) if fits_again(one) else effort
    return efforts


def _try_classifiers(
    candidates: Sequence[Candidate],
    data: tuple[Any, Any, Any],
    efforts: Mapping[str, Effort],
    basis: ComparisonBasis,
    progress: Stages,
) -> tuple[list[TrialResult], dict[str, str]]:
    """Try classifiers; those that need a whole fit for other labels only if they compete."""
    supervised = start_supervised(candidates, *data)

    def try_one(one: Candidate, tried: Sequence[TrialResult]) -> TrialResult:
        admitted = [t.evidence.error for t in tried if t.evidence.admitted]
        bar = min(admitted, default=math.inf) if fits_again(one) else math.inf
        return try_out(one, *data, efforts[one.name], bar, supervised, basis.sizes)

    # The costly ones come last: each fit takes as long as the trial of another candidate, and may
    # be saved if they cannot be chosen any more.
    known, failed = _try_all(sorted(candidates, key=fits_again), try_one, basis, progress)
    return [known[one.name] for one in candidates if one.name in known], failed


def _predicts_numbers(candidates: object, y: Array) -> bool:
    """Return whether the first candidate is a regression; without any, whether y has fractions."""
    if candidates is not None:
        given = candidates if isinstance(candidates, Sequence) else ()  # refused later
        first = next((one for one in given if isinstance(one, Candidate)), None)
        return first is not None and isinstance(last_step(first.estimator), SemiSupervisedRegressor)
    return has_fractions(y)


def _sampled(
    X: Any, y: Any, sample_weight: Any, labeled: Array, max_samples: int, rng: RandomState
) -> tuple[tuple[Any, Any, Any], int]:
    """Select the rows of the comparison, in their order, and return their number."""
    known = np.flatnonzero(labeled)
    n_others = max(max_samples - len(known), len(known))
    if len(labeled) - len(known) <= n_others:
        return (all_of(X) if is_rows(X) else X, y, sample_weight), len(labeled)
    order = _value_order(X)
    drawn = rng.choice(order[~labeled[order]], n_others, replace=False)
    rows = np.sort(np.concatenate([known, drawn]))
    X = X.tocsr() if is_sparse(X) else X  # other sparse formats cannot be indexed
    points = X.take(rows) if is_rows(X) else _safe_indexing(X, rows)
    weights = None if sample_weight is None else sample_weight[rows]
    return (points, _safe_indexing(y, rows), weights), len(rows)


def _value_order(X: PointsLike) -> Array:
    """Order rows by their values; texts and mixed columns, which pipelines take, by a checksum."""
    if is_rows(X) or is_sparse(X):
        return value_order(X if is_rows(X) else X.tocsr())
    values = np.asarray(X)
    if values.dtype.kind in "biuf":
        return value_order(np.where(np.isfinite(values), values, 0.0))
    return np.argsort([crc32(repr(row).encode()) for row in values.tolist()], kind="stable")


@contextmanager
def _each_warning_once() -> Iterator[None]:
    """Issue a warning of several candidates once."""
    with collect_warnings() as caught:
        yield
    for kind, text in dict.fromkeys((type(warning), str(warning)) for warning in caught):
        warn(text, kind)


def _try_all(
    candidates: Sequence[Candidate],
    try_one: Callable[[Candidate, Sequence[T]], T],
    basis: ComparisonBasis,
    progress: Stages,
) -> tuple[dict[str, T], dict[str, str]]:
    """Return the results of candidates, each given the earlier results, and errors by name."""
    tried: dict[str, T] = {}
    errors: dict[str, Exception] = {}
    for one in candidates:
        with progress.stage(one.name):
            try:
                _refuse_sample_of_matrix(one, basis)
                tried[one.name] = try_one(one, list(tried.values()))
            except Exception as error:
                errors[one.name] = error
                continue
        _LOG.info("%s tried", one.name)
    if not tried:
        messages = {name: message_of(error) for name, error in errors.items()}
        first = next(iter(errors.values()))
        if len(messages) > 1 and len(set(messages.values())) == 1:
            raise first  # an error that all of them share is about the data
        listing = " ".join(f"{name!r}: {message}" for name, message in messages.items())
        raise ValueError(f"No candidate can be fitted. {listing}") from first
    return tried, {name: message_of(error) for name, error in errors.items()}


def _refuse_sample_of_matrix(candidate: Candidate, basis: ComparisonBasis) -> None:
    """Raise ValueError for a kernel or affinity matrix of all rows, if some are left out."""
    last = last_step(candidate.estimator)
    if basis.n_used < basis.n_samples and (last._pairwise() or last._graph_is_of_rows()):
        raise ValueError(
            f"it takes a matrix of all {basis.n_samples} rows, and {basis.n_used} are compared. "
            f"Give max_samples={basis.n_samples}."
        )


def message_of(error: Exception) -> str:
    """Return the first line of an error, with its type unless it is a clear error of ours."""
    # scikit-learn's errors go on for lines with advice.
    line = str(error).strip().partition("\n")[0]
    clear = isinstance(error, (ValueError, MemoryError)) and line
    return line if clear else f"{type(error).__name__}: {line}"


def warn_of_failures(failed: Mapping[str, str], stacklevel: int) -> None:
    """Warn of candidates that failed and are left out of the comparison."""
    for name, error in failed.items():
        warnings.warn(
            f"The candidate {name!r} cannot be fitted, and is left out: {error}",
            FitFailedWarning,
            stacklevel=stacklevel + 1,
        )


def in_order(
    table: Sequence[Evidence], n_classes: int, sizes: Array | None = None
) -> list[Evidence]:
    """Sort rows by their estimated error; the first is chosen.

    Admitted candidates come first, and ties stay in the order of the candidates. If enough left-out
    labels show that the best one is close to guessing, the supervised candidate comes first, as
    there is no evidence that unlabelled rows help.
    """
    rows = sorted(table, key=lambda row: (not row.admitted, round(row.error, TIE_DIGITS)))
    near_guessing = rows[0].error >= _NOTHING_FOUND * guessing_error(n_classes, sizes)
    if near_guessing and rows[0].n_left_out >= _LEAST_FOR_NOTHING_FOUND:
        alone = [row for row in rows if row.assumption == LABELS_ALONE and row.admitted]
        rows = [*alone[:1], *(row for row in rows if row not in alone[:1])]
    return rows


def _agreement(one: TrialResult, tried: Sequence[TrialResult]) -> dict[str, float]:
    """Return the fraction of equal predictions with each other candidate."""
    found = {}
    for other in tried:
        if other is not one:
            both = (one.codes >= 0) & (other.codes >= 0)
            found[other.evidence.name] = float((one.codes[both] == other.codes[both]).mean())
    return found


def clearly_better(row: RegressionEvidence, other: RegressionEvidence) -> bool:
    """Return whether a row's errors are smaller by a standard error of the difference.

    The differences are those on the same targets, which may be hard for both.
    """
    _, mine, its = np.intersect1d(row.rows, other.rows, return_indices=True)
    worse = other.residuals[its] ** 2 - row.residuals[mine] ** 2
    weights = row.weights[mine] / row.weights[mine].sum()
    return bool(weights @ worse > standard_error(worse, weights))


def simplest_first(table: Sequence[RegressionEvidence]) -> list[RegressionEvidence]:
    """Sort rows by their error, with the selected one first.

    This is the best supervised candidate, unless the best of all is better by 2 % or more.
    """
    rows = sorted(table, key=attrgetter("error"))
    alone = next((row for row in rows if row.assumption == LABELS_ALONE), rows[0])
    if alone is not rows[0] and rows[0].error >= (1 - _REGRESSION_GAIN) * alone.error:
        rows = [alone, *(row for row in rows if row is not alone)]
    return rows


# Fractions of the error of guessing from which the verdict is that a method is hardly better than
# guessing, and from which the supervised candidate is used if enough labels were left out. With 0.7
# for both the regret changes by -0.2 to +0.4 points; with 0.9, or without the rule, g241d is six to
# seven points worse than the labels alone.
_NEAR_GUESSING = 0.7
_NOTHING_FOUND = 0.8
# Six left-out labels, of two classes with three each, are so wrong by chance too often: with 5 here
# the choice on twelve such sets is 0.7 points worse (standard error 0.4).
_LEAST_FOR_NOTHING_FOUND = 10
# Explained variance below which predictions are hardly better than the mean of the targets.
_EXPLAINED = 0.1
_GAIN = 0.03  # smaller gains over the labels alone are within the error of the estimates
# Relative gain from which a regression with a graph is preferred. On five sets of 400 rows with 20,
# 40 and 80 targets and four draws, the mean error relative to that of the best supervised method in
# hindsight is 1.01; with the one-standard-error rule (Breiman, Friedman, Olshen and Stone 1984,
# section 3.4.3) it is 1.04, as with 20 targets errors half as large are within one standard error.
_REGRESSION_GAIN = 0.02
_SURE = 0.9  # probability from which a gain counts as more than chance
FEW_LEFT_OUT = 5  # with fewer left-out labels most of the estimate is the reproducibility
TIE_DIGITS = 9  # estimates are equal up to rounding
# Predictions that change on a smaller fraction of the rows, but misclassify a larger fraction of
# the left-out labels, may follow other groups than the classes. Nine of 256 fits to 200 rows of
# eight sets do so, with a mean true error of 42 %; the other fits that change as little have 20 %.
# The eight fits that are contradicted on a tenth of the rows or more have 46 %, those that are not
# contradicted 30 % (docs/notes/choosing.md).
_STABLE, _WRONG = 0.1, 0.3

_FINDINGS = {
    CLUSTERS: "the classes look like clusters with gaps between them",
    SHEETS: "neighbours have the same class",
}


def verdict(table: Sequence[Evidence | RegressionEvidence], basis: ComparisonBasis) -> str:
    """Say whether the unlabelled rows help, and which estimator to use.

    Parameters
    ----------
    table : sequence of Evidence or RegressionEvidence
        In order, see `in_order` and `simplest_first`.
    basis : ComparisonBasis
    """
    chosen, use = table[0], f"Use {table[0].name}."
    alone = [row for row in table if row.assumption == LABELS_ALONE and row.admitted]
    if not chosen.admitted:
        return (
            "No candidate keeps all classes and the given labels. Label more rows, or use other "
            f"features. The least bad is {chosen.name}, which {chosen.objection}."
        )
    if basis.counts.sum() == basis.n_samples:
        what = "target" if chosen.regression else "label"
        return f"Every row has a {what}, so there are no other rows to learn from. {use}"
    if nothing := _nothing_found(chosen, basis):
        return nothing
    if chosen in alone and basis.untried:
        return (
            "No method compared does better than the labels alone; not compared: "
            f"{listed(basis.untried, 5)}. {use}"
        )
    if chosen in alone:
        return (
            "The unlabelled rows do not help: no method that uses them does better than the labels "
            f"alone. {use}"
        )
    finding = _FINDINGS.get(chosen.assumption, chosen.assumption)
    if not alone:
        return f"Of these candidates {chosen.name} is the best: {finding}. {use}"
    return _gain(chosen, min(alone, key=attrgetter("error")), finding)


def _nothing_found(chosen: Evidence | RegressionEvidence, basis: ComparisonBasis) -> str:
    """Return the verdict on a best candidate that is hardly better than guessing; empty if not."""
    if isinstance(chosen, RegressionEvidence):
        if chosen.explained > _EXPLAINED:
            return ""
        return (
            "Nothing here follows the targets: give more targets, or use other features. The best "
            f"is {chosen.name}, and it is hardly better than the mean of the targets."
        )
    if chosen.error < _NEAR_GUESSING * guessing_error(len(basis.classes), basis.sizes):
        return ""
    if chosen.n_left_out < FEW_LEFT_OUT:
        return (
            "These labels are too few to say whether anything here follows the classes. Label "
            f"more rows. Until then, use {chosen.name}."
        )
    return (
        "Nothing here follows the classes: label more rows, or use other features. The best is "
        f"{chosen.name}, and it is hardly better than guessing."
    )


def _gain(chosen: Any, rival: Any, finding: str) -> str:
    """Return the verdict on a candidate that is better than the best on the labels alone."""
    use = f"Use {chosen.name}."
    if chosen.regression:
        missed = (
            f"Targets left out are missed by {chosen.error:.3g}, and by {rival.error:.3g} from the "
            "labels alone (root mean square)"
        )
        if clearly_better(chosen, rival):
            return f"The unlabelled rows help: {finding}. {use} {missed}."
        return (
            f"The unlabelled rows seem to help: {finding}. {use} {missed}. The difference is "
            "within chance. More targets would tell."
        )
    if rival.error - chosen.error < _GAIN:
        return (
            f"The unlabelled rows make little difference: the labels alone do nearly as well. {use}"
        )
    if chosen.n_left_out < FEW_LEFT_OUT:
        return f"The unlabelled rows seem to help: {finding}. {use}"
    if _probability_better(chosen, rival) >= _SURE:
        return f"The unlabelled rows help: {finding}. {use}"
    missed, by_labels = _missed(chosen), _missed(rival)
    beside = "as" if missed == by_labels else by_labels
    return (
        f"The unlabelled rows seem to help: {finding}. {use} The difference is within chance: "
        f"{missed} labels are missed when they are left out, {beside} by the labels alone. More "
        "labels would tell."
    )


def caveats(
    table: Sequence[Evidence] | Sequence[RegressionEvidence], basis: ComparisonBasis
) -> tuple[str, ...]:
    """Return caveats of the estimates, a sentence or two each.

    Parameters
    ----------
    table : sequence of Evidence or RegressionEvidence
        In order, see `in_order` and `simplest_first`.
    basis : ComparisonBasis
    """
    if table[0].regression:
        found = [
            f"The estimate comes from {table[0].n_left_out} targets, each left out in turn. It is "
            "of rows like those with a target."
        ]
    else:
        found = list(_classifier_caveats(table, basis))
    if basis.n_used < basis.n_samples:
        found.append(
            f"The evidence is of {basis.n_used} of the {basis.n_samples} rows, with all "
            "labelled ones among them. On all rows methods that join neighbours do better."
        )
    return tuple(found)


def _classifier_caveats(table: Sequence[Any], basis: ComparisonBasis) -> Iterator[str]:
    chosen = table[0]
    if chosen.n_left_out == 0:
        yield (
            "Each class has one label, and none can be left out: the estimate comes from how much "
            "the answer changes with the labels alone. An answer can be stable and wrong, and "
            "nothing here would show it. Check some rows by hand, or label a second row of each "
            "class."
        )
    elif not math.isnan(chosen.reproducibility):
        yield (
            f"The estimate comes from {chosen.n_left_out} labels that were left out, one of each "
            "class at a time, and from how much the answer changes with the labels."
        )
    tied = [
        row.name
        for row in table[1:]
        if row.admitted and round(row.error - chosen.error, TIE_DIGITS) == 0
    ]
    if tied:
        yield (
            f"{listed(tied, 5)} {'has' if len(tied) == 1 else 'have'} the same estimate as "
            f"{chosen.name}, which comes first among the candidates."
        )
    lonely = basis.classes[basis.counts == 1].tolist()
    if lonely and chosen.n_left_out:
        yield (
            f"Classes with one label only: {quoted(lonely, 5)}. Nothing could be left out there, "
            "so errors on them are not seen. Label a second row of each."
        )
    if chosen.n_left_out and chosen.reproducibility < _STABLE and chosen.left_out_error > _WRONG:
        yield (
            "The answer hardly changes with the labels and misses many of them when they are left "
            "out: it may follow groups that are not your classes."
        )
    if chosen.contradiction >= _STABLE:
        yield (
            f"The labels alone contradict the answer on {100 * chosen.contradiction:.0f} % more of "
            "the rows than they would if it were right."
        )
    if (refused := _best_refused(table)) is not None:
        yield (
            f"{refused.name} would be at {100 * refused.error:.0f} %, and is not chosen as it "
            f"{refused.objection}. If that may be right, use it, or give the classes' sizes."
        )


def _best_refused(table: Sequence[Evidence]) -> Evidence | None:
    """Return the best refused candidate if it is better than the chosen one beyond chance."""
    refused = [row for row in table if not row.admitted]
    if not refused or table[0].n_left_out < FEW_LEFT_OUT:
        return None
    best = min(refused, key=attrgetter("error"))
    return best if _probability_better(best, table[0]) >= _SURE else None


def _probability_better(row: Evidence, other: Evidence) -> float:
    """Return the probability that `row` has the smaller error, from the widths of intervals."""
    width = math.hypot(*(high - low for low, high in (row.error_interval, other.error_interval)))
    tail = (1 - PROBABILITY) / 2
    return float(ndtr((other.error - row.error) / width * 2 * ndtri(1 - tail)))


def _missed(row: Evidence) -> str:
    return f"{round(row.left_out_error * row.n_left_out)} of {row.n_left_out}"
