"""Errors about inputs: points that are not numeric, y of wrong length, gaps in a kernel."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lapwing import S3VC, AffinityGraph, FewLabelClassifier, KNNGraph, LapRLSRegressor, LapSVC
from lapwing.datasets import make_two_moons
from lapwing.model_selection import compare, rows_to_label

X, Y = make_two_moons(40, n_labeled_per_class=3, random_state=0)
FITTED = LapSVC().fit(X[:, :1], Y)
DAYS = [datetime.date(2020, 1, 1 + i % 28) for i in range(40)]
WORDS = ["some words"] * 40
DECIMALS = [Decimal(i) for i in range(40)]
NUMBERS = {
    "nullable integers": pd.DataFrame({"a": pd.array(range(40), dtype="Int64")}),
    "nullable floats": pd.DataFrame({"a": pd.array(np.arange(40.0), dtype="Float32")}),
    "categories of numbers": pd.DataFrame({"a": pd.Categorical(range(40))}),
    "pandas objects": pd.DataFrame({"a": range(40)}, dtype=object),
    "pandas decimals": pd.DataFrame({"a": DECIMALS}),
    "polars integers": pl.DataFrame({"a": pl.Series(range(40), dtype=pl.UInt8)}),
    "polars decimals": pl.DataFrame({"a": pl.Series(DECIMALS, dtype=pl.Decimal(10, 2))}),
    "sparse columns": pd.DataFrame({"a": pd.arrays.SparseArray(np.arange(40))}),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_columns_of_numbers_of_any_type(name: str) -> None:
    graph = KNNGraph(3, normalized=False)
    expected = graph.affinity(np.arange(40.0)[:, None])
    np.testing.assert_allclose(graph.affinity(NUMBERS[name]).toarray(), expected.toarray(), 1e-6)


COLUMN = X[:, 0]
TABLE = r".*TableEncoder\(\), \.\.\.\).*TfidfVectorizer"
# Tables with texts, and their columns in the message.
TEXTS: dict[str, tuple[Any, str]] = {
    "pandas": (pd.DataFrame({"a": COLUMN, "w": WORDS}), " in 'w', such as 'some words'"),
    "categories": (pd.DataFrame({"w": pd.Categorical(WORDS), "a": COLUMN}), " in 'w', such as"),
    "polars": (pl.DataFrame({"w": WORDS, "a": COLUMN, "v": WORDS}), " in 'w', 'v', such as"),
    "documents": (WORDS, ", such as 'some words'"),
    "array": (np.array(WORDS)[:, None], ", such as 'some words'"),
    "pandas series": (pd.Series(WORDS), ", such as 'some words'"),
    "pandas series of objects": (pd.Series(WORDS, dtype=object), ", such as 'some words'"),
    "polars series": (pl.Series(WORDS), ", such as 'some words'"),
    "pandas index": (pd.Index(WORDS), ", such as 'some words'"),
    "polars categories": (pl.DataFrame({"w": pl.Series(WORDS, dtype=pl.Categorical)}), " in 'w'"),
    "bytes": (np.array([b"some words"] * 40)[:, None], ", such as 'some words'"),
    "a huge cell": ([["x" * 10**6]] * 40, f", such as '{'x' * 39}...'"),
}
# NumPy would count dates of polars as days.
TIMES = r"X contains dates or times in 'd', .* leave them out"
NOT_NUMBERS: dict[str, tuple[Any, str]] = {
    **{
        f"texts, {name}": (points, f"X contains texts{where}{TABLE}")
        for name, (points, where) in TEXTS.items()
    },
    "pandas times": (pd.DataFrame({"d": pd.to_datetime(DAYS), "b": COLUMN}), TIMES),
    "pandas spans": (pd.DataFrame({"d": pd.to_timedelta(range(40), "D")}), TIMES),
    "polars dates": (pl.DataFrame({"a": COLUMN, "d": DAYS}), TIMES),
    "polars clock": (pl.DataFrame({"d": [datetime.time(i % 24) for i in range(40)]}), TIMES),
    "datetime64": (
        np.array(DAYS, dtype="datetime64[D]")[:, None],
        "X contains dates or times, and features are numbers",
    ),
    "series": (pd.Series(COLUMN), r"X is one column of 40 values\. .*X\.to_frame\(\)"),
    "polars series": (pl.Series(COLUMN), r"X is one column of 40 values"),
    "query": (pl.LazyFrame({"a": COLUMN}), r"X is a LazyFrame, .* X\.collect\(\)"),
    "dates": (pd.DataFrame({"d": DAYS}), "X contains dates or times in 'd'"),
    "array of dates": (np.array(DAYS)[:, None], "X contains dates or times, and"),
    "pandas.NA": (pd.DataFrame({"d": [1, pd.NA] * 20}), "X contains <NA> in 'd'.*Fill"),
    "nullable gap": (
        pd.DataFrame({"d": pd.array([1, None] * 20, dtype="Int64")}),
        "X contains NaN in 20 places, first in row 1, column 0",
    ),
    "polars null": (pl.DataFrame({"d": [1, None] * 20}), "X contains NaN in 20 places"),
    "lists": (pl.DataFrame({"d": [[1, 2]] * 40}), "X contains ndarrays in 'd' where"),
    "structs": (pl.DataFrame({"d": [{"a": 1}] * 40}), "X contains .* in 'd' where"),
    "ragged": ([[1], [1, 2]] * 20, "X contains lists where .* Give rows of equal length"),
    "intervals": (
        pd.DataFrame({"d": pd.cut(COLUMN, 3)}),
        "X contains objects of type Interval in 'd', and features are numbers",
    ),
    "dict": ({"a": COLUMN}, r"X is of type dict\. Give the points as a table of shape"),
    "nothing": (None, r"X is of type NoneType\. Give the points as a table"),
    "complex": (pd.DataFrame({"d": COLUMN + 1j}), "X contains complex numbers"),
    "sparse gaps": (
        pd.DataFrame({"d": pd.arrays.SparseArray(COLUMN)}),
        r"fill value is not 0\. Give X\.sparse\.to_dense\(\)",
    ),
}


@pytest.mark.parametrize("name", NOT_NUMBERS)
def test_tables_that_are_not_numeric(name: str) -> None:
    points, message = NOT_NUMBERS[name]
    error = TypeError if name in ("intervals", "dict") else ValueError
    fits: list[Any] = [model.fit for model in (LapSVC(), LapRLSRegressor(), FewLabelClassifier())]
    without_shape = name in ("dict", "nothing", "ragged", "texts, documents", "texts, a huge cell")
    for fit in fits if without_shape else [*fits, compare, rows_to_label]:
        with pytest.raises(error, match=message):
            fit(points, Y.astype(float))
    if name.startswith("texts"):
        with pytest.raises(ValueError, match=message):
            KNNGraph(3).affinity(points)
    elif not hasattr(type(points), "columns"):
        with pytest.raises(error, match=message):
            FITTED.predict(points)


def test_numbers_that_are_written_as_texts_are_numbers() -> None:
    expected = LapSVC().fit(X, Y).transduction_
    assert (LapSVC().fit(X.astype(str), Y).transduction_ == expected).all()


@pytest.mark.parametrize("model", [LapSVC(), FewLabelClassifier()])
def test_columns_of_one_name_are_reported(model: Any) -> None:
    frame = pd.DataFrame(np.c_[X, X], columns=["a", "b", "a", "c"])
    with pytest.raises(ValueError, match=r"X has 2 columns with the name 'a'\. Give each a unique"):
        model.fit(frame, Y)


@pytest.mark.parametrize("model", [LapSVC(), LapRLSRegressor(), FewLabelClassifier()])
def test_score_requires_an_entry_per_row(model: Any) -> None:
    y = np.where(Y < 0, np.nan, Y) if isinstance(model, LapRLSRegressor) else Y
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"X has 40 rows, but y has 30 entries: score takes one"):
        model.score(X, y[:30])
    with pytest.raises(ValueError, match=r"sample_weight has the shape \(3,\), and X has 40 rows"):
        model.score(X, y, np.ones(3))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_errors_of_missing_kernel_values_mention_the_kernel(wrong: float) -> None:
    K = X @ X.T
    bad = K.copy()
    bad[3, 4] = wrong
    message = r"row 3, column 4 .*X is a kernel matrix .*mend the points that it comes from"
    graph = AffinityGraph(KNNGraph(5).affinity(X))
    for model in (LapSVC("precomputed", graph=graph), S3VC("precomputed")):
        with pytest.raises(ValueError, match=message):
            model.fit(bad, Y)
    with pytest.raises(ValueError, match=message):
        LapSVC("precomputed", gamma_I=0).fit(K, Y).predict(bad)
