"""What every method that parts a graph does, and what those do that hold volumes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lapwing.classes.decoding import electing
from lapwing.graphs import KNNGraph
from lapwing.objectives.volumes import Scale, VolumeProblem, entropy, relative_entropy
from lapwing.solvers.base import Status
from lapwing.solvers.graph import annealing as annealing_module
from lapwing.solvers.graph import flow as flow_module
from lapwing.solvers.graph.annealing import Balanced, Stage, descend
from lapwing.solvers.graph.moves import regrow, smooth_functions, swap_pairs
from lapwing.solvers.graph.partition import assigned
from lapwing.solvers.graph.refine import Refinement
from lapwing.solvers.graph.registry import PARTITIONS
from tests.helpers.volumes import blob_problem, dense_system, graph_problem

every_method = pytest.mark.parametrize("name", PARTITIONS)
every_holder = pytest.mark.parametrize(
    "name", [name for name, method in PARTITIONS.items() if method.holds_volumes]
)


def found(name: str, problem: VolumeProblem) -> np.ndarray:
    return np.asarray(PARTITIONS[name].solve(problem).scores.argmax(axis=1))


@every_method
def test_clear_blobs_are_found(name: str) -> None:
    problem, codes = blob_problem(gap=9.0)
    partition = PARTITIONS[name].solve(problem)
    assert_array_equal(partition.scores.argmax(axis=1), codes)
    assert_allclose(partition.shares.sum(axis=1), 1, rtol=1e-5)
    assert partition.status in (Status.CONVERGED, Status.MAX_ITER)
    assert partition.n_iter >= 1


@every_method
def test_single_precision_gives_the_same_classes(name: str) -> None:
    problem, codes = blob_problem(gap=9.0, dtype=np.float32)
    partition = PARTITIONS[name].solve(problem)
    assert_array_equal(partition.scores.argmax(axis=1), codes)
    assert partition.shares.dtype == np.float32


@every_method
def test_the_objective_never_rises(name: str) -> None:
    problem, _ = blob_problem(gap=3.0, seed=3)
    for exact in (False, True):
        history = PARTITIONS[name].solve(replace(problem, exact=exact)).history
        assert history
        for part in history:
            assert np.isfinite(part.objective).all()
            assert (np.diff(part.objective) < 0).all()


@every_holder
def test_known_volumes_are_met(name: str) -> None:
    prior = np.array([0.5, 0.3, 0.2])
    problem, _ = blob_problem(gap=2.5, prior=prior, exact=True)
    volumes = np.bincount(found(name, problem), minlength=3)
    assert_allclose(volumes, 120 * prior, atol=1e-6)


@every_holder
def test_the_true_volumes_repair_what_one_label_gets_wrong(name: str) -> None:
    sizes = (90, 20, 40)
    prior = np.array(sizes) / 150
    problem, codes = blob_problem(sizes, gap=3.5, prior=prior, exact=True, seed=2)
    poisson = (found("poisson", replace(problem, exact=False)) != codes).mean()
    assert (found(name, problem) != codes).mean() < poisson


@every_holder
def test_sizes_of_points_count_as_rows(name: str) -> None:
    problem, _ = blob_problem(gap=2.5, prior=(0.5, 0.25, 0.25), exact=True)
    sizes = np.where(np.arange(120) < 40, 2.0, 1.0)  # 160 rows
    codes = found(name, replace(problem, sizes=sizes))
    assert_allclose(np.bincount(codes, sizes, 3), [80, 40, 40], atol=1)


@every_method
def test_permuted_classes_and_points_permute_the_classes(name: str) -> None:
    problem, _ = blob_problem(gap=4.0, sizes=(30, 20, 25))
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(75), rng.permutation(3)
    places = np.argsort(rows)
    labeled = {
        int(places[i]): int(np.flatnonzero(columns == k)[0])
        for i, k in zip(problem.index, problem.codes, strict=True)
    }
    W = problem.graph.affinity.toarray()[np.ix_(rows, rows)]  # type: ignore[attr-defined]
    moved = found(name, graph_problem(W, labeled, 3))
    assert (columns[moved] == found(name, problem)[rows]).mean() > 0.97


@every_method
@pytest.mark.parametrize("exact", [False, True])
def test_parts_without_a_label_are_finite(name: str, exact: bool) -> None:
    W = np.kron(np.eye(4), np.ones((5, 5)))
    W[-1], W[:, -1] = 0, 0  # a point alone
    problem = graph_problem(W, {0: 0, 5: 1}, 2, exact=exact)
    partition = PARTITIONS[name].solve(problem)
    assert np.isfinite(partition.scores).all()
    codes = partition.scores.argmax(axis=1)
    assert_array_equal(codes[[0, 5]], [0, 1])
    if exact:
        assert_allclose(np.bincount(codes, minlength=2), 10, atol=6)  # parts move as a whole
    else:
        assert_array_equal(codes[:10], np.repeat([0, 1], 5))


@every_method
@pytest.mark.parametrize("prior", [None, (0.2, 0.8)])
def test_the_units_of_the_weights_do_not_count(name: str, prior: Any) -> None:
    """Nor on a graph of two parts, one of which has labels of one class alone."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((40, 2)), rng.standard_normal((20, 2)) + 50])
    order = np.argsort(X[:40, 0])
    labeled = {int(i): 0 for i in order[:2]} | {int(i): 1 for i in (*order[-2:], 40, 41)}
    W = KNNGraph(6, weights="steep").affinity(X)
    answers = [
        found(name, graph_problem(W * unit, labeled, 2, prior, exact=prior is not None))
        for unit in (1.0, 2.0**-10, 2.0**10)
    ]
    for answer in answers[1:]:
        assert_array_equal(answer, answers[0])


