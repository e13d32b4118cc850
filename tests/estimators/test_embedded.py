"""LapERLS and LapESVR as estimators: attributes, objectives, relations, errors, warnings.

Fits are compared with dense formulas of the fitted attributes, and with each other; the solvers are
tested in tests/solvers/embedded.
"""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs

from lapwing import (
    KNNGraph,
    Landmarks,
    LapERLSClassifier,
    LapERLSRegressor,
    LapESVC,
    LapESVR,
    LapRLSClassifier,
)
from lapwing.estimators import choice
from lapwing.estimators.embedded import EmbeddedEstimator
from lapwing.exceptions import (
    ConstantFitWarning,
    FewEigenvectorsWarning,
    SingleClassWarning,
    UnlabeledComponentWarning,
)
from tests.helpers.answers import coded_targets, scores
from tests.helpers.data import data_for, labeled_clusters
from tests.helpers.embedded import is_tube, objective
from tests.helpers.estimators import EXAMPLES as EVERY
from tests.helpers.estimators import Example, fitted
from tests.helpers.warned import texts

clusters = partial(labeled_clusters, n_features=4, distance=1.8)


EXAMPLES: dict[str, Example] = {
    name: example
    for name, example in EVERY.items()
    if isinstance(example.estimator, EmbeddedEstimator)
} | {
    "LapERLSClassifier, few landmarks": Example(LapERLSClassifier(space=Landmarks(30))),
    "LapESVC, 2 classes": Example(LapESVC(C=1.0), 2),
    "LapESVC, landmarks": Example(LapESVC(epsilon=0.1, space=Landmarks(30))),
    "LapESVC, no intercept": Example(LapESVC(C=1.0, epsilon=0.05, fit_intercept=False)),
    "LapESVR, exact": Example(LapESVR(n_eigenvectors=None)),
    "LapESVR, landmarks, exact": Example(LapESVR(n_eigenvectors=None, space=Landmarks(40))),
}
CLASSES = (LapERLSClassifier, LapERLSRegressor, LapESVC, LapESVR)
every_example = pytest.mark.parametrize("name", EXAMPLES)
every_class = pytest.mark.parametrize("cls", CLASSES)


# ---- the shared suite --------------------------------------------------------------------------


@every_example
def test_attributes_and_objective(name: str) -> None:
    model, X, y = fitted(EXAMPLES[name])
    assert model.virtual_labels_.shape == (len(X), coded_targets(model, y).shape[1])
    assert np.abs(scores(model, X) - model.virtual_labels_).max() > 1e-3
    assert model.optimality_.max() <= model.tol
    assert model.status_ == "converged"
    if model.n_eigenvectors is None:
        assert not hasattr(model, "eigenvalues_")
    else:
        wanted = 50 if model.n_eigenvectors == "auto" else model.n_eigenvectors
        assert model.eigenvalues_.shape == (min(wanted, len(X)),)
        assert (np.diff(model.eigenvalues_) >= 0).all()
    np.testing.assert_allclose(objective(model, X, y), model.objective_, rtol=1e-6)


# ---- relations between methods -----------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.UnlabeledComponentWarning")
@pytest.mark.parametrize("cls", [LapERLSClassifier, LapESVC])
def test_many_classes_take_as_many_eigenvectors(cls: Any) -> None:
    """20 eigenvectors would not separate 30 classes, not even at labelled rows."""
    X, truth = make_blobs(30 * 5, 20, centers=30, cluster_std=0.3, random_state=0)
    y = np.where(np.arange(len(X)) % 5 == 0, -1, truth)
    y[np.unique(truth, return_index=True)[1]] = np.arange(30)
    model = cls(kernel="linear").fit(X, y)
    assert len(model.eigenvalues_) == 60
    assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
    with pytest.warns(FewEigenvectorsWarning, match=r"number of classes, 30.*'auto', or at le"):
        cls(kernel="linear", n_eigenvectors=20).fit(X, y)


@pytest.mark.parametrize("options", [{}, {"n_eigenvectors": None}])
def test_forecasts_memory_before_the_graph(options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = clusters(n=1200)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "8m")
    with pytest.raises(MemoryError, match=r"Coordinates of \d+ points by \d+ landmarks"):
        LapESVC(space=Landmarks(1100), **options).fit(X, y)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "16m")
    monkeypatch.setattr(KNNGraph, "affinity", lambda *_: pytest.fail("neighbours were searched"))
    with pytest.raises(MemoryError, match=r"n x n kernel matrix of n = 1200 .* space=Landmarks"):
        LapERLSClassifier(space=None, **options).fit(X, y)


