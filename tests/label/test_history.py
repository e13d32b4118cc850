"""The history: any sequence of batches and undos is what its replay gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing._label.history import NO_CODE, Batch, History
from lapwing._label.words import RequestError

N = 6
CLASSES = ("a", "b", "c")


def begin() -> History:
    base = np.array([0, NO_CODE, NO_CODE, 1, NO_CODE, NO_CODE], dtype=np.int32)
    return History.begin(base, CLASSES)


def batch(history: History, rows: list[int], codes: list[int]) -> History:
    number = len(history.batches) + 1
    return history.with_batch(Batch(number, np.array(rows), np.array(codes, dtype=np.int32)))


rows_and_codes = st.dictionaries(
    st.integers(0, N - 1), st.integers(NO_CODE, len(CLASSES) - 1), min_size=1
)
steps = st.lists(st.one_of(rows_and_codes, st.integers(1, 12)), max_size=15)


@given(steps)
def test_any_sequence_of_batches_and_undos_is_its_replay(sequence: list[Any]) -> None:
    """Against plain dictionaries: the rows of the batches that stand, in their order."""
    history = begin()
    standing: dict[int, dict[int, int]] = {}
    n_batches = 0
    for step in sequence:
        if isinstance(step, dict):
            history = batch(history, list(step), list(step.values()))
            n_batches += 1
            standing[n_batches] = step
        elif step in standing:
            history = history.without(step)
            del standing[step]
        else:
            with pytest.raises(RequestError, match=f"no step {step} to take back"):
                history.without(step)
        expected = {0: 0, 3: 1}
        for number in sorted(standing):
            expected |= standing[number]
        assert history.codes.tolist() == [expected.get(row, NO_CODE) for row in range(N)]
        last = max(standing, default=None)
        assert (history.last.number if history.last else None) == last
        given = [CLASSES[code] for code in expected.values() if code != NO_CODE]
        assert history.counts() == {name: given.count(name) for name in CLASSES}
    assert len(history.batches) == n_batches


def test_nothing_is_changed_in_place() -> None:
    first = begin()
    second = batch(first, [1], [2])
    third = second.without(1)
    assert first.codes.tolist() == third.codes.tolist() == [0, -1, -1, 1, -1, -1]
    assert second.codes.tolist() == [0, 2, -1, 1, -1, -1]
    assert (first.last, third.last) == (None, None)
    assert third.taken_back == {1}
    assert len(second.taken_back) == 0


def test_a_new_name_is_a_step_without_rows() -> None:
    first = batch(begin(), [1], [0])
    renamed = first.with_name(0, "z")
    assert renamed.classes == ("z", "b", "c")
    assert renamed.names().tolist() == ["z", "z", "", "b", "", ""]
    assert (first.changes_the_table, renamed.changes_the_table) == (False, True)
    assert begin().with_name(2, "z").changes_the_table is False  # a class of no row
    assert renamed.last is not None
    assert renamed.last.number == 2
    assert renamed.without(1).classes == ("z", "b", "c")
    back = renamed.with_class("d").without(2)
    assert back.classes == ("a", "b", "c", "d")
    assert back.codes.tolist() == renamed.codes.tolist()
    assert first.classes == CLASSES
    for taken in ("b", "z"):
        with pytest.raises(RequestError, match=f"There is a class '{taken}' already"):
            renamed.with_name(1 if taken == "z" else 0, taken)
    with pytest.raises(RequestError, match="Another class is called 'a' by now"):
        renamed.with_class("a").without(2)


def test_classes_come_in_their_order_and_once() -> None:
    history = begin().with_class("z").with_class("1").with_class("1.0").with_class("b")
    assert history.classes == ("a", "b", "c", "z", "1")
    assert [history.code(name) for name in ("b", "1.0", "1", "A")] == [1, 4, 4, None]
    of_table = History.begin(begin().base, ("a\tb", "c"))  # no name that the page would take
    assert of_table.with_class("a\tb") is of_table


def test_names_are_texts_and_empty_where_there_is_none() -> None:
    assert begin().names().tolist() == ["a", "", "", "b", "", ""]
