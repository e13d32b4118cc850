"""Anchor graphs: the weights, the operator, the solution at the anchors, and the classifier."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.base import clone

from lapwing import AnchorGraph, AnchorGraphClassifier, KNNGraph, LapRLSClassifier
from lapwing.exceptions import UnlabeledComponentWarning
from lapwing.graphs import AnchorLaplacian, Anchors, build_laplacian
from lapwing.graphs.simplex import GAP, simplex_weights
from lapwing.solvers.graph.anchors import anchor_values, normalize_masses
from lapwing.solvers.graph.penalized import penalized_least_squares

WEIGHTS = ("kernel", "embedding")
each_weights = pytest.mark.parametrize("weights", WEIGHTS)


def points(n: int = 60, d: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def clusters(n_classes: int, n: int = 90, n_labels: int = 4, seed: int = 0) -> Any:
    """X, y with -1 for unlabelled, truth: overlapping clusters in random order."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = rng.standard_normal((n, 4)) + 2.0 * np.eye(4)[truth]
    y = np.full(n, -1)
    for code in range(n_classes):
        y[rng.choice(np.flatnonzero(truth == code), n_labels, replace=False)] = code
    order = rng.permutation(n)
    return X[order], y[order], truth[order]


# --- least squares on the simplex ---------------------------------------------------------------


def grams(x: np.ndarray, corners: np.ndarray) -> np.ndarray:
    difference = corners - x[:, None, :]
    return np.einsum("nkd,nld->nkl", difference, difference)


def nearest_in_hull(x: np.ndarray, corners: np.ndarray) -> float:
    """Squared distance of x to the hull of its corners, by SciPy's non-negative least squares."""
    heavy = 1e4  # of the equation sum(z) = 1, which is then made to hold
    z, _ = nnls(
        np.vstack([corners.T, np.full(len(corners), heavy)]), np.append(x, heavy), maxiter=10_000
    )
    z /= z.sum()
    return float(((x - z @ corners) ** 2).sum())


@pytest.mark.parametrize(("s", "d"), [(1, 3), (2, 1), (3, 2), (3, 40), (6, 2), (8, 30)])
def test_simplex_weights_reach_the_hull(s: int, d: int) -> None:
    rng = np.random.default_rng(s + d)
    x = rng.normal(size=(60, d))
    corners = rng.normal(size=(60, s, d)) + rng.normal(size=(60, 1, d))
    gram = grams(x, corners)
    z = simplex_weights(gram)
    assert (z >= 0).all()
    assert_allclose(z.sum(axis=1), 1, atol=1e-14)
    found = ((x - np.einsum("nk,nkd->nd", z, corners)) ** 2).sum(axis=1)
    best = [nearest_in_hull(*pair) for pair in zip(x, corners, strict=True)]
    assert_allclose(found, best, atol=1e-9 * gram.max())
    if s > 1:
        assert (z == 0).any()  # some corners are left out for good, not merely small


@given(
    st.integers(1, 6).flatmap(
        lambda s: st.lists(
            st.lists(st.floats(-3, 3).map(lambda v: round(v, 1)), min_size=2, max_size=2),
            min_size=s,
            max_size=s,
        )
    )
)
def test_simplex_weights_meet_the_stated_gap(corners: list[list[float]]) -> None:
    # Rounded corners in the plane: equal, collinear and cocircular ones, and x among them.
    D = np.array(corners)
    gram = (D @ D.T)[None]
    z = simplex_weights(gram)[0]
    gradient = gram[0] @ z
    scale = gram[0].diagonal().max()
    assert z @ gradient - gradient.min() <= 2 * GAP * scale
    assert_allclose(z.sum(), 1, atol=1e-14)
    assert (z >= 0).all()


def test_simplex_weights_where_they_are_not_unique() -> None:
    x = np.array([[0.25, 0.0]])
    corners = np.array([[[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]]])
    z = simplex_weights(grams(x, corners))[0]
    assert_allclose([z[0], z[1] + z[2]], [0.75, 0.25], atol=1e-9)
    square = np.array([[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]])
    centre = simplex_weights(grams(np.array([[0.5, 0.5]]), square))[0]
    assert_allclose(centre @ square[0], 0.5, atol=1e-6)
    assert_array_equal(simplex_weights(np.zeros((2, 3, 3))).sum(axis=1), 1)
    assert simplex_weights(np.empty((0, 3, 3))).shape == (0, 3)


