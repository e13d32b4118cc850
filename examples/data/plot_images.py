"""
Images: how a label propagates
==============================

There are 1797 images of handwritten digits (:func:`sklearn.datasets.load_digits`, real data), with
three labels of each digit. :class:`lapwing.LapSVC` connects every image with its nearest
neighbours, and neighbours get similar answers. So a label propagates in small steps, even to images
that look quite different.
"""

# %%
# Three labels of each digit
# --------------------------

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.csgraph import dijkstra
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from lapwing import LapSVC
from lapwing.datasets import mask_labels
from lapwing.exceptions import UnlabeledComponentWarning

X, truth = load_digits(return_X_y=True)
y = mask_labels(truth, 3, random_state=0)
hidden = y == -1

svm = SVC(C=10).fit(X[~hidden], y[~hidden])
with warnings.catch_warnings():
    # A few images are in components of the graph without a label.
    warnings.simplefilter("ignore", UnlabeledComponentWarning)
    model = LapSVC().fit(X, y)

svm_error = np.mean(svm.predict(X)[hidden] != truth[hidden])
error = np.mean(model.transduction_[hidden] != truth[hidden])
print(f"SVM trained on the {np.sum(~hidden)} labels:  {svm_error:.1%} wrong")
print(f"LapSVC with all images:         {error:.1%} wrong")

# %%
# The paths of some labels
# ------------------------
# The graph of the fit is ``model.affinity_``. Among the images that the SVM misclassifies and
# LapSVC does not, we take those that are farthest in the graph from the labels of their digit, and
# show the shortest path from a label to them.

steps = model.affinity_.copy()
steps.data = -np.log(steps.data / steps.data.max() * 0.99)  # strong edges are short
lengths, before = dijkstra(steps, indices=np.flatnonzero(~hidden), return_predecessors=True)
lengths[truth[~hidden][:, None] != truth] = np.inf
gained = (svm.predict(X) != truth) & (model.transduction_ == truth) & hidden
distance = np.where(gained & np.isfinite(lengths.min(axis=0)), lengths.min(axis=0), -1)


def path_to(target):
    """Rows on the path from the nearest label of its digit to a row."""
    start = np.argmin(lengths[:, target])
    path = [target]
    while before[start, path[-1]] >= 0:
        path.append(before[start, path[-1]])
    return path[::-1]


targets = []
for row in np.argsort(-distance):  # one of each digit, the farthest four
    if truth[row] not in truth[targets]:
        targets.append(row)
    if len(targets) == 4:
        break
paths = [path_to(target) for target in targets]

longest = max(map(len, paths))
figure, axes = plt.subplots(4, longest, figsize=(0.95 * longest, 4.6), squeeze=False)
for line, path in zip(axes, paths, strict=True):
    for ax in line:
        ax.axis("off")
    for ax, row in zip(line, path, strict=False):
        ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    line[0].set_title("label", fontsize=10)
    said = svm.predict(X[path[-1:]])[0]
    line[len(path) - 1].set_title(f"SVM says {said}", fontsize=10)
plt.show()

# %%
# Neighbours on a path are similar, but its two ends need not be. This is the idea of manifold
# regularisation: **similar answers for neighbours.** It helps if the images of one digit are
# connected by small changes. It fails where one digit changes into another by small changes, too,
# as with most of the images that are still misclassified.
