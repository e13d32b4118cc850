"""Pictures that are drawn in the build, once for light and once for dark ground.

``docs/draw/NAME.py`` has ``draw(ink)``, which gives a matplotlib figure; ``ink`` is the colour of
text and axes. A page shows it by its name, and the text of the directive is what it says to readers
who do not see it::

    :::{picture} two_moons
    Two moons with one label each.
    :::
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)

# The colours of text and ground of the theme.
INKS = {"light": "#222832", "dark": "#ced6dd"}
PAPERS = {"light": "#ffffff", "dark": "#14181e"}
FOLDER = "_generated"


def draw_all(app: Sphinx) -> None:
    """Draw what is missing or older than its program; after a change of lapwing, `make clean`."""
    import matplotlib

    for program in sorted(Path(app.srcdir, "draw").glob("[!_]*.py")):
        targets = {key: target(app, program.stem, key) for key in INKS}
        if all(is_newer(path, program) for path in targets.values()):
            continue
        logger.info("drawing %s", program.name)
        draw = runpy.run_path(str(program))["draw"]
        for key, path in targets.items():
            path.parent.mkdir(exist_ok=True)
            ink = INKS[key]
            colours = dict.fromkeys(
                ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color",
                 "axes.titlecolor"), ink,
            )  # fmt: skip
            # The same bytes for the same picture.
            fixed = {"svg.hashsalt": program.stem, "svg.fonttype": "path", "font.size": 11.0}
            ground = dict.fromkeys(("figure.facecolor", "axes.facecolor"), PAPERS[key])
            with matplotlib.rc_context(colours | ground | fixed):
                draw(ink).savefig(path, dpi=150, metadata={"Date": None})


def is_newer(path: Path, program: Path) -> bool:
    return path.exists() and path.stat().st_mtime >= program.stat().st_mtime


def target(app: Sphinx, name: str, key: str) -> Path:
    return Path(app.srcdir, FOLDER, f"{name}-{key}.svg")


class Picture(SphinxDirective):
    """A picture of `docs/draw`, in the version that suits the reader's theme."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"width": directives.length_or_percentage_or_unitless}

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        if not Path(self.env.srcdir, "draw", f"{name}.py").exists():
            raise self.error(f"there is no docs/draw/{name}.py")
        alt = " ".join(self.content)
        if not alt:
            raise self.error(f"say in words what {name} shows")
        found: list[nodes.Node] = []
        for key in INKS:
            image = nodes.image(uri=f"/{FOLDER}/{name}-{key}.svg", alt=alt, align="center")
            image["classes"] += ["picture", f"only-{key}"]
            if "width" in self.options:
                image["width"] = self.options["width"]
            found.append(image)
        return found


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", draw_all)
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
