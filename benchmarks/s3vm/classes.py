"""Table 4 of the continuation paper: Uspst one-vs-rest, and digits 0-4 against 5-9."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from benchmarks.s3vm import paper_continuation as paper
from benchmarks.s3vm.fits import FITTERS, FloatArray, Task
from benchmarks.s3vm.plan import Plan
from benchmarks.s3vm.transduction import N_SPLITS, STANDARD, labeled_sets, space_of
from benchmarks.shared.data import SETS, Data
from benchmarks.shared.kernels import gaussian
from benchmarks.shared.labels import UNLABELED, IndexArray, error_rate
from benchmarks.shared.measuring import transductive_error
from benchmarks.shared.output import Results, step
from benchmarks.shared.stats import Stat, gathered, with_paper
from benchmarks.shared.tables import Table
from lapwing import S3VC

NAMES = ("svc", "continuation", "gradient")
QUICK_DIGITS = (3, 4, 5, 6)


def classes_part(plan: Plan) -> Results:
    """Compute errors on U of ten one-vs-rest machines and of two groups of five digits."""
    data = plan.load("uspst", SETS["uspst"])
    found = []
    for number, labeled in enumerate(labeled_sets(data, plan.seed)[: plan.n_splits(N_SPLITS)]):
        with step(f"Uspst, all classes: split {number + 1}"):
            found.append(run_class_split(plan, data, labeled))
    errors = gathered(found)
    return Results([table_of(errors)], raw={" ".join(key): value for key, value in errors.items()})


def run_class_split(plan: Plan, data: Data, labeled: IndexArray) -> dict[tuple[str, str], float]:
    """Compute the errors of a split by setting and method."""
    rows = np.arange(len(data.y))
    if plan.quick:
        rows = plan.thin(np.flatnonzero(np.isin(data.y, QUICK_DIGITS)), labeled)
    X, y, seen = data.X[rows], data.y[rows], np.isin(rows, labeled)
    space = space_of(X, paper.SIGMA_USPST, 0.0)
    hidden = y[~seen]

    def values(name: str, positive: NDArray[np.bool_]) -> FloatArray:
        targets = np.where(positive, 1.0, -1.0)
        task = Task(space, targets, np.flatnonzero(seen), np.flatnonzero(~seen))
        return FITTERS[name].fit(task, STANDARD.weights).values(space.features)[~seen]

    errors = {}
    for name in NAMES:
        digits = np.unique(y)
        scores = np.stack([values(name, y == digit) for digit in digits], axis=1)
        errors["1-vs-rest", name] = error_rate(hidden, digits[scores.argmax(axis=1)])
        halves = (values(name, y >= 5) >= 0).astype(np.int64)
        errors["5-vs-5", name] = error_rate((hidden >= 5).astype(np.int64), halves)
    kernel = gaussian(paper.SIGMA_USPST)
    machines = SVC(C=paper.C, **kernel).fit(X[seen], y[seen])
    errors["1-vs-1", "svc"] = error_rate(hidden, machines.predict(X[~seen]))
    model = S3VC(C=paper.C, C_star=paper.C, **kernel)
    marked = np.where(seen, y, UNLABELED)
    errors["1-vs-1", "continuation"] = transductive_error(model, X, marked, y)[0]
    return errors


def table_of(errors: dict[tuple[str, str], list[float]]) -> Table:
    """Return Table 4."""
    rows = []
    for setting in ("1-vs-rest", "5-vs-5", "1-vs-1"):
        known = paper.MANY_CLASSES.get(setting, {})
        cells = []
        for name in NAMES:
            found = errors.get((setting, name))
            printed = f" [{known[name]:g}]" if name in known else ""
            cells.append(with_paper(Stat.of(found) if found else None, None) + printed)
        rows.append([setting, str(len(errors[setting, "svc"])), *cells])
    notes = [
        "1-vs-1 is not in the paper: SVC with voting, and the default of S3VC for several "
        "classes, which weights the unlabelled points of each pair by their fractions of the "
        "votes."
    ]
    header = ["Uspst", "splits", *(FITTERS[name].title for name in NAMES)]
    return Table("Continuation paper, Table 4: errors (%) on U", header, rows, notes)
