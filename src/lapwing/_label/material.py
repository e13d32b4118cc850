"""What is labelled: the rows, as the model takes them and as people look at them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._arrays import is_sparse
from lapwing._label.words import RequestError
from lapwing._report.cells import row_columns
from lapwing._tables.tables import Table

__all__ = ["Material", "PictureFiles", "media_type"]

_COLUMNS_SHOWN = 60
_LONGEST_TEXT = 20_000
_LARGEST_PICTURE = 32 * 2**20
# What a browser draws without running anything; the first bytes say it and no name does.
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


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
        A text of each row to be read; nothing is learnt from it.
    picture : callable or None
        From a row to the bytes of its picture, or None if it has none.
    layout_names : tuple of str
        What the table's own coordinates are called.
    notes : tuple of str
        What the user should know of how the rows were made.
    """

    table: Table
    points: Any
    estimator: Any
    classes: tuple[str, ...] = ()
    texts: NDArray[Any] | None = None
    picture: Callable[[int], bytes | None] | None = None
    layout_names: tuple[str, ...] = ("x", "y")
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """How many rows."""
        return int(self.points.shape[0])

    def subject(self) -> dict[str, Any]:
        """What a journal of these rows begins with: their number, and their ids or points."""
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
        return list(self.table.originals or self.table.feature_names)[:_COLUMNS_SHOWN]

    def cells(self, rows: list[int]) -> list[dict[str, str]]:
        """The cells of some rows."""
        found = row_columns(self.table, rows, most=_COLUMNS_SHOWN)
        return [{name: cells[k] for name, cells in found.items()} for k in range(len(rows))]

    def text(self, row: int) -> str | None:
        """The text of a row."""
        if self.texts is None:
            return None
        return str(self.texts[row] or "")[:_LONGEST_TEXT]

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
        name = str(self.names[row] or "").strip()
        if not name:
            return None
        try:
            path = self.folder / name
            if not path.is_file() or path.stat().st_size > _LARGEST_PICTURE:
                return None
            return path.read_bytes()
        except (OSError, ValueError):
            return None


def media_type(content: bytes) -> str | None:
    """What kind of picture it is, by its first bytes; None for all else."""
    for start, kind in _MAGIC:
        if content.startswith(start):
            return kind
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None
