"""Balanced flow: choice of the candidate, known and unknown volumes, and the descent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lapwing.objectives.volumes import Scale, VolumeProblem, entropy, relative_entropy
from lapwing.solvers.graph import flow as flow_module
from lapwing.solvers.graph import partition as partition_module
from lapwing.solvers.graph.evidence import (
    LeftOut,
    count_left_out,
    nearest_to_prior,
    negative_log_evidence,
)
from lapwing.solvers.graph.flow import CandidatePartition, Descent, descend, flow
from lapwing.solvers.graph.partition import side_by_side
from lapwing.solvers.graph.propagation import laplace
from lapwing.solvers.graph.refine import Path, diffused, walk_down
from tests.helpers.volumes import blob_problem, cut_of, dense_system, graph_problem


def test_descent_rejects_a_larger_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, codes = blob_problem(gap=9.0)
    good = problem.whole(codes)
    worse = problem.whole(np.random.default_rng(0).permutation(codes))
    monkeypatch.setattr(
        flow_module, "_stepped", lambda _, point, *rest: replace(point, shares=worse)
    )
    kept = descend(problem, Descent.of(good), [Scale(20.0, 0.6)], (0.4,))
    assert_array_equal(kept.shares, good)
    assert kept.changed == 0


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("labels", [1, 3])
def test_objective_is_the_cut(labels: int, exact: bool) -> None:
    problem, _ = blob_problem((50, 30, 40), gap=2.0, labels=labels, exact=exact)
    partition = flow(problem)
    assert_allclose(partition.objective, cut_of(problem, partition.codes))
    assert partition.objective == partition.history["objective"][-1]
    assert_array_equal(partition.shares.argmax(axis=1), partition.codes)
    assert_array_equal(partition.codes[problem.index], problem.codes)
    if exact:
        assert_array_equal(np.bincount(partition.codes), [40, 40, 40])


def test_shares_are_averaged_over_candidates_by_likelihood() -> None:
    others, doubtful = 0, 0
    for seed in range(3):
        problem, _ = blob_problem(gap=1.0, seed=seed, labels=3)
        left_out = count_left_out(problem)
        begun, scales, _ = flow_module._candidates(problem, left_out)
        candidates, nats = flow_module._likeliest_split(problem, begun, left_out)
        best = int(np.argmin(nats))
        candidates[best], nats[best] = flow_module._reestimate_volumes(
            problem, candidates[best], nats[best], scales, left_out
        )
        ends = [each.path for each in candidates]
        expected = [negative_log_evidence(problem, end.codes, left_out) for end in ends]
        expected += 0.05 * np.array([each.handicap > 0 for each in candidates])  # Poisson learning
        assert_allclose(nats, expected)
        partition = flow(problem)
        assert_array_equal(partition.codes, ends[best].codes)
        likelihoods = np.exp(nats.min() - nats)
        parts = [diffused(problem, end.codes, 10) for end in ends]
        shares = np.tensordot(likelihoods / likelihoods.sum(), parts, axes=1)
        elected = shares.argmax(axis=1) == partition.codes  # others are raised
        elected[problem.index] = False
        assert elected.mean() > 0.6
        assert_allclose(partition.shares[elected], shares[elected], atol=1e-9)
        near = [end.codes for end, nat in zip(ends, nats, strict=True) if nat - nats.min() <= 0.1]
        moved = max(np.mean(codes != partition.codes) for codes in near)
        assert_allclose(partition.in_doubt, moved)
        others += nats.min() < negative_log_evidence(problem, begun[0].path.codes, left_out) - 1e-9
        doubtful += moved > 0
    assert others
    assert doubtful, "the draws should hold such cases"


@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize(("same", "n_descents"), [(-1.0, 3), (1.0, 2)])
def test_descents_with_the_same_partition_continue_as_one(
    monkeypatch: pytest.MonkeyPatch, same: float, n_descents: int, labels: int
) -> None:
    problem, codes = blob_problem(gap=9.0, labels=labels)
    monkeypatch.setattr(flow_module, "_SAME", same)
    found, *_ = flow_module._candidates(problem, count_left_out(problem))
    assert len(found) == n_descents + (labels > 1)  # and the volumes of harmonic functions
    for each in found:
        assert_array_equal(each.path.codes, codes)


@pytest.mark.parametrize(("sizes", "n_candidates"), [((50, 30), 5), ((40, 40, 40), 4)])
def test_two_classes_have_a_candidate_by_left_out_labels(
    monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...], n_candidates: int
) -> None:
    problem, _ = blob_problem(sizes, gap=3.0, labels=2)
    left_out = LeftOut(np.array([[12.0, 8.0], [0.0, 20.0]]), np.array([0.5, 0.5]), 0)
    monkeypatch.setattr(flow_module, "_SAME", -1.0)
    found, *_ = flow_module._candidates(problem, left_out)
    assert len(found) == n_candidates
    if len(sizes) == 2:
        volumes = np.bincount(found[-1].path.codes) / 80
        assert_allclose(volumes, nearest_to_prior(left_out, problem.prior), atol=1 / 80)


def test_only_the_likeliest_candidates_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """One loses evidence by its split and keeps its answer; then the next has its turn."""
    problem, codes = blob_problem(gap=6.0)
    rng = np.random.default_rng(0)
    answers = [np.where(rng.random(120) < part, (codes + 1) % 3, codes) for part in (0.2, 0.1, 0.3)]
    for each in answers:
        each[problem.index] = problem.codes
    ends = [walk_down(problem, np.eye(3)[each], ()) for each in answers]
    left_out = count_left_out(problem)
    nats = [negative_log_evidence(problem, end.codes, left_out) for end in ends]
    monkeypatch.setattr(flow_module, "_AS_LIKELY", np.diff(np.sort(nats)).min() / 2)
    asked: list[int] = []

    def splits(*results: np.ndarray) -> None:
        def result(problem: VolumeProblem, path: Path) -> Path:
            asked.append(next(i for i, end in enumerate(ends) if end is path))
            return replace(path, codes=results[len(asked) - 1], n_iter=path.n_iter + 1)

        asked.clear()
        monkeypatch.setattr(flow_module, "split", result)

    candidates = [CandidatePartition(problem, end) for end in ends]
    splits(rng.permutation(codes))
    same = CandidatePartition(problem, ends[1], handicap=1e-9)
    found, against = flow_module._likeliest_split(problem, [same, *candidates], left_out)
    assert asked == [1]
    assert [each.path.codes for each in found] == [ends[k].codes for k in (1, 0, 2)]
    assert found[0].path.n_iter > ends[1].n_iter
    assert_allclose(against, np.sort(nats))
    splits(rng.permutation(codes), codes)
    about = [
        replace(each, handicap=(0, nats[0] - nats[1] + flow_module._AS_LIKELY / 2, 0)[i])
        for i, each in enumerate(candidates)
    ]
    found, against = flow_module._likeliest_split(problem, about, left_out)
    assert asked == [0, 1]
    assert found[0].path.codes is ends[0].codes
    assert_array_equal(found[1].path.codes, codes)
    assert int(np.argmin(against)) == 1


@pytest.mark.parametrize("seed", [0, 1])
def test_volumes_are_estimated_again_while_the_evidence_increases(seed: int) -> None:
    sizes = (50, 30, 40)
    problem, codes = blob_problem(sizes, gap=4.0, seed=seed)
    left_out = count_left_out(problem)
    _, scales, _ = flow_module._candidates(problem, left_out)
    equal = walk_down(replace(problem, exact=True), problem.whole(codes))
    wrong = CandidatePartition(problem, replace(equal, n_iter=0))
    against = negative_log_evidence(problem, equal.codes, left_out)
    found, nats = flow_module._reestimate_volumes(problem, wrong, against, scales, left_out)
    assert_allclose(np.bincount(found.path.codes), sizes, atol=3)
    assert_allclose(nats, negative_log_evidence(problem, found.path.codes, left_out))
    assert nats < against - 0.5
    assert found.path.n_iter > 0
    kept, same = flow_module._reestimate_volumes(problem, found, nats, scales, left_out)
    assert_array_equal(kept.path.codes, found.path.codes)
    assert same == nats
    assert kept.path.n_iter > found.path.n_iter  # rejected descents are counted, too


def test_estimates_unknown_volumes_also_beside_a_given_prior() -> None:
    sizes = np.array([90, 20, 40])
    problem, _ = blob_problem(tuple(sizes), gap=6.0)
    unknown, equal = flow(problem), flow(replace(problem, exact=True))
    assert_allclose(np.bincount(unknown.codes), sizes, atol=2)
    assert unknown.prior_evidence is None
    assert_allclose(np.bincount(equal.codes), 50, atol=1e-9)
    assert equal.prior_evidence is not None
    volumes, nats = equal.prior_evidence
    assert_allclose(volumes, sizes / 150, atol=0.02)
    assert nats > 0.5


def test_candidate_volumes_have_room_for_an_unlabelled_point() -> None:
    """Harmonic functions give the three labels of the second class nothing but themselves."""
    W = np.ones((9, 9)) - np.eye(9)
    W[6:] *= 1e-6
    W[:, 6:] = W[6:].T
    problem = graph_problem(W, {0: 0, 1: 0, 6: 1, 7: 1, 8: 1}, 2)
    harmonic = laplace(problem).codes
    assert_array_equal(harmonic, np.repeat([0, 1], [6, 3]))
    assert flow_module._held(problem, harmonic).prior[1] > 3 / 9


def test_answer_is_independent_of_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, _ = blob_problem((40, 30, 20, 30), gap=3.0, labels=2, seed=1)
    monkeypatch.setattr(partition_module, "_SMALL", 0)
    found = []
    for n_threads in (1, 3):
        monkeypatch.setattr(partition_module, "available_threads", lambda n=n_threads: n)
        found.append(flow(problem))
    assert_array_equal(found[0].state, found[1].state)
    assert found[0].history == found[1].history
    assert found[0].n_iter == found[1].n_iter


def test_jobs_of_few_or_many_points_run_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, _ = blob_problem()
    entries = problem.n_points * problem.n_classes
    asked = []
    monkeypatch.setattr(partition_module, "available_threads", lambda: 2)
    monkeypatch.setattr(partition_module, "share", lambda n, work, *rest: asked.append(n))
    for small, large in ((entries + 1, entries), (entries, entries), (0, entries - 1)):
        monkeypatch.setattr(partition_module, "_SMALL", small)
        monkeypatch.setattr(partition_module, "_LARGE", large)
        side_by_side(problem, [])
    assert asked == [1, 2, 1]


def dense_objective(problem: VolumeProblem, Q: np.ndarray, scale: Scale, tau: float) -> float:
    """J by the formula of its module, at the temperature 0.1."""
    A, pull, d = dense_system(problem, scale.s)
    right = d[:, None] * Q + pull
    F = np.linalg.solve(A, right)
    labels = (problem.clamp[problem.index] @ (problem.labels**2).sum(axis=1)) / 2
    value = (d.sum() / 2 + labels - (right * F).sum() / 2) / d.sum() / scale.contrast
    value -= 0.1 * entropy(Q).mean()
    return float(value + tau * relative_entropy(Q.mean(axis=0), problem.prior))


def test_descent_objective_is_the_formula() -> None:
    problem, _ = blob_problem(gap=3.0)
    rng = np.random.default_rng(0)
    scales = [Scale(20.0, 0.6), Scale(3.0, 0.9)]
    start = problem.whole(rng.integers(0, 3, 120))
    after = descend(problem, Descent.of(start), scales, (0.5, 0.4))
    assert after.value == pytest.approx(
        dense_objective(problem, after.shares, scales[-1], 0.4), abs=2e-4
    )
    assert after.value <= dense_objective(problem, start, scales[-1], 0.4)
