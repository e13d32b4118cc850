"""Hiding labels, and grouping classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import Bunch

from lapwing.classes.labels import code_classes
from lapwing.classes.markers import missing_mask, read_column, unlabeled_mask
from lapwing.datasets import group_classes, mask_labels

LABELS = {
    "int": lambda codes: codes,
    "uint8": lambda codes: codes.astype(np.uint8),
    "float": lambda codes: codes.astype(float),
    "bool": lambda codes: codes % 2 == 0,
    "str": lambda codes: np.array(["a", "bb", "ccc", "d"])[codes],
    "object": lambda codes: np.array(["a", "bb", "ccc", "d"], dtype=object)[codes],
}


@given(
    codes=st.lists(st.integers(0, 3), min_size=1, max_size=30).map(lambda c: [0, 1, *c]),
    kind=st.sampled_from(sorted(LABELS)),
    marker=st.sampled_from([-1, -1.5, None, np.nan, "?", "unlabelled", 1000]),
    seed=st.integers(0, 2**32 - 1),
    data=st.data(),
)
def test_keeps_the_requested_number_of_each_class(
    codes: list[int], kind: str, marker: Any, seed: int, data: st.DataObject
) -> None:
    y = LABELS[kind](np.array(codes))
    before = y.copy()
    classes, counts = np.unique(y, return_counts=True)
    n = data.draw(st.integers(1, int(counts.min())))
    masked = mask_labels(y, n, unlabeled=marker, random_state=seed)
    labeled = ~unlabeled_mask(masked, marker)
    assert np.array_equal(y, before)
    assert np.array_equal(y[labeled], masked[labeled])
    assert [int(np.sum(y[labeled] == c)) for c in classes] == [n] * len(classes)
    again = mask_labels(y, n, unlabeled=marker, random_state=seed)
    assert np.array_equal(labeled, ~unlabeled_mask(again, marker))
    if len(classes) > 1:  # as estimators read the labels
        coded = code_classes(masked, marker)
        assert np.array_equal(coded.classes, classes)
        assert np.array_equal(coded.classes[coded.codes[labeled]], y[labeled])


@given(y=st.lists(st.integers(0, 9), min_size=1, max_size=20), data=st.data())
def test_keeps_labels_of_given_points(y: list[int], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.integers(0, len(y) - 1), unique=True))
    expected = [label if i in kept else -1 for i, label in enumerate(y)]
    assert mask_labels(y, labeled_indices=kept).tolist() == expected
    mask = np.isin(np.arange(len(y)), kept)
    assert mask_labels(y, labeled_indices=mask).tolist() == expected


def test_every_point_of_a_class_may_be_drawn() -> None:
    y = np.repeat([0, 1], 4)
    drawn = {
        int(i) for s in range(60) for i in np.flatnonzero(mask_labels(y, 1, random_state=s) + 1)
    }
    assert drawn == set(range(8))


@pytest.mark.parametrize(
    ("labels", "marker", "dtype"),
    [
        (np.array([3, 4], np.uint8), -1, np.int64),
        (np.array([3, 4]), np.nan, np.float64),
        (np.array(["a", "b"]), "none", np.dtype("<U4")),
        (np.array(["a", "b"]), -1, object),
        (np.array([True, False]), -1, object),
        (np.array([3, 4]), None, object),
        (pd.array([3, 4]), -1, np.int64),
        (pd.Series([True, False], dtype="boolean"), -1, object),
    ],
)
def test_type_is_widened_only_for_the_marker(labels: Any, marker: Any, dtype: Any) -> None:
    assert mask_labels(labels, labeled_indices=[0], unlabeled=marker).dtype == dtype


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give either n_labeled_per_class or labeled_indices"),
        ({"n_labeled_per_class": 1, "labeled_indices": [0]}, "and not both"),
        ({"n_labeled_per_class": 2}, "n_labeled_per_class=2, but class 2 has 1 points"),
        ({"n_labeled_per_class": 0}, "n_labeled_per_class=0 must be a whole number of at least 1"),
        ({"n_labeled_per_class": 1.0}, "n_labeled_per_class=1.0 must be a whole number"),
        ({"n_labeled_per_class": True}, "n_labeled_per_class=True must be a whole number"),
        ({"labeled_indices": [0, 5]}, "0 to 5 is out of range; the 5 points have .* 0 to 4"),
        ({"labeled_indices": [-1]}, "from -1 to -1 is out of range"),
        ({"labeled_indices": [1, 1]}, "names a point more than once"),
        ({"labeled_indices": [0.0]}, "array of integers or a boolean mask"),
        ({"labeled_indices": [[0]]}, "one-dimensional"),
        ({"labeled_indices": [True]}, r"mask of shape \(1,\); y has shape \(5,\)"),
        ({"n_labeled_per_class": 1, "unlabeled": 2}, "unlabeled=2 is already in y"),
        ({"n_labeled_per_class": 1, "unlabeled": "auto"}, "give the marker to write, such as -1"),
    ],
)
def test_rejects_invalid_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mask_labels([0, 0, 1, 1, 2], **options)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.0, 0, 1, 1, np.nan], "no label in row 4, and labels are drawn from"),
        (["a", None, "b", "", "a"], "no label in row 1,"),
        (np.ma.array([0, 0, 1], mask=[0, 1, 0]), "no label in row 1,"),
        (["a", 1, "a", 1], "mixes labels of several types"),
    ],
)
def test_labels_are_drawn_from_complete_labels_of_one_type(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mask_labels(y, 1)
    if missing_mask(read_column(y)).any():
        with pytest.raises(ValueError, match=r"unlabeled=None is already in y.*such as -1"):
            mask_labels(y, 1, unlabeled=None)
    assert mask_labels(y, labeled_indices=[0]).tolist() == [y[0]] + [-1] * (len(y) - 1)


# --- groups of classes ---------------------------------------------------------------------------


def small_bunch() -> Bunch:
    target = np.array([0, 1, 2, 3, 0, 1, 2, 3])
    return Bunch(
        data=np.arange(16.0).reshape(8, 2),
        target=target,
        target_names=np.array([10, 11, 12, 13]),
        is_test=np.arange(8) >= 4,
        DESCR="Eight points.",
    )


def test_groups_join_classes_and_omit_others_or_keep_the_data_itself() -> None:
    before = small_bunch()
    data = group_classes(before, [[3, 1], [0]])
    rows = np.array([0, 1, 3, 4, 5, 7])
    assert np.array_equal(data.data, before.data[rows])
    assert data.target.tolist() == [1, 0, 0, 1, 0, 0]
    assert data.target_names.tolist() == ["13, 11", "10"]
    assert data.is_test.tolist() == [False, False, False, True, True, True]
    assert data.DESCR.endswith("Classes here: 13, 11 against 10")
    assert before.target.tolist() == small_bunch().target.tolist()
    before.is_test = None  # no official test part
    everything = group_classes(before, [range(2), range(2, 4)])
    assert everything.data is before.data
    assert everything.is_test is None


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([[0, 1]], "at least two classes are needed"),
        ([[0], []], r"groups\[1\] is empty"),
        ([[0], [4]], r"groups\[1\] holds 4; the classes are 0 to 3"),
        ([[0], [1.5]], r"groups\[1\] holds 1.5"),
        ([[0, 1], [1]], "class 1 is named twice"),
    ],
)
def test_rejects_invalid_groups(groups: list[list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        group_classes(small_bunch(), groups)
