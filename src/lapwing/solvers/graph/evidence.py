r"""Evidence for the choice between partitions with different class volumes.

Four terms, each in nats, are added to the evidence against a partition:

.. math:: \log\Big(\text{cut} / \text{cut by chance} + \tfrac1n\Big) + \mathrm{KL}(v \,\|\, \pi)
    - \log B(r + 1, l - r + 1) + \max(0, \ell_{\max} - \ell(v) - (c - 1) / 2).

*The graph*: the cut relative to the expected cut of random classes with these volumes v, so that
small classes have no advantage. The term 1/n, the weight of one point, makes smaller differences
irrelevant.

*The prior* pi of the volumes, given the numbers of labels.

*Contradicted labels*. Of l labels, r + 1 are on points most of whose neighbours are in another
class; a single one may be at a class boundary in a correct partition and is not counted. If the
probability that a label is contradicted has a uniform prior, the probability that exactly these r
labels are contradicted is the beta function B(r + 1, l - r + 1) = r! (l - r)! / (l + 1)!.

*Left-out labels*. In each of five rounds a fifth of the labels of each class is left out, and a
simple method predicts their classes. N are the counts by true and predicted class. As labels may
have been drawn in equal numbers, N alone carries no information on the volumes. But the predictions
of the same method for all points have the volumes u. If the true volumes are v, the joint
distribution T of true and predicted class has the marginals v and u, and the log-likelihood of the
counts is

.. math:: \ell(v) = \max_T \sum_{kj} N_{kj} \log \frac{T_{kj}}{v_k}, \qquad T 1 = v,\; T^T 1 = u.

So labels of a class that are predicted as another class indicate that the class is larger than in
the prediction (the adjusted count of G. Forman, "Quantifying counts and costs via classification",
Data Mining and Knowledge Discovery 17, 164-206, 2008, as a likelihood).

Some volumes fit a few counts better than the true volumes by chance. The maximum of the
log-likelihood over all volumes is l_max, with T_kj / v_k = N_kj / N_k. For the true volumes and
many counts it is smaller by (c - 1) / 2 nats on average (S. S. Wilks, "The large-sample
distribution of the likelihood ratio for testing composite hypotheses", Annals of Mathematical
Statistics 9, 60-62, 1938: the marginals u are c - 1 conditions), so that only a larger difference
counts. Few labels therefore give no evidence, and the only label of a class cannot be left out; the
other terms then decide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sla
from scipy.special import betaln

from lapwing._arrays import Array
from lapwing.objectives.volumes import GraphOperator, VolumeProblem, relative_entropy
from lapwing.solvers.graph.propagation import first_codes, reach_of

_ROUNDS = 5  # in which labels are left out
_STEPS, _HALVINGS = 100, 50  # maxima of Newton's method and its line search
_FLAT = 1e-9  # nats: a smaller predicted decrease of the dual ends Newton's method
_ON_PATH = 33  # volumes from the prior to the adjusted count
_POSITIVE = 1e-6  # smallest volume, whose logarithm is needed
AT_BOUNDARIES = 1  # contradicted labels that are not counted


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions for left-out labels.

    Attributes
    ----------
    counts : ndarray of shape (c, c)
        N: number of left-out labels by true class (row) and predicted class (column).
    volumes : ndarray of shape (c,)
        u: volumes of the predicted classes of all points, averaged over the left-out labels; 0 if
        no label can be left out.
    n_iter : int
        Products with the graph.
    """

    counts: Array
    volumes: Array
    n_iter: int


def count_left_out(problem: VolumeProblem) -> LeftOut:
    """Predict left-out labels by balanced Poisson learning with a leak, in rounds.

    A class keeps at least one label in every round, so that its only label is never left out.
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
    """Compute the evidence against a partition, in nats, up to a constant."""
    c, n_labels, members = problem.n_classes, len(problem.index), problem.members(codes)
    volumes = problem.volumes(members)
    cut = chance_cut(problem.graph, codes, c) + 1 / problem.n_points
    belief = relative_entropy(volumes, problem.prior)
    contradicted = max(problem.disagreeing(members) - AT_BOUNDARIES, 0)
    kept = betaln(contradicted + 1, n_labels - contradicted + 1)
    return float(np.log(cut) + belief - kept + left_out_miss(left_out, volumes))


def adjusted_count(left_out: LeftOut) -> Array:
    """Estimate the volumes of two classes from the errors of left-out labels: the adjusted count.

    If fractions `wrong` of the first class and `right` of the second are predicted as the second
    class, the volume v of the second class and the predicted one u satisfy v right + (1 - v) wrong
    = u (Forman 2008). Predictions no better than chance leave u as it is.
    """
    counts = _smoothed(left_out.counts)
    wrong, right = counts[:, 1] / counts.sum(axis=1)
    if right <= wrong:
        return left_out.volumes
    second = np.clip((left_out.volumes[1] - wrong) / (right - wrong), 0, 1)
    return np.array([1 - second, second])


def nearest_to_prior(left_out: LeftOut, prior: Array) -> Array:
    """Return the volumes of two classes nearest the prior that left-out labels do not contradict.

    They are between the prior and the adjusted count, which is exact for many labels only.
    """
    end = adjusted_count(left_out)
    path = [np.maximum(prior + t * (end - prior), _POSITIVE) for t in np.linspace(0, 1, _ON_PATH)]
    return next((v for v in path if left_out_miss(left_out, v) == 0), path[-1])


def _smoothed(counts: Array) -> Array:
    """Add one label, distributed over all entries, so that no pair of classes is impossible."""
    return np.asarray(counts + 1 / counts.size)


def left_out_miss(left_out: LeftOut, volumes: Array) -> float:
    """Compute the evidence of left-out labels against positive volumes, in nats beyond chance."""
    if not left_out.counts.any():
        return 0.0
    c = len(volumes)
    counts = _smoothed(left_out.counts)
    best = float((counts * np.log(counts / counts.sum(axis=1, keepdims=True))).sum())
    missed = best - table_likelihood(counts, volumes, left_out.volumes)
    return max(missed - (c - 1) / 2, 0.0)


def chance_cut(graph: GraphOperator, codes: Array, n_classes: int) -> float:
    """Compute the cut relative to that expected for random classes of the same volumes.

    It is 1 for random classes, and 0 without edges between classes, with one class or no edge.
    """
    cuts = graph.cuts(codes, n_classes)
    total = float(cuts.sum())
    if total == 0:
        return 0.0
    parts = cuts.sum(axis=1) / total
    chance = 1 - float(parts @ parts)
    return (1 - float(np.trace(cuts)) / total) / chance if chance > 0 else 0.0


def table_likelihood(counts: Array, rows: Array, columns: Array) -> float:
    """Compute the maximum log-likelihood of a table of counts, given its rows, for given marginals.

    Parameters
    ----------
    counts : ndarray of shape (c, c)
        N > 0.
    rows, columns : ndarray of shape (c,)
        Marginals of the joint distribution T, positive; both sum to one.

    Returns
    -------
    float
        max_T sum N log(T / rows).

    Notes
    -----
    T = N / (a_k + b_j), where the multipliers a, b minimise the convex dual a'rows + b'columns -
    sum N log(a + b) (Newton's method). Its null vector, a constant moved from a to b, is fixed.
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
