"""The frozen problem: equal rows, weights, observations."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lapwing import problem
from lapwing.problem import Problem, check_weights, distinct_rows, make_problem

# Few values, so that rows repeat; -0.0 equals 0.0.
ROWS = hnp.arrays(
    st.sampled_from([np.float64, np.float32]),
    st.tuples(st.integers(1, 12), st.integers(1, 3)),
    elements=st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5]),
)


def first_of_equals(X: np.ndarray) -> tuple[list[int], list[int]]:
    """The slow way: the first row of each distinct one, and where every row's is."""
    first: list[int] = []
    where = []
    for i, row in enumerate(X):
        same = [k for k, j in enumerate(first) if (X[j] == row).all()]
        where.append(same[0] if same else len(first))
        if not same:
            first.append(i)
    return first, where


@given(ROWS)
def test_distinct_rows_are_those_of_the_slow_way(X: np.ndarray) -> None:
    first, where = first_of_equals(X)
    for points in (X, np.asfortranarray(X), sp.csr_array(X), sp.csr_matrix(X)):
        rows, vertex = distinct_rows(points)
        assert (rows.tolist(), vertex.tolist()) == (first, where)


@given(ROWS)
def test_rows_whose_hashes_agree_are_told_apart(X: np.ndarray) -> None:
    first, where = first_of_equals(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(problem, "_row_hashes", lambda X: np.zeros(X.shape[0], dtype=np.uint64))
        for points in (X, sp.csr_array(X)):
            rows, vertex = distinct_rows(points)
            assert (rows.tolist(), vertex.tolist()) == (first, where)


def test_stored_zeros_are_zeros() -> None:
    stored = sp.csr_array(
        (np.array([1.0, 0.0, 1.0, -0.0]), np.array([0, 1, 0, 2]), np.array([0, 2, 4])), shape=(2, 3)
    )
    assert stored.nnz == 4
    assert distinct_rows(stored)[0].tolist() == [0]


def regular_rows() -> dict[str, np.ndarray]:
    bits = np.array(list(product([0.0, 1.0], repeat=10)))
    return {
        "bits": bits,
        "signs": 2 * bits - 1,
        "powers of two": 2.0 ** np.arange(-500, 500)[:, None],
        "whole numbers": np.arange(4096.0)[:, None],
        "a grid": np.array(list(product(np.arange(16.0), repeat=3))),
        "one mantissa bit": 1 + np.arange(1000)[:, None] * np.finfo(float).eps,
        "float32 grid": np.array(list(product(np.arange(16.0), repeat=3)), dtype=np.float32),
    }


@pytest.mark.parametrize("name", regular_rows())
def test_regular_data_has_no_equal_hashes(name: str) -> None:
    X = regular_rows()[name]
    hashes = problem._row_hashes(X)
    assert len(np.unique(hashes)) == len(X)
    np.testing.assert_array_equal(problem._row_hashes(sp.csr_array(X)), hashes)


# ---- weights -----------------------------------------------------------------------------------

X4 = np.arange(8.0).reshape(4, 2)
TWO = np.array([True, True, False, False])


def test_weights_default_to_one_and_are_float64() -> None:
    np.testing.assert_array_equal(check_weights(None, TWO, np.ones(4)), np.ones(4))
    for given_weights in ([2, 0, 1, 1], np.array([2, 0, 1, 1], dtype=np.float32)):
        weights = check_weights(given_weights, TWO, np.ones(4))
        assert weights.dtype == np.float64
        np.testing.assert_array_equal(weights, [2, 0, 1, 1])


def test_weights_of_unlabelled_rows_are_not_looked_at() -> None:
    np.testing.assert_array_equal(check_weights([1, 1, -5, 0], TWO, np.ones(4)), [1, 1, -5, 0])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -2, 1, 1], r"sample_weight must not be negative on labelled rows: row 1 has -2\.0"),
        ([0, 0, 1, 1], r"sample_weight is zero on every labelled row, so no label is left"),
        ([1, 1, 1], r"sample_weight\.shape == \(3,\), expected \(4,\)"),
        ([1, np.nan, 1, 1], r"sample_weight holds NaN, first at row 1\. Give every row a finite"),
        ([1, 1, 1, np.nan], r"first at row 3\. .* unlabelled ones too, e\.g\. 1\."),
        ([1, np.inf, 1, 1], r"Input sample_weight contains infinity"),
        ([1, 1e300, 1, 1], r"at most 1e\+100, .* the largest is 1e\+300\. Divide all of them"),
    ],
)
def test_wrong_weights(weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_weights(weights, TWO, np.ones(4))


def test_weights_count_with_those_of_the_classes() -> None:
    factors = np.array([1e60, 2.0, 1e300, 1.0])
    np.testing.assert_array_equal(check_weights([1, 3, 1, 1], TWO, factors)[:2], [1e60, 6])
    for weights in ([1e60, 1, 1, 1], [1e300, 1, 1, 1]):
        with pytest.raises(ValueError, match="must be at most 1e\\+100"):
            check_weights(weights, TWO, factors)
    with pytest.raises(ValueError, match="must be at most 1e\\+100"):
        check_weights(None, TWO, factors[[2, 1, 0, 3]])


# ---- the problem -------------------------------------------------------------------------------


def made(
    X: Any, labels: list[float], weights: list[float] | None = None, **options: Any
) -> Problem:
    """A problem of one column; NaN is unlabelled."""
    y = np.array(labels)
    w = np.ones(len(y)) if weights is None else np.array(weights, dtype=float)
    options = {"merge": True} | options
    return make_problem(X, ~np.isnan(y), np.nan_to_num(y)[:, None], w, **options)


NAN = float("nan")


def test_rows_that_differ_are_the_vertices() -> None:
    p = made(X4, [1, -1, NAN, NAN], [2, 3, 9, 9])
    assert p.X is X4  # nothing is copied for nothing
    assert p.n_points == 4
    assert p.vertex.tolist() == p.rows.tolist() == [0, 1, 2, 3]
    assert p.index.tolist() == [0, 1]
    assert p.targets.tolist() == [[1], [-1]]
    assert p.weights.tolist() == [2, 3]
    assert p.labeled.tolist() == [True, True, False, False]
    assert p.labeled_rows.tolist() == [True, True, False, False]
    assert p.row_weights.tolist() == [2, 3, 9, 9]
    with pytest.raises(FrozenInstanceError):
        p.X = None


def test_equal_rows_are_one_vertex() -> None:
    X = X4[[0, 1, 0, 2, 1, 0]]
    for points in (X, sp.csr_array(X)):
        p = made(points, [1, NAN, 1, -1, NAN, NAN], [1, 5, 2, 4, 5, 5])
        assert p.n_points == 3
        assert p.rows.tolist() == [0, 1, 3]
        assert p.vertex.tolist() == [0, 1, 0, 2, 1, 0]
        assert p.index.tolist() == [0, 2]
        assert p.targets.tolist() == [[1], [-1]]
        assert p.weights.tolist() == [3, 4]
        vertices = p.X.toarray() if sp.issparse(p.X) else p.X
        np.testing.assert_array_equal(vertices, X4[:3])


def test_different_labels_of_one_vertex_are_two_observations() -> None:
    p = made(X4[[0, 1, 0, 0]], [1, -1, -1, 1], [1, 2, 3, 4])
    assert p.n_points == 2
    assert p.index.tolist() == [0, 1, 0]
    assert p.targets.tolist() == [[1], [-1], [-1]]
    assert p.weights.tolist() == [5, 2, 3]
    assert p.labeled.tolist() == [True, True]


def test_equal_rows_can_be_kept_apart() -> None:
    p = made(X4[[0, 1, 0]], [1, -1, 1], merge=False)
    assert p.n_points == 3
    assert p.index.tolist() == [0, 1, 2]
    assert p.weights.tolist() == [1, 1, 1]


def test_labelled_rows_of_weight_zero_are_left_out() -> None:
    for merge in (True, False):
        p = made(X4, [1, -1, 1, NAN], [1, 0, 2, 0], merge=merge)
        assert p.vertex.tolist() == [0, -1, 1, 2]  # the unlabelled row stays, whatever its weight
        assert p.rows.tolist() == [0, 2, 3]
        assert p.index.tolist() == [0, 1]
        assert p.weights.tolist() == [1, 2]
        assert p.labeled_rows.tolist() == [True, True, True, False]  # what they carry is known
        assert p.row_weights.tolist() == [1, 0, 2, 0]
        np.testing.assert_array_equal(p.X, X4[[0, 2, 3]])


def test_a_vertex_stays_if_one_of_its_rows_does() -> None:
    p = made(X4[[0, 1, 0, 2]], [1, -1, 1, NAN], [0, 1, 3, 1])
    assert p.vertex.tolist() == [-1, 0, 1, 2]
    assert p.rows.tolist() == [1, 2, 3]
    assert p.weights.tolist() == [1, 3]
    p = made(X4[[0, 1, 0]], [1, -1, NAN], [0, 1, 1])
    assert p.vertex.tolist() == [-1, 0, 1]
    assert p.labeled.tolist() == [True, False]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_kernel_matrix_loses_rows_and_columns(form: Any) -> None:
    K = np.arange(16.0).reshape(4, 4)
    p = made(form(K), [1, -1, 1, NAN], [1, 0, 2, 1], merge=False, pairwise=True)
    left = p.X.toarray() if sp.issparse(p.X) else p.X
    kept = [0, 2, 3]
    np.testing.assert_array_equal(left, K[np.ix_(kept, kept)])


LABELS = st.sampled_from([1.0, -1.0, NAN])


@given(st.data())
def test_every_label_is_an_observation_of_its_row(data: st.DataObject) -> None:
    X = data.draw(ROWS)
    n = len(X)
    y = np.array(data.draw(st.lists(LABELS, min_size=n, max_size=n)))
    w = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=float)
    labeled = ~np.isnan(y)
    p = make_problem(X, labeled, np.nan_to_num(y)[:, None], w, merge=True)
    # The total weight of every label at every point, which is all that a loss sees.
    seen: dict[tuple[Any, ...], float] = {}
    for i in np.flatnonzero(labeled & (w > 0)):
        key = (*X[i].tolist(), y[i])
        seen[key] = seen.get(key, 0) + w[i]
    kept = {
        (*p.X[v].tolist(), t[0]): weight
        for v, t, weight in zip(p.index, p.targets, p.weights, strict=True)
    }
    assert kept == seen
    assert len(p.index) == len(seen)
    present = p.vertex >= 0
    np.testing.assert_array_equal(present, ~(labeled & (w == 0)))
    np.testing.assert_array_equal(p.X[p.vertex[present]], X[present])
    np.testing.assert_array_equal(X[p.rows], p.X)
    assert len(np.unique(p.X, axis=0)) == p.n_points


