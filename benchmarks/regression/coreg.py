"""Co-training of two nearest-neighbour regressions (COREG).

Z.-H. Zhou and M. Li, "Semi-supervised regression with co-training", IJCAI 2005. Implemented from
Table 1 of the paper, with its parameters: three neighbours, Minkowski distances of orders 2 and 5,
a pool of 100 rows and 100 rounds.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsRegressor

from benchmarks.regression.sources import Array

NEIGHBORS, ORDERS, POOL, ROUNDS = 3, (2, 5), 100, 100


class Coreg:
    """Two regressors, each of which labels the row that makes it most consistent for the other."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X: Array, y: Array) -> Coreg:
        """Fit to all rows; targets are NaN if unknown."""
        rng = np.random.default_rng(self.seed)
        known, free = np.flatnonzero(~np.isnan(y)), rng.permutation(np.flatnonzero(np.isnan(y)))
        labeled = [(X[known], y[known]) for _ in ORDERS]
        pool, rest = free[:POOL].tolist(), free[POOL:].tolist()
        for _ in range(ROUNDS):
            if not pool:
                break
            found = [
                _most_consistent(X, pool, *each, order)
                for each, order in zip(labeled, ORDERS, strict=True)
            ]
            if not any(found):
                break
            for j, best in enumerate(found):
                if best is not None and best[0] in pool:
                    row, value = best
                    points, targets = labeled[1 - j]
                    labeled[1 - j] = np.vstack([points, X[row]]), np.append(targets, value)
                    pool.remove(row)
            while len(pool) < POOL and rest:
                pool.append(rest.pop())
        self._models = [
            _neighbors(order).fit(*each) for each, order in zip(labeled, ORDERS, strict=True)
        ]
        return self

    def predict(self, X: Array) -> Array:
        """Predict the mean of both regressors."""
        return np.asarray(np.mean([model.predict(X) for model in self._models], axis=0))


def _neighbors(order: int) -> KNeighborsRegressor:
    return KNeighborsRegressor(NEIGHBORS, p=order)


def _most_consistent(
    X: Array, pool: list[int], known: Array, targets: Array, order: int
) -> tuple[int, float] | None:
    """Return the row of the pool whose prediction reduces the squared errors near it most, or None.

    A new row changes a prediction only if it is nearer than the farthest of the three neighbours,
    which it replaces.
    """
    l = len(targets)
    near_known = cdist(known, known, "minkowski", p=order)
    nearest = np.argsort(near_known, axis=1, kind="stable")[:, :NEIGHBORS]
    answers = targets[nearest].mean(axis=1)
    away = cdist(X[pool], known, "minkowski", p=order)
    around = np.argsort(away, axis=1, kind="stable")[:, :NEIGHBORS]  # (pool, 3)
    values = targets[around].mean(axis=1)
    farthest = nearest[:, -1]
    enters = np.take_along_axis(away, around, axis=1) < near_known[np.arange(l), farthest][around]
    change = (values[:, None] - targets[farthest][around]) / NEIGHBORS
    after = answers[around] + np.where(enters, change, 0.0)
    of_row = targets[around]
    gains = ((of_row - answers[around]) ** 2 - (of_row - after) ** 2).sum(axis=1)
    best = int(np.argmax(gains))
    return (pool[best], float(values[best])) if gains[best] > 0 else None
