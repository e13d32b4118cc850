"""Graphs: one suite for all recipes, then each with its oracle, then the Laplacian."""

from __future__ import annotations

import importlib.util
import logging
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import laplacian as scipy_laplacian
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, clone
from sklearn.neighbors import (
    KNeighborsTransformer,
    NearestNeighbors,
    RadiusNeighborsTransformer,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing.graphs import (
    GRAPHS,
    AffinityGraph,
    AnchorGraph,
    AnchorLaplacian,
    GraphRecipe,
    KNNGraph,
    Laplacian,
    TransformerGraph,
    ann,
    as_graph,
    build_laplacian,
    default_graph,
    laplacian,
    neighbors,
    ties,
)

Make = Callable[[Any], Any]

needs_faiss = pytest.mark.skipif(
    importlib.util.find_spec("faiss") is None, reason="faiss is not installed (extra 'ann')"
)


def points(n: int = 40, d: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def gaussian_affinity(X: Any) -> np.ndarray:
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    W = np.exp(-(cdist(X, X) ** 2))
    W[W < 0.05] = 0
    return W


def inverse(distances: np.ndarray) -> np.ndarray:
    return 1 / (1 + distances)


def knn(**options: Any) -> Make:
    return lambda X: KNNGraph(5, **options)


GIVEN = np.random.default_rng(5).normal(size=(9, 4))  # anchors

# name in GRAPHS -> examples as (id, from the points to a recipe, takes sparse X, marks).
# A new graph needs its line here, or `test_every_graph_has_an_example` fails.
EXAMPLES: dict[str, list[tuple[str, Make, bool, Any]]] = {
    "KNNGraph": [
        ("heat", knn(), True, ()),
        ("binary", knn(weights="binary", normalized=False, power=3), True, ()),
        ("self-tuning", knn(weights="self-tuning", normalized=False), True, ()),
        ("function", knn(weights=inverse), True, ()),
        ("mutual", knn(mutual=True), True, ()),
        ("cosine", knn(metric="cosine"), True, ()),
        ("manhattan", knn(metric="manhattan"), True, ()),
        ("faiss", knn(backend="faiss"), False, needs_faiss),
        ("faiss-cosine", knn(backend="faiss", metric="cosine"), False, needs_faiss),
        ("approximate", knn(approximate=True, target_recall=1.0), False, needs_faiss),
        ("reduced", knn(n_components=3), False, ()),
    ],
    "AffinityGraph": [
        ("dense", lambda X: AffinityGraph(gaussian_affinity(X)), True, ()),
        (
            "sparse",
            lambda X: AffinityGraph(sp.coo_matrix(gaussian_affinity(X)), normalized=False),
            True,
            (),
        ),
    ],
    "TransformerGraph": [
        ("knn", lambda X: TransformerGraph(KNeighborsTransformer(n_neighbors=4)), True, ()),
        (
            "radius",
            lambda X: TransformerGraph(
                RadiusNeighborsTransformer(radius=1.5), weights="self-tuning", normalized=False
            ),
            True,
            (),
        ),
        (
            "connectivity",
            lambda X: TransformerGraph(KNeighborsTransformer(mode="connectivity"), power=2),
            True,
            (),
        ),
    ],
    "AnchorGraph": [
        ("kmeans", lambda X: AnchorGraph(8, random_state=3), True, ()),
        ("random", lambda X: AnchorGraph(12, anchors="random", power=2), True, ()),
        ("embedding", lambda X: AnchorGraph(12, weights="embedding", n_nearest=4), True, ()),
        ("given", lambda X: AnchorGraph(anchors=GIVEN, normalized=True), True, ()),
    ],
}
CASES = [
    pytest.param(make, takes_sparse, id=f"{name}-{label}", marks=marks)
    for name, examples in EXAMPLES.items()
    for label, make, takes_sparse, marks in examples
]
each_recipe = pytest.mark.parametrize(("make", "takes_sparse"), CASES)


def test_every_graph_has_an_example() -> None:
    assert EXAMPLES.keys() == GRAPHS.keys()
    X = points()
    for name, examples in EXAMPLES.items():
        for _, make, _, _ in examples:
            assert type(make(X)) is GRAPHS[name]


# --- what every recipe does ---------------------------------------------------------------------


@each_recipe
def test_affinity_is_symmetric_nonnegative_and_without_loops(
    make: Make, takes_sparse: bool
) -> None:
    X = points()
    W = make(X).affinity(X)
    assert isinstance(W, sp.csr_array)
    assert W.shape == (40, 40)
    assert W.nnz > 40
    assert abs(W - W.T).max() == 0
    assert (W.data > 0).all()  # nothing negative, no stored zero
    assert_array_equal(W.diagonal(), 0)
    assert W.has_sorted_indices
    assert W.indices.dtype == np.int32


@each_recipe
def test_affinity_follows_a_permutation(make: Make, takes_sparse: bool) -> None:
    X = points()
    order = np.random.default_rng(1).permutation(len(X))
    W = make(X).affinity(X).toarray()
    permuted = make(X[order]).affinity(X[order]).toarray()
    assert_allclose(permuted, W[np.ix_(order, order)], rtol=1e-9)


@each_recipe
def test_recipe_is_cloned_pickled_and_never_changed(make: Make, takes_sparse: bool) -> None:
    X = points()
    recipe = make(X)
    assert isinstance(recipe, GraphRecipe)
    assert isinstance(recipe, BaseEstimator)
    before = recipe.get_params(deep=False)
    expected = recipe.affinity(X).toarray()
    assert repr(recipe).startswith(type(recipe).__name__)
    after = recipe.get_params(deep=False)
    assert before.keys() == after.keys()
    assert all(after[name] is value for name, value in before.items())
    twins = [clone(recipe), type(recipe)(**before)]
    if "function" not in repr(recipe):
        twins.append(pickle.loads(pickle.dumps(recipe)))
    for twin in twins:
        assert twin is not recipe
        assert_array_equal(twin.affinity(X).toarray(), expected)
        assert (twin.normalized, twin.power) == (recipe.normalized, recipe.power)


@each_recipe
def test_power_and_normalized_can_be_searched_over(make: Make, takes_sparse: bool) -> None:
    recipe = make(points())
    recipe.set_params(power=4, normalized=False)
    assert (recipe.power, recipe.normalized) == (4, False)
    assert recipe.get_params()["power"] == 4
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        recipe.set_params(nonsense=1)


@each_recipe
@pytest.mark.parametrize("value", ["no", "False", 1, None])
def test_normalized_is_true_or_false(make: Make, takes_sparse: bool, value: Any) -> None:
    X = points()
    recipe = make(X).set_params(normalized=value)
    message = f"normalized={value!r} must be True or False"
    with pytest.raises(ValueError, match=message):
        recipe.affinity(X)
    with pytest.raises(ValueError, match=message):
        Laplacian.from_affinity(gaussian_affinity(X), normalized=value)
    recipe.set_params(normalized=np.bool_(False))
    assert build_laplacian(recipe, X).normalized is False


@each_recipe
def test_float32_and_sparse_points_give_the_same_graph(make: Make, takes_sparse: bool) -> None:
    X = points()
    X[:, 1:][np.abs(X[:, 1:]) < 0.5] = 0  # but no empty rows: see their own test
    expected = make(X).affinity(X).toarray()
    X32 = X.astype(np.float32)
    assert_allclose(make(X32).affinity(X32).toarray(), expected, rtol=1e-4, atol=1e-6)
    if takes_sparse:
        for to_sparse in (sp.csr_matrix, sp.csr_array, sp.coo_array):
            S = to_sparse(X)
            assert_allclose(make(S).affinity(S).toarray(), expected, rtol=1e-9)


@each_recipe
def test_the_laplacian_of_a_recipe_is_positive_semidefinite(make: Make, takes_sparse: bool) -> None:
    X = points()
    recipe = make(X)
    L = build_laplacian(recipe, X)
    assert (L.normalized, L.power) == (recipe.normalized, recipe.power)
    eigenvalues = np.linalg.eigvalsh(L.apply(np.eye(40)))
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]
    assert abs(eigenvalues[0]) < 1e-12 * eigenvalues[-1]  # each component has its null vector


@pytest.mark.parametrize(
    ("make", "takes_sparse"),
    [case for case in CASES if not str(case.id).startswith("AffinityGraph")],  # sees no points
)
def test_points_that_make_no_sense_are_refused(make: Make, takes_sparse: bool) -> None:
    X = points()
    recipe = make(X)
    for bad in (np.nan, np.inf):
        Z = X.copy()
        Z[3, 1] = bad
        with pytest.raises(ValueError, match=r"X contains (NaN|infinity)"):
            recipe.affinity(Z)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        recipe.affinity(X[:0])


# --- KNNGraph -----------------------------------------------------------------------------------


def oracle(X: np.ndarray, k: int, metric: str = "euclidean") -> np.ndarray:
    """Distances to the k nearest other points, by sorting all of them."""
    D = cdist(X, X, metric)
    np.fill_diagonal(D, np.inf)
    return np.sort(D, axis=1)[:, :k]


def check_neighbors(X: np.ndarray, k: int, found: Any, metric: str = "euclidean") -> None:
    n = len(X)
    assert found.indices.shape == found.distances.shape == (n, k)
    assert not (found.indices == np.arange(n)[:, None]).any()
    for row in found.indices:
        assert len(set(row.tolist())) == k
    assert_allclose(found.distances, oracle(X, k, metric), rtol=1e-7, atol=1e-12)
    own = np.take_along_axis(cdist(X, X, metric), found.indices, axis=1)
    assert_allclose(found.distances, own, rtol=1e-7, atol=1e-12)


BACKENDS = ["sklearn", pytest.param("faiss", marks=needs_faiss)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("d", [2, 30])  # scikit-learn's trees, and its products
def test_neighbors_are_those_of_brute_force(backend: str, metric: str, d: int) -> None:
    X = points(300, d)
    for k in (1, 7, 299):
        found = KNNGraph(k, metric=metric, backend=backend).neighbors(X)
        check_neighbors(X, k, found, metric)
        assert (found.recall, found.backend) == (1.0, backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("d", [2, 20])
def test_ties_and_duplicates(backend: str, d: int) -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, size=(120, d)).astype(float)  # many ties
    X[:30] = X[0]  # more duplicates than neighbours and spare candidates
    found = KNNGraph(4, backend=backend).neighbors(X)
    check_neighbors(X, 4, found)
    assert_array_equal(found.distances[:30], 0)


@given(
    X=arrays(
        np.float64, st.tuples(st.integers(3, 25), st.integers(1, 3)), elements=st.integers(-3, 3)
    ),
    k=st.integers(1, 24),
    metric=st.sampled_from(["euclidean", "cityblock"]),
)
@settings(max_examples=60)
def test_neighbors_of_any_points(X: np.ndarray, k: int, metric: str) -> None:
    k = min(k, len(X) - 1)
    check_neighbors(X, k, KNNGraph(k, metric=metric).neighbors(X), metric)


@needs_faiss
def test_backends_find_the_same_graph() -> None:
    for X in (points(500, 25), points(500, 25).astype(np.float32)):
        for metric in ("euclidean", "cosine"):
            a, b = (
                KNNGraph(8, metric=metric, backend=backend).affinity(X)
                for backend in ("sklearn", "faiss")
            )
            assert_allclose(a.toarray(), b.toarray(), rtol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("offset", [1e6, 1e9])
def test_an_offset_of_the_points_changes_no_neighbor(backend: str, offset: float) -> None:
    X = np.round(points(200, 20) * 256) / 256  # so that the offset is exact
    check_neighbors(X, 6, KNNGraph(6, backend=backend).neighbors(X + offset))


@pytest.mark.parametrize("backend", BACKENDS)
def test_far_clusters_do_not_spoil_the_search(
    backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    X = points(600, 20)
    X[300:] += 3e6  # within a cluster distances are of the order of float32's rounding
    with caplog.at_level(logging.DEBUG, "lapwing"):
        check_neighbors(X, 5, KNNGraph(5, backend=backend).neighbors(X))
    assert ("searched again" in caplog.text) == (backend == "faiss")


@needs_faiss
def test_faiss_takes_any_scale() -> None:
    for scale in (1e-30, 1e30, 1e120):
        X = points(60, 20)
        found = KNNGraph(5, backend="faiss").neighbors(X * scale)
        assert_allclose(found.distances / scale, oracle(X, 5), rtol=1e-9)


@pytest.mark.parametrize("d", [2, 20])
def test_points_of_any_scale(d: int) -> None:
    X = points(60, d).astype(np.float32)
    for scale in (2.0**-100, 2.0**100):
        for source in (X, sp.csr_array(X)):
            found = KNNGraph(5).neighbors(source * np.float32(scale))
            assert_allclose(found.distances / scale, oracle(X, 5), rtol=1e-5)
    Y = points(60, d)
    for scale in (2.0**-900, 2.0**900):
        assert_allclose(KNNGraph(5).neighbors(Y * scale).distances / scale, oracle(Y, 5), rtol=1e-9)


def test_distances_that_are_no_numbers_are_refused() -> None:
    X = points(20)
    X[7] = 1  # has no correlation with anything
    with (
        pytest.raises(ValueError, match=r"metric='correlation' gives distances that are NaN"),
        np.errstate(all="ignore"),
    ):
        KNNGraph(3, metric="correlation").affinity(X)


@needs_faiss
def test_approximate_search_reaches_the_recall_it_reports(caplog: pytest.LogCaptureFixture) -> None:
    X = points(3000, 12)
    exact = KNNGraph(10).neighbors(X)
    seen = []
    for target in (0.5, 0.9, 1.0):
        recipe = KNNGraph(10, approximate=True, target_recall=target)
        with caplog.at_level(logging.INFO, "lapwing"):
            found = recipe.neighbors(X)
        share = np.mean(
            [
                len(np.intersect1d(a, b)) / 10
                for a, b in zip(found.indices, exact.indices, strict=True)
            ]
        )
        assert found.recall >= target
        assert abs(share - found.recall) < 0.03
        assert f"recall {found.recall:.4f} (asked: {target:g})" in caplog.text
        assert_array_equal(found.indices, recipe.neighbors(X).indices)  # same seed, same answer
        assert not (found.indices == np.arange(3000)[:, None]).any()
        seen.append(found.recall)
    assert seen[0] < seen[1] < seen[2] == 1.0


@needs_faiss
def test_the_recall_of_a_graph_is_kept_and_true() -> None:
    rng = np.random.default_rng(5)
    centres = 3 * rng.normal(size=(20, 10))
    X = centres[rng.integers(20, size=4000)] + rng.normal(size=(4000, 10))
    recipe = KNNGraph(10, approximate=True, target_recall=0.9)
    assert not hasattr(recipe, "recall_")
    recipe.affinity(X)
    assert recipe.backend_ == "faiss"
    farthest = oracle(X, 10)[:, -1:] * (1 + 1e-6)
    truth = float((recipe.neighbors(X).distances <= farthest).mean())
    assert 0.9 <= recipe.recall_ < 1
    assert abs(recipe.recall_ - truth) < 0.015  # three standard errors of a sample of 512
    recipe.set_params(approximate=False).affinity(X)
    assert (recipe.recall_, recipe.backend_) == (1.0, "sklearn")
    assert not hasattr(clone(recipe), "recall_")


# --- principal components before the search -----------------------------------------------------


def principal(X: np.ndarray, m: int) -> np.ndarray:
    centred = X.astype(float) - X.mean(axis=0, dtype=float)
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    return np.asarray((U * s)[:, :m])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("shape", [(200, 12), (30, 50)])  # more points than features, and fewer
def test_components_reduce_the_points(metric: str, shape: tuple[int, int]) -> None:
    X = points(*shape) * np.arange(1, shape[1] + 1)
    found = KNNGraph(6, n_components=4, metric=metric).neighbors(X)
    check_neighbors(principal(X, 4), 6, found, metric)
    assert (found.distances < KNNGraph(6).neighbors(X).distances).any()


def test_all_components_change_no_distance() -> None:
    for offset in (0.0, 1e6):  # X'X less its mean would have lost all digits of the second
        X = points(100, 7) + offset
        found = KNNGraph(5, n_components=7).neighbors(X)
        assert_allclose(found.distances, oracle(X, 5), rtol=1e-8)


def test_components_are_the_same_each_time() -> None:
    X = points(700, 600).astype(np.float32)  # where scikit-learn would take random projections
    before = X.copy()
    a, b = (
        KNNGraph(5, n_components=8, random_state=seed).affinity(X).toarray() for seed in (0, None)
    )
    assert_array_equal(a, b)
    assert_array_equal(X, before)
    reduced = principal(X, 8)
    assert_allclose(KNNGraph(5, n_components=8).neighbors(X).distances, oracle(reduced, 5), 1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_components_of_points_that_are_all_equal(dtype: Any) -> None:
    found = KNNGraph(3, n_components=1).neighbors(np.full((12, 2), 0.1, dtype=dtype))
    assert_array_equal(found.distances, 0)


@pytest.mark.parametrize(("scale", "dtype"), [(1e307, np.float64), (1e30, np.float32)])
def test_components_of_points_whose_squares_overflow(scale: float, dtype: Any) -> None:
    X = (points() / 10 * scale).astype(dtype)
    with pytest.raises(ValueError, match=r"whose squares overflow float\d\d in the principal"):
        KNNGraph(3, n_components=2).affinity(X)


@pytest.mark.parametrize("n_components", [0, -1, 2.0, True, "mle"])
def test_components_are_checked(n_components: Any) -> None:
    with pytest.raises(ValueError, match=r"n_components=.* must be None or a whole number"):
        KNNGraph(3, n_components=n_components).affinity(points())


def test_components_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    X = points()
    with pytest.raises(ValueError, match=r"n_components=5 must be at most 4, the smaller of"):
        KNNGraph(3, n_components=5).affinity(X)
    with pytest.raises(ValueError, match=r"n_components=2 takes dense X only: .*TruncatedSVD"):
        KNNGraph(3, n_components=2).affinity(sp.csr_array(X))
    for metric in ("manhattan", cdist):
        with pytest.raises(ValueError, match=r"n_components=2 turns the points, .*'cosine'"):
            KNNGraph(3, n_components=2, metric=metric).affinity(X)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "1k")
    with pytest.raises(MemoryError, match=r"Principal components of 40 x 4 points needs"):
        KNNGraph(3, n_components=2).affinity(X)


@needs_faiss
def test_lists_that_are_too_short_are_filled_exactly() -> None:
    X = np.vstack([points(300, 3), 100 + points(4, 3)])  # a far list of four points, k = 10
    found = KNNGraph(10, approximate=True, target_recall=0.5).neighbors(X)
    assert np.isfinite(found.distances).all()
    assert found.indices.min() >= 0
    assert_allclose(found.distances[300:], oracle(X, 10)[300:], rtol=1e-6)


@needs_faiss
def test_a_search_leaves_the_threads_of_faiss_alone() -> None:
    faiss = importlib.import_module("faiss")
    before = faiss.omp_get_max_threads()
    try:
        faiss.omp_set_num_threads(3)
        KNNGraph(3, backend="faiss", n_jobs=1).affinity(points(50))
        assert faiss.omp_get_max_threads() == 3
        with ann._threads(faiss, 1):
            assert faiss.omp_get_max_threads() == 1
        with ann._threads(faiss, None):
            assert faiss.omp_get_max_threads() == 3
    finally:
        faiss.omp_set_num_threads(before)


def test_auto_takes_faiss_for_many_dense_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors, "_SKLEARN_POINTS", 100)
    used = []
    monkeypatch.setattr(neighbors, "load_faiss", lambda purpose: used.append(purpose))
    monkeypatch.setattr(neighbors, "faiss_exact", lambda *args: "faiss")
    monkeypatch.setattr(neighbors, "sklearn_neighbors", lambda *args: "sklearn")
    monkeypatch.setattr(neighbors, "find_spec", lambda name: object())
    large = points(101, 16)
    assert KNNGraph().neighbors(large) == "faiss"
    assert KNNGraph(metric="cosine").neighbors(large) == "faiss"
    assert KNNGraph().neighbors(large[1:]) == "sklearn"  # few points
    assert KNNGraph().neighbors(large[:, 1:]) == "sklearn"  # few features
    assert KNNGraph().neighbors(sp.csr_array(large)) == "sklearn"
    assert KNNGraph(metric="manhattan").neighbors(large) == "sklearn"
    assert KNNGraph(backend="sklearn").neighbors(large) == "sklearn"
    monkeypatch.setattr(neighbors, "find_spec", lambda name: None)
    assert KNNGraph().neighbors(large) == "sklearn"


def test_a_missing_faiss_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    for recipe in (KNNGraph(3, backend="faiss"), KNNGraph(3, approximate=True)):
        with pytest.raises(ImportError, match=r"KNNGraph\(backend=.*lapwing\[ann\]"):
            recipe.affinity(points())


def test_cosine_neighbors_do_not_depend_on_lengths() -> None:
    X = points(80, 5)
    lengths = 10.0 ** np.random.default_rng(1).uniform(-250, 250, size=80)
    a = KNNGraph(4, metric="cosine").neighbors(X)
    b = KNNGraph(4, metric="cosine").neighbors(X * lengths[:, None])
    assert_array_equal(a.indices, b.indices)
    assert_allclose(a.distances, b.distances, rtol=1e-9)


@pytest.mark.parametrize("backend", ["sklearn", "sparse", pytest.param("faiss", marks=needs_faiss)])
def test_zero_rows_under_cosine_equal_one_another_and_nothing_else(backend: str) -> None:
    X = np.abs(points(50, 6))
    X[[3, 8, 20]] = 0
    source = sp.csr_array(X) if backend == "sparse" else X
    recipe = KNNGraph(4, metric="cosine", backend="faiss" if backend == "faiss" else "sklearn")
    found = recipe.neighbors(source)
    assert set(found.indices[3, :2]) == {8, 20}
    assert_allclose(found.distances[3], [0, 0, 1, 1], atol=1e-12)
    others = np.setdiff1d(np.arange(50), [3, 8, 20])
    assert not np.isin(found.indices[others], [3, 8, 20]).any()


def directed(X: np.ndarray, k: int) -> np.ndarray:
    """Matrix of the lengths of the directed edges, NaN where there is none."""
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    A = np.full_like(D, np.nan)
    nearest = np.argsort(D, axis=1)[:, :k]
    np.put_along_axis(A, nearest, np.take_along_axis(D, nearest, 1), 1)
    return A


def test_weights_are_their_formulas() -> None:
    X, k = points(60, 3), 5
    A = directed(X, k)
    either = np.fmax(A, A.T)  # the length where there is an edge one way at least
    t = np.nanmean(A)
    s = np.nanmax(A, axis=1)
    expected = {
        "heat": np.exp(-(either**2) / (2 * t**2)),
        "binary": np.where(np.isnan(either), np.nan, 1.0),
        "self-tuning": np.exp(-(either**2) / np.outer(s, s)),
    }
    for name, W in expected.items():
        assert_allclose(
            KNNGraph(k, weights=name).affinity(X).toarray(), np.nan_to_num(W), rtol=1e-12
        )
        both = np.nan_to_num(np.where(np.isnan(A) | np.isnan(A.T), np.nan, W))
        assert_allclose(
            KNNGraph(k, weights=name, mutual=True).affinity(X).toarray(), both, rtol=1e-12
        )
    ours = KNNGraph(k, weights=lambda d: 1 / (1 + d)).affinity(X).toarray()
    assert_allclose(ours, np.nan_to_num(1 / (1 + either)), rtol=1e-12)


def test_a_weight_function_may_cut_edges() -> None:
    X = points(40, 2)
    seen = []

    def cut(distances: np.ndarray) -> np.ndarray:
        seen.append(distances)
        return np.where(distances > 0.5, 0.0, 1.0)

    W = KNNGraph(6, weights=cut).affinity(X)
    assert seen[0].shape == (240,)
    assert (seen[0] >= 0).all()
    assert_array_equal(W.toarray() > 0, (directed(X, 6) <= 0.5) | (directed(X, 6).T <= 0.5))


@pytest.mark.parametrize("weights", ["heat", "self-tuning"])
def test_nothing_but_duplicates_gives_weights_of_one(weights: str) -> None:
    W = KNNGraph(3, weights=weights).affinity(np.ones((6, 2)))
    assert_array_equal(W.data, 1)
    assert (np.diff(W.indptr) >= 3).all()


@pytest.mark.parametrize("weights", ["heat", "self-tuning"])
def test_no_edge_is_lost_to_underflow(weights: str) -> None:
    X = np.vstack([points(2000, 2), [[1e4, 0]]])
    W = KNNGraph(5, weights=weights).affinity(X)
    degree = np.diff(W.indptr)
    assert degree[-1] == 5
    assert W.data.min() > 0
    assert W.astype(np.float32).data.min() > 0
    L = Laplacian.from_affinity(W, dtype=np.float32)
    assert np.isfinite(L.apply(np.ones(2001, dtype=np.float32))).all()


def test_self_tuning_keeps_duplicates_joined_to_the_rest() -> None:
    X = points(30, 2)
    X[:4] = X[0]  # with k = 3 their scale is 0
    W = KNNGraph(3, weights="self-tuning").affinity(X).toarray()
    assert_array_equal(W[:4, :4][~np.eye(4, dtype=bool)], 1)
    scale = np.sort(oracle(X, 3)[:, -1])
    smallest = scale[scale > 0][0]
    near = np.argmax(W[0, 4:]) + 4
    assert W[0, near] > 0
    d = np.linalg.norm(X[0] - X[near])
    assert_allclose(W[0, near], np.exp(-(d**2) / (smallest * oracle(X, 3)[near, -1])))


@pytest.mark.parametrize("k", [0, -2, 1.5, "5", True, None])
def test_n_neighbors_must_be_a_whole_number(k: Any) -> None:
    with pytest.raises(ValueError, match=r"n_neighbors=.* must be a whole number of at least 1"):
        KNNGraph(k).affinity(points())


def test_too_many_neighbors_say_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"n_neighbors=10 must be .* n=10: .*n_neighbors <= 9"):
        KNNGraph(10).affinity(points(10))
    with pytest.raises(ValueError, match=r"n_neighbors=1 must be .* n=1: .*Use more points"):
        KNNGraph(1).affinity(points(1))
    assert KNNGraph(np.int64(9)).affinity(points(10)).nnz == 90


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": "gauss"}, "weights='gauss' is not known. Use 'heat', 'binary', 'self-tuning'"),
        ({"weights": None}, "weights=None is not known"),
        ({"weights": ["heat"]}, r"weights=\['heat'\] is not known"),
        ({"backend": "annoy"}, "backend='annoy' is not known. Use 'auto', 'sklearn', 'faiss'"),
        ({"metric": "euclid"}, "metric='euclid' is not known.*'cosine'.*'euclidean'"),
        ({"metric": "nan_euclidean"}, "metric='nan_euclidean' is not known"),
        ({"metric": "precomputed"}, "metric='precomputed' is not known"),
        ({"metric": None}, "metric=None is not known.*or a function of two points"),
        ({"normalized": "no"}, "normalized='no' must be True or False"),
        ({"mutual": "no"}, "mutual='no' must be True or False"),
        ({"approximate": 1}, "approximate=1 must be True or False"),
        ({"power": "two"}, "power='two' must be a whole number"),
        ({"n_jobs": "all"}, "n_jobs='all' must be a number of threads"),
        ({"n_jobs": 0}, "n_jobs=0 must be a number of threads"),
        ({"target_recall": 0}, r"target_recall=0 must be a number in \(0, 1\]"),
        ({"target_recall": 1.1}, r"target_recall=1.1 must be"),
        ({"target_recall": "all"}, r"target_recall='all' must be"),
        ({"weights": lambda d: d[:3]}, r"shape \(3,\) for distances of shape \(120,\)"),
        ({"weights": lambda d: -d}, "negative, NaN or infinite weights"),
        ({"weights": lambda d: d + np.nan}, "negative, NaN or infinite weights"),
        ({"approximate": True, "backend": "sklearn"}, "approximate=True needs faiss"),
        ({"backend": "faiss", "metric": "manhattan"}, "not 'manhattan': use those, or backend="),
        ({"approximate": True, "metric": max}, "not <built-in function max>: use those"),
    ],
)
def test_bad_parameters_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KNNGraph(3, **options).affinity(points())


