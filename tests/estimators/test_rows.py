"""Fits to points on disk: equal to those in memory, in blocks, with few passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from lapwing import (
    S3VC,
    AnchorGraph,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    KNNGraph,
    Landmarks,
    LapERLSClassifier,
    LapERLSRegressor,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
)
from lapwing._arrays import BLOCK_BYTES
from lapwing._rows.registry import open_rows
from lapwing.estimators import prepared as points
from lapwing.exceptions import DataChangedError
from tests.helpers.answers import scores
from tests.helpers.low_density import ONE_DESCENT
from tests.helpers.rows import SOURCES, ArrayRows, CountedRows

N = 400


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "_SMALL_BYTES", 0)


def _points(dtype: Any = np.float64) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.arange(N) % 3
    X = rng.standard_normal((N, 6)) + 3 * rng.standard_normal((3, 6))[y]
    X[7] = X[2]  # one point twice
    marked = np.where(np.arange(N) < 30, y, -1)
    return X.astype(dtype), marked


GRAPH = KNNGraph(5, approximate=False)
SPACE = Landmarks(20)
CLASSIFIERS = {
    "LapERLS": LapERLSClassifier(space=SPACE, graph=GRAPH, n_eigenvectors=20),
    "LapERLS, default graph": LapERLSClassifier(space=SPACE),
    "LapERLS, any labels": LapERLSClassifier(space=SPACE, n_eigenvectors=None),
    "LapERLS, linear": LapERLSClassifier(kernel="linear"),
    "LapERLS, k-means": LapERLSClassifier(space=Landmarks(4, method="kmeans")),
    "anchors": AnchorGraphClassifier(AnchorGraph(n_anchors=30)),
    "anchors, embedding": AnchorGraphClassifier(AnchorGraph(n_anchors=30, weights="embedding")),
    "eigenfunctions": EigenfunctionClassifier(),
    "LapRLS": LapRLSClassifier(kernel="linear"),
    "LapRLS, pcg": LapRLSClassifier(kernel="linear", solver="pcg"),
    "LapSVC": LapSVC(kernel="linear"),
    "S3VC": S3VC("linear", multi_class="ovr", **ONE_DESCENT),
    "S3VC, pairs": S3VC("linear", **ONE_DESCENT),
}


REGRESSORS = {
    "LapERLS": LapERLSRegressor(
        space=SPACE, graph=KNNGraph(5, normalized=False, approximate=False)
    ),
    "LapRLS": LapRLSRegressor(kernel="linear"),
}


@pytest.mark.parametrize("model", [*CLASSIFIERS.values(), *REGRESSORS.values()], ids=str)
def test_a_fit_in_blocks_is_the_fit_in_memory(model: Any) -> None:
    X, y = _points()
    y = y if is_classifier(model) else np.where(y >= 0, X[:, 0], np.nan)
    weights = np.ones(N)
    weights[:5] = 0  # these rows are left out, and answered
    expected = clone(model).fit(X, y, weights)
    rows = CountedRows(ArrayRows(X))
    found = clone(model).fit(rows, y, weights)
    assert rows.passes > 0
    np.testing.assert_allclose(scores(found, X), scores(expected, X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.transduction_, expected.transduction_, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(found.basis_, expected.basis_)


@pytest.mark.parametrize(
    "model", [CLASSIFIERS["LapERLS"], CLASSIFIERS["LapSVC"], REGRESSORS["LapERLS"]], ids=str
)
def test_labels_are_added_to_points_on_disk(model: Any) -> None:
    X, y = _points()
    truth = np.arange(N) % 3 if is_classifier(model) else X[:, 0]
    y = y if is_classifier(model) else np.where(y >= 0, truth, np.nan)
    found = clone(model).set_params(updatable=True).fit(ArrayRows(X), y)
    rows = found.suggest(2)
    found.add_labels(rows, truth[rows])
    y[rows] = truth[rows]
    expected = clone(model).fit(X, y)
    np.testing.assert_allclose(scores(found, X), scores(expected, X), rtol=1e-6, atol=1e-6)


# Largest number of passes of a fit; a prediction takes one pass.
PASSES = {
    "LapERLS": 16,  # two for each of five slabs
    "LapERLS, linear": 16,
    "anchors": 14,
    "eigenfunctions": 10,
    "LapRLS": 40,
}


@pytest.mark.parametrize("name", PASSES)
def test_points_are_never_read_whole_and_in_so_many_passes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lapwing.graphs.row_search._LEAST_BYTES", 4000)
    X, y = _points()
    rows = CountedRows(ArrayRows(X))
    model = CLASSIFIERS[name].fit(rows, y)
    assert max(rows.heights) * X[0].nbytes <= BLOCK_BYTES
    assert rows.passes <= PASSES[name]
    passes = rows.passes
    model.predict(rows)
    assert rows.passes == passes + 1


@pytest.mark.parametrize("change", ["gone", "changed", "shorter"])
@pytest.mark.parametrize("name", ["LapERLS", "anchors", "eigenfunctions", "LapRLS"])
def test_a_file_that_changes_during_a_fit_ends_it(name: str, change: str, tmp_path: Path) -> None:
    X, y = _points()
    path = SOURCES["npy"](X, tmp_path)

    def act() -> None:
        if change == "gone":
            path.unlink()
        elif change == "changed":
            np.save(path, X + 1)
        else:
            path.write_bytes(path.read_bytes()[:-100])

    class Changing(CountedRows):
        def blocks(self, n_rows: int) -> Any:
            if self.passes == 3:
                act()
            yield from super().blocks(n_rows)

    rows = Changing(open_rows(path))
    with pytest.raises(DataChangedError, match=r"X.npy (is gone|was changed|became shorter)"):
        CLASSIFIERS[name].fit(rows, y)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rejects_missing_and_infinite_values_and_a_single_row(value: float) -> None:
    X, y = _points()
    model = EigenfunctionClassifier().fit(X, y)
    X[17, 3] = value
    with pytest.raises(ValueError, match="NaN or infinity, first in row 17, column 3"):
        EigenfunctionClassifier().fit(ArrayRows(X), y)
    with pytest.raises(ValueError, match="NaN or infinity in row 17, column 3"):
        model.predict(ArrayRows(X))
    with pytest.raises(ValueError, match="X has 1 row, and a fit needs at least 2"):
        EigenfunctionClassifier().fit(ArrayRows(X[:1]), [1])


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("model", [EigenfunctionClassifier(n_bins=20), LapSVC()], ids=str)
def test_every_source_gives_the_same_fit(model: Any, source: str, tmp_path: Path) -> None:
    """For an estimator that reads blocks, and one that reads all points into memory."""
    X, y = _points(np.float32)
    X, y = X[:90], y[:90]
    given = SOURCES[source](X, tmp_path)
    model, expected = clone(model).fit(given, y), clone(model).fit(X, y)
    found, f = model.decision_function(given), expected.decision_function(X)
    assert found.dtype == f.dtype
    np.testing.assert_allclose(found, f, atol=1e-5)
    np.testing.assert_array_equal(model.predict(given), expected.predict(X))
    np.testing.assert_allclose(model.predict_proba(given), expected.predict_proba(X), atol=1e-5)
    assert model.score(given, y) == expected.score(X, y)
    assert model.n_features_in_ == 6
    names = [f"x{j}" for j in range(6)] if source.startswith("parquet") else []
    assert list(getattr(model, "feature_names_in_", [])) == names


def test_a_small_file_is_read_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = _points()
    monkeypatch.setattr(points, "_SMALL_BYTES", X.nbytes)
    model = LapERLSClassifier().fit(SOURCES["npy"](X, tmp_path), y)
    assert model.solver_ == "cholesky"  # the full kernel, as of an array
    np.testing.assert_array_equal(
        model.decision_function(X), LapERLSClassifier().fit(X, y).decision_function(X)
    )
    # `LapSVC` takes no blocks.
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "10k")
    with pytest.raises(MemoryError, match=r"LapSVC with these .* takes X as an array .*Use"):
        LapSVC().fit(SOURCES["npy"](X, tmp_path), y)
