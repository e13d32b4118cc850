"""Scaling of columns by their relevance to the targets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from lapwing._arrays import Array
from lapwing._features import read_features
from lapwing._parameters import parameters
from lapwing._rows.base import PointsLike, all_of, is_rows
from lapwing._rows.registry import rows_or_array
from lapwing.classes.labels import read_targets
from lapwing.estimators.prepared import check_one_entry_a_row
from lapwing.solvers.relevance import column_scales

# Maximum number of targets: with more the scales hardly change, and the time of a step is cubic in
# their number (eleven fits to 200 targets take some three seconds).
_MOST_TARGETS = 200
# Smallest inverse scale relative to the largest: a millionth in squared distances.
_LEAST = 1e-3
_ROUNDING = 4  # units in the last place


@parameters
class RelevanceScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scaling of columns by their relevance to the targets (automatic relevance determination).

    The targets are modelled by a Gaussian process with one length scale per column [1]_, the
    distance along the column over which the targets change. Each column is divided by its length
    scale. Columns that are irrelevant for the targets get long scales, and have little influence on
    distances, kernels and graphs. The scales maximise the posterior under a prior that favours
    similar scales, so that with few targets no column becomes relevant by chance.

    Attributes
    ----------
    scale_ : ndarray of shape (n_features,)
        Length scales, in the units of the columns. For the scaled columns, the kernel of the
        process is 'rbf' with ``gamma=0.5``.
    optimism_ : float
        Root mean square error of ten-fold cross-validation with scales fitted in each fold, divided
        by that of leave-one-out with `scale_`; at least 1. As `scale_` was fitted to all targets,
        leave-one-out errors of fits to scaled columns are too small by about this factor.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, if all of them are strings.

    See Also
    --------
    FewLabelRegressor : Has candidates on scaled columns.

    Notes
    -----
    The likelihood is maximised eleven times, in about thirty steps of O(l^3 + l^2 p) each, with l
    targets and p columns. If there are more than 200 targets, 200 of them are used, evenly spaced
    in sorted order.

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

    def fit(self, X: PointsLike, y: ArrayLike) -> Self:
        """Estimate the length scales.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            All points, with a target or without.
        y : array-like of shape (n_samples,)
            Targets, NaN or another missing value if unknown.

        Returns
        -------
        self
            The fitted scaler.

        Raises
        ------
        ValueError
            If X has missing values, its variance overflows, or targets are not numbers.
        """
        X = _read(self, X, reset=True)
        check_one_entry_a_row(X, y, regression=True)
        targets, labeled = read_targets(y)
        with np.errstate(over="ignore", invalid="ignore"):
            deviations = np.asarray(X.std(axis=0), dtype=np.float64)
            # Deviations of constant columns may exceed 0 as the mean is rounded.
            alike = np.ptp(X, axis=0) <= _ROUNDING * np.finfo(X.dtype).eps * np.abs(X).max(axis=0)
        wrong = ~np.isfinite(deviations) | ((deviations == 0) & ~alike)
        if wrong.any():
            j = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"Column {j} of X varies beyond what {X.dtype} can square. Divide it by its size."
            )
        deviations[alike] = 1  # these columns are not scaled
        rows = np.flatnonzero(labeled)
        rows = rows[np.argsort(targets[rows], kind="stable")]
        if len(rows) > _MOST_TARGETS:
            rows = rows[np.linspace(0, len(rows) - 1, _MOST_TARGETS).astype(np.intp)]
        self.scale_, self.optimism_ = deviations, 1.0
        centered = targets[rows] - targets[rows].mean()
        if centered.std() > 0 and targets[rows[0]] < targets[rows[-1]]:
            points = (X[rows] - X.mean(axis=0)) / deviations
            found = column_scales(points.astype(np.float64), centered / centered.std())
            inverse = np.maximum(found.inverse, _LEAST * found.inverse.max())
            self.scale_, self.optimism_ = deviations / inverse, found.optimism
        return self

    def transform(self, X: PointsLike) -> Array:
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
        X = _read(self, X, reset=False)
        return np.asarray(X / self.scale_.astype(X.dtype))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _read(scaler: RelevanceScaler, X: PointsLike, *, reset: bool) -> Array:
    """Return the points as an array of finite numbers."""
    rows = rows_or_array(X)
    given = all_of(rows) if is_rows(rows) else X
    return np.asarray(read_features(scaler, given, reset=reset, accept_sparse=False))


def optimism_of(steps: Iterable[tuple[str, Any]]) -> float:
    """Return the factor by which leave-one-out errors after some fitted steps are too small.

    The product over the scalers among the named steps; 1 without any.
    """
    return float(
        np.prod([step.optimism_ for _, step in steps if isinstance(step, RelevanceScaler)])
    )


def correct_left_out(estimator: BaseEstimator, steps: Iterable[tuple[str, Any]]) -> None:
    """Widen the left-out residuals of a fit, for its intervals, by `optimism_of` its steps."""
    if hasattr(estimator, "left_out_residuals_"):  # regressions without a closed form have none
        estimator.left_out_residuals_ = estimator.left_out_residuals_ * optimism_of(steps)
