"""Compatibility with scikit-learn: its checks, meta-estimators, frames, callbacks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.callback import FitCallback, ProgressBar
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
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
    LapSVR,
)
from lapwing.estimators.manifold import ManifoldEstimator, StoppableEstimator
from lapwing.model_selection import Candidate
from lapwing.model_selection.candidates import LABELS_ALONE, SHEETS, SMOOTH
from tests.helpers.callbacks import Record
from tests.helpers.data import data_for, labeled_clusters
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
QUICK: dict[str, dict[str, Any]] = {
    "S3VC": {"method": "quasi-newton"},
    "BalancedGraphClassifier": {"method": "mbo"},
    "LapSVCCV": {
        **{"gamma_As": (1e-2,), "gamma_Is": (1.0,)},
        **{"gammas": ("scale",), "graphs": GRAPHS[:1]},
    },
    "LapRLSClassifierCV": {
        **{"gamma_As": (1e-2,), "gamma_Is": (0.0, 1.0)},
        **{"gammas": ("scale",), "graphs": GRAPHS},
    },
    # Targets of some checks are noise, and large weights would give a constant, with a warning.
    "LapRLSRegressorCV": {
        **{"gamma_As": (1e-4,), "gamma_Is": (0.0, 1e-2)},
        **{"gammas": ("scale",), "graphs": GRAPHS},
    },
    "LapERLSClassifierCV": {
        **{"lams": (10.0,), "mus": (1.0,), "n_eigenvectors": ("auto",)},
        **{"gammas": ("scale",), "graphs": GRAPHS[:1]},
    },
    "FewLabelClassifier": {
        "candidates": [
            Candidate("alone", LapRLSClassifier(gamma_I=0), LABELS_ALONE),
            Candidate("graph", LapRLSClassifier(), SHEETS),
        ],
        "n_draws": 1,
        "max_left_out": 2,
    },
    "FewLabelRegressor": {
        "candidates": [
            Candidate("alone", LapRLSRegressor(gamma_A=1e-2, gamma_I=0), LABELS_ALONE),
            Candidate("graph", LapRLSRegressor(gamma_A=1e-2), SMOOTH),
        ],
    },
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


def test_every_estimator_is_a_classifier_or_a_regressor() -> None:
    assert sorted(map(repr, EVERY_CLASSIFIER + EVERY_REGRESSOR)) == sorted(map(repr, EVERY))
    assert min(map(len, (CLASSIFIERS, REGRESSORS))) >= 2
    names = {estimator.__name__ for estimator in EVERY}
    assert {*RELATIVES} | {*RELATIVES.values()} <= names
    assert not {*RELATIVES} & {*RELATIVES.values()}


# Some checks have noise, classes of weight 1e-4 or four points on a square, for which warnings are
# right.
EXPECTED = "NothingUnlabeled FewLabels SingleClass TiedPoints NoClassStructure ConstantFit"


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
@ignoring(*EXPECTED.split())
def test_passes_checks_of_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


# ---- data ----------------------------------------------------------------------------------------


X, Y, TRUTH = labeled_clusters(3, n=80, n_labels=8, n_features=4, distance=2.5)


# ---- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_signatures_follow_the_contract(estimator: type) -> None:
    parameters = inspect.signature(estimator).parameters
    assert next(iter(parameters)) == "kernel"
    assert all(p.kind is p.KEYWORD_ONLY for name, p in parameters.items() if name != "kernel")
    expected = {
        "kernel": "rbf",
        "gamma": "wide" if estimator in REGRESSORS else "scale",
        "degree": 3,
        "coef0": 1.0,
        "gamma_A": 1e-4,
        "gamma_I": 0.01 if estimator in REGRESSORS else 1.0,
        "graph": None,
        "solver": "auto",
        "tol": None,
        "max_iter": 20_000,
        "fit_intercept": estimator in REGRESSORS,
    }
    if estimator in CLASSIFIERS:
        expected |= {"unlabeled": "auto", "class_weight": None, "class_prior": None}
    stoppable = issubclass(estimator, StoppableEstimator)
    if stoppable:
        expected |= {"stopping": None, "warm_start": False, "random_state": None}
    # A class may declare a parameter again, with another default.
    inherited = expected.keys() - vars(estimator)["_declared"].keys()
    assert {n: parameters[n].default for n in inherited} == {n: expected[n] for n in inherited}
    fit = inspect.signature(estimator.fit).parameters
    stopped = ["validation_data"] if stoppable else []
    assert list(fit) == ["self", "X", "y", "sample_weight", *stopped]


@pytest.mark.parametrize("estimator", [LapRLSRegressor, LapSVR])
def test_defaults_of_regressors(estimator: Any) -> None:
    model = estimator()
    assert (model.gamma, model.gamma_I, model.fit_intercept) == ("wide", 0.01, True)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_tags(estimator: type) -> None:
    tags = get_tags(estimator()).input_tags
    assert tags.sparse
    assert not tags.pairwise
    assert not tags.allow_nan
    assert get_tags(estimator("precomputed")).input_tags.pairwise


# ---- meta-estimators -----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.UnlabeledComponentWarning")
def test_grid_search_over_the_graph_and_the_weights() -> None:
    # All unlabelled points train in every fold; only labelled ones are held out.
    known = np.flatnonzero(Y >= 0)
    folds = [(np.setdiff1d(np.arange(len(X)), held), held) for held in np.split(known, 3)]
    grid = {"lapsvc__graph__n_neighbors": [2, 8], "lapsvc__gamma_I": [1e-8, 1.0]}
    pipe = make_pipeline(StandardScaler(), LapSVC(graph=KNNGraph()))
    search = GridSearchCV(pipe, grid, cv=folds, error_score="raise").fit(X, Y)
    assert set(search.best_params_) == set(grid)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert np.mean(search.predict(X) == TRUTH) > 0.8
    # Scores equal those of an explicit fit.
    train, test = folds[0]
    by_hand = clone(pipe).set_params(**search.cv_results_["params"][-1]).fit(X[train], Y[train])
    assert search.cv_results_["split0_test_score"][-1] == by_hand.score(X[test], Y[test])


@pytest.mark.parametrize("estimator", EVERY)
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NothingUnlabeledWarning")
def test_cross_validation(estimator: type) -> None:
    model, y = quick(estimator), TRUTH if estimator in EVERY_CLASSIFIER else X.sum(axis=1)
    if estimator in REGRESSORS:
        model.set_params(gamma_A=0.1)
    assert cross_val_score(model, X, y, cv=2, error_score="raise").mean() > 0.6


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NothingUnlabeledWarning")
def test_cross_validation_of_a_precomputed_kernel_slices_both_ways() -> None:
    K = rbf_kernel(X, gamma=0.1)
    scores = cross_val_score(LapSVC("precomputed", gamma_I=0), K, TRUTH, cv=3, error_score="raise")
    expected = cross_val_score(LapSVC(gamma=0.1, gamma_I=0), X, TRUTH, cv=3, error_score="raise")
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_sample_weight_is_routed(estimator: type) -> None:
    points, y, _ = data_for(estimator)
    w = np.random.default_rng(0).uniform(0.5, 2, len(points))
    # A large ambient norm keeps observations outside LapSVR's tube, where weights count.
    template = estimator(gamma_A=1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(template).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipe = make_pipeline(scaler, model).fit(points, y, sample_weight=w)
    Z = StandardScaler().fit_transform(points)
    direct = clone(template).fit(Z, y, sample_weight=w)
    np.testing.assert_array_equal(pipe.predict(points), direct.predict(Z))
    assert np.abs(direct.alpha_ - clone(template).fit(Z, y).alpha_).max() > 0


# ---- frames --------------------------------------------------------------------------------------


def test_frames_in_float32_and_series_of_weights() -> None:
    w = pd.Series(np.random.default_rng(0).uniform(0.5, 2, len(X)), index=range(7, 7 + len(X)))
    series, array = (LapSVC().fit(X, Y, sample_weight=each) for each in (w, w.to_numpy()))
    np.testing.assert_array_equal(series.alpha_, array.alpha_)
    small = pd.DataFrame(X.astype(np.float32)).add_prefix("x")
    assert LapSVC().fit(small, Y).decision_function(small).dtype == np.float32


# ---- callbacks -----------------------------------------------------------------------------------


def test_progress_bar_shows_stages(capsys: pytest.CaptureFixture[str]) -> None:
    LapSVC(solver="pcg", gamma_A=0.1).set_callbacks(ProgressBar()).fit(X, Y)
    text = capsys.readouterr().out
    for part in ("LapSVC - fit", "LapSVC - solve", "100%"):
        assert part in text


def test_failing_fit_tears_callbacks_down() -> None:
    record = Record()
    assert isinstance(record, FitCallback)
    with pytest.raises(ValueError, match="n_neighbors=80"):
        LapSVC(graph=KNNGraph(80)).set_callbacks(record).fit(X, Y)
    assert record.states == ["setup", "teardown"]


# ---- a first example -----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.UnlabeledComponentWarning")
def test_unlabelled_digits_halve_the_error() -> None:
    X, truth = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    y = np.full(len(truth), -1)
    for digit in range(10):
        rows = rng.choice(np.flatnonzero(truth == digit), 3, replace=False)
        y[rows] = digit
    hidden = y == -1
    semi = LapSVC().fit(X, y)
    supervised = LapSVC(gamma_I=0).fit(X, y)
    error = np.mean(semi.transduction_[hidden] != truth[hidden])
    assert error < 0.6 * np.mean(supervised.transduction_[hidden] != truth[hidden])
    assert error < 0.15
