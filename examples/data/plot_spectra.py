"""
Spectra: which plastic is it?
=============================

The infrared spectra of pieces of plastic from a beach show what they are made of. However, plastics
may contain up to 90 % of chalk, and the pieces differ in thickness and baseline. An expert has
named three pieces of each plastic.

The spectra are **synthetic**: the absorption bands of polyethylene, polypropylene, polystyrene, PET
and chalk have their positions in the literature. Their widths, the noise and the error of the
wavenumber scale, some 6 per cm, are guesses.
"""

# %%
# 800 spectra
# -----------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from lapwing import LapSVC
from lapwing.datasets import mask_labels

BANDS = {  # position (per cm) and height
    "PE": {2915: 1.0, 2848: 0.8, 1467: 0.3, 720: 0.2},
    "PP": {2950: 0.8, 2917: 0.9, 2838: 0.5, 1455: 0.5, 1376: 0.5, 973: 0.15},
    "PS": {3026: 0.4, 2920: 0.6, 1601: 0.3, 1493: 0.5, 1452: 0.5, 756: 0.6, 698: 0.9},
    "PET": {1715: 0.9, 1410: 0.2, 1245: 1.0, 1095: 0.9, 725: 0.7},
}
wavenumbers = np.arange(650, 3150, 5.0)
rng = np.random.default_rng(0)


def band(place, width=14.0):
    """One absorption band of height one."""
    return 1 / (1 + ((wavenumbers - place) / width) ** 2)


def spectrum(plastic):
    """One piece, with random chalk, thickness, baseline, noise and shift of the scale."""
    shift = rng.normal(0, 6)
    pure = sum(height * band(place + shift) for place, height in BANDS[plastic].items())
    chalk = band(1420 + shift, 60) + 0.6 * band(875 + shift, 20) + 0.2 * band(712 + shift, 12)
    share = rng.uniform(0, 0.9)
    x = (wavenumbers - 1900) / 1250
    baseline = rng.uniform(0, 0.6) + rng.normal(0, 0.25) * x + rng.normal(0, 0.2) * x**2
    noise = rng.normal(0, 0.01, wavenumbers.size)
    return rng.uniform(0.3, 1.2) * ((1 - share) * pure + share * chalk) + baseline + noise


truth = rng.choice(list(BANDS), 800)
spectra = np.array([spectrum(plastic) for plastic in truth])

# %%
# Derivatives instead of baselines
# --------------------------------
# A slowly varying baseline contains no information on the plastic. Therefore spectroscopists use
# the derivative, normalised to length one; so do we. What remains depends on the plastic, the
# proportion of chalk and the shift of the scale: every class is a curved surface of two dimensions,
# and all classes approach each other as the proportion of chalk increases.

X = np.gradient(spectra, axis=1)
X = (X[:, 1:] + X[:, :-1]) / 2  # smooth a little
X /= np.linalg.norm(X, axis=1, keepdims=True)

figure, axes = plt.subplots(2, 2, figsize=(9, 5), sharex=True, sharey=True, layout="constrained")
for k, (ax, plastic) in enumerate(zip(axes.flat, BANDS, strict=True)):
    ax.plot(wavenumbers, spectra[truth == plastic][:12].T, color=f"C{k}", alpha=0.5, linewidth=0.9)
    ax.set_title(f"12 pieces of {plastic}", loc="left")
ax.invert_xaxis()  # as spectroscopists draw
figure.supxlabel("wavenumber (per cm)")
figure.supylabel("absorbance")
plt.show()

# %%
# Three labels of each plastic
# ----------------------------

models = {
    "SVM, labels alone": SVC(kernel="linear", C=100),
    "LapSVC": LapSVC(unlabeled="?"),
}
errors = {name: [] for name in models}
for draw in range(10):
    y = mask_labels(truth, 3, unlabeled="?", random_state=draw)
    known = y != "?"
    svm = models["SVM, labels alone"].fit(X[known], y[known])
    model = models["LapSVC"].fit(X, y)
    for name, answer in zip(errors, (svm.predict(X), model.transduction_), strict=True):
        errors[name].append(100 * np.mean(answer[~known] != truth[~known]))

for name, values in errors.items():
    print(
        f"{name:18} wrong: {np.mean(values):4.1f} % (mean of 10 draws, worst {max(values):.1f} %)"
    )

# %%

figure, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
for row, values in enumerate(errors.values()):
    ax.scatter(values, np.full(10, -row), s=60, alpha=0.6)
ax.set_yticks([0, -1], list(errors))
ax.set(xlabel="error (%), a dot for each draw", xlim=(0, None), ylim=(-1.5, 0.5))
plt.show()

# %%
# The spectrum of a piece that is nearly all chalk is similar to that of chalk. It is connected to
# its plastic by pieces with a little less chalk, which have no label either: only a method that
# uses unlabelled rows can follow this connection.
