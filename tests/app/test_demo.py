"""The verb ``demo``: three methods compared on handwritten digits."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.preprocessing import FunctionTransformer

from lapwing._app import demo
from tests.helpers.commandline import done, run


@pytest.fixture
def few_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demonstration of 200 digits, drawn along two pixels; `make demo` takes all of it."""

    X, y = load_digits(return_X_y=True)
    monkeypatch.setattr(demo, "load_digits", lambda **_: (X[:200], y[:200]))
    two_pixels = FunctionTransformer(lambda X: X[:, [20, 43]])
    monkeypatch.setattr(demo, "TSNE", lambda *_, **__: two_pixels)


@pytest.mark.usefixtures("few_digits")
def test_three_methods_are_compared_and_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    said = done(run("demo --output demo.png --draws 1"))
    errors = {}
    for name in ("supervised SVM", "LabelSpreading", "LapSVC()"):
        (line,) = (line for line in said.splitlines() if name in line)
        errors[name] = float(line.split("±")[0].split()[-1])
    assert errors["LapSVC()"] < errors["supervised SVM"]
    assert "demo.png" in said
    assert Path("demo.png").read_bytes().startswith(b"\x89PNG")
    assert pyplot.get_fignums() == []  # no window may open
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = done(run("demo --draws 1 --output p.png"))
    for part in ("LapSVC()", "No picture", "lapwing-learn[plot]"):
        assert part in said
    assert not Path("p.png").exists()


@pytest.mark.usefixtures("few_digits")
def test_scores_hidden_rows_of_reproducible_draws_and_shows_that_of_median_error() -> None:
    result = demo.run_demo(labels_per_class=1, n_draws=1, seed=1)
    assert np.bincount(result.y[result.labeled]).tolist() == [1] * 10
    more = demo.run_demo(labels_per_class=1, n_draws=4, seed=1)
    assert len(more.errors) == 3
    for name, errors in more.errors.items():
        np.testing.assert_array_equal(errors[:1], result.errors[name])
    errors = np.sort(more.errors["LapSVC()"])
    assert errors[0] < errors[1] < errors[2]
    assert np.mean((more.predicted != more.y)[~more.labeled]) == errors[1]
