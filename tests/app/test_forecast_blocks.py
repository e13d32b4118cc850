"""Forecasts of fits whose points stay on disk."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lapwing._app.forecast import (
    FitSize,
    forecast_anchors,
    forecast_eigenfunctions,
    forecast_embedded_squared,
)

FORECASTS = (forecast_anchors, forecast_eigenfunctions, forecast_embedded_squared)


@pytest.mark.parametrize("forecast", FORECASTS)
def test_points_on_disk_take_no_memory(forecast) -> None:
    small = FitSize(10**7, 64, itemsize=4, in_blocks=True)
    wide = replace(small, n_features=128)
    assert forecast(small).memory < 11e9  # of which 6 are eigenvectors
    # But for codes of a byte, no feature of a point is held.
    assert forecast(wide).memory - forecast(small).memory <= 1.01 * 64 * 10**7
    assert forecast(small).memory < forecast(replace(small, in_blocks=False)).memory


def test_a_search_by_codes_is_faster_than_all_pairs() -> None:
    size = FitSize(10**7, 64, in_blocks=True)
    pairs = forecast_embedded_squared(replace(size, in_blocks=False)).seconds
    assert forecast_embedded_squared(size).seconds < pairs / 10


def test_few_points_are_searched_exactly() -> None:
    size = FitSize(50_000, 64, in_blocks=True)
    plain = forecast_embedded_squared(replace(size, in_blocks=False))
    assert forecast_embedded_squared(size).seconds == pytest.approx(plain.seconds)


@pytest.mark.parametrize(
    ("forecast", "n", "megabytes"),
    [
        (forecast_embedded_squared, 300_000, 381),
        (forecast_embedded_squared, 1_000_000, 1196),
        (forecast_eigenfunctions, 300_000, 162),
        (forecast_eigenfunctions, 1_000_000, 213),
        (forecast_anchors, 300_000, 291),
        (forecast_anchors, 1_000_000, 358),
    ],
)
def test_peaks_that_were_measured_are_forecast(forecast, n: int, megabytes: int) -> None:
    """Four classes of sheets in 64 features, the defaults; never less, and at most half more."""
    told = forecast(FitSize(n, 64, 4, n_labels=100, itemsize=4, in_blocks=True)).memory
    assert 1 <= told / (megabytes * 1e6) <= 1.5
