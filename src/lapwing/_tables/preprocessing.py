"""Preprocessing of a table's columns: imputation, scaling, categories and words of texts."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from lapwing._arrays import is_sparse
from lapwing._host.warn import warn
from lapwing._rows import PointData, PointsLike, Rows, ScaledRows, moments_of
from lapwing._tables.encoders import (
    CATEGORICAL,
    NUMERIC,
    TEXT,
    EncodedReading,
    Encoding,
    Features,
    FreeTextReading,
)
from lapwing._words import quoted
from lapwing.exceptions import LapwingWarning
from lapwing.linalg import column_variances

SCALES = ("auto", "standard", "none")
IMPUTES = ("auto", "none", "median", "mean")
# With distances from d columns, one that varies ten times as much as a typical other weighs as
# much as a hundred of them. Pixels and words stay below 2.5 (their rare columns, of tiny spread,
# are why the yardstick is the median and not the smallest); tables of mixed units reach hundreds.
# In a table of few columns each is a quantity, and the smallest counts: of the raw columns of
# diabetes one varies 78 times as much as another, and thrice as much as the median one. RMSE of
# LapRLSRegressor with 40 targets 71.0, standardised 66.0.
_SPREAD_RATIO, _FEW_COLUMNS = 10.0, 30
# Of a text: 50,000 words and pairs are most of what is in two of some thousand rows, and bound the
# memory for many rows.
MAX_WORDS = 50_000
# Up to so many rows or columns a dense block is small. Weights need no more than two digits.
_SMALL_BLOCK, _FIRST_DIGITS = 100, 1e-3
_LARGEST_WEIGHT = 1e6
# Sums that scikit-learn takes to look for infinite numbers overflow for columns of 1e308.
OVERFLOW: Mapping[str, Any] = MappingProxyType({"over": "ignore", "invalid": "ignore"})
NO_WEIGHTS: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class Scaling:
    """Decision on standardisation, with its reason for the user."""

    standardize: bool
    reason: str


@dataclass(frozen=True)
class Preprocessed:
    """Points that an estimator is fitted to.

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
    encoding : Encoding or None
        The encoder of texts; None without one.
    """

    steps: list[Any]
    words: str
    points: Any
    impute: str
    encoding: Encoding | None = None


def scaling(
    X: PointData, names: list[str], texts: Mapping[str, Iterable[Any]], scale: str
) -> Scaling:
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
    names, n_numbers = list(names), len(names)
    for name, cells in texts.items():
        counts = np.array(sorted(Counter(cells).values()), dtype=np.float64)
        share = counts / max(1.0, counts.sum())
        spread.append(np.sqrt(share * (1 - share)))
        names += [f"({name})"] * len(share)  # what a category is called is of no interest here
    return choose_scaling(np.concatenate(spread), names, scale, n_numbers)


def choose_scaling(
    spread: NDArray[Any], feature_names: Iterable[str], scale: str, n_numbers: int | None = None
) -> Scaling:
    """Decide whether columns should be standardised before distances are taken.

    Parameters
    ----------
    spread : ndarray of shape (p,)
        Standard deviations of the columns.
    feature_names : iterable of str
        Names of the columns.
    scale : {'auto', 'standard', 'none'}
        'auto' standardises when the largest standard deviation is more than ten times the median
        one, where at most 30 are numbers the smallest one of these (columns without variation do
        not count).
    n_numbers : int, default=None
        How many of the first columns are numbers, and not categories; None means all.

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
    numbers = spread[:n_numbers]
    few = 0 < np.count_nonzero(numbers) <= _FEW_COLUMNS
    narrow = numbers[numbers > 0].min() if few else varying[(varying.size - 1) // 2]
    ratio = varying[-1] / narrow
    if ratio <= _SPREAD_RATIO:
        return Scaling(False, "columns as they are: they vary on similar scales")
    names = list(feature_names)
    widest = names[int(np.argmax(spread))]
    narrowest = names[int(np.flatnonzero(numbers == narrow)[0])] if few else ""
    other = f"as {narrowest!r}" if few else "as the median column"
    return Scaling(
        True,
        f"columns standardised: {widest!r} varies {ratio:,.0f} times as much {other} "
        "(--scale none leaves them as they are)",
    )


def preprocess(
    features: Features, scale: str, impute: str, weights: Mapping[str, float] = NO_WEIGHTS
) -> Preprocessed:
    """Fit the steps before the estimator.

    With columns of free text the points are sparse, unless an encoder makes vectors of all of them.
    They are made of blocks: all numbers, all categories, and the words or the vectors of each text.
    As in multiple factor analysis [1]_ each block is divided by the largest singular value of its
    centred columns, so that no block has the first principal direction to itself; then all are
    divided by the mean norm of the rows.

    Parameters
    ----------
    features : Features
        Of the rows of the fit; encoded columns as their vectors.
    scale : {'auto', 'standard', 'none'}
        See `choose_scaling`; beside free text 'auto' standardises.
    impute : {'auto', 'none', 'median', 'mean'}
        What takes the place of missing numbers; 'auto' is the median if some are missing. A missing
        text is a value of its own.
    weights : mapping of str to float, default={}
        How much the words or the vectors of a text count, by its column; 1 for the others.

    Returns
    -------
    Preprocessed
        The steps and the points.

    Raises
    ------
    ValueError
        If a column of free text holds no word, or a weight is of a column that is none.

    Notes
    -----
    Blocks of rows of equal mean norm were tried first. Words of different rows are nearly
    orthogonal, so that the distances of numbers decide who is near: on 1440 texts in 12 classes, 3
    labels each, `LapSVC` is wrong on 15 % of the texts alone, and with a column of noise on 59 % by
    norms and 20 % by singular values; with three columns of numbers that tell the class (54 %
    alone) on 27 % and 11 %; with a category (68 % alone) on 43 % and 15 %.

    References
    ----------
    .. [1] B. Escofier and J. Pagès, "Multiple factor analysis (AFMULT package)", Computational
       Statistics & Data Analysis 18, 1994.
    """
    numeric, categories, words = map(features.named, (NUMERIC, CATEGORICAL, TEXT))
    texts = [*words, *features.vectors]
    check_weights(weights, features)
    points, numbers = features.X, features.numbers
    if impute == "auto":
        held = numbers.data if is_sparse(numbers) else numbers
        impute = "median" if np.isnan(held).any() else "none"
    steps: list[Any] = [] if impute == "none" else [("impute", SimpleImputer(strategy=impute))]
    if texts and numeric and scale == "auto":
        # Of numbers of different units the largest would be the block.
        chosen = Scaling(True, "numbers standardised beside text")
    else:
        values = {name: points[name].to_list() for name in categories}
        chosen = scaling(numbers, numeric, values, scale)
    if chosen.standardize:
        steps.append(("scale", StandardScaler(with_mean=not is_sparse(points))))
    said = [chosen.reason] if numeric or not texts else []
    if texts or categories:
        columns = _columns(features, Pipeline(steps) if steps else "passthrough")
        points = _fit_columns(columns, points, features, weights)
        steps = [("columns", columns)]
        said += _describe_columns(columns, features)
    elif steps:
        with np.errstate(**OVERFLOW):
            points = Pipeline(steps).fit_transform(points)
    if impute != "none":
        said.append(f"missing numbers replaced by the {impute} of their column")
    if is_sparse(points):
        points = points.tocsr()  # an imputer gives columns
    return Preprocessed(steps, "; ".join(said), points, impute, features.encoding)


def preprocess_rows(X: Rows, names: Sequence[str], scale: str) -> Preprocessed:
    """Standardise rows on disk by the moments of one pass, if `scale` says so."""
    moments = moments_of(X)
    deviations = np.sqrt(moments.variances)
    chosen = choose_scaling(deviations, names, scale)
    if not chosen.standardize:
        return Preprocessed([], chosen.reason, X, "none")
    scaler = StandardScaler().fit(np.zeros((1, X.shape[1]), dtype=X.dtype))
    scaler.n_samples_seen_ = X.shape[0]
    scaler.mean_, scaler.var_ = moments.mean, moments.variances
    scaler.scale_ = np.where(deviations > 0, deviations, 1.0)
    points = ScaledRows(X, scaler.mean_, scaler.scale_)
    return Preprocessed([("scale", scaler)], chosen.reason, points, "none")


def _columns(features: Features, each: Any) -> ColumnTransformer:
    """All columns side by side, numbers by `each`; sparse where some are free text."""
    numeric, categories, words = map(features.named, (NUMERIC, CATEGORICAL, TEXT))
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=bool(words))
    blocks: list[Any] = [("numeric", each, numeric)] if numeric else []
    blocks += [("categorical", encoder, categories)] if categories else []
    readings = {one.column: one for one in features.readings if isinstance(one, FreeTextReading)}
    for k, name in enumerate(words):
        blocks.append((f"text {k}", _vectorizer(letters=readings[name].letters), name))
    for k, names in enumerate(features.vectors.values()):
        blocks.append((f"encoded {k}", "passthrough", list(names)))
    return ColumnTransformer(blocks, sparse_threshold=float(bool(words)))


