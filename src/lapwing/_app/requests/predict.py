"""Options of ``lapwing predict``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from lapwing._app.requests.base import SIDE, TableRequest
from lapwing._app.requests.outputs import Outputs


@dataclass(frozen=True, kw_only=True)
class PredictRequest(TableRequest):
    """Options of ``lapwing predict``.

    Attributes
    ----------
    model : Path
        File of the model.
    probabilities : bool
        Whether the predictions have a column of probabilities for each class.
    predictions : Path or None
        The file to write; None means standard output.
    """

    verb = "predict"

    model: Path
    probabilities: bool = False
    predictions: Path | None = field(default=None, metadata=SIDE)

    def __post_init__(self) -> None:
        if self.as_json and self.predictions is None:
            raise ValueError("--json needs --predictions: standard output can be one of both.")

    @property
    def inputs(self) -> tuple[Path, ...]:
        """All files that are read."""
        return (self.model, *self.data)

    @property
    def outputs(self) -> Outputs:
        """The files to write."""
        return Outputs(self.predictions)
