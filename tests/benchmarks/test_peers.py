"""lapwing beside other libraries: what is compared, and that a failure is a figure too."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from benchmarks.__main__ import main
from benchmarks.peers import command
from benchmarks.peers.adapters import CONTENDERS, Contender, Task
from benchmarks.peers.command import available, measured, table_of
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


def test_the_kernel_follows_the_points() -> None:
    y, shares = np.array([0, -1]), np.ones(1)
    assert Task(np.zeros((2, 2)), y, shares).kernel == "rbf"
    assert Task(np.zeros((2, 3)), y, shares).kernel == "linear"
    assert Task(csr_array(np.eye(2)), y, shares).kernel == "linear"


def test_a_method_that_fails_is_counted(clouds: tuple[np.ndarray, np.ndarray]) -> None:
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


def test_a_library_that_is_missing_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.peers.adapters.find_spec", lambda name: None)
    chosen = available(("GraphLearning", "scikit-learn"))
    assert {one.library for one in chosen} == {"scikit-learn"}
    told = capsys.readouterr().err
    assert told.count("GraphLearning is left out") == 1
    assert "python -m pip install graphlearning" in told


def test_a_run_continues_only_if_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clouds: tuple[np.ndarray, np.ndarray]
) -> None:
    calls = []

    def first_class(task: Task) -> np.ndarray:
        calls.append(len(task.known))
        return np.zeros(len(task.y), dtype=np.int64)

    monkeypatch.setattr(command, "CONTENDERS", (Contender("lapwing", "zero", first_class),))
    monkeypatch.setattr(command, "sampled", lambda name, most: clouds)
    options = ["peers", "--sets", "g50c", "--draws", "2", "--output", str(tmp_path)]
    assert main(options) == 0
    assert sorted(calls) == [2, 2, 6, 6, 20, 20]
    kept = json.loads((tmp_path / "peers.json").read_text(encoding="utf-8"))
    assert len(kept["answers"]) == 6
    assert main([*options, "--resume"]) == 0
    assert len(calls) == 6
    assert main(options) == 0
    assert len(calls) == 12
