"""Prepare once, solve many times: as fits from scratch, without a second kernel or graph."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import FrozenInstanceError, fields
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.validation import check_is_fitted

import lapwing
from lapwing import (
    S3VC,
    AnchorGraph,
    AnchorGraphClassifier,
    BalancedGraphClassifier,
    EigenfunctionClassifier,
    KNNGraph,
    Landmarks,
    LapERLSClassifier,
    LapERLSClassifierCV,
    LapERLSRegressor,
    LapESVC,
    LapESVR,
    LapRLSClassifier,
    LapRLSClassifierCV,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVC,
    LapSVCCV,
    LapSVR,
)
from lapwing.estimators.template import prepare, solve
from lapwing.kernels import Kernel
from lapwing.spaces import mapped
from tests.helpers.answers import scores
from tests.helpers.data import labeled_clusters, labeled_curve
from tests.helpers.low_density import ONE_DESCENT

N_CLASSES = 3

# The classes overlap: answers at other volumes are about as likely.
pytestmark = pytest.mark.filterwarnings("ignore::lapwing.exceptions.NoClassStructureWarning")

_PATH: dict[str, Any] = {
    "gamma_As": [0.01, 0.1],
    "gamma_Is": [1.0],
    "gammas": ["scale"],
    "graphs": [KNNGraph(5), KNNGraph(5, power=1)],
}
# An estimator, and other values for parameters that nothing prepared depends on.
EXAMPLES: dict[str, tuple[Any, dict[str, Any]]] = {
    "LapSVC": (LapSVC(gamma_A=0.01), {"gamma_A": 0.1, "gamma_I": 5.0, "fit_intercept": True}),
    "LapSVC, hinge": (LapSVC(gamma_A=0.01), {"loss": "hinge", "gamma_I": 0.3}),
    "LapSVC, pcg": (LapSVC(solver="pcg", gamma_A=0.1), {"gamma_A": 0.3, "tol": 1e-6}),
    "LapSVC, validation": (
        LapSVC(solver="pcg", gamma_A=0.1, stopping="validation", random_state=0),
        {"gamma_I": 0.3},
    ),
    "LapSVC, linear": (LapSVC("linear", gamma_A=0.01), {"gamma_A": 0.1, "solver": "pcg"}),
    "LapSVC, no graph": (LapSVC(gamma_A=0.01, gamma_I=0), {"gamma_A": 0.1}),
    "LapRLSClassifier": (LapRLSClassifier(gamma_A=0.01), {"gamma_A": 0.1, "gamma_I": 5.0}),
    "LapRLSRegressor": (LapRLSRegressor(), {"gamma_A": 0.1, "gamma_I": 5.0}),
    "LapSVR": (LapSVR(), {"gamma_A": 0.1, "gamma_I": 5.0, "epsilon": 0.3}),
    "LapRLSClassifierCV": (
        LapRLSClassifierCV(**_PATH),
        {"gamma_As": [0.1, 1.0], "gamma_Is": [0.0, 5.0], "fit_intercept": True},
    ),
    "LapRLSRegressorCV": (LapRLSRegressorCV(**_PATH), {"gamma_As": [0.1], "gamma_Is": [5.0]}),
    "LapSVCCV": (LapSVCCV(**_PATH), {"gamma_As": [0.1], "fit_intercept": True}),
    "S3VC": (
        S3VC(C=5.0, random_state=0, **ONE_DESCENT),
        {"C": 2.0, "C_star": 1.0, "balance": None},
    ),
    # Each class against the rest: half of the time of pairs.
    "S3VC, graph": (
        S3VC(C=5.0, gamma_I=0.1, multi_class="ovr", **ONE_DESCENT),
        {"C": 2.0, "gamma_I": 1.0},
    ),
    "S3VC, landmarks": (
        S3VC(C=5.0, space=Landmarks(30), multi_class="ovr", method="quasi-newton"),
        {"C": 2.0, "method": "gradient"},
    ),
    "S3VC, linear": (
        S3VC("linear", C=5.0, multi_class="ovr", method="quasi-newton"),
        {"C": 2.0, "unlabeled_loss": "gaussian", "s": 1.0},
    ),
    "LapESVC": (LapESVC(), {"C": 2.0, "lam": 50.0, "mu": 3.0, "epsilon": 0.1}),
    "LapESVR": (LapESVR(), {"C": 2.0, "lam": 50.0, "mu": 0.3, "epsilon": 0.1}),
    "LapESVR, landmarks": (LapESVR(space=Landmarks(30)), {"C": 2.0, "lam": 50.0, "mu": 0.3}),
    "LapERLSClassifier": (LapERLSClassifier(), {"C": 2.0, "lam": 50.0, "mu": 3.0}),
    "LapERLSClassifierCV": (
        LapERLSClassifierCV(gammas=["scale"], graphs=[KNNGraph(5), KNNGraph(5, power=1)]),
        {"Cs": [2.0], "lams": [50.0], "mus": [0.0, 3.0]},
    ),
    "LapERLSClassifier, exact": (LapERLSClassifier(n_eigenvectors=None), {"C": 2.0, "mu": 3.0}),
    "LapERLSRegressor": (LapERLSRegressor(), {"C": 2.0, "lam": 50.0, "mu": 0.3}),
    "LapERLSRegressor, landmarks": (LapERLSRegressor(space=Landmarks(30)), {"C": 2.0, "mu": 0.3}),
    "AnchorGraphClassifier": (
        AnchorGraphClassifier(AnchorGraph(12)),
        {"gamma_I": 0.3, "class_mass_normalization": False},
    ),
    "BalancedGraphClassifier": (
        BalancedGraphClassifier(),
        {"method": "mbo", "C": 1.0},
    ),
    "EigenfunctionClassifier": (EigenfunctionClassifier(), {"lam": 5.0}),
}
every_example = pytest.mark.parametrize("name", EXAMPLES)


def data_for(estimator: Any) -> tuple[Any, Any, Any, Any]:
    """Points, two sets of labels for them, and weights that are not 0."""
    if is_classifier(estimator):
        X, y, truth = labeled_clusters(N_CLASSES, n=45, n_labels=3)
        other = np.full_like(y, -1)
    else:
        X, y, truth = labeled_curve()
        other = np.full_like(y, np.nan)
    X[11] = X[10]  # one vertex of two rows
    rows = np.random.default_rng(5).permutation(len(y))[:24]
    other[rows] = truth[rows]
    other[10:12] = truth[10]
    return X, y, other, np.random.default_rng(6).uniform(0.5, 2, len(y))


def check_same(solution: Any, estimator: Any, X: Any, model: Any) -> None:
    """A solution is what the model has found."""
    values = solution.function(X)
    expected = scores(model, X)
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(values, expected, atol=1e-9 * scale)
    found = SimpleNamespace()
    solution.assign(found)
    np.testing.assert_allclose(found.objective_, model.objective_, rtol=1e-9)
    if hasattr(model, "virtual_labels_"):
        assert solution.values.shape[1] == model.virtual_labels_.shape[1]
    for key, value in {**vars(found), **solution.function.attributes}.items():
        assert hasattr(model, key)
        if key in ("status_", "solver_", "n_iter_"):
            assert getattr(model, key) == value


def from_scratch(estimator: Any, X: Any, y: Any, weights: Any = None) -> Any:
    return clone(estimator).fit(X, y, sample_weight=weights)


# --- the same answers -----------------------------------------------------------------------------


def test_every_estimator_has_an_example() -> None:
    estimators = {getattr(lapwing, name) for name in lapwing.estimators.__all__}
    assert {type(estimator) for estimator, _ in EXAMPLES.values()} == estimators


@every_example
def test_preparing_and_solving_is_fitting(name: str) -> None:
    estimator, _ = EXAMPLES[name]
    X, y, _, weights = data_for(estimator)
    prepared = prepare(estimator, X, y, weights)
    solution = solve(estimator, prepared)
    model = from_scratch(estimator, X, y, weights)
    check_same(solution, estimator, X, model)
    on_rows = solution.values[prepared.problem.vertex]
    kept = getattr(model, "virtual_labels_", None)
    expected = scores(model, X) if kept is None else kept
    np.testing.assert_allclose(on_rows, expected, atol=1e-6 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name.endswith(("VC", "Classifier"))])
@pytest.mark.parametrize("numbers", [(3, 2), (2, 3)])
def test_other_numbers_of_classes(name: str, numbers: tuple[int, int]) -> None:
    """Of three classes one may lose its only labels, and two may become three."""
    estimator, _ = EXAMPLES[name]
    X, y, _, _ = data_for(estimator)
    before, after = (np.where(y < n_classes, y, -1) for n_classes in numbers)
    prepared = prepare(estimator, X, before).relabeled(estimator._read_targets(after))
    solution = solve(estimator, prepared)
    model = from_scratch(estimator, X, after)
    assert solution.function(X).shape == scores(model, X).shape
    tolerance = 1e-9 if not isinstance(estimator, S3VC) else 0.05  # of other coordinates
    np.testing.assert_allclose(solution.function(X), scores(model, X), atol=tolerance)


@pytest.mark.parametrize("name", ["LapSVC", "LapRLSRegressor", "LapERLSClassifier", "LapESVR"])
def test_a_label_of_weight_zero_is_none(name: str) -> None:
    """In a fit its row is left out; the points of a prepared problem stay."""
    estimator, _ = EXAMPLES[name]
    X, y, other, weights = data_for(estimator)
    weights[10:12] = 0
    prepared = prepare(estimator, X, y).relabeled(estimator._read_targets(other), weights)
    unmarked = other.copy()
    unmarked[10:12] = -1 if is_classifier(estimator) else np.nan
    check_same(
        solve(estimator, prepared), estimator, X, from_scratch(estimator, X, unmarked, weights)
    )


def test_class_weights_come_with_the_labels() -> None:
    estimator = LapSVC(gamma_A=0.01, class_weight="balanced")
    X, y, other, weights = data_for(estimator)
    prepared = prepare(estimator, X, y).relabeled(estimator._read_targets(other), weights)
    check_same(solve(estimator, prepared), estimator, X, from_scratch(estimator, X, other, weights))


def test_a_precomputed_kernel() -> None:
    X, y, other, weights = data_for(LapSVC())
    K, W = rbf_kernel(X), KNNGraph(5).affinity(X)
    for estimator in (
        LapSVC("precomputed", graph=W, gamma_A=0.01),
        LapERLSClassifier("precomputed", graph=W),
        S3VC("precomputed", C=5.0, **ONE_DESCENT),
    ):
        prepared = prepare(estimator, K, y).relabeled(estimator._read_targets(other), weights)
        model = from_scratch(estimator, K, other, weights)
        check_same(solve(estimator, prepared), estimator, K, model)


# --- nothing is made again ------------------------------------------------------------------------


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch, *owned: tuple[Any, str]) -> Iterator[list[str]]:
    """Names of what was called, in order."""
    calls: list[str] = []

    def counting(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            calls.append(name)
            return original(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for owner, name in owned:
            patch.setattr(owner, name, counting(name, getattr(owner, name)))
        yield calls


GRAPHS_AND_LANDMARKS = (
    (KNNGraph, "affinity"),
    (AnchorGraph, "weigh"),
    (Landmarks, "select"),
    *(
        (__import__(f"lapwing.estimators.{module}", fromlist=["x"]), name)
        for module, name in (
            ("template", "build_laplacian"),
            ("template", "default_graph"),
            ("template", "make_kernel"),
            ("embedded", "smallest_eigenpairs"),
            ("baselines", "fit_eigenfunctions"),
            ("s3vm", "full_map"),
        )
    ),
)
KERNEL_VALUES = ((Kernel, "gram"), (Kernel, "cross_blocks"))


@every_example
def test_other_labels_and_parameters(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As fits from scratch, without a second kernel or graph; and the same again to the last digit,
    as solutions disturb neither each other nor what was prepared."""
    estimator, changes = EXAMPLES[name]
    X, y, other, weights = data_for(estimator)
    made = (*GRAPHS_AND_LANDMARKS, *KERNEL_VALUES)
    with counted(monkeypatch, *made) as first:
        prepared = prepare(estimator, X, y)
        solution = solve(estimator, prepared)
    if "linear" not in name:
        assert first  # what is counted is what makes them
    values = solution.values.copy()
    changed = clone(estimator).set_params(**changes)
    with counted(monkeypatch, *made) as later:
        again = prepared.relabeled(estimator._read_targets(other), weights)
        of_others = solve(changed, again)
        of_parameters = solve(changed, prepared)
        repeated = solve(estimator, prepared)
    assert later == []
    np.testing.assert_array_equal(solution.values, values)
    np.testing.assert_array_equal(repeated.values, values)
    check_same(repeated, estimator, X, from_scratch(estimator, X, y))
    check_same(of_parameters, changed, X, from_scratch(changed, X, y))
    check_same(of_others, changed, X, from_scratch(changed, X, other, weights))