def test_faiss_refuses_sparse_points() -> None:
    for options in ({"backend": "faiss"}, {"approximate": True}):
        with pytest.raises(ValueError, match=r"dense X only: use X.toarray\(\).*backend='sklearn'"):
            KNNGraph(3, **options).affinity(sp.csr_array(points()))


def test_a_metric_that_is_a_function() -> None:
    X = points(30)
    W = KNNGraph(4, metric=lambda a, b: np.abs(a - b).sum()).affinity(X)
    assert_allclose(W.toarray(), KNNGraph(4, metric="cityblock").affinity(X).toarray(), rtol=1e-9)


# --- AffinityGraph ------------------------------------------------------------------------------


def test_affinity_graph_drops_loops_and_changes_nothing_else() -> None:
    W = gaussian_affinity(points(12))
    for given_form in (W, sp.csr_matrix(W), sp.coo_array(W), W.tolist()):
        found = AffinityGraph(given_form).affinity()
        assert_array_equal(found.toarray(), W - np.eye(12))
    assert W[0, 0] == 1  # the matrix given is not touched
    S = sp.csr_array(W)
    AffinityGraph(S).affinity().data[:] = 7
    assert_array_equal(S.toarray(), W)


def test_affinity_graph_keeps_its_precision() -> None:
    W = gaussian_affinity(points(12))
    assert AffinityGraph(W.astype(np.float32)).affinity().dtype == np.float32
    assert AffinityGraph(W > 0).affinity().dtype == np.float64
    assert AffinityGraph((W > 0).astype(int)).affinity().dtype == np.float64


