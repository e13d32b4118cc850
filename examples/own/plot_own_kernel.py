"""
Your own kernel
===============

A kernel measures the similarity of two rows, including new ones. For histograms, for example, the
chi-squared distance is better than the Euclidean one. Any function of two matrices of rows can be
passed as ``kernel=``.

The rows are colour histograms of 500 patches of the two photographs of scikit-learn, a flower
and a Chinese pavilion (real data). From which photograph is a patch? Both have green leaves.
"""

# %%
# Patches as histograms
# ---------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.metrics.pairwise import chi2_kernel

from lapwing import KNNGraph, LapSVC
from lapwing.datasets import mask_labels

photographs = {name: load_sample_image(f"{name}.jpg") for name in ("china", "flower")}
rng = np.random.default_rng(0)
size = 12


def histogram(patch):
    """Relative frequencies of eight levels of each colour."""
    levels = [np.bincount(patch[..., c].ravel() // 32, minlength=8) for c in range(3)]
    return np.concatenate(levels) / patch[..., 0].size


truth = rng.permutation(np.repeat(list(photographs), 250))
patches = []
for name in truth:
    row, column = rng.integers(427 - size), rng.integers(640 - size)
    patches.append(photographs[name][row : row + size, column : column + size])
X = np.array([histogram(patch) for patch in patches])

figure, axes = plt.subplots(2, 12, figsize=(9, 1.8), layout="constrained")
for line, name in zip(axes, photographs, strict=True):
    for ax, row in zip(line, np.flatnonzero(truth == name), strict=False):
        ax.imshow(patches[row])
        ax.axis("off")
    line[0].set_title(name, loc="left")
plt.show()

# %%
# A function as kernel
# --------------------
# The function gets two matrices of rows and returns a matrix with a number for each pair. It must
# be symmetric and positive definite, as the chi-squared kernel is. Both kernels are used without
# the graph (``gamma_I=0``), which is a supervised SVM, and with it.


def chi_squared(A, B):
    """exp(-sum (a - b)^2 / (a + b)) for each pair of rows."""
    return chi2_kernel(A, B, gamma=1.0)


kernels = {"rbf": "rbf", "chi_squared": chi_squared}
weights = {"labels alone": 0.0, "with the graph": 1.0}
errors = {}
for kernel_name, kernel in kernels.items():
    for weight_name, weight in weights.items():
        wrong = []
        for draw in range(5):
            y = mask_labels(truth, 5, unlabeled="", random_state=draw)
            model = LapSVC(kernel, gamma_I=weight, graph=KNNGraph(15)).fit(X, y)
            wrong.append(100 * np.mean(model.transduction_[y == ""] != truth[y == ""]))
        errors[kernel_name, weight_name] = wrong
        print(f"{kernel_name:12} {weight_name:15} wrong: {np.mean(wrong):4.1f} % (mean of 5 draws)")

# %%

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for place, wrong in enumerate(errors.values()):
    ax.scatter(wrong, np.full(5, -place), s=60, alpha=0.6)
    ax.plot(2 * [np.mean(wrong)], [-place - 0.25, -place + 0.25], color="gray", linewidth=2)
ax.set_yticks(-np.arange(4), [", ".join(names) for names in errors])
ax.set(xlabel="error (%): a dot for each draw, a line for the mean", xlim=(0, None))
plt.show()

# %%
# With the labels alone, everything depends on the kernel, and a suitable one helps. With the graph,
# most depends on the neighbours.
#
# If you have no features but only similarities of pairs (from alignments of sequences, for
# example), compute the matrix yourself and pass it as X: ``LapSVC('precomputed',
# graph=AffinityGraph(affinity))``. A model with a Python function as kernel can be pickled if the
# function can be imported. It cannot be saved with :func:`lapwing.models.save_model`, because model
# files contain no code.
