"""Suggestion of the rows of a table to label next."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._app.choosing import choose
from lapwing._app.fitting import chosen_by, fit_estimator, keep_graph, rows_to_label_next
from lapwing._app.reading import points_of
from lapwing._app.requests import SuggestRequest
from lapwing._app.settings import make_estimator
from lapwing._tables.tables import Table
from lapwing.estimators.prepared import SILENT, Stages
from lapwing.graphs import default_graph
from lapwing.model_selection.next_rows import informative_rows


@dataclass(frozen=True, eq=False)
class Suggestion:
    """Rows to label next.

    Attributes
    ----------
    request : SuggestRequest
        Options of the verb.
    table : Table
        Training table.
    rows : ndarray of int
        The rows, the most informative first.
    name : str
        Name of the method.
    fitted : bool
        Whether there were labels of two classes for a fit; otherwise the rows cover the table.
    chosen_by : {'graph', 'graph and answers', 'variance'}
        Criterion of the choice.
    scaling : str
        Description of the preprocessing.
    seconds : float
        Time of the fit and the choice.
    """

    request: SuggestRequest
    table: Table
    rows: NDArray[np.intp]
    name: str
    fitted: bool
    chosen_by: str
    scaling: str
    seconds: float


def suggest(
    table: Table,
    request: SuggestRequest,
    *,
    callbacks: Iterable[object] = (),
    progress: Stages = SILENT,
) -> Suggestion:
    """Choose the most informative rows of a table to label next.

    Parameters
    ----------
    table : Table
        Rows with and without labels; there may be no label at all.
    request : SuggestRequest
        Method, parameters, scaling, seed, and how many rows.
    callbacks : iterable of scikit-learn callbacks, default=()
        Progress callbacks of the fit.
    progress : Stages
        Display of the current candidate.

    Returns
    -------
    Suggestion
        Rows and method.

    Raises
    ------
    ValueError
        If every row has a label, or the fit fails.
    """
    if table.labeled.all():
        raise ValueError(f"{table.source}: every row has a label. There is none to label next.")
    start = time.perf_counter()
    asked, request = request, request.decided(numeric=table.numeric)
    before = points_of(table, request, progress)
    known = len(np.unique(table.y[table.labeled]))
    fitted, name, by = known >= (1 if table.numeric else 2), request.method, "graph"
    if fitted:
        chosen = choose(table, request, before.points, progress)
        before = chosen.scaled(before, table)
        name, estimator = chosen.name, chosen.estimator
        keep_graph(estimator, table.n)
        fit_estimator(estimator, before.points, table.y, request, callbacks)
        rows = rows_to_label_next(estimator, before.points, request.n_rows)
        by = chosen_by(estimator)
    else:
        rows = informative_rows(
            before.points,
            table.labeled,
            request.n_rows,
            _graph_of(request, before.points),
            regression=table.numeric,
        )
    if not len(rows):
        raise ValueError(
            f"{table.source}: the rows without a label are equal to labelled rows. There is none "
            "to label next."
        )
    seconds = time.perf_counter() - start
    return Suggestion(asked, table, rows, name, fitted, by, before.words, seconds)


def _graph_of(request: SuggestRequest, points: Any) -> Any:
    """Return the graph of the request, or the default graph."""
    usual = default_graph(points, regression=request.chosen.regression)
    if request.automatic:
        return usual
    estimator = make_estimator(request.chosen, request.parameters, request.seed, graph=usual)
    return getattr(estimator, "graph", None) or usual
