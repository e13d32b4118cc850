"""Cut refinement: its assignments against brute force, its energy, and what must not change it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.base import Status
from lapwing.solvers.graph import partition as partition_module
from lapwing.solvers.graph import refine as refine_module
from lapwing.solvers.graph.partition import Partition
from lapwing.solvers.graph.refine import (
    diffused,
    refine,
    share_out,
    smooth_functions,
    split,
    walk_down,
)
from tests.helpers.volumes import blob_problem, dense_system, graph_problem


def dense(problem: VolumeProblem) -> np.ndarray:
    return np.asarray(problem.graph.affinity.toarray())  # type: ignore[attr-defined]


def cut(problem: VolumeProblem, codes: np.ndarray) -> float:
    W = dense(problem)
    return float(W[codes[:, None] != codes].sum() / 2)


def cuts(found: Partition) -> np.ndarray:
    return np.ravel(found.history["objective"])


def diffused_cut(problem: VolumeProblem, codes: np.ndarray, steps: int) -> float:
    W = dense(problem)
    d = W.sum(axis=1)
    X = np.eye(problem.n_classes)[codes]
    walked = np.linalg.matrix_power(W / d[:, None], steps) @ X
    return float(d.sum() - (d[:, None] * X * walked).sum())


def noisy(codes: np.ndarray, seed: int = 0, noise: float = 2.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.eye(codes.max() + 1)[codes] + noise * rng.standard_normal((len(codes), 3))


def test_assignment_is_the_best_of_all() -> None:
    rng = np.random.default_rng(0)
    problem = graph_problem(np.ones((7, 7)), {0: 0, 6: 2}, 3, (3 / 7, 2 / 7, 2 / 7), exact=True)
    for _ in range(5):
        F = rng.standard_normal((7, 3))
        codes = share_out(problem, F)
        allowed = [
            np.array(each)
            for each in product(range(3), repeat=7)
            if each[0] == 0
            and each[6] == 2
            and np.bincount(each, minlength=3).tolist() == [3, 2, 2]
        ]
        best = max(F[np.arange(7), each].sum() for each in allowed)
        assert any((codes == each).all() for each in allowed)
        assert_allclose(F[np.arange(7), codes].sum(), best)


def test_walks_are_as_long_as_they_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, codes = blob_problem(gap=3.0)
    rule, walked = refine_module.diffused, []

    def watched(problem: VolumeProblem, codes: np.ndarray, steps: int) -> np.ndarray:
        walked.append(steps)
        return rule(problem, codes, steps)

    monkeypatch.setattr(refine_module, "diffused", watched)
    for steps in ((40, 28, 20, 14, 10, 6, 4, 2), (6, 4)):
        walked.clear()
        refine(problem, noisy(codes), **({} if len(steps) == 8 else {"steps": steps}))
        first = list(dict.fromkeys(walked))[: len(steps)]
        assert first == list(steps)


def test_walks_are_powers_of_the_dense_matrix() -> None:
    problem, codes = blob_problem(gap=3.0)
    W = dense(problem)
    P = W / W.sum(axis=1)[:, None]
    expected = np.linalg.matrix_power(P, 14) @ np.eye(3)[codes]
    assert_allclose(diffused(problem, codes, 14), expected, atol=1e-12)
    pair, two = blob_problem(sizes=(30, 20), gap=3.0)
    W = dense(pair)
    P = W / W.sum(axis=1)[:, None]
    expected = np.linalg.matrix_power(P, 14) @ np.eye(2)[two]
    assert_allclose(diffused(pair, two, 14), expected, atol=1e-12)


def test_wrong_answers_are_mended_at_the_volumes_of_the_prior() -> None:
    problem, codes = blob_problem(sizes=(50, 30, 40), gap=6.0)
    problem = problem.with_prior(np.array([50, 30, 40]) / 120, exact=True)
    scores = noisy(codes)
    begun = share_out(problem, scores)
    found = refine(problem, scores)
    assert (begun != codes).mean() > 0.2
    assert (found.codes != codes).mean() < 0.03
    assert np.bincount(found.codes).tolist() == [50, 30, 40]
    assert len(cuts(found)) > 1
    assert found.status == Status.CONVERGED
    assert_allclose(cuts(found)[0], cut(problem, begun))
    assert_allclose(cuts(found)[-1], cut(problem, found.codes))
    assert np.diff(cuts(found)).max() < 0
    assert_array_equal(found.shares.argmax(axis=1), found.codes)


@pytest.mark.parametrize("steps", [2, 10])
def test_the_diffused_cut_never_rises(steps: int) -> None:
    for seed in range(4):
        problem, codes = blob_problem(gap=2.5, seed=seed)
        answers = [share_out(problem, noisy(codes, seed))]
        for _ in range(10):
            d = dense(problem).sum(axis=1)
            smooth = d[:, None] * diffused(problem, answers[-1], steps)
            answers.append(share_out(problem, smooth))
        values = [diffused_cut(problem, each, steps) for each in answers]
        assert values[-1] < values[0]
        assert np.diff(values).max() <= 1e-9 * values[0]


def test_odd_walks_could_raise_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why all numbers of steps are even: on two parts that only see each other points swap."""
    monkeypatch.setattr(refine_module, "_PAIRS", 0)
    W = np.kron([[0, 1], [1, 0]], np.ones((4, 4)))
    problem = graph_problem(W, {0: 0, 4: 1}, 2, (0.5, 0.5), exact=True)
    scores = np.eye(2)[[0, 0, 0, 0, 1, 1, 1, 1]]
    found = refine(problem, scores)
    assert found.codes.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    swapped = diffused(problem, found.codes, 1).argmax(axis=1)
    assert swapped.tolist() == [1, 1, 1, 1, 0, 0, 0, 0]


