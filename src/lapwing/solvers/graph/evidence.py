r"""Evidence for one of several partitions whose volumes are unknown.

Four terms, each in nats, are added to the evidence against a partition:

.. math:: \log\Big(\text{cut} / \text{cut by chance} + \tfrac1n\Big) + \mathrm{KL}(v \,\|\, \pi)
    - \log B(r + 1, l - r + 1) + \max(0, \ell_{\max} - \ell(v) - (c - 1) / 2).

*The graph*: few edges between classes, relative to what classes of these volumes v would cut by
chance, which keeps small classes from being cheap. An n-th part of the chance is what one point
weighs: less is no difference.

*The belief* pi that the numbers of labels leave.

*The labels that are contradicted*. Of l labels, r + 1 lie where most neighbours are of another
class; one alone may lie at a boundary of a right answer too, and counts as none. If the share of
such labels is not known, and all shares are equally likely, exactly these r are contradicted with
the probability B(r + 1, l - r + 1), Euler's beta function: r! (l - r)! / (l + 1)!.

*The labels that are left out*. A fifth of each class's labels, in turn, is hidden from a simple
method, and the classes that it gives them are counted: N, true by found. Labels may have been drawn
in equal numbers, so N alone says nothing about the volumes. But the same method gives all points
together the volumes u. If the true volumes are v, the joint shares T of true and found classes have
the sums v and u, and how well these explain the counts is

.. math:: \ell(v) = \max_T \sum_{kj} N_{kj} \log \frac{T_{kj}}{v_k}, \qquad T 1 = v,\; T^T 1 = u.

So labels of one class that are lost to another say that it is larger than the method makes it (the
adjusted count of G. Forman, "Quantifying counts and costs via classification", Data Mining and
Knowledge Discovery 17, 164-206, 2008, as a likelihood).

Some volumes fit a few counts better than the true ones by chance. The largest log-likelihood of any
volumes is l_max, with T_kj / v_k = N_kj / N_k. That of the true ones is (c - 1) / 2 nats less, in
the mean over many counts (S. S. Wilks, "The large-sample distribution of the likelihood ratio for
testing composite hypotheses", Annals of Mathematical Statistics 9, 60-62, 1938: the sums u are
c - 1 conditions), so that only a larger difference counts. Few labels are therefore no evidence,
and a single label of a class cannot be left out: then the other terms decide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sla
from scipy.special import betaln

from lapwing._arrays import Array
from lapwing.objectives.volumes import GraphOperator, VolumeProblem, relative_entropy
from lapwing.solvers.graph.linear import first_codes, reach_of

_ROUNDS = 5  # in which labels are left out
_STEPS, _HALVINGS = 100, 50
_FLAT = 1e-9  # of the likelihood
_AT_BOUNDARIES = 1  # labels


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Labels that were left out, and the method that was asked for them.

    Attributes
    ----------
    counts : ndarray of shape (c, c)
        N: of each class (row), how many were found in each class.
    volumes : ndarray of shape (c,)
        u: shares of all points that the method gives to the classes, in the mean over the labels
        that were left out; 0 if none can be.
    n_iter : int
        Products with the graph.
    """

    counts: Array
    volumes: Array
    n_iter: int


def count_left_out(problem: VolumeProblem) -> LeftOut:
    """Leave labels out of balanced Poisson learning with a leak, some of each class in each round.

    A class keeps at least one label in every round, so that a single label is never left out.

    Parameters
    ----------
    problem : VolumeProblem
    """
    c, n_iter = problem.n_classes, 0
    counts, volumes = np.zeros((c, c)), np.zeros(c)
    turn = _turns(problem)
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
        codes = first_codes(part, reach)
        np.add.at(counts, (problem.codes[hidden], codes[problem.index[hidden]]), 1)
        volumes += hidden.sum() * problem.volumes(problem.whole(codes))
    return LeftOut(counts, volumes / max(counts.sum(), 1), n_iter)


