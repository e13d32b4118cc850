"""Names of parts against all permutations, and what must not be renamed."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lapwing.objectives.volumes import CLAMP, Scale, VolumeProblem
from lapwing.solvers.graph.annealing import SOFTNESS, Stage, runs_of
from lapwing.solvers.graph.linear import first_codes, reach_of, scales_of_contrast
from lapwing.solvers.graph.moves import apply_moves, relabelled
from tests.helpers.volumes import blob_problem, dense_system, graph_problem

PRIOR = np.array([0.4, 0.3, 0.2, 0.1])


def random_problem(seed: int, labels: int) -> VolumeProblem:
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(0.1, 1, (24, 24)) * (rng.random((24, 24)) < 0.4), 1)
    rows = rng.choice(24, 4 * labels, replace=False)
    labeled = {int(i): k % 4 for k, i in enumerate(rows)}
    return graph_problem(W + W.T + 0.01 * (1 - np.eye(24)), labeled, 4, PRIOR)


def objective(problem: VolumeProblem, Q: np.ndarray, stage: Stage) -> float:
    """J but for the entropy, which has no names; by a dense solve and as it is written down."""
    system, pull, d = dense_system(problem, stage.scale.s)
    F = np.linalg.solve(system, d[:, None] * Q + pull)
    W = problem.graph.affinity.toarray()  # type: ignore[attr-defined]
    laplacian = np.diag(W.sum(axis=1)) - W
    missed = ((F[problem.index] - problem.labels) ** 2).sum(axis=1)
    value = d @ ((F - Q) ** 2).sum(axis=1) / 2
    value += stage.scale.s * np.trace(F.T @ laplacian @ F) / 2
    value += CLAMP * d[problem.index] @ missed / 2
    value += d @ (1 - (Q**2).sum(axis=1)) / 2
    value /= stage.scale.contrast * d.sum()
    if np.isfinite(stage.softness):
        v = Q.mean(axis=0)
        value += stage.softness * float(v @ np.log(v / problem.prior))
    return float(value)


@pytest.mark.parametrize("softness", [0.05, np.inf])
@pytest.mark.parametrize("labels", [1, 3])
def test_names_have_the_least_objective_of_all(labels: int, softness: float) -> None:
    changed = []
    stage = Stage(Scale(2.0, 0.7), 0.1, softness)
    for seed in range(6):
        problem = random_problem(seed, labels)
        Q = np.random.default_rng(seed).dirichlet(np.full(4, 0.3), size=24)
        Q[problem.index] = problem.labels
        values = []
        for names in permutations(range(4)):
            other = Q[:, names].copy()
            other[problem.index] = problem.labels
            values.append(objective(problem, other, stage))
        found = relabelled(problem, Q, stage)
        best = Q if found is None else found
        assert_array_equal(best[problem.index], problem.labels)
        assert_allclose(objective(problem, best, stage), min(values), rtol=1e-6)
        if found is not None:
            assert objective(problem, found, stage) < values[0]
            assert relabelled(problem, found, stage) is None
        changed.append(found is not None)
    assert any(changed)


def test_right_names_stay() -> None:
    problem, codes = blob_problem()
    assert relabelled(problem, problem.whole(codes), Stage(Scale(2.0, 0.7), 0.1, 0.3)) is None


def test_parts_under_each_others_names_are_found_in_a_flow() -> None:
    """A label amid another class begins that one; the others' names follow from their labels."""
    problem, codes = blob_problem((60, 60, 60), gap=7.0, labels=3)
    reach, _ = reach_of(problem)
    begun = first_codes(problem, reach)
    scales = scales_of_contrast(problem, problem.whole(begun), (0.3, 0.45, 0.6, 0.75, 0.85, 0.92))
    run = runs_of(problem, reach, scales.scales)[0]
    turned = replace(run.reached, shares=run.reached.shares[:, [1, 2, 0]], objective=9.0)
    confused = replace(run, reached=turned)
    assert (turned.shares.argmax(axis=1) != codes).mean() > 0.9
    found = apply_moves(confused)[0]
    assert (found.codes != codes).mean() < 0.02
    told = [stage.name for trace in found.traces for stage in trace.history]
    assert told.count("after renaming")


def test_names_are_judged_by_volumes_that_are_held_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """J has no part for these: a name would cost nothing there, whatever the size of its part."""
    problem, codes = blob_problem((60, 30, 30), prior=np.array([0.5, 0.25, 0.25]), exact=True)
    reach, _ = reach_of(problem)
    begun = first_codes(problem, reach)
    scales = scales_of_contrast(problem, problem.whole(begun), (0.3, 0.45, 0.6, 0.75, 0.85, 0.92))
    (run,) = runs_of(problem, reach, scales.scales)
    asked = []

    def watched(problem: VolumeProblem, shares: np.ndarray, stage: Stage) -> np.ndarray | None:
        asked.append(stage)
        return relabelled(problem, shares, stage)

    monkeypatch.setattr("lapwing.solvers.graph.moves.relabelled", watched)
    (found,) = apply_moves(run)
    assert (found.codes != codes).mean() < 0.02
    assert asked
    assert all(stage.scale == run.stages[-1].scale for stage in asked)
    assert {stage.softness for stage in asked} == {SOFTNESS[-1]}
