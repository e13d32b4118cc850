"""Small semi-supervised SVMs with their global optima by brute force, and formulas written out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.optimize import minimize

from lapwing.losses import GaussianBump, Hinge, Loss, SymmetricHinge, UnlabeledLoss
from lapwing.objectives.low_density import CenteredFeatures, LowDensityObjective
from lapwing.spaces.linear import LinearSpace
from tests.helpers.outside import RoundedHinge
from tests.helpers.problems import loss_value

# Parameters with which a fit of S3VC takes a quarter of the default time: one descent with a smooth
# loss. For tests that do not depend on the method.
ONE_DESCENT: dict[str, Any] = {"method": "quasi-newton", "loss": "squared_hinge"}


@dataclass(frozen=True)
class Tiny:
    """A problem in explicit coordinates: labelled points first, then the unlabelled ones."""

    X: Any  # (l + u, d)
    y: Any  # (l,)
    C: Any  # (l,)
    C_star: Any  # (u,)
    bias: tuple[float, float]
    loss: Loss
    unlabeled_loss: UnlabeledLoss

    @property
    def l(self) -> int:  # noqa: E743 -- the paper's name
        return len(self.y)

    @property
    def u(self) -> int:
        return len(self.C_star)

    def objective(self, *, centered: bool = True) -> LowDensityObjective:
        space = LinearSpace(self.X)
        features = CenteredFeatures(space)
        if centered:
            shares = np.concatenate([np.zeros(self.l), np.full(self.u, 1 / self.u)])
            features = CenteredFeatures.on(space, shares)
        return LowDensityObjective(
            features,
            self.loss,
            self.unlabeled_loss,
            np.arange(self.l),
            self.y,
            self.C,
            self.l + np.arange(self.u),
            self.C_star,
            self.bias,
        )


def make_tiny(seed: int, *, symmetric: bool = False, **changes: Any) -> Tiny:
    """Two blobs that overlap, a few labels of both classes, both terms of about equal weight."""
    rng = np.random.default_rng(seed)
    d, l, u = int(rng.integers(2, 4)), int(rng.integers(2, 5)), int(rng.integers(8, 13))
    side = rng.choice([-1.0, 1.0], l + u)
    side[:2] = 1.0, -1.0
    X = rng.standard_normal((l + u, d)) + 0.7 * side[:, None] * (np.arange(d) == 0)
    y = side[:l].copy()
    C = 10 ** rng.uniform(0, 1.5)
    C_star = C * l / u * rng.uniform(0.5, 2)
    b = float(y.mean())
    return replace(
        Tiny(
            X,
            y,
            np.full(l, C),
            np.full(u, C_star),
            (b, b),
            Hinge(),
            SymmetricHinge() if symmetric else GaussianBump(),
        ),
        **changes,
    )


def translated(tiny: Tiny) -> Any:
    """Points less the mean of the unlabelled ones (errata C7), densely."""
    return tiny.X - tiny.X[tiny.l :].mean(axis=0)


def value_of(tiny: Tiny, W: Any, b: Any) -> Any:
    """J at many w (N, d), from its definition, in translated points."""
    F = W @ translated(tiny).T + np.asarray(b)[..., None]
    fit = 2 * loss_value(tiny.loss, tiny.y, F[:, : tiny.l]) @ tiny.C
    density = DENSITIES[tiny.unlabeled_loss.name](tiny.unlabeled_loss, F[:, tiny.l :])
    return 0.5 * (W * W).sum(axis=1) + fit + density @ tiny.C_star


# Losses on unlabelled scores from their definitions, (loss, f) to values, by name.
DENSITIES: dict[str, Callable[[Any, Any], Any]] = {
    "gaussian": lambda loss, f: np.exp(-loss.s * f * f),
    "symmetric_hinge": lambda loss, f: np.maximum(0, 1 - np.abs(f)),
    "cauchy_bump": lambda loss, f: 1 / (1 + loss.s * f * f),
    "nearer_huber": lambda loss, f: 2 * loss_value(RoundedHinge(loss.width), 1.0, np.abs(f)),
}


def global_optimum(tiny: Tiny) -> float:
    """The least J of a problem with a fixed bias."""
    if tiny.unlabeled_loss.name == "symmetric_hinge":
        return _least_svm(tiny)
    return _least_by_search(tiny)


def _least_svm(tiny: Tiny) -> float:
    """Over all labellings, each a convex SVM (footnote 2 of the QN-S3VM paper).

    At the optimum the labels are the signs of f, so that only those that some w gives are tried:
    the cells of the hyperplanes x_j'w = -b, all of which have a vertex.
    """
    X, b = translated(tiny), tiny.bias[0]
    U = X[tiny.l :]
    # All planes meet in one point where b = 0; moved a little, they have the same cells and more.
    offsets = b + 1e-6 * np.random.default_rng(0).uniform(1, 2, tiny.u)
    cells = set()
    for chosen in combinations(range(tiny.u), U.shape[1]):
        vertex = np.linalg.solve(U[list(chosen)], -offsets[list(chosen)])
        signs = np.where(U @ vertex + offsets >= 0, 1, -1)
        for around in product((-1, 1), repeat=len(chosen)):
            signs[list(chosen)] = around
            cells.add(tuple(signs))
    labels = np.array(sorted(cells), dtype=float)
    Y = np.hstack([np.tile(tiny.y, (len(labels), 1)), labels])
    C = np.concatenate([tiny.C, tiny.C_star])
    W, bounds = _svm_batch(X, Y, C, b)
    lowest = np.argsort(bounds)[:6]
    found = value_of(tiny, W, b).min()
    for k in lowest:
        if bounds[k] < found:
            alone = replace(tiny, y=Y[k], C=C, C_star=np.zeros(0))
            w = _with_slacks(alone, W[k], X)
            found = min(found, value_of(tiny, w[None], b)[0])
    return float(found)


def _svm_batch(X: Any, Y: Any, C: Any, b: float, sweeps: int = 200) -> tuple[Any, Any]:
    """Linear SVMs with an offset for many labellings Y (N, n), nearly, with their lower bounds.

    Dual coordinate ascent.
    """
    beta, W = np.zeros_like(Y), np.zeros((len(Y), X.shape[1]))
    norms = (X * X).sum(axis=1)
    for _ in range(sweeps):
        for i in range(X.shape[0]):
            slack = 1 - Y[:, i] * (W @ X[i] + b)
            new = np.clip(beta[:, i] + slack / norms[i], 0, C[i])
            W += ((new - beta[:, i]) * Y[:, i])[:, None] * X[i]
            beta[:, i] = new
    return W, (beta * (1 - Y * b)).sum(axis=1) - 0.5 * (W * W).sum(axis=1)


def _least_by_search(tiny: Tiny) -> float:
    """A grid over all w that can be optimal, then descents from its lowest local minima."""
    d, b = tiny.X.shape[1], tiny.bias[0]
    size = 161 if d == 2 else 45
    at_zero = value_of(tiny, np.zeros((1, d)), b)[0]
    radius = np.sqrt(2 * at_zero)
    for _ in range(2):  # the second time within the ball of the first result
        axis = np.linspace(-radius, radius, size)
        W = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
        J = value_of(tiny, W, b)
        radius = np.sqrt(2 * J.min())
    starts = _grid_minima(J.reshape((size,) * d), W, 5)
    X = translated(tiny)
    ends = np.array([_with_slacks(tiny, start, X) for start in starts])
    return float(value_of(tiny, ends, b).min())


def _with_slacks(tiny: Tiny, start: Any, X: Any) -> Any:
    """Descent as a smooth problem with constraints: the slacks of the labelled points are free."""
    b, d = tiny.bias[0], X.shape[1]
    L, U, s = X[: tiny.l], X[tiny.l :], getattr(tiny.unlabeled_loss, "s", 0.0)
    A = np.hstack([tiny.y[:, None] * L, np.eye(tiny.l)])

    def value(z: Any) -> tuple[float, Any]:
        w, slack = z[:d], z[d:]
        f = U @ w + b
        bump = tiny.C_star * np.exp(-s * f * f)
        gradient = np.concatenate([w - U.T @ (2 * s * f * bump), tiny.C])
        return 0.5 * w @ w + tiny.C @ slack + bump.sum(), gradient

    margins = {
        "type": "ineq",
        "fun": lambda z: A @ z + tiny.y * b - 1,
        "jac": lambda z: A,
    }
    z = np.concatenate([start, np.maximum(0, 1 - tiny.y * (L @ start + b))])
    bounds = [(None, None)] * d + [(0, None)] * tiny.l
    found = minimize(
        value,
        z,
        jac=True,
        method="SLSQP",
        bounds=bounds,
        constraints=[margins],
        options={"ftol": 1e-12, "maxiter": 200},
    )
    return found.x[:d]


def _grid_minima(J: Any, W: Any, count: int) -> Any:
    """The lowest grid points that no neighbour along an axis is below."""
    least = np.ones(J.shape, dtype=bool)
    for axis in range(J.ndim):
        padded = np.pad(J, [(int(k == axis),) * 2 for k in range(J.ndim)], constant_values=np.inf)
        low = padded.take(range(J.shape[axis]), axis=axis)
        high = padded.take(range(2, J.shape[axis] + 2), axis=axis)
        least &= (low >= J) & (high >= J)
    found = np.flatnonzero(least.ravel())
    return W[found[np.argsort(J.ravel()[found])[:count]]]
