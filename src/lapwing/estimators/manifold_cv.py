"""Laplacian regularised least squares and support vector machines that choose their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing.estimators._docs import document
from lapwing.estimators.classifier import SemiSupervisedClassifier
from lapwing.estimators.laprls import LapRLSClassifier, LapRLSRegressor
from lapwing.estimators.lapsvm import LapSVC
from lapwing.estimators.manifold_path import ManifoldPath
from lapwing.estimators.regressor import SemiSupervisedRegressor

# With the default widths and graphs, on six sets (g50c, COIL-20, digit1, usps, coil2 and text),
# 5 draws of 3 / 10 labels a class: mean error 23.2 / 16.6 %, LapRLSClassifier() 27.8 / 17.3. With
# 'scale' alone 23.9 / 17.1, without k = 2 23.5 / 17.3, without p = 3 and k = 2 24.6 / 17.6; more
# values of gamma_A and gamma_I gain nothing (26.0 to 26.5 at 3 labels with gamma_I = 0.01).
_GAMMA_AS = (1e-4, 1e-2)
_GAMMA_IS = (1.0, 1e2)
# LapSVC's 1e-4 is left out. A label of weight w pulls by w / gamma_A, and with narrow kernels class
# weights as small as that would still be followed (scikit-learn's check of class weights). On
# fifteen sets, 5 draws of 3 / 10 labels, it gains nothing: 23.2 / 13.4 % with, 23.4 / 13.2 without.
_GAMMA_AS_OF_MARGINS = (1e-3, 1e-2)
_GAMMA_AS_OF_VALUES = (1e-4, 1e-2, 1.0)
_GAMMA_IS_OF_VALUES = (1e-4, 1e-2, 1.0)


@document
class LapRLSClassifierCV(SemiSupervisedClassifier, ManifoldPath):
    r"""Laplacian regularised least squares classifier that chooses its own parameters.

    Tries every setting of a grid and is from then on `LapRLSClassifier` with the one whose leave-
    one-out squared error on the labels is the least. The setting nearest to the defaults of
    `LapRLSClassifier` is preferred: another one must be better by more than 1.6 standard errors of
    the difference, which a few labels make large. The errors are exact: those of fits without the
    label, with all other points, unlabelled ones too. They come from shared factorisations, one a
    ratio gamma_I / gamma_A, width and graph, so that 7 values of gamma_A and of gamma_I cost less
    than ten fits.

    Parameters
    ----------
    {kernel}
    {gammas}
    {degree}
    {coef0}
    gamma_As : array-like of float, default=(1e-4, 1e-2)
        Weights > 0 of the ambient norm to try.
    gamma_Is : array-like of float, default=(1.0, 1e2)
        Weights >= 0 of the intrinsic norm to try; 0 leaves the graph out.
    {graphs}
    {fit_intercept}
    {path_tol}
    {path_max_iter}
    {class_weight}
    {class_prior}
    {unlabeled}
    {path_updatable}

    Attributes
    ----------
    {best_params_}
    {best_score_}
    {cv_results_}
    {classes_}
    {unlabeled_}
    {transduction_}
    {probabilities_}
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
    LapRLSClassifier : One setting.
    LapSVCCV : The same with the (squared) hinge.

    Notes
    -----
    With few labels most settings miss no label at all: the squared error tells them apart, where
    the number of missed labels does not. Where a class has one label only nothing can be held
    out; then the values nearest to the defaults of `LapRLSClassifier` are taken, with a warning.

    Weights of the samples and the classes are those of the whole fit, in the errors too. The
    offsets of a class prior are no part of the errors.

    Time is O(n^3) a ratio, width and graph, half of a plain fit's; memory four n x n matrices in
    double precision.

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

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gammas: Any = None,
        degree: float = 3,
        coef0: float = 1.0,
        gamma_As: Any = _GAMMA_AS,
        gamma_Is: Any = _GAMMA_IS,
        graphs: Any = None,
        fit_intercept: bool = False,
        tol: float = 1e-8,
        max_iter: int = 20_000,
        class_weight: Any = None,
        class_prior: Any = None,
        unlabeled: Any = "auto",
        updatable: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gammas = gammas
        self.degree = degree
        self.coef0 = coef0
        self.gamma_As = gamma_As
        self.gamma_Is = gamma_Is
        self.graphs = graphs
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.unlabeled = unlabeled
        self.updatable = updatable