# ---- other labels ------------------------------------------------------------------------------


def relabeled(p: Problem, labels: list[float], weights: list[float] | None = None) -> Problem:
    y = np.array(labels)
    w = np.ones(len(y)) if weights is None else np.array(weights, dtype=float)
    return p.relabeled(~np.isnan(y), np.nan_to_num(y)[:, None], w)


def test_other_labels_of_the_same_points() -> None:
    before = made(X4, [1, -1, NAN, NAN])
    after = relabeled(before, [NAN, 5, NAN, 7], [1, 2, 3, 4])
    assert after.X is before.X
    assert after.vertex is before.vertex
    assert after.rows is before.rows
    assert after.index.tolist() == [1, 3]
    assert after.targets.tolist() == [[5], [7]]
    assert after.weights.tolist() == [2, 4]
    assert after.labeled.tolist() == after.labeled_rows.tolist() == [False, True, False, True]
    assert after.row_weights.tolist() == [1, 2, 3, 4]
    assert before.index.tolist() == [0, 1]  # as it was


def test_other_labels_may_have_other_columns() -> None:
    before = made(X4, [1, -1, NAN, NAN])
    targets = np.arange(12.0).reshape(4, 3)
    after = before.relabeled(np.array([False, False, True, True]), targets, np.ones(4))
    np.testing.assert_array_equal(after.targets, targets[2:])


