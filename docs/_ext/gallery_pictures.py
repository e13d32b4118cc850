"""The gallery: the order of its examples, their style, and each figure for light and dark ground.

An example is plain matplotlib, so that it can be copied. Here is what the site adds: colours and
sizes before an example runs (`prepare`), and a second copy of each figure in which text, lines and
grounds have the colours of the dark theme (`scrape`). What lies in Axes that show an image keeps
its colours: the image is its ground.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.artist import Artist
from matplotlib.colors import to_rgb, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from lapwing.plotting import PALETTE
from lapwing.plotting.drawing import ink_on

PAPER, DARK_PAPER = "#ffffff", "#14181e"  # the grounds of the theme
INK, CHALK = ink_on(PAPER), ink_on(DARK_PAPER)
DPI = 144

STYLE: dict[str, Any] = {
    "axes.prop_cycle": mpl.cycler(color=PALETTE),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "figure.dpi": DPI,
    "figure.facecolor": PAPER,
    "font.size": 10,
    "legend.frameon": False,
    "savefig.facecolor": "auto",
} | dict.fromkeys(
    ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK
)

# Examples of a section in the order in which they are read; others follow.
ORDER = (
    "text", "images", "embeddings", "spectra", "regression", "imbalance", "many_points",
    "compare", "calibration", "active_labelling", "class_volumes",
    "own_graph", "own_loss", "own_kernel", "pipelines", "callbacks", "saving",
)  # fmt: skip


class ReadingOrder:
    """The key by which sphinx-gallery sorts the files of a section."""

    def __init__(self, folder: str) -> None:
        pass

    def __call__(self, file: str) -> tuple[int, str]:
        name = Path(file).stem.removeprefix("plot_")
        return (ORDER.index(name) if name in ORDER else len(ORDER), name)


def prepare(gallery_conf: dict[str, Any], name: str) -> None:
    """Set the style; sphinx-gallery calls it before each example."""
    mpl.rcParams.update(STYLE)


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the open figures and show them; sphinx-gallery calls it after each block."""
    shown = []
    for number in plt.get_fignums():
        figure = plt.figure(number)
        path = Path(next(block_vars["image_path_iterator"]))
        dark = path.with_stem(f"{path.stem}_dark")
        alternative = words(figure) or Path(block_vars["src_file"]).stem.replace("_", " ")
        figure.savefig(path, dpi=DPI)
        darken(figure)
        figure.savefig(dark, dpi=DPI)
        for file, scheme in ((path, "light"), (dark, "dark")):
            place = file.relative_to(gallery_conf["src_dir"]).as_posix()
            shown.append(
                f".. image:: /{place}\n   :alt: {alternative}\n   :align: center\n"
                f"   :class: sphx-glr-single-img only-{scheme}\n"
            )
    plt.close("all")
    return "\n".join(shown)


def words(figure: Figure) -> str:
    """Return the titles and axis labels of a figure, as its alternative text."""
    found = [figure.get_suptitle(), figure.get_supxlabel(), figure.get_supylabel()]
    for axes in figure.axes:
        found += [axes.get_title(loc) for loc in ("left", "center")]
        found += [axes.get_ylabel(), axes.get_xlabel()]
    return ", ".join(dict.fromkeys(" ".join(text.split()) for text in found if text))


def darken(figure: Figure) -> None:
    """Give a figure the grounds of the dark theme, and what lies on them its ink."""
    on_images = {
        id(artist)
        for axes in figure.axes
        if axes.images
        for drawn in (axes.lines, axes.collections, axes.texts, axes.patches)
        for artist in drawn
    }
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_tick_params(which="both", color=CHALK, labelcolor=CHALK)
    for artist in figure.findobj():
        if id(artist) not in on_images:
            _exchange(artist)


def _exchange(artist: Artist) -> None:
    for name, colours in _colours(artist):
        inks = (np.abs(colours[:, :3] - to_rgb(INK)) < 1e-3).all(axis=1)
        papers = (colours[:, :3] == to_rgb(PAPER)).all(axis=1) & isinstance(artist, Patch)
        if inks.any() or papers.any():
            changed = colours.copy()
            changed[inks, :3], changed[papers, :3] = to_rgb(CHALK), to_rgb(DARK_PAPER)
            getattr(artist, f"set_{name}")(changed if len(changed) > 1 else tuple(changed[0]))


def _colours(artist: Artist) -> Iterator[tuple[str, Any]]:
    """Properties of an artist that are colours, with those they have, a row each."""
    for name in ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor"):
        if hasattr(artist, f"get_{name}") and hasattr(artist, f"set_{name}"):
            try:
                colours = to_rgba_array(getattr(artist, f"get_{name}")())
            except (TypeError, ValueError):  # 'auto', 'inherit'
                continue
            if len(colours):
                yield name, colours
