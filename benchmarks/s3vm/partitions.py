"""Data sets of the QN-S3VM paper and their random partitions (Section 4.1.2).

Each partition draws new training and test points, with the sizes of Table 1. The kernel is linear,
except for the moons, with coordinates that are exact on the training points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_moons

from benchmarks.s3vm.fits import FloatArray, Task
from benchmarks.s3vm.plan import Plan
from benchmarks.shared.data import SETS, Data
from benchmarks.shared.kernels import gaussian
from benchmarks.shared.labels import draw_covering
from lapwing.kernels import make_kernel
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.mapped import full_map

N_PARTITIONS = 10
N_GAUSSIAN = 500  # number of points, and of dimensions


@dataclass(frozen=True, eq=False)
class Partition:
    """Training points, partly labelled, and test points.

    Attributes
    ----------
    task : Task
        The training points.
    test_features : array-like or sparse of shape (t, r)
        Coordinates of the test points.
    test_y : ndarray of shape (t,)
        -1 and +1.
    X : array-like or sparse of shape (n, n_features)
        The training points themselves.
    """

    task: Task
    test_features: Any
    test_y: FloatArray
    X: Any


class SignedPoints(NamedTuple):
    """Points with classes -1 and +1."""

    X: Any
    y: FloatArray


@dataclass(frozen=True)
class QnSet:
    """Learning problem of Table 1.

    Attributes
    ----------
    name : str
        Name in `paper_qn.TABLE`.
    base : str
        Name of the data for ``--sets``.
    load : function or None
        None for generated data.
    classes : (int, int)
        Codes of the two classes in the data.
    scale : float
        Factor of the pixels.
    """

    name: str
    base: str
    load: Callable[[], Data] | None = None
    classes: tuple[int, int] = (0, 1)
    scale: float = 1.0

    def data(self, plan: Plan) -> Data | None:
        """Load the data, None for generated ones; raise UnavailableError if there are none."""
        plan.require(self.base)
        return None if self.load is None else plan.load(self.base, self.load)

    def points(self, data: Data | None, rng: np.random.Generator) -> SignedPoints:
        """Return all points of the problem; artificial points are drawn."""
        if data is None:
            return _clusters(2 if self.base == "gaussian2c" else 4, rng)
        rows = np.flatnonzero(np.isin(data.y, self.classes))
        X = data.X[rows]
        # float64, as results of the table are compared to the last digit.
        X = X.astype(np.float64) * self.scale
        return SignedPoints(X, np.where(data.y[rows] == self.classes[1], 1.0, -1.0))


def _pair(name: str, base: str, i: int, j: int, scale: float = 1.0, first: int = 0) -> QnSet:
    """Return the problem of two classes, which the paper numbers from `first`."""
    load = SETS["usps_full" if base == "usps" else base]
    return QnSet(f"{name}({i},{j})", base, load, (i - first, j - first), scale)


QN_SETS: dict[str, QnSet] = {
    problem.name: problem
    for problem in (
        QnSet("gaussian2c", "gaussian2c"),
        QnSet("gaussian4c", "gaussian4c"),
        *(_pair("coil", "coil20", *pair, first=1) for pair in ((3, 6), (5, 9), (6, 19), (18, 19))),
        *(_pair("usps", "usps", *pair) for pair in ((2, 5), (2, 7), (3, 8), (8, 0))),
        *(_pair("mnist", "mnist", *pair, 1 / 255) for pair in ((1, 7), (2, 5), (2, 7), (3, 8))),
        QnSet("text", "text", SETS["pcmac"]),
    )
}


def _clusters(count: int, rng: np.random.Generator) -> SignedPoints:
    """Draw Gaussian2C or Gaussian4C in 500 dimensions; the class depends on the first one."""
    centers = np.zeros((count, N_GAUSSIAN))
    centers[:, 0] = np.tile([-2.5, 2.5], count // 2)
    if count == 4:
        centers[:, 1] = [-5.0, -5.0, 5.0, 5.0]
    which = np.arange(N_GAUSSIAN) % count
    X = rng.standard_normal((N_GAUSSIAN, N_GAUSSIAN)) + centers[which]
    return SignedPoints(X, np.sign(centers[which, 0]))


def moons(noise: float, rng: np.random.Generator) -> SignedPoints:
    """Draw the moons of Figure 4, 500 points."""
    X, code = make_moons(N_GAUSSIAN, noise=noise, random_state=int(rng.integers(2**31)))
    return SignedPoints(X, 2.0 * code - 1)


def partition(
    points: SignedPoints,
    sizes: tuple[int, int, int],
    rng: np.random.Generator,
    sigma: float | None = None,
    *,
    even: bool = False,
) -> Partition:
    """Draw l labelled points with all classes, u unlabelled and t test points.

    Parameters
    ----------
    points : Points
    sizes : (int, int, int)
        l, u and t.
    rng : Generator
    sigma : float or None
        Width of the Gaussian kernel; None is the linear kernel.
    even : bool
        Whether both classes have the same number of labels.
    """
    l, u, t = sizes
    order = rng.permutation(len(points.y))[: l + u + t]
    train, test = order[: l + u], order[l + u :]
    y = points.y[train]
    labeled = draw_covering(np.arange(l + u), y.astype(np.int64), l, rng)
    if even:
        labeled = np.concatenate(
            [rng.choice(np.flatnonzero(y == side), l // 2, replace=False) for side in (-1, 1)]
        )
    unlabeled = np.setdiff1d(np.arange(l + u), labeled)
    space, test_features = _coordinates(points.X[train], points.X[test], sigma)
    task = Task(space, y, labeled, unlabeled)
    return Partition(task, test_features, points.y[test], points.X[train])


def _coordinates(X: Any, X_test: Any, sigma: float | None) -> tuple[Any, Any]:
    if sigma is not None:
        kernel = make_kernel(X=X, **gaussian(sigma))
        space = full_map(kernel, kernel.gram(X), X)
        assert space.pivots is not None
        cross = make_kernel(X=X, **gaussian(sigma)).gram(np.vstack([X_test, X[space.pivots]]))
        return space, cross[: len(X_test), len(X_test) :] @ space.lift
    if sp.issparse(X) or X.shape[1] <= X.shape[0]:
        return LinearSpace(X), X_test
    # With more features than points, coordinates in the span of the points, as all solutions are in
    # it.
    basis, _ = np.linalg.qr(X.T)
    return LinearSpace(X @ basis), X_test @ basis


def box_diagonal(X: Any) -> float:
    """Compute the diagonal of the bounding box, the paper's largest distance (footnote 6)."""
    return float(np.linalg.norm(X.max(axis=0) - X.min(axis=0)))
