"""Fitted functions of new points, and the attributes that a model keeps.

A function is converted to fitted attributes (`attributes`) and restored from them (`fitted`).
Estimators, model files and the ONNX export use no other interface.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from lapwing._arrays import DISK_BLOCK_BYTES, Array
from lapwing._rows.base import PointData, blocks_of, is_rows
from lapwing.classes.decoding import class_pairs, votes
from lapwing.kernels import Kernel

# Rounding error, relative to the sum of the absolute terms, due to the order of summation and the
# eigensolver. The scores for np.eye differ by 1e-12.
_SETTLED = 1e-10


class FittedFunction(Protocol):
    """Fitted function of new points, with one column for each problem."""

    def __call__(self, X: PointData) -> Array:
        """Evaluate at points; the values have the shape (n_samples, n_columns)."""

    @property
    def intercept(self) -> Array:
        """Return the intercepts, shape (n_columns,)."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Return the fitted attributes that define the function, by name."""

    @classmethod
    def fitted(cls, attributes: Mapping[str, Any]) -> Self | None:
        """Restore the function from attributes; None if they define another kind of function."""


def evaluate(function: Callable[[Any], Array], X: PointData) -> Array:
    """Evaluate a function (n, c) at points; points on disk are read in one pass.

    Raises
    ------
    ValueError
        For rows on disk with missing or infinite values; arrays have been checked before.
    """
    if not is_rows(X):
        return function(X)
    values: Array | None = None
    for rows, points in blocks_of(X, budget=DISK_BLOCK_BYTES):
        if not np.isfinite(points).all():
            i, j = np.argwhere(~np.isfinite(points))[0]
            raise ValueError(
                f"X contains NaN or infinity in row {rows.start + i}, column {j} (counted from 0)."
            )
        block = function(points)
        if values is None:
            values = np.empty((X.shape[0], block.shape[1]), dtype=block.dtype)
        values[rows] = block
    assert values is not None
    return values


@dataclass(frozen=True, eq=False)
class LinearFunction:
    """f(x) = w'x + b.

    Attributes
    ----------
    coef : ndarray of shape (n_features, n_columns)
    intercept : ndarray of shape (n_columns,)
    """

    coef: Array
    intercept: Array

    def __call__(self, X: PointData) -> Array:
        return np.asarray(safe_sparse_dot(X, self.coef, dense_output=True)) + self.intercept

    @property
    def attributes(self) -> Mapping[str, Any]:
        # One row for each function, as in scikit-learn.
        return {"coef_": np.ascontiguousarray(self.coef.T), "intercept_": self.intercept}

    @classmethod
    def fitted(cls, attributes: Mapping[str, Any]) -> Self | None:
        if "coef_" not in attributes:
            return None
        return cls(attributes["coef_"].T, attributes["intercept_"])


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    """f(x) = sum_j alpha_j k(basis_j, x) + b, evaluated in row blocks.

    Attributes
    ----------
    kernel : Kernel
    basis : array-like or sparse of shape (n_basis, n_features), or None if precomputed
    coef : ndarray of shape (n_basis, n_columns)
        alpha.
    intercept : ndarray of shape (n_columns,)
    rows : ndarray of shape (n_basis,) or None
        Row numbers of the basis in the user's X, if it consists of such rows. With a precomputed
        kernel they are the columns that are used.
    """

    kernel: Kernel
    basis: Any
    coef: Array
    intercept: Array
    rows: Array | None = None

    def __call__(self, X: Any) -> Array:
        # New rows have kernel values on all rows of the fit, including the pruned ones.
        if self.kernel.precomputed and self.rows is not None and len(self.rows) < X.shape[1]:
            X = X[:, self.rows]
        return self.kernel.expand(X, self.basis, self.coef) + self.intercept

    @property
    def attributes(self) -> Mapping[str, Any]:
        made_of = {} if self.rows is None else {"basis_": self.rows}
        return {
            "kernel_": self.kernel,
            "X_fit_": self.basis,
            "alpha_": self.coef,
            "intercept_": self.intercept,
            **made_of,
        }

    @classmethod
    def fitted(cls, attributes: Mapping[str, Any]) -> Self | None:
        if "kernel_" not in attributes or "alpha_" not in attributes:
            return None
        kernel, basis, alpha = (attributes[name] for name in ("kernel_", "X_fit_", "alpha_"))
        # For other kernels the basis is stored, and its row numbers are not needed.
        rows = attributes.get("basis_") if kernel.precomputed else None
        return cls(kernel, basis, alpha, attributes["intercept_"], rows)

    def pruned(self) -> KernelExpansion:
        """Remove the points whose coefficients are all 0."""
        used = np.flatnonzero(self.coef.any(axis=1))
        used = used if len(used) else np.arange(1)  # at least one point, for the shapes
        if len(used) == len(self.coef) or (self.kernel.precomputed and self.rows is None):
            return self
        return replace(
            self,
            basis=None if self.basis is None else self.basis[used],
            coef=self.coef[used],
            rows=None if self.rows is None else self.rows[used],
        )


