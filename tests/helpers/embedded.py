"""Embedded regression: direct fits, and the objective of a fitted estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from lapwing import LapESVC, LapESVR
from lapwing.solvers.embedded.systems import DenseSystem, EmbeddedResult, FeatureSystem
from tests.helpers.answers import coded_targets, labeled_rows, scores
from tests.helpers.manifold import dense_laplacian


def least_squares(problem: DenseSystem | FeatureSystem, C: float) -> EmbeddedResult:
    """LapERLS for the labels of a problem."""
    return problem.eliminate(C).minimize(problem.side)


def is_tube(model: Any) -> bool:
    return isinstance(model, (LapESVC, LapESVR))


def objective(model: Any, X: Any, y: Any) -> np.ndarray:
    """The objective (14) or (33) at the function and virtual labels of a fitted estimator."""
    f, g = scores(model, X), model.virtual_labels_
    if hasattr(model, "coef_"):
        norm = (model.coef_**2).sum(axis=1)
    else:
        K = rbf_kernel(model.X_fit_, gamma=model.kernel_.gamma)
        norm = np.einsum("ij,ij->j", model.alpha_, K @ model.alpha_)
    r = f - g
    loss = model.C / 2 * r**2
    if is_tube(model):
        loss = model.C * np.maximum(np.abs(r) - model.epsilon, 0)
    fit = model.lam / 2 * ((g[labeled_rows(y)] - coded_targets(model, y)) ** 2).sum(axis=0)
    smooth = model.mu / 2 * np.einsum("ij,ij->j", g, dense_laplacian(model) @ g)
    total: np.ndarray = norm / 2 + loss.sum(axis=0) + fit + smooth
    return total
