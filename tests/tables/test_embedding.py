"""Vectors of texts: calls of the encoder, errors that name the row, and the cache."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from lapwing._tables import embedding
from lapwing._tables.embedding import Embedder, Encoder, VectorStore, store_beside
from lapwing._tables.encoders import EncodedReading
from lapwing._tables.preprocessing import preprocess
from lapwing.exceptions import LapwingWarning
from tests.helpers.reading import read, rows, write
from tests.helpers.texts import sentences

READING = EncodedReading("note", "f")
TEXTS = ["b", "", "a", "ccc", "a", "b"]
ONCE = ["b", "a", "ccc"] * 2  # input of the encoder: all texts at once, then each alone


def letters(texts: list[str]) -> Any:
    return np.array([[t.count("a"), t.count("b"), len(t)] for t in texts], dtype=np.float32)


def embedder(function: Callable[[list[str]], Any], store: Any = None, **more: Any) -> Embedder:
    return Embedder(Encoder("f", "digest", function), store, **more)


def vectors(function: Callable[[list[str]], Any], texts: list[str], store: Any = None) -> Any:
    return embedder(function, store).vectors(texts, READING)


def test_texts_are_given_call_by_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "_BATCH_SIZE", 2)
    sizes: list[int] = []
    steps: list[tuple[str, int]] = []

    class Progress:
        @contextmanager
        def stage(self, name: str, max_steps: int | None = 0) -> Any:
            yield lambda attributes: steps.append((name, max_steps or 0))

    by = embedder(lambda texts: sizes.append(len(texts)) or letters(texts), progress=Progress())
    np.testing.assert_array_equal(by.vectors(TEXTS, READING), letters(TEXTS))
    assert sizes == [2, 1, 1, 1]  # those of the first call again, each alone
    assert steps == [("encoding 'note'", 2)] * 2


def failing(texts: list[str]) -> Any:
    if "ccc" in texts:
        raise RuntimeError("no\nsuch word.")
    return letters(texts)


def together(texts: list[str]) -> Any:
    if len(texts) > 1:
        raise MemoryError
    return letters(texts)


def wide(texts: list[str]) -> Any:
    return np.ones((len(texts), 2 + ("ccc" in texts)))


_ALONE = "gives row 1 of 'note' another vector alone than among 2 texts"
# Encoders, called with two texts at a time, and errors.
INVALID: dict[str, tuple[Callable[[list[str]], Any], str]] = {
    "no text": (letters, "no row of the column 'note' has a text"),
    "error": (failing, r"--encoder f fails at row 4 of 'note' \('ccc'\): RuntimeError: no such"),
    "together": (together, r"fails at 2 texts of 'note' together, from row 1 on.*: MemoryError\.$"),
    "NaN": (lambda texts: np.where([[text == "ccc", False] for text in texts], np.nan, 1.0),
        r"NaN, or numbers beyond 1e\+15, for row 4 of 'note'"),
    "rows": (lambda texts: letters(texts)[1:], r"shape \(2, d\) for 2 texts: shape \(1, 3\) and"),
    "one number": (lambda texts: letters(texts)[:, 0],
        r"2 texts: shape \(2,\) and type float32\. Return one"),
    "no number": (lambda texts: letters(texts)[:, :0], r"shape \(2, 0\)"),
    "None": (lambda texts: None, r"for 2 texts: a NoneType\."),
    "text": (lambda texts: np.array([[t] for t in texts]), r"no array of numbers.* and type <U1\."),
    "complex": (lambda texts: letters(texts).astype(complex), r"type complex128\."),
    "object": (lambda texts: letters(texts).astype(object), r"type object\."),
    "sparse": (lambda texts: sp.csr_array(letters(texts)), r": a csr_array\."),
    "ragged": (lambda texts: [[1.0] * (1 + (text == "b")) for text in texts], r": a list\."),
    "centred": (lambda texts: letters(texts) - letters(texts).mean(axis=0), f"{_ALONE}, so vec"),
    "truncated": (lambda texts: letters(texts)[:, : len(texts)], _ALONE),
    "random": (lambda texts: np.random.default_rng().normal(size=(len(texts), 3)),
        "Fit or seed the encoder once"),
    "width": (wide, "vectors of 3 numbers from row 4 of 'note' on, and of 2 before"),
}  # fmt: skip


@pytest.mark.parametrize("case", INVALID)
def test_invalid_vectors_are_reported(case: str, monkeypatch: Any, tmp_path: Path) -> None:
    function, message = INVALID[case]
    monkeypatch.setattr(embedding, "_BATCH_SIZE", 2)
    texts = [""] if case == "no text" else TEXTS
    with pytest.raises(ValueError, match=message) as error:
        vectors(function, texts, VectorStore(tmp_path / "v.npz", "digest"))
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, bool])
def test_vectors_are_floating(dtype: Any) -> None:
    found = vectors(lambda texts: letters(texts).astype(dtype), TEXTS)
    assert found.dtype == (np.float32 if np.dtype(dtype) in (np.float16, np.float32) else float)
    np.testing.assert_array_equal(found, letters(TEXTS).astype(dtype))  # of an empty text: 0


# --- kept -----------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> VectorStore:
    return VectorStore(tmp_path / "v.npz", "digest")


def test_a_text_that_was_encoded_is_not_again(tmp_path: Path, store: VectorStore) -> None:
    seen: list[str] = []

    def function(texts: list[str]) -> Any:
        seen.extend(texts)
        return letters(texts)

    np.testing.assert_array_equal(vectors(function, TEXTS, store), letters(TEXTS))
    assert seen == ONCE
    before = store.path.read_bytes()
    np.testing.assert_array_equal(vectors(function, TEXTS, store), letters(TEXTS))
    assert seen == ONCE
    assert store.path.read_bytes() == before
    more = [*TEXTS, "ab"]
    np.testing.assert_array_equal(vectors(function, more, store), letters(more))
    assert seen == [*ONCE, "ab"]
    # The texts themselves are not in the file, and nothing is left beside it.
    assert b"ccc" not in store.path.read_bytes()
    assert list(tmp_path.iterdir()) == [store.path]
    # Another encoder encodes again.
    vectors(function, TEXTS, VectorStore(store.path, "other"))
    assert seen == [*ONCE, "ab", *ONCE]


def flipped(content: bytes, parts: Any) -> bytes:
    at = content.index(np.float32(3).tobytes())
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


# Contents of a damaged file, by the bytes and the arrays of a file.
DAMAGES: dict[str, Callable[[bytes, dict[str, Any]], Any]] = {
    "cut": lambda content, parts: content[:-40],
    "flipped": flipped,
    "pickled": lambda content, parts: np.array([object()]),
    "NaN": lambda content, parts: parts | {"vectors": parts["vectors"] * np.nan},
    "short": lambda content, parts: parts | {"keys": parts["keys"][:1]},
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_made_again(damage: str, store: VectorStore, caplog: Any) -> None:
    vectors(letters, TEXTS, store)
    whole = store.path.read_bytes()
    with np.load(store.path) as held:
        parts = dict(held)
    write(store.path, DAMAGES[damage](whole, parts))
    np.testing.assert_array_equal(vectors(letters, TEXTS, store), letters(TEXTS))
    assert store.path.read_bytes() == whole
    assert "cannot be read" in caplog.text


def test_vectors_that_are_not_kept_are_reported(tmp_path: Path, store: VectorStore) -> None:
    """In a folder that cannot be written, and beside vectors of another length."""
    vectors(letters, ["a"], store)
    gone = VectorStore(tmp_path / "gone" / "v.npz", "digest")
    for function, kept in ((letters, gone), (wide, store)):
        with pytest.warns(LapwingWarning, match="The vectors of the texts cannot be stored"):
            found = vectors(function, ["b"], kept)
        np.testing.assert_array_equal(found, function(["b"]))
    with pytest.raises(ValueError, match=r"another length than those in .*v\.npz\. Delete"):
        vectors(wide, ["a", "b"], store)


def test_the_file_is_beside_the_table_and_named_after_the_encoder() -> None:
    encoder = Encoder("some/dir/my model:f", "1", letters)
    store = store_beside(Path("data/t.csv"), encoder)
    assert store.path == Path("data/t.csv.my-model-f.vectors.npz")
    assert store_beside(Path("-"), encoder) is None
    assert store_beside(Path("t.csv"), Encoder("f", "", letters)) is None


def test_pictures_are_told_apart_by_what_they_hold(tmp_path: Path) -> None:
    seen: list[str] = []

    def sizes(paths: list[str]) -> Any:
        seen.extend(paths)
        return np.array([[Path(path).stat().st_size] for path in paths])

    for name, size in (("a.png", 3), ("b.png", 5)):
        (tmp_path / name).write_bytes(b"x" * size)
    store, reading = VectorStore(tmp_path / "v.npz", "digest"), EncodedReading("p", "f", True)
    names = ["a.png", "b.png", "a.png", ""]
    by = embedder(sizes, store, folder=tmp_path)
    assert by.vectors(names, reading).ravel().tolist() == [3, 5, 3, 0]
    (tmp_path / "a.png").write_bytes(b"x" * 7)
    assert by.vectors(names, reading).ravel().tolist() == [7, 5, 7, 0]
    assert seen == [str(tmp_path / name) for name in ("a.png", "b.png") * 2 + ("a.png",)]
    with pytest.raises(ValueError, match=r"fails at row 2 of 'p'.*FileNotFoundError"):
        by.vectors(["b.png", "c.png"], reading)


# --- as features ----------------------------------------------------------------------------------


def test_vectors_are_a_block_beside_the_others(tmp_path: Path) -> None:
    notes = sentences(40)
    lines = [f"{k % 7 + 0.5},{'uv'[k % 2]},{notes[k]},{'pq'[k % 2] if k < 4 else ''}\n"
             for k in range(40)]  # fmt: skip
    table = read(write(tmp_path / "t.csv", "price,kind,note,y\n" + "".join(lines)), encoder="f")
    assert table.features.kinds == ("numeric", "categorical", "encoded")
    assert table.features.legible == ["note"]
    features = embedder(letters).embed(table.features)
    assert features.names == ("price", "kind", "note [1]", "note [2]", "note [3]")
    found = preprocess(features, "auto", "auto", {"note": 0.5})
    assert isinstance(found.points, np.ndarray)
    numbers = StandardScaler().fit_transform(table.X.select("price").to_numpy())
    values = table.X["kind"].to_numpy()[:, None] == ["u", "v"]
    vectors = letters(table.X["note"].to_list())
    blocks = [numbers, values.astype(float), vectors]
    blocks = [block / np.linalg.norm(block - block.mean(axis=0), 2) for block in blocks]
    expected = np.hstack([*blocks[:2], 0.5 * blocks[2]])
    expected /= np.linalg.norm(expected, axis=1).mean()
    np.testing.assert_allclose(found.points, expected, rtol=1e-6)
    assert "vectors of 3 numbers of 'note'" in found.words
    np.testing.assert_allclose(found.steps[0][1].transform(features.X), expected, rtol=1e-6)


def test_a_name_of_two_columns_is_refused(tmp_path: Path) -> None:
    content = "note,note [1],y\n" + rows("a b c d{i},{i}.5,{y}")
    table = read(write(tmp_path / "t.csv", content), encoder="f")
    with pytest.raises(ValueError, match=r"such as 'note \[1\]'\. Rename it"):
        embedder(letters).embed(table.features)
