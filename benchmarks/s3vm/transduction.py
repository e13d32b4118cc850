"""The continuation paper on pairs of classes: Tables 1 to 3, Figures 3, 5 and 6.

As in Section 4.1 each pair of classes is a separate problem: the other classes are removed from the
labelled and the unlabelled points, and errors are on the unlabelled points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from benchmarks.s3vm import figures
from benchmarks.s3vm import paper_continuation as paper
from benchmarks.s3vm.fits import FITTERS, LossWeights, Task
from benchmarks.s3vm.limits import ERROR_LIMITS, HYBRID
from benchmarks.s3vm.plan import Plan, UnavailableError
from benchmarks.shared.checks import Check
from benchmarks.shared.data import SETS, Data
from benchmarks.shared.kernels import gaussian
from benchmarks.shared.labels import IndexArray, draw_per_class
from benchmarks.shared.output import Results, step
from benchmarks.shared.stats import Stat
from benchmarks.shared.tables import Table
from lapwing import KNNGraph
from lapwing.graphs import Laplacian
from lapwing.kernels import make_kernel
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.mapped import deformed, full_map

N_SPLITS = 10
SLOW_SPLITS = 1
QUICK_PAIRS = 2
SAME = 1e-3  # relative difference below which objectives are of the same minimum


@dataclass(frozen=True)
class Family:
    """Data set whose pairs of classes are the problems.

    Attributes
    ----------
    name, title : str
    load : function
    sigma : float or None
        Width of the Gaussian kernel; None is the linear kernel.
    """

    name: str
    title: str
    load: Callable[[], Data]
    sigma: float | None


class Variant(NamedTuple):
    """Parameters of all fits; sigma None is that of the family."""

    weights: LossWeights
    sigma: float | None = None
    gamma_I: float = 0.0

    def __str__(self) -> str:
        """Return the parameters for a line of progress."""
        parts = [f"C={self.weights.C:g}", f"C*={self.weights.C_star:g}"]
        parts += [f"sigma={self.sigma:g}"] if self.sigma is not None else []
        parts += [f"gamma_I={self.gamma_I:g}"] if self.gamma_I else []
        return ", ".join(parts)


class Record(NamedTuple):
    """Result of one fit."""

    pair: tuple[int, int]
    split: int
    method: str
    error: float
    objective: float
    seconds: float


FAMILIES = {
    family.name: family
    for family in (
        Family("uspst", "Uspst", SETS["uspst"], paper.SIGMA_USPST),
        Family("coil20", "Coil", SETS["coil20"], paper.SIGMA_COIL),
        Family("text", "Text", SETS["pcmac"], None),
    )
}
STANDARD = Variant(LossWeights(paper.C, paper.C))
ROW_HEADER = ("Dataset", "C", "C*", "problems")  # of `error_row`, before the methods
NOT_PRINTED: Mapping[str, float] = {}


def labeled_sets(data: Data, seed: int) -> Sequence[IndexArray]:
    """Return the published splits or, for Coil, ten draws of two points per class."""
    if data.splits:
        return data.splits
    rngs = (np.random.default_rng([seed, number]) for number in range(N_SPLITS))
    return [np.sort(draw_per_class(data.y, 2, rng)) for rng in rngs]


def space_of(X: Any, sigma: float | None, gamma_I: float) -> Any:
    """Return the kernel space of the points of a pair, deformed by their graph if gamma_I > 0."""
    if sigma is None:
        return LinearSpace(X)
    kernel = make_kernel(X=X, **gaussian(sigma))
    space = full_map(kernel, kernel.gram(X), X)
    if gamma_I == 0:
        return space
    affinity = KNNGraph(n_neighbors=paper.N_NEIGHBORS, weights="heat").affinity(X)
    laplacian = Laplacian.from_affinity(affinity, normalized=True, power=paper.POWER, dtype=X.dtype)
    return deformed(space, lambda F: gamma_I * laplacian.apply(F))


def run_pairs(
    plan: Plan, family: Family, data: Data, variant: Variant, methods: Sequence[str]
) -> list[Record]:
    """Run all methods on all pairs and splits."""
    pairs = list(combinations(np.unique(data.y).tolist(), 2))
    if plan.quick:
        pairs = pairs[:: max(1, len(pairs) // QUICK_PAIRS)][:QUICK_PAIRS]
    draws = list(labeled_sets(data, plan.seed)[: plan.n_splits(N_SPLITS)])
    sigma = family.sigma if variant.sigma is None else variant.sigma
    records = []
    for pair in pairs:
        rows = plan.thin(np.flatnonzero(np.isin(data.y, pair)), np.concatenate(draws))
        y = np.where(data.y[rows] == pair[1], 1.0, -1.0)
        space = space_of(data.X[rows], sigma, variant.gamma_I)
        for number, labeled in enumerate(draws):
            seen = np.isin(rows, labeled)
            task = Task(space, y, np.flatnonzero(seen), np.flatnonzero(~seen))
            for name in methods:
                # A two-class set has a single pair, which can be run on all splits.
                if FITTERS[name].slow and number >= SLOW_SPLITS and len(pairs) > 1:
                    continue
                found = FITTERS[name].fit(task, variant.weights)
                error = task.error(found.values(space.features))
                records.append(Record(pair, number, name, error, found.objective, found.seconds))
    return records


def run_variants(
    plan: Plan, wanted: Mapping[str, Sequence[Variant]], methods: Sequence[str]
) -> Iterator[tuple[Family, Variant, list[Record]]]:
    """Run all methods on the variants of each available set."""
    loads = {name: FAMILIES[name].load for name in wanted if plan.wants(name)}
    for name, data in plan.datasets.available(loads):
        for variant in wanted[name]:
            with step(f"{FAMILIES[name].title}, {variant}"):
                records = run_pairs(plan, FAMILIES[name], data, variant, methods)
            yield FAMILIES[name], variant, records


def of_method(records: Sequence[Record], method: str) -> list[Record]:
    return [record for record in records if record.method == method]


def mean_error(records: Sequence[Record], method: str) -> float:
    return float(np.mean([record.error for record in of_method(records, method)]))


def errors_by_split(records: Sequence[Record], method: str) -> list[float]:
    """Compute the mean error over the pairs of classes for each split."""
    splits = sorted({record.split for record in of_method(records, method)})
    return [mean_error([r for r in records if r.split == split], method) for split in splits]


def cells(
    records: Sequence[Record], methods: Sequence[str], known: Mapping[str, float] = NOT_PRINTED
) -> list[str]:
    """Return the cells of a row: the number of problems, and the errors of the methods."""
    return [str(_n_problems(records)), *(shown(records, name, known.get(name)) for name in methods)]


def shown(records: Sequence[Record], method: str, known: float | None) -> str:
    """Format the mean error with the paper's in brackets, and the number of fits if incomplete."""
    n = len(of_method(records, method))
    parts = [f"{mean_error(records, method):.2f}" if n else "-"]
    parts += [] if known is None else [f"[{known:g}]"]
    parts += [f"({n} fits)"] if 0 < n < _n_problems(records) else []
    return " ".join(parts)


