"""KNNGraph: its neighbours against brute force, whatever the search."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from lapwing.graphs import KNNGraph, neighbors
from tests.helpers.data import gaussian_points
from tests.helpers.graphs import BACKENDS, check_neighbors, nearest_distances, needs_faiss


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("d", [2, 30])  # scikit-learn's trees, and its products
def test_neighbors_are_those_of_brute_force(backend: str, metric: str, d: int) -> None:
    X = gaussian_points(300, d)
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
def test_neighbors_of_any_points(X: np.ndarray, k: int, metric: str) -> None:
    k = min(k, len(X) - 1)
    check_neighbors(X, k, KNNGraph(k, metric=metric).neighbors(X), metric)


@needs_faiss
def test_backends_find_the_same_graph() -> None:
    for X in (gaussian_points(500, 25), gaussian_points(500, 25).astype(np.float32)):
        for metric in ("euclidean", "cosine"):
            a, b = (
                KNNGraph(8, metric=metric, backend=backend).affinity(X)
                for backend in ("sklearn", "faiss")
            )
            assert_allclose(a.toarray(), b.toarray(), rtol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("offset", [1e6, 1e9])
def test_an_offset_of_the_points_changes_no_neighbor(backend: str, offset: float) -> None:
    X = np.round(gaussian_points(200, 20) * 256) / 256  # so that the offset is exact
    check_neighbors(X, 6, KNNGraph(6, backend=backend).neighbors(X + offset))


@pytest.mark.parametrize("backend", BACKENDS)
def test_far_clusters_do_not_spoil_the_search(
    backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    X = gaussian_points(600, 20)
    X[300:] += 3e6  # within a cluster distances are of the order of float32's rounding
    with caplog.at_level(logging.DEBUG, "lapwing"):
        check_neighbors(X, 5, KNNGraph(5, backend=backend).neighbors(X))
    assert ("searched again" in caplog.text) == (backend == "faiss")


@pytest.mark.parametrize("d", [2, 20])
def test_points_of_any_scale(d: int) -> None:
    X = gaussian_points(60, d).astype(np.float32)
    for scale in (2.0**-100, 2.0**100):
        for source in (X, sp.csr_array(X)):
            found = KNNGraph(5).neighbors(source * np.float32(scale))
            assert_allclose(found.distances / scale, nearest_distances(X, 5), rtol=1e-5)
    Y = gaussian_points(60, d)
    for scale in (2.0**-900, 2.0**900):
        assert_allclose(
            KNNGraph(5).neighbors(Y * scale).distances / scale, nearest_distances(Y, 5), rtol=1e-9
        )


def test_distances_that_are_no_numbers_are_refused() -> None:
    X = gaussian_points(20)
    X[7] = 1  # has no correlation with anything
    with (
        pytest.raises(ValueError, match=r"metric='correlation' gives distances that are NaN"),
        np.errstate(all="ignore"),
    ):
        KNNGraph(3, metric="correlation").affinity(X)


def test_cosine_neighbors_do_not_depend_on_lengths() -> None:
    X = gaussian_points(80, 5)
    lengths = 10.0 ** np.random.default_rng(1).uniform(-250, 250, size=80)
    a = KNNGraph(4, metric="cosine").neighbors(X)
    b = KNNGraph(4, metric="cosine").neighbors(X * lengths[:, None])
    assert_array_equal(a.indices, b.indices)
    assert_allclose(a.distances, b.distances, rtol=1e-9)


@pytest.mark.parametrize("backend", ["sklearn", "sparse", pytest.param("faiss", marks=needs_faiss)])
def test_zero_rows_under_cosine_equal_one_another_and_nothing_else(backend: str) -> None:
    X = np.abs(gaussian_points(50, 6))
    X[[3, 8, 20]] = 0
    source = sp.csr_array(X) if backend == "sparse" else X
    recipe = KNNGraph(4, metric="cosine", backend="faiss" if backend == "faiss" else "sklearn")
    found = recipe.neighbors(source)
    assert set(found.indices[3, :2]) == {8, 20}
    assert_allclose(found.distances[3], [0, 0, 1, 1], atol=1e-12)
    others = np.setdiff1d(np.arange(50), [3, 8, 20])
    assert not np.isin(found.indices[others], [3, 8, 20]).any()


@pytest.mark.parametrize("n", [12, 120])  # without a tree, and with one
@pytest.mark.parametrize(
    ("wrong", "shown"), [(-1.0, "-1.0"), (np.nan, "nan"), (np.inf, "inf"), ("a", "'a'")]
)
def test_a_function_that_is_no_metric(n: int, wrong: Any, shown: str) -> None:
    X = np.random.default_rng(0).normal(size=(n, 3))
    with pytest.raises(ValueError, match=rf"returned {shown} for two points\. A metric must"):
        KNNGraph(4, metric=lambda a, b: wrong).affinity(X)


def test_a_function_may_return_an_array_of_one_number() -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    W = KNNGraph(4, metric=lambda a, b: np.asarray(np.abs(a - b).sum())).affinity(X)
    assert_allclose(W.toarray(), KNNGraph(4, metric="cityblock").affinity(X).toarray(), rtol=1e-9)


@pytest.mark.parametrize("metric", ["jaccard", "yule", "russellrao"])
def test_metrics_of_yes_and_no_want_these(metric: str) -> None:
    X = np.random.default_rng(0).normal(size=(30, 6))
    with pytest.raises(ValueError, match=rf"'{metric}' requires binary features.*e\.g\. X > 0"):
        KNNGraph(4, metric=metric).affinity(X)
    # Numbers and truth values are the same, without a warning of a conversion.
    a = KNNGraph(4, metric=metric).affinity((X > 0).astype(float))
    assert_allclose(a.toarray(), KNNGraph(4, metric=metric).affinity(X > 0).toarray())


def test_a_metric_that_is_a_function() -> None:
    X = gaussian_points(30)
    W = KNNGraph(4, metric=lambda a, b: np.abs(a - b).sum()).affinity(X)
    assert_allclose(W.toarray(), KNNGraph(4, metric="cityblock").affinity(X).toarray(), rtol=1e-9)


def test_auto_takes_faiss_for_many_dense_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors, "_SKLEARN_POINTS", 100)
    used = []
    monkeypatch.setattr(neighbors, "load_faiss", lambda purpose: used.append(purpose))
    monkeypatch.setattr(neighbors, "faiss_exact", lambda *args: "faiss")
    monkeypatch.setattr(neighbors, "sklearn_neighbors", lambda *args: "sklearn")
    monkeypatch.setattr(neighbors, "find_spec", lambda name: object())
    large = gaussian_points(101, 16)
    assert KNNGraph().neighbors(large) == "faiss"
    assert KNNGraph(metric="cosine").neighbors(large) == "faiss"
    assert KNNGraph().neighbors(large[1:]) == "sklearn"  # few points
    assert KNNGraph().neighbors(large[:, 1:]) == "sklearn"  # few features
    assert KNNGraph().neighbors(sp.csr_array(large)) == "sklearn"
    assert KNNGraph(metric="manhattan").neighbors(large) == "sklearn"
    assert KNNGraph(backend="sklearn").neighbors(large) == "sklearn"
    monkeypatch.setattr(neighbors, "find_spec", lambda name: None)
    assert KNNGraph().neighbors(large) == "sklearn"


# --- parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, -2, 1.5, "5", True, None])
def test_n_neighbors_must_be_a_whole_number(k: Any) -> None:
    with pytest.raises(ValueError, match=r"n_neighbors=.* must be a whole number of at least 1"):
        KNNGraph(k).affinity(gaussian_points())


def test_too_many_neighbors_say_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"n_neighbors=10 must be .* n=10: .*n_neighbors <= 9"):
        KNNGraph(10).affinity(gaussian_points(10))
    with pytest.raises(ValueError, match=r"n_neighbors=1 must be .* n=1: .*Use more points"):
        KNNGraph(1).affinity(gaussian_points(1))
    assert KNNGraph(np.int64(9)).affinity(gaussian_points(10)).nnz == 90


@pytest.mark.parametrize(
    ("options", "message"),
    [
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
        ({"normalized": "no"}, "normalized='no' must be True, False or 'auto'"),
        ({"mutual": "no"}, "mutual='no' must be True or False"),
        ({"approximate": 1}, "approximate=1 must be True, False or 'auto'"),
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
        KNNGraph(3, **options).affinity(gaussian_points())
