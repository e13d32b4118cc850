"""How the error falls with labels: 1000 handwritten digits, three draws of the labels."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from lapwing import BalancedGraphClassifier, LapSVC
from lapwing.datasets import mask_labels
from lapwing.exceptions import LapwingWarning
from lapwing.plotting import PALETTE

LABELS = (1, 3, 10, 50)
DRAWS = 3


@cache  # one computation for both grounds
def errors() -> dict[str, np.ndarray]:
    """Share of wrong answers on the rows without a label, (labels, draws)."""
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:1000], truth[:1000]
    found: dict[str, list[list[float]]] = {"SVC": [], "LapSVC": [], "BalancedGraphClassifier": []}
    for n in LABELS:
        rows = {name: [] for name in found}
        for seed in range(DRAWS):
            y = mask_labels(truth, n, random_state=seed)
            rest = y == -1
            svm = SVC(C=10).fit(X[~rest], y[~rest]).predict(X)
            answers = {"SVC": svm, "LapSVC": LapSVC().fit(X, y).transduction_}
            flow = BalancedGraphClassifier(class_prior="uniform")
            answers["BalancedGraphClassifier"] = flow.fit(X, y).transduction_
            for name, answer in answers.items():
                rows[name].append(np.mean((answer != truth)[rest]))
        for name, values in rows.items():
            found[name].append(values)
    return {name: np.array(values) for name, values in found.items()}


def draw(ink: str) -> Figure:
    figure = Figure(figsize=(8.0, 3.9), layout="constrained")
    axes = figure.add_subplot()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LapwingWarning)
        found = errors()
    names = {"SVC": "SVC, the labels alone", "LapSVC": "LapSVC",
             "BalancedGraphClassifier": "BalancedGraphClassifier('uniform')"}  # fmt: skip
    for k, (name, values) in enumerate(found.items()):
        middle = 100 * values.mean(axis=1)
        spread = [middle - 100 * values.min(axis=1), 100 * values.max(axis=1) - middle]
        axes.errorbar(LABELS, middle, spread, color=PALETTE[(3, 0, 1)[k]], marker="os^"[k],
                      linewidth=2, capsize=3, label=names[name])  # fmt: skip
    axes.set(xscale="log", xlabel="labels per class", ylabel="wrong, %", ylim=(0, None))
    axes.set_xticks(LABELS, [str(n) for n in LABELS])
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=ink, alpha=0.15)
    axes.legend(frameon=False)
    return figure
