"""Hard assignment of points to classes of given volumes: an exact transport problem.

Find shares x_ik >= 0 with sum_k x_ik = w_i and sum_i x_ik = t_k that maximise sum_ik x_ik f_ik. It
is solved by successive shortest paths (R. Ahuja, T. Magnanti and J. Orlin, "Network Flows", 1993,
Section 9.7) on a graph whose few vertices are the *classes*: the cost of an arc k -> j is the least
loss of moving a point from k to j. A point is moved along each arc of the shortest path from a
class with a surplus to a class with a deficit. The prices of the classes are offsets g for which
every point is in the class with the largest f_ik + g_k.

Only sums and comparisons of the f_ik are used, so columns may differ in scale and there are no
parameters. The number of paths is the misplaced volume of the start. Prices are therefore improved
first by coordinate descent on the dual, in which each class in turn gets the price for its volume.
After a few sweeps O(sqrt(n)) points are misplaced, or the sweeps stop at a kink; paths do the rest.
Rejected: annealed log-sum-exp with Newton's method, whose temperature depends on the scale; prices
of nested samples, which took 2 to 40 times as many paths.
"""

from __future__ import annotations

import heapq
from itertools import pairwise

import numpy as np

from lapwing._arrays import BLOCK_BYTES, Array
from lapwing._host.threads import available_threads, share, share_rows

_MOST_SWEEPS = 50  # usually not reached, as sweeps stop when they cost more than paths
_FRONT = 128  # cheapest moves between two classes that are sorted at a time
_MOST_PATHS = 10_000_000  # avoids endless loops; the misplaced points bound the number of paths
_ROUNDING, _SUM = 1e-12, 1e-9  # of volumes and of their sum, relative to the total weight


def transport(F: Array, mass: Array, targets: Array, *, start: Array | None = None) -> Plan:
    """Assign points to classes, see the module docstring.

    Parameters
    ----------
    F : ndarray of shape (n, c)
        Finite values, float64.
    mass : ndarray of shape (n,)
        Weights > 0.
    targets : ndarray of shape (c,)
        Volumes of the classes, with the sum of `mass` up to rounding.
    start : ndarray of shape (c,), optional
        Offsets of a plan for similar values; 0 by default.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        If the volumes have another sum than the weights.

    Notes
    -----
    A sweep takes about O(n c) and a path O(c^2). Memory is n c numbers besides F.
    """
    total = float(mass.sum())
    if not abs(float(targets.sum()) - total) <= _SUM * total:
        raise ValueError(
            f"The volumes of the classes sum to {targets.sum():g}, but must sum to {total:g}, the "
            "weight of all points."
        )
    begun = np.zeros(F.shape[1]) if start is None else start
    plan = Plan(F, mass, _improve(F, mass, begun, targets), targets)
    plan.meet()
    return plan


def _improve(F: Array, mass: Array, offsets: Array, targets: Array) -> Array:
    """Improve offsets by sweeps over the classes, as long as each saves more than sqrt(n) paths.

    A sweep takes about the time of sqrt(n) paths.
    """
    leaders = _Leaders(F, offsets)
    misplaced, worth = leaders.misplaced(mass, targets), np.sqrt(len(F)) * float(mass.mean())
    for _ in range(_MOST_SWEEPS):
        if misplaced <= worth:
            break
        _sweep(F, leaders, mass, targets)
        left = leaders.misplaced(mass, targets)
        if left < misplaced:
            offsets = leaders.offsets - leaders.offsets.mean()
        if left > misplaced - worth:
            break
        misplaced = left
    return offsets


def _sweep(F: Array, leaders: _Leaders, mass: Array, targets: Array) -> None:
    """Set the offset of each class in turn so that it has its volume."""
    for k in range(F.shape[1]):
        values = np.ascontiguousarray(F[:, k])
        thresholds = leaders.among_others(k) - values  # offsets above which points move to k
        leaders.move(k, values, _price(thresholds, mass, float(targets[k])))


class _Leaders:
    """The two largest F + offsets at each point, updated when one offset changes.

    They give the value that a class must exceed, so that a sweep over the classes takes O(n c)
    instead of O(n c^2).

    Parameters
    ----------
    F, offsets : ndarray
        As for `transport`.
    """

    def __init__(self, F: Array, offsets: Array) -> None:
        self._F, self.offsets = F, offsets.copy()
        self._classes = np.empty((2, len(F)), dtype=np.intp)
        self._values = np.empty((2, len(F)))
        whole = F.itemsize * F.shape[1]
        share_rows(len(F), whole, lambda rows: self._find(np.arange(rows.start, rows.stop)))

    def misplaced(self, mass: Array, targets: Array) -> float:
        """Return the mass in classes beyond their targets."""
        surplus = np.bincount(self._classes[0], mass, len(targets)) - targets
        return float(surplus[surplus > 0].sum())

    def among_others(self, k: int) -> Array:
        """Return the largest value of the classes other than k at each point."""
        return np.asarray(np.where(self._classes[0] == k, self._values[1], self._values[0]))

    def move(self, k: int, values: Array, offset: float) -> None:
        """Change the offset of class k, whose column of F is `values`."""
        self.offsets[k] = offset
        led = (self._classes == k).any(axis=0)
        self._find(np.flatnonzero(led | (values + offset > self._values[1])))

    def _find(self, rows: Array) -> None:
        found = self._F[rows] + self.offsets
        for place in range(2):
            classes = found.argmax(axis=1)
            self._classes[place, rows] = classes
            self._values[place, rows] = found[np.arange(len(rows)), classes]
            found[np.arange(len(rows)), classes] = -np.inf


