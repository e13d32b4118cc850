"""
Regression: the angle of a picture
==================================

Numbers are predicted instead of classes. There are 600 pictures of a pavilion, rotated by different
angles, and for twelve of them the angle was written down. What are the others?

The photograph is real (:func:`sklearn.datasets.load_sample_image`); it is rotated by the program,
so that every angle is known. The brightness varies, too.
"""

# %%
# 600 pictures, twelve angles
# ---------------------------
# In a regression NaN means "no label".

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import rotate, zoom
from sklearn.datasets import load_sample_image
from sklearn.svm import SVR

from lapwing import KNNGraph, LapRLSRegressor

rng = np.random.default_rng(0)
photograph = zoom(load_sample_image("china.jpg")[60:380, 50:370].mean(axis=2) / 255, 0.12)
rows, columns = np.ogrid[-1:1:24j, -1:1:24j]
disc = rows**2 + columns**2 <= 1


def picture(angle):
    """The centre of the photograph, rotated and darkened, as a vector."""
    turned = rotate(photograph, angle, reshape=False, order=1, mode="reflect")
    return (turned[7:31, 7:31] * rng.uniform(0.8, 1.0))[disc]


angles = rng.uniform(0, 180, 600)
X = np.array([picture(angle) for angle in angles])
y = np.full(600, np.nan)
labeled = rng.choice(600, 12, replace=False)
y[labeled] = angles[labeled]
print(f"{len(X)} pictures of {X.shape[1]} pixels, {np.sum(~np.isnan(y))} with an angle")

# %%

figure, axes = plt.subplots(1, 8, figsize=(9, 1.6), layout="constrained")
for ax, row in zip(axes, labeled[np.argsort(angles[labeled])][::-1], strict=False):
    image = np.full((24, 24), np.nan)
    image[disc] = X[row]
    ax.imshow(image, cmap="gray", vmin=0, vmax=1)
    ax.set_title(f"{angles[row]:.0f}°", fontsize=10)
    ax.axis("off")
plt.show()

# %%
# With and without the unlabelled pictures
# ----------------------------------------
# In the space of the pixels the pictures lie on a narrow band, along which the angle changes. The
# graph follows the band, and the fitted function changes smoothly along it between the labels.

known = ~np.isnan(y)
models = {
    "SVR, labels alone": SVR(C=1000).fit(X[known], y[known]),
    "LapRLSRegressor": LapRLSRegressor().fit(X, y),
}
predictions = {name: model.predict(X[~known]) for name, model in models.items()}
errors = {name: np.abs(angle - angles[~known]) for name, angle in predictions.items()}
for name, error in errors.items():
    worst = np.quantile(error, 0.9)
    print(f"{name:18} typical error {np.median(error):4.1f}°, a tenth above {worst:4.1f}°")

# %%

figure, axes = plt.subplots(1, 2, figsize=(9, 4.3), sharey=True, layout="constrained")
for k, (ax, (name, angle)) in enumerate(zip(axes, predictions.items(), strict=True)):
    ax.plot([0, 180], [0, 180], color="gray", linewidth=1)
    ax.scatter(angles[~known], angle, s=12, color=f"C{k}", alpha=0.6)
    ax.scatter(
        angles[known], angles[known], marker="*", s=130, color="C4", zorder=3, label="labels"
    )
    ax.set_title(f"{name}: typical error {np.median(errors[name]):.1f}°", loc="left")
    ax.set(xlabel="true angle (°)")
axes[0].set_ylabel("predicted angle (°)")
axes[0].legend()
plt.show()

# %%
# In a regression ``KNNGraph`` is not normalised by default. The normalised Laplacian, which suits
# classification, shrinks values towards zero.

for normalized in ("auto", True):
    model = LapRLSRegressor(graph=KNNGraph(10, normalized=normalized)).fit(X, y)
    error = np.median(np.abs(model.predict(X[~known]) - angles[~known]))
    print(f"normalized={normalized!s:4}: typical error {error:.1f}°")
