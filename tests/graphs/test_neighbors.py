"""KNNGraph: its neighbours against brute force, whatever the search."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from lapwing.graphs import KNNGraph, Neighbors, neighbors, row_search
from tests.helpers.data import gaussian_points
from tests.helpers.graphs import BACKENDS, check_neighbors, nearest_distances, needs_faiss
from tests.helpers.rows import ArrayRows

WRONG_COUNTS = (0, -2, 1.5, "5", True, None)
SEARCHES: dict[str, tuple[Any, dict[str, Any]]] = {
    "sklearn": (np.asarray, {"backend": "sklearn"}),
    "sparse": (sp.csr_array, {"backend": "sklearn"}),
    "faiss": (np.asarray, {"backend": "faiss"}),
    "disk": (ArrayRows, {"approximate": False}),
}
each_search = pytest.mark.parametrize(
    "search", ["sklearn", "sparse", pytest.param("faiss", marks=needs_faiss), "disk"]
)


def neighbors_by(search: str, X: np.ndarray, k: int, **options: Any) -> Neighbors:
    form, backend = SEARCHES[search]
    return KNNGraph(k, **backend, **options).neighbors(form(X))


@each_search
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("d", [2, 30])  # scikit-learn's trees, and its products
def test_neighbors_are_those_of_brute_force(
    d: int, metric: str, dtype: Any, search: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_search, "_LEAST_BYTES", 4000)
    X = gaussian_points(300, d).astype(dtype)
    rtol = 1e-7 if dtype == np.float64 else 1e-4
    for k in (1, 7, 299):
        found = neighbors_by(search, X, k, metric=metric)
        check_neighbors(X.astype(np.float64), k, found, metric, rtol)
        backend = {"sparse": "sklearn", "disk": "scan"}.get(search, search)
        assert (found.recall, found.backend) == (1.0, backend)
        assert metric == "cosine" or not len(found.tied)
        if search == "disk":
            assert (found.distances.dtype, found.indices.dtype) == (dtype, np.int32)


def duplicates(d: int) -> np.ndarray:
    X = np.random.default_rng(3).integers(0, 2, size=(120, d)).astype(float)  # many ties
    X[:30] = X[0]  # more duplicates than neighbours and spare candidates
    return X


def with_far_column(far: float) -> np.ndarray:
    X = np.round(gaussian_points(200) * 64) / 64
    X[:, 2] = np.maximum(X[:, 2], 0)
    return X + np.array([far, 0, 0, 0])


# Points, and points with the same neighbours and distances for the oracle.
FORMS: dict[str, tuple[np.ndarray, np.ndarray]] = {
    **{f"duplicates-{d}": (duplicates(d), duplicates(d)) for d in (2, 20)},
    "far-column": (with_far_column(1e5), with_far_column(0)),
    "far-column-32": (with_far_column(1e5).astype(np.float32), with_far_column(0)),
}
EXACT = np.round(gaussian_points(200, 20) * 256) / 256
FORMS |= {f"offset-{offset:g}": (EXACT + offset, EXACT) for offset in (1e6, 1e9)}


@each_search
@pytest.mark.parametrize("form", FORMS)
def test_neighbors_of_tied_and_of_far_points(form: str, search: str) -> None:
    X, near = FORMS[form]
    check_neighbors(near, 5, neighbors_by(search, X, 5), rtol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_far_clusters_spoil_no_search(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    X = gaussian_points(600, 20)
    X[300:] += 3e6  # within a cluster distances are of the order of float32's rounding
    with caplog.at_level(logging.DEBUG, "lapwing"):
        check_neighbors(X, 5, KNNGraph(5, backend=backend).neighbors(X))
    assert ("searched again" in caplog.text) == (backend == "faiss")


@each_search
@pytest.mark.parametrize("d", [4, 30])
@pytest.mark.parametrize(
    ("dtype", "scales"),
    [(np.float32, (2.0**-100, 2.0**100)), (np.float64, (2.0**-900, 2.0**-100, 2.0**400, 2.0**900))],
)
def test_points_of_any_scale_and_beside_a_row_far_off(
    dtype: Any, scales: Any, d: int, search: str
) -> None:
    X = gaussian_points(60, d).astype(dtype)
    rtol = 1e-5 if dtype == np.float32 else 1e-9
    for scale in scales if search != "disk" else ():
        found = neighbors_by(search, X * dtype(scale), 5)
        assert_allclose(found.distances / scale, nearest_distances(X, 5), rtol=rtol)
    for far in (1e8, 1e12, 1e18) if dtype == np.float64 else ():
        found = neighbors_by(search, np.vstack([X, np.full(d, far)]), 5)
        assert_allclose(found.distances[:60], nearest_distances(X, 5))


@each_search
def test_cosine_neighbors_do_not_depend_on_lengths(search: str) -> None:
    X = gaussian_points(80, 5)
    lengths = 10.0 ** np.random.default_rng(1).uniform(-250, 250, size=80)
    a, b = (neighbors_by(search, Z, 4, metric="cosine") for Z in (X, X * lengths[:, None]))
    assert_array_equal(a.indices, b.indices)
    assert_allclose(a.distances, b.distances, rtol=1e-9)


@each_search
def test_zero_rows_under_cosine_equal_one_another_and_nothing_else(search: str) -> None:
    X = np.abs(gaussian_points(50, 6))
    X[[3, 8, 20]] = 0
    found = neighbors_by(search, X, 4, metric="cosine")
    assert set(found.indices[3, :2]) == {8, 20}
    assert_allclose(found.distances[3], [0, 0, 1, 1], atol=1e-12)
    others = np.setdiff1d(np.arange(50), [3, 8, 20])
    assert not np.isin(found.indices[others], [3, 8, 20]).any()


def test_rejects_distances_that_are_no_numbers() -> None:
    X = gaussian_points(20)
    X[7] = 1  # has no correlation with anything
    with (
        pytest.raises(ValueError, match=r"metric='correlation' gives distances that are NaN"),
        np.errstate(all="ignore"),
    ):
        KNNGraph(3, metric="correlation").affinity(X)


@pytest.mark.parametrize("n", [12, 120])  # without a tree, and with one
@pytest.mark.parametrize(
    ("wrong", "shown"), [(-1.0, "-1.0"), (np.nan, "nan"), (np.inf, "inf"), ("a", "'a'")]
)
def test_rejects_functions_that_return_no_distance(n: int, wrong: Any, shown: str) -> None:
    X = np.random.default_rng(0).normal(size=(n, 3))
    with pytest.raises(ValueError, match=rf"returned {shown} for two points\. A metric must"):
        KNNGraph(4, metric=lambda a, b: wrong).affinity(X)


@pytest.mark.parametrize("metric", ["jaccard", "yule", "russellrao"])
def test_boolean_metrics_require_binary_features(metric: str) -> None:
    X = np.random.default_rng(0).normal(size=(30, 6))
    with pytest.raises(ValueError, match=rf"'{metric}' requires binary features.*e\.g\. X > 0"):
        KNNGraph(4, metric=metric).affinity(X)
    # Numbers and truth values are the same, without a warning of a conversion.
    a = KNNGraph(4, metric=metric).affinity((X > 0).astype(float))
    assert_allclose(a.toarray(), KNNGraph(4, metric=metric).affinity(X > 0).toarray())


@pytest.mark.parametrize("form", [float, np.asarray])
def test_a_metric_may_be_a_function(form: Any) -> None:
    X = gaussian_points(30)
    W = KNNGraph(4, metric=lambda a, b: form(np.abs(a - b).sum())).affinity(X)
    assert_allclose(W.toarray(), KNNGraph(4, metric="cityblock").affinity(X).toarray(), rtol=1e-9)


@needs_faiss
def test_auto_takes_faiss_for_many_dense_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors, "_SKLEARN_POINTS", 100)
    large = gaussian_points(101, 16)
    for options, X, backend in (
        ({}, large, "faiss"),
        ({"metric": "cosine"}, large, "faiss"),
        ({"metric": "manhattan"}, large, "sklearn"),
        ({"backend": "sklearn"}, large, "sklearn"),
        ({}, large[1:], "sklearn"),
        ({}, large[:, 1:], "sklearn"),
        ({}, sp.csr_array(large), "sklearn"),
    ):
        assert KNNGraph(**options).neighbors(X).backend == backend
    monkeypatch.setattr(neighbors, "find_spec", lambda name: None)
    assert KNNGraph().neighbors(large).backend == "sklearn"


# --- principal components before the search ------------------------------------------------------


def principal(X: np.ndarray, m: int) -> np.ndarray:
    centred = X.astype(float) - X.mean(axis=0, dtype=float)
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    return np.asarray((U * s)[:, :m])


@pytest.mark.parametrize(
    ("shape", "m", "metric", "offset", "dtype"),
    [
        ((200, 12), 4, "euclidean", 0, np.float64),
        ((200, 12), 4, "cosine", 0, np.float64),
        ((30, 50), 4, "euclidean", 0, np.float64),  # fewer points than features
        ((30, 50), 4, "cosine", 0, np.float64),
        ((100, 7), 4, "euclidean", 1e6, np.float64),  # X'X less its mean would lose all digits
        ((100, 7), 7, "euclidean", 1e6, np.float64),
        ((520, 60), 8, "euclidean", 0, np.float32),  # scikit-learn would take random projections
    ],
)
def test_components_reduce_the_points(
    shape: tuple[int, int], m: int, metric: str, offset: float, dtype: Any
) -> None:
    exact = gaussian_points(*shape) * np.linspace(1, 2, shape[1])
    X = (exact + offset).astype(dtype)
    before = X.copy()
    found = KNNGraph(6, n_components=m, metric=metric, random_state=None).neighbors(X)
    check_neighbors(principal(exact, m), 6, found, metric, 1e-7 if dtype == np.float64 else 1e-4)
    assert_array_equal(X, before)


@pytest.mark.parametrize(("exponent", "dtype"), [(1000, float), (-1000, float), (-100, "f")])
def test_components_of_points_whose_squares_leave_the_precision(exponent: int, dtype: Any) -> None:
    X, scale = gaussian_points(60, 6).astype(dtype), 2.0**exponent
    search = KNNGraph(4, n_components=2)
    found, usual = search.neighbors(X * X.dtype.type(scale)), search.neighbors(X)
    assert_array_equal(found.indices, usual.indices)
    assert_allclose(found.distances, usual.distances * scale, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_components_of_points_that_are_all_equal(dtype: Any) -> None:
    found = KNNGraph(3, n_components=1).neighbors(np.full((12, 2), 0.1, dtype=dtype))
    assert_array_equal(found.distances, 0)


def test_the_memory_of_components_is_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "1k")
    with pytest.raises(MemoryError, match=r"Principal components of 40 x 4 points needs"):
        KNNGraph(3, n_components=2).affinity(gaussian_points())


# --- parameters ---------------------------------------------------------------------------------

SPARSE, ON_DISK = sp.csr_array(gaussian_points()), ArrayRows(gaussian_points())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"n_neighbors": k}, "n_neighbors=.* whole number of at") for k in WRONG_COUNTS),
        ({"n_neighbors": 40}, r"n_neighbors=40 must be .* n=40: .*n_neighbors <= 39"),
        *(({"n_components": m}, "n_components=.* at least 1, or None") for m in WRONG_COUNTS[:-1]),
        ({"n_components": 5}, r"n_components=5 must be at most 4, the smaller of"),
        (
            {"n_components": 2, "metric": "manhattan"},
            "n_components=2 rotates the points, .*'cosine'",
        ),
        ({"n_components": 2, "metric": cdist}, "n_components=2 rotates the points, .*'cosine'"),
        (
            {"weights": "gauss"},
            "weights='gauss' must be one of 'heat', 'binary', 'self-tuning', 'steep'",
        ),
        ({"weights": None}, "weights=None must be one of"),
        ({"weights": ["heat"]}, r"weights=\['heat'\] must be one of"),
        ({"backend": "annoy"}, "backend='annoy' must be one of 'auto', 'sklearn', 'faiss'"),
        ({"metric": "euclid"}, "metric='euclid' must be one of.*'cosine'.*'euclidean'"),
        ({"metric": "nan_euclidean"}, "metric='nan_euclidean' must be one of"),
        ({"metric": "precomputed"}, "metric='precomputed' must be one of"),
        ({"metric": None}, "metric=None must be one of.*or a function of two points"),
        ({"mutual": "no"}, "mutual='no' must be True or False"),
        ({"approximate": 1}, "approximate=1 must be True, False or 'auto'"),
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
        ({"X": gaussian_points(1)}, r"n_neighbors=3 must be .* n=1: .*Use more points"),
        ({"X": SPARSE, "n_components": 2}, r"n_components=2 takes dense X only: .*TruncatedSVD"),
        ({"X": SPARSE, "backend": "faiss"}, r"dense X only: use X.toarray\(\).*backend='sklearn'"),
        ({"X": SPARSE, "approximate": True}, r"dense X only: use X.toarray\(\).*backend='sklearn'"),
        ({"X": ArrayRows(gaussian_points() * 1e-200)}, r"X contains values up to .*e-200, whose"),
        *(
            ({"X": ON_DISK} | options, "Points on disk are searched in blocks, by metric=")
            for options in ({"metric": "manhattan"}, {"backend": "sklearn"}, {"n_components": 2})
        ),
    ],
)
def test_rejects_parameters_out_of_range(options: dict[str, Any], message: str) -> None:
    given = {"X": gaussian_points(), "n_neighbors": 3} | options
    X = given.pop("X")
    with pytest.raises(ValueError, match=message):
        KNNGraph(**given).affinity(X)


def test_all_other_points_may_be_neighbors() -> None:
    assert KNNGraph(np.int64(9)).affinity(gaussian_points(10)).nnz == 90
