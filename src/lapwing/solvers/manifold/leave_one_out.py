r"""Leave-one-out values of the supervised problem on labelled points.

With piecewise quadratic losses they follow from the solution (`follow_pieces`).
Everything else is fitted again, on l - 1 labels.

A column's solution is that of ridge regression on the observations E that are pulled at, z their
parabolas' minima and d their curvatures:

.. math:: \begin{pmatrix} T_{EE} + D^{-1} & 1 \\ 1^T & 0 \end{pmatrix}
          \begin{pmatrix} \beta \\ b \end{pmatrix} = \begin{pmatrix} z \\ 0 \end{pmatrix} .

Its principal pivot transform on E turns that into the solution on any other set: those S that enter
or leave E are a system of their number, and all other scores follow by one product. Without an
observation of E, S is that observation, and the answer beta_i / A^-1_ii away (Cawley and Talbot,
"Fast exact leave-one-out cross-validation of sparse least-squares support vector machines", Neural
Networks 17, 2004), if all scores stay on their pieces. Those that do not enter or leave as well,
until all stay: Newton's full steps, all observations of many columns at once.
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
from lapwing.objectives.manifold import Objective, State
from lapwing.solvers.manifold.dual import solve_reduced
from lapwing.solvers.manifold.settings import DEFAULTS, ManifoldSettings


def left_out_values(
    reduced: Objective,
    solution: State,
    wanted: Array,
    settings: ManifoldSettings = DEFAULTS,
) -> Array:
    """Score of every observation by the solution without it.

    Parameters
    ----------
    reduced : Objective
        On the kernel matrix of the labelled points, with gamma_A = 1, without a graph.
    solution : State
        Its minimum.
    wanted : ndarray of bool of shape (l,)
        Observations to be left out.
    settings : ManifoldSettings, optional
        Of the solver, where a problem has to be solved again.

    Returns
    -------
    ndarray of shape (l, c)
        NaN where not wanted.
    """
    values = reduced.labeled(solution.values).astype(np.float64)
    open_ones = np.broadcast_to(wanted[:, None], values.shape).copy()
    if reduced.loss.kind is Kind.PIECEWISE_QUADRATIC:
        values, open_ones = follow_pieces(reduced, values, open_ones)
    for i in np.flatnonzero(open_ones.any(axis=1)).tolist():
        columns = np.flatnonzero(open_ones[i])
        values[i, columns] = _again(reduced, i, columns, settings)
    return np.where(wanted[:, None], values, np.nan)


def _again(reduced: Objective, i: int, columns: Array, settings: ManifoldSettings) -> Array:
    kept = np.arange(len(reduced.index)) != i
    rest = replace(
        reduced,
        index=reduced.index[kept],
        targets=reduced.targets[np.ix_(kept, columns)],
        weights=reduced.weights[kept],
    )
    found = solve_reduced(rest, settings)
    return np.asarray(found.state.values[reduced.index[i]])


def one_step_values(reduced: Objective, kernel: Array, scores: Array) -> Array:
    """Score of every observation by a Newton step to the solution without it.

    Parameters
    ----------
    reduced : Objective
        On the labelled points, with gamma_A = 1, without a graph; of a loss with a derivative.
    kernel : ndarray of shape (q, q)
        The kernel matrix of its points.
    scores : ndarray of shape (l, c)
        Of the observations at its minimum.

    Returns
    -------
    ndarray of shape (l, c)
        NaN where a matrix has no inverse in double precision.
    """
    y, w, loss = reduced.targets, reduced.weights[:, None], reduced.loss
    scores = np.asarray(scores, dtype=np.float64)
    slopes, curvatures = w * loss.derivative(y, scores), w * loss.curvature(y, scores)
    T = kernel[np.ix_(reduced.index, reduced.index)]
    values = scores.copy()  # without a pull nothing changes
    patterns, group = np.unique(curvatures, axis=1, return_inverse=True)
    for number, d in enumerate(patterns.T):
        columns, E = np.flatnonzero(group.ravel() == number), np.flatnonzero(d)
        if not len(E):
            continue
        diagonal = _inverse_diagonal(T[np.ix_(E, E)], d[E], bias=reduced.fit_intercept)
        at = np.ix_(E, columns)
        values[at] = scores[at] - slopes[at] / d[E][:, None] + slopes[at] / diagonal[:, None]
    return values


class LeftOutSolutions(NamedTuple):
    """Solutions of a squared loss without each observation, one column each.

    Attributes
    ----------
    coef : ndarray of shape (q, l)
        Of the kernel's points.
    intercept : ndarray of shape (l,)
    """

    coef: Array
    intercept: Array


def ridge_left_out_solutions(reduced: Objective, kernel: Array) -> LeftOutSolutions | None:
    r"""All solutions with one observation less, by one inverse.

    With :math:`B` the inverse of :math:`T_{LL} + W^{-1}`, projected beside a free bias,
    :math:`\beta = B y` and :math:`r_i = \beta_i / B_{ii}` the left-out residual, the fit without i
    is that to :math:`y_i - r_i` in place of :math:`y_i`: :math:`\beta - r_i B e_i`.

    Parameters
    ----------
    reduced : Objective
        On the labelled points, with gamma_A = 1, without a graph; of the squared loss, one column.
    kernel : ndarray of shape (q, q)
        The kernel matrix of its points.

    Returns
    -------
    LeftOutSolutions or None
        None where there is one observation, or no inverse in double precision.
    """
    l, y = len(reduced.index), reduced.targets[:, 0]
    T = kernel[np.ix_(reduced.index, reduced.index)]
    found = _inverse(T, reduced.weights, bias=reduced.fit_intercept)
    if found is None or l < 2:
        return None
    B, bias = found
    beta, diagonal = B @ y, np.diag(B)
    if not (diagonal > 0).all():
        return None
    residuals = beta / diagonal
    coef = np.zeros((len(kernel), l))
    np.add.at(coef, reduced.index, beta[:, None] - B * residuals)
    return LeftOutSolutions(coef, bias @ y - bias * residuals)


def _inverse(T: Array, weights: Array, *, bias: bool) -> tuple[Array, Array] | None:
    """B = (T + W^-1)^-1, projected if there is a free bias, and the bias for each unit target.

    None if the matrix is singular in double precision.
    """
    l = len(weights)
    A = T.copy()
    A.flat[:: l + 1] += 1 / weights
    # Takes a third of the work of `inv`, which dominates where every row has a label.
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


def _inverse_diagonal(T: Array, d: Array, *, bias: bool) -> Array:
    """Diagonal of the inverse; NaN where it has none."""
    found = _inverse(T, d, bias=bias)
    diagonal = np.full(len(d), np.nan) if found is None else np.diag(found[0])
    return np.where(diagonal > 0, diagonal, np.nan)


_SAME = 1e-10  # of the slopes: a score at a break may be on either piece to rounding
_ROUNDS = 20  # full steps that have not settled by then may go round for ever
_MOST = 64  # observations that change their pieces: with more of them a new fit is as fast
_WIDER = 4  # systems of sizes that differ by more are solved apart: padding would cost more
_BLOCK = 2**22  # bytes of the transforms of columns that go together
_TILE = 2**19  # bytes of the scores that are looked at together


@dataclass(frozen=True, eq=False)
class _PieceColumns:
    """Solutions of g columns, and the pieces that their scores are in; all of shape (g, l).

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


