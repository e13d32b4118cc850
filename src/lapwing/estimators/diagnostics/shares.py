"""Warnings about classes' shares that were given and that the points contradict."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing._host.warn import warn
from lapwing.classes.column import plain
from lapwing.exceptions import BalanceWarning, ClassPriorWarning
from lapwing.solvers.low_density.shares import Contradiction

_CONTRADICTED_PRIOR = 0.1  # of the rows
_ODDS = 5.0  # to one; of a true prior of USPS 80:20, where two digits look like a class, up to four
_MISSED = 0.01  # of the points


def warn_missed_prior(volumes: Array, targets: Array, classes: Array) -> bool:
    """Warn if more than 1 % of the points are in other classes than the prior wants, by ties.

    Parameters
    ----------
    volumes, targets : ndarray of shape (n_classes,)
        Numbers of points.
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    bool
        Whether it warned.
    """
    misplaced = float(np.abs(volumes - targets).sum() / 2)
    if misplaced <= max(1.0, _MISSED * float(targets.sum())):
        return False
    k = int(np.abs(volumes - targets).argmax())
    warn(
        f"class_prior is missed by {misplaced:g} points: the class {classes.tolist()[k]!r} got "
        f"{volumes[k]:g} instead of {targets[k]:g}. Points with equal decision values can only "
        "move together. Usual causes: many rows that are all alike, or points that no label "
        "reaches, all of value 0 (connect the graph with more neighbours).",
        ClassPriorWarning,
    )
    return True


def warn_contradicted_prior(volumes: Array, nats: float, prior: Array) -> None:
    """Warn that the graph asks for other volumes than a prior that was met.

    Parameters
    ----------
    volumes : ndarray of shape (n_classes,)
        Parts that sum to 1, where they are left free.
    nats : float
        How much more speaks for them.
    prior : ndarray of shape (n_classes,)
    """
    moved = float(np.abs(volumes - prior).sum()) / 2
    if moved > _CONTRADICTED_PRIOR and nats > np.log(_ODDS):
        odds = f"{np.exp(nats):.0f}" if nats < np.log(1000) else "more than 1000"
        warn(
            "class_prior was met, but the graph and the labels contradict it: classes of other "
            f"sizes, with {100 * moved:.0f} % of the rows in another class, are {odds} times as "
            "likely by what they cut and by which labels they keep. If the prior is a guess, use "
            "class_prior='unknown'.",
            ClassPriorWarning,
        )


def warn_contradicted_balance(
    negative: Any, positive: Any, found: Contradiction, n_found: int, n_columns: int
) -> None:
    """Warn that the unlabelled points contradict the shares of the labels.

    Parameters
    ----------
    negative, positive : labels of classes
        Sides of the column that is told of; None where the negative one is all other classes.
    found : Contradiction
        Shares of the positive class among both. Where it is not sure the labels' shares were held.
    n_found, n_columns : int
        Columns of which the same is true, and all of them.
    """
    name, share = plain(positive), f"{100 * found.unlabeled:.0f} %"
    which, pair, cure = "", "", "balance={class: fraction, ...}, a fraction for every class"
    if n_columns > 1:
        which = f" in {n_found} of {n_columns} columns"
        pair = "" if negative is None else f", beside class {plain(negative)!r}"
    else:
        shares = {plain(negative): round(1 - found.unlabeled, 2), name: round(found.unlabeled, 2)}
        cure = f"balance={shares!r}"
    held, used = f"was not held{which}", f"; the fit uses these {share}"
    if not found.sure:
        held, used = "was held and may be wrong", ", as far as so few labels can tell"
    warn(
        f"balance='labels' {held}. Class {name!r} has {100 * found.labels:.0f} % of the "
        f"labels{pair}, but about {share} of the unlabelled rows look like it{used}. If you know "
        f"the true shares, pass them: {cure}. If they are those of the labels, pass these in the "
        "same way.",
        BalanceWarning,
    )
