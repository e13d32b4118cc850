"""What is labelled: the rows, as the model takes them and as people look at them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._arrays import is_sparse
from lapwing._label.history import History
from lapwing._label.pictures import media_type
from lapwing._label.words import RequestError
from lapwing._report.cells import row_columns
from lapwing._tables.tables import Table

_COLUMNS_SHOWN = 60
_LONGEST_TEXT = 20_000


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
    values : mapping of str to object
        The labels that classes stand for in Python; a name that is not in it stands for itself.
    fit_command : callable or None
        The command that fits with the labels that were taken along; None in Python.
    """

    table: Table
    points: Any
    estimator: Any
    classes: tuple[str, ...] = ()
    texts: NDArray[Any] | None = None
    picture: Callable[[int], bytes | None] | None = None
    layout_names: tuple[str, ...] = ("x", "y")
    notes: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    fit_command: Callable[[History], str] | None = None

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
