"""LapESVR's solution on its active set: exact zeros and bounds from an approximate optimum.

Interior points have multipliers of 1e-9 where the optimum has 0. Once it is known at which points r
is at an edge of the tube, at which inside and at which outside, what is left are linear equations;
where their solution breaks a condition of the optimum, its points change sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lapwing._arrays import Array
from lapwing.solvers.embedded.systems import EmbeddedSystem, Fit, Move

_ROUNDED = 1e-8  # of the objective at g = 0: less is its rounding
_LOSS_ROUNDED, _REASON = 1e7, 1e3  # roundings of g in the loss; times the energy, at most
_CORRECTIONS = 5
_REVISIONS = 8  # of the active set
_NOTHING = 1e-7  # of C, or of the largest multiplier


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a system, with its loss."""

    system: EmbeddedSystem
    j: int
    C: float
    epsilon: float

    @property
    def pull(self) -> Array:
        return self.system.side.pull[:, [self.j]]

    def energy(self, fit: Fit) -> float:
        """The objective without the loss."""
        graph = self.system.side.energy(fit.graph_coef, slice(self.j, self.j + 1))
        return float(self.system.norm(fit)[0] / 2 + graph[0])

    def reference(self, energy: float, loss: float, fit: Fit) -> float:
        """Reference size of gaps: the objective, where it is not rounding of its value at 0.

        Nor less than what rounding of g makes of a loss of large C, within reason: at small
        targets (C counts in their units) gaps of many times the rounding are exact solutions.
        """
        constant = float(self.system.side.constant[self.j])
        size = self.C * float(np.abs(self.system.side.values(fit.graph_coef)).sum())
        rounding = min(_LOSS_ROUNDED * float(np.finfo(np.float64).eps) * size, _REASON * energy)
        tiny = float(np.finfo(np.float64).tiny)
        return max(energy + loss, _ROUNDED * constant, rounding, tiny)

    def missing(self, fit: Fit, alpha: Array) -> Fit:
        """Residual of the linear equations of an optimum."""
        return self.system.missing(fit, alpha, self.pull)

    def measure(self, move: Move) -> tuple[float, float]:
        """Objective, and how far from it the dual is, relative to it.

        For stationary (f, g, b, alpha) the duality gap is the sum over the points of
        C max(0, |r| - epsilon) + epsilon |alpha| + alpha r, each term >= 0. What is missing to
        stationarity and what of alpha is outside the box counts too.
        """
        r, alpha = move.residual[:, 0], move.alpha[:, 0]
        cut = np.clip(alpha, -self.C, self.C)
        loss = self.C * np.maximum(np.abs(r) - self.epsilon, 0)
        gap = float((loss + self.epsilon * np.abs(cut) + cut * r).sum())
        energy = self.energy(move.fit)
        reference = self.reference(energy, float(loss.sum()), move.fit)
        leak = sum(
            float(np.abs(part * missing).sum())
            for part, missing in zip(move.fit, self.missing(move.fit, move.alpha), strict=True)
        )
        outside = float(np.abs(alpha - cut).max()) / self.C
        return energy + float(loss.sum()), (abs(gap) + leak) / reference + outside


class Candidate(NamedTuple):
    """A solution and how good it is."""

    move: Move
    primal: float
    gap: float


@dataclass(frozen=True, eq=False)
class ActiveSet:
    """Free entries of alpha, and the values of the others; all (n, 1)."""

    free: Array  # bool: r is at an edge of the tube
    edge: Array  # which: -1, +1, or 0 where the tube has no width
    fixed: Array  # alpha of the others: 0, -C or C

    @classmethod
    def everywhere(cls, n: int) -> ActiveSet:
        """All points where r is 0, of a tube of no width."""
        return cls(np.ones((n, 1), dtype=bool), np.zeros((n, 1)), np.zeros((n, 1)))

    def revised(self, r: Array, alpha: Array, problem: Column) -> ActiveSet:
        """Points that are on the wrong side of a condition of the optimum change sides."""
        C, epsilon = problem.C, problem.epsilon
        room = 1e-9 * epsilon
        over = self.free & (np.abs(alpha) > C)
        wrong = self.free & (alpha * self.edge > 0)
        at_rest = ~self.free & (self.fixed == 0) & (np.abs(r) > epsilon + room)
        bound = ~self.free & (self.fixed != 0) & (-np.sign(self.fixed) * r < epsilon - room)
        edge = np.where(at_rest, np.sign(r), np.where(bound, -np.sign(self.fixed), self.edge))
        fixed = np.where(over, np.sign(alpha) * C, np.where(wrong, 0.0, self.fixed))
        free = (self.free & ~over & ~wrong) | at_rest | bound
        return ActiveSet(free, edge * (epsilon > 0), fixed)

    def same(self, other: ActiveSet) -> bool:
        return bool((self.free == other.free).all() and (self.fixed == other.fixed).all())


def polished(
    problem: Column, rough: Candidate, active: ActiveSet, stiff: float, tol: float
) -> Candidate:
    """The solution on the active set; alpha is then 0 or +-C where it should be.

    Where no active set is found (degenerate problems), small alpha are cut off if that costs less
    than the tolerance.

    Parameters
    ----------
    problem : Column
    rough : Candidate
        Near the optimum.
    active : ActiveSet
        A guess.
    stiff : float
        q of points held at an edge of the tube.
    tol : float
        Of the gap.
    """
    C, best, found = problem.C, rough, active
    for _ in range(_REVISIONS):
        held = _held(problem, found, rough.move, stiff)
        if held.gap < best.gap:
            best = held
        revised = found.revised(held.move.residual, held.move.alpha, problem)
        if revised.same(found):
            break
        found = revised
    if best is rough:
        size = np.abs(rough.move.alpha)
        alpha = np.where(size > _NOTHING * min(C, float(size.max())), rough.move.alpha, 0.0)
        fit = rough.move.fit._replace(coef=problem.system.represent(alpha))
        cut = candidate(problem, fit, alpha)
        return cut if cut.gap <= max(tol, rough.gap) else rough
    return best


def candidate(problem: Column, fit: Fit, alpha: Array) -> Candidate:
    """Measure a fit with its multipliers."""
    move = Move(fit, problem.system.residual(fit), alpha)
    return Candidate(move, *problem.measure(move))


def _held(problem: Column, active: ActiveSet, start: Move, stiff: float) -> Candidate:
    """The solution with r at the edge of the tube where alpha is free, and alpha given elsewhere.

    That is asked for by a large q and Lagrange's correction, so that the factorisation is of the
    kind that all steps use.
    """
    system = problem.system
    q = np.where(active.free, stiff, 0.0)
    solve = system.factor(q[:, 0])
    alpha = np.where(active.free, start.alpha, active.fixed)
    fit = start.fit._replace(coef=system.represent(alpha))
    best = None
    for _ in range(_CORRECTIONS):
        missing = problem.missing(fit, alpha)
        load = q * (problem.epsilon * active.edge - system.residual(fit))
        move = solve(load, missing.graph_coef, missing.intercept)
        fit = Fit(*(a + b for a, b in zip(fit, move.fit, strict=True)))
        alpha = alpha + move.alpha
        found = candidate(problem, fit, alpha)
        if best is not None and not found.gap < best.gap / 2:
            break
        best = found
    assert best is not None
    return best
