"""Options of ``lapwing label``."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from lapwing._app.methods import COMMAND_METHODS
from lapwing._app.requests.base import SIDE, named
from lapwing._app.requests.fit import FitRequest
from lapwing._app.requests.learning import LearningRequest
from lapwing._tables.options import ReadOptions
from lapwing._tables.parts import TABLES

_REPORT = Path("report.html")


@dataclass(frozen=True, kw_only=True)
class LabelRequest(LearningRequest):
    """Options of ``lapwing label``.

    Attributes
    ----------
    text, image : str or None
        Columns that are looked at: a text, and the file name of a picture.
    layout : tuple of str
        Two columns for the map, or none.
    classes : tuple of str
        Classes that are known before any row has a label; as given, with commas between them.
    journal : Path or None
        Where the labels are kept; None means beside the table.
    port : int
        Of the loopback; 0 is any that is free.
    no_browser : bool
        Whether to leave the browser closed.
    """

    verb = "label"

    method: str = "laperls"
    text: str | None = None
    image: str | None = None
    layout: tuple[str, ...] = named("--map", ())
    classes: tuple[str, ...] = ()
    journal: Path | None = None
    port: int = field(default=0, metadata=SIDE)
    no_browser: bool = field(default=False, metadata=SIDE)

    def __post_init__(self) -> None:
        super().__post_init__()
        # Those that choose their parameters would choose them by the two labels of the page's own.
        known = {
            name: one
            for name, one in COMMAND_METHODS.items()
            if hasattr(one.estimator, "suggest") and not one.regression and not name.endswith("-cv")
        }
        if self.chosen not in known.values():
            raise ValueError(
                f"--method {self.method} cannot learn while one labels classes. Use one of "
                f"{', '.join(known)}."
            )
        if self.parameters.get("gamma_I") == 0:
            raise ValueError(
                "--set gamma_I=0 leaves out the graph by which the rows are chosen. Leave it out."
            )
        if self.journal is None and str(self.data[0]) == "-":
            raise ValueError(
                "Standard input has no folder for the labels. Name a file with --journal."
            )

    @property
    def read_options(self) -> ReadOptions:
        """How the table is read."""
        return replace(
            super().read_options, layout=self.layout, shown=self.shown, incomplete=True, absent=True
        )

    @property
    def shown(self) -> tuple[str, ...]:
        """Columns that are looked at and not learnt from."""
        return tuple(dict.fromkeys(name for name in (self.text, self.image) if name is not None))

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names in `classes`."""
        names = (name.strip() for given in self.classes for name in given.split(","))
        return tuple(dict.fromkeys(filter(None, names)))

    @property
    def journal_path(self) -> Path:
        """The file of the labels."""
        if self.journal is not None:
            return self.journal
        return self.data[0].with_name(f"{self.data[0].name}.labels.jsonl")

    def fit_request(self, column: str, *, changed: bool) -> FitRequest:
        """The fit that learns the same way, from the labels that were taken along.

        Parameters
        ----------
        column : str
            What ``labels.csv`` calls the labels.
        changed : bool
            Whether a label of the table itself was changed, which a second file cannot do.
        """
        shared = {one.name: getattr(self, one.name) for one in fields(LearningRequest)}
        drop = (*self.drop, *self.shown)
        by_name = self.labels is None and self.data[0].suffix.lower() in TABLES
        if by_name and not changed:
            shared |= {"data": (*self.data, Path("labels.csv")), "label": column}
        else:
            shared |= {"label": None, "labels": Path("labels.txt")}
            drop = (*drop, column) if changed and self.label is not None else drop
        # Figures that only a report needs: all files are made of one fit.
        return FitRequest(**shared | {"drop": drop, "layout": self.layout}, report=_REPORT)