def test_simplex_weights_do_not_change_their_input() -> None:
    gram = grams(points(5), np.random.default_rng(1).normal(size=(5, 3, 4)))
    before = gram.copy()
    simplex_weights(gram)
    assert_array_equal(gram, before)


# --- weights over the anchors -------------------------------------------------------------------


@each_weights
@pytest.mark.parametrize("s", [1, 3, 5])
def test_weights_are_over_the_nearest_anchors_and_sum_to_one(weights: str, s: int) -> None:
    X = points()
    anchors, Z = AnchorGraph(15, n_nearest=s, weights=weights).weigh(X)
    assert isinstance(Z, sp.csr_array)
    assert Z.shape == (60, 15)
    assert anchors.points.shape == (15, 4)
    assert_allclose(Z.sum(axis=1), 1, atol=1e-15)
    assert (Z.data > 0).all()
    assert (Z.sum(axis=0) > 0).all()
    nearest = np.argsort(cdist(X, anchors.points), axis=1)[:, :s]
    for row, allowed in zip(Z, nearest, strict=True):
        assert set(row.indices) <= set(allowed)
    if weights == "kernel":
        assert Z.nnz == 60 * s


def test_kernel_weights_are_those_of_the_formula() -> None:
    X, U = points(), points(12, seed=1)
    anchors, Z = AnchorGraph(anchors=U, n_nearest=3).weigh(X)
    D = cdist(X, U)
    h = np.sort(D, axis=1)[:, 2].mean()
    assert_allclose(anchors.bandwidth, h, rtol=1e-12)
    K = np.exp(-(D**2) / (2 * h**2))
    K[np.sort(D, axis=1)[:, 2:3] < D] = 0
    assert_allclose(Z.toarray(), K / K.sum(axis=1, keepdims=True), atol=1e-12)
    # A wider kernel weighs anchors more evenly, up to all alike.
    _, even = AnchorGraph(anchors=U, bandwidth=1e9).weigh(X)
    assert_allclose(even.data, 1 / 3)
    one = Anchors(U, 3, "kernel", bandwidth=1e-9).rows(X)
    assert_array_equal(one.toarray().argmax(axis=1), D.argmin(axis=1))


def test_embedding_weights_are_the_nearest_point_of_the_hull() -> None:
    X, U = points(), points(12, seed=1)
    _, Z = AnchorGraph(anchors=U, n_nearest=4, weights="embedding").weigh(X)
    found = ((X - Z @ U) ** 2).sum(axis=1)
    nearest = np.argsort(cdist(X, U), axis=1)[:, :4]
    assert_allclose(found, [nearest_in_hull(x, U[k]) for x, k in zip(X, nearest, strict=True)])


@each_weights
@pytest.mark.parametrize("anchors", ["kmeans", "random", "given"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_new_points_are_weighed_as_the_points_of_the_fit(
    weights: str, anchors: str, dtype: type
) -> None:
    X = points(80).astype(dtype)
    how = points(15, seed=1) if anchors == "given" else anchors
    fitted, Z = AnchorGraph(15, anchors=how, weights=weights).weigh(X)
    assert fitted.points.dtype == dtype
    assert_array_equal(fitted.rows(X).toarray(), Z.toarray())
    assert_allclose(fitted.rows(X[7:9]).toarray(), Z[7:9].toarray(), atol=1e-12)
    assert_allclose(fitted.rows(X[::-1]).toarray(), Z[::-1].toarray(), atol=1e-12)
    assert_allclose(fitted.rows(X.astype(np.float64)).toarray(), Z.toarray(), atol=1e-12)


@each_weights
def test_anchors_without_points_are_dropped(weights: str) -> None:
    X = points()
    U = np.vstack([points(8, seed=1), [[1e3] * 4, [-1e3] * 4]])
    recipe = AnchorGraph(anchors=U, weights=weights)
    anchors, Z = recipe.weigh(X)
    assert_array_equal(anchors.points, U[:8])
    assert Z.shape == (60, 8)
    assert_allclose(anchors.rows(X).toarray(), Z.toarray())
    _, alone = AnchorGraph(anchors=U[:8], weights=weights).weigh(X)
    assert_array_equal(Z.toarray(), alone.toarray())


def test_an_anchor_among_the_nearest_but_without_weight_is_dropped_consistently() -> None:
    # All points lie between two anchors, the third is in the s = 3 nearest of each and gets none.
    t = np.linspace(0.1, 0.9, 9)[:, None]
    X = np.hstack([t, 0 * t])
    U = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 2.0], [0.5, -9.0]])
    anchors, Z = AnchorGraph(anchors=U, weights="embedding").weigh(X)
    assert_array_equal(anchors.points, U[:2])
    assert_allclose(Z.toarray(), np.hstack([1 - t, t]), atol=1e-9)
    assert_array_equal(anchors.rows(X).toarray(), Z.toarray())


