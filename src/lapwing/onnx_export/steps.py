"""Preprocessing steps as ONNX operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from lapwing._arrays import Array, as_dense
from lapwing._parameters import is_number
from lapwing.model_selection.relevance_scaler import RelevanceScaler


class OnnxExportError(ValueError):
    """A model cannot be exported to ONNX, for the reason in the message."""


class Builder:
    """Nodes and constants of a growing ONNX graph.

    Parameters
    ----------
    onnx : module
    """

    def __init__(self, onnx: ModuleType) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.n_bytes = 0

    def constant(self, value: Any) -> str:
        """Add an array or a number, floats in double precision, and return its name."""
        array = as_dense(value)
        if array.dtype.kind == "f":
            array = np.asarray(array, dtype=np.float64, order="C")
        name = f"lapwing/c{len(self.constants)}"  # no column has such a name
        self.n_bytes += array.nbytes
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def op(self, kind: str, *inputs: Any, **attributes: object) -> str:
        """Add an operator with one output, and return its name; inputs are names or constants."""
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        output = f"lapwing/t{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, names, [output], **attributes))
        return output


class ColumnTensors:
    """Columns as tensors: one matrix, or one tensor for each column if there are strings."""

    def __init__(self, names: Sequence[str], n_columns: int) -> None:
        self.names = list(names)
        self.n_columns = n_columns

    def take(self, build: Builder, which: Sequence[int]) -> str:
        """Return a tensor (n, len(which)) of some columns."""
        if len(self.names) == 1:
            # A Gather of all columns would only copy them.
            if list(which) == list(range(self.n_columns)):
                return self.names[0]
            return build.op("Gather", self.names[0], list(which), axis=1)
        if len(which) == 1:
            return self.names[which[0]]
        return build.op("Concat", *(self.names[j] for j in which), axis=1)

    def select(self, build: Builder, which: Sequence[int]) -> ColumnTensors:
        """Select columns, of which some may be strings and others numbers."""
        one = len(self.names) == 1
        names = [self.take(build, which)] if one else [self.names[j] for j in which]
        return ColumnTensors(names, len(which))


def text_columns(step: BaseEstimator) -> set[int]:
    """Return the positions of the input columns whose categories are strings."""
    if isinstance(step, Pipeline):
        return text_columns(step.steps[0][1]) if step.steps else set()
    if isinstance(step, OneHotEncoder):
        return {j for j, values in enumerate(step.categories_) if values.dtype.kind in "OU"}
    if isinstance(step, ColumnTransformer):
        return {which[j] for _, inner, which in _branches(step) for j in text_columns(inner)}
    return set()


def _branches(step: ColumnTransformer) -> Iterator[tuple[str, BaseEstimator, list[int]]]:
    """Iterate over names, fitted transformers and column positions, where there are columns."""
    for name, inner, columns in step.transformers_:
        which = _positions(step, columns)
        if which and not (isinstance(inner, str) and inner == "drop"):
            yield name, inner, which


def _positions(step: ColumnTransformer, columns: Any) -> list[int]:
    """Return the positions of columns that are given by number, name, slice or mask."""
    positions = np.arange(step.n_features_in_)
    names = getattr(step, "feature_names_in_", np.empty(0, str)).tolist()
    if isinstance(columns, slice):
        start, stop = (
            names.index(end) if isinstance(end, str) else end
            for end in (columns.start, columns.stop)
        )
        if isinstance(columns.stop, str):  # a slice of names contains its end
            stop += 1
        return positions[start : stop : columns.step].tolist()
    keys = np.atleast_1d(columns)
    if keys.dtype.kind in "OU":
        keys = np.array([names.index(name) for name in keys.tolist()])
    return positions[keys].tolist() if keys.size else []


def apply_step(build: Builder, step: BaseEstimator, columns: ColumnTensors) -> ColumnTensors:
    """Add a fitted step to the graph.

    Raises
    ------
    OnnxExportError
        If the step, or one of its parameters, has no translation.
    """
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return columns
    if isinstance(step, Pipeline):
        for _, inner in step.steps:
            columns = apply_step(build, inner, columns)
        return columns
    if isinstance(step, ColumnTransformer):
        return _column_transformer(build, step, columns)
    if isinstance(step, (CountVectorizer, HashingVectorizer, TfidfTransformer)):
        raise OnnxExportError(
            f"{type(step).__name__} cannot be exported to ONNX: no ONNX operator splits and weighs "
            "texts exactly as scikit-learn does. Compute its features before the session, and "
            "export the steps after it (model[1:] if it is the first, or the last step alone)."
        )
    if type(step) is OneHotEncoder:
        return _one_hot(build, step, columns)
    convert = _STEPS.get(type(step))
    if convert is None:
        raise OnnxExportError(
            f"{type(step).__name__} cannot be exported to ONNX; the steps that can are "
            f"{', '.join(kind.__name__ for kind in _STEPS)}, OneHotEncoder and ColumnTransformer."
        )
    matrix = columns.take(build, range(columns.n_columns))
    return convert(build, step, matrix, columns.n_columns)


def _column_transformer(
    build: Builder, step: ColumnTransformer, columns: ColumnTensors
) -> ColumnTensors:
    parts, width = [], 0
    for name, inner, which in _branches(step):
        part = apply_step(build, inner, columns.select(build, which))
        values = part.take(build, range(part.n_columns))
        factor = (step.transformer_weights or {}).get(name)
        parts.append(values if factor is None else build.op("Mul", values, float(factor)))
        width += part.n_columns
    return ColumnTensors([build.op("Concat", *parts, axis=1)], width)


def _identity(build: Builder, step: BaseEstimator, X: str, p: int) -> ColumnTensors:
    if step.func is not None:
        raise OnnxExportError(
            f"FunctionTransformer({step.func.__name__}) cannot be exported to ONNX: its function "
            "is Python."
        )
    return ColumnTensors([X], p)


def _scale(build: Builder, step: BaseEstimator, X: str, p: int) -> ColumnTensors:
    """Subtract a centre and divide by a scale, where the scaler has them."""
    if getattr(step, "clip", False):
        raise OnnxExportError("MaxAbsScaler(clip=True) cannot be exported to ONNX.")
    center = step.mean_ if getattr(step, "with_mean", False) else getattr(step, "center_", None)
    if center is not None:
        X = build.op("Sub", X, center)
    if step.scale_ is not None:
        # Not a product with the inverse, which rounds differently from scikit-learn's division.
        X = build.op("Div", X, step.scale_)
    return ColumnTensors([X], p)


def _min_max(build: Builder, step: BaseEstimator, X: str, p: int) -> ColumnTensors:
    # In the order of scikit-learn, so that both round alike.
    X = build.op("Add", build.op("Mul", X, step.scale_), step.min_)
    if step.clip:
        X = build.op("Clip", X, *map(float, step.feature_range))
    return ColumnTensors([X], p)


def _normalize(build: Builder, step: BaseEstimator, X: str, p: int) -> ColumnTensors:
    if step.norm == "l2":
        norms = build.op("Sqrt", build.op("ReduceSum", build.op("Mul", X, X), [1]))
    else:
        norms = build.op("ReduceSum" if step.norm == "l1" else "ReduceMax", build.op("Abs", X), [1])
    # Rows of zeros are unchanged, by the bound of scikit-learn.
    is_zero = build.op("Less", norms, 10 * np.finfo(np.float64).eps)
    return ColumnTensors([build.op("Div", X, build.op("Where", is_zero, 1.0, norms))], p)


def _project(build: Builder, step: BaseEstimator, X: str, p: int) -> ColumnTensors:
    components = np.asarray(step.components_, dtype=np.float64)
    X = build.op("MatMul", X, components.T)
    if isinstance(step, PCA):
        X = build.op("Sub", X, step.mean_ @ components.T)
        if step.whiten:
            variance = np.asarray(step.explained_variance_)
            X = build.op("Div", X, np.maximum(np.sqrt(variance), np.finfo(variance.dtype).eps))
    return ColumnTensors([X], len(components))


def _impute(build: Builder, step: BaseEstimator, X: str, p: int) -> ColumnTensors:
    values = step.statistics_.tolist()  # of objects for strategy='constant'
    nan = isinstance(step.missing_values, float | np.floating) and np.isnan(step.missing_values)
    if not nan or step.add_indicator or not all(map(is_number, values)):
        raise OnnxExportError(
            "SimpleImputer can be exported to ONNX for numbers only, with missing_values=nan, "
            "without an indicator, and with a value in every column."
        )
    filled = build.op("Where", build.op("IsNaN", X), np.array(values, dtype=np.float64), X)
    return ColumnTensors([filled], p)


def _one_hot(build: Builder, step: BaseEstimator, columns: ColumnTensors) -> ColumnTensors:
    if step.drop_idx_ is not None or getattr(step, "_infrequent_enabled", False):
        raise OnnxExportError(
            "OneHotEncoder can be exported to ONNX without drop, min_frequency and max_categories."
        )
    parts, width = [], 0
    for j, values in enumerate(step.categories_):
        column = columns.take(build, [j])
        # Unknown categories become zeros, as with handle_unknown='ignore'.
        equal = build.op("Equal", column, _categories(values)[None, :])
        parts.append(build.op("Cast", equal, to=build.onnx.TensorProto.DOUBLE))
        width += len(values)
    return ColumnTensors([build.op("Concat", *parts, axis=1)], width)


def _categories(values: Array) -> Array:
    if values.dtype.kind in "OU":
        if not all(isinstance(value, str) for value in values.tolist()):
            raise OnnxExportError(
                "OneHotEncoder can be exported to ONNX where the categories of a column are all "
                "texts or all numbers, none of them missing."
            )
        return values.astype(object)
    # Equal is false for two NaN, in ONNX as in NumPy.
    if np.isnan(values.astype(np.float64)).any():
        raise OnnxExportError("OneHotEncoder with a missing value as category has no ONNX form.")
    return values.astype(np.float64)


_STEPS: Mapping[type, Callable[[Builder, Any, str, int], ColumnTensors]] = {
    FunctionTransformer: _identity,
    StandardScaler: _scale,
    RelevanceScaler: _scale,
    MinMaxScaler: _min_max,
    MaxAbsScaler: _scale,
    RobustScaler: _scale,
    Normalizer: _normalize,
    PCA: _project,
    TruncatedSVD: _project,
    SimpleImputer: _impute,
}
