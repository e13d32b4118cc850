"""Rows to label: input of the model, and data for display."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._arrays import is_sparse
from lapwing._host.modules import require
from lapwing._label.errors import RequestError
from lapwing._label.history import History
from lapwing._report.association import BinnedColumns
from lapwing._report.rows import even_sample, row_columns
from lapwing._report.words import Words, row_words
from lapwing._tables.tables import Table
from lapwing.plotting.drawing import principal_plane

_COLUMNS_SHOWN = 60
_COLUMNS_FIRST = 6  # most informative columns, shown first
_LONGEST_TEXT = 20_000

# Number of points that browsers can move smoothly.
MOST_SHOWN = 200_000
# Maps beside the user's own, the best first.
_TITLES = {
    "neighbours": "Neighbour map",
    "components": "Principal components",
    "graph": "Eigenvectors of the graph",
}

_LARGEST_PICTURE = 32 * 2**20
_TRIED = 200  # files checked for existence; with a wrong folder, none exists
# Image types that browsers draw without executing anything, detected by their first bytes.
_MAGIC = {
    "image/png": rb"\x89PNG\r\n\x1a\n",
    "image/jpeg": rb"\xff\xd8\xff",
    "image/gif": rb"GIF8[79]a",
    "image/webp": rb"RIFF.{4}WEBP",
}
_CHANNELS = (1, 3, 4)


@dataclass(frozen=True, eq=False)
class Material:
    """Rows to be labelled.

    Attributes
    ----------
    table : Table
        Table of the user, with its labels.
    points : ndarray or CSR of shape (n, d)
        Input of the estimator.
    estimator : estimator
        Unfitted estimator that learns the labels.
    classes : tuple of str
        Classes that are known in advance, in the order shown.
    texts : ndarray of object of shape (n,) or None
        Text of each row to show.
    text_names : tuple of str
        Columns of the table in `texts`.
    words : Words or None
        Columns of the points that are words, for free text.
    picture : callable or None
        Function from a row to the bytes of its image, or None without an image.
    layout_names : tuple of str
        Names of the coordinates of the table.
    notes : tuple of str
        Notes for the user about the encoding of the rows.
    values : mapping of str to object
        Python values of class names; other names are their own values.
    target : float or None
        Error rate at which labelling can stop.
    check_every : int
        One of this many rows of the queue is drawn at random.
    random_labels : bool
        Whether the rows labelled in the table were drawn at random, as check rows.
    fit_command : callable or None
        Command line for a fit with the exported labels; None in Python.
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
        """Number of rows."""
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
        """Return the names of the columns of `cells`."""
        names = self.table.originals or self.table.feature_names
        return [name for name in names if name not in self.text_names][:_COLUMNS_SHOWN]

    def cells(self, rows: list[int]) -> list[dict[str, str]]:
        """Return the cells of some rows."""
        found = row_columns(self.table, rows, most=_COLUMNS_SHOWN + len(self.text_names))
        shown = [name for name in found if name not in self.text_names][:_COLUMNS_SHOWN]
        return [{name: found[name][k] for name in shown} for k in range(len(rows))]

    def text(self, row: int) -> str | None:
        """Return the text of a row."""
        if self.texts is None:
            return None
        return str(self.texts[row] or "")[:_LONGEST_TEXT]

    def supporting_words(self, rows: list[int], codes: NDArray[np.intp] | None) -> list[list[str]]:
        """Return words of some rows that support their predicted classes; empty before a fit."""
        if self.words is None or codes is None or not is_sparse(self.points):
            return [[] for _ in rows]
        return row_words(self._counts, self.words, codes, rows)

    @cached_property
    def _counts(self) -> Any:
        """Words of the points, cached for the rows shown."""
        assert self.words is not None
        return self.points[:, self.words.columns]

    def separating_columns(
        self, codes: NDArray[np.intp] | None, among: tuple[int, ...]
    ) -> list[str]:
        """Return the columns that separate classes best; before a fit the first of the table."""
        shown = self.columns()
        if codes is None or len(among) < 2:
            return shown[:_COLUMNS_FIRST]
        found = dict(zip(self._parts.names, self._parts.association(codes, among), strict=True))
        ranked = sorted(shown, key=lambda name: -found.get(name, 0.0))
        return ranked[:_COLUMNS_FIRST]

    @cached_property
    def _parts(self) -> BinnedColumns:
        return BinnedColumns.of(self.table, self.columns())

    def image(self, row: int) -> tuple[str, bytes]:
        """Return the type and the bytes of the image of a row.

        Raises
        ------
        RequestError
            If there is no image of a supported type.
        """
        content = None if self.picture is None else self.picture(row)
        if content is None:
            raise RequestError("This row has no picture.", 404)
        kind = media_type(content)
        if kind is None:
            raise RequestError("The picture of this row is not a PNG, JPEG, GIF or WebP.", 415)
        return kind, content


