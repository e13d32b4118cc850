"""Small problems written out densely, and slow oracles for them.

Nothing here takes a number from the code under test: kernels, Laplacians, losses, objectives and
gradients are the papers' formulas in dense NumPy. Notation: f = Phi a + b 1, ||h||^2 = a'G a, and

    J(a, b) = sum_i w_i loss(y_i, f_i) + 1/2 [gamma_A a'G a + gamma_I f'L f]

with the losses in the half convention (LapSVM paper (7); errata L3: the bias is inside f'L f).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import lsq_linear

from lapwing.losses import LOSSES, EpsilonInsensitive, Loss, SquaredHinge, TargetKind
from lapwing.objectives.manifold import Objective, State
from lapwing.spaces.base import Space
from lapwing.spaces.full import FullKernelSpace
from lapwing.spaces.linear import LinearSpace

# One example of every loss in the registry; a new one also needs its formulas, in `FORMULAS`.
ALL_LOSSES: tuple[Loss, ...] = tuple(
    EpsilonInsensitive(0.3) if loss is EpsilonInsensitive else loss() for loss in LOSSES.values()
)
DIFFERENTIABLE_LOSSES = tuple(loss for loss in ALL_LOSSES if loss.kind.differentiable)
KINKED_LOSSES = tuple(loss for loss in ALL_LOSSES if not loss.kind.differentiable)

# name: (normalised, power); L 1 = 0 for the unnormalised ones only (errata L3).
GRAPHS: dict[str, tuple[bool, int] | None] = {
    "no graph": None,
    "normalized": (True, 1),
    "normalized^2": (True, 2),
    "unnormalized": (False, 1),
    "unnormalized^3": (False, 3),
}


def rbf(X: Any, Z: Any, gamma: float) -> Any:
    return np.exp(-gamma * ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))


def affinity(X: Any, n_neighbors: int = 4) -> Any:
    """Symmetric heat-weighted nearest-neighbour graph (errata L2: union, no self loops)."""
    squared = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    W = np.zeros_like(squared)
    for i, row in enumerate(squared):
        near = [j for j in np.argsort(row, kind="stable") if j != i][:n_neighbors]
        W[i, near] = np.exp(-row[near] / squared.mean())
    W = np.maximum(W, W.T)
    return W / W.sum(axis=1).mean()  # so that D - W and L_n are of one size


def laplacian(W: Any, *, normalized: bool, power: int = 1) -> Any:
    """L^p, with a zero row and column where a vertex has no edge (errata L1)."""
    degrees = W.sum(axis=1)
    L = np.diag(degrees) - W
    if normalized:
        root = np.divide(1, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
        L = root[:, None] * L * root
    return np.linalg.matrix_power(L, power)


@dataclass(frozen=True)
class DenseTerm:
    """gamma_I L^p as the objective wants it, from a matrix of any array namespace."""

    matrix: Any

    def __call__(self, F: Any, /) -> Any:
        return self.matrix @ F

    def diagonal(self) -> Any:
        return np.diag(self.matrix)


# Every space: how it is made from (X, K), and whether its kernel is the linear one.
SPACES: dict[str, tuple[Any, bool]] = {
    "full": (lambda X, K: FullKernelSpace(K), False),
    "full sparse": (lambda X, K: FullKernelSpace(sp.csr_array(K)), False),
    "linear": (lambda X, K: LinearSpace(X), True),
    "linear sparse": (lambda X, K: LinearSpace(sp.csr_array(X)), True),
    "linear wide": (lambda X, K: LinearSpace(X), True),
}


@dataclass(frozen=True)
class Case:
    """A problem with all of its matrices dense."""

    space: str
    X: Any  # (n, d)
    K: Any  # (n, n)
    L: Any  # (n, n), the power included; zero without a graph
    index: Any  # (l,)
    y: Any  # (l, c)
    weights: Any  # (l,)
    loss: Loss
    gamma_A: float
    gamma_I: float
    fit_intercept: bool

    @property
    def n(self) -> int:
        return len(self.K)

    @property
    def design(self) -> Any:
        return self.X if SPACES[self.space][1] else self.K

    @property
    def gram(self) -> Any:
        return np.eye(self.X.shape[1]) if SPACES[self.space][1] else self.K

    @property
    def penalty(self) -> Any:
        return self.gamma_I * self.L

    def objective(self) -> Objective:
        return Objective(
            space=self.make_space(),
            loss=self.loss,
            index=self.index,
            targets=self.y,
            weights=self.weights,
            gamma_A=self.gamma_A,
            graph_term=DenseTerm(self.penalty) if self.penalty.any() else None,
            fit_intercept=self.fit_intercept,
        )

    def make_space(self) -> Space:
        made: Space = SPACES[self.space][0](self.X, self.K)
        return made


def make_case(
    *,
    seed: int = 0,
    n: int = 40,
    n_labels: int = 30,
    c: int = 2,
    space: str = "full",
    graph: str = "normalized",
    loss: Loss | None = None,
    gamma_A: float = 0.01,
    gamma_I: float = 0.03,
    fit_intercept: bool = False,
    unit_weights: bool = False,
    noise: float = 0.1,
) -> Case:
    """A random problem whose labels follow the first features, but for some noise."""
    rng = np.random.default_rng(seed)
    loss = SquaredHinge() if loss is None else loss
    d = 2 * n if space == "linear wide" else 4
    X = rng.standard_normal((n, d))
    if space == "linear wide":
        X /= 3
    if space == "linear sparse":
        X *= rng.random(X.shape) < 0.7
    K = X @ X.T if SPACES[space][1] else rbf(X, X, 0.4)
    if space == "full sparse":
        B = K * (K > 0.4)
        K = B @ B.T  # positive semi-definite, which a thresholded K need not be
    kind = GRAPHS[graph]
    L = np.zeros((n, n))
    if kind is not None:
        L = laplacian(affinity(X), normalized=kind[0], power=kind[1])
    index = rng.permutation(n)[:n_labels]
    y = X[index][:, np.arange(c) % d] + noise * rng.standard_normal((n_labels, c)) + 0.2
    if loss.targets is TargetKind.SIGNS:
        y = np.where(y >= 0, 1.0, -1.0)
        y[0], y[1] = 1.0, -1.0  # both classes in every column
    weights = np.ones(n_labels) if unit_weights else rng.uniform(0.5, 2.0, n_labels)
    return Case(
        space=space,
        X=X,
        K=K,
        L=L,
        index=index,
        y=y,
        weights=weights,
        loss=loss,
        gamma_A=gamma_A,
        gamma_I=0.0 if kind is None else gamma_I,
        fit_intercept=fit_intercept,
    )


# --- the formulas ---------------------------------------------------------------------------------


class Formulas(NamedTuple):
    """A loss written out: (loss, y, f) to values and slopes."""

    value: Callable[[Any, Any, Any], Any]
    slope: Callable[[Any, Any, Any], Any]  # away from kinks


def formulas(loss: Loss) -> Formulas:
    """Return the formulas of a loss; fail with advice for a loss of the library without them.

    A loss of `tests.helpers.outside` is not under test, and defines itself.
    """
    if LOSSES.get(loss.name) is not type(loss):
        return Formulas(type(loss).value, type(loss).derivative)
    assert loss.name in FORMULAS, f"add {loss.name!r} to FORMULAS in tests/helpers/problems.py"
    return FORMULAS[loss.name]


def loss_value(loss: Loss, y: Any, f: Any) -> Any:
    """Losses in the half convention, from their definitions."""
    return formulas(loss).value(loss, y, f)


def loss_slope(loss: Loss, y: Any, f: Any) -> Any:
    """Derivatives, away from kinks."""
    return formulas(loss).slope(loss, y, f)


def column(case: Case, j: int) -> Case:
    return replace(case, y=case.y[:, [j]])


def primal_value(case: Case, coef: Any, intercept: Any) -> Any:
    """J of every column."""
    f = case.design @ coef + intercept
    fit = case.weights @ loss_value(case.loss, case.y, f[case.index])
    ambient = np.einsum("ij,ij->j", coef, case.gram @ coef)
    intrinsic = np.einsum("ij,ij->j", f, case.L @ f)
    return fit + 0.5 * (case.gamma_A * ambient + case.gamma_I * intrinsic)


def primal_gradient(case: Case, coef: Any, intercept: Any) -> tuple[Any, Any]:
    """Euclidean gradient of J: (m, c) for the coefficients and (c,) for the bias."""
    f = case.design @ coef + intercept
    v = case.penalty @ f
    slopes = case.weights[:, None] * loss_slope(case.loss, case.y, f[case.index])
    for i, slope in zip(case.index, slopes, strict=True):
        v[i] += slope
    return case.design.T @ v + case.gamma_A * case.gram @ coef, v.sum(axis=0)


def relative_subgradient(case: Case, state: State, width: float = 1e-6) -> float:
    """Least entry-wise largest subgradient relative to that at zero, the worst column.

    J is convex, so a state is an optimum if zero is a subgradient: the slope of a loss may be any
    between those on both sides of its score.
    """
    ones = np.ones((1, case.n)) if case.fit_intercept else np.empty((0, case.n))
    rows = np.vstack([case.design.T, ones])

    def least(coef: Any, intercept: Any, j: int) -> float:
        f = case.design @ coef + intercept
        fixed = rows @ case.penalty @ f
        fixed[: len(coef)] += case.gamma_A * case.gram @ coef
        low, high = (
            case.weights * loss_slope(case.loss, case.y[:, j], f[case.index] + side)
            for side in (-width, width)
        )
        bounds = low, np.maximum(high, low + 1e-12)
        found = lsq_linear(rows[:, case.index], -fixed, bounds, method="bvls", tol=1e-14)
        return float(np.abs(found.fun).max())

    states = enumerate(zip(state.coef.T, state.intercept, strict=True))
    return max(least(*one, j) / least(0 * one[0], 0.0, j) for j, one in states)


def relative_gradient(case: Case, state: State) -> float:
    """Largest entry of the gradient relative to the largest at zero, the worst column."""

    def size(coef: Any, intercept: Any) -> Any:
        of_coef, of_bias = primal_gradient(case, coef, intercept)
        return np.maximum(np.abs(of_coef).max(axis=0), case.fit_intercept * np.abs(of_bias))

    m, c = case.design.shape[1], case.y.shape[1]
    at_zero = size(np.zeros((m, c)), np.zeros(c))
    return float((size(state.coef, state.intercept) / at_zero).max())


FORMULAS: dict[str, Formulas] = {
    "squared_hinge": Formulas(
        lambda loss, y, f: 0.5 * np.maximum(0, 1 - y * f) ** 2,
        lambda loss, y, f: -y * np.maximum(0, 1 - y * f),
    ),
    "hinge": Formulas(
        lambda loss, y, f: 0.5 * np.maximum(0, 1 - y * f),
        lambda loss, y, f: -0.5 * y * (y * f < 1),
    ),
    "squared": Formulas(
        lambda loss, y, f: 0.5 * (y - f) ** 2,
        lambda loss, y, f: f - y,
    ),
    "epsilon_insensitive": Formulas(
        lambda loss, y, f: 0.5 * np.maximum(0, np.abs(y - f) - loss.epsilon),
        lambda loss, y, f: 0.5 * np.sign(f - y) * (np.abs(y - f) > loss.epsilon),
    ),
}


def sweep(**axes: Any) -> Iterator[dict[str, Any]]:
    """Every combination of the axes, as keyword arguments."""
    for values in product(*axes.values()):
        yield dict(zip(axes, values, strict=True))
