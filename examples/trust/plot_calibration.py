"""
How sure is it? Probabilities from few labels
=============================================

Of the answers with a probability of 90 %, are nine in ten right? With three labels a class nobody
can check that on held-out labels. :class:`lapwing.LapSVC` leaves each label out in turn and learns
one number from it: how sharp its probabilities may be. The fewer labels there are, the more careful
it is.

The data are the 1797 real images of digits of scikit-learn, of which 900 are kept for the check.
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

# A few images that no label reaches are part of the question.
warnings.simplefilter("ignore", UnlabeledComponentWarning)

X, truth = load_digits(return_X_y=True)
X, X_new, truth, truth_new = train_test_split(
    X, truth, test_size=900, stratify=truth, random_state=0
)
models = {n: LapSVC().fit(X, mask_labels(truth, n, random_state=0)) for n in (3, 10)}

# %%
# New images, in five bins of their probability
# ---------------------------------------------
# Dots on the dashed line keep what they promise. Above it more answers are right than promised: the
# model is too careful. ``ECE`` is the mean distance from the line.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
promised, kept = {}, {}
for ax, (n, model) in zip(axes, models.items(), strict=True):
    CalibrationDisplay.from_estimator(
        model, X_new, truth_new, ax=ax, title=f"{n} labels of each digit", legend=False
    )
    promised[n] = model.predict_proba(X_new).max(axis=1).mean()
    kept[n] = np.mean(model.predict(X_new) == truth_new)
    print(f"{n:2} labels: promises {promised[n]:.1%} right answers, and {kept[n]:.1%} are right")
plt.show()

# %%
# Digits are easier than the data that the usual sharpness was fitted to, and thirty labels are too
# few to find that out. A hundred labels are enough to come close.
#
# Which answers can be taken over?
# --------------------------------
# :func:`lapwing.model_selection.sure_rows` names the rows of which at least the asked share should
# be right. The more you ask for, the fewer rows are sure; more labels make more rows sure.

sure_shares, right_shares = {}, {}
for n, model in models.items():
    hidden = ~model.labeled_
    right = model.transduction_ == truth
    for precision in (0.8, 0.9, 0.95):
        sure = sure_rows(model, precision=precision).sure & hidden
        sure_shares[n, precision] = sure.sum() / hidden.sum()
        right_shares[n, precision] = right[sure].mean()
        print(
            f"{n:2} labels, asked for {precision:.0%}: {sure_shares[n, precision]:4.0%} of the "
            f"rows are sure, and {right_shares[n, precision]:.1%} of those are right"
        )
