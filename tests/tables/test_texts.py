"""Free text: points, new rows, and sentences as labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from lapwing._tables.preprocessing import preprocess
from lapwing._tables.tables import Fitted, read_points
from tests.helpers.reading import fitted, read
from tests.helpers.texts import sentences


def write(path: Path, **columns: Any) -> Path:
    pl.DataFrame(columns).write_csv(path)
    return path


# Two labels among forty rows.
LABELS = ["u", "v", *[""] * 38]


def mixed(path: Path, n: int = 40) -> Path:
    rng = np.random.default_rng(1)
    kinds, y = rng.choice(["a", "b", "c"], n), ["u", "v", *[""] * (n - 2)]
    texts = {"note": sentences(n), "more": sentences(n, 2, 9)}
    return write(path, price=rng.normal(100, 30, n).round(2), kind=kinds, **texts, y=y)


def test_missing_texts_are_empty_and_do_not_count_for_the_norm(tmp_path: Path) -> None:
    notes = ["" if k % 4 == 0 else s for k, s in enumerate(sentences(40))]
    table = read(write(tmp_path / "t.csv", id=range(40), note=notes, y=LABELS), id="id")
    assert table.features.kinds == ("text",)
    assert table.X["note"].to_list() == notes
    assert "free text, by its words; 10 missing" in [note.words for note in table.features.notes]
    norms = np.linalg.norm(preprocess(table.features, "auto", "auto").points.toarray(), axis=1)
    np.testing.assert_allclose(norms, [float(bool(note)) for note in notes])


# --- the points -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "accuracy"), [(40, 1e-12), (150, 0.01)])
def test_blocks_are_scikit_learns_with_equal_norms(tmp_path: Path, n: int, accuracy: float) -> None:
    """Lanczos' method gives two digits for large blocks."""
    table = read(mixed(tmp_path / "t.csv", n))
    assert table.features.kinds == ("numeric", "categorical", "text", "text")
    found = preprocess(table.features, "auto", "auto", {"more": 0.25})
    assert sp.issparse(found.points)
    X = table.X

    def counts(name: str) -> Any:
        how = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2, max_features=50_000)
        return how.fit_transform(X[name]).toarray()

    price = StandardScaler().fit_transform(X[["price"]].to_numpy())
    kind = OneHotEncoder(sparse_output=False).fit_transform(X[["kind"]])
    blocks = [price, kind, counts("note"), counts("more")]
    blocks = [b / np.linalg.norm(b - b.mean(axis=0), 2) for b in blocks]
    whole = np.hstack([*blocks[:3], 0.25 * blocks[3]])
    whole /= np.linalg.norm(whole, axis=1).mean()
    np.testing.assert_allclose(found.points.toarray(), whole, rtol=accuracy, atol=1e-12)
    # The pipeline, later, gives the same points.
    np.testing.assert_allclose(
        found.steps[0][1].transform(X).toarray(), found.points.toarray(), atol=1e-12
    )
    assert "numbers standardised beside text; one-hot encoded: kind; " in found.words
    assert "words and pairs of words of 'note'" in found.words


def test_letters_of_texts_without_spaces(tmp_path: Path) -> None:
    two = "他昨天坐火车去北京", "我们今天在家里看书"
    texts = [two[k % 2] + "好" * (k % 3) for k in range(40)]
    path = write(tmp_path / "t.csv", note=texts, y=LABELS)
    table = read(path, text=("note",))
    assert table.features.notes[0].words == "free text, by its letters"
    found = preprocess(table.features, "auto", "auto")
    assert "runs of letters of 'note'" in found.words
    similar = (found.points @ found.points.T).toarray()
    assert similar[1, 3] > 0.5 > similar[1, 2]


@pytest.mark.parametrize("words", ["{k}x", "? - {k}"])
def test_a_text_without_shared_words_is_refused(tmp_path: Path, words: str) -> None:
    texts = [words.format(k=k) for k in range(40)]
    path = write(tmp_path / "t.csv", note=sentences(40), odd=texts, y=LABELS)
    with pytest.raises(ValueError, match=r"no word of the column 'odd' is in two rows.*--drop odd"):
        preprocess(read(path, text=("odd",)).features, "auto", "auto")


# --- new rows -------------------------------------------------------------------------------------


def test_new_rows_are_read_as_text(tmp_path: Path) -> None:
    table = read(mixed(tmp_path / "t.csv"))
    texts = {"kind": ["a", "b"], "note": ["12", ""], "more": ["cat", "x"]}
    new = read_points(write(tmp_path / "n.csv", price=[1, 2], **texts), fitted(table))
    assert new.features.kinds == table.features.kinds
    assert new.X["note"].to_list() == ["12", ""]
    assert fitted(table).readings == table.features.readings
    alone = Fitted.from_info(table.describe() | {"readings": ()})
    assert [one.feature for one in alone.readings] == list(table.features.kinds)
    declared = read(tmp_path / "t.csv", text=("kind,note",))
    assert declared.features.kinds == ("numeric", "text", "text", "text")


@pytest.mark.parametrize("labels", [sentences(5, 5) * 3, sentences(4, 5)])
def test_repeated_or_few_sentences_are_classes(tmp_path: Path, labels: list[str]) -> None:
    path = write(tmp_path / "t.csv", a=range(3, 83, 2), y=[*labels, *[""] * (40 - len(labels))])
    assert read(path).labeled.sum() == len(labels)
