"""What all classifiers share: labels of any type, their order, weights and scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.model_selection import cross_val_score

from lapwing import (
    AnchorGraph,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
)
from tests.helpers.data import labeled_clusters

NAMES = np.array(["ash", "beech", "cedar", "dogwood"])


@pytest.mark.parametrize(
    "estimator",
    [LapSVC(gamma_A=1e-2), LapSVC(gamma_A=1e-2, loss="hinge"), LapRLSClassifier(gamma_A=1e-2)],
    ids=["squared_hinge", "hinge", "squared"],
)
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.SingleClassWarning")
def test_columns_are_one_against_the_rest_in_the_order_of_the_classes(estimator: Any) -> None:
    X, y, _ = labeled_clusters(4)
    y = np.where(y == -1, "?", NAMES[::-1][y])
    estimator = clone(estimator).set_params(unlabeled="?")
    joint = clone(estimator).fit(X, y)
    assert joint.classes_.tolist() == NAMES.tolist()
    for column, label in enumerate(NAMES):
        binary = np.where(y == "?", "?", np.where(y == label, "this", "rest"))
        alone = clone(estimator).fit(X, binary)
        assert alone.classes_.tolist() == ["rest", "this"]
        np.testing.assert_allclose(
            joint.decision_function(X)[:, column], alone.decision_function(X), atol=1e-7
        )


LABEL_TYPES: dict[str, tuple[list[Any], Any]] = {
    "int": ([3, 7, 5], -1),
    "bool": ([True, False], None),
    "bool, marker -1": ([True, False], -1),
    "str": (["b", "c", "a"], "?"),
    "str, None": (["b", "c", "a"], None),
    "str, NaN": (["b", "c", "a"], np.nan),
    "float": ([1.0, 2.0, 0.0], np.nan),
    "minus and plus one": ([-1, 1], 0),
    "np.str_": ([np.str_("b"), np.str_("a")], "?"),
}


@pytest.mark.parametrize(
    ("estimator", "kind"),
    [
        *((LapSVC(), kind) for kind in LABEL_TYPES),
        # They are read by the same code.
        (LapRLSClassifier(), "str"),
        (AnchorGraphClassifier(AnchorGraph(12)), "str"),
        (EigenfunctionClassifier(), "str"),
    ],
)
def test_labels_of_any_type(estimator: Any, kind: str) -> None:
    labels, marker = LABEL_TYPES[kind]
    X, codes, _ = labeled_clusters(len(labels))
    y = [marker if code == -1 else labels[code] for code in codes]
    numbers = clone(estimator).fit(X, codes)
    fitted = clone(estimator).set_params(unlabeled=marker).fit(X, y)
    assert fitted.classes_.tolist() == sorted(labels)
    predicted = fitted.predict(X)
    assert predicted.tolist() == [labels[code] for code in numbers.predict(X)]
    assert {type(label) for label in predicted.tolist()} == {type(sorted(labels)[0])} - {
        np.str_
    } or isinstance(labels[0], np.str_)
    assert fitted.transduction_.dtype == fitted.classes_.dtype == predicted.dtype
    assert fitted.score(X, predicted) == 1.0


@pytest.mark.parametrize(
    "estimator", [LapSVC(), LapSVC(loss="hinge"), LapRLSClassifier()], ids=["sqh", "hinge", "rls"]
)
def test_class_weights_are_sample_weights(estimator: Any) -> None:
    X, y, _ = labeled_clusters(3)
    y[np.flatnonzero(y == 0)[1:]] = -1
    names = np.where(y == -1, "?", NAMES[y])
    base_weight = np.random.default_rng(0).uniform(0.5, 2, len(X))

    def fitted(weights: np.ndarray, class_weight: Any) -> np.ndarray:
        model = clone(estimator).set_params(gamma_A=1e-2, class_weight=class_weight, unlabeled="?")
        return model.fit(X, names, sample_weight=weights).decision_function(X)

    plain = fitted(base_weight, None)
    weighted = fitted(base_weight, {"ash": 3.0, "beech": 0.5})  # those not named keep 1
    factors = np.select([y == 0, y == 1], [3.0, 0.5], 1.0)
    np.testing.assert_array_equal(weighted, fitted(base_weight * factors, None))
    assert np.abs(weighted - plain).max() > 1e-3
    counts = np.bincount(y[y != -1])
    assert counts.tolist() == [1, 5, 5]
    balanced = counts.sum() / (3 * counts)
    np.testing.assert_allclose(
        fitted(base_weight, "balanced"),
        fitted(base_weight * np.where(y == -1, 1, balanced[y]), None),
        atol=1e-9,
    )


def test_score_leaves_unlabelled_rows_out() -> None:
    X, truth = make_moons(60, noise=0.05, random_state=0)
    y = np.where(np.arange(60) % 3 == 0, truth, -1)
    model = LapSVC().fit(X, y)
    shown = y >= 0
    accuracy = float((model.predict(X[shown]) == truth[shown]).mean())
    assert model.score(X, y) == accuracy
    w = np.random.default_rng(0).uniform(size=60)
    assert model.score(X, y, w) == model.score(X[shown], y[shown], w[shown])
    texts = np.array(["?", "a", "b"], dtype=object)[y + 1]
    assert LapSVC(unlabeled="?").fit(X, texts).score(X.tolist(), texts.tolist()) == accuracy
    with pytest.raises(ValueError, match="score needs labelled rows, and all 5 are unlabelled"):
        model.score(X[:5], [-1] * 5)

    values = np.where(shown, X[:, 0], np.nan)
    regressor = LapRLSRegressor().fit(X, values)
    assert regressor.score(X, values) == regressor.score(X[shown], values[shown])
    assert np.isfinite(cross_val_score(LapSVC(), X, y, cv=3)).all()
