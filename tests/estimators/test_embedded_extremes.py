"""Precision of embedded regression: float32, offsets, extreme targets and weights.

Fits are compared with those of the same problem in other units: targets shifted or scaled by powers
of 2, or in float64.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from lapwing import (
    AffinityGraph,
    KNNGraph,
    Landmarks,
    LapERLSClassifier,
    LapERLSRegressor,
    LapESVC,
    LapESVR,
)
from lapwing.estimators.diagnostics import warn_embedding_not_solved
from lapwing.exceptions import ConstantFitWarning, SingleClassWarning, UnlabeledComponentWarning
from lapwing.objectives.embedded import Units, limited_weights, spectral_side
from lapwing.solvers.embedded.systems import DenseSystem, FeatureSystem, KernelSide
from lapwing.spaces.linear import LinearSpace
from tests.helpers.data import first_labels, labeled_clusters
from tests.helpers.embedded import least_squares, objective
from tests.helpers.warned import ignoring, texts, warned

X, TRUTH = make_moons(60, noise=0.05, random_state=0)
Y = first_labels(TRUTH, 2)
U = np.sin(X[:, 0])
U[8:] = np.nan

REGRESSORS = (LapERLSRegressor, LapESVR)
CLASSIFIERS = (LapERLSClassifier, LapESVC)
WAYS: tuple[dict[str, Any], ...] = (
    {},
    {"n_eigenvectors": None},
    {"space": Landmarks(20)},
    {"space": Landmarks(20), "n_eigenvectors": None},
)
each_way = pytest.mark.parametrize("options", WAYS, ids=["full", "exact", "few", "few, exact"])


# ---- float32 -----------------------------------------------------------------------------------


@each_way
@pytest.mark.parametrize("cls", [*REGRESSORS, *CLASSIFIERS])
def test_float32_points_with_default_parameters(cls: Any, options: Any) -> None:
    y = U if cls in REGRESSORS else Y
    expected = cls(**options).fit(X, y)
    model = cls(**options).fit(X.astype(np.float32), y)
    assert model.status_ == "converged"
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-4)
    np.testing.assert_allclose(model.virtual_labels_, expected.virtual_labels_, atol=2e-3)


def test_a_kernel_matrix_with_the_rounding_of_float32() -> None:
    """Its negative eigenvalues are larger than 1 / q: no Cholesky factor of I + qK exists."""
    K = rbf_kernel(X, gamma=1.0).astype(np.float32)
    assert np.linalg.eigvalsh(K.astype(np.float64))[0] < -1e-8
    graph = AffinityGraph(KNNGraph(5).affinity(X))
    model = LapESVR("precomputed", graph=graph).fit(K, U)
    expected = LapESVR("precomputed", graph=graph).fit(rbf_kernel(X, gamma=1.0), U)
    np.testing.assert_allclose(model.transduction_, expected.transduction_, atol=1e-3)

    side = spectral_side(np.eye(60)[:, :3], np.ones(3), np.arange(3), np.ones(3), np.ones((3, 1)))
    found = least_squares(DenseSystem(K.astype(np.float64), side, False), 1e12)
    assert np.isfinite(found.state.virtual).all()


# ---- offsets and units of the targets ----------------------------------------------------------


@each_way
@pytest.mark.parametrize("cls", REGRESSORS)
def test_offset_of_targets_keeps_precision(cls: Any, options: Any) -> None:
    offset = 2.0**27
    y = np.round(U * 2**20) / 2**20  # exact with the offset
    plain = cls(**options).fit(X, y)
    moved = cls(**options).fit(X, y + offset)
    assert moved.status_ == "converged"
    np.testing.assert_allclose(moved.objective_, plain.objective_, rtol=1e-6)
    np.testing.assert_allclose(moved.transduction_ - offset, plain.transduction_, atol=1e-5)
    np.testing.assert_allclose(moved.predict(X) - offset, plain.predict(X), atol=1e-5)


NORMALIZED = KNNGraph(5, normalized=True, power=1)


@pytest.mark.parametrize("options", WAYS[::2], ids=["full", "few"])
@pytest.mark.parametrize("way", [{"fit_intercept": False}, {"graph": NORMALIZED}])
def test_offset_is_penalised_if_constants_are(options: Any, way: Any) -> None:
    """Without a bias, or with a normalised Laplacian."""
    model = LapERLSRegressor(**options, **way).fit(X, U + 100)
    np.testing.assert_allclose(model.objective_, objective(model, X, U + 100), rtol=1e-8)


@pytest.mark.parametrize("cls", REGRESSORS)
@each_way
def test_the_objective_is_not_negative_if_targets_are_met_closely(cls: Any, options: Any) -> None:
    model = cls(fit_intercept=False, lam=1e6, C=1e6, mu=1e-6, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, U + 1e8)
    assert (model.objective_ >= 0).all()


def test_the_objective_of_far_targets_keeps_its_digits() -> None:
    """Without the estimators' centring, as constants cost nothing here.

    In feature spaces the loss is computed without a pass over the points and has one digit at 2^24.
    """
    path = np.diag(np.ones(59), 1)
    path += path.T
    basis = np.linalg.eigh(np.diag(path.sum(axis=1)) - path)[1][:, :8]
    Z = np.random.default_rng(0).standard_normal((60, 5))
    y = np.round(U[:8, None] * 2**20) / 2**20
    penalties = np.r_[0.0, np.linspace(0.1, 1, 7)]
    found = []
    for offset in (0.0, 2.0**24):
        side = spectral_side(basis, penalties, np.arange(8), np.full(8, 9.0), y + offset)
        systems = (DenseSystem(Z @ Z.T, side, True), FeatureSystem(LinearSpace(Z), side, True))
        found.append([least_squares(system, 3.0).objective[0] for system in systems])
    assert min(found[0]) > 0.1
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-3)
    assert found[1][1] == pytest.approx(found[0][1], rel=0.1)


def test_duality_gap_ignores_rounding_of_a_large_loss() -> None:
    assert LapESVR().fit(X, U * 1e-9).status_ == "converged"


@each_way
@pytest.mark.parametrize("exponent", [-20, -30, 20, 300])
@pytest.mark.parametrize("cls", REGRESSORS)
def test_units_of_targets_do_not_matter(cls: Any, options: Any, exponent: int) -> None:
    """C of the epsilon-insensitive loss has the units of the targets."""
    s = 2.0**exponent
    model = cls(**options) if cls is LapERLSRegressor else cls(epsilon=0.05, **options)
    scaled = clone(model)
    if cls is LapESVR:
        scaled.set_params(C=model.C * s, epsilon=model.epsilon * s)
    plain, scaled = model.fit(X, U), scaled.fit(X, U * s)
    assert scaled.status_ == "converged"
    np.testing.assert_array_equal(scaled.transduction_, plain.transduction_ * s)
    np.testing.assert_array_equal(scaled.predict(X), plain.predict(X) * s)
    np.testing.assert_array_equal(scaled.objective_, plain.objective_ * s * s)


def test_units_are_the_weighted_mean_and_a_power_of_two() -> None:
    targets, weights = np.array([[1.0], [5.0]]), np.array([3.0, 1.0])
    units = Units.of(targets, weights, centred=True)
    assert units.level.tolist() == [2.0]
    assert units.scale == 2.0
    np.testing.assert_array_equal(units.measure(targets), [[-0.5], [1.5]])
    assert Units.of(targets, weights, centred=False) == (0.0, 4.0)
    constant = Units.of(np.full((3, 1), 0.1), np.array([0.1, 0.7, 0.3]), centred=True)
    assert constant == (0.1, 1.0)


@pytest.mark.parametrize("cls", REGRESSORS)
def test_targets_whose_squares_overflow_are_refused(cls: Any) -> None:
    with pytest.raises(
        ValueError, match=r"y contains values up to 9\.1e\+199, .* Scale y to about"
    ):
        cls().fit(X, np.where(np.isnan(U), U, 9.1e199))
    with pytest.raises(ValueError, match=r"y contains values .* float32\) overflow"):
        cls().fit(X.astype(np.float32), U * 1e37)


# ---- weights -----------------------------------------------------------------------------------


def test_weights_are_limited_by_what_they_are_weighed_against() -> None:
    weights = np.array([1.0, 1e16])
    assert limited_weights(2.0, weights, 10.0, 1.0).tolist() == [2.0, 1e9]
    assert limited_weights(2.0, weights, 1e-3, 1e-2).tolist() == [2.0, 1e6]
    assert limited_weights(1e300, weights, 1.0, 1.0).tolist() == [1e8, 1e8]


@pytest.mark.parametrize("lam", [1e12, 1e20, 1e300])
@pytest.mark.parametrize("cls", [LapERLSClassifier, LapESVC])
def test_labels_are_met_at_any_lam(cls: Any, lam: float) -> None:
    """Without limited weights, labels of lam=1e20 would leave no digits for other terms."""
    model = cls(lam=lam).fit(X, Y)
    expected = cls(lam=1e6).fit(X, Y)
    np.testing.assert_array_equal(model.transduction_, expected.transduction_)
    np.testing.assert_allclose(model.virtual_labels_, expected.virtual_labels_, atol=1e-2)
    np.testing.assert_array_equal(model.transduction_[model.labeled_], Y[model.labeled_])


@pytest.mark.parametrize("name", ["C", "lam", "mu"])
@pytest.mark.parametrize("value", [1e-300, 1e300])
@pytest.mark.parametrize("cls", [*REGRESSORS, *CLASSIFIERS])
def test_extreme_weights_leak_no_warnings_of_arithmetic(cls: Any, name: str, value: float) -> None:
    y = U if cls in REGRESSORS else Y
    for options in WAYS[:3]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # RuntimeWarning is none
            model = cls(**{name: value}, **options).fit(X, y)
        assert np.isfinite(model.virtual_labels_).all()
        if model.status_ == "converged":
            assert model.optimality_.max() <= 1e-6


@pytest.mark.parametrize(
    "model",
    [LapESVC(tol=1e-300), LapESVR(epsilon=1e300), LapESVR(C=1e300), LapESVC(C=1e300)],
    ids=str,
)
def test_extreme_parameters_of_the_tube(model: Any) -> None:
    caught = warned(lambda: model.fit(X, Y if isinstance(model, LapESVC) else U))
    # A fit that did not converge gets no warning of a constant solution.
    wanted = ConstantFitWarning if model.epsilon else ConvergenceWarning
    assert {each.category for each in caught} == {wanted}
    assert (model.status_ == "converged") == (model.epsilon > 0)


@ignoring("SingleClass", "ConstantFit")
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_warns_if_the_graph_term_exceeds_the_precision(cls: Any) -> None:
    for options in WAYS[1::2]:
        with pytest.warns(
            ConvergenceWarning, match=r"mu=1e\+20 times the norm .*n_eigenvectors=50"
        ):
            model = cls(mu=1e20, **options).fit(X, Y)
        assert model.status_ == "precision reached"
    # With eigenvectors the null space is exact.
    assert np.abs(cls(mu=1e20).fit(X, Y).virtual_labels_).min() > 0.01
    assert cls(mu=1e6, n_eigenvectors=None).fit(X, Y).status_ == "converged"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@ignoring("SingleClass", "ConstantFit")
@pytest.mark.parametrize(("mu", "status"), [(1e15, "converged"), (2e15, "precision reached")])
def test_precision_of_the_graph_term_is_relative_to_the_mean_weight(mu: float, status: str) -> None:
    """Of 4 labels with C=1e4 among 60 points: 1e-3 * 667 / (2 eps) = 1.5e15."""
    model = LapERLSClassifier(mu=mu, C=1e4, n_eigenvectors=None)
    assert model.fit(X, Y).status_ == status


def test_warns_about_an_optimality_of_nan() -> None:
    with pytest.warns(ConvergenceWarning, match="relative optimality of nan"):
        warn_embedding_not_solved("conjugate gradient", "precision reached", np.nan, 1e-8)


def test_rejects_solutions_that_are_not_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    minimize = KernelSide.minimize

    def overflowing(self: KernelSide, side: Any) -> Any:
        result = minimize(self, side)
        state = result.state._replace(virtual=result.state.virtual * np.inf)
        return replace(result, state=state)

    monkeypatch.setattr(KernelSide, "minimize", overflowing)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="The solution is not finite"):
        LapERLSRegressor().fit(X, U)


# ---- warnings of constant functions ------------------------------------------------------------


def test_constant_fit_with_epsilon_0_does_not_mention_epsilon() -> None:
    message = texts(lambda: LapESVR(mu=1e12, lam=1e-12).fit(X, U), ConstantFitWarning)
    assert not any("epsilon=0" in text for text in message)


# ---- many points -------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"space": Landmarks(40)}, {"kernel": "linear"}])
def test_few_features_take_no_square_matrix(options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(2300) % 3
    points = rng.standard_normal((2300, 5)) + 2 * np.eye(5)[truth]
    y = np.where(np.arange(2300) < 60, truth, -1)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "60m")  # 42 MB is one matrix
    model = LapERLSClassifier(n_eigenvectors=None, **options).fit(points, y)
    assert model.solver_ == "conjugate gradient"
    assert np.mean(model.transduction_ == truth) > 0.8
    fewer = clone(model).fit(points[:500], y[:500])
    assert fewer.solver_ == "cholesky"


def test_warns_of_too_large_mu() -> None:
    X, y, _ = labeled_clusters(3, n=60, n_labels=4)
    graph = KNNGraph(8)
    with pytest.warns(SingleClassWarning, match=r"too much smoothing \(use a smaller gamma_I"):
        model = LapERLSClassifier(mu=1e20, graph=graph).fit(X, y)
    assert model.eigenvalues_[1] > 1e-8  # one component
    far = np.vstack([X, X + 100])
    turned = np.where(y < 0, y, (y + 1) % 3)  # the halves have different largest classes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnlabeledComponentWarning)
        with pytest.warns(ConstantFitWarning, match="each of the graph's 2 connected components"):
            LapERLSClassifier(mu=1e20, graph=graph).fit(far, np.concatenate([y, turned]))
        # With as many components as classes, constants may be right.
        halves = np.where(np.arange(120) % 60 < 3, np.repeat([0, 1], 60), -1)
        model = LapERLSClassifier(mu=1e20, graph=graph).fit(far, halves)
    np.testing.assert_array_equal(model.transduction_, np.repeat([0, 1], 60))
