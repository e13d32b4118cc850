"""A session: labels in, answers out, and nothing lost between two of them."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lapwing import LapERLSClassifier, LapSVC
from lapwing._label import learner
from lapwing._label.journal import JournalError
from lapwing._label.learner import Learner
from lapwing._label.material import MOST_SHOWN, even_sample
from lapwing._label.model import SlowAnswers
from lapwing._label.session import Event, Session
from lapwing._label.words import RequestError
from lapwing._report.text import percent
from tests.label.pages import (
    CLASSES,
    first,
    journal_of,
    labels_only,
    learn,
    material,
    one_of_each,
    problem,
    session,
)

X, TRUTH = problem()


def test_it_begins_without_any_label() -> None:
    with session(X) as found:
        assert found.rest()
        state = found.state()
        assert (state["n"], state["n_shown"], state["sample_note"]) == (60, 60, None)
        assert (state["classes"], state["given"], state["predicted"]) == ([], {}, {})
        assert state["model"]["ready"]
        assert not state["model"]["fitted"]
        assert state["evidence"] is None
        assert {TRUTH[row] for row in state["suggestions"]} == set(CLASSES), "all clusters"
        version, learnt, content = found.colours()
        assert (version, learnt, len(content)) == (0, 0, 4 + 60 * 5)
        assert found.answers is None


@pytest.mark.parametrize("estimator", [LapERLSClassifier(), LapSVC()], ids=["laperls", "lapsvc"])
def test_the_answers_are_those_of_a_fit_to_the_same_labels(estimator: Any) -> None:
    """Whatever was done on the way: batches, a label changed, steps taken back, new classes."""
    with session(X, estimator=estimator) as found:
        found.give([first("u"), first("u", 1)], "u")
        found.give([first("v")], "w")
        found.give([first("v")], "v")
        wrong = learn(found, [first("w"), first("w", 1)], "v")
        found.undo(wrong.batch)
        found.give([first("w")], "w")
        learn(found, [first("u")], None)
        assert found.answers is not None
        predicted = [found.history.classes[code] for code in found.answers.codes]
        labels = found.labels()
        confidence = found.answers.confidence
    y = [label or None for label in labels]
    assert sum(label is not None for label in y) == 3
    expected = estimator.fit(X, y)
    assert predicted == expected.transduction_.tolist()
    np.testing.assert_allclose(confidence, expected.transduction_proba_.max(axis=1), rtol=1e-4)


def test_answers_stay_as_they_were_while_the_model_learns_on() -> None:
    with session(X) as found:
        one_of_each(found)
        answers = found.answers
        assert answers is not None
        none, everything = np.empty(0, dtype=np.intp), np.arange(60)
        before = answers.suggest(3, none).tolist(), answers.estimate(everything)
        learn(found, before[0], "u")
        after = answers.suggest(3, none).tolist(), answers.estimate(everything)
        assert after == before
        assert found.suggest(3) != before[0]


def test_no_predictions_with_a_single_class(monkeypatch: pytest.MonkeyPatch) -> None:
    with session(X) as found:
        learn(found, [first("u")], "u")
        assert found.answers is None
        learn(found, [first("v")], "v")
        assert found.answers is not None
        assert found.rest()
        monkeypatch.setattr(found._model._advising, "offer", lambda value: None)
        found.undo()
        assert found.wait()
        assert found.answers is None
        assert found._model.learnt.advice == SlowAnswers(), "gone with the answers"
        learn(found, [first("w")], "w")
        predicted = found.state()["predicted"]
        assert predicted["v"] == 0
        assert min(predicted["u"], predicted["w"]) >= 20


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows with each graph that is built."""
    found: list[int] = []
    prepare = LapERLSClassifier._prepare

    def counted(self: Any, *arguments: Any) -> Any:
        found.append(1)
        return prepare(self, *arguments)

    monkeypatch.setattr(LapERLSClassifier, "_prepare", counted)
    return found


