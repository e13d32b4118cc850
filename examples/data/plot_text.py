"""
Text with one label a class
===========================

Two libraries lie mixed in one heap of some 500 documents. You have read two of them, one of each
kind. Can the others be sorted?

The documents are real: the documentation of :mod:`scipy.signal` (filters and spectra) and of
:mod:`scipy.special` (Bessel functions and their relatives), as they are installed with SciPy. The
names of the libraries are taken out, for they would give the answer away. With another version of
SciPy the numbers differ a little.
"""

# %%
# Documents, and words as columns
# -------------------------------
# Words that stand in one document only say nothing about the others, so they are left out.

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
    """The documentation of everything in a module that can be called."""
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
# Which two documents you happen to read matters a lot. So the two labels are drawn ten times, and
# three answers are compared each time:
#
# - a linear SVM, which sees the two labelled documents only;
# - ``S3VC('linear')``, which puts the boundary where there are few documents. It takes the shares
#   of the classes from the labels: half and half;
# - the same, told how many documents each library has. You may know this from elsewhere, or count
#   it in a small sample.

shares = {name: len(heap) / len(texts) for name, heap in heaps.items()}
models = {
    "SVM, labels alone": SVC(kernel="linear"),
    "S3VC": S3VC("linear"),
    "S3VC that knows\nthe shares": S3VC("linear", balance=shares),
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
ax.set(xlabel="documents in the wrong heap (%)", xlim=(0, None))
plt.show()

# %%
# What to take home
# -----------------
# The library of a document shows in hundreds of words, and two documents share few of them. The
# unlabelled documents fill the gaps. And **shares matter**: with equal shares assumed, S3VC must
# put half of the documents on each side, so a hundred of them are wrong whatever it does. When your
# classes differ in size, say so by ``balance=``.
#
# One dot of ``S3VC()`` lies far on the right: with one label of each, the two heaps came out
# swapped. Look at a few answers before you take them over.
