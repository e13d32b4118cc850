"""Output of the command line: text and tables of figures. Needs rich.

Names in a table come from the user: they are never read as markup, and control characters are
removed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import rich.box
from rich.console import Console
from rich.table import Table as Grid

from lapwing._app.choosing import Compared
from lapwing._app.demo import DemoResult
from lapwing._app.fitting import Outcome, Suggestion
from lapwing._app.methods import AUTO
from lapwing._app.predicting import Predicted, class_counts
from lapwing._app.requests import LabelRequest
from lapwing._host.memory import format_bytes
from lapwing._host.terminal import harmless
from lapwing._label.session import Session
from lapwing._report.findings import choice_table, estimate_words, sure_words, trust_words
from lapwing._report.findings import describe_comparison as describe_rows
from lapwing._report.record import ReportData
from lapwing._report.text import count, number, percent, plural
from lapwing._tables.assembly import summary_lines
from lapwing._tables.tables import Table

Parts = Iterator[str | Grid]  # lines and tables

_SETTINGS_SHOWN = 5
_QUICK = 1.0  # seconds of a forecast that needs no line of its own
_WRITTEN = {"onnx": "ONNX model", "next": "Rows to label next"}


def describe_labelling(session: Session, request: LabelRequest) -> Iterator[str]:
    """Describe the labelling page after it has been opened."""
    n = session.history.n_labeled
    given = plural(n, "label") if n else "no label yet"
    if request.label is None and not n:
        yield (
            "No --label was given: the labels are a new column, and the model learns from all "
            "columns of the table. If one of them holds labels, start again with --label COLUMN."
        )
    yield (
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


def format_parts(parts: Parts) -> str:
    """Format the lines and tables of a description."""
    # A file or pipe gets plain text of a fixed width.
    width = None if sys.stdout.isatty() else 100
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    return "".join(
        f"{harmless(one)}\n" if isinstance(one, str) else _draw(one, console) for one in parts
    )


def _draw(grid: Grid, console: Console) -> str:
    """Draw a table; one wider than the terminal gets less padding, and no word is broken."""
    for column in grid.columns:
        words = " ".join(map(str, (column.header, *column.cells))).split(" ")
        column.min_width = max(map(len, words))
    unlimited = console.options.update(width=10_000)
    if console.measure(grid, options=unlimited).minimum > console.width:
        grid.padding, grid.show_edge = 0, False
        for column in grid.columns[1:]:
            column.width = column.min_width
    room = console.measure(grid, options=unlimited).minimum
    with console.capture() as captured:
        console.print(grid, width=max(console.width, room))
    return captured.get()


def describe_fit(outcome: Outcome) -> Parts:
    """Describe the results of a fit, the next step, and the files written."""
    table, figures = outcome.table, outcome.figures
    yield _describe_size(table)
    if figures is None:  # the features stayed on disk
        yield from _counts(class_counts(outcome.predictions))
    else:
        yield from _answers(outcome, figures)
        yield f"Next: {figures.fitted['next_step']}"
        yield ""
        yield from _choice(figures.choice)
        yield from _path(figures.path, numbers=figures.kind != "classification")
    # A date is one column of the table and several features; a matrix has no notes.
    used = sum(note.used for note in table.features.notes)
    columns = plural(used or len(table.feature_names), "column")
    scaling = _capitalized(outcome.scaling)
    yield f"{type(outcome.estimator).__name__}, {columns}, {outcome.seconds:.1f} s. {scaling}."
    if figures is None:
        yield "The features stayed in their files and were read in blocks."
    yield from summary_lines(table.features.notes, table.remarks)
    written = outcome.request.written
    for what, path in written.items():
        yield f"{_WRITTEN.get(what, what.capitalize())}: {path}"
    if outcome.origin.plain_command:
        yield "To fit the same without choosing again:"
        yield f"  {outcome.origin.plain_command}"
    if "next" in written and not table.labeled.all():
        if outcome.next_rows is not None and not len(outcome.next_rows):
            yield "All rows without a label are equal to labelled rows: there is none to label next"
        else:
            assert table.keys is not None
            yield (
                f"Fill in the column {table.keys.label!r} of {written['next']}, save it, and run:"
            )
            yield f"  {outcome.request.next_command}"
    if not written:
        yield (
            "Nothing was written: add --predictions out.csv, --model m.lapwing or --report r.html"
        )


def _answers(outcome: Outcome, figures: ReportData) -> Parts:
    """Yield the classes or the numbers of all rows, and their reliability."""
    compared = bool(figures.choice.get("methods"))
    if figures.kind == "classification":
        yield from _classes(figures.volumes)
        if not outcome.table.labeled.all():
            yield sure_words(figures.volumes)
            yield trust_words(figures.volumes["trust"])
            if figures.fitted["margin_note"]:
                yield figures.fitted["margin_note"]
            if compared:
                yield estimate_words(figures.choice)
    else:
        found = figures.volumes["rows"]
        yield (
            f"Numbers from {number(found['min'])} to {number(found['max'])}, "
            f"median {number(found['median'])}"
        )
        if compared:
            yield estimate_words(figures.choice)
        if figures.path.get("left_out_rmse") is not None:
            yield (
                f"Labels left out in turn are missed by {number(figures.path['left_out_rmse'])} "
                "(root mean square)"
            )
        interval = outcome.predictions.interval
        if interval is not None:
            width = number(float(np.median(interval[:, 1] - interval[:, 0])))
            yield (
                "Nine of ten true values are expected between low and high, by labels left out in "
                f"turn; the median width of these intervals is {width}."
            )
    if figures.truth:
        yield _describe_errors(figures.truth)


def _counts(counts: Mapping[str, int] | None) -> Parts:
    """Yield the number of rows of each class."""
    for name, n in (counts or {}).items():
        yield f"  {name}: {count(n)}"


def describe_suggestion(suggested: Suggestion) -> Parts:
    """Describe the suggested rows, and the commands that follow."""
    table, request = suggested.table, suggested.request
    yield _describe_size(table)
    n = len(suggested.rows)
    them = "the row" if n == 1 else f"the {count(n)} rows"
    yield f"{request.out}: {them} to label next, the most informative first"
    if not suggested.fitted:
        missing = " of a second class" if table.n_labeled else ""
        yield f"There is no label{missing} yet: the rows cover the table"
    elif request.automatic:
        yield f"By the predictions of {suggested.name}, chosen as by lapwing fit"
    yield f"{_capitalized(suggested.scaling)}."
    yield from summary_lines(table.features.notes, table.remarks)
    assert table.keys is not None
    yield f"Fill in its column {table.keys.label!r}, save it, and ask for more rows:"
    yield f"  {request.next_command}"
    yield "Or label all other rows:"
    yield f"  {request.answer_command}"


def describe_predictions(predicted: Predicted) -> Parts:
    """Describe predictions for new rows."""
    yield f"{predicted.request.source}: {plural(predicted.n_rows, 'row')}"
    if predicted.volumes is None:
        yield from _counts(predicted.counts)
    else:
        yield from _classes(predicted.volumes)
        yield sure_words(predicted.volumes)
    if predicted.margin_note:
        yield predicted.margin_note
    yield f"Predictions: {predicted.request.predictions}"


def _describe_size(table: Table) -> str:
    labels = count(table.n_labeled) if table.n_labeled else "none"
    return f"{table.source}: {plural(table.n, 'row')}, {labels} with a label"


def describe_comparison(compared: Compared) -> Parts:
    """Describe a comparison of methods, its verdict, and the command that fits the best one."""
    table = compared.table
    yield _describe_size(table)
    rows = compared.comparison.table
    found = describe_rows(compared.comparison)
    times = [f"{row.seconds:.1f} s" for row in rows]
    yield from _methods(found, times)
    if compared.commands[0]:
        yield "To fit it:"
        yield f"  {compared.commands[0]}"
    yield ""
    scaling = _capitalized(compared.scaling)
    yield f"{plural(len(rows), 'method')} in {compared.seconds:.1f} s. {scaling}."
    yield from summary_lines(table.features.notes, table.remarks)
    if compared.request.out is not None:
        yield f"Table: {compared.request.out}"


def _methods(found: dict[str, Any], times: Sequence[str] = ()) -> Parts:
    """Yield the table of compared methods, and the verdict."""
    rows, table = [], choice_table(found["methods"])
    for i, row in enumerate(found["methods"]):
        name, *cells = table.cells(row)
        rows.append((f"{name} !" if row["objection"] else name, *cells, *times[i : i + 1]))
    yield _grid((*table.columns, "time") if times else table.columns, rows)
    for row in found["methods"]:
        if row["objection"]:
            yield f"! {row['name']} is excluded: it {row['objection']}."
    yield found["verdict"]
    yield from found["notes"]


def _choice(choice: dict[str, Any]) -> Parts:
    """Yield how the method was chosen."""
    if not choice:
        return
    if choice["reason"]:
        yield f"{choice['reason']}."
    if choice["methods"]:
        yield from _methods(choice)
        for name in choice["skipped"]:
            yield f"{name} was not compared, as it would take long: lapwing compare does it."
    yield ""


def _path(path: dict[str, Any], *, numbers: bool) -> Parts:
    """Yield the settings with the smallest errors."""
    if not path:
        return
    if not path["n_settings"]:
        few = "There is" if numbers else "A class has"
        yield f"{few} one label only: nothing can be left out. The usual parameters:"
    else:
        settings = plural(path["n_settings"], "setting")
        yield f"{settings} tried, each label left out in turn. The best of them:"
    if path["settings"]:
        shown = path["settings"][:_SETTINGS_SHOWN]
        columns = {
            name: [one["values"][j] for one in shown] for j, name in enumerate(path["varied"])
        }
        columns["squared error"] = [number(one["squared_error"]) for one in shown]
        if not numbers:
            columns["missed"] = [percent(one["error_rate"]) for one in shown]
        yield _grid(columns, zip(*columns.values(), strict=True))
    taken = ", ".join(f"{k}={v}" for k, v in path["chosen"].items())
    why = path["n_settings"] and path["kept_default"]
    because = ", the usual ones, as no others are better by more than chance" if why else ""
    yield f"Taken: {taken}{because}"
    yield ""


def _classes(found: dict[str, Any]) -> Parts:
    """Yield the numbers of rows, sure rows, and rows to check of each class."""
    rows = []
    for c in found["classes"]:
        counts = map(count, (c["n_rows"] - c["n_unlabeled"], c["n_sure"], c["n_to_check"]))
        rows.append((c["name"], count(c["n_rows"]), percent(c["row_share"]), *counts))
    yield _grid(("class", "rows", "share", "labelled", "sure", "to check"), rows)
    if found["n_omitted"]:
        yield f"And {plural(found['n_omitted'], 'smaller class', 'smaller classes')}"


def _describe_errors(truth: dict[str, Any]) -> str:
    name = f" in {truth['column']!r}" if truth["column"] else ""
    if not truth["n"]:
        return f"No row without a label has a known answer{name}"
    rows = f"of {plural(truth['n'], 'row')} with a known answer{name}"
    if "rmse" in truth:
        return f"Root mean square error {rows}: {number(truth['rmse'])}"
    return f"Wrong: {count(truth['n_errors'])} {rows} ({percent(truth['error_rate'])})"


def describe_info(info: dict[str, Any]) -> Parts:
    """Describe the result of `lapwing._app.inspection.inspect`."""
    counts = {kind: len(info[kind]) for kind in ("numeric", "categorical", "text", "encoded")}
    shown = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count) or "no"
    features = "feature" if sum(counts.values()) == 1 else "features"
    yield f"{info['source']}: {plural(info['rows'], 'row')}, {shown} {features}"
    yield from info["summary"]
    for error in info["errors"]:
        yield f"  error: {error.removeprefix(info['source']).lstrip(': ')}"
    for name, cells in info["missing"].items():
        yield f"  missing {name!r}: {plural(cells, 'row')}, which a fit {info['imputed']}"
    for name, cells in info["infinite"].items():
        yield f"  infinite {name!r}: {plural(cells, 'row')}; correct them"
    yield _capitalized(info["scaling"])
    if info["encoding"] is not None:
        encoding = info["encoding"]
        yield (
            f"Encoding by {encoding['name']}, once: about {encoding['time']} for "
            f"{plural(info['rows'], 'row')}"
        )
    if info["labels"] is not None:
        labels = info["labels"].items()
        yield _grid(("label", "rows"), [(name or "(none)", count(rows)) for name, rows in labels])
    if info["markers"]:
        n = sum(info["markers"].values())
        yield (
            f"{n} of {plural(info['rows'], 'row')} {'has' if n == 1 else 'have'} the label "
            f"{' or '.join(map(repr, info['markers']))}, which a fit refuses as a class. The "
            f"command below takes {'it' if len(info['markers']) == 1 else 'them'} for no label."
        )
    if info["graph"] is not None:
        graph = info["graph"]
        part = "" if graph["rows"] == info["rows"] else f" of {graph['rows']} rows drawn at random"
        bare = graph["components_without_label"]
        without = "" if bare is None else f", {bare} of them without a label"
        yield (
            f"Graph{part}, {graph['n_neighbors']} neighbours: "
            f"{plural(graph['components'], 'component')}{without}; the largest holds "
            f"{graph['largest_share']:.1%}"
        )
    quick = {
        name: forecast["memory_bytes"]
        for name, forecast in info["forecast"].items()
        if forecast["fits"] and forecast["seconds"] < _QUICK and name != AUTO
    }
    rows = [
        (name, one["memory"] + " (too much)" * (not one["fits"]), one["time"], one["solver"])
        for name, one in info["forecast"].items()
        if name not in quick
    ]
    yield _grid(("method", "memory", "time, about", "solver"), rows)
    if quick:
        yield (
            f"{plural(len(quick), 'other method')}: less than a second and up to "
            f"{format_bytes(max(quick.values()))} each (--json lists them)"
        )
    if info["suggested_label"] is not None:
        name = info["suggested_label"]
        yield f"No --label is given; {name!r} looks most like a column of labels."
    first = ", once the errors are corrected" if info["errors"] else ""
    verb = info["command"].split()[1]
    yield f"To {verb} this table{first}:"
    yield f"  {info['command']}"


def describe_demo(result: DemoResult) -> Parts:
    """Describe the scores of the demonstration."""
    rows = []
    for name, errors in result.errors.items():
        mean, spread = 100 * errors.mean(), 100 * errors.std()
        rows.append((name, f"{mean:.1f} ± {spread:.1f} %", f"{result.seconds[name].mean():.2f} s"))
    grid = _grid(("method", "wrong of the unlabelled", "time"), rows)
    best = np.argmin([errors.mean() for errors in result.errors.values()])
    grid.rows[best].style = "bold"
    grid.title_justify = "left"
    grid.title = (
        f"{result.y.size} handwritten digits, {np.count_nonzero(result.labeled)} labelled; "
        f"mean of {len(result.errors['LapSVC()'])} draws"
    )
    yield grid


def _capitalized(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _grid(headings: Iterable[str], rows: Iterable[Sequence[str]]) -> Grid:
    grid = Grid(box=rich.box.SIMPLE_HEAD)
    for j, heading in enumerate(headings):
        grid.add_column(heading, justify="right" if j else "left")
    for row in rows:
        grid.add_row(*map(harmless, row))
    return grid


def json_text(value: dict[str, Any]) -> str:
    """Return a summary as JSON that is safe to print in a terminal."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    # JSON does not escape these control characters, and terminals interpret them.
    return re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"
