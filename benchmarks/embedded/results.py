"""Results of a set of Tables II and III."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.embedded.grid import Tuning
from benchmarks.embedded.library import Agreement
from benchmarks.shared.stats import Stat


@dataclass(frozen=True)
class SetResult:
    """Results of a set.

    Attributes
    ----------
    name, title : str
        Name in the tables of `paper`, and name shown.
    errors : dict of str to list of float
        Error (%) on the unlabelled points for each split or draw, by the name of a baseline or by
        'method answer choice', such as 'laperls f tuned'.
    chosen : dict of str to Tuning
        Selected settings by 'method answer'.
    curves : dict of str to list of float
        Mean errors against the number of eigenvectors by 'method answer', and 'seconds' of one fit
        of the library; empty without figures.
    agreement : dict of str to Agreement
        Agreement of the grid with the library's estimators by method, on the first split or draw.
    """

    name: str
    title: str
    errors: dict[str, list[float]] = field(default_factory=dict)
    chosen: dict[str, Tuning] = field(default_factory=dict)
    curves: dict[str, list[float]] = field(default_factory=dict)
    agreement: dict[str, Agreement] = field(default_factory=dict)

    def stat(self, key: str) -> Stat | None:
        return Stat.of(self.errors[key]) if key in self.errors else None
