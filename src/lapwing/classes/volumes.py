r"""Class priors, and offsets of decision values that make class proportions equal to a prior.

With few labels too many points may be predicted for a class even if the ranking of points *within*
each column is right. Offsets g, one for each class, shift the boundaries only. They minimise

.. math:: \frac1W \sum_i w_i \max_j (f_{ij} + g_j) - \sum_j \pi_j g_j, \qquad W = \sum_i w_i,

which is convex and piecewise linear in g, with the difference of the class volumes and the prior as
(sub)gradient. It is the dual of the transport problem that assigns points to classes of fixed
volumes (M. Jacobs, E. Merkurjev and S. Esedoglu, "Auction dynamics: a volume constrained MBO
scheme", Journal of Computational Physics 354, 288-310, 2018).

`lapwing.classes.transport` solves it exactly. Rejected: the multiplicative class mass normalisation
of X. Zhu, Z. Ghahramani and J. Lafferty (2003), which does not meet given volumes.
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

_SUM = 1e-6  # tolerance of the sum of fractions
_FRACTIONS = "must be one number >= 0 per class, fractions that sum to 1 or counts"
_NAMES = ("labels", "uniform", "unknown")
PRIOR_FORMS = "'labels', 'uniform', 'unknown', None, a dict or an array of one number a class"


@dataclass(frozen=True, eq=False)
class ClassOffsets:
    """Class offsets, with the resulting volumes.

    Attributes
    ----------
    offsets : ndarray of shape (c,), or (1,) for values of one column
        Offsets to be added to the decision values; those of c columns sum to 0.
    volumes : ndarray of shape (c,)
        Number of points in each class after the shift.
    targets : ndarray of shape (c,)
        Requested volumes, whole numbers.
    """

    offsets: Array
    volumes: Array
    targets: Array


def prior_offsets(F: Array, prior: Array) -> ClassOffsets:
    r"""Compute class offsets that give the classes the volumes of a prior.

    Parameters
    ----------
    F : ndarray of shape (n, c)
        Decision values. One column means two classes, the second one if the value is >= 0.
    prior : ndarray of shape (c,)
        Class proportions, up to a common factor. A class of prior 0 gets such a low offset that no
        point is assigned to it.

    Returns
    -------
    ClassOffsets

    Raises
    ------
    ValueError
        If values are not finite.

    Notes
    -----
    For distinct points the volumes are exactly `targets`: n times the prior, rounded to whole
    points by the largest remainders (ties go to the class with more points before the shift).
    Duplicate rows get the same class, so that a volume may be missed by about their number.

    Of all optimal offsets the central ones are returned: the mean over the classes of the extreme
    ones, so that no point is on a boundary unless necessary.

    Time is about O(n c) per sweep of the initialisation plus O(c^2) per path, of which there are
    fewer than sqrt(n) for typical values; memory is 3 n c numbers.
    """
    given, F = F, np.asarray(F, dtype=np.float64)
    if not np.isfinite(F).all():
        raise ValueError("F holds NaN or infinite values; class volumes need finite ones.")
    n, c = F.shape[0], max(2, F.shape[1])
    prior = prior / prior.sum()
    if c == F.shape[1]:
        F = F - F.max(axis=1, keepdims=True)  # for precise differences
    targets = whole_volumes(prior, n, np.bincount(predict_codes(F), minlength=c))
    first, inverse = distinct_rows(F)
    points = F if len(first) == n else F[first]  # without a copy
    mass = np.bincount(inverse).astype(np.float64)
    if F.shape[1] == 1:
        offsets = _threshold(points[:, 0], mass, targets[1])
    else:
        offsets = _centre(points, targets, transport(points, mass, targets))
    # From the values as given: less their maxima, they may break ties differently by rounding.
    volumes = np.bincount(predict_codes(given + offsets), minlength=c).astype(np.float64)
    return ClassOffsets(offsets, volumes, targets)


def whole_volumes(prior: Array, n: int, before: Array) -> Array:
    """Round n times the prior to whole numbers of points, by the largest remainders."""
    whole = np.asarray(np.floor(prior * n + 1e-9))
    rest = np.round(prior * n - whole, 9)
    up = np.lexsort((-before, -rest))[: round(n - whole.sum())]
    whole[up] += 1
    return whole


def _threshold(f: Array, mass: Array, target: float) -> Array:
    """Return the offset (1,) of one column, so that the largest values are the second class.

    The threshold is halfway between two distinct values.
    """
    order = np.argsort(-f)
    f = f[order]
    taken = np.concatenate([[0.0], np.cumsum(mass[order])])
    cut = int(np.argmin(np.abs(taken - target)))
    reach = float(f[0] - f[-1]) or max(1.0, abs(float(f[0])))
    ends = np.concatenate([[f[0] + 2 * reach], f, [f[-1] - 2 * reach]])
    above, below = ends[cut], ends[cut + 1]
    middle = below + (above - below) / 2
    return np.array([-(above if middle == below else middle)])


def _centre(F: Array, targets: Array, plan: Plan) -> Array:
    """Centre the offsets among those that give the plan's assignment; they sum to 0.

    The optimal offsets satisfy g_j - g_k <= d_kj, the smallest loss of moving a point from k to j.
    The shortest distances from any class are extreme solutions, and their mean is in the interior
    if there is one.
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
    # A smaller offset would suffice for an empty class; this one also excludes new points. If a
    # class is only empty because of ties, any step from the boundary increases the loss.
    reach = np.ptp(F[:, filled] + centre[filled], axis=1).max() or np.ptp(F, axis=1).max() or 1.0
    centre[~filled] -= np.where(targets[~filled] > 0, 1e-9, 1.0) * reach
    return np.asarray(centre - centre.mean())


