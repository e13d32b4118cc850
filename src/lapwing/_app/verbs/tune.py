"""``lapwing tune``: a fit with parameters chosen by leave-one-out errors."""

from __future__ import annotations

from lapwing._app.requests import TuneRequest
from lapwing._app.verbs.app import verb
from lapwing._app.verbs.fit import fit_table


@verb(
    TuneRequest,
    epilog="Example: [bold]lapwing tune cells.csv --label type --report r.html[/]",
    without=("next_rows", "cluster", "workers"),
)
def tune(request: TuneRequest) -> None:
    """Choose the parameters of a method by leaving out each label in turn, and fit with them.

    Everything else is as in lapwing fit. --set gives the values to try, such as
    --set gamma_Is=0.1,1,10.
    """
    fit_table(request)
