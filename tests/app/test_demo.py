"""The verb ``demo``: three methods compared on handwritten digits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from lapwing._app import demo
from tests.helpers.commandline import done, refused, run


@pytest.fixture
def few_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demonstration of 200 digits, drawn along two pixels; `make demo` takes all of it."""

    class TwoPixels:
        def __init__(self, *args: Any, **options: Any) -> None: ...

        def fit_transform(self, X: Any) -> Any:
            return X[:, [20, 43]]

    X, y = load_digits(return_X_y=True)
    monkeypatch.setattr(demo, "load_digits", lambda **_: (X[:200], y[:200]))
    monkeypatch.setattr(demo, "TSNE", TwoPixels)


@pytest.mark.usefixtures("few_digits")
def test_three_methods_are_compared_and_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    said = done(run("demo --output demo.png --draws 1"))
    errors = {}
    for name in ("supervised SVM", "LabelSpreading", "LapSVC()"):
        (line,) = (line for line in said.splitlines() if name in line)
        errors[name] = float(line.split("±")[0].split()[-1])
    assert errors["LapSVC()"] < errors["supervised SVM"]
    assert "demo.png" in said
    assert Path("demo.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = done(run("demo --draws 1 --output p.png"))
    for part in ("LapSVC()", "No picture", "lapwing-learn[plot]"):
        assert part in said
    assert not Path("p.png").exists()


def test_the_figure_is_not_registered_with_pyplot() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = np.arange(60) % 2
    figure = demo.draw_demo(demo.DemoResult({}, {}, X, y, np.arange(60) < 4, y, np.ones(60)))
    assert len(figure.axes) == 1
    assert pyplot.get_fignums() == []  # no window may open


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--output p.bmp", ".png, .pdf or .svg"),
        ("--output none/p.png", "there is no folder"),
        ("--labels-per-class 0", "--labels-per-class"),
    ],
)
def test_wrong_options(options: str, message: str) -> None:
    refused(run(f"demo {options}"), message)


@pytest.mark.usefixtures("few_digits")
def test_the_demonstration_is_honest() -> None:
    result = demo.run_demo(labels_per_class=2, n_draws=3, seed=1)
    assert result.labeled.sum() == 20
    assert np.bincount(result.y[result.labeled]).tolist() == [2] * 10
    hidden = ~result.labeled
    shown = np.mean(result.predicted[hidden] != result.y[hidden])
    # The picture is of the draw in the middle, not of the best.
    assert shown == np.median(result.errors["LapSVC()"])
    again = demo.run_demo(labels_per_class=2, n_draws=1, seed=1)
    assert len(again.errors) == 3
    for name, errors in again.errors.items():
        np.testing.assert_array_equal(errors, result.errors[name][:1])