def test_the_graph_is_made_once(made: list[int]) -> None:
    with session(X) as found:
        for name in CLASSES:
            learn(found, [first(name)], name)
        found.undo()
        learn(found, [first("w", 3)], "another")
    assert made == [1]


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.ManyClassesWarning")
@pytest.mark.parametrize("known", [False, True])
def test_many_classes_are_learnt_as_a_fit_does(
    known: bool, made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learner, "_ROOM", 8)
    monkeypatch.setattr(learner, "eigenvectors_wanted", lambda n_classes: 2 * n_classes)
    many = problem(60).X
    names = [f"c{k}" for k in range(9)]
    with session(many, classes=tuple(names) if known else ()) as found:
        for k, name in enumerate(names):
            learn(found, [k], name)
        assert found.answers is not None
        predicted = [found.history.classes[code] for code in found.answers.codes]
    assert len(made) == (1 if known else 2), "once more when there is no room for a class"
    expected = LapERLSClassifier(n_eigenvectors=32).fit(many, names + [None] * 51)
    assert predicted == expected.transduction_.tolist()


def test_labels_that_the_table_has_count() -> None:
    given = {first("u"): "u", first("v"): "v"}
    with session(X, labels=given, classes=("w",)) as found:
        assert found.history.classes == ("w", "u", "v")
        assert found.state()["given"] == {"w": 0, "u": 1, "v": 1}
        assert found.state()["model"]["fitted"]
        assert not found.state()["can_undo"]


def test_what_the_model_says_can_be_taken_for_a_selection() -> None:
    with session(X) as found:
        with pytest.raises(
            RequestError, match="no answer yet: it needs labels of two classes"
        ) as no:
            found.take([1])
        assert no.value.status == 409
        one_of_each(found)
        rows = [first(name, 2) for name in CLASSES]
        learnt = found.colours()[1]
        receipt = found.take(rows, learnt)
        assert receipt.n_rows == 3
        assert found.labels()[rows].tolist() == list(CLASSES)
        step = found.state()["history"][-1]
        assert (step["by"], step["n_classes"], step["n_rows"]) == ("model", 3, 3)
        assert found.wait()
        with pytest.raises(RequestError, match="has learnt more since you looked"):
            found.take([1], learnt)
        # Rows that have a label keep it, against what all neighbours say.
        odd, free = first("u", 1), first("w", 3)
        learn(found, [odd], "v")
        assert found.take([odd, free]).n_rows == 1
        assert found.labels()[[odd, free]].tolist() == ["v", "w"]
        with pytest.raises(RequestError, match=r"have labels already. The key of a class"):
            found.take([odd, free])


def test_colours_are_of_the_rows_that_are_shown() -> None:
    with session(X) as found:
        one_of_each(found)
        version, learnt, content = found.colours()
    assert (version, learnt) == (3, 3)
    assert np.frombuffer(content, "<i4", 1) == 60
    given = np.frombuffer(content, "<u2", 60, offset=4)
    predicted = np.frombuffer(content, "<u2", 60, offset=4 + 120)
    confidence = np.frombuffer(content, "u1", 60, offset=4 + 240)
    assert [CLASSES[code] for code in predicted] == TRUTH
    assert sorted(np.flatnonzero(given != 65535)) == sorted(first(name) for name in CLASSES)
    assert [given[first(name)] for name in CLASSES] == [0, 1, 2]
    assert confidence.min() >= 255 // 3


def test_suggestions_follow_the_labels_and_what_was_skipped() -> None:
    with session(X) as found:
        rows = found.suggest(3)
        assert found.suggest(3, rows[:1]) != rows
        assert rows[0] not in found.suggest(50, rows[:1])
        one_of_each(found)
        rows = found.suggest(4)
        assert len(set(rows)) == 4
        assert not {first(name) for name in CLASSES} & set(rows)
        skipped = found.suggest(4, rows[:2])
        assert len(skipped) == 4
        assert not set(rows[:2]) & set(skipped)
        assert found.rest()
        assert found.state()["suggestions"]


