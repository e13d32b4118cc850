"""The objective of semi-supervised SVMs against its definition, and centring (errata C5, C7)."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.kernels import make_kernel
from lapwing.losses import GaussianBump, SymmetricHinge
from lapwing.losses.labeled import Hinge, SquaredHinge
from lapwing.losses.smoothed import ModifiedLogistic, SmoothedHinge, SmoothedSquaredHinge
from lapwing.objectives.low_density import CenteredFeatures, Function, LowDensityObjective
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.mapped import full_map
from tests.helpers.data import gaussian_points
from tests.helpers.problems import rbf

LOSSES = [
    Hinge(),
    SquaredHinge(),
    ModifiedLogistic(),
    SmoothedHinge(0.2),
    SmoothedSquaredHinge(0.2),
]
UNLABELED = [
    GaussianBump(),
    GaussianBump(1.0, 2.0),
    SymmetricHinge(),
    SymmetricHinge().smoothed(0.3),
]
points = partial(gaussian_points, center=0.8)
BIASES = {"fixed": (0.3, 0.3), "free": (-np.inf, np.inf), "bounded": (-0.2, 0.6)}


def objective_on(space, *, loss=LOSSES[0], unlabeled_loss=UNLABELED[0], bias=(0.3, 0.3)):
    """Weights of all kinds; the fourth label is a second one of the third's point."""
    rng = np.random.default_rng(1)
    index, unlabeled = np.array([3, 0, 7, 7, 9]), np.array([12, 1, 2, 5, 6, 13, 9])
    features = CenteredFeatures.on(space, shares(space.n_points, unlabeled))
    targets, weights = np.array([1.0, -1.0, 1.0, -1.0, 1.0]), rng.uniform(0.5, 3, 5)
    labels = index, targets, weights
    others = unlabeled, rng.uniform(0.5, 3, 7)
    return LowDensityObjective(features, loss, unlabeled_loss, *labels, *others, bias)


def shares(n, unlabeled):
    each = np.zeros(n)
    each[unlabeled] = 1 / len(unlabeled)
    return each


def written_out(objective, X, w, b):
    """J in points that are translated beforehand."""
    f = X @ w + b
    fit = 2 * objective.loss.value(objective.targets, f[objective.index]) @ objective.weights
    density = objective.unlabeled_loss.value(f[objective.unlabeled])
    return 0.5 * w @ w + fit + density @ objective.unlabeled_weights


@pytest.mark.parametrize("bias", BIASES.values(), ids=BIASES)
@pytest.mark.parametrize("unlabeled_loss", UNLABELED, ids=lambda loss: loss.name)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_value_and_gradient(loss, unlabeled_loss, bias):
    """By definition and central differences, w and b alike."""
    X = points(14)
    objective = objective_on(LinearSpace(X), loss=loss, unlabeled_loss=unlabeled_loss, bias=bias)
    Z = X - X[objective.unlabeled].mean(axis=0)
    rng = np.random.default_rng(2)
    for _ in range(3):
        w, b = rng.standard_normal(4), float(rng.uniform(-0.2, 0.6))
        at = Function(w, b)
        value, of_w, of_b = objective.value_and_gradient(at)
        assert value == objective.value(at)
        assert value == pytest.approx(written_out(objective, Z, w, b), rel=1e-13)
        ends = [
            written_out(objective, Z, w + step[:4], b + step[4])
            for step in np.vstack([np.eye(5), -np.eye(5)]) * 1e-6
        ]
        numeric = (np.array(ends[:5]) - ends[5:]) / 2e-6
        np.testing.assert_allclose(np.append(of_w, of_b), numeric, atol=3e-7 * max(1, abs(value)))


@pytest.mark.parametrize(
    ("bias", "nearest"),
    [
        ((0.3, 0.3), 0.3),
        ((-np.inf, np.inf), 0.0),
        ((-0.2, 0.6), 0.0),
        ((0.2, 0.6), 0.2),
        ((-0.6, -0.2), -0.2),
    ],
)
def test_zero_is_the_nearest_admissible_function(bias, nearest):
    objective = objective_on(LinearSpace(points(14)), bias=bias)
    np.testing.assert_array_equal(objective.zero().coef, np.zeros(4))
    assert objective.zero().intercept == nearest
    assert objective.free_bias == (bias[0] < bias[1])


# --- centring -------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_centring_is_translation(make):
    """Errata C7, never touching a sparse X."""
    X = points(14) * (np.random.default_rng(3).random((14, 4)) < 0.6)
    objective = objective_on(LinearSpace(make(X)))
    features = objective.features
    Z = X - X[objective.unlabeled].mean(axis=0)
    w, u = np.random.default_rng(4).standard_normal((2, 14))
    w = w[:4]
    np.testing.assert_allclose(features.values(w), Z @ w, atol=1e-13)
    np.testing.assert_allclose(features.represent(u), Z.T @ u, atol=1e-13)
    assert features.represent(u) @ w == pytest.approx(u @ features.values(w), abs=1e-12)
    np.testing.assert_allclose(features.squared_norms, (Z * Z).sum(axis=1), atol=1e-12)
    assert (features.n_points, features.n_coef) == (14, 4)
    mean = objective.values(Function(w, 0.3))[objective.unlabeled].mean()
    assert mean == pytest.approx(0.3, abs=1e-12)


