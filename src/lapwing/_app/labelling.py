"""From rows to a page to label on, and what can be taken along from it."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from lapwing._app import fitting, workflow
from lapwing._app.fitting import Outcome
from lapwing._app.preprocessing import preprocess
from lapwing._app.requests import FitRequest, LabelRequest
from lapwing._app.settings import make_estimator
from lapwing._host.files import check_writable
from lapwing._host.optional import require
from lapwing._host.warn import heard
from lapwing._label.export import labels_csv, labels_txt
from lapwing._label.history import History
from lapwing._label.journal import Journal
from lapwing._label.material import Material
from lapwing._label.pictures import PictureFiles
from lapwing._label.server import Export
from lapwing._label.serving import LabelServer
from lapwing._label.session import Session
from lapwing._label.words import RequestError, check_class_name
from lapwing._report.page import collect
from lapwing._tables.coding import code_labels
from lapwing._tables.tables import Table
from lapwing.graphs import default_graph


class _File(NamedTuple):
    """A file to be taken along: the option of ``fit`` that writes it, its name and its type."""

    option: str
    name: str
    kind: str


# By the last part of their address.
FILES = {
    "predictions.csv": _File("predictions", "predictions.csv", "text/csv"),
    "model": _File("model", "model.lapwing", "application/octet-stream"),
    "report.html": _File("report", "report.html", "text/html"),
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
        tuple(checked_class(name, "--classes") for name in request.class_names),
        None if request.text is None else table.shown[request.text],
        None if request.image is None else _pictures(table, request.image, folder),
        request.layout or ("x", "y"),
        tuple(notes),
        fit_command=lambda history: _command(request, table, history),
    )

    def fit(session: Session) -> Outcome:
        return fitting.fit(labeled(session), _fit_request(request, table, session.history))

    fits = Fits(fit, dict.fromkeys(FILES, _write_outcome))
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


def _pictures(table: Table, column: str, folder: Path) -> PictureFiles:
    found = PictureFiles(table.shown[column], folder)
    missing = found.first_missing()
    if missing is not None:
        raise ValueError(
            f"--image {column}: there is no picture {missing}, nor any other of those that the "
            "column names first. Names of files begin at the folder of the table."
        )
    return found


def _fit_request(request: LabelRequest, table: Table, history: History) -> FitRequest:
    assert table.keys is not None
    return request.fit_request(table.keys.label, changed=history.changes_the_table)


def _command(request: LabelRequest, table: Table, history: History) -> str:
    asked = replace(_fit_request(request, table, history), report=None)
    return replace(asked, predictions=Path("predictions.csv")).full_command


class Fits:
    """Fits to the labels as they are, for what is taken along.

    Parameters
    ----------
    fit : callable
        From the session to the fit.
    writers : mapping of str to callable
        By the names in `FILES`: from the fit to the file at a path.
    """

    def __init__(
        self,
        fit: Callable[[Session], Any],
        writers: Mapping[str, Callable[[Any, Path], None]],
    ) -> None:
        self._fit = fit
        self._writers = writers
        self._lock = threading.Lock()
        self._latest: tuple[int, Any] | None = None

    def exports(self) -> Mapping[str, Callable[[Session], Export]]:
        """By the last part of their address."""
        return {name: partial(self._export, name) for name in self._writers}

    def _export(self, name: str, session: Session) -> Export:
        # What the fit warns of, the page shows already.
        with heard(), tempfile.TemporaryDirectory() as folder:
            fitted = self._of(session)
            path = Path(folder) / FILES[name].name
            self._writers[name](fitted, path)
            return Export(path.name, FILES[name].kind, path.read_bytes())

    def _of(self, session: Session) -> Any:
        """The fit to the labels as they are; one at a time, and none twice."""
        with self._lock:
            version = session.version
            if self._latest is None or self._latest[0] != version:
                self._latest = version, self._fit(session)
            return self._latest[1]


def _write_outcome(outcome: Outcome, path: Path) -> None:
    """One of the files of ``lapwing fit``."""
    own = next(one.option for one in FILES.values() if one.name == path.name)
    outputs: dict[str, Any] = {one.option: None for one in FILES.values()} | {own: path}
    asked = replace(outcome, request=replace(outcome.request, **outputs))
    asked.request.outputs.check(())
    workflow.write_outputs(asked, collect(asked))


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


def checked_class(name: str, where: str) -> str:
    """The name of a class as it is kept.

    Raises
    ------
    ValueError
        If tables could not hold it as a label.
    """
    try:
        return check_class_name(name)
    except RequestError as error:
        raise ValueError(f"{where}: {error}") from None
