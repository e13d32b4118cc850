"""Least squares on the simplex, for many small problems at once: local anchor embedding.

For every row of a batch the point of the convex hull of s anchors that is nearest to x, as weights:

    min |x - sum_k z_k u_k|^2   subject to   z >= 0, sum_k z_k = 1

(Liu, He and Chang, "Large graph construction for scalable semi-supervised learning", ICML 2010). As
the weights sum to one, x - sum_k z_k u_k = -sum_k z_k (u_k - x): with G the Gram matrix of the
differences it is the minimum of z'Gz, the point of least norm in a convex hull.
"""

from __future__ import annotations

import numpy as np

from lapwing._arrays import Array

# Duality gap of z'Hz / 2 at which a row is done, relative to the largest diagonal entry of H.
GAP = 1e-10
# Added to the diagonal, relative as well: G is singular where corners are affinely dependent, and
# always where there are more of them than features. It is too far below the gap to be seen in it.
_RIDGE = 1e-12
# Each round adds a corner to the support or drops one. Rounds are few times s; the limit only keeps
# rounding from going in circles, and the weights are feasible after every round.
_ROUNDS_PER_CORNER = 20


def simplex_weights(gram: Array) -> Array:
    """Minimise z'Gz over the simplex for a batch of positive semi-definite matrices G.

    Wolfe's algorithm for the nearest point of a polytope, with all rows of the batch in step: a
    row's support grows by the corner with the steepest descent, the minimum on the affine hull of
    the support is solved for, and corners whose weights would become negative are dropped. It ends
    at the exact solution after a few rounds, where the projected gradient of the paper ends at a
    tolerance after hundreds.

    Parameters
    ----------
    gram : ndarray of shape (n, s, s)
        Symmetric positive semi-definite, float64; may be singular. It is not modified.

    Returns
    -------
    ndarray of shape (n, s)
        Weights z >= 0 with sum 1. The objective z'Gz / 2 is within `GAP` times the largest
        diagonal entry of G of its minimum. Where the weights are not unique, those of a few corners
        are taken, and they depend on the order of the corners.
    """
    n, s, _ = gram.shape
    scale = np.einsum("nkk->nk", gram).max(axis=1, initial=0.0)
    corners = np.arange(s)
    H = gram / np.where(scale > 0, scale, 1.0)[:, None, None]
    H[:, corners, corners] += _RIDGE
    start = np.einsum("nkk->nk", H).argmin(axis=1)
    support = corners == start[:, None]
    z = support.astype(np.float64)
    rows = np.arange(n)
    settled = np.ones(n, dtype=bool)  # one corner is the minimum of its affine hull
    for _ in range(_ROUNDS_PER_CORNER * s):
        unfinished = ~settled
        unfinished[settled] = _grow(H, z, support, rows[settled])
        rows = rows[unfinished]
        if not len(rows):
            break
        settled = _descend(H, z, support, rows)
    return np.asarray(z / z.sum(axis=1, keepdims=True))


def _grow(H: Array, z: Array, support: Array, rows: Array) -> Array:
    """Add the steepest corner to rows that stand at the minimum of their support.

    Returns the mask of those that leave it, as it is not the minimum of the simplex.
    """
    gradient = np.einsum("nkl,nl->nk", H[rows], z[rows])
    steepest = gradient.argmin(axis=1)
    gap = np.einsum("nk,nk->n", gradient, z[rows]) - gradient.min(axis=1)
    leaves = gap > GAP
    support[rows[leaves], steepest[leaves]] = True
    return np.asarray(leaves)


def _descend(H: Array, z: Array, support: Array, rows: Array) -> Array:
    """Go to the minimum on the affine hull of the support, or as far as weights are positive.

    Returns the mask of the rows that arrived.
    """
    on = support[rows]
    both = on[:, :, None] & on[:, None, :]
    masked = np.where(both, H[rows], np.eye(on.shape[1]))
    # H y = const on the support: y is the solution for the right-hand side 1, made to sum to one.
    target = np.linalg.solve(masked, on.astype(np.float64)[:, :, None])[:, :, 0]
    target /= target.sum(axis=1, keepdims=True)
    here = z[rows]
    leaving = on & (target <= 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(leaving, here / (here - target), np.inf)
    step = np.minimum(reach.min(axis=1), 1.0)
    moved = here + step[:, None] * (target - here)
    gone = leaving & (reach <= step[:, None])
    moved[gone | ~on] = 0
    z[rows] = moved
    support[rows] = on & ~gone
    return np.asarray(~gone.any(axis=1))
