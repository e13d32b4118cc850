"""Figures of the continuation and QN-S3VM papers, from the results of the parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.drawing import new_figure, save


def draw_agreement(differences: NDArray[Any], folder: Path) -> Path:
    """Draw Figure 3 of the continuation paper."""
    figure, axes = new_figure(1, 1, 4.6, 3.6)
    ax = axes[0, 0]
    ax.scatter(*differences.T, s=8)
    ax.axhline(0, color="0.6", linewidth=0.8)
    ax.axvline(0, color="0.6", linewidth=0.8)
    ax.set(xlabel="objective: gradient less continuation", ylabel="error (%): the same")
    return save(figure, folder, "s3vm_continuation_figure3")


def draw_sweep(
    parameter: str, values: Sequence[str], means: Mapping[str, Sequence[float]], folder: Path
) -> Path:
    """Draw Figures 5 (sigma) and 6 (gamma_I) of the continuation paper: errors by parameter."""
    figure, axes = new_figure(1, 1, 4.6, 3.4)
    ax = axes[0, 0]
    for name, errors in means.items():
        ax.plot(values, errors, "o-", markersize=3, label=name)
    ax.set(xlabel=parameter, ylabel="error on U (%)", ylim=(0, None))
    ax.legend(fontsize=7)
    return save(figure, folder, f"s3vm_continuation_{parameter}")


def draw_landmarks(rows: Sequence[tuple[int, float, float]], svc: float, folder: Path) -> Path:
    """Draw Figure 7 of the continuation paper: error and time for numbers of landmarks."""
    figure, axes = new_figure(1, 1, 4.6, 3.4)
    ax = axes[0, 0]
    number, error, seconds = zip(*rows, strict=True)
    ax.semilogx(seconds, error, "o-")
    for r, e, s in zip(number, error, seconds, strict=True):
        ax.annotate(str(r), (s, e), fontsize=7, xytext=(3, 3), textcoords="offset points")
    ax.axhline(svc, color="red", linestyle="--", label="SVC on the labels")
    ax.set(xlabel="seconds", ylabel="error on U (%)")
    ax.legend(fontsize=7)
    return save(figure, folder, "s3vm_continuation_figure7")


def draw_moon_panels(
    panels: Sequence[tuple[str, NDArray[Any], NDArray[Any], NDArray[Any]]], folder: Path
) -> Path:
    """Draw Figure 4 of the QN-S3VM paper: points, predictions and labels (rows, sign)."""
    figure, axes = new_figure(1, len(panels), 3.2, 2.8)
    for ax, (title, X, side, labeled) in zip(axes[0], panels, strict=True):
        ax.scatter(*X.T, c=np.where(side > 0, "tab:red", "tab:blue"), s=5)
        for sign, marker, colour in ((-1, "^", "blue"), (1, "s", "red")):
            ax.scatter(*X[labeled == sign].T, s=45, marker=marker, color=colour, edgecolors="white")
        ax.set(xticks=[], yticks=[])
        ax.set_title(title, fontsize=8)
    return save(figure, folder, "s3vm_qn_figure4")


def draw_curves(
    name: str,
    label: str,
    panels: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]],
    folder: Path,
    unit: str,
) -> Path:
    """Draw Figures 5 to 7 of the QN-S3VM paper: one panel per set, one curve per method."""
    figure, axes = new_figure(1, len(panels), 3.4, 2.8)
    for ax, (title, curves) in zip(axes[0], panels.items(), strict=True):
        for method, (x, y) in curves.items():
            ax.plot(x, y, "o-", markersize=3, label=method)
        ax.set(xlabel=label, ylabel=unit, ylim=(0, None))
        ax.set_title(title, fontsize=9)
        ax.legend(fontsize=7)
    return save(figure, folder, name)
