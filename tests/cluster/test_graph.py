"""The graph of points on a cluster, its components and eigenpairs: those of points in memory."""

from __future__ import annotations

import pickle
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.dask import _laplacian, _neighbors, _plan
from lapwing.dask._data import ClusterPoints
from lapwing.dask._halos import GraphRows, HaloMatrix, affinity_of_edges
from lapwing.dask._laplacian import ClusterLaplacian, eigenpairs_on_cluster, whole_matrix
from lapwing.dask._neighbors import knn_edges
from lapwing.dask._placement import Placement
from lapwing.dask._row_blocks import RowBlocks
from lapwing.graphs import KNNGraph, Laplacian, chebyshev, smallest_eigenpairs
from tests.cluster.conftest import Case, points_of

SIZES = (60, 0, 1, 39, 80)


def graph_of(recipe: KNNGraph, X: ClusterPoints) -> ClusterLaplacian:
    edges, placement, _ = knn_edges(recipe, X)
    W, placement = affinity_of_edges(
        edges, placement, str(recipe.weights), mutual=bool(recipe.mutual)
    )
    return ClusterLaplacian(W, placement, bool(recipe.normalized), 1, np.dtype(np.float64))


def gathered(matrix: HaloMatrix, placement: Placement) -> Any:
    """The matrix of all blocks, in the user's order."""
    session = matrix.rows.session
    whole = whole_matrix(session.gather(matrix.rows.parts))
    order = np.argsort(np.concatenate(session.gather(placement.origins.parts)))
    return sp.csr_array(whole[order][:, order])


def stacked(matrix: RowBlocks) -> np.ndarray:
    return np.vstack(matrix.session.gather(matrix.parts))


def placed(F: np.ndarray, laplacian: ClusterLaplacian) -> RowBlocks:
    """Values of the points in the blocks of a graph."""
    origins = laplacian.placement.origins
    parts = [F[rows] for rows in origins.session.gather(origins.parts)]
    constants = tuple(origins.session.constant(part) for part in parts)
    return RowBlocks(origins.session, constants, origins.sizes, F.shape[1], F.dtype)


