"""Variation of the protocol's mean error with the seed, as 12 splits are a small sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.lapsvm import paper
from benchmarks.lapsvm.limits import ERROR_LIMITS
from benchmarks.lapsvm.methods import METHODS, run_method
from benchmarks.lapsvm.problems import Problem
from benchmarks.lapsvm.protocol import Split
from benchmarks.lapsvm.setting import prepare_setting
from benchmarks.shared.data import Data
from benchmarks.shared.stats import Stat
from benchmarks.shared.tables import Table


def exact_errors(problem: Problem, data: Data, splits: Iterable[Split]) -> list[float]:
    """Compute the error on U in % of the exact solution on each split."""
    weights = paper.WEIGHTS[problem.name]["newton"]
    settings = (prepare_setting(problem, data, split) for split in splits)
    return [run_method(METHODS["exact"], one, weights).errors["U"] for one in settings]


def spread_table(means: Mapping[str, Sequence[float]], titles: Mapping[str, str]) -> Table:
    """Return the table of means of all seeds, with the paper's mean and standard error."""
    rows = []
    for name, values in means.items():
        theirs = paper.ERRORS[name]["newton"].U
        limit = ERROR_LIMITS[name]
        met = sum(value <= limit for value in values)
        rows.append(
            [
                titles[name],
                Stat.of(values).show(),
                f"{theirs.mean:.2f}",
                f"{limit - theirs.mean:.2f}",
                f"{met} of {len(values)}",
            ]
        )
    header = [
        *("Dataset", "mean over seeds", "paper", "paper's standard error"),
        "seeds at most one standard error above",
    ]
    note = (
        "A value is the mean error (%) on U over the splits of the protocol, drawn with another "
        "seed."
    )
    return Table("Exact LapSVM, means of the protocol over random seeds", header, rows, [note])
