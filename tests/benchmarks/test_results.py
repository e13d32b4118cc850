"""What all benchmarks share: results that are kept, and expectations that are judged."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.lapsvm.drawings import DRAWINGS
from benchmarks.shared.checks import Check, limits_table, meets_limit
from benchmarks.shared.data import standardized
from benchmarks.shared.files import Lines, read_json, write_whole
from benchmarks.shared.output import Results, join, publish
from benchmarks.shared.run import RunInfo
from benchmarks.shared.tables import Table

# Expectations


@pytest.mark.parametrize(
    ("values", "full", "passed"),
    [
        ([2.5, 2.9], 10, None),  # the interval of two splits is wide
        ([1.5, 1.9], 10, None),
        ([7.9, 8.1], 10, False),
        ([0.1, 0.2], 10, True),
        ([9.0], 10, None),  # one split has no deviation
        ([9.0], 1, False),
        ([2.3, 2.5, 2.4, 2.6, 2.2, 2.4], 10, False),
        # Of nine in ten splits little is open, of nine in a thousand much.
        ([1.5, 2.0, 2.2] * 3, 10, True),
        ([1.5, 2.0, 2.2] * 3, 1000, None),
        # All splits of the protocol: their mean decides, however near the limit it is.
        ([1.0, 3.0] * 5, 10, True),
        ([1.0, 3.02] * 5, 10, False),
        ([1.0, 3.008] * 5, 10, True),  # as it is printed
    ],
)
def test_limit_is_compared_with_a_confidence_interval(
    values: list[float], full: int, passed: bool | None
) -> None:
    assert meets_limit(values, 2.0, full) is passed


@given(st.lists(st.floats(0, 50), min_size=2, max_size=9), st.floats(0, 50))
def test_fewer_splits_give_the_same_verdict_or_none(values: list[float], limit: float) -> None:
    of_all = meets_limit(values, limit, len(values))
    assert of_all is not None
    assert meets_limit(values, limit, 10 * len(values)) in (of_all, None)


def test_too_few_splits_do_not_miss_a_limit() -> None:
    checks = [Check("a", "2.6", "2.3", passed=None), Check("b", "2", "1", passed=False)]
    table = limits_table(checks, {"a": "not missed", "b": "because"})
    assert [row[4] for row in table.rows] == ["too few splits", "MISS"]
    assert table.notes == ["- b: because"]


# Files


def test_incomplete_files_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert read_json(path) is None
    path.write_text('{"run": [1,', encoding="utf-8")
    assert read_json(path) is None
    write_whole(path, '{"run": [1, 2]}')
    assert read_json(path) == {"run": [1, 2]}
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]


def test_lines_continue_after_the_last_complete_one(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "a.jsonl"
    lines = Lines(path)
    assert list(lines) == []
    lines.add({"a": 1})
    lines.add({"a": 2})
    with path.open("a", encoding="utf-8") as file:
        file.write('{"a": ')
    again = Lines(path)
    assert list(again) == [{"a": 1}, {"a": 2}]
    again.add({"a": 3})
    assert list(Lines(path)) == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert list(Lines(path, resume=False)) == []


def test_results_contain_their_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["x", "lapsvm", "--output", "/somebody/at/home", "--sets", "g50c", "--output=/there"]
    monkeypatch.setattr("sys.argv", typed)
    table, empty = Table("T", ["a"], [["1"]], ["note"]), Table("nothing", ["a"], [])
    results = Results([table, empty], raw={"sets": 3})
    assert publish(results, Namespace(benchmark="lapsvm", output=tmp_path / "new")) == 0
    kept = json.loads((tmp_path / "new" / "lapsvm.json").read_text(encoding="utf-8"))
    assert kept["sets"] == 3
    assert kept["tables"] == [{"title": "T", "header": ["a"], "rows": [["1"]], "notes": ["note"]}]
    run = RunInfo.of(kept["run"])
    assert run.command == "python -m benchmarks lapsvm --sets g50c"
    assert run.date.startswith("20")
    assert run.date.endswith("+00:00")
    assert run.processor > 0
    words = run.describe()
    for part in (run.date[:10], "core", "GB", "load", "lapwing-learn ", "CPU time", "numpy "):
        assert part in words
    assert "### T" in capsys.readouterr().out


def test_results_are_published_with_their_checks_and_figures(tmp_path: Path) -> None:
    drawn = []

    def draw(folder: Path) -> Path:
        drawn.append(folder)
        return folder / "a.png"

    table, check = Table("T", ["a"], [["1"]]), Check("x", "2", "1", passed=False)
    results = Results([table], [check], {"k": 1}, [draw], {"x": "because"}, passed=False)
    arguments = Namespace(output=tmp_path, benchmark="one", no_figures=False)
    assert publish(results, arguments) == 1
    kept = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    assert (kept["k"], kept["checks"][0]["what"]) == (1, "x")
    assert kept["tables"][1]["notes"] == ["- x: because"]
    arguments.no_figures = True
    assert publish(replace(results, passed=True, name="two"), arguments) == 0
    assert (tmp_path / "two.md").is_file()
    assert drawn == [tmp_path]


def test_parts_are_joined() -> None:
    nothing = Results([Table("T", ["a"], [])])
    part = Results([Table("T", ["a"], [["1"]])], [Check("x", "2", "1", passed=True)])
    joined = join([part, nothing, part], raw={"k": 1})
    assert joined == Results([*part.tables] * 2, [*part.checks] * 2, {"k": 1}, [])
    assert join([nothing], raw={}) == 1


# Draws of labels, and images


@pytest.mark.parametrize("name", DRAWINGS)
def test_every_drawing_covers_all_classes(name: str) -> None:
    labels = np.repeat(np.arange(4), 9)
    pool = np.arange(2, 36)
    for seed in range(20):
        drawn = DRAWINGS[name](pool, labels, 8, np.random.default_rng(seed))
        assert drawn.shape == np.unique(drawn).shape == (8,)
        assert np.isin(drawn, pool).all()
        assert set(labels[drawn]) == {0, 1, 2, 3}
        if name == "two per class":
            assert np.bincount(labels[drawn]).tolist() == [2, 2, 2, 2]


def test_images_are_standardised_one_by_one() -> None:
    images = np.array([[1, 2, 3, 6], [10, 20, 30, 60], [7, 7, 7, 7]], dtype=np.float32)
    found = standardized(images)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
    np.testing.assert_allclose(found[:2].mean(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(found[:2].std(axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(found[2], 0)
