"""Warm starts: fewer iterations to the same place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from lapwing import LapRLSClassifier, LapRLSRegressor, LapSVC
from tests.helpers.callbacks import Iterates
from tests.helpers.data import Data, labeled_clusters, labeled_curve


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (LapSVC, labeled_clusters(3)),
        (LapRLSClassifier, labeled_clusters(2)),
        (LapRLSRegressor, labeled_curve()),
    ],
)
def test_warm_start_takes_fewer_iterations_to_the_same_place(
    estimator: Any, data: Data, kernel: str
) -> None:
    X, y, _ = data
    options: dict[str, Any] = {"kernel": kernel, "solver": "pcg", "gamma_A": 0.1, "tol": 1e-8}
    options["gamma"] = "scale"  # a wider kernel takes too few steps to save any
    if kernel == "linear":
        options["fit_intercept"] = True
    cold = estimator(**options).fit(X, y)
    warm = estimator(warm_start=True, **options).fit(X, y)
    assert warm.n_iter_ == cold.n_iter_  # there is nothing to start from
    warm.fit(X, y)
    assert warm.n_iter_ <= 2
    np.testing.assert_allclose(warm.objective_, cold.objective_, rtol=1e-8)
    warm.set_params(gamma_I=1.02).fit(X, y)
    cold = estimator(**options, gamma_I=1.02).fit(X, y)
    # A linear function of 3 features takes 4 steps, wherever it starts.
    assert warm.n_iter_ < cold.n_iter_ + (kernel == "linear")
    np.testing.assert_allclose(warm.objective_, cold.objective_, rtol=1e-8)
    cold.fit(X, y)
    assert cold.n_iter_ > 2  # without being asked nothing is reused


@pytest.mark.parametrize("change", ["points", "kernel", "classes", "solver"])
def test_warm_start_from_something_else_is_harmless(change: str) -> None:
    X, y, _ = labeled_clusters(3)
    model = LapSVC(solver="pcg", gamma_A=0.1, tol=1e-9, warm_start=True).fit(X, y)
    if change == "points":
        X, y = X[:-1], y[:-1]
    elif change == "kernel":
        model.set_params(kernel="linear")
    elif change == "classes":
        y = np.where(y == 2, 1, y)
    else:
        model.set_params(solver="newton")
    model.fit(X, y)
    cold = clone(model).set_params(warm_start=False).fit(X, y)
    np.testing.assert_allclose(model.objective_, cold.objective_, rtol=1e-8)
    np.testing.assert_allclose(model.decision_function(X), cold.decision_function(X), atol=1e-5)


def test_a_warm_start_continues_a_fit_that_was_stopped() -> None:
    X, y, _ = labeled_clusters(3)
    options = {"solver": "pcg", "gamma_A": 0.1, "tol": 1e-9}
    model = LapSVC(warm_start=True, **options).set_callbacks(Iterates(X, stop_after=4)).fit(X, y)
    assert model.n_iter_ == 4
    model.set_callbacks().fit(X, y)
    cold = LapSVC(**options).fit(X, y)
    np.testing.assert_allclose(model.objective_, cold.objective_, rtol=1e-8)
