"""What is compared: estimators of lapwing and scikit-learn, and classes of GraphLearning.

Each answers with a class of every point, from the labels of some. All have the parameters that they
come with, but for kernels: linear ones where points are sparse or have more features than there are
points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import softmax
from sklearn.neighbors import NearestNeighbors
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from benchmarks.shared.labels import UNLABELED
from lapwing import (
    S3VC,
    BalancedGraphClassifier,
    LapERLSClassifier,
    LapRLSClassifier,
    LapSVC,
)

Codes = NDArray[np.int64]
N_NEIGHBORS = 10  # of GraphLearning's graph, as in its examples
ROUNDS = 10  # of self-training


@dataclass(frozen=True)
class Task:
    """Points, and labels of some.

    Attributes
    ----------
    X : ndarray or sparse of shape (n, n_features)
    y : ndarray of int64 of shape (n,)
        Codes 0, 1, ..., and `UNLABELED`.
    shares : ndarray of shape (n_classes,)
        True shares of the classes, for methods that must know them.
    """

    X: Any
    y: Codes
    shares: NDArray[np.float64]

    @property
    def kernel(self) -> str:
        """'linear' or 'rbf'."""
        n, n_features = self.X.shape
        return "linear" if issparse(self.X) or n_features > n else "rbf"

    @cached_property
    def known(self) -> Codes:
        """Rows with a label."""
        return np.flatnonzero(self.y != UNLABELED)


class MarginSVC(SVC):
    """An SVC whose decision values order points as self-training wants them ordered."""

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        values = self.decision_function(X)
        columns = np.column_stack([-values, values]) if values.ndim == 1 else values
        return np.asarray(softmax(columns, axis=1))


def _labels_alone(task: Task) -> Codes:
    model = SVC(kernel=task.kernel).fit(task.X[task.known], task.y[task.known])
    return np.asarray(model.predict(task.X))


def _self_training(task: Task) -> Codes:
    # A threshold would label none of the points: they lie within the margin.
    each = -(-np.sum(task.y == UNLABELED) // ROUNDS)
    model = SelfTrainingClassifier(
        MarginSVC(kernel=task.kernel), criterion="k_best", k_best=int(each), max_iter=ROUNDS
    )
    return np.asarray(model.fit(task.X, task.y).predict(task.X))


def _transduced(make: Callable[[Task], Any]) -> Callable[[Task], Codes]:
    return lambda task: np.asarray(make(task).fit(task.X, task.y).transduction_)


def _graph_learning(make: Callable[[Any, Any, Task], Any]) -> Callable[[Task], Codes]:
    def answer(task: Task) -> Codes:
        import graphlearning

        # Its own search is approximate and needs one package more; these neighbours are exact.
        nearest = NearestNeighbors(n_neighbors=N_NEIGHBORS + 1).fit(task.X)
        distances, indices = nearest.kneighbors(task.X)
        W = graphlearning.weightmatrix.knn(None, N_NEIGHBORS, knn_data=(indices, distances))
        model = make(graphlearning.ssl, W, task)
        return np.asarray(model.fit_predict(task.known, task.y[task.known])).astype(np.int64)

    return answer


class Contender(NamedTuple):
    """A method.

    Attributes
    ----------
    library, name : str
    answer : function
        Classes of all points of a task.
    n_classes : int or None
        The largest number that it is run with.
    needs : str or None
        A package that must be installed.
    """

    library: str
    name: str
    answer: Callable[[Task], Codes]
    n_classes: int | None = None
    needs: str | None = None

    @property
    def missing(self) -> str | None:
        """Why it cannot run here; None if it can."""
        if self.needs is None or find_spec(self.needs) is not None:
            return None
        return f"{self.library} is not installed: python -m pip install {self.needs}"


def _of_lapwing(name: str, make: Callable[[Task], Any], n_classes: int | None = None) -> Contender:
    return Contender("lapwing", name, _transduced(make), n_classes)


def _of_sklearn(name: str, answer: Callable[[Task], Codes]) -> Contender:
    return Contender("scikit-learn", name, answer)


def _of_graph_learning(name: str, make: Callable[[Any, Any, Task], Any]) -> Contender:
    return Contender("GraphLearning", name, _graph_learning(make), needs="graphlearning")


CONTENDERS = (
    _of_lapwing("LapSVC()", lambda task: LapSVC()),
    _of_lapwing("LapRLSClassifier()", lambda task: LapRLSClassifier()),
    _of_lapwing("LapERLSClassifier()", lambda task: LapERLSClassifier()),
    # One machine a pair of classes: with twenty classes a matter of minutes.
    _of_lapwing("S3VC(kernel)", lambda task: S3VC(task.kernel), n_classes=2),
    _of_lapwing("BalancedGraphClassifier()", lambda task: BalancedGraphClassifier()),
    _of_lapwing(
        "BalancedGraphClassifier(class_prior=true)",
        lambda task: BalancedGraphClassifier(class_prior=task.shares),
    ),
    _of_sklearn("SVC(kernel), labels alone", _labels_alone),
    _of_sklearn("SelfTrainingClassifier(SVC)", _self_training),
    _of_sklearn("LabelPropagation()", _transduced(lambda task: LabelPropagation())),
    _of_sklearn("LabelPropagation('knn')", _transduced(lambda task: LabelPropagation("knn"))),
    _of_sklearn("LabelSpreading()", _transduced(lambda task: LabelSpreading())),
    _of_sklearn("LabelSpreading('knn')", _transduced(lambda task: LabelSpreading("knn"))),
    _of_graph_learning("laplace(W)", lambda ssl, W, task: ssl.laplace(W)),
    _of_graph_learning("poisson(W)", lambda ssl, W, task: ssl.poisson(W)),
    _of_graph_learning(
        "poisson_mbo(W, class_priors=true)",
        lambda ssl, W, task: ssl.poisson_mbo(W, class_priors=task.shares),
    ),
)
LIBRARIES = tuple(dict.fromkeys(contender.library for contender in CONTENDERS))