def test_the_estimate_and_its_curve_come_by_themselves_and_are_kept(tmp_path: Path) -> None:
    with session(X, tmp_path, check_every=1) as found:
        for _ in range(9):
            assert found.rest()
            row = found.state()["suggestions"][0]
            found.give([row], TRUTH[row])
        assert found.rest()
        state = found.state()
        evidence, (*_, point) = state["evidence"], state["curve"]
        assert 0 <= evidence["low"] <= evidence["error"] < evidence["high"] < 1
        assert evidence["words"].startswith(f"About {percent(evidence['error'])} of the rows")
        assert (point["n_labels"], point["volumes"]) == (9, dict.fromkeys(CLASSES, 20))
        curve = state["curve"]
        found.undo()
        assert all(one["n_labels"] <= 8 for one in found.state()["curve"])
    with session(X, tmp_path) as found:
        known = [one for one in curve if one["n_labels"] <= 8]
        assert [one for one in found.state()["curve"] if one in known] == known


def test_a_label_that_the_others_contradict_is_doubted() -> None:
    with session(X) as found:
        for name in CLASSES:
            found.give([first(name, k) for k in range(5)], name)
        found.give([first("u", 7)], "v")
        assert found.rest()
        doubt = {
            "row": first("u", 7),
            "given": "v",
            "suggested": "u",
            "against": "5 of its 5 nearest labels are u",
        }
        assert found.state()["suspicious"] == [doubt]


def test_rows_are_shown_as_the_table_has_them() -> None:
    texts = np.array([f"text {row}" for row in range(60)], dtype=object)
    with session(X, texts=texts, classes=CLASSES) as found:
        learn(found, [2], "u")
        (row,) = found.rows([2])
    assert (row["row"], row["id"], row["text"], row["image"]) == (2, "2", "text 2", False)
    assert row["cells"] == {f"x{j}": f"{X[2, j]:.6g}" for j in range(2)}
    assert (row["given"], row["predicted"], row["confidence"]) == ("u", None, None)


def test_a_row_comes_with_its_candidates_and_what_tells_them_apart() -> None:
    X, truth = problem()
    X = np.column_stack([np.random.default_rng(0).normal(size=len(X)), X])  # noise is first
    with session(X) as found:
        assert found.rows([0])[0]["candidates"] == []
        assert found.rows([0])[0]["first"] == ["x0", "x1", "x2"]
        for name in CLASSES:
            found.give([truth.index(name)], name)
        assert found.wait()
        row = truth.index("v")
        (seen,) = found.rows([row])
        model = LapERLSClassifier().fit(X, [t if truth.index(t) == i else "" for i, t in
                                            enumerate(truth)])  # fmt: skip
        shares = dict(zip(model.classes_, model.transduction_proba_[row], strict=True))
        best = sorted(CLASSES, key=lambda name: -shares[name])
        assert [one["name"] for one in seen["candidates"]] == best
        for one in seen["candidates"]:
            assert one["share"] == pytest.approx(shares[one["name"]], abs=1e-6)
        # 'u' and 'v' are apart along the second column alone, 'u' and 'w' along the third.
        first = {other: _first_between(found, truth, other) for other in "vw"}
        assert first == {"v": "x1", "w": "x2"}


def _first_between(found: Session, truth: list[str], other: str) -> str:
    """The column that is named first of a row whose candidates are 'u' and another class."""
    for row in found.rows(list(range(len(truth)))):
        if {one["name"] for one in row["candidates"][:2]} == {"u", other}:
            return str(row["first"][0])
    raise AssertionError("no such row")


