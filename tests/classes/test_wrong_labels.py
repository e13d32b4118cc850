"""Probability that a label is wrong, against sums written out and against labels that are wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import norm

from lapwing.classes.decoding import of_each_class, predict_codes
from lapwing.classes.label_checks import probability_wrong, suspicious
from lapwing.classes.probabilities import Sharpness

SHARPNESS = Sharpness(2.0, 0.75, 0)


@pytest.mark.parametrize("n_columns", [1, 3])
def test_probability_wrong_is_the_mean_over_sharpness_and_fraction(n_columns: int) -> None:
    """Against the double integral of Bayes' rule on a separate grid."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(12, n_columns))
    n_classes = max(2, n_columns)
    codes = rng.integers(n_classes, size=12)
    columns = of_each_class(scores)
    total, above = 0.0, np.zeros(12)
    shares = (np.arange(300)[:, None] + 0.5) / 1000
    for z in np.linspace(-4, 4, 161):
        right = softmax(2.0 * np.exp(0.75 * z) * columns, axis=1)[np.arange(12), codes]
        mistake = shares * (1 - right) / (n_classes - 1)
        each = mistake + (1 - shares) * right
        weight = norm.pdf(z) * each.prod(axis=1)
        total += weight.sum()
        above += weight @ (mistake / each)
    np.testing.assert_allclose(
        probability_wrong(scores, codes, SHARPNESS), above / total, atol=0.002
    )


def test_labels_that_could_not_be_left_out_are_never_suspicious() -> None:
    scores = np.array([[5.0, -5.0, -5.0], [np.nan] * 3, [4.0, -4.0, -4.0], [5.0, 0.0, -5.0]])
    codes = np.array([0, 1, 0, 0])
    assert probability_wrong(scores, codes, SHARPNESS)[1] == 0
    assert len(suspicious(scores, codes, SHARPNESS)) == 0
    none = np.full((2, 3), np.nan)
    assert probability_wrong(none, codes[:2], SHARPNESS).tolist() == [0, 0]


def test_labels_are_suspicious_as_often_as_they_are_wrong() -> None:
    """Labels drawn by the probabilities, a tenth of them replaced: 5 draws of 200."""
    expected, right, clean = [], [], 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        scores = rng.normal(scale=1.5, size=(200, 4))
        chances = softmax(3.0 * scores, axis=1)
        truth = (rng.random((200, 1)) > chances.cumsum(axis=1)).sum(axis=1)
        clean += len(suspicious(scores, truth, SHARPNESS))
        codes = truth.copy()
        planted = rng.choice(200, 20, replace=False)
        codes[planted] = (codes[planted] + rng.integers(1, 4, size=20)) % 4
        found = suspicious(scores, codes, SHARPNESS)
        wrong = probability_wrong(scores, codes, SHARPNESS)[found]
        assert (np.diff(wrong) <= 0).all()
        assert (predict_codes(scores[found]) != codes[found]).all()
        expected.extend(wrong)
        right.extend(np.isin(found, planted))
    assert abs(sum(right) - sum(expected)) < 2.5 * np.sqrt(len(right) / 4)
    assert sum(right) > 50, "of 100"
    assert clean <= 10, "of 1000 right labels"
