"""Properties of the fits of all estimators.

Families have further tests in files of their names. Examples of a new estimator belong in
tests/helpers/estimators.py.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

import lapwing
from lapwing import S3VC, BalancedGraphClassifier, EigenfunctionClassifier, Landmarks, Linear
from lapwing.classes.decoding import of_each_class
from lapwing.classes.probabilities import class_probabilities
from lapwing.estimators.path import PathEstimator
from lapwing.estimators.template import is_fitted_name
from lapwing.exceptions import UnlabeledComponentWarning
from lapwing.models import load_model, save_model
from lapwing.spaces.recipes import SPACES
from tests.helpers.answers import check_answers, labeled_rows, scores
from tests.helpers.callbacks import Record
from tests.helpers.data import data_for, first_labels
from tests.helpers.estimators import EXAMPLES, fitted, weighted
from tests.helpers.low_density import ONE_DESCENT
from tests.helpers.manifold import given_graph
from tests.helpers.members import check_examples
from tests.helpers.warned import warned

# Expected with so few points and with weights.
pytestmark = [
    pytest.mark.filterwarnings("ignore::lapwing.exceptions.NoClassStructureWarning"),
    pytest.mark.filterwarnings("ignore::lapwing.exceptions.BalanceWarning"),
    pytest.mark.filterwarnings("ignore::lapwing.exceptions.SingleClassWarning"),
]


def every(holds: Callable[[Any], bool] = lambda estimator: True) -> Any:
    """Parametrize a test by the examples of the estimators for which something holds."""
    names = [name for name, example in EXAMPLES.items() if holds(example.estimator)]
    return pytest.mark.parametrize("name", names)


def has(*parameters: str) -> Callable[[Any], bool]:
    return lambda estimator: {*parameters} <= estimator.get_params(deep=False).keys()


def weighs_labels_only(estimator: Any) -> bool:
    """Return whether weights of unlabelled rows are ignored."""
    return not isinstance(estimator, S3VC | BalancedGraphClassifier)


def is_linear(estimator: Any) -> bool:
    return getattr(estimator, "kernel", "rbf") == "linear"


def blank(y: np.ndarray) -> Any:
    return np.nan if y.dtype.kind == "f" else -1


def test_every_estimator_has_an_example() -> None:
    check_examples(
        {type(example.estimator).__name__ for example in EXAMPLES.values()},
        lapwing.estimators.__all__,
        registry="__all__ of lapwing.estimators",
        place="EXAMPLES in tests/helpers/estimators.py",
    )


# ---- answers -----------------------------------------------------------------------------------


@every()
def test_answers_agree_with_each_other(name: str) -> None:
    model, X, y = fitted(EXAMPLES[name])
    check_answers(model, X[::3] + 0.1)
    n, c = len(X), scores(model, X).shape[1]
    assert model.n_features_in_ == 3
    assert model.intercept_.shape in ((c,), (1,)) or hasattr(model, "pairs_")
    assert np.shape(model.objective_) in (model.intercept_.shape, ())  # of a partition
    np.testing.assert_array_equal(model.labeled_, labeled_rows(y))
    assert model.transduction_.shape == (n,)
    assert model.score(X, y) > 0.5
    # With virtual labels, these are the decision values of the training rows.
    f = getattr(model, "virtual_labels_", scores(model, X))
    if not is_classifier(model):
        np.testing.assert_allclose(model.transduction_, f[:, 0], atol=1e-9)
        return
    f = of_each_class(f)
    ordered = np.sort(f, axis=1)
    sure = ordered[:, -1] - ordered[:, -2] > 1e-9
    assert sure.sum() > 50
    np.testing.assert_array_equal(model.transduction_[sure], model.classes_[f.argmax(axis=1)[sure]])
    shares = class_probabilities(f, model.probability_sharpness_)
    np.testing.assert_allclose(model.transduction_proba_, shares, rtol=1e-6)


@every(has("kernel"))
def test_attributes_are_those_of_the_function(name: str) -> None:
    """f = w'x + b or a kernel expansion, on the training points too (errata E5)."""
    model, X, _ = fitted(EXAMPLES[name])
    linear = is_linear(model) or isinstance(getattr(model, "space", None), Linear)
    assert hasattr(model, "coef_") == linear == (not hasattr(model, "alpha_"))
    if linear:
        f = X @ model.coef_.T + model.intercept_
    else:
        f = rbf_kernel(X, model.X_fit_, gamma=model.kernel_.gamma) @ model.alpha_ + model.intercept_
    if not hasattr(model, "pairs_"):
        np.testing.assert_allclose(scores(model, X), f, atol=1e-8)
    if has("max_iter")(model):
        assert isinstance(model.n_iter_, int)
        assert 1 <= model.n_iter_ <= model.max_iter
    if has("solver")(model):
        assert model.solver in ("auto", model.solver_)
    assert hasattr(model, "affinity_") == builds_a_graph(model)
    if not getattr(model, "fit_intercept", True):
        np.testing.assert_array_equal(model.intercept_, getattr(model, "class_offsets_", 0))