@every_class
def test_all_eigenvectors_are_the_exact_graph_kernel(cls: type) -> None:
    X, y, _ = data_for(cls)
    exact = cls(n_eigenvectors=None, mu=5.0, lam=50.0).fit(X, y)
    whole = cls(n_eigenvectors=10_000, mu=5.0, lam=50.0).fit(X, y)  # at most n
    assert whole.eigenvalues_.shape == (len(X),)
    np.testing.assert_allclose(
        whole.virtual_labels_, exact.virtual_labels_, atol=1e-3 if is_tube(exact) else 1e-7
    )
    np.testing.assert_allclose(whole.objective_, exact.objective_, rtol=1e-6)


def test_large_loss_weight_gives_laprls() -> None:
    """Errata E12: C -> infinity, gamma_A = 1 / lam, gamma_I = mu / lam."""
    X, y, _ = clusters()
    options = {"kernel": "laplacian", "gamma": 1.0}
    lap = LapRLSClassifier(gamma_A=1 / 40, gamma_I=3 / 40, **options).fit(X, y)
    model = LapERLSClassifier(C=1e13, lam=40.0, mu=3.0, n_eigenvectors=None, **options).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), lap.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(model.virtual_labels_, lap.decision_function(X), atol=1e-9)


# ---- paths -------------------------------------------------------------------------------------


@every_class
def test_many_points_take_landmarks_by_themselves(
    cls: type, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    X, y, _ = data_for(cls)
    monkeypatch.setattr(choice, "_MATRIX_POINTS", dict.fromkeys(choice._MATRIX_POINTS, 50))
    with caplog.at_level(logging.INFO, logger="lapwing"):
        model = cls(tol=1e-11).fit(X, y)
    assert "Landmarks" in caplog.text
    given = cls(tol=1e-11, space=Landmarks()).fit(X, y)
    np.testing.assert_array_equal(scores(model, X), scores(given, X))


def test_eigenpairs_are_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = clusters()
    first = LapERLSClassifier(memory=str(tmp_path)).fit(X, y)
    monkeypatch.delattr("lapwing.graphs.spectral._dense")
    with pytest.raises(NameError):
        LapERLSClassifier().fit(X, y)
    again = LapERLSClassifier(memory=str(tmp_path), C=1.0).fit(X, y)
    np.testing.assert_array_equal(again.eigenvalues_, first.eigenvalues_)


# ---- errors and warnings -----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.SingleClassWarning")
def test_warns_about_more_components_than_eigenvectors() -> None:
    X, y, _ = clusters(2)
    X[: len(X) // 2] += 1000
    with pytest.warns(UnlabeledComponentWarning, match=r"Use n_eigenvectors=3 or None"):
        model = LapERLSClassifier(n_eigenvectors=1).fit(X, y)
    assert (np.abs(model.virtual_labels_).max(axis=1) == 0).sum() == len(X) // 2


@pytest.mark.parametrize("cls", [LapESVC, LapESVR])
def test_warns_if_the_tube_is_wider_than_the_virtual_labels(cls: type) -> None:
    """Errata E11."""
    X, y, _ = data_for(cls)
    model = cls(epsilon=50.0)
    message = texts(lambda: model.fit(X, y), ConstantFitWarning)
    assert any("alpha_ is 0. Use a smaller epsilon" in text for text in message)
    assert np.ptp(scores(model, X), axis=0).max() == 0
    assert len(model.alpha_) == 1


def test_warns_if_predict_gives_one_class_despite_right_virtual_labels() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 4)) + 8 * np.eye(4)[truth]
    y = np.where(np.arange(120) % 10 == 0, truth, -1)
    model = LapESVC(kernel="linear").fit(X, y)
    assert (model.predict(X) == truth).mean() > 0.95
    with pytest.warns(SingleClassWarning, match=r"`predict` gives all labelled .* \(standardise"):
        model.fit(X * 1e-6, y)
    assert (model.transduction_ == truth).mean() > 0.95
    assert len(np.unique(model.predict(X * 1e-6))) == 1
