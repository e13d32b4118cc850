"""The benchmark of refits: its measurements and its limits."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.refits.command import Spent, check_all, problem

THREADS = Spent("S3VC", 1.0, 4.0)


@pytest.mark.parametrize(
    ("draws", "left_out", "updates", "threads", "missed"),
    [
        (3.0, 1.0, 0.1, 4.9, []),
        (3.1, 1.0, 0.1, 4.9, ["200 draws, LapRLS"]),
        (3.0, 1.1, 0.1, 4.9, ["leave-one-out, LapRLS"]),
        (3.0, 1.0, 0.11, 4.9, ["one more label, LapRLS"]),
        (3.0, 1.0, 0.1, 5.1, ["4 threads, S3VC"]),
    ],
)
def test_limits(
    draws: float, left_out: float, updates: float, threads: float, missed: list[str]
) -> None:
    one = [Spent("LapRLS", 1.0, seconds) for seconds in (draws, left_out, updates)]
    checks = check_all([one[0]], [one[1]], [one[2]], Spent("S3VC", 1.0, threads))
    assert [check.what for check in checks if not check.passed] == missed


def test_problems_have_labels_of_all_classes() -> None:
    X, y, truth = problem(60, 3)
    assert X.shape == (60, 20)
    assert np.bincount(y[y >= 0]).tolist() == [10, 10, 10]
    np.testing.assert_array_equal(y[y >= 0], truth[y >= 0])