def builds_a_graph(estimator: Any) -> bool:
    return not isinstance(estimator, EigenfunctionClassifier) and bool(
        np.max(getattr(estimator, "gamma_I", getattr(estimator, "gamma_Is", 1.0)))
    )


@every(builds_a_graph)
def test_warns_about_and_answers_components_without_labels(name: str) -> None:
    X, y, _ = EXAMPLES[name].data()
    X, y = np.vstack([X, X[:20] + 100]), np.append(y, np.full(20, blank(y)))
    made: list[Any] = []
    found = warned(
        lambda: made.append(clone(EXAMPLES[name].estimator).fit(X, y)), UnlabeledComponentWarning
    )
    assert len(found) == 1
    assert "contain no labelled point" in str(found[0].message)
    assert found[0].filename == __file__
    assert np.isfinite(scores(made[0], X)).all()


# ---- spaces ------------------------------------------------------------------------------------

# Recipes by their names in SPACES, with the kernel that gives the same functions without them.
SPACE_EXAMPLES: dict[str, tuple[Any, str]] = {
    "Landmarks": (Landmarks(10**6), "rbf"),
    "Linear": (Linear(), "linear"),
}
TAKERS = [
    thing
    for thing in (getattr(lapwing, name) for name in lapwing.estimators.__all__)
    if "space" in thing().get_params() and not issubclass(thing, PathEstimator)
]


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("estimator", TAKERS)
def test_a_space_of_the_same_functions_gives_the_same_answers(estimator: Any, name: str) -> None:
    X, y, _ = data_for(estimator)
    recipe, kernel = SPACE_EXAMPLES[name]
    before = recipe.get_params()
    options: dict[str, Any] = {"gamma": 0.2}
    if "tol" in estimator().get_params():
        options["tol"] = 1e-8
    if estimator is S3VC:
        options |= {"gamma_I": 0.2, **ONE_DESCENT}
    expected = scores(estimator(kernel=kernel, **options).fit(X, y), X)
    found = scores(estimator(space=recipe, **options).fit(X, y), X)
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())
    assert recipe.get_params() == before


@pytest.mark.parametrize("estimator", TAKERS)
def test_a_kernel_matrix_has_no_linear_functions(estimator: Any) -> None:
    X, y, _ = data_for(estimator)
    with pytest.raises(ValueError, match=r"space=Linear\(\) needs the features"):
        estimator(kernel="precomputed", space=Linear()).fit(X @ X.T, y)


# ---- rows, labels and weights ------------------------------------------------------------------


@every()
def test_order_of_points_does_not_matter(name: str) -> None:
    model, X, y, w = weighted(EXAMPLES[name])
    order = np.random.default_rng(2).permutation(len(X))
    turned = EXAMPLES[name].fit(X[order], y[order], sample_weight=w[order])
    EXAMPLES[name].check_same(turned, model, X)
    if hasattr(model, "virtual_labels_"):
        f = model.virtual_labels_
        limit = max(1e-7, EXAMPLES[name].digits) * np.abs(f).max()
        np.testing.assert_allclose(turned.virtual_labels_, f[order], atol=limit)


