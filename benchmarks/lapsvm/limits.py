"""Expectations of the LapSVM benchmark, and whether a run meets them.

Errors and memory have absolute limits, and times have limits relative to a factorisation or
products of the same size, measured in the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.lapsvm import paper
from benchmarks.lapsvm.memory import MemoryUse
from benchmarks.lapsvm.methods import METHODS, STOPS, MethodRun
from benchmarks.lapsvm.report import SetResult
from benchmarks.lapsvm.setting import Setting
from benchmarks.shared.checks import Check
from benchmarks.shared.measuring import lu_seconds, products_seconds
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
    measure: Callable[[Setting, Mapping[str, MethodRun]], float]  # the reference, after the fits
    factor: float = 1.5
    allowance: float = 0.0


TIMES = {
    "uspst": TimeLimit(
        "USPST, ten classes, exact",
        "exact",
        "lu",
        "one LU",
        lambda setting, _: lu_seconds(setting.n_train),
        allowance=0.1,  # a fit of ten classes shares one factorisation
    ),
    "mnist3vs8": TimeLimit(
        "MNIST3VS8, PCG to the stability stop",
        "stability",
        "products",
        "as many float32 products K v as iterations",
        lambda setting, outcomes: products_seconds(setting.K, outcomes["stability"].n_iter),
    ),
}


def reference_times(setting: Setting, outcomes: Mapping[str, MethodRun]) -> dict[str, float]:
    """Measure the reference time of the expectation of a set, if there is one, in seconds."""
    limit = TIMES.get(setting.problem.name)
    return {} if limit is None else {limit.reference: limit.measure(setting, outcomes)}


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
    checks = [check for make in (_errors, _losses, _objectives, _times) for check in make(results)]
    if memory is not None:
        checks.append(_memory(memory))
    return checks


def full_splits(name: str) -> int:
    """Return the number of splits to which an expectation of a set refers."""
    return 3 if name in OFFICIAL else 12


def _errors(results: Sequence[SetResult]) -> Iterator[Check]:
    for result in results:
        name = result.problem.name
        if name in ERROR_LIMITS and result.exact is not None:
            errors = result.values(result.exact, "U")
            standard_error = Stat.of(errors).std / np.sqrt(len(errors))
            yield Check.mean_at_most(
                f"error U, exact, {result.problem.title}",
                errors,
                ERROR_LIMITS[name],
                full_splits(name),
                paper=paper.ERRORS[name]["newton"].U,
                note=f"standard error {standard_error:.2f} over {len(errors)} splits",
            )


def losses_by_split(results: Sequence[SetResult], stop: str) -> list[float]:
    """Compute the mean increase of the error on U by early stopping, for splits of all sets."""
    pairs = [
        (result.values(stop, "U"), result.values(result.exact, "U"))
        for result in results
        if stop in result.outcomes and result.exact is not None
    ]
    n = min((len(early) for early, _ in pairs), default=0)
    increases = [np.subtract(early[:n], exact[:n]) for early, exact in pairs]
    return np.mean(increases, axis=0).tolist() if n else []


def printed_loss(names: Iterable[str], stop: str) -> float | None:
    """Compute the paper's mean increase of the error on U by early stopping."""
    printed = [paper.ERRORS[name] for name in names]
    losses = [known[stop].U.mean - known["newton"].U.mean for known in printed if "newton" in known]
    return float(np.mean(losses)) if losses else None


def _losses(results: Sequence[SetResult]) -> Iterator[Check]:
    solved = [result.problem.name for result in results if result.exact is not None]
    for stop in STOPS:
        if losses := losses_by_split(results, stop):
            printed = printed_loss(solved, stop)
            yield Check.mean_at_most(
                f"loss of accuracy, {METHODS[stop].title}",
                losses,
                LOSS_LIMIT,
                min(full_splits(result.problem.name) for result in results),
                " points",
                paper=None if printed is None else round(printed, 2),
                note=f"mean over {len(solved)} sets, error U",
            )


def _objectives(results: Sequence[SetResult]) -> Iterator[Check]:
    """Compare PCG at its default tolerance with Newton on the first split, worst column."""
    for result in results:
        if "pcg" in result.outcomes:
            pcg, newton = result.outcomes["pcg"][0], result.outcomes["newton"][0]
            gap = float(np.max(np.abs(np.divide(pcg.objective, newton.objective) - 1)))
            yield Check(
                f"objective of PCG against Newton, {result.problem.title}",
                f"{gap:.1e}",
                f"{OBJECTIVE_LIMIT:.0e}",
                gap <= OBJECTIVE_LIMIT,
                note=f"{pcg.n_iter} iterations, {pcg.status}",
            )


def _times(results: Sequence[SetResult]) -> Iterator[Check]:
    """Compare the seconds of methods with those of a reference on the same splits."""
    for result in results:
        limit = TIMES.get(result.problem.name)
        references = () if limit is None else result.references.get(limit.reference, ())
        if limit is None or not references or limit.method not in result.outcomes:
            continue
        outcomes = result.outcomes[limit.method]
        ours = [outcome.seconds for outcome in outcomes]
        allowed = [limit.factor * seconds + limit.allowance for seconds in references]
        iterations = Stat.of(outcome.n_iter for outcome in outcomes)
        yield Check(
            f"{limit.what}, seconds",
            f"{np.median(ours):.3f} s",
            f"{np.median(allowed):.3f} s",
            bool(np.median(np.divide(ours, allowed)) <= 1),
            note=f"solver {outcomes[0].solver}, {iterations.show(0)} iterations; "
            f"{limit.title}: {np.median(references):.3f} s; medians of splits",
        )


def _memory(use: MemoryUse) -> Check:
    sizes = (use.peak_bytes, use.baseline_bytes, use.kernel_bytes)
    peak, baseline, kernel = (f"{n_bytes / 1e9:.2f} GB" for n_bytes in sizes)
    return Check.at_most(
        "FACEMIT training part, PCG, peak memory",
        use.ratio,
        MEMORY_LIMIT,
        " x",
        note=f"n = {use.n_points}: peak of the process {peak}, of which {baseline} before the fit; "
        f"one float32 kernel matrix is {kernel}; {use.n_iter} iterations, {use.seconds:.0f} s",
    )
