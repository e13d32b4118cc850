"""Figures of the gallery for light and for dark ground."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

mpl = pytest.importorskip("matplotlib")
plt = pytest.importorskip("matplotlib.pyplot")
from matplotlib.colors import to_rgb  # noqa: E402
from matplotlib.image import imread  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "docs" / "_ext" / "gallery_pictures.py"


@pytest.fixture
def pictures() -> Any:
    plt.switch_backend("Agg")
    found = SimpleNamespace(**runpy.run_path(str(EXTENSION)))
    with mpl.rc_context():
        found.prepare({}, "plot_some.py")
        yield found
    plt.close("all")


def test_darkening_changes_ink_and_ground_only(pictures: Any) -> None:
    figure, ax = plt.subplots()
    (line,) = ax.plot([0, 1], color="#e76300")
    ink_line = ax.axhline(0, color=pictures.INK)
    dots = ax.scatter([0, 1], [0, 1], color=["#3f90da", pictures.INK])
    ax.set(title="title", xlabel="x")
    pictures.darken(figure)
    chalk = to_rgb(pictures.CHALK)
    for artist in (ax.title, ax.xaxis.label, ink_line):
        assert to_rgb(artist.get_color()) == pytest.approx(chalk)
    assert to_rgb(line.get_color()) == to_rgb("#e76300")
    assert to_rgb(figure.get_facecolor()) == to_rgb(ax.get_facecolor()) == to_rgb("#14181e")
    first, second = dots.get_facecolor()[:, :3]
    assert tuple(first) == pytest.approx(to_rgb("#3f90da"))
    assert tuple(second) == pytest.approx(chalk)
    figure.canvas.draw()  # ticks that are made only now
    assert {to_rgb(tick.get_color()) for tick in ax.get_xticklabels()} == {chalk}


def test_darkening_keeps_artists_on_images(pictures: Any) -> None:
    figure, ax = plt.subplots()
    ax.imshow(np.ones((2, 2)))
    inside = ax.text(0, 0, "inside", color=pictures.INK)
    ax.set_title("above")
    pictures.darken(figure)
    assert inside.get_color() == pictures.INK
    assert to_rgb(ax.title.get_color()) == pytest.approx(to_rgb(pictures.CHALK))


def test_figures_are_saved_light_and_dark(pictures: Any, tmp_path: Path) -> None:
    for name in ("one", "two"):
        _, ax = plt.subplots(figsize=(1, 1))
        ax.set_title(name)
    paths = iter([str(tmp_path / "images" / f"plot_some_{i}.png") for i in (1, 2)])
    (tmp_path / "images").mkdir()
    shown = pictures.scrape(
        None, {"image_path_iterator": paths, "src_file": "x.py"}, {"src_dir": str(tmp_path)}
    )
    assert shown.count(".. image:: /images/") == 4
    for i, name in ((1, "one"), (2, "two")):
        light = imread(tmp_path / "images" / f"plot_some_{i}.png")
        dark = imread(tmp_path / "images" / f"plot_some_{i}_dark.png")
        assert light.shape == dark.shape
        assert light[0, 0, :3] == pytest.approx(1)
        assert dark[0, 0, :3] == pytest.approx(to_rgb("#14181e"), abs=0.01)
        assert shown.count(f":alt: {name}\n") == 2
    assert shown.count("only-light") == shown.count("only-dark") == 2
    assert not plt.get_fignums()


def test_figure_without_title_is_named_by_its_example(pictures: Any, tmp_path: Path) -> None:
    plt.figure(figsize=(1, 1))
    where = {"image_path_iterator": iter([str(tmp_path / "a.png")]), "src_file": "/x/plot_own.py"}
    assert ":alt: plot own\n" in pictures.scrape(None, where, {"src_dir": str(tmp_path)})


def test_reading_order_has_all_examples(pictures: Any) -> None:
    names = {path.stem.removeprefix("plot_") for path in (ROOT / "examples").glob("*/plot_*.py")}
    assert names == {*pictures.ORDER}
    key = pictures.ReadingOrder("data")
    assert key("plot_text.py") < key("plot_images.py") < key("plot_another.py")
