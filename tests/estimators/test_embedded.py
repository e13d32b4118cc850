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
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

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
from tests.helpers.answers import coded_targets, labeled_rows, scores
from tests.helpers.data import data_for, labeled_clusters
from tests.helpers.estimators import EXAMPLES as EVERY
from tests.helpers.estimators import Example, fitted
from tests.helpers.manifold import dense_laplacian
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


def is_tube(model: Any) -> bool:
    return isinstance(model, (LapESVC, LapESVR))


def objective(model: Any, X: Any, y: Any) -> np.ndarray:
    """Compute the objective (14) or (33) at the fitted function and virtual labels."""
    f, g = scores(model, X), model.virtual_labels_
    if hasattr(model, "coef_"):
        norm = (model.coef_**2).sum(axis=1)
    else:
        K = rbf_kernel(model.X_fit_, gamma=model.kernel_.gamma)
        norm = np.einsum("ij,ij->j", model.alpha_, K @ model.alpha_)
    r = f - g
    loss = model.C / 2 * r**2
    if is_tube(model):
        loss = model.C * np.maximum(np.abs(r) - model.epsilon, 0)
    fit = model.lam / 2 * ((g[labeled_rows(y)] - coded_targets(model, y)) ** 2).sum(axis=0)
    smooth = model.mu / 2 * np.einsum("ij,ij->j", g, dense_laplacian(model) @ g)
    return norm / 2 + loss.sum(axis=0) + fit + smooth


# ---- the shared suite --------------------------------------------------------------------------


@every_example
def test_attributes(name: str) -> None:
    model, X, y = fitted(EXAMPLES[name])
    assert model.virtual_labels_.shape == (len(X), coded_targets(model, y).shape[1])
    assert np.abs(scores(model, X) - model.virtual_labels_).max() > 1e-3
    assert model.optimality_.max() <= model.tol
    assert model.status_ == "converged"
    if model.n_eigenvectors is None:
        assert not hasattr(model, "eigenvalues_")
    else:
        assert model.eigenvalues_.shape == (min(eigenvectors_of(model), len(X)),)
        assert (np.diff(model.eigenvalues_) >= 0).all()


@every_example
def test_objective_is_that_of_the_answers(name: str) -> None:
    model, X, y = fitted(EXAMPLES[name])
    np.testing.assert_allclose(objective(model, X, y), model.objective_, rtol=1e-6)


# ---- relations between methods -----------------------------------------------------------------


def eigenvectors_of(model: Any) -> int:
    """Return the given number; 'auto' is 50, or two for each class."""
    if model.n_eigenvectors != "auto":
        return int(model.n_eigenvectors)
    return max(50, 2 * (1 if len(model.classes_) == 2 else len(model.classes_)))


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
    class Searched(KNNGraph):
        def affinity(self, X: Any) -> Any:
            raise AssertionError("the neighbours were searched first")

    X, y, _ = clusters(n=1200)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "16m")
    with pytest.raises(MemoryError, match=r"n x n kernel matrix of n = 1200 .* space=Landmarks"):
        LapERLSClassifier(space=None, graph=Searched(), **options).fit(X, y)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "8m")
    with pytest.raises(MemoryError, match=r"Coordinates of \d+ points by \d+ landmarks"):
        LapESVC(space=Landmarks(1100), **options).fit(X, y)


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


def test_only_support_vectors_are_kept() -> None:
    X, y, _ = clusters(2)
    model = LapESVC(C=1.0, epsilon=0.2).fit(X, y)
    assert 0 < len(model.alpha_) < len(X)
    assert (model.alpha_ != 0).all()
    np.testing.assert_array_equal(model.X_fit_, X[model.basis_])
    assert len(LapESVC(C=1.0).fit(X, y).alpha_) == len(X)  # epsilon = 0


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
    full = cls(tol=1e-11, space=None).fit(X, y)
    assert full.solver_ in ("cholesky", "interior point")
    np.testing.assert_allclose(scores(full, X), scores(given, X), atol=1e-3)


@pytest.mark.parametrize("power", [1, 2])
def test_many_points_with_the_exact_graph_kernel_take_conjugate_gradient(
    power: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, _ = clusters()
    options = {"lam": 50, "mu": 5, "n_eigenvectors": None, "space": Landmarks(30), "tol": 1e-11}
    model = LapERLSClassifier(graph=KNNGraph(6, power=power), **options)
    dense = clone(model).fit(X, y)
    monkeypatch.setitem(choice._MATRIX_POINTS, "squared", 50)
    found = model.fit(X, y)
    assert (dense.solver_, found.solver_) == ("cholesky", "conjugate gradient")
    assert found.n_iter_ > 1
    np.testing.assert_allclose(found.virtual_labels_, dense.virtual_labels_, atol=1e-7)
    np.testing.assert_allclose(scores(found, X), scores(dense, X), atol=1e-7)


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