def test_a_centred_kernel():
    """k~(x, z) = k(x, z) - mean_U k(x, .) - mean_U k(., z) + mean_UU k."""
    X = points(14)
    K = rbf(X, X, 0.3)
    objective = objective_on(full_map(make_kernel("rbf", X, gamma=0.3), K, X))
    U = objective.unlabeled
    centred = K - K[:, U].mean(axis=1)[:, None] - K[U].mean(axis=0) + K[np.ix_(U, U)].mean()
    features = objective.features
    found = np.stack([features.values(features.represent(e)) for e in np.eye(14)])
    np.testing.assert_allclose(found, centred, atol=1e-13)
    np.testing.assert_allclose(features.squared_norms, np.diagonal(centred), atol=1e-13)


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e3])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_points_in_the_centre_have_the_norm_zero(make, offset):
    """Errata C5: rounding must not pass for a tiny |x|, which is divided by."""
    X = points(9, 3) + offset
    X[4] = X[[0, 1, 2, 3]].mean(axis=0)
    X[0] = 5 * X[4] - X[[1, 2, 3, 4]].sum(axis=0)  # so that 4 is the mean with itself too
    features = CenteredFeatures.on(LinearSpace(make(X)), shares(9, np.arange(5)))
    Z = X - X[:5].mean(axis=0)
    assert features.squared_norms[4] == 0
    others = np.arange(9) != 4
    np.testing.assert_allclose(
        features.squared_norms[others], (Z * Z).sum(axis=1)[others], rtol=1e-7
    )


def test_float32_points():
    """Products in their precision, sums in double."""
    X = points(14)
    wide = objective_on(LinearSpace(X))
    narrow = objective_on(LinearSpace(X.astype(np.float32)))
    at = Function(np.array([0.3, -1.0, 0.2, 0.1]), 0.3)
    assert narrow.values(at).dtype == np.float64
    value, of_w, of_b = narrow.value_and_gradient(at)
    assert of_w.dtype == np.float64
    expected, expected_w, expected_b = wide.value_and_gradient(at)
    assert value == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(of_w, expected_w, atol=1e-4)
    assert of_b == pytest.approx(expected_b, abs=1e-4)
    norms = narrow.features.squared_norms
    assert norms.dtype == np.float64
    np.testing.assert_allclose(norms, wide.features.squared_norms, rtol=1e-4)
    mean = narrow.values(at)[narrow.unlabeled].mean()
    assert mean == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize(
    ("convert", "make"),
    [("in_double", np.asarray), ("in_double", sp.csr_array), ("in_single", np.asarray)],
)
def test_conversions_keep_the_points(convert, make, monkeypatch):
    monkeypatch.setattr("lapwing.objectives.low_density._CACHED_BYTES", 0)
    dtypes = {"in_double": (np.float32, np.float64), "in_single": (np.float64, np.float32)}
    given, wanted = dtypes[convert]
    before = objective_on(LinearSpace(make(points(14).astype(given))))
    after = getattr(before, convert)()
    assert after.features.space.dtype == wanted
    assert getattr(after, convert)().features is after.features
    at = Function(np.array([0.3, -1.0, 0.2, 0.1]), 0.3)
    assert after.value(at) == pytest.approx(before.value(at), rel=1e-6)
    monkeypatch.setattr("lapwing.objectives.low_density._DOUBLED_BYTES", 100)
    assert getattr(before, convert)().features is before.features  # too many


@pytest.mark.parametrize("why", ["sparse", "far from the origin", "few"])
def test_in_single_keeps_float64_if_it_does_not_pay(why, monkeypatch):
    X = points(14) + (1000 if why == "far from the origin" else 0)
    wide = objective_on(LinearSpace(sp.csr_array(X) if why == "sparse" else X))
    if why != "few":
        monkeypatch.setattr("lapwing.objectives.low_density._CACHED_BYTES", 0)
    assert wide.in_single().features is wide.features


def test_float32_points_far_from_the_origin_keep_their_norms():
    """Offsets of ten deviations, as grey values have."""
    X = points(40, 30, seed=5) + 10
    Z = X - X[:20].mean(axis=0)
    space = LinearSpace(X.astype(np.float32))
    norms = CenteredFeatures.on(space, shares(40, np.arange(20))).squared_norms
    np.testing.assert_allclose(norms, (Z * Z).sum(axis=1), rtol=1e-2)
