r"""Pointwise losses on labelled and unlabelled scores, and how to add one.

Estimators take a loss by its name (``loss='hinge'``) or as an object (``loss=HuberHinge(0.2)``).

A loss on labelled scores is one class derived from `Loss`, usually a dataclass:

.. code-block:: python

    from dataclasses import dataclass

    import numpy as np

    from lapwing.losses import Kind, Loss

    @dataclass
    class HuberHinge(Loss):
        '''Half the hinge, its corner rounded to a parabola of the given width.'''

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

Its objects can be used immediately: ``LapSVC(loss=HuberHinge(0.2))``. `register`, below, gives the
class a name, ``loss='huber_hinge'``; allowed names, messages, docstrings and the shared tests are
derived from the registry.

Solvers depend on `kind` only:

==================== =========================================== ==============================
kind                 properties                                  solvers
==================== =========================================== ==============================
PIECEWISE_QUADRATIC  a continuous derivative, linear between     Newton and conjugate gradient,
                     the scores in `breaks`                      exact line search by `breaks`
SMOOTH               a continuous derivative; `curvature`        the same, line search by the
                     wherever the derivative has one             root of the derivative
KINKED               a derivative that jumps, at scores in       the dual: libsvm or, for other
                     `breaks` only                               losses, the method of multipliers
==================== =========================================== ==============================

All losses are convex. They are functions of targets and scores, never of X, and work elementwise in
the array namespace and precision of their input; a loss that uses NumPy works for scores that are
NumPy arrays. They use the *half* convention, so that every objective of the library is

.. math:: \tfrac12 \Big[\sum_i w_i\, 2\ell(y_i, f_i) + \gamma_A \|f\|^2 + \gamma_I f^T L^p f\Big]

and the same solvers can be used: `value` is **half** the loss in the usual convention.
`objective_scale` is the factor between this objective and that of the paper.

Losses on unlabelled scores derive from `UnlabeledLoss` in the same way. They are not convex and do
not use the half convention. A loss with kinks must be 2 l(1, abs(f)), the loss for the
nearer label, of a labelled loss l (`label_loss`); the continuation method needs `smoothed` and
`bend`.

Before a fit, objects are checked by finite differences (`losses.registry`). An error is raised if a
derivative is not that of `value`, a break is not declared, or the loss is not convex.
"""

from lapwing._host.modules import publish as _publish
from lapwing.losses.base import Kind, Loss, TargetKind, UnlabeledLoss
from lapwing.losses.labeled import EpsilonInsensitive, Hinge, Squared, SquaredHinge
from lapwing.losses.registry import LOSSES, UNLABELED_LOSSES, as_loss, as_unlabeled_loss
from lapwing.losses.registry import register as _register
from lapwing.losses.smoothed import ModifiedLogistic
from lapwing.losses.unlabeled import GaussianBump, SymmetricHinge

__all__ = [
    "LOSSES",
    "UNLABELED_LOSSES",
    "EpsilonInsensitive",
    "GaussianBump",
    "Hinge",
    "Kind",
    "Loss",
    "ModifiedLogistic",
    "Squared",
    "SquaredHinge",
    "SymmetricHinge",
    "TargetKind",
    "UnlabeledLoss",
    "as_loss",
    "as_unlabeled_loss",
]

# Names for ``loss=`` and ``unlabeled_loss=``, in the order of messages.
_register(SquaredHinge, Hinge, Squared, EpsilonInsensitive, GaussianBump, SymmetricHinge)

# Model files contain these names; registries, in capitals, have no `__module__` to set.
_publish(__name__, globals(), [name for name in __all__ if not name.isupper()])
