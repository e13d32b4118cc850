"""Points, labels and a table with numbers and texts, and what prepares such a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

RNG = np.random.default_rng(1)
N = 60
# Far from the origin and on several scales, where distances could lose precision.
X = RNG.normal(size=(N, 4)) * [3, 1, 0.5, 2] + [100, 0, -20, 1]
NEW = RNG.normal(size=(31, 4)) * [3, 1, 0.5, 2] + [100, 0, -20, 1]
CODES = (X[:, 1] > 0).astype(int)
LABELED = np.arange(N) % 3 == 0
Y = np.where(LABELED, CODES, -1)
THREE = np.where(LABELED, np.where(X[:, 3] > 2, 2, CODES), -1)
NUMBERS = np.where(LABELED, X[:, 1], np.nan)
COLORS = np.array(["red", "green", "blue"])[np.arange(N) % 3]


def frame(points: Any = X, colors: Any = COLORS) -> pd.DataFrame:
    table = pd.DataFrame(points, columns=["a", "b", "c", "d"])
    table["color"] = np.resize(colors, len(points))
    table.loc[3, "a"] = np.nan
    return table


def mixed(numbers: Any, texts: Any, remainder: str = "drop") -> ColumnTransformer:
    imputed = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    encoder = OneHotEncoder(handle_unknown="ignore")
    return ColumnTransformer(
        [
            *(("texts", encoder, texts), ("gone", "drop", [1])),
            *(("none", StandardScaler(), []), ("numbers", imputed, numbers)),
        ],
        remainder=remainder,
    )
