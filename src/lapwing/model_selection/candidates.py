"""Candidates of a comparison, and the class sizes that they know."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import _num_samples, check_is_fitted

from lapwing._arrays import Array, is_sparse
from lapwing._rows import rows_else
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
from lapwing.spaces import Landmarks

LABELS_ALONE = "labels alone"
CLUSTERS = "classes are clusters"
SHEETS = "classes are connected sheets"
SMOOTH = "values are smooth along the rows"

# Beyond so many rows LapSVC has no direct solver, and each of its matrices takes a gigabyte.
_LARGE = 12_000


@dataclass(frozen=True, eq=False)
class Candidate:
    """An estimator that `compare` may choose.

    Parameters
    ----------
    name : str
        What the table calls it.
    estimator : estimator of lapwing, or Pipeline that ends in one
        A classifier, or a regression. It stays unfitted.
    assumption : str
        What it takes classes or values to be, in words, such as 'classes are clusters'. 'labels
        alone' says that rows without a label do not count: the first such candidate is also asked
        what it says against the answers of all (`contradiction`).

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


class Kernels(NamedTuple):
    """Kernels of the methods without a graph, and of those with one.

    On points that are mostly 0, such as words, both are linear: on 1440 texts in 12 classes with 3
    labels each LapSVC is wrong on 15.2 % with a linear function, and on 15.9 % with 'rbf', which
    has no weights of words and a matrix of all pairs of rows. On 150 components it has 33 %.
    Dense points with more features than rows stay with 'rbf': on 300 digits of 784 pixels in four
    classes, ten labels each, `S3VC` is wrong on 15 % and takes a seventh of the time of 'linear',
    which has 26 %; the SVM has 20 and 24 %.
    """

    without_graph: str
    with_graph: str
    wide: bool  # linear functions can tell any targets of the rows apart, as in texts
    single: bool  # one column

    @classmethod
    def of(cls, X: Any) -> Kernels:
        """Kernels that suit points."""
        mostly_zero, shape = default_metric(X) == "cosine", np.shape(X)
        return cls(
            "linear" if is_sparse(X) else "rbf",
            "linear" if mostly_zero else "rbf",
            is_sparse(X) or (len(shape) == 2 and shape[1] > shape[0]),
            len(shape) == 2 and shape[1] == 1,
        )


@dataclass(frozen=True)
class Recipe:
    """A candidate of the defaults.

    Attributes
    ----------
    assumption : str
    make : callable (Kernels) -> estimator
        With the kernels that suit the points, where the matrix of all of them can be held.
    make_large : callable (Kernels) -> estimator or None, or None
        The same for more points; None: there is none.
    least_classes : int
        It is tried for so many classes and more.
    name : str
        What the table calls it; empty: as one writes it.
    """

    assumption: str
    make: Callable[[Kernels], Any]
    make_large: Callable[[Kernels], Any] | None = None
    least_classes: int = 2
    name: str = ""


def _large_svm(kernels: Kernels) -> Any:
    if kernels.without_graph == "linear":
        return LapSVC("linear", gamma_I=0)
    return S3VC("rbf", space=Landmarks(), C_star=0.0, balance=None)


def _large_s3vc(kernels: Kernels) -> Any:
    kernel = kernels.without_graph
    return S3VC(kernel, space=None if kernel == "linear" else Landmarks())


def _large_lapsvc(kernels: Kernels) -> Any:
    return LapSVC("linear") if kernels.with_graph == "linear" else None


def _laperls(_: Kernels) -> Any:
    return LapERLSClassifier()


def _balanced(_: Kernels) -> Any:
    return BalancedGraphClassifier()


# All that is tried by default: a new family is a line here. Measured and left out: LapRLS with
# other graphs (k = 10; k = 3 and p = 1), which move the mean error by half a point up or down; and
# BalancedGraphClassifier for two classes. It gained 2 to 3 points on digit1 where labels are in
# equal numbers, lost 13 there where they are drawn at random (three a class: five labels to one say
# too much of the volumes), was hardly ever chosen on g50c, pcmac and usps, and doubled the time.
RECIPES: tuple[Recipe, ...] = (
    Recipe(LABELS_ALONE, lambda kernels: LapSVC(kernels.without_graph, gamma_I=0), _large_svm),
    Recipe(SHEETS, lambda kernels: LapSVC(kernels.with_graph), _large_lapsvc),
    Recipe(SHEETS, _laperls, _laperls),
    Recipe(SHEETS, _balanced, _balanced, least_classes=3),
    Recipe(CLUSTERS, lambda kernels: S3VC(kernels.without_graph), _large_s3vc),
)


