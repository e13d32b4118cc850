"""All methods on shared problems: local minima, and how often the global one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from lapwing.losses import GaussianBump, Hinge, SquaredHinge, SymmetricHinge
from lapwing.objectives.low_density import Function
from lapwing.solvers.base import Settings, Status
from lapwing.solvers.low_density import methods as s3vm
from lapwing.solvers.low_density.cccp import (
    assign,
    concave_convex,
    labeled_by,
    minimize,
    switch,
    switch_labels,
)
from lapwing.solvers.low_density.methods import (
    METHODS,
    RAMP,
    Method,
    minimize_low_density,
    scheduled,
)
from tests.helpers.low_density import global_optimum, make_tiny, value_of
from tests.helpers.outside import (
    CauchyBump,
    Logistic,
    NearerHuber,
    RoundedHinge,
    SteepHinge,
    flipped,
    halving,
)
from tests.solvers.low_density.test_multipliers import violation

SETTINGS = Settings(tol=1e-8, max_iter=20_000)
COMBINATORIAL = ("cccp", "switching")
# Methods that know nothing of the losses, and methods of users.
DESCENDING = [
    "gradient",
    "quasi-newton",
    Method(scheduled(halving), "halving"),
    Method(flipped, "flipped"),
]
SEEDS = range(2)
FOR_ALL = pytest.mark.parametrize("method", METHODS)


def tiny_for(method, seed, **changes):
    return make_tiny(seed, symmetric=method in COMBINATORIAL, **changes)


def fit(tiny, method, **options) -> Any:
    return minimize_low_density(tiny.objective(), method, SETTINGS, **options)


@cache
def fitted(method, seed) -> Any:
    return fit(tiny_for(method, seed), method)


# --- guarantees of every method -------------------------------------------------------------------


# (loss, loss on unlabelled scores, method), with losses of users; further methods need formulas.
FOLLOWING = [method for method in METHODS if method not in COMBINATORIAL]
CASES = [
    *((Hinge(), SymmetricHinge(), method) for method in COMBINATORIAL),
    *(
        (loss, GaussianBump(), method)
        for loss in (Hinge(), SteepHinge(1.7), SquaredHinge())
        for method in FOLLOWING
    ),
    *(
        (loss, CauchyBump(2.0), method)
        for loss in (RoundedHinge(0.3), Logistic())
        for method in DESCENDING
    ),
    *(
        (RoundedHinge(0.4), NearerHuber(0.4), method)
        for method in (*COMBINATORIAL, "gradient", "quasi-newton")
    ),
]


@pytest.mark.parametrize(
    ("loss", "unlabeled_loss", "method"),
    CASES,
    ids=lambda part: part if isinstance(part, str) else getattr(part, "name", ""),
)
@pytest.mark.parametrize("seed", SEEDS)
def test_solutions_are_local_minima_not_above_the_supervised_one(
    loss, unlabeled_loss, method, seed
):
    tiny = make_tiny(seed, loss=loss, unlabeled_loss=unlabeled_loss)
    objective, result = tiny.objective(), fit(tiny, method)
    supervised, minimum = result.supervised, result.minimum
    for solution in (supervised, minimum):
        w, b = solution.state
        assert solution.objective == pytest.approx(value_of(tiny, w[None], b)[0], rel=1e-12)
    assert minimum.objective <= supervised.objective
    assert len(result.objectives) == 1
    f = objective.values(minimum.state)[objective.unlabeled]
    convex = objective
    if not unlabeled_loss.kind.differentiable:
        # optimal for the SVM with its signs as labels: no label disagrees with its score
        convex = labeled_by(objective, np.where(f >= 0, 1.0, -1.0), tiny.C_star)
        assert convex.value(minimum.state) == pytest.approx(minimum.objective, rel=1e-12)
    if loss.kind.differentiable:
        at_end, at_zero = (
            np.linalg.norm(convex.value_and_gradient(at)[1])
            for at in (minimum.state, convex.zero())
        )
        assert at_end < 1e-6 * at_zero
    elif loss == Hinge():
        assert violation(convex, minimum.state) < 1e-5
        assert violation(objective.supervised(), supervised.state) < 1e-5
    rng = np.random.default_rng(0)
    for size in (1e-5, 1e-4):
        W = w + size * rng.standard_normal((300, len(w)))
        assert value_of(tiny, W, b).min() >= minimum.objective * (1 - 1e-7)


def test_returns_the_supervised_solution_if_it_is_lower(monkeypatch):
    """A start that ends in a bad basin leaves the supervised solution, with its value in J."""
    tiny = make_tiny(0)
    objective = tiny.objective()
    bad = minimize(objective.supervised(), objective.zero(), Settings(1e-8, 1000))
    far = Function(-8 * bad.state.coef, bad.state.intercept)

    def astray(objective, start, settings, random):
        return replace(bad, state=far)

    def stay(objective, start, settings):
        return replace(bad, state=start, objective=objective.value(start))

    monkeypatch.setitem(METHODS, "astray", Method(astray))
    monkeypatch.setattr(s3vm, "local_minimum", stay)
    result = fit(tiny, "astray")
    assert not result.improved
    assert result.objectives[0] == objective.value(far) > result.supervised.objective
    assert result.minimum.objective == result.supervised.objective
    np.testing.assert_array_equal(result.minimum.state.coef, result.supervised.state.coef)


@pytest.mark.parametrize("method", COMBINATORIAL)
def test_supervised_solution_at_the_minimum_counts_as_improved(method):
    """Far out on both sides nothing pulls: rounding must not decide that nothing was found."""
    tiny = replace(tiny_for(method, 54), C_star=np.full(9, 1e-3))
    X = tiny.X * np.array([0.05, 1.0])
    X[:, 1] += 6 * np.sign(tiny.X[:, 0])
    result = fit(replace(tiny, X=X), method)
    assert result.objectives[0] == pytest.approx(result.supervised.objective, rel=1e-6)
    assert result.improved


@FOR_ALL
def test_zero_unlabelled_weight_gives_the_svm(method):
    tiny = tiny_for(method, 0)
    tiny = replace(tiny, C_star=0 * tiny.C_star)
    result = fit(tiny, method, n_init=3)
    assert result.minimum is result.supervised
    assert result.improved
    assert violation(tiny.objective(), result.minimum.state) < 1e-5
    assert result.supervised.objective == result.minimum.objective


@pytest.mark.parametrize("method", ["continuation", "switching"])
def test_the_same_random_numbers_give_the_same_answer(method):
    tiny = tiny_for(method, 2)
    one, two = (fit(tiny, method, n_init=3, random=np.random.RandomState(5)) for _ in range(2))
    np.testing.assert_array_equal(one.minimum.state.coef, two.minimum.state.coef)
    np.testing.assert_array_equal(one.objectives, two.objectives)
    assert one.objectives[0] == fitted(method, 2).objectives[0]
    assert len(one.objectives) == 3
    assert one.minimum.objective == min(one.objectives.min(), one.supervised.objective)


@pytest.mark.parametrize("bias", [(-np.inf, np.inf), (-0.2, 0.1)])
@FOR_ALL
def test_free_and_bounded_biases_are_minimised(method, bias):
    """Free and bounded: first-order conditions, and never above the supervised solution."""
    tiny = tiny_for(method, 1, bias=bias)
    objective, result = tiny.objective(), fit(tiny, method)
    assert bias[0] <= result.minimum.state.intercept <= bias[1]
    assert result.minimum.objective <= result.supervised.objective
    assert result.improved
    f = objective.values(result.minimum.state)[objective.unlabeled]
    if method in COMBINATORIAL:
        objective = labeled_by(objective, np.where(f >= 0, 1.0, -1.0), tiny.C_star)
    assert violation(objective, result.minimum.state) < 1e-5


@FOR_ALL
def test_a_callback_stops_a_method_with_the_value_of_the_objective(method):
    tiny, seen = tiny_for(method, 0), []
    supervised = fitted(method, 0).supervised

    def on_iteration(known):
        seen.append(known())
        return len(seen) > supervised.n_iter + 3

    settings = replace(SETTINGS, on_iteration=on_iteration)
    result = minimize_low_density(tiny.objective(), method, settings, n_init=5)
    assert len(seen) == supervised.n_iter + 4  # nothing is begun after it
    assert len(result.objectives) == 1
    assert result.objectives[0] == tiny.objective().value(seen[-1])
    # As it is, whatever the supervised one is.
    assert result.minimum.objective == result.objectives[0]
    assert result.minimum.status == Status.CALLBACK
    assert result.improved


@FOR_ALL
def test_a_single_unlabelled_point(method):
    tiny = tiny_for(method, 0)
    tiny = replace(tiny, X=tiny.X[: tiny.l + 1], C_star=tiny.C_star[:1])
    result = fit(tiny, method)
    assert np.isfinite(result.minimum.objective)
    assert result.minimum.objective <= result.supervised.objective


# --- the global optimum ---------------------------------------------------------------------------


@cache
def optimum(seed, symmetric) -> float:
    return global_optimum(make_tiny(seed, symmetric=symmetric))


@FOR_ALL
@pytest.mark.parametrize("problems", [2, pytest.param(30, marks=pytest.mark.slow)])
def test_ten_starts_find_the_optimum(method, problems):
    """Of nine problems in ten; below it is nothing, as it would be by a wrong objective (X3)."""
    settings, gaps = Settings(tol=1e-5, max_iter=20_000), []
    for seed in range(problems):
        objective, random = tiny_for(method, seed).objective(), np.random.RandomState(0)
        result = minimize_low_density(objective, method, settings, n_init=10, random=random)
        gaps.append(result.minimum.objective / optimum(seed, method in COMBINATORIAL) - 1)
    assert min(gaps) > -1e-6
    assert np.mean(np.array(gaps) < 1e-4) >= 0.9


# --- concave-convex steps -------------------------------------------------------------------------


@pytest.mark.parametrize("ramp", [0.0, RAMP])
def test_concave_convex_steps_end_at_the_svm_of_their_own_labels(ramp):
    """Not above the start on min(1 - S, max(0, 1 - |f|))."""
    for seed in SEEDS:
        objective = make_tiny(seed, symmetric=True).objective()

        def height(function, objective=objective):
            f = objective.values(function)[objective.unlabeled]
            cut = np.minimum(1 - ramp, np.maximum(0, 1 - np.abs(f)))
            return objective.supervised().value(function) + objective.unlabeled_weights @ cut

        w = np.random.default_rng(seed).standard_normal(objective.features.n_coef)
        start = Function(w, objective.bias[0])
        end = concave_convex(objective, start, Settings(1e-8, 20_000), ramp=ramp)
        assert height(end.state) <= height(start)
        assert end.objective == objective.value(end.state)
        f = objective.values(end.state)[objective.unlabeled]
        weights = np.where(np.abs(f) >= ramp, objective.unlabeled_weights, 0.0)
        svm = labeled_by(objective, np.where(f >= 0, 1.0, -1.0), weights)
        assert violation(svm, end.state) < 1e-5


# --- switching ------------------------------------------------------------------------------------


def test_assign_takes_the_highest_and_of_equals_the_first():
    scores = np.array([0.2, 3.0, -1.0, 0.2, 0.1])
    assert assign(scores, 2).tolist() == [1, 1, -1, -1, -1]
    assert assign(scores, 0).tolist() == [-1] * 5
    assert assign(scores, 5).tolist() == [1] * 5


def test_switches_keep_the_ratio_and_lower_the_losses():
    rng = np.random.default_rng(0)
    for _ in range(200):
        u = int(rng.integers(1, 12))
        labels, scores = rng.choice([-1.0, 1.0], u), 2 * rng.standard_normal(u)
        weights = rng.uniform(0, 2, u)
        switched = switch(Hinge(), labels, scores, weights)
        assert (switched > 0).sum() == (labels > 0).sum()
        before, after = (weights @ np.maximum(0, 1 - each * scores) for each in (labels, switched))
        assert after <= before
        assert (after < before) == (switched != labels).any()
        # no single pair is left whose swap helps
        for i in np.flatnonzero(switched > 0):
            for j in np.flatnonzero(switched < 0):
                pair = switched.copy()
                pair[[i, j]] = -1.0, 1.0
                assert weights @ np.maximum(0, 1 - pair * scores) >= after - 1e-8
    near = switch(Hinge(), np.array([1.0, -1.0]), np.array([0.0, 1e-6]), np.ones(2))
    assert near.tolist() == [-1, 1]


@pytest.mark.parametrize("doublings", [0, 10])
def test_switching_keeps_the_ratio_throughout(doublings, monkeypatch):
    counts, weights = [], []

    def spy(objective, labels, each):
        counts.append(int((labels > 0).sum()))
        weights.append(float(each[0] / objective.unlabeled_weights[0]))
        return labeled_by(objective, labels, each)

    monkeypatch.setattr("lapwing.solvers.low_density.cccp.labeled_by", spy)
    objective = make_tiny(1, symmetric=True).objective()
    start = minimize(objective.supervised(), objective.zero(), Settings(1e-8, 5000)).state
    settings = Settings(1e-6, 20_000)
    end = switch_labels(objective, start, settings, n_positive=3, doublings=doublings)
    assert set(counts) == {3}
    assert sorted(set(weights)) == [2.0**k for k in range(-doublings, 1)]
    assert end.objective == objective.value(end.state)


@pytest.mark.parametrize(
    ("bias", "positive"),
    [((0.5, 0.5), 9), ((-np.inf, np.inf), 3), ((0.2, 0.9), 7), ((1.0, 1.0), 11), ((0.0, 0.0), 3)],
)
def test_the_ratio_is_that_of_the_balance_of_the_labels_or_of_a_random_start(
    bias, positive, monkeypatch
):
    points = np.random.default_rng(0).standard_normal((14, 2))
    weights = {"C": np.array([1.0, 3.0]), "C_star": np.ones(12)}
    parts = {"X": points, "y": np.array([1.0, -1.0]), **weights}
    tiny = make_tiny(0, symmetric=True, bias=bias, **parts)
    # A bias of 0 without a centre is none at all, and no balance.
    objective, start = tiny.objective(centered=bias != (0, 0)), Function(np.array([1.0, 0.0]), 0.0)
    monkeypatch.setattr(s3vm, "switch_labels", lambda *args, **options: options)
    run: Any = METHODS["switching"].solve
    assert run(objective, start, SETTINGS, False) == {"n_positive": positive, "doublings": 10}
    at_start = np.count_nonzero(objective.values(start)[2:] >= 0)
    # A small weight would lead all starts to the solution of the labels.
    assert run(objective, start, SETTINGS, True) == {"n_positive": at_start, "doublings": 0}


# --- scheduled methods and random starts ----------------------------------------------------------


def test_starts_and_precision_of_scheduled_methods(monkeypatch):
    """Random starts run the last stages only, in which they have a minimum of their own."""
    monkeypatch.setattr("lapwing.objectives.low_density._CACHED_BYTES", 0)
    seen: list[Any] = []

    def watched(stages, start, settings):
        dtypes = {stage.objective.features.space.dtype for stage in stages}
        seen.append(([stage.parameter for stage in stages], start, dtypes))

    monkeypatch.setattr(s3vm.schedules, "run_stages", watched)
    objective = make_tiny(0).objective()
    start = Function(np.ones(objective.features.n_coef), objective.bias[0])
    for supervised in (True, False):
        run = scheduled(halving, supervised=supervised)
        for random in (False, True):
            run(objective, start, SETTINGS, random)
    assert [parameters for parameters, *_ in seen] == [[0.5, 1.0], [1.0]] * 2
    assert [at is start for _, at, _ in seen] == [True, True, False, True]
    assert not seen[2][1].coef.any()
    assert all(dtypes == {np.dtype(np.float32)} for *_, dtypes in seen)


def test_random_starts_differ_by_a_standard_deviation_on_the_unlabelled_points():
    objective = make_tiny(0).objective()
    supervised = Function(np.ones(objective.features.n_coef), 0.5)
    start = s3vm._random_start(objective, supervised, np.random.RandomState(0))
    moved = objective.values(start) - objective.values(supervised)
    assert np.std(moved[objective.unlabeled]) == pytest.approx(1)
    assert start.intercept == 0.5


def test_only_rough_solutions_are_in_the_precision_of_the_points(monkeypatch):
    """The supervised solution is more exact if a method starts from it."""
    tiny, minimize_, seen = make_tiny(0), s3vm.minimize, []

    def watched(objective, start, settings, **options):
        seen.append((objective.features.space.dtype, settings.tol))
        return minimize_(objective, start, settings, **options)

    monkeypatch.setattr(s3vm, "minimize", watched)
    objective = replace(tiny, X=tiny.X.astype(np.float32)).objective()
    for rough in (False, True):
        method, settings = Method(flipped, "flipped"), Settings(1e-4, 1000)
        minimize_low_density(objective, method, settings, rough=rough)
    expected = [(np.float64, 1e-4 * s3vm._START_TOL), (np.float64, 1e-4), (np.float32, 1e-4)]
    assert seen == expected
