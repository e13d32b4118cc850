"""Answers that are constant or 0 but for rounding are told, whatever the estimator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import lapwing
from lapwing import (
    S3VC,
    AnchorGraphClassifier,
    BalancedGraphClassifier,
    EigenfunctionClassifier,
    Landmarks,
    LapERLSClassifier,
    LapERLSRegressor,
    LapESVC,
    LapESVR,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    LapSVR,
)
from lapwing.estimators.path import PathEstimator
from lapwing.exceptions import ConstantFitWarning, SingleClassWarning
from tests.helpers.answers import scores
from tests.helpers.data import labeled_clusters, labeled_curve

CONSTANT = [
    LapSVC(gamma_A=1e20),
    LapSVC("linear", gamma_I=1e20),
    LapSVC(loss="hinge", gamma_A=1e20),
    LapRLSClassifier(gamma_A=1e20),
    LapRLSClassifier(solver="pcg", gamma_A=1e20),
    LapRLSRegressor(gamma_A=1e20),
    LapSVR(gamma_A=1e20),
    S3VC(C=1e-20),
    LapESVC(lam=1e-20),
    LapESVC(C=1e-20),
    LapESVC(gamma=1e-20),
    LapESVR(lam=1e-20),
    LapESVR(C=1e-20),
    LapERLSClassifier(lam=1e-20),
    LapERLSClassifier(C=1e-20),
    LapERLSClassifier(mu=1e20),
    LapERLSClassifier(space=Landmarks(30), C=1e20),
    LapERLSRegressor(C=1e-20),
    AnchorGraphClassifier(gamma_I=1e20),
    EigenfunctionClassifier(lam=1e-20),
]


def data_for(estimator: Any) -> tuple[Any, Any]:
    X, y, _ = labeled_clusters(3, n_labels=5) if is_classifier(estimator) else labeled_curve()
    return X, y


@pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.BalanceWarning")
@pytest.mark.parametrize("estimator", CONSTANT, ids=str)
def test_a_null_solution_is_told_once(estimator: Any) -> None:
    X, y = data_for(estimator)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clone(estimator).fit(X, y)
    told = [w for w in caught if issubclass(w.category, ConstantFitWarning | SingleClassWarning)]
    assert len(told) == 1
    assert "Usual causes: " in str(told[0].message)


def test_every_estimator_is_among_them() -> None:
    # What chooses among settings leaves such ones out, and a partition at given volumes has none.
    estimators = {
        found
        for name in lapwing.estimators.__all__
        if not issubclass(found := getattr(lapwing, name), PathEstimator | BalancedGraphClassifier)
    }
    assert {type(estimator) for estimator in CONSTANT} == estimators


@pytest.mark.parametrize("weight", [1e-12, 1e-100])
@pytest.mark.parametrize("cls", [LapSVC, LapRLSClassifier, LapESVC, EigenfunctionClassifier])
def test_weights_near_0_are_told(cls: Any, weight: float) -> None:
    X, y = data_for(cls())
    with pytest.warns((ConstantFitWarning, SingleClassWarning), match="Usual causes"):
        cls().fit(X, y, sample_weight=np.full(len(y), weight))


def test_the_graph_must_leave_digits_to_the_losses() -> None:
    X, y = data_for(S3VC())
    with pytest.raises(ValueError, match=r"gamma_I=1e\+20 must be at most 1e\+12: beyond, losses"):
        S3VC(gamma_I=1e20).fit(X, y)


def test_the_warning_tells_the_weights_of_the_objective() -> None:
    X, y = data_for(LapSVC())
    with pytest.warns(ConstantFitWarning) as caught:
        LapSVC(gamma_A=1e20).fit(X, y)
    text = str(caught[0].message)
    assert text.startswith("Decision values vary by ")
    assert "too far apart (gamma_A=1e+20, gamma_I=1.0): use values closer to the def" in text


def test_predictions_may_be_null_where_virtual_labels_are_not() -> None:
    X, y = data_for(LapESVC())
    with pytest.warns(ConstantFitWarning, match="What `predict` rests on, the values of f, vary"):
        model = LapESVC(C=1e-20).fit(X, y)
    assert np.ptp(scores(model, X), axis=0).max() < 1e-10
    assert np.ptp(model.virtual_labels_, axis=0).min() > 1


@pytest.mark.parametrize("size", [1e-2, 1e2])
@pytest.mark.parametrize("cls", [LapSVC, LapRLSClassifier])
def test_small_values_that_tell_classes_apart_are_none(cls: Any, size: float) -> None:
    """Warnings are errors here."""
    X, y = data_for(cls())
    cls(gamma_A=size, gamma_I=size).fit(X, y)