@every_method
def test_the_largest_share_is_that_of_the_class(name: str) -> None:
    for seed in range(2):
        problem, _ = blob_problem((30, 30, 30), gap=2.0, seed=seed, exact=True, dtype=np.float32)
        partition = PARTITIONS[name].solve(problem)
        codes = partition.scores.argmax(axis=1)
        assert_array_equal(partition.shares.argmax(axis=1), codes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_class_that_ties_or_lags_is_raised_to_be_the_first_largest(dtype: Any) -> None:
    values = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.1, 0.9, 0.0]], dtype=dtype)
    given = values.copy()
    found = electing(values, np.array([1, 0, 1]))
    assert_array_equal(found.argmax(axis=1), [1, 0, 1])
    assert_allclose(found[:, 0], [0.5, 0.5, 0.1], rtol=1e-6)
    assert_array_equal(found[2], given[2])
    assert_array_equal(values, given)


@every_method
def test_a_class_may_have_all_of_its_points_labelled(name: str) -> None:
    problem, codes = blob_problem((40, 40, 7), gap=9.0)
    index = np.append(problem.index, np.flatnonzero(codes == 2)[1:])
    problem = replace(
        problem, index=index, labels=np.eye(3)[codes[index]], weights=np.ones(len(index))
    ).with_prior(np.array([40, 40, 7]) / 87, exact=True)
    partition = PARTITIONS[name].solve(problem)
    assert np.isfinite(partition.scores).all()
    assert_array_equal(partition.scores.argmax(axis=1), codes)


@every_method
def test_a_graph_without_edges_gives_an_answer(name: str) -> None:
    problem = graph_problem(np.zeros((6, 6)), {0: 0, 1: 1}, 2)
    partition = PARTITIONS[name].solve(problem)
    assert np.isfinite(partition.scores).all()
    assert_array_equal(partition.scores[:2].argmax(axis=1), [0, 1])


@every_method
def test_all_points_may_be_labelled(name: str) -> None:
    W = np.ones((4, 4))
    problem = graph_problem(W, {0: 0, 1: 1, 2: 0, 3: 1}, 2)
    assert_array_equal(found(name, problem), [0, 1, 0, 1])


def dense_objective(problem: VolumeProblem, Q: np.ndarray, stage: Stage) -> float:
    """J by the formula of its module."""
    A, pull, d = dense_system(problem, stage.scale.s)
    right = d[:, None] * Q + pull
    F = np.linalg.solve(A, right)
    labels = (problem.clamp[problem.index] @ (problem.labels**2).sum(axis=1)) / 2
    value = (d.sum() / 2 + labels - (right * F).sum() / 2) / d.sum() / stage.scale.contrast
    value -= stage.temperature * entropy(Q).mean()
    if np.isfinite(stage.softness):
        value += stage.softness * relative_entropy(Q.mean(axis=0), problem.prior)
    return float(value)


