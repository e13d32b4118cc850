"""Pictures of the report, each with a description for those who do not see it."""

from __future__ import annotations

import math
from typing import Any

from lapwing._report import svg
from lapwing._report.text import clean, count, number, shorten
from lapwing.graphs import KNNGraph
from lapwing.plotting.drawing import word_of
from lapwing.plotting.path import Path

_NAME = 24  # letters of a class beside its row

_LISTED = 8


def draw_all(data: Any) -> dict[str, str]:
    """Draw the pictures of the page.

    Parameters
    ----------
    data : ReportData
        The figures.

    Returns
    -------
    dict of str to str
        SVG by name; pictures without figures are left out.
    """
    shown = {"map": _draw_map(data)}
    if data.kind == "classification" and data.map["twin"]:
        shown["twin"] = _draw_twin(data)
    if data.rows.get("margins"):
        shown["margins"] = svg.draw_bars(
            "margins",
            data.rows["margins"],
            x_title="margin",
            y_title="unlabelled rows",
            title="Margins of the unlabelled rows",
            text="How far the best score is ahead of the second; near 0 is undecided.",
        )
    if data.kind == "regression":
        shown["volumes"] = svg.draw_bars(
            "volumes",
            data.volumes["histogram"],
            x_title="value",
            y_title="share",
            title="Distribution of the labels and of the predictions",
            text="Bars: predictions of all rows. Line: the labels that were given.",
        )
        if data.truth.get("n"):
            shown["truth"] = svg.draw_scatter(
                "truth-map",
                data.truth["truth"],
                data.truth["predicted"],
                tips=[
                    svg.Tooltip(f"row {name}", f"true {number(t)}, predicted {number(p)}", False)
                    for name, t, p in zip(
                        data.truth["ids"], data.truth["truth"], data.truth["predicted"], strict=True
                    )
                ],
                title="Predicted over true values",
                text="Each point is an unlabelled row; on the line they are equal.",
            )
    if data.graph:
        degree = data.graph["degree"]
        shown["degree"] = svg.draw_bars(
            "degree",
            degree,
            x_title="neighbours",
            y_title="points",
            title="Neighbours a point in the graph",
            text=f"From {degree['min']} to {degree['max']}, median {degree['median']:g}.",
        )
    for name, values in data.convergence["history"].items():
        drawing = svg.draw_history(
            f"history-{len(shown)}", values, name=name, n_iter=data.convergence["n_iter"]
        )
        if drawing:
            shown[f"history {name}"] = drawing
    return shown


def _draw_map(data: Any) -> str:
    regression = data.kind == "regression"
    what = "shade by predicted value" if regression else "colour and shape by predicted class"
    return svg.draw_map(
        "map",
        data.map,
        data.map["group"],
        strength=data.map["strength"],
        labeled=data.map["labeled"],
        ringed=data.map["wrong"],
        names=() if regression else data.map["names"],
        shaded=regression,
        tips=_tips(data, data.map["group"], regression),
        title=f"Map of {count(data.map['shown'])} rows",
        text=f"Each sign is a row, {what}; stars are labelled rows. The figures are in the tables.",
    )


def _tips(data: Any, groups: list[int], regression: bool) -> list[svg.Tooltip]:
    """Return the tooltips of the map's points; the keyboard reaches those that are listed."""
    shown = data.rows["residuals"] if regression else data.rows["least"]
    listed = {row["row"] for row in shown}
    found = []
    for i, row in enumerate(data.map["rows"]):
        value, known = number(data.map["values"][i]), data.map["labeled"][i]
        if regression:
            words = f"{'label' if known else 'predicted'} {value}"
        else:
            name = shorten(data.map["names"][groups[i]], _NAME)
            words = f"{'label ' if known else ''}{name}, margin {value}"
        found.append(svg.Tooltip(f"row {data.map['ids'][i]}", words, row in listed))
    return found


def _draw_twin(data: Any) -> str:
    differs = [a != b for a, b in zip(data.map["group"], data.map["twin"], strict=True)]
    names = [shorten(name, _NAME) for name in data.map["names"]]
    tips = [
        svg.Tooltip(f"row {name}", f"twin {names[theirs]}, here {names[ours]}", False)
        for name, theirs, ours in zip(
            data.map["ids"], data.map["twin"], data.map["group"], strict=True
        )
    ]
    return svg.draw_map(
        "twin-map",
        data.map,
        data.map["twin"],
        strength=[2 if d else 1 for d in differs],
        labeled=data.map["labeled"],
        names=data.map["names"],
        tips=[tip if d else None for tip, d in zip(tips, differs, strict=True)],
        title="The same map with the supervised twin’s classes",
        text=f"{count(sum(differs))} of the drawn rows differ from the map above.",
    )


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
