"""Updates: added labels, suggested rows, suspicious labels."""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from lapwing import (
    BalancedGraphClassifier,
    KNNGraph,
    Landmarks,
    LapERLSClassifier,
    LapERLSClassifierCV,
    LapERLSRegressor,
    LapRLSClassifier,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVC,
    LapSVR,
)
from lapwing._host import threads
from lapwing.estimators import template, updates
from lapwing.estimators.template import is_fitted_name
from lapwing.exceptions import ConstantFitWarning, SimilarLabelsWarning, SuggestedLabelsWarning
from lapwing.graphs import build_laplacian, default_graph, smallest_eigenpairs
from lapwing.graphs.design import cover, design_of, most_informative, spectral_prior
from lapwing.model_selection import leave_one_out, sure_rows
from lapwing.problem import value_order
from lapwing.solvers.posterior import reduce_variance
from tests.helpers.answers import labeled_rows
from tests.helpers.data import first_labels, labeled_clusters, labeled_curve
from tests.helpers.estimators import EXAMPLES as EVERY

EXAMPLES: dict[str, Any] = {
    name: example.estimator
    for name, example in EVERY.items()
    if "updatable" in example.estimator.get_params()
} | {
    "LapSVC, prior": LapSVC(gamma_A=0.01, class_prior="uniform"),
    "LapRLSClassifier, weights": LapRLSClassifier(gamma_A=0.01, class_weight="balanced"),
    "LapRLSClassifier, refined": LapRLSClassifier(gamma_A=0.01, refine="cut"),
    "LapERLSClassifier, few landmarks": LapERLSClassifier(space=Landmarks(20)),
    "BalancedGraphClassifier": BalancedGraphClassifier(),
    "BalancedGraphClassifier, prior": BalancedGraphClassifier(class_prior="labels"),
    "LapERLSClassifierCV": LapERLSClassifierCV(n_eigenvectors=[6, 12], graphs=[KNNGraph(5)]),
}
CHOSEN = ("best_params_", "best_score_", "cv_results_")  # by a path, at its fit
every_example = pytest.mark.parametrize("name", EXAMPLES)
LOOSE = {"LapSVC, pcg": 1e-4, "LapSVR": 1e-4}


def updatable(estimator: Any) -> Any:
    return clone(estimator).set_params(updatable=True)


def clusters() -> tuple[Any, Any, Any]:
    """Return 60 points in three clusters, nine of them labelled."""
    X, _, truth = labeled_clusters(3, n_labels=3)
    return X[:60], first_labels(truth[:60], 3), truth[:60]


def plain(model: Any) -> Any:
    """Make an estimator like that of a fit, with the chosen setting of a path."""
    return (
        model._estimator(**model.best_params_) if hasattr(model, "best_params_") else clone(model)
    )


def check_same(found: Any, expected: Any, atol: float) -> None:
    """Compare all fitted attributes."""
    names = {name for name in vars(expected) if is_fitted_name(name)}
    assert {name for name in vars(found) if is_fitted_name(name)} - {*CHOSEN} == names
    made_of_points = {"kernel_", "affinity_", "neighbors_"}
    for name in names - made_of_points - {"status_", "solver_", "n_iter_", "history_"}:
        value, other = getattr(found, name), getattr(expected, name)
        if name == "unlabeled_":
            assert value
        elif np.asarray(other).dtype.kind == "f":
            scale = max(1.0, np.abs(other).max(initial=0))
            limit = 1e-6 if name == "optimality_" else atol * scale
            np.testing.assert_allclose(value, other, atol=limit, err_msg=name)
        else:
            np.testing.assert_array_equal(value, other, err_msg=name)
            assert np.asarray(value).dtype == np.asarray(other).dtype