def test_a_relabelled_row_of_weight_zero_stays_as_an_unlabelled_point() -> None:
    """Unlike in a new problem: the points are what kernel and graph were made of."""
    after = relabeled(made(X4, [1, -1, NAN, NAN]), [1, -1, 1, NAN], [1, 0, 2, 0])
    assert after.n_points == 4
    assert after.vertex.tolist() == [0, 1, 2, 3]
    assert after.index.tolist() == [0, 2]
    assert after.weights.tolist() == [1, 2]
    assert after.labeled.tolist() == [True, False, True, False]
    assert after.labeled_rows.tolist() == [True, True, True, False]


def test_rows_that_were_left_out_are_not_brought_back_by_a_label() -> None:
    before = made(X4, [1, -1, 1, NAN], [1, 0, 2, 1])
    after = relabeled(before, [1, -1, NAN, 1])
    assert after.n_points == 3
    assert after.vertex.tolist() == [0, -1, 1, 2]
    assert after.index.tolist() == [0, 2]
    assert after.targets.tolist() == [[1], [1]]


def test_other_labels_of_equal_rows_are_merged() -> None:
    before = made(X4[[0, 1, 0, 0]], [1, -1, NAN, NAN])
    after = relabeled(before, [1, -1, -1, 1], [1, 2, 3, 4])
    expected = made(X4[[0, 1, 0, 0]], [1, -1, -1, 1], [1, 2, 3, 4])
    for name in ("index", "targets", "weights", "labeled_rows", "row_weights"):
        np.testing.assert_array_equal(getattr(after, name), getattr(expected, name))


@given(st.data())
def test_relabelling_is_making_the_problem_of_the_new_labels(data: st.DataObject) -> None:
    """Where no weight is 0, so that both have the same points."""
    X = data.draw(ROWS)
    n = len(X)
    first, second = (
        np.array(data.draw(st.lists(LABELS, min_size=n, max_size=n))) for _ in range(2)
    )
    w = np.array(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)), dtype=float)
    merge = data.draw(st.booleans())
    before = make_problem(X, ~np.isnan(first), first[:, None], np.ones(n), merge=merge)
    after = before.relabeled(~np.isnan(second), second[:, None], w)
    expected = make_problem(X, ~np.isnan(second), second[:, None], w, merge=merge)
    for name in ("X", "vertex", "rows", "index", "targets", "weights", "labeled", "row_weights"):
        np.testing.assert_array_equal(getattr(after, name), getattr(expected, name))
