"""Scores on a cluster are those of the estimator without Dask, however X and y are cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lapwing import Landmarks
from lapwing.dask import DaskEigenfunctionClassifier, DaskLapERLSRegressor
from lapwing.dask._session import ClusterSession
from tests.cluster.conftest import Case, array

dask = pytest.importorskip("dask", reason="dask is not installed")

CASE = Case(n=120, distance=1.5)
NEW = np.random.default_rng(1).standard_normal((90, 4)) + CASE.X[:90]
TRUTH = np.where(np.arange(90) % 4 == 0, -1, np.arange(90) % 3)  # a quarter is not known
HOLED = np.where(TRUTH[:, None] < 0, np.nan, NEW)  # for what is not known no answer is asked


def chunks(values: Any, *sizes: int) -> Any:
    return array.from_array(values, chunks=(sizes, *((n,) for n in values.shape[1:])))


@pytest.fixture(scope="module")
def model(client: Any) -> Any:
    return DaskEigenfunctionClassifier().fit(CASE.chunks, CASE.y)


@pytest.fixture(scope="module")
def regression(client: Any) -> Any:
    model = DaskLapERLSRegressor(space=Landmarks(centers=CASE.X[::10]))
    return model.fit(CASE.chunks, np.where(CASE.y >= 0, CASE.X[:, 0], np.nan))


CUTS = [(90,), (30, 60), (10, 0, 70, 0, 10), (0, 90)]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("other", [(90,), (31, 0, 9, 50)])
def test_accuracy_is_that_in_memory(model: Any, cut: Any, other: Any) -> None:
    expected = model.to_local().score(NEW, TRUTH)
    assert 0 < expected < 1
    rows = np.flatnonzero(TRUTH >= 0)[::-1]
    in_chunks = (chunks(TRUTH, *other), chunks(TRUTH[:, None], *other))
    for y in (*in_chunks, TRUTH, (rows, TRUTH[rows])):
        assert model.score(chunks(HOLED, *cut), y) == pytest.approx(expected)


@pytest.mark.parametrize("cut", CUTS)
def test_determination_is_that_in_memory(regression: Any, cut: Any) -> None:
    y = np.where(TRUTH >= 0, NEW[:, 0] + 1000, np.nan)
    expected = regression.to_local().score(NEW, y)
    X = chunks(NEW, *cut)
    rows = np.flatnonzero(TRUTH >= 0)
    for given in (chunks(y, 31, 0, 9, 50), y, (rows, y[rows])):
        assert regression.score(X, given) == pytest.approx(expected, rel=1e-9)
    constant = np.full(90, 3.0)
    assert regression.score(X, constant) == regression.to_local().score(NEW, constant) == 0


def test_chunks_of_unknown_sizes(model: Any) -> None:
    X, y = chunks(NEW, 30, 60), chunks(TRUTH, 50, 40)
    kept = np.arange(90) % 2 == 0
    some = X[chunks(kept, 30, 60)], y[chunks(kept, 50, 40)]
    assert np.isnan(some[0].shape[0])
    expected = model.to_local().score(NEW[kept], TRUTH[kept])
    assert model.score(*some) == pytest.approx(expected)


def test_frames(model: Any) -> None:
    frames = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    X = frames.from_pandas(pandas.DataFrame(NEW), npartitions=3)
    y = frames.from_pandas(pandas.Series(TRUTH), npartitions=2)
    assert model.score(X, y) == pytest.approx(model.to_local().score(NEW, TRUTH))


def test_scores_gather_a_few_numbers_per_chunk(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gather, found = ClusterSession.gather, []

    def watched(self: ClusterSession, futures: Any) -> list[Any]:
        found.append(gather(self, futures))
        return found[-1]

    monkeypatch.setattr(ClusterSession, "gather", watched)
    model.score(chunks(NEW, 30, 60), chunks(TRUTH, 50, 40))
    assert [len(pair) for pair in found[-1]] == [2, 2]
    assert len(found) == 1


def test_chunks_without_labels_are_not_read(model: Any) -> None:
    rows = np.flatnonzero(TRUTH >= 0)
    more = array.from_delayed(dask.delayed(int)("must not be read"), (10, 4), dtype=float)
    X = array.concatenate([chunks(HOLED, 30, 60), more])
    expected = model.to_local().score(NEW, TRUTH)
    assert model.score(X, (rows, TRUTH[rows])) == pytest.approx(expected)


def test_rejects_scores_of_invalid_inputs(model: Any, regression: Any) -> None:
    X = chunks(NEW, 30, 60)
    with pytest.raises(ValueError, match=r"at least 1 labelled row, and y has 0"):
        model.score(X, np.full(90, -1))
    with pytest.raises(ValueError, match=r"at least 2 labelled rows, and y has 1"):
        regression.score(X, ([3], [1.0]))
    for short in (TRUTH[:80], chunks(TRUTH[:80], 80)):
        with pytest.raises(ValueError, match=r"X has 90 rows and y has 80"):
            model.score(X, short)
    with pytest.raises(ValueError, match=r"[Mm]ix of label"):
        model.score(X, np.array(["a", "b", "c", None], dtype=object)[TRUTH])
    with pytest.raises(TypeError, match=r"X must be a Dask array or frame"):
        model.score(NEW, TRUTH)
    with pytest.raises(ValueError, match=r"3 features"):
        model.score(X[:, :3], TRUTH)
