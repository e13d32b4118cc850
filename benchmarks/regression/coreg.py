"""Co-training of two nearest-neighbour regressions (COREG).

Z.-H. Zhou and M. Li, "Semi-supervised regression with co-training", IJCAI 2005. Written from the
paper's table 1, with its parameters: three neighbours, Minkowski distances of orders 2 and 5,
a pool of 100 rows and 100 rounds.
"""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import KNeighborsRegressor

from benchmarks.regression.sources import Array

NEIGHBORS, ORDERS, POOL, ROUNDS = 3, (2, 5), 100, 100


class Coreg:
    """Each regression labels for the other the row that makes it most consistent with its own."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X: Array, y: Array) -> Coreg:
        """Learn from all rows; NaN in y marks those without a target."""
        rng = np.random.default_rng(self.seed)
        known, free = np.flatnonzero(~np.isnan(y)), rng.permutation(np.flatnonzero(np.isnan(y)))
        told = [(X[known], y[known]) for _ in ORDERS]
        pool, rest = free[:POOL].tolist(), free[POOL:].tolist()
        for _ in range(ROUNDS):
            if not pool:
                break
            found = [
                _most_consistent(X, pool, *each, order)
                for each, order in zip(told, ORDERS, strict=True)
            ]
            if not any(found):
                break
            for j, best in enumerate(found):
                if best is not None and best[0] in pool:
                    row, value = best
                    mine, its = told[1 - j]
                    told[1 - j] = np.vstack([mine, X[row]]), np.append(its, value)
                    pool.remove(row)
            while len(pool) < POOL and rest:
                pool.append(rest.pop())
        self._models = [
            _neighbors(order).fit(*each) for each, order in zip(told, ORDERS, strict=True)
        ]
        return self

    def predict(self, X: Array) -> Array:
        """Mean of both regressions."""
        return np.asarray(np.mean([model.predict(X) for model in self._models], axis=0))


def _neighbors(order: int) -> KNeighborsRegressor:
    return KNeighborsRegressor(NEIGHBORS, p=order)


def _most_consistent(
    X: Array, pool: list[int], known: Array, targets: Array, order: int
) -> tuple[int, float] | None:
    """The row of the pool whose own answer lowers the squared errors near it most, if any does."""
    model = _neighbors(order).fit(known, targets)
    values = model.predict(X[pool])
    near = model.kneighbors(X[pool], return_distance=False)
    errors = (targets - model.predict(known)) ** 2
    most, best = 0.0, None
    for row, value, around in zip(pool, values, near, strict=True):
        more = _neighbors(order).fit(np.vstack([known, X[row]]), np.append(targets, value))
        after = (targets[around] - more.predict(known[around])) ** 2
        gain = float((errors[around] - after).sum())
        if gain > most:
            most, best = gain, (row, float(value))
    return best