# Expected with these weights and labels.
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NoClassStructureWarning")
@every_example
def test_added_labels_equal_a_fit_to_all_labels(name: str) -> None:
    X, y, truth = clusters() if is_classifier(EXAMPLES[name]) else labeled_curve()
    X[11] = X[10]
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    given = X.copy()
    model = updatable(EXAMPLES[name]).fit(given, y, sample_weight=weights)
    given[:] = 0  # the user may write over the points
    chosen = [getattr(model, attribute, None) for attribute in CHOSEN]
    expected = plain(model)
    for rows in ([5], [12, 3, 20], [10]):
        y[rows] = truth[rows]
        assert model.add_labels(rows, truth[rows]) is model
        check_same(model, expected.fit(X, y, sample_weight=weights), LOOSE.get(name, 1e-8))
        np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-5)
    assert [getattr(model, attribute, None) for attribute in CHOSEN] == chosen
    if hasattr(model, "best_params_"):
        np.testing.assert_array_equal(model.suggest(3), expected.suggest(3))
        np.testing.assert_array_equal(model.suspicious_labels(), expected.suspicious_labels())


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name in EVERY])
def test_updates_use_the_parameters_of_the_fit(name: str) -> None:
    example = EVERY[name]
    X, y, truth = example.data()
    row = int(np.flatnonzero(~labeled_rows(y))[0])
    model = updatable(example.estimator).fit(X, y)
    left_out, before = model._kept.refits.left_out(), model.get_params(deep=False)
    model.set_params(**example.changes, updatable=False)
    np.testing.assert_array_equal(model._kept.refits.left_out(), left_out)
    names = ", ".join(sorted(example.changes))
    with pytest.raises(ValueError, match=f"{names} changed after the fit.* Call fit with all lab"):
        model.add_labels(row, truth[row])
    assert model.set_params(**before).add_labels(row, truth[row]).labeled_[row]


def test_labels_are_not_added_after_a_change_of_the_graph() -> None:
    X, y, _ = clusters()
    model = LapSVC(graph=KNNGraph(5), class_weight={0: 1.0, 1: 2.0}, updatable=True).fit(X, y)
    assert model.set_params(class_weight={0: 1.0, 1: 2.0}).add_labels(20, 0).labeled_[20]
    model.set_params(graph__n_neighbors=3)
    with pytest.raises(ValueError, match="graph__n_neighbors changed after the fit"):
        model.add_labels(20, 0)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["LapSVC", "LapRLSClassifier", "LapERLSClassifier"])
@given(
    updates=st.lists(
        st.tuples(st.sets(st.integers(0, 59), min_size=1, max_size=4), st.integers(-1, 2)),
        max_size=8,
    )
)
def test_any_sequence_of_updates_equals_a_new_fit(name: str, updates: Any) -> None:
    """Labels are given, changed and taken back."""
    X, y, _ = clusters()
    model = updatable(EXAMPLES[name]).fit(X, y)
    for rows, label in updates:
        changed = y.copy()
        changed[sorted(rows)] = label
        if set(changed) == {-1, 0, 1, 2}:
            y = changed
            model.add_labels(sorted(rows), [label] * len(rows))
    expected = clone(EXAMPLES[name]).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-8)
    np.testing.assert_array_equal(model.transduction_, expected.transduction_)


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NoClassStructureWarning")
@pytest.mark.parametrize("name", ["LapSVC", "LapERLSClassifier", "BalancedGraphClassifier"])
def test_added_labels_may_have_a_new_class(name: str) -> None:
    X, y, truth = labeled_clusters(3, n_labels=4)
    y[y == 2] = -1
    model = updatable(EXAMPLES[name]).fit(X, y)
    assert model.classes_.tolist() == [0, 1]
    rows = np.flatnonzero(truth == 2)[:3]
    y[rows] = 2
    check_same(model.add_labels(rows, [2, 2, 2]), clone(EXAMPLES[name]).fit(X, y), 1e-8)


def test_more_classes_may_need_more_eigenvectors() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 3)), np.full(120, -1)
    y[:25] = np.arange(25)
    model = LapERLSClassifier(updatable=True).fit(X, y)
    y[30:33] = [25, 26, 27]
    model.add_labels([30, 31, 32], y[30:33])
    assert len(model.eigenvalues_) == 56
    check_same(model, LapERLSClassifier().fit(X, y), 1e-8)


