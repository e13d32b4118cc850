"""Check rows: drawing, queue, estimated error, target."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lapwing import LapERLSClassifier
from lapwing._app.labelling import labeled
from lapwing._label.history import NO_CODE
from lapwing._label.learner import Estimate
from lapwing._label.session import Session
from lapwing._label.state import Checks, check_places, looks_done, mixed
from lapwing._report.text import percent
from lapwing.model_selection.evidence import exact_error, rows_needed
from tests.label.pages import CLASSES, TRUTH, X, session


def answer(found: Session, n: int) -> list[int]:
    """Answer the first row of the queue, so many times."""
    rows = []
    for _ in range(n):
        assert found.rest()
        rows.append(found.state()["suggestions"][0])
        found.give([rows[-1]], TRUTH[rows[-1]])
    assert found.rest()
    return rows


def test_one_in_five_places_of_the_queue_is_of_a_check_row() -> None:
    places = check_places(0, 1000, 5)
    assert places.reshape(200, 5).sum(axis=1).tolist() == [1] * 200
    assert len(set(np.flatnonzero(places[:50]) % 5)) > 2, "not at a place that can be guessed"
    for start in (1, 7):
        np.testing.assert_array_equal(check_places(start, 40, 5), places[start : start + 40])
    assert check_places(3, 4, 1).all()
    second_and_fifth = np.array([False, True, False, False, True])
    assert mixed([4, 7, 9], [7, 2], second_and_fifth) == [4, 7, 9, 2], "no row twice"
    assert mixed([4, 7], [], second_and_fifth) == [4, 7]


def test_check_rows_are_drawn_once_and_among_unlabelled_rows() -> None:
    """The first ten of a hundred rows, some of which have labels already."""
    codes = np.repeat(np.array([0, NO_CODE], dtype=np.int32), [20, 80])
    checks = Checks.begin(codes, random_labels=False)
    drawn = checks.drawn(codes, 10)
    assert len(set(drawn)) == 10
    assert min(drawn) >= 20
    more = checks.with_rows(drawn)
    assert not set(more.drawn(codes, 70)) & set(drawn)
    assert len(more.drawn(codes, 100)) == 70
    assert len(checks.answered(codes)) == 0
    assert Checks.begin(codes, random_labels=True).answered(codes).tolist() == list(range(20))
    for wrong in ([drawn[0]], [100], [-1], [50, 50]):
        with pytest.raises(ValueError, match=str(wrong[0])):
            more.with_rows(wrong)


def test_error_is_estimated_from_check_rows_only(tmp_path: Path) -> None:
    with session(X, tmp_path, check_every=2) as found:
        answer(found, 12)
        history, state = found.history, found.state()
        assert sum(len(batch.checked) for batch in history.batches) == 6
        for batch, step in zip(history.batches, state["history"], strict=True):
            expected = ""
            for _, predicted in batch.checked:
                name = "" if predicted == NO_CODE else history.classes[predicted]
                said = "as the model said" if name == step["label"] else f"the model said {name}"
                expected = f"drawn at random, {said}" if name else "drawn at random"
            assert step["checked"] == expected
        *_, point = state["curve"]
        assert (point["n_labels"], point["volumes"]) == (12, dict.fromkeys(CLASSES, 20))
        # One label is wrong; against fits without the label of each check row.
        drawn, odd = found._state.checks.rows, int(found._state.checked[0])
        found.give([odd], next(name for name in CLASSES if name != TRUTH[odd]))
        assert found.rest()
        evidence = found.state()["evidence"]
        labels, n_wrong = found.labels(), 0
        for row in found._state.checked.tolist():
            without = np.where(np.arange(60) == row, "", labels)
            model = LapERLSClassifier(unlabeled="").fit(X, without)
            n_wrong += model.transduction_[row] != labels[row]
        assert (evidence["n_rows"], evidence["n_wrong"]) == (6, n_wrong)
        error, low, high = (evidence[name] for name in ("error", "low", "high"))
        assert (error, low, high) == exact_error(n_wrong, 6)
        assert 0 < low < error < high < 1
        assert evidence["words"] == (
            f"About {percent(error)} of the rows without a label are wrong; with a probability of "
            f"90 % between {percent(low)} and {percent(high)}. Of 6 rows drawn at random the model "
            f"misses {n_wrong}."
        )
        found.undo()
        found.undo()
        found.rename_class("u", "x")
        curve = found.state()["curve"]
        kept = [one for one in state["curve"] if one["n_labels"] <= 11]
        for one in kept:
            one["volumes"]["x"] = one["volumes"].pop("u")
        assert curve == kept
        assert len(curve) > 5
        assert found.rest()
    with session(X, tmp_path, check_every=2) as again:
        assert [one for one in again.state()["curve"] if one in curve] == curve
        assert again._state.checks.rows == drawn
        checked = [batch.checked for batch in history.batches]
        assert [batch.checked for batch in again.history.batches] == [*checked, (), ()]
        assert again.history.n_asked == 11


def test_labels_record_how_their_rows_were_chosen(tmp_path: Path) -> None:
    """Of rows of the queue, check rows among them, and of one that the user picked."""
    with session(X, tmp_path, check_every=2) as found:
        asked = answer(found, 6)
        drawn = set(found._state.checks.rows)
        own = next(row for row in range(60) if row not in {*asked, *drawn, *found._offered})
        found.give([own], TRUTH[own])
        found.give([asked[0]], None)
        expected = dict.fromkeys(range(60), "")
        expected |= {row: "random" if row in drawn else "suggested" for row in asked[1:]}
        assert set(expected.values()) == {"", "random", "suggested"}
        assert found.chosen().tolist() == [expected[row] for row in range(60)]
        chosen = found.chosen()
    with session(X, tmp_path, check_every=2) as again:
        assert again.chosen().tolist() == chosen.tolist()
        assert labeled(again).n_suggested == chosen.tolist().count("suggested")


def test_target_is_reported_until_it_is_reached(tmp_path: Path) -> None:
    with session(X, tmp_path, target=0.3, check_every=1) as found:
        assert found.rest()
        finish = found.state()["finish"]
        needed = rows_needed(0.3, 0)
        assert not finish["reached"]
        assert f"{needed} more check rows" in finish["words"]
        # Labels of two classes first: until then the check rows have no answer.
        asked = 0
        while not found.state()["finish"]["reached"]:
            answer(found, 1)
            asked += 1
        words = found.state()["finish"]["words"]
        assert words == (
            f"30\u00a0% reached with a probability of 90 % after {asked} labels: you can stop."
        )
        assert asked >= needed
        found.set_target(None)
        assert found.state()["finish"] is None
        found.set_target(0.001)
        assert not found.state()["finish"]["reached"]
    with session(X, tmp_path) as found:
        assert found.state()["target"] == 0.001


def test_only_check_rows_are_suggested_once_few_are_wrong() -> None:
    assert not looks_done(None, Estimate(0, 0, 0.5, 9, 0))
    assert not looks_done(0.05, None)
    for n_rows, n_wrong, done in ((4, 0, False), (5, 0, True), (19, 1, False), (20, 1, True)):
        assert looks_done(0.05, Estimate(0, 0, 0.5, n_rows, n_wrong)) == done
