"""
Imbalance: the rare class
=========================

One part in ten is faulty, and you label five good and five faulty ones. So half of your labels are
faulty parts, but only a tenth of all parts. How do the methods deal with this?

The data are images of digits (real data): all 1s are "good" parts, and so many 8s are added that
one part in ten is "faulty".
"""

# %%
# Nine to one, but five labels of each
# ------------------------------------

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from lapwing import S3VC, LapSVC
from lapwing.datasets import mask_labels
from lapwing.exceptions import LapwingWarning

warnings.simplefilter("ignore", LapwingWarning)  # S3VC warns that its balance is probably wrong

X, digits = load_digits(return_X_y=True)
good, faulty = np.flatnonzero(digits == 1), np.flatnonzero(digits == 8)[:20]
X = X[np.concatenate([good, faulty])]
truth = np.repeat(["good", "faulty"], [len(good), len(faulty)])
shares = {"good": 0.9, "faulty": 0.1}
print(f"{len(good)} good parts, {len(faulty)} faulty ones")

# %%
# Assumed and known class proportions
# -----------------------------------
# ``S3VC`` has a constraint on the class proportions, and by default takes them from the labels.
# ``LapSVC`` has no such constraint unless you set ``class_prior=``.

models = {
    "SVM, labels alone": SVC(C=10),
    "S3VC()": S3VC(),
    "S3VC(balance=...)": S3VC(balance=shares),
    "LapSVC()": LapSVC(),
    "LapSVC(class_prior=...)": LapSVC(class_prior=shares),
}
missed = {name: [] for name in models}
alarms = {name: [] for name in models}
for draw in range(10):
    y = mask_labels(truth, 5, unlabeled="", random_state=draw)
    hidden = y == ""
    for name, model in models.items():
        rows = ~hidden if isinstance(model, SVC) else slice(None)
        answer = model.fit(X[rows], y[rows]).predict(X)
        missed[name].append(np.sum(hidden & (truth == "faulty") & (answer == "good")))
        alarms[name].append(np.sum(hidden & (truth == "good") & (answer == "faulty")))

n_faulty = len(faulty) - 5
print(f"{'':24} faulty parts missed (of {n_faulty})   false alarms (of {len(good) - 5})")
for name in models:
    print(f"{name:24} {np.mean(missed[name]):17.1f} {np.mean(alarms[name]):27.1f}")

# %%

figure, ax = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
places = np.arange(len(models))[::-1]
ax.barh(places + 0.2, [np.mean(n) for n in alarms.values()], 0.38, label="false alarms")
ax.barh(places - 0.2, [np.mean(n) for n in missed.values()], 0.38, label="faulty parts missed")
ax.set_yticks(places, list(models))
ax.set(xlabel="parts, mean of ten draws of the labels")
ax.legend()
plt.show()

# %%
# Without known proportions ``S3VC`` looks for a boundary with half of the parts on each side, so it
# must cut through the good ones. In ``LapSVC`` the labels of the faulty parts propagate too far.
# **If you chose how many rows of each class to label, the labels contain no information on the
# proportions: pass them.** A count in a small random sample is enough.
