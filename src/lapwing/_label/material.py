"""The rows to label: as the model takes them and as people look at them."""

from __future__ import annotations

import hashlib
import struct
import threading
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing._arrays import is_sparse
from lapwing._label.history import History
from lapwing._label.words import RequestError
from lapwing._report.association import ColumnParts
from lapwing._report.rows import row_columns
from lapwing._report.svg import principal_plane
from lapwing._report.words import Words, row_words
from lapwing._tables.tables import Table

_COLUMNS_SHOWN = 60
_COLUMNS_FIRST = 6  # columns shown first: those that tell most
_LONGEST_TEXT = 20_000

# As many points as browsers move smoothly.
MOST_SHOWN = 200_000

_LARGEST_PICTURE = 32 * 2**20
_TRIED = 200  # files; who names the wrong folder has none of them
# What a browser draws without running anything; the first bytes say it and no name does.
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
# How many numbers a dot has, and what PNG calls that.
_COLOUR_TYPES = {1: 0, 3: 2, 4: 6}


@dataclass(frozen=True, eq=False)
class Material:
    """Rows to be labelled.

    Attributes
    ----------
    table : Table
        The rows as the user knows them, with the labels that they have.
    points : ndarray or CSR of shape (n, d)
        What the estimator takes.
    estimator : estimator
        Unfitted; learns the labels.
    classes : tuple of str
        Classes that are known before any label, in the order that the page shows.
    texts : ndarray of object of shape (n,) or None
        A text of each row to be read.
    text_names : tuple of str
        Columns of the table that `texts` shows.
    words : Words or None
        Columns of the points that are words, where texts are learnt from.
    picture : callable or None
        From a row to the bytes of its picture, or None if it has none.
    layout_names : tuple of str
        What the table's own coordinates are called.
    notes : tuple of str
        What the user should know of how the rows were made.
    values : mapping of str to object
        The labels that classes stand for in Python; a name that is not in it stands for itself.
    target : float or None
        Share of wrong answers at which labelling can stop.
    check_every : int
        One in so many rows of the queue is drawn at random.
    random_labels : bool
        Whether the labels of the table were drawn at random, so that they tell of the error.
    fit_command : callable or None
        The command that fits with the labels that were taken along; None in Python.
    """

    table: Table
    points: Any
    estimator: Any
    classes: tuple[str, ...] = ()
    texts: NDArray[Any] | None = None
    text_names: tuple[str, ...] = ()
    words: Words | None = None
    picture: Callable[[int], bytes | None] | None = None
    layout_names: tuple[str, ...] = ("x", "y")
    notes: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    target: float | None = None
    check_every: int = 5
    random_labels: bool = False
    fit_command: Callable[[History], str] | None = None

    @property
    def n(self) -> int:
        """How many rows."""
        return int(self.points.shape[0])

    def subject(self) -> dict[str, Any]:
        """Return the header of a journal of these rows: their number, and their ids or points."""
        digest = hashlib.sha256()
        if self.table.id_name is not None:
            digest.update("\0".join(map(str, self.table.ids.tolist())).encode("utf-8", "replace"))
            return {"rows": self.n, "ids": digest.hexdigest()}
        X = self.points
        for part in (X.indptr, X.indices, X.data) if is_sparse(X) else (X,):
            digest.update(np.ascontiguousarray(part).tobytes())
        return {"rows": self.n, "points": digest.hexdigest()}

    def columns(self) -> list[str]:
        """Names of the columns that `cells` gives."""
        names = self.table.originals or self.table.feature_names
        return [name for name in names if name not in self.text_names][:_COLUMNS_SHOWN]

    def cells(self, rows: list[int]) -> list[dict[str, str]]:
        """The cells of some rows."""
        found = row_columns(self.table, rows, most=_COLUMNS_SHOWN + len(self.text_names))
        shown = [name for name in found if name not in self.text_names][:_COLUMNS_SHOWN]
        return [{name: found[name][k] for name in shown} for k in range(len(rows))]

    def text(self, row: int) -> str | None:
        """The text of a row."""
        if self.texts is None:
            return None
        return str(self.texts[row] or "")[:_LONGEST_TEXT]

    def telling(self, rows: list[int], codes: NDArray[np.intp] | None) -> list[list[str]]:
        """Words of some rows that speak for their predicted classes; none before the first fit."""
        if self.words is None or codes is None or not is_sparse(self.points):
            return [[] for _ in rows]
        return row_words(self._counts, self.words, codes, rows)

    @cached_property
    def _counts(self) -> Any:
        """The words of the points, which each row that is shown asks for."""
        assert self.words is not None
        return self.points[:, self.words.columns]

    def telling_columns(self, codes: NDArray[np.intp] | None, among: tuple[int, ...]) -> list[str]:
        """Columns that tell classes apart best; without a fit the first of the table."""
        shown = self.columns()
        if codes is None or len(among) < 2:
            return shown[:_COLUMNS_FIRST]
        found = dict(zip(self._parts.names, self._parts.association(codes, among), strict=True))
        ranked = sorted(shown, key=lambda name: -found.get(name, 0.0))
        return ranked[:_COLUMNS_FIRST]

    @cached_property
    def _parts(self) -> ColumnParts:
        return ColumnParts.of(self.table, self.columns())

    def image(self, row: int) -> tuple[str, bytes]:
        """The type and the bytes of the picture of a row.

        Raises
        ------
        RequestError
            If it has none that a browser can draw.
        """
        content = None if self.picture is None else self.picture(row)
        if content is None:
            raise RequestError("This row has no picture.", 404)
        kind = media_type(content)
        if kind is None:
            raise RequestError("The picture of this row is no PNG, JPEG, GIF or WebP.", 415)
        return kind, content