@pytest.mark.parametrize(
    ("marker", "names", "unlabeled"),
    [
        (None, ["a", "bb", "ccc"], "auto"),
        ("?", ["a", "bb", "ccc"], "?"),
        (-1, [3, 5, 8], "auto"),
        (None, [True, False, None], "auto"),
        (0, [3, 5, 8], 0),
    ],
)
def test_added_labels_of_any_type(marker: Any, names: Any, unlabeled: Any) -> None:
    X, y, truth = labeled_clusters(2, n_labels=3)
    labels = [marker if code < 0 else names[code] for code in y]
    model = LapRLSClassifier(unlabeled=unlabeled, updatable=True).fit(X, labels)
    rows = np.flatnonzero(y < 0)[:2].tolist()
    given = [names[truth[row]] for row in rows]
    for row, label in zip(rows, given, strict=True):
        labels[row] = label
    expected = LapRLSClassifier(unlabeled=unlabeled).fit(X, labels)
    check_same(model.add_labels(rows, given), expected, 1e-9)
    assert model.unlabeled_ == expected.unlabeled_
    model.add_labels(rows[0], marker)  # taken back
    labels[rows[0]] = marker
    check_same(model, LapRLSClassifier(unlabeled=unlabeled).fit(X, labels), 1e-9)


@pytest.mark.parametrize("marker", [None, pd.NA, ""])
def test_any_missing_value_takes_a_target_back(marker: Any) -> None:
    X, y, _ = labeled_curve()
    model, row = LapRLSRegressor(updatable=True).fit(X, y), int(np.flatnonzero(~np.isnan(y))[0])
    y[row] = np.nan
    check_same(model.add_labels(row, marker), LapRLSRegressor().fit(X, y), 1e-9)


@pytest.mark.parametrize("label", ["1.5", np.datetime64("2020")])
def test_targets_that_a_fit_refuses_are_refused(label: Any) -> None:
    X, y, _ = labeled_curve()
    model = LapRLSRegressor(updatable=True).fit(X, y)
    with pytest.raises(ValueError, match=f"y must be numbers for a regression.*{label}"):
        model.add_labels(3, label)


@pytest.mark.parametrize("label", ["Barolo ", "barolo", " BAROLO"])
def test_warns_if_a_new_class_differs_in_case_or_blanks(label: str) -> None:
    X, y, _ = labeled_clusters(2, n_labels=3)
    names = np.array([None, "Barolo", "Barbera"], dtype=object)[y + 1]
    model = LapRLSClassifier(updatable=True).fit(X, names)
    row = int(np.flatnonzero(y < 0)[0])
    with pytest.warns(SimilarLabelsWarning, match=f"{label!r} is new and similar to 'Barolo'"):
        model.add_labels(row, label)
    assert label in model.classes_
    model.add_labels(row, "Nebbiolo")  # warnings are errors
    model.add_labels(row, "Barolo")


@pytest.mark.parametrize("name", ["LapSVC", "LapERLSClassifier", "LapERLSClassifierCV"])
def test_labels_of_weight_0_leave_and_enter_the_problem(name: str) -> None:
    X, y, truth = clusters()
    weights = np.ones(len(y))
    row = int(np.flatnonzero(y < 0)[0])
    weights[row] = 0
    model = updatable(EXAMPLES[name]).fit(X, y, sample_weight=weights)
    known = y.copy()
    known[row] = truth[row]
    for label, labels in ((truth[row], known), (-1, y)):
        model.add_labels(row, label)
        check_same(model, plain(model).fit(X, labels, sample_weight=weights), 1e-8)
        assert model.suggest(2).shape == (2,)


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        ([60], [0], "Row 60 is out of range for 60 rows, counted from 0."),
        ([-1], [0], "Row -1 is out of range for 60 rows"),
        ([3, 3], [0, 1], "Row 3 is given twice. Give each row one label."),
        ([3, 4], [0], "2 rows and 1 labels were given: one label a row."),
        ([1.5], [0], "rows holds 1.5, and must be whole numbers that count the rows"),
        ([[1, 2]], [0], "rows holds 2 axes, and must be whole numbers"),
        (np.flatnonzero(clusters()[1] > 0), [-1] * 6, "y contains one class only"),
        (np.flatnonzero(np.isin(clusters()[1], [0, 2])), [-1] * 6, "y contains one class only"),
    ],
)
def test_rejects_invalid_updates_and_changes_nothing(rows: Any, labels: Any, message: str) -> None:
    X, y, _ = clusters()
    model = LapSVC(updatable=True).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=re.escape(message)):
        model.add_labels(rows, labels)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_an_interrupted_update_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, truth = clusters()
    model = LapSVC(updatable=True).fit(X, y)
    before = vars(model).copy()

    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LapSVC, "_diagnose", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.add_labels(20, truth[20])
    assert vars(model) == before  # the same objects
    y[20] = truth[20]
    check_same(model.add_labels(20, truth[20]), LapSVC().fit(X, y), 1e-8)


