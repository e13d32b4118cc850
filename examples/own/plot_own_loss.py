"""
Your own loss
=============

A loss is the cost of a misclassified label. With the squared hinge, the default of ``LapSVC``, this
cost is large, which is right if all labels are right. Here some labels are wrong, and a loss of
your own limits their influence. It is a class of a few lines, which every solver accepts.

The data are two synthetic Gaussian clouds.
"""

# %%
# The loss
# --------
# The Huber hinge is the hinge with its corner rounded to a parabola. Beyond the parabola it is
# linear, so the influence of a label is bounded. Before each fit the derivatives are compared with
# finite differences of the values; if one is wrong, an error says which. All losses are **half** of
# the printed formula (:mod:`lapwing.losses` explains why).

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from lapwing import LapSVC
from lapwing.datasets import make_gaussian2c
from lapwing.losses import Kind, Loss, SquaredHinge


@dataclass
class HuberHinge(Loss):
    """Half the hinge loss, with its corner rounded to a parabola of the given width."""

    width: float = 0.5
    kind = Kind.PIECEWISE_QUADRATIC

    def value(self, y, f):
        t = np.maximum(1 - y * f, 0)
        return np.where(t < self.width, t * t / (2 * self.width), t - self.width / 2) / 2

    def derivative(self, y, f):
        return -y * np.clip((1 - y * f) / self.width, 0, 1) / 2

    def curvature(self, y, f):
        t = 1 - y * f
        return np.where((t > 0) & (t < self.width), 1 / (2 * self.width), 0.0)

    def breaks(self, y):
        return y, y * (1 - self.width)


f = np.linspace(-4, 2, 300)
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
for name, loss in {"squared hinge": SquaredHinge(), "HuberHinge(0.5)": HuberHinge(0.5)}.items():
    ax.plot(f, 2 * loss.value(np.ones_like(f), f), label=name, linewidth=2)
ax.set(xlabel="score f of a point with the label +1", ylabel="loss", ylim=(0, 12))
ax.legend()
plt.show()

# %%
# Wrong labels
# ------------
# Of 400 points 60 have a label, and up to twelve of these 60 labels are flipped. The figures are
# means of six draws.

losses = {"squared_hinge": "squared_hinge", "HuberHinge(0.5)": HuberHinge(0.5)}
turned = [0, 3, 6, 9, 12]
errors = np.zeros((len(losses), len(turned), 6))
for draw in range(6):
    X, y, truth = make_gaussian2c(
        400, 10, n_labeled_per_class=30, random_state=draw, return_truth=True
    )
    rows = np.random.default_rng(draw).permutation(np.flatnonzero(y != -1))
    for column, count in enumerate(turned):
        told = y.copy()
        told[rows[:count]] = 1 - told[rows[:count]]
        for line, loss in enumerate(losses.values()):
            model = LapSVC("linear", loss=loss, gamma_A=0.1, gamma_I=0.1, fit_intercept=True)
            answer = model.fit(X, told).transduction_
            errors[line, column, draw] = 100 * np.mean(answer != truth)

print("flipped labels       " + "".join(f"{count:9}" for count in turned))
for name, values in zip(losses, errors.mean(axis=-1), strict=True):
    print(f"{name:21}" + "".join(f"{value:7.1f} %" for value in values))

# %%

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
for name, values in zip(losses, errors, strict=True):
    (drawn,) = ax.plot(turned, values.mean(axis=-1), marker="o", label=name)
    ax.plot(turned, values, color=drawn.get_color(), alpha=0.2, linewidth=1)
ax.set(xlabel="flipped labels, of 60", ylabel="error (%)", ylim=(0, None))
ax.set_xticks(turned)
ax.legend()
plt.show()

# %%
# If all labels are right, both losses are equally good. If one in five is flipped, the Huber hinge
# halves the error: the points around a wrong label outweigh it. ``loss='hinge'`` is about as good.
# Because of its corner it needs another solver, which ``LapSVC`` chooses automatically.