def _price(thresholds: Array, mass: Array, target: float) -> float:
    """Return the largest offset below which the mass of thresholds is at most the target."""
    if (mass == mass[0]).all():
        full = int(target / mass[0])
        if full < len(thresholds):
            return float(np.partition(thresholds, full)[full])
    else:
        order = np.argsort(thresholds)
        full = int(np.searchsorted(np.cumsum(mass[order]), target, side="right"))
        if full < len(thresholds):
            return float(thresholds[order[full]])
    # Above all thresholds by about their size: digits of small values would be lost beside 1.
    top = float(thresholds.max())
    return top + (float(np.ptp(thresholds)) or abs(top) or 1.0)


def assign_two_classes(F: Array, mass: Array, targets: Array) -> Array:
    """Solve `transport` for two classes, by the difference of both values.

    Parameters
    ----------
    F : ndarray of shape (n, 2)
    mass : ndarray of shape (n,)
    targets : ndarray of shape (2,)

    Returns
    -------
    ndarray of int of shape (n,)
        Class of each point. The point at which the second class is full is assigned to the class
        with the larger part of it.
    """
    loss, codes = F[:, 0] - F[:, 1], np.zeros(len(F), dtype=np.intp)
    if (mass == mass[0]).all():
        n_second = int(np.clip(targets[1] / mass[0] + 0.5, 0, len(F)))
        if n_second:
            # Takes a tenth of the time of sorting. Among equal losses the first points are taken.
            last = np.partition(loss, n_second - 1)[n_second - 1]
            codes[loss < last] = 1
            codes[np.flatnonzero(loss == last)[: n_second - int(codes.sum())]] = 1
        return codes
    order = np.argsort(loss, kind="stable")
    half = mass[order] / 2
    filled = np.cumsum(mass[order]) - half
    codes[order[filled <= targets[1]]] = 1
    return codes


