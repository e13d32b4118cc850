"""Plots: drawn values against those of the estimator; no window, no global state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from lapwing.plotting import PALETTE, DecisionMapDisplay, decision_map, scatter_predictions

Points = NDArray[np.float64]
draw_map = DecisionMapDisplay.from_estimator
X = np.random.default_rng(0).uniform(-1, 1, size=(40, 2))


class Linear(ClassifierMixin, BaseEstimator):
    """A classifier whose scores are a product with a matrix, so that the picture is known."""

    def __init__(self, *columns: tuple[float, float], classes: Any = None) -> None:
        self.columns_ = np.array(columns).T
        self.classes_ = np.arange(max(2, len(columns))) if classes is None else np.array(classes)

    def fit(self, X: Points, y: Any = None) -> Linear:
        return self

    def decision_function(self, X: Points) -> Points:
        scores: Points = np.asarray(X) @ self.columns_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def __sklearn_is_fitted__(self) -> bool:
        return True


def drawn(axes: Axes) -> list[Points]:
    """Positions of the points of each scatter that drew any."""
    offsets = [np.asarray(scatter.get_offsets()) for scatter in axes.collections]
    return [points for points in offsets if len(points)]


def legend_of(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def boundaries(display: DecisionMapDisplay) -> list[Points]:
    return [np.asarray(path.vertices) for b in display.boundaries_ for path in b.get_paths()]


COLUMNS = {"two classes": [(1.0, -2.0)], "three": [(1.0, 0.0), (-0.5, 0.8), (-0.5, -0.8)]}


@pytest.mark.parametrize("paper", ["white", "black"])
@pytest.mark.parametrize("name", COLUMNS)
def test_background_of_the_class_fades_at_boundaries(name: str, paper: str) -> None:
    model = Linear(*COLUMNS[name])
    axes = Figure(facecolor=paper).add_subplot(facecolor=paper)
    display = draw_map(model, X, resolution=101, ax=axes)
    scores = display.scores
    grid = np.stack(np.meshgrid(display.xx0, display.xx1), axis=-1).reshape(-1, 2)
    expected = model.decision_function(grid)
    expected = np.column_stack([-expected, expected]) if expected.ndim == 1 else expected
    np.testing.assert_allclose(scores.reshape(len(grid), -1), expected)
    assert len(display.boundaries_) == len(COLUMNS[name])
    for line in boundaries(display):
        found = model.decision_function(line)
        best = np.sort(found if found.ndim == 2 else np.column_stack([-found, found]), axis=1)
        # Straight pieces between grid points cut the corner where all three meet.
        assert np.median(best[:, -1] - best[:, -2]) < 1e-9
        assert np.ptp(line, axis=0).max() > 0.5
    # A pixel is the background mixed with the colour of its class, at most by 0.56.
    image, ground = np.asarray(display.image_.get_array()), np.array(to_rgb(paper))
    ahead = np.diff(np.sort(scores, axis=-1)[..., -2:])[..., 0]
    for k in range(scores.shape[-1]):
        mine, color = scores.argmax(axis=-1) == k, np.array(to_rgb(PALETTE[k])) - ground
        mixed = (image[mine] - ground) @ color / (color @ color)
        np.testing.assert_allclose(image[mine], ground + mixed[:, None] * color, atol=1e-12)
        assert 0.05 < mixed.min() < mixed.max() - 0.2 < 0.4
        assert (np.diff(mixed[np.argsort(ahead[mine])]) > -1e-12).all()


@pytest.mark.parametrize(
    ("labels", "marker"), [([0, 1], -1), (["a", "b"], None), ([0, 1], 9), ([0, 1], pd.NA)]
)
def test_labelled_and_unlabelled_points(labels: list[Any], marker: Any) -> None:
    named = isinstance(marker, int) and marker > 0  # the others are known by themselves
    known = {"unlabeled": marker} if named else {}
    y = np.array([labels[0], labels[0], labels[1], *[marker] * (len(X) - 3)], dtype=object)
    display = draw_map(Linear((1.0, 0.0), classes=labels), X, y, **known)
    shown = [display.unlabeled_, *display.labeled_]
    for points, rows in zip(shown, (slice(3, None), slice(2), slice(2, 3)), strict=True):
        np.testing.assert_array_equal(points.get_offsets(), X[rows])
    assert legend_of(display.ax_) == ["unlabelled", *(f"labelled {label}" for label in labels)]


def test_no_boundary_where_one_class_wins_everywhere() -> None:
    axes = decision_map(Linear((1.0, 1.0)), X + 5, title="one")
    assert axes.get_title(loc="left") == "one"
    np.testing.assert_array_equal(drawn(axes), [X + 5])
    for columns, points in (((1.0, 1.0), X + 5), ((0.0, 0.0), X)):
        assert boundaries(draw_map(Linear(columns), points)) == []


def test_signs_of_predictions() -> None:
    predicted = np.repeat(["u", "v"], 20)
    labeled = np.zeros(40, dtype=bool)
    labeled[[0, 39]] = True
    truth = predicted.copy()
    truth[[0, 5, 30]] = "w"  # the first is labelled: it was given, not guessed
    given = Figure().add_subplot()
    axes = scatter_predictions(X, predicted, labeled=labeled, truth=truth, ax=given)
    assert axes is given
    u, star_u, v, star_v, rings = drawn(axes)
    np.testing.assert_array_equal(u, X[1:20])
    np.testing.assert_array_equal(v, X[20:39])
    np.testing.assert_array_equal(np.vstack([star_u, star_v]), X[[0, 39]])
    np.testing.assert_array_equal(rings, X[[5, 30]])
    assert [text.get_text() for text in axes.texts] == ["u", "v"]
    assert legend_of(axes) == ["predicted class, by colour", "label given", "wrong"]
    axes = scatter_predictions(X, predicted, truth=truth, confidence=np.ones(40))
    assert legend_of(axes) == ["predicted class, by colour", "fainter: less certain", "wrong"]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, ""])
def test_predictions_without_a_truth_are_not_wrong(missing: Any) -> None:
    predicted = np.repeat(["u", "v"], 20)
    axes = scatter_predictions(X, predicted, truth=pd.Series(["u", missing] * 20, dtype=object))
    np.testing.assert_array_equal(drawn(axes)[-1], X[20::2])


@pytest.mark.parametrize("scale", [1e-12, 1e15])
def test_a_map_has_the_extent_of_its_points(scale: float) -> None:
    points = scale * np.column_stack([X[:, 0], np.ones(40)])
    display = draw_map(Linear((1.0, 0.0)), points, resolution=5)
    assert np.ptp(display.xx0) == pytest.approx(1.24 * np.ptp(points[:, 0]))
    assert display.xx1[0] < scale < display.xx1[-1]


def test_dollar_signs_in_names_are_not_mathematics() -> None:
    prices = np.repeat(["$5-$10", "$_{$"], 20)
    scatter_predictions(X, prices).figure.canvas.draw()
    frame = pd.DataFrame(X, columns=["$ ^{$", "x"])
    display = draw_map(Linear((1.0, -2.0), classes=prices[[0, -1]]), frame, prices)
    display.figure_.canvas.draw()
    assert legend_of(display.ax_) == ["unlabelled", r"labelled \$5-\$10", r"labelled \$_{\$"]


def look_of(confidence: Any) -> tuple[Points, Points]:
    """The opacities and the sizes of points."""
    dots: Any = scatter_predictions(X, np.zeros(40), confidence=confidence).collections[0]
    return np.asarray(dots.get_facecolor())[:, 3], dots.get_sizes()


def test_less_certain_points_are_fainter_and_smaller() -> None:
    alpha, sizes = look_of(np.arange(40.0))
    assert (np.diff(alpha[:20]) > 0).all()
    assert (np.diff(sizes[:20]) > 0).all()
    np.testing.assert_allclose(alpha[20:], alpha[-1])
    assert alpha[0] > 0.1, "even an undecided point must be seen"
    for equal in (None, np.zeros(40), np.ones(40)):
        np.testing.assert_allclose(look_of(equal)[0], 0.9)


def test_the_order_of_classes_gives_the_colours() -> None:
    axes = scatter_predictions(X, np.repeat([0, 1], 20), classes=[1, 0])
    color = np.asarray(axes.collections[0].get_facecolor())[0]  # type: ignore[attr-defined]
    np.testing.assert_allclose(color[:3], to_rgba(PALETTE[0])[:3])
    np.testing.assert_array_equal(drawn(axes)[0], X[20:])


def test_class_names_avoid_stars() -> None:
    middle = np.median(X, axis=0)
    points = np.vstack([X, middle])
    labeled = np.arange(41) == 40
    axes = scatter_predictions(points, np.zeros(41), labeled=labeled, legend=False)
    name = np.array(axes.texts[0].get_position())
    assert np.linalg.norm(name - middle) > 0.05
    # Where every point is a star the name must still be somewhere.
    scatter_predictions(X, np.zeros(40), labeled=np.ones(40, dtype=bool))
