"""Few labels per class: errors of methods with fixed class volumes, and of refined partitions.

Compares all methods of `BalancedGraphClassifier`, `LapSVC` and `LapERLSClassifier`, each also with
refinement, a supervised SVM and LabelSpreading, with the true class prior, without a prior, and
with a wrong prior. The graphs of a set are built once, and are not part of the times. Results are
stored in the output folder, so that a stopped run can be continued. Expectations are checked if
there are enough draws.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from benchmarks.shared.checks import Check
from benchmarks.shared.guide import Datasets
from benchmarks.shared.measuring import run_alone
from benchmarks.shared.options import add_choice, add_number, add_output_options
from benchmarks.shared.output import Results, step
from benchmarks.shared.stats import Stat
from benchmarks.shared.tables import Table
from benchmarks.volumes.contenders import METHODS
from benchmarks.volumes.problems import PRIORS, SOURCES, UNSEEN
from benchmarks.volumes.records import Record, gather
from benchmarks.volumes.scaling import run_here, scaling_table

_ENOUGH = 20  # draws
_REFERENCE = "poisson"
_SAFE = ("laplace", "poisson", "mbo")
_UNEQUAL = ("poisson", "SVM")  # for classes of very different sizes
_MARGIN = 2.0  # percentage points by which the flow may be worse than the best of these
_QUICK = ("uspst", "digit1")

Cell = tuple[str, int, str, str]  # set, labels per class, method, prior


# Upper limits of mean errors (%).
EXPECTED: Mapping[Cell, float] = {
    ("mnist", 1, "flow", "known"): 2.6,
    ("mnist", 1, "flow", "unknown"): 2.7,
    ("mnist", 5, "flow", "known"): 2.6,
    ("mnist", 5, "flow", "unknown"): 2.9,
    (UNSEEN, 1, "flow", "known"): 3.2,
    ("usps_full", 1, "flow", "known"): 5.0,
    ("usps_full", 1, "flow", "unknown"): 5.4,
    ("mnist", 1, "LapERLS + refine", "known"): 5.5,
    ("mnist", 5, "LapERLS + refine", "known"): 3.0,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks volumes``."""
    add_output_options(parser, "two sets, one draw, 400 points")
    add_choice(parser, "--sets", SOURCES, "data")
    add_number(parser, "--draws", 20, "draws of labels")
    parser.add_argument(
        "--labels",
        type=int,
        nargs="+",
        help="numbers of labels per class, among those of each set (default: all)",
    )
    add_choice(parser, "--methods", METHODS, "methods, refined and not")
    add_choice(parser, "--priors", PRIORS, "class priors that the methods get")
    parser.add_argument("--size", type=int, help="maximum number of points of a set (default: all)")
    parser.add_argument(
        "--scaling",
        nargs="+",
        metavar="POINTS:CLASSES",
        help="measure only time and memory of the flow on synthetic points",
    )


def run(arguments: argparse.Namespace) -> Results | int:
    """Run the benchmark; return 1 if there was nothing to measure."""
    if arguments.scaling:
        return _scaled(arguments.scaling)
    quick = arguments.quick
    n_draws, size = (1, 400) if quick else (arguments.draws, arguments.size)
    measure = partial(
        gather,
        folder=arguments.output / "volumes",
        n_draws=n_draws,
        most=size,
        methods=arguments.methods or METHODS,
        priors=arguments.priors or PRIORS,
    )
    wanted = {}
    for source in arguments.sets or (_QUICK if quick else SOURCES):
        known = SOURCES[source].per_class
        labels = tuple(each for each in known if each in (arguments.labels or known))
        if labels:
            wanted[source] = partial(measure, source, labels)
    datasets = Datasets()
    records = [record for _, found in datasets.available(wanted) for record in found]
    datasets.report_missing()
    if not records:
        return 1
    tables = [errors(records, prior) for prior in PRIORS]
    tables.append(compare_flow(records))
    if any(record.method == "SVM" for record in records):
        tables.append(compare_flow(records, _UNEQUAL))
    checks = [] if size is not None else expectations(records)  # of whole sets only
    raw = {"draws": n_draws, "size": size, "records": records}
    return Results(tables, checks, raw)


