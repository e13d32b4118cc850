"""
Class volumes: one label per class
==================================

With one label per class, labels propagate over a graph until they meet. Where they meet depends on
chance: some classes get too many rows and others too few. If you know how large the classes are,
pass their sizes. :class:`lapwing.BalancedGraphClassifier` enforces them, and cuts few edges.

The data are the 1797 images of digits (real data), in which all digits are about equally frequent.
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

warnings.simplefilter("ignore", LapwingWarning)  # they say that one label per class is little

X, truth = load_digits(return_X_y=True)
# The function for new images is not used here: a small one saves time.
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
# For the first draw. The line shows the true numbers.

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
# The sizes need not be equal: ``class_prior`` takes a proportion for each class. A wrong prior is
# enforced as well, so pass it only if you know it. ``edge_cut_`` shows whether the graph is related
# to the classes at all: 0 means that no edge is cut, 1 that as many are cut as by random classes.

print(f"edge_cut_ = {models['volumes known'].edge_cut_:.3f}")
