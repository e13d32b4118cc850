"""Labelling sessions: predictions, suggestions, refused changes, journal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing import LapERLSClassifier, LapSVC
from lapwing._label import learner
from lapwing._label.errors import RequestError
from lapwing._label.finding import Query
from lapwing._label.journal import JournalError
from lapwing._label.learner import Learner
from lapwing._label.model import SlowAnswers
from lapwing._label.session import Event
from tests.label.pages import CLASSES, TRUTH, X, first, labels_only, learn, one_of_each, session


def test_new_session_suggests_all_clusters_and_its_maps_separate_them() -> None:
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


@pytest.fixture
def graphs() -> Iterator[Mock]:
    """Called for each graph that is built."""
    build = LapERLSClassifier._prepare
    with patch.object(LapERLSClassifier, "_prepare", autospec=True, side_effect=build) as called:
        yield called


@pytest.mark.parametrize("estimator", [LapERLSClassifier(), LapSVC()], ids=["laperls", "lapsvc"])
def test_predictions_equal_those_of_a_fit_to_the_same_labels(estimator: Any, graphs: Mock) -> None:
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
        assert graphs.call_count <= 1
        confidence = found.answers.confidence
        suggested = found.answers.suggest(4, np.empty(0, dtype=np.intp)).tolist()
    y = [label or None for label in labels]
    assert sum(label is not None for label in y) == 3
    expected = estimator.set_params(updatable=True).fit(X, y)
    assert suggested == expected.suggest(4).tolist()
    assert predicted == expected.transduction_.tolist()
    np.testing.assert_allclose(confidence, expected.transduction_proba_.max(axis=1), rtol=1e-4)


def test_earlier_answers_do_not_change_when_the_model_is_updated() -> None:
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


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.ManyClassesWarning")
@pytest.mark.parametrize("known", [False, True])
def test_predictions_with_many_classes_equal_those_of_a_fit(
    known: bool, graphs: Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learner, "_ROOM", 8)
    monkeypatch.setattr(learner, "eigenvectors_wanted", lambda n_classes: 2 * n_classes)
    names = [f"c{k}" for k in range(9)]
    with session(X, classes=tuple(names) if known else ()) as found:
        for k, name in enumerate(names):
            learn(found, [k], name)
        assert found.answers is not None
        predicted = [found.history.classes[code] for code in found.answers.codes]
    assert graphs.call_count == (1 if known else 2), "once more when there is no room for a class"
    expected = LapERLSClassifier(n_eigenvectors=32).fit(X, names + [None] * 51)
    assert predicted == expected.transduction_.tolist()


def test_predictions_are_accepted_for_unlabelled_rows_of_a_selection() -> None:
    with session(X) as found:
        with pytest.raises(RequestError, match="no answer yet: it needs labels of two") as no:
            found.take([1])
        assert no.value.status == 409
        one_of_each(found)
        rows = [first(name, 2) for name in CLASSES]
        learnt = found.colours()[1]
        assert found.take(rows, learnt).n_rows == 3
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


def test_colours_have_given_and_predicted_classes_and_confidence() -> None:
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


def test_suggestions_omit_labelled_and_skipped_rows() -> None:
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


def test_label_that_contradicts_its_neighbours_is_suspicious() -> None:
    with session(X) as found:
        for name in CLASSES:
            found.give([first(name, k) for k in range(5)], name)
        found.give([first("u", 7)], "v")
        assert found.rest()
        label = {
            "row": first("u", 7),
            "given": "v",
            "suggested": "u",
            "against": "5 of its 5 nearest labels are u",
        }
        assert found.state()["suspicious"] == [label]
        assert found.state()["evidence"] is None, "no row was drawn at random"


def test_rows_have_cells_candidate_classes_and_the_columns_that_separate_them() -> None:
    points = np.column_stack([np.random.default_rng(0).normal(size=60), X])  # noise is first
    texts = np.array([f"text {row}" for row in range(60)], dtype=object)
    with session(points, texts=texts) as found:
        learn(found, [2], TRUTH[2])
        (seen,) = found.rows([2])
        assert (seen["row"], seen["id"], seen["text"], seen["image"]) == (2, "2", "text 2", False)
        assert seen["cells"] == {f"x{j}": f"{points[2, j]:.6g}" for j in range(3)}
        assert (seen["given"], seen["predicted"], seen["confidence"]) == (TRUTH[2], None, None)
        assert (seen["candidates"], seen["first_columns"]) == ([], ["x0", "x1", "x2"])
        found.undo()
        one_of_each(found)
        model = LapERLSClassifier().fit(points, [label or None for label in found.labels()])
        seen = found.rows(range(60))
    best_column = {}
    for row, shares in zip(seen, model.transduction_proba_, strict=True):
        names, found_shares = zip(*(one.values() for one in row["candidates"]), strict=True)
        best = np.argsort(-shares)
        assert list(names) == model.classes_[best].tolist()
        np.testing.assert_allclose(found_shares, shares[best], atol=1e-6)
        best_column["".join(sorted(names[:2]))] = row["first_columns"][0]
    # 'u' and 'v' are apart along the second column alone, 'u' and 'w' along the third.
    assert (best_column["uv"], best_column["uw"]) == ("x1", "x2")


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ("give", ([], "u"), r"No row is selected\."),
        ("give", ([60], "u"), r"There is no row 60: the rows go from 0 to 59\."),
        ("give", ([-1], "u"), "There is no row -1"),
        ("give", ([10**40], "u"), "There is no row of that number"),
        ("give", ([1, 1], "u"), r"A row is given twice\."),
        ("give", ([*range(60)] * 2, "u"), "more rows in the message than in the table"),
        ("give", ([1], " "), r"is empty\. Type a name"),
        ("give", ([1], "NA"), r"'NA' means \"no label\" in tables"),
        ("give", ([1], "a\nb"), "cannot be shown"),
        ("give", ([1], "\ud800"), "cannot be shown"),
        ("give", ([1], "x" * 201), "more than 200 letters"),
        ("add_class", ("w",), "There are 4 classes already"),
        ("rename_class", ("w", "x"), "There is no class 'w'; perhaps it was renamed"),
        ("rename_class", ("u", "u"), "is called 'u' already"),
        ("rename_class", ("u", "1"), "There is a class '1' already. Merge"),
        ("rename_class", ("u", "1.0"), r"There is a class '1\.0' already"),
        ("rename_class", ("u", ""), "is empty"),
        ("drop_class", ("w", None), "no class 'w'"),
        ("drop_class", ("u", "u"), "with itself"),
        ("undo", (), r"Another class is called 'v' by now\."),
        ("undo", (1,), "no step 1 to take back; perhaps it was taken back already"),
        *(("undo", (k,), f"no step {k} to take back") for k in (0, 3, -1, 10**30)),
        ("mark", ([2], "odd"), "There is no mark 'odd'"),
        ("map", ("own",), "There is no map 'own'"),
        ("find", (Query(" "),), "Type some words"),
        ("find", (Query(label="none"),), "There is no class 'none'"),
        ("find", (Query(label="u", by="me"),), "given or predicted or either, not 'me'"),
        (
            "find",
            (Query(state="odd"),),
            r"There is no kind of rows 'odd'\. Use one of labelled, unlabelled, sure, uncertain, "
            "suggested, suspicious, flagged, skipped",
        ),
    ],
)
def test_refused_changes_are_reported_and_not_written(
    change: str, arguments: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lapwing._label.history.MOST_CLASSES", 4)
    with labels_only(X, tmp_path, classes=("u", "v")) as found:
        found.give([0], "1")
        found.undo()
        found.rename_class("v", "x")
        found.add_class("v")
        journal = (tmp_path / "labels.jsonl").read_bytes()
        with pytest.raises(RequestError, match=message):
            getattr(found, change)(*arguments)
        assert (found.version, found.history.classes) == (4, ("u", "x", "1", "v"))
        assert (tmp_path / "labels.jsonl").read_bytes() == journal


@pytest.mark.parametrize("later", [(), ("newer",), ("newer", "newest")])
@pytest.mark.parametrize("classes", [(), ("u",), ("new",), ("newer",)])
def test_table_and_classes_may_have_any_name_of_a_renamed_class(
    tmp_path: Path, later: tuple[str, ...], classes: tuple[str, ...]
) -> None:
    """The labels were exported with the new name, and came back after further renamings."""
    names = ("u", "new", *later)
    with labels_only(X, tmp_path) as found:
        found.give([0, 1], "u")
        for before, name in pairwise(names):
            found.rename_class(before, name)
    given = {0: "new", 1: "new", 2: "v"}
    with labels_only(X, tmp_path, labels=given, classes=classes) as found:
        assert found.labels()[:4].tolist() == [names[-1], names[-1], "v", ""]
        own = {"newer"} & {*classes} - {*names}
        assert {*found.history.classes} == {names[-1], "v", *own}


@pytest.mark.parametrize("named", [("u", "v"), ()])
def test_classes_without_a_record_survive_a_restart(tmp_path: Path, named: tuple[str, ...]) -> None:
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


@pytest.mark.parametrize(
    ("change", "arguments"), [("give", ([2], "v")), ("undo", ()), ("add_class", ("v",))]
)
def test_changes_that_cannot_be_written_are_not_made(
    change: str, arguments: Any, tmp_path: Path
) -> None:
    with labels_only(X, tmp_path) as found:
        found.give([1], "u")
        heard: list[Event] = []
        found.listen(heard.append)
        full = patch.object(found._journal, "append", side_effect=JournalError("No space left."))
        with full, pytest.raises(JournalError, match="No space left"):
            getattr(found, change)(*arguments)
        assert (found.version, found.history.classes, heard) == (1, ("u",), [])
        found.give([2], "v")


def test_no_part_of_a_change_is_written_without_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with labels_only(X, tmp_path) as found:
        found.give([1], "u")
        journal = (tmp_path / "labels.jsonl").read_bytes()

        def sync(_: int) -> None:
            if (tmp_path / "labels.jsonl").read_bytes().count(b'{"batch"') > 1:
                raise OSError("No space left.")

        monkeypatch.setattr("os.fsync", sync)
        with pytest.raises(JournalError, match="No space left"):
            found.drop_class("u")
        assert (tmp_path / "labels.jsonl").read_bytes() == journal


@pytest.mark.parametrize(
    "record",
    [
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
        {"measured": {"n_labels": 3, "volumes": []}},
    ],
    ids=str,
)
def test_rejects_journals_with_impossible_changes(record: Any, tmp_path: Path) -> None:
    with labels_only(X, tmp_path) as found:
        found._journal.append(record)
    wrong = pytest.raises(JournalError, match="it holds a change that this table cannot have")
    with wrong, labels_only(X, tmp_path):
        pass


def test_incomplete_line_of_the_journal_is_reported(tmp_path: Path) -> None:
    with labels_only(X, tmp_path) as found:
        found.give([1], "u")
    with (tmp_path / "labels.jsonl").open("ab") as file:
        file.write(b'{"batch":2,"giv')
    with labels_only(X, tmp_path) as found:
        (warning,) = found.state()["warnings"]
        assert warning.startswith("The last change in the journal was not finished")
        assert found.version == 1


def test_labels_are_kept_if_the_model_fails() -> None:
    with session(X) as found:
        with patch.object(Learner, "learn", side_effect=MemoryError("not enough memory")):
            learn(found, [1], "u")
        assert found.state()["warnings"] == ["The model could not learn: not enough memory"]
        assert found.labels()[1] == "u"
        learn(found, [2], "v")
        assert "The model could not learn" not in " ".join(found.state()["warnings"])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_warns_of_unreached_rows_and_constant_predictions(form: Any) -> None:
    of_v, of_w = ([row for row in range(60) if TRUTH[row] == name] for name in "vw")
    with session(form(np.vstack([X, X[of_w[:15]] + 6]))) as found:
        found.give([first("u")], "u")
        learn(found, of_v[:1], "v")
        assert found.state()["warnings"] == [
            "Not connected to any labelled row: 35 rows in 2 groups. Label a row of each group, "
            f"for example '{of_w[0]}'."
        ]
        found.give([of_w[0], 60], "u")
        learn(found, of_v, "v")
        assert found.state()["warnings"] == [
            "All unlabelled rows are predicted as 'u'. Label rows of other classes that are far "
            "from these on the map."
        ]


def test_table_whose_rows_are_all_labelled() -> None:
    with session(X, labels=dict(enumerate(TRUTH)), classes=("x",)) as found:
        assert found.rest()
        state = found.state()
        assert (state["evidence"], state["suggestions"], state["warnings"]) == (None, [], [])
        assert state["model"]["fitted"]
        assert found.add_class("x") == 0, "nothing has changed"
        with pytest.raises(RequestError, match="nothing to take back"):
            found.undo()
