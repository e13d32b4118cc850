"""Answers for labelled rows by models that were not told their labels.

`sklearn.model_selection.cross_val_predict` cannot give them. It wants the test sides to hold every
row, the unlabelled ones too; and for decision values and probabilities it codes y anew, marker and
all, so that the models take the marker for a class.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from lapwing._arrays import Array
from lapwing._host.warn import heard, warn
from lapwing.model_selection.reading import read_labels
from lapwing.model_selection.splitters import LabeledKFold, LabeledStratifiedKFold

# What has a column a class, so that all models must know the same classes.
_BY_CLASS = frozenset({"decision_function", "predict_log_proba", "predict_proba"})


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
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = None,
    method: str = "predict",
    unlabeled: Any = "auto",
    params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
) -> HeldOut:
    """Answer for each labelled row by a model that was not told its label.

    What `sklearn.model_selection.cross_val_predict` is for data that are all labelled. Scores that
    need many rows or all classes at once (a confusion matrix, ROC AUC, log loss) are computed of
    its answers: a test side of few labels is too small for them.

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


def _splitter(cv: Any, classifier: bool, unlabeled: Any) -> Any:
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
    estimator: Any,
    X: Any,
    y: Any,
    train: Array,
    test: Array,
    method: str,
    params: dict[str, Any],
) -> tuple[Array, list[Any] | None, list[Warning]]:
    """Answers for a test side, the classes that the fit knew, and what it warned of."""
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
