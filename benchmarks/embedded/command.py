"""The experiments of the embedded-regression paper (Section V), and its scaling.

Prints Tables II to IV with the paper's figures in brackets, MNIST with ten classes, time and peak
memory against the number of points, and whether expectations are met; writes the same as Markdown,
all measurements as JSON, and Figures 1 to 4 as PNG. Missing data sets are skipped, and the run
reports how to get them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from benchmarks.embedded import figures, paper
from benchmarks.embedded.baselines import ANCHORS, choose_anchors, run_baselines
from benchmarks.embedded.digits import prepare_digits, read_all_label_sets, run_digits
from benchmarks.embedded.grid import DEFAULTS
from benchmarks.embedded.large import (
    N_LANDMARKS,
    SOURCES,
    add_curves,
    default_recipe,
    draw_rows,
    paper_recipe,
    run_task,
)
from benchmarks.embedded.outside import run_outside, run_sizes
from benchmarks.embedded.prepared import prepare
from benchmarks.embedded.report import (
    NOTES,
    digits_results,
    large_results,
    moons_results,
    scaling_results,
    searches_results,
    small_results,
)
from benchmarks.embedded.results import SetResult
from benchmarks.embedded.scaling import POINT_SETS, measure_fit
from benchmarks.embedded.searches import SEARCH_POINTS, SEARCHES, measure_search
from benchmarks.embedded.small import SMALL_SETS, run_set
from benchmarks.shared.data import SETS
from benchmarks.shared.guide import Datasets
from benchmarks.shared.measuring import run_alone
from benchmarks.shared.options import add_number, add_run_options
from benchmarks.shared.output import Results, join, say, step

QUICK_SPLITS, QUICK_SETS = 2, ("usps",)
DIGITS = ("images", "pixels")  # kinds of points generated from MNIST


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks embedded``."""
    add_run_options(
        parser, f"two moons, and {QUICK_SPLITS} splits of {' and '.join(QUICK_SETS)} of Table II"
    )
    parser.add_argument(
        "--tables",
        nargs="+",
        choices=SECTIONS,
        help="parts to run: Table II, Tables III and IV, MNIST of ten classes, Figure 1, scaling, "
        "comparison of neighbour searches (default: all)",
    )
    parser.add_argument(
        "--sources",
        nargs="+",
        choices=sorted(SOURCES),
        default=list(SOURCES),
        help="sets of Table III (default: all; Table IV is for usps)",
    )
    add_number(parser, "--draws", 10, "draws of labels in Table III")
    add_number(parser, "--baseline-draws", 2, "draws of labels for the baselines")
    parser.add_argument(
        "--anchors", nargs="+", type=int, default=ANCHORS, help="numbers of anchors in Table III"
    )
    add_number(parser, "--landmarks", N_LANDMARKS, "number of landmarks for Tables III and IV")
    add_number(parser, "--label-sets", 100, "number of label sets of MNIST with ten classes")
    parser.add_argument(
        "--points",
        nargs="+",
        default=POINT_SETS,
        help="points of the scaling table: KIND:NUMBER, with kinds sheets, images, blobs, pixels; "
        ":exact at the end requests an exact neighbour search",
    )
    parser.add_argument(
        "--search-points",
        nargs="+",
        default=SEARCH_POINTS,
        help="points of the searches: KIND:NUMBER",
    )


def run(arguments: argparse.Namespace) -> Results | int:
    """Run the benchmark; return 1 if nothing could be run."""
    sections = arguments.tables or (["small", "moons"] if arguments.quick else [*SECTIONS])
    if arguments.quick:
        say(f"quick: {QUICK_SPLITS} splits are too few to judge errors by; see that all runs")
    datasets = Datasets()
    parts = [SECTIONS[section](arguments, datasets) for section in sections]
    datasets.report_missing()
    raw = {name: value for part in parts for name, value in part.raw.items()}
    name = "embedded" if len(sections) > 1 else f"embedded_{sections[0]}"
    return join(parts, raw=raw, notes=NOTES, name=name)


def small_section(arguments: argparse.Namespace, datasets: Datasets) -> Results:
    """Run Table II and Figure 2."""
    results = []
    n_splits = QUICK_SPLITS if arguments.quick else None
    curves = not (arguments.quick or arguments.no_figures)
    names = QUICK_SETS if arguments.quick else SMALL_SETS
    for name, data in datasets.available({name: SETS[name] for name in names}):
        with step(f"Table II: {SMALL_SETS[name].title}"):
            results.append(run_set(SMALL_SETS[name], data, n_splits, curves=curves))
    return small_results(results)