def _n_problems(records: Sequence[Record]) -> int:
    return len({(record.pair, record.split) for record in records})


def error_row(
    family: Family, variant: Variant, records: Sequence[Record], methods: Sequence[str]
) -> list[str]:
    """Return the row of set, parameters, number of problems, and errors."""
    weights = [f"{weight:g}" for weight in variant.weights]
    known = paper.ERRORS.get((family.name, *variant.weights), NOT_PRINTED)
    return [family.title, *weights, *cells(records, methods, known)]


def methods_part(plan: Plan) -> Results:
    """Run Table 1, with all methods and both baselines, and Figure 3."""
    names = list(FITTERS)
    rows, times, tables, checks, drawings = [], [], [], [], []
    raw = {}
    for family, _, records in run_variants(plan, dict.fromkeys(FAMILIES, (STANDARD,)), names):
        raw[family.name] = records
        rows.append(error_row(family, STANDARD, records, names))
        seconds = ([record.seconds for record in of_method(records, name)] for name in names)
        times.append([family.title, *(Stat.of(values).show(3) for values in seconds)])
        checks += [
            Check.mean_at_most(
                f"error U, {name}, {family.title}",
                errors_by_split(records, name),
                limit,
                N_SPLITS,
                paper=paper.ERRORS[family.name, paper.C, paper.C][name],
            )
            for name, limit in ERROR_LIMITS.get(family.name, {}).items()
        ]
        if family.name == "uspst":
            tables.append(agreement(records))
            drawings.append(partial(figures.draw_agreement, differences(records)))
    titles = [FITTERS[name].title for name in names]
    notes = [
        "SVC is that of scikit-learn, with an unpenalised intercept; self-training is "
        "SelfTrainingClassifier with this SVC, which adds a tenth of the unlabelled points in "
        "each of ten rounds. 'switching' is the algorithm of S3VM-light, and 'gradient' that of "
        "the paper's reference (its annealing with our L-BFGS). Coil: 32 x 32 pixels, two labels "
        "per object drawn by us.",
    ]
    title = "Continuation paper, Table 1: errors (%) on U"
    first = Table(title, [*ROW_HEADER, *titles], rows, notes)
    note = "Seconds of one fit with given kernel coordinates."
    second = Table("Seconds of these fits", ["Dataset", *titles], times, [note])
    return Results([first, second, *tables], checks, raw, drawings)


