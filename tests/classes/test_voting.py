"""One-vs-one votes by hand."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing.classes.voting import VotedFunction, class_pairs, posteriors, vote_matrix, votes


def test_pairs_in_the_order_of_their_columns():
    assert class_pairs(3).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert class_pairs(2).tolist() == [[0, 1]]
    assert class_pairs(10).shape == (45, 2)


def test_votes_by_hand():
    """A machine is positive for the second of its classes, and no surer than 1."""
    values = np.array([[0.5, -3.0, 0.2], [-1.0, -1.0, 7.0]])
    expected = [[(-0.5 + 1) / 2, (0.5 - 0.2) / 2, (-1 + 0.2) / 2], [1.0, -1.0, 0.0]]
    np.testing.assert_allclose(votes(values, 3), expected)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_votes_against_loops(n_classes):
    pairs = class_pairs(n_classes)
    values = np.random.default_rng(0).standard_normal((20, len(pairs))) * 2
    scores = np.zeros((20, n_classes))
    for column, (a, b) in enumerate(pairs):
        vote = np.clip(values[:, column], -1, 1)
        scores[:, a] -= vote / (n_classes - 1)
        scores[:, b] += vote / (n_classes - 1)
    found = votes(values, n_classes)
    np.testing.assert_allclose(found, scores, atol=1e-14)
    assert np.abs(found).max() <= 1
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-13)
    np.testing.assert_allclose(np.abs(vote_matrix(n_classes)).sum(axis=0), 1)


def test_a_unanimous_class_has_score_one():
    pairs = class_pairs(4)
    sure = np.where(pairs[:, 1] == 2, 5.0, np.where(pairs[:, 0] == 2, -5.0, 0.1))
    scores = votes(sure[None], 4)[0]
    assert scores.argmax() == 2
    assert scores[2] == 1.0


def test_precision_is_that_of_the_values():
    assert votes(np.zeros((2, 3), dtype=np.float32), 3).dtype == np.float32


def test_posteriors_are_shares():
    scores = np.array([[0.2, -0.1, 0.4], [1e4, 0.0, -1e4], [0.0, 0.0, 0.0]])
    shares = posteriors(scores, 7.0)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares[0, 2] / shares[0, 0], np.exp(7 * 0.2))
    np.testing.assert_allclose(shares[1], [1, 0, 0])
    np.testing.assert_allclose(shares[2], 1 / 3)


def test_a_voted_function():
    function = VotedFunction(lambda X: X, 3)
    X = np.array([[0.5, -3.0, 0.2]])
    np.testing.assert_array_equal(function(X), votes(X, 3))
