"""Candidates of a comparison, and their class proportions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import _num_samples, check_is_fitted

from lapwing._arrays import Array, is_sparse
from lapwing._parameters import COUNT, FLAG, check, optional
from lapwing._rows.base import PointsLike
from lapwing._rows.registry import rows_or_array
from lapwing.classes.labels import ClassLabels
from lapwing.classes.volumes import PriorLike, read_prior
from lapwing.estimators import (
    S3VC,
    BalancedGraphClassifier,
    LapERLSClassifier,
    LapERLSRegressor,
    LapRLSRegressorCV,
    LapSVC,
)
from lapwing.graphs.registry import default_metric
from lapwing.model_selection.relevance_scaler import RelevanceScaler
from lapwing.spaces.recipes import Landmarks

LABELS_ALONE = "labels alone"
CLUSTERS = "classes are clusters"
SHEETS = "classes are connected sheets"
SMOOTH = "values are smooth along the rows"

# Rows beyond which LapSVC has no direct solver, and each of its matrices takes a gigabyte.
_LARGE = 12_000


@dataclass(frozen=True, eq=False)
class Candidate:
    """An estimator that `compare` may choose.

    Parameters
    ----------
    name : str
        Name in the table.
    estimator : estimator of lapwing, or Pipeline that ends in one
        A classifier, or a regression. It stays unfitted.
    assumption : str
        Its assumption about classes or values, in words, such as 'classes are clusters'. 'labels
        alone' means that it does not use rows without a label; the answers of all candidates are
        checked against the first such candidate (`contradiction`).

    Examples
    --------
    >>> from lapwing import KNNGraph, LapSVC
    >>> from lapwing.model_selection import Candidate
    >>> mine = Candidate("cosine", LapSVC(graph=KNNGraph(metric="cosine")), "classes are topics")
    >>> mine.name
    'cosine'
    """

    name: str
    estimator: Any
    assumption: str


def _kernels(X: Any) -> tuple[str, str]:
    """Return the kernels of the methods without a graph, and of those with one.

    On points that are mostly 0, such as words, both are linear: on 1440 texts in 12 classes with 3
    labels each LapSVC is wrong on 15.2 % with a linear function, and on 15.9 % with 'rbf', which
    has no weights of words and a matrix of all pairs of rows. On 150 components it has 33 %.
    Dense points with more features than rows stay with 'rbf': on 300 digits of 784 pixels in four
    classes, ten labels each, `S3VC` is wrong on 15 % and takes a seventh of the time of 'linear',
    which has 26 %; the SVM has 20 and 24 %.
    """
    mostly_zero = default_metric(X) == "cosine"
    return "linear" if is_sparse(X) else "rbf", "linear" if mostly_zero else "rbf"


# Rejected: LapRLS with other graphs (k = 10; k = 3 and p = 1), which change the mean error by half
# a point up or down; and BalancedGraphClassifier for two classes. On digit1 its error is 2 to 3
# points smaller with equal numbers of labels, and 13 larger with six labels drawn at random, as
# five labels of one class and one of the other are poor evidence of the volumes. It was hardly ever
# chosen on g50c, pcmac and usps, and doubles the time.
def _default_classifiers(X: Any, large: bool, n_classes: int | None) -> Iterator[tuple[str, Any]]:
    """Yield assumptions and classifiers to compare; a new family is a line here.

    Parameters
    ----------
    X : PointData
    large : bool
        Whether a matrix of all pairs of rows is too large.
    n_classes : int or None
        None for any number.
    """
    kernel, graph_kernel = _kernels(X)
    in_landmarks = large and kernel != "linear"
    if in_landmarks:
        yield LABELS_ALONE, S3VC(kernel, space=Landmarks(), C_star=0.0, balance=None)
    else:
        yield LABELS_ALONE, LapSVC(kernel, gamma_I=0)
    if not large or graph_kernel == "linear":
        yield SHEETS, LapSVC(graph_kernel)
    yield SHEETS, LapERLSClassifier()
    if n_classes is None or n_classes > 2:
        yield SHEETS, BalancedGraphClassifier()
    yield CLUSTERS, S3VC(kernel, space=Landmarks() if in_landmarks else None)


# On the labels alone, one eigendecomposition of their number serves the whole grid.
_RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
_KERNEL_RIDGES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1)


def _default_regressors(X: Any, large: bool) -> Iterator[tuple[str, Any, str]]:
    """Yield assumptions, regressors and names to compare, the simplest first."""
    alone: dict[str, Any] = {"gamma_As": _KERNEL_RIDGES, "gamma_Is": (0.0,)}
    ridge = LapRLSRegressorCV("linear", gamma_As=_RIDGES, gamma_Is=(0.0,))
    yield LABELS_ALONE, ridge, "linear ridge regression"
    if not large:
        # As in texts, linear functions fit any targets of as many rows as columns.
        shape = np.shape(X)
        wide = is_sparse(X) or (len(shape) == 2 and shape[1] > shape[0])
        several = not wide and shape[1:] != (1,)
        # The width of the Gaussian process by which the scales are computed.
        in_scaled = partial(LapRLSRegressorCV, gammas=(0.5,))
        if not wide:
            yield LABELS_ALONE, LapRLSRegressorCV(**alone), "kernel ridge regression"
        if several:
            scaled = make_pipeline(RelevanceScaler(), in_scaled(**alone))
            yield LABELS_ALONE, scaled, "kernel ridge regression, scaled columns"
        _, graph_kernel = _kernels(X)
        smooth = LapRLSRegressorCV(graph_kernel)
        yield SMOOTH, smooth, _text_of(smooth)
        if several:
            scaled = make_pipeline(RelevanceScaler(), in_scaled())
            yield SMOOTH, scaled, "LapRLSRegressorCV(), scaled columns"
    yield SMOOTH, LapERLSRegressor(), "LapERLSRegressor()"


def _text_of(estimator: BaseEstimator) -> str:
    return " ".join(repr(estimator).split())


def default_candidates(
    X: PointsLike,
    unlabeled: object = "auto",
    n_classes: int | None = None,
    *,
    regression: bool = False,
) -> tuple[Candidate, ...]:
    """Return the default candidates of `compare` for some points.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Points. For sparse points the methods without a graph are linear; for points that are mostly
        0, `LapSVC` is too. Beyond 12,000 rows, methods that need a matrix of all pairs of rows are
        left out.
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        Marker of unlabelled points in y, as for the estimators.
    n_classes : int, default=None
        Number of classes: `BalancedGraphClassifier` is for three or more. None returns the
        candidates for any number.
    regression : bool, default=False
        Return candidates for regression: ridge and kernel ridge regression on the labels alone,
        `LapRLSRegressorCV` and `LapERLSRegressor`; and with at least two columns and at most as
        many as rows, kernel ridge regression and `LapRLSRegressorCV` after `RelevanceScaler`.

    Returns
    -------
    tuple of Candidate
        The supervised SVM first, or the linear ridge regression.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.model_selection import default_candidates
    >>> default_candidates(np.zeros((100, 2)))[-1].name
    'S3VC()'
    """
    check(
        {"n_classes": n_classes, "regression": regression},
        {"n_classes": optional(COUNT), "regression": FLAG},
    )
    X = rows_or_array(X)
    large = _num_samples(X) > _LARGE
    if regression:
        made = _default_regressors(X, large)
        return tuple(Candidate(name, one, assumption) for assumption, one, name in made)
    return tuple(
        Candidate(_text_of(one), one.set_params(unlabeled=unlabeled), assumption)
        for assumption, one in _default_classifiers(X, large, n_classes)
    )


def with_sizes(
    candidates: Sequence[Candidate], class_prior: PriorLike, labels: ClassLabels
) -> tuple[Candidate, ...]:
    """Set the sizes of the classes of each candidate that has a parameter for them.

    Parameters
    ----------
    candidates : sequence of Candidate
        Default candidates, named by the text of their estimators.
    class_prior : {'labels', 'uniform', 'unknown'}, array-like, mapping, Series or None
        As for the estimators. An unknown prior changes nothing.
    labels : ClassLabels

    Raises
    ------
    ValueError
        If it is not a prior of these classes.
    """
    prior = read_prior(class_prior, labels.codes, labels.classes)
    if prior is None:
        return tuple(candidates)
    balance: Any = dict(zip(labels.classes.tolist(), prior.tolist(), strict=True))
    if isinstance(class_prior, str) and class_prior == "labels":
        balance = class_prior  # 'labels' is replaced if the points contradict it
    return tuple(_with_prior(one, class_prior, balance) for one in candidates)


def _with_prior(candidate: Candidate, class_prior: object, balance: object) -> Candidate:
    parameters = candidate.estimator.get_params(deep=False)
    if "class_prior" in parameters:
        name, value = "class_prior", class_prior
    elif parameters.get("balance") is not None:
        name, value = "balance", balance
    else:  # S3VC as a supervised SVM for many rows, which has no balance
        return candidate
    shown = repr(value) if isinstance(value, str) else "..."  # ten proportions fill two lines
    before = candidate.name.removesuffix(")")
    comma = "" if before.endswith("(") else ", "
    estimator = clone(candidate.estimator).set_params(**{name: value})
    return replace(candidate, name=f"{before}{comma}{name}={shown})", estimator=estimator)


def fits_again(candidate: Candidate) -> bool:
    """Return whether the candidate needs a whole fit for other labels."""
    return bool(last_step(candidate.estimator)._fits_again)


def last_step(estimator: BaseEstimator) -> Any:
    """Return the estimator at the end of a pipeline, or the estimator itself."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def transform_before_last(estimator: BaseEstimator, X: PointsLike) -> Any:
    """Transform points by the fitted steps of a pipeline before its last one."""
    several = isinstance(estimator, Pipeline) and len(estimator) > 1
    return estimator[:-1].transform(X) if several else X


