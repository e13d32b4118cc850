"""Cut refinement: its assignments against brute force, its energy, and what must not change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import Bounds, LinearConstraint, milp

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
from tests.helpers.volumes import blob_problem, cut_of, dense, dense_system, graph_problem


def cuts(found: Partition) -> np.ndarray:
    return np.ravel(found.history["objective"])


def noisy(codes: np.ndarray, seed: int = 0, noise: float = 2.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.eye(codes.max() + 1)[codes] + noise * rng.standard_normal((len(codes), 3))


def test_share_out_maximises_the_sum_of_scores() -> None:
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


def test_short_walks_are_repeated_while_the_cut_decreases(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, codes = blob_problem((60, 60, 60), gap=1.5)
    rule, rounds = refine_module.diffused, []

    def watched(problem: VolumeProblem, codes: np.ndarray, steps: int) -> np.ndarray:
        rounds.append((steps, cut_of(problem, codes)))
        return rule(problem, codes, steps)

    monkeypatch.setattr(refine_module, "diffused", watched)
    monkeypatch.setattr(refine_module, "_PAIRS", 0)
    for seed, steps in enumerate(((40, 28, 20, 14, 10, 6, 4, 2), (10, 4), (6, 4), (4, 2))):
        rounds.clear()
        refine(problem, noisy(codes, seed), **({} if len(steps) == 8 else {"steps": steps}))
        rounds.pop()  # the walk of the scores
        assert list(dict.fromkeys(steps for steps, _ in rounds)) == list(steps)
        repeated = [before == after for (before, _), (after, _) in pairwise(rounds)]
        gained = [
            before <= 10 and cut < 0.998 * last for (before, last), (_, cut) in pairwise(rounds)
        ]
        assert repeated == gained
    assert any(repeated)


def test_corrects_errors_at_the_volumes_of_the_prior() -> None:
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
    assert_allclose(cuts(found)[0], cut_of(problem, begun))
    assert_allclose(cuts(found)[-1], cut_of(problem, found.codes))
    assert np.diff(cuts(found)).max() < 0
    assert_array_equal(found.shares.argmax(axis=1), found.codes)


def test_larger_cut_than_before_is_rejected() -> None:
    # Two cliques and a label in the wrong one: to obey it costs edges, at the same volumes.
    W = np.kron(np.eye(2), np.ones((4, 4)))
    problem = graph_problem(W, {0: 0, 1: 1, 4: 1}, 2, (0.5, 0.5), exact=True)
    shown = np.repeat([0, 1], 4)
    obedient = refine(problem, np.eye(2)[shown])
    assert cuts(obedient)[-1] > 0
    found = refine(problem, np.eye(2)[shown], before=shown)
    assert len(cuts(found)) == 1
    assert cuts(found).tolist() == [cut_of(problem, shown)] == [0.0]


def test_smaller_cut_before_at_other_volumes_is_ignored() -> None:
    problem, codes = blob_problem(sizes=(50, 30, 40), gap=6.0)
    problem = problem.with_prior(np.array([50, 30, 40]) / 120, exact=True)
    scores = noisy(codes)
    one_class = np.zeros(120, dtype=np.intp)  # cuts nothing
    found, plain = refine(problem, scores, before=one_class), refine(problem, scores)
    assert len(cuts(found)) > 1
    assert cuts(found).tolist() == [0.0, *cuts(plain)]


def test_more_labels_than_the_volume_of_a_class() -> None:
    problem = graph_problem(np.ones((8, 8)), {0: 0, 1: 0, 2: 0, 3: 1}, 2, (0.2, 0.8), exact=True)
    found = refine(problem, np.zeros((8, 2)))
    assert np.bincount(found.codes).tolist() == [3, 5]


def test_class_without_labels_and_volume_stays_empty() -> None:
    problem, codes = blob_problem(gap=6.0)
    none = graph_problem(dense(problem), {0: 0, 40: 1}, 3, (0.5, 0.5, 0.0), exact=True)
    found = refine(none, noisy(codes))
    assert np.bincount(found.codes, minlength=3).tolist() == [60, 60, 0]


def test_one_class() -> None:
    problem = graph_problem(np.ones((4, 4)), {0: 0}, 1, exact=True)
    assert refine(problem, np.zeros((4, 1))).codes.tolist() == [0, 0, 0, 0]


def test_isolated_points_keep_the_class_of_their_scores() -> None:
    W = np.zeros((10, 10))
    W[:4, :4] = W[4:8, 4:8] = 1
    problem = graph_problem(W, {0: 0, 4: 1}, 2, (0.5, 0.5), exact=True)
    scores = np.eye(2)[[0, 0, 1, 0, 1, 1, 0, 1, 0, 1]]
    found = refine(problem, scores)
    assert found.codes.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 0, 1]
    assert cuts(found)[-1] == 0


@pytest.mark.parametrize("sizes", [(30, 30), (40, 30, 20, 30)])
@pytest.mark.parametrize("large", [False, True])
def test_diffused_is_a_power_of_the_transition_matrix(
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


def halved_classes(sizes: tuple[int, ...] = (10,) * 5) -> tuple[np.ndarray, np.ndarray]:
    """Weights of five cliques, and the clique of each point.

    Classes 1 and 2 have two cliques each. An answer that pairs these wrongly cuts more edges.
    """
    between = np.zeros((5, 5))
    between[1, 2] = between[3, 4] = 0.05  # the halves of a class
    between[1, 3] = between[2, 4] = 0.02  # those that the wrong answer joins
    between[0, 1] = 0.005
    clique = np.repeat(np.arange(5), sizes)
    return (between + between.T + np.eye(5))[np.ix_(clique, clique)], clique


RIGHT, WRONG = np.array([0, 1, 1, 2, 2]), np.array([0, 1, 2, 1, 2])


def scaled(W: np.ndarray, rows: Sequence[int], scale: float) -> np.ndarray:
    """Weights with those of some points scaled, and without loops."""
    factors = np.ones(len(W))
    factors[rows] = scale
    W = W * factors[:, None] * factors
    return W - np.diag(np.diag(W))


def test_splits_a_pair_of_mixed_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    W, clique = halved_classes()
    right, wrong = RIGHT[clique], WRONG[clique]
    labels, prior = {0: 0, 10: 1, 49: 2}, (0.2, 0.4, 0.4)
    problem = graph_problem(W, labels, 3, prior, exact=True)
    assert cut_of(problem, right) < cut_of(problem, wrong)
    found = refine(problem, np.eye(3)[wrong])
    assert_array_equal(found.codes, right)
    assert_allclose(cuts(found)[-1], cut_of(problem, right))
    # Labels inside of the halves say that the answer is right.
    held = graph_problem(W, labels | {20: 2, 30: 1}, 3, prior, exact=True)
    assert_array_equal(refine(held, np.eye(3)[wrong]).codes, wrong)
    monkeypatch.setattr(refine_module, "_PAIRS", 0)  # walks alone do not separate them
    assert_array_equal(refine(problem, np.eye(3)[wrong]).codes, wrong)


@pytest.mark.parametrize(
    ("strays", "n_first", "accepted"),
    [
        (1, 1, False),  # a class has one label
        (1, 2, True),  # one of several labels a class
        (2, 8, False),  # two of nineteen labels
        (2, 9, True),  # a tenth
    ],
)
def test_few_labels_may_be_contradicted_if_the_cut_decreases(
    strays: int, n_first: int, accepted: bool
) -> None:
    W, clique = halved_classes()
    right, wrong = RIGHT[clique], WRONG[clique]
    W = np.where(W == 1, 1, 3 * W)
    # The labels among another class, and the points that their class has in exchange.
    stray, exchanged = np.arange(20, 20 + strays), np.arange(45, 45 + strays)
    right[stray], right[exchanged] = 2, 1
    ones, twos = (range(10, 13), range(48, 50)) if strays == 1 else (range(10, 15), range(40, 44))
    labels = dict.fromkeys(range(n_first), 0) | dict.fromkeys(ones, 1)
    labels |= dict.fromkeys([*twos, *stray.tolist()], 2)
    W = scaled(W, [*stray, *exchanged], 0.2)
    held = graph_problem(W, labels, 3, (0.2, 0.4, 0.4), exact=True)
    assert held.disagreeing(held.members(right)) == strays
    assert cut_of(held, right) < 0.9 * cut_of(held, wrong)
    assert_array_equal(refine(held, np.eye(3)[wrong]).codes, right if accepted else wrong)


def test_corrects_exchanged_classes(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_accepts_the_smallest_cut_that_labels_permit() -> None:
    """With exchanged names the least cut of all meets the volumes, but contradicts two labels."""
    W, clique = halved_classes((10, 10, 11, 10, 9))
    labels, loose = [10, 49], [20, 21]
    W = scaled(scaled(W, labels, 0.1), loose, 0.2)
    problem = graph_problem(W, {0: 0, 10: 1, 49: 2}, 3, np.array([10, 19, 21]) / 50, exact=True)
    right, wrong = RIGHT[clique], WRONG[clique]
    right[loose] = 2
    exchanged = np.array([0, 2, 2, 1, 1])[clique]
    exchanged[labels] = 1, 2
    before = share_out(problem, np.eye(3)[wrong])
    assert cut_of(problem, exchanged) < cut_of(problem, right) < cut_of(problem, before)
    begun = walk_down(problem, np.eye(3)[wrong], (2,))
    assert (begun.codes != wrong).sum() <= 2  # the walks stay
    assert_array_equal(split(problem, begun).codes, right)


def test_walks_that_reach_the_limit_have_not_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refine_module, "_MOST_ROUNDS", 1)
    problem, codes = blob_problem((60, 60, 60), gap=1.5)
    found = refine(problem, noisy(codes), steps=(4,))
    assert (found.status, found.optimality) == (Status.MAX_ITER, 1)


@pytest.mark.parametrize("settled", [True, False])
def test_split_keeps_the_status_of_the_walks(settled: bool) -> None:
    problem, codes = blob_problem((5, 4), gap=2.5, prior=(5 / 9, 4 / 9), exact=True)
    begun = replace(walk_down(problem, np.eye(2)[codes]), settled=settled)
    assert split(problem, begun).settled == settled


def test_splits_the_only_pair() -> None:
    """Two strips of two cliques, and an answer across both: walks keep it."""
    between = np.zeros((4, 4))
    between[0, 1] = between[2, 3] = 0.05  # the halves of a class
    between[0, 2] = between[1, 3] = 0.02
    W = np.kron(between + between.T + np.eye(4), np.ones((10, 10)))
    truth, wrong = np.repeat([0, 0, 1, 1], 10), np.repeat([0, 1, 0, 1], 10)
    problem = graph_problem(W, {0: 0, 39: 1}, 2, (0.5, 0.5), exact=True)
    assert cut_of(problem, truth) < cut_of(problem, wrong)
    assert_array_equal(refine(problem, np.eye(2)[wrong]).codes, truth)


def smallest_cut(problem: VolumeProblem, n_second: int) -> float:
    """Smallest cut of two classes that keeps the labels, by integer programming."""
    W = np.triu(dense(problem), 1)
    i, j = np.nonzero(W)
    n, m, edges = problem.n_points, len(i), np.arange(len(i))
    # The class 0 or 1 of each point, and whether an edge is cut: at least their difference.
    signs = sp.csr_array((np.repeat([1.0, -1.0], m), (np.tile(edges, 2), np.r_[i, j])), (m, n))
    differences = sp.vstack([sp.hstack([side, sp.eye_array(m)]) for side in (signs, -signs)])
    lower, upper = np.zeros(n + m), np.ones(n + m)
    lower[problem.index] = upper[problem.index] = problem.codes
    found = milp(
        np.r_[np.zeros(n), W[i, j]],
        integrality=np.repeat([1, 0], [n, m]),
        bounds=Bounds(lower, upper),
        constraints=[
            LinearConstraint(differences, 0),
            LinearConstraint(np.repeat([1.0, 0.0], [n, m]), n_second, n_second),
        ],
    )
    assert found.success
    return float(found.fun)


@pytest.mark.parametrize("seed", range(4))
def test_finds_the_smallest_cut_of_a_small_graph(seed: int) -> None:
    """Of all partitions at the volumes that keep the labels and contradict no more of them."""
    problem, codes = blob_problem((5, 4), gap=2.5, seed=seed, prior=(5 / 9, 4 / 9), exact=True)
    found = refine(problem, np.eye(2)[np.roll(codes, 2)])
    least = smallest_cut(problem, 4)
    assert_allclose(cut_of(problem, found.codes), least)
    assert_allclose(cuts(found)[-1], least)


def test_labels_of_a_split_are_compared_after_its_short_walks() -> None:
    """The split with the smallest cut contradicts a label until then."""
    prior = np.array([14, 12]) / 26
    problem, codes = blob_problem((14, 12), gap=2.0, seed=51, prior=prior, exact=True)
    found = refine(problem, np.eye(2)[np.roll(codes, 4)])
    assert_allclose(found.objective, smallest_cut(problem, 12))


def test_smooth_functions_are_eigenvectors() -> None:
    problem, codes = blob_problem((50, 50), gap=4.0)
    A, _, d = dense_system(replace(problem, weights=np.zeros(2)), 1.0)
    L = A - np.diag(d)
    values = np.sort(np.linalg.eigvals(L / d[:, None]).real)
    V, _ = smooth_functions(problem.graph, 2, codes, 200.0)
    assert_allclose(V.T @ (d[:, None] * V), np.eye(2), atol=1e-8)
    assert_allclose(np.diag(V.T @ L @ V), values[1:3], rtol=0.2, atol=1e-3)
