"""`lapwing label` and `lapwing.label`: rows in, a page to label on out."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lapwing._app import fitting, workflow
from lapwing._app.fitting import Outcome
from lapwing._app.preprocessing import preprocess
from lapwing._app.request import LabelRequest
from lapwing._app.settings import make_estimator
from lapwing._host.files import check_writable
from lapwing._host.optional import require
from lapwing._host.warn import heard
from lapwing._label.export import labels_csv, labels_txt
from lapwing._label.journal import Journal
from lapwing._label.material import Material, PictureFiles
from lapwing._label.server import Export
from lapwing._label.serving import LabelServer
from lapwing._label.session import Session
from lapwing._label.words import RequestError, check_class_name
from lapwing._report.page import collect
from lapwing._tables.coding import code_labels
from lapwing._tables.tables import Table
from lapwing.graphs import default_graph

__all__ = ["Fits", "open_page", "start"]

_KINDS = {
    "predictions": ("predictions.csv", "text/csv"),
    "model": ("model.lapwing", "application/octet-stream"),
    "report": ("report.html", "text/html"),
}


def start(table: Table, request: LabelRequest) -> LabelServer:
    """Open the page for a table of the command line.

    Parameters
    ----------
    table : Table
        With or without labels.
    request : LabelRequest

    Returns
    -------
    LabelServer

    Raises
    ------
    ValueError, OSError
        If the journal is another table's or is open already, or the port is taken.
    ImportError
        If the extra ``label`` is not installed.
    """
    require("starlette", extra="label", purpose="lapwing label")
    before = preprocess(table, request.scale, request.impute)
    estimator = make_estimator(
        request.chosen,
        request.parameters,
        request.seed,
        graph=default_graph(before.points),
    )
    folder = request.data[0].resolve().parent
    notes = []
    if request.text is not None:
        notes.append(
            f"The column {request.text!r} is shown, and the model does not learn from it. It "
            "learns from the other columns."
        )
    material = Material(
        table,
        before.points,
        estimator,
        tuple(_checked(name) for name in request.class_names),
        None if request.text is None else table.shown[request.text],
        None if request.image is None else PictureFiles(table.shown[request.image], folder),
        request.layout or ("x", "y"),
        tuple(notes),
    )
    fits = Fits(lambda labeled: fitting.fit(labeled, request.fit_request))
    return open_page(material, request.journal_path, fits, request.port)


def open_page(material: Material, journal: Path | None, fits: Fits, port: int = 0) -> LabelServer:
    """Open the page for some rows.

    Parameters
    ----------
    material : Material
    journal : Path or None
        None keeps the labels in memory alone.
    fits : Fits
        Makes what is taken along.
    port : int, default=0
    """
    opened = None
    if journal is not None:
        opened = Journal(check_writable(journal), material.subject(), material.table.source)
    try:
        session = Session(material, opened)
    except BaseException:
        if opened is not None:
            opened.close()
        raise
    exports = {"labels.csv": labels_csv, "labels.txt": labels_txt, **fits.exports()}
    try:
        return LabelServer(session, exports, opened, port)
    except BaseException:
        session.close()
        raise


class Fits:
    """Fits to the labels as they are, for what is taken along: what ``lapwing fit`` would write.

    Parameters
    ----------
    fit : callable
        From the table with these labels to the fit.
    """

    def __init__(self, fit: Callable[[Table], Outcome]) -> None:
        self._fit = fit
        self._lock = threading.Lock()
        self._latest: tuple[int, Outcome] | None = None

    def exports(self) -> Mapping[str, Callable[[Session], Export]]:
        """By the last part of their address."""
        return {
            "predictions.csv": lambda session: self._export(session, "predictions"),
            "model": lambda session: self._export(session, "model"),
            "report.html": lambda session: self._export(session, "report"),
        }

    def _export(self, session: Session, what: str) -> Export:
        name, kind = _KINDS[what]
        # What the fit warns of, the page shows already.
        with heard(), tempfile.TemporaryDirectory() as folder:
            outcome = self._of(session)
            path = Path(folder) / name
            outputs: dict[str, Any] = dict.fromkeys(_KINDS) | {what: path}
            asked = replace(outcome, request=replace(outcome.request, **outputs))
            asked.request.outputs.check(())
            workflow.write_outputs(asked, collect(asked))
            return Export(name, kind, path.read_bytes())

    def _of(self, session: Session) -> Outcome:
        """The fit to the labels as they are; one at a time, and none twice."""
        with self._lock:
            version = session.version
            if self._latest is None or self._latest[0] != version:
                self._latest = version, self._fit(labeled(session))
            return self._latest[1]


def labeled(session: Session) -> Table:
    """The table of a session with the labels as they are.

    Raises
    ------
    ValueError
        If there are none of two classes.
    """
    coded = code_labels(session.labels(), where="the page", hint="an empty field")
    return replace(
        session.material.table,
        y=coded.y,
        labeled=coded.labeled,
        unlabeled=coded.unlabeled,
    )


def _checked(name: str) -> str:
    try:
        return check_class_name(name)
    except RequestError as error:
        raise ValueError(f"--classes: {error}") from None
