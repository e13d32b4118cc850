"""
Active labelling: which row next?
=================================

You can label fifty more images. Which? Fifty at random say the same thing many times over. Ask the
model: ``suggest`` names the rows whose labels would help most, and ``add_labels`` takes them
without a new graph or kernel.

The 600 images of digits are real; the person who labels them is the computer, which knows the
truth.
"""

# %%
# Two ways to spend fifty labels
# ------------------------------
# Both begin with the same ten labels, one of each digit, and take five at a time. Three draws of
# the first ten labels.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from lapwing import LapSVC
from lapwing.datasets import mask_labels
from lapwing.exceptions import LapwingWarning

warnings.simplefilter("ignore", LapwingWarning)  # ten labels: much is said about what may be wrong

X, truth = load_digits(return_X_y=True)
X, truth = X[:600], truth[:600]


def wrong(model):
    """Share of all rows in percent."""
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
# What it asked first
# -------------------
# The five images that the first model wanted to know most: hardly any is a good example of its
# digit. They lie where two digits meet, and far from each other.

figure, axes = plt.subplots(1, 5, figsize=(7, 1.7), layout="constrained")
for ax, row in zip(axes, first, strict=True):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"it is a {truth[row]}", fontsize=10)
    ax.axis("off")
plt.show()

# %%
# To label with your own eyes: ``lapwing.label(X)`` opens a page that does all this.
