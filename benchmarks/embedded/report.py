"""Tables and expectations of the embedded-regression benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise, product
from pathlib import Path

import numpy as np

from benchmarks.embedded import figures, paper
from benchmarks.embedded.digits import LABELS, N_EV, DigitsResult
from benchmarks.embedded.large import LARGE_N_EV
from benchmarks.embedded.library import SOLVERS
from benchmarks.embedded.outside import OutsideResult
from benchmarks.embedded.results import SetResult
from benchmarks.embedded.scaling import STAGES, Use
from benchmarks.embedded.searches import Search
from benchmarks.embedded.small import SMALL_SETS
from benchmarks.shared.checks import Check
from benchmarks.shared.output import Results
from benchmarks.shared.stats import Stat, with_paper
from benchmarks.shared.tables import Table

# Upper limits, on 2 cores (errors in %).
SMALL_LIMITS = {"laperls": 27.9, "lapesvr": 28.1}
TASK_LIMITS = {
    "mnist1": {"f": 5.4, "g": 4.0},
    "mnist2": {"f": 6.0, "g": 3.5},
    "usps": {"f": 0.41},
}
OUTSIDE_LIMIT = 0.31
DIGIT_LIMITS = {1: 11.0, 5: 4.5}
# Seconds and GB of a fit on two idle cores.
USE_LIMITS = {
    "sheets:200000": (15.0, 3.0),
    "images:200000": (25.0, 3.0),
    "blobs:200000": (45.0, 3.0),
    "pixels:70000": (8.0, 3.0),
    "sheets:1000000": (150.0, 3.0),
    "images:1000000": (240.0, 3.0),
}
EXACT_LIMIT = 0.2  # percentage points above the error with an exact search
AGREEMENT_LIMITS = {"laperls": (1e-3, 0.1), "lapesvr": (0.1, 1.0)}
N_DRAWS, N_LABEL_SETS = 10, 100  # numbers to which the expectations refer

# Reasons for missed expectations, from measurements.
_ONE_DRAW = (
    "one of ten draws has an error of 6.5 %, the others 0.6 to 1.4. Nine tenths of its "
    "misclassified points are images shifted to the right by 3 or 4 pixels, and none of its ten "
    "labelled images has such a shift: theirs are 0, 1, 2 and 6 to 9. A function of ten "
    "eigenvectors that fits the labels at 1 and 2 is wrong in the gap; without one of these two "
    "labels the error is 0.8 or 0.9 %."
)
_DEFAULT_GRAPH = (
    "the defaults were not tuned on this set; the error of g is 5.3 % with them, and 0.65 % with "
    "Table I's graph, 10 eigenvectors and validated weights."
)
_LANDMARKS = (
    "f on 1000 random landmarks approximates g, whose error is 4.3 %, less closely than an "
    "expansion over all 60,000 points; 2000 landmarks give 5.8 %. lapwing's default graph (k = "
    "5, p = 2, 50 eigenvectors) meets the limit."
)
_GRAPH = (
    "the limit is missed with Table I's graph (k = 20, p = 1, 20 eigenvectors) and the paper's "
    "grid; lapwing's default graph meets it without validation."
)
NOTES: dict[str, str] = {
    "extended USPS, LapERLS f, by validation": _ONE_DRAW,
    "extended USPS outside, LapERLS, by validation": _ONE_DRAW,
    "extended USPS, LapERLS f, defaults": _DEFAULT_GRAPH,
    "extended USPS outside, LapERLS, defaults": _DEFAULT_GRAPH,
    "MNIST1, LapERLS f, by validation": _LANDMARKS,
    "MNIST1, LapERLS g, by validation": _GRAPH,
    "MNIST2, LapERLS g, by validation": _GRAPH,
    "MNIST, ten classes, 1 labels per class, prior known": (
        "not explained; the prior reduces the error from 17.7 to 13.7 %, and 100 instead of 50 "
        "eigenvectors make no difference (12.87 and 12.86 % on ten label sets)."
    ),
}

ANSWERS = {"f": "f", "g": "virtual labels g"}
CHOICES = {
    "tuned": "tuned on the test labels",
    "left out": "by leave-one-out",
    "validated": "by validation",
    "default": "defaults",
}


def small_results(results: Sequence[SetResult]) -> Results:
    """Return the results of Table II and Figure 2."""
    curves = any(result.curves for result in results)
    return Results(
        [table2(results)] if results else [],
        [*_small_checks(results), *_agreements(results)],
        {"small": results},
        [partial(figures.draw_small, results)] if curves else [],
    )


def large_results(
    results: Sequence[SetResult],
    outside: OutsideResult | None = None,
    sizes: Mapping[str, list[float]] | None = None,
) -> Results:
    """Return the results of Tables III and IV, and of Figures 3 and 4."""
    tables = [table3(results)] if results else []
    checks = [*_agreements(results), *_large_checks(results)]
    drawings: list[Callable[[Path], Path]] = []
    if any(result.curves for result in results):
        tables.append(figure3(results))
        drawings.append(partial(figures.draw_large, results))
    if outside is not None:
        tables.append(table4(outside))
        for choice in ("validated", "default"):
            what = f"extended USPS outside, LapERLS, {CHOICES[choice]}"
            rates, known = outside.errors[f"laperls {choice}"], paper.OUTSIDE["lapesvr"]
            checks.append(Check.mean_at_most(what, rates, OUTSIDE_LIMIT, N_DRAWS, paper=known))
    if sizes is not None:
        rows = zip(*sizes.values(), strict=True)
        cells = [[f"{n:.0f}", f"{error:.2f}", f"{s:.2f}"] for n, error, s in rows]
        header = ["unlabelled points", "error outside (%)", "seconds of a fit"]
        tables.append(Table("Figure 4: extended USPS, 20 labels", header, cells))
        drawings.append(partial(figures.draw_sizes, sizes))
    return Results(tables, checks, {"large": results, "outside": outside, "sizes": sizes}, drawings)


def digits_results(result: DigitsResult) -> Results:
    """Return the results of MNIST with ten classes."""
    checks = []
    for count in LABELS:
        rates = result.errors[f"{count} {N_EV[0]} g prior"]
        what = f"MNIST, ten classes, {count} labels per class, prior known"
        checks.append(Check.mean_at_most(what, rates, DIGIT_LIMITS[count], N_LABEL_SETS))
    for key, differ in result.same.items():
        labels, _ = key.split()
        what = f"grid against LapERLSClassifier(class_prior=...), {labels} labels per class"
        checks.append(Check.at_most(what, differ, 0.1, " %", 3))
    return Results([digits(result)], checks, {"digits": result})


def moons_results(moons: figures.Planes) -> Results:
    """Return the results of Figure 1."""
    planes = [[plane.title, f"{plane.error:.1f}"] for plane in moons.planes]
    table = Table("Figure 1: two moons, LapESVC", ["setting", "error (%)"], planes)
    return Results([table], raw={}, drawings=[partial(figures.draw_planes, moons)])


def _name(key: str) -> str:
    parts = key.split(" ", 2)
    if len(parts) == 1:
        return paper.TITLES[key]
    method, answer, choice = parts
    return f"{paper.TITLES[method]}, {ANSWERS[answer]}, {CHOICES[choice]}"


def _paper_row(known: Mapping[str, Mapping[str, Stat]], key: str) -> Mapping[str, Stat]:
    """Return the paper's results for f tuned as in the paper, and none otherwise."""
    method, *rest = key.split(" ", 2)
    return known.get(method, {}) if not rest or rest in (["f", "tuned"], ["f", "validated"]) else {}


