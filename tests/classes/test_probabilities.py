"""Probabilities from scores: the optimum by brute force, invariances, and extremes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from lapwing.classes.decoding import of_each_class, predict_codes
from lapwing.classes.probabilities import (
    GRAPH_PRIOR,
    LOW_DENSITY_PRIOR,
    SharpnessPrior,
    class_probabilities,
    fit_sharpness,
    tempered,
    usual_gap,
)

PRIOR = SharpnessPrior(centre=0.3, slope=0.6, classes=0.4, spread=0.8)


def drawn(n_classes, seed=0, n=40, sharpness=2.0):
    """Scores of unlabelled and labelled points, left-out ones, and classes drawn from these."""
    random = np.random.default_rng(seed)
    c = 1 if n_classes == 2 else n_classes
    free, own, left = (random.normal(size=(m, c)) for m in (n, n // 2, n // 2))
    chances = softmax(sharpness * of_each_class(left), axis=1)
    codes = np.array([random.choice(n_classes, p=p) for p in chances])
    return free, own, left, codes


# --- softmax --------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [1, 3, 7])
def test_probabilities_are_the_softmax_of_the_sharpened_scores(c):
    F = np.random.default_rng(c).normal(size=(50, c))
    P = class_probabilities(F, 1.7)
    np.testing.assert_allclose(P, softmax(1.7 * of_each_class(F), axis=1), rtol=1e-13)
    np.testing.assert_allclose(tempered(P, 2.0), class_probabilities(F, 3.4), rtol=1e-12)
    sure = np.array([[1.0, 0.0], [0.5, 0.5]])
    np.testing.assert_array_equal(tempered(sure, 0.3), sure)


@pytest.mark.parametrize(
    "F",
    [
        [[0.0], [-0.0], [1e-20], [-1e-20], [5.0]],
        [[0.0, 0.0, 0.0], [1e-20, 2e-20, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]],
    ],
    ids=["two classes", "three classes"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_largest_probability_is_that_of_the_predicted_class(F, dtype):
    F = np.array(F, dtype=dtype)
    P = class_probabilities(F, 0.3)
    assert P.dtype == np.float64
    np.testing.assert_array_equal(P.argmax(axis=1), predict_codes(F))
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-15)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
@pytest.mark.parametrize("sharpness", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("c", [1, 4])
def test_extreme_scores_and_sharpness_give_finite_probabilities(scale, sharpness, c):
    F = scale * np.random.default_rng(1).uniform(-1.5, 1.5, size=(30, c))
    P = class_probabilities(F, sharpness)
    assert np.isfinite(P).all()
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-13)
    np.testing.assert_array_equal(P.argmax(axis=1), predict_codes(F))


# --- the usual gap --------------------------------------------------------------------------------


def test_usual_gap_is_the_median_of_best_less_second_or_the_mean_if_that_is_zero():
    F = np.array([[3.0, 1.0, 0.0], [0.0, 0.5, 0.25], [1.0, -7.0, 0.0]])
    assert usual_gap(F) == 1.0
    assert usual_gap(np.array([[-1.0], [0.25], [3.0]])) == 2.0
    assert usual_gap(np.array([[0.0], [0.0], [0.0], [2.0]])) == 1.0
    assert usual_gap(np.zeros((4, 3))) == 0.0
    assert np.isfinite(usual_gap(np.array([[1.7e308, -1.7e308], [-1.7e308, 1.7e308]])))


# --- the sharpness --------------------------------------------------------------------------------


def believed(prior, free, own):
    """The prior's centre as the module's formula says, of the logarithm of the sharpness."""

    def gap(F):
        ordered = np.sort(of_each_class(F), axis=1)
        return np.median(ordered[:, -1] - ordered[:, -2])

    n_classes = max(2, free.shape[1])
    mu = prior.centre + prior.classes * np.log(n_classes / 2)
    return mu + prior.slope * np.log(gap(free) / gap(own)) - np.log(gap(free))


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_without_left_out_scores_the_prior_decides(n_classes):
    free, own, _, _ = drawn(n_classes)
    found = fit_sharpness(PRIOR, free, own)
    assert found.value == pytest.approx(np.exp(believed(PRIOR, free, own)))
    assert (found.spread, found.n_labels) == (PRIOR.spread, 0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_the_sharpness_is_that_of_a_general_solver(n_classes, seed):
    free, own, left, codes = drawn(n_classes, seed)
    centre = believed(PRIOR, free, own)

    def penalised(logarithm):
        rows = log_softmax(np.exp(logarithm) * of_each_class(left), axis=1)
        mine = rows[np.arange(len(codes)), codes].sum()
        return (logarithm - centre) ** 2 / (2 * PRIOR.spread**2) - mine

    best = minimize_scalar(penalised, bounds=(centre - 7, centre + 7), options={"xatol": 1e-6}).x
    found = fit_sharpness(PRIOR, free, own, left, codes)
    assert np.log(found.value) == pytest.approx(best, abs=1e-4)
    assert found.n_labels == len(codes)
    h = 0.05
    bend = penalised(best - h) - 2 * penalised(best) + penalised(best + h)
    assert found.spread == pytest.approx(np.sqrt(h**2 / bend), rel=0.03)


@pytest.mark.parametrize("factor", [1e-200, 1e-3, 1e5, 1e200])
def test_probabilities_do_not_depend_on_the_scale_of_scores(factor):
    free, own, left, codes = drawn(3)
    one = fit_sharpness(PRIOR, free, own, left, codes)
    other = fit_sharpness(PRIOR, factor * free, factor * own, factor * left, codes)
    np.testing.assert_allclose(
        class_probabilities(factor * free, other.value),
        class_probabilities(free, one.value),
        rtol=1e-6,
    )


def test_rows_without_left_out_scores_are_ignored():
    free, own, left, codes = drawn(3)
    some = left.copy()
    some[5:] = np.nan
    few = fit_sharpness(PRIOR, free, own, left[:5], codes[:5])
    assert fit_sharpness(PRIOR, free, own, some, codes) == few
    none = fit_sharpness(PRIOR, free, own, np.full_like(left, np.nan), codes)
    assert none == fit_sharpness(PRIOR, free, own)
    # Without unlabelled points the labelled ones are used.
    assert fit_sharpness(PRIOR, own[:0], own) == fit_sharpness(PRIOR, own, own)


def test_equal_scores_give_equal_probabilities():
    nothing = np.zeros((10, 4))
    found = fit_sharpness(PRIOR, nothing, nothing[:3], nothing[:3], np.array([0, 1, 2]))
    assert np.isfinite(found.value)
    np.testing.assert_allclose(class_probabilities(nothing, found.value), 0.25, rtol=1e-15)


@pytest.mark.parametrize("prior", [GRAPH_PRIOR, LOW_DENSITY_PRIOR])
def test_priors_give_typical_points_moderate_probabilities(prior):
    ones = np.array([[1.0], [-1.0], [1.0]])
    value = fit_sharpness(prior, ones, ones).value
    assert 0.6 < class_probabilities(ones, value).max(axis=1)[0] < 0.95
