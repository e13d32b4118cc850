"""Any sequence of changes of the labels, against a replay by plain dictionaries and over a restart.

The replay knows classes by their numbers: names can be exchanged.
"""

from __future__ import annotations

from itertools import combinations, starmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lapwing._label.errors import RequestError
from lapwing._label.session import Session
from tests.label.pages import X, labels_only

NAMES = ("u", "v", "1", "1.0", "é <b>")


def same(one: str, other: str) -> bool:
    return one == other or {one, other} == {"1", "1.0"}


class Replay:
    """The methods of a session that change labels; each returns whether the change is possible."""

    def __init__(self, labels: dict[int, str], classes: tuple[str, ...]) -> None:
        self.first = list(dict.fromkeys([*classes, *sorted(labels.values())]))
        self.base = {row: self.first.index(name) for row, name in labels.items()}
        self.steps: list[Any] = []  # labels by row, or the class and its new name
        self.undone: set[int] = set()
        self.kept = set(range(len(self.first)))  # classes that exist without a row
        self.dropped: set[int] = set()

    def standing(self, kind: type, undone: set[int] | None = None) -> list[Any]:
        gone = self.undone if undone is None else undone
        steps = (step for k, step in enumerate(self.steps, 1) if k not in gone)
        return [step for step in steps if isinstance(step, kind)]

    def names(self, undone: set[int] | None = None) -> list[str]:
        return list((dict(enumerate(self.first)) | dict(self.standing(tuple, undone))).values())

    def labels(self) -> dict[int, int]:
        found = dict(self.base)
        for step in self.standing(dict):
            found |= step
        return {row: label for row, label in found.items() if label is not None}

    def hidden(self) -> set[str]:
        given = {label for step in self.standing(dict) for label in step.values()}
        shown = ((given | self.kept) - self.dropped) | {*self.labels().values()}
        return {name for k, name in enumerate(self.names()) if k not in shown}

    def code(self, name: str) -> int:
        """Number of a class, which is new if none has this name."""
        found = [k for k, known in enumerate(self.names()) if same(name, known)]
        if not found:
            self.first.append(name)
        return (found or [len(self.first) - 1])[0]

    def give(self, rows: list[int], name: str | None) -> bool:
        self.steps.append(dict.fromkeys(rows, None if name is None else self.code(name)))
        return True

    def undo(self, number: int | None) -> bool:
        left = [k for k in range(1, len(self.steps) + 1) if k not in self.undone]
        number = max(left, default=0) if number is None else number
        after = self.undone | {number}
        if number not in left or any(starmap(same, combinations(self.names(after), 2))):
            return False
        self.undone = after
        return True

    def add_class(self, name: str) -> bool:
        code = self.code(name)
        self.kept, self.dropped = self.kept | {code}, self.dropped - {code}
        return True

    def rename_class(self, before: str, name: str) -> bool:
        names = self.names()
        others = [one for one in names if one != before]
        if before not in names or before == name or any(same(one, name) for one in others):
            return False
        self.steps.append((names.index(before), name))
        return True

    def drop_class(self, name: str, into: str | None) -> bool:
        names = self.names()
        if name not in names or name == into or (into is not None and into not in names):
            return False
        code = names.index(name)
        rows = [row for row, label in self.labels().items() if label == code]
        self.kept, self.dropped = self.kept - {code}, self.dropped | {code}
        return not rows or self.give(rows, into)


def check(found: Session, expected: Replay) -> None:
    names, labels, state = expected.names(), expected.labels(), found.state()
    assert state["classes"] == names
    given_names = [names[labels[row]] if row in labels else "" for row in range(6)]
    assert found.labels().tolist() == given_names
    assert {*state["hidden"]} == expected.hidden()
    assert state["given"] == {name: given_names.count(name) for name in names}
    assert [step["taken_back"] for step in state["history"]] == [
        k + 1 in expected.undone for k in range(len(expected.steps))
    ]
    assert state["can_undo"] == (len(expected.undone) < len(expected.steps))
    changed = any(given_names[row] != expected.first[label] for row, label in expected.base.items())
    assert found.history.changes_the_table == changed


rows = st.sets(st.integers(0, 5), min_size=1, max_size=3).map(sorted)
names = st.sampled_from(NAMES)
starts = st.lists(st.sampled_from("uv1"), max_size=2, unique=True).map(tuple)
tables = st.dictionaries(st.integers(0, 5), st.sampled_from(["u", "a\tb"]))
changes = st.lists(
    st.one_of(
        st.tuples(st.just("give"), rows, names | st.none()),
        st.tuples(st.just("undo"), st.none() | st.integers(0, 7)),
        st.tuples(st.just("add_class"), names),
        st.tuples(st.just("rename_class"), names, names | st.sampled_from("xy")),
        st.tuples(st.just("drop_class"), names, names | st.none()),
    ),
    max_size=8,
)
EXCHANGED = [("rename_class", *pair) for pair in (("u", "t"), ("v", "u"), ("t", "v"))]
NAME_TAKEN = [("give", [1], "u"), ("rename_class", "u", "x"), ("give", [2], "u"), ("undo", 2)]
DROPPED = [("give", [1], "u"), ("drop_class", "u", None), ("add_class", "u"), ("undo", 1)]
MERGED = [("give", [1], "u"), ("give", [2], "v"), ("drop_class", "u", "v"), ("undo", None)]
EQUAL = [("give", [1], "1.0"), ("add_class", "1"), ("rename_class", "1", "1.0")]
BETWEEN = [("give", [1], "u"), ("rename_class", "u", "x"), ("rename_class", "x", "y")]
OLDER_NAME = [*NAME_TAKEN[:2], ("rename_class", "x", "y"), ("undo", 2), ("undo", None)]


@settings(max_examples=3 * settings.default.max_examples)
@example({0: "u", 1: "v"}, (), (), EXCHANGED)
@example({}, (), (), NAME_TAKEN)
@example({}, (), (), OLDER_NAME)
@example({}, (), (), DROPPED)
@example({}, (), (), MERGED)
@example({}, (), (), EQUAL)
@example({}, ("1",), (), EQUAL)
@example({}, (), ("1",), EQUAL)
@example({}, (), ("1",), [("give", [1], "1.0"), ("rename_class", "1.0", "x")])
@example({}, (), ("x",), BETWEEN)
@given(tables, starts, starts | st.sampled_from("xy").map(tuple), changes)
def test_changes_agree_with_their_replay_and_outlast_a_restart(
    tmp_path_factory: pytest.TempPathFactory,
    labels: dict[int, str],
    classes: tuple[str, ...],
    others: tuple[str, ...],
    sequence: list[Any],
) -> None:
    folder: Path = tmp_path_factory.mktemp("restart")
    expected = Replay(labels, classes)
    with labels_only(X[:6], folder, labels=labels, classes=classes) as found:
        for name, *arguments in sequence:
            before, version = found.history, found.version
            codes = before.codes.copy()
            if getattr(expected, name)(*arguments):
                getattr(found, name)(*arguments)
            else:
                with pytest.raises(RequestError):
                    getattr(found, name)(*arguments)
                assert found.version == version
            check(found, expected)
            np.testing.assert_array_equal(before.codes, codes)  # nothing is changed in place
        state, given_names = found.state(), found.labels().tolist()
    with labels_only(X[:6], folder, labels=labels, classes=classes) as found:
        check(found, expected)
        assert found.state()["version"] == state["version"]
        assert found.state()["history"] == state["history"]
    with labels_only(X[:6], folder, labels=labels, classes=others) as found:
        assert found.labels().tolist() == given_names
