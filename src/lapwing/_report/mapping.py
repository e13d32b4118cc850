"""The map: where in the plane each row is drawn, and which rows are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError
from sklearn.decomposition import PCA

from lapwing._arrays import is_sparse
from lapwing._report.text import clean, percent

MAP_WIDTH = 720
MAP_HEIGHTS = (320, 560)
_PAD = 26
_FITTED = 20_000  # two directions of the plane need no more rows, and a copy of X is saved
_COVARIANCE_COLUMNS = 1000
_LABELED_DRAWN = 300
_OUTLIERS_FROM = 200


def choose_rows(
    labeled: NDArray[np.bool_], most: int, listed: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Choose at most `most` rows to draw; the same for the same mask.

    Those that the page lists come first, then labelled ones.
    """
    n = len(labeled)
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng(0)
    listed = np.zeros(0, dtype=np.intp) if listed is None else listed[: most // 2]
    known = np.setdiff1d(np.flatnonzero(labeled), listed)
    free = np.setdiff1d(np.flatnonzero(~labeled), listed)
    room = min(most - len(listed), _LABELED_DRAWN)
    if len(known) > room:
        known = rng.choice(known, room, replace=False)
    free = rng.choice(free, min(len(free), most - len(known) - len(listed)), replace=False)
    return np.sort(np.concatenate([listed, known, free]))


def place(
    X: Any, drawn: NDArray[np.intp], embedding: Any = None, names: Any = None
) -> dict[str, Any]:
    """Give the rows `drawn` their places, in tenths of the picture's units, and name the axes."""
    if embedding is None:
        points, axes, method = principal_plane(X, drawn)
    else:
        plane = np.asarray(embedding, dtype=np.float64)
        if plane.shape != (X.shape[0], 2) or not np.isfinite(plane).all():
            raise ValueError(
                f"embedding must be two columns of finite numbers for the {X.shape[0]} rows, not "
                f"of shape {plane.shape}; fill in missing ones."
            )
        points, method = plane[drawn], "your columns"
        axes = [clean(name) for name in names or ("first", "second")]
    low, high = points.min(axis=0), points.max(axis=0)
    if len(points) >= _OUTLIERS_FROM:
        # One far point would press all others into a corner: it is drawn at the border instead.
        inner_low, inner_high = np.quantile(points, [0.005, 0.995], axis=0)
        reach = 0.15 * (inner_high - inner_low)
        low, high = np.maximum(low, inner_low - reach), np.minimum(high, inner_high + reach)
    outside = int(((points < low) | (points > high)).any(axis=1).sum())
    span = np.where(high > low, high - low, 1.0)
    # One scale for both axes, as distances are what the method sees, unless the map were a strip.
    wanted = (MAP_WIDTH - 2 * _PAD) * span[1] / span[0] + 2 * _PAD
    height = int(np.clip(wanted, *MAP_HEIGHTS))
    share = (np.clip(points, low, high) - low) / span
    share[:, high <= low] = 0.5
    x = _PAD + share[:, 0] * (MAP_WIDTH - 2 * _PAD)
    y = height - _PAD - share[:, 1] * (height - 2 * _PAD)
    return {
        "x": np.rint(10 * x).astype(int).tolist(),
        "y": np.rint(10 * y).astype(int).tolist(),
        "height": height,
        "axes": axes,
        "method": method,
        "outside": outside,
        "shown": len(drawn),
        "total": int(X.shape[0]),
    }


def principal_plane(X: Any, drawn: NDArray[np.intp]) -> tuple[NDArray[np.float64], list[str], str]:
    """Give the rows `drawn` their places on two directions of all rows, and name these."""
    n, p = X.shape
    if p == 1:
        values = _dense(X[drawn]).ravel()
        return np.column_stack([values, np.zeros(len(values))]), ["the feature", ""], "the feature"
    sample = X
    if n > _FITTED:
        sample = X[np.sort(np.random.default_rng(0).choice(n, _FITTED, replace=False))]
    if min(sample.shape) <= 2:
        sample = _dense(sample)  # the sparse solver finds fewer directions than there are
    solver = "auto"
    if is_sparse(sample):
        # ARPACK needs no p x p matrix, but cannot start on rows that are all equal.
        solver = "covariance_eigh" if p <= _COVARIANCE_COLUMNS else "arpack"
    try:
        # Rows that are all equal have no variance to explain a share of.
        with np.errstate(all="ignore"):
            pca = PCA(2, svd_solver=solver, random_state=0).fit(sample)
    except ArpackError:
        return np.zeros((len(drawn), 2)), ["", ""], "principal components"
    chosen = X[drawn] if is_sparse(sample) else _dense(X[drawn])
    points = np.asarray(pca.transform(chosen), dtype=np.float64)
    shares = np.nan_to_num(pca.explained_variance_ratio_)
    axes = [
        f"{place} principal component ({percent(float(share))} of the variance)"
        for place, share in zip(("first", "second"), shares, strict=True)
    ]
    return points, axes, "principal components"


def _dense(X: Any) -> NDArray[Any]:
    return np.asarray(X.toarray() if is_sparse(X) else X)
