"""What is needed to repeat a fit: parameters, versions, lines of Python."""

from __future__ import annotations

import importlib
import platform
from importlib.metadata import version
from typing import Any

from sklearn.base import BaseEstimator

from lapwing._report.text import clean
from lapwing._version import __version__

_PACKAGES = ("numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that the numbers depend on."""
    found = {"Python": platform.python_version(), "lapwing": __version__}
    return found | {name: version(name) for name in _PACKAGES}


def parameters(estimator: Any) -> list[dict[str, Any]]:
    """List the estimator's parameters, each with whether it differs from its default."""
    usual = type(estimator)().get_params(deep=False)
    return [
        {"name": name, "value": _short(value), "changed": repr(value) != repr(usual.get(name))}
        for name, value in sorted(estimator.get_params(deep=False).items())
    ]


def _short(value: Any) -> str:
    if isinstance(value, BaseEstimator):
        return clean(" ".join(value.__repr__(N_CHAR_MAX=10**6).split()))
    return clean(" ".join(repr(value).split()))


def python_lines(pipeline: Any, unlabeled: Any) -> str:
    """Write the lines of Python that fit the same pipeline again.

    Parameters
    ----------
    pipeline : Pipeline
        Steps and estimator; parameters that are their defaults are left out.
    unlabeled : object
        The marker of rows without label.

    Returns
    -------
    str
        To be run where X and y are defined.
    """
    if len(pipeline) == 1:
        pipeline = pipeline[-1]
    lines: dict[str, set[str]] = {}
    for value in [pipeline, *_nested(pipeline)]:
        lines.setdefault(_public_module(type(value)), set()).add(type(value).__name__)
    imports = [f"from {m} import {', '.join(sorted(lines[m]))}" for m in sorted(lines)]
    model = pipeline.__repr__(N_CHAR_MAX=10**6)
    if "nan" in model or unlabeled != unlabeled:
        imports.insert(0, "from numpy import nan")
    marker = "nan" if unlabeled != unlabeled else repr(unlabeled)
    return "\n".join(
        [
            *imports,
            "",
            f"# X: the feature columns; y: the labels, {marker} where there is none",
            f"model = {model}",
            "model.fit(X, y)",
            "model.predict(X)",
        ]
    )


def _nested(value: Any) -> list[Any]:
    """All estimators among the parameters, however deep; in lists of steps too."""
    if isinstance(value, BaseEstimator):
        inner = value.get_params(deep=False).values()
    elif isinstance(value, (list, tuple)):
        inner = value
    else:
        return []
    found = [v for v in inner if isinstance(v, BaseEstimator) and not isinstance(v, type)]
    return found + [deeper for v in inner for deeper in _nested(v)]


def _public_module(cls: type) -> str:
    """The shortest module that a class can be imported from, but no private one."""
    parts = cls.__module__.split(".")
    for length in range(1, len(parts) + 1):
        name = ".".join(parts[:length])
        if getattr(importlib.import_module(name), cls.__name__, None) is cls:
            return name
    return cls.__module__
