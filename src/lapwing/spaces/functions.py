"""Fitted functions of new points, and the attributes that a model keeps.

A function gives its attributes (`attributes`) and is made again from them (`fitted`); estimators,
model files and the ONNX export know functions in this way only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from lapwing._arrays import Array
from lapwing._rows import PointData, blocks_of, is_rows
from lapwing.classes.decoding import class_pairs, votes
from lapwing.kernels import Kernel

# Of the sum of the terms' sizes: what the order of sums and an eigensolver leave open. Scores of
# np.eye tie to 1e-12.
_SETTLED = 1e-10
_READ_BYTES = 2**24  # of points whose values are computed at a time


class FittedFunction(Protocol):
    """Fitted function of new points, with one column for each problem."""

    def __call__(self, X: Any) -> Array:
        """Evaluate at points; the values have the shape (n_samples, n_columns)."""

    @property
    def intercept(self) -> Array:
        """Return the intercepts, shape (n_columns,)."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The fitted attributes that it consists of, by name."""

    @classmethod
    def fitted(cls, attributes: Mapping[str, Any]) -> Self | None:
        """Make the function from attributes; None if they are of another kind of function."""


def evaluate(function: Callable[[Any], Array], X: PointData) -> Array:
    """Evaluate a function (n, c) at points; points on disk are read in one pass.

    Raises
    ------
    ValueError
        For rows with missing or infinite values, which arrays were looked through for before.
    """
    if not is_rows(X):
        return function(X)
    values: Array | None = None
    for rows, points in blocks_of(X, budget=_READ_BYTES):
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

    def __call__(self, X: Any) -> Array:
        return np.asarray(safe_sparse_dot(X, self.coef, dense_output=True)) + self.intercept

    @property
    def attributes(self) -> Mapping[str, Any]:
        # A row a function, as scikit-learn's `coef_`.
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
        Rows of the user's X that the basis is, where it is made of some. With a precomputed kernel
        they are the columns that are looked at.
    """

    kernel: Kernel
    basis: Any
    coef: Array
    intercept: Array
    rows: Array | None = None

    def __call__(self, X: Any) -> Array:
        # New rows come with their kernel values on all rows of the fit, the pruned ones too.
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
        # Of other kernels the points are kept, and which rows they were decides nothing.
        rows = attributes.get("basis_") if kernel.precomputed else None
        return cls(kernel, basis, alpha, attributes["intercept_"], rows)

    def pruned(self) -> KernelExpansion:
        """Remove the points whose coefficients are all 0."""
        used = np.flatnonzero(self.coef.any(axis=1))
        used = used if len(used) else np.arange(1)  # an expansion of no points has no shape
        if len(used) == len(self.coef) or (self.kernel.precomputed and self.rows is None):
            return self
        return replace(
            self,
            basis=None if self.basis is None else self.basis[used],
            coef=self.coef[used],
            rows=None if self.rows is None else self.rows[used],
        )


@dataclass(frozen=True, eq=False)
class AnchorFunction:
    """f(x) = z(x)'a + b: the mean of values at anchors, by a point's weights over them.

    Attributes
    ----------
    anchors : Anchors
    coef : ndarray of shape (n_anchors, n_columns)
    intercept : ndarray of shape (n_columns,)
    """

    # Any, and so below: spaces must not know graphs.
    anchors: Any
    coef: Array
    intercept: Array

    def __call__(self, X: Any) -> Array:
        return np.asarray(self.anchors.rows(X) @ self.coef + self.intercept)

    @property
    def attributes(self) -> Mapping[str, Any]:
        return {"anchors_": self.anchors, "alpha_": self.coef, "intercept_": self.intercept}

    @classmethod
    def fitted(cls, attributes: Mapping[str, Any]) -> Self | None:
        if "anchors_" not in attributes:
            return None
        return cls(*(attributes[name] for name in ("anchors_", "alpha_", "intercept_")))


@dataclass(frozen=True, eq=False)
class EigenfunctionSum:
    """f(x) = sum_k alpha_k g_k(x) + b over eigenfunctions g_k.

    Attributes
    ----------
    eigenfunctions : Eigenfunctions
    coef : ndarray of shape (n_eigenfunctions, n_columns)
    intercept : ndarray of shape (n_columns,)
    """

    eigenfunctions: Any
    coef: Array
    intercept: Array

    def __call__(self, X: Any) -> Array:
        return self.settled(self.eigenfunctions.expand(X, self.coef, self.intercept))

    def settled(self, values: Array) -> Array:
        """Round values so that rounding errors decide no classes.

        Points that no function separates, such as one-hot codes of their own, have values that
        differ by the order of summation only.
        """
        largest = np.abs(self.eigenfunctions.values).max(axis=1, initial=0.0)
        size = np.abs(self.intercept) + largest @ np.abs(self.coef)
        unit = np.exp2(np.floor(np.log2(np.where(size > 0, size, 1.0) * _SETTLED)))
        return np.asarray(np.round(values / unit) * unit)

    @property
    def attributes(self) -> Mapping[str, Any]:
        return {
            "eigenfunctions_": self.eigenfunctions,
            "alpha_": self.coef,
            "intercept_": self.intercept,
        }

    @classmethod
    def fitted(cls, attributes: Mapping[str, Any]) -> Self | None:
        if "eigenfunctions_" not in attributes:
            return None
        return cls(*(attributes[name] for name in ("eigenfunctions_", "alpha_", "intercept_")))


@dataclass(frozen=True, eq=False)
class VotedFunction:
    """Scores of the classes from the machines of their pairs.

    Attributes
    ----------
    pairs : LinearFunction or KernelExpansion
        One column a pair of classes.
    classes : ndarray of shape (n_classes,)
        Their labels.
    """

    pairs: FittedFunction
    classes: Array

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def intercept(self) -> Array:
        return self.pairs.intercept

    def __call__(self, X: Any) -> Array:
        return votes(self.pairs(X), self.n_classes)

    @property
    def attributes(self) -> Mapping[str, Any]:
        labels = self.classes[class_pairs(self.n_classes)]
        return {**self.pairs.attributes, "classes_": self.classes, "pairs_": labels}

    @classmethod
    def fitted(cls, attributes: Mapping[str, Any]) -> Self | None:
        # Only this attribute distinguishes votes from plain columns.
        if "pairs_" not in attributes:
            return None
        pairs = function_from(attributes, (LinearFunction, KernelExpansion))
        return cls(pairs, attributes["classes_"])


@dataclass(frozen=True, eq=False)
class NeighborhoodFunction:
    """f(x) = h(x) + z(x)'v + b: a function, and the mean of values of the nearest points.

    Attributes
    ----------
    smooth : LinearFunction or KernelExpansion
        h + b.
    neighbors : Anchors
        Of which z(x) are the weights.
    values : ndarray of shape (n_neighbors, n_columns)
        v.
    """

    smooth: FittedFunction
    neighbors: Any
    values: Array

    @property
    def intercept(self) -> Array:
        return self.smooth.intercept

    def __call__(self, X: Any) -> Array:
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
    """Make the function of a fitted estimator, given its attributes and what kinds it may be of."""
    for kind in kinds:
        function = kind.fitted(attributes)
        if function is not None:
            return function
    raise ValueError("There is no fitted function among the attributes.")
