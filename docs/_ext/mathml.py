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


def translated(node: nodes.Element, *, block: bool) -> str:
    """The formula of a node as MathML; a warning, which ends the build, where it has faults."""
    text = plain(node.astext())
    try:
        # A block of several lines is an array of equations, as in LaTeX's `split`.
        if block and "\\\\" in text and "\\begin" not in text:
            text = rf"\begin{{align}}{text}\end{{align}}"
        return latex2mathml.tex2mathml(text, as_block=block)
    except MathError as error:
        logger.warning("cannot translate the formula %r: %s", text, error, location=node)
        return f"<code>{text}</code>"


# What TeX reads and docutils does not: delimiters of a size that do not say on which side they
# stand, and single characters without braces.
_SIZES = re.compile(r"\\(big|Big|bigg|Bigg)(?=(\\[a-z{}|]+|[^a-zA-Z]))")
_BARE = re.compile(r"\\([td]?frac)\s*(\d|[a-zA-Z]\b|\{[^{}]*\})\s*(\d|[a-zA-Z]\b|\{)")


def plain(text: str) -> str:
    """The same formula as docutils can read it."""
    text = _SIZES.sub(lambda m: f"\\{m[1]}{'l' if m[2][-1] in '([{' else 'r'}", text)

    def braced(match: re.Match[str]) -> str:
        first, second = match[2], match[3]
        first = first if first.startswith("{") else f"{{{first}}}"
        return rf"\{match[1]}{first}" + ("{" if second == "{" else f"{{{second}}}")

    return _BARE.sub(braced, text)


def visit_math(self: Any, node: nodes.math) -> None:
    self.body.append(translated(node, block=False))
    raise nodes.SkipNode


def visit_displaymath(self: Any, node: nodes.math_block) -> None:
    # The box scrolls by itself where a formula is wider than the screen.
    self.body.append(self.starttag(node, "div", CLASS="math formula"))
    self.body.append(translated(node, block=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
