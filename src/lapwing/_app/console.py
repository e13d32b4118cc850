"""Output of the command line: text, tables of figures, progress. Needs rich.

Names in a table come from the user: they are never read as markup, and control characters are
removed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count as count_from
from typing import Any

import numpy as np
import rich.box
from rich.console import Console
from rich.table import Table as Grid

from lapwing._app.choosing import Compared
from lapwing._app.demo import DemoResult
from lapwing._app.fitting import Outcome
from lapwing._app.methods import AUTO
from lapwing._app.predicting import Answered
from lapwing._app.requests import LabelRequest, PredictRequest
from lapwing._app.suggesting import Suggestion
from lapwing._app.workflow import class_counts
from lapwing._host.memory import format_bytes
from lapwing._host.terminal import StatusLine, harmless
from lapwing._label.session import Session
from lapwing._report.findings import (
    choice_table,
    estimate_words,
    sure_words,
    trust_words,
    words_of_row,
)
from lapwing._report.findings import describe_comparison as describe_rows
from lapwing._report.record import ReportData
from lapwing._report.text import count, number, percent, plural
from lapwing._tables.assembly import summary_lines
from lapwing._tables.tables import Table
from lapwing.estimators.prepared import Tick

_SETTINGS_SHOWN = 5
_QUICK = 1.0  # seconds of a forecast that needs no line of its own
_WRITTEN = {"onnx": "ONNX model", "next": "Rows to label next"}


class StageLine(StatusLine):
    """Progress line of a stage of a verb; as a callback, it shows the parts of a fit."""

    @property
    def callbacks(self) -> list[object]:
        """The line for `set_callbacks` of an estimator, if it is shown."""
        return [self] if self._painter is not None else []

    @contextmanager
    def stage(self, name: str, max_steps: int | None = 0) -> Iterator[Tick]:
        """Show a part of the work, such as the current candidate."""
        self.show(name)
        steps = count_from(1)

        def tick(attributes: Any) -> bool:
            # Shown at the next refresh, because there may be thousands of steps per second.
            self._part = f"{name}, {next(steps)} of {max_steps}" if max_steps else name
            return False

        yield tick

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to clear."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Show the stage's name."""
        if context.parent is not None and context.task_name != "iteration":
            self.show(context.task_name)

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Count the iterations."""
        if context.task_name == "iteration":
            self._part = f"{context.parent.task_name}, iteration {context.task_id + 1}"


def describe_labelling(session: Session, request: LabelRequest) -> str:
    """Describe the labelling page after it has been opened."""
    n = session.history.n_labeled
    given = plural(n, "label") if n else "no label yet"
    unnamed = ""
    if request.label is None and not n:
        unnamed = (
            "No --label was given: the labels are a new column, and the model learns from all "
            "columns of the table. If one of them holds labels, start again with --label COLUMN.\n"
        )
    return unnamed + (
        f"{request.source}: {plural(session.material.n, 'row')}, {given}. Your labels are saved in "
        f"{request.journal_path} while you label. Press Ctrl-C to end; run the same "
        "command again to continue."
    )


def describe_labels(session: Any, request: LabelRequest) -> str:
    """Describe what was labelled when the page is closed."""
    history = session.history
    in_table = (history.codes >= 0) & (history.codes == history.base)
    given = int(history.n_labeled - in_table.sum())
    table = f", and {plural(int(in_table.sum()), 'label')} in the table" if in_table.any() else ""
    return (
        f"{plural(given, 'label')} in {request.journal_path}{table}, of "
        f"{plural(session.material.n, 'row')}. Run the same command again to continue."
    )


def say(text: str) -> None:
    """Print a line without wrapping, so that a path can be copied."""
    sys.stdout.write(f"{harmless(text)}\n")


class _Text:
    """Buffer of lines and tables."""

    def __init__(self) -> None:
        # A file or pipe gets plain text of a fixed width.
        width = None if sys.stdout.isatty() else 100
        self._console = Console(width=width, highlight=False, markup=False, emoji=False)
        self._parts: list[str] = []

    def line(self, text: str = "") -> None:
        """Add a line."""
        self._parts.append(f"{harmless(text)}\n")

    def lines(self, texts: Iterable[str]) -> None:
        """Add several lines."""
        for text in texts:
            self.line(text)

    def grid(self, grid: Grid) -> None:
        """Add a table; one wider than the terminal gets less padding, and no word is broken."""
        for column in grid.columns:
            words = " ".join(map(str, (column.header, *column.cells))).split(" ")
            column.min_width = max(map(len, words))
        unlimited = self._console.options.update(width=10_000)
        if self._console.measure(grid, options=unlimited).minimum > self._console.width:
            grid.padding, grid.show_edge = 0, False
            for column in grid.columns[1:]:
                column.width = column.min_width
        room = self._console.width
        self._console.width = max(room, self._console.measure(grid, options=unlimited).minimum)
        with self._console.capture() as captured:
            self._console.print(grid)
        self._console.width = room
        self._parts.append(captured.get())

    def __str__(self) -> str:
        return "".join(self._parts)


def describe_fit(outcome: Outcome, figures: ReportData | None) -> str:
    """Describe the results of a fit, the next step, and the files written."""
    text, table = _Text(), outcome.table
    text.line(_size_of(table))
    if figures is None:  # the features stayed on disk
        _add_counts(text, class_counts(outcome.predictions))
    else:
        _add_answers(text, outcome, figures)
        text.line(f"Next: {figures.fitted['next_step']}")
        text.line()
        _add_choice(text, figures.choice)
        _add_path(text, figures.path, numbers=figures.kind != "classification")
    # A date is one column of the table and several features; a matrix has no notes.
    used = sum(note.used for note in table.features.notes)
    columns = plural(used or len(table.feature_names), "column")
    scaling = _capitalized(outcome.scaling)
    text.line(f"{outcome.fitted_by.name}, {columns}, {outcome.seconds:.1f} s. {scaling}.")
    if figures is None:
        text.line("The features stayed in their files and were read in blocks.")
    text.lines(summary_lines(table.features.notes, table.remarks))
    written = outcome.request.written
    for what, path in written.items():
        text.line(f"{_WRITTEN.get(what, what.capitalize())}: {path}")
    if outcome.origin.plain_command:
        text.line("To fit the same without choosing again:")
        text.line(f"  {outcome.origin.plain_command}")
    if "next" in written and not table.labeled.all():
        if outcome.next_rows is not None and not len(outcome.next_rows):
            text.line(
                "All rows without a label are equal to labelled rows: there is none to label next"
            )
        else:
            assert table.keys is not None
            text.line(
                f"Fill in the column {table.keys.label!r} of {written['next']}, save it, and run:"
            )
            text.line(f"  {outcome.request.next_command}")
    if not written:
        text.line(
            "Nothing was written: add --predictions out.csv, --model m.lapwing or --report r.html"
        )
    return str(text)


def _add_answers(text: _Text, outcome: Outcome, figures: ReportData) -> None:
    """Add the classes or the numbers of all rows, and their reliability."""
    compared = bool(figures.choice.get("methods"))
    if figures.kind == "classification":
        _add_classes(text, figures.volumes)
        if not outcome.table.labeled.all():
            text.line(sure_words(figures.volumes))
            text.line(trust_words(figures.volumes["trust"]))
            if figures.fitted["margin_note"]:
                text.line(figures.fitted["margin_note"])
            if compared:
                text.line(estimate_words(figures.choice))
    else:
        found = figures.volumes["rows"]
        text.line(
            f"Numbers from {number(found['min'])} to {number(found['max'])}, "
            f"median {number(found['median'])}"
        )
        if compared:
            text.line(estimate_words(figures.choice))
        if figures.path.get("left_out_rmse") is not None:
            text.line(
                f"Labels left out in turn are missed by {number(figures.path['left_out_rmse'])} "
                "(root mean square)"
            )
        interval = outcome.predictions.interval
        if interval is not None:
            width = number(float(np.median(interval[:, 1] - interval[:, 0])))
            text.line(
                "Nine of ten true values are expected between low and high, by labels left out in "
                f"turn; the median width of these intervals is {width}."
            )
    if figures.truth:
        text.line(_errors(figures.truth))


def _add_counts(text: _Text, counts: Mapping[str, int] | None) -> None:
    """Add the number of rows of each class."""
    for name, n in (counts or {}).items():
        text.line(f"  {name}: {count(n)}")


def describe_suggestion(suggested: Suggestion) -> str:
    """Describe the suggested rows, and the commands that follow."""
    text, table, request = _Text(), suggested.table, suggested.request
    labels = table.n_labeled
    rows = plural(table.n, "row")
    text.line(f"{table.source}: {rows}, {count(labels) if labels else 'none'} with a label")
    n = len(suggested.rows)
    them = "the row" if n == 1 else f"the {count(n)} rows"
    text.line(f"{request.out}: {them} to label next, the most informative first")
    if not suggested.fitted:
        missing = "label" if table.numeric else "label of a second class" if labels else "label"
        text.line(f"There is no {missing} yet: the rows cover the table")
    elif request.automatic:
        text.line(f"By the predictions of {suggested.name}, chosen as by lapwing fit")
    text.line(f"{_capitalized(suggested.scaling)}.")
    text.lines(summary_lines(table.features.notes, table.remarks))
    assert table.keys is not None
    text.line(f"Fill in its column {table.keys.label!r}, save it, and ask for more rows:")
    text.line(f"  {request.next_command}")
    text.line("Or label all other rows:")
    text.line(f"  {request.answer_command}")
    return str(text)


def describe_predictions(answered: Answered, request: PredictRequest) -> str:
    """Describe predictions for new rows."""
    text = _Text()
    text.line(f"{request.source}: {plural(answered.n_rows, 'row')}")
    if answered.volumes is None:
        _add_counts(text, answered.counts)
    else:
        _add_classes(text, answered.volumes)
        text.line(sure_words(answered.volumes))
    if answered.note:
        text.line(answered.note)
    text.line(f"Predictions are in {request.predictions}")
    return str(text)


def _size_of(table: Table) -> str:
    labels = count(table.n_labeled)
    return f"{table.source}: {plural(table.n, 'row')}, {labels} with a label"


def describe_comparison(compared: Compared) -> str:
    """Describe a comparison of methods, its verdict, and the command that fits the best one."""
    text, table = _Text(), compared.table
    text.line(_size_of(table))
    rows = compared.comparison.table
    found = describe_rows(compared.comparison)
    times = [f"{row.seconds:.1f} s" for row in rows]
    _add_methods(text, found, times)
    if compared.commands[0]:
        text.line("To fit it:")
        text.line(f"  {compared.commands[0]}")
    text.line()
    scaling = _capitalized(compared.scaling)
    text.line(f"{plural(len(rows), 'method')} in {compared.seconds:.1f} s. {scaling}.")
    text.lines(summary_lines(table.features.notes, table.remarks))
    if compared.request.out is not None:
        text.line(f"Table: {compared.request.out}")
    return str(text)


def _add_methods(text: _Text, found: dict[str, Any], times: list[str] | None = None) -> None:
    """Add the table of compared methods, and the verdict."""
    headings = list(choice_table(found["methods"]).columns.values())
    grid = _grid(headings[0], *headings[1:], *([] if times is None else ["time"]))
    for i, row in enumerate(found["methods"]):
        cells = list(words_of_row(row).values())
        cells[0] = harmless(cells[0]) + (" !" if row["objection"] else "")
        grid.add_row(*cells, *([] if times is None else [times[i]]))
    text.grid(grid)
    for row in found["methods"]:
        if row["objection"]:
            text.line(f"! {row['name']} is excluded: it {row['objection']}.")
    text.line(found["verdict"])
    text.lines(found["notes"])


def _add_choice(text: _Text, choice: dict[str, Any]) -> None:
    """Add how the method was chosen."""
    if not choice:
        return
    if choice["reason"]:
        text.line(f"{choice['reason']}.")
    if choice["methods"]:
        _add_methods(text, choice)
        for name in choice["skipped"]:
            text.line(f"{name} was not compared, as it would take long: lapwing compare does it.")
    text.line()


def _add_path(text: _Text, path: dict[str, Any], *, numbers: bool) -> None:
    """Add the settings with the smallest errors."""
    if not path:
        return
    if not path["n_settings"]:
        few = "There is" if numbers else "A class has"
        text.line(f"{few} one label only: nothing can be left out. The usual parameters:")
    else:
        settings = plural(path["n_settings"], "setting")
        text.line(f"{settings} tried, each label left out in turn. The best of them:")
    if path["settings"]:
        has_missed = path["settings"][0]["error_rate"] is not None
        grid = _grid(*path["varied"], "squared error", *(["missed"] if has_missed else []))
        for one in path["settings"][:_SETTINGS_SHOWN]:
            missed = [percent(one["error_rate"])] if has_missed else []
            grid.add_row(*map(harmless, one["values"]), number(one["squared_error"]), *missed)
        text.grid(grid)
    taken = ", ".join(f"{k}={v}" for k, v in path["chosen"].items())
    why = path["n_settings"] and path["kept_default"]
    because = ", the usual ones, as no others are better by more than chance" if why else ""
    text.line(f"Taken: {taken}{because}")
    text.line()


def _add_classes(text: _Text, found: dict[str, Any]) -> None:
    """Add the numbers of rows, sure rows, and rows to check of each class."""
    grid = _grid("class", "rows", "share", "labelled", "sure", "to check")
    for c in found["classes"]:
        counts = (c["n_rows"] - c["n_unlabeled"], c["n_sure"], c["n_to_check"])
        share = percent(c["row_share"])
        grid.add_row(harmless(c["name"]), count(c["n_rows"]), share, *map(count, counts))
    text.grid(grid)
    if found["n_omitted"]:
        text.line(f"And {plural(found['n_omitted'], 'smaller class', 'smaller classes')}")


def _errors(truth: dict[str, Any]) -> str:
    name = f" in {truth['column']!r}" if truth["column"] else ""
    if not truth["n"]:
        return f"No row without a label has a known answer{name}"
    rows = f"of {plural(truth['n'], 'row')} with a known answer{name}"
    if "rmse" in truth:
        return f"Root mean square error {rows}: {number(truth['rmse'])}"
    return f"Wrong: {count(truth['n_errors'])} {rows} ({percent(truth['error_rate'])})"


def describe_info(info: dict[str, Any]) -> str:
    """Describe the result of `lapwing._app.inspection.inspect`."""
    text = _Text()
    counts = {kind: len(info[kind]) for kind in ("numeric", "categorical", "text", "encoded")}
    shown = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count) or "no"
    features = "feature" if sum(counts.values()) == 1 else "features"
    text.line(f"{info['source']}: {plural(info['rows'], 'row')}, {shown} {features}")
    text.lines(info["summary"])
    for error in info["errors"]:
        text.line(f"  error: {error.removeprefix(info['source']).lstrip(': ')}")
    for name, cells in info["missing"].items():
        text.line(f"  missing {name!r}: {plural(cells, 'row')}, which a fit {info['imputed']}")
    for name, cells in info["infinite"].items():
        text.line(f"  infinite {name!r}: {plural(cells, 'row')}; correct them")
    text.line(_capitalized(info["scaling"]))
    if info["encoding"] is not None:
        encoding = info["encoding"]
        text.line(
            f"Encoding by {encoding['name']}, once: about {encoding['time']} for "
            f"{plural(info['rows'], 'row')}"
        )
    if info["labels"] is not None:
        grid = _grid("label", "rows")
        for name, rows in info["labels"].items():
            grid.add_row(harmless(name) or "(none)", count(rows))
        text.grid(grid)
    if info["markers"]:
        n = sum(info["markers"].values())
        text.line(
            f"{n} of {plural(info['rows'], 'row')} {'has' if n == 1 else 'have'} the label "
            f"{' or '.join(map(repr, info['markers']))}, which a fit refuses as a class. The "
            f"command below takes {'it' if len(info['markers']) == 1 else 'them'} for no label."
        )
    if info["graph"] is not None:
        graph = info["graph"]
        part = "" if graph["rows"] == info["rows"] else f" of {graph['rows']} rows drawn at random"
        bare = graph["components_without_label"]
        labels = "" if bare is None else f", {bare} of them without a label"
        text.line(
            f"Graph{part}, {graph['n_neighbors']} neighbours: "
            f"{plural(graph['components'], 'component')}{labels}; the largest holds "
            f"{graph['largest_share']:.1%}"
        )
    quick = {
        name: forecast["memory_bytes"]
        for name, forecast in info["forecast"].items()
        if forecast["fits"] and forecast["seconds"] < _QUICK and name != AUTO
    }
    grid = _grid("method", "memory", "time, about", "solver")
    for name, forecast in info["forecast"].items():
        if name not in quick:
            memory = forecast["memory"] + ("" if forecast["fits"] else " (too much)")
            grid.add_row(name, memory, forecast["time"], forecast["solver"])
    text.grid(grid)
    if quick:
        text.line(
            f"{plural(len(quick), 'other method')}: less than a second and up to "
            f"{format_bytes(max(quick.values()))} each (--json lists them)"
        )
    if info["suggested_label"] is not None:
        name = info["suggested_label"]
        text.line(f"No --label is given; {name!r} looks most like a column of labels.")
    first = ", once the errors are corrected" if info["errors"] else ""
    text.line(f"To fit this table{first}:")
    text.line(f"  {info['command']}")
    return str(text)


def describe_demo(result: DemoResult) -> str:
    """Describe the scores of the demonstration."""
    text = _Text()
    grid = _grid("method", "wrong of the unlabelled", "time")
    grid.title_justify = "left"
    grid.title = (
        f"{result.y.size} handwritten digits, {np.count_nonzero(result.labeled)} labelled; "
        f"mean of {len(result.errors['LapSVC()'])} draws"
    )
    best = min(errors.mean() for errors in result.errors.values())
    for name, errors in result.errors.items():
        mean, spread = 100 * errors.mean(), 100 * errors.std()
        style = "bold" if errors.mean() == best else None
        time = f"{result.seconds[name].mean():.2f} s"
        grid.add_row(name, f"{mean:.1f} ± {spread:.1f} %", time, style=style)
    text.grid(grid)
    return str(text)


def _capitalized(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _grid(first: str, *headings: str) -> Grid:
    grid = Grid(box=rich.box.SIMPLE_HEAD)
    grid.add_column(first)
    for heading in headings:
        grid.add_column(heading, justify="right")
    return grid


def json_text(value: dict[str, Any]) -> str:
    """Return a summary as JSON that is safe to print in a terminal."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    # JSON does not escape these control characters, and terminals interpret them.
    return re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"
