"""The benchmark of choosing: draws of labels, kept records, and constants from other sets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.choosing import records as records_module
from benchmarks.choosing.command import errors, estimates
from benchmarks.choosing.problems import SOURCES, Source, Task, draw, tasks
from benchmarks.choosing.records import Record, Row, gather, of_other_sizes, read
from benchmarks.choosing.rules import chosen, larger_of_both, outcomes
from benchmarks.shared.data import Data
from lapwing.model_selection.candidates import CLUSTERS, LABELS_ALONE
from lapwing.model_selection.evidence import CONSTANTS

TASK = Task("g50c", 3, "equal", 0)


def clouds() -> Data:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    return Data(rng.standard_normal((60, 2)) + 3 * y[:, None], y)


def row(name: str, assumption: str, error: float, missed: int = 0, left_out: int = 10) -> Row:
    half = left_out // 2
    first = min(missed, half)
    misses = [first, missed - first]
    return Row(name, assumption, "", 0.1, misses, [half, half], [0.5, 0.5], 1.0, 0.0, error, 1.0)


def record(source: str, number: int, *rows: Row) -> Record:
    return Record(replace(TASK, source=source, draw=number), rows)


@pytest.mark.parametrize("drawing", ["equal", "random"])
def test_numbers_of_drawn_labels(drawing: str) -> None:
    y = np.repeat([0, 1, 2], [40, 8, 2])
    data = Data(np.zeros((50, 1)), y)
    for number in range(5):
        drawn = draw(data, replace(TASK, per_class=2, drawing=drawing, draw=number), 50, 0)
        labeled = drawn.y >= 0
        assert (drawn.y[labeled] == drawn.data.y[labeled]).all()
        counts = np.bincount(drawn.y[labeled], minlength=3)
        assert (counts > 0).all()
        assert (counts == 2).all() if drawing == "equal" else 6 <= counts.sum() <= 8


def test_single_labels_have_no_random_drawing() -> None:
    found = tasks("g50c", 2)
    assert len(found) == len(set(found)) == 10
    assert not any(task.per_class == 1 and task.drawing == "random" for task in found)
    assert {task.draw for task in tasks("g50c", 2, first=100)} == {100, 101}


def test_stored_records_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOURCES, "clouds", Source(clouds, "clouds"))  # type: ignore[misc]
    monkeypatch.setattr(records_module, "tasks", lambda *_: [replace(TASK, source="clouds")])
    (first,) = gather("clouds", tmp_path, n_draws=1, size=40, seed=0)
    assert all(row.error <= 0.2 for row in first.rows)
    monkeypatch.setattr(records_module, "measured", None)  # nothing is measured again
    assert gather("clouds", tmp_path, n_draws=1, size=40, seed=0) == [first]
    assert read(tmp_path / "nothing.jsonl") == []
    (kept,) = tmp_path.glob("*.jsonl")
    earlier = json.loads(kept.read_text())
    del earlier["rows"][0]["contradiction"]
    (tmp_path / "earlier.jsonl").write_text(json.dumps(earlier) + "\n")
    assert read(tmp_path / "earlier.jsonl") == []
    (tmp_path / "earlier.jsonl").unlink()
    assert of_other_sizes(tmp_path, 40) == []
    assert of_other_sizes(tmp_path, 600) == [first]


def test_choice_equals_that_of_compare() -> None:
    good, bad = row("S3VC()", CLUSTERS, 0.1, 1), row("LapSVC(gamma_I=0)", LABELS_ALONE, 0.3, 4)
    made = record("g50c", 0, bad, good)
    assert chosen(made, CONSTANTS) is good
    assert larger_of_both(made) is good
    refused = replace(good, objection="gives a class to nobody")
    assert chosen(record("g50c", 0, bad, refused), CONSTANTS) is bad


def test_constants_come_from_sets_of_other_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    """One set has the errors that its labels suggest, a set of another origin far larger ones."""
    rng = np.random.default_rng(0)
    made = [
        record(source, i, row("LapSVC(gamma_I=0)", LABELS_ALONE, error + 0.01 * rng.random(), 2))
        for source, error in (("g50c", 0.2), ("digit1", 0.4))
        for i in range(4)
    ]
    found = {outcome.task.source: outcome for outcome in outcomes(made)}
    assert found["g50c"].estimate == pytest.approx(0.4, abs=0.02)
    assert found["digit1"].estimate == pytest.approx(0.2, abs=0.02)
    assert not found["g50c"].covered
    # Draws with another number of points are used, draws of the same origin are not.
    more = [replace(one, task=replace(one.task, source="text")) for one in made[:4]]
    helped = {o.task.source: o for o in outcomes(made, [*more, *made[4:]])}
    assert helped["digit1"].estimate == pytest.approx(found["digit1"].estimate, abs=0.01)
    assert helped["g50c"].estimate < found["g50c"].estimate
    table = errors(made, outcomes(made))
    assert [line[0] for line in table.rows] == ["3, equal"]
    assert table.rows[0][-1] == table.rows[0][1]
    assert estimates(outcomes(made)).rows[0][:2] == ["3, equal", "8"]


def test_no_mean_for_methods_missing_on_some_sets() -> None:
    """`BalancedGraphClassifier` is tried from three classes on."""
    alone = row("LapSVC(gamma_I=0)", LABELS_ALONE, 0.4, 4)
    made = [
        record("digit1", 0, alone, row("S3VC()", CLUSTERS, 0.3)),
        record("uspst", 0, alone, row("S3VC()", CLUSTERS, 0.2), row("Balanced()", CLUSTERS, 0.1)),
    ]
    table = errors(made, outcomes(made))
    shown = dict(zip(table.header, table.rows[0], strict=True))
    assert (shown["S3VC"], shown["Balanced"]) == ("25.0", "-")
    assert shown["best in hindsight"] == "20.0"
