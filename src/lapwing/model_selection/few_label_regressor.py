"""Regression that chooses its method."""

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


@document
@parameters
class FewLabelRegressor(SeveralTargets, FewLabelEstimator):
    """Chooses among regressions, on the targets alone or by all rows, and says how far to trust it.

    A fit leaves each target out in turn, as `lapwing.model_selection.compare` does, and fits the
    estimator that is chosen to all rows: the best of those on the targets alone, unless one that
    uses all rows has an error that is smaller by 2 % and more. Everything else is that estimator's.

    Parameters
    ----------
    candidates : sequence of lapwing.model_selection.Candidate, default=None
        What to choose from. None is `lapwing.model_selection.default_candidates` of regressions:
        ridge and kernel ridge regression on the targets alone, `LapRLSRegressorCV` and
        `LapERLSRegressor`; kernel ridge regression and `LapRLSRegressorCV` also on columns that
        `RelevanceScaler` scales.
    max_samples : int, default=2000
        Maximum number of rows of the comparison; the chosen estimator is fitted to all rows.
    random_state : int, RandomState or None, default=0
        Seed of the choice of these rows.
    updatable : bool, default=False
        Whether the chosen estimator keeps its factorisation, which ``predict(X, return_std=True)``
        and its own `add_labels` take: matrices of n x n numbers.

    Attributes
    ----------
    best_estimator_ : estimator
        The chosen one with the parameters that it chose, fitted to all rows.
    evidence_ : lapwing.model_selection.Comparison
        All candidates. Print it to see the table and the verdict.
    unlabeled_help_ : bool
        Whether the rows without a target are used. If not, none of the methods that use them is
        better than the targets alone.
    error_ : float
        Root mean square error of targets that were left out, in the units of y.
    error_interval_ : tuple of float
        Where that error on other rows lies with probability 0.9.
    {transduced_values_}
    {labeled_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    lapwing.model_selection.compare : The evidence alone.
    LapRLSRegressorCV : One family of them.

    Notes
    -----
    The time is that of `LapRLSRegressorCV` on at most `max_samples` rows. Beyond 12,000 rows only
    candidates without a matrix of all pairs of rows are tried.

    Left-out errors of what chose its parameters by the same targets are a little small. The
    parameters are chosen by their likelihood, and not by these errors. On scaled columns, whose
    scales are many parameters, errors, intervals and standard deviations are corrected by
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
        """Choose an estimator and fit it to all points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All points, with a target or without.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets, missing (NaN, say) where there is none. For each of several targets a method is
            chosen by itself.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the points, as the candidates take them.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            For points or targets that no candidate can be fitted to.

        Warns
        -----
        FitFailedWarning
            For each candidate that cannot be fitted: the choice is among the others.
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
        """Predict values by the chosen estimator, optionally with standard deviations.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points.
        return_std : bool, default=False
            Whether to return standard deviations too; this takes ``updatable=True``.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_targets)
            In the units of y.
        std : ndarray of the same shape
            Only with `return_std`; on scaled columns times `RelevanceScaler.optimism_`.

        Raises
        ------
        ValueError
            If what was chosen has no standard deviations, or kept no factorisation.

        See Also
        --------
        LapRLSRegressor.predict : What the deviations are.
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
                f"{type(last).__name__}, which was chosen, is the mean of no Gaussian process and "
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
        """Return the last step of the chosen estimator, and the points transformed for it."""
        check_is_fitted(self)
        best = self.best_estimator_
        last = last_step(best)
        return last, X if last is best or len(best) == 1 else best[:-1].transform(X)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Compute intervals that hold the true values of points with a given probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, as for `predict`.
        coverage : float, default=0.9
            Probability, between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, 2, n_targets)
            Lower and upper ends, in the units of y.

        Raises
        ------
        ValueError
            If the chosen estimator has none, or there are too few targets for the coverage.

        See Also
        --------
        LapRLSRegressor.predict_interval : What the intervals are.
        """
        check_is_fitted(self)
        if (each := self._of_each(lambda one: one.predict_interval(X, coverage))) is not None:
            return each
        last, points = self._last_step(X)
        return np.asarray(last.predict_interval(points, coverage))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination R^2 on the rows with a target; of several the mean.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, as for `predict`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets, missing where there is none: those rows are left out.
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
