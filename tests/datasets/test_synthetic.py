"""Synthetic sets: sizes, shapes, noise, Bayes errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from scipy.stats import kstest
from sklearn.neighbors import kneighbors_graph

from lapwing.datasets import make_clock, make_gaussian2c, make_gaussian4c, make_two_moons

MAKERS = [make_two_moons, make_clock, make_gaussian2c, make_gaussian4c]


@pytest.mark.parametrize("make", MAKERS)
def test_some_points_of_each_class_are_labelled(make: Callable[..., Any]) -> None:
    X, y, truth = make(n_samples=80, n_labeled_per_class=3, random_state=0, return_truth=True)
    assert X.dtype == np.float64
    assert X.shape[0] == 80
    assert np.bincount(truth).tolist() == [40, 40]
    assert set(np.unique(y)) == {-1, 0, 1}
    assert np.array_equal(y[y >= 0], truth[y >= 0])
    assert np.bincount(y[y >= 0]).tolist() == [3, 3]
    assert 0 < truth[:40].sum() < 40, "the classes are mixed"


@pytest.mark.parametrize("make", MAKERS)
def test_sizes_are_those_of_the_papers_and_points_those_of_the_seed(
    make: Callable[..., Any],
) -> None:
    X, y = make(random_state=3)
    assert (X.shape, sum(y >= 0)) == (((200, 2), 2) if make in MAKERS[:2] else ((500, 500), 50))
    rng = np.random.RandomState(3)
    for again in (make(random_state=rng), make(random_state=3, return_truth=True)):
        np.testing.assert_array_equal(again[0], X)
        np.testing.assert_array_equal(again[1], y)
    assert not np.array_equal(make(random_state=4)[0], X)


@pytest.mark.parametrize("make", MAKERS[:2])
def test_neighbour_graph_separates_the_curves(make: Callable[..., Any]) -> None:
    apart = whole = 0
    for seed in range(20):
        X, _, truth = make(random_state=seed, return_truth=True)
        edges = kneighbors_graph(X, 6).tocoo()
        apart += bool(np.all(truth[edges.row] == truth[edges.col]))
        whole += connected_components(edges + edges.T)[0] == 2
    assert apart >= 18
    assert whole >= 14


def test_clock_is_a_circle_and_two_hands() -> None:
    X, _, truth = make_clock(201, noise=0, random_state=0, return_truth=True)
    assert np.bincount(truth).tolist() == [100, 101]
    np.testing.assert_allclose(np.hypot(*X[truth == 0].T), 1)
    steps = np.sort(np.arctan2(*X[truth == 0].T))
    np.testing.assert_allclose(np.diff(steps), 2 * np.pi / 100)  # no point twice, no gap
    hands = X[truth == 1]
    minute = np.isclose(hands[:, 0], 0) & (hands[:, 1] > -1e-9)
    assert hands[minute, 1].max() == pytest.approx(0.65)
    hour = hands[~minute]
    np.testing.assert_allclose(np.arctan2(hour[:, 1], hour[:, 0]), -np.pi / 6)  # four o'clock
    assert np.hypot(*hour.T).max() == pytest.approx(0.4)
    # Evenly spaced, so each hand has points as it is long.
    assert minute.sum() / hour.shape[0] == pytest.approx(0.65 / 0.4, rel=0.05)


@pytest.mark.parametrize("make", MAKERS[:2])
def test_noise_has_the_given_standard_deviation(make: Callable[..., Any]) -> None:
    options = {"n_samples": 4000, "random_state": 0}
    clean, noisy = make(noise=0, **options)[0], make(noise=0.1, **options)[0]
    # The same order in both: what differs is the noise, of which the first is 0 times the same.
    assert (noisy - clean).std() == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize(
    ("make", "means"),
    [
        (make_gaussian2c, [(-2.5, 0), (2.5, 0)]),
        (make_gaussian4c, [(-2.5, -5), (-2.5, 5), (2.5, -5), (2.5, 5)]),
    ],
)
def test_gaussians_have_the_means_of_the_paper(
    make: Callable[..., Any], means: list[tuple[float, float]]
) -> None:
    n, d = 8000, 6
    X, _, truth = make(n, d, random_state=0, return_truth=True)
    for mean in means:
        # The second feature separates the clusters of a class by ten standard deviations.
        same = (truth == (mean[0] > 0)) & (X[:, 1] * mean[1] >= 0)
        assert same.sum() == n // len(means)
        centered = X[same] - np.pad(mean, (0, d - 2))
        assert np.abs(centered.mean(axis=0)).max() < 4.5 / np.sqrt(len(centered))
        assert np.abs(np.cov(centered.T) - np.eye(d)).max() < 6 / np.sqrt(len(centered))
        assert kstest(centered.ravel(), "norm").pvalue > 1e-3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_gaussian2c(501), "n_samples=501 must be a multiple of 2"),
        (lambda: make_gaussian4c(498), "n_samples=498 must be a multiple of 4"),
        (lambda: make_gaussian4c(8, 1), "n_features=1 must be a whole number of at least 2"),
        (lambda: make_gaussian2c(8, 0), "n_features=0 must be a whole number of at least 1"),
        (lambda: make_gaussian2c(0), "n_samples=0 must be a whole number of at least 1"),
        (lambda: make_two_moons(1), "n_samples=1 must be a whole number of at least 2"),
        (lambda: make_clock(2.5), "n_samples=2.5 must be a whole number of at least 2"),
        (lambda: make_two_moons(noise=-1), "noise=-1 must be a finite number"),
        (lambda: make_clock(noise=np.nan), "noise=nan must be a finite number"),
        (lambda: make_clock(noise=None), "noise=None must be a finite number"),
        (lambda: make_clock(n_labeled_per_class=None), "n_labeled_per_class=None must be"),
        (lambda: make_clock(6, n_labeled_per_class=4), "but class 0 has 3 points"),
    ],
)
def test_rejects_invalid_arguments(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
