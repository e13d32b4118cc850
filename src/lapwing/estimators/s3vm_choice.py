"""Checks of `S3VC`: combinations of parameters, balance, weights of unlabelled rows."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from lapwing._arrays import Array
from lapwing.classes.decoding import predict_codes
from lapwing.estimators.classifier import check_classes
from lapwing.estimators.prepared import Targets
from lapwing.losses.base import TargetKind, UnlabeledLoss
from lapwing.losses.registry import as_loss, as_unlabeled_loss
from lapwing.problem import Problem, check_weight_sizes
from lapwing.solvers import Status
from lapwing.solvers.low_density.machines import Balance, Observations
from lapwing.solvers.low_density.methods import Method, as_method, check_losses
from lapwing.spaces import Linear

# C* u / (C l) of C_star=None. With C = 100 and method='gradient' chosen over twenty binary problems
# of the papers' data (2 or 3 splits each; mean error on the unlabelled points, the SVM 22.4 %):
#
#     C     ratio   continuation  quasi-newton  gradient
#     1     1           22.1          21.6        21.7
#     10    0.1         19.4          19.6        19.4
#     10    1           18.5          17.7        17.9
#     10    10          18.7          17.3        17.7
#     100   0.1         17.5          16.8        16.7
#     100   1           18.2          16.6        16.1
#     100   10          18.5          16.6        16.1
#
# Continuation has the least error on ten of them and loses up to 25 points on four whose classes
# are no clusters (USPS with ten digits in two classes, g241d).
DEFAULT_RATIO = 1.0

_LARGEST = 1e12

# A pair of classes on one core of 2020: some 400 evaluations in all rounds, by Python and by
# products with its coordinates, which caches hold up to a thousand points; to factor takes less.
_EVALUATIONS = 400
_OVERHEAD = 2.5e-4  # seconds
_SPEED = 4e9  # operations a second

# Classes up to which multi_class='auto' fits pairs. 60 classes of 300 points take three minutes on
# one core and 200 of 600 take 33, of which nearly all is the overhead of some 20,000 machines.
_MOST_PAIRED = 60

_BALANCES = (
    "'labels' (the mean label), a fraction of the second class between 0 and 1, a pair of such "
    "fractions, a dict or Series of fractions by class, or None"
)


def check_combination(estimator: BaseEstimator) -> None:
    """Refuse parameters that do not go together.

    Raises
    ------
    ValueError
        Naming both parameters and what to change.
    """
    for name in ("C", "C_star"):
        if (getattr(estimator, name) or 0) > _LARGEST:
            raise ValueError(
                f"{name}={getattr(estimator, name)!r} must be at most {_LARGEST:g}: beyond, the "
                "norm is below the rounding of the losses. Scale the features instead."
            )
    if estimator.gamma_I > _LARGEST:
        raise ValueError(
            f"gamma_I={estimator.gamma_I!r} must be at most {_LARGEST:g}: beyond, the graph leaves "
            "no digits to the losses and the kernel's norm. Use a smaller gamma_I."
        )
    check_losses(
        estimator.method,
        as_loss(estimator.loss, TargetKind.SIGNS),
        choose_unlabeled_loss(estimator.unlabeled_loss, estimator.method, float(estimator.s)),
    )
    precomputed = isinstance(estimator.kernel, str) and estimator.kernel == "precomputed"
    if precomputed and isinstance(estimator.space, Linear):
        raise ValueError(
            "space=Linear() takes the features of X, which kernel='precomputed' does not have. "
            "Pass points, or use space=None."
        )
    if estimator.balance is not None and not estimator.fit_intercept:
        raise ValueError(
            f"balance={estimator.balance!r} sets the bias, which fit_intercept=False leaves out. "
            "Use fit_intercept=True, or balance=None."
        )


def read_balance(balance: Any, classes: Array, *, fit_intercept: bool) -> Balance:
    """Read the parameter of that name.

    Raises
    ------
    ValueError
        For anything that is no balance of these classes.
    """
    if balance is None:
        return Balance("free" if fit_intercept else "none")
    if isinstance(balance, str) and balance == "labels":
        return Balance("labels")
    if getattr(balance, "ndim", 0) == 1 and hasattr(balance, "to_dict"):
        balance = balance.to_dict()  # a Series, such as `value_counts(normalize=True)`
    if isinstance(balance, Mapping):
        return Balance("fractions", _fractions(balance, classes))
    several = len(classes) > 2
    if _is_fraction(balance):
        if several:
            raise ValueError(_two_classes_only(balance, len(classes)))
        return Balance("fractions", np.array([1 - float(balance), float(balance)]))
    if isinstance(balance, (tuple, list)) and len(balance) == 2:
        if not all(map(_is_fraction, balance)) or not balance[0] <= balance[1]:
            raise ValueError(
                f"balance={balance!r} must be two fractions 0 <= lower <= upper <= 1 of the class "
                f"{classes.tolist()[-1]!r}."
            )
        if several:
            raise ValueError(_two_classes_only(balance, len(classes)))
        return Balance("interval", np.array(balance, dtype=np.float64))
    raise ValueError(f"balance={balance!r} must be {_BALANCES}.")


def _is_fraction(value: Any) -> bool:
    real = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    return real and math.isfinite(value) and 0 <= value <= 1


def _two_classes_only(balance: Any, n_classes: int) -> str:
    return (
        f"balance={balance!r} speaks of the second of two classes, and there are {n_classes}. Give "
        "a dict with the fraction of every class, or balance='labels'."
    )


def _fractions(balance: Mapping[Any, Any], classes: Array) -> Array:
    labels = classes.tolist()
    if set(balance) != set(labels):
        raise ValueError(
            f"balance must give the fraction of every class, {', '.join(map(repr, labels))}, and "
            f"of no other; it has {', '.join(map(repr, balance)) or 'none'}."
        )
    fractions = np.array(
        [balance[label] if _is_fraction(balance[label]) else -1.0 for label in labels]
    )
    if (fractions < 0).any() or not math.isclose(fractions.sum(), 1.0, abs_tol=1e-6):
        raise ValueError(
            f"balance={dict(balance)!r} must hold fractions between 0 and 1 that sum to 1."
        )
    return fractions


def check_weights_of_all(targets: Targets, problem: Problem) -> None:
    """Refuse weights that leave a class without a label, negative or much too large ones.

    Raises
    ------
    ValueError
        Naming the classes or the row.
    """
    check_classes(targets, problem)
    negative = np.flatnonzero(~problem.labeled_rows & (problem.row_weights < 0))
    if len(negative):
        row = negative[0]
        raise ValueError(
            f"sample_weight must not be negative: the unlabelled row {row} has "
            f"{problem.row_weights[row]}. S3VC weighs unlabelled rows as well."
        )
    check_weight_sizes(problem.row_weights, ~problem.labeled_rows)


def observe(problem: Problem, n_classes: int) -> Observations:
    """Labelled and unlabelled points; unlabelled rows that are equal are one, of their sum."""
    # Rows left out of the points may lose their label when labels are drawn anew.
    rows = np.flatnonzero(~problem.labeled_rows & (problem.vertex >= 0))
    total = np.bincount(problem.vertex[rows], problem.row_weights[rows], problem.n_points)
    unlabeled = np.unique(problem.vertex[rows])
    return Observations(
        problem.index,
        predict_codes(problem.targets),
        problem.weights,
        unlabeled,
        total[unlabeled],
        n_classes,
    )


def choose_unlabeled_loss(loss: Any, method: Method | str, s: float) -> UnlabeledLoss:
    """The loss of that name or the object; of 'auto' that of the method."""
    if isinstance(loss, str) and loss == "auto":
        loss = as_method(method).unlabeled_loss
    return as_unlabeled_loss(loss, {"s": s})


def pairs_of_classes(multi_class: str, n_classes: int) -> bool:
    """Whether `S3VC` fits a machine for every pair of so many classes."""
    return n_classes > 2 and (
        multi_class == "ovo" or (multi_class == "auto" and n_classes <= _MOST_PAIRED)
    )


def seconds_of_pairs(n_points: int, n_classes: int) -> float:
    """About how long machines of pairs take by one thread."""
    n_pairs, of_pair = n_classes * (n_classes - 1) / 2, 2.0 * n_points / n_classes
    return n_pairs * _EVALUATIONS * (_OVERHEAD + 4 * of_pair**2 / _SPEED)


def worst(statuses: Sequence[Status]) -> Status:
    """Return the status of a fit of several columns."""
    for status in (Status.CALLBACK, Status.MAX_ITER, Status.PRECISION):
        if status in statuses:
            return status
    return Status.CONVERGED
