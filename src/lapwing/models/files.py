"""Fitted models in files, saved exactly and loaded without running code of the file.

A model file is a zip archive: ``lapwing.json`` contains versions and a description of the model,
``report.json`` the figures of the report, and ``schema.json`` with arrays the model in the format
of skops (`skops.io.load` can read the pipeline). No pickle is read or written.
"""

from __future__ import annotations

import io
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo, is_zipfile

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from lapwing._arrays import is_sparse
from lapwing._host.files import atomic_write
from lapwing._host.memory import require_memory
from lapwing._host.modules import require
from lapwing._host.warn import warn
from lapwing._version import __version__
from lapwing.exceptions import ModelVersionWarning
from lapwing.models.schema import TABLE_ENCODER, canonical_nodes, forbidden, trusted_types


@dataclass(frozen=True)
class Model:
    """Fitted pipeline with its description.

    Attributes
    ----------
    pipeline : Pipeline or estimator
        Preprocessing and estimator, fitted.
    info : mapping
        Description for JSON: method, parameters, names of the features. The versions of lapwing,
        scikit-learn and NumPy are added when it is saved.
    report : object or None
        Figures of the report, a `lapwing._report.record.ReportData`.
    """

    pipeline: Any
    info: Mapping[str, Any] = field(default_factory=dict)
    report: Any = None

    def __getattr__(self, name: str) -> Any:
        """Raise an error that says where the methods of the estimator are."""
        raise AttributeError(
            f"A Model has no attribute {name!r}. The fitted estimator is its attribute pipeline, "
            "e.g. load_model(path).pipeline.predict(X)."
        )


def _versions() -> dict[str, str]:
    return {
        "lapwing_version": __version__,
        "sklearn_version": sklearn.__version__,
        "numpy_version": np.__version__,
    }


