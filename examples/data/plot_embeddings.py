"""
Embeddings with three labels per class
======================================

An embedding maps a text, an image or a sound to a vector, so that similar things have similar
directions. Use the vectors of your model as ``X``, normalise them to length one, and try different
**numbers of neighbours** in the graph.

No model is downloaded here. The documents are the docstrings of eight modules of the installed
SciPy and scikit-learn (real data). Their vectors are from latent semantic analysis, that is, the
200 leading principal directions of their word weights. This embedding needs no other training data.
With other versions of the libraries the numbers differ a little.
"""

# %%
# A vector for each document
# --------------------------

import importlib
import inspect
import re
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC

from lapwing import KNNGraph, LapSVC
from lapwing.datasets import mask_labels
from lapwing.exceptions import UnlabeledComponentWarning

PARTS = ["stats", "signal", "special", "linalg", "optimize", "ndimage", "interpolate"]
MODULES = {part: f"scipy.{part}" for part in PARTS} | {"metrics": "sklearn.metrics"}


def documents(module):
    """Docstrings of all callables of a module, without the names of the libraries."""
    members = (getattr(module, name) for name in sorted(module.__all__))
    texts = [inspect.getdoc(member) or "" for member in members if callable(member)]
    telling = rf"\b({'|'.join([*MODULES, 'scipy', 'numpy', 'np', 'sklearn'])})\b"
    return [re.sub(telling, " ", text) for text in texts if len(text.split()) > 30]


heaps = {part: documents(importlib.import_module(name)) for part, name in MODULES.items()}
truth = np.repeat(list(heaps), [len(heap) for heap in heaps.values()])
embed = make_pipeline(
    TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=3),
    TruncatedSVD(200, random_state=0),
    Normalizer(),
)
X = embed.fit_transform([text for heap in heaps.values() for text in heap]).astype(np.float32)
print(f"{len(X)} documents of {len(heaps)} kinds as vectors of {X.shape[1]} numbers")

# %%
# Five neighbours or fifteen
# --------------------------
# The default graph connects every point with five neighbours, which suits images. With five
# neighbours of each document, some small groups are not connected to the rest, so that no label can
# propagate to them. lapwing warns of this (``UnlabeledComponentWarning``) and names the rows. Here
# the warnings are ignored, because the table shows their effect.

warnings.simplefilter("ignore", UnlabeledComponentWarning)

models = {
    "SVM, labels alone": SVC(kernel="linear", C=10),
    "LapSVC, 5 neighbours": LapSVC(graph=KNNGraph(5)),
    "LapSVC, 15 neighbours": LapSVC(graph=KNNGraph(15)),
}
counts = [1, 3, 10]
errors = np.zeros((len(models), len(counts), 4))
for column, count in enumerate(counts):
    for draw in range(4):
        y = mask_labels(truth, count, unlabeled="", random_state=draw)
        known = y != ""
        for row, model in enumerate(models.values()):
            rows = known if isinstance(model, SVC) else slice(None)
            answer = model.fit(X[rows], y[rows]).predict(X[~known])
            errors[row, column, draw] = 100 * np.mean(answer != truth[~known])

print("labels per class            " + "".join(f"{count:8}" for count in counts))
for name, line in zip(models, errors.mean(axis=-1), strict=True):
    print(f"{name:28}" + "".join(f"{value:6.1f} %" for value in line))

# %%

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, line in zip(models, errors, strict=True):
    (drawn,) = ax.plot(counts, line.mean(axis=-1), marker="o", label=name)
    ax.fill_between(counts, line.min(-1), line.max(-1), color=drawn.get_color(), alpha=0.15)
ax.set(xlabel="labels per class", ylabel="wrong (%)", xscale="log", ylim=(0, None))
ax.set_xticks(counts, counts)
ax.minorticks_off()
ax.legend()
plt.show()

# %%
# Lines are means, and bands extend from the best to the worst draw. With three labels per class the
# error still depends strongly on which rows are labelled. The number of neighbours matters as much
# as two more labels of each class: if there is a warning about unconnected groups, try ten or
# fifteen.
#
# Because the vectors have length one, ``KNNGraph(metric='cosine')`` finds the same neighbours. Use
# it if your vectors have different lengths and you do not want to normalise them.
