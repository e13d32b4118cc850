"""Fitted models as ONNX graphs, for programs without Python.

The converter is small, as kernel expansions need a handful of operators, and agrees with the
estimator up to rounding in double precision. skl2onnx has no operators for kernel expansions, and
its preprocessing is in single precision by default.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from lapwing._arrays import Array
from lapwing._host.files import atomic_write
from lapwing._host.modules import require
from lapwing._version import __version__
from lapwing.classes.decoding import vote_matrix
from lapwing.estimators.multioutput import SeveralTargets
from lapwing.estimators.template import SemiSupervisedEstimator
from lapwing.kernels import KERNELS, Kernel
from lapwing.model_selection.candidates import chosen_estimator
from lapwing.onnx_export.steps import (
    Builder,
    ColumnTensors,
    OnnxExportError,
    apply_step,
    text_columns,
)
from lapwing.spaces.functions import (
    KernelExpansion,
    LinearFunction,
    NeighborhoodFunction,
    VotedFunction,
)

# Equal supports strings since 19.
_OPSET, _IR_VERSION = 19, 9
_LIMIT = 2**31 - 2**20  # bytes of a protocol buffer, minus room for the nodes

InputType = Literal["double", "float"]


def save_onnx(
    model: BaseEstimator, path: str | os.PathLike[str], *, input_type: InputType = "double"
) -> None:
    """Write a fitted model to an ONNX file atomically.

    Parameters
    ----------
    model : Pipeline or estimator
        As for `to_onnx`.
    path : path-like
        Path; an existing file is replaced.
    input_type : {"double", "float"}, default="double"
        As for `to_onnx`.

    Raises
    ------
    OnnxExportError
        If the model has no ONNX form.
    ValueError
        If `input_type` is neither, or `path` cannot be written.
    ImportError
        If onnx is not installed.
    """
    content = to_onnx(model, input_type=input_type).SerializeToString(deterministic=True)
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)


def to_onnx(model: BaseEstimator, *, input_type: InputType = "double") -> Any:
    """Translate a fitted model to ONNX.

    The input is ``X`` (n, n_features), or, if a column holds strings, one input (n, 1) for each
    column, with its name. The outputs of classifiers are ``label``, ``scores`` and
    ``probabilities``, the results of `predict`, `decision_function` and `predict_proba`; that of
    regressors is ``value``.

    Parameters
    ----------
    model : Pipeline or estimator
        A fitted estimator of lapwing, or a pipeline that ends in one. `FewLabelClassifier` and
        searches are replaced by their ``best_estimator_``.
    input_type : {"double", "float"}, default="double"
        Type of the inputs that are numbers: 64 or 32 bits. Arithmetic is in double precision with
        both, so that "float" only rounds the inputs.

    Returns
    -------
    onnx.ModelProto
        Checked model. All arithmetic is in double precision; the kernel matrix of all rows of X and
        all training points is in memory at once.

    Raises
    ------
    OnnxExportError
        If the kernel is precomputed or a Python function, a preprocessing step has no translation,
        or the model exceeds 2 GB.
    ValueError
        If `input_type` is neither.
    ImportError
        If onnx is not installed.

    Notes
    -----
    Categories that OneHotEncoder(handle_unknown='error') would refuse are encoded as zeros.
    """
    if input_type not in ("double", "float"):
        raise ValueError(f"input_type={input_type!r} must be 'double' or 'float'.")
    onnx = require("onnx", extra="onnx", purpose="ONNX export")
    steps, estimator = _split(model)
    check_is_fitted(estimator)
    function = _function(estimator)
    build = Builder(onnx)
    inputs, columns = _inputs(build, [*steps, estimator], input_type)
    for step in steps:
        columns = apply_step(build, step, columns)
    X = columns.take(build, range(columns.n_columns))
    values, n_columns = _decision_values(build, function, X)
    outputs = _answers(build, estimator, values, n_columns)
    if build.n_bytes > _LIMIT:
        raise OnnxExportError(
            f"The model holds {build.n_bytes / 2**30:.1f} GB, more than the 2 GB of an ONNX file. "
            "Fit it to fewer points, or use kernel='linear'."
        )
    graph = onnx.helper.make_graph(build.nodes, "lapwing", inputs, outputs, build.constants)
    proto = onnx.helper.make_model(
        graph,
        producer_name="lapwing",
        producer_version=__version__,
        ir_version=_IR_VERSION,
        opset_imports=[onnx.helper.make_opsetid("", _OPSET)],
    )
    onnx.checker.check_model(proto, full_check=True)
    return proto


def _split(model: BaseEstimator) -> tuple[list[Any], Any]:
    """Return the steps before a fitted estimator, and the estimator."""
    steps: list[Any] = []
    estimator = model
    while isinstance(estimator, Pipeline) or hasattr(estimator, "best_estimator_"):
        if isinstance(estimator, Pipeline):
            steps += [step for _, step in estimator.steps[:-1]]
            estimator = estimator.steps[-1][1]
        else:
            estimator = estimator.best_estimator_
    if isinstance(estimator, SeveralTargets):
        estimator._refuse_several("ONNX export")
    chosen_estimator(estimator)  # raises an error if it has not chosen yet
    if not isinstance(estimator, SemiSupervisedEstimator):
        raise OnnxExportError(
            f"{type(estimator).__name__} cannot be exported to ONNX: it is not an estimator of "
            "lapwing with a function for new points."
        )
    return steps, estimator


def _function(estimator: BaseEstimator) -> Any:
    """Return the function of a fitted estimator, if it has an ONNX form."""
    function = estimator._function()
    inner = function.pairs if isinstance(function, VotedFunction) else function
    if isinstance(inner, LinearFunction):
        return function
    if isinstance(inner, NeighborhoodFunction):
        raise OnnxExportError(
            f"{type(estimator).__name__} cannot be exported to ONNX while the nearest points of "
            "the fit vote on new ones: their search has no exact ONNX form. Fit it with n_votes=0."
        )
    if not isinstance(inner, KernelExpansion):
        raise OnnxExportError(
            f"{type(estimator).__name__} cannot be exported to ONNX: its answers for new points "
            "are neither linear nor sums of kernel values."
        )
    if inner.kernel.precomputed:
        raise OnnxExportError(
            "kernel='precomputed' cannot be exported to ONNX: the model does not know the kernel."
        )
    if callable(inner.kernel.name):
        raise OnnxExportError("A kernel that is a Python function cannot be exported to ONNX.")
    return function


def _inputs(
    build: Builder, steps: list[Any], input_type: InputType
) -> tuple[list[Any], ColumnTensors]:
    # The step "passthrough" is a string without n_features_in_.
    first = next(step for step in steps if hasattr(step, "n_features_in_"))
    p = first.n_features_in_
    types = build.onnx.TensorProto
    number = types.FLOAT if input_type == "float" else types.DOUBLE
    texts = text_columns(first)
    make = build.onnx.helper.make_tensor_value_info

    def double(name: str) -> str:
        return build.op("Cast", name, to=types.DOUBLE) if input_type == "float" else name

    if not texts or len(texts) == p:
        kind = types.STRING if texts else number
        return [make("X", kind, ["n", p])], ColumnTensors(["X" if texts else double("X")], p)
    names = list(getattr(first, "feature_names_in_", [f"x{j}" for j in range(p)]))
    taken = {"label", "probabilities", "scores", "value"} & set(names)
    if taken:
        raise OnnxExportError(
            f"The column {min(taken)!r} has the name of an output of the ONNX model; rename it."
        )
    kinds = [types.STRING if j in texts else number for j in range(p)]
    inputs = [make(name, kind, ["n", 1]) for name, kind in zip(names, kinds, strict=True)]
    return inputs, ColumnTensors([n if j in texts else double(n) for j, n in enumerate(names)], p)


def _decision_values(build: Builder, function: object, X: str) -> tuple[str, int]:
    """Add the decision values (n, c) of preprocessed points to the graph."""
    if isinstance(function, VotedFunction):
        values, _ = _decision_values(build, function.pairs, X)
        votes = build.op("Clip", values, -1.0, 1.0)
        matrix = np.asarray(vote_matrix(function.n_classes), dtype=np.float64)
        return build.op("MatMul", votes, matrix), function.n_classes
    if not isinstance(function, LinearFunction):
        assert isinstance(function, KernelExpansion)
        translate = TRANSLATED_KERNELS.get(str(function.kernel.name))
        if translate is None:
            raise OnnxExportError(
                f"kernel={function.kernel.name!r} has no translation to ONNX. Use one of "
                f"{', '.join(map(repr, ('linear', *TRANSLATED_KERNELS)))}."
            )
        X = translate(build, X, function.basis, function.kernel)
    product = build.op("MatMul", X, function.coef)
    return build.op("Add", product, function.intercept), function.coef.shape[1]


def _answers(build: Builder, estimator: BaseEstimator, values: str, n_columns: int) -> list[Any]:
    """Add the outputs to the graph, labels first."""
    helper, types = build.onnx.helper, build.onnx.TensorProto
    flat, rows = values, ["n", n_columns]
    if n_columns == 1:
        flat = build.op("Squeeze", values, [1])
        rows = ["n"]
    if not is_classifier(estimator):
        build.nodes.append(helper.make_node("Identity", [flat], ["value"]))
        return [helper.make_tensor_value_info("value", types.DOUBLE, rows)]
    if n_columns == 1:
        code = build.op("Cast", build.op("GreaterOrEqual", flat, 0.0), to=types.INT64)
    else:
        code = build.op("ArgMax", values, axis=1, keepdims=0)
    classes = _classes(estimator.classes_)
    build.nodes.append(helper.make_node("Gather", [build.constant(classes), code], ["label"]))
    build.nodes.append(helper.make_node("Identity", [flat], ["scores"]))
    columns = (
        build.op("Concat", build.op("Neg", values), values, axis=1) if n_columns == 1 else values
    )
    sharp = build.op("Mul", columns, float(estimator.probability_sharpness_))
    build.nodes.append(helper.make_node("Softmax", [sharp], ["probabilities"], axis=1))
    kind = (
        types.STRING if classes.dtype == object else helper.np_dtype_to_tensor_dtype(classes.dtype)
    )
    return [
        helper.make_tensor_value_info("label", kind, ["n"]),
        helper.make_tensor_value_info("scores", types.DOUBLE, rows),
        helper.make_tensor_value_info("probabilities", types.DOUBLE, ["n", len(classes)]),
    ]


def _classes(classes: Array) -> Array:
    """Convert classes to a type that all runtimes support."""
    if classes.dtype.kind in "mM":
        raise OnnxExportError(
            f"Classes of type {classes.dtype} have no ONNX form. Fit the model to texts, such as "
            "y.astype(str)."
        )
    if classes.dtype.kind in "OU":
        return classes.astype(object)
    if classes.dtype.kind == "b":
        return classes
    return classes.astype(np.float64 if classes.dtype.kind == "f" else np.int64)


def _squared_norms(build: Builder, X: str) -> str:
    return build.op("ReduceSum", build.op("Mul", X, X), [1])


def _in_units(build: Builder, X: str, kernel: Kernel) -> str:
    """Scale points as the estimator does."""
    return build.op("Mul", X, 2.0**-kernel.unit_exponent) if kernel.unit_exponent else X


def _affine(build: Builder, X: str, basis: Array, kernel: Kernel) -> str:
    right = KERNELS["poly"].prepare(basis, kernel)
    product = build.op("MatMul", _in_units(build, X, kernel), right.points.T)
    return build.op("Add", build.op("Mul", product, kernel.gamma_in_units), float(kernel.coef0))


def _poly(build: Builder, X: str, basis: Array, kernel: Kernel) -> str:
    return build.op("Pow", _affine(build, X, basis, kernel), float(kernel.degree))


def _sigmoid(build: Builder, X: str, basis: Array, kernel: Kernel) -> str:
    return build.op("Tanh", _affine(build, X, basis, kernel))


def _rbf(build: Builder, X: str, basis: Array, kernel: Kernel) -> str:
    # Prepared as by the estimator, because float32 points are rounded.
    right = KERNELS["rbf"].prepare(basis, kernel)
    assert right.norms is not None
    if kernel.center is not None:
        X = build.op("Sub", X, kernel.center)
    X = _in_units(build, X, kernel)
    block = build.op("Mul", build.op("MatMul", X, right.points.T), -2.0)
    block = build.op("Add", block, _squared_norms(build, X))
    block = build.op("Max", build.op("Add", block, right.norms), 0.0)
    return build.op("Exp", build.op("Mul", block, -kernel.gamma_in_units))


def _cosine(build: Builder, X: str, basis: Array, kernel: Kernel) -> str:
    right = KERNELS["cosine"].prepare(basis, kernel)
    length = build.op("Sqrt", _squared_norms(build, X))
    # A point of length 0 is 0, for any divisor.
    divisor = build.op("Where", build.op("Equal", length, 0.0), 1.0, length)
    return build.op("MatMul", build.op("Div", X, divisor), right.points.T)


def _laplacian(build: Builder, X: str, basis: Array, kernel: Kernel) -> str:
    """Sum over features in a loop; all differences would take n_features times the memory."""
    helper, double = build.onnx.helper, build.onnx.TensorProto.DOUBLE
    make = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("Unsqueeze", ["x", "one"], ["column"]),
            helper.make_node("Unsqueeze", ["z", "zero"], ["row"]),
            helper.make_node("Sub", ["column", "row"], ["difference"]),
            helper.make_node("Abs", ["difference"], ["length"]),
            helper.make_node("Add", ["sum", "length"], ["next"]),
        ],
        "manhattan",
        [make("sum", double, ["n", "m"]), make("x", double, ["n"]), make("z", double, ["m"])],
        [make("next", double, ["n", "m"])],
        [
            build.onnx.numpy_helper.from_array(np.array([axis], dtype=np.int64), name)
            for axis, name in ((0, "zero"), (1, "one"))
        ],
    )
    n = build.op("Gather", build.op("Shape", X), [0])
    shape = build.op("Concat", n, [basis.shape[0]], axis=0)
    zero = helper.make_tensor("zeros", double, [1], [0.0])
    zeros = build.op("ConstantOfShape", shape, value=zero)
    distances = build.op(
        "Scan",
        zeros,
        build.op("Transpose", X, perm=[1, 0]),
        basis.T,
        body=body,
        num_scan_inputs=2,
    )
    return build.op("Exp", build.op("Mul", distances, -float(kernel.gamma)))


# Other kernels of the registry raise an error, except 'linear', whose functions are no expansions.
TRANSLATED_KERNELS: Mapping[str, Callable[[Builder, str, Any, Kernel], str]] = {
    "rbf": _rbf,
    "poly": _poly,
    "laplacian": _laplacian,
    "cosine": _cosine,
    "sigmoid": _sigmoid,
}
