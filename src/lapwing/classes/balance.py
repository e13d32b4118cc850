r"""Soft assignment of points to classes with volumes near a prior.

Given values f, the shares q (rows of sum one) that maximise

.. math:: \frac1M \sum_i m_i \Big( \sum_k q_{ik} f_{ik} + T\, H(q_i) \Big)
    - \tau\, \mathrm{KL}(v \,\|\, \pi), \qquad v_k = \frac1M \sum_i m_i q_{ik},

with H the entropy of a row and M the sum of the masses, are q = softmax((f + b) / T) with an offset
b for each class. The offsets minimise the convex dual:

.. math:: \frac{T}{M} \sum_i m_i \log \sum_k e^{(f_{ik} + b_k) / T}
    + \tau \log \sum_k \pi_k e^{-b_k / \tau}.

Both are equal at the optimum. As tau grows the last term tends to -pi'b, and the volumes equal the
prior exactly; as T goes to 0 the shares become 0 or 1, and `lapwing.classes.volumes` computes the
offsets. Points of known shares contribute to v only.

The dual is minimised by Newton's method on the K offsets. The null vector of its K x K Hessian, a
constant added to all offsets, is removed by the condition that they sum to 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg as sla

from lapwing._arrays import Array, row_blocks

_ARMIJO = 1e-4  # usual parameter of sufficient decrease
_HALVINGS = 40  # of a step, to 1e-12
_ROUNDING = 1e-14  # relative rounding error of the objective
_RIDGE = 1e-10  # relative to the mean diagonal of the Hessian, which vanishes for one-hot shares
_CACHE = 2**20  # bytes of the shares of a block, which fit into the cache
_BELOW = 50.0  # distance in temperatures from all other offsets, for shares of at most e^-50
_FULL = 1e-12  # fraction of the mass: a class with less room is full
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Balance:
    """Shares of the classes, offsets and volumes.

    Attributes
    ----------
    shares : ndarray of shape (n, c)
        Rows of sum 1, in the precision of the values.
    offsets : ndarray of shape (c,)
        b; they sum to 0 over the classes of positive prior, and are -inf for the others.
    volumes : ndarray of shape (c,)
        v, of sum 1, including points of known shares.
    objective : float
        Value of the dual at `offsets`.
    n_iter : int
        Number of Newton steps.
    converged : bool
        Whether the gradient, a difference of volumes, is within the tolerance.
    """

    shares: Array
    offsets: Array
    volumes: Array
    objective: float
    n_iter: int
    converged: bool


def balance(
    F: Array,
    prior: Array,
    temperature: float,
    softness: float = np.inf,
    *,
    masses: Array | None = None,
    known: Array | None = None,
    start: Array | None = None,
    tol: float = 1e-9,
    max_iter: int = 100,
) -> Balance:
    """Compute the shares, see the module docstring.

    Parameters
    ----------
    F : ndarray of shape (n, c)
        Values of the points.
    prior : ndarray of shape (c,)
        pi; sums to 1. A class of prior 0 gets no share.
    temperature : float
        T > 0, in the units of F.
    softness : float, default=inf
        tau > 0, in the units of F; with infinity the volumes equal the prior.
    masses : ndarray of shape (n,), optional
        m; 1 by default.
    known : ndarray of shape (c,), optional
        Mass of each class at further points, whose shares are known.
    start : ndarray of shape (c,), optional
        Initial offsets.
    tol : float, default=1e-9
        Tolerance of the volumes: largest entry of the gradient.
    max_iter : int, default=100

    Raises
    ------
    ValueError
        If the known mass of a class exceeds its prior, and softness is infinite.
    """
    c = len(prior)
    weights = np.ones(len(F)) if masses is None else np.asarray(masses, np.float64)
    known_mass = np.zeros(c) if known is None else np.asarray(known, np.float64)
    total = float(weights.sum() + known_mass.sum())
    room = prior - known_mass / total  # proportion of the other points of each class
    if np.isinf(softness) and len(F):
        _check(prior, room)
    # A class without room for further points gets no shares of F, like a class of prior 0.
    wide = room > _FULL if np.isinf(softness) else prior > 0
    present = np.flatnonzero(wide if wide.any() else prior > 0)
    part, values, wanted = total, F, prior
    if len(present) < c:
        part = float(weights.sum() + known_mass[present].sum())
        values, wanted = F[:, present], prior[present] / prior[present].sum()
    dual = _Dual(values, wanted, temperature, softness, weights / part, known_mass[present] / part)
    begun = None if start is None else start[present]
    point, n_iter = _minimize(dual, begun, tol, max_iter)
    shares = dual.shares(point.offsets)
    offsets, volumes = np.full(c, -np.inf), known_mass / total
    if len(present) < c:
        some, shares = shares, np.zeros(F.shape, dtype=F.dtype)
        shares[:, present] = some
        # The offset of a full class is finite, but so low that no point is assigned to it.
        below = float(point.offsets.min()) - 2 * _spread(F) - _BELOW * temperature
        offsets[prior > 0] = below
    offsets[present] = point.offsets
    volumes[present] = point.volumes * (part / total)
    return Balance(shares, offsets, volumes, point.value, n_iter, point.gap <= tol)


def _spread(F: Array) -> float:
    return float(np.ptp(F)) if F.size else 0.0


def _check(prior: Array, room: Array) -> None:
    if room.min() < -_FULL:
        k = int(room.argmin())
        raise ValueError(
            f"The prior of class number {k} is {prior[k]:.3g}, but the proportion of its "
            f"labels alone is {prior[k] - room[k]:.3g}. Give it a larger prior."
        )


@dataclass(frozen=True, eq=False)
class _Point:
    """Value and derivatives of the dual at some offsets."""

    offsets: Array
    value: float
    volumes: Array
    wanted: Array  # minus the gradient of the prior's term: the prior if softness is infinite
    hessian: Array

    @property
    def gradient(self) -> Array:
        return self.volumes - self.wanted

    @property
    def gap(self) -> float:
        return float(np.abs(self.gradient).max())


@dataclass(frozen=True, eq=False)
class _Dual:
    F: Array
    prior: Array
    temperature: float
    softness: float
    parts: Array  # masses over M, the mass of all points, known ones included
    known: Array  # mass of each class at points of known shares, over M

    @cached_property
    def reach(self) -> float:
        """Largest difference of two values."""
        return _spread(self.F)

    def blocks(self, b: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Iterate over row blocks with their shares (c, b), in float64, and T log sum exp."""
        T, c = self.temperature, len(b)
        for rows in row_blocks(len(self.F), 8 * c, _CACHE):
            # With classes as rows, as NumPy's reductions over short rows take three times as long.
            shares = np.add(self.F[rows].T, b[:, None], order="C")
            shares /= T
            top = shares.max(axis=0)
            shares -= top
            np.exp(shares, out=shares)
            sums = shares.sum(axis=0)
            shares /= sums
            yield rows, shares, T * (np.log(sums) + top)

    def at(self, b: Array) -> _Point:
        value, volumes = float(self.known @ b), self.known.copy()
        H = np.zeros((len(b), len(b)))
        for rows, shares, levels in self.blocks(b):
            weights = self.parts[rows]
            value += float(weights @ levels)
            volumes += shares @ weights
            H -= (weights * shares) @ shares.T
        H[np.diag_indices(len(b))] += volumes - self.known
        H /= self.temperature
        if np.isinf(self.softness):
            return _Point(b, value - float(self.prior @ b), volumes, self.prior, H)
        exponents = np.log(self.prior) - b / self.softness
        level = exponents.max()
        wanted = np.exp(exponents - level)
        value += self.softness * float(level + np.log(wanted.sum()))
        wanted /= wanted.sum()
        H += (np.diag(wanted) - np.outer(wanted, wanted)) / self.softness
        return _Point(b, value, volumes, wanted, H)

    def shares(self, b: Array) -> Array:
        """Compute all shares, in the precision of the values."""
        found = np.empty(self.F.shape, dtype=self.F.dtype)
        for rows, shares, _ in self.blocks(b):
            found[rows] = shares.T
        return found


