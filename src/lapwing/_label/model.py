"""Background model of a labelling page, updated to the newest labels in a thread of its own.

Results that take longer than its predictions (suggestions, suspicious labels, the estimated error)
are computed in another thread, for the newest predictions only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from lapwing._host.threads import single_blas_thread
from lapwing._label.errors import RequestError
from lapwing._label.history import NO_CODE, History
from lapwing._label.learner import Answers, Estimate, Learner, PointGraph, SuspiciousLabel
from lapwing._label.material import Material
from lapwing._label.state import LabelingState
from lapwing._report.text import plural

QUEUED = 20  # enough rows so that fast users do not wait for the next one
_GRASP = 0.05  # seconds for the page to fetch the colours before other computations start

T = TypeVar("T")

_PATIENCE = 2.0


@dataclass(frozen=True)
class SlowAnswers:
    """Slow results (suggestions, suspicious labels, the error) for one version."""

    suggestions: tuple[int, ...] = ()
    suspicious_labels: tuple[SuspiciousLabel, ...] = ()
    estimate: Estimate | None = None


@dataclass(frozen=True, eq=False)
class ModelSnapshot:
    """Snapshot of the model.

    Attributes
    ----------
    version : int
        Version of the labels that it has learnt; -1 before the first.
    answers : Answers or None
        None before the first predictions.
    advice : SlowAnswers
        Suggested rows, suspicious labels and the estimated error.
    graph : PointGraph or None
        None before it has been computed.
    notes, remarks : tuple of str
        Warnings about the points, and about the answers.
    failure : str
        Why the model could not learn; may be empty.
    """

    version: int = -1
    answers: Answers | None = None
    advice: SlowAnswers = SlowAnswers()
    graph: PointGraph | None = None
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    failure: str = ""

    @property
    def warnings(self) -> list[str]:
        """All warnings."""
        return [*self.notes, *self.remarks, *filter(None, [self.failure])]


class BackgroundModel:
    """Model that learns offered labels and reports updates; can be used from any thread.

    Parameters
    ----------
    material : Material
    n_classes : int
    lock : RLock
        Lock held while answers change.
    notify : callable (part, version)
        Called when a part has changed.
    keep : callable (state, answers, estimate)
        Called with the answers, and the estimate of their error if there is one.

    Attributes
    ----------
    name : str
        Name of the estimator.
    learnt : ModelSnapshot
        Latest snapshot; each update replaces it as a whole.
    """

    def __init__(
        self,
        material: Material,
        n_classes: int,
        lock: threading.RLock,
        notify: Callable[[str, int], None],
        keep: Callable[[LabelingState, Answers, Estimate | None], None],
    ) -> None:
        self._ids = material.table.ids
        self._notify, self._keep = notify, keep
        self._learner = Learner(material.estimator, material.points, n_classes)
        self.name = self._learner.name
        self.learnt = ModelSnapshot()
        self._changed = threading.Condition(lock)
        self._advising = LatestJob(self._advise, "lapwing label: advice")
        self._learning = LatestJob(self._learn, "lapwing label: model")

    @property
    def point_graph(self) -> PointGraph:
        """Return the graph of the points.

        Raises
        ------
        RequestError
            If it has not been computed yet.
        """
        if self.learnt.graph is None:
            raise RequestError("The graph has not been computed yet. Try again in a moment.", 409)
        return self.learnt.graph

    def learn(self, state: LabelingState) -> None:
        """Learn these labels next; labels that are still waiting are dropped."""
        self._learning.offer(state)

    def suggest(
        self,
        answers: Answers | None,
        codes: NDArray[np.int32],
        k: int,
        skipped: Sequence[int] = (),
    ) -> list[int]:
        """Return rows to label next, by the predictions or, without any, by the graph only.

        Raises
        ------
        RequestError
            If the graph has not been computed yet.
        """
        point_graph, left_out = self.point_graph, np.asarray(skipped, dtype=np.intp)
        if answers is not None:
            # Rows with labels that the model has not learnt yet must not be suggested.
            fresh = np.flatnonzero((codes != NO_CODE) & ~answers.model.labeled_)
            found = answers.suggest(k, np.union1d(left_out, fresh))
        else:
            with single_blas_thread():
                found = point_graph.cover(codes != NO_CODE, k, left_out)
        return [int(row) for row in found]

    def wait(self, version: int, seconds: float) -> bool:
        """Wait until a version is learnt; return whether it was in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self.learnt.version >= version, seconds)

    def rest(self, seconds: float) -> bool:
        """Wait until all computations are done; return whether it was in time."""
        return self._learning.wait(seconds) and self._advising.wait(seconds)

    def close(self) -> None:
        """Stop the threads."""
        self._learning.close()
        self._advising.close()

    def _update(self, **changes: Any) -> None:
        with self._changed:
            self.learnt = replace(self.learnt, **changes)
            self._changed.notify_all()

    def _learn(self, state: LabelingState) -> None:
        answers: Answers | None = None
        remarks: tuple[str, ...] = ()
        failure = self.learnt.failure
        try:
            if self.learnt.graph is None and not failure:
                graph, notes = self._learner.prepare()
                self._update(graph=graph, notes=notes)
                self._notify("ready", state.version)
            if self.learnt.graph is not None:
                answers = self._learner.learn(state.history.codes)
                failure = ""
            if answers is not None:
                remarks = self._remarks(answers, state.history)
        except Exception as error:  # the labels are saved, and the page must continue
            failure = f"The model could not learn: {error}"
        outdated = {"advice": SlowAnswers()} if answers is None else {}
        self._update(
            version=state.version, answers=answers, remarks=remarks, failure=failure, **outdated
        )
        self._notify("model", state.version)
        if self.learnt.graph is not None:
            self._advising.offer((state, answers))

    def _advise(self, learnt: tuple[LabelingState, Answers | None]) -> None:
        state, answers = learnt
        version, codes = state.version, state.history.codes
        if answers is not None and not self._advising.pause(_GRASP):
            return
        try:
            rows = tuple(self.suggest(answers, codes, QUEUED))
            with single_blas_thread():
                suspicious_labels = () if answers is None else tuple(answers.suspicious_labels())
                estimate = None if answers is None else answers.estimate(state.checked)
            self._update(advice=SlowAnswers(rows, suspicious_labels, estimate))
            if answers is not None:
                self._keep(state, answers, estimate)
            self._notify("advice", version)
        except Exception as error:  # as in _learn
            self._update(failure=f"The error could not be estimated: {error}")

    def _remarks(self, answers: Answers, history: History) -> tuple[str, ...]:
        """Describe caveats of these answers."""
        found, labeled = list(answers.warnings), history.codes != NO_CODE
        given = np.unique(answers.codes[~labeled])
        if len(given) == 1 and np.count_nonzero(~labeled) > 1:
            found.append(
                f"All unlabelled rows are predicted as {history.classes[given[0]]!r}. Label rows "
                "of other classes that are far from these on the map."
            )
        lost = self.point_graph.unreached(labeled)
        if lost is not None:
            name = str(self._ids[lost.row])
            found.append(
                f"Not connected to any labelled row: {plural(lost.n_rows, 'row')} in "
                f"{plural(lost.n_parts, 'group')}. Label a row of each group, for example "
                f"{name!r}."
            )
        return tuple(found)


