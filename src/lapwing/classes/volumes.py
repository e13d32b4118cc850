r"""Class volumes: decision values shifted so that classes get as many points as their prior says.

With few labels a class may flood the others although the order of points *within* each column is
right. Offsets g, one a class, move the boundaries only. They minimise

.. math:: \frac1W \sum_i w_i \max_j (f_{ij} + g_j) - \sum_j \pi_j g_j, \qquad W = \sum_i w_i,

convex, piecewise linear in g, with the volumes of the classes less the prior as (sub)gradient: the
dual of the transport problem that gives points to classes of fixed volumes (M. Jacobs, E. Merkurjev
and S. Esedoglu, "Auction dynamics: a volume constrained MBO scheme", Journal of Computational
Physics 354, 288-310, 2018).

`lapwing.classes.transport` solves it exactly. Rejected: the multiplicative class mass normalisation
of X. Zhu, Z. Ghahramani and J. Lafferty (2003), which meets no volume.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.priors import as_parts
from lapwing.classes.transport import Plan, transport
from lapwing.classes.voting import elect
from lapwing.problem import distinct_rows


@dataclass(frozen=True, eq=False)
class ClassOffsets:
    """Class offsets and what they achieve.

    Attributes
    ----------
    offsets : ndarray of shape (c,), or (1,) for values of one column
        To be added to the decision values; those of c columns sum to 0.
    volumes : ndarray of shape (c,)
        Points of each class, the one of the largest shifted value.
    targets : ndarray of shape (c,)
        The volumes that were asked for, whole numbers.
    gap : float
        The objective at `offsets` less the value of the transport plan, a point: 0 to
        rounding where the plan meets the targets and parts no point. A parted point is given to one
        class, and the offsets say so clearly, at a small loss.
    n_iter : int
        Paths along which points were moved.
    converged : bool
        Whether the plan meets the targets.
    """

    offsets: Array
    volumes: Array
    targets: Array
    gap: float
    n_iter: int
    converged: bool


def prior_offsets(F: Any, prior: Any) -> ClassOffsets:
    r"""Offsets a class that bring the volumes of the classes to a prior.

    Parameters
    ----------
    F : array-like of shape (n, c)
        Decision values. One column means two classes, the second where the value is >= 0.
    prior : array-like of shape (c,)
        Parts of the classes in all points, in proportion. A class of prior 0 gets an offset so low
        that no point falls to it.

    Returns
    -------
    ClassOffsets

    Raises
    ------
    ValueError
        Values that are not finite or of the wrong shape; a prior out of range.

    Notes
    -----
    Points that can be told apart are shared out exactly as `targets` says: n times the prior,
    rounded to whole points with the largest remainders up (of equal remainders, to the class with
    more points before). Equal rows can only move together, so they fall to a class as a whole, and
    a volume is missed by about their number at most.

    Of all optimal offsets those are taken in the middle: the mean over the classes of the extreme
    ones, so that no point lies on a boundary unless it must.

    Time is about O(n c) a sweep of the start plus O(c^2) a path, of which there are fewer than
    sqrt(n) on typical values; memory 3 n c numbers.
    """
    F = _check_values(F)
    n, c = F.shape[0], max(2, F.shape[1])
    prior = as_parts(prior, c, "prior")
    if c == F.shape[1]:
        F = F - F.max(axis=1, keepdims=True)  # digits go into differences, not into the level
    targets = whole_volumes(prior, n, np.bincount(elect(F), minlength=c))
    first, inverse = distinct_rows(F)
    points, mass = F[first], np.bincount(inverse).astype(np.float64)
    if F.shape[1] == 1:
        offsets, value = _threshold(points[:, 0], mass, targets[1])
        n_iter, converged = 0, True
    else:
        plan, n_iter, converged = transport(points, mass, targets)
        offsets, value = _centre(points, targets, plan), plan.value()
    shifted = F + offsets
    dual = (shifted.max(axis=1) if c == F.shape[1] else np.maximum(shifted[:, 0], 0)).sum()
    dual -= targets @ offsets if c == F.shape[1] else targets[1] * offsets[0]
    volumes = np.bincount(elect(shifted), minlength=c).astype(np.float64)
    return ClassOffsets(offsets, volumes, targets, float((dual - value) / n), n_iter, converged)


def whole_volumes(prior: Array, n: int, before: Array) -> Array:
    """Whole numbers of points: n times the prior, the largest remainders rounded up."""
    whole = np.asarray(np.floor(prior * n + 1e-9))
    rest = np.round(prior * n - whole, 9)
    up = np.lexsort((-before, -rest))[: round(n - whole.sum())]
    whole[up] += 1
    return whole


def _threshold(f: Array, mass: Array, target: float) -> tuple[Array, float]:
    """One column: the points with the largest values are the second class.

    Returns
    -------
    offset : ndarray of shape (1,)
        With the cut halfway between two distinct values.
    value : float
        Of the transport plan, which may split a point.
    """
    order = np.argsort(-f)
    f, mass = f[order], mass[order]
    taken = np.concatenate([[0.0], np.cumsum(mass)])
    value = float(np.clip(target - taken[:-1], 0, mass) @ f)
    cut = int(np.argmin(np.abs(taken - target)))
    reach = float(f[0] - f[-1]) or max(1.0, abs(float(f[0])))
    ends = np.concatenate([[f[0] + 2 * reach], f, [f[-1] - 2 * reach]])
    above, below = ends[cut], ends[cut + 1]
    middle = below + (above - below) / 2
    return np.array([-(above if middle == below else middle)]), value


def _centre(F: Array, targets: Array, plan: Plan) -> Array:
    """Offsets in the middle of those that elect the plan's assignment; they sum to 0.

    The optimal ones obey g_j - g_k <= d_kj, the least loss of a point of k in j. The shortest
    distances from any class are extreme ones, and their mean lies inside if there is an inside.
    """
    c = F.shape[1]
    owner, offsets = plan.assignment(), plan.offsets
    shifted = F + offsets
    distance = np.full((c, c), np.inf)
    filled = np.zeros(c, dtype=bool)
    for k in range(c):
        members = shifted[owner == k]
        if len(members):
            filled[k] = True
            distance[k] = np.maximum((members[:, [k]] - members).min(axis=0), 0)
        distance[k, k] = 0
    for k in range(c):
        np.minimum(distance, distance[:, [k]] + distance[k], out=distance)
    centre = offsets + distance[filled].mean(axis=0)
    # A class of no volume would do with less; so far off, new points hardly fall to it either.
    # Where ties alone keep a class empty, any step off the boundary costs.
    reach = np.ptp(F[:, filled] + centre[filled], axis=1).max() or np.ptp(F, axis=1).max() or 1.0
    centre[~filled] -= np.where(targets[~filled] > 0, 1e-9, 1.0) * reach
    return np.asarray(centre - centre.mean())


def _check_values(F: Any) -> Array:
    F = np.asarray(F, dtype=np.float64)
    if F.ndim != 2 or F.shape[1] < 1 or F.shape[0] < 1:
        raise ValueError(f"F must be decision values (n, c) with n and c >= 1, not {F.shape}.")
    if not np.isfinite(F).all():
        raise ValueError("F holds NaN or infinite values; class volumes need finite ones.")
    return np.asarray(F)
