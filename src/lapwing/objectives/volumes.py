r"""Problem and objective of graph methods with class volumes.

Class memberships Q (n x K), called shares, with rows that sum to one, are sought that agree with
the labels, cut few edges and have class volumes v near a prior pi. With the degrees D = diag(d),
L = D - W and a weight a of the labels Y, the energy of Q at the scale s is

.. math:: E_s(Q) = \min_F \tfrac12 \sum_i d_i |f_i - q_i|^2 + \tfrac{s}{2}\,\mathrm{tr}\,F^T L F
    + \tfrac a2 \sum_{i \in \mathrm{labelled}} d_i w_i |f_i - y_i|^2,

and with the contrast c of the scale, the sum V of the degrees, a temperature T, a weight tau
(`softness`), the entropy H, sizes m_i of the points and their sum M, the objective is

.. math:: J(Q) = \frac1{cV} \Big( E_s(Q) + \tfrac12 \sum_i d_i (1 - |q_i|^2) \Big)
    - \frac TM \sum_i m_i H(q_i) + \tau\, \mathrm{KL}(v \,\|\, \pi).

The term with |q_i|^2 is 0 for one-hot shares. F solves (D + sL + a D_labelled) F = DQ +
a D_labelled Y. Without the last two terms J is concave in Q, with the gradient -F / c in the metric
of the degrees (over V and up to a constant), so minimising J with this part *linearised*
(`lapwing.classes.balance`) never increases J.

E_s is a smoothed cut, to which points within a distance of the scale from a boundary contribute;
for s to 0 it is s/2 times the weight of the cut edges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from lapwing._arrays import Array
from lapwing.classes.decoding import predict_codes
from lapwing.graphs.base import CSR
from lapwing.graphs.diffusion import Diffusion
from lapwing.linalg import column_dot
from lapwing.problem import Problem

CLAMP = 10.0  # a: weight of a label relative to the shares of its point, as in the prototype


GraphOperator: TypeAlias = Diffusion
"""Graph of a problem, for the solvers: they import nothing from `lapwing.graphs`."""


class Scale(NamedTuple):
    """Scale s of the resolvent, and the contrast of the shares that remains."""

    s: float
    contrast: float


@dataclass(frozen=True, eq=False)
class VolumeProblem:
    """Graph with labels at some of its points and a prior of the volumes.

    Attributes
    ----------
    graph : GraphOperator
    index : ndarray of shape (l,)
        Labelled points, each once.
    labels : ndarray of shape (l, c)
        Y: one-hot rows, or class proportions if the labels of a point contradict each other.
    weights : ndarray of shape (l,)
        w > 0 of the labels, about 1.
    prior : ndarray of shape (c,)
        pi; sums to 1.
    exact : bool
        Whether the volumes are known to be those of the prior.
    sizes : ndarray of shape (n,)
        m > 0: weights of the points in the volumes.
    """

    graph: GraphOperator
    index: Array
    labels: Array
    weights: Array
    prior: Array
    exact: bool
    sizes: Array

    @property
    def n_points(self) -> int:
        return self.graph.n_points

    @property
    def n_classes(self) -> int:
        return int(self.labels.shape[1])

    @cached_property
    def codes(self) -> Array:
        """Class of each labelled point."""
        return np.asarray(self.labels.argmax(axis=1))

    @cached_property
    def free(self) -> Array:
        """Indices of the points without a label."""
        mask = np.ones(self.n_points, dtype=bool)
        mask[self.index] = False
        return np.flatnonzero(mask)

    @cached_property
    def known(self) -> Array:
        """Sum of the sizes of the labelled points of each class."""
        return np.asarray(self.sizes[self.index] @ self.labels)

    @cached_property
    def clamp(self) -> Array:
        """Diagonal (n,) of the term of the labels, a d_i w_i; 0 for points without a label."""
        held = np.zeros(self.n_points)
        held[self.index] = CLAMP * self.graph.masses[self.index] * self.weights
        return held

    @cached_property
    def pull(self) -> Array:
        """Rows (l, c) of the labelled points in right-hand sides, a d_i w_i y_i."""
        return np.asarray(self.clamp[self.index, None] * self.labels)

    def with_prior(self, prior: Array, *, exact: bool) -> VolumeProblem:
        """Replace the prior."""
        return replace(self, prior=prior, exact=exact)

    def whole(self, codes: Array) -> Array:
        """Return one-hot shares (n, c) for given classes; labelled points get their labels."""
        Q = np.zeros((self.n_points, self.n_classes), dtype=self.graph.dtype)
        Q[np.arange(self.n_points), codes] = 1
        Q[self.index] = self.labels
        return Q

    def members(self, codes: Array) -> CSR:
        """Return `whole` as a sparse matrix, in O(n) memory for any number of classes."""
        labelled, classes = np.nonzero(self.labels)
        rows = np.concatenate([self.free, self.index[labelled]])
        columns = np.concatenate([codes[self.free], classes])
        values = np.concatenate([np.ones(len(self.free)), self.labels[labelled, classes]])
        shape = (self.n_points, self.n_classes)
        return sp.csr_array((values.astype(self.graph.dtype), (rows, columns)), shape=shape)

    def volumes(self, shares: Array | CSR) -> Array:
        """Compute the volumes of shares: the fraction of each class by size."""
        if isinstance(shares, np.ndarray):
            # A product would convert float32 shares to float64 as a whole.
            total = np.einsum("i,ij->j", self.sizes, shares)
        else:
            total = self.sizes @ shares
        return np.asarray(total / self.sizes.sum())

    def differing(self, one: Array, other: Array) -> float:
        """Compute the fraction of points whose class differs, weighted by their sizes."""
        return float(self.sizes @ (one != other) / self.sizes.sum())

    def disagreeing(self, shares: Array | CSR) -> int:
        """Count the labels whose class is not the most frequent one among the graph neighbours."""
        votes = self.graph.vote(shares, self.index)
        mine = votes[np.arange(len(self.index)), self.codes]
        return int((votes.max(axis=1) > mine).sum())

    def energy(self, shares: Array, fitted: Array, residual: Array) -> float:
        """Compute (E_s(Q) + 1/2 sum_i d_i (1 - |q_i|^2)) / V.

        Parameters
        ----------
        shares : ndarray of shape (n, c)
            Q.
        fitted : ndarray of shape (n, c)
            F, an approximate solution.
        residual : ndarray of shape (n, c)
            Residual of the system at F, which makes the error of the energy second order in that of
            F.
        """
        d, labels = self.graph.masses, self.labels
        constant = d.sum() / 2 + self.clamp[self.index] @ (labels**2).sum(axis=1) / 2
        products = d.astype(fitted.dtype)[:, None] * shares
        products *= fitted
        linear = float(products.sum(dtype=np.float64))
        linear += float((self.pull * fitted[self.index]).sum())
        gain = (linear + float(column_dot(fitted, residual).sum())) / 2
        return float((constant - gain) / d.sum())


def entropy(shares: Array) -> Array:
    """Compute the entropy of each row."""
    terms = np.maximum(shares, np.finfo(shares.dtype).tiny)  # 0 log 0 is 0
    np.log(terms, out=terms)
    terms *= shares
    return np.asarray(-terms.sum(axis=1))


def relative_entropy(volumes: Array, prior: Array) -> float:
    """Compute KL(v || pi); infinite if a class with prior 0 has a positive volume."""
    some = volumes > 0
    if (prior[some] == 0).any():
        return float("inf")
    return max(0.0, float(volumes[some] @ np.log(volumes[some] / prior[some])))


def volume_problem(
    problem: Problem, graph: GraphOperator, prior: Array, *, exact: bool
) -> VolumeProblem:
    """Convert a problem and its graph; the size of a point is the number of its equal rows.

    Contradicting labels of a point become class proportions, by their weights.
    """
    index, place = np.unique(problem.index, return_inverse=True)
    votes = np.zeros((len(index), len(prior)))
    np.add.at(votes, (place.ravel(), predict_codes(problem.targets)), problem.weights)
    weights = votes.sum(axis=1)
    used = problem.vertex[problem.vertex >= 0]
    return VolumeProblem(
        graph,
        index,
        votes / weights[:, None],
        weights / weights.mean(),
        prior,
        exact,
        np.bincount(used, minlength=problem.n_points).astype(np.float64),
    )
