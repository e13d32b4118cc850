"""
Text with one label per class
=============================

Some 500 documents on two topics are mixed. You have read two of them, one of each topic. Can the
others be classified?

The documents are real: the docstrings of :mod:`scipy.signal` (filters and spectra) and
:mod:`scipy.special` (Bessel functions and other special functions) of the installed SciPy. The
names of the modules are removed from the texts, because they would reveal the answer. With another
version of SciPy the numbers differ a little.
"""

# %%
# Documents as word weights
# -------------------------
# Words that occur in only one document are left out.

import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
import scipy.signal
import scipy.special
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import SVC

from lapwing import S3VC
from lapwing.datasets import mask_labels


def documents(module):
    """Docstrings of all callables of a module."""
    members = (getattr(module, name) for name in sorted(module.__all__))
    texts = [inspect.getdoc(member) or "" for member in members if callable(member)]
    telling = r"\b(scipy|signal|special|numpy|np)\b"
    return [re.sub(telling, " ", text) for text in texts if len(text.split()) > 30]


heaps = {"signal": documents(scipy.signal), "special": documents(scipy.special)}
texts = [text for heap in heaps.values() for text in heap]
truth = np.repeat(list(heaps), [len(heap) for heap in heaps.values()])
X = TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=2).fit_transform(texts)
print(f"{X.shape[0]} documents of {X.shape[1]} words;", *(f"{k}: {len(heaps[k])}" for k in heaps))

# %%
# One label of each
# -----------------
# The result depends strongly on which two documents are labelled. So the labels are drawn ten
# times, and three models are compared each time:
#
# - a linear SVM, which is trained on the two labelled documents only;
# - ``S3VC('linear')``, which places the boundary where there are few documents. It takes the class
#   proportions from the labels: half and half;
# - the same with the true proportions. You may know these from elsewhere, or count them in a small
#   random sample.

shares = {name: len(heap) / len(texts) for name, heap in heaps.items()}
models = {
    "SVM, labels alone": SVC(kernel="linear"),
    "S3VC": S3VC("linear"),
    "S3VC with known\nproportions": S3VC("linear", balance=shares),
}
errors = {name: [] for name in models}
for draw in range(10):
    y = mask_labels(truth, 1, unlabeled="", random_state=draw)
    known = y != ""
    for name, model in models.items():
        rows = known if isinstance(model, SVC) else slice(None)
        answer = model.fit(X[rows], y[rows]).predict(X)
        errors[name].append(100 * np.mean(answer[~known] != truth[~known]))

for name, values in errors.items():
    print(f"{name.replace(chr(10), ' '):28} wrong: {np.median(values):4.1f} % (median of 10 draws)")

# %%
# Every dot is one draw of the two labels, and the line is the median.

figure, ax = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
for row, values in enumerate(errors.values()):
    ax.scatter(values, np.full(10, -row), s=60, alpha=0.6)
    ax.plot(2 * [np.median(values)], [-row - 0.25, -row + 0.25], color="gray", linewidth=2)
ax.set_yticks(-np.arange(3), list(errors))
ax.set(xlabel="error (%)", xlim=(0, None))
plt.show()

# %%
# Conclusions
# -----------
# Hundreds of words indicate the topic of a document, but two documents have few of them in common.
# The unlabelled documents connect them. **Class proportions matter**: if it assumes equal
# proportions, S3VC must put half of the documents on each side, so about a hundred of them are
# necessarily wrong. If your classes differ in size, pass their proportions as ``balance=``.
#
# One dot of ``S3VC`` is far on the right: with one label of each class, the two classes came out
# swapped. Check some answers before you use them.
