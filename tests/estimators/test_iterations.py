"""Iterations: callbacks, warm starts, and early stopping by the algorithms of the papers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from lapwing import S3VC, LapRLSClassifier, LapRLSRegressor, LapSVC
from lapwing.estimators import choice
from lapwing.estimators import manifold as base
from lapwing.estimators.prepared import Progress
from lapwing.exceptions import NothingUnlabeledWarning
from tests.helpers.answers import labeled_rows, scores
from tests.helpers.callbacks import Record
from tests.helpers.data import data_for, labeled_clusters, labeled_curve
from tests.helpers.manifold import given_graph


@pytest.mark.parametrize(
    "estimator",
    [
        LapSVC(solver="pcg", gamma_A=0.1),
        LapSVC(solver="pcg", gamma_A=0.1, updatable=True),
        LapSVC("linear", solver="pcg", gamma_A=0.1),
        LapSVC(solver="newton", gamma_A=0.1),
        LapSVC(solver="dual", gamma_A=0.1),
        LapSVC(loss="hinge", gamma_A=0.1),
        LapRLSClassifier(solver="pcg", gamma_A=0.1),
    ],
    ids=repr,
)
def test_callbacks_see_every_iteration_and_a_fitted_estimator(estimator: Any) -> None:
    X, y, _ = labeled_clusters(3)
    record = Record(X)
    fitted = clone(estimator).set_callbacks(record).fit(X, y)
    assert len(record.scores) == fitted.n_iter_
    np.testing.assert_allclose(record.scores[-1], fitted.decision_function(X), rtol=1e-6, atol=1e-6)


def test_a_callback_sees_the_kernel_of_this_fit_and_not_of_the_last() -> None:
    X, y, _ = labeled_clusters(2)
    record = Record(X)
    model = LapSVC("linear", gamma_A=0.1).fit(X, y).set_params(kernel="rbf", solver="pcg")
    model.set_callbacks(record).fit(X, y)
    np.testing.assert_allclose(record.scores[-1], scores(model, X), rtol=1e-6, atol=1e-6)
    fresh = Record(X)
    LapSVC("rbf", solver="pcg", gamma_A=0.1).set_callbacks(fresh).fit(X, y)
    np.testing.assert_array_equal(record.scores[0], fresh.scores[0])


def test_iterations_without_callbacks_add_no_contexts() -> None:
    """scikit-learn's contexts keep all their subcontexts."""
    progress = Progress(S3VC(), 1, None, None)
    with progress.stage("solve", None) as tick:
        assert not any(tick(lambda: {}) for _ in range(9))
    assert [context.task_name for context in progress._context] == ["fit", "solve"]


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("estimator", [LapSVC, LapRLSRegressor])
def test_warm_start_takes_fewer_iterations_to_the_same_place(estimator: Any, kernel: str) -> None:
    X, y, _ = data_for(estimator)
    options = {"kernel": kernel, "gamma": "scale", "fit_intercept": kernel == "linear"}
    model = estimator(solver="pcg", gamma_A=0.1, tol=1e-8, **options).fit(X, y)
    n_iter, least = model.n_iter_, model.objective_
    assert model.fit(X, y).n_iter_ == n_iter > 2  # nothing is reused unless asked for
    assert model.set_params(warm_start=True).fit(X, y).n_iter_ <= 2
    np.testing.assert_allclose(model.objective_, least, rtol=1e-8)
    assert model.set_params(updatable=True).fit(X, y).n_iter_ <= 2


