"""Classifier that selects its method, and the base class shared with the regressor."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from lapwing._arrays import Array
from lapwing._features import reading_features, refuse_gaps
from lapwing._parameters import parameters
from lapwing._rows import PointsLike, header_of, is_rows, rows_else
from lapwing.classes.labels import read_known
from lapwing.estimators._docs import document
from lapwing.estimators.lapsvm import LapSVC
from lapwing.estimators.prepared import Progress, Shown, Stages
from lapwing.estimators.template import is_fitted_name, only_labeled
from lapwing.exceptions import LapwingWarning
from lapwing.model_selection.candidates import Chooser, last_step, warn_of_failures
from lapwing.model_selection.comparison import CompareSettings, Comparison, compared
from lapwing.model_selection.evidence import Effort
from lapwing.model_selection.probabilities import sharpen_untested

T = TypeVar("T")


class FewLabelEstimator(Chooser, CallbackSupportMixin, BaseEstimator):
    """Base of estimators that select a method by a comparison and fit it to all rows."""

    evidence_: Comparison
    error_: float
    error_interval_: tuple[float, float]
    labeled_: Array
    transduction_: Array

    def _begin(self, X: Any, y: Any) -> Any:
        """Read points, and delete the attributes of an earlier fit.

        Points in memory are checked here, and rows on disk by the final fit.
        """
        for name in [name for name in vars(self) if is_fitted_name(name)]:
            delattr(self, name)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Mark "
                "unlabelled points in y."
            )
        X = rows_else(X)
        if is_rows(X):
            validate_data(self, header_of(X), skip_check_array=True)
            return X
        with reading_features(X):
            X = validate_data(
                self,
                X,
                accept_sparse="csr",
                dtype=(np.float64, np.float32),
                ensure_all_finite=False,
                ensure_min_samples=2,
            )
        refuse_gaps(X, getattr(self, "feature_names_in_", None))
        return X

    def _choose(
        self,
        X: PointsLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        compare: Callable[[Stages], tuple[Comparison, T]],
    ) -> tuple[Any, T]:
        """Compare, fit the selected estimator to all rows, and return its last step."""
        progress = Progress(self, None, X, y)
        with Shown("Choosing a method", progress) as stages:
            with warnings.catch_warnings():  # the final fit repeats the warnings for all rows
                warnings.simplefilter("ignore", LapwingWarning)
                evidence, beside = compare(stages)
            warn_of_failures(evidence.failed, stacklevel=3)
            best = self._prepared_best(evidence)
            weights = {} if sample_weight is None else {_weights_of(best): sample_weight}
            with stages.stage(f"fit {evidence.chosen.name}"):
                self.best_estimator_ = best.fit(X, y, **weights)
        progress.finish(lambda: {})
        self.evidence_ = evidence
        self.error_ = evidence.error
        self.error_interval_ = evidence.error_interval
        fitted = last_step(best)
        self.labeled_ = fitted.labeled_
        self.transduction_ = fitted.transduction_
        return fitted, beside

    def _prepared_best(self, evidence: Comparison) -> Any:
        """Prepare the selected estimator for its fit to all rows."""
        return evidence.best

    def predict(self, X: PointsLike) -> Any:
        """Predict with the selected estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes with the largest decision values, or values in the units of y.
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict(X))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _weights_of(estimator: BaseEstimator) -> str:
    """Return the name of the sample weights in `fit`."""
    if isinstance(estimator, Pipeline):
        return f"{estimator.steps[-1][0]}__sample_weight"
    return "sample_weight"


