"""Laplacian embedded regression, with the squared and the epsilon-insensitive loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any

from joblib import Memory

from lapwing._parameters import parameters
from lapwing.classes.volumes import PriorLike
from lapwing.estimators._docs import document
from lapwing.estimators.classifier import SemiSupervisedClassifier
from lapwing.estimators.embedded import EmbeddedEstimator, EmbeddedPrepared, EmbeddedSolution
from lapwing.estimators.regressor import GaussianRegressor, SemiSupervisedRegressor
from lapwing.estimators.updates import Updatable
from lapwing.graphs.base import GraphLike
from lapwing.losses import EpsilonInsensitive, Loss, Squared
from lapwing.spaces.recipes import SpaceRecipe


class _SquaredEstimator(EmbeddedEstimator):
    """Embedded regression with the squared loss."""

    def _loss(self) -> Loss:
        return Squared()


@document
@parameters
class LapERLSClassifier(
    Updatable[EmbeddedPrepared, EmbeddedSolution],
    SemiSupervisedClassifier[EmbeddedPrepared, EmbeddedSolution],
    _SquaredEstimator,
):
    r"""Laplacian embedded regularised least squares classifier.

    Virtual labels g of all points are fitted to the labels and smooth on a graph, and a function f
    of the kernel space is fitted to g: for every one-vs-rest column (labels -1 and +1) it minimises

    .. math:: \tfrac12 \|h\|^2 + \tfrac{C}{2} \sum_i (f(x_i) - g_i)^2
        + \tfrac{\lambda}{2} \sum_{i \in L} w_i (g_i - y_i)^2 + \tfrac{\mu}{2} g^T L^p g

    ([1]_, (31), (33); f = h + b). f predicts new points; g is more accurate than f
    on the training points and gives `transduction_`. As no product of kernel and graph is needed,
    memory is O(n m) with m landmarks and eigenvectors.

    Parameters
    ----------
    {embedded_kernel}
    {gamma}
    {degree}
    {coef0}
    {embedded_C}
    {lam}
    {mu}
    {n_eigenvectors}
    {graph}
    {embedded_space}
    {embedded_bias}
    {embedded_tol}
    {embedded_max_iter}
    {class_weight}
    {class_prior}
    {refine}
    {unlabeled}
    {memory}
    {updatable}

    Attributes
    ----------
    {classes_}
    {unlabeled_}
    {embedded_transduction_}
    {probabilities_}
    {virtual_labels_}
    {embedded_alpha_}
    {coef_}
    {intercept_}
    {embedded_X_fit_}
    {embedded_basis_}
    {kernel_}
    {eigenvalues_}
    {objective_}
    {embedded_optimality_}
    {embedded_n_iter_}
    {embedded_solver_}
    {status_}
    {embedded_affinity_}
    {labeled_}
    {class_prior_}
    {class_offsets_}
    {refinement_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    LapESVC : Epsilon-insensitive loss.

    Notes
    -----
    A fit takes O(n^3) with the full kernel, and O(n m^2) in one pass over blocks of rows with
    landmarks or linear functions. With ``n_eigenvectors=None``, landmarks or linear functions, and
    more than 2000 points, the conjugate gradient method is used instead.

    The defaults of C, lam, mu and n_eigenvectors were chosen by the error over nine data sets (the
    six of [1]_, Table II, with 10 labels; G50C, USPST and PCMAC with 50).

    References
    ----------
    .. [1] L. Chen, I. W. Tsang and D. Xu, "Laplacian embedded regression for scalable manifold
       regularization", IEEE Transactions on Neural Networks and Learning Systems 23, 902-915, 2012.

    Examples
    --------
    >>> from lapwing import LapERLSClassifier
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = ["low", "?", "?", "high", "?", "?"]
    >>> LapERLSClassifier(unlabeled="?").fit(X, y).transduction_.tolist()
    ['low', 'low', 'low', 'high', 'high', 'high']
    """

    _refines = True

    kernel: Any = "rbf"
    _: KW_ONLY
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 1.0
    C: float = 10.0
    lam: float = 1e4
    mu: float = 1e4
    n_eigenvectors: int | str | None = "auto"
    graph: GraphLike = None
    space: SpaceRecipe | str | None = "auto"
    fit_intercept: bool = False
    tol: float = 1e-8
    max_iter: int = 20_000
    class_weight: Mapping[Any, float] | str | None = None
    class_prior: PriorLike = None
    refine: str | None = None
    unlabeled: object = "auto"
    memory: Memory | str | None = None
    updatable: bool = False


@document
@parameters
class LapERLSRegressor(
    GaussianRegressor[EmbeddedPrepared, EmbeddedSolution],
    _SquaredEstimator,
):
    r"""Laplacian embedded regularised least squares regression.

    Virtual labels g of all points are fitted to the targets and smooth on a graph, and a function f
    of the kernel space is fitted to g. It minimises

    .. math:: \tfrac12 \|h\|^2 + \tfrac{C}{2} \sum_i (f(x_i) - g_i)^2
        + \tfrac{\lambda}{2} \sum_{i \in L} w_i (g_i - y_i)^2 + \tfrac{\mu}{2} g^T L^p g

    ([1]_, (31), (33); f = h + b). f predicts new points; g is more accurate than f
    on the training points and gives `transduction_`. As no product of kernel and graph is needed,
    memory is O(n m) with m landmarks and eigenvectors.

    Parameters
    ----------
    {embedded_kernel}
    {gamma}
    {degree}
    {coef0}
    {embedded_C}
    {regression_lam}
    {regression_mu}
    {regression_n_eigenvectors}
    {graph}
    {embedded_space}
    {embedded_regression_bias}
    {embedded_tol}
    {embedded_max_iter}
    {memory}
    {updatable}

    Attributes
    ----------
    {embedded_transduced_values_}
    {virtual_labels_}
    {left_out_residuals_}
    {embedded_alpha_}
    {coef_}
    {intercept_}
    {embedded_X_fit_}
    {embedded_basis_}
    {kernel_}
    {eigenvalues_}
    {objective_}
    {embedded_optimality_}
    {embedded_n_iter_}
    {embedded_solver_}
    {status_}
    {embedded_affinity_}
    {labeled_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    LapESVR : Epsilon-insensitive loss.

    Notes
    -----
    A fit takes O(n^3) with the full kernel, and O(n m^2) in one pass over blocks of rows with
    landmarks or linear functions. With ``n_eigenvectors=None``, landmarks or linear functions, and
    more than 2000 points, the conjugate gradient method is used instead.

    The defaults of C, lam, mu and n_eigenvectors were chosen by the squared error over six small
    data sets (diabetes, Friedman 1, swiss roll, S curve, a linear and a smooth function) with 30
    and 100 labels.

    References
    ----------
    .. [1] L. Chen, I. W. Tsang and D. Xu, "Laplacian embedded regression for scalable manifold
       regularization", IEEE Transactions on Neural Networks and Learning Systems 23, 902-915, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LapERLSRegressor
    >>> X = np.linspace(0, 1, 21)[:, None]
    >>> y = np.full(21, np.nan)
    >>> y[[0, 10, 20]] = [0.0, 0.5, 1.0]
    >>> model = LapERLSRegressor().fit(X, y)
    >>> bool(abs(model.predict([[0.25]])[0] - 0.25) < 0.1)
    True
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 1.0
    C: float = 10.0
    lam: float = 100.0
    mu: float = 1.0
    n_eigenvectors: int | None = 100
    graph: GraphLike = None
    space: SpaceRecipe | str | None = "auto"
    fit_intercept: bool = True
    tol: float = 1e-8
    max_iter: int = 20_000
    memory: Memory | str | None = None
    updatable: bool = False


class _TubeEstimator(EmbeddedEstimator):
    """Embedded regression with the epsilon-insensitive loss."""

    def _loss(self) -> Loss:
        return EpsilonInsensitive(float(self.epsilon))


@document
@parameters
class LapESVC(SemiSupervisedClassifier[EmbeddedPrepared, EmbeddedSolution], _TubeEstimator):
    r"""Laplacian embedded support vector classifier.

    Virtual labels g of all points are fitted to the labels and smooth on a graph, and a function f
    of the kernel space is fitted to g: for every one-vs-rest column (labels -1 and +1) it minimises

    .. math:: \tfrac12 \|h\|^2 + C \sum_i \max(0, |f(x_i) - g_i| - \epsilon)
        + \tfrac{\lambda}{2} \sum_{i \in L} w_i (g_i - y_i)^2 + \tfrac{\mu}{2} g^T L^p g

    ([1]_, (14), (23); f = h + b). f predicts new points; g is more accurate than f
    on the training points and gives `transduction_`. As no product of kernel and graph is needed,
    memory is O(n m) with m landmarks and eigenvectors.

    Parameters
    ----------
    {embedded_kernel}
    {gamma}
    {degree}
    {coef0}
    {embedded_C}
    {lam}
    {mu}
    {n_eigenvectors}
    epsilon : float, default=0.0
        Half width >= 0 of the tube around g in which residuals have no loss (labels are -1 and +1).
        0 is the absolute error; coefficients can be exactly 0 only for epsilon > 0.
    {graph}
    {embedded_space}
    {embedded_regression_bias}
    {tube_tol}
    {tube_max_iter}
    {class_weight}
    {class_prior}
    {refine}
    {unlabeled}
    {memory}

    Attributes
    ----------
    {classes_}
    {unlabeled_}
    {embedded_transduction_}
    {probabilities_}
    {virtual_labels_}
    {embedded_alpha_}
    {coef_}
    {intercept_}
    {embedded_X_fit_}
    {embedded_basis_}
    {kernel_}
    {eigenvalues_}
    {objective_}
    {tube_optimality_}
    {tube_n_iter_}
    {tube_solver_}
    {status_}
    {embedded_affinity_}
    {labeled_}
    {class_prior_}
    {class_offsets_}
    {refinement_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    LapERLSClassifier : Squared loss, which requires a single linear system for all classes.

    Notes
    -----
    A column takes some 10 to 30 factorisations: O(n^3) each with the full kernel or
    ``n_eigenvectors=None``, O(n m^2) with landmarks or linear functions. If there are at least half
    as many columns as threads, columns run in parallel, each with its own matrices; callbacks are
    then called from these threads, one at a time.

    References
    ----------
    .. [1] L. Chen, I. W. Tsang and D. Xu, "Laplacian embedded regression for scalable manifold
       regularization", IEEE Transactions on Neural Networks and Learning Systems 23, 902-915, 2012.

    Examples
    --------
    >>> from lapwing import LapESVC
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = ["low", "?", "?", "high", "?", "?"]
    >>> LapESVC(unlabeled="?").fit(X, y).transduction_.tolist()
    ['low', 'low', 'low', 'high', 'high', 'high']
    """

    _refines = True
    _fits_again = True

    kernel: Any = "rbf"
    _: KW_ONLY
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 1.0
    C: float = 10.0
    lam: float = 1e4
    mu: float = 1e4
    n_eigenvectors: int | str | None = "auto"
    epsilon: float = 0.0
    graph: GraphLike = None
    space: SpaceRecipe | str | None = "auto"
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int = 200
    class_weight: Mapping[Any, float] | str | None = None
    class_prior: PriorLike = None
    refine: str | None = None
    unlabeled: object = "auto"
    memory: Memory | str | None = None


@document
@parameters
class LapESVR(SemiSupervisedRegressor[EmbeddedPrepared, EmbeddedSolution], _TubeEstimator):
    r"""Laplacian embedded support vector regression.

    Virtual labels g of all points are fitted to the targets and smooth on a graph, and a function f
    of the kernel space is fitted to g. It minimises

    .. math:: \tfrac12 \|h\|^2 + C \sum_i \max(0, |f(x_i) - g_i| - \epsilon)
        + \tfrac{\lambda}{2} \sum_{i \in L} w_i (g_i - y_i)^2 + \tfrac{\mu}{2} g^T L^p g

    ([1]_, (14), (23); f = h + b). f predicts new points; g is more accurate than f
    on the training points and gives `transduction_`. As no product of kernel and graph is needed,
    memory is O(n m) with m landmarks and eigenvectors.

    Parameters
    ----------
    {embedded_kernel}
    {gamma}
    {degree}
    {coef0}
    {embedded_C}
    {regression_lam}
    {regression_mu}
    {regression_n_eigenvectors}
    epsilon : float, default=0.0
        Half width >= 0 of the tube around g in which residuals have no loss, in the units of y. 0
        is the absolute error; coefficients can be exactly 0 only for epsilon > 0.
    {graph}
    {embedded_space}
    {embedded_regression_bias}
    {tube_tol}
    {tube_max_iter}
    {memory}

    Attributes
    ----------
    {embedded_transduced_values_}
    {virtual_labels_}
    {embedded_alpha_}
    {coef_}
    {intercept_}
    {embedded_X_fit_}
    {embedded_basis_}
    {kernel_}
    {eigenvalues_}
    {objective_}
    {tube_optimality_}
    {tube_n_iter_}
    {tube_solver_}
    {status_}
    {embedded_affinity_}
    {labeled_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    LapERLSRegressor : Squared loss, which requires a single linear system.

    Notes
    -----
    A column takes some 10 to 30 factorisations: O(n^3) each with the full kernel or
    ``n_eigenvectors=None``, O(n m^2) with landmarks or linear functions. If there are at least half
    as many columns as threads, columns run in parallel, each with its own matrices; callbacks are
    then called from these threads, one at a time.

    References
    ----------
    .. [1] L. Chen, I. W. Tsang and D. Xu, "Laplacian embedded regression for scalable manifold
       regularization", IEEE Transactions on Neural Networks and Learning Systems 23, 902-915, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LapESVR
    >>> X = np.linspace(0, 1, 21)[:, None]
    >>> y = np.full(21, np.nan)
    >>> y[[0, 10, 20]] = [0.0, 0.5, 1.0]
    >>> model = LapESVR().fit(X, y)
    >>> bool(abs(model.predict([[0.25]])[0] - 0.25) < 0.1)
    True
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 1.0
    C: float = 10.0
    lam: float = 100.0
    mu: float = 1.0
    n_eigenvectors: int | None = 100
    epsilon: float = 0.0
    graph: GraphLike = None
    space: SpaceRecipe | str | None = "auto"
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int = 200
    memory: Memory | str | None = None
