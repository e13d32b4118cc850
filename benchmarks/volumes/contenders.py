"""Methods that classify all points of a set for many draws of labels, on shared graphs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from benchmarks.shared.measuring import quiet
from lapwing import AffinityGraph, BalancedGraphClassifier, KNNGraph, LapERLSClassifier, LapSVC
from lapwing.classes.decoding import predict_codes
from lapwing.classes.volumes import prior_offsets
from lapwing.estimators.template import prepare
from lapwing.graphs.diffusion import Diffusion
from lapwing.objectives.volumes import volume_problem
from lapwing.solvers.graph.refine import refine
from lapwing.solvers.graph.registry import PARTITIONS

_SPREADING = "LabelSpreading"
_LABELS_ALONE = "SVM"
METHODS = (_LABELS_ALONE, _SPREADING, *PARTITIONS, "LapERLS", "LapSVC")
_MOST_OF_A_KERNEL_MATRIX = 10_000  # points: two matrices of 0.8 GB
_C = 10.0  # C of the supervised SVM
_ALPHA, _MOST_STEPS = 0.99, 1000  # of LabelSpreading


class Answer(NamedTuple):
    """Classes of all points, with the time of the part of the fit that depends on labels.

    Attributes
    ----------
    codes : ndarray of int of shape (n,)
    seconds : float
    cut : float
        Weight of the edges between classes; NaN if it was not computed.
    """

    codes: NDArray[np.int64]
    seconds: float
    cut: float = float("nan")


class Graphs:
    """Points of a set with their graphs."""

    def __init__(self, X: Any) -> None:
        self.X = X

    @cached_property
    def balanced(self) -> AffinityGraph:
        """Graph of `BalancedGraphClassifier()`."""
        return AffinityGraph(KNNGraph(10, weights="steep").affinity(self.X), power=1)

    @cached_property
    def spread(self) -> Any:
        """Affinity of that graph, for `LabelSpreading`."""
        return self.balanced.affinity()

    @cached_property
    def usual(self) -> AffinityGraph:
        """Graph of the other classifiers."""
        return AffinityGraph(KNNGraph(5).affinity(self.X), power=2)


class Contender(NamedTuple):
    """Method on the points of a set.

    Attributes
    ----------
    name : str
    answer : function (y, prior) -> Answer
        Classifies the points for a draw of labels; the prior is None if the volumes are unknown.
    priors : tuple of str
        Kinds of priors that the method can use.
    """

    name: str
    answer: Callable[[NDArray[np.int64], Any], Answer]
    priors: tuple[str, ...] = ("known", "unknown", "wrong")


def _labels_alone(graphs: Graphs, y: NDArray[np.int64], prior: None) -> Answer:
    """Classify by scikit-learn's SVC on the labelled points."""
    begun, labeled = time.process_time(), y >= 0
    model = SVC(C=_C).fit(graphs.X[labeled], y[labeled])
    return Answer(np.asarray(model.predict(graphs.X)), time.process_time() - begun)


def _spreading(graphs: Graphs, y: NDArray[np.int64], prior: None) -> Answer:
    """Classify by scikit-learn's LabelSpreading on the graph of the balanced methods.

    alpha is that of its paper (D. Zhou et al., "Learning with local and global consistency", 2004):
    with scikit-learn's defaults, 0.2 and 30 iterations, labels hardly spread beyond neighbours.
    """
    W = graphs.spread
    begun = time.process_time()
    # LabelSpreading uses only the number of rows of X, as the kernel ignores the points.
    rows = np.arange(len(y), dtype=np.float64)[:, None]
    model = LabelSpreading(kernel=lambda a, b: W, alpha=_ALPHA, max_iter=_MOST_STEPS)
    with warnings.catch_warnings(action="ignore"):  # of iterations, and of empty components
        model.fit(rows, y)
    return Answer(np.asarray(model.transduction_), time.process_time() - begun)