class _Assumed(NamedTuple):
    """Assumed pieces of q solutions without an observation each.

    An entry is an observation that is pulled at in one of the solutions and not in that of its
    column, or the other way round; those of one solution stand together.
    """

    column: Array  # (q,): of the g columns
    left_out: Array  # (q,)
    rows: Array  # (m,): the solution of an entry
    entries: Array  # (m,): its observation
    curvature: Array  # (m,): d, 0 of those that leave E
    minimum: Array  # (m,): z

    @classmethod
    def leaving(cls, column: Array, left_out: Array) -> _Assumed:
        """Nothing changes but that the observation leaves."""
        nothing = np.zeros(len(left_out))
        return cls(column, left_out, np.arange(len(left_out)), left_out, nothing, nothing)

    def take(self, which: Array) -> _Assumed:
        """Some solutions, by their mask."""
        of = which[self.rows]
        rows = (np.cumsum(which) - 1)[self.rows[of]]
        return _Assumed(
            self.column[which], self.left_out[which], rows, *(part[of] for part in self[3:])
        )


def follow_pieces(reduced: Objective, scores: Array, wanted: Array) -> tuple[Array, Array]:
    """Scores by the solutions without single observations.

    Parameters
    ----------
    reduced : Objective
        On a kernel matrix, with gamma_A = 1, without a graph; its loss piecewise quadratic.
    scores : ndarray of shape (l, c)
        Of its minimum at the observations.
    wanted : ndarray of bool of shape (l, c)

    Returns
    -------
    values : ndarray of shape (l, c)
        `scores` where not wanted or not found.
    left : ndarray of bool of shape (l, c)
        Wanted and not found.
    """
    y, w, loss = reduced.targets, reduced.weights[:, None], reduced.loss
    slopes, curvatures = w * loss.derivative(y, scores), w * loss.curvature(y, scores)
    values, left = scores.copy(), wanted.copy()
    straight = ((curvatures == 0) & (slopes != 0)).any(axis=0)  # a pull that does not give way
    told = ~straight & (curvatures > 0).any(axis=0) & wanted.any(axis=0)
    left &= ~told | (curvatures > 0)  # what is not pulled at changes nothing
    T = reduced.space.values(np.eye(reduced.space.n_points))[np.ix_(reduced.index, reduced.index)]
    open_columns = np.flatnonzero(told)
    for rows in row_blocks(len(open_columns), T.nbytes, _BLOCK):
        at = open_columns[rows]
        columns = _solved(reduced, T, at, scores[:, at].T, slopes[:, at].T, curvatures[:, at].T)
        pairs = np.stack(np.nonzero(left[:, at].T))
        for some in row_blocks(pairs.shape[1], T.itemsize * len(T), _TILE):
            for j, i, found in _without(reduced, columns, *pairs[:, some]):
                values[i, at[j]], left[i, at[j]] = found, False
    return values, left


