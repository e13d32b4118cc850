"""Quantiles in passes are those of sorting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lapwing.graphs import order_statistics
from lapwing.graphs.order_statistics import StreamedColumns, quantiles

N = 3000
SHARES = [0.0, 0.025, 0.5, 0.975, 1.0]


def columns() -> Any:
    rng = np.random.default_rng(0)
    return np.column_stack(
        [
            rng.standard_normal(N),
            rng.standard_cauchy(N),
            np.zeros(N),
            rng.integers(0, 3, N),
            np.r_[np.zeros(N - 10), 1e9 * rng.random(10)],
            1e6 + 1e-9 * rng.random(N),
            rng.standard_normal(N) * 10.0 ** rng.integers(-300, 300, N),
            rng.choice([-8e307, -5e-324, -0.0, 0.0, 5e-324, 8e307], N),
        ]
    )


def streamed(X: Any, height: int = 700) -> tuple[StreamedColumns, list[int]]:
    """Columns in blocks, and an entry for each pass over them."""
    passes: list[int] = []

    def blocks() -> Any:
        passes.append(1)
        return (X[start : start + height] for start in range(0, len(X) + 1, height))

    return StreamedColumns(blocks), passes


@pytest.mark.parametrize("few", [2**14, 40, 1])
@pytest.mark.parametrize("n", [N, N - 1, 2, 1])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_quantiles_are_those_of_sorting(
    few: int, n: int, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order_statistics, "_FEW", few)
    monkeypatch.setattr(order_statistics, "_CELLS", 32)
    X = columns()[:n]
    if dtype == np.float32:
        X = X[:, :6].astype(dtype)
    found, ends = quantiles(streamed(X)[0], n, SHARES)
    np.testing.assert_array_equal(found, np.quantile(X.astype(np.float64), SHARES, axis=0))
    np.testing.assert_array_equal(ends, [X.min(axis=0), X.max(axis=0)])


@pytest.mark.parametrize(("column", "n_passes"), [(0, 3), (1, 5), (3, 3), (4, 3), (6, 3)])
def test_few_passes_are_enough(column: int, n_passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the ends, to count and to collect; heavy tails are counted and collected twice."""
    monkeypatch.setattr(order_statistics, "_FEW", 200)
    X, passes = streamed(columns()[:, [column]])
    quantiles(X, N, [0.025, 0.975])
    assert len(passes) == n_passes


def test_few_numbers_are_collected_at_once() -> None:
    small, passes = streamed(columns())
    quantiles(small, N, SHARES)
    assert len(passes) == 2
