"""Scorers that ignore unlabelled rows.

scikit-learn's scorers compare predictions with all entries of y. Unlabelled rows then count as
errors, or as a further class, and distort searches.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import check_scoring, make_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import indexable
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from lapwing._arrays import Array
from lapwing._host.warn import collect_warnings, warn
from lapwing._rows.base import PointsLike
from lapwing.classes.label_checks import check_labels
from lapwing.classes.labels import known_targets, read_known
from lapwing.estimators.template import only_labeled
from lapwing.model_selection.splitters import LabeledKFold, LabeledStratifiedKFold, read_labels

# Methods with one column per class, for which all models must have the same classes.
_BY_CLASS = frozenset({"decision_function", "predict_log_proba", "predict_proba"})


def labeled_scorer(
    scoring: str | Callable[..., Any] | None = None, *, unlabeled: object = "auto", **kwargs: object
) -> LabeledScorer:
    """Make a scorer that ignores unlabelled rows.

    Estimators of lapwing do this in their own `score`; this function is for other scores and other
    estimators. The test sets of the splitters of `lapwing.model_selection` have no unlabelled rows,
    but their training sets do, so that `learning_curve` and ``return_train_score=True`` need such a
    scorer. It also accepts numbers and None in y, for which scikit-learn's scorers raise an error.

    Parameters
    ----------
    scoring : str, callable or None, default=None
        Score: a name of `sklearn.metrics.get_scorer`; a scorer ``(estimator, X, y)``; a metric
        ``(y_true, y_pred)``, which is passed to `sklearn.metrics.make_scorer`; or None for the
        method `score` of the estimator.
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        Marker of unlabelled rows; must be that of the estimator. By default missing values and, for
        classifiers, -1 unless it is a class of the fit.
    **kwargs : dict
        Further arguments of `sklearn.metrics.make_scorer` for a metric: ``greater_is_better``,
        ``response_method`` and parameters of the metric.

    Returns
    -------
    LabeledScorer
        Callable ``(estimator, X, y)``, for the parameter ``scoring`` of scikit-learn.

    Raises
    ------
    ValueError
        If there are `kwargs` and `scoring` is not a metric. The scorer raises it if no row is
        labelled, or if a label unknown to the fit may be a marker.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LapSVC
    >>> from lapwing.model_selection import labeled_scorer
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> model = LapSVC().fit(X, [0, -1, -1, 1, -1, -1])
    >>> float(labeled_scorer("balanced_accuracy")(model, X, [0, 0, -1, 1, -1, 1]))
    1.0
    """
    if callable(scoring) and _is_metric(scoring):
        scoring = make_scorer(scoring, **kwargs)
    elif kwargs:
        raise ValueError(
            f"{', '.join(kwargs)} can only be given with a metric (y_true, y_pred), and "
            f"scoring={scoring!r} is not a metric. Pass a scorer of sklearn.metrics.make_scorer."
        )
    scorer = None if scoring is None else check_scoring(scoring=scoring)
    return LabeledScorer(scorer, unlabeled)


@dataclass(frozen=True, repr=False, eq=False)
class LabeledScorer:
    """Scorer that ignores unlabelled rows, created by `labeled_scorer`.

    Parameters
    ----------
    scorer : callable or None
        ``(estimator, X, y)``; None is the method `score` of the estimator.
    unlabeled : 'auto', number, str, None or NaN
        Marker of unlabelled rows.
    """

    scorer: Callable[..., Any] | None
    unlabeled: object

    def __call__(
        self,
        estimator: BaseEstimator,
        X: PointsLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **params: Any,
    ) -> Any:
        """Score on the labelled rows.

        Parameters
        ----------
        estimator : object
            A fitted estimator.
        X : array-like of shape (n_samples, n_features)
            Points.
        y : array-like of shape (n_samples,)
            Labels, with the marker `unlabeled` for unlabelled rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, if the score supports them.
        **params : dict
            Further arguments of the score.

        Returns
        -------
        float
            The score.
        """
        labels, labeled = _read(estimator, y, self.unlabeled)
        X, sample_weight = only_labeled(labeled, X, sample_weight)
        if sample_weight is not None:
            params["sample_weight"] = sample_weight
        scorer = check_scoring(estimator, scoring=self.scorer)
        return scorer(estimator, X, labels, **params)

    def get_metadata_routing(self) -> Any:
        """Return the metadata requests of the wrapped scorer.

        Returns
        -------
        MetadataRequest
            Requests set by ``set_score_request`` of the wrapped scorer.
        """
        return get_routing_for_object(self.scorer)

    def _accept_sample_weight(self) -> bool:
        """Return whether the wrapped scorer takes weights, for scikit-learn's multi-scorers."""
        ask = getattr(self.scorer, "_accept_sample_weight", None)
        return self.scorer is None or (ask is not None and bool(ask()))

    def __repr__(self) -> str:
        return f"labeled_scorer({self.scorer!r}, unlabeled={self.unlabeled!r})"


