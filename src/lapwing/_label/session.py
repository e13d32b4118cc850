"""Labelling session: state, journal and model behind one lock.

Labels are written to the journal before they are used. `lapwing._label.state` applies changes,
`lapwing._label.model` learns the labels, and `lapwing._label.view` computes what the page shows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing._label.errors import RequestError, check_class_name
from lapwing._label.finding import Finder, Query
from lapwing._label.history import NO_CODE, History
from lapwing._label.journal import Journal, JournalError, Record, now
from lapwing._label.learner import Answers, Estimate
from lapwing._label.mapping import MapJob
from lapwing._label.material import Maps, Material
from lapwing._label.model import QUEUED, BackgroundModel
from lapwing._label.state import (
    LabelingState,
    check_places,
    distinct,
    looks_done,
    mixed,
    refuse_unknown_rows,
)
from lapwing._label.view import colours_of, rows_of, state_of, volumes
from lapwing._tables.columns import RANDOM, SUGGESTED

CLOSED = "closed"  # the part of the last event
MOST_SUGGESTED = 100
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
        self._offered: set[int] = set()  # rows that have been in the queue
        self._queued: list[int] = []  # the queue as last shown
        self._finder = Finder(material.table, material.texts)
        self._notes: tuple[str, ...] = material.notes
        self._state = LabelingState.of(material) if journal is None else _resumed(material, journal)
        if journal is not None and journal.n_cut:
            self._notes += (
                "The last change in the journal was not finished, and never shown as saved. It was "
                "cut off.",
            )
        if material.target is not None and material.target != self._state.target:
            self.set_target(material.target)
        n_classes = len(self.history.classes)
        self._model = BackgroundModel(
            material, n_classes, self._lock, self._model_changed, self._keep_point
        )
        self._mapping = MapJob(self._take_map) if neighbor_map else None
        self._maps = Maps(material, lambda: self._model.point_graph.eigenmap())
        self._model.learn(self._state)

    # Queries

    @property
    def version(self) -> int:
        """Number of changes."""
        return self._state.version

    @property
    def history(self) -> History:
        """History of the labels."""
        return self._state.history

    @property
    def answers(self) -> Answers | None:
        """Return the predictions of the model; None before the first fit."""
        return self._model.learnt.answers

    def state(self) -> dict[str, Any]:
        """Return the state for the page as JSON, without the map and the rows."""
        with self._lock:
            learnt, state = self._model.learnt, self._state
            codes = state.history.codes
            advised = [row for row in learnt.advice.suggestions if codes[row] == NO_CODE]
            queue = self._queue(advised, QUEUED) if advised else []
        n, shown, answers = self.material.n, len(self._maps.shown), learnt.answers
        return {
            **state_of(state, learnt, self.material),
            "suggestions": queue,
            "skipped": state.unlabeled_with("skipped"),
            "n_shown": shown,
            "sample_note": None
            if shown == n
            else f"The map shows {shown} of the {n} rows, an even sample. The model learns from "
            "all rows.",
            "maps": self._maps.kinds,
            "model": {
                "name": self._model.name,
                "ready": learnt.graph is not None,
                "fitted": answers is not None,
                "version": learnt.version,
            },
            "warnings": [*self._notes, *learnt.warnings],
            "journal": None if self._journal is None else self._journal.path.name,
        }

    def map(self, key: str) -> bytes:
        """Return the coordinates of the rows shown, see `Maps.draw`.

        Raises
        ------
        RequestError
            If the map does not exist, or not yet.
        """
        return self._maps.draw(key)

    def colours(self) -> tuple[int, int, bytes]:
        """Return the version, that of the model, and the classes of the rows shown."""
        with self._lock:
            state, learnt = self._state, self._model.learnt
        colours = colours_of(state.history.codes, learnt.answers, self._maps.shown)
        return state.version, learnt.version, colours

    def rows(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Return some rows for display.

        Raises
        ------
        RequestError
            If a row does not exist.
        """
        refuse_unknown_rows(rows, self.material.n)
        with self._lock:
            state, answers = self._state, self._model.learnt.answers
        return rows_of(rows, self.material, state.history, answers, state.marks["flagged"])

    def find(self, query: Query) -> list[int]:
        """Find rows by words and filters, see `Finder.find`."""
        with self._lock:
            learnt, state = self._model.learnt, self._state
            lists = {
                "suggested": self._queued,
                "suspicious": [label.row for label in learnt.advice.suspicious_labels],
                "flagged": state.marks["flagged"],
                "skipped": state.unlabeled_with("skipped"),
            }
        return self._finder.find(query, state.history, learnt.answers, lists)

    def image(self, row: int) -> tuple[str, bytes]:
        """Return the image of a row, see `Material.image`."""
        refuse_unknown_rows([row], self.material.n)
        return self.material.image(row)

    def suggest(self, k: int, skipped: Sequence[int] = ()) -> list[int]:
        """Return rows to label next, including check rows but no skipped rows.

        Raises
        ------
        RequestError
            If the graph has not been computed yet, or a row does not exist.
        """
        refuse_unknown_rows(skipped, self.material.n)
        if not 1 <= k <= MOST_SUGGESTED:
            raise RequestError(f"Between 1 and {MOST_SUGGESTED} rows can be suggested at once.")
        with self._lock:
            answers, codes = self._model.learnt.answers, self.history.codes
        return self._queue(self._model.suggest(answers, codes, k, skipped), k, skipped)

    def labels(self) -> NDArray[Any]:
        """Return the label of each row as text, empty for unlabelled rows."""
        return self.history.names()

    def chosen(self) -> NDArray[Any]:
        """Return how each labelled row was chosen; empty if by the user, and for other rows."""
        state = self._state
        history = state.history
        found = np.full(self.material.n, "", dtype=object)
        for batch in history.batches:
            if batch.asked and batch.number not in history.taken_back:
                found[batch.rows] = SUGGESTED
        found[state.checked] = RANDOM
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
        with self._lock:
            name = None if label is None else self._class_name(label)
            return self._give(rows, [name] * len(rows), "user")

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
        at = distinct(rows, self.material.n)
        with self._lock:
            learnt, history = self._model.learnt, self.history
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
            at = at[history.codes[at] == NO_CODE]
            if not len(at):
                raise RequestError(
                    "All selected rows have labels already. The key of a class gives them another.",
                    409,
                )
            labels = [history.classes[code] for code in learnt.answers.codes[at].tolist()]
            return self._give(at.tolist(), labels, "model")

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
            if batch is None:
                if self.history.last is None:
                    raise RequestError("There is nothing to take back.", 409)
                batch = self.history.last.number
            self._commit({"undo": batch, "time": now()})
            return Receipt(self.version, batch, len(self.history.batches[batch - 1].rows))

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
            name = self._class_name(name)
            if self.history.code(name) not in self.history.named:
                self._commit({"class": name})
            return self.version

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
            code = self.history.index(name)
            if into is not None:
                self.history.index(into)
            if name == into:
                raise RequestError(f"{name!r} cannot be merged with itself.", 409)
            rows = np.flatnonzero(self.history.codes == code).tolist()
            if rows:
                return self._give(rows, [into] * len(rows), "user", {"drop": name})
            self._commit({"drop": name})
            return Receipt(self.version, 0, 0)

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
            self.history.index(before)
            if name == before:
                raise RequestError(f"The class is called {name!r} already.", 409)
            number = len(self.history.batches) + 1
            self._commit({"rename": number, "from": before, "to": name, "time": now()})
            return Receipt(self.version, number, 0)

    def mark(self, rows: Sequence[int], kind: str, on: bool = True) -> int:
        """Mark rows as flagged or skipped; return the version.

        Raises
        ------
        RequestError
            If a row does not exist or is given twice, or the mark is unknown.
        JournalError
            If the journal cannot be written.
        """
        with self._lock:
            self._commit({"mark": kind, "rows": list(rows), "on": on}, part="marks")
            return self.version

    def set_target(self, target: float | None) -> int:
        """Set the error rate at which labelling can stop; return the version.

        Raises
        ------
        JournalError
            If the journal cannot be written.
        """
        with self._lock:
            self._commit({"target": target}, part="target")
            return self.version

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
        wanted = self.version if version is None else version
        return self._model.wait(wanted, seconds)

    def rest(self, seconds: float = 60.0) -> bool:
        """Wait until all computations are done; return whether it was in time."""
        if not self._model.rest(seconds):
            return False
        return self._mapping is None or self._mapping.wait(seconds)

    def notify_of_end(self) -> None:
        """Notify all listeners of the end."""
        self._emit(CLOSED, self.version)

    def close(self) -> None:
        """Stop the threads and release the journal."""
        if self._mapping is not None:
            self._mapping.close()
        self._model.close()
        with self._lock:
            if self._journal is not None:
                self._journal.close()

    # Implementation

    def _give(
        self, rows: Sequence[int], labels: Sequence[str | None], by: str, *before: Record
    ) -> Receipt:
        """Label rows, or remove labels, after other records of the same change."""
        history, answers = self.history, self._model.learnt.answers
        given: dict[str | None, list[int]] = {}
        for row, label in zip(rows, labels, strict=True):
            given.setdefault(label, []).append(row)
        number = len(history.batches) + 1
        record: dict[str, Any] = {"batch": number, "given": [*given.items()], "by": by}
        record["time"] = now()
        if len(rows) == 1 and rows[0] in self._offered:
            record["asked"] = True
        pending = set(self._state.checks.pending(history.codes))
        checked = [
            (row, None if answers is None else history.classes[answers.codes[row]])
            for row in rows
            if row in pending
        ]
        if checked:
            record["checked"] = checked
        self._commit(*before, record)
        self._offered.difference_update(rows)
        return Receipt(self.version, number, len(rows))

    def _commit(self, *records: Record, part: str | None = "labels") -> None:
        """Apply a change, write it to disk and report it; an impossible one is not written."""
        after = reduce(LabelingState.after, records, self._state)
        if self._journal is not None:
            self._journal.append(*records)
        self._state = after
        if part is not None:
            self._emit(part, self.version)
        if part == "labels":
            self._model.learn(after)

    def _queue(self, suggested: Sequence[int], k: int, skipped: Sequence[int] = ()) -> list[int]:
        """Merge suggested rows with check rows; more check rows are drawn if necessary."""
        with self._lock:
            state, codes = self._state, self.history.codes
            done = looks_done(state.target, self._model.learnt.advice.estimate)
            one_in = 1 if done else self.material.check_every
            places = check_places(self.history.n_asked, k, one_in)
            passed = set(skipped)
            pending = [row for row in state.checks.pending(codes) if row not in passed]
            more = state.checks.drawn(codes, max(0, int(places.sum()) - len(pending)))
            if more:
                with suppress(JournalError):  # so that a later session has the same check rows
                    self._commit({"check": more}, part=None)
                    pending += [row for row in more if row not in passed]
            rows = mixed(suggested, pending, places)
            self._offered.update(rows)
            self._queued = rows
            return rows

    def _model_changed(self, part: str, version: int) -> None:
        """Report changes of the model; start the neighbour map as soon as it has a graph."""
        if part == "ready" and self._mapping is not None:
            self._mapping.begin(self._model.point_graph, self.material.points)
        self._emit(part, version)

    def _take_map(self, places: NDArray[Any]) -> None:
        self._maps.add("neighbours", places)
        self._emit("map", self.version)

    def _emit(self, part: str, version: int) -> None:
        with self._lock:
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener(Event(version, part))

    def _class_name(self, label: str) -> str:
        """Return the name of a class: the known one if it is equal, as 1 and 1.0 are."""
        name = label if label in self.history.classes else check_class_name(label)
        code = self.history.code(name)
        return name if code is None else self.history.classes[code]

    def _keep_point(
        self, learnt: LabelingState, answers: Answers, estimate: Estimate | None
    ) -> None:
        """Add a point to the curve, and write it to the journal if possible."""
        n_classes = len(learnt.history.classes)
        n_labels = learnt.history.n_labeled
        with self._lock:
            classes = self.history.classes[:n_classes]  # by their present names
            measured = _UNKNOWN if estimate is None else vars(estimate)
            point = {"n_labels": n_labels, **measured, "volumes": volumes(answers, classes)}
            record = {"measured": point}
            if self._state.after(record).curve != self._state.curve:
                with suppress(JournalError):
                    self._commit(record, part=None)


def _resumed(material: Material, journal: Journal) -> LabelingState:
    """Return the state after the records of a journal."""
    try:
        return LabelingState.of(material, journal.records)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RequestError):
        journal.close()
        raise JournalError(
            f"{journal.path} is damaged: it holds a change that this table cannot have. "
            "Name another file with --journal."
        ) from None
