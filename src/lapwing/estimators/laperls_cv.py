"""Laplacian embedded regularised least squares that chooses its parameters."""

from __future__ import annotations

from typing import Any

from lapwing.estimators._docs import document
from lapwing.estimators.classifier import SemiSupervisedClassifier
from lapwing.estimators.embedded_path import EmbeddedPath
from lapwing.estimators.laperls import LapERLSClassifier

# On ten sets (g50c, uspst, pcmac, COIL-20, six of the SSL book; 1500 points at most), 5 draws of
# 3 / 10 labels a class: mean error of g 27.8 / 21.5 %, LapERLSClassifier() 31.0 / 23.3; by grids
# chosen on the other nine sets 27.3 / 21.9. A second width changes nothing (27.9 / 21.5), 200
# eigenvectors gain 0.0 / 0.2 for twice the time, and k = 5, p = 2 alone has 31.1 / 23.4.
_LAMS = (1e2, 1e4)
_MUS = (1e3, 1e4)
_N_EIGENVECTORS = (25, "auto", 100)


@document
class LapERLSClassifierCV(SemiSupervisedClassifier, EmbeddedPath):
    r"""Laplacian embedded regularised least squares classifier that chooses its own parameters.

    Tries every setting of a grid and is from then on `LapERLSClassifier` with the one whose leave-
    one-out squared error of the virtual labels is the least. The setting nearest to the defaults of
    `LapERLSClassifier` is preferred: another one must be better by more than 1.6 standard errors of
    the difference, which a few labels make large. The errors are exact: those of fits without the
    label, with all other points, unlabelled ones too. They come from one elimination of the
    function a width and C, and from systems of the size of the eigenvectors and of the labels.

    Parameters
    ----------
    {embedded_kernel}
    gammas : array-like of float or 'scale', or None, default=('scale',)
        Widths of the kernel to try; 'scale' is one over the total variance of X. None is 'scale'
        and four times it. They matter little to the virtual labels, by which settings are compared,
        and each takes as long as a fit.
    {degree}
    {coef0}
    Cs : array-like of float, default=(10.0,)
        Weights > 0 of the loss between f and g at every point to try.
    lams : array-like of float, default=(1e2, 1e4)
        Weights lambda > 0 of the labels in g to try; times the sample weights.
    mus : array-like of float, default=(1e3, 1e4)
        Weights >= 0 of the smoothness of g on the graph to try.
    n_eigenvectors : array-like of int or 'auto', default=(25, 'auto', 100)
        Numbers of eigenvectors to try, each at most n; g is sought in their span. 'auto' is 50, or
        two a class if that is more.
    {graphs}
    {embedded_space}
    fit_intercept : bool, default=False
        Whether f has an unregularised bias.
    {class_weight}
    {class_prior}
    {unlabeled}
    {memory}
    {path_updatable}

    Attributes
    ----------
    {best_params_}
    {best_score_}
    {cv_results_}
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
    eigenvalues_ : ndarray of shape (n_eigenvectors,)
        Of L, ascending.
    {objective_}
    optimality_ : ndarray of shape (n_columns,)
        Relative residual of the linear equations, a column.
    n_iter_ : int
        1: solvers are direct.
    solver_ : str
        'cholesky' (kernel matrix) or 'normal equations' (features).
    {status_}
    {embedded_affinity_}
    {labeled_}
    {class_prior_}
    {class_offsets_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    LapERLSClassifier : One setting.
    LapRLSClassifierCV : The same for functions of the kernel alone.

    Notes
    -----
    With few labels most settings miss no label at all: the squared error tells them apart, where
    the number of missed labels does not. Where a class has one label only nothing can be held
    out; then the values nearest to the defaults of `LapERLSClassifier` are taken, with a warning.

    Weights of the samples and the classes are those of the whole fit, in the errors too. The
    offsets of a class prior are no part of the errors.

    Time is one fit a width and C, one search for neighbours and set of eigenpairs a graph (powers
    share them), and O(r^3) a setting of mu, r eigenvectors, power and graph.

    Examples
    --------
    >>> from lapwing import LapERLSClassifierCV
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = ["low", "low", "?", "high", "?", "high"]
    >>> model = LapERLSClassifierCV(unlabeled="?").fit(X, y)
    >>> model.transduction_.tolist()
    ['low', 'low', 'low', 'high', 'high', 'high']
    >>> sorted(model.best_params_)
    ['C', 'gamma', 'graph', 'lam', 'mu', 'n_eigenvectors']
    """

    _plain = LapERLSClassifier

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gammas: Any = ("scale",),
        degree: float = 3,
        coef0: float = 1.0,
        Cs: Any = (10.0,),
        lams: Any = _LAMS,
        mus: Any = _MUS,
        n_eigenvectors: Any = _N_EIGENVECTORS,
        graphs: Any = None,
        space: Any = "auto",
        fit_intercept: bool = False,
        class_weight: Any = None,
        class_prior: Any = None,
        unlabeled: Any = "auto",
        memory: Any = None,
        updatable: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gammas = gammas
        self.degree = degree
        self.coef0 = coef0
        self.Cs = Cs
        self.lams = lams
        self.mus = mus
        self.n_eigenvectors = n_eigenvectors
        self.graphs = graphs
        self.space = space
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.unlabeled = unlabeled
        self.memory = memory
        self.updatable = updatable