@pytest.mark.parametrize("anchors", ["kmeans", "random"])
def test_anchors_do_not_follow_the_order_of_the_points(anchors: str) -> None:
    X = points(300)
    recipe = AnchorGraph(20, anchors=anchors)
    order = np.random.default_rng(1).permutation(300)
    first, Z = recipe.weigh(X)
    other, permuted = recipe.weigh(X[order])
    assert_allclose(other.points, first.points, atol=1e-12)
    assert_allclose(permuted.toarray(), Z[order].toarray(), atol=1e-9)
    again = recipe.weigh(X)[0].points
    assert_array_equal(again, first.points)
    elsewhere = clone(recipe).set_params(random_state=1).weigh(X)[0].points
    assert np.abs(elsewhere - first.points).max() > 0.1


def test_anchors_cover_the_points() -> None:
    X = points(2000, 2)
    means, _ = AnchorGraph(50).weigh(X)
    drawn, _ = AnchorGraph(50, anchors="random").weigh(X)
    spread = [(cdist(X, a.points).min(axis=1) ** 2).mean() for a in (means, drawn)]
    assert spread[0] < 0.75 * spread[1]
    assert (cdist(drawn.points, X).min(axis=1) == 0).all()  # points themselves


def test_as_many_anchors_as_distinct_points() -> None:
    X = np.repeat(points(10), 3, axis=0)
    for anchors in ("kmeans", "random"):
        fitted, Z = AnchorGraph(1000, anchors=anchors, weights="embedding").weigh(X)
        assert_allclose(sorted(fitted.points.tolist()), sorted(X[::3].tolist()))
        assert_allclose(Z.max(axis=1).toarray(), 1)  # each is its own best reconstruction
    fitted, Z = AnchorGraph(n_nearest=7).weigh(np.ones((5, 2)))
    assert_array_equal(Z.toarray(), np.ones((5, 1)))
    two, Z = AnchorGraph(n_nearest=7).weigh(np.array([[0.0], [1.0]]))
    assert len(two.points) == 2
    assert Z.nnz == 4


@pytest.mark.parametrize(("n", "m"), [(15, 15), (150, 20), (2000, 200)])
def test_the_default_number_of_anchors(n: int, m: int) -> None:
    assert len(AnchorGraph().weigh(points(n, 3))[0].points) == m


def test_sparse_points_get_the_same_weights() -> None:
    X = points(100, 8)
    X[np.abs(X) < 0.7] = 0
    for weights in WEIGHTS:
        recipe = AnchorGraph(10, weights=weights)
        anchors, Z = recipe.weigh(X)
        for to_sparse in (sp.csr_array, sp.csr_matrix):
            also, S = recipe.weigh(to_sparse(X))
            assert_allclose(also.points, anchors.points, atol=1e-12)
            assert_allclose(S.toarray(), Z.toarray(), atol=1e-9)
            assert_allclose(anchors.rows(to_sparse(X)).toarray(), Z.toarray(), atol=1e-12)


@each_weights
@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_units_of_the_points_do_not_matter(weights: str, scale: float) -> None:
    X, U = points(), points(12, seed=1)
    _, Z = AnchorGraph(anchors=U, weights=weights).weigh(X)
    _, scaled = AnchorGraph(anchors=U * scale, weights=weights).weigh(X * scale)
    assert_allclose(scaled.toarray(), Z.toarray(), atol=1e-9)


@each_weights
def test_a_far_origin_does_not_matter(weights: str) -> None:
    X, U = points(), points(12, seed=1)
    _, Z = AnchorGraph(anchors=U, weights=weights).weigh(X)
    _, shifted = AnchorGraph(anchors=U + 1e6, weights=weights).weigh(X + 1e6)
    assert_allclose(shifted.toarray(), Z.toarray(), atol=1e-6)


