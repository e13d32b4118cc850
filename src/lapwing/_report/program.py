"""Python program of the report, which fits the same pipeline again."""

from __future__ import annotations

import importlib
import math
from inspect import signature
from textwrap import indent
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from lapwing.classes.markers import plain

_WIDTH = 80
_LITERALS = (bool, int, float, complex, str, bytes, slice, range, type(None))
_LARGEST_ARRAY = 1000  # entries


def python_lines(pipeline: Pipeline, unlabeled: object) -> str:
    """Write a Python program that fits the same pipeline again.

    Parameters
    ----------
    pipeline : Pipeline
        Steps and estimator; parameters at their defaults are omitted.
    unlabeled : object
        Marker of unlabelled rows.

    Returns
    -------
    str
        Statements that need X and y, and the parameters that a comment names because they have no
        literal, such as functions.
    """
    source = _Source()
    model = source.write("model", pipeline[-1] if len(pipeline) == 1 else pipeline)
    marker = source.write("unlabeled", unlabeled)
    imports = source.imports
    return "\n".join(
        [
            *(f"from {m} import {', '.join(sorted(imports[m]))}" for m in sorted(imports)),
            "",
            f"# X: the feature columns; y: the labels, {marker} where there is none",
            *(f"# {name}: the {kind} of the fit" for name, kind in source.undefined.items()),
            f"model = {model}",
            "model.fit(X, y)",
            "model.predict(X)",
        ]
    )


class _Source:
    """Python expressions of parameters, the imports that they need, and undefined names."""

    def __init__(self) -> None:
        self.imports: dict[str, set[str]] = {}
        self.undefined: dict[str, str] = {}

    def write(self, name: str, value: Any) -> str:
        """Return the expression of a parameter; its name if there is none."""
        value = plain(value)
        if isinstance(value, BaseEstimator):
            head = self._imported(_public_module(type(value)), type(value).__name__)
            changed = changed_parameters(value).items()
            return _wrap(f"{head}(", [f"{k}={self.write(k, v)}" for k, v in changed], ")")
        if isinstance(value, float) and not math.isfinite(value):
            word = self._imported("numpy", "nan" if math.isnan(value) else "inf")
            return f"-{word}" if value < 0 else word
        if type(value) in (list, tuple):
            parts = [self.write(name, inner) for inner in value]
            if isinstance(value, list):
                return _wrap("[", parts, "]")
            return f"({parts[0]},)" if len(parts) == 1 else _wrap("(", parts, ")")
        if type(value) is dict:
            pairs = [f"{self.write(name, k)}: {self.write(name, v)}" for k, v in value.items()]
            return _wrap("{", pairs, "}")
        is_array = type(value) is np.ndarray and value.dtype.kind in "biufcUSO" and value.ndim
        if is_array and value.size <= _LARGEST_ARRAY:
            entries, dtype = self.write(name, value.tolist()), value.dtype.str[1:]
            head = self._imported("numpy", "array")
            return _wrap(f"{head}(", [entries, f"dtype={dtype!r}"], ")")
        if type(value) in _LITERALS:
            return repr(value)
        while self.undefined.get(name, type(value).__name__) != type(value).__name__:
            name += "_"
        self.undefined[name] = type(value).__name__
        return name

    def _imported(self, module: str, name: str) -> str:
        self.imports.setdefault(module, set()).add(name)
        return name


def changed_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the parameters that differ from their defaults."""
    usual = {name: one.default for name, one in signature(type(estimator)).parameters.items()}
    given = estimator.get_params(deep=False)
    return {name: v for name, v in given.items() if repr(v) != repr(usual.get(name))}


def _wrap(head: str, parts: list[str], tail: str) -> str:
    """Join parts in one line, or else in indented lines of about 80 letters."""
    line = f"{head}{', '.join(parts)}{tail}"
    if len(line) <= _WIDTH and "\n" not in line:
        return line
    lines: list[str] = []
    for part in parts:
        if lines and "\n" not in lines[-1] + part and len(lines[-1]) + len(part) < _WIDTH:
            lines[-1] += f" {part},"
        else:
            lines.append(f"{part},")
    return f"{head}\n{indent(chr(10).join(lines), '    ')}\n{tail}"


def _public_module(cls: type) -> str:
    """Return the shortest module name from which a class can be imported."""
    parts = cls.__module__.split(".")
    for length in range(1, len(parts) + 1):
        name = ".".join(parts[:length])
        if getattr(importlib.import_module(name), cls.__name__, None) is cls:
            return name
    return cls.__module__
