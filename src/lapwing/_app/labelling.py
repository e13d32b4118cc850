"""`lapwing.label`: a page to label on, from Python."""

from __future__ import annotations

import os
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array, check_consistent_length

from lapwing._app import fitting
from lapwing._app.fitting import Outcome
from lapwing._app.reading import points_of
from lapwing._app.reporting import as_pipeline, fit_record, table_of
from lapwing._app.requests import PREDICTIONS, FitRequest, LabelRequest
from lapwing._app.settings import make_estimator
from lapwing._app.workflow import save_fit
from lapwing._host.files import check_writable
from lapwing._host.modules import require
from lapwing._host.warn import collect_warnings
from lapwing._label.errors import RequestError, check_class_name
from lapwing._label.history import History
from lapwing._label.journal import Journal
from lapwing._label.mapping import can_map
from lapwing._label.material import Material, PictureArrays, PictureFiles
from lapwing._label.serving import LabelServer
from lapwing._label.session import Session
from lapwing._parameters import is_count, is_number
from lapwing._report.charts import read_embedding
from lapwing._report.page import Report, collect
from lapwing._report.record import FitRecord
from lapwing._report.words import words_of
from lapwing._tables.cells import as_text
from lapwing._tables.columns import SUGGESTED, Keys, TextColumn
from lapwing._tables.labels import LabelColumn
from lapwing._tables.predictions import write_columns
from lapwing._tables.roles import split_names
from lapwing._tables.tables import Table
from lapwing._words import quoted
from lapwing.classes.markers import find_unlabeled, is_missing, read_column
from lapwing.estimators import LapERLSClassifier
from lapwing.models import save_model

Fit: TypeAlias = Callable[[Session], FitRecord]  # to the current labels, for the downloads
Save: TypeAlias = Callable[[Any, Path], None]  # writes the model of such a fit


