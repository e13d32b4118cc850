"""What every fit owes its user: nothing of theirs is kept, and what takes long is said before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from lapwing import (
    S3VC,
    KNNGraph,
    Landmarks,
    LapERLSClassifier,
    LapESVC,
    LapESVR,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    LapSVR,
)
from lapwing.estimators import diagnostics, input_checks
from lapwing.estimators.choice import seconds_of_columns
from lapwing.estimators.input_checks import LONG
from lapwing.exceptions import LongFitWarning


def data(n: int = 60) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 2
    y = np.full(n, -1)
    y[:6] = truth[:6]
    return rng.standard_normal((n, 3)) + 3.0 * truth[:, None], y


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    "make",
    [LapSVC, LapRLSClassifier, LapERLSClassifier, S3VC,
     lambda: S3VC(space=Landmarks(1000)), lambda: LapERLSClassifier(space=Landmarks(1000))],
    ids=["LapSVC", "LapRLS", "LapERLS", "S3VC", "S3VC landmarks", "LapERLS landmarks"],
)  # fmt: skip
def test_points_may_be_written_over_after_the_fit(make: Any, container: Any) -> None:
    X, y = data()
    given = container(X.copy())
    model = make().fit(given, y)
    before = model.decision_function(container(X))
    (given.data if sp.issparse(given) else given)[:] = 1e3
    np.testing.assert_array_equal(model.decision_function(container(X)), before)


def test_parameters_of_a_graph_that_is_not_there_are_refused_with_the_cure() -> None:
    message = r"graph__n_neighbors: graph=None has no parameters .* LapSVC\(graph=KNNGraph\(\)\)"
    with pytest.raises(ValueError, match=message):
        LapSVC().set_params(graph__n_neighbors=7)
    with pytest.raises(ValueError, match=r"space__n_components: space='auto' .*space=Landmarks"):
        LapERLSClassifier().set_params(space__n_components=7)
    model = LapSVC().set_params(graph=KNNGraph(), graph__n_neighbors=7)
    assert model.graph.n_neighbors == 7
    assert LapSVC(graph=KNNGraph()).set_params(graph__power=3, gamma_I=2.0).graph.power == 3


def test_a_search_over_the_default_graph_says_what_to_give() -> None:
    X, y = data()
    search = GridSearchCV(LapSVC(), {"graph__n_neighbors": [4, 5]}, cv=2)
    with pytest.raises(ValueError, match=r"Give an object first, e\.g\. LapSVC\(graph=KNNGraph"):
        search.fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "faster"),
    [
        (LapSVC(solver="pcg"), r"LapSVC .*LapERLSClassifier, .*stopping='stability'"),
        (LapRLSRegressor(solver="pcg"), r"LapRLSRegressor .*LapERLSRegressor.*stopping="),
        (LapSVR(), r"LapSVR .*LapERLSRegressor.* takes seconds\."),
        (LapSVC(solver="pcg", stopping="stability"), r"LapERLSClassifier.* takes seconds\."),
    ],
    ids=["LapSVC", "LapRLSRegressor", "LapSVR", "stopped"],
)
def test_a_long_fit_is_announced_before_it_begins(
    estimator: Any, faster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = data()
    y = np.where(y < 0, np.nan, y) if is_regressor(estimator) else y
    monkeypatch.setattr(input_checks, "LONG", 1e-9)
    with pytest.warns(LongFitWarning, match=faster):
        estimator.fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            LapESVC(),
            r"LapESVC solves each of its 3 columns on its own for 60 points and .*\. Use Lap",
        ),
        (LapESVC(space=Landmarks(9)), r"its 3 columns .* Use LapERLSClassifier, which solves all"),
        (LapESVC("linear"), r"its 3 columns .* e\.g\. space=Landmarks\(300\)\."),
        (LapESVR(), r"LapESVR solves its column for 60 points and .* Use LapERLSRegressor"),
    ],
    ids=str,
)
def test_columns_that_take_minutes_are_announced_before_the_graph(
    estimator: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_graph(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the graph was made")

    X, _ = data()
    y = np.where(np.arange(60) < 9, np.arange(60) % 3, -1)
    y = np.where(y < 0, np.nan, y) if is_regressor(estimator) else y
    monkeypatch.setattr("lapwing.estimators.template.build_laplacian", no_graph)
    monkeypatch.setattr(input_checks, "LONG", 1e-9)
    with pytest.warns(LongFitWarning, match=message), pytest.raises(AssertionError, match="graph"):
        estimator.fit(X, y)


def test_hundreds_of_columns_take_minutes() -> None:
    assert seconds_of_columns(1200, 1200, 600, 300) > LONG
    assert seconds_of_columns(1200, 1200, 600, 300, n_threads=16) < LONG
    assert seconds_of_columns(1200, 1200, 50, 10) < LONG
    assert seconds_of_columns(70_000, 1000, 50, 10) > LONG
    assert seconds_of_columns(4000, 4000, 4000, 10) > LONG > seconds_of_columns(4000, 4000, 50, 10)


def test_a_fit_of_seconds_or_one_that_stops_by_labels_is_not_announced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = data()
    LapSVC().fit(X, y)  # warnings are errors
    monkeypatch.setattr(input_checks, "LONG", 1e-9)
    LapSVC(solver="pcg", stopping="validation").fit(X, y)
    LapSVC("linear").fit(X, y)


@pytest.mark.parametrize(
    ("n_iter", "advice"), [(50, r"Raise max_iter or tol"), (12, r"\. Raise tol, ")]
)
def test_more_iterations_are_advised_only_where_all_were_used(n_iter: int, advice: str) -> None:
    with pytest.warns(ConvergenceWarning, match=advice):
        diagnostics.warn_descent_not_converged(n_iter, 50, 0.1, 1e-4)
    with pytest.warns(ConvergenceWarning, match=advice):
        diagnostics.warn_not_converged("newton", n_iter, 50, 0.1, 1e-4)
