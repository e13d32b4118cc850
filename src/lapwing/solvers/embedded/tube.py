r"""LapESVR: embedded regression with the epsilon-insensitive loss, by an interior point method.

The problem is that of `lapwing.solvers.embedded.systems` with the loss C max(0, |r_i| - epsilon) of
r = f + b - g. With slacks xi of r <= epsilon + xi and of -r <= epsilon + xi* and their multipliers
beta, beta* in [0, C], alpha = beta* - beta (errata E4) solves the dual (18). A primal-dual step
(Mehrotra's predictor-corrector) takes one factorisation of the problem with a quadratic loss, so
that the kernel matrix and features use the same code, and components of the graph without a label
need no extra condition. The number of steps, 10 to 30, hardly depends on the parameters. Rejected:
sequential minimal optimisation, the paper's choice. The eigenvalues of K_G differ by many orders of
magnitude, so that it stops far from the optimum or not at all (errata E7).

The start satisfies all linear equations. Steps are computed as changes, so that the equations stay
satisfied up to rounding of the changes; recomputed residuals would be multiplied by q, which grows
without bound at the edge of the tube.

The last iterate has multipliers of 1e-9 where the optimum has 0. It is therefore polished: given
the sets of points with r at an edge of the tube, inside and outside, the solution follows from
linear equations; points at which it violates an optimality condition are moved to another set.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from lapwing._arrays import Array
from lapwing._host.memory import available_memory
from lapwing._host.threads import available_threads, share, single_blas_thread
from lapwing.solvers.base import Result, Serialized, Settings, Status, join_columns, no_state
from lapwing.solvers.embedded.systems import (
    EmbeddedResult,
    EmbeddedState,
    EmbeddedSystem,
    Fit,
    Move,
    StepSolver,
)

# Comparisons with other values: 18 fits of 60 points, with C from 1e-2 to 1e6 and epsilon 0 and
# 0.05. With these values they take 110 steps in all, and end at gaps of at most 2e-7.

# Least stiffness 1/q, relative to the trace of K: beside q K four digits of the identity are left.
# With 1e-9 scores change by 1e-4.
_LEAST_STIFFNESS = 1e-12
# Steps that reduce complementarity by less than a tenth, due to rounding; 2 and 10 change nothing.
_MAX_STALLED = 5
# Fraction of the tolerance: complementarity below which steps gain nothing. Without it there are
# 125 steps, and with 1e-2 objectives are 3e-9 higher.
_ROUNDING = 1e-4
# q of points at the edge of the tube, in units of C / (mean slack). With 100 scores change by
# 0.005, with 1e6 not at all.
_EDGE_PENALTY = 1e4
_SOFT = 1e-5  # fraction of the largest such q, see `_finish`; none of these fits needs it
_BACK_OFF = 0.995  # fraction of the way to the boundary, the usual value
_SIGNS = np.array([[1.0], [-1.0]])  # signs of r in the two constraints


class TubeState(NamedTuple):
    """Solution of a column with its multipliers."""

    fit: Fit
    alpha: Array  # (n,), in [-C, C]


TubeResult: TypeAlias = Result[TubeState, float]

DEFAULTS = Settings[None](tol=1e-6, max_iter=200)


class _Iterate(NamedTuple):
    """Iterate, or change of an iterate; arrays of the constraints are (2, n)."""

    fit: Fit
    alpha: Array  # (n, 1)
    r: Array  # (n,)
    xi: Array
    slack: Array
    beta: Array

    def complementarity(self, C: float) -> float:
        return float((self.beta * self.slack).sum() + ((C - self.beta) * self.xi).sum())

    def plus(self, t: float, move: _Iterate) -> _Iterate:
        arrays = (a + t * b for a, b in zip(self[1:], move[1:], strict=True))
        return _Iterate(self.fit.plus(t, move.fit), *arrays)


def tube_regression(
    system: EmbeddedSystem,
    C: float,
    epsilon: float,
    settings: Settings[None] = DEFAULTS,
    *,
    n_threads: int = 1,
) -> EmbeddedResult:
    """Fit LapESVR for all columns; see `fit_tube` for the parameters.

    All columns share the first factorisation, which has equal weights q. Later weights depend on
    the multipliers of the column, so columns are fitted in threads, with one thread of BLAS each.
    `settings.on_iteration` is called by these threads, one at a time.
    """
    n_columns = system.side.n_columns
    watched = Serialized(settings.on_iteration)
    own = replace(settings, on_iteration=watched)
    start = _start(system, float(C))

    def fit(j: int) -> TubeResult:
        column = replace(system, side=system.side.column(j))
        return fit_tube(column, C, epsilon, own, start=start.column(j))

    try:
        with single_blas_thread() if n_threads > 1 else nullcontext():
            fits = share(n_threads, fit, range(n_columns))
    except BaseException:
        watched.stop()  # an interrupt is raised in this thread only
        raise
    parts = zip(*(one.state.fit for one in fits), strict=True)
    joined = Fit(*(np.concatenate(columns, axis=-1) for columns in parts))
    virtual = system.side.values(joined.graph_coef)
    alpha = np.column_stack([one.state.alpha for one in fits])
    return join_columns(fits, EmbeddedState(joined.coef, joined.intercept, virtual, alpha))


def column_threads(n_columns: int, n_bytes: float = 0.0) -> int:
    """Return the number of threads for columns: one if BLAS is faster or memory is short.

    Parameters
    ----------
    n_columns : int
        Number of targets.
    n_bytes : float, default=0.0
        Memory of the factorisation for one column, if it is known.
    """
    available = available_threads()
    # In factorisations of this size, k threads of BLAS are about k / 2 times as fast as one.
    if 2 * n_columns < available:
        return 1
    free = available_memory()
    room = n_columns if free is None else int(free // max(n_bytes, 1.0))
    return max(1, min(available, n_columns, room))


# Overflow, with weights of 1e300, is detected by the gap, which is then far from 0.
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def fit_tube(
    system: EmbeddedSystem,
    C: float,
    epsilon: float,
    settings: Settings[None] = DEFAULTS,
    *,
    start: Move | None = None,
) -> TubeResult:
    """Fit LapESVR for one column.

    Parameters
    ----------
    system : EmbeddedSystem
        With a single target.
    C : float
        Weight of the loss, and the bound of alpha.
    epsilon : float
        Half width of the tube, >= 0.
    settings : Settings, optional
        `tol` is the tolerance of the relative duality gap; 1e-6 and 200 steps by default.
    start : Move, optional
        Solution for the squared loss with the weight C, if it is known.
    """
    problem, tol = Column(system, float(C), float(epsilon)), settings.tol
    start = _inside(problem, _start(system, float(C)) if start is None else start)
    if not start.residual.any():
        energy = problem.energy(start.fit)
        state = TubeState(start.fit, start.alpha[:, 0])
        return Result(state, energy, 0.0, 1, Status.CONVERGED)
    best = point = _first_point(problem, start)
    status, n_iter, gap, stalled = Status.MAX_ITER, 0, np.inf, 0
    floor = _LEAST_STIFFNESS * system.trace()
    while n_iter < settings.max_iter and status == Status.MAX_ITER:
        point = _step(problem, point, floor)
        n_iter += 1
        level = point.complementarity(problem.C)
        if not level < 0.9 * gap:
            stalled += 1
        if level < gap:
            gap, best = level, point
        reference = problem.reference(problem.energy(best.fit), problem.loss(best.r), best.fit)
        relative = gap / reference
        if settings.on_iteration(no_state):
            status = Status.CALLBACK
        # With small complementarity, rounding errors in the other conditions dominate the gap.
        elif relative <= tol and problem.rate(best.fit, best.alpha).gap <= tol:
            status = Status.CONVERGED
        elif stalled >= _MAX_STALLED or relative <= _ROUNDING * tol:
            status = Status.PRECISION
    move, primal, relative = _finish(problem, best, floor, tol)
    if status != Status.CALLBACK and relative <= tol:
        status = Status.CONVERGED
    alpha = np.clip(move.alpha[:, 0], -problem.C, problem.C)
    return Result(TubeState(move.fit, alpha), primal, relative, n_iter, status)


def _finish(problem: Column, best: _Iterate, floor: float, tol: float) -> RatedMove:
    """Solve on the active set of the last iterate."""
    rough = problem.rate(best.fit, best.alpha)
    largest = 1 / max(floor, float(np.finfo(np.float64).tiny))
    # Exact zeros of alpha matter only if alpha are the coefficients (support vectors).
    if problem.system.expands or rough.gap > tol:
        active, scale = _active_set(problem, best)
        rough = polished(
            problem, rough, active, min(_EDGE_PENALTY * problem.C / scale, largest), tol
        )
    if rough.gap > tol and problem.epsilon == 0:
        # With a large C few multipliers are at bounds, and rounding stops the steps before the
        # active set is known. A smaller q keeps all terms of the factorisation accurate.
        everywhere = ActiveSet.everywhere(len(best.r))
        rough = polished(problem, rough, everywhere, _SOFT * largest, tol)
    return rough


def _start(system: EmbeddedSystem, C: float) -> Move:
    """Solve for the squared loss with the weight C, all columns."""
    shape = (system.n_points, system.side.n_columns)
    return system.factor(np.full(shape[0], C))(np.zeros(shape), system.side.pull)


def _inside(problem: Column, move: Move) -> Move:
    """Solve for the squared loss with a weight so small that alpha is inside the box."""
    n = problem.system.n_points
    q = problem.C
    while True:
        largest = float(np.abs(move.alpha).max())
        if not largest > 0.8 * problem.C:  # NaN stops as well
            return move
        q *= 0.5 * problem.C / largest
        move = problem.system.factor(np.full(n, q))(np.zeros((n, 1)), problem.system.side.pull)


def _first_point(problem: Column, start: Move) -> _Iterate:
    """Choose slacks consistent with r and multipliers consistent with alpha, all well inside."""
    r, alpha = start.residual[:, 0], start.alpha[:, 0]
    xi = np.maximum(_SIGNS * r - problem.epsilon, 0) + np.abs(r).mean()
    slack = problem.epsilon + xi - _SIGNS * r
    return _Iterate(start.fit, start.alpha, r, xi, slack, (problem.C - _SIGNS * alpha) / 2)


def _step(problem: Column, at: _Iterate, floor: float) -> _Iterate:
    """Take a predictor-corrector step with one factorisation.

    Stiffnesses are at least `floor`: at an edge of the tube q K would otherwise exceed the
    identity, which makes the system regular, by more than the working precision.
    """
    C, size = problem.C, 2 * at.beta.size
    stiffness = np.maximum(at.slack / at.beta + at.xi / (C - at.beta), floor)
    solve = problem.system.factor((1 / stiffness).sum(axis=0))
    level = at.complementarity(C) / size
    upper, lower = -at.beta * at.slack, -(C - at.beta) * at.xi
    move = _direction(problem, solve, at, stiffness, upper, lower)
    reached = at.plus(_longest(at, move, C, 1.0), move).complementarity(C) / size
    centred = (reached / level) ** 3 * level
    upper = upper + centred - move.beta * move.slack
    lower = lower + centred + move.beta * move.xi
    move = _direction(problem, solve, at, stiffness, upper, lower)
    return at.plus(_longest(at, move, C, _BACK_OFF), move)


def _direction(
    problem: Column, solve: StepSolver, at: _Iterate, stiffness: Array, upper: Array, lower: Array
) -> _Iterate:
    """Compute the Newton step for given changes of beta slack and (C - beta) xi."""
    shift = upper / at.beta - lower / (problem.C - at.beta)
    load = -(_SIGNS * shift / stiffness).sum(axis=0)
    move = solve(load[:, None], np.zeros_like(problem.system.side.pull))
    # The change of r is computed from that of alpha. If it were computed from the values, beta
    # would drift away from alpha, as rounding errors are divided by a stiffness that tends to 0.
    change = (load - move.alpha[:, 0]) / (1 / stiffness).sum(axis=0)
    beta = (_SIGNS * change + shift) / stiffness
    xi = (lower + at.xi * beta) / (problem.C - at.beta)
    dr = move.residual[:, 0]
    return _Iterate(move.fit, move.alpha, dr, xi, xi - _SIGNS * dr, beta)


def _longest(at: _Iterate, move: _Iterate, C: float, back_off: float) -> float:
    """Return the largest step <= 1 that keeps slacks and multipliers inside their bounds."""
    longest = 1.0
    pairs = ((at.beta, move.beta), (C - at.beta, -move.beta), (at.slack, move.slack))
    for value, change in (*pairs, (at.xi, move.xi)):
        falling = change < 0
        if falling.any():
            longest = min(longest, back_off * float((-value[falling] / change[falling]).min()))
    return longest


def _active_set(problem: Column, at: _Iterate) -> tuple[ActiveSet, float]:
    """Return the active set: of each complementary pair, the factor that is smaller when scaled.

    Also returns the mean slack, which is the scale of the slacks; that of the multipliers is C.
    """
    C, scale = problem.C, float(np.mean(at.slack + at.xi))
    active = at.beta / C > at.slack / scale
    bound = active & ((C - at.beta) / C < at.xi / scale)
    free = active.any(axis=0) & ~bound.any(axis=0)
    return ActiveSet(
        np.asarray(free)[:, None],
        (_SIGNS * active).sum(axis=0)[:, None] * (problem.epsilon > 0),
        -(_SIGNS * bound * C).sum(axis=0)[:, None],
    ), scale


_ROUNDED = 1e-8  # relative to the objective at g = 0: smaller objectives are rounding errors
# Rounding error of g in the loss that gaps may have: in units of eps, and at most times the energy.
_LOSS_ROUNDED, _MOST_ROUNDED = 1e7, 1e3
# Of the multipliers in `_solve_at_edge`; each gains more digits the larger q is. In the fits above
# one leaves a gap of 0.007, and two gain all but 5e-8 of the objective.
_CORRECTIONS = 5
_REVISIONS = 8  # of the active set; with one scores change by 0.01, with four by 1e-11
_ZERO = 1e-7  # relative to C or, if smaller, to the largest multiplier; 0 and 1e-5 change nothing


@dataclass(frozen=True, eq=False)
class Column:
    """System with a single target, with its loss."""

    system: EmbeddedSystem
    C: float
    epsilon: float

    def loss(self, r: Array) -> float:
        """Compute the loss of residuals."""
        return float(self.C * np.maximum(np.abs(r) - self.epsilon, 0).sum())

    def energy(self, fit: Fit) -> float:
        """Compute the objective without the loss."""
        return float(self.system.norm(fit)[0] / 2 + self.system.side.energy(fit.graph_coef)[0])

    def reference(self, energy: float, loss: float, fit: Fit) -> float:
        """Return the scale of gaps: the objective, but at least the rounding error at g = 0.

        It is also at least the rounding error of g in the loss, up to a limit: for small targets,
        in whose units C is large, the gaps of exact solutions are many times the rounding error.
        """
        constant = float(self.system.side.constant[0])
        size = self.C * float(np.abs(self.system.side.values(fit.graph_coef)).sum())
        rounding = min(
            _LOSS_ROUNDED * float(np.finfo(np.float64).eps) * size, _MOST_ROUNDED * energy
        )
        tiny = float(np.finfo(np.float64).tiny)
        return max(energy + loss, _ROUNDED * constant, rounding, tiny)

    def missing(self, fit: Fit, alpha: Array) -> Fit:
        """Compute the residual of the linear optimality conditions, in the form `factor` takes.

        The conditions are f = K alpha, basis' alpha + S z = pull and, with a bias, 1' alpha = 0.
        """
        system = self.system
        return Fit(
            system.represent(alpha) - fit.coef,
            -alpha.sum(axis=0) * system.fit_intercept,
            system.side.missing(fit.graph_coef, alpha),
        )

    def rate(self, fit: Fit, alpha: Array) -> RatedMove:
        """Compute the objective and the relative duality gap of a fit with its multipliers.

        For stationary (f, g, b, alpha) the duality gap is the sum over the points of
        C max(0, |r| - epsilon) + epsilon |alpha| + alpha r, each term >= 0. The violations of
        stationarity and of |alpha| <= C are added.
        """
        move = Move(fit, self.system.residual(fit), alpha)
        r, cut = move.residual, np.clip(alpha, -self.C, self.C)
        losses = self.C * np.maximum(np.abs(r) - self.epsilon, 0)
        gap = float((losses + self.epsilon * np.abs(cut) + cut * r).sum())
        energy, loss = self.energy(fit), float(losses.sum())
        leak = sum(
            float(np.abs(part * missing).sum())
            for part, missing in zip(fit, self.missing(fit, alpha), strict=True)
        )
        outside = float(np.abs(alpha - cut).max()) / self.C
        relative = (abs(gap) + leak) / self.reference(energy, loss, fit) + outside
        return RatedMove(move, energy + loss, relative)


class RatedMove(NamedTuple):
    """Solution with its objective and duality gap."""

    move: Move
    primal: float
    gap: float


@dataclass(frozen=True, eq=False)
class ActiveSet:
    """Free entries of alpha, and the values of the fixed ones; all (n, 1)."""

    free: Array  # bool: r is at an edge of the tube
    edge: Array  # which edge: -1, +1, or 0 if epsilon is 0
    fixed: Array  # fixed values of alpha: 0, -C or C

    @classmethod
    def everywhere(cls, n: int) -> ActiveSet:
        """Return the active set in which all points have r = 0, for epsilon = 0."""
        return cls(np.ones((n, 1), dtype=bool), np.zeros((n, 1)), np.zeros((n, 1)))

    def revised(self, r: Array, alpha: Array, problem: Column) -> ActiveSet:
        """Free or fix the points that violate an optimality condition."""
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
    problem: Column, rough: RatedMove, active: ActiveSet, stiff: float, tol: float
) -> RatedMove:
    """Solve on the active set, so that alpha is exactly 0 or +-C outside of it.

    If no active set gives a smaller gap (degenerate problems), small alpha are set to 0 if the gap
    stays within the tolerance.

    Parameters
    ----------
    problem : Column
    rough : RatedMove
        Solution near the optimum.
    active : ActiveSet
        Initial active set.
    stiff : float
        q of points at an edge of the tube.
    tol : float
        Tolerance of the gap.
    """
    C, best, found = problem.C, rough, active
    for _ in range(_REVISIONS):
        solved = _solve_at_edge(problem, found, rough.move, stiff)
        if solved.gap < best.gap:
            best = solved
        revised = found.revised(solved.move.residual, solved.move.alpha, problem)
        if revised.same(found):
            break
        found = revised
    if best is rough:
        size = np.abs(rough.move.alpha)
        alpha = np.where(size > _ZERO * min(C, float(size.max())), rough.move.alpha, 0.0)
        fit = rough.move.fit._replace(coef=problem.system.represent(alpha))
        cut = problem.rate(fit, alpha)
        return cut if cut.gap <= max(tol, rough.gap) else rough
    return best


def _solve_at_edge(problem: Column, active: ActiveSet, start: Move, stiff: float) -> RatedMove:
    """Solve with r at the edge of the tube where alpha is free, and with fixed alpha elsewhere.

    The edge condition is imposed by a large q and corrections of the multipliers, so that the
    factorisation is the same as in the other steps.
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
        fit = fit.plus(1.0, move.fit)
        alpha = alpha + move.alpha
        found = problem.rate(fit, alpha)
        if best is not None and not found.gap < best.gap / 2:
            break
        best = found
    assert best is not None
    return best
