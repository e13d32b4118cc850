"""Updates of a fit: labels added later, rows to label next, suspicious labels.

A fit with ``updatable=True`` keeps its `Refits`, so that `add_labels` fits to new labels without
computing graph, kernel and factorisation again. There are no numerics here.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from lapwing._arrays import Array
from lapwing._host.threads import single_blas_thread
from lapwing._parameters import COUNT, changed, check, parameters
from lapwing._rows.base import PointData, PointsLike, is_rows
from lapwing.classes.decoding import of_each_class, predict_codes
from lapwing.classes.label_checks import new_spelling, suspicious
from lapwing.classes.markers import (
    find_unlabeled,
    is_auto,
    objects,
    plain,
    read_column,
    settle,
)
from lapwing.classes.probabilities import SharpnessPrior, fit_sharpness
from lapwing.estimators import diagnostics
from lapwing.estimators.input_checks import warn_labels
from lapwing.estimators.prepared import SILENT, P, Refits, S, Targets
from lapwing.estimators.template import SemiSupervisedEstimator
from lapwing.graphs.design import design_of, most_informative
from lapwing.linalg import column_dot
from lapwing.problem import value_order
from lapwing.solvers.posterior import reduce_variance

_MOST_CANDIDATES = 1000  # rows; with more, the choice takes longer than the fit
# Parameters, also of the graph, that may change after the fit, as no answer depends on them.
_MAY_CHANGE = frozenset({"memory", "n_jobs", "updatable", "warm_start"})


@dataclass(frozen=True, eq=False)
class UpdateState:
    """State that an updatable fit keeps.

    Attributes
    ----------
    refits : Refits
    X : points
        All rows, as read by the fit.
    parameters : mapping
        Parameters of the fit, also those of the graph and the space.
    design : ndarray of shape (n, k) or None
        Coordinates of the points for suggestions; None before the first one.
    named : frozenset of int
        Rows that were suggested.
    chosen : frozenset of int
        Labelled rows that were chosen by suggestion.
    """

    refits: Refits[Any, Any]
    X: Any
    parameters: Mapping[str, Any]
    design: Array | None = None
    named: frozenset[int] = frozenset()
    chosen: frozenset[int] = frozenset()


@parameters
class Updatable(SemiSupervisedEstimator[P, S]):
    """Estimator to which labels can be added after its fit."""

    _sharpness_prior: ClassVar[SharpnessPrior]  # of classifiers
    _kept = cast("UpdateState | None", None)  # an annotated attribute would be a parameter

    _: KW_ONLY
    updatable: bool = False

    def add_labels(self, rows: ArrayLike, labels: ArrayLike, *, how: str | None = None) -> Self:
        """Add labels to rows of the fit, and fit again to all labels.

        The answer is that of `fit` with these labels in y; an estimator that chose its parameters
        keeps them. Graph, kernel and factorisation of the fit are used again, so after a change of
        parameters only `fit` is possible.

        Parameters
        ----------
        rows : int or array-like of int
            Rows of the X of the fit, counted from 0, each once.
        labels : label or array-like of shape (n_rows,)
            Their labels, which replace earlier ones. The unlabelled marker removes a label. A class
            may be new; there is a `SimilarLabelsWarning` if it differs from an earlier one in case
            and blanks only.
        how : {'suggested', 'random'}, default=None
            How the rows were chosen. None means by suggestion for rows that `suggest` of this model
            returned. If most labels are of suggested rows, `sure_rows` and `leave_one_out` warn.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If the fit is not updatable, a parameter was changed after it, a row is out of range,
            `how` is unknown, or `fit` would refuse the labels.
        """
        kept = self._kept_state("add_labels")
        _refuse_changes(kept.parameters, self.get_params())
        if how not in (None, "suggested", "random"):
            raise ValueError(f"how={how!r} must be 'suggested', 'random' or None.")
        before = kept.refits.prepared
        at = _rows(rows, len(before.problem.vertex))
        new = frozenset(at.tolist())
        chosen = new & kept.named if how is None else new if how == "suggested" else frozenset()
        kept = replace(kept, chosen=kept.chosen - new | chosen)
        marker, classes = self._parameter("unlabeled"), before.targets.classes
        y = _with_labels(self._labels_as_given(before), at, labels, marker, classes)
        targets = self._read_again(y, before.targets)
        warn_labels(new_spelling(targets.classes, before.targets.classes))
        raw = before.problem.row_weights / before.targets.class_weights
        # For an estimator that chose its parameters, the plain one with these parameters.
        estimator = kept.refits.estimator
        left_out = targets.labeled & (raw == 0)
        if np.array_equal(left_out, before.problem.vertex < 0):
            prepared = before.relabeled(targets, raw)
            prepare_again = estimator._needs_more(before, prepared)
            problem = prepared.problem
        else:
            # Labelled rows of weight 0 are not points of a fit, and these rows have changed.
            problem = estimator._make_problem(kept.X, targets, raw)
            prepare_again = True
        if prepare_again:
            prepared = estimator._prepare(targets, problem, SILENT)
            kept = replace(kept, refits=estimator._refits(prepared), design=None)
        with single_blas_thread():  # many small solves
            refits = replace(kept.refits.covering(prepared.problem.index), prepared=prepared)
            solution = self._updated(refits, refits.solve(prepared))
        twin = copy(self)  # an error, also by Ctrl-C or a warning, leaves this estimator as it is
        left = twin._forget()
        vars(twin).update({name: value for name, value in left.items() if name.endswith("_in_")})
        twin._keep_targets(targets)
        twin._finish(kept.X, prepared, solution)
        self._forget()
        vars(self).update(vars(twin), _kept=replace(kept, refits=refits))
        return self

    def suggest(self, k: int = 1) -> Array:
        """Suggest the rows to label next.

        Classifiers choose rows by the graph and the uncertainty of the answer, regressions by the
        posterior variances of the fit. The rows of a batch are chosen together, so that their
        information does not overlap.

        Parameters
        ----------
        k : int, default=1
            Number of rows.

        Returns
        -------
        ndarray of int of shape (k,)
            Unlabelled rows of the fit, the most informative first; fewer if no more are unlabelled.
            Of equal rows the first.

        Raises
        ------
        ValueError
            If the fit is not updatable, k is not a whole number of at least 1, or the fit has
            neither a graph nor posterior variances.

        Notes
        -----
        Classifiers: greedy reduction of the variance on the graph's smoothest eigenvectors ([1]_),
        times the uncertainty of the answer, 1 minus half the difference of the two largest decision
        values and at least 0, as in [2]_. Regressions without posterior variances, `LapSVR` and
        fits with early stopping, use the reduction alone.

        Regressions: greedy reduction of the sum of the posterior variances of all rows, by rank-one
        updates of their covariance, as in [3]_. For n points this takes O(n^2 q) for the covariance
        with the q candidate rows, and O(n q) for each suggested row; if more than 1000 rows are
        unlabelled, 1000 of them are candidates, evenly spaced by their values. On six sets of 200
        rows, ten targets drawn at random, then three batches of ten, three draws, the errors of
        `LapRLSRegressorCV` after each batch are 0.64, 0.60 and 0.62 of those with random batches
        (geometric means); with rows by the graph they are 0.69, 0.62 and 0.71.

        References
        ----------
        .. [1] M. Ji and J. Han, "A variance minimization criterion to active learning on graphs",
           AISTATS 2012.
        .. [2] K. Miller and A. L. Bertozzi, "Model change active learning in graph-based
           semi-supervised learning", Communications on Applied Mathematics and Computation, 2024.
        .. [3] D. Cohn, Z. Ghahramani and M. Jordan, "Active learning with statistical models",
           Journal of Artificial Intelligence Research 4, 1996.
        """
        kept = self._kept_state("suggest")
        check({"k": k}, {"k": COUNT})
        problem = kept.refits.prepared.problem
        open_points = np.ones(problem.n_points, dtype=bool)
        open_points[problem.vertex[problem.labeled_rows & (problem.vertex >= 0)]] = False
        inside = problem.vertex[problem.vertex >= 0]
        counts = np.bincount(inside, minlength=problem.n_points).astype(np.float64)
        with single_blas_thread():  # many small products
            points = self._by_variance(kept, int(k), open_points, counts)
            if points is None:
                points = self._by_graph(kept, int(k), open_points, counts)
        rows = np.asarray(problem.rows[points])
        assert self._kept is not None
        self._kept = replace(self._kept, named=kept.named | frozenset(rows.tolist()))
        return rows

    def _by_variance(
        self, kept: UpdateState, k: int, open_points: Array, counts: Array
    ) -> Array | None:
        """Choose points of a regression by posterior variances; None if there are none."""
        if not self._regression:
            return None
        points = np.flatnonzero(open_points)
        if len(points) > max(_MOST_CANDIDATES, k):
            ordered = value_order(kept.refits.prepared.problem.X, pairwise=self._pairwise())
            ordered = ordered[open_points[ordered]]
            at = np.linspace(0, len(ordered) - 1, max(_MOST_CANDIDATES, k)).astype(np.intp)
            points = np.sort(ordered[at])
        found = kept.refits.covariance(points)
        if found is None:
            return None
        reductions = column_dot(found.values, found.values * counts[:, None])
        diagnostics.warn_equal_candidates(reductions)
        return reduce_variance(
            found.values, points, found.noise_variance, counts, min(k, len(points))
        )

    def _has_posterior(self) -> bool:
        """Return whether `suggest` uses posterior variances."""
        kept = self._kept_state("suggest")
        return self._regression and kept.refits.covariance(np.zeros(1, dtype=np.intp)) is not None

    def _by_graph(self, kept: UpdateState, k: int, open_points: Array, counts: Array) -> Array:
        """Choose points by the graph, and keep their coordinates for the next call."""
        prepared = kept.refits.prepared
        if prepared.laplacian is None:
            raise ValueError("suggest needs a graph, but this fit has none. Fit with gamma_I > 0.")
        if kept.design is None:
            kept = replace(kept, design=design_of(prepared.laplacian, prepared.eigenpairs))
            self._kept = kept
        assert kept.design is not None
        return most_informative(
            kept.design,
            np.unique(prepared.problem.index),
            min(k, int(open_points.sum())),
            self._unsure(kept.refits),
            open_points,
            counts,
            prepared.laplacian.affinity,
        )

    def suspicious_labels(self) -> Array:
        """Find labelled rows whose label is probably wrong.

        Every label is left out once and predicted by the fit to all others. The reliability of
        these predictions is estimated from all of them: if correct labels are often contradicted,
        such as those of rows that `suggest` returned, only a clear contradiction counts.

        Returns
        -------
        ndarray of int
            Rows of the fit, the most probable first; of equal rows the first with the label. Often
            empty, and always for regressions. The only label of a class is never included.

        Raises
        ------
        ValueError
            If the fit is not updatable.

        See Also
        --------
        lapwing.model_selection.leave_one_out : All predictions of left-out labels.
        """
        kept = self._kept_state("suspicious_labels")
        prepared = kept.refits.prepared
        problem = prepared.problem
        if self._regression:
            return np.asarray(problem.observed[:0])
        offsets = getattr(self, "class_offsets_", 0.0)
        fitted = kept.refits.values(prepared) + offsets
        sharpness = fit_sharpness(
            self._sharpness_prior, fitted[~problem.labeled], fitted[problem.index]
        )
        codes = predict_codes(problem.targets)
        found = suspicious(kept.refits.left_out() + offsets, codes, sharpness)
        return np.asarray(problem.observed[found])

    def _warn_suggested(self) -> None:
        """Warn if most labels are of rows that were suggested."""
        if self._kept is not None:
            labeled = np.flatnonzero(self.labeled_)
            n_chosen = len(self._kept.chosen & frozenset(labeled.tolist()))
            diagnostics.warn_suggested_labels(n_chosen, len(labeled))

    def _snapshot(self) -> Self:
        """Return a copy that later updates do not change; it shares the kept state."""
        twin = copy(self)
        twin._kept = self._kept
        return twin

    def _begin(self, X: PointsLike, y: ArrayLike) -> tuple[Any, Targets]:
        points, targets = super()._begin(X, y)
        # A copy, as the user may change X later; files must not change.
        return (points.copy() if self.updatable and not is_rows(points) else points), targets

    def _forget(self) -> Mapping[str, Any]:
        self.__dict__.pop("_kept", None)
        return super()._forget()

    def _kept_refits(self, prepared: P) -> Refits[P, S] | None:
        return self._refits(prepared) if self.updatable else None

    def _keep(self, refits: Refits[P, S] | None, solution: S, X: PointData) -> None:
        if refits is not None and self.updatable:
            self._kept = UpdateState(refits, X, self.get_params())

    def _updated(self, refits: Refits[Any, Any], solution: Any) -> S:
        """Return the solution of a refit as one of this estimator."""
        found: S = solution
        return found

    def __getstate__(self) -> Any:
        """Leave the kept state out of copies and of models on disk."""
        state = dict(super().__getstate__())  # a copy of `__dict__`
        state.pop("_kept", None)
        return state

    def _kept_state(self, asking: str) -> UpdateState:
        check_is_fitted(self)
        self._refuse_several(asking)
        if self._kept is None:
            raise ValueError(
                f"{asking} needs the graph and the factorisation of the fit, which were not kept. "
                f"Fit with {type(self).__name__}(updatable=True). A model that was loaded or "
                "copied has to be fitted again."
            )
        return self._kept

    def _read_again(self, y: Array, before: Targets) -> Targets:
        """Read targets, with labels of the types of the fit."""
        targets = self._read_targets(y)
        if self._regression:
            return targets
        classes, old = targets.classes, before.classes.dtype
        text = old.kind == "U" and all(isinstance(label, str) for label in classes)
        if text or classes.dtype.kind == old.kind:
            classes = classes.astype(str if text else old)
        return targets._replace(classes=classes, unlabeled=before.unlabeled or targets.unlabeled)

    def _labels_as_given(self, prepared: P) -> Array:
        """Return y of the fit, with the marker that this estimator reads."""
        targets = prepared.targets
        if self._regression:
            return np.where(targets.labeled, targets.columns[:, 0], np.nan)
        classes = targets.classes
        marker = None if is_auto(self.unlabeled) else self.unlabeled
        codes = predict_codes(targets.columns)
        given = classes[codes].tolist()
        return objects(
            label if known else marker for label, known in zip(given, targets.labeled, strict=True)
        )

    def _unsure(self, refits: Refits[Any, Any]) -> Array:
        values = refits.values(refits.prepared)
        if self._regression:
            return np.ones(len(values))
        values = of_each_class(values + getattr(self, "class_offsets_", 0.0))
        largest = np.sort(values, axis=1)[:, -2:]
        return np.asarray(np.clip(1 - (largest[:, 1] - largest[:, 0]) / 2, 0.0, 1.0))


def _refuse_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise ValueError if parameters were changed after a fit."""
    names = [name for name in changed(before, now) if name.rpartition("__")[2] not in _MAY_CHANGE]
    if names:
        raise ValueError(
            f"{', '.join(names)} changed after the fit, but add_labels continues the fit with "
            "its parameters. Call fit with all labels."
        )


