"""
Saved models, and predictions without Python
============================================

A model file of lapwing contains numbers and names, but no code, so that loading an untrusted file
executes nothing. A model can also be exported to ONNX, which runs on a phone, in a browser or in a
database, without Python and without lapwing.

The data are the wines of scikit-learn (real data): 178 rows, 13 features, five labels of each
cultivar.
"""

# %%
# A pipeline to save
# ------------------

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import KNNGraph, LapSVC
from lapwing.datasets import mask_labels
from lapwing.models import load_model, save_model
from lapwing.onnx_export import save_onnx

wine = load_wine()
names = np.array(["Barolo", "Grignolino", "Barbera"])
truth = names[wine.target]
X_new, X = wine.data[::10], np.delete(wine.data, np.s_[::10], axis=0)
y = mask_labels(np.delete(truth, np.s_[::10]), 5, unlabeled="", random_state=1)
model = make_pipeline(StandardScaler(), LapSVC(graph=KNNGraph(10))).fit(X, y)

# %%
# To a file and back
# ------------------
# ``save_model`` writes the whole pipeline; ``load_model`` returns it with its description. The
# scores are the same to the last digit.

folder = Path(tempfile.mkdtemp())
save_model(model, folder / "wine.lapwing")
loaded = load_model(folder / "wine.lapwing")
scores = model.decision_function(X_new)
difference = np.abs(loaded.pipeline.decision_function(X_new) - scores).max()
size = (folder / "wine.lapwing").stat().st_size
print(f"wine.lapwing: {size / 1000:.0f} kB, made by lapwing {loaded.info['lapwing_version']}")
print(f"largest difference of a score: {difference}")

# %%
# To ONNX
# -------
# The input of the ONNX model are the unscaled features, because the scaler is exported, too. They
# have the floating-point type of the fit.

save_onnx(model, folder / "wine.onnx")
session = onnxruntime.InferenceSession(folder / "wine.onnx")
label, onnx_scores, shares = session.run(["label", "scores", "probabilities"], {"X": X_new})
onnx_difference = np.abs(onnx_scores - scores).max()
agree = np.mean(label == model.predict(X_new))
print(f"wine.onnx: {(folder / 'wine.onnx').stat().st_size / 1000:.0f} kB")
print(f"same answers: {agree:.0%}, largest difference of a score: {onnx_difference:.0e}")

# %%
# Comparison
# ----------
# The scores of 18 wines that were not in the fit. A dot is lapwing, a ring is the ONNX model.

figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
for k, name in enumerate(model.classes_):
    ax.plot(scores[:, k], "o", color=f"C{k}", markersize=5, label=name)
    ax.plot(onnx_scores[:, k], "o", color=f"C{k}", markersize=12, fillstyle="none")
ax.axhline(0, color="gray", linewidth=1)
ax.set(xlabel="wine", ylabel="score")
ax.set_xticks(range(len(X_new)))
ax.legend(ncols=3, loc="upper center")
plt.show()
