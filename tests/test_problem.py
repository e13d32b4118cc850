"""The frozen problem: equal rows, weights, observations."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lapwing import problem
from lapwing.problem import Problem, check_weights, distinct_rows, make_problem, value_order

# Few values, so that rows repeat; -0.0 equals 0.0.
ROWS = hnp.arrays(
    st.sampled_from([np.float64, np.float32]),
    st.tuples(st.integers(1, 12), st.integers(1, 3)),
    elements=st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5]),
)


def first_of_equals(X: np.ndarray) -> tuple[list[int], list[int]]:
    """The first row of each distinct one and the distinct one of each row, row by row."""
    first: list[int] = []
    where = []
    for i, row in enumerate(X):
        same = [k for k, j in enumerate(first) if (X[j] == row).all()]
        where.append(same[0] if same else len(first))
        if not same:
            first.append(i)
    return first, where


@pytest.mark.parametrize("collide", [False, True], ids=["hashes differ", "hashes collide"])
@given(ROWS)
def test_distinct_rows_agree_with_a_comparison_of_all_pairs(collide: bool, X: np.ndarray) -> None:
    expected = first_of_equals(X)
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(problem, "_row_hashes", lambda X: np.zeros(X.shape[0], dtype=np.uint64))
        for points in (X, np.asfortranarray(X), sp.csr_array(X), sp.csr_matrix(X)):
            rows, vertex = distinct_rows(points)
            assert (rows.tolist(), vertex.tolist()) == expected


def test_stored_zeros_equal_missing_entries() -> None:
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
def test_hashes_of_regular_data_differ(name: str) -> None:
    X = regular_rows()[name]
    hashes = problem._row_hashes(X)
    assert len(np.unique(hashes)) == len(X)
    np.testing.assert_array_equal(problem._row_hashes(sp.csr_array(X)), hashes)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("pairwise", [False, True])
def test_order_of_values_is_that_of_the_rows_in_any_order(pairwise: bool, form: Any) -> None:
    """Columns of a kernel matrix are permuted like its rows."""
    X, p = np.random.default_rng(0).normal(size=(9, 9)), np.random.default_rng(1).permutation(9)
    moved = X[np.ix_(p, p)] if pairwise else X[p]
    found, order = (value_order(form(rows), pairwise=pairwise) for rows in (moved, X))
    np.testing.assert_array_equal(p[found], order)


# ---- weights -----------------------------------------------------------------------------------

X4 = np.arange(8.0).reshape(4, 2)
TWO = np.array([True, True, False, False])


def test_weights_default_to_one_and_are_float64() -> None:
    np.testing.assert_array_equal(check_weights(None, TWO, np.ones(4)), np.ones(4))
    for given_weights in ([2, 0, -5, 0], np.array([2, 0, 1, 1], dtype=np.float32)):
        weights = check_weights(given_weights, TWO, np.ones(4))
        assert weights.dtype == np.float64
        np.testing.assert_array_equal(weights, given_weights)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -2, 1, 1], r"sample_weight must not be negative on labelled rows: row 1 has -2\.0"),
        ([0, 0, 1, 1], r"sample_weight is zero on every labelled row, so no label is left"),
        ([1, 1, 1], r"sample_weight has the shape \(3,\), and X has 4 rows"),
        (
            [1, np.nan, 1, 1],
            r"sample_weight holds NaN or infinity, first at row 1\. Give every row",
        ),
        ([1, 1, 1, np.nan], r"first at row 3\. .* unlabelled ones too, e\.g\. 1\."),
        ([1, np.inf, 1, 1], r"sample_weight holds NaN or infinity, first at row 1"),
        ([1, 1e300, 1, 1], r"at most 1e\+100, .* the largest is 1e\+300\. Divide all of them"),
    ],
)
def test_rejects_invalid_weights(weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_weights(weights, TWO, np.ones(4))


def test_weights_are_multiplied_by_class_weights() -> None:
    factors = np.array([1e60, 2.0, 1e300, 1.0])
    np.testing.assert_array_equal(check_weights([1, 3, 1, 1], TWO, factors)[:2], [1e60, 6])
    for weights in ([1e60, 1, 1, 1], [1e300, 1, 1, 1]):
        with pytest.raises(ValueError, match="must be at most 1e\\+100"):
            check_weights(weights, TWO, factors)
    with pytest.raises(ValueError, match="must be at most 1e\\+100"):
        check_weights(None, TWO, factors[[2, 1, 0, 3]])


# ---- the problem -------------------------------------------------------------------------------

LABELS = st.sampled_from([1.0, -1.0, np.nan])


def draw_labels(data: st.DataObject, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels of n rows, NaN for none, and their weights."""
    y = data.draw(st.lists(LABELS, min_size=n, max_size=n))
    w = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return np.array(y), np.array(w, dtype=float)


