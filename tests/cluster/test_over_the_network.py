"""Estimators for clusters answer as those in memory, where all that is sent is pickled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_regressor

from lapwing.model_selection import sure_rows
from tests.cluster.conftest import Case, array, cluster_of
from tests.cluster.test_estimators import EXAMPLES, pair, targets


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with cluster_of(2, processes=False, protocol="tcp://", memory_limit=None) as client:
        yield client


@pytest.mark.parametrize("name", EXAMPLES)
def test_equals_the_fit_in_memory(name: str, client: Any) -> None:
    case = Case(n_classes=2 if name == "DaskS3VC" else 3)
    y = targets(name, case)
    model, local = pair(name)
    X = case.chunks
    model.fit(X, array.from_array(y, chunks=(200,)))
    local.fit(case.X, y)
    assert model.transduction_.chunks == (case.sizes,)
    close = {"rtol": 0, "atol": 1e-8}
    np.testing.assert_allclose(model.objective_, local.objective_, rtol=1e-8, atol=1e-8)
    if is_regressor(model):
        np.testing.assert_allclose(model.transduction_.compute(), local.transduction_, **close)
        np.testing.assert_allclose(model.predict(X).compute(), local.predict(case.X), **close)
        with pytest.raises(ValueError, match=r"Use LapERLSRegressor\(updatable=True\) with points"):
            model.predict(X, return_std=True)
    else:
        assert model.classes_.dtype == local.classes_.dtype
        assert model.unlabeled_ == local.unlabeled_
        np.testing.assert_array_equal(model.transduction_.compute(), local.transduction_)
        np.testing.assert_array_equal(model.predict(X).compute(), local.predict(case.X))
        shares = model.transduction_proba_.compute()
        np.testing.assert_allclose(shares, local.transduction_proba_, **close)
        for method in ("decision_function", "predict_proba"):
            answers = getattr(model, method)(X)
            assert answers.chunks[0] == case.sizes
            expected = getattr(local, method)(case.X)
            assert answers.shape == expected.shape
            np.testing.assert_allclose(answers.compute(), expected, **close)
    if hasattr(local, "virtual_labels_"):
        virtual = model.virtual_labels_
        np.testing.assert_allclose(virtual.compute(), local.virtual_labels_, **close)
    plain = model.to_local()
    assert type(plain) is type(local)
    np.testing.assert_allclose(plain.predict(case.X), local.predict(case.X), **close)
    missing = {"transduction_", "transduction_proba_", "labeled_", "basis_", "affinity_"}
    assert set(vars(local)) - set(vars(plain)) <= missing | {"virtual_labels_"}
    if hasattr(plain, "predict_proba"):
        with pytest.raises(ValueError, match=r"no predictions of its training rows. Give X\.$"):
            sure_rows(plain)
