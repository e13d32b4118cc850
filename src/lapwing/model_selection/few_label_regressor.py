"""Regressor that selects its method."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from lapwing._arrays import Array
from lapwing._parameters import FLAG, check, parameters
from lapwing.classes.labels import as_targets, read_targets
from lapwing.estimators._docs import document
from lapwing.estimators.lapsvm import LapRLSRegressor
from lapwing.estimators.multioutput import (
    SeveralTargets,
    keep_several,
    naming_target,
    split_targets,
)
from lapwing.estimators.prepared import Stages
from lapwing.estimators.regressor import GaussianRegressor
from lapwing.estimators.template import only_labeled
from lapwing.estimators.updates import Updatable
from lapwing.model_selection.candidates import default_candidates, last_step
from lapwing.model_selection.comparison import CompareSettings, Comparison, compared_regressions
from lapwing.model_selection.evidence import Effort
from lapwing.model_selection.few_label import FewLabelEstimator
from lapwing.model_selection.relevance_scaler import correct_left_out, optimism_of


@document(LapRLSRegressor)
@parameters
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FewLabelRegressor:
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
        points = self._begin(X, y)
        if (columns := split_targets(y)) is not None:
            fitted = []
            for j, column in enumerate(columns):
                with naming_target(j, column):
                    fitted.append(clone(self).fit(X, column, sample_weight))
            keep_several(self, fitted)
            return self
        y, _ = read_targets(y)  # once, with its warnings
        candidates = self.candidates
        if candidates is None:
            candidates = default_candidates(points, regression=True)
        asked = CompareSettings(
            candidates, Effort(1, 0, 0), self.max_samples, "auto", self.random_state
        )

        def compare(stages: Stages) -> tuple[Comparison, None]:
            return compared_regressions(points, y, sample_weight, asked, stages), None

        fitted, _ = self._choose(X, y, sample_weight, compare)
        correct_left_out(fitted, getattr(self.best_estimator_, "steps", ()))
        self.unlabeled_help_ = self.evidence_.unlabeled_help
        return self

    def _prepared_best(self, evidence: Comparison) -> Any:
        best = evidence.best
        if self.updatable and isinstance(last_step(best), Updatable):
            last_step(best).set_params(updatable=True)
        return best

    def predict(self, X: Any, return_std: bool = False) -> Any:
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
        values = self._of_each(lambda one: one.predict(X))
        if not return_std:
            return super().predict(X) if values is None else values
        if values is not None:
            return values, self._of_each(lambda one: one.predict(X, return_std=True)[1])
        last, points = self._last_step(X)
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
        values, std = last.predict(points, return_std=True)
        return values, std * optimism_of(getattr(self.best_estimator_, "steps", ()))

    def _last_step(self, X: Any) -> tuple[Any, Any]:
        """Return the last step of the selected estimator, and the points transformed for it."""
        check_is_fitted(self)
        best = self.best_estimator_
        last = last_step(best)
        return last, X if last is best or len(best) == 1 else best[:-1].transform(X)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
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
        if (each := self._of_each(lambda one: one.predict_interval(X, coverage))) is not None:
            return each
        last, points = self._last_step(X)
        return np.asarray(last.predict_interval(points, coverage))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute R^2 on the rows with a target, the mean over several targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, as for `predict`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets. Rows with a missing target are ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            At most 1.

        Raises
        ------
        ValueError
            If no row has a target.
        """
        check_is_fitted(self)
        if (mean := self._mean_score(X, y, sample_weight)) is not None:
            return mean
        targets = as_targets(y)
        labeled = ~np.isnan(targets)
        X, sample_weight = only_labeled(labeled, X, sample_weight)
        return float(super().score(X, targets[labeled], sample_weight=sample_weight))