@pytest.mark.parametrize("softness", [0.4, np.inf])
def test_the_objective_of_a_descent_is_the_formula(softness: float) -> None:
    problem, _ = blob_problem(gap=3.0, exact=np.isinf(softness))
    rng = np.random.default_rng(0)
    stages = [Stage(Scale(20.0, 0.6), 0.1, softness), Stage(Scale(3.0, 0.9), 0.1, softness)]
    start = problem.whole(rng.integers(0, 3, 120))
    after = descend(problem, start, stages, "test")
    assert after.objective == pytest.approx(
        dense_objective(problem, after.shares, stages[-1]), abs=2e-4
    )
    assert after.objective <= dense_objective(problem, start, stages[-1])


def test_the_signed_form_of_two_classes_has_the_same_energy() -> None:
    """With q = q_2 - q_1: (1 - q'DRq / V) / 4, labels left out of both."""
    problem, codes = blob_problem((40, 40), gap=4.0)
    light = replace(problem, weights=np.full(2, 1e-12))
    Q = light.whole(codes)
    q = Q[:, 1] - Q[:, 0]
    A, _, d = dense_system(light, 5.0)
    signed = (1 - q @ (d * np.linalg.solve(A, d * q)) / d.sum()) / 4
    stage = Stage(Scale(5.0, 1.0), 0.1, np.inf)
    assert dense_objective(light, Q, stage) == pytest.approx(signed, abs=1e-9)


def test_smooth_functions_are_eigenvectors() -> None:
    problem, codes = blob_problem((50, 50), gap=4.0)
    A, _, d = dense_system(replace(problem, weights=np.zeros(2)), 1.0)
    L = A - np.diag(d)
    values = np.sort(np.linalg.eigvals(L / d[:, None]).real)
    V, _ = smooth_functions(problem.graph, 2, codes, 200.0)
    assert_allclose(V.T @ (d[:, None] * V), np.eye(2), atol=1e-8)
    assert_allclose(np.diag(V.T @ L @ V), values[1:3], rtol=0.2, atol=1e-3)


def test_a_wrong_cut_between_two_classes_is_repaired() -> None:
    """Two long strips, one label each; the present cut goes across both."""
    problem, codes = blob_problem((60, 60, 60), gap=8.0, prior=(1 / 3,) * 3, exact=True)
    wrong = codes.copy()
    wrong[20:60], wrong[80:120] = 1, 0  # but for a third of each, two classes have changed places
    stages = [Stage(Scale(s, c), 0.1, np.inf) for s, c in ((50.0, 0.6), (5.0, 0.9))]
    swapped = swap_pairs(problem, problem.whole(wrong), stages)
    assert (swapped.codes != codes).mean() < 0.02
    assert swapped.pairs


def test_a_good_cut_stays() -> None:
    problem, codes = blob_problem((60, 60, 60), gap=8.0, prior=(1 / 3,) * 3, exact=True)
    stages = [Stage(Scale(s, c), 0.1, np.inf) for s, c in ((50.0, 0.6), (5.0, 0.9))]
    assert not swap_pairs(problem, problem.whole(codes), stages).pairs


def lost_class(problem: VolumeProblem, codes: np.ndarray) -> Balanced:
    """The third class is where the first is, and the second at the place of the third's label."""
    near = problem.graph.neighbors(np.eye(len(codes))[:, problem.index[:1]])[:, 0] > 0
    wrong = codes.copy()
    wrong[codes == 2], wrong[(codes == 0) & ~near] = 1, 2
    stages = [Stage(Scale(5.0, 0.9), 0.1, np.inf)]
    followed = descend(problem, problem.whole(codes), stages, "test")
    return replace(followed, shares=problem.whole(wrong))


def test_a_class_that_lost_its_labels_is_grown_anew() -> None:
    problem, codes = blob_problem((60, 60, 60), gap=7.0, prior=(1 / 3,) * 3)
    stages = [Stage(Scale(s, c), 0.1, np.inf) for s, c in ((50.0, 0.6), (5.0, 0.9))]
    lost = lost_class(problem, codes)
    assert problem.disagreeing(lost.shares) == 1
    anew = regrow(problem, lost, stages)
    assert anew is not None
    assert (anew != codes).mean() < 0.02