def encode_columns(*columns: tuple[NDArray[Any], str]) -> bytes:
    """Encode columns of the same length for the page: the length, then the values of each.

    Parameters
    ----------
    *columns : tuple (ndarray, str)
        Values and their type, such as '<f4'; all types are little endian.
    """
    length = np.array([len(columns[0][0])]), "<i4"
    return b"".join(values.astype(kind).tobytes() for values, kind in (length, *columns))


class Maps:
    """Maps of a table, computed on demand; can be used from any thread.

    Parameters
    ----------
    material : Material
    eigenmap : callable
        Function that computes coordinates of all rows from the graph; may raise before it exists.

    Attributes
    ----------
    shown : ndarray of int
        Rows to draw.
    """

    def __init__(self, material: Material, eigenmap: Callable[[], NDArray[Any]]) -> None:
        self.shown = even_sample(material.n, MOST_SHOWN)
        self._titles = {"own": " and ".join(material.layout_names), **_TITLES}
        self._places: dict[str, Callable[[], NDArray[Any]]] = {
            "components": lambda: principal_plane(material.points, self.shown)[0],
            "graph": lambda: eigenmap()[self.shown],
        }
        if material.table.layout is not None:
            self.add("own", np.asarray(material.table.layout))
        self._drawn: dict[str, bytes] = {}
        self._lock = threading.Lock()

    @property
    def kinds(self) -> list[dict[str, str]]:
        """Keys and titles of the available maps, the best first."""
        known = self._titles.items()
        return [{"key": key, "title": title} for key, title in known if key in self._places]

    def add(self, key: str, places: NDArray[Any]) -> None:
        """Add the map 'own' or 'neighbours', with the coordinates of all rows."""
        self._places[key] = lambda: places[self.shown]

    def draw(self, key: str) -> bytes:
        """Return the numbers and the coordinates of the rows to draw, see `encode_columns`.

        Raises
        ------
        RequestError
            If the map does not exist, or not yet.
        """
        if key not in self._places:
            raise RequestError(f"There is no map {key[:40]!r}.", 404)
        with self._lock:
            if key not in self._drawn:
                x, y = self._places[key]().T
                self._drawn[key] = encode_columns((self.shown, "<i4"), (x, "<f4"), (y, "<f4"))
            return self._drawn[key]


@dataclass(frozen=True, eq=False)
class PictureFiles:
    """Image files, named by a column.

    Attributes
    ----------
    names : ndarray of object of shape (n,)
        Paths; empty if there is none.
    folder : Path
        Folder of relative paths.
    """

    names: NDArray[Any]
    folder: Path

    def __call__(self, row: int) -> bytes | None:
        """Return the bytes of a file; None if there is none or it is too large."""
        path = self._path(row)
        with suppress(OSError, ValueError):
            if path and path.is_file() and path.stat().st_size <= _LARGEST_PICTURE:
                return path.read_bytes()
        return None

    def first_missing(self) -> Path | None:
        """Return the first path if none of the first files exists; otherwise None."""
        named = (path for row in range(len(self.names)) if (path := self._path(row)) is not None)
        tried = list(islice(named, _TRIED))
        return None if not tried or any(map(os.path.isfile, tried)) else tried[0]

    def _path(self, row: int) -> Path | None:
        name = str(self.names[row] or "").strip()
        return self.folder / name if name else None


def media_type(content: bytes) -> str | None:
    """Return the type of an image by its first bytes; None if it is not supported."""
    starts = _MAGIC.items()
    return next((kind for kind, start in starts if re.match(start, content, re.DOTALL)), None)


@dataclass(frozen=True, eq=False)
class PictureArrays:
    """Images as arrays.

    Parameters
    ----------
    values : ndarray of shape (n, height, width) or (n, height, width, 1, 3 or 4)
        Grey values, or red, green, blue and optionally opacity. 8-bit integers are used unchanged;
        other values are scaled to the range of all values.

    Raises
    ------
    ValueError
        If the shape or the values are invalid.
    """

    values: NDArray[Any]

    def __post_init__(self) -> None:
        shape, kind = self.values.shape, self.values.dtype.kind
        if len(shape) not in (3, 4) or (len(shape) == 4 and shape[3] not in _CHANNELS):
            raise ValueError(
                f"images has the shape {shape}; pictures need (n, height, width), or "
                "(n, height, width, 3) in colour."
            )
        if kind not in "biuf" or not np.isfinite(self.values).all():
            raise ValueError("images must be finite numbers, or names of files.")

    def __call__(self, row: int) -> bytes:
        """Return the image of a row as PNG."""
        values = self.values[row]
        if values.dtype != np.uint8:
            low, high = self._range
            share = (values.astype(np.float64) - low) / ((high - low) or 1.0)
            values = np.rint(255 * share).astype(np.uint8)
        if values.shape[2:] == (1,):
            values = values[..., 0]
        images = require("PIL.Image", extra="label", purpose="Pictures of arrays")
        content = BytesIO()
        images.fromarray(values).save(content, "png")
        return content.getvalue()

    @cached_property
    def _range(self) -> tuple[float, float]:
        return float(self.values.min()), float(self.values.max())
