"""Compatibility with scikit-learn: its checks, signatures, cross-validation, frames, callbacks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import estimator_checks_generator

import lapwing
from lapwing import (
    S3VC,
    FewLabelClassifier,
    FewLabelRegressor,
    KNNGraph,
    Landmarks,
    LapERLSClassifier,
    LapERLSRegressor,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
)
from lapwing.estimators.manifold import ManifoldEstimator, StoppableEstimator
from lapwing.model_selection import Candidate
from lapwing.model_selection.candidates import LABELS_ALONE, SHEETS, SMOOTH
from tests.helpers.callbacks import Record
from tests.helpers.data import labeled_clusters
from tests.helpers.low_density import ONE_DESCENT
from tests.helpers.warned import ignoring

# All public estimators, also new ones.
EVERY = [getattr(lapwing, name) for name in lapwing.estimators.__all__]
EVERY_CLASSIFIER = [estimator for estimator in EVERY if is_classifier(estimator())]
EVERY_REGRESSOR = [estimator for estimator in EVERY if is_regressor(estimator())]
# Estimators by manifold regularisation, with similar signatures.
CLASSIFIERS = [known for known in EVERY_CLASSIFIER if issubclass(known, ManifoldEstimator)]
REGRESSORS = [known for known in EVERY_REGRESSOR if issubclass(known, ManifoldEstimator)]
ESTIMATORS = [*CLASSIFIERS, *REGRESSORS]


# ---- scikit-learn's own checks -------------------------------------------------------------------

# Small grids and fast methods: the checks do not depend on them.
GRAPHS = (KNNGraph(3), KNNGraph(3, normalized=False))
GRID: dict[str, Any] = {"gammas": ("scale",), "graphs": GRAPHS}


def tries(estimator: Any, kind: Any) -> list[Candidate]:
    alone = clone(estimator).set_params(gamma_I=0)
    return [Candidate("alone", alone, LABELS_ALONE), Candidate("graph", estimator, kind)]


QUICK: dict[str, dict[str, Any]] = {
    "S3VC": {"method": "quasi-newton"},
    "BalancedGraphClassifier": {"method": "mbo"},
    "LapSVCCV": GRID | {"gamma_As": (1e-2,), "gamma_Is": (1.0,), "graphs": GRAPHS[:1]},
    "LapRLSClassifierCV": GRID | {"gamma_As": (1e-2,), "gamma_Is": (0.0, 1.0)},
    # Targets of some checks are noise, and large weights would give a constant, with a warning.
    "LapRLSRegressorCV": GRID | {"gamma_As": (1e-4,), "gamma_Is": (0.0, 1e-2)},
    "LapERLSClassifierCV": GRID
    | {"lams": (10.0,), "mus": (1.0,), "n_eigenvectors": ("auto",), "graphs": GRAPHS[:1]},
    "FewLabelClassifier": {"candidates": tries(LapRLSClassifier(), SHEETS)}
    | {"n_draws": 1, "max_left_out": 2},
    "FewLabelRegressor": {"candidates": tries(LapRLSRegressor(gamma_A=1e-2), SMOOTH)},
}


def quick(estimator: type) -> Any:
    """The estimator as it is, or with the parameters of `QUICK`."""
    return estimator(**QUICK.get(estimator.__name__, {}))


# One member of each family runs all checks. The others read points, labels and weights by the same
# code and skip the checks in `OF_THE_FAMILY`.
RELATIVES = {
    "LapRLSClassifier": "LapSVC",
    "LapSVR": "LapRLSRegressor",
    "LapESVC": "LapERLSClassifier",
    "LapESVR": "LapERLSRegressor",
    "LapSVCCV": "LapRLSClassifierCV",
    "LapERLSClassifierCV": "LapRLSClassifierCV",
    "LapRLSRegressorCV": "LapRLSRegressor",
}
OF_THE_FAMILY = re.compile(
    "estimator_sparse|memmap|contiguous|dtype|nan|complex|empty|fit1d|predict1d|not_an_array|supervised_y|"
    "requires_y|classifiers_classes|positive_only|takes_y|check_n_features|pipeline|pandas|"
    "weights_(list|shape)"
)
# Estimators that select others are not in `EVERY`.
CHOICES = (FewLabelClassifier, FewLabelRegressor)
# Run for one estimator: sparse matrices, as sparse arrays are checked for all, and memory maps, as
# `check_readonly_memmap_input` is.
REPEATED = {
    ("check_estimator_sparse_matrix", ()),
    ("check_classifiers_train", ("readonly_memmap",)),
    ("check_classifiers_train", ("readonly_memmap", "X_dtype")),
}
# Parameters that lead to other code than those above.
VARIANTS = [
    LapSVC(solver="pcg", gamma_A=1e-1),
    LapERLSClassifier("linear", fit_intercept=True),
    LapERLSRegressor(space=Landmarks(20)),
    S3VC("linear", C=1.0, multi_class="ovr", **ONE_DESCENT),
]


def checks(estimator: Any, *, whole: bool) -> list[Any]:
    """Checks of scikit-learn, all of them or those that are not of the family."""
    name = type(estimator).__name__
    return [
        pytest.param(
            each, check, id=f"{type(each).__name__}-{check.func.__name__}{check.keywords or ''}"
        )
        for each, check in estimator_checks_generator(estimator)
        # The estimators do not support the array API.
        if "array_api" not in check.func.__name__
        # Checks with keywords are for other types of points.
        if whole or not (OF_THE_FAMILY.search(check.func.__name__) or check.keywords)
        if name == "LapSVC" or (check.func.__name__, tuple(check.keywords)) not in REPEATED
    ]


CHECKS = [
    *(
        case
        for known in EVERY
        for case in checks(quick(known), whole=known.__name__ not in RELATIVES)
    ),
    *(case for tries in CHOICES for case in checks(quick(tries), whole=True)),
    *(case for variant in VARIANTS for case in checks(variant, whole=False)),
]


# Some checks have noise, classes of weight 1e-4 or four points on a square, for which warnings are
# right.
EXPECTED = "NothingUnlabeled FewLabels SingleClass TiedPoints NoClassStructure ConstantFit"


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
@ignoring(*EXPECTED.split())
def test_passes_checks_of_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


# ---- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_signatures_follow_the_contract(estimator: type) -> None:
    first, *others = inspect.signature(estimator).parameters.values()
    assert first.name == "kernel"
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in others)
    of_values, stoppable = estimator in REGRESSORS, issubclass(estimator, StoppableEstimator)
    expected: dict[str, Any] = {
        **{"kernel": "rbf", "degree": 3, "coef0": 1.0, "gamma": "wide" if of_values else "scale"},
        **{"gamma_A": 1e-4, "gamma_I": 0.01 if of_values else 1.0, "graph": None},
        **{"fit_intercept": of_values, "solver": "auto", "max_iter": 20_000},
    }
    if not of_values:
        expected |= {"unlabeled": "auto", "class_weight": None, "class_prior": None}
    if stoppable:
        expected |= {"stopping": None, "warm_start": False, "random_state": None, "tol": None}
    given = estimator().get_params(deep=False)
    assert {name: given[name] for name in expected} == expected
    fit = inspect.signature(estimator.fit).parameters
    stopped = ["validation_data"] if stoppable else []
    assert list(fit) == ["self", "X", "y", "sample_weight", *stopped]


# ---- data and callbacks --------------------------------------------------------------------------

X, Y, TRUTH = labeled_clusters(3, n=80, n_labels=8, n_features=4, distance=2.5)


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NothingUnlabeledWarning")
def test_cross_validation_of_a_precomputed_kernel_slices_both_ways() -> None:
    K = rbf_kernel(X, gamma=0.1)
    scores = cross_val_score(LapSVC("precomputed", gamma_I=0), K, TRUTH, cv=3, error_score="raise")
    expected = cross_val_score(LapSVC(gamma=0.1, gamma_I=0), X, TRUTH, cv=3, error_score="raise")
    np.testing.assert_array_equal(scores, expected)


def test_frames_in_float32_and_series_of_weights() -> None:
    w = pd.Series(np.random.default_rng(0).uniform(0.5, 2, len(X)), index=range(7, 7 + len(X)))
    series, array = (LapSVC().fit(X, Y, sample_weight=each) for each in (w, w.to_numpy()))
    np.testing.assert_array_equal(series.alpha_, array.alpha_)
    small = pd.DataFrame(X.astype(np.float32)).add_prefix("x")
    assert LapSVC().fit(small, Y).decision_function(small).dtype == np.float32


def test_failing_fit_tears_callbacks_down() -> None:
    record = Record()
    with pytest.raises(ValueError, match="n_neighbors=80"):
        LapSVC(graph=KNNGraph(80)).set_callbacks(record).fit(X, Y)
    assert record.states == ["setup", "teardown"]