def test_classes_whose_labels_agree_with_their_neighbours_stay() -> None:
    problem, codes = blob_problem((60, 60, 60), gap=7.0, prior=(1 / 3,) * 3)
    stages = [Stage(Scale(5.0, 0.9), 0.1, np.inf)]
    found = descend(problem, problem.whole(codes), stages, "test")
    assert regrow(problem, found, stages) is None


@pytest.mark.parametrize("labels", [1, 3])
def test_volumes_of_harmonic_functions_are_followed_from_these(
    monkeypatch: pytest.MonkeyPatch, labels: int
) -> None:
    problem, _ = blob_problem(gap=1.0, labels=labels)
    harmonic = problem.whole(PARTITIONS["laplace"].solve(problem).scores.argmax(axis=1))
    rule, begun = annealing_module.descend, []

    def watched(posed: VolumeProblem, shares: np.ndarray, *rest: Any) -> Balanced:
        if rest[-1] == "flow":
            begun.append((posed, shares))
        return rule(posed, shares, *rest)

    monkeypatch.setattr(annealing_module, "descend", watched)
    PARTITIONS["flow"].solve(problem)
    from_them = [posed for posed, shares in begun if np.array_equal(shares, harmonic)]
    assert len(from_them) == (2 if labels > 1 else 0)
    for posed in from_them:
        own = problem.volumes(harmonic)
        drawn = own if posed.exact else 0.8 * own + 0.2 * problem.prior
        assert_allclose(posed.prior, drawn)


def test_harmonic_starts_are_taken_where_they_contradict_two_labels_fewer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rule, seen = flow_module._obedient, []

    def watched(run: annealing_module.Run) -> annealing_module.Run:
        told = rule(run)
        seen.append((run.reached, told.reached))
        return told

    monkeypatch.setattr(flow_module, "_obedient", watched)
    monkeypatch.setattr(flow_module, "_sharpened", lambda run: run)
    taken = set()
    for seed in range(4):
        problem = replace(blob_problem(gap=1.0, seed=seed, labels=6)[0], exact=True)
        scores = PARTITIONS["flow"].solve(problem).scores
        before, after = seen.pop()
        gained = problem.disagreeing(before.shares) - problem.disagreeing(after.shares)
        taken.add(after is not before)
        assert gained >= 2 if after is not before else gained == 0
        assert_array_equal(scores, assigned(problem, after.scores))
    assert taken == {True, False}, "the draws should hold both cases"


def test_a_refined_cut_is_taken_where_it_lowers_the_objective(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rule, seen = flow_module._sharpened, []

    def watched(run: annealing_module.Run) -> annealing_module.Run:
        found = rule(run)
        seen.append((run, found))
        return found

    monkeypatch.setattr(flow_module, "_sharpened", watched)
    taken = set()
    for seed in range(6):
        problem, _ = blob_problem(gap=1.5, seed=seed, labels=2)
        problem = replace(problem, exact=True)
        partition = PARTITIONS["flow"].solve(problem)
        before, after = seen.pop()
        better = after.reached is not before.reached
        taken.add(better)
        assert (after.reached.objective < before.reached.objective) == better
        assert_array_equal(partition.scores, assigned(problem, after.reached.scores))
        assert partition.objective == after.reached.objective
        volumes = np.bincount(partition.scores.argmax(axis=1), minlength=3)
        assert_array_equal(volumes, [40, 40, 40])
        spent = sum(trace.n_iter for trace in after.traces[len(before.traces) :])
        assert 0 < spent <= partition.n_iter
        names = {stage.name for stage in partition.history}
        refined = rule(before)  # alone, as the first time
        assert refined.reached.objective == after.reached.objective
        assert ("after refinement" in names) == (len(after.traces) > len(before.traces) + 1)
    assert taken == {True, False}, "the draws should hold both cases"
    PARTITIONS["flow"].solve(replace(problem, exact=False))
    assert not seen, "nothing is held where volumes are not known"

    # A smaller cut that the objective does not like.
    mixed = Refinement(
        np.arange(120) % 3,
        after.reached.scores,
        np.array([2.0, 1.0]),
        1,
        7,
        Status.CONVERGED,
    )
    monkeypatch.setattr(flow_module, "refine", lambda *_, **__: mixed)
    found = rule(after)
    assert found.reached is after.reached
    assert len(found.traces) == len(after.traces) + 2
