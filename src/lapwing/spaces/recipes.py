"""Recipes for ``space=``, the function space of a method."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import check_array, check_random_state

from lapwing._arrays import RandomSource, is_sparse
from lapwing._features import canonical
from lapwing._parameters import COUNT, SEED, Parametrized, check, one_of, parameters
from lapwing._rows.base import PointData, is_rows, rows_of
from lapwing.kernels import Kernel
from lapwing.spaces.base import Space
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.mapped import landmark_map

_POINTS_PER_CENTER = 100  # size of the k-means sample of points on disk
_SELECTIONS = ("random", "kmeans")


@runtime_checkable
class SpaceRecipe(Protocol):
    """Recipe that creates a space from points and a kernel."""

    def space(self, kernel: Kernel | None, X: PointData, /) -> Space:
        """Create the space of the training points X; the kernel is None for ``kernel='linear'``."""


@parameters
class Landmarks(Parametrized):
    """Kernel expansions over a few landmarks instead of all points (subset of regressors).

    f = sum_j a_j k(z_j, .) with r landmarks z_j (QN-S3VM paper, Section 3.3.2). Memory and time of
    a product are O(n r) instead of O(n^2), after O(n r^2) once. With all points as landmarks it is
    the space of the full kernel.

    Parameters
    ----------
    n_components : int, default=1000
        r, at most the number of points.
    method : {'random', 'kmeans'}, default='random'
        'random' draws training points; 'kmeans' uses the centres of mini-batch k-means, which cover
        the data with fewer landmarks (dense points only).
    centers : array-like of shape (r, n_features) or None, default=None
        Given landmarks; the other parameters are then ignored.
    random_state : int, RandomState instance or None, default=0
        Seed of the random choice.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import Landmarks
    >>> Landmarks(2).select(np.arange(4.0)[:, None]).shape
    (2, 1)
    """

    n_components: int = 1000
    _: KW_ONLY
    method: str = "random"
    centers: Any = None
    random_state: RandomSource = 0

    def select(self, X: PointData) -> Any:
        """Choose the landmarks for points X.

        Parameters
        ----------
        X : ndarray, CSR or Rows of shape (n, n_features)
            Training points. For rows on disk, k-means uses a sample of 100 points per landmark.

        Returns
        -------
        ndarray or CSR of shape (r, n_features)
            Landmarks, in the precision of X.

        Raises
        ------
        ValueError
            If a parameter is out of range, centres do not match X, or X is sparse with
            ``method='kmeans'``.
        """
        if not is_rows(X):
            X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), input_name="X")
        if self.centers is not None:
            return self._check_centers(X)
        self._check()
        n, r = X.shape[0], self.n_components
        if r >= n:
            return rows_of(X, np.arange(n)) if is_rows(X) else X
        random = check_random_state(self.random_state)
        if self.method == "random":
            return rows_of(X, np.sort(random.choice(n, size=int(r), replace=False)))
        if is_sparse(X):
            raise ValueError(
                "Landmarks(method='kmeans') takes dense points: the centres of sparse ones are "
                "dense. Use method='random'."
            )
        if is_rows(X):
            size = _POINTS_PER_CENTER * int(r)
            drawn = np.arange(n) if size >= n else random.choice(n, size=size, replace=False)
            X = rows_of(X, np.sort(drawn))
        means = MiniBatchKMeans(int(r), random_state=random, n_init=1, batch_size=max(1024, int(r)))
        return means.fit(X).cluster_centers_.astype(X.dtype, copy=False)

    def _check(self) -> None:
        """Raise ValueError if a parameter is out of range."""
        check(
            self.get_params(deep=False),
            {"n_components": COUNT, "method": one_of(*_SELECTIONS), "random_state": SEED},
        )

    def _check_centers(self, X: PointData) -> Any:
        centers = canonical(
            check_array(self.centers, accept_sparse="csr", dtype=X.dtype, input_name="centers")
        )
        if centers.shape[1] != X.shape[1]:
            raise ValueError(
                f"centers have {centers.shape[1]} features, but X has {X.shape[1]}: give "
                "landmarks with the features of X."
            )
        if is_sparse(centers) != is_sparse(X):
            raise ValueError("centers and X must both be dense or both be sparse.")
        return centers

    def space(self, kernel: Kernel | None, X: PointData, /) -> Space:
        """Create the space of the training points X.

        Parameters
        ----------
        kernel : Kernel or None
            Kernel; None (for ``kernel='linear'``) raises an error.
        X : ndarray or CSR of shape (n, n_features)
            Training points.

        Returns
        -------
        MappedSpace
            Space with explicit coordinates of the points, computed whenever they are applied.

        Raises
        ------
        ValueError
            If the kernel is linear or precomputed, or the landmarks cannot be chosen (`select`).
        """
        if kernel is None:
            raise ValueError(
                "space=Landmarks(...) needs a nonlinear kernel: with kernel='linear' the features "
                "of X are coordinates already. Use space=None."
            )
        if kernel.precomputed:
            raise ValueError(
                "space=Landmarks(...) computes kernel values at landmarks, which a precomputed "
                "kernel does not offer. Pass points and a kernel function, or space=None."
            )
        return landmark_map(kernel, X, self.select(X))


class Linear(Parametrized):
    """Linear functions w'x of the features, dense or sparse, whatever the kernel.

    Equivalent to ``kernel='linear'`` with ``space=None``.
    """

    def space(self, kernel: Kernel | None, X: PointData, /) -> Space:
        """Create the space of the training points X.

        Parameters
        ----------
        kernel : Kernel or None
            Ignored.
        X : ndarray or CSR of shape (n, n_features)
            Training points.

        Returns
        -------
        LinearSpace
            Space of the points.
        """
        return LinearSpace(X)


# A new recipe takes one class above and one line here.
SPACES: dict[str, type[SpaceRecipe]] = {"Landmarks": Landmarks, "Linear": Linear}


def check_space(space: object) -> None:
    """Raise TypeError unless a value is a recipe or None.

    Raises
    ------
    TypeError
        If it is anything else; the message lists the recipes.
    """
    if space is None or (isinstance(space, SpaceRecipe) and not isinstance(space, type)):
        return
    called = f" Did you mean space={space.__name__}()?" if isinstance(space, type) else ""
    raise TypeError(
        f"space={space!r} is not a space. Use None (the full kernel) or one of "
        f"{', '.join(f'{name}(...)' for name in SPACES)}.{called}"
    )


def make_space(recipe: SpaceRecipe, kernel: Kernel | None, X: PointData) -> Space:
    """Create the space of training points by a recipe, which may be user-defined.

    Raises
    ------
    TypeError
        If the recipe returns anything but a space.
    """
    space = recipe.space(kernel, X)
    if not isinstance(space, Space):
        raise TypeError(
            f"space={recipe!r} returned {type(space).__name__}, not a space of functions. Its "
            "method space(kernel, X) must return a space, like that of Landmarks or Linear."
        )
    return space
