"""Preprocessing of a table's columns: imputation and scaling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from lapwing._arrays import is_sparse
from lapwing._tables.columns import CATEGORICAL
from lapwing._tables.tables import Table
from lapwing.linalg import column_variances

SCALES = ("auto", "standard", "none")
IMPUTES = ("auto", "none", "median", "mean")
# With distances from d columns, one that varies ten times as much as a typical other weighs as
# much as a hundred of them. Pixels and words stay below 2.5 (their rare columns, of tiny spread,
# are why the yardstick is the median and not the smallest); tables of mixed units reach hundreds.
_SPREAD_RATIO = 10.0


@dataclass(frozen=True)
class Scaling:
    """Whether the columns are standardised, and why, in words for the user."""

    standardize: bool
    reason: str


@dataclass(frozen=True)
class Preprocessed:
    """The points that an estimator is fitted to.

    Attributes
    ----------
    steps : list of tuple of str and transformer
        Fitted; the first steps of the model's pipeline.
    words : str
        What they do.
    points : ndarray or CSR of shape (n, d)
        The rows after them.
    impute : {'none', 'median', 'mean'}
        What takes the place of missing numbers.
    """

    steps: list[Any]
    words: str
    points: Any
    impute: str


def scaling(X: Any, names: list[str], texts: Mapping[str, Iterable[Any]], scale: str) -> Scaling:
    """Decide on standardisation by all columns, text as the one-hot columns that it becomes.

    Parameters
    ----------
    X : ndarray or sparse of shape (n, p)
        The numeric columns; missing cells are left out, infinite ones count as no variation.
    names : list of str
        Their names.
    texts : mapping of str to iterable
        Cells of the columns of text.
    scale : {'auto', 'standard', 'none'}
        See `choose_scaling`.

    Returns
    -------
    Scaling
        The decision with its reason.
    """
    spread = [np.nan_to_num(spreads(X), posinf=0.0)] if X.shape[0] else [np.zeros(len(names))]
    names = list(names)
    for name, cells in texts.items():
        counts = np.array(sorted(Counter(cells).values()), dtype=np.float64)
        share = counts / max(1.0, counts.sum())
        spread.append(np.sqrt(share * (1 - share)))
        names += [f"({name})"] * len(share)  # what a category is called is of no interest here
    return choose_scaling(np.concatenate(spread), names, scale)


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
    """
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


def preprocess(table: Table, scale: str, impute: str) -> Preprocessed:
    """Fit the steps before the estimator.

    Parameters
    ----------
    table : Table
        With the rows of the fit.
    scale : {'auto', 'standard', 'none'}
        See `choose_scaling`.
    impute : {'auto', 'none', 'median', 'mean'}
        What takes the place of missing numbers; 'auto' is the median if some are missing. A missing
        text is a value of its own.

    Returns
    -------
    Preprocessed
        The steps and the points.
    """
    kinds = zip(table.feature_names, table.kinds, strict=False)
    texts = [name for name, kind in kinds if kind == CATEGORICAL]
    numeric = [name for name in table.feature_names if name not in texts]
    # Of no columns at all polars makes an array of objects.
    numbers = table.X[numeric].to_numpy().astype(np.float64, copy=False) if texts else table.X
    if impute == "auto":
        held = numbers.data if is_sparse(numbers) else numbers
        impute = "median" if np.isnan(held).any() else "none"
    imputer = [] if impute == "none" else [("impute", SimpleImputer(strategy=impute))]
    chosen = scaling(
        numbers,
        numeric,
        {name: table.X[name].to_list() for name in texts},
        scale,
    )
    scaler = []
    if chosen.standardize:
        scaler = [("scale", StandardScaler(with_mean=not is_sparse(table.X)))]
    steps: list[Any] = [*imputer, *scaler]
    words = chosen.reason
    if texts:
        each = Pipeline(steps) if steps else "passthrough"
        encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        columns = [("numeric", each, numeric)] if numeric else []
        steps = [("columns", ColumnTransformer([*columns, ("categorical", encoder, texts)]))]
        words += f"; one-hot encoded: {', '.join(texts)}"
    if imputer:
        words += f"; missing numbers replaced by the {impute} of their column"
    points = Pipeline(steps).fit_transform(table.X) if steps else table.X
    if is_sparse(points):
        points = points.tocsr()  # an imputer gives columns
    return Preprocessed(steps, words, points, impute)


def spreads(X: Any) -> NDArray[np.float64]:
    """Standard deviations of the columns, missing cells left out; exactly 0 where none varies."""
    return np.asarray(np.sqrt(column_variances(X)))
