"""Base of regressors: points with missing targets are unlabelled."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from lapwing._arrays import Array
from lapwing._parameters import FLAG, check
from lapwing._rows.base import PointData, PointsLike, blocks_of, is_rows
from lapwing.classes.label_checks import target_warning
from lapwing.classes.labels import as_targets, read_targets, refuse_unlabeled
from lapwing.estimators import input_checks
from lapwing.estimators.multioutput import (
    SeveralTargets,
    naming_target,
    of_each_target,
    split_targets,
)
from lapwing.estimators.parameters import check_parameters
from lapwing.estimators.prepared import P, Progress, S, Solution, Targets
from lapwing.estimators.template import SemiSupervisedEstimator
from lapwing.estimators.updates import Updatable
from lapwing.problem import Problem
from lapwing.spaces.functions import FittedFunction, evaluate

_ROUNDING = 1e-9  # of a product that should be a whole number


class SemiSupervisedRegressor(SeveralTargets, SemiSupervisedEstimator[P, S]):
    """Base of regressors: points with missing targets are unlabelled.

    Several targets share points, graph, space and the factorisations of `Refits`, but may be
    missing at different points.
    """

    _regression = True

    def _fit(
        self, X: PointsLike, y: ArrayLike, sample_weight: ArrayLike | None, **options: Any
    ) -> Any:
        columns = split_targets(y)
        if columns is None:
            return super()._fit(X, y, sample_weight, **options)
        return self._fit_several(X, columns, sample_weight, **options)

    def _fit_several(
        self, X: PointsLike, columns: list[Any], sample_weight: ArrayLike | None, **options: Any
    ) -> Any:
        """Prepare once, and solve for each target."""
        check_parameters(self)
        self._check_combination(**options)
        if any(value is not None for value in options.values()):
            raise ValueError(
                f"{', '.join(options)} is for a single target, but y has {len(columns)} columns. "
                "Fit one estimator for each column, or leave it out."
            )
        each = []
        for j, column in enumerate(columns):
            with naming_target(j, column):
                each.append(self._read_targets(column))
        self._forget()
        points, first = self._begin(X, columns[0])
        for targets in each[1:]:
            input_checks.warn_labels(targets.warning)
        # All targets share the points: rows of weight 0 with any target are left out for all.
        together = first._replace(labeled=np.any([one.labeled for one in each], axis=0))
        # One copy that all fits may keep; otherwise `_finish` would copy X for each of them.
        own = points if is_rows(points) or self._pairwise() else points.copy()
        problem = self._make_problem(own, together, sample_weight)
        # Refits keep `twin`, whose parameters never change; before a context of callbacks exists.
        twin, *fitted = (copy(self) for _ in [None, *each])
        progress = Progress(self, None, points, columns[0])
        prepared = self._prepare(together, problem, progress)
        refits = twin._refits(prepared.relabeled(first, sample_weight))
        refits = refits.covering(problem.vertex[problem.labeled_rows & (problem.vertex >= 0)])
        for one, targets in zip(fitted, each, strict=True):
            of_one = replace(refits, prepared=prepared.relabeled(targets, sample_weight))
            solution = of_one.solve(of_one.prepared)
            one._keep(of_one, solution, own)
            one._finish(points, of_one.prepared, solution)
        self.estimators_ = fitted
        progress.finish()
        return self

    def _read_targets(self, y: ArrayLike) -> Targets:
        targets, labeled = read_targets(y)
        warning = target_warning(targets, labeled)
        return Targets(targets[:, None], labeled, np.ones(len(targets)), warning=warning)

    def _known_targets(self, y: ArrayLike) -> Array:
        """Read the targets of validation data, which all have one."""
        targets = as_targets(y)
        refuse_unlabeled(np.isnan(targets))
        return targets[:, None]

    def _answer(self, X: PointData, problem: Problem, solution: Solution) -> Array:
        values = super()._answer(X, problem, solution)
        self._warn_constant(X, problem, solution, "The fitted values")
        self._keep_left_out(problem, solution)
        return values

    def _keep_left_out(self, problem: Problem, solution: Solution) -> None:
        """Keep the left-out residuals and functions that `predict_interval` needs."""
        fits = solution.left_out_fits()
        if fits is not None:
            # Each observation counts once, as in the loss.
            self.left_out_residuals_ = problem.targets[:, 0] - fits.values
            function: Any = fits.function
            if function is not None:
                self.left_out_coef_ = function.coef
                self.left_out_intercept_ = function.intercept

    def _transduce(self, values: Array) -> Array:
        return values[:, 0]

    @of_each_target
    def predict(self, X: PointsLike) -> Array:
        """Compute the values of the fitted function at points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points; their kernel values with the training points, (n_samples, n_samples_fit), if
            ``kernel='precomputed'``.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Values in the units of y.
        """
        return self._transduce(self._decision_values(X))

    @of_each_target
    def predict_interval(self, X: PointsLike, coverage: float = 0.9) -> Array:
        r"""Compute prediction intervals with a given coverage.

        The jackknife+ [1]_: with the exact leave-one-out fits :math:`f_{-i}` of the l targets and
        their errors :math:`r_i = |y_i - f_{-i}(x_i)|`, the ends of the interval at x are the
        ceil((l + 1) coverage)-th largest of :math:`f_{-i}(x) - r_i` and smallest of
        :math:`f_{-i}(x) + r_i`. For rows of the fit, if the rows with a target were drawn at random
        and the parameters were fixed in advance, the coverage is at least 2 coverage - 1 for any
        distribution ([1]_, Theorem 1), and typically about `coverage`. Intervals are too narrow if
        several targets belong to nearly the same point.

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
            If there are too few targets for the coverage, or the fit has no leave-one-out values in
            closed form.

        Notes
        -----
        On five data sets with 20, 40 and 80 targets and six draws, intervals of coverage 0.9
        contain 91 % of the true values for `LapRLSRegressor` (88 to 94 % by data set), and 88 % for
        `LapRLSRegressorCV`, which selects its parameters by the same targets: 85, 89 and 91 % with
        20, 40 and 80 targets, and 72 % in the worst case (friedman2, 20). On seven sets and three
        other draws they contain 92 % for `LapERLSRegressor` (90 to 95 % by data set) and 91 % for
        `LapRLSRegressorCV`. The coverage may be lower for new points far from all others.

        The fit stores the coefficients of the leave-one-out fits, up to two million numbers. Beyond
        that :math:`f_{-i}(x)` is replaced by f(x) (the jackknife), for which the guarantee does not
        hold.

        References
        ----------
        .. [1] R. F. Barber, E. J. Candès, A. Ramdas and R. J. Tibshirani, "Predictive inference
           with the jackknife+", Annals of Statistics 49(1), 2021.
        """
        residuals, place = self._left_out_errors(coverage)
        if not hasattr(self, "left_out_coef_"):
            values = self.predict(X)
            half = np.sort(residuals)[place - 1]
            return np.column_stack([values - half, values + half])
        known = {"coef": self.left_out_coef_, "intercept": self.left_out_intercept_}
        plain: Any = self._function()
        function: FittedFunction = replace(plain, **known)

        def ends(points: PointData) -> Array:
            values = function(points)
            low = -np.partition(residuals - values, place - 1, axis=1)[:, place - 1]
            high = np.partition(values + residuals, place - 1, axis=1)[:, place - 1]
            return np.sort(np.column_stack([low, high]), axis=1)  # cross for tiny coverages

        # One value per left-out fit: those of all rows together may not fit into memory.
        return _in_blocks(ends, self._read_points(X, reset=False), 2, 8 * len(residuals))

    def _left_out_errors(self, coverage: float) -> tuple[Array, int]:
        """Return the absolute leave-one-out errors, and the rank for the intervals, from 1 on."""
        check_is_fitted(self)
        if not isinstance(coverage, Real) or not 0 < coverage < 1:
            raise ValueError(f"coverage={coverage!r} must be a number between 0 and 1.")
        if not hasattr(self, "left_out_residuals_"):
            raise ValueError(
                f"This fit of {type(self).__name__} has no left-out values in closed form, which "
                "intervals need. Use LapRLSRegressorCV, LapRLSRegressor(solver='dual') or "
                "LapERLSRegressor with a number of eigenvectors."
            )
        known = self.left_out_residuals_
        residuals = np.abs(known[np.isfinite(known)])
        place = max(1, int(np.ceil((len(residuals) + 1) * coverage - _ROUNDING)))
        if place > len(residuals):
            least = int(np.ceil(coverage / (1 - coverage) - _ROUNDING))
            raise ValueError(
                f"coverage={coverage} needs {least} targets that can be left out, but there are "
                f"{len(residuals)}. Use a smaller coverage, or give more targets."
            )
        return residuals, place


class GaussianRegressor(Updatable[P, S], SemiSupervisedRegressor[P, S]):
    """Regressor whose function is the posterior mean of a Gaussian process."""

    @of_each_target
    def predict(self, X: PointsLike, return_std: bool = False) -> Any:
        r"""Compute the values of the fitted function at points, and their standard deviations.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points; their kernel values with the training points, (n_samples, n_samples_fit), if
            ``kernel='precomputed'``.
        return_std : bool, default=False
            Whether to return posterior standard deviations as well. This needs a fit with
            ``updatable=True``, which keeps the factorisation.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Values in the units of y.
        std : ndarray of the same shape
            Posterior standard deviations of the values of f; only with `return_std`.

        Raises
        ------
        ValueError
            If the fit has no factorisation or did not keep it.

        Notes
        -----
        The fit is the posterior mean of a Gaussian process: the objective divided by
        :math:`\sigma^2` is the negative log density, with a flat prior of the bias, if any, and
        noise of variance :math:`\sigma^2 / w_i`. The covariance of `LapRLSRegressor` is
        :math:`\sigma^2` times the deformed kernel; `LapERLSRegressor` has a joint prior of the
        function and the virtual labels, and noise of variance :math:`\sigma^2 / (\lambda w_i)`.
        :math:`\sigma^2` is the restricted maximum likelihood estimate, twice the minimum of the
        objective over l - 1 (over l without a bias). For intervals of new targets,
        `predict_interval` makes weaker assumptions.
        """
        check({"return_std": return_std}, {"return_std": FLAG})
        values = super().predict(X)
        if not return_std:
            return values
        refits = self._kept_state("predict(..., return_std=True)").refits

        # Per row: products with all points of the fit, and the solution of a system.
        row_bytes = 32 * refits.prepared.problem.n_points
        variances = _in_blocks(
            lambda points: refits.variances(points)[:, None],
            self._read_points(X, reset=False),
            1,
            row_bytes,
        )
        return values, np.sqrt(variances)[:, 0]


def _in_blocks(
    function: Callable[[PointData], Array], X: PointData, n_columns: int, row_bytes: int
) -> Array:
    """Evaluate a function (n, n_columns) that takes so much memory for each row."""

    def values(points: PointData) -> Array:
        found = np.empty((points.shape[0], n_columns))
        for rows, block in blocks_of(points, row_bytes):
            found[rows] = function(block)
        return found

    return evaluate(values, X)
