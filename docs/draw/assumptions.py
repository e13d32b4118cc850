"""Three kinds of data and three methods: who is right depends on what classes are."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_blobs, make_moons

from lapwing import S3VC, LapSVC
from lapwing.datasets import mask_labels
from lapwing.exceptions import LapwingWarning
from lapwing.plotting import DecisionMapDisplay


def clusters() -> tuple[np.ndarray, np.ndarray]:
    """Two tall clouds that touch: few points lie between them, and neighbours there disagree."""
    centers = [[-1.8, 0.0], [1.8, 0.0]]
    X, truth = make_blobs([170, 170], centers=centers, random_state=4)
    return X * [1.0, 2.2], truth


def sheets() -> tuple[np.ndarray, np.ndarray]:
    return make_moons(340, noise=0.06, random_state=7)


def neither() -> tuple[np.ndarray, np.ndarray]:
    """One cloud: where the classes meet says nothing about how dense the points are."""
    X = np.random.default_rng(3).uniform(-1, 1, size=(340, 2))
    return X, (X[:, 0] + 0.6 * X[:, 1] > 0.15).astype(int)


DATA = {"Clusters": clusters, "Sheets": sheets, "Neither": neither}
DRAWS = 12
METHODS = {
    "SVM": lambda: LapSVC(gamma_I=0, gamma_A=0.05),
    "S3VC": lambda: S3VC(random_state=0),
    "LapSVC": lambda: LapSVC(),
}


def draw(ink: str) -> Figure:
    figure = Figure(figsize=(9.6, 9.0), layout="constrained")
    grid = figure.subplots(3, 3)
    for column, (kind, make) in enumerate(DATA.items()):
        X, truth = make()
        for row, name in enumerate(METHODS):
            first, wrong = fitted(name, kind)
            axes = grid[row, column]
            y = mask_labels(truth, 2, random_state=0)
            DecisionMapDisplay.from_estimator(first, X, y, ax=axes, legend=False, resolution=120)
            axes.set(xticks=[], yticks=[], xlabel="", ylabel="")
            axes.set_title(f"{name}: {wrong:.0%} wrong", loc="left", color=ink, fontsize=12)
            if row == 0:
                axes.annotate(kind, (0.5, 1.16), xycoords="axes fraction", ha="center",
                              fontsize=15, fontweight="bold", color=ink)  # fmt: skip
    return figure


@cache  # one computation for both grounds
def fitted(method: str, kind: str) -> tuple[Any, float]:
    """The fit to the first draw of two labels per class, and the mean error of all draws."""
    X, truth = DATA[kind]()
    models, errors = [], []
    for seed in range(DRAWS):
        y = mask_labels(truth, 2, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LapwingWarning)
            models.append(METHODS[method]().fit(X, y))
        errors.append(np.mean((models[-1].transduction_ != truth)[y == -1]))
    return models[0], float(np.mean(errors))
