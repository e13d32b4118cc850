"""Fits to points on disk: the same answers as in memory, in blocks, in so many passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lapwing import (
    S3VC,
    AnchorGraph,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    KNNGraph,
    Landmarks,
    LapERLSClassifier,
    LapRLSClassifier,
    LapSVC,
)
from lapwing._rows import ArrayRows
from lapwing.estimators import points
from tests.helpers.rows import CountedRows

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
    "S3VC": S3VC("linear", multi_class="ovr"),
    "S3VC, pairs": S3VC("linear"),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_fit_in_blocks_is_the_fit_in_memory(name: str) -> None:
    X, y = _points()
    expected = CLASSIFIERS[name].fit(X, y)
    rows = CountedRows(ArrayRows(X))
    model = CLASSIFIERS[name].__class__(**CLASSIFIERS[name].get_params(deep=False)).fit(rows, y)
    assert rows.passes > 0
    np.testing.assert_array_equal(model.transduction_, expected.transduction_)
    np.testing.assert_allclose(
        model.decision_function(X), expected.decision_function(X), rtol=1e-6, atol=1e-6
    )
