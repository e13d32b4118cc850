r"""Embedded regression for many settings, with one diagonalisation of the function side.

With coordinates T of the points, K = T T' and T'T = diag(s), and eigenvectors Phi of the
Laplacian, the function that is fitted to virtual labels g = Phi z by squared loss is w = D A z,
D = C / (1 + C s) and A = T'Phi. So z solves systems of order n_ev,

.. math:: (C (\Phi^T \Phi - A^T D A) + S) z = \bar\Phi^T \Lambda y, \qquad
    S = \bar\Phi^T \Lambda \bar\Phi + \mu \bar\Sigma^p,

and a grid over C, lambda, mu, n_ev and draws of labels costs little more than one fit. Graphs,
eigenpairs and landmarks are from the library; a run compares one setting per set with its
estimators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla
from numpy.typing import NDArray

from lapwing.graphs import Eigenpairs
from lapwing.kernels import Kernel, scale_gamma
from lapwing.spaces.base import Space
from lapwing.spaces.recipes import Landmarks

Array = NDArray[Any]


class Tuning(NamedTuple):
    """The weights C, lambda and mu of (14) and (33)."""

    C: float
    lam: float
    mu: float

    def show(self) -> str:
        return f"C = {self.C:g}, lambda = {self.lam:g}, mu = {self.mu:g}"


# Section V-B: the same values for C and mu, and three for lambda.
WEIGHT_VALUES = (1e-2, 1e-1, 1.0, 10.0, 1e2, 1e4, 1e6)
LAMBDAS = (1e2, 1e4, 1e6)
GRID = tuple(Tuning(C, lam, mu) for C in WEIGHT_VALUES for lam in LAMBDAS for mu in WEIGHT_VALUES)
# Defaults of lapwing's classifiers.
DEFAULTS, DEFAULT_N_EV = Tuning(10.0, 1e4, 1e4), 50


class GridSide(NamedTuple):
    """Terms of the graph and the labels in a problem: 1/2 z'S z - h'z, for g = eigenvectors z."""

    curvature: Array  # (r, r) S
    pull: Array  # (r, c) h


class GridFit(NamedTuple):
    """Functions and virtual labels, one pair per column."""

    coef: Array  # (m, c): f = T coef + intercept
    intercept: Array  # (c,)
    graph_coef: Array  # (r, c): g = eigenvectors graph_coef


@dataclass(frozen=True, eq=False)
class Embedding:
    """Coordinates of the points in the function space, and eigenvectors of their graph.

    Attributes
    ----------
    coordinates : ndarray of shape (n, m)
        T, with K = T T' and orthogonal columns.
    spectrum : ndarray of shape (m,)
        Squared lengths of the columns of T.
    eigenvectors : ndarray of shape (n, r)
    overlap : ndarray of shape (m, r)
        T' eigenvectors.
    gram : ndarray of shape (r, r)
        Identity up to the rounding of float32 eigenvectors.
    penalties : ndarray of shape (r,)
        Eigenvalues of L^p.
    space : Space or None
        Space of the landmarks, for new points.
    turn : ndarray of shape (m, m) or None
        Map from T to the coordinates of the space.
    """

    coordinates: Array
    spectrum: Array
    eigenvectors: Array
    overlap: Array
    gram: Array
    penalties: Array
    space: Space | None = None
    turn: Array | None = None

    def side(
        self, index: Array, targets: Array, tuning: Tuning, n_ev: int | None = None
    ) -> GridSide:
        """Compute the graph side for one set of labels, with targets of shape (l, c)."""
        rows = self.eigenvectors[index, :n_ev].astype(np.float64)
        weighted = rows.T * tuning.lam
        # Negative values, due to rounding, are set to 0 (errata E8).
        penalties = np.maximum(tuning.mu * self.penalties[:n_ev], 0.0)
        return GridSide(weighted @ rows + np.diag(penalties), weighted @ targets)

    def values(self, fit: GridFit, rows: Any = slice(None)) -> Array:
        """Compute the functions f of a fit at some points."""
        return np.asarray(self.coordinates[rows] @ fit.coef.astype(self.coordinates.dtype)) + (
            fit.intercept
        )

    def virtual(self, fit: GridFit, rows: Any = slice(None)) -> Array:
        """Compute the virtual labels g at some points."""
        return np.asarray(self.eigenvectors[rows, : len(fit.graph_coef)] @ fit.graph_coef)

    def predict(self, X: Any, fit: GridFit) -> Array:
        """Compute the functions f at new points."""
        assert self.space is not None
        assert self.turn is not None
        return self.space.function(self.turn @ fit.coef, fit.intercept)(X)

    def function_weights(self, C: float) -> Array:
        """Compute the diagonal D (m,)."""
        return np.asarray(C / (1 + C * self.spectrum))

    def residual_form(self, C: float, n_ev: int) -> Array:
        """Compute the quadratic form in z after elimination of f."""
        A = self.overlap[:, :n_ev]
        form = C * (self.gram[:n_ev, :n_ev] - A.T @ (self.function_weights(C)[:, None] * A))
        return np.asarray((form + form.T) / 2)


def paper_gamma(X: Any) -> float:
    """Compute the paper's rho, n^2 / sum_ij |x_i - x_j|^2 (errata E2)."""
    return scale_gamma(X) / 2


