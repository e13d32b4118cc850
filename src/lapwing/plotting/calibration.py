"""Calibration of probabilities."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from lapwing._parameters import is_number, parameters
from lapwing._rows.base import PointsLike
from lapwing.classes.markers import find_unlabeled, read_column
from lapwing.plotting.drawing import (
    PALE,
    PALETTE,
    LegendDisplay,
    as_written,
    codes_of,
    ink_of,
    label_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STRATEGIES = ("uniform", "quantile")
_BIN: Any = {"color": PALETTE[0], "linestyle": "none", "marker": "o", "zorder": 3}
_COUNT: Any = {"textcoords": "offset points", "va": "center", "fontsize": 8}
_ROUNDING = 1e-6  # float32 probabilities may be as far beyond 0 and 1


@parameters
class CalibrationDisplay(LegendDisplay):
    """Reliability diagram: observed frequencies against predicted probabilities.

    For two classes the probability is that of the second one. For more it is that of the predicted
    class, and the observed frequency is the accuracy. Create it with `from_estimator` or
    `from_predictions`.

    Parameters
    ----------
    prob_pred : ndarray of shape (n_bins,)
        Mean probability of the rows of each bin, without empty bins.
    prob_true : ndarray of shape (n_bins,)
        Observed frequency in each bin.
    counts : ndarray of int of shape (n_bins,)
        Number of rows in each bin.
    lower, upper : ndarray of shape (n_bins,)
        Bounds of Wilson's interval of the frequency ([1]_), accurate for few rows.
    subject : str
        Subject of the probability, for the axis.
    outcome : str
        Counted event, for the axis.
    expected_calibration_error : float
        Mean distance of `prob_pred` and `prob_true`, weighted by the numbers of rows.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The Axes of the plot.
    figure_ : matplotlib Figure
        Its figure.
    line_ : matplotlib Line2D
        The diagonal of perfect calibration.
    points_ : matplotlib Line2D
        The bins.
    intervals_ : matplotlib LineCollection
        The intervals of the bins.
    texts_ : list of matplotlib Text
        The number of rows in each bin.

    See Also
    --------
    sklearn.calibration.CalibrationDisplay : The same for two classes, without intervals.

    References
    ----------
    .. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
       Journal of the American Statistical Association, 1927.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.plotting import CalibrationDisplay
    >>> y = np.array(["no", "yes", "no", "yes", "yes", None])  # the last row has no label
    >>> proba = np.array([0.1, 0.1, 0.3, 0.8, 0.9, 0.5])  # that of "yes"
    >>> display = CalibrationDisplay.from_predictions(y, proba, n_bins=2)
    >>> display.counts.tolist()
    [3, 2]
    """

    _: KW_ONLY
    prob_pred: NDArray[Any]
    prob_true: NDArray[Any]
    counts: NDArray[Any]
    lower: NDArray[Any]
    upper: NDArray[Any]
    subject: str
    outcome: str
    expected_calibration_error: float

    _SIZE = (5.4, 5.0)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: PointsLike,
        y: ArrayLike,
        *,
        unlabeled: object = "auto",
        n_bins: int = 5,
        strategy: str = "uniform",
        confidence: float = 0.95,
        ax: Axes | None = None,
        title: str | None = None,
        legend: bool = True,
    ) -> Self:
        """Compare the probabilities of a fitted classifier with labels.

        Parameters
        ----------
        estimator : classifier
            Fitted, with `predict_proba`.
        X : {array-like, sparse matrix, dataframe} of shape (n, n_features)
            Rows outside of the fit, because predictions of the fit's labels are too confident.
        y : array-like of shape (n,)
            Their labels; unlabelled rows are left out.
        unlabeled : 'auto', number, str, None or NaN, default='auto'
            The marker of rows without a label in `y`.
        n_bins : int, default=5
            Number of bins.
        strategy : {'uniform', 'quantile'}, default='uniform'
            Bins of equal width, or of equal numbers of rows.
        confidence : float, default=0.95
            Confidence level of the intervals.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a new figure of pyplot.
        title : str, default=None
            Title of the Axes.
        legend : bool, default=True
            Whether to explain the signs.

        Returns
        -------
        CalibrationDisplay
            The display.

        Raises
        ------
        ValueError
            If the estimator has no `predict_proba`, or as for `from_predictions`.
        ImportError
            If matplotlib is not installed.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"{type(estimator).__name__} has no predict_proba. "
                "Give labels and probabilities to CalibrationDisplay.from_predictions."
            )
        return cls.from_predictions(
            y,
            estimator.predict_proba(X),
            classes=estimator.classes_,
            unlabeled=unlabeled,
            n_bins=n_bins,
            strategy=strategy,
            confidence=confidence,
            ax=ax,
            title=title,
            legend=legend,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        unlabeled: object = "auto",
        n_bins: int = 5,
        strategy: str = "uniform",
        confidence: float = 0.95,
        ax: Axes | None = None,
        title: str | None = None,
        legend: bool = True,
    ) -> Self:
        """Compare probabilities with labels.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels; unlabelled rows are left out.
        y_proba : array-like of shape (n,) or (n, n_classes)
            Probabilities: of the second of two classes, or of every class.
        classes : array-like of shape (n_classes,), default=None
            The classes in the order of the columns; None means those of `y_true`, sorted.
        unlabeled : 'auto', number, str, None or NaN, default='auto'
            The marker of rows without a label in `y_true`.
        n_bins : int, default=5
            Number of bins.
        strategy : {'uniform', 'quantile'}, default='uniform'
            Bins of equal width, or of equal numbers of rows.
        confidence : float, default=0.95
            Confidence level of the intervals.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a new figure of pyplot.
        title : str, default=None
            Title of the Axes.
        legend : bool, default=True
            Whether to explain the signs.

        Returns
        -------
        CalibrationDisplay
            The display.

        Raises
        ------
        ValueError
            If no row has a label, a label is not a class, shapes do not match, a probability is not
            in [0, 1], or an option is out of its range.
        ImportError
            If matplotlib is not installed.
        """
        _check_options(n_bins, strategy, confidence)
        proba = np.asarray(y_proba, dtype=float)
        labels, names = read_column(y_true), None if classes is None else np.asarray(classes)
        hidden = find_unlabeled(labels, unlabeled, names)
        if hidden.all():
            raise ValueError("No row of y_true has a label. Give the labels of some rows.")
        names = np.unique(labels[~hidden]) if names is None else names
        wanted = 2 if proba.ndim == 1 else proba.shape[-1]
        if proba.ndim not in (1, 2) or wanted != len(names):
            raise ValueError(
                f"y_proba has shape {proba.shape} and there are {len(names)} classes "
                f"({', '.join(map(str, names.tolist()))}). Give a column for each, or of two "
                "classes the probabilities of the second; name classes that no row has with "
                "classes=."
            )
        codes = codes_of(y_true, len(proba), unlabeled, names)
        if not ((proba >= -_ROUNDING) & (proba <= 1 + _ROUNDING)).all():
            raise ValueError("y_proba must hold probabilities, numbers from 0 to 1 and no NaN.")
        given, occurred, subject, outcome = _events(proba[codes >= 0], codes[codes >= 0], names)
        bins = _bins(np.clip(given, 0.0, 1.0), n_bins, strategy)
        found = observed_frequencies(given, occurred, bins, confidence, "wilson")
        distance = np.abs(found.prob_true - found.prob_pred)
        display = cls(
            **found._asdict(),
            subject=subject,
            outcome=outcome,
            expected_calibration_error=float(found.counts @ distance / found.counts.sum()),
        )
        return display.plot(ax, title=title, legend=legend)

    def _draw(self, axes: Axes, title: str | None) -> None:
        ink = ink_of(axes)
        (self.line_,) = axes.plot(
            [0, 1], [0, 1], color=PALE, linestyle="--", linewidth=1.2, label="right", zorder=1
        )
        self.intervals_ = axes.vlines(
            self.prob_pred, self.lower, self.upper, colors=PALETTE[0], linewidth=1.6, zorder=2,
            label="interval",
        )  # fmt: skip
        distance = f"bins (mean distance {self.expected_calibration_error:.1%})"
        (self.points_,) = axes.plot(
            self.prob_pred, self.prob_true, markeredgecolor=ink, label=distance, **_BIN
        )
        bins = zip(self.prob_pred, self.prob_true, self.counts.tolist(), strict=True)
        self.texts_ = []
        for x, y, n in bins:
            # Beside the interval, away from the diagonal.
            side, shift = ("left", 7) if y <= x else ("right", -7)
            words = f"{n:,} {'row' if n == 1 else 'rows'}"
            self.texts_.append(
                axes.annotate(words, (x, y), (shift, 0), ha=side, color=ink, **_COUNT)
            )
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        subject, outcome = as_written(self.subject), as_written(self.outcome)
        label_axes(axes, f"Probability of {subject}", f"Share that {outcome}", title)


