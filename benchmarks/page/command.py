"""Labelling page: seconds from a label to new colours, and labels for a given error.

For the first table, requests are sent to a server over HTTP like those of the page: a batch of
labels is sent, and after the event that the model is updated, the colours of all points are
fetched. If Chromium and Playwright are installed, the page is opened too, and the time from a key
to the frame with the new colours is measured, drawn without a GPU. For the second table, a
simulated user who knows the true classes labels digits, starting without labels, five rows at a
time: rows suggested by the page, or random rows. The target is the error of LapSVC() with three
random labels per class.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import tempfile
import time
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits

import lapwing
from benchmarks.page.browser import seconds_to_colours
from benchmarks.shared.labels import with_labels
from benchmarks.shared.measuring import transductive_error
from benchmarks.shared.options import add_number, add_output_options
from benchmarks.shared.output import Results, step
from benchmarks.shared.tables import Table

LIMITS = {20_000: 0.3, 100_000: 1.0}  # maximum median in seconds
BATCHES = 15
SELECTED = 200  # rows in every third batch (a lasso selection); other batches are single rows
THOUGHT = 0.5  # seconds between batches, in which suggestions are computed
AT_ONCE = 5
MOST_LABELS = 60
PER_CLASS = 3  # random labels per class for the target


class Wait(NamedTuple):
    """Times in seconds for one number of points."""

    n: int
    prepared: float  # from the call to the first suggestions
    saved: float  # median from the message to "saved"
    colours: float  # median from the message to the colours
    slowest: float
    drawn: float | None  # median from a key to the new colours on the screen, in Chromium


class LearningCurve(NamedTuple):
    """Errors of the model in percent, by number of labels of one user."""

    user: str
    n_labels: list[int]
    errors: list[float]

    def reached(self, target: float) -> int | None:
        """Return the number of labels from which on the error does not exceed the target."""
        good = np.asarray(self.errors) <= target
        from_here = np.logical_and.accumulate(good[::-1])[::-1]
        return self.n_labels[int(np.argmax(from_here))] if from_here.any() else None


class Page:
    """Client that sends the requests of the page."""

    def __init__(self, url: str) -> None:
        self._url = urllib.parse.urlsplit(url)
        assert self._url.hostname is not None
        self._events = self._connect()
        self._events.request("GET", f"{self._url.path}api/events")
        self._stream = self._events.getresponse()
        self._connection = self._connect()

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._url.hostname or "", self._url.port, timeout=600)

    def ask(self, method: str, address: str, message: Any = None) -> bytes:
        body = None if message is None else json.dumps(message)
        headers = {"Content-Type": "application/json"}
        self._connection.request(method, f"{self._url.path}{address}", body, headers)
        answer = self._connection.getresponse()
        content = answer.read()
        assert answer.status == 200, content
        return content

    def wait_for(self, part: str, version: int) -> None:
        while True:
            line = self._stream.readline()
            if line.startswith(b"data: "):
                event = json.loads(line[6:])
                if event["part"] == part and event["version"] >= version:
                    return

    def close(self) -> None:
        self._stream.close()
        self._events.close()
        self._connection.close()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks page``."""
    add_output_options(parser, "only 20,000 points, two draws")
    add_number(parser, "--draws", 5, "draws of random labels")


def run(arguments: argparse.Namespace) -> Results:
    """Measure the page; the command fails if colours are late or suggestions save no labels."""
    sizes = list(LIMITS)[:1] if arguments.quick else list(LIMITS)
    draws = min(arguments.draws, 2) if arguments.quick else arguments.draws
    waits = []
    for n in sizes:
        with step(f"{n} points"):
            waits.append(measure_wait(n))
    with step("digits"):
        target = error_to_reach(draws)
        curves = [label_digits("suggestions", None)]
        curves += [label_digits("random rows", seed) for seed in range(draws)]
    raw = {"waits": waits, "target": target, "curves": curves}
    tables = [_wait_table(waits), _curve_table(curves, target)]
    in_time = all(max(wait.colours, wait.drawn or 0.0) < LIMITS[wait.n] for wait in waits)
    by_suggestions, *by_chance = [_or_more(curve.reached(target)) for curve in curves]
    saves = by_suggestions < float(np.mean(by_chance))
    return Results(tables, raw=raw, passed=in_time and saves)