def _is_metric(scoring: Callable[..., Any]) -> bool:
    """Return whether a callable takes (y_true, y_pred): a scorer takes three arguments."""
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    needed = [
        parameter
        for parameter in signature(scoring).parameters.values()
        if parameter.kind in positional and parameter.default is Parameter.empty
    ]
    return len(needed) == 2


def _read(estimator: BaseEstimator, y: ArrayLike, marker: object) -> tuple[Array, Array]:
    """Read the labels to score on, and the mask of their rows."""
    if is_classifier(estimator):
        labels, labeled = read_known(y, marker, estimator.classes_)
        known = set(estimator.classes_.tolist())
        unknown = [label for label in labels.tolist() if label not in known]
        if unknown:  # unless they may be markers, they count as errors
            values, counts = np.unique(unknown, return_counts=True)
            check_labels(values, counts, 0, (), marker)
        return labels, labeled
    return known_targets(y, marker)


class HeldOut(NamedTuple):
    """Result of `labeled_cross_val_predict`.

    Parameters
    ----------
    rows : ndarray of int of shape (n_held_out,)
        Labelled rows that were in a test set, ascending.
    predictions : ndarray of shape (n_held_out,) or (n_held_out, n_classes)
        Predictions of these rows by the models of the splits that held them out.
    """

    rows: Array
    predictions: Array


def labeled_cross_val_predict(
    estimator: BaseEstimator,
    X: PointsLike,
    y: ArrayLike,
    *,
    cv: object = None,
    method: str = "predict",
    unlabeled: object = "auto",
    params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
) -> HeldOut:
    """Predict each labelled row by a model fitted without its label.

    This is `sklearn.model_selection.cross_val_predict` for partly labelled data. Use it for scores
    that need many rows or all classes (a confusion matrix, ROC AUC, log loss), for which test sets
    of few labels are too small.

    Parameters
    ----------
    estimator : object
        Estimator, cloned for each split and not modified.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        All points, labelled or not.
    y : array-like of shape (n_samples,)
        Labels, with the marker `unlabeled` for unlabelled rows.
    cv : int, splitter, iterable or None, default=None
        Number of folds (5 for None) of `LabeledStratifiedKFold` for classifiers or `LabeledKFold`
        for regressors, or a splitter. Unlabelled rows in test sets are ignored. For splitters with
        ``regression='auto'`` the type of the estimator decides.
    method : str, default='predict'
        Method of the fitted estimators to call: ``'predict'``, ``'decision_function'``,
        ``'predict_proba'`` ...
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        Marker of unlabelled rows; must be that of the estimator and of a given splitter.
    params : mapping, default=None
        Parameters of `fit`, such as ``sample_weight``. Those with one value per row are restricted
        to the training set.
    n_jobs : int, default=None
        Number of splits fitted in parallel, as in scikit-learn.

    Returns
    -------
    HeldOut
        Rows and predictions: ``rows, predictions = labeled_cross_val_predict(...)``, without labels
        that were never held out.

    Raises
    ------
    ValueError
        If a row is held out twice, no labelled row is held out, or a class is missing from a
        training set and `method` returns a column per class.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LapSVC
    >>> from lapwing.model_selection import labeled_cross_val_predict
    >>> X = np.array([*range(10), *range(20, 30)], dtype=float)[:, None]
    >>> y = np.full(20, -1)
    >>> y[[2, 7]], y[[12, 17]] = 0, 1
    >>> rows, predictions = labeled_cross_val_predict(LapSVC(), X, y, cv=2)
    >>> print(rows, predictions)
    [ 2  7 12 17] [0 0 1 1]
    """
    X, y = indexable(X, y)
    labels = read_labels(y, unlabeled, not is_classifier(estimator))
    labeled = np.flatnonzero(labels.labeled)
    splitter = _splitter(cv, is_classifier(estimator), unlabeled)
    splits = [(train, np.intersect1d(test, labeled)) for train, test in splitter.split(X, y)]
    splits = [(train, test) for train, test in splits if len(test)]
    if not splits:
        raise ValueError(
            "No test set has a labelled row. Hold out labels with LabeledStratifiedKFold, or "
            "LabeledKFold for regression."
        )
    held = np.concatenate([test for _, test in splits])
    if len(np.unique(held)) < len(held):
        raise ValueError(
            "A row is held out more than once, so it has several predictions. Hold out each label "
            "once, with LabeledStratifiedKFold, LabeledKFold or LeaveOneLabelOut."
        )
    answers = Parallel(n_jobs=n_jobs)(
        delayed(_fit_and_predict)(clone(estimator), X, y, train, test, method, params)
        for train, test in splits
    )
    _warn_once([caught for _, _, caught in answers])
    if method in _BY_CLASS:
        _check_classes([classes for _, classes, _ in answers])
    order = np.argsort(held)
    return HeldOut(held[order], np.concatenate([values for values, _, _ in answers])[order])


