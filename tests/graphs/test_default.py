"""The graph that is taken where none is given."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from lapwing.graphs import KNNGraph, build_laplacian, default_graph
from tests.helpers.data import gaussian_points


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
def test_the_default_graph_follows_the_features_and_the_task(
    d: int, regression: bool, expected: KNNGraph
) -> None:
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
