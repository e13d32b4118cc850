"""What is compared: classes of all documents from the labels of some.

All have the parameters that they come with, but for linear kernels.
Self-training is of logistic regression, with the threshold that it comes with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import LinearSVC

from benchmarks.shared.labels import UNLABELED
from lapwing import (
    S3VC,
    BalancedGraphClassifier,
    FewLabelClassifier,
    LapERLSClassifier,
    LapSVC,
)

Codes = NDArray[np.int64]
COMPONENTS = 150


class Reduced(NamedTuple):
    """Documents in few components, and the seconds that they took."""

    X: NDArray[np.float64]
    seconds: float


@dataclass(frozen=True, eq=False)
class Ground:
    """Documents of a set, as words and in components.

    Attributes
    ----------
    X : sparse of shape (n_documents, n_terms)
    """

    X: Any

    @cached_property
    def reduced(self) -> Reduced:
        """Components; they do not depend on labels, and are computed once a set."""
        begun = time.perf_counter()
        svd = TruncatedSVD(min(COMPONENTS, min(self.X.shape) - 1), random_state=0)
        X = np.asarray(svd.fit_transform(self.X))
        return Reduced(X, time.perf_counter() - begun)


def _labels_alone(make: Callable[[], Any]) -> Callable[[Any, Codes], Codes]:
    def answer(X: Any, y: Codes) -> Codes:
        known = y != UNLABELED
        return np.asarray(make().fit(X[known], y[known]).predict(X))

    return answer


def _by_threshold(X: Any, y: Codes) -> Codes:
    model = SelfTrainingClassifier(LogisticRegression())
    return np.asarray(model.fit(X, y).predict(X))


def _transduced(make: Callable[[], Any]) -> Callable[[Any, Codes], Codes]:
    return lambda X, y: np.asarray(make().fit(X, y).transduction_)


def _of_unit_length(make: Callable[[], Any]) -> Callable[[Any, Codes], Codes]:
    return lambda X, y: _transduced(make)(normalize(X), y)


class Contender(NamedTuple):
    """A method.

    Attributes
    ----------
    answer : function
        Classes of all documents from points and labels.
    reduced : bool
        Whether the points are components rather than words.
    """

    answer: Callable[[Any, Codes], Codes]
    reduced: bool = False


CONTENDERS: Mapping[str, Contender] = {
    "LogisticRegression on the labels": Contender(_labels_alone(LogisticRegression)),
    "LinearSVC on the labels": Contender(_labels_alone(LinearSVC)),
    "SelfTrainingClassifier()": Contender(_by_threshold),
    "S3VC('linear')": Contender(_transduced(lambda: S3VC("linear"))),
    "LapSVC('linear')": Contender(_transduced(lambda: LapSVC("linear"))),
    "LapERLSClassifier()": Contender(_transduced(LapERLSClassifier)),
    "BalancedGraphClassifier()": Contender(_transduced(BalancedGraphClassifier)),
    "SVD + LapSVC()": Contender(_transduced(LapSVC), reduced=True),
    "SVD + Normalizer + LapSVC()": Contender(_of_unit_length(LapSVC), reduced=True),
    "SVD + LapERLSClassifier()": Contender(_transduced(LapERLSClassifier), reduced=True),
    "SVD + Normalizer + LapERLSClassifier()": Contender(
        _of_unit_length(LapERLSClassifier), reduced=True
    ),
    "FewLabelClassifier()": Contender(_transduced(FewLabelClassifier)),
}
