"""Labelling some rows: journal, history and learner behind one lock, and a version that grows.

A label is in the journal before it counts here. The model learns in a thread of its own, and what
takes longer than its answers (suggestions, doubts, the estimated error) in another, each for the
newest labels only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing._label.background import Newest
from lapwing._label.history import NO_CODE, Batch, History
from lapwing._label.journal import Journal, JournalError, Record
from lapwing._label.learner import Answers, Doubt, Estimate, Ground, Learner
from lapwing._label.maps import as_bytes, even_sample, kinds_of_map, principal
from lapwing._label.material import Material
from lapwing._label.words import MOST_CLASSES, RequestError, check_class_name
from lapwing._report.text import percent, plural

__all__ = ["CLOSED", "SUGGESTED", "Event", "Receipt", "Session"]

SUGGESTED = 5
CLOSED = "closed"  # the part of the last event
MOST_SUGGESTED = 100
_STEPS_SHOWN = 500
_DOUBTS_SHOWN = 50
# Whoever labels fast gets colours and suggestions; the estimate waits until the hand rests.
_REST = 0.3
_GRASP = 0.05  # for the page to fetch the colours before anything else is worked out
_NOBODY = 65535


class Event(NamedTuple):
    """Something has changed: which part, and of which version it is now."""

    version: int
    part: str


class Receipt(NamedTuple):
    """A batch that is on the disk."""

    version: int
    batch: int
    n_rows: int


@dataclass(frozen=True)
class _Advice:
    """What takes longer than the answers, of the version that it belongs to."""

    version: int = -1
    suggestions: tuple[int, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    estimate: Estimate | None = None
    estimated_version: int = -1


@dataclass(frozen=True, eq=False)
class _Task:
    """Labels to learn."""

    version: int
    history: History


class Session:
    """A table that is being labelled; any thread may use it.

    Parameters
    ----------
    material : Material
    journal : Journal or None
        Where the labels are kept; None keeps them in memory alone.

    Raises
    ------
    JournalError
        If the journal holds what this table cannot have.
    """

    def __init__(self, material: Material, journal: Journal | None) -> None:
        self.material = material
        self._journal = journal
        self._lock = threading.RLock()
        self._listeners: list[Callable[[Event], None]] = []
        self._history = _beginning(material)
        self._version = 0
        self._curve: dict[int, dict[str, Any]] = {}
        self._notes: tuple[str, ...] = material.notes
        if journal is not None:
            if journal.n_cut:
                self._notes += (
                    "The last change in the journal was not finished, and never shown as saved. "
                    "It was cut off.",
                )
            for record in journal.records:
                self._take(record)
        self._shown = even_sample(material.n)
        self._maps: dict[str, bytes] = {}
        self._map_lock = threading.Lock()
        self._learner = Learner(material.estimator, material.points, len(self._history.classes))
        self._ground: Ground | None = None
        self._failure = ""
        self._said: tuple[str, ...] = ()
        self._answers: Answers | None = None
        self._learnt = -1
        self._advice = _Advice()
        self._changed = threading.Condition(self._lock)
        self._advising = Newest(self._advise, "lapwing label: advice")
        self._learning = Newest(self._learn, "lapwing label: model")
        self._learning.offer(_Task(self._version, self._history))

    # What is asked

    @property
    def version(self) -> int:
        """How many changes there were."""
        return self._version

    @property
    def history(self) -> History:
        """The labels and how they came."""
        return self._history

    @property
    def answers(self) -> Answers | None:
        """What the model says; None as long as it says nothing."""
        return self._answers

    def state(self) -> dict[str, Any]:
        """All that the page shows but the map and the rows, as JSON has it."""
        with self._lock:
            history, answers, advice = self._history, self._answers, self._advice
            version, learnt, curve = self._version, self._learnt, dict(self._curve)
        n, shown = self.material.n, len(self._shown)
        classes = history.classes
        n_labeled = int(np.count_nonzero(history.codes >= 0))
        estimate = advice.estimate
        return {
            "version": version,
            "source": self.material.table.source,
            "n": n,
            "n_shown": shown,
            "sample_note": None
            if shown == n
            else f"The map shows {shown} of the {n} rows, an even sample. The model learns from "
            "all rows.",
            "columns": self.material.columns(),
            "has_text": self.material.texts is not None,
            "has_image": self.material.picture is not None,
            "maps": [kind._asdict() for kind in self._kinds()],
            "classes": list(classes),
            "given": history.counts(),
            "predicted": {} if answers is None else _volumes(answers, classes),
            "n_labeled": n_labeled,
            "history": [self._step(batch, history) for batch in history.batches[-_STEPS_SHOWN:]],
            "can_undo": history.last is not None,
            "model": {
                "name": self._learner.name,
                "ready": self._ground is not None,
                "fitted": answers is not None,
                "version": learnt,
                "seconds": None if answers is None else answers.seconds,
            },
            "evidence": None
            if estimate is None
            else {
                **vars(estimate),
                "version": advice.estimated_version,
                "words": _words(estimate),
            },
            "curve": [curve[k] for k in sorted(curve) if k <= n_labeled],
            "suggestions": [row for row in advice.suggestions if history.codes[row] == NO_CODE],
            "suspicious": [
                {
                    "row": doubt.row,
                    "given": classes[history.codes[doubt.row]],
                    "suggested": classes[doubt.code],
                }
                for doubt in advice.doubts[:_DOUBTS_SHOWN]
                if history.codes[doubt.row] not in (NO_CODE, doubt.code)
            ],
            "warnings": self._warnings(),
            "fit_command": None
            if self.material.fit_command is None
            else self.material.fit_command(history),
            "journal": None if self._journal is None else self._journal.path.name,
        }

    def map(self, key: str) -> bytes:
        """The places of the rows that are shown, as `as_bytes` writes them.

        Raises
        ------
        RequestError
            If there is no such map, or not yet.
        """
        if key not in [kind.key for kind in self._kinds()]:
            raise RequestError(f"There is no map {key[:40]!r}.", 404)
        with self._map_lock:
            if key not in self._maps:
                self._maps[key] = as_bytes(self._shown, self._places(key))
            return self._maps[key]

    def colours(self) -> tuple[int, int, bytes]:
        """The version, that of the model, and the classes of the rows that are shown."""
        with self._lock:
            version, learnt = self._version, self._learnt
            given, answers = self._history.codes, self._answers
        rows = self._shown
        shown = len(rows)
        if answers is None:
            predicted = np.full(shown, _NOBODY, dtype="<u2")
            confidence = np.zeros(shown, dtype=np.uint8)
        else:
            predicted = answers.codes[rows].astype("<u2")
            confidence = np.rint(255 * answers.confidence[rows]).astype(np.uint8)
        given = np.where(given[rows] < 0, _NOBODY, given[rows]).astype("<u2")
        head = np.int32(shown).astype("<i4").tobytes()
        parts = (head, given.tobytes(), predicted.tobytes(), confidence.tobytes())
        return version, learnt, b"".join(parts)

    def rows(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """What people see of some rows.

        Raises
        ------
        RequestError
            If there is no such row.
        """
        self._check_rows(rows)
        with self._lock:
            history, answers = self._history, self._answers
        material, classes = self.material, history.classes
        return [
            {
                "row": row,
                "id": str(material.table.ids[row]),
                "cells": cells,
                "text": material.text(row),
                "image": material.picture is not None,
                "given": None if history.codes[row] < 0 else classes[history.codes[row]],
                "predicted": None if answers is None else classes[answers.codes[row]],
                "confidence": None if answers is None else float(answers.confidence[row]),
            }
            for row, cells in zip(rows, material.cells(list(rows)), strict=True)
        ]

    def image(self, row: int) -> tuple[str, bytes]:
        """The picture of a row, see `Material.image`."""
        self._check_rows([row])
        return self.material.image(row)

    def suggest(self, k: int, skipped: Sequence[int] = ()) -> list[int]:
        """Rows to label next, without those that were skipped.

        Raises
        ------
        RequestError
            If the graph is not there yet, or a row is none.
        """
        self._check_rows(skipped)
        if not 1 <= k <= MOST_SUGGESTED:
            raise RequestError(f"Between 1 and {MOST_SUGGESTED} rows can be suggested at once.")
        with self._lock:
            answers, codes = self._answers, self._history.codes
        return self._suggest(answers, codes, k, skipped)

    def labels(self) -> NDArray[Any]:
        """The label of each row as text, empty where there is none."""
        return self._history.names()

    # What is done

    def give(self, rows: Sequence[int], label: str | None) -> Receipt:
        """Give rows a label, or take theirs away; it is on the disk when this returns.

        Raises
        ------
        RequestError
            If a row is none or given twice, or tables cannot hold the label.
        JournalError
            If the disk does not take it.
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
        """Give rows the classes that the model says; those that have a label keep it.

        Parameters
        ----------
        rows : sequence of int
        model_version : int, optional
            Of the answers that the user saw.

        Raises
        ------
        RequestError
            As `give`; or if the model says nothing yet, or something else by now, or all rows
            have labels.
        JournalError
            If the disk does not take it.
        """
        at = self._distinct(rows)
        with self._lock:
            if self._answers is None:
                raise RequestError(
                    "The model has no answer yet: it needs labels of two classes.", 409
                )
            if model_version not in (None, self._learnt):
                raise RequestError(
                    "The model has learnt more since you looked. Look at its new answers first.",
                    409,
                )
            # A lasso goes around labelled rows too, and who labelled them knows better.
            at = at[self._history.codes[at] == NO_CODE]
            if not len(at):
                raise RequestError(
                    "All selected rows have labels already. The key of a class gives them another.",
                    409,
                )
            codes = self._answers.codes[at].astype(np.int32)
            return self._add(self._history, at, codes, "model")

    def undo(self, batch: int | None = None) -> Receipt:
        """Take a batch back, by default the last that was not taken back.

        Raises
        ------
        RequestError
            If there is none.
        JournalError
            If the disk does not take it.
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
            self._write({"undo": number, "time": _now()})
            self._change(history)
            return Receipt(self._version, number, len(history.batches[number - 1].rows))

    def add_class(self, name: str) -> int:
        """Make a class known before it has a row; returns the version.

        Raises
        ------
        RequestError
            If tables cannot hold such a label.
        JournalError
            If the disk does not take it.
        """
        with self._lock:
            history, _ = self._knowing(self._history, check_class_name(name))
            if history is not self._history:
                self._write({"class": history.classes[-1]})
                self._change(history)
            return self._version

    def listen(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Hear of all changes from now on, in any thread; returns what ends it."""
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            with self._lock, suppress(ValueError):
                self._listeners.remove(listener)

        return end

    def wait(self, version: int | None = None, seconds: float = 60.0) -> bool:
        """Wait until the model has learnt a version, by default the newest; whether in time."""
        wanted = self._version if version is None else version
        with self._changed:
            return self._changed.wait_for(lambda: self._learnt >= wanted, seconds)

    def rest(self, seconds: float = 60.0) -> bool:
        """Wait until nothing is left to be worked out; whether that was in time."""
        return self._learning.wait(seconds) and self._advising.wait(seconds)

    def say_goodbye(self) -> None:
        """Tell all listeners that nothing comes any more."""
        self._emit(CLOSED, self._version)

    def close(self) -> None:
        """End the threads and let others open the journal."""
        self._learning.close()
        self._advising.close()
        with self._lock:
            if self._journal is not None:
                self._journal.close()

    # How it is done

    def _add(
        self, history: History, rows: NDArray[np.intp], codes: NDArray[np.int32], by: str
    ) -> Receipt:
        time = _now()
        after = history.with_batch(rows, codes, by, time)
        given = [
            [None if code == NO_CODE else history.classes[code], rows[codes == code].tolist()]
            for code in np.unique(codes).tolist()
        ]
        number = after.batches[-1].number
        self._write({"batch": number, "given": given, "by": by, "time": time})
        self._change(after)
        return Receipt(self._version, number, len(rows))

    def _write(self, record: Record) -> None:
        if self._journal is not None:
            self._journal.append(record)

    def _change(self, history: History) -> None:
        self._history = history
        self._version += 1
        self._emit("labels", self._version)
        self._learning.offer(_Task(self._version, history))

    def _emit(self, part: str, version: int) -> None:
        with self._lock:
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener(Event(version, part))

    def _knowing(self, history: History, name: str) -> tuple[History, int]:
        """The history with this class, and its code."""
        after = history.with_class(name)
        if len(after.classes) > MOST_CLASSES:
            raise RequestError(
                f"There are {MOST_CLASSES} classes already, which is the limit.", 409
            )
        code = after.code(name)
        assert code is not None
        return after, code

    def _take(self, record: Record) -> None:
        """Do again what a record of the journal says."""
        try:
            if "measured" in record:
                point = dict(record["measured"])
                self._curve[int(point["n_labels"])] = point
                return
            self._history = _replayed(self._history, record, self.material.n)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, RequestError):
            assert self._journal is not None
            self._journal.close()
            raise JournalError(
                f"{self._journal.path} is damaged: it holds a change that this table cannot have. "
                "Name another file with --journal."
            ) from None
        self._version += 1

    def _learn(self, task: _Task) -> None:
        answers: Answers | None = None
        said: tuple[str, ...] = ()
        try:
            if self._ground is None and not self._failure:
                self._ground, notes = self._learner.prepare()
                self._notes += notes
                self._emit("ready", task.version)
            if self._ground is not None:
                answers = self._learner.learn(task.history.codes, task.version)
                self._failure = ""
            if answers is not None:
                said = self._remarks(answers, task.history)
        except Exception as error:  # the labels are safe, and the page must go on
            self._failure = f"The model could not learn: {error}"
        with self._changed:
            self._answers, self._learnt, self._said = answers, task.version, said
            if answers is None:
                self._advice = _Advice()
            self._changed.notify_all()
        self._emit("model", task.version)
        if self._ground is not None:
            self._advising.offer((task, answers))

    def _advise(self, learnt: tuple[_Task, Answers | None]) -> None:
        task, answers = learnt
        version, codes = task.version, task.history.codes
        if answers is not None and not self._advising.pause(_GRASP):
            return
        try:
            rows = tuple(self._suggest(answers, codes, SUGGESTED))
            doubts = () if answers is None else tuple(answers.doubts())
            self._advice = _Advice(
                version,
                rows,
                doubts,
                self._advice.estimate,
                self._advice.estimated_version,
            )
            self._emit("suggestions", version)
            if answers is None or not self._advising.pause(_REST):
                return
            estimate = answers.estimate()
            self._advice = _Advice(version, rows, doubts, estimate, version)
            if estimate is not None:
                self._keep_point(task, answers, estimate)
            self._emit("evidence", version)
        except Exception as error:  # as in _learn
            self._failure = f"The error could not be estimated: {error}"

    def _keep_point(self, task: _Task, answers: Answers, estimate: Estimate) -> None:
        """One more point of the curve, which a restart finds again if the disk takes it."""
        classes = task.history.classes
        n_labels = int(np.count_nonzero(task.history.codes >= 0))
        point = {"n_labels": n_labels, **vars(estimate), "volumes": _volumes(answers, classes)}
        with self._lock:
            if self._curve.get(n_labels) == point:
                return
            self._curve[n_labels] = point
            with suppress(JournalError):
                self._write({"measured": point})

    def _suggest(
        self,
        answers: Answers | None,
        codes: NDArray[np.int32],
        k: int,
        skipped: Sequence[int] = (),
    ) -> list[int]:
        ground = self._ground
        if ground is None:
            raise RequestError("The graph is not there yet. Ask again in a moment.", 409)
        left_out = np.asarray(skipped, dtype=np.intp)
        if answers is not None:
            found = answers.suggest(k, left_out)
        else:
            found = ground.cover(codes >= 0, k, left_out)
        return [int(row) for row in found]

    def _kinds(self) -> Sequence[Any]:
        own = self.material.table.layout is not None
        return kinds_of_map(self.material.layout_names if own else ())

    def _places(self, key: str) -> NDArray[Any]:
        if key == "own":
            assert self.material.table.layout is not None
            return np.asarray(self.material.table.layout[self._shown])
        if key == "components":
            return principal(self.material.points, self._shown)
        if self._ground is None:
            raise RequestError("The graph is not there yet. Ask again in a moment.", 409)
        return self._ground.eigenmap()[self._shown]

    def _remarks(self, answers: Answers, history: History) -> tuple[str, ...]:
        """What the user should know of these answers."""
        assert self._ground is not None
        found, labeled = list(answers.warnings), history.codes != NO_CODE
        given = np.unique(answers.codes[~labeled])
        if len(given) == 1 and np.count_nonzero(~labeled) > 1:
            found.append(
                f"All rows without a label get the class {history.classes[given[0]]!r}. Label rows "
                "of other classes that are far from these on the map."
            )
        lost = self._ground.unreached(labeled)
        if lost is not None:
            name = str(self.material.table.ids[lost.row])
            found.append(
                f"No label reaches {plural(lost.n_rows, 'row')}: they lie far from all labelled "
                f"rows, in {plural(lost.n_parts, 'group')}. Label one of each group, for example "
                f"{name!r}."
            )
        return tuple(found)

    def _warnings(self) -> list[str]:
        found = [*self._notes, *self._said]
        return [*found, self._failure] if self._failure else found

    def _step(self, batch: Batch, history: History) -> dict[str, Any]:
        codes = np.unique(batch.codes)
        label = None if codes[0] < 0 else history.classes[codes[0]]
        return {
            "batch": batch.number,
            "label": label,
            "n_classes": len(codes),
            "n_rows": len(batch.rows),
            "taken_back": batch.number in history.taken_back,
            "by": batch.by,
            "time": batch.time,
        }

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


