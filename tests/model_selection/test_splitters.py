"""Splitters that hold out labelled rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from lapwing.exceptions import FewLabelsWarning
from lapwing.model_selection import (
    LabeledKFold,
    LabeledShuffleSplit,
    LabeledStratifiedKFold,
    LeaveOneLabelOut,
)

FOLDS = (LabeledKFold, LabeledStratifiedKFold)
EVERY = (*FOLDS, LabeledShuffleSplit, LeaveOneLabelOut)
FOR_REGRESSION = (LabeledKFold, LabeledShuffleSplit, LeaveOneLabelOut)


def sides(splitter: Any, y: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """All splits, without the warnings that few labels bring."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewLabelsWarning)
        return list(splitter.split(np.zeros((len(y), 1)), y))


@st.composite
def columns(draw: st.DrawFn) -> np.ndarray:
    """Labels of 2 to 4 classes, some classes with one label, one with two at least; -1 is none."""
    n_classes = draw(st.integers(2, 4))
    counts = draw(st.lists(st.integers(1, 6), min_size=n_classes, max_size=n_classes))
    counts[0] += 1
    labels = np.repeat(np.arange(n_classes) + 2, counts)  # 0 and 1 beside -1 are doubted
    y = np.r_[labels, np.full(draw(st.integers(0, 8)), -1)]
    return np.array(draw(st.permutations(list(y))))


@st.composite
def splitters(draw: st.DrawFn, kinds: tuple[type, ...] = EVERY) -> Any:
    kind = draw(st.sampled_from(kinds))
    if kind is LeaveOneLabelOut:
        return kind()
    seed = draw(st.integers(0, 5))
    if kind is LabeledShuffleSplit:
        return kind(3, test_size=draw(st.sampled_from([0.1, 0.4, 2])), random_state=seed)
    shuffle = draw(st.booleans())
    n_splits = draw(st.integers(2, 7))
    return kind(n_splits, shuffle=shuffle, random_state=seed if shuffle else None)


@given(columns(), splitters())
def test_splits_have_no_overlap_and_all_classes(y: np.ndarray, splitter: Any) -> None:
    labeled = y != -1
    for train, test in sides(splitter, y):
        assert len(test) > 0
        assert labeled[test].all()
        assert len(np.intersect1d(train, test)) == 0
        assert len(np.unique(train)) + len(np.unique(test)) == len(train) + len(test) == len(y)
        assert np.isin(np.flatnonzero(~labeled), train).all()
        # `learning_curve` trains on the first rows: labels, and one of each class first.
        classes = set(y[labeled])
        assert set(y[train[: len(classes)]]) == classes
        assert (np.diff(labeled[train].astype(int)) <= 0).all()


@given(columns(), splitters((*FOLDS, LeaveOneLabelOut)))
def test_each_label_is_held_out_once_unless_it_is_the_only_one(y: Any, splitter: Any) -> None:
    values, counts = np.unique(y[y != -1], return_counts=True)
    expected = np.flatnonzero(np.isin(y, values[counts > 1]))
    splits = sides(splitter, y)
    np.testing.assert_array_equal(np.sort(np.concatenate([t for _, t in splits])), expected)
    assert splitter.get_n_splits(None, y) == len(splits)


@given(columns(), st.integers(2, 5))
def test_stratified_folds_differ_by_one_label_at_most(y: np.ndarray, n_splits: int) -> None:
    tests = [test for _, test in sides(LabeledStratifiedKFold(n_splits), y)]
    sizes = [len(test) for test in tests]
    assert max(sizes) - min(sizes) <= 1
    for label in set(y[y != -1]):
        share = [int((y[test] == label).sum()) for test in tests]
        assert max(share) - min(share) <= 1


@pytest.mark.parametrize("seed", [None, 0, 1])
@pytest.mark.parametrize("n_splits", [2, 3, 5])
@pytest.mark.parametrize(
    ("ours", "theirs"), [(LabeledStratifiedKFold, StratifiedKFold), (LabeledKFold, KFold)]
)
def test_folds_are_those_of_scikit_learn_on_the_labelled_rows(
    ours: Any, theirs: Any, n_splits: int, seed: int | None
) -> None:
    rng = np.random.default_rng(seed or 0)
    y = np.array(rng.permutation(np.repeat(["c", "a", "b"], [5, 9, 14])), dtype=object)
    y[rng.permutation(28)[:2]] = "c"
    with_gaps = np.insert(y, [0, 4, 4, 9, 28], None)
    rows = np.flatnonzero([label is not None for label in with_gaps])
    options = {"shuffle": seed is not None, "random_state": seed}
    expected = list(theirs(n_splits, **options).split(y, y))
    for column, place in [(y, np.arange(28)), (with_gaps, rows)]:
        found = list(ours(n_splits, **options).split(column, column))
        assert len(found) == len(expected)
        for (train, test), (other_train, other_test) in zip(found, expected, strict=True):
            np.testing.assert_array_equal(test, place[other_test])
            labeled = train[np.isin(train, place)]
            np.testing.assert_array_equal(np.sort(labeled), place[other_train])