def test_blocks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X = points(100)
    expected = [AnchorGraph(9, weights=weights).weigh(X)[1].toarray() for weights in WEIGHTS]
    monkeypatch.setattr("lapwing.graphs.anchors.DIFFERENCE_BYTES", 2000)
    for weights, Z in zip(WEIGHTS, expected, strict=True):
        found = AnchorGraph(9, weights=weights).weigh(X)[1].toarray()
        assert_allclose(found, Z, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_anchors": 0}, r"n_anchors=0 must be a whole number of at least 1, or None\."),
        ({"normalized": "no"}, r"normalized='no' must be True or False\."),
        ({"anchors": None}, r"anchors=None is not known\."),
        ({"n_anchors": 2.5}, r"n_anchors=2\.5 must be a whole number"),
        ({"n_anchors": True}, r"n_anchors=True must be a whole number"),
        ({"n_nearest": 0}, r"n_nearest=0 must be a whole number of at least 1\."),
        ({"n_nearest": None}, r"n_nearest=None must be a whole number"),
        ({"weights": "lae"}, r"weights='lae' is not known\. Use 'kernel', 'embedding'\."),
        ({"weights": np.ones(3)}, r"weights=array.* is not known"),
        ({"anchors": "grid"}, r"anchors='grid' is not known\. Use 'kmeans', 'random', or an array"),
        ({"anchors": np.ones((3, 2))}, r"anchors has 2 features, but X has 4"),
        ({"anchors": [[np.nan] * 4]}, r"anchors contains NaN"),
        ({"bandwidth": 0.0}, r"bandwidth=0\.0 must be a finite number > 0 in the units of X"),
        ({"bandwidth": np.inf}, r"bandwidth=inf must be a finite number"),
        ({"bandwidth": "scale"}, r"bandwidth='scale' must be a finite number"),
    ],
)
def test_wrong_parameters_of_the_recipe(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AnchorGraph(**options).weigh(points())


def test_points_too_far_from_the_anchors_are_refused() -> None:
    anchors, _ = AnchorGraph(5).weigh(points())
    with pytest.raises(ValueError, match=r"distances overflow\. Scale the features"):
        anchors.rows(np.full((2, 4), 1e200))


@pytest.mark.parametrize("scale", [2.0**-75, 2.0**66, 2.0**120])
@pytest.mark.parametrize("sparse", [False, True])
def test_float32_points_of_any_size_have_the_same_graph(scale: float, sparse: bool) -> None:
    """Squares of these leave float32; k-means and the order of the points are to see the same."""
    X = points(200).astype(np.float32)
    make = sp.csr_array if sparse else np.asarray
    expected = AnchorGraph(20).weigh(make(X))[1]
    found = AnchorGraph(20).weigh(make(X * np.float32(scale)))[1]
    assert_allclose(found.toarray(), expected.toarray(), atol=1e-6)


@pytest.mark.parametrize("scale", [1e-200, 1e-155, 1e155, 1e307])
def test_points_whose_squares_leave_float64_are_refused(scale: float) -> None:
    X, y, _ = clusters(2)
    with pytest.raises(ValueError, match=r"X holds values up to .* Scale the features, e\.g\. by"):
        AnchorGraphClassifier().fit(X * scale, y)


def test_what_will_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    X = points(200)
    laplacian = AnchorGraph(100).laplacian(X)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "1k")
    with pytest.raises(
        MemoryError, match=r"The affinity of 200 points over 100 anchors .* entries"
    ):
        laplacian.affinity()
    with pytest.raises(MemoryError, match=r"The Laplacian of 100 anchors .*fewer anchors"):
        laplacian.reduced()
    with pytest.raises(MemoryError, match=r"100 anchors with 4 features"):
        AnchorGraph(100).weigh(X)


# --- the operator -------------------------------------------------------------------------------


def dense_laplacian(Z: Any) -> np.ndarray:
    Z = Z.toarray()
    return np.eye(len(Z)) - Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T


@each_weights
def test_the_operator_is_the_dense_one(weights: str) -> None:
    X = points()
    recipe = AnchorGraph(14, weights=weights)
    L = recipe.laplacian(X)
    dense = dense_laplacian(L.Z)
    assert_allclose(L.apply(np.eye(60)), dense, atol=1e-14)
    assert_allclose(L.apply(np.ones(60)), 0, atol=1e-14)  # errata E14
    eigenvalues = np.linalg.eigvalsh(dense)
    assert eigenvalues[0] > -1e-14
    assert eigenvalues[-1] < 1 + 1e-14
    F = points(60, 3, seed=2)
    before = F.copy()
    assert_allclose(L.apply(F), dense @ F, atol=1e-14)
    assert_array_equal(F, before)
    assert_allclose(L.apply(F[:, 0]), dense @ F[:, 0], atol=1e-14)
    assert (L.n_points, L.n_anchors) == (60, 14)


