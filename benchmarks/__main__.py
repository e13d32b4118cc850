"""Benchmarks of lapwing: tables and figures of its source papers, comparisons with other libraries,
choice of a method with few labels, the labelling page, and reading large tables. `all` runs all of
them, `pages` writes docs/measured from the results.

Every command lists its options with --help. If data of the papers are missing, a benchmark reports
which and how to get them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.shared.archives import DataError
from benchmarks.shared.guide import how_to_get_all
from benchmarks.shared.output import Results, publish, say

# A new benchmark is a folder with a module `command`, which has ``add_arguments(parser)`` and
# ``run(arguments)``; the latter returns the results to write, or an exit status if there are none.
BENCHMARKS = tuple(sorted(path.parent.name for path in Path(__file__).parent.glob("*/command.py")))


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, run the benchmark, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=how_to_get_all(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="benchmark", metavar="NAME")
    given = sys.argv[1:] if argv is None else argv
    # Usually one benchmark is run, and importing the others takes seconds.
    for name in [name for name in given[:1] if name in BENCHMARKS] or BENCHMARKS:
        module = import_module(f"benchmarks.{name}.command")
        summary = str(module.__doc__).partition("\n")[0]
        command = commands.add_parser(name, help=summary, description=module.__doc__)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    arguments = parser.parse_args(argv)
    if arguments.benchmark is None:
        parser.print_help(sys.stderr)
        return 2
    run: Callable[[argparse.Namespace], Results | int] = arguments.run
    try:
        results = run(arguments)
        return results if isinstance(results, int) else publish(results, arguments)
    except DataError as error:
        say(str(error))
        return 1


if __name__ == "__main__":
    sys.exit(main())
