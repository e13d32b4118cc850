"""The exact line search against bisection, brute force and closed forms (errata L17, L24)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from lapwing.losses import EpsilonInsensitive, Hinge, Kind, Squared, SquaredHinge
from lapwing.objectives.manifold import Line
from lapwing.solvers.manifold.line_search import crossings, exact_line_search
from tests.helpers.outside import Logistic, RoundedHinge
from tests.helpers.problems import GRAPHS, make_case, primal_value, sweep


def make_line(y, f, df, *, linear=0.0, quadratic=0.0, weights=None):
    """One ray."""
    y, f, df = (np.asarray(part, dtype=float).reshape(-1, 1) for part in (y, f, df))
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    return Line(np.array([linear]), np.array([quadratic]), y, f, df, weights.reshape(-1, 1))


def slope(line, s, j=0):
    """psi(s) of a column, written out: regularisers + sum over E of w (f + s df - y) df."""
    y, f, df = line.y[:, j], line.scores[:, j], line.slopes[:, j]
    at = f + s * df
    of_loss = line.weights[:, 0] * (at - y) * df * (y * at < 1)
    return line.linear[j] + line.quadratic[j] * s + of_loss.sum()


def objective(line, s, j=0):
    y, at = line.y[:, j], line.scores[:, j] + s * line.slopes[:, j]
    fit = line.weights[:, 0] @ (0.5 * np.maximum(0, 1 - y * at) ** 2)
    return line.linear[j] * s + 0.5 * line.quadratic[j] * s**2 + fit


def bisected(line, j=0):
    """The least minimiser of a convex objective on s >= 0, by halving."""
    if slope(line, 0.0, j) >= 0:
        return 0.0
    low, high = 0.0, 1.0
    while slope(line, high, j) < 0:
        high *= 2
        assert high < 1e18, "not bounded below"
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(line, middle, j) >= 0 else (middle, high)
    return high


def search(line):
    return exact_line_search(SquaredHinge(), line)


def random_line(rng, n_labels, c=1, tie=False):
    """Rays with break points of all kinds; on a coarse grid if ties are wanted."""
    y = rng.choice([-1.0, 1.0], (n_labels, c))
    f, df = rng.standard_normal((2, n_labels, c)) * 10.0 ** rng.uniform(-2, 2)
    if tie:
        f, df = np.round(f), np.round(df)
    weights = rng.uniform(0.1, 5, (n_labels, 1))
    quadratic = 10.0 ** rng.uniform(-6, 1, c)
    return Line(3 * rng.standard_normal(c), quadratic, y, f, df, weights)


@pytest.mark.parametrize("tie", [False, True], ids=["in general position", "with ties"])
def test_the_step_is_where_the_slope_vanishes(tie):
    rng = np.random.default_rng(0)
    n_inside = 0
    for _ in range(120):
        line = random_line(rng, int(rng.integers(1, 30)), c=3, tie=tie)
        steps = search(line)
        assert steps.shape == (3,)
        for j, s in enumerate(steps):
            start = slope(line, 0.0, j)
            if start >= 0:
                assert s == 0
                continue
            n_inside += 1
            # Rounding: the terms of psi(s) may be far larger than psi(0).
            terms = abs(line.linear[j]) + line.quadratic[j] * s
            at = line.scores[:, j] + s * line.slopes[:, j]
            terms += line.weights[:, 0] @ np.abs((at - line.y[:, j]) * line.slopes[:, j])
            assert abs(slope(line, s, j)) <= 1e-12 * terms
            assert s == pytest.approx(bisected(line, j), rel=1e-6, abs=1e-12)
    assert n_inside > 90  # else the test would test nothing


def test_the_step_minimises_among_a_dense_grid():
    rng = np.random.default_rng(1)
    for _ in range(100):
        line = random_line(rng, 8)
        s = search(line)[0]
        best = objective(line, s)
        for probe in [*np.linspace(0, 2 * s + 1, 301), *(s * np.array([0.999, 1.001]))]:
            assert best <= objective(line, probe) + 1e-9 * (1 + abs(best))


def test_the_step_is_scipys():
    rng = np.random.default_rng(2)
    for _ in range(100):
        line = random_line(rng, 8)
        s = search(line)[0]
        bounds = (0.0, 2 * bisected(line) + 1)
        found = minimize_scalar(
            lambda s, line=line: objective(line, s), bounds=bounds, method="bounded"
        )
        assert objective(line, s) <= found.fun + 1e-10 * (1 + abs(found.fun))


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
def test_the_step_on_a_lattice_of_ties(observations, linear, quadratic):
    y, f, df, weights = (np.array(part) for part in zip(*observations, strict=True))
    # Far out psi(s) = level + tilt s; a linear term that stays negative is no regulariser's.
    tilt = quadratic + weights[y * df < 0] @ df[y * df < 0] ** 2
    linear = linear if tilt > 0 else max(linear, 0.0)
    line = make_line(y, f, df, linear=linear, quadratic=quadratic, weights=weights)
    assert search(line)[0] == pytest.approx(bisected(line), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("linear", [0.0, 1e-300, 0.5])
def test_directions_that_do_not_descend_get_no_step(linear):
    line = make_line([1, 1], [2, 3], [1, -0.1], linear=linear, quadratic=1.0)
    assert search(line)[0] == 0
    ascending = make_line([1.0], [0.0], [-1.0], quadratic=1.0)
    assert slope(ascending, 0.0) > 0
    assert search(ascending)[0] == 0


def test_a_direction_of_zero_gets_no_step():
    line = make_line([1, -1], [0.3, 5], [0, 0])
    assert search(line)[0] == 0


def test_where_the_slope_is_zero_on_an_interval_its_left_end_is_taken():
    # Both margins are reached at s = 1, and nothing happens until s = 3 brings a third one in.
    line = make_line([1, 1, 1], [0, -1, 3], [1, 2, -2 / 3])
    assert slope(line, 1.0) == slope(line, 2.0) == 0
    assert search(line)[0] == 1.0


def test_a_flat_stretch_at_the_start():
    # E empty and no regulariser (L17 (d)): psi is 0 from the start.
    assert search(make_line([1, 1], [2, 3], [-0.5, 1]))[0] == 0


def test_points_on_the_margin_count_by_where_they_go():
    # m = 1 exactly: the sign of m' decides, errata L17 (b). Only the second observation descends.
    enters = make_line([1, 1], [1.0, 0.0], [-2.0, 1.0])
    assert search(enters)[0] == pytest.approx(0.2)  # (s 2) 2 = (1 - s) 1
    leaves = make_line([1, 1], [1.0, 0.0], [2.0, 1.0])
    assert search(leaves)[0] == pytest.approx(1.0)


def test_observations_with_the_weight_of_two_are_two_observations():
    rng = np.random.default_rng(3)
    for _ in range(30):
        line = random_line(rng, 6)
        twice = line._replace(weights=2 * line.weights)
        repeated = line._replace(
            **{
                name: np.concatenate([getattr(line, name)] * 2)
                for name in ("y", "scores", "slopes", "weights")
            }
        )
        np.testing.assert_allclose(search(twice), search(repeated), rtol=1e-12)


def test_columns_do_not_mix():
    rng = np.random.default_rng(4)
    for _ in range(30):
        line = random_line(rng, 9, c=4)
        together = search(line)
        for j in range(4):
            alone = Line(
                line.linear[[j]],
                line.quadratic[[j]],
                line.y[:, [j]],
                line.scores[:, [j]],
                line.slopes[:, [j]],
                line.weights,
            )
            assert search(alone)[0] == pytest.approx(together[j], rel=1e-12)


def test_the_squared_loss_has_a_closed_form():
    """Errata L24: s* = -g'd / d'Hd with both of the same scale."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        line = random_line(rng, 7, c=2)
        w = line.weights
        down = line.linear + (w * (line.scores - line.y) * line.slopes).sum(axis=0)
        curved = line.quadratic + (w * line.slopes**2).sum(axis=0)
        expected = np.maximum(-down / curved, 0)
        np.testing.assert_allclose(exact_line_search(Squared(), line), expected, rtol=1e-10)


