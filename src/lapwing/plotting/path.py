"""Plots of leave-one-out errors over parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from lapwing._host.modules import require
from lapwing._parameters import parameters
from lapwing.plotting.drawing import (
    PALETTE,
    Display,
    add_legend,
    ink_of,
    ink_on,
    label_axes,
    last_step,
    word_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MEASURES = {
    "left_out_squared_error": "Leave-one-out squared error",
    "left_out_error": "Share of labels missed when left out",
}
_OF_KERNEL_AND_GRAPH = ("gamma", "graph")  # after the parameters of the objective
_SHORT = 8  # largest number of letters of a horizontal tick label
_STAR: Any = {"color": PALETTE[1], "marker": "*", "markersize": 15, "linestyle": "none"}
_CELLS_WRITTEN = 100  # largest number of cells in which the errors are written


@parameters
class PathDisplay(Display):
    """Leave-one-out errors of an estimator that chooses its own parameters.

    A heat map over two parameters, or a line over one; the chosen setting is marked. For settings
    with the same values, the smallest error is shown. Create it with `from_estimator`.

    Parameters
    ----------
    parameters : sequence of one or two str
        Names of the parameters along the axes.
    values : sequence of one or two lists
        Their values, in their order along the axes.
    errors : ndarray of shape (n_values,) or (n_first, n_second)
        Smallest error of the settings with these values; NaN if none has a solution.
    best : tuple of one or two int
        Indices of the chosen setting in `errors`.
    measure : {'left_out_squared_error', 'left_out_error'}
        Kind of error.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The Axes of the plot.
    figure_ : matplotlib Figure
        Its figure.
    image_ : matplotlib AxesImage or None
        The cells; None for one parameter.
    colorbar_ : matplotlib Colorbar or None
        Their scale; None if it was not drawn.
    texts_ : list of matplotlib Text
        The numbers in the cells, if there are at most a hundred cells.
    line_ : matplotlib Line2D or None
        The errors along one parameter; None for two.
    best_ : matplotlib Line2D
        The mark of the chosen setting.

    Examples
    --------
    >>> from lapwing import LapRLSClassifierCV
    >>> from lapwing.datasets import make_two_moons
    >>> from lapwing.plotting import PathDisplay
    >>> X, y = make_two_moons(n_labeled_per_class=3, random_state=0)
    >>> model = LapRLSClassifierCV(gamma_As=[1e-4, 1e-2], gamma_Is=[0.1, 1, 10]).fit(X, y)
    >>> display = PathDisplay.from_estimator(model)
    >>> display.parameters, display.errors.shape
    (('gamma_A', 'gamma_I'), (2, 3))
    """

    _: KW_ONLY
    parameters: Sequence[str]
    values: Sequence[Sequence[Any]]
    errors: NDArray[Any]
    best: Sequence[int]
    measure: str = "left_out_squared_error"

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        parameters: Sequence[str] | None = None,
        measure: str = "left_out_squared_error",
        ax: Axes | None = None,
        title: str | None = None,
        colorbar: bool = True,
    ) -> Self:
        """Draw the errors of the settings of a fit.

        Parameters
        ----------
        estimator : estimator or Pipeline
            Fitted, such as `LapRLSClassifierCV`, with `cv_results_` and `best_params_`; or a
            Pipeline that ends in one.
        parameters : sequence of one or two str, default=None
            Parameters of the axes. None means the first two with several values; those of the
            objective (gamma_A and gamma_I) come before those of the kernel and the graph.
        measure : str, default='left_out_squared_error'
            'left_out_squared_error' is the error by which the setting was chosen.
            'left_out_error' is the share of wrong predictions of left-out labels, in which many
            settings tie; regressors do not have it.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a new figure of pyplot.
        title : str, default=None
            Title of the Axes.
        colorbar : bool, default=True
            Whether to draw the scale of the colours.

        Returns
        -------
        PathDisplay
            The display.

        Raises
        ------
        ValueError
            If the estimator has no errors of settings, no label could be left out, or a name is
            unknown.
        ImportError
            If matplotlib is not installed.
        """
        found = errors_along_path(cls, last_step(estimator), parameters, measure)
        return found.plot(ax, title=title, colorbar=colorbar)

    def plot(
        self, ax: Axes | None = None, *, title: str | None = None, colorbar: bool = True
    ) -> Self:
        """Draw the errors.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a new figure of pyplot.
        title : str, default=None
            Title of the Axes.
        colorbar : bool, default=True
            Whether to draw the scale of the colours.

        Returns
        -------
        PathDisplay
            The display itself, with its fitted attributes.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        axes = self._open(ax, (5.8, 4.4))
        self.image_: Any = None
        self.colorbar_: Any = None
        self.line_: Any = None
        self.texts_: list[Any] = []
        words = [[word_of(value) for value in axis] for axis in self.values]
        axes.set_xticks(range(len(words[0])), words[0])
        if max(map(len, words[0])) > _SHORT:
            axes.tick_params("x", rotation=30)
            for text in axes.get_xticklabels():
                text.set(horizontalalignment="right", rotation_mode="anchor")
        if len(self.parameters) == 2:
            axes.set_yticks(range(len(words[1])), words[1])
            label_axes(axes, self.parameters[0], self.parameters[1], title)
            self._draw_cells(axes, colorbar)
        else:
            label_axes(axes, self.parameters[0], _MEASURES[self.measure], title)
            self._draw_line(axes)
        add_legend(axes, beside="title")
        return self

    def _mark_chosen(self, axes: Axes, y: float, edge: str) -> None:
        style = {**_STAR, "markeredgecolor": edge, "zorder": 4}
        (self.best_,) = axes.plot(self.best[0], y, label="chosen", **style)

    def _draw_line(self, axes: Axes) -> None:
        (self.line_,) = axes.plot(self.errors, color=PALETTE[0], marker="o", zorder=2)
        self._mark_chosen(axes, self.errors[self.best[0]], ink_of(axes))

    def _draw_cells(self, axes: Axes, colorbar: bool) -> None:
        mpl = require("matplotlib", extra="plot", purpose="lapwing.plotting")
        # Perceptually uniform, also with colour-vision deficiencies; dark is a small error.
        scale = mpl.colormaps["cividis"]
        self.image_ = axes.imshow(self.errors.T, cmap=scale, origin="lower", aspect="auto")
        if self.errors.size <= _CELLS_WRITTEN:
            for i, j in np.ndindex(*self.errors.shape):
                self._write_error(axes, i, j)
        self._mark_chosen(axes, self.best[1] + 0.28, "#22252b")
        self.best_.set_clip_on(False)
        if colorbar:
            self.colorbar_ = self.figure_.colorbar(self.image_, ax=axes)
            ink = ink_of(axes, inside=False)
            self.colorbar_.set_label(_MEASURES[self.measure], color=ink)
            self.colorbar_.ax.tick_params(colors=ink)

    def _write_error(self, axes: Axes, i: int, j: int) -> None:
        error = self.errors[i, j]
        solved = np.isfinite(error)
        ink = ink_on(self.image_.cmap(self.image_.norm(error))) if solved else ink_of(axes)
        text = f"{error:.3g}" if solved else "none"
        self.texts_.append(axes.text(i, j, text, color=ink, ha="center", va="center", fontsize=9))


