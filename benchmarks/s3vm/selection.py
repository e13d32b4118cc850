"""Model selection of the QN-S3VM paper (Section 4.1.3), and its Table 1.

Candidates are fitted as in Algorithm 1: the surrogate objective in three annealing steps, from its
supervised solution, which all lambda' share. By errata Q8 (lambda, lambda') are
C = 1 / (2 lambda l) and C* = lambda' / (2 lambda u). The selected pair is fitted by S3VC's
'quasi-newton', which ends in a minimum of the objective with the hinge itself. The mean decision
value on the unlabelled points is that of the labels (balance='labels'), as in the authors' code and
unlike the paper's formulas (errata Q7).

Parameters are selected by the number of errors, on the test labels (non-realistic) or in 5-fold
cross-validation on the labelled points (realistic); then by the smaller mean hinge loss on the same
points, and then by the larger lambda.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.s3vm.fits import (
    FloatArray,
    LinearFunction,
    LossWeights,
    Task,
    s3vm_objective,
    solve,
    svc,
    uncentered,
)
from benchmarks.s3vm.partitions import Partition
from benchmarks.shared.labels import IndexArray
from lapwing.objectives.low_density import Function
from lapwing.solvers.base import Settings
from lapwing.solvers.low_density.schedules import (
    STAGE_TOL,
    ScheduleStage,
    quasi_newton,
    run_stages,
)

N_FOLDS = 5
_LAMBDAS = tuple(2.0**k for k in range(10, -11, -1))
SETTINGS = Settings[Function](STAGE_TOL, 2000)


class Grid(NamedTuple):
    """Candidates for lambda (and SVC's C), and for lambda'; large lambda first."""

    lam: Sequence[float] = _LAMBDAS
    lam_prime: Sequence[float] = (1.0, 0.01, 100.0)


class Score(NamedTuple):
    """Number of errors, then sum of hinge losses; smaller is better."""

    errors: int
    loss: float

    @classmethod
    def of(cls, y: FloatArray, values: FloatArray) -> Score:
        """Compute the score of decision values; f = 0 is positive (errata X5)."""
        wrong = int(np.sum(np.where(values >= 0, 1.0, -1.0) != y))
        return cls(wrong, float(np.maximum(0.0, 1 - y * values).sum()))

    def plus(self, other: Score) -> Score:
        return Score(self.errors + other.errors, self.loss + other.loss)


# (features of new points) -> decision values
Values = Callable[[Any], FloatArray]
# All candidates of a task, in the order of the grid.
Candidates = Callable[[Task], Iterator[tuple[Any, Values]]]


def weights_of(task: Task, lam: float, lam_prime: float) -> LossWeights:
    """Convert lambda and lambda' to C and C* (errata Q8)."""
    l, u = len(task.labeled), len(task.unlabeled)
    return LossWeights(1 / (2 * lam * l), lam_prime / (2 * lam * u))


def _quasi_newton_candidates(grid: Grid, task: Task) -> Iterator[tuple[Any, Values]]:
    """Iterate over the candidates by Algorithm 1 at each point of the grid."""
    for lam in grid.lam:
        start = None
        for lam_prime in grid.lam_prime:
            objective = s3vm_objective(task, weights_of(task, lam, lam_prime))
            stages = quasi_newton(objective)
            if start is None:
                supervised = ScheduleStage(0.0, stages[0].objective.supervised())
                start = run_stages([supervised], objective.zero(), SETTINGS).state
            coef, intercept = run_stages(stages, start, SETTINGS).state
            bias = uncentered(objective, coef, intercept)
            yield (lam, lam_prime), LinearFunction(coef, bias).values


def _svc_candidates(grid: Grid, task: Task) -> Iterator[tuple[Any, Values]]:
    """Iterate over the candidates by SVC for each C, in ascending order."""
    for lam in grid.lam:
        yield 1 / lam, svc(task, 1 / lam).values


def on_test(part: Partition, candidates: Candidates) -> dict[Any, Score]:
    """Compute the score of each candidate on the test points."""
    return {
        parameters: Score.of(part.test_y, values(part.test_features))
        for parameters, values in candidates(part.task)
    }


def on_labels(
    part: Partition, candidates: Candidates, rng: np.random.Generator
) -> dict[Any, Score]:
    """Compute the score of each candidate in cross-validation on the labelled points."""
    task = part.task
    scores: dict[Any, Score] = {}
    for held_out in folds(task.y[task.labeled], rng):
        rows = task.labeled[held_out]
        fold = replace(task, labeled=np.delete(task.labeled, held_out))
        for parameters, values in candidates(fold):
            score = Score.of(task.y[rows], values(task.space.features[rows]))
            scores[parameters] = score.plus(scores.get(parameters, Score(0, 0.0)))
    return scores


def folds(y: FloatArray, rng: np.random.Generator) -> list[IndexArray]:
    """Divide the labelled points into five stratified folds, and return their indices."""
    order = np.concatenate([rng.permutation(np.flatnonzero(y == side)) for side in (-1, 1)])
    return [np.sort(order[k::N_FOLDS]) for k in range(N_FOLDS)]


def best(scores: dict[Any, Score]) -> Any:
    """Return the parameters with the best score; of equal ones the first, with larger lambda."""
    return min(scores, key=lambda parameters: scores[parameters])


def test_error(part: Partition, values: Values) -> float:
    """Compute the error in % on the test points."""
    wrong = Score.of(part.test_y, values(part.test_features)).errors
    return 100 * wrong / len(part.test_y)


def final_quasi_newton(part: Partition, parameters: tuple[float, float]) -> float:
    """Fit selected parameters to all training points, and compute the test error."""
    found = solve(part.task, "quasi-newton", weights_of(part.task, *parameters))
    return test_error(part, found.values)


def final_svc(part: Partition, C: float) -> float:
    """Compute the test error of SVC with the selected C."""
    return test_error(part, svc(part.task, C).values)


class Contender(NamedTuple):
    """Method with its grid: candidates, and the test error of the selected one."""

    candidates: Candidates
    final: Callable[[Partition, Any], float]


def contenders(grid: Grid) -> dict[str, Contender]:
    """Return the methods of the paper's experiments."""
    return {
        "svc": Contender(partial(_svc_candidates, grid), final_svc),
        "quasi-newton": Contender(partial(_quasi_newton_candidates, grid), final_quasi_newton),
    }


def errors_on_test(part: Partition, grid: Grid) -> dict[str, float]:
    """Compute test errors of the methods, with parameters selected on the test labels."""
    return {
        name: final(part, best(on_test(part, candidates)))
        for name, (candidates, final) in contenders(grid).items()
    }
