"""The benchmark of parameters chosen by leave-one-out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.tuning import command
from benchmarks.tuning.command import Cost, Gain, measure_values


def line(_: Any = None) -> tuple[Any, Any]:
    X = np.random.default_rng(0).uniform(size=(120, 2))
    return X, X[:, 0]


def test_errors_of_values_are_shares_of_their_deviation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "VALUES", {"line": line})
    gains = measure_values("line", 1)
    assert [gain.labels for gain in gains] == [10, 30, 100]
    assert 0 < gains[-1].errors[1] < gains[0].errors[1] < 100


@pytest.mark.parametrize(("seconds", "status"), [(12.0, 0), (12.1, 1)])
def test_a_path_that_costs_too_much_fails(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    seconds: float,
    status: int,
) -> None:
    monkeypatch.setattr(
        command, "measure_costs", lambda n, rounds: [Cost("LapSVCCV", "2 classes", seconds, 1.0)]
    )
    monkeypatch.setattr(command, "measure_values", lambda *_: [Gain("line", 10, (2.0, 1.0))])
    options = ["--tables", "cost", "values", "--output", str(tmp_path)]
    assert main(["tuning", *options]) == status
    printed = capsys.readouterr().out
    assert ("MISS" in printed) is bool(status)
    assert "Error on the unlabelled points, %" not in printed
    kept = json.loads((tmp_path / "tuning.json").read_text())
    assert kept["costs"][0]["ratio"] == seconds
    assert len(kept["values"]) == len(command.VALUES)
    assert {"command", "date", "machine", "versions", "load"} <= kept["run"].keys()
