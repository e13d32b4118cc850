"""What the paths of several families try: kernel widths and graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lapwing.estimators.prepared import Prepared
from lapwing.graphs import GraphRecipe, Laplacian, as_graph
from lapwing.kernels import Kernel
from lapwing.spaces import Space

# Widths that gammas=None tries, times 'scale'.
_WIDTHS = (1.0, 4.0)


class Width(NamedTuple):
    """Functions of a kernel, and what the plain estimator is told of it."""

    params: Mapping[str, Any]
    kernel: Kernel | None  # None for linear functions
    space: Space
    usual: bool = False  # whether it is the nearest to the plain estimator's own


class Graphed(NamedTuple):
    """A recipe with what it makes of the points."""

    recipe: GraphRecipe
    laplacian: Laplacian


def laplacians_of(
    recipes: Iterable[Any], make: Callable[[GraphRecipe], Laplacian]
) -> tuple[Graphed, ...]:
    """Laplacians of graphs; those that differ in the power only are one search.

    Parameters
    ----------
    recipes : iterable of what `as_graph` takes
        They stay as they are: a search writes what it found into copies.
    make : callable (recipe) -> Laplacian
    """
    found: list[Graphed] = []
    for recipe in map(as_graph, recipes):
        twin = next((known for known in found if same_edges(known.recipe, recipe)), None)
        laplacian = (
            make(copy(recipe)) if twin is None else replace(twin.laplacian, power=recipe.power)
        )
        found.append(Graphed(recipe, laplacian))
    return tuple(found)


def same_edges(one: GraphRecipe, other: GraphRecipe) -> bool:
    """Whether two recipes differ in nothing but the power."""
    if type(one) is not type(other) or not hasattr(one, "get_params"):
        return False
    mine, its = (graph.get_params(deep=False) for graph in (one, other))  # type: ignore[attr-defined]
    return all(
        value is its[name] or (np.isscalar(value) and value == its[name])
        for name, value in mine.items()
        if name != "power"
    )


def width_of(prepared: Prepared, params: Mapping[str, Any]) -> Width:
    """The width of a setting."""
    gamma = params.get("gamma")
    found: Width = next(each for each in prepared.space if each.params.get("gamma") == gamma)
    return found


def nearest(values: Any, usual: float) -> float:
    """The value of a grid that is nearest to the usual one, as a ratio."""
    grid = np.asarray(values, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return float(grid[np.argmin(np.abs(np.log(grid) - np.log(usual)))])


def widths_of(gammas: Any) -> list[tuple[Any, float]]:
    """Values of gamma with factors of what they stand for."""
    if gammas is None:
        return [("scale", factor) for factor in _WIDTHS]
    return [(gamma, 1.0) for gamma in gammas]
