"""Mathematics as MathML, which browsers draw by themselves: no script, no fonts and no network.

MathJax would be a megabyte of script that is fetched while a page is read; pictures of formulas
need TeX where the site is built, and neither follow the reader's font size nor the dark theme.
docutils has the translator. What it cannot translate fails the build.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

# What TeX reads and docutils does not: delimiters of a size that do not say on which side they
# stand, and single characters without braces.
_SIZES = re.compile(r"\\(big|Big|bigg|Bigg)(?=(\\[{}|]|\\[a-z]+|[^a-zA-Z]))")
_BARE = re.compile(r"\\([td]?frac)\s*(\d|[a-zA-Z]\b|\{[^{}]*\})\s*(\d|[a-zA-Z]\b|\{)")
# A bar that belongs to nothing grows with its neighbours; a norm is as high as a letter.
_BAR = re.compile(r'<mo(?: class="math(?:open|close)")?>([‖|∣])</mo>')


def translate(text: str, *, block: bool) -> str:
    """The formula as MathML; `MathError` says what docutils cannot read."""
    text = plain(text)
    # A block of several lines is an array of equations, as in LaTeX's `split`.
    if block and r"\\" in text and r"\begin" not in text:
        text = rf"\begin{{align}}{text}\end{{align}}"
    return _BAR.sub(r'<mo stretchy="false">\1</mo>', latex2mathml.tex2mathml(text, as_block=block))


def plain(text: str) -> str:
    """The same formula as docutils can read it."""

    def sided(match: re.Match[str]) -> str:
        opens = match[2].lstrip("\\") in ("(", "[", "{", "langle", "lfloor", "lceil")
        return rf"\{match[1]}{'l' if opens else 'r'}"

    def braced(match: re.Match[str]) -> str:
        first, second = (part if part[0] == "{" else f"{{{part}}}" for part in match.group(2, 3))
        return rf"\{match[1]}{first}{second}"

    return _BARE.sub(braced, _SIZES.sub(sided, text))


def shown(node: nodes.Element, *, block: bool) -> str:
    """What the page gets; a warning, which ends the build, where a formula has faults."""
    try:
        return translate(node.astext(), block=block)
    except MathError as error:
        logger.warning("cannot translate %r: %s", node.astext(), error, location=node)
        return f"<code>{node.astext()}</code>"


def visit_math(self: Any, node: nodes.math) -> None:
    self.body.append(shown(node, block=False))
    raise nodes.SkipNode


def visit_displaymath(self: Any, node: nodes.math_block) -> None:
    # The box scrolls by itself where a formula is wider than the screen.
    self.body.append(self.starttag(node, "div", CLASS="formula"))
    self.body.append(shown(node, block=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
