"""What to do next, in one sentence: for the first screen of the report and for the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lapwing._report.text import number, plural, shorten
from lapwing.classes.slips import words_for_none

_NAMED = 3
_ID = 40
# Parts of the graph without a label matter from this share of the points on; smaller ones are
# specks, and labels elsewhere teach more.
_SILENT_SHARE = 0.01


@dataclass(frozen=True)
class Hints:
    """How the next step is taken, on the command line or in Python.

    Attributes
    ----------
    label : str
        A sentence on where the rows to label are found; empty if that is said elsewhere.
    predict : str
        What predicts new rows.
    """

    label: str
    predict: str


def next_step(report: dict[str, Any], notes: list[dict[str, str]], hints: Hints) -> str:
    """Say what helps most.

    Parameters
    ----------
    report : dict
        The sections of a `ReportData`.
    notes : list of dict
        Of `lapwing._report.notes.write_notes`.
    hints : Hints
        How it is taken.

    Returns
    -------
    str
        Sentences.
    """
    grave = [note["text"] for note in notes if note["level"] == "problem"]
    if grave:
        return f"Look at this problem first. {grave[0]}"
    steps = (
        _about_labels(report["rows"]),
        _about_silence(report["graph"]),
        _about_certainty(report, hints),
    )
    return next(step for step in steps if step)


def _about_labels(rows: dict[str, Any]) -> str:
    if not rows.get("n_denied"):
        return ""
    row = rows["denied"][0]
    if words_for_none([str(row["predicted"])]):
        return (
            f"“{row['predicted']}” counts as a class here. If it means no label, mark its rows as "
            "unlabelled (--unlabeled, or unlabeled= in Python), and fit again."
        )
    return (
        f"Check the label of row {_id(row)}: it is “{row['label']}”, but everything else points "
        f"to “{row['predicted']}”. Correct it if it is wrong, and fit again."
    )


def _about_silence(graph: dict[str, Any]) -> str:
    if not graph or graph["points_without"] <= _SILENT_SHARE * graph["n_points"]:
        return ""
    parts = plural(graph["n_without"], "part")
    named = ", ".join(shorten(part["ids"][0], _ID) for part in graph["silent"][:_NAMED])
    one = graph["n_without"] == 1
    return (
        f"Label a row in {'the' if one else 'each of the'} {parts} of the graph that no label "
        f"reaches, such as {named}, and fit again."
    )


def _about_certainty(report: dict[str, Any], hints: Hints) -> str:
    rows, volumes = report["rows"], report["volumes"]
    if report["kind"] == "regression":
        row = rows["residuals"][0]
        return (
            f"Compare row {_id(row)} with your records: its label is {number(row['label'])}, the "
            f"function gives {number(row['predicted'])}, the largest difference of all labels."
        )
    if not rows["least"]:
        return f"Every row has a label. Use the model for new rows: {hints.predict}."
    if not volumes["n_unsure"]:
        return "Look at some of the answers, and use them: all are sure."
    asked = rows["asked"] or rows["least"][: volumes["n_unsure"]]
    named = ", ".join(_id(row) for row in asked[:_NAMED])
    which = "most telling" if rows["asked"] else "least certain"
    return (
        f"Label the {which} rows ({named}{', …' if len(asked) > _NAMED else ''}) and fit "
        f"again. {hints.label}"
    ).strip()


def _id(row: dict[str, Any]) -> str:
    return shorten(row["id"], _ID)
