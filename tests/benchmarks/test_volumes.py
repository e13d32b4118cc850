"""The benchmark of class volumes: known and wrong priors, stored records, and verdicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.shared.data import Data
from benchmarks.volumes import records as records_module
from benchmarks.volumes.command import compare_flow, errors, expectations
from benchmarks.volumes.contenders import METHODS
from benchmarks.volumes.problems import (
    SOURCES,
    UNSEEN,
    Source,
    Task,
    _thinned,
    drawn,
    points_of,
    prior_of,
)
from benchmarks.volumes.records import Record, gather, read
from lapwing.solvers.graph.registry import PARTITIONS

TASK = Task("mnist", 1, 0)


def clouds() -> Data:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [50, 30])
    is_test = np.arange(80) % 4 == 0
    return Data(rng.standard_normal((80, 3)) + 4 * y[:, None], y, is_test)


def record(method: str, prior: str, error: float, draw: int = 0) -> Record:
    return Record(replace(TASK, draw=draw), method, prior, error, 1.0)


def draws(method: str, prior: str, error: float) -> list[Record]:
    return [record(method, prior, error, draw) for draw in range(20)]


def test_labels_are_drawn_at_random_with_one_of_each_class() -> None:
    y = np.repeat([0, 1, 2], [300, 30, 3])
    counts = []
    for draw in range(40):
        labels = drawn(y, Task("usps at random", 5, draw), published=False)
        assert (labels[labels >= 0] == y[labels >= 0]).all()
        counts.append(np.bincount(labels[labels >= 0], minlength=3))
    assert {int(each.sum()) for each in counts} == {15}
    assert min(each.min() for each in counts) == 1
    assert np.mean(counts, axis=0)[0] > 11


def test_every_second_class_is_thinned_to_a_tenth() -> None:
    y = np.tile(np.arange(4), 50)
    data = Data(np.arange(200.0)[:, None], y)
    found, again = _thinned(lambda: data), _thinned(lambda: data)
    assert np.bincount(found.y).tolist() == [50, 5, 50, 5]
    assert (found.y == y[found.X[:, 0].astype(int)]).all()
    assert (found.X == again.X).all()


def test_known_wrong_and_unknown_priors() -> None:
    y = np.repeat([0, 1], [50, 30])
    np.testing.assert_allclose(prior_of(y, "known"), np.array([50, 30]) / 80)
    np.testing.assert_allclose(prior_of(y, "wrong"), np.array([25, 45]) / 70)
    assert prior_of(y, "unknown") is None


def test_unseen_points_are_excluded_from_the_fit() -> None:
    data = clouds()
    assert data.is_test is not None
    assert not data.is_test[points_of(data, Task(UNSEEN, 1, 0), None)].any()
    assert len(points_of(data, TASK, None)) == 80
    assert len(points_of(data, TASK, 20)) == 20


@pytest.mark.parametrize("source", ["clouds", UNSEEN])
def test_stored_records_are_read_again(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SOURCES, source, Source(clouds, (1,)))  # type: ignore[misc]
    options: Any = {"n_draws": 1, "most": None}
    found = gather(source, (1,), tmp_path, **options, methods=("mbo", "LapERLS"))
    names = {each.method for each in found}
    assert {"mbo", "LapERLS", "LapERLS + refine"} <= names
    assert {each.prior for each in found} == {"known", "unknown", "wrong"}
    assert all(each.error <= 10 for each in found if each.prior == "known")
    kept = tmp_path / f"{source}.jsonl"
    lines = kept.read_text(encoding="utf-8")
    assert gather(source, (1,), tmp_path, **options, methods=("mbo", "LapERLS")) == found
    assert read(kept) == found
    assert kept.read_text(encoding="utf-8") == lines
    assert read(tmp_path / "nothing.jsonl") == []
    (tmp_path / "told").mkdir()
    some = gather(source, (1,), tmp_path / "told", **options, methods=("mbo",), priors=("known",))
    assert {each.prior for each in some} == {"known"}


def test_every_method_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOURCES, "clouds", Source(clouds, (1,)))  # type: ignore[misc]
    monkeypatch.setattr(
        records_module, "drawn", lambda y, *_, **__: np.where(np.arange(80) % 5, -1, y)
    )
    found = gather("clouds", (1,), tmp_path, n_draws=1, most=None, priors=("unknown",))
    plain = {each.method for each in found if "refine" not in each.method}
    assert plain == set(METHODS) >= set(PARTITIONS)
    assert {f"{name} + refine" for name in plain - {"LabelSpreading", "SVM"}} == {
        each.method for each in found if "refine" in each.method
    }


def test_tables_show_means_and_paired_wins() -> None:
    made = [record("poisson", "known", error, i) for i, error in enumerate((4.0, 6.0, 8.0))]
    made += [record("flow", "known", error, i) for i, error in enumerate((3.0, 7.0, 5.0))]
    rows = {row[1]: row for row in errors(made, "known").rows}
    assert rows["flow"][2:5] == ["5.00 (2.00)", "5.00", "2/3"]
    assert rows["poisson"][4] == "0/3"
    assert errors(made, "wrong").rows == []


@pytest.mark.parametrize(
    ("error", "n_draws", "passed"), [(2.5, 1, None), (2.6, 20, True), (2.7, 20, False)]
)
def test_expectations(error: float, n_draws: int, passed: bool | None) -> None:
    (check,) = expectations([record("flow", "known", error, i) for i in range(n_draws)])
    assert check.what == "mnist, 1 per class, flow, prior known"
    assert check.passed is passed


def test_flow_is_compared_with_the_best_of_the_others() -> None:
    flow, poisson, mbo = (
        draws(method, "unknown", error)
        for method, error in (("flow", 7.0), ("poisson", 4.5), ("mbo", 9.0))
    )
    assert compare_flow([*flow, *poisson, *mbo]).rows == [
        ["mnist, 1", "7.00", "poisson 4.50", "+2.50", "MISS"]
    ]
    found = compare_flow([*flow, *mbo, *draws("SVM", "unknown", 5.5)], ("poisson", "SVM"))
    assert found.rows == [["mnist, 1", "7.00", "SVM 5.50", "+1.50", "pass"]]
    assert found.title.endswith("than the best of poisson, SVM")


def test_mean_of_all_sets_has_a_verdict_if_each_set_has_one() -> None:
    made = [*draws("flow", "unknown", 7.0), *draws("poisson", "unknown", 4.5)]
    more = [replace(each, task=replace(each.task, per_class=5)) for each in made]
    more = [replace(r, error=2.0) if r.method == "flow" else r for r in more]
    rows = compare_flow([*made, *more]).rows
    assert [row[-1] for row in rows] == ["MISS", "pass", "pass"]
    assert rows[-1][:-1] == ["mean of 2", "4.50", "best of each 4.50", "+0.00"]
    few = [each for each in more if each.task.draw]
    assert compare_flow([*made, *few]).rows[-1][-1] == "too few draws"
    worse = [replace(r, error=r.error + 0.1 * (r.method == "flow")) for r in more]
    assert compare_flow([*made, *worse]).rows[-1][-1] == "MISS"
