"""Callbacks: they see fitted estimators and can stop a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from lapwing import S3VC, LapRLSClassifier, LapSVC
from lapwing.estimators.prepared import Progress
from tests.helpers.answers import scores
from tests.helpers.callbacks import Iterates
from tests.helpers.data import labeled_clusters


@pytest.mark.parametrize(
    "estimator",
    [
        LapSVC(solver="pcg", gamma_A=0.1),
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
    record = Iterates(X)
    fitted = clone(estimator).set_callbacks(record).fit(X, y)
    assert len(record.scores) == fitted.n_iter_
    np.testing.assert_allclose(record.scores[-1], fitted.decision_function(X), rtol=1e-6, atol=1e-6)
    plain = clone(estimator).fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(X), fitted.decision_function(X))


@pytest.mark.parametrize("solver", ["pcg", "newton", "dual"])
def test_a_callback_can_stop_the_fit(solver: str) -> None:
    X, y, _ = labeled_clusters(3)
    record = Iterates(X, stop_after=1)
    options = {"solver": solver, "gamma_A": 1e-2, "gamma_I": 1e-2}
    fitted = LapSVC(**options).set_callbacks(record).fit(X, y)  # no warning
    assert fitted.n_iter_ == len(record.scores) == 1
    np.testing.assert_allclose(record.scores[0], fitted.decision_function(X), atol=1e-7)
    done = LapSVC(**options).fit(X, y)
    assert done.n_iter_ > 1
    assert (fitted.objective_ >= done.objective_ * (1 - 1e-9)).all()
    assert fitted.objective_.sum() > done.objective_.sum()


def test_a_callback_sees_the_kernel_of_this_fit_and_not_of_the_last() -> None:
    X, y, _ = labeled_clusters(2)
    record = Iterates(X)
    model = LapSVC("linear", gamma_A=0.1).fit(X, y).set_params(kernel="rbf", solver="pcg")
    model.set_callbacks(record).fit(X, y)
    np.testing.assert_allclose(record.scores[-1], scores(model, X), rtol=1e-6, atol=1e-6)
    fresh = Iterates(X)
    LapSVC("rbf", solver="pcg", gamma_A=0.1).set_callbacks(fresh).fit(X, y)
    np.testing.assert_array_equal(record.scores[0], fresh.scores[0])


def test_iterations_that_nobody_hears_of_leave_nothing_behind() -> None:
    """Scikit-learn's contexts keep each of those below them."""
    progress = Progress(S3VC(), 1, None, None)
    with progress.stage("solve", None) as tick:
        assert not any(tick(lambda: {}) for _ in range(9))
    assert [context.task_name for context in progress._context] == ["fit", "solve"]
