"""Laplacian embedded regression, with the squared and the epsilon-insensitive loss."""

from __future__ import annotations

from dataclasses import KW_ONLY

from lapwing._parameters import parameters
from lapwing.estimators._docs import document
from lapwing.estimators.classifier import RefinableClassifier
from lapwing.estimators.embedded import EmbeddedEstimator, EmbeddedPrepared, EmbeddedSolution
from lapwing.estimators.lapsvm import LapRLSRegressor, LapSVC
from lapwing.estimators.regressor import GaussianRegressor, SemiSupervisedRegressor
from lapwing.estimators.updates import Updatable
from lapwing.losses import EpsilonInsensitive, Loss, Squared


class _SquaredEstimator(EmbeddedEstimator):
    """Embedded regression with the squared loss."""

    def _loss(self) -> Loss:
        return Squared()


@parameters
@document(LapSVC)
class LapERLSClassifier(
    Updatable[EmbeddedPrepared, EmbeddedSolution],
    RefinableClassifier[EmbeddedPrepared, EmbeddedSolution],
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
    C : float, default=10.0
        Weight > 0 of the loss between f and g, summed over all points: the larger, the closer the
        function is to the virtual labels.
    lam : float, default=1e4
        Weight lambda > 0 of the squared error of g on labelled points, multiplied by the sample
        weights.
    mu : float, default=1e4
        Weight >= 0 of the smoothness of g on the graph. The default is for L^2 of the default
        graph; with p = 1 use smaller values (about 100 on MNIST), and with D - W values in inverse
        proportion to the edge weights.
    n_eigenvectors : int, 'auto' or None, default='auto'
        Number of eigenvectors of L, those of the smallest eigenvalues, in whose span g is sought
        ([1]_, Section III-B); at most n. 'auto' is 50, or two per class if that is more. None does
        not restrict g: the graph kernel is exact. At least one eigenvector for every class and
        every component of the graph is needed, and more for finer structure.
    {graph}
    space : 'auto', space recipe or None, default='auto'
        Space of f: None is the full kernel, `Landmarks` an expansion over a few points, `Linear`
        linear functions. 'auto' is the full kernel up to 10000 points (4000 with the
        epsilon-insensitive loss) and ``Landmarks(1000)`` above.
    fit_intercept : bool, default=False
        Whether f has an unregularised bias. The authors of the method use none for classification.
    tol : float, default=1e-8
        Tolerance of the conjugate gradient method on the residual relative to the right-hand side.
        It is used for many points with ``n_eigenvectors=None`` and landmarks or linear functions.
    max_iter : int, default=20000
        Maximum number of iterations of the conjugate gradient method.
    {class_weight}
    {class_prior}
    {refine}
    {unlabeled}
    memory : str, joblib.Memory or None, default=None
        Cache of the eigenpairs, so that fits on the same graph with other weights need not compute
        them again. For points on disk, completed stages of the neighbour search are cached as well,
        so that an interrupted fit can be resumed.
    {updatable}

    Attributes
    ----------
    {classes_}
    {unlabeled_}
    transduction_ : ndarray of shape (n_samples,)
        Class of every training point according to g, labelled points included.
    {transduction_proba_ to left_out_proba_}
    virtual_labels_ : ndarray of shape (n_samples, n_columns)
        Values of g at all training points, from which `transduction_` is computed, including the
        offsets of a class prior. Rows of weight 0, which are not part of the fit, have the value of
        f.
    alpha_ : ndarray of shape (n_basis, n_columns)
        Expansion coefficients over `X_fit_`; not with linear functions.
    {coef_}
    {intercept_}
    X_fit_ : {ndarray, sparse matrix} of shape (n_basis, n_features)
        Points of the expansion: the distinct rows of X with non-zero coefficients, or the
        landmarks. None if precomputed.
    basis_ : ndarray
        Row numbers in X of the points of the expansion; with landmarks and linear functions, of all
        points of the problem. Duplicate rows are one point.
    {kernel_}
    eigenvalues_ : ndarray of shape (n_eigenvectors,)
        Eigenvalues of L, ascending; not with ``n_eigenvectors=None``.
    {objective_}
    optimality_ : ndarray of shape (n_columns,)
        Relative residual of the linear system of each column.
    n_iter_ : int
        Number of iterations of the solver; 1 for direct solvers.
    solver_ : str
        'cholesky' (kernel matrix), 'normal equations' (features) or 'conjugate gradient'.
    {status_}
    affinity_ : csr_array of shape (n_points, n_points)
        Affinity of the graph between the points of the problem: duplicate rows are one point,
        unless the affinity or the kernel matrix is given, and rows of weight 0 are left out.
    {labeled_}
    {class_prior_}
    {class_offsets_}
    {refined_}
    {cut_history_}
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


@parameters
@document(LapERLSClassifier, LapRLSRegressor)
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
    {C}
    lam : float, default=100.0
        Weight lambda > 0 of the squared error of g on labelled points, multiplied by the sample
        weights.
    mu : float, default=1.0
        Weight >= 0 of the smoothness of g on the graph. The default is for the default graph, whose
        Laplacian D - W does not penalise constants. It is smaller than for classifiers, as targets
        are to be approximated and not only their sign.
    n_eigenvectors : int or None, default=100
        Number of eigenvectors of L, those of the smallest eigenvalues, in whose span g is sought
        ([1]_, Section III-B); at most n. None does not restrict g: the graph kernel is exact, which
        approximates targets better but takes more time and memory.
    {graph}
    {space}
    fit_intercept : bool, default=True
        Whether f has an unregularised bias.
    {tol}
    {max_iter}
    {memory}
    {updatable}

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Value of g at every training point, labelled points included.
    estimators_ : list of estimator
        Fitted estimators of the columns of y, with all other attributes; only if y has several
        columns. Labels added to one of them change its attributes and `predict` of this model.
    {virtual_labels_}
    {left_out_residuals_}
    {left_out_coef_}
    {left_out_intercept_}
    {alpha_}
    {coef_}
    {intercept_}
    {X_fit_}
    {basis_}
    {kernel_}
    {eigenvalues_}
    {objective_}
    {optimality_}
    {n_iter_}
    {solver_}
    {status_}
    {affinity_}
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

    _: KW_ONLY
    lam: float = 100.0
    mu: float = 1.0
    n_eigenvectors: int | None = 100
    fit_intercept: bool = True


@parameters
class _TubeEstimator(EmbeddedEstimator):
    """Embedded regression with the epsilon-insensitive loss."""

    _: KW_ONLY
    epsilon: float = 0.0
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int = 200

    def _loss(self) -> Loss:
        return EpsilonInsensitive(float(self.epsilon))


@parameters
@document(LapERLSClassifier, LapERLSRegressor)
class LapESVC(RefinableClassifier[EmbeddedPrepared, EmbeddedSolution], _TubeEstimator):
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
    {C}
    {lam}
    {mu}
    {n_eigenvectors}
    epsilon : float, default=0.0
        Half width >= 0 of the tube around g in which residuals have no loss (labels are -1 and +1).
        0 is the absolute error; coefficients can be exactly 0 only for epsilon > 0.
    {graph}
    {space}
    {LapERLSRegressor.fit_intercept}
    tol : float, default=1e-6
        Tolerance on the duality gap, relative to the objective.
    max_iter : int, default=200
        Maximum number of steps of the interior point method for each column.
    {class_weight}
    {class_prior}
    {refine}
    {unlabeled}
    {memory}

    Attributes
    ----------
    {classes_}
    {unlabeled_}
    {transduction_}
    {transduction_proba_ to left_out_proba_}
    {virtual_labels_}
    {alpha_}
    {coef_}
    {intercept_}
    {X_fit_}
    {basis_}
    {kernel_}
    {eigenvalues_}
    {objective_}
    optimality_ : ndarray of shape (n_columns,)
        Duality gap of each column, relative to the objective.
    n_iter_ : int
        Number of iterations of the solver; the largest over the columns.
    solver_ : str
        'interior point'.
    {status_}
    {affinity_}
    {labeled_}
    {class_prior_}
    {class_offsets_}
    {refined_}
    {cut_history_}
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

    _fits_again = True


@parameters
@document(LapESVC, LapERLSRegressor)
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
    {C}
    {LapERLSRegressor.lam}
    {LapERLSRegressor.mu}
    {LapERLSRegressor.n_eigenvectors}
    epsilon : float, default=0.0
        Half width >= 0 of the tube around g in which residuals have no loss, in the units of y. 0
        is the absolute error; coefficients can be exactly 0 only for epsilon > 0.
    {graph}
    {space}
    {fit_intercept}
    {tol}
    {max_iter}
    {memory}

    Attributes
    ----------
    {LapERLSRegressor.transduction_}
    {estimators_}
    {virtual_labels_}
    {alpha_}
    {coef_}
    {intercept_}
    {X_fit_}
    {basis_}
    {kernel_}
    {eigenvalues_}
    {objective_}
    {optimality_}
    {n_iter_}
    {solver_}
    {status_}
    {affinity_}
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

    _: KW_ONLY
    lam: float = 100.0
    mu: float = 1.0
    n_eigenvectors: int | None = 100