def test_a_snapshot_does_not_change() -> None:
    X, y, _ = clusters()
    model = LapERLSClassifier(updatable=True).fit(X, y)
    before = model._snapshot()
    suggested, answers = before.suggest(3), before.transduction_.copy()
    model.add_labels(suggested, [y.max()] * 3)
    assert before.suggest(3).tolist() == suggested.tolist()
    assert before.transduction_.tolist() == answers.tolist()
    assert model.suggest(3).tolist() != suggested.tolist()


@pytest.mark.parametrize("method", ["suggest", "suspicious_labels"])
def test_updates_need_an_updatable_fit_in_memory(method: str) -> None:
    X, y, _ = labeled_clusters(2, n_labels=3)
    model = LapSVC(updatable=True)
    with pytest.raises(NotFittedError):
        getattr(model, method)()
    model.fit(X, y)
    copy.copy(model)
    loaded = pickle.loads(pickle.dumps(model))
    getattr(model, method)()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    message = rf"{method} needs .* Fit with LapSVC\(updatable=True\)\. A model that was loaded or"
    for other in (loaded, model.set_params(updatable=False).fit(X, y)):
        with pytest.raises(ValueError, match=message):
            getattr(other, method)()


# --- suggested rows -------------------------------------------------------------------------------


def prior_of(X: Any, k: int = 40) -> Any:
    pairs = smallest_eigenpairs(build_laplacian(KNNGraph(5), X), k)
    return spectral_prior(pairs.values, pairs.vectors)


def by_inversion(Z: Any, observed: list[int], k: int, unsure: Any, counts: Any) -> list[int]:
    """Choose the rows greedily with explicit covariance matrices (n, n)."""
    chosen: list[int] = []
    for _ in range(k):
        seen = [*observed, *chosen]
        C = Z @ Z.T
        if seen:
            block = C[np.ix_(seen, seen)] + 0.01 * np.eye(len(seen))
            C = C - C[:, seen] @ np.linalg.solve(block, C[seen])
        gain = unsure * ((C * C) @ counts) / (np.diag(C) + 0.01)
        gain[seen] = -1
        chosen.append(int(gain.argmax()))
    return chosen


@pytest.mark.parametrize("observed", [[], [3, 30]])
def test_suggestions_reduce_the_variance_of_the_graph_prior(observed: list[int]) -> None:
    X, _, _ = clusters()
    Z = prior_of(X)
    assert (Z * Z).sum(axis=1).mean() == pytest.approx(1)
    rng = np.random.default_rng(0)
    unsure, counts = rng.uniform(0.1, 1, 60), rng.integers(1, 4, 60).astype(float)
    allowed = np.ones(60, dtype=bool)
    allowed[observed] = False
    found = most_informative(Z, np.array(observed, dtype=int), 6, unsure, allowed, counts)
    assert found.tolist() == by_inversion(Z, observed, 6, unsure, counts)


