"""From options to files: what the verbs of the command line do besides fitting."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lapwing._app import fitting
from lapwing._app.fitting import IMPUTES, METHODS, SCALES, Outcome
from lapwing._host.files import atomic_writes, check_writable
from lapwing._host.optional import require
from lapwing._report.page import collect, render
from lapwing._tables.columns import CATEGORICAL, quoted
from lapwing._tables.options import ReadOptions
from lapwing._tables.predictions import Predictions, check_output, write_predictions
from lapwing._tables.tables import Fitted, Table, read_points
from lapwing.exceptions import LapwingWarning
from lapwing.models import Model, ModelFileError, load_model, save_model
from lapwing.onnx_export import save_onnx

__all__ = [
    "Outputs",
    "answer",
    "check_choices",
    "load",
    "read_for",
    "render_report",
    "summary",
    "write_outputs",
    "write_predictions",
]

_SUFFIXES = {"report": (".html", ".htm"), "onnx": (".onnx",)}
_EXTRAS = {
    "model": ("skops.io", "model"),
    "report": ("jinja2", "report"),
    "onnx": ("onnx", "onnx"),
}


@dataclass(frozen=True)
class Outputs:
    """The files that a verb shall write; None for those that it shall not."""

    predictions: Path | None = None
    model: Path | None = None
    report: Path | None = None
    onnx: Path | None = None

    @property
    def wants_report(self) -> bool:
        """Whether the figures of a report are needed; a model carries them."""
        return self.model is not None or self.report is not None

    def named(self) -> dict[str, str]:
        """Give the files as the user named them, by what they hold."""
        return {name: str(path) for name, path in vars(self).items() if path is not None}

    def check(self, inputs: Sequence[Path]) -> None:
        """Check before the work that all can be written.

        Raises
        ------
        ValueError
            If an extension is wrong, a place cannot be written, or a file is named twice.
        ImportError
            If a package is missing that writes one of them.
        """
        taken = {os.path.realpath(path): "the input" for path in inputs if str(path) != "-"}
        for name, path in vars(self).items():
            if path is None:
                continue
            if name == "predictions":
                check_output(path)
            elif path.suffix.lower() not in _SUFFIXES.get(name, (path.suffix.lower(),)):
                wanted = " or ".join(_SUFFIXES[name])
                raise ValueError(f"cannot write {path}: the extension of a {name} is {wanted}.")
            check_writable(path)
            if name in _EXTRAS:
                module, extra = _EXTRAS[name]
                require(module, extra=extra, purpose=f"--{name}")
            real = os.path.realpath(path)
            if real in taken:
                raise ValueError(f"--{name} {path} is {taken[real]} itself; name another file.")
            taken[real] = f"--{name}"


def check_choices(scale: str, impute: str) -> None:
    """Check options of few values before a table is read for them."""
    for option, value, known in (("--scale", scale, SCALES), ("--impute", impute, IMPUTES)):
        if value not in known:
            raise ValueError(f"{option} {value!r} is none of {', '.join(known)}.")


def write_outputs(
    outcome: Outcome,
    outputs: Outputs,
    impute: str,
    command: str,
    layout: Sequence[str],
    truth: str | None,
) -> None:
    """Write all files of a fit, or none.

    Parameters
    ----------
    outcome : Outcome
        The fit.
    outputs : Outputs
        Where to write.
    impute : str
        What took the place of missing numbers.
    command : str
        What repeats the fit.
    layout : sequence of str
        Names of the map's columns.
    truth : str or None
        Name of the column of known answers.
    """
    data = None
    if outputs.wants_report:
        table = outcome.table
        data = collect(
            outcome,
            truth=None if table.truth is None else _known(table),
            truth_name=truth or "",
            embedding=table.layout,
            embedding_names=list(layout) or None,
            source=table.source,
            command=command,
        )
    wanted = [Path(path) for path in outputs.named().values()]
    with atomic_writes(wanted) as temporaries:
        place = dict(zip(outputs.named(), temporaries, strict=True))
        if outputs.predictions is not None:
            write_predictions(outcome.predictions, outputs.predictions, place["predictions"])
        if outputs.model is not None:
            save_model(Model(outcome.pipeline, _describe(outcome, impute), data), place["model"])
        if outputs.report is not None and data is not None:
            place["report"].write_text(render(data), encoding="utf-8", newline="\n")
        if outputs.onnx is not None:
            save_onnx(outcome.pipeline, place["onnx"])


def summary(outcome: Outcome) -> dict[str, Any]:
    """What `lapwing fit --json` prints of a fit."""
    rows, table = outcome.predictions, outcome.table
    estimator = outcome.pipeline[-1]
    found: dict[str, Any] = {
        "source": table.source,
        "method": outcome.method,
        "parameters": outcome.parameters,
        "rows": int(rows.label.size),
        "labeled": int(np.count_nonzero(rows.was_labeled)),
        "features": list(table.feature_names),
        "scaling": outcome.scaling,
        "seed": outcome.seed,
        "solver": getattr(estimator, "solver_", "lbfgs"),
        "iterations": int(np.max(estimator.n_iter_)),
        "seconds": round(outcome.seconds, 3),
    }
    if rows.classes is not None and rows.margin is not None:
        found["predicted"] = {str(c): int(np.count_nonzero(rows.label == c)) for c in rows.classes}
        found["median_margin"] = float(np.median(rows.margin))
    if table.truth is not None:
        found["error"] = _error(rows, table)
    return found


def load(path: Path) -> Model:
    """Load a model that `lapwing fit` has made."""
    model = load_model(path)
    needed = ("method", "feature_names", "kinds")
    if any(key not in model.info for key in needed) or model.info["method"] not in METHODS:
        raise ModelFileError(
            f"{path} was not made by lapwing fit: it does not say which columns it takes. Load it "
            "in Python with lapwing.models.load_model."
        )
    return model


def read_for(model: Model, data: Sequence[Path], id_column: str | None) -> Table:
    """Read the table whose rows a model shall predict.

    Parameters
    ----------
    model : Model
        From `load`.
    data : sequence of Path
        The files.
    id_column : str or None
        None means the one of the fit if the table has it.
    """
    info = model.info
    table = read_points(data, Fitted.from_info(info), ReadOptions(id=id_column, strict=True))
    _warn_of_new_values(model, table)
    return table


def answer(model: Model, table: Table) -> Predictions:
    """Predict the rows of a table."""
    regression = METHODS[model.info["method"]].regression
    return fitting.predict(model.pipeline, table, regression=regression)


def render_report(model: Model, path: Path) -> str:
    """Write the page of a model's report."""
    if model.report is None:
        raise ValueError(f"{path} holds no report; fit the model again with lapwing fit --model.")
    return render(model.report)


