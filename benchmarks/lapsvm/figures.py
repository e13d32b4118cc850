"""Figures 3 to 14 of the LapSVM paper, from the data of `moons` and `descents`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lapsvm.descents import VALUES, Descent
from benchmarks.lapsvm.moons import Moons
from benchmarks.shared.drawing import new_figure, save

# Figures 5 to 12 in the paper's order of sets.
ERROR_FIGURES = {
    "g50c": 5, "coil20b": 6, "pcmac": 7, "uspstb": 8, "coil20": 9, "uspst": 10, "mnist3vs8": 11,
    "facemit": 12,
}  # fmt: skip
STYLES = {"objective": "-", "gradient": "--", "preconditioned": "-.", "mixed": ":"}


def draw_moons(moons: Moons, folder: Path) -> Path:
    """Draw Figure 3, the boundary during iterations and at the optimum."""
    figure, axes = new_figure(2, 3, 3.4, 2.5)
    flat = axes.ravel()
    for ax in flat:
        ax.set(xticks=[], yticks=[])
    _draw_points(flat[0], moons)
    flat[0].set_title("The two moons dataset", fontsize=9)
    for ax, (title, values) in zip(flat[1:], moons.maps.items(), strict=True):
        # As in the paper: red where f >= 1, blue where f <= -1; its first class is the red one.
        x, y = moons.grid
        box = (x[0], x[-1], y[0], y[-1])
        ax.imshow(values, cmap="RdBu_r", vmin=-1, vmax=1, extent=box, origin="lower", aspect="auto")
        ax.contour(*moons.grid, values, levels=[0.0], colors="black", linewidths=1.5)
        _draw_points(ax, moons)
        ax.set_title(title, fontsize=9)
    return save(figure, folder, "figure03_two_moons")


def draw_stopping(moons: Moons, folder: Path) -> Path:
    """Draw Figure 4, the stopping values by iteration."""
    figure, axes = new_figure(1, 1, 5, 3.5)
    _draw_values(axes[0, 0], moons.values, moons.settled)
    axes[0, 0].set_title("two moons")
    return save(figure, folder, "figure04_two_moons_stopping")


def _draw_points(ax: Any, moons: Moons) -> None:
    ax.scatter(*moons.X[2:].T, s=4, color="0.35", linewidths=0)
    for row, (marker, colour) in enumerate((("o", "blue"), ("D", "red"))):
        ax.scatter(*moons.X[row], s=45, marker=marker, color=colour, edgecolors="white", zorder=3)


def draw_errors(
    name: str, title: str, descent: Descent, exact: Mapping[str, float], label: str, folder: Path
) -> Path:
    """Draw Figures 5 to 12: errors on L, U, V and T by iteration, with the optimum as a line.

    Parameters
    ----------
    name, title : str
        Name and title of the problem.
    descent : Descent
        Mean over splits.
    exact : mapping of str to float
        Mean error rates of the exact solution over the same splits.
    label : str
        Name of the solver of the exact solution.
    folder : Path
    """
    figure, axes = new_figure(1, 4, 2.6, 2.4, sharey=True)
    for ax, part in zip(axes[0], "LUVT", strict=True):
        curve = descent.errors[part]
        ax.plot(np.arange(1, curve.size + 1), curve, label=f"PCG ({part})")
        ax.axhline(exact[part], color="black", linestyle="--", label=f"{label} ({part})")
        ax.set_xlabel("t")
        ax.legend(fontsize=7)
    # Limited to four times the errors of the optimum, as those of the first iterations are large.
    axes[0, 0].set(ylabel="Error Rate (%)", ylim=(0, max(10.0, 4 * max(exact.values()))))
    figure.suptitle(title, fontsize=10)
    return save(figure, folder, f"figure{ERROR_FIGURES[name]:02d}_{name}")


def draw_values(descents: Mapping[str, Descent], folder: Path) -> Path:
    """Draw Figures 13 and 14: the stopping values of all sets by iteration."""
    columns = min(2, len(descents))
    rows = -(-len(descents) // columns)
    figure, axes = new_figure(rows, columns, 4.6, 3.0)
    for ax in axes.ravel()[len(descents) :]:
        ax.remove()
    for ax, (title, descent) in zip(axes.ravel(), descents.items(), strict=False):
        _draw_values(ax, descent.values, settled_at(descent))
        ax.set_title(title, fontsize=9)
    return save(figure, folder, "figure13_14_stopping_values")


def settled_at(descent: Descent, within: float = 1.0) -> int:
    """Return the first iteration after which all errors are near their last values."""
    unsettled = [
        np.flatnonzero(np.abs(curve - curve[-1]) > within) for curve in descent.errors.values()
    ]
    return max(int(late[-1]) + 2 if late.size else 1 for late in unsettled)


def _draw_values(ax: Any, values: Mapping[str, Any], vertical: int) -> None:
    for name, label in VALUES.items():
        # Values are recorded before an iteration, so the first one is for t = 0.
        ax.semilogy(np.arange(values[name].size), values[name], STYLES[name], label=label)
    ax.axvline(vertical, color="0.5", linewidth=1)
    ax.set(xlabel="t", ylabel="Normalized Values")
    ax.legend(fontsize=7)
