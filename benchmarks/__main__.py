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
from benchmarks.shared.output import Results, publish, say


class Benchmark(NamedTuple):
    """Command, whose module has ``add_arguments(parser)`` and ``run(arguments)``.

    The latter returns the results to write, or an exit status if there are none.
    """

    module: str
    help: str


# A new benchmark is one file and one entry here.
BENCHMARKS: dict[str, Benchmark] = {
    "all": Benchmark(
        "benchmarks.everything.command", "All benchmarks, in pieces; a stopped run is continued"
    ),
    "calibration": Benchmark(
        "benchmarks.calibration.command", "Probabilities with few labels: calibration, sure rows"
    ),
    "choosing": Benchmark(
        "benchmarks.choosing.command", "Few labels: selection and error estimates of `compare`"
    ),
    "cluster": Benchmark(
        "benchmarks.cluster.command", "Dask: time, memory and traffic on two worker processes"
    ),
    "convert": Benchmark(
        "benchmarks.convert.command", "Convert the papers' public files to archives"
    ),
    "disk": Benchmark(
        "benchmarks.disk.command", "Points on disk: time and peak memory under a limit"
    ),
    "embedded": Benchmark(
        "benchmarks.embedded.command", "Embedded-regression paper: Tables II to IV"
    ),
    "finish": Benchmark("benchmarks.finish.command", "Labelling page: when it recommends to stop"),
    "labelling": Benchmark("benchmarks.labelling.command", "Further labels: suggested rows"),
    "lapsvm": Benchmark(
        "benchmarks.lapsvm.command", "LapSVM paper: Tables 3 to 7, Figures 3 to 14"
    ),
    "page": Benchmark(
        "benchmarks.page.command", "Labelling page: time to new colours, labels needed"
    ),
    "pages": Benchmark("benchmarks.pages.command", "Write docs/measured from the stored results"),
    "peers": Benchmark(
        "benchmarks.peers.command", "Comparison with scikit-learn and GraphLearning"
    ),
    "reading": Benchmark(
        "benchmarks.reading.command", "Reading a table of 200,000 rows: time and peak memory"
    ),
    "refits": Benchmark(
        "benchmarks.refits.command", "Time of fits, and of repeated fits to the same points"
    ),
    "regression": Benchmark(
        "benchmarks.regression.command", "Regression with few targets: errors and times"
    ),
    "s3vm": Benchmark(
        "benchmarks.s3vm.command", "Continuation and QN-S3VM papers: tables and figures"
    ),
    "text": Benchmark("benchmarks.text.command", "Texts with few labels: errors and times"),
    "tuning": Benchmark(
        "benchmarks.tuning.command", "Selection of parameters by leave-one-out: cost and errors"
    ),
    "volumes": Benchmark(
        "benchmarks.volumes.command", "Few labels per class: class volumes, refined partitions"
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
    run: Callable[[argparse.Namespace], Results | int] = arguments.run
    try:
        results = run(arguments)
        return results if isinstance(results, int) else publish(results, arguments)
    except DataError as error:
        say(str(error))
        return 1


if __name__ == "__main__":
    sys.exit(main())