@each_weights
@pytest.mark.parametrize("power", [1, 2, 3])
def test_powers_and_the_reduced_operator(weights: str, power: int) -> None:
    X = points()
    L = AnchorGraph(14, weights=weights, power=power).laplacian(X)
    Z, dense = L.Z.toarray(), np.linalg.matrix_power(dense_laplacian(L.Z), power)
    assert_allclose(L.apply(np.eye(60)), dense, atol=1e-13)
    reduced = L.reduced()
    assert_allclose(reduced, Z.T @ dense @ Z, atol=1e-13)
    assert_array_equal(reduced, reduced.T)
    assert np.linalg.eigvalsh(reduced)[0] > -1e-13


def test_euclidean_length_is_refused() -> None:
    Z = AnchorGraph(14).weigh(points())[1].toarray()
    long = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    with pytest.raises(ValueError, match=r"must sum to one; they sum to values from 1\.\d+ to"):
        AnchorLaplacian.from_weights(long)
    with pytest.raises(ValueError, match=r"1 anchors have no point: drop their columns"):
        AnchorLaplacian.from_weights(np.hstack([Z, np.zeros((60, 1))]))
    with pytest.raises(ValueError, match=r"must be finite and not negative"):
        AnchorLaplacian.from_weights([[1.5, -0.5]])
    with pytest.raises(ValueError, match=r"power=0 must be a whole number"):
        AnchorLaplacian.from_weights(Z, power=0)
    assert_allclose(AnchorLaplacian.from_weights(Z).Z.toarray(), Z)


def test_wrong_shapes_are_refused() -> None:
    L = AnchorGraph(5).laplacian(points())
    with pytest.raises(ValueError, match=r"F has shape \(59,\), but the graph has 60 points"):
        L.apply(np.ones(59))


@each_weights
def test_the_affinity_makes_the_same_laplacian(weights: str) -> None:
    X = points()
    recipe = AnchorGraph(14, weights=weights, power=2)
    L = build_laplacian(recipe, X)  # as the Laplacian estimators do
    assert not L.normalized
    F = points(60, 3, seed=2)
    assert_allclose(L.apply(F), recipe.laplacian(X).apply(F), atol=1e-13)


def test_components_are_those_of_the_affinity() -> None:
    X = np.vstack([points(20), points(15, seed=1) + 100, points(10, seed=2) - 100])
    L = AnchorGraph(20).laplacian(X)
    n, expected = connected_components(L.affinity(), directed=False)
    assert n == 3
    same = L.component_labels[:, None] == L.component_labels
    assert_array_equal(same, expected[:, None] == expected)
    reached = L.reached_anchors([3, 25])
    assert_array_equal(reached, (L.Z[:35].sum(axis=0) > 0))
    assert L.reached_anchors([3, 25, 40]).all()


# --- the solution at the anchors ----------------------------------------------------------------


def test_penalized_least_squares_is_that_of_the_stacked_problem() -> None:
    rng = np.random.default_rng(0)
    F, Y, w = rng.normal(size=(9, 5)), rng.normal(size=(9, 2)), rng.uniform(0.5, 2, 9)
    R = rng.normal(size=(3, 5))
    stacked = np.vstack([F * np.sqrt(w)[:, None], R])
    target = np.vstack([Y * np.sqrt(w)[:, None], np.zeros((3, 2))])
    expected, rest, rank, _ = np.linalg.lstsq(stacked, target)
    for design in (F, sp.csr_array(F)):
        fit = penalized_least_squares(design, Y, w, R.T @ R)
        assert_allclose(fit.coef, expected, atol=1e-10)
        assert_allclose(fit.objective, rest, rtol=1e-10)
        assert fit.rank == rank == 5


@pytest.mark.parametrize("seed", range(5))
def test_a_singular_system_has_the_solution_of_least_norm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    F, Y = rng.normal(size=(4, 8)), rng.normal(size=(4, 2))
    R = rng.normal(size=(2, 8))
    fit = penalized_least_squares(F, Y, np.ones(4), R.T @ R)
    expected = np.linalg.pinv(F.T @ F + R.T @ R, rcond=1e-10) @ F.T @ Y
    assert fit.rank == 6
    assert_allclose(fit.coef, expected, atol=1e-8)