def _error_rows(
    results: Sequence[SetResult], known: Mapping[str, Mapping[str, Stat]], keys: Iterable[str]
) -> Iterator[tuple[str, list[str]]]:
    """Iterate over the keys of errors with their rows, ours with those of the paper in brackets."""
    for key in keys:
        printed = _paper_row(known, key)
        cells = [with_paper(result.stat(key), printed.get(result.name)) for result in results]
        yield key, [_name(key), *cells]


def _settings(results: Sequence[SetResult], what: str) -> str:
    shown = (
        f"{result.title} {key} {tuning.show()}"
        for result in results
        for key, tuning in result.chosen.items()
    )
    return f"{what}: " + "; ".join(shown)


def table2(results: Sequence[SetResult]) -> Table:
    """Return the table of errors on the six sets, and their mean."""
    ours = dict.fromkeys(key for result in results for key in result.errors)
    printed_only = [name for name in paper.SMALL if name not in (*ours, *SOLVERS)]
    rows = [
        [*row, _mean_cell(results, key, _paper_row(paper.SMALL, key))]
        for key, row in _error_rows(results, paper.SMALL, [*ours, *printed_only])
    ]
    splits = len(next(iter(results[0].errors.values())))
    notes = [
        f"Error (%) on the unlabelled points, mean (standard deviation) over {splits} splits with "
        "10 labels; the paper's results in brackets. Leave-one-out selects one of the same 147 "
        "settings for each split, by LapERLS. lapwing's defaults were chosen on these and other "
        "sets.",
        _settings(results, "Tuned settings"),
    ]
    return Table("Table II", ["Method", *(r.title for r in results), "mean"], rows, notes)