def _describe_columns(columns: ColumnTransformer, features: Features) -> list[str]:
    categories = features.named(CATEGORICAL)
    said = [f"one-hot encoded: {', '.join(categories)}"] if categories else []
    said += [f"vectors of {len(names)} numbers of {n!r}" for n, names in features.vectors.items()]
    for k, name in enumerate(features.named(TEXT)):
        vectorizer = columns.named_transformers_[f"text {k}"]
        what = "runs of letters" if vectorizer.analyzer == "char" else "words and pairs of words"
        said.append(f"{len(vectorizer.vocabulary_):,} {what} of {name!r}")
    return said


def check_weights(weights: Mapping[str, float], features: Features) -> None:
    """Refuse weights of columns that are no texts or pictures, and those that are no weights.

    Raises
    ------
    ValueError
    """
    encoded = [one.column for one in features.readings if isinstance(one, EncodedReading)]
    texts = [*features.named(TEXT), *encoded]
    other = [name for name in weights if name not in texts]
    if other:
        which = f"; free text here: {quoted(texts)}" if texts else ""
        raise ValueError(f"--weight: {quoted(other)} is no column of free text{which}.")
    for name, weight in weights.items():
        # Beyond, its square is no number.
        if not isinstance(weight, Real) or not 0 <= weight <= _LARGEST_WEIGHT:
            raise ValueError(f"--weight: {name!r} has {weight!r}. Give a number from 0 to 1e6.")