def measure_wait(n: int) -> Wait:
    """Measure times on a page with ten clusters in 64 dimensions."""
    rng = np.random.default_rng(0)
    truth = rng.integers(10, size=n)
    X = rng.standard_normal((10, 64))[truth] * 1.5 + rng.standard_normal((n, 64))
    journal = Path(tempfile.gettempdir()) / f"lapwing-benchmark-{os.getpid()}.labels.jsonl"
    begun = time.perf_counter()
    with lapwing.label(X, journal=journal, browser=False) as server:
        page = Page(server.url)
        page.wait_for("advice", 0)
        prepared = time.perf_counter() - begun
        version = 0
        for k in range(10):  # one label of each class, not timed
            row = int(np.flatnonzero(truth == k)[0])
            version = _labelled(page, [row], str(k))
        page.wait_for("model", version)
        saved, colours = [], []
        for k in range(BATCHES):
            rows = np.flatnonzero(truth == k % 10)
            some = rng.choice(rows, SELECTED if k % 3 == 0 else 1, replace=False)
            time.sleep(THOUGHT)
            begun = time.perf_counter()
            version = _labelled(page, some.tolist(), str(k % 10))
            saved.append(time.perf_counter() - begun)
            page.wait_for("model", version)
            content = page.ask("GET", "api/colours")
            colours.append(time.perf_counter() - begun)
            assert len(content) == 4 + 5 * n
        page.close()
        drawn = seconds_to_colours(server.url, BATCHES, THOUGHT)
    journal.unlink()
    return Wait(
        n,
        prepared,
        float(np.median(saved)),
        float(np.median(colours)),
        max(colours),
        None if drawn is None else float(np.median(drawn)),
    )


def _labelled(page: Page, rows: list[int], label: str) -> int:
    answer = json.loads(page.ask("POST", "api/batch", {"rows": rows, "label": label}))
    return int(answer["version"])


def error_to_reach(draws: int) -> float:
    """Compute the mean error in percent of LapSVC() on the unlabelled digits, over draws."""
    digits = load_digits()
    X, truth = digits.data, digits.target
    drawn = (with_labels(truth, PER_CLASS, np.random.default_rng(seed)) for seed in range(draws))
    errors = [transductive_error(lapwing.LapSVC(), X, y, truth)[0] for y in drawn]
    return float(np.mean(errors))


def label_digits(user: str, seed: int | None) -> LearningCurve:
    """Simulate a user who labels digits, suggested or random rows, starting without labels."""
    digits = load_digits()
    truth = digits.target
    rng = np.random.default_rng(seed)
    n_labels: list[int] = []
    errors: list[float] = []
    with lapwing.label(digits.data, journal=None, browser=False) as server:
        session = server.session
        session.wait(seconds=600)
        labeled = np.zeros(len(truth), dtype=bool)
        while labeled.sum() < MOST_LABELS:
            if seed is None:
                rows = np.asarray(session.suggest(AT_ONCE))
            else:
                rows = rng.choice(np.flatnonzero(~labeled), AT_ONCE, replace=False)
            for row in rows.tolist():
                session.give([row], str(truth[row]))
            labeled[rows] = True
            session.wait(seconds=600)
            answers = session.answers
            n_labels.append(int(labeled.sum()))
            if answers is None:
                errors.append(100.0)
                continue
            names = np.array(session.history.classes).astype(int)
            wrong = names[answers.codes] != truth
            errors.append(100 * float(wrong[~labeled].mean()))
    return LearningCurve(user, n_labels, errors)


def _or_more(n_labels: int | None) -> float:
    return MOST_LABELS + AT_ONCE if n_labels is None else n_labels


def _wait_table(waits: list[Wait]) -> Table:
    columns: dict[str, Callable[[Wait], str]] = {
        "points": lambda wait: f"{wait.n:,}",
        "graph (s)": lambda wait: f"{wait.prepared:.1f}",
        "saved (ms)": lambda wait: f"{1000 * wait.saved:.0f}",
        "colours (s)": lambda wait: f"{wait.colours:.2f}",
        "slowest (s)": lambda wait: f"{wait.slowest:.2f}",
        "on screen (s)": lambda wait: "–" if wait.drawn is None else f"{wait.drawn:.2f}",
        "limit (s)": lambda wait: f"{LIMITS[wait.n]}",
    }
    note = f"Medians of {BATCHES} batches of 1 or {SELECTED} rows, ten classes, 64 features."
    return Table.of("Seconds from a label to the updated colours", waits, columns, [note])


def _curve_table(curves: list[LearningCurve], target: float) -> Table:
    at = [n for n in curves[0].n_labels if n % 10 == 0]
    rows = []
    for user in dict.fromkeys(curve.user for curve in curves):
        mine = [curve for curve in curves if curve.user == user]
        errors = [[curve.errors[curve.n_labels.index(n)] for n in at] for curve in mine]
        means = (f"{mean:.1f}" for mean in np.mean(errors, axis=0))
        rows.append((user, *means, _labels_to_target(mine, target)))
    return Table(
        "Error (%) on the unlabelled digits by number of labels",
        ("rows", *map(str, at), "labels to the target"),
        rows,
        [
            f"Target: {target:.1f} %, the error of LapSVC() with {PER_CLASS} random labels per "
            f"class ({10 * PER_CLASS} labels). The model of the page is LapERLSClassifier()."
        ],
    )


def _labels_to_target(curves: list[LearningCurve], target: float) -> str:
    reached = [curve.reached(target) for curve in curves]
    mean = float(np.mean([_or_more(n) for n in reached]))
    return f"{mean:.0f}" if None not in reached else f"{mean:.0f} or more"