def replace_last(estimator: BaseEstimator, last: BaseEstimator) -> Any:
    """Replace the estimator at the end of a pipeline, or the estimator itself."""
    if not isinstance(estimator, Pipeline):
        return last
    return Pipeline([*estimator.steps[:-1], (estimator.steps[-1][0], last)])


class Chooser:
    """Base of estimators that choose another estimator by the labels and fit it.

    Attributes
    ----------
    best_estimator_ : estimator
        The chosen one, fitted.
    """

    best_estimator_: Any


def chosen_estimator(estimator: BaseEstimator) -> Any:
    """Return the fitted estimator that a `Chooser` has chosen; None for other estimators.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If it has not chosen yet.
    """
    if not isinstance(estimator, Chooser):
        return None
    check_is_fitted(estimator)
    return estimator.best_estimator_


def quick_candidates(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return the candidates that leave labels out at little cost.

    They are also those to use if every row has a label: the others look for clusters and cuts
    among unlabelled rows.
    """
    return tuple(one for one in candidates if not fits_again(one))


def given_sizes(
    estimator: BaseEstimator, codes: Array, classes: Array, *, counted: bool = False
) -> Array | None:
    """Return the class proportions of an estimator's parameters; those of labels if `counted`."""
    balance = getattr(estimator, "balance", None)  # of S3VC; two numbers are an interval
    given = balance if hasattr(balance, "items") else getattr(estimator, "class_prior", None)
    by_labels = isinstance(given, str) and given == "labels"
    return None if by_labels and not counted else read_prior(given, codes, classes)


def agreed_sizes(candidates: Sequence[Candidate], codes: Array, classes: Array) -> Array | None:
    """Return the class sizes by which all candidates are judged.

    They are those that candidates have in common; candidates without a parameter for them, such as
    the supervised SVM for many rows, do not count. None if no candidate has any, or if two differ.
    """
    found = []
    for one in candidates:
        try:
            found.append(given_sizes(last_step(one.estimator), codes, classes))
        except ValueError:  # reported when the candidate itself is tried
            continue
    known = [sizes for sizes in found if sizes is not None]
    if not known or not all(np.allclose(sizes, known[0]) for sizes in known):
        return None
    return known[0]


def guessing_error(n_classes: int, sizes: Array | None = None) -> float:
    """Return the error of guessing by the sizes of the classes, by default equal ones."""
    return 1 - 1 / n_classes if sizes is None else float(1 - (sizes**2).sum())


def rows_per_label(n_classes: int, sizes: Array | None = None) -> Array:
    """Return the number of random rows that a label of each class is worth.

    Guessing is wrong for a label this many times as often as for a random row. The sum is the
    number of labels if these are proportional to the class sizes, or if the classes are equal.
    """
    if sizes is None:
        return np.ones(n_classes)
    return np.asarray((1 - sizes) / guessing_error(n_classes, sizes))
