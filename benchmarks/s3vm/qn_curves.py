"""Figures 4 (moons) and 5 (amounts of data) of the QN-S3VM paper, parameters by test labels."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.s3vm import figures
from benchmarks.s3vm import paper_qn as paper
from benchmarks.s3vm.fits import FloatArray, solve
from benchmarks.s3vm.partitions import (
    N_PARTITIONS,
    QN_SETS,
    Partition,
    box_diagonal,
    moons,
    partition,
)
from benchmarks.s3vm.plan import Plan
from benchmarks.s3vm.selection import (
    Grid,
    best,
    contenders,
    errors_on_test,
    on_test,
    weights_of,
)
from benchmarks.shared.output import Results, step
from benchmarks.shared.stats import Stat, gathered, with_paper
from benchmarks.shared.tables import Table

# Our assumptions for the paper's "slightly varying distributions" of the moons, and four labels.
NOISES = (0.05, 0.1, 0.15)
MOON_SIZES = (4, 246, 250)
WIDTHS = (0.01, 0.1, 1.0, 10.0, 100.0)  # sigma relative to the diagonal of the bounding box
QUICK_WIDTHS = (0.1,)
QUICK_GRID = Grid((1.0, 2.0**-10), (1.0,))
N_TRAIN, N_TEST = 250, 250
SHARES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8)  # fractions of the training set
QUICK_SHARES = (0.2, 0.6)
LABELED_SHARE = 0.2  # for varying numbers of unlabelled points


class Panel(NamedTuple):
    """Training points, predictions, and labels (0 for unlabelled points) of a partition."""

    X: Any
    side: FloatArray
    labels: FloatArray


def moons_part(plan: Plan) -> Results:
    """Run Figure 4, with the width of the kernel in the grid."""
    plan.require("moons")
    rows, panels, raw = [], [], {}
    for even in (True, False):
        for noise, (svc_known, _, known) in zip(NOISES, paper.MOONS, strict=True):
            labels = "two per class" if even else "at random"
            with step(f"moons, noise {noise}, labels {labels}"):
                draws = [moons_errors(plan, noise, even, rng) for rng in plan.draws(N_PARTITIONS)]
            errors = gathered(found for found, _ in draws)
            raw[f"{noise} {labels}"] = errors
            panels += [(f"noise {noise}", *draws[0][1])] if even else []
            found = {name: Stat.of(values) for name, values in errors.items()}
            cells = [
                with_paper(found["svc"], svc_known, 1),
                with_paper(found["quasi-newton"], known, 1),
            ]
            rows.append([str(noise), labels, str(len(draws)), *cells])
    note = (
        "500 points, 4 labels, Gaussian kernel; sigma, lambda and lambda' are selected on the "
        "test labels. The three panels of the paper are slightly different draws; ours differ in "
        "noise. If labels are drawn at random, three may belong to one class, and then the "
        "balance is off by half."
    )
    header = ["noise", "labels", "partitions", "SVC", "quasi-newton"]
    title = "QN-S3VM paper, Figure 4: moons, errors (%) on the test points"
    drawing = partial(figures.draw_moon_panels, panels)
    return Results([Table(title, header, rows, [note])], (), raw, [drawing])


def moons_errors(
    plan: Plan, noise: float, even: bool, rng: np.random.Generator
) -> tuple[dict[str, float], Panel]:
    """Compute the errors of both methods on a partition, and its panel."""
    grid = QUICK_GRID if plan.quick else Grid()
    points = moons(noise, rng)
    scale, state = box_diagonal(points.X), int(rng.integers(2**31))
    # The same partition in the coordinates for each width.
    parts = [
        partition(points, MOON_SIZES, np.random.default_rng(state), scale * width, even=even)
        for width in (QUICK_WIDTHS if plan.quick else WIDTHS)
    ]
    errors = {}
    for name, (candidates, final) in contenders(grid).items():
        scores = [on_test(part, candidates) for part in parts]
        k = min(range(len(parts)), key=lambda k: min(scores[k].values()))
        parameters = best(scores[k])
        errors[name] = final(parts[k], parameters)
    return errors, _panel(parts[k], parameters)


def _panel(part: Partition, parameters: tuple[float, float]) -> Panel:
    task = part.task
    found = solve(task, "quasi-newton", weights_of(task, *parameters))
    labels = np.zeros(len(task.y))
    labels[task.labeled] = task.y[task.labeled]
    return Panel(part.X, np.sign(found.values(task.space.features)), labels)


def amounts_part(plan: Plan) -> Results:
    """Run Figure 5: Gaussian4C with more labelled, and with more unlabelled points."""
    plan.require("gaussian4c")
    shares = QUICK_SHARES if plan.quick else SHARES
    counts = {share: round(share * N_TRAIN) for share in shares}
    fixed = round(LABELED_SHARE * N_TRAIN)
    tables, raw, panels = [], {}, {}
    for what in ("labelled", "unlabelled"):
        with step(f"Gaussian4C, amount of {what} data"):
            errors = {
                share: _amount(plan, *((n, N_TRAIN - n) if what == "labelled" else (fixed, n)))
                for share, n in counts.items()
            }
        raw[what] = errors
        tables.append(_amount_table(what, errors))
        panels[what] = {
            name: ([100 * share for share in errors],
                   [float(np.mean(found[name])) for found in errors.values()])
            for name in ("svc", "quasi-newton")
        }  # fmt: skip
    drawing = partial(
        figures.draw_curves,
        "s3vm_qn_figure5",
        "% of the training set",
        panels,
        unit="error (%)",
    )
    return Results(tables, (), raw, [drawing])


def _amount(plan: Plan, l: int, u: int) -> dict[str, list[float]]:
    grid = QUICK_GRID if plan.quick else Grid()
    return gathered(
        errors_on_test(
            partition(QN_SETS["gaussian4c"].points(None, rng), (l, u, N_TEST), rng), grid
        )
        for rng in plan.draws(N_PARTITIONS)
    )


def _amount_table(what: str, errors: dict[float, dict[str, list[float]]]) -> Table:
    rows = [
        [
            f"{100 * share:g}",
            str(len(found["svc"])),
            *(Stat.of(found[name]).show(1) for name in ("svc", "quasi-newton")),
        ]
        for share, found in errors.items()
    ]
    rest = "the others unlabelled" if what == "labelled" else "20 % labelled"
    header = [f"{what} (% of 250)", "partitions", "SVC", "quasi-newton"]
    title = f"QN-S3VM paper, Figure 5: Gaussian4C, errors (%) against {what} points"
    note = f"Training set of 250 points, {rest}; the paper shows only a plot."
    return Table(title, header, rows, [note])
