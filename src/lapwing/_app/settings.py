"""Parameters as users write them: ``gamma_I=1``, ``graph.n_neighbors=15``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lapwing._tables.columns import nearest
from lapwing.graphs import KNNGraph
from lapwing.spaces import Landmarks

__all__ = ["apply_settings", "parse_settings", "setting_names"]

_GRAPH, _SPACE = "graph.", "space."
# Set by other options, or of no use for one fit.
_ELSEWHERE = {
    "unlabeled": "use --unlabeled",
    "random_state": "use --seed",
    "graph.random_state": "use --seed",
    "graph": "set its parameters, such as graph.n_neighbors",
    "space": "set its parameters, such as space.n_components",
    "space.centers": "landmarks are drawn from the rows, see space.method",
    "space.random_state": "use --seed",
    "warm_start": "there is only one fit",
}
_WORDS = {"true": True, "false": False, "none": None, "null": None}


def setting_names(estimator: Any) -> tuple[str, ...]:
    """Names that can be set for an estimator, with ``graph.`` and ``space.`` those of its parts.

    Parameters
    ----------
    estimator : estimator
        With the method ``get_params``.
    """
    own = estimator.get_params(deep=False)
    graph = KNNGraph().get_params(deep=False) if "graph" in own else {}
    space = Landmarks().get_params(deep=False) if "space" in own else {}
    names = [*own, *(f"{_GRAPH}{name}" for name in graph), *(f"{_SPACE}{name}" for name in space)]
    return tuple(name for name in names if name not in _ELSEWHERE)


def parse_settings(texts: Sequence[str], estimator: Any) -> dict[str, Any]:
    """Read settings and check their names.

    Parameters
    ----------
    texts : sequence of str
        ``name=value`` each; the value is a number, true, false, none or a word.
    estimator : estimator
        That has the parameters.

    Returns
    -------
    dict
        Values by name.

    Raises
    ------
    ValueError
        If a text has no name, the name is unknown (says the nearest) or given twice, or the value
        is neither a number nor a word. Whether it is in its range is the estimator's to say.
    """
    names, owner = setting_names(estimator), type(estimator).__name__
    settings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("__", ".")
        if not equals or not name:
            raise ValueError(f"--set {text!r} must be NAME=VALUE, such as --set {names[1]}=1.")
        if name in _ELSEWHERE:
            raise ValueError(f"--set {name} is not set this way: {_ELSEWHERE[name]}.")
        if name not in names:
            close = nearest(name, names, n=1) or nearest(name.rpartition(".")[2], names, n=1)
            guess = f"Did you mean {close[0]!r}?" if close else f"It has {', '.join(names)}."
            raise ValueError(f"--set {name}: {owner} has no parameter {name!r}. {guess}")
        if name in settings:
            raise ValueError(f"--set {name} is given twice; give it once.")
        settings[name] = _value(name, value.strip())
    if settings.get("kernel") == "precomputed":
        raise ValueError("--set kernel=precomputed: a table holds points and no kernel matrix.")
    return settings


def apply_settings(estimator: Any, settings: Mapping[str, Any], default: Callable[[], Any]) -> None:
    """Set the parameters, of the estimator's graph and space too.

    Parameters
    ----------
    estimator : estimator
        Changed.
    settings : mapping
        From `parse_settings`.
    default : callable
        Gives the graph that is changed if one of its parameters is set.
    """
    own = {k: value for k, value in settings.items() if not k.startswith((_GRAPH, _SPACE))}
    graph, space = (
        {k.removeprefix(part): value for k, value in settings.items() if k.startswith(part)}
        for part in (_GRAPH, _SPACE)
    )
    estimator.set_params(**own)
    if space:
        landmarks = Landmarks(random_state=estimator.get_params()["random_state"])
        estimator.set_params(space=landmarks.set_params(**space))
    if graph:
        recipe = default()
        if not isinstance(recipe, KNNGraph):  # of one point
            recipe = KNNGraph()
        estimator.set_params(graph=recipe.set_params(**graph))


def _value(name: str, text: str) -> Any:
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
