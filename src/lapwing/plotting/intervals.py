"""Prediction intervals of numbers."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from lapwing._parameters import is_number, parameters
from lapwing._rows.base import PointsLike
from lapwing.classes.labels import as_targets
from lapwing.plotting.drawing import (
    PALE,
    PALETTE,
    LegendDisplay,
    add_legend,
    ink_of,
    label_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@parameters
class PredictionIntervalDisplay(LegendDisplay):
    """Prediction intervals of rows, with the true values where they are known.

    Create it with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    y_pred : ndarray of shape (n,)
        Predicted values.
    lower, upper : ndarray of shape (n,)
        Ends of the intervals.
    y_true : ndarray of shape (n,)
        True values, NaN where unknown.
    held : float
        Fraction of the known true values that lie in their intervals; NaN if none is known.
    x : ndarray of shape (n,), default=None
        Values for the horizontal axis; None: the predicted values.
    coverage : float, default=None
        Nominal coverage of the intervals, if known.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The Axes of the plot.
    figure_ : matplotlib Figure
        Its figure.
    intervals_ : matplotlib LineCollection
        The intervals.
    line_ : matplotlib Line2D
        The predicted values.
    points_ : matplotlib Line2D
        True values within their intervals.
    missed_ : matplotlib Line2D
        True values outside of their intervals.

    See Also
    --------
    sklearn.metrics.PredictionErrorDisplay : Predicted against true values, without intervals.

    Examples
    --------
    >>> from lapwing.plotting import PredictionIntervalDisplay
    >>> interval = [[0.0, 2.0], [1.0, 3.0], [2.0, 4.0]]
    >>> display = PredictionIntervalDisplay.from_predictions(
    ...     [1.5, 3.5, None], y_pred=[1.0, 2.0, 3.0], y_interval=interval
    ... )
    >>> display.held
    0.5
    """

    _: KW_ONLY
    y_pred: NDArray[Any]
    lower: NDArray[Any]
    upper: NDArray[Any]
    y_true: NDArray[Any]
    held: float
    x: NDArray[Any] | None = None
    coverage: float | None = None

    _SIZE = (6.0, 4.6)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: PointsLike,
        y: ArrayLike | None = None,
        *,
        coverage: float = 0.9,
        x: ArrayLike | None = None,
        ax: Axes | None = None,
        title: str | None = None,
        legend: bool = True,
    ) -> Self:
        """Draw the intervals that a fitted regression predicts.

        Parameters
        ----------
        estimator : regression
            Fitted, with `predict_interval`.
        X : {array-like, sparse matrix, dataframe} of shape (n, n_features)
            Rows.
        y : array-like of shape (n,), default=None
            Their true values, missing where unknown. Rows outside of the fit show the coverage that
            new rows have.
        coverage : float, default=0.9
            Probability, between 0 and 1.
        x : array-like of shape (n,), default=None
            Values for the horizontal axis, a column of X say. None: the predicted values.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a new figure of pyplot.
        title : str, default=None
            Title of the Axes.
        legend : bool, default=True
            Whether to explain the signs.

        Returns
        -------
        PredictionIntervalDisplay
            The display.

        Raises
        ------
        ValueError
            If the estimator has no `predict_interval`, or as for it and `from_predictions`.
        ImportError
            If matplotlib is not installed.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "predict_interval"):
            raise ValueError(
                f"{type(estimator).__name__} has no predict_interval. Give predictions and their "
                "intervals to PredictionIntervalDisplay.from_predictions."
            )
        return cls.from_predictions(
            y,
            y_pred=estimator.predict(X),
            y_interval=estimator.predict_interval(X, coverage=coverage),
            coverage=coverage,
            x=x,
            ax=ax,
            title=title,
            legend=legend,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None = None,
        *,
        y_pred: ArrayLike,
        y_interval: ArrayLike,
        coverage: float | None = None,
        x: ArrayLike | None = None,
        ax: Axes | None = None,
        title: str | None = None,
        legend: bool = True,
    ) -> Self:
        """Draw given intervals.

        Parameters
        ----------
        y_true : array-like of shape (n,), default=None
            True values, missing where unknown.
        y_pred : array-like of shape (n,)
            Predicted values.
        y_interval : array-like of shape (n, 2)
            Lower and upper ends.
        coverage : float, default=None
            Nominal coverage of the intervals, for the legend.
        x : array-like of shape (n,), default=None
            Values for the horizontal axis. None: the predicted values.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a new figure of pyplot.
        title : str, default=None
            Title of the Axes.
        legend : bool, default=True
            Whether to explain the signs.

        Returns
        -------
        PredictionIntervalDisplay
            The display.

        Raises
        ------
        ValueError
            If shapes do not match, a lower end lies above its upper one, or `coverage` is no
            probability.
        ImportError
            If matplotlib is not installed.
        """
        pred, ends = np.asarray(y_pred, dtype=float), np.asarray(y_interval, dtype=float)
        if pred.ndim != 1 or ends.shape != (len(pred), 2):
            raise ValueError(
                f"y_pred has shape {pred.shape} and y_interval {ends.shape}: give n values, and a "
                "lower and an upper end for each, of shape (n, 2)."
            )
        crossed = np.flatnonzero(ends[:, 0] > ends[:, 1])
        if len(crossed):
            raise ValueError(
                f"The lower end of row {crossed[0]} of y_interval, {ends[crossed[0], 0]:g}, lies "
                "above its upper one. The first column holds the lower ends."
            )
        true = np.full(len(pred), np.nan) if y_true is None else as_targets(y_true)
        across = None if x is None else np.asarray(x, dtype=float)
        check_consistent_length(pred, true, across)
        if across is not None and across.ndim != 1:
            raise ValueError(f"x has shape {across.shape}: give one value for each row.")
        if coverage is not None and not (is_number(coverage) and 0 < coverage < 1):
            raise ValueError(f"coverage={coverage!r} must be a number between 0 and 1, or None.")
        known = ~np.isnan(true)
        inside = within(ends[known, 0], ends[known, 1], true[known])
        display = cls(
            y_pred=pred,
            lower=ends[:, 0],
            upper=ends[:, 1],
            y_true=true,
            held=float(inside.mean()) if len(inside) else float("nan"),
            x=across,
            coverage=coverage,
        )
        return display.plot(ax, title=title, legend=legend)

    def _draw(self, axes: Axes, title: str | None) -> None:
        x = self.y_pred if self.x is None else self.x
        order, inside = np.argsort(x, kind="stable"), within(self.lower, self.upper, self.y_true)
        missed = ~inside & ~np.isnan(self.y_true)
        asked = "interval" if self.coverage is None else f"{self.coverage:.0%} interval"
        self.intervals_ = axes.vlines(
            x, self.lower, self.upper, colors=PALE, linewidth=1.2, alpha=0.5, zorder=1, label=asked
        )
        (self.line_,) = axes.plot(
            x[order], self.y_pred[order], color=ink_of(axes), linewidth=1.2, label="predicted",
            zorder=2,
        )  # fmt: skip
        sign: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 4, "zorder": 3}
        (self.points_,) = axes.plot(
            x[inside], self.y_true[inside], color=PALETTE[0], label=f"within ({self.held:.0%})",
            **sign,
        )  # fmt: skip
        (self.missed_,) = axes.plot(
            x[missed], self.y_true[missed], color=PALETTE[1], label="outside", **sign
        )
        value = "Value" if np.isnan(self.held) else "True value"
        label_axes(axes, "Predicted value" if self.x is None else "x", value, title)

    def _explain(self, axes: Axes) -> None:
        shown = [self.intervals_, self.line_]
        shown += [] if np.isnan(self.held) else [self.points_, self.missed_]
        add_legend(axes, shown, beside="labels")


def within(lower: NDArray[Any], upper: NDArray[Any], y_true: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether the true value of each row is known and lies in its interval."""
    return np.asarray((lower <= y_true) & (y_true <= upper))
