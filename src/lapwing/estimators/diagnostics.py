"""Warnings about misleading results, with causes and remedies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lapwing._arrays import Array
from lapwing._host.warn import warn
from lapwing.classes.markers import plain
from lapwing.estimators.input_checks import LISTED
from lapwing.estimators.prepared import Prepared
from lapwing.exceptions import (
    BalanceWarning,
    ClassPriorWarning,
    ConstantFitWarning,
    FeatureScaleWarning,
    FewEigenvectorsWarning,
    FewLabelsWarning,
    NoClassStructureWarning,
    NoImprovementWarning,
    SingleClassWarning,
    SuggestedLabelsWarning,
    UnlabeledComponentWarning,
)
from lapwing.graphs import Eigenpairs, Laplacian
from lapwing.problem import Problem
from lapwing.solvers.base import Result, Settings, Status
from lapwing.solvers.low_density.shares import Contradiction

# Smallest acceptable bound of decision values, relative to the margin. On g50c and Digit1 errors
# increase below 0.1.
_LEAST_REACH = 0.5


def warn_nothing_held_out(regression: bool) -> None:
    """Warn that there are too few labels for leave-one-out, so that nothing was selected."""
    rows = "one row is" if regression else "some class has one label only: no row of it is"
    warn(
        f"No parameters were selected: {rows} left to fit to if one label is left out. The "
        "defaults are in best_params_. Label at least two rows"
        f"{'' if regression else ' of every class'}.",
        FewLabelsWarning,
    )


def warn_unreached_margins(reach: float, C: float) -> None:
    """Warn if decision values cannot reach the margins for any labels.

    Parameters
    ----------
    reach : float
        Bound of the decision values at labelled points.
    C : float
    """
    if reach < _LEAST_REACH:
        warn(
            f"C={C:g} is too small for features of this size: labels change decision values by "
            f"{reach:.2g} at most, but the targets are -1 and 1. "
            "Standardise the features, e.g. make_pipeline(StandardScaler(), S3VC('linear')), or "
            f"use a larger C, such as {10 * C / max(reach, 1e-300):.0e}.",
            FeatureScaleWarning,
        )


_NEGLIGIBLE_SHARE = 0.01  # of all points: fewer change an error rate by a percentage point at most
# Degrees of freedom of virtual labels besides constants. By default they are 0.6 with one label per
# class on the hardest sets (g241c, Gaussian clouds), and 10 or more on others.
_LEAST_FREEDOM = 1e-3
_LEAST_JUDGED = 10  # left-out labels; with fewer, the error is mostly chance
_OTHER_ANSWER = 0.1  # fraction of rows; partitions that differ in fewer rows count as the same
_CUT_BY_CHANCE = 0.8  # of the cut of random classes; on digits it is about 0.1


def warn_unlabeled_components(laplacian: Laplacian | None, problem: Problem) -> bool:
    """Warn if connected components of the graph, if there is one, contain no labelled vertex.

    There is no warning if they contain less than 1 % of the points in total, for which labels would
    not be worthwhile.

    Returns
    -------
    bool
        Whether it warned.
    """
    if laplacian is None:
        return False
    component = laplacian.component_labels
    sizes = np.bincount(component)
    without = np.flatnonzero(np.bincount(component, problem.labeled, minlength=len(sizes)) == 0)

    def first_rows() -> Array:
        first = np.full(len(sizes), np.iinfo(np.int64).max)
        np.minimum.at(first, component, problem.rows)
        return first

    return warn_components(sizes, without, first_rows, laplacian.power)


def warn_components(
    sizes: Array, without: Array, first_rows: Callable[[], Array], power: int
) -> bool:
    """Warn about given components without a label; see `warn_unlabeled_components`.

    Parameters
    ----------
    sizes : ndarray of shape (n_components,)
    without : ndarray of int
        Components without a labelled vertex.
    first_rows : callable
        () -> ndarray of shape (n_components,), the first row of each.
    power : int
        Power of the Laplacian.
    """
    missed = int(sizes[without].sum())
    if missed == 0 or missed < _NEGLIGIBLE_SHARE * int(sizes.sum()):
        return False
    first = first_rows()
    largest = without[np.lexsort((first[without], -sizes[without]))][:LISTED]
    listed = ", ".join(map(str, first[largest]))
    name, more = ("row", "") if len(largest) == 1 else ("rows", ", the largest components first")
    warn(
        f"{len(without)} of the graph's {len(sizes)} connected components contain no labelled "
        f"point ({missed} points, the largest component {int(sizes[without].max())}), so their "
        "predictions depend on the kernel only. Label a point in "
        f"each, e.g. {name} {listed} (rows count from 0{more}). More neighbours (n_neighbors) may "
        f"connect them, at the risk of connecting classes; keep power={power} then.",
        UnlabeledComponentWarning,
    )
    return True


def warn_no_class_structure(edge_cut: float, n_classes: int) -> bool:
    """Warn if the classes cut nearly as many edges as random classes; return whether it warned."""
    if edge_cut <= _CUT_BY_CHANCE:
        return False
    warn(
        f"The {n_classes} classes that were found cut {100 * edge_cut:.0f} % of the edges that "
        "classes drawn at random would cut: they are hardly related to the graph. Check the "
        "features and their scales, use another graph, or label more rows.",
        NoClassStructureWarning,
    )
    return True


def warn_labels_not_found_again(counts: Array) -> bool:
    """Warn if left-out labels are predicted by the others no more often than by guessing.

    Parameters
    ----------
    counts : ndarray of shape (c, c)
        Confusion matrix of the left-out labels: their class, and the predicted one.

    Returns
    -------
    bool
        Whether it warned.
    """
    asked, found = int(counts.sum()), int(np.trace(counts))
    guessed = asked / len(counts)
    if asked < _LEAST_JUDGED or found > guessed:
        return False
    warn(
        f"Of {asked} labels that were left out in turn, {found} are predicted correctly from the "
        f"others, and {guessed:.0f} by guessing. The classes are hardly related to the graph. "
        "Check the features and their scales, use another graph, or label more rows.",
        NoClassStructureWarning,
    )
    return True


def warn_two_answers(in_doubt: float) -> None:
    """Warn if another partition is about as likely and differs in many points.

    Parameters
    ----------
    in_doubt : float
        Fraction of the points that have another class in it.
    """
    if in_doubt > _OTHER_ANSWER:
        warn(
            "Given the graph and the labels, two partitions are about equally likely, and "
            f"{100 * in_doubt:.0f} % of the rows have another class in the second. Label some "
            "rows with uncertain transduction_proba_, or give class_prior if you know "
            "the sizes of the classes.",
            NoClassStructureWarning,
        )


def warn_few_eigenvectors(pairs: Eigenpairs, n_columns: int) -> None:
    """Warn if eigenvectors cannot separate all classes, or omit components of the graph.

    Each component has its own eigenvector of eigenvalue 0: with fewer eigenvectors virtual labels
    are 0 on some of them.

    Parameters
    ----------
    pairs : Eigenpairs
        Those that span the virtual labels.
    n_columns : int
        Number of columns of the targets.
    """
    n, k = pairs.vectors.shape
    if k < min(n_columns, n):
        warn(
            f"n_eigenvectors={k} is less than the number of classes, {n_columns}: virtual labels "
            "cannot separate all of them, not even at labelled points. Use n_eigenvectors='auto', "
            f"or at least {2 * n_columns}.",
            FewEigenvectorsWarning,
        )
    if k < pairs.n_components:
        warn(
            f"The graph has {pairs.n_components} connected components and n_eigenvectors={k} span "
            "only the largest of them: virtual labels are 0 on the others, even at labelled "
            f"points. Use n_eigenvectors={pairs.n_components + k} or None, or connect the graph "
            "with more neighbours.",
            UnlabeledComponentWarning,
        )


def warn_drowned_labels(mu: float, norm: float, weight: float) -> bool:
    """Warn if virtual labels are dominated by the rounding errors of mu L^p.

    The graph term of a constant function should be 0, so that only the labels determine it; its
    rounding errors are compared with their weight.

    Parameters
    ----------
    mu : float
    norm : float
        Bound of the norm of L^p.
    weight : float
        Mean of Lambda over all points.

    Returns
    -------
    bool
        Whether it warned.
    """
    if float(np.finfo(np.float64).eps) * mu * norm <= PRECISE * weight:
        return False
    warn(
        f"mu={mu:g} times the norm of the Laplacian is so much larger than the weight of the "
        "labels that virtual labels are dominated by rounding errors. Use a smaller mu, a larger "
        "lam, or a number of eigenvectors (n_eigenvectors=50), with which the null space is exact.",
        ConvergenceWarning,
    )
    return True


def warn_smoothed_away(
    prepared: Prepared[Any, Laplacian], pairs: Eigenpairs, mu: float, lam: float
) -> None:
    """Warn if the graph term makes virtual labels of classes constant on each component.

    With a single component all predictions are one class, see `warn_single_class`. With as many
    components as classes, constants may be right.
    """
    problem, n_components = prepared.problem, pairs.n_components
    n_classes = max(2, problem.targets.shape[1])
    if n_components >= n_classes:
        return
    weight = lam * float(problem.weights.sum()) / problem.n_points
    roughness = mu * pairs.values[n_components:] ** prepared.laplacian.power
    if float((weight / (weight + roughness)).sum()) >= _LEAST_FREEDOM:
        return
    warn(
        f"mu={mu:g} is so large compared to lam={lam:g} that virtual labels are constant on each "
        f"of the graph's {n_components} connected components, though there are {n_classes} "
        "classes. Use a smaller mu (the default is 1e4) or a larger lam.",
        ConstantFitWarning,
    )


PRECISE = 1e-3  # relative gradient above which a solution counts as imprecise


def warn_partition_not_at_rest(method: str, status: str, change: float) -> None:
    """Warn if a partition method stopped before it converged."""
    if status == Status.MAX_ITER:
        warn(
            f"method={method!r} did not converge: its last relative change was {change:.1e}. "
            "The classes may not be separated on this graph. Use another graph, e.g. "
            "graph=KNNGraph(5, weights='steep'), or method='flow'.",
            ConvergenceWarning,
        )


def warn_embedding_not_solved(solver: str, status: str, optimality: float, tol: float) -> None:
    """Warn if an embedded regression did not reach its tolerance."""
    if optimality <= tol:  # NaN is not
        return
    warn(
        f"solver={solver!r} stopped ({status}) at a relative optimality of {optimality:.1e}, "
        f"tol={tol:g}. Raise max_iter or tol, or use a smaller C or lam (better conditioned), or "
        "X as float64.",
        ConvergenceWarning,
    )


def warn_convergence(
    solver: str,
    result: Result[Any, Array],
    settings: Settings[Any],
    dtype: np.dtype[Any],
    cure: str,
    *,
    otherwise: str = "",
    precise: float = PRECISE,
) -> None:
    """Warn if a solver did not converge, or if rounding stopped it far from the optimum.

    After early stopping, or a stop by a callback, imprecision is intended.

    Parameters
    ----------
    solver : str
        Subject of the warning.
    result : Result
    settings : Settings
    dtype : dtype
        That of the points.
    cure : str
        Parameters that help, after "use".
    otherwise : str, default=""
        Advice that is added if the solver did not converge.
    precise : float, default=`PRECISE`
        Optimality above which a solution counts as imprecise, unless the tolerance is larger.
    """
    n_iter, tol, optimality = result.n_iter, settings.tol, float(np.max(result.optimality))
    if result.status == Status.MAX_ITER:
        # More iterations help only if all were used.
        limit = "max_iter or tol" if n_iter >= settings.max_iter else "tol"
        warn(
            f"{solver} did not converge in {n_iter} iterations: the relative optimality is "
            f"{optimality:.1e}, tol={tol:g}. Raise {limit}, or use {cure}{otherwise}.",
            ConvergenceWarning,
        )
    elif result.status in (Status.CONVERGED, Status.PRECISION) and not (  # NaN is not precise
        optimality <= max(precise, 2 * tol)
    ):
        exact = "X as float64, or " if dtype == np.float32 else ""
        warn(
            f"{solver} was limited by rounding errors to a relative optimality of "
            f"{optimality:.1e}: the solution may be far from the optimum. Use {exact}{cure}.",
            ConvergenceWarning,
        )


def warn_no_improvement(method: str, without: int, n_columns: int) -> None:
    """Warn that a method's minimum is above the supervised solution, which is kept."""
    which = "The" if n_columns == 1 else f"In {without} of {n_columns} columns the"
    warn(
        f"{which} minimum found by method={method!r} has a higher objective than the supervised "
        "solution, which is returned instead: the unlabelled points are not used. Use another "
        "method, more starts (n_init=10), or a smaller C_star.",
        NoImprovementWarning,
    )