def test_a_fold_with_all_labels_of_a_class_gives_one_away() -> None:
    y = np.array([0, 0, 0, 1, 1, 1, -1])  # two folds in this order would hold a class each
    tests = [test.tolist() for _, test in LabeledKFold(2).split(y, y)]
    assert tests == [[0, 1, 5], [2, 3, 4]]


# ---- random splits -----------------------------------------------------------------------------


def test_shuffled_splits_have_the_sizes_and_the_shares_and_repeat_by_their_seed() -> None:
    y = np.r_[np.repeat([1, 2], [40, 20]), np.full(9, -1)]

    def splits(seed: int) -> list[tuple[list[int], list[int]]]:
        splitter = LabeledShuffleSplit(20, test_size=0.25, train_size=0.5, random_state=seed)
        return [(train.tolist(), test.tolist()) for train, test in splitter.split(y, y)]

    found = splits(0)
    assert found == splits(0) != splits(1)
    assert len({tuple(test) for _, test in found}) == 20
    for train, test in found:
        known = y[train][y[train] != -1]
        assert (len(known), len(test), len(train)) == (30, 15, 39)
        assert (y[test] == 1).sum() in (9, 10, 11)
        assert (known == 1).sum() in range(18, 23)


def test_every_label_is_drawn_as_often_as_any_other() -> None:
    y = np.r_[np.repeat([0, 1], [6, 3]), np.full(4, -1)]
    splitter = LabeledShuffleSplit(1000, test_size=3, random_state=0)
    drawn = np.bincount(np.concatenate([t for _, t in splitter.split(y, y)]), minlength=13) / 1000
    np.testing.assert_allclose(drawn[:6], drawn[:6].mean(), atol=0.05)
    np.testing.assert_allclose(drawn[6:9], drawn[6:9].mean(), atol=0.05)
    assert (drawn[9:] == 0).all()
    assert drawn[:9] == pytest.approx(1 / 3, abs=0.08)


def test_a_size_of_the_training_side_is_a_number_of_labels() -> None:
    y = np.r_[np.repeat([0, 1, 2], 6), np.full(30, -1)]
    for train, _ in LabeledShuffleSplit(3, train_size=3, random_state=0).split(y, y):
        assert sorted(y[train[:3]]) == [0, 1, 2]
        assert len(train) == 33


# ---- regression --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FOR_REGRESSION)
def test_targets_are_not_classes(kind: type) -> None:
    y = np.array([0.5, -1.0, np.nan, 2.0, 3.0, np.nan, -4.0])
    held = np.unique(np.concatenate([t for _, t in kind().split(y, y)]))
    assert set(held) <= {0, 1, 3, 4, 6}
    assert 1 in held or kind is LabeledShuffleSplit
    for train, _ in kind().split(y, y):
        assert {2, 5} <= set(train)


def test_whole_numbers_are_classes_unless_told_otherwise() -> None:
    y = [31, 28, 28, None, 45, -1, 60]
    with pytest.warns(FewLabelsWarning, match="pass regression=True"):
        (_, first), (_, second) = LabeledKFold(2).split(y, y)
    assert (first.tolist(), second.tolist()) == ([1], [2])
    tests = [t.tolist() for _, t in LabeledKFold(6, regression=True).split(y, y)]
    assert tests == [[0], [1], [2], [4], [5], [6]]


def test_a_marker_of_targets_can_be_chosen() -> None:
    y = [1.5, -999.0, 2.0, 0.5, np.nan]
    splits = list(LeaveOneLabelOut(unlabeled=-999.0).split(y, y))
    assert [test.tolist() for _, test in splits] == [[0], [2], [3]]
    assert all({1, 4} <= set(train) for train, _ in splits)


@pytest.mark.parametrize("kind", EVERY)
def test_a_marker_of_classes_can_be_chosen(kind: Any) -> None:
    y = np.array(list("ab?a?b"))
    for train, test in sides(kind(unlabeled="?"), y):
        assert {2, 4} <= set(train)
        assert set(test) <= {0, 1, 3, 5}