def _linear_ridge(_: Kernels) -> Any:
    return LapRLSRegressorCV("linear", gamma_As=_RIDGES, gamma_Is=(0.0,))


def _kernel_ridge(kernels: Kernels) -> Any:
    if kernels.wide:
        return None
    return LapRLSRegressorCV(gamma_As=_KERNEL_RIDGES, gamma_Is=(0.0,))


def _scaled_kernel_ridge(kernels: Kernels) -> Any:
    return _on_scaled_columns(kernels, gamma_As=_KERNEL_RIDGES, gamma_Is=(0.0,))


def _scaled_laprls_regressor(kernels: Kernels) -> Any:
    return _on_scaled_columns(kernels)


def _on_scaled_columns(kernels: Kernels, **parameters: Any) -> Any:
    if kernels.wide or kernels.single:
        return None
    # The width is that of the process whose scales they are.
    return make_pipeline(RelevanceScaler(), LapRLSRegressorCV(gammas=(0.5,), **parameters))


def _laprls_regressor(kernels: Kernels) -> Any:
    return LapRLSRegressorCV(kernels.with_graph)


def _laperls_regressor(_: Kernels) -> Any:
    return LapERLSRegressor()


# Of the labels alone: each takes an eigendecomposition of the size of the labels, no more.
_RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
_KERNEL_RIDGES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1)

# The same for numbers, the simplest first.
REGRESSION_RECIPES: tuple[Recipe, ...] = (
    Recipe(LABELS_ALONE, _linear_ridge, _linear_ridge, name="linear ridge regression"),
    Recipe(LABELS_ALONE, _kernel_ridge, name="kernel ridge regression"),
    Recipe(LABELS_ALONE, _scaled_kernel_ridge, name="kernel ridge regression, scaled columns"),
    Recipe(SMOOTH, _laprls_regressor),
    Recipe(SMOOTH, _scaled_laprls_regressor, name="LapRLSRegressorCV(), scaled columns"),
    Recipe(SMOOTH, _laperls_regressor, _laperls_regressor),
)


def default_candidates(
    X: Any,
    unlabeled: Any = "auto",
    n_classes: int | None = None,
    *,
    regression: bool = False,
) -> tuple[Candidate, ...]:
    """The candidates of `compare` for some points.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Points. Where they are sparse the methods without a graph are linear; where they are mostly
        0 `LapSVC` is too. Beyond 12,000 rows only methods are there that do with less than a matrix
        of all pairs of rows.
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        What marks unlabelled points in y, as the estimators take it.
    n_classes : int, default=None
        How many classes there are: `BalancedGraphClassifier` is there for three and more. None
        gives the candidates for any number.
    regression : bool, default=False
        Whether numbers are to be predicted: then they are ridge and kernel ridge regression on the
        labels alone, `LapRLSRegressorCV` and `LapERLSRegressor`, and of two to as many columns as
        rows, kernel ridge regression and `LapRLSRegressorCV` behind `RelevanceScaler`.

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
    X = rows_else(X)
    kernels = Kernels.of(X)
    large = _num_samples(X) > _LARGE
    found = []
    for recipe in REGRESSION_RECIPES if regression else RECIPES:
        if n_classes is not None and n_classes < recipe.least_classes:
            continue
        make = recipe.make_large if large else recipe.make
        estimator = None if make is None else make(kernels)
        if estimator is not None:
            name = recipe.name or " ".join(repr(estimator).split())
            marker = {} if regression else {"unlabeled": unlabeled}
            found.append(Candidate(name, estimator.set_params(**marker), recipe.assumption))
    return tuple(found)


def with_sizes(
    candidates: Sequence[Candidate], class_prior: PriorLike, labels: ClassLabels
) -> tuple[Candidate, ...]:
    """The same candidates, each told the sizes of the classes if it can hold any.

    Parameters
    ----------
    candidates : sequence of Candidate
        Of the defaults, whose names are how one writes them.
    class_prior : {'labels', 'uniform', 'unknown'}, array-like, mapping, Series or None
        As the estimators take it. What is not known changes nothing.
    labels : ClassLabels

    Raises
    ------
    ValueError
        For what is no prior of these classes.
    """
    prior = read_prior(class_prior, labels.codes, labels.classes)
    if prior is None:
        return tuple(candidates)
    balance: Any = dict(zip(labels.classes.tolist(), prior.tolist(), strict=True))
    if isinstance(class_prior, str) and class_prior == "labels":
        balance = class_prior  # which gives way where the points contradict it
    return tuple(_told(one, class_prior, balance) for one in candidates)


def _told(candidate: Candidate, class_prior: object, balance: Any) -> Candidate:
    parameters = candidate.estimator.get_params(deep=False)
    if "class_prior" in parameters:
        name, value = "class_prior", class_prior
    elif parameters.get("balance") is not None:
        name, value = "balance", balance
    else:  # S3VC as a supervised SVM of many rows, which is meant to have no balance
        return candidate
    # The parts of ten classes would fill two lines.
    shown = repr(value) if isinstance(value, str) else "..."
    before = candidate.name.removesuffix(")")
    comma = "" if before.endswith("(") else ", "
    estimator = clone(candidate.estimator).set_params(**{name: value})
    return replace(candidate, name=f"{before}{comma}{name}={shown})", estimator=estimator)


def fits_again(candidate: Candidate) -> bool:
    """Whether other labels cost the candidate a whole fit."""
    return bool(last_step(candidate.estimator)._fits_again)


def last_step(estimator: BaseEstimator) -> Any:
    """The estimator at the end of a pipeline, or itself."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


