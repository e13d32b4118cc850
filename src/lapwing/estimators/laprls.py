"""Laplacian regularised least squares."""

from __future__ import annotations

from typing import Any

from lapwing.estimators._docs import document
from lapwing.estimators.classifier import ManifoldClassifier
from lapwing.estimators.regressor import StoppableRegressor
from lapwing.estimators.updates import Updatable
from lapwing.losses.base import Loss
from lapwing.losses.labeled import Squared


@document
class LapRLSClassifier(Updatable, ManifoldClassifier):
    r"""Laplacian regularised least squares classifier.

    Fits targets -1 and +1 in the least squares sense: with f = h + b, h in the space of the kernel,
    it minimises for every one-vs-rest column

    .. math:: \sum_{i \in L} w_i (y_i - f(x_i))^2 + \gamma_A \|h\|^2 + \gamma_I f^T L^p f

    ([1]_, (14)). L is the Laplacian of a graph of all points, f in the intrinsic norm the vector of
    values on them, bias included.

    Parameters
    ----------
    {kernel}
    {gamma}
    {degree}
    {coef0}
    {gamma_A}
    {gamma_I}
    {graph}
    {solver}
    {stopping}
    {validation_fraction}
    {fit_intercept}
    {stopping_tol}
    {max_iter}
    {class_weight}
    {class_prior}
    {refine}
    {unlabeled}
    {warm_start}
    {random_state}
    {updatable}

    Attributes
    ----------
    {classes_}
    {unlabeled_}
    {transduction_}
    {probabilities_}
    {alpha_}
    {coef_}
    {intercept_}
    {class_prior_}
    {class_offsets_}
    {refinement_}
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
    LapSVC : The same with the (squared) hinge, which leaves points beyond the margin alone.

    References
    ----------
    .. [1] S. Melacci and M. Belkin, "Laplacian support vector machines trained in the primal",
       Journal of Machine Learning Research 12, 1149-1184, 2011.

    Examples
    --------
    >>> from lapwing import LapRLSClassifier
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = ["low", "?", "?", "high", "?", "?"]
    >>> LapRLSClassifier(unlabeled="?").fit(X, y).transduction_.tolist()
    ['low', 'low', 'low', 'high', 'high', 'high']
    """

    _refines = True

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        gamma_A: float = 1e-4,
        gamma_I: float = 1.0,
        graph: Any = None,
        solver: str = "auto",
        stopping: str | None = None,
        validation_fraction: float | None = 0.2,
        fit_intercept: bool = False,
        tol: float | None = None,
        max_iter: int = 20_000,
        class_weight: Any = None,
        class_prior: Any = None,
        refine: str | None = None,
        unlabeled: Any = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        updatable: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gamma_A = gamma_A
        self.gamma_I = gamma_I
        self.graph = graph
        self.solver = solver
        self.stopping = stopping
        self.validation_fraction = validation_fraction
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.refine = refine
        self.unlabeled = unlabeled
        self.warm_start = warm_start
        self.random_state = random_state
        self.updatable = updatable

    def _loss(self) -> Loss:
        return Squared()


@document
class LapRLSRegressor(Updatable, StoppableRegressor):
    r"""Laplacian regularised least squares regression.

    With f = h + b, h in the space of the kernel, it minimises

    .. math:: \sum_{i \in L} w_i (y_i - f(x_i))^2 + \gamma_A \|h\|^2 + \gamma_I f^T L^p f

    ([1]_, (14), [2]_). L is the Laplacian of a graph of all points, f in the intrinsic norm the
    vector of values on them, bias included. NaN in y marks unlabelled points.

    Parameters
    ----------
    {kernel}
    {gamma}
    {degree}
    {coef0}
    {gamma_A}
    gamma_I : float, default=0.01
        Weight >= 0 of the intrinsic norm; 0 leaves the graph out. Only gamma_I / gamma_A decides
        how far the graph deforms the kernel. The default smooths by less than the classifiers':
        values are to be followed, where classes only need a sign.
    {graph}
    {solver}
    {stopping}
    {validation_fraction}
    fit_intercept : bool, default=True
        Whether to add an unregularised bias. The intrinsic norm sees the bias, so a normalised
        Laplacian, which is not zero on constants, shrinks it.
    {stopping_tol}
    {max_iter}
    {warm_start}
    {random_state}
    {updatable}

    Attributes
    ----------
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
    LapSVR : The same with the epsilon-insensitive loss.

    References
    ----------
    .. [1] S. Melacci and M. Belkin, "Laplacian support vector machines trained in the primal",
       Journal of Machine Learning Research 12, 1149-1184, 2011.
    .. [2] M. Belkin, P. Niyogi and V. Sindhwani, "Manifold regularization: a geometric framework
       for learning from labeled and unlabeled examples", Journal of Machine Learning Research 7,
       2399-2434, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LapRLSRegressor
    >>> X = np.linspace(0, 1, 21)[:, None]
    >>> y = np.full(21, np.nan)
    >>> y[[0, 10, 20]] = [0.0, 0.5, 1.0]
    >>> model = LapRLSRegressor().fit(X, y)
    >>> bool(abs(model.predict([[0.25]])[0] - 0.25) < 0.1)
    True
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        gamma_A: float = 1e-4,
        gamma_I: float = 0.01,
        graph: Any = None,
        solver: str = "auto",
        stopping: str | None = None,
        validation_fraction: float | None = 0.2,
        fit_intercept: bool = True,
        tol: float | None = None,
        max_iter: int = 20_000,
        warm_start: bool = False,
        random_state: Any = None,
        updatable: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gamma_A = gamma_A
        self.gamma_I = gamma_I
        self.graph = graph
        self.solver = solver
        self.stopping = stopping
        self.validation_fraction = validation_fraction
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.updatable = updatable

    def _loss(self) -> Loss:
        return Squared()