# ---- few labels --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kinds", "y", "options", "message"),
    [
        (EVERY, ["a", None, "b", None, "c"], {}, "each of the 3 classes .* Label another row"),
        (EVERY, None, {}, "y is required"),
        (EVERY, ["a", "b", "?", "a"], {}, r"Pass unlabeled='\?' if it marks unlabelled rows"),
        ((LabeledShuffleSplit,), [0, 1, 2] * 6, {"train_size": 2},
            r"train_size=2 leaves 2 labels .* 3 classes: train on at"),
        ((LabeledShuffleSplit,), [0, 0, 1, 1], {"n_splits": 0}, "n_splits=0 must be a whole"),
        (FOR_REGRESSION, [3, 8, -1, 5], {}, r"label can be held out: .* pass regression=True\.$"),
        ((LabeledStratifiedKFold,), [3, 8, -1, 5], {}, r"Label another row of a class\.$"),
        (FOR_REGRESSION, [0.5, np.nan], {}, "No target can be held out: y has only one"),
        (FOR_REGRESSION, [np.nan] * 3, {"regression": True}, "no label: all 3 entries mark unlabe"),
        (FOR_REGRESSION, [0.5, 1], {"regression": "no"}, "regression='no' must be True, False or"),
        (FOR_REGRESSION, [0.5, 1], {"regression": None}, "regression=None must be True, False or"),
        (FOLDS, [0, 1], {"n_splits": 1}, "n_splits=1 must be a whole number of at least 2"),
        (FOLDS, [0, 1], {"random_state": 0}, "shuffle"),
        (FOLDS, [0, 1], {"n_splits": 2.5}, r"n_splits=2\.5 must be a whole number"),
        (FOLDS, [0, 1], {"random_state": "a"}, "random_state=.a. must be None, a whole"),
        ((LabeledShuffleSplit,), [0, 1], {"test_size": [1]}, r"test_size=\[1\] must be a fraction"),
    ],
)  # fmt: skip
def test_labels_and_parameters_are_refused(kinds: Any, y: Any, options: Any, message: str) -> None:
    for kind in kinds:
        with pytest.raises(ValueError, match=message):
            next(kind(**options).split(y, y))


def test_labels_that_are_never_held_out_are_reported() -> None:
    y = ["a", "a", None, "b", "a", "c"]
    with pytest.warns(FewLabelsWarning) as told:
        list(LabeledStratifiedKFold(3).split(y, y))
    (message,) = {str(w.message) for w in told}
    assert message.startswith("2 of 5 labels are never held out")
    assert "('b', 'c')" in message
    assert message.endswith("Label another row of each such class.")
    many = ["a", "a", None, *"bcdefgh"]
    with pytest.warns(FewLabelsWarning, match=r"'b', 'c', 'd', 'e', 'f' and 2 more\)"):
        list(LeaveOneLabelOut().split(many, many))


@pytest.mark.parametrize("kind", FOLDS)
def test_fewer_labels_than_folds_make_fewer_folds(kind: type) -> None:
    y = ["a", "b", None, "a", "b"]
    with pytest.warns(FewLabelsWarning, match=r"n_splits=5 is more than the 4 labels .* 4 splits"):
        splits = list(kind().split(y, y))
    assert len(splits) == kind().get_n_splits(None, y) == 4
    assert kind().get_n_splits() == 5


# ---- scikit-learn's protocol -------------------------------------------------------------------


@pytest.mark.parametrize("kind", EVERY)
def test_groups_and_other_rows_are_refused(kind: type) -> None:
    y = np.array([0, 0, 0, 1, 1, 1, -1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        next(kind().split([[0.0]], y))
    message = f"^{kind.__name__} does not use groups: rows of a group .* Leave groups out.$"
    with pytest.raises(ValueError, match=message):
        next(kind().split(y, y, groups=y))
    with pytest.raises(ValueError, match=message):
        kind().get_n_splits(y, y, y)
    splitter = kind() if kind is LeaveOneLabelOut else kind(2)
    assert splitter.get_n_splits(y, y, None) == len(list(splitter.split(y, y, None)))
    assert check_cv(splitter) is splitter
    if kind is LeaveOneLabelOut:
        with pytest.raises(ValueError, match="y is required"):
            splitter.get_n_splits()
    else:
        assert splitter.get_n_splits() == 2


def test_the_number_of_random_splits_needs_no_labels() -> None:
    assert LabeledShuffleSplit(7).get_n_splits([[0.0]], ["no", "label", "twice"]) == 7
