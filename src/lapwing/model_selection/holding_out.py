"""Splitters that hold out labelled rows only, and scorers that ignore unlabelled ones.

scikit-learn's splitters distribute all rows. If most are unlabelled, the training sets lose
unlabelled rows, the marker is stratified like a class, and all labels may be in the same set.
Here training sets contain all unlabelled rows, and test sets contain labelled rows only.

Every class must be in each training set: a classifier cannot predict a class without labels, and
with two classes the fit would fail. So the only label of a class is in every training set, with a
warning that no score includes this class.

Training sets start with the labelled rows, with the classes in turn, and end with the unlabelled
rows. As `sklearn.model_selection.learning_curve` trains on their first rows, every size of at least
the number of classes can be fitted.

scikit-learn's scorers compare predictions with all entries of y. Unlabelled rows then count as
errors, or as a further class, and distort searches.
"""

from __future__ import annotations

import numbers
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import check_scoring, make_scorer
from sklearn.model_selection import BaseCrossValidator, KFold, ShuffleSplit, check_cv
from sklearn.utils import check_random_state, indexable
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, check_consistent_length

from lapwing._arrays import Array
from lapwing._host.warn import collect_warnings, warn
from lapwing._parameters import (
    COUNT,
    FLAG,
    FLAG_OR_AUTO,
    SEED,
    check,
    count,
    is_number,
    optional,
    parameters,
)
from lapwing._rows.base import PointsLike
from lapwing._words import quoted
from lapwing.classes.label_checks import check_labels
from lapwing.classes.labels import (
    ClassLabels,
    code_classes,
    has_fractions,
    known_targets,
    read_known,
)
from lapwing.classes.markers import read_column
from lapwing.estimators.input_checks import warn_row_order
from lapwing.estimators.template import only_labeled
from lapwing.exceptions import FewLabelsWarning

_NAMED = 5  # classes listed in a message
# Methods with one column per class, for which all models must have the same classes.
_BY_CLASS = frozenset({"decision_function", "predict_log_proba", "predict_proba"})


