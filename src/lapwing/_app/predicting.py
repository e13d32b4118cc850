"""Predictions of a model for new rows, read whole or batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
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
from lapwing._tables.columns import typed_columns
from lapwing._tables.encoders import NUMERIC, EncodedReading, Encoding
from lapwing._tables.options import USUAL, Dialect, ReadOptions
from lapwing._tables.predictions import BATCH_FORMATS, Predictions, written_in_batches
from lapwing._tables.preprocessing import warn_of_new_values
from lapwing._tables.tables import Fitted, Table, read_points
from lapwing._words import quoted
from lapwing.estimators.prepared import SILENT, Stages
from lapwing.exceptions import LapwingWarning
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


def read_for(model: Model, request: PredictRequest) -> Table:
    """Read the table to predict; the default of the id column is that of the fit.

    Parameters
    ----------
    model : Model
        Result of `load`.
    request : PredictRequest
        Options of ``lapwing predict``.
    """
    return _read(model, _fitted_of(model, request), request.data, request.read_options)


def _fitted_of(model: Model, request: PredictRequest) -> Fitted:
    """Return the columns that a model expects of a table."""
    try:
        fitted = Fitted.from_info(model.info)
        _encoding_of(model)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{request.model} was damaged: {error}") from None
    _check_encoder(model, fitted, request)
    return fitted


def _read(model: Model, fitted: Fitted, paths: Sequence[Path], options: ReadOptions) -> Table:
    table = read_points(paths, fitted, options)
    if not set(table.features.kinds) <= {NUMERIC}:
        warn_of_new_values(model.pipeline.named_steps["columns"], table.X, table.source)
    return table


def predict(
    model: Model, table: Table, request: PredictRequest, progress: Stages = SILENT
) -> Predictions:
    """Predict the rows of a table, beside its columns if requested."""
    X, pipeline = _encoded(model, table, request, progress).X, model.pipeline
    points = pipeline[:-1].transform(X) if len(pipeline) > 1 else X
    regression = COMMAND_METHODS[model.info["method"]].regression
    answers = predict_rows(pipeline[-1], points, table, regression=regression)
    # Sure by the threshold of the fit.
    threshold = (model.info.get("trust") or {}).get("threshold")
    answers = with_probabilities(pipeline[-1], answers, threshold)
    return beside_columns(answers, table, request.predictions)


def _check_encoder(model: Model, fitted: Fitted, request: PredictRequest) -> None:
    """Check that a model and a command agree on whether there is an encoder.

    The name of the encoder in a model file is used in messages only and never imported; otherwise
    the author of the file would choose the code that runs.

    Raises
    ------
    ValueError
        If the model needs an encoder that is not given, or vice versa.
    """
    known = _encoding_of(model)
    columns = [one.column for one in fitted.readings if isinstance(one, EncodedReading)]
    if columns and request.encoder is None:
        name = "an encoder" if known is None else known.name
        raise ValueError(
            f"{request.model} was fitted to vectors of {quoted(columns)} by {name}. A model file "
            "brings no code: name the encoder again with --encoder."
        )
    if request.encoder is None:
        return
    if not columns:
        raise ValueError(f"{request.model} was fitted without an encoder. Leave out --encoder.")
    encoder = load_encoder(request)
    if known is not None and encoder is not None and encoder.digest != known.digest:
        now = "has changed since" if encoder.name == known.name else f"was {known.name} then"
        warn(
            f"--encoder {encoder.name} is not what {request.model} was fitted with: it {now}. "
            "Unless it gives the same vectors, the answers mean nothing.",
            LapwingWarning,
        )


def _encoded(
    model: Model, table: Table, request: PredictRequest, progress: Stages = SILENT
) -> Table:
    """Return the input of a model's pipeline: the table with encoded columns as vectors."""
    encoder = load_encoder(request)
    if encoder is None:
        return table
    features = embedder_beside(request.data[0], encoder, progress).embed(table.features)
    known, now = _encoding_of(model), features.encoding
    if known is not None and now is not None and now.width != known.width:
        raise ValueError(
            f"--encoder {now.name} gives vectors of {now.width} numbers, and {request.model} was "
            f"fitted to {known.width}. Name the encoder of the fit, {known.name}."
        )
    return replace(table, features=features)


def _encoding_of(model: Model) -> Encoding | None:
    """Return the encoder of a model's fit.

    Raises
    ------
    ValueError, KeyError
        If its description is damaged.
    """
    found = model.info.get("encoder")
    return None if found is None else Encoding.from_info(found)


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
    margin_note: str = ""
    rows: Predictions | None = None
    dialect: Dialect = USUAL
    trust: dict[str, Any] | None = None

    @cached_property
    def volumes(self) -> dict[str, Any] | None:
        """Figures of the classes; None for numbers and for rows predicted in batches."""
        if self.rows is None or self.counts is None:
            return None
        figures = ClassRows.read(self.rows, np.full(self.n_rows, "")).volumes()
        return figures | {"trust": self.trust}


def predict_table(
    model: Model, table: Table, request: PredictRequest, progress: Stages = SILENT
) -> Predicted:
    """Predict the rows of a table, and count them."""
    rows = predict(model, table, request, progress)
    counts = class_counts(rows)
    note = "" if counts is None else COMMAND_METHODS[model.info["method"]].margin_note
    trust = model.info.get("trust")
    return Predicted(request, table.n, counts, note, rows, table.dialect, trust)


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


def in_batches(request: PredictRequest) -> bool:
    """Return whether to predict in batches: many rows, in files that can be read and written so.

    Other files are read whole.
    """
    readable = all(path.suffix.lower() == ".parquet" and path.is_file() for path in request.data)
    out = request.predictions
    writable = out is None or out.suffix.lower() in BATCH_FORMATS
    return readable and writable and sum(map(height_of, request.data)) > _ROWS


def predict_in_batches(loaded: Model, request: PredictRequest) -> Predicted:
    """Predict all rows, with one batch in memory.

    Parameters
    ----------
    loaded : Model
    request : PredictRequest
        Of Parquet files.
    """
    fitted = _fitted_of(loaded, request)
    counts: Counter[str] = Counter()
    n_rows, classes = 0, None
    with written_in_batches(request.predictions, all_probabilities=request.probabilities) as write:
        for path, start, size in _batches(request.data):
            options = replace(request.read_options, rows=(start, size))
            table = _read(loaded, fitted, (path,), options)
            rows = predict(loaded, table, request)
            if table.id_name is None and fitted.usual_id is None:
                rows = replace(rows, ids=rows.ids + n_rows)  # row numbers, of all files
            write(rows)
            n_rows += rows.label.size
            classes = rows.classes
            if classes is not None:
                counts.update(map(str, rows.label.tolist()))
    known = None if classes is None else {str(c): counts[str(c)] for c in classes}
    return Predicted(request, n_rows, known)


def _batches(paths: tuple[Path, ...]) -> Iterator[tuple[Path, int, int]]:
    for path in paths:
        height = height_of(path)
        for start in range(0, height, _ROWS):
            yield path, start, min(_ROWS, height - start)
