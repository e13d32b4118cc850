"""Pipelines of skrub end in the estimators of lapwing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from lapwing import S3VC, FewLabelClassifier, LapRLSRegressor, LapSVC
from lapwing.exceptions import FeatureScaleWarning

skrub = pytest.importorskip("skrub")

N, KNOWN = 60, 8
TRUTH = np.arange(N) % 2
CODES = np.where(np.arange(N) < KNOWN, TRUTH, -1)
NUMBERS = np.where(np.arange(N) < KNOWN, TRUTH.astype(float), np.nan)
WORDS = ("blue wave salt sea", "red apple sweet pie")
ESTIMATORS = [
    (LapSVC(), CODES),
    (S3VC(), CODES),
    (FewLabelClassifier(), CODES),
    (LapRLSRegressor(), NUMBERS),
]


def table(*, gaps: bool) -> pd.DataFrame:
    """Two classes that every column tells apart; gaps are of the number and the category."""
    rng = np.random.default_rng(0)
    days = 40 * TRUTH + rng.integers(0, 9, N)
    frame = pd.DataFrame(
        {
            "note": [" ".join(rng.choice(WORDS[code].split(), 5)) for code in TRUTH],
            "team": np.array(["a", "b"], dtype=object)[TRUTH],
            "size": TRUTH + 0.2 * rng.normal(size=N),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D"),
        }
    )
    if gaps:
        for name in ("team", "size"):
            frame[name] = frame[name].mask(rng.random(N) < 0.2)
    return frame


@pytest.mark.parametrize(
    ("estimator", "y"), ESTIMATORS, ids=[type(one).__name__ for one, _ in ESTIMATORS]
)
def test_pipelines_learn(estimator: Any, y: np.ndarray) -> None:
    frame = table(gaps=False)
    model = make_pipeline(skrub.TableVectorizer(), estimator)
    with pytest.warns(FeatureScaleWarning, match="'day_total_seconds'"):  # it scales nothing
        predicted = model.fit(frame, y).predict(frame)
    assert np.abs(predicted - TRUTH).mean() < 0.1
    frame = table(gaps=True)
    predicted = skrub.tabular_pipeline(estimator).fit(frame, y).predict(frame)
    assert np.abs(predicted - TRUTH).mean() < 0.2
