"""Small spaces with all that they should know written out: the members of the shared suite.

A new space is one entry of `MAKERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from lapwing.kernels import make_kernel
from lapwing.spaces.base import Space
from lapwing.spaces.full import FullKernelSpace
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.mapped import MappedSpace, deformed, full_map, landmark_map
from tests.helpers.problems import GRAPHS, affinity, laplacian, rbf
from tests.helpers.rows import ArrayRows

N, N_NEW = 14, 5
GAMMA = 0.4
ROWS = np.arange(N) + 3  # rows of a user's X that the points may be


@dataclass(frozen=True)
class Known:
    """A space, with all that it should know written out."""

    space: Space
    Phi: Any  # design on the training points (n, m)
    G: Any  # Gram matrix of the basis (m, m)
    k: Any  # kernel between the training points (n, n)
    X: Any
    X_again: Any  # the training points, and new ones, as `function` takes them
    X_new: Any
    Phi_new: Any  # (n_new, m)


def points(d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((N + N_NEW, d)) * (rng.random((N + N_NEW, d)) < 0.8)
    return X[:N], X[N:]


def random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


def _full(container: Callable[[Any], Any], *, computed: bool = False) -> Known:
    X, X_new = points(4)
    given, K = container(X), rbf(X, X, GAMMA)
    kernel = make_kernel("rbf", given, gamma=GAMMA)
    space = FullKernelSpace(kernel.gram(given), kernel, given)
    if computed:
        space = FullKernelSpace.computed(kernel, given)
        assert not isinstance(space.K, np.ndarray)
    return Known(space, K, K, K, X, given, container(X_new), rbf(X_new, X, GAMMA))


def _precomputed(container: Callable[[Any], Any]) -> Known:
    X, X_new = points(4)
    B, B_new = rbf(X, X, GAMMA), rbf(X_new, X, GAMMA)
    B, B_new = B * (B > 0.4), B_new * (B_new > 0.2)
    K, K_new = B @ B.T, B_new @ B.T
    kernel = make_kernel("precomputed", K)
    space = FullKernelSpace.computed(kernel, container(K))
    return Known(space, K, K, K, X, container(K), container(K_new), K_new)


def _precomputed_of_some() -> Known:
    """Points that are some of the user's rows: new kernel values come with all of these."""
    X, X_new = points(4)
    K, K_new = rbf(X, X, GAMMA), rbf(X_new, X, GAMMA)
    space = FullKernelSpace(K, make_kernel("precomputed", K), None, ROWS)
    return Known(space, K, K, K, X, _among_others(K), _among_others(K_new), K_new)


def _among_others(columns: Any) -> Any:
    wide = np.full((len(columns), N + 4), np.nan)
    wide[:, ROWS] = columns
    return wide


def _linear(
    d: int,
    container: Callable[[Any], Any] = np.asarray,
    *,
    held: Callable[[Any], Any] | None = None,
) -> Known:
    X, X_new = points(d)
    space = LinearSpace((held or container)(X))
    return Known(space, X, np.eye(d), X @ X.T, X, container(X), container(X_new), X_new)


def _used() -> Known:
    """Features that are 0 at all points are left out of the coordinates, not of the functions."""
    X, X_new = points(4)
    wide, wide_new = (np.zeros((len(Z), 30)) for Z in (X, X_new))
    wide[:, [3, 7, 8, 29]], wide_new[:, [3, 7, 8, 29]] = X, X_new
    wide_new[:, 11] = 1.0
    space = LinearSpace.of_used(sp.csr_array(wide))
    shown = sp.csr_array(wide), sp.csr_array(wide_new)
    return Known(space, X, np.eye(4), X @ X.T, X, *shown, X_new)


def _in_coordinates(
    space: Any, psi: Callable[[Any], Any], k: Any, container: Callable[[Any], Any] = np.asarray
) -> Known:
    """A space in orthonormal coordinates psi of the points, G = I."""
    X, X_new = points(4)
    G = np.eye(space.n_coef)
    return Known(space, psi(X), G, k, X, container(X), container(X_new), psi(X_new))


def _full_map(container: Callable[[Any], Any]) -> Known:
    """The coordinates are some basis; their kernel and their lift are known."""
    X, _ = points(4)
    kernel = make_kernel("rbf", container(X), gamma=GAMMA)
    space = full_map(kernel, kernel.gram(container(X)), container(X))
    K, basis = rbf(X, X, GAMMA), X[space.pivots]
    known = _in_coordinates(space, lambda Z: rbf(Z, basis, GAMMA) @ space.lift, K, container)
    np.testing.assert_allclose(known.Phi @ known.Phi.T, K, atol=1e-11)
    return known


def _full_map_precomputed(*, of_some: bool = False) -> Known:
    X, X_new = points(4)
    K, K_new = rbf(X, X, GAMMA), rbf(X_new, X, GAMMA)
    space = full_map(make_kernel("precomputed", K), K, None, ROWS if of_some else None)
    shown = (_among_others(K), _among_others(K_new)) if of_some else (K, K_new)
    return Known(space, K @ space.lift, np.eye(N), K, X, *shown, K_new @ space.lift)


