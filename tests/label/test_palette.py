"""Classes of the same shape have distinct colours, also with colour blindness."""

from __future__ import annotations

import json
import re
from importlib import resources

import numpy as np
import pytest

from tests.helpers.colors import contrast, linear, rgb_of

PAGE = resources.files("lapwing._label") / "page"
LIGHT, DARK = (PAGE / "label.css").read_text("utf-8").split("prefers-color-scheme: dark", 1)
FAR = 20.0  # CIE 1976 distance; 2.3 can just be seen

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB, rounded.
SEEN = {
    "all colours": np.eye(3),
    "no red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "no green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "no blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def colours(style: str, *names: str) -> np.ndarray:
    """Colours of the style sheet by name."""
    return np.array([rgb_of(re.search(rf"--{name}: (#\w{{6}})", style)[1]) for name in names])


def lab(rgb: np.ndarray) -> np.ndarray:
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = (np.clip(rgb, 0, 1) @ np.transpose(to_xyz) / [0.9505, 1.0, 1.089]).T
    f = [np.where(v > 0.008856, np.cbrt(v), 7.787 * v + 16 / 116) for v in (x, y, z)]
    return np.column_stack([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("style", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("sight", SEEN)
def test_classes_of_one_shape_have_distinct_colours(sight: str, style: str) -> None:
    source = (PAGE / "palette.js").read_text("utf-8")
    shapes = np.array(json.loads(re.search(r"SHAPE_OF = (\[.*?\])", source)[1]))
    classes = linear(colours(style, *(f"k{k}" for k in range(10))))
    places = lab(classes @ np.transpose(SEEN[sight]))
    one, other = np.triu_indices(10, 1)
    alike = shapes[one] == shapes[other]
    distances = np.linalg.norm(places[one] - places[other], axis=1)
    assert set(shapes) == {0, 1, 2, 3}
    assert distances[alike].min() > FAR


@pytest.mark.parametrize("style", [LIGHT, DARK], ids=["light", "dark"])
def test_edges_and_unlabelled_points_have_enough_contrast(style: str) -> None:
    """WCAG 2.2, 1.4.11. Unlabelled points are drawn with an opacity of 205 / 255."""
    edge, card, paper, nobody, ground = colours(style, "edge", "card", "paper", "nobody", "ground")
    seen = (205 * nobody + 50 * ground) / 255
    assert min(contrast(edge, card), contrast(edge, paper), contrast(seen, ground)) >= 3
