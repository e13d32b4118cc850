"""From a table to predictions: choice of the estimator, preprocessing, fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from lapwing._app.forecast import Forecast, forecast_fit, forecast_low_density
from lapwing._app.settings import apply_settings
from lapwing._arrays import is_sparse
from lapwing._tables.columns import CATEGORICAL, nearest
from lapwing._tables.predictions import Predictions
from lapwing._tables.tables import Table
from lapwing.estimators import S3VC, LapRLSClassifier, LapRLSRegressor, LapSVC, LapSVR
from lapwing.graphs import default_graph
from lapwing.linalg import column_variances

__all__ = [
    "IMPUTES",
    "METHODS",
    "SCALES",
    "Method",
    "Outcome",
    "Scaling",
    "choose_scaling",
    "find_method",
    "fit",
    "predict",
    "spreads",
    "transform",
]

SCALES = ("auto", "standard", "none")
IMPUTES = ("none", "median", "mean")
# With distances from d columns, one that varies ten times as much as a typical other weighs as
# much as a hundred of them. Pixels and words stay below 2.5 (their rare columns, of tiny spread,
# are why the yardstick is the median and not the smallest); tables of mixed units reach hundreds.
_SPREAD_RATIO = 10.0


@dataclass(frozen=True)
class Method:
    """An estimator that the command line knows by name.

    Attributes
    ----------
    estimator : callable
        Makes one with default parameters.
    regression : bool
        Whether it predicts numbers.
    forecast : callable
        Memory and time of a fit from the numbers of points, features and one-vs-rest columns; see
        `lapwing._app.forecast`.
    supervised : mapping
        Parameters with which unlabelled rows teach it nothing.
    """

    estimator: Callable[[], Any]
    regression: bool
    forecast: Callable[..., Forecast] = forecast_fit
    supervised: Mapping[str, Any] = field(default_factory=lambda: {"gamma_I": 0.0})


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "lapsvc": Method(LapSVC, regression=False),
        "laprls": Method(LapRLSClassifier, regression=False),
        "s3vc": Method(
            S3VC,
            regression=False,
            forecast=forecast_low_density,
            # A balance is about the unlabelled rows as well.
            supervised={"gamma_I": 0.0, "C_star": 0.0, "balance": None},
        ),
        "lapsvr": Method(LapSVR, regression=True, forecast=partial(forecast_fit, iterative=False)),
        "laprls-regressor": Method(LapRLSRegressor, regression=True),
    }
)


@dataclass(frozen=True)
class Scaling:
    """Whether the columns are standardised, and why, in words for the user."""

    standardize: bool
    reason: str


@dataclass(frozen=True)
class Outcome:
    """A fitted model with what it says of the table's rows.

    Attributes
    ----------
    table : Table
        What was learnt from.
    pipeline : Pipeline
        Preprocessing and estimator, fitted; takes features as they are in the file. Its last step
        is the estimator.
    supervised : estimator or None
        The same estimator, with `Method.supervised`, fitted to the same labels, on transformed
        points.
    predictions : Predictions
        Label, scores and margin of every row.
    method : str
        Name in `METHODS`.
    parameters : dict
        The estimator's parameters, those of its graph and space as ``graph.name`` and
        ``space.name``; as JSON has them.
    seed : int or None
        Seed of all that is random.
    scaling : str
        What was done to the columns.
    seconds : float
        Time of fit and prediction.
    """

    table: Table
    pipeline: Pipeline
    supervised: Any
    predictions: Predictions
    method: str
    parameters: dict[str, Any]
    seed: int | None
    scaling: str
    seconds: float


def find_method(name: str) -> tuple[str, Method]:
    """Return the method of that name, or of the estimator's, with its name in `METHODS`.

    Raises
    ------
    ValueError
        If there is none; says the nearest name.
    """
    known = {key: key for key in METHODS}
    known |= {method.estimator.__name__: key for key, method in METHODS.items()}
    folded = {other.casefold(): key for other, key in known.items()}
    if name.casefold() in folded:
        key = folded[name.casefold()]
        return key, METHODS[key]
    close = nearest(name, METHODS, n=2)
    guess = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    raise ValueError(f"--method {name!r} is none of {', '.join(METHODS)}.{guess}")


def choose_scaling(spread: NDArray[Any], feature_names: Iterable[str], scale: str) -> Scaling:
    """Decide whether columns should be standardised before distances are taken.

    Parameters
    ----------
    spread : ndarray of shape (p,)
        Standard deviations of the columns.
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
    settings: Mapping[str, Any] | None = None,
    scale: str = "auto",
    impute: str = "none",
    seed: int | None = 0,
    supervised: bool = False,
    callbacks: Iterable[object] = (),
) -> Outcome:
    """Fit an estimator to a table and predict all its rows.

    Parameters
    ----------
    table : Table
        Rows with and without labels.
    method : str, default='lapsvc'
        A name in `METHODS`.
    settings : mapping, default=None
        Parameters of the estimator, see `lapwing._app.settings.parse_settings`.
    scale : {'auto', 'standard', 'none'}, default='auto'
        See `choose_scaling`.
    impute : {'none', 'median', 'mean'}, default='none'
        What takes the place of missing numbers. A missing text is a value of its own.
    seed : int or None, default=0
        The estimator's `random_state`.
    supervised : bool, default=False
        Whether to fit the supervised twin too.
    callbacks : iterable of scikit-learn callbacks, default=()
        Told of the progress.

    Returns
    -------
    Outcome
        Model and predictions.

    Raises
    ------
    ValueError, MemoryError
        Those of the estimator.
    """
    name, chosen = find_method(method)
    start = time.perf_counter()
    steps, words, points = _preprocess(table, scale, impute)
    estimator = chosen.estimator()
    # Not every estimator has each: a regressor's marker is always NaN, some fits are not random.
    wanted = {"unlabeled": table.unlabeled, "random_state": seed}
    known = estimator.get_params(deep=False)
    estimator.set_params(**{name: value for name, value in wanted.items() if name in known})
    apply_settings(
        estimator,
        settings or {},
        lambda: default_graph(points, regression=chosen.regression),
    )
    _fit_estimator(estimator, points, table.y, settings, callbacks)
    twin = _twin(estimator, chosen, points, table.y) if supervised else None
    pipeline = Pipeline([*steps, ("estimator", estimator)])
    predictions = _answer(estimator, points, table.ids, table.labeled, chosen.regression)
    return Outcome(
        table,
        pipeline,
        twin,
        predictions,
        name,
        _describe_parameters(estimator),
        seed,
        words,
        time.perf_counter() - start,
    )