def label(
    X: Any,
    y: ArrayLike | None = None,
    *,
    model: Any = None,
    classes: Sequence[Any] = (),
    ids: Sequence[Any] | None = None,
    texts: Sequence[str] | None = None,
    images: Any = None,
    embedding: ArrayLike | None = None,
    target: float | None = None,
    check_every: int = 5,
    random_labels: bool = False,
    journal: str | os.PathLike[str] | None = "auto",
    port: int = 0,
    browser: bool = True,
) -> LabelServer:
    """Open a web page for labelling rows with immediate feedback from a model.

    The page is served on 127.0.0.1 only, at an address with a random token. The call returns
    immediately, and the page stays open until `close` or the end of the Python process. Needs the
    extra ``label``.

    Parameters
    ----------
    X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
        Points, or the input of the pipeline `model`, such as texts.
    y : array-like of shape (n_samples,), default=None
        Initial labels; missing values and the number -1 are unlabelled. None means that no row is
        labelled.
    model : classifier of lapwing with ``updatable``, or Pipeline that ends in one, default=None
        Model that is updated while rows are labelled. None is `LapERLSClassifier`, whose updates
        take milliseconds for 100,000 points. Pipeline steps before it are fitted to X once.
    classes : sequence, default=()
        Classes that are known in advance, in the order shown. More can be added on the page.
    ids : sequence of length n_samples, default=None
        Names of the rows; None means the index of a dataframe, or else 0 to n - 1.
    texts : sequence of str of length n_samples, default=None
        Text of each row to show. None shows X if it consists of texts.
    images : array-like of shape (n_samples, height, width), or sequence of path, default=None
        Image of each row: grey, in colour with a last axis of 3 or 4, or the path of a PNG, JPEG,
        GIF or WebP file.
    embedding : array-like of shape (n_samples, 2), default=None
        Coordinates of the rows on an additional map.
    target : float, default=None
        Error rate in percent, from 0.1 to 50, at which to stop labelling; the page shows when it is
        reached. None: it can be set on the page.
    check_every : int, default=5
        One of this many suggested rows is a check row, drawn at random. The error is estimated from
        check rows only.
    random_labels : bool, default=False
        Whether the rows labelled in y were drawn at random, so that they are check rows as well.
    journal : path-like, 'auto' or None, default='auto'
        File to which every label is written before it is shown as saved. A later call with the same
        rows and journal continues the session. 'auto' is a file in the working folder named by a
        hash of the rows; None keeps labels in memory only.
    port : int, default=0
        Port of the page; 0 is any free port.
    browser : bool, default=True
        Whether to open the page in the browser.

    Returns
    -------
    LabelServer
        ``.labels()`` returns the current labels, to be used as y of any estimator of lapwing.
        ``.url`` is the address of the page. ``.wait()`` blocks until Ctrl-C, for scripts, and
        ``.close()`` stops the server. It is a context manager, and notebooks display it as a link.

    Raises
    ------
    ImportError
        If the extra ``label`` is not installed.
    TypeError
        If `model` is anything else.
    ValueError
        If arguments do not match, or the journal is of other rows or already open.
    OSError
        If the port is taken or the journal cannot be written.

    Examples
    --------
    >>> import lapwing
    >>> from sklearn.datasets import load_digits
    >>> digits = load_digits()
    >>> page = lapwing.label(
    ...     digits.data, images=digits.images, classes=range(10), journal=None, browser=False
    ... )
    >>> y = page.labels()
    >>> page.close()
    """
    require("starlette", extra="label", purpose="lapwing.label")
    if target is not None and not (is_number(target) and 0.1 <= target <= 50):
        raise ValueError(f"target={target!r} must be percent of wrong answers, from 0.1 to 50.")
    if not is_count(check_every):
        raise ValueError(f"check_every={check_every!r} must be a whole number of rows, 1 or more.")
    pipeline = _pipeline_of(LapERLSClassifier() if model is None else model)
    steps = clone(pipeline[:-1])
    given = steps.fit_transform(X) if len(steps) else X
    points = check_array(given, accept_sparse="csr", dtype=(np.float64, np.float32))
    table, values = _table_of(X, points, y, ids, classes)
    if embedding is not None:
        table = replace(table, layout=read_embedding(embedding, points.shape[0]))
    if texts is None and not hasattr(X, "columns") and not hasattr(X, "toarray"):
        raw = np.asarray(X)
        texts = raw.tolist() if raw.ndim == 1 and raw.dtype.kind in "OUT" else None
    if texts is not None:
        check_consistent_length(points, texts)
        texts = ["" if is_missing(text) else str(text) for text in texts]
    material = Material(
        table,
        points,
        pipeline[-1],
        _checked_classes(classes, "classes"),
        None if texts is None else as_text(texts),
        words=words_of(Pipeline([*steps.steps, pipeline.steps[-1]]), points.shape[1]),
        picture=None if images is None else _array_pictures(images, points.shape[0]),
        values=values,
        target=None if target is None else target / 100,
        check_every=check_every,
        random_labels=random_labels,
    )
    place = _journal_path(journal, material)
    fit = partial(_fit_estimator, pipeline[-1], steps, X, points)
    server = _open_page(material, place, fit, lambda r, path: save_model(r.pipeline, path), port)
    if browser:
        webbrowser.open(server.url)
    return server


def _pipeline_of(model: Any) -> Pipeline:
    pipeline = as_pipeline(model)
    last = pipeline[-1]
    known = last.get_params(deep=False) if hasattr(last, "get_params") else {}
    if "updatable" not in known or not hasattr(last, "predict_proba"):
        raise TypeError(
            "model must be a classifier of lapwing with updatable=, or a Pipeline that ends in "
            f"one, such as LapERLSClassifier() or LapSVC(); got {type(last).__name__}."
        )
    return pipeline