def test_machines_of_pairs_factor_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    estimator, _ = EXAMPLES["S3VC"]
    X, y, _, _ = data_for(estimator)
    factors = (mapped, "_factored")
    with counted(monkeypatch, factors) as first:
        prepared = prepare(estimator, X, y)
        solution = solve(estimator, prepared)
    assert first
    with counted(monkeypatch, factors) as later:
        again = solve(estimator, prepared)
    assert later == []
    np.testing.assert_array_equal(again.values, solution.values)


@pytest.mark.parametrize("name", ["LapESVR, landmarks", "LapERLSRegressor, landmarks"])
def test_many_landmarks_keep_their_basis(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Coordinates are computed when they are applied; their factorisation is not done again."""
    monkeypatch.setattr("lapwing.spaces.mapped._KEPT_BYTES", 0)
    estimator, changes = EXAMPLES[name]
    X, y, _, _ = data_for(estimator)
    prepared = prepare(estimator, X, y)
    with counted(monkeypatch, (Kernel, "gram")) as calls:
        solve(clone(estimator).set_params(**changes), prepared)
    assert calls == []


def test_pairs_of_many_points_only_form_the_matrices_of_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lapwing.estimators.s3vm._HELD_BYTES", 0)
    estimator, _ = EXAMPLES["S3VC"]
    X, y, _, _ = data_for(estimator)
    sizes = []
    original = Kernel.gram

    def watched(self: Kernel, X: Any) -> Any:
        sizes.append(X.shape[0])
        return original(self, X)

    monkeypatch.setattr(Kernel, "gram", watched)
    prepared = prepare(estimator, X, y)
    assert sizes == []
    solve(estimator, prepared)
    assert 0 < max(sizes) < prepared.problem.n_points


# --- values, not side effects ---------------------------------------------------------------------


def test_a_fitted_estimator_stays_fitted_to_its_own_points() -> None:
    X, y, other, _ = data_for(LapSVC())
    model = LapSVC(gamma_A=0.01).fit(X, y)
    before = pickle.dumps(model)
    solve(model, prepare(model, X[:, :2], other))
    assert pickle.dumps(model) == before
    assert model.n_features_in_ == 3


@every_example
def test_what_is_prepared_and_solved_is_frozen_and_the_estimator_left_alone(name: str) -> None:
    estimator = clone(EXAMPLES[name][0])
    before = dict(vars(estimator))
    X, y, other, _ = data_for(estimator)
    prepared = prepare(estimator, X, y)
    solution = solve(estimator, prepared)
    assert vars(estimator) == before
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)
    for value in (prepared, prepared.problem, solution):
        for field in fields(value):
            with pytest.raises(FrozenInstanceError):
                setattr(value, field.name, None)
    again = prepared.relabeled(estimator._read_targets(other))
    assert again is not prepared
    assert again.space is prepared.space
    assert again.laplacian is prepared.laplacian
    assert again.eigenpairs is prepared.eigenpairs
    assert again.problem.X is prepared.problem.X


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [LapSVC(), LapRLSRegressor(), S3VC()], ids=str)
def test_a_graph_that_was_not_prepared_is_asked_for(estimator: Any) -> None:
    X, y, _, _ = data_for(estimator)
    prepared = prepare(clone(estimator).set_params(gamma_I=0.0), X, y)
    with pytest.raises(ValueError, match=r"gamma_I > 0 needs a graph, .* Prepare it again\."):
        solve(clone(estimator).set_params(gamma_I=0.5), prepared)


def test_a_graph_may_be_switched_off() -> None:
    estimator = LapSVC(gamma_A=0.01)
    X, y, _, _ = data_for(estimator)
    prepared = prepare(estimator, X, y)
    off = clone(estimator).set_params(gamma_I=0.0)
    expected = scores(from_scratch(off, X, y), X)
    np.testing.assert_allclose(solve(off, prepared).function(X), expected, atol=1e-8)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"gamma_A": 0}, ValueError, "gamma_A=0 must be"),
        ({"solver": "newton", "loss": "hinge"}, ValueError, "needs a loss without kinks"),
        ({"solver": "dual", "stopping": "stability"}, ValueError, "stopping needs the iterates"),
    ],
)
def test_wrong_parameters_are_refused_by_both(parameters: Any, error: Any, message: str) -> None:
    X, y, _, _ = data_for(LapSVC())
    prepared = prepare(LapSVC(), X, y)
    wrong = LapSVC(**parameters)
    with pytest.raises(error, match=message):
        solve(wrong, prepared)
    with pytest.raises(error, match=message):
        prepare(wrong, X, y)


def test_wrong_spaces_are_refused_before_anything_is_made() -> None:
    X, y, _, _ = data_for(LapSVC())
    with pytest.raises(ValueError, match="space='full' is not known"):
        prepare(LapERLSClassifier(space="full"), X, y)


def test_wrong_weights_of_other_labels() -> None:
    estimator = LapSVC()
    X, y, other, weights = data_for(estimator)
    targets = estimator._read_targets(other)
    prepared = prepare(estimator, X, y)
    with pytest.raises(ValueError, match="must not be negative on labelled rows"):
        prepared.relabeled(targets, -weights)
    with pytest.raises(ValueError, match="zero on every labelled row"):
        prepared.relabeled(targets, np.where(targets.labeled, 0, weights))


@pytest.mark.parametrize("estimator", [LapSVC(), S3VC(C=5.0)], ids=repr)
def test_a_class_without_a_labelled_row_is_refused_as_by_a_fit(estimator: Any) -> None:
    X, y, other, weights = data_for(estimator)
    targets = estimator._read_targets(other)
    prepared = prepare(estimator, X, y)
    none_of_two = np.where(targets.labeled & (other == 2), 0.0, weights)
    refused = r"sample_weight is zero on every labelled row of the classes \[2\]"
    with pytest.raises(ValueError, match=refused):
        prepared.relabeled(targets, none_of_two)
    with pytest.raises(ValueError, match=refused):
        clone(estimator).fit(X, other, sample_weight=none_of_two)


def test_negative_weights_of_unlabelled_rows_are_refused_of_other_labels_too() -> None:
    estimator = S3VC(C=5.0)
    X, y, other, weights = data_for(estimator)
    targets = estimator._read_targets(other)
    weights[np.flatnonzero(~targets.labeled)[3]] = -1
    with pytest.raises(ValueError, match="S3VC weighs unlabelled rows as well"):
        prepare(estimator, X, y).relabeled(targets, weights)


def test_a_label_of_a_row_that_was_left_out_is_refused() -> None:
    estimator = LapRLSRegressor()
    X, y, other, weights = data_for(estimator)
    row = np.flatnonzero(~np.isnan(y))[0]
    weights[row] = 0
    prepared = prepare(estimator, X, y, weights)
    weights[row], other[row] = 1, 0.5
    with pytest.raises(ValueError, match=rf"Row {row} has a label, .* Prepare the problem again"):
        prepared.relabeled(estimator._read_targets(other), weights)
