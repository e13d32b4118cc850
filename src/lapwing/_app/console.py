"""What the command line shows: text, tables of figures, progress. Needs rich."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import rich.box
from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table as Grid
from rich.text import Text

from lapwing._app.demo import DemoResult
from lapwing._app.fitting import Outcome
from lapwing._tables.predictions import Predictions
from lapwing._tables.summary import summary_lines

__all__ = ["StageDisplay", "print_demo", "print_info", "print_outcome", "print_rows", "say"]

# Whoever waits for less is not helped by a bar that comes and goes.
DELAY = 2.0


class _Remaining(ProgressColumn):
    """Time that is left by the forecast, for as long as it holds."""

    def render(self, task: Any) -> Text:
        left = (task.fields.get("forecast") or 0.0) - (task.elapsed or 0.0)
        return Text(f"about {left:.0f} s left" if left >= 1 else "")


class StageDisplay:
    """Bars on standard error, from two seconds on, if that is a terminal.

    Parameters
    ----------
    quiet : bool
        Whether to show none.
    """

    def __init__(self, quiet: bool) -> None:
        self.shown = not quiet and sys.stderr.isatty()

    @contextmanager
    def stage(self, name: str, forecast: float | None = None) -> Iterator[_Stage]:
        """Name what is done in the block, with the seconds that it will take if known."""
        if not self.shown:
            yield _Stage(None, 0, name)
            return
        bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            _Remaining(),
            console=Console(stderr=True),
            transient=True,
        )
        task = bars.add_task(name, total=None, forecast=forecast)
        lock, done = threading.Lock(), threading.Event()

        def show() -> None:
            with lock:
                if not done.is_set():
                    bars.start()

        timer = threading.Timer(DELAY, show)
        timer.daemon = True
        timer.start()
        try:
            yield _Stage(bars, task, name)
        finally:
            timer.cancel()
            with lock:
                done.set()
            bars.stop()


class _Stage:
    """A stage of the work; as a callback of scikit-learn it names the stages of a fit."""

    def __init__(self, bars: Bars | None, task: Any, name: str) -> None:
        self._bars, self._task, self._name = bars, task, name
        self._steps = 0

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to clear."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Show the stage's name."""
        if self._bars is None or context.parent is None or context.task_name == "iteration":
            return
        self._steps = 0
        title = f"{self._name}: {context.task_name}"
        self._bars.update(self._task, description=title, total=context.max_subtasks or None)

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Count the iterations."""
        if self._bars is not None and context.task_name == "iteration":
            self._steps += 1
            self._bars.update(self._task, completed=self._steps)


def say(text: str) -> None:
    """Print a line; not wrapped at the width of the terminal, so that a path can be copied."""
    _console().print(text, markup=False, soft_wrap=True)


def print_outcome(outcome: Outcome) -> None:
    """Print what was fitted, and the classes."""
    rows, table = outcome.predictions, outcome.table
    say(
        f"{outcome.method.name} on {table.source}: {rows.label.size} rows, "
        f"{np.count_nonzero(rows.was_labeled)} labelled, "
        f"{len(table.feature_names)} columns, {outcome.seconds:.1f} s"
    )
    for line in summary_lines(table.notes, table.remarks):
        say(line)
    say(outcome.scaling[0].upper() + outcome.scaling[1:])
    print_rows(rows)


def print_rows(rows: Predictions) -> None:
    """Print how many rows each class was given."""
    if rows.classes is None or rows.margin is None:
        return
    grid = _grid("class", "rows", "share", "median margin")
    for c in rows.classes:
        mine = rows.label == c
        margin = f"{np.median(rows.margin[mine]):.3g}" if mine.any() else "-"
        grid.add_row(str(c), f"{np.count_nonzero(mine)}", f"{np.mean(mine):.1%}", margin)
    _console().print(grid)


def print_info(info: dict[str, Any]) -> None:
    """Print what `lapwing._app.inspection.inspect` found."""
    say(
        f"{info['source']}: {info['rows']} rows, {len(info['numeric'])} numeric and "
        f"{len(info['categorical'])} text columns"
    )
    for line in info["summary"]:
        say(line)
    for obstacle in info["obstacles"]:
        say(f"  in the way: {obstacle.removeprefix(info['source']).lstrip(': ')}")
    for name, count in info["missing"].items():
        say(f"  missing {name!r}: {count} rows, which a fit fills with the median")
    for name, count in info["infinite"].items():
        say(f"  infinite {name!r}: {count} rows; correct them")
    say(info["scaling"][0].upper() + info["scaling"][1:])
    if info["labels"] is not None:
        grid = _grid("label", "rows")
        for name, count in info["labels"].items():
            grid.add_row(name or "(none)", str(count))
        _console().print(grid)
    if info["graph"] is not None:
        graph = info["graph"]
        part = "" if graph["rows"] == info["rows"] else f" of {graph['rows']} rows drawn at random"
        bare = graph["components_without_label"]
        text = "" if bare is None else f", {bare} of them without a label"
        say(
            f"Graph{part}, {graph['n_neighbors']} neighbours: {graph['components']} components"
            f"{text}; the largest holds {graph['largest_share']:.1%}"
        )
    grid = _grid("method", "memory", "time, about", "solver")
    for name, forecast in info["forecast"].items():
        memory = forecast["memory"] + ("" if forecast["fits"] else " (too much)")
        grid.add_row(name, memory, forecast["time"], forecast["solver"])
    _console().print(grid)
    if info["suggested_label"] is not None:
        say(f"No --label is given; {info['suggested_label']!r} looks most like a column of labels.")
    say("To fit this table:")
    say(f"  {info['command']}")


def print_demo(result: DemoResult) -> None:
    """Print the scores of the demonstration."""
    n_draws = result.scores[0].errors.size
    grid = _grid("method", "wrong of the unlabelled", "time")
    grid.title_justify = "left"
    grid.title = (
        f"{result.y.size} handwritten digits, {np.count_nonzero(result.labeled)} labelled; "
        f"mean of {n_draws} draws"
    )
    best = min(score.errors.mean() for score in result.scores)
    for score in result.scores:
        mean, spread = 100 * score.errors.mean(), 100 * score.errors.std()
        style = "bold" if score.errors.mean() == best else None
        time = f"{score.seconds.mean():.2f} s"
        grid.add_row(score.name, f"{mean:.1f} ± {spread:.1f} %", time, style=style)
    _console().print(grid)


def _grid(first: str, *headings: str) -> Grid:
    grid = Grid(box=rich.box.SIMPLE_HEAD)
    grid.add_column(first)
    for heading in headings:
        grid.add_column(heading, justify="right")
    return grid


def _console() -> Console:
    """Give a console for standard output; a file or pipe gets plain text of a fixed width."""
    return Console(width=None if sys.stdout.isatty() else 100, highlight=False)


def class_counts(rows: Predictions) -> dict[str, int] | None:
    """Count the rows of each class."""
    classes = [] if rows.classes is None else list(rows.classes)
    counts = {str(c): int(np.count_nonzero(rows.label == c)) for c in classes}
    return counts or None