def _table_of(
    X: Any, points: Any, y: Any, ids: Sequence[Any] | None, classes: Sequence[Any]
) -> tuple[Table, dict[str, Any]]:
    """Build the table of the rows, with labels as texts, and the value of each text."""
    n = points.shape[0]
    values: dict[str, Any] = {str(name): name for name in classes}
    names, known = np.full(n, "", dtype=object), np.zeros(n, dtype=bool)
    if y is not None:
        column = read_column(y)
        check_consistent_length(points, column)
        known = ~find_unlabeled(column, "auto", np.asarray(list(classes)))
        given = column[known].tolist()
        names[known] = [checked_class(str(label), "y") for label in given]
        values |= {str(label): label for label in given}
    table = table_of(X, points, names, known, "", ids, "the rows")
    return replace(table, keys=Keys("index", "label")), values


def _array_pictures(images: Any, n: int) -> Callable[[int], bytes | None]:
    if len(images) != n:
        raise ValueError(f"images has {len(images)} pictures, and there are {n} rows.")
    if isinstance(images, np.ndarray) and images.dtype.kind in "biuf":
        return PictureArrays(images)
    if all(one is None or isinstance(one, (str, os.PathLike)) for one in images):
        names = as_text(["" if one is None else os.fspath(one) for one in images])
        return PictureFiles(names, Path.cwd())
    return PictureArrays(np.asarray(images))


def _journal_path(journal: str | os.PathLike[str] | None, material: Material) -> Path | None:
    if journal is None:
        return None
    if journal != "auto":
        return Path(journal)
    digest = next(value for key, value in material.subject().items() if key != "rows")
    return Path(f"lapwing-{digest[:12]}.labels.jsonl")


def _fit_estimator(
    estimator: Any, steps: Pipeline, X: Any, points: Any, session: Session
) -> FitRecord:
    """Fit an estimator to the current labels; `points` is X after the fitted steps."""
    table = labeled(session)
    own = clone(estimator).set_params(unlabeled=table.unlabeled).fit(points, table.y)
    fitted = Pipeline([*steps.steps, ("estimator", own)])
    record = fit_record(fitted, X, table.y, ids=table.ids.tolist())
    return replace(record, table=replace(record.table, layout=table.layout))


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
    prepared = points_of(table, request)
    estimator = make_estimator(request.chosen, request.parameters, request.seed, prepared.points)
    folder = request.data[0].resolve().parent
    unread = [name for name in split_names(request.text, table.shown) if name in table.shown]
    note = (
        f"The column {quoted(unread)} is shown, and the model does not learn from it. It learns "
        "from the other columns."
    )

    def fit_request(history: History) -> FitRequest:
        assert table.keys is not None
        return request.fit_request(table.keys.label, changed=history.changes_the_table)

    material = Material(
        table,
        prepared.points,
        estimator,
        _checked_classes(request.class_names, "--classes"),
        *_texts(table, request),
        words_of(Pipeline([*prepared.steps, ("estimator", estimator)]), prepared.points.shape[1]),
        None if request.image is None else _pictures(table, request.image, folder),
        request.layout or ("x", "y"),
        (note,) if unread else (),
        target=None if request.target is None else request.target / 100,
        check_every=request.check_every,
        random_labels=request.random_labels,
        fit_command=lambda history: (
            replace(fit_request(history), report=None, predictions=PREDICTIONS).full_command
        ),
    )

    def fit(session: Session) -> Outcome:
        return fitting.fit(labeled(session), fit_request(session.history))

    return _open_page(material, request.journal_path, fit, save_fit, request.port)


def _open_page(
    material: Material, journal: Path | None, fit: Fit, save: Save, port: int
) -> LabelServer:
    """Open the page for some rows; without a journal, the labels are in memory only."""
    with ExitStack() as stack:
        opened = None
        if journal is not None:
            opened = Journal(check_writable(journal), material.subject(), material.table.source)
            stack.callback(opened.close)
        session = Session(material, opened, neighbor_map=can_map())
        stack.pop_all()  # the session closes the journal
        stack.callback(session.close)
        server = LabelServer(session, _downloads(fit, save), opened, port)
        stack.pop_all()
    return server


