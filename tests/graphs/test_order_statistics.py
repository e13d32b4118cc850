"""Quantiles in passes are those of sorting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lapwing.graphs import order_statistics
from lapwing.graphs.order_statistics import quantiles

N = 3000


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
        ]
    )


@pytest.mark.parametrize("collected", [2**17, 40, 1])
@pytest.mark.parametrize("n", [N, N - 1, 2, 1])
def test_quantiles_are_those_of_sorting(
    collected: int, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order_statistics, "_COLLECTED", collected)
    monkeypatch.setattr(order_statistics, "_CELLS", 64)
    X = columns()[:n]
    shares = [0.0, 0.025, 0.5, 0.975, 1.0]

    def passes() -> Any:
        return (X[start : start + 700] for start in range(0, n, 700))

    found = quantiles(passes, X.min(axis=0), X.max(axis=0), n, shares)
    np.testing.assert_array_equal(found, np.quantile(X, shares, axis=0))


def test_few_passes_are_enough() -> None:
    X, made = columns()[:, :2], []

    def passes() -> Any:
        made.append(1)
        yield X

    quantiles(passes, X.min(axis=0), X.max(axis=0), N, [0.025, 0.975])
    assert len(made) == 2