def test_affinity_graph_evens_out_rounding() -> None:
    W = gaussian_affinity(points(12))
    skew = W.copy()
    skew[0, 1] += 1e-12
    found = AffinityGraph(skew).affinity()
    assert abs(found - found.T).max() == 0
    assert_allclose(found.toarray(), W - np.eye(12), atol=1e-12)


def test_affinity_graph_sums_entries_given_twice() -> None:
    twice = sp.csr_array(([1.0, 2.0, 3.0], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    for given_form in (twice, twice.tocoo()):
        found = AffinityGraph(given_form).affinity()
        assert_array_equal(found.data, [3, 3])
        assert_array_equal(found.toarray(), [[0, 3], [3, 0]])


def test_affinity_parameter_and_method_live_side_by_side() -> None:
    W, V = np.ones((3, 3)), np.ones((2, 2))
    recipe = AffinityGraph(W)
    assert recipe.get_params()["affinity"] is W
    assert recipe.set_params(affinity=V, power=2) is recipe
    assert recipe.get_params()["affinity"] is V
    assert recipe.affinity().shape == (2, 2)
    assert_array_equal(clone(recipe).affinity().toarray(), recipe.affinity().toarray())


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
def test_bad_affinities_say_what_to_do(matrix: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AffinityGraph(matrix).affinity()
    with pytest.raises(ValueError, match=message):
        Laplacian.from_affinity(matrix)


def test_affinity_of_other_points_is_refused() -> None:
    recipe = AffinityGraph(np.ones((3, 3)))
    for X in (points(4), points(4).tolist(), sp.csr_array(points(4))):
        with pytest.raises(ValueError, match="affinity has 3 rows but X has 4 points"):
            recipe.affinity(X)
    assert recipe.affinity(points(3)).nnz == 6


# --- TransformerGraph ---------------------------------------------------------------------------


def test_transformer_graph_is_the_knn_graph_of_the_same_neighbors() -> None:
    X = points(60, 3)
    for weights in ("heat", "binary", "self-tuning", inverse):
        expected = KNNGraph(6, weights=weights).affinity(X).toarray()
        transformer = KNeighborsTransformer(n_neighbors=6)
        found = TransformerGraph(transformer, weights=weights).affinity(X).toarray()
        assert_allclose(found, expected, rtol=1e-9)
        assert not hasattr(transformer, "n_features_in_")  # a clone was fitted


def test_transformer_graph_joins_duplicates() -> None:
    X = points(20, 2)
    X[5:8] = X[5]
    W = TransformerGraph(KNeighborsTransformer(n_neighbors=3)).affinity(X).toarray()
    assert_array_equal(W[5:8, 5:8], 1 - np.eye(3))
    radius = TransformerGraph(RadiusNeighborsTransformer(radius=1e-9)).affinity(X)
    assert_array_equal(radius.toarray()[5:8, 5:8], 1 - np.eye(3))
    assert radius.nnz == 6  # and the others are isolated


def test_transformer_graph_takes_connectivity_as_weights() -> None:
    X = points(30, 2)
    expected = NearestNeighbors(n_neighbors=5).fit(X).kneighbors_graph().toarray()
    expected = np.maximum(expected, expected.T)
    # In this mode scikit-learn counts the point itself among its neighbours.
    plain = KNeighborsTransformer(n_neighbors=6, mode="connectivity")
    for transformer in (plain, make_pipeline(StandardScaler(with_std=False), plain)):
        assert_array_equal(TransformerGraph(transformer).affinity(X).toarray(), expected)


def test_parameters_inside_a_transformer_can_be_searched_over() -> None:
    recipe = TransformerGraph(KNeighborsTransformer()).set_params(transformer__n_neighbors=2)
    assert recipe.transformer.n_neighbors == 2


class Fixed:
    """A transformer of somebody else's: no parameters, no mode."""

    def __init__(self, output: Any) -> None:
        self.output = output

    def fit_transform(self, X: Any) -> Any:
        return self.output


def test_any_object_with_fit_transform_is_a_transformer() -> None:
    distances = sp.csr_array(np.array([[0, 1.0, 0], [0, 0, 2.0], [0, 0, 0]]))
    W = as_graph(Fixed(distances)).affinity(points(3)).toarray()
    t = 1.5  # the mean of the two directed edges
    a, b = np.exp(-(1**2) / (2 * t**2)), np.exp(-(2**2) / (2 * t**2))
    assert_allclose(W, [[0, a, 0], [a, 0, b], [0, b, 0]])


def test_a_graph_without_any_edge_is_allowed() -> None:
    L = build_laplacian(Fixed(sp.csr_array((3, 3))), points(3))
    assert L.n_components == 3
    assert_array_equal(L.apply(np.ones(3)), 0)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (np.ones((3, 3)), r"must give a sparse matrix of shape \(3, 3\).* gave ndarray"),
        (sp.csr_array((3, 2)), r"csr_array of shape \(3, 2\)"),
        (None, "gave NoneType"),
        (
            sp.csr_array(-np.ones((3, 3))),
            r"Fixed.fit_transform\(X\) gave negative, NaN or infinite",
        ),
        (sp.csr_array(np.full((3, 3), np.nan)), "gave negative, NaN or infinite"),
    ],
)
def test_transformers_that_give_no_graph_are_refused(output: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TransformerGraph(Fixed(output)).affinity(points(3))


def test_transformer_graph_checks_its_weights() -> None:
    with pytest.raises(ValueError, match="weights='gauss' is not known"):
        TransformerGraph(KNeighborsTransformer(), weights="gauss").affinity(points())


# --- as_graph and the default -------------------------------------------------------------------


def test_as_graph() -> None:
    W = gaussian_affinity(points())
    for recipe in (KNNGraph(), AffinityGraph(W)):
        assert as_graph(recipe) is recipe
    for matrix in (W, sp.csr_matrix(W), sp.coo_array(W)):
        assert as_graph(matrix).get_params()["affinity"] is matrix
    assert isinstance(as_graph(KNeighborsTransformer()), TransformerGraph)


def test_a_recipe_of_somebody_else_is_taken() -> None:
    class Ring:
        normalized, power = False, 2

        def affinity(self, X: Any) -> Any:
            return sp.csr_array(np.roll(np.eye(len(X)), 1, 0) + np.roll(np.eye(len(X)), 1, 1))

    L = build_laplacian(Ring(), points(6))
    one = 2 * np.eye(6) - L.affinity.toarray()
    assert_allclose(L.apply(np.eye(6)), one @ one)


@pytest.mark.parametrize(
    "graph", ["knn", 5, [[0, 1], [1, 0]], KNNGraph, KNeighborsTransformer, object()]
)
def test_what_is_no_graph_gets_the_list(graph: Any) -> None:
    with pytest.raises(TypeError, match=r"is no graph. Use None .* KNNGraph, .*affinity matrix"):
        as_graph(graph)


def test_a_class_in_place_of_a_recipe_is_recognised() -> None:
    with pytest.raises(TypeError, match=r"Did you mean graph=KNNGraph\(\.\.\.\)"):
        as_graph(KNNGraph)


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
    found = default_graph(points(30, d), regression=regression)
    assert found.get_params() == expected.get_params()


@pytest.mark.parametrize(("d", "k"), [(4, 5), (2, 10)])
def test_the_default_graph_joins_few_points_all(d: int, k: int) -> None:
    X = points(30, d)
    for n in range(2, k + 1):
        assert default_graph(X[:n]).affinity(X[:n]).nnz == n * (n - 1)
    sparse = sp.csr_array(X)
    assert default_graph(sparse).affinity(sparse).nnz == default_graph(X).affinity(X).nnz
    alone = build_laplacian(default_graph(X[:1]), X[:1])
    assert alone.affinity.shape == (1, 1)
    assert_array_equal(alone.apply(np.ones((1, 2))), 0)


def true_neighbors(X: Any, k: int) -> np.ndarray:
    lengths = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    np.fill_diagonal(lengths, np.inf)
    return np.argsort(lengths, axis=1)[:, :k]


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("far", [1e8, 1e12, 1e18])
@pytest.mark.parametrize("d", [4, 30])
def test_neighbors_beside_a_row_far_off(container: Any, far: float, d: int) -> None:
    X = points(60, d)
    found = KNNGraph(5, backend="sklearn").neighbors(container(np.vstack([X, np.full(d, far)])))
    assert found.recall == 1
    assert_array_equal(found.indices[:60], true_neighbors(X, 5))


@needs_faiss
@pytest.mark.parametrize("far", [1e8, 1e12, 1e18])
def test_neighbors_beside_a_row_far_off_by_faiss(far: float) -> None:
    X = points(60, 30)
    found = KNNGraph(5, backend="faiss").neighbors(np.vstack([X, np.full(30, far)]))
    assert_array_equal(found.indices[:60], true_neighbors(X, 5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_points_with_a_column_far_from_0(dtype: Any) -> None:
    X = np.round(points(200) * 64) / 64
    X[:, 2] = np.where(X[:, 2] > 0, X[:, 2], 0)
    moved = (X + np.array([1e5, 0, 0, 0])).astype(dtype)  # exact in float32
    found = KNNGraph(5).neighbors(sp.csr_array(moved))
    assert_allclose(found.distances, KNNGraph(5).neighbors(X).distances, rtol=1e-6)


def test_what_is_no_graph_is_not_printed_in_full() -> None:
    with pytest.raises(TypeError, match="is no graph") as error:
        as_graph(points(40).tolist())
    assert len(str(error.value)) < 1000


@pytest.mark.parametrize("power", [0, -1, 1.5, "2", None, True])
def test_the_power_is_checked_before_the_search(power: Any) -> None:
    class Slow(KNNGraph):
        def affinity(self, X: Any) -> Any:
            raise AssertionError("searched")

    with pytest.raises(ValueError, match=r"power=.* must be a whole number of at least 1"):
        build_laplacian(Slow().set_params(power=power), points())
    with pytest.raises(ValueError, match=r"power=.* must be a whole number of at least 1"):
        Laplacian.from_affinity(np.ones((2, 2)), power=power)


# --- Laplacian ----------------------------------------------------------------------------------


@st.composite
def affinities(draw: st.DrawFn) -> np.ndarray:
    """Symmetric affinities, many edges missing, weights over many orders of magnitude."""
    n = draw(st.integers(1, 9))
    weight = st.one_of(st.just(0.0), st.floats(1e-3, 1e3), st.sampled_from([1e-150, 1e100]))
    upper = draw(arrays(np.float64, (n, n), elements=weight))
    W = np.triu(upper, 1)
    return W + W.T


@given(W=affinities(), data=st.data())
def test_quadratic_form_is_the_sum_over_unordered_pairs(W: np.ndarray, data: st.DataObject) -> None:
    n = len(W)
    f = data.draw(arrays(np.float64, n, elements=st.floats(-10, 10)))
    plain = Laplacian.from_affinity(W, normalized=False)
    i, j = np.triu_indices(n, 1)
    expected = (W[i, j] * (f[i] - f[j]) ** 2).sum()
    assert_allclose(f @ plain.apply(f), expected, rtol=1e-9, atol=1e-12 * W.max(initial=0) * 1e3)
    assert_allclose(plain.apply(np.ones(n)), 0, atol=1e-15 * n * W.max(initial=0))

    normed = Laplacian.from_affinity(W, normalized=True)
    d = W.sum(axis=1)
    g = np.divide(f, np.sqrt(d), out=np.zeros(n), where=d > 0)
    expected = (W[i, j] * (g[i] - g[j]) ** 2).sum()
    assert_allclose(f @ normed.apply(f), expected, rtol=1e-9, atol=1e-12)
    assert_allclose(normed.apply(np.sqrt(d)), 0, atol=1e-12 * np.sqrt(d.max()))


@given(W=affinities(), normalized=st.booleans(), power=st.integers(1, 4))
def test_laplacian_is_scipys_and_its_power_the_matrix_power(
    W: np.ndarray, normalized: bool, power: int
) -> None:
    n = len(W)
    one = Laplacian.from_affinity(W, normalized=normalized)
    dense = one.matrix.toarray()
    expected = scipy_laplacian(W, normed=normalized)
    assert_allclose(dense, expected, rtol=1e-9, atol=1e-14 * np.abs(expected).max())
    assert_array_equal(dense, dense.T)
    eigenvalues = np.linalg.eigvalsh(dense)
    assert eigenvalues[0] >= -1e-13 * max(eigenvalues[-1], 1e-300)
    if normalized:
        assert eigenvalues[-1] <= 2 + 1e-12
    isolated = W.sum(axis=1) == 0
    assert_array_equal(dense[isolated], 0)

    L = Laplacian.from_affinity(W, normalized=normalized, power=power)
    if power * np.log10(max(np.abs(dense).max(), 1)) < 300:
        matrix_power = np.linalg.matrix_power(dense, power)
        scale = np.linalg.norm(dense) ** power
        assert_allclose(L.apply(np.eye(n)), matrix_power, rtol=1e-9, atol=1e-13 * scale)
    assert_array_equal(L.matrix.toarray(), dense)  # the power was not formed


def test_tiny_and_huge_weights_stay_finite() -> None:
    for scale in (5e-324, 1e-300, 1e300):
        W = scale * (np.ones((4, 4)) - np.eye(4))
        L = Laplacian.from_affinity(W).matrix.toarray()
        assert_allclose(L, np.eye(4) * 4 / 3 - 1 / 3, rtol=1e-2 if scale < 1e-320 else 1e-12)
    W = np.full((30, 30), 1e307)
    with (
        pytest.raises(ValueError, match="degrees of the affinity overflow"),
        np.errstate(all="ignore"),
    ):
        Laplacian.from_affinity(W)


def test_loops_do_not_enter_the_degrees() -> None:
    W = gaussian_affinity(points(15))
    bare = W - np.eye(15)
    for normalized in (True, False):
        a = Laplacian.from_affinity(W, normalized=normalized)
        b = Laplacian.from_affinity(bare, normalized=normalized)
        assert_array_equal(a.matrix.toarray(), b.matrix.toarray())
        assert_allclose(a.degrees, bare.sum(axis=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("values", [np.float32, np.float64])
def test_apply_keeps_the_precision_of_the_values(dtype: Any, values: Any) -> None:
    X = points()
    L = build_laplacian(KNNGraph(5, power=3), X, dtype)
    exact = build_laplacian(KNNGraph(5, power=3), X)
    assert (L.dtype, exact.dtype) == (dtype, np.float64)
    F = points(40, 7).astype(values)
    out = L.apply(F)
    assert out.dtype == values
    assert_allclose(out, exact.apply(F.astype(float)), atol=1e-5 if values == np.float32 else 1e-13)


def test_apply_takes_any_layout_and_touches_nothing() -> None:
    L = build_laplacian(KNNGraph(5, power=2), points())
    dense = np.linalg.matrix_power(L.matrix.toarray(), 2)
    F = points(40, 6, seed=1)
    wide = np.repeat(F, 2, axis=1)
    for form in (F, np.asfortranarray(F), wide[:, ::2], F[:, 0], F[:, :0], F.tolist()):
        before = np.array(form)
        out = L.apply(form)
        assert out.shape == before.shape
        assert_allclose(out, dense @ before, atol=1e-13)
        assert_array_equal(np.array(form), before)
        assert not np.shares_memory(out, np.asarray(form))
    whole = L.apply(np.arange(40))
    assert whole.dtype == np.float64
    assert_allclose(whole, dense @ np.arange(40), atol=1e-11)


@pytest.mark.parametrize("n_threads", [1, 2, 5, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_nothing(
    monkeypatch: pytest.MonkeyPatch, n_threads: int, dtype: Any
) -> None:
    L = build_laplacian(KNNGraph(5, power=2), points())
    for F in (points(40, 30).astype(dtype), points(40, 1).astype(dtype)):
        expected = L.apply(F)
        with monkeypatch.context() as patch:
            patch.setattr(laplacian, "_THREADED_WORK", 0)
            patch.setattr(laplacian, "available_threads", lambda: n_threads)
            out = L.apply(F)
            vector = L.apply(F[:, 0])
        assert out.dtype == dtype
        assert_array_equal(out, expected)
        assert_array_equal(vector, L.apply(F[:, 0]))


@pytest.mark.parametrize("shape", [(39,), (39, 2), (40, 2, 2), ()])
def test_apply_checks_the_shape(shape: tuple[int, ...]) -> None:
    L = build_laplacian(KNNGraph(5), points())
    with pytest.raises(ValueError, match=r"F has shape .* but the graph has 40 points"):
        L.apply(np.ones(shape))


def test_astype() -> None:
    X = points()
    L = build_laplacian(KNNGraph(5, power=3, normalized=False), X)
    single = L.astype(np.float32)
    assert L.astype(float) is L
    assert (single.dtype, single.power, single.normalized) == (np.float32, 3, False)
    assert_array_equal(single.matrix.toarray(), L.matrix.toarray().astype(np.float32))
    assert L.astype(np.float32).matrix is single.matrix  # cast once
    again = single.astype(np.float64)  # computed anew, not padded
    assert_array_equal(again.matrix.toarray(), L.matrix.toarray())


def test_laplacian_is_frozen_and_pickles() -> None:
    L = build_laplacian(KNNGraph(5), points())
    with pytest.raises(FrozenInstanceError):
        L.power = 3  # type: ignore[misc]
    L.apply(np.ones(40, dtype=np.float32))
    twin = pickle.loads(pickle.dumps(L))
    assert_array_equal(twin.apply(np.arange(40)), L.apply(np.arange(40)))


def test_components() -> None:
    X = np.vstack([points(6, 2), 100 + points(9, 2), 200 + points(5, 2), -100 + points(7, 2)])
    L = build_laplacian(KNNGraph(3), X)
    assert (L.n_points, L.n_components) == (27, 4)
    labels = L.component_labels
    assert L.component_labels is labels  # found once
    assert_array_equal(np.bincount(labels)[labels], np.repeat([6, 9, 5, 7], [6, 9, 5, 7]))


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("power", [1, 3])
def test_scaled_is_the_matrix_times_a_number(normalized: bool, power: int) -> None:
    L = build_laplacian(KNNGraph(5, power=power, normalized=normalized), points())
    anchored = AnchorLaplacian.from_weights([[1, 0], [0.25, 0.75], [0, 1]], power=power)
    for operator in (L, anchored):
        scaled = operator.scaled(3.5)
        n = operator.n_points
        plain = type(operator).apply(operator, np.eye(n))
        dense = scaled.apply(np.eye(n))
        assert scaled.n_points == n
        assert_allclose(dense, 3.5 * plain, rtol=1e-15)
        assert_array_equal(scaled(points(n, 2)), scaled.apply(points(n, 2)))
        assert_array_equal(scaled(np.arange(n)), scaled.apply(np.arange(n)))
        once = np.linalg.norm(dense, 2)
        assert once <= scaled.norm_bound * (1 + 1e-12)
        if power == 1:
            assert_allclose(scaled.diagonal(), np.diag(dense), rtol=1e-12, atol=1e-15)
        else:
            first = replace(operator, power=1).scaled(1.0)
            assert_allclose(scaled.diagonal(), 3.5 * first.diagonal() ** power, rtol=1e-12)
    assert L.scaled(2.0).norm_bound == 2.0 * L.norm_bound
    bound = 2.0 if normalized else 2.0 * L.degrees.max()
    assert L.norm_bound == pytest.approx(bound**power, rel=1e-15)
    assert L.scaled(2.0)(np.ones(40, np.float32)).dtype == np.float32
    with pytest.raises(FrozenInstanceError):
        L.scaled(2.0).gamma = 1.0  # type: ignore[misc]


def test_the_norm_bound_of_huge_degrees_is_infinite() -> None:
    W = 1e200 * (np.ones((3, 3)) - np.eye(3))
    assert Laplacian.from_affinity(W, normalized=False, power=2).norm_bound == np.inf


@pytest.mark.parametrize("gamma", [-1.0, np.nan, np.inf, "1"])
def test_the_weight_of_a_scaled_laplacian_is_checked(gamma: Any) -> None:
    with pytest.raises(ValueError, match=r"gamma=.* must be a finite number of at least 0"):
        build_laplacian(KNNGraph(5), points()).scaled(gamma)


# --- ties -----------------------------------------------------------------------------------------


def one_hot(n: int = 150, levels: int = 4, features: int = 4, seed: int = 0) -> np.ndarray:
    """Different one-hot rows: few different distances between them."""
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(0, levels, (n, features)) ** 2 // levels, axis=0)
    return np.eye(levels)[rng.permutation(codes)].reshape(len(codes), -1)


TIED = {
    "one-hot": one_hot(),
    "standardised": StandardScaler().fit_transform(one_hot()[:, 1:]),
    "binary": np.unique(np.random.default_rng(0).integers(0, 2, (150, 12)), axis=0).astype(float),
    "grid": np.array([(a, b) for a in range(1, 10) for b in range(1, 9)], dtype=float),
}
SEARCHES = [
    pytest.param({"backend": "sklearn"}, id="sklearn"),
    pytest.param({"backend": "faiss"}, id="faiss", marks=needs_faiss),
    pytest.param({"metric": "cosine"}, id="cosine"),
    pytest.param({"metric": "manhattan"}, id="manhattan"),
]


def shuffled(X: Any, recipe: KNNGraph, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The affinity of some points, and that of the same points in another order, turned back."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    back = np.argsort(order)
    return recipe.affinity(X).toarray(), recipe.affinity(X[order]).toarray()[back][:, back]


@pytest.mark.parametrize("bound", [64, 7])
@pytest.mark.parametrize("arguments", SEARCHES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", TIED)
def test_the_order_of_rows_does_not_matter_where_distances_tie(
    name: str, dtype: Any, arguments: dict[str, Any], bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ties, "_FACTOR", 1)
    monkeypatch.setattr(ties, "_LEAST", bound)
    X = TIED[name].astype(dtype)
    for k in (2, 5):
        W, V = shuffled(X, KNNGraph(k, **arguments))
        assert_allclose(V, W, rtol=1e-6, atol=1e-12)
    if arguments == {"backend": "sklearn"}:
        W, V = shuffled(sp.csr_array(X), KNNGraph(5))
        assert_allclose(V, W, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", ["one-hot", "standardised", "binary"])
def test_nor_does_the_order_of_columns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ties, "_LEAST", 7)
    monkeypatch.setattr(ties, "_FACTOR", 1)
    X = TIED[name]
    turned = X[:, np.random.default_rng(2).permutation(X.shape[1])]
    W = KNNGraph(4, weights="binary").affinity(X)
    assert (KNNGraph(4, weights="binary").affinity(turned) != W).nnz == 0
    dense, sparse = ties.lots(X), ties.lots(sp.csr_array(X))
    assert_allclose(sparse, dense, atol=1e-12)
    assert_allclose(ties.lots(turned)[0], dense[0], atol=1e-12)
    assert len(np.unique(dense[1])) == len(X)


@pytest.mark.parametrize("arguments", SEARCHES)
@pytest.mark.parametrize("name", ["one-hot", "binary", "grid"])
def test_all_points_at_the_kth_distance_are_neighbours(
    name: str, arguments: dict[str, Any]
) -> None:
    X = TIED[name]
    metric = arguments.get("metric", "euclidean")
    lengths = cdist(X, X, "cityblock" if metric == "manhattan" else metric)
    np.fill_diagonal(lengths, np.inf)
    recipe = KNNGraph(3, weights="binary", **arguments)
    within = lengths <= np.sort(lengths, axis=1)[:, 2:3] + 1e-9
    assert within.sum(axis=1).max() <= ties.most_neighbors(3)  # all of them can be kept
    assert within.sum(axis=1).max() > 3
    assert_array_equal(recipe.affinity(X).toarray() > 0, within | within.T)
    found = recipe.neighbors(X)
    assert found.distances.shape == found.indices.shape == (len(X), 3)
    assert len(found.tied) == (within.sum(axis=1) - 3).sum()


@pytest.mark.parametrize("arguments", SEARCHES)
def test_no_more_ties_than_a_bound_are_kept(arguments: dict[str, Any]) -> None:
    X = np.eye(150)  # all are equally far
    for k in (5, 20):
        found = KNNGraph(k, **arguments).neighbors(X)
        starts, counts = np.unique(found.tied[:, 0], return_counts=True)
        assert_array_equal(starts, np.arange(150))
        assert_array_equal(counts + k, ties.most_neighbors(k))
        for i in range(150):
            mine = [*found.indices[i], *found.tied[found.tied[:, 0] == i, 1]]
            assert len({*mine, i}) == len(mine) + 1
    degrees = KNNGraph(5, weights="binary", **arguments).affinity(X).sum(axis=1)
    assert degrees.max() < 149  # no point is everybody's choice


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_points_of_a_continuous_distribution_have_k_neighbours(container: Any, dtype: Any) -> None:
    for d in (1, 3, 40):
        found = KNNGraph(5).neighbors(container(points(1500, d).astype(dtype)))
        assert found.tied.shape == (0, 2)


@needs_faiss
def test_an_approximate_search_keeps_the_ties_that_it_finds() -> None:
    X = np.random.default_rng(0).integers(0, 2, (3000, 16)).astype(np.float32)
    found = KNNGraph(5, approximate=True).neighbors(X)
    assert len(found.tied) > 0
    assert_allclose(
        ((X[found.tied[:, 0]] - X[found.tied[:, 1]]) ** 2).sum(axis=1),
        found.distances[found.tied[:, 0], -1] ** 2,
        rtol=1e-5,
    )
