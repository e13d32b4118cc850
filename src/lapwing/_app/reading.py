"""Tables of the verbs: reading, encoding and preprocessing.

The features of large Parquet files stay on disk if the method reads row blocks: labels and ids are
read into memory, and all other columns must be numbers without missing values.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from lapwing._app.options import LabeledRequest
from lapwing._app.requests import FitRequest, advice_of
from lapwing._app.settings import make_estimator
from lapwing._host.terminal import current_line
from lapwing._rows.base import is_rows, moments_of
from lapwing._rows.parquet import ParquetRows, schema_of
from lapwing._tables.embedding import Embedder, Encoder, find_encoder, store_beside
from lapwing._tables.encoders import NUMERIC, Features
from lapwing._tables.preprocessing import Preprocessed, check_weights, preprocess, preprocess_rows
from lapwing._tables.roles import split_names
from lapwing._tables.tables import Table, read_table
from lapwing.estimators import LapERLSClassifier, LapERLSRegressor

_LARGE_BYTES = 2**28  # of features that stay on disk
_SQUARED = (LapERLSClassifier, LapERLSRegressor)


def read(request: LabeledRequest) -> Table:
    """Read the training table; features that a fit reads in blocks stay in their files.

    The encoder is loaded first, so that a wrong name fails early.
    """
    load_encoder(request.encoder)
    if isinstance(request, FitRequest) and (rows := block_source(request)) is not None:
        return read_labels_of(request, rows)
    return read_table(request.data, request.read_options, advice=advice_of(request))


def block_source(request: FitRequest) -> ParquetRows | None:
    """Return the features of a request as rows on disk; None if the table must be read whole."""
    plain = request.label is not None and not (
        request.automatic
        or request.distributed
        or request.truth
        or request.layout
        or request.keep
        or request.text
        or request.encoder
        or request.read_options.whole
    )
    files = [request.report, request.onnx, request.next_rows, request.labels_file]
    parquet = all(path.suffix.lower() == ".parquet" and path.is_file() for path in request.data)
    if not (plain and parquet) or any(file is not None for file in files):
        return None
    rows = _open_features(request)
    if rows is None or rows.shape[0] * rows.shape[1] * rows.dtype.itemsize <= _LARGE_BYTES:
        return None
    # Fits of few rows with many features read the file as a whole, without a table beside it.
    blocks = issubclass(request.chosen.estimator, _SQUARED) or make_estimator(
        request.chosen, request.parameters, request.seed
    )._reads_blocks(rows)
    return rows if blocks and moments_of(rows).not_finite is None else None


def _open_features(request: FitRequest) -> ParquetRows | None:
    """Open the feature columns; None if one is missing or not numeric in some file."""
    try:
        schemas = [schema_of(path) for path in request.data]
        schema = schemas[0]
        if not request.features and any(set(other) != set(schema) for other in schemas):
            return None
        dropped = split_names(request.drop, schema)
        others = {request.label, request.id, *dropped}
        names = split_names(request.features, schema) or [n for n in schema if n not in others]
        numeric = all(name in schema and schema[name].is_numeric() for name in names)
        if not (names and numeric and set(dropped) <= set(schema) and others.isdisjoint(names)):
            return None
        return ParquetRows(request.data, names, named=False)  # as with tables in memory
    except (ValueError, OSError):
        return None  # reading the table raises the error


def read_labels_of(request: FitRequest, rows: ParquetRows) -> Table:
    """Read labels and ids into a table whose features are the rows on disk."""
    first = rows.columns[0]
    columns = [name for name in (request.label, request.id, first) if name is not None]
    options = replace(
        request.read_options,
        features=(first,),
        drop=(),
        keep=() if request.strict else (first,),
        columns=tuple(columns),
    )
    table = read_table(request.data, options, advice=advice_of(request))
    used = {*rows.columns, request.label, request.id}
    return replace(
        table,
        features=Features(rows, tuple(rows.columns), (NUMERIC,) * len(rows.columns)),
        dropped=tuple(name for name in schema_of(request.data[0]) if name not in used),
    )


@lru_cache(maxsize=1)  # called before a table is read, and again when it is encoded
def load_encoder(name: str | None) -> Encoder | None:
    """Load the encoder that a command names; None if it names none.

    Raises
    ------
    ValueError, ImportError
        If there is no encoder of that name.
    """
    return None if name is None else find_encoder(name, here=True)


def points_of(table: Table, request: LabeledRequest) -> Preprocessed:
    """Encode and preprocess the features of a table, to fit an estimator to.

    Raises
    ------
    ValueError
        If the encoder fails, or as `preprocess`.
    """
    if is_rows(table.X):
        return preprocess_rows(table.X, table.feature_names, request.scale)
    features, encoder = table.features, load_encoder(request.encoder)
    if encoder is not None:
        check_weights(request.weights, features)  # before work that may take long
        features = embedder_beside(request.data[0], encoder).embed(features)
    return preprocess(features, request.scale, request.impute, request.weights)


def embedder_beside(path: Path, encoder: Encoder) -> Embedder:
    """Make an encoder that keeps vectors beside a table and finds pictures from its folder."""
    return Embedder(encoder, store_beside(path, encoder), path.resolve().parent, current_line())