class LabeledSplitter(BaseCrossValidator):
    """Base of the splitters; a final class determines which labels are held out together."""

    unlabeled: Any
    regression: bool | str = False

    def get_n_splits(
        self, X: object = None, y: ArrayLike | None = None, groups: object = None
    ) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X : None
            Ignored.
        y : array-like of shape (n_samples,), default=None
            Labels; ignored by `LabeledShuffleSplit`. Without them `n_splits` is returned, although
            there may be fewer folds if few labels can be held out.
        groups : None
            Not supported: any other value raises an error.

        Returns
        -------
        int
            Number of splits, at most `n_splits`.

        Raises
        ------
        ValueError
            If no label can be held out, or groups are given.
        """
        self._refuse_groups(groups)
        return self._count_splits(y)

    @abstractmethod
    def _count_splits(self, y: ArrayLike | None) -> int:
        """Return the number of splits of these labels."""

    def split(
        self, X: object, y: ArrayLike | None = None, groups: object = None
    ) -> Iterator[tuple[Array, Array]]:
        """Generate row indices of training and test sets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points; only their number is used.
        y : array-like of shape (n_samples,)
            Labels, with the marker `unlabeled` for unlabelled rows.
        groups : None
            Not supported: any other value raises an error.

        Yields
        ------
        train : ndarray of int
            Labelled rows that are not held out, with the classes in turn, then all unlabelled rows.
        test : ndarray of int
            Labelled rows that are held out, ascending.

        Raises
        ------
        ValueError
            If no label can be held out, or groups are given.

        Warns
        -----
        FewLabelsWarning
            If some labels are never held out, or there are fewer folds than requested.
        """
        self._refuse_groups(groups)
        check_consistent_length(X, y)
        labels = self._read(y)
        rows, unlabeled = np.flatnonzero(labels.labeled), np.flatnonzero(~labels.labeled)
        codes = labels.codes[rows]
        single = codes[_is_single(codes)]
        if len(labels.classes) and len(single):
            warn(
                f"{len(single)} of {len(codes)} labels are never held out: they are the only ones "
                f"of their classes ({quoted(labels.classes[single].tolist(), _NAMED)}), so scores "
                "do not include these classes. Label another row of each such class."
                f"{self._regression_hint(labels.classes)}",
                FewLabelsWarning,
            )
        for train, test in self._label_splits(codes, len(labels.classes)):
            train = train[_in_turn(codes[train])]
            yield np.concatenate([rows[train], unlabeled]), rows[test]

    def _refuse_groups(self, groups: object) -> None:
        """Raise ValueError for groups, which the splits would not keep together."""
        if groups is not None:
            raise ValueError(
                f"{type(self).__name__} does not use groups: rows of a group can lie on both sides "
                "of a split. Leave groups out."
            )

    @abstractmethod
    def _label_splits(self, codes: Array, n_classes: int) -> Iterator[tuple[Array, Array]]:
        """Yield the positions of the labels in the training and test sets.

        Parameters
        ----------
        codes : ndarray of int of shape (n_labeled,)
            Classes of the labels.
        n_classes : int
            0 for a regression, whose targets have code 0.
        """

    def _read(self, y: ArrayLike | None) -> ClassLabels:
        labels = read_labels(y, self.unlabeled, self.regression)
        if not _is_single(labels.codes[labels.labeled]).all():
            return labels
        if not len(labels.classes):
            raise ValueError(
                "No target can be held out: y has only one, and one is needed for training. Give "
                "at least two."
            )
        raise ValueError(
            f"No label can be held out: each of the {len(labels.classes)} classes has only one, "
            "which must be in the training set. Label another row of a class."
            f"{self._regression_hint(labels.classes)}"
        )

    def _regression_hint(self, classes: Array) -> str:
        """Advise on whole numbers, which may be targets or classes."""
        if self.regression != "auto" or classes.dtype.kind not in "iuf":
            return ""
        return " If y contains numbers to predict and not classes, pass regression=True."


class LabeledFolds(LabeledSplitter):
    """Splitter that holds out each label once."""

    n_splits: int | None = None  # None: one for each label

    def _count_splits(self, y: ArrayLike | None) -> int:
        if y is None and self.n_splits is not None:
            return self.n_splits
        labels = self._read(y)
        return self._count_folds(~_is_single(labels.codes[labels.labeled]))

    def _count_folds(self, free: Array) -> int:
        """Return the number of folds: at most one for each label that can be held out."""
        n_free = int(free.sum())
        return n_free if self.n_splits is None else min(self.n_splits, n_free)

    def _label_splits(self, codes: Array, n_classes: int) -> Iterator[tuple[Array, Array]]:
        free = ~_is_single(codes)
        n_folds = self._count_folds(free)
        if self.n_splits is not None and n_folds < self.n_splits:
            warn(
                f"n_splits={self.n_splits} is more than the {n_folds} labels that can be held out, "
                f"so there are {n_folds} splits, one a label. Label more rows, or use "
                "LeaveOneLabelOut, which means this.",
                FewLabelsWarning,
            )
        folds = np.full(len(codes), -1)
        folds[free] = self._assign(codes[free], n_folds)
        for fold in range(n_folds):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)

    @abstractmethod
    def _assign(self, codes: Array, n_folds: int) -> Array:
        """Assign labels to folds so that every class is in at least two."""


@parameters
class ShuffledFolds(LabeledFolds):
    """Splitter with a number of folds, of labels in their order or shuffled."""

    n_splits: int = 5
    _: KW_ONLY
    shuffle: bool = False
    random_state: int | np.random.RandomState | None = None
    unlabeled: object = "auto"

    def __post_init__(self) -> None:
        check(vars(self), {"n_splits": count(2), "shuffle": FLAG, "random_state": SEED})
        # Refuses a seed without shuffling.
        KFold(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)


@parameters
class LabeledKFold(ShuffledFolds):
    """K-fold splits of the labelled rows, with all unlabelled rows in every training set.

    For regression, and for classification if the class proportions may differ between folds;
    otherwise use `LabeledStratifiedKFold`. The folds are those of `sklearn.model_selection.KFold`
    on the labelled rows, with two exceptions for classification, so that each training set contains
    every class: the only label of a class is never held out, and if all labels of a class are in
    one fold, the last one is moved to the next fold.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2. There are fewer, with a warning, if fewer labels can be held
        out.
    shuffle : bool, default=False
        Whether to shuffle the labelled rows before they are split into folds.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling; an int gives the same folds in every call.
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        Marker of unlabelled rows, as for the estimator: by default missing values and, for
        classification, -1.
    regression : 'auto' or bool, default='auto'
        Whether y has targets of a regression. 'auto' is True if there are numbers with fractions;
        pass True if targets are whole numbers, which are classes otherwise. For regression, only
        missing values are unlabelled by default.

    See Also
    --------
    LabeledStratifiedKFold : Folds with the same class proportions.
    LeaveOneLabelOut : As many folds as labels.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.model_selection import LabeledKFold
    >>> y = [0.1, np.nan, 0.4, np.nan, 0.2, 0.3]
    >>> for train, test in LabeledKFold(2).split(y, y):
    ...     print(train, test)
    [4 5 1 3] [0 2]
    [0 2 1 3] [4 5]
    """

    _: KW_ONLY
    regression: bool | str = "auto"

    def _assign(self, codes: Array, n_folds: int) -> Array:
        cut = KFold(n_folds, shuffle=self.shuffle, random_state=self.random_state)
        folds = np.empty(len(codes), dtype=np.intp)
        for fold, (_, test) in enumerate(cut.split(folds)):
            folds[test] = fold
        for code in np.unique(codes):
            members = np.flatnonzero(codes == code)
            if (folds[members] == folds[members[0]]).all():
                folds[members[-1]] = (folds[members[-1]] + 1) % n_folds
        return folds


@parameters
class LabeledStratifiedKFold(ShuffledFolds):
    """Stratified K-fold splits of the labelled rows; training sets have all unlabelled rows.

    Every training set contains a label of each class: the only label of a class is never held out,
    with a warning. If every class has at least two labels, each label is held out once, and the
    folds are those of `sklearn.model_selection.StratifiedKFold` on the labelled rows. Unlike there,
    all classes may have fewer labels than there are folds.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2. There are fewer, with a warning, if fewer labels can be held
        out.
    shuffle : bool, default=False
        Whether to shuffle the labels of each class before they are distributed.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling; an int gives the same folds in every call.
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        Marker of unlabelled rows, as for the estimator: by default missing values and -1.

    See Also
    --------
    LabeledKFold : For regression.
    LeaveOneLabelOut : As many folds as labels.

    Examples
    --------
    >>> from lapwing.model_selection import LabeledStratifiedKFold
    >>> y = ["a", None, "b", None, "a", "b"]
    >>> for train, test in LabeledStratifiedKFold(2).split(y, y):
    ...     print(train, test)
    [4 5 1 3] [0 2]
    [0 2 1 3] [4 5]
    """

    def _assign(self, codes: Array, n_folds: int) -> Array:
        # Sorted by class and distributed in turn: class counts and sizes of folds differ by at most
        # one label, and a class of two or more labels is never in a single fold.
        dealt = np.arange(len(codes)) % n_folds
        random = check_random_state(self.random_state)
        _, first, place = np.unique(codes, return_index=True, return_inverse=True)
        by_appearance = np.argsort(np.argsort(first))[place]
        ordered = np.sort(by_appearance)
        folds = np.empty(len(codes), dtype=np.intp)
        for k in range(len(first)):
            own = np.sort(dealt[ordered == k])
            if self.shuffle:
                random.shuffle(own)
            folds[by_appearance == k] = own
        return folds


@parameters
class LabeledShuffleSplit(LabeledSplitter):
    """Random splits of the labelled rows, with all unlabelled rows in every training set.

    For classification the splits are stratified, and every training set contains a label of each
    class: the only label of a class is never held out, and the test set is smaller than requested
    if necessary.

    With `train_size`, training sets contain this number of labels and all unlabelled rows. Several
    sizes show how much more labels would help.

    Parameters
    ----------
    n_splits : int, default=10
        Number of draws.
    test_size : float, int or None, default=None
        Fraction of the labels to hold out, or their number. None is the complement of `train_size`,
        or a tenth if that is None as well.
    train_size : float, int or None, default=None
        Fraction of the labels to train on, or their number, at least the number of classes. None
        is the complement of the test set. Rows of other labels are in neither set.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws; an int gives the same draws in every call.
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        Marker of unlabelled rows, as for the estimator: by default missing values and, for
        classification, -1.
    regression : 'auto' or bool, default='auto'
        Whether y has targets of a regression. 'auto' is True if there are numbers with fractions;
        pass True if targets are whole numbers, which are classes otherwise. For regression, only
        missing values are unlabelled by default.

    See Also
    --------
    LabeledStratifiedKFold : Holds out each label once.

    Examples
    --------
    >>> from lapwing.model_selection import LabeledShuffleSplit
    >>> y = ["a", None, "b", None, "a", "b"]
    >>> for train, test in LabeledShuffleSplit(2, test_size=2, random_state=0).split(y, y):
    ...     print(train, test)
    [0 5 1 3] [2 4]
    [5 0 1 3] [2 4]
    """

    n_splits: int = 10
    _: KW_ONLY
    test_size: float | None = None
    train_size: float | None = None
    random_state: int | np.random.RandomState | None = None
    unlabeled: object = "auto"
    regression: bool | str = "auto"

    def __post_init__(self) -> None:
        size = optional((is_number, "a fraction or a number of labels"))
        rules = {"n_splits": COUNT, "test_size": size, "train_size": size, "random_state": SEED}
        check(vars(self), rules)

    def _count_splits(self, y: ArrayLike | None) -> int:
        return self.n_splits

    def _label_splits(self, codes: Array, n_classes: int) -> Iterator[tuple[Array, Array]]:
        draws = ShuffleSplit(
            self.n_splits,
            test_size=self.test_size,
            train_size=self.train_size,
            random_state=self.random_state,
        )
        splits = list(draws.split(codes))
        if not n_classes:
            yield from ((train, np.sort(test)) for train, test in splits)
            return
        n_train, n_test = map(len, splits[0])  # sizes by scikit-learn's rules, with its checks
        if self.train_size is not None and n_train < n_classes:
            raise ValueError(
                f"train_size={self.train_size!r} leaves {n_train} labels to train on, but y has "
                f"{n_classes} classes: train on at least one label of each."
            )
        random = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            queue = _in_proportion(codes, random)
            test, rest = np.split(queue, [min(n_test, len(queue) - n_classes)])
            # From the end of the queue, which has one label of each class.
            train = rest[::-1] if self.train_size is None else rest[::-1][:n_train]
            yield train, np.sort(test)


@parameters
class LeaveOneLabelOut(LabeledFolds):
    """Leave-one-out splits of the labels, with all unlabelled rows in every training set.

    It takes as many fits as there are labels, and makes the best use of few labels. The only label
    of a class is never held out.

    Parameters
    ----------
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        Marker of unlabelled rows, as for the estimator: by default missing values and, for
        classification, -1.
    regression : 'auto' or bool, default='auto'
        Whether y has targets of a regression. 'auto' is True if there are numbers with fractions;
        pass True if targets are whole numbers, which are classes otherwise. For regression, only
        missing values are unlabelled by default.

    See Also
    --------
    LabeledStratifiedKFold : Fewer fits.

    Examples
    --------
    >>> from lapwing.model_selection import LeaveOneLabelOut
    >>> y = [0, -1, 1, -1, 0, 1]
    >>> for train, test in LeaveOneLabelOut().split(y, y):
    ...     print(train, test)
    [2 4 5 1 3] [0]
    [0 5 4 1 3] [2]
    [0 2 5 1 3] [4]
    [0 2 4 1 3] [5]
    """

    _: KW_ONLY
    unlabeled: object = "auto"
    regression: bool | str = "auto"

    def _assign(self, codes: Array, n_folds: int) -> Array:
        return np.arange(n_folds)


def _in_proportion(codes: Array, random: np.random.RandomState) -> Array:
    """Shuffle positions so that every initial part is stratified.

    The last positions are one of each class, so that a label of each class remains.
    """
    key = np.empty(len(codes))
    for code in np.unique(codes):
        members = random.permutation(np.flatnonzero(codes == code))
        # One random number in each of n equal parts of (0, 1) for a class with n labels.
        key[members] = (np.arange(len(members)) + random.uniform(size=len(members))) / len(members)
        key[members[-1]] = 1 + random.uniform()
    return np.argsort(key)


def _is_single(codes: Array) -> Array:
    """Return the mask of the labels whose class has no other."""
    return np.asarray(np.bincount(codes)[codes] == 1)


def _in_turn(codes: Array) -> Array:
    """Order labels so that one of each class comes before a second one of any."""
    order = np.argsort(codes, kind="stable")
    turn = np.empty(len(codes), dtype=np.intp)
    turn[order] = np.arange(len(codes)) - np.searchsorted(codes[order], codes[order])
    return np.argsort(turn, kind="stable")


def read_labels(y: ArrayLike | None, marker: object, regression: bool | str) -> ClassLabels:
    """Read y as the estimators do; targets of a regression have the code 0 and no classes.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    marker : 'auto', number, str, None or NaN
        Marker of unlabelled rows, see `lapwing.classes.markers`.
    regression : 'auto' or bool
        Whether y has targets of a regression. 'auto' is True if y has numbers with fractions.

    Raises
    ------
    ValueError
        If there is no label or only one class, the marker is ambiguous, or values are neither
        classes nor numbers.
    """
    if y is None:
        raise ValueError("y is required to determine which rows have a label.")
    check({"regression": regression}, {"regression": FLAG_OR_AUTO})
    column = read_column(y)
    if regression == "auto":
        regression = has_fractions(column)
    if not regression:
        return code_classes(column, marker)
    _, known = known_targets(column, marker)
    if not known.any():
        raise ValueError(
            f"y contains no label: all {len(column)} entries mark unlabelled rows. Give at least "
            "two targets, one to hold out and one for training."
        )
    return ClassLabels(np.empty(0), np.where(known, 0, -1))


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
        labels, labeled = _labels_to_score(estimator, y, self.unlabeled)
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


def _labels_to_score(estimator: BaseEstimator, y: ArrayLike, marker: object) -> tuple[Array, Array]:
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
    warn_row_order(X, y)
    X, y = indexable(X, read_column(y))
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
