"""Indexing of rows, and their use by scikit-learn."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC

from lapwing import LapERLSClassifier
from lapwing._rows import base
from lapwing._rows.base import PickedRows, is_rows
from lapwing._rows.registry import open_rows
from lapwing.datasets import make_two_moons
from lapwing.exceptions import LapwingWarning
from lapwing.model_selection import LabeledStratifiedKFold
from tests.helpers.rows import ArrayRows, CountedRows, make_parquet

VALUES = np.random.default_rng(0).standard_normal((53, 4))


@pytest.fixture
def rows(tmp_path: Path) -> Any:
    np.save(tmp_path / "X.npy", VALUES)
    return open_rows(tmp_path / "X.npy")


@pytest.mark.parametrize(
    "key",
    [
        slice(None, 10),
        slice(None, None, -7),
        np.array([40, 3, 3, 52]),
        [5, -1],
        np.arange(53) % 3 == 0,
        np.array([], dtype=int),
        (np.array([4, 2]), Ellipsis),
        (slice(3, 9), slice(None)),
    ],
)
@pytest.mark.parametrize("height", [1, 4, 60])
def test_some_rows_stay_in_the_file(rows: Any, key: Any, height: int) -> None:
    some, expected = rows[key], VALUES[key]
    assert is_rows(some)
    assert some.shape == expected.shape
    assert len(some) == len(expected)
    blocks = [block for _, block in some.blocks(height)]
    assert {len(block) for block in blocks[:-1]} <= {height}
    np.testing.assert_array_equal(np.asarray(some), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(some))[::-1], expected[::-1])


def test_one_row_is_an_array(rows: Any) -> None:
    np.testing.assert_array_equal(rows[-3], VALUES[-3])
    np.testing.assert_array_equal(list(rows), VALUES)
    with pytest.raises(IndexError, match="53"):
        rows[53]


@pytest.mark.parametrize("key", [(slice(None), 1), (3, 1), Ellipsis, None])
def test_columns_are_not_read_from_files(rows: Any, key: Any) -> None:
    with pytest.raises(IndexError, match=r"select rows of X .* open_rows\(\.\.\., columns="):
        rows[key]


def test_an_array_of_all_has_to_fit(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert np.asarray(rows, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="X is on disk, so that copy=False is not possible"):
        np.array(rows, copy=False)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "1k")
    with pytest.raises(MemoryError, match=r"array of 53 x 4 points .* LapERLSClassifier"):
        np.asarray(rows)


def test_rows_nearly_in_order_are_one_pass() -> None:
    """Labelled rows come before the others in what splitters give to a fit."""
    counted = CountedRows(ArrayRows(VALUES))
    some = PickedRows(counted, np.concatenate([[50, 7, 20], np.delete(np.arange(53), [7, 20, 50])]))
    assert sum(len(block) for _, block in some.blocks(10)) == 53
    assert (counted.passes, counted.taken) == (0, 53)
    list(PickedRows(counted, np.arange(0, 53, 2)).blocks(10))
    assert (counted.passes, counted.taken) == (1, 53)


def test_shuffled_rows_of_a_large_file_are_reported(
    rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "_SLOW_BYTES", 100)
    PickedRows(rows, np.array([50, *range(40)]))
    with pytest.warns(LapwingWarning, match=r"20 rows .* shuffled order.*KFold\(\)"):
        rows[np.random.default_rng(0).permutation(20)]


def test_scores_and_searches_are_those_of_an_array(tmp_path: Path) -> None:
    X, y, truth = make_two_moons(
        120, noise=0.3, n_labeled_per_class=6, random_state=0, return_truth=True
    )
    on_disk = open_rows(make_parquet(X, tmp_path))
    model, folds = LapERLSClassifier(), LabeledStratifiedKFold(3)
    found, expected = (
        GridSearchCV(model, {"n_eigenvectors": [5, 20]}, cv=folds).fit(points, y)
        for points in (on_disk, X)
    )
    for name in ("mean_test_score", "params"):
        np.testing.assert_array_equal(found.cv_results_[name], expected.cv_results_[name])
    assert found.n_features_in_ == 2
    assert found.best_estimator_.feature_names_in_.tolist() == ["x0", "x1"]
    left, _, labels, _ = train_test_split(on_disk, truth, random_state=0)
    taken, _ = train_test_split(X, random_state=0)
    np.testing.assert_array_equal(
        SVC().fit(left, labels).predict(X), SVC().fit(taken, labels).predict(X)
    )
    assert repr(left).startswith("<90 rows of <120 rows")
