"""Graphs of points: recipes for affinities, and the Laplacian as an operator.

A recipe (one of `GRAPHS`, such as `KNNGraph`) is given to an estimator as ``graph=``;
`build_laplacian` turns it and the points into a `Laplacian`.
"""

from lapwing._host.modules import publish as _publish
from lapwing.graphs.affinity import AffinityGraph, TransformerGraph
from lapwing.graphs.anchors import AnchorGraph, Anchors
from lapwing.graphs.base import GraphRecipe
from lapwing.graphs.eigenfunctions import Eigenfunctions, Rotation
from lapwing.graphs.laplacian import AnchorLaplacian, Laplacian, ScaledLaplacian
from lapwing.graphs.neighbors import KNNGraph
from lapwing.graphs.registry import GRAPHS, as_graph, build_laplacian, default_graph
from lapwing.graphs.search import Neighbors
from lapwing.graphs.spectral import Eigenpairs, smallest_eigenpairs

__all__ = [
    "GRAPHS",
    "AffinityGraph",
    "AnchorGraph",
    "AnchorLaplacian",
    "Anchors",
    "Eigenfunctions",
    "Eigenpairs",
    "GraphRecipe",
    "KNNGraph",
    "Laplacian",
    "Neighbors",
    "Rotation",
    "ScaledLaplacian",
    "TransformerGraph",
    "as_graph",
    "build_laplacian",
    "default_graph",
    "smallest_eigenpairs",
]

# Recipes for ``graph=``, in the order of messages.
GRAPHS.update(
    (recipe.__name__, recipe) for recipe in (KNNGraph, AffinityGraph, TransformerGraph, AnchorGraph)
)

# Model files contain these names; registries, in capitals, have no `__module__` to set.
_publish(__name__, globals(), [name for name in __all__ if not name.isupper()])
