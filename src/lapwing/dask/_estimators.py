"""The estimators for clusters: parameters and documentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lapwing.dask._anchors import AnchorEngine
from lapwing.dask._eigenfunctions import EigenfunctionEngine
from lapwing.dask._embedded import EmbeddedClassifierEngine, EmbeddedRegressorEngine
from lapwing.dask._face import DaskClassifier, DaskRegressor
from lapwing.dask._lazy import lazily
from lapwing.dask._low_density import LowDensityEngine
from lapwing.dask._tall import Tall
from lapwing.estimators import (
    S3VC,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    LapERLSClassifier,
    LapERLSRegressor,
)
from lapwing.estimators._docs import document
from lapwing.graphs import AnchorGraph

__all__ = [
    "DaskAnchorGraphClassifier",
    "DaskEigenfunctionClassifier",
    "DaskLapERLSClassifier",
    "DaskLapERLSRegressor",
    "DaskS3VC",
]


@document
class DaskAnchorGraphClassifier(DaskClassifier):
    """Classifier by anchor graph regularisation, of points on a Dask cluster.

    The same as `AnchorGraphClassifier`: anchors come from a sample of the points, their weights
    stay on the workers, and what the client solves is as large as the number of anchors squared.

    Parameters
    ----------
    graph : AnchorGraph or None, default=None
        The anchors, and how points are weighed over them. None is ``AnchorGraph()``.
    gamma_I : float, default=0.1
        Weight >= 0 of the smoothness.
    class_mass_normalization : bool, default=True
        Whether the membership of a class is divided by its sum over all points that labels reach.
    {unlabeled}
    client : distributed.Client or None, default=None
        The cluster; None is the current client. It is never pickled with the estimator.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    {unlabeled_}
    transduction_ : dask.array.Array of shape (n_samples,)
        Predicted class of every training point, in the chunks of X, computed when asked for.
    transduction_proba_ : dask.array.Array of shape (n_samples, n_classes)
        Probabilities of the classes for them.
    alpha_ : ndarray of shape (n_anchors, n_columns)
        Values at the anchors.
    intercept_ : ndarray of shape (n_columns,)
        Added to the decision values; 0 here.
    anchors_ : Anchors
        The anchors that have points.
    {objective_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    lapwing.AnchorGraphClassifier : The same in memory, with the objective and its source.

    Notes
    -----
    Rows that are equal are points of their own, where `AnchorGraphClassifier` takes them as one.
    """

    _engine = AnchorEngine
    _local = AnchorGraphClassifier

    def __init__(
        self,
        graph: AnchorGraph | None = None,
        *,
        gamma_I: float = 0.1,
        class_mass_normalization: bool = True,
        unlabeled: Any = "auto",
        client: Any = None,
    ) -> None:
        self.graph = graph
        self.gamma_I = gamma_I
        self.class_mass_normalization = class_mass_normalization
        self.unlabeled = unlabeled
        self.client = client


@document
class DaskEigenfunctionClassifier(DaskClassifier):
    """Classifier by eigenfunctions of the density's smoothness operator, on a Dask cluster.

    The same as `EigenfunctionClassifier`: moments, quantiles and histograms of the points are
    summed on the workers, and the client solves what is as small as the number of functions.

    Parameters
    ----------
    n_eigenfunctions : int or None, default=None
        Eigenfunctions beside the constant; None is 2 a direction, but at most 30.
    n_components : int, default=64
        Principal directions.
    n_bins : int, default=100
        Bins of each histogram, from 3 to 2000.
    bandwidth : float or None, default=None
        Standard deviation > 0 of the Gaussian affinity between bins, in the units of X. None is
        0.2 of the standard deviation along the first direction (at least a bin's width).
    clip : float, default=0.025
        Share, less than 1/2, of the points on either end of a direction that is moved to the ends
        of the bins.
    lam : float, default=100.0
        Weight > 0 of the labels.
    {class_weight}
    {unlabeled}
    client : distributed.Client or None, default=None
        The cluster; None is the current client. It is never pickled with the estimator.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    {unlabeled_}
    transduction_ : dask.array.Array of shape (n_samples,)
        Predicted class of every training point, in the chunks of X, computed when asked for.
    transduction_proba_ : dask.array.Array of shape (n_samples, n_classes)
        Probabilities of the classes for them.
    alpha_ : ndarray of shape (n_eigenfunctions, n_columns)
        Coefficients of the functions, the constant left out.
    intercept_ : ndarray of shape (n_columns,)
        Value of the constant.
    eigenfunctions_ : Eigenfunctions
        The functions.
    {objective_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    lapwing.EigenfunctionClassifier : The same in memory, with the objective and its source.

    Notes
    -----
    Rows that are equal are points of their own, where `EigenfunctionClassifier` takes them as one.
    """

    _engine = EigenfunctionEngine
    _local = EigenfunctionClassifier

    def __init__(
        self,
        n_eigenfunctions: int | None = None,
        *,
        n_components: int = 64,
        n_bins: int = 100,
        bandwidth: float | None = None,
        clip: float = 0.025,
        lam: float = 100.0,
        class_weight: Any = None,
        unlabeled: Any = "auto",
        client: Any = None,
    ) -> None:
        self.n_eigenfunctions = n_eigenfunctions
        self.n_components = n_components
        self.n_bins = n_bins
        self.bandwidth = bandwidth
        self.clip = clip
        self.lam = lam
        self.class_weight = class_weight
        self.unlabeled = unlabeled
        self.client = client


@document
class DaskS3VC(DaskClassifier):
    """Linear semi-supervised support vector machine, of points on a Dask cluster.

    The same as ``S3VC(kernel='linear', multi_class='ovr')``: every evaluation of the objective is
    one pass over X on the workers, of which a gradient comes back.

    Parameters
    ----------
    C : float, default=100.0
        Weight > 0 of the labelled losses.
    C_star : float or None, default=None
        Weight >= 0 of the losses on unlabelled points. None is C l / u for l labelled and u
        unlabelled points.
    {s3vc_loss}
    unlabeled_loss : UnlabeledLoss or str, default='auto'
        On unlabelled scores, one without kinks; 'auto' is that of the method.
    s : float, default=3.0
        Of exp(-s f^2), > 0.
    method : {'gradient', 'quasi-newton'}, default='gradient'
        As in `S3VC`; the others hold a number for each unlabelled point.
    balance : 'labels', float, (float, float), dict or None, default='labels'
        Mean decision value on the unlabelled points, as in `S3VC`.
    fit_intercept : bool, default=True
        Whether there is a bias where ``balance=None``; a balance is one.
    tol : float, default=1e-4
        Norm of the gradient over sqrt(2 objective), and distance of margins from their places.
    max_iter : int, default=20000
        Most iterations of L-BFGS in every stage of a method, and in its last descent.
    {class_weight}
    {unlabeled}
    client : distributed.Client or None, default=None
        The cluster; None is the current client. It is never pickled with the estimator.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    {unlabeled_}
    transduction_ : dask.array.Array of shape (n_samples,)
        Predicted class of every training point, in the chunks of X, computed when asked for.
    transduction_proba_ : dask.array.Array of shape (n_samples, n_classes)
        Probabilities of the classes for them.
    coef_ : ndarray of shape (n_columns, n_features)
        Weights.
    intercept_ : ndarray of shape (n_columns,)
        Bias of each column.
    objective_ : ndarray of shape (n_columns,)
        The objective at the solution.
    {n_iter_}
    {status_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    lapwing.S3VC : The same in memory, with the objective and its sources.

    Notes
    -----
    Rows that are equal are points of their own, where `S3VC` takes them as one of their weight:
    the solution is the same.
    """

    _engine = LowDensityEngine
    _local = S3VC
    _fixed = {"kernel": "linear", "multi_class": "ovr"}  # noqa: RUF012

    def __init__(
        self,
        *,
        C: float = 100.0,
        C_star: float | None = None,
        loss: Any = "hinge",
        unlabeled_loss: Any = "auto",
        s: float = 3.0,
        method: str = "gradient",
        balance: Any = "labels",
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 20_000,
        class_weight: Any = None,
        unlabeled: Any = "auto",
        client: Any = None,
    ) -> None:
        self.C = C
        self.C_star = C_star
        self.loss = loss
        self.unlabeled_loss = unlabeled_loss
        self.s = s
        self.method = method
        self.balance = balance
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.unlabeled = unlabeled
        self.client = client


@document
class DaskLapERLSClassifier(DaskClassifier):
    """Laplacian embedded regularised least squares classifier, of points on a Dask cluster.

    The same as `LapERLSClassifier` with landmarks: neighbours are searched block by block in
    shards, the Laplacian is multiplied in blocks of rows, and the client solves what is as large as
    landmarks and eigenvectors together.

    Parameters
    ----------
    kernel : str, default='rbf'
        Name of a kernel of points.
    {gamma}
    degree : float, default=3
        Of the kernel 'poly'.
    coef0 : float, default=1.0
        Of the kernels 'poly' and 'sigmoid'.
    C : float, default=10.0
        Weight > 0 of the loss between f and g at every point.
    lam : float, default=1e4
        Weight lambda > 0 of the labels in g.
    mu : float, default=1e4
        Weight >= 0 of the smoothness of g on the graph.
    n_eigenvectors : int or 'auto', default='auto'
        g is sought in the span of so many eigenvectors of the graph's Laplacian.
    graph : KNNGraph or None, default=None
        The graph: metric 'euclidean', weights 'heat' or 'binary'. None is the default one of the
        estimator without Dask.
    space : Landmarks or 'auto', default='auto'
        Landmarks of f, drawn from a sample; 'auto' is ``Landmarks()``.
    fit_intercept : bool, default=False
        Whether f has an unregularised bias.
    {class_weight}
    {unlabeled}
    client : distributed.Client or None, default=None
        The cluster; None is the current client. It is never pickled with the estimator.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    {unlabeled_}
    transduction_ : dask.array.Array of shape (n_samples,)
        Predicted class of every training point by g, in the chunks of X, computed when asked for.
    transduction_proba_ : dask.array.Array of shape (n_samples, n_classes)
        Probabilities of the classes for them.
    virtual_labels_ : dask.array.Array of shape (n_samples, n_columns)
        g.
    alpha_ : ndarray of shape (n_landmarks, n_columns)
        Expansion coefficients of f.
    intercept_ : ndarray of shape (n_columns,)
        Bias of each column.
    X_fit_ : ndarray of shape (n_landmarks, n_features)
        The landmarks.
    {kernel_}
    {eigenvalues_}
    {objective_}
    {optimality_}
    {solver_}
    {status_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    lapwing.LapERLSClassifier : The same in memory, with the objective and its source.

    Notes
    -----
    Rows that are equal are points of their own, where `LapERLSClassifier` takes them as one.
    """

    _engine = EmbeddedClassifierEngine
    _local = LapERLSClassifier
    _lazy = ("transduction_", "transduction_proba_", "virtual_labels_")

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        C: float = 10.0,
        lam: float = 1e4,
        mu: float = 1e4,
        n_eigenvectors: int | str = "auto",
        graph: Any = None,
        space: Any = "auto",
        fit_intercept: bool = False,
        class_weight: Any = None,
        unlabeled: Any = "auto",
        client: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.C = C
        self.lam = lam
        self.mu = mu
        self.n_eigenvectors = n_eigenvectors
        self.graph = graph
        self.space = space
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.unlabeled = unlabeled
        self.client = client

    def _answers(self, values: Tall) -> Mapping[str, Any]:
        return {**super()._answers(values), "virtual_labels_": lazily(values)}


@document
class DaskLapERLSRegressor(DaskRegressor):
    """Laplacian embedded regularised least squares regression, of points on a Dask cluster.

    The same as `LapERLSRegressor` with landmarks: neighbours are searched block by block in
    shards, the Laplacian is multiplied in blocks of rows, and the client solves what is as large as
    landmarks and eigenvectors together.

    Parameters
    ----------
    kernel : str, default='rbf'
        Name of a kernel of points.
    {gamma}
    degree : float, default=3
        Of the kernel 'poly'.
    coef0 : float, default=1.0
        Of the kernels 'poly' and 'sigmoid'.
    C : float, default=10.0
        Weight > 0 of the loss between f and g at every point.
    lam : float, default=100.0
        Weight lambda > 0 of the labels in g.
    mu : float, default=1.0
        Weight >= 0 of the smoothness of g on the graph.
    n_eigenvectors : int, default=100
        g is sought in the span of so many eigenvectors of the graph's Laplacian.
    graph : KNNGraph or None, default=None
        The graph: metric 'euclidean', weights 'heat' or 'binary'. None is the default one of the
        estimator without Dask.
    space : Landmarks or 'auto', default='auto'
        Landmarks of f, drawn from a sample; 'auto' is ``Landmarks()``.
    fit_intercept : bool, default=True
        Whether f has an unregularised bias.
    client : distributed.Client or None, default=None
        The cluster; None is the current client. It is never pickled with the estimator.

    Attributes
    ----------
    transduction_ : dask.array.Array of shape (n_samples,)
        Predicted value of every training point by g, in the chunks of X, computed when asked for.
    virtual_labels_ : dask.array.Array of shape (n_samples, n_columns)
        g.
    alpha_ : ndarray of shape (n_landmarks, n_columns)
        Expansion coefficients of f.
    intercept_ : ndarray of shape (n_columns,)
        Bias of each column.
    X_fit_ : ndarray of shape (n_landmarks, n_features)
        The landmarks.
    {kernel_}
    {eigenvalues_}
    {objective_}
    {optimality_}
    {solver_}
    {status_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    lapwing.LapERLSRegressor : The same in memory, with the objective and its source.

    Notes
    -----
    Rows that are equal are points of their own, where `LapERLSRegressor` takes them as one.
    """

    _engine = EmbeddedRegressorEngine
    _local = LapERLSRegressor
    _lazy = ("transduction_", "virtual_labels_")

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        C: float = 10.0,
        lam: float = 100.0,
        mu: float = 1.0,
        n_eigenvectors: int = 100,
        graph: Any = None,
        space: Any = "auto",
        fit_intercept: bool = True,
        client: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.C = C
        self.lam = lam
        self.mu = mu
        self.n_eigenvectors = n_eigenvectors
        self.graph = graph
        self.space = space
        self.fit_intercept = fit_intercept
        self.client = client

    def _answers(self, values: Tall) -> Mapping[str, Any]:
        return {**super()._answers(values), "virtual_labels_": lazily(values)}
