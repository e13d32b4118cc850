"""The report of a fit: one HTML page that needs no network and no script.

`collect` boils a fit down to the figures that the page shows, bounded in size whatever the number
of rows; `render` writes the page. Between them lies `ReportData`, plain enough to be stored with a
model. Neither time nor date is in it: the same data and seed give the same bytes.
"""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._arrays import is_sparse
from lapwing._host.files import atomic_write
from lapwing._host.modules import require
from lapwing._report import text
from lapwing._report.drawings import describe_path, draw_all
from lapwing._report.findings import (
    CHOICE_COLUMNS,
    describe_choice,
    estimate_words,
    next_step,
    parameters,
    python_lines,
    sure_words,
    trust_words,
    versions,
    words_of_row,
    write_notes,
)
from lapwing._report.record import FitRecord
from lapwing._report.rows import (
    ClassRows,
    compare_with_truth,
    compare_with_twin,
    list_rows,
    row_columns,
)
from lapwing._report.rows import volumes as class_volumes
from lapwing._report.summaries import NumberRows, convergence, graph_health
from lapwing._report.svg import choose_rows, draw_sign, place, sign_of
from lapwing._report.text import open_page, plural
from lapwing._report.words import tell_classes, words_of
from lapwing._tables.encoders import TEXT

_FEATURES_NAMED = 40
_COLUMNS_KEPT = 500
_ID = 40  # letters of a name in a picture

_SUFFIXES = (".html", ".htm")
_HEIGHT = 720  # pixels in a notebook; the page scrolls inside


@dataclass(frozen=True)
class ReportData:
    """The figures of a report: text, numbers, lists and dicts, as JSON has them.

    Attributes
    ----------
    kind : str
        'classification' or 'regression'.
    fitted : dict
        What was fitted, and on what.
    notes : list of dict
        What to look at first: level and text.
    volumes : dict
        Class volumes, or the distributions of labels and predictions.
    map : dict
        Places of the drawn rows, with their classes, certainty and labels.
    rows : dict
        Rows to look at, by name.
    graph : dict
        Health of the graph; empty where there was none.
    convergence : dict
        How the solver ended.
    twin : dict
        Comparison with the supervised twin; empty where there is none.
    truth : dict
        Errors; empty where no truth was given.
    choice : dict
        How the method was chosen; empty where the user named it.
    path : dict
        Leave-one-out errors of the settings that were tried; empty where there was one.
    repeat : dict
        Command, Python lines, parameters and versions.
    """

    kind: str
    fitted: dict[str, Any]
    notes: list[dict[str, Any]]
    volumes: dict[str, Any]
    map: dict[str, Any]
    rows: dict[str, Any]
    graph: dict[str, Any]
    convergence: dict[str, Any]
    twin: dict[str, Any]
    truth: dict[str, Any]
    choice: dict[str, Any]
    path: dict[str, Any]
    repeat: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Give the figures as a dict that JSON can hold, exactly."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any) -> ReportData:
        """Read what `to_dict` gave, after JSON too.

        Parameters
        ----------
        data : dict
            As by `to_dict`.

        Returns
        -------
        ReportData
            The same figures.

        Raises
        ------
        ValueError
            If it is no such dict.
        """
        kinds = {f.name: {"s": str, "l": list, "d": dict}[str(f.type)[0]] for f in fields(cls)}
        if not isinstance(data, Mapping) or set(data) != set(kinds):
            raise ValueError("these are not the figures of a report that this version can show.")
        wrong = [name for name, kind in kinds.items() if not isinstance(data[name], kind)]
        if wrong or data["kind"] not in ("classification", "regression"):
            raise ValueError(
                f"the figures of the report are damaged in {(wrong or ['kind'])[0]!r}."
            )
        return cls(**data)


