"""The verbs of the ``lapwing`` command; only `lapwing._app.cli` imports it, as it needs typer."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from lapwing._app import choosing, console, fitting, labelling, suggesting, workflow
from lapwing._app.affordable import Effort
from lapwing._app.console import StageDisplay, say
from lapwing._app.demo import draw_demo, run_demo
from lapwing._app.inspection import inspect
from lapwing._app.methods import METHODS
from lapwing._app.requests import (
    CompareRequest,
    FitRequest,
    InfoRequest,
    LabelRequest,
    LearningRequest,
    Outputs,
    PredictRequest,
    SuggestRequest,
    TuneRequest,
)
from lapwing._app.settings import setting_names
from lapwing._host.files import atomic_write, check_writable
from lapwing._host.optional import require
from lapwing._report.page import ReportData, collect
from lapwing._tables.parts import FORMATS
from lapwing._tables.predictions import Predictions, print_predictions
from lapwing._tables.tables import Table
from lapwing._version import __version__
from lapwing.models import Model

__all__ = ["app", "run"]

app = typer.Typer(
    name="lapwing",
    help="Label a table in which only a few rows have a label.",
    epilog="Exit codes: 0 done, 2 wrong usage or input, 130 interrupted, 1 a defect of lapwing.",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
# typer carries click within itself or beside itself, by version; only this way to the base class of
# wrong usage is public in both.
_UsageError: Any = typer.BadParameter.__bases__[0]


class _Command(TyperCommand):
    """A verb that refuses an option given twice where one value counts; click takes the last."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, found = self.make_parser(ctx).parse_args(args=list(args))
        given: list[Any] = [option for option in found if option.nargs == 1]
        for option, count in Counter(given).items():
            if count > 1 and not (option.multiple or option.is_flag):
                raise _UsageError(f"{option.opts[0]} is given {count} times; give it once.")
        return super().parse_args(ctx, args)


def run(argv: Sequence[str] | None) -> int:
    """Run the verb that `argv` (None: the process's arguments) names; return the exit code.

    Raises
    ------
    ValueError
        If the usage or the input is wrong.
    """
    # Not typer's no_args_is_help: it shows the help and then calls itself wrong usage.
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    try:
        code = app(args=arguments, prog_name="lapwing", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except _UsageError as error:
        raise ValueError(f"{error.format_message()} (see lapwing --help)") from None
    if code == 130:  # typer's own answer to Ctrl-C
        raise KeyboardInterrupt
    return int(code or 0)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lapwing {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def _complete_method(incomplete: str) -> list[str]:
    return [name for name in METHODS if name.startswith(incomplete)]


def _complete_setting(incomplete: str) -> list[str]:
    names = {name for m in METHODS.values() for name in setting_names(m)}
    return [f"{name}=" for name in sorted(names) if name.startswith(incomplete)]


_WHAT, _LEARN, _WRITE, _SAY = "The table", "Learning", "What is written", "What is said"
_formats = ", ".join(FORMATS)
Data = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA...",
        help=f"The table: {_formats}, or - for standard input. Several files are one table.",
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        help="Column with the labels. An empty cell means: no label.", rich_help_panel=_WHAT
    ),
]
LabelsFile = Annotated[
    Path | None,
    typer.Option(
        help="File with the labels, if they are in no column: one label a line, or an .npy array.",
        rich_help_panel=_WHAT,
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id",
        help="Column that names the rows. Default: the rows are numbered from 1.",
        rich_help_panel=_WHAT,
    ),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns to use, with commas between them. May be repeated. Default: all others.",
        rich_help_panel=_WHAT,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns to leave out, with commas between them. May be repeated.",
        rich_help_panel=_WHAT,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns to use that would be left out, with commas between them. May be repeated.",
        rich_help_panel=_WHAT,
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Read the table as it stands. No column is left out. Anything that is not plainly a "
        "number or a text with few values is an error.",
        rich_help_panel=_WHAT,
    ),
]
Decimal = Annotated[
    str,
    typer.Option(
        help="Decimal mark: auto (found for each column), . or ,",
        rich_help_panel=_WHAT,
    ),
]
Dates = Annotated[
    str,
    typer.Option(
        help="What comes first in a date that can be read both ways: auto, day or month.",
        rich_help_panel=_WHAT,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        help="Sheet of a spreadsheet. Default: the first that is not empty.",
        rich_help_panel=_WHAT,
    ),
]
SkipLines = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Lines above the names of the columns, in a CSV file. Default: found.",
        rich_help_panel=_WHAT,
    ),
]
Unlabeled = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VALUE",
        help="A value of the label column that means: no label. May be repeated.",
        rich_help_panel=_WHAT,
    ),
]
Scale = Annotated[
    str,
    typer.Option(
        help="Standardise the columns: auto (if their scales differ widely), standard or none.",
        rich_help_panel=_LEARN,
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        help=f"One of {', '.join(METHODS)}. Default: auto, and lapsvc with --set.",
        autocompletion=_complete_method,
        rich_help_panel=_LEARN,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the method, such as gamma_I=1 or graph.n_neighbors=15. May be "
        "repeated.",
        autocompletion=_complete_setting,
        rich_help_panel=_LEARN,
    ),
]
Impute = Annotated[
    str,
    typer.Option(
        help="What a missing number becomes: the median, the mean, or none (an error). auto is "
        "the median, and none with --strict.",
        rich_help_panel=_LEARN,
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, help="Seed for everything random.", rich_help_panel=_LEARN)
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Show no progress and no summary.", rich_help_panel=_SAY),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print the summary as one JSON object.", rich_help_panel=_SAY),
]
PredictionsFile = Annotated[
    Path | None,
    typer.Option(
        help="File for the answers, .csv, .parquet or .npz: id, label, probability, sure, scores, "
        "margin, was_labeled.",
        rich_help_panel=_WRITE,
    ),
]
Probabilities = Annotated[
    bool,
    typer.Option(
        "--probabilities",
        help="Write the probability of each class too, not only that of the answer.",
        rich_help_panel=_WRITE,
    ),
]
Truth = Annotated[
    str | None,
    typer.Option(
        help="Column with known answers, to count errors. The method does not learn from it.",
        rich_help_panel=_WHAT,
    ),
]
Layout = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        help="Column for the report's map. Give it twice, for x and y. Default: principal "
        "components.",
        rich_help_panel=_WHAT,
    ),
]
ModelFile = Annotated[
    Path | None,
    typer.Option(
        help="File for the model, for lapwing predict and lapwing report.",
        rich_help_panel=_WRITE,
    ),
]
ReportFile = Annotated[
    Path | None,
    typer.Option(help="File for the report, .html.", rich_help_panel=_WRITE),
]
OnnxFile = Annotated[
    Path | None,
    typer.Option(help="File for the model as ONNX, .onnx.", rich_help_panel=_WRITE),
]


