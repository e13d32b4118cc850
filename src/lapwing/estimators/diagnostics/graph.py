"""Warnings about what a graph, its eigenvectors and its smoothing leave to the labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lapwing._arrays import Array
from lapwing._host.warn import warn
from lapwing.estimators.diagnostics.convergence import PRECISE
from lapwing.exceptions import (
    ConstantFitWarning,
    FewEigenvectorsWarning,
    NoClassStructureWarning,
    UnlabeledComponentWarning,
)
from lapwing.graphs import Laplacian

LISTED = 5  # rows that a warning names
_SPECKS = 0.01  # of all points
# Degrees of freedom of virtual labels beside constants; defaults have 0.6 with a label a class on
# the hardest sets (g241c, Gaussian clouds), and 10 or more on others.
_FREEDOM = 1e-3
_LABELS_TO_JUDGE_BY = 10  # fewer are found or not by luck
_CUT_BY_CHANCE = 0.8  # of the edges that random classes cut; on digits some 0.1


def warn_unlabeled_components(laplacian: Laplacian, labeled: Array, rows: Array) -> None:
    """Warn if connected components of the graph hold no labelled vertex.

    Specks are left out: components that hold less than 1 % of the points in all. Labels would cost
    more than their points count.

    Parameters
    ----------
    laplacian : Laplacian
        Of n points.
    labeled : ndarray of bool of shape (n,)
    rows : ndarray of int of shape (n,)
        Which row of the user's X each point is.
    """
    component = laplacian.component_labels
    sizes = np.bincount(component)
    without = np.flatnonzero(np.bincount(component, labeled, minlength=len(sizes)) == 0)

    def first_rows() -> Array:
        first = np.full(len(sizes), np.iinfo(np.int64).max)
        np.minimum.at(first, component, rows)
        return first

    tell_unlabeled_components(sizes, without, first_rows, laplacian.power)


def tell_unlabeled_components(
    sizes: Array, without: Array, first_rows: Callable[[], Array], power: int
) -> None:
    """Warn of components without a label; see `warn_unlabeled_components`.

    Parameters
    ----------
    sizes : ndarray of shape (n_components,)
    without : ndarray of int
        Components that hold no labelled vertex.
    first_rows : callable
        () -> ndarray of shape (n_components,), the first row of each.
    power : int
        Of the graph.
    """
    missed = int(sizes[without].sum())
    if missed == 0 or missed < _SPECKS * int(sizes.sum()):
        return
    first = first_rows()
    largest = without[np.lexsort((first[without], -sizes[without]))][:LISTED]
    listed = ", ".join(map(str, first[largest]))
    name, more = ("row", "") if len(largest) == 1 else ("rows", ", the largest components first")
    warn(
        f"{len(without)} of the graph's {len(sizes)} connected components hold no labelled point "
        f"({missed} points, the largest component {int(sizes[without].max())}): no label reaches "
        "them through the graph, and their predictions rest on the kernel alone. Label a point in "
        f"each, e.g. {name} {listed} (rows count from 0{more}). More neighbours (n_neighbors) may "
        f"join them, at the risk of joining classes; keep power={power} then.",
        UnlabeledComponentWarning,
    )


def warn_no_class_structure(edge_cut: float, n_classes: int) -> None:
    """Warn that the classes found cut edges nearly as chance does."""
    if edge_cut > _CUT_BY_CHANCE:
        warn(
            f"The {n_classes} classes that were found cut {100 * edge_cut:.0f} % of the edges that "
            "classes drawn at random would cut: this graph says little of them. Check the features "
            "and their scales, use another graph, or label more rows.",
            NoClassStructureWarning,
        )


def warn_labels_not_found_again(counts: Array) -> None:
    """Warn that labels left out were found by the others no more often than by guessing.

    Parameters
    ----------
    counts : ndarray of shape (c, c)
        Of the labels that were left out, by their class and the one that was found.
    """
    asked, found = int(counts.sum()), int(np.trace(counts))
    guessed = asked / len(counts)
    if asked >= _LABELS_TO_JUDGE_BY and found <= guessed:
        warn(
            f"Of {asked} labels that were left out in turn, the others found {found} again on this "
            f"graph; guessing finds {guessed:.0f}. The graph says little of these classes. Check "
            "the features and their scales, use another graph, or label more rows.",
            NoClassStructureWarning,
        )


def warn_few_eigenvectors(n_components: int, n_eigenvectors: int) -> None:
    """Warn that virtual labels are held at 0 on components without an eigenvector."""
    warn(
        f"The graph has {n_components} connected components and n_eigenvectors={n_eigenvectors} "
        "span only the largest of them: virtual labels are 0 on the others, labelled points "
        f"included. Use n_eigenvectors={n_components + n_eigenvectors} or None, or connect the "
        "graph with more neighbours.",
        UnlabeledComponentWarning,
    )


def warn_fewer_eigenvectors_than_classes(n_eigenvectors: int, n_classes: int) -> None:
    """Warn that virtual labels cannot tell all classes apart."""
    warn(
        f"n_eigenvectors={n_eigenvectors} are fewer than the {n_classes} classes: virtual labels "
        "cannot follow all of them, not even at labelled points. Use n_eigenvectors='auto', or at "
        f"least {2 * n_classes}.",
        FewEigenvectorsWarning,
    )


def drowned(mu: float, norm: float, weight: float) -> bool:
    """Whether the rounding of mu L^p hides the labels from the constants, which L^p leaves alone.

    Parameters
    ----------
    mu, norm : float
        Of the graph term, and a bound of the norm of L^p.
    weight : float
        Lambda of the labels, a mean over all points.
    """
    return float(np.finfo(np.float64).eps) * mu * norm > PRECISE * weight


def warn_drowned_labels(mu: float) -> None:
    """Warn that the graph term has no digits left for the labels."""
    warn(
        f"mu={mu:g} times the norm of the Laplacian is so much more than the weight of the labels "
        "that virtual labels are rounding. Use a smaller mu or a larger lam, or a number of "
        "eigenvectors (n_eigenvectors=50), with which what the graph does not smooth is known "
        "exactly.",
        ConvergenceWarning,
    )


def smoothed_away(eigenvalues: Array, n_components: int, weight: float) -> bool:
    """Whether the graph term leaves virtual labels nothing but a constant on each component.

    Parameters
    ----------
    eigenvalues : ndarray of shape (r,)
        Of mu L^p, ascending; those of the components first.
    n_components : int
        Of the graph.
    weight : float
        Lambda of the labels, a mean over all points.
    """
    return float((weight / (weight + eigenvalues[n_components:])).sum()) < _FREEDOM


def warn_smoothed_away(mu: float, lam: float, n_components: int, n_classes: int) -> None:
    """Warn that virtual labels cannot tell classes apart that share a component.

    Of a single component all answers are one class, which `warn_single_class` tells.
    """
    warn(
        f"mu={mu:g} is so large beside lam={lam:g} that virtual labels are constant on each of the "
        f"graph's {n_components} connected components, though there are {n_classes} classes. Use a "
        "smaller mu (the default is 1e4) or a larger lam.",
        ConstantFitWarning,
    )
