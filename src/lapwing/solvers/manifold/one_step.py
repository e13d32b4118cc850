r"""Leave-one-out values to first order: one Newton step from the solution, nothing fitted again.

With slopes l' and curvatures l'' of the weighted losses at the solution, the step that removes
observation i of those E with curvature ends at

.. math:: f^{(-i)}(x_i) = f_i - \frac{l'_i}{l''_i} + \frac{l'_i}{(A^{-1})_{ii}},
          \qquad A = T_{EE} + D^{-1}, \quad D = \mathrm{diag}(l''),

which is the formula of `lapwing.solvers.manifold.leave_one_out` without the test whether it is
exact: it is for the squared loss, and for the squared hinge where no other score leaves its piece.
One matrix of the size of the labels is inverted, where leave-one-out may solve a problem a label.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from lapwing._arrays import Array
from lapwing.objectives.manifold import Objective


def one_step_values(reduced: Objective, kernel: Array, scores: Array) -> Array:
    """Score of every observation by a Newton step to the solution without it.

    Parameters
    ----------
    reduced : Objective
        On the labelled points, with gamma_A = 1, without a graph; of a loss with a derivative.
    kernel : ndarray of shape (q, q)
        The kernel matrix of its points.
    scores : ndarray of shape (l, c)
        Of the observations at its minimum.

    Returns
    -------
    ndarray of shape (l, c)
        NaN where a matrix has no inverse in double precision.
    """
    y, w, loss = reduced.targets, reduced.weights[:, None], reduced.loss
    scores = np.asarray(scores, dtype=np.float64)
    slopes, curvatures = w * loss.derivative(y, scores), w * loss.curvature(y, scores)
    T = kernel[np.ix_(reduced.index, reduced.index)]
    values = scores.copy()  # without a pull nothing changes
    patterns, group = np.unique(curvatures, axis=1, return_inverse=True)
    for number, d in enumerate(patterns.T):
        columns, E = np.flatnonzero(group.ravel() == number), np.flatnonzero(d)
        if not len(E):
            continue
        diagonal = _inverse_diagonal(T[np.ix_(E, E)], d[E], bias=reduced.fit_intercept)
        at = np.ix_(E, columns)
        values[at] = scores[at] - slopes[at] / d[E][:, None] + slopes[at] / diagonal[:, None]
    return values


def _inverse_diagonal(T: Array, d: Array, *, bias: bool) -> Array:
    """Of (T + 1/D)^-1, or of that with a row and column of ones for a free bias."""
    A = T.copy()
    A.flat[:: len(d) + 1] += 1 / d
    # A third of the work of `inv`, which a fit to nothing but labels would feel.
    factor, failed = lapack.dpotrf(A, lower=1, overwrite_a=1)
    if failed:
        return np.full(len(d), np.nan)
    lower, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    diagonal = np.diag(lower).copy()
    if bias:
        sums = np.tril(lower).sum(axis=1) + np.tril(lower, -1).sum(axis=0)
        diagonal -= sums**2 / sums.sum()
    return np.where(diagonal > 0, diagonal, np.nan)
