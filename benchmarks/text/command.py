"""Classification of texts with few labels: errors and times of common methods.

`documents` are the docstrings of NumPy, SciPy and scikit-learn, with their subpackages as classes:
they need no download, and change with the versions of these packages. `mixed` is a table of their
first words and synthetic columns: a category, a number and a date, with missing values. The other
sets are word counts. All methods get the same documents and labels. A fit that takes longer than
--limit is stopped, and its method is skipped for the other draws of the same number of labels.
Results are stored in the output folder; with --resume a stopped run is continued.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from functools import partial

from benchmarks.shared.known import (
    Answer,
    Outcome,
    Problem,
    compare_methods,
    error_table,
    installed,
    mean_errors,
    timed,
)
from benchmarks.shared.labels import UNLABELED, Codes, error_rate, with_labels
from benchmarks.shared.options import add_choice, add_number, add_resume, add_run_options
from benchmarks.shared.output import Results, say
from benchmarks.shared.tables import Table
from benchmarks.text.contenders import COMPONENTS, Contender, Documents
from benchmarks.text.sources import SOURCES

LABELS_PER_CLASS = (1, 3, 10)
DRAWS, QUICK_DRAWS = 10, 1
MOST, QUICK_MOST = 2500, 600
QUICK_SETS = ("documents", "pcmac")
LIMIT, QUICK_LIMIT = 60.0, 3.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks text``."""
    add_run_options(
        parser,
        f"one draw of {QUICK_MOST} documents of {' and '.join(QUICK_SETS)}, "
        f"fits of {QUICK_LIMIT:g} seconds",
    )
    add_choice(parser, "--sets", SOURCES, "sets")
    names = dict.fromkeys(name for source in SOURCES.values() for name in source.contenders)
    add_choice(parser, "--methods", names, "methods")
    parser.add_argument(
        "--labels",
        nargs="+",
        type=int,
        default=LABELS_PER_CLASS,
        metavar="N",
        help=f"labels per class (default: {' '.join(map(str, LABELS_PER_CLASS))})",
    )
    add_number(parser, "--draws", DRAWS, "draws of labels")
    add_number(parser, "--most", MOST, "maximum number of documents")
    add_number(parser, "--limit", LIMIT, "time limit of a fit in seconds")
    add_resume(parser)


def run(arguments: argparse.Namespace) -> Results | int:
    """Run the benchmark; return 1 if there was nothing to measure."""
    asked = (arguments.draws, arguments.most, arguments.limit)
    n_draws, most, limit = (QUICK_DRAWS, QUICK_MOST, QUICK_LIMIT) if arguments.quick else asked
    draws = [(labels, draw) for labels in arguments.labels for draw in range(n_draws)]
    sets = arguments.sets or (QUICK_SETS if arguments.quick else SOURCES)
    problems = {name: partial(problem_of, name, most, limit, arguments.methods) for name in sets}
    path = arguments.output / "text" / f"{most} {arguments.seed}.jsonl"
    found = compare_methods(problems, draws, path, arguments, limit)
    if not found:
        return 1
    sets = list(dict.fromkeys(answer.set for answer in found))
    tables = [*(table_of(name, found) for name in sets), best(found)]
    return Results(tables, raw={"limit": limit, "answers": found})


def problem_of(name: str, most: int, limit: float, methods: Iterable[str] | None) -> Problem:
    """Load a set, with the methods that are installed."""
    X, truth = SOURCES[name].load(most)
    say(f"{name}: {X.shape[0]} documents, {X.shape[1]} columns, {truth.max() + 1} classes")
    measure = partial(measured, Documents(X), truth, limit)
    contenders = SOURCES[name].contenders
    wanted = {key: one for key, one in contenders.items() if methods is None or key in methods}
    return Problem(installed(wanted), partial(with_labels, truth), measure)


def measured(
    documents: Documents, truth: Codes, limit: float, contender: Contender, y: Codes
) -> Outcome:
    """Compute the error in % on the unlabelled rows and the time, or the reason of a failure."""
    X, before = documents.encoded(contender.view)
    free = y == UNLABELED
    found = timed(
        lambda: contender.answer(X, y), lambda codes: error_rate(truth[free], codes[free]), limit
    )
    return found._replace(seconds=before + found.seconds)


def table_of(name: str, found: Sequence[Answer]) -> Table:
    """Return the table of errors on a set by labels per class, and of times."""
    mine = [answer for answer in found if answer.set == name]
    note = "Error (%) on the unlabelled rows, with equal numbers of labels per class."
    if any(answer.method.startswith("SVD") for answer in mine):
        note += f" SVD: reduction to {COMPONENTS} components, included in the seconds."
    return error_table(f"{name}: errors by labels per class", mine, "per class", 1, note)


def best(found: Sequence[Answer]) -> Table:
    """Return the table of the most accurate method on each set."""
    counts = sorted({answer.known for answer in found})
    rows = []
    for name in dict.fromkeys(answer.set for answer in found):
        cells = []
        for known in counts:
            means = mean_errors(a for a in found if (a.set, a.known) == (name, known))
            least = min(means, key=means.__getitem__, default="")
            cells.append(f"{least} {means[least]:.1f}" if least else "-")
        rows.append([name, *cells])
    header = ["set", *(f"{known} per class" for known in counts)]
    return Table(
        "Most accurate methods, errors (%)",
        header,
        rows,
        ["Only methods that succeeded on every draw."],
    )
