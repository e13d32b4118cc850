"""Groups of classes of a data set."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils import Bunch

from lapwing.datasets import group_classes


def small_bunch() -> Bunch:
    target = np.array([0, 1, 2, 3, 0, 1, 2, 3])
    return Bunch(
        data=np.arange(16.0).reshape(8, 2),
        target=target,
        target_names=np.array([10, 11, 12, 13]),
        is_test=np.arange(8) >= 4,
        DESCR="Eight points.",
    )


def test_groups_join_classes_and_omit_others() -> None:
    before = small_bunch()
    data = group_classes(before, [[3, 1], [0]])
    rows = np.array([0, 1, 3, 4, 5, 7])
    assert np.array_equal(data.data, before.data[rows])
    assert data.target.tolist() == [1, 0, 0, 1, 0, 0]
    assert data.target_names.tolist() == ["13, 11", "10"]
    assert data.is_test.tolist() == [False, False, False, True, True, True]
    assert data.DESCR.endswith("Classes here: 13, 11 against 10")
    assert before.target.tolist() == small_bunch().target.tolist()


def test_grouping_all_classes_keeps_the_data_itself() -> None:
    before = small_bunch()
    data = group_classes(before, [range(2), range(2, 4)])
    assert data.data is before.data


def test_grouping_without_an_official_test_part() -> None:
    before = small_bunch()
    before.is_test = None
    assert group_classes(before, [[0], [1]]).is_test is None


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