def check_observations(p: Problem, y: np.ndarray, w: np.ndarray, vertex: list[int]) -> None:
    """Compare labels and weights with sums over the rows of each vertex and label, one by one."""
    weights: dict[tuple[int, float], float] = {}
    first: dict[tuple[int, float], int] = {}
    for i, v in enumerate(vertex):
        if v >= 0 and w[i] > 0 and not np.isnan(y[i]):
            weights[v, y[i]] = weights.get((v, y[i]), 0) + w[i]
            first.setdefault((v, y[i]), i)
    assert list(zip(p.index.tolist(), p.targets[:, 0].tolist(), strict=True)) == list(first)
    assert p.weights.tolist() == list(weights.values())
    assert p.observed.tolist() == list(first.values())
    assert np.flatnonzero(p.labeled).tolist() == sorted({v for v, _ in first})
    np.testing.assert_array_equal(p.labeled_rows, ~np.isnan(y))
    np.testing.assert_array_equal(p.row_weights, w)


@given(st.data())
def test_problem_agrees_with_a_loop_over_the_rows(data: st.DataObject) -> None:
    """Before and after its labels are replaced, which neither adds nor removes points."""
    X, merge = data.draw(ROWS), data.draw(st.booleans())
    y, w = draw_labels(data, len(X))
    kept = np.flatnonzero(np.isnan(y) | (w > 0))
    first, where = first_of_equals(X[kept]) if merge else (range(len(kept)), range(len(kept)))
    vertex = np.full(len(X), -1)
    vertex[kept] = where
    rows = kept[list(first)]
    for points in (X, sp.csr_array(X)):
        before = make_problem(points, ~np.isnan(y), np.nan_to_num(y)[:, None], w, merge=merge)
        assert before.vertex.tolist() == vertex.tolist()
        assert before.rows.tolist() == rows.tolist()
        assert before.n_points == len(rows)
        found = before.X.toarray() if sp.issparse(points) else before.X
        np.testing.assert_array_equal(found, X[rows])
        assert (before.X is points) == (len(rows) == len(X))  # nothing is copied needlessly
        check_observations(before, y, w, vertex.tolist())
        new, weights = draw_labels(data, len(X))
        after = before.relabeled(~np.isnan(new), np.nan_to_num(new)[:, None], weights)
        assert after.X is before.X
        assert after.vertex is before.vertex
        assert after.rows is before.rows
        check_observations(after, new, weights, vertex.tolist())
        check_observations(before, y, w, vertex.tolist())  # it has not changed


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_kernel_matrix_loses_rows_and_columns(form: Any) -> None:
    K = np.arange(16.0).reshape(4, 4)
    labeled, weights = np.array([True, True, True, False]), np.array([1.0, 0, 2, 1])
    p = make_problem(form(K), labeled, np.ones((4, 1)), weights, merge=False, pairwise=True)
    left = p.X.toarray() if sp.issparse(p.X) else p.X
    kept = [0, 2, 3]
    np.testing.assert_array_equal(left, K[np.ix_(kept, kept)])


def test_new_labels_may_have_another_number_of_columns() -> None:
    before = make_problem(X4, TWO, np.ones((4, 1)), np.ones(4), merge=True)
    targets = np.arange(12.0).reshape(4, 3)
    after = before.relabeled(~TWO, targets, np.ones(4))
    np.testing.assert_array_equal(after.targets, targets[2:])