# The volumes of a partition count rows.
@every(lambda estimator: not isinstance(estimator, BalancedGraphClassifier))
def test_repeated_row_equals_weight_two(name: str) -> None:
    X, y, _ = EXAMPLES[name].data()
    twice = np.flatnonzero(labeled_rows(y))[::2]
    if isinstance(EXAMPLES[name].estimator, S3VC):
        twice = np.r_[twice, np.flatnonzero(~labeled_rows(y))[::3]]
    weights = np.ones(len(X))
    weights[twice] = 2
    model = EXAMPLES[name].fit(X, y, sample_weight=weights)
    repeated = EXAMPLES[name].fit(np.vstack([X, X[twice]]), np.append(y, y[twice]))
    EXAMPLES[name].check_same(repeated, model, X)
    if is_classifier(model):
        assert repeated.probability_sharpness_ == pytest.approx(model.probability_sharpness_)
    assert repeated.transduction_.shape == repeated.labeled_.shape == (len(X) + len(twice),)
    np.testing.assert_array_equal(
        repeated.transduction_[len(X) :], repeated.transduction_[: len(X)][twice]
    )
    np.testing.assert_array_equal(repeated.basis_, model.basis_)
    assert np.abs(scores(model, X) - scores(fitted(EXAMPLES[name])[0], X)).max() > 1e-8


@every(weighs_labels_only)
def test_copies_and_weights_of_unlabelled_rows_do_not_matter(name: str) -> None:
    model, X, y = fitted(EXAMPLES[name])
    more = EXAMPLES[name].fit(np.vstack([X, X]), np.append(y, np.full(len(X), blank(y))))
    np.testing.assert_allclose(scores(more, X), scores(model, X), atol=1e-9)
    np.testing.assert_array_equal(more.transduction_[: len(X)], more.transduction_[len(X) :])
    weights = np.where(labeled_rows(y), 1.0, np.resize([-3.0, 0.0, 7.0], len(X)))
    same = EXAMPLES[name].fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(scores(same, X), scores(model, X))


@every()
def test_row_of_weight_zero_is_removed_and_predicted(name: str) -> None:
    X, y, _ = EXAMPLES[name].data()
    gone = np.flatnonzero(labeled_rows(y))[::3]
    weights = np.ones(len(X))
    weights[gone] = 0
    model = EXAMPLES[name].fit(X, y, sample_weight=weights)
    removed = EXAMPLES[name].fit(np.delete(X, gone, axis=0), np.delete(y, gone))
    EXAMPLES[name].check_same(removed, model, X)
    assert model.transduction_.shape == (len(X),)
    expected, answer = model.predict(X[gone]), model.transduction_[gone]
    if is_classifier(model):
        np.testing.assert_array_equal(answer, expected)
    else:
        np.testing.assert_allclose(answer, expected, atol=1e-9)


@every(is_classifier)
def test_names_of_classes_do_not_matter(name: str) -> None:
    model, X, y = fitted(EXAMPLES[name])
    names = np.array(["oak", "larch", "fir", "beech", "?"])[[*range(len(model.classes_)), -1]]
    again = clone(EXAMPLES[name].estimator).set_params(unlabeled="?").fit(X, names[y])
    assert again.classes_.tolist() == sorted(names[:-1])
    f = of_each_class(scores(model, X))
    limit = EXAMPLES[name].digits * np.abs(f).max()
    np.testing.assert_allclose(of_each_class(scores(again, X))[:, ::-1], f, atol=limit)
    np.testing.assert_allclose(
        again.predict_proba(X)[:, ::-1], model.predict_proba(X), rtol=1e-3, atol=1e-4
    )
    np.testing.assert_array_equal(again.labeled_, model.labeled_)


