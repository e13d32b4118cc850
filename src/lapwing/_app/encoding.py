"""Points of a table, with the encoder of texts or pictures that a command names."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from lapwing._app.options import LabeledRequest
from lapwing._app.requests import PredictRequest
from lapwing._host.warn import warn
from lapwing._tables.embedding import Embedder, Encoder, find_encoder, store_beside
from lapwing._tables.encoders import EncodedReading, Encoding
from lapwing._tables.preprocessing import Preprocessed, check_weights, preprocess
from lapwing._tables.tables import Fitted, Table
from lapwing._words import quoted
from lapwing.estimators.prepared import SILENT, Stages
from lapwing.exceptions import LapwingWarning
from lapwing.models import Model


def load_encoder(request: LabeledRequest | PredictRequest) -> Encoder | None:
    """The encoder that a command names; None if it names none.

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
    features, encoder = table.features, load_encoder(request)
    if encoder is not None:
        check_weights(request.weights, features)  # before what may take long
        features = embedder_beside(request.data[0], encoder, progress).embed(features)
    return preprocess(features, request.scale, request.impute, request.weights)


def check_encoder_of(model: Model, fitted: Fitted, request: PredictRequest) -> None:
    """Check that a model and a command agree on whether there is an encoder.

    A model file names its encoder to be told, and it is never looked up by that name: whoever
    wrote the file would choose what is imported.

    Raises
    ------
    ValueError
        If the model needs one that is not given, or the other way round.
    """
    known = encoding_of(model)
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


def encoded(
    model: Model, table: Table, request: PredictRequest, progress: Stages = SILENT
) -> Table:
    """The table as the pipeline of a model takes it: encoded columns as their vectors."""
    encoder = load_encoder(request)
    if encoder is None:
        return table
    features = embedder_beside(request.data[0], encoder, progress).embed(table.features)
    known, now = encoding_of(model), features.encoding
    if known is not None and now is not None and now.width != known.width:
        raise ValueError(
            f"--encoder {now.name} gives vectors of {now.width} numbers, and {request.model} was "
            f"fitted to {known.width}. Name the encoder of the fit, {known.name}."
        )
    return replace(table, X=features.X)


def embedder_beside(path: Path, encoder: Encoder, progress: Stages = SILENT) -> Embedder:
    """An encoder that keeps vectors beside a table and finds pictures from its folder."""
    return Embedder(encoder, store_beside(path, encoder), path.resolve().parent, progress)


def encoding_of(model: Model) -> Encoding | None:
    """The encoder of a model's fit; ValueError or KeyError if its description is damaged."""
    found = model.info.get("encoder")
    return None if found is None else Encoding.from_info(found)