def _scaled(sizes: Iterable[str]) -> Results:
    found = []
    for points in sizes:
        with step(f"{points} points and classes"):
            found.append(run_alone(run_here, points))
    return Results([scaling_table(found)], raw={"runs": found}, name="volumes-scaling")


def errors(records: Sequence[Record], prior: str) -> Table:
    """Return the table of the errors of all methods with one kind of prior."""
    some = [record for record in records if record.prior == prior]
    rows = []
    for source, per_class in _cells(some):
        here = [r for r in some if (r.task.source, r.task.per_class) == (source, per_class)]
        reference = {r.task.draw: r.error for r in here if r.method == _REFERENCE}
        for method in dict.fromkeys(record.method for record in here):
            mine = [record for record in here if record.method == method]
            found = np.array([record.error for record in mine])
            paired = [r for r in mine if r.task.draw in reference]
            wins = sum(r.error < reference[r.task.draw] for r in paired)
            rows.append(
                [
                    f"{source}, {per_class}",
                    method,
                    Stat.of(found).show(),
                    f"{np.median(found):.2f}",
                    f"{wins}/{len(paired)}",
                    f"{np.median([record.seconds for record in mine]):.2f}",
                ]
            )
    header = ["set, labels per class", "method", "mean (std)", "median", "wins", "s"]
    note = (
        f"Wins are draws with a smaller error than {_REFERENCE}; s: median seconds, without the "
        "graph and other parts that do not depend on labels."
    )
    return Table(f"Errors (%), class prior {prior}", header, rows, [note])


def compare_flow(records: Sequence[Record], others: Sequence[str] = _SAFE) -> Table:
    """Compare the flow without a prior to the best of other methods, by set and on average."""
    rows, pairs, enough, found = [], [], True, _errors_by_cell(records)
    for source, per_class in _cells(records):
        cells = {method: (source, per_class, method, "unknown") for method in (*others, "flow")}
        known = {name: float(np.mean(found[cell])) for name, cell in cells.items() if cell in found}
        if "flow" not in known or len(known) < 2:
            continue
        flow = known.pop("flow")
        best = min(known, key=lambda name: known[name])
        n = len(found[cells["flow"]])
        verdict = "pass" if flow - known[best] <= _MARGIN else "MISS"
        judged = verdict if n >= _ENOUGH else f"too few draws ({n} of {_ENOUGH})"
        rows.append([f"{source}, {per_class}", *_compared(flow, best, known[best]), judged])
        pairs.append((flow, known[best]))
        enough &= n >= _ENOUGH
    if len(rows) > 1:
        ours, theirs = (float(np.mean(column)) for column in zip(*pairs, strict=True))
        verdict = "pass" if ours <= theirs else "MISS"
        whole = [f"mean of {len(rows)}", *_compared(ours, "best of each", theirs)]
        rows.append([*whole, verdict if enough else "too few draws"])
    header = ["set, labels per class", "flow", "best of the others", "difference", "result"]
    title = (
        f"Without prior: flow at most {_MARGIN:g} percentage points worse than the best of "
        f"{', '.join(others)}"
    )
    return Table(title, header, rows, ["On average the flow is expected to be no worse."])


def _compared(flow: float, name: str, other: float) -> list[str]:
    return [f"{flow:.2f}", f"{name} {other:.2f}", f"{flow - other:+.2f}"]


def expectations(records: Sequence[Record]) -> list[Check]:
    """Return the checks of mean errors."""
    found = _errors_by_cell(records)
    return [
        Check.mean_at_most(
            f"{source}, {per_class} per class, {method}, prior {prior}",
            found[source, per_class, method, prior],
            limit,
            _ENOUGH,
        )
        for (source, per_class, method, prior), limit in EXPECTED.items()
        if (source, per_class, method, prior) in found
    ]


def _cells(records: Iterable[Record]) -> list[tuple[str, int]]:
    return list(dict.fromkeys((r.task.source, r.task.per_class) for r in records))


def _errors_by_cell(records: Iterable[Record]) -> dict[Cell, list[float]]:
    found: dict[Cell, list[float]] = {}
    for r in records:
        found.setdefault((r.task.source, r.task.per_class, r.method, r.prior), []).append(r.error)
    return found