class Frequencies(NamedTuple):
    """Probabilities and observed frequencies in bins, see `CalibrationDisplay`."""

    prob_pred: NDArray[Any]
    prob_true: NDArray[Any]
    counts: NDArray[Any]
    lower: NDArray[Any]
    upper: NDArray[Any]


def observed_frequencies(
    probability: NDArray[Any],
    occurred: NDArray[np.bool_],
    bins: NDArray[np.intp],
    confidence: float,
    method: Literal["exact", "wilson"],
) -> Frequencies:
    """Compare probabilities of events with their frequencies in each bin that is not empty.

    Parameters
    ----------
    probability : ndarray of shape (n,)
    occurred : ndarray of bool of shape (n,)
    bins : ndarray of int of shape (n,)
        The bin of each event.
    confidence : float
        Confidence level of the intervals.
    method : {'exact', 'wilson'}
        Method of the intervals, see `scipy.stats.binomtest`.
    """
    counts = np.bincount(bins)
    filled = counts > 0
    total, hits = (np.bincount(bins, values)[filled] for values in (probability, occurred))
    counts = counts[filled]
    pairs = zip(hits.astype(int), counts, strict=True)
    ends = np.array([binomtest(k, n).proportion_ci(confidence, method) for k, n in pairs])
    return Frequencies(total / counts, hits / counts, counts, *ends.T)


