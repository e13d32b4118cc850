"""
Pipelines and searches
======================

The data are 178 wines with 13 chemical measurements of very different scale
(:func:`sklearn.datasets.load_wine`, real data). The cultivar is known for five wines of each kind.
lapwing's estimators can be used in scikit-learn's pipelines and searches. Two things are different,
because some rows have no label.
"""

# %%
# First: preprocessing sees all rows
# ----------------------------------
# ``y`` is -1 where there is no label, and all rows are passed to ``fit``. So the scaler uses all
# rows, too. This is right, because it needs no labels.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import KNNGraph, LapSVC
from lapwing.datasets import mask_labels
from lapwing.exceptions import UnlabeledComponentWarning
from lapwing.model_selection import LabeledStratifiedKFold

# With few neighbours some components of the graph have no label. The search takes care of this.
warnings.simplefilter("ignore", UnlabeledComponentWarning)

X, truth = load_wine(return_X_y=True)
y = mask_labels(truth, 5, random_state=1)
hidden = y == -1

pipeline = make_pipeline(StandardScaler(), LapSVC(graph=KNNGraph(5)))
raw = LapSVC(graph=KNNGraph(5)).fit(X, y)
scaled = pipeline.fit(X, y)
errors = {
    "unscaled features": np.mean(raw.predict(X)[hidden] != truth[hidden]),
    "standardised features": np.mean(scaled.predict(X)[hidden] != truth[hidden]),
}
for name, error in errors.items():
    print(f"{name:21} wrong: {error:.1%}")

# %%
# Second: hold out labels only
# ----------------------------
# scikit-learn's splitters put rows without a label into test sets, where they would all count as
# errors. :class:`lapwing.model_selection.LabeledStratifiedKFold` holds out labelled rows only, and
# keeps all others in the training sets. The parameters of the graph can be searched as well:
# ``lapsvc__graph__n_neighbors``.

grid = {
    "lapsvc__graph__n_neighbors": [2, 5, 10, 20],
    "lapsvc__gamma_I": [0, 0.001, 0.1, 10],
}
search = GridSearchCV(pipeline, grid, cv=LabeledStratifiedKFold(5)).fit(X, y)
print("chosen:", {name.rpartition("__")[2]: value for name, value in search.best_params_.items()})
print(f"right on held-out labels: {search.best_score_:.1%}")
print(f"right on rows without a label: {np.mean(search.predict(X)[hidden] == truth[hidden]):.1%}")

# %%
# How much fifteen labels show
# ----------------------------
# On the left the scores of the search, on the right the true ones. With fifteen labels many
# settings have the same score: the search avoids bad settings, but cannot find the very best one.

seen = search.cv_results_["mean_test_score"].reshape(4, 4)  # a row per gamma_I, a column per graph
real = np.array(
    [
        np.mean(pipeline.set_params(**setting).fit(X, y).predict(X)[hidden] == truth[hidden])
        for setting in search.cv_results_["params"]
    ]
).reshape(4, 4)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
views = {"held-out labels": seen, "rows without a label": real}
least = min(seen.min(), real.min())
for ax, (name, shares) in zip(axes, views.items(), strict=True):
    ax.imshow(shares, cmap="viridis", vmin=least, vmax=1)
    for (row, column), share in np.ndenumerate(shares):
        ink = "white" if share < (least + 1) / 2 else "black"
        ax.text(column, row, f"{share:.0%}", ha="center", va="center", color=ink)
    ax.set_title(f"right on {name}", loc="left")
    ax.set_xticks(range(4), grid["lapsvc__graph__n_neighbors"])
    ax.set_yticks(range(4), grid["lapsvc__gamma_I"])
    ax.set(xlabel="n_neighbors", ylabel="gamma_I")
plt.show()
