"""Scorers that leave unlabelled rows out.

scikit-learn's scorers compare answers with all that y holds. A row that is marked as unlabelled
then counts as wrong, or as one more class, and a search chooses by it.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from copy import copy
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import check_scoring, make_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from lapwing._arrays import Array
from lapwing._host.warn import heard, warn
from lapwing._rows import PointsLike
from lapwing.classes.label_checks import check_labels
from lapwing.classes.labels import as_targets, read_known
from lapwing.classes.markers import is_auto, missing_mask, read_column, unlabeled_mask
from lapwing.estimators.template import only_labeled
from lapwing.model_selection.splitters import LabeledKFold, LabeledStratifiedKFold, read_labels

# What has a column a class, so that all models must know the same classes.
_BY_CLASS = frozenset({"decision_function", "predict_log_proba", "predict_proba"})


def labeled_scorer(
    scoring: str | Callable[..., Any] | None = None, *, unlabeled: object = "auto", **kwargs: object
) -> LabeledScorer:
    """Make a scorer that leaves unlabelled rows out.

    Estimators of lapwing do this in their own `score`. This is for other scores, and for other
    estimators. The splitters of `lapwing.model_selection` put no unlabelled row on a test side; but
    training sides hold them, so that `learning_curve` and ``return_train_score=True`` need this,
    and so does a y that holds numbers beside None, which scikit-learn's scorers refuse.

    Parameters
    ----------
    scoring : str, callable or None, default=None
        What to score by: a name that `sklearn.metrics.get_scorer` knows; a scorer
        ``(estimator, X, y)``; a metric ``(y_true, y_pred)``, of which
        `sklearn.metrics.make_scorer` makes a scorer; or None, which is the estimator's own `score`.
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        What marks unlabelled rows, as for the estimator: give the same here. By default missing
        values and, for classifiers, -1 if it is no class of the fit.
    **kwargs : dict
        What `sklearn.metrics.make_scorer` takes beside a metric: ``greater_is_better``,
        ``response_method`` and parameters of the metric.

    Returns
    -------
    LabeledScorer
        To be called as ``(estimator, X, y)``, or passed as ``scoring``.

    Raises
    ------
    ValueError
        If there are `kwargs` and `scoring` is no metric. The scorer raises it if no row is
        labelled, or if a label that the fit did not know looks like a marker.

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
            f"{', '.join(kwargs)} can be given beside a metric (y_true, y_pred) only, and "
            f"scoring={scoring!r} is none. Make the scorer with sklearn.metrics.make_scorer, and "
            "pass that."
        )
    scorer = None if scoring is None else check_scoring(scoring=scoring)
    return LabeledScorer(scorer, unlabeled)


class LabeledScorer:
    """A scorer that leaves unlabelled rows out; `labeled_scorer` makes it.

    Parameters
    ----------
    scorer : callable or None
        ``(estimator, X, y)``; None is the estimator's own `score`.
    unlabeled : 'auto', number, str, None or NaN
        What marks unlabelled rows.
    """

    def __init__(self, scorer: Callable[..., Any] | None, unlabeled: object) -> None:
        self.scorer = scorer
        self.unlabeled = unlabeled

    def __call__(
        self, estimator: BaseEstimator, X: Any, y: Any, sample_weight: Any = None, **params: Any
    ) -> Any:
        """Score on the labelled rows.

        Parameters
        ----------
        estimator : object
            A fitted estimator.
        X : array-like of shape (n_samples, n_features)
            Points.
        y : array-like of shape (n_samples,)
            Labels, with the unlabelled marker where there is none.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, if the score takes any.
        **params : dict
            Whatever else the score takes.

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
        """Return the metadata requests of the scorer inside.

        Returns
        -------
        MetadataRequest
            As ``set_score_request`` of the scorer inside has made it.
        """
        return get_routing_for_object(self.scorer)

    def _accept_sample_weight(self) -> bool:
        """Return whether the scorer inside takes weights, for scikit-learn's multi-scorers."""
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


def _read(estimator: BaseEstimator, y: Any, marker: Any) -> tuple[Array, Array]:
    """Read the labels to score on, and the mask of their rows."""
    if is_classifier(estimator):
        labels, labeled = read_known(y, marker, estimator.classes_)
        _refuse_markers(labels, estimator.classes_, marker)
        return labels, labeled
    column = read_column(y)
    mask = unlabeled_mask(column, None if is_auto(marker) else marker)
    labeled = ~mask & ~missing_mask(column)
    return as_targets(column[labeled]), labeled


def _refuse_markers(labels: Array, classes: Array, marker: object) -> None:
    """Raise ValueError for unknown classes that may be markers."""
    known = set(classes.tolist())
    strangers = [label for label in labels.tolist() if label not in known]
    if strangers:
        values, counts = np.unique(strangers, return_counts=True)
        check_labels(values, counts, 0, (), marker)


