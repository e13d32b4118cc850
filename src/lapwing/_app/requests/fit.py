"""Options of ``lapwing fit``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from lapwing._app.methods import AUTO, CommandMethod
from lapwing._app.requests.base import SIDE, FilledRequest, named
from lapwing._app.requests.learning import METHOD_OF_SETTINGS, LearningRequest, following
from lapwing._app.requests.outputs import Outputs
from lapwing._report.findings import Hints
from lapwing._tables.checks import Advice
from lapwing._tables.options import ReadOptions
from lapwing._tables.words import shorten

# What fits a table if nobody says more.
DEFAULT_METHOD = AUTO


@dataclass(frozen=True, kw_only=True)
class FitRequest(LearningRequest):
    """Options of ``lapwing fit``.

    Attributes
    ----------
    truth : str or None
        Column with known answers.
    layout : tuple of str
        Two columns for the report's map, or none.
    probabilities : bool
        Whether the predictions have a column of probabilities for each class.
    cluster : str or None
        Address of a Dask scheduler to fit on.
    workers : int or None
        Processes of this machine to fit on.
    predictions, model, report, onnx, next_rows : Path or None
        The files to write.
    """

    verb = "fit"

    truth: str | None = None
    layout: tuple[str, ...] = named("--map", ())
    probabilities: bool = False
    cluster: str | None = None
    workers: int | None = None
    predictions: Path | None = field(default=None, metadata=SIDE)
    model: Path | None = field(default=None, metadata=SIDE)
    report: Path | None = field(default=None, metadata=SIDE)
    onnx: Path | None = field(default=None, metadata=SIDE)
    next_rows: Path | None = field(default=None, metadata=SIDE | {"flag": "--next"})

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_cluster()
        self.check_method(self.chosen, self.parameters)

    @property
    def distributed(self) -> bool:
        """Whether the fit runs on a cluster."""
        return self.cluster is not None or self.workers is not None

    def _check_cluster(self) -> None:
        if not self.distributed:
            return
        flag = "--workers" if self.cluster is None else "--cluster"
        if self.cluster is not None and self.workers is not None:
            raise ValueError("Give --cluster ADDRESS or --workers N, not both.")
        if self.automatic:
            raise ValueError(
                f"{flag} needs a method by name, as trying several would fit each: use --method "
                "laperls or anchors."
            )
        if self.next_rows is not None:
            raise ValueError(
                f"--next: the rows to label next are not found on a cluster. Leave out {flag}."
            )

    def _usual_method(self) -> str:
        return METHOD_OF_SETTINGS if self.settings else DEFAULT_METHOD

    def check_method(self, method: CommandMethod, parameters: Mapping[str, Any]) -> None:
        """Check that a method with these parameters can give what is asked for.

        Raises
        ------
        ValueError
            If a file is asked for that it cannot make.
        """
        lack = method.lacks_onnx(parameters)
        if self.onnx is not None and lack:
            raise ValueError(f"--onnx: {method.name} cannot be exported to ONNX: {lack}.")

    @property
    def read_options(self) -> ReadOptions:
        """How the table is read."""
        return replace(super().read_options, truth=self.truth, layout=self.layout)

    @property
    def outputs(self) -> Outputs:
        """The files to write."""
        return Outputs(self.predictions, self.model, self.report, self.onnx, self.next_rows)

    @property
    def hints(self) -> Hints:
        """How the next step is taken."""
        where = "--next next.csv writes ten rows that tell more together."
        if self.next_rows is not None:
            where = f"They are in {shorten(str(self.next_rows))}."
        return Hints(where, "lapwing predict")

    @property
    def next_command(self) -> str:
        """The command that fits again with the file of `next_rows` filled in."""
        assert self.next_rows is not None
        again = replace(
            self, data=(*self.data, self.next_rows), next_rows=following(self.next_rows)
        )
        return again.full_command

    @property
    def wants_report(self) -> bool:
        """Whether the figures of a report are needed; a model carries them."""
        return self.model is not None or self.report is not None


def fit_command(request: FilledRequest, method: str, settings: Sequence[str] = ()) -> str:
    """The command that fits the same table with a method and its settings.

    Parameters
    ----------
    request : FilledRequest
        Of a fit, whose files it writes too, or of another verb.
    method : str
        In `COMMAND_METHODS`.
    settings : sequence of str
        ``name=value`` each.
    """
    kept = FitRequest if isinstance(request, FitRequest) else FilledRequest
    shared = {one.name: getattr(request, one.name) for one in fields(kept)}
    again = shared | {"method": method, "settings": tuple(settings)}
    return FitRequest(**again).full_command


def advice_of(request: FilledRequest) -> Advice:
    """How messages about the labels of a table say what to run."""
    return Advice(request.command_without, lambda method: f"run: {fit_command(request, method)}")
