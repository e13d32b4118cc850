"""Methods of the comparison, which predict all rows from some targets.

Methods of lapwing have default parameters. Supervised methods select theirs in the usual ways, by
leave-one-out or by the likelihood.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR

from benchmarks.regression.coreg import Coreg
from benchmarks.regression.sources import Array
from lapwing import (
    FewLabelRegressor,
    LapERLSRegressor,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVR,
)


class Predicted(NamedTuple):
    """Predictions for all rows, and ends (n, 2) of 90 % intervals if the method has them."""

    numbers: Array
    ends: Array | None


class Contender(NamedTuple):
    """Method of the comparison.

    Attributes
    ----------
    make : function
        Function that returns an unfitted model.
    alone : bool
        Whether it is fitted to the rows with a target only.
    intervals : bool
        Whether it has `predict_interval`.
    """

    make: Callable[[], Any]
    alone: bool = False
    intervals: bool = False

    def answer(self, X: Array, y: Array) -> Predicted:
        """Predict all rows; targets are NaN if unknown.

        The known targets are standardised for the model, as tubes and penalties depend on their
        units.
        """
        known = ~np.isnan(y)
        centre, scale = y[known].mean(), y[known].std()
        rows = known if self.alone else slice(None)
        model = self.make().fit(X[rows], (y[rows] - centre) / scale)
        ends = centre + scale * model.predict_interval(X) if self.intervals else None
        return Predicted(np.asarray(centre + scale * model.predict(X)), ends)


def _gaussian_process() -> Any:
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    return GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)


def _kernel_ridge() -> Any:
    grid = {"alpha": np.logspace(-4, 1, 6), "gamma": np.logspace(-3, 1, 9)}
    return GridSearchCV(KernelRidge(kernel="rbf"), grid, scoring="neg_mean_squared_error")


CONTENDERS: Mapping[str, Contender] = {
    "RidgeCV": Contender(lambda: RidgeCV(np.logspace(-3, 3, 13)), alone=True),
    "GaussianProcessRegressor": Contender(_gaussian_process, alone=True),
    "KernelRidge by GridSearchCV": Contender(_kernel_ridge, alone=True),
    "SVR(C=10)": Contender(lambda: SVR(C=10), alone=True),
    "RandomForestRegressor()": Contender(lambda: RandomForestRegressor(random_state=0), alone=True),
    "COREG": Contender(Coreg),
    "FewLabelRegressor()": Contender(FewLabelRegressor, intervals=True),
    "LapRLSRegressor()": Contender(LapRLSRegressor, intervals=True),
    "LapRLSRegressorCV()": Contender(LapRLSRegressorCV, intervals=True),
    "LapERLSRegressor()": Contender(LapERLSRegressor, intervals=True),
    "LapSVR()": Contender(LapSVR),
}
