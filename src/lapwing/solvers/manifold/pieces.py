r"""Solutions without single observations, from piece to piece of a piecewise quadratic loss.

A column's solution is that of ridge regression on the observations E that are pulled at, z their
parabolas' minima and d their curvatures:

.. math:: \begin{pmatrix} T_{EE} + D^{-1} & 1 \\ 1^T & 0 \end{pmatrix}
          \begin{pmatrix} \beta \\ b \end{pmatrix} = \begin{pmatrix} z \\ 0 \end{pmatrix} .

Its principal pivot transform on E turns that into the solution on any other set: those S that enter
or leave E are a system of their number, and all other scores follow by one product. Without an
observation of E, S is that observation, and the answer beta_i / A^-1_ii away (Cawley and Talbot,
"Fast exact leave-one-out cross-validation of sparse least-squares support vector machines", Neural
Networks 17, 2004), if all scores stay on their pieces. Those that do not enter or leave as well,
until all stay: Newton's full steps, all observations at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg as sla

from lapwing.objectives.manifold import Objective
from lapwing.spaces.base import Array

__all__ = ["follow_pieces"]

_SAME = 1e-10  # of the slopes: a score at a break may be on either piece to rounding
_ROUNDS = 20  # full steps that have not settled by then may go round for ever
_MOST = 64  # observations that change their pieces: with more of them a new fit is as fast


@dataclass(frozen=True, eq=False)
class _Column:
    """A solution of one column, and the pieces that its scores are in; all of shape (l,).

    Attributes
    ----------
    y, weights, scores : ndarray
    curvature : ndarray
        d, 0 outside E.
    minimum : ndarray
        z, where d > 0.
    beta : ndarray
        Coefficients, 0 outside E.
    """

    y: Array
    weights: Array
    scores: Array
    curvature: Array
    minimum: Array
    beta: Array


class _Assumed(NamedTuple):
    """Which observations are pulled at without one of them, a row (of q) each."""

    left_out: Array  # (q,)
    pulled: Array  # (q, l) bool
    curvature: Array  # (q, l): d of those
    minimum: Array  # (q, l): z of those

    @classmethod
    def leaving(cls, column: _Column, observations: Array) -> _Assumed:
        """Nothing changes but that each of some observations of E leaves it."""
        q = len(observations)
        pulled = np.tile(column.curvature > 0, (q, 1))
        pulled[np.arange(q), observations] = False
        return cls(
            observations, pulled, np.tile(column.curvature, (q, 1)), np.tile(column.minimum, (q, 1))
        )

    def take(self, rows: Array) -> _Assumed:
        """Some rows, by their mask."""
        return _Assumed(*(part[rows] for part in self))


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
    patterns, group = np.unique(curvatures, axis=1, return_inverse=True)
    T = reduced.space.values(np.eye(reduced.space.n_points))[np.ix_(reduced.index, reduced.index)]
    for number, d in enumerate(patterns.T):
        columns = np.flatnonzero((group.ravel() == number) & ~straight & wanted.any(axis=0))
        if not len(columns) or not d.any():
            continue
        pivoted = _pivoted(T, d, bias=reduced.fit_intercept)
        for column in columns.tolist():
            f, slope = scores[:, column], slopes[:, column]
            pulled = np.where(d > 0, d, 1.0)
            of_column = _Column(y[:, column], reduced.weights, f, d, f - slope / pulled, -slope)
            left[:, column] &= d > 0  # what is not pulled at changes nothing
            for i, found in _without(reduced, pivoted, of_column, np.flatnonzero(left[:, column])):
                values[i, column], left[i, column] = found, False
    return values, left


def _pivoted(T: Array, d: Array, *, bias: bool) -> Array:
    """The principal pivot transform (l, l) of T + D^-1, bordered by a bias, on d > 0."""
    E, rest = np.flatnonzero(d), np.flatnonzero(d == 0)
    e = len(E)
    A = np.zeros((e + bias, e + bias))
    A[:e, :e] = T[np.ix_(E, E)]
    A.flat[: e * (e + bias) : e + bias + 1] += 1 / d[E]
    A[e:, :e] = A[:e, e:] = 1.0
    inverse = sla.inv(A, overwrite_a=True, check_finite=False)
    found = np.empty_like(T)
    found[np.ix_(E, E)] = inverse[:e, :e]
    if len(rest):
        beside = np.ones((e + bias, len(rest)))
        beside[:e] = T[np.ix_(E, rest)]
        pulls = inverse @ beside
        found[np.ix_(E, rest)] = pulls[:e]
        found[np.ix_(rest, E)] = -pulls[:e].T
        found[np.ix_(rest, rest)] = T[np.ix_(rest, rest)] - beside.T @ pulls
    return found


def _without(
    reduced: Objective, pivoted: Array, column: _Column, observations: Array
) -> Iterator[tuple[int, float]]:
    """Observations of E with their scores by the solution without them, those that are found."""
    inside = column.curvature > 0
    assumed = _Assumed.leaving(column, observations)
    for _ in range(_ROUNDS):
        n_changes = (assumed.pulled != inside).sum(axis=1)
        assumed = assumed.take(assumed.pulled.any(axis=1) & (n_changes <= _MOST))
        scores = _scores(pivoted, column, assumed) if len(assumed.left_out) else None
        if scores is None:
            return
        done, moving, following = _compare(reduced, column, assumed, scores)
        at = assumed.left_out[done]
        yield from zip(at.tolist(), scores[np.flatnonzero(done), at].tolist(), strict=True)
        assumed = following.take(moving)


def _compare(
    reduced: Objective, column: _Column, assumed: _Assumed, scores: Array
) -> tuple[Array, Array, _Assumed]:
    """Which rows have the slopes that were assumed, which have new pieces to try, and those."""
    left_out, pulled, d, z = assumed
    there = column.weights * reduced.loss.derivative(column.y, scores)
    bend = column.weights * reduced.loss.curvature(column.y, scores)
    said = np.where(pulled, d * (scores - z), 0.0)
    size = np.abs(said) + np.abs(there) + bend + d * (np.abs(scores) + 1)
    held = np.abs(there - said) <= _SAME * size
    held[np.arange(len(left_out)), left_out] = True  # the one that is left out pulls no more
    after = np.where(held, pulled, bend > 0)
    # Who is pulled at does not tell two parabolas from each other, nor a pull that does not bend.
    known = held | ((after != pulled) & (after | (there == 0)))
    done = held.all(axis=1)
    entering = after & ~held & (column.curvature == 0)
    bent = np.where(entering, bend, 1.0)
    following = _Assumed(
        left_out,
        after,
        np.where(entering, bend, d),
        np.where(entering, scores - there / bent, z),
    )
    return done, ~done & known.all(axis=1), following


def _scores(pivoted: Array, column: _Column, assumed: _Assumed) -> Array | None:
    """Scores (q, l) of the solutions on the assumed sets; None if one of them is singular."""
    _, pulled, d, z = assumed
    changed = pulled != (column.curvature > 0)
    k = int(changed.sum(axis=1).max())
    # Those that change come first, and as many others, of which nothing is asked.
    S = np.argsort(~changed, axis=1, kind="stable")[:, :k]
    asked, enters, bend, minimum = (
        np.take_along_axis(part, S, axis=1) for part in (changed, pulled, d, z)
    )
    enters &= asked
    M = pivoted[S[:, :, None], S[:, None, :]] * (asked[:, :, None] & asked[:, None, :])
    diagonal = np.arange(k)
    M[:, diagonal, diagonal] += np.where(asked, enters / np.where(enters, bend, 1.0), 1.0)
    right = np.where(enters, minimum - column.scores[S], column.beta[S]) * asked
    try:
        found = np.linalg.solve(M, right[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        return None
    moves = np.zeros_like(z)
    np.put_along_axis(moves, S, found, axis=1)
    response = moves @ pivoted.T  # of beta where it was pulled at, else of the scores
    beta = np.where(changed, moves, column.beta - response)
    # One that leaves is moved off its parabola by as much as its equation is.
    off = np.where(changed, column.minimum - moves, column.scores + response)
    return np.where(pulled, z - beta / np.where(pulled, d, 1.0), off)
