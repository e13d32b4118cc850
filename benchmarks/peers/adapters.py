"""Methods of the comparison: estimators of lapwing and scikit-learn, and GraphLearning.

Each predicts the classes of all points from some labels. All have default parameters, except for
kernels, which are linear if points are sparse or have more features than there are points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import softmax
from sklearn.neighbors import NearestNeighbors
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from benchmarks.shared.labels import UNLABELED, Codes, with_labels
from lapwing import (
    S3VC,
    BalancedGraphClassifier,
    LapERLSClassifier,
    LapRLSClassifier,
    LapSVC,
)

N_NEIGHBORS = 10  # of GraphLearning's graph, as in its examples
ROUNDS = 10  # of self-training


@dataclass(frozen=True)
class Task:
    """Points, with labels of some of them.

    Attributes
    ----------
    X : ndarray or sparse of shape (n, n_features)
    y : ndarray of int64 of shape (n,)
        Codes 0, 1, ..., and `UNLABELED`.
    shares : ndarray of shape (n_classes,)
        True class proportions, for methods that require them.
    """

    X: Any
    y: Codes
    shares: NDArray[np.float64]

    @property
    def kernel(self) -> str:
        """'linear' or 'rbf'."""
        n, n_features = self.X.shape
        return "linear" if issparse(self.X) or n_features > n else "rbf"

    @classmethod
    def drawn(cls, X: Any, truth: Codes, labels: int, rng: np.random.Generator) -> Task:
        """Draw a number of labels per class."""
        counts = np.bincount(truth)
        return cls(X, with_labels(truth, labels, rng), counts / counts.sum())

    @cached_property
    def known(self) -> Codes:
        """Rows with a label."""
        return np.flatnonzero(self.y != UNLABELED)


class MarginSVC(SVC):
    """SVC with probabilities in the order of decision values, for self-training."""

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        values = self.decision_function(X)
        columns = np.column_stack([-values, values]) if values.ndim == 1 else values
        return np.asarray(softmax(columns, axis=1))


def _labels_alone(task: Task) -> Codes:
    model = SVC(kernel=task.kernel).fit(task.X[task.known], task.y[task.known])
    return np.asarray(model.predict(task.X))


def _self_training(task: Task) -> Codes:
    # With a threshold no point would be labelled, as all are within the margin.
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

        # Exact neighbours, as the search of the library is approximate and needs another package.
        nearest = NearestNeighbors(n_neighbors=N_NEIGHBORS + 1).fit(task.X)
        distances, indices = nearest.kneighbors(task.X)
        W = graphlearning.weightmatrix.knn(None, N_NEIGHBORS, knn_data=(indices, distances))
        model = make(graphlearning.ssl, W, task)
        return np.asarray(model.fit_predict(task.known, task.y[task.known])).astype(np.int64)

    return answer


class Contender(NamedTuple):
    """Method of the comparison.

    Attributes
    ----------
    library, name : str
    answer : function
        Function that predicts the classes of all points of a task.
    n_classes : int or None
        Maximum number of classes for which it is run.
    packages : tuple of str
        Packages that it requires.
    """

    library: str
    name: str
    answer: Callable[[Task], Codes]
    n_classes: int | None = None
    packages: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.library} {self.name}"


def _of_lapwing(name: str, make: Callable[[Task], Any], n_classes: int | None = None) -> Contender:
    return Contender("lapwing", name, _transduced(make), n_classes)


def _of_sklearn(name: str, answer: Callable[[Task], Codes]) -> Contender:
    return Contender("scikit-learn", name, answer)


def _of_graph_learning(name: str, make: Callable[[Any, Any, Task], Any]) -> Contender:
    return Contender("GraphLearning", name, _graph_learning(make), packages=("graphlearning",))


CONTENDERS = (
    _of_lapwing("LapSVC()", lambda task: LapSVC()),
    _of_lapwing("LapRLSClassifier()", lambda task: LapRLSClassifier()),
    _of_lapwing("LapERLSClassifier()", lambda task: LapERLSClassifier()),
    # One machine per pair of classes, which takes minutes with twenty classes.
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