def test_maps_place_the_rows_that_are_shown() -> None:
    with session(X) as found:
        for key in ("components", "graph"):
            content = found.map(key)
            assert np.frombuffer(content, "<i4", 61).tolist() == [60, *range(60)]
            places = np.frombuffer(content, "<f4", 120, offset=4 * 61).reshape(2, 60)
            assert np.isfinite(places).all()
            # Groups are apart on every map: the nearest row is of the same one.
            squares = ((places[:, :, None] - places[:, None, :]) ** 2).sum(axis=0)
            np.fill_diagonal(squares, np.inf)
            nearest = squares.argmin(axis=1)
            assert np.mean([TRUTH[i] == TRUTH[j] for i, j in enumerate(nearest)]) > 0.9
        with pytest.raises(RequestError, match="There is no map 'own'"):
            found.map("own")


def test_an_even_sample_is_shown_of_very_many_rows() -> None:
    rows = even_sample(MOST_SHOWN + 50_000)
    assert len(rows) == MOST_SHOWN == len(np.unique(rows))
    assert (np.diff(rows) > 0).all()
    share = np.mean(rows < (MOST_SHOWN + 50_000) / 2)
    assert share == pytest.approx(0.5, abs=0.01)
    assert even_sample(5).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("rows", "label", "told"),
    [
        ([], "u", r"No row is selected\."),
        ([60], "u", r"There is no row 60: the rows go from 0 to 59\."),
        ([-1], "u", r"There is no row -1"),
        ([10**40], "u", r"There is no row of that number"),
        ([1, 1], "u", r"A row is given twice\."),
        (list(range(60)) * 2, "u", "more rows in the message than in the table"),
        ([1], " ", r"is empty\. Type a name"),
        ([1], "NA", r"'NA' means \"no label\" in tables"),
        ([1], "a\nb", "cannot be shown"),
        ([1], "\ud800", "cannot be shown"),
        ([1], "x" * 201, "more than 200 letters"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    rows: list[int], label: str, told: str, tmp_path: Path
) -> None:
    with labels_only(X, tmp_path) as found:
        before = (tmp_path / "labels.jsonl").read_bytes()
        with pytest.raises(RequestError, match=told):
            found.give(rows, label)
        assert (found.version, found.history.classes) == (0, ())
        assert (tmp_path / "labels.jsonl").read_bytes() == before


def test_there_is_a_limit_of_classes() -> None:
    with labels_only(X, classes=tuple(f"c{k}" for k in range(1000))) as found:
        with pytest.raises(RequestError, match="There are 1000 classes already"):
            found.add_class("one more")
        found.give([1], "c999")


def test_a_class_gets_another_name_and_its_own_back() -> None:
    with labels_only(X) as found:
        found.give([0, 1], "u")
        found.rename_class("u", " new ")
        assert found.state()["classes"] == ["new"]
        assert found.state()["history"][-1]["renamed"] == ["u", "new"]
        found.give([3], "u")  # free again, and another class
        with pytest.raises(RequestError, match=r"Another class is called 'u' by now\."):
            found.undo(2)
        found.rename_class("u", "third")
        found.rename_class("new", "newer")
        found.undo(2)  # an older name than the one that it has
        assert found.state()["classes"] == ["newer", "third"]
        found.undo()
        assert found.labels()[:4].tolist() == ["u", "u", "", "third"]


def test_a_table_may_have_the_new_name_by_now(tmp_path: Path) -> None:
    """The labels were exported with the new name, and came back with the table."""
    with labels_only(X, tmp_path) as found:
        found.give([0, 1], "u")
        found.rename_class("u", "new")
    with labels_only(X, tmp_path, labels={0: "new", 1: "new", 2: "v"}) as found:
        assert found.labels()[:4].tolist() == ["new", "new", "v", ""]
        assert sorted(found.history.classes) == ["new", "v"]


def test_names_that_classes_cannot_get(tmp_path: Path) -> None:
    with labels_only(X, tmp_path) as found:
        found.give([0], "u")
        found.give([1], "1")
        before = (tmp_path / "labels.jsonl").read_bytes()
        for names, told in (
            (("w", "x"), "There is no class 'w'; perhaps it was renamed"),
            (("u", "u"), "is called 'u' already"),
            (("u", "1"), "There is a class '1' already. Merge"),
            (("u", "1.0"), "There is a class '1.0' already"),
            (("u", ""), "is empty"),
            (("u", "NA"), 'means "no label"'),
        ):
            with pytest.raises(RequestError, match=told):
                found.rename_class(*names)
        assert found.version == 2
        assert (tmp_path / "labels.jsonl").read_bytes() == before
        found.rename_class("1", "1.0")  # its own, written otherwise
        assert found.history.classes == ("u", "1.0")


def test_a_class_by_mistake_is_gone_when_it_is_taken_back_merged_or_deleted(
    tmp_path: Path,
) -> None:
    with labels_only(X, tmp_path, classes=("u",)) as found:
        found.give([1], "uu")
        assert found.state()["hidden"] == []
        found.undo()
        assert found.state()["hidden"] == ["uu"]
        found.give([1], "uu")
        assert found.state()["hidden"] == []
        merged = found.drop_class("uu", "u")
        assert (merged.n_rows, found.state()["hidden"]) == (1, ["uu"])
        assert found.labels()[1] == "u"
        found.undo(merged.batch)
        assert (found.labels()[1], found.state()["hidden"]) == ("uu", [])
        assert found.drop_class("uu").n_rows == 1
        assert (found.labels()[1], found.state()["hidden"]) == ("", ["uu"])
        found.add_class("new")
        assert found.drop_class("new") == (found.version, 0, 0)
        assert found.state()["hidden"] == ["uu", "new"]
        found.add_class("new")
        found.drop_class("u")
        assert found.state()["hidden"] == ["u", "uu"]
        for name, into, told in (("x", None, "no class 'x'"), ("new", "new", "with itself")):
            with pytest.raises(RequestError, match=told):
                found.drop_class(name, into)
    with labels_only(X, tmp_path, classes=("u",)) as found:
        assert found.state()["hidden"] == ["u", "uu"]
        assert found.labels()[1] == ""


@pytest.mark.parametrize("named", [("u", "v"), ()])
def test_classes_that_only_the_table_or_the_start_has_are_known_at_the_next_start(
    tmp_path: Path, named: tuple[str, ...]
) -> None:
    """No record of the journal adds them, and names of a table may be ones the page refuses."""
    labels = {0: "a\tb", 1: "a\tb", 2: "other"}
    with session(X, tmp_path, labels=labels, classes=("u", "v")) as found:
        row = next(row for row in found.suggest(100) if row in found._state.checks.rows)
        found.give([row], "u")
        found.drop_class("v")
        found.drop_class("other", "a\tb")
        found.rename_class("a\tb", "new")
        history, hidden = found.history, found.state()["hidden"]
    ((_, predicted),) = history.batches[0].checked
    assert history.first_names[predicted] in labels.values()
    with session(X, tmp_path, labels=labels, classes=named) as found:
        assert found.labels().tolist() == history.names().tolist()
        assert set(found.history.classes) == set(history.classes)
        assert sorted(found.state()["hidden"]) == sorted(hidden) == ["other", "v"]


def test_the_curve_follows_the_names(tmp_path: Path) -> None:
    with session(X[:30], tmp_path) as found:
        for row in range(8):
            found.give([row], TRUTH[row])
        assert found.rest()
        predicted = found.state()["predicted"]
        assert len(set(predicted.values())) == len(predicted)
        assert found.state()["curve"][-1]["volumes"] == predicted
        found.rename_class("u", "new")
        volumes = {"new" if name == "u" else name: n for name, n in predicted.items()}
        assert found.state()["curve"][-1]["volumes"] == volumes
        assert found.rest()
    with session(X[:30], tmp_path) as found:
        assert found.state()["curve"][-1]["volumes"] == volumes


def test_steps_that_are_not_there_cannot_be_taken_back() -> None:
    with labels_only(X) as found:
        with pytest.raises(RequestError, match="nothing to take back"):
            found.undo()
        found.give([1], "u")
        for number in (0, 2, -1, 10**30):
            with pytest.raises(RequestError, match=f"There is no step {number} to take back"):
                found.undo(number)
        found.undo(1)
        with pytest.raises(RequestError, match="no step 1 to take back; perhaps it was taken back"):
            found.undo(1)


def test_a_disk_that_takes_nothing_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with session(X, tmp_path) as found:
        found.give([1], "u")
        assert found.rest()
        heard: list[Event] = []
        found.listen(heard.append)

        def full(record: Any) -> None:
            raise JournalError("labels.jsonl could not be written: No space left on device.")

        with monkeypatch.context() as patched:
            assert found._journal is not None
            patched.setattr(found._journal, "append", full)
            for change in (
                lambda: found.give([2], "v"),
                lambda: found.undo(),
                lambda: found.add_class("v"),
            ):
                with pytest.raises(JournalError, match="No space left"):
                    change()
        assert (found.version, found.history.classes) == (1, ("u",))
        assert heard == []
        found.give([2], "v")


rows = st.sets(st.integers(0, 5), min_size=1, max_size=3)
names = st.sampled_from(["u", "v", "é <b>"])
starts = st.lists(st.sampled_from("uvw"), max_size=2, unique=True).map(tuple)
actions = st.lists(
    st.one_of(
        st.tuples(st.just("give"), rows.map(sorted), names | st.none()),
        st.tuples(st.just("undo"), st.none() | st.integers(1, 5)),
        st.tuples(st.just("add_class"), names),
        st.tuples(st.just("rename_class"), names, names | st.sampled_from("xy")),
        st.tuples(st.just("drop_class"), names, names | st.none()),
    ),
    max_size=8,
)


swapped = [("rename_class", *pair) for pair in (("u", "t"), ("v", "u"), ("t", "v"))]


@settings(max_examples=3 * settings.default.max_examples)
@example({0: "u", 1: "v"}, (), (), swapped)
@given(st.dictionaries(st.integers(0, 5), st.sampled_from(["u", "a\tb"])), starts, starts, actions)
def test_a_restart_goes_on_where_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    labels: dict[int, str],
    classes: tuple[str, ...],
    others: tuple[str, ...],
    sequence: list[Any],
) -> None:
    folder = tmp_path_factory.mktemp("restart")
    with labels_only(X[:6], folder, labels=labels, classes=classes) as found:
        for name, *arguments in sequence:
            with suppress(RequestError):
                getattr(found, name)(*arguments)
        before, given_names = found.state(), found.labels().tolist()
    with labels_only(X[:6], folder, labels=labels, classes=classes) as found:
        after = found.state()
        for part in ("version", "history", "classes", "hidden", "given"):
            assert after[part] == before[part]
        assert len(set(after["classes"])) == len(after["classes"])
        assert found.labels().tolist() == given_names
    with labels_only(X[:6], folder, labels=labels, classes=others) as found:
        assert found.labels().tolist() == given_names


