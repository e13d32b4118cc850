"""EigenfunctionClassifier: its closed form, what changes nothing, and errors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from lapwing import EigenfunctionClassifier
from lapwing.estimators.prepared import without
from lapwing.estimators.template import prepare, solve
from lapwing.exceptions import SingleClassWarning
from lapwing.graphs.eigenfunctions import Eigenfunctions
from tests.helpers.data import factorial, labeled_clusters

clusters = partial(labeled_clusters, n=120, n_labels=4, n_features=4, distance=4.0)


EXAMPLES = [
    EigenfunctionClassifier(),
    EigenfunctionClassifier(None, n_components=2, n_bins=30, clip=0.0, lam=10),
]
each_example = pytest.mark.parametrize("model", EXAMPLES, ids=["default", "two directions"])
each_count = pytest.mark.parametrize("n_classes", [2, 3])


@each_example
@each_count
def test_the_classifier_is_the_closed_form(model: Any, n_classes: int) -> None:
    """(Sigma + U'Lambda U) alpha = U'Lambda y, dense."""
    X, y, truth = clusters(n_classes)
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
    assert_array_equal(model.transduction_, model.predict(X))
    assert np.mean(winner == truth) > 0.75
    at = y >= 0
    objective = (model.lam * w[at]) @ (Y - f)[at] ** 2 + (alpha**2).T @ Sigma.diagonal()
    assert_allclose(model.objective_, objective, rtol=1e-6)
    assert model.alpha_.shape == (len(alpha) - 1, len(alpha.T))
    assert_allclose(model.intercept_, alpha[0] / np.sqrt(len(X)), atol=1e-8)


@each_example
def test_axes_origin_and_units_do_not_matter(model: Any) -> None:
    X, y, _ = clusters(3)
    f = clone(model).fit(X, y).decision_function(X)
    Q = np.linalg.qr(np.random.default_rng(3).normal(size=(4, 4)))[0]
    moved = 1e3 * (X @ Q) + 1e4
    assert_allclose(clone(model).fit(moved, y).decision_function(moved), f, atol=1e-5)


TIED = {
    "codes": factorial(3, 3, 3, 3),
    "grid": np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), -1).reshape(-1, 2),
    "standardised": StandardScaler().fit_transform(factorial(2, 3, 4)),
}


@pytest.mark.parametrize("name", TIED)
def test_the_order_of_rows_and_columns_does_not_matter(name: str) -> None:
    """Equal variances and points on the edges of bins decided 28 % of the answers on codes."""
    X = TIED[name]
    rng = np.random.default_rng(0)
    y = np.full(len(X), -1)
    y[rng.permutation(len(X))[:9]] = np.arange(9) % 3
    f = EigenfunctionClassifier().fit(X, y).decision_function(X)
    for _ in range(3):
        rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
        turned = X[rows][:, columns]
        found = EigenfunctionClassifier().fit(turned, y[rows]).decision_function(turned)
        assert_allclose(found, f[rows], atol=1e-8)


def test_class_weights_are_weights_of_the_labels() -> None:
    X, y, _ = clusters(3)
    factors = np.array([1.0, 5.0, 0.5])
    by_class = EigenfunctionClassifier(class_weight=dict(enumerate(factors))).fit(X, y)
    by_hand = EigenfunctionClassifier().fit(X, y, sample_weight=np.where(y < 0, 1, factors[y]))
    assert_allclose(by_class.decision_function(X), by_hand.decision_function(X))


def test_labels_are_met_as_their_weight_grows() -> None:
    X, y, _ = clusters(2)
    at = y >= 0
    gaps = [
        np.abs(EigenfunctionClassifier(lam=lam).fit(X, y).decision_function(X)[at]) - 1
        for lam in (1.0, 1e3, 1e6)
    ]
    worst = [np.abs(gap).max() for gap in gaps]
    assert worst[0] > worst[1] > worst[2]
    assert worst[2] < 0.01


def test_float32_points() -> None:
    X, y, _ = clusters(3)
    f = EigenfunctionClassifier().fit(X, y).decision_function(X)
    X32 = X.astype(np.float32)
    assert_allclose(EigenfunctionClassifier().fit(X32, y).decision_function(X32), f, atol=0.05)


def test_points_that_are_all_equal_get_one_class_and_a_warning() -> None:
    y = np.full(10, -1)
    y[:3] = [0, 1, 1]
    with pytest.warns(SingleClassWarning, match=r"All 7 unlabelled points were given class 1"):
        model = EigenfunctionClassifier().fit(np.ones((10, 2)), y)
    assert_allclose(model.decision_function(np.zeros((1, 2))), 1 / 3)  # the mean label


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_eigenfunctions": 0}, r"n_eigenfunctions=0 must be a whole number >= 1, or None"),
        ({"n_components": 0}, r"n_components=0 must be a whole number >= 1"),
        ({"n_bins": 2}, r"n_bins=2 must be a whole number >= 3"),
        ({"bandwidth": 0}, r"bandwidth=0 must be a number > 0 in the units of X, or None"),
        ({"n_bins": 2001}, r"n_bins=2001 must be at most 2000: each direction takes a dense"),
        ({"n_bins": 10**6}, r"n_bins=1000000 must be at most 2000"),
        ({"clip": 0.5}, r"clip=0\.5 must be a number >= 0 and less than 0\.5"),
        ({"lam": 0}, r"lam=0 must be a number > 0"),
        ({"bandwidth": 1e-6}, r"bandwidth=1e-06 is less than the width of the 100 bins"),
    ],
)
def test_wrong_parameters(options: dict[str, Any], message: str) -> None:
    X, y, _ = clusters(2)
    with pytest.raises(ValueError, match=message):
        EigenfunctionClassifier(**options).fit(X, y)


def test_the_matrices_of_the_bins_are_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = clusters(2)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "50m")
    EigenfunctionClassifier(n_bins=1000).fit(X, y)
    with pytest.raises(MemoryError, match=r"The eigenproblem of 1500 bins needs .* fewer bins"):
        EigenfunctionClassifier(n_bins=1500).fit(X, y)


def test_a_fit_that_fails_leaves_nothing_of_the_last_one() -> None:
    X, y, _ = clusters(2)
    model = EigenfunctionClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"requires y to be passed"):
        model.fit(X, None)
    assert not hasattr(model, "alpha_")


def test_other_labels_evaluate_no_function_again(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, truth = clusters(3)
    model = EigenfunctionClassifier()
    prepared = prepare(model, X.astype(np.float32), y)
    refits = model._refits(prepared)
    changed = prepared.relabeled(model._read_targets(np.where(np.arange(120) < 40, truth, -1)))
    expected = solve(model, changed)
    rows = len(prepared.problem.index)
    without_one = [solve(model, without(prepared, i)).values for i in range(rows)]
    monkeypatch.delattr(Eigenfunctions, "expand")
    assert_allclose(refits.values(changed), expected.values, atol=1e-10)
    assert_allclose(refits.solve(changed).values, expected.values, atol=1e-10)
    found = refits.left_out()
    at = prepared.problem.index
    assert_allclose(found, [v[i] for v, i in zip(without_one, at, strict=True)], atol=1e-10)


@each_count
def test_rounding_decides_no_ties(n_classes: int) -> None:
    """Each unlabelled row of the identity is as near to one class as to another."""
    n, l = 30, 2 * n_classes
    X, y = np.eye(n), np.full(n, -1)
    y[:l] = np.arange(l) % n_classes
    with pytest.warns(SingleClassWarning):
        model = EigenfunctionClassifier().fit(X, y)
    scores = model.decision_function(X).reshape(n, -1)
    assert len(np.unique(scores[l:], axis=0)) == 1
    if n_classes == 2:
        assert (scores[l:] == 0).all()
    else:
        assert len(np.unique(scores[l:])) == 1
    # A tie is the positive class, or the first of several.
    assert set(model.transduction_[l:]) == set(model.predict(X[l:])) == {int(n_classes == 2)}
    assert_array_equal(model.transduction_[:l], y[:l])
