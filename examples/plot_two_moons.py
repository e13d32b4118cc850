"""
Two moons with one label each
=============================

Two half circles of 200 points, with one label each. Left: a support vector machine that is trained
on the two labels. Right: :class:`lapwing.LapSVC`, which uses all points. Neighbours get similar
answers, so each label propagates along its moon.

The points are synthetic. The picture is also in lapwing's README;
``python examples/plot_two_moons.py docs/two_moons.png`` writes it.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from lapwing import KNNGraph, LapSVC
from lapwing.plotting import decision_map


def draw(seed: int = 7) -> Figure:
    """Fit both to the same points and draw them side by side."""
    X, truth = make_moons(n_samples=400, noise=0.07, random_state=seed)
    rng = np.random.default_rng(seed)
    y = np.full(truth.shape, -1)
    for c in (0, 1):
        y[rng.choice(np.flatnonzero(truth == c))] = c

    figure, axes = plt.subplots(1, 2, figsize=(10.4, 4.6), layout="constrained")
    # The defaults separate the moons as well. With an unnormalised Laplacian, which is zero on
    # constants, and a narrower kernel, f is also smooth between and beyond the points of the plot.
    options = {"gamma": 5.0, "gamma_A": 0.01}
    graph = KNNGraph(n_neighbors=10, power=1, normalized=False)
    models = {
        "Supervised SVM": LapSVC(gamma_I=0, **options),
        "LapSVC": LapSVC(graph=graph, **options),
    }
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        model.fit(X, y)
        wrong = np.mean(model.predict(X)[y == -1] != truth[y == -1])
        print(f"{name}: {wrong:.1%} wrong")
        decision_map(model, X, y, ax=ax, title=f"{name}: {wrong:.1%} wrong", legend=False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


if __name__ == "__main__":
    figure = draw()
    plt.show()
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1], dpi=120)

# %%
# The circle and the square are the labels. The line is the decision boundary, and colours are
# paler where the answer is uncertain.
