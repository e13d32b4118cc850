"""Experiments of the continuation paper and of the QN-S3VM paper (references of `S3VC`).

Prints their tables, and their figures as tables, our results with those of the paper in brackets,
and whether expectations are met; writes the same as Markdown, all measurements as JSON, and the
figures as PNG. Missing data sets are skipped, and the run reports how to get them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from benchmarks.s3vm.classes import classes_part
from benchmarks.s3vm.few_labels import few_labels_part
from benchmarks.s3vm.landmarks import landmarks_part
from benchmarks.s3vm.limits import NOTES
from benchmarks.s3vm.many_classes import many_classes_part
from benchmarks.s3vm.plan import Plan, UnavailableError
from benchmarks.s3vm.qn_curves import amounts_part, moons_part
from benchmarks.s3vm.qn_table import table_part
from benchmarks.s3vm.shares import shares_part
from benchmarks.s3vm.times import scaling_part, speed_part, times_part
from benchmarks.s3vm.transduction import hybrid_part, methods_part, weights_part, widths_part
from benchmarks.shared.options import add_choice, add_run_options
from benchmarks.shared.output import Results, join, say


class Section(NamedTuple):
    """Section for ``--tables``."""

    run: Callable[[Plan], Results]
    what: str


SECTIONS: dict[str, Section] = {
    "methods": Section(methods_part, "continuation paper, Table 1 and Figure 3"),
    "weights": Section(weights_part, "its Tables 2 and 3"),
    "classes": Section(classes_part, "its Table 4"),
    "widths": Section(widths_part, "its Figure 5"),
    "hybrid": Section(hybrid_part, "its Figure 6"),
    "landmarks": Section(landmarks_part, "its Figure 7"),
    "selection": Section(table_part, "QN-S3VM paper, Table 1"),
    "moons": Section(moons_part, "its Figure 4"),
    "amounts": Section(amounts_part, "its Figure 5"),
    "times": Section(times_part, "its Figure 6"),
    "scaling": Section(scaling_part, "its Figure 7"),
    "few": Section(
        few_labels_part, "one and ten labels per class on Text, 30 draws (not in a paper)"
    ),
    "shares": Section(shares_part, "equal numbers of labels, classes of 80:20 (not in a paper)"),
    "many": Section(many_classes_part, "times with 10, 20 and 60 classes (not in a paper)"),
    "speed": Section(speed_part, "expected times of single fits and evaluations"),
}
DATA_NAMES = (
    "uspst", "coil20", "text", "usps", "mnist", "gaussian2c", "gaussian4c", "moons", "sparse",
    "topics", "small", "ssl_usps",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks s3vm``."""
    add_run_options(parser, "a little of everything, within a minute")
    sections = "; ".join(f"{name}: {section.what}" for name, section in SECTIONS.items())
    parser.add_argument(
        "--tables",
        nargs="+",
        choices=list(SECTIONS),
        metavar="TABLE",
        help=f"parts to run (default: all). {sections}",
    )
    add_choice(parser, "--sets", DATA_NAMES, "data")
    parser.add_argument(
        "--splits",
        type=int,
        default=None,
        help="maximum number of splits, partitions or draws (default: 10, as in the papers)",
    )


def run(arguments: argparse.Namespace) -> Results | int:
    """Run the benchmark; return 1 if there was nothing to measure."""
    sets = None if arguments.sets is None else frozenset(arguments.sets)
    plan = Plan(arguments.quick, sets, arguments.splits, arguments.seed)
    if plan.quick:
        say("quick: too little to judge errors by; see that all runs")
    parts = {}
    for name in arguments.tables or SECTIONS:
        with suppress(UnavailableError):
            parts[name] = SECTIONS[name].run(plan)
    plan.datasets.report_missing()
    raw = {"parts": {name: part.raw for name, part in parts.items()}}
    return join(list(parts.values()), raw=raw, notes=NOTES)
