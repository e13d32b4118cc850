"""Warnings about inputs and answers that would mislead, each with its cause and its cure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import row_norms

from lapwing._arrays import Array, Matrix, is_sparse
from lapwing._host.warn import called_by, warn
from lapwing._rows import PointData, blocks_of, is_rows, moments_of
from lapwing.classes.markers import plain
from lapwing.exceptions import (
    BalanceWarning,
    ClassPriorWarning,
    ConstantFitWarning,
    FeatureScaleWarning,
    FewEigenvectorsWarning,
    FewLabelsWarning,
    LapwingWarning,
    LongFitWarning,
    NoClassStructureWarning,
    NoImprovementWarning,
    OutlierWarning,
    SingleClassWarning,
    SuggestedLabelsWarning,
    UnlabeledComponentWarning,
    UnlabeledMarkerWarning,
)
from lapwing.graphs import Laplacian
from lapwing.kernels import Kernel
from lapwing.linalg import (
    asymmetry_of,
    center_of,
    extreme_eigenvalues,
    largest_value,
    shifted,
    spread_rows,
)
from lapwing.solvers.base import Status
from lapwing.solvers.low_density.shares import Contradiction

_SCALE_RATIO = 1e4
# A row that multiplies the variance by less leaves answers as they are (digits, iris, wine, breast
# cancer and g50c with one row moved off); on the field's data sets the rows farthest off make it
# 1.2 times as large, on Cauchy-distributed features 100 times.
_OUTLYING = 30
# Of the way to a margin. On g50c and Digit1 errors rise where it is below 0.1.
_REACHED = 0.5


def warn_labels(warning: LapwingWarning | None) -> None:
    """Warn of how y was read, if there is anything to tell."""
    if warning is not None:
        warn(str(warning), type(warning))


def warn_calibrated_marker(n_unlabeled: int) -> None:
    """Warn if scikit-learn's calibration hands on unlabelled rows.

    It looks at the marker only after the fits, and no estimator is asked then.
    """
    if n_unlabeled and called_by("sklearn.calibration"):
        warn(
            f"CalibratedClassifierCV hands on y with {n_unlabeled} unlabelled rows and counts "
            "their marker as one more class. Fit this estimator itself, and then "
            "CalibratedClassifierCV(FrozenEstimator(model)) on labelled rows that it did not know.",
            UnlabeledMarkerWarning,
        )


def warn_feature_scales(X: Matrix, names: Array | None = None) -> None:
    """Warn if the ranges of two dense features differ by more than 1e4.

    Ranges and not standard deviations: a pixel that is lit in one image of many has a tiny
    deviation and the same scale as the others.
    """
    if is_sparse(X) or X.shape[1] < 2:
        return
    ranges = _ranges(X).astype(np.float64)
    varying = np.flatnonzero(ranges > 0)
    if len(varying) < 2:
        return
    small = varying[np.argmin(ranges[varying])]
    large = varying[np.argmax(ranges[varying])]
    if ranges[large] / _SCALE_RATIO > ranges[small]:
        label = (lambda j: repr(str(names[j]))) if names is not None else str
        warn(
            f"Features differ in scale by more than {_SCALE_RATIO:g}: feature {label(large)} has "
            f"range {ranges[large]:.3g}, feature {label(small)} {ranges[small]:.3g}. Distances see "
            "only the largest. Standardise first, e.g. "
            "make_pipeline(StandardScaler(), LapSVC()).",
            FeatureScaleWarning,
        )


def _ranges(X: Any) -> Array:
    if is_rows(X):
        moments = moments_of(X)
        return np.asarray(moments.high - moments.low)
    return np.asarray(np.ptp(X, axis=0))


def warn_outlying_rows(X: Matrix) -> None:
    """Warn if a few rows, at most 1 % (of few rows, 3), multiply the variance of all by over 30."""
    n = X.shape[0]
    few = min(max(3, n // 100), n // 10)
    if few == 0:
        return
    center = center_of(X)
    squared = np.empty(n)
    for rows, points in blocks_of(X, 8 * X.shape[1]):
        with np.errstate(over="ignore"):
            squared[rows] = row_norms(shifted(points, center), squared=True)
    far = np.argsort(-squared, kind="stable")[:few]
    others = float(np.delete(squared, far).mean())
    if not 0 < others * _OUTLYING < squared.mean():
        return
    far = np.sort(far[squared[far] > _OUTLYING * others])
    listed = ", ".join(map(str, far[:LISTED])) + (", ..." if len(far) > LISTED else "")
    what, they = ("Row {} lies", "it makes") if len(far) == 1 else ("Rows {} lie", "they make")
    warn(
        f"{what.format(listed)} so far from all others that {they} the variance of X "
        f"{squared.mean() / others:.2g} times as large (rows count from 0). Kernel and graph take "
        "their width from it, so the other rows look alike to them. Look for wrong values (a unit, "
        "a number that stands for 'missing'): mend or leave out such rows, or limit their values, "
        "e.g. make_pipeline(QuantileTransformer(), LapSVC()).",
        OutlierWarning,
    )


def warn_nothing_held_out(regression: bool) -> None:
    """Warn that there are too few labels for leave-one-out, so that nothing was chosen."""
    rows = "one row is" if regression else "some class has one label only: no row of it is"
    warn(
        f"No parameters were chosen: {rows} left to fit to if one label is left out. The usual "
        "ones are in best_params_. Label at least two rows"
        f"{'' if regression else ' of every class'}.",
        FewLabelsWarning,
    )


def warn_unreached_margins(reach: float, C: float) -> None:
    """Warn if no decision value comes near a margin, whatever the labels.

    Parameters
    ----------
    reach : float
        What all labels together can move a decision value by.
    C : float
    """
    if reach < _REACHED:
        warn(
            f"C={C:g} is too small for features of this size: labels move decision values by "
            f"{reach:.2g} at most, and are to be fitted at -1 and 1. "
            "Standardise the features, e.g. make_pipeline(StandardScaler(), S3VC('linear')), or "
            f"use a larger C, such as {10 * C / max(reach, 1e-300):.0e}.",
            FeatureScaleWarning,
        )


def check_target_scale(targets: Array, weights: Array, dtype: np.dtype[Any]) -> None:
    """Refuse targets whose weighted squares overflow, or that a precision does not hold."""
    with np.errstate(over="ignore"):
        finite = bool(np.isfinite(weights @ targets**2).all())
    largest = float(np.abs(targets).max())
    if not finite or largest > float(np.finfo(dtype).max) / 1e3:
        raise ValueError(
            f"y holds values up to {largest:.3g}, whose squares times lam (or which themselves in "
            f"{np.dtype(dtype)}) overflow. Scale y to about one."
        )


def check_linear_scale(X: PointData) -> None:
    """Refuse points whose dot products overflow, or underflow."""
    largest, info = largest_value(X), np.finfo(X.dtype)
    highest = float(np.sqrt(info.max / X.shape[1]))
    lowest = float(np.sqrt(info.tiny / info.eps))  # a digit less is lost to numbers below tiny
    if not largest <= highest or 0 < largest < lowest:
        what = "underflow" if largest < lowest else "overflow"
        raise ValueError(
            f"X holds values up to {largest:.3g}, whose dot products {what} {X.dtype}. Scale the "
            "features, e.g. by StandardScaler."
        )


_SYMMETRY = 1e-5  # relative: float32 kernels of other programs are symmetric to 1e-6 or so
_NEGATIVITY = 1e-5  # of the largest eigenvalue
_SAMPLE = 500  # points on which a kernel is looked at that is never formed for all


def check_kernel_matrix(K: Any, name: str) -> None:
    """Refuse a kernel matrix that is not symmetric positive semi-definite.

    Small matrices are decomposed; of larger ones the diagonal, the Ritz values of a short Lanczos
    run and (beyond n = 5600) a sample of the entries are looked at. What is found is true (Ritz
    values lie between the extreme eigenvalues), but not everything is found: a factorisation would
    cost as much as the fit.
    """
    asymmetry, size = asymmetry_of(K)
    if not np.isfinite(size):
        raise ValueError(
            f"{name} holds NaN or infinite values. Use a kernel, and parameters of it, that are "
            "defined for all points."
        )
    if asymmetry > _SYMMETRY * size:
        raise ValueError(
            f"{name} must be a symmetric kernel matrix: K[i, j] and K[j, i] differ by up to "
            f"{asymmetry:.3g}. If this is rounding, pass (K + K.T) / 2."
        )
    least, largest = extreme_eigenvalues(K)
    if least < -_NEGATIVITY * max(largest, 0.0) or largest < 0:
        raise ValueError(
            f"{name} must be a positive semi-definite kernel matrix: it has an eigenvalue of at "
            f"most {least:.3g} (the largest is {largest:.3g}), so it is no kernel. Use a kernel "
            "that is positive semi-definite, or clip the negative eigenvalues first."
        )


def check_kernel(kernel: Kernel, X: PointData, name: str) -> None:
    """Refuse a kernel that is not symmetric positive semi-definite on a sample of the points.

    For methods that never form the matrix of all points.
    """
    if kernel.precomputed:
        return
    check_kernel_matrix(kernel.gram(spread_rows(X, _SAMPLE)), name)


LISTED = 5  # rows that a warning names
_SPECKS = 0.01  # of all points
# Degrees of freedom of virtual labels beside constants; defaults have 0.6 with a label a class on
# the hardest sets (g241c, Gaussian clouds), and 10 or more on others.
_FREEDOM = 1e-3
_LABELS_TO_JUDGE_BY = 10  # fewer are found or not by luck
_OTHER_ANSWER = 0.1  # of the rows: if fewer change class, answers count as the same
_CUT_BY_CHANCE = 0.8  # of the edges that random classes cut; on digits some 0.1


def warn_unlabeled_components(laplacian: Laplacian, labeled: Array, rows: Array) -> bool:
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

    Returns
    -------
    bool
        Whether it warned.
    """
    component = laplacian.component_labels
    sizes = np.bincount(component)
    without = np.flatnonzero(np.bincount(component, labeled, minlength=len(sizes)) == 0)

    def first_rows() -> Array:
        first = np.full(len(sizes), np.iinfo(np.int64).max)
        np.minimum.at(first, component, rows)
        return first

    return tell_unlabeled_components(sizes, without, first_rows, laplacian.power)


