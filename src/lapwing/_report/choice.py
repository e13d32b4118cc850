"""How a method was chosen among others: the figures of a comparison, and their words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from lapwing._report.templates import open_page
from lapwing._report.text import clean, count, percent

# What a reader sees of a candidate: keys of `words_of_row`, and their headings.
CHOICE_COLUMNS = {
    "name": "method",
    "error": "wrong",
    "interval": "90 % interval",
    "missed": "missed",
    "changed": "changed",
}


def describe_choice(chosen: Any) -> dict[str, Any]:
    """Say how the method of a fit was chosen.

    Parameters
    ----------
    chosen : object or None
        With `comparison`, `skipped` and `words`, as `lapwing._app.choosing.Chosen`.

    Returns
    -------
    dict
        Empty where the user named the method.
    """
    if chosen is None or (chosen.comparison is None and not chosen.words):
        return {}
    skipped = [clean(name) for name in chosen.skipped]
    found: dict[str, Any] = {"words": clean(chosen.words), "skipped": skipped, "methods": []}
    return found if chosen.comparison is None else found | describe_comparison(chosen.comparison)


def describe_comparison(comparison: Any) -> dict[str, Any]:
    """Give the figures of a `lapwing.model_selection.Comparison`, the chosen method first.

    Times are no part of them: they differ from run to run.
    """
    return {
        "verdict": clean(comparison.verdict, 2000),
        "notes": [clean(note, 2000) for note in comparison.notes],
        "n_labeled": int(comparison.n_labeled),
        "n_used": int(comparison.n_used),
        "n_samples": int(comparison.n_samples),
        "methods": [_describe(row) for row in comparison.table],
    }


def estimate_words(choice: Mapping[str, Any]) -> str:
    """How many answers are wrong by a comparison; empty where there was none."""
    if not choice or not choice["methods"]:
        return ""
    best = choice["methods"][0]
    return (
        f"About {100 * best['error']:.0f}\u00a0% of the answers are wrong by the estimate of the "
        f"comparison, {100 * best['low']:.0f} to {100 * best['high']:.0f}\u00a0% with a "
        "probability of 90\u00a0%."
    )


def words_of_row(row: dict[str, Any]) -> dict[str, str]:
    """The cells of a candidate, by the keys of `CHOICE_COLUMNS`."""
    missed = "–"
    if row["n_left_out"]:
        missed = f"{round(row['left_out_error'] * row['n_left_out'])} of {row['n_left_out']}"
    return {
        "name": row["name"],
        "error": f"{100 * row['error']:.0f}\u00a0%",
        "interval": f"{100 * row['low']:.0f} to {100 * row['high']:.0f}\u00a0%",
        "missed": missed,
        "changed": "–" if row["changed"] is None else percent(row["changed"]),
    }


def render_comparison(summary: Mapping[str, Any]) -> str:
    """Write the page of a comparison: its table, what follows, and the commands.

    Parameters
    ----------
    summary : mapping
        `describe_comparison`, with `source`, and a `command` and `seconds` of each method.

    Raises
    ------
    ImportError
        If jinja2 is not installed.
    """
    page = open_page("choice.html", "A comparison as .html")
    page.environment.globals |= {"choice_columns": CHOICE_COLUMNS, "choice_row": words_of_row}
    page.environment.filters["count"] = count
    return page.render(summary)


def _describe(row: Any) -> dict[str, Any]:
    def known(value: float) -> float | None:
        return float(value) if math.isfinite(value) else None

    low, high = row.error_interval
    return {
        "name": clean(row.name),
        "assumption": clean(row.assumption),
        "error": float(row.error),
        "low": float(low),
        "high": float(high),
        "left_out_error": known(row.left_out_error),
        "n_left_out": int(row.n_left_out),
        "changed": known(row.reproducibility),
        "smallest_share": float(row.smallest_share),
        "labels_kept": float(row.fitted),
        "objection": clean(row.objection),
    }
