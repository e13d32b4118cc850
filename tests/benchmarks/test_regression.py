"""The benchmark of numbers to predict: sets, methods on known targets alone, and tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.regression import coreg, sources
from benchmarks.regression.command import coverage, drawn, measured, ratios
from benchmarks.regression.contenders import Contender
from benchmarks.regression.sources import SOURCES, Array
from benchmarks.shared.known import Answer

Set = tuple[Array, Array]
IMAGES = ("turned digits", "camera")  # whose pixels stay as they are


class Mean:
    """Predict the mean of the targets; record X and y."""

    def fit(self, X: Array, y: Array) -> Mean:
        self.X, self.y = X, y
        return self

    def predict(self, X: Array) -> Array:
        return np.full(len(X), np.nanmean(self.y))


@pytest.fixture
def curve() -> Set:
    """Points of a curve, and how far along it they are."""
    place = np.linspace(-1, 1, 120)
    return np.column_stack([place, place**2]), 50 + 20 * place


# Sets


@pytest.mark.parametrize("name", SOURCES)
def test_sets_are_standardised_and_always_the_same(name: str) -> None:
    X, y = SOURCES[name](100)
    assert len(X) == len(y) == 100
    columns = y[:, None] if name in IMAGES else np.column_stack([X, y])
    np.testing.assert_allclose(columns.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(columns.std(axis=0), 1)
    again = SOURCES[name](100)
    assert (again[0] == X).all()
    assert (y == again[1]).all()


def test_hand_distance_of_a_stretched_arm() -> None:
    angles = np.array([[1.2, 0, 0, 0], [0.3, np.pi, 0, np.pi]])
    lengths = np.array([[1, 2, 3, 4], [1, 1, 2, 3]])
    np.testing.assert_allclose(sources.hand_distance(angles, lengths), [10, 1])


def test_shoulder_torque_of_two_rods() -> None:
    """By the energy of both links, whose bodies are two points each."""
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 5, 2))
    v[:, 1], a[:, 1] = -v[:, 0], -a[:, 0]  # the second link keeps its direction
    torque = sources.shoulder_torque(q, v, a)
    # A rod about its end, and a body of 1 kg that it carries: 1/3 + 1, and both weights.
    swing = (1 / 3 + 1) * a[:, 0] + 9.81 * (0.5 + 1) * np.cos(q[:, 0])
    # Torque of the second rod at the shoulder, which moves without turning.
    beside = 0.5 * (np.cos(q[:, 1]) * a[:, 0] + np.sin(q[:, 1]) * v[:, 0] ** 2)
    beside += 0.5 * 9.81 * np.cos(q.sum(axis=1))
    np.testing.assert_allclose(torque, swing + beside)


# Methods


@pytest.mark.parametrize(("alone", "n_rows"), [(True, 20), (False, 120)])
def test_methods_see_standardised_targets(alone: bool, n_rows: int, curve: Set) -> None:
    X, truth = curve
    y = drawn(truth, 20, np.random.default_rng(0))
    model = Mean()
    numbers = Contender(lambda: model, alone).answer(X, y).numbers
    assert len(model.X) == len(model.y) == n_rows
    assert np.isnan(model.y).sum() == n_rows - 20
    np.testing.assert_allclose([np.nanmean(model.y), np.nanstd(model.y)], [0, 1], atol=1e-12)
    np.testing.assert_allclose(numbers, np.nanmean(y))


def test_errors_and_coverage_are_of_rows_without_a_target() -> None:
    truth = np.array([0.0, 2.0, 4.0, 1.0])
    y = np.array([0.0, 2.0, np.nan, np.nan])

    class Bands(Mean):
        def predict_interval(self, X: Array) -> Array:
            return np.tile([-1.0, 1.0], (len(X), 1))  # 0 to 2 in the units of y

    plain = measured(np.zeros((4, 1)), truth, Contender(Mean), y)
    assert (plain.error, plain.failed, plain.coverage) == (pytest.approx(4.5**0.5), "", None)
    assert measured(np.zeros((4, 1)), truth, Contender(Bands, intervals=True), y).coverage == 0.5
    answer = Answer("s", "m", 20, 0, 1.0, 0.1, coverage=0.5)
    draws = [answer, replace(answer, draw=1, coverage=0.9), replace(answer, known=40, coverage=1.0)]
    table = coverage([*draws, replace(answer, method="none", coverage=None)])
    assert table.rows == [
        ["s", "20", "70.0"], ["s", "40", "100.0"], ["all", "", "85.0"], ["minimum", "", "70.0"],
    ]  # fmt: skip


def test_targets_are_drawn_at_random_and_each_once(curve: Set) -> None:
    truth = curve[1]
    y = drawn(truth, 30, np.random.default_rng(0))
    known = ~np.isnan(y)
    assert known.sum() == 30
    assert (y[known] == truth[known]).all()
    assert (known != ~np.isnan(drawn(truth, 30, np.random.default_rng(1)))).any()


# Tables


def test_ratios_to_the_best_supervised_method() -> None:
    """Of two methods on known targets alone and one on all rows, of which one draw failed."""
    found = [
        Answer("s", method, known, draw, error, 0.5, "" if error else "ValueError: no")
        for method, known, errors in (
            *(("RidgeCV", 20, (1.0, 2.0)), ("RidgeCV", 40, (1.0, 1.0))),
            *(("LapSVR()", 20, (0.5, 0.5)), ("LapSVR()", 40, (0.5, None))),
            *(("SVR(C=10)", 20, (3.0, 3.0)), ("SVR(C=10)", 40, (3.0, 3.0))),
        )
        for draw, error in enumerate(errors)
    ]
    table = ratios(found)
    assert list(table.header)[2:] == ["best supervised method", "LapSVR()"]
    assert table.rows == [
        ["s", "20", "RidgeCV 1.500", "0.33"],
        ["s", "40", "RidgeCV 1.000", "-"],
    ]


def test_coreg_selects_the_most_consistent_row() -> None:
    """By means of the three nearest, written out."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(14, 2))
    known, targets, pool = X[:6], rng.normal(size=6), [8, 9, 10, 11]

    def near(points: Array, x: Array, order: int) -> Array:
        return np.argsort((np.abs(points - x) ** order).sum(axis=1), kind="stable")[:3]

    for order in (2, 5):
        gains = {}
        for row in pool:
            value = targets[near(known, X[row], order)].mean()
            points, values = np.vstack([known, X[row]]), np.append(targets, value)
            gain = 0.0
            for i in near(known, X[row], order):
                before = targets[near(known, known[i], order)].mean()
                after = values[near(points, known[i], order)].mean()
                gain += (targets[i] - before) ** 2 - (targets[i] - after) ** 2
            gains[row] = gain
        found = coreg._most_consistent(X, pool, known, targets, order)
        best = max(gains, key=gains.__getitem__)
        assert (None if found is None else found[0]) == (best if gains[best] > 0 else None)


def test_coreg_follows_a_line() -> None:
    X = np.linspace(0, 1, 40)[:, None]
    y = np.where(np.arange(40) % 4 == 0, X[:, 0], np.nan)
    assert np.abs(coreg.Coreg().fit(X, y).predict(X) - X[:, 0]).mean() < 0.06