@every(has("class_weight"))
def test_class_weights_equal_sample_weights(name: str) -> None:
    X, y, _ = EXAMPLES[name].data()
    y[np.flatnonzero(y == 0)[2:]] = -1
    known, base = y >= 0, np.random.default_rng(0).uniform(0.5, 2, len(X))

    def fit(class_weight: Any, factors: Any) -> Any:
        estimator = clone(EXAMPLES[name].estimator).set_params(class_weight=class_weight)
        return estimator.fit(X, y, sample_weight=base * np.where(known, factors, 1.0))

    named = {0: 3.0, 1: 0.5}  # others keep 1
    counts = np.bincount(y[known])
    balanced = (counts.sum() / (len(counts) * counts))[y]
    by_hand = fit(None, np.select([y == 0, y == 1], [3.0, 0.5], 1.0))
    EXAMPLES[name].check_same(fit(named, 1.0), by_hand, X)
    EXAMPLES[name].check_same(fit("balanced", 1.0), fit(None, balanced), X)
    assert np.abs(scores(by_hand, X) - scores(fit(None, 1.0), X)).max() > 1e-8


def rescaled(estimator: Any, factor: float) -> Any:
    """Multiply the losses by a factor, relative to the norms."""
    losses = ("C",) if isinstance(estimator, S3VC) else ("lam", "lams")
    norms = ("gamma_A", "gamma_I", "gamma_As", "gamma_Is")
    given = estimator.get_params(deep=False)
    changes = {name: np.multiply(given[name], factor).tolist() for name in losses if name in given}
    if not changes:
        changes = {name: np.divide(given[name], factor).tolist() for name in norms if name in given}
    return clone(estimator).set_params(**changes)


@every(lambda estimator: not isinstance(estimator, BalancedGraphClassifier))
def test_weights_are_factors_of_the_losses(name: str) -> None:
    X, y, _ = EXAMPLES[name].data()
    model = EXAMPLES[name].fit(X, y, sample_weight=np.full(len(X), 4.0))
    EXAMPLES[name].check_same(model, rescaled(EXAMPLES[name].estimator, 4.0).fit(X, y), X)


# ---- forms of the points -----------------------------------------------------------------------

SPARSE = (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array, sp.csc_matrix)


@every()
def test_sparse_points_equal_dense_points(name: str) -> None:
    X, y, _ = EXAMPLES[name].data()
    X = np.where(np.abs(X) < 0.7, 0, X)
    dense, sparse = EXAMPLES[name].fit(X, y), EXAMPLES[name].fit(sp.csr_array(X), y)
    EXAMPLES[name].check_same(dense, dense, X, sp.csr_array(X))
    for form in SPARSE:
        EXAMPLES[name].check_same(sparse, dense, X, form(X))
    check_answers(sparse, sp.csr_array(X))


@every()
def test_float32_is_close_to_float64(name: str) -> None:
    expected, X, y = fitted(EXAMPLES[name])
    estimator = clone(EXAMPLES[name].estimator)
    if has("tol")(estimator):
        estimator.set_params(tol=max(estimator.tol or 0, 1e-5))
    X32 = X.astype(np.float32)
    model = estimator.fit(X32, y)
    f = scores(expected, X)
    if has("kernel")(estimator):  # the baselines answer in float64
        assert scores(model, X32).dtype == np.float32
        for attribute in {"alpha_", "coef_", "intercept_"} & vars(model).keys():
            assert getattr(model, attribute).dtype == np.float32
    np.testing.assert_allclose(scores(model, X32), f, atol=2e-2 * np.abs(f).max())
    check_answers(model, X32)


