"""Kernels in row blocks, in the precision of their input.

A `Kernel` is a kernel function with resolved parameters (``gamma='scale'`` is replaced by a
number), so that new points are evaluated with the same function as the fit.

Distances and dot products are not computed by ``sklearn.metrics.pairwise`` for three reasons that
matter for n of 10^4: here Gram matrices are exactly symmetric and take half the products (tiles
above the diagonal are mirrored), float32 input is not converted to float64, and only the result and
one tile are allocated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from lapwing._arrays import (
    BLOCK_BYTES,
    DISK_BLOCK_BYTES,
    Array,
    Matrix,
    as_dense,
    is_sparse,
    times_power_of_2,
)
from lapwing._host.memory import require_memory
from lapwing._rows.base import PointData, blocks_of, is_rows
from lapwing.linalg import center_of, column_variances, shifted

KernelFunction: TypeAlias = Callable[[Any, Any], Any]

# Values of gamma by name, times one over the total variance of the points. Regression functions are
# smoother than classes, for which 'scale' is suitable. On diabetes, friedman1 to 3 and the swiss
# roll with 20, 40 and 80 targets, the mean error of LapRLSRegressor relative to the best supervised
# method was 1.52, 1.23, 1.145 and 1.23 at 1, 0.2, 0.1 and 0.03 times 'scale', that of LapSVR 1.73,
# 1.46, 1.34 and 1.30. A tenth is suitable for the other kernels as well: relative to the best
# kernel and width of each case, 'laplacian' had 1.45, 1.38, 1.32 and 1.41 at 1, 0.32, 0.1 and 0.03,
# 'poly' 1.23, 1.22, 1.14 and 1.26, and 'rbf' 1.41, 1.28, 1.17 and 1.27 (eight sets, two draws).
WIDTHS = {"scale": 1.0, "wide": 0.1}
_TILE = 2048  # edge of a tile of the Gram matrix: 32 MB of float64
# Powers of 2 for which sums of squares and the rounding of their differences are within float32.
_PLAIN_EXPONENT = 40
_TOO_LARGE = (
    "Use fewer unlabelled points, float32 features (half the memory), kernel='linear' (never "
    "forms the matrix), or a sparse precomputed kernel."
)


@dataclass(frozen=True, eq=False)
class _Operand:
    """Points prepared for one side of all kernel blocks."""

    points: Any
    norms: Array | None = None

    def rows(self, block: slice) -> _Operand:
        return _Operand(self.points[block], None if self.norms is None else self.norms[block])


def _dot(a: _Operand, b: _Operand) -> Array:
    return np.asarray(safe_sparse_dot(a.points, b.points.T, dense_output=True))


def _linear(a: _Operand, b: _Operand, kernel: Kernel) -> Array:
    return _dot(a, b)


def _power(base: Array, degree: float) -> Array:
    """Compute base**degree in place; by squaring for whole degrees, as np.power is slow."""
    if degree != int(degree) or not 1 <= degree <= 64:
        with np.errstate(invalid="ignore"):  # NaN for negative bases, an error is raised below
            np.power(base, degree, out=base)
        return base
    exponent, result = int(degree), None
    while exponent:
        if exponent & 1:
            result = base.copy() if result is None else np.multiply(result, base, out=result)
        exponent >>= 1
        if exponent:
            np.multiply(base, base, out=base)
    assert result is not None
    return result


def _affine(a: _Operand, b: _Operand, kernel: Kernel) -> Array:
    block = _dot(a, b)
    block *= kernel.gamma_in_units
    block += kernel.coef0
    return block


def _poly(a: _Operand, b: _Operand, kernel: Kernel) -> Array:
    return _power(_affine(a, b, kernel), kernel.degree)


def _sigmoid(a: _Operand, b: _Operand, kernel: Kernel) -> Array:
    block = _affine(a, b, kernel)
    return np.tanh(block, out=block)


def _rbf(a: _Operand, b: _Operand, kernel: Kernel) -> Array:
    assert a.norms is not None
    assert b.norms is not None
    block = _dot(a, b)
    block *= -2
    block += a.norms[:, None]
    block += b.norms
    np.maximum(block, 0, out=block)
    # If the square of a new point overflows, its distances would be inf - inf.
    block[np.isinf(a.norms)] = np.inf
    block *= -kernel.gamma_in_units
    return np.exp(block, out=block)


def _laplacian(a: _Operand, b: _Operand, kernel: Kernel) -> Array:
    block: Array = np.asarray(manhattan_distances(a.points, b.points))
    block *= -kernel.gamma_in_units
    np.exp(block, out=block)
    return block


def _prepare_plain(X: PointData, kernel: Kernel) -> _Operand:
    return _Operand(times_power_of_2(X, -kernel.unit_exponent))


def _prepare_distance(X: PointData, kernel: Kernel) -> _Operand:
    """Prepare points and squared norms relative to the kernel's centre.

    Distances are invariant to translations, but |x|^2 + |z|^2 - 2 x'z is more precise for small
    norms, which matters in float32.
    """
    if kernel.center is not None:
        X = shifted(X, kernel.center)
    X = times_power_of_2(X, -kernel.unit_exponent)
    return _Operand(X, row_norms(X, squared=True))


def _prepare_cosine(X: PointData, kernel: Kernel) -> _Operand:
    X = _scaled_to_one(X)
    norms = row_norms(X)
    scale = np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)
    if is_sparse(X):
        return _Operand(sp.diags_array(scale) @ X)
    return _Operand(X * scale[:, None])


def _scaled_to_one(X: Any) -> Any:
    """Scale rows by powers of 2 so that squares neither overflow nor underflow."""
    largest = as_dense(abs(X).max(axis=1)).ravel()
    exponents = np.frexp(largest)[1]
    if not (np.abs(exponents) > _PLAIN_EXPONENT).any():
        return X
    if not is_sparse(X):
        return np.ldexp(X, -exponents[:, None])
    scaled = X.copy()
    scaled.data = np.ldexp(X.data, -np.repeat(exponents, np.diff(X.indptr)))
    return scaled


def _whole_power(kernel: Kernel) -> bool:
    """Return whether the kernel is a polynomial in x'z without negative coefficients."""
    return kernel.gamma >= 0 and kernel.coef0 >= 0 and kernel.degree == int(kernel.degree)


