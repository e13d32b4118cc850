"""Classifiers that are no kernel methods: what has to change nothing."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from lapwing import AnchorGraph, AnchorGraphClassifier, EigenfunctionClassifier
from tests.helpers.data import labeled_clusters

anchored = partial(labeled_clusters, n=90, n_labels=4, n_features=4, distance=2.0)
apart = partial(labeled_clusters, n=120, n_labels=4, n_features=4, distance=4.0)

# name: the model, its points, how near fits to the points in another order are, and to rows that
# are repeated: anchors see the same points then, but sums over a histogram round differently.
EXAMPLES: dict[str, tuple[Any, Any, float, float]] = {
    "anchors, kernel": (AnchorGraphClassifier(AnchorGraph(15)), anchored, 1e-8, 0.0),
    "anchors, embedding": (
        AnchorGraphClassifier(AnchorGraph(15, weights="embedding", power=2), gamma_I=1.0),
        anchored,
        1e-8,
        0.0,
    ),
    "anchors, random": (
        AnchorGraphClassifier(AnchorGraph(25, anchors="random"), class_mass_normalization=False),
        anchored,
        1e-8,
        0.0,
    ),
    "eigenfunctions": (EigenfunctionClassifier(), apart, 1e-7, 1e-12),
    "eigenfunctions, two directions": (
        EigenfunctionClassifier(None, n_components=2, n_bins=30, clip=0.0, lam=10),
        apart,
        1e-7,
        1e-12,
    ),
}
each_example = pytest.mark.parametrize("name", EXAMPLES)


@each_example
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_order_of_points_and_names_of_classes_do_not_matter(name: str, n_classes: int) -> None:
    model, make, atol, _ = EXAMPLES[name]
    X, y, _ = make(n_classes)
    f = clone(model).fit(X, y).decision_function(X)
    order = np.random.default_rng(2).permutation(len(X))
    g = clone(model).fit(X[order], y[order]).decision_function(X)
    assert_allclose(g, f, atol=atol)
    renamed = np.where(y < 0, -1, n_classes - 1 - y)
    h = clone(model).fit(X, renamed).decision_function(X)
    assert_allclose(-h if n_classes == 2 else h[:, ::-1], f, atol=atol)


@each_example
def test_rows_twice_are_rows_of_weight_two(name: str) -> None:
    model, make, _, atol = EXAMPLES[name]
    X, y, _ = make(3)
    n, twice = len(X), np.concatenate([np.flatnonzero(y == code)[:2] for code in range(3)])
    weights = np.ones(n)
    weights[twice] = 2
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.vstack([X, X[twice]]), np.append(y, y[twice]))
    assert_allclose(
        repeated.decision_function(X), weighted.decision_function(X), rtol=atol, atol=atol
    )
    assert_array_equal(repeated.transduction_[n:], repeated.transduction_[:n][twice])
    gone = clone(model).fit(X, y, sample_weight=np.where(np.isin(np.arange(n), twice), 0, 1))
    removed = clone(model).fit(np.delete(X, twice, axis=0), np.delete(y, twice))
    assert_allclose(gone.decision_function(X), removed.decision_function(X), rtol=atol, atol=atol)
    assert gone.transduction_.shape == (n,)
