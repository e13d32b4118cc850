"""Labelling session: journal and history behind one lock, with a version.

Labels are written to the journal before they are used. `lapwing._label.model` learns the labels,
and `lapwing._label.view` computes what the page shows.

Suggested rows are harder than others, so errors on them do not estimate the error rate. Therefore
one row in `one_in` is a check row, drawn at random from all unlabelled rows, and the error is
estimated from check rows only. A check row is suggested until it is labelled: omitting rows that a
user skips would bias the sample.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing._label.finding import Finder, View, Wish
from lapwing._label.history import NO_CODE, History
from lapwing._label.journal import (
    Journal,
    JournalError,
    Record,
    batch_record,
    class_record,
    drop_record,
    is_aside,
    now,
    renamed_from,
    replayed,
    undo_record,
)
from lapwing._label.learner import Answers, Estimate
from lapwing._label.mapping import MapJob
from lapwing._label.material import Maps, Material
from lapwing._label.model import QUEUED, Model, Task
from lapwing._label.view import Moment, colours_of, rows_of, state_of, volumes
from lapwing._label.words import MOST_CLASSES, RequestError, check_class_name
from lapwing._tables.columns import RANDOM, SUGGESTED

CLOSED = "closed"  # the part of the last event
MOST_SUGGESTED = 100
MARKS = ("flagged", "skipped")
_UNKNOWN = {"error": None, "low": None, "high": None}


class Event(NamedTuple):
    """Change of a part, with its new version."""

    version: int
    part: str


class Receipt(NamedTuple):
    """Batch that has been written to disk."""

    version: int
    batch: int
    n_rows: int


class Session:
    """Labelling session of a table; can be used from any thread.

    Parameters
    ----------
    material : Material
    journal : Journal or None
        File of the labels; None keeps them in memory only.
    neighbor_map : bool, default=False
        Whether to compute a neighbour map as well, see `lapwing._label.mapping`.

    Raises
    ------
    JournalError
        If the journal contradicts the table.
    """

    def __init__(
        self, material: Material, journal: Journal | None, *, neighbor_map: bool = False
    ) -> None:
        self.material = material
        self._journal = journal
        self._lock = threading.RLock()
        self._listeners: list[Callable[[Event], None]] = []
        self._history = _beginning(material, {})
        self._checks = self._first_checks()
        self._target: float | None = None
        self._offered: set[int] = set()  # rows that have been in the queue
        self._queued: list[int] = []  # the queue as last shown
        self._marks: dict[str, set[int]] = {kind: set() for kind in MARKS}
        self._finder = Finder(material.table, material.texts)
        self._version = 0
        self._curve: dict[int, dict[str, Any]] = {}
        self._notes: tuple[str, ...] = material.notes
        if journal is not None:
            if journal.n_cut:
                self._notes += (
                    "The last change in the journal was not finished, and never shown as saved. "
                    "It was cut off.",
                )
            self._replay(journal)
        if material.target is not None and material.target != self._target:
            self.aim(material.target)
        n_classes = len(self._history.classes)
        self._model = Model(material, n_classes, self._lock, self._heard, self._keep_point)
        self._mapping = MapJob(self._take_map) if neighbor_map else None
        self._maps = Maps(material, lambda: self._model.point_graph.eigenmap())
        self._model.learn(self._task())

    # Queries

    @property
    def version(self) -> int:
        """Number of changes."""
        return self._version

    @property
    def history(self) -> History:
        """History of the labels."""
        return self._history

    @property
    def answers(self) -> Answers | None:
        """Return the predictions of the model; None before the first fit."""
        return self._model.learnt.answers

    def state(self) -> dict[str, Any]:
        """Return the state for the page as JSON, without the map and the rows."""
        with self._lock:
            learnt, history = self._model.learnt, self._history
            advised = [row for row in learnt.advice.suggestions if history.codes[row] == NO_CODE]
            queue = self._queue(advised, QUEUED) if advised else []
            checks_alone = looks_done(self._target, learnt.advice.estimate)
            moment = Moment(
                self._version, history, learnt, dict(self._curve), self._target, checks_alone
            )
        n, shown, answers = self.material.n, len(self._maps.shown), learnt.answers
        return {
            **state_of(moment, self.material),
            "suggestions": queue,
            "skipped": self._open("skipped"),
            "n_flagged": len(self._marks["flagged"]),
            "n_shown": shown,
            "sample_note": None
            if shown == n
            else f"The map shows {shown} of the {n} rows, an even sample. The model learns from "
            "all rows.",
            "maps": [kind._asdict() for kind in self._maps.kinds],
            "model": {
                "name": self._model.name,
                "ready": learnt.ready,
                "fitted": answers is not None,
                "version": learnt.version,
                "seconds": None if answers is None else answers.seconds,
            },
            "warnings": [*self._notes, *learnt.warnings],
            "journal": None if self._journal is None else self._journal.path.name,
        }

    def map(self, key: str) -> bytes:
        """Return the coordinates of the rows shown, in the format of `as_bytes`.

        Raises
        ------
        RequestError
            If the map does not exist, or not yet.
        """
        return self._maps.draw(key)

    def colours(self) -> tuple[int, int, bytes]:
        """Return the version, that of the model, and the classes of the rows shown."""
        with self._lock:
            version, learnt, given = self._version, self._model.learnt, self._history.codes
        return version, learnt.version, colours_of(given, learnt.answers, self._maps.shown)

    def rows(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Return some rows for display.

        Raises
        ------
        RequestError
            If a row does not exist.
        """
        self._check_rows(rows)
        with self._lock:
            history, answers = self._history, self._model.learnt.answers
            flagged = self._marks["flagged"]
        return rows_of(rows, self.material, history, answers, flagged)

    def find(self, wish: Wish) -> list[int]:
        """Find rows by words and filters, see `Finder.find`."""
        with self._lock:
            learnt = self._model.learnt
            lists = {
                "suggested": self._queued,
                "doubted": [doubt.row for doubt in learnt.advice.suspicious_labels],
                "flagged": self._marks["flagged"],
                "skipped": self._open("skipped"),
            }
            view = View(self._history, learnt.answers, lists)
        return self._finder.find(wish, view)

    def image(self, row: int) -> tuple[str, bytes]:
        """Return the image of a row, see `Material.image`."""
        self._check_rows([row])
        return self.material.image(row)

    def suggest(self, k: int, skipped: Sequence[int] = ()) -> list[int]:
        """Return rows to label next, including check rows but no skipped rows.

        Raises
        ------
        RequestError
            If the graph has not been computed yet, or a row does not exist.
        """
        self._check_rows(skipped)
        if not 1 <= k <= MOST_SUGGESTED:
            raise RequestError(f"Between 1 and {MOST_SUGGESTED} rows can be suggested at once.")
        with self._lock:
            answers, codes = self._model.learnt.answers, self._history.codes
        return self._queue(self._model.suggest(answers, codes, k, skipped), k, skipped)

    def labels(self) -> NDArray[Any]:
        """Return the label of each row as text, empty for unlabelled rows."""
        return self._history.names()

    def chosen(self) -> NDArray[Any]:
        """Return how each labelled row was chosen; empty if by the user, and for other rows."""
        with self._lock:
            history, checks = self._history, self._checks
        found = np.full(self.material.n, "", dtype=object)
        for batch in history.batches:
            if batch.asked and batch.number not in history.taken_back:
                found[batch.rows] = SUGGESTED
        found[checks.answered(history.codes)] = RANDOM
        found[history.codes == NO_CODE] = ""
        return found

    # Commands

    def give(self, rows: Sequence[int], label: str | None) -> Receipt:
        """Label rows, or remove their labels; written to disk before this returns.

        Raises
        ------
        RequestError
            If a row does not exist or is given twice, or the label is invalid in tables.
        JournalError
            If the journal cannot be written.
        """
        at = self._distinct(rows)
        with self._lock:
            history = self._history
            if label is None:
                code = NO_CODE
            else:
                history, code = self._knowing(history, check_class_name(label))
            codes = np.full(len(at), code, dtype=np.int32)
            return self._add(history, at, codes, "user")

    def take(self, rows: Sequence[int], model_version: int | None = None) -> Receipt:
        """Label unlabelled rows with their predicted classes.

        Parameters
        ----------
        rows : sequence of int
        model_version : int, optional
            Version of the predictions that the user saw.

        Raises
        ------
        RequestError
            As for `give`, or if there are no predictions yet, they have changed, or all rows are
            labelled.
        JournalError
            If the journal cannot be written.
        """
        at = self._distinct(rows)
        with self._lock:
            learnt = self._model.learnt
            if learnt.answers is None:
                raise RequestError(
                    "The model has no answer yet: it needs labels of two classes.", 409
                )
            if model_version not in (None, learnt.version):
                raise RequestError(
                    "The model has learnt more since you looked. Look at its new answers first.",
                    409,
                )
            # A lasso may include labelled rows, whose labels are kept.
            at = at[self._history.codes[at] == NO_CODE]
            if not len(at):
                raise RequestError(
                    "All selected rows have labels already. The key of a class gives them another.",
                    409,
                )
            codes = learnt.answers.codes[at].astype(np.int32)
            return self._add(self._history, at, codes, "model")

    def undo(self, batch: int | None = None) -> Receipt:
        """Undo a batch, by default the last one that has not been undone.

        Raises
        ------
        RequestError
            If there is none.
        JournalError
            If the journal cannot be written.
        """
        with self._lock:
            last = self._history.last
            if batch is None and last is None:
                raise RequestError("There is nothing to take back.", 409)
            number = last.number if batch is None and last is not None else int(batch or 0)
            try:
                history = self._history.without(number)
            except KeyError:
                raise RequestError(
                    f"There is no step {number} to take back; perhaps it was taken back already.",
                    409,
                ) from None
            except ValueError as error:
                raise RequestError(
                    f"Another class is called {str(error)!r} by now. Rename that one first.", 409
                ) from None
            self._write(undo_record(number))
            self._change(history)
            return Receipt(self._version, number, len(history.batches[number - 1].rows))

    def add_class(self, name: str) -> int:
        """Add a class without rows; return the version.

        Raises
        ------
        RequestError
            If the label is invalid in tables.
        JournalError
            If the journal cannot be written.
        """
        with self._lock:
            history, code = self._knowing(self._history, check_class_name(name))
            if code not in history.named:
                self._write(class_record(history.classes[code]))
                self._change(history.naming(code, there=True))
            return self._version

    def drop_class(self, name: str, into: str | None = None) -> Receipt:
        """Delete a class: its rows get another class or become unlabelled; a step if it has rows.

        Raises
        ------
        RequestError
            If there is no such class.
        JournalError
            If the journal cannot be written.
        """
        with self._lock:
            history = self._history
            for one in (name, into):
                if one is not None and one not in history.classes:
                    raise RequestError(f"There is no class {one!r}; perhaps it was renamed.", 409)
            if name == into:
                raise RequestError(f"{name!r} cannot be merged with itself.", 409)
            code = history.classes.index(name)
            self._write(drop_record(name))
            history = history.naming(code, there=False)
            rows = np.flatnonzero(history.codes == code)
            if not len(rows):
                self._change(history)
                return Receipt(self._version, 0, 0)
            new = NO_CODE if into is None else history.classes.index(into)
            return self._add(history, rows, np.full(len(rows), new, dtype=np.int32), "user")

    def rename_class(self, before: str, name: str) -> Receipt:
        """Rename a class; written to disk before this returns.

        Raises
        ------
        RequestError
            If there is no such class, the name is used by another one, or is invalid in tables.
        JournalError
            If the journal cannot be written.
        """
        name = check_class_name(name)
        with self._lock:
            history = self._history
            if before not in history.classes:
                raise RequestError(f"There is no class {before!r}; perhaps it was renamed.", 409)
            if name == before:
                raise RequestError(f"The class is called {name!r} already.", 409)
            try:
                after = history.with_name(history.classes.index(before), name, now())
            except ValueError:
                raise RequestError(
                    f"There is a class {name!r} already. Merge {before!r} with it instead.", 409
                ) from None
            batch = after.batches[-1]
            self._write(batch_record(batch, after.classes))
            self._change(after)
            return Receipt(self._version, batch.number, 0)

    def mark(self, rows: Sequence[int], kind: str, on: bool = True) -> int:
        """Mark rows as flagged or skipped; return the version.

        Raises
        ------
        RequestError
            If a row does not exist or is given twice, or the mark is unknown.
        JournalError
            If the journal cannot be written.
        """
        at = self._distinct(rows).tolist()
        if kind not in MARKS:
            raise RequestError(f"There is no mark {kind[:40]!r}: {' or '.join(MARKS)}.")
        with self._lock:
            self._write({"mark": kind, "rows": at, "on": on})
            self._set_mark(at, kind, on)
            self._emit("marks", self._version)
            return self._version

    def aim(self, target: float | None) -> int:
        """Set the error rate at which labelling can stop; return the version.

        Raises
        ------
        JournalError
            If the journal cannot be written.
        """
        with self._lock:
            self._write({"target": target})
            self._target = target
            self._emit("target", self._version)
            return self._version

    def listen(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Subscribe to changes, which are reported in any thread; return a function to end it."""
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            with self._lock, suppress(ValueError):
                self._listeners.remove(listener)

        return end

    def wait(self, version: int | None = None, seconds: float = 60.0) -> bool:
        """Wait until the model has learnt a version (default: the newest); return if in time."""
        wanted = self._version if version is None else version
        return self._model.wait(wanted, seconds)

    def rest(self, seconds: float = 60.0) -> bool:
        """Wait until all computations are done; return whether it was in time."""
        if not self._model.rest(seconds):
            return False
        return self._mapping is None or self._mapping.wait(seconds)

    def say_goodbye(self) -> None:
        """Notify all listeners of the end."""
        self._emit(CLOSED, self._version)

    def close(self) -> None:
        """Stop the threads and release the journal."""
        if self._mapping is not None:
            self._mapping.close()
        self._model.close()
        with self._lock:
            if self._journal is not None:
                self._journal.close()

    # Implementation

    def _add(
        self, history: History, rows: NDArray[np.intp], codes: NDArray[np.int32], by: str
    ) -> Receipt:
        answers, drawn = self._model.learnt.answers, set(self._checks.rows)
        checked = tuple(
            (row, NO_CODE if answers is None else int(answers.codes[row]))
            for row in rows.tolist()
            if row in drawn and history.codes[row] == NO_CODE
        )
        asked = len(rows) == 1 and int(rows[0]) in self._offered
        after = history.with_batch(rows, codes, by, now(), asked, checked)
        batch = after.batches[-1]
        self._write(batch_record(batch, history.classes))
        self._offered.difference_update(rows.tolist())
        self._change(after)
        return Receipt(self._version, batch.number, len(rows))

    def _write(self, record: Record) -> None:
        if self._journal is not None:
            self._journal.append(record)

    def _change(self, history: History) -> None:
        self._curve = _renamed(self._curve, self._history.classes, history.classes)
        self._history = history
        self._version += 1
        self._emit("labels", self._version)
        self._model.learn(self._task())

    def _set_mark(self, rows: Sequence[int], kind: str, on: bool) -> None:
        self._marks[kind] = self._marks[kind] | set(rows) if on else self._marks[kind] - set(rows)

    def _open(self, kind: str) -> list[int]:
        """Return the unlabelled rows with a mark."""
        codes = self._history.codes
        return sorted(row for row in self._marks[kind] if codes[row] == NO_CODE)

    def _task(self) -> Task:
        return Task(self._version, self._history, self._checks.answered(self._history.codes))

    def _first_checks(self) -> Checks:
        return Checks.begin(self._history.base, random_labels=self.material.random_labels)

    def _queue(self, suggested: Sequence[int], k: int, skipped: Sequence[int] = ()) -> list[int]:
        """Merge suggested rows with check rows; more check rows are drawn if necessary."""
        with self._lock:
            codes = self._history.codes
            done = looks_done(self._target, self._model.learnt.advice.estimate)
            one_in = 1 if done else self.material.check_every
            places = check_places(self._history.n_asked, k, one_in)
            passed = set(skipped)
            pending = [row for row in self._checks.pending(codes) if row not in passed]
            more = self._checks.drawn(codes, max(0, int(places.sum()) - len(pending)))
            if more:
                with suppress(JournalError):  # so that a later session has the same check rows
                    self._write({"check": list(more)})
                    self._checks = self._checks.with_rows(more)
                    pending += [row for row in more if row not in passed]
            rows = mixed(suggested, pending, places)
            self._offered.update(rows)
            self._queued = rows
            return rows

    def _heard(self, part: str, version: int) -> None:
        """Report changes of the model; start the neighbour map as soon as it has a graph."""
        if part == "ready" and self._mapping is not None:
            self._mapping.begin(self._model.point_graph, self.material.points)
        self._emit(part, version)

    def _take_map(self, places: NDArray[Any]) -> None:
        self._maps.take(places)
        self._emit("map", self._version)

    def _emit(self, part: str, version: int) -> None:
        with self._lock:
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener(Event(version, part))

    def _knowing(self, history: History, name: str) -> tuple[History, int]:
        """Return the history with this class, and its code."""
        after = history.with_class(name)
        if len(after.classes) > MOST_CLASSES:
            raise RequestError(
                f"There are {MOST_CLASSES} classes already, which is the limit.", 409
            )
        code = after.code(name)
        assert code is not None
        return after, code

    def _replay(self, journal: Journal) -> None:
        """Replay the journal."""
        n = self.material.n
        try:
            self._history = _beginning(self.material, renamed_from(journal.records, n))
            self._checks = self._first_checks()
            for record in journal.records:
                if "check" in record:
                    self._checks = self._checks.with_rows([int(row) for row in record["check"]])
                if "mark" in record:
                    marked = self._distinct([int(row) for row in record["rows"]]).tolist()
                    self._set_mark(marked, record["mark"], bool(record["on"]))
                if "target" in record:
                    self._target = None if record["target"] is None else float(record["target"])
                if "measured" in record:
                    point = dict(record["measured"])
                    self._curve[int(point["n_labels"])] = point
                if is_aside(record):
                    continue
                before = self._history.classes
                self._history = replayed(self._history, record, n)
                self._curve = _renamed(self._curve, before, self._history.classes)
                self._version += 1
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, RequestError):
            journal.close()
            raise JournalError(
                f"{journal.path} is damaged: it holds a change that this table cannot have. "
                "Name another file with --journal."
            ) from None

    def _keep_point(self, task: Task, answers: Answers, estimate: Estimate | None) -> None:
        """Add a point to the curve, and write it to the journal if possible."""
        n_classes = len(task.history.classes)
        n_labels = int(np.count_nonzero(task.history.codes >= 0))
        with self._lock:
            classes = self._history.classes[:n_classes]  # by their present names
            measured = _UNKNOWN if estimate is None else vars(estimate)
            point = {"n_labels": n_labels, **measured, "volumes": volumes(answers, classes)}
            if self._curve.get(n_labels) == point:
                return
            self._curve[n_labels] = point
            with suppress(JournalError):
                self._write({"measured": point})

    def _check_rows(self, rows: Sequence[int]) -> None:
        n = self.material.n
        for row in (min(rows), max(rows)) if rows else ():
            if not 0 <= row < n:
                raise RequestError(f"There is no row {_brief(row)}: the rows go from 0 to {n - 1}.")

    def _distinct(self, rows: Sequence[int]) -> NDArray[np.intp]:
        if not len(rows):
            raise RequestError("No row is selected. Select some first.")
        if len(rows) > self.material.n:
            raise RequestError("There are more rows in the message than in the table.")
        self._check_rows(rows)
        at = np.asarray(rows, dtype=np.intp)
        if len(np.unique(at)) < len(at):
            raise RequestError("A row is given twice. Give each row once.")
        return at


def _renamed(
    curve: dict[int, dict[str, Any]], before: Sequence[str], now: Sequence[str]
) -> dict[int, dict[str, Any]]:
    """Return the volumes of a curve by the present names of the classes."""
    if tuple(now[: len(before)]) == tuple(before):
        return curve
    names = dict(zip(before, now, strict=False))
    return {
        n_labels: {
            **point,
            "volumes": {names.get(name, name): n for name, n in point["volumes"].items()},
        }
        for n_labels, point in curve.items()
    }


def _beginning(material: Material, first_names: Mapping[str, str]) -> History:
    """Return the history of the table's labels, to which the journal is applied."""
    table = material.table
    given = np.where(table.labeled, table.y, "").astype(object).tolist()
    names = [first_names.get(str(name), str(name)) for name in given]
    known = dict.fromkeys(first_names.get(name, name) for name in material.classes)
    known |= dict.fromkeys(sorted(set(names) - {""}))
    place = {name: k for k, name in enumerate(known)} | {"": NO_CODE}
    base = np.array([place[name] for name in names], dtype=np.int32)
    return History.begin(base, tuple(known))


def _brief(number: int) -> str:
    return str(number) if abs(number) < 10**15 else "of that number"


_SEED = 0
# Minimum number of check rows to judge whether the target may be met: with four, a model with an
# error rate of 20 % has no errors in two of five cases.
_ENOUGH = 5


@dataclass(frozen=True, eq=False)
class Checks:
    """Check rows: drawn at random, to estimate the error.

    Attributes
    ----------
    order : ndarray of int of shape (n,)
        Order in which rows are drawn.
    rows : tuple of int
        Rows that have been drawn.
    base : ndarray of int
        Rows labelled in the table, if these were drawn at random.
    """

    order: NDArray[np.intp]
    rows: tuple[int, ...]
    base: NDArray[np.intp]

    @classmethod
    def begin(cls, codes: NDArray[np.int32], *, random_labels: bool) -> Checks:
        """Return the state before any draw; labels of the table count if drawn at random."""
        order = np.random.default_rng(_SEED).permutation(len(codes))
        base = np.flatnonzero(codes != NO_CODE) if random_labels else np.empty(0, dtype=np.intp)
        return cls(order, (), base)

    def pending(self, codes: NDArray[np.int32]) -> list[int]:
        """Return drawn rows without a label."""
        return [row for row in self.rows if codes[row] == NO_CODE]

    def answered(self, codes: NDArray[np.int32]) -> NDArray[np.intp]:
        """Return drawn rows with a label."""
        rows = np.concatenate([self.base, np.array(self.rows, dtype=np.intp)])
        return rows[codes[rows] != NO_CODE]

    def drawn(self, codes: NDArray[np.int32], k: int) -> tuple[int, ...]:
        """Return the next k rows to draw; fewer if no more are unlabelled."""
        free = codes == NO_CODE
        free[list(self.rows)] = False
        return tuple(self.order[free[self.order]][:k].tolist())

    def with_rows(self, rows: Sequence[int]) -> Checks:
        """Add drawn rows.

        Raises
        ------
        ValueError
            If a row does not exist or has been drawn before.
        """
        known = (*self.rows, *rows)
        if len(set(known)) < len(known) or not set(rows) <= set(range(len(self.order))):
            raise ValueError(rows)
        return replace(self, rows=known)


def check_places(n_asked: int, k: int, one_in: int) -> NDArray[np.bool_]:
    """Return the mask of check rows among the next k rows: one in `one_in`, at a random place."""
    numbers = np.arange(n_asked, n_asked + k)
    blocks = numbers // one_in
    draws = {b: np.random.default_rng([_SEED, b]).integers(one_in) for b in blocks.tolist()}
    return np.array([n % one_in == draws[n // one_in] for n in numbers.tolist()], dtype=bool)


def mixed(suggested: Sequence[int], checks: Sequence[int], places: NDArray[np.bool_]) -> list[int]:
    """Merge suggested rows with check rows at the given places; each row once."""
    others = iter([row for row in suggested if row not in set(checks)])
    own = iter(checks)
    rows = [next(own if place else others, None) for place in places.tolist()]
    return [row for row in rows if row is not None]


def looks_done(target: float | None, estimate: Estimate | None) -> bool:
    """Return whether the errors on the check rows so far are within the target.

    Then suggesting check rows only is the fastest way to confirm it.
    """
    return (
        target is not None
        and estimate is not None
        and estimate.n_rows >= _ENOUGH
        and estimate.n_wrong <= target * estimate.n_rows
    )
