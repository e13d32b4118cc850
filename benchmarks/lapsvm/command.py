"""Experiments of the LapSVM paper (Section 6), with its protocol and parameters.

Prints Tables 2 to 7, our results with those of the paper in brackets, and whether expectations are
met; writes the same as Markdown, all measurements as JSON, and Figures 3 to 14 as PNG. Missing data
sets are skipped, and the run reports how to get them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.lapsvm import figures
from benchmarks.lapsvm.descents import Descent, descend, mean_descent
from benchmarks.lapsvm.drawings import drawings_table, errors_by_drawing
from benchmarks.lapsvm.limits import NOTES, check_all, reference_times
from benchmarks.lapsvm.memory import fit_facemit
from benchmarks.lapsvm.methods import METHODS, SplitRun, run_method
from benchmarks.lapsvm.moons import run_moons
from benchmarks.lapsvm.paper import WEIGHTS, NormWeights
from benchmarks.lapsvm.problems import PROBLEMS, Problem
from benchmarks.lapsvm.protocol import Split
from benchmarks.lapsvm.report import SetResult, all_tables
from benchmarks.lapsvm.setting import Setting, prepare_setting
from benchmarks.lapsvm.spread import exact_errors, spread_table
from benchmarks.shared.data import Data
from benchmarks.shared.files import Lines, plain
from benchmarks.shared.guide import Datasets
from benchmarks.shared.kernels import gaussian
from benchmarks.shared.measuring import run_alone
from benchmarks.shared.options import add_choice, add_resume, add_run_options
from benchmarks.shared.output import Results, say, step
from benchmarks.shared.stats import Stat, gathered

QUICK_SPLITS, QUICK_SETS = 2, ("g50c", "coil20b")
# Sets that take minutes: part of a quick run only if given by name.
LARGE_SETS = frozenset({"mnist3vs8", "facemit"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks lapsvm``."""
    add_run_options(parser, f"{QUICK_SPLITS} splits of {' and '.join(QUICK_SETS)}")
    add_choice(parser, "--sets", PROBLEMS, "sets")
    parser.add_argument(
        "--splits",
        type=int,
        default=3,
        help="subdivisions of sets with an official test part (default: the paper's 3)",
    )
    add_resume(parser)
    parser.add_argument(
        "--drawings",
        action="store_true",
        help="repeat COIL20 with other ways to draw labels, too",
    )
    parser.add_argument(
        "--spread",
        type=int,
        default=0,
        metavar="SEEDS",
        help="repeat the exact solution of the small sets with this number of seeds, too",
    )


def run(arguments: argparse.Namespace) -> Results | int:
    """Run the benchmark; return 1 if no data set is available."""
    names = arguments.sets or (QUICK_SETS if arguments.quick else PROBLEMS)
    results: list[SetResult] = []
    descents: dict[str, Descent] = {}
    means: dict[str, list[float]] = {}
    drawings: dict[str, list[float]] = {}
    n_splits = QUICK_SPLITS if arguments.quick else None
    if arguments.quick:
        say(f"quick: {QUICK_SPLITS} splits are too few to judge errors by; see that all runs")
    datasets = Datasets()
    warm_up()
    for name, data in datasets.available({name: PROBLEMS[name].load for name in names}):
        problem = PROBLEMS[name]
        splits = problem.splits(data, arguments.seed, arguments.splits)[:n_splits]
        path = arguments.output / "lapsvm" / f"{name} {arguments.seed}.jsonl"
        lines = Lines(path, resume=arguments.resume)
        result, descent = run_problem(
            problem, data, splits, lines, figures_wanted=not arguments.no_figures
        )
        results.append(result)
        if descent is not None:
            descents[name] = descent
        if name not in LARGE_SETS and arguments.spread:
            means[name] = over_seeds(problem, data, arguments.spread)
        if name == "coil20" and arguments.drawings:
            with step("COIL20: other drawings of labels"):
                drawings = errors_by_drawing(problem, data)
    datasets.report_missing()
    if not results:
        return 1
    memory = None
    if any(result.problem.name == "facemit" for result in results):
        with step("FACEMIT: peak memory in a process of its own"):
            memory = run_alone(fit_facemit)
    tables = all_tables(results)
    if means:
        tables.append(spread_table(means, {name: PROBLEMS[name].title for name in means}))
    if drawings:
        tables.append(drawings_table(drawings))
    raw = {
        "sets": {result.problem.name: result.as_json() for result in results},
        "memory": memory,
        "spread": means,
        "drawings": drawings,
    }
    checks = check_all(results, memory)
    return Results(tables, checks, raw, figures_of(results, descents), NOTES)