class HeldOut(NamedTuple):
    """Answers for the rows that were held out.

    Parameters
    ----------
    rows : ndarray of int of shape (n_held_out,)
        Labelled rows that were on a test side, ascending.
    predictions : ndarray of shape (n_held_out,) or (n_held_out, n_classes)
        What was answered for each, by the model of the split that held it out.
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

    It is `sklearn.model_selection.cross_val_predict` for partly labelled data. Scores that need
    many rows or all classes at once (a confusion matrix, ROC AUC, log loss) are computed from its
    answers: a test side of few labels is too small for them.

    Parameters
    ----------
    estimator : object
        It is cloned for each split and stays as it is.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        All points, labelled or not.
    y : array-like of shape (n_samples,)
        Labels, with the unlabelled marker where there is none.
    cv : int, splitter, iterable or None, default=None
        None and numbers are that many folds, 5 for None, of `LabeledStratifiedKFold` for
        classifiers and of `LabeledKFold` for regressions. Of other test sides the unlabelled rows
        are left out. Splitters with ``regression='auto'`` go by the estimator.
    method : str, default='predict'
        What is asked of each fit: ``'predict'``, ``'decision_function'``, ``'predict_proba'`` ...
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        What marks unlabelled rows, as for the estimator: give the same here. In a `cv` of your own
        it is given there as well.
    params : mapping, default=None
        Parameters of `fit`, such as ``sample_weight``. Those with one value a row are cut to the
        training side.
    n_jobs : int, default=None
        Splits that are fitted at the same time, as in scikit-learn.

    Returns
    -------
    HeldOut
        The rows and their answers: ``rows, predictions = labeled_cross_val_predict(...)``. Labels
        that were never held out are not among them.

    Raises
    ------
    ValueError
        If a row is held out twice, no labelled row is held out, or a training side lacks a class
        and `method` has a column a class.

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
    splitter = _splitter(cv, is_classifier(estimator), unlabeled)
    splits = [(train, np.intersect1d(test, labels.rows)) for train, test in splitter.split(X, y)]
    splits = [(train, test) for train, test in splits if len(test)]
    if not splits:
        raise ValueError(
            "No labelled row is on a test side. Hold out labels, with LabeledStratifiedKFold (or "
            "LabeledKFold for a regression)."
        )
    held = np.concatenate([test for _, test in splits])
    if len(np.unique(held)) < len(held):
        raise ValueError(
            "A row is held out more than once, so that it has several answers. Hold out each label "
            "once, with LabeledStratifiedKFold, LabeledKFold or LeaveOneLabelOut."
        )
    answers = Parallel(n_jobs=n_jobs)(
        delayed(_answer)(clone(estimator), X, y, train, test, method, dict(params or {}))
        for train, test in splits
    )
    _tell([said for _, _, said in answers])
    if method in _BY_CLASS:
        _check_classes([classes for _, classes, _ in answers])
    order = np.argsort(held)
    return HeldOut(held[order], np.concatenate([values for values, _, _ in answers])[order])


def _splitter(cv: Any, classifier: bool, unlabeled: object) -> Any:
    if cv is not None and not isinstance(cv, numbers.Integral):
        if getattr(cv, "regression", None) == "auto":  # the estimator knows what y holds
            cv = copy(cv)
            cv.regression = not classifier
        return check_cv(cv)
    n_splits = 5 if cv is None else int(cv)
    if classifier:
        return LabeledStratifiedKFold(n_splits, unlabeled=unlabeled)
    return LabeledKFold(n_splits, unlabeled=unlabeled, regression=True)


def _answer(
    estimator: BaseEstimator,
    X: PointsLike,
    y: ArrayLike,
    train: Array,
    test: Array,
    method: str,
    params: dict[str, Any],
) -> tuple[Array, list[Any] | None, list[Warning]]:
    """Predict a test side; return the answers, the known classes and the warnings."""
    n = _num_samples(X)
    for name, value in params.items():
        if hasattr(value, "__len__") and not isinstance(value, str) and len(value) == n:
            params[name] = _safe_indexing(value, train)
    # Not plain indices: of a precomputed kernel, columns are left out with the rows.
    X_train, y_train = _safe_split(estimator, X, y, train)
    X_test, _ = _safe_split(estimator, X, y, test, train)
    with heard() as said:
        estimator.fit(X_train, y_train, **params)
        values = np.asarray(getattr(estimator, method)(X_test))
    classes = estimator.classes_.tolist() if is_classifier(estimator) else None
    return values, classes, said


def _tell(said: list[list[Warning]]) -> None:
    """Warn once of what several fits warned of: their texts differ in numbers of their own rows."""
    first: dict[type[Warning], str] = {}
    for warning in (warning for each in said for warning in each):
        first.setdefault(type(warning), str(warning))
    for kind, text in first.items():
        count = sum(any(type(warning) is kind for warning in each) for each in said)
        warn(f"In {count} of {len(said)} fits. The first of them: {text}", kind)


def _check_classes(known: list[list[Any] | None]) -> None:
    """Raise if some fits did not know all classes."""
    every = {label for classes in known for label in classes or ()}
    for split, classes in enumerate(known):
        lacking = sorted(every - set(classes or ()), key=str)
        if lacking:
            raise ValueError(
                f"The training side of split {split} has no label of {lacking[0]!r}, so there is "
                "no column for it. Use LabeledStratifiedKFold, which keeps a label of each class "
                "there."
            )
