"""
Callbacks and progress
======================

A long fit should report its progress, and stop when it is good enough. lapwing reports its stages
and iterations to scikit-learn's callbacks: :class:`sklearn.callback.ProgressBar` draws bars, and a
callback of your own gets a fitted estimator at every iteration.

The data are the 1797 images of digits of scikit-learn (real data).
"""

# %%
# A callback that stops the fit
# -----------------------------
# A callback has four methods. ``on_fit_task_end`` is called after each stage and each iteration;
# its ``fitted_estimator`` predicts as if the fit had ended there. If it returns True, the fit
# stops. This callback predicts all rows every ten iterations, and stops when fewer than two in a
# thousand answers have changed since.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from lapwing import LapSVC
from lapwing.datasets import mask_labels
from lapwing.exceptions import UnlabeledComponentWarning

warnings.simplefilter("ignore", UnlabeledComponentWarning)


class StopWhenSettled:
    """Stop when hardly any answer still changes."""

    def __init__(self, X, every=10, share=0.002):
        self.X, self.every, self.share = X, every, share
        self.answers = []
        self.stages = []

    def setup(self, estimator, context):
        self.answers, self.stages, self.steps = [], [], 0

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        if context.task_name != "iteration":
            self.stages.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name != "iteration":
            return False
        self.steps += 1
        if self.steps % self.every:
            return False
        self.answers.append(fitted_estimator.predict(self.X))
        changed = np.mean(self.answers[-1] != self.answers[-2]) if self.answers[1:] else 1.0
        return changed < self.share


X, truth = load_digits(return_X_y=True)
X = X.astype(np.float32)
y = mask_labels(truth, 3, random_state=0)

callback = StopWhenSettled(X)
stopped = LapSVC(solver="pcg").set_callbacks(callback).fit(X, y)
whole = LapSVC(solver="pcg", tol=1e-4).fit(X, y)
print("stages:", ", ".join(callback.stages))
print(f"stopped: {stopped.n_iter_} iterations ({stopped.status_})")
print(f"to the end: {whole.n_iter_} iterations ({whole.status_})")
same = np.mean(stopped.transduction_ == whole.transduction_)
print(f"same answers: {same:.1%}")

# %%
# The remaining iterations
# ------------------------
# The objective still decreases, but the answers hardly change.

errors = [100 * np.mean(answer != truth) for answer in callback.answers]
final = 100 * np.mean(whole.transduction_ != truth)
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
objective = whole.history_["objective"]  # a column for each digit; NaN after convergence
axes[0].plot(np.arange(1, len(objective) + 1), objective, color="C0", alpha=0.5, linewidth=1)
axes[0].axvline(stopped.n_iter_, color="C1", linestyle="--", label="stopped here")
axes[0].set(xlabel="iteration", ylabel="objective of each digit", ylim=(0, 0.5), xlim=(0, 300))
axes[0].legend()
steps = 10 * np.arange(1, len(errors) + 1)
axes[1].plot(steps, errors, "o-", color="C1", label="seen by the callback")
axes[1].axhline(final, color="gray", label="at the end of the whole fit")
axes[1].set(xlabel="iteration", ylabel="wrong (%)", ylim=(0, None))
axes[1].legend()
plt.show()

# %%
# A progress bar
# --------------
# In a terminal or a notebook, this draws a bar for the fit and one for each stage. It needs the
# package rich::
#
#     from sklearn.callback import ProgressBar
#
#     LapSVC(solver="pcg").set_callbacks(ProgressBar()).fit(X, y)
#
# ``LapSVC(stopping='stability')`` has a stopping rule similar to the one above.
