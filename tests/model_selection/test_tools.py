"""Splitters and scorers inside scikit-learn's tools, with every marker."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier

from lapwing import LapRLSClassifier, LapRLSRegressor, LapSVC
from lapwing.exceptions import UnlabeledComponentWarning
from lapwing.model_selection import (
    LabeledKFold,
    LabeledShuffleSplit,
    LabeledStratifiedKFold,
    LeaveOneLabelOut,
    labeled_cross_val_predict,
    labeled_scorer,
)

# Few labels and separate clusters cause warnings of the estimators, which are tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore::lapwing.exceptions.LapwingWarning")

X, CODES = make_blobs(48, centers=[[0, 0], [6, 0], [0, 6]], cluster_std=0.7, random_state=0)
NAMES = np.array(["ant", "bee", "cow"])[CODES]
KNOWN = np.isin(
    np.arange(48), np.concatenate([np.flatnonzero(code == CODES)[:4] for code in range(3)])
)


def blank(values: Any, marker: Any) -> list[Any]:
    return [value if known else marker for value, known in zip(list(values), KNOWN, strict=True)]


# Each form of y, and the parameter `unlabeled` of the estimator.
FORMS: dict[str, tuple[Callable[[], Any], Any]] = {
    "-1": (lambda: np.array(blank(CODES, -1)), "auto"),
    "None in a list": (lambda: blank(NAMES, None), None),
    "texts": (lambda: np.array(blank(NAMES, "?")), "?"),
    # Which the scorers of scikit-learn take for no classes.
    "numbers and None": (lambda: np.array(blank(CODES, None), dtype=object), None),
    "pandas.NA": (lambda: pd.Series(blank(CODES, pd.NA), dtype="Int64"), "auto"),
}
every_form = pytest.mark.parametrize(("form", "marker"), FORMS.values(), ids=FORMS.keys())
Y = FORMS["-1"][0]()


# ---- every tool with every marker --------------------------------------------------------------


@every_form
def test_searches_scores_and_predictions_read_every_marker(form: Any, marker: Any) -> None:
    model, y = LapRLSClassifier(unlabeled=marker), form()
    cv = LabeledStratifiedKFold(3, unlabeled=marker)
    truth = NAMES if isinstance(next(iter(y)), str) else CODES
    search = GridSearchCV(model, {"gamma_A": [1e-3, 1e-2]}, cv=cv, error_score="raise").fit(X, y)
    assert len(search.classes_) == 3
    assert search.best_score_ == 1
    scores = cross_val_score(model, X, y, cv=LeaveOneLabelOut(unlabeled=marker))
    assert scores.tolist() == [1.0] * 12
    rows, predictions = labeled_cross_val_predict(model, X, y, unlabeled=marker)
    np.testing.assert_array_equal(rows, np.flatnonzero(KNOWN))
    np.testing.assert_array_equal(predictions, truth[rows])
    # Every tick of a learning curve has all labels that fit into it, and then unlabelled rows.
    scorer = labeled_scorer("accuracy", unlabeled=marker)
    options = {"cv": cv, "train_sizes": [0.25, 0.5, 1.0], "scoring": scorer}
    sizes, on_train, on_test = learning_curve(model, X, y, error_score="raise", **options)
    assert sizes.tolist() == [11, 22, 44]
    assert (on_train == 1).all()
    assert np.isfinite(on_test).all()
    assert (on_test[-1] == 1).all()


@every_form
def test_scorers_ignore_unlabeled_rows(form: Callable[[], Any], marker: Any) -> None:
    y = form()
    model = LapSVC(unlabeled=marker).fit(X, y)
    truth = NAMES if isinstance(model.classes_[0], str) else CODES
    for name in ("accuracy", "balanced_accuracy", "f1_macro", "matthews_corrcoef"):
        score = labeled_scorer(name, unlabeled=marker)(model, X, y)
        assert score == get_scorer(name)(model, X[KNOWN], truth[KNOWN]) == 1, name
    first = np.flatnonzero(KNOWN)[0]
    other = pd.Series(np.array(list(y), dtype=object))
    other[first] = model.classes_[model.classes_ != other[first]][0]
    assert labeled_scorer(unlabeled=marker)(model, X, other) == pytest.approx(11 / 12)


# ---- regression --------------------------------------------------------------------------------

TARGETS = np.where(KNOWN, X[:, 0] + 0.5 * X[:, 1], np.nan)


def test_regression_in_every_tool() -> None:
    model, r2 = LapRLSRegressor(), labeled_scorer("r2")
    folds = LabeledKFold(3, shuffle=True, random_state=0)
    assert (cross_val_score(model, X, TARGETS, cv=folds, scoring=r2) > 0.6).all()
    draws = LabeledShuffleSplit(3, test_size=4, random_state=0)
    search = GridSearchCV(model, {"gamma_I": [0.1, 1.0]}, cv=draws).fit(X, TARGETS)
    assert search.best_score_ > 0.8
    rows, predictions = labeled_cross_val_predict(model, X, TARGETS, cv=folds)
    np.testing.assert_array_equal(rows, np.flatnonzero(KNOWN))
    assert np.corrcoef(predictions, TARGETS[rows])[0, 1] > 0.9
    sizes = [0.5, 1.0]
    _, on_train, _ = learning_curve(model, X, TARGETS, cv=folds, train_sizes=sizes, scoring=r2)
    assert np.isfinite(on_train).all()


@pytest.mark.parametrize(
    "cv", [None, 4, LabeledKFold(4), LabeledShuffleSplit(1, test_size=0.5, random_state=0)]
)
def test_whole_numbers_are_targets_of_a_regressor(cv: Any) -> None:
    y = np.where(np.arange(48) < 12, np.arange(48.0) * 10, np.nan)  # no number twice
    rows, answers = labeled_cross_val_predict(LapRLSRegressor(), X, y, cv=cv)
    assert len(rows) == (6 if isinstance(cv, LabeledShuffleSplit) else 12)
    assert answers.dtype.kind == "f"
    assert getattr(cv, "regression", "auto") == "auto"  # the splitter stays as it is


def test_a_target_of_minus_one_is_a_target() -> None:
    y = np.full(48, np.nan)
    y[[0, 1, 2]] = -1.0, 2.0, 3.0
    model = LapRLSRegressor().fit(X, y)
    rows, _ = labeled_cross_val_predict(LapRLSRegressor(), X, y, cv=3)
    assert rows.tolist() == [0, 1, 2]
    score = labeled_scorer("neg_mean_absolute_error")(model, X, y)
    assert score == pytest.approx(-np.abs(model.predict(X[:3]) - y[:3]).mean())


def test_a_marker_of_targets_is_left_out_of_the_score() -> None:
    model, marked = LapRLSRegressor().fit(X, TARGETS), np.where(KNOWN, TARGETS, -999.0)
    assert labeled_scorer("r2", unlabeled=-999.0)(model, X, marked) == model.score(X, TARGETS)


# ---- the answers are those of fits by hand -----------------------------------------------------


@pytest.mark.parametrize("method", ["predict", "decision_function"])
@pytest.mark.parametrize("weighted", [False, True])
def test_answers_are_those_of_fits_by_hand(method: str, weighted: bool) -> None:
    cv = LabeledStratifiedKFold(3, shuffle=True, random_state=1)
    params = {"sample_weight": np.random.default_rng(0).uniform(0.1, 5, 48)} if weighted else {}
    rows, answers = labeled_cross_val_predict(LapSVC(), X, Y, cv=cv, method=method, params=params)
    for train, test in cv.split(X, Y):
        of_train = {name: values[train] for name, values in params.items()}
        fitted = LapSVC().fit(X[train], Y[train], **of_train)
        expected = getattr(fitted, method)(X[test])
        np.testing.assert_array_equal(answers[np.isin(rows, test)], expected)


def test_a_precomputed_kernel_loses_columns_with_its_rows() -> None:
    K = np.exp(-0.1 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    by_kernel, by_points = (
        labeled_cross_val_predict(model, points, Y, cv=3, method="decision_function").predictions
        for model, points in (
            (LapSVC("precomputed", gamma_I=0), K),
            (LapSVC(gamma=0.1, gamma_I=0), X),
        )
    )
    np.testing.assert_allclose(by_kernel, by_points, atol=1e-6)


def test_unlabeled_rows_in_test_sets_of_other_splitters_are_ignored() -> None:
    rows, _ = labeled_cross_val_predict(LapSVC(), X, Y, cv=KFold(3, shuffle=True, random_state=0))
    np.testing.assert_array_equal(rows, np.flatnonzero(KNOWN))


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (LabeledShuffleSplit(5, test_size=6, random_state=0), "held out more than once"),
        ([(np.flatnonzero(KNOWN), np.flatnonzero(~KNOWN))], "No test set has a labelled row"),
    ],
)
def test_rejects_splits_without_one_prediction_per_label(cv: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        labeled_cross_val_predict(LapSVC(), X, Y, cv=cv)


def test_rejects_columns_of_fits_with_different_classes() -> None:
    ants = np.flatnonzero(KNOWN & (CODES == 0))
    bees = np.flatnonzero(KNOWN & (CODES == 1))[:2]
    cv = [(np.setdiff1d(np.arange(48), part), part) for part in (bees, ants)]
    rows, _ = labeled_cross_val_predict(LapSVC(), X, Y, cv=cv)
    assert len(rows) == 6
    with pytest.raises(ValueError, match=r"set of split 1 has no label of 0.*Use LabeledStrat"):
        labeled_cross_val_predict(LapSVC(), X, Y, cv=cv, method="decision_function")


# ---- scorers -----------------------------------------------------------------------------------


def test_scoring_takes_names_scorers_and_metrics() -> None:
    model = LapSVC().fit(X, Y)
    y = np.where(np.arange(48) % 5 == 0, (CODES + 1) % 3, Y)

    def scorer(estimator: Any, points: Any, truth: Any) -> float:
        return float(np.mean(estimator.predict(points) == truth))

    def metric(truth: Any, found: Any) -> float:
        return float(np.mean(truth == found))

    expected = model.score(X, y)
    assert 0 < expected < 1
    for scoring in ("accuracy", None, scorer, metric, accuracy_score, get_scorer("accuracy")):
        assert labeled_scorer(scoring)(model, X, y) == pytest.approx(expected)
    assert labeled_scorer(metric, greater_is_better=False)(model, X, y) == pytest.approx(-expected)


def test_scorers_of_decision_values_and_probabilities() -> None:
    two = CODES < 2
    model = LapSVC().fit(X[two], Y[two])
    assert labeled_scorer("roc_auc")(model, X[two], Y[two]) == 1
    other = SelfTrainingClassifier(LogisticRegression()).fit(X, Y)
    expected = get_scorer("neg_log_loss")(other, X[KNOWN], CODES[KNOWN])
    assert labeled_scorer("neg_log_loss")(other, X, Y) == pytest.approx(expected)
    pipe = make_pipeline(StandardScaler(), LapSVC(unlabeled="?"))
    y = np.array(blank(NAMES, "?"))
    assert labeled_scorer("f1_macro", unlabeled="?")(pipe.fit(X, y), X, y) == 1


def test_minus_one_is_a_label_if_it_was_a_class_of_the_fit() -> None:
    signs = np.where(CODES > 0, 1, -1)
    model = LapSVC().fit(X, np.where(KNOWN, signs, np.nan))
    assert labeled_scorer("accuracy")(model, X, np.full(48, -1)) == (signs < 0).mean()


def test_several_scores_with_weights() -> None:
    weights = np.random.default_rng(0).uniform(0.1, 5, size=48)
    scoring = {"own": labeled_scorer(), "f1": labeled_scorer("f1_macro")}
    found = cross_validate(
        LapSVC(), X, Y, cv=KFold(3, shuffle=True, random_state=0), scoring=scoring
    )
    assert found["test_f1"].max() == 1
    model = LapSVC().fit(X, Y)
    y = np.where(np.arange(48) % 5 == 0, (CODES + 1) % 3, Y)
    labeled = y != -1
    expected = accuracy_score(y[labeled], model.predict(X[labeled]), sample_weight=weights[labeled])
    assert labeled_scorer("accuracy")(model, X, y, sample_weight=weights) == expected
    several = sklearn.metrics.check_scoring(model, scoring=scoring)
    assert several(model, X, y, sample_weight=weights)["own"] == pytest.approx(expected)


def test_weights_are_routed_as_the_wrapped_scorer_requests() -> None:
    weights = np.where(CODES == 0, 1.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        inside = get_scorer("accuracy").set_score_request(sample_weight=True)
        model = LapSVC().set_fit_request(sample_weight=False)
        y = np.where(np.isin(np.arange(48), np.flatnonzero(KNOWN & (CODES == 1))), 2, Y)
        options = {"cv": LabeledStratifiedKFold(2), "scoring": labeled_scorer(inside)}
        found = cross_val_score(model, X, y, params={"sample_weight": weights}, **options)
    assert found.tolist() == [1.0, 1.0]  # only rows of the first class weigh


def test_wrong_scoring_is_refused() -> None:
    model = LapSVC().fit(X, Y)
    with pytest.raises(ValueError, match=r"average can only be given with a metric .* is not a"):
        labeled_scorer("f1", average="macro")
    with pytest.raises(ValueError, match="'no_such_score'"):
        labeled_scorer("no_such_score")
    with pytest.raises(ValueError, match=r"all 3 are unlabelled.*LabeledStratifiedKFold"):
        labeled_scorer("accuracy")(model, X[~KNOWN][:3], [-1, -1, -1])
    named = LapSVC(unlabeled="?").fit(X, np.array(blank(NAMES, "?")))
    with pytest.raises(ValueError, match=r"contains the text '\?'.*Pass unlabeled='\?'"):
        labeled_scorer("accuracy")(named, X, np.array(blank(NAMES, "?")))
    # A class unknown to the fit counts as an error and raises none.
    assert labeled_scorer("accuracy")(named, X[:2], [NAMES[0], "dog"]) == 0.5


def test_splitters_and_scorers_are_pickled_and_printed() -> None:
    splitter, scorer = LabeledStratifiedKFold(3, unlabeled="?"), labeled_scorer("f1_macro")
    again, same = pickle.loads(pickle.dumps((splitter, scorer)))
    assert repr(again) == repr(splitter)
    assert repr(same) == f"labeled_scorer({get_scorer('f1_macro')!r}, unlabeled='auto')"
    assert same(LapSVC().fit(X, Y), X, Y) == 1


def test_warnings_of_several_fits_are_issued_once() -> None:
    X, groups = make_blobs([30, 30, 30], 5, centers=50 * np.eye(5)[:3], random_state=0)
    y = np.full(90, -1)
    for label in (0, 1):  # the third group is a component without a label
        y[np.flatnonzero(groups == label)[:2]] = label
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        rows, _ = labeled_cross_val_predict(LapSVC(), X, y, cv=2)
    assert len(rows) == 4
    assert [warning.category for warning in told] == [UnlabeledComponentWarning]
    assert "In 2 of 2 fits. The first of them: 1 of the graph's 3" in str(told[0].message)
    assert told[0].filename == __file__