def test_the_answer_before_is_beaten_or_stays() -> None:
    # Two cliques and a label in the wrong one: to obey it costs edges, at the same volumes.
    W = np.kron(np.eye(2), np.ones((4, 4)))
    problem = graph_problem(W, {0: 0, 1: 1, 4: 1}, 2, (0.5, 0.5), exact=True)
    shown = np.repeat([0, 1], 4)
    obedient = refine(problem, np.eye(2)[shown])
    assert cuts(obedient)[-1] > 0
    found = refine(problem, np.eye(2)[shown], before=shown)
    assert len(cuts(found)) == 1
    assert cuts(found).tolist() == [cut(problem, shown)] == [0.0]


def test_other_volumes_are_no_better_answer() -> None:
    problem, codes = blob_problem(sizes=(50, 30, 40), gap=6.0)
    problem = problem.with_prior(np.array([50, 30, 40]) / 120, exact=True)
    scores = noisy(codes)
    one_class = np.zeros(120, dtype=np.intp)  # cuts nothing
    found, plain = refine(problem, scores, before=one_class), refine(problem, scores)
    assert len(cuts(found)) > 1
    assert cuts(found).tolist() == [0.0, *cuts(plain)]


def test_a_larger_cut_is_never_kept() -> None:
    # The volumes are those of the answer, and it is the least cut: walks can only spoil it.
    problem, codes = blob_problem(gap=9.0)
    found = refine(problem, np.eye(3)[codes])
    assert len(cuts(found)) == 1
    assert_array_equal(found.codes, codes)


def test_labels_keep_their_class_and_count_in_the_volumes() -> None:
    problem, codes = blob_problem(gap=6.0)
    wrong = np.flatnonzero(codes == 0)[5:9]
    labeled = {int(i): int(codes[i]) for i in problem.index} | {int(i): 2 for i in wrong}
    told = graph_problem(dense(problem), labeled, 3, exact=True)
    found = refine(told, noisy(codes))
    assert_array_equal(found.codes[wrong], 2)
    assert_array_equal(found.state[wrong], np.eye(3)[[2] * 4])
    assert np.bincount(found.codes).tolist() == [40, 40, 40]


