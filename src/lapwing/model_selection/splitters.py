"""Splitters that hold out labelled rows and nothing else.

scikit-learn's splitters deal out all rows. Where most have no label, the training side then loses
unlabelled rows, the marker is stratified as if it were a class, and labels may all lie on one side.
Here each training side holds every unlabelled row, and test sides hold labelled rows only.

A class must not be missing from a training side: a classifier cannot predict a class that it does
not know, and with two classes there is no fit at all. So the only label of a class stays in every
training side, and a warning says that no score includes this class.

The training side starts with the labelled rows, the classes in turn, and ends with the unlabelled
ones. `sklearn.model_selection.learning_curve` trains on the first rows of it: any number of them
from one a class on is a problem that can be fitted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
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
from lapwing.classes.labels import as_targets, code_classes
from lapwing.classes.markers import is_auto, missing_mask, read_column, settle, unlabeled_mask
from lapwing.exceptions import FewLabelsWarning

_NAMED = 5  # classes that a message names before it counts the others


class LabeledSplitter(BaseCrossValidator):
    """Base of the splitters; a final class says which labels are held out together."""

    unlabeled: Any
    regression: bool | str = False

    def split(
        self, X: object, y: object = None, groups: object = None
    ) -> Iterator[tuple[Array, Array]]:
        """Yield the sides of each split, as rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points; only their number counts.
        y : array-like of shape (n_samples,)
            Labels, with the unlabelled marker where there is none.
        groups : None
            Not used: any other value is an error.

        Yields
        ------
        train : ndarray of int
            Labelled rows that are not held out, the classes in turn, then all unlabelled rows.
        test : ndarray of int
            Labelled rows that are held out, ascending.

        Raises
        ------
        ValueError
            If no label can be held out, or groups are given.

        Warns
        -----
        FewLabelsWarning
            If some labels are never held out, or there are fewer folds than asked for.
        """
        self._refuse_groups(groups)
        check_consistent_length(X, y)
        labels = self._read(y)
        self._warn_few(labels)
        for train, test in self._sides(labels):
            yield np.concatenate([labels.in_turn(train), labels.unlabeled]), labels.rows[test]

    def _refuse_groups(self, groups: object) -> None:
        """Raise ValueError for groups, which the splits would not keep together."""
        if groups is not None:
            raise ValueError(
                f"{type(self).__name__} does not use groups: rows of a group can lie on both sides "
                "of a split. Leave groups out."
            )

    @abstractmethod
    def _sides(self, labels: SplitLabels) -> Iterator[tuple[Array, Array]]:
        """Yield the positions of the labels on the training and test sides."""

    def _warn_few(self, labels: SplitLabels) -> None:
        """Warn of labels that are never held out."""
        alone = np.flatnonzero(labels.alone)
        if labels.classes is None or labels.codes is None or not len(alone):
            return
        names = labels.classes[labels.codes[alone]].tolist()
        shown = quoted(names, _NAMED)
        warn(
            f"{len(alone)} of {len(labels.rows)} labels are never held out: they are the only ones "
            f"of their classes ({shown}), which no score will know anything of. Label "
            f"another row of each such class.{self._regression_hint(labels)}",
            FewLabelsWarning,
        )

    def _read(self, y: Any) -> SplitLabels:
        labels = read_labels(y, self.unlabeled, self.regression)
        if labels.alone.all():
            raise ValueError(_nothing_to_hold_out(labels) + self._regression_hint(labels))
        return labels

    def _regression_hint(self, labels: SplitLabels) -> str:
        """Advise on whole numbers, which may be targets or classes."""
        if self.regression != "auto" or labels.classes is None:
            return ""
        if labels.classes.dtype.kind not in "iuf":
            return ""
        return " If y holds numbers to predict and not classes, pass regression=True."


class LabeledFolds(LabeledSplitter):
    """A splitter that holds out each label once."""

    n_splits: int
    shuffle: bool
    random_state: Any

    def __post_init__(self) -> None:
        # scikit-learn's checks and messages.
        KFold(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)

    def get_n_splits(self, X: object = None, y: Any = None, groups: object = None) -> int:
        """Number of splits.

        Parameters
        ----------
        X : None
            Ignored.
        y : array-like of shape (n_samples,), default=None
            Labels. Without them the answer is `n_splits`; there are fewer splits if fewer labels
            can be held out.
        groups : None
            Not used: any other value is an error.

        Returns
        -------
        int
            At most `n_splits`.

        Raises
        ------
        ValueError
            If no label can be held out, or groups are given.
        """
        self._refuse_groups(groups)
        return self.n_splits if y is None else self._n_folds(self._read(y))

    def _n_folds(self, labels: SplitLabels) -> int:
        return min(self.n_splits, int((~labels.alone).sum()))

    def _sides(self, labels: SplitLabels) -> Iterator[tuple[Array, Array]]:
        free = np.flatnonzero(~labels.alone)
        n_folds = self._n_folds(labels)
        folds = np.full(len(labels.rows), -1)
        # All of one class where labels are targets of a regression.
        codes = np.zeros(len(free), dtype=np.intp) if labels.codes is None else labels.codes[free]
        folds[free] = self._deal(codes, n_folds)
        for fold in range(n_folds):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)

    @abstractmethod
    def _deal(self, codes: Array, n_folds: int) -> Array:
        """Assign labels to folds so that no class is in one fold only."""

    def _warn_few(self, labels: SplitLabels) -> None:
        super()._warn_few(labels)
        if (n_folds := self._n_folds(labels)) < self.n_splits:
            warn(
                f"n_splits={self.n_splits} is more than the {n_folds} labels that can be held out, "
                f"so there are {n_folds} splits, one a label. Label more rows, or use "
                "LeaveOneLabelOut, which means this.",
                FewLabelsWarning,
            )


@parameters
class LabeledKFold(LabeledFolds):
    """K folds of the labelled rows, with unlabelled rows in every training side.

    For regression, and for classes whose shares may differ from fold to fold; else take
    `LabeledStratifiedKFold`. Folds are those that `sklearn.model_selection.KFold` makes of the
    labelled rows alone. Where labels are classes, two things are different, so that each training
    side knows each class: the only label of a class is never held out, and of a class that is all
    in one fold the last label goes to the next fold.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2. There are fewer, with a warning, if fewer labels can be held
        out.
    shuffle : bool, default=False
        Whether labelled rows are shuffled before they are cut into folds.
    random_state : int, RandomState instance or None, default=None
        Source of the shuffling; give an int for the same folds in every call.
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        What marks unlabelled rows, as for the estimator: by default missing values and, in classes,
        -1.
    regression : 'auto' or bool, default='auto'
        Whether y holds targets of a regression. 'auto': if there are numbers with fractions. Pass
        True if targets are whole numbers, which are taken for classes otherwise. Of targets, only
        missing values are unlabelled by default.

    See Also
    --------
    LabeledStratifiedKFold : Folds with the same shares of the classes.
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

    n_splits: int = 5
    _: KW_ONLY
    shuffle: bool = False
    random_state: int | np.random.RandomState | None = None
    unlabeled: object = "auto"
    regression: bool | str = "auto"

    def _deal(self, codes: Array, n_folds: int) -> Array:
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
class LabeledStratifiedKFold(LabeledFolds):
    """Stratified K folds of the labelled rows.

    Every unlabelled row is in every training side and in no test side. Of each class there is a
    label in every training side: the only label of a class is never held out, and a warning says
    so. If every class has two labels or more, each label is held out once, and the folds are those
    that `sklearn.model_selection.StratifiedKFold` makes of the labelled rows alone. Unlike there,
    classes may all have fewer labels than there are folds.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2. There are fewer, with a warning, if fewer labels can be held
        out.
    shuffle : bool, default=False
        Whether the labels of each class are shuffled before they are dealt out.
    random_state : int, RandomState instance or None, default=None
        Source of the shuffling; give an int for the same folds in every call.
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        What marks unlabelled rows, as for the estimator: by default missing values and -1.

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

    n_splits: int = 5
    _: KW_ONLY
    shuffle: bool = False
    random_state: int | np.random.RandomState | None = None
    unlabeled: object = "auto"

    def _deal(self, codes: Array, n_folds: int) -> Array:
        # Sorted by class and dealt out like cards: shares differ by one label at most, sizes too,
        # and a class of two labels or more is never all in one fold.
        dealt = np.arange(len(codes)) % n_folds
        random = check_random_state(self.random_state)
        _, first, place = np.unique(codes, return_index=True, return_inverse=True)
        by_appearance = np.argsort(np.argsort(first))[place]
        order = np.argsort(by_appearance, kind="stable")
        ends = np.cumsum(np.bincount(by_appearance))
        folds = np.empty(len(codes), dtype=np.intp)
        for members, hand in zip(
            np.split(order, ends[:-1]), np.split(dealt, ends[:-1]), strict=True
        ):
            hand = np.sort(hand)
            if self.shuffle:
                random.shuffle(hand)
            folds[members] = hand
        return folds


@parameters
class LabeledShuffleSplit(LabeledSplitter):
    """Random test sides of labelled rows, with unlabelled rows in every training side.

    Where labels are classes, both sides are drawn with the shares of the classes, as near as whole
    labels allow, and each class keeps a label in the training side: the only label of a class is
    never held out, and the test side is smaller than asked for if need be.

    With `train_size`, the fit sees that many labels and all unlabelled rows: several sizes say how
    much more labels would help.

    Parameters
    ----------
    n_splits : int, default=10
        Number of draws.
    test_size : float, int or None, default=None
        Labels to hold out: their share of all labels, or their number. None: what `train_size`
        leaves, and a tenth if that is None too.
    train_size : float, int or None, default=None
        Labels to train on: their share of all labels, or their number, at least the number of
        classes. None: all that are not held out. Labels that are on neither side are left out of
        both, as if these rows were not there.
    random_state : int, RandomState instance or None, default=None
        Source of the draws; give an int for the same draws in every call.
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        What marks unlabelled rows, as for the estimator: by default missing values and, in classes,
        -1.
    regression : 'auto' or bool, default='auto'
        Whether y holds targets of a regression. 'auto': if there are numbers with fractions. Pass
        True if targets are whole numbers, which are taken for classes otherwise. Of targets, only
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

    def get_n_splits(self, X: object = None, y: Any = None, groups: object = None) -> int:
        """Number of draws.

        Parameters
        ----------
        X, y : None
            Ignored.
        groups : None
            Not used: any other value is an error.

        Returns
        -------
        int
            `n_splits`.

        Raises
        ------
        ValueError
            If groups are given.
        """
        self._refuse_groups(groups)
        return self.n_splits

    def _sides(self, labels: SplitLabels) -> Iterator[tuple[Array, Array]]:
        draws = ShuffleSplit(
            self.n_splits,
            test_size=self.test_size,
            train_size=self.train_size,
            random_state=self.random_state,
        )
        sides = list(draws.split(labels.rows))
        if labels.codes is None:
            yield from ((train, np.sort(test)) for train, test in sides)
            return
        n_train, n_test = map(len, sides[0])  # sizes by scikit-learn's rules, with its checks
        n_classes = int(labels.codes.max()) + 1
        if self.train_size is not None and n_train < n_classes:
            raise ValueError(
                f"train_size={self.train_size!r} leaves {n_train} labels to train on, and y has "
                f"{n_classes} classes: train on at least one label of each."
            )
        random = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            queue = _in_proportion(labels.codes, random)
            test, rest = np.split(queue, [min(n_test, len(queue) - n_classes)])
            # From the end: the last of the queue are one of each class.
            train = rest[::-1] if self.train_size is None else rest[::-1][:n_train]
            yield train, np.sort(test)