@app.command(
    cls=_Command,
    epilog="Examples: [bold]lapwing fit cells.csv --label type --predictions out.csv[/]   "
    "[bold]lapwing fit cells.parquet --label type --id cell --model m.lapwing --report r.html[/]   "
    "[bold]lapwing fit a.csv b.csv --label type --set gamma_I=10 --set graph.n_neighbors=15[/]",
)
def fit(
    data: Data,
    label: Label = None,
    labels: LabelsFile = None,
    id_column: IdColumn = None,
    features: Features = None,
    drop: Drop = None,
    keep: Keep = None,
    unlabeled: Unlabeled = None,
    strict: Strict = False,
    decimal: Decimal = "auto",
    dates: Dates = "auto",
    sheet: Sheet = None,
    skip_lines: SkipLines = None,
    truth: Truth = None,
    layout: Layout = None,
    method: Method = None,
    settings: Settings = None,
    scale: Scale = "auto",
    impute: Impute = "auto",
    seed: Seed = 0,
    predictions: PredictionsFile = None,
    probabilities: Probabilities = False,
    model: ModelFile = None,
    report: ReportFile = None,
    onnx: OnnxFile = None,
    next_rows: Annotated[
        Path | None,
        typer.Option(
            "--next",
            help="File for the ten rows to label next, .csv. Fill in its label column, and give it "
            "behind DATA.",
            rich_help_panel=_WRITE,
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn from the rows with and without a label, and predict a label for every row."""
    _fit(FitRequest.read(locals()))


def _fit(request: FitRequest) -> None:
    request.outputs.check(request.inputs)
    shown = StageDisplay(request.quiet)
    with shown.stage(f"Reading {request.source}"):
        table = workflow.read(request)
    with shown.stage(_working(request), _seconds(table, request)) as stage:
        outcome = fitting.fit(table, request, callbacks=[stage] if shown.shown else [])
    with shown.stage("Looking at the answers"):
        figures = collect(outcome)
    # Before the files: what cannot be said leaves none.
    said = _say_fit(outcome, figures)
    with shown.stage("Writing"):
        workflow.write_outputs(outcome, figures)
    typer.echo(said, nl=False)


@app.command(
    cls=_Command,
    epilog="Example: [bold]lapwing tune cells.csv --label type --report r.html[/]",
)
def tune(
    data: Data,
    label: Label = None,
    labels: LabelsFile = None,
    id_column: IdColumn = None,
    features: Features = None,
    drop: Drop = None,
    keep: Keep = None,
    unlabeled: Unlabeled = None,
    strict: Strict = False,
    decimal: Decimal = "auto",
    dates: Dates = "auto",
    sheet: Sheet = None,
    skip_lines: SkipLines = None,
    truth: Truth = None,
    layout: Layout = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="One of lapsvc, laprls, laperls, laprls-regressor. Default: by the labels and the "
            "number of rows.",
            autocompletion=_complete_method,
            rich_help_panel=_LEARN,
        ),
    ] = None,
    settings: Settings = None,
    scale: Scale = "auto",
    impute: Impute = "auto",
    seed: Seed = 0,
    predictions: PredictionsFile = None,
    probabilities: Probabilities = False,
    model: ModelFile = None,
    report: ReportFile = None,
    onnx: OnnxFile = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Choose the parameters of a method by leaving out each label in turn, and fit with them.

    Everything else is as in lapwing fit. --set gives the values to try, such as
    --set gamma_Is=0.1,1,10.
    """
    _fit(TuneRequest.read(locals()))


@app.command(cls=_Command, epilog="Example: [bold]lapwing compare cells.csv --label type[/]")
def compare(
    data: Data,
    label: Label = None,
    labels: LabelsFile = None,
    id_column: IdColumn = None,
    features: Features = None,
    drop: Drop = None,
    keep: Keep = None,
    unlabeled: Unlabeled = None,
    strict: Strict = False,
    decimal: Decimal = "auto",
    dates: Dates = "auto",
    sheet: Sheet = None,
    skip_lines: SkipLines = None,
    scale: Scale = "auto",
    impute: Impute = "auto",
    seed: Seed = 0,
    max_rows: Annotated[
        int,
        typer.Option(
            "--rows",
            min=2,
            help="Most rows to compare on. Of more, all labelled ones are taken and others drawn.",
            rich_help_panel=_LEARN,
        ),
    ] = Effort.max_samples,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the table of methods, .csv, .json or .html.", rich_help_panel=_WRITE
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Say which method suits a table, and how many of its answers will be wrong.

    Each method is judged by the labels that it misses when they are left out, and by how much its
    answer changes with the labels. Nothing is fitted to keep: the last lines are the command.
    """
    request = CompareRequest.read(locals())
    request.outputs.check(request.inputs)
    shown = StageDisplay(quiet)
    with shown.stage(f"Reading {request.source}"):
        table = workflow.read(request)
    with shown.stage("Comparing methods", choosing.announce(table, request)):
        compared = choosing.compare_methods(table, request)
    said = _say_comparison(compared)
    with shown.stage("Writing"):
        workflow.write_comparison(compared)
    typer.echo(said, nl=False)


@app.command(
    cls=_Command,
    epilog="Example: [bold]lapwing suggest cells.csv --label type -k 10 --out next.csv[/]",
)
def suggest(
    data: Data,
    out: Annotated[
        Path,
        typer.Option(
            help="File for the rows to label next, .csv. Fill in its label column, and give it "
            "behind DATA.",
            rich_help_panel=_WRITE,
        ),
    ],
    n_rows: Annotated[
        int,
        typer.Option("--rows", "-k", min=1, help="How many rows.", rich_help_panel=_WRITE),
    ] = 10,
    label: Label = None,
    labels: LabelsFile = None,
    id_column: IdColumn = None,
    features: Features = None,
    drop: Drop = None,
    keep: Keep = None,
    unlabeled: Unlabeled = None,
    strict: Strict = False,
    decimal: Decimal = "auto",
    dates: Dates = "auto",
    sheet: Sheet = None,
    skip_lines: SkipLines = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="A method that says which rows to label next. Default: lapsvc.",
            autocompletion=_complete_method,
            rich_help_panel=_LEARN,
        ),
    ] = None,
    settings: Settings = None,
    scale: Scale = "auto",
    impute: Impute = "auto",
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write the rows that it would help most to label next.

    Fits the table as lapwing fit does, as a model keeps no graph. The rows say most about all
    others where the answer is unsure, and no two of them say the same. The label column may be
    empty: without labels of two classes the rows cover the table.
    """
    request = SuggestRequest.read(locals())
    request.outputs.check(request.inputs)
    shown = StageDisplay(quiet)
    with shown.stage(f"Reading {request.source}"):
        table = workflow.read(request)
    with shown.stage(_working(request), _seconds(table, request)) as stage:
        found = suggesting.suggest(table, request, callbacks=[stage] if shown.shown else [])
    said = _say_suggestion(found)
    with shown.stage("Writing"):
        workflow.write_suggested(found)
    typer.echo(said, nl=False)


@app.command(
    cls=_Command,
    epilog="Examples: [bold]lapwing label cells.csv --label type[/]   "
    "[bold]lapwing label posts.csv --label topic --id post --text body --classes sport,politics[/]",
)
def label(
    data: Data,
    label: Annotated[
        str | None,
        typer.Option(
            help="Column of the labels, if there is one: rows may have labels already. It also "
            "names the labels that you give.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    labels: LabelsFile = None,
    id_column: IdColumn = None,
    text: Annotated[
        str | None,
        typer.Option(
            help="Column with a text to read while you label. It is not learnt from.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            help="Column with the file name of a picture (PNG, JPEG, GIF, WebP), from the folder "
            "of the table. It is not learnt from.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    layout: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            help="Column for the map. Give it twice, for x and y.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            help="Names of the classes, with commas between them. May be repeated. You can also "
            "type them in the page.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    features: Features = None,
    drop: Drop = None,
    keep: Keep = None,
    unlabeled: Unlabeled = None,
    strict: Strict = False,
    decimal: Decimal = "auto",
    dates: Dates = "auto",
    sheet: Sheet = None,
    method: Method = "laperls",
    settings: Settings = None,
    scale: Scale = "auto",
    impute: Impute = "auto",
    seed: Seed = 0,
    journal: Annotated[
        Path | None,
        typer.Option(
            help="File that keeps the labels. Default: the name of the table and .labels.jsonl.",
            rich_help_panel=_WRITE,
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, help="Port of the page. Default: any free one.", rich_help_panel=_SAY
        ),
    ] = 0,
    no_browser: Annotated[
        bool,
        typer.Option("--no-browser", help="Do not open the browser.", rich_help_panel=_SAY),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Open a page on which you label rows, and see what the model makes of it.

    The page is for you alone: nobody else on the network can open it. Every label is saved at
    once, beside the table. Press Ctrl-C to end; the same command goes on where you were.
    """
    request = LabelRequest.read(locals())
    shown = StageDisplay(quiet)
    with shown.stage(f"Reading {request.source}"):
        table = workflow.read(request)
    with labelling.start(table, request) as server:
        # The address is what a user must see, however quiet.
        say(server.url)
        if not quiet:
            say(console.describe_labelling(server.session, request))
        sys.stdout.flush()  # whoever reads a pipe waits for the address
        if not request.no_browser:
            typer.launch(server.url)
        server.wait()


@app.command(
    cls=_Command,
    epilog="Examples: [bold]lapwing predict m.lapwing new.csv --predictions out.csv[/]   "
    "[bold]cat new.csv | lapwing predict m.lapwing - > out.csv[/]",
)
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file of lapwing fit --model.")],
    data: Data,
    predictions: PredictionsFile = None,
    probabilities: Probabilities = False,
    id_column: IdColumn = None,
    decimal: Decimal = "auto",
    sheet: Sheet = None,
    skip_lines: SkipLines = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Predict the rows of a table with a model. Without --predictions, print them as CSV."""
    request = PredictRequest.read(locals())
    request.outputs.check(request.inputs)
    shown = StageDisplay(quiet)
    with shown.stage(f"Reading {model}"):
        loaded = workflow.load(request.model)
    with shown.stage(f"Reading {request.source}"):
        table = workflow.read_for(loaded, request)
    with shown.stage("Predicting"):
        rows = workflow.answer(loaded, table)
    if request.predictions is None:
        print_predictions(
            rows, sys.stdout, dialect=table.dialect, all_probabilities=request.probabilities
        )
        return
    said = _say_predictions(rows, loaded, request)
    with shown.stage("Writing"):
        workflow.write_predictions(
            rows,
            request.predictions,
            dialect=table.dialect,
            all_probabilities=request.probabilities,
        )
    typer.echo(said, nl=False)


@app.command(cls=_Command, epilog="Example: [bold]lapwing report m.lapwing --output report.html[/]")
def report(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file of lapwing fit --model.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The page. Default: MODEL with the extension .html."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write the report of a model: one HTML page that needs nothing else."""
    target = model.with_suffix(".html") if output is None else output
    Outputs(report=target).check((model,))
    page = workflow.render_report(workflow.load(model), model)
    with atomic_write(target) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
    if not quiet:
        say(f"Report: {target}")


@app.command(cls=_Command, epilog="Example: [bold]lapwing info cells.csv --label type --id cell[/]")
def info(
    data: Data,
    label: Label = None,
    labels: LabelsFile = None,
    id_column: IdColumn = None,
    features: Features = None,
    drop: Drop = None,
    keep: Keep = None,
    unlabeled: Unlabeled = None,
    strict: Strict = False,
    decimal: Decimal = "auto",
    dates: Dates = "auto",
    sheet: Sheet = None,
    skip_lines: SkipLines = None,
    scale: Scale = "auto",
    n_neighbors: Annotated[
        int, typer.Option(min=1, help="Neighbours of a row in the graph that is looked at.")
    ] = 5,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Show what a table holds, and how much memory and time a fit will need."""
    request = InfoRequest.read(locals())
    with StageDisplay(quiet=False).stage(f"Looking at {request.source}"):
        found = inspect(request)
    typer.echo(_json(found) if request.as_json else console.describe_info(found), nl=False)


@app.command(cls=_Command)
def demo(
    output: Annotated[Path, typer.Option(help="The picture to write (.png, .pdf or .svg).")] = Path(
        "lapwing-demo.png"
    ),
    labels_per_class: Annotated[
        int, typer.Option(min=1, max=100, help="How many labels each of the ten digits gets.")
    ] = 3,
    draws: Annotated[
        int, typer.Option(min=1, help="How many times the labels are drawn; errors are averaged.")
    ] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed for the draws.")] = 0,
) -> None:
    """Compare LapSVC with a supervised SVM and LabelSpreading on handwritten digits."""
    if output.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ValueError(f"cannot write {output}: the extension must be .png, .pdf or .svg.")
    check_writable(output)
    shown = StageDisplay(quiet=False)
    with shown.stage("Fitting three methods"):
        result = run_demo(labels_per_class, draws, seed)
    typer.echo(console.describe_demo(result), nl=False)
    try:
        require("matplotlib", extra="plot", purpose="The picture")
    except ImportError as missing:
        # The comparison, which is the point of the demonstration, has been given.
        say(f"No picture: {missing}")
        return
    with shown.stage("Drawing the picture"):
        figure = draw_demo(result)
        with atomic_write(output) as temporary:
            figure.savefig(temporary, format=output.suffix[1:].lower(), dpi=150)
    say(f"Picture: {output.resolve()}")


def _working(request: LearningRequest) -> str:
    """What is done, for who waits."""
    return "Choosing a method" if request.automatic else request.chosen.name


def _seconds(table: Table, request: LearningRequest) -> float:
    return request.chosen.forecast(choosing.size_of(table)).seconds


def _say_fit(outcome: fitting.Outcome, figures: ReportData) -> str:
    request = outcome.request
    written = request.outputs.named()
    if request.as_json:
        return _json(workflow.summary(outcome, figures) | {"written": written})
    return "" if request.quiet else console.describe_fit(outcome, figures)


def _say_comparison(compared: choosing.Compared) -> str:
    if compared.request.as_json:
        return _json(workflow.comparison_summary(compared))
    return "" if compared.request.quiet else console.describe_comparison(compared)


def _say_suggestion(found: suggesting.Suggestion) -> str:
    if found.request.as_json:
        return _json(workflow.suggestion_summary(found))
    return "" if found.request.quiet else console.describe_suggestion(found)


def _say_predictions(rows: Predictions, loaded: Model, request: PredictRequest) -> str:
    if request.as_json:
        return _json(
            {
                "source": request.source,
                "rows": int(rows.label.size),
                "predicted": workflow.class_counts(rows),
                "written": request.outputs.named(),
            }
        )
    return "" if request.quiet else console.describe_predictions(rows, loaded.info, request)


def _json(value: dict[str, Any]) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    # JSON leaves these control characters as they are, and terminals act on them.
    return re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"
