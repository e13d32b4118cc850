"""Pictures of the rows of a report, each with a text alternative for screen readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lapwing._report import svg
from lapwing._report.text import count, number, shorten

_NAME = 24  # characters of a class name beside its row


def draw_rows(kind: str, places: dict[str, Any], rows: Mapping[str, Any]) -> str:
    """Draw the map; the tooltips of listed rows are accessible by keyboard.

    Parameters
    ----------
    kind, places, rows
        The kind, the map and the rows of a `lapwing._report.record.ReportData`.
    """
    regression = kind == "regression"
    look = "shade by predicted value" if regression else "colour and shape by predicted class"
    listed = {row["row"] for row in rows["residuals" if regression else "least"]}
    tips = []
    for i, row in enumerate(places["rows"]):
        value, known = number(places["values"][i]), places["labeled"][i]
        if regression:
            words = f"{'label' if known else 'predicted'} {value}"
        else:
            name = shorten(places["names"][places["group"][i]], _NAME)
            words = f"{'label ' if known else ''}{name}, margin {value}"
        tips.append(svg.Tooltip(f"row {places['ids'][i]}", words, row in listed))
    return svg.draw_map(
        "map",
        places,
        places["group"],
        strength=places["strength"],
        labeled=places["labeled"],
        ringed=places["wrong"],
        names=() if regression else places["names"],
        shaded=regression,
        tips=tips,
        title=f"Map of {count(places['shown'])} rows",
        text=f"Each sign is a row, {look}; stars are labelled rows. The figures are in the tables.",
    )


def draw_twin(places: dict[str, Any]) -> str:
    """Draw the map with the classes of the supervised twin."""
    names = [shorten(name, _NAME) for name in places["names"]]
    rows = zip(places["ids"], places["twin"], places["group"], strict=True)
    tips = [
        None
        if theirs == ours
        else svg.Tooltip(f"row {row}", f"twin {names[theirs]}, here {names[ours]}", False)
        for row, theirs, ours in rows
    ]
    differs = [tip is not None for tip in tips]
    return svg.draw_map(
        "twin-map",
        places,
        places["twin"],
        strength=[2 if d else 1 for d in differs],
        labeled=places["labeled"],
        names=places["names"],
        tips=tips,
        title="The same map with the supervised twin’s classes",
        text=f"{count(sum(differs))} of the drawn rows differ from the map above.",
    )
