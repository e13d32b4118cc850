"""The benchmark of texts: documents without their classes' names, limits, and tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.shared.known import Answer
from benchmarks.shared.labels import with_labels
from benchmarks.text.command import best, measured, table_of
from benchmarks.text.contenders import ON_TABLES, ON_TEXTS, ON_WORDS, Documents
from benchmarks.text.documents import LEAST_WORDS, Texts, docstrings, weighted, without_names
from benchmarks.text.mixed import NOTE, OTHERS, mixed_table

TOPICS = ("matrix rank factor solve", "tree leaf root branch", "wave tone pitch filter")
ON_FRAMES = {**ON_TABLES, **ON_TEXTS}
SOME = ("numpy.polynomial", "scipy.ndimage")
QUICK_METHODS = [name for name in ON_WORDS if not name.startswith("FewLabel")]
QUICK_ON_FRAMES = [
    # Encoders that are models take seconds to load.
    pytest.param(name, marks=pytest.mark.slow if contender.packages else ())
    for name, contender in ON_FRAMES.items()
    if not name.startswith("FewLabel")
]


def made_up(n: int = 60) -> tuple[list[str], np.ndarray]:
    """Texts of three topics, which share a third of their words."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % len(TOPICS)
    common = ["value", "given", "result", "returns"]
    texts = [" ".join([*rng.choice(TOPICS[code].split(), 8), *rng.choice(common, 4)]) for code in y]
    return texts, y


@pytest.fixture
def topics() -> tuple[Documents, np.ndarray]:
    texts, y = made_up()
    return Documents(weighted(texts)), y


# Documents


def test_documents_do_not_name_their_class() -> None:
    found = docstrings(SOME)
    assert set(found.y) == {0, 1}
    assert len(found.y) == len(found.texts) == len(set(found.texts))
    assert min(len(text.split()) for text in found.texts) >= LEAST_WORDS
    words = set(" ".join(found.texts).lower().replace(".", " ").split())
    assert not words & {"numpy", "scipy", "polynomial", "ndimage"}
    # The same documents in two classes belong to none.
    both = docstrings((*SOME, SOME[1]))
    assert [both.texts[i] for i in range(len(both.y))] == [
        text for text, code in zip(found.texts, found.y, strict=True) if code == 0
    ]


def test_code_and_paths_are_removed() -> None:
    text = (
        "See `numpy.linalg.solve` of SciPy.\n>>> np.zeros(3)\n... more\nfrom a import b\n1.5 kept"
    )
    assert without_names(text).split() == ["See", "`", "`", "of", ".", "1.5", "kept"]


# Methods


@pytest.mark.parametrize("name", QUICK_METHODS)
def test_every_method_answers(name: str, topics: tuple[Documents, np.ndarray]) -> None:
    documents, truth = topics
    y = with_labels(truth, 3, np.random.default_rng(0))
    found = measured(documents, truth, 60, ON_WORDS[name], y)
    assert found.failed == ""
    assert found.error is not None
    assert found.error < 20
    assert found.seconds > 0


# The mixed table


@pytest.fixture(scope="module")
def mixed() -> tuple[Documents, np.ndarray]:
    texts, y = made_up(300)
    frame, truth = mixed_table(300, Texts(texts, y, TOPICS))
    return Documents(frame), truth


def test_every_column_of_the_mixed_table_depends_on_the_class(
    mixed: tuple[Documents, np.ndarray],
) -> None:
    frame, truth = mixed[0].X, mixed[1]
    gaps = frame[list(OTHERS)].isna().groupby(truth).mean()
    assert gaps.loc[1, "team"] > 3 * gaps.loc[0, "team"]
    assert gaps.loc[2, "hours"] > 3 * gaps.loc[1, "hours"]
    assert not frame[NOTE].isna().any()
    assert frame.groupby(truth)["team"].agg(lambda team: team.mode()[0]).nunique() == len(TOPICS)
    opened = frame.groupby(truth)["opened"].mean()
    assert (opened[2] - opened[1]).days > 90


@pytest.mark.parametrize("name", QUICK_ON_FRAMES)
def test_methods_answer_from_their_columns(name: str, mixed: tuple[Documents, np.ndarray]) -> None:
    for package in ON_FRAMES[name].packages:
        pytest.importorskip(package)
    documents, truth = mixed
    y = with_labels(truth, 5, np.random.default_rng(0))
    found = measured(documents, truth, 60, ON_FRAMES[name], y)
    assert found.failed == ""
    assert found.error is not None
    assert found.error < 50


# Limits


# Tables


def test_best_method_has_no_failures() -> None:
    good = Answer("s", "good", 3, 0, 10.0, 1.0)
    found = [good, replace(good, draw=1, error=20.0)]
    lost = replace(good, method="lost", error=5.0)
    found += [lost, replace(lost, draw=1, error=None, seconds=60.0, failed="stopped after 60 s")]
    assert table_of("s", found).rows == [
        ["good", "15.0 (7.1)", "1.00"],
        ["lost", "5.0 (0.0), 1 failed", "1.00"],
    ]
    assert table_of("s", found).notes[1:] == ["- lost: stopped after 60 s."]
    assert best(found).rows == [["s", "good 15.0"]]
