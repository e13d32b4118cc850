"""Exact line search on piecewise quadratic objectives, all columns at once.

LapSVM paper, Section 3.2.1, after Keerthi and DeCoste (2006); errata L17. The derivative psi(s) of
the objective along a ray is continuous, increasing and linear between break points, the steps at
which an observation enters or leaves the active set. Sorting them and summing what each switches
gives all pieces of psi at once; the first one that is non-negative at its right end holds the root.
"""

from __future__ import annotations

import numpy as np

from lapwing.losses.labeled import Loss
from lapwing.objectives.manifold import Line
from lapwing.spaces.base import Array

__all__ = ["exact_line_search"]


def exact_line_search(loss: Loss, line: Line) -> Array:
    """Steps s >= 0 that minimise a piecewise quadratic objective along rays.

    Parameters
    ----------
    loss : Loss
        A piecewise quadratic loss: 1/2 (f - y)^2 on its active observations.
    line : Line
        The rays, one a column.

    Returns
    -------
    ndarray of shape (c,)
        Where psi is zero on an interval, its left end; 0 along directions that do not descend.

    Notes
    -----
    Costs O(l log l) a column, no product with a kernel or a graph. The root of a piece is clipped
    to the piece, and the piece is chosen by the sign of psi at right ends, so ties and rounding
    need no special case (errata L17 (d), (e)).
    """
    # psi(s) = linear + quadratic s + sum over active observations of w (f + s df - y) df
    active = loss.curvature(line.y, line.scores) > 0
    steps = loss.switch_steps(line.y, line.scores, line.slopes)
    sign = np.where(active, -1.0, 1.0) * np.isfinite(steps)
    order = np.argsort(steps, axis=0)
    ends = np.take_along_axis(steps, order, axis=0)

    def pieces(regulariser: Array, of_loss: Array) -> Array:
        first = regulariser + np.sum(of_loss, axis=0, where=active)
        change = np.take_along_axis(sign * of_loss, order, axis=0)
        return np.vstack([first, first + np.cumsum(change, axis=0)])

    level = pieces(line.linear, line.weights * (line.scores - line.y) * line.slopes)
    tilt = pieces(line.quadratic, line.weights * line.slopes**2)
    left = np.vstack([np.zeros_like(ends[:1]), ends])
    right = np.vstack([ends, np.full_like(ends[:1], np.inf)])

    bounded = np.where(np.isfinite(right), right, 0.0)
    ascends = np.isinf(right) | (level + tilt * bounded >= 0)
    first = ascends.argmax(axis=0)[None]
    level, tilt, left, right = (
        np.take_along_axis(part, first, axis=0)[0] for part in (level, tilt, left, right)
    )
    root = np.divide(-level, tilt, out=left.copy(), where=tilt > 0)
    return np.asarray(np.clip(root, left, right))
