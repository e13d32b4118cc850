"""Fits of semi-supervised SVMs in given coordinates, and baselines.

The solvers are called directly, as the factorisation of a kernel is shared by all splits, methods
and parameters of a problem, while `S3VC` would repeat it in every fit. The supervised baselines use
the same coordinates, in which any kernel is linear.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC

from benchmarks.shared.labels import UNLABELED, IndexArray
from benchmarks.shared.measuring import wall_seconds, with_seconds
from lapwing.losses import GaussianBump, Hinge, SymmetricHinge, UnlabeledLoss
from lapwing.objectives.low_density import CenteredFeatures, Function, LowDensityObjective
from lapwing.solvers.base import Settings
from lapwing.solvers.low_density.methods import minimize_low_density

FloatArray = NDArray[np.float64]

EXACT = Settings[Function](tol=1e-6, max_iter=20_000)  # a hundredth of S3VC's default tolerance
# S3VM-light and CCCP are for the symmetric hinge, the others for exp(-3 f^2) (errata X1).
_COMBINATORIAL = ("cccp", "switching")


class LossWeights(NamedTuple):
    """Weights of the labelled and of the unlabelled losses."""

    C: float
    C_star: float


@dataclass(frozen=True, eq=False)
class Task:
    """Binary problem in coordinates.

    Attributes
    ----------
    space : LinearSpace or MappedSpace
        Space of the n points.
    y : ndarray of shape (n,)
        True classes, -1 and +1.
    labeled, unlabeled : ndarray of int
        Rows used with and without their class; there may be other rows.
    """

    space: Any
    y: FloatArray
    labeled: IndexArray
    unlabeled: IndexArray

    def error(self, values: FloatArray) -> float:
        """Compute the error in % on the unlabelled points; f = 0 is positive (errata X5)."""
        predicted = np.where(values[self.unlabeled] >= 0, 1.0, -1.0)
        return 100 * float(np.mean(predicted != self.y[self.unlabeled]))


class LinearFunction(NamedTuple):
    """Function of points with given coordinates."""

    coef: FloatArray  # (r,)
    intercept: float

    def values(self, features: Any) -> FloatArray:
        """Compute decision values."""
        return np.asarray(features @ self.coef) + self.intercept


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Result of a fit."""

    function: LinearFunction
    seconds: float
    objective: float = np.nan  # of the method; NaN for the baselines
    n_evaluations: int = 0

    def values(self, features: Any) -> FloatArray:
        """Compute decision values of points with given coordinates."""
        return self.function.values(features)


def s3vm_objective(
    task: Task, weights: LossWeights, unlabeled_loss: UnlabeledLoss | None = None
) -> LowDensityObjective:
    """Return the objective with balance='labels': the mean of f on U is that of the labels."""
    shares = np.zeros(task.space.n_points)
    shares[task.unlabeled] = 1 / len(task.unlabeled)
    targets = task.y[task.labeled]
    mean = float(targets.mean())
    return LowDensityObjective(
        CenteredFeatures.on(task.space, shares),
        Hinge(),
        GaussianBump() if unlabeled_loss is None else unlabeled_loss,
        task.labeled,
        targets,
        np.full(len(task.labeled), weights.C),
        task.unlabeled,
        np.full(len(task.unlabeled), weights.C_star),
        (mean, mean),
    )


def uncentered(objective: LowDensityObjective, coef: FloatArray, intercept: float) -> float:
    """Return the bias of f = Phi w + b on points that are not centred."""
    center = objective.features.center
    return intercept - (0.0 if center is None else float(center @ coef))


def solve(
    task: Task, method: str, weights: LossWeights, settings: Settings[Function] = EXACT
) -> LinearFit:
    """Fit by a method of `S3VC`."""
    start = time.perf_counter()
    loss = SymmetricHinge() if method in _COMBINATORIAL else GaussianBump()
    objective = s3vm_objective(task, weights, loss)
    found = minimize_low_density(objective, method, settings).minimum
    coef, intercept = found.state
    seconds = time.perf_counter() - start
    function = LinearFunction(coef, uncentered(objective, coef, intercept))
    return LinearFit(function, seconds, found.objective, found.n_evaluations)


def linear_svc(X: Any, y: Any, C: float) -> LinearFunction:
    """Fit scikit-learn's SVC with the linear kernel; values are positive for the larger class.

    The Gram matrix is given, as sparse products of libsvm take most of the time.
    """
    gram: Any = X @ X.T
    gram = gram.toarray() if sp.issparse(X) else gram
    machine = SVC(kernel="precomputed", C=C).fit(gram, y)
    coef = X[machine.support_].T @ machine.dual_coef_.ravel()
    return LinearFunction(np.asarray(coef), float(machine.intercept_[0]))


class MarginSVC(ClassifierMixin, BaseEstimator):
    """SVC with the logistic function of its decision values as probabilities.

    Self-training uses the order of probabilities only; Platt's fit would need more labels.
    """

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, X: Any, y: Any) -> MarginSVC:
        self.function_ = linear_svc(X, y, self.C)
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        positive = expit(self.function_.values(X))
        return np.stack([1 - positive, positive], axis=1)


def svc(task: Task, C: float) -> LinearFit:
    """Fit scikit-learn's SVC to the labels."""
    targets = task.y[task.labeled]
    if abs(targets.sum()) == len(targets):  # one class
        return LinearFit(LinearFunction(np.zeros(task.space.n_coef), float(targets[0])), 0.0)
    return LinearFit(*with_seconds(linear_svc, task.space.features[task.labeled], targets, C))


def self_training(task: Task, C: float) -> LinearFit:
    """Fit scikit-learn's SelfTrainingClassifier with this SVC.

    In each of ten rounds a tenth of the unlabelled points, those farthest from the boundary, is
    labelled; with a threshold of the probability none would be, as all are within the margin.
    """
    rows = np.concatenate([task.labeled, task.unlabeled])
    known = task.y[task.labeled].astype(np.int64) > 0
    y = np.concatenate([known, np.full(len(task.unlabeled), UNLABELED)])
    tenth = -(-len(task.unlabeled) // 10)
    model = SelfTrainingClassifier(MarginSVC(C), criterion="k_best", k_best=tenth, max_iter=10)
    seconds = wall_seconds(model.fit, task.space.features[rows], y)
    return LinearFit(model.estimator_.function_, seconds)


class Fitter(NamedTuple):
    """Method of the comparison."""

    title: str
    fit: Callable[[Task, LossWeights], LinearFit]
    slow: bool = False  # run on the first splits only


def _s3vc(method: str) -> Callable[[Task, LossWeights], LinearFit]:
    return lambda task, weights: solve(task, method, weights)


FITTERS: dict[str, Fitter] = {
    "svc": Fitter("SVC (labels)", lambda task, weights: svc(task, weights.C)),
    "self-training": Fitter("self-training", lambda task, w: self_training(task, w.C)),
    "continuation": Fitter("continuation", _s3vc("continuation")),
    "gradient": Fitter("gradient", _s3vc("gradient")),
    "quasi-newton": Fitter("quasi-newton", _s3vc("quasi-newton")),
    "cccp": Fitter("cccp", _s3vc("cccp"), slow=True),
    "switching": Fitter("switching", _s3vc("switching"), slow=True),
}
