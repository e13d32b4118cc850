"""Pointwise losses on labelled and unlabelled scores.

An estimator takes one of the library's by its name (``loss='hinge'``), and any as an object. To add
one, derive a dataclass from `Loss` or `UnlabeledLoss`: `lapwing.losses.base` says what it is to
declare. `lapwing.losses.checks` compares what it declares with its values before each fit.
"""

from lapwing.losses.base import Kind, Loss, TargetKind, UnlabeledLoss
from lapwing.losses.labeled import EpsilonInsensitive, Hinge, Squared, SquaredHinge
from lapwing.losses.registry import LOSSES, UNLABELED_LOSSES, as_loss, as_unlabeled_loss
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
