"""Laplacian regularised least squares and support vector machines with parameter selection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from lapwing._arrays import Array
from lapwing._parameters import parameters
from lapwing.estimators._docs import document
from lapwing.estimators.choice import SPEED
from lapwing.estimators.classifier import WeightedClassifier
from lapwing.estimators.lapsvm import LapRLSClassifier, LapRLSRegressor, LapSVC
from lapwing.estimators.manifold import ManifoldPrepared
from lapwing.estimators.path import (
    KernelWidth,
    PathEstimator,
    PathSolution,
    RecipeGraph,
    Scored,
    first_graph,
    graph_of,
    width_of,
)
from lapwing.estimators.prepared import Prepared, Stages, Targets
from lapwing.estimators.regressor import GaussianRegressor
from lapwing.losses.base import Loss
from lapwing.problem import Problem
from lapwing.solvers.manifold.path import DeformedPath, factor_of, n_ratios
from lapwing.solvers.manifold.settings import ManifoldSettings
from lapwing.solvers.ridge import Observations

ManifoldPathPrepared: TypeAlias = Prepared[tuple[KernelWidth, ...], tuple[RecipeGraph, ...] | None]


# With the default widths and graphs, on six sets (g50c, COIL-20, digit1, usps, coil2 and text),
# 5 draws of 3 / 10 labels per class: mean error 23.2 / 16.6 %, LapRLSClassifier() 27.8 / 17.3. With
# 'scale' alone 23.9 / 17.1, without k = 2 23.5 / 17.3, without p = 3 and k = 2 24.6 / 17.6; more
# values of gamma_A and gamma_I gain nothing (26.0 to 26.5 at 3 labels with gamma_I = 0.01).
_GAMMA_AS = (1e-4, 1e-2)
_GAMMA_IS = (1.0, 1e2)


@parameters
class ManifoldPath(PathEstimator[ManifoldPathPrepared]):
    """Prepared grid over gamma_A, gamma_I, widths and graphs."""

    _n_stages = 3
    _weights = ("gamma_A", "gamma_I")

    _: KW_ONLY
    gamma_As: Any = _GAMMA_AS
    gamma_Is: Any = _GAMMA_IS
    tol: float = 1e-8
    max_iter: int = 20_000

    def _wants_graph(self) -> bool:
        return bool(np.max(self.gamma_Is) > 0)

    def _prepare(
        self, targets: Targets, problem: Problem, progress: Stages
    ) -> ManifoldPathPrepared:
        kernels = self._kernels(problem)
        if kernels[0] is not None:
            kernels[0].forecast(problem.X)
        with progress.stage("graph"):
            graphs = self._laplacians(problem) if self._wants_graph() else None
        widths = self._widths(kernels, problem)
        if len(widths) == 1:  # several matrices are not held together
            widths = (widths[0]._replace(space=self._estimator()._stored_space(widths[0].space)),)
        self._forecast(widths, graphs)
        return Prepared(targets, problem, graphs, widths)

    def _forecast(
        self, widths: tuple[KernelWidth, ...], graphs: tuple[RecipeGraph, ...] | None
    ) -> None:
        """Warn before a long path, with its time and a faster alternative."""
        smoothing = np.array([gamma_I for gamma_I in self.gamma_Is if gamma_I > 0])
        ratios = n_ratios(np.asarray(self.gamma_As, dtype=np.float64), smoothing)
        n_factors = len(widths) * (1 + len(graphs or ()) * ratios)
        size = min(widths[0].space.n_points, widths[0].space.n_coef)
        seconds = n_factors * float(size) ** 3 / 3 / SPEED
        self._warn_long(seconds, n_factors, size)

    def _along(self, prepared: ManifoldPathPrepared, wanted: Array) -> Iterator[list[Scored]]:
        # In functions of their own, so that the matrices of one width and one graph are freed
        # before the next ones are made.
        for width in prepared.space:
            yield self._of_width(prepared, width, wanted)

    def _of_width(
        self, prepared: ManifoldPathPrepared, width: KernelWidth, wanted: Array
    ) -> list[Scored]:
        F = factor_of(self._estimator()._stored_space(width.space))
        found: list[Scored] = []
        if 0 in self.gamma_Is:
            path = DeformedPath.without_graph(F, fit_intercept=bool(self.fit_intercept))
            params = {**width.params, **first_graph(prepared)}
            found += self._scores(path, prepared, wanted, [0.0], params)
        graphs: dict[int, list[RecipeGraph]] = {}
        for graph in prepared.laplacian or ():
            graphs.setdefault(id(graph.laplacian.affinity), []).append(graph)
        for of_one in graphs.values():
            found += self._of_powers(F, prepared, width, of_one, wanted)
        return found

    def _of_powers(
        self,
        F: Array,
        prepared: ManifoldPathPrepared,
        width: KernelWidth,
        graphs: list[RecipeGraph],
        wanted: Array,
    ) -> list[Scored]:
        """Score the settings of graphs that differ in the power of the Laplacian."""
        plain, seen = self._estimator(gamma_I=1.0), {}
        for graph in graphs:
            one = prepared.on(graph.laplacian, width.space)
            seen[graph.laplacian.power] = plain._objective(one).sees_constants
        laplacian = replace(graphs[0].laplacian, power=1)
        smoothing = [gamma_I for gamma_I in self.gamma_Is if gamma_I > 0]
        found: dict[int, list[Scored]] = {}
        for power, path in DeformedPath.of_powers(
            F, laplacian.apply, seen, fit_intercept=bool(self.fit_intercept)
        ):
            for k, graph in enumerate(graphs):
                if graph.laplacian.power == power:
                    params = {**width.params, "graph": graph.recipe}
                    found[k] = self._scores(path, prepared, wanted, smoothing, params)
            del path  # before the next one is made
        return [scored for k in sorted(found) for scored in found[k]]

    def _scores(
        self,
        path: DeformedPath,
        prepared: ManifoldPathPrepared,
        wanted: Array,
        gamma_Is: list[float],
        params: Mapping[str, Any],
    ) -> list[Scored]:
        problem = prepared.problem
        gamma_As = np.asarray(self.gamma_As, dtype=np.float64)
        left_out, likelihood = path.along(
            gamma_As,
            np.asarray(gamma_Is, dtype=np.float64),
            Observations(problem.index, problem.targets, problem.weights, wanted),
            self._estimator()._loss(),
            ManifoldSettings(tol=self.tol, max_iter=self.max_iter),
        )
        return [
            Scored(
                {"gamma_A": float(gamma_A), "gamma_I": float(gamma_Is[j]), **params},
                left_out[i, j],
                float(likelihood[i, j]),
            )
            for (i, gamma_A), j in product(enumerate(gamma_As), range(len(gamma_Is)))
        ]

    def _of_setting(
        self, prepared: ManifoldPathPrepared, params: Mapping[str, Any]
    ) -> ManifoldPrepared:
        laplacian = graph_of(prepared, params).laplacian if params["gamma_I"] > 0 else None
        return prepared.on(
            laplacian, self._estimator()._stored_space(width_of(prepared, params).space)
        )


# Without 1e-4, the default of LapSVC. The influence of a label of weight w grows with w / gamma_A,
# and with narrow kernels even tiny class weights would be fitted (scikit-learn's check of class
# weights). On fifteen sets, 5 draws of 3 / 10 labels, it gains nothing: 23.2 / 13.4 % with it, 23.4
# / 13.2 without.
_GAMMA_AS_OF_MARGINS = (1e-3, 1e-2)
_GAMMA_AS_OF_VALUES = (1e-4, 1e-2, 1.0)
_GAMMA_IS_OF_VALUES = (0.0, 1e-4, 1e-2, 1.0)  # 0: a graph may not help
# Regression functions are smoother than classes. RMSE with 40 targets, six draws, standardised
# columns, with 'scale' and four times it / these: diabetes 63.5 / 61.3, friedman1 3.41 / 3.16,
# friedman2 140 / 61, swiss roll 0.219 / 0.202; a Gaussian process on the targets only has 62.9,
# 3.11, 61, 0.143.
_WIDTHS_OF_VALUES = (0.03, 0.2, 1.0, 4.0)
# Width for a single target, for which nothing can be selected.
_USUAL_WIDTH_OF_VALUES = 0.2


@parameters
@document(LapSVC)
class LapRLSClassifierCV(WeightedClassifier[ManifoldPathPrepared, PathSolution], ManifoldPath):
    r"""Laplacian regularised least squares classifier with built-in parameter selection.

    Evaluates every setting of a grid by its leave-one-out squared error on the labels, and fits
    `LapRLSClassifier` with the selected one. The setting nearest to the defaults of
    `LapRLSClassifier` is preferred: another one must be better by more than 1.6 standard errors of
    the difference, which are large with few labels. The leave-one-out errors are exact: each is
    that of the fit to all other points, unlabelled ones included. They are computed from one
    factorisation for each ratio gamma_I / gamma_A, width and graph, so that 7 values of gamma_A and
    of gamma_I cost less than ten fits.

    Parameters
    ----------
    {kernel}
    gammas : array-like of float or 'scale', or None, default=None
        Widths of the kernel to try; 'scale' is 1 / sum_j Var(x_j). None tries 'scale' and four
        times it. Ignored for kernels without a width.
    {degree}
    {coef0}
    gamma_As : array-like of float, default=(1e-4, 1e-2)
        Weights > 0 of the ambient norm to try.
    gamma_Is : array-like of float, default=(1.0, 1e2)
        Weights >= 0 of the intrinsic norm to try; 0 is without a graph.
    graphs : list of graphs or None, default=None
        Graphs to try, each as for the parameter `graph` of the plain estimator. None is `KNNGraph`
        with 5 and 10 neighbours and powers 1 to 3, and with 2 neighbours and powers 1 and 2. Graphs
        that differ only in the power share the neighbour search.
    {fit_intercept}
    tol : float, default=1e-8
        Tolerance of libsvm for losses that are not differentiable; its solution is refined
        afterwards.
    max_iter : int, default=20000
        Maximum number of iterations of the solver.
    {class_weight}
    {class_prior}
    {unlabeled}
    updatable : bool, default=False
        Whether to keep the points, the graph and the factorisation of the chosen setting after the
        fit, so that `add_labels`, `suggest` and `suspicious_labels` work. These keep the selected
        setting; call `fit` to select again. With the full kernel these are two matrices of n^2
        numbers.

    Attributes
    ----------
    best_params_ : dict
        Selected parameters, by their names in the plain estimator.
    best_score_ : float
        Negative leave-one-out squared error of `best_params_`; NaN if no label could be left out.
    cv_results_ : dict of str to list or ndarray
        One entry per setting: 'params' and 'param_<name>'; 'left_out_squared_error' (weighted mean
        over labels and columns; NaN if a setting has no solution); for classifiers 'left_out_error'
        (weighted fraction of misclassified labels); and 'fit_time' in seconds, with shared work
        divided among the settings. Empty if no label could be left out.
    {classes_}
    {unlabeled_}
    {transduction_}
    {transduction_proba_ to left_out_proba_}
    {alpha_}
    {coef_}
    {intercept_}
    {class_prior_}
    {class_offsets_}
    {X_fit_}
    {basis_}
    {kernel_}
    {objective_}
    {optimality_}
    {history_}
    {n_iter_}
    {solver_}
    {status_}
    {affinity_}
    {labeled_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    LapRLSClassifier : Plain estimator with fixed parameters.
    LapSVCCV : Hinge and squared hinge.

    Notes
    -----
    With few labels, most settings predict all left-out labels correctly and differ in the squared
    error only. If a class has only one label, nothing can be left out; the setting nearest to the
    defaults of `LapRLSClassifier` is used, with a warning.

    Sample and class weights are those of the complete fit, also in the errors. The offsets of a
    class prior are not included in the errors.

    Each combination of ratio, width and graph takes O(n^3), half of the time of a plain fit. Memory
    is six n x n matrices in double precision.

    Examples
    --------
    >>> from lapwing import LapRLSClassifierCV
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = ["low", "low", "?", "high", "?", "high"]
    >>> model = LapRLSClassifierCV(unlabeled="?").fit(X, y)
    >>> model.transduction_.tolist()
    ['low', 'low', 'low', 'high', 'high', 'high']
    >>> sorted(model.best_params_)
    ['gamma', 'gamma_A', 'gamma_I', 'graph']
    """

    _plain = LapRLSClassifier


@parameters
@document(LapRLSClassifierCV, LapRLSRegressor)
class LapRLSRegressorCV(
    GaussianRegressor[ManifoldPathPrepared, PathSolution],
    ManifoldPath,
):
    r"""Laplacian regularised least squares regression with built-in parameter selection.

    Evaluates every setting of a grid by the marginal likelihood of the targets [1]_, and fits
    `LapRLSRegressor` with the most likely one: a fit is the posterior mean of a Gaussian process
    whose covariance is the deformed kernel. The leave-one-out errors of all settings are reported
    as well. They are exact: each is that of the fit to all other points, unlabelled ones included.
    Both are computed from one factorisation for each ratio gamma_I / gamma_A, width and graph, so
    that 7 values of gamma_A and of gamma_I cost less than ten fits.

    Parameters
    ----------
    {kernel}
    gammas : array-like of float or 'scale', or None, default=None
        Widths of the kernel to try; 'scale' is 1 / sum_j Var(x_j). None tries 0.03, 0.2, 1 and 4
        times 'scale'. Ignored for kernels without a width.
    {degree}
    {coef0}
    gamma_As : array-like of float, default=(1e-4, 1e-2, 1.0)
        Weights > 0 of the ambient norm to try.
    gamma_Is : array-like of float, default=(0.0, 1e-4, 1e-2, 1.0)
        Weights >= 0 of the intrinsic norm to try; 0 is without a graph.
    graphs : list of graphs or None, default=None
        Graphs to try, each as for the parameter `graph` of the plain estimator. None is `KNNGraph`
        with 5 neighbours and powers 1 to 3. Graphs that differ only in the power share the
        neighbour search.
    fit_intercept : bool, default=True
        Whether to add a bias without a penalty of its own. The intrinsic norm includes the bias,
        so a normalised Laplacian, which is not zero on constants, shrinks it.
    {tol}
    {max_iter}
    {updatable}

    Attributes
    ----------
    {best_params_}
    {best_score_}
    cv_results_ : dict of str to list or ndarray
        One entry per setting: 'params' and 'param_<name>'; 'log_likelihood', the selection
        criterion; 'left_out_squared_error' (weighted; NaN if a setting has no solution); and
        'fit_time' in seconds, with shared work divided among the settings. Empty if there is one
        target only.
    {LapRLSRegressor.transduction_}
    {estimators_}
    {left_out_residuals_}
    {left_out_coef_}
    {left_out_intercept_}
    {alpha_}
    {coef_}
    {intercept_}
    {X_fit_}
    {basis_}
    {kernel_}
    {objective_}
    {optimality_}
    {history_}
    {n_iter_}
    {solver_}
    {status_}
    {affinity_}
    {labeled_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    LapRLSRegressor : Plain estimator with fixed parameters.

    Notes
    -----
    The likelihood is the restricted likelihood (of the differences of the targets), maximised over
    the noise variance. It is not defined for a single target; then the setting nearest to the
    defaults of `LapRLSRegressor` is used, with a warning. Sample weights are proportional to the
    inverse noise variances, and also weight the errors.

    Each combination of ratio, width and graph takes O(n^3), half of the time of a plain fit. Memory
    is six n x n matrices in double precision.

    References
    ----------
    .. [1] C. E. Rasmussen and C. K. I. Williams, "Gaussian processes for machine learning", MIT
       Press, 2006, sections 2.7 and 5.4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LapRLSRegressorCV
    >>> X = np.linspace(0, 1, 21)[:, None]
    >>> y = np.full(21, np.nan)
    >>> y[[0, 5, 10, 15, 20]] = [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> model = LapRLSRegressorCV().fit(X, y)
    >>> bool(abs(model.predict([[0.4]])[0] - 0.4) < 0.05)
    True
    """

    _plain = LapRLSRegressor
    _widths_tried = _WIDTHS_OF_VALUES
    _usual_factor = _USUAL_WIDTH_OF_VALUES

    _: KW_ONLY
    gamma_As: Any = _GAMMA_AS_OF_VALUES
    gamma_Is: Any = _GAMMA_IS_OF_VALUES
    fit_intercept: bool = True


@parameters
@document(LapRLSClassifierCV)
class LapSVCCV(
    WeightedClassifier[ManifoldPathPrepared, PathSolution],
    ManifoldPath,
):
    r"""Laplacian support vector machine with built-in parameter selection.

    Evaluates every setting of a grid by its leave-one-out squared error on the labels, and fits
    `LapSVC` with the selected one. The setting nearest to the defaults of `LapSVC` is preferred:
    another one must be better by more than 1.6 standard errors of the difference, which are large
    with few labels. Decision values are clipped to [-1, 1] in the error, as the hinge losses do not
    penalise points beyond the margin. The leave-one-out errors are exact: each is that of the fit
    to all other points, unlabelled ones included. They are computed from one factorisation for each
    ratio gamma_I / gamma_A, width and graph, and from problems of the size of the labels.

    Parameters
    ----------
    {kernel}
    {gammas}
    {degree}
    {coef0}
    gamma_As : array-like of float, default=(1e-3, 1e-2)
        Weights > 0 of the ambient norm to try.
    gamma_Is : array-like of float, default=(1.0, 1e2)
        Weights >= 0 of the intrinsic norm to try; 0 is without a graph.
    {graphs}
    {loss}
    {fit_intercept}
    {tol}
    {max_iter}
    {class_weight}
    {class_prior}
    {unlabeled}
    {updatable}

    Attributes
    ----------
    {best_params_}
    {best_score_}
    {cv_results_}
    {classes_}
    {unlabeled_}
    {transduction_}
    {transduction_proba_ to left_out_proba_}
    {alpha_}
    {coef_}
    {intercept_}
    {class_prior_}
    {class_offsets_}
    {X_fit_}
    {basis_}
    {kernel_}
    {objective_}
    {optimality_}
    {history_}
    {n_iter_}
    {solver_}
    {status_}
    {affinity_}
    {labeled_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    LapSVC : Plain estimator with fixed parameters.
    LapRLSClassifierCV : Squared loss.

    Notes
    -----
    With few labels, most settings predict all left-out labels correctly and differ in the squared
    error only. If a class has only one label, nothing can be left out; the defaults of `LapSVC`, or
    the nearest values of a given grid, are used, with a warning.

    Sample and class weights are those of the complete fit, also in the errors. The offsets of a
    class prior are not included in the errors.

    Each combination of ratio, width and graph takes O(n^3), half of the time of a plain fit. Memory
    is six n x n matrices in double precision.

    Examples
    --------
    >>> from lapwing import LapSVCCV
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = ["low", "low", "?", "high", "?", "high"]
    >>> model = LapSVCCV(unlabeled="?").fit(X, y)
    >>> model.transduction_.tolist()
    ['low', 'low', 'low', 'high', 'high', 'high']
    >>> sorted(model.best_params_)
    ['gamma', 'gamma_A', 'gamma_I', 'graph']
    """

    _plain = LapSVC

    _: KW_ONLY
    gamma_As: Any = _GAMMA_AS_OF_MARGINS
    loss: Loss | str = "squared_hinge"

    def _judged(self, left_out: Array) -> Array:
        return np.clip(left_out, -1, 1)

    def _defaults(self) -> Mapping[str, Any]:
        untouched = tuple(self.gamma_As) == _GAMMA_AS_OF_MARGINS
        return {"gamma_A": LapSVC().gamma_A} if untouched else {}
