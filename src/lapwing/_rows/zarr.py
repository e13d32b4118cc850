"""Rows of a Zarr array, compressed chunks in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lapwing._host.modules import require
from lapwing._rows.stored import FileStates, StoredRows, precision_of


class ZarrRows(StoredRows):
    """Two-dimensional Zarr array.

    Parameters
    ----------
    array : zarr.Array
        Changes are detected for arrays in folders, not for other stores.
    """

    def __init__(self, array: Any) -> None:
        root = getattr(array.store, "root", None)
        folder = None if root is None else Path(root) / array.path
        name = f"the Zarr array {folder or array.name or ''}".strip()
        if array.ndim != 2 or 0 in array.shape:
            raise ValueError(
                f"{name} has the shape {array.shape}: X needs rows and columns, at least one of "
                "each."
            )
        # Missing chunks are read as zeros without an error, so that their files are checked.
        files = [] if folder is None else [path for path in folder.rglob("*") if path.is_file()]
        self.files = FileStates.of(name, files)
        self.array = array
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        self.dtype = precision_of(array.dtype, name)
        shards = getattr(array, "shards", None)
        self.piece = int((shards or array.chunks)[0])

    def _read(self, start: int, stop: int) -> Any:
        return self.array[start:stop]


def is_zarr(source: object) -> bool:
    """Return whether an object is a Zarr array, without importing zarr."""
    kind = type(source)
    return kind.__module__.partition(".")[0] == "zarr" and kind.__name__ == "Array"


def read_zarr(path: Path) -> ZarrRows:
    """Open the array of a folder.

    Raises
    ------
    ValueError
        If there is no array in the folder, or it does not have two dimensions.
    """
    zarr = require("zarr", extra="disk", purpose=f"reading {path}")
    try:
        array = zarr.open_array(str(path), mode="r")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is not a Zarr array: {error}. Give the folder of the array itself, as "
            "zarr.create_array wrote it."
        ) from None
    return ZarrRows(array)