def test_cover_suggests_rows_of_equal_uncertainty() -> None:
    X, y, _ = labeled_curve()
    model = LapSVR(updatable=True).fit(X, y)  # the mean of no Gaussian process
    laplacian = build_laplacian(default_graph(X, regression=True), X)
    found = cover(laplacian, np.flatnonzero(model.labeled_), 4, np.ones(len(X)))
    assert found.tolist() == model.suggest(4).tolist()
    design = design_of(laplacian)
    again = cover(laplacian, np.flatnonzero(model.labeled_), 4, np.ones(len(X)), design)
    assert again.tolist() == found.tolist()
    assert len(cover(laplacian, np.arange(2, len(X)), 9, np.ones(len(X)))) == 2


def test_batch_contains_no_neighbours_and_no_labelled_or_equal_rows() -> None:
    X, y, truth = clusters()
    model = LapRLSClassifier(updatable=True, graph=KNNGraph(5)).fit(X, y)
    found = model.suggest(5)
    assert len(set(found)) == 5
    assert (y[found] == -1).all()
    assert model.affinity_[found][:, found].nnz == 0
    np.testing.assert_array_equal(model.suggest(5)[:2], model.suggest(2))
    few = np.where(np.arange(60) < 57, truth, -1)
    assert sorted(clone(model).fit(X, few).suggest(10)) == [57, 58, 59]
    twice = clone(model).fit(np.vstack([X, X]), np.append(y, np.full(60, -1)))
    assert (twice.suggest(20) < 60).all()  # equal rows are suggested once


def test_suggests_neighbours_if_nothing_else_is_left() -> None:
    ones = np.ones(3)
    all_joined = sp.csr_array(np.ones((3, 3)))
    nothing = np.empty(0, dtype=int)
    found = most_informative(np.eye(3), nothing, 3, ones, ones > 0, ones, all_joined)
    assert sorted(found) == [0, 1, 2]


def test_suggestions_are_weighted_by_uncertainty() -> None:
    X, y, _ = clusters()
    model = LapRLSClassifier(updatable=True).fit(X, y)
    f = np.sort(model.decision_function(X), axis=1)
    unsure = np.clip(1 - (f[:, -1] - f[:, -2]) / 2, 0, 1)
    laplacian, ones = build_laplacian(default_graph(X, regression=False), X), np.ones(60)
    given = design_of(laplacian), np.flatnonzero(y >= 0), 5
    expected, by_graph = (
        most_informative(*given, weights, y < 0, ones, laplacian.affinity).tolist()
        for weights in (unsure, ones)
    )
    assert model.suggest(5).tolist() == expected != by_graph


def test_rejects_invalid_numbers_of_suggestions_and_fits_without_graph() -> None:
    X, y, _ = clusters()
    model = LapRLSClassifier(gamma_I=0, updatable=True).fit(X, y)
    for k in (0, -1, 1.5, True, "2"):
        with pytest.raises(ValueError, match="must be a whole number of at least 1"):
            model.suggest(k)
    with pytest.raises(ValueError, match=r"this fit has none\. Fit with gamma_I > 0"):
        model.suggest()


def test_suggestions_reduce_posterior_variances() -> None:
    """Compared with explicit inverses for every choice."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(30, 6))
    C, counts, points = root @ root.T, rng.integers(1, 4, 30).astype(float), np.arange(3, 28)

    def left(seen: list[int]) -> float:
        block = C[np.ix_(seen, seen)] + 0.3 * np.eye(len(seen))
        return float(counts @ np.diag(C - C[:, seen] @ np.linalg.solve(block, C[seen])))

    expected: list[int] = []
    for _ in range(5):
        others = [int(i) for i in points if i not in expected]
        expected.append(min(others, key=lambda i: left([*expected, i])))
    assert reduce_variance(C[:, points], points, 0.3, counts, 5).tolist() == expected


@pytest.mark.parametrize(
    "model",
    [LapRLSRegressor(gamma_I=0), LapRLSRegressor(), LapERLSRegressor(), LapRLSRegressorCV()],
)
def test_regressions_suggest_by_variances(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = labeled_curve()
    fitted = clone(model).set_params(updatable=True).fit(X, y)
    free = np.flatnonzero(np.isnan(y))
    found = fitted._kept.refits.covariance(free)
    gain = (found.values**2).sum(axis=0) / (np.diag(found.values[free]) + found.noise_variance)
    assert fitted.suggest(1) == free[gain.argmax()]
    assert sorted(fitted.suggest(len(X))) == free.tolist()
    monkeypatch.setattr(updates, "_MOST_CANDIDATES", 5)
    order = value_order(X)
    order = order[np.isnan(y)[order]]
    looked_at = order[np.linspace(0, len(order) - 1, 5).astype(int)]
    some = fitted.suggest(4).tolist()
    assert len(set(some)) == 4
    assert set(some) < set(looked_at.tolist())


def test_warns_if_all_candidates_are_equal() -> None:
    """With a huge kernel width all points are equal."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.where(np.arange(30) < 5, X[:, 0], np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LapRLSRegressor(gamma=1e-14, updatable=True).fit(X, y)
    with pytest.warns(ConstantFitWarning, match="All 25 candidates would reduce the variance"):
        model.suggest(2)


