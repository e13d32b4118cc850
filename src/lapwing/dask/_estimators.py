"""The estimators for clusters: parameters and documentation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any

from lapwing._parameters import parameters
from lapwing.classes.volumes import PriorLike
from lapwing.dask._base import DaskClassifier, DaskRegressor
from lapwing.dask._baselines import AnchorEngine, EigenfunctionEngine
from lapwing.dask._embedded import EmbeddedClassifierEngine, EmbeddedRegressorEngine
from lapwing.dask._low_density import LowDensityEngine
from lapwing.estimators import (
    S3VC,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    LapERLSClassifier,
    LapERLSRegressor,
    LapSVC,
)
from lapwing.estimators._docs import document
from lapwing.estimators.parameters import KernelParameters
from lapwing.graphs import AnchorGraph
from lapwing.graphs.base import GraphLike
from lapwing.losses.base import Loss, UnlabeledLoss


@parameters
@document(AnchorGraphClassifier)
class DaskAnchorGraphClassifier(DaskClassifier):
    """Classifier by anchor graph regularisation, of points on a Dask cluster.

    The distributed version of `AnchorGraphClassifier`: anchors are computed from a sample of the
    points, their weights stay on the workers, and the client solves a linear system in the anchors.

    Parameters
    ----------
    {graph}
    {gamma_I}
    {class_mass_normalization}
    {class_prior}
    {unlabeled}
    client : distributed.Client or None, default=None
        Client of the cluster; None is the current client. It is not pickled with the estimator.

    Attributes
    ----------
    {classes_}
    {unlabeled_}
    transduction_ : dask.array.Array of shape (n_samples,)
        Predicted class of every training point, as a lazy array with the chunks of X.
    transduction_proba_ : dask.array.Array of shape (n_samples, n_classes)
        Their class probabilities.
    {alpha_}
    {intercept_}
    {anchors_}
    {objective_}
    {class_prior_}
    {class_offsets_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    lapwing.AnchorGraphClassifier : The in-memory estimator, with objective and source.

    Notes
    -----
    Equal rows are separate points; `AnchorGraphClassifier` merges them.
    """

    _engine = AnchorEngine
    _local = AnchorGraphClassifier

    graph: AnchorGraph | None = None
    _: KW_ONLY
    gamma_I: float = 0.1
    class_mass_normalization: bool = True
    class_prior: PriorLike = None


@parameters
@document(EigenfunctionClassifier, DaskAnchorGraphClassifier)
class DaskEigenfunctionClassifier(DaskClassifier):
    """Classifier by eigenfunctions of the density's smoothness operator, on a Dask cluster.

    The distributed version of `EigenfunctionClassifier`: moments, quantiles and histograms of the
    points are summed on the workers, and the client solves a linear system in the eigenfunctions.

    Parameters
    ----------
    {n_eigenfunctions}
    {n_components}
    {n_bins}
    {bandwidth}
    {clip}
    {lam}
    {class_weight}
    {class_prior}
    {unlabeled}
    {client}

    Attributes
    ----------
    {classes_}
    {unlabeled_}
    {DaskAnchorGraphClassifier.transduction_}
    {DaskAnchorGraphClassifier.transduction_proba_}
    {alpha_}
    {intercept_}
    {eigenfunctions_}
    {objective_}
    {class_prior_}
    {class_offsets_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    lapwing.EigenfunctionClassifier : The in-memory estimator, with objective and source.

    Notes
    -----
    Equal rows are separate points; `EigenfunctionClassifier` merges them.
    """

    _engine = EigenfunctionEngine
    _local = EigenfunctionClassifier

    n_eigenfunctions: int | None = None
    _: KW_ONLY
    n_components: int = 64
    n_bins: int = 100
    bandwidth: float | None = None
    clip: float = 0.025
    lam: float = 100.0
    class_weight: Mapping[Any, float] | str | None = None
    class_prior: PriorLike = None


@parameters
@document(S3VC, LapSVC, DaskAnchorGraphClassifier)
class DaskS3VC(DaskClassifier):
    """Linear semi-supervised support vector machine, of points on a Dask cluster.

    The distributed version of ``S3VC(kernel='linear', multi_class='ovr')``: every evaluation of the
    objective and its gradient is one pass over X on the workers.

    Parameters
    ----------
    {C}
    {C_star}
    {s3vc_loss}
    unlabeled_loss : UnlabeledLoss or str, default='auto'
        Differentiable loss on unlabelled scores; 'auto' is the default loss of the method.
    {s}
    method : {'gradient', 'quasi-newton'}, default='gradient'
        As in `S3VC`, whose other methods store a number for each unlabelled point.
    {balance}
    {fit_intercept}
    {tol}
    {max_iter}
    {class_weight}
    {unlabeled}
    {client}

    Attributes
    ----------
    {classes_}
    {unlabeled_}
    {DaskAnchorGraphClassifier.transduction_}
    {DaskAnchorGraphClassifier.transduction_proba_}
    coef_ : ndarray of shape (n_columns, n_features)
        Weights.
    {intercept_}
    {objective_}
    {LapSVC.n_iter_}
    {status_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    lapwing.S3VC : The in-memory estimator, with objective and sources.

    Notes
    -----
    Equal rows are separate points; `S3VC` merges them into one point with the sum of their weights,
    which has the same solution.
    """

    _engine = LowDensityEngine
    _local = S3VC
    _fixed = {"kernel": "linear", "multi_class": "ovr"}  # noqa: RUF012

    _: KW_ONLY
    C: float = 100.0
    C_star: float | None = None
    loss: Loss | str = "hinge"
    unlabeled_loss: UnlabeledLoss | str = "auto"
    s: float = 3.0
    method: str = "gradient"
    balance: Any = "labels"
    fit_intercept: bool = True
    tol: float = 1e-4
    max_iter: int = 20_000
    class_weight: Mapping[Any, float] | str | None = None


@parameters
class LandmarkParameters(KernelParameters):
    """Parameters of embedded regression with landmarks, for classes and for numbers."""

    kernel: str = "rbf"
    _: KW_ONLY
    gamma: float | str = "scale"
    C: float = 10.0
    graph: GraphLike = None
    space: Any = "auto"


@parameters
@document(LapERLSClassifier, DaskAnchorGraphClassifier)
class DaskLapERLSClassifier(LandmarkParameters, DaskClassifier):
    """Laplacian embedded regularised least squares classifier, of points on a Dask cluster.

    The distributed version of `LapERLSClassifier` with landmarks: points are moved to the blocks of
    their neighbours, a product with the Laplacian transfers the rows at the borders of blocks, and
    the client solves a linear system in the landmarks and eigenvectors.

    Parameters
    ----------
    kernel : str, default='rbf'
        Name of a kernel of points.
    {gamma}
    {degree}
    {coef0}
    {C}
    {lam}
    {mu}
    n_eigenvectors : int or 'auto', default='auto'
        Number of eigenvectors of the graph's Laplacian that span g.
    graph : KNNGraph, AffinityGraph, sparse matrix or None, default=None
        `KNNGraph` with metric 'euclidean' and weights 'heat' or 'binary', or `AffinityGraph` of a
        sparse matrix or a Dask array of sparse row chunks. None is the default of the in-memory
        estimator.
    space : Landmarks or 'auto', default='auto'
        Landmarks of f, drawn from a sample; 'auto' is ``Landmarks()``.
    {fit_intercept}
    {class_weight}
    {class_prior}
    {unlabeled}
    {client}

    Attributes
    ----------
    {classes_}
    {unlabeled_}
    transduction_ : dask.array.Array of shape (n_samples,)
        Predicted class of every training point by g, as a lazy array with the chunks of X.
    {DaskAnchorGraphClassifier.transduction_proba_}
    virtual_labels_ : dask.array.Array of shape (n_samples, n_columns)
        Values of g at the training points.
    alpha_ : ndarray of shape (n_landmarks, n_columns)
        Expansion coefficients of f.
    {intercept_}
    X_fit_ : ndarray of shape (n_landmarks, n_features)
        The landmarks.
    {kernel_}
    {eigenvalues_}
    {objective_}
    {optimality_}
    {solver_}
    {status_}
    {class_prior_}
    {class_offsets_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    lapwing.LapERLSClassifier : The in-memory estimator, with objective and source.

    Notes
    -----
    Equal rows are separate points; `LapERLSClassifier` merges them.
    """

    _engine = EmbeddedClassifierEngine
    _local = LapERLSClassifier
    _lazy = ("transduction_", "transduction_proba_", "virtual_labels_")

    _: KW_ONLY
    lam: float = 1e4
    mu: float = 1e4
    n_eigenvectors: int | str = "auto"
    class_weight: Mapping[Any, float] | str | None = None
    class_prior: PriorLike = None


@parameters
@document(DaskLapERLSClassifier, LapERLSRegressor)
class DaskLapERLSRegressor(LandmarkParameters, DaskRegressor):
    """Laplacian embedded regularised least squares regression, of points on a Dask cluster.

    The distributed version of `LapERLSRegressor` with landmarks: points are moved to the blocks of
    their neighbours, a product with the Laplacian transfers the rows at the borders of blocks, and
    the client solves a linear system in the landmarks and eigenvectors.

    Parameters
    ----------
    {kernel}
    {gamma}
    {degree}
    {coef0}
    {C}
    {LapERLSRegressor.lam}
    {LapERLSRegressor.mu}
    n_eigenvectors : int, default=100
        Number of eigenvectors of the graph's Laplacian that span g.
    {graph}
    {space}
    {LapERLSRegressor.fit_intercept}
    {client}

    Attributes
    ----------
    transduction_ : dask.array.Array of shape (n_samples,)
        Predicted value of every training point by g, as a lazy array with the chunks of X.
    {virtual_labels_}
    {alpha_}
    {intercept_}
    {X_fit_}
    {kernel_}
    {eigenvalues_}
    {objective_}
    {left_out_residuals_}
    {left_out_coef_}
    {left_out_intercept_}
    {optimality_}
    {solver_}
    {status_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    lapwing.LapERLSRegressor : The in-memory estimator, with objective and source.

    Notes
    -----
    Equal rows are separate points; `LapERLSRegressor` merges them.
    """

    _engine = EmbeddedRegressorEngine
    _local = LapERLSRegressor
    _lazy = ("transduction_", "virtual_labels_")

    _: KW_ONLY
    lam: float = 100.0
    mu: float = 1.0
    n_eigenvectors: int = 100
    fit_intercept: bool = True
