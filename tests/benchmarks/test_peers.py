"""Comparison of lapwing with other libraries: its tasks."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from benchmarks.peers.adapters import Task


def test_default_kernel_of_a_task() -> None:
    y, shares = np.array([0, -1]), np.ones(1)
    assert Task(np.zeros((2, 2)), y, shares).kernel == "rbf"
    assert Task(np.zeros((2, 3)), y, shares).kernel == "linear"
    assert Task(csr_array(np.eye(2)), y, shares).kernel == "linear"


def test_a_task_knows_the_class_proportions() -> None:
    truth = np.repeat([0, 1], [30, 10])
    task = Task.drawn(np.zeros((40, 1)), truth, 3, np.random.default_rng(0))
    assert task.shares.tolist() == [0.75, 0.25]
    np.testing.assert_array_equal(task.y[task.known], truth[task.known])