# --- suspicious labels ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["LapSVC", "LapSVC, prior", "LapRLSClassifier", "LapERLSClassifier"]
)
def test_suspicious_labels_equal_those_of_leave_one_out(name: str) -> None:
    X, y, _ = labeled_clusters(3, n_labels=5, distance=6.0)
    wrong = np.flatnonzero(y == 0)[0]
    y[wrong] = 1
    model = updatable(EXAMPLES[name]).fit(X, y)
    expected = leave_one_out(EXAMPLES[name], X, y).suspicious
    assert expected.tolist() == [wrong]
    np.testing.assert_array_equal(model.suspicious_labels(), expected)
    assert len(model.add_labels(wrong, 0).suspicious_labels()) == 0


def test_regressions_have_no_suspicious_labels() -> None:
    X, y, _ = labeled_curve()
    assert len(LapRLSRegressor(updatable=True).fit(X, y).suspicious_labels()) == 0


def test_small_work_runs_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, *_ = labeled_clusters()
    model = updatable(LapRLSClassifier()).fit(X, y)
    seen: list[set[int]] = []

    def watch(place: Any, name: str) -> None:
        original = getattr(place, name)

        def watched(*arguments: Any, **options: Any) -> Any:
            seen.append(set(threads._blas_threads()))
            return original(*arguments, **options)

        monkeypatch.setattr(place, name, watched)

    watch(updates, "most_informative")
    watch(type(model._kept.refits), "solve")
    watch(template, "evaluate")
    with threadpool_limits(2, "blas"):
        model.add_labels(model.suggest(1), [0])
        model.predict(X[:5])
        model.predict(np.repeat(X, 10, axis=0))
    assert seen == [{1}, {1}, {1}, {2}]


# --- labels of suggested rows ---------------------------------------------------------------------


def test_warns_about_labels_of_suggested_rows() -> None:
    X, y, truth = labeled_clusters(3, n_labels=2)
    model = LapRLSClassifier(updatable=True).fit(X, y)
    rows = model.suggest(12)
    model.add_labels(rows[:6], truth[rows[:6]])  # half of the labels
    sure_rows(model)
    model.add_labels(rows[6], truth[rows[6]])
    for ask in (lambda: sure_rows(model), lambda: leave_one_out(model, X, y)):
        with pytest.warns(SuggestedLabelsWarning, match=r"7 of the 13 labels are of rows"):
            ask()
    model.add_labels(rows[:1], [-1])  # taken back
    sure_rows(model)
    model.add_labels(rows[7:], truth[rows[7:]], how="random")
    sure_rows(model)
    others = np.flatnonzero(~model.labeled_)[:20]
    model.add_labels(others, truth[others], how="suggested")
    with pytest.warns(SuggestedLabelsWarning, match=r"26 of the 37 labels"):
        sure_rows(model)
    with pytest.raises(ValueError, match="how='chance' must be 'suggested', 'random' or None"):
        model.add_labels(others, truth[others], how="chance")
