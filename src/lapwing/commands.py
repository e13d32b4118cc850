"""The verbs of the ``lapwing`` command. Imported by `lapwing.cli` alone, since it needs typer."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import rich
import typer
from rich.console import Console
from rich.table import Table as Grid
from sklearn.callback import ProgressBar

import lapwing
from lapwing import fitting
from lapwing._files import atomic_write, check_writable
from lapwing._optional import require
from lapwing.demo import DemoResult, draw_demo, run_demo
from lapwing.predictions import check_output, write_predictions
from lapwing.tables import FORMATS, read_table

__all__ = ["app", "run"]

app = typer.Typer(
    name="lapwing",
    help="Labels for a table of which only a few rows are labelled.",
    epilog="Exit codes: 0 done, 2 wrong usage or input, 130 interrupted, 1 a defect of lapwing.",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
# typer carries click within itself or beside itself, by version; only this way to the base class of
# wrong usage is public in both.
_UsageError: Any = typer.BadParameter.__bases__[0]


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
        typer.echo(f"lapwing {lapwing.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Say the version."),
    ] = False,
) -> None:
    pass


@app.command(
    epilog="Examples: [bold]lapwing fit cells.csv --label type --predictions out.csv[/]   "
    "[bold]lapwing fit cells.parquet --label type --id cell --drop batch --predictions p.parquet[/]"
)
def fit(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help=f"The table: one of {', '.join(FORMATS)}.")
    ],
    label: Annotated[
        str, typer.Option(help="Column with the labels; where it is blank the row has none.")
    ],
    predictions: Annotated[
        Path,
        typer.Option(help="The file to write, .csv or .parquet: id, label, scores, margin."),
    ],
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id", help="Column that names the rows; without it they are numbered from 1."
        ),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out; may be repeated.")
    ] = None,
    unlabeled: Annotated[
        str | None, typer.Option(help="A value of the label column that means: no label.")
    ] = None,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(fitting.METHODS)}.")] = "lapsvc",
    scale: Annotated[
        str,
        typer.Option(
            help="Standardise the columns: auto (if their scales differ), standard or none."
        ),
    ] = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is random.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")] = False,
) -> None:
    """Learn from the labelled and unlabelled rows of a table, and predict a label for every row."""
    chosen = fitting.find_method(method)
    check_output(predictions)
    if predictions.resolve() == data.resolve():
        raise ValueError(f"--predictions {predictions} is the table itself; name another file.")
    with _stage(f"Reading {data}", quiet):
        table = read_table(
            data,
            label,
            id_column=id_column,
            drop=drop or (),
            unlabeled=unlabeled,
            regression=chosen.regression,
        )
    callbacks = [ProgressBar()] if _shows_progress(quiet) else []
    fitted = fitting.fit(table, method, scale=scale, seed=seed, callbacks=callbacks)
    with _stage(f"Writing {predictions}", quiet):
        write_predictions(fitted.predictions, predictions)
    if not quiet:
        _summarize(fitted, table.feature_names, method, data)
        _say(f"Predictions are in {predictions}")


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="The picture to write (.png, .pdf or .svg).")] = Path(
        "lapwing-demo.png"
    ),
    labels_per_class: Annotated[
        int, typer.Option(min=1, max=100, help="Labels given for each of the ten digits.")
    ] = 3,
    draws: Annotated[
        int, typer.Option(min=1, help="Sets of labelled points that are drawn and averaged.")
    ] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
) -> None:
    """Compare LapSVC with a supervised SVM and LabelSpreading on handwritten digits."""
    if output.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ValueError(f"cannot write {output}: the extension must be .png, .pdf or .svg.")
    check_writable(output)
    with _stage("Fitting three methods", quiet=False):
        result = run_demo(labels_per_class, draws, seed)
    _print_scores(result)
    try:
        require("matplotlib", extra="plot", purpose="The picture")
    except ImportError as missing:
        # The comparison, which is the point of the demonstration, has been given.
        _say(f"No picture: {missing}")
        return
    with _stage("Drawing the picture", quiet=False):
        figure = draw_demo(result)
        with atomic_write(output) as temporary:
            figure.savefig(temporary, format=output.suffix[1:].lower(), dpi=150)
    _say(f"Picture: {output.resolve()}")


def _summarize(fitted: fitting.Fit, feature_names: Sequence[str], method: str, data: Path) -> None:
    rows = fitted.predictions
    name = fitting.METHODS[method].estimator.__name__
    _say(
        f"{name} on {data}: {rows.label.size} rows, {np.count_nonzero(rows.was_labeled)} labelled, "
        f"{len(feature_names)} columns, {fitted.seconds:.1f} s"
    )
    _say(fitted.scaling.reason[0].upper() + fitted.scaling.reason[1:])
    if rows.classes is None or rows.margin is None:
        return
    grid = Grid("class", box=rich.box.SIMPLE_HEAD)
    for heading in ("rows", "share", "median margin"):
        grid.add_column(heading, justify="right")
    for c in rows.classes:
        mine = rows.label == c
        margin = f"{np.median(rows.margin[mine]):.3g}" if mine.any() else "-"
        grid.add_row(str(c), f"{np.count_nonzero(mine)}", f"{np.mean(mine):.1%}", margin)
    _console().print(grid)


def _print_scores(result: DemoResult) -> None:
    n_draws = result.scores[0].errors.size
    grid = Grid(
        title=f"{result.y.size} handwritten digits, {np.count_nonzero(result.labeled)} labelled; "
        f"mean of {n_draws} draws",
        title_justify="left",
        box=rich.box.SIMPLE_HEAD,
    )
    grid.add_column("method")
    grid.add_column("wrong of the unlabelled", justify="right")
    grid.add_column("time", justify="right")
    best = min(score.errors.mean() for score in result.scores)
    for score in result.scores:
        mean, spread = 100 * score.errors.mean(), 100 * score.errors.std()
        style = "bold" if score.errors.mean() == best else None
        time = f"{score.seconds.mean():.2f} s"
        grid.add_row(score.name, f"{mean:.1f} ± {spread:.1f} %", time, style=style)
    _console().print(grid)


def _console() -> Console:
    """Give a console for standard output; a file or pipe gets plain text of a fixed width."""
    return Console(width=None if sys.stdout.isatty() else 100, highlight=False)


def _say(text: str) -> None:
    # Not wrapped at the width of the terminal, so that a path can be copied.
    _console().print(text, markup=False, soft_wrap=True)


def _shows_progress(quiet: bool) -> bool:
    if quiet or not sys.stderr.isatty():
        return False
    # scikit-learn's bar writes to rich's global console; results alone belong on standard output.
    rich.reconfigure(stderr=True)
    return True


@contextmanager
def _stage(name: str, quiet: bool) -> Iterator[None]:
    if not _shows_progress(quiet):
        yield
        return
    with rich.get_console().status(f"{name} ..."):
        yield
