"""Text and numbers of the report."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lapwing._host.terminal import harmless
from lapwing.classes.markers import is_missing

NAME_LENGTH = 40  # letters of the name of a row in a picture or a sentence
_LONGEST = 300  # a cell can hold a whole document


def clean(value: Any, longest: int = _LONGEST) -> str:
    """Convert a value of the user to text that HTML can hold, cut to `longest` letters."""
    text = harmless(str(value))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def label_key(value: Any) -> str:
    """Return a unique text for each label, equal for 3 and 3.0; empty for a missing label."""
    if is_missing(value):
        return ""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def label_text(value: Any) -> str:
    """Convert a label to text that HTML can hold; long labels are cut and may become equal."""
    return clean(label_key(value))


def cut_middle(text: str, length: int) -> str:
    """Cut the middle out of a text, because names in a series differ at their ends."""
    if len(text) <= length:
        return text
    head = length // 2
    return f"{text[:head].rstrip()}…{text[head + 1 - length :].lstrip()}"


def count(value: int) -> str:
    """Format a whole number, with commas between thousands."""
    return f"{int(value):,}"


def plural(n: int, one: str, many: str | None = None) -> str:
    """Format a number with its noun."""
    return f"{count(n)} {one if n == 1 else many or one + 's'}"


def percent(share: float | None) -> str:
    """Format a fraction, negative or not, as a percentage; 0 % and 100 % are exact."""
    if share is None or not math.isfinite(share):
        return "–"
    if 0 < share < 0.001:
        return "<\u00a00.1\u00a0%"
    if -0.001 < share < 0:
        return ">\u00a0-0.1\u00a0%"
    if 0.999 < share < 1:
        return ">\u00a099.9\u00a0%"
    return f"{100 * share:.1f}\u00a0%"


def number(value: float | None) -> str:
    """Format a measured number with three digits."""
    if value is None or not math.isfinite(value):
        return "–"
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.1e}"
    if value == 0:
        return "0"
    return f"{value:#.3g}".rstrip(".") if abs(value) < 999.5 else f"{value:,.0f}"


def tick(value: float) -> str:
    """Format a tick of an axis without trailing zeros."""
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        return f"{value:g}"
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def label_ticks(values: list[float]) -> list[tuple[float, str]]:
    """Return the round ticks of an axis with their texts, all with the digits that they need."""
    texts, digits = [tick(value) for value in values], 6
    while digits < 17 and [float(text.replace(",", "")) for text in texts] != values:
        digits += 1
        texts = [f"{value:.{digits}g}" for value in values]
    return list(zip(values, texts, strict=True))


def finite_or_none(value: float) -> float | None:
    """Return a number that JSON can hold; None for NaN and infinity."""
    return float(value) if math.isfinite(value) else None