@pytest.mark.parametrize("loss", [SquaredHinge(), Squared()], ids=lambda loss: loss.name)
@pytest.mark.parametrize(
    ("graph", "fit_intercept", "space"),
    [tuple(a.values()) for a in sweep(graph=GRAPHS, bias=(False, True), space=("full", "linear"))],
)
def test_along_a_ray_of_a_whole_objective(graph, fit_intercept, space, loss):
    """Regularisers take part with f and f_d, the bias included (errata L17 (c))."""
    case = make_case(graph=graph, fit_intercept=fit_intercept, space=space, loss=loss, c=3)
    problem, rng = case.objective(), np.random.default_rng(6)
    m = problem.space.n_coef
    for _ in range(3):
        start, direction = (
            problem.state(
                rng.standard_normal((m, 3)) / m, rng.standard_normal(3) * case.fit_intercept
            )
            for _ in range(2)
        )
        steps = exact_line_search(loss, problem.line(start, direction))

        def value(s, start=start, direction=direction):
            coef = start.coef + s * direction.coef
            return primal_value(case, coef, start.intercept + s * direction.intercept)

        best = value(steps)
        for nudge in (1e-3, 0.1, 1.0):
            assert (best <= value(steps + nudge)).all()
            assert (best <= value(np.maximum(steps - nudge, 0))).all()


# --- the active set along a ray -------------------------------------------------------------------


def first_crossing(loss, y, f, df):
    """The step of the only observation over the only break."""
    steps, _ = crossings(loss, make_line([y], [f], [df]))
    return steps[0, 0, 0]


scores = st.one_of(st.sampled_from([-1.0, 0.0, 1.0, 2.0]), st.floats(-4, 4, width=16))


