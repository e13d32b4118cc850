"""Descents from several starts, which of them is believed, and what repairs may change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from lapwing.datasets import mask_labels
from lapwing.graphs import KNNGraph
from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.graph import annealing as annealing_module
from lapwing.solvers.graph import flow as flow_module
from lapwing.solvers.graph import moves as repairs_module
from lapwing.solvers.graph.annealing import Balanced, Run, best_runs, runs_of, side_by_side
from lapwing.solvers.graph.evidence import count_left_out, most_credible
from lapwing.solvers.graph.linear import first_codes, reach_of, scales_of_contrast
from lapwing.solvers.graph.moves import apply_moves
from lapwing.solvers.graph.registry import PARTITIONS
from tests.helpers.volumes import blob_problem, graph_problem

CONTRASTS = (0.3, 0.45, 0.6, 0.75, 0.85, 0.92)


def runs(problem: VolumeProblem) -> list[Run]:
    reach, _ = reach_of(problem)
    begun = problem.whole(first_codes(problem, reach))
    return runs_of(problem, reach, scales_of_contrast(problem, begun, CONTRASTS).scales)


def first(partitions: Sequence[np.ndarray]) -> int:
    return 0


def last(partitions: Sequence[np.ndarray]) -> int:
    return len(partitions) - 1


@pytest.mark.parametrize(("labels", "number"), [(1, 3), (2, 5)])
def test_unknown_volumes_are_followed_from_several_starts(labels: int, number: int) -> None:
    problem, _ = blob_problem(gap=2.0, labels=labels)
    found = runs(problem)
    assert len(found) == number
    *others, even, middle = found
    for run in (even, middle):  # from a middle scale, for the volumes of the prior
        assert_allclose(run.problem.prior, problem.prior)
        assert len(run.traces[0].history) == len(CONTRASTS) - 2
    held = [run for run in others if run.problem.exact]
    assert len(held) == (labels > 1)
    loose = [run for run in others if not run.problem.exact]
    assert all(len(run.traces[0].history) == len(CONTRASTS) for run in loose)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_volumes_of_harmonic_functions_are_held(n_labels: int) -> None:
    problem, _ = blob_problem((40, 30, 20), gap=1.0, labels=n_labels, seed=2)
    codes = PARTITIONS["laplace"].solve(problem).scores.argmax(axis=1)
    (held,) = (run for run in runs(problem) if run.problem.exact)
    assert_allclose(held.problem.prior, np.bincount(codes) / len(codes))
    assert_allclose(held.problem.volumes(held.reached.shares), held.problem.prior, atol=1e-6)
    assert_array_equal(np.bincount(held.codes), np.bincount(codes))
    assert len(held.traces[0].history) == 3  # the finer half of the scales


def test_held_volumes_leave_every_class_room_for_a_point_without_a_label() -> None:
    """Harmonic functions give the three labels of the second class nothing but themselves."""
    W = np.ones((9, 9)) - np.eye(9)
    W[6:] *= 1e-6
    W[:, 6:] = W[6:].T
    problem = graph_problem(W, {0: 0, 1: 0, 6: 1, 7: 1, 8: 1}, 2)
    harmonic = PARTITIONS["laplace"].solve(problem).scores.argmax(axis=1)
    assert_array_equal(harmonic, np.repeat([0, 1], [6, 3]))
    (held,) = (run for run in runs(problem) if run.problem.exact)
    assert held.problem.prior[1] > 3 / 9
    assert_array_equal(held.codes[[0, 1, 6, 7, 8]], [0, 0, 1, 1, 1])


def test_threads_that_share_the_descents_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, _ = blob_problem((40, 30, 20, 30), gap=3.0, labels=2, seed=1)
    monkeypatch.setattr(annealing_module, "_SMALL", 0)
    found = []
    for n_threads in (1, 3):
        monkeypatch.setattr(annealing_module, "available_threads", lambda n=n_threads: n)
        found.append(PARTITIONS["flow"].solve(problem))
    assert_array_equal(found[0].scores, found[1].scores)
    told = [[(stage.name, stage.objective) for stage in each.history] for each in found]
    assert told[0] == told[1]
    assert found[0].n_iter == found[1].n_iter


@pytest.mark.parametrize("limit", ["_SMALL", "_LARGE"])
def test_few_and_very_many_points_are_descended_with_by_one_thread(
    monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    problem, _ = blob_problem()
    entries = problem.n_points * problem.n_classes
    limits = {"_SMALL": 0, "_LARGE": entries, limit: entries + (1 if limit == "_SMALL" else -1)}
    asked = []
    monkeypatch.setattr(annealing_module, "available_threads", lambda: 2)
    monkeypatch.setattr(annealing_module, "share", lambda n, work, *rest: asked.append(n))
    for name, entry in limits.items():
        monkeypatch.setattr(annealing_module, name, entry)
    side_by_side(problem, abs, [1, 2])
    monkeypatch.setattr(annealing_module, limit, entries)
    side_by_side(problem, abs, [1, 2])
    assert asked == [1, 2]


def test_known_volumes_are_followed_once() -> None:
    problem, _ = blob_problem(gap=2.0, prior=(1 / 3,) * 3, exact=True)
    assert len(runs(problem)) == 1


def test_courses_come_in_the_order_of_belief() -> None:
    found = runs(blob_problem(gap=2.0)[0])
    one = found[0]
    others = [having(one, changed) for changed in (3, 6, 9)]
    found = [one, *others]
    assert best_runs(found, last, 3) == found[:0:-1]
    assert best_runs(found, first, 99) == found


def test_a_partition_that_two_courses_found_is_mended_once() -> None:
    """And no less credible one takes the place of the second."""
    one = runs(blob_problem(gap=2.0)[0])[0]
    same, other = having(one, 0), having(one, 5)
    assert best_runs([one, same, other], first, 2) == [one]
    assert best_runs([one, same, other], first, 3) == [one, other]


def having(run: Run, changed: int) -> Run:
    """The same run, but some points without a label have another class."""
    scores = run.reached.scores.copy()
    rows = run.problem.free[:changed]
    scores[rows] = np.roll(scores[rows], 1, axis=1)
    return replace(run, reached=replace(run.reached, scores=scores))


def test_the_most_credible_of_what_was_mended_is_kept_and_nothing_told_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem, _ = blob_problem((40, 30, 20, 30), gap=3.0, seed=1)
    seen: list[Run] = []

    def watched(run: Run) -> list[Run]:
        found = apply_moves(run)
        seen.extend(found)
        return found

    monkeypatch.setattr(flow_module, "apply_moves", watched)
    partition = PARTITIONS["flow"].solve(problem)
    left_out = count_left_out(problem, first_codes(problem, reach_of(problem)[0]))
    best = most_credible(problem, [run.codes for run in seen], left_out)
    assert_array_equal(partition.scores.argmax(axis=1), seen[best].codes)
    assert [stage.name for stage in partition.history].count("flow") == 6 + 2 * 4


def test_no_repair_raises_the_objective() -> None:
    for seed in range(2):
        for run in runs(blob_problem((40, 30, 20), gap=2.0, seed=seed)[0]):
            for found in apply_moves(run):
                assert found.reached.objective <= run.reached.objective


@pytest.mark.parametrize("exact", [True, False])
def test_a_class_grown_anew_is_kept_beside_the_same_without_it(
    monkeypatch: pytest.MonkeyPatch, exact: bool
) -> None:
    """At known volumes the objective alone decides: it is the cut then."""
    problem, codes = blob_problem((60, 60, 60), gap=7.0, prior=(1 / 3,) * 3, exact=exact)
    begin = runs(problem)[0]
    rule = repairs_module.descend
    grown: list[Balanced] = []

    def lowered(posed: VolumeProblem, shares: np.ndarray, *rest: Any) -> Balanced:
        found = rule(posed, shares, *rest)
        if rest[-1] == "after regrowth":
            found = replace(found, objective=begin.reached.objective - 1)
            grown.append(found)
        return found

    monkeypatch.setattr(repairs_module, "descend", lowered)
    monkeypatch.setattr(repairs_module, "regrow", lambda *_: None if grown else codes)
    monkeypatch.setattr(repairs_module, "relabelled", lambda *_: None)
    found = apply_moves(begin)
    assert found[0].reached is grown[0]
    assert [run.regrow for run in found] == ([True] if exact else [True, False])


def test_a_finer_start_mends_what_the_coarse_scales_confuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Digits: a draw where the descent from the coarsest scale puts classes under one name."""
    X, truth = (part[:600] for part in load_digits(return_X_y=True))
    y = mask_labels(truth, 1, random_state=12)
    labeled = {int(i): int(y[i]) for i in np.flatnonzero(y >= 0)}
    W = KNNGraph(10, weights="steep").affinity(X)
    problem = graph_problem(W, labeled, 10, dtype=np.float32)
    solve = PARTITIONS["flow"].solve
    wrong = (solve(problem).scores.argmax(axis=1) != truth).mean()
    rule = flow_module.runs_of
    monkeypatch.setattr(flow_module, "runs_of", lambda *given: rule(*given)[:1])
    coarse = (solve(problem).scores.argmax(axis=1) != truth).mean()
    assert wrong < 0.09
    assert coarse > wrong + 0.05
