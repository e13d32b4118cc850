"""Parameters as users write them: ``gamma_I=1``, ``graph.n_neighbors=15``."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from lapwing._app.methods import CommandMethod
from lapwing._words import guess

# Parameters that other options set, or that a single fit does not use.
_UNAVAILABLE = {
    "unlabeled": "use --unlabeled",
    "random_state": "use --seed",
    "graph.random_state": "use --seed",
    "graph": "set its parameters, such as graph.n_neighbors",
    "space": "set its parameters, such as space.n_components",
    "space.centers": "landmarks are drawn from the rows, see space.method",
    "space.random_state": "use --seed",
    "warm_start": "there is only one fit",
    "memory": "there is only one fit",
    "updatable": "there is only one fit",
    "candidates": "name one method with --method",
    "graphs": "the usual graphs are tried",
}
_GRIDS = ("gammas",)  # grids whose default is not a tuple
_CLASS_PROPORTIONS = ("class_prior", "balance")  # a number, a word, or proportions of the classes
# Switches whose default is not a bool.
_SWITCHES_OR_AUTO = ("graph.approximate", "graph.normalized")
_SWITCHES = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False}
_WORDS = {"true": True, "false": False, "none": None, "null": None}


def setting_names(method: CommandMethod) -> tuple[str, ...]:
    """Return the parameters of a method; those of its parts begin with ``graph.``, ``space.``."""
    return tuple(name for name in _defaults(method) if name not in _UNAVAILABLE)


def _defaults(method: CommandMethod) -> dict[str, Any]:
    return dotted_parameters(method.estimator(**method.parts()))


def dotted_parameters(estimator: Any) -> dict[str, Any]:
    """Return all parameters; those of parts as ``graph.name`` instead of ``graph__name``."""
    return {name.replace("__", "."): value for name, value in estimator.get_params().items()}


def parse_settings(texts: Sequence[str], method: CommandMethod) -> dict[str, Any]:
    """Parse settings and check their names.

    Parameters
    ----------
    texts : sequence of str
        ``name=value`` each; the value is a number, true, false, none or a word. Switches also take
        yes, no, on and off, some of them auto; grids (gamma_As) take several values separated by
        commas. Proportions of the classes are ``class_prior=a:0.2,b:0.8``.
    method : CommandMethod
        Method of the parameters.

    Returns
    -------
    dict
        Values by name.

    Raises
    ------
    ValueError
        If a text has no name, the name is unknown (the message suggests the nearest one) or given
        twice, or the value has the wrong form. The estimator checks its range.
    """
    defaults = _defaults(method)
    names = setting_names(method)
    settings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("__", ".")
        if not equals or not name:
            raise ValueError(
                f"--set {text!r} must be NAME=VALUE, such as --set {name or names[0]}=VALUE."
            )
        if name in _UNAVAILABLE:
            raise ValueError(f"--set {name} is not available: {_UNAVAILABLE[name]}.")
        if name not in names:
            close = guess(name, names, 1) or guess(name.rpartition(".")[2], names, 1)
            hint = close or f"It has {', '.join(names)}."
            raise ValueError(f"--set {name}: {method.class_name} has no parameter {name!r}. {hint}")
        if name in settings:
            raise ValueError(f"--set {name} is given twice; give it once.")
        settings[name] = _parse(name, value.strip(), defaults[name])
    if settings.get("kernel") == "precomputed":
        raise ValueError("--set kernel=precomputed: a table holds points and no kernel matrix.")
    return settings


def make_estimator(
    method: CommandMethod,
    settings: Mapping[str, Any],
    seed: int | None,
    points: Any = None,
    **known: Any,
) -> Any:
    """Make the estimator of a fit.

    Parameters
    ----------
    method : CommandMethod
        Its method.
    settings : mapping
        Result of `parse_settings`.
    seed : int or None
        Random seed of the estimator, and of its graph and space if they are set.
    points : ndarray or CSR of shape (n, d), default=None
        Points whose default graph ``graph.NAME`` changes.
    **known : object
        Parameters that depend on the table, set if the estimator has them.

    Returns
    -------
    estimator
        Not fitted.
    """
    estimator = method.estimator()
    known["random_state"] = seed
    for part, recipe in method.parts(points).items():
        if part in method.random_parts or any(name.startswith(f"{part}.") for name in settings):
            known[part] = recipe.set_params(random_state=seed)
    # Not every estimator has them: regressors have no marker, and some fits are not random.
    names = estimator.get_params(deep=False)
    estimator.set_params(**{name: value for name, value in known.items() if name in names})
    return estimator.set_params(**{k.replace(".", "__"): v for k, v in settings.items()})


def settings_of(estimator: Any, method: CommandMethod, points: Any) -> tuple[str, ...] | None:
    """Return the settings with which a method makes this estimator.

    Parameters
    ----------
    estimator : estimator
        Estimator of the method.
    method : CommandMethod
        Its method.
    points : ndarray or CSR of shape (n, d)
        Its points.

    Returns
    -------
    tuple of str or None
        ``name=value`` for each parameter that differs from its default; None if settings cannot
        express it.
    """
    own = estimator.get_params(deep=False)
    recipes = {k: v for k, v in method.parts(points).items() if hasattr(own[k], "get_params")}
    if not all(isinstance(own[name], type(recipe)) for name, recipe in recipes.items()):
        return None
    usual = dotted_parameters(method.estimator(**recipes))
    changed = {
        name: value
        for name, value in dotted_parameters(estimator).items()
        if name not in (*recipes, "unlabeled")
        and not name.endswith("random_state")
        and repr(value) != repr(usual[name])
    }
    if "space" in recipes and not any(name.startswith("space.") for name in changed):
        changed["space.method"] = estimator.space.method  # one setting is needed to make it
    for name, value in changed.items():
        plain = value is None or isinstance(value, (bool, int, float, str, np.generic))
        if not plain and not (isinstance(value, dict) and name in _CLASS_PROPORTIONS):
            return None
    return tuple(f"{name}={format_setting(value)}" for name, value in changed.items())


def format_setting(value: Any) -> str:
    """Format a value for ``--set NAME=``."""
    if isinstance(value, dict):
        # Enough digits for thirds to sum to 1, as `balance` requires.
        return ",".join(f"{key}:{part:.12g}" for key, part in value.items())
    if isinstance(value, tuple):
        return ",".join(map(format_setting, value))
    if value is None:
        return "none"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return str(value.item() if isinstance(value, np.generic) else value)


def _parse(name: str, text: str, default: Any) -> Any:
    """Parse the value of a parameter with this default."""
    if isinstance(default, bool) or name in _SWITCHES_OR_AUTO:
        auto = {"auto": "auto"} if name in _SWITCHES_OR_AUTO else {}
        switch = (_SWITCHES | auto).get(text.lower())
        if switch is None:
            known = "yes, no or auto" if auto else "yes or no"
            raise ValueError(f"--set {name}={text}: this is a switch; write {known}.")
        return switch
    if name in _CLASS_PROPORTIONS:
        return _parse_proportions(name, text)
    if isinstance(default, tuple) or name in _GRIDS:
        return tuple(_parse_value(name, one.strip()) for one in text.split(","))
    return _parse_value(name, text)


def _parse_proportions(name: str, text: str) -> Any:
    """Parse proportions by class; classes are numbers if all of them look like numbers."""
    if ":" not in text and "," not in text:
        return _parse_value(name, text)
    pairs = [one.rpartition(":")[::2] for one in text.split(",")]
    names = [key.strip() for key, _ in pairs]
    classes: list[Any] = [_parse_number(key) for key in names]
    classes = names if None in classes else classes
    parts = [_parse_number(part.strip()) for _, part in pairs]
    if None in parts or "" in names or len(set(classes)) < len(classes):
        raise ValueError(
            f"--set {name}={text}: write each class once with its proportion, such as "
            f"{name}=a:0.2,b:0.8."
        )
    return dict(zip(classes, parts, strict=True))


def _parse_number(text: str) -> int | float | None:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return None


def _parse_value(name: str, text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = text
    if not text or not isinstance(value, (int, float, str)):
        raise ValueError(
            f"--set {name}={text}: the value must be a number, true, false, none or a word."
        )
    return value
