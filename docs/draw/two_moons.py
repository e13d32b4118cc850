"""Two moons with one label each: what the rows without a label are worth."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from lapwing import KNNGraph, LapSVC
from lapwing.plotting import DecisionMapDisplay


def draw(ink: str) -> Figure:
    X, truth = make_moons(n_samples=400, noise=0.07, random_state=7)
    rng = np.random.default_rng(7)
    y = np.full(truth.shape, -1)
    for c in (0, 1):
        y[rng.choice(np.flatnonzero(truth == c))] = c
    # As in the example of the gallery: with the plain Laplacian f is calm between the points too.
    options = {"gamma": 5.0, "gamma_A": 0.01}
    graph = KNNGraph(n_neighbors=10, power=1, normalized=False)
    models = {
        "An SVM that sees the two labels": LapSVC(gamma_I=0, **options),
        "LapSVC, which sees all points": LapSVC(graph=graph, **options),
    }
    figure = Figure(figsize=(10.4, 4.4), layout="constrained")
    for axes, (name, model) in zip(figure.subplots(1, 2), models.items(), strict=True):
        model.fit(X, y)
        wrong = np.mean(model.predict(X)[y == -1] != truth[y == -1])
        DecisionMapDisplay.from_estimator(model, X, y, ax=axes, legend=False)
        axes.set_title(f"{name}: {wrong:.0%} wrong", loc="left", color=ink)
        axes.set(xticks=[], yticks=[], xlabel="", ylabel="")
    return figure
