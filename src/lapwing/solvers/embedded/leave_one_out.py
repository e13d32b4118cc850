r"""Leave-one-out virtual labels of LapERLS.

The virtual labels are linear in the targets, and the minimum is a quadratic one: without
observation i, of weight lambda_i at the row b_i of the basis,

.. math:: g_i^{(-i)} = g_i - \frac{s_i}{1 - s_i} (y_i - g_i), \qquad
          s_i = \lambda_i b_i^T (H + S)^{-1} b_i .

An observation that alone holds a part of g has s near 1, and what 1 - s and y - g lose of their
digits the answer lacks. It has to be left out of the sum S instead. As all s sum to no more than r,
those are hardly more than r observations, however many there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lapwing._arrays import Array
from lapwing.linalg import column_dot, spd_halves
from lapwing.objectives.embedded import GraphSide
from lapwing.solvers.embedded.least_squares import KernelSide

_HELD_ALONE = 0.99  # leverages beyond cost more than two digits


class LeftOut(NamedTuple):
    """Virtual labels at the observations by the solutions without them."""

    values: Array  # (l, c)
    told: Array  # (l,) bool: whether digits are left


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what overflows is not told
def left_out_values(kernel: KernelSide, side: GraphSide) -> LeftOut:
    """Leave every observation of a graph side out, in O(l r^2 + r^3)."""
    forward, backward = spd_halves(kernel.system(side))
    g = side.values_at(side.index, backward(forward(side.pull)))
    half = forward(side.rows(side.index).T * np.sqrt(side.weights))
    leverage = column_dot(half, half)
    told = leverage <= _HELD_ALONE
    ratio = np.where(told, leverage / (1 - leverage), 0.0)
    return LeftOut(g - ratio[:, None] * (side.targets - g), told)
