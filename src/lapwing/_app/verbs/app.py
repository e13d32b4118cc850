"""The ``lapwing`` command, to which each verb adds itself by `verb`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, Field, fields
from inspect import Parameter, Signature
from typing import Annotated, Any, TypeVar, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from lapwing._app.options import PANELS, TableRequest, flag_of, option_of
from lapwing._version import __version__

R = TypeVar("R", bound=TableRequest)

app = typer.Typer(
    name="lapwing",
    help="Label a table in which only a few rows have a label.",
    epilog="Exit codes: 0 done, 2 wrong usage or input, 130 interrupted, 1 a defect of lapwing.",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
# Some versions of typer contain click and others import it; this is the only public way to the base
# class of usage errors in both.
UsageError: Any = typer.BadParameter.__bases__[0]


class Command(TyperCommand):
    """Command that refuses a repeated option of a single value, of which click takes the last."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, found = self.make_parser(ctx).parse_args(args=list(args))
        given: list[Any] = [option for option in found if option.nargs == 1]
        for option, count in Counter(given).items():
            if count > 1 and not (option.multiple or option.is_flag):
                raise UsageError(f"{option.opts[0]} is given {count} times; give it once.")
        return super().parse_args(ctx, args)


def verb(
    request: type[R], *, epilog: str, without: Collection[str] = ()
) -> Callable[[Callable[[R], None]], Callable[[R], None]]:
    """Register a function of a request as a verb of the same name.

    Parameters
    ----------
    request : type
        Its fields are the options (`lapwing._app.options.option`).
    epilog : str
        Examples at the end of the help.
    without : collection of str
        Fields that this verb does not offer.
    """
    hints = get_type_hints(request)
    shown = [one for one in fields(request) if one.name not in without]
    # Arguments first, DATA after MODEL; then by panel, because typer shows panels in the order of
    # their options.
    shown.sort(key=_place)
    signature = Signature([_parameter(one, hints[one.name]) for one in shown])

    def register(function: Callable[[R], None]) -> Callable[[R], None]:
        def command(**options: Any) -> None:
            function(request.read(options))

        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__signature__ = signature  # type: ignore[attr-defined]
        app.command(cls=Command, epilog=epilog)(command)
        return function

    return register


def _place(one: Field[Any]) -> tuple[bool, bool, int, bool]:
    how = option_of(one)
    return not how.argument, one.name == "data", PANELS.index(how.panel), not how.leads


def _parameter(one: Field[Any], hint: Any) -> Parameter:
    """Declare a field to typer: tuples as lists, and empty defaults as None."""
    how = option_of(one)
    least, most = how.limits
    if how.argument:
        declared = typer.Argument(metavar=how.metavar, help=how.help)
    else:
        declared = typer.Option(
            *filter(None, (flag_of(one), how.short)),
            help=how.help,
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
        code = app(args=arguments, prog_name="lapwing", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except UsageError as error:
        raise ValueError(f"{error.format_message()} (see lapwing --help)") from None
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
