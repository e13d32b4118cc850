"""Where the map draws the rows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing._label.material import Material
from lapwing._label.words import RequestError
from lapwing._report.mapping import principal_plane

# As many points as browsers move smoothly.
MOST_SHOWN = 200_000


class MapKind(NamedTuple):
    """A map that the page offers.

    Attributes
    ----------
    key : {'own', 'components', 'graph'}
    title : str
        What its axes are.
    """

    key: str
    title: str


def kinds_of_map(own: tuple[str, ...]) -> tuple[MapKind, ...]:
    """The maps of a table whose own coordinates have these names, the best first."""
    found = [MapKind("own", f"{own[0]} and {own[1]}")] if own else []
    return (
        *found,
        MapKind("components", "Principal components"),
        MapKind("graph", "Eigenvectors of the graph"),
    )


def even_sample(n: int) -> NDArray[np.intp]:
    """Rows to draw, in order: all, or as many as can be drawn, each as likely as any other."""
    if n <= MOST_SHOWN:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MOST_SHOWN, replace=False))


def principal(X: Any, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """Coordinates of some rows on the first two principal components of all."""
    return principal_plane(X, rows)[0]


def as_bytes(rows: NDArray[np.intp], places: NDArray[Any]) -> bytes:
    """The map as the page reads it: how many, which rows, x and y, little endian."""
    return b"".join(
        (
            np.int32(len(rows)).astype("<i4").tobytes(),
            rows.astype("<i4").tobytes(),
            places[:, 0].astype("<f4").tobytes(),
            places[:, 1].astype("<f4").tobytes(),
        )
    )


class Maps:
    """The maps of a table, each made when it is asked for; any thread may ask.

    Parameters
    ----------
    material : Material
    eigenmap : callable
        Coordinates of all rows by the graph; may raise as long as there is none.

    Attributes
    ----------
    shown : ndarray of int
        The rows that are drawn.
    kinds : tuple of MapKind
    """

    def __init__(self, material: Material, eigenmap: Callable[[], NDArray[Any]]) -> None:
        self.shown = even_sample(material.n)
        own = material.table.layout is not None
        self.kinds = kinds_of_map(material.layout_names if own else ())
        self._material, self._eigenmap = material, eigenmap
        self._made: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def draw(self, key: str) -> bytes:
        """The places of the rows that are drawn, as `as_bytes` writes them.

        Raises
        ------
        RequestError
            If there is no such map, or not yet.
        """
        if key not in [kind.key for kind in self.kinds]:
            raise RequestError(f"There is no map {key[:40]!r}.", 404)
        with self._lock:
            if key not in self._made:
                self._made[key] = as_bytes(self.shown, self._places(key))
            return self._made[key]

    def _places(self, key: str) -> NDArray[Any]:
        if key == "own":
            assert self._material.table.layout is not None
            return np.asarray(self._material.table.layout[self.shown])
        if key == "components":
            return principal(self._material.points, self.shown)
        return self._eigenmap()[self.shown]
