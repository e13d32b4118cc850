"""The ``lapwing`` command: entry point and handling of errors.

The verbs are in `lapwing._app.verbs`, which imports typer and is therefore itself imported late.

Exit codes: 0 done; 1 a defect of lapwing, or an output pipe that was closed; 2 wrong usage or wrong
input, reported on the standard error stream in one line, and a line for each command to choose
from; 130 interrupted, by Ctrl-C or SIGTERM.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lapwing._host.modules import require
from lapwing._host.terminal import current_line, harmless

_DEFECT, _WRONG, _INTERRUPTED = 1, 2, 130
_DEBUG_VARIABLE = "LAPWING_DEBUG"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, default=None
        The arguments; None means those of the process.

    Returns
    -------
    int
        0, 1, 2 or 130; see the module's docstring.
    """
    _replace_closed_streams()
    with warnings.catch_warnings(), _sigterm_as_interrupt():
        _route_warnings()
        try:
            for module in ("typer", "rich"):
                require(module, extra="cli", purpose="the lapwing command")
            from lapwing._app.verbs import run

            code = run(argv)
            # Writing buffered output can fail here, which is better than at interpreter exit.
            sys.stdout.flush()
            return code
        except KeyboardInterrupt:
            return _fail("interrupted", _INTERRUPTED)
        except BrokenPipeError:
            # The reader (`| head`) has closed the pipe: no message can be shown, and the flush at
            # interpreter exit must not raise either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _DEFECT
        except (ValueError, MemoryError, ImportError, OSError) as error:
            return _fail(_describe(error), _WRONG)
        except Exception as error:
            if os.environ.get(_DEBUG_VARIABLE):
                raise
            return _fail(
                f"unexpected {type(error).__name__}: {_describe(error)}. This is a defect of "
                f"lapwing: please report it with what {_DEBUG_VARIABLE}=1 shows.",
                _DEFECT,
            )


def _replace_closed_streams() -> None:
    """Replace closed streams, which are None in Python, by the null device."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            null = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the process ends
            setattr(sys, name, null)


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, so that locks and incomplete files are removed."""
    if threading.current_thread() is not threading.main_thread():  # only it may handle signals
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


def _fail(message: str, code: int) -> int:
    _print_line("error", message)
    return code


def _describe(error: Exception) -> str:
    """Return a readable message of an error."""
    if isinstance(error, OSError) and error.strerror:
        if error.errno == errno.ENOSPC and not error.filename:
            return f"the output could not be written: {error.strerror}. Free some space."
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError) and not str(error):
        return "not enough memory"
    return str(error)


def _print_line(kind: str, message: str) -> None:
    current_line().erase()
    # Commands have lines of their own; other line ends are those of names and of libraries.
    lines = re.sub(r"\s*\n\s*(?![^\n]*run: lapwing )", " ", message).split("\n")
    # Messages quote contents of files, and a terminal would interpret escape sequences.
    print(f"{kind}: " + "\n  ".join(map(harmless, lines)), file=sys.stderr)


def _route_warnings() -> None:
    """Show warnings as one line each on stderr; must run inside ``catch_warnings``."""
    warnings.simplefilter("always")
    # Warnings for developers of dependencies do not help users of the command.
    for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning):
        warnings.simplefilter("ignore", category)
    warnings.simplefilter("ignore", ResourceWarning)

    shown = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = str(message)
        # Python suppresses repeated warnings per line of code, here they are compared by text.
        if text not in shown:
            shown.add(text)
            _print_line("warning", text)

    warnings.showwarning = show