def test_a_pivot_of_rounding_is_no_pivot() -> None:
    # Cholesky's factorisation goes through, and would give (1, 0).
    eps = float(np.finfo(float).eps)
    fit = penalized_least_squares(
        np.ones((1, 2)), np.ones((1, 1)), np.ones(1), np.diag([0, 2 * eps])
    )
    assert fit.rank == 1
    assert_allclose(fit.coef, 0.5)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("gamma_I", [0.01, 1.0])
@pytest.mark.parametrize("normalize", [True, False])
@each_weights
def test_the_classifier_is_the_closed_form(
    n_classes: int, gamma_I: float, normalize: bool, weights: str
) -> None:
    """A = (Z_l'WZ_l + gamma Z'LZ)^-1 Z_l'W Y_l with memberships 0 and 1, dense and as printed."""
    X, y, _ = clusters(n_classes)
    w = np.random.default_rng(1).uniform(0.5, 2, len(X))
    graph = AnchorGraph(12, weights=weights)
    model = AnchorGraphClassifier(graph, gamma_I=gamma_I, class_mass_normalization=normalize)
    model.fit(X, y, sample_weight=w)
    Z = graph.weigh(X)[1]
    Zd, L = Z.toarray(), dense_laplacian(Z)
    at = y >= 0
    Y = np.eye(n_classes)[y[at]]
    Zl, W = Zd[at], np.diag(w[at])
    A = np.linalg.solve(Zl.T @ W @ Zl + gamma_I * Zd.T @ L @ Zd, Zl.T @ W @ Y)
    memberships = Zd @ A
    assert_allclose(memberships.sum(axis=1), 1)
    f = 2 * memberships - 1
    if normalize:
        f = 2 * memberships / memberships.sum(axis=0) * len(X) / n_classes - 1
    assert_array_equal(model.transduction_, f.argmax(axis=1))
    expected = (f[:, 1] - f[:, 0]) / 2 if n_classes == 2 else f
    assert_allclose(model.decision_function(X), expected, atol=1e-9)
    a = 2 * A - 1
    total = w[at] @ (2 * Y - 1 - Zl @ a) ** 2 + gamma_I * np.einsum(
        "mc,mn,nc->c", a, Zd.T @ L @ Zd, a
    )
    assert_allclose(model.objective_, total[1:] if n_classes == 2 else total, rtol=1e-8)


def test_masses_that_are_not_positive_are_those_of_the_labels() -> None:
    # Two points on two anchors; the memberships of class 1 sum to less than nothing.
    values = np.array([[0.9], [-4.0]])
    found = normalize_masses(values, np.ones(2), np.array([[1.0], [-1.0]]))
    members = np.hstack([1 - values, 1 + values]) / 2
    assert members[:, 1].sum() < 0
    shares = members / [members[:, 0].sum(), 1.0]
    assert_allclose(found, shares[:, 1:] - shares[:, :1])
    assert np.isfinite(found).all()


def test_normalisation_leaves_equal_masses_alone() -> None:
    rng = np.random.default_rng(0)
    values = rng.uniform(-1, 1, size=(6, 1))
    values -= values.mean()
    found = normalize_masses(values, np.ones(6), np.sign(values))
    assert_allclose(found, values, atol=1e-12)


@each_weights
def test_unlabelled_components_get_the_shares_of_the_labels(weights: str) -> None:
    X, y, _ = clusters(2, n_labels=5)
    y[np.flatnonzero(y == 0)[:2]] = -1  # three labels of class 0, five of class 1
    far = points(30, seed=3) + 100
    model = AnchorGraphClassifier(AnchorGraph(24, weights=weights), class_mass_normalization=False)
    message = (
        r"1 of the anchor graph's 2 connected components hold no labelled point \(30 points, the "
        r"largest component 30\)"
    )
    with pytest.warns(UnlabeledComponentWarning, match=message) as caught:
        model.fit(np.vstack([X, far]), np.append(y, np.full(30, -1)))
    assert caught[0].filename == __file__
    assert_allclose(model.decision_function(far), 2 / 8, atol=1e-9)
    assert_array_equal(model.transduction_[90:], 1)
    # The others are as without them.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = clone(model).set_params(
            graph=AnchorGraph(anchors=model.anchors_.points, weights=weights)
        )
        anchors = alone.fit(X, y).anchors_.points
    kept = (model.anchors_.points[:, None] == anchors).all(axis=2).any(axis=1)
    assert kept.sum() < 24
    if weights == "embedding":  # whose weights need no bandwidth of all points
        assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-6)


