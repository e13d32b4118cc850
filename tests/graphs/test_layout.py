"""Layouts of graphs in the plane."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from lapwing.graphs import layout
from lapwing.graphs.layout import neighbor_map

needs_tsne = pytest.mark.skipif(
    find_spec("openTSNE") is None, reason="openTSNE is not installed (extra 'map')"
)


def groups(*sizes: int) -> tuple[sp.csr_array, np.ndarray]:
    """Components in which every two points are joined, and the number of each point's one."""
    blocks = [np.ones((size, size)) - np.eye(size) for size in sizes]
    return sp.csr_array(sp.block_diag(blocks)), np.repeat(np.arange(len(sizes)), sizes)


def test_small_components_are_apart_from_each_other() -> None:
    affinity, group = groups(1, 20, 7, 1, 12)
    places = neighbor_map(affinity, np.zeros((41, 2)))
    distances = cdist(places, places)
    other = group[:, None] != group
    assert distances[other].min() > 1.0
    assert distances[~np.eye(41, dtype=bool)].min() > 0.5  # no two at one place


def test_without_the_dependency_the_error_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openTSNE", None)
    with pytest.raises(ImportError, match=r"A map of neighbours needs 'openTSNE'.*\[map\]"):
        neighbor_map(groups(30)[0], np.zeros((30, 2)))


@needs_tsne
def test_components_with_the_same_start_are_separated(monkeypatch: pytest.MonkeyPatch) -> None:
    # Components drift apart for ever, and the grid of the interpolation grows with the map.
    monkeypatch.setattr(layout, "_STAGES", tuple((60, *stage[1:]) for stage in layout._STAGES))
    affinity, group = groups(30, 31, 4)
    places = neighbor_map(affinity, np.zeros((65, 2)), seed=3)
    assert np.array_equal(places, neighbor_map(affinity, np.zeros((65, 2)), seed=3))
    distances = cdist(places, places)
    np.fill_diagonal(distances, np.inf)
    assert (group[distances.argmin(axis=1)] == group).all()
    assert places[group == 2, 0].min() > places[group < 2, 0].max()
