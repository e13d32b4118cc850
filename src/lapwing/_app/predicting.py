"""Predictions of a model for new rows, in one piece or batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lapwing._app.fitting import predict_rows, with_probabilities
from lapwing._app.methods import COMMAND_METHODS
from lapwing._app.reading import embedder_beside, load_encoder
from lapwing._app.requests import PredictRequest
from lapwing._host.warn import warn
from lapwing._report.rows import ClassRows
from lapwing._rows.parquet import height_of
from lapwing._tables.columns import USUAL, Dialect, typed_columns
from lapwing._tables.embedding import Embedder
from lapwing._tables.encoders import NUMERIC, EncodedReading, Encoding
from lapwing._tables.predictions import BATCH_FORMATS, Predictions, written_in_batches
from lapwing._tables.preprocessing import warn_of_new_values
from lapwing._tables.tables import Fitted, Table, read_points
from lapwing._words import quoted
from lapwing.models import Model, ModelFileError, load_model

_ROWS = 100_000  # of a batch


def load(path: Path) -> Model:
    """Load a model of `lapwing fit`."""
    model = load_model(path)
    needed = ("method", "feature_names", "kinds")
    if any(key not in model.info for key in needed) or model.info["method"] not in COMMAND_METHODS:
        raise ModelFileError(
            f"{path} was not made by lapwing fit: it does not name its input columns. Load it "
            "in Python with lapwing.models.load_model."
        )
    return model


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictions for the rows of a table.

    Attributes
    ----------
    request : PredictRequest
    n_rows : int
    counts : dict of str to int, or None
        Rows of each class; None for numbers.
    margin_note : str
        Why margins are a poor measure of certainty; empty if they are a good one.
    rows : Predictions or None
        None if they were written batch by batch.
    dialect : Dialect
        Notation of the table.
    trust : dict or None
        Trust of the model, for the figures of the classes.
    """

    request: PredictRequest
    n_rows: int
    counts: dict[str, int] | None
    margin_note: str
    rows: Predictions | None
    dialect: Dialect
    trust: dict[str, Any] | None

    @cached_property
    def volumes(self) -> dict[str, Any] | None:
        """Figures of the classes; None for numbers and for rows predicted in batches."""
        if self.rows is None or self.counts is None:
            return None
        figures = ClassRows.read(self.rows, np.full(self.n_rows, "")).volumes()
        return figures | {"trust": self.trust}


def predict(model: Model, request: PredictRequest) -> Predicted:
    """Predict the rows of a table; of many rows, one batch is in memory.

    Parameters
    ----------
    model : Model
        Result of `load`.
    request : PredictRequest
        Options of ``lapwing predict``.
    """
    fitted, encoding = _describe(model, request)
    embedder = _embedder(fitted, encoding, request)
    method, trust = COMMAND_METHODS[model.info["method"]], model.info.get("trust")
    estimator = model.pipeline[-1]
    counts: Counter[str] = Counter()
    whole: Predictions | None = None
    n_rows, dialect, batches = 0, USUAL, list(_batches(request))
    with written_in_batches(request.predictions) if batches else nullcontext() as write:
        for files, span in batches or [(request.data, None)]:
            table = read_points(files, fitted, replace(request.read_options, rows=span))
            if not set(table.features.kinds) <= {NUMERIC}:
                columns = model.pipeline.named_steps["columns"]
                warn_of_new_values(columns, table.X, table.source, span[0] if span else 0)
            X = table.X if embedder is None else _embed(table, embedder, encoding, request)
            points = model.pipeline[:-1].transform(X) if len(model.pipeline) > 1 else X
            rows = predict_rows(estimator, points, table, regression=method.regression)
            # Sure by the threshold of the fit.
            rows = with_probabilities(estimator, rows, (trust or {}).get("threshold"))
            if table.ids.dtype.kind == "i":  # row numbers, of all files
                rows = replace(rows, ids=rows.ids + n_rows)
            rows = beside_columns(rows, table, request.predictions)
            if write is None:
                whole = rows
            else:
                write(rows.columns(all_probabilities=request.probabilities))
            n_rows, dialect = n_rows + table.n, table.dialect
            counts.update(class_counts(rows) or {})
    known = None if method.regression else dict(counts)
    note = "" if method.regression else method.margin_note
    return Predicted(request, n_rows, known, note, whole, dialect, trust)


