"""Options of the verbs that fit a method."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import Field, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from lapwing._app.methods import AUTO, CommandMethod, find_method
from lapwing._app.requests.base import FilledRequest, named
from lapwing._app.settings import parse_settings
from lapwing._tables.options import ReadOptions

# A parameter is one of a method that has to be known.
METHOD_OF_SETTINGS = "lapsvc"


@dataclass(frozen=True, kw_only=True)
class LearningRequest(FilledRequest):
    """Options of the verbs that fit a method to a table.

    Attributes
    ----------
    method : str
        A name in `METHODS`; that of an estimator is replaced by it. Empty means the usual one of
        the verb.
    settings : tuple of str
        ``name=value`` each.
    """

    method: str = ""
    settings: tuple[str, ...] = named("--set", ())

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", find_method(self.method or self._usual_method())[0])
        super().__post_init__()
        self.parameters  # noqa: B018 - a wrong --set is told before a file is read

    def _usual_method(self) -> str:
        """The method if none is named."""
        return METHOD_OF_SETTINGS

    def _usual(self, one: Field[Any]) -> Any:
        return self._usual_method() if one.name == "method" else super()._usual(one)

    @property
    def automatic(self) -> bool:
        """Whether the method is chosen by the table."""
        return self.method == AUTO

    @property
    def read_options(self) -> ReadOptions:
        """How the table is read."""
        regression = None if self.automatic else self.chosen.regression
        return replace(super().read_options, regression=regression)

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """Values that ``--set`` gives, by name."""
        return parse_settings(self.settings, self.chosen)

    @property
    def chosen(self) -> CommandMethod:
        """The method."""
        return find_method(self.method)[1]


def following(path: Path) -> Path:
    """The file of the next round: next.csv, next-2.csv, next-3.csv."""
    numbered = re.search(r"-(\d+)$", path.stem)
    stem = path.stem[: numbered.start()] if numbered else path.stem
    return path.with_stem(f"{stem}-{int(numbered[1]) + 1 if numbered else 2}")