def clouds(n_clouds: int) -> np.ndarray:
    """Points of clouds that no edge joins."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((180, 3)) + 100.0 * (np.arange(180) % n_clouds)[:, None]


@pytest.mark.parametrize(
    ("recipe", "most_bytes", "n_blocks"),
    [
        (KNNGraph(4, normalized=True), 2160, 2),
        (KNNGraph(4, weights="binary", mutual=True, normalized=True), 1000, 4),
        (KNNGraph(3, normalized=False), 1000, 4),
        # More blocks than a byte has bits.
        (KNNGraph(4, normalized=True, approximate=True, target_recall=1.0), 400, 12),
    ],
)
def test_the_graph_equals_that_of_points_in_memory(
    recipe: KNNGraph, most_bytes: int, n_blocks: int, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_neighbors, "DIFFERENCE_BYTES", 2000)  # a few rows at a time
    monkeypatch.setattr(_plan, "BLOCK_BYTES", most_bytes)  # of 4320
    X = clouds(1)
    if not recipe.approximate:
        X[:60] = np.round(X[:60])  # some points are there twice, and distances tie
    points = points_of(client, X, SIZES)
    if not recipe.approximate or find_spec("faiss") is not None:
        assert len(knn_edges(recipe, points)[0].parts) == n_blocks
    laplacian = graph_of(recipe, points)
    assert laplacian.affinity.neighbors == [[1], [0]]  # a block for each thread
    expected = recipe.affinity(X)
    found = gathered(laplacian.affinity, laplacian.placement)
    assert found.nnz == expected.nnz
    np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-12)
    local = Laplacian.from_affinity(expected, normalized=recipe.normalized)
    matrix = gathered(laplacian.matrix, laplacian.placement).toarray()
    np.testing.assert_allclose(matrix, local.matrix.toarray(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(laplacian.norm_bound, local.norm_bound)
    F = np.random.default_rng(1).standard_normal((180, 2))
    values = placed(F, laplacian)
    answers = laplacian.placement.back(laplacian.apply(values))
    assert answers.sizes == SIZES
    np.testing.assert_allclose(stacked(answers), local.apply(F), atol=1e-12)


def test_dask_counts_the_bytes_of_a_graph() -> None:
    sizeof = pytest.importorskip("dask.sizeof").sizeof
    own, far = sp.eye_array(500, format="csr"), sp.csr_array(np.eye(500, 3))
    rows = GraphRows(own, far, np.arange(3), {1: np.arange(2)})
    assert sizeof(rows) == pytest.approx(len(pickle.dumps(rows)), rel=0.1)


def test_components_are_numbered_by_their_first_points(client: Any) -> None:
    X = clouds(3)
    recipe = KNNGraph(4, normalized=True, approximate=True, target_recall=1.0)
    laplacian = graph_of(recipe, points_of(client, X, SIZES))
    local = Laplacian.from_affinity(KNNGraph(4).affinity(X))
    components = laplacian.components
    labels = stacked(laplacian.placement.back(components.labels))[:, 0]
    np.testing.assert_array_equal(labels, local.component_labels)
    np.testing.assert_array_equal(components.first, [0, 1, 2])
    np.testing.assert_array_equal(components.sizes, np.bincount(local.component_labels))


# In the user's order blocks exchange rows; near their neighbours each holds whole clouds.
@pytest.mark.parametrize(
    ("n_clouds", "k", "normalized", "approximate"),
    [(1, 5, False, False), (2, 5, True, True), (3, 2, True, False)],
)
def test_iterated_eigenpairs_equal_those_of_a_dense_solver(
    n_clouds: int,
    k: int,
    normalized: bool,
    approximate: bool,
    client: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_laplacian, "DENSE_POINTS", 0)
    for module in (_laplacian, chebyshev):
        monkeypatch.setattr(module, "ROWS", 7)
    X = clouds(n_clouds)
    if n_clouds == 2:  # so that the components differ in size
        X[-1] -= 100.0
    approximate &= find_spec("faiss") is not None
    recipe = KNNGraph(
        6, normalized=normalized, approximate=approximate, target_recall=1.0, random_state=1
    )
    laplacian = graph_of(recipe, points_of(client, X, SIZES))
    assert any(laplacian.affinity.neighbors) != approximate
    local = Laplacian.from_affinity(KNNGraph(6).affinity(X), normalized=normalized)
    found = eigenpairs_on_cluster(laplacian, k, tol=1e-5)
    expected = smallest_eigenpairs(local, k)
    assert found.method == ("components" if k <= n_clouds else "chebyshev")
    assert found.n_components == expected.n_components
    assert found.converged
    np.testing.assert_allclose(found.values, expected.values, atol=1e-6)
    vectors = stacked(laplacian.placement.back(found.vectors))  # type: ignore[arg-type]
    np.testing.assert_allclose(np.abs(vectors), np.abs(expected.vectors), atol=1e-3)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-8)
    lengths = np.linalg.norm(local.matrix @ vectors - vectors * found.values, axis=0)
    np.testing.assert_allclose(found.residual, lengths.max(), atol=1e-9)
    largest = np.argmax(np.abs(vectors), axis=0)
    assert (vectors[largest, np.arange(k)] > 0).all()


def test_rows_are_returned_in_the_order_of_the_index(client: Any) -> None:
    case = Case(n=180)
    rows = points_of(client, case.X, SIZES).rows
    index = np.array([179, 0, 60, 61, 60, 5])
    np.testing.assert_array_equal(rows[index], case.X[index])
    np.testing.assert_allclose((rows.T @ rows), case.X.T @ case.X)
    np.testing.assert_allclose(stacked(rows * 2.0 + 1.0 - rows), case.X + 1.0)
    assert rows[index[:0]].shape == (0, 4)
