"""Options of ``lapwing suggest``."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from lapwing._app.requests.base import SIDE, named
from lapwing._app.requests.fit import FitRequest
from lapwing._app.requests.learning import LearningRequest, following
from lapwing._app.requests.outputs import Outputs, check_suffix
from lapwing._tables.options import ReadOptions


@dataclass(frozen=True, kw_only=True)
class SuggestRequest(LearningRequest):
    """Options of ``lapwing suggest``.

    Attributes
    ----------
    n_rows : int
        How many rows to ask for.
    out : Path
        The file to write.
    """

    verb = "suggest"

    n_rows: int = named("--rows", 10)
    out: Path = field(metadata=SIDE)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_suffix("--out", self.out, (".csv",))

    @property
    def read_options(self) -> ReadOptions:
        """How the table is read."""
        return replace(super().read_options, incomplete=True)

    @property
    def outputs(self) -> Outputs:
        """The file to write."""
        return Outputs(out=self.out)

    @property
    def next_command(self) -> str:
        """The command that asks for more rows when those of `out` are filled in."""
        return replace(self, data=(*self.data, self.out), out=following(self.out)).full_command

    @property
    def answer_command(self) -> str:
        """The command that fits with them, by the usual method if none was named."""
        shared = {one.name: getattr(self, one.name) for one in fields(LearningRequest)}
        if self.method == self._usual_method() and not self.settings:
            shared["method"] = ""
        return FitRequest(**shared | {"data": (*self.data, self.out)}).full_command
