"""The verb ``demo``: three methods compared on handwritten digits."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from lapwing._app import demo
from tests.helpers.commandline import done, run


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


@pytest.mark.usefixtures("few_digits")
def test_scores_hidden_rows_of_reproducible_draws() -> None:
    result = demo.run_demo(labels_per_class=2, n_draws=1, seed=1)
    assert np.bincount(result.y[result.labeled]).tolist() == [2] * 10
    wrong = result.predicted != result.y
    assert result.errors["LapSVC()"] == [np.mean(wrong[~result.labeled])]
    more = demo.run_demo(labels_per_class=2, n_draws=2, seed=1)
    assert len(more.errors) == 3
    for name, errors in more.errors.items():
        np.testing.assert_array_equal(errors[:1], result.errors[name])


@pytest.mark.usefixtures("few_digits")
@pytest.mark.parametrize(("n_wrong", "shown"), [([9, 1, 5], 2), ([9, 1, 5, 3], 3)])
def test_shows_the_draw_of_median_error(
    monkeypatch: pytest.MonkeyPatch, n_wrong: list[int], shown: int
) -> None:
    draws: list[Any] = []

    def fit(X: Any, labels: Any) -> Any:
        """Be wrong on as many hidden digits as the draw has."""
        known = [k for k, one in enumerate(draws) if np.array_equal(one, labels)]
        draws.extend([] if known else [labels])
        predicted = demo.load_digits()[1].copy()
        hidden = np.flatnonzero(labels == -1)[: n_wrong[(known or [len(draws) - 1])[0]]]
        predicted[hidden] = (predicted[hidden] + 1) % 10
        scores = np.eye(10)[predicted]
        return SimpleNamespace(transduction_=predicted, decision_function=lambda X: scores)

    monkeypatch.setattr(demo, "_spreading", demo._supervised)
    monkeypatch.setattr(demo, "_fit_lapsvc", fit)
    result = demo.run_demo(labels_per_class=1, n_draws=len(n_wrong))
    np.testing.assert_array_equal(result.labeled, draws[shown] != -1)
    assert np.sum(result.predicted != result.y) == n_wrong[shown]