def collect(
    fit: FitRecord,
    *,
    truth: Sequence[Any] | None = None,
    truth_name: str | None = None,
    embedding: Any = None,
    embedding_names: Sequence[str] | None = None,
    command: str | None = None,
    max_points: int = 3000,
    n_listed: int = 10,
) -> ReportData:
    """Boil a fit down to the figures of its report.

    Parameters
    ----------
    fit : FitRecord
        The fit, with its table and predictions.
    truth : sequence of length n, default=None
        True classes or numbers, where they are known; None, NaN and blanks are unknown. The fit
        has not seen them. None means those of the fit's table, if it has any.
    truth_name : str, default=None
        The column that they come from; None means the one of the fit.
    embedding : array-like of shape (n, 2), default=None
        Where the map draws the rows; None means the table's layout, or without one the first two
        principal components of what the estimator was given.
    embedding_names : sequence of str, default=None
        Names of its two columns; None means those of the fit.
    command : str, default=None
        The command line that made the fit; None means the one of the fit.
    max_points : int, default=3000
        Rows that the map draws at most; of more, a sample is drawn, and the page says so.
    n_listed : int, default=10
        Rows in each list.

    Returns
    -------
    ReportData
        Its size does not grow with n.

    Raises
    ------
    ValueError
        If `truth` or `embedding` does not have an entry for every row, or `max_points` is below 10.
    """
    table, answers, origin = fit.table, fit.predictions, fit.origin
    n = len(answers.label)
    truth = fit.truth if truth is None else truth
    embedding = table.layout if embedding is None else embedding
    if max_points < 10:
        raise ValueError(f"max_points must be 10 or more, got {max_points}.")
    if truth is not None and len(truth) != n:
        raise ValueError(f"truth must have an entry for each of the {n} rows, got {len(truth)}.")
    estimator = fit.estimator
    X = fit.points.tocsr() if is_sparse(fit.points) else np.asarray(fit.points)
    read = NumberRows.read if answers.classes is None else ClassRows.read
    rows: Any = read(answers, table.y, None if fit.twin is None else fit.twin.answers, truth)
    classes = None if answers.classes is None else rows.names[: rows.n_classes]
    unsure = [] if classes is None else rows.least_certain(n_listed)
    drawn = choose_rows(rows.labeled, max_points, np.asarray(unsure, dtype=np.intp))
    sections: dict[str, Any] = {
        "kind": "regression" if classes is None else "classification",
        "fitted": _describe_fit(fit, rows.labeled, classes),
        "map": place(X, drawn, embedding, embedding_names or origin.layout or None)
        | _signs(rows, drawn, classes),
        "graph": graph_health(
            estimator,
            fit.vertex,
            rows.labeled,
            rows.ids,
            None if classes is None else rows.predicted,
        ),
        "convergence": convergence(estimator, fit.method.solver, classes),
        "repeat": {
            "command": text.clean(origin.command if command is None else command, longest=4000),
            "plain_command": text.clean(origin.plain_command, longest=4000),
            "python": python_lines(fit.pipeline, table.unlabeled),
            "parameters": parameters(estimator),
            "versions": versions(),
        },
        "choice": describe_choice(fit.choice),
        "path": describe_path(
            estimator, repeated=_repeated(fit.vertex[rows.labeled], table.y[rows.labeled])
        ),
        **_row_sections(
            rows,
            classes,
            origin.truth if truth_name is None else truth_name,
            n_listed,
            fit.telling,
        ),
    }
    if classes is not None:
        _mark_full(sections["volumes"]["classes"], getattr(estimator, "class_prior_", None), n)
        sections["volumes"]["trust"] = None if fit.trust is None else fit.trust.to_dict()
        sections["volumes"]["words"] = _tell_words(fit, X, rows.predicted, sections["volumes"])
    _add_cells(sections["rows"], table)
    notes = write_notes(sections)
    sections["fitted"]["next"] = next_step(sections, notes, origin.hints)
    return ReportData(notes=notes, **sections)


def _mark_full(classes: list[dict[str, Any]], prior: Any, n: int) -> None:
    """Say of each class whether its labels are all the rows that the user gave it."""
    for one in classes:
        part = 1.0 if prior is None or one["code"] >= len(prior) else float(prior[one["code"]])
        one["full"] = round(part * n) <= one["labels"]


