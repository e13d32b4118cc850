r"""Leave-one-out and likelihoods along grids of gamma_A and gamma_I, by shared factorisations.

In coordinates of the space, K = F F', the labelled block of the deformed kernel
(`lapwing.solvers.manifold.deformed`) is

.. math:: T(\gamma_A, \gamma_I) = \frac{1}{\gamma_A} F_l \big(I + \rho\, F^T L^p F\big)^{-1} F_l^T,
          \qquad \rho = \gamma_I / \gamma_A ,

so F is computed once for a kernel, F'L^p F once for a graph, and a Cholesky factorisation (half the
work of the LU of one fit) once for each ratio: a 7 x 7 logarithmic grid has 13. L^p F is computed
from L^(p-1) F, and p is divided between both sides of F'L^p F. The remaining problems are of order
l; for the squared loss one eigendecomposition gives the solutions for all gamma_A of a ratio.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lapwing._arrays import Array, as_dense, row_blocks
from lapwing._host.memory import require_memory
from lapwing.linalg import spd_factor
from lapwing.losses.base import Loss
from lapwing.losses.labeled import Squared
from lapwing.objectives.manifold import Objective
from lapwing.solvers.manifold.dual import solve_reduced
from lapwing.solvers.manifold.leave_one_out import left_out_values
from lapwing.solvers.manifold.settings import ManifoldSettings
from lapwing.solvers.ridge import Observations, RidgePath, ridge_path
from lapwing.spaces.base import Smoothness, Space
from lapwing.spaces.full import FullKernelSpace
from lapwing.spaces.systems import Coordinates, kernel_coordinates

_SAME_RATIO = 1e-9  # relative; quotients are rounded to 1e-16, and grids have no ratios as close
_BLOCK = 2**22  # bytes of the blocks of symmetric products: a few hundred rows
_COPIES = 5  # matrices of order n^2 at once: F, L^j F and a copy, F'L^p F, a factor


def factor_of(space: Space) -> Array:
    """Compute F (n, r), dense in float64, such that the function F w has the norm |w|.

    F are the features of a space in coordinates, if they are fewer than the points; otherwise a
    pivoted Cholesky factor of the kernel matrix, with as many columns as its rank.
    """
    n = space.n_points
    require_memory(
        _COPIES * 8.0 * n * min(n, space.n_coef),
        f"Leave-one-out along a grid at n = {n} points",
        "Fit one setting, which takes less, or fewer unlabelled points.",
    )
    if isinstance(space, Coordinates) and space.n_coef <= n:
        return np.asarray(as_dense(space.features), dtype=np.float64)
    return kernel_coordinates(space.gram())[0]


@dataclass(frozen=True, eq=False)
class DeformedPath:
    """Deformed kernels of one space and one graph for all gamma_A and gamma_I.

    Attributes
    ----------
    design : ndarray of shape (n, r)
        F, with a column of ones if the bias is part of the kernel.
    penalty : ndarray of shape (r,)
        1 for the columns of F, 0 for the bias.
    energy : ndarray of shape (r, r) or None
        F'L^p F; None without a graph.
    free_intercept : bool
        Whether there is a bias that is not part of the kernel.
    """

    design: Array
    penalty: Array
    energy: Array | None
    free_intercept: bool

    @classmethod
    def without_graph(cls, F: Array, *, fit_intercept: bool) -> DeformedPath:
        """Return the path of the kernel alone, for gamma_I = 0."""
        return cls(F, np.ones(F.shape[1]), None, fit_intercept)

    @classmethod
    def of_powers(
        cls, F: Array, laplacian: Smoothness, seen: Mapping[int, bool], *, fit_intercept: bool
    ) -> Iterator[tuple[int, DeformedPath]]:
        """Iterate over powers of one Laplacian, with their paths.

        Parameters
        ----------
        F : ndarray of shape (n, r)
        laplacian : function
            F -> L F.
        seen : mapping of int to bool
            Whether L^p penalises constants (`Objective.sees_constants`), by p.
        fit_intercept : bool
        """
        for biased in (False, True):
            powers = [p for p, sees in seen.items() if (sees and fit_intercept) is biased]
            design, penalty = F, np.ones(F.shape[1])
            if biased and powers:
                design = np.hstack([F, np.ones((len(F), 1))])
                penalty = np.append(penalty, 0.0)
            for p, energy in _energies(design, laplacian, powers):
                yield p, cls(design, penalty, energy, fit_intercept and not biased)

    @property
    def has_constant(self) -> bool:
        """Whether the functions include a bias, free or in the kernel."""
        return self.free_intercept or not self.penalty.all()

    def block(self, points: Array, ratio: float) -> Array:
        """Compute the kernel matrix (q, q) of some points, for gamma_A = 1 and gamma_I = ratio."""
        rows = self.design[points]
        if self.energy is None:
            return np.asarray(rows @ rows.T)
        # In Fortran's order, so that the factorisation can overwrite it.
        H = np.multiply(self.energy.T, ratio, order="F")
        H.flat[:: len(H) + 1] += self.penalty
        T = rows @ spd_factor(H)(rows.T)
        return np.asarray((T + T.T) / 2)

    def along(
        self,
        gamma_As: Array,
        gamma_Is: Array,
        observations: Observations,
        loss: Loss,
        settings: ManifoldSettings,
    ) -> RidgePath:
        """Compute left-out scores and likelihoods of every gamma_A with every gamma_I.

        Parameters
        ----------
        gamma_As, gamma_Is : ndarray of shape (a,) and (i,)
        observations : Observations
        loss : Loss
        settings : ManifoldSettings
            Settings of the solver of the reduced problems.

        Returns
        -------
        RidgePath
            Scores (a, i, l, c), NaN if not wanted, or if a problem has no solution; likelihoods
            (a, i), NaN for losses that do not correspond to a Gaussian process.
        """
        points, at = np.unique(observations.index, return_inverse=True)
        placed = replace(observations, index=at.ravel())
        scores = np.full((len(gamma_As), len(gamma_Is), *placed.targets.shape), np.nan)
        likelihoods = np.full(scores.shape[:2], np.nan)
        for ratio, rows, columns in _by_ratio(gamma_As, gamma_Is):
            T = self.block(points, ratio)
            if not np.isfinite(T).all():
                continue
            if type(loss) is Squared:  # not a subclass, which may have another loss
                found = ridge_path(
                    T,
                    gamma_As[rows],
                    placed,
                    bias=self.free_intercept,
                    constant=self.has_constant,
                )
                scores[rows, columns], likelihoods[rows, columns] = found
            else:
                scores[rows, columns] = _along_weights(
                    T, gamma_As[rows], placed, loss, settings, bias=self.free_intercept
                )
        wanted = observations.wanted[:, None]
        return RidgePath(np.where(wanted, scores, np.nan), likelihoods)


def n_ratios(gamma_As: Array, gamma_Is: Array) -> int:
    """Return the number of factorisations of a grid for each space and graph."""
    return sum(1 for _ in _by_ratio(gamma_As, gamma_Is))


def _by_ratio(gamma_As: Array, gamma_Is: Array) -> Iterator[tuple[float, Array, Array]]:
    """Yield each distinct gamma_I / gamma_A with the rows and columns of the grid that have it."""
    ratios = gamma_Is[None, :] / gamma_As[:, None]
    if not ratios.size:
        return
    order = np.argsort(ratios, axis=None, kind="stable")
    ordered = ratios.ravel()[order]
    # Ratios that differ by rounding are equal, such as 1e-2 / 1e-4 and 1 / 1e-2.
    starts = np.flatnonzero(np.diff(ordered) > _SAME_RATIO * ordered[1:]) + 1
    for members in np.split(order, starts):
        rows, columns = np.unravel_index(members, ratios.shape)
        yield float(ratios[rows[0], columns[0]]), rows, columns


def _energies(
    F: Array, laplacian: Smoothness, powers: Sequence[int]
) -> Iterator[tuple[int, Array]]:
    """Compute F'L^p F for every power, ascending, with at most two L^j F in memory."""
    low, below = 0, F  # L^low F
    for p in sorted(set(powers)):
        while low < p // 2:
            below, low = laplacian(below), low + 1
        yield p, below.T @ below if p % 2 == 0 else _symmetric_product(below, laplacian(below))