def warn_of_new_values(columns: ColumnTransformer, X: Any, where: str) -> None:
    """Warn of categories and texts of new rows that the fit did not contain.

    Parameters
    ----------
    columns : ColumnTransformer
        That of `preprocess`, fitted.
    X : data frame
        The new rows.
    where : str
        What they are, for messages.
    """
    for part, encoder, names in columns.transformers_:
        if part == "categorical":
            _warn_of_categories(X, dict(zip(names, encoder.categories_, strict=True)), where)
        elif part.startswith("text"):
            _warn_of_texts(encoder.transform(X[names]), names, X.shape[1] == 1, where)


def _warn_of_categories(X: Any, known: Mapping[str, NDArray[Any]], where: str) -> None:
    for name, values in known.items():
        new = sorted(str(value) for value in {*X[name].to_list()} - {*values.tolist()})
        if new:
            warn(
                f"{where}: {quoted(new)} in {name!r} did not occur in the fit, and is treated as "
                "none of the known values.",
                LapwingWarning,
            )


def _warn_of_texts(words: Any, name: str, alone: bool, where: str) -> None:
    unknown = np.flatnonzero(np.diff(words.indptr) == 0)
    if not unknown.size:
        return
    rows = "1 row has" if unknown.size == 1 else f"{unknown.size} rows have"
    cure = "The answer says nothing there" if alone else "The other columns alone decide there"
    warn(
        f"{where}: {rows} no word in {name!r} that the model knows (the first is row "
        f"{unknown[0] + 1}). {cure}.",
        LapwingWarning,
    )


def _vectorizer(*, letters: bool) -> TfidfVectorizer:
    """Weights of the words of a text and of pairs of them, or of its runs of letters."""
    return TfidfVectorizer(
        analyzer="char" if letters else "word",
        ngram_range=(2, 4) if letters else (1, 2),
        sublinear_tf=True,
        min_df=2,  # a word of one row joins no rows
        max_features=MAX_WORDS,
    )


def _fit_columns(
    columns: ColumnTransformer, X: Any, features: Features, weights: Mapping[str, float]
) -> Any:
    """Fit the blocks and, where some are texts, weigh them."""
    words = features.named(TEXT)
    try:
        with np.errstate(**OVERFLOW):
            points = columns.fit_transform(X)
    except ValueError:
        for _, vectorizer, name in columns.transformers:
            if not isinstance(vectorizer, TfidfVectorizer):
                continue
            try:
                clone(vectorizer).fit(X[name])
            except ValueError:
                raise ValueError(
                    f"no word of the column {name!r} is in two rows, so nothing is learnt from it. "
                    f"Leave it out with --drop {shlex.quote(name)}."
                ) from None
        raise
    if not words and not features.vectors:
        return points
    if words:
        columns.sparse_output_ = True  # else texts of which all have all words are dense
        points = csc_matrix(points)
    # Of each block the column of the table that has a weight of its own.
    texts = {f"text {k}": name for k, name in enumerate(words)}
    texts |= {f"encoded {k}": name for k, name in enumerate(features.vectors)}
    places = columns.output_indices_
    scale = np.ones(points.shape[1])
    for name, _, _ in columns.transformers_:
        factor = weights.get(texts.get(name, ""), 1.0)
        factor /= _largest_singular_value(points[:, places[name]]) or 1.0
        scale[places[name]] = factor
    squares = points.multiply(points).tocsr() if words else points * points
    norms = np.sqrt(squares @ scale**2)
    scale /= norms[norms > 0].mean() if norms.any() else 1.0
    parts = [name for name, _, _ in columns.transformers_]
    columns.set_params(transformer_weights={name: scale[places[name].start] for name in parts})
    return points.multiply(scale[None, :]) if words else points * scale


def _largest_singular_value(block: Any) -> float:
    """Of a block, dense or sparse, less the means of its columns."""
    n, p = block.shape
    means = np.asarray(block.mean(axis=0)).ravel()
    if min(n, p) <= _SMALL_BLOCK:
        dense = block.toarray() if is_sparse(block) else block
        return float(np.linalg.norm(dense - means, 2))
    centred = LinearOperator(
        (n, p),
        matvec=lambda v: block @ v.ravel() - means @ v.ravel(),
        rmatvec=lambda u: block.T @ u.ravel() - means * u.sum(),
        dtype=np.float64,
    )
    start = np.ones(min(n, p))  # the same at each call
    return float(svds(centred, 1, v0=start, tol=_FIRST_DIGITS, return_singular_vectors=False)[0])


def spreads(X: PointsLike) -> NDArray[np.float64]:
    """Standard deviations of the columns, missing cells left out; exactly 0 where none varies."""
    return np.asarray(np.sqrt(column_variances(X)))