@dataclass(frozen=True)
class Formula:
    """Kernel in the registry: its computation and properties.

    Attributes
    ----------
    text : str
        Formula, for documentation.
    block : callable
        (a, b, kernel) -> kernel values between two prepared sets of points, a new array.
    prepare : callable
        (X, kernel) -> points prepared for `block`.
    centred : bool
        Whether it is computed from squared distances, which are more precise for centred points.
    unit_diagonal : bool
        Whether k(x, x) = 1, which is set exactly.
    gamma_degree : int
        d such that scaling points by t and gamma by t^-d does not change values; 0 without gamma.
    positive_definite : callable
        Whether Gram matrices are guaranteed to be positive semi-definite for given parameters.
    """

    text: str
    block: Callable[[_Operand, _Operand, Kernel], Array]
    prepare: Callable[[Any, Kernel], _Operand] = _prepare_plain
    centred: bool = False
    unit_diagonal: bool = False
    gamma_degree: int = 0
    positive_definite: Callable[[Kernel], bool] = lambda kernel: True


# Registry of kernels: a new one takes a function above and one line here.
KERNELS: dict[str, Formula] = {
    "rbf": Formula(
        "exp(-gamma |x - z|^2)",
        _rbf,
        _prepare_distance,
        centred=True,
        unit_diagonal=True,
        gamma_degree=2,
    ),
    "poly": Formula(
        "(gamma x'z + coef0)^degree", _poly, gamma_degree=2, positive_definite=_whole_power
    ),
    "linear": Formula("x'z", _linear),
    "laplacian": Formula("exp(-gamma |x - z|_1)", _laplacian, unit_diagonal=True, gamma_degree=1),
    "cosine": Formula("x'z / (|x| |z|)", _linear, _prepare_cosine),
    "sigmoid": Formula(
        "tanh(gamma x'z + coef0)", _sigmoid, gamma_degree=2, positive_definite=lambda kernel: False
    ),
}


