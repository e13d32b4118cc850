"""Labels held out for the estimator that is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lapwing import LapRLSRegressor
from lapwing.model_selection import LabeledKFold, LabeledShuffleSplit, labeled_cross_val_predict


@pytest.mark.parametrize(
    "cv", [None, 4, LabeledKFold(4), LabeledShuffleSplit(1, test_size=0.5, random_state=0)]
)
def test_whole_numbers_are_targets_of_a_regressor(cv: Any) -> None:
    X = np.arange(30.0)[:, None]
    y = np.where(np.arange(30) < 12, np.arange(30.0) * 10, np.nan)  # no number twice
    rows, answers = labeled_cross_val_predict(LapRLSRegressor(), X, y, cv=cv)
    assert len(rows) == (6 if isinstance(cv, LabeledShuffleSplit) else 12)
    assert answers.dtype.kind == "f"
    assert getattr(cv, "regression", "auto") == "auto"  # the splitter stays as it is