def _splitter(cv: Any, classifier: bool, unlabeled: object) -> Any:
    if cv is not None and not isinstance(cv, numbers.Integral):
        if getattr(cv, "regression", None) == "auto":  # determined by the estimator
            cv = copy(cv)
            cv.regression = not classifier
        return check_cv(cv)
    n_splits = 5 if cv is None else int(cv)
    if classifier:
        return LabeledStratifiedKFold(n_splits, unlabeled=unlabeled)
    return LabeledKFold(n_splits, unlabeled=unlabeled, regression=True)


def _fit_and_predict(
    estimator: BaseEstimator,
    X: PointsLike,
    y: ArrayLike,
    train: Array,
    test: Array,
    method: str,
    params: Mapping[str, Any] | None,
) -> tuple[Array, list[Any] | None, list[Warning]]:
    """Predict a test set; return the predictions, the classes of the model and the warnings."""
    # Not plain indexing: for a precomputed kernel, columns are selected as well as rows.
    X_train, y_train = _safe_split(estimator, X, y, train)
    X_test, _ = _safe_split(estimator, X, y, test, train)
    with collect_warnings() as caught:
        estimator.fit(X_train, y_train, **_check_method_params(X, params or {}, indices=train))
        values = np.asarray(getattr(estimator, method)(X_test))
    classes = estimator.classes_.tolist() if is_classifier(estimator) else None
    return values, classes, caught


def _warn_once(caught: list[list[Warning]]) -> None:
    """Issue a warning of several fits once, although their texts differ in row numbers."""
    first: dict[type[Warning], str] = {}
    for warning in (warning for each in caught for warning in each):
        first.setdefault(type(warning), str(warning))
    for kind, text in first.items():
        count = sum(any(type(warning) is kind for warning in each) for each in caught)
        warn(f"In {count} of {len(caught)} fits. The first of them: {text}", kind)


def _check_classes(known: list[list[Any] | None]) -> None:
    """Raise ValueError if a class is missing from a training set."""
    every = {label for classes in known for label in classes or ()}
    for split, classes in enumerate(known):
        lacking = sorted(every - set(classes or ()), key=str)
        if lacking:
            raise ValueError(
                f"The training set of split {split} has no label of {lacking[0]!r}, so there is "
                "no column for it. Use LabeledStratifiedKFold, which keeps a label of each class "
                "there."
            )