def _describe(outcome: Outcome, impute: str) -> dict[str, Any]:
    table = outcome.table
    classes = outcome.predictions.classes
    regression = METHODS[outcome.method].regression
    return {
        "method": outcome.method,
        "parameters": outcome.parameters,
        **table.describe(),
        # NaN, the marker of regression, is no JSON.
        "unlabeled": None if regression else table.unlabeled,
        "classes": None if classes is None else classes.tolist(),
        "regression": regression,
        "seed": outcome.seed,
        "scaling": outcome.scaling,
        "impute": impute,
        "n_rows": int(table.labeled.size),
        "n_labeled": int(np.count_nonzero(table.labeled)),
    }


def _known(table: Table) -> list[Any]:
    """The truth as a list, None where it is not known."""
    assert table.truth is not None
    blank = table.unlabeled
    return [None if v == blank or v != v else v for v in table.truth.tolist()]


def _error(rows: Predictions, table: Table) -> dict[str, Any]:
    """How wrong the answers for rows without a label are, where the truth is known."""
    known = np.array([v is not None for v in _known(table)])
    asked = known & ~rows.was_labeled
    found: dict[str, Any] = {"rows": int(asked.sum())}
    if not asked.any() or table.truth is None:
        return found
    if rows.classes is None:
        difference = rows.label[asked] - table.truth[asked]
        return found | {"root_mean_square": float(np.sqrt(np.mean(difference**2)))}
    return found | {"share_wrong": float(np.mean(rows.label[asked] != table.truth[asked]))}


def _warn_of_new_values(model: Model, table: Table) -> None:
    names = [
        name
        for name, kind in zip(table.feature_names, table.kinds, strict=True)
        if kind == CATEGORICAL
    ]
    if not names:
        return
    encoder = model.pipeline.named_steps["columns"].named_transformers_["categorical"]
    for name, known in zip(encoder.feature_names_in_, encoder.categories_, strict=True):
        seen = set(table.X[str(name)].unique().to_list())
        new = sorted(str(value) for value in seen - set(known.tolist()))
        if new:
            warnings.warn(
                f"{table.source}: {quoted(new)} in {str(name)!r} was not there when the model was "
                "fitted, and counts as none of the known values.",
                LapwingWarning,
                stacklevel=2,
            )