PriorLike: TypeAlias = ArrayLike | Mapping[Any, float] | None
"""Values of ``class_prior=`` for `read_prior`."""


def is_prior_like(value: object) -> bool:
    """Return whether a value may be valid for `read_prior`, for some classes."""
    if value is None or isinstance(value, str):
        return value is None or value in _NAMES
    return hasattr(value, "__len__")


def read_prior(class_prior: PriorLike, codes: Array, classes: Array) -> Array | None:
    """Convert a user's class prior to probabilities.

    Parameters
    ----------
    class_prior : {'labels', 'uniform', 'unknown'}, array-like, mapping, Series or None
        Class frequencies of the labels; equal proportions; unknown, like None; or what
        `read_fractions` takes.
    codes : ndarray of int of shape (n_samples,)
        Class of every point; negative for unlabelled points.
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    ndarray of shape (n_classes,) or None
        Proportions with sum 1; None if unknown.

    Raises
    ------
    ValueError
        If the value is another string, not a sequence, rejected by `read_fractions`, or 0 for a
        class with labels.
    """
    if not is_prior_like(class_prior):
        raise ValueError(f"class_prior={class_prior!r} must be {PRIOR_FORMS}.")
    named = class_prior if isinstance(class_prior, str) else ""
    if class_prior is None or named == "unknown":
        return None
    counts = np.bincount(codes[codes >= 0], minlength=len(classes))
    if named:
        parts = counts if named == "labels" else np.ones(len(classes))
        if not parts.any():
            raise ValueError("class_prior='labels' counts labels, but no point has one.")
        return np.asarray(parts / parts.sum())
    prior = read_fractions(class_prior, classes, "class_prior")
    empty = np.flatnonzero((prior == 0) & (counts > 0))
    if len(empty):
        raise ValueError(
            f"class_prior is 0 for the class {classes.tolist()[empty[0]]!r}, which has labels "
            f"({counts[empty[0]]}). Give it a proportion > 0, or remove its rows."
        )
    return prior


def read_fractions(given: Any, classes: Array, name: str) -> Array:
    """Read fractions of the classes, given by class or in the order of the classes.

    Parameters
    ----------
    given : mapping, Series or array-like of one number per class
        Fractions that sum to 1, or counts (whole numbers).
    classes : ndarray of shape (n_classes,)
    name : str
        Name in error messages.

    Returns
    -------
    ndarray of shape (n_classes,)
        Sums to 1.

    Raises
    ------
    ValueError
        If the number of entries is wrong, a key is not a class, an entry is negative or not a
        number, or fractions have another sum.
    """
    known = classes.tolist()
    ordered = _in_order(given, known, name)
    wrong = ""
    try:
        parts = np.asarray(ordered, dtype=np.float64)
    except (TypeError, ValueError):
        wrong = f"{ordered!r} is not an array of numbers"
    else:
        if parts.shape != (len(known),):
            wrong = f"its shape is {parts.shape}, but there are {len(known)} classes"
        elif not np.isfinite(parts).all():
            wrong = "it holds NaN or infinite entries"
        elif (parts < 0).any():
            wrong = f"it holds {parts.min():g} for the class {known[parts.argmin()]!r}"
        elif not parts.any():
            wrong = "it is 0 for every class"
        elif (parts % 1).any() and abs(parts.sum() - 1) > _SUM:
            wrong = f"they sum to {parts.sum():g}"
    if wrong:
        raise ValueError(f"{name} {_FRACTIONS}: {wrong}.")
    parts = parts / parts.max()  # so that the sum does not overflow
    return np.asarray(parts / parts.sum())


def _in_order(given: Any, known: list[Any], name: str) -> Any:
    """Sort numbers given by class in the order of the classes; return others unchanged."""
    parts = given
    if not isinstance(parts, Mapping):
        # A Series, such as of `value_counts`, which is sorted by counts.
        if getattr(parts, "ndim", 0) != 1 or not hasattr(parts, "to_dict"):
            return given
        parts = parts.to_dict()
        if list(parts) == list(range(len(parts))):
            return given
    missing = [k for k in known if k not in parts]
    others = [k for k in parts if k not in known]
    if missing or others:
        which = [f"has no proportion for {missing}"] * bool(missing)
        which += [f"names {others}, which are not classes"] * bool(others)
        raise ValueError(
            f"{name}={dict(parts)!r} {' and '.join(which)}. "
            f"Give every class a proportion. The classes are {known}."
        )
    return [parts[k] for k in known]
