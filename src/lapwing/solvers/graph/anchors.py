r"""Anchor graph regularisation: values at the anchors, from labels and the reduced Laplacian.

.. math:: A = (Z_l^T Z_l + \gamma Z^T L Z)^{-1} Z_l^T Y_l

(Liu, He and Chang, ICML 2010; errata E14) with the labels weighted, and labels out of it by
class mass normalisation, argmax_j (ZA)_j / sum_i (ZA)_ij, over memberships A of the classes that
sum to one.

The labels are coded -1 and +1 here as everywhere in the library: as L 1 = 0 and the rows of Z sum
to one, the solution for t = 2 y - 1 is 2 A - 1, of which memberships are recovered exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.voting import of_each_class
from lapwing.solvers.graph.penalized import left_out_values, penalized_least_squares


@dataclass(frozen=True, eq=False)
class AnchorValues:
    """Values at the anchors.

    Attributes
    ----------
    values : ndarray of shape (m, c)
        Of the columns of the targets.
    objective : ndarray of shape (c,)
        Minimum of sum_i w_i (y_i - (Za)_i)^2 + gamma a'Z'LZ a.
    left_out : callable () -> ndarray of shape (l, c)
        Values at each label by the fit without it; NaN where that is none.
    """

    values: Array
    objective: Array
    left_out: Callable[[], Array]


def anchor_values(
    labeled_rows: Any,
    targets: Array,
    weights: Array,
    smoothness: Array,
    gamma_I: float,
    reached: Array,
) -> AnchorValues:
    """Fit values at the anchors to the labels.

    Parameters
    ----------
    labeled_rows : csr_array of shape (l, m)
        Z at the labelled points.
    targets : ndarray of shape (l, c)
        Labels, -1 and +1.
    weights : ndarray of shape (l,)
        Positive.
    smoothness : ndarray of shape (m, m)
        Z'LZ.
    gamma_I : float
        gamma.
    reached : ndarray of bool of shape (m,)
        Anchors of components that hold a label. The others do not enter the system, in which they
        are a null space, and get the weighted mean of the targets: what is known without the graph.
    """
    values = np.tile(weights @ targets / weights.sum(), (len(reached), 1))
    part = np.flatnonzero(reached)
    rows = labeled_rows[:, part]
    fit = penalized_least_squares(rows, targets, weights, gamma_I * smoothness[np.ix_(part, part)])
    values[part] = fit.coef
    left_out = partial(left_out_values, fit, rows, targets, weights)
    return AnchorValues(values, fit.objective, left_out)


def mass_scales(values: Array, masses: Array, targets: Array) -> Array:
    """What memberships are multiplied with for equal masses, over the anchors that labels reach.

    Parameters
    ----------
    values : ndarray of shape (m, c)
        Values at the anchors for labels -1 and +1; one column for two classes.
    masses : ndarray of shape (m,)
        Z'1.
    targets : ndarray of shape (l, c)
        Labels, -1 and +1.

    Returns
    -------
    ndarray of shape (k,)
        (n / k) / sum_i (Z M)_ij, M the memberships of the k classes; 1 with equal masses.
    """
    members, labels = (1 + of_each_class(values)) / 2, (1 + of_each_class(targets)) / 2
    mass = masses @ members
    # Memberships may be negative, and so may their sum where the unlabelled points count against
    # a class. Its labels are then what it has: over the labelled points alone, a column of the
    # solution sums to them.
    mass = np.where(mass > 0, mass, labels.sum(axis=0))
    return np.asarray(masses.sum() / len(mass) / mass)


def normalize_masses(values: Array, scales: Array) -> Array:
    """Divide memberships by the masses of their classes.

    Parameters
    ----------
    values : ndarray of shape (m, c)
        For labels -1 and +1; one column for two classes.
    scales : ndarray of shape (k,)
        By `mass_scales`.

    Returns
    -------
    ndarray of shape (m, c)
        Values 2 s - 1, s the memberships times the scales; for two classes the difference of the
        two s.
    """
    members = (1 + of_each_class(values)) / 2
    shares = members * scales
    if members.shape[1] > values.shape[1]:  # one column for two classes
        return np.asarray(shares[:, 1:] - shares[:, :1])
    return np.asarray(2 * shares - 1)