@given(st.sampled_from([-1.0, 1.0]), scores, scores)
def test_crossings_of_the_squared_hinge_by_brute_force(y, f, df):
    """Errata L17 (b): no flip before the step, one there, none after; inf where there is none."""
    step = float(first_crossing(SquaredHinge(), y, f, df))

    def active(s):
        return y * (f + s * df) < 1

    assert step >= 0
    assert not np.isnan(step)
    # Scores are multiples of 2^-24 at least, so flips lie between 2^-30 and 2^30; a point on the
    # margin that moves in is active at once.
    before = active(2.0**-30)
    if np.isinf(step):
        assert {active(2.0**k) for k in range(-30, 31)} == {before}
        return
    margin = 1e-9 * max(1.0, step)
    if step > 2 * margin:
        assert {active(step * part) for part in np.linspace(1e-9, 1 - 1e-9, 17)} == {before}
    # Beyond the step, far enough for f + s df to differ from the break point in rounding.
    beyond = step + max(1e-6 * max(1.0, step), 1e-9 / abs(df))
    assert {active(beyond * factor) for factor in (1, 1.5, 10, 1e4)} == {not before}


@pytest.mark.parametrize(
    ("f", "df", "expected"),
    [
        (1.0, 0.5, np.inf),  # on the margin and moving out: it is not in E and stays out
        (1.0, -0.5, np.inf),  # on the margin and moving in: it is in E at once, and stays
        (1.0, 0.0, np.inf),  # 0/0
        (0.0, 0.0, np.inf),
        (0.0, -1.0, np.inf),  # in E, ever deeper
        (0.0, 2.0, 0.5),
        (3.0, -1.0, 2.0),
        (3.0, 1.0, np.inf),
    ],
)
def test_crossings_at_the_corners(f, df, expected):
    for y in (-1.0, 1.0):
        assert first_crossing(SquaredHinge(), y, y * f, y * df) == expected


def test_the_squared_loss_has_nothing_to_cross():
    steps, breaks = crossings(Squared(), make_line([1.0, 0.3], [0.2, 0.3], [1.0, -1.0]))
    assert steps.shape == breaks.shape == (0, 2, 1)


def test_crossings_of_several_breaks_come_in_the_order_of_the_ray():
    line = make_line([0.0, 0.0, 0.0], [-2.0, 2.0, 0.0], [1.0, -2.0, 1.0])
    steps, breaks = crossings(EpsilonInsensitive(1.0), line)
    np.testing.assert_array_equal(steps[:, :, 0], [[1.0, 0.5, 1.0], [3.0, 1.5, np.inf]])
    np.testing.assert_array_equal(breaks[:, :2, 0], [[-1.0, 1.0], [1.0, -1.0]])
    assert breaks[0, 2, 0] == 1.0


def test_losses_with_kinks_are_refused():
    with pytest.raises(ValueError, match=r"Hinge\(\) has kinks.* Use the solver 'dual' with it\."):
        exact_line_search(Hinge(), make_line([1.0], [0.0], [1.0]))


# --- losses of any form ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "loss",
    [RoundedHinge(0.3), RoundedHinge(2.5), Logistic(), SquaredHinge().smoothed(0.1)],
    ids=lambda loss: loss.name,
)
@pytest.mark.parametrize("tie", [False, True], ids=["in general position", "with ties"])
def test_the_slope_vanishes_whatever_the_loss(loss, tie):
    """By breaks, two of them, or by roots; psi is written out from the derivative."""
    rng, n_inside = np.random.default_rng(7), 0
    for _ in range(150):
        line = random_line(rng, int(rng.integers(1, 20)), c=3, tie=tie)
        y, f, df, w = line.y, line.scores, line.slopes, line.weights

        def psi(s, line=line, y=y, f=f, df=df, w=w):
            of_loss = (w * loss.derivative(y, f + s * df) * df).sum(axis=0)
            return line.linear + line.quadratic * s + of_loss

        s = exact_line_search(loss, line)
        terms = np.abs(line.linear) + line.quadratic * s
        terms += (w * np.abs(loss.derivative(y, f + s * df) * df)).sum(axis=0)
        # sums over the breaks passed are as large as the curvatures make them
        steepest = loss.curvature(
            y, np.linspace(-3, 3, 1201)[:, None, None] * np.ones_like(y)
        ).max()
        terms += (w * steepest * (np.abs(f) + s * np.abs(df) + 1) * np.abs(df)).sum(axis=0)
        descends = psi(np.zeros(3)) < 0
        n_inside += descends.sum()
        np.testing.assert_array_equal(s[~descends], 0)
        assert (np.abs(psi(s)) <= 1e-13 * terms)[descends].all()
    assert n_inside > 150


def test_both_searches_find_the_same_step():
    """A loss that says where it breaks, and the same one that does not."""

    class Undeclared(RoundedHinge):
        kind = Kind.SMOOTH

    rng = np.random.default_rng(8)
    for _ in range(100):
        line = random_line(rng, 12, c=4)
        by_breaks = exact_line_search(RoundedHinge(0.4), line)
        np.testing.assert_allclose(
            exact_line_search(Undeclared(0.4), line), by_breaks, rtol=1e-9, atol=1e-14
        )
