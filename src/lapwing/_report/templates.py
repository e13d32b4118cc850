"""Pages of HTML: what their templates have in common."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any, NamedTuple

from lapwing._host.optional import require


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
