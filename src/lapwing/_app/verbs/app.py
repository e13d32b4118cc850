"""The ``lapwing`` command, to which each verb adds itself."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from lapwing._version import __version__

app = typer.Typer(
    name="lapwing",
    help="Label a table in which only a few rows have a label.",
    epilog="Exit codes: 0 done, 2 wrong usage or input, 130 interrupted, 1 a defect of lapwing.",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
# typer carries click within itself or beside itself, by version; only this way to the base class of
# wrong usage is public in both.
UsageError: Any = typer.BadParameter.__bases__[0]


class Command(TyperCommand):
    """A verb that refuses an option given twice where one value counts; click takes the last."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, found = self.make_parser(ctx).parse_args(args=list(args))
        given: list[Any] = [option for option in found if option.nargs == 1]
        for option, count in Counter(given).items():
            if count > 1 and not (option.multiple or option.is_flag):
                raise UsageError(f"{option.opts[0]} is given {count} times; give it once.")
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
    except UsageError as error:
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
