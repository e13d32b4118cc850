"""Figures 1 to 4 of the embedded-regression paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.embedded.grid import paper_gamma
from benchmarks.embedded.large import LARGE_N_EV
from benchmarks.embedded.results import SetResult
from benchmarks.embedded.small import SMALL_N_EV
from benchmarks.shared.drawing import new_figure, save
from benchmarks.shared.measuring import timed_fit
from lapwing import KNNGraph, LapESVC
from lapwing.datasets import make_two_moons

# Figure 1 (a) to (d): mu and n_ev, of 400 points (Section V-A); C = 10 and lambda = 10^6.
PLANES = ((0.0, 400), (10.0, 400), (1e3, 400), (10.0, 2))
N_POINTS = 400


class Plane(NamedTuple):
    """Decision function on two moons.

    Attributes
    ----------
    title : str
    values : ndarray
        Values on the grid.
    error : float
        Error in % on all points.
    """

    title: str
    values: NDArray[Any]
    error: float


class Planes(NamedTuple):
    """Figure 1: points, grid and decision functions on the grid."""

    X: NDArray[Any]
    y: NDArray[Any]
    grid: tuple[NDArray[Any], NDArray[Any]]
    planes: Sequence[Plane]


def run_planes(n_points: int = N_POINTS, seed: int = 0) -> Planes:
    """Fit LapESVC to two moons with one label per class, for some mu and numbers of eigenvectors.

    n_ev = 400 means all eigenvectors. With mu = 0, g is not determined at unlabelled points.
    """
    X, y, truth = make_two_moons(n_points, random_state=seed, return_truth=True)
    grid = tuple(np.linspace(X[:, j].min() - 0.4, X[:, j].max() + 0.4, 100) for j in range(2))
    mesh = np.stack(np.meshgrid(*grid), axis=-1).reshape(-1, 2)
    planes = []
    for mu, n_ev in PLANES:
        model = LapESVC(
            gamma=paper_gamma(X),
            C=10.0,
            lam=1e6,
            mu=mu,
            n_eigenvectors=min(n_ev, n_points),
            graph=KNNGraph(6, power=1),
            space=None,
        )
        timed_fit(model, X, y)
        values = model.decision_function(mesh).reshape(grid[1].size, grid[0].size)
        error = 100 * float(np.mean(model.predict(X) != truth))
        planes.append(Plane(f"μ = {mu:g}, {n_ev} eigenvectors", values, error))
    return Planes(X, y, (grid[0], grid[1]), planes)


def draw_planes(moons: Planes, folder: Path) -> Path:
    """Draw Figure 1."""
    figure, axes = new_figure(2, 2, 3.6, 2.6)
    x, y = moons.grid
    for ax, plane in zip(axes.ravel(), moons.planes, strict=True):
        ax.imshow(
            plane.values, cmap="RdBu_r", vmin=-1, vmax=1, origin="lower", aspect="auto",
            extent=(x[0], x[-1], y[0], y[-1]),
        )  # fmt: skip
        ax.contour(x, y, plane.values, levels=[0.0], colors="black", linewidths=1.5)
        ax.scatter(*moons.X[moons.y < 0].T, s=4, color="0.35", linewidths=0)
        for c, colour in enumerate(("blue", "red")):
            ax.scatter(*moons.X[moons.y == c].T, s=45, color=colour, edgecolors="white", zorder=3)
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"{plane.title}: {plane.error:.1f} %", fontsize=9)
    return save(figure, folder, "embedded_figure1_two_moons")


def draw_small(results: Sequence[SetResult], folder: Path) -> Path:
    """Draw Figure 2: errors against the number of eigenvectors."""
    figure, axes = new_figure(-(-len(results) // 3), min(3, len(results)), 3.2, 2.6)
    for ax in axes.ravel()[len(results) :]:
        ax.remove()
    for ax, result in zip(axes.ravel(), results, strict=False):
        _draw_curves(ax, SMALL_N_EV, result.curves)
        ax.set_title(result.title, fontsize=9)
    return save(figure, folder, "embedded_figure2_benchmark")


def draw_large(results: Sequence[SetResult], folder: Path) -> Path:
    """Draw Figure 3: errors and seconds of a fit against the number of eigenvectors."""
    figure, axes = new_figure(2, len(results), 3.2, 2.4)
    for (above, below), result in zip(axes.T, results, strict=True):
        curves = {name: row for name, row in result.curves.items() if name != "seconds"}
        _draw_curves(above, LARGE_N_EV, curves)
        above.set_title(result.title, fontsize=9)
        if "seconds" in result.curves:
            below.plot(LARGE_N_EV, result.curves["seconds"], "o-")
        below.set(xlabel="eigenvectors", ylabel="seconds of a fit", ylim=(0, None))
    return save(figure, folder, "embedded_figure3_large")


def draw_sizes(sizes: Mapping[str, Sequence[float]], folder: Path) -> Path:
    """Draw Figure 4: test error and seconds of a fit against the number of unlabelled points."""
    figure, axes = new_figure(1, 2, 3.6, 2.6)
    for ax, name, label in zip(
        axes[0], ("error", "seconds"), ("error outside (%)", "seconds of a fit"), strict=True
    ):
        ax.loglog(sizes["size"], np.maximum(sizes[name], 1e-2), "o-")
        ax.set(xlabel="unlabelled points", ylabel=label)
    return save(figure, folder, "embedded_figure4_unlabelled")


def _draw_curves(ax: Any, at: Sequence[int], curves: Mapping[str, Sequence[float]]) -> None:
    for name, row in curves.items():
        method, answer = name.split()
        label = f"{'LapESVR' if method == 'lapesvr' else 'LapERLS'}, {answer}"
        ax.semilogx(at, row, "-" if answer == "f" else "--", label=label)
    ax.set(xlabel="eigenvectors", ylabel="error (%)", ylim=(0, None))
    ax.legend(fontsize=7)
