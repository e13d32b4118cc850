"""Where the inverted lists of a search lie: their centres, and which are the nearest of a point.

To compare every point with every centre takes n^1.5. So the centres are sorted into groups, and a
point is compared with those of the nearest groups. It may miss its nearest list. What counts is
that a search looks for a point where it was put, and that is what the recall measures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing._arrays import Array

LIST_SIZE = 39  # points a list below which faiss writes a warning to the terminal
# Of k-means: lists need to be even, not optimal. Of 200,000 x 64 images twice the lists, trained
# on twice the points in ten rounds, take 4.6 processor seconds to make instead of 0.6, and 5.7 to
# search instead of 6.8 (blobs: 57 instead of 39).
_ROUNDS = 4
_GROUPS_READ = 8  # at least, of about sqrt(number of lists): all of them up to 64 lists


@dataclass(frozen=True, eq=False)
class ListPlaces:
    """Centres of lists in groups.

    Attributes
    ----------
    faiss : module
    groups : faiss.IndexIVFFlat
        Of the centres.
    """

    faiss: Any
    groups: Any

    @classmethod
    def of(cls, faiss: Any, centers: Array, seed: int) -> ListPlaces:
        """Sort centres (n_lists, d), float32, into groups; the same ones for a seed."""
        groups = _grouping(faiss, len(centers), centers.shape[1], seed)
        groups.train(centers)
        groups.add(centers)
        return cls(faiss, groups)

    def nearest(self, points: Array, n_lists: int) -> Array:
        """Numbers (b, n_lists) of the lists nearest to points (b, d), float32, the nearest first.

        -1 where the groups that are read hold no more.
        """
        # Twice as many groups as hold so many lists, for those at the edge of theirs.
        more = 2 * n_lists * self.groups.nlist // max(1, self.groups.ntotal)
        read = min(_GROUPS_READ + more, self.groups.nlist)
        settings = self.faiss.SearchParametersIVF(nprobe=read)
        return np.asarray(self.groups.search(points, n_lists, params=settings)[1])


def empty_lists(faiss: Any, quantizer: Any, n_lists: int, seed: int) -> Any:
    """Lists without places: training on points puts even ones into the quantizer."""
    index = faiss.IndexIVFFlat(quantizer, quantizer.d, n_lists)
    _set_training(index.cp, seed)
    return index


def centers_of_lists(faiss: Any, sample: Array, n_lists: int, seed: int) -> Array:
    """Centres (n_lists, d) of a sample (m, d) by k-means, which compares them in groups, too."""
    settings, d = faiss.ClusteringParameters(), sample.shape[1]
    _set_training(settings, seed)
    settings.max_points_per_centroid = len(sample)
    means = faiss.Clustering(d, n_lists, settings)
    means.train(sample, _grouping(faiss, n_lists, d, seed))
    return np.asarray(faiss.vector_to_array(means.centroids).reshape(n_lists, -1))


def _grouping(faiss: Any, n_lists: int, d: int, seed: int) -> Any:
    groups = empty_lists(faiss, faiss.IndexFlatL2(d), max(1, int(n_lists**0.5)), seed)
    groups.nprobe = min(_GROUPS_READ, groups.nlist)
    return groups


def _set_training(settings: Any, seed: int) -> None:
    settings.seed, settings.niter = seed, _ROUNDS
    settings.min_points_per_centroid = 1  # of fewer faiss warns on standard output
