"""Rows that are one point, or are not."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing import AffinityGraph, KNNGraph, LapRLSRegressor, LapSVC
from tests.helpers.data import labeled_clusters, labeled_curve


def test_conflicting_labels_of_one_point_are_all_heard() -> None:
    X, y, _ = labeled_curve()
    i, j = np.flatnonzero(~np.isnan(y))[:2]
    extra = np.append(y, [y[i] + 3, y[j]])
    both = LapRLSRegressor(gamma_A=1e-2).fit(np.vstack([X, X[i], X[j]]), extra)
    mean, w = y.copy(), np.ones(len(X))
    mean[i] += 1.5
    w[[i, j]] = 2
    averaged = LapRLSRegressor(gamma_A=1e-2).fit(X, mean, sample_weight=w)
    np.testing.assert_allclose(both.predict(X), averaged.predict(X), atol=1e-8)
    # The spread about the mean is part of the objective, and of nothing else.
    np.testing.assert_allclose(both.objective_, averaged.objective_ + 2 * 1.5**2, rtol=1e-8)


@pytest.mark.parametrize("solver", ["newton", "pcg", "dual"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_conflicting_labels_of_classes(solver: str, kernel: str) -> None:
    X, y, _ = labeled_clusters(2)
    i = np.flatnonzero(y == 0)[0]
    X2, y2 = np.vstack([X, X[i], X[i]]), np.append(y, [1, 1])
    fitted = LapSVC(kernel, gamma_A=0.1, solver=solver, tol=1e-9).fit(X2, y2)
    f = fitted.decision_function(X)
    # Apart by a hair they are different points, whose graph is not the same: so without one.
    near = X2.copy()
    near[-2:] += [[1e-9], [-1e-9]]
    options = {"gamma_A": 0.1, "gamma_I": 0, "solver": solver, "gamma": 0.3, "tol": 1e-9}
    equal, apart = (LapSVC(kernel, **options).fit(points, y2) for points in (X2, near))
    np.testing.assert_allclose(equal.decision_function(X), apart.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(equal.objective_, apart.objective_, rtol=1e-6)
    assert fitted.transduction_[i] == fitted.transduction_[-1] == fitted.predict(X[[i]])[0]
    assert (
        f[i]
        > LapSVC(kernel, gamma_A=0.1, solver=solver, tol=1e-9).fit(X, y).decision_function(X)[i]
    )


def test_with_a_given_graph_equal_rows_are_different_points() -> None:
    X, y, _ = labeled_clusters(2)
    X2, y2 = np.vstack([X, X[:3]]), np.append(y, [-1, -1, -1])
    W = KNNGraph(5).affinity(X2)
    fitted = LapSVC(graph=AffinityGraph(W)).fit(X2, y2)
    assert fitted.alpha_.shape == (len(X2), 1)
    assert fitted.affinity_.shape == W.shape