@each_weights
@pytest.mark.parametrize("n_classes", [2, 3])
def test_normalisation_is_of_what_labels_reach(weights: str, n_classes: int) -> None:
    X, y, _ = clusters(n_classes, n_labels=5)
    y[np.flatnonzero(y == 0)[:2]] = -1
    far = points(30, seed=3) + 100
    graph = AnchorGraph(24, weights=weights)
    with pytest.warns(UnlabeledComponentWarning):
        model = AnchorGraphClassifier(graph).fit(np.vstack([X, far]), np.append(y, np.full(30, -1)))
    # Shares of the labels: of class 0 three, of the others five.
    total = 5 * n_classes - 2
    expected = 2 * 5 / total - 1 if n_classes == 2 else 2 * np.array([3, 5, 5]) / total - 1
    assert_allclose(
        model.decision_function(far), np.broadcast_to(expected, (30, *np.shape(expected)))
    )
    # Without the far points the memberships of each class sum to an equal share of the points.
    values = model.decision_function(X).reshape(90, -1)
    sums = values.sum(axis=0) if n_classes == 2 else ((1 + values) / 2).sum(axis=0)
    assert_allclose(sums, 0 if n_classes == 2 else 90 / 3, atol=1e-9)


def test_more_anchors_than_the_system_has_rank() -> None:
    X, y, truth = clusters(3)
    for gamma_I in (0, 1e-6, 0.1):
        model = AnchorGraphClassifier(AnchorGraph(90), gamma_I=gamma_I).fit(X, y)
        assert np.isfinite(model.alpha_).all()
        assert np.isfinite(model.decision_function(points(20, seed=4) * 3)).all()
        assert_array_equal(model.transduction_[y >= 0], truth[y >= 0])


def test_an_anchor_that_no_label_reaches_is_averaged() -> None:
    values = anchor_values(
        sp.csr_array(np.eye(2, 3)),
        np.array([[1.0], [-1.0]]),
        np.array([3.0, 1.0]),
        np.zeros((3, 3)),
        0.1,
        np.array([True, True, False]),
    ).values
    assert_allclose(values, [[1], [-1], [0.5]])


# --- the classifier -----------------------------------------------------------------------------

EXAMPLES = [
    AnchorGraphClassifier(AnchorGraph(15)),
    AnchorGraphClassifier(AnchorGraph(15, weights="embedding", power=2), gamma_I=1.0),
    AnchorGraphClassifier(
        AnchorGraph(25, anchors="random", random_state=1), class_mass_normalization=False
    ),
]
each_example = pytest.mark.parametrize("model", EXAMPLES, ids=["kernel", "embedding", "random"])
each_count = pytest.mark.parametrize("n_classes", [2, 4])


@each_example
@each_count
def test_transduction_is_the_prediction_of_the_training_points(model: Any, n_classes: int) -> None:
    X, y, truth = clusters(n_classes)
    model = clone(model).fit(X, y)
    assert_array_equal(model.transduction_, model.predict(X))
    assert np.mean(model.transduction_ == truth) > 0.7
    shape = (90,) if n_classes == 2 else (90, n_classes)
    assert model.decision_function(X).shape == shape
    assert_array_equal(model.labeled_, y >= 0)


@each_example
@each_count
def test_order_of_points_and_names_of_classes_do_not_matter(model: Any, n_classes: int) -> None:
    X, y, _ = clusters(n_classes)
    f = clone(model).fit(X, y).decision_function(X)
    order = np.random.default_rng(2).permutation(len(X))
    g = clone(model).fit(X[order], y[order]).decision_function(X)
    assert_allclose(g, f, atol=1e-8)
    renamed = np.where(y < 0, -1, n_classes - 1 - y)
    h = clone(model).fit(X, renamed).decision_function(X)
    assert_allclose(-h if n_classes == 2 else h[:, ::-1], f, atol=1e-8)


@each_example
def test_rows_twice_are_rows_of_weight_two(model: Any) -> None:
    X, y, _ = clusters(3)
    twice = np.flatnonzero(y >= 0)[::2]
    weights = np.ones(len(X))
    weights[twice] = 2
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.vstack([X, X[twice]]), np.append(y, y[twice]))
    assert_array_equal(repeated.decision_function(X), weighted.decision_function(X))
    assert_array_equal(repeated.transduction_[90:], repeated.transduction_[:90][twice])
    gone = clone(model).fit(X, y, sample_weight=np.where(np.isin(np.arange(90), twice), 0, 1))
    removed = clone(model).fit(np.delete(X, twice, axis=0), np.delete(y, twice))
    assert_array_equal(gone.decision_function(X), removed.decision_function(X))
    assert gone.transduction_.shape == (90,)