def _texts(table: Table, request: LabelRequest) -> tuple[NDArray[Any] | None, tuple[str, ...]]:
    """Return the texts that the page shows: of the columns that were named, or all free text."""
    named = split_names(request.text, [*table.feature_names, *table.shown])
    names = named or table.features.legible
    columns = [table.shown[name] if name in table.shown else table.X[name] for name in names]
    if len(columns) < 2:
        return (as_text(list(columns[0])) if columns else None), tuple(names)
    rows = zip(*columns, strict=True)
    texts = ["\n\n".join(f"{n}: {t}" for n, t in zip(names, row, strict=True)) for row in rows]
    return as_text(texts), tuple(names)


def _pictures(table: Table, column: str, folder: Path) -> PictureFiles:
    names = table.shown[column] if column in table.shown else table.X[column].to_list()
    found = PictureFiles(as_text(list(names)), folder)
    missing = found.first_missing()
    if missing is not None:
        raise ValueError(
            f"--image {column}: there is no picture {missing}, nor any other of those that the "
            "column names first. Names of files begin at the folder of the table."
        )
    return found


def _downloads(fit: Fit, save: Save) -> dict[str, Callable[[Session], bytes]]:
    """Return the functions from the session to the content of a file, by file name."""
    lock = threading.Lock()
    latest = lru_cache(maxsize=1)(lambda session, version: fit(session))

    def fit_current(session: Session) -> FitRecord:
        with lock:
            return latest(session, session.version)

    def write_predictions(session: Session, path: Path) -> None:
        record = fit_current(session)
        write_columns(record.predictions.columns(), ".csv", path, record.table.dialect)

    writers: dict[str, Callable[[Session, Path], None]] = {
        "labels.csv": _write_labels,
        "labels.txt": _write_all_labels,
        "predictions.csv": write_predictions,
        "model.lapwing": lambda session, path: save(fit_current(session), path),
        "report.html": lambda session, path: Report(collect(fit_current(session))).save(path),
    }
    return {name: partial(_content, name, write) for name, write in writers.items()}


def _content(name: str, write: Callable[[Session, Path], None], session: Session) -> bytes:
    """Return the content of a file."""
    # The page shows the warnings of the fit already.
    with collect_warnings(), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(session, path)
        return path.read_bytes()


def _write_labels(session: Session, path: Path) -> None:
    """Write the labelled rows by name or number, for ``fit`` with the table.

    The columns are those of ``lapwing suggest``, so that a fit knows which rows were suggested; see
    `lapwing._tables.answers`.
    """
    table, labels = session.material.table, session.labels()
    rows = np.flatnonzero(labels != "")
    assert table.keys is not None
    columns = {
        table.key: table.ids[rows].astype(str).astype(object),
        table.keys.label: labels[rows],
        table.keys.chosen: session.chosen()[rows],
    }
    write_columns(columns, ".csv", path, table.dialect, "the labels")


def _write_all_labels(session: Session, path: Path) -> None:
    """Write one line per row of the table, empty without a label, for ``fit --labels``."""
    lines = "".join(f"{label}\n" for label in session.labels().tolist())
    path.write_bytes(lines.encode("utf-8"))


def labeled(session: Session) -> Table:
    """Return the table of a session with its current labels.

    Raises
    ------
    ValueError
        If there are none of two classes.
    """
    coded = LabelColumn(TextColumn(session.labels()), "the page", "an empty field").code()
    return replace(
        session.material.table,
        y=coded.y,
        labeled=coded.labeled,
        unlabeled=coded.unlabeled,
        truth=None,  # coded as the labels of the table, which may have changed
        n_suggested=int(np.count_nonzero(session.chosen() == SUGGESTED)),
    )


def checked_class(name: str, where: str) -> str:
    """Check and normalise the name of a class.

    Raises
    ------
    ValueError
        If tables could not hold it as a label.
    """
    try:
        return check_class_name(name)
    except RequestError as error:
        raise ValueError(f"{where}: {error}") from None


def _checked_classes(names: Iterable[Any], where: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(checked_class(str(name), where) for name in names))
