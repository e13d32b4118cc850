"""Reading tables in tests: options as keywords."""

from __future__ import annotations

from typing import Any

from lapwing._tables import tables
from lapwing._tables.options import ReadOptions
from lapwing._tables.tables import Fitted, Table


def read(path: Any, **options: Any) -> Table:
    """Read a table whose labels are in the column `y`."""
    return tables.read_table(path, ReadOptions(**{"label": "y"} | options))


def fitted(table: Table, impute: str = "median") -> Fitted:
    """Return the description of the table in a model file."""
    return Fitted.from_info({**table.describe(), "impute": impute})


def read_strictly(path: Any, label: str | None = None, **options: Any) -> Table:
    """Read a table in which nothing is guessed or left out."""
    given = {name: tuple(v) if isinstance(v, list) else v for name, v in options.items()}
    return tables.read_table(
        path, ReadOptions(label=label, **{"strict": True, "missing": False} | given)
    )
