"""Points of any magnitude: answers do not change with the unit of the features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier

from lapwing import (
    S3VC,
    AnchorGraph,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    Landmarks,
    LapERLSClassifier,
    LapERLSRegressor,
    LapESVC,
    LapESVR,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    LapSVR,
)
from tests.helpers.answers import scores
from tests.helpers.data import labeled_clusters, labeled_curve
from tests.helpers.low_density import ONE_DESCENT

# All that is exact by construction, and S3VC, whose descent ends at a tolerance.
ESTIMATORS = {
    "LapSVC": LapSVC(),
    "LapSVC, cosine": LapSVC("cosine"),
    "LapRLSClassifier": LapRLSClassifier(),
    "LapRLSClassifier, poly": LapRLSClassifier("poly"),
    "LapRLSRegressor": LapRLSRegressor(),
    "LapSVR": LapSVR(),
    "S3VC": S3VC(**ONE_DESCENT),
    "LapESVC": LapESVC(),
    "LapESVR": LapESVR(),
    "LapERLSClassifier": LapERLSClassifier(),
    "LapERLSClassifier, landmarks": LapERLSClassifier(space=Landmarks(30)),
    "LapERLSRegressor": LapERLSRegressor(),
    "AnchorGraphClassifier": AnchorGraphClassifier(),
    "AnchorGraphClassifier, embedding": AnchorGraphClassifier(AnchorGraph(weights="embedding")),
    "EigenfunctionClassifier": EigenfunctionClassifier(),
}
UNITS = [2.0**e for e in (100, -100)]  # squares leave float32; powers of 2 round nothing


def data_for(estimator: Any) -> tuple[Any, Any]:
    X, y, _ = labeled_clusters(3, n_labels=5) if is_classifier(estimator) else labeled_curve()
    return X.astype(np.float32), y


# In float32 the penalties of S3VC's multipliers leave two digits of the gradient, in any unit.
@pytest.mark.filterwarnings("ignore:solver='lbfgs' was limited by rounding")
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("unit", UNITS)
def test_answers_do_not_change_with_the_unit(name: str, unit: float) -> None:
    estimator = ESTIMATORS[name]
    X, y = data_for(estimator)
    expected = clone(estimator).fit(X, y)
    scaled = (X * unit).astype(np.float32)
    model = clone(estimator).fit(scaled, y)
    tolerance = 1e-5 if name != "S3VC" else 0.05
    assert_allclose(scores(model, scaled), scores(expected, X), atol=tolerance, rtol=tolerance)
    assert_allclose(model.transduction_, expected.transduction_, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("factor", [1e160, 1e-165])
def test_points_whose_squares_leave_float64_are_refused(name: str, factor: float) -> None:
    X, y = data_for(ESTIMATORS[name])
    with pytest.raises(ValueError, match=r"whose squares overflow or underflow\. Scale the feat"):
        clone(ESTIMATORS[name]).fit(X.astype(np.float64) * factor, y)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "cosine"])
@pytest.mark.parametrize("unit", UNITS)
def test_sparse_points(kernel: str, unit: float) -> None:
    X, y = data_for(LapSVC())
    estimator = LapSVC(kernel, gamma_A=0.1)
    expected = clone(estimator).fit(sp.csr_array(X), y)
    scaled = sp.csr_array((X * unit).astype(np.float32))
    model = clone(estimator).fit(scaled, y)
    assert_allclose(scores(model, scaled), scores(expected, X), atol=1e-4)


def test_new_points_too_far_off_to_be_squared_have_the_value_of_the_bias() -> None:
    X, y = data_for(LapSVC())
    model = LapSVC(fit_intercept=True).fit(X, y)
    assert_array_equal(scores(model, np.full_like(X[:2], 1e30)), np.tile(model.intercept_, (2, 1)))
