"""Names of parts against all permutations, and what must not be renamed."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from lapwing.objectives.volumes import VolumeProblem
from lapwing.solvers.graph import flow as flow_module
from lapwing.solvers.graph.names import renamed
from lapwing.solvers.graph.registry import PARTITIONS
from tests.helpers.volumes import blob_problem, graph_problem


def random_problem(seed: int, labels: int) -> VolumeProblem:
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(0.1, 1, (24, 24)) * (rng.random((24, 24)) < 0.4), 1)
    rows = rng.choice(24, 4 * labels, replace=False)
    labeled = {int(i): k % 4 for k, i in enumerate(rows)}
    return graph_problem(W + W.T + 0.01 * (1 - np.eye(24)), labeled, 4)


def with_labels(problem: VolumeProblem, codes: np.ndarray) -> np.ndarray:
    codes = codes.copy()
    codes[problem.index] = problem.codes
    return codes


@pytest.mark.parametrize("labels", [1, 3])
def test_names_have_the_least_cut_of_all(labels: int) -> None:
    changed = []
    for seed in range(6):
        problem = random_problem(seed, labels)
        codes = np.random.default_rng(seed).integers(4, size=24)
        cuts = [
            problem.graph.cut(with_labels(problem, np.array(names)[codes]))
            for names in permutations(range(4))
        ]
        found = renamed(problem, codes)
        best = with_labels(problem, codes) if found is None else found
        assert_array_equal(best[problem.index], problem.codes)
        assert problem.graph.cut(best) == pytest.approx(min(cuts))
        if found is not None:
            assert problem.graph.cut(found) < cuts[0]
            assert renamed(problem, found) is None
        changed.append(found is not None)
    assert any(changed)


def test_right_names_stay() -> None:
    problem, codes = blob_problem()
    assert renamed(problem, codes) is None


def test_parts_under_each_others_names_are_found_in_a_flow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A label amid another class begins that one; the others' names follow from their labels."""
    problem, codes = blob_problem((60, 60, 60), gap=7.0, labels=3)
    right = flow_module._chosen

    def confused(*arguments):  # type: ignore[no-untyped-def]
        course, traces, spent = right(*arguments)
        turned = replace(course.reached, shares=course.reached.shares[:, [1, 2, 0]], objective=9.0)
        return replace(course, reached=turned), traces, spent

    monkeypatch.setattr(flow_module, "_chosen", confused)
    found = PARTITIONS["flow"].solve(problem)
    assert (found.scores.argmax(axis=1) != codes).mean() < 0.02
    assert [stage.name for stage in found.history].count("after renaming")
