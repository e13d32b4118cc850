"""Points of a table, with the encoder of texts or pictures that a command names."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from lapwing._app.options import LabeledRequest
from lapwing._app.requests import PredictRequest
from lapwing._rows import is_rows
from lapwing._tables.embedding import Embedder, Encoder, find_encoder, store_beside
from lapwing._tables.preprocessing import (
    Preprocessed,
    check_weights,
    preprocess,
    preprocess_rows,
)
from lapwing._tables.tables import Table
from lapwing.estimators.prepared import SILENT, Stages


def load_encoder(request: LabeledRequest | PredictRequest) -> Encoder | None:
    """Load the encoder that a command names; None if it names none.

    Raises
    ------
    ValueError, ImportError
        If there is none of that name.
    """
    return None if request.encoder is None else _loaded(request.encoder)


@lru_cache(maxsize=1)  # asked for before a table is read, and again when it is encoded
def _loaded(name: str) -> Encoder:
    return find_encoder(name, here=True)


def points_of(table: Table, request: LabeledRequest, progress: Stages = SILENT) -> Preprocessed:
    """Encode and preprocess the features of a table, to fit an estimator to.

    Raises
    ------
    ValueError
        If the encoder fails, or as `preprocess`.
    """
    if is_rows(table.X):
        return preprocess_rows(table.X, table.feature_names, request.scale)
    features, encoder = table.features, load_encoder(request)
    if encoder is not None:
        check_weights(request.weights, features)  # before what may take long
        features = embedder_beside(request.data[0], encoder, progress).embed(features)
    return preprocess(features, request.scale, request.impute, request.weights)


def embedder_beside(path: Path, encoder: Encoder, progress: Stages = SILENT) -> Embedder:
    """An encoder that keeps vectors beside a table and finds pictures from its folder."""
    return Embedder(encoder, store_beside(path, encoder), path.resolve().parent, progress)