def save_model(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a model to a file atomically.

    Parameters
    ----------
    model : estimator, Pipeline or Model
        A fitted estimator or pipeline, or a `Model` with a description. The same model gives the
        same bytes. A search (``GridSearchCV``), also as a step of a pipeline, is replaced by its
        ``best_estimator_``. The encoder of a `TableEncoder` is left out.
    path : path-like
        Path; an existing file is replaced.

    Raises
    ------
    ValueError
        If the model is not fitted or contains an object that files do not support, such as a Python
        function as kernel, `info` is not JSON, or `path` cannot be written.
    ImportError
        If skops is not installed.

    Warns
    -----
    UserWarning
        If the model is or contains a search, whose results are not saved.
    """
    given = model if isinstance(model, Model) else Model(_fitted(model))
    content = _encode(replace(given, pipeline=_without_searches(given.pipeline)))
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)


def _fitted(estimator: BaseEstimator) -> Any:
    """Check that an estimator is fitted, and return it."""
    if not isinstance(estimator, BaseEstimator):
        raise ValueError(
            f"{type(estimator).__name__} cannot be saved as a model: give a fitted estimator, a "
            "pipeline that ends in one, or a Model."
        )
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise ValueError(
            f"{type(estimator).__name__} is not fitted yet: call fit before save_model."
        ) from None
    return estimator


def _without_searches(estimator: BaseEstimator) -> Any:
    """Replace searches, in pipelines too, by their best estimators."""
    if isinstance(estimator, (GridSearchCV, RandomizedSearchCV)):
        return _without_searches(_best_of_search(estimator))
    if isinstance(estimator, Pipeline):
        steps = [(name, _without_searches(step)) for name, step in estimator.steps]
        if any(new is not old for (_, new), (_, old) in zip(steps, estimator.steps, strict=True)):
            estimator = copy(estimator)  # without copying the fitted steps
            estimator.steps = steps
    return estimator


def _best_of_search(search: GridSearchCV | RandomizedSearchCV) -> BaseEstimator:
    name = type(search).__name__
    if not hasattr(search, "best_estimator_"):
        raise ValueError(
            f"{name} has no best_estimator_ to save: fit it with refit=True, or save an estimator "
            "that is fitted with its best_params_."
        )
    warn(
        f"{name} is saved as its best_estimator_: cv_results_ and the other results of the search "
        "are not in the file. Save search.best_estimator_ to avoid this warning.",
        UserWarning,
    )
    return search.best_estimator_


def load_model(path: str | os.PathLike[str]) -> Model:
    """Load a model from an untrusted file.

    Parameters
    ----------
    path : path-like
        Path of a file written by `save_model`.

    Returns
    -------
    Model
        Its decision values equal those of the saved model bit for bit on the same machine with the
        same versions.

    Raises
    ------
    ModelFileError
        If it is not such a file, is truncated or damaged, was written by a newer lapwing, or holds
        types that do not belong to a model. No code of the file is run.
    ImportError
        If skops is not installed.

    Warns
    -----
    ModelVersionWarning
        If another version of scikit-learn wrote it, whose preprocessing may differ.
    """
    skops = require("skops.io", extra="model", purpose="Loading a model")
    file = Path(path)
    try:
        with file.open("rb") as opened:
            model, header = _decode(skops, opened, str(path))
    except FileNotFoundError:
        raise ModelFileError(f"there is no model file {path}.") from None
    except IsADirectoryError:
        raise ModelFileError(f"{path} is a folder, not a model file.") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}.") from None
    made_with = header["sklearn_version"]
    if made_with != sklearn.__version__:
        warn(
            f"{path} was made with scikit-learn {made_with} and is read with "
            f"{sklearn.__version__}: its preprocessing may differ. Fit it again, or "
            f"install scikit-learn {made_with}.",
            ModelVersionWarning,
        )
    return model


def _encode(model: Model) -> bytes:
    skops = require("skops.io", extra="model", purpose="Saving a model")
    header = {"format": FORMAT, **_versions(), "info": {**_versions(), **model.info}}
    texts = {HEADER: _json(header, "info")}
    _refuse_series(model.pipeline)
    if model.report is not None:
        texts[REPORT] = _json(model.report.to_dict(), "report")
    try:
        dump = skops.dumps(_storable(model.pipeline))
    except Exception as error:  # __getstate__ of any object may raise any exception
        raise ValueError(f"the model cannot be saved: {one_line(error)}.") from None
    schema, members = canonical_nodes(dump)
    stranger = forbidden(schema)
    if stranger is not None:
        raise ValueError(
            f"the model cannot be saved: it holds {stranger}, which a model file must not. "
            "Functions (a kernel, weights), callbacks and steps other than the usual preprocessing "
            "cannot be saved."
        )
    content = pack(texts, schema, members)
    try:
        _decode(skops, io.BytesIO(content), "the file")
    except ModelFileError as error:
        raise ValueError(f"the model cannot be saved: {error}") from None
    return content


def _storable(pipeline: Pipeline) -> Any:
    """Copy a model without encoders, and with vocabularies as arrays of words in their order.

    Encoders of `TableEncoder` are code or names of code. skops writes several files for each word
    of a dict, which takes a minute for 40,000 words.
    """
    parts = list(_parts(pipeline))
    encoders = [one for one in parts if _is_table_encoder(one) and one.encoder is not None]
    vocabularies = [
        part.vocabulary_
        for part in parts
        if isinstance(part, CountVectorizer) and hasattr(part, "vocabulary_")
    ]
    if not encoders and not vocabularies:
        return pipeline
    # Arrays are shared with the copy.
    memo = {id(part): part for part in parts if is_sparse(part) or isinstance(part, np.ndarray)}
    for words in vocabularies:
        memo[id(words)] = np.array(sorted(words, key=words.__getitem__), dtype=object)
    for encoder in encoders:
        bare = copy(encoder)
        bare.encoder = None
        memo[id(encoder)] = deepcopy(bare, memo)
    return deepcopy(pipeline, memo)


def _is_table_encoder(part: BaseEstimator) -> bool:
    return f"{type(part).__module__}.{type(part).__name__}" == TABLE_ENCODER


def _restore_vocabularies(pipeline: Pipeline) -> None:
    """Restore the vocabularies of a loaded model to dicts; undoes `_storable`."""
    for part in _parts(pipeline):
        if isinstance(part, CountVectorizer):
            words = getattr(part, "vocabulary_", None)
            if isinstance(words, np.ndarray):
                part.vocabulary_ = {word: number for number, word in enumerate(words.tolist())}


def _refuse_series(pipeline: Pipeline) -> None:
    """Raise an error for parameters of pandas that names them, unlike the errors of skops."""
    parameters = pipeline.get_params() if hasattr(pipeline, "get_params") else {}
    for name, value in parameters.items():
        if type(value).__module__.partition(".")[0] == "pandas":
            raise ValueError(
                f"the model cannot be saved: {name} is a pandas {type(value).__name__}, which a "
                f"model file cannot hold. Fit it with a dict or a list: {name}=dict(...)."
            )


def _json(value: object, name: str) -> str:
    try:
        return json.dumps(value, indent=1)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be serialisable as JSON: {one_line(error)}.") from None


def _decode(skops: ModuleType, file: BinaryIO, name: str) -> tuple[Model, dict[str, Any]]:
    check_start(file, name)
    try:
        # Versions are compared elsewhere, and warnings about damaged files precede an error.
        with warnings.catch_warnings(), ZipFile(file) as archive:
            warnings.simplefilter("ignore")
            header = read_header(archive, name)
            check_archive(archive, name)
            report = _read_report(archive, header["format"])
            file.seek(0)
            pipeline = skops.load(file, trusted=trusted_types())
            _restore_vocabularies(pipeline)
            _check_pipeline(pipeline, name)
    except ModelFileError:
        raise
    except Exception as error:  # damaged files raise errors of many types
        raise ModelFileError(f"{name} was cut or damaged: {one_line(error)}.") from None
    return Model(pipeline, header["info"], report), header


def _read_report(archive: ZipFile, version: int) -> Any:
    # A report of an older format has other keys; its model can be read nevertheless.
    if REPORT not in archive.namelist() or version < _REPORT_FORMAT:
        return None
    # Imported late, because models without a report do not need it.
    from lapwing._report.record import ReportData

    return ReportData.from_dict(json.loads(archive.read(REPORT)))


def _check_pipeline(pipeline: Pipeline, name: str) -> None:
    if not isinstance(pipeline, BaseEstimator) or not hasattr(pipeline, "predict"):
        raise ModelFileError(f"{name} was damaged: what it holds cannot predict.")
    for part in _parts(pipeline):
        # Compiled code does not check the indices of sparse matrices.
        if is_sparse(part) and hasattr(part, "check_format"):
            part.check_format(full_check=True)
        # A cache is a folder of pickles, read when the pipeline is fitted again.
        if isinstance(part, Pipeline) and part.memory is not None:
            raise ModelFileError(f"{name} holds a pipeline with a cache; set memory=None.")
        # A name would be imported when rows are encoded.
        if _is_table_encoder(part) and getattr(part, "encoder", None) is not None:
            raise ModelFileError(
                f"{name} names an encoder of texts, which would be imported; set encoder=None."
            )
        # Texts would be read as paths.
        if isinstance(part, CountVectorizer) and part.input != "content":
            raise ModelFileError(
                f"{name} holds {type(part).__name__}(input={one_line(repr(part.input))}), which "
                "opens files; set input='content'."
            )


def _parts(root: object) -> Iterator[Any]:
    """Iterate over all objects in a model, including arrays and sparse matrices."""
    pending, seen = [root], set()
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            pending += part.values()
        elif isinstance(part, (list, tuple)):
            pending += part
        elif isinstance(part, np.ndarray):
            pending += part.tolist() if part.dtype == object and part.ndim else []
        elif hasattr(part, "__dict__") and not is_sparse(part) and not isinstance(part, type):
            pending += vars(part).values()


FORMAT = 2  # of the archive; files with a larger number are refused
_REPORT_FORMAT = 2  # first format whose reports have the present keys
HEADER, REPORT, _SCHEMA = "lapwing.json", "report.json", "schema.json"
_TEXTS = (HEADER, REPORT, _SCHEMA)
_ZIP_START = b"PK\x03\x04"
_WIDTH = 160  # of a quoted error or name
_JSON_GROWTH = 20  # maximum ratio of the bytes of Python objects to those of JSON


class ModelFileError(ValueError):
    """A file is not a model that can be loaded, for the reason in the message."""


def pack(
    texts: Mapping[str, str], schema: Mapping[str, Any], members: Mapping[str, bytes]
) -> bytes:
    """Return the archive of a model; equal contents give equal bytes."""
    buffer = io.BytesIO()
    tree = json.dumps(schema, separators=(",", ":"))
    with ZipFile(buffer, "w") as archive:
        for name, text in {**texts, _SCHEMA: tree}.items():
            _write(archive, name, text.encode(), ZIP_DEFLATED)
        # Arrays are not compressed, so that a small file cannot unpack to a large one.
        for name in sorted(members):
            _write(archive, name, members[name], ZIP_STORED)
    return buffer.getvalue()


def _write(archive: ZipFile, name: str, content: bytes, how: int) -> None:
    entry = ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.create_system, entry.external_attr = 3, 0o644 << 16
    entry.compress_type = how
    archive.writestr(entry, content)


def check_start(file: BinaryIO, name: str) -> None:
    """Raise ModelFileError if the first bytes are not those of a zip archive."""
    start = file.read(len(_ZIP_START))
    file.seek(0)
    if not start:
        raise ModelFileError(f"{name} is empty, not a model file.")
    if start[:1] == b"\x80":
        raise ModelFileError(
            f"{name} is a pickle, which can run code when it is loaded; lapwing never loads one."
        )
    if not start.startswith(_ZIP_START[: len(start)]):
        raise ModelFileError(f"{name} is not a model file of lapwing.")


def read_header(archive: ZipFile, name: str) -> dict[str, Any]:
    """Read the header of a model file of this or an older version."""
    names = archive.namelist()
    # In a file truncated after an inner archive, zipfile finds the directory of the inner one.
    if names and min(entry.header_offset for entry in archive.infolist()) > 0:
        raise ModelFileError(f"{name} was cut or damaged: its first entry is missing.")
    if HEADER not in names or _SCHEMA not in names:
        raise ModelFileError(f"{name} is a zip archive, but not a model file of lapwing.")
    entry = archive.getinfo(HEADER)
    _check_memory(entry.file_size * _JSON_GROWTH, name)
    header = json.loads(archive.read(entry))
    made_by = header["lapwing_version"]
    # The format number increases if old versions cannot read a file. The version is compared as
    # well, because newer versions may use attributes that this one ignores.
    if header["format"] > FORMAT or _release(made_by) > _release(__version__):
        raise ModelFileError(
            f"{name} was made by lapwing {one_line(made_by)}, newer than this one "
            f"({__version__}): update lapwing to load it."
        )
    if not isinstance(header["info"], dict) or not isinstance(header["sklearn_version"], str):
        raise ModelFileError(f"{name} was damaged: its description is incomplete.")
    return dict(header)


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])


def check_archive(archive: ZipFile, name: str) -> None:
    """Raise ModelFileError for an archive larger than the free memory, or with other types.

    Raises
    ------
    ModelFileError
        Raised before anything is unpacked.
    """
    names = archive.namelist()
    if len(set(names)) < len(names):
        raise ModelFileError(f"{name} was damaged: it holds two files of one name.")
    needed = 0
    for entry in archive.infolist():
        if entry.filename in _TEXTS:
            needed += entry.file_size * _JSON_GROWTH
            continue
        if entry.compress_type != ZIP_STORED or entry.file_size != entry.compress_size:
            raise ModelFileError(f"{name} was damaged: its array {one_line(entry.filename)}.")
        needed += entry.file_size
        with archive.open(entry) as member:
            # By content, because NumPy unpacks archives of any name.
            if is_zipfile(member):
                with ZipFile(member) as inner:
                    needed += sum(part.file_size for part in inner.infolist())
    _check_memory(needed, name)
    stranger = forbidden(json.loads(archive.read(_SCHEMA)))
    if stranger is not None:
        raise ModelFileError(
            f"{name} holds {one_line(stranger)}, which does not belong to a model of lapwing; it "
            "was not loaded."
        )


def _check_memory(n_bytes: int, name: str) -> None:
    try:
        require_memory(n_bytes, f"The model in {name}", "Load it on a larger machine.")
    except MemoryError as error:
        raise ModelFileError(str(error)) from None


def one_line(error: BaseException | str) -> str:
    """Format an error, or a name from a file, as one short line."""
    text = " ".join(str(error).split()).rstrip(".")
    if len(text) > _WIDTH:
        text = f"{text[: _WIDTH - 1]}…"
    return text or type(error).__name__
