"""What estimators of all families are asked for, in one form: one column a function."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from lapwing.classes.decoding import of_each_class

Array = np.ndarray[Any, Any]


def scores(estimator: Any, X: Any) -> Array:
    """The fitted functions at points, one column each."""
    values = estimator.decision_function(X) if is_classifier(estimator) else estimator.predict(X)
    return values[:, None] if values.ndim == 1 else values  # type: ignore[no-any-return]


def labeled_rows(y: Array) -> Array:
    """Where y has no marker: -1, or NaN among targets of a regression."""
    return ~np.isnan(y) if y.dtype.kind == "f" else y != -1


def coded_targets(estimator: Any, y: Array) -> Array:
    """Targets at the labelled rows, one column a function, positive for the class of the column."""
    known = y[labeled_rows(y)]
    if not is_classifier(estimator):
        return known[:, None]
    classes = estimator.classes_[1:] if len(estimator.classes_) == 2 else estimator.classes_
    return np.where(known[:, None] == classes, 1.0, -1.0)


def check_answers(model: Any, X: Any) -> None:
    """Predictions are those of the scores, and so are the probabilities."""
    f = scores(model, X)
    assert np.isfinite(f).all()
    if not is_classifier(model):
        np.testing.assert_array_equal(model.predict(X), f[:, 0])
        return
    k = len(model.classes_)
    assert model.decision_function(X).shape == ((len(f),) if k == 2 else (len(f), k))
    winner = (f[:, 0] >= 0).astype(int) if k == 2 else f.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[winner])
    P = model.predict_proba(X)
    sharpened = model.probability_sharpness_ * of_each_class(f)
    shares = np.exp(sharpened - sharpened.max(axis=1, keepdims=True))
    np.testing.assert_allclose(P, shares / shares.sum(axis=1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(P), rtol=1e-12)
    for shares, answers in ((P, winner), (model.transduction_proba_, None)):
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)
        expected = model.transduction_ if answers is None else model.classes_[answers]
        np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], expected)