def test_a_journal_that_holds_what_cannot_be_is_refused(tmp_path: Path) -> None:
    rows = material(X)
    for record in (
        {"batch": 1, "given": [["u", [60]]], "by": "user", "time": ""},
        {"batch": 2, "given": [["u", [1]]], "by": "user", "time": ""},
        {"batch": 1, "given": [["NA", [1]]], "by": "user", "time": ""},
        {"undo": 1},
        {"rename": 2, "from": "u", "to": "v", "time": ""},
        {"rename": 1, "from": "NA", "to": "v", "time": ""},
        {"other": 1},
        {"class": 5},
        {"class": "a\tb"},
        {"target": 0},
        {"target": 1.5},
    ):
        journal = journal_of(tmp_path, rows)
        journal.append(record)
        journal.close()
        journal = journal_of(tmp_path, rows)
        with pytest.raises(JournalError, match="it holds a change that this table cannot have"):
            Session(rows, journal)
        (tmp_path / "labels.jsonl").unlink()


def test_a_line_that_was_not_finished_is_reported(tmp_path: Path) -> None:
    with labels_only(X, tmp_path) as found:
        found.give([1], "u")
    with (tmp_path / "labels.jsonl").open("ab") as file:
        file.write(b'{"batch":2,"giv')
    with labels_only(X, tmp_path) as found:
        assert found.version == 1
        assert found.state()["warnings"] == [
            "The last change in the journal was not finished, and never shown as saved. It was cut "
            "off."
        ]


