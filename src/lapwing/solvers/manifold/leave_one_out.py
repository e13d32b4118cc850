r"""Leave-one-out values of the supervised problem on labelled points.

For piecewise quadratic losses they are computed from the solution (`follow_pieces`). For other
losses the problem is solved again on l - 1 labels, as for all losses if W T is so large that
inverses lose half of the digits (`digits_lost`), such as for a linear kernel of large features.

A column of the solution is a ridge regression on its active set E, the observations at which the
loss has curvature d > 0; z are the minima of their quadratic pieces:

.. math:: \begin{pmatrix} T_{EE} + D^{-1} & 1 \\ 1^T & 0 \end{pmatrix}
          \begin{pmatrix} \beta \\ b \end{pmatrix} = \begin{pmatrix} z \\ 0 \end{pmatrix} .

The principal pivot transform of this matrix A on E gives the solution for any other active set: a
system in the observations S that enter or leave E, and one product for all other scores. To leave
out observation i of E, S starts as {i}, so that the left-out score is z_i - beta_i / (A^-1)_ii
(Cawley and Talbot, "Fast exact leave-one-out cross-validation of sparse least-squares support
vector machines", Neural Networks 17, 2004). This is exact if every other score stays on its piece.
Otherwise the observations whose scores changed pieces are added to S until no score does. These are
full Newton steps, taken for all observations of many columns at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from lapwing._arrays import Array, row_blocks
from lapwing.linalg import equal_columns
from lapwing.losses.base import Kind
from lapwing.losses.labeled import Squared
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.manifold.dual import solve_reduced
from lapwing.solvers.manifold.settings import DEFAULTS, ManifoldSettings
from lapwing.solvers.ridge import Observations, digits_lost, ridge_left_out_fits, ridge_path


def left_out_values(
    reduced: Objective,
    solution: State,
    wanted: Array,
    settings: ManifoldSettings = DEFAULTS,
) -> Array:
    """Compute the score of each observation by the solution without it.

    Parameters
    ----------
    reduced : Objective
        Problem on the kernel matrix of the labelled points, with gamma_A = 1, without a graph.
    solution : State
        Minimum of the problem.
    wanted : ndarray of bool of shape (l,)
        Observations to leave out.
    settings : ManifoldSettings, optional
        Settings of the solver for problems that have to be solved again.

    Returns
    -------
    ndarray of shape (l, c)
        NaN if not wanted.
    """
    values = reduced.labeled(solution.values).astype(np.float64)
    remaining = np.broadcast_to(wanted[:, None], values.shape).copy()
    T = reduced.space.gram()
    lost = digits_lost(reduced.weights @ np.diag(T)[reduced.index])
    if lost and type(reduced.loss) is Squared:
        each = Observations(reduced.index, reduced.targets, reduced.weights, wanted)
        values, remaining[:] = _ridge_values(T, each, bias=reduced.fit_intercept), False
    elif lost and reduced.loss.kind.differentiable:
        remaining &= _matters(reduced, values)
    elif reduced.loss.kind is Kind.PIECEWISE_QUADRATIC and not lost:
        values, remaining = follow_pieces(reduced, values, remaining)
    for i in np.flatnonzero(remaining.any(axis=1)).tolist():
        columns = np.flatnonzero(remaining[i])
        values[i, columns] = _refit(reduced, i, columns, settings)
    return np.where(wanted[:, None], values, np.nan)


def _matters(reduced: Objective, scores: Array) -> Array:
    """Return the mask of the observations whose slope is not 0, or is 0 by rounding.

    With a large kernel, slopes below the rounding error of the scores have an effect.
    """
    half = np.sqrt(np.finfo(np.float64).eps)
    slopes = [reduced.loss.derivative(reduced.targets, scores * (1 + s)) for s in (-half, half)]
    return np.asarray((slopes[0] != 0) | (slopes[1] != 0))


def _refit(reduced: Objective, i: int, columns: Array, settings: ManifoldSettings) -> Array:
    """Solve without observation i, and return its scores."""
    kept = np.arange(len(reduced.index)) != i
    rest = replace(
        reduced,
        index=reduced.index[kept],
        targets=reduced.targets[np.ix_(kept, columns)],
        weights=reduced.weights[kept],
    )
    found = solve_reduced(rest, settings)
    return np.asarray(found.state.values[reduced.index[i]])


def _ridge_values(T: Array, observations: Observations, *, bias: bool) -> Array:
    """Compute the left-out scores of a ridge regression from which an inverse would lose digits."""
    return ridge_path(T, np.ones(1), observations, bias=bias, constant=bias).left_out[0]


def one_step_values(reduced: Objective, scores: Array) -> Array:
    """Approximate the left-out score of each observation by one Newton step.

    Parameters
    ----------
    reduced : Objective
        Problem on the labelled points, with gamma_A = 1, without a graph, and with a
        differentiable loss.
    scores : ndarray of shape (l, c)
        Scores of the observations at its minimum.

    Returns
    -------
    ndarray of shape (l, c)
        NaN if a matrix is singular in double precision.
    """
    y, w, loss = reduced.targets, reduced.weights[:, None], reduced.loss
    scores = np.asarray(scores, dtype=np.float64)
    slopes, curvatures = w * loss.derivative(y, scores), w * loss.curvature(y, scores)
    T = reduced.space.gram()[np.ix_(reduced.index, reduced.index)]
    values = scores.copy()  # leaving out an observation of slope 0 changes nothing
    for d, columns in equal_columns(curvatures):
        E = np.flatnonzero(d)
        if not len(E):
            continue
        at = np.ix_(E, columns)
        if digits_lost(d[E] @ np.diag(T)[E]):
            minimum = scores[at] - slopes[at] / d[E][:, None]
            each = Observations(E, minimum, d[E], E >= 0)
            values[at] = _ridge_values(T, each, bias=reduced.fit_intercept)
            continue
        found = _inverse(T[np.ix_(E, E)], d[E], bias=reduced.fit_intercept)
        diagonal = np.full(len(E), np.nan) if found is None else np.diag(found[0])
        diagonal = np.where(diagonal > 0, diagonal, np.nan)
        values[at] = scores[at] - slopes[at] / d[E][:, None] + slopes[at] / diagonal[:, None]
    return values


def ridge_left_out_solutions(reduced: Objective) -> tuple[Array, Array] | None:
    r"""Compute the solutions without each observation, by one inverse.

    Let :math:`B` be the inverse of :math:`T_{LL} + W^{-1}`, projected if there is a free bias,
    :math:`\beta = B y`, and :math:`r_i = \beta_i / B_{ii}` the left-out residual. The fit without i
    equals the fit to :math:`y_i - r_i` in place of :math:`y_i`: :math:`\beta - r_i B e_i`.

    Parameters
    ----------
    reduced : Objective
        Problem on the labelled points, with gamma_A = 1, without a graph, with the squared loss
        and one column; on q points.

    Returns
    -------
    tuple of ndarray, or None
        Expansion coefficients (q, l) and intercepts (l,), a column for each solution; None if there
        is only one observation, or the matrix is singular in double precision.
    """
    l, y = len(reduced.index), reduced.targets[:, 0]
    T = reduced.space.gram()[np.ix_(reduced.index, reduced.index)]
    if l > 1 and digits_lost(reduced.weights @ np.diag(T)):
        each = Observations(reduced.index, reduced.targets, reduced.weights, np.ones(l, dtype=bool))
        alpha, bias = ridge_left_out_fits(T, each, bias=reduced.fit_intercept)
        coef = np.zeros((reduced.space.n_coef, l))
        np.add.at(coef, reduced.index, alpha)
        return coef, bias
    found = _inverse(T, reduced.weights, bias=reduced.fit_intercept)
    if found is None or l < 2:
        return None
    B, bias = found
    beta, diagonal = B @ y, np.diag(B)
    if not (diagonal > 0).all():
        return None
    residuals = beta / diagonal
    coef = np.zeros((reduced.space.n_coef, l))
    np.add.at(coef, reduced.index, beta[:, None] - B * residuals)
    return coef, bias @ y - bias * residuals


def _inverse(T: Array, weights: Array, *, bias: bool) -> tuple[Array, Array] | None:
    """Return B = (T + W^-1)^-1, projected if there is a free bias, and the bias of unit targets.

    None if the matrix is singular in double precision.
    """
    l = len(weights)
    A = T.copy()
    A.flat[:: l + 1] += 1 / weights
    # Takes a third of the operations of `inv`, which would dominate if every row has a label.
    factor, failed = lapack.dpotrf(A, lower=1, overwrite_a=1)
    if failed:
        return None
    lower, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    B = np.tril(lower) + np.tril(lower, -1).T
    if not bias:
        return B, np.zeros(l)
    sums = B.sum(axis=0)
    shares = sums / sums.sum()
    return B - np.outer(sums, shares), shares


# Comparisons with other values: 60 and 200 labels, two columns and the squared hinge.

# Relative: by rounding, a score at a break may be on either piece. Scores are equal from 1e-14 to
# 1e-8.
_SLOPE_TOL = 1e-10
# As full steps may cycle; of 1840 scores 49 do not settle in 3 rounds, 4 in 5 and none in 20.
_MAX_ROUNDS = 20
# Observations that change pieces; with more, a new fit is as fast. 16 are enough for all but one.
_MAX_CHANGES = 64
_BLOCK_BYTES = 2**22  # of the transforms of columns processed together
# Of the scores processed together. 2**16 takes 1.5 times as long, 2**23 as long.
_TILE_BYTES = 2**19


@dataclass(frozen=True, eq=False)
class _PieceColumns:
    """Solutions of g columns, with the piece of the loss of each score; shapes are (g, l).

    Attributes
    ----------
    y, scores : ndarray
    weights : ndarray of shape (l,)
    curvature : ndarray
        d, 0 outside E.
    minimum : ndarray
        z, where d > 0.
    beta : ndarray
        Coefficients, 0 outside E.
    steepness : ndarray
        d, 1 outside E.
    pivoted : ndarray of shape (g, l, l)
        Transposes of the principal pivot transforms of T + D^-1.
    """

    y: Array
    scores: Array
    weights: Array
    curvature: Array
    minimum: Array
    beta: Array
    steepness: Array
    pivoted: Array


class _Trial(NamedTuple):
    """Trial active sets of q solutions, each without one observation.

    Only changes are stored: an entry is an observation that enters or leaves the active set of its
    column in one of the solutions. The entries of a solution are consecutive.
    """

    column: Array  # (q,): index among the g columns
    left_out: Array  # (q,): observation
    rows: Array  # (m,): solution of each entry
    entries: Array  # (m,): observation of each entry
    curvature: Array  # (m,): d, 0 if it leaves E
    minimum: Array  # (m,): z

    @classmethod
    def leaving(cls, column: Array, left_out: Array) -> _Trial:
        """Make the first trial: only the left-out observation leaves the active set."""
        zeros = np.zeros(len(left_out))
        return cls(column, left_out, np.arange(len(left_out)), left_out, zeros, zeros)

    def take(self, which: Array) -> _Trial:
        """Select solutions by a mask."""
        of = which[self.rows]
        rows = (np.cumsum(which) - 1)[self.rows[of]]
        return _Trial(
            self.column[which], self.left_out[which], rows, *(part[of] for part in self[3:])
        )


def follow_pieces(reduced: Objective, scores: Array, wanted: Array) -> tuple[Array, Array]:
    """Compute left-out scores from a solution with a piecewise quadratic loss.

    Parameters
    ----------
    reduced : Objective
        Problem on a kernel matrix, with gamma_A = 1 and without a graph.
    scores : ndarray of shape (l, c)
        Scores of the observations at its minimum.
    wanted : ndarray of bool of shape (l, c)

    Returns
    -------
    values : ndarray of shape (l, c)
        Left-out scores; `scores` if not wanted or without a result.
    remaining : ndarray of bool of shape (l, c)
        Wanted observations without a result, as the steps did not settle.
    """
    y, w, loss = reduced.targets, reduced.weights[:, None], reduced.loss
    slopes, curvatures = w * loss.derivative(y, scores), w * loss.curvature(y, scores)
    values, remaining = scores.copy(), wanted.copy()
    linear = ((curvatures == 0) & (slopes != 0)).any(axis=0)  # no quadratic piece to solve on
    solvable = ~linear & (curvatures > 0).any(axis=0) & wanted.any(axis=0)
    remaining &= ~solvable | (curvatures > 0)  # leaving out an inactive one changes nothing
    T = reduced.space.gram()[np.ix_(reduced.index, reduced.index)]
    solvable_columns = np.flatnonzero(solvable)
    for rows in row_blocks(len(solvable_columns), T.nbytes, _BLOCK_BYTES):
        at = solvable_columns[rows]
        columns = _transform(reduced, T, at, scores[:, at].T, slopes[:, at].T, curvatures[:, at].T)
        pairs = np.stack(np.nonzero(remaining[:, at].T))
        for some in row_blocks(pairs.shape[1], T.itemsize * len(T), _TILE_BYTES):
            for j, i, found in _solve_without(reduced, columns, *pairs[:, some]):
                values[i, at[j]], remaining[i, at[j]] = found, False
    return values, remaining


def _transform(
    reduced: Objective, T: Array, at: Array, scores: Array, slopes: Array, curvatures: Array
) -> _PieceColumns:
    """Compute the pivot transforms of some columns; columns with equal curvatures share one."""
    pivoted = np.empty((len(at), *T.shape))
    for d, same in equal_columns(curvatures.T):
        pivoted[same] = _pivoted(T, d, bias=reduced.fit_intercept)
    steepness = np.where(curvatures > 0, curvatures, 1.0)
    minimum = scores - slopes / steepness
    y = np.ascontiguousarray(reduced.targets[:, at].T)
    return _PieceColumns(
        y, scores, reduced.weights, curvatures, minimum, -slopes, steepness, pivoted
    )


def _pivoted(T: Array, d: Array, *, bias: bool) -> Array:
    """Compute the principal pivot transform (l, l), transposed, of T + D^-1 with bias on d > 0."""
    E, rest = np.flatnonzero(d), np.flatnonzero(d == 0)
    e = len(E)
    A = np.zeros((e + bias, e + bias))
    A[:e, :e] = T[np.ix_(E, E)]
    A.flat[: e * (e + bias) : e + bias + 1] += 1 / d[E]
    A[e:, :e] = A[:e, e:] = 1.0
    inverse = np.linalg.inv(A)
    found = np.empty_like(T)
    found[np.ix_(E, E)] = inverse[:e, :e]
    if len(rest):
        beside = np.ones((e + bias, len(rest)))
        beside[:e] = T[np.ix_(E, rest)]
        pulls = inverse @ beside
        found[np.ix_(rest, E)] = pulls[:e].T
        found[np.ix_(E, rest)] = -pulls[:e]
        found[np.ix_(rest, rest)] = T[np.ix_(rest, rest)] - beside.T @ pulls
    return found


def _solve_without(
    reduced: Objective, columns: _PieceColumns, column: Array, left_out: Array
) -> Iterator[tuple[Array, Array, Array]]:
    """Yield arrays (columns, observations of E, left-out scores) in the order they settle."""
    others = np.count_nonzero(columns.curvature, axis=1)[column] > 1
    trial = _Trial.leaving(column[others], left_out[others])
    for _ in range(_MAX_ROUNDS):
        scores = _scores(columns, trial) if len(trial.left_out) else None
        if scores is None:
            return
        done, next_trial = _check_slopes(reduced, columns, trial, scores)
        at = trial.left_out[done]
        yield trial.column[done], at, scores[np.flatnonzero(done), at]
        trial = next_trial


def _check_slopes(
    reduced: Objective, columns: _PieceColumns, trial: _Trial, scores: Array
) -> tuple[Array, _Trial]:
    """Compare the slopes of the loss with those of the trial pieces.

    Returns the mask of the solutions in which they agree, and the next trial of the others.
    """
    d = columns.curvature[trial.column]
    slopes = columns.weights * reduced.loss.derivative(columns.y[trial.column], scores)
    difference = d * (scores - columns.minimum[trial.column])
    at = trial.rows, trial.entries
    difference[at] = trial.curvature * (scores[at] - trial.minimum)
    np.subtract(slopes, difference, out=difference)
    difference[np.arange(len(difference)), trial.left_out] = 0.0
    # A cheap test that most solutions pass; for the others rounding errors are estimated.
    done = (np.abs(difference) <= _SLOPE_TOL * d).all(axis=1)
    rest = ~done
    agree, following = _next_trial(
        reduced, columns, trial.take(rest), scores[rest], difference[rest]
    )
    done[rest] = agree
    return done, following


def _next_trial(
    reduced: Objective, columns: _PieceColumns, trial: _Trial, scores: Array, difference: Array
) -> tuple[Array, _Trial]:
    """Move observations to the pieces that their scores are on.

    Returns the mask of the solutions whose slopes agree to rounding, and the next trial of the
    others.
    """
    y, inside = columns.y[trial.column], columns.curvature[trial.column] > 0
    d, z = columns.curvature[trial.column], columns.minimum[trial.column]
    at = trial.rows, trial.entries
    d[at], z[at] = trial.curvature, trial.minimum
    active = d > 0
    slope = columns.weights * reduced.loss.derivative(y, scores)
    curvature = columns.weights * reduced.loss.curvature(y, scores)
    size = np.abs(d * (scores - z)) + np.abs(slope) + curvature + d * (np.abs(scores) + 1)
    agree = np.abs(difference) <= _SLOPE_TOL * size
    after = np.where(agree, active, curvature > 0)
    # An active set does not distinguish two quadratic pieces, nor a linear piece from a flat one.
    known = agree | ((after != active) & (after | (slope == 0)))
    done = agree.all(axis=1)
    changed = after != inside
    n_changed = np.count_nonzero(changed, axis=1)
    moving = ~done & known.all(axis=1) & after.any(axis=1) & (n_changed <= _MAX_CHANGES)
    rows, entries = np.nonzero(changed[moving])
    at = np.flatnonzero(moving)[rows], entries
    stays = agree[at]
    divisor = np.where(curvature[at] > 0, curvature[at], 1.0)
    return done, _Trial(
        trial.column[moving],
        trial.left_out[moving],
        rows,
        entries,
        np.where(after[at], np.where(stays, d[at], curvature[at]), 0.0),
        np.where(stays, z[at], scores[at] - slope[at] / divisor),
    )


def _scores(columns: _PieceColumns, trial: _Trial) -> Array | None:
    """Compute the scores (q, l) for the trial sets; None if one of the systems is singular."""
    column, _, rows, entries, d, z = trial
    found = _changes(columns, trial)
    if found is None:
        return None
    l = columns.scores.shape[1]
    transforms = columns.pivoted.reshape(-1, l)  # stacked
    places = (rows, column[rows] * l + entries)
    moves = sp.csr_array((found, places), shape=(len(column), len(transforms)))
    # Changes of -beta at active observations, and of the scores at the others.
    scores = np.asarray(moves @ transforms)
    scores /= columns.steepness[column]
    scores += columns.scores[column]
    # The score of an observation that leaves E differs from its minimum z by `found`.
    leaving = columns.minimum[column[rows], entries] - found
    scores[rows, entries] = np.where(d > 0, z - found / np.where(d > 0, d, 1.0), leaving)
    return scores


def _changes(columns: _PieceColumns, trial: _Trial) -> Array | None:
    """Solve for beta of the entries that enter, and for the residual of those that leave.

    Systems are padded to one size and solved together. None if one of them is singular.
    """
    column, _, rows, entries, d, z = trial
    counts = np.bincount(rows, minlength=len(column))
    at = rows, np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]
    shape = len(column), int(counts.max())
    S, used = np.zeros(shape, dtype=np.intp), np.zeros(shape, dtype=bool)
    S[at], used[at] = entries, True
    M = columns.pivoted[column[:, None, None], S[:, None, :], S[:, :, None]]
    M *= used[:, :, None] & used[:, None, :]
    diagonal, right = np.ones(shape), np.zeros(shape)
    of, enters = column[rows], d > 0
    diagonal[at] = enters / np.where(enters, d, 1.0)
    right[at] = np.where(enters, z - columns.scores[of, entries], columns.beta[of, entries])
    M[:, np.arange(shape[1]), np.arange(shape[1])] += diagonal
    try:
        return np.asarray(np.linalg.solve(M, right[:, :, None])[:, :, 0][at])
    except np.linalg.LinAlgError:
        return None