def tell_unlabeled_components(
    sizes: Array, without: Array, first_rows: Callable[[], Array], power: int
) -> bool:
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
        return False
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
    return True


def warn_no_class_structure(edge_cut: float, n_classes: int) -> bool:
    """Warn that the classes found cut edges nearly as chance does, and return whether they do."""
    if edge_cut <= _CUT_BY_CHANCE:
        return False
    warn(
        f"The {n_classes} classes that were found cut {100 * edge_cut:.0f} % of the edges that "
        "classes drawn at random would cut: this graph says little of them. Check the features "
        "and their scales, use another graph, or label more rows.",
        NoClassStructureWarning,
    )
    return True


def warn_labels_not_found_again(counts: Array) -> bool:
    """Warn that labels left out were found by the others no more often than by guessing.

    Parameters
    ----------
    counts : ndarray of shape (c, c)
        Of the labels that were left out, by their class and the one that was found.

    Returns
    -------
    bool
        Whether it warned.
    """
    asked, found = int(counts.sum()), int(np.trace(counts))
    guessed = asked / len(counts)
    if asked < _LABELS_TO_JUDGE_BY or found > guessed:
        return False
    warn(
        f"Of {asked} labels that were left out in turn, the others found {found} again on this "
        f"graph; guessing finds {guessed:.0f}. The graph says little of these classes. Check "
        "the features and their scales, use another graph, or label more rows.",
        NoClassStructureWarning,
    )
    return True


