"""Anchor graphs: the weights, the operator, the solution at the anchors, and the classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.base import clone

from lapwing import AnchorGraph
from lapwing.graphs import AnchorLaplacian, Anchors, build_laplacian
from lapwing.graphs.anchors import GAP, simplex_weights
from tests.helpers.data import gaussian_points
from tests.helpers.graphs import anchor_laplacian

WEIGHTS = ("kernel", "embedding")
each_weights = pytest.mark.parametrize("weights", WEIGHTS)


@pytest.fixture(autouse=True)
def few_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lapwing.graphs.anchors.DIFFERENCE_BYTES", 2000)


# --- least squares on the simplex ---------------------------------------------------------------


def check_simplex_weights(z: np.ndarray, differences: np.ndarray) -> None:
    """Optimality of weights (n, s) of corners (n, s, d) less the points that they approximate."""
    assert (z >= 0).all()
    assert_allclose(z.sum(axis=1), 1, atol=1e-14)
    gradient = np.einsum("nkd,nld,nl->nk", differences, differences, z)
    scale = (differences**2).sum(axis=2).max(axis=1)
    assert ((z * gradient).sum(axis=1) - gradient.min(axis=1) <= 2 * GAP * scale).all()


@given(
    s=st.integers(1, 8),
    d=st.sampled_from([1, 2, 3, 30]),
    digits=st.sampled_from([0, 1, 15]),
    seed=st.integers(0, 99),
)
def test_simplex_weights_meet_the_stated_gap(s: int, d: int, digits: int, seed: int) -> None:
    """Rounded corners are also equal, collinear and cocircular, and x among them."""
    rng = np.random.default_rng(seed)
    differences = np.round(rng.normal(size=(30, s, d)) + rng.normal(size=(30, 1, d)), digits)
    gram = np.einsum("nkd,nld->nkl", differences, differences)
    before = gram.copy()
    z = simplex_weights(gram)
    check_simplex_weights(z, differences)
    assert_array_equal(gram, before)
    assert ((z > 0).sum(axis=1) <= d + 1).all()  # other corners are left out, not merely small


def test_simplex_weights_of_equal_and_of_no_points() -> None:
    assert_array_equal(simplex_weights(np.zeros((2, 3, 3))).sum(axis=1), 1)
    assert simplex_weights(np.empty((0, 3, 3))).shape == (0, 3)


# --- weights over the anchors -------------------------------------------------------------------


@each_weights
@pytest.mark.parametrize("s", [1, 3, 5])
def test_weights_over_the_nearest_anchors(weights: str, s: int) -> None:
    X = gaussian_points(60)
    anchors, Z = AnchorGraph(15, n_nearest=s, weights=weights).weigh(X)
    assert isinstance(Z, sp.csr_array)
    assert (Z.shape, anchors.points.shape) == ((60, 15), (15, 4))
    assert_allclose(Z.sum(axis=1), 1, atol=1e-15)
    assert (Z.data > 0).all()
    assert (Z.sum(axis=0) > 0).all()
    D, W = cdist(X, anchors.points), Z.toarray()
    nearest = np.argsort(D, axis=1)[:, :s]
    if weights == "kernel":
        h = np.sort(D, axis=1)[:, s - 1].mean()
        assert_allclose(anchors.bandwidth, h, rtol=1e-12)
        K = np.where(np.sort(D, axis=1)[:, s - 1 : s] >= D, np.exp(-(D**2) / (2 * h**2)), 0)
        assert_allclose(W, K / K.sum(axis=1, keepdims=True), atol=1e-12)
    else:
        z = np.take_along_axis(W, nearest, axis=1)
        check_simplex_weights(z, anchors.points[nearest] - X[:, None])
        np.put_along_axis(W, nearest, 0, axis=1)
        assert not W.any()


def test_the_bandwidth_of_the_kernel() -> None:
    X, U = gaussian_points(60), gaussian_points(12, seed=1)
    _, even = AnchorGraph(anchors=U, bandwidth=1e9).weigh(X)
    assert_allclose(even.data, 1 / 3)
    one = Anchors(U, 3, "kernel", bandwidth=1e-9).rows(X)
    assert_array_equal(one.toarray().argmax(axis=1), cdist(X, U).argmin(axis=1))


@each_weights
@pytest.mark.parametrize("anchors", ["kmeans", "random", "given"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_new_points_are_weighed_as_in_the_fit(weights: str, anchors: str, dtype: type) -> None:
    X = gaussian_points(80).astype(dtype)
    how = gaussian_points(15, seed=1) if anchors == "given" else anchors
    fitted, Z = AnchorGraph(15, anchors=how, weights=weights).weigh(X)
    assert fitted.points.dtype == dtype
    assert_array_equal(fitted.rows(X).toarray(), Z.toarray())
    for rows in (slice(7, 9), slice(None, None, -1)):
        assert_allclose(fitted.rows(X[rows]).toarray(), Z[rows].toarray(), atol=1e-12)
    for points in (X.astype(np.float64), X.tolist(), sp.coo_array(X)):
        assert_allclose(fitted.rows(points).toarray(), Z.toarray(), atol=1e-12)
    with pytest.raises(ValueError, match="X has 1 features, but the anchors have 4"):
        fitted.rows(X[:, :1])


@each_weights
def test_anchors_without_points_are_dropped(weights: str) -> None:
    X, U = gaussian_points(60), gaussian_points(8, seed=1)
    recipe = AnchorGraph(anchors=np.vstack([U, [[1e3] * 4, [-1e3] * 4]]), weights=weights)
    anchors, Z = recipe.weigh(X)
    assert_array_equal(anchors.points, U)
    assert_array_equal(Z.toarray(), AnchorGraph(anchors=U, weights=weights).weigh(X)[1].toarray())


def test_an_anchor_among_the_nearest_but_without_weight_is_dropped() -> None:
    # All points lie between two anchors, the third is in the s = 3 nearest of each and gets none.
    t = np.linspace(0.1, 0.9, 9)[:, None]
    X = np.hstack([t, 0 * t])
    U = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 2.0], [0.5, -9.0]])
    anchors, Z = AnchorGraph(anchors=U, weights="embedding").weigh(X)
    assert_array_equal(anchors.points, U[:2])
    assert_allclose(Z.toarray(), np.hstack([1 - t, t]), atol=1e-9)
    assert_array_equal(anchors.rows(X).toarray(), Z.toarray())


@pytest.mark.parametrize("anchors", ["kmeans", "random"])
def test_the_seed_decides_which_anchors_are_chosen(anchors: str) -> None:
    X, recipe = gaussian_points(300), AnchorGraph(20, anchors=anchors)
    first = recipe.weigh(X)[0].points
    assert_array_equal(recipe.weigh(X)[0].points, first)
    other = clone(recipe).set_params(random_state=1).weigh(X)[0].points
    assert np.abs(other - first).max() > 0.1


def test_anchors_cover_the_points() -> None:
    X = gaussian_points(2000, 2)
    means, _ = AnchorGraph(50).weigh(X)
    drawn, _ = AnchorGraph(50, anchors="random").weigh(X)
    spread = [(cdist(X, a.points).min(axis=1) ** 2).mean() for a in (means, drawn)]
    assert spread[0] < 0.75 * spread[1]
    assert (cdist(drawn.points, X).min(axis=1) == 0).all()  # points themselves


def test_as_many_anchors_as_distinct_points() -> None:
    X = np.repeat(gaussian_points(10), 3, axis=0)
    for anchors in ("kmeans", "random"):
        fitted, Z = AnchorGraph(1000, anchors=anchors, weights="embedding").weigh(X)
        assert_allclose(sorted(fitted.points.tolist()), sorted(X[::3].tolist()))
        assert_allclose(Z.max(axis=1).toarray(), 1)  # each is its own best reconstruction
    for points, shape in ((np.ones((5, 2)), (5, 1)), (np.array([[0.0], [1.0]]), (2, 2))):
        Z = AnchorGraph(n_nearest=7).weigh(points)[1]
        assert (Z.shape, Z.nnz) == (shape, np.prod(shape))


@pytest.mark.parametrize(("n", "m"), [(15, 15), (150, 20), (2000, 200)])
def test_the_default_number_of_anchors(n: int, m: int) -> None:
    assert len(AnchorGraph().weigh(gaussian_points(n, 3))[0].points) == m


SCALES = {np.float64: (1e-150, 1e-30, 1e30, 1e150), np.float32: (2.0**-75, 2.0**66, 2.0**120)}


@each_weights
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("dtype", "scale", "origin", "atol"),
    [
        *((dtype, scale, 0, 1e-6) for dtype, scales in SCALES.items() for scale in scales),
        (np.float64, 1, 100, 1e-9),
        (np.float64, 1, 2.0**27, 1e-6),
    ],
)
def test_units_and_origin_of_the_points_do_not_matter(
    dtype: Any, scale: float, origin: float, atol: float, form: Any, weights: str
) -> None:
    X, recipe = gaussian_points(200).astype(dtype), AnchorGraph(20, weights=weights)
    moved = X * dtype(scale) + dtype(origin)
    (anchors, Z), (others, turned) = (recipe.weigh(form(points)) for points in (X, moved))
    assert_allclose((others.points - origin) / scale, anchors.points, atol=10 * atol)
    assert_allclose(turned.toarray(), Z.toarray(), atol=atol)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_anchors": 0}, r"n_anchors=0 must be a whole number of at least 1, or None\."),
        ({"anchors": None}, r"anchors=None must be one of"),
        ({"n_nearest": 0}, r"n_nearest=0 must be a whole number of at least 1\."),
        ({"weights": "lae"}, r"weights='lae' must be one of 'kernel', 'embedding'\."),
        ({"anchors": "grid"}, r"anchors='grid' must be one of 'kmeans', 'random', or an array"),
        ({"anchors": np.ones((3, 2))}, r"anchors has 2 features, but X has 4"),
        ({"anchors": [[np.nan] * 4]}, r"anchors contains NaN"),
        ({"anchors": [[1e200] * 4, [0] * 4]}, r"anchors contains values up to 1e\+200, whose"),
        ({"bandwidth": 0.0}, r"bandwidth=0\.0 must be a finite number > 0 in the units of X"),
    ],
)
def test_rejects_parameters_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AnchorGraph(**options).weigh(gaussian_points())


@pytest.mark.parametrize("scale", [1e-200, 1e-155, 1e155, 1e307])
def test_rejects_points_whose_squares_leave_float64(scale: float) -> None:
    X = gaussian_points()
    with pytest.raises(ValueError, match=r"X contains values up to .* Scale the features"):
        AnchorGraph(5).weigh(X * scale)
    anchors = AnchorGraph(5).weigh(X)[0]
    if scale > 1e200:
        with pytest.raises(ValueError, match=r"distances overflow\. Scale the features"):
            anchors.rows(X * scale)


def test_rejects_anchors_that_do_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    X = gaussian_points(200)
    laplacian = AnchorGraph(100).laplacian(X)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "1k")
    for call, message in (
        (laplacian.affinity, r"The affinity of 200 points over 100 anchors .* entries"),
        (laplacian.reduced, r"The Laplacian of 100 anchors .*fewer anchors"),
        (lambda: AnchorGraph(100).weigh(X), r"100 anchors with 4 features"),
    ):
        with pytest.raises(MemoryError, match=message):
            call()


# --- the operator -------------------------------------------------------------------------------


@each_weights
@pytest.mark.parametrize("power", [1, 2, 3])
def test_the_operator_is_the_power_of_the_dense_one(weights: str, power: int) -> None:
    X, F = gaussian_points(60), gaussian_points(60, 3, seed=2)
    recipe = AnchorGraph(14, weights=weights, power=power)
    L = recipe.laplacian(X)
    Z, dense = L.Z.toarray(), np.linalg.matrix_power(anchor_laplacian(L.Z), power)
    before = F.copy()
    assert_allclose(L.apply(F), dense @ F, atol=1e-13)
    assert_array_equal(F, before)
    assert_allclose(L.apply(F[:, 0]), dense @ F[:, 0], atol=1e-13)
    assert_allclose(L.apply(np.ones(60)), 0, atol=1e-14)  # errata E14
    assert np.linalg.norm(dense, 2) < L.norm_bound + 1e-14
    assert (L.n_points, L.n_anchors) == (60, 14)
    reduced = L.reduced()
    assert_allclose(reduced, Z.T @ dense @ Z, atol=1e-13)
    assert_array_equal(reduced, reduced.T)
    formed = build_laplacian(recipe, X)  # of the affinity, as the Laplacian estimators do
    assert not formed.normalized
    assert_allclose(formed.apply(F), dense @ F, atol=1e-13)


def test_rejects_weights_that_do_not_sum_to_one() -> None:
    Z = AnchorGraph(14).weigh(gaussian_points(60))[1].toarray()
    assert_allclose(AnchorLaplacian.from_weights(Z).Z.toarray(), Z)
    by_length = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    for wrong, power, message in (
        (by_length, 1, r"must sum to one; the sums are from 1\.\d+ to"),
        (np.pad(Z, ((0, 0), (0, 1))), 1, r"1 anchors have no point: drop their columns"),
        ([[1.5, -0.5]], 1, r"must be finite and not negative"),
        (Z, 0, r"power=0 must be a whole number"),
    ):
        with pytest.raises(ValueError, match=message):
            AnchorLaplacian.from_weights(wrong, power=power)
    with pytest.raises(ValueError, match=r"F has shape \(59,\), but the graph has 60 points"):
        AnchorLaplacian.from_weights(Z).apply(np.ones(59))


def test_components_are_those_of_the_affinity() -> None:
    X = np.vstack(
        [gaussian_points(20), gaussian_points(15, seed=1) + 100, gaussian_points(10, seed=2) - 100]
    )
    L = AnchorGraph(20).laplacian(X)
    n, expected = connected_components(L.affinity(), directed=False)
    assert n == 3
    same = L.component_labels[:, None] == L.component_labels
    assert_array_equal(same, expected[:, None] == expected)
    reached = L.reached_anchors([3, 25])
    assert_array_equal(reached, (L.Z[:35].sum(axis=0) > 0))
    assert L.reached_anchors([3, 25, 40]).all()
