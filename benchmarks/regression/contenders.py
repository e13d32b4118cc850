"""What is compared: numbers of all rows from the targets of some.

Methods of lapwing have the parameters that they come with. Those on the known targets alone choose
theirs as one would: by leaving targets out, or by the likelihood.
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
    """Numbers of all rows, and the ends (n, 2) of 90 % intervals where there are any."""

    numbers: Array
    ends: Array | None


class Contender(NamedTuple):
    """A method.

    Attributes
    ----------
    make : function
        The model, before its fit.
    alone : bool
        Whether it is fitted to the rows with a target alone.
    intervals : bool
        Whether it has `predict_interval`.
    """

    make: Callable[[], Any]
    alone: bool = False
    intervals: bool = False

    def answer(self, X: Array, y: Array) -> Predicted:
        """Numbers of all rows; NaN in y marks those without a target.

        The model sees targets of mean 0 and deviation 1, for tubes and penalties are in their
        units. Mean and deviation are those of the known ones.
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
