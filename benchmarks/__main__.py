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
from typing import NamedTuple

from benchmarks.shared.archives import DataError
from benchmarks.shared.guide import how_to_get_all
from benchmarks.shared.output import say


class Benchmark(NamedTuple):
    """Command, whose module has ``add_arguments(parser)`` and ``run(arguments) -> int``."""

    module: str
    help: str


# A new benchmark is one file and one entry here.
BENCHMARKS: dict[str, Benchmark] = {
    "all": Benchmark(
        "benchmarks.everything.command", "All of these, in pieces; a run that was stopped goes on"
    ),
    "calibration": Benchmark(
        "benchmarks.calibration.command", "Probabilities with few labels: calibration, sure rows"
    ),
    "choosing": Benchmark(
        "benchmarks.choosing.command", "Few labels: what `compare` chooses and estimates"
    ),
    "cluster": Benchmark(
        "benchmarks.cluster.command", "Dask: time, memory and traffic on two worker processes"
    ),
    "convert": Benchmark(
        "benchmarks.convert.command", "Turn the papers' public files into the archives read here"
    ),
    "disk": Benchmark(
        "benchmarks.disk.command", "Points on disk: time and peak under a limit of memory"
    ),
    "embedded": Benchmark(
        "benchmarks.embedded.command", "Embedded-regression paper: Tables II to IV"
    ),
    "finish": Benchmark(
        "benchmarks.finish.command", "The page to label on: when it says that one can stop"
    ),
    "labelling": Benchmark(
        "benchmarks.labelling.command", "Labels that come later: suggested rows, time of an update"
    ),
    "lapsvm": Benchmark(
        "benchmarks.lapsvm.command", "LapSVM paper: Tables 3 to 7, Figures 3 to 14"
    ),
    "page": Benchmark(
        "benchmarks.page.command", "The page to label on: time to new colours, labels needed"
    ),
    "pages": Benchmark(
        "benchmarks.pages.command", "Make docs/measured from the results that are kept there"
    ),
    "peers": Benchmark("benchmarks.peers.command", "lapwing beside scikit-learn and GraphLearning"),
    "reading": Benchmark(
        "benchmarks.reading.command", "Reading a table of 200,000 rows: time and peak memory"
    ),
    "refits": Benchmark(
        "benchmarks.refits.command", "Time of fits, and of what fits the same points again"
    ),
    "regression": Benchmark(
        "benchmarks.regression.command", "Numbers to predict with few targets: errors and seconds"
    ),
    "s3vm": Benchmark(
        "benchmarks.s3vm.command", "Continuation and QN-S3VM papers: their tables and figures"
    ),
    "text": Benchmark("benchmarks.text.command", "Texts with few labels: errors and seconds"),
    "tuning": Benchmark(
        "benchmarks.tuning.command", "Parameters chosen by leave-one-out: cost and errors"
    ),
    "volumes": Benchmark(
        "benchmarks.volumes.command", "One label a class: class volumes, refined answers"
    ),
}


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
    wanted = {name: BENCHMARKS[name] for name in given[:1] if name in BENCHMARKS} or BENCHMARKS
    for name, benchmark in wanted.items():
        module = import_module(benchmark.module)
        command = commands.add_parser(name, help=benchmark.help, description=module.__doc__)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    arguments = parser.parse_args(argv)
    if arguments.benchmark is None:
        parser.print_help(sys.stderr)
        return 2
    run: Callable[[argparse.Namespace], int] = arguments.run
    try:
        return run(arguments)
    except DataError as error:
        say(str(error))
        return 1


if __name__ == "__main__":
    sys.exit(main())
