"""
Class volumes: one label a class
================================

With one label a class, labels spread over a graph until they meet. Where they meet is chance: some
classes get too much and others too little. If you know how large the classes are, say so.
:class:`lapwing.BalancedGraphClassifier` holds the sizes, and cuts few edges.

The data are the 1797 real images of digits, in which every digit has nearly the same share.
"""

# %%
# The same label of each digit for three methods
# ----------------------------------------------

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from lapwing import BalancedGraphClassifier, Landmarks, LapSVC
from lapwing.datasets import mask_labels
from lapwing.exceptions import LapwingWarning

warnings.simplefilter("ignore", LapwingWarning)  # one label a class: they say that this is little

X, truth = load_digits(return_X_y=True)
# The function for new images is no part of this question: a small one saves time.
small = Landmarks(200, random_state=0)
models = {
    "LapSVC": LapSVC(),
    "volumes unknown": BalancedGraphClassifier(space=small),
    "volumes known": BalancedGraphClassifier(class_prior="uniform", space=small),
}
errors, sizes = {name: [] for name in models}, {}
for draw in range(3):
    y = mask_labels(truth, 1, random_state=draw)
    hidden = y == -1
    for name, model in models.items():
        answer = model.fit(X, y).transduction_
        errors[name].append(100 * np.mean(answer[hidden] != truth[hidden]))
        if draw == 0:
            sizes[name] = np.bincount(answer, minlength=10)

for name, values in errors.items():
    print(f"{name:16} wrong: " + ", ".join(f"{value:4.1f} %" for value in values))

# %%
# How many images each digit got
# ------------------------------
# In the first draw. The line is the truth.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharey=True, layout="constrained")
for k, (ax, (name, counts)) in enumerate(zip(axes, sizes.items(), strict=True)):
    ax.bar(range(10), counts, color=f"C{k}", alpha=0.85)
    ax.step(np.arange(-0.5, 10.5), np.append(np.bincount(truth), 180), where="post", color="gray")
    ax.set_title(f"{name}: {errors[name][0]:.1f} % wrong", loc="left")
    ax.set_xticks(range(10))
axes[0].set_ylabel("images")
figure.supxlabel("digit")
plt.show()

# %%
# Sizes need not be equal: ``class_prior`` takes a share for each class. A wrong prior is met as
# well, so give it only if you know. ``edge_cut_`` says whether the graph knows the classes at all:
# 0 is no cut edge, 1 is chance.

print(f"edge_cut_ = {models['volumes known'].edge_cut_:.3f}")