class Fitted:
    """Estimator of the library, prepared once for all draws of labels."""

    def __init__(self, name: str, estimator: Any, graphs: Graphs, y: NDArray[np.int64]) -> None:
        self.name = name
        self.estimator = estimator
        with quiet():
            self.prepared = prepare(estimator, graphs.X, y)
            self._refits = estimator._refits(self.prepared)
        self._answers: dict[tuple[bytes, bytes], Answer] = {}

    def sharing(self, name: str, **params: Any) -> Fitted:
        """Return a method with other parameters that uses the same prepared data."""
        other = object.__new__(Fitted)
        other.name = name
        other.estimator = clone(self.estimator).set_params(**params)
        other.prepared, other._refits = self.prepared, self._refits
        other._answers = {}
        return other

    def answer(self, y: NDArray[np.int64], prior: Any) -> Answer:
        # Stored, as the refined method starts from the same partition.
        asked = (y.tobytes(), b"" if prior is None else np.asarray(prior).tobytes())
        if asked not in self._answers:
            self._answers[asked] = self._answer(y, prior)
        return self._answers[asked]

    def _answer(self, y: NDArray[np.int64], prior: Any) -> Answer:
        unknown = "unknown" if isinstance(self.estimator, BalancedGraphClassifier) else None
        estimator = clone(self.estimator).set_params(
            class_prior=unknown if prior is None else prior
        )
        targets = estimator._read_targets(y)
        prepared = self.prepared.relabeled(targets)
        begun = time.process_time()
        with quiet():
            refits = replace(self._refits, estimator=estimator).covering(prepared.problem.index)
            values = replace(refits, prepared=prepared).values(prepared)
            known = targets.class_prior
            if known is not None:
                values = values + prior_offsets(values, known).offsets
        codes = predict_codes(values)[prepared.problem.vertex]
        return Answer(codes, time.process_time() - begun)


def _refined(begun: Fitted, y: NDArray[np.int64], prior: Any) -> Answer:
    """Refine the partition of a method on the graph of that method."""
    first = begun.answer(y, prior)
    n_classes = int(y.max()) + 1
    counts = np.bincount(first.codes, minlength=n_classes) if prior is None else prior
    problem = begun.prepared.relabeled(begun.estimator._read_targets(y)).problem
    start = time.process_time()
    parts = np.asarray(counts, dtype=np.float64)
    volumes = volume_problem(
        problem, Diffusion.of(begun.prepared.laplacian), parts / parts.sum(), exact=True
    )
    found = refine(volumes, np.eye(n_classes)[first.codes[problem.rows]])
    seconds = first.seconds + time.process_time() - start
    return Answer(found.codes[problem.vertex], seconds, found.objective)


def contenders(graphs: Graphs, y: NDArray[np.int64], methods: Sequence[str]) -> Iterator[Contender]:
    """Yield the methods one after the other, each prepared for draws of labels.

    Parameters
    ----------
    graphs : Graphs
    y : ndarray of int of shape (n,)
        Labels of the first draw.
    methods : sequence of str
        Names in `METHODS`.
    """
    for name, answer in ((_LABELS_ALONE, _labels_alone), (_SPREADING, _spreading)):
        if name in methods:
            yield Contender(name, partial(answer, graphs), ("unknown",))
    partitions = [method for method in PARTITIONS if method in methods]
    if partitions:
        estimator = BalancedGraphClassifier(graphs.balanced, kernel="linear", n_votes=0)
        base = Fitted("balanced", estimator, graphs, y)
        for method in partitions:
            yield from _both(base.sharing(method, method=method))
    if "LapERLS" in methods:
        yield from _both(Fitted("LapERLS", LapERLSClassifier(graph=graphs.usual), graphs, y))
    if "LapSVC" in methods and len(y) <= _MOST_OF_A_KERNEL_MATRIX:
        yield from _both(Fitted("LapSVC", LapSVC(graph=graphs.usual), graphs, y))


def _both(fitted: Fitted) -> tuple[Contender, Contender]:
    refined = Contender(f"{fitted.name} + refine", partial(_refined, fitted))
    return Contender(fitted.name, fitted.answer), refined


def unseen(
    graphs: Graphs, y: NDArray[np.int64], prior: Any, new: Any, methods: Sequence[str]
) -> Iterator[tuple[str, NDArray[np.int64], float]]:
    """Yield names, classes of new points, and times of fit and `predict` without the graph."""
    given = "unknown" if prior is None else prior
    models: dict[str, Any] = {
        method: BalancedGraphClassifier(graphs.balanced, method=method, class_prior=given)
        for method in PARTITIONS
        if method in methods
    }
    lap = {"LapERLS": None, "LapERLS + refine": "cut"}
    models |= {
        name: LapERLSClassifier(graph=graphs.usual, class_prior=prior, refine=refinement)
        for name, refinement in lap.items()
        if "LapERLS" in methods
    }
    for name, model in models.items():
        begun = time.process_time()
        with quiet():
            codes = model.fit(graphs.X, y).predict(new)
        yield name, codes, time.process_time() - begun
