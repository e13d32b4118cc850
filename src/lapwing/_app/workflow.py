"""Summaries and files of the verbs."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing._app.choosing import Compared
from lapwing._app.fitting import Outcome, Suggestion
from lapwing._app.predicting import Predicted, beside_columns, class_counts
from lapwing._host.files import atomic_write, atomic_writes
from lapwing._report.findings import describe_comparison
from lapwing._report.page import render, render_comparison
from lapwing._report.rows import row_cells, row_columns
from lapwing._tables.assembly import describe_notes
from lapwing._tables.cells import as_text, numbers_if_plain
from lapwing._tables.columns import SUGGESTED
from lapwing._tables.predictions import (
    print_columns,
    write_columns,
)
from lapwing._tables.tables import Table
from lapwing.models import Model, save_model
from lapwing.onnx_export import save_onnx


def write_fit(outcome: Outcome) -> None:
    """Write all files of a fit, or none on failure.

    For points on disk, these are predictions and model only.
    """
    request, table, figures = outcome.request, outcome.table, outcome.figures
    with atomic_writes(list(request.written.values())) as temporaries:
        place = dict(zip(request.written, temporaries, strict=True))
        if request.predictions is not None:
            rows = beside_columns(outcome.predictions, table, request.predictions)
            columns = rows.columns(all_probabilities=request.probabilities)
            suffix = request.predictions.suffix
            write_columns(columns, suffix, place["predictions"], table.dialect)
        if request.model is not None:
            save_fit(outcome, place["model"])
        if request.report is not None and figures is not None:
            place["report"].write_text(render(figures), encoding="utf-8", newline="\n")
        if request.onnx is not None:
            save_onnx(outcome.pipeline, place["onnx"])
        if request.next_rows is not None and figures is not None:
            next_rows = outcome.next_rows
            if next_rows is None:
                next_rows = np.array(
                    [row["index"] for row in figures.rows["least_certain"]], dtype=np.intp
                )
            _write_rows(table, next_rows, request.next_rows, place["next"])


def save_fit(outcome: Outcome, path: Path) -> None:
    """Save the model of a fit with its description and the figures of its report."""
    save_model(Model(outcome.pipeline, _describe(outcome), outcome.figures), path)


def fit_summary(outcome: Outcome) -> dict[str, Any]:
    """Summarise a fit, for `lapwing fit --json`."""
    table, figures = outcome.table, outcome.figures
    found = _facts(
        outcome,
        method=outcome.method.name,
        parameters=outcome.parameters,
        rows=table.n,
        labeled=table.n_labeled,
        features=list(table.feature_names),
        columns=describe_notes(table.features.notes),
        solver=outcome.method.solver,
    )
    if outcome.predictions.classes is not None:
        found["predicted"] = class_counts(outcome.predictions)
        found["trust"] = None if outcome.trust is None else outcome.trust.to_dict()
    if figures is None:
        return found
    found |= {"iterations": figures.convergence["n_iter"], "next": figures.fitted["next_step"]}
    if figures.kind == "classification":
        found |= {"sure": figures.volumes["n_sure"], "to_check": figures.volumes["n_to_check"]}
    if figures.choice:
        found["choice"] = figures.choice
    if figures.path.get("left_out_rmse") is not None:
        found["left_out"] = {"root_mean_square": figures.path["left_out_rmse"]}
    if outcome.origin.plain_command:
        found["command"] = outcome.origin.plain_command
    truth = figures.truth
    if truth:
        found["error"] = {"rows": truth["n"]}
        names = {"error_rate": "share_wrong", "rmse": "root_mean_square"}
        found["error"] |= {names[key]: truth[key] for key in names if key in truth}
    return found


def suggestion_summary(suggested: Suggestion) -> dict[str, Any]:
    """Summarise suggested rows, for `lapwing suggest --json`."""
    table = suggested.table
    return _facts(
        suggested,
        method=suggested.name,
        rows=table.n,
        labeled=table.n_labeled,
        suggested=[str(name) for name in table.ids[suggested.rows].tolist()],
        chosen_by=suggested.chosen_by,
    )


def comparison_summary(compared: Compared) -> dict[str, Any]:
    """Summarise a comparison, for `lapwing compare --json`."""
    found = describe_comparison(compared.comparison)
    rows = zip(found["methods"], compared.comparison.table, compared.commands, strict=True)
    methods = [
        {**row, "seconds": round(tried.seconds, 3), "command": command}
        for row, tried, command in rows
    ]
    return _facts(compared, **found | {"methods": methods})


def prediction_summary(predicted: Predicted) -> dict[str, Any]:
    """Summarise predictions for new rows, for `lapwing predict --json`."""
    source = predicted.request.source
    return {"source": source, "rows": predicted.n_rows, "predicted": predicted.counts}


def _facts(result: Outcome | Suggestion | Compared, **own: Any) -> dict[str, Any]:
    """Summarise a result for JSON: `own` entries between those of all verbs."""
    return {
        "source": result.table.source,
        **own,
        "remarks": list(result.table.remarks),
        "scaling": result.scaling,
        "seed": result.request.seed,
        "seconds": round(result.seconds, 3),
    }


def write_comparison(compared: Compared) -> None:
    """Write the table of a comparison atomically, if requested."""
    out = compared.request.out
    if out is None:
        return
    summary = comparison_summary(compared) | {"written": compared.request.written}
    with atomic_write(out) as temporary:
        if out.suffix.lower() == ".csv":
            rows = summary["methods"]
            columns = {name: np.array([row[name] for row in rows], object) for name in rows[0]}
            for column in columns.values():
                column[[value is None for value in column]] = ""
            write_columns(columns, ".csv", temporary, what="the table of methods")
            return
        if out.suffix.lower() == ".json":
            page = json.dumps(summary, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
        else:
            page = render_comparison(summary)
        temporary.write_text(page, encoding="utf-8", newline="\n")


def _describe(outcome: Outcome) -> dict[str, Any]:
    """Describe the model of a fit, for its file."""
    table, classes = outcome.table, outcome.predictions.classes
    regression = classes is None
    return {
        "method": outcome.method.name,
        "parameters": outcome.parameters,
        **table.describe(),
        # JSON has no NaN, the marker of regression.
        "unlabeled": None if regression else table.unlabeled,
        "classes": None if classes is None else classes.tolist(),
        "regression": regression,
        "seed": outcome.request.seed,
        "n_rows": table.n,
        "n_labeled": table.n_labeled,
        "scaling": outcome.scaling,
        "impute": outcome.impute,
        "encoder": None if outcome.encoding is None else asdict(outcome.encoding),
        "trust": None if outcome.trust is None else outcome.trust.to_dict(),
    }


def write_predicted(predicted: Predicted) -> None:
    """Write or print predictions, unless that was done batch by batch."""
    rows, path = predicted.rows, predicted.request.predictions
    if rows is None:
        return
    columns = rows.columns(all_probabilities=predicted.request.probabilities)
    if path is None:
        print_columns(columns, sys.stdout, predicted.dialect)
        return
    with atomic_write(path) as temporary:
        write_columns(columns, path.suffix, temporary, predicted.dialect)


def write_suggestion(suggested: Suggestion) -> None:
    """Write the result of ``lapwing suggest``."""
    with atomic_write(suggested.request.out) as temporary:
        _write_rows(suggested.table, suggested.rows, suggested.request.out, temporary)


def _write_rows(table: Table, rows: NDArray[np.intp], path: Path, temporary: Path) -> None:
    """Write rows to label with all columns of the table, an empty label, and how they were chosen.

    A fit warns if most of its labelled rows were suggested.
    """
    assert table.keys is not None
    content = {table.key: table.ids[rows]}
    if path.suffix.lower() == ".csv":
        texts = row_columns(table, rows.tolist(), exact=True)
        content |= {name: as_text(cells) for name, cells in texts.items()}
    else:
        cells = row_cells(table, rows.tolist())
        decimal = table.dialect.decimal
        content |= {name: numbers_if_plain(column, decimal) for name, column in cells.items()}
    content[table.keys.label] = np.full(len(rows), "", dtype=object)
    content[table.keys.chosen] = np.full(len(rows), SUGGESTED, dtype=object)
    write_columns(content, path.suffix, temporary, table.dialect, "the rows to label next")
