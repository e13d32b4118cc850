"""Problems that are prepared once and solved several times, compared with new fits."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from lapwing import (
    S3VC,
    AffinityGraph,
    AnchorGraph,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    KNNGraph,
    Landmarks,
    LapERLSClassifier,
    LapERLSRegressor,
    LapESVR,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
)
from lapwing._host.threads import share
from lapwing.classes.decoding import predict_codes
from lapwing.estimators import baselines, embedded, s3vm, template
from lapwing.estimators.prepared import Refits, removable, without
from lapwing.estimators.template import prepare, solve
from lapwing.graphs import AnchorLaplacian
from lapwing.graphs.eigenfunctions import Eigenfunctions
from lapwing.kernels import Kernel
from lapwing.solvers.embedded.systems import DenseSystem, FeatureSystem
from lapwing.solvers.manifold import deformed
from lapwing.spaces import mapped
from tests.helpers.answers import scores
from tests.helpers.counts import Counts
from tests.helpers.data import labeled_clusters, labeled_curve
from tests.helpers.estimators import EXAMPLES as EVERY
from tests.helpers.estimators import Example

N_CLASSES = 3

# The classes overlap: answers at other volumes are about as likely.
pytestmark = pytest.mark.filterwarnings("ignore::lapwing.exceptions.NoClassStructureWarning")

EXAMPLES = EVERY | {
    # Which labels are held out depends on the order of the points.
    "LapSVC, validation": Example(
        LapSVC(solver="pcg", gamma_A=0.1, stopping="validation", random_state=0),
        changes={"gamma_I": 0.3},
    ),
    "LapSVC, first with a graph": Example(LapSVC(gamma_A=0.01), changes={"gamma_I": 0.0}),
}
every_example = pytest.mark.parametrize("name", EXAMPLES)


def data_for(estimator: Any, n_classes: int = N_CLASSES) -> tuple[Any, Any, Any, Any]:
    """Points, two sets of labels for them, and weights that are not 0."""
    if is_classifier(estimator):
        X, y, truth = labeled_clusters(n_classes, n=45, n_labels=3)
        other = np.full_like(y, -1)
    else:
        X, y, truth = labeled_curve(n=45, n_labels=12)
        other = np.full_like(y, np.nan)
    X[11] = X[10]  # one vertex of two rows
    rows = np.random.default_rng(5).permutation(len(y))[:24]
    other[rows] = truth[rows]
    other[10:12] = truth[10]
    return X, y, other, np.random.default_rng(6).uniform(0.5, 2, len(y))


def check_same(solution: Any, X: Any, model: Any) -> None:
    """Compare a solution with a fitted model."""
    expected = scores(model, X)
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(solution.function(X), expected, atol=1e-9 * scale)
    found = SimpleNamespace(**solution.function.attributes)
    solution.assign(found)
    np.testing.assert_allclose(found.objective_, model.objective_, rtol=1e-9)
    assert vars(found).keys() <= vars(model).keys()
    for key in vars(found).keys() & {"status_", "solver_", "n_iter_"}:
        assert getattr(model, key) == getattr(found, key)


# --- the same answers -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name.endswith(("VC", "Classifier"))])
@pytest.mark.parametrize("numbers", [(3, 2), (2, 3)])
def test_relabels_to_other_numbers_of_classes(name: str, numbers: tuple[int, int]) -> None:
    """From three classes to two, and from two to three."""
    estimator = EXAMPLES[name].estimator
    X, y, _, _ = data_for(estimator)
    before, after = (np.where(y < n_classes, y, -1) for n_classes in numbers)
    prepared = prepare(estimator, X, before).relabeled(estimator._read_targets(after))
    expected = scores(clone(estimator).fit(X, after), X)
    tolerance = 1e-9 if not isinstance(estimator, S3VC) else 0.05  # of other coordinates
    np.testing.assert_allclose(solve(estimator, prepared).function(X), expected, atol=tolerance)


@pytest.mark.parametrize("name", ["LapSVC", "LapRLSRegressor", "LapERLSClassifier", "LapESVR"])
def test_labels_of_weight_zero_are_removed(name: str) -> None:
    """A fit leaves their rows out; a prepared problem keeps its points."""
    estimator = EXAMPLES[name].estimator
    X, y, other, weights = data_for(estimator)
    weights[10:12] = 0
    unmarked = other.copy()
    unmarked[10:12] = -1 if is_classifier(estimator) else np.nan
    again = prepare(estimator, X, y).relabeled(estimator._read_targets(other), weights)
    model = clone(estimator).fit(X, unmarked, sample_weight=weights)
    check_same(solve(estimator, again), X, model)


# --- shared computations --------------------------------------------------------------------------


# Functions that a solve must not call.
PREPARED: list[tuple[Any, str]] = [
    *((KNNGraph, "affinity"), (AnchorGraph, "weigh"), (Landmarks, "select")),
    *((Kernel, "gram"), (Kernel, "cross_blocks"), (embedded, "smallest_eigenpairs")),
    *((template, name) for name in ("build_laplacian", "default_graph", "make_kernel", "full_map")),
    (baselines, "fit_eigenfunctions"),
]


@every_example
def test_labels_and_parameters_equal_a_new_fit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As fits from scratch, without a second kernel or graph; and the same again to the last digit,
    which solvers that wrote over what was prepared could not do.
    """
    example = EXAMPLES[name]
    estimator, changes = example.estimator, example.changes
    X, y, other, weights = data_for(estimator, example.n_classes)
    counts = Counts(monkeypatch)
    for owner, what in PREPARED:
        counts.watch(owner, what)
    prepared = prepare(estimator, X, y, weights)
    solution = solve(estimator, prepared)
    made = sum(counts.calls.values())
    assert made or "linear" in name  # the counted functions were called
    values = solution.values.copy()
    changed = clone(estimator).set_params(**changes)
    again = prepared.relabeled(estimator._read_targets(other), weights)
    for part in ("space", "laplacian", "eigenpairs"):
        assert getattr(again, part) is getattr(prepared, part)
    of_others = solve(changed, again)
    of_parameters = solve(changed, prepared)
    repeated = solve(estimator, prepared)
    assert sum(counts.calls.values()) == made
    np.testing.assert_array_equal(solution.values, values)
    np.testing.assert_array_equal(repeated.values, values)
    model = clone(estimator).fit(X, y, sample_weight=weights)
    check_same(repeated, X, model)
    expected = getattr(model, "virtual_labels_", scores(model, X))
    limit = 1e-6 * max(1, np.abs(expected).max())
    np.testing.assert_allclose(values[prepared.problem.vertex], expected, atol=limit)
    check_same(of_parameters, X, clone(changed).fit(X, y, sample_weight=weights))
    check_same(of_others, X, clone(changed).fit(X, other, sample_weight=weights))
    for value in (prepared, prepared.problem, solution):
        assert type(value).__dataclass_params__.frozen