def _mean_cell(results: Sequence[SetResult], key: str, known: Mapping[str, Stat]) -> str:
    ours = [result.stat(key) for result in results]
    left = f"{np.mean([s.mean for s in ours if s]):.2f}" if all(ours) else "-"
    printed = [known[result.name].mean for result in results if result.name in known]
    return left + (f" [{np.mean(printed):.2f}]" if printed else "")


def table3(results: Sequence[SetResult]) -> Table:
    """Return the table of errors on the large sets."""
    ours = dict.fromkeys(key for result in results for key in result.errors)
    printed_only = [key for key in ("anchor5000", "plapsvm") if key not in ours]
    rows = [row for _, row in _error_rows(results, paper.LARGE, [*ours, *printed_only])]
    counts = [len(rates) for rates in results[0].errors.values()]
    notes = [
        "Error (%) on the unlabelled points, mean (standard deviation) over "
        f"{max(counts)} draws of ten labels per class (baselines: {min(counts)}); the paper's "
        "results in brackets.",
        _settings(results, "Settings"),
    ]
    return Table("Table III", ["Method", *(r.title for r in results)], rows, notes)


def figure3(results: Sequence[SetResult]) -> Table:
    """Return the table of errors and seconds by number of eigenvectors."""
    rows = [
        [result.title, name, *(f"{value:.2f}" for value in row)]
        for result in results
        for name, row in result.curves.items()
    ]
    return Table(
        "Figure 3: errors (%) and seconds of a fit", ["Set", "curve", *map(str, LARGE_N_EV)], rows
    )


def table4(result: OutsideResult) -> Table:
    """Return the table of errors and times outside the sample."""
    rows = []
    for name, rates in result.errors.items():
        method, _, choice = name.partition(" ")
        printed = "" if choice == "default" else method
        seconds = f"{result.seconds[name]:.1e}"
        if printed in paper.OUTSIDE_SECONDS:
            seconds += f" [{paper.OUTSIDE_SECONDS[printed]:.1e}]"
        title = paper.TITLES[method] + (f", {CHOICES[choice]}" if choice else "")
        errors = with_paper(Stat.of(rates), paper.OUTSIDE.get(printed))
        rows.append([title, str(len(rates)), errors, seconds])
    note = (
        f"Extended USPS, {result.n_points} points outside the sample; the paper's results in "
        "brackets."
    )
    header = ["Method", "models", "error (%)", "seconds per point"]
    return Table("Table IV", header, rows, [note])


def digits(result: DigitsResult) -> Table:
    """Return the table for ten classes with known class volumes."""
    rows = [
        [str(count), str(n_ev), answer, str(len(rates)), Stat.of(rates).show()]
        for key, rates in result.errors.items()
        for count, n_ev, answer in [key.split(" ", 2)]
    ]
    note = (
        "Default parameters. 'prior': class offsets are set so that the predicted class sizes are "
        "the true ones."
    )
    header = ["labels per class", "eigenvectors", "function", "label sets", "error (%)"]
    return Table(f"MNIST, {result.n_points} points, ten classes", header, rows, [note])


def scaling_results(uses: Sequence[Use]) -> Results:
    """Return the results of the scaling.

    The table has times by stage, with the lower limit if there is one, and memory.
    """
    columns: dict[str, Callable[[Use], str]] = {
        "points": lambda use: use.points,
        **{f"{name} (s)": partial(_stage_seconds, name) for name in STAGES},
        "fit (s)": lambda use: f"{use.total:.1f}",
        "graph / search": lambda use: _ratio(use, "graph", "search"),
        "features / products": lambda use: _ratio(use, "features", "products"),
        "peak (GB)": lambda use: f"{use.peak_bytes / 1e9:.2f}",
        "recall": lambda use: f"{use.recall:.3f}",
        "error g (%)": lambda use: f"{use.errors['g']:.2f}",
        "error f (%)": lambda use: f"{use.errors['f']:.2f}",
        "load": lambda use: f"{use.load:.0f}",
    }
    note = (
        "LapERLSClassifier() with ten labels per class, each fit in a separate process, 64 "
        "features (pixels: 784). Sheets have three dimensions, images are shifted and rotated "
        "MNIST digits, and blobs have full dimension. 'search' is the time of a faiss search in "
        "filled lists of codes at the same recall, and 'products' that of the matrix products of "
        "the Gram sums. Load: average number of processes running on the two cores."
    )
    table = Table.of("Scaling", uses, columns, [note])
    return Results([table], _use_checks(uses), {"scaling": uses})


