"""The exact line search against bisection, and by the slope at its step (errata L17, L24)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lapwing.losses import Squared, SquaredHinge
from lapwing.objectives.manifold import Line
from lapwing.solvers.manifold.line_search import exact_line_search
from tests.helpers.outside import Logistic, RoundedHinge


def slope(loss, line, s):
    """psi(s) of every column, written out: regularisers + sum over the observations."""
    scores = line.scores + s * line.slopes
    of_loss = line.weights * loss.derivative(line.y, scores) * line.slopes
    return line.linear + line.quadratic * s + of_loss.sum(axis=0)


def bisected(line):
    """The least minimiser of a convex objective on s >= 0, by halving."""
    if slope(SquaredHinge(), line, 0.0) >= 0:
        return 0.0
    low, high = 0.0, 1.0
    while slope(SquaredHinge(), line, high) < 0:
        high *= 2
        assert high < 1e18, "not bounded below"
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(SquaredHinge(), line, middle) >= 0 else (middle, high)
    return high


def random_line(rng, n_labels, c, tie=False):
    """Rays with break points of all kinds; on a coarse grid if ties are wanted."""
    y = rng.choice([-1.0, 1.0], (n_labels, c))
    f, df = rng.standard_normal((2, n_labels, c)) * 10.0 ** rng.uniform(-2, 2)
    if tie:
        f, df = np.round(f), np.round(df)
    weights = rng.uniform(0.1, 5, (n_labels, 1))
    quadratic = 10.0 ** rng.uniform(-6, 1, c)
    return Line(3 * rng.standard_normal(c), quadratic, y, f, df, weights)


# Halves and quarters, so that break points coincide and scores lie on the margin exactly.
lattice = st.integers(-8, 8).map(lambda k: k / 4)
observation = st.tuples(
    st.sampled_from([-1.0, 1.0]), lattice, lattice, st.sampled_from([0.5, 1, 3])
)


@given(
    st.lists(observation, min_size=1, max_size=12),
    st.integers(-12, 4).map(float),
    st.sampled_from([0.0, 0.25, 2.0]),
)
# The slope is 0 from s = 1 to s = 3, or from the start; scores on the margin move in or out.
@example([(1.0, 0.0, 1.0, 1), (1.0, -1.0, 2.0, 1), (1.0, 3.0, -2 / 3, 1)], 0.0, 0.0)
@example([(1.0, 2.0, -0.5, 1), (1.0, 3.0, 1.0, 1)], 0.0, 0.0)
@example([(1.0, 1.0, -2.0, 1), (1.0, 0.0, 1.0, 1)], 0.0, 0.0)
@example([(1.0, 1.0, 2.0, 1), (1.0, 0.0, 1.0, 1)], 0.0, 0.0)
def test_the_step_on_a_lattice_of_ties(observations, linear, quadratic):
    """The least minimiser, by bisection (errata L17)."""
    y, f, df, weights = (np.array(part) for part in zip(*observations, strict=True))
    # Far out psi(s) = level + tilt s; a linear term that stays negative is no regulariser's.
    tilt = quadratic + weights[y * df < 0] @ df[y * df < 0] ** 2
    linear = linear if tilt > 0 else max(linear, 0.0)
    columns = (part[:, None] for part in (y, f, df, weights))
    line = Line(np.array([linear]), np.array([quadratic]), *columns)
    step = exact_line_search(SquaredHinge(), line)[0]
    assert step == pytest.approx(bisected(line), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    "loss",
    [
        SquaredHinge(),
        Squared(),
        RoundedHinge(0.3),
        RoundedHinge(2.5),
        Logistic(),
        SquaredHinge().smoothed(0.1),
    ],
    ids=lambda loss: loss.name,
)
@pytest.mark.parametrize("tie", [False, True], ids=["in general position", "with ties"])
def test_the_slope_vanishes_whatever_the_loss(loss, tie):
    """By breaks, two of them, or by roots."""
    rng, n_inside = np.random.default_rng(7), 0
    for _ in range(60):
        line = random_line(rng, int(rng.integers(1, 20)), 3, tie)
        y, f, df, w = line.y, line.scores, line.slopes, line.weights
        s = exact_line_search(loss, line)
        terms = np.abs(line.linear) + line.quadratic * s
        terms += (w * np.abs(loss.derivative(y, f + s * df) * df)).sum(axis=0)
        # sums over the breaks passed are as large as the curvatures make them
        scores = np.linspace(-3, 3, 1201)[:, None, None] * np.ones_like(y)
        steepest = loss.curvature(y, scores).max()
        terms += (w * steepest * (np.abs(f) + s * np.abs(df) + 1) * np.abs(df)).sum(axis=0)
        descends = slope(loss, line, np.zeros(3)) < 0
        n_inside += descends.sum()
        np.testing.assert_array_equal(s[~descends], 0)
        assert (np.abs(slope(loss, line, s)) <= 1e-13 * terms)[descends].all()
    assert n_inside > 60