# Relative standard deviation, compared to that of the targets, below which values count as
# constant: in regression, and in classification, where small decision values can be right (2.6e-7
# in scikit-learn's check of class weights) and only those of a null solution are rounding errors.
_CONSTANT_VALUES, _CONSTANT_SCORES = 0.05, 1e-8
_WEIGHTS = ("gamma_A", "gamma_I", "C", "C_star", "lam", "mu")  # of terms of objectives


def warn_single_class(predicted: Array) -> bool:
    """Warn if at least two unlabelled rows are all given one class; return whether it warned."""
    given = np.unique(predicted)
    single = len(predicted) >= 2 and len(given) == 1
    if single:
        warn_all_one_class(len(predicted), given.tolist()[0])
    return single


def warn_all_one_class(n: int, label: object) -> None:
    """Warn that n unlabelled rows are all given one class."""
    warn(
        f"All {n} unlabelled points were given class {label!r}. "
        "Usual causes: a kernel or graph on the wrong scale (standardise the features, or "
        "change gamma), many more labels of one class than of the others "
        "(class_weight='balanced'), rows that are all alike, or too much smoothing (use a smaller "
        "gamma_I or mu).",
        SingleClassWarning,
    )


def warn_single_class_of_function(predicted: Array, classes: Array) -> None:
    """Warn if `predict` gives all labelled points one class, even if `transduction_` does not.

    Parameters
    ----------
    predicted : ndarray of int of shape (l,)
        Class codes of the labelled points by the function.
    classes : ndarray of shape (n_classes,)
    """
    if len(predicted) >= 2 and (predicted == predicted[0]).all():
        warn(
            "`predict` gives all labelled points, of every class, class "
            f"{classes.tolist()[predicted[0]]!r}: its function does not fit the virtual labels, "
            "which determine `transduction_`. Usual causes: features of a very small or large "
            "scale (standardise them), or an unsuitable kernel or gamma.",
            SingleClassWarning,
        )


