r"""Anchor graph regularisation: values at the anchors, from labels and the reduced Laplacian.

.. math:: A = (Z_l^T Z_l + \gamma Z^T L Z)^{-1} Z_l^T Y_l

(Liu, He and Chang, ICML 2010; errata E14) with the labels weighted, and labels out of it by
class mass normalisation, argmax_j (ZA)_j / sum_i (ZA)_ij, over memberships A of the classes that
sum to one.

The labels are coded -1 and +1 here as everywhere in the library: as L 1 = 0 and the rows of Z sum
to one, the solution for t = 2 y - 1 is 2 A - 1, of which memberships are recovered exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.voting import of_each_class
from lapwing.solvers.graph.penalized import penalized_least_squares

__all__ = ["AnchorValues", "anchor_values", "normalize_masses"]


@dataclass(frozen=True, eq=False)
class AnchorValues:
    """Values at the anchors.

    Attributes
    ----------
    values : ndarray of shape (m, c)
        Of the columns of the targets.
    objective : ndarray of shape (c,)
        Minimum of sum_i w_i (y_i - (Za)_i)^2 + gamma a'Z'LZ a.
    """

    values: Array
    objective: Array


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
    fit = penalized_least_squares(
        labeled_rows[:, part], targets, weights, gamma_I * smoothness[np.ix_(part, part)]
    )
    values[part] = fit.coef
    return AnchorValues(values, fit.objective)


def normalize_masses(values: Array, masses: Array, targets: Array) -> Array:
    """Divide memberships by the masses of their classes, over the anchors that labels reach.

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
    ndarray of shape (m, c)
        Values 2 s - 1 with s = (n / k) M_j / sum_i (Z M)_ij, M the memberships of the k classes;
        for two classes the difference of the two s. With equal masses they are the values given.
    """
    members, labels = (1 + of_each_class(values)) / 2, (1 + of_each_class(targets)) / 2
    mass = masses @ members
    # Memberships may be negative, and so may their sum where the unlabelled points count against
    # a class. Its labels are then what it has: over the labelled points alone, a column of the
    # solution sums to them.
    mass = np.where(mass > 0, mass, labels.sum(axis=0))
    shares = members * (masses.sum() / len(mass) / mass)
    if members.shape[1] > values.shape[1]:  # one column for two classes
        return np.asarray(shares[:, 1:] - shares[:, :1])
    return np.asarray(2 * shares - 1)
