"""Classifier that chooses its method, and its base, which the regressor shares."""

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
from lapwing.estimators.prepared import Progress, Shown, Stages
from lapwing.estimators.template import is_fitted_name, only_labeled
from lapwing.exceptions import LapwingWarning
from lapwing.model_selection.candidates import Chooser, last_step, warn_of_failures
from lapwing.model_selection.comparison import CompareSettings, Comparison, compared
from lapwing.model_selection.evidence import Effort
from lapwing.model_selection.probabilities import sharpen_untested

T = TypeVar("T")


class FewLabelEstimator(Chooser, CallbackSupportMixin, BaseEstimator):
    """Choose by a comparison, fit to all rows, and answer as what was chosen."""

    evidence_: Comparison
    error_: float
    error_interval_: tuple[float, float]
    labeled_: Array
    transduction_: Array

    def _begin(self, X: Any, y: Any) -> Any:
        """Read points: those in memory are checked, rows on disk are checked by the last fit.

        Nothing is left of the fit before.
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
        """Compare, and fit the choice to all rows; return its last step and the second result."""
        progress = Progress(self, None, X, y)
        with Shown("Choosing a method", progress) as stages:
            with warnings.catch_warnings():  # the last fit gives the warnings about all rows
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
        """Prepare the chosen estimator for its fit to all rows."""
        return evidence.best

    def predict(self, X: PointsLike) -> Any:
        """Predict by the chosen estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples,)
            The classes with the largest decision values, or numbers in the units of y.
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


@document
@parameters
class FewLabelClassifier(ClassifierMixin, FewLabelEstimator):
    """Chooses among the families of methods, fits the one it chose, and says how far to trust it.

    A fit gathers the evidence of `lapwing.model_selection.compare` and fits the estimator that is
    best by it to all rows. Everything else is that estimator's.

    Parameters
    ----------
    candidates : sequence of lapwing.model_selection.Candidate, default=None
        What to choose from. None is `lapwing.model_selection.default_candidates`: the supervised
        SVM, `LapSVC`, `LapERLSClassifier`, `S3VC` and, for three classes and more,
        `BalancedGraphClassifier`.
    class_prior : {'labels', 'uniform', 'unknown'}, array-like, dict or None, default=None
        Proportions of the classes in X: 'labels' are the frequencies of the labels, 'uniform' is
        equal proportions; numbers are in the order of `classes_` or by class in a dict or a pandas
        Series. It is set in every default candidate with such a parameter: as `balance` of `S3VC`
        (whose default is its own meaning of 'labels'), and as `class_prior` of the others. Your own
        `candidates` keep their parameters, and cannot be combined with it. 'unknown' and None set
        nothing.
    n_draws : int, default=5
        Draws of labels from a candidate's own answer. Methods for which each draw costs a whole
        fit, such as `S3VC`, make ``2 / K`` of them with K classes, and at least two.
    max_left_out : int, default=16
        Labels to leave out, the same for every candidate and one of each class at a time; the last
        of these rounds may exceed the number.
    max_samples : int, default=2000
        Maximum number of rows of the comparison; the chosen estimator is fitted to all rows.
    {unlabeled}
    random_state : int, RandomState or None, default=0
        Seed of all draws. With None another fit may choose another candidate.

    Attributes
    ----------
    best_estimator_ : estimator
        The chosen one, fitted to all rows.
    evidence_ : lapwing.model_selection.Comparison
        All candidates. Print it to see the table and the verdict.
    error_ : float
        Estimated share of wrong answers on the unlabelled rows.
    error_interval_ : tuple of float
        Where that share lies with probability 0.9.
    {classes_}
    {unlabeled_}
    {transduction_}
    transduction_proba_ : ndarray of shape (n_samples, n_classes)
        Probabilities of the classes of every training point.
    {labeled_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    lapwing.model_selection.compare : The evidence alone.

    Notes
    -----
    The time is up to fourteen fits of `S3VC` to at most `max_samples` rows, which is most of it,
    and a few fits of the others. Memory is that of the estimators: one at a time, beside
    the SVM of the labels alone, holds matrices of at most ``max_samples ** 2`` numbers, and the
    chosen one those of all rows. Beyond 12,000 rows only candidates without such a matrix are
    tried. In a terminal or notebook a line on standard error names what is being tried, from two
    seconds on.

    With one label a class the estimate of the error is a guess from what the answers of such
    methods were worth on other data: ``evidence_.notes`` says so.

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
        """Choose an estimator and fit it to labelled and unlabelled points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All points, labelled or not.
        y : array-like of shape (n_samples,)
            Class labels, with the unlabelled marker where there is none.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the points, as the candidates take them.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            For points or labels that no candidate can be fitted to, and for a `class_prior` that
            is none of these classes or stands beside `candidates`.

        Warns
        -----
        FitFailedWarning
            For each candidate that cannot be fitted: the choice is among the others.
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
        sharpen_untested(fitted, sharpness)  # by fits that the evidence took in any case
        self.classes_ = fitted.classes_
        self.transduction_proba_ = fitted.transduction_proba_
        self.unlabeled_ = fitted.unlabeled_
        return self

    def decision_function(self, X: PointsLike) -> Array:
        """Compute decision values by the chosen estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One value for two classes, positive for ``classes_[1]``; else one column a class, in
            the order of `classes_`.
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.decision_function(X))

    def predict_proba(self, X: PointsLike) -> Array:
        """Predict probabilities by the chosen estimator.

        They are its own; those of `S3VC` and `BalancedGraphClassifier` are as sharp as the labels
        say that the comparison left out. `error_` and `error_interval_` say what to expect of the
        answers.

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
            Labels, read as `fit` reads them: rows without one are left out.
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
