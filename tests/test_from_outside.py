"""Graphs, kernels, partition methods and estimators that are not part of the library.

They are written as CONTRIBUTING.md says, and registered as a line of the library would. The oracle
is a dense matrix, given to the same estimator or solved by NumPy. Losses from outside are in
tests/losses/test_from_outside.py, verbs in tests/app/test_request.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from inspect import signature
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import GridSearchCV, KFold

import lapwing
from lapwing._parameters import Rule, is_positive, parameters
from lapwing.estimators._docs import document
from lapwing.estimators.classifier import ManifoldClassifier
from lapwing.estimators.path import PathEstimator
from lapwing.graphs import GraphRecipe
from lapwing.kernels import KERNELS, Formula
from lapwing.losses.base import Loss
from lapwing.model_selection import LabeledKFold
from lapwing.models import load_model, save_model
from lapwing.objectives.volumes import CLAMP, VolumeProblem
from lapwing.solvers.graph.partition import Partition, assigned, positive_shares, recorded
from lapwing.solvers.graph.propagation import resolvent
from lapwing.solvers.graph.registry import PARTITIONS, PartitionMethod
from tests.helpers.answers import scores
from tests.helpers.data import data_for, labeled_clusters
from tests.helpers.low_density import ONE_DESCENT
from tests.helpers.outside import RoundedHinge

GAMMA = 0.4
# Of answers, relative to the largest: rounding, which the votes of S3VC's pairs magnify.
SAME = 2e-4
# Of S3VC: its objective is flat about a minimum, and rounding decides where a descent rests there.
FLAT = 5e-3
# Of paths, the parameters have several values each; they make the fits that are tried here.
ESTIMATORS = {
    name: getattr(lapwing, name)
    for name in lapwing.estimators.__all__
    if not issubclass(getattr(lapwing, name), PathEstimator)
}


def takers(parameter: str) -> list[str]:
    """The estimators with a parameter, as they are when the tests are collected."""
    return [name for name, make in ESTIMATORS.items() if parameter in make().get_params()]


# The graph of this one is a recipe of anchors, not of edges between points.
OF_GRAPHS = [name for name in takers("graph") if name != "AnchorGraphClassifier"]
OF_KERNELS = takers("kernel")


def made(name: str, **options: Any) -> Any:
    """Make an estimator with the options, gamma_I above 0 and tight tolerances."""
    estimator = ESTIMATORS[name](**options)
    parameters = estimator.get_params()
    if parameters.get("gamma_I") == 0:
        estimator.set_params(gamma_I=0.5)
    if "n_votes" in parameters:  # a kernel matrix has no points that could vote
        estimator.set_params(n_votes=0)
    if isinstance(estimator, lapwing.S3VC):
        estimator.set_params(**ONE_DESCENT)
    if "tol" in parameters:
        estimator.set_params(tol=min(parameters["tol"] or 1e-8, 1e-7))
    return estimator


def check_same(one: Any, other: Any, X: Any, X_other: Any = None) -> None:
    """Equal answers for all points, those of the fit as well."""
    expected = scores(other, X if X_other is None else X_other)
    assert np.ptp(expected) > 0.1  # something was learnt
    near = FLAT if isinstance(one, lapwing.S3VC) else SAME
    np.testing.assert_allclose(scores(one, X), expected, atol=near * np.abs(expected).max())
    np.testing.assert_array_equal(one.transduction_.shape, other.transduction_.shape)
    if is_classifier(one):
        np.testing.assert_array_equal(one.transduction_, other.transduction_)
    else:
        np.testing.assert_allclose(one.transduction_, other.transduction_, atol=SAME)


# ---- graphs ------------------------------------------------------------------------------------


class Ball(BaseEstimator):
    """Points nearer than a radius are joined, the nearer the more."""

    def __init__(self, radius: float = 1.5, normalized: bool = True, power: int = 1) -> None:
        self.radius = radius
        self.normalized = normalized
        self.power = power

    def affinity(self, X: Any) -> Any:
        """Weights 1 - (d / radius)^2 of the edges."""
        near = sp.coo_array(np.maximum(0, 1 - (cdist(X, X) / self.radius) ** 2))
        near.setdiag(0)
        near.eliminate_zeros()
        return near.tocsr()


def ball_matrix(X: Any, radius: float) -> Any:
    """The same, pair by pair."""
    return np.maximum(0, 1 - _squared(X, X) / radius**2) * (1 - np.eye(len(X)))


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.UnlabeledComponentWarning")
@pytest.mark.parametrize("options", [{}, {"normalized": False, "power": 2}], ids=["L", "(D - W)^2"])
@pytest.mark.parametrize("name", OF_GRAPHS)
def test_graph_object_agrees_with_its_matrix(name: str, options: dict[str, Any]) -> None:
    X, y, _ = data_for(ESTIMATORS[name])
    graph = Ball(2.0, **options)
    assert isinstance(graph, GraphRecipe)
    W = ball_matrix(X, 2.0)
    matrix = lapwing.AffinityGraph(W, **{"normalized": True, "power": 1, **options})
    with_object = made(name, graph=graph).fit(X, y)
    with_matrix = made(name, graph=matrix).fit(X, y)
    check_same(with_object, with_matrix, X)
    # It is this graph that was used, and not the default one.
    assert np.abs(default_scores(name) - scores(with_object, X)).max() > 100 * SAME


@cache
def default_scores(name: str) -> Any:
    X, y, _ = data_for(ESTIMATORS[name])
    return scores(made(name).fit(X, y), X)


def test_all_estimators_with_a_graph_or_kernel_are_tested() -> None:
    assert len(OF_GRAPHS) >= 9
    assert len(OF_KERNELS) >= 9
    assert set(takers("graph")) - set(OF_GRAPHS) == {"AnchorGraphClassifier"}


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.LapwingWarning")
def test_grid_search_sets_parameters_of_a_graph_object() -> None:
    X, _, truth = labeled_clusters(2)
    plain, grid = lapwing.LapRLSClassifier(graph=Ball()), {"graph__radius": [0.1, 1.5]}
    search = GridSearchCV(plain, grid, cv=KFold(3)).fit(X, truth)
    assert search.best_estimator_.graph.radius in (0.1, 1.5)
    few, many = (clone(plain).set_params(graph__radius=r) for r in (0.1, 1.5))
    assert few.fit(X, truth).affinity_.nnz < many.fit(X, truth).affinity_.nnz


def test_anchor_graph_classifier_rejects_other_graphs() -> None:
    X, y, _ = labeled_clusters(2)
    with pytest.raises(TypeError, match=r"AnchorGraph\("):
        lapwing.AnchorGraphClassifier(graph=Ball()).fit(X, y)


def test_only_registered_graphs_are_saved(tmp_path: Any) -> None:
    """One from outside has no public name, so a model file does not take it."""
    X, y, _ = labeled_clusters(2)
    fitted = lapwing.LapRLSClassifier(graph=Ball(2.0)).fit(X, y)
    with pytest.raises(ValueError, match="Ball"):
        save_model(fitted, tmp_path / "a.lapwing")


# ---- kernels -----------------------------------------------------------------------------------


def cauchy(X: Any, Z: Any) -> Any:
    """1 / (1 + gamma |x - z|^2), positive definite in any dimension."""
    return 1 / (1 + GAMMA * cdist(X, Z, "sqeuclidean"))


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> str:
    """The same as a line of the registry, with its gamma taken from the estimator."""

    def block(a: Any, b: Any, kernel: Any) -> Any:
        return 1 / (1 + kernel.gamma * cdist(a.points, b.points, "sqeuclidean"))

    line = Formula("1 / (1 + gamma |x - z|^2)", block, unit_diagonal=True)
    monkeypatch.setitem(KERNELS, "cauchy", line)
    return "cauchy"


@pytest.mark.parametrize("name", OF_KERNELS)
def test_kernel_function_agrees_with_its_matrix(name: str, registered: str, tmp_path: Any) -> None:
    """One of the registry is also listed and saved."""
    X, y, _ = data_for(ESTIMATORS[name])
    new = X[::5] + 0.1
    K, K_new = (1 / (1 + GAMMA * _squared(Z, X)) for Z in (X, new))
    options = {"graph": lapwing.AffinityGraph(lapwing.KNNGraph(6).affinity(X))}
    precomputed = made(name, kernel="precomputed", **options).fit(K, y)
    for kernel in (cauchy, registered):
        fitted = made(name, kernel=kernel, gamma=GAMMA, **options).fit(X, y)
        check_same(fitted, precomputed, X, K)
        np.testing.assert_allclose(
            scores(fitted, new),
            scores(precomputed, K_new),
            atol=SAME * np.abs(scores(precomputed, K)).max(),
        )
    save_model(fitted, tmp_path / "a.lapwing")
    loaded = load_model(tmp_path / "a.lapwing").pipeline
    np.testing.assert_array_equal(scores(loaded, X), scores(fitted, X))
    with pytest.raises(ValueError, match=rf"kernel='cauchi' is not known.*'{registered}'"):
        made(name, kernel="cauchi").fit(X, y)


def _squared(X: Any, Z: Any) -> Any:
    """Squared distances, pair by pair."""
    return np.array([[float(((x - z) ** 2).sum()) for z in Z] for x in X])


# ---- partition methods -------------------------------------------------------------------------


def smoothed_labels(problem: VolumeProblem) -> Partition:
    """Partition the points by the resolvent of the labels at the scale 1."""
    labels = np.zeros((problem.n_points, problem.n_classes))
    labels[problem.index] = problem.labels
    found = resolvent(problem, labels, 1.0, tol=1e-10)
    scores = assigned(problem, found.x)
    return Partition(
        scores,
        0.0,
        float(found.optimality.max()),
        found.n_iter,
        found.status,
        recorded([0.0]),
        shares=positive_shares(problem, scores),
    )


def test_registered_partition_method(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = labeled_clusters(3)
    smoothed = lapwing.BalancedGraphClassifier(lapwing.KNNGraph(6, power=1), method="smoothed")
    with pytest.raises(ValueError, match="method='smoothed' must be one of 'laplace', "):
        smoothed.fit(X, y)
    line = PartitionMethod(smoothed_labels, "smoothed", "smooths the labels")
    monkeypatch.setitem(PARTITIONS, "smoothed", line)
    with pytest.raises(ValueError, match=r"method='smoothd' must be one of .*, 'smoothed'\."):
        lapwing.BalancedGraphClassifier(method="smoothd").fit(X, y)
    fitted = smoothed.fit(X, y)
    W = fitted.affinity_.toarray()
    labeled = y >= 0
    clamp = np.where(labeled, CLAMP, 0)
    Y = labeled[:, None] * np.eye(3)[y]
    D = W.sum(axis=1)
    F = np.linalg.solve(np.diag(D * (2 + clamp)) - W, (D * (1 + clamp))[:, None] * Y)
    np.testing.assert_array_equal(fitted.transduction_, np.where(labeled, y, F.argmax(axis=1)))
    shares = F / F.sum(axis=1, keepdims=True)
    found = fitted.label_distributions_
    np.testing.assert_allclose(found[~labeled], shares[~labeled], rtol=1e-5)


# ---- estimators --------------------------------------------------------------------------------


@parameters
@document(lapwing.LapSVC)
class RoundedLapSVC(ManifoldClassifier):
    """Laplacian SVM with a rounded hinge.

    Parameters
    ----------
    width : float, default=0.5
        Width > 0 of the corner.
    {gamma}
    {gamma_A}
    {gamma_I}
    {graph}
    {unlabeled}

    Attributes
    ----------
    {classes_}
    """

    width: float = 0.5

    _rules: ClassVar[Mapping[str, Rule]] = {"width": (is_positive, "> 0")}

    def _loss(self) -> Loss:
        return RoundedHinge(self.width)


def test_estimator_is_its_parameters_documentation_and_loss() -> None:
    named = ["kernel", "width", "gamma", "gamma_A", "gamma_I", "graph", "unlabeled"]
    assert list(signature(RoundedLapSVC).parameters)[: len(named)] == named
    X, y, _ = labeled_clusters(2)
    options = {"gamma_A": 0.1, "gamma_I": 0.5, "gamma": GAMMA}
    own = RoundedLapSVC(width=0.3, **options)
    fitted = clone(own).fit(X, y)
    expected = lapwing.LapSVC(loss=RoundedHinge(0.3), **options).fit(X, y)
    np.testing.assert_array_equal(scores(fitted, X), scores(expected, X))
    assert "gamma_A : float, default=1e-4" in (RoundedLapSVC.__doc__ or "")
    with pytest.raises(ValueError, match="width"):
        RoundedLapSVC(width=-1.0).fit(X, y)
    search = GridSearchCV(own, {"width": [0.1, 1.0]}, scoring="accuracy", cv=LabeledKFold(2))
    assert search.fit(X, y).best_params_["width"] in (0.1, 1.0)


FIXED: dict[str, Any] = {
    **{"kernel": "linear", "graph": lapwing.KNNGraph(9), "refine": "cut"},
    **{"class_weight": "balanced", "class_prior": [0.3, 0.7]},
}


class KnownPriorLapRLS(lapwing.LapRLSClassifier):
    """A subclass that fixes parameters, which are then none of its own."""

    def __init__(self, gamma_I: float = 1.0) -> None:
        super().__init__(gamma_I=gamma_I, **FIXED)


def test_parameters_that_a_subclass_fixes_are_used() -> None:
    X, y, _ = labeled_clusters(2)
    own = clone(KnownPriorLapRLS(gamma_I=0.5)).fit(X, y)
    expected = lapwing.LapRLSClassifier(gamma_I=0.5, **FIXED).fit(X, y)
    assert own.solver_ == expected.solver_
    np.testing.assert_array_equal(scores(own, X), scores(expected, X))
    np.testing.assert_array_equal(own.transduction_, expected.transduction_)