def _stage_seconds(stage: str, use: Use) -> str:
    return f"{use.seconds[stage]:.1f}"


def _ratio(use: Use, stage: str, limit: str) -> str:
    return f"{use.seconds[stage] / use.limits[limit]:.1f}" if limit in use.limits else "-"


def searches_results(found: Sequence[tuple[str, Search]]) -> Results:
    """Return the results of the searches, each with the name of its points."""
    header = ["points", "search", "read", "recall", "build (s)", "search (s)", "total (s)"]
    rows = [
        [
            *(points, one.name, one.setting, f"{one.recall:.3f}"),
            *(f"{seconds:.1f}" for seconds in (one.build, one.search, one.total)),
            f"{one.peak_bytes / 1e9:.2f}",
        ]
        for points, one in found
    ]
    note = (
        "Five neighbours of every point, with a recall of 0.95; all by faiss, each in a separate "
        "process."
    )
    table = Table("Searches for neighbours", [*header, "peak (GB)"], rows, [note])
    return Results([table], raw={"searches": found})


def _large_checks(results: Sequence[SetResult]) -> list[Check]:
    """Check f and g with the graph of Table I and validated parameters, and with defaults."""
    checks = []
    for result, answer, choice in product(results, "fg", ("validated", "default")):
        limit = TASK_LIMITS.get(result.name, {}).get(answer)
        rates = result.errors.get(f"laperls {answer} {choice}")
        if limit is not None and rates:
            what = f"{result.title}, LapERLS {answer}, {CHOICES[choice]}"
            known = paper.LARGE["lapesvr"][result.name] if answer == "f" else None
            checks.append(Check.mean_at_most(what, rates, limit, N_DRAWS, paper=known))
    return checks


def _small_checks(results: Sequence[SetResult]) -> list[Check]:
    if {result.name for result in results} != set(SMALL_SETS):
        return []
    checks = []
    for method, limit in SMALL_LIMITS.items():
        ours = float(np.mean([np.mean(r.errors[f"{method} f tuned"]) for r in results]))
        printed = float(np.mean([stat.mean for stat in paper.SMALL[method].values()]))
        what = f"Table II, mean of six sets, {paper.TITLES[method]}"
        checks.append(Check.at_most(what, ours, limit, " %", 1, paper=round(printed, 2)))
    return checks


def _agreements(results: Sequence[SetResult]) -> list[Check]:
    checks = []
    for result, method in ((r, m) for r in results for m in r.agreement):
        agreement, (difference, signs) = result.agreement[method], AGREEMENT_LIMITS[method]
        checks.append(
            Check(
                f"grid against the library, {result.title}, {paper.TITLES[method]}",
                agreement.show(),
                f"{difference:g} or {signs:g} %",
                agreement.difference <= difference or agreement.signs <= signs,
                note="largest difference relative to the root mean square; points of another class",
            )
        )
    return checks


def _use_checks(uses: Sequence[Use]) -> list[Check]:
    checks, known = [], {use.points: use for use in uses}
    for use in uses:
        if use.points in USE_LIMITS:
            seconds, gigabytes = USE_LIMITS[use.points]
            what, note = f"fit, {use.points}", f"load {use.load:.0f}"
            checks.append(Check.at_most(what, use.total, seconds, " s", 0, note=note))
            what = f"memory of a fit, {use.points}"
            checks.append(Check.at_most(what, use.peak_bytes / 1e9, gigabytes, " GB", 1))
        exact = known.get(f"{use.points}:exact")
        if exact is not None:
            more = max(use.errors[name] - exact.errors[name] for name in use.errors)
            what = f"error above that of an exact search, {use.points}"
            checks.append(Check.at_most(what, more, EXACT_LIMIT, " points"))
    for kind in dict.fromkeys(use.points.split(":")[0] for use in uses):
        sized = [use for use in uses if use.points.split(":") == [kind, str(use.n_points)]]
        for small, large in pairwise(sized):
            n, m = small.n_points, large.n_points
            limit = round(m * np.log(m) / (n * np.log(n)), 1)
            what, ratio = f"time from {n} to {m} {kind}", large.total / small.total
            checks.append(Check.at_most(what, ratio, limit, " x", 1, note="n log n"))
    return checks
