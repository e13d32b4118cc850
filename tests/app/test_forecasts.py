"""Forecasts of memory, time and solver against those of fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing._app import choosing, forecast, reading
from lapwing._app.forecast import FitSize, ForecastOf
from lapwing._app.methods import AUTO, COMMAND_METHODS
from lapwing._app.requests import FitRequest
from lapwing.estimators.choice import choose_solver, matrix_points, seconds_of_columns
from lapwing.estimators.s3vm import seconds_of_pairs
from lapwing.kernels import make_kernel
from lapwing.losses import LOSSES
from lapwing.losses.labeled import EpsilonInsensitive, Squared
from lapwing.objectives.manifold import Objective
from lapwing.solvers.embedded import tube
from lapwing.solvers.graph.registry import share_arrays
from lapwing.spaces.full import FullKernelSpace
from tests.helpers.tables import write


@pytest.fixture(autouse=True)
def _speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "SPEED", 1e10)
    monkeypatch.setattr(forecast, "TRAFFIC", 1e10)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "100g")


def test_forecast_of_a_full_kernel() -> None:
    small, large = (forecast.manifold(FitSize(n, 10)) for n in (1000, 5000))
    assert (small.solver, small.memory, large.memory) == ("dual", 24_000_000, 600_000_000)
    assert large.seconds > 20 * small.seconds / 2
    assert forecast.manifold(FitSize(20_000, 10)).solver == "pcg (stability)"
    optimum = forecast.gradient_traffic(20_000, 10, 8)
    settling = forecast.gradient_traffic(20_000, 10, 8, settling=True)
    assert optimum / 300 == settling / 142  # two checks, sqrt(n) / 2 iterations apart
    assert settling == 2 * forecast.gradient_traffic(20_000, 10, 8, settling=True, n_threads=2)
    assert forecast.manifold(FitSize(20_000, 10), kinks=True).solver == "dual"
    wide = forecast.manifold(FitSize(1000, 1010))  # the kernel is computed twice
    assert wide.seconds - small.seconds == pytest.approx((4.0 + 0.6) * 1000**2 * 1000 / 1e10)


@pytest.mark.parametrize("method", COMMAND_METHODS)
def test_every_forecast_grows_with_points_and_features(method: str) -> None:
    sizes = [FitSize(1000, 10), FitSize(3000, 10), FitSize(1000, 400)]
    small, many, wide = (COMMAND_METHODS[method].forecast(size) for size in sizes)
    assert many.seconds > small.seconds
    assert many.memory > small.memory
    assert wide.seconds > small.seconds
    # The cost of a sparse table depends on its stored entries.
    sparse = COMMAND_METHODS[method].forecast(FitSize(1000, 400, n_stored=5000))
    assert sparse.seconds < wide.seconds


@pytest.mark.parametrize(
    ("n", "n_labels", "limit"),
    [(6000, 10, "8g"), (6001, 10, "8g"), (12_000, 10, "8g"), (12_001, 10, "8g"),
     (9000, 3001, "8g"), (9000, 10, "1g")],
)  # fmt: skip
def test_forecast_and_choice_agree(
    monkeypatch: pytest.MonkeyPatch, n: int, n_labels: int, limit: str
) -> None:
    """What ``solver='auto'`` takes of an objective of that size, without its n x n numbers."""
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", limit)
    kernel = np.broadcast_to(np.zeros(1), (n, n))
    linear = make_kernel("linear", np.zeros((2, 1)))
    space = FullKernelSpace(kernel, linear, np.zeros((n, 1)))
    weights = np.ones(n_labels)
    loss = LOSSES["squared_hinge"]()
    objective = Objective(space, loss, np.arange(n_labels), weights[:, None], weights, 1.0)
    taken = choose_solver("auto", objective, early_stopping=False).shown
    told = forecast.manifold(FitSize(n, 1, n_labels=n_labels))
    assert told.solver == taken
    assert told.memory == (3 * 8 if taken == "dual" else 8) * n * n


@pytest.mark.parametrize(
    ("method", "loss"), [("laperls", Squared()), ("lapesvc", EpsilonInsensitive())]
)
def test_embedded_forecasts_change_at_the_limit_of_the_estimator(method: str, loss: Any) -> None:
    limit = matrix_points(loss)
    sizes = FitSize(limit, 5), FitSize(limit + 1, 5)
    full, landmarks = (COMMAND_METHODS[method].forecast(size) for size in sizes)
    assert landmarks.memory < full.memory / 2
    assert landmarks.seconds < full.seconds


def test_the_forecast_of_columns_is_the_rule_that_the_estimators_warn_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forecast, "SPEED", 4e10)
    monkeypatch.setattr(forecast, "TRAFFIC", 1e10)
    forecast_of = COMMAND_METHODS["lapesvc"].forecast
    for n, m in ((1200, 1200), (70_000, 1000)):
        few, many = (forecast_of(FitSize(n, 10, columns)).seconds for columns in (10, 300))
        ruled = seconds_of_columns(n, m, 600, 300) - seconds_of_columns(n, m, 50, 10)
        assert many - few == pytest.approx(ruled)
    # Matrices of each thread that shares the columns, as many as fit.
    monkeypatch.setattr(tube, "available_threads", lambda: 4)
    for limit, at_once in (("100g", 4), ("50m", 2)):
        monkeypatch.setenv("LAPWING_MEMORY_LIMIT", limit)
        assert forecast_of(FitSize(1000, 10, 10)).memory == int(8e6 * (1.2 + 3 * at_once))


@pytest.mark.parametrize(("labels", "columns"), [("uv", 1), ("uvw", 3), (["1.5", "2.5", "3.5"], 1)])
def test_a_fit_is_forecast_for_all_its_classes(labels: Sequence[str], columns: int) -> None:
    rows = [{"x": str(i % 7), "y": labels[i % len(labels)] * (i < 12)} for i in range(30)]
    write("t.csv", rows)
    table = reading.read(FitRequest(data=(Path("t.csv"),), label="y", method=AUTO))
    assert choosing.size_of(table) == FitSize(30, 1, columns, 12)


def test_the_forecast_of_a_partition_counts_what_the_fit_asks_for() -> None:
    balanced = COMMAND_METHODS["balanced"].forecast
    for n, c in ((3000, 4), (70_000, 10), (10**6, 100)):
        size = FitSize(n, 50, c, 10 * c, itemsize=4)
        beside = balanced(size).memory - 4 * n * c * share_arrays(n, c, exact=False)
        assert 0 < beside < 5e8 + 2000 * n
    few, many = (balanced(FitSize(1000, 50, c, c)) for c in (2, 30))
    assert many.seconds > 3 * few.seconds


def test_the_forecast_of_low_density_separation(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = (forecast.low_density(FitSize(n, 10)) for n in (1000, 4000))
    assert (small.solver, small.memory, large.memory) == ("lbfgs", 24_000_000, 384_000_000)
    assert large.seconds > 10 * small.seconds
    # Pairs of ten classes are of a fifth of the points each, and threads share them; the kernel
    # matrix is held, and the factors of 45 pairs twice.
    monkeypatch.setattr(forecast, "available_threads", lambda: 2)
    pairs = forecast.low_density(FitSize(1000, 10, 10))
    assert pairs.memory == 8_000_000 + 2 * 14_400_000 + 2 * 24_000_000 / 25
    assert pairs.seconds > seconds_of_pairs(1000, 10)
    single = forecast.low_density(FitSize(1000, 10, itemsize=4))
    assert single.memory == 28_000_000  # with the float64 copy that is factored
    assert single.seconds < small.seconds
    # Measured peaks, in matrices of n x n bytes.
    for columns, itemsize, peak in ((1, 4, 29.9), (3, 8, 37.6), (10, 8, 38.9)):
        told = forecast.low_density(FitSize(2500, 20, columns, itemsize=itemsize)).memory
        assert told == pytest.approx(2500**2 * peak, rel=0.4)


# --- points that stay on disk ---------------------------------------------------------------------

FORECASTS = (forecast.anchors, forecast.eigenfunctions, forecast.embedded_squared)


@pytest.mark.parametrize("forecast_of", FORECASTS)
def test_forecasts_of_points_on_disk_exclude_the_points(forecast_of: ForecastOf) -> None:
    small = FitSize(10**7, 64, itemsize=4, in_blocks=True)
    wide = replace(small, n_features=128)
    assert forecast_of(small).memory < 11e9  # of which 6 are eigenvectors
    # But for codes of a byte, no feature of a point is held.
    assert forecast_of(wide).memory - forecast_of(small).memory <= 1.01 * 64 * 10**7
    assert forecast_of(small).memory < forecast_of(replace(small, in_blocks=False)).memory


def test_many_points_are_searched_by_codes_and_few_exactly() -> None:
    for n, same in ((10**7, False), (50_000, True)):
        size = FitSize(n, 64, in_blocks=True)
        pairs = forecast.embedded_squared(replace(size, in_blocks=False)).seconds
        seconds = forecast.embedded_squared(size).seconds
        assert seconds == pytest.approx(pairs) if same else seconds < pairs / 10


@pytest.mark.parametrize(
    ("forecast_of", "n", "megabytes"),
    [
        (forecast.embedded_squared, 300_000, 381),
        (forecast.embedded_squared, 1_000_000, 1196),
        (forecast.eigenfunctions, 300_000, 162),
        (forecast.eigenfunctions, 1_000_000, 213),
        (forecast.anchors, 300_000, 291),
        (forecast.anchors, 1_000_000, 358),
    ],
)
def test_peaks_that_were_measured_are_forecast(
    forecast_of: ForecastOf, n: int, megabytes: int
) -> None:
    """Four classes of sheets in 64 features, the defaults; never less, and at most half more."""
    told = forecast_of(FitSize(n, 64, 4, n_labels=100, itemsize=4, in_blocks=True)).memory
    assert 1 <= told / (megabytes * 1e6) <= 1.5
