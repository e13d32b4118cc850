"""
Active labelling: which row next?
=================================

You can label fifty more images. Which ones? Many of fifty random images give the same information.
``suggest`` returns the rows whose labels would help most, and ``add_labels`` updates the model
without computing graph and kernel again.

The 600 images of digits are real data. The labels that somebody would assign are taken from the
truth.
"""

# %%
# Two ways to spend fifty labels
# ------------------------------
# Both begin with the same ten labels, one of each digit, and add five at a time. There are three
# draws of the first ten labels.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from lapwing import LapSVC
from lapwing.datasets import mask_labels
from lapwing.exceptions import LapwingWarning

warnings.simplefilter("ignore", LapwingWarning)  # they say that ten labels are few

X, truth = load_digits(return_X_y=True)
X, truth = X[:600], truth[:600]


def wrong(model):
    """Error on all rows, in percent."""
    return 100 * np.mean(model.transduction_ != truth)


curves = {"suggested": [], "random": []}
first = None
for draw in range(3):
    y = mask_labels(truth, 1, random_state=draw)
    rng = np.random.default_rng(draw)
    for way, kept in curves.items():
        model = LapSVC(updatable=True).fit(X, y)
        curve = [wrong(model)]
        for _ in range(10):
            if way == "suggested":
                rows = model.suggest(5)
                first = rows if first is None else first
            else:
                rows = rng.choice(np.flatnonzero(~model.labeled_), 5, replace=False)
            model.add_labels(rows, truth[rows])  # here somebody looks at five images
            curve.append(wrong(model))
        kept.append(curve)

counts = np.arange(10, 61, 5)
for way, lines in curves.items():
    means = np.mean(lines, axis=0)
    print(
        f"{way:10} wrong: {means[0]:4.1f} % with 10 labels, {means[4]:.1f} % with 30, "
        f"{means[-1]:.1f} % with 60"
    )

# %%

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for way, lines in curves.items():
    (drawn,) = ax.plot(counts, np.mean(lines, axis=0), marker="o", label=way)
    ax.plot(counts, np.transpose(lines), color=drawn.get_color(), alpha=0.3, linewidth=1)
ax.set(xlabel="labels", ylabel="wrong (%)", ylim=(0, None))
ax.legend()
plt.show()

# %%
# The first suggestions
# ---------------------
# These are the first five suggested images. Hardly any is a typical example of its digit: they are
# where two digits meet, and far from each other.

figure, axes = plt.subplots(1, 5, figsize=(7, 1.7), layout="constrained")
for ax, row in zip(axes, first, strict=True):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"it is a {truth[row]}", fontsize=10)
    ax.axis("off")
plt.show()

# %%
# ``lapwing.label(X)`` opens a page on which you can label rows in this way yourself.
