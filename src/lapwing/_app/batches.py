"""Prediction of Parquet files batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from lapwing._app.requests import PredictRequest
from lapwing._app.workflow import answer, beside_columns, fitted_of, read_part
from lapwing._host.modules import require
from lapwing._tables.predictions import BATCH_FORMATS, written_in_batches
from lapwing.models import Model

_ROWS = 100_000  # of a batch


@dataclass(frozen=True)
class Answered:
    """Counts of predicted rows.

    Attributes
    ----------
    n_rows : int
    counts : dict of str to int, or None
        Rows of each class; None for numbers.
    """

    n_rows: int
    counts: dict[str, int] | None


def in_batches(request: PredictRequest) -> bool:
    """Whether there are more rows than a batch, in files that can be read and written in batches.

    Other files are read whole.
    """
    readable = all(path.suffix.lower() == ".parquet" and path.is_file() for path in request.data)
    out = request.predictions
    writable = out is None or out.suffix.lower() in BATCH_FORMATS
    return readable and writable and sum(map(_height, request.data)) > _ROWS


def predict_in_batches(loaded: Model, request: PredictRequest) -> Answered:
    """Predict all rows, with one batch in memory.

    Parameters
    ----------
    loaded : Model
    request : PredictRequest
        Of Parquet files.
    """
    fitted = fitted_of(loaded, request)
    counts: Counter[str] = Counter()
    n_rows, classes = 0, None
    with written_in_batches(request.predictions, all_probabilities=request.probabilities) as write:
        for path, start, size in _batches(request.data):
            table = read_part(loaded, fitted, path, request, (start, size))
            rows = beside_columns(answer(loaded, table, request), table, request.predictions)
            if table.id_name is None and fitted.usual_id is None:
                rows = replace(rows, ids=rows.ids + n_rows)  # row numbers, of all files
            write(rows)
            n_rows += rows.label.size
            classes = rows.classes
            if classes is not None:
                counts.update(map(str, rows.label.tolist()))
    known = None if classes is None else {str(c): counts[str(c)] for c in classes}
    return Answered(n_rows, known)


def _batches(paths: tuple[Path, ...]) -> Iterator[tuple[Path, int, int]]:
    for path in paths:
        height = _height(path)
        for start in range(0, height, _ROWS):
            yield path, start, min(_ROWS, height - start)


def _height(path: Path) -> int:
    pl = require("polars", extra="cli", purpose=f"reading {path}")
    try:
        return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return 0  # told where the file is read