class _NamedFields:
    """Function whose fields, in order, are the fitted attributes `_names`."""

    _names: ClassVar[tuple[str, ...]]

    @property
    def attributes(self) -> Mapping[str, Any]:
        return dict(zip(self._names, vars(self).values(), strict=True))

    @classmethod
    def fitted(cls, attributes: Mapping[str, Any]) -> Self | None:
        if cls._names[0] not in attributes:
            return None
        return cls(*(attributes[name] for name in cls._names))


@dataclass(frozen=True, eq=False)
class AnchorFunction(_NamedFields):
    """f(x) = z(x)'a + b: the weighted mean of values at anchors, with the weights z(x).

    Attributes
    ----------
    anchors : Anchors
    coef : ndarray of shape (n_anchors, n_columns)
    intercept : ndarray of shape (n_columns,)
    """

    _names = ("anchors_", "alpha_", "intercept_")

    # Any, here and below, as spaces must not import graphs.
    anchors: Any
    coef: Array
    intercept: Array

    def __call__(self, X: PointData) -> Array:
        return np.asarray(self.anchors.rows(X) @ self.coef + self.intercept)


@dataclass(frozen=True, eq=False)
class EigenfunctionSum(_NamedFields):
    """f(x) = sum_k alpha_k g_k(x) + b over eigenfunctions g_k.

    Attributes
    ----------
    eigenfunctions : Eigenfunctions
    coef : ndarray of shape (n_eigenfunctions, n_columns)
    intercept : ndarray of shape (n_columns,)
    """

    _names = ("eigenfunctions_", "alpha_", "intercept_")

    eigenfunctions: Any
    coef: Array
    intercept: Array

    def __call__(self, X: PointData) -> Array:
        return self.settled(self.eigenfunctions.expand(X, self.coef, self.intercept))

    def settled(self, values: Array) -> Array:
        """Round values so that classes do not depend on rounding errors.

        Points that no function separates, such as distinct one-hot vectors, have values that differ
        by the order of summation only.
        """
        largest = np.abs(self.eigenfunctions.values).max(axis=1, initial=0.0)
        size = np.abs(self.intercept) + largest @ np.abs(self.coef)
        unit = np.exp2(np.floor(np.log2(np.where(size > 0, size, 1.0) * _SETTLED)))
        return np.asarray(np.round(values / unit) * unit)


@dataclass(frozen=True, eq=False)
class VotedFunction:
    """Scores of the classes from the functions of pairs of classes (one-vs-one).

    Attributes
    ----------
    pairs : LinearFunction or KernelExpansion
        One column for each pair of classes.
    classes : ndarray of shape (n_classes,)
        Class labels.
    """

    pairs: FittedFunction
    classes: Array

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def intercept(self) -> Array:
        return self.pairs.intercept

    def __call__(self, X: PointData) -> Array:
        return votes(self.pairs(X), self.n_classes)

    @property
    def attributes(self) -> Mapping[str, Any]:
        labels = self.classes[class_pairs(self.n_classes)]
        return {**self.pairs.attributes, "classes_": self.classes, "pairs_": labels}

    @classmethod
    def fitted(cls, attributes: Mapping[str, Any]) -> Self | None:
        # Only this attribute distinguishes one-vs-one from other functions.
        if "pairs_" not in attributes:
            return None
        pairs = function_from(attributes, (LinearFunction, KernelExpansion))
        return cls(pairs, attributes["classes_"])


@dataclass(frozen=True, eq=False)
class NeighborhoodFunction:
    """f(x) = h(x) + z(x)'v + b: a function plus the weighted mean of values at nearest points.

    Attributes
    ----------
    smooth : LinearFunction or KernelExpansion
        h + b.
    neighbors : Anchors
        Points with the weights z(x).
    values : ndarray of shape (n_neighbors, n_columns)
        v.
    """

    smooth: FittedFunction
    neighbors: Any
    values: Array

    @property
    def intercept(self) -> Array:
        return self.smooth.intercept

    def __call__(self, X: PointData) -> Array:
        return np.asarray(self.smooth(X) + self.neighbors.rows(X) @ self.values)

    @property
    def attributes(self) -> Mapping[str, Any]:
        return {
            **self.smooth.attributes,
            "neighbors_": self.neighbors,
            "neighbor_values_": self.values,
        }

    @classmethod
    def fitted(cls, attributes: Mapping[str, Any]) -> Self | None:
        if "neighbors_" not in attributes:
            return None
        smooth = function_from(attributes, (LinearFunction, KernelExpansion))
        return cls(smooth, attributes["neighbors_"], attributes["neighbor_values_"])


def function_from(
    attributes: Mapping[str, Any], kinds: Sequence[type[FittedFunction]]
) -> FittedFunction:
    """Restore a fitted function from attributes, as the first of `kinds` that they define."""
    for kind in kinds:
        function = kind.fitted(attributes)
        if function is not None:
            return function
    raise ValueError("There is no fitted function among the attributes.")
