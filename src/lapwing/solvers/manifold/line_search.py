"""Exact line search on convex differentiable objectives, all columns at once.

The derivative psi(s) of the objective along a ray is continuous and increasing. For a piecewise
quadratic loss it is linear between the steps at which an observation crosses a break of the loss
(LapSVM paper, Section 3.2.1, after Keerthi and DeCoste 2006; errata L17). Sorting these steps and
summing the changes at each gives all pieces of psi at once; the first piece that is non-negative at
its right end contains the root. For other losses the root is found by Newton's method in a bracket.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lapwing._arrays import Array
from lapwing.losses.augmented import increasing_root
from lapwing.losses.base import Kind, Loss
from lapwing.objectives.manifold import Line


def exact_line_search(loss: Loss, line: Line) -> Array:
    """Compute the steps s >= 0 that minimise an objective along rays.

    Parameters
    ----------
    loss : Loss
        A differentiable loss.
    line : Line
        The rays, one for each column.

    Returns
    -------
    ndarray of shape (c,)
        If psi is zero on an interval, its left end (for piecewise quadratic losses); 0 along
        directions that are not descent directions.
    """
    return _SEARCHES[loss.kind](loss, line)


def _by_breaks(loss: Loss, line: Line) -> Array:
    """Search for piecewise quadratic losses, by their breaks.

    Costs O(l log l) for each column and no product with a kernel or a graph. The piece is chosen by
    the sign of psi at right ends, and its root is clipped to the piece, so ties and rounding need
    no special case (errata L17 (d), (e)).
    """
    steps, at = _crossings(loss, line)
    curvatures = _curvatures_between(loss, line, steps)
    order = np.argsort(steps.reshape(-1, steps.shape[-1]), axis=0)
    columns = np.arange(order.shape[1])

    def sorted_rays(part: Array) -> Array:
        # `np.take_along_axis` would compute these indices at each call.
        return np.asarray(part.reshape(order.shape)[order, columns])

    def pieces(regulariser: Array, of_loss: Array, changes: Array) -> Array:
        first = regulariser + np.sum(of_loss, axis=0, where=of_loss != 0)
        return np.vstack([first, first + np.cumsum(sorted_rays(changes), axis=0)])

    # psi(s) = linear + quadratic s + sum w l'(f + s df) df; beyond a break the slope l' has changed
    # by the jump of the curvature times the distance of the score from the break.
    y, f, df, w = line.y, line.scores, line.slopes, line.weights
    jumps = np.where(np.isfinite(steps), np.diff(curvatures, axis=0), 0.0)
    level = pieces(line.linear, w * loss.derivative(y, f) * df, jumps * (w * (f - at) * df))
    tilt = pieces(line.quadratic, curvatures[0] * (w * df**2), jumps * (w * df**2))
    ends = sorted_rays(steps)
    left = np.vstack([np.zeros((1, ends.shape[1])), ends])
    right = np.vstack([ends, np.full((1, ends.shape[1]), np.inf)])

    bounded = np.where(np.isfinite(right), right, 0.0)
    ascends = np.isinf(right) | (level + tilt * bounded >= 0)
    first = ascends.argmax(axis=0)
    level, tilt, left, right = (part[first, columns] for part in (level, tilt, left, right))
    root = np.divide(-level, tilt, out=left.copy(), where=tilt > 0)
    return np.asarray(np.clip(root, left, right))


def _crossings(loss: Loss, line: Line) -> tuple[Array, Array]:
    """Compute the steps at which rays cross the breaks of a loss.

    Parameters
    ----------
    loss : Loss
    line : Line

    Returns
    -------
    steps, breaks : ndarray of shape (k, l, c)
        Steps s > 0, in ascending order along the first axis (k breaks), infinite for breaks that
        are never crossed, and the break at each step.
    """
    y, f, df = line.y, line.scores, line.slopes
    found = [np.broadcast_to(at, f.shape) for at in loss.breaks(y)]
    if not found:
        return np.zeros((0, *f.shape)), np.zeros((0, *f.shape))
    breaks = np.stack(found)
    # Errata L17 (b): a score that does not move, or moves away, never crosses; a score that starts
    # on a break does not cross it in either direction.
    ahead = (breaks - f) * np.sign(df) > 0
    steps = np.divide(breaks - f, df, out=np.full(breaks.shape, np.inf), where=ahead)
    if len(found) == 1:
        return steps, breaks
    order = np.argsort(steps, axis=0)
    return np.take_along_axis(steps, order, axis=0), np.take_along_axis(breaks, order, axis=0)


def _curvatures_between(loss: Loss, line: Line, steps: Array) -> Array:
    """Compute curvatures (k + 1, l, c) before, between and after the crossings."""
    left = np.concatenate([np.zeros((1, *line.scores.shape)), steps])
    left = np.where(np.isfinite(left), left, 0.0)
    right = np.concatenate([steps, np.full((1, *line.scores.shape), np.inf)])
    middle = np.where(np.isfinite(right), (left + right) / 2, 2 * left + 1)
    scores = line.scores + middle * line.slopes
    return np.stack([loss.curvature(line.y, each) for each in scores])


def _by_roots(loss: Loss, line: Line) -> Array:
    """Search for any differentiable loss by root finding, in O(l) per column and iteration."""
    y, f, df, w = line.y, line.scores, line.slopes, line.weights

    def psi(s: Array) -> tuple[Array, Array]:
        scores = f + s * df
        slope = line.linear + line.quadratic * s + (w * loss.derivative(y, scores) * df).sum(axis=0)
        return slope, line.quadratic + (w * loss.curvature(y, scores) * df**2).sum(axis=0)

    start = np.zeros(line.linear.shape)
    return increasing_root(psi, start, np.full(start.shape, np.inf))


def _refuse(loss: Loss, line: Line) -> Array:
    raise ValueError(
        f"{loss!r} has kinks, where an exact line search may have no root to find. Use the solver "
        "'dual' with it."
    )


_SEARCHES: dict[Kind, Callable[[Loss, Line], Array]] = {
    Kind.PIECEWISE_QUADRATIC: _by_breaks,
    Kind.SMOOTH: _by_roots,
    Kind.KINKED: _refuse,
}