@dataclass(frozen=True, eq=False)
class Kernel:
    """Kernel function with resolved parameters.

    Parameters
    ----------
    name : str or callable
        One of `KERNELS`, ``'precomputed'``, or a function (X, Z) -> matrix of kernel values.
    gamma : float
        gamma in the formula in `KERNELS`: 1 / (2 sigma^2) for 'rbf'.
    degree, coef0 : float
        Parameters of formulas in `KERNELS`.
    center : ndarray of shape (n_features,) or None
        Origin for the computation of distances, for precision.
    """

    name: str | KernelFunction
    gamma: float = 1.0
    degree: float = 3.0
    coef0: float = 1.0
    center: Array | None = None

    @property
    def precomputed(self) -> bool:
        """Whether X is the kernel matrix itself."""
        return self.name == "precomputed"

    @property
    def surely_positive_definite(self) -> bool:
        """Whether the formula guarantees a positive semi-definite Gram matrix."""
        formula = self._formula
        return formula is not None and formula.positive_definite(self)

    @property
    def unit_exponent(self) -> int:
        """Exponent e: points are divided by 2^e before they are squared, and gamma is adapted.

        It is 0 unless gamma is so far from 1 that squares of points of a matching scale would be
        out of the range of float32. Powers of 2 cause no rounding.
        """
        formula = self._formula
        if formula is None or formula.gamma_degree == 0:
            return 0
        exponent = math.frexp(self.gamma)[1]
        return 0 if abs(exponent) <= _PLAIN_EXPONENT else -(exponent // formula.gamma_degree)

    @property
    def gamma_in_units(self) -> float:
        """Value of gamma for the divided points."""
        formula = self._formula
        degree = 0 if formula is None else formula.gamma_degree
        return math.ldexp(self.gamma, degree * self.unit_exponent)

    @property
    def has_width(self) -> bool:
        """Whether gamma is a parameter of the kernel."""
        formula = self._formula
        return formula is not None and formula.gamma_degree > 0

    @property
    def _formula(self) -> Formula | None:
        """Entry in `KERNELS`; None for a matrix or a user-defined function."""
        return KERNELS.get(self.name) if isinstance(self.name, str) else None

    def forecast(self, X: PointData) -> None:
        """Raise MemoryError if the kernel matrix of the points X does not fit into memory.

        Parameters
        ----------
        X : array-like or sparse of shape (n, n_features)
            The points.
        """
        if self.precomputed:
            return
        n, itemsize = X.shape[0], X.dtype.itemsize
        require_memory(
            n * n * itemsize + 2 * min(n, _TILE) ** 2 * itemsize,
            f"The kernel matrix of {n} points ({X.dtype})",
            _TOO_LARGE,
        )

    def gram(self, X: PointData) -> Any:
        """Compute the kernel matrix of the points X, exactly symmetric, in the precision of X.

        Parameters
        ----------
        X : array-like or sparse of shape (n, n_features); (n, n) if precomputed
            The points.

        Returns
        -------
        ndarray of shape (n, n)
            Kernel matrix; a precomputed one, which may be sparse, is returned unchanged.

        Raises
        ------
        MemoryError
            If the matrix does not fit into memory; checked before it is allocated.
        """
        if self.precomputed:
            return X
        self.forecast(X)
        n = X.shape[0]
        if callable(self.name):
            return _checked_block(self.name(X, X), (n, n), X.dtype)
        formula = KERNELS[self.name]
        K = np.empty((n, n), dtype=X.dtype)
        with np.errstate(over="ignore", invalid="ignore"):  # errors are raised for each tile
            self._fill(K, formula.prepare(X, self), formula.block)
        # |x - x|^2 from products is not exactly 0: a duplicate could be closer than the point.
        if formula.unit_diagonal:
            np.fill_diagonal(K, 1)
        return K

    def _fill(self, K: Array, points: _Operand, block: Callable[..., Array]) -> None:
        """Compute the tiles on and above the diagonal, and mirror them."""
        n = K.shape[0]
        self._refuse_overflow(points.norms)  # values of very distant points do not show overflow
        tiles = [slice(s, min(s + _TILE, n)) for s in range(0, n, _TILE)]
        for i, rows in enumerate(tiles):
            for columns in tiles[i:]:
                tile = block(points.rows(rows), points.rows(columns), self)
                self._refuse_overflow(tile)
                if rows == columns:
                    # GEMM need not round (i, j) and (j, i) equally.
                    tile = np.triu(tile) + np.triu(tile, 1).T
                K[rows, columns] = tile
                if rows != columns:
                    K[columns, rows] = tile.T

    def _refuse_overflow(self, values: Array | None) -> None:
        # NaN and inf propagate to the sum: one pass, and no array of flags.
        if values is None or np.isfinite(values.sum(dtype=np.float64)):
            return
        if not np.isfinite(values).all():
            raise ValueError(
                f"kernel={self.name!r} with gamma={self.gamma:g}, degree={self.degree:g} gives NaN "
                f"or infinite values in {values.dtype}. Scale the features, e.g. by "
                "StandardScaler, or use a smaller gamma or degree (a fractional degree needs "
                "gamma x'z + coef0 >= 0)."
            )

    def expand(self, X: PointData, basis: Matrix, alpha: Array) -> Array:
        """Compute sum_j alpha_j k(basis_j, .) at the points X, in row blocks.

        Parameters
        ----------
        X : array-like or sparse of shape (n, n_features); (n, n_basis) if precomputed
            The points, or their kernel values with the basis.
        basis : array-like or sparse of shape (n_basis, n_features)
            Points of the expansions.
        alpha : ndarray of shape (n_basis, n_columns)
            Coefficients, one column per function.

        Returns
        -------
        ndarray of shape (n, n_columns)
            Values of the functions.
        """
        if self.precomputed:
            return np.asarray(X @ alpha)
        values = np.empty((X.shape[0], alpha.shape[1]), dtype=np.result_type(X.dtype, alpha.dtype))
        for rows, block in self.cross_blocks(X, basis):
            values[rows] = block @ alpha
        return values

    def cross_blocks(self, X: PointData, Z: Matrix) -> Iterator[tuple[slice, Array]]:
        """Iterate over row blocks of the kernel matrix between X and Z.

        Parameters
        ----------
        X : ndarray, sparse or Rows of shape (n, n_features)
            Points of the rows.
        Z : array-like or sparse of shape (m, n_features)
            Points of the columns.

        Yields
        ------
        rows : slice
            Rows of the block.
        block : ndarray of shape (n_rows, m)
            Kernel values of these rows.
        """
        budget = DISK_BLOCK_BYTES if is_rows(X) else BLOCK_BYTES
        blocks = blocks_of(X, Z.shape[0] * X.dtype.itemsize, budget)
        if callable(self.name):
            for rows, points in blocks:
                shape = (rows.stop - rows.start, Z.shape[0])
                yield rows, _checked_block(self.name(points, Z), shape, X.dtype)
            return
        formula = KERNELS[self.name]
        with np.errstate(over="ignore", invalid="ignore"):
            right = formula.prepare(Z, self)
        self._refuse_overflow(right.norms)
        for rows, points in blocks:
            with np.errstate(over="ignore", invalid="ignore"):  # for very distant new points
                block = formula.block(formula.prepare(points, self), right, self)
            yield rows, block


def _checked_block(given: object, shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
    block: Array = np.asarray(given, dtype=dtype)
    if block.shape != shape:
        raise ValueError(
            f"The kernel function returned an array of shape {block.shape} for {shape[0]} and "
            f"{shape[1]} points. It is called with two sets of points, kernel(X, Z), and must "
            f"return the matrix of all kernel values, here of shape {shape}."
        )
    if not np.isfinite(block).all():
        raise ValueError("The kernel function returned NaN or infinite values.")
    return block


def scale_gamma(X: PointData) -> float:
    """Return 1 / total variance of X, the value of ``gamma='scale'``.

    The total variance, sum_j Var(x_j), is half the mean squared distance between two points
    (errata E2), so the rbf kernel of two typical points is exp(-2). scikit-learn's 'scale' uses the
    variance over all entries of X instead. Both agree if all features have the same mean
    (standardised data), but only this one is invariant to shifts of a feature, like the rbf kernel.
    """
    total = float(column_variances(X).sum())
    return 1.0 / total if total > 0 and math.isfinite(total) else 1.0


def make_kernel(
    kernel: str | KernelFunction,
    X: PointData,
    *,
    gamma: float | str = "scale",
    degree: float = 3,
    coef0: float = 1.0,
) -> Kernel:
    """Resolve a kernel's parameters on the training points X.

    Ranges of numbers are checked by the estimators.

    Raises
    ------
    ValueError
        If a name is unknown, or the points are too small in scale for a finite gamma.
    """
    if callable(kernel):
        return Kernel(kernel)
    if kernel == "precomputed":
        return Kernel("precomputed")
    if kernel not in KERNELS:
        known = ", ".join(repr(name) for name in KERNELS)
        raise ValueError(
            f"kernel={kernel!r} is not known. Use {known}, 'precomputed', or a function (X, Z) -> "
            "matrix."
        )
    if isinstance(gamma, str):
        if gamma not in (*WIDTHS, "auto"):
            known = ", ".join(repr(name) for name in WIDTHS)
            raise ValueError(f"gamma={gamma!r} is not known. Use {known}, 'auto' or a number > 0.")
        gamma = WIDTHS[gamma] * scale_gamma(X) if gamma in WIDTHS else 1.0 / X.shape[1]
    if not math.isfinite(gamma):
        raise ValueError(
            f"gamma={gamma:g} overflows: the features are too small in scale. Scale them, e.g. by "
            "StandardScaler."
        )
    # Stored in the kernel, as new points must use the same origin.
    center = center_of(X) if KERNELS[kernel].centred else None
    if center is not None and not center.any():
        center = None  # for points whose columns are mostly 0
    return Kernel(kernel, float(gamma), float(degree), float(coef0), center)
