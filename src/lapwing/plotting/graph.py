"""Plots of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_array

from lapwing._arrays import Array, as_dense
from lapwing._host.modules import require
from lapwing._parameters import parameters
from lapwing._rows.base import PointsLike
from lapwing.model_selection.candidates import transform_before_last
from lapwing.plotting.drawing import (
    PALE,
    PREDICTED,
    LegendDisplay,
    add_legend,
    as_written,
    color_of,
    column_names,
    finish,
    last_step,
    principal_plane,
    scatter,
    scatter_labeled,
)
from lapwing.problem import distinct_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@parameters
class GraphDisplay(LegendDisplay):
    """Graph of a fit in two coordinates, with edges by weight and labelled points.

    Predictions follow the edges: labels spread along an edge between two clouds, and predictions of
    a component without labels depend on the kernel alone. Create it with `from_estimator`.

    Parameters
    ----------
    layout : ndarray of shape (n_points, 2)
        Coordinates of the points.
    affinity : sparse matrix of shape (n_points, n_points)
        Symmetric weights of the edges.
    codes : ndarray of int of shape (n_points,)
        Indices of the predictions in `classes`; all 0 for regression.
    labeled : ndarray of bool of shape (n_points,)
        Points with a label.
    classes : sequence, default=()
        The classes, in the order of the palette; empty for regression.
    names : sequence of two str, default=()
        Names of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The Axes of the plot.
    figure_ : matplotlib Figure
        Its figure.
    edges_ : matplotlib LineCollection
        The edges, each drawn once; heavier edges are thicker and less transparent.
    unlabeled_ : matplotlib PathCollection
        Unlabelled points, in the colour of their prediction.
    labeled_ : list of matplotlib PathCollection
        Labelled points, one collection for each class.

    Examples
    --------
    >>> from lapwing import LapSVC
    >>> from lapwing.datasets import make_two_moons
    >>> from lapwing.plotting import GraphDisplay
    >>> X, y = make_two_moons(random_state=0)
    >>> display = GraphDisplay.from_estimator(LapSVC().fit(X, y), X)
    >>> display.affinity.shape
    (200, 200)
    """

    _: KW_ONLY
    layout: NDArray[Any]
    affinity: Any
    codes: NDArray[Any]
    labeled: NDArray[np.bool_]
    classes: Sequence[Any] = ()
    names: Sequence[str] = ()

    _SIZE = (6.4, 5.2)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: PointsLike,
        *,
        layout: ArrayLike | None = None,
        ax: Axes | None = None,
        title: str | None = None,
        legend: bool = True,
    ) -> Self:
        """Draw the graph of a fitted estimator.

        Parameters
        ----------
        estimator : estimator or Pipeline
            A fitted estimator of lapwing with `affinity_`, or a fitted Pipeline that ends in one.
        X : {array-like, sparse matrix, dataframe} of shape (n, n_features)
            The rows of the fit, in the same order.
        layout : array-like of shape (n, 2), default=None
            Coordinates of the rows, for example by t-SNE. None means the two features if there are
            no more, or else the first two principal components.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a new figure of pyplot.
        title : str, default=None
            Title of the Axes.
        legend : bool, default=True
            Whether to explain the signs.

        Returns
        -------
        GraphDisplay
            The display.

        Raises
        ------
        ValueError
            If the estimator has no graph, X is not that of the fit, X is a kernel matrix without a
            layout, or the layout does not have two columns.
        ImportError
            If matplotlib is not installed.
        """
        model = last_step(estimator)
        X = transform_before_last(estimator, X)
        names = column_names(X)
        affinity = _affinity(model)
        rows = check_array(X, accept_sparse="csr", dtype=None)
        if rows.shape[0] != len(model.labeled_):
            raise ValueError(
                f"X has {rows.shape[0]} rows and the fit had {len(model.labeled_)}. Give the X of "
                "the fit."
            )
        if layout is not None:
            places, names = check_array(layout), ()
        elif getattr(model, "kernel", None) == "precomputed":
            raise ValueError("X is a kernel matrix. Give coordinates of the rows by layout=.")
        else:
            places, names = _flat(rows, names)
        if places.shape != (rows.shape[0], 2):
            raise ValueError(
                f"layout must have two columns and {rows.shape[0]} rows, got shape {places.shape}."
            )
        basis = model.basis_
        classes = model.classes_ if is_classifier(model) else np.zeros(0)
        codes = np.zeros(len(basis), dtype=np.intp)
        for k, c in enumerate(classes):
            codes[model.transduction_[basis] == c] = k
        display = cls(
            layout=places[basis],
            affinity=affinity,
            codes=codes,
            labeled=_labeled(rows, basis, model.labeled_),
            classes=tuple(classes.tolist()),
            names=names,
        )
        return display.plot(ax, title=title, legend=legend)

    def _draw(self, axes: Axes, title: str | None) -> None:
        collections = require("matplotlib.collections", extra="plot", purpose="lapwing.plotting")
        colors = require("matplotlib.colors", extra="plot", purpose="lapwing.plotting")
        # Each edge once, with the heaviest on top.
        upper = sp.triu(self.affinity, k=1).tocoo()
        order = np.argsort(upper.data, kind="stable")
        ends = np.stack([upper.row[order], upper.col[order]], axis=1)
        share = upper.data[order] / upper.data.max() if len(order) else np.zeros(0)
        self.edges_ = collections.LineCollection(
            self.layout[ends],
            linewidths=0.3 + 1.2 * share,
            colors=colors.to_rgba_array(PALE, 0.15 + 0.75 * share) if len(share) else PALE,
            zorder=2,
        )
        axes.add_collection(self.edges_)
        free = ~self.labeled
        named = len(self.classes) > 0
        paint = [color_of(k) for k in self.codes[free]]
        words = "unlabelled, in the colour of the answer" if named else "unlabelled"
        self.unlabeled_ = scatter(axes, self.layout[free], c=paint, label=words, **PREDICTED)
        signs = [f"labelled {as_written(c)}" for c in self.classes] if named else ["labelled"]
        known = [self.layout[self.labeled & (self.codes == k)] for k in range(len(signs))]
        self.labeled_ = [
            scatter_labeled(axes, mine, k, sign)
            for k, (sign, mine) in enumerate(zip(signs, known, strict=True))
        ]
        finish(axes, title, self.names)

    def _explain(self, axes: Axes) -> None:
        add_legend(axes, beside="labels" if self.names else "picture")


def _affinity(model: BaseEstimator) -> Any:
    affinity = getattr(model, "affinity_", None)
    if affinity is None:
        cure = (
            "Fit with gamma_I > 0."
            if getattr(model, "gamma_I", None) == 0
            else "LapSVC, LapRLSClassifier and LapERLSClassifier have one."
        )
        raise ValueError(f"This {type(model).__name__} has no graph of neighbours. {cure}")
    return affinity


def _flat(rows: Any, names: tuple[str, ...]) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return two coordinates of the rows, and their names."""
    n, p = rows.shape
    if p <= 2:
        dense = as_dense(rows)
        named = names or ("first feature", "second feature")[:p]
        flat = np.column_stack([dense, np.zeros((n, 2 - p))]).astype(float)
        return flat, (*named, "")[:2]
    return principal_plane(rows)[0], ("first principal component", "second principal component")


def _labeled(rows: Array, basis: NDArray[Any], labeled: NDArray[Any]) -> NDArray[np.bool_]:
    """Return the mask of labelled points; a point of equal rows is labelled if one of them is."""
    if len(basis) == len(labeled):
        return np.asarray(labeled[basis], dtype=bool)
    vertex = distinct_rows(rows)[1]
    known = np.zeros(vertex.max() + 1, dtype=bool)
    known[vertex[labeled]] = True
    return np.asarray(known[vertex[basis]])
