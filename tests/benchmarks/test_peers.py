"""Comparison of lapwing with other libraries: its tasks and methods, and counted failures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from benchmarks.peers.adapters import CONTENDERS, Contender, Task
from benchmarks.peers.command import measured, table_of
from benchmarks.shared.known import Answer
from tests.helpers.data import two_clouds


@pytest.fixture
def clouds() -> tuple[np.ndarray, np.ndarray]:
    X, y = two_clouds(60, apart=(5.0, 0, 0))
    return X, (y > 0).astype(np.int64)


@pytest.mark.parametrize("contender", CONTENDERS, ids=lambda one: f"{one.library} {one.name}")
def test_every_method_answers(contender: Contender, clouds: tuple[np.ndarray, np.ndarray]) -> None:
    if contender.missing is not None:
        pytest.skip(contender.missing)
    X, truth = clouds
    answer = measured(truth, contender, Task.drawn(X, truth, 10, np.random.default_rng(0)))
    assert answer.failed == ""
    assert answer.error is not None
    assert answer.error < 10


def test_labels_come_in_equal_numbers(clouds: tuple[np.ndarray, np.ndarray]) -> None:
    X, truth = clouds
    for labels in (1, 3, 10):
        task = Task.drawn(X, truth, labels, np.random.default_rng(0))
        assert np.bincount(task.y[task.known]).tolist() == [labels, labels]
        np.testing.assert_array_equal(task.y[task.known], truth[task.known])
        assert task.shares.sum() == pytest.approx(1)


def test_default_kernel_of_a_task() -> None:
    y, shares = np.array([0, -1]), np.ones(1)
    assert Task(np.zeros((2, 2)), y, shares).kernel == "rbf"
    assert Task(np.zeros((2, 3)), y, shares).kernel == "linear"
    assert Task(csr_array(np.eye(2)), y, shares).kernel == "linear"


def test_failures_are_counted(clouds: tuple[np.ndarray, np.ndarray]) -> None:
    def broken(task: Task) -> np.ndarray:
        raise ValueError("no such graph")

    X, truth = clouds
    contender = Contender("Other", "m n", broken)
    found = measured(truth, contender, Task.drawn(X, truth, 1, np.random.default_rng(0)))
    assert (found.error, found.failed) == (None, "ValueError: no such graph")
    answers = [Answer("s", contender.key, 1, 0, *found), Answer("s", contender.key, 1, 1, 7.0, 1.0)]
    table = table_of("s", answers)
    assert table.header == ["library", "method", "1 per class", "s"]
    assert table.rows == [["Other", "m n", "7.0 (0.0), 1 failed", "1.00"]]
    assert table.notes[1] == "- Other m n: ValueError: no such graph."