class MapKind(NamedTuple):
    """A map that the page offers.

    Attributes
    ----------
    key : {'own', 'neighbours', 'components', 'graph'}
    title : str
        What its axes are.
    """

    key: str
    title: str


def kinds_of_map(own: tuple[str, ...], *, neighbours: bool = False) -> tuple[MapKind, ...]:
    """The maps of a table whose own coordinates have these names, the best first."""
    found = [MapKind("own", f"{own[0]} and {own[1]}")] if own else []
    if neighbours:
        found.append(MapKind("neighbours", "Neighbour map"))
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
    """

    def __init__(self, material: Material, eigenmap: Callable[[], NDArray[Any]]) -> None:
        self.shown = even_sample(material.n)
        self._material, self._eigenmap = material, eigenmap
        self._made: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._neighbours: NDArray[Any] | None = None

    @property
    def kinds(self) -> tuple[MapKind, ...]:
        """The maps that there are by now."""
        own = () if self._material.table.layout is None else self._material.layout_names
        return kinds_of_map(own, neighbours=self._neighbours is not None)

    def take(self, neighbours: NDArray[Any]) -> None:
        """Take the neighbour map of all rows, which is ready now."""
        self._neighbours = neighbours

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
        if key == "neighbours":
            assert self._neighbours is not None
            return self._neighbours[self.shown]
        return self._eigenmap()[self.shown]


@dataclass(frozen=True, eq=False)
class PictureFiles:
    """Pictures in files, named by a column.

    Attributes
    ----------
    names : ndarray of object of shape (n,)
        Paths, empty where there is none.
    folder : Path
        Where relative ones begin.
    """

    names: NDArray[Any]
    folder: Path

    def __call__(self, row: int) -> bytes | None:
        """The bytes of a file; None if there is none or it is too large."""
        path = self._path(row)
        try:
            if path is None or not path.is_file() or path.stat().st_size > _LARGEST_PICTURE:
                return None
            return path.read_bytes()
        except (OSError, ValueError):
            return None

    def first_missing(self) -> Path | None:
        """The first file that is named, if none of the first ones is there; else None."""
        named = (path for row in range(len(self.names)) if (path := self._path(row)) is not None)
        tried = list(islice(named, _TRIED))
        return None if not tried or any(map(_is_there, tried)) else tried[0]

    def _path(self, row: int) -> Path | None:
        name = str(self.names[row] or "").strip()
        return self.folder / name if name else None


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def media_type(content: bytes) -> str | None:
    """Return the type of a picture by its first bytes; None if it is none."""
    for start, kind in _MAGIC:
        if content.startswith(start):
            return kind
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None


@dataclass(frozen=True, eq=False)
class PictureArrays:
    """Pictures as numbers.

    Parameters
    ----------
    values : ndarray of shape (n, height, width) or (n, height, width, 1, 3 or 4)
        Grey, or red, green, blue and perhaps opacity. Whole numbers of 8 bits as they are; others
        are stretched between the least and the largest of all.

    Raises
    ------
    ValueError
        If they are no such numbers.
    """

    values: NDArray[Any]

    def __post_init__(self) -> None:
        shape, kind = self.values.shape, self.values.dtype.kind
        if len(shape) not in (3, 4) or (len(shape) == 4 and shape[3] not in _COLOUR_TYPES):
            raise ValueError(
                f"images has the shape {shape}; pictures need (n, height, width), or "
                "(n, height, width, 3) in colour."
            )
        if kind not in "biuf" or not np.isfinite(self.values).all():
            raise ValueError("images must be finite numbers, or names of files.")

    def __call__(self, row: int) -> bytes:
        """The picture of a row as PNG."""
        values = self.values[row]
        if values.dtype != np.uint8:
            low, high = self._range
            share = (values.astype(np.float64) - low) / ((high - low) or 1.0)
            values = np.rint(255 * share).astype(np.uint8)
        return _png(values)

    @cached_property
    def _range(self) -> tuple[float, float]:
        return float(self.values.min()), float(self.values.max())


def _png(values: NDArray[np.uint8]) -> bytes:
    """A PNG file of dots; see the specification (W3C, 2003), sections 5, 9 and 11."""
    height, width = values.shape[:2]
    n_numbers = 1 if values.ndim == 2 else values.shape[2]
    lines = values.reshape(height, width * n_numbers)
    # Each line begins with its filter: none.
    raw = np.concatenate([np.zeros((height, 1), np.uint8), lines], axis=1).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[n_numbers], 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(raw)), (b"IEND", b""))
    return _MAGIC[0][0] + b"".join(_chunk(name, content) for name, content in parts)


def _chunk(name: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
    )