class LatestJob(Generic[T]):
    """Thread that runs a job for the newest value that was offered.

    Parameters
    ----------
    job : callable
        Function of a value without result; must not raise.
    name : str
        Name of the thread.
    """

    def __init__(self, job: Callable[[T], None], name: str) -> None:
        self._job = job
        self._condition = threading.Condition()
        self._waiting: list[T] = []
        self._busy = False
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def offer(self, value: T) -> None:
        """Run the job for this value next; values that are still waiting are dropped."""
        with self._condition:
            self._waiting = [value]
            self._condition.notify_all()

    @property
    def overtaken(self) -> bool:
        """Whether a newer value is waiting, or the thread is to stop."""
        return bool(self._waiting) or self._closed

    def pause(self, seconds: float) -> bool:
        """Wait for a time or until a newer value is offered; return whether none was."""
        with self._condition:
            return not self._condition.wait_for(lambda: self.overtaken, seconds)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until nothing is left to do; return whether it was in time."""
        with self._condition:
            return self._condition.wait_for(lambda: not (self._busy or self._waiting), seconds)

    def close(self) -> None:
        """Stop the thread after its present job, and wait for it for a short time.

        A graph of many points takes a minute, which is too long after Ctrl-C.
        """
        with self._condition:
            self._closed = True
            self._waiting = []
            self._condition.notify_all()
        self._thread.join(_PATIENCE)

    def _run(self) -> None:
        while True:
            with self._condition:
                self._busy = False
                self._condition.notify_all()
                self._condition.wait_for(lambda: self.overtaken)
                if self._closed:
                    return
                value = self._waiting.pop()
                self._busy = True
            self._job(value)