def transform(pipeline: Any, X: Any) -> Any:
    """Give the points that the last step of a pipeline was fitted on."""
    return pipeline[:-1].transform(X) if len(pipeline) > 1 else X


def predict(pipeline: Any, table: Table, *, regression: bool) -> Predictions:
    """Predict the rows of a table.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted.
    table : Table
        With the features that it was fitted on.
    regression : bool
        Whether it predicts numbers.

    Returns
    -------
    Predictions
        For all rows.
    """
    points = transform(pipeline, table.X)
    return _answer(pipeline[-1], points, table.ids, table.labeled, regression)


def _preprocess(table: Table, scale: str, impute: str) -> tuple[list[Any], str, Any]:
    """Fit the steps before the estimator; return them, what they do, and the points."""
    if impute not in IMPUTES:
        raise ValueError(f"--impute {impute!r} is none of {', '.join(IMPUTES)}.")
    imputer = [] if impute == "none" else [("impute", SimpleImputer(strategy=impute))]
    texts = [
        name
        for name, kind in zip(table.feature_names, table.kinds, strict=False)
        if kind == CATEGORICAL
    ]
    numeric = [name for name in table.feature_names if name not in texts]
    spread = spreads(table.X[numeric].to_numpy() if texts else table.X)
    if texts:
        spread = np.concatenate([spread, _one_hot_spreads(table.X, texts)])
    # As many names as spreads: what a category is called is of no interest here.
    names = [*numeric, *(f"({name})" for name in texts for _ in range(table.X[name].n_unique()))]
    scaling = choose_scaling(spread, names, scale)
    scaler = []
    if scaling.standardize:
        scaler = [("scale", StandardScaler(with_mean=not is_sparse(table.X)))]
    steps: list[Any] = [*imputer, *scaler]
    words = scaling.reason
    if texts:
        each = Pipeline(steps) if steps else "passthrough"
        encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        columns = [("numeric", each, numeric)] if numeric else []
        steps = [("columns", ColumnTransformer([*columns, ("categorical", encoder, texts)]))]
        words += f"; one-hot encoded: {', '.join(texts)}"
    if imputer:
        words += f"; missing numbers replaced by the {impute} of their column"
    points = Pipeline(steps).fit_transform(table.X) if steps else table.X
    return steps, words, points


