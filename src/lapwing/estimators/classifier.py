"""Base of classifiers: class labels, decision values, probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from lapwing._arrays import Array
from lapwing._host.memory import require_memory
from lapwing._parameters import parameters
from lapwing._rows.base import PointData, PointsLike
from lapwing.classes.decoding import (
    as_decisions,
    coded_columns,
    decision_values,
    of_each_class,
    predict_codes,
)
from lapwing.classes.labels import (
    ClassLabels,
    check_class_weights,
    code_classes,
    code_known,
    read_known,
)
from lapwing.classes.probabilities import (
    GRAPH_PRIOR,
    Sharpness,
    SharpnessPrior,
    class_probabilities,
    fit_sharpness,
)
from lapwing.classes.volumes import ClassOffsets, PriorLike, prior_offsets, read_prior
from lapwing.estimators import diagnostics
from lapwing.estimators.manifold import ManifoldPrepared, ManifoldSolution, StoppableEstimator
from lapwing.estimators.prepared import P, Prepared, S, Solution, Targets
from lapwing.estimators.template import SemiSupervisedEstimator, of_rows, only_labeled
from lapwing.estimators.updates import Updatable
from lapwing.graphs import Laplacian
from lapwing.graphs.diffusion import Diffusion
from lapwing.objectives.volumes import volume_problem
from lapwing.problem import Problem
from lapwing.solvers.graph.partition import Partition
from lapwing.solvers.graph.refine import refine
from lapwing.solvers.graph.registry import in_order, order_bytes

_COPIES = 6  # arrays with a number for every point and class in memory at once


def check_classes(targets: Targets, problem: Problem) -> None:
    """Raise ValueError if weights leave a class without a labelled row."""
    classes = targets.classes
    found = np.bincount(predict_codes(problem.targets), minlength=len(classes)) > 0
    if not found.all():
        raise ValueError(
            f"sample_weight is zero on every labelled row of the classes "
            f"{classes[~found].tolist()}. Give some of their rows a positive weight, or leave "
            "these rows out of X and y."
        )


class PartlyLabeledMixin(ClassifierMixin):
    """Mixin of classifiers whose score leaves unlabelled rows out."""

    unlabeled: object
    classes_: Array

    def score(self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Compute the accuracy on the labelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, as for `predict`.
        y : array-like of shape (n_samples,)
            Labels. Unlabelled rows, recognised as in `fit`, are ignored, so that a search or
            cross-validation may hold out any rows. -1 is a label if it is in `classes_`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            Between 0 and 1.

        Raises
        ------
        ValueError
            If no row is labelled.
        """
        check_is_fitted(self)
        labels, labeled = read_known(y, self.unlabeled, self.classes_)
        X, sample_weight = only_labeled(labeled, X, sample_weight)
        return float(super().score(X, labels, sample_weight=sample_weight))