def test_more_labels_than_the_volume_of_their_class() -> None:
    problem = graph_problem(np.ones((8, 8)), {0: 0, 1: 0, 2: 0, 3: 1}, 2, (0.2, 0.8), exact=True)
    found = refine(problem, np.zeros((8, 2)))
    assert np.bincount(found.codes).tolist() == [3, 5]


def test_a_class_without_labels_and_without_a_part_stays_empty() -> None:
    problem, codes = blob_problem(gap=6.0)
    none = graph_problem(dense(problem), {0: 0, 40: 1}, 3, (0.5, 0.5, 0.0), exact=True)
    found = refine(none, noisy(codes))
    assert np.bincount(found.codes, minlength=3).tolist() == [60, 60, 0]


def test_one_class_and_all_labelled() -> None:
    alone = graph_problem(np.ones((4, 4)), {0: 0}, 1, exact=True)
    assert refine(alone, np.zeros((4, 1))).codes.tolist() == [0, 0, 0, 0]
    told = graph_problem(np.ones((3, 3)), {0: 0, 1: 1, 2: 0}, 2, exact=True)
    assert refine(told, np.zeros((3, 2))).codes.tolist() == [0, 1, 0]


def test_points_alone_keep_the_class_of_their_scores() -> None:
    W = np.zeros((10, 10))
    W[:4, :4] = W[4:8, 4:8] = 1
    problem = graph_problem(W, {0: 0, 4: 1}, 2, (0.5, 0.5), exact=True)
    scores = np.eye(2)[[0, 0, 1, 0, 1, 1, 0, 1, 0, 1]]
    found = refine(problem, scores)
    assert found.codes.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 0, 1]
    assert cuts(found)[-1] == 0


def test_weights_times_a_number_change_nothing() -> None:
    problem, codes = blob_problem(gap=3.0)
    labeled = dict(zip(problem.index.tolist(), problem.codes.tolist(), strict=True))
    # A power of two: products round alike.
    same = graph_problem(64 * dense(problem), labeled, 3)
    once, again = refine(problem, noisy(codes)), refine(same, noisy(codes))
    assert_array_equal(once.codes, again.codes)
    assert_allclose(cuts(again), 64 * cuts(once))


def test_permuted_classes_and_points_permute_the_answer() -> None:
    problem, codes = blob_problem(sizes=(40, 30, 35), gap=4.0)
    problem = problem.with_prior(np.array([40, 30, 35]) / 105, exact=True)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(problem.n_points), rng.permutation(3)
    places, names = np.argsort(rows), np.argsort(columns)
    labeled = {
        int(places[i]): int(names[k]) for i, k in zip(problem.index, problem.codes, strict=True)
    }
    scores = noisy(codes, noise=1.0)
    W = dense(problem)[np.ix_(rows, rows)]
    moved = graph_problem(W, labeled, 3, problem.prior[columns], exact=True)
    found, turned = refine(problem, scores), refine(moved, scores[np.ix_(rows, columns)])
    assert (names[found.codes[rows]] != turned.codes).sum() <= 1  # a tie may break otherwise
    assert_allclose(cuts(turned)[-1], cuts(found)[-1], rtol=0.02)


def test_repeated_points_count_as_often_as_they_stand_for() -> None:
    problem, codes = blob_problem(gap=6.0)
    sizes = np.ones(120)
    sizes[codes == 0] = 3
    heavy = replace(problem, sizes=sizes, prior=np.array([120, 40, 40]) / 200)
    found = refine(heavy, noisy(codes, noise=1.0))
    volumes = np.bincount(found.codes, sizes)
    assert np.abs(volumes - [120, 40, 40]).max() <= 3
    assert (found.codes != codes).mean() < 0.03


@pytest.mark.parametrize("sizes", [(30, 30), (40, 30, 20, 30)])
@pytest.mark.parametrize("large", [False, True])
def test_walks_of_a_partition_are_powers_of_the_transitions(
    monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...], large: bool
) -> None:
    problem, codes = blob_problem(sizes)
    if large:
        monkeypatch.setattr(partition_module, "_LARGE", 0)
        monkeypatch.setattr(partition_module, "COLUMNS", 2)
    W = dense(problem)
    P = W / W.sum(axis=1, keepdims=True)
    expected = np.linalg.matrix_power(P, 4) @ np.eye(len(sizes))[codes]
    assert_allclose(diffused(problem, codes, 4), expected, atol=1e-12)