def warn_two_answers(in_doubt: float) -> None:
    """Warn that another answer is about as likely, where it differs in many points.

    Parameters
    ----------
    in_doubt : float
        Part of the points that have another class there.
    """
    if in_doubt > _OTHER_ANSWER:
        warn(
            "The graph and the labels leave two answers about as likely, and "
            f"{100 * in_doubt:.0f} % of the rows have another class in the second. Label some "
            "of the rows where transduction_proba_ is least sure, or give class_prior if you know "
            "the sizes of the classes.",
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


PRECISE = 1e-3  # relative gradient beyond which digits are missed


def warn_partition_not_at_rest(method: str, status: str, change: float) -> None:
    """Warn that a method of the graph stopped while points still moved."""
    if status == Status.MAX_ITER:
        warn(
            f"method={method!r} stopped ({status}) before it came to rest ({change:.1e} left). "
            "The classes may not be separated on this graph. Use another graph, e.g. "
            "graph=KNNGraph(5, weights='steep'), or method='flow'.",
            ConvergenceWarning,
        )


def warn_embedding_not_solved(solver: str, status: str, optimality: float, tol: float) -> None:
    """Warn that an embedded regression is further from its optimum than asked for."""
    if optimality <= tol:  # NaN is not
        return
    warn(
        f"solver={solver!r} stopped ({status}) at a relative optimality of {optimality:.1e}, "
        f"tol={tol:g}. Raise max_iter or tol, or use a smaller C or lam (better conditioned), or "
        "X as float64.",
        ConvergenceWarning,
    )


def warn_not_converged(
    solver: str, n_iter: int, max_iter: int, optimality: float, tol: float
) -> None:
    """Warn that a solver ran out of iterations, or of progress before them."""
    cure = f"{_more(n_iter, max_iter)}, or use a larger gamma_A (better conditioned)"
    if solver == "pcg":
        cure += (
            "; stop by predictions (stopping='stability'), or use solver='dual' if memory allows"
        )
    warn(
        f"solver={solver!r} did not converge in {n_iter} iterations: the relative optimality is "
        f"{optimality:.1e}, tol={tol:g}. {cure}.",
        ConvergenceWarning,
    )


def warn_descent_not_converged(n_iter: int, max_iter: int, optimality: float, tol: float) -> None:
    """Warn that L-BFGS ran out of iterations, or of progress before them."""
    warn(
        f"L-BFGS did not converge in {n_iter} iterations: the relative optimality is "
        f"{optimality:.1e}, tol={tol:g}. {_more(n_iter, max_iter)}, scale the features, or use a "
        "smaller C.",
        ConvergenceWarning,
    )


def _more(n_iter: int, max_iter: int) -> str:
    """Say what to do about a missed tolerance; more iterations help only if all were used."""
    return "Raise max_iter or tol" if n_iter >= max_iter else "Raise tol"


def warn_no_improvement(method: str, without: int, n_columns: int) -> None:
    """Warn that a method's minimum is above the supervised solution, which is kept."""
    which = "The" if n_columns == 1 else f"In {without} of {n_columns} columns the"
    warn(
        f"{which} minimum found by method={method!r} has a higher objective than the supervised "
        "solution, which is returned instead: the unlabelled points taught nothing. Use another "
        "method, more starts (n_init=10), or a smaller C_star.",
        NoImprovementWarning,
    )


def warn_imprecise(
    solver: str,
    optimality: float,
    tol: float,
    dtype: np.dtype[Any],
    cure: str = "a larger gamma_A (better conditioned)",
    *,
    gap: bool = False,
) -> None:
    """Warn if a solver met the end of its digits far from the optimum.

    A duality gap is of second order in the distance from the optimum, a gradient of first.
    """
    if optimality <= max(PRECISE**2 if gap else PRECISE, 2 * tol):  # NaN is not
        return
    if dtype == np.float32:
        cure = f"X as float64, or {cure}"
    warn(
        f"solver={solver!r} ran out of digits at a relative optimality of {optimality:.1e}: the "
        f"solution may be far from the optimum. Use {cure}.",
        ConvergenceWarning,
    )


def warn_long_fit(name: str, n: int, seconds: float, *, regression: bool, can_stop: bool) -> None:
    """Warn before a fit takes minutes; `can_stop` if stopping by predictions is another way."""
    faster = "LapERLSRegressor" if regression else "LapERLSClassifier"
    stop = ", or stop by predictions (solver='pcg', stopping='stability')" if can_stop else ""
    warn(
        f"{name} with the full kernel of {n} points will take about "
        f"{max(2, round(seconds / 60))} minutes or more. Use {faster}, which forms no matrix of "
        f"all points and takes seconds{stop}.",
        LongFitWarning,
    )


def warn_long_path(name: str, size: int, n_factors: int, seconds: float) -> None:
    """Warn before the factorisations of a grid take minutes."""
    warn(
        f"{name} factors {n_factors} matrices of {size} rows and will take about "
        f"{max(2, round(seconds / 60))} minutes or more. Give it fewer settings, e.g. "
        "gammas=['scale'], graphs=[KNNGraph()] and few ratios gamma_I / gamma_A, or fewer "
        "unlabelled points.",
        LongFitWarning,
    )


def warn_long_columns(name: str, n: int, n_columns: int, seconds: float, regression: bool) -> None:
    """Warn before columns that are factored one by one take minutes."""
    faster = "LapERLSRegressor" if regression else "LapERLSClassifier"
    columns = "its column" if n_columns == 1 else f"each of its {n_columns} columns on its own"
    warn(
        f"{name} solves {columns} and will take about {max(2, round(seconds / 60))} minutes or "
        f"more for {n} points. Use {faster}, which solves all columns with one factorisation, or "
        "fewer coordinates, e.g. space=Landmarks(300).",
        LongFitWarning,
    )


def warn_long_pairs(name: str, n_classes: int, n: int, seconds: float) -> None:
    """Warn before machines of pairs take minutes."""
    warn(
        f"{name} fits {n_classes * (n_classes - 1) // 2} pairs of {n_classes} classes in rounds "
        f"and will take about {max(2, round(seconds / 60))} minutes or more for {n} points. "
        "multi_class='ovr' fits a machine for each class; space=Landmarks(500) makes steps short "
        "where pairs have thousands of points; LapERLSClassifier takes seconds.",
        LongFitWarning,
    )


# Share of the targets' spread below which a regression does not follow them. Decision values may be
# small and right (2.6e-7 with scikit-learn's check of class weights); of a null solution they are
# rounding.
_FOLLOWS, _NULL = 0.05, 1e-8
_WEIGHTS = ("gamma_A", "gamma_I", "C", "C_star", "lam", "mu")  # of terms of objectives


def warn_single_class(predicted: Array) -> bool:
    """Warn if all of at least two unlabelled rows are given the same class, and tell whether."""
    given = np.unique(predicted)
    single = len(predicted) >= 2 and len(given) == 1
    if single:
        tell_single_class(len(predicted), given.tolist()[0])
    return single


def tell_single_class(n: int, label: object) -> None:
    """Warn that n unlabelled rows are all given the same class."""
    warn(
        f"All {n} unlabelled points were given class {label!r}. "
        "Usual causes: a kernel or graph on the wrong scale (standardise the features, or "
        "change gamma), labels of one class far outnumbering the others "
        "(class_weight='balanced'), rows that are all alike, or too much smoothing (a smaller "
        "gamma_I or mu).",
        SingleClassWarning,
    )


def warn_single_class_of_function(predicted: Array, classes: Array) -> None:
    """Warn if `predict` gives all labelled points one class, whatever `transduction_` has.

    Parameters
    ----------
    predicted : ndarray of int of shape (l,)
        Numbers of the classes that the function gives to labelled points.
    classes : ndarray of shape (n_classes,)
    """
    if len(predicted) >= 2 and (predicted == predicted[0]).all():
        warn(
            "`predict` gives all labelled points, of every class, class "
            f"{classes.tolist()[predicted[0]]!r}: its function does not follow the virtual labels, "
            "which `transduction_` rests on. Usual causes: features of a very small or large scale "
            "(standardise them), or a kernel or gamma that does not suit them.",
            SingleClassWarning,
        )


def warn_lost_class(predicted: Array, nothing_unlabeled: bool) -> None:
    """Warn if labelled points of both classes are given one class, unless there is no other."""
    given = np.unique(predicted)
    if len(given) == 1 and not nothing_unlabeled:
        warn(
            f"All labelled points, of both classes, were given class {given.tolist()[0]!r}. Usual "
            "causes: an outlier or features of different scales, which set the width of the "
            "kernel or the balance (standardise the features, or give gamma and balance), or a "
            "large C_star.",
            SingleClassWarning,
        )


def warn_outvoted_classes(held: Array, classes: Array) -> bool:
    """Warn of classes all of whose labels are at points where other labels have more weight.

    Parameters
    ----------
    held : ndarray of int
        Numbers of the classes that labelled points are held to.
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    bool
        Whether it warned.
    """
    outvoted = classes[np.setdiff1d(np.arange(len(classes)), held)].tolist()
    if not outvoted:
        return False
    warn(
        f"All labels of the class {outvoted[0]!r} are at rows that equal others with other "
        "labels, which outvote them: nothing holds this class. Correct these labels, or label "
        "another row of it.",
        LapwingWarning,
    )
    return True


def hardly_vary(values: Array, targets: Array, *, regression: bool) -> bool:
    """Whether values at labelled points are all but constant where their targets are not."""
    follows, wanted = _FOLLOWS if regression else _NULL, _spread(targets)
    few = len(targets) < (3 if regression else 2)
    return not few and wanted > 0 and _spread(values) < follows * wanted


def _spread(part: Array) -> float:
    return float(np.std(part, axis=0).max())


def warn_constant_values(
    values: Array, targets: Array, parameters: Mapping[str, Any], *, regression: bool, what: str
) -> bool:
    """Warn if values at labelled points hardly vary where their targets do, and tell whether.

    Parameters
    ----------
    values : ndarray of shape (l, c)
    targets : ndarray of shape (l, k)
        For classifiers -1 and +1.
    parameters : mapping of str
        The estimator's, of which the warning tells the weights.
    regression : bool
    what : str
        The subject of the warning, in the plural.
    """
    if not hardly_vary(values, targets, regression=regression):
        return False
    spread, wanted = _spread(values), _spread(targets)
    if regression:
        text = (
            f"vary by {spread:.2g} where the targets vary by {wanted:.2g} (standard deviations at "
            "the labelled points): the fit is nearly constant. Usual causes: targets on the wrong "
            "scale (scale y to about one; LapSVR's epsilon is in units of y), or"
        )
    else:
        text = (
            f"vary by {spread:.2g} where the labels are -1 and 1 (standard deviations at the "
            "labelled points): the fit is constant but for rounding, which may decide its classes. "
            "Usual causes: sample weights near 0, a kernel to which all points look alike (another "
            "gamma), or"
        )
    weights = [f"{name}={parameters[name]!r}" for name in _WEIGHTS if name in parameters]
    warn(
        f"{what} {text} weights of the objective that are too far apart ({', '.join(weights)}): "
        "take values nearer to the defaults.",
        ConstantFitWarning,
    )
    return True


def warn_empty_expansion(columns: Array, epsilon: float) -> None:
    """Warn of columns all of whose virtual labels are in the tube around a constant.

    Parameters
    ----------
    columns : ndarray of bool of shape (c,)
        Which columns have no alpha that is not 0 though their targets vary.
    epsilon : float
    """
    if columns.any():
        cause, cure = "their virtual labels hardly vary", "Use"
        if epsilon > 0:
            cause = f"their virtual labels vary by less than epsilon={epsilon:g} around it"
            cure = "Use a smaller epsilon (0 is the default), or"
        warn(
            f"{int(columns.sum())} of {len(columns)} fitted functions are constant: {cause}, so "
            f"that no alpha is non-zero. {cure} less smoothing (a smaller mu or a larger lam).",
            ConstantFitWarning,
        )


def check_finite_answers(*arrays: Array) -> None:
    """Refuse a solution that is not finite."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError(
            "The solution is not finite: the weights C, lam and mu, the sample weights or the "
            "kernel's values overflow float64. Use weights of moderate size, and scaled features."
        )


_ODDS = 5.0  # to one; of a true prior of USPS 80:20, where two digits look like a class, up to four
_MISSED = 0.01  # of the points
_ALIKE = 1e-6  # relative: what rounding makes of equal reductions of the variance


def warn_equal_candidates(reductions: Array) -> None:
    """Warn if all candidates reduce the variance alike: a function that is nearly constant."""
    if len(reductions) > 1 and np.ptp(reductions) <= _ALIKE * reductions.max():
        warn(
            f"All {len(reductions)} candidates would reduce the variance of the answer alike, so "
            "the suggested rows are no better than others. The fitted function is "
            "nearly constant: choose a larger gamma or smaller gamma_A and gamma_I, or draw rows "
            "at random.",
            ConstantFitWarning,
        )


def warn_suggested_labels(n_suggested: int, n_labels: int) -> None:
    """Warn if most labels are of rows that the method chose."""
    if 2 * n_suggested > n_labels:
        warn(
            f"{n_suggested} of the {n_labels} labels are of rows that were suggested. These are "
            "harder than others, so errors estimated from them do not hold for all rows. Label "
            "rows drawn at random as well, and count the errors on these.",
            SuggestedLabelsWarning,
        )


def warn_missed_prior(volumes: Array, targets: Array, classes: Array) -> bool:
    """Warn if more than 1 % of the points are in other classes than the prior wants, by ties.

    Parameters
    ----------
    volumes, targets : ndarray of shape (n_classes,)
        Numbers of points.
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    bool
        Whether it warned.
    """
    misplaced = float(np.abs(volumes - targets).sum() / 2)
    if misplaced <= max(1.0, _MISSED * float(targets.sum())):
        return False
    k = int(np.abs(volumes - targets).argmax())
    warn(
        f"class_prior is missed by {misplaced:g} points: the class {classes.tolist()[k]!r} got "
        f"{volumes[k]:g} instead of {targets[k]:g}. Points with equal decision values can only "
        "move together. Usual causes: many rows that are all alike, or points that no label "
        "reaches, all of value 0 (connect the graph with more neighbours).",
        ClassPriorWarning,
    )
    return True


def warn_contradicted_prior(volumes: Array, nats: float, prior: Array) -> bool:
    """Warn that the graph asks for other volumes than a prior that was met.

    Parameters
    ----------
    volumes : ndarray of shape (n_classes,)
        Parts that sum to 1, where they are left free.
    nats : float
        How much more speaks for them.
    prior : ndarray of shape (n_classes,)

    Returns
    -------
    bool
        Whether it warned.
    """
    moved = float(np.abs(volumes - prior).sum()) / 2
    if moved <= _OTHER_ANSWER or nats <= np.log(_ODDS):
        return False
    odds = f"{np.exp(nats):.0f}" if nats < np.log(1000) else "more than 1000"
    warn(
        "class_prior was met, but the graph and the labels contradict it: classes of other "
        f"sizes, with {100 * moved:.0f} % of the rows in another class, are {odds} times as "
        "likely by what they cut and by which labels they keep. If the prior is a guess, use "
        "class_prior='unknown'.",
        ClassPriorWarning,
    )
    return True


def warn_contradicted_balance(
    negative: object, positive: object, found: Contradiction, n_found: int, n_columns: int
) -> None:
    """Warn that the unlabelled points contradict the shares of the labels.

    Parameters
    ----------
    negative, positive : labels of classes
        Sides of the column that is told of; None where the negative one is all other classes.
    found : Contradiction
        Shares of the positive class among both. Where it is not sure the labels' shares were held.
    n_found, n_columns : int
        Columns of which the same is true, and all of them.
    """
    name, share = plain(positive), f"{100 * found.unlabeled:.0f} %"
    which, pair, cure = "", "", "balance={class: fraction, ...}, a fraction for every class"
    if n_columns > 1:
        which = f" in {n_found} of {n_columns} columns"
        pair = "" if negative is None else f", beside class {plain(negative)!r}"
    else:
        shares = {plain(negative): round(1 - found.unlabeled, 2), name: round(found.unlabeled, 2)}
        cure = f"balance={shares!r}"
    held, used = f"was not held{which}", f"; the fit uses these {share}"
    if not found.sure:
        held, used = "was held and may be wrong", ", as far as so few labels can tell"
    warn(
        f"balance='labels' {held}. Class {name!r} has {100 * found.labels:.0f} % of the "
        f"labels{pair}, but about {share} of the unlabelled rows look like it{used}. If you know "
        f"the true shares, pass them: {cure}. If they are those of the labels, pass these in the "
        "same way.",
        BalanceWarning,
    )
