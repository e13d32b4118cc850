"""Baselines: closed forms, normalisation, ties and components."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from lapwing import AnchorGraph, AnchorGraphClassifier, EigenfunctionClassifier
from lapwing.exceptions import SingleClassWarning, UnlabeledComponentWarning
from tests.helpers.data import gaussian_points, labeled_clusters
from tests.helpers.graphs import anchor_laplacian

few_clusters = partial(labeled_clusters, n=90, n_labels=4, n_features=4, distance=2.0)


WEIGHTS = ("kernel", "embedding")
each_weights = pytest.mark.parametrize("weights", WEIGHTS)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("gamma_I", [0.01, 1.0])
@pytest.mark.parametrize("normalize", [True, False])
@each_weights
def test_anchor_graphs_are_the_closed_form(
    n_classes: int, gamma_I: float, normalize: bool, weights: str
) -> None:
    """A = (Z_l'WZ_l + gamma Z'LZ)^-1 Z_l'W Y_l with memberships 0 and 1, in dense matrices."""
    X, y, _ = few_clusters(n_classes)
    w = np.random.default_rng(1).uniform(0.5, 2, len(X))
    graph = AnchorGraph(12, weights=weights)
    model = AnchorGraphClassifier(graph, gamma_I=gamma_I, class_mass_normalization=normalize)
    model.fit(X, y, sample_weight=w)
    Z = graph.weigh(X)[1]
    Zd, L = Z.toarray(), anchor_laplacian(Z)
    at = y >= 0
    Y = np.eye(n_classes)[y[at]]
    Zl, W = Zd[at], np.diag(w[at])
    A = np.linalg.solve(Zl.T @ W @ Zl + gamma_I * Zd.T @ L @ Zd, Zl.T @ W @ Y)
    memberships = Zd @ A
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


@each_weights
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_unlabelled_components_get_the_shares_of_the_labels(
    n_classes: int, normalize: bool, weights: str
) -> None:
    X, y, _ = few_clusters(n_classes, n_labels=5)
    y[np.flatnonzero(y == 0)[:2]] = -1  # three labels of class 0, five of the others
    far = gaussian_points(30, seed=3) + 100
    graph = AnchorGraph(24, weights=weights)
    model = AnchorGraphClassifier(graph, class_mass_normalization=normalize)
    message = (
        r"1 of the anchor graph's 2 connected components contain no labelled point \(30 points, "
        r"30 in the largest\)"
    )
    with pytest.warns(UnlabeledComponentWarning, match=message):
        model.fit(np.vstack([X, far]), np.append(y, np.full(30, -1)))
    shares = np.array([3, 5, 5][:n_classes]) / (5 * n_classes - 2)
    expected = 2 * shares[1] - 1 if n_classes == 2 else np.tile(2 * shares - 1, (30, 1))
    assert_allclose(model.decision_function(far), expected, atol=1e-9)
    # Other components are not affected, except by the normalisation of masses.
    values = model.decision_function(X)
    if normalize:
        sums = values.sum() if n_classes == 2 else ((1 + values) / 2).sum(axis=0)
        assert_allclose(sums, 0 if n_classes == 2 else 90 / 3, atol=1e-9)
    elif weights == "embedding":  # whose weights need no bandwidth of all points
        anchors = AnchorGraph(anchors=model.anchors_.points, weights=weights)
        alone = clone(model).set_params(graph=anchors).fit(X, y)  # warnings are errors
        assert_allclose(values, alone.decision_function(X), atol=1e-6)


def test_more_anchors_than_the_system_has_rank() -> None:
    X, y, truth = few_clusters(3)
    for gamma_I in (0, 1e-6, 0.1):
        model = AnchorGraphClassifier(AnchorGraph(90), gamma_I=gamma_I).fit(X, y)
        assert np.isfinite(model.alpha_).all()
        assert np.isfinite(model.decision_function(gaussian_points(20, seed=4) * 3)).all()
        assert_array_equal(model.transduction_[y >= 0], truth[y >= 0])


far_clusters = partial(labeled_clusters, n=120, n_labels=4, n_features=4, distance=4.0)


EXAMPLES = [
    EigenfunctionClassifier(),
    EigenfunctionClassifier(None, n_components=2, n_bins=30, clip=0.0, lam=10),
]
each_example = pytest.mark.parametrize("model", EXAMPLES, ids=["default", "two directions"])
each_count = pytest.mark.parametrize("n_classes", [2, 3])


@each_example
@each_count
def test_eigenfunctions_are_the_closed_form(model: Any, n_classes: int) -> None:
    """(Sigma + U'Lambda U) alpha = U'Lambda y, in dense matrices."""
    X, y, _ = far_clusters(n_classes)
    w = np.random.default_rng(1).uniform(0.5, 2, len(X))
    model = clone(model).fit(X, y, sample_weight=w)
    U = model.eigenfunctions_.evaluate(X)
    Sigma = np.diag(model.eigenfunctions_.eigenvalues)
    Lambda = np.diag(np.where(y >= 0, model.lam * w, 0))
    Y = np.where(y[:, None] == np.arange(n_classes), 1.0, -1.0)
    Y = Y[:, 1:] if n_classes == 2 else Y
    alpha = np.linalg.solve(Sigma + U.T @ Lambda @ U, U.T @ Lambda @ Y)
    f = U @ alpha
    g = model.decision_function(X)
    assert_allclose(g[:, None] if n_classes == 2 else g, f, atol=1e-7)
    winner = (f[:, 0] >= 0).astype(int) if n_classes == 2 else f.argmax(axis=1)
    assert_array_equal(model.transduction_, winner)
    at = y >= 0
    objective = (model.lam * w[at]) @ (Y - f)[at] ** 2 + (alpha**2).T @ Sigma.diagonal()
    assert_allclose(model.objective_, objective, rtol=1e-6)
    assert model.alpha_.shape == (len(alpha) - 1, len(alpha.T))
    assert_allclose(model.intercept_, alpha[0] / np.sqrt(len(X)), atol=1e-8)


@each_example
def test_axes_origin_and_units_do_not_matter(model: Any) -> None:
    X, y, _ = far_clusters(3)
    f = clone(model).fit(X, y).decision_function(X)
    Q = np.linalg.qr(np.random.default_rng(3).normal(size=(4, 4)))[0]
    moved = 1e3 * (X @ Q) + 1e4
    assert_allclose(clone(model).fit(moved, y).decision_function(moved), f, atol=1e-5)


def test_the_matrices_of_the_bins_are_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = far_clusters(2)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "5m")
    EigenfunctionClassifier(n_bins=300).fit(X, y)
    with pytest.raises(MemoryError, match=r"The eigenproblem of 500 bins needs .* fewer bins"):
        EigenfunctionClassifier(n_bins=500).fit(X, y)


@each_count
def test_rounding_decides_no_ties(n_classes: int) -> None:
    """All unlabelled rows of the identity have equal distances to all classes."""
    n, l = 30, 2 * n_classes
    X, y = np.eye(n), np.full(n, -1)
    y[:l] = np.arange(l) % n_classes
    with pytest.warns(SingleClassWarning):
        model = EigenfunctionClassifier().fit(X, y)
    scores = model.decision_function(X).reshape(n, -1)
    assert len(np.unique(scores[l:])) == 1
    # A tie is the positive class, or the first of several.
    assert set(model.transduction_[l:]) == set(model.predict(X[l:])) == {int(n_classes == 2)}
    assert_array_equal(model.transduction_[:l], y[:l])