def test_smoothness_takes_over() -> None:
    X, y, _ = clusters(2)
    spreads = [
        np.ptp(
            AnchorGraphClassifier(AnchorGraph(15), gamma_I=g, class_mass_normalization=False)
            .fit(X, y)
            .decision_function(X)
        )
        for g in (1e-3, 1.0, 1e3)
    ]
    assert spreads[0] > spreads[1] > spreads[2]
    assert spreads[2] < 0.01


def test_sparse_and_float32_points() -> None:
    X, y, _ = clusters(3)
    X[np.abs(X) < 0.3] = 0
    model = AnchorGraphClassifier(AnchorGraph(15))
    f = clone(model).fit(X, y).decision_function(X)
    S = sp.csr_array(X)
    assert_allclose(clone(model).fit(S, y).decision_function(S), f, atol=1e-8)
    X32 = X.astype(np.float32)
    assert_allclose(clone(model).fit(X32, y).decision_function(X32), f, atol=1e-3)


def test_the_default_graph_and_the_laplacian_estimators() -> None:
    X, y, truth = clusters(2)
    model = AnchorGraphClassifier().fit(X, y)
    assert len(model.anchors_.points) == 20
    assert isinstance(model.anchors_, Anchors)
    lap = LapRLSClassifier(graph=AnchorGraph(15)).fit(X, y)
    assert np.mean(lap.transduction_ == truth) > 0.8
    assert_allclose(lap.affinity_.toarray(), AnchorGraph(15).affinity(X).toarray())


def test_wrong_parameters_of_the_classifier() -> None:
    X, y, _ = clusters(2)
    with pytest.raises(TypeError, match=r"graph=KNNGraph\(\) is no AnchorGraph\. Use AnchorGraph"):
        AnchorGraphClassifier(KNNGraph()).fit(X, y)
    with pytest.raises(ValueError, match=r"gamma_I=-1 must be a number >= 0"):
        AnchorGraphClassifier(gamma_I=-1).fit(X, y)
    with pytest.raises(ValueError, match=r"class_mass_normalization='yes' must be True or False"):
        AnchorGraphClassifier(class_mass_normalization="yes").fit(X, y)
    with pytest.raises(ValueError, match=r"n_nearest=0 must be"):
        AnchorGraphClassifier(AnchorGraph(n_nearest=0)).fit(X, y)
    with pytest.raises(ValueError, match=r"power=0 must be"):
        AnchorGraphClassifier(AnchorGraph(power=0)).fit(X, y)
    with pytest.raises(ValueError, match=r"requires y to be passed"):
        AnchorGraphClassifier().fit(X, None)
    fitted = AnchorGraphClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"y holds no label"):
        fitted.fit(X, np.full(90, -1))
    assert not hasattr(fitted, "alpha_")  # nothing of the first fit is left


# --- order and ties -------------------------------------------------------------------------------


def one_hot(n: int = 300) -> np.ndarray:
    codes = np.unique(np.random.default_rng(0).integers(0, 4, (n, 5)) ** 2 // 3, axis=0)
    return np.eye(4)[codes].reshape(len(codes), -1)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("anchors", ["kmeans", "random"])
@pytest.mark.parametrize("tied", [False, True])
def test_the_order_of_rows_and_columns_does_not_matter(
    tied: bool, anchors: str, weights: str
) -> None:
    X = one_hot() if tied else points(300)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    recipe = AnchorGraph(20, anchors=anchors, weights=weights)
    W = recipe.affinity(X).toarray()
    turned = recipe.affinity(X[rows][:, columns]).toarray()
    assert_allclose(turned, W[rows][:, rows], atol=1e-6 if weights == "embedding" else 1e-9)
    turned = recipe.affinity(X[:, columns]).toarray()
    assert_allclose(turned, W, atol=1e-6 if weights == "embedding" else 1e-9)


def test_of_anchors_at_equal_distance_the_first_are_taken() -> None:
    anchors = Anchors(np.eye(30), 3, "kernel", 1.0)
    X = np.vstack([np.zeros(30), np.full(30, 0.1), np.eye(30)[7]])
    squared, indices = anchors.nearest(X)
    assert_array_equal(indices, [[0, 1, 2], [0, 1, 2], [7, 0, 1]])
    assert_allclose(squared[0], 1)
    assert_allclose(squared[2], [0, 2, 2])
