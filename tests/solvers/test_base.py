"""What solvers of all families share: results, their columns, registries."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lapwing.solvers.base import Result, Solver, Status, join_columns
from lapwing.solvers.low_density.methods import METHODS
from lapwing.solvers.manifold.registry import SOLVERS

# From the worst: a fit that a callback stopped says nothing of the rest.
ORDER = (Status.CALLBACK, Status.MAX_ITER, Status.EARLY, Status.PRECISION, Status.CONVERGED)


def column(status: Status, n_iter: int = 0, value: float = 1.0) -> Result[None, float]:
    return Result(None, value, value / 10, n_iter, status)


def test_joined_columns_keep_their_values_and_the_most_iterations() -> None:
    one, two = column(Status.CONVERGED, 3, 2.0), column(Status.CONVERGED, 7, 4.0)
    joined = join_columns([one, two], "state")
    assert joined.state == "state"
    np.testing.assert_array_equal(joined.objective, [2.0, 4.0])
    np.testing.assert_array_equal(joined.optimality, [0.2, 0.4])
    assert joined.n_iter == 7


@pytest.mark.parametrize(("worse", "better"), list(pairwise(ORDER)))
def test_joined_status_is_the_worst(worse: Status, better: Status) -> None:
    for columns in ([worse, better], [better, worse]):
        assert join_columns([column(status) for status in columns], None).status == worse


def test_assigned_n_iter_is_at_least_one() -> None:
    """scikit-learn's checks want one."""
    model = SimpleNamespace()
    column(Status.CONVERGED).assign(model)
    assert vars(model) == {
        "objective_": 1.0,
        "optimality_": 0.1,
        "n_iter_": 1,
        "status_": "converged",
    }


@pytest.mark.parametrize("registry", [SOLVERS, METHODS], ids=["manifold", "low density"])
def test_registry_keys_are_the_names_of_solvers(registry: dict[str, Solver[Any]]) -> None:
    assert all(name == solver.name and solver.summary for name, solver in registry.items())
