"""From a table to predictions: choice of the estimator, scaling, fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from lapwing.estimators import LapRLSClassifier, LapRLSRegressor, LapSVC, LapSVR
from lapwing.predictions import Predictions
from lapwing.tables import Table

__all__ = ["METHODS", "SCALES", "Fit", "Method", "Scaling", "choose_scaling", "find_method", "fit"]

SCALES = ("auto", "standard", "none")
# With distances from d columns, one that varies ten times as much as a typical other weighs as
# much as a hundred of them. Pixels and words stay below 2.5 (their rare columns, of tiny spread,
# are why the yardstick is the median and not the smallest); tables of mixed units reach hundreds.
_SPREAD_RATIO = 10.0


@dataclass(frozen=True)
class Method:
    """An estimator that the command line knows by name."""

    estimator: Callable[[], Any]
    regression: bool


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "lapsvc": Method(LapSVC, regression=False),
        "laprls": Method(LapRLSClassifier, regression=False),
        "lapsvr": Method(LapSVR, regression=True),
        "laprls-regressor": Method(LapRLSRegressor, regression=True),
    }
)


@dataclass(frozen=True)
class Scaling:
    """Whether the columns are standardised, and why, in words for the user."""

    standardize: bool
    reason: str


@dataclass(frozen=True)
class Fit:
    """A fitted model with what it says of the table's rows.

    Attributes
    ----------
    model : Pipeline
        Scaling (if any) and estimator; takes features as they are in the file.
    scaling : Scaling
        What was done to the columns.
    predictions : Predictions
        Label, scores and margin of every row.
    seconds : float
        Time of fit and prediction.
    """

    model: Pipeline
    scaling: Scaling
    predictions: Predictions
    seconds: float


def find_method(name: str) -> Method:
    """Return the method of that name; a `ValueError` lists the names where there is none."""
    if name not in METHODS:
        raise ValueError(f"--method {name!r} is none of {', '.join(METHODS)}.")
    return METHODS[name]


def choose_scaling(X: NDArray[Any], feature_names: Iterable[str], scale: str) -> Scaling:
    """Decide whether columns should be standardised before distances are taken.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Features.
    feature_names : iterable of str
        Names of the columns.
    scale : {'auto', 'standard', 'none'}
        'auto' standardises when the largest standard deviation is more than ten times the median
        one (columns without variation do not count).

    Returns
    -------
    Scaling
        The decision with its reason.

    Raises
    ------
    ValueError
        If `scale` is none of the three.
    """
    if scale not in SCALES:
        raise ValueError(f"--scale {scale!r} is none of {', '.join(SCALES)}.")
    if scale != "auto":
        standard = scale == "standard"
        return Scaling(
            standard, f"columns {'standardised' if standard else 'as they are'}, as told"
        )
    spread = X.std(axis=0, dtype=np.float64)
    varying = np.sort(spread[spread > 0])
    if varying.size < 2:
        return Scaling(False, "columns as they are")
    # The lower median: of two columns it is the smaller, and the rule still sees their ratio.
    ratio = varying[-1] / varying[(varying.size - 1) // 2]
    if ratio <= _SPREAD_RATIO:
        return Scaling(False, "columns as they are: they vary on similar scales")
    widest = list(feature_names)[int(np.argmax(spread))]
    return Scaling(
        True,
        f"columns standardised: {widest!r} varies {ratio:.3g} times as much as the median column "
        "(--scale none leaves them as they are)",
    )


def fit(
    table: Table,
    method: str = "lapsvc",
    *,
    scale: str = "auto",
    seed: int | None = 0,
    callbacks: Iterable[object] = (),
) -> Fit:
    """Fit an estimator to a table and predict all its rows.

    Parameters
    ----------
    table : Table
        Rows with and without labels.
    method : str, default='lapsvc'
        A name in `METHODS`.
    scale : {'auto', 'standard', 'none'}, default='auto'
        See `choose_scaling`.
    seed : int or None, default=0
        The estimator's `random_state`.
    callbacks : iterable of scikit-learn callbacks, default=()
        Told of the progress.

    Returns
    -------
    Fit
        Model and predictions.

    Raises
    ------
    ValueError, MemoryError
        Those of the estimator.
    """
    chosen = find_method(method)
    scaling = choose_scaling(table.X, table.feature_names, scale)
    estimator = chosen.estimator()
    # Not every estimator has each: a regressor's marker is always NaN, some fits are not random.
    wanted = {"unlabeled": table.unlabeled, "random_state": seed}
    known = estimator.get_params(deep=False)
    estimator.set_params(**{name: value for name, value in wanted.items() if name in known})
    scaler = StandardScaler() if scaling.standardize else FunctionTransformer()
    start = time.perf_counter()
    # The steps are fitted one by one and joined afterwards: a Pipeline's own fit would show two
    # more bars of progress, which mean nothing to who has not written it.
    estimator.set_callbacks(*callbacks).fit(scaler.fit_transform(table.X), table.y)
    estimator.set_callbacks()
    model = Pipeline([("scale", scaler), ("estimator", estimator)])
    predictions = _predict(model, table, regression=chosen.regression)
    return Fit(model, scaling, predictions, time.perf_counter() - start)


def _predict(model: Pipeline, table: Table, *, regression: bool) -> Predictions:
    if regression:
        return Predictions(table.ids, model.predict(table.X), table.labeled)
    scores = model.decision_function(table.X)
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    # Not `predict`: this way label and scores in a row agree whatever the estimator's tie rule,
    # and a kernel with all rows is computed once.
    labels = model.classes_[np.argmax(scores, axis=1)]
    return Predictions(table.ids, labels, table.labeled, model.classes_, scores)
