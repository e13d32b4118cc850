"""A search in inverted lists by points whose nearest lists are known.

Points that read the same lists follow one another: the lists stay in the caches of the processor.
The lists are looked for once, and serve the order and the search.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lapwing._arrays import Array


@dataclass(frozen=True, eq=False)
class ListReading:
    """Which lists some points read.

    Attributes
    ----------
    index : faiss.IndexIVF
    lists : ndarray of int of shape (b, index.nprobe)
        Of each point, the nearest first; -1 for none.
    """

    index: Any
    lists: Array

    @cached_property
    def order(self) -> Array:
        """Rows (b,) of the points, those of a list one after another."""
        return np.argsort(self.lists[:, 0], kind="stable")

    def candidates(self, points: Array, rows: Array, width: int) -> Array:
        """Numbers (r, width) of what may be nearest to some of the points; -1 for none.

        Parameters
        ----------
        points : ndarray of shape (r, d), float32
            As the index takes them.
        rows : ndarray of int of shape (r,)
            Which of the points they are.
        width : int
        """
        return np.asarray(self.index.search_preassigned(points, width, self.lists[rows], None)[1])
