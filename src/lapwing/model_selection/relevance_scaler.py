"""Columns scaled by how much the targets depend on them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from lapwing._arrays import Array
from lapwing._parameters import parameters
from lapwing._rows import all_of, is_rows, rows_else
from lapwing.classes.labels import read_targets
from lapwing.estimators.prepared import check_one_entry_a_row
from lapwing.solvers.relevance import column_scales

# Targets that scales are found by: with more the scales hardly change, and the time of a step grows
# with the third power of their number (eleven fits to 200 targets take some three seconds).
_MOST_TARGETS = 200
# Of the largest: smaller inverse scales change squared distances by less than a millionth.
_LEAST = 1e-3


@parameters
class RelevanceScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Divides each column by its length scale, which the targets tell (relevance determination).

    Targets are taken for values of a Gaussian process with a length scale for each column [1]_: how
    far one has to go along it for the targets to change. Columns that they do not depend on get
    long ones, and hardly count in distances, kernels and graphs afterwards. The scales are the
    most likely ones under a prior that keeps them alike, so that few targets do not make columns
    relevant by chance.

    Attributes
    ----------
    scale_ : ndarray of shape (n_features,)
        Length scales, in the units of the columns. For the scaled columns, the kernel of the
        process is 'rbf' with ``gamma=0.5``.
    optimism_ : float
        Root mean square error of targets that are left out in ten folds, each with scales of its
        own, over that of targets left out with these scales. The scales have seen all targets:
        errors of fits to scaled columns, targets left out one by one, are too small by about this
        factor. At least 1.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has names that are all strings.

    See Also
    --------
    FewLabelRegressor : Tries methods on scaled columns beside others.

    Notes
    -----
    Time is O(l^3 + l^2 p) for each of some thirty steps, eleven times over, with l targets and p
    columns; of more than 200 targets 200 are looked at, evenly by their size.

    References
    ----------
    .. [1] C. E. Rasmussen and C. K. I. Williams, "Gaussian processes for machine learning", MIT
       Press, 2006, section 5.1.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import RelevanceScaler
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> y = np.where(np.arange(50) < 20, np.sin(2 * X[:, 0]), np.nan)
    >>> scaler = RelevanceScaler().fit(X, y)
    >>> int(np.argmin(scaler.scale_))
    0
    """

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Find the scales.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            All points, with a target or without.
        y : array-like of shape (n_samples,)
            Targets, missing (NaN, say) where there is none.

        Returns
        -------
        self
            The fitted scaler.

        Raises
        ------
        ValueError
            For points with gaps, or targets that are no numbers.
        """
        X = validate_data(self, _in_memory(X), dtype=(np.float64, np.float32))
        check_one_entry_a_row(X, y, regression=True)
        targets, labeled = read_targets(y)
        deviations = np.asarray(X.std(axis=0), dtype=np.float64)
        # Of a column that does not vary, nothing is scaled.
        deviations[deviations == 0] = 1
        rows = np.flatnonzero(labeled)
        rows = rows[np.argsort(targets[rows], kind="stable")]
        if len(rows) > _MOST_TARGETS:
            rows = rows[np.linspace(0, len(rows) - 1, _MOST_TARGETS).astype(np.intp)]
        self.scale_, self.optimism_ = deviations, 1.0
        if targets[rows[0]] < targets[rows[-1]]:  # else they depend on nothing
            known = (X[rows] - X.mean(axis=0)) / deviations
            around = targets[rows] - targets[rows].mean()
            found = column_scales(known.astype(np.float64), around / around.std())
            inverse = np.maximum(found.inverse, _LEAST * found.inverse.max())
            self.scale_, self.optimism_ = deviations / inverse, found.optimism
        return self

    def transform(self, X: Any) -> Array:
        """Divide columns by their scales.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The scaled columns.
        """
        check_is_fitted(self)
        X = validate_data(self, _in_memory(X), reset=False, dtype=(np.float64, np.float32))
        return np.asarray(X / self.scale_.astype(X.dtype))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _in_memory(X: Any) -> Any:
    rows = rows_else(X)
    return all_of(rows) if is_rows(rows) else X


def optimism_of(steps: Iterable[tuple[str, Any]]) -> float:
    """Factor by which errors after some fitted steps, targets left out one by one, are too small.

    That of the scalers among the named steps; 1 without any.
    """
    return float(
        np.prod([step.optimism_ for _, step in steps if isinstance(step, RelevanceScaler)])
    )


def correct_left_out(estimator: Any, steps: Iterable[tuple[str, Any]]) -> None:
    """Correct the left-out residuals of a fit, which its intervals take, for the steps before."""
    if hasattr(estimator, "left_out_residuals_"):  # regressions without a closed form have none
        estimator.left_out_residuals_ = estimator.left_out_residuals_ * optimism_of(steps)