class Plan:
    """Assignment of points, with the cheapest moves between each pair of classes.

    It is always optimal for its present volumes: every point is in the best class at `offsets`.

    Parameters
    ----------
    F, mass : ndarray
        As for `transport`.
    offsets : ndarray of shape (c,)
        Initial offsets: every point starts in the class with the largest f_ik + g_k.
    targets : ndarray of shape (c,)
        As for `transport`.

    Attributes
    ----------
    offsets : ndarray of shape (c,)
    n_paths : int
        Number of paths along which points were moved.
    """

    def __init__(self, F: Array, mass: Array, offsets: Array, targets: Array) -> None:
        self.n_paths = 0
        self._c = c = F.shape[1]
        self._F, self._mass = F, mass
        self.offsets = offsets.copy()
        self._owner = np.empty(len(F), dtype=np.intp)  # -1 for points that have been moved

        def assign(rows: slice) -> None:
            self._owner[rows] = np.argmax(F[rows] + offsets, axis=1)

        share_rows(len(F), F.itemsize * c, assign)
        self._shares: dict[int, dict[int, float]] = {}  # of points that have been moved
        self._members: list[Array] = []  # points of each class before any move
        self._entered: list[dict[int, None]] = [{} for _ in range(c)]  # moved points, in order
        self._surplus = np.bincount(self._owner, mass, c) - targets
        self._least = _ROUNDING * float(mass.sum())
        # Cheapest moves of each arc, sorted after the first move along it: most arcs have none.
        self._fronts: dict[tuple[int, int], list[tuple[float, int]]] = {}
        self._costs = np.full((c, c), np.inf)  # of the cheapest move, at offsets 0
        self._tops = np.full((c, c), -1)  # point of the cheapest move

    def misplaced(self) -> float:
        """Return the mass to be moved, from classes beyond their targets to those below them.

        The surplus and the deficit of all classes differ by rounding.
        """
        surplus = self._surplus
        return float(min(surplus[surplus > 0].sum(), -surplus[surplus < 0].sum()))

    def assignment(self) -> Array:
        """Return a class for each point; split points go to the class with the largest deficit."""
        owner = self._owner.copy()
        missing = -self._surplus
        divided = []
        for i, held in self._shares.items():
            owner[i] = next(iter(held))
            if len(held) > 1:
                divided.append(i)
                for k, share in held.items():
                    missing[k] += share
        for i in sorted(divided, key=lambda i: (-float(self._mass[i]), i)):
            owner[i] = max(self._shares[i], key=lambda k: float(missing[k]))
            missing[owner[i]] -= self._mass[i]
        return np.asarray(owner)

    def meet(self) -> None:
        """Move points until the targets are met."""
        if self.misplaced() <= self._least:
            return
        ends = np.cumsum(np.bincount(self._owner, minlength=self._c))[:-1]
        self._members = np.split(np.argsort(self._owner, kind="stable"), ends)
        n_threads = available_threads() if self._F.nbytes > BLOCK_BYTES else 1
        share(n_threads, self._find_cheapest, range(self._c))
        while self.misplaced() > self._least and self.n_paths < _MOST_PATHS:
            self._move(self._shortest_path())
            self.n_paths += 1

    def _shortest_path(self) -> list[int]:
        """Find the shortest path from a surplus to a deficit; update prices to make its cost 0."""
        costs = self._costs + self.offsets[:, None]
        costs -= self.offsets
        np.maximum(costs, 0, out=costs)  # negative by rounding
        distance = np.where(self._surplus > 0, 0.0, np.inf)
        before = np.full(self._c, -1)
        waiting = distance.copy()
        while True:  # Dijkstra
            k = int(waiting.argmin())
            if self._surplus[k] < 0:
                break
            through = distance[k] + costs[k]
            nearer = through < distance
            distance[nearer] = waiting[nearer] = through[nearer]
            before[nearer] = k
            waiting[k] = np.inf
        self.offsets += np.minimum(distance, distance[k])
        path = [k]
        while before[path[-1]] >= 0:
            path.append(int(before[path[-1]]))
        return path[::-1]

    def _move(self, path: list[int]) -> None:
        """Move one point, or the largest possible share of it, along each arc."""
        arcs = [(k, j, int(self._tops[k, j])) for k, j in pairwise(path)]
        amount = min(float(self._surplus[path[0]]), -float(self._surplus[path[-1]]))
        amount = min([amount, *(self._share_of(i, k) for k, _, i in arcs)])
        for k, j, i in arcs:
            held = self._shares.setdefault(i, {k: float(self._mass[i])})
            self._owner[i] = -1
            self._entered[k][i] = self._entered[j][i] = None
            if j not in held:
                self._offer(i, j)
            held[j] = held.get(j, 0.0) + amount
            held[k] -= amount
            if held[k] <= 0:
                del held[k]
                for other in np.flatnonzero(self._tops[k] == i):
                    self._trim(k, int(other))
        self._surplus[path[0]] -= amount
        self._surplus[path[-1]] += amount

    def _share_of(self, i: int, k: int) -> float:
        if i in self._shares:
            return self._shares[i].get(k, 0.0)
        return float(self._mass[i]) if self._owner[i] == k else 0.0

    def _offer(self, i: int, k: int) -> None:
        """Add the moves of a point that enters class k."""
        losses = self._F[i, k] - self._F[i]
        losses[k] = np.inf
        for j in range(self._c):
            if (k, j) in self._fronts:
                heapq.heappush(self._fronts[k, j], (float(losses[j]), i))
        cheaper = losses < self._costs[k]
        self._costs[k, cheaper] = losses[cheaper]
        self._tops[k, cheaper] = i

    def _trim(self, k: int, j: int) -> None:
        """Remove moves of points that have left class k, down to the cheapest valid one."""
        front = self._fronts.get((k, j))
        if front is None:
            self._sort_front(k, j, _FRONT)
            return
        while front and front[0][1] < len(self._F) and not self._share_of(front[0][1], k):
            heapq.heappop(front)
        if front and front[0][1] == len(self._F):
            self._sort_front(k, j, 2 * _FRONT)
        else:
            self._costs[k, j], self._tops[k, j] = front[0] if front else (np.inf, -1)

    def _find_cheapest(self, k: int) -> None:
        """Find the cheapest move from class k to each other one, before any point is moved."""
        members = self._members[k]
        if not len(members):
            return
        values = self._F[members]
        losses = values[:, [k]] - values
        first = losses.argmin(axis=0)
        self._costs[k], self._tops[k] = losses[first, np.arange(self._c)], members[first]
        self._costs[k, k], self._tops[k, k] = np.inf, -1

    def _sort_front(self, k: int, j: int, size: int) -> None:
        """Find the `size` cheapest moves from class k to j; a last entry with point n means "more".

        A point that enters later is added at any cost; a point that has left is removed when it
        reaches the top.
        """
        moved = [i for i in self._entered[k] if k in self._shares[i]]
        still = self._members[k][self._owner[self._members[k]] == k]
        members = np.concatenate([still, np.array(moved, dtype=np.intp)])
        if not len(members):
            self._fronts[k, j], self._costs[k, j], self._tops[k, j] = [], np.inf, -1
            return
        losses = self._F[members, k] - self._F[members, j]
        chosen, more = np.arange(len(members)), []
        if len(members) > size:
            chosen = np.argpartition(losses, size - 1)[:size]
            more = [(float(losses[chosen].max()), len(self._F))]
        pairs = zip(losses[chosen].tolist(), members[chosen].tolist(), strict=True)
        self._fronts[k, j] = sorted([*pairs, *more])
        self._costs[k, j], self._tops[k, j] = self._fronts[k, j][0]