def _rows(rows: ArrayLike, n_rows: int) -> Array:
    at = np.atleast_1d(np.asarray(rows))
    if at.ndim != 1 or (len(at) and at.dtype.kind not in "iu"):
        shown = f"{at.ndim} axes" if at.ndim != 1 else f"{plain(at[0])!r}"
        raise ValueError(
            f"rows holds {shown}, and must be whole numbers that count the rows of the fit from 0. "
            "Of a mask give np.flatnonzero(mask)."
        )
    outside = at[(at < 0) | (at >= n_rows)]
    if len(outside):
        raise ValueError(f"Row {outside[0]} is out of range for {n_rows} rows, counted from 0.")
    values, counts = np.unique(at, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"Row {values[counts > 1][0]} is given twice. Give each row one label.")
    return at.astype(np.intp)


def _with_labels(y: Array, rows: Array, labels: ArrayLike, marker: object, classes: Array) -> Array:
    given = read_column([labels] if np.ndim(labels) == 0 else labels)
    if len(given) != len(rows):
        raise ValueError(f"{len(rows)} rows and {len(given)} labels were given: one label a row.")
    if y.dtype.kind == "f" and given.dtype.kind in "fiub":
        y = y.copy()
        y[rows] = given
        return y
    given, y = objects(map(plain, given)), objects(y)  # to be read, or refused, as by `fit`
    if is_auto(marker):  # if 1 is the only class left, -1 would be read as a class
        given[find_unlabeled(given, marker, classes)] = None
    y[rows] = given
    return settle(y)
