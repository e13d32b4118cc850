"""Estimators that select their method."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from lapwing._arrays import Array
from lapwing._features import read_features
from lapwing._parameters import FLAG, check, parameters
from lapwing._rows.base import PointsLike, is_rows
from lapwing._rows.registry import header_of, rows_or_array
from lapwing.classes.labels import read_targets
from lapwing.classes.markers import read_column
from lapwing.classes.probabilities import Sharpness
from lapwing.estimators._docs import document
from lapwing.estimators.classifier import PartlyLabeledMixin
from lapwing.estimators.input_checks import warn_row_order
from lapwing.estimators.lapsvm import LapRLSRegressor, LapSVC
from lapwing.estimators.multioutput import (
    SeveralTargets,
    naming_target,
    of_each_target,
    split_targets,
)
from lapwing.estimators.prepared import Progress, Shown, refuse_missing_y
from lapwing.estimators.regressor import GaussianRegressor
from lapwing.estimators.template import is_fitted_name
from lapwing.estimators.updates import Updatable
from lapwing.exceptions import LapwingWarning
from lapwing.model_selection.candidates import Chooser, last_step, transform_before_last
from lapwing.model_selection.comparison import (
    CompareSettings,
    Comparison,
    compared,
    warn_of_failures,
)
from lapwing.model_selection.evidence import Effort
from lapwing.model_selection.probabilities import sharpen_untested
from lapwing.model_selection.relevance_scaler import correct_left_out, optimism_of

T = TypeVar("T")


class FewLabelEstimator(Chooser, CallbackSupportMixin, BaseEstimator):
    """Base of estimators that select a method by a comparison and fit it to all rows."""

    evidence_: Comparison
    error_: float
    error_interval_: tuple[float, float]
    labeled_: Array
    transduction_: Array

    def _begin(self, X: PointsLike, y: ArrayLike) -> Any:
        """Read points, and delete the attributes of an earlier fit.

        Points in memory are checked here, and rows on disk by the final fit.
        """
        for name in [name for name in vars(self) if is_fitted_name(name)]:
            delattr(self, name)
        refuse_missing_y(self, y)
        warn_row_order(X, y)
        X = rows_or_array(X)
        if is_rows(X):
            validate_data(self, header_of(X), skip_check_array=True)
            return X
        return read_features(self, X, reset=True)

    def _choose(
        self,
        X: PointsLike,
        points: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        settings: CompareSettings,
    ) -> tuple[Any, Sharpness | None]:
        """Compare, fit the selected estimator to all rows, and return its last step.

        Also returns the sharpness of its scores, if it is a classifier.
        """
        progress = Progress(self, None, X, y)
        with Shown("Choosing a method", progress) as stages:
            with warnings.catch_warnings():  # the final fit repeats the warnings for all rows
                warnings.simplefilter("ignore", LapwingWarning)
                evidence, sharpness = compared(points, y, sample_weight, settings, stages)
            warn_of_failures(evidence.failed, stacklevel=3)
            best = self._prepared_best(evidence)
            weights = {} if sample_weight is None else {_weights_of(best): sample_weight}
            with stages.stage(f"fit {evidence.chosen.name}"):
                self.best_estimator_ = best.fit(X, y, **weights)
        progress.finish()
        self.evidence_ = evidence
        self.error_ = evidence.error
        self.error_interval_ = evidence.error_interval
        fitted = last_step(best)
        self.labeled_ = fitted.labeled_
        self.transduction_ = fitted.transduction_
        return fitted, sharpness

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


@parameters
@document(LapSVC)
class FewLabelClassifier(PartlyLabeledMixin, FewLabelEstimator):
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
    def fit(
        self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> FewLabelClassifier:
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
        points, y = self._begin(X, y), read_column(y)  # once, with its warnings
        effort = Effort(self.n_draws, self.max_left_out)
        settings = CompareSettings(
            self.candidates,
            effort,
            self.max_samples,
            self.class_prior,
            self.unlabeled,
            self.random_state,
        )
        fitted, sharpness = self._choose(X, points, y, sample_weight, settings)
        assert sharpness is not None
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


@parameters
@document(LapRLSRegressor)
class FewLabelRegressor(SeveralTargets, FewLabelEstimator):
    """Regressor with automatic selection of the method and an estimate of its error.

    `fit` compares the leave-one-out errors of candidates with `lapwing.model_selection.compare` and
    fits the selected one to all rows: the best supervised candidate, unless the error of a
    semi-supervised one is smaller by 2 % or more. Predictions are those of this estimator.

    Parameters
    ----------
    candidates : sequence of lapwing.model_selection.Candidate, default=None
        Candidates to select from. None is `lapwing.model_selection.default_candidates` for
        regression: ridge and kernel ridge regression on the rows with a target,
        `LapRLSRegressorCV` and `LapERLSRegressor`; kernel ridge regression and `LapRLSRegressorCV`
        also after `RelevanceScaler`.
    max_samples : int, default=2000
        Maximum number of rows of the comparison; the selected estimator is fitted to all rows.
    random_state : int, RandomState or None, default=0
        Seed of the random choice of these rows.
    updatable : bool, default=False
        Whether the selected estimator keeps its factorisation (matrices of n x n numbers), which
        ``predict(X, return_std=True)`` and `add_labels` of `best_estimator_` need.

    Attributes
    ----------
    best_estimator_ : estimator
        Selected estimator with its selected parameters, fitted to all rows.
    evidence_ : lapwing.model_selection.Comparison
        Results of all candidates. Print it to see the table and the verdict.
    unlabeled_help_ : bool
        Whether the selected estimator uses the rows without a target. If not, no semi-supervised
        candidate was better than the supervised ones.
    error_ : float
        Leave-one-out root mean square error, in the units of y.
    error_interval_ : tuple of float
        Interval that contains the error on other rows with probability 0.9.
    {transduction_}
    {estimators_}
    {labeled_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    lapwing.model_selection.compare : The comparison only.
    LapRLSRegressorCV : One of the candidates.

    Notes
    -----
    The time is mainly that of `LapRLSRegressorCV` on at most `max_samples` rows. Beyond 12,000 rows
    only candidates without a matrix of all pairs of rows are compared.

    Leave-one-out errors of estimators that select parameters by the same targets are slightly too
    small; the selection is by likelihood and not by these errors. For scaled columns, with a
    length scale each, errors, intervals and standard deviations are multiplied by
    `RelevanceScaler.optimism_`.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import FewLabelRegressor
    >>> X = np.linspace(0, 1, 41)[:, None]
    >>> y = np.full(41, np.nan)
    >>> y[::5] = np.sin(6 * X[::5, 0])
    >>> model = FewLabelRegressor().fit(X, y)
    >>> bool(np.abs(model.predict(X) - np.sin(6 * X[:, 0])).max() < 0.1)
    True
    """

    candidates: Any = None
    _: KW_ONLY
    max_samples: int = 2000
    random_state: Any = 0
    updatable: bool = False

    @with_callbacks
    def fit(
        self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> FewLabelRegressor:
        """Select an estimator and fit it to all points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All points, with a target or without.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets, NaN or another missing value if unknown. A method is selected for each of
            several targets separately.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the points, passed to the candidates.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If no candidate can be fitted.

        Warns
        -----
        FitFailedWarning
            For each candidate that cannot be fitted and is left out.
        """
        check({"updatable": self.updatable}, {"updatable": FLAG})
        points = self._begin(X, y)
        if (columns := split_targets(y)) is not None:
            fitted = []
            for j, column in enumerate(columns):
                with naming_target(j, column):
                    fitted.append(clone(self).fit(X, column, sample_weight))
            self.estimators_ = fitted
            return self
        y, _ = read_targets(y)  # once, with its warnings
        settings = CompareSettings(
            self.candidates,
            max_samples=self.max_samples,
            random_state=self.random_state,
            regression=True,
        )
        fitted, _ = self._choose(X, points, y, sample_weight, settings)
        correct_left_out(fitted, getattr(self.best_estimator_, "steps", ()))
        self.unlabeled_help_ = self.evidence_.unlabeled_help
        return self

    def _prepared_best(self, evidence: Comparison) -> Any:
        best = evidence.best
        if self.updatable and isinstance(last_step(best), Updatable):
            last_step(best).set_params(updatable=True)
        return best

    @of_each_target
    def predict(self, X: PointsLike, return_std: bool = False) -> Any:
        """Predict values with the selected estimator, optionally with standard deviations.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points.
        return_std : bool, default=False
            Whether to return posterior standard deviations as well; needs ``updatable=True``.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Values in the units of y.
        std : ndarray of the same shape
            Standard deviations, on scaled columns multiplied by `RelevanceScaler.optimism_`; only
            with `return_std`.

        Raises
        ------
        ValueError
            If the selected estimator has no standard deviations or did not keep its factorisation.

        See Also
        --------
        LapRLSRegressor.predict : Definition of the standard deviations.
        """
        check({"return_std": return_std}, {"return_std": FLAG})
        check_is_fitted(self)
        if not return_std:
            return super().predict(X)
        last = last_step(self.best_estimator_)
        if not isinstance(last, GaussianRegressor):
            raise ValueError(
                f"The selected {type(last).__name__} is not the mean of a Gaussian process and "
                "has no standard deviations. Leave out return_std."
            )
        if last._kept is None:
            raise ValueError(
                "return_std needs the factorisation of the fit, which was not kept. Fit with "
                "FewLabelRegressor(updatable=True). A model that was loaded or copied has to be "
                "fitted again."
            )
        values, std = last.predict(transform_before_last(self.best_estimator_, X), return_std=True)
        return values, std * optimism_of(getattr(self.best_estimator_, "steps", ()))

    @of_each_target
    def predict_interval(self, X: PointsLike, coverage: float = 0.9) -> Array:
        """Compute prediction intervals with a given coverage.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, as for `predict`.
        coverage : float, default=0.9
            Probability, between 0 and 1, that the interval contains the true value.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, 2, n_targets)
            Lower and upper ends, in the units of y.

        Raises
        ------
        ValueError
            If the selected estimator has none, or there are too few targets for the coverage.

        See Also
        --------
        LapRLSRegressor.predict_interval : Definition of the intervals.
        """
        check_is_fitted(self)
        best = self.best_estimator_
        return np.asarray(
            last_step(best).predict_interval(transform_before_last(best, X), coverage)
        )
