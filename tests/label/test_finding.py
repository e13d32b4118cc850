"""Search of rows by words, values, classes and kinds, against loops over the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lapwing._label.finding import Query
from tests.label.pages import CLASSES, TRUTH, X, labels_only, session

TEXTS = np.array(
    [f"Text {row} of {TRUTH[row]}{'!' * (row % 3)}" for row in range(60)], dtype=object
)


def test_finds_rows_by_words_ids_and_values() -> None:
    with labels_only(X, texts=TEXTS) as found:
        assert found.find(Query("TEXT 59")) == [59]
        assert found.find(Query("!! of")) == [row for row in range(60) if row % 3 == 2]
        assert found.find(Query("nowhere")) == []
        name = found.material.table.feature_names[1]
        assert found.find(Query(f"{name}={float(X[7, 1])!r}")) == [7]
        assert found.find(Query(f"{name}=text")) == []
    with labels_only(np.round(X, 3).astype(np.float32)) as found:
        assert 7 in found.find(Query(f"{name}={X[7, 1]:.3f}"))


def test_filters_agree_with_a_loop_over_the_rows(tmp_path: Path) -> None:
    with session(X, tmp_path, texts=TEXTS) as found:
        assert found.find(Query(label=None, state="unlabelled")) == list(range(60))
        for name in CLASSES:
            found.give([row for row in range(20) if TRUTH[row] == name], name)
        wrong = next(row for row in range(20) if TRUTH[row] == "u")
        found.give([wrong], "v")
        assert found.rest()
        found.state()
        found.mark([3, 30, 31], "flagged")
        found.mark([31], "flagged", False)
        found.mark([40, 5], "skipped")
        rows = found.rows(range(60))
        expected: dict[str, Any] = {
            "labelled": lambda row: row["given"] is not None,
            "unlabelled": lambda row: row["given"] is None,
            "sure": lambda row: row["given"] is None and row["confidence"] >= 0.9,
            "uncertain": lambda row: row["given"] is None and row["confidence"] < 0.9,
            "suggested": lambda row: row["row"] in found._queued,
            "suspicious": lambda row: row["row"] == wrong,
            "flagged": lambda row: row["row"] in (3, 30),
            "skipped": lambda row: row["row"] == 40,
        }
        for state, met in expected.items():
            assert found.find(Query(state=state)) == [r["row"] for r in rows if met(r)], state
        for by in ("given", "predicted", "either"):
            sides = ("given", "predicted") if by == "either" else (by,)
            same = [r["row"] for r in rows if any(r[side] == "v" for side in sides)]
            assert found.find(Query(label="v", by=by)) == same
        all_of_it = [r["row"] for r in rows[2::3] if (r["predicted"], r["given"]) == ("u", None)]
        assert found.find(Query("!!", "u", "predicted", "unlabelled")) == all_of_it
        assert [row["flagged"] for row in rows if row["row"] in (3, 30, 31)] == [True, True, False]
    with labels_only(X, tmp_path) as again:
        marked = [again.find(Query(state=mark)) for mark in ("flagged", "skipped")]
        assert marked == [[3, 30], [40]]
        assert again.state()["skipped"] == [40]
        again.give([40], "u")
        assert again.state()["skipped"] == []