# The linear kernel has the unit of the features.
@every(lambda estimator: not is_linear(estimator))
@pytest.mark.filterwarnings("ignore:L-BFGS was limited by rounding")
def test_unit_of_features_does_not_matter(name: str) -> None:
    """Squares of these units overflow or underflow float32; powers of 2 are exact."""
    X, y, _ = EXAMPLES[name].data()
    X = X.astype(np.float32)
    expected = EXAMPLES[name].fit(X, y)
    limit = 0.05 if isinstance(expected, S3VC) else 1e-5
    for unit in (2.0**100, 2.0**-100):
        scaled = (X * unit).astype(np.float32)
        model = EXAMPLES[name].fit(scaled, y)
        np.testing.assert_allclose(
            scores(model, scaled), scores(expected, X), atol=limit, rtol=limit
        )
        check_answers(model, scaled)
        found = scores(EXAMPLES[name].fit(sp.csr_array(scaled), y), scaled)
        np.testing.assert_allclose(found, scores(expected, X), atol=max(limit, 1e-4))


def has_a_graph_and_a_kernel(estimator: Any) -> bool:
    return has("kernel", "graph")(estimator) and not is_linear(estimator)


@every(has_a_graph_and_a_kernel)
def test_precomputed_kernel_equals_the_kernel(name: str) -> None:
    model, X, y = fitted(EXAMPLES[name])
    graph = given_graph(model) if hasattr(model, "affinity_") else None
    given = clone(EXAMPLES[name].estimator).set_params(kernel="precomputed", graph=graph)
    if isinstance(getattr(model, "space", None), Landmarks):
        given.set_params(space=None)
    gamma, Z = model.kernel_.gamma, X[::5] + 0.1
    K, new, f = rbf_kernel(X, gamma=gamma), rbf_kernel(Z, X, gamma=gamma), scores(model, Z)
    for form in (np.asarray, sp.csr_array):
        if form is sp.csr_array and getattr(given, "tol", 0) is None:
            given.set_params(tol=1e-10)  # which is solved by conjugate gradient
        given.fit(form(K), y)
        limit = max(1e-5, EXAMPLES[name].digits) * np.abs(f).max()
        np.testing.assert_allclose(scores(given, form(new)), f, atol=limit)
        check_answers(given, form(new))
        assert given.n_features_in_ == len(X)
        assert given.X_fit_ is None
    # Rows of weight zero are removed from kernel and graph matrices, too.
    weights = np.ones(len(X))
    weights[np.flatnonzero(labeled_rows(y))[::3]] = 0
    fixed = clone(EXAMPLES[name].estimator).set_params(gamma=gamma, graph=graph)
    f = scores(fixed.fit(X, y, sample_weight=weights), Z)
    given.fit(K, y, sample_weight=weights)
    np.testing.assert_allclose(scores(given, new), f, atol=limit)
    assert given.transduction_.shape == (len(X),)


NAMES = ["length", "width", "height"]
FRAMES: dict[str, Callable[[np.ndarray], Any]] = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES, index=range(100, 100 + len(X))),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
}


@every()
def test_frames_equal_arrays_with_names(name: str) -> None:
    expected, X, y = fitted(EXAMPLES[name])
    assert not hasattr(expected, "feature_names_in_")
    for frame in FRAMES.values() if name == "LapSVC" else (FRAMES["pandas"],):
        model = EXAMPLES[name].fit(frame(X), y)
        assert model.feature_names_in_.tolist() == NAMES
        EXAMPLES[name].check_same(model, expected, X, frame(X))
        with pytest.raises(ValueError, match="feature names should match those that were passed"):
            model.predict(frame(X)[NAMES[::-1]])
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            model.predict(X)


# ---- values, not side effects ------------------------------------------------------------------


@every()
def test_fit_does_not_change_or_keep_its_inputs(name: str) -> None:
    estimator, (X, y, _) = clone(EXAMPLES[name].estimator), EXAMPLES[name].data()
    before = dict(vars(estimator))
    model, w = fitted(EXAMPLES[name])[0], np.ones(len(X))
    for array in (X, y, w):
        array.flags.writeable = False
    estimator.fit(X, y, sample_weight=w).predict(X)
    assert {key: vars(estimator)[key] for key in before} == before
    for container in (np.asarray, sp.csr_array):
        given = container(X.copy())
        model = EXAMPLES[name].fit(given, y)
        f = scores(model, X)
        (given.data if sp.issparse(given) else given)[:] = 1e3
        np.testing.assert_array_equal(scores(model, X), f)


