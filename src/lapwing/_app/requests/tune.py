"""Options of ``lapwing tune``."""

from __future__ import annotations

from dataclasses import dataclass

from lapwing._app.methods import AUTO, COMMAND_METHODS, find_method
from lapwing._app.requests.fit import FitRequest
from lapwing._report.findings import Hints


@dataclass(frozen=True, kw_only=True)
class TuneRequest(FitRequest):
    """Options of ``lapwing tune``: those of a fit, by a method that chooses its own parameters."""

    verb = "tune"

    def __post_init__(self) -> None:
        if self.method:
            object.__setattr__(self, "method", _choosing_its_own(find_method(self.method)[0]))
        super().__post_init__()

    def _usual_method(self) -> str:
        return "laprls-cv" if self.settings else AUTO

    @property
    def hints(self) -> Hints:
        """How the next step is taken."""
        return Hints("lapwing suggest writes the rows that tell most.", "lapwing predict")


def _choosing_its_own(name: str) -> str:
    """The method of that name that chooses its own parameters."""
    tuned = name if name.endswith("-cv") or name == AUTO else f"{name}-cv"
    if tuned not in COMMAND_METHODS and tuned != AUTO:
        known = [one.removesuffix("-cv") for one in COMMAND_METHODS if one.endswith("-cv")]
        raise ValueError(
            f"--method {name} has no parameters that tune can choose. Use one of "
            f"{', '.join(known)}."
        )
    return tuned
