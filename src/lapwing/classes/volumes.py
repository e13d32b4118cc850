r"""Class priors, and offsets of decision values that give classes the sizes of a prior.

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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from lapwing._arrays import Array
from lapwing.classes.decoding import predict_codes
from lapwing.classes.transport import Plan, transport
from lapwing.problem import distinct_rows

_NAMES = ("labels", "uniform", "unknown")
PRIOR_FORMS = "'labels', 'uniform', 'unknown', None, a dict or an array of one number a class"


@dataclass(frozen=True, eq=False)
class ClassOffsets:
    """Class offsets, and the volumes that they give.

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


def prior_offsets(F: Array, prior: PriorLike) -> ClassOffsets:
    r"""Compute class offsets that give the classes the volumes of a prior.

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
    Distinct points are assigned exactly by `targets`: n times the prior, rounded to whole points
    with the largest remainders up (of equal remainders, for the class with more points before).
    Equal rows can only move together, so that a volume is missed by about their number at most.

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
    targets = whole_volumes(prior, n, np.bincount(predict_codes(F), minlength=c))
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
    volumes = np.bincount(predict_codes(shifted), minlength=c).astype(np.float64)
    return ClassOffsets(offsets, volumes, targets, float((dual - value) / n), n_iter, converged)


def whole_volumes(prior: Array, n: int, before: Array) -> Array:
    """Round n times the prior to whole numbers of points, the largest remainders up."""
    whole = np.asarray(np.floor(prior * n + 1e-9))
    rest = np.round(prior * n - whole, 9)
    up = np.lexsort((-before, -rest))[: round(n - whole.sum())]
    whole[up] += 1
    return whole


def _threshold(f: Array, mass: Array, target: float) -> tuple[Array, float]:
    """Threshold one column: the points with the largest values are the second class.

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
    """Centre the offsets among those that give the plan's assignment; they sum to 0.

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


def _check_values(F: Array) -> Array:
    F = np.asarray(F, dtype=np.float64)
    if F.ndim != 2 or F.shape[1] < 1 or F.shape[0] < 1:
        raise ValueError(f"F must be decision values (n, c) with n and c >= 1, not {F.shape}.")
    if not np.isfinite(F).all():
        raise ValueError("F holds NaN or infinite values; class volumes need finite ones.")
    return np.asarray(F)


PriorLike: TypeAlias = ArrayLike | Mapping[Any, float] | None
"""What `read_prior` takes for ``class_prior=``."""


def is_prior_like(value: object) -> bool:
    """Return whether `read_prior` may understand a value, whatever the classes are."""
    if value is None or isinstance(value, str):
        return value is None or value in _NAMES
    return hasattr(value, "__len__")


def read_prior(class_prior: PriorLike, codes: Array, classes: Array) -> Array | None:
    """Convert a class prior of a user to probabilities.

    Parameters
    ----------
    class_prior : {'labels', 'uniform', 'unknown'}, array-like, mapping, Series or None
        Frequencies of the classes among the labels; all equal; not known, as None is; or numbers in
        proportion to the volumes, such as probabilities or numbers of points: in the order of the
        classes, or by class.
    codes : ndarray of int of shape (n_samples,)
        Class of every point, negative where it has no label.
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    ndarray of shape (n_classes,) or None
        Sums to 1; None where it is not known.

    Raises
    ------
    ValueError
        Another text, nothing of several parts, a wrong number of entries, a key that is no class,
        an entry that is negative or no number, or 0 for a class that has labels.
    """
    if not is_prior_like(class_prior):
        raise ValueError(f"class_prior={class_prior!r} must be {PRIOR_FORMS}.")
    if class_prior is None:
        return None
    counts = np.bincount(codes[codes >= 0], minlength=len(classes))
    if isinstance(class_prior, str):
        return _named(class_prior, counts)
    known = classes.tolist()
    prior = as_parts(_in_order(class_prior, known), len(known), "class_prior", known)
    empty = np.flatnonzero((prior == 0) & (counts > 0))
    if len(empty):
        raise ValueError(
            f"class_prior is 0 for the class {known[empty[0]]!r}, which has labels "
            f"({counts[empty[0]]}). Give it a part > 0, or remove its rows."
        )
    return prior


def as_parts(
    prior: PriorLike, n_classes: int, name: str, classes: list[Any] | None = None
) -> Array:
    """Scale non-negative numbers to sum 1.

    Parameters
    ----------
    prior : array-like of shape (n_classes,)
    n_classes : int
    name : str
        What errors call it.
    classes : list, optional
        What errors call its entries; by default their numbers, from 0.
    """
    try:
        parts = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        parts = np.full(1, np.nan)
        wrong = f"{prior!r} is no array of numbers"
    else:
        wrong = ""
        if parts.shape != (n_classes,):
            wrong = f"its shape is {parts.shape}, and there are {n_classes} classes"
        elif not np.isfinite(parts).all():
            wrong = "it holds NaN or infinite entries"
        elif (parts < 0).any():
            k = int(parts.argmin())
            which = f"class number {k}" if classes is None else f"the class {classes[k]!r}"
            wrong = f"it holds {parts[k]:g} for {which}"
        elif not parts.any():
            wrong = "it is 0 for every class"
    if wrong:
        raise ValueError(f"{name} must be one number >= 0 a class, not all 0: {wrong}.")
    parts = parts / parts.max()  # whose sum does not overflow
    return np.asarray(parts / parts.sum())


def _named(name: str, counts: Array) -> Array | None:
    if name == "unknown":
        return None
    if name == "uniform":
        return np.full(len(counts), 1 / len(counts))
    if not counts.any():
        raise ValueError("class_prior='labels' counts labels, and no point has one.")
    return np.asarray(counts / counts.sum())


def _in_order(class_prior: PriorLike, known: list[Any]) -> Any:
    """Order a prior given by class as the classes; return others unchanged."""
    parts: Any = class_prior
    if not isinstance(parts, Mapping):
        # A Series, such as `value_counts`, whose order is that of the counts.
        if getattr(parts, "ndim", 0) != 1 or not hasattr(parts, "to_dict"):
            return class_prior
        parts = parts.to_dict()
        if list(parts) == list(range(len(parts))):
            return class_prior
    missing = [k for k in known if k not in parts]
    others = [k for k in parts if k not in known]
    if missing or others:
        which = [f"has no part for {missing}"] * bool(missing)
        which += [f"names {others}, which are no classes"] * bool(others)
        raise ValueError(
            f"class_prior={dict(parts)!r} {' and '.join(which)}. "
            f"Give every class a part. The classes are {known}."
        )
    return [parts[k] for k in known]
