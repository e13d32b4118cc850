r"""Probability that a label is wrong, from the answers of fits without it.

Let p_i be the probabilities of the classes of row i by the fit without its label, and let a share e
of all labels be wrong, each in favour of any other of the K classes alike. Then label y_i is wrong
with the probability

.. math:: \frac{e (1 - p_{i y_i}) / (K - 1)}{e (1 - p_{i y_i}) / (K - 1) + (1 - e) p_{i y_i}}.

Neither e nor the sharpness of the p_i is known. Wrong labels make the answers look less sharp, and
answers that are too sharp make right labels look wrong, so that both are averaged over their joint
posterior: the sharpness has the prior of `lapwing.classes.probabilities`, and e is uniform up to
0.3. The largest posterior alone explains wrong labels by soft answers: on wine with six of 60
labels wrong it finds one of them, and the average finds four.
"""

from __future__ import annotations

import numpy as np

from lapwing._arrays import Array
from lapwing.classes.decoding import of_each_class, predict_codes
from lapwing.classes.probabilities import Sharpness, class_probabilities

# Of labels; where more are wrong there is nothing to compare a label with.
_MOST_WRONG = 0.3
_SHARES = 20
_REACH = 4.0  # spreads of the sharpness to each side
_NODES = 33


def probability_wrong(scores: Array, codes: Array, sharpness: Sharpness) -> Array:
    """How probable it is that each label is wrong.

    Parameters
    ----------
    scores : ndarray of shape (l, c)
        Decision values of each label's row by the fit without it; NaN where it could not be left
        out.
    codes : ndarray of int of shape (l,)
        The classes that were given.
    sharpness : Sharpness
        By the prior alone.

    Returns
    -------
    ndarray of shape (l,)
        0 where the label could not be left out.
    """
    told = np.asarray(np.isfinite(scores).all(axis=1))
    found = np.zeros(len(codes))
    if not told.any():
        return found
    known, given = of_each_class(scores[told]), codes[told]
    shares = (_MOST_WRONG / _SHARES * (np.arange(_SHARES) + 0.5))[:, None]
    positions = np.linspace(-_REACH, _REACH, _NODES)
    likelihood = np.empty((_NODES, _SHARES))
    wrong = np.empty((_NODES, _SHARES, len(given)))
    for node, position in enumerate(positions):
        factor = sharpness.value * np.exp(sharpness.spread * position)
        right = class_probabilities(known, factor)[np.arange(len(given)), given]
        by_mistake = shares * (1 - right) / (known.shape[1] - 1)
        total = np.maximum(by_mistake + (1 - shares) * right, np.finfo(np.float64).tiny)
        likelihood[node] = np.log(total).sum(axis=1) - position**2 / 2
        wrong[node] = by_mistake / total
    weights = np.exp(likelihood - likelihood.max())
    found[told] = np.tensordot(weights / weights.sum(), wrong, axes=2)
    return found


def suspicious(scores: Array, codes: Array, sharpness: Sharpness) -> Array:
    """Labels that are more probably wrong than right, the most probable ones first.

    See `probability_wrong`; of equal ones the first. A label that the fit without it repeats is
    never among them.
    """
    wrong = probability_wrong(scores, codes, sharpness)
    known = np.asarray(np.isfinite(scores).all(axis=1))
    contradicted = known & (predict_codes(np.where(known[:, None], scores, 0.0)) != codes)
    order = np.argsort(-wrong, kind="stable")
    return np.asarray(order[(wrong[order] >= 0.5) & contradicted[order]])