class Chooser:
    """An estimator that fits another one, which it chooses by the labels.

    Attributes
    ----------
    best_estimator_ : estimator
        The chosen one, fitted.
    """

    best_estimator_: Any


def chosen_by(estimator: BaseEstimator) -> Any:
    """The fitted estimator, or pipeline, that an estimator has chosen; None if it chooses none.

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

    They are also those that make sense where every row has a label: the others look for clusters
    and cuts among rows without one.
    """
    return tuple(one for one in candidates if not fits_again(one))


def given_sizes(estimator: BaseEstimator, codes: Array, classes: Array) -> Array | None:
    """Parts of the classes that an estimator was told by its user, be it to count the labels."""
    prior = read_prior(getattr(estimator, "class_prior", None), codes, classes)
    if prior is not None:
        return prior
    balance = getattr(estimator, "balance", None)  # of S3VC; two numbers are an interval
    return read_prior(balance, codes, classes) if hasattr(balance, "items") else None


def known_sizes(estimator: BaseEstimator, codes: Array, classes: Array) -> Array | None:
    """The same where they are more than the labels say by themselves."""
    by_labels = isinstance(prior := getattr(estimator, "class_prior", None), str)
    if by_labels and prior == "labels":
        return None
    return given_sizes(estimator, codes, classes)


def agreed_sizes(candidates: Sequence[Candidate], codes: Array, classes: Array) -> Array | None:
    """Return the class sizes that the candidates know, so that all are judged by the same rows.

    One that can hold no sizes, such as the supervised SVM of many rows, is judged by those that
    the others know. None where no candidate was told any, or two were told different ones.
    """
    found = []
    for one in candidates:
        try:
            found.append(known_sizes(last_step(one.estimator), codes, classes))
        except ValueError:  # it is told where the candidate itself is tried
            continue
    known = [sizes for sizes in found if sizes is not None]
    if not known or not all(np.allclose(sizes, known[0]) for sizes in known):
        return None
    return known[0]


def guessing(n_classes: int, sizes: Array | None = None) -> float:
    """Share of wrong answers of one that knows nothing but the sizes; equal ones by default."""
    return 1 - 1 / n_classes if sizes is None else float(1 - (sizes**2).sum())


def label_rows(n_classes: int, sizes: Array | None = None) -> Array:
    """How many rows drawn at random a label of each class stands for.

    It is missed so many times as often as a row is. Labels whose numbers are in proportion to the
    sizes stand for as many rows as they are, and so do those of equal classes.
    """
    if sizes is None:
        return np.ones(n_classes)
    return np.asarray((1 - sizes) / guessing(n_classes, sizes))


def message_of(error: Exception) -> str:
    """Return the first line of an error, with its type where that alone may say little."""
    # scikit-learn's errors go on for lines with advice.
    said = str(error).strip().partition("\n")[0]
    meant = isinstance(error, (ValueError, MemoryError)) and said
    return said if meant else f"{type(error).__name__}: {said}"


def refuse_if_all_failed(errors: Mapping[str, Exception], n_candidates: int) -> None:
    """Raise where no candidate is left.

    What all of them say alike is about the data, and is told as a fit would tell it.
    """
    if len(errors) < n_candidates:
        return
    first = next(iter(errors.values()))
    if n_candidates > 1 and len({message_of(error) for error in errors.values()}) == 1:
        raise first
    said = " ".join(f"{name!r}: {message_of(error)}" for name, error in errors.items())
    raise ValueError(f"No candidate can be fitted. {said}") from first


def warn_of_failures(failed: Mapping[str, str], stacklevel: int) -> None:
    """Warn of candidates that the comparison goes on without."""
    for name, error in failed.items():
        warnings.warn(
            f"The candidate {name!r} cannot be fitted, and is left out: {error}",
            FitFailedWarning,
            stacklevel=stacklevel + 1,
        )