def large_section(arguments: argparse.Namespace, datasets: Datasets) -> Results:
    """Run Tables III and IV, and Figures 3 and 4."""
    found: list[SetResult] = []
    outside, sizes = None, None
    curves = not arguments.no_figures
    for name, data in datasets.available({name: SOURCES[name].load for name in arguments.sources}):
        source = SOURCES[name]
        draws = [draw_rows(data.y, arguments.seed, number) for number in range(arguments.draws)]
        with step(f"{name}: graph, eigenpairs, landmarks of {len(data.y)} points"):
            recipe = paper_recipe(source, data.X, curves=curves, n_landmarks=arguments.landmarks)
            points = prepare(data, recipe, draws)
        with step(f"{name}: the same for the defaults"):
            preset = prepare(data, default_recipe(data.X), draws)
        with step(f"{name}: anchors"):
            anchors = choose_anchors(data.X, arguments.anchors)
        for task in source.tasks:
            y, first = task.targets(data.y), task is source.tasks[0]
            with step(f"{task.title}: LapERLS and LapESVR"):
                result, fits = run_task(source, task, points, checked=first)
            if curves:
                with step(f"{task.title}: against the number of eigenvectors"):
                    add_curves(result, task, points, timed=first)
            with step(f"{task.title}: baselines"):
                rates, models = run_baselines(points, y, arguments.baseline_draws, anchors)
            result.errors.update(rates | preset.default_errors("laperls", y))
            found.append(result)
        if name == "usps":
            with step("Table IV"):
                evaluated = {f"{method} validated": (points, fit) for method, fit in fits.items()}
                default = preset.fit("laperls", y, [DEFAULTS], preset.recipe.n_ev)
                evaluated["laperls default"] = preset, default
                outside = run_outside(
                    evaluated, {m: models[m] for m in models if m in paper.OUTSIDE}
                )
            if curves:
                with step("Figure 4"):
                    sizes = run_sizes(points, result.chosen["laperls f"], source.n_ev, 2)
    return large_results(found, outside, sizes)


def digits_section(arguments: argparse.Namespace, datasets: Datasets) -> Results:
    """Run MNIST with ten classes."""
    data = datasets.load("MNIST, ten classes", SETS["mnist"])
    if data is None:
        return Results([], raw={})
    label_sets = datasets.load("MNIST, ten classes", partial(read_all_label_sets, data.y))
    if label_sets is None:
        return Results([], raw={})
    with step("MNIST, ten classes: graph, eigenpairs, landmarks"):
        points = prepare_digits(data)
    with step("MNIST, ten classes"):
        return digits_results(run_digits(points, label_sets, arguments.label_sets))


def moons_section(arguments: argparse.Namespace, datasets: Datasets) -> Results:
    """Run Figure 1."""
    with step("Figure 1"):
        return moons_results(figures.run_planes(seed=arguments.seed))


def scaling_section(arguments: argparse.Namespace, datasets: Datasets) -> Results:
    """Measure time and memory, each in a separate process."""
    uses = []
    for points in arguments.points:
        if _available(points, datasets):
            with step(f"scaling, {points}"):
                uses.append(run_alone(measure_fit, points))
    return scaling_results(uses)


def searches_section(arguments: argparse.Namespace, datasets: Datasets) -> Results:
    """Measure searches for neighbours, each in a separate process."""
    found = []
    for points in arguments.search_points:
        for name in SEARCHES if _available(points, datasets) else ():
            with step(f"search, {points}, {name}"):
                found.append((points, run_alone(measure_search, points, name)))
    return searches_results(found)


def _available(points: str, datasets: Datasets) -> bool:
    """Return whether the data of points are available to the process that measures."""
    kind = points.split(":")[0]
    return kind not in DIGITS or datasets.load(f"points of kind {kind}", SETS["mnist"]) is not None


SECTIONS: dict[str, Callable[[argparse.Namespace, Datasets], Results]] = {
    "small": small_section,
    "large": large_section,
    "digits": digits_section,
    "moons": moons_section,
    "scaling": scaling_section,
    "searches": searches_section,
}
