"""An example or more of every estimator, and data for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from lapwing import (
    S3VC,
    AnchorGraph,
    AnchorGraphClassifier,
    BalancedGraphClassifier,
    EigenfunctionClassifier,
    KNNGraph,
    Landmarks,
    LapERLSClassifier,
    LapERLSClassifierCV,
    LapERLSRegressor,
    LapESVC,
    LapESVR,
    LapRLSClassifier,
    LapRLSClassifierCV,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVC,
    LapSVCCV,
    LapSVR,
)
from tests.helpers.answers import scores
from tests.helpers.data import Data, labeled_clusters, labeled_curve
from tests.helpers.low_density import ONE_DESCENT


@dataclass(frozen=True, eq=False)
class Example:
    """An estimator with parameters by which equivalent fits can be compared, and its data."""

    estimator: Any
    n_classes: int = 3
    digits: float = 1e-6  # of scores, relative to the largest
    # Other values for parameters that nothing prepared depends on.
    changes: dict[str, Any] = field(default_factory=dict)

    def data(self, n: int = 60) -> Data:
        if is_classifier(self.estimator):
            return labeled_clusters(self.n_classes, n=n)
        return labeled_curve(n=n)

    def fit(self, X: Any, y: Any, **options: Any) -> Any:
        return clone(self.estimator).fit(X, y, **options)

    def check_same(self, found: Any, expected: Any, X: Any, Z: Any = None) -> None:
        """Two fits have the same scores at X, which the first may know in another form Z."""
        wanted = scores(expected, X)
        limit = self.digits * np.abs(wanted).max()
        np.testing.assert_allclose(scores(found, X if Z is None else Z), wanted, atol=limit)


@cache
def fitted(example: Example) -> tuple[Any, Any, Any]:
    """A fit to the data that tests share and leave as it is, with points and labels."""
    X, y, _ = example.data()
    return example.fit(X, y), X, y


@cache
def weighted(example: Example) -> tuple[Any, Any, Any, Any]:
    """The same with weights."""
    X, y, _ = example.data()
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X))
    return example.fit(X, y, sample_weight=weights), X, y, weights


GRID: dict[str, Any] = {
    **{"gamma_As": [1e-2, 0.1], "gamma_Is": [0.1, 1.0]},
    **{"gammas": ["scale"], "graphs": [KNNGraph(5)]},
}
# All points, in any order: some that are drawn depend on it.
SPACE = Landmarks(1000)
DESCENT: dict[str, Any] = {"C": 5.0, "tol": 1e-7, **ONE_DESCENT}

# gamma_A is such that conjugate gradient ends soon. What ends at a duality gap or in a descent has
# fewer digits.
EXAMPLES: dict[str, Example] = {
    "LapSVC": Example(
        LapSVC(gamma_A=1e-2), changes={"gamma_A": 0.1, "gamma_I": 5.0, "fit_intercept": True}
    ),
    "LapSVC, 2 classes, newton": Example(
        LapSVC(gamma_A=1e-2, solver="newton"), 2, changes={"solver": "pcg", "tol": 1e-9}
    ),
    "LapSVC, hinge": Example(
        LapSVC(loss="hinge", gamma_A=1e-2, fit_intercept=True), 2, changes={"gamma_I": 0.3}
    ),
    "LapSVC, linear": Example(
        LapSVC("linear", gamma_A=1e-2, fit_intercept=True), changes={"gamma_A": 0.1}
    ),
    "LapSVC, no graph": Example(LapSVC(gamma_A=1e-2, gamma_I=0), changes={"loss": "hinge"}),
    "LapRLSClassifier": Example(LapRLSClassifier(gamma_A=1e-2), 4, changes={"gamma_A": 0.1}),
    "LapRLSClassifier, pcg": Example(
        LapRLSClassifier(solver="pcg", gamma_A=1e-1, tol=1e-10), changes={"gamma_A": 0.3}
    ),
    "LapRLSRegressor": Example(LapRLSRegressor(gamma_A=1e-2), changes={"gamma_I": 5.0}),
    "LapRLSRegressor, linear": Example(
        LapRLSRegressor("linear", gamma_A=1e-2), changes={"gamma_I": 5.0}
    ),
    "LapSVR": Example(LapSVR(gamma_A=1e-2), changes={"gamma_I": 5.0, "epsilon": 0.3}),
    "LapERLSClassifier": Example(LapERLSClassifier(), changes={"C": 2.0, "lam": 50.0, "mu": 3.0}),
    "LapERLSClassifier, 2 classes, exact": Example(
        LapERLSClassifier(lam=100, mu=10, n_eigenvectors=None, fit_intercept=True),
        2,
        changes={"C": 2.0, "mu": 3.0},
    ),
    "LapERLSClassifier, landmarks": Example(
        LapERLSClassifier(space=SPACE), digits=1e-5, changes={"C": 2.0, "mu": 3.0}
    ),
    "LapERLSRegressor": Example(LapERLSRegressor(), changes={"C": 2.0, "lam": 50.0, "mu": 0.3}),
    "LapERLSRegressor, linear": Example(LapERLSRegressor("linear"), changes={"C": 2.0, "mu": 0.3}),
    "LapESVC": Example(
        LapESVC(C=1.0, epsilon=0.05), digits=1e-3, changes={"mu": 3.0, "epsilon": 0.1}
    ),
    "LapESVR": Example(LapESVR(epsilon=0.05), digits=1e-3, changes={"C": 2.0, "epsilon": 0.1}),
    "S3VC": Example(
        S3VC(**DESCENT), digits=1e-3, changes={"C": 2.0, "C_star": 1.0, "balance": None}
    ),
    "S3VC, 2 classes, linear": Example(
        S3VC("linear", **DESCENT), 2, digits=1e-3, changes={"method": "gradient", "s": 1.0}
    ),
    "S3VC, graph": Example(
        S3VC(gamma_I=0.1, multi_class="ovr", **DESCENT), digits=1e-3, changes={"gamma_I": 1.0}
    ),
    "LapRLSClassifierCV": Example(
        LapRLSClassifierCV(**GRID),
        changes={"gamma_As": [0.1, 1.0], "gamma_Is": [0.0, 5.0], "fit_intercept": True},
    ),
    "LapRLSRegressorCV": Example(
        LapRLSRegressorCV(**GRID), changes={"gamma_As": [0.1], "gamma_Is": [5.0]}
    ),
    "LapSVCCV": Example(LapSVCCV(**GRID), changes={"gamma_As": [0.1], "fit_intercept": True}),
    "LapERLSClassifierCV": Example(
        LapERLSClassifierCV(
            lams=[1e2, 1e4], mus=[1e3], n_eigenvectors=["auto"], graphs=[KNNGraph(5)]
        ),
        changes={"Cs": [2.0], "lams": [50.0], "mus": [0.0, 3.0]},
    ),
    "AnchorGraphClassifier, 2 classes": Example(
        AnchorGraphClassifier(AnchorGraph(12)),
        2,
        changes={"gamma_I": 0.3, "class_mass_normalization": False},
    ),
    "AnchorGraphClassifier, embedding": Example(
        AnchorGraphClassifier(AnchorGraph(12, weights="embedding")), 4, changes={"gamma_I": 0.3}
    ),
    "AnchorGraphClassifier, random": Example(
        AnchorGraphClassifier(AnchorGraph(25, anchors="random"), class_mass_normalization=False),
        changes={"gamma_I": 0.3},
    ),
    "EigenfunctionClassifier": Example(EigenfunctionClassifier(lam=10), changes={"lam": 5.0}),
    "EigenfunctionClassifier, two directions": Example(
        EigenfunctionClassifier(None, n_components=2, n_bins=30, clip=0.0, lam=10),
        changes={"lam": 5.0},
    ),
    "BalancedGraphClassifier": Example(
        BalancedGraphClassifier(method="mbo", n_votes=0), changes={"method": "flow", "C": 1.0}
    ),
}
