"""Time of fits, and of functions that fit the same points repeatedly, relative to one fit.

Processor seconds of twelve fits, of `reproducibility` with 200 draws, of exact leave-one-out
compared with fits without each label, and of `add_labels` compared with a fit; wall time of four
concurrent fits of `S3VC` compared with one fit.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.shared.checks import Check
from benchmarks.shared.labels import UNLABELED
from benchmarks.shared.measuring import cpu_seconds, wall_seconds
from benchmarks.shared.options import add_number, add_output_options
from benchmarks.shared.output import Results, step
from benchmarks.shared.tables import Table
from lapwing import (
    S3VC,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    Landmarks,
    LapERLSClassifier,
    LapESVC,
    LapRLSClassifier,
    LapSVC,
)
from lapwing.model_selection import leave_one_out, reproducibility

POINTS, QUICK_POINTS = 1500, 400
LABELS_PER_CLASS = 10
DRAWS = 200
THREADS = 4
SIZES, QUICK_SIZES = (2000, 20_000), (500, 2000)
# Limits in units of one fit; for `add_labels` in seconds.
DRAWS_LIMIT = {"LapRLS": 3.0}
UPDATE_LIMIT = 0.1

FITS: dict[str, Any] = {
    "LapSVC": LapSVC(),
    "LapSVC, newton": LapSVC(solver="newton"),
    "LapSVC, pcg": LapSVC(solver="pcg"),
    "LapRLS": LapRLSClassifier(),
    "LapERLS": LapERLSClassifier(),
    "LapERLS, landmarks": LapERLSClassifier(space=Landmarks(200)),
    "LapESVC": LapESVC(),
    "S3VC": S3VC(),
    "S3VC, linear": S3VC("linear"),
    "S3VC, quasi-newton": S3VC(method="quasi-newton"),
    "Eigenfunction": EigenfunctionClassifier(),
    "Anchor": AnchorGraphClassifier(),
}
REPEATED = ("LapRLS", "LapERLS", "LapSVC")


class Spent(NamedTuple):
    """Time of a function and of a single fit, in seconds."""

    what: str
    fit: float
    seconds: float

    @property
    def fits(self) -> float:
        """Time in units of a fit."""
        return self.seconds / self.fit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m benchmarks refits``."""
    add_output_options(parser, "fewer points, one round")
    add_number(parser, "--rounds", 5, "number of rounds, of which the best is reported")


def run(arguments: argparse.Namespace) -> Results:
    """Measure all times; the command fails if an expectation is missed."""
    n, rounds = (QUICK_POINTS, 1) if arguments.quick else (POINTS, arguments.rounds)
    with warnings.catch_warnings(action="ignore"):  # such as of long fits
        with step("fits"):
            fits = measure_fits(n, rounds)
        with step("draws"):
            draws = measure_draws(n, rounds)
        with step("leave-one-out"):
            left_out = measure_left_out(n, rounds)
        with step("updates"):
            updates = measure_updates(QUICK_SIZES if arguments.quick else SIZES)
        with step("threads"):
            threads = measure_threads(n)
    # With few points a fit takes hardly longer than the overhead of a draw.
    checks = check_all([] if arguments.quick else draws, left_out, updates, threads)
    raw = {
        "points": n,
        "fits": fits,
        "draws": draws,
        "left_out": left_out,
        "updates": updates,
        "threads": threads,
    }
    tables = [
        _fits_table(fits, n),
        _spent_table(f"`reproducibility` with {DRAWS} draws, compared with one fit", draws),
        _spent_table("Exact leave-one-out, compared with a fit without each label", left_out),
        _spent_table("One more label (`add_labels`), compared with a fit", updates),
        _spent_table(f"{THREADS} concurrent fits of S3VC in threads, compared with one", [threads]),
    ]
    return Results(tables, checks, raw, passed=all(check.passed for check in checks))