def warn_lost_class(predicted: Array, nothing_unlabeled: bool) -> None:
    """Warn if labelled points of both classes are given one class, unless all rows are labelled."""
    given = np.unique(predicted)
    if len(given) == 1 and not nothing_unlabeled:
        warn(
            f"All labelled points, of both classes, were given class {given.tolist()[0]!r}. Usual "
            "causes: an outlier or features of different scales, which determine the width of the "
            "kernel or the balance (standardise the features, or give gamma and balance), or a "
            "large C_star.",
            SingleClassWarning,
        )


def warn_outvoted_classes(held: Array, classes: Array) -> bool:
    """Warn about classes whose labels are all at points with other labels of more weight.

    Parameters
    ----------
    held : ndarray of int
        Class codes that are fixed at labelled points.
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
        f"All labels of the class {outvoted[0]!r} are at rows with duplicates that have other "
        "labels of more weight, so this class has no labelled point. Correct these labels, or "
        "label another row of it."
    )
    return True


def hardly_vary(values: Array, targets: Array, *, regression: bool) -> bool:
    """Return whether values at labelled points are almost constant although targets are not."""
    least, wanted = _CONSTANT_VALUES if regression else _CONSTANT_SCORES, _spread(targets)
    few = len(targets) < (3 if regression else 2)
    return not few and wanted > 0 and _spread(values) < least * wanted


def _spread(part: Array) -> float:
    return float(np.std(part, axis=0, dtype=np.float64).max())  # squares may overflow float32


def warn_constant_values(
    values: Array, targets: Array, parameters: Mapping[str, Any], *, regression: bool, what: str
) -> bool:
    """Warn if `hardly_vary`; return whether it warned.

    Parameters
    ----------
    values : ndarray of shape (l, c)
    targets : ndarray of shape (l, k)
        -1 and +1 for classifiers.
    parameters : mapping of str
        Parameters of the estimator; the warning lists the weights among them.
    regression : bool
    what : str
        The subject of the warning, in the plural.
    """
    if not hardly_vary(values, targets, regression=regression):
        return False
    spread, wanted = _spread(values), _spread(targets)
    if regression:
        text = (
            f"vary by {spread:.2g}, but the targets vary by {wanted:.2g} (standard deviations at "
            "the labelled points): the fit is nearly constant. Usual causes: targets on the wrong "
            "scale (scale y to about one; LapSVR's epsilon is in units of y), or"
        )
    else:
        text = (
            f"vary by {spread:.2g}, but the labels are -1 and 1 (standard deviations at the "
            "labelled points): the fit is constant up to rounding, which may determine the "
            "classes. Usual causes: sample weights near 0, a kernel that is almost constant (use "
            "another gamma), or"
        )
    weights = [f"{name}={parameters[name]!r}" for name in _WEIGHTS if name in parameters]
    warn(
        f"{what} {text} weights of the objective that are too far apart ({', '.join(weights)}): "
        "use values closer to the defaults.",
        ConstantFitWarning,
    )
    return True


def warn_empty_expansion(columns: Array, epsilon: float) -> None:
    """Warn about columns whose virtual labels are all in the tube around a constant.

    Parameters
    ----------
    columns : ndarray of bool of shape (c,)
        Columns with alpha = 0 although their targets vary.
    epsilon : float
    """
    if columns.any():
        cause, cure = "their virtual labels hardly vary", "Use"
        if epsilon > 0:
            cause = f"their virtual labels vary by less than epsilon={epsilon:g} around it"
            cure = "Use a smaller epsilon (0 is the default), or"
        warn(
            f"{int(columns.sum())} of {len(columns)} fitted functions are constant: {cause}, so "
            f"that alpha_ is 0. {cure} less smoothing (a smaller mu or a larger lam).",
            ConstantFitWarning,
        )


def check_finite_answers(*arrays: Array) -> None:
    """Raise ValueError if a solution is not finite."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError(
            "The solution is not finite: the weights C, lam and mu, the sample weights or the "
            "kernel's values overflow float64. Use weights of moderate size, and scaled features."
        )


