"""Markers of unlabelled rows: estimators, containers, meta-estimators."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier

from lapwing import FewLabelClassifier, KNNGraph, LapRLSClassifier, LapRLSRegressor, LapSVC
from lapwing.exceptions import NothingUnlabeledWarning, UnlabeledMarkerWarning
from tests.estimators.test_sklearn import EVERY_CLASSIFIER, EVERY_REGRESSOR, quick
from tests.helpers.warned import warned

N = 90
TRUTH = np.arange(N) % 3
X = np.random.default_rng(0).standard_normal((N, 4)) + 3 * np.eye(4)[TRUTH]
KNOWN = np.arange(N) < 36
Y = np.where(KNOWN, TRUTH, -1)
NAMES = np.array(["a", "b", "c"])[TRUTH]
T = np.where(KNOWN, X.sum(axis=1), np.nan)

CLASSIFIERS = [quick(known) for known in EVERY_CLASSIFIER]
REGRESSORS = [quick(known) for known in EVERY_REGRESSOR]


def name_of(estimator: Any) -> str:
    return type(estimator).__name__


def given(values: np.ndarray, blank: Any) -> list[Any]:
    return [value if known else blank for value, known in zip(values.tolist(), KNOWN, strict=True)]


ABOUT_Y = (NothingUnlabeledWarning, UnlabeledMarkerWarning)


# y in other forms, and the markers found in it; all forms are in tests/classes/test_markers.py.
FORMS: list[tuple[Any, tuple[Any, ...]]] = [
    (np.where(KNOWN, TRUTH, np.nan), (None,)),
    (given(NAMES, ""), ("",)),
    (given(NAMES, -1), (-1,)),
    (pd.Series(given(TRUTH, pd.NA), dtype="Int64"), (None,)),
    (pd.Series(given(NAMES, None), dtype="category"), (None,)),
    (pl.Series(given(TRUTH, None)), (None,)),
    *((np.ma.masked_array(y, mask=~KNOWN), (None,)) for y in (TRUTH, NAMES, TRUTH / 1.0)),
]


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name_of)
def test_every_classifier_finds_the_markers(estimator: Any) -> None:
    expected = clone(estimator).fit(X, Y)
    assert expected.unlabeled_ == (-1,)
    assert expected.labeled_.tolist() == KNOWN.tolist()
    # As all classifiers read y by the same code, only one is tested with all forms.
    for y, found in FORMS if isinstance(estimator, LapSVC) else FORMS[1::3]:
        model = clone(estimator).fit(X, y)
        assert model.unlabeled_ == found
        assert len(model.classes_) == 3
        assert model.classes_.dtype.kind == model.predict(X[:2]).dtype.kind
        codes = np.searchsorted(model.classes_, model.transduction_)
        np.testing.assert_array_equal(codes, expected.transduction_)
        assert model.score(X, y) == expected.score(X, Y)


def test_signs_are_classes() -> None:
    signs = np.where(TRUTH == 0, -1, 1)
    model = LapSVC().fit(X, np.where(KNOWN, signs, np.nan))
    assert model.classes_.tolist() == [-1, 1]
    assert model.unlabeled_ == (None,)
    # -1 is a label in score as well.
    assert model.score(X[TRUTH == 0], signs[TRUTH == 0]) > 0.9


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=name_of)
def test_warns_at_the_fit_but_not_at_the_score_if_no_row_is_unlabelled(estimator: Any) -> None:
    y, truth = (Y, TRUTH) if hasattr(estimator, "unlabeled") else (T, X.sum(axis=1))
    (caught,) = warned(lambda: clone(estimator).fit(X, truth), *ABOUT_Y)
    assert caught.category is NothingUnlabeledWarning
    assert caught.filename == __file__
    assert "No row of y is unlabelled" in str(caught.message)
    model = clone(estimator)
    with pytest.raises(NotFittedError):
        model.score(X, y)
    model.fit(X, y)
    assert warned(lambda: model.score(X[~KNOWN], truth[~KNOWN]), *ABOUT_Y) == []


def test_score_ignores_unlabelled_rows() -> None:
    model = LapSVC().fit(X, Y)
    y = np.where(Y == 1, 0, Y)  # other labels than those of the fit
    accuracy = float((model.predict(X[KNOWN]) == y[KNOWN]).mean())
    assert model.score(X, y) == accuracy < 1
    w = np.random.default_rng(0).uniform(size=N)
    assert model.score(X, y, w) == model.score(X[KNOWN], y[KNOWN], w[KNOWN])
    texts = given(NAMES, "?")
    assert LapSVC(unlabeled="?").fit(X, texts).score(X.tolist(), texts) == 1
    with pytest.raises(ValueError, match="score needs labelled rows, and all 5 are unlabelled"):
        model.score(X[:5], [-1] * 5)
    regressor = LapRLSRegressor().fit(X, T)
    assert regressor.score(X, T) == regressor.score(X[KNOWN], T[KNOWN])
    assert np.isfinite(cross_val_score(LapSVC(), X, Y, cv=3)).all()


# ---- regressions -------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", REGRESSORS, ids=name_of)
def test_every_regressor_reads_missing_targets(estimator: Any) -> None:
    expected = clone(estimator).fit(X, T)
    for y in (
        given(T, ""),
        pd.Series(given(T, pd.NA), dtype="Float64"),
        pl.Series(given(T, None)),
        np.ma.masked_array(X.sum(axis=1), mask=~KNOWN),
    ):
        model = clone(estimator).fit(X, y)
        np.testing.assert_array_equal(model.labeled_, KNOWN)
        np.testing.assert_array_equal(model.transduction_, expected.transduction_)
        assert model.score(X, y) == expected.score(X, T)
    with pytest.raises(ValueError, match=r"y must be numbers .* it holds 'n/a'"):
        estimator.fit(X, given(T, "n/a"))


# ---- masked arrays -----------------------------------------------------------------------------


def test_rejects_masked_points_and_weights() -> None:
    masked = np.ma.masked_array(X, mask=np.zeros(X.shape, dtype=bool))
    masked[3:5, 0] = np.ma.masked
    refused = (
        r"X is a masked array with 2 masked values, which would be read as if they were known\. "
        r"Fill them first, e\.g\. SimpleImputer\(\)\.fit_transform\(X\.filled\(numpy\.nan\)\)\."
    )
    model = LapRLSClassifier().fit(X, Y)
    for use in (
        lambda: clone(model).fit(masked, Y),
        lambda: model.predict(masked),
        lambda: FewLabelClassifier().fit(masked, Y),  # before candidates are compared
        lambda: KNNGraph().affinity(masked),
    ):
        with pytest.raises(ValueError, match=refused):
            use()
    LapRLSClassifier().fit(np.ma.masked_array(X), Y)  # with an empty mask
    weights = np.ma.masked_array(np.ones(len(Y)), mask=np.arange(len(Y)) == 2)
    with pytest.raises(ValueError, match=r"sample_weight is a masked array with 1 masked values"):
        LapRLSClassifier().fit(X, Y, sample_weight=weights)


# ---- meta-estimators ---------------------------------------------------------------------------

ALONE = "No row of y is unlabelled"
ENCODED = rf"{ALONE}.* Meta-estimators that encode y"
CALIBRATED = (
    r"CalibratedClassifierCV passes on y with \d+ unlabelled rows and counts their marker as one "
    r"more class\. Fit this estimator itself, and then CalibratedClassifierCV\(FrozenEstimator\("
    r"model\)\) on labelled rows that it did not know\."
)
# Meta-estimators that make a class of the marker, and the warning.
RECODING: dict[str, tuple[Any, str]] = {
    "stacking": (StackingClassifier([("a", LapRLSClassifier())], cv=2), ENCODED),
    "voting": (VotingClassifier([("a", LapRLSClassifier())]), ENCODED),
    "bagging": (BaggingClassifier(LapRLSClassifier(), n_estimators=1, random_state=0), ENCODED),
    "one-vs-rest": (OneVsRestClassifier(LapRLSClassifier()), ENCODED),
    "one-vs-one": (OneVsOneClassifier(LapRLSClassifier()), ALONE),
    "output codes": (OutputCodeClassifier(LapRLSClassifier(), random_state=0), ALONE),
    **{
        f"calibration, {ensemble}": (
            CalibratedClassifierCV(LapRLSClassifier(), cv=2, ensemble=ensemble),
            CALIBRATED,
        )
        for ensemble in (True, False)
    },
}


@pytest.mark.parametrize("name", RECODING)
@pytest.mark.parametrize("y", [Y, np.array(given(NAMES, ""))], ids=["numbers", "texts"])
def test_warns_if_meta_estimators_make_a_class_of_the_marker(name: str, y: Any) -> None:
    meta, message = clone(RECODING[name][0]), RECODING[name][1]
    caught = warned(lambda: meta.fit(X, y), *ABOUT_Y)
    assert len(meta.classes_) == 4
    assert any(re.match(message, str(warning.message)) for warning in caught)
    assert all(warning.filename == __file__ for warning in caught)


def test_one_vs_rest_warning_advises_the_whole_fit() -> None:
    """One-vs-rest problems have too few classes to drop one."""
    few = np.array(Y)
    few[np.flatnonzero(few != -1)[3:]] = -1
    caught = warned(lambda: OneVsRestClassifier(LapRLSClassifier()).fit(X, few), *ABOUT_Y)
    assert caught
    for warning in caught:
        message = str(warning.message)
        assert "make a class of the marker: fit this estimator itself." in message
        if "unlabeled=" in message.partition("Most rows")[2]:
            assert "and label rows of a second class." in message
