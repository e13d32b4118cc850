"""
Which method? Compare them
==========================

Are your classes **clusters** with gaps between them, or curved **sheets** of connected neighbours?
Or neither? The right method for one case is wrong for the other, and three labels per class do not
show which case it is. :func:`lapwing.model_selection.compare` tries the families of methods. It
leaves out labels, draws new ones from the answers, and estimates the error of each method.

The three data sets are synthetic, so that the truth is known.
"""

# %%
# Clusters, sheets, and neither
# -----------------------------
# - *clusters*: two Gaussian clouds in 50 dimensions that overlap a little;
# - *sheets*: two moons;
# - *neither*: one cloud cut in the middle, where the points show no boundary.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from lapwing.datasets import make_gaussian2c, make_two_moons, mask_labels
from lapwing.model_selection import compare

rng = np.random.default_rng(1)
cloud = rng.normal(size=(300, 20))
cut = (cloud[:, 0] > 0).astype(int)

problems = {
    "clusters": make_gaussian2c(300, 50, n_labeled_per_class=5, random_state=0, return_truth=True),
    "sheets": make_two_moons(300, n_labeled_per_class=5, random_state=0, return_truth=True),
    "neither": (cloud, mask_labels(cut, 5, random_state=0), cut),
}

found = {}
for name, (X, y, _) in problems.items():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found[name] = compare(X, y)
    print(f"--- {name}\n{found[name]}\n")

# %%
# Estimated and true errors
# -------------------------
# The estimate for the chosen method, with its interval, and the true error. The intervals are wide,
# because more cannot be known from ten labels.

figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
for place, (name, (X, y, truth)) in enumerate(problems.items()):
    comparison = found[name]
    low, high = (100 * end for end in comparison.error_interval)
    ax.plot(
        [place, place], [low, high], color="gray", linewidth=8, alpha=0.35, solid_capstyle="round"
    )
    ax.plot(place, 100 * comparison.error, "o", color="gray", markersize=9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = comparison.best.fit(X, y).transduction_
    true = 100 * np.mean(answer[y == -1] != truth[y == -1])
    ax.plot(place, true, "*", color="C1", markersize=18)
    print(
        f"{name:9} {comparison.chosen.name:10} estimated {100 * comparison.error:4.1f} % "
        f"({low:.0f} to {high:.0f} %), true {true:4.1f} %"
    )
ax.set_xticks(range(3), [f"{name}:\n{found[name].chosen.name}" for name in found])
ax.set(ylabel="wrong (%)", ylim=(0, None), xlim=(-0.5, 2.5))
ax.plot([], [], "o", color="gray", label="estimated, with its 90 % interval")
ax.plot([], [], "*", color="C1", markersize=14, label="true")
ax.legend(loc="upper left")
plt.show()

# %%
# On the cloud, S3VC misclassified two of ten left-out labels, as many as the labels alone: the
# verdict says that the difference is within chance. **Look at the interval, not at the name**: it
# extends beyond 50 %. The verdicts on the two other sets are as cautious, although their answers
# are right, because ten labels are few.
#
# :class:`lapwing.FewLabelClassifier` does both steps in one ``fit``: it compares the methods, and
# fits the chosen one to all rows.
