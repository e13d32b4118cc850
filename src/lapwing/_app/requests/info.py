"""Options of ``lapwing info``."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields
from pathlib import Path

from lapwing._app.requests.base import LabeledRequest
from lapwing._app.requests.fit import FitRequest


@dataclass(frozen=True, kw_only=True)
class InfoRequest(LabeledRequest):
    """Options of ``lapwing info``.

    Attributes
    ----------
    n_neighbors : int
        Of the graph that is looked at.
    """

    verb = "info"

    n_neighbors: int = 5

    def fit_command(self, label: str | None, id_column: str | None) -> str:
        """The command that fits the table, to be pasted into a shell.

        Parameters
        ----------
        label, id_column : str or None
            Columns that look like it, where the request names none.
        """
        shared = {one.name: getattr(self, one.name) for one in fields(LabeledRequest)}
        if self.label is None and self.labels is None:
            shared["label"] = label
        shared["id_column"] = self.id_column or id_column
        request = FitRequest(**shared, predictions=Path("predictions.csv"))
        words = ["lapwing", "fit", *map(str, self.data), *request._words(brief=True)]
        return shlex.join([*words, "--predictions", str(request.predictions)])