@pytest.mark.parametrize("change", ["points", "kernel", "classes", "solver", "stopped"])
def test_warm_start_from_something_else_is_harmless(change: str) -> None:
    X, y, _ = labeled_clusters(3)
    model = LapSVC(solver="pcg", gamma_A=0.1, tol=1e-9, warm_start=True)
    if change == "stopped":
        model.set_callbacks(Record(X, stop_after=4)).fit(X, y).set_callbacks()
        assert (model.n_iter_, model.status_) == (4, "stopped by a callback")
    else:
        model.fit(X, y)
    if change == "points":
        X, y = X[:-1], y[:-1]
    elif change == "classes":
        y = np.where(y == 2, 1, y)
    others = {"kernel": {"kernel": "linear"}, "solver": {"solver": "newton"}}
    model.set_params(**others.get(change, {})).fit(X, y)
    cold = clone(model).set_params(warm_start=False).fit(X, y)
    np.testing.assert_allclose(model.objective_, cold.objective_, rtol=1e-8)
    np.testing.assert_allclose(model.decision_function(X), cold.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("stopping", ["stability", "validation", "mixed"])
@pytest.mark.parametrize("n_classes", [2, 3, None], ids=["2 classes", "3 classes", "regression"])
def test_early_stopping(n_classes: int | None, stopping: str) -> None:
    """By algorithms 2 and 3 of the LapSVM paper, from the list of all iterates."""
    make: Any = partial(LapSVC, gamma_A=1e-6)
    if n_classes is None:
        X, y, truth = labeled_curve(n=120, n_labels=30, seed=1)
        make = partial(LapRLSRegressor, gamma_A=1e-4)
    else:
        X, y, truth = labeled_clusters(n_classes, n=120, seed=3)
    X_val, y_val, X, y = X[:20], truth[:20], X[20:], y[20:]
    data = {} if stopping == "stability" else {"validation_data": (X_val, y_val)}
    record = Record(np.vstack([X[~labeled_rows(y)], X_val]), stop_after=200)
    full = make(solver="pcg", tol=1e-12).set_callbacks(record).fit(X, y)
    u, theta = len(record.X) - 20, round(np.sqrt(len(X)) / 2)  # errata L20
    checked = np.array(record.scores)[theta - 1 :: theta]
    if n_classes is None:
        answers = checked[..., 0]
        moved = np.linalg.norm(np.diff(answers[:, :u], axis=0), axis=1)
        change = moved / np.linalg.norm(answers[1:, :u], axis=1)
        errors = np.sum((answers[:, u:] - y_val) ** 2, axis=1)
    else:
        answers = checked[..., 0] >= 0 if n_classes == 2 else checked.argmax(axis=2)
        change = np.mean(answers[1:, :u] != answers[:-1, :u], axis=1)
        errors = np.sum(answers[:, u:] != y_val, axis=1)
    stable, no_better = change < 0.015, errors[1:] >= errors[:-1]
    stops = {"stability": stable, "validation": no_better, "mixed": stable & no_better}[stopping]
    assert stops.any()
    expected = (np.argmax(stops) + 2) * theta  # the first check only stores
    seen = Record()
    stopped = make(stopping=stopping, tol=1e-12).set_callbacks(seen).fit(X, y, **data)
    assert stopped.solver_ == "pcg"
    assert stopped.n_iter_ == expected == len(seen.scores)
    found = scores(stopped, record.X)
    np.testing.assert_allclose(found, record.scores[expected - 1], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(seen.scores[-1], scores(stopped, X), atol=1e-6)
    assert (stopped.objective_ >= full.objective_).all()


def test_targets_far_from_zero_do_not_stop_at_once() -> None:
    X, y, _ = labeled_curve(n=120, n_labels=30, seed=1)
    exact = LapRLSRegressor(gamma_A=1e-4, solver="newton").fit(X, y).predict(X)
    stopped = LapRLSRegressor(gamma_A=1e-4, solver="pcg", stopping="stability").fit(X, y + 1e3)
    assert np.std(stopped.predict(X) - 1e3 - exact) < 0.1 * np.std(exact)


@pytest.mark.parametrize("fraction", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("stopping", ["validation", "mixed"])
def test_held_out_labels_take_no_part_in_the_fit(
    monkeypatch: pytest.MonkeyPatch, stopping: str, fraction: float
) -> None:
    X, y, _ = labeled_clusters(3, n=100, n_labels=6)
    kept: list[np.ndarray] = []

    def spy(objective: Any, *args: Any, **kwargs: Any) -> Any:
        rest, validation = hold_out(objective, *args, **kwargs)
        kept.append(rest.index)
        return rest, validation

    hold_out = base.hold_out
    monkeypatch.setattr(base, "hold_out", spy)
    options = {"stopping": stopping, "gamma_A": 1e-6, "tol": 1e-12}
    fitted = LapSVC(validation_fraction=fraction, random_state=1, **options).fit(X, y)
    held = np.setdiff1d(np.flatnonzero(y != -1), kept[0])
    n_held = min(round(fraction * 6), 5)  # every class keeps a label
    assert np.bincount(y[held]).tolist() == [n_held] * 3
    rest = y.copy()
    rest[held] = -1
    given = LapSVC(**options).fit(X, rest, validation_data=(X[held], y[held]))
    assert given.n_iter_ == fitted.n_iter_
    np.testing.assert_allclose(given.decision_function(X), fitted.decision_function(X), atol=1e-9)


def test_the_seed_decides_what_is_held_out() -> None:
    X, y, _ = labeled_clusters(2, n=100, n_labels=10)

    def fitted(seed: Any) -> bytes:
        model = LapSVC(stopping="validation", random_state=seed, gamma_A=1e-6)
        return model.fit(X, y).decision_function(X).tobytes()

    assert fitted(0) == fitted(0) == fitted(np.random.RandomState(0))
    assert len({fitted(seed) for seed in range(5)}) > 1


def test_held_out_targets_of_a_regression() -> None:
    X, y, _ = labeled_curve(n=100, n_labels=20)
    model = LapRLSRegressor(stopping="validation", gamma_A=1e-4, random_state=0)
    assert model.fit(X, y).n_iter_ < LapRLSRegressor(solver="pcg", gamma_A=1e-4).fit(X, y).n_iter_
    # labeled_ is the mask of the given labels, including those held out for validation
    np.testing.assert_array_equal(model.labeled_, ~np.isnan(y))


def test_validation_data_may_be_sparse_or_precomputed() -> None:
    X, y, truth = labeled_clusters(2, n=100)
    X_val, y_val, X, y = X[:20], truth[:20], X[20:], y[20:]
    options = {"stopping": "validation", "gamma_A": 1e-6, "gamma": 0.2}
    f = LapSVC(**options).fit(X, y, validation_data=(X_val, y_val))
    sparse = LapSVC(**options).fit(sp.csr_array(X), y, validation_data=(sp.csr_array(X_val), y_val))
    assert sparse.n_iter_ == f.n_iter_
    options["graph"] = given_graph(f)
    K, K_val = rbf_kernel(X, gamma=0.2), rbf_kernel(X_val, X, gamma=0.2)
    # Rows of weight zero leave the kernel between validation and training points, too.
    w = np.where((y != -1) & (np.arange(len(y)) % 3 == 0), 0.0, 1.0)
    f = LapSVC(**options).fit(X, y, w, validation_data=(X_val, y_val))
    given = LapSVC("precomputed", **options).fit(K, y, w, validation_data=(K_val, y_val))
    assert given.n_iter_ == f.n_iter_
    np.testing.assert_allclose(
        given.decision_function(K_val), f.decision_function(X_val), atol=1e-6
    )


@pytest.mark.parametrize("name", ["classes", "regression"])
def test_many_points_stop_early_by_default(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "_MAX_POINTS", 60)
    if name == "classes":
        X, y, _ = labeled_clusters(3, n=120, seed=3)
        make: Any = partial(LapSVC, gamma_A=1e-2)
    else:
        X, y, _ = labeled_curve(n=120, n_labels=30, seed=1)
        make = partial(LapRLSRegressor, gamma_A=1e-2)
    fitted, asked = make().fit(X, y), make(solver="pcg", stopping="stability").fit(X, y)
    assert (fitted.solver_, asked.solver_) == ("pcg (stability)", "pcg")
    assert fitted.status_ == asked.status_ == "stopped early"
    np.testing.assert_array_equal(scores(fitted, X), scores(asked, X))
    # With an explicit tolerance or solver, the fit runs to the optimum.
    for exact in (make(tol=1e-8), make(solver="pcg")):
        assert exact.fit(X, y).solver_ == "pcg"
        assert exact.status_ == "converged"
        assert (exact.objective_ < fitted.objective_).all()


def test_no_early_stop_without_unlabelled_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "_MAX_POINTS", 60)
    X, _, truth = labeled_clusters(2, n=80, seed=0)
    with pytest.warns(NothingUnlabeledWarning):
        model = LapSVC(gamma_A=1e-2).fit(X, truth)
    assert (model.solver_, model.status_) == ("pcg", "converged")