def _landmark_map(
    container: Callable[[Any], Any],
    *,
    stored: bool = False,
    held: Callable[[Any], Any] | None = None,
) -> Known:
    """k(x, Z) k(Z, Z)^-1 k(Z, x') is the kernel of the subset of regressors."""
    X, _ = points(4)
    Z = X[[1, 4, 5, 8, 12]]
    kernel = make_kernel("rbf", container(X), gamma=GAMMA)
    space = landmark_map(kernel, (held or container)(X), container(Z))
    assert not isinstance(space.psi, np.ndarray)
    function: Any = space.function(np.eye(space.n_coef), np.zeros(space.n_coef))
    assert function.basis.shape == Z.shape
    basis = function.basis if container is np.asarray else function.basis.toarray()
    space = space.stored() if stored else space
    K_Z = rbf(X, Z, GAMMA)
    k = K_Z @ np.linalg.solve(rbf(Z, Z, GAMMA), K_Z.T)
    return _in_coordinates(space, lambda P: rbf(P, basis, GAMMA) @ space.lift, k, container)


def _wide_map() -> Known:
    """Many more coordinates than points, of which two are equal."""
    wide, new = random(N, 60, seed=4), random(N_NEW, 60, seed=9)
    wide[5] = wide[2]
    space = MappedSpace(wide, np.eye(60), LinearSpace(wide).function)
    return Known(space, wide, np.eye(60), wide @ wide.T, wide, wide, new, new)


def _deformed(which: str) -> Known:
    """(I + K S)^-1 K on the training points: errata-free form of the deformed kernel."""
    X, _ = points(4)
    S = 0.6 * laplacian(affinity(X), normalized=True)
    kernel, Z = make_kernel("rbf", X, gamma=GAMMA), X[[1, 4, 5, 8, 12]]
    plain: Any = LinearSpace(X)
    K = X @ X.T
    if which == "full":
        K = rbf(X, X, GAMMA)
        plain = full_map(kernel, K, X)
    elif which == "landmarks":
        K = rbf(X, Z, GAMMA) @ np.linalg.solve(rbf(Z, Z, GAMMA), rbf(Z, X, GAMMA))
        plain = landmark_map(kernel, X, Z)
    space = deformed(plain, lambda F: S @ F)

    def psi(Z: Any) -> Any:
        if which == "linear":
            return Z @ space.lift
        function: Any = plain.function(np.eye(plain.n_coef), np.zeros(plain.n_coef))
        return rbf(Z, function.basis, GAMMA) @ space.lift

    return _in_coordinates(space, psi, np.linalg.solve(np.eye(N) + K @ S, K))


MAKERS: dict[str, Callable[[], Known]] = {
    "full": lambda: _full(np.asarray),
    "full of sparse points": lambda: _full(sp.csr_array),
    "full computed": lambda: _full(np.asarray, computed=True),
    "full computed of sparse points": lambda: _full(sp.csr_array, computed=True),
    "full precomputed": lambda: _precomputed(np.asarray),
    "full precomputed sparse": lambda: _precomputed(sp.csr_array),
    "full precomputed of some rows": _precomputed_of_some,
    "linear": lambda: _linear(4),
    "linear sparse": lambda: _linear(4, sp.csr_array),
    "linear of rows on disk": lambda: _linear(4, held=ArrayRows),
    "linear of rows on disk, wide": lambda: _linear(40, held=ArrayRows),
    "linear of used features": _used,
    "linear, d = n": lambda: _linear(N),
    "linear wide": lambda: _linear(40),
    "linear wide sparse": lambda: _linear(40, sp.csr_array),
    "full map": lambda: _full_map(np.asarray),
    "full map of sparse points": lambda: _full_map(sp.csr_array),
    "full map precomputed": _full_map_precomputed,
    "full map precomputed of some rows": lambda: _full_map_precomputed(of_some=True),
    "wide map of equal points": _wide_map,
    "landmarks": lambda: _landmark_map(np.asarray),
    "landmarks of sparse points": lambda: _landmark_map(sp.csr_array),
    "landmarks of rows on disk": lambda: _landmark_map(np.asarray, held=ArrayRows),
    "landmarks stored": lambda: _landmark_map(np.asarray, stored=True),
    "deformed": lambda: _deformed("full"),
    "deformed linear": lambda: _deformed("linear"),
    "deformed landmarks": lambda: _deformed("landmarks"),
}


def penalty(known: Known, graph: str) -> Any:
    """gamma_I L^p of a graph of the points, by its name in `GRAPHS`."""
    kind = GRAPHS[graph]
    if kind is None:
        return np.zeros((N, N))
    return 0.6 * laplacian(affinity(known.X), normalized=kind[0], power=kind[1])


def applied(S: Any) -> Any:
    """As `Space.system` takes it: None where there is no graph."""
    return (lambda F: S @ F) if S.any() else None


def point_weights(which: str) -> Any:
    """Weights of no, of four or of all points."""
    D = np.random.default_rng(3).uniform(0.5, 3, N)
    if which == "some":
        D[np.random.default_rng(4).permutation(N)[: N - 4]] = 0
    return None if which == "none" else D
