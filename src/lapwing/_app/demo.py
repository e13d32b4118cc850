"""Demonstration: three methods on digits with three labels per class, and a picture."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from lapwing._host.modules import require
from lapwing.estimators import LapSVC
from lapwing.exceptions import UnlabeledComponentWarning
from lapwing.plotting import scatter_predictions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_UNLABELED = -1


@dataclass(frozen=True)
class DemoResult:
    """Errors of all methods, and predictions of LapSVC for the draw of labels with median error.

    Attributes
    ----------
    errors : dict of str to ndarray of shape (n_draws,)
        Error rates on the unlabelled points by method, a supervised SVM, LabelSpreading and LapSVC.
    seconds : dict of str to ndarray of shape (n_draws,)
        Times of fit and prediction.
    X, y : ndarrays of shapes (n, p) and (n,)
        The points and their true classes.
    labeled : ndarray of bool of shape (n,)
        Points whose labels the methods used.
    predicted : ndarray of shape (n,)
        Classes by LapSVC.
    margin : ndarray of shape (n,)
        Difference of the best and the second best decision value.
    """

    errors: dict[str, NDArray[np.float64]]
    seconds: dict[str, NDArray[np.float64]]
    X: NDArray[Any]
    y: NDArray[Any]
    labeled: NDArray[np.bool_]
    predicted: NDArray[Any]
    margin: NDArray[np.float64]


def run_demo(labels_per_class: int = 3, n_draws: int = 5, seed: int = 0) -> DemoResult:
    """Compare three methods on scikit-learn's bundled digits (1797 points, 10 classes).

    Parameters
    ----------
    labels_per_class : int, default=3
        Labels given for each class, from 1 to 100.
    n_draws : int, default=5
        Number of draws of labelled points; 1 or more.
    seed : int, default=0
        Seed of the draws.

    Returns
    -------
    DemoResult
        Errors on the unlabelled points, and times.
    """
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    draws = [_draw_labels(y, labels_per_class, rng) for _ in range(n_draws)]
    methods: dict[str, Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]] = {
        "supervised SVM: SVC(C=10)": _supervised,
        "LabelSpreading('knn', n_neighbors=7, alpha=0.8)": _spreading,
        "LapSVC()": lambda X, labels: np.asarray(_fit_lapsvc(X, labels).transduction_),
    }
    errors, seconds = ({name: np.empty(n_draws) for name in methods} for _ in range(2))
    for name, run in methods.items():
        for i, labels in enumerate(draws):
            start = time.perf_counter()
            predicted = run(X, labels)
            seconds[name][i] = time.perf_counter() - start
            hidden = labels == _UNLABELED
            errors[name][i] = np.mean(predicted[hidden] != y[hidden])
    # For an even number of draws, the lower of the two middle ones.
    middle = np.argsort(errors["LapSVC()"], kind="stable")[(n_draws - 1) // 2]
    labels = draws[middle]
    model = _fit_lapsvc(X, labels)
    second, best = np.sort(model.decision_function(X), axis=1)[:, -2:].T
    labeled = labels != _UNLABELED
    return DemoResult(errors, seconds, X, y, labeled, model.transduction_, best - second)


def draw_demo(result: DemoResult) -> Figure:
    """Draw all points on a map by t-SNE, with LapSVC's classes, its confidence and its errors.

    Parameters
    ----------
    result : DemoResult
        Result of `run_demo`.

    Returns
    -------
    matplotlib Figure
        A figure without pyplot.
    """
    # After 500 iterations the map no longer changes visibly. One thread: t-SNE's short parallel
    # steps take five times as long, not half, as soon as anything else runs on the machine.
    with threadpool_limits(limits=1):
        layout = TSNE(init="pca", max_iter=500, random_state=0).fit_transform(result.X)
    n_labeled = np.count_nonzero(result.labeled)
    wrong = np.count_nonzero((result.predicted != result.y) & ~result.labeled)
    # Without pyplot: the picture is for a file, and no window may open.
    module = require("matplotlib.figure", extra="plot", purpose="The picture of the demonstration")
    figure: Figure = module.Figure(figsize=(7.2, 6.0), layout="constrained")
    scatter_predictions(
        layout,
        result.predicted,
        ax=figure.add_subplot(),
        confidence=result.margin,
        labeled=result.labeled,
        truth=result.y,
        title=f"{result.y.size} handwritten digits, {n_labeled} labelled: "
        f"LapSVC is wrong on {wrong} ({wrong / (result.y.size - n_labeled):.1%})",
    )
    return figure


def _draw_labels(y: NDArray[Any], per_class: int, rng: np.random.Generator) -> NDArray[Any]:
    labels = np.full_like(y, _UNLABELED)
    for c in np.unique(y):
        chosen = rng.choice(np.flatnonzero(y == c), size=per_class, replace=False)
        labels[chosen] = c
    return labels


def _supervised(X: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    known = labels != _UNLABELED
    predicted: NDArray[Any] = SVC(C=10).fit(X[known], labels[known]).predict(X)
    return predicted


def _spreading(X: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    # The best of n_neighbors in {5, 7, 10} and alpha in {0.2, 0.8, 0.99} on these data; the error
    # with its defaults (7, 0.2) is a third higher. It needs more than 30 iterations. Pixels are
    # integers, so that many distances are tied, and the neighbours that scikit-learn selects
    # depend on the number of threads (n_neighbors=5: 10.4 % with one, 9.1 % with two).
    with threadpool_limits(limits=1):
        model = LabelSpreading(kernel="knn", n_neighbors=7, alpha=0.8, max_iter=300)
        model.fit(X, labels)
    predicted: NDArray[Any] = model.transduction_
    return predicted


def _fit_lapsvc(X: NDArray[Any], labels: NDArray[Any]) -> LapSVC:
    with warnings.catch_warnings():
        # 27 digits (a way to write 1) form a component of the graph, often without a label. They
        # count as errors.
        warnings.simplefilter("ignore", UnlabeledComponentWarning)
        model = LapSVC()
        model.fit(X, labels)
    return model
