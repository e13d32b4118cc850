"""The ``lapwing`` command and its verbs: functions of a request, in the order of the help.

1. Request: `options` and `requests` declare the options of a verb as the fields of a frozen value,
   `verb` makes a command of it.
2. Table: `reading` reads the files (see `lapwing._tables`), and preprocesses the features.
3. Result: `fitting`, `choosing` (the method), `predicting` and `labelling` return a frozen result.
4. Output: `workflow` writes the files and summarises for JSON, `console` describes in words.

Only `lapwing._app.cli` imports this module, because it needs typer.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, Field, fields, replace
from functools import cache
from inspect import Parameter, Signature
from typing import Annotated, Any, TypeVar, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from lapwing._app import (
    choosing,
    console,
    fitting,
    labelling,
    predicting,
    reading,
    requests,
    workflow,
)
from lapwing._app.console import json_text, say
from lapwing._app.demo import draw_demo, run_demo
from lapwing._app.inspection import inspect
from lapwing._app.options import PANELS, LabeledRequest, Request, flag_of, help_texts, option_of
from lapwing._host.files import atomic_write
from lapwing._host.modules import require
from lapwing._host.terminal import StatusLine
from lapwing._report.page import Report
from lapwing._tables.tables import Table
from lapwing._version import __version__
from lapwing._words import quoted

R = TypeVar("R", bound=Request)
T = TypeVar("T", fitting.Outcome, choosing.Compared, fitting.Suggestion, predicting.Predicted)

app = typer.Typer(
    name="lapwing",
    help="Label a table in which only a few rows have a label.",
    epilog="Exit codes: 0 done, 2 wrong usage or input, 130 interrupted, 1 a defect of lapwing.",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
# click's class. Some versions of typer contain click and others import it; this is the only public
# way to it in both.
UsageError: Any = typer.BadParameter.__bases__[0]


# What to do instead of repeating an option.
_ONCE = {
    "--label": "A fit has one target: run the command for each, and leave the other columns of "
    "labels out with --drop."
}


class Command(TyperCommand):
    """Command that rejects a repeated single-valued option; click would use the last value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, found = self.make_parser(ctx).parse_args(args=list(args))
        given: list[Any] = [option for option in found if option.nargs == 1]
        for option, count in Counter(given).items():
            if count > 1 and not (option.multiple or option.is_flag):
                flag = option.opts[0]
                cure = _ONCE.get(flag, "Give it once.")
                raise UsageError(f"{flag} is given {count} times. {cure}", ctx)
        return super().parse_args(ctx, args)


def verb(
    request: type[R], *, epilog: str | None = None, without: Collection[str] = ()
) -> Callable[[Callable[[R], None]], Callable[[R], None]]:
    """Register a function of a request as a verb of the same name.

    Parameters
    ----------
    request : type
        Its fields are the options (`lapwing._app.options.option`).
    epilog : str or None
        Examples at the end of the help.
    without : collection of str
        Fields that this verb does not offer.

    Raises
    ------
    TypeError
        If the request has no such field, or a field is not declared by `option`.
    """
    unknown = [name for name in without if name not in {one.name for one in fields(request)}]
    if unknown:
        raise TypeError(
            f"{request.__name__} has no field {quoted(unknown)}: without= takes names of fields, "
            "such as as_json."
        )
    hints, texts = get_type_hints(request), help_texts(request)

    def order(one: Field[Any]) -> tuple[bool, bool, int, bool]:
        # Arguments first, DATA after MODEL; then by panel, because typer shows panels in the order
        # of their options.
        how = option_of(one)
        return not how.argument, one.name == "data", PANELS.index(how.panel), not how.leads

    shown = sorted((one for one in fields(request) if one.name not in without), key=order)
    # Without docstrings (python -OO) there is no help.
    signature = Signature(
        [_parameter(one, hints[one.name], texts.get(one.name, "")) for one in shown]
    )

    def register(function: Callable[[R], None]) -> Callable[[R], None]:
        def command(**options: Any) -> None:
            function(request.read(options))

        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__signature__ = signature  # type: ignore[attr-defined]
        app.command(cls=Command, epilog=epilog)(command)
        return function

    return register