def _beginning(material: Material) -> History:
    table = material.table
    names = np.where(table.labeled, table.y, "").astype(object)
    known = dict.fromkeys(material.classes)
    known |= dict.fromkeys(str(label) for label in np.unique(table.y[table.labeled]).tolist())
    place = {name: k for k, name in enumerate(known)} | {"": NO_CODE}
    base = np.array([place[str(name)] for name in names.tolist()], dtype=np.int32)
    return History.begin(base, tuple(known))


def _replayed(history: History, record: Record, n: int) -> History:
    """The history after a record of the journal."""
    if "class" in record:
        return history.with_class(check_class_name(record["class"]))
    if "undo" in record:
        return history.without(int(record["undo"]))
    rows, codes = [], []
    for label, at in record["given"]:
        code: int | None = NO_CODE
        if label is not None:
            history = history.with_class(check_class_name(label))
            code = history.code(label)
        found = np.asarray(at, dtype=np.intp)
        rows.append(found)
        codes.append(np.full(len(found), code, dtype=np.int32))
    at, given = np.concatenate(rows), np.concatenate(codes)
    if record["batch"] != len(history.batches) + 1 or not ((at >= 0) & (at < n)).all():
        raise ValueError(record["batch"])
    return history.with_batch(at, given, str(record["by"]), str(record["time"]))


def _volumes(answers: Answers, classes: Sequence[str]) -> dict[str, int]:
    counts = np.bincount(answers.codes, minlength=len(classes))
    return dict(zip(classes, counts.tolist(), strict=True))


def _words(estimate: Estimate) -> str:
    return (
        f"About {percent(estimate.error)} of the rows without a label are wrong; with a "
        f"probability of 90 % between {percent(estimate.low)} and {percent(estimate.high)}."
    )


def _brief(number: int) -> str:
    return str(number) if abs(number) < 10**15 else "of that number"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
