"""Checks of the inputs of a fit: labels, features, kernels, and the time it will take."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms

from lapwing._arrays import Array, is_sparse
from lapwing._host.warn import called_by, warn
from lapwing._rows.base import PointData, Rows, blocks_of, is_rows, moments_of
from lapwing.classes.markers import plain
from lapwing.exceptions import (
    FeatureScaleWarning,
    LapwingWarning,
    LongFitWarning,
    OutlierWarning,
    RowOrderWarning,
    UnlabeledMarkerWarning,
)
from lapwing.kernels import Kernel
from lapwing.linalg import (
    MOST_DECOMPOSED,
    asymmetry_of,
    center_of,
    extreme_eigenvalues,
    largest_value,
    shifted,
    spread_rows,
)

LISTED = 5  # rows that a warning names
# The smaller of two such features adds 1e-8 of the larger to squared distances, below the precision
# of float32.
_SCALE_RATIO = 1e4
# A row that multiplies the variance by less does not change predictions (digits, iris, wine, breast
# cancer and g50c with one row moved away). The factor of the most distant rows is 1.2 on the usual
# data sets, and 100 for Cauchy-distributed features.
_OUTLYING = 30
_SYMMETRY = 1e-5  # relative: float32 kernels of other programs are symmetric to 1e-6 or so
_NEGATIVITY = 1e-5  # of the largest eigenvalue; rounding errors of float32 kernels are up to 1e-8
LONG = 120.0  # seconds from which a warning announces the time of a fit


def warn_labels(warning: LapwingWarning | None) -> None:
    """Issue the warning about how y was read, if there is one."""
    if warning is not None:
        warn(str(warning), type(warning))


def warn_row_order(X: Any, y: Any) -> None:
    """Warn if two pandas objects have the same index in different orders."""
    if not all(type(given).__module__.startswith("pandas") for given in (X, y)):
        return
    if not hasattr(y, "index"):  # a categorical, an array or an index
        return
    mine, its = X.index, y.index
    if len(mine) != len(its) or mine.nlevels != its.nlevels or mine.equals(its):
        return
    if not mine.isin(its).all():
        return
    place = int(np.flatnonzero(mine != its)[0])
    warn(
        "X and y have the same index in different orders, and their rows are taken in order: row "
        f"{place} is {plain(mine[place])!r} in X and {plain(its[place])!r} in y. If the index says "
        "which label belongs to which row, give y.loc[X.index]; if the order does, y.to_numpy().",
        RowOrderWarning,
    )


def warn_calibrated_marker(n_unlabeled: int) -> None:
    """Warn if scikit-learn's calibration passes unlabelled rows.

    It looks at the marker only after the fits, and no estimator is asked then.
    """
    if n_unlabeled and called_by("sklearn.calibration"):
        warn(
            f"CalibratedClassifierCV passes on y with {n_unlabeled} unlabelled rows and counts "
            "their marker as one more class. Fit this estimator itself, and then "
            "CalibratedClassifierCV(FrozenEstimator(model)) on labelled rows that it did not know.",
            UnlabeledMarkerWarning,
        )


def warn_feature_scales(X: PointData, names: Array | None = None) -> None:
    """Warn if the ranges of two dense features differ by more than 1e4.

    Ranges and not standard deviations: a pixel that is lit in one image of many has a tiny
    deviation and the same scale as the others.
    """
    if is_sparse(X) or X.shape[1] < 2:
        return
    ranges = _ranges(X).astype(np.float64)
    varying = np.flatnonzero(ranges > 0)
    if len(varying) < 2:
        return
    small = varying[np.argmin(ranges[varying])]
    large = varying[np.argmax(ranges[varying])]
    if ranges[large] / _SCALE_RATIO > ranges[small]:
        label = (lambda j: repr(str(names[j]))) if names is not None else str
        warn(
            f"Features differ in scale by more than {_SCALE_RATIO:g}: feature {label(large)} has "
            f"range {ranges[large]:.3g}, feature {label(small)} {ranges[small]:.3g}. Distances "
            "depend on the largest only. Standardise first, e.g. "
            "make_pipeline(StandardScaler(), LapSVC()).",
            FeatureScaleWarning,
        )


def _ranges(X: Array | Rows) -> Array:
    if is_rows(X):
        moments = moments_of(X)
        return np.asarray(moments.high - moments.low)
    return np.asarray(np.ptp(X, axis=0))


def warn_outlying_rows(X: PointData) -> None:
    """Warn if a few rows, at most 1 % or 3, multiply the variance of all by over 30."""
    n = X.shape[0]
    few = min(max(3, n // 100), n // 10)
    if few == 0:
        return
    center = center_of(X)
    squared = np.empty(n)
    for rows, points in blocks_of(X, 8 * X.shape[1]):
        with np.errstate(over="ignore"):
            squared[rows] = row_norms(shifted(points, center), squared=True)
    far = np.argsort(-squared, kind="stable")[:few]
    others = float(np.delete(squared, far).mean())
    if not 0 < others * _OUTLYING < squared.mean():
        return
    far = np.sort(far[squared[far] > _OUTLYING * others])
    listed = ", ".join(map(str, far[:LISTED])) + (", ..." if len(far) > LISTED else "")
    what, they = ("Row {} lies", "it makes") if len(far) == 1 else ("Rows {} lie", "they make")
    warn(
        f"{what.format(listed)} so far from all others that {they} the variance of X "
        f"{squared.mean() / others:.2g} times as large (rows count from 0). Kernel and graph "
        "derive their widths from it, so they hardly distinguish the other rows. Look for wrong "
        "values (a unit, a code for missing values): correct or drop such rows, or limit their "
        "values, e.g. make_pipeline(QuantileTransformer(), LapSVC()).",
        OutlierWarning,
    )


def check_target_scale(targets: Array, weights: Array, dtype: np.dtype[Any]) -> None:
    """Raise ValueError for targets that overflow, squared and weighed, or exceed the precision."""
    with np.errstate(over="ignore"):
        finite = bool(np.isfinite(weights @ targets**2).all())
    largest = float(np.abs(targets).max())
    if not finite or largest > float(np.finfo(dtype).max) / 1e3:
        raise ValueError(
            f"y contains values up to {largest:.3g}, whose squares times lam (or which themselves "
            f"in {np.dtype(dtype)}) overflow. Scale y to about one."
        )


def check_linear_scale(X: PointData) -> None:
    """Raise ValueError for points whose dot products overflow or underflow."""
    largest, info = largest_value(X), np.finfo(X.dtype)
    highest = float(np.sqrt(info.max / X.shape[1]))
    lowest = float(np.sqrt(info.tiny / info.eps))  # smaller products lose digits
    if not largest <= highest or 0 < largest < lowest:
        what = "underflow" if largest < lowest else "overflow"
        raise ValueError(
            f"X contains values up to {largest:.3g}, whose dot products {what} {X.dtype}. Scale "
            "the features, e.g. by StandardScaler."
        )


def check_kernel_matrix(K: Any, name: str) -> None:
    """Raise ValueError for a kernel matrix that is not symmetric positive semi-definite.

    Small matrices are decomposed. Of larger ones the diagonal, the Ritz values of a short Lanczos
    run and (beyond n = 5600) a sample of the entries are checked: as Ritz values lie between the
    extreme eigenvalues, an error is always right, but some indefinite matrices pass. A
    factorisation would cost as much as the fit.
    """
    asymmetry, size = asymmetry_of(K)
    if not np.isfinite(size):
        raise ValueError(
            f"{name} holds NaN or infinite values. Use a kernel, and parameters of it, that are "
            "defined for all points."
        )
    if asymmetry > _SYMMETRY * size:
        raise ValueError(
            f"{name} must be a symmetric kernel matrix: K[i, j] and K[j, i] differ by up to "
            f"{asymmetry:.3g}. If this is rounding, pass (K + K.T) / 2."
        )
    least, largest = extreme_eigenvalues(K)
    if least < -_NEGATIVITY * max(largest, 0.0) or largest < 0:
        raise ValueError(
            f"{name} must be a positive semi-definite kernel matrix: it has an eigenvalue of at "
            f"most {least:.3g} (the largest is {largest:.3g}), so it is not a kernel. Use a kernel "
            "that is positive semi-definite, or clip the negative eigenvalues first."
        )


def check_kernel(kernel: Kernel, X: PointData, name: str) -> None:
    """Raise ValueError for a kernel that is not positive semi-definite on a sample of the points.

    For methods that never form the matrix. All eigenvalues of the sample are computed.
    """
    if kernel.precomputed:
        return
    check_kernel_matrix(kernel.gram(spread_rows(X, MOST_DECOMPOSED)), name)


def warn_long(seconds: float, what: str, cure: str) -> None:
    """Warn before a fit takes minutes, if it will."""
    if seconds > LONG:
        warn(
            f"{what} will take about {max(2, round(seconds / 60))} minutes or more. {cure}",
            LongFitWarning,
        )
