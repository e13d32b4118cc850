"""Fits whose reports the tests look at."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import KNNGraph, LapSVC, LapSVR
from lapwing._app.choosing import MethodChoice
from lapwing._app.fitting import Outcome, origin_of, trust_rows
from lapwing._app.methods import find_method
from lapwing._app.requests import FitRequest
from lapwing._report.record import FittedTwin
from lapwing._tables.encoders import Features
from lapwing._tables.predictions import Predictions
from lapwing._tables.tables import Table
from lapwing.problem import distinct_rows
from tests.helpers.data import first_labels

EVIL = "<script>document.title='pwned'</script>"
QUOTES = "\"'><img src=x onerror=alert(1)> &amp; ünï ☃ \u202eabc"


def asked(fit: Outcome, **origin: Any) -> Outcome:
    """The same fit with another request: the name of its truth, its command, its map."""
    return replace(fit, origin=replace(fit.origin, **origin))


def outcome(
    X: Any,
    y: Any,
    estimator: Any,
    *,
    unlabeled: Any = -1,
    ids: Any = None,
    names: Any = None,
    twin: bool = True,
    **table: Any,
) -> Outcome:
    """Fit a standardised pipeline and describe it as the command line does."""
    y = np.asarray(y)
    labeled = ~np.isnan(y) if unlabeled != unlabeled else y != unlabeled
    ids = np.arange(1, len(y) + 1) if ids is None else np.asarray(ids)
    names = tuple(names or (f"x{j}" for j in range(X.shape[1])))
    rows = Table(Features(X, names), ids, y, labeled, unlabeled, **table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scaler = StandardScaler(with_mean=isinstance(X, np.ndarray)).fit(X)
        points = scaler.transform(X)
        estimator.fit(points, y)
        other = None
        if twin:
            alone = clone(estimator).set_params(gamma_I=0.0).fit(points, y)
            other = FittedTwin(alone, alone.transduction_)
    if hasattr(estimator, "classes_"):
        scores = estimator.decision_function(points)
        scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        best = estimator.classes_[scores.argmax(axis=1)]
        predictions = Predictions(ids, best, labeled, estimator.classes_, scores)
    else:
        predictions = Predictions(ids, estimator.predict(points), labeled)
    pipeline = Pipeline([("scale", scaler), ("estimator", estimator)])
    predictions, trust = trust_rows(estimator, predictions)
    chosen = MethodChoice(find_method(type(estimator).__name__), estimator)
    request = FitRequest(data=(Path("cases.csv"),), label="y", method=chosen.method.name)
    vertex = distinct_rows(points)[1]
    if estimator.get_params().get("graph") is not None and vertex.max() + 1 < len(y):
        vertex = vertex if isinstance(estimator.graph, KNNGraph) else np.arange(len(y))
    return Outcome(
        method=chosen.method.facts(estimator),
        origin=origin_of(request, chosen, points),
        table=rows,
        pipeline=pipeline,
        points=points,
        vertex=vertex,
        predictions=predictions,
        scaling="as requested",
        twin=other,
        trust=trust,
        request=request,
    )


def moons(n: int = 120, per_class: int = 3, **options: Any) -> tuple[Outcome, Any]:
    """Two moons with a few labels, and the truth as text."""
    X, truth = make_moons(n, noise=0.08, random_state=0)
    names = np.array(["lower", "upper"], dtype=object)[truth]
    y = first_labels(names, per_class, unlabeled="")
    return outcome(X, y, LapSVC(unlabeled=""), unlabeled="", **options), names


def hostile() -> tuple[Outcome, Any]:
    """Classes, ids, columns and files with names that are markup, quotes and other scripts."""
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [4, 0], [0, 4]], 20, 0)
    classes = np.array([EVIL, QUOTES, "ordinary"], dtype=object)
    truth = np.repeat(classes, 20)
    y = np.full(60, "", dtype=object)
    y[[0, 1, 20, 21, 40]] = truth[[0, 1, 20, 21, 40]]
    ids = np.array([f"{EVIL}{i}\x00\udcff" for i in range(60)], dtype=object)
    fit = outcome(
        X, y, LapSVC(unlabeled=""), unlabeled="", ids=ids, names=(EVIL, QUOTES), source=EVIL
    )
    return fit, truth


def curve(n: int = 150) -> tuple[Outcome, Any]:
    """A sine over one direction of two, every sixth value known."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-3, 3, size=(n, 2))
    truth = np.sin(X[:, 0])
    y = np.where(np.arange(n) % 6 == 0, truth, np.nan)
    return outcome(X, y, LapSVR(gamma_I=1e-3), unlabeled=float("nan")), truth
