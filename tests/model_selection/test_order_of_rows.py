"""Independence of the order of the rows, and reported ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, dia_array
from sklearn.datasets import make_blobs
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from lapwing import S3VC, LapERLSClassifier, LapRLSRegressor, LapSVC
from lapwing.model_selection import (
    Candidate,
    Comparison,
    Evidence,
    compare,
    default_candidates,
    reproducibility,
    rows_to_label,
)
from tests.helpers.data import labeled_clusters, labeled_curve
from tests.helpers.low_density import ONE_DESCENT

rng = np.random.default_rng(0)


def overlapping(n_classes: int = 3, n_labels: int = 3) -> tuple[Any, Any]:
    """Clusters that overlap, so that every label counts, with some rows repeated."""
    X, y, _ = labeled_clusters(n_classes, n_labels=n_labels, distance=2.0, seed=3)
    return np.vstack([X, X[:5]]), np.concatenate([y, np.full(5, -1)])


def assert_same(found: Comparison, again: Comparison) -> None:
    for row, other in zip(found.table, again.table, strict=True):
        assert row.name == other.name
        np.testing.assert_allclose(figures(row), figures(other), atol=1e-9)


def figures(row: Evidence) -> list[float]:
    return [row.error, row.left_out_error, row.reproducibility, row.contradiction]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_permuted_rows_give_the_same_comparison(n_classes: int) -> None:
    X, y = overlapping(n_classes)
    candidates = list(default_candidates(X, n_classes=2)[:3])
    if n_classes == 2:  # machines of pairs take long
        candidates.append(Candidate("gap", S3VC(**ONE_DESCENT), "classes are clusters"))
    found = compare(X, y, candidates=candidates)
    moved = rng.permutation(len(y))
    assert_same(found, compare(X[moved], y[moved], candidates=candidates))


@pytest.mark.parametrize("form", ["array", "sparse", "texts"])
def test_permuted_rows_are_sampled_alike_with_all_labels(form: str) -> None:
    X, y = overlapping()
    points: Any = X
    estimator: Any = LapERLSClassifier()
    if form == "sparse":
        points = csr_array(X)
    if form == "texts":
        points = np.array(
            [" ".join(f"word{int(abs(10 * j))}" for j in row) for row in X], dtype=object
        )
        estimator = make_pipeline(TfidfVectorizer(), LapERLSClassifier())
    mine = [Candidate("mine", estimator, "classes are sheets")]
    moved = rng.permutation(len(y))
    found = compare(points, y, candidates=mine, max_samples=60)
    again = compare(points[moved], y[moved], candidates=mine, max_samples=60)
    assert (found.n_used, found.n_samples, found.n_labeled) == (60, len(y), 9)
    assert found.chosen.n_left_out == 9
    assert_same(found, again)
    if form == "sparse":
        assert_same(found, compare(dia_array(X), y, candidates=mine, max_samples=60))


@pytest.mark.parametrize(
    "estimator",
    [
        LapSVC(),
        LapSVC("precomputed", gamma_I=0),
        LapERLSClassifier(),
        S3VC(**ONE_DESCENT),
        LapRLSRegressor(),
    ],
)
def test_permuted_rows_change_as_often(estimator: Any) -> None:
    X, y = overlapping(2)
    if isinstance(estimator, LapRLSRegressor):
        X, y, _ = labeled_curve()
    moved = rng.permutation(len(y))
    points = X[moved]
    if estimator.kernel == "precomputed":
        X, points = X @ X.T, points @ points.T
    found = reproducibility(estimator, X, y, 3, random_state=0)
    again = reproducibility(estimator, points, y[moved], 3, random_state=0)
    np.testing.assert_allclose(again.draws, found.draws, atol=1e-9)
    np.testing.assert_allclose(again.of_rows, found.of_rows[moved], atol=1e-9)


@pytest.mark.parametrize("grid", [False, True])
def test_the_same_points_are_to_be_labelled_next(grid: bool) -> None:
    X = make_blobs(60, centers=3, random_state=0)[0]
    if grid:  # every point has seven others that say the same, but for rounding
        X = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2)
    moved = rng.permutation(len(X))
    found, again = rows_to_label(X, k=6), rows_to_label(X[moved], k=6)
    np.testing.assert_array_equal(X[moved][again], X[found])
