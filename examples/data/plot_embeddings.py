"""
Embeddings with three labels a class
====================================

An embedding turns a text, an image or a sound into a vector, so that things of one kind point into
similar directions. Take the vectors of your model as ``X``, give them length one, and look at one
thing: **how many neighbours** each of them is joined with.

No model is downloaded here. The documents are the real documentation of eight parts of SciPy and
scikit-learn, as they are installed, and their vectors come from latent semantic analysis: the 200
main directions of their word counts. It is the oldest embedding of texts, and it needs no training
data but your own. With other versions of the libraries the numbers differ a little.
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
    """The documentation of everything in a module that can be called, without telling names."""
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
# The default graph joins every point with five neighbours. Images like that. Documents of one kind
# are looser, and with five neighbours some small groups hang together with nothing else: no label
# reaches them. lapwing warns of that (``UnlabeledComponentWarning``) and names the rows. Here the
# warnings are left out, because the table shows what they mean.

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

print("labels a class              " + "".join(f"{count:8}" for count in counts))
for name, line in zip(models, errors.mean(axis=-1), strict=True):
    print(f"{name:28}" + "".join(f"{value:6.1f} %" for value in line))

# %%

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, line in zip(models, errors, strict=True):
    (drawn,) = ax.plot(counts, line.mean(axis=-1), marker="o", label=name)
    ax.fill_between(counts, line.min(-1), line.max(-1), color=drawn.get_color(), alpha=0.15)
ax.set(xlabel="labels a class", ylabel="wrong (%)", xscale="log", ylim=(0, None))
ax.set_xticks(counts, counts)
ax.minorticks_off()
ax.legend()
plt.show()

# %%
# Lines are means, and bands go from the best to the worst draw. At three labels a class the draw of
# the labels still matters much. And the number of neighbours matters as much as two more labels of
# each class: when the warning of unreached groups comes, try ten or fifteen.
#
# Since the vectors have length one, ``KNNGraph(metric='cosine')`` finds the same neighbours. Take
# it where your vectors have other lengths and you do not want to change them.
