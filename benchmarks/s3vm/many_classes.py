"""Seconds of `S3VC` and `LapSVC` with many classes (not a table of a paper)."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.s3vm.limits import MANY_CLASSES_SECONDS
from benchmarks.s3vm.plan import Plan, UnavailableError
from benchmarks.shared.checks import Check
from benchmarks.shared.data import SETS, Data
from benchmarks.shared.labels import UNLABELED, with_labels
from benchmarks.shared.measuring import transductive_error
from benchmarks.shared.output import Results, step
from benchmarks.shared.tables import Table
from lapwing import S3VC, KNNGraph, LapSVC


class Setting(NamedTuple):
    """Set with many classes, and parameters of the estimators."""

    data: Data
    per_class: int
    kernel: str
    graph: Any


def many_classes_part(plan: Plan) -> Results:
    """Measure seconds and errors on U of one draw."""
    rows, checks, raw = [], [], {}
    for name, setting in settings_of(plan).items():
        data = setting.data
        y = with_labels(data.y, setting.per_class, plan.rng())
        estimators = {
            "S3VC": S3VC(setting.kernel, unlabeled=UNLABELED),
            "LapSVC": LapSVC(setting.kernel, graph=setting.graph, unlabeled=UNLABELED),
        }
        for title, estimator in estimators.items():
            with step(f"{name}: {title}"):
                begun = time.process_time()
                error, seconds = transductive_error(estimator, data.X, y, data.y)
                processor = time.process_time() - begun
            rows.append([name, title, f"{seconds:.1f}", f"{processor:.1f}", f"{error:.1f}"])
            raw[f"{name}, {title}"] = {"seconds": seconds, "processor": processor, "error": error}
            if title == "S3VC" and name in MANY_CLASSES_SECONDS and not plan.quick:
                limit = MANY_CLASSES_SECONDS[name]
                checks.append(Check.at_most(f"S3VC, {name}", seconds, limit, " s", digits=1))
    header = ["data", "estimator", "seconds", "processor seconds", "error on U (%)"]
    note = (
        "Default parameters, one fit. Large pairs of classes are fitted in threads. The texts "
        "are synthetic: words drawn by topic, rows of unit length."
    )
    return Results([Table("Many classes: seconds of a fit", header, rows, [note])], checks, raw)


def settings_of(plan: Plan) -> dict[str, Setting]:
    """Return the available sets."""
    cosine = KNNGraph(5, power=2, metric="cosine")
    found = {}
    with suppress(UnavailableError):
        usps = plan.load("usps", SETS["usps_full"])
        rows = np.sort(plan.rng().permutation(len(usps.y))[:6000])[:: 20 if plan.quick else 1]
        some = usps._replace(X=usps.X[rows], y=usps.y[rows])
        found["ten digits, 6000 points"] = Setting(some, 5, "rbf", None)
    if plan.wants("topics"):
        n, k = (300, 5) if plan.quick else (5000, 20)
        texts = topics(n, k, plan.rng())
        found["twenty topics, 5000 texts"] = Setting(texts, 5, "linear", cosine)
    if plan.wants("small"):
        k = 8 if plan.quick else 60
        clusters = small_classes(5 * k, k, plan.rng())
        found["sixty classes, 300 points"] = Setting(clusters, 2, "rbf", None)
    return found


def topics(n: int, k: int, rng: np.random.Generator, n_words: int = 20_000) -> Data:
    """Generate tf-idf weights of texts of about 80 words, a quarter of them from the topic."""
    common = rng.dirichlet(np.full(n_words, 0.05))
    y = np.arange(n) % k
    counts = []
    for _ in range(k):
        of_topic = 0.75 * common + 0.25 * rng.dirichlet(np.full(n_words, 0.02))
        counts.append(np.cumsum(of_topic / of_topic.sum()))
    lengths = rng.poisson(80, n) + 5
    words = [
        np.minimum(np.searchsorted(counts[c], rng.random(length)), n_words - 1)
        for c, length in zip(y, lengths, strict=True)
    ]
    rows = np.repeat(np.arange(n), lengths)
    X = sp.csr_array((np.ones(len(rows)), (rows, np.concatenate(words))), shape=(n, n_words))
    X.sum_duplicates()
    X.data = 1 + np.log(X.data)
    X.data *= 1 + np.log((1 + n) / (1 + np.bincount(X.indices, minlength=n_words)))[X.indices]
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return Data(sp.csr_array(sp.diags_array(1 / norms) @ X), y)


def small_classes(n: int, k: int, rng: np.random.Generator) -> Data:
    """Generate clusters of five points in 20 dimensions."""
    y = np.arange(n) % k
    return Data(1.5 * rng.standard_normal((k, 20))[y] + 0.7 * rng.standard_normal((n, 20)), y)
