"""Warnings about points, labels and weights that a fit would take as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms

from lapwing._arrays import Array, is_sparse
from lapwing._host.warn import called_by, warn
from lapwing._rows import blocks_of, is_rows, moments_of
from lapwing.estimators.diagnostics.graph import LISTED
from lapwing.exceptions import (
    FeatureScaleWarning,
    FewLabelsWarning,
    LapwingWarning,
    OutlierWarning,
    UnlabeledMarkerWarning,
)
from lapwing.linalg import center_of, largest_value, shifted

_SCALE_RATIO = 1e4
# A row that multiplies the variance by less leaves answers as they are (digits, iris, wine, breast
# cancer and g50c with one row moved off); on the field's data sets the rows farthest off make it
# 1.2 times as large, on Cauchy-distributed features 100 times.
_OUTLYING = 30
# Of the way to a margin. On g50c and Digit1 errors rise where it is below 0.1.
_REACHED = 0.5


def warn_doubt(doubt: LapwingWarning | None) -> None:
    """Warn of how y was read, if there is anything to tell."""
    if doubt is not None:
        warn(str(doubt), type(doubt))


def warn_calibrated_marker(n_unlabeled: int) -> None:
    """Warn if scikit-learn's calibration hands on unlabelled rows.

    It looks at the marker only after the fits, and no estimator is asked then.
    """
    if n_unlabeled and called_by("sklearn.calibration"):
        warn(
            f"CalibratedClassifierCV hands on y with {n_unlabeled} unlabelled rows and counts "
            "their marker as one more class. Fit this estimator itself, and then "
            "CalibratedClassifierCV(FrozenEstimator(model)) on labelled rows that it did not know.",
            UnlabeledMarkerWarning,
        )


def warn_feature_scales(X: Any, names: Array | None = None) -> None:
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
            f"range {ranges[large]:.3g}, feature {label(small)} {ranges[small]:.3g}. Distances see "
            "only the largest. Standardise first, e.g. "
            "make_pipeline(StandardScaler(), LapSVC()).",
            FeatureScaleWarning,
        )


def _ranges(X: Any) -> Array:
    if is_rows(X):
        moments = moments_of(X)
        return np.asarray(moments.high - moments.low)
    return np.asarray(np.ptp(X, axis=0))


def warn_outlying_rows(X: Any) -> None:
    """Warn if a few rows, at most 1 % (of few rows, 3), multiply the variance of all by over 30."""
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
        f"{squared.mean() / others:.2g} times as large (rows count from 0). Kernel and graph take "
        "their width from it, so the other rows look alike to them. Look for wrong values (a unit, "
        "a number that stands for 'missing'): mend or leave out such rows, or limit their values, "
        "e.g. make_pipeline(QuantileTransformer(), LapSVC()).",
        OutlierWarning,
    )


def warn_nothing_held_out(regression: bool) -> None:
    """Warn that there are too few labels for leave-one-out, so that nothing was chosen."""
    rows = "one row is" if regression else "some class has one label only: no row of it is"
    warn(
        f"No parameters were chosen: {rows} left to fit to if one label is left out. The usual "
        "ones are in best_params_. Label at least two rows"
        f"{'' if regression else ' of every class'}.",
        FewLabelsWarning,
    )


def warn_unreached_margins(reach: float, C: float) -> None:
    """Warn if no decision value comes near a margin, whatever the labels.

    Parameters
    ----------
    reach : float
        What all labels together can move a decision value by.
    C : float
    """
    if reach < _REACHED:
        warn(
            f"C={C:g} is too small for features of this size: labels move decision values by "
            f"{reach:.2g} at most, and are to be fitted at -1 and 1. "
            "Standardise the features, e.g. make_pipeline(StandardScaler(), S3VC('linear')), or "
            f"use a larger C, such as {10 * C / max(reach, 1e-300):.0e}.",
            FeatureScaleWarning,
        )


def check_target_scale(targets: Array, weights: Array, dtype: Any) -> None:
    """Refuse targets whose weighted squares overflow, or that a precision does not hold."""
    with np.errstate(over="ignore"):
        finite = bool(np.isfinite(weights @ targets**2).all())
    largest = float(np.abs(targets).max())
    if not finite or largest > float(np.finfo(dtype).max) / 1e3:
        raise ValueError(
            f"y holds values up to {largest:.3g}, whose squares times lam (or which themselves in "
            f"{np.dtype(dtype)}) overflow. Scale y to about one."
        )


def check_linear_scale(X: Any) -> None:
    """Refuse points whose dot products overflow, or underflow."""
    largest, info = largest_value(X), np.finfo(X.dtype)
    highest = float(np.sqrt(info.max / X.shape[1]))
    lowest = float(np.sqrt(info.tiny / info.eps))  # a digit less is lost to numbers below tiny
    if not largest <= highest or 0 < largest < lowest:
        what = "underflow" if largest < lowest else "overflow"
        raise ValueError(
            f"X holds values up to {largest:.3g}, whose dot products {what} {X.dtype}. Scale the "
            "features, e.g. by StandardScaler."
        )
