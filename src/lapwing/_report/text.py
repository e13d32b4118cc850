"""Text, numbers and templates of the report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from lapwing._host.modules import require
from lapwing._host.terminal import harmless

_LONGEST = 300  # a cell can hold a whole document; nobody reads it in a table of the report


def clean(value: Any, longest: int = _LONGEST) -> str:
    """Turn a user's value to text that HTML can hold, cut where it is too long for a table."""
    text = harmless(str(value))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def label_text(value: Any) -> str:
    """Give a label as text, the same for 3 and 3.0; empty where there is none."""
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return clean(value)


def shorten(text: str, length: int) -> str:
    """Cut a text for a picture in its middle: names in a series differ at their ends."""
    if len(text) <= length:
        return text
    head = length // 2
    return f"{text[:head].rstrip()}…{text[head + 1 - length :].lstrip()}"


def count(value: int) -> str:
    """Write a number of things, with commas between thousands."""
    return f"{int(value):,}"


def plural(n: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun."""
    return f"{count(n)} {one if n == 1 else many or one + 's'}"


def percent(share: float | None) -> str:
    """Write a share; never 0 % or 100 % for what is not quite none or all."""
    if share is None or not math.isfinite(share):
        return "–"
    if 0 < share < 0.001:
        return "<\u00a00.1\u00a0%"
    if 0.999 < share < 1:
        return ">\u00a099.9\u00a0%"
    return f"{100 * share:.1f}\u00a0%"


def number(value: float | None) -> str:
    """Write a measured number with three digits."""
    if value is None or not math.isfinite(value):
        return "–"
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.1e}"
    if value == 0:
        return "0"
    return f"{value:#.3g}".rstrip(".") if abs(value) < 999.5 else f"{value:,.0f}"


def tick(value: float) -> str:
    """Write a round number at an axis, with no more digits than it has."""
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        return f"{value:g}"
    return f"{value:,.6f}".rstrip("0").rstrip(".")


class Page(NamedTuple):
    """A template before it is filled.

    Attributes
    ----------
    environment : jinja2.Environment
        Everything a user wrote passes through its escaping. Filters and names may be added.
    text : str
        Of the template.
    style : markupsafe.Markup
        That all pages have.
    """

    environment: Any
    text: str
    style: Any

    def render(self, words: Mapping[str, Any], **more: Any) -> str:
        """Fill the template."""
        template = self.environment.from_string(self.text)
        found: str = template.render(words, style=self.style, **more)
        return found


def open_page(name: str, purpose: str) -> Page:
    """Read a template and the style of all pages.

    Parameters
    ----------
    name : str
        Of a file in this folder.
    purpose : str
        Of the page, for the message.

    Raises
    ------
    ImportError
        If jinja2 is not installed.
    """
    jinja2 = require("jinja2", extra="report", purpose=purpose)
    files = resources.files("lapwing._report")
    text, style = (files.joinpath(one).read_text(encoding="utf-8") for one in (name, "style.css"))
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return Page(environment, text, jinja2.utils.markupsafe.Markup(style))
