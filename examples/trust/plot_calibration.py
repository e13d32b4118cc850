"""
How sure is it? Probabilities from few labels
=============================================

Of the answers with a probability of 90 %, are nine in ten right? With three labels per class there
are too few labels to hold some out for a check. :class:`lapwing.LapSVC` leaves out each label in
turn and estimates one number, the sharpness of its probabilities. The fewer labels there are, the
more cautious it is.

The data are the 1797 images of digits of scikit-learn (real data), of which 900 are held out for
the check.
"""

# %%
# Three labels of each digit, and ten
# -----------------------------------

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from lapwing import LapSVC
from lapwing.datasets import mask_labels
from lapwing.exceptions import UnlabeledComponentWarning
from lapwing.model_selection import sure_rows
from lapwing.plotting import CalibrationDisplay

# A few images are in components of the graph without a label.
warnings.simplefilter("ignore", UnlabeledComponentWarning)

X, truth = load_digits(return_X_y=True)
X, X_new, truth, truth_new = train_test_split(
    X, truth, test_size=900, stratify=truth, random_state=0
)
models = {n: LapSVC().fit(X, mask_labels(truth, n, random_state=0)) for n in (3, 10)}

# %%
# New images, in five bins of their probability
# ---------------------------------------------
# Dots on the dashed line are calibrated. Above it more answers are right than predicted: the model
# is too cautious. ``ECE`` is the mean distance from the line.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
promised, kept = {}, {}
for ax, (n, model) in zip(axes, models.items(), strict=True):
    CalibrationDisplay.from_estimator(
        model, X_new, truth_new, ax=ax, title=f"{n} labels of each digit", legend=False
    )
    promised[n] = model.predict_proba(X_new).max(axis=1).mean()
    kept[n] = np.mean(model.predict(X_new) == truth_new)
    print(f"{n:2} labels: predicts {promised[n]:.1%} right answers, and {kept[n]:.1%} are right")
plt.show()

# %%
# Digits are easier than the data to which the default sharpness was fitted, and thirty labels are
# too few to show this. With a hundred labels the probabilities are nearly calibrated.
#
# Which answers need no check?
# ----------------------------
# :func:`lapwing.model_selection.sure_rows` selects rows of which at least the requested proportion
# should be right. The higher the requested precision, the fewer rows are sure; with more labels,
# more rows are sure.

sure_shares, right_shares = {}, {}
for n, model in models.items():
    hidden = ~model.labeled_
    right = model.transduction_ == truth
    for precision in (0.8, 0.9, 0.95):
        sure = sure_rows(model, precision=precision).sure & hidden
        sure_shares[n, precision] = sure.sum() / hidden.sum()
        right_shares[n, precision] = right[sure].mean()
        print(
            f"{n:2} labels, precision {precision:.0%}: {sure_shares[n, precision]:4.0%} of the "
            f"rows are sure, and {right_shares[n, precision]:.1%} of those are right"
        )