def halved_classes() -> tuple[VolumeProblem, np.ndarray, np.ndarray]:
    """Classes 1 and 2 of two cliques each, and an answer that pairs the cliques wrongly."""
    between = np.zeros((5, 5))
    between[1, 2] = between[3, 4] = 0.05  # the halves of a class
    between[1, 3] = between[2, 4] = 0.02  # those that the wrong answer joins
    between[0, 1] = 0.005
    W = np.kron(between + between.T + np.eye(5), np.ones((10, 10)))
    truth = np.repeat([0, 1, 1, 2, 2], 10)
    wrong = np.repeat([0, 1, 2, 1, 2], 10)
    problem = graph_problem(W, {0: 0, 10: 1, 49: 2}, 3, (0.2, 0.4, 0.4), exact=True)
    return problem, truth, wrong


def test_two_classes_that_hold_a_half_of_each_other_are_parted() -> None:
    problem, truth, wrong = halved_classes()
    assert cut(problem, truth) < cut(problem, wrong)
    found = refine(problem, np.eye(3)[wrong])
    assert_array_equal(found.codes, truth)
    assert_allclose(cuts(found)[-1], cut(problem, truth))


def test_walks_alone_do_not_part_them(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, _, wrong = halved_classes()
    monkeypatch.setattr("lapwing.solvers.graph.refine._PAIRS", 0)
    found = refine(problem, np.eye(3)[wrong])
    assert_array_equal(found.codes, wrong)


def test_a_smaller_cut_that_contradicts_labels_is_not_taken() -> None:
    problem, _, wrong = halved_classes()
    # Labels inside of the halves say that the answer is right.
    told = {0: 0, 10: 1, 20: 2, 30: 1, 49: 2}
    held = graph_problem(dense(problem), told, 3, problem.prior, exact=True)
    assert_array_equal(refine(held, np.eye(3)[wrong]).codes, wrong)


@pytest.mark.parametrize(("more", "taken"), [(3, False), (4, True)])
def test_one_label_in_ten_may_be_contradicted_where_the_cut_falls_by_a_tenth(
    more: int, taken: bool
) -> None:
    problem, right, wrong = halved_classes()
    W = dense(problem)
    W = np.where(W == 1, 1, 3 * W)
    for loose in (20, 45):  # the stray label, and the point that its class has in exchange
        W[loose] *= 0.2
        W[:, loose] *= 0.2
    right[[20, 45]] = 2, 1
    told = {**dict.fromkeys(range(more), 0), 10: 1, 11: 1, 12: 1, 20: 2, 48: 2, 49: 2}
    held = graph_problem(W - np.diag(np.diag(W)), told, 3, problem.prior, exact=True)
    assert cut(held, right) < 0.9 * cut(held, wrong)
    assert_array_equal(refine(held, np.eye(3)[wrong]).codes, right if taken else wrong)


def test_exchanged_names_are_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both labels lie in the larger of two cliques, and volumes say whose it is."""
    monkeypatch.setattr(refine_module, "_DIRECTIONS", 0)
    W = np.kron(np.eye(3), np.ones((12, 12)))[:30, :30]
    W[12:20, 20:] = W[20:, 12:20] = 0
    W[20:, 20:] = 1
    W[11, 12] = W[12, 11] = W[19, 20] = W[20, 19] = 0.5
    problem = graph_problem(
        W - np.diag(np.diag(W)), {0: 0, 1: 1, 29: 2}, 3, np.array([11, 9, 10]) / 30, exact=True
    )
    right = np.repeat([0, 1, 2], [12, 8, 10])
    right[1] = 1
    exchanged = np.where(right == 2, 2, 1 - right)
    exchanged[[0, 1]] = [0, 1]
    assert_array_equal(refine(problem, np.eye(3)[exchanged]).codes, right)


def test_the_least_cut_that_labels_permit_is_taken() -> None:
    """With exchanged names the least cut of all meets the volumes, but contradicts two labels."""
    between = np.zeros((5, 5))
    between[1, 2] = between[3, 4] = 0.05  # the halves of a class
    between[1, 3] = between[2, 4] = 0.02
    between[0, 1] = 0.005
    clique = np.repeat(np.arange(5), (10, 10, 11, 10, 9))
    W = (between + between.T + np.eye(5))[np.ix_(clique, clique)]
    labels, loose = [10, 49], [20, 21]
    for rows, scale in ((labels, 0.1), (loose, 0.2)):
        W[rows] *= scale
        W[:, rows] *= scale
    problem = graph_problem(
        W - np.diag(np.diag(W)), {0: 0, 10: 1, 49: 2}, 3, np.array([10, 19, 21]) / 50, exact=True
    )
    right = np.array([0, 1, 1, 2, 2])[clique]
    right[loose] = 2
    exchanged = np.array([0, 2, 2, 1, 1])[clique]
    exchanged[labels] = 1, 2
    wrong = np.array([0, 1, 2, 1, 2])[clique]
    assert (
        cut(problem, exchanged)
        < cut(problem, right)
        < cut(problem, share_out(problem, np.eye(3)[wrong]))
    )
    begun = walk_down(problem, np.eye(3)[wrong], (2,))
    assert (begun.codes != wrong).sum() <= 2  # the walks stay
    assert_array_equal(split(problem, begun).codes, right)


@pytest.mark.parametrize("settled", [True, False])
def test_a_split_keeps_the_status_of_the_walks(settled: bool) -> None:
    problem, codes = blob_problem((5, 4), gap=2.5, prior=(5 / 9, 4 / 9), exact=True)
    begun = replace(walk_down(problem, np.eye(2)[codes]), settled=settled)
    assert split(problem, begun).settled == settled


def test_two_classes_alone_are_split_elsewhere_too() -> None:
    """Two strips of two cliques, and an answer across both: walks keep it."""
    between = np.zeros((4, 4))
    between[0, 1] = between[2, 3] = 0.05  # the halves of a class
    between[0, 2] = between[1, 3] = 0.02
    W = np.kron(between + between.T + np.eye(4), np.ones((10, 10)))
    truth, wrong = np.repeat([0, 0, 1, 1], 10), np.repeat([0, 1, 0, 1], 10)
    problem = graph_problem(W, {0: 0, 39: 1}, 2, (0.5, 0.5), exact=True)
    assert cut(problem, truth) < cut(problem, wrong)
    assert_array_equal(refine(problem, np.eye(2)[wrong]).codes, truth)


@pytest.mark.parametrize("seed", range(4))
def test_no_partition_of_a_small_graph_cuts_less(seed: int) -> None:
    """Of all partitions at the volumes that keep the labels and contradict no more of them."""
    problem, codes = blob_problem((5, 4), gap=2.5, seed=seed, prior=(5 / 9, 4 / 9), exact=True)
    found = refine(problem, np.eye(2)[np.roll(codes, 2)])
    least = min(
        cut(problem, np.array(each))
        for each in product(range(2), repeat=9)
        if sum(each) == 4 and (np.array(each)[problem.index] == problem.codes).all()
    )
    assert_allclose(cut(problem, found.codes), least)
    assert_allclose(cuts(found)[-1], least)


def test_smooth_functions_are_eigenvectors() -> None:
    problem, codes = blob_problem((50, 50), gap=4.0)
    A, _, d = dense_system(replace(problem, weights=np.zeros(2)), 1.0)
    L = A - np.diag(d)
    values = np.sort(np.linalg.eigvals(L / d[:, None]).real)
    V, _ = smooth_functions(problem.graph, 2, codes, 200.0)
    assert_allclose(V.T @ (d[:, None] * V), np.eye(2), atol=1e-8)
    assert_allclose(np.diag(V.T @ L @ V), values[1:3], rtol=0.2, atol=1e-3)
