"""Pictures of the report, each with a text alternative for screen readers."""

from __future__ import annotations

from lapwing._report import svg
from lapwing._report.record import ReportData
from lapwing._report.text import count, number, shorten

_NAME = 24  # letters of a class beside its row


def draw_all(data: ReportData) -> dict[str, str]:
    """Draw the pictures of the page.

    Parameters
    ----------
    data : ReportData
        The figures.

    Returns
    -------
    dict of str to str
        SVG by name, without pictures that the data have no figures for.
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
            text="Difference of the best and the second best score; near 0 is undecided.",
        )
    calibration = data.rows.get("left_out", {}).get("calibration")
    if calibration:
        shown["calibration"] = svg.draw_calibration(
            "calibration",
            calibration,
            title="Share of right answers over their probability",
            text="Labels that were left out, in groups of equal size; lines are 90 % intervals.",
        )
    if data.kind == "regression":
        shown["volumes"] = svg.draw_bars(
            "volumes",
            data.volumes["histogram"],
            x_title="value",
            y_title="share",
            title="Distribution of the labels and of the predictions",
            text="Bars: predictions of all rows. Line: the labels.",
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
                bands=data.truth["intervals"],
                title="Predicted over true values",
                text="Each point is an unlabelled row; on the line, both are equal."
                + (" The strokes are prediction intervals." if data.truth["intervals"] else ""),
            )
    if data.graph:
        degree = data.graph["degree"]
        shown["degree"] = svg.draw_bars(
            "degree",
            degree,
            x_title="neighbours",
            y_title="points",
            title="Neighbours of a point in the graph",
            text=f"From {degree['min']} to {degree['max']}, median {degree['median']:g}.",
        )
    for name, values in data.convergence["history"].items():
        drawing = svg.draw_history(
            f"history-{len(shown)}", values, name=name, n_iter=data.convergence["n_iter"]
        )
        if drawing:
            shown[f"history {name}"] = drawing
    return shown


def _draw_map(data: ReportData) -> str:
    regression = data.kind == "regression"
    look = "shade by predicted value" if regression else "colour and shape by predicted class"
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
        text=f"Each sign is a row, {look}; stars are labelled rows. The figures are in the tables.",
    )


def _tips(data: ReportData, groups: list[int], regression: bool) -> list[svg.Tooltip]:
    """Return tooltips of the map's points; the keyboard reaches rows that the page lists."""
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


def _draw_twin(data: ReportData) -> str:
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