def _turns(problem: VolumeProblem) -> Array:
    """Return the round in which each label is left out; -1 for none."""
    turn = np.full(len(problem.index), -1)
    for k in range(problem.n_classes):
        mine = np.flatnonzero(problem.codes == k)
        if len(mine) > 1:
            turn[mine] = np.arange(len(mine)) % _ROUNDS
    return turn


def negative_log_evidence(problem: VolumeProblem, codes: Array, left_out: LeftOut) -> float:
    """Compute the evidence against a partition, in nats; only differences mean something.

    Parameters
    ----------
    problem : VolumeProblem
        Its prior is the belief.
    codes : ndarray of int of shape (n,)
    left_out : LeftOut
    """
    c, n_labels, members = problem.n_classes, len(problem.index), problem.members(codes)
    volumes = problem.volumes(members)
    cut = chance_cut(problem.graph, codes, c) + 1 / problem.n_points
    belief = relative_entropy(volumes, problem.prior)
    contradicted = max(problem.disagreeing(members) - _AT_BOUNDARIES, 0)
    kept = betaln(contradicted + 1, n_labels - contradicted + 1)
    return float(np.log(cut) + belief - kept + left_out_miss(left_out, volumes))


def left_out_miss(left_out: LeftOut, volumes: Array) -> float:
    """Compute the evidence of left-out labels against volumes, in nats beyond those by chance.

    Parameters
    ----------
    left_out : LeftOut
    volumes : ndarray of shape (c,)
        v, positive.
    """
    if not left_out.counts.any():
        return 0.0
    c = len(volumes)
    # One more label, spread over all entries, so that no pair of classes is impossible.
    counts = left_out.counts + 1 / c**2
    best = float((counts * np.log(counts / counts.sum(axis=1, keepdims=True))).sum())
    missed = best - table_likelihood(counts, volumes, left_out.volumes)
    return max(missed - (c - 1) / 2, 0.0)


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


def table_likelihood(counts: Array, rows: Array, columns: Array) -> float:
    """Largest log-likelihood of a table of counts within its rows, the joint sums being given.

    Parameters
    ----------
    counts : ndarray of shape (c, c)
        N > 0.
    rows, columns : ndarray of shape (c,)
        Sums of the joint shares T, positive; both sum to one.

    Returns
    -------
    float
        max_T sum N log(T / rows).

    Notes
    -----
    T = N / (a_k + b_j), and the multipliers a, b minimise the dual a'rows + b'columns - sum N
    log(a + b), which is convex: Newton's method. Its null vector, a constant moved from a to b, is
    held.
    """
    c = len(rows)
    sums = np.concatenate([rows, columns])
    null = np.concatenate([np.ones(c), -np.ones(c)])
    x = np.full(2 * c, float(counts.sum()) / 2)
    value = _dual(counts, sums, x)
    for _ in range(_STEPS):
        table = counts / (x[:c, None] + x[None, c:])
        gradient = sums - np.concatenate([table.sum(axis=1), table.sum(axis=0)])
        bent = table**2 / counts
        hessian = np.block([[np.diag(bent.sum(axis=1)), bent], [bent.T, np.diag(bent.sum(axis=0))]])
        hessian += np.outer(null, null) * float(np.trace(hessian)) / (2 * c) ** 2
        step = -sla.solve(hessian, gradient, assume_a="sym")
        slope = float(gradient @ step)
        if -slope <= _FLAT:
            break
        for halvings in range(_HALVINGS):
            trial = x + 0.5**halvings * step
            found = _dual(counts, sums, trial)
            if found <= value + 1e-4 * 0.5**halvings * slope:
                break
        else:
            break
        x, value = trial, found
    table = counts / (x[:c, None] + x[None, c:])
    return float((counts * np.log(table / table.sum(axis=1, keepdims=True))).sum())


def _dual(counts: Array, sums: Array, x: Array) -> float:
    c = len(counts)
    both = x[:c, None] + x[None, c:]
    if not (both > 0).all():
        return float("inf")
    return float(sums @ x - (counts * np.log(both)).sum())