def _solved(
    reduced: Objective, T: Array, at: Array, scores: Array, slopes: Array, curvatures: Array
) -> _PieceColumns:
    """Columns with their transforms; those of equal curvatures share one."""
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
    """The transposed principal pivot transform (l, l) of T + D^-1, with a bias, on d > 0."""
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


def _without(
    reduced: Objective, columns: _PieceColumns, column: Array, left_out: Array
) -> Iterator[tuple[Array, Array, Array]]:
    """Observations of E with scores by the solutions without them: those that are found."""
    others = np.count_nonzero(columns.curvature, axis=1)[column] > 1
    assumed = _Assumed.leaving(column[others], left_out[others])
    for _ in range(_ROUNDS):
        scores = _scores(columns, assumed) if len(assumed.left_out) else None
        if scores is None:
            return
        done, assumed_next = _compare(reduced, columns, assumed, scores)
        at = assumed.left_out[done]
        yield assumed.column[done], at, scores[np.flatnonzero(done), at]
        assumed = assumed_next


def _compare(
    reduced: Objective, columns: _PieceColumns, assumed: _Assumed, scores: Array
) -> tuple[Array, _Assumed]:
    """Which solutions have the slopes that were assumed, and what to assume of others next."""
    d = columns.curvature[assumed.column]
    slopes = columns.weights * reduced.loss.derivative(columns.y[assumed.column], scores)
    off = d * (scores - columns.minimum[assumed.column])
    at = assumed.rows, assumed.entries
    off[at] = assumed.curvature * (scores[at] - assumed.minimum)
    np.subtract(slopes, off, out=off)
    off[np.arange(len(off)), assumed.left_out] = 0.0  # what is left out pulls no more
    done = (np.abs(off) <= _SAME * d).all(axis=1)
    open_ones = ~done
    held, following = _next(
        reduced, columns, assumed.take(open_ones), scores[open_ones], off[open_ones]
    )
    done[open_ones] = held
    return done, following


