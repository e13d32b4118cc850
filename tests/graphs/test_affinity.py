"""Graphs that are given: as an affinity, or by a transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors, RadiusNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing.graphs import AffinityGraph, KNNGraph, Laplacian, TransformerGraph, as_graph
from tests.helpers.data import gaussian_points
from tests.helpers.graphs import gaussian_affinity, inverse

# --- AffinityGraph ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.coo_array, np.ndarray.tolist])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, int, bool])
def test_affinity_graph_keeps_weights_and_precision_without_loops(form: Any, dtype: Any) -> None:
    W = (3 * gaussian_affinity(gaussian_points(12))).astype(dtype)
    given = form(W)
    found = AffinityGraph(given).affinity()
    single = dtype == np.float32 and not isinstance(given, list)
    assert found.dtype == (np.float32 if single else np.float64)
    assert_array_equal(found.toarray(), np.where(np.eye(12), 0, W))
    found.data[:] = 7
    assert_array_equal(given.toarray() if sp.issparse(given) else given, W)  # not modified


def test_affinity_graph_evens_out_rounding() -> None:
    W = gaussian_affinity(gaussian_points(12))
    skew = W.copy()
    skew[0, 1] += 1e-12
    found = AffinityGraph(skew).affinity()
    assert abs(found - found.T).max() == 0
    assert_allclose(found.toarray(), W - np.eye(12), atol=1e-12)


@pytest.mark.parametrize("form", [sp.csr_array, sp.coo_array])
def test_affinity_graph_sums_entries_given_twice(form: Any) -> None:
    twice = form(sp.csr_array(([1.0, 2.0, 3.0], [1, 1, 0], [0, 2, 3]), shape=(2, 2)))
    found = AffinityGraph(twice).affinity()
    assert_array_equal(found.data, [3, 3])
    assert_array_equal(found.toarray(), [[0, 3], [3, 0]])


def test_affinity_is_a_parameter_and_a_method() -> None:
    W, V = np.ones((3, 3)), np.ones((2, 2))
    recipe = AffinityGraph(W)
    assert recipe.get_params()["affinity"] is W
    assert recipe.set_params(affinity=V, power=2) is recipe
    assert recipe.get_params() == {"affinity": V, "normalized": True, "power": 2}
    assert_array_equal(clone(recipe).affinity().toarray(), [[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), r"must be square.*\(2, 3\)"),
        (np.array([[0, 1], [0.5, 0]]), r"not symmetric.*up to 0.5.*W.maximum\(W.T\)"),
        (sp.csr_array(np.triu(np.ones((3, 3)))), r"not symmetric.*\(W \+ W.T\) / 2"),
        (np.array([[0, -1.0], [-1.0, 0]]), r"negative entries \(smallest: -1\)"),
        (np.array([[0, np.nan], [np.nan, 0]]), "affinity contains NaN"),
        (sp.csr_array(np.array([[0, np.inf], [np.inf, 0]])), "affinity contains infinity"),
        (np.empty((0, 0)), r"0 sample\(s\)"),
        ([1.0, 2.0], "Expected 2D array"),
        (np.array([[1j]]), "Complex data not supported"),
    ],
)
def test_rejects_invalid_affinities(matrix: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AffinityGraph(matrix).affinity()
    with pytest.raises(ValueError, match=message):
        Laplacian.from_affinity(matrix)


def test_rejects_affinities_of_other_points() -> None:
    recipe = AffinityGraph(np.ones((3, 3)))
    for X in (gaussian_points(4), gaussian_points(4).tolist(), sp.csr_array(gaussian_points(4))):
        with pytest.raises(ValueError, match="affinity has 3 rows but X has 4 points"):
            recipe.affinity(X)
    assert recipe.affinity(gaussian_points(3)).nnz == 6


# --- TransformerGraph ---------------------------------------------------------------------------


def test_transformer_graph_is_the_knn_graph_of_the_same_neighbors() -> None:
    X = gaussian_points(60, 3)
    for weights in ("heat", "binary", "self-tuning", inverse):
        expected = KNNGraph(6, weights=weights).affinity(X).toarray()
        transformer = KNeighborsTransformer(n_neighbors=6)
        found = TransformerGraph(transformer, weights=weights).affinity(X).toarray()
        assert_allclose(found, expected, rtol=1e-9)
        assert not hasattr(transformer, "n_features_in_")  # a clone was fitted


def test_transformer_graph_joins_duplicates() -> None:
    X = gaussian_points(20, 2)
    X[5:8] = X[5]
    W = TransformerGraph(KNeighborsTransformer(n_neighbors=3)).affinity(X).toarray()
    assert_array_equal(W[5:8, 5:8], 1 - np.eye(3))
    radius = TransformerGraph(RadiusNeighborsTransformer(radius=1e-9)).affinity(X)
    assert_array_equal(radius.toarray()[5:8, 5:8], 1 - np.eye(3))
    assert radius.nnz == 6  # and the others are isolated


def test_transformer_graph_takes_connectivity_as_weights() -> None:
    X = gaussian_points(30, 2)
    expected = NearestNeighbors(n_neighbors=5).fit(X).kneighbors_graph().toarray()
    expected = np.maximum(expected, expected.T)
    # In this mode scikit-learn counts the point itself among its neighbours.
    plain = KNeighborsTransformer(n_neighbors=6, mode="connectivity")
    centred = make_pipeline(StandardScaler(with_std=False), plain)
    for transformer in (plain, centred, make_pipeline(centred)):
        assert_array_equal(TransformerGraph(transformer).affinity(X).toarray(), expected)


class Fixed:
    """A third-party transformer without parameters or `mode`."""

    def __init__(self, output: Any) -> None:
        self.output = output

    def fit_transform(self, X: Any) -> Any:
        return self.output


def test_any_object_with_fit_transform_is_a_transformer() -> None:
    distances = sp.csr_array(np.array([[0, 1.0, 0], [0, 0, 2.0], [0, 0, 0]]))
    W = as_graph(Fixed(distances)).affinity(gaussian_points(3)).toarray()
    t = 1.5  # the mean of the two directed edges
    a, b = np.exp(-(1**2) / (2 * t**2)), np.exp(-(2**2) / (2 * t**2))
    assert_allclose(W, [[0, a, 0], [a, 0, b], [0, b, 0]])
    assert as_graph(Fixed(sp.csr_array((3, 3)))).affinity(gaussian_points(3)).nnz == 0


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Fixed(np.ones((3, 3))), r"must give a sparse matrix of shape \(3, 3\).* gave ndarray"),
        (Fixed(sp.csr_array((3, 2))), r"csr_array of shape \(3, 2\)"),
        (Fixed(None), "gave NoneType"),
        (Fixed(sp.csr_array(-np.ones((3, 3)))), r"Fixed.fit_transform\(X\) gave negative, NaN or"),
        (Fixed(sp.csr_array(np.full((3, 3), np.nan))), "gave negative, NaN or infinite"),
        (TransformerGraph(KNeighborsTransformer(), weights="gauss"), "weights='gauss' must be"),
    ],
)
def test_rejects_transformers_that_give_no_graph(graph: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_graph(graph).affinity(gaussian_points(3))