def test_other_rows_have_other_journals(tmp_path: Path) -> None:
    with labels_only(X, tmp_path) as found:
        found.give([3], "a")
    with pytest.raises(JournalError, match=r"labels for other rows than those of t\.csv"):
        journal_of(tmp_path, material(X + 1.0))
    with pytest.raises(JournalError, match=r"a table of 60 rows, and t\.csv has 59"):
        journal_of(tmp_path, material(X[:59]))


def test_a_model_that_fails_keeps_the_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Any, codes: Any) -> None:
        raise MemoryError("not enough memory")

    with session(X) as found:
        with monkeypatch.context() as patched:
            patched.setattr(Learner, "learn", fail)
            learn(found, [1], "u")
        assert found.state()["warnings"] == ["The model could not learn: not enough memory"]
        assert found.labels()[1] == "u"
        learn(found, [2], "v")
        assert "The model could not learn" not in " ".join(found.state()["warnings"])


def test_what_the_model_cannot_know_is_said_in_the_words_of_the_table() -> None:
    with session(X) as found:
        found.give([first("u")], "u")
        learn(found, [first("v")], "v")
        (said,) = found.state()["warnings"]
        assert said == (
            "Not connected to any labelled row: 20 rows in 1 group. Label a row of each group, "
            f"for example '{first('w')}'."
        )
        found.give([first("w")], "u")
        learn(found, [row for row in range(60) if TRUTH[row] == "v"], "v")
        assert found.state()["warnings"] == [
            "All unlabelled rows are predicted as 'u'. Label rows of other classes that are far "
            "from these on the map."
        ]


