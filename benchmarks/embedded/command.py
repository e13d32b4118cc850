"""The experiments of the embedded-regression paper (Section V), and its scaling.

Prints Tables II to IV with the paper's figures in brackets, MNIST with ten classes, time and peak
memory against the number of points, and whether expectations are met; writes the same as Markdown,
all measurements as JSON, and Figures 1 to 4 as PNG. Missing data sets are skipped, and the run
reports how to get them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.embedded import figures
from benchmarks.embedded.baselines import ANCHORS, choose_anchors, run_baselines
from benchmarks.embedded.digits import prepare_digits, read_all_label_sets, run_digits
from benchmarks.embedded.large import (
    N_LANDMARKS,
    SOURCES,
    LargeResult,
    Source,
    add_curves,
    add_defaults,
    default_recipe,
    draw_rows,
    paper_recipe,
    run_task,
)
from benchmarks.embedded.outside import run_outside, run_sizes
from benchmarks.embedded.prepared import Prepared, prepare
from benchmarks.embedded.report import Run, all_tables, check_all
from benchmarks.embedded.scaling import POINT_SETS, measure_scaling
from benchmarks.embedded.searches import SEARCH_POINTS, SEARCHES, measure_search
from benchmarks.embedded.small import SMALL_SETS, run_set
from benchmarks.shared.data import load_mnist, load_ssl
from benchmarks.shared.guide import Datasets
from benchmarks.shared.options import add_run_options
from benchmarks.shared.output import say, step, write_results

QUICK_SPLITS, QUICK_SETS = 2, ("usps",)
SECTIONS = ("small", "large", "digits", "moons", "scaling", "searches")
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
    parser.add_argument("--draws", type=int, default=10, help="draws of labels in Table III")
    parser.add_argument(
        "--baseline-draws", type=int, default=2, help="draws of labels for the baselines"
    )
    parser.add_argument(
        "--anchors", nargs="+", type=int, default=ANCHORS, help="numbers of anchors in Table III"
    )
    parser.add_argument(
        "--landmarks",
        type=int,
        default=N_LANDMARKS,
        help="number of landmarks for Tables III and IV (default: 1000)",
    )
    parser.add_argument(
        "--label-sets", type=int, default=100, help="number of label sets of MNIST with ten classes"
    )
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


def run(arguments: argparse.Namespace) -> int:
    """Run the benchmark and return the exit status, 1 if nothing could be run."""
    folder: Path = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    sections = arguments.tables or (("small", "moons") if arguments.quick else SECTIONS)
    if arguments.quick:
        say(f"quick: {QUICK_SPLITS} splits are too few to judge errors by; see that all runs")
    found, datasets = Run(), Datasets()
    for section in sections:
        _RUN[section](found, arguments, datasets)
    datasets.report_missing()
    if found == Run():
        return 1
    raw = {
        "small": [asdict(result) for result in found.small],
        "large": [
            {
                "task": result.task.name,
                "errors": result.errors,
                "chosen": result.chosen,
                "curves": result.curves,
                "agreement": result.agreement,
            }
            for result in found.large
        ],
        "outside": None if found.outside is None else asdict(found.outside),
        "sizes": found.sizes,
        "digits": None if found.digits is None else asdict(found.digits),
        "scaling": [asdict(use) for use in found.uses],
        "searches": [{"points": points, **asdict(one)} for points, one in found.searches],
        "checks": [asdict(check) for check in check_all(found)],
    }
    name = "embedded" if len(sections) > 1 else f"embedded_{sections[0]}"
    write_results(folder, name, all_tables(found), raw)
    if not arguments.no_figures:
        draw_figures(found, folder)
    return 0


def small_section(found: Run, arguments: argparse.Namespace, datasets: Datasets) -> None:
    """Run Table II and Figure 2."""
    for name in QUICK_SETS if arguments.quick else SMALL_SETS:
        data = datasets.load(SMALL_SETS[name].title, partial(load_ssl, name))
        if data is None:
            continue
        with step(f"Table II: {SMALL_SETS[name].title}"):
            n_splits = QUICK_SPLITS if arguments.quick else None
            curves = not (arguments.quick or arguments.no_figures)
            found.small.append(run_set(SMALL_SETS[name], data, n_splits, curves=curves))


def large_section(found: Run, arguments: argparse.Namespace, datasets: Datasets) -> None:
    """Run Tables III and IV, and Figures 3 and 4."""
    for name in arguments.sources:
        source = SOURCES[name]
        data = datasets.load(", ".join(task.title for task in source.tasks), source.load)
        if data is None:
            continue
        draws = [draw_rows(data.y, arguments.seed, number) for number in range(arguments.draws)]
        curves = not arguments.no_figures
        with step(f"{name}: graph, eigenpairs, landmarks of {len(data.y)} points"):
            recipe = paper_recipe(source, data.X, curves=curves, n_landmarks=arguments.landmarks)
            points = prepare(data, recipe, draws)
        results, models = _tasks(source, points, arguments)
        with step(f"{name}: defaults"):
            preset = prepare(data, default_recipe(data.X), draws)
            for result in results:
                add_defaults(result, preset)
        found.large += results
        if name == "usps":
            _outside(found, points, preset, models, source, curves=curves)


def _tasks(
    source: Source, points: Prepared, arguments: argparse.Namespace
) -> tuple[list[LargeResult], dict[str, Any]]:
    results: list[LargeResult] = []
    models: dict[str, Any] = {}
    with step(f"{source.name}: anchors"):
        anchors = choose_anchors(points.data.X, arguments.anchors)
    for task in source.tasks:
        with step(f"{task.title}: LapERLS and LapESVR"):
            result = run_task(source, task, points, checked=task is source.tasks[0])
        if not arguments.no_figures:
            with step(f"{task.title}: against the number of eigenvectors"):
                add_curves(result, points, timed=task is source.tasks[0])
        with step(f"{task.title}: baselines"):
            y = task.targets(points.data.y)
            rates, models = run_baselines(points, y, arguments.baseline_draws, anchors)
            result.errors.update(rates)
        results.append(result)
    return results, models


def _outside(
    found: Run,
    points: Prepared,
    preset: Prepared,
    models: dict[str, Any],
    source: Source,
    *,
    curves: bool,
) -> None:
    result = found.large[-1]
    fits = {
        name: (preset if name.endswith("default") else points, fit)
        for name, fit in result.fits.items()
    }
    models = {
        name: models[name] for name in models if name not in ("laprls_linear", "eigenfunction")
    }
    with step("Table IV"):
        found.outside = run_outside(points, fits, models)
    if curves:
        with step("Figure 4"):
            found.sizes = run_sizes(points, result.chosen["laperls f"], source.n_ev, 2)


def digits_section(found: Run, arguments: argparse.Namespace, datasets: Datasets) -> None:
    """Run MNIST with ten classes."""
    data = datasets.load("MNIST, ten classes", load_mnist)
    if data is None:
        return
    label_sets = datasets.load("MNIST, ten classes", partial(read_all_label_sets, data.y))
    if label_sets is None:
        return
    with step("MNIST, ten classes: graph, eigenpairs, landmarks"):
        points = prepare_digits(data)
    with step("MNIST, ten classes"):
        found.digits = run_digits(points, label_sets, arguments.label_sets)


def moons_section(found: Run, arguments: argparse.Namespace, datasets: Datasets) -> None:
    """Run Figure 1."""
    with step("Figure 1"):
        found.moons = figures.run_planes(seed=arguments.seed)


def scaling_section(found: Run, arguments: argparse.Namespace, datasets: Datasets) -> None:
    """Measure time and memory, each in a separate process."""
    for points in arguments.points:
        if _available(points, datasets):
            with step(f"scaling, {points}"):
                found.uses.append(measure_scaling(points))


def searches_section(found: Run, arguments: argparse.Namespace, datasets: Datasets) -> None:
    """Measure searches for neighbours, each in a separate process."""
    for points in arguments.search_points:
        for name in SEARCHES if _available(points, datasets) else ():
            with step(f"search, {points}, {name}"):
                found.searches.append((points, measure_search(points, name)))


def _available(points: str, datasets: Datasets) -> bool:
    """Return whether the data of points are available to the process that measures."""
    kind = points.split(":")[0]
    return kind not in DIGITS or datasets.load(f"points of kind {kind}", load_mnist) is not None


_RUN: dict[str, Callable[[Run, argparse.Namespace, Datasets], None]] = {
    "small": small_section,
    "large": large_section,
    "digits": digits_section,
    "moons": moons_section,
    "scaling": scaling_section,
    "searches": searches_section,
}


def draw_figures(found: Run, folder: Path) -> None:
    """Draw the figures of the sections that ran."""
    drawn = []
    if found.moons is not None:
        drawn.append(figures.draw_planes(found.moons, folder))
    if any(result.curves for result in found.small):
        drawn.append(figures.draw_small(found.small, folder))
    if any(result.curves for result in found.large):
        drawn.append(figures.draw_large(found.large, folder))
    if found.sizes is not None:
        drawn.append(figures.draw_sizes(found.sizes, folder))
    say("drawn: " + ", ".join(path.name for path in drawn))
