"""Warnings about constant solutions, long fits and convergence."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from lapwing import (
    S3VC,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    KNNGraph,
    Landmarks,
    LapERLSClassifier,
    LapERLSClassifierCV,
    LapERLSRegressor,
    LapESVC,
    LapESVR,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    LapSVCCV,
    LapSVR,
)
from lapwing.estimators import diagnostics, input_checks
from lapwing.estimators.choice import seconds_of_columns
from lapwing.estimators.input_checks import LONG
from lapwing.exceptions import (
    ClassPriorWarning,
    ConstantFitWarning,
    LongFitWarning,
    SingleClassWarning,
)
from lapwing.solvers.base import Result, Settings, Status
from tests.helpers.answers import scores
from tests.helpers.data import data_for
from tests.helpers.warned import texts

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


@pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.BalanceWarning")
@pytest.mark.parametrize("estimator", CONSTANT, ids=str)
def test_warns_once_about_a_null_solution(estimator: Any) -> None:
    X, y, _ = data_for(estimator, n_labels=5)
    (message,) = texts(lambda: clone(estimator).fit(X, y), ConstantFitWarning, SingleClassWarning)
    assert "Usual causes: " in message


@pytest.mark.parametrize("weight", [1e-12, 1e-100])
@pytest.mark.parametrize("cls", [LapSVC, LapRLSClassifier, LapESVC, EigenfunctionClassifier])
def test_warns_about_weights_near_0(cls: Any, weight: float) -> None:
    X, y, _ = data_for(cls)
    with pytest.warns((ConstantFitWarning, SingleClassWarning), match="Usual causes"):
        cls().fit(X, y, sample_weight=np.full(len(y), weight))


def test_warning_lists_the_weights_of_the_objective_or_names_the_function() -> None:
    X, y, _ = data_for(LapSVC)
    (text,) = texts(lambda: LapSVC(gamma_A=1e20).fit(X, y), ConstantFitWarning)
    assert text.startswith("Decision values vary by ")
    assert "too far apart (gamma_A=1e+20, gamma_I=1.0): use values closer to the def" in text
    with pytest.warns(ConstantFitWarning, match="The values of f, which `predict` uses, vary"):
        model = LapESVC(C=1e-20).fit(X, y)
    assert np.ptp(scores(model, X), axis=0).max() < 1e-10
    assert np.ptp(model.virtual_labels_, axis=0).min() > 1


@pytest.mark.parametrize("size", [1e-2, 1e2])
@pytest.mark.parametrize("cls", [LapSVC, LapRLSClassifier])
def test_does_not_warn_about_small_values_that_separate_classes(cls: Any, size: float) -> None:
    """In tests, warnings are errors."""
    X, y, _ = data_for(cls)
    cls(gamma_A=size, gamma_I=size).fit(X, y)


def test_rejects_parameters_of_a_missing_graph_or_space() -> None:
    message = r"graph__n_neighbors: graph=None has no parameters .* LapSVC\(graph=KNNGraph\(\)\)"
    with pytest.raises(ValueError, match=message):
        LapSVC().set_params(graph__n_neighbors=7)
    with pytest.raises(ValueError, match=r"space__n_components: space='auto' .*space=Landmarks"):
        LapERLSClassifier().set_params(space__n_components=7)
    model = LapSVC().set_params(graph=KNNGraph(), graph__n_neighbors=7)
    assert model.graph.n_neighbors == 7
    assert LapSVC(graph=KNNGraph()).set_params(graph__power=3, gamma_I=2.0).graph.power == 3


COLUMNS = r"its 3 columns on its own for 72 points and .* Use LapERLSClassifier, which solves all"
# Estimators with the warning about the time of their fits.
SLOW: list[tuple[Any, str]] = [
    (LapSVC(solver="pcg"), r"LapSVC .*LapERLSClassifier, .*stopping='stability'"),
    (LapRLSRegressor(solver="pcg"), r"LapRLSRegressor .*LapERLSRegressor.*stopping="),
    (LapSVR(), r"LapSVR .*LapERLSRegressor.* takes seconds\."),
    (LapSVC(solver="pcg", stopping="stability"), r"LapERLSClassifier.* takes seconds\."),
    (LapESVC(), rf"LapESVC solves each of {COLUMNS}"),
    (LapESVC(space=Landmarks(9)), COLUMNS),
    (LapESVC("linear"), rf"{COLUMNS}.* e\.g\. space=Landmarks\(300\)\."),
    (LapESVR(), r"LapESVR solves its column for 72 points and .* Use LapERLSRegressor"),
    (S3VC(), r"S3VC fits 3 pairs of 3 classes in rounds for 72 points .*multi_class='ovr' fits"),
]


@pytest.mark.parametrize(("estimator", "message"), SLOW, ids=str)
def test_warns_about_long_fits_before_they_begin(
    estimator: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begun(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the fit began")

    X, y, _ = data_for(estimator, n_labels=5)
    monkeypatch.setattr("lapwing.estimators.template.build_laplacian", begun)
    monkeypatch.setattr("lapwing.estimators.s3vm.one_vs_one", begun)
    monkeypatch.setattr(input_checks, "LONG", 1e-9)
    with pytest.warns(LongFitWarning, match=message), pytest.raises(AssertionError, match="began"):
        estimator.fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "n_factors"),
    [
        (LapSVCCV(graphs=[KNNGraph(5), KNNGraph(5, power=1)], gammas=["scale"]), 1 + 2 * 4),
        (LapERLSClassifierCV(gammas=[0.1, 0.2], Cs=[1.0, 2.0]), 4),
    ],
    ids=["manifold", "embedded"],
)
def test_warns_about_long_paths(
    estimator: Any, n_factors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, _ = data_for(estimator, n_labels=5)
    monkeypatch.setattr(input_checks, "LONG", 0.0)
    message = (
        rf"{type(estimator).__name__} factors {n_factors} matrices of 72 rows and will take about "
        r"2 minutes or more\. Give it fewer settings, e\.g\. gammas="
    )
    with pytest.warns(LongFitWarning, match=message):
        estimator.fit(X, y)


def test_estimated_seconds_of_columns() -> None:
    assert seconds_of_columns(1200, 1200, 600, 300) > LONG
    assert seconds_of_columns(1200, 1200, 600, 300, n_threads=16) < LONG
    assert seconds_of_columns(1200, 1200, 50, 10) < LONG
    assert seconds_of_columns(70_000, 1000, 50, 10) > LONG
    assert seconds_of_columns(4000, 4000, 4000, 10) > LONG > seconds_of_columns(4000, 4000, 50, 10)


def test_does_not_warn_about_short_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = data_for(LapSVC)
    LapSVC().fit(X, y)  # warnings are errors
    monkeypatch.setattr(input_checks, "LONG", 1e-9)
    LapSVC(solver="pcg", stopping="validation").fit(X, y)
    LapSVC("linear").fit(X, y)


@pytest.mark.parametrize(
    ("status", "n_iter", "optimality", "precise", "message"),
    [
        (Status.MAX_ITER, 50, 0.1, 1e-3, r"in 50 iterations.*\. Raise max_iter or tol, or use C\."),
        (Status.MAX_ITER, 12, 0.1, 1e-3, r"\. Raise tol, or use C\."),
        (Status.PRECISION, 12, np.nan, 1e-3, r"limited by rounding .*\. Use X as float64, or C\."),
        (Status.CONVERGED, 12, 5e-3, 1e-3, r"limited by rounding errors .* of 5\.0e-03"),
        (Status.CONVERGED, 12, 5e-3, 1e-2, None),
        (Status.CONVERGED, 12, 5e-4, 1e-3, None),
        (Status.EARLY, 12, 0.1, 1e-3, None),
        (Status.CALLBACK, 12, 0.1, 1e-3, None),
    ],
)
def test_convergence_warnings(
    status: Status, n_iter: int, optimality: float, precise: float, message: str | None
) -> None:
    result = Result(None, np.zeros(1), np.full(1, optimality), n_iter, status)
    dtype = np.dtype(np.float32)
    with nullcontext() if message is None else pytest.warns(ConvergenceWarning, match=message):
        diagnostics.warn_convergence(
            "L-BFGS", result, Settings(1e-4, 50), dtype, "C", precise=precise
        )


def test_rounding_does_not_miss_the_prior() -> None:
    targets = np.r_[36, np.full(11, 84 / 11)]  # 12 classes of 120 points
    whole = np.r_[36, np.full(7, 8), np.full(4, 7)]
    assert not diagnostics.warn_missed_prior(whole, targets, np.arange(12))
    with pytest.warns(ClassPriorWarning, match="missed by 4.54545 points: the class 1 got 10"):
        diagnostics.warn_missed_prior(whole - np.r_[2, -2, np.zeros(10)], targets, np.arange(12))
