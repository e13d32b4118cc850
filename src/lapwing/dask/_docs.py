"""Documentation that only estimators on a cluster share; all else is that of those in memory."""

from __future__ import annotations

from typing import TypeVar

from lapwing.estimators import _docs

T = TypeVar("T", bound=type)

_ENTRIES = {
    "client": """
client : distributed.Client or None, default=None
    The cluster; None is the current client. It is never pickled with the estimator.
""",
    "lazy_transduction_": """
transduction_ : dask.array.Array of shape (n_samples,)
    Predicted class of every training point, in the chunks of X, computed when asked for.
""",
    "lazy_transduction_by_g_": """
transduction_ : dask.array.Array of shape (n_samples,)
    Predicted class of every training point by g, in the chunks of X, computed when asked for.
""",
    "lazy_transduction_proba_": """
transduction_proba_ : dask.array.Array of shape (n_samples, n_classes)
    Probabilities of the classes for them.
""",
    "lazy_virtual_labels_": """
virtual_labels_ : dask.array.Array of shape (n_samples, n_columns)
    g.
""",
    "named_kernel": """
kernel : str, default='rbf'
    Name of a kernel of points.
""",
    "neighbor_graph": """
graph : KNNGraph or None, default=None
    The graph: metric 'euclidean', weights 'heat' or 'binary'. None is the default one of the
    estimator without Dask.
""",
    "landmark_space": """
space : Landmarks or 'auto', default='auto'
    Landmarks of f, drawn from a sample; 'auto' is ``Landmarks()``.
""",
    "landmark_alpha_": """
alpha_ : ndarray of shape (n_landmarks, n_columns)
    Expansion coefficients of f.
""",
    "landmark_X_fit_": """
X_fit_ : ndarray of shape (n_landmarks, n_features)
    The landmarks.
""",
}


def document(cls: T) -> T:
    """Fill the entries of clusters, and those of the estimators in memory, into a docstring."""
    return _docs.document(cls, _ENTRIES)
