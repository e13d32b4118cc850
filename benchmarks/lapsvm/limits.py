"""Expectations of the LapSVM benchmark, and whether a run meets them.

Errors and memory have absolute limits, and times have limits relative to a factorisation or
products of the same size, measured in the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.lapsvm import paper
from benchmarks.lapsvm.memory import MemoryUse
from benchmarks.lapsvm.methods import METHODS, STOPS
from benchmarks.lapsvm.report import SetResult
from benchmarks.shared.checks import Check, meets_limit
from benchmarks.shared.stats import Stat

# The paper's mean error on U plus its standard error, for the exact solution of LapSVM.
ERROR_LIMITS: dict[str, float] = {
    "g50c": 6.6, "coil20b": 8.8, "pcmac": 9.9, "uspstb": 9.4, "coil20": 11.2, "uspst": 15.9,
    "mnist3vs8": 2.3,
}  # fmt: skip
OFFICIAL = frozenset({"mnist3vs8", "facemit"})  # with a test part and three splits, not twelve
LOSS_LIMIT = 0.3
MEMORY_LIMIT = 1.2
OBJECTIVE_LIMIT = 1e-8


class TimeLimit(NamedTuple):
    """Limit of the seconds of a method: a factor times those of a reference, plus an allowance."""

    what: str
    method: str
    reference: str
    title: str
    factor: float
    allowance: float = 0.0


# A fit of ten classes shares one factorisation.
TIMES = {
    "uspst": TimeLimit("USPST, ten classes, exact", "exact", "lu", "one LU", 1.5, 0.1),
    "mnist3vs8": TimeLimit(
        "MNIST3VS8, PCG to the stability stop",
        "stability",
        "products",
        "as many float32 products K v as iterations",
        1.5,
    ),
}

# Reasons for missed expectations, by the name of the check; printed only if it is missed.
NOTES: dict[str, str] = {
    "error U, exact, G50C": (
        "the random draw of L. Without an intercept the error depends on the class balance of "
        "the 50 labels (correlation 0.76 over 120 splits): 5.5 % if each class has half of the "
        "labels plus or minus one, 12 % if the difference is six or more; the protocol does not "
        "balance the classes. The mean over 12 splits is 6.98 (0.54) over ten seeds, and three "
        "of the ten meet the limit (`--spread 10`)."
    ),
    "error U, exact, COIL20": (
        "the way labels are drawn, not the solver (Newton, dual and PCG agree). The paper requires "
        "at least one example per class and does not say more; with two per class the error is "
        "11.6 % (`--drawings`), within the standard errors of the paper's 10.5. The graph of two "
        "neighbours has many components, and objects in components without one of their labels "
        "are misclassified."
    ),
    "error U, exact, MNIST3VS8": (
        "settings that the paper does not state, and the random draw: single splits have 2.1 to "
        "3.3 %, and the paper has three. It gives neither the offset of the kernel nor the heat "
        "weights: other offsets have little effect, and a width of 0.3 mean edge lengths reduces "
        "the error of LapRLSC from 2.3 to 1.7 % on the first split (paper: 1.95)."
    ),
}


def check_all(results: Sequence[SetResult], memory: MemoryUse | None) -> list[Check]:
    """Return the checks of all expectations that the run covers."""
    checks = [*_errors(results), *_losses(results), *_objectives(results), *_times(results)]
    if memory is not None:
        checks.append(_memory(memory))
    return checks


def full_splits(name: str) -> int:
    """Return the number of splits to which an expectation of a set refers."""
    return 3 if name in OFFICIAL else 12


def _errors(results: Sequence[SetResult]) -> list[Check]:
    checks = []
    for result in results:
        name = result.problem.name
        if name not in ERROR_LIMITS or result.exact is None:
            continue
        errors = result.errors_on(result.exact, "U")
        error = Stat.of(errors)
        limit = ERROR_LIMITS[name]
        standard_error = error.std / np.sqrt(len(errors))
        checks.append(
            Check(
                f"error U, exact, {result.problem.title}",
                f"{error.mean:.2f} %",
                f"{limit:.1f} %",
                meets_limit(errors, limit, full_splits(name)),
                paper.ERRORS[name]["newton"].U.show() + " %",
                f"standard error {standard_error:.2f} over {len(errors)} splits",
            )
        )
    return checks


def accuracy_loss(
    results: Sequence[SetResult], stop: str, error: Callable[[SetResult, str], float | None]
) -> float | None:
    """Compute the mean increase of the error on U by early stopping, over sets."""
    differences = []
    for result in results:
        early, exact = error(result, stop), error(result, result.exact or "newton")
        if early is not None and exact is not None:
            differences.append(early - exact)
    return float(np.mean(differences)) if differences else None


def _ours(result: SetResult, method: str) -> float | None:
    error = result.error(method, "U")
    return None if error is None else error.mean


def _printed(result: SetResult, method: str) -> float | None:
    # The exact solution is called newton in the paper.
    errors = paper.ERRORS[result.problem.name].get("newton" if method == "exact" else method)
    return None if errors is None else errors.U.mean


def _losses_by_split(results: Sequence[SetResult], stop: str) -> list[float]:
    """Compute the increases for each split that all sets have."""
    pairs = [
        (result.errors_on(stop, "U"), result.errors_on(result.exact, "U"))
        for result in results
        if stop in result.outcomes and result.exact is not None
    ]
    n = min(len(early) for early, _ in pairs)
    return np.mean([np.subtract(early[:n], exact[:n]) for early, exact in pairs], axis=0).tolist()


def _losses(results: Sequence[SetResult]) -> list[Check]:
    checks = []
    for stop in STOPS:
        ours, printed = accuracy_loss(results, stop, _ours), accuracy_loss(results, stop, _printed)
        if ours is None:
            continue
        n_sets = sum(1 for result in results if result.exact is not None)
        full = min(full_splits(result.problem.name) for result in results)
        checks.append(
            Check(
                f"loss of accuracy, {METHODS[stop].title}",
                f"{ours:+.2f} points",
                f"{LOSS_LIMIT} points",
                meets_limit(_losses_by_split(results, stop), LOSS_LIMIT, full),
                "-" if printed is None else f"{printed:+.2f} points",
                f"mean over {n_sets} sets, error U",
            )
        )
    return checks


def _objectives(results: Sequence[SetResult]) -> list[Check]:
    """Compare PCG at its default tolerance with Newton on the first split, worst column."""
    checks = []
    for result in results:
        if "pcg" not in result.outcomes:
            continue
        pcg, newton = result.outcomes["pcg"][0], result.outcomes["newton"][0]
        gap = float(np.max(np.abs(np.divide(pcg.objective, newton.objective) - 1)))
        checks.append(
            Check(
                f"objective of PCG against Newton, {result.problem.title}",
                f"{gap:.1e}",
                f"{OBJECTIVE_LIMIT:.0e}",
                gap <= OBJECTIVE_LIMIT,
                note=f"{pcg.n_iter} iterations, {pcg.status}",
            )
        )
    return checks


def _times(results: Sequence[SetResult]) -> list[Check]:
    """Compare the seconds of methods with those of a reference on the same splits."""
    checks = []
    for result in results:
        if result.problem.name not in TIMES:
            continue
        limit = TIMES[result.problem.name]
        references = result.references.get(limit.reference, ())
        if not references or limit.method not in result.outcomes:
            continue
        outcomes = result.outcomes[limit.method]
        ours = [outcome.seconds for outcome in outcomes]
        allowed = [limit.factor * seconds + limit.allowance for seconds in references]
        iterations = result.iterations(limit.method)
        assert iterations is not None
        checks.append(
            Check(
                f"{limit.what}, seconds",
                f"{np.median(ours):.3f} s",
                f"{np.median(allowed):.3f} s",
                bool(np.median(np.divide(ours, allowed)) <= 1),
                note=f"solver {outcomes[0].solver}, {iterations.show(0)} iterations; "
                f"{limit.title}: {np.median(references):.3f} s; medians of splits",
            )
        )
    return checks


def _memory(use: MemoryUse) -> Check:
    return Check(
        "FACEMIT training part, PCG, peak memory",
        f"{use.ratio:.2f} x",
        f"{MEMORY_LIMIT} x",
        use.ratio <= MEMORY_LIMIT,
        note=f"n = {use.n_points}: peak of the process {use.peak_bytes / 1e9:.2f} GB, of "
        f"which {use.baseline_bytes / 1e9:.2f} GB before the fit; one float32 kernel matrix "
        f"is {use.kernel_bytes / 1e9:.2f} GB; {use.n_iter} iterations, {use.seconds:.0f} s",
    )