def problem(n: int, n_classes: int = 2) -> tuple[Any, Any, Any]:
    """Draw Gaussian classes in 20 dimensions: points, labels, true classes."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % n_classes
    X = rng.standard_normal((n, 20)) + rng.standard_normal((n_classes, 20))[truth]
    y = np.where(np.arange(n) < n_classes * LABELS_PER_CLASS, truth, UNLABELED)
    return X, y, truth


def measure_fits(n: int, rounds: int) -> dict[str, float]:
    """Return processor seconds of all fits, which are run in turn: the best round of each."""
    X, y, _ = problem(n)
    calls = [partial(model.fit, X, y) for model in FITS.values()]
    return dict(zip(FITS, _best(rounds, *calls), strict=True))


def measure_draws(n: int, rounds: int) -> list[Spent]:
    """Time predictions for labels drawn from the predictions (`reproducibility`)."""
    X, y, _ = problem(n)
    found = []
    for name in REPEATED:
        model = FITS[name]
        draw = partial(reproducibility, model, X, y, n_draws=DRAWS, random_state=0)
        found.append(Spent(name, *_best(rounds, partial(model.fit, X, y), draw)))
    return found


def measure_left_out(n: int, rounds: int) -> list[Spent]:
    """Time exact leave-one-out, compared with all fits without one label."""
    X, y, _ = problem(n)
    rows = np.flatnonzero(y != UNLABELED)
    found = []
    for name in REPEATED:
        model = FITS[name]

        def by_fits(model: Any = model) -> None:
            for row in rows:
                model.fit(X, np.where(np.arange(len(y)) == row, UNLABELED, y))

        found.append(Spent(name, *_best(rounds, by_fits, partial(leave_one_out, model, X, y))))
    return found


def measure_updates(sizes: tuple[int, int]) -> list[Spent]:
    """Time one more label, median of five: full kernel for the first size, LapERLS for both."""
    small, large = sizes
    asked = [("LapRLS", small), ("LapSVC", small), ("LapERLS", small), ("LapERLS", large)]
    found = []
    for name, n in asked:
        X, y, truth = problem(n, 10)
        model = FITS[name].set_params(updatable=True)
        fit = cpu_seconds(model.fit, X, y)
        times = [cpu_seconds(model.add_labels, row, truth[row]) for row in range(n - 5, n)]
        model.set_params(updatable=False)
        found.append(Spent(f"{name}, {n} points", fit, float(np.median(times))))
    return found


def measure_threads(n: int) -> Spent:
    """Time four concurrent fits of S3VC, compared with a single fit."""
    X, y, _ = problem(n)

    def at_once() -> None:
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda _: S3VC().fit(X, y), range(THREADS)))

    alone = min(wall_seconds(S3VC().fit, X, y) for _ in range(2))
    return Spent(f"S3VC, {n} points", alone, wall_seconds(at_once))


def check_all(
    draws: list[Spent], left_out: list[Spent], updates: list[Spent], threads: Spent
) -> list[Check]:
    """Return the checks of all expectations."""
    checks = [
        Check.at_most(f"{DRAWS} draws, {d.what}", d.fits, limit, " fits", 1)
        for d in draws
        if (limit := DRAWS_LIMIT.get(d.what)) is not None
    ]
    checks += [
        Check.at_most(f"leave-one-out, {s.what}", s.fits, 1, " of brute force") for s in left_out
    ]
    checks += [
        Check.at_most(f"one more label, {u.what}", u.seconds, UPDATE_LIMIT, " s", 3)
        for u in updates
    ]
    # With more threads than cores there is no gain, but there must be no loss either.
    at_once = Check.at_most(f"{THREADS} threads, S3VC", threads.fits, 1.25 * THREADS, " fits", 1)
    return [*checks, at_once]


def _best(rounds: int, *calls: Callable[[], Any]) -> list[float]:
    """Measure processor seconds of several calls in turn, and return the best round of each."""
    times = [[cpu_seconds(call) for call in calls] for _ in range(rounds)]
    best: list[float] = np.min(times, axis=0).tolist()
    return best


def _fits_table(fits: dict[str, float], n: int) -> Table:
    header = ("fit", "s", "relative to LapRLS")
    rows = [(name, f"{s:.3f}", f"{s / fits['LapRLS']:.2f}") for name, s in fits.items()]
    return Table(f"Processor seconds of a fit, {n} points", header, rows)


def _spent_table(title: str, some: list[Spent]) -> Table:
    rows = [(s.what, f"{s.fit:.3f}", f"{s.seconds:.3f}", f"{s.fits:.3g}") for s in some]
    return Table(title, ("method", "reference (s)", "s", "ratio"), rows)
