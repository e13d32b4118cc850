"""Columns scaled by their relevance, and corrected errors and intervals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from lapwing import FewLabelRegressor, LapRLSRegressor, RelevanceScaler
from lapwing.model_selection import Candidate, compare
from lapwing.model_selection.candidates import LABELS_ALONE
from lapwing.models import load_model, save_model
from lapwing.onnx_export import to_onnx

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
TRUTH = np.sin(3 * X[:, 0]) + 0.05 * RNG.normal(size=60)  # the other columns are noise
Y = np.where(np.arange(60) < 30, TRUTH, np.nan)
SCALED = make_pipeline(RelevanceScaler(), LapRLSRegressor(gamma=0.5, gamma_I=0, gamma_A=0.01))


def test_scales_have_the_units_of_the_columns() -> None:
    plain = RelevanceScaler().fit(X, Y)
    units = np.array([1.0, 10.0, 0.1, 3.0])
    other = RelevanceScaler().fit(X * units + 5, 100 * Y - 3)
    np.testing.assert_allclose(other.scale_, plain.scale_ * units, rtol=1e-3)
    np.testing.assert_array_equal(plain.transform(X), X / plain.scale_)
    assert plain.scale_.argmin() == 0
    assert plain.transform(X.astype(np.float32)).dtype == np.float32


def test_points_of_a_file_are_read(tmp_path: Path) -> None:
    np.save(tmp_path / "points.npy", X)
    found, plain = (RelevanceScaler().fit(each, Y) for each in (tmp_path / "points.npy", X))
    np.testing.assert_array_equal(found.transform(tmp_path / "points.npy"), plain.transform(X))


def test_columns_and_targets_that_do_not_vary() -> None:
    for value in (7.0, 0.1, 0.0):  # the mean of sixty 0.1 is not 0.1
        for dtype in (np.float64, np.float32):
            flat = np.column_stack([X[:, :2], np.full(60, value)]).astype(dtype)
            assert 1 < RelevanceScaler().fit(flat, Y).scale_[2] < 1e3
    nothing = RelevanceScaler().fit(X, np.where(np.isnan(Y), np.nan, 2.0))
    np.testing.assert_allclose(nothing.scale_, X.std(axis=0))
    assert nothing.optimism_ == 1
    tiny = RelevanceScaler().fit(X, 1e-200 * Y)  # whose squares vanish
    np.testing.assert_allclose(tiny.scale_, X.std(axis=0))


UNKNOWN = np.where((np.arange(60) == 4)[:, None] & (np.arange(4) == 1), np.nan, X)


@pytest.mark.parametrize(
    ("points", "targets", "message"),
    [
        (X * [1, 1e200, 1, 1], Y, "Column 1 of X varies beyond what float64 can square"),
        ((X * [1, 1e30, 1, 1]).astype(np.float32), Y, "Column 1 of X varies beyond what float32"),
        (X * [1, 1e-200, 1, 1], Y, "Column 1 of X varies beyond what float64 can square"),
        (UNKNOWN, Y, "NaN.*row 4, column 1"),
        (X, Y[:3], "X has 60 rows, but y has 3 entries"),
        (X, np.full(60, np.nan), "y contains no label"),
    ],
)
def test_rejects_points_and_targets(points: np.ndarray, targets: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RelevanceScaler().fit(points, targets)


def test_errors_on_scaled_columns_are_corrected() -> None:
    found = compare(X, Y, candidates=[Candidate("mine", SCALED, LABELS_ALONE)]).chosen
    scaler = RelevanceScaler().fit(X, Y)
    alone = clone(SCALED[-1]).fit(scaler.transform(X), Y)
    expected = scaler.optimism_ * alone.left_out_residuals_
    np.testing.assert_allclose(found.residuals, expected, atol=1e-9)
    assert scaler.optimism_ > 1


def test_intervals_and_standard_deviations_on_scaled_columns_are_wider() -> None:
    steps = clone(SCALED).set_params(laprlsregressor__updatable=True)
    model = FewLabelRegressor([Candidate("mine", steps, LABELS_ALONE)], updatable=True).fit(X, Y)
    scaler, fitted = model.best_estimator_
    plain = clone(SCALED).fit(X, Y)
    ratio = fitted.left_out_residuals_ / plain[-1].left_out_residuals_
    np.testing.assert_allclose(ratio, scaler.optimism_)
    scaled = scaler.transform(X)
    wide = np.ptp(model.predict_interval(X[30:]), axis=1)
    assert (wide > np.ptp(plain[-1].predict_interval(scaled[30:]), axis=1)).all()
    values, wide = model.predict(X, return_std=True)
    expected, narrow = fitted.predict(scaled, return_std=True)
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_allclose(wide, scaler.optimism_ * narrow)


def test_the_default_candidates_on_scaled_columns_are_better() -> None:
    model = FewLabelRegressor().fit(X, Y)
    assert "scaled columns" in model.evidence_.chosen.name
    error = np.sqrt(np.mean((model.predict(X) - TRUTH)[30:] ** 2))
    assert error < min(r.error for r in model.evidence_.table if "scaled" not in r.name)


def test_saved_and_exported(tmp_path: Path) -> None:
    model = clone(SCALED).fit(X, Y)
    save_model(model, tmp_path / "model.lapwing")
    loaded = load_model(tmp_path / "model.lapwing").pipeline
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    (values,) = session.run(None, {"X": X})
    np.testing.assert_allclose(values.ravel(), model.predict(X), atol=1e-9)