def differences(records: Sequence[Record]) -> np.ndarray[Any, Any]:
    """Subtract objective and error of 'continuation' from those of 'gradient', by problem."""
    found = {(r.pair, r.split, r.method): r for r in records}
    rows = []
    for r in of_method(records, "continuation"):
        other = found[r.pair, r.split, "gradient"]
        rows.append((other.objective - r.objective, other.error - r.error))
    return np.array(rows)


def agreement(records: Sequence[Record]) -> Table:
    """Return Figure 3 as a table: how often the lower objective has the lower error."""
    objective, error = differences(records).T
    scale = np.median([record.objective for record in of_method(records, "continuation")])
    same = np.abs(objective) <= SAME * scale
    rows = []
    for what, chosen in (
        ("gradient ends above continuation", (objective > 0) & ~same),
        ("same objective", same),
        ("gradient ends below continuation", (objective < 0) & ~same),
    ):
        some = error[chosen]
        mean = f"{some.mean():+.2f}" if some.size else "-"
        counts = [(some > 0).sum(), (some == 0).sum(), (some < 0).sum()]
        rows.append([what, str(some.size), *map(str, counts), mean])
    notes = []
    if (~same).sum() > 2 and np.ptp(error[~same]) > 0:
        correlation = float(spearmanr(objective[~same], error[~same]).statistic)
        notes = [f"Rank correlation where objectives differ: {correlation:.2f}."]
    header = ["Uspst problems", "number", "error higher", "equal", "lower", "mean difference"]
    return Table("Continuation paper, Figure 3: objective against error", header, rows, notes)


def weights_part(plan: Plan) -> Results:
    """Run Tables 2 and 3."""
    pairs = {"uspst": [(10.0, 10.0), (100.0, 10.0)], "text": [(1.0, 1.0)]}
    wanted = {name: [Variant(LossWeights(*pair)) for pair in some] for name, some in pairs.items()}
    names = ["svc", "continuation", "gradient", "switching"]
    found = list(run_variants(plan, wanted, names))
    rows = [error_row(family, variant, records, names) for family, variant, records in found]
    raw = {f"{family.name} {tuple(v.weights)}": records for family, v, records in found}
    header = [*ROW_HEADER, *(FITTERS[name].title for name in names)]
    title = "Continuation paper, Tables 2 (C = C*) and 3 (C* < C): errors (%) on U"
    return Results([Table(title, header, rows)], raw=raw)


def widths_part(plan: Plan) -> Results:
    """Run Figure 5: errors on Uspst by width of the kernel."""
    return _sweep(
        plan,
        ["svc", "continuation", "gradient", "quasi-newton"],
        "sigma",
        [8.0, 16.0] if plan.quick else [2.0, 4.0, 8.0, 16.0, 32.0, 64.0],
        "Continuation paper, Figure 5: errors (%) on U of Uspst against sigma",
        "The paper shows only a plot; at sigma = 8 it has SVC 9.2, continuation 2.9, gradient 4.6.",
    )


def hybrid_part(plan: Plan) -> Results:
    """Run Figure 6: errors on Uspst by weight of the graph."""
    part = _sweep(
        plan,
        ["svc", "continuation"],
        "gamma_I",
        [0.0, 10.0] if plan.quick else [0.0, 1.0, 10.0, 100.0, 1e3, 1e4],
        "Continuation paper, Figure 6: errors (%) on U of Uspst against gamma_I",
        "The graph term gamma_I h'L^p h / 2 is added to |h|^2 / 2, with C = 100; the graph of "
        "each pair has 10 neighbours and p = 2. The text of the paper gives 2.8 for the best SVM "
        "with the graph (LapSVM) and 1.8 for the best hybrid.",
    )
    best = min(part.raw.values(), key=lambda records: mean_error(records, "continuation"))
    check = Check.mean_at_most(
        "error U, hybrid, Uspst, best gamma_I",
        errors_by_split(best, "continuation"),
        HYBRID,
        N_SPLITS,
        paper=paper.BEST_HYBRID["continuation"],
    )
    return replace(part, checks=[check])


def _sweep(
    plan: Plan,
    names: Sequence[str],
    parameter: str,
    values: Sequence[float],
    title: str,
    note: str,
) -> Results:
    """Run methods on Uspst with several values of a parameter."""
    variants = [Variant(STANDARD.weights, **{parameter: value}) for value in values]
    runs = [records for *_, records in run_variants(plan, {"uspst": variants}, names)]
    if not runs:
        raise UnavailableError("uspst")
    found = dict(zip(map("{:g}".format, values), runs, strict=True))
    rows = [[value, *cells(records, names)] for value, records in found.items()]
    header = [parameter, "problems", *(FITTERS[name].title for name in names)]
    means = {name: [mean_error(records, name) for records in runs] for name in names}
    drawing = partial(figures.draw_sweep, parameter, list(found), means)
    return Results([Table(title, header, rows, [note])], (), found, [drawing])