def spreads(X: Any) -> NDArray[np.float64]:
    """Standard deviations of the columns, missing cells left out."""
    return np.asarray(np.sqrt(column_variances(X)))


def _one_hot_spreads(frame: Any, names: Sequence[str]) -> NDArray[np.float64]:
    shares = np.concatenate([frame[name].value_counts(sort=True)["count"] for name in names])
    share: NDArray[np.float64] = np.asarray(shares / frame.height)
    return np.sqrt(share * (1 - share))


def _fit_estimator(
    estimator: Any,
    points: Any,
    y: NDArray[Any],
    settings: Mapping[str, Any] | None,
    callbacks: Iterable[object],
) -> None:
    # The steps are fitted one by one and joined afterwards: a Pipeline's own fit would show two
    # more bars of progress, which mean nothing to who has not written it.
    try:
        estimator.set_callbacks(*callbacks).fit(points, y)
    except (TypeError, AttributeError, ArithmeticError, RuntimeError) as error:
        if not settings:
            raise
        # What a metric or a kernel needs besides is not ours to know, and the user's to choose.
        given = " ".join(f"--set {name}={value}" for name, value in settings.items())
        raise ValueError(f"{given} does not work: {error}") from error
    finally:
        estimator.set_callbacks()


def _twin(estimator: Any, method: Method, points: Any, y: NDArray[Any]) -> Any:
    """The same estimator, supervised: what the labels alone would have said."""
    twin = clone(estimator).set_params(**method.supervised)
    kernel: Any = getattr(estimator, "kernel_", None)
    if kernel is not None and kernel.gamma is not None:
        twin.set_params(gamma=kernel.gamma)  # 'scale' would be that of other points
    return twin.fit(points, y)


def _answer(
    estimator: Any, points: Any, ids: NDArray[Any], labeled: NDArray[np.bool_], regression: bool
) -> Predictions:
    if regression:
        return Predictions(ids, estimator.predict(points), labeled)
    scores = estimator.decision_function(points)
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    # Not `predict`: this way label and scores in a row agree whatever the estimator's tie rule,
    # and a kernel with all rows is computed once.
    labels = estimator.classes_[np.argmax(scores, axis=1)]
    return Predictions(ids, labels, labeled, estimator.classes_, scores)


def _describe_parameters(estimator: Any) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for name, value in estimator.get_params(deep=False).items():
        if name in ("graph", "space") and value is not None:
            parameters[name] = type(value).__name__
            own = value.get_params(deep=False)
            parameters |= {f"{name}.{key}": _plain(part) for key, part in own.items()}
        elif name not in ("unlabeled", "warm_start"):
            parameters[name] = _plain(value)
    return parameters


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return value.item() if isinstance(value, np.generic) else str(value)