def _batches(request: PredictRequest) -> Iterator[tuple[tuple[Path, ...], tuple[int, int] | None]]:
    """Yield the batches of many rows in files that can be read and written so, else none."""
    files, out = request.data, request.predictions
    readable = all(path.suffix.lower() == ".parquet" and path.is_file() for path in files)
    writable = out is None or out.suffix.lower() in BATCH_FORMATS
    if not (readable and writable and sum(map(height_of, files)) > _ROWS):
        return
    for path in files:
        height = height_of(path)
        for start in range(0, height, _ROWS):
            yield (path,), (start, min(_ROWS, height - start))


def _describe(model: Model, request: PredictRequest) -> tuple[Fitted, Encoding | None]:
    """Return the columns that a model expects, and the encoder of its fit."""
    try:
        encoder = model.info.get("encoder")
        encoding = None if encoder is None else Encoding.from_info(encoder)
        return Fitted.from_info(model.info), encoding
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{request.model} was damaged: {error}") from None


def _embedder(fitted: Fitted, known: Encoding | None, request: PredictRequest) -> Embedder | None:
    """Return the encoder of the new rows; None for a model without one.

    The name of the encoder in a model file is used in messages only and never imported; otherwise
    the author of the file would choose the code that runs.

    Raises
    ------
    ValueError
        If the model needs an encoder that is not given, or vice versa.
    """
    columns = [one.column for one in fitted.readings if isinstance(one, EncodedReading)]
    encoder = load_encoder(request.encoder)
    if encoder is None:
        if columns:
            name = "an encoder" if known is None else known.name
            raise ValueError(
                f"{request.model} was fitted to vectors of {quoted(columns)} by {name}. A model "
                "file brings no code: name the encoder again with --encoder."
            )
        return None
    if not columns:
        raise ValueError(f"{request.model} was fitted without an encoder. Leave out --encoder.")
    if known is not None and encoder.digest != known.digest:
        now = "has changed since" if encoder.name == known.name else f"was {known.name} then"
        warn(
            f"--encoder {encoder.name} is not what {request.model} was fitted with: it {now}. "
            "Unless it gives the same vectors, the answers mean nothing.",
        )
    return embedder_beside(request.data[0], encoder)


def _embed(
    table: Table, embedder: Embedder, known: Encoding | None, request: PredictRequest
) -> Any:
    """Return the features of a table with encoded columns as vectors of the known width."""
    features = embedder.embed(table.features)
    now = features.encoding
    if known is not None and now is not None and now.width != known.width:
        raise ValueError(
            f"--encoder {now.name} gives vectors of {now.width} numbers, and {request.model} was "
            f"fitted to {known.width}. Name the encoder of the fit, {known.name}."
        )
    return features.X


def class_counts(rows: Predictions) -> dict[str, int] | None:
    """Count the rows of each predicted class; None for regression."""
    if rows.classes is None:
        return None
    return {str(c): int(np.count_nonzero(rows.label == c)) for c in rows.classes}


def beside_columns(rows: Predictions, table: Table, path: Path | None) -> Predictions:
    """Add the columns of a table to its predictions, if requested.

    Parameters
    ----------
    rows : Predictions
    table : Table
    path : Path or None
        File of the predictions; None means standard output, as CSV.
    """
    if table.whole is None:
        return rows
    if path is None or path.suffix.lower() == ".csv":
        return replace(rows, beside={name: one.texts for name, one in table.whole.items()})
    return replace(rows, beside=typed_columns(table.whole, table.dialect.decimal))
