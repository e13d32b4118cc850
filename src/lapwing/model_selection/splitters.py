"""Splitters that hold out labelled rows only.

scikit-learn's splitters distribute all rows. If most are unlabelled, the training sets lose
unlabelled rows, the marker is stratified like a class, and all labels may be in the same set.
Here training sets contain all unlabelled rows, and test sets contain labelled rows only.

Every class must be in each training set: a classifier cannot predict a class without labels, and
with two classes the fit would fail. So the only label of a class is in every training set, with a
warning that no score includes this class.

Training sets start with the labelled rows, with the classes in turn, and end with the unlabelled
rows. As `sklearn.model_selection.learning_curve` trains on their first rows, every size of at least
the number of classes can be fitted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator, KFold, ShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from lapwing._arrays import Array
from lapwing._host.warn import warn
from lapwing._parameters import parameters
from lapwing._words import quoted
from lapwing.classes.labels import ClassLabels, code_classes, has_fractions, known_targets
from lapwing.classes.markers import read_column
from lapwing.exceptions import FewLabelsWarning

_NAMED = 5  # classes listed in a message


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
        # With the checks and messages of scikit-learn.
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

    def _count_splits(self, y: ArrayLike | None) -> int:
        return self.n_splits

    def _label_splits(self, codes: Array, n_classes: int) -> Iterator[tuple[Array, Array]]:
        draws = ShuffleSplit(
            self.n_splits,
            test_size=self.test_size,
            train_size=self.train_size,
            random_state=self.random_state,
        )
        sides = list(draws.split(codes))
        if not n_classes:
            yield from ((train, np.sort(test)) for train, test in sides)
            return
        n_train, n_test = map(len, sides[0])  # sizes by scikit-learn's rules, with its checks
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
    time = np.empty(len(codes))
    for code in np.unique(codes):
        members = random.permutation(np.flatnonzero(codes == code))
        # One random number in each of n equal parts of (0, 1) for a class with n labels.
        time[members] = (np.arange(len(members)) + random.uniform(size=len(members))) / len(members)
        time[members[-1]] = 1 + random.uniform()
    return np.argsort(time)


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
    if not (regression is True or regression is False or regression == "auto"):
        raise ValueError(f"regression={regression!r} must be True, False or 'auto'.")
    column = read_column(y)
    if regression == "auto":
        regression = has_fractions(column)
    if not regression:
        return code_classes(y, marker)
    _, known = known_targets(column, marker)
    if not known.any():
        raise ValueError(
            f"y contains no label: all {len(column)} entries mark unlabelled rows. Give at least "
            "two targets, one to hold out and one for training."
        )
    return ClassLabels(np.empty(0), np.where(known, 0, -1))