def _next(
    reduced: Objective, columns: _PieceColumns, assumed: _Assumed, scores: Array, off: Array
) -> tuple[Array, _Assumed]:
    """Which hold to rounding of the slopes, whose differences are given, and what to try next."""
    y, inside = columns.y[assumed.column], columns.curvature[assumed.column] > 0
    d, z = columns.curvature[assumed.column], columns.minimum[assumed.column]
    at = assumed.rows, assumed.entries
    d[at], z[at] = assumed.curvature, assumed.minimum
    pulled = d > 0
    there = columns.weights * reduced.loss.derivative(y, scores)
    bend = columns.weights * reduced.loss.curvature(y, scores)
    size = np.abs(d * (scores - z)) + np.abs(there) + bend + d * (np.abs(scores) + 1)
    held = np.abs(off) <= _SAME * size
    after = np.where(held, pulled, bend > 0)
    # Who is pulled at does not tell two parabolas from each other, nor a pull that does not bend.
    known = held | ((after != pulled) & (after | (there == 0)))
    done = held.all(axis=1)
    changed = after != inside
    n_changed = np.count_nonzero(changed, axis=1)
    moving = ~done & known.all(axis=1) & after.any(axis=1) & (n_changed <= _MOST)
    rows, entries = np.nonzero(changed[moving])
    at = np.flatnonzero(moving)[rows], entries
    stays = held[at]
    bent = np.where(bend[at] > 0, bend[at], 1.0)
    return done, _Assumed(
        assumed.column[moving],
        assumed.left_out[moving],
        rows,
        entries,
        np.where(after[at], np.where(stays, d[at], bend[at]), 0.0),
        np.where(stays, z[at], scores[at] - there[at] / bent),
    )


def _scores(columns: _PieceColumns, assumed: _Assumed) -> Array | None:
    """Scores (q, l) of the solutions on the assumed sets; None if one of them is singular."""
    column, _, rows, entries, d, z = assumed
    found = _changes(columns, assumed)
    if found is None:
        return None
    l = columns.scores.shape[1]
    transforms = columns.pivoted.reshape(-1, l)  # one below the other
    places = (rows, column[rows] * l + entries)
    moves = sp.csr_array((found, places), shape=(len(column), len(transforms)))
    # Of -beta where it is pulled at, else of the scores.
    scores = np.asarray(moves @ transforms)
    scores /= columns.steepness[column]
    scores += columns.scores[column]
    # One that leaves is moved off its parabola by as much as its equation is.
    leaving = columns.minimum[column[rows], entries] - found
    scores[rows, entries] = np.where(d > 0, z - found / np.where(d > 0, d, 1.0), leaving)
    return scores


def _changes(columns: _PieceColumns, assumed: _Assumed) -> Array | None:
    """Compute beta of the entering observations; None if a system is singular."""
    rows = assumed.rows
    counts = np.bincount(rows, minlength=len(assumed.column))
    place = np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]
    found, most = np.empty(len(rows)), 1
    while most < _WIDER * counts.max():
        some = (counts <= most) & (counts > most // _WIDER)
        if some.any():
            solved = _systems(columns, assumed.take(some), place[some[rows]])
            if solved is None:
                return None
            found[some[rows]] = solved
        most *= _WIDER
    return found


def _systems(columns: _PieceColumns, assumed: _Assumed, place: Array) -> Array | None:
    """The same by systems of one size: entries stand at their places, and beside them nothing."""
    column, _, rows, entries, d, z = assumed
    k, at = int(place.max()) + 1, (rows, place)
    S, asked = np.zeros((len(column), k), dtype=np.intp), np.zeros((len(column), k), dtype=bool)
    S[at], asked[at] = entries, True
    M = columns.pivoted[column[:, None, None], S[:, None, :], S[:, :, None]]
    M *= asked[:, :, None] & asked[:, None, :]
    diagonal, right = np.ones((len(column), k)), np.zeros((len(column), k))
    of, enters = column[rows], d > 0
    diagonal[at] = enters / np.where(enters, d, 1.0)
    right[at] = np.where(enters, z - columns.scores[of, entries], columns.beta[of, entries])
    M[:, np.arange(k), np.arange(k)] += diagonal
    try:
        return np.asarray(np.linalg.solve(M, right[:, :, None])[:, :, 0][at])
    except np.linalg.LinAlgError:
        return None
