"""Base of the estimators that choose among candidates and fit what they chose."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from lapwing._arrays import Array
from lapwing._features import reading_features, refuse_gaps
from lapwing._rows import header_of, is_rows, rows_else
from lapwing.estimators.prepared import Stages
from lapwing.model_selection.candidates import Chooser, last_step, warn_of_failures
from lapwing.model_selection.comparison import Comparison


class FewLabelEstimator(Chooser, CallbackSupportMixin, BaseEstimator):
    """Choose by a comparison, fit to all rows, and answer as what was chosen."""

    evidence_: Comparison
    error_: float
    error_interval_: tuple[float, float]
    labeled_: Array
    transduction_: Array

    def _begin(self, X: Any, y: Any) -> Any:
        """Points in memory that are checked, or rows on disk that the last fit checks."""
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

    def _fit_best(
        self, evidence: Comparison, X: Any, y: Any, sample_weight: Any, stages: Stages
    ) -> Any:
        """Fit what was chosen to all rows, and return the last step of it."""
        warn_of_failures(evidence.failed, stacklevel=3)
        best = self._prepared_best(evidence)
        weights = {} if sample_weight is None else {_weights_of(best): sample_weight}
        with stages.stage(f"fit {evidence.chosen.name}"):
            self.best_estimator_ = best.fit(X, y, **weights)
        self.evidence_ = evidence
        self.error_ = evidence.error
        self.error_interval_ = evidence.error_interval
        fitted = last_step(best)
        self.labeled_ = fitted.labeled_
        self.transduction_ = fitted.transduction_
        return fitted

    def _prepared_best(self, evidence: Comparison) -> Any:
        """What was chosen, before its fit to all rows."""
        return evidence.best

    def predict(self, X: Any) -> Any:
        """Answers for points by the chosen estimator.

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


def _weights_of(estimator: Any) -> str:
    """Name of the sample weights in `fit`."""
    if isinstance(estimator, Pipeline):
        return f"{estimator.steps[-1][0]}__sample_weight"
    return "sample_weight"
