"""Values of ``graph=``, and the default graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import KNeighborsTransformer

from lapwing.graphs import (
    AffinityGraph,
    KNNGraph,
    Laplacian,
    TransformerGraph,
    as_graph,
    build_laplacian,
    default_graph,
)
from tests.helpers.data import gaussian_points
from tests.helpers.graphs import gaussian_affinity


def test_as_graph() -> None:
    W = gaussian_affinity(gaussian_points())
    for recipe in (KNNGraph(), AffinityGraph(W)):
        assert as_graph(recipe) is recipe
    for matrix in (W, sp.csr_matrix(W), sp.coo_array(W)):
        assert as_graph(matrix).get_params()["affinity"] is matrix
    assert isinstance(as_graph(KNeighborsTransformer()), TransformerGraph)


def test_accepts_recipes_of_users() -> None:
    class Ring:
        normalized, power = False, 2

        def affinity(self, X: Any) -> Any:
            return sp.csr_array(np.roll(np.eye(len(X)), 1, 0) + np.roll(np.eye(len(X)), 1, 1))

    L = build_laplacian(Ring(), gaussian_points(6))
    one = 2 * np.eye(6) - L.affinity.toarray()
    assert_allclose(L.apply(np.eye(6)), one @ one)


@pytest.mark.parametrize(
    ("graph", "advice"),
    [
        *((graph, "") for graph in ("knn", 5, [[0, 1], [1, 0]], object())),
        (KNNGraph, r"Did you mean graph=KNNGraph\(\.\.\.\)\?"),
        (KNeighborsTransformer, r"Did you mean graph=KNeighborsTransformer\("),
        (gaussian_points(40).tolist(), ""),
    ],
)
def test_rejects_objects_that_are_no_graph(graph: Any, advice: str) -> None:
    known = r"is not a graph. Use None .* KNNGraph, .*affinity matrix"
    with pytest.raises(TypeError, match=f"{known}.*{advice}") as error:
        as_graph(graph)
    assert len(str(error.value)) < 1000  # large objects are not printed in full


@pytest.mark.parametrize("power", [0, -1, 1.5, "2", None, True])
def test_the_power_is_checked_before_the_search(power: Any) -> None:
    class Slow(KNNGraph):
        def affinity(self, X: Any) -> Any:
            raise AssertionError("searched")

    with pytest.raises(ValueError, match=r"power=.* must be a whole number of at least 1"):
        build_laplacian(Slow().set_params(power=power), gaussian_points())
    with pytest.raises(ValueError, match=r"power=.* must be a whole number of at least 1"):
        Laplacian.from_affinity(np.ones((2, 2)), power=power)


# --- the default graph ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("d", "regression", "expected"),
    [
        (4, False, KNNGraph(5, power=2)),
        (3, False, KNNGraph(10, power=1)),
        (1, False, KNNGraph(10, power=1)),
        (3, True, KNNGraph(5, power=2, normalized=False)),
        (40, True, KNNGraph(5, power=2, normalized=False)),
    ],
)
def test_the_default_graph_by_shape_and_task(d: int, regression: bool, expected: KNNGraph) -> None:
    found = default_graph(gaussian_points(30, d), regression=regression)
    assert found.get_params() == expected.get_params()


@pytest.mark.parametrize(("d", "k"), [(4, 5), (2, 10)])
def test_the_default_graph_connects_all_of_few_points(d: int, k: int) -> None:
    X = gaussian_points(30, d)
    for n in range(2, k + 1):
        assert default_graph(X[:n]).affinity(X[:n]).nnz == n * (n - 1)
    sparse = sp.csr_array(X)
    assert default_graph(sparse).affinity(sparse).nnz == default_graph(X).affinity(X).nnz
    alone = build_laplacian(default_graph(X[:1]), X[:1])
    assert alone.affinity.shape == (1, 1)
    assert_array_equal(alone.apply(np.ones((1, 2))), 0)
