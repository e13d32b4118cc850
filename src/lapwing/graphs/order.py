"""An order of the points that keeps neighbours near each other, so that products stay in the cache.

Rows come in the order in which they were collected, and the neighbours of a point may lie anywhere
among them: a product with the graph then waits for memory at every edge. Points of 100 sheets in
random order, ten neighbours each: with ten columns a product takes 13 ms in place of 89 at 300,000
points, 3.5 in place of 5.1 at 80,000, and as long at 5000.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import reverse_cuthill_mckee

from lapwing._arrays import Array
from lapwing.graphs.base import CSR

_HUBS = 1000  # neighbours that the end of an edge has, on the average


def near_order(matrix: CSR) -> Array:
    """The order of reverse Cuthill and McKee ([1]_): breadth first, from an end of each part.

    Where a few points are neighbours of most others nothing is near, and sorting their neighbours
    would take the square of their number: the points stay in the order that they have.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        With an entry for every two neighbours, both ways.

    Returns
    -------
    ndarray of int of shape (n,)
        Of each place, the number of the point that comes there.

    References
    ----------
    .. [1] E. Cuthill and J. McKee, "Reducing the bandwidth of sparse symmetric matrices", ACM
       National Conference, 157-172, 1969.
    """
    neighbors = np.diff(matrix.indptr).astype(np.float64)
    if neighbors @ neighbors > _HUBS * matrix.nnz:
        return np.arange(len(neighbors))
    return np.asarray(reverse_cuthill_mckee(matrix, symmetric_mode=True))
