"""Small semi-supervised SVMs with their global optima by brute force, and formulas written out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.ndimage import minimum_filter
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
        labeled = np.arange(self.l), self.y, self.C
        unlabeled = self.l + np.arange(self.u), self.C_star
        losses = self.loss, self.unlabeled_loss
        return LowDensityObjective(features, *losses, *labeled, *unlabeled, self.bias)


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
    loss = SymmetricHinge() if symmetric else GaussianBump()
    tiny = Tiny(X, y, np.full(l, C), np.full(u, C_star), (b, b), Hinge(), loss)
    return replace(tiny, **changes)


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
    """The least J of a problem with a fixed bias.

    A grid over all w that can be optimal, then descents from its lowest local minima. With the
    symmetric hinge a descent has the labels of its start: the optimum is the least of the convex
    SVMs of all labellings (footnote 2 of the QN-S3VM paper).
    """
    X, b = translated(tiny), tiny.bias[0]
    d = X.shape[1]
    radius = np.sqrt(2 * value_of(tiny, np.zeros((1, d)), b)[0])
    for _ in range(2):  # the second time within the ball of the first result
        axis = np.linspace(-radius, radius, 161 if d == 2 else 45)
        W = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1)
        J = value_of(tiny, W.reshape(-1, d), b).reshape(W.shape[:-1])
        radius = np.sqrt(2 * J.min())
    starts = W[minimum_filter(J, 3, mode="nearest") == J]
    starts = starts[np.argsort(value_of(tiny, starts, b))[:8]]
    ends = []
    for start in starts:
        convex = tiny
        if tiny.unlabeled_loss.name == "symmetric_hinge":
            labels = np.where(X[tiny.l :] @ start + b >= 0, 1.0, -1.0)
            C = np.concatenate([tiny.C, tiny.C_star])
            convex = replace(tiny, y=np.append(tiny.y, labels), C=C, C_star=np.zeros(0))
        ends.append(_with_slacks(convex, start, X))
    return float(value_of(tiny, np.array(ends), b).min())


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

    margins = {"type": "ineq", "fun": lambda z: A @ z + tiny.y * b - 1, "jac": lambda z: A}
    z = np.concatenate([start, np.maximum(0, 1 - tiny.y * (L @ start + b))])
    bounds = [(None, None)] * d + [(0, None)] * tiny.l
    limits: dict[str, Any] = {"bounds": bounds, "constraints": [margins], "method": "SLSQP"}
    found = minimize(value, z, jac=True, options={"ftol": 1e-12, "maxiter": 200}, **limits)
    return found.x[:d]