def full_embedding(K: Array, pairs: Eigenpairs, power: int) -> Embedding:
    """Return the embedding of functions over all points, from their kernel matrix."""
    values, vectors = sla.eigh(K, check_finite=False)
    spectrum = np.maximum(values, 0)
    T = vectors * np.sqrt(spectrum)
    V = pairs.vectors.astype(np.float64)
    return Embedding(T, spectrum, V, T.T @ V, V.T @ V, pairs.values**power)


def landmark_embedding(
    kernel: Kernel, X: Any, pairs: Eigenpairs, power: int, n_landmarks: int = 1000
) -> Embedding:
    """Return the embedding of functions over the landmarks that the estimators draw."""
    space = Landmarks(n_landmarks).space(kernel, X)
    stored: Any = space.stored()
    m = stored.n_coef
    V = pairs.vectors.astype(np.float64)
    inner, overlap = np.zeros((m, m)), np.zeros((m, V.shape[1]))
    for rows, block in stored.blocks():
        Z = block.astype(np.float64)
        inner += Z.T @ Z
        overlap += Z.T @ V[rows]
    spectrum, turn = sla.eigh(inner, check_finite=False)
    T = stored.features
    for rows, block in stored.blocks():
        T[rows] = block @ turn.astype(T.dtype)
    return Embedding(
        T,
        np.maximum(spectrum, 0),
        V,
        turn.T @ overlap,
        V.T @ V,
        pairs.values**power,
        space,
        turn,
    )


def squared_fit(embedding: Embedding, C: float, sides: Sequence[GridSide]) -> GridFit:
    """Fit LapERLS for graph sides with equal numbers of eigenvectors; columns in this order."""
    z = np.linalg.solve(_systems(embedding, C, sides), np.stack([side.pull for side in sides]))
    return _fit_of(embedding, C, np.concatenate(z, axis=1))


def _systems(embedding: Embedding, C: float, sides: Sequence[GridSide]) -> Array:
    form = embedding.residual_form(C, len(sides[0].pull))
    return np.stack([side.curvature for side in sides]) + form


def _fit_of(embedding: Embedding, C: float, z: Array) -> GridFit:
    coef = embedding.function_weights(C)[:, None] * (embedding.overlap[:, : len(z)] @ z)
    return GridFit(coef, np.zeros(z.shape[1]), z)


def left_out(
    embedding: Embedding, tuning: Tuning, index: Array, targets: Array, n_ev: int | None = None
) -> tuple[Array, Array]:
    """Compute f and g at each labelled point without its label, by LapERLS in closed form.

    Leaving out the i-th label subtracts lambda phi_i phi_i' from the system and lambda phi_i y_i
    from its right-hand side; the change is a multiple of H^-1 phi_i (Sherman and Morrison).

    Returns
    -------
    f, g : ndarray of shape (l, c)
    """
    side = embedding.side(index, targets, tuning, n_ev)
    phi = embedding.eigenvectors[index, : len(side.pull)]
    both = np.hstack([side.pull, phi.T])
    solved = np.linalg.solve(_systems(embedding, tuning.C, [side])[0], both)
    z, Q = np.split(solved, [side.pull.shape[1]], axis=1)
    rows = embedding.coordinates[index].astype(np.float64)
    follow = (rows * embedding.function_weights(tuning.C)) @ embedding.overlap[:, : len(z)]
    leverage = tuning.lam * np.einsum("ij,ji->i", phi, Q)
    change = tuning.lam * (phi @ z - targets) / np.maximum(1 - leverage, 1e-12)[:, None]
    reach_f, reach_g = (np.einsum("ij,ji->i", part, Q)[:, None] for part in (follow, phi))
    return follow @ z + reach_f * change, phi @ z + reach_g * change