def _parameter(one: Field[Any], hint: Any, help_text: str) -> Parameter:
    """Declare a field to typer: tuples as lists, and empty defaults as None."""
    how = option_of(one)
    least, most = how.limits
    if how.argument:
        declared = typer.Argument(metavar=how.metavar, help=help_text)
    else:
        declared = typer.Option(
            *(how.flags or flag_of(one)).split(),
            help=help_text,
            metavar=how.metavar,
            min=least,
            max=most,
            autocompletion=how.complete,
            rich_help_panel=how.panel or None,
        )
    if get_origin(hint) is tuple:
        hint = list[hint.__args__[0]]
    default = Parameter.empty if one.default is MISSING else one.default
    if default in ((), ""):
        hint, default = hint | None, None
    return Parameter(
        one.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, declared]
    )


@cache
def _command() -> Any:
    """Build the command of all verbs once; typer would build it at each call."""
    return typer.main.get_command(app)


def run(argv: Sequence[str] | None) -> int:
    """Run the verb that `argv` (None: the process's arguments) names; return the exit code.

    Raises
    ------
    ValueError
        If the usage or the input is wrong.
    """
    # typer's no_args_is_help shows the help and then raises a usage error.
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    try:
        code = _command()(args=arguments, prog_name="lapwing", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "lapwing"
        raise ValueError(f"{error.format_message()} (see {command} --help)") from None
    if code == 130:  # typer's exit code of Ctrl-C
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


@verb(
    requests.FitRequest,
    epilog="Examples: [bold]lapwing fit cells.csv --label type --predictions out.csv[/]   "
    "[bold]lapwing fit cells.parquet --label type --id cell --model m.lapwing --report r.html[/]   "
    "[bold]lapwing fit a.csv b.csv --label type --set gamma_I=10 --set graph.n_neighbors=15[/]",
)
def fit(request: requests.FitRequest) -> None:
    """Learn from the rows with and without a label, and predict a label for every row."""
    fit_table(request)


def read_table(request: LabeledRequest) -> Table:
    """Check that the files of a verb can be written, and read its table."""
    request.check_outputs()
    with StatusLine(f"Reading {request.source}", request.quiet):
        return reading.read(request)


def fit_table(request: requests.FitRequest) -> None:
    """Fit, write the files, and print the summary."""
    table = read_table(request)
    with choosing.status_of_fit(table, request):
        outcome = fitting.fit(table, request)
    conclude(outcome, workflow.fit_summary, console.describe_fit, workflow.write_fit)


def conclude(
    result: T,
    summarize: Callable[[T], dict[str, Any]],
    describe: Callable[[T], console.Parts],
    write: Callable[[T], None],
) -> None:
    """Write the files of a verb, and print its summary: as JSON, as text, or not if quiet."""
    request, text = result.request, ""
    # Before the files, so that an error here leaves none.
    with StatusLine("Summarising", request.quiet):
        if request.as_json:
            text = json_text(summarize(result) | {"written": request.written})
        elif not request.quiet:
            text = console.format_parts(describe(result))
    with StatusLine("Writing", request.quiet):
        write(result)
    typer.echo(text, nl=False)


@verb(
    requests.TuneRequest,
    epilog="Example: [bold]lapwing tune cells.csv --label type --report r.html[/]",
)
def tune(request: requests.TuneRequest) -> None:
    """Choose the parameters of a method by leaving out each label in turn, and fit with them.

    Otherwise it works like lapwing fit. --set gives the values to try, such as --set
    gamma_Is=0.1,1,10.
    """
    fit_table(request)


@verb(requests.CompareRequest, epilog="Example: [bold]lapwing compare cells.csv --label type[/]")
def compare(request: requests.CompareRequest) -> None:
    """Find the best method for a table, and estimate how many of its answers are wrong.

    Each method is evaluated by its errors on labels that are left out, and by how much its answers
    change with the labels. No model is written; the output ends with the command that fits it.
    """
    table = read_table(request)
    seconds = choosing.warn_if_long(table, request)
    with StatusLine("Comparing methods", request.quiet, seconds):
        compared = choosing.compare_methods(table, request)
    conclude(
        compared,
        workflow.comparison_summary,
        console.describe_comparison,
        workflow.write_comparison,
    )


@verb(
    requests.SuggestRequest,
    epilog="Example: [bold]lapwing suggest cells.csv --label type -k 10 --out next.csv[/]",
)
def suggest(request: requests.SuggestRequest) -> None:
    """Write the most informative rows to label next.

    The table is fitted again, because a model file contains no graph. The rows are chosen jointly
    to reduce the uncertainty of all other rows most. The label column may be empty; without labels
    of two classes, the rows are spread over the table.
    """
    table = read_table(request)
    with choosing.status_of_fit(table, request.decided(numeric=table.numeric)):
        found = fitting.suggest(table, request)
    conclude(
        found, workflow.suggestion_summary, console.describe_suggestion, workflow.write_suggestion
    )


@verb(
    requests.LabelRequest,
    epilog="Examples: [bold]lapwing label cells.csv --label type[/]   "
    "[bold]lapwing label posts.csv --label topic --id post --text body --classes sport,politics[/]",
    without=("as_json",),
)
def label(request: requests.LabelRequest) -> None:
    """Open a page on which you label rows while a model learns from them.

    Nobody else on the network can open the page. Every label is saved immediately, next to the
    table. Press Ctrl-C to end; the same command continues where you stopped.
    """
    table = read_table(request)
    with StatusLine("Making points", request.quiet):
        server = labelling.start(table, request)
    with server:
        # The user needs the address, even with --quiet.
        say(server.url)
        if not request.quiet:
            for line in console.describe_labelling(server.session, request):
                say(line)
        sys.stdout.flush()  # for programs that read the address from a pipe
        if not request.no_browser:
            typer.launch(server.url)
        server.wait()
    if not request.quiet:
        say(console.describe_labels(server.session, request))


@verb(
    requests.PredictRequest,
    epilog="Examples: [bold]lapwing predict m.lapwing new.csv --predictions out.csv[/]   "
    "[bold]cat new.csv | lapwing predict m.lapwing - > out.csv[/]",
)
def predict(request: requests.PredictRequest) -> None:
    """Predict the rows of a table with a model. Without --predictions, print them as CSV."""
    request.check_outputs()
    with StatusLine(f"Reading {request.model}", request.quiet):
        loaded = predicting.load(request.model)
    with StatusLine(f"Predicting {request.source}", request.quiet):
        predicted = predicting.predict(loaded, request)
    if request.predictions is None:
        workflow.write_predicted(predicted)
        return
    conclude(
        predicted,
        workflow.prediction_summary,
        console.describe_predictions,
        workflow.write_predicted,
    )


@verb(requests.ReportRequest, epilog="Example: [bold]lapwing report m.lapwing --out report.html[/]")
def report(request: requests.ReportRequest) -> None:
    """Write the report of a model as one self-contained HTML page."""
    target = request.model.with_suffix(".html") if request.out is None else request.out
    replace(request, out=target).check_outputs()
    figures = predicting.load(request.model).report
    if figures is None:
        raise ValueError(
            f"{request.model} contains no report of this version of lapwing. Fit the model again "
            "with lapwing fit --model."
        )
    Report(figures).save(target)
    if not request.quiet:
        say(f"Report: {target}")


@verb(
    requests.InfoRequest,
    epilog="Example: [bold]lapwing info cells.csv --label type --id cell[/]",
    without=("quiet",),
)
def info(request: requests.InfoRequest) -> None:
    """Show the contents of a table, and the memory and time that a fit will need."""
    with StatusLine(f"Looking at {request.source}"):
        found = inspect(request)
    if request.as_json:
        text = json_text(found)
    else:
        text = console.format_parts(console.describe_info(found))
    typer.echo(text, nl=False)


@verb(requests.DemoRequest)
def demo(request: requests.DemoRequest) -> None:
    """Compare LapSVC with a supervised SVM and LabelSpreading on handwritten digits."""
    request.check_outputs()
    with StatusLine("Fitting three methods"):
        result = run_demo(request.labels_per_class, request.draws, request.seed)
    typer.echo(console.format_parts(console.describe_demo(result)), nl=False)
    try:
        require("matplotlib", extra="plot", purpose="The picture")
    except ImportError as missing:
        # The comparison has been printed; the picture is optional.
        say(f"No picture: {missing}")
        return
    with StatusLine("Drawing the picture"):
        figure = draw_demo(result)
        with atomic_write(request.out) as temporary:
            figure.savefig(temporary, format=request.out.suffix[1:].lower(), dpi=150)
    say(f"Picture: {request.out.resolve()}")
