"""Few labels per class: errors of methods with fixed class volumes, and of refined partitions.

Compares all methods of `BalancedGraphClassifier`, `LapSVC` and `LapERLSClassifier`, each also with
refinement, a supervised SVM and LabelSpreading, with the true class prior, without a prior, and
with a wrong prior. The graphs of a set are built once, and are not part of the times. Results are
stored in the output folder, so that a stopped run can be continued. Expectations are checked if
there are enough draws.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import numpy as np

from benchmarks.shared.archives import DataError
from benchmarks.shared.options import add_choice, add_output_options
from benchmarks.shared.output import say, step, write_results
from benchmarks.shared.stats import Stat
from benchmarks.shared.tables import Table
from benchmarks.volumes.contenders import METHODS
from benchmarks.volumes.problems import PRIORS, SOURCES, UNSEEN
from benchmarks.volumes.records import Record, gather
from benchmarks.volumes.scaling import measure_scaling, scaling_table

_ENOUGH = 20  # draws
_REFERENCE = "poisson"
_SAFE = ("laplace", "poisson", "mbo")
_UNEQUAL = ("poisson", "SVM")  # for classes of very different sizes
_MARGIN = 2.0  # percentage points by which the flow may be worse than the best of these
_QUICK = ("uspst", "digit1")


@dataclass(frozen=True)
class Expected:
    """Upper limits of the error and the time of a method."""

    source: str
    per_class: int
    method: str
    prior: str
    limit: float
    seconds: float | None = None


EXPECTED = (
    Expected("mnist", 1, "flow", "known", 3.0),
    Expected("mnist", 1, "flow", "unknown", 3.6),
    Expected("mnist", 5, "flow", "known", 2.6),
    Expected("mnist", 5, "flow", "unknown", 2.9),
    Expected(UNSEEN, 1, "flow", "known", 3.2),
    Expected("usps_full", 1, "flow", "known", 5.0),
    Expected("usps_full", 1, "flow", "unknown", 5.4),
    Expected("mnist", 1, "LapERLS + refine", "known", 5.5),
    Expected("mnist", 5, "LapERLS + refine", "known", 3.0),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks volumes``."""
    add_output_options(parser, "two sets, two draws, 600 points")
    add_choice(parser, "--sets", SOURCES, "data")
    parser.add_argument("--draws", type=int, default=20, help="draws of labels (default: 20)")
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


def run(arguments: argparse.Namespace) -> int:
    """Run the benchmark and return the exit status, 1 if there was nothing to measure."""
    if arguments.scaling:
        return _scaled(arguments)
    began, load = datetime.now(UTC).isoformat(timespec="seconds"), os.getloadavg()[0]
    kept = arguments.output / "volumes"
    kept.mkdir(parents=True, exist_ok=True)
    quick = arguments.quick
    n_draws, size = (2, 600) if quick else (arguments.draws, arguments.size)
    chosen = {"methods": arguments.methods or METHODS, "priors": arguments.priors or PRIORS}
    records: list[Record] = []
    for source in arguments.sets or (_QUICK if quick else SOURCES):
        labels = SOURCES[source].per_class
        if arguments.labels:
            labels = tuple(each for each in labels if each in arguments.labels)
        if not labels:
            continue
        try:
            records += gather(source, labels, kept, n_draws=n_draws, most=size, **chosen)
        except DataError as error:
            say(f"{source} is left out. {error}")
    if not records:
        return 1
    whole = size is None
    tables = [errors(records, prior) for prior in PRIORS]
    tables.append(compare_flow(records))
    if any(record.method == "SVM" for record in records):
        tables.append(compare_flow(records, _UNEQUAL))
    tables.append(expectations(records if whole else []))
    raw = {
        "date": began,
        "load": load,
        "draws": n_draws,
        "size": size,
        "records": [asdict(record) for record in records],
    }
    write_results(arguments.output, "volumes", tables, raw)
    return 0


def _scaled(arguments: argparse.Namespace) -> int:
    found = []
    for points in arguments.scaling:
        with step(f"{points} points and classes"):
            found.append(measure_scaling(points))
    raw = {"runs": [asdict(each) for each in found]}
    write_results(arguments.output, "volumes-scaling", [scaling_table(found)], raw)
    return 0


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
    rows, pairs, enough = [], [], True
    for source, per_class in _cells(records):
        mean = {
            method: _mean(records, source, per_class, method, "unknown")
            for method in (*others, "flow")
        }
        known = {method: value for method, value in mean.items() if value is not None}
        if "flow" not in known or len(known) < 2:
            continue
        flow = known.pop("flow")
        best = min(known, key=lambda name: known[name])
        verdict = "pass" if flow - known[best] <= _MARGIN else "MISS"
        judged = _judged(records, source, per_class, "flow", "unknown", verdict)
        rows.append([f"{source}, {per_class}", *_compared(flow, best, known[best]), judged])
        pairs.append((flow, known[best]))
        enough &= judged == verdict
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


def expectations(records: Sequence[Record]) -> Table:
    """Return the table of expectations, and whether they are met."""
    rows = []
    for each in EXPECTED:
        mean = _mean(records, each.source, each.per_class, each.method, each.prior)
        if mean is None:
            continue
        verdict = "pass" if mean <= each.limit else "MISS"
        key = (each.source, each.per_class, each.method, each.prior)
        rows.append(
            [
                f"{each.source}, {each.per_class} per class, {each.method}, prior {each.prior}",
                f"{mean:.2f}",
                f"{each.limit:g}",
                _judged(records, *key, verdict),
            ]
        )
    notes = ["Checked on whole sets only."]
    return Table("Expected errors (%)", ["quantity", "measured", "limit", "result"], rows, notes)


def _judged(
    records: Iterable[Record], source: str, per_class: int, method: str, prior: str, verdict: str
) -> str:
    n = len(_errors(records, source, per_class, method, prior))
    return verdict if n >= _ENOUGH else f"too few draws ({n} of {_ENOUGH})"


def _cells(records: Iterable[Record]) -> list[tuple[str, int]]:
    return list(dict.fromkeys((r.task.source, r.task.per_class) for r in records))


def _errors(
    records: Iterable[Record], source: str, per_class: int, method: str, prior: str
) -> list[float]:
    wanted = (source, per_class, method, prior)
    return [
        r.error for r in records if (r.task.source, r.task.per_class, r.method, r.prior) == wanted
    ]


def _mean(
    records: Iterable[Record], source: str, per_class: int, method: str, prior: str
) -> float | None:
    found = _errors(records, source, per_class, method, prior)
    return float(np.mean(found)) if found else None
