"""LapSVC and LapSVR: the support vector machines that they become, and their symmetries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC, SVR, LinearSVC

from lapwing import LapSVC, LapSVR
from tests.helpers.data import labeled_clusters, labeled_curve

NAMES = np.array(["ash", "beech", "cedar", "dogwood"])


@pytest.mark.parametrize("gamma_A", [0.05, 1.0])
def test_without_a_graph_the_hinge_is_the_svm(gamma_A: float) -> None:
    X, y, _ = labeled_clusters(2, n_labels=20)
    y = np.where(y == -1, "?", NAMES[y])
    at = y != "?"
    w = np.random.default_rng(0).uniform(0.5, 2, len(X))
    ours = LapSVC(
        gamma=0.3, gamma_A=gamma_A, gamma_I=0, loss="hinge", fit_intercept=True, unlabeled="?"
    ).fit(X, y, sample_weight=w)
    svc = SVC(C=1 / (2 * gamma_A), gamma=0.3, tol=1e-9).fit(X[at], y[at], sample_weight=w[at])
    np.testing.assert_allclose(ours.decision_function(X), svc.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), svc.predict(X))


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_without_a_graph_the_squared_hinge_is_the_primal_svm(fit_intercept: bool) -> None:
    X, y, _ = labeled_clusters(3, n_labels=12)
    at = y != -1
    ours = LapSVC("linear", gamma_A=0.5, gamma_I=0, fit_intercept=fit_intercept).fit(X, y)
    # liblinear penalises its bias, as that of one more feature: the larger that, the less.
    theirs = LinearSVC(
        C=1.0,
        dual=False,
        tol=1e-12,
        max_iter=10**5,
        fit_intercept=fit_intercept,
        intercept_scaling=1e4,
    ).fit(X[at], y[at])
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_without_a_graph_the_insensitive_loss_is_support_vector_regression(
    epsilon: float,
) -> None:
    X, y, _ = labeled_curve()
    at = ~np.isnan(y)
    ours = LapSVR(gamma=0.3, gamma_A=0.2, gamma_I=0, epsilon=epsilon).fit(X, y)
    theirs = SVR(C=1 / 0.4, gamma=0.3, epsilon=epsilon, tol=1e-9).fit(X[at], y[at])
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)


def test_the_two_classes_are_mirror_images() -> None:
    X, y, _ = labeled_clusters(2)
    f = LapSVC(gamma_A=1e-2).fit(X, y).decision_function(X)
    g = LapSVC(gamma_A=1e-2).fit(X, np.where(y == -1, -1, 1 - y)).decision_function(X)
    np.testing.assert_allclose(g, -f, atol=1e-9)


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NothingUnlabeledWarning")
def test_ties_are_predicted_positive() -> None:
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    fitted = LapSVC("linear", gamma_I=0, unlabeled=None).fit(X, ["a", "a", "b", "b"])
    assert fitted.decision_function([[0.0]]).tolist() == [0.0]
    assert fitted.predict([[0.0]]).tolist() == ["b"]


@pytest.mark.parametrize("gamma_A", [1e-4, 1e-6])
def test_the_linear_kernel_is_the_linear_space(gamma_A: float) -> None:
    def inner(X: Any, Z: Any) -> Any:
        return X @ Z.T

    for X, y, _ in (labeled_clusters(3), labeled_clusters(2)):
        for loss in ("squared_hinge", "hinge"):
            for bias in (False, True):
                options = {"gamma_A": gamma_A, "loss": loss, "fit_intercept": bias}
                linear = LapSVC("linear", **options).fit(X, y)
                kernel = LapSVC(inner, **options).fit(X, y)
                np.testing.assert_allclose(kernel.objective_, linear.objective_, rtol=1e-6)
                np.testing.assert_allclose(
                    kernel.decision_function(X), linear.decision_function(X), atol=1e-5
                )


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("solver", ["auto", "newton", "pcg", "dual"])
def test_more_features_than_points(solver: str, form: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 150)) < 0.8, 0, rng.standard_normal((40, 150)))
    y = np.full(40, -1)
    y[:12] = np.arange(12) % 2
    options = {"gamma_A": 0.1, "tol": 1e-9}
    f = LapSVC(lambda X, Z: X @ Z.T, **options).fit(X, y).decision_function(X)
    linear = LapSVC("linear", solver=solver, **options).fit(form(X), y)
    assert linear.coef_.shape == (1, 150)
    np.testing.assert_allclose(linear.decision_function(form(X)), f, atol=1e-6)
