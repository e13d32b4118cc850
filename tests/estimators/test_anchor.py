"""AnchorGraphClassifier: its closed form, what normalisation does, and what changes nothing."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from lapwing import AnchorGraph, AnchorGraphClassifier, KNNGraph, LapRLSClassifier
from lapwing.estimators.template import prepare, solve
from lapwing.exceptions import UnlabeledComponentWarning
from lapwing.graphs import AnchorLaplacian, Anchors
from tests.helpers.data import gaussian_points, labeled_clusters
from tests.helpers.graphs import anchor_laplacian

clusters = partial(labeled_clusters, n=90, n_labels=4, n_features=4, distance=2.0)


WEIGHTS = ("kernel", "embedding")
each_weights = pytest.mark.parametrize("weights", WEIGHTS)


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
    Zd, L = Z.toarray(), anchor_laplacian(Z)
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


@each_weights
def test_unlabelled_components_get_the_shares_of_the_labels(weights: str) -> None:
    X, y, _ = clusters(2, n_labels=5)
    y[np.flatnonzero(y == 0)[:2]] = -1  # three labels of class 0, five of class 1
    far = gaussian_points(30, seed=3) + 100
    model = AnchorGraphClassifier(AnchorGraph(24, weights=weights), class_mass_normalization=False)
    message = (
        r"1 of the anchor graph's 2 connected components contain no labelled point \(30 points, "
        r"30 in the largest\)"
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
    far = gaussian_points(30, seed=3) + 100
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
        assert np.isfinite(model.decision_function(gaussian_points(20, seed=4) * 3)).all()
        assert_array_equal(model.transduction_[y >= 0], truth[y >= 0])


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


def test_float32_points() -> None:
    X, y, _ = clusters(3)
    model = AnchorGraphClassifier(AnchorGraph(15))
    f = clone(model).fit(X, y).decision_function(X)
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
    with pytest.raises(
        TypeError, match=r"graph=KNNGraph\(\) is not an AnchorGraph\. Use AnchorGraph"
    ):
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
    with pytest.raises(ValueError, match=r"y contains no label"):
        fitted.fit(X, np.full(90, -1))
    assert not hasattr(fitted, "alpha_")  # nothing of the first fit is left


@each_weights
def test_other_labels_reduce_the_graph_once(weights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, truth = clusters(3)
    model = AnchorGraphClassifier(AnchorGraph(15, weights=weights))
    prepared = prepare(model, X, y)
    refits = model._refits(prepared)
    changed = prepared.relabeled(model._read_targets(np.where(np.arange(90) < 40, truth, -1)))
    expected = solve(model, changed)
    monkeypatch.delattr(AnchorLaplacian, "reduced")
    assert_array_equal(refits.values(changed), expected.values)
    assert_array_equal(refits.solve(changed).values, expected.values)
    assert np.isfinite(refits.left_out()).all()
