"""Common options of the benchmarks of the papers."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from benchmarks.shared.output import RESULTS


def add_output_options(parser: argparse.ArgumentParser, quick: str) -> None:
    """Add ``--quick`` and ``--output``, which every benchmark has."""
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument(
        "--output",
        type=Path,
        default=RESULTS,
        metavar="DIR",
        help="folder for tables, JSON and figures (default: benchmarks/results)",
    )


def add_run_options(parser: argparse.ArgumentParser, quick: str) -> None:
    """Add ``--quick``, ``--output``, ``--seed`` and ``--no-figures``."""
    add_output_options(parser, quick)
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    parser.add_argument("--no-figures", action="store_true", help="write tables only")


def add_number(parser: argparse.ArgumentParser, option: str, default: float, what: str) -> None:
    """Add an option for a number of the type of its default."""
    help = f"{what} (default: {default:g})"
    parser.add_argument(option, type=type(default), default=default, help=help)


def add_resume(parser: argparse.ArgumentParser) -> None:
    """Add ``--resume``."""
    parser.add_argument("--resume", action="store_true", help="continue a stopped run")


def add_choice(
    parser: argparse.ArgumentParser, option: str, names: Iterable[str], what: str
) -> None:
    """Add an option for some of the names; None, the default, is all of them."""
    known = list(names)
    parser.add_argument(
        option,
        nargs="+",
        choices=known,
        metavar="NAME",
        help=f"{what}: {', '.join(known)} (default: all)",
    )
