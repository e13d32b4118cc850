"""The Laplacian as an operator, against its definition and SciPy's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import laplacian as scipy_laplacian

from lapwing.graphs import AnchorLaplacian, KNNGraph, Laplacian, build_laplacian
from tests.helpers.data import gaussian_points


@st.composite
def affinities(draw: st.DrawFn) -> np.ndarray:
    """Symmetric affinities, many edges missing, weights over many orders of magnitude."""
    n = draw(st.integers(1, 9))
    weight = st.one_of(st.just(0.0), st.floats(1e-3, 1e3), st.sampled_from([1e-150, 1e100]))
    upper = draw(arrays(np.float64, (n, n), elements=weight))
    W = np.triu(upper, 1)
    return W + W.T


@given(W=affinities(), normalized=st.booleans(), power=st.integers(1, 4))
def test_powers_are_those_of_scipys_laplacian(W: np.ndarray, normalized: bool, power: int) -> None:
    n = len(W)
    one = Laplacian.from_affinity(W, normalized=normalized)
    dense = one.matrix.toarray()
    expected = scipy_laplacian(W, normed=normalized)
    assert_allclose(dense, expected, rtol=1e-9, atol=1e-14 * np.abs(expected).max())
    assert_array_equal(dense, dense.T)
    assert_array_equal(dense[W.sum(axis=1) == 0], 0)

    L = Laplacian.from_affinity(W, normalized=normalized, power=power)
    if power * np.log10(max(np.abs(dense).max(), 1)) < 300:
        matrix_power = np.linalg.matrix_power(dense, power)
        scale = np.linalg.norm(dense) ** power
        assert_allclose(L.apply(np.eye(n)), matrix_power, rtol=1e-9, atol=1e-13 * scale)
    assert_array_equal(L.matrix.toarray(), dense)  # the power was not formed


def test_tiny_and_huge_weights_stay_finite() -> None:
    for scale in (5e-324, 1e-300, 1e300):
        W = scale * (np.ones((4, 4)) - np.eye(4))
        L = Laplacian.from_affinity(W).matrix.toarray()
        assert_allclose(L, np.eye(4) * 4 / 3 - 1 / 3, rtol=1e-2 if scale < 1e-320 else 1e-12)
    assert Laplacian.from_affinity(W, normalized=False, power=2).norm_bound == np.inf
    large, single = np.full((30, 30), 1e307), np.full((3, 3), 1e39)
    for W, dtype in ((large, np.float64), (single, np.float32)):
        with (
            pytest.raises(ValueError, match="degrees of the affinity overflow"),
            np.errstate(all="ignore"),
        ):
            Laplacian.from_affinity(W, normalized=False, dtype=dtype)
    assert_allclose(Laplacian.from_affinity(single, dtype=np.float32).matrix.diagonal(), 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("values", [np.float32, np.float64])
def test_apply_takes_any_layout_and_precision_and_touches_nothing(dtype: Any, values: Any) -> None:
    L = build_laplacian(KNNGraph(5, power=3), gaussian_points(), dtype)
    assert L.dtype == dtype
    dense = np.linalg.matrix_power(L.astype(np.float64).matrix.toarray(), 3)
    F = gaussian_points(40, 6, seed=1).astype(values)
    wide = np.repeat(F, 2, axis=1)
    for form in (F, np.asfortranarray(F), wide[:, ::2], F[:, 0], F[:, :0]):
        before = form.copy()
        out = L.apply(form)
        assert (out.shape, out.dtype) == (before.shape, values)
        assert_allclose(out, dense @ before, atol=1e-5 if values == np.float32 else 1e-13)
        assert_array_equal(form, before)
        assert not np.shares_memory(out, form)
    numbers = L.apply(list(range(40)))
    assert numbers.dtype == np.float64
    assert_allclose(numbers, dense @ np.arange(40), atol=1e-11)


def test_rejects_values_of_other_shapes_and_weights_out_of_range() -> None:
    L = build_laplacian(KNNGraph(5), gaussian_points())
    for shape in ((39,), (39, 2), (40, 2, 2), ()):
        with pytest.raises(ValueError, match=r"F has shape .* but the graph has 40 points"):
            L.apply(np.ones(shape))
    for gamma in (-1.0, np.nan, np.inf, "1"):
        with pytest.raises(ValueError, match=r"gamma=.* must be a finite number of at least 0"):
            L.scaled(gamma)


def test_astype() -> None:
    X = gaussian_points()
    L = build_laplacian(KNNGraph(5, power=3, normalized=False), X)
    single = L.astype(np.float32)
    assert L.astype(float) is L
    assert (single.dtype, single.power, single.normalized) == (np.float32, 3, False)
    assert_array_equal(single.matrix.toarray(), L.matrix.toarray().astype(np.float32))
    assert L.astype(np.float32).matrix is single.matrix  # cast once
    again = single.astype(np.float64)  # computed anew, not padded
    assert_array_equal(again.matrix.toarray(), L.matrix.toarray())


@pytest.mark.parametrize("power", [1, 3])
def test_scaled_is_the_matrix_times_a_number(power: int) -> None:
    plain, normed = (
        build_laplacian(KNNGraph(5, power=power, normalized=normalized), gaussian_points())
        for normalized in (False, True)
    )
    anchored = AnchorLaplacian.from_weights([[1, 0], [0.25, 0.75], [0, 1]], power=power)
    for operator in (plain, normed, anchored):
        scaled, n = operator.scaled(3.5), operator.n_points
        dense = scaled(np.eye(n))
        assert scaled.n_points == n
        assert_allclose(dense, 3.5 * operator.apply(np.eye(n)), rtol=1e-15)
        assert_array_equal(scaled.apply(np.eye(n)), dense)
        assert scaled.norm_bound == 3.5 * operator.norm_bound
        assert np.linalg.norm(dense, 2) <= scaled.norm_bound * (1 + 1e-12)
        first = np.diag(replace(operator, power=1).apply(np.eye(n)))
        assert_allclose(scaled.diagonal(), 3.5 * first**power, rtol=1e-12, atol=1e-15)
    assert plain.norm_bound == pytest.approx((2.0 * plain.degrees.max()) ** power, rel=1e-15)
    assert normed.norm_bound == 2.0**power
    assert plain.scaled(2.0)(np.ones(40, np.float32)).dtype == np.float32
