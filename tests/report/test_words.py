"""Words that tell classes of texts apart."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from lapwing import LapSVC, TableEncoder, report
from lapwing._report.words import N_TYPICAL, class_words, words_of

pytest.importorskip("jinja2")

SETS = {"pets": "cat dog hamster leash", "traffic": "car road bridge train"}
TRUTH = np.array(["pets", "traffic"] * 20, dtype=object)
STRANGE = "and <b>more</b> \u05e9\u05dc\u05d5\u05dd \U0001f600"


def texts() -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join([*rng.choice(SETS[label].split(), 3), STRANGE]) for label in TRUTH]


def labels() -> Any:
    return np.where(np.arange(40) < 8, TRUTH, None)


FRAME = pd.DataFrame({"note": texts(), "price": np.random.default_rng(1).normal(size=40)})
MODELS = {
    "documents": (make_pipeline(TfidfVectorizer(), LapSVC("linear")), texts()),
    "frame": (make_pipeline(TableEncoder(), LapSVC("linear")), FRAME),
}


@pytest.mark.parametrize("name", MODELS)
def test_distinctive_words_of_a_class(name: str) -> None:
    model, X = MODELS[name]
    model.fit(X, labels())
    points = model[:-1].transform(X)
    words = words_of(model, points.shape[1])
    assert words is not None
    codes = (TRUTH == "traffic").astype(int)
    pets, traffic, empty = class_words(points.tocsr(), words, codes, [0, 1, 2])
    assert (empty.words, empty.rows) == ([], [])
    for one, label in ((pets, "pets"), (traffic, "traffic")):
        own = set(SETS[label].split())
        assert own >= set(" ".join(one.words).split())
        assert len(one.rows) == N_TYPICAL
        assert set(TRUTH[one.rows]) == {label}
    # By the definition, for the first word.
    weight = points.toarray()[:, words.columns]
    gain = weight[codes == 0].mean(axis=0) - weight.mean(axis=0)
    assert words.names[gain.argmax()] == pets.words[0]


@pytest.mark.parametrize("name", MODELS)
def test_report_shows_words(name: str, tmp_path: Path) -> None:
    model, X = MODELS[name]
    page = str(report(model.fit(X, labels()), X, labels()).html)
    assert "What the classes are about" in page
    about = page[page.index('id="words"') :]
    for words in SETS.values():
        assert f"<bdi>{words.split()[0]}</bdi>" in about
    assert any(f'<bdi dir="auto">{escape(text)}' in about for text in texts())
    assert "<b>more" not in about


def test_components_have_no_words() -> None:
    model = make_pipeline(TfidfVectorizer(), TruncatedSVD(3), LapSVC()).fit(texts(), labels())
    assert words_of(model, 3) is None
    numbers = make_pipeline(TableEncoder(), LapSVC()).fit(FRAME[["price"]], labels())
    assert words_of(numbers, 1) is None
    page = report(numbers, FRAME[["price"]], labels()).html
    assert "What the classes are about" not in page
