"""Inspection of a table before a fit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from lapwing._app.forecast import FitSize, round_time
from lapwing._app.methods import AUTO, METHODS
from lapwing._app.reading import load_encoder
from lapwing._app.requests import InfoRequest
from lapwing._arrays import is_sparse
from lapwing._host.memory import available_memory, format_bytes
from lapwing._tables.assembly import (
    check_ids,
    describe_notes,
    encode,
    infinite_cells,
    missing_cells,
    summary_lines,
)
from lapwing._tables.cells import Cells, is_infinite
from lapwing._tables.columns import RawTable
from lapwing._tables.embedding import Embedder, Encoder
from lapwing._tables.encoders import CATEGORICAL, ENCODED, NUMERIC, TEXT, ColumnNote, Features
from lapwing._tables.frames import join_columns
from lapwing._tables.inference import MAX_VALUES, missing_words
from lapwing._tables.labels import (
    LabelColumn,
    class_values,
    hold_fractions,
    mark_unlabeled,
    numbers_of,
    warn_of_quantities,
    words_in_most_rows,
)
from lapwing._tables.preprocessing import Preprocessed, check_weights, preprocess, scaling
from lapwing._tables.reading import read_raw
from lapwing._tables.roles import Selection
from lapwing._tables.tables import label_column
from lapwing.graphs import KNNGraph
from lapwing.graphs.registry import default_metric

_GRAPH_ROWS = 20_000  # the neighbour search takes seconds
_ENCODED_ROWS = 32  # enough for the width of vectors and the time of a text
_CLASSES_LISTED = 40
_LABEL_NAME = re.compile(
    r"(?:^|[\W_])(?:labels?|class(?:es)?|targets?|y|category|type|kind|outcome|churn|klasse|typ"
    r"|kategorie|art|ziel)(?:$|[\W_])",
    re.IGNORECASE,
)


def inspect(request: InfoRequest) -> dict[str, Any]:
    """Inspect a table.

    Parameters
    ----------
    request : InfoRequest
        Files and columns; the seed draws the rows of the graph if there are many.

    Returns
    -------
    dict
        For JSON, with the keys

        - source, rows: files, and number of rows;
        - numeric, text, encoded: names of columns, the last those of an encoder;
        - categorical: number of values by column;
        - encoding: name of the encoder, width of its vectors, and forecast of the seconds for all
          rows, as a number and in words; None without an encoder;
        - columns, summary: what becomes of each column, as data and as lines of text;
        - errors: reasons for which a fit would fail;
        - missing, infinite: number of such cells by column;
        - imputed: what a fit does with missing numbers;
        - labels: number of rows by label, '' for none; None without labels;
        - markers: number of rows by label, of labels that a fit refuses because they probably mark
          unlabelled rows;
        - scaling: in words;
        - graph: size and components of the graph of neighbours, or None;
        - forecast: memory and time by method, for the methods that can learn such labels;
        - suggested_label: column that is probably that of the labels, or None;
        - command: command that fits the table, or opens the page to label it if it has no labels.

    Raises
    ------
    OSError, ValueError, ImportError
        If the files cannot be read as a table. Cells and columns that cannot be fitted are returned
        as errors.
    """
    encoder = load_encoder(request.encoder)
    options = request.read_options
    selection = Selection.of(options, label=label_column(request.data, options))
    raw, y, quantities = _read(request, selection)
    features = encode(raw, selection)
    likely = _suggest_label(raw.cells) if y is None else None
    labels = np.full(raw.n, "") if y is None else y.column.texts
    if likely is not None:
        labels = mark_unlabeled(raw.cells[likely].spelled(""), request.unlabeled)
    counts = dict(sorted(Counter(labels[labels != ""].tolist()).items()))
    numbers = hold_fractions(counts, features.decimal)
    markers = {}
    if not numbers and "" not in request.unlabeled:
        # A fit refuses them, because they probably mark unlabelled rows.
        words, certain = words_in_most_rows(counts, labels.size)
        markers = {word: counts[word] for word in words if certain}
    if counts and not numbers:
        counts = _counts_by_class(counts, request.source)
    sample = _sample(features, encoder, request, raw.n)
    encoded, prepared = features.named(ENCODED), sample.prepared
    size = _size_of(features, sample, raw.n)
    if y is not None:
        n_columns = 1 if numbers or len(counts) <= 2 else len(counts)
        size = replace(size, n_columns=n_columns, n_labels=sum(counts.values()))
    row_id = _suggest_id(features.notes, raw.cells) if request.id is None else request.id
    if y is None and likely is None and str(request.data[0]) != "-":
        command = request.label_command(row_id)
    else:
        command = request.fit_command(likely, row_id, tuple(markers), quantities=quantities)
    imputed = "refuses"
    if options.missing:
        imputed = f"fills with the {'median' if request.impute == 'auto' else request.impute}"
    return {
        "source": request.source,
        "rows": raw.n,
        "numeric": features.named(NUMERIC),
        "categorical": _n_values(features),
        "text": features.named(TEXT),
        "encoded": encoded,
        "encoding": sample.encoding,
        "columns": describe_notes(features.notes),
        "summary": summary_lines(features.notes, (*raw.remarks, *(() if y is None else y.remarks))),
        "errors": [*features.errors, *sample.errors],
        "missing": {name: count for name, (count, _) in missing_cells(features).items()},
        "imputed": imputed,
        "infinite": {name: count for name, (count, _) in infinite_cells(features).items()},
        "labels": None
        if y is None
        else {"": raw.n - sum(counts.values()), **_pooled(counts, numbers, features.decimal)},
        "markers": markers,
        "scaling": _scaling(features, prepared, request.scale),
        # Encoding all rows takes long, and a graph of a subset is not informative.
        "graph": None
        if encoded
        else _graph(sample, None if y is None else labels != "", request.n_neighbors),
        "forecast": _forecasts(size, _targets(y, markers, features.decimal)),
        "suggested_label": likely,
        "command": command,
    }


def _read(request: InfoRequest, selection: Selection) -> tuple[RawTable, LabelColumn | None, bool]:
    """Read the files and their labels, and return whether these look like quantities.

    Labels are None without a label column and a file of labels.
    """
    raw = read_raw(request.data, selection)
    if not raw.n:
        raise ValueError(f"{request.source} has no rows.")
    check_ids(raw)
    if raw.labels is None and request.labels_file is None:
        return raw, None, False
    y = LabelColumn.of(raw, selection)
    where = f"{request.source}: the label column"
    return raw, y, warn_of_quantities(y.given, where)


def _counts_by_class(counts: Mapping[str, int], source: str) -> dict[str, int]:
    """Count the rows of each class, named as in a fit; texts such as 1 and 1.0 are one class."""
    *_, class_of = class_values(counts, (), source)
    found = Counter[str]()
    for text, n in counts.items():
        found[str(class_of[text])] += n
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class _Sample:
    """Random rows for the steps that take long, and their points.

    Attributes
    ----------
    rows : ndarray of int
    prepared : Preprocessed or None
        None if they cannot be preprocessed.
    encoding : dict or None
        Name, width and time of the encoder; None without one.
    errors : tuple of str
        Reasons for which a fit would fail.
    """

    rows: NDArray[np.intp]
    prepared: Preprocessed | None = None
    encoding: dict[str, Any] | None = None
    errors: tuple[str, ...] = ()


def _sample(features: Features, encoder: Encoder | None, request: InfoRequest, n: int) -> _Sample:
    rows, encoded = np.arange(n), features.named(ENCODED)
    most = _ENCODED_ROWS if encoded else _GRAPH_ROWS
    if n > most:
        rows = np.sort(np.random.default_rng(request.seed).choice(n, most, replace=False))
    encoding = None
    try:
        check_weights(request.weights, features)
        drawn = _take_rows(features, rows)
        if drawn is None:
            return _Sample(rows)
        if encoded and encoder is not None:
            drawn, encoding = _encode_rows(drawn, encoder, request, n)
        return _Sample(rows, preprocess(drawn, request.scale, "auto", request.weights), encoding)
    except ValueError as error:  # a text without words
        return _Sample(rows, None, encoding, (f"{request.source}: {error}",))


def _n_values(features: Features) -> dict[str, int]:
    """Count the values of each column of categories."""
    return {
        name: len({value for value in features.column(name) if value is not None})
        for name in features.named(CATEGORICAL)
    }


def _scaling(features: Features, prepared: Preprocessed | None, scale: str) -> str:
    """Describe the preprocessing; without texts the decision is by all rows."""
    if prepared is not None and (features.named(TEXT) or features.named(ENCODED)):
        return prepared.words
    categories = {name: features.column(name) for name in features.named(CATEGORICAL)}
    return scaling(features.numbers, features.named(NUMERIC), categories, scale).reason


def _size_of(features: Features, sample: _Sample, n: int) -> FitSize:
    """Return the size of a fit to all rows without labels, by those that were drawn."""
    numbers, prepared = features.numbers, sample.prepared
    n_features, stored = len(features.named(NUMERIC)) + sum(_n_values(features).values()), None
    if is_sparse(numbers):
        stored = numbers.nnz
    elif sample.encoding is not None:
        n_features += len(features.named(ENCODED)) * sample.encoding["width"]
    if features.named(TEXT) and prepared is not None:
        n_features, stored = prepared.points.shape[1], prepared.points.nnz * n // len(sample.rows)
    return FitSize(n, n_features, itemsize=numbers.dtype.itemsize, n_stored=stored)


def _pooled(counts: dict[str, int], numbers: bool, decimal: str) -> dict[str, int]:
    """Return the rows of each label; numbers or many labels are pooled."""
    words = f"({len(counts)} different values)"
    if numbers:
        values = [float(name.replace(decimal or ".", ".")) for name in counts]
        words = f"numbers, {min(values):g} to {max(values):g}"
    return {words: sum(counts.values())} if numbers or len(counts) > _CLASSES_LISTED else counts


def _graph(
    sample: _Sample, labeled: NDArray[np.bool_] | None, n_neighbors: int
) -> dict[str, Any] | None:
    rows = sample.rows
    if sample.prepared is None or len(rows) < 3:
        return None
    k, points = min(n_neighbors, len(rows) - 1), sample.prepared.points
    affinity = KNNGraph(k, metric=default_metric(points)).affinity(points)
    n_components, component = connected_components(affinity, directed=False)
    without = None
    if labeled is not None:
        without = int(n_components - len(np.unique(component[labeled[rows]])))
    return {
        "rows": len(rows),
        "n_neighbors": int(k),
        "components": int(n_components),
        "components_without_label": without,
        "largest_share": float(np.bincount(component).max() / len(rows)),
    }


def _take_rows(features: Features, rows: NDArray[np.intp]) -> Features | None:
    """Return a sample of rows, with infinite cells as missing; None if nothing is left."""
    if is_sparse(features.X):
        X = features.X[rows]
        usable = X.shape[1] > 0 and np.isfinite(X.data).all()
        return Features(X, features.names) if usable else None
    columns, kinds = {}, []
    for name, kind in zip(features.names, features.kinds, strict=True):
        column = features.column(name)[rows]
        if kind == NUMERIC:
            column = np.where(is_infinite(column), np.nan, column)
        if kind != NUMERIC or not np.isnan(column).all():
            columns[name] = column
            kinds.append(kind)
    if not columns or not len(rows):
        return None
    X = join_columns(columns, len(rows))
    return replace(features, X=X, names=tuple(columns), kinds=tuple(kinds))


def _encode_rows(
    drawn: Features, encoder: Encoder, request: InfoRequest, n: int
) -> tuple[Features, dict[str, Any]]:
    """Encode a few rows, and forecast the time for all n; no vectors are stored."""
    begun = perf_counter()
    found = Embedder(encoder, folder=request.data[0].resolve().parent).embed(drawn)
    seconds = (perf_counter() - begun) * n / len(found.X)
    width = len(next(iter(found.vectors.values())))
    time = round_time(seconds)
    return found, {"name": encoder.name, "width": width, "seconds": seconds, "time": time}


def _targets(labels: LabelColumn | None, markers: Mapping[str, int], decimal: str) -> set[bool]:
    """Return whether the labels can be numbers (True), classes (False), or both."""
    if labels is None or markers:
        return {True, False}
    if hold_fractions(labels.column.texts, decimal):
        return {True}
    _, not_a_number = numbers_of(labels.column, decimal)
    return {False} if not_a_number is not None else {True, False}


def _forecasts(size: FitSize, targets: Collection[bool]) -> dict[str, dict[str, Any]]:
    free = available_memory()
    found = {}
    for name, method in METHODS.items():
        if name != AUTO and method.regression not in targets:
            continue
        need = method.forecast(replace(size, n_columns=1) if method.regression else size)
        found[name] = {
            "memory_bytes": need.memory,
            "memory": format_bytes(need.memory),
            "seconds": need.seconds,
            "time": round_time(need.seconds),
            "solver": need.solver,
            "fits": free is None or need.memory <= free,
        }
    return found


def _suggest_label(cells: Mapping[str, Cells]) -> str | None:
    """Return the name of the column that most resembles labels; None if there is none.

    Such a column has blanks and a few different values, at least two, each in two rows or more on
    average. A typical name of a label column counts most.
    """
    found = {}
    for place, (name, column) in enumerate(cells.items()):
        filled = column.without(missing_words(strict=False))
        values = {text for text in filled.spelled() if text is not None}
        if 2 <= len(values) <= min(MAX_VALUES, filled.n_filled // 2):
            blanks = 1 - filled.n_filled / max(1, column.numbers.size)
            named = _LABEL_NAME.search(name) is not None
            found[name] = (named, round(blanks, 2), place)
    return max(found, key=found.__getitem__) if found else None


def _suggest_id(notes: Sequence[ColumnNote], cells: Mapping[str, Cells]) -> str | None:
    """Return the first column left out as an identifier, if its values are unique."""
    for note in notes:
        if note.used or not note.words.startswith(("names the rows", "counts the rows")):
            continue
        spelled = cells[note.column].spelled()
        if len(set(spelled)) == len(spelled) and None not in set(spelled):
            return note.column
    return None
