"""Exact intervals, and the stopping rule of sequential tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from lapwing.model_selection.evidence import exact_error, rows_needed


@pytest.mark.parametrize(("n_wrong", "n_rows"), [(0, 7), (3, 20), (20, 20)])
def test_interval_has_exact_tails(n_wrong: int, n_rows: int) -> None:
    found = exact_error(n_wrong, n_rows)
    assert found.error == n_wrong / n_rows
    if n_wrong < n_rows:
        assert binom.cdf(n_wrong, n_rows, found.high) == pytest.approx(0.05)
    if n_wrong > 0:
        assert binom.sf(n_wrong - 1, n_rows, found.low) == pytest.approx(0.05)


def test_rows_needed_without_errors_follow_from_the_interval() -> None:
    for target in (0.02, 0.05, 0.1):
        n_rows = rows_needed(target, 0)
        assert exact_error(0, n_rows).high <= target < exact_error(0, n_rows - 1).high


def test_at_most_a_tenth_of_the_runs_stop_too_early() -> None:
    """Runs of a model that errs exactly at the target: simulated, not by the recursion."""
    target, runs, most = 0.1, 4000, 500
    wrong = (np.random.default_rng(0).random((runs, most)) < target).cumsum(axis=1)
    needed = np.array([rows_needed(target, k) for k in range(wrong.max() + 1)])
    assert (np.diff(needed) > 0).all()
    stopped = (np.arange(1, most + 1) >= needed[wrong]).any(axis=1).mean()
    assert 0.06 < stopped < 0.1 + 3 * np.sqrt(0.09 / runs)