@parameters
class SemiSupervisedClassifier(PartlyLabeledMixin, SemiSupervisedEstimator[P, S]):
    """Base of classifiers."""

    # Of its scores, before any label is left out.
    _sharpness_prior: ClassVar[SharpnessPrior] = GRAPH_PRIOR

    _: KW_ONLY
    unlabeled: object = "auto"

    def _read_targets(self, y: ArrayLike) -> Targets:
        labels = code_classes(y, self.unlabeled)
        return Targets(
            coded_columns(labels.codes, len(labels.classes)),
            labels.labeled,
            self._class_weights(labels),
            labels.classes,
            labels.unlabeled,
            read_prior(self._parameter("class_prior"), labels.codes, labels.classes),
            labels.warning,
            check_classes,
        )

    def _known_targets(self, y: ArrayLike) -> Array:
        """Read the labels of validation data, which are all of classes of the fit."""
        return code_known(y, self.classes_, self.unlabeled)

    def _keep_targets(self, targets: Targets) -> None:
        self.classes_, self.unlabeled_ = targets.classes, targets.unlabeled
        if targets.class_prior is not None:
            self.class_prior_ = targets.class_prior

    def _class_weights(self, labels: ClassLabels) -> Array:
        """Return the factors of the sample weights of all rows."""
        weights, given = np.ones(len(labels.codes)), self._parameter("class_weight")
        if given is None:
            return weights
        known = labels.codes[labels.labeled]
        if isinstance(given, dict):
            check_class_weights(given, labels.classes)
        of_class = compute_class_weight(given, classes=labels.classes, y=labels.classes[known])
        weights[labels.labeled] = of_class[known]
        return weights

    def _answer(self, X: PointData, problem: Problem, solution: Solution) -> Array:
        values = super()._answer(X, problem, solution)
        if not diagnostics.warn_single_class(self.transduction_[~self.labeled_]):
            self._warn_constant(X, problem, solution, "Decision values")
        self._sharpen(values, problem, solution)
        return values

    def _sharpen(self, values: Array, problem: Problem, solution: Solution) -> None:
        """Fit the sharpness of the scores, and set the probabilities of all rows."""
        offsets = getattr(self, "class_offsets_", 0.0)
        left_out, codes, rows = self._left_out_labels(problem, solution)
        # Each point and observation counts once: equal rows are the same as a weight.
        found = fit_sharpness(
            self._sharpness_prior,
            solution.values[~problem.labeled] + offsets,
            solution.values[problem.index] + offsets,
            left_out,
            codes,
        )
        self._keep_sharpness(found, left_out, rows)
        self.transduction_proba_ = class_probabilities(values, found.value)

    def _left_out_labels(
        self, problem: Problem, solution: Solution
    ) -> tuple[Array | None, Array, Array]:
        """Return the left-out values of labels, with their classes and rows."""
        left_out, codes = solution.left_out(), predict_codes(problem.targets)
        if left_out is None:
            return None, codes, problem.observed[:0]
        # Without the only label of a class it would be another problem.
        removable = np.bincount(codes)[codes] > 1
        left_out = left_out[removable] + getattr(self, "class_offsets_", 0.0)
        return left_out, codes[removable], problem.observed[removable]

    def _keep_sharpness(self, found: Sharpness, left_out: Array | None, rows: Array) -> None:
        """Set the fitted attributes of the sharpness and of left-out labels."""
        self.probability_sharpness_ = found.value
        self.probability_spread_ = found.spread
        self.probability_n_labels_ = found.n_labels
        tested = np.empty((0, len(self.classes_)))
        if left_out is not None:
            known = ~np.isnan(left_out).any(axis=1)
            rows, tested = rows[known], class_probabilities(left_out[known], found.value)
        self.left_out_rows_, self.left_out_proba_ = rows, tested

    def _shift(self, values: Array) -> Array:
        if not hasattr(self, "class_prior_"):
            return values
        found = self._offsets(values)
        diagnostics.warn_missed_prior(found.volumes, found.targets, self.classes_)
        self.class_offsets_ = found.offsets
        # Part of the intercept, so that the function needs no further attribute.
        self.intercept_ = (self.intercept_ + found.offsets).astype(self.intercept_.dtype)
        return values + found.offsets

    def _offsets(self, values: Array) -> ClassOffsets:
        return prior_offsets(values, self.class_prior_)

    def _transduce(self, values: Array) -> Array:
        return np.asarray(self.classes_[predict_codes(values)])

    def decision_function(self, X: PointsLike) -> Array:
        """Compute decision values of points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points; their kernel values with the training points, (n_samples, n_samples_fit), if
            ``kernel='precomputed'``.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One value for two classes, positive for ``classes_[1]``; otherwise a column for each
            class, in the order of `classes_`. The targets of the fit are -1 and +1.
        """
        return as_decisions(self._decision_values(X))

    def predict(self, X: PointsLike) -> Array:
        """Predict the classes of points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class with the largest decision value, the first one in case of ties; for two classes
            ``classes_[1]`` if the value is >= 0.
        """
        return self._transduce(self._decision_values(X))

    def predict_proba(self, X: PointsLike) -> Array:
        r"""Predict the probabilities of the classes for points.

        The softmax of `probability_sharpness_` times the decision values (for two classes -f and
        f):

        .. math:: P(k \mid x) = \frac{\exp(t f_k(x))}{\sum_j \exp(t f_j(x))}.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`. Rows sum to 1, and `predict` returns the class of
            the largest entry.

        Notes
        -----
        `fit` estimates t from leave-one-out decision values if these cost almost nothing: in
        `LapSVC` and `LapRLSClassifier` with solver 'dual' and differentiable losses,
        `LapERLSClassifier`, `AnchorGraphClassifier` and `EigenfunctionClassifier`. For other
        estimators, and with one label per class, t was calibrated on other data by the size of the
        scores, and `probability_n_labels_` is 0. The decision values include the offsets of a class
        prior.

        A few labels can only calibrate t. If the method is unsuitable for the data and no label
        reveals it, the probabilities are wrong as well.
        """
        return class_probabilities(self._decision_values(X), self.probability_sharpness_)

    def predict_log_proba(self, X: PointsLike) -> Array:
        """Predict the logarithms of the probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`; -inf for a probability of 0.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))


@parameters
class WeightedClassifier(SemiSupervisedClassifier[P, S]):
    """Base of classifiers with weights and prior proportions of the classes."""

    _: KW_ONLY
    class_weight: Mapping[Any, float] | str | None = None
    class_prior: PriorLike = None


@parameters
class RefinableClassifier(WeightedClassifier[P, S]):
    """Base of classifiers whose answer can be refined on the graph."""

    _: KW_ONLY
    refine: str | None = None

    def _refined(self, X: PointData, prepared: P, solution: S) -> Solution:
        if self.refine is None:
            return solution
        values = of_rows(X, prepared.problem, solution)
        prior = prepared.targets.class_prior
        if prior is not None:
            values = values + prior_offsets(values, prior).offsets
        shown = predict_codes(values)[prepared.problem.rows]
        found = refined(prepared, solution, shown)
        self.cut_history_ = np.ravel(found.history["objective"])
        self.refined_ = len(self.cut_history_) > 1  # else the answer before stays
        if not self.refined_:
            return solution
        columns = coded_columns(found.codes, len(prepared.targets.classes))
        follows = self._follow(prepared, solution, columns)
        values = decision_values(found.state, found.codes, solution.values.dtype)
        return RefinedSolution(follows, values, solution)


class ManifoldClassifier(
    Updatable[ManifoldPrepared, ManifoldSolution],
    RefinableClassifier[ManifoldPrepared, ManifoldSolution],
    StoppableEstimator,
):
    """Base of classifiers by manifold regularisation."""

    def _check_combination(self, *, validation_data: object = None) -> None:
        super()._check_combination(validation_data=validation_data)
        if self.refine is not None and not self._wants_graph():
            raise ValueError(
                f"refine={self.refine!r} needs a graph, but with gamma_I=0 there is none. Use "
                "gamma_I > 0, or refine=None."
            )


@dataclass(frozen=True, eq=False)
class RefinedSolution(Solution):
    """Solution after refinement, with the function fitted to the refined classes."""

    holds_prior: ClassVar[bool] = True

    before: Solution

    def assign(self, model: Any) -> None:
        self.before.assign(model)


def refined(prepared: Prepared[Any, Laplacian], solution: Solution, shown: Array) -> Partition:
    """Refine the answer of a solution on the graph of its points.

    Parameters
    ----------
    prepared : Prepared
        With a graph.
    solution : Solution
    shown : ndarray of int of shape (n,)
        Classes that the solution gives to the points, class prior included.

    Returns
    -------
    Partition
    """
    n_classes = len(prepared.targets.classes)
    graph, prior = Diffusion.of(prepared.laplacian), _volumes(prepared, shown, n_classes)
    problem = volume_problem(prepared.problem, graph, prior, exact=True)
    require_memory(
        8.0 * _COPIES * problem.n_points * n_classes + order_bytes(problem),
        f"Refining the answer for {n_classes} classes at {problem.n_points} points",
        "Use refine=None.",
    )
    ordered = in_order(problem)
    scores = ordered.there(of_each_class(solution.values))
    return ordered.solve(partial(refine, scores=scores, before=ordered.there(shown)))


def _volumes(prepared: Prepared[Any, Laplacian], shown: Array, n_classes: int) -> Array:
    """Return the class proportions of the answer, or the prior if missed by a row or more."""
    vertex = prepared.problem.vertex
    volumes = np.bincount(shown[vertex[vertex >= 0]], minlength=n_classes)
    prior = prepared.targets.class_prior
    if prior is not None and np.abs(volumes - volumes.sum() * prior).max() >= 1:
        return np.asarray(prior)
    return np.asarray(volumes / volumes.sum())