def _minimize(dual: _Dual, start: Array | None, tol: float, max_iter: int) -> tuple[_Point, int]:
    """Minimise the dual from a start, or from higher temperatures if that does not converge.

    Far from the optimum shares are exponentially close to 0 or 1, and a Newton step changes offsets
    by about T only. Small temperatures are therefore approached in steps from the range of the
    values.
    """
    point, n_iter = _descend(dual, start, tol, max_iter)
    if point.gap <= tol or not dual.reach > dual.temperature:
        return point, n_iter
    n_levels = int(np.ceil(np.log2(dual.reach / dual.temperature)))
    offsets: Array | None = None
    for T in np.geomspace(dual.reach, dual.temperature, n_levels + 1):
        warm, spent = _descend(replace(dual, temperature=float(T)), offsets, tol, max_iter)
        offsets, n_iter = warm.offsets, n_iter + spent
    return min(point, warm, key=lambda each: each.gap), n_iter


def _descend(dual: _Dual, start: Array | None, tol: float, max_iter: int) -> tuple[_Point, int]:
    b = np.zeros(len(dual.prior)) if start is None else np.asarray(start, np.float64)
    point = dual.at(b - b.mean())
    for n_iter in range(max_iter):
        if point.gap <= tol:
            return point, n_iter
        following = _step(dual, point)
        if following is None:  # due to rounding
            return point, n_iter
        point = following
    return point, max_iter


def _step(dual: _Dual, point: _Point) -> _Point | None:
    """Take a damped Newton step; None if no step length lowers the dual."""
    gradient, c = point.gradient, len(dual.prior)
    # Add the null vector of constants, and a ridge, as the Hessian vanishes for one-hot shares.
    size = float(np.trace(point.hessian)) / c + _TINY
    H = point.hessian + size * (np.full((c, c), 1 / c) + _RIDGE * np.eye(c))
    # LAPACK directly: for few classes the checks of `scipy.linalg.solve` take most of the time.
    _, direction, not_positive = sla.lapack.dposv(H, -gradient)
    if not_positive:
        direction = -gradient * dual.temperature
    # Larger steps would move offsets beyond the range of the values, without an effect.
    limit = dual.reach + float(np.ptp(point.offsets)) + 10 * dual.temperature
    reach = float(np.abs(direction).max())
    if not np.isfinite(reach):
        direction, reach = -gradient, float(np.abs(gradient).max())
    direction *= min(1.0, limit / reach) if reach > 0 else 0.0
    direction -= direction.mean()
    slope = float(gradient @ direction)
    if not slope < 0:
        return None
    rounding = _ROUNDING * max(abs(point.value), dual.temperature)
    for halvings in range(_HALVINGS):
        length = 0.5**halvings
        found = dual.at(point.offsets + length * direction)
        if found.value <= point.value + _ARMIJO * length * slope:
            return found
        # Near the optimum the decrease is below the rounding error of the value.
        if found.value <= point.value + rounding and found.gap < point.gap / 2:
            return found
    return None
