"""Encoding of data frames as points, in Python as on the command line."""

from __future__ import annotations

import re
import shlex
from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from lapwing._parameters import parameters
from lapwing._rows.base import PointData, PointsLike
from lapwing._tables.assembly import encode, encode_again, feature_errors, warn_of_bad_cells
from lapwing._tables.columns import RawTable
from lapwing._tables.embedding import Embedder, find_encoder
from lapwing._tables.encoders import EncodedReading, Features, describe_reading, reading_from
from lapwing._tables.frames import read_frame
from lapwing._tables.preprocessing import (
    IMPUTES,
    SCALES,
    Preprocessed,
    preprocess,
    warn_of_new_values,
)
from lapwing._tables.roles import DATE_ORDERS, DECIMALS, ReadOptions, Selection, tidy_names
from lapwing._words import guess, join_messages, quoted


@parameters
class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode the columns of a data frame as points.

    Columns are interpreted as by ``lapwing fit`` for files. Numbers may be written with units or
    decimal commas. Dates become elapsed days, the day of the week and the hour. Categories (text
    with few distinct values) are one-hot encoded. Free text is converted to tf-idf weights of words
    and pairs of words [1]_, which makes the points sparse, or to the vectors of an encoder. Columns
    without information, such as ids, are left out.

    Parameters
    ----------
    text : sequence of str, default=()
        Columns to treat as free text.
    keep : sequence of str, default=()
        Columns to use even if they would be left out automatically.
    drop : sequence of str, default=()
        Columns to leave out.
    scale : {'auto', 'standard', 'none'}, default='auto'
        Whether to standardise numbers; 'auto' does so if the scales of the columns differ widely or
        there is free text.
    impute : {'auto', 'median', 'mean', 'none'}, default='auto'
        Replacement of missing numbers; 'auto' is the median, and 'none' raises an error. A missing
        category is a category of its own, a missing text is empty.
    weights : mapping of str to float, default=None
        Factors of the features of text columns; 1 by default. With free text, the numbers, the
        categories and each text column form blocks, which are divided by the largest singular value
        of their centred features [2]_; then all features are divided by the mean norm of the rows.
    encoder : callable or str, default=None
        Embedding of free text. A function that maps a list of str to an array of shape (n, d), each
        text independently, such as ``SentenceTransformer(...).encode``; `joblib.Memory` can cache
        it. Or a str: ``'module:function'``, the folder of a sentence-transformers model, or
        'use-multilingual' for 16 languages (extra ``text``). Empty texts become zeros. Clones share
        the encoder. `save_model` does not store it: set it on the loaded model with
        ``set_params(encoder=...)``. None uses tf-idf weights.
    decimal : {'auto', '.', ','}, default='auto'
        Decimal mark of numbers in strings.
    dates : {'auto', 'day', 'month'}, default='auto'
        Whether the day or the month comes first in ambiguous dates.

    Attributes
    ----------
    columns_ : list of dict
        Encoding of each used column: 'kind', 'column' and more.
    notes_ : dict of str to str
        Description of the treatment of each column, used or not.
    steps_ : Pipeline or None
        Fitted scikit-learn pipeline that converts the parsed columns to points; None if they are
        used unchanged.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Names of the columns.

    See Also
    --------
    lapwing.FewLabelClassifier : Classifier to use after it in a pipeline.

    Notes
    -----
    It is based on scikit-learn's ColumnTransformer, TfidfVectorizer and OneHotEncoder. skrub's
    TableVectorizer makes similar decisions by the types of a data frame, but treats amounts such as
    "1.234,56 €" as text and requires more packages. It can be used with all estimators of lapwing.

    References
    ----------
    .. [1] G. Salton and C. Buckley, "Term-weighting approaches in automatic text retrieval",
       Information Processing & Management 24, 1988.
    .. [2] B. Escofier and J. Pagès, "Multiple factor analysis (AFMULT package)", Computational
       Statistics & Data Analysis 18, 1994.

    Examples
    --------
    >>> import pandas as pd
    >>> from lapwing import TableEncoder
    >>> frame = pd.DataFrame({"size": ["1,5 kg", "2,25 kg", "0,5 kg"] * 4,
    ...                       "colour": ["red", "blue", "red", "blue"] * 3})
    >>> encoder = TableEncoder().fit(frame)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'colour_blue', 'colour_red']
    >>> encoder.transform(frame)[0].tolist()
    [1.5, 0.0, 1.0]
    """

    _: KW_ONLY
    text: Sequence[str] = ()
    keep: Sequence[str] = ()
    drop: Sequence[str] = ()
    scale: str = "auto"
    impute: str = "auto"
    weights: Mapping[str, float] | None = None
    encoder: Callable[[list[str]], Any] | str | None = None
    decimal: str = "auto"
    dates: str = "auto"

    def fit(self, X: Any, y: object = None) -> Self:
        """Determine the encoding of each column.

        Parameters
        ----------
        X : DataFrame of pandas or polars, or array-like of shape (n_samples, n_columns)
            All rows, labelled or not.
        y : object, default=None
            Ignored.

        Returns
        -------
        self
            The fitted encoder.

        Raises
        ------
        ValueError
            If a parameter is invalid, no column can be used, or the encoder fails.
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: object = None) -> Any:
        """Determine the encoding of each column, and encode the same rows.

        Parameters
        ----------
        X : DataFrame of pandas or polars, or array-like of shape (n_samples, n_columns)
            All rows, labelled or not.
        y : object, default=None
            Ignored.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)
            Points; sparse if there is free text.

        Raises
        ------
        ValueError
            As for `fit`.
        """
        return self._fit(X).points

    def _fit(self, X: PointData) -> Preprocessed:
        raw = read_frame(X)
        names = raw.roles.names
        self._check(names)
        used = {name: column for name, column in raw.cells.items() if name not in self.drop}
        raw = replace(raw, cells=used)
        try:
            encoder = None if self.encoder is None else find_encoder(self.encoder)
            options = ReadOptions(
                encoder=None if encoder is None else encoder.name,
                keep=tuple(self.keep),
                text=tuple(self.text),
                decimal=self.decimal,
                dates=self.dates,
            )
            features = encode(raw, Selection.of(options), X)
            _refuse(features, raw, missing=self.impute != "none", new=False)
            # New rows may have missing numbers in columns without any here.
            impute = "median" if self.impute == "auto" else self.impute
            features = features if encoder is None else Embedder(encoder).embed(features)
            found = preprocess(features, self.scale, impute, self.weights or {})
        except (ValueError, ImportError) as error:
            raise _in_python_of(error) from error.__cause__
        self.columns_ = [describe_reading(reading) for reading in features.readings]
        self.notes_ = {note.column: _in_python(note.words) for note in features.notes}
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self._impute = found.impute
        self._names = list(features.names)
        self._width = 0 if features.encoding is None else features.encoding.width
        self.steps_ = Pipeline(found.steps) if found.steps else None
        return found

    def transform(self, X: PointsLike) -> Any:
        """Encode rows.

        Parameters
        ----------
        X : DataFrame of pandas or polars, or array-like of shape (n_samples, n_columns)
            Rows with the columns of the fit: a data frame in any order, or, if the fit had an
            array, an array in the same order.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)
            Points; sparse if there is free text.

        Raises
        ------
        ValueError
            If a column is missing, or has values that the fit did not allow.

        Warns
        -----
        LapwingWarning
            If cells do not have the type of their column and are treated as missing, or if there
            are categories or words that the fit did not contain.
        """
        check_is_fitted(self)
        raw = read_frame(X)
        n_columns = len(raw.cells)
        if not hasattr(X, "columns") and n_columns != self.n_features_in_:
            raise ValueError(
                f"X has {n_columns} columns, but TableEncoder was fitted to {self.n_features_in_}."
            )
        readings = [reading_from(one) for one in self.columns_]
        missing = [one.column for one in readings if one.column not in raw.cells]
        if missing:
            here = guess(missing[0], raw.cells, words=" Is it {} here?")
            raise ValueError(f"X has no column {quoted(missing)}, which the fit had.{here}")
        read = encode_again(raw, readings, ReadOptions(), X)
        try:
            _refuse(read, raw, missing=self._impute != "none", new=True)
            features = self._encoded(read)
        except (ValueError, ImportError) as error:
            raise _in_python_of(error) from error.__cause__
        warn_of_bad_cells(read, raw)
        if self.steps_ is None:
            return features.X
        if "columns" in self.steps_.named_steps:
            warn_of_new_values(self.steps_["columns"], features.X, "X")
        return self.steps_.transform(features.X)

    def _encoded(self, features: Features) -> Features:
        """Compute the features of new rows, with the vectors of the encoder."""
        readings = [one for one in features.readings if isinstance(one, EncodedReading)]
        if not readings:
            return features
        if self.encoder is None:
            raise ValueError(
                f"the fit encoded {quoted([one.column for one in readings])} with "
                f"{readings[0].encoder}, which model files do not contain. Set it again with "
                "set_params(encoder=...)."
            )
        found = Embedder(find_encoder(self.encoder)).embed(features)
        if found.encoding is not None and found.encoding.width != self._width:
            raise ValueError(
                f"encoder gives vectors of {found.encoding.width} numbers, but in the fit they had "
                f"{self._width}. Set the encoder of the fit, {readings[0].encoder}."
            )
        return found

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the names of the features: a column, or a column with one of its values or words.

        Duplicate names are numbered, such as "kind_red (2)".

        Parameters
        ----------
        input_features : object, default=None
            Ignored.

        Returns
        -------
        ndarray of str of shape (n_features,)
            Names in the order of the features.
        """
        check_is_fitted(self)
        if self.steps_ is None or "columns" not in self.steps_.named_steps:
            return np.array(self._names, dtype=object)
        found: list[str] = []
        for part, step, names in self.steps_["columns"].transformers_:
            if part == "numeric" or part.startswith("encoded"):
                found += names
            elif part == "categorical":
                found += step.get_feature_names_out(names).tolist()
            else:
                found += [f"{names}: {word}" for word in step.get_feature_names_out()]
        # "kind_red" may be a column as well as a value of the column "kind".
        return np.array(tidy_names(found)[0], dtype=object)

    def __sklearn_clone__(self) -> Any:
        bare = copy(self)
        bare.encoder = None
        cloned = super(TableEncoder, bare).__sklearn_clone__()
        cloned.encoder = self.encoder  # not copied, as it may have gigabytes
        return cloned

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags

    def _check(self, names: Sequence[str]) -> None:
        for parameter, known in (
            ("scale", SCALES),
            ("impute", IMPUTES),
            ("decimal", DECIMALS),
            ("dates", DATE_ORDERS),
        ):
            value = getattr(self, parameter)
            if value not in known:
                raise ValueError(f"{parameter}={value!r} must be one of {quoted(known)}.")
        for parameter in ("text", "keep", "drop"):
            given = getattr(self, parameter)
            if isinstance(given, str):
                raise ValueError(f"{parameter}={given!r}: give a list, [{given!r}].")
            lost = [name for name in given if name not in names]
            if lost:
                hint = guess(str(lost[0]), names) or f"It has {quoted(names)}."
                raise ValueError(f"{parameter}={[*given]}: X has no column {lost[0]!r}. {hint}")


def _refuse(features: Features, raw: RawTable, *, missing: bool, new: bool) -> None:
    """Raise the errors of features, if there are any."""
    found = feature_errors(features, raw, missing=missing, new=new)
    if found:
        raise ValueError(join_messages(raw.source, found))


def _in_python_of(error: ValueError | ImportError) -> ValueError | ImportError:
    """Rephrase an error with the names of Python's parameters."""
    kind = ImportError if isinstance(error, ImportError) else ValueError
    return kind(_in_python(str(error)))


def _in_python(message: str) -> str:
    """Replace options of the command line in a message by the names of parameters."""
    message = message.replace(" besides the label", "")
    message = message.replace("--keep and --features", "keep and text")
    message = message.replace("--encoder ", "encoder ")
    message = message.replace("--id, --image, --map and --drop", "drop").replace(
        "--weight", "weights"
    )
    # Quoted by `shell_word`.
    name = r"""(\$'[^']*'|(?:'[^']*'|"[^"]*"|[^\s'"])+?)(?=[.,;]?(?:\s|$))"""

    def as_list(found: re.Match[str]) -> str:
        word = found[2]
        names = [literal_eval(word[1:])] if word.startswith("$'") else shlex.split(word)
        return f"{found[1]}={names}"

    message = re.sub(rf"--(drop|keep|text) {name}", as_list, message)
    message = re.sub(r"--impute (\w+)", r"impute='\1'", message)
    message = re.sub(r"--(\w+) (?=')", r"\1=", message)
    return re.sub(r"--(\w+)", r"\1=", message)