@parameters
class LeaveOneLabelOut(LabeledSplitter):
    """Leave-one-out of the labels, with unlabelled rows in every training side.

    The most that few labels can say. It takes as many fits as there are labels. The only label of a
    class is never held out.

    Parameters
    ----------
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        What marks unlabelled rows, as for the estimator: by default missing values and, in classes,
        -1.
    regression : 'auto' or bool, default='auto'
        Whether y holds targets of a regression. 'auto': if there are numbers with fractions. Pass
        True if targets are whole numbers, which are taken for classes otherwise. Of targets, only
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

    def get_n_splits(self, X: object = None, y: Any = None, groups: object = None) -> int:
        """Number of splits: labels that can be held out.

        Parameters
        ----------
        X : None
            Ignored.
        y : array-like of shape (n_samples,)
            Labels.
        groups : None
            Not used: any other value is an error.

        Returns
        -------
        int
            At most the number of labels.

        Raises
        ------
        ValueError
            If no label can be held out, or groups are given.
        """
        self._refuse_groups(groups)
        return int((~self._read(y).alone).sum())

    def _sides(self, labels: SplitLabels) -> Iterator[tuple[Array, Array]]:
        every = np.arange(len(labels.rows))
        for held in np.flatnonzero(~labels.alone):
            yield np.delete(every, held), np.array([held])


def _in_proportion(codes: Array, random: np.random.RandomState) -> Array:
    """Shuffle positions so that every beginning has the classes in proportion.

    The last ones are one of each class, so that any smaller beginning leaves a label of each.
    """
    time = np.empty(len(codes))
    for code in np.unique(codes):
        members = random.permutation(np.flatnonzero(codes == code))
        # One at random in each of as many equal parts of (0, 1) as the class has labels.
        time[members] = (np.arange(len(members)) + random.uniform(size=len(members))) / len(members)
        time[members[-1]] = 1 + random.uniform()
    return np.argsort(time)


def _nothing_to_hold_out(labels: SplitLabels) -> str:
    if labels.classes is None:
        return (
            "No target can be held out: y holds one only, and one must stay to learn from. Give at "
            "least two."
        )
    return (
        f"No label can be held out: each of the {len(labels.classes)} classes has one only, which "
        "must stay in the training side. Label another row of a class."
    )


@dataclass(frozen=True)
class SplitLabels:
    """Labels of a column; positions are indices into `rows`.

    Attributes
    ----------
    rows : ndarray of int of shape (n_labeled,)
        The labelled rows, ascending.
    unlabeled : ndarray of int of shape (n_unlabeled,)
        All other rows, ascending.
    classes : ndarray of shape (n_classes,) or None
        Sorted labels; None where they are targets of a regression.
    codes : ndarray of int of shape (n_labeled,) or None
        Positions in `classes`.
    """

    rows: Array
    unlabeled: Array
    classes: Array | None = None
    codes: Array | None = None

    @property
    def alone(self) -> Array:
        """Return the mask of the positions whose class has no other label."""
        if self.codes is None:
            return np.full(len(self.rows), len(self.rows) == 1)
        return np.asarray(np.bincount(self.codes)[self.codes] == 1)

    def in_turn(self, positions: Array) -> Array:
        """Order positions so that one of each class comes before a second one of any."""
        if self.codes is None:
            return self.rows[positions]
        codes = self.codes[positions]
        order = np.argsort(codes, kind="stable")
        counts = np.bincount(codes)
        turn = np.empty(len(codes), dtype=np.intp)
        turn[order] = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.rows[positions[np.argsort(turn, kind="stable")]]


def read_labels(y: ArrayLike, marker: object, regression: bool | str) -> SplitLabels:
    """Read y as the estimators do.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    marker : 'auto', number, str, None or NaN
        What marks unlabelled rows, see `lapwing.classes.markers`.
    regression : 'auto' or bool
        Whether y holds targets of a regression. 'auto': if it holds numbers with fractions, which
        no class has.

    Raises
    ------
    ValueError
        No label, one class only, a marker that cannot be meant, values that are neither classes nor
        numbers.
    """
    if y is None:
        raise ValueError("y is needed to split: it says which rows have a label.")
    if not (regression is True or regression is False or regression == "auto"):
        raise ValueError(f"regression={regression!r} must be True, False or 'auto'.")
    column = read_column(y)
    if regression == "auto":
        regression = _has_fractions(column)
    if not regression:
        coded = code_classes(y, marker)
        labeled = np.flatnonzero(coded.labeled)
        return SplitLabels(
            labeled, np.flatnonzero(~coded.labeled), coded.classes, coded.codes[labeled]
        )
    # A regression does not take -1 for a marker by itself: it is as good a target as any.
    mask = unlabeled_mask(column, None if is_auto(marker) else marker)
    known = ~mask & ~missing_mask(column)
    as_targets(column[known])
    if not known.any():
        raise ValueError(
            f"y holds no label: all {len(column)} entries mark unlabelled rows. Give at least two "
            "targets, one to hold out and one to learn from."
        )
    return SplitLabels(np.flatnonzero(known), np.flatnonzero(~known))


def _has_fractions(column: Array) -> bool:
    """Return whether all known values are numbers, and some are not whole."""
    values = settle(column[~missing_mask(column)])
    return values.dtype.kind == "f" and bool((values != np.floor(values)).any())
