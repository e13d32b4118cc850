"""Figures without a window, a backend or a state, saved as PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lapwing._host.optional import require


def new_figure(
    rows: int, columns: int, width: float, height: float, *, sharey: bool = False
) -> tuple[Any, Any]:
    # The object interface: no window, no backend, no state that outlives the figure.
    figures = require("matplotlib.figure", extra="plot", purpose="Figures of the benchmarks")
    figure = figures.Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, sharey=sharey)


def save(figure: Any, folder: Path, name: str) -> Path:
    path = folder / f"{name}.png"
    figure.savefig(path, dpi=120)
    return path
