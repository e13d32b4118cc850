"""Where the map draws the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing._report.mapping import principal_plane

__all__ = ["MOST_SHOWN", "MapKind", "as_bytes", "even_sample", "kinds_of_map", "principal"]

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
