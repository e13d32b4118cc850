r"""Which of several partitions with other volumes is to be believed, where none are known.

Three things speak, each in units of a log-likelihood (nats), and their sum decides:

.. math:: \log\Big(\text{cut} / \text{cut by chance} + \tfrac1n\Big) + \mathrm{KL}(v \,\|\, \pi)
    - \ell(v).

*The graph*: few edges between classes, relative to what classes of these volumes v would cut by
chance, which keeps small classes from being cheap. An n-th part of the chance is what one point
weighs: less is no difference.

*The belief* pi that the numbers of labels leave.

*The labels that are left out*. Some labels of each class in turn are hidden from a simple method,
Poisson learning with a leak, and it is asked for them at the volumes v: its values F plus the
offsets b(v) that give the classes of all points these volumes. Classes are drawn in proportions of
their own where labels are drawn, r among the labels and v among all points, so the class of a label
has the probability

.. math:: p_{ik} \propto \frac{r_k}{v_k} \exp \beta (f_{ik} + b_k(v)), \qquad
    \ell(v) = \max_{0 \le \beta \le 1/T} \sum_i \log p_{i y_i}

(the weights of a sample by classes: C. Manski and S. Lerman, "The estimation of choice
probabilities from choice based samples", Econometrica 45, 1977-1988, 1977). Labels that were drawn
in equal numbers so do no harm: of a class that the volumes make too small, labels are lost to
others. How sharp the values are, beta, the labels say themselves; the objective of beta is convex.
A single label of a class cannot be left out: then the other two decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from lapwing._arrays import Array
from lapwing.classes.balance import balance
from lapwing.objectives.volumes import GraphOperator, VolumeProblem, relative_entropy
from lapwing.solvers.graph.start import ROUGH, reach_of, temperature_of

__all__ = ["LeftOut", "chance_cut", "label_likelihood", "leave_out", "most_credible"]

_ROUNDS = 5  # in which labels are left out


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Labels that were left out, and what a simple method says of them at several volumes.

    Attributes
    ----------
    codes : ndarray of int of shape (a,)
        Classes of the labels.
    values : ndarray of shape (v, a, c)
        At each of the volumes, values with offsets; the largest of a row is the class.
    n_iter : int
        Products with the graph.
    """

    codes: Array
    values: Array
    n_iter: int

    def counts(self, number: int) -> Array:
        """Labels of each class (row) that were found in each class, at the volumes of a number."""
        c = self.values.shape[2]
        found = np.zeros((c, c))
        np.add.at(found, (self.codes, self.values[number].argmax(axis=1)), 1)
        return found


def leave_out(problem: VolumeProblem, volumes: Sequence[Array]) -> LeftOut:
    """Leave labels out of Poisson learning with a leak; every round some of each class.

    A class keeps one label at least in every round: one of a single label is never asked for.

    Parameters
    ----------
    problem : VolumeProblem
    volumes : sequence of ndarray of shape (c,)
        Positive, each with the sum 1: at which the method is asked.
    """
    turn, n_iter = _turns(problem), 0
    values = np.zeros((len(volumes), len(turn), problem.n_classes))
    for number in range(int(turn.max(initial=-1)) + 1):
        hidden = turn == number
        part = replace(
            problem,
            index=problem.index[~hidden],
            labels=problem.labels[~hidden],
            weights=problem.weights[~hidden],
        )
        reach, spent = reach_of(part)
        n_iter += spent
        for told, v in zip(values, volumes, strict=True):
            at = balance(reach, v, temperature_of(problem), masses=problem.sizes, tol=ROUGH)
            told[hidden] = reach[problem.index[hidden]] + at.offsets
    asked = turn >= 0
    return LeftOut(problem.codes[asked], values[:, asked], n_iter)


def _turns(problem: VolumeProblem) -> Array:
    """Round in which each label is left out; -1 for none."""
    turn = np.full(len(problem.index), -1)
    for k in range(problem.n_classes):
        mine = np.flatnonzero(problem.codes == k)
        if len(mine) > 1:
            turn[mine] = np.arange(len(mine)) % _ROUNDS
    return turn


def most_credible(
    problem: VolumeProblem,
    partitions: Sequence[Array],
    volumes: Sequence[Array],
    left_out: LeftOut,
) -> int:
    """Number of the partition for which most speaks; the first of equal ones.

    Parameters
    ----------
    problem : VolumeProblem
        Its prior is the belief.
    partitions : sequence of ndarray of int of shape (n,)
    volumes : sequence of ndarray of shape (c,)
        Of the partitions.
    left_out : LeftOut
        At these volumes.
    """
    labels = np.bincount(problem.codes, minlength=problem.n_classes)
    sharpest, scores = 1 / temperature_of(problem), []
    for codes, v, values in zip(partitions, volumes, left_out.values, strict=True):
        cut = chance_cut(problem.graph, codes, problem.n_classes) + 1 / problem.n_points
        told = label_likelihood(values, left_out.codes, v, labels, sharpest)
        scores.append(np.log(cut) + relative_entropy(v, problem.prior) - told)
    return int(np.argmin(scores))


def chance_cut(graph: GraphOperator, codes: Array, n_classes: int) -> float:
    """Part of the edges' weight between classes over that of chance, at the classes' volumes.

    0 is no edge, and 1 as many as at random; 0 where there is but one class or no edge.
    """
    cuts = graph.cuts(codes, n_classes)
    total = float(cuts.sum())
    if total == 0:
        return 0.0
    parts = cuts.sum(axis=1) / total
    chance = 1 - float(parts @ parts)
    return (1 - float(np.trace(cuts)) / total) / chance if chance > 0 else 0.0


def label_likelihood(
    values: Array, codes: Array, volumes: Array, labels: Array, sharpest: float
) -> float:
    """Largest log-likelihood of the classes of labels over the sharpness of values.

    Parameters
    ----------
    values : ndarray of shape (a, c)
    codes : ndarray of int of shape (a,)
        Classes of the labels; there may be none.
    volumes : ndarray of shape (c,)
        v, positive.
    labels : ndarray of shape (c,)
        Numbers of labels of the classes, in proportion r; positive.
    sharpest : float
        The largest beta.
    """
    if not len(codes):
        return 0.0
    drawn = np.log(labels / volumes)
    mine = np.arange(len(codes)), codes

    def loss(beta: float) -> float:
        logits = beta * values + drawn
        return float((logsumexp(logits, axis=1) - logits[mine]).sum())

    return -float(minimize_scalar(loss, bounds=(0, sharpest), method="bounded").fun)
