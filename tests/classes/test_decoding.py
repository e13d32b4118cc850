"""From scores to classes: columns, elections, and one-vs-one votes by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from lapwing.classes.decoding import (
    as_columns,
    as_decisions,
    class_pairs,
    coded_columns,
    n_columns,
    of_each_class,
    posteriors,
    predict_codes,
    vote_matrix,
    votes,
)

# --- columns of classes ---------------------------------------------------------------------------


@pytest.mark.parametrize(("n_classes", "rest", "pairs"), [(2, 1, 1), (3, 3, 3), (4, 4, 6)])
def test_number_of_columns_of_classes_and_pairs(n_classes, rest, pairs):
    assert n_columns(n_classes) == rest
    assert n_columns(n_classes, paired=True) == pairs == len(class_pairs(n_classes))
    assert class_pairs(n_classes).tolist() == list(map(list, combinations(range(n_classes), 2)))


def test_coded_columns_are_decoded_to_their_class():
    """An unlabelled point, of code -1, is of no class."""
    np.testing.assert_array_equal(coded_columns(np.array([0, 1, -1]), 2), [[-1], [1], [-1]])
    for n_classes in (2, 3, 5):
        codes = np.random.default_rng(0).integers(n_classes, size=40)
        columns = coded_columns(codes, n_classes)
        assert (columns.shape, columns.dtype) == ((40, n_columns(n_classes)), np.float64)
        np.testing.assert_array_equal(predict_codes(columns), codes)
        np.testing.assert_array_equal(of_each_class(columns), 2 * np.eye(n_classes)[codes] - 1)
        decisions = as_decisions(columns)
        assert decisions.ndim == (1 if n_classes == 2 else 2)
        np.testing.assert_array_equal(as_columns(decisions), columns)
    assert (coded_columns(np.array([-1]), 3) == -1).all()


def test_ties_are_decoded_to_the_positive_class_or_the_first_of_many():
    """Errata X5."""
    assert predict_codes(np.array([[0.0], [-0.0], [-1e-300], [1.0]])).tolist() == [1, 1, 0, 1]
    assert predict_codes(np.array([[2.0, 2.0, 1.0], [0.0, 3.0, 3.0]])).tolist() == [0, 1]
    assert predict_codes(np.zeros((2, 1))).dtype == np.intp


# --- votes ----------------------------------------------------------------------------------------


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
    assert votes(values.astype(np.float32), n_classes).dtype == np.float32


def test_posteriors_are_shares():
    scores = np.array([[0.2, -0.1, 0.4], [1e4, 0.0, -1e4], [0.0, 0.0, 0.0]])
    shares = posteriors(scores, 7.0)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares[0, 2] / shares[0, 0], np.exp(7 * 0.2))
    np.testing.assert_allclose(shares[1], [1, 0, 0])
    np.testing.assert_allclose(shares[2], 1 / 3)
