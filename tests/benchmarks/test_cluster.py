"""Forecasts of fits on a cluster, and the points that they are measured on."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.cluster.data import CHUNK, KINDS, N_TERMS, WORDS, classes, documents, plan
from benchmarks.cluster.plan import Plan
from lapwing.dask._plan import BLOCK_BYTES, count_of_blocks, count_of_groups


def test_memory_of_a_worker_decreases_with_their_number() -> None:
    plans = [Plan(10_000_000, 64, workers) for workers in (2, 8, 32)]
    held = [each.worker_bytes for each in plans]
    assert held == sorted(held, reverse=True)
    assert plans[0].moved < plans[1].moved < plans[2].moved
    assert Plan(10**6, 64, 2, dimensions=0).border == 0
    assert Plan(10**6, 64, 20, dimensions=64).border == 1
    assert Plan(10**6, 64, 3).border == pytest.approx(2 * (10**5) ** (2 / 3) / (10**6 / 3))
    assert Plan(10**6, 64, 1).moved < Plan(10**6, 64, 2).moved


def test_memory_is_forecast_as_measured() -> None:
    for n, gigabytes in ((10**5, 0.35), (3 * 10**5, 0.45), (10**6, 0.73), (3 * 10**6, 1.56)):
        held = plan("sheets", n, 2).worker_bytes
        assert held == pytest.approx(1e9 * gigabytes, rel=0.1)


def test_products_and_eigenvalues_are_forecast_as_measured() -> None:
    # The twentieth eigenvalue of 10^5 points on ten sheets, and degrees of all filters.
    assert Plan(10**5, 64, 2).smallest == pytest.approx(0.0026, rel=0.15)
    for forecast, degrees in (
        (Plan(10**5, 64, 2), 388),
        (Plan(3 * 10**5, 64, 2), 345),
        (plan("images", 10**5, 2), 88),
    ):
        assert forecast.products == pytest.approx(degrees, rel=0.3)
    # Beyond the precision of float32 no iteration gets.
    assert Plan(10**7, 64, 2).products == Plan(10**8, 64, 2).products


def test_the_number_of_blocks() -> None:
    assert count_of_blocks(10**6, 256, 2) == 2
    assert count_of_blocks(10**8, 256, 2) == 48 >= 10**8 * 256 / BLOCK_BYTES > 46
    assert count_of_blocks(3, 256, 8) == 3
    assert [count_of_groups(g) for g in (2, 100, 200)] == [10_000, 200, 200]


@pytest.mark.parametrize("kind", KINDS)
def test_points_are_the_same_in_any_chunks(kind: str) -> None:
    first, other = (KINDS[kind](start, 20) for start in (0, CHUNK))
    again = KINDS[kind](0, 20)
    assert abs(first - again).max() == 0
    assert abs(first - other).max() > 0
    np.testing.assert_array_equal(classes(7, 3), [7, 8, 9])


def test_documents_have_words_of_their_class() -> None:
    X = documents(0, 400)
    assert X.shape == (400, N_TERMS)
    assert set(X.sum(axis=1)) == {WORDS}
    odd = X[:, 1::2].sum(axis=1)
    assert odd[1::2].mean() > odd[::2].mean() + 5
