"""Three arcs of different size with one label each, classified by two methods."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from lapwing import BalancedGraphClassifier
from lapwing.plotting import PALETTE

SIZES = (240, 120, 120)


def draw(ink: str) -> Figure:
    X, truth, y = arcs()
    models = {
        "Poisson learning": BalancedGraphClassifier(method="poisson"),
        "Minimum cut, sizes unknown": BalancedGraphClassifier(),
    }
    figure = Figure(figsize=(10.4, 4.4), layout="constrained")
    for axes, (name, model) in zip(figure.subplots(1, 2), models.items(), strict=True):
        answer = model.fit(X, y).transduction_
        wrong = np.mean(answer[y == -1] != truth[y == -1])
        axes.scatter(*X.T, c=[PALETTE[k] for k in answer], s=9)
        axes.scatter(*X[y >= 0].T, c=[PALETTE[k] for k in y[y >= 0]], s=110, marker="*",
                     edgecolors=ink, linewidths=1)  # fmt: skip
        axes.set_title(f"{name}: {wrong:.0%} wrong", loc="left", color=ink)
        axes.set(xticks=[], yticks=[], aspect="equal")
    return figure


def arcs():
    rng = np.random.default_rng(3)
    truth = np.repeat(np.arange(3), SIZES)
    angle = rng.uniform(0.1, 0.9, len(truth)) * np.pi
    radius = 1 + 0.55 * truth + 0.07 * rng.standard_normal(len(truth))
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    y = np.full(len(truth), -1)
    for k in range(3):
        mine = np.flatnonzero(truth == k)
        y[mine[angle[mine].argmin() if k % 2 else angle[mine].argmax()]] = k
    return X, truth, y
