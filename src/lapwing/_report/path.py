"""The settings that a fit has tried, and their errors on labels that were left out."""

from __future__ import annotations

import math
from typing import Any

from lapwing._report.text import clean
from lapwing.graphs import KNNGraph
from lapwing.plotting.path import Path
from lapwing.plotting.reading import word_of

_LISTED = 8


def describe_path(estimator: Any, *, repeated: bool = False) -> dict[str, Any]:
    """Give the errors along the path of an estimator that chose its own parameters.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    repeated : bool, default=False
        Whether equal rows have different labels. Then a label that is left out is known from its
        twin, and says nothing of other rows.

    Returns
    -------
    dict
        Empty where there was nothing to choose; otherwise the chosen parameters, the settings of
        least error, and the least error over one or two parameters. "off" is by how much numbers
        that were left out are missed (root mean square) with the chosen parameters; "usual" is
        whether these are the usual ones, as none was better by more than chance.
    """
    results = getattr(estimator, "cv_results_", None)
    if results is None:
        return {}
    chosen = {name: _value(value) for name, value in estimator.best_params_.items()}
    if not results:  # a class has one label, or there is but one: nothing could be left out
        nothing: dict[str, Any] = {"n_settings": 0, "settings": [], "off": None, "usual": True}
        return nothing | {"chosen": chosen, "names": list(chosen)}
    path = Path.of(estimator)
    errors = results["left_out_squared_error"]
    missed = results.get("left_out_error")
    order = sorted(range(len(errors)), key=lambda k: (not math.isfinite(errors[k]), errors[k], k))
    varied = [name for name in chosen if _varies(results["params"], name)]
    return {
        "chosen": chosen,
        "n_settings": len(errors),
        "names": varied,
        "off": None
        if missed is not None or repeated
        else _finite(math.sqrt(-estimator.best_score_)),
        "usual": repr(results["params"][order[0]]) != repr(estimator.best_params_),
        "settings": [
            {
                "values": [_value(results["params"][k][name]) for name in varied],
                "error": _finite(errors[k]),
                "missed": None if missed is None else _finite(missed[k]),
            }
            for k in order[:_LISTED]
        ],
        "axes": [clean(name) for name in path.parameters],
        "steps": [[_value(value) for value in axis] for axis in path.values],
        "errors": [_finite(v) for v in path.errors.ravel()],
        "best": [int(place) for place in path.best],
    }


def _varies(settings: Any, name: str) -> bool:
    return len({repr(params[name]) for params in settings}) > 1


def _value(value: Any) -> str:
    if isinstance(value, KNNGraph):  # a table has no room for its call
        kind = ", not normalised" if value.normalized is False else ""
        return f"{value.n_neighbors} neighbours, power {value.power}{kind}"
    return clean(word_of(value))


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
