"""
Your own graph
==============

The graph determines which rows are neighbours, and this matters more than any other choice. If you
know a better measure of similarity than the Euclidean distance, use your own graph: a sparse matrix
with the weights of the edges is enough.

The images are the digits of scikit-learn (real data), each shifted by up to one pixel, as may
happen in a scanner. The Euclidean distance between an image and its shifted copy is large.
"""

# %%
# Shifted digits
# --------------

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances

from lapwing import AffinityGraph, KNNGraph, LapSVC
from lapwing.datasets import mask_labels

images, truth = load_digits(return_X_y=True)
images, truth = images[:800].reshape(-1, 8, 8), truth[:800]
rng = np.random.default_rng(0)
moves = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1)]


def moved(image, move):
    """Shift an image by at most a pixel; what leaves the image is lost."""
    wide = np.pad(image, 1)
    return wide[1 - move[0] : 9 - move[0], 1 - move[1] : 9 - move[1]]


images = np.array([moved(image, moves[rng.integers(9)]) for image in images])
X = images.reshape(len(images), -1)

# %%
# A distance that allows shifts
# -----------------------------
# Shift the second image by at most a pixel, in all nine ways, and take the smallest distance.

distances = np.full((len(X), len(X)), np.inf)
for move in moves:
    other = np.array([moved(image, move).ravel() for image in images])
    np.minimum(distances, pairwise_distances(X, other), out=distances)
distances = np.minimum(distances, distances.T)  # symmetric

# %%
# Seven neighbours, with weights that decrease with the distance. The matrix must be symmetric; a
# zero means that there is no edge.

order = np.argsort(distances, axis=1)[:, 1:8]
rows = np.repeat(np.arange(len(X)), 7)
near = np.take_along_axis(distances, order, axis=1).ravel()
weights = np.exp(-(near**2) / (2 * np.mean(near) ** 2))
affinity = sp.csr_array((weights, (rows, order.ravel())), shape=distances.shape)
affinity = affinity.maximum(affinity.T)

# %%
# Three labels of each digit
# --------------------------
# A bare matrix works too: ``LapSVC(graph=affinity)``. ``AffinityGraph`` also sets the power of the
# Laplacian, which is 2 in ``KNNGraph`` and 1 in a bare matrix.

graphs = {
    "Euclidean": KNNGraph(7),
    "with shifts": AffinityGraph(affinity, power=2),
}
errors = {name: [] for name in graphs}
for draw in range(5):
    y = mask_labels(truth, 3, random_state=draw)
    for name, graph in graphs.items():
        answer = LapSVC(graph=graph).fit(X, y).transduction_
        errors[name].append(100 * np.mean(answer[y == -1] != truth[y == -1]))
for name, values in errors.items():
    print(f"{name:15} wrong: {np.mean(values):4.1f} % (mean of 5 draws)")

# %%
# The neighbours of one image
# ---------------------------
# Each row shows the five nearest neighbours by one of the distances.

plain = pairwise_distances(X)
agree = [
    np.mean(truth[np.argsort(matrix, axis=1)[:, 1:6]] == truth[:, None], axis=1)
    for matrix in (plain, distances)
]
shown = np.argmax(agree[1] - agree[0])  # where the two differ most
figure = plt.figure(figsize=(7.5, 4), layout="constrained")
for part, name, matrix in zip(figure.subfigures(2), graphs, (plain, distances), strict=True):
    part.suptitle(f"neighbours, {name}", fontsize=11)
    for ax, row in zip(part.subplots(1, 6), [shown, *np.argsort(matrix[shown])[1:6]], strict=True):
        ax.imshow(images[row], cmap="gray_r")
        ax.set_title("the image" if row == shown else f"a {truth[row]}", fontsize=10)
        ax.axis("off")
plt.show()

# %%
# New rows need no graph: ``predict`` uses the kernel, which still compares pixel by pixel. If you
# have a distance only and no features, pass a kernel matrix, too: ``kernel='precomputed'``.
