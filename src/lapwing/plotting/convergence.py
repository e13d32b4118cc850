"""Convergence plots of solvers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from lapwing._parameters import parameters
from lapwing.plotting.drawing import (
    MARKERS,
    PALETTE,
    LegendDisplay,
    add_legend,
    as_written,
    color_of,
    label_axes,
    last_step,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_QUANTITIES = {
    "objective": "Objective",
    "gradient": "Norm of the gradient",
    "preconditioned": "Norm of the preconditioned gradient",
    "mixed": "Mixed norm of the gradient",
}
_STYLES = ("-", "--", ":", "-.")


@parameters
class ConvergenceDisplay(LegendDisplay):
    """Objective of a fit by iteration or by start.

    `LapSVC`, `LapRLSClassifier` and `LapRLSRegressor` record every iteration of ``solver='pcg'``
    (`history_`), and `BalancedGraphClassifier` the steps that led to its answer. `S3VC` records the
    objective at the end of every start (`objectives_`). Create it with `from_estimator`.

    Parameters
    ----------
    values : ndarray of shape (n_steps, n_columns)
        Recorded values; NaN where a column had converged.
    quantity : str
        Recorded quantity: 'objective', 'gradient', 'preconditioned' or 'mixed'.
    step : {'iteration', 'start'}, default='iteration'
        Meaning of a row.
    columns : sequence of str, default=()
        Names of the columns; empty for a single one.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The Axes of the plot.
    figure_ : matplotlib Figure
        Its figure.
    lines_ : list of matplotlib Line2D
        A line for each column.

    Examples
    --------
    >>> from lapwing import LapSVC
    >>> from lapwing.datasets import make_two_moons
    >>> from lapwing.plotting import ConvergenceDisplay
    >>> X, y = make_two_moons(random_state=0)
    >>> model = LapSVC(solver="pcg").fit(X, y)
    >>> display = ConvergenceDisplay.from_estimator(model)
    >>> len(display.values) == model.n_iter_
    True
    """

    _: KW_ONLY
    values: NDArray[Any]
    quantity: str = "objective"
    step: str = "iteration"
    columns: Sequence[str] = ()

    _SIZE = (5.8, 4.0)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        quantity: str = "objective",
        ax: Axes | None = None,
        title: str | None = None,
        legend: bool = True,
    ) -> Self:
        """Draw the records of a fit.

        Parameters
        ----------
        estimator : estimator or Pipeline
            A fitted estimator with `history_` or `objectives_`, or a Pipeline that ends in one.
        quantity : {'objective', 'gradient', 'preconditioned', 'mixed'}, default='objective'
            Quantity to draw; `objectives_` has the objective only.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a new figure of pyplot.
        title : str, default=None
            Title of the Axes.
        legend : bool, default=True
            Whether to name the columns if there are several.

        Returns
        -------
        ConvergenceDisplay
            The display.

        Raises
        ------
        ValueError
            If this quantity was not recorded.
        ImportError
            If matplotlib is not installed.
        """
        model = last_step(estimator)
        records, step = _records(model)
        if quantity not in records:
            raise ValueError(f"quantity={quantity!r} is not one of {', '.join(records)}.")
        values = records[quantity]
        display = cls(
            values=values,
            quantity=quantity,
            step=step,
            columns=_columns(model, values.shape[1]),
        )
        return display.plot(ax, title=title, legend=legend)

    def _draw(self, axes: Axes, title: str | None) -> None:
        steps = np.arange(1, len(self.values) + 1)
        single = self.step == "start"
        self.lines_ = []
        for k, column in enumerate(self.values.T):
            around = k // len(PALETTE)
            (line,) = axes.plot(
                steps,
                np.asarray(column, dtype=float),
                color=color_of(k),
                linestyle="none" if single else _STYLES[around % len(_STYLES)],
                marker=MARKERS[k % len(MARKERS)] if single else "",
                linewidth=1.6,
                label=as_written(self.columns[k]) if self.columns else self.quantity,
            )
            self.lines_.append(line)
        if not single and np.nanmin(self.values, initial=np.inf) > 0:
            axes.set_yscale("log")
        name = "Objective at the end" if single else _QUANTITIES.get(self.quantity, self.quantity)
        label_axes(axes, self.step.capitalize(), name, title)
        if single:
            axes.set_xticks(steps if len(steps) <= 12 else steps[:: len(steps) // 6])

    def _explain(self, axes: Axes) -> None:
        if self.columns:
            add_legend(axes, beside="labels")


def _records(model: BaseEstimator) -> tuple[dict[str, NDArray[Any]], str]:
    """Return the records of a fit by name, and the meaning of a row."""
    history = getattr(model, "history_", None)
    if history:
        known = [name for name in _QUANTITIES if name in history]
        return {name: np.asarray(history[name], dtype=float) for name in known}, "iteration"
    objectives = getattr(model, "objectives_", None)
    if objectives is not None:
        return {"objective": np.column_stack(objectives)}, "start"
    name = type(model).__name__
    if history is None:
        raise ValueError(
            f"{name} records no iterations. LapSVC, LapRLSClassifier and LapRLSRegressor do with "
            "solver='pcg', BalancedGraphClassifier does, and S3VC records the objective of every "
            "start."
        )
    raise ValueError(
        f"{name} was solved by {model.solver_!r}, which records no iterations. Fit with "
        "solver='pcg'."
    )


def _columns(model: BaseEstimator, n_columns: int) -> tuple[str, ...]:
    if n_columns == 1:
        return ()
    pairs = getattr(model, "pairs_", None)
    if pairs is not None:
        return tuple(" or ".join(map(str, pair)) for pair in np.asarray(pairs).tolist())
    classes: Any = getattr(model, "classes_", range(1, n_columns + 1))
    return tuple(map(str, classes))
