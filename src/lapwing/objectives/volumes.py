r"""Labels on a graph and volumes of classes: the problem, and the energy that is minimised.

Shares Q (n x K, rows that sum to one) are sought that follow the labels, cut few edges and hold the
volumes v of the classes near a prior pi. With the degrees D = diag(d), L = D - W and a weight a of
the labels Y, the energy of Q at the scale s is what smoothing Q would cost,

.. math:: E_s(Q) = \min_F \tfrac12 \sum_i d_i |f_i - q_i|^2 + \tfrac{s}{2}\,\mathrm{tr}\,F^T L F
    + \tfrac a2 \sum_{i \in \mathrm{labelled}} d_i w_i |f_i - y_i|^2,

and with the contrast c of the scale, the degrees' sum V, a temperature T and a softness tau

.. math:: J(Q) = \frac1{cV} \Big( E_s(Q) + \tfrac12 \sum_i d_i (1 - |q_i|^2) \Big)
    - \frac TM \sum_i m_i H(q_i) + \tau\, \mathrm{KL}(v \,\|\, \pi).

The second term is 0 for whole shares. F solves (D + sL + a D_labelled) F = DQ + a D_labelled Y, and
-J is convex in Q but for the entropy, with F / c as its slope in the metric of the degrees: so
putting Q where the *linearised* energy is least (`lapwing.classes.balance`) never raises J.

E_s is a smoothed cut: the points within reach of s from a boundary weigh in, and for s to 0 it is
s/2 times the edges that are cut.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import scipy.sparse as sp

from lapwing._arrays import Array
from lapwing.classes.decoding import predict_codes
from lapwing.graphs.base import CSR
from lapwing.linalg import column_dot
from lapwing.problem import Problem

CLAMP = 10.0  # a: what a label weighs beside the shares of its point


class GraphOperator(Protocol):
    """Operations that a graph must offer; `lapwing.graphs.diffusion.Diffusion` does."""

    @property
    def n_points(self) -> int: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def nbytes(self) -> int:
        """Memory of W."""

    @property
    def degrees(self) -> Array:
        """W 1."""

    @property
    def masses(self) -> Array:
        """D, positive."""

    @property
    def component_labels(self) -> Array:
        """Number of the connected component of each point."""

    @property
    def ordered(self) -> tuple[Array, Self]:
        """An order of the points with neighbours near each other, and the graph in it."""

    def neighbors(self, F: Array) -> Array:
        """W F."""

    def laplacian(self, F: Array) -> Array:
        """L F."""

    def walk(self, F: Array) -> Array:
        """D^-1 W F."""

    def vote(self, shares: Array | CSR, rows: Array) -> Array:
        """Mean shares of the neighbours of some rows."""

    def cuts(self, codes: Array, n_classes: int) -> Array:
        """Weights between every two classes."""

    def cut(self, codes: Array) -> float:
        """Weight of the edges between points of different classes."""

    def restrict(self, rows: Array) -> Self:
        """The same on some of the points."""


class Scale(NamedTuple):
    """A scale of the resolvent, and how much contrast it leaves."""

    s: float
    contrast: float


@dataclass(frozen=True, eq=False)
class VolumeProblem:
    """A graph, labels at some of its points and a prior.

    Attributes
    ----------
    graph : GraphOperator
    index : ndarray of shape (l,)
        Labelled points, each once.
    labels : ndarray of shape (l, c)
        Y: one-hot rows; shares where the labels of a point contradict each other.
    weights : ndarray of shape (l,)
        w > 0 of the labels, about 1.
    prior : ndarray of shape (c,)
        pi; sums to 1.
    exact : bool
        Whether the volumes are known to be those of the prior.
    sizes : ndarray of shape (n,)
        m > 0: what a point counts in the volumes.
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
        """Points without a label."""
        mask = np.ones(self.n_points, dtype=bool)
        mask[self.index] = False
        return np.flatnonzero(mask)

    @cached_property
    def known(self) -> Array:
        """Mass of each class among the labels."""
        return np.asarray(self.sizes[self.index] @ self.labels)

    @cached_property
    def clamp(self) -> Array:
        """A D_labelled w, as a diagonal (n,)."""
        held = np.zeros(self.n_points)
        held[self.index] = CLAMP * self.graph.masses[self.index] * self.weights
        return held

    @cached_property
    def pull(self) -> Array:
        """Contribution of the labels to right-hand sides, a D_labelled Y, on their rows (l, c)."""
        return np.asarray(self.clamp[self.index, None] * self.labels)

    def with_prior(self, prior: Array, *, exact: bool) -> VolumeProblem:
        """The same with another prior."""
        return replace(self, prior=prior, exact=exact)

    def whole(self, codes: Array) -> Array:
        """Shares (n, c) of points that belong to one class each, the labels' among them."""
        Q = np.zeros((self.n_points, self.n_classes), dtype=self.graph.dtype)
        Q[np.arange(self.n_points), codes] = 1
        Q[self.index] = self.labels
        return Q

    def members(self, codes: Array) -> CSR:
        """`whole`, as a sparse matrix: it costs no more for many classes."""
        labelled, classes = np.nonzero(self.labels)
        rows = np.concatenate([self.free, self.index[labelled]])
        columns = np.concatenate([codes[self.free], classes])
        values = np.concatenate([np.ones(len(self.free)), self.labels[labelled, classes]])
        shape = (self.n_points, self.n_classes)
        return sp.csr_array((values.astype(self.graph.dtype), (rows, columns)), shape=shape)

    def volumes(self, shares: Array | CSR) -> Array:
        """Part of each class in all points."""
        return np.asarray(self.sizes @ shares / self.sizes.sum())

    def disagreeing(self, shares: Array | CSR) -> int:
        """Labels that most of their graph neighbours contradict."""
        votes = self.graph.vote(shares, self.index)
        mine = votes[np.arange(len(self.index)), self.codes]
        return int((votes.max(axis=1) > mine).sum())

    def energy(self, shares: Array, fitted: Array, residual: Array) -> float:
        """E_s(Q) + 1/2 sum_i d_i (1 - |q_i|^2), over V.

        Parameters
        ----------
        shares : ndarray of shape (n, c)
            Q.
        fitted : ndarray of shape (n, c)
            F, about the solution.
        residual : ndarray of shape (n, c)
            Of the system at F: with it the error of the energy is of second order in that of F.
        """
        d, labels = self.graph.masses, self.labels
        constant = d.sum() / 2 + self.clamp[self.index] @ (labels**2).sum(axis=1) / 2
        linear = float((d.astype(fitted.dtype)[:, None] * shares * fitted).sum(dtype=np.float64))
        linear += float((self.pull * fitted[self.index]).sum())
        gain = (linear + float(column_dot(fitted, residual).sum())) / 2
        return float((constant - gain) / d.sum())


def entropy(shares: Array) -> Array:
    """Entropy of each row."""
    terms = np.maximum(shares, np.finfo(shares.dtype).tiny)  # 0 log 0 is 0
    np.log(terms, out=terms)
    terms *= shares
    return np.asarray(-terms.sum(axis=1))


def relative_entropy(volumes: Array, prior: Array) -> float:
    """KL(v || pi); infinite where a class of prior 0 has a volume."""
    some = volumes > 0
    if (prior[some] == 0).any():
        return float("inf")
    return max(0.0, float(volumes[some] @ np.log(volumes[some] / prior[some])))


def volume_problem(
    problem: Problem, graph: GraphOperator, prior: Array, *, exact: bool
) -> VolumeProblem:
    """Return the labels of a problem on its graph, each point weighed by the rows that equal it.

    A point with contradicting labels has the share of each, by their weights.
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
