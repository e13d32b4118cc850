"""The labels as files that ``lapwing fit`` reads."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from lapwing._host.warn import heard
from lapwing._label.server import Export
from lapwing._label.session import Session
from lapwing._tables.predictions import write_csv


def labels_csv(session: Session) -> Export:
    """The labelled rows by name or number, to be given to ``fit`` behind the table.

    The columns are those of ``lapwing suggest``; see `lapwing._tables.answers`.
    """
    table, labels = session.material.table, session.labels()
    rows = np.flatnonzero(labels != "")
    assert table.keys is not None
    columns = {
        table.id_name or table.keys.row: table.ids[rows].astype(str).astype(object),
        table.keys.label: labels[rows],
    }
    with tempfile.TemporaryDirectory() as folder, heard():
        path = Path(folder) / "labels.csv"
        write_csv(columns, path, table.dialect, "the labels")
        return Export("labels.csv", "text/csv", path.read_bytes())


def labels_txt(session: Session) -> Export:
    """A line a row of the table, empty without a label, for ``fit --labels``."""
    lines = "".join(f"{label}\n" for label in session.labels().tolist())
    return Export("labels.txt", "text/plain", lines.encode("utf-8"))