def run_problem(
    problem: Problem,
    data: Data,
    splits: Sequence[Split],
    lines: Lines,
    *,
    figures_wanted: bool,
) -> tuple[SetResult, Descent | None]:
    """Run all methods on splits of a problem, and average the descents of PCG.

    `lines` has the runs of earlier splits.
    """
    ran = {line["split"]: SplitRun.of(line) for line in lines}
    descents: list[Descent] = []
    for number, split in enumerate(splits, start=1):
        first = number == 1
        # A descent on a large set takes minutes, so that its figures show the first split only.
        drawn = figures_wanted and (first or problem.name not in LARGE_SETS)
        if not drawn and number in ran:
            continue
        with step(f"{problem.title}: split {number} of {len(splits)}"):
            setting = prepare_setting(problem, data, split)
            if number not in ran:
                ran[number] = run_split(setting, methods_of(problem, first=first))
                lines.add({"split": number, **plain(ran[number])})
            if drawn:
                descents.append(descend(setting, figure_weights(problem), problem.horizon))
    runs = [ran[number] for number in range(1, len(splits) + 1)]
    outcomes, references = (
        gathered(run.outcomes for run in runs),
        gathered(run.references for run in runs),
    )
    mean = mean_descent(descents) if descents else None
    return SetResult(problem, splits[-1].sizes, outcomes, references), mean


def run_split(setting: Setting, methods: Sequence[str]) -> SplitRun:
    """Run some methods on one split."""
    known = WEIGHTS[setting.problem.name]
    outcomes = {
        name: run_method(METHODS[name], setting, known[METHODS[name].weights]) for name in methods
    }
    # Right after the fits for comparison, as the speed of a machine changes with time.
    return SplitRun(outcomes, reference_times(setting, outcomes))


def warm_up() -> None:
    """Import late modules and start threads before times are measured."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    data = Data(rng.standard_normal((100, 2)) + 4.0 * y[:, None], y)
    problem = Problem("warm-up", "warm-up", lambda: data, gaussian(2.0), 5, 2, (6, 6))
    setting = prepare_setting(problem, data, problem.splits(data)[0])
    for method in METHODS.values():
        run_method(method, setting, NormWeights(1e-2, 0.0 if method.supervised else 1.0))


def methods_of(problem: Problem, *, first: bool) -> list[str]:
    """Return the methods with parameters in the paper, for the first or another split."""
    precise = first and problem.dtype == "float64"
    quick = not first and problem.name in LARGE_SETS
    return [
        name
        for name, method in METHODS.items()
        if method.weights in WEIGHTS[problem.name]
        and (precise or not method.precise)
        and not (quick and method.slow)
    ]


def figure_weights(problem: Problem) -> NormWeights:
    """Return the parameters of Figures 5 to 14, those selected for Newton (Section 6.4)."""
    known = WEIGHTS[problem.name]
    return known.get("newton", known["stability"])


def over_seeds(problem: Problem, data: Data, n_seeds: int) -> list[float]:
    """Compute the mean error on U of the exact solution for seeds 0, 1, ..."""
    with step(f"{problem.title}: {n_seeds} seeds"):
        splits = (problem.splits(data, seed) for seed in range(n_seeds))
        return [float(np.mean(exact_errors(problem, data, one))) for one in splits]


def figures_of(
    results: Sequence[SetResult], descents: Mapping[str, Descent]
) -> list[Callable[[Path], Path]]:
    """Return the functions that draw Figures 3 to 14; none without descents."""
    if not descents:
        return []
    moons = run_moons()
    drawings = [partial(figures.draw_moons, moons), partial(figures.draw_stopping, moons)]
    for result in results:
        name, title = result.problem.name, result.problem.title
        line, label = horizontal_line(result, descents[name])
        drawings.append(partial(figures.draw_errors, name, title, descents[name], line, label))
    titled = {PROBLEMS[name].title: descent for name, descent in descents.items()}
    return [*drawings, partial(figures.draw_values, titled)]


def horizontal_line(result: SetResult, descent: Descent) -> tuple[dict[str, float], str]:
    """Return the errors of the optimum on the splits of the curves, and its name.

    If Newton's method is not possible, it is the last PCG iteration, as in Figure 12 of the paper.
    """
    if "newton" not in result.outcomes:
        last = {part: float(curve[-1]) for part, curve in descent.errors.items()}
        return last, f"t = {descent.errors['U'].size}"
    drawn = result.outcomes["newton"][: 1 if result.problem.name in LARGE_SETS else None]
    return {part: Stat.of(o.errors[part] for o in drawn).mean for part in "LUVT"}, "Newton"
