"""Baselines of Tables III and IV: SVMs on the labels, linear LapRLS, eigenfunctions, anchors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.svm import SVC

from benchmarks.embedded.grid import WEIGHT_VALUES, paper_gamma
from benchmarks.embedded.prepared import Draw, Labels, Prepared
from benchmarks.shared.labels import error_rate
from benchmarks.shared.measuring import timed_fit
from lapwing import (
    AffinityGraph,
    AnchorGraph,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    LapRLSClassifier,
)
from lapwing.datasets import mask_labels

ANCHORS = (500, 1000, 2000)
RATIOS = (1e-2, 1e2)  # of gamma_I to gamma_A


def choose_anchors(X: Any, counts: Sequence[int] = ANCHORS) -> dict[int, Any]:
    """Compute k-means centres of a set, which do not depend on the labels."""
    return {count: AnchorGraph(count).weigh(X)[0].points for count in counts}


def run_baselines(
    points: Prepared, y: Labels, n_draws: int, anchors: Mapping[int, Any]
) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Compute errors on the unlabelled points of the first draws, and models of the last draw."""
    X, found, models = points.data.X, {}, {}
    draws = points.draws[:n_draws]
    for name, candidates in _candidates(points, anchors).items():
        fitted = []
        for one in draws:
            marked = mask_labels(y, labeled_indices=one.labeled)
            rates, kept = [], []
            for make in candidates:
                model = _fit(make, X, marked, one, name)
                rates.append(error_rate(y[one.validation], model.predict(X[one.validation])))
                kept.append(model)
            model = kept[int(np.argmin(rates))]
            fitted.append(error_rate(y[one.unlabeled], model.predict(X[one.unlabeled])))
            models[name] = model
        found[name] = fitted
    return found, models


def _fit(make: Callable[[], Any], X: Any, marked: Labels, one: Draw, name: str) -> Any:
    if name.startswith("svm"):
        return make().fit(X[one.labeled], marked[one.labeled])
    return timed_fit(make(), X, marked)[0]


def _candidates(
    points: Prepared, chosen: Mapping[int, Any]
) -> Mapping[str, Sequence[Callable[[], Any]]]:
    """Return the candidates for validation; few, if each is a fit to all points."""
    gamma = paper_gamma(points.data.X)
    graph = AffinityGraph(points.affinity)

    def svm(kernel: str, C: float) -> Callable[[], Any]:
        return lambda: SVC(C=C, kernel=kernel, gamma=gamma)

    def linear(ratio: float) -> Callable[[], Any]:
        return lambda: LapRLSClassifier("linear", gamma_A=1e-2, gamma_I=1e-2 * ratio, graph=graph)

    def eigenfunctions(lam: float) -> Callable[[], Any]:
        return lambda: EigenfunctionClassifier(lam=lam)

    def anchors(centres: Any) -> Callable[[], Any]:
        return lambda: AnchorGraphClassifier(AnchorGraph(anchors=centres))

    found: dict[str, Sequence[Callable[[], Any]]] = {
        "svm_linear": [svm("linear", C) for C in WEIGHT_VALUES],
        "svm": [svm("rbf", C) for C in WEIGHT_VALUES],
        "laprls_linear": [linear(ratio) for ratio in RATIOS],
        "eigenfunction": [eigenfunctions(lam) for lam in (10.0, 1000.0)],
    }
    for count, centres in chosen.items():
        found[f"anchor{count}"] = [anchors(centres)]
    return found