D = TypeVar("D", bound=PathDisplay)


def errors_along_path(
    display: type[D],
    model: Any,
    parameters: Sequence[str] | None = None,
    measure: str = "left_out_squared_error",
) -> D:
    """Collect the errors of a fitted estimator that chose its own parameters, without drawing.

    Parameters
    ----------
    display : type
        Class of the display, `PathDisplay` or one derived from it.
    model : estimator
    parameters : sequence of str, optional
        See `PathDisplay.from_estimator`.
    measure : str, optional
        See `PathDisplay.from_estimator`.

    Raises
    ------
    ValueError
        If the estimator has no errors of settings, or a parameter or the measure is unknown.
    """
    results = _results(model)
    if measure not in results or measure not in _MEASURES:
        known = [name for name in _MEASURES if name in results]
        raise ValueError(f"measure={measure!r} is not one of {', '.join(known)}.")
    chosen = _chosen(results, parameters)
    axes = []
    for name in chosen:
        column = [params[name] for params in results["params"]]
        values = _distinct(column)
        place = {_identity(value): k for k, value in enumerate(values)}
        places = [place[_identity(value)] for value in column]
        axes.append((values, places, place[_identity(model.best_params_[name])]))
    of_axes, of_settings, best = zip(*axes, strict=True)
    errors = np.full([len(values) for values in of_axes], np.inf)
    found = np.nan_to_num(np.asarray(results[measure], dtype=float), nan=np.inf)
    np.minimum.at(errors, of_settings, found)
    errors[np.isinf(errors)] = np.nan
    return display(parameters=chosen, values=of_axes, errors=errors, best=best, measure=measure)


def _results(model: BaseEstimator) -> Mapping[str, Any]:
    results = getattr(model, "cv_results_", None)
    if results is None or (results and "left_out_squared_error" not in results):
        raise ValueError(
            f"{type(model).__name__} has no leave-one-out errors of several settings. Fit "
            "LapRLSClassifierCV, LapSVCCV or LapRLSRegressorCV."
        )
    if not results:
        raise ValueError(
            "No setting has an error, because a class has a single label, which cannot be left "
            "out. Label a second row of each class, and fit again."
        )
    found: Mapping[str, Any] = results
    return found


def _chosen(results: Mapping[str, Any], parameters: Sequence[str] | None) -> tuple[str, ...]:
    names = list(results["params"][0])
    if parameters is not None:
        wanted = (parameters,) if isinstance(parameters, str) else tuple(parameters)
        unknown = [name for name in wanted if name not in names]
        if unknown or len(wanted) not in (1, 2) or len(set(wanted)) < len(wanted):
            raise ValueError(
                f"parameters={parameters!r} must be one or two different names out of "
                f"{', '.join(names)}."
            )
        return wanted
    several = [n for n in names if len(_distinct([p[n] for p in results["params"]])) > 1]
    several.sort(key=lambda name: name in _OF_KERNEL_AND_GRAPH)
    return tuple(several[:2] or names[:1])


def _distinct(column: Sequence[Any]) -> list[Any]:
    """Return the distinct values of a parameter: numbers sorted, others in order of occurrence."""
    found = list({_identity(value): value for value in column}.values())
    numbers = all(isinstance(value, (int, float, np.number)) for value in found)
    return sorted(found) if numbers else found


def _identity(value: object) -> tuple[type, str]:
    # Recipes have no equality of their own; their repr shows all parameters.
    return type(value), repr(value)
