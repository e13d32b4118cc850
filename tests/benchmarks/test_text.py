"""The benchmark of texts: documents without their classes' names, and the mixed table."""

from __future__ import annotations

from benchmarks.text.documents import LEAST_WORDS, Texts, docstrings, without_names
from benchmarks.text.mixed import NOTE, OTHERS, mixed_table
from tests.helpers.texts import TOPICS, on_topics

SOME = ("numpy.polynomial", "scipy.ndimage")


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


def test_every_column_of_the_mixed_table_depends_on_the_class() -> None:
    frame, truth = mixed_table(300, Texts(*on_topics(300), TOPICS))
    gaps = frame[list(OTHERS)].isna().groupby(truth).mean()
    assert gaps.loc[1, "team"] > 3 * gaps.loc[0, "team"]
    assert gaps.loc[2, "hours"] > 3 * gaps.loc[1, "hours"]
    assert not frame[NOTE].isna().any()
    assert frame.groupby(truth)["team"].agg(lambda team: team.mode()[0]).nunique() == len(TOPICS)
    opened = frame.groupby(truth)["opened"].mean()
    assert (opened[2] - opened[1]).days > 90