@document
class LapRLSRegressorCV(SemiSupervisedRegressor, ManifoldPath):
    r"""Laplacian regularised least squares regression that chooses its own parameters.

    Tries every setting of a grid and is from then on `LapRLSRegressor` with the one whose leave-
    one-out squared error on the targets is the least. The setting nearest to the defaults of
    `LapRLSRegressor` is preferred: another one must be better by more than 1.6 standard errors of
    the difference, which a few targets make large. The errors are exact: those of fits without the
    target, with all other points, unlabelled ones too. They come from shared factorisations, one a
    ratio gamma_I / gamma_A, width and graph, so that 7 values of gamma_A and of gamma_I cost less
    than ten fits.

    Parameters
    ----------
    {kernel}
    {gammas}
    {degree}
    {coef0}
    gamma_As : array-like of float, default=(1e-4, 1e-2, 1.0)
        Weights > 0 of the ambient norm to try.
    gamma_Is : array-like of float, default=(1e-4, 1e-2, 1.0)
        Weights >= 0 of the intrinsic norm to try; 0 leaves the graph out.
    {graphs}
    fit_intercept : bool, default=True
        Whether to add an unregularised bias. The intrinsic norm sees the bias, so a normalised
        Laplacian, which is not zero on constants, shrinks it.
    {path_tol}
    {path_max_iter}
    {path_updatable}

    Attributes
    ----------
    {best_params_}
    {best_score_}
    {cv_results_}
    {transduced_values_}
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
    LapRLSRegressor : One setting.

    Notes
    -----
    With one target nothing can be held out; then the values nearest to the defaults of
    `LapRLSRegressor` are taken, with a warning. Sample weights count in the errors too.

    Time is O(n^3) a ratio, width and graph, half of a plain fit's; memory four n x n matrices in
    double precision.

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

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gammas: Any = None,
        degree: float = 3,
        coef0: float = 1.0,
        gamma_As: Any = _GAMMA_AS_OF_VALUES,
        gamma_Is: Any = _GAMMA_IS_OF_VALUES,
        graphs: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 20_000,
        updatable: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gammas = gammas
        self.degree = degree
        self.coef0 = coef0
        self.gamma_As = gamma_As
        self.gamma_Is = gamma_Is
        self.graphs = graphs
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.updatable = updatable


@document
class LapSVCCV(SemiSupervisedClassifier, ManifoldPath):
    r"""Laplacian support vector machine that chooses its own parameters.

    Tries every setting of a grid and is from then on `LapSVC` with the one whose leave-one-out
    squared error on the labels is the least. The setting nearest to the defaults of `LapSVC` is
    preferred: another one must be better by more than 1.6 standard errors of the difference, which
    a few labels make large. Scores beyond the margins -1 and +1 count as those, as the (squared)
    hinge has it. The errors are exact: those of fits without the label, with all other points,
    unlabelled ones too. They come from shared factorisations, one a ratio gamma_I / gamma_A, width
    and graph, and problems of the size of the labels.

    Parameters
    ----------
    {kernel}
    {gammas}
    {degree}
    {coef0}
    gamma_As : array-like of float, default=(1e-3, 1e-2)
        Weights > 0 of the ambient norm to try.
    gamma_Is : array-like of float, default=(1.0, 1e2)
        Weights >= 0 of the intrinsic norm to try; 0 leaves the graph out.
    {graphs}
    {loss}
    {fit_intercept}
    {path_tol}
    {path_max_iter}
    {class_weight}
    {class_prior}
    {unlabeled}
    {path_updatable}

    Attributes
    ----------
    {best_params_}
    {best_score_}
    {cv_results_}
    {classes_}
    {unlabeled_}
    {transduction_}
    {probabilities_}
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
    LapSVC : One setting.
    LapRLSClassifierCV : The same with the squared loss.

    Notes
    -----
    With few labels most settings miss no label at all: the squared error tells them apart, where
    the number of missed labels does not. Where a class has one label only nothing can be held
    out; then the defaults of `LapSVC` are taken, or what is nearest to them in grids of your own,
    with a warning.

    Weights of the samples and the classes are those of the whole fit, in the errors too. The
    offsets of a class prior are no part of the errors.

    Time is O(n^3) a ratio, width and graph, half of a plain fit's; memory four n x n matrices in
    double precision.

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

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gammas: Any = None,
        degree: float = 3,
        coef0: float = 1.0,
        gamma_As: Any = _GAMMA_AS_OF_MARGINS,
        gamma_Is: Any = _GAMMA_IS,
        graphs: Any = None,
        loss: Any = "squared_hinge",
        fit_intercept: bool = False,
        tol: float = 1e-8,
        max_iter: int = 20_000,
        class_weight: Any = None,
        class_prior: Any = None,
        unlabeled: Any = "auto",
        updatable: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gammas = gammas
        self.degree = degree
        self.coef0 = coef0
        self.gamma_As = gamma_As
        self.gamma_Is = gamma_Is
        self.graphs = graphs
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.unlabeled = unlabeled
        self.updatable = updatable

    def _judged(self, left_out: Array) -> Array:
        return np.clip(left_out, -1, 1)

    def _defaults(self) -> Mapping[str, Any]:
        untouched = tuple(self.gamma_As) == _GAMMA_AS_OF_MARGINS
        return {"gamma_A": LapSVC().gamma_A} if untouched else {}