@document(LapSVC)
@parameters
class FewLabelClassifier(ClassifierMixin, FewLabelEstimator):
    """Classifier with automatic selection of the method and an estimate of its error.

    `fit` compares candidates with `lapwing.model_selection.compare` and fits the best one to all
    rows. Predictions are those of this estimator.

    Parameters
    ----------
    candidates : sequence of lapwing.model_selection.Candidate, default=None
        Candidates to select from. None is `lapwing.model_selection.default_candidates`: the
        supervised SVM, `LapSVC`, `LapERLSClassifier`, `S3VC` and, for three classes and more,
        `BalancedGraphClassifier`.
    class_prior : {'labels', 'uniform', 'unknown'}, array-like, dict or None, default=None
        Class proportions in X: those of the labels ('labels'), equal ones ('uniform'), or given in
        the order of `classes_` or by class in a dict or a pandas Series. They are set in the
        default candidates as `balance` of `S3VC` (whose default 'labels' has a meaning of its own)
        and `class_prior` of the others, and cannot be combined with `candidates`. 'unknown' and
        None set nothing.
    n_draws : int, default=5
        Number of draws of labels from a candidate's own predictions. Methods that need a full fit
        for each draw, such as `S3VC`, make ``2 / K`` times as many with K classes, and at least
        two.
    max_left_out : int, default=16
        Number of labels to leave out, the same for every candidate and one of each class at a time;
        the last round may exceed it.
    max_samples : int, default=2000
        Maximum number of rows of the comparison; the selected estimator is fitted to all rows.
    {unlabeled}
    random_state : int, RandomState or None, default=0
        Seed of all draws. With None, repeated fits may select different candidates.

    Attributes
    ----------
    best_estimator_ : estimator
        Selected estimator, fitted to all rows.
    evidence_ : lapwing.model_selection.Comparison
        Results of all candidates. Print it to see the table and the verdict.
    error_ : float
        Estimated error rate on the unlabelled rows.
    error_interval_ : tuple of float
        Interval that contains the error rate with probability 0.9.
    {classes_}
    {unlabeled_}
    {transduction_}
    transduction_proba_ : ndarray of shape (n_samples, n_classes)
        Class probabilities of every training point.
    {labeled_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    lapwing.model_selection.compare : The comparison only.

    Notes
    -----
    Most of the time is spent in up to fourteen fits of `S3VC` to at most `max_samples` rows. At any
    time, one candidate and the supervised SVM have matrices of at most ``max_samples ** 2`` numbers
    in memory, and the selected estimator those of all rows. Beyond 12,000 rows only candidates
    without such a matrix are compared. In a terminal or notebook, a status line on standard error
    shows the current candidate after two seconds.

    With one label per class, the error is estimated from the errors of such methods on other data,
    and ``evidence_.notes`` has a remark about it.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import FewLabelClassifier
    >>> from lapwing.datasets import mask_labels
    >>> X, truth = make_moons(120, noise=0.05, random_state=0)
    >>> y = mask_labels(truth, 2, random_state=0)
    >>> model = FewLabelClassifier().fit(X, y)
    >>> float((model.transduction_ == truth).mean())
    1.0
    """

    candidates: Any = None
    _: KW_ONLY
    class_prior: Any = None
    n_draws: int = 5
    max_left_out: int = 16
    max_samples: int = 2000
    unlabeled: Any = "auto"
    random_state: Any = 0

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FewLabelClassifier:
        """Select an estimator and fit it to labelled and unlabelled points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All points, labelled or not.
        y : array-like of shape (n_samples,)
            Class labels, with the marker `unlabeled` for unlabelled points.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the points, passed to the candidates.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If no candidate can be fitted, or if `class_prior` does not match the classes or is
            combined with `candidates`.

        Warns
        -----
        FitFailedWarning
            For each candidate that cannot be fitted and is left out.
        """
        points = self._begin(X, y)
        effort = Effort(self.n_draws, self.max_left_out, 0)
        asked = CompareSettings(
            self.candidates,
            effort,
            self.max_samples,
            self.unlabeled,
            self.random_state,
            self.class_prior,
        )
        compare = partial(compared, points, y, sample_weight, asked)
        fitted, sharpness = self._choose(X, y, sample_weight, compare)
        sharpen_untested(fitted, sharpness)  # from fits that the comparison made anyway
        self.classes_ = fitted.classes_
        self.transduction_proba_ = fitted.transduction_proba_
        self.unlabeled_ = fitted.unlabeled_
        return self

    def decision_function(self, X: PointsLike) -> Array:
        """Compute decision values with the selected estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One value for two classes, positive for ``classes_[1]``; otherwise one column per class,
            in the order of `classes_`.
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.decision_function(X))

    def predict_proba(self, X: PointsLike) -> Array:
        """Predict class probabilities with the selected estimator.

        Probabilities of `S3VC` and `BalancedGraphClassifier` are calibrated by the labels that the
        comparison left out. For the expected accuracy, see `error_` and `error_interval_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; columns in the order of `classes_`.
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict_proba(X))

    def score(self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Compute the accuracy on the labelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, as for `predict`.
        y : array-like of shape (n_samples,)
            Labels. Unlabelled rows, recognised as in `fit`, are ignored.
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
