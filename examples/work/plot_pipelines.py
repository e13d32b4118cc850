"""
Pipelines and searches
======================

A real table: 178 wines, 13 chemical figures of very different size
(:func:`sklearn.datasets.load_wine`). The cultivar is known of five wines of each. lapwing's
estimators go into scikit-learn's pipelines and searches; two things are different, and both are
about rows without a label.
"""

# %%
# First: preprocessing sees all rows
# ----------------------------------
# ``y`` holds -1 where there is no label, and all rows go into ``fit``. So the scaler learns from
# all rows too. That is right, for it asks for no labels.

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

# With few neighbours some wines hang together with no labelled one. The search judges that.
warnings.simplefilter("ignore", UnlabeledComponentWarning)

X, truth = load_wine(return_X_y=True)
y = mask_labels(truth, 5, random_state=1)
hidden = y == -1

pipeline = make_pipeline(StandardScaler(), LapSVC(graph=KNNGraph(5)))
raw = LapSVC(graph=KNNGraph(5)).fit(X, y)
scaled = pipeline.fit(X, y)
errors = {
    "figures as they are": np.mean(raw.predict(X)[hidden] != truth[hidden]),
    "figures standardised": np.mean(scaled.predict(X)[hidden] != truth[hidden]),
}
for name, error in errors.items():
    print(f"{name:21} wrong: {error:.1%}")

# %%
# Second: hold out labels, and nothing else
# -----------------------------------------
# A fold of scikit-learn's takes rows without a label to the test side, and they would all count as
# wrong. :class:`lapwing.model_selection.LabeledStratifiedKFold` holds out labelled rows only, and
# leaves all others in the training side. Parameters of the graph have a name as any other:
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
# What fifteen labels can say
# ---------------------------
# On the left what the search sees, on the right the truth. Many settings look alike to fifteen
# labels: take the search as a guard against bad settings, and not as a guide to the very best.

seen = search.cv_results_["mean_test_score"].reshape(4, 4)  # a row a gamma_I, a column a graph
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
