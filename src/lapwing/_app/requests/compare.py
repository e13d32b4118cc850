"""Options of ``lapwing compare``."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from lapwing._app.effort import Effort
from lapwing._app.requests.base import SIDE, FilledRequest, named
from lapwing._app.requests.outputs import Outputs, check_suffix
from lapwing._tables.options import ReadOptions


@dataclass(frozen=True, kw_only=True)
class CompareRequest(FilledRequest):
    """Options of ``lapwing compare``.

    Attributes
    ----------
    max_rows : int
        Most rows that the methods are compared on.
    out : Path or None
        File for the table of methods.
    """

    verb = "compare"

    max_rows: int = named("--rows", Effort.max_samples)
    out: Path | None = field(default=None, metadata=SIDE)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.out is not None:
            check_suffix("--out", self.out, (".csv", ".json", ".html"))

    @property
    def read_options(self) -> ReadOptions:
        """How the table is read."""
        return replace(super().read_options, regression=None)

    @property
    def outputs(self) -> Outputs:
        """The file to write."""
        return Outputs(out=self.out)

    @property
    def effort(self) -> Effort:
        """How much evidence is gathered."""
        return Effort(max_samples=self.max_rows)