def _tell_words(
    fit: FitRecord, X: Any, codes: NDArray[np.intp], volumes: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """What the listed classes of texts are about; nothing where no text was learnt from."""
    words = words_of(fit.pipeline, X.shape[1])
    if words is None or not is_sparse(X):
        return []
    listed = volumes["classes"]
    told = tell_classes(X, words, codes, [one["code"] for one in listed])
    names = words.texts or list(fit.table.feature_names)
    found = []
    for one, about in zip(listed, told, strict=True):
        cells = row_columns(fit.table, about.rows, texts=names)
        rows = [
            {
                "id": text.clean(fit.predictions.ids[row], _ID),
                "text": " · ".join(filter(None, (cells[name][k] for name in names))),
            }
            for k, row in enumerate(about.rows)
        ]
        shown = [text.clean(word) for word in about.words]
        found.append({"name": one["name"], "code": one["code"], "words": shown, "rows": rows})
    return found


def _repeated(vertex: Any, labels: Any) -> bool:
    """Whether equal rows have different labels."""
    pairs = set(zip(vertex.tolist(), labels.tolist(), strict=True))
    return len(pairs) > len(np.unique(vertex))


def _add_cells(lists: dict[str, Any], table: Any) -> None:
    """Give the rows that are to be looked at their columns, as many as a page can hold."""
    shown = lists.get("least") or lists.get("residuals") or []
    rows = [row["row"] for row in shown]
    columns = {}
    if rows:
        texts = table.features.named(TEXT)
        columns = row_columns(table, rows, most=_COLUMNS_KEPT + 1, texts=texts)
    lists["columns"] = [text.clean(name) for name in columns][:_COLUMNS_KEPT]
    lists["more_columns"] = len(columns) > _COLUMNS_KEPT
    for number, row in enumerate(shown):
        row["cells"] = [cells[number] for cells in columns.values()][:_COLUMNS_KEPT]


def _row_sections(
    rows: Any, classes: list[str] | None, truth_name: str, n_listed: int, telling: Any
) -> dict[str, Any]:
    name = text.clean(truth_name)
    if classes is None:
        return {
            "volumes": rows.volumes(),
            "rows": rows.list_rows(n_listed),
            "twin": rows.compare_with_twin(n_listed),
            "truth": rows.compare_with_truth(name),
        }
    return {
        "volumes": class_volumes(rows),
        "rows": list_rows(rows, n_listed, telling),
        "twin": compare_with_twin(rows, n_listed),
        "truth": compare_with_truth(rows, name),
    }


def _describe_fit(fit: FitRecord, labeled: Any, classes: list[str] | None) -> dict[str, Any]:
    names = [text.clean(name) for name in fit.table.feature_names]
    method, seed = fit.method, fit.origin.seed
    return {
        "estimator": type(fit.estimator).__name__,
        "method": text.clean(method.name),
        "source": text.clean(fit.table.source),
        "n": len(labeled),
        "n_labeled": int(np.count_nonzero(labeled)),
        "n_features": len(names),
        "n_columns": int(fit.points.shape[1]),
        "features": names[:_FEATURES_NAMED],
        "classes": classes,
        "scaling": text.clean(fit.scaling),
        "seed": None if seed is None else int(seed),
        "taught_by": text.clean(method.taught_by),
        "advice": asdict(method.advice),
        "margin_note": method.margin_note if classes is not None else "",
        "twin": method.twin,
    }


def _signs(rows: Any, drawn: Any, classes: list[str] | None) -> dict[str, Any]:
    """How each drawn row is drawn, and what it says of itself."""
    signs: dict[str, Any] = {
        "rows": drawn.tolist(),
        "ids": [text.clean(rows.ids[i], _ID) for i in drawn],
        "labeled": rows.labeled[drawn].tolist(),
        "twin": [],
        "wrong": [],
    }
    if classes is None:
        group, edges = rows.shades()
        shown = np.where(rows.labeled, rows.given, rows.predicted)
        return signs | {
            "group": group[drawn].tolist(),
            "strength": [2] * len(drawn),
            "values": shown[drawn].tolist(),
            "edges": edges,
        }
    given = np.where(rows.labeled, rows.given, rows.predicted)
    signs |= {
        "group": given[drawn].tolist(),
        "strength": np.where(rows.unsure, 0, 2)[drawn].tolist(),
        "values": rows.margin[drawn].tolist(),
        "names": rows.names,
    }
    if rows.twin is not None:
        signs["twin"] = np.where(rows.labeled, rows.given, rows.twin)[drawn].tolist()
    if rows.truth is not None:
        wrong = ~rows.labeled & (rows.truth >= 0) & (rows.truth != rows.predicted)
        signs["wrong"] = wrong[drawn].tolist()
    return signs


def render(data: ReportData) -> str:
    """Write the report as an HTML page that holds all it needs.

    Parameters
    ----------
    data : ReportData
        What `collect` gave.

    Returns
    -------
    str
        The page; the same for the same data.

    Raises
    ------
    ValueError
        If the data are damaged.
    ImportError
        If jinja2 is not installed.
    """
    jinja2 = require("jinja2", extra="report", purpose="The report")
    # Everything a user wrote passes through the template's escaping or that of `svg`.
    page = open_page("page.html", "The report")
    page.environment.filters |= {
        "count": text.count,
        "number": text.number,
        "percent": text.percent,
    }
    page.environment.filters["share"] = lambda share: f"{100 * float(share):.2f}"
    page.environment.globals |= {
        "plural": text.plural,
        "sign": lambda code: _mark(jinja2, code),
        "choice_columns": CHOICE_COLUMNS,
        "choice_row": words_of_row,
    }
    try:
        drawings = {name: jinja2.utils.markupsafe.Markup(d) for name, d in draw_all(data).items()}
        words = {}
        if data.kind == "classification":
            words = {
                "sure_words": sure_words(data.volumes),
                "trust_words": trust_words(data.volumes["trust"]),
                "estimate": estimate_words(data.choice),
            }
        html = page.render(asdict(data) | words, draw=drawings)
    except (TypeError, KeyError, IndexError, AttributeError, jinja2.UndefinedError) as error:
        # Figures come from a file as well: what is missing there is the file's fault.
        raise ValueError(f"the figures of the report are damaged: {error}") from error
    return html


def _mark(jinja2: Any, code: int) -> Any:
    return jinja2.utils.markupsafe.Markup(draw_sign(*sign_of(int(code))))


class Report:
    """The report of a fit, one HTML page that needs no network and no script.

    Notebooks show it where it is the last value of a cell.

    Parameters
    ----------
    data : ReportData
        Its figures.
    """

    def __init__(self, data: ReportData) -> None:
        self._data = data

    def __repr__(self) -> str:
        fitted = self._data.fitted
        n_free = fitted["n"] - fitted["n_labeled"]
        return (
            f"<Report of {fitted['estimator']}: {plural(fitted['n'], 'row')}, {n_free} without a "
            "label; .save('report.html') writes it>"
        )

    @cached_property
    def html(self) -> str:
        """The page."""
        return render(self._data)

    def _repr_html_(self) -> str:
        # In a frame, so that neither's style touches the other; what users wrote is text in it.
        page = html.escape(self.html, quote=True)
        return (
            f'<iframe title="lapwing report" sandbox="" srcdoc="{page}" width="100%" '
            f'height="{_HEIGHT}" style="border: 1px solid #8888; border-radius: 6px"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all.

        Parameters
        ----------
        path : path-like
            The file, with the extension .html or .htm.

        Raises
        ------
        ValueError
            If the extension is another one, or the place cannot be written.
        OSError
            If writing fails; a file that was there before is left as it was.
        """
        if Path(path).suffix.lower() not in _SUFFIXES:
            raise ValueError(f"cannot write {os.fspath(path)}: the extension must be .html.")
        with atomic_write(path) as temporary:
            temporary.write_text(self.html, encoding="utf-8", newline="\n")
