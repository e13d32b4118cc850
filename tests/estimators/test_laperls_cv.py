"""Paths of LapERLS: as the grid by hand, from one elimination a width."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from lapwing import AffinityGraph, KNNGraph, Landmarks, LapERLSClassifier, LapERLSClassifierCV
from lapwing.classes.decoding import predict_codes
from lapwing.estimators import input_checks, laperls_cv
from lapwing.estimators.parameters import check_parameters
from lapwing.exceptions import (
    FewEigenvectorsWarning,
    FewLabelsWarning,
    LongFitWarning,
    UnlabeledComponentWarning,
)
from lapwing.graphs.registry import default_graphs
from lapwing.kernels import Kernel
from lapwing.models import load_model, save_model
from lapwing.solvers.embedded.path import SpectralPath
from lapwing.solvers.embedded.systems import FeatureSide, MatrixSide
from tests.helpers.answers import coded_targets
from tests.helpers.choices import chosen_of, left_out_solutions, usual_of
from tests.helpers.counts import Counts
from tests.helpers.data import labeled_clusters

FLAT = KNNGraph(4, normalized=False, power=1)
# A ring: all degrees are equal, and constants are an eigenvector of its normalised Laplacian too.
RING = AffinityGraph(sp.csr_array(np.roll(np.eye(36), 1, 0) + np.roll(np.eye(36), -1, 0)))
ONE: dict[str, Any] = {
    "lams": [10.0, 1e3],
    "mus": [1.0, 1e2],
    "n_eigenvectors": [6, 20],
    "gammas": [0.3],
    "graphs": [KNNGraph(5)],
}
HALF = ONE | {"lams": [100.0]}
EXAMPLES: dict[str, Any] = {
    "one graph": LapERLSClassifierCV(**ONE),
    "widths and C": LapERLSClassifierCV(
        **ONE | {"gammas": [0.1, "scale"], "Cs": [1.0, 20.0], "lams": [100.0], "mus": [1.0]}
    ),
    "powers": LapERLSClassifierCV(
        **ONE | {"lams": [100.0], "graphs": [KNNGraph(4, power=p) for p in (3, 1)]}
    ),
    "graphs": LapERLSClassifierCV(
        **ONE | {"lams": [100.0], "graphs": [KNNGraph(4), KNNGraph(7), FLAT]}
    ),
    "no smoothness": LapERLSClassifierCV(**HALF | {"mus": [0.0, 1.0]}),
    "cut-off weights": LapERLSClassifierCV(**ONE | {"lams": [1e2, 1e12], "mus": [1.0]}),
    "intercept": LapERLSClassifierCV(**HALF, fit_intercept=True),
    "intercept, D - W": LapERLSClassifierCV(**HALF | {"graphs": [FLAT]}, fit_intercept=True),
    "intercept, ring": LapERLSClassifierCV(
        **HALF | {"graphs": [RING], "n_eigenvectors": [7, 19]}, fit_intercept=True
    ),
    "linear": LapERLSClassifierCV("linear", **HALF),
    "linear, intercept": LapERLSClassifierCV("linear", **HALF, fit_intercept=True),
    "landmarks": LapERLSClassifierCV(**HALF, space=Landmarks(15)),
    "polynomial": LapERLSClassifierCV("poly", **HALF, degree=2),
}
every_example = pytest.mark.parametrize("name", EXAMPLES)
ERROR = "left_out_squared_error"


def by_hand(model: Any, params: Any, X: Any, y: Any, w: Any) -> Any:
    """Leave-one-out errors (2, l) of the virtual labels, squared and of classes, by refits."""
    errors = []
    refits = left_out_solutions(model._estimator(**params), X, y, w)
    for (row, point, found), target in zip(refits, coded_targets(model, y), strict=True):
        values = found.values[point]
        missed = float(predict_codes(values[None])[0] != y[row])
        errors.append((np.mean((target - values) ** 2), missed))
    return np.array(errors).T


@every_example
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.UnlabeledComponentWarning")
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.SingleClassWarning")
def test_the_path_is_the_grid_by_hand(name: str) -> None:
    X, y, _ = labeled_clusters(3, n=36, n_labels=2)
    w = np.random.default_rng(1).uniform(0.5, 2, len(X))
    fitted = clone(EXAMPLES[name]).fit(X, y, sample_weight=w)
    results = fitted.cv_results_
    errors = np.array([by_hand(fitted, params, X, y, w) for params in results["params"]])
    of_labels = w[y != -1]
    expected = np.average(errors, axis=2, weights=of_labels)
    np.testing.assert_allclose(results[ERROR], expected[:, 0], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(results["left_out_error"], expected[:, 1], atol=1e-12)
    defaults = {"lam": 1e4, "mu": 1e4, "n_eigenvectors": 50, "C": 10.0}
    if "gamma" in fitted.best_params_:
        defaults["gamma"] = 1 / X.var(axis=0).sum()
    best = chosen_of(errors[:, 0], of_labels, usual_of(results["params"], defaults))
    assert fitted.best_params_ == results["params"][best]
    assert fitted.best_score_ == -results[ERROR][best]
    assert np.ptp(expected[:, 0]) > 1e-3  # else this test would not see a wrong choice


@every_example
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.UnlabeledComponentWarning")
def test_it_answers_as_the_plain_estimator_of_the_best_parameters(name: str) -> None:
    X, y, _ = labeled_clusters(3, n=36, n_labels=3)
    fitted = clone(EXAMPLES[name]).fit(X, y)
    expected = fitted._estimator(**fitted.best_params_).fit(X, y)
    for values in ("virtual_labels_", "eigenvalues_", "objective_"):
        found, wanted = getattr(fitted, values), getattr(expected, values)
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(
        fitted.decision_function(X), expected.decision_function(X), rtol=1e-7, atol=1e-8
    )
    np.testing.assert_array_equal(fitted.transduction_, expected.transduction_)
    own = {"best_params_", "best_score_", "cv_results_"}
    assert {key for key in vars(fitted) if key.endswith("_")} - own == {
        key for key in vars(expected) if key.endswith("_")
    }


def test_the_grid_has_every_setting_once() -> None:
    X, y, _ = labeled_clusters(3, n=36, n_labels=3)
    graphs = [KNNGraph(5), KNNGraph(5, power=1)]
    grid = ONE | {"gammas": [0.1, 0.2], "Cs": [1.0, 2.0], "graphs": graphs}
    results = LapERLSClassifierCV(**grid).fit(X, y).cv_results_
    assert len(results["params"]) == 2**6
    assert len({tuple(map(str, params.values())) for params in results["params"]}) == 2**6
    for key in ("lam", "mu", "n_eigenvectors", "C", "gamma", "graph"):
        assert results[f"param_{key}"].tolist() == [params[key] for params in results["params"]]
    assert (results["fit_time"] > 0).all()


def test_numbers_of_eigenvectors_beyond_the_points_are_one() -> None:
    X, y, _ = labeled_clusters(3, n=36, n_labels=3)
    grid = ONE | {"n_eigenvectors": ["auto", 36, 1000, 10]}
    results = LapERLSClassifierCV(**grid).fit(X, y).cv_results_
    assert set(results["param_n_eigenvectors"].tolist()) == {10, 36}


def test_default_widths_graphs_and_eigenvectors() -> None:
    X, y, _ = labeled_clusters(3, n=36, n_labels=3)
    model = LapERLSClassifierCV(lams=[1e2], mus=[1.0]).fit(X, y)
    scale = 1 / X.var(axis=0).sum()
    widths = list(dict.fromkeys(model.cv_results_["param_gamma"]))
    np.testing.assert_allclose(widths, scale, rtol=1e-12)
    assert set(model.cv_results_["param_n_eigenvectors"].tolist()) == {25, 36}
    assert len(set(map(repr, model.cv_results_["param_graph"]))) == len(default_graphs(X))


@pytest.mark.parametrize("space", [None, Landmarks(15)])
def test_what_settings_share_is_made_once(monkeypatch: pytest.MonkeyPatch, space: Any) -> None:
    X, y, _ = labeled_clusters(3, n=36, n_labels=3)
    counts = Counts(monkeypatch)
    counts.watch(MatrixSide if space is None else FeatureSide, "of")
    counts.watch(KNNGraph, "affinity")
    counts.watch(laperls_cv, "smallest_eigenpairs")
    counts.watch(SpectralPath, "_kernel")
    graphs = [KNNGraph(5), KNNGraph(5, power=1), KNNGraph(7)]
    grid = ONE | {"gammas": ["scale", 1.0], "graphs": graphs, "lams": np.logspace(0, 6, 7)}
    model = LapERLSClassifierCV(**grid, space=space).fit(X, y)
    assert len(model.cv_results_["params"]) == 2 * 3 * 7 * 2 * 2
    assert counts.calls == {
        "of": 2 + 1,  # one a width, and the chosen setting's
        "affinity": 2,
        "smallest_eigenpairs": 2,
        "_kernel": 2 * 3 * 2 * 2,  # none a lambda
    }


def test_the_kernel_is_made_once_a_width_and_once_for_the_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y, _ = labeled_clusters(3, n=36, n_labels=3)
    counts = Counts(monkeypatch)
    counts.watch(Kernel, "gram")
    LapERLSClassifierCV(**ONE | {"gammas": [0.1, 0.3]}).fit(X, y)
    assert counts.calls == {"gram": 2 + 1}


def test_with_nothing_to_hold_out_the_defaults_stay() -> None:
    X, y, _ = labeled_clusters(3, n=80, n_labels=1)
    with pytest.warns(FewLabelsWarning, match="No parameters were selected.*at least two rows"):
        fitted = LapERLSClassifierCV().fit(X, y)
    usual = LapERLSClassifier().fit(X, y)
    assert np.isnan(fitted.best_score_)
    assert fitted.cv_results_ == {}
    expected = {"lam": 1e4, "mu": 1e4, "n_eigenvectors": 50, "C": 10.0}
    params = fitted.best_params_
    assert {name: params[name] for name in expected} == expected
    assert params["gamma"] == usual.kernel_.gamma
    np.testing.assert_array_equal(fitted.transduction_, usual.transduction_)


def test_with_nothing_to_hold_out_a_grid_without_the_defaults_has_its_nearest() -> None:
    X, y, _ = labeled_clusters(3, n=80, n_labels=1)
    grid: dict[str, Any] = {"lams": [1.0, 1e3], "mus": [0.0, 50.0], "n_eigenvectors": [10, 40]}
    scale = float(1 / X.var(axis=0).sum())
    with pytest.warns(FewLabelsWarning):
        fitted = LapERLSClassifierCV(**grid, gammas=[9 * scale, 2 * scale], graphs=[FLAT]).fit(X, y)
    expected = {"lam": 1e3, "mu": 50.0, "n_eigenvectors": 40, "C": 10.0, "gamma": 2 * scale}
    assert fitted.best_params_ == expected | {"graph": FLAT}


def test_warnings_are_about_the_chosen_number_of_eigenvectors() -> None:
    X, y, _ = labeled_clusters(3, n=36, n_labels=3)
    with pytest.warns(FewEigenvectorsWarning, match="n_eigenvectors=2 is less than the number"):
        LapERLSClassifierCV(**ONE | {"n_eigenvectors": [2]}).fit(X, y)
    LapERLSClassifierCV(**ONE | {"n_eigenvectors": [2, 20]}).fit(X, y)
    apart = AffinityGraph(sp.block_diag([np.ones((6, 6)) - np.eye(6)] * 6, format="csr"))
    with pytest.warns(UnlabeledComponentWarning) as told:
        LapERLSClassifierCV(**ONE | {"graphs": [apart], "n_eigenvectors": [4]}).fit(X, y)
    assert any("6 connected components and n_eigenvectors=4" in str(w.message) for w in told)


def test_a_long_path_is_announced_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = labeled_clusters(3, n=36, n_labels=3)
    monkeypatch.setattr(input_checks, "LONG", 0.0)
    with pytest.warns(LongFitWarning, match=r"LapERLSClassifierCV factors 4 matrices of 36 rows"):
        LapERLSClassifierCV(**ONE | {"gammas": [0.1, 0.2], "Cs": [1.0, 2.0]}).fit(X, y)


def test_a_precomputed_kernel_and_graph() -> None:
    X, y, _ = labeled_clusters(3, n=36, n_labels=3)
    expected = LapERLSClassifierCV(**ONE).fit(X, y)
    given = AffinityGraph(KNNGraph(5).affinity(X), power=2)
    options = ONE | {"graphs": [given]}
    model = LapERLSClassifierCV("precomputed", **options).fit(rbf_kernel(X, gamma=0.3), y)
    np.testing.assert_allclose(model.cv_results_[ERROR], expected.cv_results_[ERROR], rtol=1e-7)
    assert "gamma" not in model.best_params_


def test_class_weights_count_in_the_errors() -> None:
    X, y, _ = labeled_clusters(3, n=36, n_labels=3)
    by_class = {0: 1.0, 1: 5.0, 2: 2.0}
    weighted = LapERLSClassifierCV(**ONE, class_weight=by_class).fit(X, y)
    w = np.array([by_class.get(label, 1.0) for label in y])
    same = LapERLSClassifierCV(**ONE).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(weighted.cv_results_[ERROR], same.cv_results_[ERROR], rtol=1e-12)
    unweighted = LapERLSClassifierCV(**ONE).fit(X, y)
    assert np.abs(same.cv_results_[ERROR] - unweighted.cv_results_[ERROR]).max() > 1e-3


def test_repeated_rows_are_one_point_with_both_labels() -> None:
    """A label that contradicts another one of the same point is left out alone."""
    X, y, _ = labeled_clusters(2, n=40, n_labels=4)
    at = int(np.flatnonzero(y == 0)[0])
    more = np.vstack([X, X[[at]]]), np.append(y, 1)
    model = LapERLSClassifierCV(**ONE).fit(*more)
    w = np.ones(len(more[1]))
    expected = [
        by_hand(model, params, *more, w)[0].mean() for params in model.cv_results_["params"]
    ]
    np.testing.assert_allclose(model.cv_results_[ERROR], expected, atol=1e-8)


def test_settings_without_a_solution_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = labeled_clusters(3, n=36, n_labels=3)
    original = SpectralPath._kernel

    def broken(self: Any, r: int, power: int, mu: float) -> Any:
        T, free = original(self, r, power, mu)
        return (T * np.nan if mu == 1.0 else T), free

    monkeypatch.setattr(SpectralPath, "_kernel", broken)
    model = LapERLSClassifierCV(**ONE).fit(X, y)
    lost = np.isnan(model.cv_results_[ERROR])
    np.testing.assert_array_equal(lost, model.cv_results_["param_mu"] == 1.0)
    assert model.best_params_["mu"] == 100.0
    with pytest.raises(ValueError, match="No setting of the grid has a solution"):
        LapERLSClassifierCV(**ONE | {"mus": [1.0]}).fit(X, y)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"Cs": [0.0]}, r"Cs=\[0.0\] must be a list of finite numbers > 0, at least one"),
        ({"lams": []}, r"lams=\[\] must be a list of finite numbers > 0, at least one"),
        ({"mus": [-1.0]}, r"mus=\[-1.0\] must be a list of finite numbers >= 0"),
        ({"n_eigenvectors": 10}, r"n_eigenvectors=10 must be a list of whole numbers >= 1 or 'a"),
        ({"n_eigenvectors": [None]}, r"n_eigenvectors=\[None\] must be a list of whole numbers"),
    ],
)
def test_grids_out_of_range_are_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_parameters(LapERLSClassifierCV(**option))


def test_several_numbers_of_eigenvectors_are_for_the_path_alone() -> None:
    with pytest.raises(ValueError, match=r"n_eigenvectors=\[5\] must be a whole number"):
        check_parameters(LapERLSClassifier(n_eigenvectors=[5]))  # type: ignore[arg-type]


def test_it_is_kept_in_files(tmp_path: Any) -> None:
    X, y, _ = labeled_clusters(3, n=36, n_labels=3)
    model = LapERLSClassifierCV(**ONE).fit(X, y)
    save_model(model, tmp_path / "m")
    for again in (pickle.loads(pickle.dumps(model)), load_model(tmp_path / "m").pipeline):
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        assert repr(again.best_params_) == repr(model.best_params_)
        for key, values in model.cv_results_.items():
            assert repr(again.cv_results_[key]) == repr(values)