def test_where_every_row_has_a_label_there_is_no_error_to_estimate() -> None:
    with session(X, labels=dict(enumerate(TRUTH))) as found:
        assert found.rest()
        state = found.state()
        assert (state["evidence"], state["suggestions"], state["warnings"]) == (None, [], [])


def test_listeners_hear_of_every_part() -> None:
    with session(X) as found:
        heard: list[Event] = []
        end = found.listen(heard.append)
        one_of_each(found)
        assert found.rest()
        assert [event.version for event in heard if event.part == "labels"] == [1, 2, 3]
        for part in ("model", "advice"):
            assert (3, part) in heard
        end()
        end()
        n = len(heard)
        found.undo()
        assert len(heard) == n


def test_many_threads_label_at_once() -> None:
    """Each batch gets a number and a version of its own, and none is lost."""
    with session(X) as found:
        receipts: list[Any] = []

        def work(start: int) -> None:
            for row in range(start, 60, 6):
                receipts.append(found.give([row], TRUTH[row]))

        threads = [threading.Thread(target=work, args=(start,)) for start in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found.wait()
        assert sorted(receipt.version for receipt in receipts) == list(range(1, 61))
        assert sorted(receipt.batch for receipt in receipts) == list(range(1, 61))
        assert found.labels().tolist() == TRUTH
        assert json.dumps(found.state(), allow_nan=False)