@pytest.mark.parametrize(
    ("estimator", "owner", "name"),
    [
        # Coordinates of landmarks are computed again, but not their factorisation.
        (LapESVR(space=Landmarks(30)), Kernel, "gram"),
        (LapERLSRegressor(space=Landmarks(30)), Kernel, "gram"),
        (EXAMPLES["S3VC"].estimator, mapped, "_factored"),  # of pairs
    ],
    ids=str,
)
def test_solutions_share_factorisations(
    estimator: Any, owner: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lapwing.spaces.mapped._CACHED_BYTES", 0)
    X, y, _, _ = data_for(estimator)
    prepared = prepare(estimator, X, y)
    solve(estimator, prepared)
    counts = Counts(monkeypatch)
    counts.watch(owner, name)
    solve(estimator, prepared)
    assert counts.calls == {name: 0}


@pytest.mark.parametrize(
    ("estimator", "owner", "name", "calls"),
    [
        (LapSVC(), deformed.DeformedKernel, "of", 1),
        (LapSVC(), deformed, "_joined", 1),  # the columns of all other labels at once
        (LapERLSClassifier(), DenseSystem, "eliminate", 1),
        (LapERLSClassifier(space=Landmarks(20)), FeatureSystem, "eliminate", 1),
        (AnchorGraphClassifier(AnchorGraph(15)), AnchorLaplacian, "reduced", 1),
        (EigenfunctionClassifier(), Eigenfunctions, "evaluate", 1),
    ],
    ids=str,
)
def test_refits_share_one_factorisation(
    estimator: Any, owner: Any, name: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = Counts(monkeypatch)
    counts.watch(owner, name)
    refits, prepared, (_, y, other, weights) = refits_of(estimator)
    refits.left_out()
    for labels in (other, y):
        changed = prepared.relabeled(estimator._read_targets(labels), weights)
        refits = refits.covering(changed.problem.index)
        refits.values(changed)
        refits.solve(changed)
    assert counts.calls == {name: calls}


def test_large_problems_form_only_matrices_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lapwing.estimators.s3vm._HELD_BYTES", 0)
    estimator = EXAMPLES["S3VC"].estimator
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


def test_prepare_and_solve_do_not_change_a_fitted_estimator() -> None:
    X, y, other, _ = data_for(LapSVC())
    model = LapSVC(gamma_A=0.01).fit(X, y)
    before = pickle.dumps(model)
    solve(model, prepare(model, X[:, :2], other))
    assert pickle.dumps(model) == before


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [LapSVC(), LapRLSRegressor(), S3VC()], ids=str)
def test_rejects_a_graph_term_without_a_prepared_graph(estimator: Any) -> None:
    X, y, _, _ = data_for(estimator)
    prepared = prepare(clone(estimator).set_params(gamma_I=0.0), X, y)
    with pytest.raises(ValueError, match=r"gamma_I > 0 needs a graph, .* Prepare it again\."):
        solve(clone(estimator).set_params(gamma_I=0.5), prepared)


def test_prepare_and_solve_reject_invalid_parameters() -> None:
    X, y, _, _ = data_for(LapSVC())
    prepared = prepare(LapSVC(), X, y)
    for wrong, message in (
        (LapSVC(gamma_A=0), "gamma_A=0 must be"),
        (LapSVC(solver="newton", loss="hinge"), "needs a differentiable loss"),
    ):
        with pytest.raises(ValueError, match=message):
            solve(wrong, prepared)
        with pytest.raises(ValueError, match=message):
            prepare(wrong, X, y)


@pytest.mark.parametrize("estimator", [LapSVC(), S3VC(C=5.0)], ids=repr)
def test_relabeling_rejects_weights_that_a_fit_rejects(estimator: Any) -> None:
    X, y, other, weights = data_for(estimator)
    targets = estimator._read_targets(other)
    prepared = prepare(estimator, X, y)
    none_of_two = np.where(targets.labeled & (other == 2), 0.0, weights)
    with pytest.raises(ValueError, match=r"zero on every labelled row of the classes \[2\]"):
        prepared.relabeled(targets, none_of_two)
    if isinstance(estimator, S3VC):
        row = np.flatnonzero(~targets.labeled)[3]
        weights[row] = -1
        message = rf"unlabelled row {row} has -1\.0\. S3VC weighs unlabelled rows as well"
        with pytest.raises(ValueError, match=message):
            prepared.relabeled(targets, weights)


def test_relabeling_rejects_labels_of_rows_left_out() -> None:
    estimator = LapRLSRegressor()
    X, y, other, weights = data_for(estimator)
    row = np.flatnonzero(~np.isnan(y))[0]
    weights[row] = 0
    prepared = prepare(estimator, X, y, weights)
    weights[row], other[row] = 1, 0.5
    with pytest.raises(ValueError, match=rf"Row {row} has a label, .* Prepare the problem again"):
        prepared.relabeled(estimator._read_targets(other), weights)


UNNORMALIZED = KNNGraph(5, normalized=False, power=1)
REFITS: dict[str, Any] = {name: example.estimator for name, example in EXAMPLES.items()}
# More variants of embedded regression.
REFITS |= {
    "embedded, linear": LapERLSClassifier("linear", lam=10.0, mu=1.0),
    "embedded, bias": LapERLSClassifier(fit_intercept=True),
    "embedded, bias and constants": LapERLSClassifier(fit_intercept=True, graph=UNNORMALIZED),
    "embedded, landmarks and a bias": LapERLSClassifier(
        space=Landmarks(20), fit_intercept=True, graph=UNNORMALIZED
    ),
    "embedded, no bias": LapERLSRegressor(fit_intercept=False),
    "embedded, more features than points": LapERLSRegressor(space=Landmarks(90), n_eigenvectors=12),
    "embedded, soft": LapERLSClassifier(lam=0.1, mu=0.01, C=0.1),
    "embedded, hard": LapERLSClassifier(lam=1e8, mu=1e-3, C=1e6),
    "embedded, no smoothness": LapERLSRegressor(mu=0.0, n_eigenvectors=9),
    "embedded, any labels": LapERLSClassifier(n_eigenvectors=None, fit_intercept=True, lam=10.0),
    "embedded, any labels, landmarks": LapERLSRegressor(n_eigenvectors=None, space=Landmarks(20)),
    "LapERLSClassifier, float32": LapERLSClassifier(),
    "LapERLSRegressor, landmarks, float32": LapERLSRegressor(space=Landmarks(20)),
}
every_refit = pytest.mark.parametrize("name", REFITS)
APART = 1e-7
# A duality gap of tol determines some digits of the values only.
LOOSE = {"LapSVC, hinge": 1e-4, "LapSVR": 1e-4, "LapESVR": 1e-4, "LapESVC": 1e-4}


def refits_of(estimator: Any, dtype: Any = np.float64) -> tuple[Any, Any, Any]:
    X, y, other, weights = data_for(estimator)
    estimator, X = clone(estimator), X.astype(dtype)
    prepared = prepare(estimator, X, y, weights)
    return estimator._refits(prepared), prepared, (X, y, other, weights)


@every_refit
def test_refits_equal_solutions_from_scratch(name: str) -> None:
    dtype = np.float32 if name.endswith("float32") else np.float64
    refits, prepared, (X, _, other, weights) = refits_of(REFITS[name], dtype)
    changed = prepared.relabeled(refits.estimator._read_targets(other), weights)
    refits = refits.covering(changed.problem.index)
    expected = solve(refits.estimator, changed)
    scale = max(1.0, np.abs(expected.values).max())
    atol = scale * LOOSE.get(name, APART if dtype is np.float64 else 1e-6)
    np.testing.assert_allclose(refits.values(changed), expected.values, atol=atol)
    found = refits.solve(changed)
    np.testing.assert_allclose(found.values, expected.values, atol=atol)
    np.testing.assert_allclose(found.function(X), expected.function(X), atol=10 * atol)
    assert found.values.dtype == refits.values(changed).dtype == dtype
    assigned, wanted = SimpleNamespace(), SimpleNamespace()
    found.assign(assigned)
    expected.assign(wanted)
    np.testing.assert_allclose(assigned.objective_, wanted.objective_, rtol=1e-6)
    assert set(vars(assigned)) == set(vars(wanted))


@every_refit
def test_left_out_values_equal_fits_without_the_label(name: str) -> None:
    dtype = np.float32 if name.endswith("float32") else np.float64
    refits, _, _ = refits_of(REFITS[name], dtype)
    check_left_out(refits, LOOSE.get(name, APART if dtype is np.float64 else 1e-6), step=9)


def check_left_out(refits: Any, rtol: float, step: int = 1) -> None:
    """Compare left-out values with solutions without the label, for every step-th label."""
    prepared, estimator = refits.prepared, refits.estimator
    rows = np.flatnonzero(removable(prepared, estimator._regression))
    some = rows[step // 2 :: step]
    assert len(some)
    # Estimators that fit again for each label leave only these out.
    again = estimator._fits_again and step > 1
    found = refits.left_out_of(some) if again else refits.left_out()
    assert found.shape == prepared.problem.targets.shape
    known = np.flatnonzero(~np.isnan(found).any(axis=1))
    np.testing.assert_array_equal(known, some if again else rows)
    for i in some:
        rest = without(prepared, i)
        assert len(rest.problem.index) == len(prepared.problem.index) - 1
        expected = solve(estimator, rest).values
        atol = rtol * max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(found[i], expected[prepared.problem.index[i]], atol=atol)


def test_leaves_out_one_of_two_labels_of_a_repeated_row() -> None:
    X, y, _ = labeled_clusters(3)
    row = np.flatnonzero(y == 0)[0]
    X, y = np.vstack([X, X[[row, row]]]), np.append(y, [0, 1])
    prepared = prepare(LapSVC(), X, y)
    problem = prepared.problem
    for i in np.flatnonzero(problem.index == problem.vertex[row]):
        label = np.argmax(problem.targets[i])
        rows = np.flatnonzero(prepared.problem.labeled_rows)
        left_out = np.isin(rows, [row, len(y) - 2, len(y) - 1]) & (y[rows] == label)
        found = np.flatnonzero(without(prepared, i).problem.labeled_rows)
        np.testing.assert_array_equal(found, rows[~left_out])


def test_does_not_leave_out_the_only_label_of_a_class() -> None:
    X, y, _, _ = data_for(LapSVC())
    first = np.flatnonzero(y == 2)
    y[first[1:]] = -1
    for estimator in (LapSVC(), Generic()):
        prepared = prepare(estimator, X, y)
        missing = np.isnan(estimator._refits(prepared).left_out()).any(axis=1)
        np.testing.assert_array_equal(missing, predict_codes(prepared.problem.targets) == 2)


class Generic(LapRLSClassifier):
    """Estimator with the default refits."""

    def _refits(self, prepared: Any) -> Refits:
        return Refits(self, prepared)


@pytest.mark.parametrize("random_state", [0, np.random.RandomState(0)])
def test_refits_of_s3vc_share_threads(random_state: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a shared generator, fits stay in one thread, in the order of the labels."""
    X, y = np.random.default_rng(0).standard_normal((40, 2)), np.full(40, -1)
    y[:6] = np.arange(6) % 2
    estimator = S3VC("linear", random_state=random_state)
    refits = estimator._refits(prepare(estimator, X, y))
    asked = []

    def shared(n_threads: int, *work: Any) -> Any:
        asked.append(n_threads)
        return share(n_threads, *work)

    monkeypatch.setattr(s3vm, "share", shared)
    monkeypatch.setattr(s3vm, "available_threads", lambda: 3)
    found = refits.left_out_of(np.arange(4))
    assert asked == [3 if random_state == 0 else 1]
    for i in range(4):
        alone = solve(estimator, without(refits.prepared, i))
        np.testing.assert_array_equal(found[i], alone.values[refits.prepared.problem.index[i]])
    assert np.isnan(found[4:]).all()


# ---- embedded regression -------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [LapERLSClassifier, LapERLSRegressor])
def test_refits_limit_weights_like_the_fit(cls: Any) -> None:
    """Weights are limited to 1e8 times the larger of C and mu."""
    estimator = cls(C=1e-6, mu=1e-6, lam=1.0)
    X, y, _, _ = data_for(estimator)
    weights = 10.0 ** np.random.default_rng(5).uniform(-6, 6, len(y))
    prepared = prepare(estimator, X, y, weights)
    assert prepared.problem.weights.max() > 1e8 * 1e-6
    check_left_out(estimator._refits(prepared), 1e-7)


def test_left_out_values_of_the_only_label_of_a_component() -> None:
    """The kernel alone determines the values there (errata E7, E8), as in a fit."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((20, 2)), rng.standard_normal((10, 2)) + 8])
    y = np.full(30, np.nan)
    y[[0, 3, 7, 11, 25]] = [1.0, -1.0, 0.5, 0.0, 2.0]
    for normalized in (False, True):
        graph = AffinityGraph(KNNGraph(4).affinity(X), normalized=normalized, power=1)
        for options in ({"fit_intercept": False}, {"lam": 1e8}, {"C": 1e-4}, {"mu": 1e5}):
            for k in (2, 8):
                estimator = LapERLSRegressor(graph=graph, n_eigenvectors=k, **options)
                prepared = prepare(estimator, X, y)
                assert prepared.eigenpairs is not None
                assert prepared.eigenpairs.n_components == 2
                check_left_out(estimator._refits(prepared), 1e-7)