# Odds against a prior from which there is a warning. Against the true prior of USPS 80:20, where
# two digits form a class, they are up to four.
_LEAST_ODDS = 5.0
_EQUAL_REDUCTIONS = 1e-6  # relative, by rounding


def warn_equal_candidates(reductions: Array) -> None:
    """Warn if all candidates reduce the variance equally, as for a nearly constant function."""
    if len(reductions) > 1 and np.ptp(reductions) <= _EQUAL_REDUCTIONS * reductions.max():
        warn(
            f"All {len(reductions)} candidates would reduce the variance of the predictions "
            "equally, so the suggested rows are no better than others. The fitted function is "
            "nearly constant: use a larger gamma or smaller gamma_A and gamma_I, or draw rows "
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
    """Warn if ties leave more than 1 % of the points in other classes than the prior requires.

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
    rounded = max(1.0, len(targets) / 4)  # the most that whole points of weight 1 may miss
    if misplaced <= max(rounded, _NEGLIGIBLE_SHARE * float(targets.sum())):
        return False
    k = int(np.abs(volumes - targets).argmax())
    warn(
        f"class_prior is missed by {misplaced:g} points: the class {classes.tolist()[k]!r} got "
        f"{volumes[k]:g} instead of {targets[k]:g}. Points with equal decision values get the same "
        "class. Usual causes: many rows that are all alike, or points that are not connected to a "
        "label, all of value 0 (connect the graph with more neighbours).",
        ClassPriorWarning,
    )
    return True


def warn_contradicted_prior(volumes: Array, nats: float, prior: Array) -> bool:
    """Warn if the graph contradicts a prior that was met.

    Parameters
    ----------
    volumes : ndarray of shape (n_classes,)
        Proportions of the classes without the prior.
    nats : float
        Their log odds against the prior.
    prior : ndarray of shape (n_classes,)

    Returns
    -------
    bool
        Whether it warned.
    """
    moved = float(np.abs(volumes - prior).sum()) / 2
    if moved <= _OTHER_ANSWER or nats <= np.log(_LEAST_ODDS):
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
    """Warn that the unlabelled points contradict the class proportions of the labels.

    Parameters
    ----------
    negative, positive : labels of classes
        Classes of the column; None if the negative one is all other classes.
    found : Contradiction
        If it is not sure, the proportions of the labels were used.
    n_found, n_columns : int
        Number of columns with a contradiction, and of all columns.
    """
    name, share = plain(positive), f"{100 * found.unlabeled:.0f} %"
    which, pair, cure = "", "", "balance={class: fraction, ...}, a fraction for every class"
    if n_columns > 1:
        which = f" in {n_found} of {n_columns} columns"
        pair = "" if negative is None else f", beside class {plain(negative)!r}"
    else:
        shares = {plain(negative): round(1 - found.unlabeled, 2), name: round(found.unlabeled, 2)}
        cure = f"balance={shares!r}"
    held, used = f"was not enforced{which}", f"; the fit uses these {share}"
    if not found.sure:
        held, used = "was enforced and may be wrong", ", as far as so few labels can show"
    warn(
        f"balance='labels' {held}. Class {name!r} has {100 * found.labels:.0f} % of the "
        f"labels{pair}, but about {share} of the unlabelled rows look like it{used}. If you know "
        f"the true proportions, pass them: {cure}. If they are those of the labels, pass these in "
        "the same way.",
        BalanceWarning,
    )