def _check_options(n_bins: object, strategy: str, confidence: float) -> None:
    if not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
        raise ValueError(f"n_bins={n_bins!r} must be an integer of 1 or more.")
    if strategy not in _STRATEGIES:
        raise ValueError(f"strategy={strategy!r} is not one of {', '.join(_STRATEGIES)}.")
    if not (is_number(confidence) and 0 < confidence < 1):
        raise ValueError(f"confidence={confidence!r} must lie between 0 and 1.")


def _events(
    proba: NDArray[Any], codes: NDArray[Any], names: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], str, str]:
    """Return probabilities, whether their events occurred, and names of subject and event."""
    if len(names) == 2:
        name = str(names[1])
        return (proba if proba.ndim == 1 else proba[:, 1]), codes == 1, name, f"is {name}"
    answer = proba.argmax(axis=1)
    return proba.max(axis=1), codes == answer, "the answer", "is right"


def _bins(given: NDArray[Any], n_bins: int, strategy: str) -> NDArray[np.intp]:
    """Return the bin of each row. Bins include their upper edges, the first its lower edge too."""
    edges = np.linspace(0, 1, n_bins + 1)
    if strategy == "quantile":
        edges = np.quantile(given, edges)
    return np.searchsorted(edges[1:-1], given, side="left")
