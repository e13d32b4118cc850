"""Which answers can be taken over, in words: the same in the report and in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lapwing._report.text import count, percent, plural


def sure_words(volumes: Mapping[str, Any]) -> str:
    """Say how many rows without a label are sure.

    Parameters
    ----------
    volumes : mapping
        With `n_sure`, `n_unsure` and `trust`.
    """
    sure, unsure = volumes["n_sure"], volumes["n_unsure"]
    rows = plural(sure + unsure, "row")
    if not sure:
        which = "the row" if unsure == 1 else f"all {rows}"
        return (
            f"No answer is sure: {which} without a label {'is' if unsure == 1 else 'are'} to check."
        )
    level = volumes["trust"]["level"]
    are = "is" if unsure == 1 else "are"
    return (
        f"{count(sure)} of {rows} without a label {'has' if sure == 1 else 'have'} a sure answer "
        f"({percent(sure / (sure + unsure))}), {count(unsure)} {are} to check. Of the sure "
        f"answers {100 * level:.0f}\u00a0% or more should be right."
    )


def trust_words(trust: Mapping[str, Any] | None) -> str:
    """Say where that comes from, and what it would take to know more."""
    if trust is None:
        return ""
    if not trust["n_needed"]:
        return (
            "Nothing here says how often this method is right: its probabilities rest on other "
            "data. Look at some of the answers. Without --method, lapwing fit learns it from the "
            "labels that it leaves out, where classes have two or more."
        )
    tests = plural(trust["n_tests"], "label")
    origin = f"This comes from {tests} that {'was' if trust['n_tests'] == 1 else 'were'} left out"
    needs = ""
    if trust["level"] != 0.99 or trust["threshold"] is None:
        needs = f" To claim 99\u00a0% takes {count(trust['n_needed'])} labels or more."
    if trust["threshold"] is None:
        return f"{origin}: too few, or too many of them missed, to claim even 90\u00a0%.{needs}"
    return (
        f"{origin}: {percent(trust['expected'])} of the sure answers are expected to be right, "
        f"{percent(trust['low'])} to {percent(trust['high'])} with a probability of 90\u00a0%."
        f"{needs} Look at some of them before you take over all."
    )