@every()
def test_fit_is_reproducible_and_silent(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    model, X, y = fitted(EXAMPLES[name])
    again = EXAMPLES[name].fit(X, y)
    assert pickle.dumps(scores(again, X)) == pickle.dumps(scores(model, X))
    again.fit(X, y).predict(X)
    assert pickle.dumps(scores(again, X)) == pickle.dumps(scores(model, X))
    assert capfd.readouterr() == ("", "")


STAGES = {
    "LapSVC": "graph kernel solve",
    "LapERLSClassifier": "graph eigenpairs landmarks features solve",
    "AnchorGraphClassifier": "graph solve",
    "EigenfunctionClassifier": "eigenfunctions solve",
    "S3VC": "space solve",
}


@every()
def test_callbacks_see_all_stages_and_do_not_change_the_fit(name: str) -> None:
    model, X, y = fitted(EXAMPLES[name])
    record = Record()
    watched = clone(EXAMPLES[name].estimator).set_callbacks(record).fit(X, y)
    (fit, n_stages), *stages = record.stages
    assert (fit, n_stages) == ("fit", len(stages))
    if name in STAGES:
        assert [stage for stage, _ in stages] == STAGES[name].split()
    assert record.states == ["setup", "teardown"]
    assert record.given[0] is X
    assert record.given[1] is y
    assert sorted(record.ended) == sorted(task for task, _ in record.begun)
    assert record.ended[-1] == "fit"
    np.testing.assert_array_equal(record.predictions[-1], watched.predict(X))
    np.testing.assert_array_equal(scores(watched, X), scores(model, X))
    assert vars(watched).keys() - vars(model).keys() == {"_skl_callbacks"}


@every()
def test_fit_forgets_the_previous_fit(name: str) -> None:
    model, X, y = fitted(EXAMPLES[name])
    used, own = clone(EXAMPLES[name].estimator), EXAMPLES[name].estimator.get_params(deep=False)
    few = first_labels(EXAMPLES[name].data().truth, 9) if is_classifier(used) else y
    if isinstance(used, PathEstimator | S3VC) or not has("kernel", "gamma_I")(used):
        used.fit(X[:40, :2], np.where(few == 2, -1, few)[:40])
    else:
        used.set_params(kernel="rbf" if is_linear(used) else "linear", gamma_I=0.5)
        used.fit(X[:40], few[:40]).set_params(kernel=own["kernel"], gamma_I=own["gamma_I"])
    np.testing.assert_array_equal(scores(used.fit(X, y), X), scores(model, X))
    assert sorted(vars(used)) == sorted(vars(model))
    with pytest.raises(ValueError, match="y contains no label"):
        used.fit(X, np.full(len(X), blank(y)))
    with pytest.raises(NotFittedError):
        used.predict(X)


@every()
def test_files_and_pickles_are_small_and_exact(name: str, tmp_path: Any) -> None:
    X, y, _ = EXAMPLES[name].data(n=200)
    model = EXAMPLES[name].fit(X, y)
    content = pickle.dumps(model)
    assert len(content) < 200 * 200 * 8 / 4  # neither the kernel nor a factor of it
    path = tmp_path / "model.lapwing"
    save_model(model, path)
    saved, loaded = path.read_bytes(), load_model(path).pipeline
    assert len(saved) < 200 * 200 * 8 / 4
    save_model(loaded, path)
    assert path.read_bytes() == saved
    for again in (pickle.loads(content), loaded):
        np.testing.assert_array_equal(scores(again, X), scores(model, X))
        assert again.score(X, y) == model.score(X, y)
        assert repr(again) == repr(model)
        for key, value in vars(model).items():
            if is_fitted_name(key):
                found = getattr(again, key)
                if isinstance(value, np.ndarray):
                    np.testing.assert_array_equal(found, value)
                    assert found.dtype == value.dtype
                elif isinstance(value, tuple | dict | str | int | float):
                    assert repr(found) == repr(value)
