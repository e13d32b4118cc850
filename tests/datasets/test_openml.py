"""Digits from OpenML: request, checks, errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from lapwing import datasets
from lapwing.datasets._openml import MNIST, USPS, OpenMLSet


def answer_of(known: OpenMLSet) -> Bunch:
    """The official training part, then digits in turn; digit d called as OpenML calls it."""
    train = np.repeat(np.arange(10), known.train_counts)
    rest = np.arange(known.n_samples - train.size) % 10
    rng = np.random.default_rng(0)
    return Bunch(
        data=rng.integers(*known.value_range, size=known.shape, dtype=np.int16, endpoint=True),
        target=(np.concatenate([train, rest]) + known.first_label).astype(str).astype(object),
    )


@pytest.fixture
def openml(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """The request to OpenML, with its answer for USPS, which tests may change."""
    fetch = Mock(return_value=answer_of(USPS))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    return fetch


def test_usps_is_fetched_and_coded(openml: Mock, tmp_path: Path) -> None:
    answer = openml.return_value
    data = datasets.load_usps(data_home=tmp_path)
    expected = {"data_id": 41082, "as_frame": False, "data_home": tmp_path}
    assert openml.call_args.kwargs.items() >= expected.items()
    assert np.array_equal(data.data, answer.data)
    assert data.data.dtype == np.float64
    assert data.target.dtype == np.int64
    assert np.array_equal(data.target + 1, answer.target.astype(int))  # digit d is called d + 1
    assert data.target_names.tolist() == list(range(10))
    assert np.flatnonzero(data.is_test).tolist() == list(range(7291, 9298))
    assert data.image_shape == (16, 16)
    assert data.source == "OpenML data set 41082"
    for dtype in ("float32", np.float32, "float64"):
        X, target = datasets.load_usps(dtype=dtype, return_X_y=True)
        assert (X.dtype, target.shape) == (dtype, (9298,))
    for text in ("9298", "16 x 16", "Elements of Statistical Learning", "41082"):
        assert text in data.DESCR


def test_mnist3vs8_equals_two_digits_of_mnist(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of it, with the same rules."""
    counts = tuple(count // 100 for count in MNIST.train_counts)
    small = replace(MNIST, train_counts=counts, n_samples=sum(counts) + 100)
    monkeypatch.setattr("lapwing.datasets._openml.MNIST", small)
    answer = answer_of(small)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **_: answer)
    digits = datasets.load_mnist()
    assert digits.data.dtype == np.float32
    assert digits.is_test.sum() == 100
    assert (sum(MNIST.train_counts), MNIST.n_samples) == (60_000, 70_000)
    two = datasets.load_mnist3vs8(dtype="float64")
    rows = np.flatnonzero(np.isin(digits.target, (3, 8)))
    assert two.data.dtype == np.float64
    assert np.array_equal(two.data, answer.data[rows])
    assert np.array_equal(two.target, digits.target[rows] == 8)
    assert np.bincount(two.target[~two.is_test]).tolist() == [61, 58]
    X, y = datasets.load_mnist3vs8(return_X_y=True)
    assert X.dtype == np.float32
    assert np.array_equal(y, two.target)


@pytest.mark.parametrize("dtype", ["int8", "nonsense"])
def test_rejects_unknown_types_before_fetching(openml: Mock, dtype: str) -> None:
    for load in (datasets.load_usps, datasets.load_mnist, datasets.load_mnist3vs8):
        with pytest.raises(ValueError, match=f"dtype='{dtype}' must be 'float64'"):
            load(dtype=dtype)
    openml.assert_not_called()


def test_no_test_part_in_another_order(openml: Mock) -> None:
    openml.return_value.target = openml.return_value.target[::-1]
    assert datasets.load_usps().is_test is None


def test_parser_does_not_need_pandas(openml: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    for found in (None, object()):
        monkeypatch.setattr("lapwing.datasets._openml.find_spec", Mock(return_value=found))
        datasets.load_usps()
    assert [call.kwargs["parser"] for call in openml.mock_calls] == ["liac-arff", "pandas"]
    # scikit-learn 1.9 fails on classes that pandas 3.1 reads as integers.
    assert openml.call_args.kwargs["read_csv_kwargs"] == {"dtype": "float64"}


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("data", lambda X: X[:, :255], r"OpenML data set 41082 is not USPS: .* \(9298, 255\)"),
        ("target", lambda y: y[:-1], r"\(9297,\); the set has \(9298, 256\) and \(9298,\)"),
        ("data", lambda X: np.where(X[3, 4] == X, 255, X), "the data go from -1 to 255; the set"),
        ("data", lambda X: np.where(X[3, 4] == X, np.nan, X), "the data go from nan to nan"),
        ("target", lambda y: np.array(["1", "11"] * 4649), "the target holds 0, 10; the set has"),
    ],
)
def test_rejects_another_data_set(
    openml: Mock, key: str, change: Callable[[Any], Any], message: str
) -> None:
    openml.return_value[key] = change(openml.return_value[key])
    with pytest.raises(ValueError, match=message):
        datasets.load_usps()


@pytest.mark.parametrize("load", [datasets.load_mnist, datasets.load_mnist3vs8, datasets.load_usps])
def test_failed_requests_are_reported(
    load: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = URLError("no network in tests"), KeyError("url"), Bunch(data=[[0]], target=["six"])
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", Mock(side_effect=answers))
    for reason in ("no network in tests", "url", "six"):
        told = rf"(MNIST|USPS) could not be fetched .*(554|41082).*{reason}.* folder as data_home"
        with pytest.raises(OSError, match=told):
            load()