def _symmetric_product(A: Array, B: Array) -> Array:
    """Compute the symmetric A'B from its blocks on and below the diagonal."""
    r = A.shape[1]
    product = np.empty((r, r))
    for rows in row_blocks(r, 8 * r, _BLOCK):
        left = A[:, rows].T @ B[:, : rows.stop]
        product[rows, : rows.stop] = left
        product[: rows.start, rows] = left[:, : rows.start].T
    return product


def _along_weights(
    T: Array,
    gamma_As: Array,
    observations: Observations,
    loss: Loss,
    settings: ManifoldSettings,
    *,
    bias: bool,
) -> Array:
    """Compute left-out scores (a, l, c) for the kernels T / gamma_A of the points."""
    found: dict[float, Array] = {}
    start, before = None, 1.0
    # In ascending order: from one weight to the next most observations stay on their pieces.
    for gamma_A in sorted(gamma_As.tolist()):
        reduced = Objective(
            FullKernelSpace(T / gamma_A),
            loss,
            observations.index,
            observations.targets,
            observations.weights,
            gamma_A=1.0,
            fit_intercept=bias,
        )
        if start is not None:
            start = start._replace(coef=start.coef * (gamma_A / before))
        start = solve_reduced(reduced, replace(settings, start=start)).state
        before = gamma_A
        found[gamma_A] = left_out_values(reduced, start, observations.wanted, settings)
    return np.stack([found[gamma_A] for gamma_A in gamma_As.tolist()])
